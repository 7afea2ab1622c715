// SPDX-License-Identifier: GPL-2.0-only
/* Probes of files: the mappings that have them, and the words that count them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "mapped.h"

/*
 * Mappings
 */

#define MANY	20

/* Many processes that map it already. */
TEST_F(inode, many_processes)
{
	pid_t pids[MANY];
	int id, i;

	for (i = 0; i < MANY; i++)
		pids[i] = start_mapped(call_add);
	id = probe_file(self->dev, file, ADD_AT);
	ASSERT_LE(0, id);
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(3, result_of(pids[i]));
	EXPECT_EQ(MANY, file_hits(self->dev, id));
	unprobe_file(self->dev, id);
	for (i = 0; i < MANY; i++)
		EXPECT_TRUE(is_clean(pids[i]));
}

/* Processes that map it later, and end before the probe does. */
TEST_F(inode, later)
{
	int id = probe_file(self->dev, file, ADD_AT), i;
	pid_t pid;

	ASSERT_LE(0, id);
	for (i = 1; i <= 3; i++) {
		pid = start_mapped(call_add);
		EXPECT_TRUE(has_breakpoint(pid, code()));
		EXPECT_EQ(3, result_of(pid));
		EXPECT_EQ(i, file_hits(self->dev, id));
		end_prog(pid);
	}
	pid = start_mapped(call_add);
	unprobe_file(self->dev, id);
	EXPECT_TRUE(is_clean(pid));
}

/* A file in which something is probed that no one maps, and is not. */
TEST_F(inode, other_file)
{
	int id = probe_file(self->dev, file, ADD_AT), other;
	pid_t pid;

	ASSERT_LE(0, id);
	make_file();
	pid = start_mapped(call_add);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_TRUE(is_clean(pid));
	other = probe_file(self->dev, file, ADD_AT);
	ASSERT_LE(0, other);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(0, file_hits(self->dev, id));
	EXPECT_EQ(1, file_hits(self->dev, other));
}

static void role_add(void)
{
	_exit(add(1, 2) != 3);
}

static void exec_add(void)
{
	exec_self(role_add);
}

#define NEXECS	30

/* exec() of the file. */
TEST_F(inode, exec)
{
	int id = probe_file(self->dev, own_file(), file_offset(add));
	int ret = probe_file_ret(self->dev, own_file(), file_offset(add));
	int i;

	ASSERT_LE(0, id);
	ASSERT_LE(0, ret);
	for (i = 1; i <= 3; i++) {
		EXPECT_TRUE(exited(run_prog(start_prog(exec_add)), 0));
		EXPECT_EQ(i, file_hits(self->dev, id));
		EXPECT_EQ(i, file_returns(self->dev, ret));
	}
}

static void exec_often(void)
{
	int i;

	for (i = 0; i < NEXECS; i++) {
		pid_t pid = fork_child();

		if (!pid)
			exec_add();
		wait_child(pid);
	}
}

/* ... while another probe of the file comes and goes. */
TEST_F(inode, exec_blinking)
{
	int steady = probe_file(self->dev, own_file(), file_offset(add));
	int id = probe_file_ret(self->dev, own_file(), file_offset(add));
	pid_t pid = start_prog(exec_often);
	int status;

	ASSERT_LE(0, steady);
	ASSERT_LE(0, id);
	cont_prog(pid);
	while (!waitpid(pid, &status, WNOHANG)) {
		unprobe_file(self->dev, id);
		usleep(1000);
		ASSERT_EQ(0, probe_file_again(self->dev, id));
	}
	EXPECT_TRUE(exited(status, 0));
	EXPECT_EQ(0, shm[BAD]);
	EXPECT_EQ(NEXECS, file_hits(self->dev, steady));
}

static void call_twice(void)
{
	char *one = map_text() + ADD_AT, *two = map_text() + ADD_AT;

	for (;;) {
		call_once(one);
		shm[SHM_RESULT] += call(two);
	}
}

