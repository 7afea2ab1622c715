// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space probes: how to execute one x86 instruction away from its place.
 *
 * The analysis sorts instructions into three:
 *
 *  - emulated on pt_regs: what functions begin and end with, and everything
 *    whose result depends on where it stands (branches, calls);
 *  - run from a copy: what does not depend on its place, after an operand
 *    relative to rip has been rewritten to use a borrowed register;
 *  - refused, each for the reason that its class gives.
 *
 * The tables list what is known. An encoding that is not in them is refused:
 * it may be harmless, but nobody has checked. VEX and EVEX, whose maps hold
 * nothing but data operations, are the exception: there the tables of the
 * kernel's decoder say what exists.
 *
 * An emulation that touches the user's stack first does so, then changes
 * registers. When the access faults nothing has happened yet, and the copy is
 * run in its stead, so that the CPU raises the very fault the program would
 * have seen. The same holds for jumps, calls and returns to addresses that are
 * none. Copies of calls and of pushf push a word that is not the right one;
 * uprobe_insn_post_step() puts that in its place.
 *
 * Two kinds of instructions run from their copies without a trap behind each
 * step: system calls, at whose entry the kernel takes the thread home, and
 * string instructions with a repeat prefix, which may run for long. The caller
 * sees to both.
 */
#include <linux/array_size.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/page.h>
#include <asm/processor-flags.h>

#include "uprobes_insn.h"

#define PFX_OPSIZE	0x66
#define PFX_ADDRSIZE	0x67
#define PFX_LOCK	0xf0
#define PFX_REPNE	0xf2
#define PFX_REPE	0xf3

#define REG_BX		3
#define REG_SP		4
#define REG_BP		5
#define REG_SI		6
#define REG_DI		7

#define INSN_CALL_REL32	0xe8
#define INSN_PUSH_AX	0x50
#define INSN_POP_SI	0x5e

/* What popf changes in user mode */
#define POPF_MASK	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | \
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_TF | \
			 X86_EFLAGS_DF | X86_EFLAGS_OF | X86_EFLAGS_NT | \
			 X86_EFLAGS_AC | X86_EFLAGS_ID)

#define ARITH_MASK	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | \
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)

static_assert(sizeof(struct uprobe_insn) <= 48, "one per probepoint");

/* Registers by number */

static const u16 reg_offset[] = {
	offsetof(struct pt_regs, ax),
	offsetof(struct pt_regs, cx),
	offsetof(struct pt_regs, dx),
	offsetof(struct pt_regs, bx),
	offsetof(struct pt_regs, sp),
	offsetof(struct pt_regs, bp),
	offsetof(struct pt_regs, si),
	offsetof(struct pt_regs, di),
#ifdef CONFIG_X86_64
	offsetof(struct pt_regs, r8),
	offsetof(struct pt_regs, r9),
	offsetof(struct pt_regs, r10),
	offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12),
	offsetof(struct pt_regs, r13),
	offsetof(struct pt_regs, r14),
	offsetof(struct pt_regs, r15),
#endif
};

static unsigned long *reg_of(struct pt_regs *regs, u8 nr)
{
	return (void *)regs + reg_offset[nr];
}

/* Analysis: properties of the decoded instruction */

static bool has_prefix(const struct insn *insn, u8 prefix)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(insn->prefixes.bytes); i++)
		if (insn->prefixes.bytes[i] == prefix)
			return true;
	return false;
}

static u8 rex(const struct insn *insn)
{
	return insn->rex_prefix.nbytes ? insn->rex_prefix.bytes[0] : 0;
}

static u8 modrm_mod(const struct insn *insn)
{
	return X86_MODRM_MOD(insn->modrm.bytes[0]);
}

/* The three bits only: an operand of a group, not a register */
static u8 modrm_reg(const struct insn *insn)
{
	return X86_MODRM_REG(insn->modrm.bytes[0]);
}

static u8 reg_operand(const struct insn *insn)
{
	return modrm_reg(insn) | (X86_REX_R(rex(insn)) ? 8 : 0);
}

static u8 rm_operand(const struct insn *insn)
{
	return X86_MODRM_RM(insn->modrm.bytes[0]) |
	       (X86_REX_B(rex(insn)) ? 8 : 0);
}

static u8 opcode_operand(const struct insn *insn)
{
	return (insn->opcode.bytes[0] & 7) | (X86_REX_B(rex(insn)) ? 8 : 0);
}

static u8 modrm_offset(const struct insn *insn)
{
	return insn->prefixes.nbytes + insn->rex_prefix.nbytes +
	       insn->vex_prefix.nbytes + insn->opcode.nbytes;
}

static bool is_rip_relative(const struct insn *insn)
{
	return insn->x86_64 && insn->modrm.nbytes &&
	       (insn->modrm.bytes[0] & 0xc7) == 0x05;
}

static bool has_memory_operand(const struct insn *insn)
{
	return insn->modrm.nbytes && modrm_mod(insn) != 3;
}

static bool one_of(u8 value, u8 bits)
{
	return bits & (1 << value);
}

/* Anything else with a lock prefix raises #UD */
static bool lockable(const struct insn *insn)
{
	u8 reg = modrm_reg(insn);

	if (!has_memory_operand(insn))
		return false;

	switch (insn->opcode.bytes[0]) {
	case 0x00: case 0x01: /* add */
	case 0x08: case 0x09: /* or */
	case 0x10: case 0x11: /* adc */
	case 0x18: case 0x19: /* sbb */
	case 0x20: case 0x21: /* and */
	case 0x28: case 0x29: /* sub */
	case 0x30: case 0x31: /* xor */
	case 0x86: case 0x87: /* xchg */
		return true;
	case 0x80: case 0x81: case 0x83: /* add ... xor; not cmp */
		return reg != 7;
	case 0xf6: case 0xf7: /* not, neg */
		return one_of(reg, BIT(2) | BIT(3));
	case 0xfe: case 0xff: /* inc, dec */
		return one_of(reg, BIT(0) | BIT(1));
	case 0x0f:
		break;
	default:
		return false;
	}

	switch (insn->opcode.bytes[1]) {
	case 0xab: /* bts */
	case 0xb0: case 0xb1: /* cmpxchg */
	case 0xb3: /* btr */
	case 0xbb: /* btc */
	case 0xc0: case 0xc1: /* xadd */
		return true;
	case 0xba: /* bts, btr, btc; not bt */
		return one_of(reg, BIT(5) | BIT(6) | BIT(7));
	case 0xc7: /* cmpxchg8b, cmpxchg16b */
		return reg == 1;
	}
	return false;
}

/*
 * Classification. Tables say for each opcode to which class it belongs. The
 * class says how it is executed, or why it is refused, or which function looks
 * closer to narrow it down to one that does.
 */
enum insn_class {
	UNKNOWN,

	/* Executed */
	STEP,
	BARE,		/* stepped; without ModRM, in the map 0f */
	X87,
	NOP,
	DONE,		/* as the closer look has said */

	/* To be looked at */
	STRING,
	PUSH_REG,
	POP_REG,
	PUSH_IMM,
	LEAVE,
	PUSHF,
	POPF,
	MOV_TO_RM,
	MOV_TO_REG,
	LEA,
	ARITH_IMM,
	XCHG_AX,
	RET,
	CALL,
	JMP,
	JCC,
	LOOP,
	CALL_INDIRECT,
	JMP_INDIRECT,
	INT,
	SYSCALL,
	MEMORY,
	PREFETCH,
	HINT_1E,
	GROUP_7,
	GROUP_9,
	GROUP_15,
	MOVDIR64B,

	/* Refused */
	NOT_64BIT,
	PRIVILEGED,
	IO,
	FAR,
	TRAP,
	SYSENTER,
	SHADOW,
	UMIP,
	SYSTEM,
	TSX,
	MONITOR,
	AMD3D,
	XOP,
	OPSIZE_BRANCH,
	REP_LOOP,
	SMALL_LOOP,
	SMALL_FLAGS,

