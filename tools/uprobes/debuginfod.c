// SPDX-License-Identifier: GPL-2.0-only
/*
 * gdb is linked with a library that fetches debug information from the network.
 * The guest has none, and so no need for the twenty libraries behind that one:
 * where they would be another architecture's, this takes its place.
 */
#include <errno.h>
#include <stddef.h>

/* There is no client. */
void *debuginfod_begin(void)
{
	return NULL;
}

void debuginfod_end(void *client)
{
}

int debuginfod_find_debuginfo(void *client)
{
	return -EOPNOTSUPP;
}

int debuginfod_find_executable(void *client)
{
	return -EOPNOTSUPP;
}

int debuginfod_find_source(void *client)
{
	return -EOPNOTSUPP;
}

void *debuginfod_get_user_data(void *client)
{
	return NULL;
}

void debuginfod_set_progressfn(void *client, void *fn)
{
}

void debuginfod_set_user_data(void *client, void *data)
{
}
