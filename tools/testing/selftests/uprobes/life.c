// SPDX-License-Identifier: GPL-2.0-only
/* Life of a probe: threads, fork, exec, exit, changes of the memory map. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "calls.h"
#include "fixture.h"

extern char **environ;

static void *two_halves(void *arg)
{
	struct upt_slot slot = new_slot();

	count_rounds(&slot, 0, 3, 4);
	sleep_ms(100);
	count_rounds(&slot, 4, 8, 4);
	return NULL;
}

static void *call_last(void *arg)
{
	struct upt_slot slot = new_slot();

	counting[9](&slot);
	shm[SHM_RESULT] = 1;
	return NULL;
}

static void four_and_one(void)
{
	pthread_t fifth;

	pthread_create(&fifth, NULL, call_last, NULL);
	run_threads(two_halves, 4);
	pthread_join(fifth, NULL);
}

/* A4: a handler ends the fifth thread, and only that: 145 hits. */
TEST_F(three_times, a4_thread_ends_in_probe)
{
	pid_t pid = start_prog(four_and_one);
	int ids[NCOUNTING], i, last;
	long total = 0;

	for (i = 0; i < NCOUNTING; i++) {
		ids[i] = probe_kind(self->dev, pid, counting[i], UPT_SLOT, 0);
		ASSERT_LE(0, ids[i]);
	}
	last = probe_kind(self->dev, pid, counting[9], UPT_SET_IP,
			  (uintptr_t)end_thread);
	ASSERT_LE(0, last);

	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(144, shm[SHM_GOOD]);
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(0, shm[SHM_RESULT]);
	for (i = 0; i < NCOUNTING; i++)
		total += hits(self->dev, ids[i]);
	EXPECT_EQ(145, total);
	EXPECT_EQ(1, hits(self->dev, last));
}

static void *add_for_ever(void *arg)
{
	add(1, 2);
	__atomic_fetch_add(&shm[SHM_GOOD], 1, __ATOMIC_RELAXED);
	for (;;)
		add(1, 2);
	return NULL;
}

/* Until that many threads have hit, and go on hitting. */
static void wait_threads(int n)
{
	while (__atomic_load_n(&shm[SHM_GOOD], __ATOMIC_RELAXED) < n)
		sleep_ms(1);
}

static void start_threads(void *(*fn)(void *), int n)
{
	pthread_t thread;

	while (n--)
		pthread_create(&thread, NULL, fn, NULL);
}

/* Global, so that the compiler cannot know better */
char *bad_address = (char *)1;

static void crash(void)
{
	start_threads(add_for_ever, 4);
	wait_threads(4);
	*bad_address = 0;
}

/* A5: the process dies of SIGSEGV with four threads in handlers and steps. */
TEST_F(three_times, a5_crash)
{
	pid_t pid = start_prog(crash);
	int id = probe_kind(self->dev, pid, add, UPT_SLEEP, 2000);

	ASSERT_LE(0, id);
	EXPECT_TRUE(killed(run_prog(pid), SIGSEGV));
	EXPECT_LE(4, hits(self->dev, id));
	close_and_unload(_metadata, &self->dev);
}

static void *exec_shell(void *arg)
{
	wait_threads(4);
	execl("/bin/sh", "sh", "-c", "exit 7", NULL);
	return NULL;
}

static void exec_in_thread(void)
{
	start_threads(add_for_ever, 4);
	run_threads(exec_shell, 1);
}

/* A6: a thread that is not the leader execs while four others are hitting. */
TEST_F(three_times, a6_exec)
{
	pid_t pid = start_prog(exec_in_thread);
	int id = probe_kind(self->dev, pid, add, UPT_SLEEP, 2000);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 7));
	EXPECT_LE(4, hits(self->dev, id));
	close_and_unload(_metadata, &self->dev);
}

static void spin_prog(void)
{
	start_threads(add_for_ever, 3);
	add_for_ever(NULL);
}

/* SIGKILL while threads are in handlers and steps: unregister is a no-op. */
TEST_F(uprobes, killed_in_handler)
{
	pid_t pid = start_prog(spin_prog);
	int id = probe_kind(self->dev, pid, add, UPT_SLEEP, 20000);

	ASSERT_LE(0, id);
	cont_prog(pid);
	wait_threads(4);
	EXPECT_TRUE(killed(end_prog(pid), SIGKILL));
	EXPECT_LE(4, hits(self->dev, id));
	unprobe(self->dev, id);
	unprobe(self->dev, id);
	close_and_unload(_metadata, &self->dev);
}

static void exec_prog(void)
{
	add(1, 2);
	execl("/bin/sh", "sh", "-c", "kill -STOP $$; exit 7", NULL);
}

/* exec ends the probes of the process, exit those that come after. */
TEST_F(uprobes, exec_and_exit)
{
	pid_t pid = start_prog(exec_prog);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	EXPECT_EQ(1, list_lines(pid));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(1, hits(self->dev, id));
	unprobe(self->dev, id);
	EXPECT_EQ(0, list_lines(pid));
	EXPECT_TRUE(exited(run_prog(pid), 7));
	EXPECT_EQ(-ESRCH, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
}

/* Exit, then unregister, then the same object again for another process. */
TEST_F(uprobes, object_outlives_process)
{
	pid_t pid = start_prog(exec_prog);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	end_prog(pid);
	EXPECT_EQ(0, hits(self->dev, id));
	unprobe(self->dev, id);
	EXPECT_EQ(-ESRCH, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
}

static void fork_twice(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		/* Text is clean, works, and so it is for a grandchild */
		if (!is_add(getpid(), add) || add(3, 4) != 7)
			_exit(1);
		child = fork();
		if (child == 0)
			_exit(is_add(getpid(), add) ? 0 : 2);
	}
	waitpid(child, &status, 0);
	shm[SHM_RESULT] += WEXITSTATUS(status);
	add(1, 2);
}

/* The text of a forked child has no breakpoint; its parent keeps all. */
TEST_F(uprobes, fork_child_is_clean)
{
	pid_t pid = start_prog(fork_twice);
	int id = probe(self->dev, pid, add);
	int other = probe(self->dev, pid, counting[0]);

	ASSERT_LE(0, id);
	ASSERT_LE(0, other);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(self->dev, id));
	EXPECT_EQ(0, hits(self->dev, other));
}