	/* ModRM.reg says more: groups[], by class - FIRST_GROUP */
	FIRST_GROUP,
	SHIFTS = FIRST_GROUP,
	POP_RM,
	MOV_FROM_SEG,
	MOV_TO_SEG,
	MOV_IMM,
	GROUP_4,
	GROUP_5,
	GROUP_6,
	GROUP_8,
	SHIFT_WORDS,
	SHIFT_QUADS,
};

static const struct {
	u8 mem[8];	/* class, for an operand in memory */
	u8 reg[8];	/* the same for a register */
} groups[] = {
	/* c0, c1, d0-d3: rol, ror, rcl, rcr, shl, shr, -, sar */
	[SHIFTS - FIRST_GROUP] = {
		{ STEP, STEP, STEP, STEP, STEP, STEP, UNKNOWN, STEP },
		{ STEP, STEP, STEP, STEP, STEP, STEP, UNKNOWN, STEP },
	},
	/* 8f: pop; all else is XOP, which the decoder does not know */
	[POP_RM - FIRST_GROUP] = {
		{ STEP, XOP, XOP, XOP, XOP, XOP, XOP, XOP },
		{ STEP, XOP, XOP, XOP, XOP, XOP, XOP, XOP },
	},
	/* 8c: es, cs, ss, ds, fs, gs */
	[MOV_FROM_SEG - FIRST_GROUP] = {
		{ STEP, STEP, STEP, STEP, STEP, STEP },
		{ STEP, STEP, STEP, STEP, STEP, STEP },
	},
	/* 8e */
	[MOV_TO_SEG - FIRST_GROUP] = {
		{ STEP, UNKNOWN, SHADOW, STEP, STEP, STEP },
		{ STEP, UNKNOWN, SHADOW, STEP, STEP, STEP },
	},
	/* c6, c7: mov; xabort, xbegin. With a memory operand /7 is undefined */
	[MOV_IMM - FIRST_GROUP] = {
		{ STEP },
		{ STEP, [7] = TSX },
	},
	/* fe: inc, dec */
	[GROUP_4 - FIRST_GROUP] = {
		{ STEP, STEP },
		{ STEP, STEP },
	},
	/* ff: inc, dec, call, lcall, jmp, ljmp, push */
	[GROUP_5 - FIRST_GROUP] = {
		{ STEP, STEP, CALL_INDIRECT, FAR, JMP_INDIRECT, FAR, STEP },
		{ STEP, STEP, CALL_INDIRECT, FAR, JMP_INDIRECT, FAR, STEP },
	},
	/* 0f 00: sldt, str, lldt, ltr, verr, verw, lkgs */
	[GROUP_6 - FIRST_GROUP] = {
		{ UMIP, UMIP, PRIVILEGED, PRIVILEGED, STEP, STEP, PRIVILEGED },
		{ UMIP, UMIP, PRIVILEGED, PRIVILEGED, STEP, STEP, PRIVILEGED },
	},
	/* 0f ba: bt, bts, btr, btc */
	[GROUP_8 - FIRST_GROUP] = {
		{ [4 ... 7] = STEP },
		{ [4 ... 7] = STEP },
	},
	/* 0f 71, 0f 72: psrl, psra, psll */
	[SHIFT_WORDS - FIRST_GROUP] = {
		{ },
		{ [2] = STEP, [4] = STEP, [6] = STEP },
	},
	/* 0f 73: psrlq, psrldq, psllq, pslldq */
	[SHIFT_QUADS - FIRST_GROUP] = {
		{ },
		{ [2] = STEP, [3] = STEP, [6] = STEP, [7] = STEP },
	},
};

/* Prefixes are UNKNOWN here: the decoder leaves none of them as an opcode. */
static const u8 uprobe_map_1byte[256] = {
	[0x00 ... 0x05] = STEP,		/* add */
	[0x06 ... 0x07] = NOT_64BIT,	/* push, pop es */
	[0x08 ... 0x0d] = STEP,		/* or */
	[0x0e] = NOT_64BIT,		/* push cs */
	[0x10 ... 0x15] = STEP,		/* adc */
	[0x16 ... 0x17] = NOT_64BIT,	/* push, pop ss */
	[0x18 ... 0x1d] = STEP,		/* sbb */
	[0x1e ... 0x1f] = NOT_64BIT,	/* push, pop ds */
	[0x20 ... 0x25] = STEP,		/* and */
	[0x27] = NOT_64BIT,		/* daa */
	[0x28 ... 0x2d] = STEP,		/* sub */
	[0x2f] = NOT_64BIT,		/* das */
	[0x30 ... 0x35] = STEP,		/* xor */
	[0x37] = NOT_64BIT,		/* aaa */
	[0x38 ... 0x3d] = STEP,		/* cmp */
	[0x3f] = NOT_64BIT,		/* aas */
	[0x50 ... 0x57] = PUSH_REG,
	[0x58 ... 0x5f] = POP_REG,
	[0x60 ... 0x61] = NOT_64BIT,	/* pusha, popa */
	[0x63] = STEP,			/* movsxd */
	[0x68] = PUSH_IMM,
	[0x69] = STEP,			/* imul */
	[0x6a] = PUSH_IMM,
	[0x6b] = STEP,			/* imul */
	[0x6c ... 0x6f] = IO,		/* ins, outs */
	[0x70 ... 0x7f] = JCC,
	[0x80] = STEP,			/* add ... cmp */
	[0x81] = ARITH_IMM,
	[0x82] = NOT_64BIT,
	[0x83] = ARITH_IMM,
	[0x84 ... 0x88] = STEP,		/* test, xchg, mov */
	[0x89] = MOV_TO_RM,
	[0x8a] = STEP,			/* mov */
	[0x8b] = MOV_TO_REG,
	[0x8c] = MOV_FROM_SEG,
	[0x8d] = LEA,
	[0x8e] = MOV_TO_SEG,
	[0x8f] = POP_RM,
	[0x90] = XCHG_AX,		/* nop, pause; xchg with REX.B */
	[0x91 ... 0x97] = STEP,		/* xchg */
	[0x98 ... 0x99] = STEP,		/* cbw, cwd and so on */
	[0x9a] = NOT_64BIT,		/* lcall */
	[0x9b] = X87,			/* fwait */
	[0x9c] = PUSHF,
	[0x9d] = POPF,
	[0x9e ... 0x9f] = STEP,		/* sahf, lahf */
	[0xa0 ... 0xa3] = STEP,		/* mov moffs */
	[0xa4 ... 0xa7] = STRING,	/* movs, cmps */
	[0xa8 ... 0xa9] = STEP,		/* test */
	[0xaa ... 0xaf] = STRING,	/* stos, lods, scas */
	[0xb0 ... 0xbf] = STEP,		/* mov imm */
	[0xc0 ... 0xc1] = SHIFTS,
	[0xc2 ... 0xc3] = RET,
	[0xc6 ... 0xc7] = MOV_IMM,
	[0xc8] = STEP,			/* enter */
	[0xc9] = LEAVE,
	[0xca ... 0xcb] = FAR,		/* lret */
	[0xcc] = TRAP,			/* int3 */
	[0xcd] = INT,
	[0xce] = NOT_64BIT,		/* into */
	[0xcf] = FAR,			/* iret */
	[0xd0 ... 0xd3] = SHIFTS,
	[0xd4 ... 0xd5] = NOT_64BIT,	/* aam, aad */
	[0xd7] = STEP,			/* xlat */
	[0xd8 ... 0xdf] = X87,
	[0xe0 ... 0xe3] = LOOP,		/* loopne, loope, loop, jcxz */
	[0xe4 ... 0xe7] = IO,		/* in, out */
	[0xe8] = CALL,
	[0xe9] = JMP,
	[0xea] = NOT_64BIT,		/* ljmp */
	[0xeb] = JMP,
	[0xec ... 0xef] = IO,		/* in, out */
	[0xf1] = TRAP,			/* int1 */
	[0xf4] = PRIVILEGED,		/* hlt */
	[0xf5] = STEP,			/* cmc */
	[0xf6 ... 0xf7] = STEP,		/* test, not, neg, mul, imul, div, idiv */
	[0xf8 ... 0xf9] = STEP,		/* clc, stc */
	[0xfa ... 0xfb] = PRIVILEGED,	/* cli, sti: emulated after iopl() */
	[0xfc ... 0xfd] = STEP,		/* cld, std */
	[0xfe] = GROUP_4,
	[0xff] = GROUP_5,
};

