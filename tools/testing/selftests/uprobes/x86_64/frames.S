/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that call each other, with frame pointers: see frames.h. */
	.text

.macro func name
	.globl \name
	.type \name, @function
	.balign 16
\name:
	.cfi_startproc
.endm

.macro end name
	.cfi_endproc
	.size \name, . - \name
.endm

.macro enter
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
.endm

.macro leave_frame
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
.endm

.macro caller name, next:vararg
	func \name
	enter
	call	\next
	.globl \name\()_ret
\name\()_ret:
	lea	1(%rax), %rax
	leave_frame
	end \name
.endm

func chain
	enter
	call	outer
	.globl chain_ret
chain_ret:
	leave_frame
end chain

caller outer, middle
caller middle, inner
caller inner, *%rdi

	.globl middle_alt
middle_alt:
	lea	100(%rax), %rax
	pop	%rbp
	ret

func leaf
	xor	%eax, %eax
	.globl leaf_ret
leaf_ret:
	ret
end leaf

func spin
	enter
	mov	$1000000, %eax
	.globl spin_loop, spin_end
spin_loop:
	dec	%eax
	jnz	spin_loop
spin_end:
	leave_frame
end spin

func load
	mov	load_from(%rip), %rax
	.globl load_insn
load_insn:
	mov	(%rax), %rax
	ret
end load

func leaf_returns_to
	push	%rdi
	.cfi_def_cfa_offset 16
	jmp	leaf
end leaf_returns_to

	.data
	.globl load_from
	.balign 8
load_from:
	.quad 0

	.section .note.GNU-stack, "", @progbits
