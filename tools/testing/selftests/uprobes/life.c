// SPDX-License-Identifier: GPL-2.0-only
/* Life of a probe: threads, fork, exec, exit, changes of the memory map. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "fixture.h"
#include "probed.h"

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
TEST_F(uprobes, a4_thread_ends_in_probe)
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
TEST_F(uprobes, a5_crash)
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
TEST_F(uprobes, a6_exec)
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

/* B7: 10000 times armed and disarmed under four threads: all hits exact. */
TEST_F_TIMEOUT(uprobes, b7_arm_disarm, 200)
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
		vaddrs[i] = (uintptr_t)counting[i];
		ASSERT_EQ(0, read_mem(batch.pid, counting[i], before[i], 32));
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
		ASSERT_EQ(0, read_mem(batch.pid, counting[i], after[i], 32));
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
		code = (char *)add;
	else
		code = map_add(two + PAGE_SZ, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE | MAP_FIXED);
	shm[CODE] = (long)code;
	prog_stop();

	shm[SHM_RESULT] = ((add_fn)code)(1, 2);
	code = change_map((char *)((uintptr_t)code & -PAGE_SZ)) ?
	       change == MOVE ? code - PAGE_SZ : code : NULL;
	shm[CODE] = (long)code;
	prog_stop();

	if (code)
		shm[SHM_RESULT] += ((add_fn)code)(3, 4);
	prog_stop();
	if (code)
		shm[SHM_RESULT] += ((add_fn)code)(5, 6);
}

static void *code_now(void)
{
	return (void *)shm[CODE];
}

/* After the change: is the probe gone, and is what is there now untouched? */
static void check_change(struct __test_metadata *_metadata, int dev,
			 enum change what, bool gone)
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
