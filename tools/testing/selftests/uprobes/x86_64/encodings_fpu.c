// SPDX-License-Identifier: GPL-2.0-only
/*
 * The differential tester: floating point and vector registers before and after
 * an instruction.
 */
#include <cpuid.h>
#include <stdalign.h>
#include <string.h>

#include "../encodings.h"

/* In the FPU's state: what Linux says about it, and which parts there are */
#define XSTATE_SIZE	468
#define XSTATE_FEATURES	472
#define XSTATE_BV	512
#define XSTATE_LEGACY	576	/* with the header */
/* Linux leaves it off, and so every branch does to it what a nop does. */
#define MPX		0x18UL
/* What comes before it, and has precedence. */
#define BEFORE		(IS_64BIT ? 0 : FSAVE_SIZE)

static alignas(64) __u8 area[128 + 8192];
static __u8 *const fpu = area + 128;

/* Parts of the FPU's state behind the header, and where outcomes have them. */
static struct xpart {
	unsigned int from;
	unsigned int to;
	unsigned int size;
} xparts[16];
static unsigned int nxparts;

static void find_xparts(void)
{
	unsigned int i, size, from, c, d, to = XSTATE_LEGACY;
	__u64 features;

	memcpy(&features, fpu + XSTATE_FEATURES, sizeof(features));
	for (i = 2; i < 63; i++) {
		if (!(features >> i & 1))
			continue;
		__cpuid_count(0xd, i, size, from, c, d);
		if (to + size > XSTATE_MAX || nxparts == ARRAY_SIZE(xparts))
			die("the FPU's state does not fit");
		xparts[nxparts++] = (struct xpart){ from, to, size };
		to += size;
	}
}

void *take_fpu(const void *state)
{
	const __u8 *from = (const __u8 *)state + BEFORE;
	__u32 size;

	memcpy(&size, from + XSTATE_SIZE, sizeof(size));
	size -= BEFORE;
	if (size > sizeof(area) - 128 || size < XSTATE_LEGACY)
		die("the FPU's state has %u bytes", size);
	memcpy(fpu - BEFORE, state, size + BEFORE);
	find_xparts();
	return fpu - BEFORE;
}

/* The same as the FPU's first part, as fnsave would have it. */
static void fill_fsave(void)
{
	const __u16 *words = (__u16 *)fpu;
	__u32 *to = (__u32 *)(fpu - BEFORE);
	unsigned int i;

	to[0] = words[0];
	to[1] = words[1];
	to[2] = 0;
	for (i = 0; i < 8; i++)
		if (!(words[2] >> i & 1))
			to[2] |= 3 << 2 * i;
	to[3] = words[4];
	to[4] = words[3] << 16;
	for (i = 0; i < 8; i++)
		memcpy((__u8 *)(to + 7) + 10 * i, fpu + 32 + 16 * i, 10);
}

void fill_fpu(struct rng *r)
{
	__u16 *words = (__u16 *)fpu;
	__u32 *mxcsr = (__u32 *)(fpu + 24);
	__u64 *header = (__u64 *)(fpu + XSTATE_BV);
	__u64 features;
	unsigned int i;

	words[0] = percent(r, 70) ? 0x37f : 0x340 | (rnd(r) & 0xc3f);
	words[1] = below(r, 8) << 11 | (rnd(r) & 0x4700) |
		   (percent(r, 25) ? rnd(r) & 0x7f : 0);
	words[2] = percent(r, 50) ? 0xff : rnd(r) & 0xff;
	words[3] = rnd(r) & 0x7ff;
	copy((__u64 *)fpu + 1, (__u64[]){ rnd(r), rnd(r) }, 16);
	*mxcsr = percent(r, 70) ? 0x1f80 : rnd(r) & mxcsr[1] & 0xffff;
	copy((__u64 *)fpu + 4, noise + below(r, NOISE - 48), 48 * 8);

	/* Parts whose bit is clear get their initial state */
	memcpy(&features, fpu + XSTATE_FEATURES, sizeof(features));
	*header = features & ~MPX;
	if (percent(r, 10))
		*header &= ~(1UL << below(r, 3));
	for (i = 0; i < nxparts; i++)
		/* Keys of memory protection stay as they are */
		if (xparts[i].size > 8)
			copy((__u64 *)(fpu + xparts[i].from),
			     noise + below(r, NOISE - xparts[i].size / 8),
			     xparts[i].size);
	if (!IS_64BIT)
		fill_fsave();
	/* Let it forget, too, which instruction was the last one */
	asm volatile("fninit");
}

void leave_fpu(__u64 *xstate, const void *state)
{
	const __u8 *from = (const __u8 *)state + BEFORE;
	unsigned int i;

	copy(xstate, (const __u64 *)from, XSTATE_LEGACY);
	/* Parts with initial values may be marked so, or not */
	xstate[XSTATE_BV / 8] = 0;
	for (i = 0; i < nxparts; i++)
		copy(xstate + xparts[i].to / 8,
		     (const __u64 *)(from + xparts[i].from), xparts[i].size);
}
