// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the x86 instruction unit on the host: encoding -> verdict */
#include <stdlib.h>
#include <string.h>
#include <linux/errno.h>

#include "test.h"

#define VADDR	0x401000UL

static const struct executed {
	const char *hex;
	enum uprobe_insn_op op;
} executed[] = {
	/* nop and its relatives */
	{ "90", UPROBE_INSN_NOP },
	{ "66 90", UPROBE_INSN_NOP },
	{ "f3 90", UPROBE_INSN_NOP },			/* pause */
	{ "49 90", UPROBE_INSN_STEP },			/* xchg %r8, %rax */
	{ "41 90", UPROBE_INSN_STEP },			/* xchg %r8d, %eax */
	{ "48 90", UPROBE_INSN_NOP },
	{ "0f 1f 00", UPROBE_INSN_NOP },
	{ "0f 1f 40 00", UPROBE_INSN_NOP },
	{ "0f 1f 44 00 00", UPROBE_INSN_NOP },
	{ "66 0f 1f 44 00 00", UPROBE_INSN_NOP },
	{ "0f 1f 80 00 00 00 00", UPROBE_INSN_NOP },
	{ "0f 1f 84 00 00 00 00 00", UPROBE_INSN_NOP },
	{ "66 0f 1f 84 00 00 00 00 00", UPROBE_INSN_NOP },
	{ "66 2e 0f 1f 84 00 00 00 00 00", UPROBE_INSN_NOP },
	{ "66 66 66 66 66 2e 0f 1f 84 00 00 00 00 00", UPROBE_INSN_NOP },
	{ "64 0f 1f 00", UPROBE_INSN_NOP },
	{ "65 0f 1f 44 00 00", UPROBE_INSN_NOP },
	{ "f3 0f 1e fa", UPROBE_INSN_NOP },		/* endbr64 */
	{ "f3 0f 1e fb", UPROBE_INSN_NOP },		/* endbr32 */
	{ "0f 1e fa", UPROBE_INSN_STEP },
	{ "0f 18 0a", UPROBE_INSN_NOP },		/* prefetcht0 */
	{ "0f 0d 0a", UPROBE_INSN_STEP },		/* prefetchw */
	/* stack */
	{ "50", UPROBE_INSN_PUSH_REG },
	{ "41 57", UPROBE_INSN_PUSH_REG },
	{ "66 50", UPROBE_INSN_STEP },			/* push %ax */
	{ "5d", UPROBE_INSN_POP_REG },
	{ "66 58", UPROBE_INSN_STEP },
	{ "68 78 56 34 12", UPROBE_INSN_PUSH_IMM },
	{ "66 68 34 12", UPROBE_INSN_STEP },
	{ "6a ff", UPROBE_INSN_PUSH_IMM },
	{ "c9", UPROBE_INSN_LEAVE },
	{ "c8 10 00 00", UPROBE_INSN_STEP },		/* enter */
	{ "9c", UPROBE_INSN_PUSHF },
	{ "9d", UPROBE_INSN_POPF },
	{ "ff f0", UPROBE_INSN_STEP },			/* push %rax */
	{ "ff 35 00 00 00 00", UPROBE_INSN_STEP },
	{ "8f 00", UPROBE_INSN_STEP },			/* pop (%rax) */
	/* frames */
	{ "48 89 e5", UPROBE_INSN_MOV },
	{ "89 f8", UPROBE_INSN_MOV },
	{ "8b f8", UPROBE_INSN_MOV },
	{ "66 89 f8", UPROBE_INSN_STEP },
	{ "48 89 07", UPROBE_INSN_STEP },
	{ "48 83 ec 10", UPROBE_INSN_SUB },
	{ "48 81 c4 00 01 00 00", UPROBE_INSN_ADD },
	{ "83 c0 01", UPROBE_INSN_ADD },
	{ "66 83 c0 01", UPROBE_INSN_STEP },
	{ "48 83 e4 f0", UPROBE_INSN_STEP },		/* and */
	{ "48 8d 64 24 f8", UPROBE_INSN_LEA },
	{ "48 8d 3d 00 00 00 00", UPROBE_INSN_LEA },
	{ "8d 04 8d 00 00 00 00", UPROBE_INSN_STEP },
	{ "67 48 8d 3d 00 00 00 00", UPROBE_INSN_STEP },
	/* branches */
	{ "c3", UPROBE_INSN_RET },
	{ "f3 c3", UPROBE_INSN_RET },
	{ "f2 c3", UPROBE_INSN_RET },
	{ "c2 08 00", UPROBE_INSN_RET },
	{ "e8 00 00 00 00", UPROBE_INSN_CALL_REL },
	{ "67 e8 00 00 00 00", UPROBE_INSN_CALL_REL },
	{ "e9 00 00 00 00", UPROBE_INSN_JMP_REL },
	{ "eb fe", UPROBE_INSN_JMP_REL },
	{ "74 05", UPROBE_INSN_JCC },
	{ "2e 74 05", UPROBE_INSN_JCC },
	{ "f2 75 05", UPROBE_INSN_JCC },
	{ "0f 8f 00 00 00 00", UPROBE_INSN_JCC },
	{ "e2 fe", UPROBE_INSN_LOOP },
	{ "67 e3 00", UPROBE_INSN_LOOP },
	{ "ff d0", UPROBE_INSN_CALL_REG },
	{ "41 ff d3", UPROBE_INSN_CALL_REG },
	{ "3e ff e0", UPROBE_INSN_JMP_REG },		/* notrack */
	{ "ff 15 00 00 00 00", UPROBE_INSN_CALL_MEM },
	{ "64 ff 14 25 10 00 00 00", UPROBE_INSN_CALL_MEM },
	{ "ff 25 00 00 00 00", UPROBE_INSN_JMP_MEM },
	{ "f2 ff 25 00 00 00 00", UPROBE_INSN_JMP_MEM },
	/* VEX and EVEX opcodes that are branches and nops elsewhere */
	{ "c5 f5 eb c2", UPROBE_INSN_STEP },		/* vpor */
	{ "c5 f5 74 c2", UPROBE_INSN_STEP },		/* vpcmpeqb */
	{ "c5 fa 7f 07", UPROBE_INSN_STEP },		/* vmovdqu */
	{ "c5 f1 e8 c2", UPROBE_INSN_STEP },		/* vpsubsb */
	{ "c5 f9 70 c1 1b", UPROBE_INSN_STEP },		/* vpshufd */
	{ "c5 f8 77", UPROBE_INSN_STEP },		/* vzeroupper */
	{ "c5 f8 90 c8", UPROBE_INSN_STEP },		/* kmovw */
	{ "c4 e2 7d 58 c1", UPROBE_INSN_STEP },
	{ "62 f1 75 08 eb c2", UPROBE_INSN_STEP },	/* vpord */
	{ "62 f1 fe 48 6f 05 00 00 00 00", UPROBE_INSN_STEP },
	{ "62 f5 74 08 58 c2", UPROBE_INSN_STEP },	/* vaddph */
	/* prefixes */
	{ "f0 48 0f b1 0f", UPROBE_INSN_STEP },		/* lock cmpxchg */
	{ "f0 83 04 24 00", UPROBE_INSN_STEP },		/* lock addl */
	{ "f0 ff 00", UPROBE_INSN_STEP },		/* lock incl */
	{ "f2 f0 01 07", UPROBE_INSN_STEP },		/* xacquire */
	{ "64 48 8b 04 25 28 00 00 00", UPROBE_INSN_STEP },
	{ "65 8b 00", UPROBE_INSN_STEP },
	{ "f3 a4", UPROBE_INSN_REP },
	{ "f3 48 ab", UPROBE_INSN_REP },
	{ "f2 ae", UPROBE_INSN_REP },
	/* system instructions that are harmless */
	{ "0f a2", UPROBE_INSN_STEP },			/* cpuid */
	{ "0f 31", UPROBE_INSN_STEP },			/* rdtsc */
	{ "0f 01 f9", UPROBE_INSN_STEP },		/* rdtscp */
	{ "0f 01 d0", UPROBE_INSN_STEP },		/* xgetbv */
	{ "0f 01 ee", UPROBE_INSN_STEP },		/* rdpkru */
	{ "0f ae 00", UPROBE_INSN_STEP },		/* fxsave */
	{ "48 0f ae 20", UPROBE_INSN_STEP },		/* xsave64 */
	{ "0f ae 28", UPROBE_INSN_STEP },		/* xrstor */
	{ "0f c7 20", UPROBE_INSN_STEP },		/* xsavec */
	{ "0f c7 0f", UPROBE_INSN_STEP },		/* cmpxchg8b */
	{ "0f c7 f0", UPROBE_INSN_STEP },		/* rdrand */
	{ "f3 0f c7 f8", UPROBE_INSN_STEP },		/* rdpid */
	{ "f3 48 0f ae c0", UPROBE_INSN_STEP },		/* rdfsbase */
	{ "0f ae e8", UPROBE_INSN_STEP },		/* lfence */
	{ "66 0f ae 38", UPROBE_INSN_STEP },		/* clflushopt */
	{ "8e d8", UPROBE_INSN_STEP },			/* mov %eax, %ds */
	{ "0f 0b", UPROBE_INSN_STEP },			/* ud2 */
	{ "d9 c0", UPROBE_INSN_X87 },			/* fld */
	{ "9b", UPROBE_INSN_X87 },			/* fwait */
	{ "d7", UPROBE_INSN_STEP },			/* xlat */
	/* system calls */
	{ "0f 05", UPROBE_INSN_SYSCALL },
	{ "cd 80", UPROBE_INSN_INT80 },
	/* shadow stacks */
	{ "f3 48 0f 1e c8", UPROBE_INSN_STEP },		/* rdsspq */
	{ "f3 48 0f ae e8", UPROBE_INSN_STEP },		/* incsspq */
	{ "f3 0f 01 28", UPROBE_INSN_STEP },		/* rstorssp */
	{ "f3 0f 01 ea", UPROBE_INSN_STEP },		/* saveprevssp */
	{ "48 0f 38 f6 07", UPROBE_INSN_STEP },		/* wrssq */
	/* padded calls: of __tls_get_addr() */
	{ "66 66 48 e8 00 00 00 00", UPROBE_INSN_CALL_REL },
	{ "66 48 ff 15 00 00 00 00", UPROBE_INSN_CALL_MEM },
};

