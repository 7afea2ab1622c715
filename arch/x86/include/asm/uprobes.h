/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_UPROBES_H
#define _ASM_X86_UPROBES_H

#include <linux/types.h>

typedef u8 uprobe_opcode_t;

#define UPROBE_SWBP_INSN	0xcc	/* int3 */
#define UPROBE_SWBP_INSN_SIZE	1

/* The longest instruction has 15 bytes; a copy ends with an int3. */
#define MAX_UINSN_BYTES		16
#define UPROBE_XOL_SLOT_BYTES	32

/**
 * struct uprobe_insn - an analysed instruction
 * @op: enum uprobe_insn_op
 * @len: length of the original
 * @copy_len: length of @copy; 0 when emulation always succeeds, so that no
 *	copy is ever needed
 * @scratch: register that the copy borrows, or UPROBE_INSN_REG_NONE
 * @reg: register operand: the destination where there is one
 * @base: source register, base of an address
 * @cc: condition of a jcc; low opcode bits of loop and jrcxz
 * @wide: operands (loop: the counter) have 64 bits, not 32
 * @word: bytes of a word on the stack: 8 in 64-bit code, else 4
 * @imm: immediate, displacement, or distance of a branch
 * @copy: what runs out of line
 *
 * Immutable after the analysis and shared by all threads.
 */
struct uprobe_insn {
	u8	op;
	u8	len;
	u8	copy_len;
	u8	scratch;
	u8	reg;
	u8	base;
	u8	cc;
	u8	wide;
	u8	word;
	s32	imm;
	u8	copy[MAX_UINSN_BYTES - 1];
};

/**
 * struct uprobe_insn_step - what one thread keeps while a copy runs
 * @scratch: the program's value of the scratch register
 * @value: what belongs in the place of the word that the copy has pushed
 * @target: where execution goes on after a copy that does not get there
 */
struct uprobe_insn_step {
	unsigned long	scratch;
	unsigned long	value;
	unsigned long	target;
};

/**
 * struct arch_uprobe - an instruction
 * @insn: its bytes
 * @ixol: its copy, followed by breakpoints
 * @how: how to execute it
 */
struct arch_uprobe {
	u8 insn[MAX_UINSN_BYTES];
	u8 ixol[MAX_UINSN_BYTES];
	struct uprobe_insn how;
};

/**
 * struct arch_uprobe_task - what a thread saves while it steps through a copy
 * @step: registers that the copy borrows
 * @trap_nr: thread.trap_nr, which tells meanwhile whether the copy faulted
 * @dr6: watchpoints that the copy hit, DR_TRAP0 and on
 * @count: rcx before the copy
 * @end: the breakpoint that ends the copy; 0 when it ends by TF, or otherwise
 * @tf: did the program, or its debugger, have the trap flag set?
 * @blockstep: does its debugger step from branch to branch?
 */
struct arch_uprobe_task {
	struct uprobe_insn_step step;
	unsigned long trap_nr;
	unsigned long dr6;
	unsigned long count;
	unsigned long end;
	bool tf;
	bool blockstep;
};

#endif /* _ASM_X86_UPROBES_H */
