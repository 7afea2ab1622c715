// SPDX-License-Identifier: GPL-2.0-only
/* What is particular to powerpc: which instructions, and how they end. */
#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include "calls.h"
#include "fixture.h"
#include "powerpc/insns.h"

#define FEATURE2_ARCH_3_1	0x00040000

enum {
	SIGNAL = SHM_FREE,
	ADDR,
	NIP,
	CHILDS_STATUS,
};

static void pause_prog(void)
{
	prog_stop();
}

/* A probe between two words is none. */
TEST_F(uprobes, misaligned)
{
	pid_t pid = start_prog(pause_prog);
	int i;

	for (i = 1; i < 4; i++) {
		EXPECT_EQ(-EINVAL, probe(self->dev, pid, (char *)add + i));
		EXPECT_EQ(-EINVAL, probe_ret(self->dev, pid, (char *)add + i));
	}
	EXPECT_TRUE(is_add(pid, add));
}

/* Words that are refused, and why. */
static const struct refused {
	unsigned int word;
	int error;
	const char *name;
} refused[] = {
	{ 0x7fe00008, EEXIST, "trap" },
	{ 0x7c832008, EEXIST, "tweq r3,r4" },
	{ 0x7d821008, EEXIST, "twge r2,r2" },
	{ 0x7c832088, EEXIST, "tdeq r3,r4" },
	{ 0x0fe00000, EEXIST, "twui r0,0" },
	{ 0x08830001, EEXIST, "tdeqi r3,1" },
	{ 0x44000002, EOPNOTSUPP, "sc" },
	{ 0x44000001, EOPNOTSUPP, "scv 0" },
	{ 0x4c000024, EOPNOTSUPP, "rfid" },
	{ 0x4c0000a4, EOPNOTSUPP, "rfscv" },
	{ 0x4c000224, EOPNOTSUPP, "hrfid" },
	{ 0x4c000124, EOPNOTSUPP, "rfebb" },
	{ 0x4c0002e4, EOPNOTSUPP, "stop" },
	{ 0x4e800460, EOPNOTSUPP, "bctar" },
	{ 0x4e000420, EOPNOTSUPP, "bdnzctr" },
	{ 0x7c0000a6, EOPNOTSUPP, "mfmsr" },
	{ 0x7c000124, EOPNOTSUPP, "mtmsr" },
	{ 0x7c000164, EOPNOTSUPP, "mtmsrd" },
	{ 0x7c00051d, EOPNOTSUPP, "tbegin." },
	{ 0x7c00055d, EOPNOTSUPP, "tend." },
	{ 0x7c0005e4, EOPNOTSUPP, "hashchk" },
	{ 0x7c20060c, EOPNOTSUPP, "copy" },
	{ 0x7c20070d, EOPNOTSUPP, "paste." },
	{ 0x7c000068, EOPNOTSUPP, "lbarx" },
	{ 0x7c0000e8, EOPNOTSUPP, "lharx" },
	{ 0x7c000028, EOPNOTSUPP, "lwarx" },
	{ 0x7c0000a8, EOPNOTSUPP, "ldarx" },
	{ 0x7c400228, EOPNOTSUPP, "lqarx" },
	{ 0x7c00056d, EOPNOTSUPP, "stbcx." },
	{ 0x7c0005ad, EOPNOTSUPP, "sthcx." },
	{ 0x7c00012d, EOPNOTSUPP, "stwcx." },
	{ 0x7c0001ad, EOPNOTSUPP, "stdcx." },
	{ 0x7c40016d, EOPNOTSUPP, "stqcx." },
};

static unsigned int *code;

TEST_F(uprobes, refused)
{
	unsigned int now;
	pid_t pid;
	size_t i;

	code = map_add(NULL, RWX, MAP_PRIVATE);
	pid = start_prog(pause_prog);
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		ASSERT_EQ(0, write_mem(pid, code, &refused[i].word, 4));
		EXPECT_EQ(-refused[i].error, probe(self->dev, pid, code))
			TH_LOG("%s", refused[i].name);
		ASSERT_EQ(0, read_mem(pid, code, &now, 4));
		EXPECT_EQ(refused[i].word, now);
	}
	EXPECT_EQ(0, list_lines(pid));
}

