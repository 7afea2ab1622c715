// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the x86 instruction unit on the host: the same instruction by the
 * CPU at its place, and by the unit, from the same registers and memory.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "test.h"

#define PAGE		4096
#define CODE		(area + PAGE)
#define COPY		(area + 3 * PAGE)
#define DATA		(area + 5 * PAGE)
#define STACK		(area + 7 * PAGE)
#define STACK_END	(area + 8 * PAGE)
#define AREA_SIZE	(9 * PAGE)

/* Instructions with repeat prefix take this many steps at most */
#define MAX_STEPS	64

struct outcome {
	struct pt_regs		regs;
	struct cpu_result	cpu;
	u8			data[PAGE];
	u8			stack[PAGE];
};

/*
 * Below 4 GiB for the sake of address size prefixes, always in the same place
 * for the sake of repeatable runs; the gaps are inaccessible.
 */
#define AREA		((void *)0x20000000)
static u8 *area;
static u8 data[PAGE], stack[PAGE];

static unsigned long emulated, stepped, faulted;

/* Segments of Linux, as the descriptor tables have them on every CPU */
#define CODE_64BIT	0x33
#define CODE_32BIT	0x23
#define USER_DATA	0x2b

/* 16 MiB that nobody maps */
#define NOWHERE		0x30000000UL

static bool is_64bit = true;

static void map_area(void)
{
	size_t i;

	if (area)
		return;
	area = mmap(AREA, AREA_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		    MAP_FIXED_NOREPLACE, -1, 0);
	if (area == MAP_FAILED ||
	    mprotect(CODE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) ||
	    mprotect(COPY, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) ||
	    mprotect(DATA, PAGE, PROT_READ | PROT_WRITE) ||
	    mprotect(STACK, PAGE, PROT_READ | PROT_WRITE)) {
		perror("memory for instructions to run in");
		exit(2);
	}
	user_start = STACK;
	user_end = STACK_END;
	for (i = 0; i < PAGE; i++) {
		data[i] = rnd();
		stack[i] = rnd();
	}
}

static void reset_memory(void)
{
	memcpy(DATA, data, PAGE);
	memcpy(STACK, stack, PAGE);
}

static void save_memory(struct outcome *out)
{
	memcpy(out->data, DATA, PAGE);
	memcpy(out->stack, STACK, PAGE);
}

/* @repeats: not a branch, so that ip unmoved means not done */
static void run_original(struct outcome *out, bool repeats)
{
	int steps = 0;

	reset_memory();
	out->regs.ip = (unsigned long)CODE;
	do {
		cpu_step(&out->regs, &out->cpu);
	} while (repeats && out->cpu.sig == SIGTRAP && ++steps < MAX_STEPS &&
		 out->regs.ip == (unsigned long)CODE);
	save_memory(out);
}

/* As the engine does it; the program's own TF is set, like the CPU's */
static bool run_unit(const struct uprobe_insn *ui, struct outcome *out,
		     bool force_step)
{
	unsigned long vaddr = (unsigned long)CODE, copy = (unsigned long)COPY;
	struct uprobe_insn_step step;
	int steps = 0;

	reset_memory();
	memcpy(COPY, ui->copy, ui->copy_len);
	out->regs.ip = vaddr;

	user_accesses = force_step ? 0 : -1;
	if (uprobe_insn_emulate(ui, &out->regs)) {
		emulated++;
		out->cpu.sig = SIGTRAP;
		save_memory(out);
		return true;
	}
	user_accesses = -1;
	if (!ui->copy_len) {
		fail("%s: neither emulated nor a copy",
		     show_hex(CODE, ui->len));
		return false;
	}

	uprobe_insn_pre_step(ui, &step, &out->regs, copy);
	do {
		cpu_step(&out->regs, &out->cpu);
	} while (out->cpu.sig == SIGTRAP && ++steps < MAX_STEPS &&
		 uprobe_insn_unfinished(&out->regs, copy));
	if (out->cpu.sig != SIGTRAP) {
		uprobe_insn_abort(ui, &step, &out->regs, vaddr);
		if (out->cpu.addr - copy < MAX_INSN_SIZE)
			out->cpu.addr += vaddr - copy;
	} else if (!uprobe_insn_post_step(ui, &step, &out->regs, vaddr, copy)) {
		out->cpu.sig = SIGSEGV;
		out->cpu.code = SI_KERNEL;
		out->cpu.addr = 0;
		out->regs.flags |= X86_EFLAGS_RF;
	}
	stepped++;
	save_memory(out);
	return true;
}

