/* SPDX-License-Identifier: GPL-2.0-only */
/* In assembler: see insns.S. */
#ifndef _POWERPC_INSNS_H
#define _POWERPC_INSNS_H

#include "../probed.h"

int atomic_add(int *p, int n);
long atomic_swap(long *p, long val);	/* if it is 0 */
extern const struct insn_addr atomic_add_insns[], atomic_swap_insns[];

void illegal(void);
long load_from(const long *p);
extern char illegal_insn[], load_from_insn[];
void load_from_copied(const long *p);

long bare_fork(void);
long framed_fork(void);
long hidden_fork(void);
long stowed_fork(void);
long frameless_call(void);	/* returns 7, from frameless_leaf() */
long frameless_leaf(void);

long link_behind_call(void);	/* what a call leaves there, less what it should */

/* 16 bytes each: of a and b, at p */
#define NVECTORS	16

void vectors(void *p, const void *a, const void *b);
extern const struct insn_addr vectors_insns[];

long prefixed(long a);
extern const struct insn_addr prefixed_insns[];

#endif /* _POWERPC_INSNS_H */
