// SPDX-License-Identifier: GPL-2.0-only
/*
 * C15: debuggers, by ptrace() itself and by gdb. A debugger sees, writes and
 * steps as if there were no probes, and these go on counting.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#include "fixture.h"
#include "frames.h"
#include "probed.h"

enum {
	GO = SHM_FREE,
	FRAME,		/* frame pointer of what the chain called */
};

/* The text of add(), to which a pointer may not lead. */
#define ADD		entry_of(add)

static void be_traced(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	for (;;) {
		prog_stop();
		nop_fn();
		shm[SHM_RESULT] = add(1, 2);
	}
}

static long peek(pid_t pid, const void *addr)
{
	return ptrace(PTRACE_PEEKTEXT, pid, addr, 0);
}

static long poke(pid_t pid, const void *addr, long word)
{
	return ptrace(PTRACE_POKETEXT, pid, addr, word);
}

/* With a word of which the first bytes are those. */
static long with_opcode(long word, opcode_t opcode)
{
	memcpy(&word, &opcode, sizeof(opcode));
	return word;
}

static opcode_t opcode_in(long word)
{
	opcode_t opcode;

	memcpy(&opcode, &word, sizeof(opcode));
	return opcode;
}

static opcode_t peek_opcode(pid_t pid, const void *addr)
{
	return opcode_in(peek(pid, addr));
}

static long poke_opcode(pid_t pid, const void *addr, opcode_t opcode)
{
	return poke(pid, addr, with_opcode(peek(pid, addr), opcode));
}

/* What is in its memory, breakpoints and trampolines included. */
static long real_word(pid_t pid, const void *addr)
{
	long word;

	return read_mem(pid, addr, &word, sizeof(word)) ? -1 : word;
}

static opcode_t real_opcode(pid_t pid, const void *addr)
{
	return opcode_in(real_word(pid, addr));
}

/* This process has the same text, and no probes. */
static long own_word(const void *addr)
{
	long word;

	memcpy(&word, addr, sizeof(word));
	return word;
}

static opcode_t own_opcode(const void *addr)
{
	return opcode_in(own_word(addr));
}

static long set_ip(pid_t pid, const void *ip)
{
	REGS regs;

	if (regs_of_traced(pid, &regs))
		return -1;
	regs.REGS_IP = (uintptr_t)ip;
	return set_regs_of_traced(pid, &regs);
}

/* Continues it into the debugger's breakpoint at addr. */
static void expect_breakpoint(struct __test_metadata *_metadata, pid_t pid,
			      const void *addr)
{
	siginfo_t info;

	ASSERT_TRUE(stopped_by(cont_traced(pid), SIGTRAP));
	EXPECT_EQ((uintptr_t)addr + (TRAP_PASSES ? sizeof(opcode_t) : 0),
		  ip_of_traced(pid));
	ASSERT_EQ(0, ptrace(PTRACE_GETSIGINFO, pid, 0, &info));
	EXPECT_EQ(TRAP_CODE, info.si_code);
}

/* A debugger reads text as it would be without us: words, pages, any part. */
TEST_F(uprobes, c15_text_is_read)
{
	pid_t pid = start_traced(be_traced);
	char page[PAGE_SZ];
	const char *at;
	int i;

	for (i = 0; every_insns[i].addr; i++) {
		at = insn_at(&every_insns[i]);
		ASSERT_LE(0, probe(self->dev, pid, at));
		EXPECT_EQ(BREAKPOINT, real_opcode(pid, at));
	}
	for (i = 0; every_insns[i].addr; i++) {
		at = insn_at(&every_insns[i]);
		EXPECT_EQ(own_word(at), peek(pid, at));
		EXPECT_EQ(own_word(at - 7), peek(pid, at - 7));
	}
	at = (const char *)((uintptr_t)every & -PAGE_SZ);
	ASSERT_EQ(0, peek_mem(pid, at, page, sizeof(page)));
	EXPECT_EQ(0, memcmp(page, at, sizeof(page)));

	/* At the start of a page, in a word of two */
	at = pages + PAGE_SZ;
	ASSERT_LE(0, probe(self->dev, pid, at));
	EXPECT_EQ(BREAKPOINT, real_opcode(pid, at));
	EXPECT_EQ(own_word(at - 4), peek(pid, at - 4));
	ASSERT_EQ(0, peek_mem(pid, at - PAGE_SZ / 2, page, sizeof(page)));
	EXPECT_EQ(0, memcmp(page, at - PAGE_SZ / 2, sizeof(page)));
}

/*
 * A debugger's breakpoint over ours raises its SIGTRAP, and is no hit. What the
 * debugger does then is one: take it out, step, put it back.
 */
static void check_over_ours(struct __test_metadata *_metadata, int dev,
			    enum upt_type type)
{
	pid_t pid = start_traced(be_traced);
	int id = type == UPT_UPROBE ? probe(dev, pid, add) :
				      probe_ret(dev, pid, add);
	int i;

