// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the x86 instruction unit on the host: how much of a program can be
 * probed.
 *
 * Counted are the instructions of .text. Not counted is what no function holds
 * and nothing leads to (text.c), if it is all padding, or if it has bytes in it
 * that are no instruction to objdump: tables. What looks like code is counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

unsigned long coverage_share(unsigned long part, unsigned long whole)
{
	return whole ? part * 100000 / whole : 0;
}

static int by_kind(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* Code to the front, the rest in order. Returns how many are code. */
static size_t sort_runs(struct run *runs, size_t nr)
{
	size_t n;

	qsort(runs, nr, sizeof(*runs), by_kind);
	for (n = 0; n < nr && runs[n].kind == RUN_CODE; n++)
		;
	return n;
}

static enum run_kind kind_of_unknown(const struct run *run)
{
	if (run->nops == run->insns)
		return RUN_PADDING;
	return run->bad ? RUN_TABLE : RUN_CODE;
}

static void note_table(struct coverage *c, const struct run *run)
{
	struct table *t = NULL;

	c->table_size += run->size;
	if (c->nr_tables)
		t = &c->tables[c->nr_tables - 1];
	if (!t || t->vaddr + t->size != run->vaddr) {
		c->tables = grow(c->tables, c->nr_tables, &c->room, sizeof(*t));
		t = &c->tables[c->nr_tables++];
		*t = (struct table){ .vaddr = run->vaddr };
		memcpy(t->head, run->bytes, run->size < sizeof(t->head) ?
					    run->size : sizeof(t->head));
	}
	t->size += run->size;
	t->insns += run->insns;
	t->bad += run->bad;
}

bool coverage_count(struct coverage *c, const char *path)
{
	struct text t;
	size_t n, i;

	memset(c, 0, sizeof(*c));
	if (!text_open(&t, path))
		return false;
	c->is_64bit = t.is_64bit;
	c->size = t.size;

	n = sort_runs(t.runs, t.nr_runs);
	judge(NULL, t.runs + n, t.nr_runs - n, t.is_64bit);
	for (i = n; i < t.nr_runs; i++)
		t.runs[i].kind = kind_of_unknown(&t.runs[i]);

	n = sort_runs(t.runs, t.nr_runs);
	for (i = n; i < t.nr_runs; i++) {
		if (t.runs[i].kind == RUN_PADDING)
			c->padding += t.runs[i].size;
		else
			note_table(c, &t.runs[i]);
	}
	judge(&c->code, t.runs, n, t.is_64bit);
	judge(&c->rest, t.runs + n, t.nr_runs - n, t.is_64bit);

	if (c->code.bad)
		fail("%s: %lu accepted that objdump calls bad", path,
		     c->code.bad);
	text_close(&t);
	return true;
}

void coverage_free(struct coverage *c)
{
	free(c->code.refusals);
	free(c->rest.refusals);
	free(c->tables);
}

/* The programs that the running machine has */

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

static void test_program(const char *path)
{
	struct coverage c;
	size_t i;

	if (!coverage_count(&c, path))
		return;
	note("%s: %lu instructions, %lu accepted", path, c.code.seen,
	     c.code.accepted);
	for (i = 0; i < c.code.nr_refusals; i++)
		note("%8lu %s refused: %s", c.code.refusals[i].count,
		     c.code.refusals[i].mnemonic, c.code.refusals[i].why);
	if (c.code.seen < 10000)
		fail("%s: hardly any instructions", path);
	if (coverage_share(c.code.accepted, c.code.seen) < COVERAGE_WANTED)
		fail("%s: too many are refused", path);
	coverage_free(&c);
}

void test_programs(void)
{
	char libc[400];

	test_program("/bin/bash");
	if (find_libc(libc, sizeof(libc)))
		test_program(libc);
	else
		fail("no libc.so in this process");
}
