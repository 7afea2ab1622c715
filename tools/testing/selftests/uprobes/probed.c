// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probed.h"

/* A page that starts with add(); at may be NULL. */
void *map_add(void *at, int prot, int flags)
{
	void *page = mmap(at, PAGE_SZ, PROT_READ | PROT_WRITE,
			  flags | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		abort();
	put_code(page, add, ADD_SIZE);
	if (mprotect(page, PAGE_SZ, prot))
		abort();
	return page;
}

/* A file of one page that starts with add(). */
int add_file(void)
{
	int fd = memfd_create("code", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, PAGE_SZ) ||
	    pwrite(fd, entry_of(add), ADD_SIZE, 0) != ADD_SIZE)
		abort();
	return fd;
}

void *map_add_file(int prot, int flags)
{
	int fd = add_file();
	void *page = mmap(NULL, PAGE_SZ, prot, flags, fd, 0);

	if (page == MAP_FAILED)
		abort();
	close(fd);
	return page;
}

/* Are the bytes there those of add(), without a breakpoint? */
bool is_add(pid_t pid, const void *addr)
{
	char code[ADD_SIZE];

	return !read_mem(pid, entry_of(addr), code, sizeof(code)) &&
	       !memcmp(code, entry_of(add), sizeof(code));
}

static int fault_fd;

void *map_waiting(void *at)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	void *page = mmap(at, PAGE_SZ, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0),
			  -1, 0);

	reg.range.start = (uintptr_t)page;
	reg.range.len = PAGE_SZ;
	fault_fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (page == MAP_FAILED || fault_fd < 0 ||
	    ioctl(fault_fd, UFFDIO_API, &api) ||
	    ioctl(fault_fd, UFFDIO_REGISTER, &reg))
		abort();
	return page;
}

void bring_page(void *page)
{
	struct uffdio_zeropage zero = {
		.range = { (uintptr_t)page, PAGE_SZ },
	};

	if (ioctl(fault_fd, UFFDIO_ZEROPAGE, &zero))
		abort();
}

void add_once(void)
{
	shm[SHM_RESULT] = add(1, 2);
}

void add_and_stop(void)
{
	for (;;) {
		shm[SHM_RESULT] = add(1, 2);
		prog_stop();
	}
}

#define COUNTING(n)							\
static __probed long counting_##n(struct upt_slot *slot)		\
{									\
	slot->ucount++;							\
	if (slot->kcount == -1)						\
		return -1;						\
	return slot->kcount == slot->ucount ? slot->kcount : -2;	\
}

COUNTING(0)
COUNTING(1)
COUNTING(2)
COUNTING(3)
COUNTING(4)
COUNTING(5)
COUNTING(6)
COUNTING(7)
COUNTING(8)
COUNTING(9)

long (* const counting[NCOUNTING])(struct upt_slot *slot) = {
	counting_0, counting_1, counting_2, counting_3, counting_4,
	counting_5, counting_6, counting_7, counting_8, counting_9,
};

struct upt_slot new_slot(void)
{
	return (struct upt_slot){
		.utid = gettid(),
		.ucount = -1,
		.kcount = -1,
	};
}

void count_rounds(struct upt_slot *slot, int first, int last, int rounds)
{
	long good = 0, bad = 0;
	int i, fn;

	for (i = 0; i < rounds; i++) {
		for (fn = first; fn <= last; fn++) {
			if (counting[fn](slot) >= 0)
				good++;
			else
				bad++;
		}
	}
	if (good && slot->ktid != slot->utid)
		bad++;
	__atomic_fetch_add(&shm[SHM_GOOD], good, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shm[SHM_BAD], bad, __ATOMIC_RELAXED);
}

void run_threads(void *(*fn)(void *), int n)
{
	pthread_t threads[n];
	int i;

	for (i = 0; i < n; i++) {
		if (pthread_create(&threads[i], NULL, fn, NULL))
			abort();
	}
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}