	ASSERT_LE(0, id);
	ASSERT_EQ(0, poke_opcode(pid, ADD, BREAKPOINT));
	EXPECT_EQ(BREAKPOINT, peek_opcode(pid, ADD));
	for (i = 0; i < 5; i++) {
		expect_breakpoint(_metadata, pid, ADD);
		EXPECT_EQ(i, hits(dev, id));
		ASSERT_EQ(0, poke_opcode(pid, ADD, own_opcode(ADD)));
		ASSERT_EQ(0, set_ip(pid, ADD));
		EXPECT_TRUE(stopped_by(step_traced(pid), SIGTRAP));
		EXPECT_EQ((uintptr_t)add_next, ip_of_traced(pid));
		ASSERT_EQ(0, poke_opcode(pid, ADD, BREAKPOINT));
		EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
		EXPECT_EQ(3, shm[SHM_RESULT]);
		EXPECT_EQ(i + 1, hits(dev, id));
	}
	ASSERT_EQ(0, poke_opcode(pid, ADD, own_opcode(ADD)));
	EXPECT_EQ(own_word(ADD), peek(pid, ADD));
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(6, hits(dev, id));
	if (type == UPT_URETPROBE)
		EXPECT_TRUE(balanced(dev, id));

	unprobe(dev, id);
	EXPECT_EQ(own_word(ADD), real_word(pid, ADD));
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(3, shm[SHM_RESULT]);
}

TEST_F(uprobes, c15_breakpoint_over_ours)
{
	check_over_ours(_metadata, self->dev, UPT_UPROBE);
}

TEST_F(uprobes, c15_breakpoint_over_return_probe)
{
	check_over_ours(_metadata, self->dev, UPT_URETPROBE);
}

/* Our probe is removed under a debugger's breakpoint, which stays. */
TEST_F(uprobes, c15_ours_is_removed_first)
{
	pid_t pid = start_traced(be_traced);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	ASSERT_EQ(0, poke_opcode(pid, ADD, BREAKPOINT));
	unprobe(self->dev, id);
	EXPECT_EQ(BREAKPOINT, real_opcode(pid, ADD));
	EXPECT_EQ(BREAKPOINT, peek_opcode(pid, ADD));
	expect_breakpoint(_metadata, pid, ADD);
	EXPECT_EQ(-EEXIST, probe(self->dev, pid, add));

	ASSERT_EQ(0, poke_opcode(pid, ADD, own_opcode(ADD)));
	ASSERT_EQ(0, set_ip(pid, ADD));
	EXPECT_EQ(own_word(ADD), real_word(pid, ADD));
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(0, hits(self->dev, id));
}

/* A debugger's breakpoint is removed over ours, which stays. */
TEST_F(uprobes, c15_theirs_is_removed_first)
{
	pid_t pid = start_traced(be_traced);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	ASSERT_EQ(0, poke_opcode(pid, ADD, BREAKPOINT));
	ASSERT_EQ(0, poke_opcode(pid, ADD, own_opcode(ADD)));
	EXPECT_EQ(BREAKPOINT, real_opcode(pid, ADD));
	EXPECT_EQ(own_word(ADD), peek(pid, ADD));
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(1, hits(self->dev, id));
	unprobe(self->dev, id);
	EXPECT_EQ(own_word(ADD), real_word(pid, ADD));
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(1, hits(self->dev, id));
}

/* More than one of ours under it, and a disabled one: it is for all of them. */
TEST_F(uprobes, c15_breakpoint_over_two)
{
	pid_t pid = start_traced(be_traced);
	int one = probe(self->dev, pid, add);
	int two = probe(self->dev, pid, add);

	ASSERT_LE(0, one);
	ASSERT_LE(0, two);
	ASSERT_EQ(0, upt_op(self->dev, UPT_DISABLE, two));
	ASSERT_EQ(0, poke_opcode(pid, ADD, BREAKPOINT));
	expect_breakpoint(_metadata, pid, ADD);
	unprobe(self->dev, one);
	ASSERT_EQ(0, set_ip(pid, ADD));
	expect_breakpoint(_metadata, pid, ADD);
	ASSERT_EQ(0, upt_op(self->dev, UPT_ENABLE, two));
	ASSERT_EQ(0, set_ip(pid, ADD));
	expect_breakpoint(_metadata, pid, ADD);

	ASSERT_EQ(0, poke_opcode(pid, ADD, own_opcode(ADD)));
	ASSERT_EQ(0, set_ip(pid, ADD));
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(0, hits(self->dev, one));
	EXPECT_EQ(1, hits(self->dev, two));
}

/* A debugger that was there first: its breakpoint stays, ours waits. */
TEST_F(uprobes, c15_breakpoint_before_ours)
{
	pid_t pid = start_traced(be_traced);
	int id;

	ASSERT_EQ(0, poke_opcode(pid, ADD, BREAKPOINT));
	EXPECT_EQ(-EEXIST, probe(self->dev, pid, add));
	EXPECT_EQ(-EEXIST, probe_ret(self->dev, pid, add));
	expect_breakpoint(_metadata, pid, ADD);

	/* It removes it and goes on from there */
	ASSERT_EQ(0, poke_opcode(pid, ADD, own_opcode(ADD)));
	ASSERT_EQ(0, set_ip(pid, ADD));
	id = probe(self->dev, pid, add);
	ASSERT_LE(0, id);
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(self->dev, id));
}

