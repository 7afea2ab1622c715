// SPDX-License-Identifier: GPL-2.0-only
/*
 * demo - the program that the demo probes
 *
 * At start it prints where the function is that it generated. Then it obeys
 * standard input: for each of "program", "library" and "generated", its
 * threads, all of them started before, call that function. It prints how often
 * they called it, and at the end of input the number of all calls.
 */

#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "demo.h"

#define THREADS	4
#define CALLS	5	/* of each thread, for each line of input */

static pthread_barrier_t start, done;
static demo_fn function;	/* what to call next, NULL: end */
static atomic_long calls;

long demo_program(long n)
{
	return n + 1;
}

static void *worker(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&start);
		if (!function)
			return arg;
		for (long n = 0; n < CALLS; n++) {
			if (function(n) != n + 1)
				errx(1, "wrong result");
			atomic_fetch_add(&calls, 1);
		}
		pthread_barrier_wait(&done);
	}
}

static void call_from_all_threads(demo_fn fn)
{
	long before = calls;

	function = fn;
	pthread_barrier_wait(&start);
	pthread_barrier_wait(&done);
	printf("%ld calls\n", calls - before);
}

int main(void)
{
	const void *code;
	demo_fn generated = generate(&code);
	pthread_t threads[THREADS];
	char line[32];

	setlinebuf(stdout);
	pthread_barrier_init(&start, NULL, THREADS + 1);
	pthread_barrier_init(&done, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, worker, NULL))
			errx(1, "cannot start a thread");

	printf("generated function at %p\n", code);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "program"))
			call_from_all_threads(demo_program);
		else if (!strcmp(line, "library"))
			call_from_all_threads(demo_library);
		else if (!strcmp(line, "generated"))
			call_from_all_threads(generated);
		else
			errx(1, "what is \"%s\"?", line);
	}

	function = NULL;
	pthread_barrier_wait(&start);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld calls in all\n", calls);
	return 0;
}
