// SPDX-License-Identifier: GPL-2.0-only
/*
 * A 32-bit program that throws exceptions over return-probed calls. It tells
 * its table like prog32, then makes a pass before and one after it has stopped
 * itself.
 */
#include <signal.h>
#include <unistd.h>

#include "prog32.h"

#define DEPTH	20
#define ROUNDS	10

#define noipa	__attribute__((__noipa__))

static volatile int unwound;

struct counter {
	~counter() { unwound++; }
};

noipa static int throw_at(int depth)
{
	counter c;

	if (!depth)
		throw 7;
	return throw_at(depth - 1) + 1;
}

noipa static int catcher(int depth)
{
	try {
		return throw_at(depth);
	} catch (int value) {
		return value;
	}
}

static int pass()
{
	int sum = 0;

	unwound = 0;
	for (int i = 0; i < ROUNDS; i++)
		sum += catcher(DEPTH);
	return sum * 1000 + unwound;
}

int main()
{
	const prog32_point points[] = {
		{ (unsigned int)throw_at, 0, ROUNDS * (DEPTH + 1) },
		{ (unsigned int)catcher, PROG32_FUNCTION, ROUNDS },
	};
	int expected = ROUNDS * 7 * 1000 + ROUNDS * (DEPTH + 1);

	if (write(STDOUT_FILENO, points, sizeof(points)) != sizeof(points))
		return 1;
	if (pass() != expected)
		return 1;
	raise(SIGSTOP);
	return pass() == expected ? PROG32_SAME : PROG32_DIFFERENT;
}
