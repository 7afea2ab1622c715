// SPDX-License-Identifier: GPL-2.0-only
/*
 * The differential tester: makes up instructions, and states to run them from.
 *
 * All primary opcodes and all extended ones take their turns. The rest of a word
 * is random, but zero more often than by chance, since many fields have to be.
 */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "../encodings.h"

#define HWCAP2_ARCH_3_1	0x00040000

#define OP(word)	((word) >> 26)
#define XOP(word)	((word) >> 1 & 0x3ff)
#define RT(word)	((word) >> 21 & 31)
#define RA(word)	((word) >> 16 & 31)
#define RB(word)	((word) >> 11 & 31)
#define PREFIX_TYPE(p)	((p) >> 24 & 3)
#define PREFIX_R(p)	((p) >> 20 & 1)

static bool has_prefixes(void)
{
	return getauxval(AT_HWCAP2) & HWCAP2_ARCH_3_1;
}

void print_omissions(void)
{
	if (!has_prefixes())
		printf("prefixed: not generated, the CPU has none\n");
}

/*
 * Primary opcodes with an extended one in the low bits, and in how many cases
 * out of ROUND they are made.
 */
static const struct space {
	__u8 op;
	__u8 shift;
	__u8 bits;
	__u8 share;
} spaces[] = {
	{ 31, 1, 10, 4 },
	{ 63, 1, 10, 2 },
	{ 60, 1, 10, 2 },
	{ 4, 0, 11, 2 },
	{ 59, 1, 10, 1 },
	{ 19, 1, 10, 1 },
};

/* Which ones were made: extended ones, primary ones, and those of suffixes. */
static bool made[ARRAY_SIZE(spaces)][2048];
static bool made_primary[64];
static bool made_suffix[4][64];

/* Those that take an SPR, and the interesting numbers of it. */
static bool takes_spr(__u32 word)
{
	return OP(word) == 31 && (XOP(word) == 339 || XOP(word) == 467 ||
				  XOP(word) == 371);
}

static const __u16 sprs[] = {
	1, 3, 8, 9, 13, 128, 129, 130, 131, 136, 256, 259, 268, 269, 287, 769,
	770, 771, 772, 779, 780, 800, 801, 802, 803, 804, 805, 806, 815, 896,
	898,
};

static __u32 field(struct rng *r)
{
	switch (below(r, 8)) {
	case 0 ... 1:
		return 0;
	case 2:
		return 1 << below(r, 5);
	}
	return below(r, 32);
}

static __u32 operands(struct rng *r)
{
	return field(r) << 21 | field(r) << 16 | field(r) << 11 |
	       field(r) << 6 | field(r) << 1 | percent(r, 30);
}

/* A number of as many bits, each once before one comes again. */
static __u32 permute(__u64 nr, unsigned int bits)
{
	return (nr * 389 + (nr >> bits)) & ((1U << bits) - 1);
}

/* What there is in a space that is nearly empty, and what has many forms. */
static const __u16 frequent_19[] = {
	0, 2, 16, 33, 129, 150, 193, 225, 257, 289, 417, 449, 528, 560,
};

static const __u16 frequent_31[] = { 19, 144, 339, 371, 467 };

static __u32 choose_opcode(const struct space *s, __u64 nr, struct rng *r)
{
	if (s->op == 19 && percent(r, 50))
		return frequent_19[below(r, ARRAY_SIZE(frequent_19))];
	if (s->op == 31 && percent(r, 5))
		return frequent_31[below(r, ARRAY_SIZE(frequent_31))];
	return permute(nr, s->bits);
}

static __u32 make_spaced(const struct space *s, __u64 nr, struct rng *r)
{
	__u32 mask = ((1U << s->bits) - 1) << s->shift;
	__u32 word = s->op << 26;
	unsigned int spr;

	word |= choose_opcode(s, nr, r) << s->shift;
	word |= operands(r) & 0x3ffffff & ~mask;
	/* or with itself, which may set the thread's priority */
	if (s->op == 31 && XOP(word) == 444 && percent(r, 50))
		return s->op << 26 | 444 << 1 | below(r, 32) * 0x210800;
	if (takes_spr(word) && percent(r, 80)) {
		spr = sprs[below(r, ARRAY_SIZE(sprs))];
		word &= ~(0x3ff << 11);
		word |= (spr & 31) << 16 | spr >> 5 << 11;
	}
	return word;
}

static bool is_spaced(__u32 op)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(spaces); i++)
		if (spaces[i].op == op)
			return true;
	return op == 1 && has_prefixes();
}

static __u32 make_primary(__u64 nr, struct rng *r)
{
	__u32 op = permute(nr, 6);

	while (is_spaced(op))
		op = (op + 1) & 63;
	return op << 26 | field(r) << 21 | field(r) << 16 | (rnd(r) & 0xffff);
}

