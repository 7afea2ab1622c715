// SPDX-License-Identifier: GPL-2.0-only
/*
 * The differential tester: the child that runs instructions.
 *
 * While it does, neither the stack nor thread-local storage are its own. So
 * what runs then is a signal handler that needs neither, and this file is
 * compiled without stack protector.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "encodings.h"
#include "util.h"

__u64 noise[NOISE];
static __u64 chunk;
static alignas(64) __u8 alt_stack[65536];
static struct outcome *current;	/* NULL: no signal is expected */

void copy(__u64 *to, const __u64 *from, size_t size)
{
	size_t i;

	for (i = 0; i < size / 8; i++)
		to[i] = from[i];
}

void sandbox_capture(int sig, siginfo_t *info, ucontext_t *uc)
{
	struct outcome *o = current;

	if (!o)
		_exit(3);
	copy(o->info, (__u64 *)info, sizeof(o->info));
	leave(o, uc);
}

/*
 * The number, error and address of the last trap are kept by the kernel, and
 * some signals show those of an earlier one. So each run begins with the same.
 */
static void forget_traps(void)
{
	static struct outcome o;

	current = &o;
	enter_nowhere();
	current = NULL;
}

static void run(struct outcome *o, const struct encoding *e, int slot,
		int state)
{
	__u64 nr = chunk * CHUNK + slot;
	struct rng r = rng_for(nr, 50 + state);
	struct state st;

	__atomic_store_n(&shared->at, slot, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->runs, shared->runs + 1, __ATOMIC_RELAXED);
	copy((__u64 *)WINDOW, noise, PAGE_SZ);
	copy((__u64 *)STACK, noise + NOISE - PAGE_SZ / 8, PAGE_SZ);
	forget_traps();
	make_state(&st, e, nr, state);

	current = o;
	enter(&st, e->addr, &r);
	current = NULL;

	copy(o->window, (__u64 *)WINDOW, PAGE_SZ);
	copy(o->stack, (__u64 *)STACK, PAGE_SZ);
	if (ip_of(&o->regs) - (unsigned long)__executable_start <
	    (unsigned long)(etext - __executable_start))
		die("case %llu: state %d was not entered, or ran the tester",
		    nr, state);
}

/* The child's set-up. */

static void map_at(unsigned long addr, size_t size)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;

	if (mmap((void *)addr, size, PROT_READ | PROT_WRITE, flags, -1, 0) !=
	    (void *)addr)
		die("no memory at 0x%lx: %s", addr, strerror(errno));
}

/* No longer writable: all runs of an instruction find the same. */
static void make_code(unsigned long addr, size_t size)
{
	if (mprotect((void *)addr, size, PROT_READ | PROT_EXEC))
		die("cannot write-protect 0x%lx: %s", addr, strerror(errno));
}

static size_t mapped_len(const struct encoding *e)
{
	return e->place == HOLE_CROSS ? e->split : e->parts.len;
}

static void lay_out(const struct encoding *e)
{
	__u8 *at = (__u8 *)(unsigned long)e->addr;
	__u8 *page = at + e->split;
	bool hole = e->place == HOLE_END || e->place == HOLE_CROSS;
	size_t size = hole ? PAGE_SZ : 2 * PAGE_SZ;

	if (e->place != MIDDLE) {
		map_at((unsigned long)page - PAGE_SZ, size);
		memset(page - EDGE_FILL, FILL, EDGE_FILL);
		if (!hole)
			memset(page, FILL, EDGE_FILL);
	}
	memcpy(at, e->bytes, mapped_len(e));
	if (e->place != MIDDLE)
		make_code((unsigned long)page - PAGE_SZ, size);
}

static void map_all(int first, int n)
{
	int i;

	map_at(WINDOW, PAGE_SZ);
	map_at(STACK, PAGE_SZ);
	map_at(CODE, CODE_SIZE);
	map_at(LANDING, LANDING_SIZE);
	memset((void *)CODE, FILL, CODE_SIZE);
	memset((void *)LANDING, FILL, LANDING_SIZE);
	for (i = first; i < n; i++)
		lay_out(&shared->cases[i]);
	make_code(CODE, CODE_SIZE);
	make_code(LANDING, LANDING_SIZE);
}

