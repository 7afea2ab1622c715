/* SPDX-License-Identifier: GPL-2.0-only */
/* Enters virtual 8086 mode: see vm86.h. */
#include "abi.S"
	.text

func enter_vm86
	push	%ebx
	mov	$166, %eax	/* vm86 */
	mov	$1, %ebx	/* VM86_ENTER */
	mov	8(%esp), %ecx
	.globl vm86_syscall
vm86_syscall:
	int	$0x80
	pop	%ebx
	ret

	.section .note.GNU-stack, "", @progbits
