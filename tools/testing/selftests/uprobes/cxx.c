// SPDX-License-Identifier: GPL-2.0-only
/* Exceptions of C++ over return-probed frames: see throw.cc. */
#include <dlfcn.h>
#include <pthread.h>

#include "calls.h"
#include "fixture.h"
#include "throw.h"

#define ROUNDS	5

/* Over 1 to 3 frames, and then returns through the same ones, each time. */
static void throw_and_return(void)
{
	int n, round;

	for (round = 1; round <= ROUNDS; round++) {
		for (n = 1; n <= NFRAMES; n++) {
			destroyed = 0;
			if (catch_over(n, round) != 100 + round ||
			    destroyed != n)
				shm[SHM_BAD]++;
			if (catch_over(n, 0) != n || destroyed != 2 * n)
				shm[SHM_BAD]++;
			if (catcher(n, round) != 101 + round ||
			    catcher(n, 0) != n + 1)
				shm[SHM_BAD]++;
		}
	}
	prog_stop();
}

/* So often each frame was entered: twice each time, once for a throw. */
static long calls_of(int frame)
{
	return 4L * ROUNDS * (NFRAMES - frame);
}

static void check_throws(struct __test_metadata *_metadata, int dev,
			 bool probe_catchers)
{
	pid_t pid = start_prog(throw_and_return);
	int ids[NFRAMES], over = -1, outside = -1, i, status;
	long calls;

	for (i = 0; i < NFRAMES; i++) {
		ids[i] = probe_ret(dev, pid, frames[i]);
		ASSERT_LE(0, ids[i]);
	}
	if (probe_catchers) {
		over = probe_ret(dev, pid, catch_over);
		outside = probe_ret(dev, pid, catcher);
		ASSERT_LE(0, over);
		ASSERT_LE(0, outside);
	}
	status = run_prog(pid);
	ASSERT_TRUE(WIFSTOPPED(status))
		TH_LOG("status %x", status);
	EXPECT_EQ(0, shm[SHM_BAD]);
	for (i = 0; i < NFRAMES; i++) {
		calls = calls_of(i);
		EXPECT_TRUE(is_balance(dev, ids[i], calls, calls / 2,
				       calls / 2));
	}
	if (probe_catchers) {
		calls = 4L * ROUNDS * NFRAMES;
		EXPECT_TRUE(is_balance(dev, over, calls, calls, 0));
		calls = 2L * ROUNDS * NFRAMES;
		EXPECT_TRUE(is_balance(dev, outside, calls, calls, 0));
	}
	EXPECT_TRUE(exited(run_prog(pid), 0));
}

/* Thrown over one to three frames, and caught by a function that is not probed. */
TEST_F(uprobes, caught_unprobed)
{
	check_throws(_metadata, self->dev, false);
}

/* Caught by a function that is probed, in another one that is. */
TEST_F(uprobes, caught_probed)
{
	check_throws(_metadata, self->dev, true);
}

/* Few enough for the engine to follow them all. */
#define DEPTH	200

static void *throw_far(void *arg)
{
	long n;

	for (n = 1; n < DEPTH; n += 33) {
		destroyed = 0;
		if (catch_deep(n, n) != 100 + n || destroyed != n + 1 ||
		    catch_deep(n, 0) != n)
			__atomic_fetch_add(&shm[SHM_BAD], 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&shm[SHM_GOOD], n + 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void throw_far_once(void)
{
	throw_far(NULL);
}

static void threads_throw_far(void)
{
	run_threads(throw_far, 4);
}

/* So many frames are left as return. */
static void check_throws_far(struct __test_metadata *_metadata, int dev,
			     void (*body)(void))
{
	pid_t pid = start_prog(body);
	int id = probe_ret(dev, pid, throw_deep), status;

	ASSERT_LE(0, id);
	status = run_prog(pid);
	EXPECT_TRUE(exited(status, 0))
		TH_LOG("status %x", status);
	EXPECT_LT(0, shm[SHM_GOOD]);
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_TRUE(is_balance(dev, id, 2 * shm[SHM_GOOD], shm[SHM_GOOD],
			       shm[SHM_GOOD]));
}

/* Thrown over up to 200 frames of one function. */
TEST_F(uprobes, thrown_far)
{
	check_throws_far(_metadata, self->dev, throw_far_once);
}

/* The same in four threads at a time. */
TEST_F(uprobes, threads_throw)
{
	check_throws_far(_metadata, self->dev, threads_throw_far);
}

#define CROWD		32

static pthread_barrier_t barrier;

static void wait_for_all(void)
{
	pthread_barrier_wait(&barrier);
}

static void *throw_with_all(void *arg)
{
	destroyed = 0;
	if (catch_deep(DEPTH, 1) != 101 || destroyed != DEPTH + 1)
		__atomic_fetch_add(&shm[SHM_BAD], 1, __ATOMIC_RELAXED);
	if (catch_deep(DEPTH, 0) != DEPTH)
		__atomic_fetch_add(&shm[SHM_BAD], 1, __ATOMIC_RELAXED);
	return NULL;
}

static void all_throw(void)
{
	pthread_barrier_init(&barrier, NULL, CROWD);
	before_throw = wait_for_all;
	run_threads(throw_with_all, CROWD);
}

/*
 * 6432 calls are in progress when all threads throw, and as many when all
 * return: however many the engine can follow, no exception is lost.
 */
TEST_F(uprobes, crowd_throws)
{
	const long calls = 2L * CROWD * (DEPTH + 1);
	pid_t pid = start_prog(all_throw);
	int id = probe_ret(self->dev, pid, throw_deep), status;

	ASSERT_LE(0, id);
	status = run_prog(pid);
	EXPECT_TRUE(exited(status, 0))
		TH_LOG("status %x", status);
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_EQ(calls, entries(self->dev, id));
	EXPECT_EQ(calls, hits(self->dev, id) + missed(self->dev, id));
	EXPECT_LE(calls / 2, missed(self->dev, id));
	TH_LOG("%ld returns of %ld", hits(self->dev, id), calls / 2);
}

#ifdef DYNAMIC
static void throw_from_library(void)
{
	int round;

	for (round = 1; round <= ROUNDS; round++) {
		if (catcher(NFRAMES, round) != 101 + round)
			shm[SHM_BAD]++;
	}
}

/*
 * The function that throws, of the C++ library, is probed. It never returns, but
 * from there on its caller's registers are wanted, where calls of other libraries
 * need not keep all of them.
 */
TEST_F(uprobes, library_throws)
{
	void *throws = dlsym(RTLD_DEFAULT, "__cxa_throw");
	pid_t pid = start_prog(throw_from_library);
	int id, status;

	ASSERT_TRUE(!!throws);
	id = probe_ret(self->dev, pid, throws);
	ASSERT_LE(0, id);
	status = run_prog(pid);
	EXPECT_TRUE(exited(status, 0))
		TH_LOG("status %x", status);
	EXPECT_EQ(0, shm[SHM_BAD]);
	EXPECT_TRUE(is_balance(self->dev, id, ROUNDS, 0, ROUNDS));
}
#endif