static void make_prefixed(struct parts *p, __u64 nr, struct rng *r)
{
	__u32 type = nr & 3;

	p->prefix = 1 << 26 | type << 24;
	if (percent(r, 30))
		p->prefix |= rnd(r) & 0xffffff;
	else if (type == 0 || type == 2)
		p->prefix |= percent(r, 50) << 20 | (rnd(r) & 0x3ffff);
	else
		p->prefix |= rnd(r) & (type == 1 ? 0xffff : 0xfff0ff);
	p->word = (__u32)permute(nr >> 2, 6) << 26 | operands(r);
	if (PREFIX_R(p->prefix) && percent(r, 80))
		p->word &= ~(31 << 16);
}

static void write_words(struct encoding *e)
{
	struct parts *p = &e->parts;
	__u32 words[2] = { p->prefix ?: p->word, p->word };

	p->len = p->prefix ? 8 : 4;
	memcpy(e->bytes, words, p->len);
}

void parse(const __u8 *bytes, struct parts *p)
{
	__u32 words[2];

	memcpy(words, bytes, sizeof(words));
	*p = (struct parts){ .word = words[0], .len = 4 };
	if (OP(words[0]) == 1 && has_prefixes())
		*p = (struct parts){ words[1], words[0], 8 };
}

void make_insn(struct encoding *e, __u64 nr, struct rng *r)
{
	unsigned int i, part = nr % ROUND;
	__u64 round = nr / ROUND;

	for (i = 0; i < ARRAY_SIZE(spaces); i++) {
		if (part < spaces[i].share)
			break;
		part -= spaces[i].share;
	}
	if (i < ARRAY_SIZE(spaces))
		e->parts.word = make_spaced(&spaces[i], round *
					    spaces[i].share + part, r);
	else if (part < 2 || !has_prefixes())
		e->parts.word = make_primary(round * 4 + part, r);
	else
		make_prefixed(&e->parts, round * 2 + part - 2, r);
	write_words(e);
}

void note_opcode(const struct encoding *e)
{
	__u32 word = e->parts.word;
	unsigned int i;

	if (e->parts.prefix) {
		made_suffix[PREFIX_TYPE(e->parts.prefix)][OP(word)] = true;
		return;
	}
	made_primary[OP(word)] = true;
	for (i = 0; i < ARRAY_SIZE(spaces); i++)
		if (spaces[i].op == OP(word))
			made[i][word >> spaces[i].shift &
				((1U << spaces[i].bits) - 1)] = true;
}

/* What QEMU 7.2 gets wrong is not made: whatever has one of these opcodes, */
static bool is_broken(__u32 word)
{
	switch (OP(word)) {
	case 4:
		switch (word & 0x3ff) {
		case 455: case 647: case 903: /* vcmpequq, vcmpgtuq, vcmpgtsq */
			/* The result is not always written */
			return true;
		}
		return false;
	case 59: case 63: /* denbcd, denbcdq */
		/* A result that is not initialised, for invalid digits */
		return XOP(word) == 834;
	}
	return false;
}

/* and some forms of others. */
bool is_beyond_qemu(const struct encoding *e)
{
	__u32 word = e->parts.word, function = RB(word);

	/* plq, pstq: their second register may be the one after the last */
	if (e->parts.prefix)
		return PREFIX_TYPE(e->parts.prefix) == 0 && RT(word) == 31 &&
		       (OP(word) == 56 || OP(word) == 60);
	if (OP(word) != 31)
		return is_broken(word);
	switch (XOP(word)) {
	case 582: case 614: /* lwat, ldat */
		/* An interrupt of which it does not say why, again and again */
		return function > 8 && function != 16 && function != 24 &&
		       function != 25 && function != 28;
	case 710: case 742: /* stwat, stdat */
		return function > 7 && function != 24;
	}
	return false;
}

bool all_opcodes_made(void)
{
	unsigned int i, j;
	bool all = true;
	__u32 word;

	for (i = 0; i < 64; i++) {
		if (made_primary[i] || (i == 1 && has_prefixes()))
			continue;
		printf("encodings: no primary opcode %u\n", i);
		all = false;
	}
	for (i = 0; i < 4 * 64 && has_prefixes(); i++) {
		if (made_suffix[i / 64][i % 64])
			continue;
		printf("encodings: no prefix of type %u for opcode %u\n",
		       i / 64, i % 64);
		all = false;
	}
	for (i = 0; i < ARRAY_SIZE(spaces); i++) {
		for (j = 0; j < 1U << spaces[i].bits; j++) {
			word = spaces[i].op << 26 | j << spaces[i].shift;
			if (made[i][j] || is_broken(word))
				continue;
			printf("encodings: no opcode %u, %u\n", spaces[i].op,
			       j);
			all = false;
		}
	}
	return all;
}

/* Nothing that a program may execute does harm. */
bool is_fatal(const struct encoding *e)
{
	return false;
}

