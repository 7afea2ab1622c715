// SPDX-License-Identifier: GPL-2.0-only
/* Children of all sorts: fork, inheritance, vfork, clone. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "calls.h"
#include "fixture.h"

extern char **environ;

enum {
	CHILD = SHM_FREE,	/* pid of the last child */
	GRANDCHILD,
	STATUS,			/* sum of what wait() said of children */
	TRAMPOLINE,		/* of the parent */
	GO,
	READY,
	CODE_WORD,
};

static void add_to(int index, long n)
{
	__atomic_fetch_add(&shm[index], n, __ATOMIC_SEQ_CST);
}

static long look_at(int index)
{
	return __atomic_load_n(&shm[index], __ATOMIC_SEQ_CST);
}

static pid_t test;	/* who started the program */

/* Not for ever: children outlive their parents here, but not the test. */
static void wait_for(int index, long value)
{
	while (look_at(index) < value) {
		if (test && kill(test, 0))
			_exit(1);
		sleep_ms(1);
	}
}

/* The parent remembers the child, whose memory shm is as well. */
static pid_t fork_child(int index)
{
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (pid)
		shm[index] = pid;
	return pid;
}

static void wait_child(pid_t pid)
{
	int status = -1;

	if (waitpid(pid, &status, 0) != pid)
		abort();
	add_to(STATUS, status);
}

/*
 * A2, A3
 */

static int nthreads, ncalls;
static pid_t outlived;	/* children do not start before it is gone, or 0 */

/* The child has no probe: all of its calls return -1. */
static void count_as_child(void)
{
	struct upt_slot slot = new_slot();
	long count;
	int i;

	while (outlived && getppid() == outlived)
		sleep_ms(1);
	for (i = 0; i < ncalls; i++) {
		count = counting[i % NCOUNTING](&slot);
		if (count != -1)
			_exit(1);
	}
	_exit(0);
}

static void *fork_between_rounds(void *arg)
{
	struct upt_slot slot = new_slot();
	pid_t pid;

	count_rounds(&slot, 0, NCOUNTING - 1, ncalls / NCOUNTING);
	pid = fork();
	if (pid == 0)
		count_as_child();
	if (pid < 0)
		abort();
	if (!outlived)
		wait_child(pid);
	count_rounds(&slot, 0, NCOUNTING - 1, ncalls / NCOUNTING);
	return NULL;
}

static void forking_threads(void)
{
	run_threads(fork_between_rounds, nthreads);
}

static void forking_threads_die(void)
{
	outlived = getpid();
	run_threads(fork_between_rounds, nthreads);
}

