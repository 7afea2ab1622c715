// SPDX-License-Identifier: GPL-2.0-only
/*
 * System calls whose very instruction is probed. They do what they do, and
 * everybody who looks sees what there is to see, as without a probe.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/time_types.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "fixture.h"
#include "scene.h"

/* The two ways to make a system call, with the numbers that they have. */
struct way {
	long (*call)(long nr, long a, long b, long c, long d, long e);
	const void *insn;
	const void *after;
	/* Another place that does the same. */
	long (*too)(long nr, long a, long b, long c, long d, long e);
	const void *too_after;
	long (*traced)(long nr);
	const void *traced_insn;
	/* System calls */
	int read;
	int exit;
	int fork;
	int getpid;
	int getpgrp;	/* the same in all runs of a program */
	int getppid;
	int clock_nanosleep;
	int exit_group;
};

static const struct way ways[] = {
#ifdef __x86_64__
	{
		syscall_64, syscall_64_insn, syscall_64_after,
		syscall_64_too, syscall_64_too_after,
		syscall_64_traced, syscall_64_traced_insn,
		SYS_read, SYS_exit, SYS_fork, SYS_getpid, SYS_getpgrp,
		SYS_getppid, SYS_clock_nanosleep, SYS_exit_group,
	},
#endif
	{
		int80, int80_insn, int80_after,
		int80_too, int80_too_after,
		int80_traced, int80_traced_insn,
		3, 1, 2, 20, 65, 64, 407, 252,
	},
};

/* The one with the numbers that a C library of this mode has. */
#define own_way		(&ways[0])

static const struct way *way;

static long call(long nr, long a, long b, long c)
{
	return way->call(nr, a, b, c, 0, 0);
}

FIXTURE(way) {
	int dev;
};

FIXTURE_VARIANT(way) {
	const struct way *way;
};

#ifdef __x86_64__
FIXTURE_VARIANT_ADD(way, syscall) { &ways[0] };
FIXTURE_VARIANT_ADD(way, int80) { &ways[1] };
#else
FIXTURE_VARIANT_ADD(way, int80) { &ways[0] };
#endif

FIXTURE_SETUP(way)
{
	way = variant->way;
	self->dev = open_device(_metadata);
}

FIXTURE_TEARDOWN(way)
{
	close_device(_metadata, self->dev);
}

#define NCALLS_EACH	1000

static void *get_pids(void *arg)
{
	pid_t pid = getpid();
	int i;

	for (i = 0; i < NCALLS_EACH; i++)
		claim(call(way->getpid, 0, 0, 0) == pid);
	return NULL;
}

static void get_pids_1(void)
{
	get_pids(NULL);
}

static void get_pids_8(void)
{
	run_threads(get_pids, 8);
}

TEST_F(way, one_thread)
{
	const struct scene s = { .body = get_pids_1, .probe = way->insn,
		.hits = NCALLS_EACH };

	play_once(_metadata, self->dev, &s);
}

TEST_F(way, eight_threads)
{
	const struct scene s = { .body = get_pids_8, .probe = way->insn,
		.hits = 8 * NCALLS_EACH };

	play_once(_metadata, self->dev, &s);
}

static void fork_and_wait(void)
{
	pid_t pid = call(way->fork, 0, 0, 0);
	int status;

	if (!pid) {
		claim(*(const unsigned char *)way->insn != 0xcc);
		claim(call(way->getpid, 0, 0, 0) == getpid());
		call(way->exit_group, 3, 0, 0);
	}
	claim(pid > 0);
	claim(call(way->getpid, 0, 0, 0) == getpid());
	claim(waitpid(pid, &status, 0) == pid);
	note("child", status);
}

/* A child that is made by a probed instruction goes on behind it, unprobed. */
TEST_F(way, fork)
{
	const struct scene s = { .body = fork_and_wait, .probe = way->insn,
		.hits = 2 };

	play(_metadata, self->dev, &s);
}

static void exit_by_call(void)
{
	note("exit", 9);
	call(way->exit_group, 9, 0, 0);
}

TEST_F(way, exit_group)
{
	const struct scene s = { .body = exit_by_call, .probe = way->insn,
		.hits = 1, .end = 9 << 8 };

	play(_metadata, self->dev, &s);
}

