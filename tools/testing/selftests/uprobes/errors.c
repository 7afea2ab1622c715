// SPDX-License-Identifier: GPL-2.0-only
/* Errors: every errno of the contract, and that nothing changed. */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "fixture.h"
#include "probed.h"

static void pause_prog(void)
{
	for (;;)
		prog_stop();
}

/* All that a failed registration could leave behind. */
struct traces {
	char maps[16384];
	char text[64];
	int lines;
};

static void take_traces(pid_t pid, struct traces *t)
{
	char path[64];
	ssize_t len;
	int fd, n = 0;

	memset(t, 0, sizeof(*t));
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY);
	while ((len = read(fd, t->maps + n, sizeof(t->maps) - n - 1)) > 0)
		n += len;
	close(fd);
	read_mem(pid, add, t->text, sizeof(t->text));
	t->lines = list_lines(pid);
}

/* Either probe there is refused with that errno; the program is as before. */
static void refused_at(struct __test_metadata *_metadata, int dev, int err,
		       __u64 vaddr)
{
	struct upt_probe req = {
		.pid = start_prog(pause_prog),
		.vaddr = vaddr,
	};
	struct traces before, after;

	take_traces(req.pid, &before);
	ASSERT_NE('\0', before.maps[0]);
	EXPECT_EQ(-err, upt_register(dev, &req));
	req.type = UPT_URETPROBE;
	EXPECT_EQ(-err, upt_register(dev, &req));
	take_traces(req.pid, &after);
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	EXPECT_TRUE(WIFSTOPPED(run_prog(req.pid)));
	end_prog(req.pid);
}

static void refused(struct __test_metadata *_metadata, int dev, int err,
		    const void *addr)
{
	refused_at(_metadata, dev, err, (uintptr_t)addr);
}

/* pid 0, -1 and one that no process has. */
TEST_F(uprobes, no_process)
{
	pid_t pid = start_prog(pause_prog);

	end_prog(pid);
	EXPECT_EQ(-ESRCH, probe(self->dev, 0, add));
	EXPECT_EQ(-ESRCH, probe(self->dev, -1, add));
	EXPECT_EQ(-ESRCH, probe(self->dev, INT_MIN, add));
	EXPECT_EQ(-ESRCH, probe(self->dev, INT_MAX, add));
	EXPECT_EQ(-ESRCH, probe(self->dev, pid, add));
	EXPECT_EQ(-ESRCH, probe_ret(self->dev, pid, add));
}

/* A process that has exited, but that nobody waited for. */
TEST_F(uprobes, zombie)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	ASSERT_TRUE(wait_state(pid, 'Z'));
	EXPECT_EQ(-ESRCH, probe(self->dev, pid, add));
	EXPECT_EQ(-ESRCH, probe_ret(self->dev, pid, add));
	EXPECT_EQ(-ESRCH, init_returns(self->dev, pid, NULL));
}

/* A kernel thread: 2 is kthreadd. */
TEST_F(uprobes, kernel_thread)
{
	EXPECT_EQ(-EINVAL, probe(self->dev, 2, add));
	EXPECT_EQ(-EINVAL, probe_ret(self->dev, 2, add));
	EXPECT_EQ(-EINVAL, init_returns(self->dev, 2, NULL));
}

/* Address 0, and one where nothing is mapped. */
TEST_F(uprobes, unmapped)
{
	refused(_metadata, self->dev, EINVAL, NULL);
	refused(_metadata, self->dev, EINVAL, (void *)0x10000);
}

/* The middle of the heap, the stack, and constants. */
TEST_F(uprobes, not_executable)
{
	static const char constant[] = "constant";
	char *heap = malloc(100000);

	refused(_metadata, self->dev, EINVAL, heap + 50000);
	refused(_metadata, self->dev, EINVAL, &heap);
	refused(_metadata, self->dev, EINVAL, constant);
	free(heap);
}

/* Executable memory of before, which cannot be read now. */
TEST_F(uprobes, not_readable)
{
	refused(_metadata, self->dev, EINVAL,
		map_add(NULL, PROT_NONE, MAP_PRIVATE));
}

/* The kernel's half, its last byte, and the hole in between. */
TEST_F(uprobes, kernel_address)
{
	static const __u64 addrs[] = {
		0xffffffff81000000, -1ULL, 0x8000000000000000, ADDRESS_END,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(addrs); i++)
		refused_at(_metadata, self->dev, EINVAL, addrs[i]);
}

