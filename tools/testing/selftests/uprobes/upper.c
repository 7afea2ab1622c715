// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers of 32-bit powerpc programs have 64 bits on a kernel of 64. What is
 * in the upper half is of no meaning for addresses and loops.
 */
#include "fixture.h"
#include "powerpc/upper.h"

static void counting_prog(void)
{
	shm[SHM_RESULT] = count_five();
}

/* A branch that counts down looks at the lower half. */
TEST_F(uprobes, counter)
{
	pid_t pid = start_prog(counting_prog);
	int ids[16], n;

	for (n = 0; count_five_insns[n].addr; n++) {
		ids[n] = probe(self->dev, pid, insn_at(&count_five_insns[n]));
		ASSERT_LE(0, ids[n]);
	}
	ASSERT_EQ(11, n);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(256 + 5, shm[SHM_RESULT]);
	while (n--)
		EXPECT_EQ(count_five_insns[n].number, hits(self->dev, ids[n]))
			TH_LOG("instruction %d", n);
}

static void calling_prog(void)
{
	shm[SHM_RESULT] = call_from_upper(6) + call_from_upper(60);
}

/* A call is found by its stack pointer, and returns. */
TEST_F(uprobes, addresses)
{
	pid_t pid = start_prog(calling_prog);
	struct upt_state state;
	int id, entry;

	id = probe_ret_kind(self->dev, pid, from_upper, UPT_RECORD, 0);
	entry = probe_kind(self->dev, pid, from_upper, UPT_RECORD, 0);
	ASSERT_LE(0, id);
	ASSERT_LE(0, entry);
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(7 + 61, shm[SHM_RESULT]);
	EXPECT_EQ(2, hits(self->dev, entry));
	state = upt_read(self->dev, id);
	EXPECT_EQ(2, state.entries);
	EXPECT_EQ(2, state.hits);
	EXPECT_EQ(0, state.nmissed);
	EXPECT_EQ((uintptr_t)after_from_upper, state.ret_addr);
	EXPECT_EQ(upt_read(self->dev, entry).sp, state.ret_sp);
}
