/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_POWERPC_UPROBES_H
#define _ASM_POWERPC_UPROBES_H

#include <linux/types.h>

typedef u32 uprobe_opcode_t;

#define UPROBE_SWBP_INSN	0x7fe00008	/* trap */
#define UPROBE_SWBP_INSN_SIZE	4

/* A prefix and its suffix. A copy ends with a trap. */
#define MAX_UINSN_BYTES		8
#define UPROBE_XOL_SLOT_BYTES	16

/* The kernel reads instructions that it executes for programs. */
#define UPROBE_XOL_VM_FLAGS	(VM_READ | VM_MAYREAD)

/**
 * struct arch_uprobe - an instruction
 * @insn: its words, the second of which counts only if the first is a prefix
 * @ixol: its copy
 * @how: how to execute it, enum uprobe_how
 * @len: its length
 * @scratch: register that holds the original address while the copy runs, or 0
 *
 * Immutable after the analysis and shared by all threads.
 */
struct arch_uprobe {
	u8 insn[MAX_UINSN_BYTES] __aligned(sizeof(u32));
	u32 ixol[MAX_UINSN_BYTES / sizeof(u32) + 1];
	u8 how;
	u8 len;
	u8 scratch;
};

/**
 * struct arch_uprobe_task - what a thread saves while it steps through a copy
 * @trap_nr: thread.trap_nr, which tells meanwhile whether the copy faulted
 * @trace: does the program's debugger step, MSR_SE, or from branch to branch,
 *	MSR_BE?
 * @end: the trap that ends the copy
 * @scratch: the program's value of the scratch register
 */
struct arch_uprobe_task {
	unsigned long trap_nr;
	unsigned long trace;
	unsigned long end;
	unsigned long scratch;
};

#endif /* _ASM_POWERPC_UPROBES_H */
