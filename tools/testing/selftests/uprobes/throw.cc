// SPDX-License-Identifier: GPL-2.0-only
#include "throw.h"

__thread long destroyed;
void (*before_throw)(void);

namespace {

/* Something to clean up in each frame that an exception leaves. */
struct guard {
	~guard() { destroyed++; }
};

__attribute__((__noipa__)) long frame_1(long value)
{
	guard g;

	if (value)
		throw value;
	return 1;
}

__attribute__((__noipa__)) long frame_2(long value)
{
	guard g;

	return frame_1(value) + 1;
}

__attribute__((__noipa__)) long frame_3(long value)
{
	guard g;

	return frame_2(value) + 1;
}

} /* namespace */

long (* const frames[NFRAMES])(long value) = { frame_1, frame_2, frame_3 };

__attribute__((__noipa__)) long catch_over(int n, long value)
{
	try {
		return frames[n - 1](value);
	} catch (long caught) {
		return caught + 100;
	}
}

__attribute__((__noipa__)) long catcher(int n, long value)
{
	return catch_over(n, value) + 1;
}

__attribute__((__noipa__)) long throw_deep(long n, long value)
{
	guard g;

	if (n)
		return throw_deep(n - 1, value) + 1;
	if (before_throw)
		before_throw();
	if (value)
		throw value;
	return 0;
}

__attribute__((__noipa__)) long catch_deep(long n, long value)
{
	try {
		return throw_deep(n, value);
	} catch (long caught) {
		return caught + 100;
	}
}
