// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return probes: each return is reported once, with what the call left behind;
 * whatever the stack does, the program returns to where it called from, and
 * calls = returns + missed ones.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "fixture.h"
#include "probed.h"

enum {
	TRAMPOLINE = SHM_FREE,	/* the program jumps there */
	CALLS,
	VALUES,			/* the first of several */
};

#define RP_LIMIT	UPROBE_MAX_RETURNS

/* Of a probe: how many returns it reported, and how many calls it missed. */
static void check_counts(struct __test_metadata *_metadata, int dev, int id,
			 __u64 returns, __u64 nmissed)
{
	struct upt_state state = upt_read(dev, id);

	EXPECT_EQ(returns, state.hits)
		TH_LOG("probe %d", id);
	EXPECT_EQ(nmissed, state.nmissed)
		TH_LOG("probe %d", id);
	EXPECT_EQ(0, state.errors)
		TH_LOG("probe %d", id);
}

/* The trampoline: what really stands where the return address was. */
static unsigned long read_slot(struct __test_metadata *_metadata, pid_t pid,
			       __u64 sp)
{
	unsigned long word = 0;

	EXPECT_EQ(0, read_mem(pid, (char *)0 + sp + RETURN_SLOT, &word,
			      sizeof(word)));
	return word;
}

/* In what the kernel has put into the program. */
static bool is_kernels(pid_t pid, unsigned long addr)
{
	static const char * const maps[] = { "[vdso]", "[uprobes]" };
	unsigned long start, end;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(maps); i++) {
		if (find_map(pid, maps[i], &start, &end) && addr >= start &&
		    addr < end)
			return true;
	}
	return false;
}

static void add_5_times(void)
{
	int i;

	for (i = 0; i < 5; i++)
		shm[SHM_RESULT] += add(i, 10);
}

/* A8: a function that is called 5 times returns 5 times. */
TEST_F(three_times, a8_one_return_probe)
{
	pid_t pid = start_prog(add_5_times);
	int id = probe_ret(self->dev, pid, add);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(60, shm[SHM_RESULT]);
	EXPECT_EQ(5, entries(self->dev, id));
	check_counts(_metadata, self->dev, id, 5, 0);
}

/* A8: six return probes at one address each see all 5 returns. */
TEST_F(three_times, a8_six_return_probes)
{
	pid_t pid = start_prog(add_5_times);
	int ids[6];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		ids[i] = probe_ret(self->dev, pid, add);
		ASSERT_LE(0, ids[i]);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(60, shm[SHM_RESULT]);
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		EXPECT_EQ(5, entries(self->dev, ids[i]));
		check_counts(_metadata, self->dev, ids[i], 5, 0);
	}
}

static int nthreads, nrounds;

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

static void check_threads(struct __test_metadata *_metadata, int dev,
			  int threads, int rounds)
{
	pid_t pid;
	int id;

	nthreads = threads;
	nrounds = rounds;
	pid = start_prog(add_threads_prog);
	id = probe_ret(dev, pid, add);
	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(threads * rounds, entries(dev, id));
	check_counts(_metadata, dev, id, threads * rounds, 0);
}

/* A8: 2 threads, 100 calls each: 200 returns. */
TEST_F(three_times, a8_two_threads)
{
	check_threads(_metadata, self->dev, 2, 100);
}

/* Many threads return at once: none is lost, and none is doubled. */
TEST_F(uprobes, concurrent_returns)
{
	check_threads(_metadata, self->dev, 8, 2000);
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

/* A8: fork, then 10 calls in the parent and 10 in the child: 10 returns. */
TEST_F(three_times, a8_fork)
{
	pid_t pid = start_prog(fork_and_add);
	int id = probe_ret(self->dev, pid, add);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_RESULT]);
	check_counts(_metadata, self->dev, id, 10, 0);
}

/* Keeps the compiler from making a jump, or a loop, of a call before it. */
static inline void no_tail_call(void)
{
	asm volatile("");
}

static __probed void nest_5(void)
{
	exit(0);
}

static __probed void nest_4(void)
{
	nest_5();
	no_tail_call();
}

static __probed void nest_3(void)
{
	nest_4();
	no_tail_call();
}

static __probed void nest_2(void)
{
	nest_3();
	no_tail_call();
}

static __probed void nest_1(void)
{
	nest_2();
	no_tail_call();
}

static void add_then_nest(void)
{
	add_5_times();
	nest_1();
}

static struct upt_event events[UPT_MAX_EVENTS];

/* A10: add() 5 times; then five nested functions, of which the last exits. */
TEST_F(three_times, a10_nested_exit)
{
	static void (* const nest[])(void) = {
		nest_1, nest_2, nest_3, nest_4, nest_5,
	};
	pid_t pid = start_prog(add_then_nest);
	int entry = idle_probe(self->dev, pid, add);
	int ret = idle_ret(self->dev, pid, add);
	int entries[ARRAY_SIZE(nest)], rets[ARRAY_SIZE(nest)];
	int i, n, value = 10;
	size_t k;

	ASSERT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, entry));
	ASSERT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, ret));
	for (k = 0; k < ARRAY_SIZE(nest); k++) {
		entries[k] = probe(self->dev, pid, nest[k]);
		rets[k] = probe_ret(self->dev, pid, nest[k]);
		ASSERT_LE(0, entries[k]);
		ASSERT_LE(0, rets[k]);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(60, shm[SHM_RESULT]);

	EXPECT_EQ(5, hits(self->dev, entry));
	check_counts(_metadata, self->dev, ret, 5, 0);
	n = upt_events(self->dev, events);
	EXPECT_EQ(15, n);
	for (i = 0; i < n; i++) {
		if (events[i].type == UPT_EV_RETURN)
			EXPECT_EQ((__u64)value++, events[i].value);
	}
	EXPECT_EQ(15, value);
	for (k = 0; k < ARRAY_SIZE(nest); k++) {
		EXPECT_EQ(1, hits(self->dev, entries[k]));
		check_counts(_metadata, self->dev, rets[k], 0, 1);
	}
}

static jmp_buf jump_to[4];

/* Jumps out of n functions, or returns. */
static __probed long frame_3(long n)
{
	if (n)
		longjmp(jump_to[n], 1);
	return 1;
}

static __probed long frame_2(long n)
{
	if (n == 1 && setjmp(jump_to[1]))
		return 20;
	return frame_3(n) + 2;
}

static __probed long frame_1(long n)
{
	if (n == 2 && setjmp(jump_to[2]))
		return 10;
	return frame_2(n) + 3;
}

static __probed long jump_out_of(long n)
{
	if (n == 3 && setjmp(jump_to[3]))
		return 5;
	return frame_1(n);
}

#define NJUMPS	1000

/* Jumps over one, two and three frames, and each time then returns. */
static void jumping_prog(void)
{
	static const long results[] = { 6, 23, 10, 5 };
	int i, n;

	for (i = 0; i < NJUMPS; i++) {
		for (n = 1; n <= 3; n++) {
			if (jump_out_of(n) != results[n] ||
			    jump_out_of(0) != results[0])
				shm[SHM_BAD]++;
		}
	}
	prog_stop();
	for (i = 0; i < 10; i++) {
		if (jump_out_of(0) != results[0])
			shm[SHM_BAD]++;
	}
}

