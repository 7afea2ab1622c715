// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space probes: how to execute one x86-64 instruction away from its
 * place.
 *
 * The analysis sorts instructions into three:
 *
 *  - emulated on pt_regs: what functions begin and end with, and everything
 *    whose result depends on where it stands (branches, calls);
 *  - run from a copy: what does not depend on its place, after an operand
 *    relative to rip has been rewritten to use a borrowed register;
 *  - refused, each for a reason given at its opcode.
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
 * The one known trace: an x87 instruction run from a copy leaves the address
 * of the copy in the FPU's last instruction pointer.
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

/* Reasons given more than once */
static const char why_unknown[] = "unknown or undefined instruction";
static const char why_not_64bit[] = "not an instruction of 64-bit mode";
static const char why_privileged[] = "privileged instruction";
static const char why_io[] = "I/O instruction";
static const char why_far[] = "far control transfer";
static const char why_trap[] = "instruction that traps";
static const char why_syscall[] = "system call or return from one";
static const char why_shadow[] = "takes a segment for the stack: masks the trap of the step";
static const char why_cet[] = "shadow stack instruction";
static const char why_umip[] = "may be emulated by the kernel";
static const char why_tsx[] = "part of a transaction, which a probe aborts";
static const char why_monitor[] = "waits on a monitor, which a probe disarms";
static const char why_amd3d[] = "3DNow! instruction";
static const char why_branch66[] = "branch with operand size prefix: CPUs differ";
static const char why_loop_rep[] = "loop with repeat prefix: CPUs differ";
static const char why_flags66[] = "16-bit flags";

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
	offsetof(struct pt_regs, r8),
	offsetof(struct pt_regs, r9),
	offsetof(struct pt_regs, r10),
	offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12),
	offsetof(struct pt_regs, r13),
	offsetof(struct pt_regs, r14),
	offsetof(struct pt_regs, r15),
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
	return insn->modrm.nbytes && (insn->modrm.bytes[0] & 0xc7) == 0x05;
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
 * Classification. Each function takes an opcode map, returns NULL for an
 * instruction that is known to be executed exactly, and the reason for any
 * other. Without further notice an instruction runs from its copy.
 */

/* Intel ignores the prefix, AMD truncates the instruction pointer */
static const char *near_branch(struct uprobe_insn *ui, const struct insn *insn,
			       enum uprobe_insn_op op)
{
	if (has_prefix(insn, PFX_OPSIZE))
		return why_branch66;
	ui->op = op;
	return NULL;
}

static const char *near_branch_rel(struct uprobe_insn *ui,
				   const struct insn *insn,
				   enum uprobe_insn_op op)
{
	ui->imm = insn->immediate.value;
	return near_branch(ui, insn, op);
}

/* Stack operations of 16 bits run from their copies */
static const char *stack_op(struct uprobe_insn *ui, const struct insn *insn,
			    enum uprobe_insn_op op)
{
	if (has_prefix(insn, PFX_OPSIZE))
		return NULL;
	ui->op = op;
	return NULL;
}

static const char *mov_reg(struct uprobe_insn *ui, const struct insn *insn,
			   u8 dst, u8 src)
{
	if (modrm_mod(insn) != 3)
		return NULL;
	if (has_prefix(insn, PFX_OPSIZE) && !X86_REX_W(rex(insn)))
		return NULL;
	ui->op = UPROBE_INSN_MOV;
	ui->reg = dst;
	ui->base = src;
	ui->wide = !!X86_REX_W(rex(insn));
	return NULL;
}

/* Emulated: a base and a displacement. An index runs from the copy. */
static const char *lea(struct uprobe_insn *ui, const struct insn *insn)
{
	u8 sib = insn->sib.bytes[0];
	u8 base = rm_operand(insn);

	if (modrm_mod(insn) == 3)
		return why_unknown;
	if (has_prefix(insn, PFX_OPSIZE) || has_prefix(insn, PFX_ADDRSIZE))
		return NULL;

	if (insn->sib.nbytes) {
		if (X86_SIB_INDEX(sib) != REG_SP || X86_REX_X(rex(insn)))
			return NULL;
		if (X86_SIB_BASE(sib) == REG_BP && modrm_mod(insn) == 0)
			return NULL;
		base = X86_SIB_BASE(sib) | (base & 8);
	} else if (modrm_mod(insn) == 0 && (base & 7) == REG_BP) {
		base = UPROBE_INSN_REG_RIP;
	}

	ui->op = UPROBE_INSN_LEA;
	ui->reg = reg_operand(insn);
	ui->base = base;
	ui->wide = !!X86_REX_W(rex(insn));
	ui->imm = insn->displacement.value;
	return NULL;
}

