// SPDX-License-Identifier: GPL-2.0-only
/*
 * The differential tester in 32 bits: the registers before and after an
 * instruction.
 */
#include <asm/ldt.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "../encodings.h"
#include "../util.h"

#define NT_ID		0x204000UL
#define FSAVE_FOS	6
#define SYSINFO		"0x10"	/* in the C library's part of a thread */

/* As the kernel lays it out. */
static struct {
	__u32 pretcode;
	int sig;
	__u32 pinfo;
	__u32 puc;
	siginfo_t info;
	ucontext_t uc;
} frame;

/* Of a null selector, the next interrupt returns without the last two bits. */
static __u32 segment_left(__u32 selector)
{
	return selector < 4 ? 0 : selector;
}

void leave(struct outcome *o, const ucontext_t *uc)
{
	struct registers *regs = &o->regs;
	const mcontext_t *mc = &uc->uc_mcontext;
	unsigned int i;

	for (i = 0; i < NGREG; i++)
		regs->gregs[i] = (__u32)mc->gregs[i];
	for (i = REG_GS; i <= REG_DS; i++)
		regs->gregs[i] = segment_left(mc->gregs[i]);
	regs->gregs[i++] = mc->oldmask;
	regs->gregs[i] = mc->cr2;
	regs->uc_flags = uc->uc_flags;
	regs->uc_mask = uc->uc_sigmask.__val[0] |
			(__u64)uc->uc_sigmask.__val[1] << 32;
	copy(regs->fsave, (const __u64 *)mc->fpregs, FSAVE_SIZE);
	/* Linux puts that of now in the place of a segment then */
	((__u32 *)regs->fsave)[FSAVE_FOS] = 0;
	leave_fpu(regs->xstate, mc->fpregs);
}

void enter(const struct state *st, __u64 ip, struct rng *r)
{
	/* By number, as the frame has them */
	static const int gregs[NGPRS] = {
		REG_EAX, REG_ECX, REG_EDX, REG_EBX, REG_ESP, REG_EBP, REG_ESI,
		REG_EDI,
	};
	greg_t *to = frame.uc.uc_mcontext.gregs;
	unsigned int i;

	for (i = 0; i < NGPRS; i++)
		to[gregs[i]] = st->gpr[i];
	to[REG_DS] = st->ds;
	to[REG_ES] = st->es;
	to[REG_FS] = st->fs;
	to[REG_GS] = st->gs;
	to[REG_EIP] = ip;
	to[REG_EFL] = st->flags;
	fill_fpu(r);
	sandbox_enter(&frame, 2 | (st->flags & NT_ID));
}

void enter_nowhere(void)
{
	frame.uc.uc_mcontext.gregs[REG_EIP] = NOWHERE;
	frame.uc.uc_mcontext.gregs[REG_EFL] = 2;
	sandbox_enter(&frame, 2);
}

__u64 ip_of(const struct registers *regs)
{
	return regs->gregs[REG_EIP];
}

/* The set-up. */

static struct segment make_segment(__u32 base)
{
	struct user_desc desc = {
		.entry_number = -1,
		.base_addr = base,
		.limit = 0xfffff,
		.seg_32bit = 1,
		.limit_in_pages = 1,
	};

	if (syscall(SYS_set_thread_area, &desc))
		die("no segment: %s", strerror(errno));
	return (struct segment){ desc.entry_number << 3 | 3, base };
}

static void make_segments(void)
{
	asm("mov %%ds, %0" : "=r"(segments[SEGMENT_FLAT].selector));
	segments[SEGMENT_FS] = make_segment(WINDOW + PAGE_SZ / 4);
	segments[SEGMENT_GS] = make_segment(WINDOW + PAGE_SZ / 2);
}

static void share_window(void)
{
	if (mmap((void *)WINDOW, PAGE_SZ, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ||
	    mremap((void *)WINDOW, 0, PAGE_SZ, MREMAP_MAYMOVE | MREMAP_FIXED,
		   (void *)LOW_WINDOW) == MAP_FAILED)
		die("no memory at 0x%lx: %s", LOW_WINDOW, strerror(errno));
}

/* What is jumped to is often taken from memory, wherever that is aligned. */
static void make_noise_harmless(void)
{
	const __u8 last = (unsigned long)etext >> 16;
	__u8 *bytes = (__u8 *)noise;
	size_t i;

	for (i = 1; i < sizeof(noise); i++)
		if (bytes[i] == TESTER >> 24 && bytes[i - 1] <= last)
			bytes[i] ^= 1;
}

/*
 * The C library's system calls come from the tester, as its own do, and not
 * from the vDSO, which anybody can enter the kernel by.
 */
static void leave_vdso(void)
{
	asm volatile("mov %0, %%gs:" SYSINFO :: "r"(sandbox_syscall));
}

void take_frame(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	/* The kernel's signal mask has two words */
	memcpy(&frame.uc, uc, offsetof(ucontext_t, uc_sigmask) + sizeof(__u64));
	frame.uc.uc_mcontext.fpregs = take_fpu(uc->uc_mcontext.fpregs);
	make_noise_harmless();
	share_window();
	make_segments();
	leave_vdso();
}

const char *register_name(size_t word)
{
	static const char * const gregs[NGREGS] = {
		"gs", "fs", "es", "ds", "edi", "esi", "ebp", "esp", "ebx",
		"edx", "ecx", "eax", "trap number", "error code", "eip", "cs",
		"flags", "esp at signal", "ss", "old mask", "cr2",
	};
	static char name[32];
	size_t at = word * 8;

	if (word < NGREGS)
		return gregs[word];
	if (at < offsetof(struct registers, uc_mask))
		return "uc_flags";
	if (at < offsetof(struct registers, fsave))
		return "signal mask";
	if (at < offsetof(struct registers, xstate))
		sprintf(name, "fsave+%zu",
			at - offsetof(struct registers, fsave));
	else
		sprintf(name, "xstate+%zu",
			at - offsetof(struct registers, xstate));
	return name;
}