/* A system call that waits: to read what the test writes. */
static int pipe_fds[2];
static int action_flags;
static char byte;

static void read_pipe(void)
{
	handle(SIGUSR1, on_signal, action_flags);
	shm[NOW]++;
	note("read", call(way->read, pipe_fds[0], (uintptr_t)&byte, 1));
	note("byte", byte);
}

static void note_proc(pid_t pid)
{
	long nr = 0;

	claim(wait_blocked(pid, 'S'));
	note("/proc ip", proc_ip(pid, &nr));
	note("/proc nr", nr);
}

static int interrupt_read(pid_t pid)
{
	cont_prog(pid);
	note_proc(pid);
	kill(pid, SIGUSR1);
	claim(wait_for(SIGNALS, 1));
	if (action_flags & SA_RESTART) {
		note_proc(pid);
		claim(write(pipe_fds[1], "x", 1) == 1);
	}
	return wait_prog(pid);
}

TEST_F(way, interrupted)
{
	const struct scene s = { .body = read_pipe, .drive = interrupt_read,
		.probe = way->insn, .hits = 1 };

	ASSERT_EQ(0, pipe(pipe_fds));
	play(_metadata, self->dev, &s);
}

/* The CPU executes the instruction once more. */
TEST_F(way, restarted)
{
	const struct scene s = { .body = read_pipe, .drive = interrupt_read,
		.probe = way->insn, .hits = 2 };

	action_flags = SA_RESTART;
	ASSERT_EQ(0, pipe(pipe_fds));
	play(_metadata, self->dev, &s);
}

static void sleep_half(void)
{
	static struct __kernel_timespec ts = { .tv_nsec = 500000000 }, left;
	__u64 start = now_ns(), took;

	note("sleep", way->call(way->clock_nanosleep, CLOCK_MONOTONIC, 0,
				(uintptr_t)&ts, (uintptr_t)&left, 0));
	took = now_ns() - start;
	claim(took >= NSEC_PER_SEC / 2);
	claim(took < 5 * NSEC_PER_SEC);
}

static int stop_and_continue(pid_t pid)
{
	cont_prog(pid);
	note_proc(pid);
	kill(pid, SIGSTOP);
	note("stop", wait_prog(pid));
	return run_prog(pid);
}

static int interrupt_by_debugger(pid_t pid)
{
	cont_prog(pid);
	note_proc(pid);
	claim(!ptrace(PTRACE_SEIZE, pid, 0, 0));
	claim(!ptrace(PTRACE_INTERRUPT, pid, 0, 0));
	claim(WIFSTOPPED(wait_prog(pid)));
	note_traced(pid);
	claim(!ptrace(PTRACE_CONT, pid, 0, 0));
	note_proc(pid);
	claim(write(pipe_fds[1], "x", 1) == 1);
	return wait_prog(pid);
}

TEST_F(way, interrupted_by_debugger)
{
	const struct scene s = { .body = read_pipe, .hits = 2,
		.drive = interrupt_by_debugger, .probe = way->insn };

	ASSERT_EQ(0, pipe(pipe_fds));
	play(_metadata, self->dev, &s);
}

/* restart_syscall() */
TEST_F(way, stopped)
{
	const struct scene s = { .body = sleep_half, .drive = stop_and_continue,
		.probe = way->insn, .hits = 2 };

	play(_metadata, self->dev, &s);
}

/* A thread in a system call does not notice that the probe is removed. */
TEST_F(way, unregistered_in_call)
{
	unsigned char insn;
	long before;
	__u64 start;
	pid_t pid;
	int id;

	ASSERT_EQ(0, pipe(pipe_fds));
	pid = start_prog(read_pipe);
	id = probe(self->dev, pid, way->insn);
	ASSERT_LE(0, id);
	cont_prog(pid);
	ASSERT_TRUE(wait_blocked(pid, 'S'));
	before = switches(pid);
	start = now_ns();
	unprobe(self->dev, id);
	EXPECT_GT(NSEC_PER_SEC, now_ns() - start);
	EXPECT_EQ('S', thread_state(pid));
	EXPECT_EQ(before, switches(pid));
	ASSERT_EQ(0, read_mem(pid, way->insn, &insn, 1));
	EXPECT_EQ(*(const unsigned char *)way->insn, insn);
	ASSERT_EQ(1, write(pipe_fds[1], "x", 1));
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(1, notes()[0].value);
	EXPECT_EQ('x', notes()[1].value);
	EXPECT_EQ(1, hits(self->dev, id));
}