static long (* const frames[])(long n) = { frame_1, frame_2, frame_3 };

static void probe_frames(struct __test_metadata *_metadata, int dev, pid_t pid,
			 int *ids)
{
	size_t k;

	for (k = 0; k < ARRAY_SIZE(frames); k++) {
		ids[k] = probe_ret(dev, pid, frames[k]);
		ASSERT_LE(0, ids[k]);
	}
}

/* B1: longjmp over 1 to 3 return-probed frames, then normal returns. */
TEST_F(uprobes, b1_longjmp)
{
	pid_t pid = start_prog(jumping_prog);
	int ids[ARRAY_SIZE(frames)];

	probe_frames(_metadata, self->dev, pid, ids);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	check_counts(_metadata, self->dev, ids[0], 5 * NJUMPS, NJUMPS);
	check_counts(_metadata, self->dev, ids[1], 4 * NJUMPS, 2 * NJUMPS);
	check_counts(_metadata, self->dev, ids[2], 3 * NJUMPS, 3 * NJUMPS);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	check_counts(_metadata, self->dev, ids[0], 5 * NJUMPS + 10, NJUMPS);
	check_counts(_metadata, self->dev, ids[1], 4 * NJUMPS + 10,
		     2 * NJUMPS);
	check_counts(_metadata, self->dev, ids[2], 3 * NJUMPS + 10,
		     3 * NJUMPS);
}

/* B1: the same while the caller, which is not jumped over, is probed too. */
TEST_F(uprobes, b1_longjmp_below_a_pending_return)
{
	pid_t pid = start_prog(jumping_prog);
	int ids[ARRAY_SIZE(frames)], outer;

	outer = probe_ret(self->dev, pid, jump_out_of);
	ASSERT_LE(0, outer);
	probe_frames(_metadata, self->dev, pid, ids);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	check_counts(_metadata, self->dev, outer, 6 * NJUMPS + 10, 0);
	check_counts(_metadata, self->dev, ids[0], 5 * NJUMPS + 10, NJUMPS);
	check_counts(_metadata, self->dev, ids[2], 3 * NJUMPS + 10,
		     3 * NJUMPS);
}