static const char *difference(const struct outcome *cpu,
			      const struct outcome *unit)
{
	if (cpu->cpu.sig != unit->cpu.sig)
		return "signal";
	if (cpu->regs.ip != unit->regs.ip)
		return "ip";
	if (cpu->regs.sp != unit->regs.sp)
		return "sp";
	if (cpu->regs.flags != unit->regs.flags)
		return "flags";
	if (memcmp(&cpu->regs, &unit->regs, sizeof(cpu->regs)))
		return "registers";
	if (memcmp(cpu->stack, unit->stack, PAGE))
		return "stack";
	if (memcmp(cpu->data, unit->data, PAGE))
		return "data";
	if (cpu->cpu.sig != SIGTRAP && (cpu->cpu.code != unit->cpu.code ||
					cpu->cpu.addr != unit->cpu.addr))
		return "signal information";
	return NULL;
}

static void tell(const char *who, const struct outcome *out)
{
	const struct pt_regs *regs = &out->regs;

	fail("  %s signal %d code %d address %lx ip %lx sp %lx flags %lx",
	     who, out->cpu.sig, out->cpu.code, out->cpu.addr, regs->ip,
	     regs->sp, regs->flags);
	fail("  %s ax %lx cx %lx dx %lx bx %lx bp %lx si %lx di %lx",
	     who, regs->ax, regs->cx, regs->dx, regs->bx, regs->bp, regs->si,
	     regs->di);
}

/* Returns false if the unit refuses the instruction */
static bool compare(const u8 *bytes, size_t n, const struct pt_regs *regs,
		    bool force_step)
{
	static struct outcome cpu, unit;
	struct uprobe_insn ui;
	const char *why = NULL;
	unsigned long before = emulated;

	memset(CODE, 0xcc, 64);
	memcpy(CODE, bytes, n);
	if (uprobe_insn_analyze(&ui, bytes, n, (unsigned long)CODE, is_64bit,
				&why)) {
		fail("%s: refused: %s", show_hex(bytes, n), why);
		return false;
	}
	if (ui.len != n) {
		fail("%s: length %u", show_hex(bytes, n), ui.len);
		return false;
	}

	cpu.regs = *regs;
	unit.regs = *regs;
	run_original(&cpu,
		     ui.op == UPROBE_INSN_STEP || ui.op == UPROBE_INSN_REP);
	if (!run_unit(&ui, &unit, force_step))
		return false;
	faulted += cpu.cpu.sig != SIGTRAP;

	why = difference(&cpu, &unit);
	if (!why && emulated == before &&
	    memcmp(cpu.cpu.fpu, unit.cpu.fpu, cpu.cpu.fpu_size))
		why = "vector registers";
	if (why) {
		fail("%s(op %u): %s", show_hex(bytes, n), ui.op, why);
		tell("CPU: ", &cpu);
		tell("unit:", &unit);
	}
	return true;
}

/* @code: addresses of code, too: for what jumps, not for what writes */
static unsigned long random_value(bool code)
{
	switch (rnd_below(code ? 6 : 5)) {
	case 0: /* small */
		return rnd_below(4);
	case 1: /* near a sign or carry */
		return (1UL << (rnd_below(2) ? 63 : 31)) + rnd_below(9) - 4;
	case 2: /* nearly zero */
		return -rnd_below(4);
	case 3:
		return (unsigned long)DATA + rnd_below(PAGE - 64);
	case 4:
		return rnd();
	default:
		return (unsigned long)CODE + rnd_below(64);
	}
}