static void catch_signals(void)
{
	static const int signals[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS,
	};
	stack_t ss = { .ss_sp = alt_stack, .ss_size = sizeof(alt_stack) };
	struct sigaction sa = {
		.sa_sigaction = take_frame,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};
	size_t i;

	if (sigaltstack(&ss, NULL) || sigaction(SIGUSR1, &sa, NULL) ||
	    raise(SIGUSR1))
		die("cannot raise a signal: %s", strerror(errno));
	sa.sa_sigaction = (void *)sandbox_signal;
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (sigaction(signals[i], &sa, NULL))
			die("cannot catch signal %d", signals[i]);
}

/*
 * The tester's own system calls are let through, and all others not: they trap
 * if their number is odd, and fail if it is even.
 */
static void forbid_syscalls(void)
{
	const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	__u64 start = (unsigned long)__executable_start;
	__u64 end = (unsigned long)etext;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_AUDIT_ARCH, 0, 6),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer) +
			 sizeof(__u32) * little),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, start >> 32, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer) +
			 sizeof(__u32) * !little),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (__u32)start, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (__u32)end, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 42),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	struct sock_fprog prog = { ARRAY_SIZE(code), code };

	if (start >> 32 != end >> 32)
		die("the tester's text is spread too far");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		die("no seccomp filter: %s", strerror(errno));
}

/*
 * What tells one CPU from another is the same in all runs. And no other thread
 * comes between them: QEMU does not save the FPU's last instruction pointer
 * with the rest of its state, so it is lost with the next x87 instruction of
 * the kernel, and that may execute one when it switches between threads. (For
 * the same reason QEMU's signal frames say nothing about it.)
 */
static void have_cpu(void)
{
	struct sched_param param = { .sched_priority = 1 };
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu) ||
	    sched_setscheduler(0, SCHED_FIFO, &param))
		die("cannot have a CPU alone: %s", strerror(errno));
}

static void set_up(int first, int n)
{
	struct rseq *rseq = (void *)(thread_pointer() + __rseq_offset);

	have_cpu();
	/* The kernel writes there when we are preempted, protected or not */
	if (__rseq_size &&
	    syscall(SYS_rseq, rseq, 32, RSEQ_FLAG_UNREGISTER, RSEQ_SIG))
		die("cannot do without restartable sequences: %s",
		    strerror(errno));
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		die("cannot be made to end with the tester");
	make_noise(noise, NOISE, chunk);
	map_all(first, n);
	catch_signals();
	forbid_syscalls();
}

/* Words that differ from run to run, each case and state with its own set. */
struct mask {
	struct mask *next;
	int slot;
	int state;
	__u8 words[NWORDS];
};

static struct mask *masks;

static __u8 *mask_of(int slot, int state, bool create)
{
	struct mask *m;

	for (m = masks; m; m = m->next)
		if (m->slot == slot && m->state == state)
			return m->words;
	if (!create)
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		die("out of memory");
	*m = (struct mask){ .next = masks, .slot = slot, .state = state };
	masks = m;
	return m->words;
}

/* Unprobed, it should have been the same. */
static void learn(int slot, int state, const struct outcome *o)
{
	const __u64 *a = (const __u64 *)&shared->expected[slot][state];
	const __u64 *b = (const __u64 *)o;
	__u8 *mask;
	size_t i;

	if (!memcmp(a, b, sizeof(*o)))
		return;
	shared->unstable[slot] = true;
	mask = mask_of(slot, state, true);
	for (i = 0; i < NWORDS; i++)
		mask[i] |= a[i] != b[i];
}

/* Outcomes that differ, to be looked at again without probes. */
static struct doubt {
	int slot;
	int state;
	struct outcome seen;
} *doubts[64];
static int ndoubts;