TEST_F(way, killed_in_call)
{
	pid_t pid;
	int id;

	ASSERT_EQ(0, pipe(pipe_fds));
	pid = start_prog(read_pipe);
	id = probe(self->dev, pid, way->insn);
	ASSERT_LE(0, id);
	cont_prog(pid);
	ASSERT_TRUE(wait_blocked(pid, 'S'));
	EXPECT_TRUE(killed(end_prog(pid), SIGKILL));
	EXPECT_EQ(1, hits(self->dev, id));
	unprobe(self->dev, id);
	EXPECT_EQ(0, list_lines(pid));
}

static void install(struct sock_filter *filter, int n)
{
	struct sock_fprog prog = { n, filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		abort();
}

#define LOAD(member)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS,		\
				 offsetof(struct seccomp_data, member))
#define RET(action)	BPF_STMT(BPF_RET | BPF_K, action)
#define SKIP_IF(value)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0)

static void forbid_getppid(unsigned int action)
{
	struct sock_filter filter[] = {
		LOAD(nr),
		SKIP_IF(way->getppid),
		RET(SECCOMP_RET_ALLOW),
		RET(action),
	};

	install(filter, ARRAY_SIZE(filter));
}

static void on_sigsys(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	on_signal(sig, info, context);
	note("call address", (uintptr_t)info->si_call_addr);
	note("call", info->si_syscall);
	note("arch", info->si_arch);
	note("errno", info->si_errno);
	uc->uc_mcontext.gregs[GREG(AX)] = 77;
}

static void trapped_calls(void)
{
	handle(SIGSYS, on_sigsys, 0);
	forbid_getppid(SECCOMP_RET_TRAP | 5);
	claim(call(way->getpgrp, 0, 0, 0) == getpgrp());
	claim(call(way->getppid, 0, 0, 0) == 77);
	claim(call(way->getpgrp, 0, 0, 0) == getpgrp());
	claim(call(way->getppid, 0, 0, 0) == 77);
}

TEST_F(way, seccomp_trap)
{
	const struct scene s = { .body = trapped_calls, .probe = way->insn,
		.hits = 4 };

	play(_metadata, self->dev, &s);
}

/* Only one place may make that call. */
static void call_from_allowed_place(void)
{
	struct sock_filter filter[] = {
		LOAD(nr),
		SKIP_IF(way->getppid),
		RET(SECCOMP_RET_ALLOW),
		LOAD(instruction_pointer),
		SKIP_IF((uintptr_t)way->after),
		RET(SECCOMP_RET_ERRNO | 7),
		RET(SECCOMP_RET_ALLOW),
	};
	pid_t parent = getppid();

	install(filter, ARRAY_SIZE(filter));
	claim(call(way->getppid, 0, 0, 0) == parent);
	note("other place", way->too(way->getppid, 0, 0, 0, 0, 0));
	claim(call(way->getppid, 0, 0, 0) == parent);
}

TEST_F(way, seccomp_place)
{
	const struct scene s = { .body = call_from_allowed_place,
		.probe = way->insn, .hits = 2 };

	play(_metadata, self->dev, &s);
}

static void forbidden_call(void)
{
	forbid_getppid(SECCOMP_RET_KILL_PROCESS);
	note("getpgrp", call(way->getpgrp, 0, 0, 0) == getpgrp());
	call(way->getppid, 0, 0, 0);
}

TEST_F(way, seccomp_kill)
{
	const struct scene s = { .body = forbidden_call, .probe = way->insn,
		.hits = 2, .end = SIGSYS };

	play(_metadata, self->dev, &s);
}

static void strict_calls(void)
{
	note("pipe", pipe(pipe_fds));
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		abort();
	note("read", call(way->read, -1, 0, 0));
	call(way->exit, 7, 0, 0);
}

TEST_F(way, seccomp_strict)
{
	/* The kernel allows x32 programs the numbers that i386 has */
	bool allowed = !(way->read & __X32_SYSCALL_BIT);
	const struct scene s = { .body = strict_calls, .probe = way->insn,
		.hits = allowed ? 2 : 1, .end = allowed ? 7 << 8 : SIGKILL };

	play(_metadata, self->dev, &s);
}

