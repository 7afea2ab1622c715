// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes of files: of an offset in a file, in all processes that map it. This is
 * what tracefs, perf and BPF use.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"
#include "mapped.h"

/*
 * Consumers
 */

/* What a handler sees. */
TEST_F(inode, entry)
{
	pid_t pid = start_mapped(call_add);
	int id = probe_file(self->dev, file, ADD_AT);
	struct upi_state state;
	int i;

	ASSERT_LE(0, id);
	EXPECT_TRUE(has_breakpoint(pid, code()));
	for (i = 1; i <= 10; i++) {
		EXPECT_EQ(3, result_of(pid));
		EXPECT_EQ(i, file_hits(self->dev, id));
	}
	state = upi_read(self->dev, id);
	EXPECT_EQ(pid, state.tid);
	EXPECT_EQ((uintptr_t)code(), state.ip);
	EXPECT_EQ(0, state.returns);

	unprobe_file(self->dev, id);
	EXPECT_TRUE(is_clean(pid));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(10, file_hits(self->dev, id));
}

/* What a handler of a return sees. */
TEST_F(inode, ret)
{
	pid_t pid = start_mapped(call_sub);
	int id = probe_file_ret(self->dev, file, SUB_AT);
	struct upi_state state;
	int i;

	ASSERT_LE(0, id);
	for (i = 1; i <= 10; i++) {
		EXPECT_EQ(-1, result_of(pid));
		EXPECT_EQ(i, file_returns(self->dev, id));
	}
	state = upi_read(self->dev, id);
	EXPECT_EQ(pid, state.tid);
	EXPECT_EQ((uintptr_t)code(), state.func);
	EXPECT_EQ(-1, (long)state.value);
	EXPECT_EQ(0, state.hits);

	unprobe_file(self->dev, id);
	EXPECT_TRUE(is_clean(pid));
	EXPECT_EQ(-1, result_of(pid));
	EXPECT_EQ(10, file_returns(self->dev, id));
}

/* One consumer with both handlers. */
TEST_F(inode, entry_and_ret)
{
	struct upi_probe req = {
		.fd = file,
		.handlers = UPI_ENTRY | UPI_RETURN,
		.offset = ADD_AT,
	};
	pid_t pid = start_mapped(call_add);
	int id = probe_file_as(self->dev, &req);
	struct upi_state state;

	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(3, result_of(pid));
	state = upi_read(self->dev, id);
	EXPECT_EQ(2, state.hits);
	EXPECT_EQ(2, state.returns);
	EXPECT_EQ(3, state.value);
}

#define NCONSUMERS	3

static void check_order(struct __test_metadata *_metadata, int dev,
			const int order[NCONSUMERS])
{
	pid_t pid = start_mapped(call_add);
	int ids[NCONSUMERS], i, calls = 0;
	long right[NCONSUMERS] = {};

	for (i = 0; i < NCONSUMERS; i++) {
		/* The second one is at the return */
		ids[i] = i == 1 ? probe_file_ret(dev, file, ADD_AT) :
				  probe_file(dev, file, ADD_AT);
		ASSERT_LE(0, ids[i]);
		right[i] = -calls;
		EXPECT_EQ(3, result_of(pid));
		calls++;
	}
	for (i = 0; i < NCONSUMERS; i++) {
		EXPECT_TRUE(has_breakpoint(pid, code()));
		unprobe_file(dev, ids[order[i]]);
		right[order[i]] += calls;
		EXPECT_EQ(3, result_of(pid));
		calls++;
	}
	EXPECT_TRUE(is_clean(pid));
	for (i = 0; i < NCONSUMERS; i++) {
		struct upi_state state = upi_read(dev, ids[i]);

		EXPECT_EQ(right[i], i == 1 ? state.returns : state.hits)
			TH_LOG("consumer %d", i);
	}
	end_prog(pid);
}

/* Several consumers of one offset, in any order of removal. */
TEST_F(inode, consumers)
{
	static const int orders[][NCONSUMERS] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 },
		{ 2, 0, 1 }, { 2, 1, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(orders); i++)
		check_order(_metadata, self->dev, orders[i]);
}

