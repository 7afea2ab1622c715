/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where functions with return probes return to (kernel/uretprobes.c), and how
 * to unwind from there (vdso/uretprobe_unwind.S).
 */

#include <linux/linkage.h>

/* The columns of the return address and the stack pointer */
#ifdef __x86_64__
#define REG_RA			16
#define REG_SP			7
#define STACK_POINTER		%rsp
#define WORD			8
#else
#define REG_RA			8
#define REG_SP			4
#define STACK_POINTER		%esp
#define WORD			4
#endif

#define UNWIND_RA		DW_OP_breg(REG_RA), 0
#define UNWIND_RA_LEN		2
/* The word below the stack pointer */
#define UNWIND_SLOT		DW_OP_lit(2 * WORD), DW_OP_minus

#include <vdso/uretprobe_unwind.S>

	.text
	.cfi_startproc
	/*
	 * Behind a return the stack is the caller's, and so are registers. But
	 * unwinders tell frames apart by the CFA, so here it is not that of the
	 * function that has returned. It is one that no frame can have.
	 */
	.cfi_def_cfa STACK_POINTER, WORD
	.cfi_escape DW_CFA_val_expression, REG_SP, 2,			\
		DW_OP_lit(WORD), DW_OP_minus
	.cfi_escape DW_CFA_val_expression, REG_RA, ULEB_2(UNWIND_LOOKUP_LEN)
	UNWIND_LOOKUP
	/* Unwinders look up what is before a return address, a call. */
	nop
SYM_INNER_LABEL(__vdso_uretprobe_trampoline, SYM_L_GLOBAL)
	int3
	.cfi_endproc
