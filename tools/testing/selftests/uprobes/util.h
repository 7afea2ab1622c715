/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests share: requests to the module, probed programs, and what
 * /proc tells about a program.
 *
 * A probed program is a forked child of the test, so both have the same
 * functions at the same addresses. It stops itself before its first line and
 * whenever it calls prog_stop(); run_prog() continues it until the next stop
 * or its end. It hands back results in the shared memory shm.
 */
#ifndef _UTIL_H
#define _UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "test_modules/uprobes_test.h"

#define UPT_MODULE	"uprobes_test"
#define UPT_MODULE2	"uprobes_test2"

#define PAGE_SZ		4096UL

/*
 * Of the architecture, from its folder: the breakpoint, an instruction that
 * returns, and the size of one that does nothing; whether instructions are words,
 * and nothing else is; where addresses of programs end, and one of the kernel's.
 * Functions may have two entries, see entry_of(), or pointers to them may point
 * to descriptors.
 *
 * What a breakpoint tells the program: TRAP_CODE is its si_code, and the thread
 * is behind it if it TRAP_PASSES. TRACE_FLAGS of the saved registers are set when
 * the thread is stepped, which a program may be able to do to itself.
 *
 * Return addresses are RETURN_SLOT above the stack pointer at entry once they are
 * in memory, which they may be from the beginning, or may be elsewhere; a return
 * adds RETURN_POPS to the stack pointer. If not all SLOTS_KNOWN are, the engine can
 * only wait for the return. What cannot be executed from a copy is REFUSED; a thread
 * that goes on BEHIND_COPY gets that signal. CHAIN_SKIPS is how many callers of a
 * function that calls none are not in a call chain of perf.
 *
 * REGS is what NT_PRSTATUS has: its instruction pointer, stack pointer, number of
 * a system call, and link register. CONTEXT_... are those of a signal frame.
 *
 * ..._SIZE is how much to copy of functions in code.S, for memory that a program
 * generates. GDB_... is how gdb knows the first argument, the result, and the stack,
 * and how often it stops in middle() when it finishes calls.
 */
#include "machine.h"

#define NSEC_PER_SEC	1000000000ULL

/* As in <linux/uprobes.h>. */
#define UPROBE_FLAG_DISABLED	1
#define UPROBE_FLAG_INHERIT	2
#define UPROBE_MAX_RETURNS	256

/* A C function that is called as it is written, and not merged with others. */
#define __probed	__attribute__((__noipa__))

/* Memory that a test and its programs share; zero at first. */
#define SHM_SIZE	0x100000UL
extern long *shm;

/* Of the linker: where the text of this program is. */
extern char __executable_start[], etext[];

/*
 * Where all callers of a C function get to, for who wants to look at the text. A
 * request takes any address of this program for what it means.
 */
const void *entry_of(const void *fn);

/*
 * To call what is at an address as a C function. Not after another of these in
 * the same thread.
 */
void *fn_at(const void *addr);

/* Requests. A negative result is an errno. */
int upt_open(const char *module);
int upt_load(const char *module, const char *parameters);
int upt_unload(const char *module);
int upt_register(int dev, struct upt_probe *probe);
int upt_add(int dev, struct upt_probe *probe);
void upt_step(int dev, const struct upt_step *step);
void upt_move(int dev, int id, pid_t pid, const void *addr);
int upt_register_batch(int dev, struct upt_batch *batch);
int upt_unregister_batch(int dev, const struct upt_batch *batch);
int upt_op(int dev, unsigned long op, int id);
struct upt_state upt_read(int dev, int id);
int upt_events(int dev, struct upt_event *events);
int upt_misuse(int dev, enum upt_call call, pid_t pid, const void *addr);

/* The common cases. probe...() returns an id, or the errno of the API. */
int probe(int dev, pid_t pid, const void *addr);
int probe_kind(int dev, pid_t pid, const void *addr, enum upt_kind kind,
	       unsigned long arg);
int probe_ret(int dev, pid_t pid, const void *addr);
int probe_ret_kind(int dev, pid_t pid, const void *addr, enum upt_kind kind,
		   unsigned long arg);
int unprobe(int dev, int id);
int init_returns(int dev, pid_t pid, const void *addr);
long hits(int dev, int id);
long entries(int dev, int id);
long missed(int dev, int id);
bool wait_hits(int dev, int id);
bool wait_entries(int dev, int id);

/*
 * The same objects, but not registered yet, and what else they do: kind to one
 * object, always.
 */
int idle_probe(int dev, pid_t pid, const void *addr);
int idle_ret(int dev, pid_t pid, const void *addr);
void add_step(int dev, int id, enum upt_when when, enum upt_kind kind,
	      int target);

/* Probed programs. */
pid_t start_prog(void (*body)(void));
int run_prog(pid_t pid);
void cont_prog(pid_t pid);
int wait_prog(pid_t pid);
int end_prog(pid_t pid);
void prog_stop(void);

/*
 * Programs that make the test their debugger and then stop. These run them up
 * to the next stop, the first one that is traced to begin with.
 */
pid_t start_traced(void (*body)(void));
int cont_traced(pid_t pid);
int step_traced(pid_t pid);
unsigned long ip_of_traced(pid_t pid);
int regs_of_traced(pid_t pid, REGS *regs);
int set_regs_of_traced(pid_t pid, REGS *regs);

static inline bool stopped_by(int status, int sig)
{
	return WIFSTOPPED(status) && WSTOPSIG(status) == sig;
}

static inline bool exited(int status, int code)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static inline bool killed(int status, int sig)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == sig;
}

/*
 * Memory and mappings of a program. read_mem() tells what is there, peek_mem()
 * what a debugger is told: text without our breakpoints, for instance.
 */
int read_mem(pid_t pid, const void *addr, void *buf, size_t len);
int peek_mem(pid_t pid, const void *addr, void *buf, size_t len);
int write_mem(pid_t pid, const void *addr, const void *buf, size_t len);
bool find_map(pid_t pid, const char *name, unsigned long *start,
	      unsigned long *end);
long smaps_kb(pid_t pid, const void *addr, const char *field);
char thread_state(pid_t pid);
bool wait_state(pid_t pid, char state);
long proc_ip(pid_t pid, long *nr);	/* its system call, -1 is none */
long switches(pid_t pid);	/* how often the thread left its CPU */
bool wait_blocked(pid_t pid, char state);

#define LIST_PATH	"/sys/kernel/debug/uprobes/list"

/* The debugfs list: what it says of one address, at most one line. */
struct list_line {
	unsigned long addr;
	char kind[32];
	char handler[64];
	char module[64];
	unsigned long hits;
	unsigned long missed;
	bool disabled;
	bool gone;
};

int list_lines(pid_t pid);
bool list_find(pid_t pid, const void *addr, struct list_line *line);
int set_enabled(bool on);

/* Lets the kernel give those warnings again that it gives only once. */
int rearm_warnings(void);

/* Warnings that the kernel logs, from log_start() on, with a word in them. */
int log_start(void);
int log_warnings(int fd, const char *word);

__u64 now_ns(void);
void sleep_ms(unsigned int ms);

#endif /* _UTIL_H */
