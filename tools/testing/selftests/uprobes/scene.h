/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that are run unprobed and probed, and note the same: for tests of
 * instructions that the kernel or a debugger can look at in the middle. To be
 * included behind fixture.h.
 */
#ifndef _SCENE_H
#define _SCENE_H

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/ucontext.h>
#include <sys/user.h>
#include <unistd.h>

#include "exact.h"
#include "frames.h"
#include "snippets.h"

enum {
	SIGNALS = SHM_FREE,	/* that were handled */
	EXECUTIONS,	/* of the instruction, as the program counts */
	LINE,		/* of the first claim that was wrong */
	NOW,		/* where a program is */
	AREA_START,
	AREA_END,
	NOTES,		/* how many, and then each one */
};

struct note {
	const char *what;	/* a literal: all processes have it there */
	long value;
};

#define MAX_NOTES	8192

static inline struct note *notes(void)
{
	return (struct note *)&shm[NOTES + 1];
}

static inline void note(const char *what, long value)
{
	long n = shm[NOTES]++;

	if (n < MAX_NOTES)
		notes()[n] = (struct note){ what, value };
}

/* What is so with and without a probe. */
static inline void claim_at(int line, bool is_so)
{
	if (!is_so && !shm[LINE])
		shm[LINE] = line;
}

#define claim(is_so)	claim_at(__LINE__, is_so)

static inline void note_signal(const siginfo_t *info, void *context)
{
	static const char * const names[NGREG] = {
#ifdef __x86_64__
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "di",
		"si", "bp", "bx", "dx", "ax", "cx", "sp", "ip", "flags",
		"segments", "error", "trap", "mask", "cr2"
#else
		"gs", "fs", "es", "ds", "di", "si", "bp", "sp", "bx", "dx",
		"cx", "ax", "trap", "error", "ip", "cs", "flags",
		"sp at signal", "ss"
#endif
	};
	ucontext_t *uc = context;
	int i;

	note("signal", info->si_signo);
	note("code", info->si_code);
	for (i = 0; i < NGREG; i++)
		note(names[i], uc->uc_mcontext.gregs[i]);
}

static inline void note_traced(pid_t pid)
{
	struct user_regs_struct regs;
	siginfo_t info;

	claim(!ptrace(PTRACE_GETREGS, pid, 0, &regs));
	note("ip", regs.UREG(ip));
	note("sp", regs.UREG(sp));
	note("flags", regs.eflags);
	note("call", regs.REGS_CALL);
	note("ax", regs.UREG(ax));
	note("cx", regs.UREG(cx));
	note("di", regs.UREG(di));
	note("si", regs.UREG(si));
#ifdef __x86_64__
	note("r11", regs.r11);
#endif
	if (!ptrace(PTRACE_GETSIGINFO, pid, 0, &info))
		note("code", info.si_code);
}

/* A program, and who runs it from its first stop to its end. */
struct scene {
	void (*body)(void);
	int (*drive)(pid_t pid);	/* returns how it ended */
	int end;
	/* One probe; or a table, in which the numbers are the right counts. */
	const void *probe;
	long hits;	/* 0: as many as the program counts */
	const struct insn_addr *insns;
};

#define MAX_INSNS	64

struct probes {
	int n;
	int ids[MAX_INSNS];
	long hits[MAX_INSNS];
};

static inline void add_probes(struct __test_metadata *_metadata, int dev,
			      pid_t pid, const struct scene *s,
			      struct probes *p)
{
	const struct insn_addr one[] = {
		{ (uintptr_t)s->probe, s->hits }, { 0, 0 }
	};
	const struct insn_addr *insn = s->insns ? s->insns : one;
	unsigned long start, end;

	for (p->n = 0; insn->addr; insn++, p->n++) {
		ASSERT_GT(MAX_INSNS, p->n);
		p->ids[p->n] = probe(dev, pid, insn_at(insn));
		ASSERT_LE(0, p->ids[p->n])
			TH_LOG("instruction %d is refused: %s", p->n,
			       strerror(-p->ids[p->n]));
		p->hits[p->n] = insn->number;
	}
	if (find_map(pid, "[uprobes]", &start, &end)) {
		shm[AREA_START] = start;
		shm[AREA_END] = end;
	}
}

static void_fn clean_body;

static inline void run_clean_body(void)
{
	run_clean(clean_body);
}

static inline pid_t start_scene(const struct scene *s)
{
	memset(shm, 0, SHM_SIZE);
	clean_body = s->body;
	return start_prog(run_clean_body);
}

