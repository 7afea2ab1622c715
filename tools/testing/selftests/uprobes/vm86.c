// SPDX-License-Identifier: GPL-2.0-only
/* Virtual 8086 mode, which a 32-bit kernel has. Nothing is probed there. */
#include <fcntl.h>
#include <unistd.h>

#include "fixture.h"
#include "i386/vm86.h"
#include "probed.h"

#define SEGMENT	0x1000	/* its address is 16 times that */

enum {
	MAPPED = SHM_FREE,
	TRAP,
	TRAP_IP,
	HALT,
	HALT_IP,
};

static void vm86_prog(void)
{
	static const unsigned char code[] = {
		0x90,		/* nop */
		0xcc,		/* int3 */
		0x90,		/* nop */
		0xf4,		/* hlt */
	};
	struct vm86plus_struct vm86 = {
		.regs = { .cs = SEGMENT, .ss = SEGMENT, .esp = PAGE_SZ },
	};
	void *page = (void *)(SEGMENT * 16);

	shm[MAPPED] = mmap(page, PAGE_SZ, RWX, MAP_PRIVATE | MAP_ANONYMOUS |
			   MAP_FIXED_NOREPLACE, -1, 0) == page;
	if (!shm[MAPPED])
		return;
	put_code(page, code, sizeof(code));
	prog_stop();
	nop_fn();
	shm[TRAP] = enter_vm86(&vm86);
	shm[TRAP_IP] = vm86.regs.eip;
	shm[HALT] = enter_vm86(&vm86);
	shm[HALT_IP] = vm86.regs.eip;
	nop_fn();
}

static void run_vm86(struct __test_metadata *_metadata, pid_t pid)
{
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(VM86_TRAP | 3 << 8, shm[TRAP]);
	EXPECT_EQ(2, shm[TRAP_IP]);
	EXPECT_EQ(VM86_UNKNOWN, shm[HALT]);
	EXPECT_EQ(3, shm[HALT_IP]);
}

/* Else the kernel does not allow it. */
static int set_mmap_min_addr(const char *value)
{
	int fd = open("/proc/sys/vm/mmap_min_addr", O_WRONLY);
	int ret = write(fd, value, strlen(value));

	close(fd);
	return ret;
}

FIXTURE(vm86) {
	int dev;
};

FIXTURE_SETUP(vm86)
{
	self->dev = open_device(_metadata);
	ASSERT_EQ(1, set_mmap_min_addr("0"));
}

FIXTURE_TEARDOWN(vm86)
{
	EXPECT_EQ(4, set_mmap_min_addr("4096"));
	close_device(_metadata, self->dev);
}

/* The same with probes around it: the breakpoint there is the program's. */
TEST_F(vm86, own_breakpoint)
{
	int call, around;
	pid_t pid;

	pid = start_prog(vm86_prog);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	ASSERT_TRUE(shm[MAPPED]);
	run_vm86(_metadata, pid);

	pid = start_prog(vm86_prog);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	around = probe(self->dev, pid, nop_fn);
	call = probe(self->dev, pid, vm86_syscall);
	ASSERT_LE(0, around);
	ASSERT_LE(0, call);
	run_vm86(_metadata, pid);
	EXPECT_EQ(2, hits(self->dev, around));
	EXPECT_EQ(2, hits(self->dev, call));
}