static void atomics_prog(void)
{
	long l = 0;
	int i = 5;

	shm[SHM_RESULT] = atomic_add(&i, 7) == 12 && i == 12 &&
			  atomic_swap(&l, 3) == 0 && l == 3 &&
			  atomic_swap(&l, 4) == 3 && l == 3;
}

static int probe_insns(struct __test_metadata *_metadata, int dev, pid_t pid,
		       const struct insn_addr *insns, int *ids, int error)
{
	int i, n = 0;

	for (i = 0; insns[i].addr; i++) {
		int id = probe(dev, pid, (void *)insns[i].addr);

		if (insns[i].number && error) {
			EXPECT_EQ(error, id)
				TH_LOG("instruction %d", i);
			continue;
		}
		EXPECT_LE(0, id)
			TH_LOG("instruction %d", i);
		ids[n++] = id;
	}
	return n;
}

/* A trap ends a reservation: no probe from its beginning to its use. */
TEST_F(uprobes, reservations)
{
	pid_t pid = start_prog(atomics_prog);
	int add_ids[8], swap_ids[8], n, i;

	n = probe_insns(_metadata, self->dev, pid, atomic_add_insns, add_ids,
			-EOPNOTSUPP);
	EXPECT_EQ(4, n);
	EXPECT_EQ(4, probe_insns(_metadata, self->dev, pid, atomic_swap_insns,
				 swap_ids, -EOPNOTSUPP));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(1, shm[SHM_RESULT]);
	for (i = 0; i < n; i++)
		EXPECT_EQ(1, hits(self->dev, add_ids[i]));
}

static void note_signal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	shm[SIGNAL] = sig;
	shm[ADDR] = (long)info->si_addr;
	shm[NIP] = uc->uc_mcontext.gp_regs[PT_NIP];
	_exit(0);
}

static void expect_signal(int sig)
{
	struct sigaction action = {
		.sa_sigaction = note_signal,
		.sa_flags = SA_SIGINFO,
	};

	if (sigaction(sig, &action, NULL))
		abort();
}

static void illegal_prog(void)
{
	expect_signal(SIGILL);
	illegal();
}

static const long *nowhere = (const long *)8;

static void emulated_fault_prog(void)
{
	expect_signal(SIGSEGV);
	load_from(nowhere);
}

static void copied_fault_prog(void)
{
	expect_signal(SIGSEGV);
	load_from_copied(nowhere);
}

static void check_signal(struct __test_metadata *_metadata, int dev,
			 void (*body)(void), const void *insn, int sig,
			 const void *addr)
{
	pid_t pid = start_prog(body);
	int id = probe(dev, pid, insn);

	ASSERT_LE(0, id);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(1, hits(dev, id));
	EXPECT_EQ(sig, shm[SIGNAL]);
	EXPECT_EQ((long)addr, shm[ADDR]);
	EXPECT_EQ((long)insn, shm[NIP]);
}

/* C9: what the copy raises is seen at the original address. */
TEST_F(uprobes, c9_faults)
{
	check_signal(_metadata, self->dev, illegal_prog, illegal_insn, SIGILL,
		     illegal_insn);
	check_signal(_metadata, self->dev, emulated_fault_prog, load_from_insn,
		     SIGSEGV, nowhere);
	check_signal(_metadata, self->dev, copied_fault_prog, load_from_copied,
		     SIGSEGV, nowhere);
}

static long (* const forks[])(void) = {
	bare_fork, framed_fork, hidden_fork, stowed_fork
};

static void forks_prog(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forks); i++) {
		long pid = forks[i]();
		int status;

		if (pid < 0)
			abort();
		if (pid == 0)
			_exit(7);
		waitpid(pid, &status, 0);
		shm[CHILDS_STATUS + i] = status;
	}
}