/* What a debugger sees and does. */
static void be_traced(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	prog_stop();
	note("result", call(way->getpgrp, 0, 0, 0) == getpgrp());
	note("result", call(way->getppid, 0, 0, 0) == getppid());
	prog_stop();
}

/* Up to the next signal; notes what is seen at each stop before, in calls. */
static int note_stops(pid_t pid, enum __ptrace_request request,
		      void (*at_stop)(pid_t pid, int nth))
{
	int status, nth;

	for (nth = 0; nth < 100; nth++) {
		claim(!ptrace(request, pid, 0, 0));
		status = wait_prog(pid);
		if (!stopped_by(status, SIGTRAP | 0x80))
			return status;
		if (ip_of_traced(pid) != (uintptr_t)way->after)
			continue;
		note_traced(pid);
		at_stop(pid, nth);
	}
	return -1;
}

static void note_call_info(pid_t pid, int nth)
{
	struct __ptrace_syscall_info info = {};

	claim(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0);
	note("op", info.op);
	note("instruction pointer", info.instruction_pointer);
	note("stack pointer", info.stack_pointer);
}

/* Runs it to the place where it is going to make its calls. */
static void run_to_calls(pid_t pid)
{
	claim(stopped_by(run_prog(pid), SIGSTOP));
	claim(!ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD));
}

static int follow_calls(pid_t pid)
{
	run_to_calls(pid);
	claim(stopped_by(note_stops(pid, PTRACE_SYSCALL, note_call_info),
			 SIGSTOP));
	return cont_traced(pid);
}

TEST_F(way, traced_calls)
{
	const struct scene s = { .body = be_traced, .drive = follow_calls,
		.probe = way->insn, .hits = 2 };

	play(_metadata, self->dev, &s);
}

static void be_emulated(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	prog_stop();
	note("result", call(way->getpgrp, 0, 0, 0));
	note("result", call(way->getppid, 0, 0, 0));
	int3();
}

static void set_result(pid_t pid, int nth)
{
	struct user_regs_struct regs;

	claim(!ptrace(PTRACE_GETREGS, pid, 0, &regs));
	regs.UREG(ax) = 1000 + nth;
	claim(!ptrace(PTRACE_SETREGS, pid, 0, &regs));
}

/* The debugger makes the calls, the kernel does not. */
static int emulate_calls(pid_t pid)
{
	run_to_calls(pid);
	claim(stopped_by(note_stops(pid, PTRACE_SYSEMU, set_result), SIGTRAP));
	return cont_traced(pid);
}

TEST_F(way, emulated_calls)
{
	const struct scene s = { .body = be_emulated, .drive = emulate_calls,
		.probe = way->insn, .hits = 2 };

	play(_metadata, self->dev, &s);
}

static void forbid_call(pid_t pid, int nth)
{
	struct __ptrace_syscall_info info = {};
	struct user_regs_struct regs;

	claim(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0);
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	claim(!ptrace(PTRACE_GETREGS, pid, 0, &regs));
	regs.REGS_CALL = -1;
	regs.UREG(ax) = 2000;
	claim(!ptrace(PTRACE_SETREGS, pid, 0, &regs));
}

static int forbid_calls(pid_t pid)
{
	run_to_calls(pid);
	claim(stopped_by(note_stops(pid, PTRACE_SYSCALL, forbid_call),
			 SIGTRAP));
	return cont_traced(pid);
}

/* The debugger forbids calls. */
TEST_F(way, forbidden_calls)
{
	const struct scene s = { .body = be_emulated, .drive = forbid_calls,
		.probe = way->insn, .hits = 2 };

	play(_metadata, self->dev, &s);
}

static int step_over_calls(pid_t pid)
{
	run_to_calls(pid);
	step_to(pid, way->insn);
	note_steps(pid, 5);
	step_to(pid, way->insn);
	note_steps(pid, 5);
	claim(stopped_by(cont_traced(pid), SIGSTOP));
	return cont_traced(pid);
}

TEST_F(way, stepped_over)
{
	const struct scene s = { .body = be_traced, .drive = step_over_calls,
		.probe = way->insn, .hits = 2 };

	play(_metadata, self->dev, &s);
}

