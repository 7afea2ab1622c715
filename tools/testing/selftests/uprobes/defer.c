// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of the API from handlers and callbacks: deferred, carried out in call
 * order before the thread goes on, and reported once each.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"
#include "probed.h"

enum {
	BEFORE = SHM_FREE,
	AFTER,
	STOP,
	ROUNDS,
};

static struct upt_event events[UPT_MAX_EVENTS];

static int idle(int dev, pid_t pid, const void *addr, enum upt_type type)
{
	return type == UPT_URETPROBE ? idle_ret(dev, pid, addr) :
				       idle_probe(dev, pid, addr);
}

static void start(struct __test_metadata *_metadata, int dev, int id)
{
	ASSERT_EQ(0, upt_op(dev, UPT_REGISTER_AGAIN, id));
}

/* The callbacks of one object: how many, and what the last one said. */
static void check_callbacks(struct __test_metadata *_metadata, int dev, int id,
			    __u64 n, int reg, int result)
{
	struct upt_state state = upt_read(dev, id);

	EXPECT_EQ(n, state.callbacks)
		TH_LOG("object %d", id);
	EXPECT_EQ(reg, state.last_reg)
		TH_LOG("object %d", id);
	EXPECT_EQ(result, state.last_result)
		TH_LOG("object %d", id);
	EXPECT_EQ(0, state.errors)
		TH_LOG("object %d", id);
}

/* The calls of an object's steps, and how many of them said -EINPROGRESS. */
static void check_calls(struct __test_metadata *_metadata, int dev, int id,
			__u64 calls, __u64 deferred)
{
	struct upt_state state = upt_read(dev, id);

	EXPECT_EQ(calls, state.calls);
	EXPECT_EQ(deferred, state.deferred);
	EXPECT_EQ(0, state.errors);
}

/* A7. */

static int nthreads;

static __probed void reg_all(void)
{
}

static __probed void unreg_all(void)
{
}

/* Each function once: how many said that they were probed, how many not. */
static void *call_all(void *arg)
{
	struct upt_slot slot = new_slot();
	long probed = 0, unprobed = 0, ret;
	int i;

	for (i = 0; i < NCOUNTING; i++) {
		ret = counting[i](&slot);
		probed += ret >= 0;
		unprobed += ret == -1;
	}
	__atomic_fetch_add(&shm[BEFORE], probed, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shm[AFTER], unprobed, __ATOMIC_RELAXED);
	return NULL;
}

static void a7_prog(void)
{
	reg_all();
	run_threads(call_all, nthreads);
	prog_stop();
	unreg_all();
	run_threads(call_all, nthreads);
}

static void check_a7(struct __test_metadata *_metadata, int dev, int threads)
{
	int ids[NCOUNTING], reg, unreg, i;
	struct upt_step step = { 0 };
	pid_t pid;

	nthreads = threads;
	pid = start_prog(a7_prog);
	reg = idle_probe(dev, pid, reg_all);
	unreg = idle_probe(dev, pid, unreg_all);
	for (i = 0; i < NCOUNTING; i++) {
		struct upt_probe req = {
			.pid = pid,
			.vaddr = (uintptr_t)counting[i],
			.kind = UPT_SLOT,
		};

		ids[i] = upt_add(dev, &req);
	}
	step = (struct upt_step){
		.id = reg,
		.kind = UPT_DO_REGISTER,
		.target = ids[0],
		.n = NCOUNTING,
	};
	upt_step(dev, &step);
	step.id = unreg;
	step.kind = UPT_DO_UNREGISTER;
	upt_step(dev, &step);
	add_step(dev, unreg, UPT_AT_ENTRY, UPT_DO_UNREGISTER_NULL, unreg);
	start(_metadata, dev, reg);
	start(_metadata, dev, unreg);

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	check_calls(_metadata, dev, reg, 10, 10);
	EXPECT_EQ(12, list_lines(pid));
	EXPECT_EQ(10 * threads, shm[BEFORE]);
	EXPECT_EQ(0, shm[AFTER]);
	for (i = 0; i < NCOUNTING; i++)
		check_callbacks(_metadata, dev, ids[i], 1, 1, 0);

	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(10 * threads, shm[BEFORE]);
	EXPECT_EQ(10 * threads, shm[AFTER]);
	for (i = 0; i < NCOUNTING; i++) {
		EXPECT_EQ(threads, hits(dev, ids[i]));
		unprobe(dev, ids[i]);
		check_callbacks(_metadata, dev, ids[i], 2, 0, 0);
	}
	EXPECT_EQ(0, upt_read(dev, reg).callbacks);
	EXPECT_EQ(0, upt_read(dev, unreg).callbacks);
}

/* A7: a handler registers ten probes, another unregisters them and NULL. */
TEST_F(three_times, a7_one_thread)
{
	check_a7(_metadata, self->dev, 1);
}

TEST_F(three_times, a7_10_threads)
{
	check_a7(_metadata, self->dev, 10);
}

static void add_10_times(void)
{
	int i;

	for (i = 0; i < 10; i++)
		shm[SHM_BAD] += add(i, 1) != i + 1;
}

/* A probe of add() that unregisters itself when it is there for the 7th time */
static void check_a9(struct __test_metadata *_metadata, int dev,
		     enum upt_type type, enum upt_when when, __u64 nhits)
{
	pid_t pid = start_prog(add_10_times);
	int id = idle(dev, pid, add, type);
	struct upt_step step = {
		.id = id,
		.when = when,
		.kind = UPT_DO_UNREGISTER,
		.nth = 7,
		.target = id,
		.n = 1,
	};