/* The parent's hits are all there are, also those that a child may have had. */
static void check_forks(struct __test_metadata *_metadata, int dev,
			void (*body)(void), int threads, int calls)
{
	pid_t pid;
	long total = 0;
	int i, ids[NCOUNTING];

	nthreads = threads;
	ncalls = calls;
	pid = start_prog(body);
	for (i = 0; i < NCOUNTING; i++) {
		ids[i] = probe_kind(dev, pid, counting[i], UPT_SLOT, 0);
		ASSERT_LE(0, ids[i]);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_EQ(2L * threads * calls, shm[SHM_GOOD]);
	EXPECT_EQ(0, shm[SHM_BAD]);
	for (i = 0; i < NCOUNTING; i++) {
		total += hits(dev, ids[i]);
		unprobe(dev, ids[i]);
	}
	EXPECT_EQ(2L * threads * calls, total);
}

/*
 * Each fork takes the memory of all threads away from them, to be copied when
 * they next write: a kernel with all its checks on needs minutes for that.
 */
static int many(void)
{
	return getenv("slow") ? 10 : 100;
}

/* A2: one thread, ten calls before the fork and after: 20, the child none. */
TEST_F(three_times, a2_one_thread)
{
	check_forks(_metadata, self->dev, forking_threads, 1, 10);
}

/* A2: a hundred threads fork amid 1000 calls: 200000, their children none. */
TEST_F_TIMEOUT(three_times, a2_hundred_threads, 250)
{
	check_forks(_metadata, self->dev, forking_threads, many(), 1000);
}

/* A3: the same, but the parent is gone before its children start. */
static void check_orphans(struct __test_metadata *_metadata, int dev,
			  int threads, int calls)
{
	int i, status;

	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	check_forks(_metadata, dev, forking_threads_die, threads, calls);
	for (i = 0; i < threads; i++) {
		ASSERT_LT(0, waitpid(-1, &status, 0));
		EXPECT_TRUE(exited(status, 0));
	}
	ASSERT_EQ(-1, waitpid(-1, &status, 0));
	EXPECT_EQ(ECHILD, errno);
}

/* A3: one thread: 20, the child exits 0, and the module unloads. */
TEST_F(three_times, a3_one_thread)
{
	check_orphans(_metadata, self->dev, 1, 10);
	close_and_unload(_metadata, &self->dev);
}

/* A3: a hundred threads: 200000, all children exit 0, the module unloads. */
TEST_F_TIMEOUT(three_times, a3_hundred_threads, 250)
{
	check_orphans(_metadata, self->dev, many(), 1000);
	close_and_unload(_metadata, &self->dev);
}

/*
 * fork inside of return-probed calls
 */

static void exec_true(void)
{
	execl("/bin/sh", "sh", "-c", "exit 3", NULL);
	_exit(1);
}

static long fork_here(void)
{
	return fork_child(CHILD) ? 0 : 100;
}

static void fork_in_nested(void)
{
	long result = call_nested(fork_here);
	int status;

	if (result == 100 + NNESTED)
		exec_true();
	shm[SHM_RESULT] = result;
	waitpid(shm[CHILD], &status, 0);
	shm[STATUS] = status;
}

/* B2: the child returns through four calls, unreported, and then execs. */
TEST_F(three_times, b2_fork_in_nested)
{
	pid_t pid = start_prog(fork_in_nested);
	struct nested_ids ids;

	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(NNESTED, shm[SHM_RESULT]);
	EXPECT_TRUE(exited(shm[STATUS], 3))
		TH_LOG("status %lx", shm[STATUS]);
	EXPECT_TRUE(nested_balance(self->dev, &ids, 1, 1, 0));
}

/* Where it returns to, as the stack says. */
static __probed unsigned long return_address(void)
{
	return (unsigned long)__builtin_return_address(0);
}

static bool in_text(unsigned long addr)
{
	return addr >= (unsigned long)__executable_start &&
	       addr < (unsigned long)etext;
}

/* Words on the stack, from the caller up, that are shm[TRAMPOLINE]. */
static __probed long trampolines_on_stack(void)
{
	unsigned long start, end, *word = __builtin_frame_address(0);
	long n = 0;

	if (!find_map(getpid(), "[stack]", &start, &end))
		abort();
	for (; word < (unsigned long *)end; word++)
		n += *word == (unsigned long)look_at(TRAMPOLINE);
	return n;
}

/*
 * Where nobody knows what functions do with their return addresses, these stay
 * as they are, and what they lead to is there as well.
 */
static bool is_clean(void)
{
	int i;

	for (i = 0; i < NNESTED; i++) {
		if (*(opcode_t *)entry_of(nested[i]) == BREAKPOINT)
			return false;
	}
	return !SLOTS_KNOWN || (in_text(return_address()) &&
				!trampolines_on_stack() &&
				!has_area(getpid()));
}

/* The child looks at itself inside of the calls, then its own child does. */
static long fork_and_look(void)
{
	/* In the parent, it can be seen */
	shm[TRAMPOLINE] = return_address();
	if (in_text(shm[TRAMPOLINE]) || trampolines_on_stack() != NNESTED ||
	    !has_area(getpid()))
		abort();
	if (fork_child(CHILD)) {
		wait_child(shm[CHILD]);
		return 0;
	}
	if (!is_clean())
		_exit(1);
	if (!fork_child(GRANDCHILD)) {
		if (!is_clean())
			_exit(2);
		return 200;
	}
	return 100;
}

static long nothing(void)
{
	return 0;
}

static void look_in_nested(void)
{
	pid_t self = getpid();
	long result = call_nested(fork_and_look);

	if (getpid() == self) {
		shm[SHM_RESULT] = result;
		return;
	}
	/* Calls that are made now are those of a program that is not probed */
	if (call_nested(nothing) != NNESTED)
		_exit(3);
	if (result == 100 + NNESTED)
		wait_child(shm[GRANDCHILD]);
	else if (result != 200 + NNESTED)
		_exit(4);
	_exit(0);
}

/* No trace of the engine in a child: its text, its stack, its mappings. */
TEST_F(uprobes, child_is_clean)
{
	pid_t pid = start_prog(look_in_nested);
	struct nested_ids ids;

	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	ASSERT_LE(0, probe_ret(self->dev, pid, return_address));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_EQ(NNESTED, shm[SHM_RESULT]);
	EXPECT_TRUE(nested_balance(self->dev, &ids, 1, 1, 0));
}

#if !RETURNS_IN_MEMORY
static void fork_in_kept(void)
{
	pid_t self = getpid();
	long result = call_kept(fork_here);

	if (getpid() != self)
		_exit(result == 100 ? 0 : 1);
	wait_child(shm[CHILD]);
	shm[SHM_RESULT] = result + 1;
}

/* The function has its return address in a register, and nowhere else. */
TEST_F(uprobes, fork_in_kept)
{
	pid_t pid = start_prog(fork_in_kept);
	int id = probe_return(self->dev, pid, call_kept, 0);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_EQ(1, shm[SHM_RESULT]);
	EXPECT_TRUE(is_balance(self->dev, id, 1, 1, 0));
}
#endif

static void *fork_in_thread(void *arg)
{
	pid_t self = getpid();
	long result = call_nested(fork_here);

	if (getpid() != self)
		_exit(result == 100 + NNESTED ? 0 : 1);
	if (result != NNESTED)
		abort();
	wait_child(shm[CHILD]);
	return NULL;
}

static void thread_forks(void)
{
	run_threads(fork_in_thread, 1);
}

/* The calls are on the stack of a thread other than the first. */
TEST_F(uprobes, fork_in_thread)
{
	pid_t pid = start_prog(thread_forks);
	struct nested_ids ids;

	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_TRUE(nested_balance(self->dev, &ids, 1, 1, 0));
}

static long result_on_stack;

static void fork_in_handler(int sig)
{
	result_on_stack = call_nested(fork_here);
}

static long raise_here(void)
{
	raise(SIGUSR1);
	return result_on_stack - NNESTED;
}

static void fork_on_two_stacks(void)
{
	static char other[65536];
	stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction action = {
		.sa_handler = fork_in_handler,
		.sa_flags = SA_ONSTACK,
	};
	pid_t self = getpid();
	long result;

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	result = call_nested(raise_here);
	if (getpid() != self)
		_exit(result == 100 + NNESTED ? 0 : 1);
	wait_child(shm[CHILD]);
	if (result != NNESTED)
		abort();
}

/* Calls are in progress on two stacks, one of a signal handler. */
TEST_F(uprobes, fork_on_two_stacks)
{
	pid_t pid = start_prog(fork_on_two_stacks);
	struct nested_ids ids;

	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_TRUE(nested_balance(self->dev, &ids, 2, 2, 0));
}

/*
 * UPROBE_FLAG_INHERIT
 */

static int probe_inherit(int dev, pid_t pid, const void *addr,
			 enum upt_kind kind)
{
	struct upt_probe req = {
		.pid = pid,
		.vaddr = (uintptr_t)addr,
		.kind = kind,
		.flags = UPROBE_FLAG_INHERIT,
	};
	int ret = upt_register(dev, &req);

	return ret ? ret : req.id;
}

/*
 * Three generations that do the same: one call of add() and one of nested each
 * time GO is raised, until it is 10. They are ready when READY has grown by one
 * for each of them that still lives.
 */
static void live(void)
{
	long turn;

	for (turn = 1; ; turn++) {
		wait_for(GO, turn);
		if (look_at(GO) >= 10)
			_exit(0);
		if (add(turn, 1) != turn + 1 || call_nested(nothing) != NNESTED)
			abort();
		add_to(READY, 1);
	}
}

static void three_generations(void)
{
	if (!fork_child(CHILD) && !fork_child(GRANDCHILD))
		add_to(READY, 1);
	live();
}

struct family {
	pid_t pid, child, grandchild;
	int id;
	struct nested_ids ids;
};

static void start_family(struct __test_metadata *_metadata, int dev,
			 struct family *f)
{
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	test = getpid();
	f->pid = start_prog(three_generations);
	f->id = probe_inherit(dev, f->pid, add, UPT_RECORD);
	ASSERT_LE(0, f->id);
	ASSERT_EQ(0, probe_nested(dev, f->pid, UPROBE_FLAG_INHERIT, &f->ids));
	cont_prog(f->pid);
	wait_for(READY, 1);
	shm[READY] = 0;
	wait_for(CHILD, 1);
	wait_for(GRANDCHILD, 1);
	f->child = look_at(CHILD);
	f->grandchild = look_at(GRANDCHILD);
}

/* One turn of those who live. */
static void next_turn(long living)
{
	shm[READY] = 0;
	add_to(GO, 1);
	wait_for(READY, living);
}

/* The end of a member whose parent we are, be it by adoption. */
static void end_family(struct __test_metadata *_metadata, pid_t pid)
{
	int status;

	shm[GO] = 10;
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(exited(status, 0))
		TH_LOG("status %x", status);
}

static void kill_member(struct __test_metadata *_metadata, pid_t pid)
{
	int status;

	ASSERT_EQ(0, kill(pid, SIGKILL));
	/* Its parent does not wait for it while it has one */
	if (waitpid(pid, &status, WNOHANG) >= 0)
		waitpid(pid, &status, 0);
	else
		ASSERT_TRUE(wait_state(pid, 'Z'));
}

/* Of add() and of each nested function, in the whole family. */
static bool family_calls(int dev, const struct family *f, long calls)
{
	return hits(dev, f->id) == calls &&
	       nested_balance(dev, &f->ids, calls, calls, 0);
}

/* Children and their children are counted, and have their lines in the list. */
TEST_F(uprobes, inherit_generations)
{
	struct list_line line;
	struct family f;

	start_family(_metadata, self->dev, &f);
	EXPECT_EQ(1 + NNESTED, list_lines(f.pid));
	EXPECT_EQ(1 + NNESTED, list_lines(f.child));
	EXPECT_EQ(1 + NNESTED, list_lines(f.grandchild));
	next_turn(3);
	EXPECT_TRUE(family_calls(self->dev, &f, 3));
	next_turn(3);
	EXPECT_TRUE(family_calls(self->dev, &f, 6));
	ASSERT_TRUE(list_find(f.grandchild, add, &line));
	EXPECT_FALSE(line.gone);
	EXPECT_EQ(-EBUSY, upt_op(self->dev, UPT_REGISTER_AGAIN, f.id));
	end_family(_metadata, f.pid);
}

static void call_as_child(void)
{
	prog_stop();
	add(1, 2);
	if (!fork_child(CHILD)) {
		add(1, 2);
		_exit(0);
	}
	wait_child(shm[CHILD]);
	prog_stop();
}

/* The handler knows the child by current. */
TEST_F(uprobes, inherit_current)
{
	pid_t pid = start_prog(call_as_child);
	int id = probe_inherit(self->dev, pid, add, UPT_RECORD);

	ASSERT_LE(0, id);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(0, hits(self->dev, id));
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_EQ(2, hits(self->dev, id));
	EXPECT_EQ(shm[CHILD], upt_read(self->dev, id).tid);
	EXPECT_NE(pid, shm[CHILD]);
}

/* The parent is killed: its children are served on, the last one to the end. */
TEST_F(uprobes, inherit_parent_exits_first)
{
	struct family f;

	start_family(_metadata, self->dev, &f);
	kill_member(_metadata, f.pid);
	next_turn(2);
	EXPECT_TRUE(family_calls(self->dev, &f, 2));
	EXPECT_EQ(0, list_lines(f.pid));
	EXPECT_EQ(1 + NNESTED, list_lines(f.child));

	kill_member(_metadata, f.child);
	next_turn(1);
	EXPECT_TRUE(family_calls(self->dev, &f, 3));
	EXPECT_EQ(-EBUSY, upt_op(self->dev, UPT_REGISTER_AGAIN, f.id));

	/* With the last one, the objects are idle */
	end_family(_metadata, f.grandchild);
	EXPECT_EQ(0, list_lines(f.grandchild));
	EXPECT_EQ(-ESRCH, upt_op(self->dev, UPT_REGISTER_AGAIN, f.id));
	EXPECT_EQ(-ESRCH, upt_op(self->dev, UPT_REGISTER_AGAIN,
				 f.ids.id[0]));
}

/* The grandchild, then the child are killed: the parent is served on. */
TEST_F(uprobes, inherit_child_exits_first)
{
	struct family f;

	start_family(_metadata, self->dev, &f);
	kill_member(_metadata, f.grandchild);
	next_turn(2);
	kill_member(_metadata, f.child);
	next_turn(1);
	EXPECT_TRUE(family_calls(self->dev, &f, 3));
	EXPECT_EQ(1 + NNESTED, list_lines(f.pid));
	end_family(_metadata, f.pid);
	EXPECT_EQ(-ESRCH, upt_op(self->dev, UPT_REGISTER_AGAIN, f.id));
}

static bool all_clean(pid_t pid)
{
	char here[16], there[16];
	int i;

	for (i = 0; i < NNESTED; i++) {
		memcpy(here, nested[i], sizeof(here));
		if (read_mem(pid, nested[i], there, sizeof(there)) ||
		    memcmp(here, there, sizeof(here)))
			return false;
	}
	return is_add(pid, add);
}

/* One unregister disarms all generations: same text, no hit. */
TEST_F(uprobes, inherit_unregister)
{
	struct family f;
	int i;

	start_family(_metadata, self->dev, &f);
	next_turn(3);
	unprobe(self->dev, f.id);
	for (i = 0; i < NNESTED; i++)
		unprobe(self->dev, f.ids.id[i]);
	EXPECT_EQ(0, list_lines(f.pid));
	EXPECT_EQ(0, list_lines(f.child));
	EXPECT_EQ(0, list_lines(f.grandchild));
	EXPECT_TRUE(all_clean(f.pid));
	EXPECT_TRUE(all_clean(f.child));
	EXPECT_TRUE(all_clean(f.grandchild));
	next_turn(3);
	EXPECT_TRUE(family_calls(self->dev, &f, 3));

	/* Once more, and for the parent alone: children are not found again */
	ASSERT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, f.id));
	EXPECT_EQ(1, list_lines(f.pid));
	EXPECT_EQ(0, list_lines(f.child));
	next_turn(3);
	EXPECT_EQ(4, hits(self->dev, f.id));
	unprobe(self->dev, f.id);
	kill_member(_metadata, f.grandchild);
	kill_member(_metadata, f.child);
	end_family(_metadata, f.pid);
}