#define NFORKS	50

static void vfork_loop(void)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < NFORKS; i++) {
		pid = vfork();
		if (pid == 0)
			_exit(add(i, 1) == i + 1 ? 0 : 1);
		waitpid(pid, &status, 0);
		shm[SHM_RESULT] += status;
		add(1, 2);
	}
}

/* B8: vfork children pass the probe unharmed and uncounted; it stays. */
TEST_F(uprobes, b8_vfork)
{
	pid_t pid = start_prog(vfork_loop);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_RESULT]);
	EXPECT_EQ(NFORKS, hits(self->dev, id));
}

static void spawn_loop(void)
{
	char * const argv[] = { "sh", "-c", "exit 0", NULL };
	int i, status = 0;
	pid_t pid;

	for (i = 0; i < NFORKS; i++) {
		if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ))
			abort();
		waitpid(pid, &status, 0);
		shm[SHM_RESULT] += status;
		add(1, 2);
	}
}

/* B8: posix_spawn in a loop: all children run, and the probe stays. */
TEST_F(uprobes, b8_posix_spawn)
{
	pid_t pid = start_prog(spawn_loop);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_RESULT]);
	EXPECT_EQ(NFORKS, hits(self->dev, id));
}

static int add_100_times(void *arg)
{
	int i;

	for (i = 0; i < 100; i++) {
		if (add(i, 1) != i + 1)
			return 1;
	}
	return 0;
}

static void clone_vm(void)
{
	static char stack[65536];
	int status = -1;
	pid_t pid;

	pid = clone(add_100_times, stack + sizeof(stack), CLONE_VM | SIGCHLD,
		    NULL);
	add_100_times(NULL);
	waitpid(pid, &status, 0);
	shm[SHM_RESULT] = status;
}

/* A child that shares the memory hits at the same time: uncounted. */
TEST_F(uprobes, clone_vm_child)
{
	pid_t pid = start_prog(clone_vm);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	shm[SHM_RESULT] = -1;
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_RESULT]);
	EXPECT_EQ(100, hits(self->dev, id));
}

static void *add_after_leader(void *arg)
{
	if (!wait_state(getpid(), 'Z'))
		abort();
	prog_stop();
	add(1, 2);
	syscall(SYS_exit_group, 0);
	return NULL;
}

static void leader_exits(void)
{
	start_threads(add_after_leader, 1);
	syscall(SYS_exit, 0);
}

/* The process lives on without its leader, whose id still names it. */
TEST_F(uprobes, leader_is_gone)
{
	pid_t pid = start_prog(leader_exits);
	int id, status;

	status = run_prog(pid);
	ASSERT_TRUE(WIFSTOPPED(status))
		TH_LOG("status %x", status);
	ASSERT_EQ('Z', thread_state(pid));
	id = probe(self->dev, pid, add);
	ASSERT_LE(0, id);
	status = run_prog(pid);
	EXPECT_TRUE(exited(status, 0))
		TH_LOG("status %x", status);
	EXPECT_EQ(1, hits(self->dev, id));
}

/* B7, and what its threads share with the test. */
enum {
	PHASE = SHM_FREE,	/* counts up, see enum phase */
	STOP,
	ARMED_CALLS,
	UNARMED_CALLS,
	NPROBED,		/* so many of the counting functions */
};

enum phase {	/* shm[PHASE] modulo 4 */
	UNARMED,
	ARMING,
	ARMED,
	DISARMING,
};

/* Ten probes each time, and then one: 10000 together */
#define NCYCLES		950
#define NSINGLES	500

static void next_phase(void)
{
	__atomic_fetch_add(&shm[PHASE], 1, __ATOMIC_SEQ_CST);
}

static long get_phase(void)
{
	return __atomic_load_n(&shm[PHASE], __ATOMIC_SEQ_CST);
}

static bool stopped(void)
{
	return __atomic_load_n(&shm[STOP], __ATOMIC_RELAXED);
}

/* Long enough for some calls, also where CPUs take turns on one of the host */
static void stay_in_phase(void)
{
	usleep(500);
}

/*
 * A call in the course of which the phase did not change was wholly made while
 * the probes were armed, or while they were not: one hit, or none.
 */
static void *watch_hits(void *arg)
{
	long phase, before, armed = 0, unarmed = 0, bad = 0;
	struct upt_slot slot = new_slot();
	long fn = 0;

	while (!stopped()) {
		phase = get_phase();
		/* Looked up after the phase: while armed, so many are */
		fn = (fn + 1) % __atomic_load_n(&shm[NPROBED],
						__ATOMIC_SEQ_CST);
		before = slot.kcount;
		counting[fn](&slot);
		if (phase != get_phase())
			continue;
		if (phase % 4 == ARMED) {
			armed++;
			bad += slot.kcount != before + 1;
		} else if (phase % 4 == UNARMED) {
			unarmed++;
			bad += slot.kcount != before;
		}
	}
	__atomic_fetch_add(&shm[ARMED_CALLS], armed, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shm[UNARMED_CALLS], unarmed, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shm[SHM_BAD], bad, __ATOMIC_RELAXED);
	return NULL;
}

