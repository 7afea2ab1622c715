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
#include <linux/workqueue.h>

/*
 * The breakpoint in memory. Some architectures have the type of an opcode as
 * wide as their longest, for a breakpoint that is as short as their shortest.
 */
typedef typeof(__builtin_choose_expr(UPROBE_SWBP_INSN_SIZE == 2, (u16)0,
				     (uprobe_opcode_t)0)) uprobe_swbp_t;
static_assert(sizeof(uprobe_swbp_t) == UPROBE_SWBP_INSN_SIZE);

struct call_bucket;
struct unwind_table;
struct xol_area;

/**
 * struct uprobes_mm - a probed address space
 *
 * Made at the first registration in it and kept until it dies, with or without
 * probes, so whoever runs in the address space may use it without a reference.
 *
 * @refs: one for @mm, one for each probepoint, one for each site
 * @srcu: read-held while handlers run, and while a hit uses a probepoint that
 *	it found. One for each address space, so that a handler which sleeps in
 *	one delays removal in no other
 * @mutex: serialises registration and removal in this address space
 * @mm: under @mutex; NULL once the address space is dying
 * @points: under @mutex; all probepoints that have probes
 * @lock: protects @tasks, and serialises changes of @table and @index. To
 *	insert there, @mutex and the mmap_lock for writing are held as well; to
 *	remove, @lock is enough
 * @table: the armed probepoints by address. Looked up under RCU
 * @index: the same in the order of their addresses, under @lock
 * @areas: the areas for copies. Added to with @mutex and the mmap_lock for
 *	writing held, so that either of the two keeps it stable
 * @trampoline: where return-probed functions return to, 0 until one is needed.
 *	Changed under @mutex, read by hits
 * @tramp_lives: false when the program unmapped it. Set under @mutex, cleared
 *	under @lock, read by hits
 * @tramp_point: the probepoint there, if init_uretprobes() was told an address,
 *	else NULL. The same as @trampoline
 * @unwind: where the program looks up return addresses, NULL if it cannot. Set
 *	once under @mutex and before @trampoline, read by hits
 * @tasks: threads that have hit, or may have calls in progress
 * @calls: buckets of the calls in progress, by slot. Made with the first
 *	trampoline and before it
 * @orphans: calls in progress that are in no thread's list, the oldest first,
 *	under @lock. A limited number
 * @nr_orphans: how many
 * @sems: semaphores that were incremented: struct inode_site. Added to and taken
 *	from with @lock and the mmap_lock for writing held, but for memory that is
 *	unmapped: there @lock is enough
 * @cover: looks for what inode probes have lost through others than the threads
 *	of this address space; holds a reference while it is queued
 * @rcu: delays the free for uprobe_zap() and uprobe_task_ip()
 */
struct uprobes_mm {
	refcount_t refs;
	struct srcu_struct srcu;
	struct mutex mutex; /* registration and removal */
	struct mm_struct *mm;
	struct list_head points;
	spinlock_t lock; /* changes of table and index; tasks, orphans */
	struct rhashtable table;
	struct rb_root index;
	struct list_head areas;
	unsigned long trampoline;
	bool tramp_lives;
	struct probepoint *tramp_point;
	struct unwind_table *unwind;
	struct list_head tasks;
	struct call_bucket *calls;
	struct list_head orphans;
	unsigned int nr_orphans;
	struct list_head sems;
	struct work_struct cover;
	struct rcu_head rcu;
};