/* A call that was left takes no room from those that are in progress. */
TEST_F(uprobes, b1_longjmp_and_maxactive)
{
	struct upt_probe req = {
		.pid = start_prog(jumping_prog),
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)frame_3,
		.maxactive = 1,
	};

	ASSERT_EQ(0, upt_register(self->dev, &req));
	ASSERT_TRUE(WIFSTOPPED(run_prog(req.pid)));
	EXPECT_TRUE(exited(run_prog(req.pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	check_counts(_metadata, self->dev, req.id, 3 * NJUMPS + 10,
		     3 * NJUMPS);
}

/* Jumps out of n calls in each other, or returns. */
static __probed long fall(long n)
{
	long inner;

	if (n == 1)
		longjmp(jump_to[0], 1);
	if (n == 0)
		return 0;
	inner = fall(n - 1);
	no_tail_call();
	return inner;
}

static __probed void fall_once(void)
{
	if (!setjmp(jump_to[0]))
		fall(RP_LIMIT + 50);
}

static void falling_prog(void)
{
	int i;

	for (i = 0; i < 10; i++) {
		fall_once();
		if (fall(0) || add(1, 2) != 3)
			shm[SHM_BAD]++;
	}
}

/* B1: out of more calls than can be in progress, ten times. */
TEST_F(uprobes, b1_longjmp_out_of_too_many)
{
	pid_t pid = start_prog(falling_prog);
	int id = probe_ret(self->dev, pid, fall);
	int other = probe_ret(self->dev, pid, add);

	ASSERT_LE(0, id);
	ASSERT_LE(0, other);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	check_counts(_metadata, self->dev, id, 10, 10 * (RP_LIMIT + 50));
	check_counts(_metadata, self->dev, other, 10, 0);
}

static sigjmp_buf jump_from_signal;

static __probed void jumping_handler(int sig)
{
	siglongjmp(jump_from_signal, 1);
}

static __probed long raise_in_frame(long a)
{
	raise(SIGUSR1);
	return a;
}

static __probed long survive_signal(long a)
{
	if (sigsetjmp(jump_from_signal, 1))
		return a + 1;
	return raise_in_frame(a);
}

static void handle_signal(void (*handler)(int sig), int flags)
{
	struct sigaction sa = {
		.sa_handler = handler,
		.sa_flags = flags,
	};

	if (sigaction(SIGUSR1, &sa, NULL))
		abort();
}

#define NSIGNALS	1000

static void signal_jumps(void)
{
	int i;

	for (i = 0; i < NSIGNALS; i++) {
		if (survive_signal(i) != i + 1)
			shm[SHM_BAD]++;
		add(1, 2);
	}
}

static void signal_jumping_prog(void)
{
	handle_signal(jumping_handler, 0);
	signal_jumps();
}

static void check_signal_jumps(struct __test_metadata *_metadata, int dev,
			       void (*body)(void))
{
	pid_t pid = start_prog(body);
	int outer = probe_ret(dev, pid, survive_signal);
	int inner = probe_ret(dev, pid, raise_in_frame);
	int handler = probe_ret(dev, pid, jumping_handler);
	int other = probe_ret(dev, pid, add);

	ASSERT_LE(0, outer);
	ASSERT_LE(0, inner);
	ASSERT_LE(0, handler);
	ASSERT_LE(0, other);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	check_counts(_metadata, dev, outer, NSIGNALS, 0);
	check_counts(_metadata, dev, inner, 0, NSIGNALS);
	check_counts(_metadata, dev, handler, 0, NSIGNALS);
	check_counts(_metadata, dev, other, NSIGNALS, 0);
}

/* B1: siglongjmp out of a signal handler, over it and the function it hit. */
TEST_F(uprobes, b1_siglongjmp)
{
	check_signal_jumps(_metadata, self->dev, signal_jumping_prog);
}

/* A thread on the lower, or the upper half of some memory; the other is free */
#define STACK_SIZE	0x40000UL

static char *stacks;
static bool thread_above;

static void use_alternate_stack(void)
{
	stack_t ss = {
		.ss_sp = thread_above ? stacks : stacks + STACK_SIZE,
		.ss_size = STACK_SIZE,
	};

	if (sigaltstack(&ss, NULL))
		abort();
}

static void run_on_stack(void *(*fn)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;

	stacks = mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stacks == MAP_FAILED || pthread_attr_init(&attr) ||
	    pthread_attr_setstack(&attr, thread_above ? stacks + STACK_SIZE :
				  stacks, STACK_SIZE) ||
	    pthread_create(&thread, &attr, fn, NULL) ||
	    pthread_join(thread, NULL))
		abort();
}

static void *signal_jumping_thread(void *arg)
{
	use_alternate_stack();
	handle_signal(jumping_handler, SA_ONSTACK);
	signal_jumps();
	return NULL;
}

static void signal_jumping_off_stack(void)
{
	run_on_stack(signal_jumping_thread);
}

/* B1: siglongjmp from an alternate stack, above or below the thread's. */
TEST_F(uprobes, b1_siglongjmp_from_stack_above)
{
	thread_above = false;
	check_signal_jumps(_metadata, self->dev, signal_jumping_off_stack);
}

TEST_F(uprobes, b1_siglongjmp_from_stack_below)
{
	thread_above = true;
	check_signal_jumps(_metadata, self->dev, signal_jumping_off_stack);
}

/* Calls a probed function, and more than one at a time. */
static void calling_handler(int sig)
{
	char here;

	if (&here < stacks || &here >= stacks + 2 * STACK_SIZE ||
	    jump_out_of(0) != 6 || add(1, 2) != 3)
		shm[SHM_BAD]++;
}

static void *raising_thread(void *arg)
{
	int i;

	use_alternate_stack();
	handle_signal(calling_handler, SA_ONSTACK);
	for (i = 0; i < 100; i++) {
		if (raise_in_frame(i) != i)
			shm[SHM_BAD]++;
	}
	return NULL;
}

static void raising_prog(void)
{
	run_on_stack(raising_thread);
}

static void check_alternate_stack(struct __test_metadata *_metadata, int dev)
{
	pid_t pid = start_prog(raising_prog);
	int outer = probe_ret(dev, pid, raise_in_frame);
	int inner = probe_ret(dev, pid, add);
	int ids[ARRAY_SIZE(frames)];

	ASSERT_LE(0, outer);
	ASSERT_LE(0, inner);
	probe_frames(_metadata, dev, pid, ids);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	check_counts(_metadata, dev, outer, 100, 0);
	check_counts(_metadata, dev, inner, 100, 0);
	check_counts(_metadata, dev, ids[0], 100, 0);
	check_counts(_metadata, dev, ids[2], 100, 0);
}

/* C19: calls on an alternate stack above that of a pending return. */
TEST_F(uprobes, c19_stack_above)
{
	thread_above = false;
	check_alternate_stack(_metadata, self->dev);
}

/* C19: and below it. */
TEST_F(uprobes, c19_stack_below)
{
	thread_above = true;
	check_alternate_stack(_metadata, self->dev);
}

/* Coroutines that leave a probed function before it returns. */
#define NCOROUTINES	3
#define MANY_COROUTINES	(2 * RP_LIMIT)

static ucontext_t caller_context, contexts[MANY_COROUTINES];
static int ncoroutines = NCOROUTINES;
static bool adjacent_stacks;

static __probed long leave(long n)
{
	swapcontext(&contexts[n], &caller_context);
	return n + 100;
}

static void coroutine(int n)
{
	for (;;) {
		if (leave(n) != n + 100)
			shm[SHM_BAD]++;
		shm[CALLS]++;
	}
}

/* Their stacks are one mapping, with a guard page below each or without. */
static void make_coroutines(void)
{
	char *stack = mmap(NULL, ncoroutines * STACK_SIZE,
			   PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ucontext_t *c;
	int n;

	if (stack == MAP_FAILED)
		abort();
	for (n = 0; n < ncoroutines; n++, stack += STACK_SIZE) {
		c = &contexts[n];
		if (getcontext(c) ||
		    (!adjacent_stacks && mprotect(stack, PAGE_SZ, PROT_NONE)))
			abort();
		c->uc_stack.ss_sp = stack;
		c->uc_stack.ss_size = STACK_SIZE;
		c->uc_link = NULL;
		makecontext(c, (void (*)(void))coroutine, 1, n);
	}
}

static void resume(int n)
{
	swapcontext(&caller_context, &contexts[n]);
}

static __probed long resume_all(long n)
{
	int i;

	for (i = 0; i < ncoroutines; i++) {
		resume(n % 2 ? i : ncoroutines - 1 - i);
		if (add(i, n) != i + n)
			shm[SHM_BAD]++;
	}
	return n;
}

static void coroutine_prog(void)
{
	int i;

	make_coroutines();
	for (i = 0; i < 100; i++) {
		if (resume_all(i) != i)
			shm[SHM_BAD]++;
	}
	prog_stop();
}

/* C11: calls pend on several stacks of one thread, and end in any order. */
TEST_F(uprobes, c11_swapcontext)
{
	pid_t pid = start_prog(coroutine_prog);
	int left = probe_ret(self->dev, pid, leave);
	int outer = probe_ret(self->dev, pid, resume_all);
	int inner = probe_ret(self->dev, pid, add);

	ASSERT_LE(0, left);
	ASSERT_LE(0, outer);
	ASSERT_LE(0, inner);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(99 * NCOROUTINES, shm[CALLS]);
	EXPECT_EQ(100 * NCOROUTINES, entries(self->dev, left));
	check_counts(_metadata, self->dev, left, 99 * NCOROUTINES, 0);
	check_counts(_metadata, self->dev, outer, 100, 0);
	check_counts(_metadata, self->dev, inner, 100 * NCOROUTINES, 0);

	/* Those that are inside never return */
	EXPECT_TRUE(exited(run_prog(pid), 0));
	check_counts(_metadata, self->dev, left, 99 * NCOROUTINES,
		     NCOROUTINES);
}

/*
 * C11: where nothing separates the stacks, a call on one may be taken for one
 * that was left on another: it is missed then, and returns to the right place.
 */
TEST_F(uprobes, c11_adjacent_stacks)
{
	struct upt_state state;
	int left, outer, inner;
	pid_t pid;

	adjacent_stacks = true;
	pid = start_prog(coroutine_prog);
	left = probe_ret(self->dev, pid, leave);
	outer = probe_ret(self->dev, pid, resume_all);
	inner = probe_ret(self->dev, pid, add);
	ASSERT_LE(0, left);
	ASSERT_LE(0, outer);
	ASSERT_LE(0, inner);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(99 * NCOROUTINES, shm[CALLS]);
	state = upt_read(self->dev, left);
	EXPECT_EQ(0, state.errors);
	EXPECT_EQ(100 * NCOROUTINES, state.entries);
	EXPECT_EQ(state.entries, state.hits + state.nmissed);
	EXPECT_LE(NCOROUTINES, state.nmissed);
	check_counts(_metadata, self->dev, outer, 100, 0);
	check_counts(_metadata, self->dev, inner, 100 * NCOROUTINES, 0);
}

/* C11: more calls pend on so many stacks than a thread may have. */
TEST_F_TIMEOUT(uprobes, c11_many_stacks, 120)
{
	struct upt_state state;
	pid_t pid;
	int left;

	ncoroutines = MANY_COROUTINES;
	pid = start_prog(coroutine_prog);
	left = probe_ret(self->dev, pid, leave);
	ASSERT_LE(0, left);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(99 * MANY_COROUTINES, shm[CALLS]);
	state = upt_read(self->dev, left);
	EXPECT_EQ(0, state.errors);
	EXPECT_EQ(100 * MANY_COROUTINES, state.hits + state.nmissed);
	EXPECT_LE(99 * RP_LIMIT, state.hits);
}

static void *resume_once(void *arg)
{
	resume(0);
	add(1, 2);
	return NULL;
}

static pthread_barrier_t barrier;

/* Resumes it before and after the other thread does. */
static void *resume_around(void *arg)
{
	resume(0);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	add(1, 2);
	return NULL;
}

/* The coroutine moves to another thread, while the first still lives. */
static void moving_prog(void)
{
	pthread_t first;

	make_coroutines();
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&first, NULL, resume_around, NULL))
		abort();
	pthread_barrier_wait(&barrier);
	run_threads(resume_once, 1);
	pthread_barrier_wait(&barrier);
	pthread_join(first, NULL);
}