/* The same consumer, registered again and again. */
TEST_F(inode, again)
{
	pid_t pid = start_mapped(call_add);
	int id = probe_file(self->dev, file, ADD_AT), i;

	ASSERT_LE(0, id);
	for (i = 1; i <= 20; i++) {
		EXPECT_EQ(3, result_of(pid));
		EXPECT_EQ(i, file_hits(self->dev, id));
		unprobe_file(self->dev, id);
		EXPECT_EQ(3, result_of(pid));
		EXPECT_EQ(i, file_hits(self->dev, id));
		ASSERT_EQ(0, probe_file_again(self->dev, id));
	}
}

static void call_both(void)
{
	char *text = map_text();

	for (;;) {
		call_once(text + ADD_AT);
		shm[SHM_RESULT] += call(text + SUB_AT);
	}
}

/* Neighbours: two functions, and two instructions of one. */
TEST_F(inode, neighbours)
{
	const __u64 offsets[] = { ADD_AT, ADD_RET_AT, SUB_AT };
	pid_t pid = start_mapped(call_both);
	int ids[3], i, n;

	for (i = 0; i < 3; i++) {
		ids[i] = probe_file(self->dev, file, offsets[i]);
		ASSERT_LE(0, ids[i]);
	}
	EXPECT_EQ(2, result_of(pid));
	for (n = 0; n < 3; n++) {
		EXPECT_EQ(2, result_of(pid));
		for (i = n; i < 3; i++)
			EXPECT_EQ(n + 2, file_hits(self->dev, ids[i]));
		unprobe_file(self->dev, ids[n]);
		EXPECT_EQ(n == 2, is_clean(pid));
	}
	EXPECT_EQ(2, result_of(pid));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(i + 2, file_hits(self->dev, ids[i]));
}

