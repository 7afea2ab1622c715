/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions, their frames, and pointers to them, in the two ABIs of 64 bits and
 * in that of 32. FRAME is what a function needs that calls others, WORD bytes of
 * which are ours.
 */

#ifdef __powerpc64__
#define WORD		8
#define PPC_LL		ld
#define PPC_LLX		ldx
#define PPC_STL		std
#define PPC_STLU	stdu
#define PPC_STLX	stdx
#define PPC_LCMP	cmpd
#define PPC_LR_STKOFF	16
#else
#define WORD		4
#define PPC_LL		lwz
#define PPC_LLX		lwzx
#define PPC_STL		stw
#define PPC_STLU	stwu
#define PPC_STLX	stwx
#define PPC_LCMP	cmpw
#define PPC_LR_STKOFF	4
#endif

#if !defined(__powerpc64__) || _CALL_ELF == 2
#define FRAME		64

.macro func name
	.globl \name
	.type \name, @function
	.balign 16
\name:
.endm

/* What to do before bctr or bctrl goes to the function at a pointer. */
.macro ctr_fn reg
#ifdef __powerpc64__
	mr	%r12, \reg
#endif
	mtctr	\reg
.endm
#else
#define FRAME		128

/* The name is that of a descriptor. */
.macro func name
	.globl \name
	.type \name, @function
	.pushsection .opd, "aw"
	.balign 8
\name:	.quad	.L\name, .TOC.@tocbase, 0
	.popsection
	.balign 16
.L\name:
.endm

.macro ctr_fn reg
	ld	%r12, 0(\reg)
	ld	%r2, 8(\reg)
	mtctr	%r12
.endm
#endif

#if defined(__powerpc64__) && _CALL_ELF == 2
	.abiversion 2
#endif

/* The frame, and how to leave it. */
.macro enter
	mflr	%r0
	PPC_STL	%r0, PPC_LR_STKOFF(%r1)
	PPC_STLU %r1, -FRAME(%r1)
	PPC_STL	%r31, FRAME - WORD(%r1)
.endm

.macro leave
	PPC_LL	%r31, FRAME - WORD(%r1)
	addi	%r1, %r1, FRAME
	PPC_LL	%r0, PPC_LR_STKOFF(%r1)
	mtlr	%r0
	blr
.endm

/* The address of a symbol: these programs are linked below 2 GiB. */
.macro la_sym reg, sym
	lis	\reg, \sym@ha
	addi	\reg, \reg, \sym@l
.endm

/* An address in 64 bits, whatever the program has. */
.macro quad addr
#ifdef __powerpc64__
	.quad	\addr
#else
	.long	0, \addr
#endif
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
	quad	99b
	.quad	\number
	.popsection
.endm

.macro end_insns
	.pushsection .rodata.insns, "a"
	.quad 0, 0
	.popsection
.endm
