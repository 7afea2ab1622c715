// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the x86 instruction unit on the host: one step of the CPU.
 *
 * An int3 brings the test into a signal handler, which puts the registers of
 * the experiment, with TF set, into the context that it returns to. After one
 * instruction the CPU traps, or faults, into the same handler, which notes
 * the outcome and returns to the test. The handler's stack is its own: the
 * experiment may leave anything in rsp.
 */
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "test.h"

/* The frame's FPU state: legacy area, header, then the rest */
#define FPU_XMM		160
#define FPU_SW		464
#define FPU_FEATURES	512
#define FPU_YMM		576
#define FPU_MAGIC	0x46505853
#define XFEATURE_SSE	BIT(1)
#define XFEATURE_YMM	BIT(2)

/*
 * What of it an instruction can change: control and status words, MXCSR, x87
 * and XMM registers, then the upper halves, the mask registers and those of
 * AVX-512. Neither the last instruction pointer, known to differ in a copy,
 * nor what tells which parts are in use: a context switch changes that.
 */
static struct part {
	size_t offset, size;
} parts[7] = { { 0, 8 }, { 24, 4 }, { 32, 384 } };
static const int part_xfeatures[] = { 2, 5, 6, 7 };

/* Sticky flags that would follow the test around */
#define STICKY_FLAGS	(X86_EFLAGS_AC | X86_EFLAGS_NT | X86_EFLAGS_ID)

static ucontext_t saved;
static u8 saved_fpu[16384], start_fpu[16384];
static size_t fpu_size;
static bool in_experiment;
static struct pt_regs *exp_regs;
static struct cpu_result *exp_result;

static const struct {
	int greg;
	size_t offset;
} reg_map[] = {
	{ REG_RAX, offsetof(struct pt_regs, ax) },
	{ REG_RCX, offsetof(struct pt_regs, cx) },
	{ REG_RDX, offsetof(struct pt_regs, dx) },
	{ REG_RBX, offsetof(struct pt_regs, bx) },
	{ REG_RSP, offsetof(struct pt_regs, sp) },
	{ REG_RBP, offsetof(struct pt_regs, bp) },
	{ REG_RSI, offsetof(struct pt_regs, si) },
	{ REG_RDI, offsetof(struct pt_regs, di) },
	{ REG_R8, offsetof(struct pt_regs, r8) },
	{ REG_R9, offsetof(struct pt_regs, r9) },
	{ REG_R10, offsetof(struct pt_regs, r10) },
	{ REG_R11, offsetof(struct pt_regs, r11) },
	{ REG_R12, offsetof(struct pt_regs, r12) },
	{ REG_R13, offsetof(struct pt_regs, r13) },
	{ REG_R14, offsetof(struct pt_regs, r14) },
	{ REG_R15, offsetof(struct pt_regs, r15) },
	{ REG_RIP, offsetof(struct pt_regs, ip) },
	{ REG_EFL, offsetof(struct pt_regs, flags) },
};

static unsigned long *reg_at(struct pt_regs *regs, size_t i)
{
	return (void *)regs + reg_map[i].offset;
}

static void find_parts(void)
{
	u32 a, b, c, d, low, high;
	size_t i;

	asm volatile("xgetbv" : "=a" (low), "=d" (high) : "c" (0));
	for (i = 0; i < ARRAY_SIZE(part_xfeatures); i++) {
		if (!(low & BIT(part_xfeatures[i])))
			continue;
		__cpuid_count(0xd, part_xfeatures[i], a, b, c, d);
		parts[3 + i] = (struct part){ .offset = b, .size = a };
	}
}

static void save_parts(const u8 *frame, struct cpu_result *result)
{
	size_t i;

	result->fpu_size = 0;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		memcpy(result->fpu + result->fpu_size, frame + parts[i].offset,
		       parts[i].size);
		result->fpu_size += parts[i].size;
	}
}

/* The same vector registers for every experiment */
static void make_start_fpu(const u8 *frame)
{
	u64 features;
	u32 magic, size;
	size_t i;

	memcpy(&magic, frame + FPU_SW, sizeof(magic));
	memcpy(&size, frame + FPU_SW + 4, sizeof(size));
	if (magic != FPU_MAGIC || size > sizeof(saved_fpu)) {
		printf("Bail out! no extended FPU state in signal frames\n");
		_exit(2);
	}
	find_parts();
	fpu_size = size;
	memcpy(start_fpu, frame, fpu_size);

	memcpy(&features, start_fpu + FPU_FEATURES, sizeof(features));
	features |= XFEATURE_SSE;
	for (i = 0; i < 256; i++)
		start_fpu[FPU_XMM + i] = rnd();
	if (features & XFEATURE_YMM)
		for (i = 0; i < 256; i++)
			start_fpu[FPU_YMM + i] = rnd();
	memcpy(start_fpu + FPU_FEATURES, &features, sizeof(features));
}

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *gregs = uc->uc_mcontext.gregs;
	u8 *fpu = (u8 *)uc->uc_mcontext.fpregs;
	size_t i;

	/* Before anything that AC would disturb */
	asm volatile("lea	-128(%%rsp), %%rsp\n\t"
		     "pushfq\n\t"
		     "andq	%0, (%%rsp)\n\t"
		     "popfq\n\t"
		     "lea	128(%%rsp), %%rsp"
		     : : "i" (~STICKY_FLAGS) : "memory", "cc");

	if (!exp_regs) {
		/* Not ours: let it kill the test */
		signal(sig, SIG_DFL);
		return;
	}

	if (!in_experiment) {
		if (!fpu_size)
			make_start_fpu(fpu);
		in_experiment = true;
		memcpy(saved.uc_mcontext.gregs, gregs,
		       sizeof(saved.uc_mcontext.gregs));
		memcpy(saved_fpu, fpu, fpu_size);
		for (i = 0; i < ARRAY_SIZE(reg_map); i++)
			gregs[reg_map[i].greg] = *reg_at(exp_regs, i);
		/* The lowest of four segments */
		gregs[REG_CSGSFS] &= ~0xffffL;
		gregs[REG_CSGSFS] |= exp_regs->cs;
		gregs[REG_EFL] |= X86_EFLAGS_TF;
		memcpy(fpu, start_fpu, fpu_size);
		return;
	}

	in_experiment = false;
	for (i = 0; i < ARRAY_SIZE(reg_map); i++)
		*reg_at(exp_regs, i) = gregs[reg_map[i].greg];
	exp_result->sig = sig;
	exp_result->code = info->si_code;
	exp_result->addr = (unsigned long)info->si_addr;
	save_parts(fpu, exp_result);

	memcpy(gregs, saved.uc_mcontext.gregs,
	       sizeof(saved.uc_mcontext.gregs));
	memcpy(fpu, saved_fpu, fpu_size);
}

void cpu_init(void)
{
	static const int sigs[] = {
		SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE
	};
	static u8 stack[256 * 1024] __aligned(64);
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = {
		.sa_sigaction = handler,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};
	size_t i;

	if (sigaltstack(&ss, NULL)) {
		perror("sigaltstack");
		exit(2);
	}
	for (i = 0; i < ARRAY_SIZE(sigs); i++) {
		if (sigaction(sigs[i], &sa, NULL)) {
			perror("sigaction");
			exit(2);
		}
	}
}

/* The vector registers of each step are the same, whatever the last one did */
void cpu_step(struct pt_regs *regs, struct cpu_result *result)
{
	exp_regs = regs;
	exp_result = result;
	asm volatile("int3" : : : "memory");
	exp_regs = NULL;
}
