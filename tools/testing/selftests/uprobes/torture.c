// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything at once, for so many seconds as the environment variable
 * "torture" says.
 *
 * The crowd is one program: eight threads hit, one forks, one makes code and
 * unmaps it, one makes threads that end inside of calls, one sends signals.
 * The family is another one, whose children inherit its probes. Victims are
 * many, one at a time: each is ended in the middle of it, in one of many ways.
 * Meanwhile threads of the test register and remove probes in all of them.
 *
 * Programs count what they do. Probes that stay have to agree, to the last hit.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "calls.h"
#include "fixture.h"

#define DEFAULT_SECONDS	20
#define SLACK_SECONDS	100	/* for the end of all, under a debug kernel */
#define WORKERS		8

enum {
	STOP = SHM_FREE,
	PAGE,		/* where the crowd has just made code, or 0 */
	BAD,		/* results of functions that were wrong */
	LOST,		/* processes that did not end as they had to */

	/* What the crowd has done. */
	ADDS,
	FILLS,
	NOPS,
	NESTED,
	NESTED_LEFT,	/* of those, so many did not return */
	RECURSED,
	RECURSED_LEFT,
	CAUGHT,		/* calls of catcher() */
	DEEP,
	OPS,
	SIGNALS,
	FORKS,
	MAPS,
	ENDED_THREADS,

	/* The family, before each call and behind it. */
	BEGUN,
	DONE,
	BORN,
};

static void count(int what, long n)
{
	__atomic_fetch_add(&shm[what], n, __ATOMIC_RELAXED);
}

static bool stopping(void)
{
	return __atomic_load_n(&shm[STOP], __ATOMIC_RELAXED);
}

static void check(bool right)
{
	if (!right)
		count(BAD, 1);
}

/* Each thread has its own sequence. */
static unsigned int dice(unsigned int n)
{
	static __thread unsigned int seed;

	if (!seed)
		seed = gettid();
	return rand_r(&seed) / 7 % n;
}

/*
 * The crowd
 */

static __thread jmp_buf back;

static __probed long recurse(long n, bool jump)
{
	if (n)
		return one_more(recurse(n - 1, jump));
	if (jump)
		longjmp(back, 1);
	return 0;
}

/* Calls n frames that never return. */
static __probed long catcher(long n)
{
	if (!setjmp(back))
		recurse(n - 1, true);
	return n;
}

/* Calls of deep(): more than the engine follows. */
#define DEPTH	(UPROBE_MAX_RETURNS + 50)

static __probed long op(long n)
{
	return n + 1;
}

static long nothing(void)
{
	return 0;
}

static long jump_out(void)
{
	longjmp(back, 1);
}

static void leave_nested(void)
{
	count(NESTED, 1);
	count(NESTED_LEFT, 1);
	if (!setjmp(back))
		call_nested(jump_out);
}

/* Who is too deep already has all other calls missed as well. */
static __thread bool in_deep;

static void call_one(unsigned int which)
{
	char buf[64];
	long n;

	switch (which) {
	case 0:
		count(ADDS, 1);
		check(add(which, 1) == which + 1);
		break;
	case 1:
		count(FILLS, 1);
		memset(buf, 0, sizeof(buf));
		fill(buf);
		check(buf[0] == 7 && buf[63] == 7);
		break;
	case 2:
		count(NOPS, 1);
		nop_fn();
		break;
	case 3:
		count(NESTED, 1);
		check(call_nested(nothing) == NNESTED);
		break;
	case 4:
		n = dice(20);
		count(RECURSED, n + 1);
		check(recurse(n, false) == n);
		break;
	case 5:
		n = dice(3) + 1;
		count(CAUGHT, 1);
		count(RECURSED, n);
		count(RECURSED_LEFT, n);
		check(catcher(n) == n);
		break;
	case 6:
		leave_nested();
		break;
	default:
		if (dice(50))
			break;
		__atomic_store_n(&in_deep, true, __ATOMIC_SEQ_CST);
		count(DEEP, DEPTH + 1);
		check(deep(DEPTH) == DEPTH);
		__atomic_store_n(&in_deep, false, __ATOMIC_SEQ_CST);
	}
}

