/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that do with their stacks what no compiler does: see calls.h. */
#include "abi.S"
	.text

func go_on_stack
	enter
	mr	%r31, %r1
	mr	%r1, %r3
	ctr_fn	%r4
	bctrl
	.globl back_from_stack
back_from_stack:
	mr	%r1, %r31
	leave

func leave_stack
	nop
	b	back_from_stack

func return_to
	nop
	mtlr	%r3
	blr

func call_return_to
	enter
	la_sym	%r3, 1f
	bl	return_to
	li	%r3, 0
	leave
1:	li	%r3, 1
	leave

/* Its own return address stays in the link register. */
func clone_copied
	li	%r9, 0
	add	%r11, %r1, %r3
1:	PPC_LLX	%r10, %r1, %r9
	PPC_STLX %r10, %r11, %r9
	addi	%r9, %r9, WORD
	cmpw	%r9, %r4
	blt	1b
	li	%r3, 0x111	/* CLONE_VM | SIGCHLD */
	mr	%r4, %r11
	li	%r5, 0
	li	%r6, 0
	li	%r7, 0
	li	%r0, 120	/* clone */
	sc
	blr

	.section .note.GNU-stack, "", @progbits
