// SPDX-License-Identifier: GPL-2.0-only
/*
 * Instructions: each is executed unprobed and probed, from the same states of
 * the CPU, and must leave the same registers, flags and memory, the red zone
 * included; or raise the same fault, with the same signal frame.
 */
#include <asm/ldt.h>
#include <asm/prctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "files.h"
#include "fixture.h"
#include "probed.h"
#include "snippets.h"

/* All that a snippet can change, and the fault that it raised. */
struct result {
	struct cpu cpu;
	__u64 stack[NSTACK];
	__u64 data[NDATA];
	long fault[5];	/* signal, code, address, ip, flags */
	gregset_t fault_regs;
};

static const struct snippet *table;

static struct result now;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *regs = uc->uc_mcontext.gregs;

	now.fault[0] = sig;
	now.fault[1] = info->si_code;
	now.fault[2] = (uintptr_t)info->si_addr;
	now.fault[3] = regs[GREG(IP)];
	now.fault[4] = regs[REG_EFL];
	memcpy(now.fault_regs, regs, sizeof(now.fault_regs));
	regs[GREG(IP)] = (uintptr_t)snippet_end;
}

static void catch_faults(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL,
		SIGTRAP };
	static char alt_stack[16384];
	stack_t ss = { .ss_sp = alt_stack, .ss_size = sizeof(alt_stack) };
	struct sigaction sa = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	size_t i;

	sigaltstack(&ss, NULL);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &sa, NULL);
	if (mprotect(bad_page, sizeof(bad_page), PROT_NONE))
		abort();
}

/* Each of 32 is another combination of the five flags that branches look at */
#define NSTATES		32

static void fill_with_noise(void *mem, size_t size, __u64 seed)
{
	__u64 *words = mem;
	size_t i;

	for (i = 0; i < size / sizeof(*words); i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		words[i] = seed;
	}
}

static void set_state(int state)
{
	static const __u32 mxcsr = 0x1f80;
	size_t i;

	fill_with_noise(&cpu, sizeof(cpu), state);
	fill_with_noise(stack, sizeof(stack), state + NSTATES);
	for (i = 0; i < NDATA; i++)
		data[i] = 0x4010101010100000 + i * 0x0101010101010101;
	cpu.gpr[RCX] = 4;
	cpu.gpr[RDX] = 1;
	cpu.gpr[RSP] = (uintptr_t)&stack[32];
	cpu.gpr[RBP] = (uintptr_t)&stack[40];
	cpu.gpr[RDI] = (uintptr_t)&data[0];
	cpu.gpr[RSI] = (uintptr_t)&data[8];
	cpu.gpr[RBX] = (uintptr_t)&data[16];
#ifdef __x86_64__
	cpu.gpr[R8] = 0x10;
	cpu.gpr[R9] = 0x8000000000000000;
	cpu.gpr[R10] = 0;
#endif
	cpu.flags = 0x202 | (state & 1) | (state & 2) << 1 |
		    (state & 4) << 4 | (state & 8) << 4 | (state & 16) << 7 |
		    (state % 3 == 0) << 4;
	memset(&now, 0, sizeof(now));
	asm volatile("fninit\n\tldmxcsr %0" :: "m" (mxcsr));
}

static void run(const struct snippet *s, int state)
{
	set_state(state);
	run_snippet(s->start);
	now.cpu = cpu;
	memcpy(now.stack, stack, sizeof(stack));
	memcpy(now.data, data, sizeof(data));
}

/* What the program says about each snippet, in shm. */
struct difference {
	long state;	/* the first one that went wrong, plus 1 */
	long word;	/* of struct result */
	long expected;
	long seen;
};

static struct difference *differences(void)
{
	return (struct difference *)&shm[SHM_FREE];
}

static void compare(struct difference *d, const struct result *expected,
		    int state)
{
	const long *e = (const long *)expected;
	const long *s = (const long *)&now;
	size_t i, fault = offsetof(struct result, fault) / sizeof(*s);
	bool should_fault = table == faulting;

	for (i = 0; !d->state && i < sizeof(now) / sizeof(*s); i++) {
		if (e[i] == s[i] && (i != fault || !s[i] == !should_fault))
			continue;
		d->state = state + 1;
		d->word = i;
		d->expected = e[i];
		d->seen = s[i];
	}
}

/* One whose base is the data: gs, or in 32 bits fs, as gs is the C library's. */
static void make_segment(void)
{
#ifdef __x86_64__
	syscall(SYS_arch_prctl, ARCH_SET_GS, data);
#else
	struct user_desc desc = {
		.entry_number = -1,
		.base_addr = (uintptr_t)data,
		.limit = 0xfffff,
		.seg_32bit = 1,
		.limit_in_pages = 1,
	};

	if (syscall(SYS_set_thread_area, &desc))
		abort();
	asm volatile("mov %0, %%fs" :: "r" (desc.entry_number << 3 | 3));
#endif
}