/* On another stack. What jumps is not for it, as that would be one too many. */
static void on_signal(int sig)
{
	count(SIGNALS, 1);
	call_one(dice(in_deep ? 3 : 4));
}

static void *worker(void *arg)
{
	stack_t stack = { .ss_size = 65536 };

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	while (!stopping())
		call_one(dice(8));
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	free(stack.ss_sp);
	return NULL;
}

static void expect_end(pid_t pid, int code, int sig)
{
	int status = -1;

	if (waitpid(pid, &status, 0) != pid ||
	    !(sig ? killed(status, sig) : exited(status, code)))
		count(LOST, 1);
}

/* A child counts nothing, as it is not probed. */
static bool all_work(void)
{
	return add(1, 2) == 3 && call_nested(nothing) == NNESTED &&
	       recurse(5, false) == 5 && catcher(3) == 3;
}

static __thread pid_t forked;

static long fork_here(void)
{
	forked = fork();
	return forked ? 0 : 100;
}

static void fork_in_call(void)
{
	long result;

	count(NESTED, 1);
	result = call_nested(fork_here);
	if (!forked)
		_exit(result == 100 + NNESTED && all_work() ? 5 : 1);
	check(result == NNESTED);
	expect_end(forked, 5, 0);
}

static void fork_one(void)
{
	pid_t pid;

	count(FORKS, 1);
	switch (dice(5)) {
	case 0:
		pid = fork();
		if (!pid)
			_exit(all_work() ? 5 : 1);
		expect_end(pid, 5, 0);
		break;
	case 1:
		fork_in_call();
		break;
	case 2:
		pid = fork();
		if (!pid) {
			execl("/bin/sh", "sh", "-c", "exit 5", NULL);
			_exit(1);
		}
		expect_end(pid, 5, 0);
		break;
	case 3:
		pid = vfork();
		if (!pid)
			_exit(add(1, 2) == 3 &&
			      call_nested(nothing) == NNESTED ? 5 : 1);
		expect_end(pid, 5, 0);
		break;
	default:
		pid = fork();
		if (!pid) {
			while (all_work())
				;
			_exit(1);
		}
		usleep(dice(5000));
		kill(pid, SIGKILL);
		expect_end(pid, 0, SIGKILL);
	}
}

static void *forker(void *arg)
{
	while (!stopping())
		fork_one();
	return NULL;
}

/* As it was before add() was probed, which the program itself would see. */
static char code_of_add[ADD_SIZE];