#if !defined(__LP64__) && defined(COMPAT)
/* No address of the program, though half of it is one. */
TEST_F(uprobes, beyond_32_bits)
{
	refused_at(_metadata, self->dev, EINVAL, 1ULL << 32 | (uintptr_t)add);
}
#endif

/* The vsyscall page is the kernel's, though /proc/PID/maps shows it. */
TEST_F(uprobes, vsyscall)
{
	refused_at(_metadata, self->dev, EINVAL, 0xffffffffff600000);
}

/* The engine's own area. */
TEST_F(uprobes, own_area)
{
	pid_t pid = start_prog(pause_prog);
	unsigned long start, end;

	/* An instruction that has a copy in it */
	ASSERT_LE(0, probe(self->dev, pid, add));
	ASSERT_TRUE(find_map(pid, "[uprobes]", &start, &end));
	EXPECT_EQ(-EINVAL, probe(self->dev, pid, (void *)start));
	EXPECT_EQ(-EINVAL, probe(self->dev, pid, (void *)(end - 1)));
	EXPECT_EQ(-EINVAL, probe_ret(self->dev, pid, (void *)start));
	EXPECT_EQ(-EINVAL, init_returns(self->dev, pid, (void *)start));
	EXPECT_EQ(1, list_lines(pid));
}

/* A breakpoint that was compiled in. */
TEST_F(uprobes, foreign_breakpoint)
{
	refused(_metadata, self->dev, EEXIST, own_int3);
}

/* Instructions that are not executed as they are anywhere else (C4). */
TEST_F(uprobes, c4_refused_instructions)
{
	refused(_metadata, self->dev, REFUSED, soft_int);
	refused(_metadata, self->dev, REFUSED, unknown);
	refused(_metadata, self->dev, REFUSED, halt);
}

/* No text behind the end of a file. */
TEST_F(uprobes, behind_end_of_file)
{
	int fd = add_file();
	char *code = mmap(NULL, 2 * PAGE_SZ, RX, MAP_PRIVATE, fd, 0);

	ASSERT_TRUE(code != MAP_FAILED);
	refused(_metadata, self->dev, EIO, code + PAGE_SZ);
	close(fd);
}