/* A debugger that leaves its breakpoint behind: the program dies of it. */
TEST_F(uprobes, c15_breakpoint_is_left)
{
	pid_t pid = start_traced(be_traced);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	ASSERT_EQ(0, poke_opcode(pid, ADD, BREAKPOINT));
	ASSERT_EQ(0, ptrace(PTRACE_DETACH, pid, 0, 0));
	EXPECT_TRUE(killed(wait_prog(pid), SIGTRAP));
	EXPECT_EQ(0, hits(self->dev, id));
}

/* A function whose first word may have more than its first instruction. */
#define WRITTEN		(INSNS_ARE_WORDS ? ADD : nop_fn)

/* A debugger writes back what it has read. */
TEST_F(uprobes, c15_text_is_written)
{
	pid_t pid = start_traced(be_traced);
	int id = probe(self->dev, pid, WRITTEN);

	ASSERT_LE(0, id);
	ASSERT_EQ(0, poke(pid, WRITTEN, peek(pid, WRITTEN)));
	EXPECT_EQ(BREAKPOINT, real_opcode(pid, WRITTEN));
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(self->dev, id));
	unprobe(self->dev, id);
	EXPECT_EQ(own_word(WRITTEN), real_word(pid, WRITTEN));
}

#if !INSNS_ARE_WORDS || __SIZEOF_LONG__ > 4
/* That word, with something else behind the instruction. */
static long other_text(void)
{
	long word = own_word(WRITTEN);

#if INSNS_ARE_WORDS
	((__u32 *)&word)[1] = 0x7c641a14;	/* add r3,r4,r3 */
#else
	/* Between the function and the next one there is room. */
	((__u8 *)&word)[2] = 0x42;
#endif
	return word;
}

/* It writes something beside our probe. */
TEST_F(uprobes, c15_text_is_written_beside)
{
	pid_t pid = start_traced(be_traced);
	int id = probe(self->dev, pid, WRITTEN);
	long word = other_text();

	ASSERT_LE(0, id);
	ASSERT_NE(word, own_word(WRITTEN));
	ASSERT_EQ(0, poke(pid, WRITTEN, word));
	EXPECT_EQ(word, peek(pid, WRITTEN));
	EXPECT_EQ(with_opcode(word, BREAKPOINT), real_word(pid, WRITTEN));
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(self->dev, id));
	unprobe(self->dev, id);
	EXPECT_EQ(word, real_word(pid, WRITTEN));
}
#endif

/* A debugger writes another instruction over the probed one: it is executed. */
TEST_F(uprobes, c15_other_text_is_written)
{
#if INSNS_ARE_WORDS
	/* li r3,-2; add r3,r3,r4 */
	static const __u32 text[2] = { 0x3860fffe, 0x7c632214 };
#else
	/* xor %eax, %eax; nop; ret */
	static const __u8 text[8] = { 0x31, 0xc0, 0x90, 0xc3 };
#endif
	const long zero = own_word(text);
	pid_t pid = start_traced(be_traced);
	int id = probe(self->dev, pid, add);

	ASSERT_LE(0, id);
	ASSERT_EQ(0, poke(pid, ADD, zero));
	EXPECT_EQ(zero, peek(pid, ADD));
	shm[SHM_RESULT] = -1;
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(0, shm[SHM_RESULT]);
	EXPECT_EQ(zero, peek(pid, ADD));
	unprobe(self->dev, id);
	EXPECT_EQ(zero, real_word(pid, ADD));
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(0, shm[SHM_RESULT]);
}

/* A debugger detaches, and the probe goes on. */
TEST_F(uprobes, c15_detach)
{
	pid_t pid = start_traced(be_traced);
	int id = probe(self->dev, pid, add);
	int ret = probe_ret(self->dev, pid, add);

	ASSERT_LE(0, id);
	ASSERT_LE(0, ret);
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(1, hits(self->dev, id));
	ASSERT_EQ(0, ptrace(PTRACE_DETACH, pid, 0, 0));
	EXPECT_TRUE(WIFSTOPPED(wait_prog(pid)));
	EXPECT_EQ(2, hits(self->dev, id));
	EXPECT_EQ(2, hits(self->dev, ret));
	EXPECT_TRUE(balanced(self->dev, ret));
}

static __probed long stop_inside(void)
{
	shm[FRAME] = (long)__builtin_frame_address(0);
	prog_stop();
	return 0;
}

static void chain_traced(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	prog_stop();
	shm[SHM_RESULT] = chain(stop_inside);
	prog_stop();
}

/* The slot of the nth return address above the function that stopped. */
static const long *return_slot(pid_t pid, int n)
{
	long frame = shm[FRAME];

	while (n--)
		frame = real_word(pid, (void *)frame);
	/* The stack pointer at entry */
	if (RETURNS_IN_MEMORY)
		frame += sizeof(long);
	else
		frame = real_word(pid, (void *)frame);
	return (const long *)(frame + RETURN_SLOT);
}

