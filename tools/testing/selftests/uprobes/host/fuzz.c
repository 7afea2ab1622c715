// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the x86 instruction unit on the host: random bytes */
#include <stdlib.h>
#include <string.h>
#include <linux/errno.h>

#include "test.h"

#define ROUNDS	300000
#define VADDR	0x7f0012345678UL
#define COPY	0x7f0000000040UL
#define VADDR32	0x12345678UL
#define COPY32	0x7ff00040UL

/* Plain random bytes rarely get past their first prefixes */
static size_t random_insn(u8 *bytes)
{
	static const u8 starts[] = {
		0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x64, 0x48, 0x41, 0x4f,
		0x0f, 0x0f, 0xc4, 0xc5, 0x62, 0xff, 0x8f, 0xd5,
	};
	size_t n = rnd_below(MAX_INSN_SIZE + 2), i;

	for (i = 0; i < n; i++)
		bytes[i] = rnd();
	for (i = 0; i < n && i < rnd_below(4); i++)
		bytes[i] = starts[rnd_below(sizeof(starts))];
	return n;
}

/* What holds for every instruction that is accepted */
static void check(const u8 *bytes, size_t n, const struct uprobe_insn *ui,
		  bool is_64bit)
{
	unsigned long vaddr = is_64bit ? VADDR : VADDR32;
	unsigned long copy = is_64bit ? COPY : COPY32;
	struct uprobe_insn_step step;
	struct pt_regs regs, before;
	struct insn insn;
	size_t i;

	if (!ui->len || ui->len > n || ui->copy_len > MAX_INSN_SIZE) {
		fail("%s: length %u, copy %u", show_hex(bytes, n), ui->len,
		     ui->copy_len);
		return;
	}
	if (ui->copy_len) {
		if (insn_decode(&insn, ui->copy, ui->copy_len,
				is_64bit ? INSN_MODE_64 : INSN_MODE_32))
			fail("%s: the copy is no instruction",
			     show_hex(bytes, n));
		else if (is_64bit && insn_rip_relative(&insn))
			fail("%s: the copy is relative to rip",
			     show_hex(bytes, n));
	}
	if (ui->op == UPROBE_INSN_STEP && ui->copy_len != ui->len)
		fail("%s: the copy has another length", show_hex(bytes, n));

	for (i = 0; i < sizeof(regs) / sizeof(long); i++)
		((unsigned long *)&regs)[i] = rnd();
	regs.ip = vaddr;
	before = regs;
	/* None of these addresses can be accessed */
	if (uprobe_insn_emulate(ui, &regs))
		return;
	if (memcmp(&regs, &before, sizeof(regs)))
		fail("%s: registers changed", show_hex(bytes, n));
	if (!ui->copy_len)
		fail("%s: neither emulated nor a copy", show_hex(bytes, n));
	uprobe_insn_pre_step(ui, &step, &regs, copy);
	if (regs.ip - copy >= ui->copy_len)
		fail("%s: does not start in its copy", show_hex(bytes, n));
	uprobe_insn_abort(ui, &step, &regs, vaddr);
	if (memcmp(&regs, &before, sizeof(regs)))
		fail("%s: registers changed by giving up", show_hex(bytes, n));
}

static void test_random_of(bool is_64bit)
{
	unsigned long accepted = 0;
	struct uprobe_insn ui;
	u8 bytes[16], *exact;
	const char *why;
	size_t n;
	int i, ret;

	for (i = 0; i < ROUNDS; i++) {
		n = random_insn(bytes);
		/* Its own allocation: the sanitizer watches its end */
		exact = malloc(n ?: 1);
		memcpy(exact, bytes, n);
		why = NULL;
		ret = uprobe_insn_analyze(&ui, exact, n,
					  is_64bit ? VADDR : VADDR32, is_64bit,
					  &why);
		if (!ret) {
			accepted++;
			check(exact, n, &ui, is_64bit);
		} else if ((ret != -EINVAL && ret != -EOPNOTSUPP) || !why) {
			fail("%s: error %d, %s", show_hex(bytes, n), ret,
			     why ?: "no reason");
		}
		free(exact);
	}
	note("%d bits: %d inputs, %lu accepted", is_64bit ? 64 : 32, ROUNDS,
	     accepted);
	if (accepted < ROUNDS / 10)
		fail("too few instructions");
}

void test_random(void)
{
	test_random_of(false);
	test_random_of(true);
}
