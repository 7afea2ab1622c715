/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file to probe, and programs that map it: three pages of text and sometimes
 * one of data. To be included behind fixture.h.
 */
#ifndef _MAPPED_H
#define _MAPPED_H

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls.h"
#include "files.h"

/* It begins as programs do. Each page of text has add(), the middle one more. */
#define TEXT_SIZE	(3 * PAGE_SZ)
#define FILE_SIZE	(4 * PAGE_SZ)
#define ADD_AT		(PAGE_SZ + 64)
#define ADD_RET_AT	(ADD_AT + (add_ret - (char *)entry_of(add)))
#define SUB_AT		(PAGE_SZ + 128)
#define TAIL_CALL_AT	(PAGE_SZ + 192)
#define SEMAPHORE_AT	(3 * PAGE_SZ + 16)

enum {
	CODE = SHM_FREE,	/* where the program has what it calls */
	SEMAPHORE,		/* where it has that, if it has */
	CHILD,			/* the pid of its child, when that has run */
	GO,			/* the child may go on */
	STOP,			/* the program has to come to its end */
	BAD,			/* results that were wrong */
	ADDS,			/* calls of add() */
	SUBS_BEGUN,
	SUBS_DONE,
	FORKS,			/* returns of forks, in parents and children */
};

static int file;

static inline void put_function(__u64 offset, const void *fn, size_t size)
{
	if (pwrite(file, entry_of(fn), size, offset) != (ssize_t)size)
		abort();
}

static inline void make_file(void)
{
	int exe = own_file(), page;
	char ident[EI_NIDENT];

	file = memfd_create("text", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, FILE_SIZE))
		abort();
	if (pread(exe, ident, EI_NIDENT, 0) != EI_NIDENT ||
	    pwrite(file, ident, EI_NIDENT, 0) != EI_NIDENT)
		abort();
	close(exe);
	for (page = 0; page < 3; page++)
		put_function(page * PAGE_SZ + 64, add, ADD_SIZE);
	put_function(SUB_AT, sub, SUB_SIZE);
	put_function(TAIL_CALL_AT, tail_call, TAIL_CALL_SIZE);
}

/* With a file for the test. */
static inline int open_files_device(struct __test_metadata *_metadata)
{
	int dev;

	memset(shm, 0, SHM_SIZE);
	dev = upt_open(UPI_MODULE);
	ASSERT_LE(0, dev)
		TH_LOG("cannot open the test module's device: %s",
		       strerror(-dev));
	make_file();
	return dev;
}

FIXTURE(inode) {
	int dev;
};

FIXTURE_SETUP(inode)
{
	self->dev = open_files_device(_metadata);
}

FIXTURE_TEARDOWN(inode)
{
	close(self->dev);
}

/* Where the program has what it calls, or has just called. */
static inline void *code(void)
{
	return (void *)shm[CODE];
}

static inline long call(const void *fn)
{
	return ((add_fn)fn_at(fn))(1, 2);
}

static inline void *map_pages(int first, int n, int prot, int flags)
{
	void *pages = mmap(NULL, n * PAGE_SZ, prot, flags, file,
			   first * PAGE_SZ);

	if (pages == MAP_FAILED)
		abort();
	return pages;
}

static inline char *map_text(void)
{
	return map_pages(0, 3, RX, MAP_PRIVATE);
}

static inline void protect(char *text, int first, int n, int prot)
{
	if (mprotect(text + first * PAGE_SZ, n * PAGE_SZ, prot))
		abort();
}

