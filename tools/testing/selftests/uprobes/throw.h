/* SPDX-License-Identifier: GPL-2.0-only */
/* The C++ part of cxx.c. */
#ifndef _THROW_H
#define _THROW_H

#ifdef __cplusplus
extern "C" {
#endif

#define NFRAMES		3

extern long (* const frames[NFRAMES])(long value);

/*
 * Calls frames[n - 1], which calls frames[n - 2], and so on; frames[0] throws
 * value if that is not 0, else it returns 0. Each adds 1 to a result. Returns
 * value + 100 when it has caught it, else the result.
 */
long catch_over(int n, long value);

/* 1 more than catch_over(n, value). */
long catcher(int n, long value);

/* The same as catch_over() for a function that calls itself n times. */
long throw_deep(long n, long value);
long catch_deep(long n, long value);
extern void (*before_throw)(void);	/* called by the last one, if set */

/* Objects that were destroyed on the way, by this thread. */
extern __thread long destroyed;

#ifdef __cplusplus
}
#endif

#endif /* _THROW_H */
