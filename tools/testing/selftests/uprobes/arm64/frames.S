/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that call each other, with chained frames: see frames.h. */
#include "abi.S"
	.text

.macro caller name, insn:vararg
	func \name
	enter
	\insn
	.globl \name\()_ret
\name\()_ret:
	add	x0, x0, #1
	leave
.endm

func chain
	enter
	bl	outer
	.globl chain_ret
chain_ret:
	leave

caller outer, bl middle
caller middle, bl inner
caller inner, blr x0

	.globl middle_alt
middle_alt:
	add	x0, x0, #100
	leave

func leaf
	mov	x0, #0
	.globl leaf_ret
leaf_ret:
	ret

func spin
	mov	x9, #0x100000
	.globl spin_loop, spin_end
spin_loop:
	subs	x9, x9, #1
	b.ne	spin_loop
spin_end:
	mov	x0, #0
	ret

func load
	la_sym	x0, load_from
	ldr	x0, [x0]
	.globl load_insn
load_insn:
	ldr	x0, [x0]
	ret

func leaf_returns_to
	mov	x30, x0
	b	leaf

	.data
	.globl load_from
	.balign 8
load_from:
	.quad 0

	.section .note.GNU-stack, "", @progbits
