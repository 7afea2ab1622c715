// SPDX-License-Identifier: GPL-2.0-only
/*
 * The differential tester: makes up instructions, and states to run them from.
 *
 * Instructions are random bytes with a plausible beginning. Then they are taken
 * apart, without the kernel's decoder, and the parts that say where memory is
 * accessed or where a branch goes are changed for something more interesting
 * than a fault, most times. Should an instruction be taken apart wrongly, then
 * what follows it is not hlt but some other instruction, in all runs of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../encodings.h"

#define RAX	0
#define RCX	1
#define RBX	3
#define RSP	4
#define RBP	5
#define RSI	6
#define RDI	7

#define CF	0x1UL
#define PF	0x4UL
#define AF	0x10UL
#define ZF	0x40UL
#define SF	0x80UL
#define TF	0x100UL
#define IF	0x200UL
#define DF	0x400UL
#define OF	0x800UL
#define NT	0x4000UL
#define AC	0x40000UL
#define ID	0x200000UL

struct segment segments[NSEGMENTS];

/* Taking an instruction apart. */

static bool is_prefix(__u8 byte)
{
	switch (byte) {
	case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65:
	case 0x66: case 0x67: case 0xf0: case 0xf2: case 0xf3:
		return true;
	}
	return false;
}

static bool has_modrm(const struct parts *p)
{
	__u8 op = p->opcode;

	if (p->vex)
		return p->map != 1 || op != 0x77;
	if (p->map > 1)
		return true;
	if (p->map == 1) {
		switch (op) {
		case 0x04 ... 0x0c: case 0x0e: case 0x30 ... 0x37: case 0x77:
		case 0x80 ... 0x8f: case 0xa0 ... 0xa2: case 0xa8 ... 0xaa:
		case 0xc8 ... 0xcf:
			return false;
		}
		return true;
	}
	switch (op) {
	case 0x00 ... 0x3f:
		return (op & 7) < 4;
	case 0x63: case 0x69: case 0x6b: case 0x80 ... 0x8f:
	case 0xc0: case 0xc1: case 0xc6: case 0xc7: case 0xd0 ... 0xd3:
	case 0xd8 ... 0xdf: case 0xf6: case 0xf7: case 0xfe: case 0xff:
		return true;
	case 0x62: case 0xc4: case 0xc5: /* bound, les, lds */
		return !IS_64BIT;
	}
	return false;
}

/* In 64-bit code, some CPUs take two bytes and others four. */
static unsigned int rel_size(const struct parts *p)
{
	return p->opsize && !IS_64BIT ? 2 : 4;
}

static unsigned int imm_size_0f(const struct parts *p, bool repne)
{
	switch (p->opcode) {
	case 0x0f: case 0x70 ... 0x73: case 0xa4: case 0xac: case 0xba:
	case 0xc2: case 0xc4 ... 0xc6:
		return 1;
	case 0x78:	/* extrq, insertq */
		return p->opsize || repne ? 2 : 0;
	case 0x80 ... 0x8f:
		return rel_size(p);
	}
	return 0;
}

static unsigned int imm_size(const struct parts *p, __u8 modrm, bool rex_w,
			     bool repne)
{
	unsigned int word = p->opsize && !rex_w ? 2 : 4;

	if (p->map == 3)
		return 1;
	if (p->map > 1)
		return 0;
	if (p->map == 1)
		return p->vex && p->opcode == 0x78 ? 0 : imm_size_0f(p, repne);
	switch (p->opcode) {
	case 0x00 ... 0x3f:
		return (p->opcode & 7) == 4 ? 1 :
		       (p->opcode & 7) == 5 ? word : 0;
	case 0x68: case 0x69: case 0x81: case 0xa9: case 0xc7:
		return word;
	case 0x6a: case 0x6b: case 0x70 ... 0x80: case 0x82: case 0x83:
	case 0xa8: case 0xb0 ... 0xb7: case 0xc0: case 0xc1: case 0xc6:
	case 0xcd: case 0xd4: case 0xd5: case 0xe0 ... 0xe7: case 0xeb:
		return 1;
	case 0xb8 ... 0xbf:
		return rex_w ? 8 : word;
	case 0xc2: case 0xca:
		return 2;
	case 0xc8:
		return 3;
	case 0xe8: case 0xe9:
		return rel_size(p);
	case 0x9a: case 0xea: /* lcall, ljmp: a selector, too */
		return IS_64BIT ? 0 : rel_size(p) + 2;
	case 0xf6:
		return modrm & 0x30 ? 0 : 1;
	case 0xf7:
		return modrm & 0x30 ? 0 : word;
	}
	return 0;
}

