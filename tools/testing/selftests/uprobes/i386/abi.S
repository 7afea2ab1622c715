/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions in assembler, of a program of 32 bits: arguments are on the stack,
 * from 4(%esp) on at the entry.
 */
.macro func name
	.globl \name
	.type \name, @function
	.balign 16
\name:
.endm

/*
 * A function with a table of its instructions, NAME_insns: i NUMBER, INSN is
 * an instruction whose address is entered, with a number that says something
 * about it. end_insns ends the table with an address of 0.
 */
.macro insn_addr addr, number
	.pushsection .rodata.insns, "a"
	.long \addr, 0, \number, 0
	.popsection
.endm

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
	insn_addr 99b, \number
.endm

.macro end_insns
	insn_addr 0, 0
.endm
