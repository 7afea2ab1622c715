/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where functions with return probes return to (kernel/uretprobes.c), and how
 * to unwind from there.
 *
 * A program that unwinds its own stack, to throw a C++ exception for example,
 * finds this address in the place of the real return address, and needs to know
 * that. The kernel keeps it in a table that the program can read, see
 * asm/vuretprobe.h. The unwind information of the trampoline is an expression
 * that looks the word on the stack up there.
 *
 * DWARF 5, 2.5.1 and 6.4.2, has the operations. They compute with words, which
 * have 32 bits in the vDSO of 32-bit programs.
 */

#include <linux/linkage.h>
#include <asm/vuretprobe.h>

#define DW_CFA_val_expression	0x16

#define DW_OP_deref		0x06
#define DW_OP_const1u		0x08
#define DW_OP_const2s		0x0b
#define DW_OP_const4u		0x0c
#define DW_OP_const8u		0x0e
#define DW_OP_dup		0x12
#define DW_OP_pick		0x15
#define DW_OP_swap		0x16
#define DW_OP_and		0x1a
#define DW_OP_minus		0x1c
#define DW_OP_mul		0x1e
#define DW_OP_plus		0x22
#define DW_OP_plus_uconst	0x23
#define DW_OP_shl		0x24
#define DW_OP_shr		0x25
#define DW_OP_eq		0x29
#define DW_OP_lit(n)		(0x30 + (n))
#define DW_OP_breg(n)		(0x70 + (n))

#define BYTE(value, n)		(((value) >> (8 * (n))) & 0xff)
#define BYTES_4(value, n)	BYTE(value, n), BYTE(value, n + 1),	\
				BYTE(value, n + 2), BYTE(value, n + 3)

/* Numbers of seven bits a byte */
#define ULEB_2(value)		((value) & 0x7f) | 0x80, (value) >> 7
#define ULEB_4(value)		((value) & 0x7f) | 0x80,		\
				(((value) >> 7) & 0x7f) | 0x80,		\
				(((value) >> 14) & 0x7f) | 0x80, (value) >> 21

/*
 * The columns of the return address and the stack pointer, the size of a word,
 * what the slot is multiplied by, how far away the table is, and the length of
 * what is before the tries.
 */
#ifdef __x86_64__
#define REG_RA			16
#define REG_SP			7
#define STACK_POINTER		%rsp
#define WORD			8
#define PUSH_HASH		DW_OP_const8u,				\
				BYTES_4(UPROBE_UNWIND_HASH, 0),		\
				BYTES_4(UPROBE_UNWIND_HASH, 4)
#define DISTANCE		UPROBE_UNWIND_DISTANCE
#define PREFIX_LEN		32
#else
#define REG_RA			8
#define REG_SP			4
#define STACK_POINTER		%esp
#define WORD			4
#define PUSH_HASH		DW_OP_const4u,				\
				BYTES_4(UPROBE_UNWIND_HASH32, 0)
#define DISTANCE		UPROBE_UNWIND_DISTANCE32
#define PREFIX_LEN		28
#endif

/* Bytes of one try */
#define TRY_LEN			15

/*
 * On the expression's stack are the slot, the first entry, and the sum of what
 * was found. Add what the n-th entry says if it is the slot's.
 */
#define TRY(n)								\
	.cfi_escape DW_OP_pick, 1,					\
		DW_OP_plus_uconst, (n) * UPROBE_UNWIND_SIZE,		\
		DW_OP_dup, DW_OP_deref, DW_OP_pick, 4, DW_OP_eq,	\
		DW_OP_swap, DW_OP_plus_uconst, 8, DW_OP_deref,		\
		DW_OP_mul, DW_OP_plus

#if UPROBE_UNWIND_TRIES != 8 || UPROBE_UNWIND_SIZE != 16
#error "one TRY for each, of entries of two times eight bytes"
#endif

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
	.cfi_escape DW_CFA_val_expression, REG_RA,			\
		ULEB_2(PREFIX_LEN + UPROBE_UNWIND_TRIES * TRY_LEN)
	/*
	 * The slot is the word below the stack pointer. It is there twice,
	 * since libgcc does not let DW_OP_pick have the lowest.
	 */
	.cfi_escape DW_OP_lit(2 * WORD), DW_OP_minus, DW_OP_dup
	.cfi_escape DW_OP_dup, PUSH_HASH, DW_OP_mul,			\
		DW_OP_const1u, 8 * WORD - UPROBE_UNWIND_BITS, DW_OP_shr, \
		DW_OP_lit(4), DW_OP_shl
	/* The word is the address of the trampoline. */
	.cfi_escape DW_OP_breg(REG_RA), 0,				\
		DW_OP_const2s, BYTE(-4096, 0), BYTE(-4096, 1), DW_OP_and, \
		DW_OP_plus,						\
		DW_OP_plus_uconst, ULEB_4(DISTANCE)
	.cfi_escape DW_OP_lit(0)
	TRY(0)
	TRY(1)
	TRY(2)
	TRY(3)
	TRY(4)
	TRY(5)
	TRY(6)
	TRY(7)
	/* Unwinders look up what is before a return address, a call. */
	nop
SYM_INNER_LABEL(__vdso_uretprobe_trampoline, SYM_L_GLOBAL)
	int3
	.cfi_endproc