/* Operands are addressed with 16 bits. */
static bool is_small(const struct parts *p)
{
	return p->addrsize && !IS_64BIT;
}

static unsigned int parse_small_modrm(struct parts *p, unsigned int i,
				      __u8 modrm)
{
	static const __u8 bases[8] = {
		RBX, RBX, RBP, RBP, RSI, RDI, RBP, RBX,
	};
	__u8 mod = modrm >> 6, rm = modrm & 7;

	p->disp_size = mod;
	p->base = bases[rm];
	if (rm < 4)
		p->index = rm & 1 ? RDI : RSI;
	if (mod == 0 && rm == 6) {
		p->disp_size = 2;
		p->base = NO_REG;
	}
	if (p->disp_size)
		p->disp_at = i;
	return i + p->disp_size;
}

/* Returns what follows ModRM, SIB and displacement. */
static unsigned int parse_modrm(const __u8 *bytes, struct parts *p,
				unsigned int i, __u8 rex)
{
	__u8 modrm = bytes[i], mod = modrm >> 6, rm = modrm & 7, sib;

	p->modrm_at = i++;
	if (mod == 3)
		return i;
	if (is_small(p))
		return parse_small_modrm(p, i, modrm);
	p->disp_size = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	p->base = rm | (rex & 1) << 3;
	if (rm == 4) {
		sib = bytes[i++];
		p->base = (sib & 7) | (rex & 1) << 3;
		p->index = (sib >> 3 & 7) | (rex & 2) << 2;
		if (p->index == RSP)
			p->index = NO_REG;
	}
	if (mod == 0 && (p->base & 7) == RBP) {
		p->disp_size = 4;
		p->base = NO_REG;
	}
	if (p->disp_size)
		p->disp_at = i;
	return i + p->disp_size;
}

/* In 32-bit code they are les, lds and bound if memory could be addressed. */
static bool is_vex(const __u8 *bytes)
{
	if (bytes[0] != 0xc4 && bytes[0] != 0xc5 && bytes[0] != 0x62)
		return false;
	return IS_64BIT || bytes[1] >= 0xc0;
}

/* 15 bytes, and one more that does not matter. */
void parse(const __u8 *bytes, struct parts *p)
{
	__u8 rex = 0, modrm = 0;
	bool repne = false;
	unsigned int i;

	*p = (struct parts){ .base = NO_REG, .index = NO_REG };
	for (i = 0; i < MAX_INSN - 1; i++) {
		if (IS_64BIT && (bytes[i] & 0xf0) == 0x40) {
			rex = bytes[i];
			continue;
		}
		if (!is_prefix(bytes[i]))
			break;
		rex = 0;
		p->lock |= bytes[i] == 0xf0;
		p->opsize |= bytes[i] == 0x66;
		p->addrsize |= bytes[i] == 0x67;
		p->fs |= bytes[i] == 0x64;
		p->gs |= bytes[i] == 0x65;
		p->repe |= bytes[i] == 0xf3;
		repne |= bytes[i] == 0xf2;
	}

	p->vex = i < MAX_INSN - 5 && is_vex(bytes + i);
	if (p->vex && bytes[i] == 0xc5) {
		p->map = 1;
		rex = 0x40;
		p->vex_l_pp = bytes[i + 1] & 7;
		i += 2;
	} else if (p->vex) {
		p->map = bytes[i + 1] & (bytes[i] == 0x62 ? 7 : 0x1f);
		p->vex_l_pp = bytes[i + 2] & 7;
		rex = IS_64BIT ? 0x40 | (~bytes[i + 1] >> 5 & 7) : 0;
		i += bytes[i] == 0x62 ? 4 : 3;
	} else if (i < MAX_INSN - 3 && bytes[i] == 0x0f) {
		p->map = 1;
		i++;
		if (bytes[i] == 0x38 || bytes[i] == 0x3a) {
			p->map = bytes[i] == 0x38 ? 2 : 3;
			i++;
		}
	}
	p->opcode_at = i;
	p->opcode = bytes[i++];
	if (i < MAX_INSN && has_modrm(p)) {
		modrm = bytes[i];
		i = parse_modrm(bytes, p, i, rex);
	} else if (!p->map && p->opcode >= 0xa0 && p->opcode <= 0xa3) {
		p->disp_at = i;
		p->disp_size = IS_64BIT ? 8 : 4;
		if (p->addrsize)
			p->disp_size /= 2;
		i += p->disp_size;
	}
	p->imm_size = imm_size(p, modrm, rex & 8, repne);
	if (p->imm_size)
		p->imm_at = i;
	i += p->imm_size;
	/* Too long: it faults before anybody asks for the rest */
	if (i > MAX_INSN) {
		i = MAX_INSN;
		p->disp_size = 0;
		p->imm_size = 0;
	}
	p->len = i;
}

