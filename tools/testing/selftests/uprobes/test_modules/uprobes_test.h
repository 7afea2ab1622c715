/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a test can ask of /dev/uprobes_test, the module that calls the API.
 *
 * A request that was understood returns 0. What the API returned is in the
 * member result, so that no error of the API is mistaken for one of the
 * device. Objects, of both types, belong to the open file and are known by
 * their index in it, from 0. Closing the file unregisters and frees them, but
 * for the kept ones.
 */
#ifndef _UPROBES_TEST_H
#define _UPROBES_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Objects that one open file can hold; kept objects that a module can hold. */
#define UPT_MAX		16384
#define UPT_MAX_KEPT	16
/* Steps of one object; events that a file can remember; frames of UPT_WALK. */
#define UPT_MAX_STEPS	4
#define UPT_MAX_EVENTS	4096
#define UPT_MAX_FRAMES	12

enum upt_type {
	UPT_UPROBE,
	UPT_URETPROBE,
};

/* What a handler does, apart from counting. */
enum upt_kind {
	UPT_COUNT,
	UPT_SLOT,	/* the slot protocol, see struct upt_slot */
	UPT_SLEEP,	/* sleep for arg microseconds */
	UPT_SET_ARG,	/* first argument := arg */
	UPT_SET_SAVED,	/* a register that functions give back := arg */
	UPT_SET_RET,	/* return value := arg */
	UPT_SET_IP,	/* instruction pointer := arg */
	UPT_ADD_SP,	/* stack pointer += arg */
	UPT_RECORD,	/* remember registers, thread and order */
	UPT_SKIP,	/* an entry_handler returns non-zero */
	UPT_SIGNAL,	/* send signal arg to the thread */
	UPT_WALK,	/* remember the call chain; arg 1: at a function's entry */
	UPT_KPROBE,	/* register, hit and unregister a kprobe */

	/*
	 * Only in steps: calls of the API, for n objects from target on. Those
	 * of UPT_DO_INIT are for the process of target.
	 */
	UPT_DO_REGISTER,
	UPT_DO_UNREGISTER,
	UPT_DO_REGISTER_BATCH,
	UPT_DO_UNREGISTER_BATCH,
	UPT_DO_ENABLE,
	UPT_DO_DISABLE,
	UPT_DO_INIT,		/* init_uretprobes(pid, arg) */
	UPT_DO_UNREGISTER_NULL,	/* NULL by each function there is */
	UPT_DO_FREE,		/* free target, which is unregistered */
	UPT_KINDS
};

struct upt_probe {
	__s32 id;	/* out */
	__s32 result;	/* out */
	__s32 pid;
	__u32 type;	/* enum upt_type */
	__u64 vaddr;
	__u32 kind;	/* enum upt_kind: of the handler */
	__u32 flags;	/* UPROBE_FLAG_* */
	__u64 arg;
	__u32 keep;	/* stays when the file is closed, for ever */
	__u32 log;	/* what happens is remembered, see struct upt_event */
	/*
	 * Return probes. The entry_handler fills the data of each instance,
	 * and the handler complains if it finds anything else.
	 */
	__u32 entry;	/* there is an entry_handler */
	__u32 entry_kind;
	__u64 entry_arg;
	__u64 data_size;
	__s32 maxactive;
	__u32 pad;
};

/* When an object takes a step. */
enum upt_when {
	UPT_AT_ENTRY,		/* in the handler, or the entry_handler */
	UPT_AT_RETURN,		/* in the handler of a return probe */
	UPT_AT_REGISTERED,	/* in the callback of a registration, failed or not */
	UPT_AT_UNREGISTERED,
};

/* Adds a step to an object, before it is registered. Taken in this order. */
struct upt_step {
	__s32 id;
	__u32 when;	/* enum upt_when */
	__u32 kind;	/* enum upt_kind */
	__u32 nth;	/* only when the object is there for the nth time, or 0 */
	__u32 every;	/* only when that divides the first argument, or 0 */
	__s32 target;
	__s32 n;
	__u32 pad;
	__u64 arg;
};

