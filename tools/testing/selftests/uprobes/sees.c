// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a program and those who look at it see of probes: signal frames, core
 * dumps, /proc, call chains, seccomp. Never an address of the engine's.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/elf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/prctl.h>
#include <sys/procfs.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/user.h>
#include <unistd.h>

#include "fixture.h"
#include "frames.h"
#include "probed.h"

enum {
	SIGNALS = SHM_FREE,	/* that were handled */
	INSIDE,		/* ... and showed an address of the engine's */
	SIGNAL_IP,	/* what the last one showed */
	PAGE,		/* where an access waits for ever */
	THREADS,	/* that are where they should be */
	STOP,
	FAULT,		/* struct fault */
	AREAS = FAULT + 8,
};

static struct areas *areas(void)
{
	return (struct areas *)&shm[AREAS];
}

static struct calls calls;

/* With the last one of the probes, all areas are there. */
static void watch_all(struct __test_metadata *_metadata, int dev, pid_t pid,
		      const void *end)
{
	ASSERT_EQ(0, watch_chain(dev, pid, end, &calls));
	ASSERT_TRUE(find_areas(pid, areas()));
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	long ip = ip_of(context);

	shm[SIGNALS]++;
	shm[SIGNAL_IP] = ip;
	shm[INSIDE] += in_areas(areas(), ip);
}

static void chain_with_signal(void)
{
	set_handler(SIGUSR1, on_signal);
	shm[SHM_RESULT] = chain(leaf);
}

/* C9: a signal that comes while the handler at an address sleeps. */
static void check_signal(struct __test_metadata *_metadata, int dev,
			 pid_t pid, int sleeper)
{
	ASSERT_LE(0, sleeper);
	ASSERT_TRUE(find_areas(pid, areas()));
	cont_prog(pid);
	EXPECT_TRUE(wait_hits(dev, sleeper));
	kill(pid, SIGUSR1);
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(1, shm[SIGNALS]);
	EXPECT_EQ(0, shm[INSIDE]);
	EXPECT_EQ(1, hits(dev, sleeper));
}

/* In the handler of the return: the frame shows where the call returns to. */
TEST_F(uprobes, c9_signal_at_return)
{
	pid_t pid = start_prog(chain_with_signal);
	int id = probe_ret_kind(self->dev, pid, leaf, UPT_SLEEP, 300000);

	check_signal(_metadata, self->dev, pid, id);
	EXPECT_EQ((long)inner_ret, shm[SIGNAL_IP]);
	EXPECT_TRUE(balanced(self->dev, id));
}

/* Before a probed ret, which then leads to the trampoline. */
TEST_F(uprobes, c9_signal_before_trampoline)
{
	pid_t pid = start_prog(chain_with_signal);
	int ret = probe_ret(self->dev, pid, leaf);
	int id = probe_kind(self->dev, pid, leaf_ret, UPT_SLEEP, 300000);

	ASSERT_LE(0, ret);
	check_signal(_metadata, self->dev, pid, id);
	EXPECT_EQ(1, hits(self->dev, ret));
	EXPECT_TRUE(balanced(self->dev, ret));
}

/* The same for four calls, each from one trampoline hit to the next. */
TEST_F(uprobes, c9_signal_between_trampolines)
{
	pid_t pid = start_prog(chain_with_signal);
	int id;

	watch_all(_metadata, self->dev, pid, leaf);
	id = probe_ret_kind(self->dev, pid, inner, UPT_SLEEP, 300000);
	check_signal(_metadata, self->dev, pid, id);
	EXPECT_EQ((long)middle_ret, shm[SIGNAL_IP]);
	EXPECT_TRUE(calls_are(self->dev, &calls, 1, 1));
}

static void on_tick(int sig, siginfo_t *info, void *context)
{
	on_signal(sig, info, context);
	/* Return-probed as well */
	shm[SHM_BAD] += add(shm[SIGNALS], 1) != shm[SIGNALS] + 1;
}

#define NCHAINS		5000

static void chain_with_ticks(void)
{
	int i;

	set_handler(SIGALRM, on_tick);
	for (i = 0; i < NCHAINS; i++) {
		next_tick(shm[SIGNALS]);
		shm[SHM_BAD] += chain(leaf) != 3;
	}
	stop_ticks();
}