/* 81, 83: add ... cmp; add and sub are how a stack frame comes and goes */
static const char *arith_imm(struct uprobe_insn *ui, const struct insn *insn)
{
	u8 reg = modrm_reg(insn);

	if (modrm_mod(insn) != 3 || !X86_REX_W(rex(insn)))
		return NULL;
	if (reg != 0 && reg != 5)
		return NULL;
	ui->op = reg ? UPROBE_INSN_SUB : UPROBE_INSN_ADD;
	ui->reg = rm_operand(insn);
	ui->imm = insn->immediate.value;
	return NULL;
}

/* 8e: mov to a segment register */
static const char *mov_to_segment(const struct insn *insn)
{
	switch (modrm_reg(insn)) {
	case 0: /* es */
	case 3: /* ds */
	case 4: /* fs */
	case 5: /* gs */
		return NULL;
	case 2: /* ss */
		return why_shadow;
	}
	return why_unknown;
}

/* ff */
static const char *group_5(struct uprobe_insn *ui, const struct insn *insn)
{
	bool mem = has_memory_operand(insn);

	switch (modrm_reg(insn)) {
	case 0: /* inc */
	case 1: /* dec */
	case 6: /* push */
		return NULL;
	case 2: /* call */
		ui->base = rm_operand(insn);
		return near_branch(ui, insn, mem ? UPROBE_INSN_CALL_MEM :
						   UPROBE_INSN_CALL_REG);
	case 4: /* jmp */
		ui->base = rm_operand(insn);
		return near_branch(ui, insn, mem ? UPROBE_INSN_JMP_MEM :
						   UPROBE_INSN_JMP_REG);
	case 3: /* lcall */
	case 5: /* ljmp */
		return why_far;
	}
	return why_unknown;
}