/* What 32-bit code has: the rest is zero */
static void halve_regs(struct pt_regs *regs)
{
	unsigned long *reg;

	for (reg = &regs->r15; reg <= &regs->r8; reg++) {
		if (reg != &regs->bp && reg != &regs->bx)
			*reg = 0;
	}
	for (reg = &regs->r15; reg <= &regs->di; reg++)
		*reg = (u32)*reg;
	/* Beyond its ends means where nothing is, the test's own memory too */
	if (regs->sp - (unsigned long)area >= AREA_SIZE)
		regs->sp = NOWHERE | (u32)regs->sp >> 8;
	regs->cs = CODE_32BIT;
}

static void random_regs(struct pt_regs *regs, bool code)
{
	unsigned long *reg;

	memset(regs, 0, sizeof(*regs));
	for (reg = &regs->r15; reg <= &regs->di; reg++)
		*reg = random_value(code);
	regs->flags = X86_EFLAGS_FIXED | X86_EFLAGS_IF | X86_EFLAGS_TF |
		      (rnd() & (ARITH_FLAGS | X86_EFLAGS_DF));

	/* Mostly in the middle; at times at one of its ends, or beyond */
	switch (rnd_below(8)) {
	case 0:
		regs->sp = (unsigned long)STACK + rnd_below(16);
		break;
	case 1:
		regs->sp = (unsigned long)STACK_END - rnd_below(16);
		break;
	case 2:
		regs->sp = (unsigned long)STACK + PAGE / 2 + rnd_below(64);
		break;
	case 3:
		regs->sp = rnd_below(4) ? regs->sp : rnd();
		break;
	}
	if (!regs->sp)
		regs->sp = (unsigned long)STACK + PAGE / 2;
	if (rnd_below(2))
		regs->bp = regs->sp + rnd_below(4) * 8;
	regs->cs = CODE_64BIT;
	if (!is_64bit)
		halve_regs(regs);
}

struct encoder {
	u8 bytes[MAX_INSN_SIZE];
	size_t n;
};

static void emit(struct encoder *e, u8 byte)
{
	e->bytes[e->n++] = byte;
}

static void emit_random(struct encoder *e, size_t n)
{
	while (n--)
		emit(e, rnd());
}

/* Signed, near: a rel32 that stays in the address space */
static void emit_rel32(struct encoder *e)
{
	s32 rel = rnd_below(2) ? (s32)rnd() >> 4 : (s32)rnd_below(256) - 128;

	memcpy(e->bytes + e->n, &rel, sizeof(rel));
	e->n += sizeof(rel);
}

/* Prefixes that mean nothing to the instructions below */
static void emit_prefixes(struct encoder *e)
{
	static const u8 idle[] = { 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65 };

	if (!rnd_below(4))
		emit(e, idle[rnd_below(sizeof(idle))]);
}

static void emit_rex(struct encoder *e, u8 rex)
{
	if (is_64bit && (rex || rnd_below(2)))
		emit(e, 0x40 | rex);
}

static void encode_nop(struct encoder *e)
{
	static const char * const nops[] = {
		"90", "66 90", "f3 90", "f2 90", "0f 1f 00",
		"0f 1f 40 00", "0f 1f 44 00 00", "66 0f 1f 44 00 00",
		"0f 1f 80 00 00 00 00", "0f 1f 84 00 00 00 00 00",
		"66 0f 1f 84 00 00 00 00 00", "66 2e 0f 1f 84 00 00 00 00 00",
		"66 66 2e 0f 1f 84 00 00 00 00 00",
		"66 66 66 66 66 2e 0f 1f 84 00 00 00 00 00",
		"64 0f 1f 00", "65 0f 1f 40 00", "0f 1f c0", "0f 1f f8",
		"f3 0f 1e fa", "f3 0f 1e fb", "0f 18 08", "0f 18 05 00 00 00 00",
	};

	e->n = parse_hex(nops[rnd_below(ARRAY_SIZE(nops))], e->bytes);
}

