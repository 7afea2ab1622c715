// SPDX-License-Identifier: GPL-2.0-only
/*
 * The differential tester: executes instructions unprobed and probed, each from
 * the same states of the CPU, and compares everything. An encoding is exact,
 * refused, or different, which is a failure.
 *
 * A child runs a chunk of them in phases: twice unprobed, which also shows what
 * is not the same each time; then with a probe on each, made by its parent; and
 * those that differed once more without. When the child dies in the second
 * phase that is the fault of the probe it was at, and another one goes on.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "encodings.h"
#include "util.h"

#define BITS_32		(sizeof(long) == 4)
#define SUBSET		4000
#define FULL		200000
#define MAX_PRINTED	20
#define MAX_DEAD	20
#define HANG_SECONDS	10

struct shared *shared;

static unsigned long exact, refused, different, unstable, dead;
static unsigned long refused_by[256];	/* errno */
static unsigned long first_case;

static const char *bytes_of(const struct encoding *e)
{
	static char text[3 * MAX_INSN + 1];
	int i, n = 0;

	for (i = 0; i < e->parts.len; i++)
		n += sprintf(text + n, "%s%02x", i % INSN_UNIT ? "" : " ",
			     e->bytes[IN_ORDER(i)]);
	return text;
}

/* What is said about a failing case. */
static void report(int slot, const char *what)
{
	static const char * const places[NPLACES] = {
		"", " at the end of a page", " across two pages",
		" at the end of the last page", " across the last page",
	};
	const struct encoding *e = &shared->cases[slot];

	if (different++ >= MAX_PRINTED)
		return;
	printf("different:%s%s: %s; again: run insn %s--seed %llu --case %lu\n",
	       bytes_of(e), places[e->place], what, BITS_32 ? "--32 " : "",
	       seed, first_case + slot);
}

static void judge_case(int slot, long hits, int died)
{
	const struct difference *d = &shared->differences[slot];
	char what[256];

	unstable += shared->unstable[slot];
	if (shared->refused[slot]) {
		refused++;
		refused_by[shared->refused[slot] & 0xff]++;
	} else if (shared->cases[slot].fatal) {
		report(slot, "accepted, and cannot be tried here");
	} else if (died) {
		snprintf(what, sizeof(what), "the child %s",
			 died == SIGALRM ? "hangs" : strsignal(died));
		report(slot, what);
	} else if (d->found) {
		snprintf(what, sizeof(what),
			 "state %d: %s is %llx, not %llx, and %d more differ",
			 d->state, word_name(d->word), d->seen, d->expected,
			 d->nwords - 1);
		report(slot, what);
	} else if (hits != NSTATES) {
		snprintf(what, sizeof(what), "%ld hits, not %d", hits,
			 NSTATES);
		report(slot, what);
	} else {
		exact++;
	}
}

/* The child. */

static struct child {
	pid_t pid;
	int in;
	int out;
} child;

static void start_child(unsigned long chunk, int first, int n)
{
	int down[2], up[2];

	fflush(stdout);
	if (pipe(down) || pipe(up))
		die("no pipe: %s", strerror(errno));
	child.pid = fork();
	if (child.pid < 0)
		die("cannot fork: %s", strerror(errno));
	if (!child.pid) {
		close(down[1]);
		close(up[0]);
		run_child(down[0], up[1], chunk, first, n);
	}
	close(down[0]);
	close(up[1]);
	child.in = up[0];
	child.out = down[1];
}

static void go_on(void)
{
	if (write(child.out, "", 1) != 1)
		die("the child does not listen: %s", strerror(errno));
}

static int end_child(void)
{
	int status;

	close(child.in);
	close(child.out);
	kill(child.pid, SIGKILL);
	if (waitpid(child.pid, &status, 0) != child.pid)
		die("the child is lost: %s", strerror(errno));
	return status;
}

/* Waits for a phase to end: 0, or a signal: SIGALRM when it hangs. */
static int wait_phase(void)
{
	struct pollfd fd = { .fd = child.in, .events = POLLIN };
	long runs = -1, now;
	int seconds = 0;
	char byte;

	while (!poll(&fd, 1, 1000)) {
		now = __atomic_load_n(&shared->runs, __ATOMIC_RELAXED);
		if (now != runs)
			seconds = 0;
		runs = now;
		if (++seconds > HANG_SECONDS)
			return SIGALRM;
	}
	return read(child.in, &byte, 1) == 1 ? 0 : SIGCHLD;
}

/* In this phase it is not the engine's fault. */
static void wait_unprobed(void)
{
	int sig = wait_phase();
	const char *what = sig == SIGALRM ? "hangs" : "dies";

	if (!sig)
		return;
	die("case %lu, %s: unprobed, the child %s: %x",
	    first_case + shared->at, bytes_of(&shared->cases[shared->at]),
	    what, end_child());
}

static void probe_all(int dev, int *ids, int first, int n)
{
	int i;

	for (i = first; i < n; i++) {
		struct upt_probe req = {
			.pid = child.pid,
			.vaddr = shared->cases[i].addr,
		};

		shared->refused[i] = -upt_register(dev, &req);
		ids[i] = req.id;
	}
}

