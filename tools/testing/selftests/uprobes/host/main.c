// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the x86 instruction unit on the host: the list */
#include <stdio.h>

#include "test.h"

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "known instructions are executed as listed", test_executed },
	{ "others are refused with their reason", test_refused },
	{ "truncated and overlong instructions are refused", test_truncated },
	{ "rip-relative operands are rewritten in place", test_rewritten },
	{ "a fault in the emulation changes nothing", test_faults },
	{ "the TF of a step stays out of sight", test_flags_of_step },
	{ "emulation agrees with the CPU", test_emulation },
	{ "copies agree with the CPU", test_copies },
	{ "emulation agrees with the CPU in 32-bit code", test_emulation_32bit },
	{ "copies agree with the CPU in 32-bit code", test_copies_32bit },
	{ "objdump agrees on generated encodings", test_generated },
	{ "objdump agrees on real programs", test_programs },
	{ "random bytes do no harm", test_random },
};

int main(void)
{
	unsigned long failed = 0, failures;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	cpu_init();

	printf("KTAP version 1\n1..%zu\n", ARRAY_SIZE(tests));
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		user_accesses = -1;
		tests[i].run();
		failures = end_failures();
		printf("%sok %zu %s\n", failures ? "not " : "", i + 1,
		       tests[i].name);
		failed += !!failures;
	}
	printf("# %zu passed, %lu failed\n", ARRAY_SIZE(tests) - failed,
	       failed);
	return failed ? 1 : 0;
}