/* C9: a timer at high rate over calls that return: none is lost or doubled. */
TEST_F_TIMEOUT(uprobes, c9_timer, 120)
{
	pid_t pid = start_prog(chain_with_ticks);
	int in_handler = probe_ret(self->dev, pid, add);
	int ret = probe(self->dev, pid, leaf_ret);

	ASSERT_LE(0, in_handler);
	ASSERT_LE(0, ret);
	watch_all(_metadata, self->dev, pid, leaf);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_LT(10, shm[SIGNALS]);
	EXPECT_EQ(0, shm[INSIDE]);
	EXPECT_TRUE(calls_are(self->dev, &calls, NCHAINS, NCHAINS));
	EXPECT_EQ(NCHAINS, hits(self->dev, ret));
	EXPECT_EQ(shm[SIGNALS], hits(self->dev, in_handler));
	EXPECT_TRUE(balanced(self->dev, in_handler));
}

/* A fault, as the program sees it. */
struct fault {
	long sig;
	long code;
	long addr;
	long ip;
	long depth;	/* of the stack, from where the program started */
};

static struct fault *fault(void)
{
	return (struct fault *)&shm[FAULT];
}

static sigjmp_buf behind_fault;
static long stack_start;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	*fault() = (struct fault){
		.sig = sig,
		.code = info->si_code,
		.addr = (long)info->si_addr,
		.ip = ip_of(context),
		.depth = stack_start - sp_of(context),
	};
	siglongjmp(behind_fault, 1);
}

static long bad_address;

static void return_to_bad_address(void)
{
	stack_start = (long)__builtin_frame_address(0);
	set_handler(SIGSEGV, on_fault);
	if (!sigsetjmp(behind_fault, 1))
		leaf_returns_to(bad_address);
}

static void load_bad_address(void)
{
	stack_start = (long)__builtin_frame_address(0);
	set_handler(SIGSEGV, on_fault);
	load_from = (long *)bad_address;
	if (!sigsetjmp(behind_fault, 1))
		chain(load);
	/* Finds what was left behind */
	shm[SHM_RESULT] = chain(leaf);
}

static struct fault unprobed_fault(struct __test_metadata *_metadata,
				   void (*body)(void), long address)
{
	struct fault seen;

	bad_address = address;
	EXPECT_TRUE(exited(run_prog(start_prog(body)), 0));
	seen = *fault();
	EXPECT_EQ(SIGSEGV, seen.sig);
	memset(fault(), 0, sizeof(seen));
	return seen;
}

/* A return-probed call that returns to nowhere: the fault is there. */
TEST_F(uprobes, c9_return_to_nowhere)
{
	/* What is not mapped, and what is the kernel's */
	static const long nowhere[] = { 0x1000, (long)KERNEL_ADDRESS };
	struct fault unprobed;
	size_t i;
	pid_t pid;
	int id;

	for (i = 0; i < ARRAY_SIZE(nowhere); i++) {
		unprobed = unprobed_fault(_metadata, return_to_bad_address,
					  nowhere[i]);
		pid = start_prog(return_to_bad_address);
		id = probe_ret(self->dev, pid, leaf);
		ASSERT_LE(0, id);
		EXPECT_TRUE(exited(run_prog(pid), 0));
		EXPECT_EQ(nowhere[i], fault()->ip);
		EXPECT_EQ(0, memcmp(fault(), &unprobed, sizeof(unprobed)))
			TH_LOG("signal %ld, code %ld, address %lx, ip %lx",
			       fault()->sig, fault()->code, fault()->addr,
			       fault()->ip);
		EXPECT_EQ(1, hits(self->dev, id));
		EXPECT_TRUE(balanced(self->dev, id));
	}
}

#ifdef __LP64__
/*
 * To an address that cannot be: unprobed, the ret itself faults, which is over
 * when we know. There is no more to ask than that the program is told.
 */
TEST_F(uprobes, c9_return_to_impossible_address)
{
	pid_t pid;
	int id;

	bad_address = 1L << 62;
	pid = start_prog(return_to_bad_address);
	id = probe_ret(self->dev, pid, leaf);
	ASSERT_LE(0, id);
	ASSERT_TRUE(find_areas(pid, areas()));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(SIGSEGV, fault()->sig);
	EXPECT_FALSE(in_areas(areas(), fault()->ip));
	EXPECT_EQ(1, hits(self->dev, id));
	EXPECT_TRUE(balanced(self->dev, id));
}
#endif

