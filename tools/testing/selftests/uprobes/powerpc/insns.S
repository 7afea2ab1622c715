/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions for ppc.c, see there. */
#include "abi.S"
	.text

/* 1 is the number of those that cannot be probed. */
func_insns atomic_add
	i 0, nop
1:	i 1, lwarx %r5, 0, %r3
	i 1, add %r5, %r5, %r4
	i 1, stwcx. %r5, 0, %r3
	i 0, bne 1b
	i 0, mr %r3, %r5
	i 0, blr
end_insns

/* The first of two is left without a store. */
func_insns atomic_swap
	i 0, li %r9, 0
1:	i 1, ldarx %r5, 0, %r3
	i 1, cmpdi %r5, 0
	i 1, bne 2f
	i 1, stdcx. %r4, 0, %r3
	i 0, bne 1b
2:	i 0, mr %r3, %r5
	i 0, blr
end_insns

/* Two functions whose only instruction that is probed raises a signal. */
func illegal
	.globl illegal_insn
illegal_insn:
	.long	0
	blr
func load_from
	.globl load_from_insn, load_from_copied
load_from_insn:
	ld	%r3, 0(%r3)
	blr
load_from_copied:
	lfd	%f0, 0(%r3)
	blr

/*
 * fork(), with the return address in its register, without a frame and with
 * one; in another register; and where it does not belong.
 */
func bare_fork
	li	%r0, 2
	sc
	blr

func framed_fork
	stdu	%r1, -64(%r1)
	li	%r0, 2
	sc
	addi	%r1, %r1, 64
	blr

func hidden_fork
	std	%r14, -8(%r1)
	mflr	%r14
	li	%r0, 2
	mtlr	%r0
	sc
	mtlr	%r14
	ld	%r14, -8(%r1)
	blr

func stowed_fork
	mflr	%r0
	std	%r0, -8(%r1)
	li	%r0, 2
	mtlr	%r0
	sc
	ld	%r0, -8(%r1)
	mtlr	%r0
	blr

/* Two calls with the same stack pointer, one in the other. */
func frameless_call
	std	%r14, -8(%r1)
	mflr	%r14
	bl	frameless_leaf
	mtlr	%r14
	ld	%r14, -8(%r1)
	blr

func frameless_leaf
	li	%r3, 7
	blr

func link_behind_call
	enter
	bl	own_sp
1:	mflr	%r3
	la_sym	%r4, 1b
	subf	%r3, %r4, %r3
	leave

/*
 * Instructions of the FPU and of the vector units. Some differ in one bit from
 * what the engine emulates, or end with bits that are a branch elsewhere.
 */
func_insns vectors
	i 0, lxvd2x %vs34, 0, %r4
	i 0, lvx %v3, 0, %r5
	li	%r9, 0
	i 0, vadduwm %v4, %v2, %v3
	i 0, stvx %v4, %r3, %r9
	addi	%r9, %r9, 16
	i 0, vperm %v4, %v2, %v3, %v2
	i 0, stvx %v4, %r3, %r9
	addi	%r9, %r9, 16
	i 0, vpmsumd %v4, %v2, %v3
	i 0, stvx %v4, %r3, %r9
	addi	%r9, %r9, 16
	i 0, vcmpequb. %v4, %v2, %v2
	i 0, mfcr %r6
	i 0, mtvsrd %vs36, %r6
	i 0, stvx %v4, %r3, %r9
	addi	%r9, %r9, 16
	i 0, vaddsws %v4, %v2, %v2
	i 0, mfvscr %v5
	i 0, vxor %v4, %v4, %v5
	i 0, stvx %v4, %r3, %r9
	addi	%r9, %r9, 16
	i 0, vcipher %v4, %v2, %v3
	i 0, stvx %v4, %r3, %r9
	addi	%r9, %r9, 16
	i 0, xxlxor %vs0, %vs34, %vs35
	i 0, stxvd2x %vs0, %r3, %r9
	addi	%r9, %r9, 16
	i 0, xxpermdi %vs63, %vs34, %vs35, 2
	i 0, stxvw4x %vs63, %r3, %r9
	addi	%r9, %r9, 16
	i 0, xvmuldp %vs1, %vs34, %vs35
	i 0, xvmaddadp %vs1, %vs34, %vs34
	i 0, stxvd2x %vs1, %r3, %r9
	addi	%r9, %r9, 16
	i 0, xsdivdp %vs2, %vs34, %vs35
	i 0, mffs %f3
	i 0, xxmrghd %vs2, %vs2, %vs3
	i 0, stxvd2x %vs2, %r3, %r9
	addi	%r9, %r9, 16
	i 0, xscvdpsxds %vs4, %vs34
	i 0, fcfid %f5, %f4
	i 0, fctiwz %f6, %f5
	i 0, stfdx %f6, %r3, %r9
	addi	%r9, %r9, 16
	i 0, fcmpu %cr5, %f5, %f6
	i 0, mfcr %r6
	i 0, stdx %r6, %r3, %r9
	addi	%r9, %r9, 16
	i 0, mfvsrd %r6, %vs34
	i 0, mfvsrwz %r7, %vs35
	i 0, add %r6, %r6, %r7
	i 0, stdx %r6, %r3, %r9
	addi	%r9, %r9, 16
	i 0, lfsx %f7, 0, %r4
	i 0, fmadds %f7, %f7, %f7, %f5
	i 0, stfsx %f7, %r3, %r9
	addi	%r9, %r9, 16
	i 0, lvsl %v6, 0, %r9
	i 0, lvebx %v6, 0, %r4
	i 0, stvx %v6, %r3, %r9
	addi	%r9, %r9, 16
	i 0, mfvrsave %r6
	i 0, mtvrsave %r6
	i 0, dss 0
	i 0, stdx %r6, %r3, %r9
	i 0, blr
end_insns

/* Prefixed instructions, one of them relative to its place. */
	.machine push
	.machine power10
	.balign 64
func_insns prefixed
	i 0, nop
	i 0, paddi %r4, %r3, 0x123456789
	i 1, nop
	i 0, pld %r5, prefixed_data@pcrel
	i 1, nop
	i 0, plfd %f0, prefixed_data@pcrel
	i 0, mfvsrd %r6, %vs0
	i 0, plwa %r7, prefixed_data@pcrel
	i 0, pstd %r7, -64(%r1)
	i 0, pla %r8, prefixed@pcrel
	i 0, pli %r9, -0x12345678
	i 0, add %r3, %r4, %r5
	i 0, add %r3, %r3, %r6
	i 0, add %r3, %r3, %r7
	i 0, ld %r7, -64(%r1)
	i 0, add %r3, %r3, %r7
	i 0, add %r3, %r3, %r8
	i 0, add %r3, %r3, %r9
	i 0, blr
end_insns
	.machine pop

	.data
	.balign 8
prefixed_data:
	.quad	0x3ff1234587654321

	.section .note.GNU-stack, "", @progbits