/* What 64-bit code does not have, or has something else for */
static const struct executed executed_32bit[] = {
	{ "90", UPROBE_INSN_NOP },
	{ "8d b4 26 00 00 00 00", UPROBE_INSN_LEA },	/* as padding */
	{ "f3 0f 1e fb", UPROBE_INSN_NOP },		/* endbr32 */
	/* inc and dec, not REX */
	{ "40", UPROBE_INSN_STEP },
	{ "41", UPROBE_INSN_STEP },
	{ "48", UPROBE_INSN_STEP },
	{ "4f", UPROBE_INSN_STEP },
	{ "66 43", UPROBE_INSN_STEP },
	/* stack */
	{ "55", UPROBE_INSN_PUSH_REG },
	{ "5d", UPROBE_INSN_POP_REG },
	{ "66 55", UPROBE_INSN_STEP },
	{ "68 78 56 34 12", UPROBE_INSN_PUSH_IMM },
	{ "6a ff", UPROBE_INSN_PUSH_IMM },
	{ "c9", UPROBE_INSN_LEAVE },
	{ "9c", UPROBE_INSN_PUSHF },
	{ "9d", UPROBE_INSN_POPF },
	{ "60", UPROBE_INSN_STEP },			/* pusha */
	{ "61", UPROBE_INSN_STEP },			/* popa */
	{ "06", UPROBE_INSN_STEP },			/* push %es */
	{ "07", UPROBE_INSN_STEP },			/* pop %es */
	{ "0e", UPROBE_INSN_STEP },			/* push %cs */
	{ "16", UPROBE_INSN_STEP },			/* push %ss */
	{ "1f", UPROBE_INSN_STEP },			/* pop %ds */
	{ "89 e5", UPROBE_INSN_MOV },
	{ "83 ec 1c", UPROBE_INSN_SUB },
	{ "81 c4 2c 01 00 00", UPROBE_INSN_ADD },
	{ "8d 65 f4", UPROBE_INSN_LEA },
	{ "8d 05 78 56 34 12", UPROBE_INSN_STEP },
	/* absolute, not relative to eip */
	{ "a1 78 56 34 12", UPROBE_INSN_STEP },
	{ "8b 0d 78 56 34 12", UPROBE_INSN_STEP },
	{ "ff 35 78 56 34 12", UPROBE_INSN_STEP },
	{ "c7 05 78 56 34 12 01 00 00 00", UPROBE_INSN_STEP },
	{ "65 a1 14 00 00 00", UPROBE_INSN_STEP },	/* of the canary */
	{ "c5 f8 28 05 78 56 34 12", UPROBE_INSN_STEP },
	{ "ff 15 78 56 34 12", UPROBE_INSN_CALL_MEM },
	{ "ff 25 78 56 34 12", UPROBE_INSN_JMP_MEM },
	{ "65 ff 15 10 00 00 00", UPROBE_INSN_CALL_MEM },	/* vDSO */
	{ "67 8b 47 10", UPROBE_INSN_STEP },		/* 16-bit addressing */
	/* branches */
	{ "c3", UPROBE_INSN_RET },
	{ "c2 04 00", UPROBE_INSN_RET },
	{ "e8 00 00 00 00", UPROBE_INSN_CALL_REL },
	{ "e9 00 00 00 80", UPROBE_INSN_JMP_REL },	/* to below 0 */
	{ "0f 84 00 00 00 00", UPROBE_INSN_JCC },
	{ "e2 fe", UPROBE_INSN_LOOP },
	{ "e3 00", UPROBE_INSN_LOOP },			/* jecxz */
	{ "ff d0", UPROBE_INSN_CALL_REG },
	{ "3e ff e0", UPROBE_INSN_JMP_REG },
	/* what is VEX, EVEX or REX2 with other operands, or elsewhere */
	{ "c4 00", UPROBE_INSN_STEP },			/* les */
	{ "c5 06", UPROBE_INSN_STEP },			/* lds */
	{ "62 00", UPROBE_INSN_STEP },			/* bound */
	{ "d5 0a", UPROBE_INSN_STEP },			/* aad */
	{ "d4 0a", UPROBE_INSN_STEP },			/* aam */
	{ "c5 f5 eb c2", UPROBE_INSN_STEP },		/* vpor */
	{ "c4 e2 7d 58 c1", UPROBE_INSN_STEP },
	{ "62 f1 75 08 eb c2", UPROBE_INSN_STEP },	/* vpord */
	/* decimal */
	{ "27", UPROBE_INSN_STEP },			/* daa */
	{ "2f", UPROBE_INSN_STEP },			/* das */
	{ "37", UPROBE_INSN_STEP },			/* aaa */
	{ "3f", UPROBE_INSN_STEP },			/* aas */
	{ "82 c0 01", UPROBE_INSN_STEP },		/* add, 8-bit */
	/* others */
	{ "f0 ff 00", UPROBE_INSN_STEP },		/* lock incl */
	{ "f3 ab", UPROBE_INSN_REP },
	{ "d9 c0", UPROBE_INSN_X87 },
	{ "cd 80", UPROBE_INSN_INT80 },
};