/* Two mappings in one process. */
TEST_F(inode, mapped_twice)
{
	pid_t pid = start_mapped(call_twice);
	int id = probe_file(self->dev, file, ADD_AT);

	ASSERT_LE(0, id);
	EXPECT_EQ(6, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
	unprobe_file(self->dev, id);
	EXPECT_TRUE(is_clean(pid));
	EXPECT_EQ(6, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
}

/*
 * Each of a program's calls is one hit, whatever it does before that; when the
 * probe is gone, its page is the file's again.
 */
static void check_calls(struct __test_metadata *_metadata, int dev, pid_t pid,
			int id, int calls)
{
	int i;

	for (i = 1; i <= calls; i++) {
		EXPECT_EQ(3, result_of(pid));
		EXPECT_EQ(i, file_hits(dev, id))
			TH_LOG("call %d", i);
	}
	unprobe_file(dev, id);
	EXPECT_TRUE(is_clean(pid));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(calls, file_hits(dev, id));
	end_prog(pid);
}

/* With a probe that is older than the mapping, and with one that is not. */
static void check_changes(struct __test_metadata *_metadata, int dev,
			  void (*body)(void), int calls)
{
	pid_t pid = start_prog(body);
	int id = probe_file(dev, file, ADD_AT);

	ASSERT_LE(0, id);
	run_prog(pid);
	check_calls(_metadata, dev, pid, id, calls);

	pid = start_mapped(body);
	id = probe_file(dev, file, ADD_AT);
	ASSERT_LE(0, id);
	check_calls(_metadata, dev, pid, id, calls);
}

static void executable_later(void)
{
	char *text = map_pages(0, 3, PROT_READ, MAP_PRIVATE);

	prog_stop();
	protect(text, 0, 3, RX);
	call_for_ever(text + ADD_AT);
}

/* Memory that is made executable when it is there. */
TEST_F(inode, executable_later)
{
	pid_t pid = start_prog(executable_later);
	int id = probe_file(self->dev, file, ADD_AT);

	ASSERT_LE(0, id);
	run_prog(pid);
	run_prog(pid);
	check_calls(_metadata, self->dev, pid, id, 2);

	pid = start_mapped(executable_later);
	id = probe_file(self->dev, file, ADD_AT);
	ASSERT_LE(0, id);
	run_prog(pid);
	check_calls(_metadata, self->dev, pid, id, 2);
}

static void relocated(void)
{
	char *text = map_pages(0, 3, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	text[PAGE_SZ - 1] = 42;
	protect(text, 0, 3, RX);
	call_for_ever(text + ADD_AT);
}

/* Memory that is made executable after the program has written to it. */
TEST_F(inode, relocated)
{
	check_changes(_metadata, self->dev, relocated, 2);
}

static void read_it(void)
{
	call_for_ever(map_pages(0, 3, PROT_READ, MAP_PRIVATE) + ADD_AT);
}

/* A program that reads the file reads what is in it. */
TEST_F(inode, not_executable)
{
	pid_t pid = start_mapped(read_it);
	int id = probe_file(self->dev, file, ADD_AT);

	ASSERT_LE(0, id);
	EXPECT_TRUE(is_clean(pid));
	pid = start_mapped(read_it);
	EXPECT_TRUE(is_clean(pid));
}

static void execute_only(void)
{
	call_for_ever((char *)map_pages(0, 3, PROT_EXEC, MAP_PRIVATE) + ADD_AT);
}

/* Text that the program itself cannot read, where CPUs allow that. */
TEST_F(inode, execute_only)
{
	check_changes(_metadata, self->dev, execute_only, 2);
}

static void locked(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		abort();
	call_add();
}

/* A program whose memory is locked. */
TEST_F(inode, locked)
{
	check_changes(_metadata, self->dev, locked, 2);
}

static void split_and_merge(void)
{
	char *text = map_text();

	call_once(text + ADD_AT);
	protect(text, 0, 1, PROT_READ);
	call_once(text + ADD_AT);
	protect(text, 2, 1, PROT_READ);
	call_once(text + ADD_AT);
	protect(text, 0, 1, RX);
	protect(text, 2, 1, RX);
	call_once(text + ADD_AT);
	protect(text, 0, 3, PROT_NONE);
	protect(text, 0, 3, RX);
	call_once(text + ADD_AT);
	protect(text, 1, 1, PROT_READ);
	protect(text, 1, 1, RX);
	call_for_ever(text + ADD_AT);
}

/* mprotect() of the neighbours, and of the page. */
TEST_F(inode, split_and_merge)
{
	check_changes(_metadata, self->dev, split_and_merge, 7);
}

static void writable_meanwhile(void)
{
	char *text = map_text();

	call_once(text + ADD_AT);
	protect(text, 0, 3, RWX);
	protect(text, 0, 3, RX);
	call_for_ever(text + ADD_AT);
}

/* Text that is writable for a while, and not written to. */
TEST_F(inode, writable_meanwhile)
{
	check_changes(_metadata, self->dev, writable_meanwhile, 3);
}

static void grow(void)
{
	char *text = map_text();

	munmap(text + PAGE_SZ, 2 * PAGE_SZ);
	prog_stop();
	if (mremap(text, PAGE_SZ, TEXT_SIZE, 0) != text)
		abort();
	call_for_ever(text + ADD_AT);
}

static void grow_and_move(void)
{
	char *text = map_pages(0, 1, RX, MAP_PRIVATE), *to = map_text();

	prog_stop();
	if (mremap(text, PAGE_SZ, TEXT_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   to) != to)
		abort();
	call_for_ever(to + ADD_AT);
}

static void check_grown(struct __test_metadata *_metadata, int dev,
			void (*body)(void))
{
	pid_t pid = start_mapped(body);
	int id = probe_file(dev, file, ADD_AT);

	ASSERT_LE(0, id);
	run_prog(pid);
	check_calls(_metadata, dev, pid, id, 2);
}

/* mremap() that makes a mapping larger, so that the text is in it. */
TEST_F(inode, mremap_grow)
{
	check_grown(_metadata, self->dev, grow);
}

TEST_F(inode, mremap_grow_and_move)
{
	check_grown(_metadata, self->dev, grow_and_move);
}

/* mremap() to another place, first of all, then of the page. */
TEST_F(inode, mremap_move)
{
	check_changes(_metadata, self->dev, move_text, 4);
}

static void dup_text(void)
{
	char *text = map_text();
	void *to = mmap(NULL, TEXT_SIZE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	call_once(text + ADD_AT);
	if (mremap(text, TEXT_SIZE, TEXT_SIZE, MREMAP_MAYMOVE |
		   MREMAP_DONTUNMAP | MREMAP_FIXED, to) != to)
		abort();
	call_once(text + ADD_AT);
	call_for_ever((char *)to + ADD_AT);
}

/* mremap() that leaves the mapping where it was, to be read anew. */
TEST_F(inode, mremap_dontunmap)
{
	check_changes(_metadata, self->dev, dup_text, 3);
}

static void unmap_neighbours(void)
{
	char *text = map_text();

	call_once(text + ADD_AT);
	munmap(text, PAGE_SZ);
	call_once(text + ADD_AT);
	munmap(text + 2 * PAGE_SZ, PAGE_SZ);
	call_for_ever(text + ADD_AT);
}

/* munmap() of the pages around. */
TEST_F(inode, munmap_neighbours)
{
	check_changes(_metadata, self->dev, unmap_neighbours, 4);
}

/* A program that drops the page, and reads it anew. */
TEST_F(inode, madv_dontneed)
{
	check_changes(_metadata, self->dev, drop_page, 4);
}

/* The file in place of itself. */
TEST_F(inode, mapped_over)
{
	check_changes(_metadata, self->dev, map_over, 4);
}

#define NDROPS		200

static void drop_and_call(void)
{
	char *text = map_text();
	int i;

	prog_stop();
	for (i = 0; i < NDROPS; i++) {
		if (madvise(text + PAGE_SZ, PAGE_SZ, MADV_DONTNEED))
			abort();
		if (call(text + ADD_AT) != 3)
			add_to(BAD, 1);
	}
	prog_stop();
}

/* The same at once, without time to think. */
TEST_F(inode, madv_dontneed_often)
{
	pid_t pid = start_mapped(drop_and_call);
	int id = probe_file(self->dev, file, ADD_AT);

	ASSERT_LE(0, id);
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(0, shm[BAD]);
	EXPECT_EQ(NDROPS, file_hits(self->dev, id));
}

static void map_copy_over(void)
{
	char *text = map_text();

	call_once(text + ADD_AT);
	text = mmap(text, TEXT_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	put_code(text + ADD_AT, add, ADD_SIZE);
	protect(text, 0, 3, RX);
	call_once(text + ADD_AT);
	call_for_ever(map_text() + ADD_AT);
}

/* Something else in place of the file, which looks like it. */
TEST_F(inode, replaced)
{
	pid_t pid = start_mapped(map_copy_over);
	int id = probe_file(self->dev, file, ADD_AT);
	char *copy = code();

	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, file_hits(self->dev, id));
	EXPECT_TRUE(is_add(pid, copy));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
	unprobe_file(self->dev, id);
	EXPECT_TRUE(is_add(pid, copy));
	EXPECT_TRUE(is_clean(pid));
}

static void write_near(void)
{
	char *text = map_text();

	call_once(text + ADD_AT);
	protect(text, 1, 1, PROT_READ | PROT_WRITE);
	text[PAGE_SZ] = 42;
	protect(text, 1, 1, RX);
	call_for_ever(text + ADD_AT);
}

/* A debugger is shown what is in the file. */
TEST_F(inode, debugger)
{
	pid_t pid = start_mapped(call_add);
	int id = probe_file(self->dev, file, ADD_AT);
	char bytes[ADD_SIZE];

	ASSERT_LE(0, id);
	ASSERT_EQ(0, peek_mem(pid, code(), bytes, ADD_SIZE));
	EXPECT_EQ(0, memcmp(bytes, entry_of(add), ADD_SIZE));
	ASSERT_EQ(0, read_mem(pid, code(), bytes, ADD_SIZE));
	EXPECT_NE(0, memcmp(bytes, entry_of(add), ADD_SIZE));
}

/* One that puts a breakpoint there, and takes it away again. */
TEST_F(inode, debugger_breakpoint)
{
	const opcode_t breakpoint = BREAKPOINT;
	pid_t pid = start_mapped(call_add);
	int id = probe_file(self->dev, file, ADD_AT);

	ASSERT_LE(0, id);
	ASSERT_EQ(0, write_mem(pid, code(), &breakpoint, sizeof(breakpoint)));
	ASSERT_EQ(0, write_mem(pid, code(), entry_of(add), sizeof(breakpoint)));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, file_hits(self->dev, id));
	ASSERT_EQ(0, write_mem(pid, code(), &breakpoint, sizeof(breakpoint)));
	unprobe_file(self->dev, id);
	ASSERT_EQ(0, write_mem(pid, code(), entry_of(add), sizeof(breakpoint)));
	EXPECT_TRUE(is_add(pid, code()));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, file_hits(self->dev, id));
}

/* A page that the program has written to: what it wrote stays. */
TEST_F(inode, written_page)
{
	pid_t pid = start_mapped(write_near);
	int id = probe_file(self->dev, file, ADD_AT);
	char *page = (char *)code() - ADD_AT + PAGE_SZ, byte;

	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
	unprobe_file(self->dev, id);
	EXPECT_TRUE(is_add(pid, code()));
	ASSERT_EQ(0, read_mem(pid, page, &byte, 1));
	EXPECT_EQ(42, byte);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
}

static void call_writable(void)
{
	call_for_ever(map_pages(0, 3, RWX, MAP_PRIVATE) + ADD_AT);
}

static void call_shared(void)
{
	call_for_ever(map_pages(0, 3, RX, MAP_SHARED) + ADD_AT);
}

static void call_shared_writable(void)
{
	call_for_ever(map_pages(0, 3, RWX, MAP_SHARED) + ADD_AT);
}

/* What a probe does not cover, it counts; the file is not touched. */
static void check_uncovered(struct __test_metadata *_metadata, int dev,
			    void (*body)(void))
{
	pid_t pid = start_mapped(body);
	int id = probe_file(dev, file, ADD_AT);
	char bytes[ADD_SIZE];

	ASSERT_LE(0, id);
	EXPECT_EQ(1, listed(ADD_AT, "uncovered="));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(0, file_hits(dev, id));
	pid = start_mapped(body);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(0, file_hits(dev, id));
	EXPECT_EQ(2, listed(ADD_AT, "uncovered="));
	ASSERT_EQ(ADD_SIZE, pread(file, bytes, ADD_SIZE, ADD_AT));
	EXPECT_EQ(0, memcmp(bytes, entry_of(add), ADD_SIZE));
	unprobe_file(dev, id);
	EXPECT_EQ(-1, listed(ADD_AT, "uncovered="));
}

/* Shared memory. */
TEST_F(inode, shared)
{
	check_uncovered(_metadata, self->dev, call_shared);
}

TEST_F(inode, shared_writable)
{
	check_uncovered(_metadata, self->dev, call_shared_writable);
}

static void map_more(void)
{
	char *text = map_pages(0, 3, RX, MAP_SHARED);
	int i;

	for (i = 0; i < 5; i++) {
		munmap(map_text(), TEXT_SIZE);
		protect(text, 0, 1, i % 2 ? RX : PROT_READ);
	}
	call_for_ever(text + ADD_AT);
}

/* It is one, whatever else the program maps. */
TEST_F(inode, shared_once)
{
	int id = probe_file(self->dev, file, ADD_AT);
	pid_t pid;

	ASSERT_LE(0, id);
	pid = start_mapped(map_more);
	EXPECT_EQ(1, listed(ADD_AT, "uncovered="));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(0, file_hits(self->dev, id));
}

/* The file has another instruction there when it is mapped: it is not probed. */
TEST_F(inode, changed_later)
{
	int id = probe_file(self->dev, file, ADD_AT);
	pid_t pid;

	ASSERT_LE(0, id);
	put_function(ADD_AT, halt, 4);
	pid = start_mapped(call_sub);
	EXPECT_EQ(-1, result_of(pid));
	EXPECT_TRUE(is_clean(pid));
	EXPECT_EQ(1, listed(ADD_AT, "uncovered="));
}

/* Text that stays writable: its page may stay the program's own. */
TEST_F(inode, writable)
{
	int id = probe_file(self->dev, file, ADD_AT);
	pid_t pid;

	ASSERT_LE(0, id);
	pid = start_mapped(call_writable);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, file_hits(self->dev, id));
	unprobe_file(self->dev, id);
	EXPECT_TRUE(is_add(pid, code()));

	ASSERT_EQ(0, probe_file_again(self->dev, id));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
	unprobe_file(self->dev, id);
	EXPECT_TRUE(is_add(pid, code()));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
}

/*
 * Semaphores
 */

static int probe_with_semaphore(int dev, __u64 offset, __u64 semaphore)
{
	struct upi_probe req = {
		.fd = file,
		.handlers = UPI_ENTRY,
		.offset = offset,
		.ref_ctr_offset = semaphore,
	};

	return probe_file_as(dev, &req);
}

static int semaphore_at(pid_t pid, long addr)
{
	short value = -1;

	read_mem(pid, (void *)addr, &value, sizeof(value));
	return value;
}

/* Of the program that was started last, or of one that is like it. */
static int semaphore_of(pid_t pid)
{
	return semaphore_at(pid, shm[SEMAPHORE]);
}

static void map_semaphore(void)
{
	char *data = map_pages(3, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	shm[SEMAPHORE] = (long)data + SEMAPHORE_AT % PAGE_SZ;
}

static void text_and_semaphore(void)
{
	char *text = map_text();

	map_semaphore();
	call_for_ever(text + ADD_AT);
}

static void semaphore_and_text(void)
{
	map_semaphore();
	call_for_ever(map_text() + ADD_AT);
}

static void check_semaphore(struct __test_metadata *_metadata, int dev,
			    void (*body)(void))
{
	pid_t pid = start_mapped(body), later;
	long semaphore = shm[SEMAPHORE];
	int id;

	EXPECT_EQ(0, semaphore_of(pid));
	id = probe_with_semaphore(dev, ADD_AT, SEMAPHORE_AT);
	ASSERT_LE(0, id);
	EXPECT_EQ(1, semaphore_of(pid));
	later = start_mapped(body);
	EXPECT_EQ(1, semaphore_of(later));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(3, result_of(later));
	EXPECT_EQ(2, file_hits(dev, id));
	unprobe_file(dev, id);
	EXPECT_EQ(0, semaphore_at(pid, semaphore));
	EXPECT_EQ(0, semaphore_of(later));
	EXPECT_TRUE(is_clean(pid));
	EXPECT_TRUE(is_clean(later));
}

/* Counts the probes of a process, where it has it in memory. */
TEST_F(inode, semaphore)
{
	check_semaphore(_metadata, self->dev, text_and_semaphore);
}

TEST_F(inode, semaphore_first)
{
	check_semaphore(_metadata, self->dev, semaphore_and_text);
}

static void semaphore_later(void)
{
	char *fn = map_text() + ADD_AT;

	call_once(fn);
	map_semaphore();
	call_for_ever(fn);
}

/* It is mapped when the probe is there already. */
TEST_F(inode, semaphore_later)
{
	pid_t pid = start_mapped(semaphore_later);
	int id = probe_with_semaphore(self->dev, ADD_AT, SEMAPHORE_AT);

	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, semaphore_of(pid));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
	unprobe_file(self->dev, id);
	EXPECT_EQ(0, semaphore_of(pid));
}

/* Two consumers of one probe, and a second probe with the same semaphore. */
TEST_F(inode, semaphore_shared)
{
	pid_t pid = start_mapped(text_and_semaphore);
	int ids[3];

	ids[0] = probe_with_semaphore(self->dev, ADD_AT, SEMAPHORE_AT);
	ASSERT_LE(0, ids[0]);
	EXPECT_EQ(1, semaphore_of(pid));
	ids[1] = probe_with_semaphore(self->dev, ADD_AT, SEMAPHORE_AT);
	ASSERT_LE(0, ids[1]);
	EXPECT_EQ(1, semaphore_of(pid));
	ids[2] = probe_with_semaphore(self->dev, SUB_AT, SEMAPHORE_AT);
	ASSERT_LE(0, ids[2]);
	EXPECT_EQ(2, semaphore_of(pid));
	unprobe_file(self->dev, ids[0]);
	EXPECT_EQ(2, semaphore_of(pid));
	unprobe_file(self->dev, ids[1]);
	EXPECT_EQ(1, semaphore_of(pid));
	unprobe_file(self->dev, ids[2]);
	EXPECT_EQ(0, semaphore_of(pid));
}

/* Processes that the filter does not want do not count either. */
TEST_F(inode, semaphore_filtered)
{
	pid_t one = start_mapped(text_and_semaphore);
	pid_t other = start_mapped(text_and_semaphore);
	struct upi_probe req = {
		.fd = file,
		.handlers = UPI_ENTRY,
		.offset = ADD_AT,
		.ref_ctr_offset = SEMAPHORE_AT,
		.whom = { UPI_ONLY, one },
	};
	int id = probe_file_as(self->dev, &req);

	ASSERT_LE(0, id);
	EXPECT_EQ(1, semaphore_of(one));
	EXPECT_EQ(0, semaphore_of(other));
	EXPECT_EQ(0, apply_filter(self->dev, id, UPI_ALL, 0, true));
	EXPECT_EQ(1, semaphore_of(one));
	EXPECT_EQ(1, semaphore_of(other));
	EXPECT_EQ(0, apply_filter(self->dev, id, UPI_ONLY, other, false));
	EXPECT_EQ(0, semaphore_of(one));
	EXPECT_EQ(1, semaphore_of(other));
	unprobe_file(self->dev, id);
	EXPECT_EQ(0, semaphore_of(other));
}

static void fork_semaphore(void)
{
	char *fn = map_text() + ADD_AT;

	map_semaphore();
	call_once(fn);
	if (!fork_child()) {
		shm[SHM_RESULT] = call(fn);
		shm[CHILD] = getpid();
		wait_for(STOP);
		_exit(0);
	}
	wait_for(CHILD);
	call_for_ever(fn);
}

/* A child has copied it, with the breakpoint that it counts. */
TEST_F(inode, semaphore_fork)
{
	pid_t pid = start_mapped(fork_semaphore);
	int id = probe_with_semaphore(self->dev, ADD_AT, SEMAPHORE_AT);

	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
	EXPECT_EQ(1, semaphore_of(pid));
	EXPECT_EQ(1, semaphore_of(shm[CHILD]));
	unprobe_file(self->dev, id);
	EXPECT_EQ(0, semaphore_of(pid));
	EXPECT_EQ(0, semaphore_of(shm[CHILD]));
}

static void twice_and_semaphore(void)
{
	map_semaphore();
	call_twice();
}

/* Each of two mappings counts, until the probe goes. */
TEST_F(inode, semaphore_mapped_twice)
{
	pid_t pid = start_mapped(twice_and_semaphore);
	int id = probe_with_semaphore(self->dev, ADD_AT, SEMAPHORE_AT);

	ASSERT_LE(0, id);
	EXPECT_EQ(2, semaphore_of(pid));
	EXPECT_EQ(6, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
	unprobe_file(self->dev, id);
	EXPECT_EQ(0, semaphore_of(pid));
}

static void unmap_semaphore(void)
{
	char *fn = map_text() + ADD_AT;

	map_semaphore();
	call_once(fn);
	if (munmap((void *)(shm[SEMAPHORE] & -PAGE_SZ), PAGE_SZ))
		abort();
	call_for_ever(fn);
}

/* It is gone when the probe goes. */
TEST_F(inode, semaphore_unmapped)
{
	pid_t pid = start_mapped(unmap_semaphore);
	int id = probe_with_semaphore(self->dev, ADD_AT, SEMAPHORE_AT);

	ASSERT_LE(0, id);
	EXPECT_EQ(1, semaphore_of(pid));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(3, result_of(pid));
	unprobe_file(self->dev, id);
	EXPECT_TRUE(is_clean(pid));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, file_hits(self->dev, id));
}

/* UPROBE_HANDLER_REMOVE: the process is not probed any more. */
TEST_F(inode, semaphore_handler_remove)
{
	pid_t pid = start_mapped(text_and_semaphore);
	struct upi_probe req = {
		.fd = file,
		.handlers = UPI_ENTRY,
		.offset = ADD_AT,
		.ref_ctr_offset = SEMAPHORE_AT,
		.kind = UPI_REMOVE,
		.whom = { UPI_ALL, 0 },
	};
	int id = probe_file_as(self->dev, &req);

	ASSERT_LE(0, id);
	EXPECT_EQ(1, semaphore_of(pid));
	set_filter(self->dev, id, UPI_NOBODY, 0);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(0, semaphore_of(pid));
	unprobe_file(self->dev, id);
	EXPECT_EQ(0, semaphore_of(pid));
}

static void set_semaphore(pid_t pid, short value)
{
	if (write_mem(pid, (void *)shm[SEMAPHORE], &value, sizeof(value)))
		abort();
}

/* The program has made something else of it: it is left as it is. */
TEST_F(inode, semaphore_overwritten)
{
	pid_t pid = start_mapped(text_and_semaphore);
	int id;

	set_semaphore(pid, SHRT_MAX);
	id = probe_with_semaphore(self->dev, ADD_AT, SEMAPHORE_AT);
	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, file_hits(self->dev, id));
	EXPECT_EQ(SHRT_MAX, semaphore_of(pid));
	unprobe_file(self->dev, id);
	EXPECT_EQ(SHRT_MAX, semaphore_of(pid));

	set_semaphore(pid, 0);
	ASSERT_EQ(0, probe_file_again(self->dev, id));
	EXPECT_EQ(1, semaphore_of(pid));
	set_semaphore(pid, 0);
	unprobe_file(self->dev, id);
	EXPECT_EQ(0, semaphore_of(pid));
}

