// SPDX-License-Identifier: GPL-2.0-only
/*
 * A 32-bit program, without libc. It tells its table of instructions, makes one
 * pass over them, stops itself, makes another under a timer that interrupts it,
 * and ends with the comparison of both.
 */
#include "prog32.h"

/* No header of the host describes the 32-bit system calls. */
#define NR_EXIT		1
#define NR_WRITE	4
#define NR_GETPID	20
#define NR_KILL		37
#define NR_SIGACTION	67
#define NR_SETITIMER	104
#define NR_WAIT4	114
#define SIGALRM		14
#define SIGSTOP		19

static int alarms;

static long call(long nr, long a, long b, long c, long d)
{
	long ret;

	asm volatile("int $0x80"
		     : "=a" (ret) : "a" (nr), "b" (a), "c" (b), "d" (c), "S" (d)
		     : "memory");
	return ret;
}

static void on_alarm(int sig)
{
	__atomic_fetch_add(&alarms, 1, __ATOMIC_RELAXED);
}

/* Both children return from all three calls. */
static int fork_status(void)
{
	int status = -1, pid = fork_outer();

	if (!pid)
		call(NR_EXIT, 5, 0, 0, 0);
	call(NR_WAIT4, pid, (long)&status, 0, 0);
	return status;
}

static int pass(void)
{
	return every() + fork_status();
}

static void start_alarms(void)
{
	static const long period[4] = { 0, 1000, 0, 1000 };
	/* Handler, mask, SA_RESTART */
	const long action[4] = { (long)on_alarm, 0, 0x10000000 };

	call(NR_SIGACTION, SIGALRM, (long)action, 0, 0);
	call(NR_SETITIMER, 0, (long)period, 0, 0);
}

/* The stack is as the kernel made it, not as a caller would have. */
__attribute__((force_align_arg_pointer)) void _start(void)
{
	int sum, end = PROG32_SAME;

	call(NR_WRITE, 1, (long)points, (long)points_end - (long)points, 0);
	sum = pass();
	call(NR_KILL, call(NR_GETPID, 0, 0, 0, 0), SIGSTOP, 0, 0);
	if (pass() != sum)
		end = PROG32_DIFFERENT;
	call(NR_KILL, call(NR_GETPID, 0, 0, 0, 0), SIGSTOP, 0, 0);
	start_alarms();
	while (__atomic_load_n(&alarms, __ATOMIC_RELAXED) < 100 &&
	       end == PROG32_SAME) {
		if (pass() != sum)
			end = PROG32_DIFFERENT;
	}
	call(NR_EXIT, end, 0, 0, 0);
}