/* The first is gone when it moves. */
static void orphan_prog(void)
{
	make_coroutines();
	run_threads(resume_once, 1);
	run_threads(resume_once, 1);
}

static void check_moving(struct __test_metadata *_metadata, int dev,
			 void (*body)(void))
{
	pid_t pid = start_prog(body);
	int left = probe_ret(dev, pid, leave);
	int other = probe_ret(dev, pid, add);

	ASSERT_LE(0, left);
	ASSERT_LE(0, other);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	/* It returned in the second thread, unreported, and left once more */
	EXPECT_EQ(1, shm[CALLS]);
	EXPECT_EQ(2, entries(dev, left));
	check_counts(_metadata, dev, left, 0, 2);
	check_counts(_metadata, dev, other, 2, 0);
}

/* C11: a call returns on another thread: to the right place, and missed. */
TEST_F(uprobes, c11_resumed_on_another_thread)
{
	check_moving(_metadata, self->dev, moving_prog);
}

/* C11: so it does when the thread that called has ended. */
TEST_F(uprobes, c11_resumed_after_its_thread)
{
	check_moving(_metadata, self->dev, orphan_prog);
}

struct numbers {
	long n[9];
};

static __probed struct numbers make_numbers(long first)
{
	struct numbers numbers;
	int i;

	for (i = 0; i < 9; i++)
		numbers.n[i] = first + i;
	return numbers;
}

static void struct_prog(void)
{
	struct numbers numbers;
	int i, k;

	for (i = 0; i < 10; i++) {
		numbers = make_numbers(i);
		for (k = 0; k < 9; k++)
			shm[SHM_BAD] += numbers.n[k] != i + k;
	}
}

/* B3: a struct that is returned through a hidden pointer is intact. */
TEST_F(uprobes, b3_struct)
{
	pid_t pid = start_prog(struct_prog);
	int id = probe_ret(self->dev, pid, make_numbers);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	check_counts(_metadata, self->dev, id, 10, 0);
}

#if RETURN_POPS
static void pop_16_prog(void)
{
	int i;

	for (i = 0; i < 10; i++)
		shm[SHM_BAD] += call_pop_16(i, 5) != i + 5;
}

/* B3: a return that removes arguments from the stack removes them. */
TEST_F(uprobes, b3_ret_n)
{
	pid_t pid = start_prog(pop_16_prog);
	int id = probe_ret(self->dev, pid, pop_16);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	check_counts(_metadata, self->dev, id, 10, 0);
}
#endif

#if !RETURNS_IN_MEMORY
static void same_sp_prog(void)
{
	int i;

	for (i = 0; i < 10; i++)
		shm[SHM_BAD] += call_same_sp() != 7;
}

/*
 * Two calls with the same stack pointer: both return, though the outer one may
 * be taken for left.
 */
TEST_F(uprobes, same_stack_pointer)
{
	pid_t pid = start_prog(same_sp_prog);
	int outer = probe_ret(self->dev, pid, call_same_sp);
	int inner = probe_ret(self->dev, pid, same_sp);

	ASSERT_LE(0, outer);
	ASSERT_LE(0, inner);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(10, hits(self->dev, outer) + missed(self->dev, outer));
	check_counts(_metadata, self->dev, inner, 10, 0);
}
#endif

static __probed long fib(long n)
{
	long a, b;

	if (n < 2)
		return n;
	a = fib(n - 1);
	no_tail_call();
	b = fib(n - 2);
	no_tail_call();
	return a + b;
}

static void fib_prog(void)
{
	shm[SHM_RESULT] = fib(15);
}

/* B6: recursion with entry and return probes: fib(15) is 1973 calls. */
TEST_F(uprobes, b6_fib)
{
	pid_t pid = start_prog(fib_prog);
	int entry = probe(self->dev, pid, fib);
	int ret = probe_ret(self->dev, pid, fib);

	ASSERT_LE(0, entry);
	ASSERT_LE(0, ret);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(610, shm[SHM_RESULT]);
	EXPECT_EQ(1973, hits(self->dev, entry));
	check_counts(_metadata, self->dev, ret, 1973, 0);
}

/* n calls in each other; returns n. */
static __probed long deep(long n)
{
	long inner;

	if (n == 1)
		return 1;
	inner = deep(n - 1);
	no_tail_call();
	return inner + 1;
}

static long depth;

static void deep_prog(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		if (deep(depth) != depth)
			shm[SHM_BAD]++;
		prog_stop();
	}
}

/* Three times that deep: so many returns of them are reported each time. */
static void check_depth(struct __test_metadata *_metadata, int dev,
			struct upt_probe *req, long n, long returns)
{
	int entry, i;