/* A filter that does not want the child: it gets neither. */
TEST_F(inode, semaphore_fork_filtered)
{
	pid_t pid = start_mapped(fork_semaphore);
	struct upi_probe req = {
		.fd = file,
		.handlers = UPI_ENTRY,
		.offset = ADD_AT,
		.ref_ctr_offset = SEMAPHORE_AT,
		.whom = { UPI_ONLY, pid },
	};
	int id = probe_file_as(self->dev, &req);

	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, file_hits(self->dev, id));
	EXPECT_EQ(1, semaphore_of(pid));
	EXPECT_EQ(0, semaphore_of(shm[CHILD]));
	EXPECT_TRUE(is_clean(shm[CHILD]));
}

static void move_semaphore(void)
{
	char *fn = map_text() + ADD_AT;

	map_semaphore();
	call_once(fn);
	shm[SEMAPHORE] = (long)move((char *)shm[SEMAPHORE] -
				    SEMAPHORE_AT % PAGE_SZ, 0, 1) +
			 SEMAPHORE_AT % PAGE_SZ;
	call_for_ever(fn);
}

/* mremap() of the semaphore. */
TEST_F(inode, semaphore_moved)
{
	pid_t pid = start_mapped(move_semaphore);
	int id = probe_with_semaphore(self->dev, ADD_AT, SEMAPHORE_AT);

	ASSERT_LE(0, id);
	EXPECT_EQ(1, semaphore_of(pid));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, semaphore_of(pid));
	unprobe_file(self->dev, id);
	EXPECT_EQ(0, semaphore_of(pid));
}