/* A probed access faults inside return-probed calls, which are left then. */
TEST_F(uprobes, c9_fault_in_calls)
{
	struct fault unprobed = unprobed_fault(_metadata, load_bad_address,
					       0x1000);
	pid_t pid = start_prog(load_bad_address);
	int i, insn = probe(self->dev, pid, load_insn);

	ASSERT_LE(0, insn);
	watch_all(_metadata, self->dev, pid, load);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ((long)load_insn, fault()->ip);
	EXPECT_EQ(0x1000, fault()->addr);
	EXPECT_EQ(0, memcmp(fault(), &unprobed, sizeof(unprobed)));
	EXPECT_EQ(1, hits(self->dev, insn));
	for (i = 0; i < NCALLS; i++) {
		EXPECT_EQ(1, missed(self->dev, calls.ids[i]));
		EXPECT_TRUE(balanced(self->dev, calls.ids[i]));
	}
}

/* An access that waits: for a page that another thread brings when told to. */
static void *bring_when_told(void *arg)
{
	while (!shm[STOP])
		sleep_ms(1);
	bring_page(load_from);
	return NULL;
}

static void chain_with_fault(void)
{
	pthread_t thread;

	load_from = map_waiting(NULL);
	set_handler(SIGUSR1, on_signal);
	prog_stop();
	if (pthread_create(&thread, NULL, bring_when_told, NULL))
		abort();
	shm[SHM_RESULT] = chain(load);
}

static pid_t start_waiting(struct __test_metadata *_metadata, int dev,
			   int *insn)
{
	pid_t pid = start_prog(chain_with_fault);

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	*insn = probe(dev, pid, load_insn);
	ASSERT_LE(0, *insn);
	watch_all(_metadata, dev, pid, load);
	return pid;
}

/* A thread in the middle of a probed instruction: /proc/PID/syscall. */
TEST_F(uprobes, c9_proc_syscall)
{
	int insn;
	pid_t pid = start_waiting(_metadata, self->dev, &insn);
	long nr = 0;

	cont_prog(pid);
	ASSERT_TRUE(wait_blocked(pid, 'S'));
	EXPECT_EQ((long)load_insn, proc_ip(pid, &nr));
	EXPECT_EQ(-1, nr);
	EXPECT_EQ(1, hits(self->dev, insn));
	EXPECT_TRUE(killed(end_prog(pid), SIGKILL));
	EXPECT_TRUE(calls_are(self->dev, &calls, 1, 0));
}

/*
 * ... a signal, which is delivered before the access or, as the engine has it,
 * when that has come to its end.
 */
TEST_F(uprobes, c9_signal_in_instruction)
{
	int insn;
	pid_t pid = start_waiting(_metadata, self->dev, &insn);

	cont_prog(pid);
	ASSERT_TRUE(wait_blocked(pid, 'S'));
	ASSERT_EQ(0, syscall(SYS_tgkill, pid, pid, SIGUSR1));
	sleep_ms(100);
	shm[STOP] = 1;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(1, shm[SIGNALS]);
	EXPECT_EQ(0, shm[INSIDE]);
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(self->dev, insn));
	EXPECT_TRUE(calls_are(self->dev, &calls, 1, 1));
}

/* ... a debugger, the same. */
TEST_F(uprobes, c9_stopped_in_instruction)
{
	REGS regs;
	int insn;
	pid_t pid = start_waiting(_metadata, self->dev, &insn);

	cont_prog(pid);
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, pid, 0, 0));
	ASSERT_TRUE(wait_blocked(pid, 'S'));
	ASSERT_EQ(0, ptrace(PTRACE_INTERRUPT, pid, 0, 0));
	sleep_ms(100);
	shm[STOP] = 1;
	ASSERT_TRUE(WIFSTOPPED(wait_prog(pid)));
	ASSERT_EQ(0, regs_of_traced(pid, &regs));
	EXPECT_FALSE(in_areas(areas(), regs.REGS_IP));
	ASSERT_EQ(0, ptrace(PTRACE_DETACH, pid, 0, 0));
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(self->dev, insn));
	EXPECT_TRUE(calls_are(self->dev, &calls, 1, 1));
}