/* What 32-bit code has in the place of NOT_64BIT, of REX and of VEX */
static const u8 uprobe_map_1byte_32bit[256] = {
	[0x06 ... 0x07] = STEP,		/* push, pop es */
	[0x0e] = STEP,			/* push cs */
	[0x16] = STEP,			/* push ss */
	[0x17] = SHADOW,		/* pop ss */
	[0x1e ... 0x1f] = STEP,		/* push, pop ds */
	[0x27] = STEP,			/* daa */
	[0x2f] = STEP,			/* das */
	[0x37] = STEP,			/* aaa */
	[0x3f] = STEP,			/* aas */
	[0x40 ... 0x4f] = STEP,		/* inc, dec */
	[0x60 ... 0x61] = STEP,		/* pusha, popa */
	[0x62] = MEMORY,		/* bound */
	[0x82] = STEP,			/* add ... cmp */
	[0x9a] = FAR,			/* lcall */
	[0xc4 ... 0xc5] = MEMORY,	/* les, lds */
	[0xce] = TRAP,			/* into */
	[0xd4 ... 0xd5] = STEP,		/* aam, aad */
	[0xea] = FAR,			/* ljmp */
};

static const u8 uprobe_map_0f[256] = {
	[0x00] = GROUP_6,
	[0x01] = GROUP_7,
	[0x02 ... 0x03] = STEP,		/* lar, lsl */
	[0x05] = SYSCALL,
	[0x06] = PRIVILEGED,		/* clts */
	[0x07] = PRIVILEGED,		/* sysret */
	[0x08 ... 0x09] = PRIVILEGED,	/* invd, wbinvd */
	[0x0b] = BARE,			/* ud2 */
	[0x0d] = MEMORY,		/* prefetch */
	[0x0e ... 0x0f] = AMD3D,	/* femms, 3DNow! */
	[0x10 ... 0x17] = STEP,		/* SSE */
	[0x18] = PREFETCH,
	[0x1a ... 0x1c] = STEP,		/* hints; MPX, which is never enabled */
	[0x1e] = HINT_1E,
	[0x1f] = NOP,
	[0x20 ... 0x23] = PRIVILEGED,	/* mov of control, debug registers */
	[0x28 ... 0x2f] = STEP,		/* SSE */
	[0x30] = PRIVILEGED,		/* wrmsr */
	[0x31] = BARE,			/* rdtsc */
	[0x32] = PRIVILEGED,		/* rdmsr */
	[0x33] = BARE,			/* rdpmc */
	[0x34] = SYSENTER,
	[0x35] = PRIVILEGED,		/* sysexit */
	[0x37] = PRIVILEGED,		/* getsec */
	[0x40 ... 0x4f] = STEP,		/* cmovcc */
	[0x50 ... 0x70] = STEP,		/* SSE, MMX */
	[0x71 ... 0x72] = SHIFT_WORDS,
	[0x73] = SHIFT_QUADS,
	[0x74 ... 0x76] = STEP,		/* SSE, MMX */
	[0x77] = BARE,			/* emms */
	[0x78 ... 0x79] = PRIVILEGED,	/* vmread, vmwrite */
	[0x7c ... 0x7f] = STEP,		/* SSE, MMX */
	[0x80 ... 0x8f] = JCC,
	[0x90 ... 0x9f] = STEP,		/* setcc */
	[0xa0 ... 0xa2] = BARE,		/* push, pop fs; cpuid */
	[0xa3 ... 0xa5] = STEP,		/* bt, shld */
	[0xa8 ... 0xa9] = BARE,		/* push, pop gs */
	[0xaa] = PRIVILEGED,		/* rsm */
	[0xab ... 0xad] = STEP,		/* bts, shrd */
	[0xae] = GROUP_15,
	[0xaf] = STEP,			/* imul */
	[0xb0 ... 0xb1] = STEP,		/* cmpxchg */
	[0xb2] = SHADOW,		/* lss */
	[0xb3] = STEP,			/* btr */
	[0xb4 ... 0xb5] = MEMORY,	/* lfs, lgs */
	[0xb6 ... 0xb8] = STEP,		/* movzx, popcnt */
	/* b9, ff: ud1, ud0. CPUs differ in their length */
	[0xba] = GROUP_8,
	[0xbb ... 0xbf] = STEP,		/* btc, bsf, bsr, tzcnt, lzcnt, movsx */
	[0xc0 ... 0xc1] = STEP,		/* xadd */
	[0xc2 ... 0xc6] = STEP,		/* SSE, MMX, movnti */
	[0xc7] = GROUP_9,
	[0xc8 ... 0xcf] = BARE,		/* bswap */
	[0xd0 ... 0xfe] = STEP,		/* SSE, MMX */
};

static const u8 uprobe_map_0f38[256] = {
	[0x00 ... 0x0b] = STEP,		/* SSSE3 */
	[0x10] = STEP,			/* SSE4 */
	[0x14 ... 0x15] = STEP,
	[0x17] = STEP,
	[0x1c ... 0x1e] = STEP,		/* SSSE3 */
	[0x20 ... 0x25] = STEP,		/* SSE4 */
	[0x28 ... 0x2b] = STEP,
	[0x30 ... 0x35] = STEP,
	[0x37 ... 0x41] = STEP,
	[0x80 ... 0x82] = PRIVILEGED,	/* invept, invvpid, invpcid */
	[0xc8 ... 0xcd] = STEP,		/* SHA */
	[0xcf] = STEP,			/* gf2p8mulb */
	[0xd8] = STEP,			/* Key Locker */
	[0xdb ... 0xdf] = STEP,		/* AES, Key Locker */
	[0xf0 ... 0xf1] = STEP,		/* movbe, crc32 */
	[0xf5] = PRIVILEGED,		/* wruss */
	[0xf6] = STEP,			/* adcx, adox; wrss */
	[0xf8] = MOVDIR64B,
	[0xf9] = STEP,			/* movdiri */
	[0xfa ... 0xfb] = STEP,		/* Key Locker */
	[0xfc] = STEP,			/* aadd, aand, aor, axor */
};

static const u8 uprobe_map_0f3a[256] = {
	[0x08 ... 0x0f] = STEP,		/* SSE4, palignr */
	[0x14 ... 0x17] = STEP,
	[0x20 ... 0x22] = STEP,
	[0x40 ... 0x42] = STEP,
	[0x44] = STEP,			/* pclmulqdq */
	[0x60 ... 0x63] = STEP,
	[0xcc] = STEP,			/* sha1rnds4 */
	[0xce ... 0xcf] = STEP,		/* gf2p8affineqb, gf2p8affineinvqb */
	[0xdf] = STEP,			/* aeskeygenassist */
	[0xf0] = PRIVILEGED,		/* hreset */
};

/*
 * The closer looks. Each returns a class that needs none, with DONE after it
 * has filled @ui itself.
 */

/* rep runs for as long as it likes, and can be interrupted in between */
static enum insn_class look_string(struct uprobe_insn *ui,
				   const struct insn *insn)
{
	if (!has_prefix(insn, PFX_REPNE) && !has_prefix(insn, PFX_REPE))
		return STEP;
	ui->op = UPROBE_INSN_REP;
	return DONE;
}

/* Stack operations of 16 bits run from their copies */
static enum insn_class stack_op(struct uprobe_insn *ui,
				const struct insn *insn,
				enum uprobe_insn_op op)
{
	if (has_prefix(insn, PFX_OPSIZE))
		return STEP;
	ui->op = op;
	return DONE;
}

static enum insn_class look_push_reg(struct uprobe_insn *ui,
				     const struct insn *insn)
{
	ui->reg = opcode_operand(insn);
	return stack_op(ui, insn, UPROBE_INSN_PUSH_REG);
}

