// SPDX-License-Identifier: GPL-2.0-only
/*
 * The differential tester: the registers before and after an instruction.
 */
#include <asm/ptrace.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ucontext.h>

#include "../encodings.h"

#define PT_PPR		44
#define DATA_STORAGE	0x300
#define ALIGNMENT	0x600
#define SPR_DSCR	3
#define SPR_EBBHR	804
#define SPR_EBBRR	805
#define SPR_BESCR	806
#define SPR_TAR		815
#define SPR_PPR		896

#define MSR_FP		0x2000UL
#define MSR_FE		0x900UL
#define MSR_VEC		0x2000000UL
#define MSR_VSX		0x800000UL
/*
 * Where the kernel has those registers at the moment, and what it has the CPU
 * do about exceptions while it has them.
 */
#define MSR_LAZY	(MSR_FP | MSR_FE | MSR_VEC | MSR_VSX)

static __always_inline unsigned long get_spr(int nr)
{
	unsigned long value;

	asm volatile("mfspr %0, %1" : "=r"(value) : "i"(nr));
	return value;
}

static __always_inline void set_spr(int nr, unsigned long value)
{
	asm volatile("mtspr %0, %1" :: "i"(nr), "r"(value));
}

/* 64 bits, which have no name in 32-bit programs. */
static void reset_ppr(void)
{
	unsigned long upper_half = 0xc0000;

	asm volatile("rldicr %0, %0, 32, 31; mtspr %1, %0"
		     : "+r"(upper_half) : "i"(SPR_PPR));
}

/* As the kernel lays it out: where registers are in a frame. */
#ifdef _LP64
#define FRAME_GREGS	(PT_PPR + 1)
#define NVECTORS	34	/* with VSCR, and with VRSAVE */

static struct {
	ucontext_t uc;
} frame;

static alignas(16) __u64 vectors[2 * NVECTORS + 32];

static unsigned long *gregs_of(const ucontext_t *uc)
{
	return (unsigned long *)uc->uc_mcontext.gp_regs;
}

static __u64 *fpregs_of(const ucontext_t *uc)
{
	return (__u64 *)uc->uc_mcontext.fp_regs;
}

static __u64 *vectors_of(const ucontext_t *uc)
{
	return (__u64 *)uc->uc_mcontext.v_regs;
}
#else
#define FRAME_GREGS	(PT_RESULT + 1)
#define NVECTORS	33	/* VRSAVE is in the one that has VSCR */

static struct {
	__u32 gap[20];
	siginfo_t info;
	ucontext_t uc;
} frame;

static alignas(16) struct machine {
	unsigned long gregs[NGREGS];
	__u64 fpregs[33];
	unsigned long pad[2];
	__u64 vectors[2 * NVECTORS + 32];
} machine;

static unsigned long *gregs_of(const ucontext_t *uc)
{
	return ((struct machine *)uc->uc_mcontext.uc_regs)->gregs;
}

static __u64 *fpregs_of(const ucontext_t *uc)
{
	return ((struct machine *)uc->uc_mcontext.uc_regs)->fpregs;
}

static __u64 *vectors_of(const ucontext_t *uc)
{
	return ((struct machine *)uc->uc_mcontext.uc_regs)->vectors;
}
#endif

static __u32 *vrsave_of(const ucontext_t *uc)
{
	return (__u32 *)(vectors_of(uc) + 2 * (NVECTORS - 1));
}

/* Out of the sandbox. */

/*
 * The frame has more in it than the program's registers: what is the kernel's,
 * and what the last interrupt of another kind has left.
 */
static void clean_gregs(__u64 *gregs)
{
	gregs[PT_MSR] &= ~MSR_LAZY;
	gregs[PT_ORIG_R3] = 0;
	if (gregs[PT_TRAP] != DATA_STORAGE) {
		gregs[PT_DAR] = 0;
		gregs[PT_DSISR] = 0;
	}
}

void leave(struct outcome *o, const ucontext_t *uc)
{
	struct registers *regs = &o->regs;
	unsigned int i;

	regs->tar = get_spr(SPR_TAR);
	regs->dscr = get_spr(SPR_DSCR);
	for (i = 0; i < FRAME_GREGS; i++)
		regs->gregs[i] = gregs_of(uc)[i];
	clean_gregs(regs->gregs);
	copy(regs->fpregs, fpregs_of(uc), sizeof(regs->fpregs));
	copy(regs->vmx[0], vectors_of(uc), sizeof(regs->vmx));
	regs->vrsave = *vrsave_of(uc);
	copy(regs->vsx, vectors_of(uc) + 2 * NVECTORS, sizeof(regs->vsx));
	memcpy(&regs->uc_mask, &uc->uc_sigmask, sizeof(regs->uc_mask));
	/* QEMU 7.2 does not always say where, and leaves an older address */
	if (regs->gregs[PT_TRAP] == ALIGNMENT)
		memset((char *)o->info + offsetof(siginfo_t, si_addr), 0,
		       sizeof(void *));
}