static const char * const way_back[] = { inner_ret, middle_ret, outer_ret,
	chain_ret };

/* Inside return-probed calls the debugger finds the way back as it was. */
TEST_F(uprobes, c15_return_addresses)
{
	pid_t pid = start_traced(chain_traced);
	struct areas areas;
	struct calls calls;
	char half[sizeof(long) / 2];
	const long *slot;
	long word;
	size_t i;

	ASSERT_EQ(0, watch_chain(self->dev, pid, stop_inside, &calls));
	ASSERT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	ASSERT_TRUE(find_areas(pid, &areas));
	EXPECT_FALSE(in_areas(&areas, ip_of_traced(pid)));
	for (i = 0; i < ARRAY_SIZE(way_back); i++) {
		slot = return_slot(pid, i);
		EXPECT_TRUE(in_areas(&areas, real_word(pid, slot)));
		EXPECT_EQ((long)way_back[i], peek(pid, slot));
		EXPECT_EQ(0, peek_mem(pid, slot, &word, sizeof(word)));
		EXPECT_EQ((long)way_back[i], word);
		/* Half of it */
		EXPECT_EQ(0, peek_mem(pid, (char *)slot + sizeof(half), half,
				      sizeof(half)));
		EXPECT_EQ(0, memcmp(half, (char *)&way_back[i] + sizeof(half),
				    sizeof(half)));
		/* Written as it was read */
		ASSERT_EQ(0, poke(pid, slot, peek(pid, slot)));
	}
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_TRUE(calls_are(self->dev, &calls, 1, 1));
	EXPECT_TRUE(exited(cont_traced(pid), 0));
}

static void *chain_in_thread(void *arg)
{
	shm[SHM_RESULT] = chain(stop_inside);
	return NULL;
}

static void chain_in_new_thread(void)
{
	run_threads(chain_in_thread, 1);
}

/* The stack of any thread, read by who has not even attached. */
TEST_F(uprobes, c15_return_addresses_of_thread)
{
	pid_t pid = start_prog(chain_in_new_thread);
	struct areas areas;
	struct calls calls;
	long word;
	size_t i;

	ASSERT_EQ(0, watch_chain(self->dev, pid, stop_inside, &calls));
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	ASSERT_TRUE(find_areas(pid, &areas));
	for (i = 0; i < ARRAY_SIZE(way_back); i++) {
		EXPECT_TRUE(in_areas(&areas,
				     real_word(pid, return_slot(pid, i))));
		EXPECT_EQ(0, peek_mem(pid, return_slot(pid, i), &word,
				      sizeof(word)));
		EXPECT_EQ((long)way_back[i], word);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_TRUE(calls_are(self->dev, &calls, 1, 1));
}

/* A debugger changes where a return-probed call returns to. */
TEST_F(uprobes, c15_return_address_is_written)
{
	pid_t pid = start_traced(chain_traced);
	struct calls calls;
	const long *slot;
	size_t i;

	ASSERT_EQ(0, watch_chain(self->dev, pid, stop_inside, &calls));
	ASSERT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	slot = return_slot(pid, 1);
	ASSERT_EQ((long)middle_ret, peek(pid, slot));
	ASSERT_EQ(0, poke(pid, slot, (long)middle_alt));
	EXPECT_EQ((long)middle_alt, peek(pid, slot));
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(102, shm[SHM_RESULT]);
	EXPECT_TRUE(exited(cont_traced(pid), 0));
	for (i = 0; i < NCALLS; i++)
		EXPECT_TRUE(balanced(self->dev, calls.ids[i]));
}

#ifdef PT_LNK
static void own_sp_traced(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	prog_stop();
	shm[SHM_RESULT] = call_own_sp();
	prog_stop();
}

/* Behind its first instruction, which is the probed one. */
static bool step_into_own_sp(pid_t pid, REGS *regs)
{
	const uintptr_t second = (uintptr_t)entry_of(own_sp) + 4;
	int i;

	for (i = 0; i < 1000; i++) {
		if (!stopped_by(step_traced(pid), SIGTRAP) ||
		    regs_of_traced(pid, regs))
			return false;
		if (regs->REGS_IP == second)
			return true;
	}
	return false;
}

/*
 * A debugger finds the real return address in the link register, and may write
 * back what it finds.
 */
TEST_F(uprobes, c15_link_register)
{
	pid_t pid = start_traced(own_sp_traced);
	int id = probe_ret(self->dev, pid, own_sp);
	REGS regs;
	long link;

	ASSERT_LE(0, id);
	ASSERT_TRUE(step_into_own_sp(pid, &regs));
	EXPECT_EQ((uintptr_t)after_own_sp, regs.REGS_LINK);
	link = ptrace(PTRACE_PEEKUSER, pid, PT_LNK * sizeof(link), 0);
	EXPECT_EQ((long)after_own_sp, link);
	regs.gpr[3] = 42;
	ASSERT_EQ(0, set_regs_of_traced(pid, &regs));
	ASSERT_EQ(0, ptrace(PTRACE_POKEUSER, pid, PT_LNK * sizeof(link), link));
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(42, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(self->dev, id));
	EXPECT_TRUE(exited(cont_traced(pid), 0));
}

/* ... and what it writes instead is where the call returns to. */
TEST_F(uprobes, c15_link_register_is_written)
{
	pid_t pid = start_traced(own_sp_traced);
	int id = probe_ret(self->dev, pid, own_sp);
	REGS regs;

	ASSERT_LE(0, id);
	ASSERT_TRUE(step_into_own_sp(pid, &regs));
	regs.REGS_LINK = (uintptr_t)instead_of_own_sp;
	ASSERT_EQ(0, set_regs_of_traced(pid, &regs));
	ASSERT_EQ(0, regs_of_traced(pid, &regs));
	EXPECT_EQ((uintptr_t)instead_of_own_sp, regs.REGS_LINK);
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_EQ(77, shm[SHM_RESULT]);
	EXPECT_EQ(0, hits(self->dev, id));
	EXPECT_TRUE(exited(cont_traced(pid), 0));
	EXPECT_EQ(1, missed(self->dev, id));
}
#endif

static long leaf_calls(void)
{
	syscall(SYS_getppid);
	return leaf();
}

static void call_around(void)
{
	int i;

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	prog_stop();
	syscall(SYS_getpid);
	for (i = 0; i < 3; i++)
		shm[SHM_RESULT] += chain(leaf_calls);
	syscall(SYS_getuid);
	prog_stop();
}

#define MAX_STOPS	64

/* The system calls up to the next stop; an entry and an exit for each. */
static int follow_calls(pid_t pid, long *stops)
{
	int status, n = 0;
	REGS regs;

	if (ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD))
		return -1;
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, 0, 0))
			return -1;
		status = wait_prog(pid);
		if (stopped_by(status, SIGSTOP))
			return n;
		if (!stopped_by(status, SIGTRAP | 0x80) || n == MAX_STOPS ||
		    regs_of_traced(pid, &regs))
			return -1;
		stops[n++] = regs.REGS_CALL;
	}
}

