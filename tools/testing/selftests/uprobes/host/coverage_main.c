// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much of some programs can be probed: uprobes_insn_coverage FILE...
 *
 * Prints reStructuredText tables. Fails if less than 99.9 % of the instructions
 * of a file can be probed, or if objdump disagrees on any.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "test.h"

/* Those of struct table, without a space at the end */
#define HEAD_WIDTH	23

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int bits(const struct coverage *c)
{
	return c->is_64bit ? 64 : 32;
}

static unsigned long share(const struct coverage *c)
{
	return coverage_share(c->code.accepted, c->code.seen);
}

static double percent(unsigned long part, unsigned long whole)
{
	return coverage_share(part, whole) / 1000.0;
}

#define TABLE_RULE							\
	"==================  ====  ============  =========  =======  "	\
	"=======  ========  =======  =========\n"
#define TABLE_HEAD							\
	"file                bits  instructions  probed     share    "	\
	"padding  tables    share    share of\n"			\
	"                                                   in %     "	\
	"bytes    bytes     in %     all\n"

static void print_table(const struct coverage *c, char **paths, int n)
{
	int i;

	fputs(TABLE_RULE TABLE_HEAD TABLE_RULE, stdout);
	for (i = 0; i < n; i++, c++)
		printf("%-18s  %4d  %12lu  %9lu  %7.3f  %7zu  %8zu  %7.3f  %9.3f\n",
		       base_name(paths[i]), bits(c), c->code.seen,
		       c->code.accepted,
		       percent(c->code.accepted, c->code.seen),
		       c->padding, c->table_size,
		       percent(c->table_size, c->size),
		       percent(c->code.accepted + c->rest.accepted,
			       c->code.seen + c->rest.seen));
	fputs(TABLE_RULE "\n", stdout);
}

static int by_count(const void *a, const void *b)
{
	const struct refusal *x = a, *y = b;

	return (x->count < y->count) - (x->count > y->count);
}

#define REFUSED_RULE							\
	"==================  ====  ========  ============  "		\
	"========================================================\n"
#define REFUSED_HEAD							\
	"file                bits  refused   instruction   reason\n"

static void print_refused(const struct coverage *c, char **paths, int n)
{
	const struct verdict *v;
	size_t k;
	int i;

	fputs(REFUSED_RULE REFUSED_HEAD REFUSED_RULE, stdout);
	for (i = 0; i < n; i++) {
		v = &c[i].code;
		if (v->nr_refusals)
			qsort(v->refusals, v->nr_refusals,
			      sizeof(*v->refusals), by_count);
		for (k = 0; k < v->nr_refusals; k++)
			printf("%-18s  %4d  %8lu  %-12s  %s\n",
			       base_name(paths[i]), bits(&c[i]),
			       v->refusals[k].count, v->refusals[k].mnemonic,
			       v->refusals[k].why);
	}
	fputs(REFUSED_RULE "\n", stdout);
}

#define TABLES_RULE							\
	"==================  ====  ========  ======  ============  "	\
	"=======  =======================\n"
#define TABLES_HEAD							\
	"file                bits  address   bytes   instructions  "	\
	"bad      first bytes\n"

static void print_tables(const struct coverage *c, char **paths, int n)
{
	const struct table *t;
	size_t k;
	int i;

	fputs(TABLES_RULE TABLES_HEAD TABLES_RULE, stdout);
	for (i = 0; i < n; i++) {
		for (k = 0; k < c[i].nr_tables; k++) {
			t = &c[i].tables[k];
			printf("%-18s  %4d  %8lx  %6zu  %12lu  %7lu  %.*s\n",
			       base_name(paths[i]), bits(&c[i]), t->vaddr,
			       t->size, t->insns, t->bad, HEAD_WIDTH,
			       show_hex(t->head, sizeof(t->head)));
		}
	}
	fputs(TABLES_RULE "\n", stdout);
}

static bool count_all(struct coverage *c, char **paths, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		if (!coverage_count(&c[i], paths[i]))
			return false;
		if (share(&c[i]) < COVERAGE_WANTED)
			fail("%s: too many instructions are refused", paths[i]);
	}
	return true;
}

static double lowest_percent(const struct coverage *c, int n)
{
	unsigned long lowest = share(c);
	int i;

	for (i = 1; i < n; i++)
		if (share(&c[i]) < lowest)
			lowest = share(&c[i]);
	return lowest / 1000.0;
}

int main(int argc, char **argv)
{
	char **paths = argv + 1;
	int n = argc - 1, i;
	unsigned long failures;
	struct coverage *c;
	bool readable;

	if (n < 1) {
		fprintf(stderr, "usage: %s FILE...\n", argv[0]);
		return 2;
	}
	c = calloc(n, sizeof(*c));
	if (!c)
		abort();
	readable = count_all(c, paths, n);
	failures = end_failures();
	if (readable) {
		print_table(c, paths, n);
		print_refused(c, paths, n);
		print_tables(c, paths, n);
		printf("coverage: %d files, at least %.3f %% of the instructions can be probed\n",
		       n, lowest_percent(c, n));
	}
	for (i = 0; i < n; i++)
		coverage_free(&c[i]);
	free(c);
	if (!readable)
		return 2;
	return failures ? 1 : 0;
}
