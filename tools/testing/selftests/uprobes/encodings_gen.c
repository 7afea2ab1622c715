// SPDX-License-Identifier: GPL-2.0-only
/*
 * The differential tester: what is random, and the same on all architectures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encodings.h"

__u64 seed;

static __u64 mix(__u64 x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9;
	x ^= x >> 27;
	x *= 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* The same numbers for the same a and b, with one seed. */
struct rng rng_for(__u64 a, __u64 b)
{
	return (struct rng){ mix(mix(mix(seed + 1) + a) + b) };
}

__u64 rnd(struct rng *r)
{
	r->s += 0x9e3779b97f4a7c15;
	return mix(r->s);
}

unsigned int below(struct rng *r, unsigned int n)
{
	return (rnd(r) >> 32) * n >> 32;
}

bool percent(struct rng *r, unsigned int p)
{
	return below(r, 100) < p;
}

/* Addresses worth having. */

__u64 code_target(struct rng *r)
{
	return LANDING + below(r, LANDING_SIZE);
}

/* Mostly aligned, and mostly with room for the largest operand there is. */
__u64 window_target(struct rng *r)
{
	__u64 addr = WINDOW + 64 + 64 * below(r, 20);

	if (percent(r, 20))
		addr += below(r, 64);
	if (percent(r, 8))
		addr = WINDOW + PAGE_SZ - below(r, 64);
	return addr;
}

__s64 small(struct rng *r)
{
	return percent(r, 70) ? below(r, 33) : -(__s64)below(r, 33);
}

/* To itself is for ever, into itself is another instruction. */
bool is_own(const struct encoding *e, __u64 target)
{
	return target - e->addr < e->parts.len;
}

bool is_code(__u64 target)
{
	return target - CODE < CODE_SIZE + PAGE_SZ ||
	       target - EDGES < CHUNK * 2 * PAGE_SZ;
}

static void choose_place(struct encoding *e, struct rng *r)
{
	static const __u8 places[NPLACES] = { 85, 90, 95, 97, 100 };
	unsigned int p = below(r, 100), i = 0;

	while (p >= places[i])
		i++;
	e->place = i;
	e->split = e->parts.len;
	if (i != PAGE_CROSS && i != HOLE_CROSS)
		return;
	if (e->parts.len < 2 * INSN_UNIT)
		e->place = MIDDLE;
	else
		e->split = INSN_UNIT *
			   (1 + below(r, e->parts.len / INSN_UNIT - 1));
}

void place_case(struct encoding *e, int slot)
{
	if (e->place == MIDDLE)
		e->addr = CODE + slot * STRIDE + IN_STRIDE;
	else
		e->addr = EDGES + (2 * slot + 1) * PAGE_SZ - e->split;
}

/* No encoding is made twice: a set of hashes. */
static bool is_new(const struct encoding *e)
{
	static __u64 set[1 << 21];
	__u64 words[2] = { 0 }, hash, i;

	memcpy(words, e->bytes, e->parts.len);
	hash = mix(mix(words[0]) + words[1]) + 1;
	for (i = hash; set[i % ARRAY_SIZE(set)]; i++)
		if (set[i % ARRAY_SIZE(set)] == hash)
			return false;
	set[i % ARRAY_SIZE(set)] = hash;
	return true;
}

void make_case(struct encoding *e, __u64 nr, int slot)
{
	struct rng r = rng_for(nr, 0);
	__u64 tries, like;

	for (tries = 0; tries < 1000; tries++) {
		memset(e, 0, sizeof(*e));
		/* Of some opcodes there are not that many */
		like = nr + tries / 32 * ROUND;
		make_insn(e, like, &r);
		choose_place(e, &r);
		place_case(e, slot);
		aim_insn(e, &r);
		if (is_beyond_qemu(e) || !is_new(e))
			continue;
		note_opcode(e);
		e->fatal = is_fatal(e);
		return;
	}
	fprintf(stderr, "encodings: case %llu: out of new encodings\n", nr);
	exit(2);
}

/* What memory and vector registers are filled with. */
void make_noise(__u64 *words, size_t n, __u64 nr)
{
	static const __u64 specials[] = {
		0, ~0ULL, 1ULL << 63, 0x3ff0000000000000, 0x3f8000003f800000,
		0x7ff0000000000000, 0x7ff8000000000001, 0x7f8000017f800000,
		0x0000000100000001, 0x0000000000000001, 0x4059000042c80000,
	};
	struct rng r = rng_for(nr, 100);
	size_t i;

	for (i = 0; i < n; i++) {
		switch (below(&r, 8)) {
		case 0:
			words[i] = code_target(&r);
			break;
		case 1:
			words[i] = any_value(&r);
			break;
		case 2 ... 3:
			words[i] = specials[below(&r, ARRAY_SIZE(specials))];
			break;
		default:
			words[i] = rnd(&r);
		}
	}
}