/* The same object twice; other objects at the same address are welcome. */
TEST_F(uprobes, already_registered)
{
	pid_t pid = start_prog(pause_prog);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	EXPECT_EQ(-EBUSY, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
	EXPECT_EQ(1, list_lines(pid));
	unprobe(self->dev, id);
	EXPECT_EQ(0, list_lines(pid));
	EXPECT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
	EXPECT_EQ(1, list_lines(pid));
}

enum {
	HOLDER = SHM_FREE,	/* a child of the program */
	END,			/* the program is to end now, somehow */
};

static int request_dev;

static int hold_mmap_lock(void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return ioctl(request_dev, UPT_HOLD_MMAP_LOCK);
}

/* A child that shares the memory of the program holds its mmap_lock. */
static void hold_until_end(void)
{
	static char stack[65536];

	shm[HOLDER] = clone(hold_mmap_lock, stack + sizeof(stack),
			    CLONE_VM | SIGCHLD, NULL);
	while (!__atomic_load_n(&shm[END], __ATOMIC_RELAXED))
		sleep_ms(10);
}

static void held_exit(void)
{
	hold_until_end();
	_exit(0);
}

/*
 * All that execve() reads was written here: a page that the program has not
 * touched since it was forked may take a fault, and that the lock, before it is
 * another one's.
 */
static void held_exec(void)
{
	char shell[] = "/bin/sh", option[] = "-c", command[] = "exit 0";
	char *args[4] = { shell, option, command }, *none[1] = { NULL };

	hold_until_end();
	execve(shell, args, none);
}

/* A program whose mmap_lock is held, and an object that was probed in it. */
static pid_t start_held(struct __test_metadata *_metadata, int dev,
			void (*body)(void), int *id)
{
	pid_t pid;

	request_dev = dev;
	pid = start_prog(body);
	*id = probe(dev, pid, add);
	ASSERT_LE(0, *id);
	unprobe(dev, *id);
	cont_prog(pid);
	while (!__atomic_load_n(&shm[HOLDER], __ATOMIC_RELAXED))
		sleep_ms(1);
	ASSERT_TRUE(wait_blocked(shm[HOLDER], 'D'));
	return pid;
}

/* Another process registers the object, and waits for the mmap_lock. */
static pid_t start_registering(struct __test_metadata *_metadata, int dev,
			       int id)
{
	pid_t caller = fork();

	ASSERT_LE(0, caller);
	if (!caller)
		_exit(-upt_op(dev, UPT_REGISTER_AGAIN, id));
	ASSERT_TRUE(wait_blocked(caller, 'D'));
	return caller;
}

/* While an object is being registered nobody else can do anything with it. */
TEST_F(uprobes, registration_is_pending)
{
	int id;
	pid_t pid = start_held(_metadata, self->dev, held_exit, &id);
	pid_t caller = start_registering(_metadata, self->dev, id);

	EXPECT_EQ(-EAGAIN, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
	EXPECT_EQ(-EINVAL, upt_op(self->dev, UPT_ENABLE, id));
	EXPECT_EQ(-EINVAL, upt_op(self->dev, UPT_DISABLE, id));
	kill(shm[HOLDER], SIGKILL);
	EXPECT_TRUE(exited(wait_prog(caller), 0));
	EXPECT_EQ(-EBUSY, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
	EXPECT_EQ(1, list_lines(pid));
	shm[END] = 1;
	EXPECT_TRUE(exited(wait_prog(pid), 0));
}

/* Nor while it is being removed, which waits for the end of a handler. */
TEST_F(uprobes, removal_is_pending)
{
	pid_t caller, pid = start_prog(add_once);
	int id = probe_kind(self->dev, pid, add, UPT_SLEEP, 2000000);

	ASSERT_LE(0, id);
	cont_prog(pid);
	ASSERT_TRUE(wait_hits(self->dev, id));
	caller = fork();
	ASSERT_LE(0, caller);
	if (!caller)
		_exit(unprobe(self->dev, id));
	/* The breakpoint goes first */
	while (!is_add(pid, add))
		sleep_ms(1);
	EXPECT_EQ(-EAGAIN, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
	EXPECT_EQ(-EINVAL, upt_op(self->dev, UPT_ENABLE, id));
	EXPECT_EQ(-EINVAL, upt_op(self->dev, UPT_DISABLE, id));
	EXPECT_TRUE(exited(wait_prog(caller), 0));
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(3, shm[SHM_RESULT]);
}

/* The process ends, one way or another, while it is being probed. */
static void check_ends_meanwhile(struct __test_metadata *_metadata, int dev,
				 void (*body)(void))
{
	int id;
	pid_t caller, pid = start_held(_metadata, dev, body, &id);

	/* It waits for the lock too, and gets it first */
	shm[END] = 1;
	ASSERT_TRUE(wait_blocked(pid, 'D'));
	caller = start_registering(_metadata, dev, id);
	kill(shm[HOLDER], SIGKILL);
	EXPECT_TRUE(exited(wait_prog(caller), ESRCH));
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(-ESRCH, upt_op(dev, UPT_REGISTER_AGAIN, id));
}

/* A process that exits during the registration. */
TEST_F(uprobes, exits_meanwhile)
{
	check_ends_meanwhile(_metadata, self->dev, held_exit);
}

/* A process that executes another program during the registration. */
TEST_F(uprobes, execs_meanwhile)
{
	check_ends_meanwhile(_metadata, self->dev, held_exec);
}

/* An object whose registration failed can be unregistered, and used anew. */
TEST_F(uprobes, failed_object)
{
	struct upt_probe req = {
		.pid = start_prog(pause_prog),
		.vaddr = (uintptr_t)own_int3,
	};
	opcode_t int3 = BREAKPOINT, ret = RETURN;

	EXPECT_EQ(-EEXIST, upt_register(self->dev, &req));
	EXPECT_EQ(-EINVAL, upt_op(self->dev, UPT_ENABLE, req.id));
	unprobe(self->dev, req.id);
	ASSERT_EQ(0, write_mem(req.pid, own_int3, &ret, sizeof(ret)));
	EXPECT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, req.id));
	unprobe(self->dev, req.id);
	unprobe(self->dev, req.id);
	ASSERT_EQ(0, write_mem(req.pid, own_int3, &int3, sizeof(int3)));
	EXPECT_EQ(-EEXIST, upt_op(self->dev, UPT_REGISTER_AGAIN, req.id));
}

struct call {
	enum upt_call call;
	int result;
};

static void check_calls(struct __test_metadata *_metadata, int dev,
			const struct call *calls, size_t n)
{
	pid_t pid = start_prog(pause_prog);
	size_t i;

	for (i = 0; i < n; i++) {
		EXPECT_EQ(calls[i].result,
			  upt_misuse(dev, calls[i].call, pid, add))
			TH_LOG("call %d", calls[i].call);
		EXPECT_EQ(0, list_lines(pid));
		EXPECT_TRUE(is_add(pid, add));
	}
}

/* Calls with a bad object, or with none. */
TEST_F(uprobes, bad_objects)
{
	static const struct call calls[] = {
		{ UPT_CALL_REGISTER_NULL, -EINVAL },
		{ UPT_CALL_REGISTER_NO_HANDLER, -EINVAL },
		{ UPT_CALL_UNREGISTER_NULL, 0 },
		{ UPT_CALL_UNREGISTER_FRESH, 0 },
		{ UPT_CALL_BATCH_NULL, -EINVAL },
		{ UPT_CALL_BATCH_EMPTY, -EINVAL },
		{ UPT_CALL_BATCH_NEGATIVE, -EINVAL },
		{ UPT_CALL_BATCH_NULL_MEMBER, -EINVAL },
		{ UPT_CALL_BATCH_TWICE, -EBUSY },
		{ UPT_CALL_UNREGISTER_BATCH_EMPTY, 0 },
		{ UPT_CALL_ENABLE_NULL, -EINVAL },
		{ UPT_CALL_ENABLE_FRESH, -EINVAL },
		{ UPT_CALL_DISABLE_NULL, -EINVAL },
		{ UPT_CALL_DISABLE_FRESH, -EINVAL },
	};
	check_calls(_metadata, self->dev, calls, ARRAY_SIZE(calls));
}

/* The same for return probes. */
TEST_F(uprobes, bad_return_objects)
{
	static const struct call calls[] = {
		{ UPT_CALL_RET_REGISTER_NULL, -EINVAL },
		{ UPT_CALL_RET_REGISTER_NO_HANDLER, -EINVAL },
		{ UPT_CALL_RET_UNREGISTER_NULL, 0 },
		{ UPT_CALL_RET_UNREGISTER_FRESH, 0 },
		{ UPT_CALL_RET_BATCH_NULL, -EINVAL },
		{ UPT_CALL_RET_BATCH_EMPTY, -EINVAL },
		{ UPT_CALL_RET_BATCH_NEGATIVE, -EINVAL },
		{ UPT_CALL_RET_BATCH_NULL_MEMBER, -EINVAL },
		{ UPT_CALL_RET_BATCH_TWICE, -EBUSY },
		{ UPT_CALL_RET_UNREGISTER_BATCH_EMPTY, 0 },
		{ UPT_CALL_RET_ENABLE_NULL, -EINVAL },
		{ UPT_CALL_RET_ENABLE_FRESH, -EINVAL },
		{ UPT_CALL_RET_DISABLE_NULL, -EINVAL },
		{ UPT_CALL_RET_DISABLE_FRESH, -EINVAL },
	};

	check_calls(_metadata, self->dev, calls, ARRAY_SIZE(calls));
}

/* Flags that do not exist. */
TEST_F(uprobes, unknown_flags)
{
	struct upt_probe req = {
		.pid = start_prog(pause_prog),
		.vaddr = (uintptr_t)add,
		.flags = 4,
	};

	EXPECT_EQ(-EINVAL, upt_register(self->dev, &req));
	req.flags = 1U << 31;
	req.type = UPT_URETPROBE;
	EXPECT_EQ(-EINVAL, upt_register(self->dev, &req));
	EXPECT_TRUE(is_add(req.pid, add));
	EXPECT_EQ(0, list_lines(req.pid));
}

/* More data for each call than an instance can hold. */
TEST_F(uprobes, data_too_big)
{
	static const __u64 sizes[] = {
		4097, 1ULL << 31, -1ULL,
#if defined(__LP64__) || defined(COMPAT)
		1ULL << 32,	/* nothing to a kernel of 32 bits */
#endif
	};
	struct upt_probe req = {
		.pid = start_prog(pause_prog),
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)add,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		req.data_size = sizes[i];
		EXPECT_EQ(-E2BIG, upt_register(self->dev, &req));
	}
	EXPECT_TRUE(is_add(req.pid, add));
	EXPECT_EQ(0, list_lines(req.pid));
}

/* A return probe of which the object is registered already. */
TEST_F(uprobes, return_probe_already_registered)
{
	pid_t pid = start_prog(pause_prog);
	int id = probe_ret(self->dev, pid, add);

	ASSERT_LE(0, id);
	EXPECT_EQ(-EBUSY, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
	EXPECT_EQ(1, list_lines(pid));
	unprobe(self->dev, id);
	unprobe(self->dev, id);
	EXPECT_EQ(0, list_lines(pid));
	EXPECT_TRUE(is_add(pid, add));
	EXPECT_EQ(0, upt_op(self->dev, UPT_REGISTER_AGAIN, id));
}

/* Places that cannot be a trampoline; nothing is left of the attempt. */
TEST_F(uprobes, bad_trampolines)
{
	static const char constant[] = "constant";
	pid_t pid = start_prog(pause_prog);
	const struct {
		int err;
		const void *addr;
	} places[] = {
		{ EINVAL, (void *)0x10000 },
		{ EINVAL, constant },
		{ EINVAL, &places },
		{ EINVAL, (void *)ADDRESS_END },
		{ EINVAL, (void *)-1UL },
		{ EEXIST, own_int3 },
	};
	struct traces before, after;
	size_t i;

	take_traces(pid, &before);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		EXPECT_EQ(-places[i].err,
			  init_returns(self->dev, pid, places[i].addr))
			TH_LOG("place %zu", i);
	}
	EXPECT_EQ(-ESRCH, init_returns(self->dev, 0, NULL));
	EXPECT_EQ(-ESRCH, init_returns(self->dev, -1, NULL));
	take_traces(pid, &after);
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	EXPECT_TRUE(WIFSTOPPED(run_prog(pid)));
}

/* Leaves no gap of even one page between mappings. */
static void fill_gaps(void)
{
	unsigned long start, end, last = PAGE_SZ, nr = 0;
	static struct {
		unsigned long start;
		unsigned long end;
	} gaps[256];
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &start, &end) != 2)
			abort();
		if (start > ADDRESS_END)
			break;
		if (start > last) {
			gaps[nr].start = last;
			gaps[nr++].end = start;
		}
		last = end;
	}
	fclose(f);
	gaps[nr].start = last;
	gaps[nr++].end = ADDRESS_END;
	while (nr--) {
		if (gaps[nr].start >= gaps[nr].end)
			continue;
		if (mmap((void *)gaps[nr].start, gaps[nr].end - gaps[nr].start,
			 PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
			 MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) ==
		    MAP_FAILED)
			abort();
	}
}

