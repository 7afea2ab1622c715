/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests in exact.c and syscalls.c probe, in assembler: see exact.S of
 * the architecture.
 */
#ifndef _EXACT_H
#define _EXACT_H

#include <assert.h>
#include <stddef.h>

#include "probed.h"

/*
 * Ends with exit status 0, if ever. What fn does with registers and stack does
 * not depend on who calls it.
 */
void run_clean(void (*fn)(void));

/*
 * System calls: X_insn is the instruction, X_after the one behind it. They
 * return what the kernel does.
 */
#define CALL(name)							\
long name(long nr, long a, long b, long c, long d, long e);		\
extern char name##_insn[], name##_after[]

#ifdef __x86_64__
CALL(syscall_64);
CALL(syscall_64_too);
#endif
CALL(int80);
CALL(int80_too);
CALL(new_thread);

/* The program traces itself around it. */
#ifdef __x86_64__
long syscall_64_traced(long nr);
extern char syscall_64_traced_insn[];
#endif
long int80_traced(long nr);
extern char int80_traced_insn[];

pid_t vfork_exit(int status);
extern char vfork_exit_insn[];

void restorer(void);
extern char restorer_insn[];

/* For run_snippet(). */
extern char raise_sigill[], shadow_stack[], incssp[];

/* The registers of a string instruction, before and after it. */
struct string {
	void *di;
	void *si;
	long n;
	long a;
	long flags;
};

/* Known to exact.S */
static_assert(offsetof(struct string, flags) == 4 * sizeof(long), "flags");

/* What they work on, in pages of their own. */
#define BUF_SIZE	(8 * 4096)

extern unsigned char from[BUF_SIZE], to[BUF_SIZE];

#define STRING(name)							\
void name(struct string *s);						\
extern char name##_insn[], name##_after[]

STRING(rep_movsb);
STRING(rep_stosb);
STRING(rep_stos);	/* long by long */
STRING(repe_cmpsb);
STRING(repne_scasb);
STRING(rep_lodsb);

/* The FPU's environment, in the 32-bit format that these programs fit in. */
struct x87_env {
	__u32 control;
	__u32 status;
	__u32 tags;
	__u32 ip;
	__u32 opcode;
	__u32 data;
	__u32 data_segment;
	__u32 pad;
};

/* Known to exact.S */
static_assert(sizeof(struct x87_env) == 32, "x87_env");

#define NX87	18

void x87(struct x87_env envs[NX87], double numbers[8]);
extern const struct insn_addr x87_insns[];
void x87_fault(void);
extern const struct insn_addr x87_fault_insns[];
extern char x87_next[];

/* Their addresses and what they are called. */
struct refused_insn {
	void *addr;
	const char *text;
};

extern const struct refused_insn refused[];

#endif /* _EXACT_H */