	upt_step(dev, &step);
	start(_metadata, dev, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(nhits, hits(dev, id));
	check_callbacks(_metadata, dev, id, 1, 0, 0);
	EXPECT_EQ(0, list_lines(pid));
}

/* A9: a handler unregisters its own probe at the 7th of 10 calls: 7 runs. */
TEST_F(three_times, a9_entry_probe)
{
	check_a9(_metadata, self->dev, UPT_UPROBE, UPT_AT_ENTRY, 7);
}

/* A9: so does a return handler. */
TEST_F(three_times, a9_return_probe)
{
	check_a9(_metadata, self->dev, UPT_URETPROBE, UPT_AT_RETURN, 7);
}

/* A9: an entry_handler does, so that the 7th return is not reported. */
TEST_F(three_times, a9_entry_handler)
{
	check_a9(_metadata, self->dev, UPT_URETPROBE, UPT_AT_ENTRY, 6);
}

static __probed void first(long nth)
{
}

static __probed void second(long nth)
{
}

static void blink_prog(void)
{
	long i;

	for (i = 1; i <= 50; i++) {
		first(i);
		second(i);
	}
}

/* The calls at which the callbacks of an object said that. */
static int calls_of(int steady, int id, unsigned int reg, int n, __u64 *calls,
		    int max)
{
	__u64 call = 0;
	int i, found = 0;

	for (i = 0; i < n; i++) {
		if (events[i].type == UPT_EV_ENTRY && events[i].id == steady)
			call = events[i].value;
		if (events[i].type == UPT_EV_CALLBACK && events[i].id == id &&
		    events[i].value == reg && found < max)
			calls[found++] = call;
	}
	return found;
}

/*
 * The steady probe registers blink at calls that 3 divides, should it not be
 * registered; blink unregisters itself at those that 5 divides.
 */
static void check_blink(struct __test_metadata *_metadata, int dev,
			void (*blinking)(long nth))
{
	static const __u64 on[] = { 3, 6, 12, 18, 21, 27, 33, 36, 42, 48 };
	pid_t pid = start_prog(blink_prog);
	int steady = idle_probe(dev, pid, first);
	int blink = idle_probe(dev, pid, blinking);
	struct upt_step step = {
		.id = steady,
		.kind = UPT_DO_REGISTER,
		.every = 3,
		.target = blink,
		.n = 1,
	};
	__u64 calls[20];
	int i, n;

	upt_step(dev, &step);
	step.id = blink;
	step.kind = UPT_DO_UNREGISTER;
	step.every = 5;
	upt_step(dev, &step);
	start(_metadata, dev, steady);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(50, hits(dev, steady));
	check_callbacks(_metadata, dev, blink, 20, 0, 0);

	/* At 9, 15, 24, 30, 39 and 45 it was registered */
	EXPECT_EQ(16, upt_read(dev, steady).calls);
	EXPECT_EQ(10, upt_read(dev, steady).deferred);
	n = upt_events(dev, events);
	ASSERT_GE(UPT_MAX_EVENTS, n);
	for (i = 0; i < n; i++) {
		if (events[i].type == UPT_EV_CALL &&
		    events[i].value == UPT_DO_REGISTER &&
		    events[i].result != -EINPROGRESS)
			EXPECT_EQ(-EBUSY, events[i].result);
	}
	ASSERT_EQ(10, calls_of(steady, blink, 1, n, calls, ARRAY_SIZE(calls)));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(on[i], calls[i]);
	ASSERT_EQ(10, calls_of(steady, blink, 0, n, calls, ARRAY_SIZE(calls)));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(5 * (i + 1), calls[i]);
}

/* A11: both probes are at one address. */
TEST_F(three_times, a11_blink)
{
	check_blink(_metadata, self->dev, first);
}

/* A12: blink is on a function that is called right after it. */
TEST_F(three_times, a12_blink_elsewhere)
{
	check_blink(_metadata, self->dev, second);
}

/* Each of two probes of add() registers the other, and unregisters itself. */
static void make_pong(int dev, int entry, int ret)
{
	add_step(dev, entry, UPT_AT_ENTRY, UPT_DO_REGISTER, ret);
	add_step(dev, entry, UPT_AT_ENTRY, UPT_DO_UNREGISTER, entry);
	add_step(dev, ret, UPT_AT_RETURN, UPT_DO_REGISTER, entry);
	add_step(dev, ret, UPT_AT_RETURN, UPT_DO_UNREGISTER, ret);
}

/*
 * With more than one thread, both may end up unregistered: one unregisters
 * itself when the other cannot register it yet. This one starts them again.
 */
static void make_steady(struct __test_metadata *_metadata, int dev, int steady,
			int entry)
{
	add_step(dev, steady, UPT_AT_ENTRY, UPT_DO_REGISTER, entry);
	start(_metadata, dev, steady);
}

static void add_20_times(void)
{
	add_10_times();
	add_10_times();
}

/* A13: an entry and a return probe take turns: 20 calls, 10 of each. */
TEST_F(three_times, a13_pong)
{
	pid_t pid = start_prog(add_20_times);
	int entry = idle_probe(self->dev, pid, add);
	int ret = idle_ret(self->dev, pid, add);

	make_pong(self->dev, entry, ret);
	start(_metadata, self->dev, entry);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(10, hits(self->dev, entry));
	EXPECT_EQ(10, hits(self->dev, ret));
	check_calls(_metadata, self->dev, entry, 20, 10);
	check_calls(_metadata, self->dev, ret, 20, 10);
	check_callbacks(_metadata, self->dev, entry, 20, 1, 0);
	check_callbacks(_metadata, self->dev, ret, 20, 0, 0);
	EXPECT_EQ(0, missed(self->dev, ret));
}

static void *add_until_stop(void *arg)
{
	long n = 0;

	while (!__atomic_load_n(&shm[STOP], __ATOMIC_RELAXED)) {
		if (add(n, 1) != n + 1)
			shm[SHM_BAD] = 1;
		n++;
		__atomic_fetch_add(&shm[ROUNDS], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void running_prog(void)
{
	run_threads(add_until_stop, nthreads);
}

/* The program comes round some more times. */
static bool goes_on(void)
{
	long before = __atomic_load_n(&shm[ROUNDS], __ATOMIC_RELAXED);
	int tries;

	for (tries = 0; tries < 5000; tries++) {
		if (__atomic_load_n(&shm[ROUNDS], __ATOMIC_RELAXED) >
		    before + 100)
			return true;
		sleep_ms(1);
	}
	return false;
}

static int keep(int dev, pid_t pid, const void *addr, enum upt_type type)
{
	struct upt_probe req = {
		.pid = pid,
		.type = type,
		.vaddr = (uintptr_t)addr,
		.keep = true,
	};

	return upt_add(dev, &req);
}

static void check_unload_pong(struct __test_metadata *_metadata, int threads)
{
	int dev2, entry, ret, steady, log;
	pid_t pid;

	/* The program is not to have the device open, too */
	nthreads = threads;
	pid = start_prog(running_prog);
	dev2 = upt_open(UPT_MODULE2);
	ASSERT_LE(0, dev2);
	entry = keep(dev2, pid, add, UPT_UPROBE);
	ret = keep(dev2, pid, add, UPT_URETPROBE);
	make_pong(dev2, entry, ret);
	steady = keep(dev2, pid, add, UPT_UPROBE);
	make_steady(_metadata, dev2, steady, entry);
	cont_prog(pid);
	ASSERT_TRUE(wait_hits(dev2, ret));

	log = log_start();
	close(dev2);
	EXPECT_EQ(0, upt_unload(UPT_MODULE2));
	EXPECT_EQ(1, log_warnings(log, UPT_MODULE2));
	EXPECT_EQ(0, list_lines(pid));
	EXPECT_TRUE(is_add(pid, add));
	EXPECT_TRUE(goes_on());
	shm[STOP] = 1;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
}

/* A13: the module is unloaded in the middle of it. */
TEST_F(three_times, a13_unload)
{
	check_unload_pong(_metadata, 1);
}

/* A13: so it is while four threads play. */
TEST_F(three_times, a13_unload_threads)
{
	check_unload_pong(_metadata, 4);
}

static int inherited_dev;

static void running_alone(void)
{
	close(inherited_dev);
	running_prog();
}

/* Closing the device, which unregisters all, in the middle of it. */
TEST_F(uprobes, pong_closed)
{
	int entry, ret, steady;
	pid_t pid;

	nthreads = 4;
	inherited_dev = self->dev;
	pid = start_prog(running_alone);
	entry = idle_probe(self->dev, pid, add);
	ret = idle_ret(self->dev, pid, add);
	make_pong(self->dev, entry, ret);
	steady = idle_probe(self->dev, pid, add);
	make_steady(_metadata, self->dev, steady, entry);
	cont_prog(pid);
	ASSERT_TRUE(wait_hits(self->dev, ret));
	close_and_unload(_metadata, &self->dev);
	EXPECT_EQ(0, list_lines(pid));
	EXPECT_TRUE(is_add(pid, add));
	EXPECT_TRUE(goes_on());
	shm[STOP] = 1;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
}

/* Every call, from every kind of handler, for the own and another process. */

#define NTARGETS	3

static const void * const targets[NTARGETS] = { nop_fn, sub, own_sp };

/* Each function once, and a stop. */
static void cycle_prog(void)
{
	for (;;) {
		shm[SHM_RESULT] = add(1, 2);
		nop_fn();
		if (sub(3, 2) != 1 || !own_sp())
			shm[SHM_BAD]++;
		prog_stop();
	}
}

static void cycle(struct __test_metadata *_metadata, pid_t pid)
{
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(0, shm[SHM_BAD]);
}

static bool is_clean(pid_t pid)
{
	char code[16];
	int i;

	for (i = 0; i < NTARGETS; i++) {
		if (read_mem(pid, targets[i], code, sizeof(code)) ||
		    memcmp(code, targets[i], sizeof(code)))
			return false;
	}
	return true;
}

/* From where the calls are made. */
struct source {
	enum upt_type type;
	enum upt_when when;
};

static void check_every_call(struct __test_metadata *_metadata, int dev,
			     struct source from, enum upt_type type,
			     bool other, bool batch)
{
	pid_t pid = start_prog(cycle_prog);
	pid_t target = other ? start_prog(cycle_prog) : pid;
	int source = idle(dev, pid, add, from.type), ids[NTARGETS];
	int i, ncalls = batch ? 1 : NTARGETS;
	struct upt_step step = {
		.id = source,
		.when = from.when,
		.n = NTARGETS,
	};

	for (i = 0; i < NTARGETS; i++)
		ids[i] = idle(dev, target, targets[i], type);
	step.target = ids[0];
	step.kind = batch ? UPT_DO_REGISTER_BATCH : UPT_DO_REGISTER;
	step.nth = 1;
	upt_step(dev, &step);
	step.kind = batch ? UPT_DO_UNREGISTER_BATCH : UPT_DO_UNREGISTER;
	step.nth = 2;
	upt_step(dev, &step);
	start(_metadata, dev, source);

	cycle(_metadata, pid);
	check_calls(_metadata, dev, source, ncalls, ncalls);
	EXPECT_EQ(NTARGETS + !other, list_lines(target));
	if (other)
		cycle(_metadata, target);
	for (i = 0; i < NTARGETS; i++) {
		check_callbacks(_metadata, dev, ids[i], 1, 1, 0);
		EXPECT_EQ(1, hits(dev, ids[i]));
	}

	cycle(_metadata, pid);
	EXPECT_EQ(!other, list_lines(target));
	EXPECT_TRUE(is_clean(target));
	if (other)
		cycle(_metadata, target);
	for (i = 0; i < NTARGETS; i++) {
		check_callbacks(_metadata, dev, ids[i], 2, 0, 0);
		EXPECT_EQ(1, hits(dev, ids[i]));
		EXPECT_EQ(0, missed(dev, ids[i]));
	}
	unprobe(dev, source);
	end_prog(pid);
	if (other)
		end_prog(target);
}

static void check_calls_from(struct __test_metadata *_metadata, int dev,
			     struct source from)
{
	int i;

	for (i = 0; i < 8; i++)
		check_every_call(_metadata, dev, from,
				 i & 1 ? UPT_URETPROBE : UPT_UPROBE, i & 2,
				 i & 4);
}

TEST_F(uprobes, calls_from_handler)
{
	struct source from = { UPT_UPROBE, UPT_AT_ENTRY };

	check_calls_from(_metadata, self->dev, from);
}

TEST_F(uprobes, calls_from_entry_handler)
{
	struct source from = { UPT_URETPROBE, UPT_AT_ENTRY };

	check_calls_from(_metadata, self->dev, from);
}

TEST_F(uprobes, calls_from_return_handler)
{
	struct source from = { UPT_URETPROBE, UPT_AT_RETURN };

	check_calls_from(_metadata, self->dev, from);
}

/* A source in a program, and idle objects of the same for it to act on. */
struct cast {
	pid_t pid;
	int source;
	int ids[NTARGETS];
};

static struct cast new_cast(int dev, enum upt_type type)
{
	struct cast c = { .pid = start_prog(cycle_prog) };
	int i;

	c.source = idle_probe(dev, c.pid, add);
	for (i = 0; i < NTARGETS; i++)
		c.ids[i] = idle(dev, c.pid, targets[i], type);
	return c;
}

/* Callbacks may call the API too, which is deferred to behind the others. */
TEST_F(uprobes, calls_from_callback)
{
	struct cast c = new_cast(self->dev, UPT_URETPROBE);
	int *ids = c.ids;

	add_step(self->dev, c.source, UPT_AT_ENTRY, UPT_DO_REGISTER, ids[0]);
	add_step(self->dev, ids[0], UPT_AT_REGISTERED, UPT_DO_REGISTER, ids[1]);
	add_step(self->dev, ids[0], UPT_AT_REGISTERED, UPT_DO_UNREGISTER,
		 c.source);
	add_step(self->dev, ids[1], UPT_AT_REGISTERED, UPT_DO_REGISTER, ids[2]);
	add_step(self->dev, ids[1], UPT_AT_REGISTERED, UPT_DO_UNREGISTER,
		 ids[0]);
	add_step(self->dev, c.source, UPT_AT_UNREGISTERED, UPT_DO_FREE,
		 c.source);
	start(_metadata, self->dev, c.source);
	cycle(_metadata, c.pid);
	check_calls(_metadata, self->dev, c.source, 1, 1);
	check_calls(_metadata, self->dev, ids[0], 2, 1);
	check_calls(_metadata, self->dev, ids[1], 2, 1);
	check_callbacks(_metadata, self->dev, c.source, 1, 0, 0);
	check_callbacks(_metadata, self->dev, ids[0], 2, 0, 0);
	check_callbacks(_metadata, self->dev, ids[1], 1, 1, 0);
	check_callbacks(_metadata, self->dev, ids[2], 1, 1, 0);
	EXPECT_TRUE(upt_read(self->dev, c.source).freed);
	EXPECT_EQ(0, hits(self->dev, ids[0]));
	EXPECT_EQ(1, hits(self->dev, ids[1]));
	EXPECT_EQ(1, hits(self->dev, ids[2]));
	EXPECT_EQ(2, list_lines(c.pid));
}

/* The callback of an unregister frees the object. */
static void check_free(struct __test_metadata *_metadata, int dev,
		       enum upt_type type, enum upt_when when)
{
	pid_t pid = start_prog(cycle_prog);
	int id = idle(dev, pid, add, type);

	add_step(dev, id, when, UPT_DO_UNREGISTER, id);
	add_step(dev, id, UPT_AT_UNREGISTERED, UPT_DO_FREE, id);
	start(_metadata, dev, id);
	cycle(_metadata, pid);
	EXPECT_TRUE(upt_read(dev, id).freed);
	check_callbacks(_metadata, dev, id, 1, 0, 0);
	EXPECT_EQ(0, list_lines(pid));
	EXPECT_TRUE(is_add(pid, add));
	cycle(_metadata, pid);
	end_prog(pid);
}

TEST_F(uprobes, callback_frees)
{
	check_free(_metadata, self->dev, UPT_UPROBE, UPT_AT_ENTRY);
	check_free(_metadata, self->dev, UPT_URETPROBE, UPT_AT_ENTRY);
	check_free(_metadata, self->dev, UPT_URETPROBE, UPT_AT_RETURN);
}

/* Calls are carried out, and reported, in the order in which they were made. */
TEST_F(uprobes, order_of_callbacks)
{
	struct cast c = new_cast(self->dev, UPT_UPROBE);
	const struct {
		int id;
		__u64 reg;
	} expected[] = {
		{ c.ids[2], 1 },
		{ c.ids[0], 1 }, { c.ids[1], 1 },
		{ c.ids[2], 0 },
		/* Of the second handler at that address */
		{ c.ids[1], 0 },
	};
	struct upt_step step = {
		.id = c.source,
		.kind = UPT_DO_REGISTER_BATCH,
		.target = c.ids[0],
		.n = 2,
	};
	int later = idle_probe(self->dev, c.pid, add);
	int i, n, k = 0;

	add_step(self->dev, c.source, UPT_AT_ENTRY, UPT_DO_REGISTER, c.ids[2]);
	upt_step(self->dev, &step);
	add_step(self->dev, c.source, UPT_AT_ENTRY, UPT_DO_UNREGISTER,
		 c.ids[2]);
	add_step(self->dev, later, UPT_AT_ENTRY, UPT_DO_UNREGISTER, c.ids[1]);
	start(_metadata, self->dev, c.source);
	start(_metadata, self->dev, later);
	cycle(_metadata, c.pid);
	n = upt_events(self->dev, events);
	for (i = 0; i < n; i++) {
		/* No callback before the last handler */
		if (events[i].type != UPT_EV_CALLBACK) {
			EXPECT_TRUE(k == 0 || k == ARRAY_SIZE(expected));
			continue;
		}
		ASSERT_GT(ARRAY_SIZE(expected), k);
		EXPECT_EQ(expected[k].id, events[i].id);
		EXPECT_EQ(expected[k].reg, events[i].value);
		EXPECT_EQ(0, events[i].result);
		EXPECT_EQ(c.pid, events[i].tid);
		k++;
	}
	EXPECT_EQ(ARRAY_SIZE(expected), k);
	EXPECT_EQ(1, hits(self->dev, c.ids[0]));
	EXPECT_EQ(0, hits(self->dev, c.ids[1]));
	EXPECT_EQ(0, hits(self->dev, c.ids[2]));
}

/* Twice in one handler: one callback. */
TEST_F(uprobes, unregister_twice)
{
	struct cast c = new_cast(self->dev, UPT_UPROBE);
	int i;

	for (i = 0; i < 2; i++)
		add_step(self->dev, c.source, UPT_AT_ENTRY, UPT_DO_UNREGISTER,
			 c.ids[0]);
	/* Never registered, so there is nothing to report */
	add_step(self->dev, c.source, UPT_AT_ENTRY, UPT_DO_UNREGISTER,
		 c.ids[1]);
	start(_metadata, self->dev, c.source);
	start(_metadata, self->dev, c.ids[0]);
	cycle(_metadata, c.pid);
	cycle(_metadata, c.pid);
	check_callbacks(_metadata, self->dev, c.ids[0], 1, 0, 0);
	EXPECT_EQ(0, upt_read(self->dev, c.ids[1]).callbacks);
	EXPECT_EQ(0, hits(self->dev, c.ids[0]));
}

/* What can be known at once is not deferred: -EBUSY, -EAGAIN, -E2BIG. */
TEST_F(uprobes, refused_at_once)
{
	struct cast c = new_cast(self->dev, UPT_UPROBE);
	struct upt_probe too_big = {
		.pid = c.pid,
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)add,
		.data_size = 4097,
	};
	static const int results[] = {
		-EBUSY, -EINPROGRESS, -EAGAIN, -E2BIG,
	};
	int big = upt_add(self->dev, &too_big);
	int i, n, k = 0;

	add_step(self->dev, c.source, UPT_AT_ENTRY, UPT_DO_REGISTER, c.source);
	add_step(self->dev, c.source, UPT_AT_ENTRY, UPT_DO_REGISTER, c.ids[0]);
	add_step(self->dev, c.source, UPT_AT_ENTRY, UPT_DO_REGISTER, c.ids[0]);
	add_step(self->dev, c.source, UPT_AT_ENTRY, UPT_DO_REGISTER, big);
	start(_metadata, self->dev, c.source);
	cycle(_metadata, c.pid);
	n = upt_events(self->dev, events);
	for (i = 0; i < n; i++) {
		if (events[i].type != UPT_EV_CALL)
			continue;
		ASSERT_GT(ARRAY_SIZE(results), k);
		EXPECT_EQ(results[k], events[i].result)
			TH_LOG("call %d", k);
		k++;
	}
	EXPECT_EQ(ARRAY_SIZE(results), k);
	check_callbacks(_metadata, self->dev, c.ids[0], 1, 1, 0);
	EXPECT_EQ(0, upt_read(self->dev, c.source).callbacks);
	EXPECT_EQ(0, upt_read(self->dev, big).callbacks);
}

/* A registration that waits for its turn keeps others from the object. */
TEST_F(uprobes, pending_unregister)
{
	struct cast c = new_cast(self->dev, UPT_UPROBE);

	add_step(self->dev, c.source, UPT_AT_ENTRY, UPT_DO_UNREGISTER,
		 c.ids[0]);
	add_step(self->dev, c.source, UPT_AT_ENTRY, UPT_DO_REGISTER, c.ids[0]);
	start(_metadata, self->dev, c.source);
	start(_metadata, self->dev, c.ids[0]);
	cycle(_metadata, c.pid);
	EXPECT_EQ(-EAGAIN, upt_read(self->dev, c.source).last_call);
	check_callbacks(_metadata, self->dev, c.ids[0], 1, 0, 0);
	EXPECT_EQ(0, hits(self->dev, c.ids[0]));
}

/* The registration of that object, from a handler of pid, fails so. */
static void check_failure(struct __test_metadata *_metadata, int dev,
			  pid_t pid, int id, int err)
{
	int source = idle_probe(dev, pid, add);

	add_step(dev, source, UPT_AT_ENTRY, UPT_DO_REGISTER, id);
	start(_metadata, dev, source);
	cycle(_metadata, pid);
	check_calls(_metadata, dev, source, 1, 1);
	check_callbacks(_metadata, dev, id, 1, 1, -err);
	unprobe(dev, source);
	EXPECT_EQ(0, list_lines(pid));
	EXPECT_EQ(-EINVAL, upt_op(dev, UPT_ENABLE, id));
	unprobe(dev, id);

	/* The object is as good as new */
	upt_move(dev, id, pid, add);
	start(_metadata, dev, id);
	cycle(_metadata, pid);
	EXPECT_EQ(1, hits(dev, id));
	unprobe(dev, id);
	check_callbacks(_metadata, dev, id, 1, 1, -err);
}

/* Failures come through the callback, and leave the object as it was. */
TEST_F(uprobes, deferred_failures)
{
	void *shared = map_add(NULL, RX, MAP_SHARED);
	pid_t pid = start_prog(cycle_prog), dead = start_prog(cycle_prog);
	const struct {
		pid_t pid;
		const void *addr;
		int err;
	} cases[] = {
		{ 0, add, ESRCH },
		{ -1, add, ESRCH },
		{ dead, add, ESRCH },
		{ 2, add, EINVAL },
		{ pid, NULL, EINVAL },
		{ pid, &shm, EINVAL },
		{ pid, (void *)-1UL, EINVAL },
		{ pid, own_int3, EEXIST },
		{ pid, soft_int, REFUSED },
		{ pid, shared, EOPNOTSUPP },
	};
	int entry, ret;
	size_t i;

	end_prog(dead);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		entry = idle_probe(self->dev, cases[i].pid, cases[i].addr);
		ret = idle_ret(self->dev, cases[i].pid, cases[i].addr);
		check_failure(_metadata, self->dev, pid, entry, cases[i].err);
		check_failure(_metadata, self->dev, pid, ret, cases[i].err);
	}
	EXPECT_TRUE(is_add(pid, add));
}

/* A deferred batch is all or nothing: all are told of the failure of one. */
static void check_batch_fails(struct __test_metadata *_metadata, int dev,
			      enum upt_type type)
{
	struct cast c = new_cast(dev, type);
	struct upt_step step = {
		.id = c.source,
		.kind = UPT_DO_REGISTER_BATCH,
		.target = c.ids[0],
		.n = NTARGETS,
	};
	int i;

	upt_move(dev, c.ids[1], c.pid, own_int3);
	upt_step(dev, &step);
	start(_metadata, dev, c.source);
	cycle(_metadata, c.pid);
	check_calls(_metadata, dev, c.source, 1, 1);
	EXPECT_EQ(1, list_lines(c.pid));
	EXPECT_TRUE(is_clean(c.pid));
	for (i = 0; i < NTARGETS; i++) {
		check_callbacks(_metadata, dev, c.ids[i], 1, 1, -EEXIST);
		EXPECT_EQ(0, hits(dev, c.ids[i]));
	}
	end_prog(c.pid);
}

TEST_F(uprobes, deferred_batch_fails)
{
	check_batch_fails(_metadata, self->dev, UPT_UPROBE);
	check_batch_fails(_metadata, self->dev, UPT_URETPROBE);
}

/* A return probe of which the trampoline was set in the same handler. */
static void defer_init(int dev, const struct cast *c, const void *place)
{
	struct upt_step step = {
		.id = c->source,
		.kind = UPT_DO_INIT,
		.nth = 1,
		.target = c->ids[0],
		.n = 1,
		.arg = (uintptr_t)place,
	};

	upt_step(dev, &step);
	add_step(dev, c->source, UPT_AT_ENTRY, UPT_DO_REGISTER, c->ids[0]);
	step.nth = 2;
	step.kind = UPT_DO_REGISTER;
	step.target = c->ids[1];
	upt_step(dev, &step);
}

/* init_uretprobes() from a handler, with an address. */
TEST_F(uprobes, deferred_init)
{
	char *place = map_add(NULL, RX, MAP_PRIVATE);
	struct cast c = new_cast(self->dev, UPT_URETPROBE);

	defer_init(self->dev, &c, place);
	start(_metadata, self->dev, c.source);
	cycle(_metadata, c.pid);
	check_calls(_metadata, self->dev, c.source, 2, 2);
	check_callbacks(_metadata, self->dev, c.ids[0], 1, 1, 0);
	EXPECT_EQ(1, hits(self->dev, c.ids[0]));
	EXPECT_EQ(0, init_returns(self->dev, c.pid, place));
	EXPECT_EQ(-EEXIST, init_returns(self->dev, c.pid, add));
}

/* Its failure is that of the next registration of a return probe; once. */
TEST_F(uprobes, deferred_init_fails)
{
	struct cast c = new_cast(self->dev, UPT_URETPROBE);

	defer_init(self->dev, &c, &shm);
	start(_metadata, self->dev, c.source);
	cycle(_metadata, c.pid);
	check_calls(_metadata, self->dev, c.source, 2, 2);
	check_callbacks(_metadata, self->dev, c.ids[0], 1, 1, -EINVAL);
	EXPECT_EQ(0, hits(self->dev, c.ids[0]));
	EXPECT_EQ(1, list_lines(c.pid));

	cycle(_metadata, c.pid);
	check_callbacks(_metadata, self->dev, c.ids[0], 2, 1, 0);
	check_callbacks(_metadata, self->dev, c.ids[1], 1, 1, 0);
	EXPECT_EQ(1, hits(self->dev, c.ids[0]));
	EXPECT_EQ(1, hits(self->dev, c.ids[1]));
}

#define LONG_US		800000

/* The source makes a call for an object, and then sleeps in its handler. */
static void call_and_sleep(int dev, const struct cast *c, enum upt_kind kind)
{
	struct upt_step sleep = {
		.id = c->source,
		.kind = UPT_SLEEP,
		.arg = LONG_US,
	};

	add_step(dev, c->source, UPT_AT_ENTRY, kind, c->ids[0]);
	upt_step(dev, &sleep);
}

/* The program is in that sleep, and what it has called for is queued. */
static void run_into_sleep(struct __test_metadata *_metadata, int dev,
			   const struct cast *c)
{
	start(_metadata, dev, c->source);
	cont_prog(c->pid);
	while (!upt_read(dev, c->source).calls)
		sleep_ms(1);
}

static void check_cancel(struct __test_metadata *_metadata, int dev,
			 enum upt_type type)
{
	struct cast c = new_cast(dev, type);

	call_and_sleep(dev, &c, UPT_DO_REGISTER);
	run_into_sleep(_metadata, dev, &c);
	check_calls(_metadata, dev, c.source, 1, 1);
	EXPECT_EQ(-EAGAIN, upt_op(dev, UPT_REGISTER_AGAIN, c.ids[0]));
	EXPECT_EQ(-EINVAL, upt_op(dev, UPT_ENABLE, c.ids[0]));
	EXPECT_EQ(0, upt_read(dev, c.ids[0]).callbacks);
	unprobe(dev, c.ids[0]);
	check_callbacks(_metadata, dev, c.ids[0], 1, 1, -ECANCELED);
	EXPECT_TRUE(WIFSTOPPED(wait_prog(c.pid)));
	check_callbacks(_metadata, dev, c.ids[0], 1, 1, -ECANCELED);
	EXPECT_EQ(1, list_lines(c.pid));
	EXPECT_TRUE(is_clean(c.pid));
	start(_metadata, dev, c.ids[0]);
	cycle(_metadata, c.pid);
	EXPECT_EQ(1, hits(dev, c.ids[0]));
	end_prog(c.pid);
}

/* unregister cancels a queued registration: its callback is told, and done. */
TEST_F(uprobes, cancel_register)
{
	check_cancel(_metadata, self->dev, UPT_UPROBE);
	check_cancel(_metadata, self->dev, UPT_URETPROBE);
}

/* unregister elsewhere while one is queued: all is done when it returns. */
TEST_F(uprobes, unregister_meets_queued_unregister)
{
	struct cast c = new_cast(self->dev, UPT_UPROBE);

	call_and_sleep(self->dev, &c, UPT_DO_UNREGISTER);
	start(_metadata, self->dev, c.ids[0]);
	run_into_sleep(_metadata, self->dev, &c);
	unprobe(self->dev, c.ids[0]);
	check_callbacks(_metadata, self->dev, c.ids[0], 1, 0, 0);
	EXPECT_TRUE(is_clean(c.pid));
	EXPECT_TRUE(WIFSTOPPED(wait_prog(c.pid)));
	check_callbacks(_metadata, self->dev, c.ids[0], 1, 0, 0);
	EXPECT_EQ(1, list_lines(c.pid));
}

/* The queued registration of one object of a batch is cancelled. */
TEST_F(uprobes, cancel_one_of_batch)
{
	struct cast c = new_cast(self->dev, UPT_UPROBE);
	struct upt_step step = {
		.id = c.source,
		.kind = UPT_DO_REGISTER_BATCH,
		.target = c.ids[0],
		.n = NTARGETS,
	};
	struct upt_step sleep = {
		.id = c.source,
		.kind = UPT_SLEEP,
		.arg = LONG_US,
	};
	int i;

	upt_step(self->dev, &step);
	upt_step(self->dev, &sleep);
	run_into_sleep(_metadata, self->dev, &c);
	unprobe(self->dev, c.ids[1]);
	check_callbacks(_metadata, self->dev, c.ids[1], 1, 1, -ECANCELED);
	EXPECT_TRUE(WIFSTOPPED(wait_prog(c.pid)));
	for (i = 0; i < NTARGETS; i++)
		check_callbacks(_metadata, self->dev, c.ids[i], 1, 1,
				i == 1 ? -ECANCELED : 0);
	EXPECT_EQ(NTARGETS, list_lines(c.pid));
}

/* The process is killed while its thread is in a handler with queued calls. */
static void check_killed(struct __test_metadata *_metadata, int dev,
			 enum upt_type type, bool other, bool self_kill)
{
	struct cast c = new_cast(dev, type);
	pid_t target = other ? start_prog(cycle_prog) : c.pid;
	struct upt_step kill_step = {
		.id = c.source,
		.kind = UPT_SIGNAL,
		.arg = SIGKILL,
	};
	struct upt_state state;

	upt_move(dev, c.ids[0], target, targets[0]);
	if (self_kill) {
		add_step(dev, c.source, UPT_AT_ENTRY, UPT_DO_REGISTER,
			 c.ids[0]);
		upt_step(dev, &kill_step);
		start(_metadata, dev, c.source);
		EXPECT_TRUE(killed(run_prog(c.pid), SIGKILL));
	} else {
		call_and_sleep(dev, &c, UPT_DO_REGISTER);
		run_into_sleep(_metadata, dev, &c);
		EXPECT_TRUE(killed(end_prog(c.pid), SIGKILL));
	}

	/* Done or cancelled, but reported, once; and it is what was reported */
	state = upt_read(dev, c.ids[0]);
	EXPECT_EQ(1, state.callbacks);
	EXPECT_EQ(1, state.last_reg);
	if (other) {
		EXPECT_EQ(state.last_result == 0, list_lines(target));
		cycle(_metadata, target);
		EXPECT_EQ(state.last_result == 0, hits(dev, c.ids[0]));
		EXPECT_EQ(state.last_result == 0 ? -EBUSY : 0,
			  upt_op(dev, UPT_REGISTER_AGAIN, c.ids[0]));
		unprobe(dev, c.ids[0]);
		EXPECT_TRUE(is_clean(target));
		end_prog(target);
	}
	unprobe(dev, c.ids[0]);
	unprobe(dev, c.source);
	EXPECT_EQ(1, upt_read(dev, c.ids[0]).callbacks);
}

TEST_F(uprobes, killed_in_handler)
{
	int i;

	for (i = 0; i < 8; i++)
		check_killed(_metadata, self->dev,
			     i & 1 ? UPT_URETPROBE : UPT_UPROBE, i & 2, i & 4);
}

/* So is an unregister that was queued: it cannot fail. */
TEST_F(uprobes, killed_before_unregister)
{
	struct cast c = new_cast(self->dev, UPT_UPROBE);
	pid_t other = start_prog(cycle_prog);

	upt_move(self->dev, c.ids[0], other, targets[0]);
	call_and_sleep(self->dev, &c, UPT_DO_UNREGISTER);
	add_step(self->dev, c.ids[0], UPT_AT_UNREGISTERED, UPT_DO_FREE,
		 c.ids[0]);
	start(_metadata, self->dev, c.ids[0]);
	run_into_sleep(_metadata, self->dev, &c);
	EXPECT_TRUE(killed(end_prog(c.pid), SIGKILL));
	check_callbacks(_metadata, self->dev, c.ids[0], 1, 0, 0);
	EXPECT_TRUE(upt_read(self->dev, c.ids[0]).freed);
	EXPECT_EQ(0, list_lines(other));
	EXPECT_TRUE(is_clean(other));
	cycle(_metadata, other);
}

/* A module is unloaded while calls of it are queued: removed, one warning. */
static void check_unload_queued(struct __test_metadata *_metadata, int dev,
				enum upt_type type)
{
	pid_t pid = start_prog(cycle_prog);
	int dev2 = upt_open(UPT_MODULE2);
	int source, queued, later, log;

	ASSERT_LE(0, dev2);
	source = keep(dev2, pid, add, UPT_UPROBE);
	queued = keep(dev2, pid, nop_fn, type);
	add_step(dev2, source, UPT_AT_ENTRY, UPT_DO_REGISTER, queued);
	start(_metadata, dev2, source);
	later = probe_kind(dev, pid, add, UPT_SLEEP, LONG_US);
	ASSERT_LE(0, later);
	cont_prog(pid);
	ASSERT_TRUE(wait_hits(dev, later));
	EXPECT_EQ(-EINPROGRESS, upt_read(dev2, source).last_call);

	log = log_start();
	close(dev2);
	EXPECT_EQ(0, upt_unload(UPT_MODULE2));
	EXPECT_EQ(1, log_warnings(log, UPT_MODULE2 " is unloaded with 2"));
	EXPECT_TRUE(WIFSTOPPED(wait_prog(pid)));
	EXPECT_EQ(1, list_lines(pid));
	EXPECT_TRUE(is_clean(pid));
	unprobe(dev, later);
	cycle(_metadata, pid);
	end_prog(pid);
}

TEST_F(uprobes, unload_with_queued_calls)
{
	check_unload_queued(_metadata, self->dev, UPT_UPROBE);
	check_unload_queued(_metadata, self->dev, UPT_URETPROBE);
}

/* All threads unregister the probe they are in: one callback. */
static void check_all_at_once(struct __test_metadata *_metadata, int dev,
			      enum upt_type type, enum upt_when when)
{
	struct upt_step sleep = { .when = when, .kind = UPT_SLEEP, .arg = 100 };
	pid_t pid;
	int i, id;

	nthreads = 8;
	pid = start_prog(running_prog);
	shm[STOP] = 0;
	cont_prog(pid);
	for (i = 0; i < 20; i++) {
		id = idle(dev, pid, add, type);
		sleep.id = id;
		upt_step(dev, &sleep);
		add_step(dev, id, when, UPT_DO_UNREGISTER, id);
		start(_metadata, dev, id);
		while (!upt_read(dev, id).callbacks)
			sleep_ms(1);
		check_callbacks(_metadata, dev, id, 1, 0, 0);
		EXPECT_EQ(0, list_lines(pid));
		EXPECT_TRUE(is_add(pid, add));
	}
	EXPECT_TRUE(goes_on());
	shm[STOP] = 1;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	for (; i > 0; i--)
		EXPECT_EQ(1, upt_read(dev, id - i + 1).callbacks);
}

TEST_F_TIMEOUT(uprobes, all_unregister_at_once, 120)
{
	check_all_at_once(_metadata, self->dev, UPT_UPROBE, UPT_AT_ENTRY);
	check_all_at_once(_metadata, self->dev, UPT_URETPROBE, UPT_AT_ENTRY);
	check_all_at_once(_metadata, self->dev, UPT_URETPROBE, UPT_AT_RETURN);
}

/* All threads register one object: one of them does. */
TEST_F(uprobes, all_register_at_once)
{
	struct upt_state state;
	int source, id;
	pid_t pid;

	nthreads = 8;
	pid = start_prog(running_prog);
	source = idle_probe(self->dev, pid, add);
	id = idle_ret(self->dev, pid, nop_fn);
	add_step(self->dev, source, UPT_AT_ENTRY, UPT_DO_REGISTER, id);
	start(_metadata, self->dev, source);
	cont_prog(pid);
	ASSERT_TRUE(wait_hits(self->dev, source));
	EXPECT_TRUE(goes_on());
	shm[STOP] = 1;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	check_callbacks(_metadata, self->dev, id, 1, 1, 0);
	state = upt_read(self->dev, source);
	EXPECT_EQ(state.hits, state.calls);
	EXPECT_EQ(1, state.deferred);
}

/* The same while somebody else unregisters it: each is told once. */
TEST_F_TIMEOUT(uprobes, registered_and_cancelled, 120)
{
	int source, id, i;
	pid_t pid;

	nthreads = 4;
	pid = start_prog(running_prog);
	source = idle_probe(self->dev, pid, add);
	id = idle_ret(self->dev, pid, add);
	add_step(self->dev, source, UPT_AT_ENTRY, UPT_DO_REGISTER, id);
	start(_metadata, self->dev, source);
	cont_prog(pid);
	ASSERT_TRUE(wait_hits(self->dev, source));
	for (i = 0; i < 300; i++) {
		unprobe(self->dev, id);
		if (i % 3 == 0)
			sleep_ms(1);
	}
	unprobe(self->dev, source);
	unprobe(self->dev, id);
	EXPECT_EQ(0, list_lines(pid));
	EXPECT_TRUE(is_add(pid, add));
	EXPECT_LE(10, upt_read(self->dev, id).callbacks);
	EXPECT_EQ(upt_read(self->dev, source).deferred,
		  upt_read(self->dev, id).callbacks);
	EXPECT_EQ(0, upt_read(self->dev, id).errors);
	EXPECT_TRUE(goes_on());
	shm[STOP] = 1;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
}

#define NBATCH		1000

/* 1000 at once, from a handler: within a few grace periods as well. */
TEST_F(uprobes, deferred_batch_of_1000)
{
	pid_t pid = start_prog(cycle_prog);
	int source = idle_probe(self->dev, pid, add);
	struct upt_step step = {
		.id = source,
		.kind = UPT_DO_REGISTER_BATCH,
		.nth = 1,
		.n = NBATCH,
	};
	__u64 begin, registered, unregistered;
	int i, id = -1;

	for (i = 0; i < NBATCH; i++)
		id = idle_probe(self->dev, pid, nop_at(i));
	step.target = id - NBATCH + 1;
	upt_step(self->dev, &step);
	step.kind = UPT_DO_UNREGISTER;
	step.nth = 2;
	upt_step(self->dev, &step);
	start(_metadata, self->dev, source);
	begin = now_ns();
	cycle(_metadata, pid);
	registered = now_ns() - begin;
	EXPECT_EQ(NBATCH + 1, list_lines(pid));
	begin = now_ns();
	cycle(_metadata, pid);
	unregistered = now_ns() - begin;
	EXPECT_EQ(1, list_lines(pid));
	for (i = step.target; i <= id; i++)
		check_callbacks(_metadata, self->dev, i, 2, 0, 0);
	TH_LOG("registered in %llu us, unregistered in %llu us",
	       registered / 1000, unregistered / 1000);
	EXPECT_GT(2 * NSEC_PER_SEC, registered);
	EXPECT_GT(2 * NSEC_PER_SEC, unregistered);
}

/* Two processes unregister each other's probe at the same time. */
TEST_F(uprobes, crosswise)
{
	pid_t pids[2];
	int ids[2], i, round;

	for (i = 0; i < 2; i++)
		pids[i] = start_prog(cycle_prog);
	for (round = 0; round < 10; round++) {
		for (i = 0; i < 2; i++)
			ids[i] = idle_probe(self->dev, pids[i], add);
		for (i = 0; i < 2; i++) {
			struct upt_step sleep = {
				.id = ids[i],
				.kind = UPT_SLEEP,
				.arg = 20000,
			};

			add_step(self->dev, ids[i], UPT_AT_ENTRY,
				 UPT_DO_UNREGISTER, ids[1 - i]);
			upt_step(self->dev, &sleep);
			start(_metadata, self->dev, ids[i]);
		}
		for (i = 0; i < 2; i++)
			cont_prog(pids[i]);
		for (i = 0; i < 2; i++)
			EXPECT_TRUE(WIFSTOPPED(wait_prog(pids[i])));
		for (i = 0; i < 2; i++) {
			check_callbacks(_metadata, self->dev, ids[i], 1, 0, 0);
			EXPECT_EQ(0, list_lines(pids[i]));
			EXPECT_TRUE(is_add(pids[i], add));
		}
	}
}

/* A deferred unregister waits for the handler of another thread to end. */
TEST_F(uprobes, waits_for_other_handler)
{
	pid_t pid = start_prog(cycle_prog), other = start_prog(cycle_prog);
	int source = idle_probe(self->dev, pid, add);
	int slow = idle_probe(self->dev, other, add);
	struct upt_step sleep = {
		.id = slow,
		.kind = UPT_SLEEP,
		.arg = LONG_US / 3,
	};
	__u64 begin;

	upt_step(self->dev, &sleep);
	add_step(self->dev, source, UPT_AT_ENTRY, UPT_DO_UNREGISTER, slow);
	add_step(self->dev, slow, UPT_AT_UNREGISTERED, UPT_DO_FREE, slow);
	start(_metadata, self->dev, source);
	start(_metadata, self->dev, slow);
	cont_prog(other);
	ASSERT_TRUE(wait_hits(self->dev, slow));
	begin = now_ns();
	cycle(_metadata, pid);
	EXPECT_LT(100000000ULL, now_ns() - begin);
	check_callbacks(_metadata, self->dev, slow, 1, 0, 0);
	EXPECT_TRUE(WIFSTOPPED(wait_prog(other)));
}
