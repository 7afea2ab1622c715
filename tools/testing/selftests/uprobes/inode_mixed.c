// SPDX-License-Identifier: GPL-2.0-only
/* Probes of files beside probes of one process. */
#include <unistd.h>

#include "fixture.h"
#include "mapped.h"

FIXTURE(mixed) {
	int dev;	/* of probes of a process */
	int files;
};

FIXTURE_SETUP(mixed)
{
	self->dev = open_device(_metadata);
	self->files = open_files_device(_metadata);
}

FIXTURE_TEARDOWN(mixed)
{
	close_device(_metadata, self->dev);
	close(self->files);
}

/* A probe of either scope, of the call's entry or of its return. */
struct pair {
	int process;
	int file;
};

static void add_pair(struct __test_metadata *_metadata, int dev, int files,
		     pid_t pid, bool at_return, bool file_first,
		     struct pair *pair)
{
	int (*of_process)(int dev, pid_t pid, const void *addr) =
		at_return ? probe_ret : probe;
	int (*of_file)(int dev, int file, __u64 offset) =
		at_return ? probe_file_ret : probe_file;

	if (file_first)
		pair->file = of_file(files, file, ADD_AT);
	pair->process = of_process(dev, pid, code());
	if (!file_first)
		pair->file = of_file(files, file, ADD_AT);
	ASSERT_LE(0, pair->process);
	ASSERT_LE(0, pair->file);
}

static long pair_file_hits(int files, const struct pair *pair, bool at_return)
{
	return at_return ? file_returns(files, pair->file) :
			   file_hits(files, pair->file);
}

/* Two processes; that of the process probe is the first one. */
static void check_mixed(struct __test_metadata *_metadata, int dev, int files,
			bool at_return, bool file_first, bool file_goes_first)
{
	pid_t pid = start_mapped(call_add), other = start_mapped(call_add);
	struct pair pair;

	add_pair(_metadata, dev, files, pid, at_return, file_first, &pair);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(3, result_of(other));
	EXPECT_EQ(1, hits(dev, pair.process));
	EXPECT_EQ(2, pair_file_hits(files, &pair, at_return));

	if (file_goes_first)
		unprobe_file(files, pair.file);
	else
		unprobe(dev, pair.process);
	EXPECT_TRUE(has_breakpoint(pid, code()));
	EXPECT_EQ(file_goes_first, is_clean(other));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(3, result_of(other));
	EXPECT_EQ(file_goes_first ? 2 : 1, hits(dev, pair.process));
	EXPECT_EQ(file_goes_first ? 2 : 4,
		  pair_file_hits(files, &pair, at_return));

	unprobe_file(files, pair.file);
	unprobe(dev, pair.process);
	EXPECT_TRUE(is_clean(pid));
	EXPECT_TRUE(is_clean(other));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(file_goes_first ? 2 : 1, hits(dev, pair.process));
	EXPECT_EQ(0, missed(dev, pair.process));
	end_prog(pid);
	end_prog(other);
}

/* Either comes first, either goes first. */
TEST_F(mixed, entry)
{
	int i;

	for (i = 0; i < 4; i++)
		check_mixed(_metadata, self->dev, self->files, false, i & 1,
			    i & 2);
}

TEST_F(mixed, ret)
{
	int i;

	for (i = 0; i < 4; i++)
		check_mixed(_metadata, self->dev, self->files, true, i & 1,
			    i & 2);
}

/* Entries and returns of both, all at one call. */
TEST_F(mixed, entry_and_ret)
{
	pid_t pid = start_mapped(call_add);
	struct pair entry, ret;
	struct upi_state state;

	add_pair(_metadata, self->dev, self->files, pid, false, false, &entry);
	add_pair(_metadata, self->dev, self->files, pid, true, true, &ret);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, hits(self->dev, entry.process));
	EXPECT_EQ(1, entries(self->dev, ret.process));
	EXPECT_EQ(1, hits(self->dev, ret.process));
	EXPECT_EQ(1, file_hits(self->files, entry.file));
	state = upi_read(self->files, ret.file);
	EXPECT_EQ(1, state.returns);
	EXPECT_EQ(3, state.value);
	EXPECT_EQ((uintptr_t)code(), state.func);
}