static void drop_semaphore(void)
{
	char *fn = map_text() + ADD_AT;

	map_semaphore();
	call_once(fn);
	if (madvise((void *)(shm[SEMAPHORE] & -PAGE_SZ), PAGE_SZ,
		    MADV_DONTNEED))
		abort();
	call_for_ever(fn);
}

/* It is read anew from the file, where it is 0. */
TEST_F(inode, semaphore_dropped)
{
	pid_t pid = start_mapped(drop_semaphore);
	int id = probe_with_semaphore(self->dev, ADD_AT, SEMAPHORE_AT);

	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, semaphore_of(pid));
	unprobe_file(self->dev, id);
	EXPECT_EQ(0, semaphore_of(pid));
}

#define NCHILDREN	20

enum {
	CHILDREN = FORKS + 1,	/* so many pids */
};

static void fork_many(void)
{
	char *fn = map_text() + ADD_AT;
	int i;

	map_semaphore();
	call_once(fn);
	for (i = 0; i < NCHILDREN; i++) {
		pid_t pid = fork_child();

		if (!pid) {
			for (;;)
				pause();
		}
		shm[CHILDREN + i] = pid;
		shm[CHILD] = i + 1;
		usleep(1000);
	}
	prog_stop();
}

static void check_children(struct __test_metadata *_metadata, int semaphore)
{
	int i;

	for (i = 0; i < NCHILDREN; i++) {
		EXPECT_EQ(semaphore, semaphore_of(shm[CHILDREN + i]))
			TH_LOG("child %d", i);
		EXPECT_EQ(!semaphore, is_clean(shm[CHILDREN + i]));
	}
}