/* A handler that makes the thread go on elsewhere. */
TEST_F(inode, set_ip)
{
	pid_t pid = start_mapped(call_add);
	struct upi_probe req = {
		.fd = file,
		.handlers = UPI_ENTRY,
		.offset = ADD_AT,
		.kind = UPI_SET_IP,
		.arg = (uintptr_t)code() - ADD_AT + SUB_AT,
	};
	int id = probe_file_as(self->dev, &req);

	ASSERT_LE(0, id);
	EXPECT_EQ(-1, result_of(pid));
	EXPECT_EQ(-1, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
	unprobe_file(self->dev, id);
	EXPECT_EQ(3, result_of(pid));
}

/*
 * Filters
 */

/* Hits in processes that the filter wants. */
static long own_hits(int dev, int id)
{
	struct upi_state state = upi_read(dev, id);

	return state.hits - state.foreign;
}

#define NPROGS	3

static void start_progs(pid_t pids[NPROGS])
{
	int i;

	for (i = 0; i < NPROGS; i++)
		pids[i] = start_mapped(call_add);
}

static void run_progs(struct __test_metadata *_metadata,
		      const pid_t pids[NPROGS])
{
	int i;

	for (i = 0; i < NPROGS; i++)
		EXPECT_EQ(3, result_of(pids[i]));
}

/* One process of three: the others have no breakpoint. */
TEST_F(inode, filter)
{
	pid_t pids[NPROGS];
	int id, i;

	start_progs(pids);
	id = probe_filtered(self->dev, UPI_COUNT, UPI_ONLY, pids[1]);
	ASSERT_LE(0, id);
	run_progs(_metadata, pids);
	EXPECT_EQ(1, file_hits(self->dev, id));
	EXPECT_EQ(1, own_hits(self->dev, id));
	for (i = 0; i < NPROGS; i++)
		EXPECT_EQ(i != 1, is_clean(pids[i]));
	unprobe_file(self->dev, id);
	EXPECT_TRUE(is_clean(pids[1]));
}

/* Processes that map it later are asked about as well. */
TEST_F(inode, filter_later)
{
	pid_t one = start_prog(call_add), other = start_prog(call_add);
	int id = probe_filtered(self->dev, UPI_COUNT, UPI_ONLY, one);

	ASSERT_LE(0, id);
	run_prog(one);
	run_prog(other);
	EXPECT_EQ(3, result_of(one));
	EXPECT_EQ(3, result_of(other));
	EXPECT_EQ(1, file_hits(self->dev, id));
	EXPECT_FALSE(is_clean(one));
	EXPECT_TRUE(is_clean(other));
}

/* Another consumer wants all processes: each gets its own hits. */
TEST_F(inode, filter_shared)
{
	pid_t pids[NPROGS];
	int one, all;

	start_progs(pids);
	one = probe_filtered(self->dev, UPI_COUNT, UPI_ONLY, pids[1]);
	all = probe_file(self->dev, file, ADD_AT);
	ASSERT_LE(0, one);
	ASSERT_LE(0, all);
	run_progs(_metadata, pids);
	EXPECT_EQ(1, own_hits(self->dev, one));
	EXPECT_EQ(3, file_hits(self->dev, all));
	unprobe_file(self->dev, all);
	EXPECT_TRUE(is_clean(pids[0]));
	EXPECT_FALSE(is_clean(pids[1]));
	run_progs(_metadata, pids);
	EXPECT_EQ(2, own_hits(self->dev, one));
	EXPECT_EQ(3, file_hits(self->dev, all));
	unprobe_file(self->dev, one);
	EXPECT_TRUE(is_clean(pids[1]));
}

/* uprobe_apply(): breakpoints come and go with the filter's answers. */
TEST_F(inode, apply)
{
	pid_t pids[NPROGS];
	int id;

	start_progs(pids);
	id = probe_filtered(self->dev, UPI_COUNT, UPI_NOBODY, 0);
	ASSERT_LE(0, id);
	run_progs(_metadata, pids);
	EXPECT_EQ(0, file_hits(self->dev, id));
	EXPECT_TRUE(is_clean(pids[0]));

	EXPECT_EQ(0, apply_filter(self->dev, id, UPI_ALL, 0, true));
	run_progs(_metadata, pids);
	EXPECT_EQ(3, file_hits(self->dev, id));

	EXPECT_EQ(0, apply_filter(self->dev, id, UPI_ONLY, pids[2], false));
	EXPECT_TRUE(is_clean(pids[0]));
	EXPECT_TRUE(is_clean(pids[1]));
	run_progs(_metadata, pids);
	EXPECT_EQ(4, file_hits(self->dev, id));

	EXPECT_EQ(0, apply_filter(self->dev, id, UPI_ALL_BUT, pids[0], true));
	EXPECT_EQ(0, apply_filter(self->dev, id, UPI_ALL_BUT, pids[0], false));
	run_progs(_metadata, pids);
	EXPECT_EQ(6, file_hits(self->dev, id));

	EXPECT_EQ(0, apply_filter(self->dev, id, UPI_NOBODY, 0, false));
	run_progs(_metadata, pids);
	EXPECT_EQ(6, file_hits(self->dev, id));
	EXPECT_TRUE(is_clean(pids[1]));
	EXPECT_TRUE(is_clean(pids[2]));
}

/* UPROBE_HANDLER_REMOVE: in this process it was the last hit. */
TEST_F(inode, handler_remove)
{
	pid_t pids[NPROGS];
	int id;

	start_progs(pids);
	id = probe_filtered(self->dev, UPI_REMOVE, UPI_ALL, 0);
	ASSERT_LE(0, id);
	/* The filter has to agree, and does not */
	run_progs(_metadata, pids);
	run_progs(_metadata, pids);
	EXPECT_EQ(6, file_hits(self->dev, id));

	set_filter(self->dev, id, UPI_ALL_BUT, pids[0]);
	EXPECT_FALSE(is_clean(pids[0]));
	run_progs(_metadata, pids);
	EXPECT_EQ(9, file_hits(self->dev, id));
	EXPECT_TRUE(is_clean(pids[0]));
	EXPECT_FALSE(is_clean(pids[1]));
	run_progs(_metadata, pids);
	EXPECT_EQ(11, file_hits(self->dev, id));
}

/* Without a filter, nobody agrees. */
TEST_F(inode, handler_remove_unfiltered)
{
	pid_t pid = start_mapped(call_add);
	int id = probe_filtered(self->dev, UPI_REMOVE, UPI_NO_FILTER, 0);

	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
}

/* Another consumer still wants the process. */
TEST_F(inode, handler_remove_shared)
{
	pid_t pid = start_mapped(call_add);
	int id = probe_filtered(self->dev, UPI_REMOVE, UPI_ALL, 0);
	int other = probe_file(self->dev, file, ADD_AT);

	ASSERT_LE(0, id);
	ASSERT_LE(0, other);
	set_filter(self->dev, id, UPI_NOBODY, 0);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(0, own_hits(self->dev, id));
	EXPECT_LE(1, file_hits(self->dev, id));
	EXPECT_EQ(2, file_hits(self->dev, other));
	unprobe_file(self->dev, other);
	EXPECT_TRUE(is_clean(pid));
}

/*
 * Processes and threads
 */

/* fork(): the child keeps the probe, and loses it with everybody else. */
TEST_F(inode, fork)
{
	pid_t pid = start_mapped(call_in_child);
	int id = probe_file(self->dev, file, ADD_AT);

	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
	EXPECT_EQ(shm[CHILD], upi_read(self->dev, id).tid);
	unprobe_file(self->dev, id);
	EXPECT_TRUE(is_clean(pid));
	EXPECT_TRUE(is_clean(shm[CHILD]));
	shm[GO] = true;
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(0, shm[BAD]);
	EXPECT_EQ(2, file_hits(self->dev, id));
}

/* The child is there when the probe comes, and has copied no breakpoint. */
TEST_F(inode, fork_before)
{
	pid_t pid = start_mapped(call_in_child);
	int id;

	EXPECT_EQ(3, result_of(pid));
	id = probe_file(self->dev, file, ADD_AT);
	ASSERT_LE(0, id);
	shm[GO] = true;
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(1, file_hits(self->dev, id));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
	EXPECT_EQ(0, shm[BAD]);
}

/* A filter that does not want children: uprobe_apply() takes it away. */
TEST_F(inode, fork_filtered)
{
	pid_t pid = start_mapped(call_in_child);
	int id = probe_filtered(self->dev, UPI_COUNT, UPI_ONLY, pid);

	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, own_hits(self->dev, id));
	EXPECT_EQ(0, apply_filter(self->dev, id, UPI_ONLY, pid, false));
	EXPECT_TRUE(is_clean(shm[CHILD]));
	EXPECT_FALSE(is_clean(pid));
	unprobe_file(self->dev, id);
	EXPECT_TRUE(is_clean(pid));
}