static bool needs_copy(enum uprobe_insn_op op)
{
	switch (op) {
	case UPROBE_INSN_NOP:
	case UPROBE_INSN_MOV:
	case UPROBE_INSN_LEA:
	case UPROBE_INSN_ADD:
	case UPROBE_INSN_SUB:
	case UPROBE_INSN_JMP_REL:
	case UPROBE_INSN_JCC:
	case UPROBE_INSN_LOOP:
		return false;
	default:
		return true;
	}
}

static void check_executed(const struct executed *e, bool is_64bit)
{
	struct uprobe_insn ui;
	const char *why;
	u8 bytes[16];
	size_t n;

	n = parse_hex(e->hex, bytes);
	if (uprobe_insn_analyze(&ui, bytes, n, VADDR, is_64bit, &why)) {
		fail("%s: refused: %s", e->hex, why);
		return;
	}
	if (ui.op != e->op)
		fail("%s: op %u, not %u", e->hex, ui.op, e->op);
	if (ui.len != n)
		fail("%s: length %u", e->hex, ui.len);
	if (needs_copy(ui.op) != !!ui.copy_len)
		fail("%s: copy of %u bytes", e->hex, ui.copy_len);
	if (ui.op == UPROBE_INSN_STEP && ui.copy_len != n)
		fail("%s: copy of %u bytes", e->hex, ui.copy_len);
	if (ui.op == UPROBE_INSN_STEP && !is_64bit && memcmp(ui.copy, bytes, n))
		fail("%s: copy %s", e->hex, show_hex(ui.copy, n));
}