static void encode_stack(struct encoder *e)
{
	u8 rex = rnd_below(2);

	emit_prefixes(e);
	switch (rnd_below(7)) {
	case 0: /* push reg */
		emit_rex(e, rex);
		emit(e, 0x50 | rnd_below(8));
		break;
	case 1: /* pop reg */
		emit_rex(e, rex);
		emit(e, 0x58 | rnd_below(8));
		break;
	case 2: /* push imm32 */
		emit(e, 0x68);
		emit_random(e, 4);
		break;
	case 3: /* push imm8 */
		emit(e, 0x6a);
		emit_random(e, 1);
		break;
	case 4: /* leave */
		emit(e, 0xc9);
		break;
	case 5: /* pushf */
		emit(e, 0x9c);
		break;
	case 6: /* popf */
		emit(e, 0x9d);
		break;
	}
}

static void encode_data(struct encoder *e)
{
	u8 rex = rnd_below(16);

	emit_prefixes(e);
	switch (rnd_below(7)) {
	case 0: /* mov reg, reg */
		emit_rex(e, rex);
		emit(e, rnd_below(2) ? 0x89 : 0x8b);
		emit(e, 0xc0 | rnd_below(64));
		break;
	case 1: /* lea disp8(reg) */
		emit_rex(e, rex);
		emit(e, 0x8d);
		emit(e, 0x40 | rnd_below(8) << 3 | rnd_below(4));
		emit_random(e, 1);
		break;
	case 2: /* lea disp32(reg) */
		emit_rex(e, rex);
		emit(e, 0x8d);
		emit(e, 0x85 | rnd_below(8) << 3);
		emit_random(e, 4);
		break;
	case 3: /* lea with SIB, with and without an index or a base */
		emit_rex(e, rex);
		emit(e, 0x8d);
		emit(e, 0x44 | rnd_below(8) << 3);
		emit(e, rnd_below(2) ? 0x24 : rnd());
		emit_random(e, 1);
		break;
	case 4: /* lea disp32(%rip) */
		emit_rex(e, rex);
		emit(e, 0x8d);
		emit(e, 0x05 | rnd_below(8) << 3);
		emit_random(e, 4);
		break;
	case 5: /* add, sub imm8 */
		emit_rex(e, rex);
		emit(e, 0x83);
		emit(e, (rnd_below(2) ? 0xc0 : 0xe8) | rnd_below(8));
		emit_random(e, 1);
		break;
	case 6: /* add, sub imm32 */
		emit_rex(e, rex);
		emit(e, 0x81);
		emit(e, (rnd_below(2) ? 0xc0 : 0xe8) | rnd_below(8));
		emit_random(e, 4);
		break;
	}
}

static void encode_branch(struct encoder *e)
{
	static const u8 idle[] = { 0x2e, 0x3e, 0xf2, 0xf3 };

	if (!rnd_below(4))
		emit(e, idle[rnd_below(sizeof(idle))]);
	switch (rnd_below(10)) {
	case 0: /* ret */
		emit(e, 0xc3);
		break;
	case 1: /* ret imm16 */
		emit(e, 0xc2);
		emit_random(e, 2);
		break;
	case 2: /* call rel32 */
		emit(e, 0xe8);
		emit_rel32(e);
		break;
	case 3: /* jmp rel32 */
		emit(e, 0xe9);
		emit_rel32(e);
		break;
	case 4: /* jmp rel8 */
		emit(e, 0xeb);
		emit_random(e, 1);
		break;
	case 5: /* jcc rel8 */
		emit(e, 0x70 | rnd_below(16));
		emit_random(e, 1);
		break;
	case 6: /* jcc rel32 */
		emit(e, 0x0f);
		emit(e, 0x80 | rnd_below(16));
		emit_rel32(e);
		break;
	case 7: /* loopne, loope, loop, jrcxz */
		e->n = 0;
		if (is_64bit && rnd_below(2))
			emit(e, 0x67);
		emit(e, 0xe0 | rnd_below(4));
		emit_random(e, 1);
		break;
	case 8: /* call reg */
		emit_rex(e, rnd_below(16));
		emit(e, 0xff);
		emit(e, 0xd0 | rnd_below(8));
		break;
	case 9: /* jmp reg */
		emit_rex(e, rnd_below(16));
		emit(e, 0xff);
		emit(e, 0xe0 | rnd_below(8));
		break;
	}
}

