/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a test can ask of /dev/uprobes_test, the module that calls the API.
 *
 * A request that was understood returns 0. What the API returned is in the
 * member result, so that no error of the API is mistaken for one of the
 * device. Objects belong to the open file and are known by their index in it,
 * from 0. Closing the file unregisters and frees them, but for the kept ones.
 */
#ifndef _UPROBES_TEST_H
#define _UPROBES_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Objects that one open file can hold; kept objects that a module can hold. */
#define UPT_MAX		16384
#define UPT_MAX_KEPT	16

/* What the handler does, apart from counting. */
enum upt_kind {
	UPT_COUNT,
	UPT_SLOT,	/* the slot protocol, see struct upt_slot */
	UPT_SLEEP,	/* sleep for arg microseconds */
	UPT_SET_ARG,	/* first argument := arg */
	UPT_SET_RET,	/* return value := arg */
	UPT_SET_IP,	/* instruction pointer := arg */
	UPT_RECORD,	/* remember registers, thread and order */
	UPT_NEST,	/* make the call arg (enum upt_call) of the API */
	UPT_KINDS
};

/* struct upt_probe.keep: stays registered when the file is closed, for ever. */

struct upt_probe {
	__s32 id;	/* out */
	__s32 result;	/* out */
	__s32 pid;
	__u32 kind;	/* enum upt_kind */
	__u64 vaddr;
	__u64 arg;
	__u32 flags;	/* UPROBE_FLAG_* */
	__u32 keep;
};

struct upt_batch {
	__s32 first;	/* id of the first one; out when registering */
	__s32 n;
	__s32 result;	/* out */
	__s32 pid;
	__u64 vaddrs;	/* pointer to n times __u64 */
	__u64 pids;	/* pointer to n times __s32, or 0: all are of pid */
	__u32 kind;	/* enum upt_kind */
	__u32 pad;
};

/* An operation on one object that exists. */
struct upt_op {
	__s32 id;
	__s32 result;	/* out */
};

struct upt_state {
	__s32 id;
	__u32 flags;	/* of the object, now */
	__u64 hits;
	__u64 nmissed;
	__u64 callbacks;
	__u64 errors;	/* complaints of UPT_SLOT */
	/* What UPT_RECORD saw last. */
	__u64 order;	/* grows with every record of the module */
	__u64 ip;
	__u64 sp;
	__u64 rflags;
	__u64 arg;
	__s32 tid;
	/* What the call of UPT_NEST returned. */
	__s32 nested;
};

/* Calls that need no object, or a bad one; and those of the handler UPT_NEST. */
enum upt_call {
	UPT_CALL_REGISTER_NULL,
	UPT_CALL_REGISTER_NO_HANDLER,
	UPT_CALL_UNREGISTER_NULL,
	UPT_CALL_UNREGISTER_FRESH,
	UPT_CALL_BATCH_NULL,
	UPT_CALL_BATCH_EMPTY,
	UPT_CALL_BATCH_NEGATIVE,
	UPT_CALL_BATCH_NULL_MEMBER,
	UPT_CALL_BATCH_TWICE,
	UPT_CALL_UNREGISTER_BATCH_EMPTY,
	UPT_CALL_ENABLE_NULL,
	UPT_CALL_ENABLE_FRESH,
	UPT_CALL_DISABLE_NULL,
	UPT_CALL_DISABLE_FRESH,
	UPT_CALL_RET_REGISTER,
	UPT_CALL_RET_REGISTER_BATCH,
	UPT_CALL_RET_UNREGISTER,
	UPT_CALL_RET_ENABLE,
	UPT_CALL_RET_DISABLE,
	UPT_CALL_RET_INIT,
	/* UPT_NEST only: another object, the same one. */
	UPT_CALL_NEST_REGISTER,
	UPT_CALL_NEST_REGISTER_BATCH,
	UPT_CALL_NEST_UNREGISTER,
	UPT_CALL_NEST_ENABLE,	/* disables it first */
	UPT_CALL_NEST_DISABLE,
};

struct upt_misuse {
	__u32 call;	/* enum upt_call */
	__s32 result;	/* out; 0 for a void function */
	__s32 pid;
	__u32 pad;
	__u64 vaddr;
};

/*
 * Shared by a program and the handler. Both counts start at -1, and the
 * program passes the slot's address as the first argument of the probed
 * function.
 */
struct upt_slot {
	__s32 utid;	/* thread, as it knows itself */
	__s32 ktid;	/* thread, as the handler knows it */
	__s64 ucount;
	__s64 kcount;
};

#define UPT_REGISTER		_IOWR('u', 0, struct upt_probe)
#define UPT_REGISTER_AGAIN	_IOWR('u', 1, struct upt_op)
#define UPT_UNREGISTER		_IOWR('u', 2, struct upt_op)
#define UPT_ENABLE		_IOWR('u', 3, struct upt_op)
#define UPT_DISABLE		_IOWR('u', 4, struct upt_op)
#define UPT_READ		_IOWR('u', 5, struct upt_state)
#define UPT_REGISTER_BATCH	_IOWR('u', 6, struct upt_batch)
#define UPT_UNREGISTER_BATCH	_IOWR('u', 7, struct upt_batch)
#define UPT_MISUSE		_IOWR('u', 8, struct upt_misuse)
/* Unregister with SIGKILL pending for the caller. */
#define UPT_UNREGISTER_KILLED	_IOWR('u', 9, struct upt_op)
/* Hold the caller's mmap_lock for writing until it is killed. */
#define UPT_HOLD_MMAP_LOCK	_IO('u', 10)

#endif /* _UPROBES_TEST_H */