static inline void drive(struct __test_metadata *_metadata, pid_t pid,
			 const struct scene *s)
{
	EXPECT_EQ(s->end, s->drive ? s->drive(pid) : run_prog(pid));
	EXPECT_EQ(0, shm[LINE])
		TH_LOG("the claim in line %ld is wrong", shm[LINE]);
	ASSERT_GE(MAX_NOTES, shm[NOTES]);
}

/* What can be told of a run that is not the same each time. */
static inline void play_once(struct __test_metadata *_metadata, int dev,
			     const struct scene *s)
{
	pid_t pid = start_scene(s);
	struct probes p;
	int i;

	add_probes(_metadata, dev, pid, s, &p);
	drive(_metadata, pid, s);
	for (i = 0; i < p.n; i++) {
		EXPECT_EQ(p.hits[i] ?: shm[EXECUTIONS], hits(dev, p.ids[i]))
			TH_LOG("instruction %d", i);
		EXPECT_EQ(0, missed(dev, p.ids[i]));
	}
}

static inline void play(struct __test_metadata *_metadata, int dev,
			const struct scene *s)
{
	static struct note unprobed[MAX_NOTES];
	long i, n;

	drive(_metadata, start_scene(s), s);
	n = shm[NOTES];
	ASSERT_LT(0, n);
	memcpy(unprobed, notes(), n * sizeof(*unprobed));

	play_once(_metadata, dev, s);
	EXPECT_EQ(n, shm[NOTES]);
	for (i = 0; i < n; i++) {
		ASSERT_EQ(unprobed[i].value, notes()[i].value)
			TH_LOG("note %ld, %s, unprobed %s", i,
			       notes()[i].what, unprobed[i].what);
	}
}

static inline bool wait_for(int what, long value)
{
	int tries;

	for (tries = 0; tries < 5000; tries++) {
		if (__atomic_load_n(&shm[what], __ATOMIC_RELAXED) == value)
			return true;
		sleep_ms(1);
	}
	return false;
}

static inline void on_signal(int sig, siginfo_t *info, void *context)
{
	note_signal(info, context);
	shm[SIGNALS]++;
}

static inline void handle(int sig, void (*handler)(int, siginfo_t *, void *),
			  int flags)
{
	struct sigaction sa = {
		.sa_sigaction = handler,
		.sa_flags = SA_SIGINFO | flags,
	};

	sigaction(sig, &sa, NULL);
}

/* Steps up to an address. */
static inline void step_to(pid_t pid, const void *addr)
{
	int i;

	for (i = 0; i < 10000; i++) {
		if (ip_of_traced(pid) == (uintptr_t)addr)
			return;
		claim(stopped_by(step_traced(pid), SIGTRAP));
	}
	claim(false);
}

static inline void note_steps(pid_t pid, int n)
{
	while (n--) {
		note("status", step_traced(pid));
		note_traced(pid);
	}
}

/* Stops without a system call, of which the registers would remember pids. */
static inline void int3(void)
{
	asm volatile("int3");
}

static inline void claim_outside(long ip)
{
	claim(ip < shm[AREA_START] || ip >= shm[AREA_END]);
}

/* How late a timer is, is the host's business. */
#define NTICKS		20

#define NARMED		200

/* Registers and unregisters a probe again and again. */
static inline void arm_and_disarm(struct __test_metadata *_metadata, int dev,
				  void (*body)(void), const void *insn)
{
	pid_t pid = start_prog(body);
	long sum = 0;
	int i, id;

	cont_prog(pid);
	for (i = 0; i < NARMED; i++) {
		id = probe(dev, pid, insn);
		ASSERT_LE(0, id);
		usleep(i % 20 * 100);
		unprobe(dev, id);
		sum += hits(dev, id);
	}
	shm[NOW] = 1;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(0, shm[LINE]);
	EXPECT_LT(0, sum);
	EXPECT_GE(shm[EXECUTIONS], sum);
}

static inline void use_alt_stack(void)
{
	static char alt_stack[16384];
	stack_t ss = { .ss_sp = alt_stack, .ss_size = sizeof(alt_stack) };

	sigaltstack(&ss, NULL);
}

static inline void note_snippet(void *start, int seed)
{
	long *words = (long *)&cpu;
	size_t i;

	for (i = 0; i < sizeof(cpu) / sizeof(*words); i++)
		words[i] = (seed + 1) * (i + 1) * 0x0123456789abcdef;
	cpu.gpr[RSP] = (uintptr_t)&stack[32];
	cpu.flags = 0x203;
	run_snippet(start);
	for (i = 0; i < sizeof(cpu) / sizeof(*words); i++)
		note("cpu", words[i]);
}

#endif /* _SCENE_H */