static char *make_code(char *at)
{
	char *code = mmap(at, PAGE_SZ, RWX,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (code == MAP_FAILED)
		abort();
	put_code(code, code_of_add, ADD_SIZE);
	return code;
}

/*
 * Far from where the kernel puts mappings, such as the stacks of new threads,
 * which are made readable and writable after a while: one that got the hole that
 * munmap() leaves would take code with it that is there again by then.
 */
#define ROOM	((void *)0x60000000UL)

/* Code that comes and goes, in all the ways there are. */
static void *mapper(void *arg)
{
	char *room = mmap(ROOM, 2 * PAGE_SZ, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *code;
	int i;

	while (!stopping()) {
		code = make_code(room);
		__atomic_store_n(&shm[PAGE], (long)code, __ATOMIC_SEQ_CST);
		for (i = 0; i < 100; i++)
			check(((add_fn)fn_at(code))(i, 1) == i + 1);
		switch (dice(5)) {
		case 0:
			munmap(code, PAGE_SZ);
			break;
		case 1:
			code = mremap(code, PAGE_SZ, PAGE_SZ,
				      MREMAP_MAYMOVE | MREMAP_FIXED,
				      room + PAGE_SZ);
			check(((add_fn)fn_at(code))(1, 2) == 3);
			break;
		case 2:
			put_code(code, sub, SUB_SIZE);
			check(((add_fn)fn_at(code))(1, 2) == -1);
			break;
		case 3:
			mprotect(code, PAGE_SZ, RX);
			check(((add_fn)fn_at(code))(1, 2) == 3);
			break;
		default:
			madvise(code, PAGE_SZ, MADV_DONTNEED);
		}
		__atomic_store_n(&shm[PAGE], 0, __ATOMIC_SEQ_CST);
		count(MAPS, 1);
	}
	return NULL;
}

static long end_here(void)
{
	syscall(SYS_exit, 0);
	return 0;
}

static void *end_inside(void *arg)
{
	count(ADDS, 1);
	check(add(1, 2) == 3);
	count(NESTED, 1);
	count(NESTED_LEFT, 1);
	call_nested(end_here);
	return NULL;
}

/* Threads that end inside of calls; and calls whose handlers call the API. */
static void *spawner(void *arg)
{
	long n;

	for (n = 1; !stopping(); n++) {
		run_threads(end_inside, 1 + dice(3));
		count(ENDED_THREADS, 1);
		count(OPS, 1);
		check(op(n) == n + 1);
	}
	return NULL;
}

static pthread_t workers[WORKERS];

static void *signaller(void *arg)
{
	while (!stopping()) {
		usleep(500 + dice(2000));
		pthread_kill(workers[dice(WORKERS)], SIGUSR1);
	}
	return NULL;
}

static void crowd(void)
{
	static void *(* const others[])(void *) = {
		forker, mapper, spawner, signaller,
	};
	struct sigaction action = {
		.sa_handler = on_signal,
		.sa_flags = SA_ONSTACK | SA_RESTART,
	};
	pthread_t threads[4];
	int i;

	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker, NULL);
	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, others[i], NULL);
	/* The signaller first: it needs the others */
	for (i = 3; i >= 0; i--)
		pthread_join(threads[i], NULL);
	for (i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	prog_stop();
}

/*
 * The family
 */

static void call_as_family(int n)
{
	while (n--) {
		count(BEGUN, 1);
		check(add(n, 1) == n + 1 && call_nested(nothing) == NNESTED);
		count(DONE, 1);
	}
}

/* Each child may have one as well. */
static void be_born(int generations)
{
	pid_t pid;

	for (;;) {
		count(BORN, 1);
		call_as_family(dice(10));
		if (!generations-- || dice(2))
			break;
		pid = fork();
		if (pid) {
			expect_end(pid, 5, 0);
			break;
		}
	}
	call_as_family(dice(10));
	_exit(5);
}

static void family(void)
{
	pid_t pid;

	while (!stopping()) {
		pid = fork();
		if (!pid)
			be_born(2);
		/* Its children may be left behind, and are in no hurry then */
		if (!dice(4)) {
			usleep(dice(3000));
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		} else {
			expect_end(pid, 5, 0);
		}
		call_as_family(1);
	}
	prog_stop();
}

/*
 * Victims
 */

static void *suffer(void *arg)
{
	char buf[64];

	for (;;) {
		if (add(1, 2) != 3 || call_nested(nothing) != NNESTED ||
		    catcher(2) != 2)
			abort();
		fill(buf);
	}
	return NULL;
}

static int end_of_victim;

static long end_victim(void)
{
	switch (end_of_victim) {
	case 0:
		syscall(SYS_exit_group, 5);
		break;
	case 1:
		execl("/bin/sh", "sh", "-c", "exit 5", NULL);
		break;
	default:
		pause();
	}
	return 0;
}

static void *end_in_call(void *arg)
{
	usleep(dice(5000));
	call_nested(end_victim);
	return NULL;
}

static void victim(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 3; i++)
		pthread_create(&thread, NULL, suffer, NULL);
	pthread_create(&thread, NULL, end_in_call, NULL);
	suffer(NULL);
}

/*
 * The test
 */

/* Probes that stay, of the crowd. */
struct steady {
	int add, fill, nop;		/* entries */
	struct nested_ids nested;	/* returns, as all others */
	int recurse, catcher, deep;
	int op;
	int entry_target, ret_target;	/* what the handlers of op do */
};

