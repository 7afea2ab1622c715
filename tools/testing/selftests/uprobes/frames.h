/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests share that look at a program from outside, or through its
 * signal frames: calls with known return addresses, and the engine's areas.
 */
#ifndef _FRAMES_H
#define _FRAMES_H

#include <signal.h>

#include "util.h"

/*
 * chain(fn) calls outer(fn), that calls middle(fn), that inner(fn), and that
 * fn(), all with frame pointers. Each of the three adds 1 to what it was
 * returned. The labels are where the calls that they make return to.
 */
typedef long (*leaf_fn)(void);

long chain(leaf_fn fn);
long outer(leaf_fn fn);
long middle(leaf_fn fn);
long inner(leaf_fn fn);
extern char chain_ret[], outer_ret[], middle_ret[], inner_ret[];
extern char middle_alt[];	/* adds 100 instead, should inner return here */

/* For the end of the chain. */
long leaf(void);		/* returns 0 */
extern char leaf_ret[];		/* its ret */
long spin(void);		/* takes a while to return 0 */
extern char spin_loop[], spin_end[];
long load(void);		/* returns what is at load_from */
extern char load_insn[];	/* its access */
extern long *load_from;

/* Calls leaf() so that it returns to an address of one's choice. */
void leaf_returns_to(long addr);

/*
 * All mappings of a process that the engine executes something in. The vDSO has
 * the trampoline; these programs use nothing else of it, but for system calls.
 */
#define MAX_AREAS	8

struct areas {
	long n;
	struct {
		unsigned long start;
		unsigned long end;
	} area[MAX_AREAS];
};

bool find_areas(pid_t pid, struct areas *areas);
bool in_areas(const struct areas *areas, unsigned long addr);

/* Of a return probe: what can be said of its calls when none is inside. */
bool balanced(int dev, int id);

/* Return probes on the chain: on its three functions, and what they end in. */
#define NCALLS		4

struct calls {
	int ids[NCALLS];
};

int watch_chain(int dev, pid_t pid, const void *end, struct calls *calls);
bool calls_are(int dev, const struct calls *calls, long entries, long returns);

void set_handler(int sig, void (*handler)(int, siginfo_t *, void *));
long ip_of(void *context);
long sp_of(void *context);
void pass_breakpoint(void *context);	/* of the program's own */

/*
 * SIGALRM every 200 microseconds. The timer is set anew when its signal was
 * handled and the program is back in its loop, so that it gets on however long
 * a signal takes.
 */
void next_tick(long handled);
void stop_ticks(void);

#endif /* _FRAMES_H */