static long fork_and_wait(void)
{
	pid_t pid = fork_child();

	if (pid)
		wait_child(pid);
	else
		shm[CHILD] = getpid();
	return !pid;
}

static void fork_in_calls(void)
{
	bool is_child;

	prog_stop();
	is_child = call_nested(fork_and_wait) != NNESTED;
	if (is_child)
		_exit(0);
	prog_stop();
}

/* A fork inside of calls: they return twice. */
TEST_F(inode, fork_in_call)
{
	pid_t pid = start_mapped(fork_in_calls);
	int ids[NNESTED], i;

	for (i = 0; i < NNESTED; i++) {
		ids[i] = probe_file_ret(self->dev, own_file(),
					file_offset(nested[i]));
		ASSERT_LE(0, ids[i]);
	}
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_NE(0, shm[CHILD]);
	EXPECT_EQ(0, shm[BAD]);
	for (i = 0; i < NNESTED; i++)
		EXPECT_EQ(2, file_returns(self->dev, ids[i]));
}

/* A call that is in progress when the probe goes returns all the same. */
TEST_F(inode, removed_in_call)
{
	pid_t pid = start_mapped(stop_in_calls);
	int id = probe_file_ret(self->dev, own_file(), file_offset(nested[2]));
	int other = probe_file_ret(self->dev, own_file(),
				   file_offset(nested[1]));

	ASSERT_LE(0, id);
	ASSERT_LE(0, other);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	unprobe_file(self->dev, id);
	EXPECT_EQ(NNESTED, result_of(pid));
	EXPECT_EQ(0, file_returns(self->dev, id));
	EXPECT_EQ(1, file_returns(self->dev, other));
}