/* Children are made while probes come and go: all have what is right at last. */
TEST_F(inode, semaphore_fork_blinking)
{
	pid_t pid = start_mapped(fork_many);
	int id = probe_with_semaphore(self->dev, ADD_AT, SEMAPHORE_AT);

	ASSERT_LE(0, id);
	cont_prog(pid);
	do {
		unprobe_file(self->dev, id);
		usleep(500);
		ASSERT_EQ(0, probe_file_again(self->dev, id));
	} while (look_at(CHILD) < NCHILDREN);
	EXPECT_TRUE(WIFSTOPPED(wait_prog(pid)));
	EXPECT_EQ(1, semaphore_of(pid));
	check_children(_metadata, 1);
	unprobe_file(self->dev, id);
	EXPECT_EQ(0, semaphore_of(pid));
	check_children(_metadata, 0);
}

/* Only the semaphore is there, and no text that it could be asked by. */
TEST_F(inode, semaphore_alone)
{
	pid_t pid = start_prog(text_and_semaphore);
	char *data = map_pages(3, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	int id = probe_with_semaphore(self->dev, ADD_AT, SEMAPHORE_AT);

	ASSERT_LE(0, id);
	run_prog(pid);
	EXPECT_EQ(1, semaphore_of(pid));
	EXPECT_EQ(0, data[SEMAPHORE_AT % PAGE_SZ]);
	unprobe_file(self->dev, id);
	EXPECT_EQ(0, data[SEMAPHORE_AT % PAGE_SZ]);
}

/* It belongs to the probe, and is a word of two bytes. */
TEST_F(inode, bad_semaphore)
{
	int id = probe_with_semaphore(self->dev, ADD_AT, SEMAPHORE_AT);

	ASSERT_LE(0, id);
	EXPECT_EQ(-EINVAL, probe_with_semaphore(self->dev, SUB_AT,
						SEMAPHORE_AT + 1));
	EXPECT_EQ(-EINVAL, probe_with_semaphore(self->dev, ADD_AT,
						SEMAPHORE_AT + 2));
	EXPECT_EQ(-EINVAL, probe_file(self->dev, file, ADD_AT));
	unprobe_file(self->dev, id);
	id = probe_with_semaphore(self->dev, ADD_AT, SEMAPHORE_AT + 2);
	EXPECT_LE(0, id);
}

/*
 * Text in huge pages
 */

#define HUGE_DIR	"/tmp/huge"
#define HUGE_SZ		(2UL << 20)

FIXTURE(huge) {
	int dev;
};

FIXTURE_SETUP(huge)
{
	self->dev = open_files_device(_metadata);
	ASSERT_EQ(0, mkdir(HUGE_DIR, 0755));
	ASSERT_EQ(0, mount("huge", HUGE_DIR, "tmpfs", 0, "huge=always"));
	close(file);
	file = open(HUGE_DIR "/text", O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	ASSERT_LE(0, file);
	ASSERT_EQ(0, ftruncate(file, 2 * HUGE_SZ));
	put_function(ADD_AT, add, ADD_SIZE);
}

FIXTURE_TEARDOWN(huge)
{
	close(self->dev);
	close(file);
	EXPECT_EQ(0, umount(HUGE_DIR));
	EXPECT_EQ(0, rmdir(HUGE_DIR));
}

static void call_huge(void)
{
	char *mem = mmap(NULL, 2 * HUGE_SZ, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mem = (char *)(((uintptr_t)mem + HUGE_SZ - 1) & -HUGE_SZ);
	if (mmap(mem, HUGE_SZ, RX, MAP_PRIVATE | MAP_FIXED, file, 0) != mem)
		abort();
	call(mem + ADD_AT);
	call_for_ever(mem + ADD_AT);
}

TEST_F(huge, page)
{
	pid_t pid;
	int id;

#ifdef __powerpc__
	SKIP(return, "in a huge page of powerpc the probe is not hit: a fault");
#endif
	pid = start_mapped(call_huge);
	EXPECT_EQ(HUGE_SZ >> 10, smaps_kb(pid, code(), "ShmemPmdMapped") +
		  smaps_kb(pid, code(), "FilePmdMapped"));
	id = probe_file(self->dev, file, ADD_AT);
	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, file_hits(self->dev, id));
	unprobe_file(self->dev, id);
	EXPECT_TRUE(is_clean(pid));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, file_hits(self->dev, id));
	end_prog(pid);
}

/*
 * Overlays: what is mapped is a file of one of their layers.
 */

#define LAYERS		"/tmp/layers"

static void make_layer_file(const char *path)
{
	char buf[FILE_SIZE];
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);

	if (pread(file, buf, FILE_SIZE, 0) != FILE_SIZE ||
	    write(fd, buf, FILE_SIZE) != FILE_SIZE)
		abort();
	close(fd);
}

