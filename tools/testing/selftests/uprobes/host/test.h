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

void test_executed(void);
void test_refused(void);
void test_truncated(void);
void test_rewritten(void);
void test_faults(void);
void test_flags_of_step(void);
void test_emulation(void);
void test_copies(void);
void test_generated(void);
void test_programs(void);
void test_random(void);

#endif /* _UPROBES_HOST_TEST_H */