/* Into it. */

#define FPSCR_FEX	0x40000000
#define FPSCR_VX	0x20000000
#define FPSCR_VX_ALL	0x01f80700	/* the reasons for VX */

/*
 * With those bits in it that follow from others. An exception that there has
 * been would be one at once if there are signals.
 */
static __u64 make_fpscr(struct rng *r, bool traps)
{
	__u64 fpscr = rnd(r) & 3;

	if (!traps && percent(r, 50))
		fpscr |= rnd(r) & 0x9ffff704;
	if (traps || percent(r, 25))
		fpscr |= rnd(r) & 0xf8;
	if (fpscr & FPSCR_VX_ALL)
		fpscr |= FPSCR_VX;
	if (fpscr >> 22 & fpscr & 0xf8)
		fpscr |= FPSCR_FEX;
	return fpscr;
}

static void fill_vectors(const struct state *st, struct rng *r)
{
	const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	__u64 *fpregs = fpregs_of(&frame.uc), *v = vectors_of(&frame.uc);

	copy(fpregs, noise + below(r, NOISE - 32), 32 * 8);
	copy(v, noise + below(r, NOISE - 64), 64 * 8);
	copy(v + 2 * NVECTORS, noise + below(r, NOISE - 32), 32 * 8);
	fpregs[32] = make_fpscr(r, st->fpu_traps);
	/* VSCR: NJ and SAT */
	v[little ? 64 : 65] = rnd(r) & 0x10001;
	*vrsave_of(&frame.uc) = rnd(r);
}

static void fill_frame(const struct state *st, __u64 ip)
{
	unsigned long *to = gregs_of(&frame.uc);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(st->gpr); i++)
		to[i] = st->gpr[i];
	to[PT_NIP] = ip;
	to[PT_CTR] = st->ctr;
	to[PT_LNK] = st->link;
	to[PT_XER] = st->xer;
	to[PT_CCR] = st->ccr;
}

void enter(const struct state *st, __u64 ip, struct rng *r)
{
	prctl(PR_SET_FPEXC,
	      st->fpu_traps ? PR_FP_EXC_PRECISE : PR_FP_EXC_DISABLED);
	fill_frame(st, ip);
	fill_vectors(st, r);
	reset_ppr();
	set_spr(SPR_DSCR, 0);
	set_spr(SPR_TAR, noise[0]);
	set_spr(SPR_EBBHR, 0);
	set_spr(SPR_EBBRR, 0);
	set_spr(SPR_BESCR, 0);
	sandbox_enter(&frame);
}

void enter_nowhere(void)
{
	gregs_of(&frame.uc)[PT_NIP] = NOWHERE;
	sandbox_enter(&frame);
}

__u64 ip_of(const struct registers *regs)
{
	return regs->gregs[PT_NIP];
}

/* From here on frames have the registers of the vector units in them. */
void take_frame(int sig, siginfo_t *info, void *context)
{
	memcpy(&frame.uc, context, sizeof(frame.uc));
#ifdef _LP64
	/* They need not be in a particular place */
	frame.uc.uc_mcontext.v_regs = (void *)vectors;
#else
	memcpy(&machine, frame.uc.uc_mcontext.uc_regs, sizeof(machine));
	frame.uc.uc_mcontext.uc_regs = (void *)&machine;
#endif
	gregs_of(&frame.uc)[PT_MSR] |= MSR_VEC | MSR_VSX;
}

const char *register_name(size_t word)
{
	static const char * const gregs[] = {
		"nip", "msr", "orig_r3", "ctr", "lr", "xer", "cr", "softe",
		"trap", "dar", "dsisr", "result",
	};
	static char name[32];
	size_t at = word * 8;

	if (word < 32)
		sprintf(name, "r%zu", word);
	else if (word < 32 + ARRAY_SIZE(gregs))
		return gregs[word - 32];
	else if (at < offsetof(struct registers, fpregs))
		return "ppr";
	else if (at == offsetof(struct registers, fpregs[32]))
		return "fpscr";
	else if (at < offsetof(struct registers, vmx))
		sprintf(name, "f%zu",
			word - offsetof(struct registers, fpregs) / 8);
	else if (at < offsetof(struct registers, vmx[32]))
		sprintf(name, "half of v%zu",
			(at - offsetof(struct registers, vmx)) / 16);
	else if (at < offsetof(struct registers, vrsave))
		return "vscr";
	else if (at == offsetof(struct registers, vrsave))
		return "vrsave";
	else if (at < offsetof(struct registers, uc_mask))
		sprintf(name, "half of vs%zu",
			word - offsetof(struct registers, vsx) / 8);
	else if (at == offsetof(struct registers, uc_mask))
		return "signal mask";
	else
		return at == offsetof(struct registers, tar) ? "tar" : "dscr";
	return name;
}