static void snippets_prog(void)
{
	struct result *expected, *e;
	const struct snippet *s;
	int state;

	has_avx = __builtin_cpu_supports("avx") != 0;
	catch_faults();
	make_segment();
	expected = mmap(NULL, 256 * NSTATES * sizeof(*expected),
			PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	if (expected == MAP_FAILED)
		abort();

	for (s = table, e = expected; s->start; s++) {
		for (state = 0; state < NSTATES; state++) {
			run(s, state);
			*e++ = now;
		}
	}
	prog_stop();
	for (s = table, e = expected; s->start; s++) {
		for (state = 0; state < NSTATES; state++) {
			run(s, state);
			compare(&differences()[s - table], e++, state);
		}
	}
}

/* Who probes what a snippet is about, and counts the hits. */
struct prober {
	int (*probe)(int dev, pid_t pid, const void *addr);
	long (*hits)(int dev, int id);
};

static void check_snippets_by(struct __test_metadata *_metadata, int dev,
			      const struct prober *prober,
			      const struct snippet *snippets)
{
	const struct difference *d = differences();
	int ids[256], i;
	pid_t pid;

	table = snippets;
	pid = start_prog(snippets_prog);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	for (i = 0; table[i].start; i++) {
		ASSERT_GT(256, i);
		ids[i] = prober->probe(dev, pid, table[i].probe);
		EXPECT_LE(0, ids[i])
			TH_LOG("%s", table[i].text);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	for (i = 0; table[i].start; i++, d++) {
		EXPECT_EQ(0, d->state)
			TH_LOG("%s: word %ld is %lx, not %lx", table[i].text,
			       d->word, d->seen, d->expected);
		if (ids[i] < 0)
			continue;
		EXPECT_EQ(NSTATES, prober->hits(dev, ids[i]))
			TH_LOG("%s", table[i].text);
	}
}

static void check_snippets(struct __test_metadata *_metadata, int dev,
			   const struct snippet *snippets)
{
	static const struct prober prober = { probe, hits };

	check_snippets_by(_metadata, dev, &prober, snippets);
}

/* Stack, moves between registers, nops, branches, calls, returns. */
TEST_F(uprobes, emulated)
{
	check_snippets(_metadata, self->dev, emulated);
}

/* Arithmetic, memory, atomics, strings, segments, x87, SSE (C3). */
TEST_F(uprobes, stepped)
{
	check_snippets(_metadata, self->dev, stepped);
}

/* Operands that are relative to the instruction pointer in 64-bit code. */
TEST_F(uprobes, rip_relative)
{
	check_snippets(_metadata, self->dev, relative);
}

/* C2: VEX instructions are executed as such. */
TEST_F(uprobes, c2_vex)
{
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2"))
		SKIP(return, "the CPU has no AVX2 or BMI2");
	check_snippets(_metadata, self->dev, avx);
}

static int probe_own_file(int dev, pid_t pid, const void *addr)
{
	static int fd = -1;

	if (fd < 0)
		fd = own_file();
	return probe_file(dev, fd, file_offset(addr));
}

/* The same in probes of the program's file. */
TEST_F(uprobes, c2_vex_by_file)
{
	static const struct prober prober = { probe_own_file, file_hits };
	int files = upt_open(UPI_MODULE);

	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2"))
		SKIP(return, "the CPU has no AVX2 or BMI2");
	ASSERT_LE(0, files);
	check_snippets_by(_metadata, files, &prober, avx);
	close(files);
}

/* System calls: what they leave in the registers. */
TEST_F(uprobes, system_calls)
{
	check_snippets(_metadata, self->dev, system_calls);
}

/* Segments, nested frames, operands of 16 bits, shadow stacks. */
TEST_F(uprobes, rare)
{
	check_snippets(_metadata, self->dev, rare);
}

/* C9: a fault in the copy shows original addresses, and the same frame. */
TEST_F(uprobes, c9_faults)
{
	check_snippets(_metadata, self->dev, faulting);
}

static void kmov_prog(void)
{
	shm[SHM_RESULT] = call_kmov(0x1234);
}

/* C2: kmov has the opcode of nop. Accepted, and executed if the CPU has it. */
TEST_F(uprobes, c2_kmov)
{
	pid_t pid = start_prog(kmov_prog);
	int id = probe(self->dev, pid, kmov);

	ASSERT_LE(0, id);
	if (!__builtin_cpu_supports("avx512f"))
		return;
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0x1234, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(self->dev, id));
}