struct torture {
	int dev;
	pid_t crowd, family;
	struct steady s;
	long cycles;		/* of registrations and removals of others */
	long errors;		/* calls of the API that failed and must not */
	int last_error;
	long lives;
	long unbalanced;	/* lives of which a call was lost */
};

/* Takes an id, or 0, or an errno. */
static void must(struct torture *t, int result)
{
	if (result >= 0)
		return;
	__atomic_fetch_add(&t->errors, 1, __ATOMIC_RELAXED);
	t->last_error = result;
}

static int probe_sort(int dev, pid_t pid, const void *addr, bool ret,
		      unsigned int flags)
{
	struct upt_probe req = {
		.pid = pid,
		.vaddr = (uintptr_t)addr,
		.type = ret ? UPT_URETPROBE : UPT_UPROBE,
		.flags = flags,
		.entry = ret,
		.data_size = ret ? 8 : 0,
	};
	int result = upt_register(dev, &req);

	return result ? result : req.id;
}

static const void *place(unsigned int n)
{
	const void *places[] = {
		add, add_ret, fill, fill_rep, nop_fn, nested[0], nested[3],
		recurse, catcher, deep, op,
	};

	return places[n % (sizeof(places) / sizeof(*places))];
}

#define NPLACES		11

/* Where a return probe would not be at a function's start, an entry probe is. */
static bool is_start(const void *addr)
{
	return addr != add_ret && addr != fill_rep;
}

static void single_probes(struct torture *t, int dev, pid_t pid,
			  unsigned int flags)
{
	int ids[NPLACES], i;

	for (i = 0; i < NPLACES; i++) {
		ids[i] = probe_sort(dev, pid, place(i),
				    dice(2) && is_start(place(i)), flags);
		must(t, ids[i]);
	}
	for (i = 0; i < NPLACES; i++) {
		if (ids[i] >= 0 && !dice(3))
			upt_op(dev, UPT_DISABLE, ids[i]);
	}
	usleep(dice(3000));
	for (i = 0; i < NPLACES; i++) {
		if (ids[i] >= 0)
			unprobe(dev, ids[i]);
	}
}

static void batch_of_probes(struct torture *t, int dev, pid_t pid)
{
	__u64 vaddrs[NPLACES];
	struct upt_batch batch = {
		.pid = pid,
		.vaddrs = (uintptr_t)vaddrs,
		.type = dice(2) ? UPT_URETPROBE : UPT_UPROBE,
	};
	int i;

	for (i = 0; i < NPLACES; i++) {
		if (batch.type == UPT_UPROBE || is_start(place(i)))
			vaddrs[batch.n++] = (uintptr_t)place(i);
	}
	must(t, upt_register_batch(dev, &batch));
	usleep(dice(3000));
	upt_unregister_batch(dev, &batch);
}

/* Code that may be gone by then, or be written to at this very moment. */
static void probe_made_code(struct torture *t, int dev)
{
	void *code = (void *)__atomic_load_n(&shm[PAGE], __ATOMIC_SEQ_CST);
	int id;

	if (!code)
		return;
	id = probe_sort(dev, t->crowd, code, dice(2), 0);
	must(t, id == -EINVAL || id == -EIO ? 0 : id);
	usleep(dice(500));
	if (id >= 0 && dice(2))
		unprobe(dev, id);
}

/* Objects of a device of their own, so that they are freed again and again. */
static void *register_and_remove(void *arg)
{
	struct torture *t = arg;
	int dev, i;

	while (!stopping()) {
		dev = upt_open(UPT_MODULE);
		for (i = 0; i < 4; i++) {
			single_probes(t, dev, t->crowd, 0);
			batch_of_probes(t, dev, t->crowd);
			probe_made_code(t, dev);
			single_probes(t, dev, t->family, UPROBE_FLAG_INHERIT);
			batch_of_probes(t, dev, t->family);
			/* What handlers may have queued just now */
			unprobe(t->dev, t->s.entry_target);
			unprobe(t->dev, t->s.ret_target);
			__atomic_fetch_add(&t->cycles, 5, __ATOMIC_RELAXED);
		}
		/* Some of them are still registered */
		close(dev);
	}
	return NULL;
}