static enum insn_class look_pop_reg(struct uprobe_insn *ui,
				    const struct insn *insn)
{
	ui->reg = opcode_operand(insn);
	return stack_op(ui, insn, UPROBE_INSN_POP_REG);
}

static enum insn_class look_push_imm(struct uprobe_insn *ui,
				     const struct insn *insn)
{
	ui->imm = insn->immediate.value;
	return stack_op(ui, insn, UPROBE_INSN_PUSH_IMM);
}

static enum insn_class look_leave(struct uprobe_insn *ui,
				  const struct insn *insn)
{
	return stack_op(ui, insn, UPROBE_INSN_LEAVE);
}

static enum insn_class look_pushf(struct uprobe_insn *ui,
				  const struct insn *insn)
{
	if (has_prefix(insn, PFX_OPSIZE))
		return SMALL_FLAGS;
	ui->op = UPROBE_INSN_PUSHF;
	return DONE;
}

static enum insn_class look_popf(struct uprobe_insn *ui,
				 const struct insn *insn)
{
	if (has_prefix(insn, PFX_OPSIZE))
		return SMALL_FLAGS;
	ui->op = UPROBE_INSN_POPF;
	return DONE;
}

/* Has it operands of 32 bits, or of 64? */
static bool full_operands(const struct uprobe_insn *ui,
			  const struct insn *insn)
{
	return ui->wide || !has_prefix(insn, PFX_OPSIZE);
}

static enum insn_class mov_reg(struct uprobe_insn *ui, const struct insn *insn,
			       u8 dst, u8 src)
{
	ui->wide = !!X86_REX_W(rex(insn));
	if (modrm_mod(insn) != 3 || !full_operands(ui, insn))
		return STEP;
	ui->op = UPROBE_INSN_MOV;
	ui->reg = dst;
	ui->base = src;
	return DONE;
}

static enum insn_class look_mov_to_rm(struct uprobe_insn *ui,
				      const struct insn *insn)
{
	return mov_reg(ui, insn, rm_operand(insn), reg_operand(insn));
}

static enum insn_class look_mov_to_reg(struct uprobe_insn *ui,
				       const struct insn *insn)
{
	return mov_reg(ui, insn, reg_operand(insn), rm_operand(insn));
}

/* Emulated: a base and a displacement. An index runs from the copy. */
static enum insn_class look_lea(struct uprobe_insn *ui,
				const struct insn *insn)
{
	u8 sib = insn->sib.bytes[0];
	u8 base = rm_operand(insn);

	if (modrm_mod(insn) == 3)
		return UNKNOWN;
	if (has_prefix(insn, PFX_OPSIZE) || has_prefix(insn, PFX_ADDRSIZE))
		return STEP;

	if (insn->sib.nbytes) {
		if (X86_SIB_INDEX(sib) != REG_SP || X86_REX_X(rex(insn)))
			return STEP;
		if (X86_SIB_BASE(sib) == REG_BP && modrm_mod(insn) == 0)
			return STEP;
		base = X86_SIB_BASE(sib) | (base & 8);
	} else if (is_rip_relative(insn)) {
		base = UPROBE_INSN_REG_RIP;
	} else if (modrm_mod(insn) == 0 && base == REG_BP) {
		return STEP;
	}

	ui->op = UPROBE_INSN_LEA;
	ui->reg = reg_operand(insn);
	ui->base = base;
	ui->wide = !!X86_REX_W(rex(insn));
	ui->imm = insn->displacement.value;
	return DONE;
}

/* add and sub are how a stack frame comes and goes */
static enum insn_class look_arith_imm(struct uprobe_insn *ui,
				      const struct insn *insn)
{
	u8 reg = modrm_reg(insn);

	ui->wide = !!X86_REX_W(rex(insn));
	if (modrm_mod(insn) != 3 || !full_operands(ui, insn))
		return STEP;
	if (reg != 0 && reg != 5)
		return STEP;
	ui->op = reg ? UPROBE_INSN_SUB : UPROBE_INSN_ADD;
	ui->reg = rm_operand(insn);
	ui->imm = insn->immediate.value;
	return DONE;
}

/* 90 is nop and pause, whatever its prefixes; REX.B makes it xchg %r8, %rax */
static enum insn_class look_xchg_ax(struct uprobe_insn *ui,
				    const struct insn *insn)
{
	return X86_REX_B(rex(insn)) ? STEP : NOP;
}

/*
 * Intel ignores the prefix, AMD truncates the instruction pointer; but REX.W
 * overrides it. Both together stand in calls of __tls_get_addr(), as padding.
 */
static enum insn_class near_branch(struct uprobe_insn *ui,
				   const struct insn *insn,
				   enum uprobe_insn_op op)
{
	if (has_prefix(insn, PFX_OPSIZE) && !X86_REX_W(rex(insn)))
		return OPSIZE_BRANCH;
	ui->op = op;
	return DONE;
}

static enum insn_class near_branch_rel(struct uprobe_insn *ui,
				       const struct insn *insn,
				       enum uprobe_insn_op op)
{
	ui->imm = insn->immediate.value;
	return near_branch(ui, insn, op);
}

/* What c2 pops behind the address is unsigned */
static enum insn_class look_ret(struct uprobe_insn *ui,
				const struct insn *insn)
{
	ui->imm = (u16)insn->immediate.value;
	return near_branch(ui, insn, UPROBE_INSN_RET);
}

static enum insn_class look_call(struct uprobe_insn *ui,
				 const struct insn *insn)
{
	return near_branch_rel(ui, insn, UPROBE_INSN_CALL_REL);
}

static enum insn_class look_jmp(struct uprobe_insn *ui,
				const struct insn *insn)
{
	return near_branch_rel(ui, insn, UPROBE_INSN_JMP_REL);
}

static enum insn_class look_jcc(struct uprobe_insn *ui,
				const struct insn *insn)
{
	/* 70 and on, 0f 80 and on */
	ui->cc = insn->opcode.bytes[insn->opcode.nbytes - 1] & 0xf;
	return near_branch_rel(ui, insn, UPROBE_INSN_JCC);
}

/* AMD takes the condition of a loop from a repeat prefix */
static enum insn_class look_loop(struct uprobe_insn *ui,
				 const struct insn *insn)
{
	bool small = has_prefix(insn, PFX_ADDRSIZE);

	if (has_prefix(insn, PFX_REPNE) || has_prefix(insn, PFX_REPE))
		return REP_LOOP;
	if (small && !insn->x86_64)
		return SMALL_LOOP;
	ui->cc = insn->opcode.bytes[0] & 3;
	ui->wide = insn->x86_64 && !small;
	return near_branch_rel(ui, insn, UPROBE_INSN_LOOP);
}

static enum insn_class look_call_indirect(struct uprobe_insn *ui,
					  const struct insn *insn)
{
	ui->base = rm_operand(insn);
	return near_branch(ui, insn, has_memory_operand(insn) ?
			   UPROBE_INSN_CALL_MEM : UPROBE_INSN_CALL_REG);
}

static enum insn_class look_jmp_indirect(struct uprobe_insn *ui,
					 const struct insn *insn)
{
	ui->base = rm_operand(insn);
	return near_branch(ui, insn, has_memory_operand(insn) ?
			   UPROBE_INSN_JMP_MEM : UPROBE_INSN_JMP_REG);
}

/* Of the software interrupts, that of system calls */
static enum insn_class look_int(struct uprobe_insn *ui,
				const struct insn *insn)
{
	if ((u8)insn->immediate.value != 0x80)
		return TRAP;
	ui->op = UPROBE_INSN_INT80;
	return DONE;
}

/* From 32-bit code the kernel returns to the vDSO, not behind it */
static enum insn_class look_syscall(struct uprobe_insn *ui,
				    const struct insn *insn)
{
	if (!insn->x86_64)
		return SYSENTER;
	ui->op = UPROBE_INSN_SYSCALL;
	return DONE;
}

