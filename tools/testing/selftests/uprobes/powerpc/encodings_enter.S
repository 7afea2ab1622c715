/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The differential tester: into the sandbox, and out of it.
 *
 * The way in is a return from a signal that never was, whose frame holds all
 * registers but a few. The way out is a real signal, whose handler takes that
 * frame to pieces and then goes on where the way in has started. Registers of
 * the FPU are not saved: nothing that calls us keeps anything there.
 */
#include "abi.S"

/* What a function may expect below its caller's frame, and what we save. */
#define SAVED		(14 * WORD)
#define SIZE		(SAVED + 22 * WORD)
#define SAVED_CR	(SAVED + 20 * WORD)

	.text

/* sandbox_enter(frame) */
func sandbox_enter
	mflr	%r0
	PPC_STL	%r0, PPC_LR_STKOFF(%r1)
	PPC_STLU %r1, -SIZE(%r1)
	mfcr	%r0
	stw	%r0, SAVED_CR(%r1)
	PPC_STL	%r2, SAVED(%r1)
	.irp n, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	PPC_STL	%r\n, SAVED + WORD * (\n - 12)(%r1)
	.endr
	la_sym	%r4, saved_sp
	PPC_STL	%r1, 0(%r4)
	mr	%r1, %r3
	li	%r0, 172	/* rt_sigreturn */
	sc
	trap

func sandbox_signal
	la_sym	%r14, saved_sp
	PPC_LL	%r14, 0(%r14)
	PPC_LL	%r2, SAVED(%r14)
	PPC_LL	%r13, SAVED + WORD(%r14)
	PPC_STLU %r1, -SAVED(%r1)
	bl	sandbox_capture
	nop
	mr	%r1, %r14
	.irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	PPC_LL	%r\n, SAVED + WORD * (\n - 12)(%r1)
	.endr
	lwz	%r0, SAVED_CR(%r1)
	mtcr	%r0
	addi	%r1, %r1, SIZE
	PPC_LL	%r0, PPC_LR_STKOFF(%r1)
	mtlr	%r0
	blr

	.local	saved_sp
	.comm	saved_sp, WORD, WORD
	.section .note.GNU-stack, "", @progbits