static bool in_balance(int dev, int id)
{
	struct upt_state s = upt_read(dev, id);

	if (s.entries == s.hits + s.nmissed && !s.errors)
		return true;
	printf("# %lld entries, %lld returns, %lld missed, %lld errors\n",
	       s.entries, s.hits, s.nmissed, s.errors);
	return false;
}

static void live_and_end(struct torture *t)
{
	int dev = upt_open(UPT_MODULE), i, status;
	const void *others[] = { catcher, recurse, add };
	struct nested_ids ids;
	int id[3], entry;
	pid_t pid;

	end_of_victim = dice(4);
	pid = start_prog(victim);
	must(t, probe_nested(dev, pid, 0, &ids));
	for (i = 0; i < 3; i++) {
		id[i] = probe_ret(dev, pid, others[i]);
		must(t, id[i]);
	}
	entry = probe(dev, pid, fill_rep);
	must(t, entry);
	cont_prog(pid);
	if (end_of_victim > 1) {
		usleep(dice(8000));
		status = end_prog(pid);
		if (!killed(status, SIGKILL))
			count(LOST, 1);
	} else if (!exited(wait_prog(pid), 5)) {
		count(LOST, 1);
	}
	for (i = 0; i < NNESTED; i++)
		t->unbalanced += !in_balance(dev, ids.id[i]);
	for (i = 0; i < 3; i++)
		t->unbalanced += !in_balance(dev, id[i]);
	t->lives++;
	close(dev);
}

static void *sacrifice(void *arg)
{
	while (!stopping())
		live_and_end(arg);
	return NULL;
}

/* Handlers that register, and remove, at entry and at return. */
static void probe_op(int dev, pid_t pid, struct steady *s)
{
	struct upt_step step = {
		.when = UPT_AT_ENTRY,
		.n = 1,
	};

	s->op = idle_ret(dev, pid, op);
	s->entry_target = idle_probe(dev, pid, add);
	s->ret_target = idle_ret(dev, pid, nested[2]);
	step.id = s->op;
	step.target = s->entry_target;
	step.kind = UPT_DO_REGISTER;
	step.every = 3;
	upt_step(dev, &step);
	step.kind = UPT_DO_UNREGISTER;
	step.every = 5;
	upt_step(dev, &step);
	add_step(dev, s->op, UPT_AT_RETURN, UPT_DO_UNREGISTER, s->ret_target);
	add_step(dev, s->op, UPT_AT_RETURN, UPT_DO_REGISTER, s->ret_target);
}

static void check_crowd(struct __test_metadata *_metadata, int dev,
			const struct steady *s)
{
	long jumped = shm[RECURSED_LEFT], left = shm[NESTED_LEFT];
	struct upt_state deep = upt_read(dev, s->deep);

	EXPECT_EQ(shm[ADDS], hits(dev, s->add));
	EXPECT_EQ(shm[FILLS], hits(dev, s->fill));
	EXPECT_EQ(shm[NOPS], hits(dev, s->nop));
	EXPECT_EQ(0, missed(dev, s->add));
	EXPECT_EQ(0, missed(dev, s->fill));
	EXPECT_EQ(0, missed(dev, s->nop));
	EXPECT_TRUE(nested_balance(dev, &s->nested, shm[NESTED],
				   shm[NESTED] - left, left));
	EXPECT_TRUE(is_balance(dev, s->recurse, shm[RECURSED],
			       shm[RECURSED] - jumped, jumped));
	EXPECT_TRUE(is_balance(dev, s->catcher, shm[CAUGHT], shm[CAUGHT], 0));
	EXPECT_EQ(shm[DEEP], deep.entries);
	EXPECT_EQ(shm[DEEP], deep.hits + deep.nmissed);
	EXPECT_TRUE(!shm[DEEP] || deep.nmissed);
	EXPECT_TRUE(is_balance(dev, s->op, shm[OPS], shm[OPS], 0));
	/* Whatever a handler asked for has been answered */
	EXPECT_LE(upt_read(dev, s->op).deferred,
		  upt_read(dev, s->entry_target).callbacks +
		  upt_read(dev, s->ret_target).callbacks);
}

