// SPDX-License-Identifier: GPL-2.0-only
/* Hits: each execution is reported once, and handlers have the last word. */
#include "fixture.h"
#include "probed.h"

/* See every() in code.S */
static long every_count(long n, __u64 class)
{
	switch (class) {
	case 0:
		return 1;
	case 1:
		return n;
	case 2:
		return n / 2;
	default:
		return 2 * n;
	}
}

static int nthreads, nrounds;

static void *counting_thread(void *arg)
{
	struct upt_slot slot = new_slot();

	count_rounds(&slot, 0, NCOUNTING - 1, nrounds);
	return NULL;
}

static void counting_prog(void)
{
	run_threads(counting_thread, nthreads);
}

/* All threads, all rounds, all functions; then nobody unregisters. */
static void count_all(struct __test_metadata *_metadata, int *dev, int threads,
		      int rounds)
{
	long total = 10L * threads * rounds, seen = 0;
	int ids[NCOUNTING];
	size_t i;
	pid_t pid;

	nthreads = threads;
	nrounds = rounds;
	pid = start_prog(counting_prog);
	for (i = 0; i < NCOUNTING; i++) {
		struct upt_probe req = {
			.pid = pid,
			.vaddr = (uintptr_t)counting[i],
			.kind = UPT_SLOT,
			.keep = true,
		};

		ASSERT_EQ(0, upt_register(*dev, &req));
		ids[i] = req.id;
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(total, shm[SHM_GOOD]);
	EXPECT_EQ(0, shm[SHM_BAD]);
	for (i = 0; i < NCOUNTING; i++) {
		struct upt_state state = upt_read(*dev, ids[i]);

		EXPECT_EQ(0, state.errors);
		EXPECT_EQ(0, state.nmissed);
		seen += state.hits;
	}
	EXPECT_EQ(total, seen);

	close_and_unload(_metadata, dev);
}

/* A1: 10 threads, 10 rounds, ten probes: 1000 hits; silent unload. */
TEST_F(three_times, a1_10_threads)
{
	count_all(_metadata, &self->dev, 10, 10);
}

/* A1: 100 threads, 10 rounds: 10000 hits. */
TEST_F(three_times, a1_100_threads)
{
	count_all(_metadata, &self->dev, 100, 10);
}

/* A1: 5 threads, 10000 rounds: 500000 hits. */
TEST_F_TIMEOUT(three_times, a1_500000_hits, 180)
{
	count_all(_metadata, &self->dev, 5, 10000);
}

static void add_5_times(void)
{
	int i;

	for (i = 0; i < 5; i++)
		shm[SHM_RESULT] += add(i, 10);
}

/* A8: a function that is called 5 times is hit 5 times. */
TEST_F(three_times, a8_one_probe)
{
	pid_t pid = start_prog(add_5_times);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(60, shm[SHM_RESULT]);
	EXPECT_EQ(5, hits(self->dev, id));
}

/* A8: six probes at one address each see all 5 calls. */
TEST_F(three_times, a8_six_probes)
{
	pid_t pid = start_prog(add_5_times);
	int ids[6];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		ids[i] = probe(self->dev, pid, add);
		ASSERT_LE(0, ids[i]);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(60, shm[SHM_RESULT]);
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		EXPECT_EQ(5, hits(self->dev, ids[i]));
}

static void *add_thread(void *arg)
{
	int i;

	for (i = 0; i < nrounds; i++) {
		if (add(i, 1) != i + 1)
			__atomic_fetch_add(&shm[SHM_BAD], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void add_threads_prog(void)
{
	run_threads(add_thread, nthreads);
}

/* A8: 2 threads, 100 calls each: 200 hits. */
TEST_F(three_times, a8_two_threads)
{
	pid_t pid;
	int id;

	nthreads = 2;
	nrounds = 100;
	pid = start_prog(add_threads_prog);
	id = probe(self->dev, pid, add);
	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(200, hits(self->dev, id));
}

static void fork_and_add(void)
{
	pid_t pid = fork();
	int status;

	nrounds = 10;
	add_thread(NULL);
	if (pid == 0)
		_exit(shm[SHM_BAD]);
	waitpid(pid, &status, 0);
	shm[SHM_RESULT] = status;
}

/* A8: fork, then 10 calls in the parent and 10 in the child: 10 hits. */
TEST_F(three_times, a8_fork)
{
	pid_t pid = start_prog(fork_and_add);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_RESULT]);
	EXPECT_EQ(10, hits(self->dev, id));
}

/* Many threads in one probe at once: no hit is lost, and none is doubled. */
TEST_F(uprobes, concurrent_hits)
{
	pid_t pid;
	int id;

	nthreads = 8;
	nrounds = 2000;
	pid = start_prog(add_threads_prog);
	id = probe(self->dev, pid, add);
	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(16000, hits(self->dev, id));
}

/* B4: of three copies of one program, only the probed one is reported. */
TEST_F(uprobes, b4_one_of_three)
{
	pid_t pids[3];
	size_t i;
	int id;

	for (i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = start_prog(add_5_times);
	id = probe(self->dev, pids[1], add);
	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pids[0]), 0));
	EXPECT_TRUE(exited(run_prog(pids[2]), 0));
	EXPECT_EQ(0, hits(self->dev, id));
	EXPECT_TRUE(exited(run_prog(pids[1]), 0));
	EXPECT_EQ(5, hits(self->dev, id));
	EXPECT_EQ(180, shm[SHM_RESULT]);
}

