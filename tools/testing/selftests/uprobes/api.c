// SPDX-License-Identifier: GPL-2.0-only
/* The calls: batches, enable and disable, several users, running programs. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"
#include "probed.h"

enum {
	COUNT = SHM_FREE,
	ERRNO,
	SLEPT,
	STOP,
};

static void *lea_at(int i)
{
	return leas + 4 * i;
}

static void adding_prog(void)
{
	for (;;) {
		shm[SHM_RESULT] = add(1, 2);
		nop_fn();
		prog_stop();
	}
}

/* An object that is registered as disabled: no hit before it is enabled. */
TEST_F(uprobes, disabled_from_the_start)
{
	struct upt_probe req = {
		.pid = start_prog(adding_prog),
		.vaddr = (uintptr_t)add,
		.flags = UPROBE_FLAG_DISABLED,
	};
	struct list_line line;

	ASSERT_EQ(0, upt_register(self->dev, &req));
	ASSERT_TRUE(list_find(req.pid, add, &line));
	EXPECT_TRUE(line.disabled);
	EXPECT_TRUE(WIFSTOPPED(run_prog(req.pid)));
	EXPECT_EQ(0, hits(self->dev, req.id));
	EXPECT_EQ(0, upt_op(self->dev, UPT_ENABLE, req.id));
	ASSERT_TRUE(list_find(req.pid, add, &line));
	EXPECT_FALSE(line.disabled);
	EXPECT_TRUE(WIFSTOPPED(run_prog(req.pid)));
	EXPECT_EQ(1, hits(self->dev, req.id));
	EXPECT_EQ(3, shm[SHM_RESULT]);
}

/* Enable and disable, also twice in a row; the flag follows. */
TEST_F(uprobes, enable_and_disable)
{
	pid_t pid = start_prog(adding_prog);
	int id = probe(self->dev, pid, add);
	int round, i;

	ASSERT_LE(0, id);
	for (round = 1; round <= 3; round++) {
		for (i = 0; i < 2; i++)
			EXPECT_EQ(0, upt_op(self->dev, UPT_DISABLE, id));
		EXPECT_TRUE(upt_read(self->dev, id).flags &
			    UPROBE_FLAG_DISABLED);
		EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
		EXPECT_EQ(round - 1, hits(self->dev, id));
		for (i = 0; i < 2; i++)
			EXPECT_EQ(0, upt_op(self->dev, UPT_ENABLE, id));
		EXPECT_FALSE(upt_read(self->dev, id).flags &
			     UPROBE_FLAG_DISABLED);
		EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
		EXPECT_EQ(round, hits(self->dev, id));
	}
	unprobe(self->dev, id);
	EXPECT_EQ(-EINVAL, upt_op(self->dev, UPT_ENABLE, id));
	EXPECT_EQ(-EINVAL, upt_op(self->dev, UPT_DISABLE, id));
}

/* One of two probes at an address is disabled: the other one goes on. */
TEST_F(uprobes, disable_one_of_two)
{
	pid_t pid = start_prog(adding_prog);
	int one = probe(self->dev, pid, add);
	int two = probe(self->dev, pid, add);

	ASSERT_LE(0, one);
	ASSERT_LE(0, two);
	EXPECT_EQ(0, upt_op(self->dev, UPT_DISABLE, one));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(0, hits(self->dev, one));
	EXPECT_EQ(1, hits(self->dev, two));
	EXPECT_EQ(0, upt_op(self->dev, UPT_ENABLE, one));
	unprobe(self->dev, two);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(1, hits(self->dev, one));
	EXPECT_EQ(1, hits(self->dev, two));
}

/* A disabled probe does not keep the text changed when it is unregistered. */
TEST_F(uprobes, unregister_disabled)
{
	pid_t pid = start_prog(adding_prog);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	EXPECT_EQ(0, upt_op(self->dev, UPT_DISABLE, id));
	unprobe(self->dev, id);
	EXPECT_TRUE(is_add(pid, add));
	EXPECT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
}