static const char *classify_one_byte(struct uprobe_insn *ui,
				     const struct insn *insn)
{
	u8 op = insn->opcode.bytes[0];
	u8 reg = modrm_reg(insn);

	switch (op) {
	case 0x00 ... 0x05: /* add */
	case 0x08 ... 0x0d: /* or */
	case 0x10 ... 0x15: /* adc */
	case 0x18 ... 0x1d: /* sbb */
	case 0x20 ... 0x25: /* and */
	case 0x28 ... 0x2d: /* sub */
	case 0x30 ... 0x35: /* xor */
	case 0x38 ... 0x3d: /* cmp */
		return NULL;
	case 0x06: case 0x07: /* push es, pop es */
	case 0x0e: /* push cs */
	case 0x16: case 0x17: /* push ss, pop ss */
	case 0x1e: case 0x1f: /* push ds, pop ds */
	case 0x27: /* daa */
	case 0x2f: /* das */
	case 0x37: /* aaa */
	case 0x3f: /* aas */
		return why_not_64bit;
	case 0x50 ... 0x57: /* push */
		ui->reg = opcode_operand(insn);
		return stack_op(ui, insn, UPROBE_INSN_PUSH_REG);
	case 0x58 ... 0x5f: /* pop */
		ui->reg = opcode_operand(insn);
		return stack_op(ui, insn, UPROBE_INSN_POP_REG);
	case 0x60: case 0x61: /* pusha, popa */
		return why_not_64bit;
	case 0x63: /* movsxd */
		return NULL;
	case 0x68: /* push imm32 */
	case 0x6a: /* push imm8 */
		ui->imm = insn->immediate.value;
		return stack_op(ui, insn, UPROBE_INSN_PUSH_IMM);
	case 0x69: case 0x6b: /* imul */
		return NULL;
	case 0x6c ... 0x6f: /* ins, outs */
		return why_io;
	case 0x70 ... 0x7f: /* jcc rel8 */
		ui->cc = op & 0xf;
		return near_branch_rel(ui, insn, UPROBE_INSN_JCC);
	case 0x80: /* add ... cmp */
		return NULL;
	case 0x81: case 0x83: /* add ... cmp */
		return arith_imm(ui, insn);
	case 0x82:
		return why_not_64bit;
	case 0x84: case 0x85: /* test */
	case 0x86: case 0x87: /* xchg */
	case 0x88: case 0x8a: /* mov, 8-bit */
		return NULL;
	case 0x89: /* mov reg, r/m */
		return mov_reg(ui, insn, rm_operand(insn), reg_operand(insn));
	case 0x8b: /* mov r/m, reg */
		return mov_reg(ui, insn, reg_operand(insn), rm_operand(insn));
	case 0x8c: /* mov from a segment register */
		return reg <= 5 ? NULL : why_unknown;
	case 0x8d:
		return lea(ui, insn);
	case 0x8e:
		return mov_to_segment(insn);
	case 0x8f: /* pop; all else is XOP, which the decoder does not know */
		return reg == 0 ? NULL : "XOP or undefined instruction";
	case 0x90: /* nop, pause; xchg %r8, %rax with REX.B */
		ui->op = X86_REX_B(rex(insn)) ? UPROBE_INSN_STEP :
						UPROBE_INSN_NOP;
		return NULL;
	case 0x91 ... 0x97: /* xchg */
	case 0x98: /* cbw, cwde, cdqe */
	case 0x99: /* cwd, cdq, cqo */
		return NULL;
	case 0x9a: /* lcall */
		return why_not_64bit;
	case 0x9b: /* fwait */
		return NULL;
	case 0x9c:
		ui->op = UPROBE_INSN_PUSHF;
		return has_prefix(insn, PFX_OPSIZE) ? why_flags66 : NULL;
	case 0x9d:
		ui->op = UPROBE_INSN_POPF;
		return has_prefix(insn, PFX_OPSIZE) ? why_flags66 : NULL;
	case 0x9e: case 0x9f: /* sahf, lahf */
	case 0xa0 ... 0xa3: /* mov moffs */
	case 0xa4: case 0xa5: /* movs */
	case 0xa6: case 0xa7: /* cmps */
	case 0xa8: case 0xa9: /* test */
	case 0xaa: case 0xab: /* stos */
	case 0xac: case 0xad: /* lods */
	case 0xae: case 0xaf: /* scas */
	case 0xb0 ... 0xbf: /* mov imm */
		return NULL;
	case 0xc0: case 0xc1: /* rol ... sar */
	case 0xd0 ... 0xd3:
		return reg != 6 ? NULL : why_unknown;
	case 0xc2: /* ret imm16, unsigned */
		ui->imm = (u16)insn->immediate.value;
		return near_branch(ui, insn, UPROBE_INSN_RET);
	case 0xc3:
		return near_branch(ui, insn, UPROBE_INSN_RET);
	case 0xc6: case 0xc7: /* mov imm; xabort, xbegin */
		if (insn->modrm.bytes[0] == 0xf8)
			return why_tsx;
		return reg == 0 ? NULL : why_unknown;
	case 0xc8: /* enter */
		return NULL;
	case 0xc9:
		return stack_op(ui, insn, UPROBE_INSN_LEAVE);
	case 0xca: case 0xcb: /* lret */
	case 0xcf: /* iret */
		return why_far;
	case 0xcc: /* int3 */
	case 0xcd: /* int */
	case 0xf1: /* int1 */
		return why_trap;
	case 0xce: /* into */
	case 0xd4: /* aam */
		return why_not_64bit;
	case 0xd7: /* xlat */
	case 0xd8 ... 0xdf: /* x87 */
		return NULL;
	case 0xe0 ... 0xe3: /* loopne, loope, loop, jrcxz */
		/* AMD takes the condition from the prefix */
		if (has_prefix(insn, PFX_REPNE) || has_prefix(insn, PFX_REPE))
			return why_loop_rep;
		ui->cc = op & 3;
		ui->wide = !has_prefix(insn, PFX_ADDRSIZE);
		return near_branch_rel(ui, insn, UPROBE_INSN_LOOP);
	case 0xe4 ... 0xe7: case 0xec ... 0xef: /* in, out */
		return why_io;
	case 0xe8:
		return near_branch_rel(ui, insn, UPROBE_INSN_CALL_REL);
	case 0xe9: case 0xeb:
		return near_branch_rel(ui, insn, UPROBE_INSN_JMP_REL);
	case 0xea: /* ljmp */
		return why_not_64bit;
	case 0xf4: /* hlt */
		return why_privileged;
	case 0xf5: /* cmc */
	case 0xf6: case 0xf7: /* test, not, neg, mul, imul, div, idiv */
	case 0xf8: case 0xf9: /* clc, stc */
	case 0xfc: case 0xfd: /* cld, std */
		return NULL;
	case 0xfa: case 0xfb: /* cli, sti: emulated after iopl() */
		return why_privileged;
	case 0xfe: /* inc, dec */
		return reg <= 1 ? NULL : why_unknown;
	case 0xff:
		return group_5(ui, insn);
	}
	return why_unknown;
}