	depth = n;
	req->pid = start_prog(deep_prog);
	req->type = UPT_URETPROBE;
	req->vaddr = (uintptr_t)deep;
	req->entry = true;
	entry = probe(dev, req->pid, deep);
	ASSERT_LE(0, entry);
	ASSERT_EQ(0, upt_register(dev, req));
	for (i = 1; i <= 3; i++) {
		ASSERT_TRUE(WIFSTOPPED(run_prog(req->pid)));
		EXPECT_EQ(i * n, hits(dev, entry));
		check_counts(_metadata, dev, req->id, i * returns,
			     i * (n - returns));
	}
	EXPECT_TRUE(exited(run_prog(req->pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
}

/* C6: more than 64 calls in each other are reported. */
TEST_F(uprobes, c6_depth)
{
	struct upt_probe req = { 0 };

	check_depth(_metadata, self->dev, &req, RP_LIMIT, RP_LIMIT);
}

/* B6, C6: beyond the limit they are counted. */
TEST_F(uprobes, c6_too_deep)
{
	struct upt_probe req = { 0 };

	check_depth(_metadata, self->dev, &req, 1000, RP_LIMIT);
}

/* maxactive limits the calls that are in progress. */
TEST_F(uprobes, maxactive)
{
	struct upt_probe req = { .maxactive = 3 };

	check_depth(_metadata, self->dev, &req, 10, 3);
}

/* A maxactive of 0 or less is no limit. */
TEST_F(uprobes, maxactive_negative)
{
	struct upt_probe req = { .maxactive = -1 };

	check_depth(_metadata, self->dev, &req, 100, 100);
}

/* An instance has room for data_size bytes, and keeps them: see the module. */
TEST_F(uprobes, data_sizes)
{
	static const __u64 sizes[] = { 0, 1, 7, 8, 100, 4095, 4096 };
	struct upt_probe req;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		req = (struct upt_probe){ .data_size = sizes[i] };
		check_depth(_metadata, self->dev, &req, 20, 20);
		unprobe(self->dev, req.id);
	}
}

static void tail_prog(void)
{
	int i;

	for (i = 0; i < 10; i++)
		shm[SHM_BAD] += tail_outer(i) != 2 * (i + 1);
}

/* A tail call: the inner function returns first, both to one address. */
TEST_F(uprobes, tail_call)
{
	pid_t pid = start_prog(tail_prog);
	int outer = probe_ret_kind(self->dev, pid, tail_outer, UPT_RECORD, 0);
	int inner = probe_ret_kind(self->dev, pid, tail_inner, UPT_RECORD, 0);
	struct upt_state in, out;

	ASSERT_LE(0, outer);
	ASSERT_LE(0, inner);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	check_counts(_metadata, self->dev, outer, 10, 0);
	check_counts(_metadata, self->dev, inner, 10, 0);
	in = upt_read(self->dev, inner);
	out = upt_read(self->dev, outer);
	EXPECT_EQ(20, in.value);
	EXPECT_EQ(20, out.value);
	EXPECT_LT(in.order, out.order);
	EXPECT_EQ(in.ret_addr, out.ret_addr);
	EXPECT_EQ(in.ret_sp, out.ret_sp);
	EXPECT_EQ(in.ip, out.ip);
	EXPECT_EQ(in.ip, out.ret_addr);
}

/* Return handlers run in the reverse order of registration. */
TEST_F(uprobes, returns_in_reverse_order)
{
	pid_t pid = start_prog(add_once);
	__u64 next = -1, order;
	int ids[4];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		ids[i] = probe_ret_kind(self->dev, pid, add, UPT_RECORD, 0);
		ASSERT_LE(0, ids[i]);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		order = upt_read(self->dev, ids[i]).order;
		EXPECT_NE(0, order);
		EXPECT_GT(next, order);
		next = order;
	}
}

static void jmp_prog(void)
{
	int i;

	for (i = 0; i < 10; i++)
		shm[SHM_BAD] += pop_jmp(i) != i + 3;
}

/* A function that returns by a jump returns. */
TEST_F(uprobes, return_by_jump)
{
	pid_t pid = start_prog(jmp_prog);
	int id = probe_ret(self->dev, pid, pop_jmp);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	check_counts(_metadata, self->dev, id, 10, 0);
}

static void ret_to_prog(void)
{
	int i;

	for (i = 0; i < 10; i++)
		shm[SHM_BAD] += call_ret_to() != 5;
}

/* A function that sets its return address returns there, missed. */
TEST_F(uprobes, return_address_changed)
{
	pid_t pid = start_prog(ret_to_prog);
	int id = probe_ret(self->dev, pid, ret_to);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	check_counts(_metadata, self->dev, id, 0, 10);
}

static void beginnings_prog(void)
{
	char buf[64];

	nop_fn();
	call_own_sp();
	shm[SHM_BAD] += tail_outer(1) != 4;
	shm[SHM_BAD] += sub(5, 3) != 2;
	shm[SHM_BAD] += walk_0() != 9;
	shm[SHM_BAD] += add(5, 3) != 8;
	fill(buf);
	shm[SHM_BAD] += buf[0] != 7 || buf[63] != 7;
}

/* Whatever the function begins with: a nop, a call, a push, a ret, ... */
TEST_F(uprobes, beginnings)
{
	const void *probed[] = {
		nop_fn, call_own_sp, tail_outer, sub, walk_0,
		add_ret, fill,
	};
	pid_t pid = start_prog(beginnings_prog);
	int ids[ARRAY_SIZE(probed)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(probed); i++) {
		ids[i] = probe_ret(self->dev, pid, probed[i]);
		ASSERT_LE(0, ids[i]);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	for (i = 0; i < ARRAY_SIZE(probed); i++)
		check_counts(_metadata, self->dev, ids[i], 1, 0);
}

/* Two pages, of which the second cannot be written to. */
static char *odd_stack;

static void *with_top(char *stack, long arg)
{
	const register_t top[] = { (long)on_stack_end, arg };

	memcpy(stack, top, sizeof(top));
	return stack;
}

static void read_only_stack_prog(void)
{
	void *top = with_top(odd_stack + PAGE_SZ + 64, 21);

	if (mprotect(odd_stack + PAGE_SZ, PAGE_SZ, PROT_READ))
		abort();
	shm[SHM_RESULT] = call_on_stack(top, tail_inner, 21);
}

static void split_slot_prog(void)
{
	void *top = with_top(odd_stack + PAGE_SZ - 3, 21);

	shm[SHM_RESULT] = call_on_stack(top, tail_inner, 21);
}

/* The call is missed, if its return address is there, and that is all. */
static void check_odd_stack(struct __test_metadata *_metadata, int dev,
			    void (*body)(void))
{
	pid_t pid;
	int id;

	odd_stack = mmap(NULL, 2 * PAGE_SZ, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(odd_stack != MAP_FAILED);
	pid = start_prog(body);
	id = probe_ret(dev, pid, tail_inner);
	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(42, shm[SHM_RESULT]);
	if (RETURNS_IN_MEMORY)
		check_counts(_metadata, dev, id, 0, 1);
	else
		check_counts(_metadata, dev, id, 1, 0);
}

/* A return address that can be read, but not changed. */
TEST_F(uprobes, read_only_stack)
{
	check_odd_stack(_metadata, self->dev, read_only_stack_prog);
}

/* One that could not be changed in one store: on two pages, here. */
TEST_F(uprobes, unaligned_stack)
{
	check_odd_stack(_metadata, self->dev, split_slot_prog);
}

static void own_sp_prog(void)
{
	shm[SHM_RESULT] = call_own_sp();
}

/* What an instance and the registers say is what the program would see. */
TEST_F(uprobes, instance)
{
	struct upt_probe req = {
		.pid = start_prog(own_sp_prog),
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)own_sp,
		.kind = UPT_RECORD,
		.data_size = 8,
	};
	struct upt_state state;

	ASSERT_EQ(0, upt_register(self->dev, &req));
	EXPECT_TRUE(exited(run_prog(req.pid), 0));
	state = upt_read(self->dev, req.id);
	EXPECT_EQ(1, state.hits);
	EXPECT_EQ(0, state.entries);
	EXPECT_EQ((uintptr_t)after_own_sp, state.ip);
	EXPECT_EQ((uintptr_t)after_own_sp, state.ret_addr);
	EXPECT_EQ((unsigned long)shm[SHM_RESULT], state.value);
	EXPECT_EQ((unsigned long)shm[SHM_RESULT], state.ret_sp);
	EXPECT_EQ((unsigned long)shm[SHM_RESULT] + RETURN_POPS, state.sp);
	EXPECT_EQ(req.pid, state.tid);
	/* Nothing of how it is stepped */
	EXPECT_EQ(0, state.rflags & TRACE_FLAGS);
}

/* A return handler sets the return value. */
TEST_F(uprobes, handler_sets_return_value)
{
	pid_t pid = start_prog(own_sp_prog);
	int id = probe_ret_kind(self->dev, pid, own_sp, UPT_SET_RET, 42);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(42, shm[SHM_RESULT]);
	check_counts(_metadata, self->dev, id, 1, 0);
}

/* A return handler makes the program go on elsewhere. */
TEST_F(uprobes, handler_sets_ip)
{
	pid_t pid = start_prog(own_sp_prog);
	int id = probe_ret_kind(self->dev, pid, own_sp, UPT_SET_IP,
				(uintptr_t)instead_of_own_sp);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(77, shm[SHM_RESULT]);
	check_counts(_metadata, self->dev, id, 1, 0);
}

/* An entry_handler makes another function run, which returns. */
TEST_F(uprobes, entry_handler_sets_ip)
{
	struct upt_probe req = {
		.pid = start_prog(add_once),
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)add,
		.entry = true,
		.entry_kind = UPT_SET_IP,
		.entry_arg = (uintptr_t)sub,
	};

	ASSERT_EQ(0, upt_register(self->dev, &req));
	EXPECT_TRUE(exited(run_prog(req.pid), 0));
	EXPECT_EQ(-1, shm[SHM_RESULT]);
	check_counts(_metadata, self->dev, req.id, 1, 0);
}

/* An entry_handler returns in the function's place, which so never does. */
TEST_F(uprobes, entry_handler_returns)
{
	pid_t pid = start_prog(own_sp_prog);
	int id = idle_ret(self->dev, pid, own_sp);
	struct upt_step step = { .id = id, .when = UPT_AT_ENTRY };

	step.kind = UPT_SET_IP;
	step.arg = (uintptr_t)instead_of_own_sp;
	upt_step(self->dev, &step);
	step.kind = UPT_ADD_SP;
	step.arg = RETURN_POPS;
	upt_step(self->dev, &step);
	ASSERT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(77, shm[SHM_RESULT]);
	check_counts(_metadata, self->dev, id, 0, 1);
}

/* An entry_handler skips some of the calls; those are not missed. */
TEST_F(uprobes, entry_handler_skips)
{
	pid_t pid = start_prog(add_5_times);
	int id = idle_ret(self->dev, pid, add);
	struct upt_step step = {
		.id = id,
		.when = UPT_AT_ENTRY,
		.kind = UPT_SKIP,
		.every = 2,
	};

	upt_step(self->dev, &step);
	ASSERT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(60, shm[SHM_RESULT]);
	EXPECT_EQ(3, upt_read(self->dev, id).skipped);
	check_counts(_metadata, self->dev, id, 2, 0);
}

/* One of two probes skips a call, the other does not. */
TEST_F(uprobes, one_of_two_skips)
{
	struct upt_probe req = {
		.pid = start_prog(add_5_times),
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)add,
		.entry = true,
		.entry_kind = UPT_SKIP,
	};
	int other;