/* Undefined for registers */
static enum insn_class look_memory(struct uprobe_insn *ui,
				   const struct insn *insn)
{
	return has_memory_operand(insn) ? STEP : UNKNOWN;
}

/* Changes no state that can be seen. For registers, CPUs differ */
static enum insn_class look_prefetch(struct uprobe_insn *ui,
				     const struct insn *insn)
{
	return has_memory_operand(insn) ? NOP : STEP;
}

/* Reserved for hints, of which endbr and rdssp exist */
static enum insn_class look_hint_1e(struct uprobe_insn *ui,
				    const struct insn *insn)
{
	u8 modrm = insn->modrm.bytes[0];

	if (has_prefix(insn, PFX_REPE) && (modrm == 0xfa || modrm == 0xfb))
		return NOP;
	return STEP;
}

/* 0f 01: nearly all of it is for kernels and hypervisors */
static enum insn_class look_group_7(struct uprobe_insn *ui,
				    const struct insn *insn)
{
	bool mem = has_memory_operand(insn);
	u8 modrm = insn->modrm.bytes[0];

	if (has_prefix(insn, PFX_OPSIZE) || has_prefix(insn, PFX_REPNE))
		return UNKNOWN;
	if (has_prefix(insn, PFX_REPE)) {
		/* rstorssp, saveprevssp; else setssbsy, or nothing known */
		if ((mem && modrm_reg(insn) == 5) || modrm == 0xea)
			return STEP;
		return modrm == 0xe8 ? PRIVILEGED : UNKNOWN;
	}

	switch (modrm) {
	case 0xd0: /* xgetbv */
	case 0xd6: /* xtest */
	case 0xe8: /* serialize */
	case 0xee: /* rdpkru */
	case 0xef: /* wrpkru */
	case 0xf9: /* rdtscp */
	case 0xfc: /* clzero */
	case 0xfd: /* rdpru */
		return STEP;
	case 0xc8: case 0xc9: /* monitor, mwait */
	case 0xfa: case 0xfb: /* monitorx, mwaitx */
		return MONITOR;
	case 0xd5: /* xend */
		return TSX;
	}

	if (modrm_reg(insn) == 4) /* smsw */
		return UMIP;
	if (mem && modrm_reg(insn) <= 1) /* sgdt, sidt */
		return UMIP;
	return SYSTEM;
}

/* 0f c7 */
static enum insn_class look_group_9(struct uprobe_insn *ui,
				    const struct insn *insn)
{
	u8 reg = modrm_reg(insn);

	if (has_memory_operand(insn)) {
		/* cmpxchg8b, cmpxchg16b, xsavec */
		return reg == 1 || reg == 4 ? STEP : PRIVILEGED;
	}
	if (reg == 6 && !has_prefix(insn, PFX_REPE)) /* rdrand, not senduipi */
		return STEP;
	if (reg == 7) /* rdseed, rdpid */
		return STEP;
	return UNKNOWN;
}

/* 0f ae */
static enum insn_class look_group_15(struct uprobe_insn *ui,
				     const struct insn *insn)
{
	u8 reg = modrm_reg(insn);
	bool opsize = has_prefix(insn, PFX_OPSIZE);
	bool repne = has_prefix(insn, PFX_REPNE);
	bool repe = has_prefix(insn, PFX_REPE);

	if (has_memory_operand(insn)) {
		/*
		 * fxsave, fxrstor, ldmxcsr, stmxcsr, xsave, xrstor, xsaveopt,
		 * clflush; with 66 clwb and clflushopt
		 */
		if (repe && reg == 6) /* clrssbsy */
			return PRIVILEGED;
		return repe || repne || (opsize && reg < 6) ? UNKNOWN : STEP;
	}

	if (repe && !opsize) {
		if (reg == 6) /* umonitor */
			return MONITOR;
		/* rdfsbase, rdgsbase, wrfsbase, wrgsbase, incssp */
		return reg <= 3 || reg == 5 ? STEP : UNKNOWN;
	}
	if (opsize || repne) /* tpause, umwait */
		return reg == 6 ? MONITOR : UNKNOWN;

	/* lfence, mfence, sfence */
	return reg >= 5 ? STEP : UNKNOWN;
}

/* 0f 38 f8: movdir64b; enqcmd, enqcmds, urdmsr, uwrmsr */
static enum insn_class look_movdir64b(struct uprobe_insn *ui,
				      const struct insn *insn)
{
	bool rep = has_prefix(insn, PFX_REPNE) || has_prefix(insn, PFX_REPE);

	return rep ? SYSTEM : STEP;
}

static const struct {
	enum uprobe_insn_op op;	/* how it is executed, or */
	const char *why;	/* why not, or */
	enum insn_class (*look)(struct uprobe_insn *ui,
				const struct insn *insn);
} classes[FIRST_GROUP] = {
	[UNKNOWN]	= { .why = "unknown or undefined instruction" },
	[STEP]		= { .op = UPROBE_INSN_STEP },
	[BARE]		= { .op = UPROBE_INSN_STEP },
	[X87]		= { .op = UPROBE_INSN_X87 },
	[NOP]		= { .op = UPROBE_INSN_NOP },
	[STRING]	= { .look = look_string },
	[PUSH_REG]	= { .look = look_push_reg },
	[POP_REG]	= { .look = look_pop_reg },
	[PUSH_IMM]	= { .look = look_push_imm },
	[LEAVE]		= { .look = look_leave },
	[PUSHF]		= { .look = look_pushf },
	[POPF]		= { .look = look_popf },
	[MOV_TO_RM]	= { .look = look_mov_to_rm },
	[MOV_TO_REG]	= { .look = look_mov_to_reg },
	[LEA]		= { .look = look_lea },
	[ARITH_IMM]	= { .look = look_arith_imm },
	[XCHG_AX]	= { .look = look_xchg_ax },
	[RET]		= { .look = look_ret },
	[CALL]		= { .look = look_call },
	[JMP]		= { .look = look_jmp },
	[JCC]		= { .look = look_jcc },
	[LOOP]		= { .look = look_loop },
	[CALL_INDIRECT]	= { .look = look_call_indirect },
	[JMP_INDIRECT]	= { .look = look_jmp_indirect },
	[INT]		= { .look = look_int },
	[SYSCALL]	= { .look = look_syscall },
	[MEMORY]	= { .look = look_memory },
	[PREFETCH]	= { .look = look_prefetch },
	[HINT_1E]	= { .look = look_hint_1e },
	[GROUP_7]	= { .look = look_group_7 },
	[GROUP_9]	= { .look = look_group_9 },
	[GROUP_15]	= { .look = look_group_15 },
	[MOVDIR64B]	= { .look = look_movdir64b },
	[NOT_64BIT]	= { .why = "not an instruction of 64-bit mode" },
	[PRIVILEGED]	= { .why = "privileged instruction" },
	[IO]		= { .why = "I/O instruction" },
	[FAR]		= { .why = "far control transfer" },
	[TRAP]		= { .why = "instruction that traps" },
	[SYSENTER]	= { .why = "system call that returns to the vDSO" },
	[SHADOW]	= { .why = "takes a segment for the stack: masks the trap of the step" },
	[UMIP]		= { .why = "may be emulated by the kernel" },
	[SYSTEM]	= { .why = "for kernels, hypervisors, enclaves or devices" },
	[TSX]		= { .why = "part of a transaction, which a probe aborts" },
	[MONITOR]	= { .why = "waits on a monitor, which a probe disarms" },
	[AMD3D]		= { .why = "3DNow! instruction" },
	[XOP]		= { .why = "XOP or undefined instruction" },
	[OPSIZE_BRANCH]	= { .why = "branch with operand size prefix" },
	[REP_LOOP]	= { .why = "loop with repeat prefix: CPUs differ" },
	[SMALL_LOOP]	= { .why = "loop with a 16-bit counter" },
	[SMALL_FLAGS]	= { .why = "16-bit flags" },
};

static enum insn_class lookup(const struct insn *insn)
{
	const u8 *opcode = insn->opcode.bytes;

