// SPDX-License-Identifier: GPL-2.0-only
/*
 * Instructions that last: repeated string instructions, which signals, faults
 * and debuggers interrupt. Those of the FPU, which remembers where they are.
 * And what is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "fixture.h"
#include "scene.h"

/* String instructions: the same memory again and again, as far as one likes. */
#define WINDOW		(2UL << 20)
#define NLONG		(256UL << 20)

static unsigned char *map_long(size_t size)
{
	int fd = memfd_create("window", MFD_CLOEXEC);
	unsigned char *mem;
	size_t i;

	mem = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || ftruncate(fd, WINDOW) || mem == MAP_FAILED)
		abort();
	for (i = 0; i < size; i += WINDOW) {
		if (mmap(mem + i, WINDOW, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) ==
		    MAP_FAILED)
			abort();
	}
	close(fd);
	return mem;
}

static void fill_bufs(void)
{
	size_t i;

	for (i = 0; i < BUF_SIZE; i++) {
		from[i] = i * 7 + 1 + i / 256;
		to[i] = from[i];
	}
	from[3000] ^= 1;
}

#define DF		0x400

typedef void (*string_fn)(struct string *s);

static const struct {
	string_fn fn;
	const void *insn;
	int size;
} strings[] = {
	{ rep_movsb, rep_movsb_insn, 1 },
	{ rep_stosb, rep_stosb_insn, 1 },
	{ rep_stos, rep_stos_insn, sizeof(long) },
	{ repe_cmpsb, repe_cmpsb_insn, 1 },
	{ repne_scasb, repne_scasb_insn, 1 },
	{ rep_lodsb, rep_lodsb_insn, 1 },
};

/* Each is probed, and executed so many times. */
static const struct insn_addr *string_insns(long times)
{
	static struct insn_addr insns[ARRAY_SIZE(strings) + 1];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(strings); i++)
		insns[i] = (struct insn_addr){ (uintptr_t)strings[i].insn,
			times };
	return insns;
}

static void run_string(int which, long n, long flags)
{
	/* The end, for the way down */
	long at = flags & DF && n ? (n - 1) * strings[which].size : 0;
	struct string s = { to + at, from + at, n,
		0x1122334455667788 & LONG_MAX, flags };
	unsigned long sum = 0;
	int i;

	fill_bufs();
	strings[which].fn(&s);
	for (i = 0; i < BUF_SIZE; i++)
		sum = sum * 31 + to[i];
	note("di", (uintptr_t)s.di);
	note("si", (uintptr_t)s.si);
	note("cx", s.n);
	note("ax", s.a);
	note("flags", s.flags);
	note("memory", sum);
}

static void run_strings(void)
{
	static const long counts[] = { 0, 1, 5, 4096 };
	size_t i, c;

	for (i = 0; i < ARRAY_SIZE(strings); i++) {
		for (c = 0; c < ARRAY_SIZE(counts); c++) {
			run_string(i, counts[c], 0x202);
			run_string(i, counts[c], 0x247 | DF);
		}
	}
}

TEST_F(uprobes, strings)
{
	const struct scene s = { .body = run_strings, .insns = string_insns(8) };

	play(_metadata, self->dev, &s);
}

static void *copy_in_thread(void *arg)
{
	unsigned char copy[4096];
	int i;

	for (i = 0; i < 200; i++) {
		struct string s = { copy, from, sizeof(copy), 0, 0x202 };

		memset(copy, 0, sizeof(copy));
		rep_movsb(&s);
		claim(!memcmp(copy, from, sizeof(copy)));
		claim(s.n == 0 && s.di == copy + sizeof(copy));
	}
	return NULL;
}

static void copy_in_threads(void)
{
	fill_bufs();
	run_threads(copy_in_thread, 8);
}

TEST_F(uprobes, strings_in_threads)
{
	const struct scene s = { .body = copy_in_threads, .hits = 1600,
		.probe = rep_movsb_insn };

	play_once(_metadata, self->dev, &s);
}