/* The switch in debugfs: all probes off and on, also those made meanwhile. */
TEST_F(uprobes, enabled_file)
{
	pid_t pid = start_prog(adding_prog);
	int id = probe(self->dev, pid, add), late;

	ASSERT_LE(0, id);
	ASSERT_EQ(0, set_enabled(false));
	late = probe(self->dev, pid, nop_fn);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(0, hits(self->dev, id));
	ASSERT_EQ(0, set_enabled(true));
	ASSERT_LE(0, late);
	EXPECT_EQ(0, hits(self->dev, late));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(1, hits(self->dev, id));
	EXPECT_EQ(1, hits(self->dev, late));
}

/* The list in debugfs tells all about a probe. */
TEST_F(uprobes, list_file)
{
	pid_t pid = start_prog(adding_prog);
	int id = probe(self->dev, pid, add);
	struct list_line line;

	ASSERT_LE(0, id);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	ASSERT_TRUE(list_find(pid, add, &line));
	EXPECT_STREQ("uprobe", line.kind);
	EXPECT_EQ(0, strncmp(line.handler, "hit", 3));
	EXPECT_STREQ(UPT_MODULE, line.module);
	EXPECT_EQ(2, line.hits);
	EXPECT_EQ(0, line.missed);
	EXPECT_FALSE(line.disabled);
	EXPECT_FALSE(line.gone);
	unprobe(self->dev, id);
	EXPECT_FALSE(list_find(pid, add, &line));
}

/* Unregister twice, then register again: as if it were new. */
TEST_F(uprobes, object_again)
{
	pid_t pid = start_prog(adding_prog);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	unprobe(self->dev, id);
	unprobe(self->dev, id);
	EXPECT_TRUE(is_add(pid, add));
	EXPECT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(1, hits(self->dev, id));
}

/* Any thread id names the process. */
static void *publish_tid(void *arg)
{
	shm[COUNT] = gettid();
	prog_stop();
	return NULL;
}

static void thread_prog(void)
{
	run_threads(publish_tid, 1);
	add(1, 2);
}

TEST_F(uprobes, thread_id)
{
	pid_t pid = start_prog(thread_prog);
	int id;

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	ASSERT_NE(pid, shm[COUNT]);
	id = probe(self->dev, shm[COUNT], add);
	ASSERT_LE(0, id);
	EXPECT_EQ(1, list_lines(pid));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(1, hits(self->dev, id));
}

/* A14: two modules probe one process, each counts for itself. */
TEST_F(three_times, a14_two_modules)
{
	pid_t pid = start_prog(adding_prog);
	int dev2 = upt_open(UPT_MODULE2);
	int mine, other;

	ASSERT_LE(0, dev2);
	mine = probe(self->dev, pid, add);
	other = probe(dev2, pid, add);
	ASSERT_LE(0, mine);
	ASSERT_LE(0, other);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	unprobe(self->dev, mine);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(1, hits(self->dev, mine));
	EXPECT_EQ(2, hits(dev2, other));
	close(dev2);
	EXPECT_TRUE(is_add(pid, add));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(0, upt_unload(UPT_MODULE2));
}

/* A14: one module probes two processes at the same address. */
TEST_F(three_times, a14_two_processes)
{
	pid_t one = start_prog(adding_prog), two = start_prog(adding_prog);
	int id1 = probe(self->dev, one, add), id2 = probe(self->dev, two, add);

	ASSERT_LE(0, id1);
	ASSERT_LE(0, id2);
	EXPECT_TRUE(WIFSTOPPED(run_prog(one)));
	EXPECT_TRUE(WIFSTOPPED(run_prog(two)));
	EXPECT_TRUE(WIFSTOPPED(run_prog(two)));
	EXPECT_EQ(1, hits(self->dev, id1));
	EXPECT_EQ(2, hits(self->dev, id2));
	unprobe(self->dev, id1);
	EXPECT_TRUE(is_add(one, add));
	EXPECT_FALSE(is_add(two, add));
}

/* Registers and unregisters some times; returns a last probe that stays. */
static int probe_and_unprobe(struct __test_metadata *_metadata, int dev,
			     pid_t pid)
{
	int i, id;

	for (i = 0; i < 20; i++) {
		id = probe(dev, pid, add);
		ASSERT_LE(0, id);
		unprobe(dev, id);
	}
	id = probe(dev, pid, add);
	ASSERT_LE(0, id);
	return id;
}