	if (opcode[0] == 0x0f && opcode[1] == 0x38)
		return uprobe_map_0f38[opcode[2]];
	if (opcode[0] == 0x0f && opcode[1] == 0x3a)
		return uprobe_map_0f3a[opcode[2]];
	if (opcode[0] == 0x0f)
		return uprobe_map_0f[opcode[1]];
	if (!insn->x86_64 && uprobe_map_1byte_32bit[opcode[0]])
		return uprobe_map_1byte_32bit[opcode[0]];
	return uprobe_map_1byte[opcode[0]];
}

/*
 * Where the decoder sees no ModRM but should, it takes a prefix to make another
 * opcode of it, and its length is not to be trusted.
 */
static bool lacks_modrm(const struct insn *insn, enum insn_class class)
{
	return insn->opcode.bytes[0] == 0x0f && !insn->modrm.nbytes &&
	       class != BARE && class != JCC && class != SYSCALL;
}

static const char *classify_legacy(struct uprobe_insn *ui,
				   const struct insn *insn)
{
	enum insn_class class = lookup(insn);
	u8 reg = modrm_reg(insn);

	if (class >= FIRST_GROUP)
		class = has_memory_operand(insn) ?
			groups[class - FIRST_GROUP].mem[reg] :
			groups[class - FIRST_GROUP].reg[reg];
	if (!classes[class].why && lacks_modrm(insn, class))
		class = UNKNOWN;
	if (classes[class].look)
		class = classes[class].look(ui, insn);
	if (class != DONE)
		ui->op = classes[class].op;
	return classes[class].why;
}

/*
 * VEX and EVEX opcodes share numbers with legacy ones and nothing else. Maps
 * 1-3, and 5 and 6 of EVEX, hold data operations only; the decoder has
 * rejected what its tables do not have.
 */
static const char *classify_vex(const struct insn *insn)
{
	const u8 *vex = insn->vex_prefix.bytes;
	bool evex = insn->vex_prefix.nbytes == 4;
	u8 map = evex ? vex[1] & 0x0f : X86_VEX3_M(vex[1]);

	if (insn->rex_prefix.nbytes || has_prefix(insn, PFX_OPSIZE) ||
	    has_prefix(insn, PFX_REPNE) || has_prefix(insn, PFX_REPE))
		return "prefix that VEX and EVEX forbid";

	if (insn->vex_prefix.nbytes == 2)
		map = X86_VEX2_M;

	if (!evex)
		return map >= 1 && map <= 3 ? NULL : classes[UNKNOWN].why;

	/* APX: map 4, and bits that were reserved until then */
	if (map == 4 || (vex[1] & 0x08) || !(vex[2] & 0x04))
		return "APX instruction";
	return one_of(map, BIT(1) | BIT(2) | BIT(3) | BIT(5) | BIT(6)) ?
	       NULL : classes[UNKNOWN].why;
}

static const char *classify(struct uprobe_insn *ui, const struct insn *insn)
{
	if (insn->emulate_prefix_size)
		return "prefix of a hypervisor's emulation";
	if (insn->rex_prefix.nbytes == 2)
		return "APX instruction";
	if (has_prefix(insn, PFX_REPNE) && has_prefix(insn, PFX_REPE))
		return "both repeat prefixes";
	if (has_prefix(insn, PFX_LOCK) &&
	    (insn->vex_prefix.nbytes || !lockable(insn)))
		return "lock prefix on what cannot be locked";

	if (insn->vex_prefix.nbytes)
		return classify_vex(insn);
	return classify_legacy(ui, insn);
}

/*
 * The instruction's end plus disp32 becomes a register plus disp32, of the
 * same length. The register is neither operand of the instruction: ModRM.reg
 * takes one of the three, VEX.vvvv another; comparing three bits of each
 * excludes more than needed, never less. Registers that are used without
 * being named are not among rsi and rdi (string instructions have no ModRM),
 * and rbx is reached only with VEX, where none is: neither cmpxchg16b nor a
 * high byte register comes that far. An address size prefix truncates the
 * sum either way.
 */
static void make_absolute(struct uprobe_insn *ui, const struct insn *insn)
{
	static const u8 scratch[] = { REG_SI, REG_DI, REG_BX };
	u8 *vex = ui->copy + insn->prefixes.nbytes + insn->rex_prefix.nbytes;
	u8 reg = modrm_reg(insn);
	u8 vvvv = UPROBE_INSN_REG_NONE;
	size_t i;

	/* For two-byte VEX the decoder puts vvvv in the same place */
	if (insn->vex_prefix.nbytes)
		vvvv = ~X86_VEX_V(insn->vex_prefix.bytes[2]) & 7;

	for (i = 0; scratch[i] == reg || scratch[i] == vvvv; i++)
		;
	ui->scratch = scratch[i];
	ui->copy[modrm_offset(insn)] = 0x80 | reg << 3 | ui->scratch;

	/* An extension of rm is ignored for rip, not for a register */
	if (insn->rex_prefix.nbytes)
		vex[-1] &= ~0x01;
	if (insn->vex_prefix.nbytes > 2)
		vex[1] |= 0x20;
}

/**
 * uprobe_insn_is_get_pc() - is this a call of the next instruction?
 * @ui: the instruction
 *
 * The CPU does not push on the shadow stack for it, since nobody returns from
 * it (Intel SDM volume 2A, CALL).
 *
 * Return: true if it is.
 */
bool uprobe_insn_is_get_pc(const struct uprobe_insn *ui)
{
	return ui->op == UPROBE_INSN_CALL_REL && !ui->imm;
}

static void make_copy(struct uprobe_insn *ui, const struct insn *insn)
{
	switch (ui->op) {
	case UPROBE_INSN_NOP:
	case UPROBE_INSN_MOV:
	case UPROBE_INSN_LEA:
	case UPROBE_INSN_ADD:
	case UPROBE_INSN_SUB:
	case UPROBE_INSN_JMP_REL:
	case UPROBE_INSN_JCC:
	case UPROBE_INSN_LOOP:
		/* Emulation cannot fail */
		return;
	case UPROBE_INSN_PUSHF:
		ui->copy[0] = INSN_PUSH_AX;
		ui->copy_len = 1;
		return;
	case UPROBE_INSN_CALL_REL:
		/* Not to the next instruction: that is no call, see there */
		ui->copy[0] = INSN_CALL_REL32;
		ui->copy[1] = !uprobe_insn_is_get_pc(ui);
		ui->copy_len = 5;
		return;
	case UPROBE_INSN_POPF:
		/* TF must not come from the stack in the middle of a step */
		ui->copy[0] = INSN_POP_SI;
		ui->copy_len = 1;
		ui->scratch = REG_SI;
		return;
	}

	memcpy(ui->copy, insn->kaddr, insn->length);
	ui->copy_len = insn->length;
	if (is_rip_relative(insn))
		make_absolute(ui, insn);
}

/* Stack pointer, instruction pointer and what is on the stack have this size */
static unsigned long fit(const struct uprobe_insn *ui, unsigned long value)
{
	return ui->word == 8 ? value : (u32)value;
}

/* Can execution go on there? In 32-bit code, anywhere */
static bool is_address(const struct uprobe_insn *ui, unsigned long addr)
{
	return ui->word != 8 ||
	       __is_canonical_address(addr, __VIRTUAL_MASK_SHIFT + 1);
}

/**
 * uprobe_insn_analyze - find out how to execute an instruction
 * @ui: filled in
 * @bytes: the instruction, and what follows it
 * @n: how many bytes can be read, at most MAX_INSN_SIZE are looked at
 * @vaddr: address of the instruction in the program
 * @is_64bit: in 64-bit code, not in 32-bit code
 * @why: set to a short reason on failure
 *
 * Return: 0; -EINVAL when the instruction is longer than @n; -EOPNOTSUPP
 * when it is not known to be executed exactly.
 */