static void compare(int slot, int state, const struct outcome *o)
{
	struct difference d = { .found = true, .state = state };
	const __u64 *a = (const __u64 *)&shared->expected[slot][state];
	const __u64 *b = (const __u64 *)o;
	const __u8 *mask = mask_of(slot, state, false);
	size_t i;

	for (i = 0; i < NWORDS; i++) {
		if (a[i] == b[i] || (mask && mask[i]))
			continue;
		if (d.nwords++)
			continue;
		d.word = i;
		d.expected = a[i];
		d.seen = b[i];
	}
	if (d.nwords && !shared->differences[slot].found)
		shared->differences[slot] = d;
}

/* Probed, it has to be. */
static void judge(int slot, int state, const struct outcome *o)
{
	struct doubt *d;

	if (!memcmp(&shared->expected[slot][state], o, sizeof(*o)))
		return;
	compare(slot, state, o);
	if (!shared->differences[slot].found || ndoubts == ARRAY_SIZE(doubts))
		return;
	d = malloc(sizeof(*d));
	if (!d)
		die("out of memory");
	d->slot = slot;
	d->state = state;
	d->seen = *o;
	doubts[ndoubts++] = d;
}

/* What reads a clock may have been the same twice, and not the third time. */
static void clear_doubts(void)
{
	static struct outcome o;
	struct doubt *d;
	int i;

	for (i = 0; i < ndoubts; i++)
		shared->differences[doubts[i]->slot].found = false;
	for (i = 0; i < ndoubts; i++) {
		d = doubts[i];
		run(&o, &shared->cases[d->slot], d->slot, d->state);
		learn(d->slot, d->state, &o);
		compare(d->slot, d->state, &d->seen);
	}
}

/* The third phase is worth something only if the probes are really gone. */
static void check_text(int slot)
{
	const struct encoding *e = &shared->cases[slot];

	if (memcmp((void *)(unsigned long)e->addr, e->bytes, mapped_len(e)))
		die("case %llu: the probe has left its trace in the text",
		    chunk * CHUNK + slot);
}

static void phase_ended(int in, int out)
{
	char byte = 0;

	if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
		_exit(4);
}

void run_child(int in, int out, __u64 nr, int first, int n)
{
	static struct outcome o;
	int i, s;

	chunk = nr;
	set_up(first, n);

	for (i = first; i < n; i++)
		for (s = 0; s < NSTATES && !shared->cases[i].fatal; s++)
			run(&shared->expected[i][s], &shared->cases[i], i, s);
	for (i = first; i < n; i++) {
		for (s = 0; s < NSTATES && !shared->cases[i].fatal; s++) {
			run(&o, &shared->cases[i], i, s);
			learn(i, s, &o);
		}
	}
	phase_ended(in, out);

	for (i = first; i < n; i++) {
		if (shared->refused[i] || shared->cases[i].fatal)
			continue;
		for (s = 0; s < NSTATES; s++) {
			run(&o, &shared->cases[i], i, s);
			judge(i, s, &o);
		}
	}
	phase_ended(in, out);

	for (i = first; i < n; i++)
		check_text(i);
	clear_doubts();
	phase_ended(in, out);
	_exit(0);
}

const char *word_name(int word)
{
	static const char * const info[6] = {
		"signal,errno", "si_code", "si_addr", "siginfo[3]",
		"siginfo[4]", "siginfo[5]",
	};
	static char name[32];
	size_t at = word * 8;

	if (at < offsetof(struct outcome, regs))
		return info[word];
	if (at < offsetof(struct outcome, window))
		return register_name(word - offsetof(struct outcome, regs) / 8);
	if (at < offsetof(struct outcome, stack))
		sprintf(name, "window+%zu",
			at - offsetof(struct outcome, window));
	else
		sprintf(name, "stack+%zu",
			at - offsetof(struct outcome, stack));
	return name;
}