/* 0f 01: nearly all of it is for kernels and hypervisors */
static const char *group_7(const struct insn *insn)
{
	if (has_prefix(insn, PFX_OPSIZE) || has_prefix(insn, PFX_REPNE) ||
	    has_prefix(insn, PFX_REPE))
		return why_unknown;

	switch (insn->modrm.bytes[0]) {
	case 0xd0: /* xgetbv */
	case 0xd6: /* xtest */
	case 0xe8: /* serialize */
	case 0xee: /* rdpkru */
	case 0xef: /* wrpkru */
	case 0xf9: /* rdtscp */
	case 0xfc: /* clzero */
	case 0xfd: /* rdpru */
		return NULL;
	case 0xc8: case 0xc9: /* monitor, mwait */
	case 0xfa: case 0xfb: /* monitorx, mwaitx */
		return why_monitor;
	case 0xd5: /* xend */
		return why_tsx;
	}

	if (modrm_reg(insn) == 4) /* smsw */
		return why_umip;
	if (has_memory_operand(insn) && modrm_reg(insn) <= 1) /* sgdt, sidt */
		return why_umip;
	return why_privileged;
}

/* 0f ae */
static const char *group_15(const struct insn *insn)
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
			return why_cet;
		if (repe || repne || (opsize && reg < 6))
			return why_unknown;
		return NULL;
	}

	if (repe && !opsize) {
		if (reg <= 3) /* rdfsbase, rdgsbase, wrfsbase, wrgsbase */
			return NULL;
		if (reg == 5) /* incssp */
			return why_cet;
		if (reg == 6) /* umonitor */
			return why_monitor;
		return why_unknown;
	}
	if (opsize || repne) /* tpause, umwait */
		return reg == 6 ? why_monitor : why_unknown;

	/* lfence, mfence, sfence */
	return reg >= 5 ? NULL : why_unknown;
}

/* 0f c7 */
static const char *group_9(const struct insn *insn)
{
	u8 reg = modrm_reg(insn);
	bool repe = has_prefix(insn, PFX_REPE);

	if (has_memory_operand(insn)) {
		/* cmpxchg8b, cmpxchg16b, xsavec */
		return reg == 1 || reg == 4 ? NULL : why_privileged;
	}
	if (reg == 6 && !repe) /* rdrand; senduipi with f3 */
		return NULL;
	if (reg == 7) /* rdseed, rdpid */
		return NULL;
	return why_unknown;
}

/* 0f 1e: reserved for hints, of which endbr and rdssp exist */
static const char *hint_1e(struct uprobe_insn *ui, const struct insn *insn)
{
	u8 modrm = insn->modrm.bytes[0];

	if (!has_prefix(insn, PFX_REPE))
		return NULL;
	if (modrm == 0xfa || modrm == 0xfb) /* endbr64, endbr32 */
		ui->op = UPROBE_INSN_NOP;
	else if (modrm_mod(insn) == 3 && modrm_reg(insn) == 1)
		return why_cet;
	return NULL;
}