void test_executed(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(executed); i++)
		check_executed(&executed[i], true);
	for (i = 0; i < ARRAY_SIZE(executed_32bit); i++)
		check_executed(&executed_32bit[i], false);
	note("%zu encodings of 64-bit code, %zu of 32-bit code",
	     ARRAY_SIZE(executed), ARRAY_SIZE(executed_32bit));
}

static const struct refused {
	const char *hex, *why;
} refused[] = {
	{ "cc", "traps" },				/* int3 */
	{ "f1", "traps" },				/* int1 */
	{ "ce", "64-bit" },				/* into */
	{ "0f 34", "system call" },			/* sysenter */
	{ "0f 07", "privileged" },			/* sysret */
	{ "0f 35", "privileged" },			/* sysexit */
	{ "cf", "far" },				/* iret */
	{ "48 cf", "far" },
	{ "cb", "far" },				/* lret */
	{ "ca 08 00", "far" },
	{ "ff 18", "far" },				/* lcall */
	{ "ff 2d 00 00 00 00", "far" },			/* ljmp */
	{ "9a 00 00 00 00 00 00", "64-bit" },
	{ "ff f8", "unknown" },				/* ff /7 */
	{ "fe d0", "unknown" },				/* fe /2 */
	{ "c6 c8 00", "unknown" },			/* c6 /1 */
	{ "c0 f0 00", "unknown" },			/* c0 /6 */
	{ "f4", "privileged" },				/* hlt */
	{ "fa", "privileged" },				/* cli */
	{ "fb", "privileged" },				/* sti */
	{ "0f 01 f8", "for kernels" },			/* swapgs */
	{ "0f 01 10", "for kernels" },			/* lgdt */
	{ "0f 01 38", "for kernels" },			/* invlpg */
	{ "0f 01 c1", "for kernels" },			/* vmcall */
	{ "0f 20 c0", "privileged" },			/* mov %cr0, %rax */
	{ "0f 30", "privileged" },			/* wrmsr */
	{ "0f 09", "privileged" },			/* wbinvd */
	{ "0f 06", "privileged" },			/* clts */
	{ "0f c7 30", "privileged" },			/* vmptrld */
	{ "0f c7 28", "privileged" },			/* xsaves */
	{ "66 0f 38 82 00", "privileged" },		/* invpcid */
	{ "e4 10", "I/O" },
	{ "ee", "I/O" },
	{ "6c", "I/O" },				/* insb */
	{ "f3 6f", "I/O" },				/* rep outsl */
	{ "8e d0", "masks the trap" },			/* mov %eax, %ss */
	{ "0f b2 00", "masks the trap" },		/* lss */
	{ "8e c8", "unknown" },				/* mov %eax, %cs */
	{ "17", "64-bit" },				/* pop %ss */
	{ "c7 f8 00 00 00 00", "transaction" },		/* xbegin */
	{ "c6 f8 00", "transaction" },			/* xabort */
	{ "0f 01 d5", "transaction" },			/* xend */
	{ "66 48 0f 38 f5 07", "privileged" },		/* wrussq */
	{ "f3 0f ae 30", "privileged" },			/* clrssbsy */
	{ "0f 01 00", "emulated" },			/* sgdt */
	{ "0f 01 08", "emulated" },			/* sidt */
	{ "0f 01 e0", "emulated" },			/* smsw */
	{ "0f 00 c0", "emulated" },			/* sldt */
	{ "0f 00 c8", "emulated" },			/* str */
	{ "0f 01 c8", "monitor" },			/* monitor */
	{ "0f 01 fa", "monitor" },			/* monitorx */
	{ "f3 0f ae f0", "monitor" },			/* umonitor */
	{ "66 0f ae f0", "monitor" },			/* tpause */
	{ "f2 0f ae f0", "monitor" },			/* umwait */
	{ "f3 0f 01 ec", "unknown" },			/* uiret */
	{ "f3 0f c7 f0", "unknown" },			/* senduipi */
	{ "f3 0f 01 ee", "unknown" },			/* clui */
	{ "f2 0f 38 f8 00", "devices" },		/* enqcmd */
	{ "f3 0f 3a f0 c0 00", "privileged" },		/* hreset */
	{ "0f 0f c1 9e", "3DNow" },			/* pfadd */
	{ "0f 0e", "3DNow" },				/* femms */
	{ "8f e9 78 81 c1", "XOP" },			/* vfrczps */
	{ "8f c8", "XOP" },				/* 8f /1 */
	{ "d5 00 50", "APX" },				/* REX2 push */
	{ "62 f4 7c 08 01 c8", "APX" },			/* EVEX map 4 */
	{ "62 f9 fe 48 6f 00", "APX" },			/* EVEX.B4 */
	{ "62 f1 fa 48 6f 00", "APX" },			/* EVEX.X4 */
	{ "c4 e7 7b f8 c0 00 00 00 00", "unknown" },	/* VEX map 7 */
	{ "66 c5 f8 77", "prefix" },
	{ "48 c5 f8 77", "prefix" },
	{ "f3 c5 f8 77", "prefix" },
	{ "f0 c5 f8 77", "lock" },
	{ "f0 90", "lock" },
	{ "f0 01 c0", "lock" },
	{ "f0 48 89 07", "lock" },
	{ "f0 83 38 00", "lock" },			/* lock cmpl */
	{ "f0 0f ba 20 00", "lock" },			/* lock bt */
	{ "f0 e8 00 00 00 00", "lock" },
	{ "66 e9 00 00 00 00", "operand size" },
	{ "66 e8 00 00 00 00", "operand size" },
	{ "cd 81", "traps" },
	{ "66 c3", "operand size" },
	{ "66 ff d0", "operand size" },
	{ "66 ff 25 00 00 00 00", "operand size" },
	{ "66 74 00", "operand size" },
	{ "66 0f 84 00 00 00 00", "operand size" },
	{ "66 e2 00", "operand size" },
	{ "f3 e0 00", "CPUs differ" },
	{ "f2 e1 00", "CPUs differ" },
	{ "66 9c", "16-bit" },
	{ "66 9d", "16-bit" },
	{ "f2 f3 90", "both" },
	{ "48 66 90", "unknown" },			/* REX not last */
	{ "0f ff c0", "unknown" },			/* ud0 */
	{ "0f b9 c0", "unknown" },			/* ud1 */
	{ "0f 04", "unknown" },
	{ "0f 24", "unknown" },
	{ "f2 0f 41 c1", "unknown" },			/* decoder: kand */
	{ "0f a6 c0", "unknown" },			/* montmul */
	{ "d6", "unknown" },
	{ "82 c0 00", "64-bit" },
	{ "c5 f8 0b c0", "unknown" },
	{ "0f 38 0c c0", "unknown" },
	{ "66 0f 38 e0 c0", "unknown" },
	{ "0f 71 c0 00", "unknown" },			/* 0f 71 /0 */
	{ "66 0f 3a 0e", "runs past" },
};