struct upt_batch {
	__s32 first;	/* id of the first one; out when registering */
	__s32 n;
	__s32 result;	/* out */
	__s32 pid;
	__u64 vaddrs;	/* pointer to n times __u64 */
	__u64 pids;	/* pointer to n times __s32, or 0: all are of pid */
	__u32 kind;	/* enum upt_kind */
	__u32 type;	/* enum upt_type; return probes have an entry_handler */
};

/* An operation on one object that exists. */
struct upt_op {
	__s32 id;
	__s32 result;	/* out */
};

struct upt_state {
	__s32 id;
	__u32 flags;	/* of the object, now */
	__u64 hits;	/* of the handler */
	__u64 entries;	/* of the entry_handler that it did not skip */
	__u64 skipped;
	__u64 nmissed;
	__u64 errors;	/* complaints: of UPT_SLOT, of an instance's contents */
	/* Callbacks, with what they said last. */
	__u64 callbacks;
	__u64 failed;	/* those with a result other than 0 */
	__s32 last_reg;
	__s32 last_result;
	/* Calls of the steps UPT_DO_* that return something. */
	__u64 calls;
	__u64 deferred;	/* those that returned -EINPROGRESS */
	__s32 last_call;
	__u32 freed;
	/* What UPT_RECORD saw last. */
	__u64 order;	/* grows with every record of the module */
	__u64 ip;
	__u64 sp;
	__u64 rflags;
	__u64 arg;
	__u64 value;	/* the return value */
	__u64 ret_addr;	/* of the instance */
	__u64 ret_sp;	/* of the instance */
	__s32 tid;
	__s32 tgid;
	/* What UPT_WALK saw last, and what uprobe_real_addr() made of it. */
	__u32 nframes;
	__u32 pad;
	__u64 raw_frames[UPT_MAX_FRAMES];
	__u64 frames[UPT_MAX_FRAMES];
};

/* What happened to the objects of a file that log, in that order. */
enum upt_event_type {
	UPT_EV_ENTRY,	/* value is the first argument */
	UPT_EV_RETURN,	/* value is the return value */
	UPT_EV_CALL,	/* a step of kind value was taken; result */
	UPT_EV_CALLBACK,	/* value is reg; result */
};

struct upt_event {
	__u32 type;	/* enum upt_event_type */
	__s32 id;	/* of UPT_EV_CALL: the target */
	__s32 tid;
	__s32 result;
	__u64 value;
};

struct upt_events {
	__u64 events;	/* pointer to UPT_MAX_EVENTS times struct upt_event */
	__u32 n;	/* out; how many happened, even if there is no room */
	__u32 pad;
};

/* Calls that need no object, or a bad one. */
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
	/* The same for return probes. */
	UPT_CALL_RET_REGISTER_NULL,
	UPT_CALL_RET_REGISTER_NO_HANDLER,
	UPT_CALL_RET_UNREGISTER_NULL,
	UPT_CALL_RET_UNREGISTER_FRESH,
	UPT_CALL_RET_BATCH_NULL,
	UPT_CALL_RET_BATCH_EMPTY,
	UPT_CALL_RET_BATCH_NEGATIVE,
	UPT_CALL_RET_BATCH_NULL_MEMBER,
	UPT_CALL_RET_BATCH_TWICE,
	UPT_CALL_RET_UNREGISTER_BATCH_EMPTY,
	UPT_CALL_RET_ENABLE_NULL,
	UPT_CALL_RET_ENABLE_FRESH,
	UPT_CALL_RET_DISABLE_NULL,
	UPT_CALL_RET_DISABLE_FRESH,
	/* init_uretprobes(pid, vaddr) */
	UPT_CALL_INIT,
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
/* An object that is not registered: for UPT_REGISTER_AGAIN, or for a step. */
#define UPT_ADD			_IOWR('u', 11, struct upt_probe)
#define UPT_STEP		_IOW('u', 12, struct upt_step)
#define UPT_EVENTS		_IOWR('u', 13, struct upt_events)
/* Another pid and vaddr for an object that is not registered. */
#define UPT_MOVE		_IOWR('u', 14, struct upt_probe)

#endif /* _UPROBES_TEST_H */