/* Calls that step: first with stops at them, then emulated as well. */
static int step_with_stops(pid_t pid)
{
	run_to_calls(pid);
	step_to(pid, way->insn);
	claim(!ptrace(PTRACE_SYSCALL, pid, 0, 0));
	note("status", wait_prog(pid));
	note_traced(pid);
	note_steps(pid, 3);
	step_to(pid, way->insn);
	claim(!ptrace(PTRACE_SYSEMU_SINGLESTEP, pid, 0, 0));
	note("status", wait_prog(pid));
	note_traced(pid);
	note_steps(pid, 3);
	claim(stopped_by(cont_traced(pid), SIGTRAP));
	return cont_traced(pid);
}

TEST_F(way, stepped_with_stops)
{
	const struct scene s = { .body = be_emulated, .drive = step_with_stops,
		.probe = way->insn, .hits = 2 };

	play(_metadata, self->dev, &s);
}

/* System calls that the program dispatches, but for those of one place. */
static char selector;

static void on_dispatch(int sig, siginfo_t *info, void *context)
{
	selector = SYSCALL_DISPATCH_FILTER_ALLOW;
	on_sigsys(sig, info, context);
}

static void dispatch_outside_of(const void *place, long length)
{
	handle(SIGSYS, on_dispatch, 0);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, place,
		  length, &selector))
		abort();
}

static long call_dispatched(long (*fn)(long nr, long a, long b, long c, long d,
				       long e))
{
	long ret;

	selector = SYSCALL_DISPATCH_FILTER_BLOCK;
	ret = fn(way->getpgrp, 0, 0, 0, 0, 0);
	selector = SYSCALL_DISPATCH_FILTER_ALLOW;
	return ret;
}

/* An address behind the instruction is what the kernel looks at. */
static void dispatch_others(void)
{
	pid_t group = getpgrp();

	dispatch_outside_of(way->after, 1);
	claim(call_dispatched(way->call) == group);
	note("other place", call_dispatched(way->too));
	claim(call_dispatched(way->call) == group);
	claim(shm[SIGNALS] == 1);
}

TEST_F(way, dispatch_others)
{
	const struct scene s = { .body = dispatch_others, .probe = way->insn,
		.hits = 2 };

	play(_metadata, self->dev, &s);
}

static void dispatch_it(void)
{
	pid_t group = getpgrp();

	dispatch_outside_of(way->too_after, 1);
	note("dispatched", call_dispatched(way->call));
	claim(call_dispatched(way->too) == group);
	note("dispatched", call_dispatched(way->call));
	claim(shm[SIGNALS] == 2);
}

TEST_F(way, dispatch_it)
{
	const struct scene s = { .body = dispatch_it, .probe = way->insn,
		.hits = 2 };

	play(_metadata, self->dev, &s);
}

static void trace_call(void)
{
	handle(SIGTRAP, on_signal, 0);
	claim(way->traced(way->getpgrp) == getpgrp());
	claim(shm[SIGNALS] > 3);
}

/* The program's own trap flag. */
TEST_F(way, trap_flag)
{
	const struct scene s = { .body = trace_call, .probe = way->traced_insn,
		.hits = 1 };

	play(_metadata, self->dev, &s);
}

static void on_tick(int sig, siginfo_t *info, void *context)
{
	claim_outside(ip_of(context));
	claim(call(way->getpid, 0, 0, 0) == getpid());
	shm[EXECUTIONS]++;
	shm[SIGNALS]++;
}

static void call_with_ticks(void)
{
	pid_t pid = getpid();
	int i;

	set_handler(SIGALRM, on_tick);
	for (i = 0; i < 20000 || shm[SIGNALS] < NTICKS; i++) {
		next_tick(shm[SIGNALS]);
		claim(call(way->getpid, 0, 0, 0) == pid);
	}
	stop_ticks();
	shm[EXECUTIONS] += i;
}

TEST_F_TIMEOUT(way, timer, 60)
{
	const struct scene s = { .body = call_with_ticks, .probe = way->insn };

	play_once(_metadata, self->dev, &s);
}

static void get_pid_once(void)
{
	set_handler(SIGUSR1, on_signal);
	note("result", call(way->getpid, 0, 0, 0));
	note("parent", getppid());
}