/* The same for a thread that sleeps, and that nothing so much as wakes up. */
static int probe_blocked(struct __test_metadata *_metadata, int dev, pid_t pid)
{
	long before;
	int id;

	ASSERT_TRUE(wait_blocked(pid, 'S'));
	before = switches(pid);
	id = probe_and_unprobe(_metadata, dev, pid);
	EXPECT_EQ('S', thread_state(pid));
	EXPECT_EQ(before, switches(pid));
	return id;
}

/* A14: the target stays stopped all the time. */
TEST_F(three_times, a14_stopped)
{
	pid_t pid = start_prog(add_and_stop);
	int id = probe_and_unprobe(_metadata, self->dev, pid);

	EXPECT_EQ('T', thread_state(pid));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(1, hits(self->dev, id));
}

static int pipe_fds[2];

/* The program waits for one byte, gets it after all, and calls add(). */
static void check_waiting(struct __test_metadata *_metadata, int dev,
			  void (*body)(void))
{
	pid_t pid;
	int id;

	ASSERT_EQ(0, pipe(pipe_fds));
	pid = start_prog(body);
	cont_prog(pid);
	id = probe_blocked(_metadata, dev, pid);
	ASSERT_EQ(1, write(pipe_fds[1], "x", 1));
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(1, shm[COUNT])
		TH_LOG("errno %ld", shm[ERRNO]);
	EXPECT_EQ(1, hits(dev, id));
}

static void reading_prog(void)
{
	char c;

	shm[COUNT] = read(pipe_fds[0], &c, 1);
	shm[ERRNO] = errno;
	add(1, 2);
}

/* A14: a read that blocks goes on blocking, and ends with its byte. */
TEST_F(three_times, a14_blocked_in_read)
{
	check_waiting(_metadata, self->dev, reading_prog);
}

static void polling_prog(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, pipe_fds[0], &event))
		abort();
	shm[COUNT] = epoll_wait(fd, &event, 1, -1);
	shm[ERRNO] = errno;
	add(1, 2);
}

/* A14: nor does epoll_wait, which is never restarted, see an EINTR. */
TEST_F(three_times, a14_blocked_in_epoll_wait)
{
	check_waiting(_metadata, self->dev, polling_prog);
}

#define SLEEP_MS	5000

static void sleeping_prog(void)
{
	struct timespec ts = {
		.tv_sec = SLEEP_MS / 1000,
		.tv_nsec = SLEEP_MS % 1000 * 1000000L,
	};
	__u64 start = now_ns();

	shm[COUNT] = nanosleep(&ts, NULL);
	shm[SLEPT] = (now_ns() - start) / 1000000;
	add(1, 2);
}

/* A14: a nanosleep is not cut short, and is not woken. */
TEST_F(three_times, a14_blocked_in_nanosleep)
{
	pid_t pid = start_prog(sleeping_prog);
	int id;

	shm[COUNT] = -1;
	cont_prog(pid);
	id = probe_blocked(_metadata, self->dev, pid);
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(0, shm[COUNT]);
	EXPECT_LE(SLEEP_MS, shm[SLEPT]);
	EXPECT_EQ(1, hits(self->dev, id));
}

static void *add_until_stop(void *arg)
{
	long n = 0;

	while (!__atomic_load_n(&shm[STOP], __ATOMIC_RELAXED)) {
		if (add(n, 1) != n + 1)
			shm[SHM_BAD] = 1;
		n++;
	}
	return NULL;
}

static void running_prog(void)
{
	run_threads(add_until_stop, 4);
}

/* A14: four threads run flat out; hits come and, at unregister, end. */
TEST_F(three_times, a14_running)
{
	pid_t pid = start_prog(running_prog);
	long seen;
	int i, id;

	cont_prog(pid);
	for (i = 0; i < 20; i++) {
		id = probe(self->dev, pid, add);
		ASSERT_LE(0, id);
		EXPECT_TRUE(wait_hits(self->dev, id));
		unprobe(self->dev, id);
		seen = hits(self->dev, id);
		sleep_ms(5);
		EXPECT_EQ(seen, hits(self->dev, id));
	}
	shm[STOP] = 1;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
}

static __u64 vaddrs[NINSNS];

