// SPDX-License-Identifier: GPL-2.0-only
/* The shared library of the demo. */

#include "demo.h"

long demo_library(long n)
{
	return n + 1;
}