/* fork(): the child keeps that of the file. */
static void check_mixed_fork(struct __test_metadata *_metadata, int dev,
			     int files, bool file_first)
{
	pid_t pid = start_mapped(call_in_child);
	struct pair pair;

	add_pair(_metadata, dev, files, pid, false, file_first, &pair);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, hits(dev, pair.process));
	EXPECT_EQ(2, file_hits(files, pair.file));
	EXPECT_TRUE(has_breakpoint(shm[CHILD], code()));
	unprobe_file(files, pair.file);
	EXPECT_TRUE(is_clean(shm[CHILD]));
	EXPECT_TRUE(has_breakpoint(pid, code()));
	shm[GO] = true;
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, hits(dev, pair.process));
	EXPECT_EQ(0, shm[BAD]);
	end_prog(pid);
	shm[CHILD] = 0;
	shm[GO] = 0;
}

TEST_F(mixed, fork)
{
	check_mixed_fork(_metadata, self->dev, self->files, false);
	check_mixed_fork(_metadata, self->dev, self->files, true);
}

/* A child that inherits has both. */
TEST_F(mixed, fork_inherit)
{
	pid_t pid = start_mapped(call_in_child);
	struct upt_probe req = {
		.pid = pid,
		.vaddr = (uintptr_t)code(),
		.flags = UPROBE_FLAG_INHERIT,
	};
	int id = probe_file(self->files, file, ADD_AT);

	ASSERT_LE(0, id);
	ASSERT_EQ(0, upt_register(self->dev, &req));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, hits(self->dev, req.id));
	EXPECT_EQ(2, file_hits(self->files, id));
	unprobe_file(self->files, id);
	EXPECT_TRUE(has_breakpoint(shm[CHILD], code()));
	shm[GO] = true;
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(3, hits(self->dev, req.id));
	EXPECT_EQ(2, file_hits(self->files, id));
	EXPECT_EQ(0, shm[BAD]);
}

/* One of two return probes goes while the call is in progress. */
static void check_mixed_in_call(struct __test_metadata *_metadata, int dev,
				int files, bool file_goes)
{
	pid_t pid = start_mapped(stop_in_calls);
	int of_process = probe_ret(dev, pid, nested[1]);
	int of_file = probe_file_ret(files, own_file(), file_offset(nested[1]));

	ASSERT_LE(0, of_process);
	ASSERT_LE(0, of_file);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	if (file_goes)
		unprobe_file(files, of_file);
	else
		unprobe(dev, of_process);
	EXPECT_EQ(NNESTED, result_of(pid));
	EXPECT_EQ(file_goes, hits(dev, of_process));
	EXPECT_EQ(!file_goes, file_returns(files, of_file));
	unprobe_file(files, of_file);
	end_prog(pid);
}

TEST_F(mixed, removed_in_call)
{
	check_mixed_in_call(_metadata, self->dev, self->files, false);
	check_mixed_in_call(_metadata, self->dev, self->files, true);
}

/* A handler that makes the thread go on elsewhere: the others have run. */
TEST_F(mixed, set_ip)
{
	pid_t pid = start_mapped(call_add);
	int of_file = probe_file(self->files, file, ADD_AT);
	int id = probe_kind(self->dev, pid, code(), UPT_SET_IP,
			    (uintptr_t)code() - ADD_AT + SUB_AT);

	ASSERT_LE(0, of_file);
	ASSERT_LE(0, id);
	EXPECT_EQ(-1, result_of(pid));
	EXPECT_EQ(1, hits(self->dev, id));
	EXPECT_EQ(1, file_hits(self->files, of_file));
}

/* UPROBE_HANDLER_REMOVE is about the file's probe. */
TEST_F(mixed, handler_remove)
{
	pid_t pid = start_mapped(call_add);
	int id = probe(self->dev, pid, code());
	int of_file = probe_filtered(self->files, UPI_REMOVE, UPI_ALL, 0);

	ASSERT_LE(0, id);
	ASSERT_LE(0, of_file);
	set_filter(self->files, of_file, UPI_NOBODY, 0);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, hits(self->dev, id));
	EXPECT_EQ(1, file_hits(self->files, of_file));
	unprobe(self->dev, id);
	EXPECT_TRUE(is_clean(pid));
}