static int call_in_clone(void *fn)
{
	shm[SHM_RESULT] = call(fn);
	return 0;
}

static void call_in_clones(int flags)
{
	static char stack[65536];
	char *fn = map_text() + ADD_AT;
	pid_t pid;

	call_once(fn);
	prog_stop();
	pid = clone(call_in_clone, stack + sizeof(stack), flags | SIGCHLD, fn);
	if (pid < 0)
		abort();
	wait_child(pid);
	call_for_ever(fn);
}

static void call_in_clone_vm(void)
{
	call_in_clones(CLONE_VM);
}

static void call_in_vfork(void)
{
	call_in_clones(CLONE_VM | CLONE_VFORK);
}

static void check_clone(struct __test_metadata *_metadata, int dev,
			void (*body)(void))
{
	struct upi_probe req = {
		.fd = file,
		.handlers = UPI_ENTRY | UPI_RETURN,
		.offset = ADD_AT,
	};
	pid_t pid = start_mapped(body);
	int id = probe_file_as(dev, &req), i;

	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	for (i = 2; i <= 3; i++) {
		EXPECT_EQ(3, result_of(pid));
		EXPECT_EQ(i, file_hits(dev, id));
		EXPECT_EQ(i, file_returns(dev, id));
	}
	EXPECT_EQ(0, shm[BAD]);
	unprobe_file(dev, id);
	EXPECT_TRUE(is_clean(pid));
}

/* A child that shares the memory is a process that maps the file. */
TEST_F(inode, clone_vm)
{
	check_clone(_metadata, self->dev, call_in_clone_vm);
}

TEST_F(inode, vfork)
{
	check_clone(_metadata, self->dev, call_in_vfork);
}

#define NCALLS		1000

static void *call_often(void *unused)
{
	int i;

	for (i = 0; i < NCALLS; i++) {
		if (call(code()) != 3)
			add_to(BAD, 1);
	}
	return NULL;
}

static void call_in_threads(void)
{
	shm[CODE] = (long)map_text() + ADD_AT;
	prog_stop();
	run_threads(call_often, NTHREADS);
	prog_stop();
}

TEST_F(inode, threads)
{
	struct upi_probe req = {
		.fd = file,
		.handlers = UPI_ENTRY | UPI_RETURN,
		.offset = ADD_AT,
	};
	pid_t pid = start_mapped(call_in_threads);
	int id = probe_file_as(self->dev, &req);

	ASSERT_LE(0, id);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(0, shm[BAD]);
	EXPECT_EQ(NTHREADS * NCALLS, file_hits(self->dev, id));
	EXPECT_EQ(NTHREADS * NCALLS, file_returns(self->dev, id));
}

/* Removal while threads hit; then with a consumer that stays and sees all. */
static void check_blinking(struct __test_metadata *_metadata, int dev,
			   bool steady)
{
	pid_t pid = start_mapped(crowd);
	int id = probe_file(dev, file, ADD_AT), stays = -1, i;
	long before;

	ASSERT_LE(0, id);
	if (steady) {
		stays = probe_file(dev, file, ADD_AT);
		ASSERT_LE(0, stays);
	}
	cont_prog(pid);
	for (i = 0; i < NROUNDS; i++) {
		usleep(i % 20 * 100);
		unprobe_file(dev, id);
		before = file_hits(dev, id);
		usleep(i % 10 * 100);
		EXPECT_EQ(before, file_hits(dev, id));
		ASSERT_EQ(0, probe_file_again(dev, id));
	}
	shm[STOP] = true;
	EXPECT_TRUE(WIFSTOPPED(wait_prog(pid)));
	EXPECT_EQ(0, shm[BAD]);
	EXPECT_LT(0, file_hits(dev, id));
	EXPECT_GE(shm[ADDS], file_hits(dev, id));
	unprobe_file(dev, id);
	if (steady) {
		EXPECT_EQ(shm[ADDS], file_hits(dev, stays));
		unprobe_file(dev, stays);
	}
	EXPECT_TRUE(is_clean(pid));
}

