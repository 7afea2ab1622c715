/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The differential tester in 32 bits: into the sandbox, and out of it. As in
 * 64 bits, but thread-local storage is reached through a segment register.
 */

	.text

/* sandbox_enter(&frame, flags): flags that the frame cannot set */
	.globl	sandbox_enter
	.type	sandbox_enter, @function
sandbox_enter:
	movl	4(%esp), %eax
	movl	8(%esp), %edx
	pushl	%ebx
	pushl	%ebp
	pushl	%esi
	pushl	%edi
	pushl	%gs
	movl	%esp, saved_sp
	/* A handler's return takes the first word from the stack */
	leal	4(%eax), %esp
	pushl	%edx
	popfl
	movl	$173, %eax	/* rt_sigreturn */
	int	$0x80
	ud2
	.size	sandbox_enter, . - sandbox_enter

/*
 * The arguments are in registers, too, and all segments but fs and gs have been
 * loaded. The flags may still be such that misaligned accesses fault.
 */
	.globl	sandbox_signal
	.type	sandbox_signal, @function
sandbox_signal:
	pushl	$2
	popfl
	pushl	%ecx
	pushl	%edx
	pushl	%eax
	call	sandbox_capture
	movl	saved_sp, %esp
	popl	%gs
	popl	%edi
	popl	%esi
	popl	%ebp
	popl	%ebx
	ret
	.size	sandbox_signal, . - sandbox_signal

/* In the place of the vDSO's. */
	.globl	sandbox_syscall
	.type	sandbox_syscall, @function
sandbox_syscall:
	int	$0x80
	ret
	.size	sandbox_syscall, . - sandbox_syscall

	.local	saved_sp
	.comm	saved_sp, 4, 4
	.section .note.GNU-stack, "", @progbits
