/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that do with their stacks what no compiler does: see calls.h. */
#include "abi.S"
	.text

func go_on_stack
	push	%ebx
	mov	%esp, %ebx
	mov	12(%esp), %eax
	mov	8(%esp), %esp
	jmp	*%eax
	.globl back_from_stack
back_from_stack:
	mov	%ebx, %esp
	pop	%ebx
	ret

func leave_stack
	nop
	jmp	back_from_stack

func return_to
	nop
	mov	4(%esp), %eax
	mov	%eax, (%esp)
	ret

func call_return_to
	push	$1f
	call	return_to
	xor	%eax, %eax
	pop	%ecx
	ret
1:	mov	$1, %eax
	pop	%ecx
	ret

/* The copy begins with the registers that both give back. */
func clone_copied
	nop
	mov	4(%esp), %edx
	mov	8(%esp), %ecx
	push	%ebx
	push	%esi
	push	%edi
	add	$12, %ecx
	add	%esp, %edx
	mov	%esp, %esi
	mov	%edx, %edi
	rep movsb
	mov	$0x111, %ebx	/* CLONE_VM | SIGCHLD */
	mov	%edx, %ecx
	xor	%edx, %edx
	xor	%esi, %esi
	xor	%edi, %edi
	mov	$120, %eax	/* clone */
	int	$0x80
	pop	%edi
	pop	%esi
	pop	%ebx
	ret

	.section .note.GNU-stack, "", @progbits