/* Returns the case to go on with. */
static int run_cases(unsigned long chunk, int first, int n)
{
	int ids[CHUNK], dev, died, end = n, i, status;

	start_child(chunk, first, n);
	wait_unprobed();
	dev = upt_open(UPT_MODULE);
	if (dev < 0)
		die("cannot open the test module's device: %s", strerror(-dev));
	probe_all(dev, ids, first, n);
	go_on();
	died = wait_phase();
	if (died) {
		status = end_child();
		if (died == SIGCHLD && WIFSIGNALED(status))
			died = WTERMSIG(status);
		end = shared->at + 1;
		dead++;
	}
	for (i = first; i < end; i++)
		shared->hits[i] = upt_read(dev, ids[i]).hits;
	close(dev);
	if (!died) {
		go_on();
		wait_unprobed();
		end_child();
	}
	for (i = first; i < end; i++)
		judge_case(i, shared->hits[i], i == end - 1 ? died : 0);
	return end;
}

static bool run_chunk(unsigned long chunk, int first, int n)
{
	memset(shared->differences, 0, sizeof(shared->differences));
	memset(shared->unstable, 0, sizeof(shared->unstable));
	while (first < n) {
		first = run_cases(chunk, first, n);
		if (dead >= MAX_DEAD) {
			printf("encodings: %lu children died, giving up\n",
			       dead);
			return false;
		}
	}
	return true;
}

/* The user's wishes. */

static __u64 number(const char *option, const char *text)
{
	__u64 n;
	char *end;

	errno = 0;
	n = text ? strtoull(text, &end, 10) : 0;
	if (!text || !*text || *end || *text == '-' || errno)
		die("%s is given no integer", option);
	return n;
}

static void run_generated(unsigned long n)
{
	int i, in_chunk;

	for (first_case = 0; first_case < n; first_case += CHUNK) {
		in_chunk = n - first_case < CHUNK ? n - first_case : CHUNK;
		for (i = 0; i < in_chunk; i++)
			make_case(&shared->cases[i], first_case + i, i);
		if (!run_chunk(first_case / CHUNK, 0, in_chunk))
			break;
	}
}

/* Those before it are made too: no encoding is made twice. */
static void run_case(unsigned long nr)
{
	unsigned long i;

	for (i = 0; i <= nr; i++)
		make_case(&shared->cases[i % CHUNK], i, i % CHUNK);
	first_case = nr / CHUNK * CHUNK;
	run_chunk(nr / CHUNK, nr % CHUNK, nr % CHUNK + 1);
}

/* One encoding in all slots, that is, from many states. */
static void run_bytes(const char *hex)
{
	struct encoding e = { 0 };
	int i, n = 0, used;

	memset(e.bytes, FILL, sizeof(e.bytes));
	while (n < MAX_INSN &&
	       sscanf(hex, " %2hhx%n", &e.bytes[IN_ORDER(n)], &used) == 1) {
		hex += used;
		n++;
	}
	if (!n || n % INSN_UNIT || hex[strspn(hex, " ")])
		die("--bytes: hexadecimal, up to %d bytes, %d at a time",
		    MAX_INSN, INSN_UNIT);
	parse(e.bytes, &e.parts);
	e.parts.len = n;
	e.split = n;
	e.fatal = is_fatal(&e);
	for (i = 0; i < CHUNK; i++) {
		shared->cases[i] = e;
		place_case(&shared->cases[i], i);
	}
	run_chunk(0, 0, CHUNK);
}

static void print_refusals(void)
{
	int i;

	for (i = 0; i < 256; i++)
		if (refused_by[i])
			printf("refused with %s: %lu\n", strerrorname_np(i),
			       refused_by[i]);
}

static bool enough(unsigned long n)
{
	unsigned long all = exact + refused + different;

	if (all >= n)
		return true;
	printf("encodings: only %lu of %lu were tried\n", all, n);
	return false;
}

static struct {
	unsigned long n;
	__s64 nr;	/* of the only case, or -1 */
	const char *bytes;
} wanted = { .n = SUBSET, .nr = -1 };

static void parse_options(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--full"))
			wanted.n = FULL;
		else if (!strcmp(argv[i], "--seed"))
			seed = number("--seed", argv[++i]);
		else if (!strcmp(argv[i], "--case"))
			wanted.nr = number("--case", argv[++i]);
		else if (!strcmp(argv[i], "--bytes") && argv[i + 1])
			wanted.bytes = argv[++i];
		else
			die("what is \"%s\"?", argv[i]);
	}
	if (wanted.nr >= FULL)
		die("--case: there are %d, from 0", FULL);
}

static void set_up(void)
{
	cpu_set_t cpu;

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* The child has the first one */
	CPU_ZERO(&cpu);
	CPU_SET(1, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		die("a second CPU is needed: %s", strerror(errno));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("out of memory");
}

int main(int argc, char **argv)
{
	__u64 start = now_ns();
	bool ok = true;

	parse_options(argc, argv);
	set_up();
	printf("seed %llu\n", seed);
	print_omissions();
	if (wanted.bytes) {
		run_bytes(wanted.bytes);
		ok = enough(CHUNK);
	} else if (wanted.nr >= 0) {
		run_case(wanted.nr);
		ok = enough(1);
	} else {
		run_generated(wanted.n);
		ok = enough(wanted.n);
		if (wanted.n == FULL)
			ok &= all_opcodes_made();
	}

	if (different > MAX_PRINTED)
		printf("different: %lu more\n", different - MAX_PRINTED);
	print_refusals();
	printf("differ from run to run, unprobed: %lu\n", unstable);
	printf("%llu seconds\n", (now_ns() - start) / NSEC_PER_SEC);
	printf("insn%s: %lu exact, %lu refused, %lu different\n",
	       BITS_32 ? ", 32 bits" : "", exact, refused, different);
	return !ok || different;
}
