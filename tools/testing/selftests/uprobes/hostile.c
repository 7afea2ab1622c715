// SPDX-License-Identifier: GPL-2.0-only
/* Programs, and callers of the API, that do what one does not expect. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "calls.h"
#include "fixture.h"

enum {
	CODE = SHM_FREE,
	STATE,
};

static void check_killed_remover(struct __test_metadata *_metadata, int dev,
				 int (*probe)(int dev, pid_t pid,
					      const void *addr))
{
	pid_t pid = start_prog(add_and_stop), remover;
	int id = probe(dev, pid, add);
	int status;

	ASSERT_LE(0, id);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(1, hits(dev, id));

	remover = fork();
	ASSERT_LE(0, remover);
	if (!remover) {
		upt_op(dev, UPT_UNREGISTER_KILLED, id);
		_exit(0);
	}
	ASSERT_EQ(remover, waitpid(remover, &status, 0));
	EXPECT_TRUE(killed(status, SIGKILL));
	EXPECT_TRUE(is_add(pid, add));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(dev, id));
}

/* Who removes a probe is killed meanwhile: the breakpoint goes all the same. */
TEST_F(uprobes, remover_is_killed)
{
	check_killed_remover(_metadata, self->dev, probe);
	check_killed_remover(_metadata, self->dev, probe_ret);
}

/* Where one store can be behind the first word */
#if !INSNS_ARE_WORDS
/* mov $1, %eax; ret */
static const char constant[] = { 0xb8, 1, 0, 0, 0, 0xc3 };