/* Nice, so that a change does not wait for the end of a time slice. */
static void watch_prog(void)
{
	nice(19);
	run_threads(watch_hits, 4);
}

/* All, or just the first one with the calls for a single probe. */
static int arm(int dev, struct upt_batch *batch, bool all)
{
	return all ? upt_register_batch(dev, batch) :
		     upt_op(dev, UPT_REGISTER_AGAIN, batch->first);
}

static void disarm(int dev, struct upt_batch *batch, bool all)
{
	if (all)
		upt_unregister_batch(dev, batch);
	else
		unprobe(dev, batch->first);
}

/*
 * B7: 10000 times armed and disarmed under four threads: all hits exact. A cycle
 * waits for two grace periods, in which all of these have to run.
 */
TEST_F_TIMEOUT(uprobes, b7_arm_disarm, 400)
{
	char before[NCOUNTING][32], after[NCOUNTING][32];
	__u64 vaddrs[NCOUNTING];
	struct upt_batch batch = {
		.pid = start_prog(watch_prog),
		.n = NCOUNTING,
		.vaddrs = (uintptr_t)vaddrs,
		.kind = UPT_SLOT,
	};
	__u64 start = now_ns();
	int i;

	for (i = 0; i < NCOUNTING; i++) {
		vaddrs[i] = (uintptr_t)entry_of(counting[i]);
		ASSERT_EQ(0, read_mem(batch.pid, (void *)(uintptr_t)vaddrs[i],
				      before[i], 32));
	}
	shm[NPROBED] = NCOUNTING;
	cont_prog(batch.pid);
	for (i = 0; i < NCYCLES + NSINGLES; i++) {
		if (i == NCYCLES)
			shm[NPROBED] = 1;
		stay_in_phase();
		next_phase();
		ASSERT_EQ(0, arm(self->dev, &batch, i < NCYCLES));
		next_phase();
		stay_in_phase();
		next_phase();
		disarm(self->dev, &batch, i < NCYCLES);
		next_phase();
	}
	for (i = 0; i < NCOUNTING; i++)
		ASSERT_EQ(0, read_mem(batch.pid, (void *)(uintptr_t)vaddrs[i],
				      after[i], 32));
	EXPECT_EQ(0, memcmp(before, after, sizeof(before)));
	shm[STOP] = 1;
	EXPECT_TRUE(exited(wait_prog(batch.pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_LE(NCYCLES + NSINGLES, shm[ARMED_CALLS]);
	EXPECT_LE(NCYCLES + NSINGLES, shm[UNARMED_CALLS]);
	TH_LOG("%ld calls while armed, %ld while not, %llu us for a cycle",
	       shm[ARMED_CALLS], shm[UNARMED_CALLS],
	       (now_ns() - start) / 1000 / (NCYCLES + NSINGLES));
}

/* C12: what a program does to the page of a probed instruction. */
enum change {
	UNMAP,
	REPLACE,
	MAP_OVER,
	MOVE,
	DISCARD,
	REPROTECT,
	UNMAP_OTHER,
};

enum {
	CODE = SHM_FREE,	/* where add() is, 0 for nowhere */
};

static enum change change;

static void *change_map(char *code)
{
	int rx = PROT_READ | PROT_EXEC;
	char *other = code - PAGE_SZ;

	switch (change) {
	case UNMAP:
		munmap(code, PAGE_SZ);
		return NULL;
	case REPLACE:
		munmap(code, PAGE_SZ);
		return map_add(code, rx, MAP_PRIVATE | MAP_FIXED);
	case MAP_OVER:
		return map_add(code, rx, MAP_PRIVATE | MAP_FIXED);
	case MOVE:
		return mremap(code, PAGE_SZ, PAGE_SZ,
			      MREMAP_MAYMOVE | MREMAP_FIXED, other);
	case DISCARD:
		madvise(code, PAGE_SZ, MADV_DONTNEED);
		return code;
	case REPROTECT:
		mprotect(code, PAGE_SZ, PROT_READ);
		mprotect(code, PAGE_SZ, PROT_READ | PROT_WRITE | PROT_EXEC);
		return code;
	default:
		munmap(other, PAGE_SZ);
		return code;
	}
}

/* Calls add() before and after the change; DISCARD needs a file behind it. */
static void changing_prog(void)
{
	char *code, *two;

	two = mmap(NULL, 2 * PAGE_SZ, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	if (change == DISCARD)
		code = (char *)entry_of(add);
	else
		code = map_add(two + PAGE_SZ, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE | MAP_FIXED);
	shm[CODE] = (long)code;
	prog_stop();

	shm[SHM_RESULT] = ((add_fn)fn_at(code))(1, 2);
	code = change_map((char *)((uintptr_t)code & -PAGE_SZ)) ?
	       change == MOVE ? code - PAGE_SZ : code : NULL;
	shm[CODE] = (long)code;
	prog_stop();

	if (code)
		shm[SHM_RESULT] += ((add_fn)fn_at(code))(3, 4);
	prog_stop();
	if (code)
		shm[SHM_RESULT] += ((add_fn)fn_at(code))(5, 6);
}

static void *code_now(void)
{
	return (void *)shm[CODE];
}

typedef int (*probe_fn)(int dev, pid_t pid, const void *addr);

/* After the change: is the probe gone, and is what is there now untouched? */
static void check_change_of(struct __test_metadata *_metadata, int dev,
			    probe_fn probe, enum change what, bool gone)
{
	struct list_line line;
	pid_t pid;
	int id, again;
	void *old;

	change = what;
	pid = start_prog(changing_prog);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	old = code_now();
	id = probe(dev, pid, old);
	ASSERT_LE(0, id);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(dev, id));
	ASSERT_TRUE(list_find(pid, old, &line));
	EXPECT_EQ(gone, line.gone);

	EXPECT_TRUE(!gone || !code_now() || is_add(pid, code_now()));
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(gone ? 1 : 2, hits(dev, id));
	unprobe(dev, id);
	EXPECT_FALSE(list_find(pid, old, &line));
	if (!code_now()) {
		EXPECT_TRUE(exited(run_prog(pid), 0));
		return;
	}

	/* A new probe has nothing to do with the old one */
	EXPECT_TRUE(is_add(pid, code_now()));
	again = probe(dev, pid, code_now());
	ASSERT_LE(0, again);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(3 + 7 + 11, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(dev, again));
	EXPECT_EQ(gone ? 1 : 2, hits(dev, id));
}

static void check_change(struct __test_metadata *_metadata, int dev,
			 enum change what, bool gone)
{
	check_change_of(_metadata, dev, probe, what, gone);
	check_change_of(_metadata, dev, probe_ret, what, gone);
}

/* C12: munmap of the probed page: gone. */
TEST_F(uprobes, c12_munmap)
{
	check_change(_metadata, self->dev, UNMAP, true);
}

/* C12: munmap, then other code at the same address: never armed again. */
TEST_F(uprobes, c12_replaced)
{
	check_change(_metadata, self->dev, REPLACE, true);
}

/* C12: the same place is probed again, before the probe that is gone goes. */
static void check_probed_again(struct __test_metadata *_metadata, int dev,
			       probe_fn probe, probe_fn probe_again)
{
	pid_t pid;
	int id, again;

	change = MAP_OVER;
	pid = start_prog(changing_prog);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	id = probe(dev, pid, code_now());
	ASSERT_LE(0, id);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	again = probe_again(dev, pid, code_now());
	ASSERT_LE(0, again);
	EXPECT_EQ(2, list_lines(pid));
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(1, hits(dev, again));
	unprobe(dev, id);
	EXPECT_EQ(1, list_lines(pid));
	EXPECT_FALSE(is_add(pid, code_now()));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(1, hits(dev, id));
	EXPECT_EQ(2, hits(dev, again));
}

/* C12: by a probe of the same kind, or of the other one. */
TEST_F(uprobes, c12_probed_again)
{
	check_probed_again(_metadata, self->dev, probe, probe);
	check_probed_again(_metadata, self->dev, probe, probe_ret);
	check_probed_again(_metadata, self->dev, probe_ret, probe);
	check_probed_again(_metadata, self->dev, probe_ret, probe_ret);
}

/* C12: MAP_FIXED over the probed page: gone, the new code is not touched. */
TEST_F(uprobes, c12_map_fixed)
{
	check_change(_metadata, self->dev, MAP_OVER, true);
}

/* C12: mremap: the code that moved carries no breakpoint, and runs. */
TEST_F(uprobes, c12_mremap)
{
	check_change(_metadata, self->dev, MOVE, true);
}

/* C12: MADV_DONTNEED drops the page with the breakpoint: gone. */
TEST_F(uprobes, c12_dontneed)
{
	check_change(_metadata, self->dev, DISCARD, true);
}

/* C12: mprotect and back is no reason to go. */
TEST_F(uprobes, c12_mprotect)
{
	check_change(_metadata, self->dev, REPROTECT, false);
}

/* C12: nor is the end of the page before. */
TEST_F(uprobes, c12_neighbour_unmapped)
{
	check_change(_metadata, self->dev, UNMAP_OTHER, false);
}

/*
 * A module that leaves without unregistering: one warning that names it, and
 * its probes are removed.
 */
TEST_F(uprobes, module_unloaded)
{
	pid_t pid = start_prog(add_and_stop);
	int dev2 = upt_open(UPT_MODULE2);
	int mine = probe(self->dev, pid, add);
	struct upt_probe req = {
		.pid = pid,
		.vaddr = (uintptr_t)add,
		.keep = true,
	};
	int log;

	ASSERT_LE(0, dev2);
	ASSERT_LE(0, mine);
	ASSERT_EQ(0, upt_register(dev2, &req));
	req.vaddr = (uintptr_t)nop_fn;
	ASSERT_EQ(0, upt_register(dev2, &req));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(3, list_lines(pid));

	log = log_start();
	close(dev2);
	EXPECT_EQ(0, upt_unload(UPT_MODULE2));
	EXPECT_EQ(1, log_warnings(log, UPT_MODULE2));
	EXPECT_EQ(1, list_lines(pid));
	shm[SHM_RESULT] = 0;
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(2, hits(self->dev, mine));
}

/*
 * Return probes: what can happen to a call that is in progress. A call that
 * will not return is missed; the balance is of all calls that were made.
 */

/* Ends in the innermost of them. */
static long exit_here(void)
{
	exit(7);
}

static void exit_in_call(void)
{
	call_nested(exit_here);
}

static long exit_thread(void)
{
	syscall(SYS_exit, 0);
	return 0;
}

static long pthread_exit_here(void)
{
	pthread_exit(NULL);
}

static long wait_for_ever(void)
{
	__atomic_fetch_add(&shm[SHM_GOOD], 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
	return 0;
}

static long stop_and_return(void)
{
	prog_stop();
	return 0;
}

static long crash_here(void)
{
	*bad_address = 0;
	return 0;
}

static void crash_in_call(void)
{
	call_nested(crash_here);
}

static void *wait_in_call(void *arg)
{
	call_nested(wait_for_ever);
	return NULL;
}

static long exit_group_here(void)
{
	wait_threads(4);
	syscall(SYS_exit_group, 7);
	return 0;
}

static void *exit_group_in_call(void *arg)
{
	call_nested(exit_group_here);
	return NULL;
}

/* Four threads are inside, and so is the fifth, which ends them all. */
static void all_in_calls_exit(void)
{
	start_threads(wait_in_call, 3);
	start_threads(exit_group_in_call, 1);
	wait_in_call(NULL);
}

static void all_in_calls(void)
{
	start_threads(wait_in_call, 3);
	wait_in_call(NULL);
}

static bool is_end(int status, int code, int sig)
{
	return sig ? killed(status, sig) : exited(status, code);
}

/* The process ends inside of so many calls of each nested function. */
static void check_end_in_calls(struct __test_metadata *_metadata, int *dev,
			       void (*body)(void), long calls, int code,
			       int sig)
{
	pid_t pid = start_prog(body);
	struct nested_ids ids;
	int i, status;

	ASSERT_EQ(0, probe_nested(*dev, pid, 0, &ids));
	status = run_prog(pid);
	EXPECT_TRUE(is_end(status, code, sig))
		TH_LOG("status %x", status);
	EXPECT_TRUE(nested_balance(*dev, &ids, calls, 0, calls));
	EXPECT_EQ(0, list_lines(pid));
	for (i = 0; i < NNESTED; i++) {
		unprobe(*dev, ids.id[i]);
		EXPECT_EQ(-ESRCH, upt_op(*dev, UPT_REGISTER_AGAIN, ids.id[i]));
	}
	close_and_unload(_metadata, dev);
}

/* exit() inside of a call. */
TEST_F(uprobes, exit_in_call)
{
	check_end_in_calls(_metadata, &self->dev, exit_in_call, 1, 7, 0);
}

/* exit_group of one thread, while all five are inside. */
TEST_F(uprobes, exit_group_in_calls)
{
	check_end_in_calls(_metadata, &self->dev, all_in_calls_exit, 5, 7, 0);
}

/* A signal of the program's own making. */
TEST_F(uprobes, crash_in_call)
{
	check_end_in_calls(_metadata, &self->dev, crash_in_call, 1, 0,
			   SIGSEGV);
}

/* SIGKILL while four threads sleep inside. */
TEST_F(uprobes, killed_in_calls)
{
	pid_t pid = start_prog(all_in_calls);
	struct nested_ids ids;

	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	cont_prog(pid);
	wait_threads(4);
	EXPECT_TRUE(nested_balance(self->dev, &ids, 4, 0, 0));
	EXPECT_TRUE(killed(end_prog(pid), SIGKILL));
	EXPECT_TRUE(nested_balance(self->dev, &ids, 4, 0, 4));
	close_and_unload(_metadata, &self->dev);
}

/* A5, A6: threads are in entries, returns, and handlers that sleep. */
static void check_end_in_returns(struct __test_metadata *_metadata, int *dev,
				 void (*body)(void), int code, int sig)
{
	pid_t pid = start_prog(body);
	int id = probe_ret_kind(*dev, pid, add, UPT_SLEEP, 2000);
	struct upt_state state;
	int status;

	ASSERT_LE(0, id);
	status = run_prog(pid);
	EXPECT_TRUE(is_end(status, code, sig))
		TH_LOG("status %x", status);
	state = upt_read(*dev, id);
	EXPECT_LE(4, state.hits);
	EXPECT_EQ(state.entries, state.hits + state.nmissed);
	EXPECT_EQ(0, state.errors);
	close_and_unload(_metadata, dev);
}

/* A5: the process dies of SIGSEGV. */
TEST_F(uprobes, a5_crash_in_returns)
{
	check_end_in_returns(_metadata, &self->dev, crash, 0, SIGSEGV);
}

/* A6: a thread that is not the leader execs. */
TEST_F(uprobes, a6_exec_in_returns)
{
	check_end_in_returns(_metadata, &self->dev, exec_in_thread, 7, 0);
}

static long exec_here(void)
{
	execl("/bin/sh", "sh", "-c", "kill -STOP $$; exit 7", NULL);
	return 0;
}

static void exec_in_call(void)
{
	call_nested(exec_here);
}

static long exec_when_all_wait(void)
{
	wait_threads(4);
	return exec_here();
}

static void *exec_thread_in_call(void *arg)
{
	call_nested(exec_when_all_wait);
	return NULL;
}

static void all_in_calls_exec(void)
{
	start_threads(wait_in_call, 3);
	start_threads(exec_thread_in_call, 1);
	wait_in_call(NULL);
}

/* exec inside of calls: they are missed at once, and the process lives on. */
static void check_exec_in_calls(struct __test_metadata *_metadata, int *dev,
				void (*body)(void), long calls)
{
	pid_t pid = start_prog(body);
	struct nested_ids ids;
	int i;

	ASSERT_EQ(0, probe_nested(*dev, pid, 0, &ids));
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_TRUE(nested_balance(*dev, &ids, calls, 0, calls));
	EXPECT_FALSE(has_area(pid));
	EXPECT_EQ(0, list_lines(pid));
	for (i = 0; i < NNESTED; i++)
		unprobe(*dev, ids.id[i]);
	EXPECT_TRUE(exited(run_prog(pid), 7));
	close_and_unload(_metadata, dev);
}

/* exec of the leader. */
TEST_F(uprobes, exec_in_call)
{
	check_exec_in_calls(_metadata, &self->dev, exec_in_call, 1);
}

/* exec of another thread, while all five are inside. */
TEST_F(uprobes, exec_of_thread_in_calls)
{
	check_exec_in_calls(_metadata, &self->dev, all_in_calls_exec, 5);
}

static void *exit_thread_in_call(void *arg)
{
	call_nested(exit_thread);
	return NULL;
}

static void threads_exit_in_calls(void)
{
	run_threads(exit_thread_in_call, 4);
	prog_stop();
	shm[SHM_RESULT] = call_nested(stop_and_return);
}

/* Threads end inside of calls: missed while the process lives on. */
TEST_F(uprobes, threads_exit_in_calls)
{
	pid_t pid = start_prog(threads_exit_in_calls);
	struct nested_ids ids;

	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_TRUE(nested_balance(self->dev, &ids, 4, 0, 4));
	/* Another one is inside */
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_TRUE(nested_balance(self->dev, &ids, 5, 0, 4));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(NNESTED, shm[SHM_RESULT]);
	EXPECT_TRUE(nested_balance(self->dev, &ids, 5, 1, 4));
}

static void count_cleanup(void *arg)
{
	__atomic_fetch_add(&shm[SHM_RESULT], 1, __ATOMIC_SEQ_CST);
}

static void *pthread_exit_in_call(void *arg)
{
	pthread_cleanup_push(count_cleanup, NULL);
	call_nested(pthread_exit_here);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *cancelled_in_call(void *arg)
{
	pthread_cleanup_push(count_cleanup, NULL);
	call_nested(wait_for_ever);
	pthread_cleanup_pop(0);
	return NULL;
}

static void threads_unwind(void)
{
	pthread_t thread;
	void *result;

	run_threads(pthread_exit_in_call, 1);
	pthread_create(&thread, NULL, cancelled_in_call, NULL);
	wait_threads(1);
	pthread_cancel(thread);
	if (pthread_join(thread, &result) || result != PTHREAD_CANCELED)
		abort();
	if (call_nested(stop_and_return) != NNESTED)
		abort();
}

/* The C library unwinds a thread out of its calls, for which it looks at them. */
TEST_F(uprobes, threads_unwind_calls)
{
	pid_t pid = start_prog(threads_unwind);
	struct nested_ids ids;
	int status;

	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	status = run_prog(pid);
	ASSERT_TRUE(WIFSTOPPED(status))
		TH_LOG("status %x", status);
	EXPECT_EQ(2, shm[SHM_RESULT]);
	EXPECT_TRUE(nested_balance(self->dev, &ids, 3, 0, 2));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_TRUE(nested_balance(self->dev, &ids, 3, 1, 2));
}

/*
 * Fatal signals in the middle of a hit
 */

static void fill_once(void)
{
	char buf[64];

	fill(buf);
	shm[SHM_RESULT] = 1;
}

/* Pending when the handler has run: the thread dies before or in the step. */
static void check_killed_at_hit(struct __test_metadata *_metadata, int *dev,
				void (*body)(void), const void *addr)
{
	pid_t pid = start_prog(body);
	int id = probe_kind(*dev, pid, addr, UPT_SIGNAL, SIGKILL);

	ASSERT_LE(0, id);
	EXPECT_TRUE(killed(run_prog(pid), SIGKILL));
	EXPECT_EQ(1, hits(*dev, id));
	EXPECT_EQ(0, missed(*dev, id));
	EXPECT_EQ(0, shm[SHM_RESULT]);
	close_and_unload(_metadata, dev);
}

/* A fatal signal before an instruction that is emulated. */
TEST_F(uprobes, killed_before_emulation)
{
	check_killed_at_hit(_metadata, &self->dev, add_once, add);
}

/* A fatal signal between the trap and the step. */
TEST_F(uprobes, killed_before_step)
{
	check_killed_at_hit(_metadata, &self->dev, fill_once, fill_rep);
}

static void steps_for_ever(void)
{
	char buf[64];

	for (;;) {
		fill(buf);
		__atomic_fetch_add(&shm[SHM_GOOD], 1, __ATOMIC_RELAXED);
	}
}

static void stepping_threads(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 3; i++)
		pthread_create(&thread, NULL, (void *(*)(void *))steps_for_ever,
			       NULL);
	steps_for_ever();
}

/* Killed by somebody else, where it was just then: mostly in steps. */
TEST_F_TIMEOUT(uprobes, killed_in_steps, 60)
{
	pid_t pid;
	int i, id;

	for (i = 0; i < 50; i++) {
		shm[SHM_GOOD] = 0;
		pid = start_prog(stepping_threads);
		id = probe(self->dev, pid, fill_rep);
		ASSERT_LE(0, id);
		cont_prog(pid);
		wait_threads(i % 5);
		EXPECT_TRUE(killed(end_prog(pid), SIGKILL));
		/* Each of the four may have been at its next one */
		EXPECT_LE(shm[SHM_GOOD], hits(self->dev, id));
		EXPECT_GE(shm[SHM_GOOD] + 4, hits(self->dev, id));
	}
	close_and_unload(_metadata, &self->dev);
}

static void nested_once(void)
{
	shm[SHM_RESULT] = call_nested(stop_and_return);
}

/* A fatal signal in an entry_handler: the call is missed. */
TEST_F(uprobes, killed_in_entry_handler)
{
	pid_t pid = start_prog(nested_once);
	struct upt_probe req = {
		.pid = pid,
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)nested[1],
		.entry = true,
		.entry_kind = UPT_SIGNAL,
		.entry_arg = SIGKILL,
	};
	int outer = probe_ret(self->dev, pid, nested[0]);
	int inner = probe_ret(self->dev, pid, nested[2]);

	ASSERT_LE(0, outer);
	ASSERT_LE(0, inner);
	ASSERT_EQ(0, upt_register(self->dev, &req));
	EXPECT_TRUE(killed(run_prog(pid), SIGKILL));
	EXPECT_TRUE(is_balance(self->dev, outer, 1, 0, 1));
	EXPECT_TRUE(is_balance(self->dev, req.id, 1, 0, 1));
	EXPECT_TRUE(is_balance(self->dev, inner, 0, 0, 0));
	close_and_unload(_metadata, &self->dev);
}

/* A fatal signal in a return handler: that one ran, those outside do not. */
TEST_F(uprobes, killed_in_return_handler)
{
	pid_t pid = start_prog(nested_once);
	int outer = probe_ret(self->dev, pid, nested[0]);
	int id = probe_ret_kind(self->dev, pid, nested[1], UPT_SIGNAL,
				SIGKILL);
	int inner = probe_ret(self->dev, pid, nested[2]);

	ASSERT_LE(0, outer);
	ASSERT_LE(0, id);
	ASSERT_LE(0, inner);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_TRUE(killed(run_prog(pid), SIGKILL));
	EXPECT_TRUE(is_balance(self->dev, outer, 1, 0, 1));
	EXPECT_TRUE(is_balance(self->dev, id, 1, 1, 0));
	EXPECT_TRUE(is_balance(self->dev, inner, 1, 1, 0));
	EXPECT_EQ(0, shm[SHM_RESULT]);
	close_and_unload(_metadata, &self->dev);
}

/* Killed by somebody else while its return handler sleeps. */
TEST_F(uprobes, killed_in_sleeping_return_handler)
{
	pid_t pid = start_prog(nested_once);
	int id = probe_ret_kind(self->dev, pid, nested[3], UPT_SLEEP, 300000);
	int outer = probe_ret(self->dev, pid, nested[0]);

	ASSERT_LE(0, id);
	ASSERT_LE(0, outer);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	cont_prog(pid);
	ASSERT_TRUE(wait_hits(self->dev, id));
	EXPECT_TRUE(killed(end_prog(pid), SIGKILL));
	EXPECT_TRUE(is_balance(self->dev, id, 1, 1, 0));
	EXPECT_TRUE(is_balance(self->dev, outer, 1, 0, 1));
	unprobe(self->dev, id);
	close_and_unload(_metadata, &self->dev);
}

/*
 * Operations are queued when the fatal signal comes. They are carried out, or
 * fail since the process is gone: each has its callback, and nothing is left.
 */
static void check_killed_with_queue(struct __test_metadata *_metadata,
				    int *dev, bool ret, enum upt_when when)
{
	pid_t pid = start_prog(nested_once), other = start_prog(add_and_stop);
	int id = ret ? idle_ret(*dev, pid, nested[3]) :
		       idle_probe(*dev, pid, nested[3]);
	int more = idle_probe(*dev, pid, nested[0]);
	int more_ret = idle_ret(*dev, pid, nested[1]);
	int elsewhere = idle_probe(*dev, other, add);
	struct upt_step kill_it = {
		.id = id,
		.when = when,
		.kind = UPT_SIGNAL,
		.arg = SIGKILL,
	};
	struct upt_state state;

	ASSERT_LE(0, id);
	ASSERT_LE(0, more);
	ASSERT_LE(0, more_ret);
	ASSERT_LE(0, elsewhere);
	add_step(*dev, id, when, UPT_DO_REGISTER, more);
	add_step(*dev, id, when, UPT_DO_REGISTER, more_ret);
	add_step(*dev, id, when, UPT_DO_REGISTER, elsewhere);
	upt_step(*dev, &kill_it);
	ASSERT_EQ(0, upt_op(*dev, UPT_REGISTER_AGAIN, id));
	cont_prog(pid);
	if (when == UPT_AT_RETURN) {
		ASSERT_TRUE(WIFSTOPPED(wait_prog(pid)));
		cont_prog(pid);
	}
	EXPECT_TRUE(killed(wait_prog(pid), SIGKILL));
	EXPECT_EQ(1, upt_read(*dev, more).callbacks);
	EXPECT_EQ(1, upt_read(*dev, more_ret).callbacks);
	/* The other process lives; but who is killed may not get at its text */
	state = upt_read(*dev, elsewhere);
	EXPECT_EQ(1, state.callbacks);
	EXPECT_TRUE(!state.last_result || state.last_result == -EIO);
	EXPECT_TRUE(WIFSTOPPED(run_prog(other)));
	EXPECT_EQ(!state.last_result, hits(*dev, elsewhere));
	EXPECT_EQ(!state.last_result, list_lines(other));
	EXPECT_EQ(0, list_lines(pid));
	unprobe(*dev, more);
	unprobe(*dev, more_ret);
	EXPECT_EQ(-ESRCH, upt_op(*dev, UPT_REGISTER_AGAIN, more));
	EXPECT_EQ(-ESRCH, upt_op(*dev, UPT_REGISTER_AGAIN, more_ret));
	end_prog(other);
	close_and_unload(_metadata, dev);
}

/* In the handler of an entry probe. */
TEST_F(uprobes, killed_with_queue)
{
	check_killed_with_queue(_metadata, &self->dev, false, UPT_AT_ENTRY);
}

/* In the entry_handler of a return probe. */
TEST_F(uprobes, killed_with_queue_at_entry)
{
	check_killed_with_queue(_metadata, &self->dev, true, UPT_AT_ENTRY);
}

/* In the handler of a return probe. */
TEST_F(uprobes, killed_with_queue_at_return)
{
	check_killed_with_queue(_metadata, &self->dev, true, UPT_AT_RETURN);
}

/*
 * The function changes while a call of it is in progress
 */

static char *tail_page;

static long change_here(void)
{
	char *now = change_map(tail_page);

	/* What is there now is called, inside of the call of what was */
	if (now && change != DISCARD && ((add_fn)fn_at(now))(1, 2) != 3)
		abort();
	return 42;
}

static void change_in_call(void)
{
	char *two = mmap(NULL, 2 * PAGE_SZ, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *code;

	/* Behind add(), where that is called later */
	tail_page = map_add(two + PAGE_SZ, RWX, MAP_PRIVATE | MAP_FIXED);
	code = tail_page + (change == MOVE || change == REPROTECT ? 64 : 0);
	put_code(code, tail_call, TAIL_CALL_SIZE);
	shm[CODE] = (long)code;
	prog_stop();
	shm[SHM_RESULT] = ((tail_fn)fn_at(code))(change_here);
	prog_stop();
	shm[SHM_GOOD] = call_nested(stop_and_return);
}

/* The call returns where it has to, and is reported or missed. */
static void check_change_in_call(struct __test_metadata *_metadata, int dev,
				 enum change what)
{
	struct upt_state state;
	pid_t pid;
	int id, outside;

	change = what;
	pid = start_prog(change_in_call);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	id = probe_ret(dev, pid, (void *)shm[CODE]);
	outside = probe_ret(dev, pid, nested[0]);
	ASSERT_LE(0, id);
	ASSERT_LE(0, outside);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(42, shm[SHM_RESULT]);
	state = upt_read(dev, id);
	EXPECT_EQ(1, state.entries);
	EXPECT_EQ(1, state.hits + state.nmissed);
	EXPECT_EQ(0, state.errors);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	unprobe(dev, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(NNESTED, shm[SHM_GOOD]);
	EXPECT_TRUE(is_balance(dev, outside, 1, 1, 0));
}

/* munmap of the function inside of its call. */
TEST_F(uprobes, munmap_in_call)
{
	check_change_in_call(_metadata, self->dev, UNMAP);
}

/* munmap, and another function where it was. */
TEST_F(uprobes, replaced_in_call)
{
	check_change_in_call(_metadata, self->dev, REPLACE);
}

/* MAP_FIXED over it. */
TEST_F(uprobes, map_fixed_in_call)
{
	check_change_in_call(_metadata, self->dev, MAP_OVER);
}

/* mremap of it. */
TEST_F(uprobes, mremap_in_call)
{
	check_change_in_call(_metadata, self->dev, MOVE);
}

/* MADV_DONTNEED of it: zeroes, as there is no file. */
TEST_F(uprobes, dontneed_in_call)
{
	check_change_in_call(_metadata, self->dev, DISCARD);
}

/* mprotect and back. */
TEST_F(uprobes, mprotect_in_call)
{
	check_change_in_call(_metadata, self->dev, REPROTECT);
}

static long unmap_area_here(void)
{
	unsigned long start, end;

	prog_stop();
	if (!find_map(getpid(), "[uprobes]", &start, &end))
		abort();
	shm[CODE] = munmap((void *)start, end - start);
	prog_stop();
	return 0;
}

static void unmap_area_in_call(void)
{
	shm[SHM_RESULT] = call_nested(unmap_area_here);
}

/*
 * A program that unmaps the area inside of a call. Without us there would be
 * nothing to unmap: it goes on, with returns that may be missed.
 */
TEST_F(uprobes, area_unmapped_in_call)
{
	pid_t pid = start_prog(unmap_area_in_call);
	struct nested_ids ids;
	struct upt_state state;
	int i, status;

	if (!SLOTS_KNOWN)
		SKIP(return, "no word is known to hold the trampoline");
	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	status = run_prog(pid);
	EXPECT_TRUE(exited(status, 0))
		TH_LOG("munmap returned %ld, status %x", shm[CODE], status);
	EXPECT_EQ(NNESTED, shm[SHM_RESULT]);
	for (i = 0; i < NNESTED; i++) {
		state = upt_read(self->dev, ids.id[i]);
		EXPECT_EQ(1, state.entries);
		EXPECT_EQ(1, state.hits + state.nmissed);
	}
}

static void nested_and_stop(void)
{
	shm[SHM_RESULT] = call_nested(stop_and_return);
	prog_stop();
	shm[SHM_RESULT] += call_nested(stop_and_return);
}

/* The module leaves, one warning, while a call of its probe is in progress. */
TEST_F(uprobes, module_unloaded_in_call)
{
	pid_t pid = start_prog(nested_and_stop);
	int dev2 = upt_open(UPT_MODULE2);
	int mine = probe_ret(self->dev, pid, nested[0]);
	struct upt_probe req = {
		.pid = pid,
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)nested[1],
		.entry = true,
		.data_size = 16,
		.keep = true,
	};
	int log;

	ASSERT_LE(0, dev2);
	ASSERT_LE(0, mine);
	ASSERT_EQ(0, upt_register(dev2, &req));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_TRUE(is_balance(dev2, req.id, 1, 0, 0));
	log = log_start();
	close(dev2);
	EXPECT_EQ(0, upt_unload(UPT_MODULE2));
	EXPECT_EQ(1, log_warnings(log, UPT_MODULE2));
	EXPECT_EQ(1, list_lines(pid));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(NNESTED, shm[SHM_RESULT]);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(2 * NNESTED, shm[SHM_RESULT]);
	EXPECT_TRUE(is_balance(self->dev, mine, 2, 2, 0));
}

static long nothing(void)
{
	return 0;
}

static void nested_without_sigtrap(void)
{
	sigset_t trap;
	int i;

	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	sigprocmask(SIG_BLOCK, &trap, NULL);
	for (i = 0; i < 50; i++)
		shm[SHM_RESULT] += call_nested(nothing);
	sigpending(&trap);
	shm[SHM_BAD] = sigismember(&trap, SIGTRAP);
	signal(SIGTRAP, SIG_IGN);
	sigprocmask(SIG_SETMASK, &(sigset_t){ 0 }, NULL);
	for (i = 0; i < 50; i++)
		shm[SHM_RESULT] += call_nested(nothing);
}

/* Returns take no SIGTRAP: blocked, and then ignored, it is of no importance. */
TEST_F(uprobes, returns_without_sigtrap)
{
	pid_t pid = start_prog(nested_without_sigtrap);
	struct nested_ids ids;

	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(100 * NNESTED, shm[SHM_RESULT]);
	EXPECT_TRUE(nested_balance(self->dev, &ids, 100, 100, 0));
}
