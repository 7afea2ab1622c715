/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of return-probed functions, and what happens inside them. */
#ifndef _CALLS_H
#define _CALLS_H

#include "probed.h"

/*
 * Four functions, each called by the one before. The innermost calls what
 * call_nested() was given, which may do anything; all add 1 to its result.
 */
#define NNESTED		4

extern long (* const nested[NNESTED])(void);

long call_nested(long (*inside)(void));

/* For recursion, which is not to become a loop: result + 1. */
static inline long one_more(long result)
{
	asm("" : "+r" (result));
	return result + 1;
}

/* Calls itself n times, and returns n. */
long deep(long n);

/*
 * In assembler, see calls.S.
 *
 * go_on_stack() jumps to fn() with that stack pointer. A function that returns
 * has to find the address back_from_stack there; others jump to it, as
 * leave_stack() does, which does not use a stack. return_to() returns to where
 * its argument says, and not to where it was called. call_return_to() does that
 * and returns 1 if it was right.
 */
void go_on_stack(void *sp, const void *fn);
extern char back_from_stack[];
void leave_stack(void);
void return_to(const void *there);
long call_return_to(void);

/*
 * Makes a child that shares the memory, and goes on with a copy of the stack:
 * so many bytes from the return address on, at that distance. Returns as fork()
 * does, twice.
 */
long clone_copied(long distance, long size);

/* Probes the return of a function, with an entry_handler that counts. */
int probe_return(int dev, pid_t pid, const void *addr, unsigned int flags);

struct nested_ids {
	int id[NNESTED];
};

/* Returns 0, or the errno of the API. */
int probe_nested(int dev, pid_t pid, unsigned int flags,
		 struct nested_ids *ids);

/* Is that what became of the calls that were counted? */
bool is_balance(int dev, int id, long entries, long returns, long missed);
bool nested_balance(int dev, const struct nested_ids *ids, long entries,
		    long returns, long missed);

bool has_area(pid_t pid);

/*
 * exec of this very program, for what role() does and no more. Its functions
 * are where they were; the memory shm is another.
 */
void exec_self(void (*role)(void));

#endif /* _CALLS_H */