static void change_constant(void)
{
	char *code = mmap(NULL, PAGE_SZ, RWX, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	long i;

	memcpy(code, constant, sizeof(constant));
	shm[CODE] = (long)code;
	for (i = 1; i < 4; i++) {
		prog_stop();
		shm[SHM_RESULT] = ((long (*)(void))code)();
		/* One store, behind the first byte of the instruction */
		if (i == 2)
			code[1] = 5;
	}
}

/* The tail of a probed instruction is written: the new one is executed. */
TEST_F(uprobes, tail_overwritten)
{
	pid_t pid = start_prog(change_constant);
	int id;

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	id = probe(self->dev, pid, (void *)shm[CODE]);
	ASSERT_LE(0, id);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(1, shm[SHM_RESULT]);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(1, shm[SHM_RESULT]);
	EXPECT_EQ(2, hits(self->dev, id));

	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(5, shm[SHM_RESULT]);
	EXPECT_EQ(2, hits(self->dev, id));
	EXPECT_EQ(1, upt_read(self->dev, id).nmissed);
}
#endif

static void unmap_area(void)
{
	unsigned long start, end;

	prog_stop();
	shm[SHM_RESULT] = add(1, 2);
	if (!find_map(getpid(), "[uprobes]", &start, &end) ||
	    munmap((void *)start, end - start))
		abort();
	shm[STATE] = add(3, 4);
	prog_stop();
	shm[SHM_RESULT] = add(5, 6);
}

/* A program unmaps the area for copies: it is unharmed, and can be probed. */
TEST_F(uprobes, area_unmapped)
{
	pid_t pid = start_prog(unmap_area);
	struct list_line line;
	int id, again;

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	id = probe(self->dev, pid, add);
	ASSERT_LE(0, id);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(7, shm[STATE]);
	EXPECT_EQ(1, hits(self->dev, id));
	EXPECT_EQ(1, upt_read(self->dev, id).nmissed);
	ASSERT_TRUE(list_find(pid, add, &line));
	EXPECT_TRUE(line.gone);
	EXPECT_TRUE(is_add(pid, add));
	unprobe(self->dev, id);

	again = probe(self->dev, pid, add);
	ASSERT_LE(0, again);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(11, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(self->dev, again));
}

static void run_into_area(void)
{
	unsigned long start, end;

	prog_stop();
	if (!find_map(getpid(), "[uprobes]", &start, &end))
		abort();
	/* Behind the first copy, which is shorter than that */
	((void_fn)fn_at((void *)start + 8))();
}

/* A program jumps to where it has no business: the signal is its own. */
TEST_F(uprobes, jump_into_area)
{
	pid_t pid = start_prog(run_into_area);

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	ASSERT_LE(0, probe(self->dev, pid, add));
	EXPECT_TRUE(killed(run_prog(pid), BEHIND_COPY));
}

static void on_sigtrap(int sig, siginfo_t *info, void *context)
{
	shm[STATE] = info->si_code;
	_exit(7);
}

static void breakpoint_to_execute_only(void)
{
	struct sigaction action = {
		.sa_sigaction = on_sigtrap,
		.sa_flags = SA_SIGINFO,
	};
	char *code = mmap(NULL, PAGE_SZ, RWX, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);

	int fds[2];

	sigaction(SIGTRAP, &action, NULL);
	*(opcode_t *)code = BREAKPOINT;
	if (mprotect(code, PAGE_SZ, PROT_EXEC) || pipe(fds))
		abort();
	/* A system call reads with the rights of the program */
	shm[SHM_RESULT] = write(fds[1], code, 1) < 0 ? errno : 0;
	prog_stop();
	((void_fn)fn_at(code))();
}

/*
 * The program's own breakpoint where text can be executed, but not read: what
 * comes of it depends on whether the kernel has to read it.
 */
TEST_F(uprobes, execute_only)
{
	pid_t pid = start_prog(breakpoint_to_execute_only);
	long code;
	int end;

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	if (!shm[SHM_RESULT])
		SKIP(return, "the CPU can read what it can execute");
	EXPECT_EQ(EFAULT, shm[SHM_RESULT]);
	end = run_prog(pid);
	code = shm[STATE];
	EXPECT_TRUE((exited(end, 7) && code == TRAP_CODE) ||
		    killed(end, SIGSEGV));

	shm[STATE] = 0;
	pid = start_prog(breakpoint_to_execute_only);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	ASSERT_LE(0, probe(self->dev, pid, add));
	EXPECT_EQ(end, run_prog(pid));
	EXPECT_EQ(code, shm[STATE]);
}

static char *shared_code;

static void *call_code(void *arg)
{
	for (;;)
		if (((add_fn)fn_at(shared_code))(1, 2) != 3)
			abort();
	return NULL;
}

static void map_over_and_over(void)
{
	int fd = add_file();
	pthread_t thread;

	shared_code = mmap(NULL, PAGE_SZ, RX, MAP_PRIVATE, fd, 0);
	shm[CODE] = (long)shared_code;
	pthread_create(&thread, NULL, call_code, NULL);
	prog_stop();
	while (!shm[STATE])
		mmap(shared_code, PAGE_SZ, RX, MAP_PRIVATE | MAP_FIXED, fd, 0);
	_exit(0);
}

/* Text is mapped anew while a thread executes it: the thread goes on. */
TEST_F(uprobes, mapped_under_a_thread)
{
	pid_t pid = start_prog(map_over_and_over);
	int i, id;

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	cont_prog(pid);
	for (i = 0; i < 200; i++) {
		id = i % 2 ? probe(self->dev, pid, (void *)shm[CODE]) :
			     probe_ret(self->dev, pid, (void *)shm[CODE]);
		ASSERT_LE(0, id);
		unprobe(self->dev, id);
	}
	shm[STATE] = 1;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
}

static void add_slowly(void)
{
	prog_stop();
	add(1, 2);
}

static void check_sleep_elsewhere(struct __test_metadata *_metadata, int dev,
				  int (*probe_kind)(int dev, pid_t pid,
						    const void *addr,
						    enum upt_kind kind,
						    unsigned long arg))
{
	pid_t slow = start_prog(add_slowly), other = start_prog(add_and_stop);
	int sleeps, id;
	__u64 start;

	ASSERT_TRUE(WIFSTOPPED(run_prog(slow)));
	sleeps = probe_kind(dev, slow, add, UPT_SLEEP, 2000000);
	id = probe(dev, other, add);
	ASSERT_LE(0, sleeps);
	ASSERT_LE(0, id);
	cont_prog(slow);
	ASSERT_TRUE(wait_hits(dev, sleeps));
	start = now_ns();
	unprobe(dev, id);
	EXPECT_GT(NSEC_PER_SEC, now_ns() - start);
	EXPECT_TRUE(exited(wait_prog(slow), 0));
}

/* A handler that sleeps in one process does not delay removal in another. */
TEST_F(uprobes, handler_sleeps_elsewhere)
{
	check_sleep_elsewhere(_metadata, self->dev, probe_kind);
}

/* Nor does the handler of a return. */
TEST_F(uprobes, return_handler_sleeps_elsewhere)
{
	check_sleep_elsewhere(_metadata, self->dev, probe_ret_kind);
}

static void store_restartably(void)
{
	char *tp = thread_pointer();
	struct rseq *rs = (struct rseq *)(tp + __rseq_offset);

	if (!__rseq_size)
		abort();
	for (;;) {
		shm[CODE] = 0;
		shm[SHM_RESULT] = rseq_store(rs, &shm[CODE]);
		prog_stop();
	}
}

static void check_rseq(struct __test_metadata *_metadata, int dev,
		       void *preempted)
{
	pid_t pid = start_prog(store_restartably);
	int id, tries;

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	/* So long that it really leaves its CPU */
	id = probe_kind(dev, pid, preempted, UPT_SLEEP, 20000);
	ASSERT_LE(0, id);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(1, hits(dev, id));
	EXPECT_EQ(1, shm[SHM_RESULT]);
	EXPECT_EQ(0, shm[CODE]);
	unprobe(dev, id);
	/* Without the handler, it is preempted by chance. */
	for (tries = 0; tries < 100 && shm[SHM_RESULT]; tries++)
		ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(0, shm[SHM_RESULT]);
	EXPECT_EQ(1, shm[CODE]);
}

/* A handler sleeps in a restartable sequence, which is aborted, as it must. */
TEST_F(uprobes, rseq_before_commit)
{
	check_rseq(_metadata, self->dev, rseq_nop);
}

/* The probed instruction is the one that commits: it is not executed. */
TEST_F(uprobes, rseq_at_commit)
{
	check_rseq(_metadata, self->dev, rseq_commit);
}

/*
 * Calls on stacks that are none. A return address in a register is no worse for
 * that.
 */

#define IN_MEMORY(n)	(RETURNS_IN_MEMORY ? (n) : 0)
#define IN_REGISTER(n)	(RETURNS_IN_MEMORY ? 0 : (n))

static void return_on_read_only_stack(void)
{
	void **page = mmap(NULL, PAGE_SZ, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	page[8] = back_from_stack;
	mprotect(page, PAGE_SZ, PROT_READ);
	go_on_stack(&page[8], nop_fn);
	shm[SHM_RESULT] = page[8] == back_from_stack;
}

/* What the program cannot write to is not written to: a miss, and no harm. */
TEST_F(uprobes, read_only_stack)
{
	pid_t pid = start_prog(return_on_read_only_stack);
	int id = probe_ret(self->dev, pid, nop_fn);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(1, shm[SHM_RESULT]);
	EXPECT_EQ(IN_REGISTER(1), hits(self->dev, id));
	EXPECT_EQ(IN_MEMORY(1), missed(self->dev, id));
}

static void call_without_stack(void)
{
	go_on_stack((void *)0x10, leave_stack);
	go_on_stack((void *)-16L, leave_stack);
	go_on_stack((void *)~(-1UL >> 1), leave_stack);
	shm[SHM_RESULT] = 1;
}

/* The stack pointer points nowhere, and the program does not mind. */
TEST_F(uprobes, no_stack)
{
	pid_t pid = start_prog(call_without_stack);
	int id = probe_ret(self->dev, pid, leave_stack);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(1, shm[SHM_RESULT]);
	EXPECT_EQ(0, hits(self->dev, id));
	EXPECT_EQ(3, missed(self->dev, id));
}

#define ODD_CALLS	16

static void return_on_odd_stack(void)
{
	static void *stack[512];
	void *back = back_from_stack;
	char *sp = (char *)&stack[256];
	int i;

	for (i = 0; i < ODD_CALLS; i++, sp++) {
		memcpy(sp, &back, sizeof(back));
		go_on_stack(sp, nop_fn);
	}
	shm[SHM_RESULT] = i;
}

/* Of eight stack pointers, seven are not aligned: misses at worst. */
TEST_F(uprobes, odd_stack)
{
	pid_t pid = start_prog(return_on_odd_stack);
	int id = probe_ret(self->dev, pid, nop_fn);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(ODD_CALLS, shm[SHM_RESULT]);
	EXPECT_EQ(ODD_CALLS, entries(self->dev, id));
	EXPECT_LE(ODD_CALLS / 8, hits(self->dev, id));
	EXPECT_EQ(ODD_CALLS, hits(self->dev, id) + missed(self->dev, id));
}

/* A return address across two pages, of which one cannot be written to. */
static void return_on_half_a_stack(void)
{
	char *pages = mmap(NULL, 2 * PAGE_SZ, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *sp = pages + PAGE_SZ - 3;
	void *back = back_from_stack;

	memcpy(sp, &back, sizeof(back));
	mprotect(pages + PAGE_SZ, PAGE_SZ, PROT_READ);
	go_on_stack(sp, nop_fn);
	shm[SHM_RESULT] = !memcmp(sp, &back, sizeof(back));
	mprotect(pages + PAGE_SZ, PAGE_SZ, PROT_READ | PROT_WRITE);
	mprotect(pages, PAGE_SZ, PROT_READ);
	go_on_stack(sp, nop_fn);
	shm[SHM_RESULT] += !memcmp(sp, &back, sizeof(back));
}

/* An address that can be written to in part is not changed in part. */
TEST_F(uprobes, half_a_stack)
{
	pid_t pid = start_prog(return_on_half_a_stack);
	int id = probe_ret(self->dev, pid, nop_fn);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(2, shm[SHM_RESULT]);
	EXPECT_EQ(IN_REGISTER(2), hits(self->dev, id));
	EXPECT_EQ(IN_MEMORY(2), missed(self->dev, id));
}

static long nothing(void)
{
	return 0;
}

static void return_elsewhere(void)
{
	int i;

	for (i = 0; i < 10; i++)
		shm[SHM_RESULT] += call_return_to();
	shm[STATE] = call_nested(nothing);
}

/* A function that changes its return address: that of the program wins. */
TEST_F(uprobes, return_address_overwritten)
{
	pid_t pid = start_prog(return_elsewhere);
	int id = probe_ret(self->dev, pid, return_to);
	int caller = probe_ret(self->dev, pid, call_return_to);
	struct nested_ids ids;

	ASSERT_LE(0, id);
	ASSERT_LE(0, caller);
	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(10, shm[SHM_RESULT]);
	EXPECT_EQ(NNESTED, shm[STATE]);
	EXPECT_TRUE(is_balance(self->dev, id, 10, 0, 10));
	EXPECT_TRUE(is_balance(self->dev, caller, 10, 10, 0));
	EXPECT_TRUE(nested_balance(self->dev, &ids, 1, 1, 0));
}

#ifdef __x86_64__
/* The headers may be older than uretprobe(2). */
static long pretend_to_return(void)
{
	return syscall(__NR_read + 335);
}

static void return_by_system_call(void)
{
	call_nested(pretend_to_return);
}

/* The system call for trampolines, and not from one: nothing has returned. */
TEST_F(uprobes, uretprobe_system_call)
{
	pid_t pid = start_prog(return_by_system_call);
	struct nested_ids ids;

	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	EXPECT_TRUE(killed(run_prog(pid), SIGILL));
	EXPECT_TRUE(nested_balance(self->dev, &ids, 1, 0, 1));
}
#endif

static ucontext_t outside, coroutine;

static long switch_out(void)
{
	swapcontext(&coroutine, &outside);
	return 0;
}

static void run_coroutine(void)
{
	call_nested(switch_out);
}

#define COROUTINES	10

static void destroy_coroutines(void)
{
	void *stack = NULL;
	int i;

	for (i = 0; i < COROUTINES; i++) {
		stack = mmap(stack, 16 * PAGE_SZ, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS |
			     (i ? MAP_FIXED : 0), -1, 0);
		getcontext(&coroutine);
		coroutine.uc_stack.ss_sp = stack;
		coroutine.uc_stack.ss_size = 16 * PAGE_SZ;
		makecontext(&coroutine, run_coroutine, 0);
		/* Its calls are in progress when its stack goes away */
		swapcontext(&outside, &coroutine);
		munmap(stack, 16 * PAGE_SZ);
		shm[SHM_RESULT] += call_nested(nothing);
	}
}

/* Stacks that are unmapped, and others at the same place, with calls on them. */
TEST_F(uprobes, stack_unmapped_in_call)
{
	pid_t pid = start_prog(destroy_coroutines);
	struct nested_ids ids;

	ASSERT_EQ(0, probe_nested(self->dev, pid, 0, &ids));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(COROUTINES * NNESTED, shm[SHM_RESULT]);
	EXPECT_TRUE(nested_balance(self->dev, &ids, 2 * COROUTINES, COROUTINES,
				   COROUTINES));
}