/* Disabled and enabled for all generations at once. */
TEST_F(uprobes, inherit_disable)
{
	struct family f;

	start_family(_metadata, self->dev, &f);
	ASSERT_EQ(0, upt_op(self->dev, UPT_DISABLE, f.id));
	next_turn(3);
	EXPECT_EQ(0, hits(self->dev, f.id));
	ASSERT_EQ(0, upt_op(self->dev, UPT_ENABLE, f.id));
	next_turn(3);
	EXPECT_EQ(3, hits(self->dev, f.id));
	end_family(_metadata, f.pid);
}

static long fork_and_call(void)
{
	if (fork_child(CHILD)) {
		wait_child(shm[CHILD]);
		return 0;
	}
	/* New calls, in the middle of those that the parent made */
	return call_nested(nothing) == NNESTED ? 100 : 0;
}

static void fork_in_inherited(void)
{
	pid_t self = getpid();
	long result = call_nested(fork_and_call);

	if (getpid() != self) {
		if (result != 100 + NNESTED ||
		    call_nested(nothing) != NNESTED)
			_exit(1);
		_exit(0);
	}
	shm[SHM_RESULT] = result;
}

/* A call in progress at the fork returns unreported in the child, others not. */
TEST_F(uprobes, inherit_fork_in_call)
{
	pid_t pid = start_prog(fork_in_inherited);
	struct nested_ids ids;

	ASSERT_EQ(0, probe_nested(self->dev, pid, UPROBE_FLAG_INHERIT, &ids));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_EQ(NNESTED, shm[SHM_RESULT]);
	EXPECT_TRUE(nested_balance(self->dev, &ids, 1 + 2, 1 + 2, 0));
}

