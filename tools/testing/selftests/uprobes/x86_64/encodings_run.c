// SPDX-License-Identifier: GPL-2.0-only
/*
 * The differential tester: the registers before and after an instruction.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "../encodings.h"

#define NT_ID		0x204000UL
#define HWCAP2_FSGSBASE	2

/* As the kernel lays it out; rsp of a returning handler is at uc. */
struct frame {
	__u64 room[8];
	ucontext_t uc;
};

static struct frame frame;
static __u64 own_fs_base;

/* Out of the sandbox. Segments are loaded only if the instruction did. */

static void leave_segments(struct registers *regs)
{
	asm volatile("mov %%ds, %0" : "=m"(regs->segments[0]));
	asm volatile("mov %%es, %0" : "=m"(regs->segments[1]));
	asm volatile("mov %%fs, %0" : "=m"(regs->segments[2]));
	asm volatile("mov %%gs, %0" : "=m"(regs->segments[3]));
	asm volatile("rdfsbase %0" : "=r"(regs->fs_base));
	asm volatile("rdgsbase %0" : "=r"(regs->gs_base));
	if (regs->segments[0] | regs->segments[1])
		asm volatile("mov %0, %%ds; mov %0, %%es" :: "r"(0));
	if (regs->segments[2] | regs->segments[3])
		asm volatile("mov %0, %%fs; mov %0, %%gs" :: "r"(0));
	asm volatile("wrfsbase %0" :: "r"(own_fs_base));
}

void leave(struct outcome *o, const ucontext_t *uc)
{
	struct registers *regs = &o->regs;

	leave_segments(regs);
	copy(regs->gregs, (__u64 *)uc->uc_mcontext.gregs, sizeof(regs->gregs));
	regs->uc_flags = uc->uc_flags;
	regs->uc_mask = uc->uc_sigmask.__val[0];
	leave_fpu(regs->xstate, uc->uc_mcontext.fpregs);
}

/* Into it. */

static void fill_frame(const struct state *st, __u64 ip)
{
	/* By number, as the frame has them */
	static const int gregs[16] = {
		REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI,
		REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13,
		REG_R14, REG_R15,
	};
	greg_t *to = frame.uc.uc_mcontext.gregs;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(gregs); i++)
		to[gregs[i]] = st->gpr[i];
	to[REG_RIP] = ip;
	to[REG_EFL] = st->flags;
}

void enter(const struct state *st, __u64 ip, struct rng *r)
{
	fill_frame(st, ip);
	fill_fpu(r);
	asm volatile("wrgsbase %0" :: "r"(st->gs_base));
	asm volatile("wrfsbase %0" :: "r"(st->fs_base));
	sandbox_enter(&frame.uc, 2 | (st->flags & NT_ID));
}

void enter_nowhere(void)
{
	frame.uc.uc_mcontext.gregs[REG_RIP] = NOWHERE;
	frame.uc.uc_mcontext.gregs[REG_EFL] = 2;
	sandbox_enter(&frame.uc, 2);
}

__u64 ip_of(const struct registers *regs)
{
	return regs->gregs[REG_RIP];
}

/* The set-up. */

void take_frame(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	/* The kernel's signal mask has one word */
	memcpy(&frame.uc, uc, offsetof(ucontext_t, uc_sigmask) + sizeof(__u64));
	frame.uc.uc_mcontext.fpregs = take_fpu(uc->uc_mcontext.fpregs);

	if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE))
		die("the CPU has no fsgsbase");
	asm volatile("rdfsbase %0" : "=r"(own_fs_base));
}

const char *register_name(size_t word)
{
	static const char * const gregs[NGREGS] = {
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi",
		"rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp", "rip",
		"flags", "cs,gs,fs,ss", "error code", "trap number",
		"old mask", "cr2",
	};
	static char name[32];
	size_t at = word * 8;

	if (word < NGREGS)
		return gregs[word];
	if (at < offsetof(struct registers, uc_mask))
		return "uc_flags";
	if (at < offsetof(struct registers, fs_base))
		return "signal mask";
	if (at < offsetof(struct registers, gs_base))
		return "fs base";
	if (at < offsetof(struct registers, segments))
		return "gs base";
	if (at < offsetof(struct registers, xstate))
		return "ds,es,fs,gs";
	sprintf(name, "xstate+%zu", at - offsetof(struct registers, xstate));
	return name;
}
