/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * To be included by what defines a trampoline in a vDSO.
 *
 * A program that unwinds its own stack, to throw a C++ exception for example,
 * finds the trampoline in the place of the real return address. The unwind
 * information of the trampoline is an expression that looks the word on the
 * stack up in the table of vdso/uretprobe.h.
 *
 * DWARF 5, 2.5.1 and 6.4.2, has the operations. They compute with words, which
 * have 32 bits in the vDSO of 32-bit programs.
 *
 * Who includes this tells before, for its program:
 *
 * WORD			the size of a word
 * UNWIND_RA		operations that push the return address of the frame
 *			before, that is of the trampoline
 * UNWIND_RA_LEN	their length
 * UNWIND_SLOT		operations that make the address of the word on the
 *			stack of the trampoline's CFA, two bytes
 */

#include <vdso/uretprobe.h>

#define DW_CFA_val_expression	0x16

#define DW_OP_deref		0x06
#define DW_OP_const1u		0x08
#define DW_OP_const4u		0x0c
#define DW_OP_const4s		0x0d
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
#define DW_OP_bregx		0x92
#define DW_OP_deref_size	0x94

#define BYTE(value, n)		(((value) >> (8 * (n))) & 0xff)
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BYTES_4(value)		BYTE(value, 3), BYTE(value, 2),		\
				BYTE(value, 1), BYTE(value, 0)
#define WORD_AT			(8 - WORD)
#else
#define BYTES_4(value)		BYTE(value, 0), BYTE(value, 1),		\
				BYTE(value, 2), BYTE(value, 3)
#define WORD_AT			0
#endif

/* Numbers of seven bits a byte */
#define ULEB_2(value)		((value) & 0x7f) | 0x80, (value) >> 7
#define ULEB_4(value)		((value) & 0x7f) | 0x80,		\
				(((value) >> 7) & 0x7f) | 0x80,		\
				(((value) >> 14) & 0x7f) | 0x80, (value) >> 21

/*
 * What the slot is multiplied by, and how far away the table is. libgcc has
 * words of 64 bits for x32, but reads only 32 of a constant.
 */
#if WORD == 8
#define UNWIND_HASH		DW_OP_const4u, BYTES_4(UPROBE_UNWIND_HASH >> 32), \
				DW_OP_const1u, 32, DW_OP_shl,		\
				DW_OP_const4u, BYTES_4(UPROBE_UNWIND_HASH), \
				DW_OP_plus
#define UNWIND_HASH_LEN		14
#define UNWIND_DISTANCE		UPROBE_UNWIND_DISTANCE
#else
#define UNWIND_HASH		DW_OP_const4u, BYTES_4(UPROBE_UNWIND_HASH32)
#define UNWIND_HASH_LEN		5
#define UNWIND_DISTANCE		UPROBE_UNWIND_DISTANCE32
#endif

/* Bytes of one try, and of all */
#define UNWIND_TRY_LEN		15
#define UNWIND_LOOKUP_LEN	(23 + UNWIND_RA_LEN + UNWIND_HASH_LEN +	\
				 UPROBE_UNWIND_TRIES * UNWIND_TRY_LEN)

/*
 * On the expression's stack are the slot, the first entry, and the sum of what
 * was found. Add what the n-th entry says if it is the slot's.
 */
#define UNWIND_TRY(n)							\
	.cfi_escape DW_OP_pick, 1,					\
		DW_OP_plus_uconst, (n) * UPROBE_UNWIND_SIZE + WORD_AT,	\
		DW_OP_dup, DW_OP_deref, DW_OP_pick, 4, DW_OP_eq,	\
		DW_OP_swap, DW_OP_plus_uconst, 8, DW_OP_deref,		\
		DW_OP_mul, DW_OP_plus;

#if UPROBE_UNWIND_TRIES != 8 || UPROBE_UNWIND_SIZE != 16
#error "one UNWIND_TRY for each, of entries of two times eight bytes"
#endif

/*
 * UNWIND_LOOKUP_LEN bytes: of the CFA, make the real return address. The slot is
 * there twice, since libgcc does not let DW_OP_pick have the lowest.
 */
#define UNWIND_LOOKUP							\
	.cfi_escape UNWIND_SLOT, DW_OP_dup, DW_OP_dup;			\
	.cfi_escape UNWIND_HASH, DW_OP_mul,				\
		DW_OP_const1u, 8 * WORD - UPROBE_UNWIND_BITS, DW_OP_shr, \
		DW_OP_lit(4), DW_OP_shl;				\
	.cfi_escape UNWIND_RA,						\
		DW_OP_const4s, BYTES_4(-UPROBE_UNWIND_ALIGN),		\
		DW_OP_and, DW_OP_plus,					\
		DW_OP_plus_uconst, ULEB_4(UNWIND_DISTANCE);		\
	.cfi_escape DW_OP_lit(0);					\
	UNWIND_TRY(0)							\
	UNWIND_TRY(1)							\
	UNWIND_TRY(2)							\
	UNWIND_TRY(3)							\
	UNWIND_TRY(4)							\
	UNWIND_TRY(5)							\
	UNWIND_TRY(6)							\
	UNWIND_TRY(7)
