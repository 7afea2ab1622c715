/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions to probe, and programs that call them. */
#ifndef _PROBED_H
#define _PROBED_H

#include <string.h>
#include <sys/mman.h>

#include "util.h"

/* Where these programs leave their results in shm. */
enum {
	SHM_GOOD,	/* calls of counting functions that saw their hit */
	SHM_BAD,	/* calls that saw something else */
	SHM_RESULT,
	SHM_FREE	/* the first one that is left to the tests */
};

/* In assembler, instruction by instruction: see code.S. */
long add(long a, long b);	/* begins with what has a copy */
extern char add_next[];		/* its second instruction */
extern char add_ret[];		/* its ret */
long sub(long a, long b);
void nop_fn(void);		/* nop; ret */
long own_sp(void);		/* returns its stack pointer */
long call_own_sp(void);		/* calls it, and returns the same */
extern char after_own_sp[];	/* where it returns to */
extern char instead_of_own_sp[];	/* where 77 is returned instead */
long call_pop_16(long a, long b);	/* returns a + b */
long pop_16(long a, long b);
long tail_outer(long a);	/* returns tail_inner(a + 1) */
long tail_inner(long a);	/* returns 2 * a */
long saved_register(void);	/* returns a register that it gives back */
extern char at_copied[], at_emulated[];	/* instructions in between */
long tail_call(long (*fn)(void));	/* jumps to it */
long pop_jmp(long a);		/* returns a + 3, by a jump */
long call_kept(long (*fn)(void));	/* its return address in a register */
long call_same_sp(void);	/* returns same_sp() + 1, with one stack pointer */
long same_sp(void);		/* returns 6 */
long call_ret_to(void);		/* returns 5 */
long ret_to(void *addr);
/* Returns fn(arg), called on a stack that begins with on_stack_end and arg. */
long call_on_stack(void *stack, long (*fn)(long arg), long arg);
extern char on_stack_end[];
long walk_0(void);		/* calls walk_1, which calls walk_2, ... */
long walk_1(void);
long walk_2(void);
long walk_3(void);		/* returns 9 */
extern char after_walk_1[], after_walk_2[], after_walk_3[];
void end_thread(void);		/* ends the calling thread, status 0 */
void fill(char *buf);		/* writes 7 to 64 bytes */
extern char fill_rep[];		/* its rep stosb */
long red_zone(void);		/* returns how many words of it changed */
long every(long n);
long trace_me(register_t *flags);
void step_me(void);
void call_int3(void);		/* a probe, own_int3, after_int3, a return */
extern char own_int3[], after_int3[];
void soft_int(void);
void unknown(void);
void halt(void);
struct rseq;
long rseq_store(struct rseq *rs, long *target);	/* 1 if it was aborted */
extern char rseq_nop[];		/* its first instruction */
extern char rseq_commit[];	/* its last, which stores 1 to *target */
long call_kmov(long a);
extern char kmov[];

/* What is in the tables of some of them; an address of 0 is the end. */
struct insn_addr {
	__u64 addr;
	__u64 number;
};

static inline void *insn_at(const struct insn_addr *insn)
{
	return (void *)(uintptr_t)insn->addr;
}

extern const struct insn_addr red_zone_insns[], every_insns[];
extern const struct insn_addr trace_me_insns[], step_me_insns[];

/* Many instructions in a row: nops, and what add_10000() adds up with. */
#define NINSNS		10000

extern char nops[], leas[];
long add_10000(long a);

static inline void *nop_at(int i)
{
	return nops + NOP_SIZE * i;
}

/* A function on each of many pages. */
#define NPAGES		100

extern char pages[];

typedef void (*void_fn)(void);

typedef long (*add_fn)(long a, long b);
typedef long (*tail_fn)(long (*fn)(void));

#define RX	(PROT_READ | PROT_EXEC)
#define RWX	(RX | PROT_WRITE)

/* CPUs may have an instruction cache that is told of new code. */
static inline void put_code(void *to, const void *code, size_t size)
{
	memcpy(to, entry_of(code), size);
	__builtin___clear_cache(to, to + size);
}

void *map_add(void *at, int prot, int flags);
void *map_add_file(int prot, int flags);
int add_file(void);
bool is_add(pid_t pid, const void *addr);

/*
 * A page whose first access waits until it is brought, one at a time; at may be
 * NULL.
 */
void *map_waiting(void *at);
void bring_page(void *page);

/* Programs: one call; calls with a stop behind each, for ever. */
void add_once(void);
void add_and_stop(void);

/*
 * The counting program has ten functions that return -1 when they were not
 * probed, and -2 when a hit was lost or doubled.
 */
#define NCOUNTING	10

extern long (* const counting[NCOUNTING])(struct upt_slot *slot);

struct upt_slot new_slot(void);
void count_rounds(struct upt_slot *slot, int first, int last, int rounds);
void run_threads(void *(*fn)(void *), int n);

#endif /* _PROBED_H */