static void compare_emulations(void)
{
	static void (* const encode[])(struct encoder *e) = {
		encode_nop, encode_stack, encode_data, encode_branch,
	};
	struct pt_regs regs;
	struct encoder e;
	int i;

	map_area();
	emulated = 0;
	stepped = 0;
	faulted = 0;
	for (i = 0; i < 40000; i++) {
		e.n = 0;
		encode[i % ARRAY_SIZE(encode)](&e);
		random_regs(&regs, true);
		if (!compare(e.bytes, e.n, &regs, !rnd_below(4)))
			return;
	}
	note("%lu emulated, %lu stepped, of these %lu faulted", emulated,
	     stepped, faulted);
	if (emulated < 20000 || stepped < 2000 || faulted < 100)
		fail("too few of a kind");
}

void test_emulation(void)
{
	compare_emulations();
}

/* In a code segment of 32 bits, which 64-bit processes have at hand */
void test_emulation_32bit(void)
{
	asm volatile("mov %0, %%ds; mov %0, %%es" : : "r" (USER_DATA));
	is_64bit = false;
	compare_emulations();
	is_64bit = true;
}

/* RR: a displacement to the data page comes here */
static const char * const copies[] = {
	/* rip-relative: register operands that collide with each scratch */
	"48 8b 05 RR", "48 8b 35 RR", "48 8b 3d RR", "48 8b 1d RR",
	"49 8b 05 RR", "4c 8b 35 RR", "4d 8b 3d RR", "8b 05 RR",
	"66 8b 35 RR", "8a 35 RR", "8a 3d RR", "40 8a 35 RR",
	"67 48 8b 05 RR", "64 8b 05 RR", "65 8b 05 RR",
	"48 89 35 RR", "48 89 3d RR", "88 3d RR", "88 35 RR",
	"c6 05 RR 5a", "66 c7 05 RR 34 12", "c7 05 RR 78 56 34 12",
	"48 c7 05 RR 78 56 34 12", "80 3d RR 00", "48 81 05 RR 78 56 34 12",
	"83 2d RR 01", "48 01 35 RR", "48 03 35 RR", "48 39 3d RR",
	"f0 48 01 35 RR", "f0 ff 05 RR", "f0 48 0f b1 35 RR",
	"f0 48 0f c1 35 RR", "48 87 35 RR", "0f b0 1d RR",
	"0f c7 0d RR", "f0 48 0f c7 0d RR", "0f b6 3d RR", "48 0f bf 35 RR",
	"48 63 35 RR", "48 0f af 35 RR", "48 69 35 RR 11 00 00 00",
	"0f 94 05 RR", "48 0f 44 35 RR", "48 d3 25 RR", "48 c1 2d RR 03",
	"48 f7 25 RR", "48 f7 3d RR", "f6 35 RR", "48 f7 1d RR", "0f a4 35 RR 05",
	"48 0f a3 35 RR", "0f ba 2d RR 07", "f3 48 0f b8 35 RR",
	"f3 0f bc 3d RR", "48 0f 38 f0 35 RR", "48 0f 38 f1 35 RR",
	"66 ff 35 RR", "ff 35 RR", "41 ff 35 RR", "8f 05 RR", "66 8f 05 RR",
	"ff 15 RR", "41 ff 15 RR", "3e ff 15 RR", "ff 25 RR", "f2 ff 25 RR",
	"66 0f 6f 35 RR", "f3 0f 7f 3d RR", "0f 28 05 RR", "f2 0f 58 35 RR",
	"f3 48 0f 2a 35 RR", "f2 48 0f 2c 35 RR", "66 48 0f 6e 35 RR",
	"66 48 0f 7e 35 RR", "0f 6f 05 RR", "66 0f 38 00 05 RR",
	"66 0f 3a 0f 05 RR 04", "66 0f 38 dc 05 RR", "0f 2e 35 RR",
	"d9 05 RR", "dd 05 RR", "db 2d RR", "d8 0d RR", "0f 0d 0d RR",
	"67 48 8d 35 RR", "66 8d 35 RR", "0f 00 25 RR",
	/* ldmxcsr, stmxcsr */
	"0f ae 15 RR", "0f ae 1d RR",
	/* VEX, two and three bytes */
	"c5 fa 6f 35 RR", "c5 fa 7f 3d RR", "c5 fd eb 05 RR",
	"c5 cd fc 35 RR", "c5 7a 6f 35 RR", "c4 c1 7a 6f 35 RR",
	"c4 41 7a 6f 3d RR", "c4 e2 cb f6 3d RR", "c4 e2 c3 f6 35 RR",
	"c4 e2 c8 f2 3d RR", "c4 e2 c1 f7 35 RR", "c4 e2 e3 f7 35 RR",
	"c4 e3 fb f0 35 RR 07", "c4 e2 c8 f3 0d RR", "c4 e2 c0 f3 1d RR",
	"c4 e2 7d 18 35 RR", "c4 e3 4d 06 3d RR 01", "c5 fa 2a 35 RR",
	"c4 e1 fa 2d 35 RR", "c5 f8 90 0d RR", "c4 e2 4d b8 3d RR",
	"c5 f8 ae 1d RR",
	/* EVEX, with and without the bits that extend rm */
	"62 f1 fe 08 6f 35 RR", "62 d1 fe 08 6f 3d RR", "62 91 fe 08 6f 35 RR",
	"62 f1 fe 48 7f 05 RR", "62 f1 4d 08 fe 3d RR", "62 f1 45 28 fe 35 RR",
	"62 f2 7d 48 18 35 RR", "62 f1 65 18 fe 35 RR", "62 f1 fe 08 2a 35 RR",
	/* VEX and EVEX opcodes that look like legacy branches and nops */
	"c5 f5 eb c2", "c5 f5 74 c2", "c5 fa 7f c1", "c5 f1 e8 c2",
	"c5 f9 70 c1 1b", "c5 f8 77", "c5 fc 77", "c5 f8 90 c8",
	"62 f1 75 08 eb c2",
	/* string instructions */
	"a4", "48 a5", "66 a5", "aa", "48 ab", "ac", "ae", "a6", "48 af",
	"f3 a4", "f3 48 a5", "f3 aa", "f3 48 ab", "f3 a6", "f2 ae", "f3 ac",
	"67 f3 aa",
	/* the rest of what has no place */
	"49 90", "f3 41 90", "66 50", "66 58", "66 9b", "c8 10 00 00",
	"c8 20 00 01", "66 c9", "66 68 34 12", "9b", "9e", "9f", "d7", "98",
	"48 99", "48 0f c9", "0f 40 c1", "0f 95 c0", "31 c0", "48 83 e4 f0",
	"f5", "f8", "fd", "b8 78 56 34 12", "48 b8 88 77 66 55 44 33 22 11",
	"48 a1 00 00 00 00 00 00 00 00", "0f 01 d0", "0f ae e8", "0f ae f0",
	"8c d8", "8c d0", "0f a8", "0f a0", "d9 e8", "d9 c9", "de c1", "db e3",
	"df e0", "0f 77", "0f 0b", "48 93", "87 d9",
	"8d 04 8d 00 00 00 00", "ff f0", "ff 74 24 08", "ff 54 24 08",
	"ff 64 24 08", "8f 44 24 08", "ff 14 24", "ff 10", "ff 20",
	"64 ff 14 25 10 00 00 00",
};