/* A child returns, wherever its parent has the address of the trampoline. */
TEST_F(uprobes, fork_without_slot)
{
	pid_t pid = start_prog(forks_prog);
	int ids[ARRAY_SIZE(forks)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forks); i++) {
		ids[i] = probe_return(self->dev, pid, forks[i], 0);
		ASSERT_LE(0, ids[i]);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	for (i = 0; i < ARRAY_SIZE(forks); i++) {
		EXPECT_TRUE(exited(shm[CHILDS_STATUS + i], 7))
			TH_LOG("fork %zu: %lx", i, shm[CHILDS_STATUS + i]);
		EXPECT_TRUE(is_balance(self->dev, ids[i], 1, 1, 0));
	}
}

static void frameless_prog(void)
{
	shm[SHM_RESULT] = frameless_call();
}

/* A function that calls another one keeps its return address in a register. */
TEST_F(uprobes, call_without_frame)
{
	pid_t pid = start_prog(frameless_prog);
	int outside = probe_return(self->dev, pid, frameless_call, 0);
	int inside = probe_return(self->dev, pid, frameless_leaf, 0);

	ASSERT_LE(0, outside);
	ASSERT_LE(0, inside);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(7, shm[SHM_RESULT]);
	EXPECT_TRUE(is_balance(self->dev, inside, 1, 1, 0));
	EXPECT_EQ(1, entries(self->dev, outside));
	EXPECT_EQ(1, hits(self->dev, outside) + missed(self->dev, outside));
}

static void link_prog(void)
{
	shm[SHM_RESULT] = link_behind_call();
}

/* A return leaves in the link register where it went to. */
TEST_F(uprobes, link_register)
{
	pid_t pid = start_prog(link_prog);
	int id = probe_ret(self->dev, pid, own_sp);

	ASSERT_LE(0, id);
	shm[SHM_RESULT] = -1;
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(self->dev, id));
}

static __vector unsigned long long results[2][NVECTORS];
static const __vector unsigned long long operands[2] = {
	{ 0x4008123456789abc, 0x7ff0123440091e1d },
	{ 0x3ff7654321fedcba, 0x0102030405060708 },
};

static void vectors_prog(void)
{
	vectors(results[0], &operands[0], &operands[1]);
	prog_stop();
	vectors(results[1], &operands[0], &operands[1]);
	shm[SHM_RESULT] = memcmp(results[0], results[1], sizeof(results[0]));
	shm[SHM_GOOD] = results[0][0][0] && results[0][NVECTORS - 2][0];
}

/* C2: floating point and vector instructions are executed as such. */
TEST_F(uprobes, c2_vectors)
{
	pid_t pid = start_prog(vectors_prog);
	int ids[64], n, i;

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	n = probe_insns(_metadata, self->dev, pid, vectors_insns, ids, 0);
	ASSERT_LT(40, n);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_RESULT]);
	EXPECT_EQ(1, shm[SHM_GOOD]);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(1, hits(self->dev, ids[i]))
			TH_LOG("instruction %d", i);
	}
}

static void prefixed_prog(void)
{
	shm[SHM_RESULT] = prefixed(77);
}

/* Prefixed instructions are executed; their second words are none. */
TEST_F(uprobes, prefixed)
{
	pid_t pid;
	int ids[32], n, i;
	long result;

	if (!(getauxval(AT_HWCAP2) & FEATURE2_ARCH_3_1))
		SKIP(return, "the CPU has no prefixed instructions");
	result = prefixed(77);
	pid = start_prog(prefixed_prog);
	n = probe_insns(_metadata, self->dev, pid, prefixed_insns, ids, 0);
	for (i = 0; prefixed_insns[i].addr; i++) {
		char *word = insn_at(&prefixed_insns[i]);

		if (*(unsigned int *)word >> 26 == 1)
			EXPECT_EQ(-EINVAL, probe(self->dev, pid, word + 4));
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(result, shm[SHM_RESULT]);
	for (i = 0; i < n; i++)
		EXPECT_EQ(1, hits(self->dev, ids[i]));
}