int uprobe_insn_analyze(struct uprobe_insn *ui, const u8 *bytes, size_t n,
			unsigned long vaddr, bool is_64bit, const char **why)
{
	enum insn_mode mode = is_64bit ? INSN_MODE_64 : INSN_MODE_32;
	struct insn insn;
	int ret;

	memset(ui, 0, sizeof(*ui));
	ui->scratch = UPROBE_INSN_REG_NONE;
	ui->word = is_64bit ? 8 : 4;

	n = n < MAX_INSN_SIZE ? n : MAX_INSN_SIZE;
	ret = insn_decode(&insn, bytes, n, mode);
	if (ret == -ENODATA && n < MAX_INSN_SIZE) {
		*why = "runs past readable text";
		return -EINVAL;
	}
	if (ret) {
		*why = classes[UNKNOWN].why;
		return -EOPNOTSUPP;
	}

	ui->len = insn.length;
	*why = classify(ui, &insn);
	if (*why)
		return -EOPNOTSUPP;

	switch (ui->op) {
	case UPROBE_INSN_CALL_REL:
	case UPROBE_INSN_JMP_REL:
	case UPROBE_INSN_JCC:
	case UPROBE_INSN_LOOP:
		if (is_address(ui, vaddr + ui->len + ui->imm))
			break;
		*why = "branch out of the address space";
		return -EOPNOTSUPP;
	}

	make_copy(ui, &insn);
	return 0;
}

/**
 * uprobe_insn_is_branch - can the instruction change the flow of control?
 * @ui: the instruction
 *
 * Return: true for what a debugger's block step stops after, if taken.
 */
bool uprobe_insn_is_branch(const struct uprobe_insn *ui)
{
	switch (ui->op) {
	case UPROBE_INSN_RET:
	case UPROBE_INSN_CALL_REL:
	case UPROBE_INSN_CALL_REG:
	case UPROBE_INSN_CALL_MEM:
	case UPROBE_INSN_JMP_REL:
	case UPROBE_INSN_JMP_REG:
	case UPROBE_INSN_JMP_MEM:
	case UPROBE_INSN_JCC:
	case UPROBE_INSN_LOOP:
		return true;
	}
	return false;
}

/**
 * uprobe_insn_is_syscall - does the instruction call the kernel?
 * @ui: the instruction
 *
 * Return: true for one after which the kernel, not a trap, has the thread.
 */
bool uprobe_insn_is_syscall(const struct uprobe_insn *ui)
{
	return ui->op == UPROBE_INSN_SYSCALL || ui->op == UPROBE_INSN_INT80;
}

/*
 * User's stack. Single accesses of a whole word: like the CPU's, they happen
 * entirely or not at all.
 */

static int put_word(const struct uprobe_insn *ui, unsigned long sp,
		    unsigned long value)
{
	if (ui->word == 8)
		return put_user((u64)value, (u64 __user *)sp);
	return put_user((u32)value, (u32 __user *)sp);
}

static int get_word(const struct uprobe_insn *ui, unsigned long sp,
		    unsigned long *value)
{
	u32 half;
	int ret;

	if (ui->word == 8)
		return get_user(*value, (unsigned long __user *)sp);
	ret = get_user(half, (u32 __user *)sp);
	*value = half;
	return ret;
}

/* A program that asked for alignment checks gets them from the copy */
static bool misaligned(const struct uprobe_insn *ui,
		       const struct pt_regs *regs, unsigned long sp)
{
	return (regs->flags & X86_EFLAGS_AC) && (sp & (ui->word - 1));
}

static bool push(const struct uprobe_insn *ui, struct pt_regs *regs,
		 unsigned long value)
{
	unsigned long sp = fit(ui, regs->sp - ui->word);

	if (misaligned(ui, regs, sp) || put_word(ui, sp, value))
		return false;
	regs->sp = sp;
	return true;
}

/* Read only: the caller moves the stack pointer */
static bool peek(const struct uprobe_insn *ui, const struct pt_regs *regs,
		 unsigned long sp, unsigned long *value)
{
	return !misaligned(ui, regs, sp) && !get_word(ui, sp, value);
}

/* Flags */

static bool condition(u8 cc, unsigned long flags)
{
	bool sf_ne_of = !(flags & X86_EFLAGS_SF) != !(flags & X86_EFLAGS_OF);
	bool ret = false;

	switch (cc >> 1) {
	case 0: /* o */
		ret = flags & X86_EFLAGS_OF;
		break;
	case 1: /* b */
		ret = flags & X86_EFLAGS_CF;
		break;
	case 2: /* e */
		ret = flags & X86_EFLAGS_ZF;
		break;
	case 3: /* be */
		ret = flags & (X86_EFLAGS_CF | X86_EFLAGS_ZF);
		break;
	case 4: /* s */
		ret = flags & X86_EFLAGS_SF;
		break;
	case 5: /* p */
		ret = flags & X86_EFLAGS_PF;
		break;
	case 6: /* l */
		ret = sf_ne_of;
		break;
	case 7: /* le */
		ret = sf_ne_of || (flags & X86_EFLAGS_ZF);
		break;
	}
	return ret != (cc & 1);
}

static unsigned long pushed_flags(const struct pt_regs *regs)
{
	return regs->flags & ~(X86_EFLAGS_RF | X86_EFLAGS_VM);
}

/* TF that popf loads stays in regs->flags: it traps after the next one */
static void load_flags(struct pt_regs *regs, unsigned long value)
{
	regs->flags = (regs->flags & ~POPF_MASK) | (value & POPF_MASK);
}

/* Registers and immediates of arithmetic, moves and loops */
static unsigned long operand(const struct uprobe_insn *ui, unsigned long value)
{
	return ui->wide ? value : (u32)value;
}

/* Flags of @a + @b = @sum; of a subtraction with sum + subtrahend = minuend */
static void arith_flags(const struct uprobe_insn *ui, struct pt_regs *regs,
			unsigned long a, unsigned long b, unsigned long sum,
			unsigned long result)
{
	unsigned long carry = (a & b) | ((a | b) & ~sum);
	unsigned long top = ui->wide ? BIT(BITS_PER_LONG - 1) : BIT(31);
	unsigned long flags = 0;
	u8 parity = result ^ (result >> 4);

	if (carry & top)
		flags |= X86_EFLAGS_CF;
	if (carry & 0x08)
		flags |= X86_EFLAGS_AF;
	if ((carry ^ (carry << 1)) & top)
		flags |= X86_EFLAGS_OF;
	if (!result)
		flags |= X86_EFLAGS_ZF;
	if (result & top)
		flags |= X86_EFLAGS_SF;
	/* Bit i of the constant: i has an even number of ones */
	if (0x9669 >> (parity & 0xf) & 1)
		flags |= X86_EFLAGS_PF;

	regs->flags = (regs->flags & ~ARITH_MASK) | flags;
}

static void emulate_add(const struct uprobe_insn *ui, struct pt_regs *regs)
{
	unsigned long *reg = reg_of(regs, ui->reg);
	unsigned long a = operand(ui, *reg), b = operand(ui, ui->imm);
	unsigned long sum = operand(ui, a + b);

	arith_flags(ui, regs, a, b, sum, sum);
	*reg = sum;
}

/* The borrows of a - b are the carries of result + b */
static void emulate_sub(const struct uprobe_insn *ui, struct pt_regs *regs)
{
	unsigned long *reg = reg_of(regs, ui->reg);
	unsigned long a = operand(ui, *reg), b = operand(ui, ui->imm);
	unsigned long result = operand(ui, a - b);

	arith_flags(ui, regs, result, b, a, result);
	*reg = result;
}

/* loopne, loope and loop count, jrcxz looks; only the result is written */
static bool loop_taken(const struct uprobe_insn *ui, struct pt_regs *regs)
{
	unsigned long count = operand(ui, regs->cx);
	bool zf = regs->flags & X86_EFLAGS_ZF;

	if (ui->cc == 3)
		return !count;

	count = operand(ui, count - 1);
	regs->cx = count;
	if (!count)
		return false;
	return ui->cc == 2 || zf == ui->cc;
}