static void stop_around_nop(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	prog_stop();
	nop_fn();
	prog_stop();
}

/* Whoever steps a thread that is behind a hit does so without a warning. */
TEST_F(uprobes, c15_step_after_hit)
{
	pid_t pid = start_traced(stop_around_nop);
	int i, id = probe(self->dev, pid, nop_fn);

	ASSERT_LE(0, id);
	ASSERT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(1, hits(self->dev, id));
	for (i = 0; i < 3; i++)
		EXPECT_TRUE(stopped_by(step_traced(pid), SIGTRAP));
	EXPECT_TRUE(exited(cont_traced(pid), 0));
}

/* A core dump of threads that are everywhere. */
#define CORE_PATTERN	"/proc/sys/kernel/core_pattern"
#define CORE_PATH	"/tmp/core-of-test"

typedef void *(*thread_fn)(void *arg);

static void *wait_in_load(void *arg)
{
	chain(load);
	return NULL;
}

static void *wait_in_entry(void *arg)
{
	nop_fn();
	return NULL;
}

static void *wait_in_return(void *arg)
{
	own_sp();
	return NULL;
}

static void *run_through_all(void *arg)
{
	for (;;) {
		chain(leaf);
		add(1, 2);
		shm[THREADS] = 1;
	}
	return NULL;
}

static void dump_core(void)
{
	static const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	const thread_fn fns[] = { wait_in_load, wait_in_entry, wait_in_return,
		run_through_all, run_through_all };
	pthread_t thread;
	size_t i;

	load_from = map_waiting(NULL);
	setrlimit(RLIMIT_CORE, &unlimited);
	prog_stop();
	for (i = 0; i < ARRAY_SIZE(fns); i++) {
		if (pthread_create(&thread, NULL, fns[i], NULL))
			abort();
	}
	while (!shm[STOP])
		sleep_ms(1);
	abort();
}

static int write_file(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ssize_t ret = write(fd, text, len);

	close(fd);
	return ret == (ssize_t)len ? 0 : -1;
}

#ifdef __LP64__
#define elf_phdr	elf64_phdr
#define elf_hdr		elf64_hdr
#define elf_note	elf64_note
#else
#define elf_phdr	elf32_phdr
#define elf_hdr		elf32_hdr
#define elf_note	elf32_note
#endif

/* Returns how many threads there are, with their registers. */
static int parse_core(const char *path, REGS *regs, int max)
{
	const struct elf_prstatus *status;
	const struct elf_phdr *ph;
	const struct elf_hdr *eh;
	const struct elf_note *nh;
	size_t size, at, end;
	const char *core;
	int fd, n = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = lseek(fd, 0, SEEK_END);
	core = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (core == MAP_FAILED)
		return -1;
	eh = (const void *)core;
	ph = (const void *)(core + eh->e_phoff);
	while (ph->p_type != PT_NOTE)
		ph++;
	end = ph->p_offset + ph->p_filesz;
	for (at = ph->p_offset; at < end;
	     at += sizeof(*nh) + ((nh->n_namesz + 3) & ~3) +
		   ((nh->n_descsz + 3) & ~3)) {
		nh = (const void *)(core + at);
		if (nh->n_type != NT_PRSTATUS || n == max)
			continue;
		status = (const void *)((const char *)(nh + 1) +
					((nh->n_namesz + 3) & ~3));
		regs[n++] = *(const REGS *)&status->pr_reg;
	}
	return n;
}