static void call_and_stop(void)
{
	add(1, 2);
	prog_stop();
}

static void child_execs(void)
{
	if (!fork_child(CHILD)) {
		add(1, 2);
		exec_self(call_and_stop);
	}
	for (;;) {
		prog_stop();
		add(1, 2);
	}
}

/* exec in the child ends it there, though the same text is there again. */
TEST_F(uprobes, inherit_child_execs)
{
	pid_t pid = start_prog(child_execs);
	int id = probe_inherit(self->dev, pid, add, UPT_COUNT);

	ASSERT_LE(0, id);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	ASSERT_TRUE(wait_state(shm[CHILD], 'T'));
	EXPECT_EQ(1, hits(self->dev, id));
	EXPECT_EQ(0, list_lines(shm[CHILD]));
	EXPECT_TRUE(is_add(shm[CHILD], add));
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(2, hits(self->dev, id));
	EXPECT_EQ(1, list_lines(pid));
	kill(shm[CHILD], SIGKILL);
}

static void exec_and_stop(void)
{
	add(1, 2);
	exec_self(call_and_stop);
}

/* An object is idle when exec has ended it, and can be used again at once. */
TEST_F(uprobes, idle_after_exec)
{
	pid_t pid = start_prog(exec_and_stop);
	int id = probe_inherit(self->dev, pid, add, UPT_COUNT);
	int ret = probe_return(self->dev, pid, nested[0], 0);

	ASSERT_LE(0, id);
	ASSERT_LE(0, ret);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(1, hits(self->dev, id));
	EXPECT_EQ(0, list_lines(pid));
	EXPECT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
	EXPECT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, ret));
	EXPECT_EQ(2, list_lines(pid));
	unprobe(self->dev, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(1, hits(self->dev, id));
}