static bool is_rip_relative(const __u8 *bytes, const struct parts *p)
{
	return IS_64BIT && p->modrm_at && (bytes[p->modrm_at] & 0xc7) == 0x05;
}

/* The size of the displacement of a relative branch, or 0. */
static unsigned int branch_size(const struct parts *p)
{
	if (p->vex || p->map > 1)
		return 0;
	if (p->map == 1)
		return (p->opcode & 0xf0) == 0x80 ? p->imm_size : 0;
	switch (p->opcode) {
	case 0x70 ... 0x7f: case 0xe0 ... 0xe3: case 0xe8: case 0xe9:
	case 0xeb:
		return p->imm_size;
	}
	return 0;
}

static void put(__u8 *at, __u64 value, unsigned int size)
{
	memcpy(at, &value, size);
}

/* Somewhere that is not the tester, which 32-bit code could reach. */
static __u64 afar(struct rng *r)
{
	return rnd(r) & (IS_64BIT ? ~0UL : AFAR);
}

static void aim_branch(struct encoding *e, struct rng *r)
{
	const struct parts *p = &e->parts;
	__u64 end = e->addr + p->len, target;
	bool near = p->imm_size == 1 || percent(r, 20);
	bool far = !near && percent(r, 20);

	do {
		if (near)
			target = end + (__s8)rnd(r);
		else if (far)
			target = IS_64BIT ? end + (__s32)rnd(r) : afar(r);
		else
			target = percent(r, 15) ? end : code_target(r);
	} while (is_own(e, target) || (far && is_code(target)));
	put(e->bytes + p->imm_at, target - end, p->imm_size);

	/* Some CPUs take two bytes of the four, and would run the others next */
	if (p->opsize && p->imm_size == 4)
		memset(e->bytes + p->imm_at + 2, FILL, 2);
}

/* With 16 bits, the other 16 of a register do not matter. */
static __u64 memory_target(const struct parts *p, struct rng *r)
{
	__u64 target = window_target(r);

	if (is_small(p))
		target += LOW_WINDOW - WINDOW + ((__u64)below(r, 1 << 16) << 16);
	return target;
}

static void aim_memory(struct encoding *e, struct rng *r)
{
	const struct parts *p = &e->parts;
	__u8 *disp = e->bytes + p->disp_at;

	if (!p->disp_size)
		return;
	if (percent(r, 10)) {
		if (!IS_64BIT)
			put(disp, afar(r), p->disp_size);
		return;
	}
	if (is_rip_relative(e->bytes, p))
		put(disp, window_target(r) - (e->addr + p->len), 4);
	else if (p->disp_size > 1 && p->base == NO_REG)
		put(disp, p->fs || p->gs || p->index != NO_REG ?
		    (__u64)small(r) : memory_target(p, r), p->disp_size);
	else if (p->disp_size > 1)
		put(disp, (__s64)below(r, 2048) - 1024, p->disp_size);
}

/* Instructions. */

static const __u8 prefixes[] = {
	0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0xf0,
};

static unsigned int add_prefixes(__u8 *bytes, struct rng *r)
{
	static const __u8 how_many[] = { 0, 0, 0, 0, 1, 1, 1, 2, 2, 3 };
	unsigned int i, n = how_many[below(r, ARRAY_SIZE(how_many))];

	for (i = 0; i < n; i++)
		bytes[i] = prefixes[below(r, ARRAY_SIZE(prefixes))];
	return n;
}