/* A handler makes it another call. */
TEST_F(way, handler_sets_number)
{
	pid_t pid = start_prog(get_pid_once);
	int id = probe_kind(self->dev, pid, way->insn, UPT_SET_RET,
			    way->getppid);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(2, shm[NOTES]);
	EXPECT_EQ(notes()[1].value, notes()[0].value);
	EXPECT_EQ(1, hits(self->dev, id));
}

/* A handler goes on elsewhere: the call is not made. */
TEST_F(way, handler_sets_ip)
{
	pid_t pid = start_prog(get_pid_once);
	int id = probe_kind(self->dev, pid, way->insn, UPT_SET_IP,
			    (uintptr_t)way->after);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(2, shm[NOTES]);
	EXPECT_EQ(way->getpid, notes()[0].value);
	EXPECT_EQ(1, hits(self->dev, id));
}

/* A signal is there before the call: both happen, each once. */
TEST_F(way, handler_sends_signal)
{
	pid_t pid = start_prog(get_pid_once);
	int id = probe_kind(self->dev, pid, way->insn, UPT_SIGNAL, SIGUSR1);
	long ip = 0, result = 0;
	int i;

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(1, shm[SIGNALS]);
	for (i = 0; i < shm[NOTES]; i++) {
		if (!strcmp(notes()[i].what, "ip"))
			ip = notes()[i].value;
		if (!strcmp(notes()[i].what, "result"))
			result = notes()[i].value;
	}
	EXPECT_TRUE(ip == (long)way->insn || ip == (long)way->after)
		TH_LOG("ip is %lx", ip);
	EXPECT_EQ(pid, result);
	EXPECT_EQ(1, hits(self->dev, id));
}

/* The function is return-probed as well, and the child returns from it too. */
TEST_F(way, return_probe)
{
	pid_t pid = start_prog(fork_and_wait);
	int id = probe(self->dev, pid, way->insn);
	int ret = probe_ret(self->dev, pid, way->call);

	ASSERT_LE(0, id);
	ASSERT_LE(0, ret);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[LINE]);
	EXPECT_EQ(1, shm[NOTES]);
	EXPECT_EQ(3 << 8, notes()[0].value);
	EXPECT_EQ(2, hits(self->dev, id));
	EXPECT_EQ(2, hits(self->dev, ret));
	EXPECT_TRUE(balanced(self->dev, ret));
}

