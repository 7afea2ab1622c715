/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions to probe, of which every instruction is known: see probed.h. */
#include "abi.S"
	.text

/* Begins with what is executed from a copy. */
func add
	dcbt	0, %r1
	.globl add_next, add_ret
add_next:
	add	%r3, %r3, %r4
add_ret:
	blr

func sub
	subf	%r3, %r4, %r3
	blr

func nop_fn
	nop
	blr

func own_sp
	mr	%r3, %r1
	blr

/* A call of which the return address is known. */
func call_own_sp
	enter
	bl	own_sp
	.globl after_own_sp, instead_of_own_sp
after_own_sp:
	leave
instead_of_own_sp:
	li	%r3, 77
	leave

/* A tail call: both return to one address. */
func tail_outer
	addi	%r3, %r3, 1
	b	tail_inner
func tail_inner
	add	%r3, %r3, %r3
	blr

/* Returns what is in a register that it has to give back. */
func saved_register
	enter
	.globl at_copied, at_emulated
at_copied:
	dcbt	0, %r1
at_emulated:
	mr	%r3, %r31
	leave

/* Jumps to where its argument says. */
func tail_call
	nop
	ctr_fn	%r3
	bctr

/* Returns by a jump. */
func pop_jmp
	addi	%r3, %r3, 3
	mflr	%r9
	mtctr	%r9
	bctr

/* Returns 5, but to where its first argument says. */
func ret_to
	mtlr	%r3
	li	%r3, 5
	blr

/* Calls ret_to() so that it returns there, and not behind the call. */
func call_ret_to
	enter
	la_sym	%r3, 1f
	bl	ret_to
	li	%r3, -1
1:	leave

/* Keeps its return address in a register that fn gives back. */
func call_kept
	PPC_STLU %r1, -FRAME(%r1)
	PPC_STL	%r31, FRAME - WORD(%r1)
	mflr	%r31
	ctr_fn	%r3
	bctrl
	mtlr	%r31
	PPC_LL	%r31, FRAME - WORD(%r1)
	addi	%r1, %r1, FRAME
	blr

/* Calls with the stack pointer that it has itself. */
func call_same_sp
	mflr	%r10
	bl	same_sp
	mtlr	%r10
	addi	%r3, %r3, 1
	blr
func same_sp
	li	%r3, 6
	blr

/* Calls fn(arg) on another stack, and returns to on_stack_end. */
func call_on_stack
	enter
	mr	%r31, %r1
	mr	%r1, %r3
	ctr_fn	%r4
	mr	%r3, %r5
	bctrl
	.globl on_stack_end
on_stack_end:
	mr	%r1, %r31
	leave

/* Three calls in each other, with a chain of frames up to 0. */
func walk_0
	enter
	li	%r0, 0
	PPC_STL	%r0, 0(%r1)
	bl	walk_1
	.globl after_walk_1
after_walk_1:
	leave
func walk_1
	enter
	bl	walk_2
	.globl after_walk_2
after_walk_2:
	leave
func walk_2
	enter
	bl	walk_3
	.globl after_walk_3
after_walk_3:
	leave
func walk_3
	li	%r3, 9
	blr

func end_thread
	li	%r0, 1		/* exit, of one thread */
	li	%r3, 0
	sc
	trap

/* 64 bytes, the first 16 of them by what is executed from a copy. */
func fill
	vspltisb %v0, 7
	li	%r9, 16
	li	%r10, 32
	li	%r11, 48
	.globl fill_rep
fill_rep:
	stxvd2x	%vs32, 0, %r3
	stxvd2x	%vs32, %r3, %r9
	stxvd2x	%vs32, %r3, %r10
	stxvd2x	%vs32, %r3, %r11
	blr

/* Fill the red zone, execute one instruction of each sort, compare. */
func_insns red_zone
	li	%r9, -288
1:	PPC_STLX %r9, %r1, %r9
	addi	%r9, %r9, WORD
	cmpwi	%r9, 0
	bne	1b
	i 0, nop
	i 0, add %r6, %r3, %r4
	i 0, lfd %f0, -8(%r1)
	i 0, b 2f
2:	i 0, mr %r6, %r1
	li	%r9, -288
	li	%r3, 0
3:	PPC_LLX	%r10, %r1, %r9
	PPC_LCMP %r10, %r9
	beq	4f
	addi	%r3, %r3, 1
4:	addi	%r9, %r9, WORD
	cmpwi	%r9, 0
	bne	3b
	blr
end_insns

/*
 * The number of an instruction says how often every(n), n even, executes it:
 * 0 once, 1 n times, 2 n / 2 times, 3 2 * n times.
 */