FIXTURE(overlay) {
	int dev;
};

FIXTURE_SETUP(overlay)
{
	self->dev = open_files_device(_metadata);
	ASSERT_EQ(0, mkdir(LAYERS, 0755));
	ASSERT_EQ(0, mount("layers", LAYERS, "tmpfs", 0, NULL));
	ASSERT_EQ(0, mkdir(LAYERS "/lower", 0755));
	ASSERT_EQ(0, mkdir(LAYERS "/upper", 0755));
	ASSERT_EQ(0, mkdir(LAYERS "/work", 0755));
	ASSERT_EQ(0, mkdir(LAYERS "/merged", 0755));
	make_layer_file(LAYERS "/lower/low");
	make_layer_file(LAYERS "/upper/up");
	ASSERT_EQ(0, mount("overlay", LAYERS "/merged", "overlay", 0,
			   "lowerdir=" LAYERS "/lower,upperdir=" LAYERS
			   "/upper,workdir=" LAYERS "/work"))
		TH_LOG("%s", strerror(errno));
}

FIXTURE_TEARDOWN(overlay)
{
	close(self->dev);
	/* Files that somebody still had would be in the way */
	EXPECT_EQ(0, umount(LAYERS "/merged"));
	EXPECT_EQ(0, umount(LAYERS));
	EXPECT_EQ(0, rmdir(LAYERS));
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		abort();
	return fd;
}

