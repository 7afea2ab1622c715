// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the x86 instruction unit on the host: the list, results, memory */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/uaccess.h>

#include "test.h"

/* Failures are told in full only as long as someone would read them */
#define MAX_TOLD	20

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
	{ "objdump agrees on generated encodings", test_generated },
	{ "objdump agrees on real programs", test_programs },
	{ "random bytes do no harm", test_random },
};

static unsigned long failures;

u8 *user_start, *user_end;
int user_accesses = -1;

void fail(const char *fmt, ...)
{
	va_list args;

	if (++failures > MAX_TOLD)
		return;
	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

void note(const char *fmt, ...)
{
	va_list args;

	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

static int digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10;
}

size_t parse_hex(const char *hex, u8 *bytes)
{
	size_t n = 0;

	for (; *hex; hex += 2) {
		if (*hex == ' ')
			hex++;
		if (!isxdigit((unsigned char)hex[0]) ||
		    !isxdigit((unsigned char)hex[1])) {
			fprintf(stderr, "bad hex digits: %s\n", hex);
			exit(2);
		}
		bytes[n++] = digit(hex[0]) << 4 | digit(hex[1]);
	}
	return n;
}

const char *show_hex(const u8 *bytes, size_t n)
{
	static char text[3 * 32 + 1];
	size_t i;

	text[0] = 0;
	for (i = 0; i < n && i < 32; i++)
		sprintf(text + 3 * i, "%02x ", bytes[i]);
	return text;
}

/* splitmix64 */
u64 rnd(void)
{
	static u64 state = 42;
	u64 z = (state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static bool accessible(const unsigned long *user)
{
	unsigned long addr = (unsigned long)user;

	if (user_accesses == 0)
		return false;
	if (user_accesses > 0)
		user_accesses--;
	return addr >= (unsigned long)user_start &&
	       addr <= (unsigned long)user_end - sizeof(*user);
}

/* By bytes: a stack need not be aligned */
bool user_read(const unsigned long *user, unsigned long *value)
{
	if (!accessible(user))
		return false;
	memcpy(value, (const void *)user, sizeof(*value));
	return true;
}

bool user_write(unsigned long *user, unsigned long value)
{
	if (!accessible(user))
		return false;
	memcpy((void *)user, &value, sizeof(value));
	return true;
}

int main(void)
{
	unsigned long failed = 0;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	cpu_init();

	printf("KTAP version 1\n1..%zu\n", ARRAY_SIZE(tests));
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		failures = 0;
		user_accesses = -1;
		tests[i].run();
		if (failures > MAX_TOLD)
			note("and %lu more", failures - MAX_TOLD);
		printf("%sok %zu %s\n", failures ? "not " : "", i + 1,
		       tests[i].name);
		failed += !!failures;
	}
	printf("# %zu passed, %lu failed\n", ARRAY_SIZE(tests) - failed,
	       failed);
	return failed ? 1 : 0;
}