/* The same when the process is dead: for another one, the object is as new. */
TEST_F(uprobes, idle_after_death)
{
	pid_t pid = start_prog(call_and_stop), other;
	int id = probe_inherit(self->dev, pid, add, UPT_COUNT);
	int ret = probe_return(self->dev, pid, nested[0], 0);

	ASSERT_LE(0, id);
	ASSERT_LE(0, ret);
	end_prog(pid);
	other = start_prog(call_and_stop);
	upt_move(self->dev, id, other, add);
	upt_move(self->dev, ret, other, nested[0]);
	EXPECT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
	EXPECT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, ret));
	ASSERT_TRUE(WIFSTOPPED(run_prog(other)));
	EXPECT_EQ(1, hits(self->dev, id));
	EXPECT_EQ(2, list_lines(other));
}

#define FORKERS		8
#define CHILDREN	12
#define CHILD_CALLS	5

static void *fork_many(void *arg)
{
	pid_t pid;
	int i, n;

	for (i = 0; i < CHILDREN; i++) {
		pid = fork();
		if (pid) {
			add(1, 2);
			wait_child(pid);
			continue;
		}
		for (n = 0; n < CHILD_CALLS; n++) {
			if (add(n, 1) != n + 1 ||
			    call_nested(nothing) != NNESTED)
				_exit(1);
		}
		_exit(0);
	}
	return NULL;
}

