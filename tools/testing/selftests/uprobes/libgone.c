// SPDX-License-Identifier: GPL-2.0-only
/* A library that a program can do without: nothing else is needed by it. */

long gone_add(long a, long b)
{
	return a + b;
}

/* A tail call: the library may be gone when fn() returns. */
long gone_call(long (*fn)(void))
{
	return fn();
}