/**
 * struct probepoint - an address with a breakpoint of ours
 *
 * Lives while it has a probe, and then until each thread that found it is done
 * with it: its first reference is dropped a grace period after the last probe
 * was unlinked, the others when a thread has executed the copy. That which
 * init_uretprobes() makes lives as long as the address space.
 *
 * @refs: see above
 * @hash: in @umm->table, unless @gone
 * @rb: in @umm->index, unless @gone
 * @node: in @umm->points
 * @umm: the address space, with a reference on it
 * @vaddr: the address; immutable
 * @area: where the copy stands, NULL if there is none; immutable
 * @xol_vaddr: the address of the copy in the process; immutable
 * @sites: struct probe_site, in the order of registration. Read under SRCU,
 *	changed under @umm->mutex
 * @gone: under @umm->lock; what was at @vaddr went away or was changed by the
 *	program, so that there is no breakpoint any more, nor will there be one
 * @debugger: under @umm->lock; a debugger has its own breakpoint at @vaddr. The
 *	text there is the same for both
 * @by_inode: an inode probe is, or was, set here. Set under @umm->mutex, read
 *	under @umm->lock as well; never cleared
 * @mutable: the instruction may have been changed behind its first word. Set
 *	before the breakpoint is written, or under @umm->lock; never cleared
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
	struct list_head sites;
	bool gone;
	bool debugger;
	bool by_inode;
	bool mutable;
	struct arch_uprobe arch;
	struct rcu_head rcu;
};

/**
 * struct probe_site - a probe in one process
 * @node: in @point->sites
 * @link: in @probe->sites, under probes_mutex (sites_lock for an inode probe), or
 *	with who removes it
 * @probe: whose; immutable
 * @vaddr: the address; immutable
 * @umm: the address space, with a reference on it; immutable once registered
 * @tgid: the process whose threads are served; a reference; immutable. NULL for
 *	an inode probe, which serves whoever runs in the address space
 * @point: where; immutable once registered
 */
struct probe_site {
	struct list_head node;
	struct list_head link;
	struct probe *probe;
	unsigned long vaddr;
	struct uprobes_mm *umm;
	struct pid *tgid;
	struct probepoint *point;
};

/**
 * struct uprobe_op - a call of the API that a handler made
 * @node: in uprobe_task.ops, then with the thread that carries it out; under
 *	probes_mutex
 * @run: in the list of those that are being carried out; under probes_mutex
 * @what: the call
 * @batch: what was registered by one call has the same number, not 0
 * @probe: the probe, with a reference. NULL for init_uretprobes()
 * @u: its object, to tell the callback. May not be valid behind that
 * @callback: @u->registration_callback
 * @result: what the callback is told
 * @runner: who carries it out
 */
struct uprobe_op {
	struct list_head node;
	struct list_head run;
	enum {
		UPROBE_OP_UNREGISTER,
		UPROBE_OP_REGISTER,
		UPROBE_OP_INIT,
	} what;
	unsigned int batch;
	struct probe *probe;
	struct uprobe *u;
	uprobe_callback_t callback;
	int result;
	struct task_struct *runner;
};

/**
 * struct probe - the engine's side of a struct uprobe that is in use
 *
 * Made for a registration, be it at once or deferred. Those members for which
 * nothing else is said are protected by probes_mutex.
 *
 * @refs: one for @u->probe, one for each of @ops that is queued or carried out
 * @all: in the list of all probes
 * @link: with who removes it
 * @u: the caller's object. It is valid until unregister_uprobe() returns, or,
 *	if that was deferred, until the callback is called. Immutable
 * @type: what @u is; immutable
 * @sites: where it is set: one for each process that it serves
 * @site: the first of them
 * @registered: set; there is a site
 * @busy: somebody is registering or removing it: nobody else may
 * @forks: how many are making a site of it for a child: it is not removed
 * @dead: being removed. Written before the grace period of the removal starts,
 *	read under SRCU: no handler is called
 * @disabled: no handler runs
 * @inherit: forks make a site of it for the child. Cleared by who waits to
 *	remove it, so that forks come to an end
 * @maxactive: uretprobe.maxactive; immutable
 * @data_size: uretprobe.data_size; immutable
 * @active: instances, counted only if there is a limit; atomic
 * @inode: the file that an inode probe is set in, else NULL; immutable
 * @offset: where in that file; immutable
 * @returns: it observes returns, and needs a trampoline. Set once under the mutex
 *	of the inode probe; immutable for others
 * @hits: how often the handler ran, a counter for each CPU so that threads
 *	which hit at the same time share no cache line
 * @ops: its deferred registration and removal, by what they do: a part of it,
 *	so that a removal can always be deferred
 */