static unsigned int add_legacy(__u8 *bytes, unsigned int map, __u8 opcode,
			       struct rng *r)
{
	unsigned int i = add_prefixes(bytes, r);

	if (IS_64BIT && percent(r, 50))
		bytes[i++] = 0x40 | below(r, 16);
	if (map)
		bytes[i++] = 0x0f;
	if (map > 1)
		bytes[i++] = map == 2 ? 0x38 : 0x3a;
	bytes[i++] = opcode;
	return i;
}

static unsigned int add_vex(__u8 *bytes, __u8 opcode, struct rng *r)
{
	unsigned int i = percent(r, 15) ? add_prefixes(bytes, r) : 0;

	if (percent(r, 30)) {
		bytes[i++] = 0xc5;
		bytes[i++] = rnd(r) | VEX_BITS;
	} else {
		bytes[i++] = 0xc4;
		bytes[i++] = (rnd(r) & 0xe0) | VEX_BITS |
			     (percent(r, 95) ? 1 + below(r, 3) : below(r, 32));
		bytes[i++] = rnd(r);
	}
	/* Most want the prefix 66; those with two operands 1111 for the third */
	if (percent(r, 50))
		bytes[i - 1] = (bytes[i - 1] & 0xfc) | 0x01;
	if (percent(r, 40))
		bytes[i - 1] |= 0x78;
	bytes[i++] = opcode;
	return i;
}

static unsigned int add_evex(__u8 *bytes, __u8 opcode, struct rng *r)
{
	static const __u8 maps[] = { 1, 2, 3, 5, 6 };

	bytes[0] = 0x62;
	bytes[1] = (rnd(r) & 0xf0) | VEX_BITS | maps[below(r, ARRAY_SIZE(maps))];
	bytes[2] = rnd(r) | 0x04;
	bytes[3] = rnd(r);
	if (percent(r, 40))
		bytes[2] |= 0x78;
	if (percent(r, 40))
		bytes[3] &= 0xe8;
	bytes[3] |= 0x08;
	bytes[4] = opcode;
	return 5;
}

static bool has_avx512(void)
{
	static int has = -1;

	if (has < 0)
		has = __builtin_cpu_supports("avx512f") != 0;
	return has;
}

/* What legacy instructions there are in the maps 0f 38 and 0f 3a. */
static const __u8 defined_0f38[] = {
	0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b,
	0x10, 0x14, 0x15, 0x17, 0x1c, 0x1d, 0x1e, 0x20, 0x21, 0x22, 0x23, 0x24,
	0x25, 0x28, 0x29, 0x2a, 0x2b, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x37,
	0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f, 0x40, 0x41, 0xc8, 0xc9,
	0xca, 0xcb, 0xcc, 0xcd, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xf0, 0xf1,
};

static const __u8 defined_0f3a[] = {
	0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x14, 0x15, 0x16, 0x17,
	0x20, 0x21, 0x22, 0x40, 0x41, 0x42, 0x44, 0x60, 0x61, 0x62, 0x63, 0xcc,
	0xdf,
};

/* Returns where a ModRM would be. Each map goes through all of its opcodes. */
static unsigned int add_opcode(__u8 *bytes, __u64 nr, struct rng *r)
{
	__u64 round = nr / 16, half = round / 2;
	__u8 opcode;

	switch (nr % 16) {
	case 0 ... 4:
		return add_legacy(bytes, 0, round * 5 + nr % 16, r);
	case 5 ... 8:
		return add_legacy(bytes, 1, round * 4 + nr % 16, r);
	case 9:
		return add_legacy(bytes, 2, round, r);
	case 10:
		opcode = defined_0f38[round % ARRAY_SIZE(defined_0f38)];
		return add_legacy(bytes, 2, opcode, r);
	case 11:
		opcode = half;
		if (round % 2)
			opcode = defined_0f3a[half % ARRAY_SIZE(defined_0f3a)];
		return add_legacy(bytes, 3, opcode, r);
	case 12 ... 14:
		return add_vex(bytes, round * 3 + nr % 16, r);
	}
	if (has_avx512() && round % 4)
		return add_evex(bytes, round, r);
	return 0;
}