/* Branches go where nothing else is, and not to themselves. */
static void aim_branch(struct encoding *e, struct rng *r)
{
	__u32 *word = &e->parts.word;
	bool absolute = *word & 2;
	__u32 mask = OP(*word) == 16 ? 0xfffc : 0x3fffffc;
	__u64 target;

	do {
		target = e->addr + (rnd(r) & 0x1fc) - 0x100;
		if (OP(*word) == 18 && percent(r, 70))
			target = code_target(r);
	} while (is_own(e, target));
	if (!absolute)
		*word = (*word & ~mask) | ((target - e->addr) & mask);
}

/* The displacement of what is relative to a prefix: of all types that know it */
static void aim_relative(struct encoding *e, struct rng *r)
{
	__u64 disp = window_target(r) - e->addr;

	e->parts.prefix &= ~0x3ffff;
	e->parts.prefix |= disp >> 16 & 0x3ffff;
	e->parts.word &= ~0xffff;
	e->parts.word |= disp & 0xffff;
}

void aim_insn(struct encoding *e, struct rng *r)
{
	__u32 prefix = e->parts.prefix;

	if (!prefix && (OP(e->parts.word) == 16 || OP(e->parts.word) == 18))
		aim_branch(e, r);
	if (prefix && PREFIX_R(prefix) &&
	    (PREFIX_TYPE(prefix) == 0 || PREFIX_TYPE(prefix) == 2))
		aim_relative(e, r);
	write_words(e);
}

/* States. */

__u64 any_value(struct rng *r)
{
	switch (below(r, 16)) {
	case 0 ... 5:
		return window_target(r);
	case 6:
		return STACK + 8 * below(r, PAGE_SZ / 8);
	case 7 ... 8:
		return below(r, 256);
	case 9:
		return code_target(r);
	case 10:
		return -(__u64)below(r, 256);
	case 11:
		return (__u64)rnd(r) << below(r, 64);
	case 12:
		return 1ULL << below(r, 64);
	case 13:
		return (1ULL << below(r, 64)) - 1;
	}
	return rnd(r);
}

/* Returns whether the word, maybe with a prefix, has a displacement. */
static bool get_displacement(const struct parts *p, __s64 *disp)
{
	*disp = (__s16)p->word;
	if (p->prefix) {
		*disp = (__s64)((__u64)p->prefix << 46) >> 30;
		*disp |= p->word & 0xffff;
		return PREFIX_TYPE(p->prefix) == 0 ||
		       PREFIX_TYPE(p->prefix) == 2;
	}
	switch (OP(p->word)) {
	case 57: case 58: case 62:
		*disp &= ~3;
		return true;
	case 6: case 61:
		*disp &= ~15;
		return true;
	case 32 ... 56:
		return true;
	}
	return false;
}

/* An operand in memory gets somewhere, most times. */
static void aim_operand(struct state *st, const struct encoding *e,
			struct rng *r)
{
	__u32 word = e->parts.word, ra = RA(word), rb = RB(word);
	__u64 target = window_target(r);
	__s64 disp;

	if (get_displacement(&e->parts, &disp)) {
		st->gpr[ra] = target - disp;
	} else if (OP(word) == 31 && percent(r, 60)) {
		st->gpr[rb] = percent(r, 80) ? 8 * ((int)below(r, 17) - 8) :
					       small(r);
		if (!ra)
			st->gpr[rb] = target;
		else if (ra != rb)
			st->gpr[ra] = target - st->gpr[rb];
		else
			st->gpr[ra] = target / 2;
	}
}

/*
 * Arithmetic of the FPU: QEMU 7.2 raises exceptions of other units when it next
 * leaves translated code, or never.
 */
static bool is_precise(const struct parts *p)
{
	if (p->prefix || (OP(p->word) != 59 && OP(p->word) != 63))
		return false;
	switch (XOP(p->word) & 31) {
	case 18: case 20: case 21: case 22: case 25: case 28 ... 31:
		return true;
	}
	return false;
}

void make_state(struct state *st, const struct encoding *e, __u64 nr,
		int state)
{
	struct rng r = rng_for(nr, 1 + state);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(st->gpr); i++)
		st->gpr[i] = any_value(&r);
	if (percent(&r, 85))
		st->gpr[1] = STACK + PAGE_SZ / 4 +
			     16 * below(&r, PAGE_SZ / 32);
	if (percent(&r, 80))
		aim_operand(st, e, &r);
	st->ctr = percent(&r, 30) ? below(&r, 3) : code_target(&r);
	st->link = percent(&r, 80) ? code_target(&r) : any_value(&r);
	/* SO, OV, CA, OV32, CA32, and the length of a string */
	st->xer = rnd(&r) & 0xe00c0000;
	st->xer |= percent(&r, 50) ? below(&r, 20) : rnd(&r) & 0x7f;
	st->ccr = rnd(&r) & 0xffffffff;
	st->fpu_traps = is_precise(&e->parts) && percent(&r, 60);
}
