// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs of 32 bits on a kernel of 64: prog32 is probed at every instruction
 * that it knows of, and must not notice.
 */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sys/prctl.h>

#include "fixture.h"
#include "prog32.h"

#define MAX_POINTS	512

static struct prog32_point table[MAX_POINTS];
static int nr_entries;

/* Starts a program that is beside this one, and reads its table. */
static pid_t start_other(const char *name)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int out[2];
	pid_t pid;

	if (len < 0 || pipe(out))
		return -1;
	path[len] = '\0';
	dirname(path);
	strncat(path, "/", sizeof(path) - strlen(path) - 1);
	strncat(path, name, sizeof(path) - strlen(path) - 1);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], STDOUT_FILENO);
		execl(path, name, NULL);
		_exit(1);
	}
	close(out[1]);
	len = read(out[0], table, sizeof(table));
	close(out[0]);
	nr_entries = len / (ssize_t)sizeof(table[0]);
	return nr_entries > 0 ? pid : -1;
}

static const void *addr_of(int i)
{
	return (const void *)(uintptr_t)table[i].addr;
}

/* Each is hit as often as the program says; an id below 0 is none. */
static void expect_hits(struct __test_metadata *_metadata, int dev,
			const int *ids)
{
	int i;

	for (i = 0; i < nr_entries; i++) {
		if (ids[i] < 0)
			continue;
		EXPECT_EQ(table[i].times, hits(dev, ids[i]))
			TH_LOG("%d at %p", i, addr_of(i));
		EXPECT_EQ(0, missed(dev, ids[i]));
	}
}

/* Every instruction. */
TEST_F(uprobes, every_instruction)
{
	int ids[MAX_POINTS], i;
	pid_t pid = start_other("prog32");

	ASSERT_LT(0, pid);
	ASSERT_TRUE(WIFSTOPPED(wait_prog(pid)));
	for (i = 0; i < nr_entries; i++) {
		ids[i] = probe(self->dev, pid, addr_of(i));
		EXPECT_LE(0, ids[i])
			TH_LOG("%d at %p", i, addr_of(i));
	}
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	expect_hits(_metadata, self->dev, ids);
	EXPECT_TRUE(exited(run_prog(pid), PROG32_SAME));
}

/* Every function: entries and returns, and a fork among them. */
TEST_F(uprobes, every_return)
{
	int ids[MAX_POINTS], i;
	pid_t pid = start_other("prog32");

	ASSERT_LT(0, pid);
	ASSERT_TRUE(WIFSTOPPED(wait_prog(pid)));
	for (i = 0; i < nr_entries; i++) {
		ids[i] = -1;
		if (!(table[i].flags & PROG32_FUNCTION))
			continue;
		ids[i] = probe_ret(self->dev, pid, addr_of(i));
		EXPECT_LE(0, ids[i]);
	}
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	expect_hits(_metadata, self->dev, ids);
	EXPECT_TRUE(exited(run_prog(pid), PROG32_SAME));
}

/* Both at once, removed while the program runs. */
TEST_F(uprobes, removed_while_running)
{
	int ids[MAX_POINTS], rets[MAX_POINTS], i;
	pid_t pid = start_other("prog32");

	ASSERT_LT(0, pid);
	ASSERT_TRUE(WIFSTOPPED(wait_prog(pid)));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	for (i = 0; i < nr_entries; i++) {
		ids[i] = probe(self->dev, pid, addr_of(i));
		rets[i] = table[i].flags & PROG32_FUNCTION ?
			  probe_ret(self->dev, pid, addr_of(i)) : -1;
		EXPECT_LE(0, ids[i]);
	}
	cont_prog(pid);
	EXPECT_TRUE(wait_hits(self->dev, ids[0]));
	for (i = 0; i < nr_entries; i++) {
		EXPECT_EQ(0, unprobe(self->dev, ids[i]));
		if (rets[i] >= 0)
			EXPECT_EQ(0, unprobe(self->dev, rets[i]));
	}
	EXPECT_TRUE(exited(wait_prog(pid), PROG32_SAME));
}

/* Exceptions find their way over calls with return probes. */
TEST_F(uprobes, exceptions)
{
	int ids[MAX_POINTS], i;
	pid_t pid = start_other("throw32");

	ASSERT_LT(0, pid);
	ASSERT_TRUE(WIFSTOPPED(wait_prog(pid)));
	for (i = 0; i < nr_entries; i++) {
		ids[i] = probe_ret(self->dev, pid, addr_of(i));
		ASSERT_LE(0, ids[i]);
	}
	EXPECT_TRUE(exited(run_prog(pid), PROG32_SAME));
	for (i = 0; i < nr_entries; i++) {
		bool returns = table[i].flags & PROG32_FUNCTION;

		EXPECT_EQ(table[i].times, entries(self->dev, ids[i]));
		EXPECT_EQ(returns ? table[i].times : 0,
			  hits(self->dev, ids[i]));
		EXPECT_EQ(returns ? 0 : table[i].times,
			  missed(self->dev, ids[i]));
	}
}

/* A debugger sees text and stack without us. */
TEST_F(uprobes, memory_as_it_is)
{
	unsigned long start, end;
	pid_t pid = start_other("prog32");
	__u8 before[16], after[16];

	ASSERT_LT(0, pid);
	ASSERT_TRUE(WIFSTOPPED(wait_prog(pid)));
	ASSERT_EQ(0, peek_mem(pid, addr_of(0), before, sizeof(before)));
	ASSERT_LE(0, probe(self->dev, pid, addr_of(0)));
	ASSERT_LE(0, probe_ret(self->dev, pid, addr_of(0)));
	ASSERT_EQ(0, peek_mem(pid, addr_of(0), after, sizeof(after)));
	EXPECT_EQ(0, memcmp(before, after, sizeof(before)));
	/* Where the program can reach it */
	ASSERT_TRUE(find_map(pid, "[uprobes]", &start, &end));
	EXPECT_GE(UINT_MAX, end);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_TRUE(exited(run_prog(pid), PROG32_SAME));
}