static const struct refused refused_32bit[] = {
	{ "17", "masks the trap" },			/* pop %ss */
	{ "8e d0", "masks the trap" },
	{ "0f b2 00", "masks the trap" },		/* lss */
	{ "cc", "traps" },
	{ "ce", "traps" },				/* into */
	{ "cd 81", "traps" },
	{ "0f 05", "system call" },			/* syscall */
	{ "0f 34", "system call" },			/* sysenter */
	{ "9a 00 00 00 00 00 00", "far" },		/* lcall */
	{ "ea 00 00 00 00 00 00", "far" },		/* ljmp */
	{ "ff 28", "far" },
	{ "cf", "far" },				/* iret */
	{ "c4 c0", "runs past" },			/* VEX, not les */
	{ "d6", "unknown" },				/* salc */
	{ "e6 10", "I/O" },
	{ "f4", "privileged" },
	{ "fa", "privileged" },
	{ "0f 01 00", "emulated" },			/* sgdt */
	{ "c7 f8 00 00 00 00", "transaction" },
	{ "8f e8 78 c2 e4 0e", "XOP" },			/* vprotd */
	{ "0f 0f c1 9e", "3DNow" },
	{ "f0 90", "lock" },
	{ "f0 40", "lock" },
	{ "66 e9 00 00", "operand size" },
	{ "66 e8 00 00", "operand size" },
	{ "66 c3", "operand size" },
	{ "66 74 00", "operand size" },
	{ "67 e2 00", "16-bit" },
	{ "66 9c", "16-bit" },
	{ "66 9d", "16-bit" },
};

