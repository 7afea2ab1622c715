/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HOST_ASM_PAGE_H
#define _HOST_ASM_PAGE_H

#include <stdbool.h>

/* Four levels of page tables */
#define __VIRTUAL_MASK_SHIFT	47

static inline bool __is_canonical_address(unsigned long addr, int bits)
{
	int unused = 64 - bits;

	return (unsigned long)((long)(addr << unused) >> unused) == addr;
}

#endif /* _HOST_ASM_PAGE_H */
