// SPDX-License-Identifier: GPL-2.0-only
/* Text: where breakpoints can be put, and what is left when they are gone. */
#include <fcntl.h>

#include "fixture.h"
#include "probed.h"

enum {
	CODE = SHM_FREE,
	RESULT2,
};

/*
 * All programs here make some code, tell where, and stop; call it as
 * add(1, 2) and stop, over and over.
 */
static void run_code(char *code)
{
	shm[CODE] = (long)code;
	for (;;) {
		prog_stop();
		shm[SHM_RESULT] = ((add_fn)fn_at(code))(1, 2);
	}
}

static char *code_of(pid_t pid)
{
	run_prog(pid);
	return (char *)shm[CODE];
}

static long result_of(pid_t pid)
{
	shm[SHM_RESULT] = -1;
	return WIFSTOPPED(run_prog(pid)) ? shm[SHM_RESULT] : -2;
}

/* One probe: hit once, result right; afterwards memory is as before. */
static void check_code_of(struct __test_metadata *_metadata, int dev,
			  int (*probe)(int dev, pid_t pid, const void *addr),
			  void (*body)(void), size_t size, long result)
{
	char before[2 * PAGE_SZ], after[2 * PAGE_SZ];
	pid_t pid = start_prog(body);
	char *code = code_of(pid);
	int id;

	ASSERT_EQ(0, read_mem(pid, code, before, size));
	EXPECT_EQ(result, result_of(pid));
	id = probe(dev, pid, code);
	ASSERT_LE(0, id);
	EXPECT_EQ(result, result_of(pid));
	EXPECT_EQ(result, result_of(pid));
	EXPECT_EQ(2, hits(dev, id));
	unprobe(dev, id);
	ASSERT_EQ(0, read_mem(pid, code, after, size));
	EXPECT_EQ(0, memcmp(before, after, size));
	EXPECT_EQ(result, result_of(pid));
	EXPECT_EQ(2, hits(dev, id));
	end_prog(pid);
}

/* The same for the return of the function that starts there. */
static void check_code(struct __test_metadata *_metadata, int dev,
		       void (*body)(void), size_t size, long result)
{
	check_code_of(_metadata, dev, probe, body, size, result);
	check_code_of(_metadata, dev, probe_ret, body, size, result);
}

static void code_in_text(void)
{
	run_code((char *)entry_of(add));
}

/* In the text of the program. */
TEST_F(uprobes, file)
{
	check_code(_metadata, self->dev, code_in_text, ADD_SIZE, 3);
}

static void code_in_rwx(void)
{
	run_code(map_add(NULL, RWX, MAP_PRIVATE));
}

/* C1: generated code in memory that stays writable. */
TEST_F(uprobes, c1_anonymous_rwx)
{
	check_code(_metadata, self->dev, code_in_rwx, PAGE_SZ, 3);
}

static void code_in_rx(void)
{
	run_code(map_add(NULL, RX, MAP_PRIVATE));
}

/* C1: generated code that was made executable by mprotect. */
TEST_F(uprobes, c1_mprotect_rx)
{
	check_code(_metadata, self->dev, code_in_rx, PAGE_SZ, 3);
}

static void code_in_execute_only(void)
{
	run_code(map_add(NULL, PROT_EXEC, MAP_PRIVATE));
}

/* Generated code that the program itself cannot read, where CPUs allow that. */
TEST_F(uprobes, execute_only)
{
	check_code(_metadata, self->dev, code_in_execute_only, PAGE_SZ, 3);
}

static void code_in_private_file(void)
{
	run_code(map_add_file(RWX, MAP_PRIVATE));
}

/* C1: a private and writable mapping of a file. */
TEST_F(uprobes, c1_private_file)
{
	check_code(_metadata, self->dev, code_in_private_file, PAGE_SZ, 3);
}

static void code_in_written_file(void)
{
	char *code = map_add_file(RWX, MAP_PRIVATE);

	code[PAGE_SZ - 1] = 42;
	run_code(code);
}

/* A page that the program has written to keeps what it wrote. */
TEST_F(uprobes, written_page)
{
	check_code(_metadata, self->dev, code_in_written_file, PAGE_SZ, 3);
}

static void code_in_shared_file(void)
{
	run_code(map_add_file(RX, MAP_SHARED));
}

static void code_in_shared_memory(void)
{
	run_code(map_add(NULL, RX, MAP_SHARED));
}