static const char *classify_two_byte(struct uprobe_insn *ui,
				     const struct insn *insn)
{
	u8 op = insn->opcode.bytes[1];
	u8 reg = modrm_reg(insn);
	bool mem = has_memory_operand(insn);

	/* Without ModRM */
	switch (op) {
	case 0x05: /* syscall */
	case 0x07: /* sysret */
	case 0x34: /* sysenter */
	case 0x35: /* sysexit */
		return why_syscall;
	case 0x06: /* clts */
	case 0x08: case 0x09: /* invd, wbinvd */
	case 0x30: case 0x32: /* wrmsr, rdmsr */
	case 0x37: /* getsec */
	case 0xaa: /* rsm */
		return why_privileged;
	case 0x0e: case 0x0f: /* femms, 3DNow! */
		return why_amd3d;
	case 0x0b: /* ud2 */
	case 0x31: case 0x33: /* rdtsc, rdpmc */
	case 0x77: /* emms */
	case 0xa0: case 0xa1: /* push fs, pop fs */
	case 0xa2: /* cpuid */
	case 0xa8: case 0xa9: /* push gs, pop gs */
	case 0xc8 ... 0xcf: /* bswap */
		return NULL;
	case 0x80 ... 0x8f: /* jcc rel32 */
		ui->cc = op & 0xf;
		return near_branch_rel(ui, insn, UPROBE_INSN_JCC);
	}

	/*
	 * All others have one. Where the decoder sees none, it takes a prefix
	 * to make another opcode of it, and its length is not to be trusted.
	 */
	if (!insn->modrm.nbytes)
		return why_unknown;

	switch (op) {
	case 0x00: /* verr, verw; sldt, str; lldt, ltr, lkgs */
		if (reg <= 1)
			return why_umip;
		return reg == 4 || reg == 5 ? NULL : why_privileged;
	case 0x01:
		return group_7(insn);
	case 0x02: case 0x03: /* lar, lsl */
	case 0x10 ... 0x17: /* SSE */
		return NULL;
	case 0x0d: /* prefetch, prefetchw */
		return mem ? NULL : why_unknown;
	case 0x18: /* prefetch: changes no state that a program can see */
	case 0x1f: /* nop */
		ui->op = UPROBE_INSN_NOP;
		return NULL;
	case 0x1a: case 0x1b: /* MPX, which is never enabled: hints */
	case 0x1c: /* cldemote and hints */
		return NULL;
	case 0x1e:
		return hint_1e(ui, insn);
	case 0x20 ... 0x23: /* mov to and from control and debug registers */
	case 0x78: case 0x79: /* vmread, vmwrite */
		return why_privileged;
	case 0x28 ... 0x2f: /* SSE */
	case 0x40 ... 0x4f: /* cmovcc */
	case 0x50 ... 0x70: case 0x74 ... 0x76: /* SSE, MMX */
	case 0x7c ... 0x7f:
		return NULL;
	case 0x71: case 0x72: /* shifts by an immediate */
		return !mem && one_of(reg, BIT(2) | BIT(4) | BIT(6)) ?
		       NULL : why_unknown;
	case 0x73:
		return !mem && one_of(reg, BIT(2) | BIT(3) | BIT(6) | BIT(7)) ?
		       NULL : why_unknown;
	case 0x90 ... 0x9f: /* setcc */
	case 0xa3: /* bt */
	case 0xa4: case 0xa5: /* shld */
	case 0xab: /* bts */
	case 0xac: case 0xad: /* shrd */
		return NULL;
	case 0xae:
		return group_15(insn);
	case 0xaf: /* imul */
	case 0xb0: case 0xb1: /* cmpxchg */
		return NULL;
	case 0xb2: /* lss */
		return why_shadow;
	case 0xb3: /* btr */
		return NULL;
	case 0xb4: case 0xb5: /* lfs, lgs */
		return mem ? NULL : why_unknown;
	case 0xb6: case 0xb7: /* movzx */
	case 0xb8: /* popcnt */
		return NULL;
	case 0xb9: case 0xff: /* ud1, ud0: CPUs differ in their length */
		return why_unknown;
	case 0xba: /* bt, bts, btr, btc */
		return reg >= 4 ? NULL : why_unknown;
	case 0xbb: /* btc */
	case 0xbc: case 0xbd: /* bsf, bsr, tzcnt, lzcnt */
	case 0xbe: case 0xbf: /* movsx */
	case 0xc0: case 0xc1: /* xadd */
	case 0xc2 ... 0xc6: /* SSE, MMX, movnti */
		return NULL;
	case 0xc7:
		return group_9(insn);
	case 0xd0 ... 0xfe: /* SSE, MMX */
		return NULL;
	}
	return why_unknown;
}