static size_t place_displacement(const char *text, u8 *bytes)
{
	const char *hole = strstr(text, "RR");
	char hex[64];
	size_t at = 0, n;
	s32 disp;

	if (!hole)
		return parse_hex(text, bytes);
	snprintf(hex, sizeof(hex), "%.*s00 00 00 00%s", (int)(hole - text),
		 text, hole + 2);
	n = parse_hex(hex, bytes);
	at = (hole - text) / 3;
	disp = DATA + 1024 + 64 * rnd_below(16) - (CODE + n);
	memcpy(bytes + at, &disp, sizeof(disp));
	return n;
}

/* Operands of string instructions, and of those with registers as pointers */
static void aim_at_data(struct pt_regs *regs)
{
	regs->si = (unsigned long)DATA + 512 + rnd_below(512);
	regs->di = (unsigned long)DATA + 1024 + rnd_below(512);
	regs->bx = (unsigned long)DATA + rnd_below(512);
	regs->cx = rnd_below(6);
}

static void compare_copies(const char * const *list, size_t size)
{
	struct pt_regs regs;
	u8 bytes[32];
	size_t i, n;
	int round;

	map_area();
	emulated = 0;
	stepped = 0;
	faulted = 0;
	for (i = 0; i < size; i++) {
		for (round = 0; round < 50; round++) {
			n = place_displacement(list[i], bytes);
			random_regs(&regs, false);
			if (round & 1)
				aim_at_data(&regs);
			if (!compare(bytes, n, &regs, false))
				break;
		}
	}
	note("%zu encodings: %lu stepped, of these %lu faulted, %lu emulated",
	     size, stepped, faulted, emulated);
	if (stepped < 50 * size - emulated ||
	    faulted > stepped / 2)
		fail("too many that ran into a fault");
}

