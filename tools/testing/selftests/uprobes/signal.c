// SPDX-License-Identifier: GPL-2.0-only
/* Signals, the trap flag, foreign breakpoints. */
#include <signal.h>

#include "fixture.h"
#include "frames.h"
#include "probed.h"

enum {
	TICKS = SHM_FREE,	/* signals that were handled */
	INSIDE,		/* ... that showed an address in the engine's area */
	AREA_START,
	AREA_END,
	PUSHED,		/* flags, as the program sees them */
	DIFFERENCE,
	CALLS,
	TRACES,		/* how many, and then each one */
};

static void on_tick(int sig, siginfo_t *info, void *context)
{
	long ip = ip_of(context);

	shm[TICKS]++;
	if (ip >= shm[AREA_START] && ip < shm[AREA_END])
		shm[INSIDE]++;
	/* The probe is hit in here as well */
	shm[CALLS] += add(shm[TICKS], 1) == shm[TICKS] + 1;
}

static void publish_area(struct __test_metadata *_metadata, pid_t pid)
{
	unsigned long start, end;

	ASSERT_TRUE(find_map(pid, "[uprobes]", &start, &end));
	shm[AREA_START] = start;
	shm[AREA_END] = end;
}

/* How late a timer is, is the host's business. */
#define NTICKS	10
#define NADDS	20000

static void add_with_ticks(void)
{
	long i;

	set_handler(SIGALRM, on_tick);
	for (i = 0; i < NADDS || shm[TICKS] < NTICKS; i++) {
		next_tick(shm[TICKS]);
		shm[SHM_BAD] += add(i, 1) != i + 1;
	}
	stop_ticks();
	shm[SHM_GOOD] = i;
}

/* C8: a timer at high rate over a copied instruction: hits = executions. */
TEST_F_TIMEOUT(uprobes, c8_timer, 60)
{
	pid_t pid = start_prog(add_with_ticks);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	publish_area(_metadata, pid);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(shm[TICKS], shm[CALLS]);
	EXPECT_EQ(0, shm[INSIDE]);
	EXPECT_LE(NADDS, shm[SHM_GOOD]);
	EXPECT_EQ(shm[SHM_GOOD] + shm[TICKS], hits(self->dev, id));
}

static void on_ill(int sig, siginfo_t *info, void *context)
{
	shm[TICKS]++;
	shm[INSIDE] += ip_of(context) != (long)entry_of(add);
}

static void add_and_handle(void)
{
	long i;

	set_handler(SIGILL, on_ill);
	for (i = 0; i < 10; i++)
		shm[SHM_BAD] += add(i, 1) != i + 1;
}

/*
 * A signal of those that the kernel sends for a fault comes in front of the
 * instruction, which is gone on with: else the same fault might come for ever.
 */
TEST_F(uprobes, synchronous_signal)
{
	pid_t pid = start_prog(add_and_handle);
	int id = probe_kind(self->dev, pid, add, UPT_SIGNAL, SIGILL);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(10, shm[TICKS]);
	EXPECT_EQ(0, shm[INSIDE]);
	EXPECT_EQ(10, hits(self->dev, id));
}

#define NFILLS	1000

static void fill_with_ticks(void)
{
	char buf[64], filled[64];
	long i;

	memset(filled, 7, sizeof(filled));
	set_handler(SIGALRM, on_tick);
	for (i = 0; i < NFILLS || shm[TICKS] < NTICKS; i++) {
		next_tick(shm[TICKS]);
		memset(buf, 0, sizeof(buf));
		fill(buf);
		shm[SHM_BAD] += memcmp(buf, filled, sizeof(buf)) != 0;
	}
	stop_ticks();
	shm[SHM_GOOD] = i;
}

/* C8: the same over one that takes many steps. */
TEST_F_TIMEOUT(uprobes, c8_timer_rep, 60)
{
	pid_t pid = start_prog(fill_with_ticks);
	int id = probe(self->dev, pid, fill_rep);

	ASSERT_LE(0, id);
	publish_area(_metadata, pid);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(0, shm[INSIDE]);
	EXPECT_LE(NFILLS, shm[SHM_GOOD]);
	EXPECT_EQ(shm[SHM_GOOD], hits(self->dev, id));
}

static void on_usr1(int sig, siginfo_t *info, void *context)
{
	shm[TICKS]++;
}

static void add_with_usr1(void)
{
	set_handler(SIGUSR1, on_usr1);
	add_once();
}

/* A signal that comes while a handler sleeps: both run, each once. */
TEST_F(uprobes, while_in_handler)
{
	pid_t pid = start_prog(add_with_usr1);
	int id = probe_kind(self->dev, pid, add, UPT_SLEEP, 300000);

	ASSERT_LE(0, id);
	cont_prog(pid);
	EXPECT_TRUE(wait_hits(self->dev, id));
	kill(pid, SIGUSR1);
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(1, shm[TICKS]);
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(self->dev, id));
}

static void add_100_times(void)
{
	int i;

	for (i = 0; i < 100; i++)
		shm[SHM_BAD] += add(i, 1) != i + 1;
}