/**
 * uprobe_insn_emulate - execute an instruction on the registers
 * @ui: the instruction
 * @regs: registers of the program; regs->ip is the instruction's address
 *
 * Context: process context of the probed thread, may sleep.
 * Return: true: done, registers and memory are as after the instruction.
 * false: nothing has changed, the copy must be run.
 */
bool uprobe_insn_emulate(const struct uprobe_insn *ui, struct pt_regs *regs)
{
	unsigned long next = regs->ip + ui->len;
	unsigned long value;

	switch (ui->op) {
	case UPROBE_INSN_STEP:
	case UPROBE_INSN_X87:
	case UPROBE_INSN_REP:
	case UPROBE_INSN_CALL_MEM:
	case UPROBE_INSN_JMP_MEM:
	case UPROBE_INSN_SYSCALL:
	case UPROBE_INSN_INT80:
		return false;
	case UPROBE_INSN_NOP:
		break;
	case UPROBE_INSN_PUSH_REG:
		if (!push(ui, regs, *reg_of(regs, ui->reg)))
			return false;
		break;
	case UPROBE_INSN_PUSH_IMM:
		if (!push(ui, regs, ui->imm))
			return false;
		break;
	case UPROBE_INSN_POP_REG:
		if (!peek(ui, regs, regs->sp, &value))
			return false;
		/* In this order for the sake of pop %rsp */
		regs->sp = fit(ui, regs->sp + ui->word);
		*reg_of(regs, ui->reg) = value;
		break;
	case UPROBE_INSN_LEAVE:
		if (!peek(ui, regs, regs->bp, &value))
			return false;
		regs->sp = fit(ui, regs->bp + ui->word);
		regs->bp = value;
		break;
	case UPROBE_INSN_PUSHF:
		if (!push(ui, regs, pushed_flags(regs)))
			return false;
		break;
	case UPROBE_INSN_POPF:
		if (!peek(ui, regs, regs->sp, &value))
			return false;
		regs->sp = fit(ui, regs->sp + ui->word);
		load_flags(regs, value);
		break;
	case UPROBE_INSN_MOV:
		value = *reg_of(regs, ui->base);
		*reg_of(regs, ui->reg) = operand(ui, value);
		break;
	case UPROBE_INSN_LEA:
		value = ui->base == UPROBE_INSN_REG_RIP ?
			next : *reg_of(regs, ui->base);
		*reg_of(regs, ui->reg) = operand(ui, value + ui->imm);
		break;
	case UPROBE_INSN_ADD:
		emulate_add(ui, regs);
		break;
	case UPROBE_INSN_SUB:
		emulate_sub(ui, regs);
		break;
	case UPROBE_INSN_RET:
		if (!peek(ui, regs, regs->sp, &value) || !is_address(ui, value))
			return false;
		regs->sp = fit(ui, regs->sp + ui->word + ui->imm);
		next = value;
		break;
	case UPROBE_INSN_CALL_REL:
		if (!push(ui, regs, next))
			return false;
		next += ui->imm;
		break;
	case UPROBE_INSN_CALL_REG:
		value = *reg_of(regs, ui->base);
		if (!is_address(ui, value) || !push(ui, regs, next))
			return false;
		next = value;
		break;
	case UPROBE_INSN_JMP_REL:
		next += ui->imm;
		break;
	case UPROBE_INSN_JMP_REG:
		value = *reg_of(regs, ui->base);
		if (!is_address(ui, value))
			return false;
		next = value;
		break;
	case UPROBE_INSN_JCC:
		if (condition(ui->cc, regs->flags))
			next += ui->imm;
		break;
	case UPROBE_INSN_LOOP:
		if (loop_taken(ui, regs))
			next += ui->imm;
		break;
	}

	regs->ip = fit(ui, next);
	return true;
}

/**
 * uprobe_insn_pre_step - prepare the registers for running the copy
 * @ui: an instruction that was not emulated
 * @st: filled in, state of this step
 * @regs: registers of the program; regs->ip is the instruction's address
 * @copy: address of ui->copy in the program
 */
void uprobe_insn_pre_step(const struct uprobe_insn *ui,
			  struct uprobe_insn_step *st, struct pt_regs *regs,
			  unsigned long copy)
{
	unsigned long next = fit(ui, regs->ip + ui->len);

	*st = (struct uprobe_insn_step){ .value = next, .target = next };
	regs->ip = copy;

	switch (ui->op) {
	case UPROBE_INSN_PUSHF:
		st->value = pushed_flags(regs);
		break;
	case UPROBE_INSN_CALL_REL:
		st->target = fit(ui, next + ui->imm);
		break;
	}

	if (ui->scratch == UPROBE_INSN_REG_NONE)
		return;
	st->scratch = *reg_of(regs, ui->scratch);
	*reg_of(regs, ui->scratch) = next;
}

/**
 * uprobe_insn_unfinished - must the copy be run again?
 * @regs: registers as the trap of the step left them
 * @copy: address of the copy in the program
 *
 * A string instruction with a repeat prefix that is stepped traps after each
 * iteration with ip unmoved, and so may any other that can be interrupted half
 * way. The step then goes on: set TF, return to user mode, do not run handlers.
 * It may also be given up with uprobe_insn_abort(), to be continued at the
 * original address. No copy ends where it begins.
 *
 * Return: true if the instruction has not come to its end.
 */
bool uprobe_insn_unfinished(const struct pt_regs *regs, unsigned long copy)
{
	return regs->ip == copy;
}

static void restore_scratch(const struct uprobe_insn *ui,
			    const struct uprobe_insn_step *st,
			    struct pt_regs *regs)
{
	if (ui->scratch != UPROBE_INSN_REG_NONE)
		*reg_of(regs, ui->scratch) = st->scratch;
}

/**
 * uprobe_insn_post_step - finish an instruction whose copy has run
 * @ui: the instruction
 * @st: state of this step
 * @regs: registers as the trap of the step left them
 * @vaddr: address of the instruction
 * @copy: address of ui->copy in the program
 *
 * Context: process context of the probed thread, may sleep.
 * Return: true if registers and memory are as after the instruction. false if
 * the stack has become inaccessible since: registers are as before it, and the
 * program is due a SIGSEGV.
 */
bool uprobe_insn_post_step(const struct uprobe_insn *ui,
			   const struct uprobe_insn_step *st,
			   struct pt_regs *regs, unsigned long vaddr,
			   unsigned long copy)
{
	unsigned long popped = regs->si;

	restore_scratch(ui, st, regs);

	switch (ui->op) {
	case UPROBE_INSN_RET:
	case UPROBE_INSN_JMP_REG:
	case UPROBE_INSN_JMP_MEM:
		/* ip came from the program */
		break;
	case UPROBE_INSN_PUSHF:
	case UPROBE_INSN_CALL_REL:
		regs->ip = st->target;
		fallthrough;
	case UPROBE_INSN_CALL_REG:
	case UPROBE_INSN_CALL_MEM:
		if (!put_word(ui, regs->sp, st->value))
			break;
		regs->sp = fit(ui, regs->sp + ui->word);
		regs->ip = vaddr;
		return false;
	case UPROBE_INSN_POPF:
		load_flags(regs, popped);
		regs->ip = vaddr + ui->len;
		break;
	case UPROBE_INSN_SYSCALL:
		/* At the kernel's entry. With FRED, rcx is still the program's */
		if (regs->cx == regs->ip)
			regs->cx += vaddr - copy;
		regs->ip += vaddr - copy;
		break;
	default:
		regs->ip += vaddr - copy;
	}
	return true;
}

/**
 * uprobe_insn_abort - give up a step
 * @ui: the instruction
 * @st: state of this step
 * @regs: registers as a fault in the copy, or an interrupt before it has
 *	ended, left them
 * @vaddr: address of the instruction
 *
 * Registers are then as if the instruction had faulted or been interrupted
 * at its own place.
 */
void uprobe_insn_abort(const struct uprobe_insn *ui,
		       const struct uprobe_insn_step *st,
		       struct pt_regs *regs, unsigned long vaddr)
{
	restore_scratch(ui, st, regs);
	regs->ip = vaddr;
}