static void check_refused(const struct refused *r, bool is_64bit)
{
	struct uprobe_insn ui;
	const char *why = "no reason";
	u8 bytes[32];
	size_t n;
	int ret;

	n = parse_hex(r->hex, bytes);
	ret = uprobe_insn_analyze(&ui, bytes, n, VADDR, is_64bit, &why);
	if (!ret) {
		fail("%s: not refused", r->hex);
		return;
	}
	if (ret != (strcmp(r->why, "runs past") ? -EOPNOTSUPP : -EINVAL))
		fail("%s: error %d", r->hex, ret);
	if (!strstr(why, r->why))
		fail("%s: \"%s\", not \"%s\"", r->hex, why, r->why);
}

void test_refused(void)
{
	struct uprobe_insn ui;
	const char *why;
	u8 bytes[16];
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(refused); i++)
		check_refused(&refused[i], true);
	for (i = 0; i < ARRAY_SIZE(refused_32bit); i++)
		check_refused(&refused_32bit[i], false);

	/* Branches that leave the canonical half they are in */
	n = parse_hex("e9 00 00 00 7f", bytes);
	if (uprobe_insn_analyze(&ui, bytes, n, 0x7fffffff0000, true, &why) !=
	    -EOPNOTSUPP)
		fail("jmp to a non-canonical address: not refused");
	n = parse_hex("e9 00 00 00 80", bytes);
	if (uprobe_insn_analyze(&ui, bytes, n, VADDR, true, &why))
		fail("jmp to the upper half: refused: %s", why);
	note("%zu encodings of 64-bit code, %zu of 32-bit code",
	     ARRAY_SIZE(refused) + 2, ARRAY_SIZE(refused_32bit));
}

