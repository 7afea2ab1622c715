/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_UPROBES_H
#define _KERNEL_UPROBES_H
/*
 * What the files of the user-space probe engine share. The opening comment of
 * uprobes.c tells how it all hangs together and in which order locks nest.
 */

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/uprobes.h>

struct xol_area;

/**
 * struct uprobes_mm - a probed address space
 *
 * Made at the first registration in it and kept until it dies, with or without
 * probes, so whoever runs in the address space may use it without a reference.
 *
 * @refs: one for @mm, one for each probepoint, one for each probe
 * @srcu: read-held while handlers run, and while a hit uses a probepoint that
 *	it found. One for each address space, so that a handler which sleeps in
 *	one delays removal in no other
 * @mutex: serialises registration and removal in this address space
 * @mm: under @mutex; NULL once the address space is dying
 * @points: under @mutex; all probepoints that have probes
 * @lock: serialises changes of @table and @index. To insert, @mutex and the
 *	mmap_lock for writing are held as well; to remove, @lock is enough
 * @table: the armed probepoints by address. Looked up under RCU
 * @index: the same in the order of their addresses, under @lock
 * @areas: the areas for copies. Added to with @mutex and the mmap_lock for
 *	writing held, so that either of the two keeps it stable
 * @rcu: delays the free for uprobe_zap()
 */
struct uprobes_mm {
	refcount_t refs;
	struct srcu_struct srcu;
	struct mutex mutex; /* registration and removal */
	struct mm_struct *mm;
	struct list_head points;
	spinlock_t lock; /* changes of table and index */
	struct rhashtable table;
	struct rb_root index;
	struct list_head areas;
	struct rcu_head rcu;
};

/**
 * struct probepoint - an address with a breakpoint of ours
 *
 * Lives while it has a probe, and then until each thread that found it is done
 * with it: its first reference is dropped a grace period after the last probe
 * was unlinked, the others when a thread has executed the copy.
 *
 * @refs: see above
 * @hash: in @umm->table, unless @gone
 * @rb: in @umm->index, unless @gone
 * @node: in @umm->points
 * @umm: the address space, with a reference on it
 * @vaddr: the address; immutable
 * @area: where the copy stands, NULL if there is none; immutable
 * @xol_vaddr: the address of the copy in the process; immutable
 * @probes: struct probe, in the order of registration. Read under SRCU,
 *	changed under @umm->mutex
 * @gone: under @umm->lock; what was at @vaddr went away or was changed by the
 *	program, so that there is no breakpoint any more, nor will there be one
 * @mutable: the program may change the instruction; immutable
 * @arch: the instruction and how to execute it; immutable
 * @rcu: delays the free for lookups in @umm->table
 */
struct probepoint {
	refcount_t refs;
	struct rhash_head hash;
	struct rb_node rb;
	struct list_head node;
	struct uprobes_mm *umm;
	unsigned long vaddr;
	struct xol_area *area;
	unsigned long xol_vaddr;
	struct list_head probes;
	bool gone;
	bool mutable;
	struct arch_uprobe arch;
	struct rcu_head rcu;
};

/**
 * struct probe - the engine's side of a registered struct uprobe
 *
 * @node: in @point->probes
 * @all: in the list of all probes, under probes_mutex
 * @u: the caller's object, which is valid until unregister_uprobe() returns
 * @umm: the address space, with a reference on it
 * @tgid: the process whose threads are served; a reference
 * @point: where; immutable while registered
 * @disabled: no handler runs; written under probes_mutex
 * @hits: how often the handler ran, a counter for each CPU so that threads
 *	which hit at the same time share no cache line
 */
struct probe {
	struct list_head node;
	struct list_head all;
	struct uprobe *u;
	struct uprobes_mm *umm;
	struct pid *tgid;
	struct probepoint *point;
	bool disabled;
	unsigned long __percpu *hits;
};

/* uprobes_text.c: the text of another address space */
int uprobe_text_check(struct mm_struct *mm, unsigned long vaddr);
bool uprobe_text_mutable(struct mm_struct *mm, unsigned long vaddr);
int uprobe_text_read(struct mm_struct *mm, unsigned long vaddr, u8 *buf,
		     size_t len);
int uprobe_text_swap(struct mm_struct *mm, unsigned long vaddr,
		     uprobe_opcode_t old, uprobe_opcode_t new);
void uprobe_text_share(struct mm_struct *mm, unsigned long vaddr);

/* uprobes_xol.c: copies of instructions in the probed process */
int uprobe_xol_get(struct probepoint *point);
void uprobe_xol_put(struct probepoint *point);
bool uprobe_xol_is_dead(struct probepoint *point);
bool uprobe_xol_contains(struct uprobes_mm *umm, unsigned long vaddr);
void uprobe_xol_free(struct uprobes_mm *umm);

#endif /* _KERNEL_UPROBES_H */
