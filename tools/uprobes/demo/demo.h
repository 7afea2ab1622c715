/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The three functions that the demo probes, one per origin of code. Each
 * returns its argument plus one.
 */
#ifndef DEMO_H
#define DEMO_H

typedef long (*demo_fn)(long);

long demo_program(long n);	/* the program's own, in demo.c */
long demo_library(long n);	/* in libdemo.so */
demo_fn generate(const void **at);	/* new code; exits on failure */

#endif /* DEMO_H */