/* Of a program that is a child of ours, all text has to be as ours is. */
static bool same_text(pid_t pid)
{
	char page[PAGE_SZ];
	char *at = __executable_start;
	size_t len;

	for (; at < etext; at += len) {
		len = etext - at < (long)PAGE_SZ ? etext - at : PAGE_SZ;
		if (read_mem(pid, at, page, len) || memcmp(page, at, len))
			return false;
	}
	return true;
}

static bool is_list_empty(void)
{
	FILE *f = fopen("/sys/kernel/debug/uprobes/list", "re");
	char line[512];
	bool empty;

	if (!f)
		abort();
	empty = !fgets(line, sizeof(line), f);
	if (!empty)
		printf("# %s", line);
	fclose(f);
	return empty;
}

/* Most of it is the kernel's, so programs of another ABI are done sooner. */
#ifdef COMPAT
#define SHARE	4
#else
#define SHARE	1
#endif

static unsigned int seconds(void)
{
	const char *value = getenv("torture");
	unsigned int all = DEFAULT_SECONDS;

	if (value && *value)
		all = strtoul(value, NULL, 10);
	return (all + SHARE - 1) / SHARE;
}

static void start_crowd(struct __test_metadata *_metadata, struct torture *t)
{
	struct steady *s = &t->s;

	memcpy(code_of_add, entry_of(add), ADD_SIZE);
	t->crowd = start_prog(crowd);
	s->add = probe(t->dev, t->crowd, add);
	s->fill = probe(t->dev, t->crowd, fill_rep);
	s->nop = probe(t->dev, t->crowd, nop_fn);
	ASSERT_EQ(0, probe_nested(t->dev, t->crowd, 0, &s->nested));
	s->recurse = probe_ret(t->dev, t->crowd, recurse);
	s->catcher = probe_ret(t->dev, t->crowd, catcher);
	s->deep = probe_ret(t->dev, t->crowd, deep);
	ASSERT_LE(0, s->add);
	ASSERT_LE(0, s->fill);
	ASSERT_LE(0, s->nop);
	ASSERT_LE(0, s->recurse);
	ASSERT_LE(0, s->catcher);
	ASSERT_LE(0, s->deep);
	probe_op(t->dev, t->crowd, s);
	ASSERT_EQ(0, upt_op(t->dev, UPT_REGISTER_AGAIN, s->op));
	cont_prog(t->crowd);
}

/* Nothing runs in it now, so all of its text has to be as it was. */
static void end_crowd(struct __test_metadata *_metadata, struct torture *t)
{
	int id;

	check_crowd(_metadata, t->dev, &t->s);
	for (id = 0; id <= t->s.ret_target; id++)
		unprobe(t->dev, id);
	EXPECT_EQ(0, list_lines(t->crowd));
	EXPECT_TRUE(same_text(t->crowd));
	EXPECT_TRUE(exited(run_prog(t->crowd), 0));
}

/* All of the family: those whose parent was killed are children of ours. */
static void end_family(struct __test_metadata *_metadata, struct torture *t)
{
	int status;

	EXPECT_TRUE(exited(run_prog(t->family), 0));
	while (waitpid(-1, &status, 0) > 0) {
		if (!exited(status, 5))
			count(LOST, 1);
	}
	EXPECT_EQ(ECHILD, errno);
}