static void fork_in_threads(void)
{
	run_threads(fork_many, FORKERS);
}

/* Many threads fork at once: each call of each child is counted, once. */
TEST_F_TIMEOUT(three_times, inherit_many_forks, 60)
{
	const long children = FORKERS * CHILDREN;
	const long calls = children * CHILD_CALLS;
	pid_t pid = start_prog(fork_in_threads);
	int id = probe_inherit(self->dev, pid, add, UPT_COUNT);
	struct nested_ids ids;

	ASSERT_LE(0, id);
	ASSERT_EQ(0, probe_nested(self->dev, pid, UPROBE_FLAG_INHERIT, &ids));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_EQ(calls + children, hits(self->dev, id));
	EXPECT_TRUE(nested_balance(self->dev, &ids, calls, calls, 0));
	EXPECT_EQ(-ESRCH, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
}

/*
 * Registration and removal while the process forks
 */

static bool clean_children;	/* whatever the parent's text is just now */

static void fork_for_ever(void)
{
	pid_t pid;
	int n;

	while (!look_at(GO)) {
		pid = fork();
		if (pid) {
			wait_child(pid);
			add_to(READY, 1);
			continue;
		}
		/* The probe of add() is inherited, and may go at any time */
		if (clean_children &&
		    *(opcode_t *)entry_of(nested[0]) == BREAKPOINT)
			_exit(1);
		for (n = 0; n < CHILD_CALLS; n++) {
			if (add(n, 1) != n + 1 ||
			    call_nested(nothing) != NNESTED)
				_exit(2);
		}
		_exit(0);
	}
}

#define CYCLES	150

static void race_forks(struct __test_metadata *_metadata, int dev,
		       unsigned int flags)
{
	struct upt_state state;
	struct nested_ids ids;
	pid_t pid;
	int i, n, id;

	clean_children = !flags;
	pid = start_prog(fork_for_ever);
	id = probe_inherit(dev, pid, add, UPT_COUNT);
	ASSERT_LE(0, id);
	ASSERT_EQ(0, probe_nested(dev, pid, flags, &ids));
	cont_prog(pid);
	for (i = 0; i < CYCLES; i++) {
		/* Some of them see a fork to its end */
		if (i % 8 == 0)
			wait_for(READY, look_at(READY) + 1);
		unprobe(dev, id);
		for (n = 0; n < NNESTED; n++)
			unprobe(dev, ids.id[n]);
		ASSERT_EQ(0, upt_op(dev, UPT_REGISTER_AGAIN, id));
		for (n = 0; n < NNESTED; n++)
			ASSERT_EQ(0, upt_op(dev, UPT_REGISTER_AGAIN,
					    ids.id[n]));
	}
	unprobe(dev, id);
	for (n = 0; n < NNESTED; n++)
		unprobe(dev, ids.id[n]);
	EXPECT_TRUE(all_clean(pid));
	shm[GO] = 1;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_EQ(0, list_lines(pid));
	EXPECT_LT(CYCLES / 8, shm[READY]);
	for (n = 0; n < NNESTED; n++) {
		/* Unregistered meanwhile is neither a return nor a miss of it */
		state = upt_read(dev, ids.id[n]);
		EXPECT_LE(state.hits + state.nmissed, state.entries);
		EXPECT_EQ(0, state.errors);
	}
	TH_LOG("%ld children, %ld hits", shm[READY], hits(dev, id));
}

/* No child is ever seen with a breakpoint, and none dies. */
TEST_F_TIMEOUT(uprobes, race_with_fork, 100)
{
	race_forks(_metadata, self->dev, 0);
}

/* The same with children that inherit. */
TEST_F_TIMEOUT(uprobes, race_with_inherit, 100)
{
	race_forks(_metadata, self->dev, UPROBE_FLAG_INHERIT);
}

static void fork_and_wait(void)
{
	pid_t pids[FORKERS];
	int i;

	for (i = 0; i < FORKERS; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		add_to(READY, 1);
		wait_for(GO, 1);
		_exit(add(1, 2) == 3 ? 0 : 1);
	}
	wait_for(GO, 1);
	for (i = 0; i < FORKERS; i++)
		wait_child(pids[i]);
}

/* Children that live when the object goes are disarmed by it, all of them. */
TEST_F_TIMEOUT(uprobes, unregister_during_forks, 60)
{
	pid_t pid;
	int id, run;

	for (run = 0; run < 20; run++) {
		memset(shm, 0, SHM_SIZE);
		test = getpid();
		pid = start_prog(fork_and_wait);
		id = probe_inherit(self->dev, pid, add, UPT_COUNT);
		ASSERT_LE(0, id);
		cont_prog(pid);
		wait_for(READY, run % FORKERS);
		unprobe(self->dev, id);
		EXPECT_TRUE(is_add(pid, add));
		wait_for(READY, FORKERS);
		shm[GO] = 1;
		EXPECT_TRUE(exited(wait_prog(pid), 0));
		EXPECT_EQ(0, shm[STATUS]);
		EXPECT_EQ(0, hits(self->dev, id));
	}
}

/*
 * Children that share the memory
 */

#define NLOOPS	50

static long vfork_here(void)
{
	pid_t pid = vfork();

	/* On the parent's stack: its returns are not to be touched */
	if (pid == 0)
		_exit(add(1, 2) == 3 && call_nested(nothing) == NNESTED ? 0 : 1);
	wait_child(pid);
	return 0;
}

static void vfork_in_nested(void)
{
	int i;

	for (i = 0; i < NLOOPS; i++)
		shm[SHM_RESULT] += call_nested(vfork_here);
}

/* B8: vfork inside of return-probed calls: all of the parent's are reported. */
TEST_F(uprobes, b8_vfork_in_call)
{
	pid_t pid = start_prog(vfork_in_nested);
	int id = probe(self->dev, pid, add);
	struct nested_ids ids;

	ASSERT_LE(0, id);
	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_EQ(NLOOPS * NNESTED, shm[SHM_RESULT]);
	EXPECT_EQ(0, hits(self->dev, id));
	EXPECT_TRUE(nested_balance(self->dev, &ids, NLOOPS, NLOOPS, 0));
}

static long vfork_and_exec(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 0", NULL);
		_exit(1);
	}
	wait_child(pid);
	return 0;
}

