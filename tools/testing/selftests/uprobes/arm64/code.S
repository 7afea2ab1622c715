/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions to probe, of which every instruction is known: see probed.h. */
#include "abi.S"
	.text

func add
	add	x0, x0, x1
	.globl add_ret
add_ret:
	ret

func sub
	sub	x0, x0, x1
	ret

func nop_fn
	nop
	ret

func own_sp
	mov	x0, sp
	ret

/* A call of which the return address is known. */
func call_own_sp
	enter
	bl	own_sp
	.globl after_own_sp, instead_of_own_sp
after_own_sp:
	leave
instead_of_own_sp:
	mov	x0, #77
	leave

/* A tail call: both return to one address. */
func tail_outer
	add	x0, x0, #1
	b	tail_inner
func tail_inner
	add	x0, x0, x0
	ret

/* Returns what is in a register that it has to give back. */
func saved_register
	str	x19, [sp, #-16]!
	.globl at_copied, at_emulated
at_copied:
	prfm	pldl1keep, [sp]
at_emulated:
	adr	x9, .
	mov	x0, x19
	ldr	x19, [sp], #16
	ret

/* Jumps to where its argument says. */
func tail_call
	nop
	br	x0

/* Returns by a jump. */
func pop_jmp
	add	x0, x0, #3
	mov	x9, x30
	br	x9

/* Returns 5, but to where its first argument says. */
func ret_to
	mov	x30, x0
	mov	x0, #5
	ret

/* Calls ret_to() so that it returns there, and not behind the call. */
func call_ret_to
	enter
	adr	x0, 1f
	bl	ret_to
	mov	x0, #-1
1:	leave

/* Keeps its return address in a register that fn gives back. */
func call_kept
	str	x19, [sp, #-16]!
	mov	x19, x30
	blr	x0
	mov	x30, x19
	ldr	x19, [sp], #16
	ret

/* Calls with the stack pointer that it has itself. */
func call_same_sp
	mov	x10, x30
	bl	same_sp
	mov	x30, x10
	add	x0, x0, #1
	ret
func same_sp
	mov	x0, #6
	ret

/* Calls fn(arg) on another stack, and returns to on_stack_end. */
func call_on_stack
	enter
	mov	x19, sp
	mov	sp, x0
	mov	x0, x2
	blr	x1
	.globl on_stack_end
on_stack_end:
	mov	sp, x19
	leave

/* Three calls in each other, with a chain of frames up to 0. */
.macro walker name, next, frame
	func \name
	stp	x29, x30, [sp, #-16]!
	mov	x29, \frame
	bl	\next
	.globl after_\next
after_\next:
	ldp	x29, x30, [sp], #16
	ret
.endm

walker walk_0, walk_1, #0
walker walk_1, walk_2, sp
walker walk_2, walk_3, sp

func walk_3
	mov	x0, #9
	ret

func end_thread
	mov	x8, #93		/* exit, of one thread */
	mov	x0, #0
	svc	#0
	udf	#0

/* 64 bytes, by several instructions. */
func fill
	movi	v0.16b, #7
	.globl fill_rep
fill_rep:
	stp	q0, q0, [x0]
	stp	q0, q0, [x0, #32]
	ret

/* Fill what is below the stack, execute one instruction of each sort, compare. */
func_insns red_zone
	mov	x9, #-128
1:	add	x10, sp, x9
	str	x9, [x10]
	adds	x9, x9, #8
	b.ne	1b
	i 0, nop
	i 0, add x6, x0, x1
	i 0, ldur x6, [sp, #-8]
	i 0, b 2f
2:	i 0, adr x6, red_zone
	i 0, mov x6, sp
	mov	x9, #-128
	mov	x0, #0
3:	add	x10, sp, x9
	ldr	x10, [x10]
	cmp	x10, x9
	b.eq	4f
	add	x0, x0, #1
4:	adds	x9, x9, #8
	b.ne	3b
	ret
end_insns

/*
 * The number of an instruction says how often every(n), n even, executes it:
 * 0 once, 1 n times, 2 n / 2 times, 3 2 * n times.
 */
func_insns every
	i 0, stp x29, x30, [sp, #-48]!
	i 0, mov x29, sp
	i 0, stp x19, x20, [sp, #16]
	i 0, mov x20, #0
	i 0, mov x5, #0
	i 0, mov x19, x0
	i 0, cbz x19, 3f
1:	i 1, str x19, [sp, #32]
	i 1, adrp x9, every_data
	i 1, ldr x9, [x9, :lo12:every_data]
	i 1, add x20, x20, x9
	i 1, bl every_leaf
	i 1, add x20, x20, x4
	i 1, ldr d0, [sp, #32]
	i 1, scvtf d1, d0
	i 1, fcvtzs x6, d1
	i 1, add x5, x6, x19, lsl #1
	i 1, adds x5, x5, x6
	i 1, adc x5, x5, xzr
	i 1, csel x7, x5, x6, cs
	i 1, madd x5, x5, x7, x6
	i 1, ldur x7, [sp, #33]
	i 1, tbnz x19, #0, 2f
	i 2, mov x7, #-5
	i 2, sub x20, x20, x7
2:	i 1, adr x12, every_leaf
	i 1, blr x12
	i 1, eor x20, x20, x4
	i 1, isb
	i 1, dmb ish
	i 1, sub x19, x19, #1
	i 1, cmp x19, #0
	i 1, b.ne 1b
3:	i 0, b 4f
	udf	#0
4:	i 0, mov x0, x20
	i 0, ldp x19, x20, [sp, #16]
	i 0, ldp x29, x30, [sp], #48
	i 0, ret
every_leaf:
	i 3, add x4, x5, #7
	i 3, ret
end_insns

/* For a debugger to step through. */
func_insns step_me
	i 0, str x30, [sp, #-16]!
	i 0, add x0, x0, #1
	i 0, bl 1f
	i 0, ldr d0, [sp]
	i 0, add x0, x0, x0, lsl #1
	i 0, b 2f
1:	i 0, nop
	i 0, ret
2:	i 0, ldr x30, [sp], #16
	i 0, ret
end_insns

/* A breakpoint of the program's own, between two other instructions. */
func call_int3
	add	x0, x0, #1
	.globl own_int3, after_int3
own_int3:
	brk	#5
after_int3:
	add	x0, x0, #2
	ret

/* Instructions that are refused. */
func soft_int
	svc	#0
	ret
func unknown
	ldxr	x0, [x0]
	ret
func halt
	hlt	#0
	ret

/* Many instructions in a row. */
func nops
.rept 10000
	nop
.endr
	ret

func add_10000
	.globl leas
leas:
.rept 10000
	add	x0, x0, #1
.endr
	ret

/* A function on each of 100 pages. */
	.balign 4096
	.globl pages
pages:
.rept 100
	nop
	ret
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
	.quad	rseq_nop, rseq_end - rseq_nop, rseq_abort

	.text
	.globl rseq_nop, rseq_commit
func rseq_store
	la_sym	x9, rseq_descriptor
	str	x9, [x0, #8]
	mov	x2, #1
rseq_nop:
	nop
rseq_commit:
	str	x2, [x1]
rseq_end:
	mov	x0, #0
	ret
	.inst	0xd428bc00
rseq_abort:
	mov	x0, #1
	ret

	.section .rodata
	.balign 8
every_data:
	.quad 0x123456789

	.section .note.GNU-stack, "", @progbits