struct probe {
	refcount_t refs;
	struct list_head all;
	struct list_head link;
	struct uprobe *u;
	enum uprobe_type type;
	struct list_head sites;
	struct probe_site site;
	bool registered;
	bool busy;
	unsigned int forks;
	bool dead;
	bool disabled;
	bool inherit;
	int maxactive;
	size_t data_size;
	atomic_t active;
	struct inode *inode;
	loff_t offset;
	bool returns;
	unsigned long __percpu *hits;
	struct uprobe_op ops[2];
};

static inline struct uprobes_mm *umm_of(struct mm_struct *mm)
{
	return READ_ONCE(mm->uprobes_state.xol_area);
}

/*
 * Where @size bytes at @addr meet @item_size bytes at @item: from @at of those
 * and from @from of these. Returns how many bytes they share.
 */
static inline int uprobe_overlap(unsigned long addr, int size,
				 unsigned long item, int item_size, int *at,
				 int *from)
{
	unsigned long start = max(addr, item);
	unsigned long end = min(addr + size, item + item_size);

	if (start >= end)
		return 0;
	*at = start - addr;
	*from = start - item;
	return end - start;
}

/* uprobes.c: probepoints, hits, the life of a process */
extern bool uprobes_enabled;
struct uprobes_mm *uprobe_make_umm(struct mm_struct *mm);
void uprobe_put_umm(struct uprobes_mm *umm);
struct probepoint *uprobe_make_point(struct uprobes_mm *umm,
				     struct probe *probe, unsigned long vaddr,
				     struct list_head *points);
void uprobe_put_points(struct list_head *points);
int uprobe_arm_site(struct probe_site *site, struct mm_struct *mm);
void uprobe_disarm_site(struct probe_site *site, struct list_head *points);
void uprobe_wait_for_hits(struct uprobes_mm *umm);
struct mm_struct *uprobe_get_mm(struct uprobes_mm *umm);
struct uprobe_task *uprobe_make_task(struct task_struct *t,
				     struct uprobes_mm *umm);

/* uprobes_register.c: registration and removal, at once and deferred */
int uprobe_init_probe(struct probe *probe, struct uprobe *u,
		      enum uprobe_type type);
void uprobe_release_sites(struct list_head *sites, struct list_head *points);
unsigned long uprobe_count_hits(struct probe *probe);
void uprobe_forget_site(struct probe_site *site);
void uprobe_run_ops(struct uprobe_task *utask);
void uprobe_count_missed(struct probe *probe);
void uprobe_inherit(struct task_struct *child);

/* uprobes_inode.c: probes in a file, whoever maps it */
extern struct probe uprobe_inode_returns;
extern const struct file_operations uprobe_inodes_fops;
bool uprobe_inode_maps(struct mm_struct *mm, struct probe *probe,
		       unsigned long vaddr);
bool uprobe_inode_forget_site(struct probe_site *site);
void uprobe_inode_free_site(struct probe_site *site);
void uprobe_inode_cover(struct work_struct *work);
void uprobe_inode_lose(struct uprobes_mm *umm, unsigned long start,
		       unsigned long end);
bool uprobe_inode_lose_sems(struct uprobes_mm *umm, unsigned long start,
			    unsigned long end);
bool uprobe_inode_drop_sems(struct uprobes_mm *umm, unsigned long start,
			    unsigned long end);
void uprobe_inode_count_missed(struct uretprobe_instance *instance);
unsigned long *uprobe_inode_sems(struct uprobes_mm *umm, unsigned int *nr);
int uprobe_sem_add(struct mm_struct *mm, unsigned long vaddr, int n);
bool uprobe_inode_cover_later(unsigned long start, unsigned long end,
			      gfp_t gfp);
void uprobe_inode_fork(struct mm_struct *mm);