/* At every length that is too short */
static void check_truncated(const struct executed *e, bool is_64bit)
{
	struct uprobe_insn ui;
	const char *why;
	u8 bytes[16], *exact;
	size_t n, cut;

	n = parse_hex(e->hex, bytes);
	for (cut = 0; cut < n; cut++) {
		/* Its own allocation: the sanitizer watches its end */
		exact = malloc(cut ?: 1);
		memcpy(exact, bytes, cut);
		why = "";
		if (uprobe_insn_analyze(&ui, exact, cut, VADDR, is_64bit,
					&why) != -EINVAL ||
		    !strstr(why, "runs past"))
			fail("%s: %zu of %zu bytes: \"%s\"", e->hex, cut, n,
			     why);
		free(exact);
	}
}

void test_truncated(void)
{
	struct uprobe_insn ui;
	const char *why;
	u8 bytes[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(executed); i++)
		check_truncated(&executed[i], true);
	for (i = 0; i < ARRAY_SIZE(executed_32bit); i++)
		check_truncated(&executed_32bit[i], false);

	/* 15 bytes are an instruction, 16 are none, whatever can be read */
	memset(bytes, 0x2e, sizeof(bytes));
	bytes[14] = 0x90;
	if (uprobe_insn_analyze(&ui, bytes, 15, VADDR, true, &why) || ui.len != 15)
		fail("15 bytes: refused");
	bytes[14] = 0x2e;
	bytes[15] = 0x90;
	if (uprobe_insn_analyze(&ui, bytes, 32, VADDR, true, &why) != -EOPNOTSUPP)
		fail("16 bytes: not refused");
}

