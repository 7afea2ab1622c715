/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that do with their stacks what no compiler does: see calls.h. */
	.text

.macro func name
	.globl \name
	.type \name, @function
	.balign 16
\name:
.endm

func go_on_stack
	push	%rbx
	mov	%rsp, %rbx
	mov	%rdi, %rsp
	jmp	*%rsi
	.globl back_from_stack
back_from_stack:
	mov	%rbx, %rsp
	pop	%rbx
	ret

func leave_stack
	nop
	jmp	back_from_stack

func return_to
	nop
	mov	%rdi, (%rsp)
	ret

func call_return_to
	lea	1f(%rip), %rdi
	call	return_to
	xor	%eax, %eax
	ret
1:	mov	$1, %eax
	ret

func clone_copied
	nop
	mov	%rsi, %rcx
#ifdef __ILP32__
	lea	(%rsp, %rdi), %r8d	/* the distance has 32 bits, too */
#else
	lea	(%rsp, %rdi), %r8
#endif
	mov	%r8, %rdi
	mov	%rsp, %rsi
	rep movsb
	mov	%r8, %rsi
	mov	$0x111, %edi	/* CLONE_VM | SIGCHLD */
	xor	%edx, %edx
	xor	%r10d, %r10d
	xor	%r8d, %r8d
	mov	$56, %eax	/* clone */
	syscall
	ret

	.section .note.GNU-stack, "", @progbits
