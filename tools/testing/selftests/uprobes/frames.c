// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <asm/ptrace.h>
#include <sys/ucontext.h>

#include "calls.h"
#include "frames.h"

bool find_areas(pid_t pid, struct areas *areas)
{
	unsigned long start, end;
	char path[64], line[512];
	long n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if ((!strstr(line, "[uprobes]") && !strstr(line, "[vdso]")) ||
		    sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		if (n < MAX_AREAS) {
			areas->area[n].start = start;
			areas->area[n].end = end;
		}
		n++;
	}
	fclose(f);
	areas->n = n;
	return n > 0 && n <= MAX_AREAS;
}

/* Programs of 32 bits make their system calls in the vDSO. */
static bool in_system_call(unsigned long addr)
{
	unsigned long entry = getauxval(AT_SYSINFO);

	return entry && addr - entry < 32;
}

bool in_areas(const struct areas *areas, unsigned long addr)
{
	int i;

	if (in_system_call(addr))
		return false;

	for (i = 0; i < areas->n; i++) {
		if (addr >= areas->area[i].start && addr < areas->area[i].end)
			return true;
	}
	return false;
}

bool balanced(int dev, int id)
{
	struct upt_state s = upt_read(dev, id);

	return s.entries == s.hits + s.nmissed && !s.errors;
}

/* Returns 0, or the errno of the API. */
int watch_chain(int dev, pid_t pid, const void *end, struct calls *calls)
{
	const void *fns[NCALLS] = { outer, middle, inner, end };
	int i;

	for (i = 0; i < NCALLS; i++) {
		calls->ids[i] = probe_ret(dev, pid, fns[i]);
		if (calls->ids[i] < 0)
			return calls->ids[i];
	}
	return 0;
}

bool calls_are(int dev, const struct calls *calls, long entries, long returns)
{
	bool are = true;
	int i;

	for (i = 0; i < NCALLS; i++) {
		are &= is_balance(dev, calls->ids[i], entries, returns,
				  entries - returns);
	}
	return are;
}

void set_handler(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction sa = {
		.sa_sigaction = handler,
		.sa_flags = SA_SIGINFO,
	};

	sigaction(sig, &sa, NULL);
}

static long *ip_in(void *context)
{
	ucontext_t *uc = context;

	return (long *)&uc->uc_mcontext.CONTEXT_IP;
}

long ip_of(void *context)
{
	return *ip_in(context);
}

long sp_of(void *context)
{
	ucontext_t *uc = context;

	return uc->uc_mcontext.CONTEXT_SP;
}

void pass_breakpoint(void *context)
{
	if (!TRAP_PASSES)
		*ip_in(context) += sizeof(opcode_t);
}

void next_tick(long handled)
{
	static const struct itimerval timer = { .it_value.tv_usec = 200 };
	static long seen = -1;

	if (seen == handled)
		return;
	seen = handled;
	setitimer(ITIMER_REAL, &timer, NULL);
}

void stop_ticks(void)
{
	static const struct itimerval never;

	setitimer(ITIMER_REAL, &never, NULL);
}
