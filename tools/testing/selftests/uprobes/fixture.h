/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fixtures of all programs, and their main(): an open device. Each test
 * is a process of its own, and its programs die with it.
 *
 * A single argument that is no option is a glob: only those tests are run.
 */
#ifndef _FIXTURE_H
#define _FIXTURE_H

#include <fnmatch.h>

/* What a failed test says belongs to its result. */
#define TH_LOG_STREAM stdout
#include "../kselftest_harness.h"
#include "util.h"

static inline int open_device(struct __test_metadata *_metadata)
{
	int dev;

	memset(shm, 0, SHM_SIZE);
	dev = upt_open(UPT_MODULE);
	ASSERT_LE(0, dev)
		TH_LOG("cannot open the test module's device: %s",
		       strerror(-dev));
	return dev;
}

static inline void close_device(struct __test_metadata *_metadata, int dev)
{
	close(dev);
	/* A test may have failed before it switched them on again */
	EXPECT_EQ(0, set_enabled(true));
}

FIXTURE(uprobes) {
	int dev;
};

FIXTURE_SETUP(uprobes)
{
	self->dev = open_device(_metadata);
}

FIXTURE_TEARDOWN(uprobes)
{
	close_device(_metadata, self->dev);
}

/*
 * The same, three times: totals that are exact once may be so by chance. Once
 * is enough for programs of another ABI, which a kernel runs all the same.
 */
FIXTURE(three_times) {
	int dev;
};

FIXTURE_VARIANT(three_times) {
	int nth;
};

FIXTURE_VARIANT_ADD(three_times, first) { 1 };
#ifndef COMPAT
FIXTURE_VARIANT_ADD(three_times, second) { 2 };
FIXTURE_VARIANT_ADD(three_times, third) { 3 };
#endif

FIXTURE_SETUP(three_times)
{
	self->dev = open_device(_metadata);
}

FIXTURE_TEARDOWN(three_times)
{
	close_device(_metadata, self->dev);
}

/* Nobody forgot a probe in the engine, so the module leaves without a word. */
static inline void close_and_unload(struct __test_metadata *_metadata, int *dev)
{
	int log = log_start();

	close(*dev);
	*dev = -1;
	EXPECT_EQ(0, upt_unload(UPT_MODULE));
	EXPECT_EQ(0, log_warnings(log, UPT_MODULE));
}

/* Spells the glob out as the options "-t NAME" that the harness knows. */
static int run_matching(char *program, const char *glob)
{
	char *argv[512] = { program };
	struct __fixture_metadata *f;
	struct __test_metadata *t;
	int argc = 1;

	for (f = __fixture_list; f; f = f->next) {
		for (t = f->tests; t; t = t->next) {
			if (fnmatch(glob, t->name, 0))
				continue;
			argv[argc++] = (char *)"-t";
			argv[argc++] = (char *)t->name;
		}
	}
	if (argc == 1) {
		fprintf(stderr, "%s: no test is named %s\n", program, glob);
		return KSFT_SKIP;
	}
	return test_harness_run(argc, argv);
}

int main(int argc, char **argv)
{
	if (argc == 2 && argv[1][0] != '-')
		return run_matching(argv[0], argv[1]);
	return test_harness_run(argc, argv);
}

#endif /* _FIXTURE_H */