	ASSERT_EQ(0, upt_register(self->dev, &req));
	other = probe_ret(self->dev, req.pid, add);
	ASSERT_LE(0, other);
	EXPECT_TRUE(exited(run_prog(req.pid), 0));
	EXPECT_EQ(60, shm[SHM_RESULT]);
	EXPECT_EQ(5, upt_read(self->dev, req.id).skipped);
	check_counts(_metadata, self->dev, req.id, 0, 0);
	check_counts(_metadata, self->dev, other, 5, 0);
}

/* Stops inside: once, and then again. */
static __probed long stop_inside(long n)
{
	prog_stop();
	return n * 3;
}

static void stopping_prog(void)
{
	int i;

	for (i = 0;; i++) {
		if (stop_inside(i) != i * 3)
			shm[SHM_BAD]++;
		shm[CALLS]++;
	}
}

/* From one stop inside to the next: a return and an entry. */
static void go_round(struct __test_metadata *_metadata, pid_t pid)
{
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(0, shm[SHM_BAD]);
}

/* A call before the registration returns unreported. */
TEST_F(uprobes, registered_inside)
{
	pid_t pid = start_prog(stopping_prog);
	int id;

	go_round(_metadata, pid);
	id = probe_ret(self->dev, pid, stop_inside);
	ASSERT_LE(0, id);
	go_round(_metadata, pid);
	check_counts(_metadata, self->dev, id, 0, 0);
	go_round(_metadata, pid);
	check_counts(_metadata, self->dev, id, 1, 0);
}

/* Disabled at entry, enabled at return: no report, not missed. */
TEST_F(uprobes, disabled_at_entry)
{
	struct upt_probe req = {
		.pid = start_prog(stopping_prog),
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)stop_inside,
		.flags = UPROBE_FLAG_DISABLED,
		.entry = true,
	};
	struct list_line line;

	ASSERT_EQ(0, upt_register(self->dev, &req));
	ASSERT_TRUE(list_find(req.pid, stop_inside, &line));
	EXPECT_TRUE(line.disabled);
	go_round(_metadata, req.pid);
	EXPECT_EQ(0, upt_op(self->dev, UPT_ENABLE, req.id));
	go_round(_metadata, req.pid);
	check_counts(_metadata, self->dev, req.id, 0, 0);
	EXPECT_EQ(1, entries(self->dev, req.id));
	go_round(_metadata, req.pid);
	check_counts(_metadata, self->dev, req.id, 1, 0);
}

/* Enabled at entry, disabled at return: no report, not missed. */
TEST_F(uprobes, disabled_at_return)
{
	pid_t pid = start_prog(stopping_prog);
	int id = probe_ret(self->dev, pid, stop_inside);

	ASSERT_LE(0, id);
	go_round(_metadata, pid);
	EXPECT_EQ(1, entries(self->dev, id));
	EXPECT_EQ(0, upt_op(self->dev, UPT_DISABLE, id));
	go_round(_metadata, pid);
	EXPECT_EQ(1, entries(self->dev, id));
	check_counts(_metadata, self->dev, id, 0, 0);
	EXPECT_EQ(0, upt_op(self->dev, UPT_ENABLE, id));
	go_round(_metadata, pid);
	go_round(_metadata, pid);
	check_counts(_metadata, self->dev, id, 1, 0);
}

/* The switch in debugfs, at entry and at return. */
TEST_F(uprobes, enabled_file)
{
	pid_t pid = start_prog(stopping_prog);
	int id = probe_ret(self->dev, pid, stop_inside);

	ASSERT_LE(0, id);
	go_round(_metadata, pid);
	ASSERT_EQ(0, set_enabled(false));
	go_round(_metadata, pid);
	EXPECT_EQ(1, entries(self->dev, id));
	EXPECT_EQ(0, hits(self->dev, id));
	ASSERT_EQ(0, set_enabled(true));
	go_round(_metadata, pid);
	EXPECT_EQ(0, hits(self->dev, id));
	go_round(_metadata, pid);
	EXPECT_EQ(1, hits(self->dev, id));
}

/* The list in debugfs: a line of its own, returns and missed calls. */
TEST_F(uprobes, list_file)
{
	struct upt_probe req = { .maxactive = 3 };
	struct list_line line;

	depth = 10;
	req.pid = start_prog(deep_prog);
	req.type = UPT_URETPROBE;
	req.vaddr = (uintptr_t)deep;
	ASSERT_EQ(0, upt_register(self->dev, &req));
	ASSERT_TRUE(WIFSTOPPED(run_prog(req.pid)));
	ASSERT_TRUE(list_find(req.pid, deep, &line));
	EXPECT_STREQ("uretprobe", line.kind);
	EXPECT_EQ(0, strncmp(line.handler, "ret_hit", 7));
	EXPECT_STREQ(UPT_MODULE, line.module);
	EXPECT_EQ(3, line.hits);
	EXPECT_EQ(7, line.missed);
	EXPECT_FALSE(line.disabled);
	EXPECT_FALSE(line.gone);
	unprobe(self->dev, req.id);
	EXPECT_FALSE(list_find(req.pid, deep, &line));
}

