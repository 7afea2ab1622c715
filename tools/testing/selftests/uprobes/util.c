// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "util.h"

#define ENABLED_PATH	"/sys/kernel/debug/uprobes/enabled"
#define WARN_ONCE_PATH	"/sys/kernel/debug/clear_warn_once"

long *shm;

static void die(const char *what)
{
	fprintf(stderr, "# %s: %s\n", what, strerror(errno));
	abort();
}

static __attribute__((__constructor__)) void map_shm(void)
{
	shm = mmap(NULL, SHM_SIZE, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shm == MAP_FAILED)
		die("mmap");
}

/* The module is beside the program, as built, or beside its folder. */
static int open_module(const char *module)
{
	static const char * const dirs[] = { "test_modules", "../modules" };
	char exe[PATH_MAX], path[PATH_MAX + 128];
	ssize_t len;
	size_t i;
	int fd;

	len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (len < 0)
		return -1;
	exe[len] = '\0';
	dirname(exe);
	for (i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s/%s.ko", exe, dirs[i],
			 module);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			break;
	}
	return fd;
}

int upt_load(const char *module, const char *parameters)
{
	int ret = 0, fd = open_module(module);

	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, parameters, 0) && errno != EEXIST)
		ret = -errno;
	close(fd);
	return ret;
}

/* A test that ended may still be closing its device, or be in a handler. */
int upt_unload(const char *module)
{
	int tries;

	for (tries = 0; tries < 200; tries++) {
		if (!syscall(SYS_delete_module, module, O_NONBLOCK))
			return 0;
		if (errno != EWOULDBLOCK && errno != EBUSY)
			break;
		sleep_ms(50);
	}
	return -errno;
}

