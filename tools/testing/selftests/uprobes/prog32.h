/* SPDX-License-Identifier: GPL-2.0-only */
/* What the 32-bit program tells the test that probes it, on its output. */
#ifndef _PROG32_H
#define _PROG32_H

/* How it ends when the second pass has the results of the first. */
#define PROG32_SAME		32
#define PROG32_DIFFERENT	33

#define PROG32_FUNCTION		1	/* it returns as often as it is entered */

#ifndef __ASSEMBLER__
/* An instruction, and how often one pass executes it. */
struct prog32_point {
	unsigned int addr;
	unsigned int flags;
	unsigned int times;
};

/* prog32.S */
extern const struct prog32_point points[], points_end[];
int every(void);
int fork_outer(void);
#endif

#endif /* _PROG32_H */