func_insns every
	i 0, mflr %r0
	i 0, PPC_STL %r0, PPC_LR_STKOFF(%r1)
	i 0, PPC_STLU %r1, -FRAME(%r1)
	i 0, PPC_STL %r31, FRAME - WORD(%r1)
	i 0, li %r10, 0
	i 0, li %r5, 0
	i 0, mr %r31, %r3
	i 0, cmpwi %r31, 0
	i 0, beq 3f
1:	i 1, std %r31, 40(%r1)
	i 1, lis %r9, every_data@ha
	i 1, ld %r9, every_data@l(%r9)
	i 1, add %r10, %r10, %r9
	i 1, bl every_leaf
	i 1, add %r10, %r10, %r4
	i 1, lfd %f0, 40(%r1)
	i 1, fctid %f1, %f0
	i 1, stfd %f1, 40(%r1)
	i 1, ld %r6, 40(%r1)
	i 1, mulli %r5, %r31, 3
	i 1, addc %r5, %r5, %r6
	i 1, mfxer %r7
	i 1, mtxer %r7
	i 1, addze %r5, %r5
	i 1, mtvsrd %vs34, %r5
	i 1, vaddudm %v2, %v2, %v2
	i 1, mfvsrd %r5, %vs34
	i 1, lwz %r7, 41(%r1)
	i 1, andi. %r6, %r31, 1
	i 1, bne 2f
	i 2, li %r7, -5
	i 2, subf %r10, %r7, %r10
2:	i 1, lis %r12, every_leaf@ha
	i 1, addi %r12, %r12, every_leaf@l
	i 1, mtctr %r12
	i 1, bctrl
	i 1, xor %r10, %r10, %r4
	i 1, isync
	i 1, lwsync
	i 1, addi %r31, %r31, -1
	i 1, cmpwi %r31, 0
	i 1, bne 1b
3:	i 0, b 4f
	trap
4:	i 0, mr %r3, %r10
	i 0, PPC_LL %r31, FRAME - WORD(%r1)
	i 0, addi %r1, %r1, FRAME
	i 0, PPC_LL %r0, PPC_LR_STKOFF(%r1)
	i 0, mtlr %r0
	i 0, blr
every_leaf:
	i 3, addi %r4, %r5, 7
	i 3, blr
end_insns

/* For a debugger to step through. */
func_insns step_me
	i 0, mflr %r0
	i 0, PPC_STL %r0, PPC_LR_STKOFF(%r1)
	i 0, addi %r3, %r3, 1
	i 0, bl 1f
	i 0, lfd %f0, -8(%r1)
	i 0, mulli %r3, %r3, 3
	i 0, b 2f
1:	i 0, nop
	i 0, blr
2:	i 0, PPC_LL %r0, PPC_LR_STKOFF(%r1)
	i 0, mtlr %r0
	i 0, blr
end_insns

/* A breakpoint of the program's own, between two other instructions. */
func call_int3
	addi	%r3, %r3, 1
	.globl own_int3, after_int3
own_int3:
	trap
after_int3:
	addi	%r3, %r3, 2
	blr

/* Instructions that are refused. */
func soft_int
	sc
	blr
func unknown
	stdcx.	%r3, 0, %r4
	blr
func halt
	rfid
	blr

/* Many instructions in a row. */
	.globl nops
nops:
.rept 10000
	nop
.endr
	blr

func add_10000
	.globl leas
leas:
.rept 10000
	addi	%r3, %r3, 1
.endr
	blr

/* A function on each of 100 pages. */
	.balign 4096
	.globl pages
pages:
.rept 100
	nop
	blr
	.balign 4096
.endr

/*
 * A restartable sequence, see rseq(2): stores 1 and returns 0, or is aborted
 * and returns 1. What it is aborted to has the C library's signature before it.
 */
	.data
	.balign 32
rseq_descriptor:
	.long	0, 0
	quad	rseq_nop
	.quad	rseq_end - rseq_nop
	quad	rseq_abort

	.text
	.globl rseq_nop, rseq_commit
func rseq_store
	la_sym	%r9, rseq_descriptor
#ifdef __powerpc64__
	std	%r9, 8(%r3)
#else
	li	%r0, 0
	stw	%r0, 8(%r3)
	stw	%r9, 12(%r3)
#endif
	li	%r5, 1
rseq_nop:
	nop
rseq_commit:
	PPC_STL	%r5, 0(%r4)
rseq_end:
	li	%r3, 0
	blr
	.long	0x0fe5000b
rseq_abort:
	li	%r3, 1
	blr

	.section .rodata
	.balign 8
every_data:
	.quad 0x123456789

	.section .note.GNU-stack, "", @progbits