static void full_prog(void)
{
	fill_gaps();
	if (mmap(NULL, PAGE_SZ, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0) != MAP_FAILED)
		abort();
	prog_stop();
	shm[SHM_RESULT] = add(1, 2);
}

/* C5: no room for the engine's area: registration says so, the rest runs. */
TEST_F(uprobes, c5_address_space_full)
{
	pid_t pid = start_prog(full_prog);

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(-ENOSPC, probe(self->dev, pid, add));
	EXPECT_EQ(-ENOSPC, probe_ret(self->dev, pid, add));
	EXPECT_EQ(-ENOSPC, init_returns(self->dev, pid, NULL));
	EXPECT_TRUE(is_add(pid, add));
	EXPECT_EQ(0, list_lines(pid));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(3, shm[SHM_RESULT]);
}

/* A pid means what it means to the caller, in its pid namespace. */
TEST_F(uprobes, pid_namespace)
{
	pid_t outer, inner;
	int id, status;

	ASSERT_EQ(0, unshare(CLONE_NEWPID));
	outer = fork();
	if (outer == 0) {
		/* Process 1 of the namespace; its program is number 2 */
		inner = start_prog(add_once);
		id = probe(self->dev, inner, add);
		_exit(inner != 2 || id < 0 ||
		      probe(self->dev, 3, add) != -ESRCH ||
		      !exited(run_prog(inner), 0) || hits(self->dev, id) != 1);
	}
	waitpid(outer, &status, 0);
	EXPECT_TRUE(exited(status, 0));
}