static void add_modrm(__u8 *bytes, unsigned int at, struct rng *r)
{
	unsigned int i;

	for (i = at; i < MAX_INSN; i++)
		bytes[i] = rnd(r);
	if (at && percent(r, 10))
		bytes[at] = (bytes[at] & 0x38) | 0x05;
	else if (at && percent(r, 25))
		bytes[at] |= 0xc0;
}

/* Which opcodes there were: legacy maps, and those of VEX. */
static bool made[8][256];

void note_opcode(const struct encoding *e)
{
	const struct parts *p = &e->parts;

	if (p->map < 4)
		made[p->map + (p->vex ? 4 : 0)][p->opcode] = true;
}

static bool is_gather(__u8 op)
{
	return op >= 0x90 && op <= 0x93;
}

/* Prefixes, REX and escapes are none, and what is never made. */
static bool is_opcode(unsigned int map, __u8 op)
{
	switch (map) {
	case 0:
		if (IS_64BIT && ((op & 0xf0) == 0x40 || op == 0x62 ||
				 op == 0xc4 || op == 0xc5))
			return false;
		return !is_prefix(op) && op != 0x0f;
	case 1:
	case 5:
		return op != 0x38 && op != 0x3a;
	case 4:
		return false;
	case 6:
		return IS_64BIT || !is_gather(op);
	}
	return true;
}

bool all_opcodes_made(void)
{
	unsigned int map, op;
	bool all = true;

	for (map = 0; map < 8; map++) {
		for (op = 0; op < 256; op++) {
			if (made[map][op] || !is_opcode(map, op))
				continue;
			printf("encodings: no opcode %02x in %smap %u\n", op,
			       map < 4 ? "" : "VEX ", map & 3);
			all = false;
		}
	}
	return all;
}

void print_omissions(void)
{
	if (!has_avx512())
		printf("EVEX: not generated, the CPU has no AVX-512\n");
}

/*
 * lret, iret and lcall: QEMU (7.2, and later ones) accesses the stack for them
 * as the kernel would, and the guest's kernel dies of the fault.
 */
bool is_fatal(const struct encoding *e)
{
	const struct parts *p = &e->parts;

	if (p->vex || p->map)
		return false;
	switch (p->opcode) {
	case 0x9a:
		return !IS_64BIT;
	case 0xca: case 0xcb: case 0xcf:
		return true;
	case 0xff:
		return (e->bytes[p->modrm_at] & 0x38) == 0x18;
	}
	return false;
}

/*
 * In 32-bit code it makes addresses of 64 bits, when it sums up those that
 * gathers access, and where a bit of VEX selects a register that is not there.
 * Linux lets the program try again, for ever: K8 had an erratum.
 */
static bool has_long_address(const struct encoding *e)
{
	const struct parts *p = &e->parts;
	const __u8 *vex = e->bytes + p->opcode_at - 3;

	if (IS_64BIT || !p->vex)
		return false;
	return (p->map == 2 && is_gather(p->opcode)) ||
	       (vex >= e->bytes && vex[0] == 0xc4 && !(vex[1] & 0x20));
}

/* What QEMU 7.2 gets wrong, or dies of itself, is not made. */
bool is_beyond_qemu(const struct encoding *e)
{
	const struct parts *p = &e->parts;
	__u8 modrm = e->bytes[p->modrm_at];

	if (has_long_address(e))
		return true;
	switch (p->vex << 12 | p->map << 8 | p->opcode) {
	case 0x00c2: /* ret n */
		/* Taken for negative */
		return e->bytes[p->imm_at + 1] & 0x80;
	case 0x00f6: case 0x00f7: /* the other test, see shld */
		return is_rip_relative(e->bytes, p) && (modrm & 0x38) == 0x08;
	case 0x01a3: /* bt */
	case 0x01ab: case 0x01b3: case 0x01ba: case 0x01bb: /* bts, btr, btc */
		/* Undefined with a lock: an assertion fails */
		return p->lock && (p->opcode == 0xa3 || modrm >= 0xc0 ||
				   (p->opcode == 0xba && !(modrm & 0x18)));
	case 0x01a4: case 0x01ac: /* shld, shrd */
		/* The immediate is not counted as part of the instruction */
		return is_rip_relative(e->bytes, p);
	case 0x02f6: /* adcx, adox */
		/* Leave nonsense in the flags */
		return p->opsize || p->repe;
	case 0x020c: /* nothing without VEX */
		return !p->opsize;
	case 0x120c: /* vpermilps without prefix 66: both call NULL */
		return !(p->vex_l_pp & 3);
	case 0x1138: case 0x113a:
		/* Taken for the beginning of 0f 38 and 0f 3a */
		return true;
	case 0x11c4: case 0x1320: case 0x1322: /* vpinsr */
	case 0x130a: case 0x130b: /* vroundss, vroundsd */
		/* Defined with 128 bits and prefix 66: assertions fail */
		return p->vex_l_pp != 1;
	}
	return false;
}