int upt_open(const char *module)
{
	char path[64];
	int fd, ret;

	ret = upt_load(module, "");
	if (ret)
		return ret;
	snprintf(path, sizeof(path), "/dev/%s", module);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void request(int dev, unsigned long op, void *req)
{
	if (ioctl(dev, op, req))
		die("the test module refused a call");
}

/* A descriptor: the address of the function, and that of its data behind it. */
static const void *text_of(const void *fn)
{
	unsigned long words[2];

	/* Looking may take long, and what is text leads nowhere. */
	if (DESCRIPTORS && fn >= (void *)__executable_start && fn < (void *)etext)
		return fn;
	if (DESCRIPTORS && !read_mem(getpid(), fn, words, sizeof(words)) &&
	    words[0] && words[0] < ADDRESS_END &&
	    words[1] - words[0] < 1UL << 28)
		return (void *)words[0];
	return fn;
}

void *fn_at(const void *addr)
{
	static __thread const void *words[3];

	if (!DESCRIPTORS)
		return (void *)addr;
	words[0] = addr;
	return words;
}

/*
 * On powerpc, that may be behind two instructions, if they load r2. The compiler
 * calls functions of the same program there.
 */
const void *entry_of(const void *fn)
{
	__u32 code[2];

	fn = text_of(fn);
	if (TWO_ENTRIES && !DESCRIPTORS &&
	    !read_mem(getpid(), fn, code, sizeof(code)) &&
	    (code[0] >> 16 == 0x3c4c || code[0] >> 16 == 0x3c40) &&
	    code[1] >> 16 == 0x3842)
		return fn + sizeof(code);
	return fn;
}

static __u64 entry_vaddr(__u64 vaddr)
{
	if (!TWO_ENTRIES)
		return vaddr;
	return (uintptr_t)entry_of((void *)(uintptr_t)vaddr);
}

static __u64 entry_arg(__u32 kind, __u64 arg)
{
	return kind == UPT_SET_IP ? entry_vaddr(arg) : arg;
}

static void find_entries(struct upt_probe *probe)
{
	probe->vaddr = entry_vaddr(probe->vaddr);
	probe->arg = entry_arg(probe->kind, probe->arg);
	probe->entry_arg = entry_arg(probe->entry_kind, probe->entry_arg);
}

int upt_register(int dev, struct upt_probe *probe)
{
	find_entries(probe);
	request(dev, UPT_REGISTER, probe);
	return probe->result;
}

int upt_add(int dev, struct upt_probe *probe)
{
	find_entries(probe);
	request(dev, UPT_ADD, probe);
	return probe->id;
}

void upt_step(int dev, const struct upt_step *step)
{
	struct upt_step req = *step;

	req.arg = entry_arg(req.kind, req.arg);
	request(dev, UPT_STEP, &req);
}

/* An object that is not registered now is for that place from now on. */
void upt_move(int dev, int id, pid_t pid, const void *addr)
{
	struct upt_probe req = {
		.id = id,
		.pid = pid,
		.vaddr = entry_vaddr((uintptr_t)addr),
	};

	request(dev, UPT_MOVE, &req);
}

/* Room for UPT_MAX_EVENTS of them. */
int upt_events(int dev, struct upt_event *events)
{
	struct upt_events req = { .events = (uintptr_t)events };

	request(dev, UPT_EVENTS, &req);
	return req.n;
}

int upt_register_batch(int dev, struct upt_batch *batch)
{
	__u64 *vaddrs = (__u64 *)(uintptr_t)batch->vaddrs;
	__u32 i;

	for (i = 0; TWO_ENTRIES && i < batch->n; i++)
		vaddrs[i] = entry_vaddr(vaddrs[i]);
	request(dev, UPT_REGISTER_BATCH, batch);
	return batch->result;
}

int upt_unregister_batch(int dev, const struct upt_batch *batch)
{
	struct upt_batch req = *batch;

	request(dev, UPT_UNREGISTER_BATCH, &req);
	return req.result;
}

int upt_op(int dev, unsigned long op, int id)
{
	struct upt_op req = { .id = id };

	request(dev, op, &req);
	return req.result;
}

struct upt_state upt_read(int dev, int id)
{
	struct upt_state req = { .id = id };

	request(dev, UPT_READ, &req);
	return req;
}

int upt_misuse(int dev, enum upt_call call, pid_t pid, const void *addr)
{
	struct upt_misuse req = {
		.call = call,
		.pid = pid,
		.vaddr = entry_vaddr((uintptr_t)addr),
	};

	request(dev, UPT_MISUSE, &req);
	return req.result;
}

/* A return probe with an entry_handler and some data. */
static struct upt_probe new_ret(pid_t pid, const void *addr)
{
	return (struct upt_probe){
		.pid = pid,
		.type = UPT_URETPROBE,
		.vaddr = (uintptr_t)addr,
		.entry = true,
		.data_size = 24,
	};
}

static struct upt_probe new_probe(pid_t pid, const void *addr)
{
	return (struct upt_probe){
		.pid = pid,
		.vaddr = (uintptr_t)addr,
	};
}

static int register_new(int dev, struct upt_probe *req, enum upt_kind kind,
			unsigned long arg)
{
	int ret;

	req->kind = kind;
	req->arg = arg;
	ret = upt_register(dev, req);
	return ret ? ret : req->id;
}

int probe_kind(int dev, pid_t pid, const void *addr, enum upt_kind kind,
	       unsigned long arg)
{
	struct upt_probe req = new_probe(pid, addr);

	return register_new(dev, &req, kind, arg);
}

int probe(int dev, pid_t pid, const void *addr)
{
	return probe_kind(dev, pid, addr, UPT_COUNT, 0);
}

int probe_ret_kind(int dev, pid_t pid, const void *addr, enum upt_kind kind,
		   unsigned long arg)
{
	struct upt_probe req = new_ret(pid, addr);

	return register_new(dev, &req, kind, arg);
}

int probe_ret(int dev, pid_t pid, const void *addr)
{
	return probe_ret_kind(dev, pid, addr, UPT_COUNT, 0);
}

int idle_probe(int dev, pid_t pid, const void *addr)
{
	struct upt_probe req = new_probe(pid, addr);

	req.log = true;
	return upt_add(dev, &req);
}

int idle_ret(int dev, pid_t pid, const void *addr)
{
	struct upt_probe req = new_ret(pid, addr);

	req.log = true;
	return upt_add(dev, &req);
}

void add_step(int dev, int id, enum upt_when when, enum upt_kind kind,
	      int target)
{
	struct upt_step step = {
		.id = id,
		.when = when,
		.kind = kind,
		.target = target,
		.n = 1,
	};

	upt_step(dev, &step);
}

int unprobe(int dev, int id)
{
	return upt_op(dev, UPT_UNREGISTER, id);
}

int init_returns(int dev, pid_t pid, const void *addr)
{
	return upt_misuse(dev, UPT_CALL_INIT, pid, addr);
}

long hits(int dev, int id)
{
	return upt_read(dev, id).hits;
}

long entries(int dev, int id)
{
	return upt_read(dev, id).entries;
}

long missed(int dev, int id)
{
	return upt_read(dev, id).nmissed;
}

static bool wait_count(long (*count)(int dev, int id), int dev, int id)
{
	int tries;

	for (tries = 0; tries < 5000; tries++) {
		if (count(dev, id))
			return true;
		sleep_ms(1);
	}
	return false;
}

/* Wait for the first one, but not for ever. */
bool wait_hits(int dev, int id)
{
	return wait_count(hits, dev, id);
}

bool wait_entries(int dev, int id)
{
	return wait_count(entries, dev, id);
}

void prog_stop(void)
{
	raise(SIGSTOP);
}

pid_t start_prog(void (*body)(void))
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		prog_stop();
		body();
		_exit(0);
	}
	wait_prog(pid);
	return pid;
}

