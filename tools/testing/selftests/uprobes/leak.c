// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nothing of the engine outlives a process: slab counts before and after 1000
 * lives, each of which ends in the middle of something.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "calls.h"
#include "fixture.h"

#define LIVES		1000
#define WARM_UP		100

/* Caches that only the engine uses: not one object may be left. */
static const char * const own_caches[] = {
	"uprobe_task", "uprobe_return", "uprobe_point",
};

#define OWN_CACHES	(sizeof(own_caches) / sizeof(*own_caches))

/* What a life ends with, or does before its end. */
enum life {
	EXIT,
	EXIT_IN_CALL,
	CRASH_IN_CALL,
	EXEC_IN_CALL,
	KILLED_IN_CALL,
	KILLED_IN_HANDLER,
	KILLED_IN_ENTRY_HANDLER,
	KILLED_IN_RETURN_HANDLER,
	KILLED_WITH_QUEUE,
	THREADS_EXIT_IN_CALL,
	LONGJMP,
	TOO_DEEP,
	FORK_IN_CALL,
	INHERIT,
	VFORK_IN_CALL,
	REMOVED_IN_CALL,
	NLIVES
};

static enum life life;

static jmp_buf back;

static long nothing(void)
{
	return 0;
}

static long jump_out(void)
{
	longjmp(back, 1);
}

static long end_thread_here(void)
{
	syscall(SYS_exit, 0);
	return 0;
}

static void *end_inside(void *arg)
{
	call_nested(end_thread_here);
	return NULL;
}

static void wait_child(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !exited(status, 0))
		abort();
}

static long live_inside(void)
{
	static pid_t pid;

	switch (life) {
	case EXIT_IN_CALL:
		_exit(0);
	case CRASH_IN_CALL:
		abort();
	case EXEC_IN_CALL:
		execl("/bin/sh", "sh", "-c", "exit 0", NULL);
		_exit(1);
	case KILLED_IN_CALL:
	case REMOVED_IN_CALL:
		prog_stop();
		break;
	case FORK_IN_CALL:
	case INHERIT:
		pid = fork();
		if (pid)
			wait_child(pid);
		else if (call_nested(nothing) != NNESTED)
			_exit(1);
		break;
	case VFORK_IN_CALL:
		pid = vfork();
		if (!pid)
			_exit(call_nested(nothing) != NNESTED);
		wait_child(pid);
		break;
	default:
		break;
	}
	return 0;
}

static void live(void)
{
	char buf[64];

	fill(buf);
	if (life == LONGJMP && !setjmp(back))
		call_nested(jump_out);
	if (life == THREADS_EXIT_IN_CALL)
		run_threads(end_inside, 3);
	if (life == TOO_DEEP && deep(300) != 300)
		_exit(1);
	if (call_nested(live_inside) != NNESTED)
		_exit(1);
}

static int end_of(enum life life)
{
	switch (life) {
	case CRASH_IN_CALL:
		return SIGABRT;
	case KILLED_IN_CALL:
	case KILLED_IN_HANDLER:
	case KILLED_IN_ENTRY_HANDLER:
	case KILLED_IN_RETURN_HANDLER:
	case KILLED_WITH_QUEUE:
		return SIGKILL;
	default:
		return 0;
	}
}

/* What makes the end come: a handler that kills, as it is told. */
static int probe_end(int dev, pid_t pid)
{
	struct upt_probe req = {
		.pid = pid,
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)nested[2],
		.entry = true,
		.entry_kind = UPT_SIGNAL,
		.entry_arg = SIGKILL,
		.data_size = 100,
	};
	struct upt_step step = {
		.when = UPT_AT_ENTRY,
		.kind = UPT_SIGNAL,
		.arg = SIGKILL,
	};
	int id, target;

	switch (life) {
	case KILLED_IN_HANDLER:
		return probe_kind(dev, pid, fill_rep, UPT_SIGNAL, SIGKILL);
	case KILLED_IN_ENTRY_HANDLER:
		return upt_register(dev, &req);
	case KILLED_IN_RETURN_HANDLER:
		return probe_ret_kind(dev, pid, nested[2], UPT_SIGNAL,
				      SIGKILL);
	case KILLED_WITH_QUEUE:
		id = idle_probe(dev, pid, nested[3]);
		target = idle_probe(dev, pid, add);
		add_step(dev, id, UPT_AT_ENTRY, UPT_DO_REGISTER, target);
		target = idle_ret(dev, pid, add);
		add_step(dev, id, UPT_AT_ENTRY, UPT_DO_REGISTER, target);
		add_step(dev, id, UPT_AT_ENTRY, UPT_DO_UNREGISTER, id);
		step.id = id;
		upt_step(dev, &step);
		return upt_op(dev, UPT_REGISTER_AGAIN, id);
	case TOO_DEEP:
		return probe_ret(dev, pid, deep);
	default:
		return probe_ret(dev, pid, add);
	}
}

/*
 * Returns false if it did not go as it has to. The module is there, and to load
 * it once more would leave kernel memory behind that is freed some time later.
 */
