/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions and their frames, as the procedure call standard has them. */

.macro func name
	.globl \name
	.type \name, @function
	.balign 16
\name:
.endm

/* The frame of a function that calls others, and how to leave it. */
.macro enter
	stp	x29, x30, [sp, #-32]!
	mov	x29, sp
	str	x19, [sp, #16]
.endm

.macro leave
	ldr	x19, [sp, #16]
	ldp	x29, x30, [sp], #32
	ret
.endm

.macro la_sym reg, sym
	adrp	\reg, \sym
	add	\reg, \reg, :lo12:\sym
.endm

/*
 * A function with a table of its instructions, NAME_insns: i NUMBER, INSN is
 * an instruction whose address is entered, with a number that says something
 * about it. end_insns ends the table with an address of 0.
 */
.macro func_insns name
	func \name
	.pushsection .rodata.insns, "a"
	.balign 8
	.globl \name\()_insns
\name\()_insns:
	.popsection
.endm

.macro i number, insn:vararg
99:	\insn
	.pushsection .rodata.insns, "a"
	.quad 99b, \number
	.popsection
.endm

.macro end_insns
	.pushsection .rodata.insns, "a"
	.quad 0, 0
	.popsection
.endm
