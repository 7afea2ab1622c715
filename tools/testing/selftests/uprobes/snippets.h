/* SPDX-License-Identifier: GPL-2.0-only */
/* Some code with one probed instruction in it, and the CPU around it. */
#ifndef _SNIPPETS_H
#define _SNIPPETS_H

#include <assert.h>
#include <stddef.h>

#include "util.h"

/* Registers by the names that they have in both modes: ip, sp, ax and so on. */
#ifdef __x86_64__
#define GREG(name)	REG_R##name
#define UREG(name)	r##name
#else
#define GREG(name)	REG_E##name
#define UREG(name)	e##name
#endif

/* A table of snippets ends with a start of NULL. */
struct snippet {
	void *start;
	void *probe;
	const char *text;
};

extern const struct snippet emulated[];
extern const struct snippet stepped[];
extern const struct snippet relative[];
extern const struct snippet avx[];
extern const struct snippet system_calls[];
extern const struct snippet rare[];
extern const struct snippet faulting[];

enum gpr {
	RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI,
#ifdef __x86_64__
	R8, R9, R10, R11, R12, R13, R14, R15,
#endif
	NGPRS
};

#define NVECTORS	4
#define NSTACK		64
#define NDATA		32

/* State of the CPU: loaded before a snippet, stored after it. */
struct cpu {
	register_t gpr[NGPRS];
	register_t flags;
	__aligned_u64 vector[NVECTORS][4];
};

/* Known to snippets.S of the architecture */
#ifdef __x86_64__
static_assert(offsetof(struct cpu, flags) == 128, "flags");
static_assert(offsetof(struct cpu, vector) == 136, "vector");
static_assert(sizeof(struct cpu) <= 272, "cpu");
#else
static_assert(offsetof(struct cpu, flags) == 32, "flags");
static_assert(offsetof(struct cpu, vector) == 40, "vector");
static_assert(sizeof(struct cpu) <= 168, "cpu");
#endif

/*
 * What the snippets find: rdi, rsi and rbx point into data, rsp and rbp into
 * stack, all 16-byte aligned; rcx is 4, rdx 1, r10 0; r8 is no address that is
 * mapped, and r9 not even a canonical one; all else is noise. In 32 bits it is
 * the same with what there is of them. bad_page is theirs to fault on.
 */
extern struct cpu cpu;
extern __u64 stack[NSTACK];
extern __u64 data[NDATA];
extern char bad_page[PAGE_SZ];
extern char has_avx;

void run_snippet(void *start);
extern char snippet_end[];	/* where to go on after a fault */

#endif /* _SNIPPETS_H */