/* Calls in progress at the end of a probe return, and run no handler. */
TEST_F(uprobes, unregistered_inside)
{
	pid_t pid = start_prog(stopping_prog);
	int id = probe_ret(self->dev, pid, stop_inside);
	char before[64], after[64];

	ASSERT_LE(0, id);
	go_round(_metadata, pid);
	go_round(_metadata, pid);
	EXPECT_EQ(2, entries(self->dev, id));
	unprobe(self->dev, id);
	EXPECT_EQ(0, list_lines(pid));
	/* A child has the same text, and no probe */
	memcpy(before, stop_inside, sizeof(before));
	ASSERT_EQ(0, read_mem(pid, stop_inside, after, sizeof(after)));
	EXPECT_EQ(0, memcmp(before, after, sizeof(before)));
	go_round(_metadata, pid);
	go_round(_metadata, pid);
	EXPECT_EQ(2, entries(self->dev, id));
	EXPECT_EQ(1, hits(self->dev, id));

	/* The same object again: what it left behind is not taken up */
	EXPECT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
	go_round(_metadata, pid);
	EXPECT_EQ(1, hits(self->dev, id));
	go_round(_metadata, pid);
	EXPECT_EQ(2, hits(self->dev, id));
}

static int inherited_dev;

/* The program lets go of the device, too. */
static void stopping_alone(void)
{
	close(inherited_dev);
	stopping_prog();
}

/* So they do when the object, and then the module, is gone. */
TEST_F(uprobes, freed_inside)
{
	pid_t pid;
	int i;

	inherited_dev = self->dev;
	pid = start_prog(stopping_alone);
	for (i = 0; i < 3; i++)
		ASSERT_LE(0, probe_ret(self->dev, pid, stop_inside));
	go_round(_metadata, pid);
	close_and_unload(_metadata, &self->dev);
	go_round(_metadata, pid);
	EXPECT_EQ(1, shm[CALLS]);
	go_round(_metadata, pid);
}

/* unregister waits for a return handler, after which none runs. */
TEST_F(uprobes, unregister_waits)
{
	pid_t pid = start_prog(add_once);
	int id = probe_ret_kind(self->dev, pid, add, UPT_SLEEP, 500000);
	__u64 start;

	ASSERT_LE(0, id);
	cont_prog(pid);
	ASSERT_TRUE(wait_hits(self->dev, id));
	start = now_ns();
	unprobe(self->dev, id);
	EXPECT_LT(100000000ULL, now_ns() - start);
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(3, shm[SHM_RESULT]);
}

static void *add_until_stop(void *arg)
{
	long n = 0;

	while (!__atomic_load_n(&shm[CALLS], __ATOMIC_RELAXED)) {
		if (fib(n % 8) < 0 || add(n, 1) != n + 1)
			shm[SHM_BAD] = 1;
		n++;
	}
	return NULL;
}

static void running_prog(void)
{
	run_threads(add_until_stop, 4);
}

/* Return probes come and go while four threads run flat out. */
TEST_F(uprobes, come_and_go)
{
	pid_t pid = start_prog(running_prog);
	struct upt_state state;
	int i, ids[2];
	size_t k;

	cont_prog(pid);
	for (i = 0; i < 20; i++) {
		ids[0] = probe_ret(self->dev, pid, add);
		ids[1] = probe_ret(self->dev, pid, fib);
		for (k = 0; k < ARRAY_SIZE(ids); k++) {
			ASSERT_LE(0, ids[k]);
			EXPECT_TRUE(wait_hits(self->dev, ids[k]));
		}
		for (k = 0; k < ARRAY_SIZE(ids); k++) {
			unprobe(self->dev, ids[k]);
			state = upt_read(self->dev, ids[k]);
			sleep_ms(5);
			EXPECT_EQ(state.hits, hits(self->dev, ids[k]));
			EXPECT_EQ(0, state.errors);
			EXPECT_EQ(0, state.nmissed);
			EXPECT_LE(state.hits, state.entries);
		}
	}
	shm[CALLS] = 1;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
}

static __probed void end_inside(void)
{
	end_thread();
}

static void *ending_thread(void *arg)
{
	if (add(1, 2) == 3)
		end_inside();
	return NULL;
}

static void ending_prog(void)
{
	pthread_t threads[10];
	int i;

	for (i = 0; i < 10; i++) {
		if (pthread_create(&threads[i], NULL, ending_thread, NULL))
			abort();
	}
	for (i = 0; i < 10; i++)
		pthread_join(threads[i], NULL);
	prog_stop();
}

/* Threads that end inside a call have missed its return. */
TEST_F(uprobes, thread_ends_inside)
{
	pid_t pid = start_prog(ending_prog);
	int id = probe_ret(self->dev, pid, end_inside);
	int other = probe_ret(self->dev, pid, add);

	ASSERT_LE(0, id);
	ASSERT_LE(0, other);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(10, entries(self->dev, id));
	check_counts(_metadata, self->dev, id, 0, 10);
	check_counts(_metadata, self->dev, other, 10, 0);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	check_counts(_metadata, self->dev, id, 0, 10);
}

static void batch_prog(void)
{
	int i;

	for (i = 0; i < 10; i++) {
		add_5_times();
		nop_fn();
		fib(2);
	}
}

/* A batch of return probes; one that fails, of which none is registered. */
TEST_F(uprobes, batch)
{
	__u64 vaddrs[] = {
		(uintptr_t)add, (uintptr_t)nop_fn, (uintptr_t)fib, 0,
	};
	struct upt_batch batch = {
		.pid = start_prog(batch_prog),
		.n = 3,
		.vaddrs = (uintptr_t)vaddrs,
		.type = UPT_URETPROBE,
	}, bad = batch;

	bad.n = 4;
	EXPECT_EQ(-EINVAL, upt_register_batch(self->dev, &bad));
	EXPECT_EQ(0, list_lines(batch.pid));
	EXPECT_TRUE(is_add(batch.pid, add));

	ASSERT_EQ(0, upt_register_batch(self->dev, &batch));
	EXPECT_EQ(3, list_lines(batch.pid));
	EXPECT_TRUE(exited(run_prog(batch.pid), 0));
	check_counts(_metadata, self->dev, batch.first, 50, 0);
	check_counts(_metadata, self->dev, batch.first + 1, 10, 0);
	check_counts(_metadata, self->dev, batch.first + 2, 30, 0);
	upt_unregister_batch(self->dev, &batch);
}

/* After a batch was unregistered the text is as before. */
TEST_F(uprobes, batch_unregistered)
{
	__u64 vaddrs[] = { (uintptr_t)add, (uintptr_t)nop_fn };
	struct upt_batch batch = {
		.pid = start_prog(batch_prog),
		.n = 2,
		.vaddrs = (uintptr_t)vaddrs,
		.type = UPT_URETPROBE,
	};

	ASSERT_EQ(0, upt_register_batch(self->dev, &batch));
	EXPECT_FALSE(is_add(batch.pid, add));
	upt_unregister_batch(self->dev, &batch);
	EXPECT_EQ(0, list_lines(batch.pid));
	EXPECT_TRUE(is_add(batch.pid, add));
	EXPECT_TRUE(exited(run_prog(batch.pid), 0));
	EXPECT_EQ(0, hits(self->dev, batch.first));
}

/* A page that the program does not run again. */
static char *new_trampoline(void)
{
	return map_add(NULL, RX, MAP_PRIVATE);
}