void test_copies(void)
{
	compare_copies(copies, ARRAY_SIZE(copies));
}

/* What 64-bit code does not have, and what has operands of other sizes there */
static const char * const copies_32bit[] = {
	"06", "0e", "16", "1e", "07", "1f", "27", "2f", "37", "3f", "40", "4f",
	"66 47", "60", "61", "66 60", "66 61", "d4 0a", "d5 0a", "82 c0 7f",
	"9b", "a4", "f3 a4", "f3 a5", "f3 66 ab", "f2 ae", "f3 a6", "67 ac",
	"c8 20 00 01", "66 50", "66 58", "66 c9", "66 83 c0 7f", "d7", "98",
	"ff 74 24 08", "ff 54 24 08", "ff 64 24 08", "8f 44 24 08", "ff 10",
	"ff 20", "ff 15 00 50 00 20", "ff 25 00 50 00 20",
	"a1 00 50 00 20", "a3 00 54 00 20", "8b 35 00 54 00 20",
	"c7 05 00 54 00 20 78 56 34 12", "f0 ff 05 00 54 00 20",
	"0f c7 0d 00 54 00 20", "66 0f 6f 05 00 54 00 20", "d9 05 00 54 00 20",
	"c5 fa 6f 35 00 54 00 20", "c5 fd eb c1", "c5 f8 77", "62 06", "c4 06",
	"0f a0", "0f a8", "8c d8", "67 8d 44 10", "67 8b 44 10", "0f 0b",
};

void test_copies_32bit(void)
{
	is_64bit = false;
	compare_copies(copies_32bit, ARRAY_SIZE(copies_32bit));
	is_64bit = true;
}

/*
 * The CPU of this test cannot be asked here: its step shows. So is said what
 * the program must see when it has not set TF, and a step was needed.
 */
