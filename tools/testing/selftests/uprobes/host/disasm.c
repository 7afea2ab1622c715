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
#include <sys/mman.h>
#include <sys/wait.h>

#include "test.h"

/* Between two runs: enough for objdump to find back into step */
#define GAP		16

static bool is_prefix_word(const char *word, size_t n)
{
	static const char * const words[] = {
		"bnd", "notrack", "rep", "repz", "repnz", "lock", "data16",
		"addr16", "addr32", "cs", "ds", "es", "fs", "gs", "ss",
		"xacquire", "xrelease",
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
		n = strcspn(text, " ,");
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

/* Nothing but a prefix: no instruction that objdump knows goes with it */
static bool is_bad(const char *text)
{
	return strstr(text, "(bad)") || strstr(text, ".byte") ||
	       !*mnemonic(text);
}

/* What compilers and linkers put between functions */
static bool is_padding(const u8 *bytes, size_t n, const char *text)
{
	static const char * const insns[] = {
		"nop", "int3", "xchg   %ax,%ax", "lea    0x0(%esi",
	};
	size_t i;

	text = mnemonic(text);
	for (i = 0; i < ARRAY_SIZE(insns); i++)
		if (!strncmp(text, insns[i], strlen(insns[i])))
			return true;
	for (i = 0; i < n && !bytes[i]; i++)
		;
	return i == n;
}

static void count_refusal(struct verdict *v, const char *why, const char *text)
{
	const char *word = mnemonic(text);
	int n = strcspn(word, " ,");
	struct refusal new = { .why = why, .count = 1 };
	size_t i;

	snprintf(new.mnemonic, sizeof(new.mnemonic), "%.*s", n ?: 8,
		 n ? word : "(prefix)");
	for (i = 0; i < v->nr_refusals; i++) {
		if (!strcmp(v->refusals[i].why, why) &&
		    !strcmp(v->refusals[i].mnemonic, new.mnemonic)) {
			v->refusals[i].count++;
			return;
		}
	}
	v->refusals = grow(v->refusals, v->nr_refusals, &v->room, sizeof(new));
	v->refusals[v->nr_refusals++] = new;
}

/* @n: length as objdump sees it, of @readable bytes */
static void judge_insn(struct verdict *v, const u8 *bytes, size_t readable,
		       size_t n, unsigned long vaddr, const char *text,
		       bool is_64bit)
{
	struct uprobe_insn ui;
	const char *why;

	/* One instruction to objdump, two to the CPU */
	if (bytes[0] == 0x9b && n > 1) {
		judge_insn(v, bytes, readable, 1, vaddr, "fwait", is_64bit);
		judge_insn(v, bytes + 1, readable - 1, n - 1, vaddr + 1, text,
			   is_64bit);
		return;
	}

	v->seen++;
	if (uprobe_insn_analyze(&ui, bytes, readable, vaddr, is_64bit, &why)) {
		count_refusal(v, why, text);
		return;
	}
	v->accepted++;
	if (is_bad(text)) {
		/* The CPU's #UD is as good in a copy; see the callers */
		v->bad++;
		return;
	}
	if (ui.len != n)
		fail("%s(%s): length %u, objdump says %zu",
		     show_hex(bytes, readable), text, ui.len, n);
	if (uprobe_insn_is_branch(&ui) != is_branch(text))
		fail("%s(%s): op %u", show_hex(bytes, n), text, ui.op);
}

/*
 * "  1000:\t48 89 e5             \tmov    %rsp,%rbp" in @line. Returns the
 * text of the instruction, or NULL for a line of another kind.
 */
static char *parse_line(char *line, unsigned long *offset, size_t *n)
{
	char *p, *text;

	*offset = strtoul(line, &p, 16);
	if (p == line || strncmp(p, ":\t", 2))
		return NULL;
	p += 2;
	text = strchr(p, '\t');
	if (!text)
		return NULL;
	*text++ = 0;
	text[strcspn(text, "\n")] = 0;

	for (*n = 0; isxdigit((unsigned char)*p); p += 3)
		(*n)++;
	return text;
}

/* All runs in one file of no name */
static int write_runs(const struct run *runs, size_t n)
{
	static const u8 gap[GAP] = { [0 ... GAP - 1] = 0x90 };
	int fd = memfd_create("runs", 0);
	FILE *file = fd < 0 ? NULL : fdopen(dup(fd), "w");
	bool ok = file;
	size_t i;

	for (i = 0; ok && i < n; i++)
		ok = fwrite(runs[i].bytes, runs[i].size, 1, file) == 1 &&
		     fwrite(gap, GAP, 1, file) == 1;
	if (file && fclose(file))
		ok = false;
	if (ok)
		return fd;
	fail("cannot write what objdump is to read: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static FILE *start_objdump(int fd, bool is_64bit)
{
	char command[128];
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "LC_ALL=C exec objdump -Dzw --insn-width=15 -b binary -m %s /proc/%d/fd/%d",
		 is_64bit ? "i386:x86-64" : "i386", getpid(), fd);
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

static void judge_line(struct verdict *v, struct run *run, size_t offset,
		       size_t n, const char *text, bool is_64bit)
{
	const u8 *bytes = run->bytes + offset;
	size_t readable = run->size - offset;

	if (run->one && offset)
		return;
	run->insns++;
	run->bad += is_bad(text);
	run->nops += is_padding(bytes, n < readable ? n : readable, text);
	if (v)
		judge_insn(v, bytes,
			   readable < MAX_INSN_SIZE ? readable : MAX_INSN_SIZE,
			   n, run->vaddr + offset, text, is_64bit);
}

/* Every run has to be met, and gone through to its end */
void judge(struct verdict *v, struct run *runs, size_t nr, bool is_64bit)
{
	unsigned long offset, start = 0, next = 0;
	size_t i = 0, n;
	char line[512], *text;
	FILE *pipe;
	int fd;

	if (!nr)
		return;
	fd = write_runs(runs, nr);
	if (fd < 0)
		return;
	pipe = start_objdump(fd, is_64bit);
	while (pipe && fgets(line, sizeof(line), pipe)) {
		text = parse_line(line, &offset, &n);
		if (!text)
			continue;
		if (offset != next)
			fail("objdump left out %lx to %lx", next, offset);
		next = offset + n;
		while (i < nr && offset >= start + runs[i].size + GAP)
			start += runs[i++].size + GAP;
		if (i < nr && offset - start < runs[i].size)
			judge_line(v, &runs[i], offset - start, n, text,
				   is_64bit);
	}
	if (pipe)
		end_objdump(pipe);
	if (pipe && i != nr - 1)
		fail("objdump ended in run %zu of %zu", i, nr);
	close(fd);
}

/* Generated encodings */

struct encodings {
	u8 (*bytes)[16];
	size_t n, room;
};

static void add(struct encodings *e, const u8 *bytes, size_t n)
{
	e->bytes = grow(e->bytes, e->n, &e->room, sizeof(*e->bytes));
	memset(e->bytes[e->n], 0x90, sizeof(*e->bytes));
	memcpy(e->bytes[e->n], bytes, n);
	e->n++;
}

/* ModRM with each kind of operand, and each member of a group */
static void add_modrms(struct encodings *e, const u8 *head, size_t n)
{
	static const u8 kinds[] = { 0x05, 0x44, 0xc1 };
	u8 bytes[16];
	size_t i, reg;

	memcpy(bytes, head, n);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (reg = 0; reg < 8; reg++) {
			bytes[n] = kinds[i] | reg << 3;
			memcpy(bytes + n + 1, "\x24\x10\x20\x30", 4);
			add(e, bytes, n + 5);
		}
	}
}

static void add_legacy(struct encodings *e)
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
				if (*prefixes[p] && !*maps[m] && op == 0x9b)
					continue;
				n = parse_hex(prefixes[p], bytes);
				n += parse_hex(maps[m], bytes + n);
				bytes[n++] = op;
				add_modrms(e, bytes, n);
			}
		}
	}
}