/* C9: the registers of no thread in a core dump are ours. */
TEST_F_TIMEOUT(uprobes, c9_core_dump, 60)
{
	pid_t pid = start_prog(dump_core);
	char pattern[256] = "";
	REGS regs[16];
	int i, n, fd, entry, ret, status, waiting = 0;
	ssize_t len;

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	entry = probe_kind(self->dev, pid, nop_fn, UPT_SLEEP, 2000000);
	ret = probe_ret_kind(self->dev, pid, own_sp, UPT_SLEEP, 2000000);
	ASSERT_LE(0, entry);
	ASSERT_LE(0, ret);
	ASSERT_LE(0, probe(self->dev, pid, load_insn));
	ASSERT_LE(0, probe(self->dev, pid, add));
	ASSERT_LE(0, probe_ret(self->dev, pid, load));
	watch_all(_metadata, self->dev, pid, leaf);

	fd = open(CORE_PATTERN, O_RDONLY | O_CLOEXEC);
	len = read(fd, pattern, sizeof(pattern));
	close(fd);
	ASSERT_LT(0, len);
	ASSERT_EQ(0, write_file(CORE_PATTERN, CORE_PATH, strlen(CORE_PATH)));
	unlink(CORE_PATH);
	cont_prog(pid);
	EXPECT_TRUE(wait_hits(self->dev, entry));
	EXPECT_TRUE(wait_hits(self->dev, ret));
	while (!shm[THREADS])
		sleep_ms(1);
	sleep_ms(50);
	shm[STOP] = 1;
	status = wait_prog(pid);
	EXPECT_EQ(0, write_file(CORE_PATTERN, pattern, len));
	EXPECT_TRUE(killed(status, SIGABRT));
	ASSERT_TRUE(WCOREDUMP(status));

	n = parse_core(CORE_PATH, regs, ARRAY_SIZE(regs));
	unlink(CORE_PATH);
	EXPECT_EQ(6, n);
	for (i = 0; i < n; i++) {
		unsigned long ip = regs[i].REGS_IP;

		EXPECT_NE(0, ip);
		EXPECT_FALSE(in_areas(areas(), ip))
			TH_LOG("thread %d at %lx", i, ip);
#ifdef REGS_LINK
		EXPECT_FALSE(in_areas(areas(), regs[i].REGS_LINK))
			TH_LOG("thread %d returns to %lx", i,
			       regs[i].REGS_LINK);
#endif
		waiting += ip == (uintptr_t)load_insn;
	}
	EXPECT_EQ(1, waiting);
	for (i = 0; i < NCALLS; i++)
		EXPECT_TRUE(balanced(self->dev, calls.ids[i]));
}

/* Call chains by perf, of a program that spins inside return-probed calls. */
#define NSPINS		100

static sigjmp_buf below;

static __probed long jump_out(void)
{
	siglongjmp(below, 1);
}

static void chain_spinning(void)
{
	int i;

	for (i = 0; i < NSPINS; i++)
		shm[SHM_BAD] += chain(spin) != 3;
}

/* With calls that were left, whose instances wait to be noticed. */
static void chain_spinning_after_jump(void)
{
	int i;

	for (i = 0; i < NSPINS; i++) {
		if (!sigsetjmp(below, 0))
			chain(jump_out);
		shm[SHM_BAD] += chain(spin) != 3;
	}
}

#define RING_PAGES	64

static struct perf_event_mmap_page *start_sampling(pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 500000,	/* ns */
		.sample_type = PERF_SAMPLE_CALLCHAIN,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_callchain_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1,
			 PERF_FLAG_FD_CLOEXEC);
	void *ring = mmap(NULL, (1 + RING_PAGES) * PAGE_SZ,
			  PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return ring == MAP_FAILED ? NULL : ring;
}

struct sample {
	struct perf_event_header header;
	__u64 nr;
	__u64 ips[];
};

static bool is_expected(const struct sample *s)
{
	const __u64 expected[] = { (uintptr_t)inner_ret, (uintptr_t)middle_ret,
		(uintptr_t)outer_ret, (uintptr_t)chain_ret };

	return s->nr >= 6 && s->ips[0] == PERF_CONTEXT_USER &&
	       !memcmp(s->ips + 2, expected + CHAIN_SKIPS,
		       sizeof(expected) - CHAIN_SKIPS * sizeof(*expected));
}

static void log_sample(struct __test_metadata *_metadata,
		       const struct sample *s)
{
	__u64 i;

	for (i = 0; i < s->nr && i < 8; i++)
		TH_LOG("%llx%s", s->ips[i],
		       in_areas(areas(), s->ips[i]) ? " (ours)" : "");
}