/* uprobes_text.c: the text of another address space */
int uprobe_text_check(struct mm_struct *mm, unsigned long vaddr);
bool uprobe_text_mutable(struct mm_struct *mm, unsigned long vaddr);
int uprobe_text_read(struct mm_struct *mm, unsigned long vaddr, u8 *buf,
		     size_t len);
void uprobe_text_own(struct mm_struct *mm, unsigned long vaddr);
int uprobe_text_swap(struct mm_struct *mm, unsigned long vaddr,
		     uprobe_swbp_t old, uprobe_swbp_t new);
unsigned long uprobe_word_get(const void *mem, unsigned int size);
bool uprobe_word_swap(struct mm_struct *mm, unsigned long vaddr,
		      unsigned int size, unsigned long old, unsigned long new);
void uprobe_text_share(struct mm_struct *mm, unsigned long vaddr);

/* uprobes_xol.c: copies of instructions in the probed process */
int uprobe_xol_get(struct probepoint *point);
void uprobe_xol_put(struct probepoint *point);
bool uprobe_xol_is_dead(struct probepoint *point);
bool uprobe_xol_contains(struct uprobes_mm *umm, unsigned long vaddr);
int uprobe_xol_add_trampoline(struct uprobes_mm *umm, unsigned long *vaddr);
int uprobe_xol_copy_trampoline(struct uprobes_mm *umm, struct uprobes_mm *child,
			       unsigned long vaddr);
bool uprobe_xol_add_unwind(struct uprobes_mm *umm, unsigned long slot,
			   unsigned long addr, unsigned int *nr);
void uprobe_xol_del_unwind(struct uprobes_mm *umm, unsigned int nr);
void uprobe_xol_free(struct uprobes_mm *umm);

/**
 * struct uretprobe_slot - a call in progress, for who has a copy of its memory
 * @stack: the stack pointer at entry
 * @slot: the word where the return address belongs, 0 if that is unknown
 * @addr: the return address
 * @elusive: it may be in another place
 * @followed: a consumer of a file wants to know of the return in a child as well
 */
struct uretprobe_slot {
	unsigned long stack;
	unsigned long slot;
	unsigned long addr;
	bool elusive;
	bool followed;
};

/* uretprobes.c: calls in progress */
int uretprobe_need_trampoline(struct uprobes_mm *umm);
int uretprobe_init(struct mm_struct *mm, unsigned long vaddr);
struct uretprobe_instance *uretprobe_enter(struct probe *probe,
					   struct pt_regs *regs);
void uretprobe_hijack(struct pt_regs *regs);
bool uretprobe_return(struct pt_regs *regs);
bool uretprobe_is_trampoline(struct uprobes_mm *umm, unsigned long vaddr);
bool uretprobe_find_return(struct uprobes_mm *umm, struct pt_regs *regs,
			   unsigned long *addr);
void uretprobe_find_link(struct uprobe_task *utask, unsigned long sp,
			 unsigned long *addr);
void uretprobe_peek(struct uprobes_mm *umm, unsigned long addr,
		    const void *mem, void *buf, int len);
void uretprobe_poke(struct uprobes_mm *umm, unsigned long addr,
		    const void *mem, void *buf, int len);
void uretprobes_init(void);
void uretprobe_purge(struct uprobes_mm *umm);
void uretprobe_end_thread(struct uprobe_task *utask);
void uretprobe_copy(struct task_struct *child);
void uretprobe_copy_link(struct task_struct *child);
struct uretprobe_slot *uretprobe_collect(struct uprobes_mm *umm,
					 unsigned int *nr);
bool uretprobe_clean(struct uprobes_mm *umm, struct mm_struct *mm,
		     struct uretprobe_slot *slots, unsigned int nr);
bool uretprobe_give_up(struct uprobes_mm *umm, struct mm_struct *mm);
bool uretprobe_inherit(struct uprobes_mm *umm, struct mm_struct *mm,
		       struct uretprobe_slot *slots, unsigned int nr);
void uretprobe_adopt(struct task_struct *child);
void uretprobe_free_calls(struct uprobes_mm *umm);

#endif /* _KERNEL_UPROBES_H */
