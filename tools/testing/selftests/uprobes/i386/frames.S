/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that call each other, with frame pointers: see frames.h. */
#include "abi.S"
	.text

.macro begin name
	func \name
	.cfi_startproc
.endm

.macro end name
	.cfi_endproc
	.size \name, . - \name
.endm

.macro enter_frame
	push	%ebp
	.cfi_def_cfa_offset 8
	.cfi_offset %ebp, -8
	mov	%esp, %ebp
	.cfi_def_cfa_register %ebp
.endm

.macro leave_frame
	leave
	.cfi_def_cfa %esp, 4
	ret
.endm

/* Calls the next one with its own argument. */
.macro caller name, next:vararg
	begin \name
	enter_frame
	push	8(%ebp)
	call	\next
	.globl \name\()_ret
\name\()_ret:
	lea	1(%eax), %eax
	leave_frame
	end \name
.endm

begin chain
	enter_frame
	push	8(%ebp)
	call	outer
	.globl chain_ret
chain_ret:
	leave_frame
end chain

caller outer, middle
caller middle, inner
caller inner, *8(%ebp)

	.globl middle_alt
middle_alt:
	lea	100(%eax), %eax
	leave
	ret

begin leaf
	xor	%eax, %eax
	.globl leaf_ret
leaf_ret:
	ret
end leaf

begin spin
	enter_frame
	mov	$1000000, %eax
	.globl spin_loop, spin_end
spin_loop:
	dec	%eax
	jnz	spin_loop
spin_end:
	leave_frame
end spin

begin load
	mov	load_from, %eax
	.globl load_insn
load_insn:
	mov	(%eax), %eax
	ret
end load

begin leaf_returns_to
	push	4(%esp)
	.cfi_def_cfa_offset 8
	jmp	leaf
end leaf_returns_to

	.data
	.globl load_from
	.balign 4
load_from:
	.long 0

	.section .note.GNU-stack, "", @progbits
