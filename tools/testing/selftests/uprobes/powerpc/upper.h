/* SPDX-License-Identifier: GPL-2.0-only */
/* In assembler: see upper.S. */
#ifndef _POWERPC_UPPER_H
#define _POWERPC_UPPER_H

#include "../probed.h"

long count_five(void);		/* returns 5, and 256 times the upper half */
extern const struct insn_addr count_five_insns[];
long call_from_upper(long a);	/* by a register, on a stack: with an upper half */
long from_upper(long a);	/* returns a + 1 */
extern char after_from_upper[];

#endif /* _POWERPC_UPPER_H */