/* C13: a batch of 1000 comes and goes within a few grace periods. */
TEST_F(uprobes, c13_batch_of_1000)
{
	struct upt_batch batch = {
		.pid = start_prog(adding_prog),
		.n = 1000,
		.vaddrs = (uintptr_t)vaddrs,
	};
	__u64 start, registered, unregistered;
	int i;

	for (i = 0; i < batch.n; i++)
		vaddrs[i] = (uintptr_t)nop_at(i);
	start = now_ns();
	ASSERT_EQ(0, upt_register_batch(self->dev, &batch));
	registered = now_ns() - start;
	EXPECT_EQ(batch.n, list_lines(batch.pid));
	start = now_ns();
	upt_unregister_batch(self->dev, &batch);
	unregistered = now_ns() - start;
	EXPECT_EQ(0, list_lines(batch.pid));
	TH_LOG("registered in %llu us, unregistered in %llu us",
	       registered / 1000, unregistered / 1000);
	EXPECT_GT(2 * NSEC_PER_SEC, registered);
	EXPECT_GT(2 * NSEC_PER_SEC, unregistered);
}

/* A batch is all or nothing: the last one fails, so none is registered. */
TEST_F(uprobes, batch_fails)
{
	struct upt_batch batch = {
		.pid = start_prog(adding_prog),
		.n = 100,
		.vaddrs = (uintptr_t)vaddrs,
	};
	char before[200], after[200];
	int i;

	for (i = 0; i < batch.n; i++)
		vaddrs[i] = (uintptr_t)nop_at(i);
	vaddrs[batch.n - 1] = 0;
	ASSERT_EQ(0, read_mem(batch.pid, nops, before, sizeof(before)));
	EXPECT_EQ(-EINVAL, upt_register_batch(self->dev, &batch));
	EXPECT_EQ(0, list_lines(batch.pid));
	ASSERT_EQ(0, read_mem(batch.pid, nops, after, sizeof(after)));
	EXPECT_EQ(0, memcmp(before, after, sizeof(before)));
	upt_unregister_batch(self->dev, &batch);
	EXPECT_TRUE(WIFSTOPPED(run_prog(batch.pid)));
}

/* A batch over two processes in turn: each is hit, both are clean again. */
TEST_F(uprobes, batch_of_two_processes)
{
	__s32 pids[20];
	struct upt_batch batch = {
		.n = ARRAY_SIZE(pids),
		.vaddrs = (uintptr_t)vaddrs,
		.pids = (uintptr_t)pids,
	};
	pid_t one = start_prog(adding_prog), two = start_prog(adding_prog);
	int i;

	for (i = 0; i < batch.n; i++) {
		pids[i] = i % 2 ? two : one;
		vaddrs[i] = (uintptr_t)(i < 2 ? (void *)add : nop_at(i));
	}
	ASSERT_EQ(0, upt_register_batch(self->dev, &batch));
	EXPECT_EQ(10, list_lines(one));
	EXPECT_EQ(10, list_lines(two));
	EXPECT_TRUE(WIFSTOPPED(run_prog(one)));
	EXPECT_TRUE(WIFSTOPPED(run_prog(two)));
	EXPECT_TRUE(WIFSTOPPED(run_prog(two)));
	EXPECT_EQ(1, hits(self->dev, batch.first));
	EXPECT_EQ(2, hits(self->dev, batch.first + 1));
	upt_unregister_batch(self->dev, &batch);
	EXPECT_EQ(0, list_lines(one));
	EXPECT_EQ(0, list_lines(two));
	EXPECT_TRUE(is_add(one, add));
	EXPECT_TRUE(is_add(two, add));

	/* The last one fails, and it is the other process that is undone too */
	vaddrs[batch.n - 1] = 0;
	EXPECT_EQ(-EINVAL, upt_register_batch(self->dev, &batch));
	EXPECT_EQ(0, list_lines(one));
	EXPECT_EQ(0, list_lines(two));
	EXPECT_TRUE(is_add(one, add));
	EXPECT_TRUE(is_add(two, add));
	EXPECT_TRUE(WIFSTOPPED(run_prog(one)));
}