static const struct {
	const char *hex, *copy;
	u8 scratch;
} rewritten[] = {
	/* mov 0x12345678(%rip), %rax and what changes its scratch register */
	{ "48 8b 05 78 56 34 12", "48 8b 86 78 56 34 12", 6 },
	{ "48 8b 35 78 56 34 12", "48 8b b7 78 56 34 12", 7 },
	{ "48 8b 3d 78 56 34 12", "48 8b be 78 56 34 12", 6 },
	{ "4c 8b 35 78 56 34 12", "4c 8b b7 78 56 34 12", 7 },
	{ "8a 35 78 56 34 12", "8a b7 78 56 34 12", 7 },
	/* REX.B, which rip ignores */
	{ "49 8b 05 78 56 34 12", "48 8b 86 78 56 34 12", 6 },
	{ "67 48 8b 05 78 56 34 12", "67 48 8b 86 78 56 34 12", 6 },
	{ "66 c7 05 78 56 34 12 cd ab", "66 c7 86 78 56 34 12 cd ab", 6 },
	{ "f0 48 0f c7 0d 78 56 34 12", "f0 48 0f c7 8e 78 56 34 12", 6 },
	{ "f3 48 0f b8 35 78 56 34 12", "f3 48 0f b8 b7 78 56 34 12", 7 },
	{ "ff 15 78 56 34 12", "ff 96 78 56 34 12", 6 },
	{ "ff 25 78 56 34 12", "ff a6 78 56 34 12", 6 },
	/* VEX2, VEX3 with and without B, vvvv */
	{ "c5 fa 6f 35 78 56 34 12", "c5 fa 6f b7 78 56 34 12", 7 },
	{ "c4 e2 7d 18 05 78 56 34 12", "c4 e2 7d 18 86 78 56 34 12", 6 },
	{ "c4 c1 7a 6f 05 78 56 34 12", "c4 e1 7a 6f 86 78 56 34 12", 6 },
	{ "c4 e2 cb f6 3d 78 56 34 12", "c4 e2 cb f6 bb 78 56 34 12", 3 },
	{ "c4 e2 c3 f6 35 78 56 34 12", "c4 e2 c3 f6 b3 78 56 34 12", 3 },
	{ "c4 e2 c8 f2 05 78 56 34 12", "c4 e2 c8 f2 87 78 56 34 12", 7 },
	/* EVEX */
	{ "62 f1 fe 48 6f 05 78 56 34 12", "62 f1 fe 48 6f 86 78 56 34 12", 6 },
	{ "62 d1 fe 48 6f 3d 78 56 34 12", "62 f1 fe 48 6f be 78 56 34 12", 6 },
	{ "62 f1 4d 48 fe 3d 78 56 34 12", "62 f1 4d 48 fe bb 78 56 34 12", 3 },
};

void test_rewritten(void)
{
	struct uprobe_insn ui;
	const char *why;
	u8 bytes[16], copy[16];
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(rewritten); i++) {
		n = parse_hex(rewritten[i].hex, bytes);
		parse_hex(rewritten[i].copy, copy);
		if (uprobe_insn_analyze(&ui, bytes, n, VADDR, true, &why)) {
			fail("%s: refused: %s", rewritten[i].hex, why);
			continue;
		}
		if (ui.copy_len != n || memcmp(ui.copy, copy, n))
			fail("%s: copy %s", rewritten[i].hex,
			     show_hex(ui.copy, ui.copy_len));
		if (ui.scratch != rewritten[i].scratch)
			fail("%s: register %u", rewritten[i].hex, ui.scratch);
	}
}
