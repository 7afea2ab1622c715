/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions for upper.c, of 32 bits: see there. */
#include "abi.S"
	.text

.macro set_upper reg
	li	%r10, 1
	sldi	%r10, %r10, 32
	or	\reg, \reg, %r10
.endm

/* The number of an instruction says how often it is executed. */
func_insns count_five
	li	%r9, 5
	set_upper %r9
	i 1, mtctr %r9
	i 1, li %r3, 0
1:	i 5, addi %r3, %r3, 1
	i 5, cmpwi %r3, 100
	i 5, beq 2f
	i 5, bdnz 1b
2:	i 1, mfctr %r4
	i 1, srdi %r4, %r4, 32
	i 1, slwi %r4, %r4, 8
	i 1, add %r3, %r3, %r4
	i 1, blr
end_insns

func call_from_upper
	enter
	la_sym	%r9, after_from_upper
	set_upper %r9
	mtlr	%r9
	set_upper %r1
	b	from_upper
	.globl after_from_upper
after_from_upper:
	clrldi	%r1, %r1, 32
	leave
func from_upper
	addi	%r3, %r3, 1
	blr

	.section .note.GNU-stack, "", @progbits