TEST_F(inode, blinking)
{
	check_blinking(_metadata, self->dev, false);
}

TEST_F(inode, blinking_beside)
{
	check_blinking(_metadata, self->dev, true);
}

#define NBLINKERS	4

static pid_t crowd_pid;

/* A consumer of its own for each, which knows when it must have no hits. */
static void *blink(void *unused)
{
	int dev = upt_open(UPI_MODULE), id, i;
	long before;

	id = probe_filtered(dev, UPI_COUNT, UPI_ALL, 0);
	for (i = 0; i < NROUNDS / NBLINKERS; i++) {
		if (apply_filter(dev, id, UPI_NOBODY, 0, false) ||
		    apply_filter(dev, id, UPI_ONLY, crowd_pid, true))
			add_to(BAD, 1);
		usleep(i % 5 * 1000);
		unprobe_file(dev, id);
		before = file_hits(dev, id);
		usleep(i % 10 * 100);
		if (file_hits(dev, id) != before ||
		    probe_file_again(dev, id))
			add_to(BAD, 1);
	}
	if (!file_hits(dev, id))
		add_to(BAD, 1);
	close(dev);
	return NULL;
}

static void check_blinkers(struct __test_metadata *_metadata, int dev,
			   bool steady)
{
	pthread_t threads[NBLINKERS];
	int id = -1, i;

	crowd_pid = start_mapped(crowd);
	if (steady) {
		id = probe_file(dev, file, ADD_AT);
		ASSERT_LE(0, id);
	}
	cont_prog(crowd_pid);
	for (i = 0; i < NBLINKERS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, blink, NULL));
	for (i = 0; i < NBLINKERS; i++)
		pthread_join(threads[i], NULL);
	shm[STOP] = true;
	EXPECT_TRUE(WIFSTOPPED(wait_prog(crowd_pid)));
	EXPECT_EQ(0, shm[BAD]);
	if (steady) {
		EXPECT_EQ(shm[ADDS], file_hits(dev, id));
		unprobe_file(dev, id);
	}
	EXPECT_TRUE(is_clean(crowd_pid));
}

/* Several that come and go at a time, all at one place. */
TEST_F(inode, blinkers)
{
	check_blinkers(_metadata, self->dev, false);
}

TEST_F(inode, blinkers_beside)
{
	check_blinkers(_metadata, self->dev, true);
}

/* Who unregisters waits for handlers. */
TEST_F(inode, removed_in_handler)
{
	struct upi_probe req = {
		.fd = file,
		.handlers = UPI_ENTRY,
		.offset = ADD_AT,
		.kind = UPI_SLEEP,
		.arg = 300000,
	};
	pid_t pid = start_mapped(crowd);
	int id = probe_file_as(self->dev, &req), i;
	long before;

	ASSERT_LE(0, id);
	cont_prog(pid);
	for (i = 0; i < 5000 && !file_hits(self->dev, id); i++)
		sleep_ms(1);
	unprobe_file(self->dev, id);
	before = file_hits(self->dev, id);
	EXPECT_LT(0, before);
	shm[STOP] = true;
	EXPECT_TRUE(WIFSTOPPED(wait_prog(pid)));
	EXPECT_EQ(before, file_hits(self->dev, id));
	EXPECT_TRUE(is_clean(pid));
}

static void call_pages(void)
{
	int i;

	for (;;) {
		prog_stop();
		for (i = 0; i < NPAGES; i++)
			((void_fn)fn_at(pages + i * PAGE_SZ))();
	}
}

