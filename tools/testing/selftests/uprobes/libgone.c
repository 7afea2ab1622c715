// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library that a program can do without: nothing else is needed by it.
 * gone_call() is in gone.S.
 */

long gone_add(long a, long b)
{
	return a + b;
}