static const char *classify_0f38(const struct insn *insn)
{
	bool opsize = has_prefix(insn, PFX_OPSIZE);
	bool repne = has_prefix(insn, PFX_REPNE);
	bool repe = has_prefix(insn, PFX_REPE);

	/* All have one where their prefix makes them exist */
	if (!insn->modrm.nbytes)
		return why_unknown;

	switch (insn->opcode.bytes[2]) {
	case 0x00 ... 0x0b: case 0x1c ... 0x1e: /* SSSE3 */
	case 0x10: case 0x14: case 0x15: case 0x17: /* SSE4 */
	case 0x20 ... 0x25: case 0x28 ... 0x2b:
	case 0x30 ... 0x35: case 0x37 ... 0x41:
	case 0xc8 ... 0xcd: /* SHA */
	case 0xcf: /* gf2p8mulb */
	case 0xd8: /* Key Locker */
	case 0xdb ... 0xdf: /* AES, Key Locker */
	case 0xf0: case 0xf1: /* movbe, crc32 */
	case 0xf9: /* movdiri */
	case 0xfa: case 0xfb: /* Key Locker */
	case 0xfc: /* aadd, aand, aor, axor */
		return NULL;
	case 0x80 ... 0x82: /* invept, invvpid, invpcid */
		return why_privileged;
	case 0xf5: /* wruss */
		return why_cet;
	case 0xf6: /* adcx, adox; wrss */
		return opsize || repe ? NULL : why_cet;
	case 0xf8: /* movdir64b; enqcmd, enqcmds, urdmsr, uwrmsr */
		return repne || repe ? why_privileged : NULL;
	}
	return why_unknown;
}