/* PTRACE_SYSCALL stops at what the program calls, and at nothing else. */
TEST_F(uprobes, c15_system_calls)
{
	long unprobed[MAX_STOPS], probed[MAX_STOPS];
	pid_t pid = start_traced(call_around);
	struct calls calls;
	int i, n;

	n = follow_calls(pid, unprobed);
	ASSERT_LE(10, n);
	end_prog(pid);

	pid = start_traced(call_around);
	ASSERT_EQ(0, watch_chain(self->dev, pid, leaf_calls, &calls));
	ASSERT_LE(0, probe(self->dev, pid, load_insn));
	ASSERT_LE(0, probe(self->dev, pid, leaf));
	EXPECT_EQ(n, follow_calls(pid, probed));
	for (i = 0; i < n; i++)
		EXPECT_EQ(unprobed[i], probed[i]);
	EXPECT_EQ(18, shm[SHM_RESULT]);
	EXPECT_TRUE(calls_are(self->dev, &calls, 3, 3));
}

/* What a debugger sees of a step. */
struct trace {
	long ip;
	long code;
};

#define MAX_TRACES	256

static void be_stepped(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	prog_stop();
	step_me();
	prog_stop();
}

static void chain_stepped(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	prog_stop();
	chain(leaf);
	prog_stop();
}

/* Where a function returns to that was just entered. */
static unsigned long return_address(pid_t pid, const REGS *regs)
{
#ifdef REGS_LINK
	return regs->REGS_LINK;
#else
	return peek(pid, (void *)regs->REGS_SP);
#endif
}

/*
 * Steps to the function and then through it, up to its caller; notes where
 * each step ended, and how.
 */
static int step_through(pid_t pid, const void *fn, struct trace *steps)
{
	const unsigned long entry = (uintptr_t)entry_of(fn);
	unsigned long caller = 0;
	siginfo_t info;
	int i, n = 0;
	REGS regs;

	for (i = 0; i < 10000; i++) {
		if (!stopped_by(step_traced(pid), SIGTRAP) ||
		    regs_of_traced(pid, &regs) ||
		    ptrace(PTRACE_GETSIGINFO, pid, 0, &info))
			return -1;
		if (regs.REGS_IP == entry)
			caller = return_address(pid, &regs);
		if (!caller)
			continue;
		if (n == MAX_TRACES)
			return -1;
		steps[n].ip = regs.REGS_IP;
		steps[n++].code = info.si_code;
		if (regs.REGS_IP == caller)
			return n;
	}
	return -1;
}

static void expect_same_steps(struct __test_metadata *_metadata,
			      const struct trace *unprobed,
			      const struct trace *probed, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		EXPECT_EQ(unprobed[i].ip, probed[i].ip)
			TH_LOG("step %d", i);
		EXPECT_EQ(unprobed[i].code, probed[i].code)
			TH_LOG("step %d", i);
	}
}