static void every_prog(void)
{
	shm[SHM_RESULT] = every(100);
}

/* B5: a probe on every instruction changes no result; all counts are exact. */
TEST_F(uprobes, b5_every_instruction)
{
	long expected = every(100);
	pid_t pid = start_prog(every_prog);
	int ids[64], i, n = 0;

	for (n = 0; every_insns[n].addr; n++) {
		ASSERT_GT(ARRAY_SIZE(ids), n);
		ids[n] = probe(self->dev, pid, insn_at(&every_insns[n]));
		ASSERT_LE(0, ids[n])
			TH_LOG("instruction %d", n);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(expected, shm[SHM_RESULT]);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(every_count(100, every_insns[i].number),
			  hits(self->dev, ids[i]))
			TH_LOG("instruction %d", i);
	}
}

static void red_zone_prog(void)
{
	shm[SHM_RESULT] = red_zone();
}

/* C17: the 128 bytes below the stack pointer are the program's. */
TEST_F(uprobes, c17_red_zone)
{
	pid_t pid = start_prog(red_zone_prog);
	int ids[16], i, n;

	shm[SHM_RESULT] = -1;
	for (n = 0; red_zone_insns[n].addr; n++) {
		ASSERT_GT(ARRAY_SIZE(ids), n);
		ids[n] = probe(self->dev, pid, insn_at(&red_zone_insns[n]));
		ASSERT_LE(0, ids[n]);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_RESULT]);
	for (i = 0; i < n; i++)
		EXPECT_EQ(1, hits(self->dev, ids[i]));
}

static void add_prog(void)
{
	shm[SHM_RESULT] = add(5, 3);
}

/* A handler that sets the instruction pointer: execution goes on there. */
TEST_F(uprobes, handler_sets_ip)
{
	pid_t pid = start_prog(add_prog);

	ASSERT_LE(0, probe_kind(self->dev, pid, add, UPT_SET_IP,
				(uintptr_t)sub));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(2, shm[SHM_RESULT]);
}

/* A handler that sets an argument: the probed instruction sees it. */
TEST_F(uprobes, handler_sets_argument)
{
	pid_t pid = start_prog(add_prog);

	ASSERT_LE(0, probe_kind(self->dev, pid, add, UPT_SET_ARG, 100));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(103, shm[SHM_RESULT]);
}

static void saved_prog(void)
{
	shm[SHM_RESULT] = saved_register();
}

static void check_saved(struct __test_metadata *_metadata, int dev,
			const void *addr)
{
	pid_t pid = start_prog(saved_prog);

	ASSERT_LE(0, probe_kind(dev, pid, addr, UPT_SET_SAVED, 1234));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(1234, shm[SHM_RESULT]);
}

/* A handler that sets a register which the kernel has no need to restore. */
TEST_F(uprobes, handler_sets_saved_register)
{
	check_saved(_metadata, self->dev, at_copied);
	check_saved(_metadata, self->dev, at_emulated);
}

/* A handler that sets the return value at a ret: the caller sees it. */
TEST_F(uprobes, handler_sets_return_value)
{
	pid_t pid = start_prog(add_prog);

	ASSERT_LE(0, probe_kind(self->dev, pid, add_ret, UPT_SET_RET, 77));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(77, shm[SHM_RESULT]);
}

static void own_sp_prog(void)
{
	shm[SHM_RESULT] = own_sp();
}