void make_insn(struct encoding *e, __u64 nr, struct rng *r)
{
	add_modrm(e->bytes, add_opcode(e->bytes, nr, r), r);
	parse(e->bytes, &e->parts);
}

void aim_insn(struct encoding *e, struct rng *r)
{
	const struct parts *p = &e->parts;

	aim_memory(e, r);
	/* extrq: not all its forms have the two bytes */
	if (p->map == 1 && p->opcode == 0x78)
		memset(e->bytes + p->imm_at, FILL, p->imm_size);
	if (branch_size(p))
		aim_branch(e, r);
	/* Of the interrupts, the one that is a system call */
	if (!p->vex && !p->map && p->opcode == 0xcd && percent(r, 30))
		e->bytes[p->imm_at] = 0x80;
}

/* States. */

__u64 any_value(struct rng *r)
{
	static const __u16 selectors[] = { 0, 3, 0x23, 0x2b, 0x33, 0x7b };

	if (!IS_64BIT && percent(r, 4))
		return segments[below(r, NSEGMENTS)].selector;
	switch (below(r, 16)) {
	case 0 ... 6:
		return window_target(r);
	case 7:
		return STACK + 8 * below(r, PAGE_SZ / 8);
	case 8 ... 9:
		return below(r, 256);
	case 10 ... 11:
		return code_target(r);
	case 12:
		return selectors[below(r, ARRAY_SIZE(selectors))];
	case 13:
		return -(__u64)below(r, 256);
	}
	return afar(r);
}

static __u64 stack_pointer(struct rng *r)
{
	__u64 sp = STACK + PAGE_SZ / 4 + 8 * below(r, PAGE_SZ / 16);

	if (percent(r, 85))
		return sp;
	if (percent(r, 50))
		return sp + below(r, 8);
	if (percent(r, 50))
		return any_value(r);
	return percent(r, 50) ? STACK + below(r, 32) :
				STACK + PAGE_SZ - below(r, 32);
}

static __s64 displacement(const struct encoding *e)
{
	const struct parts *p = &e->parts;
	__u32 disp = 0;

	if (p->disp_size > 4)
		return 0;
	memcpy(&disp, e->bytes + p->disp_at, p->disp_size);
	return p->disp_size == 1 ? (__s8)disp : (__s32)disp;
}

/* The explicit memory operand gets somewhere, most times. */
static void aim_operand(struct state *st, const struct encoding *e,
			struct rng *r)
{
	const struct parts *p = &e->parts;
	__u64 *seg_base = p->gs ? &st->gs_base : p->fs ? &st->fs_base : NULL;
	__u64 target = seg_base ? window_target(r) : memory_target(p, r);

	if (seg_base && IS_64BIT) {
		*seg_base = target;
		target = small(r);
	} else if (seg_base) {
		target -= *seg_base;
	}
	if (p->index != NO_REG)
		st->gpr[p->index] = small(r);
	if (p->base != NO_REG && p->base != RSP)
		st->gpr[p->base] = target - displacement(e);
}

/* Operands without a name: of string instructions, xlat, enter, jmp *%reg. */
static void aim_implicit(struct state *st, const struct encoding *e,
			 struct rng *r)
{
	const struct parts *p = &e->parts;
	__u8 modrm = e->bytes[p->modrm_at];
	__u8 rex = p->opcode_at ? e->bytes[p->opcode_at - 1] : 0;