/* The sample refuses bad parameters with the errno and one line each. */
TEST_F(uprobes, sample_refuses)
{
	pid_t pid = start_prog(adding_prog);
	char nothing_there[64];
	const struct {
		const char *parameters;
		int result;
	} loads[] = {
		{ "", -EINVAL },
		{ nothing_there, -EINVAL },
		{ "pid=-1 vaddr=0x1000", -ESRCH },
		{ "pid=-1", -EINVAL },
		{ "vaddr=0x1000", -EINVAL },
		{ "pid=2 vaddr=0x1000", -EINVAL },
	};
	size_t i;
	int log;

	snprintf(nothing_there, sizeof(nothing_there), "pid=%d vaddr=0x1000",
		 pid);
	for (i = 0; i < ARRAY_SIZE(loads); i++) {
		log = log_start();
		EXPECT_EQ(loads[i].result,
			  upt_load("uprobe_example", loads[i].parameters))
			TH_LOG("%s", loads[i].parameters);
		EXPECT_EQ(1, log_warnings(log, "uprobe_example: "))
			TH_LOG("%s", loads[i].parameters);
	}
}

static void sled_prog(void)
{
	for (;;) {
		shm[SHM_RESULT] = add_10000(5);
		prog_stop();
	}
}

/* 10000 stepped instructions, all probed: right result, each hit once. */
TEST_F_TIMEOUT(uprobes, probes_10000, 120)
{
	struct upt_batch batch = {
		.pid = start_prog(sled_prog),
		.n = NINSNS,
		.vaddrs = (uintptr_t)vaddrs,
	};
	static char before[4 * NINSNS], after[4 * NINSNS];
	long wrong = 0;
	int i;

	for (i = 0; i < NINSNS; i++)
		vaddrs[i] = (uintptr_t)lea_at(i);
	ASSERT_EQ(0, read_mem(batch.pid, leas, before, sizeof(before)));
	ASSERT_EQ(0, upt_register_batch(self->dev, &batch));
	EXPECT_TRUE(WIFSTOPPED(run_prog(batch.pid)));
	EXPECT_EQ(NINSNS + 5, shm[SHM_RESULT]);
	for (i = 0; i < NINSNS; i++)
		wrong += hits(self->dev, batch.first + i) != 1;
	EXPECT_EQ(0, wrong);
	upt_unregister_batch(self->dev, &batch);
	ASSERT_EQ(0, read_mem(batch.pid, leas, after, sizeof(after)));
	EXPECT_EQ(0, memcmp(before, after, sizeof(before)));
	EXPECT_TRUE(WIFSTOPPED(run_prog(batch.pid)));
	EXPECT_EQ(NINSNS + 5, shm[SHM_RESULT]);
}

/* Short rounds: in some of them nothing else runs. */
#define NROUNDS		50
#define NCALLS		1000

/* Times calls of the last instruction of the sled, and returns the best. */
static void timing_prog(void)
{
	void_fn last_nop = fn_at(nop_at(NINSNS - 1));
	__u64 start, best, took;
	int i, round;

	for (;;) {
		best = ~0ULL;
		for (round = 0; round < NROUNDS; round++) {
			start = now_ns();
			for (i = 0; i < NCALLS; i++)
				last_nop();
			took = now_ns() - start;
			best = took < best ? took : best;
		}
		shm[COUNT] = best / NCALLS;
		prog_stop();
	}
}

/* The cost of a hit does not grow with the number of probes. */
TEST_F_TIMEOUT(uprobes, cost_of_a_hit, 120)
{
	struct upt_batch batch = {
		.pid = start_prog(timing_prog),
		.n = NINSNS - 1,
		.vaddrs = (uintptr_t)vaddrs,
	};
	long alone, among;
	int i, id;

	for (i = 0; i < batch.n; i++)
		vaddrs[i] = (uintptr_t)nop_at(i);
	id = probe(self->dev, batch.pid, nop_at(NINSNS - 1));
	ASSERT_LE(0, id);
	EXPECT_TRUE(WIFSTOPPED(run_prog(batch.pid)));
	alone = shm[COUNT];
	ASSERT_EQ(0, upt_register_batch(self->dev, &batch));
	EXPECT_TRUE(WIFSTOPPED(run_prog(batch.pid)));
	among = shm[COUNT];
	EXPECT_EQ(2 * NROUNDS * NCALLS, hits(self->dev, id));
	TH_LOG("a hit takes %ld ns alone, %ld ns among %d probes", alone,
	       among, NINSNS);
	EXPECT_GE(alone * 3 / 2, among);
}
