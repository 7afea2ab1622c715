/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a test can ask of /dev/uprobes_test_inode, the module that probes files.
 *
 * As in uprobes_test.h: a request that was understood returns 0, and what the
 * API returned is in the member result. A consumer belongs to the open file and
 * is known by its index in it. Closing the file unregisters and frees them all.
 */
#ifndef _UPROBES_TEST_INODE_H
#define _UPROBES_TEST_INODE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Consumers that one open file can hold. */
#define UPI_MAX		1024

/* What there is of struct uprobe_consumer, in upi_probe.handlers. */
#define UPI_ENTRY	1
#define UPI_RETURN	2

/* What the handler does at entry, apart from counting. */
enum upi_kind {
	UPI_COUNT,
	UPI_SLEEP,	/* sleep for arg microseconds */
	UPI_SET_IP,	/* instruction pointer := arg */
	UPI_REMOVE,	/* return UPROBE_HANDLER_REMOVE */
};

/* For whom the filter says yes. */
enum upi_filter {
	UPI_NO_FILTER,	/* there is none. For ever: it cannot be changed */
	UPI_ALL,
	UPI_NOBODY,
	UPI_ONLY,	/* the process pid */
	UPI_ALL_BUT,
};

struct upi_whom {
	__u32 filter;	/* enum upi_filter */
	__s32 pid;
};

struct upi_probe {
	__s32 id;	/* out */
	__s32 result;	/* out */
	__s32 fd;	/* of the file to probe */
	__u32 handlers;
	__u64 offset;
	__u64 ref_ctr_offset;
	__u32 kind;	/* enum upi_kind */
	struct upi_whom whom;
	__u32 pad;
	__u64 arg;
};

/* Of n consumers from id on, unregistering all with one wait at the end. */
struct upi_op {
	__s32 id;
	__s32 n;
	__s32 result;	/* out */
};

/* Another answer of the filter, from now on; then perhaps uprobe_apply(). */
struct upi_change {
	__s32 id;
	__s32 result;	/* out */
	struct upi_whom whom;
	__u32 apply;
	__u32 add;	/* its argument */
};

struct upi_state {
	__s32 id;
	__s32 tid;	/* of the last hit or return */
	__u64 hits;
	__u64 foreign;	/* those in processes for which the filter says no */
	__u64 returns;
	/* As the last hit or return found them. */
	__u64 ip;
	__u64 func;
	__u64 value;	/* the return value */
};

#define UPI_REGISTER	_IOWR('i', 0, struct upi_probe)
#define UPI_AGAIN	_IOWR('i', 1, struct upi_op)
#define UPI_UNREGISTER	_IOWR('i', 2, struct upi_op)
#define UPI_CHANGE	_IOWR('i', 3, struct upi_change)
#define UPI_READ	_IOWR('i', 4, struct upi_state)

#endif /* _UPROBES_TEST_INODE_H */