static void trap_blocked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	add_100_times();
	sigpending(&set);
	shm[TICKS] = sigismember(&set, SIGTRAP);
}

static void trap_ignored(void)
{
	signal(SIGTRAP, SIG_IGN);
	add_100_times();
}

static void trap_handled(void)
{
	set_handler(SIGTRAP, on_usr1);
	add_100_times();
}

static void on_trap_adding(int sig, siginfo_t *info, void *context)
{
	add_100_times();
}

/* Hits while SIGTRAP is being handled, and thereby blocked */
static void trap_in_handler(void)
{
	set_handler(SIGTRAP, on_trap_adding);
	raise(SIGTRAP);
}

static void check_trap_unseen(struct __test_metadata *_metadata, int dev,
			      void (*body)(void))
{
	pid_t pid = start_prog(body);
	int id = probe(dev, pid, add);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(0, shm[TICKS]);
	EXPECT_EQ(100, hits(dev, id));
}

/* Hits do not depend on what the program does with SIGTRAP, nor raise it. */
TEST_F(uprobes, sigtrap_blocked)
{
	check_trap_unseen(_metadata, self->dev, trap_blocked);
}

TEST_F(uprobes, sigtrap_ignored)
{
	check_trap_unseen(_metadata, self->dev, trap_ignored);
}

TEST_F(uprobes, sigtrap_handled)
{
	check_trap_unseen(_metadata, self->dev, trap_handled);
}

TEST_F(uprobes, sigtrap_in_handler)
{
	check_trap_unseen(_metadata, self->dev, trap_in_handler);
}

/* What a program sees of a trap. */
struct trace {
	long ip;
	long code;
};

#define MAX_TRACES	256

static struct trace *traces(void)
{
	return (struct trace *)&shm[TRACES + 1];
}

static void add_trace(long ip, long code)
{
	long n = shm[TRACES];

	if (n == MAX_TRACES)
		return;
	traces()[n].ip = ip;
	traces()[n].code = code;
	shm[TRACES] = n + 1;
}

/* Where a program can do that */
#if TRACES_ITSELF
static void on_trap(int sig, siginfo_t *info, void *context)
{
	add_trace(ip_of(context), info->si_code);
}

static void trace_twice(void)
{
	static struct trace unprobed[MAX_TRACES];
	register_t pushed, pushed_unprobed;
	long n;

	set_handler(SIGTRAP, on_trap);
	trace_me(&pushed_unprobed);
	n = shm[TRACES];
	memcpy(unprobed, traces(), sizeof(unprobed));
	shm[TRACES] = 0;
	prog_stop();
	trace_me(&pushed);
	shm[PUSHED] = pushed ^ pushed_unprobed;
	shm[DIFFERENCE] = n != shm[TRACES] ||
			  memcmp(unprobed, traces(), n * sizeof(*unprobed));
	shm[CALLS] = n;
}

/* C10: a program that traces itself sees what it would see unprobed. */
TEST_F(uprobes, c10_trap_flag)
{
	pid_t pid = start_prog(trace_twice);
	int ids[64], i, n;

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	for (n = 0; trace_me_insns[n].addr; n++) {
		ASSERT_GT(ARRAY_SIZE(ids), n);
		ids[n] = probe(self->dev, pid, insn_at(&trace_me_insns[n]));
		ASSERT_LE(0, ids[n])
			TH_LOG("instruction %d", n);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_LT(15, shm[CALLS]);
	EXPECT_EQ(0, shm[PUSHED]);
	EXPECT_EQ(0, shm[DIFFERENCE]) {
		TH_LOG("%ld traps unprobed, %ld probed", shm[CALLS],
		       shm[TRACES]);
		for (i = 0; i < shm[TRACES]; i++)
			TH_LOG("at %lx, code %ld", traces()[i].ip,
			       traces()[i].code);
	}
	for (i = 0; i < n; i++) {
		EXPECT_EQ(1, hits(self->dev, ids[i]))
			TH_LOG("instruction %d", i);
	}
}
#endif

static void on_int3(int sig, siginfo_t *info, void *context)
{
	add_trace(ip_of(context), info->si_code);
	pass_breakpoint(context);
}

static void hit_own_int3(void)
{
	set_handler(SIGTRAP, on_int3);
	call_int3();
	prog_stop();
	call_int3();
}

/* A breakpoint of the program's own still raises its SIGTRAP, as it did. */
TEST_F(uprobes, foreign_breakpoint)
{
	pid_t pid = start_prog(hit_own_int3);
	int before, after;

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	before = probe(self->dev, pid, call_int3);
	after = probe(self->dev, pid, after_int3);
	ASSERT_LE(0, before);
	ASSERT_LE(0, after);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	ASSERT_EQ(2, shm[TRACES]);
	EXPECT_EQ((long)(TRAP_PASSES ? after_int3 : own_int3), traces()[0].ip);
	EXPECT_EQ(0, memcmp(&traces()[0], &traces()[1], sizeof(struct trace)));
	EXPECT_EQ(1, hits(self->dev, before));
	EXPECT_EQ(1, hits(self->dev, after));
}