static bool one_life(int nth)
{
	int dev = open("/dev/" UPT_MODULE, O_RDWR | O_CLOEXEC), status, i;
	struct nested_ids ids;
	bool good;
	pid_t pid;

	life = nth % NLIVES;
	pid = start_prog(live);
	good = dev >= 0 && probe(dev, pid, fill_rep) >= 0 &&
		!probe_nested(dev, pid,
			      life == INHERIT ? UPROBE_FLAG_INHERIT : 0,
			      &ids) &&
		probe_end(dev, pid) >= 0;
	status = run_prog(pid);
	if (WIFSTOPPED(status)) {
		if (life == REMOVED_IN_CALL) {
			for (i = 0; i < NNESTED; i++)
				unprobe(dev, ids.id[i]);
			status = run_prog(pid);
		} else {
			status = end_prog(pid);
		}
	}
	good &= end_of(life) ? killed(status, end_of(life)) :
			       exited(status, 0);
	if (!good)
		printf("# life %d, of kind %d: status %x\n", nth, life, status);
	/* Some objects are removed by hand, the others with the device */
	if (nth / NLIVES % 2) {
		for (i = 0; i < NNESTED; i++)
			unprobe(dev, ids.id[i]);
	}
	close(dev);
	return good;
}

/* Slab caches, as they are in /proc/slabinfo. */
#define MAX_CACHES	512

struct caches {
	int n;
	struct {
		char name[48];
		long active;
	} cache[MAX_CACHES];
};

static bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good;

	if (fd < 0)
		return false;
	good = write(fd, text, strlen(text)) > 0;
	close(fd);
	return good;
}

static bool read_caches(struct caches *c)
{
	FILE *f = fopen("/proc/slabinfo", "re");
	char line[512];

	c->n = 0;
	if (!f)
		return false;
	while (c->n < MAX_CACHES && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%47s %ld", c->cache[c->n].name,
			   &c->cache[c->n].active) == 2)
			c->n++;
	}
	fclose(f);
	return c->n;
}

/* Only then are objects that are free on one CPU's list counted as free. */
static void shrink_caches(const struct caches *c)
{
	char path[128];
	int i;

	write_to("/proc/sys/vm/drop_caches", "2");
	for (i = 0; i < c->n; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink",
			 c->cache[i].name);
		write_to(path, "1");
	}
}

static long active(const struct caches *c, const char *name)
{
	int i;

	for (i = 0; i < c->n; i++) {
		if (!strcmp(c->cache[i].name, name))
			return c->cache[i].active;
	}
	return -1;
}

static bool is_own(const char *name)
{
	size_t i;

	for (i = 0; i < OWN_CACHES; i++) {
		if (!strcmp(name, own_caches[i]))
			return true;
	}
	return false;
}

/* Kept for later by what a debug kernel watches objects with. */
static bool is_of_debugging(const char *name)
{
	return !strcmp(name, "debug_objects_cache") ||
	       !strncmp(name, "kmemleak_", 9);
}

/* Caches with more objects than before, by more than chance allows. */
static int count_grown(const struct caches *before,
		       const struct caches *after, bool tell)
{
	const char *name;
	long growth, limit;
	int i, n = 0;

	for (i = 0; i < after->n; i++) {
		name = after->cache[i].name;
		growth = after->cache[i].active - active(before, name);
		limit = is_own(name) ? 0 : LIVES / 10;
		if (growth <= limit || is_of_debugging(name))
			continue;
		n++;
		if (tell)
			printf("# %s has grown by %ld objects to %ld\n", name,
			       growth, after->cache[i].active);
	}
	return n;
}

static long percpu_kb(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[256];
	long kb = -1;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Percpu: %ld", &kb) == 1)
			break;
	}
	fclose(f);
	return kb;
}

static void live_all(struct __test_metadata *_metadata, int lives)
{
	int i, bad = 0;

	for (i = 0; i < lives; i++)
		bad += !one_life(i);
	EXPECT_EQ(0, bad);
}

/* What is freed behind a grace period needs a while. */
static void settle(struct caches *c)
{
	int i;

	for (i = 0; i < 5; i++) {
		sleep_ms(200);
		shrink_caches(c);
	}
	read_caches(c);
}

TEST_F_TIMEOUT(uprobes, thousand_lives, 600)
{
	static struct caches before, after;
	long percpu;
	size_t i;
	int tries;

	ASSERT_TRUE(read_caches(&before))
		TH_LOG("no /proc/slabinfo: CONFIG_SLUB_DEBUG is needed");
	for (i = 0; i < OWN_CACHES; i++) {
		ASSERT_LE(0, active(&before, own_caches[i]))
			TH_LOG("no cache is named %s", own_caches[i]);
	}
	live_all(_metadata, WARM_UP);
	settle(&before);
	percpu = percpu_kb();

	live_all(_metadata, LIVES);
	after = before;
	for (tries = 0; tries < 10; tries++) {
		settle(&after);
		if (!count_grown(&before, &after, false))
			break;
	}
	EXPECT_EQ(0, count_grown(&before, &after, true));
	for (i = 0; i < OWN_CACHES; i++) {
		TH_LOG("%s: %ld before, %ld after", own_caches[i],
		       active(&before, own_caches[i]),
		       active(&after, own_caches[i]));
		EXPECT_EQ(active(&before, own_caches[i]),
			  active(&after, own_caches[i]));
	}
	/* The counters of hits alone would be more than that */
	EXPECT_GT(percpu + 64, percpu_kb());
}
