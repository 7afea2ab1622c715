// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

static __thread long (*inside)(void);

static __probed long nested_4(void)
{
	return inside() + 1;
}

static __probed long nested_3(void)
{
	return nested_4() + 1;
}

static __probed long nested_2(void)
{
	return nested_3() + 1;
}

static __probed long nested_1(void)
{
	return nested_2() + 1;
}

long (* const nested[NNESTED])(void) = {
	nested_1, nested_2, nested_3, nested_4,
};

/* A signal handler may do so as well, in the middle of it. */
long call_nested(long (*fn)(void))
{
	long (*outer)(void) = inside;
	long result;

	inside = fn;
	result = nested_1();
	inside = outer;
	return result;
}

__probed long deep(long n)
{
	return n ? one_more(deep(n - 1)) : 0;
}

int probe_return(int dev, pid_t pid, const void *addr, unsigned int flags)
{
	struct upt_probe req = {
		.pid = pid,
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)addr,
		.kind = UPT_COUNT,
		.flags = flags,
		.entry = true,
		.data_size = 24,
	};
	int ret = upt_register(dev, &req);

	return ret ? ret : req.id;
}

int probe_nested(int dev, pid_t pid, unsigned int flags,
		 struct nested_ids *ids)
{
	int i;

	for (i = 0; i < NNESTED; i++) {
		ids->id[i] = probe_return(dev, pid, nested[i], flags);
		if (ids->id[i] < 0)
			return ids->id[i];
	}
	return 0;
}

bool is_balance(int dev, int id, long entries, long returns, long missed)
{
	struct upt_state s = upt_read(dev, id);

	if ((long)s.entries == entries && (long)s.hits == returns &&
	    (long)s.nmissed == missed && !s.errors)
		return true;
	printf("# probe %d: %lld entries, %lld returns, %lld missed, %lld errors\n",
	       id, s.entries, s.hits, s.nmissed, s.errors);
	printf("# and not: %ld entries, %ld returns, %ld missed, 0 errors\n",
	       entries, returns, missed);
	return false;
}

bool nested_balance(int dev, const struct nested_ids *ids, long entries,
		    long returns, long missed)
{
	bool good = true;
	int i;

	for (i = 0; i < NNESTED; i++)
		good &= is_balance(dev, ids->id[i], entries, returns, missed);
	return good;
}

bool has_area(pid_t pid)
{
	unsigned long start, end;

	return find_map(pid, "[uprobes]", &start, &end);
}

#define ROLE	"UPROBES_ROLE"

void exec_self(void (*role)(void))
{
	char env[64];

	snprintf(env, sizeof(env), ROLE "=%lx", (unsigned long)role);
	execle("/proc/self/exe", "role", NULL, (char *[]){ env, NULL });
	abort();
}

static __attribute__((__constructor__)) void play_role(void)
{
	const char *role = getenv(ROLE);

	if (!role)
		return;
	((void_fn)strtoul(role, NULL, 16))();
	_exit(0);
}
