/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where functions with return probes return to (kernel/uretprobes.c), and how
 * to unwind from there (vdso/uretprobe_unwind.S).
 */

#include <asm/vdso.h>

/* The columns of the return address, LR, and the stack pointer */
#define REG_RA			65
#define REG_SP			1

#ifdef __VDSO64__
#define WORD			8
#else
#define WORD			4
#endif

#define UNWIND_RA		DW_OP_bregx, REG_RA, 0
#define UNWIND_RA_LEN		3
/* Where functions save LR: the CFA is one word above the stack pointer. */
#ifdef __VDSO64__
#define UNWIND_SLOT		DW_OP_plus_uconst, 8
#else
#define UNWIND_SLOT		DW_OP_plus_uconst, 0
#endif

#include <vdso/uretprobe_unwind.S>

	.text
	.cfi_startproc
	/*
	 * Behind a return the stack is the caller's, and so are registers. But
	 * unwinders tell frames apart by the CFA, so here it is not that of the
	 * function that has returned. It is one that no frame can have.
	 */
	.cfi_def_cfa REG_SP, WORD
	.cfi_escape DW_CFA_val_expression, REG_SP, 2,			\
		DW_OP_lit(WORD), DW_OP_minus
	.cfi_escape DW_CFA_val_expression, REG_RA, ULEB_2(UNWIND_LOOKUP_LEN)
	UNWIND_LOOKUP
#ifdef __VDSO64__
	/*
	 * Where the function was called by way of a linker's stub, the caller
	 * restores r2 from its frame, with an instruction that unwinders look
	 * for behind the call. They do not find the frame by the CFA of this
	 * one. If there is no such instruction, r2 is what it is. If there is
	 * no return address either, something else that can be read is as good.
	 */
#define REG_TOC			2
#ifdef __LITTLE_ENDIAN__
#define TOC_SAVE		24
#else
#define TOC_SAVE		40
#endif
#define RESTORE_TOC		(0xe8410000 | TOC_SAVE)	/* ld r2,TOC_SAVE(r1) */
#define TOC_LEN			25
	.cfi_escape DW_CFA_val_expression, REG_TOC,			\
		ULEB_2(UNWIND_LOOKUP_LEN + TOC_LEN)
	UNWIND_LOOKUP
	.cfi_escape DW_OP_dup, DW_OP_lit(0), DW_OP_eq,			\
		DW_OP_breg(REG_SP), 0, DW_OP_mul, DW_OP_plus
	.cfi_escape DW_OP_deref_size, 4,				\
		DW_OP_const4u, BYTES_4(RESTORE_TOC), DW_OP_eq
	.cfi_escape DW_OP_breg(REG_SP), TOC_SAVE, DW_OP_deref,		\
		DW_OP_breg(REG_TOC), 0, DW_OP_minus, DW_OP_mul
	.cfi_escape DW_OP_breg(REG_TOC), 0, DW_OP_plus
#endif
	/* Unwinders look up what is before a return address, a call. */
	nop
V_FUNCTION_BEGIN(__kernel_uretprobe_trampoline)
	trap
V_FUNCTION_END(__kernel_uretprobe_trampoline)
	.cfi_endproc