static long spawn_here(void)
{
	char * const argv[] = { "sh", "-c", "exit 0", NULL };
	pid_t pid;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ))
		abort();
	wait_child(pid);
	return 0;
}

static void spawn_in_nested(void)
{
	int i;

	for (i = 0; i < NLOOPS; i++) {
		shm[SHM_RESULT] += call_nested(vfork_and_exec);
		shm[SHM_RESULT] += call_nested(spawn_here);
	}
	prog_stop();
}

/* B8: exec of a vforked child, and posix_spawn, inside of such calls. */
TEST_F(uprobes, b8_spawn_in_call)
{
	pid_t pid = start_prog(spawn_in_nested);
	struct nested_ids ids;

	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(NNESTED, list_lines(pid));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_EQ(2 * NLOOPS * NNESTED, shm[SHM_RESULT]);
	EXPECT_TRUE(nested_balance(self->dev, &ids, 2 * NLOOPS, 2 * NLOOPS,
				   0));
}

static int nested_100_times(void *arg)
{
	int i;

	for (i = 0; i < 100; i++) {
		if (call_nested(nothing) != NNESTED)
			return 1;
	}
	return 0;
}

/* Of the child that shares our thread-local storage, before it is ours again */
static long clone_here(void)
{
	static char stack[65536];
	pid_t pid;

	pid = clone(nested_100_times, stack + sizeof(stack), CLONE_VM | SIGCHLD,
		    NULL);
	if (pid < 0)
		abort();
	/* At the same time as the child, which says the same to "inside" */
	if (nested_100_times(NULL))
		abort();
	wait_child(pid);
	return 0;
}

static void clone_in_nested(void)
{
	shm[SHM_RESULT] = call_nested(clone_here);
}

/* B9: a child with our memory and its own stack: both return correctly. */
TEST_F(uprobes, b9_clone_in_call)
{
	pid_t pid = start_prog(clone_in_nested);
	struct nested_ids ids;

	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_EQ(NNESTED, shm[SHM_RESULT]);
	EXPECT_TRUE(nested_balance(self->dev, &ids, 101, 101, 0));
}

#define COPIED	2048

/* The child comes back here on its copy, through what was the parent's. */
static __probed long call_clone_copied(void)
{
	static char copy[65536];
	char *stack = copy + sizeof(copy) - COPIED - 1024;
	long here = own_sp() & -16L;

	return clone_copied(((long)stack & -16L) - here, COPIED);
}

