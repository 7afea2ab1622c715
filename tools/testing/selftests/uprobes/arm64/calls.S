/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that do with their stacks what no compiler does: see calls.h. */
#include "abi.S"
	.text

func go_on_stack
	enter
	mov	x19, sp
	mov	sp, x0
	blr	x1
	.globl back_from_stack
back_from_stack:
	mov	sp, x19
	leave

func leave_stack
	nop
	b	back_from_stack

func return_to
	nop
	mov	x30, x0
	ret

func call_return_to
	enter
	adr	x0, 1f
	bl	return_to
	mov	x0, #0
	leave
1:	mov	x0, #1
	leave

/* Its own return address stays in the link register. */
func clone_copied
	mov	x9, #0
	add	x11, sp, x0
1:	ldr	x10, [sp, x9]
	str	x10, [x11, x9]
	add	x9, x9, #8
	cmp	x9, x1
	b.lt	1b
	mov	x0, #0x111	/* CLONE_VM | SIGCHLD */
	mov	x1, x11
	mov	x2, #0
	mov	x3, #0
	mov	x4, #0
	mov	x8, #220	/* clone */
	svc	#0
	ret

	.section .note.GNU-stack, "", @progbits