void cont_prog(pid_t pid)
{
	if (kill(pid, SIGCONT))
		die("SIGCONT");
}

int wait_prog(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WUNTRACED) != pid)
		die("waitpid");
	return status;
}

int run_prog(pid_t pid)
{
	cont_prog(pid);
	return wait_prog(pid);
}

int end_prog(pid_t pid)
{
	kill(pid, SIGKILL);
	return wait_prog(pid);
}

pid_t start_traced(void (*body)(void))
{
	pid_t pid = start_prog(body);

	run_prog(pid);
	return pid;
}

int cont_traced(pid_t pid)
{
	if (ptrace(PTRACE_CONT, pid, 0, 0))
		return -1;
	return wait_prog(pid);
}

int step_traced(pid_t pid)
{
	if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0))
		return -1;
	return wait_prog(pid);
}

int regs_of_traced(pid_t pid, REGS *regs)
{
	struct iovec iov = { regs, sizeof(*regs) };

	return ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov);
}

int set_regs_of_traced(pid_t pid, REGS *regs)
{
	struct iovec iov = { regs, sizeof(*regs) };

	return ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov);
}

unsigned long ip_of_traced(pid_t pid)
{
	REGS regs;

	return regs_of_traced(pid, &regs) ? 0 : regs.REGS_IP;
}

static int open_mem(pid_t pid, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		die(path);
	return fd;
}

int peek_mem(pid_t pid, const void *addr, void *buf, size_t len)
{
	int fd = open_mem(pid, O_RDONLY);
	ssize_t ret = pread(fd, buf, len, (uintptr_t)addr);

	close(fd);
	return ret == (ssize_t)len ? 0 : -1;
}

int read_mem(pid_t pid, const void *addr, void *buf, size_t len)
{
	struct iovec to = { buf, len }, from = { (void *)addr, len };

	if (process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)len)
		return 0;
	/* Only a debugger can read text that the program itself cannot read */
	return peek_mem(pid, addr, buf, len);
}

int write_mem(pid_t pid, const void *addr, const void *buf, size_t len)
{
	int fd = open_mem(pid, O_RDWR);
	ssize_t ret = pwrite(fd, buf, len, (uintptr_t)addr);

	close(fd);
	return ret == (ssize_t)len ? 0 : -1;
}

static FILE *open_proc(pid_t pid, const char *file)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	f = fopen(path, "re");
	if (!f)
		die(path);
	return f;
}

bool find_map(pid_t pid, const char *name, unsigned long *start,
	      unsigned long *end)
{
	FILE *f = open_proc(pid, "maps");
	bool found = false;
	char line[512];

	while (!found && fgets(line, sizeof(line), f)) {
		found = strstr(line, name) &&
			sscanf(line, "%lx-%lx", start, end) == 2;
	}
	fclose(f);
	return found;
}

/* Returns -1 when no such mapping or field exists. */
long smaps_kb(pid_t pid, const void *addr, const char *field)
{
	FILE *f = open_proc(pid, "smaps");
	unsigned long start = 0, end = 0, s, e;
	uintptr_t at = (uintptr_t)addr;
	size_t len = strlen(field);
	char line[512];
	long kb = -1;

	while (kb < 0 && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &s, &e) == 2) {
			start = s;
			end = e;
		} else if (at >= start && at < end &&
			   !strncmp(line, field, len) && line[len] == ':') {
			kb = strtol(line + len + 1, NULL, 10);
		}
	}
	fclose(f);
	return kb;
}

