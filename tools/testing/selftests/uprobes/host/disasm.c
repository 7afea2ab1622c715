// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the x86 instruction unit on the host: a second opinion.
 *
 * objdump must agree on the length of every instruction that the unit
 * accepts, and on whether it changes the flow of control.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "test.h"

#define VADDR		0x401000UL
/* No instruction that starts in the first half reaches the next slot */
#define SLOT		32
#define MAX_REASONS	64

static struct {
	const char *why;
	unsigned long count;
} reasons[MAX_REASONS];

static struct {
	unsigned long seen, accepted, refused, bad;
} total;

static void start_counting(void)
{
	memset(reasons, 0, sizeof(reasons));
	memset(&total, 0, sizeof(total));
}

static void count_reason(const char *why)
{
	size_t i;

	for (i = 0; i < MAX_REASONS && reasons[i].why; i++)
		if (!strcmp(reasons[i].why, why))
			break;
	if (i == MAX_REASONS) {
		fail("more reasons than expected");
		return;
	}
	reasons[i].why = why;
	reasons[i].count++;
}

static void tell_reasons(void)
{
	size_t i;

	for (i = 0; i < MAX_REASONS && reasons[i].why; i++)
		note("%8lu refused: %s", reasons[i].count, reasons[i].why);
}

static bool is_prefix_word(const char *word, size_t n)
{
	static const char * const words[] = {
		"bnd", "notrack", "rep", "repz", "repnz", "lock", "data16",
		"addr32", "cs", "ds", "es", "fs", "gs", "ss", "xacquire",
		"xrelease",
	};
	size_t i;

	if (n >= 3 && !strncmp(word, "rex", 3))
		return true;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (n == strlen(words[i]) && !strncmp(word, words[i], n))
			return true;
	return false;
}

/* "bnd jmp *%rax" -> "jmp *%rax" */
static const char *mnemonic(const char *text)
{
	size_t n;

	for (;;) {
		text += strspn(text, " ");
		n = strcspn(text, " ,\n");
		if (!n || !is_prefix_word(text, n))
			return text;
		text += n;
	}
}

static bool is_branch(const char *text)
{
	const char *word = mnemonic(text);

	return *word == 'j' || !strncmp(word, "call", 4) ||
	       !strncmp(word, "ret", 3) || !strncmp(word, "loop", 4);
}

static bool is_bad(const char *text)
{
	return strstr(text, "(bad)");
}

/* @n: length as objdump sees it; there may be more bytes */
static void judge(const u8 *bytes, size_t readable, size_t n, const char *text)
{
	struct uprobe_insn ui;
	const char *why;
	int ret;

	total.seen++;
	ret = uprobe_insn_analyze(&ui, bytes, readable, VADDR, &why);
	if (ret) {
		total.refused++;
		count_reason(why);
		return;
	}
	total.accepted++;
	if (is_bad(text)) {
		/* The CPU's #UD is as good in a copy; see the callers */
		total.bad++;
		return;
	}
	if (ui.len != n)
		fail("%s(%s): length %u, objdump says %zu",
		     show_hex(bytes, readable), text, ui.len, n);
	if (uprobe_insn_is_branch(&ui) != is_branch(text))
		fail("%s(%s): op %u", show_hex(bytes, n), text, ui.op);
}

/*
 * "  401000:\t48 89 e5             \tmov    %rsp,%rbp" in @line. Returns the
 * text of the instruction, or NULL for a line of another kind.
 */
static char *parse_line(char *line, unsigned long *addr, u8 *bytes, size_t *n)
{
	char *p, *text;

	*addr = strtoul(line, &p, 16);
	if (p == line || strncmp(p, ":\t", 2))
		return NULL;
	p += 2;
	text = strchr(p, '\t');
	if (!text)
		return NULL;
	*text++ = 0;
	text[strcspn(text, "\n")] = 0;

	for (*n = 0; isxdigit((unsigned char)*p) && *n < 15; p += 3)
		bytes[(*n)++] = strtoul((char[]){ p[0], p[1], 0 }, NULL, 16);
	return text;
}

static FILE *start_objdump(const char *args)
{
	char command[512];
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "LC_ALL=C objdump -w --insn-width=15 %s", args);
	pipe = popen(command, "r");
	if (!pipe)
		fail("cannot run objdump: %s", strerror(errno));
	return pipe;
}

static void end_objdump(FILE *pipe)
{
	int status = pclose(pipe);

	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail("objdump failed, status %x", status);
}

/* Generated encodings: one per slot, nops after it */

struct blob {
	u8 *bytes;
	size_t slots, room;
};

static void add(struct blob *b, const u8 *bytes, size_t n)
{
	if (b->slots == b->room) {
		b->room = b->room ? 2 * b->room : 4096;
		b->bytes = realloc(b->bytes, b->room * SLOT);
		if (!b->bytes)
			abort();
	}
	memset(b->bytes + b->slots * SLOT, 0x90, SLOT);
	memcpy(b->bytes + b->slots * SLOT, bytes, n);
	b->slots++;
}

/* ModRM with each kind of operand, and each member of a group */
static void add_modrms(struct blob *b, const u8 *head, size_t n)
{
	static const u8 kinds[] = { 0x05, 0x44, 0xc1 };
	u8 bytes[16];
	size_t i, reg;

	memcpy(bytes, head, n);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (reg = 0; reg < 8; reg++) {
			bytes[n] = kinds[i] | reg << 3;
			memcpy(bytes + n + 1, "\x24\x10\x20\x30", 4);
			add(b, bytes, n + 5);
		}
	}
}