/* Single steps over probed instructions, each of them one step. */
TEST_F(uprobes, c15_single_step)
{
	static struct trace unprobed[MAX_TRACES], probed[MAX_TRACES];
	pid_t pid = start_traced(be_stepped);
	int ids[64], i, n, nprobes;

	n = step_through(pid, step_me, unprobed);
	ASSERT_LT(10, n);
	end_prog(pid);

	pid = start_traced(be_stepped);
	for (i = 0; step_me_insns[i].addr; i++) {
		ASSERT_GT(ARRAY_SIZE(ids), i);
		ids[i] = probe(self->dev, pid, insn_at(&step_me_insns[i]));
		ASSERT_LE(0, ids[i]);
	}
	nprobes = i;
	EXPECT_EQ(n, step_through(pid, step_me, probed));
	expect_same_steps(_metadata, unprobed, probed, n);
	for (i = 0; i < nprobes; i++) {
		EXPECT_EQ(1, hits(self->dev, ids[i]))
			TH_LOG("instruction %d", i);
	}
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
}

/* The same through calls that are return-probed, and a probed ret. */
TEST_F(uprobes, c15_single_step_over_returns)
{
	static struct trace unprobed[MAX_TRACES], probed[MAX_TRACES];
	pid_t pid = start_traced(chain_stepped);
	struct calls calls;
	int ret, n;

	n = step_through(pid, chain, unprobed);
	ASSERT_LT(20, n);
	end_prog(pid);

	pid = start_traced(chain_stepped);
	ASSERT_EQ(0, watch_chain(self->dev, pid, leaf, &calls));
	ret = probe(self->dev, pid, leaf_ret);
	ASSERT_LE(0, ret);
	EXPECT_EQ(n, step_through(pid, chain, probed));
	expect_same_steps(_metadata, unprobed, probed, n);
	EXPECT_EQ(1, hits(self->dev, ret));
	EXPECT_TRUE(calls_are(self->dev, &calls, 1, 1));
	EXPECT_TRUE(stopped_by(cont_traced(pid), SIGSTOP));
	EXPECT_TRUE(exited(cont_traced(pid), 0));
}

static void chain_for_ever(void)
{
	static long word;

	load_from = &word;
	for (;;) {
		chain(load);
		shm[SHM_GOOD]++;
	}
}

/* Stopped at any moment: the registers show no address of ours. */
TEST_F_TIMEOUT(uprobes, c15_interrupted, 60)
{
	pid_t pid = start_prog(chain_for_ever);
	struct calls calls;
	struct areas areas;
	int i, insn, inside = 0;

	ASSERT_EQ(0, watch_chain(self->dev, pid, load, &calls));
	insn = probe(self->dev, pid, load_insn);
	ASSERT_LE(0, insn);
	ASSERT_TRUE(find_areas(pid, &areas));
	cont_prog(pid);
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, pid, 0, 0));
	for (i = 0; i < 500; i++) {
		usleep(i % 50 * 20);
		ASSERT_EQ(0, ptrace(PTRACE_INTERRUPT, pid, 0, 0));
		ASSERT_TRUE(WIFSTOPPED(wait_prog(pid)));
		inside += in_areas(&areas, ip_of_traced(pid));
		ASSERT_EQ(0, ptrace(PTRACE_CONT, pid, 0, 0));
	}
	EXPECT_EQ(0, inside);
	EXPECT_LT(100, shm[SHM_GOOD]);
	end_prog(pid);
	EXPECT_LE(shm[SHM_GOOD], hits(self->dev, insn));
	EXPECT_GE(shm[SHM_GOOD] + 1, hits(self->dev, insn));
	for (i = 0; i < NCALLS; i++)
		EXPECT_TRUE(balanced(self->dev, calls.ids[i]));
}

/*
 * What gdb is let loose on. It starts the program, by setting GO, and counts
 * on what it finds being the same with and without probes.
 */
#define NROUNDS		20

#define NTHREADS	4

static void *run_debugged(void *arg)
{
	long bad = 0;
	int i;

	for (i = 0; i < NROUNDS; i++) {
		bad += add(i, 1) != i + 1;
		bad += chain(leaf) != 3;
		step_me();
	}
	__atomic_fetch_add(&shm[SHM_BAD], bad, __ATOMIC_RELAXED);
	return NULL;
}

static void be_debugged(void)
{
	while (!shm[GO])
		sleep_ms(1);
	run_debugged(NULL);
}

static void threads_are_debugged(void)
{
	while (!shm[GO])
		sleep_ms(1);
	run_threads(run_debugged, NTHREADS);
}

#define MAX_OUTPUT	65536

/* Whether it starts is another question: a skipped test would hide that. */
static bool there_is_gdb(void)
{
	return !system("command -v gdb >/dev/null");
}