/* A disabled probe of the process does not disable the file's. */
TEST_F(mixed, disabled)
{
	pid_t pid = start_mapped(call_add);
	struct pair pair;

	add_pair(_metadata, self->dev, self->files, pid, false, false, &pair);
	EXPECT_EQ(0, upt_op(self->dev, UPT_DISABLE, pair.process));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(0, hits(self->dev, pair.process));
	EXPECT_EQ(1, file_hits(self->files, pair.file));
	EXPECT_EQ(0, upt_op(self->dev, UPT_ENABLE, pair.process));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, hits(self->dev, pair.process));
	EXPECT_EQ(2, file_hits(self->files, pair.file));
}

/* What makes a process' probe gone does not do that to the file's. */
static void check_mixed_changes(struct __test_metadata *_metadata, int dev,
				int files, void (*body)(void), int calls)
{
	pid_t pid = start_mapped(body);
	const void *first = code();
	struct list_line line;
	struct pair pair;
	int i;

	add_pair(_metadata, dev, files, pid, false, false, &pair);
	for (i = 1; i <= calls; i++) {
		EXPECT_EQ(3, result_of(pid));
		EXPECT_EQ(1, hits(dev, pair.process));
		EXPECT_EQ(i, file_hits(files, pair.file));
	}
	ASSERT_TRUE(list_find(pid, first, &line));
	EXPECT_TRUE(line.gone);
	EXPECT_EQ(1, line.hits);
	EXPECT_EQ(calls, listed(ADD_AT, "hits="));
	unprobe(dev, pair.process);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(calls + 1, file_hits(files, pair.file));
	unprobe_file(files, pair.file);
	EXPECT_TRUE(is_clean(pid));
	end_prog(pid);
}

TEST_F(mixed, madv_dontneed)
{
	check_mixed_changes(_metadata, self->dev, self->files, drop_page, 4);
}

TEST_F(mixed, mremap_move)
{
	check_mixed_changes(_metadata, self->dev, self->files, move_text, 4);
}

TEST_F(mixed, mapped_over)
{
	check_mixed_changes(_metadata, self->dev, self->files, map_over, 4);
}

/* What stays sees all, whatever of the other scope comes and goes. */
TEST_F(mixed, blinking)
{
	pid_t pid = start_mapped(crowd);
	struct pair stays, blinks;
	int i;

	add_pair(_metadata, self->dev, self->files, pid, false, true, &stays);
	add_pair(_metadata, self->dev, self->files, pid, true, true, &blinks);
	cont_prog(pid);
	for (i = 0; i < NROUNDS; i++) {
		unprobe_file(self->files, blinks.file);
		usleep(i % 20 * 100);
		unprobe(self->dev, blinks.process);
		ASSERT_EQ(0, probe_file_again(self->files, blinks.file));
		usleep(i % 10 * 100);
		ASSERT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN,
				    blinks.process));
	}
	shm[STOP] = true;
	EXPECT_TRUE(WIFSTOPPED(wait_prog(pid)));
	EXPECT_EQ(0, shm[BAD]);
	EXPECT_EQ(shm[ADDS], hits(self->dev, stays.process));
	EXPECT_EQ(shm[ADDS], file_hits(self->files, stays.file));
	EXPECT_LT(0, file_returns(self->files, blinks.file));
	EXPECT_LT(0, hits(self->dev, blinks.process));
}

/* The only one there is, of one scope and then of the other. */
TEST_F(mixed, taking_turns)
{
	pid_t pid = start_mapped(crowd);
	long sum = 0;
	int id, of_file, i;

	of_file = probe_file(self->files, file, ADD_AT);
	ASSERT_LE(0, of_file);
	cont_prog(pid);
	for (i = 0; i < NROUNDS; i++) {
		id = probe(self->dev, pid, code());
		ASSERT_LE(0, id);
		unprobe_file(self->files, of_file);
		usleep(i % 20 * 100);
		ASSERT_EQ(0, probe_file_again(self->files, of_file));
		unprobe(self->dev, id);
		sum += hits(self->dev, id);
	}
	shm[STOP] = true;
	EXPECT_TRUE(WIFSTOPPED(wait_prog(pid)));
	EXPECT_EQ(0, shm[BAD]);
	EXPECT_GE(shm[ADDS], sum);
	EXPECT_LE(shm[ADDS], sum + file_hits(self->files, of_file));
	unprobe_file(self->files, of_file);
	EXPECT_TRUE(is_clean(pid));
}
