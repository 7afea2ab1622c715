// SPDX-License-Identifier: GPL-2.0-only
/* The same module under a second name, for two modules that probe at once. */
#include "uprobes_test.c"