static void exec_gdb(pid_t pid, const char *commands, int out)
{
	char path[] = "/tmp/gdb-XXXXXX", number[16];
	int fd = mkstemp(path);

	dprintf(fd, "%s", commands);
	close(fd);
	snprintf(number, sizeof(number), "%d", pid);
	dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execlp("gdb", "gdb", "-nx", "-q", "-batch", "-p", number, "-x", path,
	       NULL);
	_exit(127);
}

/* Returns how gdb exited. What it said behind the marker is in the output. */
static int run_gdb(pid_t pid, const char *commands, char *output)
{
	int status, len = 0, n, pipes[2];
	pid_t gdb;

	if (pipe2(pipes, O_CLOEXEC))
		return -1;
	gdb = fork();
	if (!gdb)
		exec_gdb(pid, commands, pipes[1]);
	close(pipes[1]);
	while ((n = read(pipes[0], output + len, MAX_OUTPUT - 1 - len)) > 0)
		len += n;
	close(pipes[0]);
	output[len] = '\0';
	waitpid(gdb, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* From the marker on, without the lines that name the process. */
static void strip_output(char *output)
{
	char *line, *next, *to = output;

	line = strstr(output, "==\n");
	for (; line && *line; line = next) {
		next = strchr(line, '\n');
		next = next ? next + 1 : line + strlen(line);
		if (memmem(line, next - line, "process ", 8))
			continue;
		memmove(to, line, next - line);
		to += next - line;
	}
	*to = '\0';
}

static int count_of(const char *text, const char *word)
{
	int n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

static void log_lines(struct __test_metadata *_metadata, const char *text)
{
	for (; *text; text += strcspn(text, "\n") + 1)
		TH_LOG("%.*s", (int)strcspn(text, "\n"), text);
}

/*
 * By default gdb executes an instruction that it has a breakpoint on somewhere
 * else. So it is not executed where the probe is.
 */
#define GDB_START			\
	"set displaced-stepping off\n"	\
	"set pagination off\n"		\
	"set confirm off\n"		\
	"set width 0\n"			\
	"echo ==\\n\n"			\
	"set var shm[3] = 1\n"

static_assert(GO == 3, "gdb does not know the enum");

/* A line of gdb's at each stop, with an empty one before it */
#define GDB_HIT	"\n\nBreakpoint "

#define GDB_END				\
	"detach\n"

#define MAX_PROBES	64

/* Probes on all that it calls: nadds of them, the first ones, on add(). */
static int probe_debugged(int dev, pid_t pid, int *ids, int *nadds)
{
	const void *fns[] = { outer, middle, inner, leaf, step_me };
	size_t i;
	int n = 0;

	ids[n++] = probe(dev, pid, add);
	ids[n++] = probe(dev, pid, add_ret);
	ids[n++] = probe_ret(dev, pid, add);
	*nadds = n;
	for (i = 0; i < ARRAY_SIZE(fns); i++)
		ids[n++] = probe_ret(dev, pid, fns[i]);
	for (i = 0; step_me_insns[i].addr && n < MAX_PROBES; i++)
		ids[n++] = probe(dev, pid, insn_at(&step_me_insns[i]));
	return n;
}

/*
 * Runs the commands on an unprobed program, then on a probed one. What gdb says
 * has to be the same, and to have the word n times in it; the program goes on
 * to its end, and the probes count what it does, and gdb's own calls of add().
 */
static void check_gdb(struct __test_metadata *_metadata, int dev,
		      const char *commands, const char *word, int n,
		      int own_calls)
{
	static char outputs[2][MAX_OUTPUT];
	int ids[MAX_PROBES], nids, nadds, i;
	pid_t pid;

	if (!there_is_gdb())
		SKIP(return, "there is no gdb");
	for (i = 0; i < 2; i++) {
		shm[GO] = 0;
		pid = start_prog(be_debugged);
		nids = i ? probe_debugged(dev, pid, ids, &nadds) : 0;
		cont_prog(pid);
		ASSERT_EQ(0, run_gdb(pid, commands, outputs[i]))
			TH_LOG("%s", outputs[i]);
		EXPECT_TRUE(exited(wait_prog(pid), 0));
		EXPECT_EQ(0, shm[SHM_BAD]);
		strip_output(outputs[i]);
		EXPECT_EQ(n, count_of(outputs[i], word))
			log_lines(_metadata, outputs[i]);
	}
	EXPECT_EQ(0, strcmp(outputs[0], outputs[1])) {
		log_lines(_metadata, outputs[0]);
		log_lines(_metadata, outputs[1]);
	}
	for (i = 0; i < nids; i++) {
		EXPECT_EQ(NROUNDS + (i < nadds ? own_calls : 0),
			  hits(dev, ids[i]))
			TH_LOG("probe %d", i);
	}
}

/* A breakpoint where a probe is, hit several times, and then taken away. */
TEST_F_TIMEOUT(uprobes, c15_gdb_breakpoint, 120)
{
	check_gdb(_metadata, self->dev,
		  GDB_START
		  "break *add\n"
		  "continue\n"
		  "x/3i $pc\n"
		  "continue\n"
		  "continue\n"
		  "print " GDB_ARG "\n"
		  "delete\n"
		  "break *add_ret\n"
		  "continue\n"
		  "print " GDB_RESULT "\n"
		  "continue\n"
		  "disassemble add,+16\n"
		  GDB_END,
		  GDB_HIT, 5, 0);
}

/* stepi over probed instructions, from a breakpoint on the first one. */
TEST_F_TIMEOUT(uprobes, c15_gdb_stepi, 120)
{
	check_gdb(_metadata, self->dev,
		  GDB_START
		  "break *step_me\n"
		  "continue\n"
		  "set $n = 0\n"
		  "while $n < 12\n"
		  "stepi\n"
		  "x/i $pc\n"
		  "print $sp\n"
		  "set $n = $n + 1\n"
		  "end\n"
		  "continue\n"
		  "stepi 5\n"
		  "nexti\n"
		  GDB_END,
		  "=> ", 12, 0);
}

/* Inside return-probed calls: the way back, and going it. */
TEST_F_TIMEOUT(uprobes, c15_gdb_finish, 120)
{
	check_gdb(_metadata, self->dev,
		  GDB_START
		  "break *leaf_ret\n"
		  "continue\n"
		  "backtrace 5\n"
		  "x/" GDB_STACK " $sp\n"
		  "finish\n"
		  "backtrace 4\n"
		  "finish\n"
		  "x/2i $pc\n"
		  "finish\n"
		  "print " GDB_RESULT "\n"
		  "up\n"
		  "print $pc\n"
		  "continue\n"
		  "backtrace 5\n"
		  "stepi\n"
		  "print $pc\n"
		  "print $sp\n"
		  GDB_END,
		  " in middle ()", GDB_MIDDLES, 0);
}

/* Breakpoints where return-probed calls return to. */
TEST_F_TIMEOUT(uprobes, c15_gdb_breakpoint_at_return, 120)
{
	check_gdb(_metadata, self->dev,
		  GDB_START
		  "break *middle_ret\n"
		  "break *chain_ret\n"
		  "continue\n"
		  "print " GDB_RESULT "\n"
		  "continue\n"
		  "print " GDB_RESULT "\n"
		  "continue\n"
		  "backtrace 3\n"
		  GDB_END,
		  GDB_HIT, 3, 0);
}

/* gdb calls a probed function itself, from inside a return-probed one. */
TEST_F_TIMEOUT(uprobes, c15_gdb_calls, 120)
{
	check_gdb(_metadata, self->dev,
		  GDB_START
		  "break *inner\n"
		  "continue\n"
		  "print ((long (*)(long, long))add)(20, 22)\n"
		  "print ((long (*)(long, long))add)(40, 2)\n"
		  "backtrace 3\n"
		  GDB_END,
		  " = 42", 2, 2);
}

/* What gdb executes elsewhere, here two calls of add(), is no hit. */
TEST_F_TIMEOUT(uprobes, c15_gdb_displaced, 120)
{
	check_gdb(_metadata, self->dev,
		  GDB_START
		  "set displaced-stepping on\n"
		  "break *add\n"
		  "break *add_ret\n"
		  "continue\n"
		  "continue\n"
		  "continue\n"
		  "continue\n"
		  "continue\n"
		  "delete\n"
		  GDB_END,
		  GDB_HIT, 5, -2);
}

/* gdb leaves while breakpoints over probes, and of its own, are in place. */
TEST_F_TIMEOUT(uprobes, c15_gdb_detach, 120)
{
	check_gdb(_metadata, self->dev,
		  "set breakpoint always-inserted on\n"
		  GDB_START
		  "break *add\n"
		  "break *inner\n"
		  "break *middle_ret\n"
		  "break *chain\n"
		  "continue\n"
		  "continue\n"
		  "continue\n"
		  "backtrace 3\n"
		  GDB_END,
		  GDB_HIT, 3, 0);
}

/* gdb steps each of four threads over its breakpoints, and leaves. */
TEST_F_TIMEOUT(uprobes, c15_gdb_threads, 120)
{
	static char output[MAX_OUTPUT];
	int ids[MAX_PROBES], nids, nadds, i;
	pid_t pid;

	if (!there_is_gdb())
		SKIP(return, "there is no gdb");
	pid = start_prog(threads_are_debugged);
	nids = probe_debugged(self->dev, pid, ids, &nadds);
	cont_prog(pid);
	ASSERT_EQ(0, run_gdb(pid,
			     GDB_START
			     "break *add\n"
			     "break *middle_ret\n"
			     "ignore 1 30\n"
			     "ignore 2 30\n"
			     "continue\n"
			     "continue\n"
			     GDB_END, output))
		TH_LOG("%s", output);
	EXPECT_EQ(2, count_of(output, " hit Breakpoint "))
		log_lines(_metadata, output);
	EXPECT_TRUE(exited(wait_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	for (i = 0; i < nids; i++) {
		EXPECT_EQ(NTHREADS * NROUNDS, hits(self->dev, ids[i]))
			TH_LOG("probe %d", i);
	}
}