TEST_F(uprobes, torture)
{
	struct torture t = { .dev = self->dev };
	struct nested_ids nested_ids;
	pthread_t changer, killer;
	int id, i, status;
	long begun;

	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	start_crowd(_metadata, &t);
	t.family = start_prog(family);
	id = probe_sort(t.dev, t.family, add, true, UPROBE_FLAG_INHERIT);
	ASSERT_LE(0, id);
	ASSERT_EQ(0, probe_nested(t.dev, t.family, UPROBE_FLAG_INHERIT,
				  &nested_ids));
	cont_prog(t.family);
	ASSERT_EQ(0, pthread_create(&changer, NULL, register_and_remove, &t));
	ASSERT_EQ(0, pthread_create(&killer, NULL, sacrifice, &t));
	sleep(seconds());
	shm[STOP] = 1;
	pthread_join(changer, NULL);
	pthread_join(killer, NULL);
	status = wait_prog(t.crowd);
	ASSERT_TRUE(WIFSTOPPED(status))
		TH_LOG("the crowd ended with %x", status);
	status = wait_prog(t.family);
	ASSERT_TRUE(WIFSTOPPED(status))
		TH_LOG("the family ended with %x", status);

	end_crowd(_metadata, &t);
	end_family(_metadata, &t);
	TH_LOG("%ld cycles of registration, %ld processes ended, %ld forked, %ld in the family",
	       t.cycles, t.lives, shm[FORKS], shm[BORN]);
	TH_LOG("%ld adds, %ld fills, %ld nops, %ld nested, %ld recursions, %ld deep",
	       shm[ADDS], shm[FILLS], shm[NOPS], shm[NESTED], shm[RECURSED],
	       shm[DEEP]);
	TH_LOG("%ld left by longjmp or exit, %ld signals, %ld maps, %ld ops",
	       shm[RECURSED_LEFT] + shm[NESTED_LEFT], shm[SIGNALS], shm[MAPS],
	       shm[OPS]);
	EXPECT_EQ(0, shm[BAD]);
	EXPECT_EQ(0, shm[LOST]);
	EXPECT_EQ(0, t.errors)
		TH_LOG("the last error was %d", t.last_error);
	EXPECT_EQ(0, t.unbalanced);
	EXPECT_LT(0, t.cycles);
	EXPECT_LT(0, t.lives);

	/* Who was killed may have been on the way to it, or on the way back */
	begun = upt_read(t.dev, id).entries;
	EXPECT_LE(shm[DONE], begun);
	EXPECT_GE(shm[BEGUN], begun);
	EXPECT_TRUE(in_balance(t.dev, id));
	for (i = 0; i < NNESTED; i++)
		EXPECT_TRUE(in_balance(t.dev, nested_ids.id[i]));
	EXPECT_TRUE(is_list_empty());
	close_and_unload(_metadata, &self->dev);
}

static void crowd_of_one(void)
{
	mapper(NULL);
	prog_stop();
}

/* Code is made and goes, and is probed at any time in between: no harm. */
TEST_F_TIMEOUT(uprobes, probes_in_made_code, 100)
{
	struct torture t = { .dev = self->dev };
	int dev, i, n, status;

	memcpy(code_of_add, entry_of(add), ADD_SIZE);
	t.crowd = start_prog(crowd_of_one);
	cont_prog(t.crowd);
	for (n = 0; n < 100; n++) {
		dev = upt_open(UPT_MODULE);
		for (i = 0; i < 20; i++)
			probe_made_code(&t, dev);
		close(dev);
	}
	shm[STOP] = 1;
	status = wait_prog(t.crowd);
	ASSERT_TRUE(WIFSTOPPED(status))
		TH_LOG("status %x", status);
	EXPECT_TRUE(exited(run_prog(t.crowd), 0));
	EXPECT_EQ(0, t.errors);
	EXPECT_EQ(0, shm[BAD]);
	EXPECT_LT(10, shm[MAPS]);
	TH_LOG("%ld maps", shm[MAPS]);
}

/* Behind the test, so that it is known by then. */
static __attribute__((__constructor__)) void set_time_limit(void)
{
	_uprobes_torture_object->timeout = seconds() + SLACK_SECONDS;
}