/* The ring never wraps: it has room for all that a test takes. */
static void check_samples(struct __test_metadata *_metadata,
			  const struct perf_event_mmap_page *ring)
{
	const char *at = (const char *)ring + PAGE_SZ, *end = at;
	const struct sample *s;
	int spinning = 0, wrong = 0, ours = 0;
	__u64 i;

	end += ring->data_head;
	ASSERT_GE(RING_PAGES * PAGE_SZ, ring->data_head);
	for (; at < end; at += s->header.size) {
		s = (const void *)at;
		if (s->header.type != PERF_RECORD_SAMPLE || s->nr < 2)
			continue;
		for (i = 0; i < s->nr; i++)
			ours += in_areas(areas(), s->ips[i]);
		if (s->ips[1] < (uintptr_t)spin_loop ||
		    s->ips[1] >= (uintptr_t)spin_end)
			continue;
		spinning++;
		if (!is_expected(s) && !wrong++)
			log_sample(_metadata, s);
	}
	EXPECT_LT(10, spinning);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, ours);
}

static void check_chains(struct __test_metadata *_metadata, int dev,
			 void (*body)(void), int jumps)
{
	struct perf_event_mmap_page *ring;
	pid_t pid = start_prog(body);
	int i, jumping = probe_ret(dev, pid, jump_out);

	ASSERT_LE(0, jumping);
	watch_all(_metadata, dev, pid, spin);
	ring = start_sampling(pid);
	ASSERT_TRUE(!!ring)
		TH_LOG("perf: %s", strerror(errno));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	check_samples(_metadata, ring);
	EXPECT_EQ(jumps, missed(dev, jumping));
	for (i = 0; i < NCALLS - 1; i++)
		EXPECT_EQ(jumps, missed(dev, calls.ids[i]));
	for (i = 0; i < NCALLS; i++) {
		EXPECT_EQ(NSPINS, hits(dev, calls.ids[i]));
		EXPECT_TRUE(balanced(dev, calls.ids[i]));
	}
}

/* Inside of nested calls, all of them return-probed: real addresses only. */
TEST_F_TIMEOUT(uprobes, call_chains, 60)
{
	check_chains(_metadata, self->dev, chain_spinning, 0);
}

/* The same above instances of calls that were left by longjmp(). */
TEST_F_TIMEOUT(uprobes, call_chains_after_longjmp, 60)
{
	check_chains(_metadata, self->dev, chain_spinning_after_jump, NSPINS);
}

/* A program that may do next to nothing. It can exit its thread, no more. */
#define NSECURE		1000

static void exit_secure(void)
{
	int i;

	for (i = 0; i < NSECURE; i++) {
		shm[SHM_BAD] += add(i, 1) != i + 1;
		shm[SHM_BAD] += chain(leaf) != 3;
	}
	shm[SHM_RESULT] = syscall(SYS_write, -1, "", 0);
	syscall(SYS_exit, 7);
}

static void secure_strictly(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		abort();
	exit_secure();
}

static void secure_by_filter(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_SIZE(filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		abort();
	exit_secure();
}

static void forbidden_call(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { ARRAY_SIZE(filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		abort();
	syscall(SYS_getpid);
}

static void check_secure(struct __test_metadata *_metadata, int dev,
			 void (*body)(void))
{
	pid_t pid = start_prog(body);
	int entry = probe(dev, pid, add);
	int ret = probe_ret(dev, pid, add);

	ASSERT_LE(0, entry);
	ASSERT_LE(0, ret);
	watch_all(_metadata, dev, pid, leaf);
	EXPECT_TRUE(exited(run_prog(pid), 7));
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(-1, shm[SHM_RESULT]);
	EXPECT_EQ(NSECURE, hits(dev, entry));
	EXPECT_EQ(NSECURE, hits(dev, ret));
	EXPECT_TRUE(calls_are(dev, &calls, NSECURE, NSECURE));
}

/* C7: seccomp's strict mode. */
TEST_F(uprobes, c7_strict)
{
	check_secure(_metadata, self->dev, secure_strictly);
}

/* C7: a filter that kills at every call but write and exit; it does kill. */
TEST_F(uprobes, c7_filter)
{
	EXPECT_TRUE(killed(run_prog(start_prog(forbidden_call)), SIGSYS));
	check_secure(_metadata, self->dev, secure_by_filter);
}