static inline void *move(char *text, int first, int n)
{
	void *to = mmap(NULL, TEXT_SIZE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mremap(text + first * PAGE_SZ, n * PAGE_SZ, n * PAGE_SZ,
		   MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		abort();
	return to;
}

/* A stop, and a call. */
static inline void call_once(char *fn)
{
	shm[CODE] = (long)fn;
	prog_stop();
	shm[SHM_RESULT] = call(fn);
}

static inline void call_for_ever(char *fn)
{
	for (;;)
		call_once(fn);
}

static inline void call_add(void)
{
	call_for_ever(map_text() + ADD_AT);
}

static inline void call_sub(void)
{
	call_for_ever(map_text() + SUB_AT);
}

static inline void add_to(int index, long n)
{
	__atomic_fetch_add(&shm[index], n, __ATOMIC_SEQ_CST);
}

static inline long look_at(int index)
{
	return __atomic_load_n(&shm[index], __ATOMIC_SEQ_CST);
}

/* Only in programs, which end with the test. */
static inline void wait_for(int index)
{
	while (!look_at(index))
		sleep_ms(1);
}

static inline pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static inline void wait_child(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !exited(status, 0))
		add_to(BAD, 1);
}

/* Stops when the child has called once, and when it has ended. */
static inline void call_in_child(void)
{
	char *add = map_text() + ADD_AT;
	pid_t pid;

	call_once(add);
	pid = fork_child();
	if (!pid) {
		shm[SHM_RESULT] = call(add);
		shm[CHILD] = getpid();
		wait_for(GO);
		_exit(call(add) != 3);
	}
	wait_for(CHILD);
	prog_stop();
	wait_child(pid);
	call_for_ever(add);
}

static inline long wait_in_call(void)
{
	prog_stop();
	return 0;
}

static inline void stop_in_calls(void)
{
	for (;;) {
		prog_stop();
		shm[SHM_RESULT] = call_nested(wait_in_call);
	}
}

static inline void *add_until_stop(void *unused)
{
	long n = 0;

	while (!look_at(STOP)) {
		if (call(code()) != 3)
			add_to(BAD, 1);
		n++;
	}
	add_to(ADDS, n);
	return NULL;
}

/* Threads that call until they are told to stop; what happens to them. */
#define NTHREADS	4
#define NROUNDS		20

static inline void crowd(void)
{
	shm[CODE] = (long)map_text() + ADD_AT;
	prog_stop();
	run_threads(add_until_stop, NTHREADS);
	prog_stop();
}

/* The text goes elsewhere, first all of it, then the page. */
static inline void move_text(void)
{
	char *text = map_text();

	call_once(text + ADD_AT);
	text = move(text, 0, 3);
	call_once(text + ADD_AT);
	text = move(text, 1, 1);
	call_for_ever(text + ADD_AT - PAGE_SZ);
}

/* The page is read anew. */
static inline void drop_page(void)
{
	char *text = map_text();

	call_once(text + ADD_AT);
	if (madvise(text + PAGE_SZ, PAGE_SZ, MADV_DONTNEED))
		abort();
	call_once(text + ADD_AT);
	if (madvise(text, TEXT_SIZE, MADV_DONTNEED))
		abort();
	call_for_ever(text + ADD_AT);
}

/* The file in place of itself. */
static inline void map_over(void)
{
	char *text = map_text();

	call_once(text + ADD_AT);
	if (mmap(text, TEXT_SIZE, RX, MAP_PRIVATE | MAP_FIXED, file, 0) != text)
		abort();
	call_once(text + ADD_AT);
	if (mmap(text, PAGE_SZ, RX, MAP_PRIVATE | MAP_FIXED, file, PAGE_SZ) !=
	    text)
		abort();
	call_for_ever(text + ADD_AT - PAGE_SZ);
}

/* Starts it, up to its first stop. */
static inline pid_t start_mapped(void (*body)(void))
{
	pid_t pid = start_prog(body);

	run_prog(pid);
	return pid;
}

static inline long result_of(pid_t pid)
{
	shm[SHM_RESULT] = -1000;
	return WIFSTOPPED(run_prog(pid)) ? shm[SHM_RESULT] : -2000;
}

static inline bool has_breakpoint(pid_t pid, const void *addr)
{
	opcode_t opcode = 0;

	return !read_mem(pid, addr, &opcode, sizeof(opcode)) &&
	       opcode == BREAKPOINT;
}

/* Bits in /proc/PID/pagemap; above them there is: present. */
#define PM_FILE		61
#define PM_SWAPPED	62

/* Is that page of the program's the program's alone? */
static inline bool is_private_page(pid_t pid, const void *addr)
{
	char path[64];
	__u64 entry;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = pread(fd, &entry, sizeof(entry),
		    (uintptr_t)addr / PAGE_SZ * sizeof(entry));
	if (len != sizeof(entry))
		abort();
	close(fd);
	return entry >> PM_SWAPPED && !(entry >> PM_FILE & 1);
}

/* Is the page what it is in the file, and not a copy of it? */
static inline bool is_clean_page(pid_t pid, void *addr, int fd, __u64 offset)
{
	char *page = (char *)((uintptr_t)addr & -PAGE_SZ);
	char here[PAGE_SZ], there[PAGE_SZ];

	return !read_mem(pid, page, here, PAGE_SZ) &&
	       pread(fd, there, PAGE_SZ, offset & -PAGE_SZ) == PAGE_SZ &&
	       !memcmp(here, there, PAGE_SZ) && !is_private_page(pid, page);
}

/* That for the middle page of the file, where the program has it. */
static inline bool is_clean(pid_t pid)
{
	return is_clean_page(pid, code(), file, ADD_AT);
}

/* What the list in debugfs says of a probe of the file, or -1. */
static inline long listed(__u64 offset, const char *what)
{
	FILE *f = fopen("/sys/kernel/debug/uprobes/inodes", "re");
	char line[512], key[64];
	struct stat st;
	long number = -1;
	char *at;

	fstat(file, &st);
	snprintf(key, sizeof(key), ":%lu+0x%llx ", (unsigned long)st.st_ino,
		 offset);
	while (f && number < 0 && fgets(line, sizeof(line), f)) {
		at = strstr(line, key) ? strstr(line, what) : NULL;
		if (at)
			number = strtol(at + strlen(what), NULL, 10);
	}
	if (f)
		fclose(f);
	return number;
}

static inline int probe_filtered(int dev, enum upi_kind kind,
				 enum upi_filter filter, pid_t pid)
{
	struct upi_probe req = {
		.fd = file,
		.handlers = UPI_ENTRY,
		.offset = ADD_AT,
		.kind = kind,
		.whom = { filter, pid },
	};

	return probe_file_as(dev, &req);
}

#endif /* _MAPPED_H */