static void *get_pids_until_end(void *arg)
{
	pid_t pid = getpid();

	while (!__atomic_load_n(&shm[NOW], __ATOMIC_RELAXED)) {
		claim(call(way->getpid, 0, 0, 0) == pid);
		__atomic_fetch_add(&shm[EXECUTIONS], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void get_pids_4(void)
{
	run_threads(get_pids_until_end, 4);
}

TEST_F_TIMEOUT(way, arm_and_disarm, 60)
{
	arm_and_disarm(_metadata, self->dev, get_pids_4, way->insn);
}

/* The kernel's own choice of registers and flags, at calls that are none. */
static void strange_calls(void)
{
	note("no call", call(-1, 0, 0, 0));
	note("no call", call(100000, 0, 0, 0));
	note("no memory", call(way->read, 0, 8, 8));
	note("no file", call(way->read, -1, 0, 0));
}

TEST_F(way, errors)
{
	const struct scene s = { .body = strange_calls, .probe = way->insn,
		.hits = 4 };

	play(_metadata, self->dev, &s);
}

/* What only the one of the C library is used for. */
static void vfork_twice(void)
{
	int i, status;
	pid_t pid;

	for (i = 4; i < 6; i++) {
		pid = vfork_exit(i);
		claim(pid > 0);
		claim(waitpid(pid, &status, 0) == pid);
		note("child", status);
	}
}

/* The child is not of the probed process, and runs into its breakpoints. */
TEST_F(uprobes, vfork)
{
	const struct scene s = { .body = vfork_twice, .hits = 2,
		.probe = vfork_exit_insn };

	play(_metadata, self->dev, &s);
}

#define THREAD_FLAGS	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | \
			 CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID)

static pid_t tid;

static void be_thread(void)
{
	claim(own_way->too(SYS_gettid, 0, 0, 0, 0, 0) != getpid());
	shm[NOW]++;
}

static void make_threads(void)
{
	static register_t stack[1024];
	struct clone_args args = {
		.flags = THREAD_FLAGS,
		.child_tid = (uintptr_t)&tid,
		.stack = (uintptr_t)stack,
		.stack_size = sizeof(stack) - sizeof(*stack),
	};
	int i;

	for (i = 0; i < 20; i++) {
		stack[1023] = (uintptr_t)be_thread;
		tid = 1;
		if (i % 2)
			/* In 32 bits, the child's tid comes last */
			claim(new_thread(SYS_clone, THREAD_FLAGS,
					 (uintptr_t)&stack[1023], 0,
					 (uintptr_t)&tid, (uintptr_t)&tid) > 0);
		else
			claim(new_thread(SYS_clone3, (uintptr_t)&args,
					 sizeof(args), 0, 0, 0) > 0);
		/* When it has left that stack, the kernel writes 0 */
		while (__atomic_load_n(&tid, __ATOMIC_RELAXED))
			sched_yield();
	}
	note("threads", shm[NOW]);
}

/* Threads that begin and end at a probed instruction. */
TEST_F(uprobes, threads)
{
	const struct scene s = { .body = make_threads, .hits = 40,
		.probe = new_thread_insn };

	play(_metadata, self->dev, &s);
}

static void share_memory(void)
{
	shm[NOW] += own_way->too(SYS_getppid, 0, 0, 0, 0, 0);
}

static void make_process(void)
{
	static register_t stack[1024];
	int status;
	pid_t pid;

	stack[1023] = (uintptr_t)share_memory;
	pid = new_thread(SYS_clone, CLONE_VM | SIGCHLD,
			 (uintptr_t)&stack[1023], 0, 0, 0);
	claim(waitpid(pid, &status, 0) == pid);
	note("child", status);
	claim(shm[NOW] == getpid());
}

/* A child with the same memory steps over the breakpoint, and is not seen. */
TEST_F(uprobes, clone_vm)
{
	const struct scene s = { .body = make_process, .hits = 1,
		.probe = new_thread_insn };

	play(_metadata, self->dev, &s);
}

static void exec_shell(void)
{
	static char * const argv[] = { "sh", "-c", "exit 6", NULL };
	static char * const none[] = { NULL };

	note("exec", own_way->call(SYS_execve, (uintptr_t)"/none",
				   (uintptr_t)argv, (uintptr_t)none, 0, 0));
	own_way->call(SYS_execve, (uintptr_t)"/bin/sh", (uintptr_t)argv,
		      (uintptr_t)none, 0, 0);
}

TEST_F(uprobes, execve)
{
	const struct scene s = { .body = exec_shell, .hits = 2,
		.probe = own_way->insn, .end = 6 << 8 };

	play(_metadata, self->dev, &s);
}

/* As the kernel has it. */
struct kernel_action {
	void (*handler)(int sig, siginfo_t *info, void *context);
	unsigned long flags;
	void (*restorer)(void);
	__u64 mask;
};

#define SA_RESTORER_FLAG	0x04000000

static bool set_tf;

static void on_sigill(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	on_signal(sig, info, context);
	uc->uc_mcontext.gregs[GREG(IP)] += 2;
	if (set_tf)
		uc->uc_mcontext.gregs[REG_EFL] |= 0x100;
}

static void on_sigtrap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	on_signal(sig, info, context);
	uc->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

static void return_from_signals(void)
{
	struct kernel_action sa = {
		on_sigill, SA_SIGINFO | SA_ONSTACK | SA_RESTORER_FLAG, restorer
	};
	int n;

	use_alt_stack();
	syscall(SYS_rt_sigaction, SIGILL, &sa, NULL, sizeof(sa.mask));
	handle(SIGTRAP, on_sigtrap, SA_ONSTACK);
	for (n = 0; n < 10; n++) {
		set_tf = n & 1;
		note_snippet(raise_sigill, n);
	}
	claim(shm[SIGNALS] == 15);
}

/* Signal handlers return by a probed instruction, also to the trap flag. */
TEST_F(uprobes, sigreturn)
{
	const struct scene s = { .body = return_from_signals, .hits = 10,
		.probe = restorer_insn };

	play(_metadata, self->dev, &s);
}
