/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The differential tester: into the sandbox, and out of it.
 *
 * The way in is a return from a signal that never was, whose frame holds all
 * registers. The way out is a real signal, whose handler takes that frame to
 * pieces and then goes on where the way in has started.
 */

	.text

/* sandbox_enter(&frame->uc, flags): flags that the frame cannot set */
	.globl	sandbox_enter
	.type	sandbox_enter, @function
sandbox_enter:
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, saved_sp(%rip)
	movq	%rdi, %rsp
	pushq	%rsi
	popfq
	movl	$15, %eax	/* rt_sigreturn */
	syscall
	ud2
	.size	sandbox_enter, . - sandbox_enter

/* The flags may still be such that misaligned accesses fault */
	.globl	sandbox_signal
	.type	sandbox_signal, @function
sandbox_signal:
	pushq	$2
	popfq
	subq	$8, %rsp
	call	sandbox_capture
	movq	saved_sp(%rip), %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	ret
	.size	sandbox_signal, . - sandbox_signal

	.local	saved_sp
	.comm	saved_sp, 8, 8
	.section .note.GNU-stack, "", @progbits