/* A probe of either path is hit by both, whichever is mapped. */
static void check_layers(struct __test_metadata *_metadata, int dev,
			 const char *real, const char *merged)
{
	int fds[2] = { open_file(real), open_file(merged) }, ids[2], i;
	pid_t pid;

	for (i = 0; i < 2; i++) {
		ids[i] = probe_file(dev, fds[i], ADD_AT);
		ASSERT_LE(0, ids[i]);
	}
	for (i = 0; i < 2; i++) {
		file = fds[i];
		pid = start_mapped(call_add);
		EXPECT_EQ(3, result_of(pid));
		EXPECT_EQ(i + 1, file_hits(dev, ids[0]));
		EXPECT_EQ(i + 1, file_hits(dev, ids[1]));
		if (!i)
			end_prog(pid);
	}
	unprobe_files(dev, ids[0], 2);
	EXPECT_TRUE(is_clean(pid));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(2, file_hits(dev, ids[0]));
	end_prog(pid);
	close(fds[0]);
	close(fds[1]);
}

TEST_F(overlay, lower)
{
	check_layers(_metadata, self->dev, LAYERS "/lower/low",
		     LAYERS "/merged/low");
}

TEST_F(overlay, upper)
{
	check_layers(_metadata, self->dev, LAYERS "/upper/up",
		     LAYERS "/merged/up");
}

/* A file that is copied up is another one. */
TEST_F(overlay, copied_up)
{
	int fd = open_file(LAYERS "/merged/low"), id, other;
	pid_t pid;

	id = probe_file(self->dev, fd, ADD_AT);
	ASSERT_LE(0, id);
	close(open(LAYERS "/merged/low", O_RDWR | O_CLOEXEC));
	file = open_file(LAYERS "/merged/low");
	pid = start_mapped(call_add);
	other = probe_file(self->dev, file, ADD_AT);
	ASSERT_LE(0, other);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(0, file_hits(self->dev, id));
	EXPECT_EQ(1, file_hits(self->dev, other));
	end_prog(pid);
	close(fd);
	close(file);
}