static void add_legacy(struct blob *b)
{
	static const char * const prefixes[] = {
		"", "66", "f2", "f3", "48", "41", "67", "2e", "66 f2", "f3 4c",
	};
	static const char * const maps[] = { "", "0f", "0f 38", "0f 3a" };
	u8 bytes[16];
	size_t p, m, n;
	int op;

	for (p = 0; p < ARRAY_SIZE(prefixes); p++) {
		for (m = 0; m < ARRAY_SIZE(maps); m++) {
			for (op = 0; op < 256; op++) {
				/* objdump takes fwait for a prefix of x87 */
				if (!*maps[m] && op == 0x9b)
					continue;
				n = parse_hex(prefixes[p], bytes);
				n += parse_hex(maps[m], bytes + n);
				bytes[n++] = op;
				add_modrms(b, bytes, n);
			}
		}
	}
}

static void add_vex(struct blob *b)
{
	u8 bytes[16] = { 0xc4 };
	int map, low, op;

	for (map = 1; map <= 3; map++) {
		for (low = 0; low < 16; low++) {
			for (op = 0; op < 256; op++) {
				bytes[1] = 0xe0 | map;
				/* W, L and pp; vvvv none */
				bytes[2] = 0x78 | (low & 8) << 4 | (low & 7);
				bytes[3] = op;
				add_modrms(b, bytes, 4);
			}
		}
	}
}

static void add_evex(struct blob *b)
{
	static const u8 maps[] = { 1, 2, 3, 5, 6 };
	u8 bytes[16] = { 0x62 };
	size_t map;
	int low, op;

	for (map = 0; map < ARRAY_SIZE(maps); map++) {
		for (low = 0; low < 8; low++) {
			for (op = 0; op < 256; op++) {
				bytes[1] = 0xf0 | maps[map];
				bytes[2] = 0x7c | (low & 4) << 5 | (low & 3);
				bytes[3] = 0x48;
				bytes[4] = op;
				add_modrms(b, bytes, 5);
			}
		}
	}
}

static void judge_blob(const char *name, void (*generate)(struct blob *b))
{
	char path[] = "/tmp/uprobes_insn.XXXXXX", line[512], args[128];
	struct blob blob = {};
	unsigned long addr, slots = 0;
	u8 bytes[16];
	char *text;
	FILE *pipe;
	size_t n;
	int fd;

	generate(&blob);
	fd = mkstemp(path);
	if (fd < 0 || write(fd, blob.bytes, blob.slots * SLOT) !=
		      (ssize_t)(blob.slots * SLOT)) {
		fail("%s: %s", path, strerror(errno));
		goto out;
	}

	start_counting();
	snprintf(args, sizeof(args), "-D -z -b binary -m i386:x86-64 %s", path);
	pipe = start_objdump(args);
	if (!pipe)
		goto out;
	while (fgets(line, sizeof(line), pipe)) {
		text = parse_line(line, &addr, bytes, &n);
		if (!text || addr % SLOT)
			continue;
		slots++;
		judge(blob.bytes + addr, MAX_INSN_SIZE, n, text);
	}
	end_objdump(pipe);
	if (slots != blob.slots)
		fail("%s: objdump printed %lu of %zu", name, slots, blob.slots);
	note("%s: %lu encodings, %lu accepted, %lu of these not known to objdump",
	     name, total.seen, total.accepted, total.bad);
out:
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	free(blob.bytes);
}

void test_generated(void)
{
	judge_blob("legacy", add_legacy);
	judge_blob("VEX", add_vex);
	judge_blob("EVEX", add_evex);
}

static bool find_libc(char *path, size_t size)
{
	unsigned long start, end;
	char line[512], name[400];
	FILE *maps = fopen("/proc/self/maps", "r");
	bool found = false;

	if (!maps)
		return false;
	while (!found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %399s", &start, &end,
			   name) == 3 && strstr(name, "/libc.so")) {
			snprintf(path, size, "%s", name);
			found = true;
		}
	}
	fclose(maps);
	return found;
}

static void judge_program(const char *path)
{
	char line[1024], args[450];
	unsigned long addr;
	u8 bytes[16];
	char *text;
	FILE *pipe;
	size_t n;

	start_counting();
	snprintf(args, sizeof(args), "-d -z %s", path);
	pipe = start_objdump(args);
	if (!pipe)
		return;
	while (fgets(line, sizeof(line), pipe)) {
		text = parse_line(line, &addr, bytes, &n);
		if (text)
			judge(bytes, n, n, text);
	}
	end_objdump(pipe);
	note("%s: %lu instructions, %lu accepted, %lu refused", path,
	     total.seen, total.accepted, total.refused);
	tell_reasons();
	if (total.seen < 10000)
		fail("%s: hardly any instructions", path);
	/* Mostly syscall, hlt and what libc tries on special CPUs */
	if (total.refused * 100 > total.seen)
		fail("%s: more than 1%% refused", path);
	if (total.bad)
		fail("%s: %lu accepted that objdump calls bad", path,
		     total.bad);
}

void test_programs(void)
{
	char libc[400];

	judge_program("/bin/bash");
	if (find_libc(libc, sizeof(libc)))
		judge_program(libc);
	else
		fail("no libc.so in this process");
}