/* C1, C4: memory that is shared with others is refused, not ignored. */
TEST_F(uprobes, c1_shared)
{
	pid_t pid = start_prog(code_in_shared_file);

	EXPECT_EQ(-EOPNOTSUPP, probe(self->dev, pid, code_of(pid)));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_TRUE(is_add(pid, (char *)shm[CODE]));

	pid = start_prog(code_in_shared_memory);
	EXPECT_EQ(-EOPNOTSUPP, probe(self->dev, pid, code_of(pid)));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_TRUE(is_add(pid, (char *)shm[CODE]));
}

/* Where instructions have any length and place */
#if !INSNS_ARE_WORDS	/* they have any length and place */
/* Memory of two pages, with code and its offset in it; a third is no one's. */
static char *place_code(const void *insns, size_t size, size_t offset)
{
	char *pages = mmap(NULL, 3 * PAGE_SZ, RWX,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		abort();
	munmap(pages + 2 * PAGE_SZ, PAGE_SZ);
	memcpy(pages + offset, insns, size);
	return pages + offset;
}

/* mov $0x11223345, %eax; ret */
static const unsigned char long_mov[] = {
	0xb8, 0x45, 0x33, 0x22, 0x11, 0xc3
};

static void code_across_pages(void)
{
	run_code(place_code(long_mov, sizeof(long_mov), PAGE_SZ - 3));
}

/* An instruction across two pages. */
TEST_F(uprobes, page_crossing)
{
	check_code(_metadata, self->dev, code_across_pages, sizeof(long_mov),
		   0x11223345);
}

/* nopw %cs:0(%rax, %rax); mov $2, %eax; ret */
static const unsigned char long_nop[] = {
	0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xb8, 2, 0, 0, 0, 0xc3
};

static void nop_across_pages(void)
{
	run_code(place_code(long_nop, sizeof(long_nop), PAGE_SZ - 3));
}

/* An emulated instruction across two pages. */
TEST_F(uprobes, page_crossing_nop)
{
	check_code(_metadata, self->dev, nop_across_pages, sizeof(long_nop), 2);
}

static const unsigned char ret_insn[] = { 0xc3 };

static void ret_at_end(void)
{
	char *ret = place_code(ret_insn, 1, 2 * PAGE_SZ - 1);

	shm[CODE] = (long)ret;
	for (;;) {
		prog_stop();
		((void_fn)fn_at(ret))();
		shm[SHM_RESULT] = 5;
	}
}

/* The last byte of a mapping. */
TEST_F(uprobes, last_byte)
{
	check_code(_metadata, self->dev, ret_at_end, 1, 5);
}

/* mov $3, %eax; ret; jmp to the first one, from the very end */
static const unsigned char jmp_back[] = {
	0xb8, 3, 0, 0, 0, 0xc3, 0xeb, 0xf8
};

static void jmp_at_end(void)
{
	run_code(place_code(jmp_back, 8, 2 * PAGE_SZ - 8) + 6);
}

/* A branch whose last byte is the last one of a mapping. */
TEST_F(uprobes, last_two_bytes)
{
	check_code(_metadata, self->dev, jmp_at_end, 2, 3);
}

static void mov_cut_off(void)
{
	run_code(place_code(long_mov, 3, 2 * PAGE_SZ - 3));
}

/* An instruction that is not there to its end is refused. */
TEST_F(uprobes, cut_off)
{
	pid_t pid = start_prog(mov_cut_off);

	EXPECT_EQ(-EINVAL, probe(self->dev, pid, code_of(pid)));
}

static int rest_prot;

static void mov_with_other_rest(void)
{
	char *code = place_code(long_mov, sizeof(long_mov), PAGE_SZ - 3);

	if (mprotect(code + 3, PAGE_SZ, rest_prot))
		abort();
	run_code(code);
}

/* ... and one of which the CPU would not fetch the rest. */
static void check_rest(struct __test_metadata *_metadata, int dev, int prot)
{
	pid_t pid;

	rest_prot = prot;
	pid = start_prog(mov_with_other_rest);
	EXPECT_EQ(-EINVAL, probe(dev, pid, code_of(pid)));
}

TEST_F(uprobes, half_readable)
{
	check_rest(_metadata, self->dev, PROT_NONE);
}

TEST_F(uprobes, half_executable)
{
	check_rest(_metadata, self->dev, PROT_READ | PROT_WRITE);
}
#endif

#define HUGE_SZ		(2UL << 20)

static void code_in_huge_page(void)
{
	char *mem = mmap(NULL, 2 * HUGE_SZ, RWX, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	if (mem == MAP_FAILED)
		abort();
	mem = (char *)(((uintptr_t)mem + HUGE_SZ - 1) & -HUGE_SZ);
	madvise(mem, HUGE_SZ, MADV_HUGEPAGE);
	memset(mem, 0, HUGE_SZ);
	mem += HUGE_SZ / 2 + 100;
	put_code(mem, add, ADD_SIZE);
	run_code(mem);
}

#define THP_ENABLED	"/sys/kernel/mm/transparent_hugepage/enabled"

static bool write_thp(const char *mode)
{
	FILE *f = fopen(THP_ENABLED, "we");

	return f && fputs(mode, f) >= 0 && !fclose(f);
}

/* The mode is the word in brackets. */
static bool read_thp(char mode[16])
{
	FILE *f = fopen(THP_ENABLED, "re");
	bool found = f && fscanf(f, "%*[^[][%15[^]]", mode) == 1;

	if (f)
		fclose(f);
	return found;
}

/* A machine with little memory has huge pages switched off. */
FIXTURE(thp) {
	int dev;
	char mode[16];
};

FIXTURE_SETUP(thp)
{
	memset(shm, 0, SHM_SIZE);
	ASSERT_TRUE(read_thp(self->mode));
	ASSERT_TRUE(write_thp("madvise"));
	self->dev = upt_open(UPT_MODULE);
	ASSERT_LE(0, self->dev);
}

FIXTURE_TEARDOWN(thp)
{
	close(self->dev);
	EXPECT_TRUE(write_thp(self->mode));
}

/* The middle of a huge page. */
TEST_F(thp, huge_page)
{
	pid_t pid = start_prog(code_in_huge_page);

	EXPECT_EQ((long)(HUGE_SZ >> 10),
		  smaps_kb(pid, code_of(pid), "AnonHugePages"));
	end_prog(pid);
	check_code(_metadata, self->dev, code_in_huge_page, PAGE_SZ, 3);
}

static void code_in_locked_memory(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		abort();
	run_code((char *)entry_of(add));
}

/* A program whose memory is locked. */
TEST_F(uprobes, locked_memory)
{
	check_code(_metadata, self->dev, code_in_locked_memory, ADD_SIZE, 3);
}

static void untouched_memory(void)
{
	shm[CODE] = (long)mmap(NULL, PAGE_SZ, RX, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	prog_stop();
}

/* Memory that was never touched reads as zeros again. */
TEST_F(uprobes, zero_page)
{
	pid_t pid = start_prog(untouched_memory);
	char page[PAGE_SZ], zeros[PAGE_SZ] = { 0 };
	char *code = code_of(pid);
	int id = probe(self->dev, pid, code);

	ASSERT_LE(0, id);
	ASSERT_EQ(0, read_mem(pid, code, page, PAGE_SZ));
	EXPECT_NE(0, memcmp(page, zeros, PAGE_SZ));
	unprobe(self->dev, id);
	ASSERT_EQ(0, read_mem(pid, code, page, PAGE_SZ));
	EXPECT_EQ(0, memcmp(page, zeros, PAGE_SZ));
}

static void code_that_changes(void)
{
	char *code = map_add(NULL, RWX, MAP_PRIVATE);

	shm[CODE] = (long)code;
	prog_stop();
	shm[SHM_RESULT] = ((add_fn)fn_at(code))(1, 2);
	put_code(code, sub, SUB_SIZE);	/* with its ret */
	prog_stop();
	shm[SHM_RESULT] = ((add_fn)fn_at(code))(1, 2);
	prog_stop();
	shm[RESULT2] = ((add_fn)fn_at(code))(1, 2);
}

/* A program that overwrites the probed instruction: its bytes win. */
TEST_F(uprobes, overwritten)
{
	pid_t pid = start_prog(code_that_changes);
	char *code = code_of(pid);
	int id = probe(self->dev, pid, code);
	char now[SUB_SIZE];

	ASSERT_LE(0, id);
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, hits(self->dev, id));
	EXPECT_EQ(-1, result_of(pid));
	EXPECT_EQ(1, hits(self->dev, id));
	unprobe(self->dev, id);
	ASSERT_EQ(0, read_mem(pid, code, now, sizeof(now)));
	EXPECT_EQ(0, memcmp(now, entry_of(sub), sizeof(now)));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(-1, shm[RESULT2]);
}

static char *changing_code;

static long overwrite(void)
{
	put_code(changing_code, sub, SUB_SIZE);
	return 42;
}

static void code_that_changes_in_call(void)
{
	changing_code = map_add(NULL, RWX, MAP_PRIVATE);
	put_code(changing_code, tail_call, TAIL_CALL_SIZE);
	shm[CODE] = (long)changing_code;
	prog_stop();
	shm[SHM_RESULT] = ((tail_fn)fn_at(changing_code))(overwrite);
	prog_stop();
	shm[SHM_RESULT] = ((add_fn)fn_at(changing_code))(1, 2);
	prog_stop();
}

/* A function that is overwritten inside of its call: that returns all right. */
TEST_F(uprobes, overwritten_in_call)
{
	pid_t pid = start_prog(code_that_changes_in_call);
	char *code = code_of(pid), now[SUB_SIZE];
	int id = probe_ret(self->dev, pid, code);

	ASSERT_LE(0, id);
	EXPECT_EQ(42, result_of(pid));
	EXPECT_EQ(1, entries(self->dev, id));
	EXPECT_EQ(1, hits(self->dev, id) + missed(self->dev, id));
	EXPECT_EQ(-1, result_of(pid));
	EXPECT_EQ(1, entries(self->dev, id));
	unprobe(self->dev, id);
	ASSERT_EQ(0, read_mem(pid, code, now, sizeof(now)));
	EXPECT_EQ(0, memcmp(now, entry_of(sub), sizeof(now)));
}

/*
 * Two probes of one page: it is private as long as one of them is there. The
 * field Anonymous of smaps tells; Private_Dirty would count pages of the file
 * as well where the file system, as in the guest, keeps them dirty.
 */
TEST_F(uprobes, shared_again)
{
	pid_t pid = start_prog(code_in_text);
	char *code = code_of(pid);
	long before = smaps_kb(pid, code, "Anonymous");
	int one, two;

	one = probe(self->dev, pid, add_ret);
	two = probe_ret(self->dev, pid, add);
	ASSERT_LE(0, one);
	ASSERT_LE(0, two);
	EXPECT_EQ(before + 4, smaps_kb(pid, code, "Anonymous"));
	unprobe(self->dev, one);
	EXPECT_EQ(before + 4, smaps_kb(pid, code, "Anonymous"));
	EXPECT_EQ(3, result_of(pid));
	EXPECT_EQ(1, hits(self->dev, two));
	unprobe(self->dev, two);
	EXPECT_EQ(before, smaps_kb(pid, code, "Anonymous"));
	EXPECT_EQ(3, result_of(pid));
}

#define NPROGS		3

static void call_pages(void)
{
	int i;

	for (;;) {
		for (i = 0; i < NPAGES; i++)
			((void_fn)fn_at(pages + i * PAGE_SZ))();
		prog_stop();
	}
}

/* C18: probes on 100 pages of three processes: all pages are given back. */
TEST_F_TIMEOUT(uprobes, c18_pages_given_back, 60)
{
	int ids[NPROGS][NPAGES], i, p;
	long before[NPROGS];
	pid_t pids[NPROGS];

	for (p = 0; p < NPROGS; p++) {
		pids[p] = start_prog(call_pages);
		run_prog(pids[p]);
		before[p] = smaps_kb(pids[p], pages, "Anonymous");
		ASSERT_LE(0, before[p]);
		for (i = 0; i < NPAGES; i++) {
			ids[p][i] = probe(self->dev, pids[p],
					  pages + i * PAGE_SZ);
			ASSERT_LE(0, ids[p][i]);
		}
		EXPECT_TRUE(WIFSTOPPED(run_prog(pids[p])));
		EXPECT_EQ(before[p] + 4 * NPAGES,
			  smaps_kb(pids[p], pages, "Anonymous"));
	}
	for (p = 0; p < NPROGS; p++) {
		for (i = 0; i < NPAGES; i++) {
			EXPECT_EQ(1, hits(self->dev, ids[p][i]));
			unprobe(self->dev, ids[p][i]);
		}
		EXPECT_EQ(before[p],
			  smaps_kb(pids[p], pages, "Anonymous"));
		EXPECT_TRUE(WIFSTOPPED(run_prog(pids[p])));
	}
}
