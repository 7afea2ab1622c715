/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests of the x86 instruction unit on the host: what their files share.
 *
 * The unit reads and writes the program's stack through user_read() and
 * user_write(). Here that is the memory from user_start to user_end, at its
 * real addresses, so that the same registers serve the unit and the CPU.
 */
#ifndef _UPROBES_HOST_TEST_H
#define _UPROBES_HOST_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <asm/processor-flags.h>

#include "uprobes_insn.h"

#define ARITH_FLAGS	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | \
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)

/* Results. fail() prints a diagnostic and makes the running test fail. */
void fail(const char *fmt, ...) __printf(1, 2);
void note(const char *fmt, ...) __printf(1, 2);
/* Failures since the last call, of which not all may have been printed */
unsigned long end_failures(void);

/* Room for one more than @n items of @size bytes, for which there is @room */
void *grow(void *items, size_t n, size_t *room, size_t size);

/* "48 89 e5" to bytes; dies on anything else. Returns their number. */
size_t parse_hex(const char *hex, u8 *bytes);
const char *show_hex(const u8 *bytes, size_t n);

/* A fixed sequence: a failure comes again in the next run */
u64 rnd(void);
static inline u64 rnd_below(u64 n)
{
	return rnd() % n;
}

extern u8 *user_start, *user_end;
/* Accesses that succeed before one fails; negative: all do */
extern int user_accesses;

/* cpu.c: run one instruction on the CPU */
struct cpu_result {
	int		sig;	/* SIGTRAP: it has ended */
	int		code;
	unsigned long	addr;
	u8		fpu[4096];
	size_t		fpu_size;
};

void cpu_init(void);
void cpu_step(struct pt_regs *regs, struct cpu_result *result);

/* disasm.c: a second opinion on runs of instructions */
enum run_kind {
	RUN_CODE,
	RUN_PADDING,
	RUN_TABLE,
	RUN_UNKNOWN,
};

struct run {
	const u8	*bytes;
	size_t		size;
	unsigned long	vaddr;
	enum run_kind	kind;
	bool		one;		/* nothing but its first instruction */

	/* What objdump finds in it */
	unsigned long	insns, nops, bad;
};

struct refusal {
	const char	*why;
	char		mnemonic[16];
	unsigned long	count;
};

struct verdict {
	unsigned long	seen, accepted;
	unsigned long	bad;		/* accepted, but not by objdump */
	struct refusal	*refusals;
	size_t		nr_refusals, room;
};

/* Without @verdict objdump is asked, and nobody else */
void judge(struct verdict *verdict, struct run *runs, size_t n, bool is_64bit);

/* text.c: the .text of a program, in runs that are code or of unknown kind */
struct text {
	const u8	*bytes;
	size_t		size;
	unsigned long	vaddr;
	bool		is_64bit;
	struct run	*runs;
	size_t		nr_runs;

	/* private: */
	const u8	*map;
	size_t		map_size;
	u8		*marks;
};

bool text_open(struct text *text, const char *path);
void text_close(struct text *text);

/* coverage.c: how much of a program can be probed */
struct table {
	unsigned long	vaddr;
	size_t		size;
	u8		head[8];
	unsigned long	insns, bad;	/* if it were code */
};

struct coverage {
	bool		is_64bit;
	size_t		size;		/* of .text, of that */
	size_t		padding;
	size_t		table_size;
	struct table	*tables;
	size_t		nr_tables, room;
	struct verdict	code, rest;
};

bool coverage_count(struct coverage *c, const char *path);
void coverage_free(struct coverage *c);
/* In thousandths of a percent, rounded down: 100000 is all */
#define COVERAGE_WANTED	99900
unsigned long coverage_share(unsigned long part, unsigned long whole);

void test_executed(void);
void test_refused(void);
void test_truncated(void);
void test_rewritten(void);
void test_faults(void);
void test_flags_of_step(void);
void test_emulation(void);
void test_copies(void);
void test_emulation_32bit(void);
void test_copies_32bit(void);
void test_generated(void);
void test_programs(void);
void test_random(void);

#endif /* _UPROBES_HOST_TEST_H */