/* Registers in a handler are the program's: ip, sp, flags; and its thread. */
TEST_F(uprobes, handler_sees_registers)
{
	pid_t pid = start_prog(own_sp_prog);
	int id = probe_kind(self->dev, pid, own_sp, UPT_RECORD, 0);
	struct upt_state state;

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	state = upt_read(self->dev, id);
	EXPECT_EQ((uintptr_t)entry_of(own_sp), state.ip);
	EXPECT_EQ((unsigned long)shm[SHM_RESULT], state.sp);
	EXPECT_EQ(pid, state.tid);
	/* Nothing of how it is stepped */
	EXPECT_EQ(0, state.rflags & TRACE_FLAGS);
}

/* Handlers at one address run in the order of their registration. */
TEST_F(uprobes, handlers_in_order)
{
	pid_t pid = start_prog(add_prog);
	__u64 last = 0;
	int ids[4];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		ids[i] = probe_kind(self->dev, pid, add, UPT_RECORD, 0);
		ASSERT_LE(0, ids[i]);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		__u64 order = upt_read(self->dev, ids[i]).order;

		EXPECT_LT(last, order);
		last = order;
	}
}

/* Handlers may sleep, and threads sleep in them side by side. */
TEST_F(uprobes, handler_sleeps)
{
	__u64 start, took;
	pid_t pid;
	int id;

	nthreads = 4;
	nrounds = 30;
	pid = start_prog(add_threads_prog);
	id = probe_kind(self->dev, pid, add, UPT_SLEEP, 50000);
	ASSERT_LE(0, id);
	start = now_ns();
	EXPECT_TRUE(exited(run_prog(pid), 0));
	took = now_ns() - start;
	EXPECT_EQ(120, hits(self->dev, id));
	EXPECT_LE(30 * 50000000ULL, took);
	EXPECT_GT(60 * 50000000ULL, took);
}

/* A probe that does that to itself in its handler. */
static int probe_step(struct __test_metadata *_metadata, int dev, pid_t pid,
		      enum upt_kind first, enum upt_kind second)
{
	int id = idle_probe(dev, pid, add);

	add_step(dev, id, UPT_AT_ENTRY, first, id);
	add_step(dev, id, UPT_AT_ENTRY, second, id);
	ASSERT_EQ(0, upt_op(dev, UPT_REGISTER_AGAIN, id));
	return id;
}

/* A handler that disables its probe, at once: that was its last hit. */
TEST_F(uprobes, handler_disables)
{
	pid_t pid = start_prog(add_5_times);
	int id = probe_step(_metadata, self->dev, pid, UPT_DO_DISABLE,
			    UPT_COUNT);
	struct upt_state state;

	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(60, shm[SHM_RESULT]);
	state = upt_read(self->dev, id);
	EXPECT_EQ(1, state.hits);
	EXPECT_EQ(0, state.last_call);
	EXPECT_EQ(0, state.callbacks);
	EXPECT_TRUE(state.flags & UPROBE_FLAG_DISABLED);
}

/* A handler that disables and enables its probe: it is hit again. */
TEST_F(uprobes, handler_enables)
{
	pid_t pid = start_prog(add_5_times);
	int id = probe_step(_metadata, self->dev, pid, UPT_DO_DISABLE,
			    UPT_DO_ENABLE);
	struct upt_state state;

	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(60, shm[SHM_RESULT]);
	state = upt_read(self->dev, id);
	EXPECT_EQ(5, state.hits);
	EXPECT_EQ(10, state.calls);
	EXPECT_EQ(0, state.deferred);
	EXPECT_EQ(0, state.callbacks);
	EXPECT_FALSE(state.flags & UPROBE_FLAG_DISABLED);
}

/* A handler that registers a kprobe, runs into it, and unregisters it. */
TEST_F(uprobes, handler_registers_kprobe)
{
	pid_t pid = start_prog(add_5_times);
	int id = probe_kind(self->dev, pid, add, UPT_KPROBE, 0);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(5, hits(self->dev, id));
	EXPECT_EQ(0, upt_read(self->dev, id).errors);
}

static void nop_prog(void)
{
	int i;

	for (i = 0; i < 100; i++)
		nop_fn();
	prog_stop();
	for (i = 0; i < 100; i++)
		nop_fn();
}

/* A compiler's nop: active when register returns, silent once unregistered. */
TEST_F(uprobes, nop)
{
	pid_t pid = start_prog(nop_prog);
	int id = probe(self->dev, pid, nop_fn);

	ASSERT_LE(0, id);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(100, hits(self->dev, id));
	unprobe(self->dev, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(100, hits(self->dev, id));
}