static void add_vex(struct encodings *e)
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
				add_modrms(e, bytes, 4);
			}
		}
	}
}

static void add_evex(struct encodings *e)
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
				add_modrms(e, bytes, 5);
			}
		}
	}
}

static void judge_generated(const char *name, bool is_64bit,
			    void (*generate)(struct encodings *e))
{
	struct encodings e = {};
	struct verdict v = {};
	struct run *runs;
	size_t i;

	generate(&e);
	runs = calloc(e.n, sizeof(*runs));
	if (!runs)
		abort();
	for (i = 0; i < e.n; i++)
		runs[i] = (struct run){
			.bytes = e.bytes[i],
			.size = sizeof(e.bytes[i]),
			.vaddr = 0x401000,
			.one = true,
		};
	judge(&v, runs, e.n, is_64bit);
	note("%s, %d bits: %lu encodings, %lu accepted, %lu of these not known to objdump",
	     name, is_64bit ? 64 : 32, v.seen, v.accepted, v.bad);
	free(v.refusals);
	free(runs);
	free(e.bytes);
}

void test_generated(void)
{
	int bits;

	for (bits = 32; bits <= 64; bits += 32) {
		judge_generated("legacy", bits == 64, add_legacy);
		judge_generated("VEX", bits == 64, add_vex);
		judge_generated("EVEX", bits == 64, add_evex);
	}
}