void test_flags_of_step(void)
{
	static const u8 pushf[] = { 0x9c }, popf[] = { 0x9d };
	unsigned long *top;
	struct pt_regs regs;
	struct cpu_result result;
	struct uprobe_insn_step step;
	struct uprobe_insn ui;
	const char *why;

	map_area();
	top = (unsigned long *)(STACK + PAGE / 2);

	reset_memory();
	random_regs(&regs, false);
	regs.ip = (unsigned long)CODE;
	regs.sp = (unsigned long)(top + 1);
	regs.flags &= ~X86_EFLAGS_TF;
	if (uprobe_insn_analyze(&ui, pushf, 1, regs.ip, true, &why)) {
		fail("pushf refused: %s", why);
		return;
	}
	memcpy(COPY, ui.copy, ui.copy_len);
	uprobe_insn_pre_step(&ui, &step, &regs, (unsigned long)COPY);
	cpu_step(&regs, &result);
	regs.flags &= ~X86_EFLAGS_TF;
	if (!uprobe_insn_post_step(&ui, &step, &regs, (unsigned long)CODE,
				   (unsigned long)COPY) ||
	    *top != regs.flags || regs.sp != (unsigned long)top)
		fail("pushf pushed %lx, flags are %lx", *top, regs.flags);

	*top = regs.flags ^ (X86_EFLAGS_CF | X86_EFLAGS_TF | X86_EFLAGS_IF);
	regs.ip = (unsigned long)CODE;
	if (uprobe_insn_analyze(&ui, popf, 1, regs.ip, true, &why)) {
		fail("popf refused: %s", why);
		return;
	}
	memcpy(COPY, ui.copy, ui.copy_len);
	uprobe_insn_pre_step(&ui, &step, &regs, (unsigned long)COPY);
	cpu_step(&regs, &result);
	regs.flags &= ~X86_EFLAGS_TF;
	if (!uprobe_insn_post_step(&ui, &step, &regs, (unsigned long)CODE,
				   (unsigned long)COPY) ||
	    regs.flags != (*top | X86_EFLAGS_IF))
		fail("popf of %lx gave %lx", *top, regs.flags);
}

/* Instructions that touch the stack */
static const char * const touching[] = {
	"50", "54", "41 57", "58", "5c", "41 5f", "68 01 02 03 04", "6a ff",
	"c9", "9c", "9d", "c3", "c2 08 00", "e8 00 01 00 00", "ff d0", "ff d4",
};

void test_faults(void)
{
	unsigned long vaddr;
	struct pt_regs regs, before;
	struct uprobe_insn_step step;
	struct uprobe_insn ui;
	const char *why;
	u8 bytes[16];
	size_t i, n;

	map_area();
	vaddr = (unsigned long)CODE;
	for (i = 0; i < ARRAY_SIZE(touching); i++) {
		n = parse_hex(touching[i], bytes);
		if (uprobe_insn_analyze(&ui, bytes, n, vaddr, true, &why)) {
			fail("%s: refused: %s", touching[i], why);
			continue;
		}
		reset_memory();
		random_regs(&regs, false);
		regs.ip = vaddr;
		regs.sp = (unsigned long)STACK + PAGE / 2;
		regs.bp = regs.sp;
		regs.ax = vaddr;
		before = regs;
		user_accesses = 0;
		if (uprobe_insn_emulate(&ui, &regs))
			fail("%s: emulated in spite of a fault", touching[i]);
		if (memcmp(&regs, &before, sizeof(regs)))
			fail("%s: registers changed", touching[i]);
		if (memcmp(STACK, stack, PAGE))
			fail("%s: memory changed", touching[i]);

		/* With alignment checks on, the CPU must see the access */
		user_accesses = -1;
		regs.flags |= X86_EFLAGS_AC;
		regs.sp++;
		regs.bp++;
		before = regs;
		if (uprobe_insn_emulate(&ui, &regs) ||
		    memcmp(&regs, &before, sizeof(regs)))
			fail("%s: emulated in spite of AC", touching[i]);

		/* Given up, or found without a stack at its end */
		uprobe_insn_pre_step(&ui, &step, &regs, (unsigned long)COPY);
		uprobe_insn_abort(&ui, &step, &regs, vaddr);
		if (memcmp(&regs, &before, sizeof(regs)))
			fail("%s: registers changed by giving up", touching[i]);
		if (ui.op != UPROBE_INSN_PUSHF &&
		    ui.op != UPROBE_INSN_CALL_REL &&
		    ui.op != UPROBE_INSN_CALL_REG)
			continue;
		uprobe_insn_pre_step(&ui, &step, &regs, (unsigned long)COPY);
		regs.ip++;
		regs.sp -= 8;
		user_accesses = 0;
		if (uprobe_insn_post_step(&ui, &step, &regs, vaddr,
					  (unsigned long)COPY))
			fail("%s: finished in spite of a fault", touching[i]);
		if (memcmp(&regs, &before, sizeof(regs)))
			fail("%s: registers changed at the end", touching[i]);
	}
}
