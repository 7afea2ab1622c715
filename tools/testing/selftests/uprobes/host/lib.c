// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the x86 instruction unit on the host: results, bytes, memory */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/uaccess.h>

#include "test.h"

/* Failures are told in full only as long as someone would read them */
#define MAX_TOLD	20

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

unsigned long end_failures(void)
{
	unsigned long n = failures;

	if (n > MAX_TOLD)
		note("and %lu more", n - MAX_TOLD);
	failures = 0;
	return n;
}

void *grow(void *items, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return items;
	*room = *room ? 2 * *room : 64;
	items = realloc(items, *room * size);
	if (!items)
		abort();
	return items;
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

static bool accessible(const void *user, size_t size)
{
	unsigned long addr = (unsigned long)user;

	if (user_accesses == 0)
		return false;
	if (user_accesses > 0)
		user_accesses--;
	return addr >= (unsigned long)user_start &&
	       addr <= (unsigned long)user_end - size;
}

/* By bytes: a stack need not be aligned */
bool user_read(const void *user, void *value, size_t size)
{
	if (!accessible(user, size))
		return false;
	memcpy(value, user, size);
	return true;
}

bool user_write(void *user, const void *value, size_t size)
{
	if (!accessible(user, size))
		return false;
	memcpy(user, value, size);
	return true;
}
