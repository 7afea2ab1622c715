// SPDX-License-Identifier: GPL-2.0-only
/* Programs with shared libraries, as this one is: dlopen(), dlclose(). */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "calls.h"
#include "files.h"
#include "fixture.h"

enum {
	ADD = SHM_FREE,	/* where the functions of libgone are */
	CALL,
};

typedef long (*call_fn)(long (*fn)(void));

static void *library;

/* From this folder, which is that of the program. */
static void open_library(void)
{
	library = dlopen("./libgone" ABI ".so", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "# %s\n", dlerror());
		abort();
	}
	shm[ADD] = (long)entry_of(dlsym(library, "gone_add"));
	shm[CALL] = (long)entry_of(dlsym(library, "gone_call"));
}

static long close_library(void)
{
	if (dlclose(library))
		abort();
	library = dlopen("./libgone" ABI ".so", RTLD_NOW | RTLD_NOLOAD);
	return library ? -1 : 42;
}

static void library_comes_and_goes(void)
{
	long before;

	open_library();
	before = shm[ADD];
	prog_stop();
	shm[SHM_RESULT] = ((add_fn)fn_at((void *)shm[ADD]))(1, 2);
	if (close_library() != 42)
		abort();
	prog_stop();
	open_library();
	/* Else it is no test of the place */
	if (shm[ADD] != before)
		abort();
	shm[SHM_RESULT] += ((add_fn)fn_at((void *)shm[ADD]))(3, 4);
	prog_stop();
}

/* dlclose(): the probe is gone, and is so when the library is back. */
static void check_dlclose(struct __test_metadata *_metadata, int dev,
			  int (*probe)(int dev, pid_t pid, const void *addr))
{
	pid_t pid = start_prog(library_comes_and_goes);
	struct list_line line;
	void *fn;
	int id;

	/* Before the library is there, and not in its place then */
	ASSERT_EQ(0, init_returns(dev, pid, NULL));
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	fn = (void *)shm[ADD];
	id = probe(dev, pid, fn);
	ASSERT_LE(0, id);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(dev, id));
	ASSERT_TRUE(list_find(pid, fn, &line));
	EXPECT_TRUE(line.gone);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(3 + 7, shm[SHM_RESULT]);
	EXPECT_EQ(1, hits(dev, id));
	unprobe(dev, id);
	EXPECT_FALSE(list_find(pid, fn, &line));
	EXPECT_TRUE(exited(run_prog(pid), 0));
}

/* An entry probe. */
TEST_F(uprobes, dlclose)
{
	check_dlclose(_metadata, self->dev, probe);
}

/* A return probe. */
TEST_F(uprobes, dlclose_ret)
{
	check_dlclose(_metadata, self->dev, probe_ret);
}

/* A probe of the library's file is there as often as the library is. */
TEST_F(uprobes, dlopen_of_probed_file)
{
	pid_t pid = start_prog(library_comes_and_goes);
	int files = upt_open(UPI_MODULE);
	int fd = open("libgone" ABI ".so", O_RDONLY | O_CLOEXEC), id;

	ASSERT_LE(0, files);
	open_library();
	id = probe_file(files, fd, file_offset((void *)shm[ADD]));
	ASSERT_LE(0, id);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(0, file_hits(files, id));
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(3, shm[SHM_RESULT]);
	EXPECT_EQ(1, file_hits(files, id));
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(3 + 7, shm[SHM_RESULT]);
	EXPECT_EQ(2, file_hits(files, id));
	close(files);
	EXPECT_TRUE(exited(run_prog(pid), 0));
}

static void close_in_call(void)
{
	open_library();
	prog_stop();
	shm[SHM_RESULT] = ((call_fn)fn_at((void *)shm[CALL]))(close_library);
	prog_stop();
	open_library();
	shm[SHM_RESULT] += ((add_fn)fn_at((void *)shm[ADD]))(1, 2);
}

/* dlclose() inside of a call of the library: it returns all the same. */
TEST_F(uprobes, dlclose_in_call)
{
	pid_t pid = start_prog(close_in_call);
	int id;

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	id = probe_ret(self->dev, pid, (void *)shm[CALL]);
	ASSERT_LE(0, id);
	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	EXPECT_EQ(42, shm[SHM_RESULT]);
	EXPECT_EQ(1, entries(self->dev, id));
	EXPECT_EQ(1, hits(self->dev, id) + missed(self->dev, id));
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(42 + 3, shm[SHM_RESULT]);
	EXPECT_EQ(1, entries(self->dev, id));
}

#define NROUNDS		200

static void allocate(void)
{
	char *p[8], text[32];
	int i, n;

	prog_stop();
	for (i = 0; i < NROUNDS; i++) {
		for (n = 0; n < 8; n++) {
			p[n] = malloc(1000 * n + i + 1);
			memset(p[n], n, 1000 * n + i + 1);
		}
		snprintf(text, sizeof(text), "%d", i);
		if (strtol(text, NULL, 10) != i)
			shm[SHM_BAD]++;
		for (n = 0; n < 8; n++) {
			if (p[n][1000 * n + i] != n)
				shm[SHM_BAD]++;
			free(p[n]);
		}
	}
}

/* Functions of the C library that everything uses. */
TEST_F(uprobes, libc_functions)
{
	static const char * const names[] = {
		"malloc", "free", "strtol", "snprintf"
	};
	pid_t pid = start_prog(allocate);
	struct upt_state state;
	int ids[4], i;

	ASSERT_TRUE(WIFSTOPPED(run_prog(pid)));
	for (i = 0; i < 4; i++) {
		ids[i] = probe_ret(self->dev, pid,
				   dlsym(RTLD_DEFAULT, names[i]));
		ASSERT_LE(0, ids[i])
			TH_LOG("%s", names[i]);
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
	EXPECT_EQ(0, shm[SHM_BAD]);
	for (i = 0; i < 4; i++) {
		state = upt_read(self->dev, ids[i]);
		EXPECT_LE(i < 2 ? 8 * NROUNDS : NROUNDS, state.entries);
		EXPECT_EQ(state.entries, state.hits);
		EXPECT_EQ(0, state.nmissed);
		EXPECT_EQ(0, state.errors);
	}
}
