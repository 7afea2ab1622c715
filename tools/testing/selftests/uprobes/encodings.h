/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The differential tester: what its parts share.
 *
 * Instructions, and states of the CPU to run them from, are made up by
 * encodings_gen.c; encodings_run.c runs them in a child and remembers all that
 * they did; encodings.c is the parent that probes them and reports. What only
 * the architecture knows is in files of the same names in its folder.
 *
 * Everything follows from a seed and the number of a case, so that one case
 * can be tried again alone; and from what the CPU can do.
 */
#ifndef _ENCODINGS_H
#define _ENCODINGS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <linux/types.h>

/*
 * MAX_INSN	bytes of the longest instruction
 * INSN_UNIT	an instruction consists of units of so many bytes
 * IN_ORDER(i)	where byte i of it is when units begin with the highest one
 * FILL		bytes of this are an instruction that raises a signal
 * STRIDE, IN_STRIDE	the distance of instructions, and what is left of that
 *		before each
 * ROUND	case nr + ROUND is of the same kind as case nr
 * struct parts	an instruction taken apart, its length is .len
 * struct state	of the CPU before
 * struct registers	after it, made of __u64 words
 */
#include "encodings_arch.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))
#define PAGE_SZ		4096UL

/* Cases that one child runs, and how often each is run in a phase. */
#define CHUNK		512
#define NSTATES		2

/*
 * Where the code is, and what it is expected to access. Low, so that addresses
 * of 32 bits reach it; the tester itself is elsewhere. Whatever is not the
 * instruction is FILL.
 */
#define CODE		0x10000000UL
#define CODE_SIZE	(CHUNK * STRIDE)
#define EDGES		0x11000000UL	/* pairs of pages */
#define EDGE_FILL	256
/*
 * Where pointers to code point to: an instruction that took one for a pointer
 * to data would see the breakpoints.
 */
#define LANDING		0x11800000UL
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

struct encoding {
	__u8 bytes[MAX_INSN + 1];
	__u8 place;
	__u8 split;	/* bytes of it on the first of two pages */
	bool fatal;	/* never run */
	__u64 addr;
	struct parts parts;
};

/* All that a run leaves behind. Compared word by word. */
struct outcome {
	__u64 info[6];		/* siginfo */
	struct registers regs;
	__u64 window[PAGE_SZ / 8];
	__u64 stack[PAGE_SZ / 8];
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

#define die(...) do {						\
	fprintf(stderr, "encodings: " __VA_ARGS__);			\
	fputc('\n', stderr);						\
	_exit(2);							\
} while (0)

/* encodings_gen.c */
struct rng {
	__u64 s;
};

struct rng rng_for(__u64 a, __u64 b);
__u64 rnd(struct rng *r);
unsigned int below(struct rng *r, unsigned int n);
bool percent(struct rng *r, unsigned int p);

__u64 code_target(struct rng *r);
__u64 window_target(struct rng *r);
__s64 small(struct rng *r);
bool is_own(const struct encoding *e, __u64 target);
bool is_code(__u64 target);

void make_case(struct encoding *e, __u64 nr, int slot);
void place_case(struct encoding *e, int slot);
void make_noise(__u64 *words, size_t n, __u64 nr);

/* The architecture's: an instruction, and once it is placed, its operands. */
void parse(const __u8 *bytes, struct parts *p);
void make_insn(struct encoding *e, __u64 nr, struct rng *r);
void aim_insn(struct encoding *e, struct rng *r);
bool is_beyond_qemu(const struct encoding *e);	/* not to be made */
bool is_fatal(const struct encoding *e);	/* not to be run */
void note_opcode(const struct encoding *e);
bool all_opcodes_made(void);
void print_omissions(void);

/* States to run it from. */
__u64 any_value(struct rng *r);
void make_state(struct state *st, const struct encoding *e, __u64 nr,
		int state);

/*
 * encodings_run.c: writes a byte when a phase has ended, and reads one before
 * the next.
 */
void run_child(int in, int out, __u64 chunk, int first, int n);
const char *word_name(int word);

/* What it shares with the architecture's. */
#define NOISE		1024
#define NOWHERE		(WINDOW - PAGE_SZ)	/* no code is there */

extern __u64 noise[NOISE];

void copy(__u64 *to, const __u64 *from, size_t size);

/* Handles a signal: its frame is what all those to enter by are made from. */
void take_frame(int sig, siginfo_t *info, void *uc);
/* From a state and, for other registers, random numbers, until a signal. */
void enter(const struct state *st, __u64 ip, struct rng *r);
void enter_nowhere(void);
/* Handles that signal, calls sandbox_capture() and has enter() return. */
void sandbox_signal(void);
void sandbox_capture(int sig, siginfo_t *info, ucontext_t *uc);
void leave(struct outcome *o, const ucontext_t *uc);
__u64 ip_of(const struct registers *regs);
const char *register_name(size_t word);

#endif /* _ENCODINGS_H */