static const char *classify_0f3a(const struct insn *insn)
{
	if (!insn->modrm.nbytes)
		return why_unknown;

	switch (insn->opcode.bytes[2]) {
	case 0x08 ... 0x0f: case 0x14 ... 0x17: /* SSE4, palignr */
	case 0x20 ... 0x22: case 0x40 ... 0x42: case 0x60 ... 0x63:
	case 0x44: /* pclmulqdq */
	case 0xcc: /* sha1rnds4 */
	case 0xce: case 0xcf: /* gf2p8affineqb, gf2p8affineinvqb */
	case 0xdf: /* aeskeygenassist */
		return NULL;
	case 0xf0: /* hreset */
		return why_privileged;
	}
	return why_unknown;
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
		return map >= 1 && map <= 3 ? NULL : why_unknown;

	/* APX: map 4, and bits that were reserved until then */
	if (map == 4 || (vex[1] & 0x08) || !(vex[2] & 0x04))
		return "APX instruction";
	return one_of(map, BIT(1) | BIT(2) | BIT(3) | BIT(5) | BIT(6)) ?
	       NULL : why_unknown;
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
	if (insn->opcode.bytes[0] != 0x0f)
		return classify_one_byte(ui, insn);
	if (insn->opcode.bytes[1] == 0x38)
		return classify_0f38(insn);
	if (insn->opcode.bytes[1] == 0x3a)
		return classify_0f3a(insn);
	return classify_two_byte(ui, insn);
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

static bool is_canonical(unsigned long addr)
{
	return __is_canonical_address(addr, __VIRTUAL_MASK_SHIFT + 1);
}

/**
 * uprobe_insn_analyze - find out how to execute an instruction
 * @ui: filled in
 * @bytes: the instruction, and what follows it
 * @n: how many bytes can be read, at most MAX_INSN_SIZE are looked at
 * @vaddr: address of the instruction in the program
 * @why: set to a short reason on failure
 *
 * 64-bit code only.
 *
 * Return: 0; -EINVAL when the instruction is longer than @n; -EOPNOTSUPP
 * when it is not known to be executed exactly.
 */
int uprobe_insn_analyze(struct uprobe_insn *ui, const u8 *bytes, size_t n,
			unsigned long vaddr, const char **why)
{
	struct insn insn;
	int ret;

	memset(ui, 0, sizeof(*ui));
	ui->scratch = UPROBE_INSN_REG_NONE;

	n = n < MAX_INSN_SIZE ? n : MAX_INSN_SIZE;
	ret = insn_decode(&insn, bytes, n, INSN_MODE_64);
	if (ret == -ENODATA && n < MAX_INSN_SIZE) {
		*why = "runs past readable text";
		return -EINVAL;
	}
	if (ret) {
		*why = why_unknown;
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
		if (is_canonical(vaddr + ui->len + ui->imm))
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

/*
 * User's stack. Single accesses of eight bytes: like the CPU's, they happen
 * entirely or not at all.
 */

/* A program that asked for alignment checks gets them from the copy */
static bool misaligned(const struct pt_regs *regs, unsigned long sp)
{
	return (regs->flags & X86_EFLAGS_AC) && (sp & 7);
}

static bool push(struct pt_regs *regs, unsigned long value)
{
	unsigned long sp = regs->sp - 8;

	if (misaligned(regs, sp) || put_user(value, (unsigned long __user *)sp))
		return false;
	regs->sp = sp;
	return true;
}

/* Read only: the caller moves the stack pointer */
static bool peek(const struct pt_regs *regs, unsigned long sp,
		 unsigned long *value)
{
	return !misaligned(regs, sp) &&
	       !get_user(*value, (unsigned long __user *)sp);
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

/* Flags of @a + @b = @sum; of a subtraction with sum + subtrahend = minuend */
static void arith_flags(struct pt_regs *regs, unsigned long a, unsigned long b,
			unsigned long sum, unsigned long result)
{
	unsigned long carry = (a & b) | ((a | b) & ~sum);
	unsigned long flags = 0;
	u8 parity = result ^ (result >> 4);

	if (carry >> 63)
		flags |= X86_EFLAGS_CF;
	if (carry & 0x08)
		flags |= X86_EFLAGS_AF;
	if ((carry ^ (carry << 1)) >> 63)
		flags |= X86_EFLAGS_OF;
	if (!result)
		flags |= X86_EFLAGS_ZF;
	if (result >> 63)
		flags |= X86_EFLAGS_SF;
	/* Bit i of the constant: i has an even number of ones */
	if (0x9669 >> (parity & 0xf) & 1)
		flags |= X86_EFLAGS_PF;

	regs->flags = (regs->flags & ~ARITH_MASK) | flags;
}

static void emulate_add(struct pt_regs *regs, unsigned long *reg,
			unsigned long imm)
{
	unsigned long sum = *reg + imm;

	arith_flags(regs, *reg, imm, sum, sum);
	*reg = sum;
}

/* The borrows of reg - imm are the carries of result + imm */
static void emulate_sub(struct pt_regs *regs, unsigned long *reg,
			unsigned long imm)
{
	unsigned long result = *reg - imm;

	arith_flags(regs, result, imm, *reg, result);
	*reg = result;
}

/* loopne, loope and loop count, jrcxz looks; only the result is written */
static bool loop_taken(const struct uprobe_insn *ui, struct pt_regs *regs)
{
	unsigned long count = ui->wide ? regs->cx : (u32)regs->cx;
	bool zf = regs->flags & X86_EFLAGS_ZF;

	if (ui->cc == 3)
		return !count;

	count = ui->wide ? count - 1 : (u32)(count - 1);
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
	case UPROBE_INSN_CALL_MEM:
	case UPROBE_INSN_JMP_MEM:
		return false;
	case UPROBE_INSN_NOP:
		break;
	case UPROBE_INSN_PUSH_REG:
		if (!push(regs, *reg_of(regs, ui->reg)))
			return false;
		break;
	case UPROBE_INSN_PUSH_IMM:
		if (!push(regs, ui->imm))
			return false;
		break;
	case UPROBE_INSN_POP_REG:
		if (!peek(regs, regs->sp, &value))
			return false;
		/* In this order for the sake of pop %rsp */
		regs->sp += 8;
		*reg_of(regs, ui->reg) = value;
		break;
	case UPROBE_INSN_LEAVE:
		if (!peek(regs, regs->bp, &value))
			return false;
		regs->sp = regs->bp + 8;
		regs->bp = value;
		break;
	case UPROBE_INSN_PUSHF:
		if (!push(regs, pushed_flags(regs)))
			return false;
		break;
	case UPROBE_INSN_POPF:
		if (!peek(regs, regs->sp, &value))
			return false;
		regs->sp += 8;
		load_flags(regs, value);
		break;
	case UPROBE_INSN_MOV:
		value = *reg_of(regs, ui->base);
		*reg_of(regs, ui->reg) = ui->wide ? value : (u32)value;
		break;
	case UPROBE_INSN_LEA:
		value = ui->base == UPROBE_INSN_REG_RIP ?
			next : *reg_of(regs, ui->base);
		value += ui->imm;
		*reg_of(regs, ui->reg) = ui->wide ? value : (u32)value;
		break;
	case UPROBE_INSN_ADD:
		emulate_add(regs, reg_of(regs, ui->reg), ui->imm);
		break;
	case UPROBE_INSN_SUB:
		emulate_sub(regs, reg_of(regs, ui->reg), ui->imm);
		break;
	case UPROBE_INSN_RET:
		if (!peek(regs, regs->sp, &value) || !is_canonical(value))
			return false;
		regs->sp += 8 + ui->imm;
		next = value;
		break;
	case UPROBE_INSN_CALL_REL:
		if (!push(regs, next))
			return false;
		next += ui->imm;
		break;
	case UPROBE_INSN_CALL_REG:
		value = *reg_of(regs, ui->base);
		if (!is_canonical(value) || !push(regs, next))
			return false;
		next = value;
		break;
	case UPROBE_INSN_JMP_REL:
		next += ui->imm;
		break;
	case UPROBE_INSN_JMP_REG:
		value = *reg_of(regs, ui->base);
		if (!is_canonical(value))
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

	regs->ip = next;
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
	unsigned long next = regs->ip + ui->len;

	*st = (struct uprobe_insn_step){ .value = next, .target = next };
	regs->ip = copy;

	switch (ui->op) {
	case UPROBE_INSN_PUSHF:
		st->value = pushed_flags(regs);
		break;
	case UPROBE_INSN_CALL_REL:
		st->target = next + ui->imm;
		break;
	}

	if (ui->scratch == UPROBE_INSN_REG_NONE)
		return;
	st->scratch = *reg_of(regs, ui->scratch);
	*reg_of(regs, ui->scratch) = next;
}

/**
 * uprobe_insn_unfinished - must the copy be run again?
 * @ui: the instruction
 * @regs: registers as the trap of the step left them
 * @copy: address of ui->copy in the program
 *
 * A string instruction with a repeat prefix traps after each iteration with
 * ip unmoved, and so may any other that can be interrupted half way. The
 * step then goes on: set TF, return to user mode, do not run handlers. It may
 * also be given up with uprobe_insn_abort(), to be continued at the original
 * address.
 *
 * Return: true if the instruction has not come to its end.
 */
bool uprobe_insn_unfinished(const struct uprobe_insn *ui,
			    const struct pt_regs *regs, unsigned long copy)
{
	return ui->op == UPROBE_INSN_STEP && regs->ip == copy;
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
	unsigned long __user *top = (unsigned long __user *)regs->sp;
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
		if (!put_user(st->value, top))
			break;
		regs->sp += 8;
		regs->ip = vaddr;
		return false;
	case UPROBE_INSN_POPF:
		load_flags(regs, popped);
		regs->ip = vaddr + ui->len;
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
