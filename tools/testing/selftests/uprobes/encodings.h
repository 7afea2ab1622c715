/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The differential tester: what its parts share.
 *
 * encodings_gen.c makes up instructions and states of the CPU to run them
 * from, encodings_run.c runs them in a child and remembers all that they did,
 * encodings.c is the parent that probes them and reports.
 *
 * Everything follows from a seed and the number of a case, so that one case
 * can be tried again alone; and from whether the CPU has AVX-512.
 */
#ifndef _ENCODINGS_H
#define _ENCODINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))
#define PAGE_SZ		4096UL
#define MAX_INSN	15
#define HLT		0xf4

/* Cases that one child runs, and how often each is run in a phase. */
#define CHUNK		512
#define NSTATES		2

/*
 * Where the code is, and what it is expected to access. Low, so that addresses
 * of 32 bits reach it; the tester itself is elsewhere. Whatever is not the
 * instruction is hlt, which faults. Around the instruction there is as much of
 * that as a branch of 8 bits can reach.
 */
#define CODE		0x10000000UL
#define STRIDE		288
#define IN_STRIDE	136
#define CODE_SIZE	(CHUNK * STRIDE)
#define EDGES		0x11000000UL	/* pairs of pages */
#define EDGE_FILL	256
/*
 * Where pointers to code point to: an instruction that took one for a pointer
 * to data would see the breakpoints.
 */
#define LANDING		0x12000000UL
#define LANDING_SIZE	(16 * PAGE_SZ)
#define WINDOW		0x20000000UL
#define STACK		0x20100000UL

/* Where an instruction is in its page. */
enum place {
	MIDDLE,
	PAGE_END,	/* the next page is there */
	PAGE_CROSS,
	HOLE_END,	/* the next page is not there */
	HOLE_CROSS,
	NPLACES
};

#define NO_REG	0xff

/* What is where in an instruction; offsets are 0 where there is no such part */
struct parts {
	__u8 map;	/* 0: one byte, 1: 0f, 2: 0f 38, 3: 0f 3a */
	__u8 opcode;
	__u8 opcode_at;
	__u8 modrm_at;
	__u8 disp_at;
	__u8 disp_size;
	__u8 imm_at;
	__u8 imm_size;
	__u8 len;
	__u8 base;	/* registers of a memory operand, or NO_REG */
	__u8 index;
	bool vex;	/* or EVEX */
	__u8 vex_l_pp;	/* bits L and pp */
	bool lock;
	bool repe;
	bool opsize;
	bool addrsize;
	bool fs;
	bool gs;
};

struct encoding {
	__u8 bytes[MAX_INSN + 1];
	__u8 place;
	__u8 split;	/* bytes of it on the first of two pages */
	bool fatal;	/* never run */
	__u64 addr;
	struct parts parts;
};

/* A state of the CPU, but for the FPU. */
struct state {
	__u64 gpr[16];	/* by their numbers */
	__u64 flags;
	__u64 fs_base;
	__u64 gs_base;
};

/* All that a run leaves behind. Compared word by word. */
#define NGREGS		23
#define XSTATE_MAX	2560

struct outcome {
	__u64 info[6];		/* siginfo */
	__u64 gregs[NGREGS];	/* sigcontext */
	__u64 uc_flags;
	__u64 uc_mask;
	__u64 fs_base;
	__u64 gs_base;
	__u16 segments[4];	/* ds, es, fs, gs */
	__u64 window[PAGE_SZ / 8];
	__u64 stack[PAGE_SZ / 8];
	__u64 xstate[XSTATE_MAX / 8];
};

#define NWORDS	(sizeof(struct outcome) / 8)

/* The first difference that was found in a case. */
struct difference {
	bool found;
	int state;
	int nwords;
	int word;
	__u64 expected;
	__u64 seen;
};

/* Memory of parent and child. */
struct shared {
	struct encoding cases[CHUNK];
	int refused[CHUNK];	/* with this errno, or 0 */
	bool unstable[CHUNK];	/* differs from run to run, unprobed */
	long hits[CHUNK];
	struct difference differences[CHUNK];
	struct outcome expected[CHUNK][NSTATES];
	int at;		/* the case that is being run */
	long runs;	/* so far */
};

extern struct shared *shared;
extern __u64 seed;

/* Pseudo-random numbers, encodings_gen.c */
struct rng {
	__u64 s;
};

struct rng rng_for(__u64 a, __u64 b);
__u64 rnd(struct rng *r);
unsigned int below(struct rng *r, unsigned int n);
bool percent(struct rng *r, unsigned int p);

void parse(const __u8 *bytes, struct parts *p);
void make_case(struct encoding *e, __u64 nr, int slot);
bool is_fatal(const struct encoding *e);
void place_case(struct encoding *e, int slot);
void make_state(struct state *st, const struct encoding *e, __u64 nr,
		int state);
void make_noise(__u64 *words, size_t n, __u64 nr);
bool all_opcodes_made(void);

/*
 * encodings_run.c: writes a byte when a phase has ended, and reads one before
 * the next.
 */
void run_child(int in, int out, __u64 chunk, int first, int n);
const char *word_name(int word);

/* The linker's: the program, and the end of its text. */
extern const char __executable_start[], etext[];

/* encodings_enter.S */
void sandbox_enter(void *uc, __u64 flags);
void sandbox_signal(void);

#endif /* _ENCODINGS_H */