/* init_uretprobes() for an automatic trampoline, which then is the one. */
TEST_F(uprobes, init_automatic)
{
	char *place = new_trampoline();
	pid_t pid = start_prog(stopping_prog);
	struct upt_state state;
	unsigned long slot;
	struct upt_probe req = {
		.pid = pid,
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)stop_inside,
		.entry = true,
		.entry_kind = UPT_RECORD,
	};

	if (!SLOTS_KNOWN)
		SKIP(return, "no word is known to hold the trampoline");
	EXPECT_EQ(0, init_returns(self->dev, pid, NULL));
	EXPECT_EQ(0, init_returns(self->dev, pid, NULL));
	EXPECT_EQ(-EEXIST, init_returns(self->dev, pid, place));
	ASSERT_EQ(0, upt_register(self->dev, &req));
	go_round(_metadata, pid);
	state = upt_read(self->dev, req.id);
	slot = read_slot(_metadata, pid, state.ret_sp);
	EXPECT_TRUE(is_kernels(pid, slot))
		TH_LOG("%lx", slot);
	EXPECT_NE(slot, state.ret_addr);
	EXPECT_TRUE(is_add(pid, place));
	go_round(_metadata, pid);
	check_counts(_metadata, self->dev, req.id, 1, 0);
}

/* init_uretprobes() with an address: returns come by there. */
TEST_F(uprobes, init_explicit)
{
	char *place = new_trampoline(), *other = new_trampoline();
	pid_t pid = start_prog(stopping_prog);
	struct upt_probe req = {
		.pid = pid,
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)stop_inside,
		.entry = true,
		.entry_kind = UPT_RECORD,
	};
	struct upt_state state;

	if (!SLOTS_KNOWN)
		SKIP(return, "no word is known to hold the trampoline");
	ASSERT_EQ(0, init_returns(self->dev, pid, place));
	EXPECT_EQ(0, init_returns(self->dev, pid, place));
	EXPECT_EQ(0, init_returns(self->dev, pid, NULL));
	EXPECT_EQ(-EEXIST, init_returns(self->dev, pid, other));
	EXPECT_TRUE(is_add(pid, other));
	ASSERT_EQ(0, upt_register(self->dev, &req));
	go_round(_metadata, pid);
	state = upt_read(self->dev, req.id);
	EXPECT_EQ((uintptr_t)place, read_slot(_metadata, pid, state.ret_sp));
	go_round(_metadata, pid);
	check_counts(_metadata, self->dev, req.id, 1, 0);
	unprobe(self->dev, req.id);
	go_round(_metadata, pid);
}

/* The first registration chooses, if nobody did. */
TEST_F(uprobes, init_after_registration)
{
	char *place = new_trampoline();
	pid_t pid = start_prog(stopping_prog);

	ASSERT_LE(0, probe_ret(self->dev, pid, stop_inside));
	EXPECT_EQ(-EEXIST, init_returns(self->dev, pid, place));
	EXPECT_EQ(0, init_returns(self->dev, pid, NULL));
	EXPECT_TRUE(is_add(pid, place));
}

/* Stops, and then goes where it is told to. */
static void jump_away(void)
{
	if (stop_inside(2) != 6)
		abort();
	((void_fn)fn_at((void *)shm[TRAMPOLINE]))();
	shm[CALLS]++;
}

/* The same inside a call whose return is pending. */
static __probed void jump_away_inside(void)
{
	jump_away();
}

/* Lets it go to where returns come by; returns how it ended. */
static int run_jump_away(struct __test_metadata *_metadata, int dev, pid_t pid,
			 int *outer)
{
	struct upt_probe req = {
		.pid = pid,
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)stop_inside,
		.entry = true,
		.entry_kind = UPT_RECORD,
	};
	int log = log_start(), status;

	ASSERT_EQ(0, upt_register(dev, &req));
	*outer = probe_ret(dev, pid, jump_away_inside);
	ASSERT_LE(0, *outer);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	shm[TRAMPOLINE] = read_slot(_metadata, pid,
				    upt_read(dev, req.id).ret_sp);
	status = run_prog(pid);
	check_counts(_metadata, dev, req.id, 1, 0);
	EXPECT_EQ(0, log_warnings(log, "uprobes"));
	return status;
}

/* A program that jumps to the trampoline dies of a signal, and that is all. */
static void check_jump_away(struct __test_metadata *_metadata, int dev,
			    void (*body)(void), int inside)
{
	pid_t pid = start_prog(body);
	int outer;

	if (!SLOTS_KNOWN)
		SKIP(return, "no word is known to hold the trampoline");
	EXPECT_TRUE(killed(run_jump_away(_metadata, dev, pid, &outer),
			   SIGTRAP));
	EXPECT_EQ(0, shm[CALLS]);
	EXPECT_EQ(inside, entries(dev, outer));
	check_counts(_metadata, dev, outer, 0, inside);
}

TEST_F(uprobes, jump_to_trampoline)
{
	check_jump_away(_metadata, self->dev, jump_away, 0);
}

TEST_F(uprobes, jump_to_trampoline_inside)
{
	check_jump_away(_metadata, self->dev, jump_away_inside, 1);
}

/* At an address of the program's it finds what it has there, unreported. */
TEST_F(uprobes, jump_to_explicit_trampoline)
{
	char *place = new_trampoline();
	pid_t pid = start_prog(jump_away_inside);
	int outer;

	if (!SLOTS_KNOWN)
		SKIP(return, "no word is known to hold the trampoline");
	ASSERT_EQ(0, init_returns(self->dev, pid, place));
	EXPECT_TRUE(exited(run_jump_away(_metadata, self->dev, pid, &outer),
			   0));
	EXPECT_EQ((intptr_t)place, shm[TRAMPOLINE]);
	EXPECT_EQ(1, shm[CALLS]);
	check_counts(_metadata, self->dev, outer, 1, 0);
}

static void walk_prog(void)
{
	shm[SHM_RESULT] = walk_0();
}

/* A handler that walks the stack can tell the real return addresses. */
TEST_F(uprobes, handler_walks_stack)
{
	pid_t pid = start_prog(walk_prog);
	const void *probed[] = { walk_1, walk_2, walk_3 };
	const void *expected[] = { after_walk_3, after_walk_2, after_walk_1 };
	struct upt_state state;
	int ids[3], walker;
	size_t i;

	for (i = 0; i < 3; i++) {
		ids[i] = probe_ret(self->dev, pid, probed[i]);
		ASSERT_LE(0, ids[i]);
	}
	/* A second one, for a chain */
	ASSERT_LE(0, probe_ret(self->dev, pid, walk_2));
	walker = probe_kind(self->dev, pid, walk_3, UPT_WALK, 1);
	ASSERT_LE(0, walker);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(9, shm[SHM_RESULT]);
	state = upt_read(self->dev, walker);
	ASSERT_EQ(3, state.nframes);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ((uintptr_t)expected[i], state.frames[i])
			TH_LOG("frame %zu", i);
		check_counts(_metadata, self->dev, ids[i], 1, 0);
	}
	/* That was needed */
	EXPECT_NE(state.raw_frames[1], state.frames[1]);
	EXPECT_NE(state.raw_frames[2], state.frames[2]);
}
