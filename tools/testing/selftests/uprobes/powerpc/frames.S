/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that call each other, with chained frames: see frames.h. */
#include "abi.S"
	.text

.macro caller name, next
	func \name
	enter
	bl	\next
	.globl \name\()_ret
\name\()_ret:
	addi	%r3, %r3, 1
	leave
.endm

func chain
	enter
	bl	outer
	.globl chain_ret
chain_ret:
	leave

caller outer, middle
caller middle, inner

func inner
	enter
	ctr_fn	%r3
	bctrl
	.globl inner_ret
inner_ret:
	addi	%r3, %r3, 1
	leave

	.globl middle_alt
middle_alt:
	addi	%r3, %r3, 100
	leave

func leaf
	li	%r3, 0
	.globl leaf_ret
leaf_ret:
	blr

func spin
	lis	%r9, 16
	mtctr	%r9
	.globl spin_loop, spin_end
spin_loop:
	bdnz	spin_loop
spin_end:
	li	%r3, 0
	blr

func load
	la_sym	%r3, load_from
	PPC_LL	%r3, 0(%r3)
	.globl load_insn
load_insn:
	PPC_LL	%r3, 0(%r3)
	blr

func leaf_returns_to
	mtlr	%r3
	b	leaf

	.data
	.globl load_from
	.balign 8
load_from:
	.quad 0

	.section .note.GNU-stack, "", @progbits