static void clone_on_copy(void)
{
	pid_t pid;
	int i;

	for (i = 0; i < NLOOPS; i++) {
		pid = call_clone_copied();
		if (pid < 0)
			abort();
		if (pid == 0)
			syscall(SYS_exit, add(1, 2) == 3 ? 0 : 1);
		wait_child(pid);
	}
	shm[SHM_RESULT] = i;
}

/* B9: the child's stack is a copy of its parent's, return addresses included. */
TEST_F(uprobes, b9_copied_stack)
{
	pid_t pid = start_prog(clone_on_copy);
	int inner = probe_return(self->dev, pid, clone_copied, 0);
	int outer = probe_return(self->dev, pid, call_clone_copied, 0);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, inner);
	ASSERT_LE(0, outer);
	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_EQ(NLOOPS, shm[SHM_RESULT]);
	EXPECT_TRUE(is_balance(self->dev, inner, NLOOPS, NLOOPS, 0));
	EXPECT_TRUE(is_balance(self->dev, outer, NLOOPS, NLOOPS, 0));
	EXPECT_EQ(0, hits(self->dev, id));
}

static void *nested_in_thread(void *arg)
{
	if (nested_100_times(NULL))
		abort();
	return NULL;
}

static long threads_here(void)
{
	run_threads(nested_in_thread, 4);
	return 0;
}

static void threads_in_nested(void)
{
	shm[SHM_RESULT] = call_nested(threads_here);
}

/* Threads that are made inside of a call know nothing of it. */
TEST_F(uprobes, threads_in_call)
{
	pid_t pid = start_prog(threads_in_nested);
	struct nested_ids ids;

	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(NNESTED, shm[SHM_RESULT]);
	EXPECT_TRUE(nested_balance(self->dev, &ids, 401, 401, 0));
}

/*
 * A debugger's breakpoint over ours
 */

static void fork_under_debugger(void)
{
	if (!fork_child(CHILD)) {
		shm[CODE_WORD] = __atomic_load_n((opcode_t *)entry_of(add),
						 __ATOMIC_RELAXED);
		add_to(READY, 1);
		wait_for(GO, 1);
		_exit(add(1, 2) == 3 ? 0 : 1);
	}
	wait_child(shm[CHILD]);
	prog_stop();
	shm[SHM_RESULT] = add(1, 2);
}

static void check_debugged_fork(struct __test_metadata *_metadata, int dev,
				unsigned int flags)
{
	const opcode_t int3 = BREAKPOINT;
	struct upt_probe req = {
		.vaddr = (uintptr_t)add,
		.flags = flags,
	};
	const opcode_t *text = entry_of(add);
	opcode_t word;

	test = getpid();
	req.pid = start_prog(fork_under_debugger);
	ASSERT_EQ(0, upt_register(dev, &req));
	ASSERT_EQ(0, write_mem(req.pid, text, &int3, sizeof(int3)));
	cont_prog(req.pid);
	wait_for(READY, 1);
	wait_for(CHILD, 1);
	EXPECT_EQ(int3, shm[CODE_WORD]);
	ASSERT_EQ(0, peek_mem(shm[CHILD], text, &word, sizeof(word)));
	EXPECT_EQ(int3, word);
	word = *text;
	ASSERT_EQ(0, write_mem(shm[CHILD], text, &word, sizeof(word)));
	ASSERT_EQ(0, peek_mem(shm[CHILD], text, &word, sizeof(word)));
	EXPECT_EQ(*text, word);
	EXPECT_TRUE(is_add(shm[CHILD], add));
	shm[GO] = 1;
	ASSERT_TRUE(WIFSTOPPED(wait_prog(req.pid)));
	EXPECT_EQ(0, shm[STATUS]);
	EXPECT_EQ(0, hits(dev, req.id));
	ASSERT_EQ(0, write_mem(req.pid, text, &word, sizeof(word)));
	EXPECT_TRUE(exited(run_prog(req.pid), 0));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(dev, req.id));
	EXPECT_EQ(flags ? 1 : 0, upt_read(dev, req.id).nmissed);
}

/* The child has the debugger's breakpoint, as without us, and not ours. */
TEST_F(uprobes, fork_under_debugger)
{
	check_debugged_fork(_metadata, self->dev, 0);
}

/*
 * A child cannot inherit a probe where it has a debugger's breakpoint, as one
 * cannot be set there. That counts as missed.
 */
TEST_F(uprobes, inherit_under_debugger)
{
	check_debugged_fork(_metadata, self->dev, UPROBE_FLAG_INHERIT);
}