/* Many probes that go at once, with one wait for all. */
TEST_F(inode, batch)
{
	pid_t pid = start_mapped(call_pages);
	int fd = own_file(), first = -1, id, i;

	for (i = 0; i < NPAGES; i++) {
		id = probe_file(self->dev, fd, file_offset(pages + i * PAGE_SZ));
		ASSERT_LE(0, id);
		if (!i)
			first = id;
	}
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_TRUE(is_private_page(pid, pages));
	unprobe_files(self->dev, first, NPAGES);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	for (i = 0; i < NPAGES; i++) {
		EXPECT_EQ(1, file_hits(self->dev, first + i));
		EXPECT_TRUE(is_clean_page(pid, pages + i * PAGE_SZ, fd,
					  file_offset(pages + i * PAGE_SZ)));
	}
}

/*
 * Refusals
 */

TEST_F(inode, no_handler)
{
	struct upi_probe req = { .fd = file, .offset = ADD_AT };

	EXPECT_EQ(-EINVAL, probe_file_as(self->dev, &req));
}

TEST_F(inode, beyond_end)
{
	EXPECT_EQ(-EINVAL, probe_file(self->dev, file, FILE_SIZE + ADD_AT));
	EXPECT_EQ(-EINVAL, probe_file(self->dev, file, FILE_SIZE));
	EXPECT_EQ(-EINVAL, probe_file(self->dev, file, -1));
}

/* A file whose contents are not in memory. */
TEST_F(inode, unreadable)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EIO, probe_file(self->dev, fd, 0));
}

#if INSNS_ARE_WORDS
TEST_F(inode, misaligned)
{
	EXPECT_EQ(-EINVAL, probe_file(self->dev, file, ADD_AT + 2));
}
#endif

static void check_refused(struct __test_metadata *_metadata, int dev,
			  const void *insn)
{
	pid_t pid;

	put_function(ADD_AT, insn, 4);
	EXPECT_EQ(-REFUSED, probe_file(dev, file, ADD_AT));
	EXPECT_EQ(-REFUSED, probe_file_ret(dev, file, ADD_AT));
	pid = start_mapped(call_sub);
	EXPECT_EQ(-REFUSED, probe_file(dev, file, ADD_AT));
	EXPECT_TRUE(is_clean(pid));
}

/* What cannot be executed from a copy, mapped by somebody or not. */
TEST_F(inode, refused)
{
	check_refused(_metadata, self->dev, soft_int);
	check_refused(_metadata, self->dev, unknown);
	check_refused(_metadata, self->dev, halt);
}

/* A breakpoint that is in the file. */
TEST_F(inode, breakpoint)
{
	const opcode_t breakpoint = BREAKPOINT;
	pid_t pid;

	ASSERT_EQ(sizeof(breakpoint),
		  pwrite(file, &breakpoint, sizeof(breakpoint), ADD_AT));
	EXPECT_EQ(-EEXIST, probe_file(self->dev, file, ADD_AT));
	pid = start_mapped(call_sub);
	EXPECT_EQ(-EEXIST, probe_file(self->dev, file, ADD_AT));
	EXPECT_TRUE(is_clean(pid));
}

/*
 * Everything at once
 */

#define TORTURE_SECONDS	8

static void call_counting(const char *fn)
{
	add_to(ADDS, 1);
	if (call(fn) != 3)
		add_to(BAD, 1);
}

static void *torture_calls(void *unused)
{
	while (!look_at(STOP))
		call_counting(code());
	return NULL;
}

static __thread pid_t child;

static long fork_in_call(void)
{
	child = fork_child();
	return 0;
}

/* In a call that is observed, and so returns twice. */
static void *torture_forks(void *unused)
{
	char *fn = (char *)code() - ADD_AT + TAIL_CALL_AT;
	int i;

	while (!look_at(STOP)) {
		((tail_fn)fn_at(fn))(fork_in_call);
		add_to(FORKS, 1);
		if (child) {
			wait_child(child);
			continue;
		}
		for (i = 0; i < 50; i++)
			call_counting(code());
		_exit(0);
	}
	return NULL;
}