/* Not from "stat", which waits for an exec that is under way. */
char thread_state(pid_t pid)
{
	FILE *f = open_proc(pid, "status");
	char line[512], state = '?';

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "State: %c", &state) == 1)
			break;
	}
	fclose(f);
	return state;
}

bool wait_state(pid_t pid, char state)
{
	int tries;

	for (tries = 0; tries < 500; tries++) {
		if (thread_state(pid) == state)
			return true;
		sleep_ms(10);
	}
	return false;
}

/* The ip in /proc/PID/syscall is the last word: 0 for a thread that runs. */
long proc_ip(pid_t pid, long *nr)
{
	FILE *f = open_proc(pid, "syscall");
	unsigned long ip = 0;
	char line[512], *word;

	if (fgets(line, sizeof(line), f)) {
		*nr = strtol(line, NULL, 10);
		word = strrchr(line, ' ');
		if (word)
			ip = strtoul(word, NULL, 16);
	}
	fclose(f);
	return ip;
}

long switches(pid_t pid)
{
	FILE *f = open_proc(pid, "status");
	long sum = 0, n;
	char line[512];

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %ld", &n) == 1)
			sum += n;
	}
	fclose(f);
	return sum;
}

/* Who is about to sleep has that state a little before it leaves its CPU. */
bool wait_blocked(pid_t pid, char state)
{
	long before, now = -1;
	int tries;

	for (tries = 0; tries < 50; tries++) {
		before = now;
		now = switches(pid);
		if (thread_state(pid) == state && now == before)
			return true;
		sleep_ms(100);
	}
	return false;
}

/* pid address kind handler [module] hits missed flags */
static bool parse_list_line(const char *text, pid_t pid, struct list_line *l)
{
	int n, end = 0;

	memset(l, 0, sizeof(*l));
	if (sscanf(text, "%d %lx %31s %63s [%63[^]]] %lu %lu%n", &n, &l->addr,
		   l->kind, l->handler, l->module, &l->hits, &l->missed,
		   &end) < 7 || n != pid)
		return false;
	l->disabled = strstr(text + end, "[DISABLED]");
	l->gone = strstr(text + end, "[GONE]");
	return true;
}

static int scan_list(pid_t pid, const void *addr, struct list_line *found)
{
	FILE *f = fopen(LIST_PATH, "re");
	struct list_line line;
	char text[512];
	int n = 0;

	if (!f)
		die(LIST_PATH);
	while (fgets(text, sizeof(text), f)) {
		if (!parse_list_line(text, pid, &line))
			continue;
		if (addr && line.addr != (uintptr_t)addr)
			continue;
		n++;
		if (found)
			*found = line;
	}
	fclose(f);
	return n;
}

int list_lines(pid_t pid)
{
	return scan_list(pid, NULL, NULL);
}

bool list_find(pid_t pid, const void *addr, struct list_line *line)
{
	return scan_list(pid, entry_of(addr), line) == 1;
}

static int write_switch(const char *path, const char *to)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, to, 1) != 1)
		ret = -errno;
	close(fd);
	return ret;
}

int set_enabled(bool on)
{
	return write_switch(ENABLED_PATH, on ? "1" : "0");
}

int rearm_warnings(void)
{
	return write_switch(WARN_ONCE_PATH, "1");
}

int log_start(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		die("/dev/kmsg");
	lseek(fd, 0, SEEK_END);
	return fd;
}

int log_warnings(int fd, const char *word)
{
	char record[8192];
	ssize_t len;
	int n = 0;

	for (;;) {
		len = read(fd, record, sizeof(record) - 1);
		if (len < 0 && errno == EPIPE)
			continue;
		if (len <= 0)
			break;
		record[len] = '\0';
		/* The record starts with its priority, of which 4 is warning */
		if ((strtoul(record, NULL, 10) & 7) <= 4 &&
		    strstr(record, word))
			n++;
	}
	close(fd);
	return n;
}

__u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

void sleep_ms(unsigned int ms)
{
	struct timespec ts = {
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000L,
	};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}