static void *copy_until_end(void *arg)
{
	unsigned char copy[4096];

	while (!__atomic_load_n(&shm[NOW], __ATOMIC_RELAXED)) {
		struct string s = { copy, from, sizeof(copy), 0, 0x202 };

		memset(copy, 0, sizeof(copy));
		rep_movsb(&s);
		claim(!memcmp(copy, from, sizeof(copy)));
		claim(s.n == 0 && s.di == copy + sizeof(copy));
		__atomic_fetch_add(&shm[EXECUTIONS], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void copy_4(void)
{
	fill_bufs();
	run_threads(copy_until_end, 4);
}

TEST_F_TIMEOUT(uprobes, arm_and_disarm_string, 60)
{
	arm_and_disarm(_metadata, self->dev, copy_4, rep_movsb_insn);
}

/* 16 MB by each; SHM_RESULT is how long it took, in microseconds. */
static void run_big_strings(void)
{
	unsigned char *big = map_long(2 * WINDOW + (16 << 20)), *end;
	__u64 start;
	size_t i;
	int round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < ARRAY_SIZE(strings); i++) {
			long n = (16 << 20) / strings[i].size;
			/* What is stored, and not found */
			struct string s = { big, big + WINDOW, n, 0, 0x202 };

			if (strings[i].fn == repne_scasb)
				s.a = 1;
			end = big + (16 << 20);
			start = now_ns();
			strings[i].fn(&s);
			shm[SHM_RESULT] += (now_ns() - start) / 1000;
			claim(s.n == 0);
			claim(s.di == end || s.si == end + WINDOW);
		}
		prog_stop();
	}
}

/* As fast as without a probe, nearly: no trap at each of the bytes. */
TEST_F_TIMEOUT(uprobes, strings_are_fast, 120)
{
	pid_t pid = start_prog(run_big_strings);
	long unprobed;
	int i;

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	unprobed = shm[SHM_RESULT];
	shm[SHM_RESULT] = 0;
	for (i = 0; i < ARRAY_SIZE(strings); i++)
		ASSERT_LE(0, probe(self->dev, pid, strings[i].insn));
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(0, shm[LINE]);
	EXPECT_LT(0, unprobed);
	EXPECT_GT(10 * unprobed, shm[SHM_RESULT])
		TH_LOG("%ld us unprobed, %ld us probed", unprobed,
		       shm[SHM_RESULT]);
	for (i = 0; i < ARRAY_SIZE(strings); i++)
		EXPECT_EQ(1, hits(self->dev, i));
}

/* Something happens so long after the start of a long one. */
#define IN_THE_MIDDLE	10000	/* microseconds */

static void alarm_after(unsigned int us)
{
	struct itimerval timer = { .it_value.tv_usec = us };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static unsigned char *long_mem;
static sigjmp_buf before_string;

static struct string long_string(void)
{
	return (struct string){ long_mem, 0, NLONG, 5, 0x202 };
}

static void store_long(struct string *s)
{
	shm[EXECUTIONS]++;
	shm[NOW] = 1;
	rep_stosb(s);
	shm[NOW] = 2;
	claim(s->n == 0);
	claim(s->di == long_mem + NLONG);
	claim(!s->si && s->a == 5 && (s->flags & ~0x10000) == 0x202);
}

/*
 * Is that frame in the middle of the long one? An alarm may be too early, on a
 * busy host: then there is another.
 */
static bool in_middle(void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	claim_outside(regs[GREG(IP)]);
	if (shm[NOW] != 2 && (regs[GREG(IP)] != (long)rep_stosb_insn ||
			      regs[GREG(CX)] == (long)NLONG)) {
		alarm_after(IN_THE_MIDDLE);
		return false;
	}
	claim(regs[GREG(IP)] == (long)rep_stosb_insn);
	claim(regs[GREG(CX)] > (long)NLONG / 4);
	claim(regs[GREG(CX)] + regs[GREG(DI)] == (long)(long_mem + NLONG));
	claim(regs[GREG(AX)] == 5);
	claim(!(regs[REG_EFL] & 0x100));
	return true;
}

static void on_alarm_in_middle(int sig, siginfo_t *info, void *context)
{
	shm[SIGNALS] += in_middle(context);
}

static void signal_in_middle(void)
{
	struct string s;

	long_mem = map_long(NLONG);
	handle(SIGALRM, on_alarm_in_middle, 0);
	s = long_string();
	alarm_after(IN_THE_MIDDLE);
	store_long(&s);
	claim(shm[SIGNALS] == 1);
	claim(long_mem[0] == 5 && long_mem[WINDOW - 1] == 5);
}

/* A signal is handled long before the end, and that is one hit. */
TEST_F(uprobes, signal_in_string)
{
	const struct scene s = { .body = signal_in_middle,
		.probe = rep_stosb_insn };

	play_once(_metadata, self->dev, &s);
	EXPECT_EQ(1, shm[EXECUTIONS]);
}

#define STORM_SIZE	(8UL << 20)

static long last_left;

static void on_storm(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	claim_outside(regs[GREG(IP)]);
	if (regs[GREG(IP)] == (long)rep_movsb_insn) {
		shm[SIGNALS]++;
		claim(regs[GREG(CX)] <= last_left);
		last_left = regs[GREG(CX)];
		claim(regs[GREG(SI)] + regs[GREG(CX)] ==
		      (long)(long_mem + 2 * STORM_SIZE));
	}
	alarm_after(500);
}

static void signal_storm(void)
{
	int i;

	long_mem = mmap(NULL, 2 * STORM_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (long_mem == MAP_FAILED)
		abort();
	handle(SIGALRM, on_storm, 0);
	alarm_after(500);
	for (i = 0; i < 5 || shm[SIGNALS] < NTICKS; i++) {
		struct string s = { long_mem, long_mem + STORM_SIZE,
			STORM_SIZE, 0, 0x202 };

		memset(s.di, 0, STORM_SIZE);
		memset(s.si, i + 1, STORM_SIZE);
		last_left = STORM_SIZE;
		rep_movsb(&s);
		shm[EXECUTIONS]++;
		claim(s.n == 0);
		claim(!memcmp(long_mem, long_mem + STORM_SIZE, STORM_SIZE));
	}
	alarm_after(0);
}

TEST_F_TIMEOUT(uprobes, signal_storm_in_string, 60)
{
	const struct scene s = { .body = signal_storm,
		.probe = rep_movsb_insn };

	play_once(_metadata, self->dev, &s);
}

static void on_alarm_jump(int sig, siginfo_t *info, void *context)
{
	if (!in_middle(context))
		return;
	shm[SIGNALS]++;
	siglongjmp(before_string, 1);
}

static void jump_out(void)
{
	struct string s;

	long_mem = map_long(NLONG);
	handle(SIGALRM, on_alarm_jump, 0);
	sigsetjmp(before_string, 1);
	if (shm[SIGNALS] < 3)
		alarm_after(IN_THE_MIDDLE);
	s = long_string();
	store_long(&s);
	claim(shm[SIGNALS] == 3);
}

/* One that is left for good, and executed anew: a hit each time. */
TEST_F(uprobes, jump_out_of_string)
{
	const struct scene s = { .body = jump_out, .probe = rep_stosb_insn };

	play_once(_metadata, self->dev, &s);
	EXPECT_EQ(4, shm[EXECUTIONS]);
}

static void on_alarm_nested(int sig, siginfo_t *info, void *context)
{
	struct string s = { to, NULL, 1000, 9, 0x202 };

	if (!in_middle(context))
		return;
	memset(to, 0, 1001);
	rep_stosb(&s);
	shm[EXECUTIONS]++;
	claim(s.n == 0 && s.di == to + 1000);
	claim(to[0] == 9 && to[999] == 9 && to[1000] == 0);
	if (++shm[SIGNALS] < 3)
		alarm_after(IN_THE_MIDDLE);
}

static void nested_strings(void)
{
	struct string s;

	long_mem = map_long(NLONG);
	handle(SIGALRM, on_alarm_nested, 0);
	s = long_string();
	alarm_after(IN_THE_MIDDLE);
	store_long(&s);
	claim(shm[SIGNALS] == 3);
}

/* The signal handler executes the same instruction. */
TEST_F(uprobes, string_in_string)
{
	const struct scene s = { .body = nested_strings,
		.probe = rep_stosb_insn };

	play_once(_metadata, self->dev, &s);
	EXPECT_EQ(4, shm[EXECUTIONS]);
}

static pid_t child;

static void on_alarm_fork(int sig, siginfo_t *info, void *context)
{
	if (in_middle(context))
		child = fork();
}

static void fork_in_middle(void)
{
	struct string s;
	int status;

	child = -1;
	long_mem = map_long(NLONG);
	handle(SIGALRM, on_alarm_fork, 0);
	s = long_string();
	alarm_after(IN_THE_MIDDLE);
	store_long(&s);
	if (!child)
		_exit(5);
	claim(child > 0);
	claim(waitpid(child, &status, 0) == child);
	claim(exited(status, 5));
}

/* Parent and child both finish what the signal handler interrupted. */
TEST_F(uprobes, fork_in_string)
{
	const struct scene s = { .body = fork_in_middle, .hits = 1,
		.probe = rep_stosb_insn };

	play_once(_metadata, self->dev, &s);
}

/* Page faults in the middle, which the program repairs. */
static void on_segv(int sig, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & -PAGE_SZ;

	note("address", (uintptr_t)info->si_addr);
	on_signal(sig, info, context);
	if (mprotect((void *)page, PAGE_SZ, PROT_READ | PROT_WRITE))
		abort();
}

static void fault_in_strings(void)
{
	size_t i;

	handle(SIGSEGV, on_segv, 0);
	for (i = 0; i < ARRAY_SIZE(strings); i++) {
		struct string s = { to + 100, from + 300,
			4 * PAGE_SZ / strings[i].size, 0, 0x202 };

		memset(from, 7, sizeof(from));
		memset(to, 7, sizeof(to));
		if (mprotect(to + PAGE_SZ, PAGE_SZ, PROT_NONE) ||
		    mprotect(from + 3 * PAGE_SZ, PAGE_SZ, PROT_NONE))
			abort();
		strings[i].fn(&s);
		claim(s.n == 0);
		if (mprotect(to, sizeof(to), PROT_READ | PROT_WRITE) ||
		    mprotect(from, sizeof(from), PROT_READ | PROT_WRITE))
			abort();
		note("first", to[100]);
		note("last", to[100 + 4 * PAGE_SZ - 1]);
		note("behind", to[100 + 4 * PAGE_SZ]);
	}
	claim(shm[SIGNALS] == 8);
}

TEST_F(uprobes, fault_in_string)
{
	const struct scene s = { .body = fault_in_strings,
		.insns = string_insns(1) };

	play(_metadata, self->dev, &s);
}

/* A fault before the first iteration, from which the program jumps away. */
static void on_segv_jump(int sig, siginfo_t *info, void *context)
{
	shm[SIGNALS]++;
	siglongjmp(before_string, 1);
}

static void try_again(void)
{
	struct string s;

	handle(SIGSEGV, on_segv_jump, 0);
	if (mprotect(to + PAGE_SZ, PAGE_SZ, PROT_NONE))
		abort();
	sigsetjmp(before_string, 1);
	if (shm[SIGNALS] == 3)
		return;
	s = (struct string){ to + PAGE_SZ, from, PAGE_SZ, 0, 0x202 };
	rep_movsb(&s);
}

/* The same registers each time, but a hit for each: nothing was done yet. */
TEST_F(uprobes, fault_before_string)
{
	const struct scene s = { .body = try_again, .hits = 3,
		.probe = rep_movsb_insn };

	play_once(_metadata, self->dev, &s);
}

static void *bring_when_told(void *arg)
{
	while (__atomic_load_n(&shm[NOW], __ATOMIC_RELAXED) != 2)
		sleep_ms(1);
	bring_page(to + PAGE_SZ);
	return NULL;
}

static void wait_in_string(void)
{
	struct string s = { to, from, 2 * PAGE_SZ, 0, 0x202 };
	pthread_t thread;

	fill_bufs();
	map_waiting(to + PAGE_SZ);
	handle(SIGUSR1, on_signal, 0);
	if (pthread_create(&thread, NULL, bring_when_told, NULL))
		abort();
	shm[NOW] = 1;
	rep_movsb(&s);
	claim(s.n == 0 && !memcmp(from, to, 2 * PAGE_SZ));
}

static int signal_waiting(pid_t pid)
{
	long nr = 0;

	cont_prog(pid);
	claim(wait_for(NOW, 1));
	claim(wait_blocked(pid, 'S'));
	note("/proc ip", proc_ip(pid, &nr));
	claim(!syscall(SYS_tgkill, pid, pid, SIGUSR1));
	claim(wait_for(SIGNALS, 1));
	claim(wait_blocked(pid, 'S'));
	shm[NOW] = 2;
	return wait_prog(pid);
}

/* A signal for one that waits for a page, in the middle. */
TEST_F(uprobes, signal_in_fault_of_string)
{
	const struct scene s = { .body = wait_in_string, .hits = 1,
		.drive = signal_waiting, .probe = rep_movsb_insn };

	play(_metadata, self->dev, &s);
}

static void trace_string(void)
{
	struct string s = { to, from, 5, 0, 0x302 };

	fill_bufs();
	handle(SIGTRAP, on_signal, 0);
	rep_movsb(&s);
	claim(shm[SIGNALS] > 5);
	note("cx", s.n);
	note("flags", s.flags);
}

/* The program's own trap flag: one trap for each byte. */
TEST_F(uprobes, trap_flag_in_string)
{
	const struct scene s = { .body = trace_string, .hits = 1,
		.probe = rep_movsb_insn };

	play(_metadata, self->dev, &s);
}

static void fill_is_traced(void)
{
	char buf[64] = {};

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	int3();
	fill(buf);
	int3();
	note("last", buf[63]);
}

static int step_through_string(pid_t pid)
{
	claim(stopped_by(run_prog(pid), SIGTRAP));
	step_to(pid, fill_rep);
	note_steps(pid, 65);
	claim(stopped_by(cont_traced(pid), SIGTRAP));
	return cont_traced(pid);
}

/* One step for each byte. */
TEST_F(uprobes, stepped_string)
{
	const struct scene s = { .body = fill_is_traced, .hits = 1,
		.drive = step_through_string, .probe = fill_rep };

	play(_metadata, self->dev, &s);
}

static int step_a_part(pid_t pid)
{
	claim(stopped_by(run_prog(pid), SIGTRAP));
	step_to(pid, fill_rep);
	note_steps(pid, 10);
	claim(stopped_by(cont_traced(pid), SIGTRAP));
	return cont_traced(pid);
}

/* Some of the steps, the rest at once. */
TEST_F(uprobes, partly_stepped_string)
{
	const struct scene s = { .body = fill_is_traced, .hits = 1,
		.drive = step_a_part, .probe = fill_rep };

	play(_metadata, self->dev, &s);
}

static void string_is_watched(void)
{
	struct string s = { to, from, 256, 0, 0x202 };

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	prog_stop();
	rep_movsb(&s);
	note("cx", s.n);
	prog_stop();
}

static void set_debug_reg(pid_t pid, int nth, unsigned long value)
{
	claim(!ptrace(PTRACE_POKEUSER, pid,
		      offsetof(struct user, u_debugreg[nth]), value));
}

static int watch_string(pid_t pid)
{
	claim(stopped_by(run_prog(pid), SIGSTOP));
	set_debug_reg(pid, 0, (uintptr_t)to + 100);
	set_debug_reg(pid, 1, (uintptr_t)to + 2);
	/* Both are enabled, for bytes that are written */
	set_debug_reg(pid, 7, 0x00110005);
	while (stopped_by(cont_traced(pid), SIGTRAP)) {
		note_traced(pid);
		note("dr6", ptrace(PTRACE_PEEKUSER, pid,
				   offsetof(struct user, u_debugreg[6]), 0));
		set_debug_reg(pid, 6, 0);
		shm[SIGNALS]++;
	}
	claim(shm[SIGNALS] == 2);
	return cont_traced(pid);
}

/* A watchpoint on what it writes traps in the middle of it. */
TEST_F(uprobes, watched_string)
{
	const struct scene s = { .body = string_is_watched, .hits = 1,
		.drive = watch_string, .probe = rep_movsb_insn };

	play(_metadata, self->dev, &s);
}

static void store_long_once(void)
{
	struct string s;

	long_mem = map_long(NLONG);
	s = long_string();
	store_long(&s);
}

static void get_middle(pid_t pid)
{
	claim(wait_for(NOW, 1));
	usleep(IN_THE_MIDDLE);
}

static int interrupt_string(pid_t pid)
{
	struct user_regs_struct regs;
	unsigned long left = NLONG;
	int i, inside = 0;

	cont_prog(pid);
	claim(!ptrace(PTRACE_SEIZE, pid, 0, 0));
	get_middle(pid);
	for (i = 0; i < 5; i++) {
		claim(!ptrace(PTRACE_INTERRUPT, pid, 0, 0));
		claim(WIFSTOPPED(wait_prog(pid)));
		claim(!ptrace(PTRACE_GETREGS, pid, 0, &regs));
		claim_outside(regs.UREG(ip));
		if (regs.UREG(ip) == (uintptr_t)rep_stosb_insn) {
			inside++;
			claim(regs.UREG(cx) <= left);
			left = regs.UREG(cx);
		}
		claim(!ptrace(PTRACE_CONT, pid, 0, 0));
		usleep(1000);
	}
	claim(inside > 0);
	claim(!ptrace(PTRACE_INTERRUPT, pid, 0, 0));
	claim(WIFSTOPPED(wait_prog(pid)));
	claim(!ptrace(PTRACE_DETACH, pid, 0, 0));
	return wait_prog(pid);
}

/* A debugger stops it in the middle, and leaves it alone then. */
TEST_F(uprobes, interrupted_string)
{
	const struct scene s = { .body = store_long_once, .hits = 1,
		.drive = interrupt_string, .probe = rep_stosb_insn };

	play_once(_metadata, self->dev, &s);
}

static int stop_string(pid_t pid)
{
	long nr = 0;

	cont_prog(pid);
	get_middle(pid);
	kill(pid, SIGSTOP);
	claim(WIFSTOPPED(wait_prog(pid)));
	claim(proc_ip(pid, &nr) == (long)rep_stosb_insn);
	claim(nr == -1);
	return run_prog(pid);
}

TEST_F(uprobes, stopped_string)
{
	const struct scene s = { .body = store_long_once, .hits = 1,
		.drive = stop_string, .probe = rep_stosb_insn };

	play_once(_metadata, self->dev, &s);
}

static int kill_string(pid_t pid)
{
	cont_prog(pid);
	get_middle(pid);
	return end_prog(pid);
}

TEST_F(uprobes, killed_string)
{
	const struct scene s = { .body = store_long_once, .hits = 1,
		.end = SIGKILL, .drive = kill_string,
		.probe = rep_stosb_insn };

	play_once(_metadata, self->dev, &s);
}

/* Nobody waits for the end of a long one. */
TEST_F(uprobes, unregistered_in_string)
{
	pid_t pid = start_prog(store_long_once);
	int id = probe(self->dev, pid, rep_stosb_insn);
	unsigned char insn;

	ASSERT_LE(0, id);
	cont_prog(pid);
	ASSERT_TRUE(wait_hits(self->dev, id));
	get_middle(pid);
	unprobe(self->dev, id);
	EXPECT_EQ(1, shm[NOW])
		TH_LOG("the instruction had come to its end");
	ASSERT_EQ(0, read_mem(pid, rep_stosb_insn, &insn, 1));
	EXPECT_EQ(0xf3, insn);
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(0, shm[LINE]);
	EXPECT_EQ(2, shm[NOW]);
	EXPECT_EQ(1, hits(self->dev, id));
}

static void on_alarm_wait(int sig, siginfo_t *info, void *context)
{
	if (!in_middle(context))
		return;
	shm[SIGNALS]++;
	while (__atomic_load_n(&shm[SIGNALS], __ATOMIC_RELAXED) != 2)
		sleep_ms(1);
}

static void wait_in_middle(void)
{
	struct string s;

	long_mem = map_long(NLONG);
	handle(SIGALRM, on_alarm_wait, 0);
	s = long_string();
	alarm_after(IN_THE_MIDDLE);
	store_long(&s);
	/* And one as a whole, for whoever probes it now */
	s = long_string();
	s.n = 100;
	rep_stosb(&s);
	claim(s.n == 0);
}

/* The probe is removed while a signal is handled in the middle. */
TEST_F(uprobes, unregistered_in_signal)
{
	pid_t pid = start_prog(wait_in_middle);
	int id = probe(self->dev, pid, rep_stosb_insn);

	ASSERT_LE(0, id);
	cont_prog(pid);
	ASSERT_TRUE(wait_for(SIGNALS, 1));
	unprobe(self->dev, id);
	shm[SIGNALS] = 2;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(0, shm[LINE]);
	EXPECT_EQ(1, hits(self->dev, id));
}

/* Another one is set then: the rest of the instruction is no hit of it. */
TEST_F(uprobes, registered_in_signal)
{
	pid_t pid = start_prog(wait_in_middle);
	int id = probe(self->dev, pid, rep_stosb_insn), other;

	ASSERT_LE(0, id);
	cont_prog(pid);
	ASSERT_TRUE(wait_for(SIGNALS, 1));
	other = probe(self->dev, pid, rep_stosb_insn);
	ASSERT_LE(0, other);
	unprobe(self->dev, id);
	shm[SIGNALS] = 2;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(0, shm[LINE]);
	EXPECT_EQ(1, hits(self->dev, id));
	EXPECT_EQ(1, hits(self->dev, other));
}

/* What the FPU remembers of the last instruction. */
/*
 * Not every CPU saves the FPU's instruction pointer: a context switch, at any
 * time, may replace it by another there.
 */
static bool saves_fpu_ip(void)
{
	const __u32 *saved = (const __u32 *)to;

	asm volatile("fldpi\n\tfxsave %0\n\tfninit" : "=m" (to));
	return saved[2];
}

static void note_x87(void)
{
	static struct x87_env envs[NX87];
	static double numbers[8] = { 2.5, 3.5 };
	const long *words = (const long *)numbers;
	bool exact = saves_fpu_ip();
	size_t i;

	x87(envs, numbers);
	for (i = 0; i < NX87; i++) {
		note("control", envs[i].control);
		note("status", envs[i].status);
		note("tags", envs[i].tags);
		/* Of which there are 32 bits */
		claim(envs[i].ip < (__u32)shm[AREA_START] ||
		      envs[i].ip >= (__u32)shm[AREA_END]);
		if (!exact)
			continue;
		note("instruction", envs[i].ip);
		note("opcode", envs[i].opcode);
		note("data", envs[i].data);
	}
	for (i = 0; i < sizeof(numbers) / (sizeof(*words)); i++)
		note("number", words[i]);
}

TEST_F(uprobes, x87_pointers)
{
	const struct scene s = { .body = note_x87, .insns = x87_insns };

	play(_metadata, self->dev, &s);
}

/* The FPU in a signal frame, of which 32-bit programs have the older form. */
#ifdef __x86_64__
#define FPU_CONTROL	cwd
#define FPU_STATUS	swd
#define FPU_IP		rip
#define FPU_DATA	rdp
#else
#define FPU_CONTROL	cw
#define FPU_STATUS	sw
#define FPU_IP		ipoff
#define FPU_DATA	dataoff
#endif

/* Goes on behind the instruction, of one byte, with exceptions masked. */
static void on_sigfpe(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	fpregset_t fpu = uc->uc_mcontext.fpregs;

	on_signal(sig, info, context);
	note("address", (uintptr_t)info->si_addr);
	note("control", fpu->FPU_CONTROL);
	note("status", fpu->FPU_STATUS);
	note("instruction", fpu->FPU_IP);
	note("data", fpu->FPU_DATA);
	fpu->FPU_CONTROL |= 0x3f;
	uc->uc_mcontext.gregs[GREG(IP)]++;
}

static void fault_in_x87(void)
{
	handle(SIGFPE, on_sigfpe, 0);
	x87_fault();
	claim(shm[SIGNALS] == 1);
}

/* An exception of the one before is raised at the next. */
TEST_F(uprobes, x87_exception)
{
	const struct scene s = { .body = fault_in_x87,
		.insns = x87_fault_insns };

	play(_metadata, self->dev, &s);
}

static void on_no_shadow_stack(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	on_signal(sig, info, context);
	uc->uc_mcontext.gregs[GREG(IP)] = (uintptr_t)snippet_end;
}

static void adjust_shadow_stack(void)
{
	use_alt_stack();
	handle(SIGILL, on_no_shadow_stack, SA_ONSTACK);
	note_snippet(shadow_stack, 0);
}

/* What that does without a shadow stack is the CPU's business. */
TEST_F(uprobes, shadow_stack)
{
	const struct scene s = { .body = adjust_shadow_stack, .hits = 1,
		.probe = incssp };

	play(_metadata, self->dev, &s);
}

static void pause_prog(void)
{
	prog_stop();
}

/* What is executed nowhere but in its place, or not by a program at all. */
TEST_F(uprobes, refused)
{
	pid_t pid = start_prog(pause_prog);
	const struct refused_insn *r;

	for (r = refused; r->addr; r++) {
		EXPECT_EQ(-EOPNOTSUPP, probe(self->dev, pid, r->addr))
			TH_LOG("%s", r->text);
		EXPECT_EQ(-EOPNOTSUPP, probe_ret(self->dev, pid, r->addr))
			TH_LOG("%s", r->text);
	}
	EXPECT_LT(20, r - refused);
	EXPECT_EQ(0, list_lines(pid));
}