static void *torture_maps(void *unused)
{
	char *text;

	while (!look_at(STOP)) {
		text = map_text();
		call_counting(text + ADD_AT);
		protect(text, 0, 1, PROT_READ);
		call_counting(text + ADD_AT);
		text = move(text, 1, 2);
		call_counting(text + ADD_AT - PAGE_SZ);
		munmap(text + PAGE_SZ, PAGE_SZ);
		call_counting(text + ADD_AT - PAGE_SZ);
		munmap(text, TEXT_SIZE);
	}
	return NULL;
}

static void torture(void)
{
	void *(* const fns[])(void *) = {
		torture_calls, torture_calls, torture_calls, torture_forks,
		torture_maps,
	};
	pthread_t threads[ARRAY_SIZE(fns)];
	size_t i;

	shm[CODE] = (long)map_text() + ADD_AT;
	prog_stop();
	for (i = 0; i < ARRAY_SIZE(fns); i++) {
		if (pthread_create(&threads[i], NULL, fns[i], NULL))
			abort();
	}
	for (i = 0; i < ARRAY_SIZE(fns); i++)
		pthread_join(threads[i], NULL);
	prog_stop();
}

static void victim(void)
{
	char *fn = map_text() + SUB_AT;

	for (;;) {
		add_to(SUBS_BEGUN, 1);
		call(fn);
		add_to(SUBS_DONE, 1);
	}
}

/*
 * Threads hit, fork and map the file; processes are killed in the middle; probes
 * of all sorts come and go. Those that stay see every call.
 */
TEST_F_TIMEOUT(inode, torture, 120)
{
	struct upi_probe both = {
		.fd = file,
		.handlers = UPI_ENTRY | UPI_RETURN,
		.offset = ADD_AT,
	};
	pid_t pid = start_mapped(torture), dying;
	int steady = probe_file(self->dev, file, ADD_AT);
	int killed = probe_file(self->dev, file, SUB_AT);
	int forks = probe_file_ret(self->dev, file, TAIL_CALL_AT);
	int blinking[] = {
		probe_file_as(self->dev, &both),
		probe_file_ret(self->dev, file, ADD_AT),
		probe_file(self->dev, file, ADD_RET_AT),
		probe_file(self->dev, file, SUB_AT),
		probe_file(self->dev, file, ADD_AT - PAGE_SZ),
		probe_filtered(self->dev, UPI_COUNT, UPI_ALL_BUT, pid),
		probe_filtered(self->dev, UPI_REMOVE, UPI_ONLY, pid),
		probe_file(self->dev, file, TAIL_CALL_AT),
	};
	__u64 end = now_ns() + TORTURE_SECONDS * NSEC_PER_SEC;
	size_t i, rounds = 0;

	ASSERT_LE(0, steady);
	ASSERT_LE(0, killed);
	ASSERT_LE(0, forks);
	for (i = 0; i < ARRAY_SIZE(blinking); i++)
		ASSERT_LE(0, blinking[i]);
	cont_prog(pid);
	while (now_ns() < end) {
		dying = start_prog(victim);
		cont_prog(dying);
		for (i = 0; i < ARRAY_SIZE(blinking); i++) {
			unprobe_file(self->dev, blinking[i]);
			usleep(i * 100);
			ASSERT_EQ(0, probe_file_again(self->dev, blinking[i]));
		}
		end_prog(dying);
		rounds++;
	}
	shm[STOP] = true;
	EXPECT_TRUE(WIFSTOPPED(wait_prog(pid)));
	EXPECT_LT(0, rounds);
	EXPECT_EQ(0, shm[BAD]);
	EXPECT_EQ(shm[ADDS], file_hits(self->dev, steady));
	EXPECT_EQ(shm[FORKS], file_returns(self->dev, forks));
	EXPECT_LE(shm[SUBS_DONE], file_hits(self->dev, killed));
	EXPECT_GE(shm[SUBS_BEGUN], file_hits(self->dev, killed));
	for (i = 0; i < ARRAY_SIZE(blinking); i++)
		unprobe_file(self->dev, blinking[i]);
	unprobe_file(self->dev, steady);
	unprobe_file(self->dev, killed);
	unprobe_file(self->dev, forks);
	EXPECT_TRUE(is_clean(pid));
}