	if (percent(r, 75))
		st->gpr[RSI] = memory_target(p, r);
	if (percent(r, 75))
		st->gpr[RDI] = memory_target(p, r);
	if (percent(r, 70))
		st->gpr[RCX] = below(r, 20);
	if (percent(r, 30))
		st->gpr[RBX] = window_target(r);
	if (percent(r, 60))
		st->gpr[RBP] = stack_pointer(r);
	if (!p->map && p->opcode == 0xff && modrm >= 0xc0)
		st->gpr[(modrm & 7) | ((rex & 0xf1) == 0x41 ? 8 : 0)] =
			code_target(r);
}

/* QEMU 7.2 forgets to trap after it. */
static bool is_pause(const struct parts *p)
{
	return !p->map && p->opcode == 0x90 && p->repe;
}

/* bt and the like, where it is a register: they would reach 256 MB around. */
static bool has_bit_offset(const struct parts *p)
{
	if (p->vex || p->map != 1)
		return false;
	return p->opcode == 0xa3 || p->opcode == 0xab || p->opcode == 0xb3 ||
	       p->opcode == 0xbb;
}

static bool is_tester(__u32 addr)
{
	return addr >> 28 == TESTER >> 28 || (addr >= 0xb0000000 && addr < TOP);
}

/* Whatever the segment. */
static bool hits_tester(const struct state *st, const struct encoding *e)
{
	const struct parts *p = &e->parts;
	__u32 addr = displacement(e);

	if (is_small(p))
		return false;
	if (p->base != NO_REG)
		addr += st->gpr[p->base];
	if (p->index != NO_REG)
		addr += st->gpr[p->index] << (e->bytes[p->modrm_at + 1] >> 6);
	return is_tester(addr) || is_tester(addr + WINDOW);
}

/* 64 bits: only the bases of two are used, and they can be anything. */
static void choose_bases(struct state *st, struct rng *r)
{
	st->fs_base = percent(r, 50) ? 0 : any_value(r) & 0x7fffffffffff;
	st->gs_base = percent(r, 50) ? 0 : any_value(r) & 0x7fffffffffff;
}

static const struct segment *choose_segment(struct rng *r,
					    unsigned int likely,
					    unsigned int how_likely)
{
	return &segments[percent(r, how_likely) ? likely : below(r, NSEGMENTS)];
}

static void choose_segments(struct state *st, struct rng *r)
{
	const struct segment *fs = choose_segment(r, SEGMENT_FS, 70);
	const struct segment *gs = choose_segment(r, SEGMENT_GS, 70);

	st->ds = choose_segment(r, SEGMENT_FLAT, 95)->selector;
	st->es = choose_segment(r, SEGMENT_FLAT, 95)->selector;
	st->fs = fs->selector;
	st->gs = gs->selector;
	st->fs_base = fs->base;
	st->gs_base = gs->base;
}

static void choose_registers(struct state *st, const struct encoding *e,
			     struct rng *r)
{
	const struct parts *p = &e->parts;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(st->gpr); i++)
		st->gpr[i] = any_value(r);
	if (IS_64BIT)
		choose_bases(st, r);
	else
		choose_segments(st, r);
	aim_implicit(st, e, r);
	if (p->modrm_at && percent(r, 80))
		aim_operand(st, e, r);
	if (!IS_64BIT && has_bit_offset(p))
		st->gpr[e->bytes[p->modrm_at] >> 3 & 7] = (__s16)rnd(r);
	st->gpr[RSP] = stack_pointer(r);
}

void make_state(struct state *st, const struct encoding *e, __u64 nr,
		int state)
{
	static const __u64 flags[] = { CF, PF, AF, ZF, SF, OF };
	struct rng r = rng_for(nr, 1 + state);
	size_t i;

	do
		choose_registers(st, e, &r);
	while (!IS_64BIT && hits_tester(st, e));

	st->flags = 0x2 | IF;
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		st->flags |= percent(&r, 50) ? flags[i] : 0;
	st->flags |= percent(&r, 25) ? DF : 0;
	st->flags |= percent(&r, 8) ? AC : 0;
	st->flags |= percent(&r, 10) ? ID : 0;
	st->flags |= percent(&r, 5) ? NT : 0;
	if (state && percent(&r, 50) && !is_pause(&e->parts))
		st->flags |= TF;
}

