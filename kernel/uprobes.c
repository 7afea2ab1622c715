// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space probes: run a handler in the kernel whenever a thread of one
 * process reaches one address.
 *
 * A probe (struct uprobe) is its caller's. For each one that is registered the
 * engine has a struct probe (uprobes_register.c), and for each process that it
 * serves a site of it. That hangs on the probepoint of its address: the
 * breakpoint, the analysed instruction and, where one is needed, a copy of it
 * in the process (uprobes_xol.c). The probepoints of an address space stand in
 * the table of its struct uprobes_mm.
 *
 * A hit:
 *
 *  1. The breakpoint traps. uprobe_pre_sstep_notifier() marks the thread.
 *  2. On the way back to user mode, where sleeping is allowed and before any
 *     signal is delivered, uprobe_notify_resume() looks the address up, sets
 *     the instruction pointer to it and calls the handlers of this process'
 *     probes in the order of their registration. A breakpoint that is not ours
 *     gives the SIGTRAP that it would have given without us, and so does one
 *     that a debugger has where ours is. At the trampoline, to which functions
 *     with return probes return, uretprobes.c takes over.
 *  3. What handlers have called of this API is carried out.
 *  4. The instruction is executed: emulated on the saved registers if the
 *     architecture can do that, else by one step through its copy. A signal
 *     that comes meanwhile waits for that one instruction, or finds the thread
 *     at the probed address if the CPU, too, would take it in the middle; a
 *     fault that the copy raises is moved there before it is seen.
 *  5. The trap behind the step (uprobe_post_sstep_notifier()) leads back to
 *     uprobe_notify_resume(), which hides where the instruction was executed. A
 *     system call is hidden at its entry (uprobe_syscall_enter()).
 *
 * How that keeps up with changes, without a lock in the way of a hit:
 *
 *  - Everything a hit finds is complete before the breakpoint is written.
 *  - A hit that finds no probepoint, where there is no breakpoint any more
 *    either, came late: it goes back and executes what is there now.
 *  - A hit that finds a probepoint whose instruction the program has changed,
 *    or whose copy it has unmapped, takes the breakpoint out, counts as missed
 *    and goes back as well: the program's bytes win.
 *  - A hit that finds one works on it inside an SRCU read section. The first
 *    reference of a probepoint is dropped a grace period after it was unlinked,
 *    so inside the section a reference can always be had, and it is for as long
 *    as the copy is executed. unregister_uprobe() waits for the same grace
 *    period: then no handler runs any more.
 *
 * The life of an address space:
 *
 *  - What is unmapped, zapped or moved away takes its probepoints along: they
 *    are "gone" and never armed again (uprobe_zap(), uprobe_mremap()).
 *  - fork() copies the breakpoints, and return addresses that we changed; both
 *    are undone in the child before it can be seen (uprobe_dup_mmap(),
 *    uprobe_end_dup_mmap()). A return address that cannot be found, or that a
 *    tracer of files follows, is left to a trampoline of the child's own. Then
 *    probes that it inherits are set in it, and those of files
 *    (uprobe_copy_process()).
 *  - When the last user of an address space is gone, by exec or exit, all of
 *    its probes are, and a later unregister finds nothing to do
 *    (uprobe_clear_state()).
 *
 * Lock order:
 *
 *	umm->mutex		registration and removal in an address space
 *	    mmap_lock		for writing whenever we change text, or add to
 *				the table
 *		bucket->lock	calls in progress by slot (uretprobes.c)
 *		    umm->lock	table and index of probepoints, threads
 *			utask->lock	the calls in progress of a thread
 *	    probes_mutex	uprobe.probe, the list of all probes, the queues
 *				of deferred calls
 *
 * Handlers and callbacks run with none of them held. A hit that is not as it
 * should be takes the mmap_lock inside its SRCU section, and a handler any lock
 * of its own; so nobody waits for a grace period with a lock held. Nobody does
 * inside a section either: that is why calls from handlers are deferred.
 */

#define pr_fmt(fmt) "uprobes: " fmt

#include <linux/kdebug.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/rseq.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "uprobes.h"

/* The file "enabled" in debugfs: off, no handler runs. */
bool uprobes_enabled = true;

/* Unfinished executions that a thread remembers: older ones run handlers anew. */
#define MAX_UNFINISHED	16

static struct kmem_cache *task_cache;
static struct kmem_cache *point_cache;

static const struct rhashtable_params table_params = {
	.head_offset = offsetof(struct probepoint, hash),
	.key_offset = offsetof(struct probepoint, vaddr),
	.key_len = sizeof_field(struct probepoint, vaddr),
	/* As many as there are at first: no worker runs for a few probes. */
	.min_size = 64,
	.automatic_shrinking = true,
};

/**
 * struct uprobe_dup - what a fork in progress copies, and must not
 * @mm: the child's address space, a reference
 * @slots: return addresses that were changed when it began
 * @nr_slots: their number
 * @sems: addresses of semaphores that were incremented
 * @nr_sems: their number
 * @nr: the number of breakpoints
 * @old: where they are, and what was there before
 */
struct uprobe_dup {
	struct mm_struct *mm;
	struct uretprobe_slot *slots;
	unsigned int nr_slots;
	unsigned long *sems;
	unsigned int nr_sems;
	unsigned int nr;
	struct {
		unsigned long vaddr;
		uprobe_swbp_t opcode;
	} old[] __counted_by(nr);
};

/**
 * struct uprobe_unfinished - an execution whose handlers have run, and that has
 *	not come to its end
 *
 * When the thread is there again with the same registers, it goes on with that
 * execution. Only the thread itself uses this.
 *
 * @node: in utask->unfinished
 * @point: the probepoint, a reference: its address is not another one's
 * @regs: as the thread left the instruction
 */
struct uprobe_unfinished {
	struct list_head node;
	struct probepoint *point;
	struct pt_regs regs;
};

/*
 * Address spaces and probepoints.
 */

static void free_umm(struct rcu_head *rcu)
{
	struct uprobes_mm *umm = container_of(rcu, struct uprobes_mm, rcu);

	uretprobe_free_calls(umm);
	kfree(umm);
}

/**
 * uprobe_put_umm() - drop a reference of an address space
 * @umm: the address space
 *
 * Context: sleeps, if it can be the last reference.
 */
void uprobe_put_umm(struct uprobes_mm *umm)
{
	if (!refcount_dec_and_test(&umm->refs))
		return;
	cleanup_srcu_struct(&umm->srcu);
	rhashtable_destroy(&umm->table);
	uprobe_xol_free(umm);
	call_rcu(&umm->rcu, free_umm);
}

/**
 * uprobe_make_umm() - the engine's part of an address space
 * @mm: the address space, which cannot die meanwhile
 *
 * Context: sleeps.
 *
 * Return: it, without a reference, or NULL when there is no memory.
 */
struct uprobes_mm *uprobe_make_umm(struct mm_struct *mm)
{
	struct uprobes_mm *umm = umm_of(mm), *old;

	if (umm)
		return umm;

	umm = kzalloc(sizeof(*umm), GFP_KERNEL);
	if (!umm)
		return NULL;
	if (init_srcu_struct(&umm->srcu))
		goto free;
	if (rhashtable_init(&umm->table, &table_params))
		goto cleanup_srcu;
	refcount_set(&umm->refs, 1);
	mutex_init(&umm->mutex);
	spin_lock_init(&umm->lock);
	umm->index = RB_ROOT;
	umm->mm = mm;
	INIT_LIST_HEAD(&umm->points);
	INIT_LIST_HEAD(&umm->areas);
	INIT_LIST_HEAD(&umm->tasks);
	INIT_LIST_HEAD(&umm->orphans);
	INIT_LIST_HEAD(&umm->sems);
	INIT_WORK(&umm->cover, uprobe_inode_cover);

	/* Full barrier; umm_of() depends on the pointer. */
	old = cmpxchg(&mm->uprobes_state.xol_area, NULL, umm);
	if (!old)
		return umm;
	uprobe_put_umm(umm);
	return old;

cleanup_srcu:
	cleanup_srcu_struct(&umm->srcu);
free:
	kfree(umm);
	return NULL;
}

static void put_point(struct probepoint *point)
{
	struct uprobes_mm *umm = point->umm;

	if (!refcount_dec_and_test(&point->refs))
		return;
	uprobe_xol_put(point);
	/* Lookups of the table may still look at the key. */
	kfree_rcu(point, rcu);
	uprobe_put_umm(umm);
}

/* Inside an SRCU section, or with a lock that keeps the probepoint. */
static struct probepoint *find_point(struct uprobes_mm *umm,
				     unsigned long vaddr)
{
	return rhashtable_lookup_fast(&umm->table, &vaddr, table_params);
}

static const u8 *insn_bytes(const struct probepoint *point)
{
	return (const u8 *)&point->arch.insn;
}

static uprobe_swbp_t old_opcode(const struct probepoint *point)
{
	return *(const uprobe_swbp_t *)insn_bytes(point);
}

/* What has to be there when our breakpoint is not. */
static uprobe_swbp_t foreign_opcode(const struct probepoint *point)
{
	return READ_ONCE(point->debugger) ? UPROBE_SWBP_INSN :
					    old_opcode(point);
}

static bool point_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct probepoint, rb)->vaddr <
	       rb_entry(b, struct probepoint, rb)->vaddr;
}

static int link_point(struct probepoint *point)
{
	struct uprobes_mm *umm = point->umm;
	int ret;

	mmap_assert_write_locked(umm->mm);

	spin_lock(&umm->lock);
	ret = rhashtable_insert_fast(&umm->table, &point->hash, table_params);
	if (!ret)
		rb_add(&point->rb, &umm->index, point_less);
	spin_unlock(&umm->lock);
	return ret ? -ENOMEM : 0;
}

static void unlink_point_locked(struct probepoint *point)
{
	struct uprobes_mm *umm = point->umm;

	lockdep_assert_held(&umm->lock);
	if (point->gone)
		return;
	WRITE_ONCE(point->gone, true);
	rhashtable_remove_fast(&umm->table, &point->hash, table_params);
	rb_erase(&point->rb, &umm->index);
}

static void unlink_point(struct probepoint *point)
{
	spin_lock(&point->umm->lock);
	unlink_point_locked(point);
	spin_unlock(&point->umm->lock);
}

/* The first armed probepoint in [start, end). */
static struct probepoint *first_point(struct uprobes_mm *umm,
				      unsigned long start, unsigned long end)
{
	struct rb_node *rb = umm->index.rb_node;
	struct probepoint *first = NULL;

	lockdep_assert_held(&umm->lock);

	while (rb) {
		struct probepoint *point;

		point = rb_entry(rb, struct probepoint, rb);
		if (point->vaddr < start) {
			rb = rb->rb_right;
		} else {
			first = point;
			rb = rb->rb_left;
		}
	}
	return first && first->vaddr < end ? first : NULL;
}

/**
 * uprobe_wait_for_hits() - a grace period of an address space
 * @umm: the address space
 *
 * A thread is among its tasks before it enters a section, and until it has left
 * the last. If there is none, whoever enters one later does so behind the lock, and
 * sees all that was unlinked before.
 *
 * Context: in no SRCU section of the engine, no lock held. Sleeps.
 */
void uprobe_wait_for_hits(struct uprobes_mm *umm)
{
	bool idle;

	spin_lock(&umm->lock);
	idle = list_empty(&umm->tasks);
	spin_unlock(&umm->lock);
	if (!idle)
		synchronize_srcu(&umm->srcu);
}

/**
 * uprobe_put_points() - drop the first references of unlinked probepoints
 * @points: the probepoints
 *
 * Context: a grace period after they were unlinked. Sleeps.
 */
void uprobe_put_points(struct list_head *points)
{
	struct probepoint *point, *next;

	list_for_each_entry_safe(point, next, points, node)
		put_point(point);
}

/*
 * Arming.
 */

/*
 * Text as it is without our breakpoints. Returns the bytes read, or an error
 * of uprobe_text_check().
 */
static int read_text(struct uprobes_mm *umm, unsigned long vaddr, u8 *buf,
		     size_t len)
{
	size_t rest = PAGE_SIZE - offset_in_page(vaddr);
	struct probepoint *point;
	struct rb_node *rb;
	int ret;

	ret = uprobe_text_check(umm->mm, vaddr);
	if (ret)
		return ret;
	/* What follows may be readable, and no text. */
	if (len > rest && uprobe_text_check(umm->mm, vaddr + rest) == -EINVAL)
		len = rest;
	ret = uprobe_text_read(umm->mm, vaddr, buf, len);
	if (ret < 0)
		return ret;

	spin_lock(&umm->lock);
	point = first_point(umm, vaddr, vaddr + ret);
	for (rb = point ? &point->rb : NULL; rb; rb = rb_next(rb)) {
		uprobe_swbp_t opcode, is;
		size_t at;

		point = rb_entry(rb, struct probepoint, rb);
		at = point->vaddr - vaddr;
		if (at + sizeof(opcode) > ret)
			break;
		memcpy(&is, buf + at, sizeof(is));
		opcode = old_opcode(point);
		if (is == UPROBE_SWBP_INSN)
			memcpy(buf + at, &opcode, sizeof(opcode));
	}
	spin_unlock(&umm->lock);
	return ret;
}

static int analyze_point(struct probepoint *point)
{
	struct uprobes_mm *umm = point->umm;
	struct arch_uprobe *aup = &point->arch;
	int len, ret;

	mmap_read_lock(umm->mm);
	if (!uprobe_text_check(umm->mm, point->vaddr))
		uprobe_text_own(umm->mm, point->vaddr);
	len = read_text(umm, point->vaddr, (u8 *)&aup->insn, sizeof(aup->insn));
	mmap_read_unlock(umm->mm);
	if (len < 0)
		return len;

	if (is_trap_insn((uprobe_opcode_t *)&aup->insn))
		return -EEXIST;
	ret = arch_uprobe_analyze_insn(aup, umm->mm, point->vaddr);
	if (ret)
		return ret;
	/* Behind what could be read it took zeroes for an instruction. */
	return arch_uprobe_insn_len(aup) <= len ? 0 : -EINVAL;
}

/* Write the breakpoint, unless the text is no longer what was analysed. */
static int arm_point(struct probepoint *point, struct probe *probe)
{
	struct uprobes_mm *umm = point->umm;
	unsigned int len = arch_uprobe_insn_len(&point->arch);
	u8 now[sizeof(point->arch.insn)] = {};
	int ret;

	mmap_write_lock(umm->mm);
	ret = -ESRCH;
	if (!uprobe_inode_maps(umm->mm, probe, point->vaddr))
		goto unlock;
	ret = read_text(umm, point->vaddr, now, len);
	if (ret < 0)
		goto unlock;
	ret = is_trap_insn((uprobe_opcode_t *)now) ? -EEXIST : -EIO;
	if (memcmp(now, insn_bytes(point), len))
		goto unlock;

	point->mutable = uprobe_text_mutable(umm->mm, point->vaddr);
	ret = link_point(point);
	if (ret)
		goto unlock;
	ret = uprobe_text_swap(umm->mm, point->vaddr, old_opcode(point),
			       UPROBE_SWBP_INSN);
	if (ret)
		unlink_point(point);
unlock:
	mmap_write_unlock(umm->mm);
	return ret == -ESTALE || ret == -EINTR ? -EIO : ret;
}

static struct probepoint *make_point(struct uprobes_mm *umm,
				     struct probe *probe, unsigned long vaddr,
				     struct list_head *points)
{
	struct probepoint *point;
	int ret;

	point = kmem_cache_zalloc(point_cache, GFP_KERNEL);
	if (!point)
		return ERR_PTR(-ENOMEM);
	refcount_set(&point->refs, 1);
	INIT_LIST_HEAD(&point->sites);
	point->vaddr = vaddr;
	point->umm = umm;
	refcount_inc(&umm->refs);

	ret = analyze_point(point);
	if (!ret && arch_uprobe_needs_slot(&point->arch))
		ret = uprobe_xol_get(point);
	if (!ret)
		ret = arm_point(point, probe);
	if (!ret) {
		list_add(&point->node, &umm->points);
		return point;
	}

	mmap_write_lock(umm->mm);
	if (!uprobe_text_check(umm->mm, vaddr))
		uprobe_text_share(umm->mm, vaddr);
	mmap_write_unlock(umm->mm);
	if (point->gone)
		list_add(&point->node, points);
	else
		put_point(point);
	return ERR_PTR(ret);
}

/* Are the breakpoint and the rest of the instruction still what they were? */
static bool point_intact(struct probepoint *point)
{
	struct uprobes_mm *umm = point->umm;
	int len = arch_uprobe_insn_len(&point->arch);
	u8 now[sizeof(point->arch.insn)];
	uprobe_swbp_t opcode;

	if (uprobe_text_read(umm->mm, point->vaddr, (u8 *)&opcode,
			     sizeof(opcode)) != sizeof(opcode))
		return false;
	return opcode == UPROBE_SWBP_INSN &&
	       read_text(umm, point->vaddr, now, len) == len &&
	       !memcmp(now, insn_bytes(point), len);
}

/*
 * Take the breakpoint out of the text, with the mmap_lock held for writing, unlink
 * the probepoint, and give the page back. Returns false if the breakpoint may still
 * be there: then the probepoint has to stay.
 */
static bool restore_text(struct probepoint *point)
{
	int ret;

	if (READ_ONCE(point->gone))
		return true;
	ret = uprobe_text_swap(point->umm->mm, point->vaddr, UPROBE_SWBP_INSN,
			       foreign_opcode(point));
	if (ret && ret != -ESTALE && ret != -ENOENT)
		return false;
	/* Before uprobe_zap() takes it for one that the program loses. */
	unlink_point(point);
	uprobe_text_share(point->umm->mm, point->vaddr);
	return true;
}

/*
 * The probepoint that is there, if it still is of use: when the program has
 * changed the instruction, or unmapped its copy, that one is gone.
 */
static struct probepoint *existing_point(struct uprobes_mm *umm,
					 struct probe *probe,
					 unsigned long vaddr)
{
	struct probepoint *point;
	int ret;

	point = find_point(umm, vaddr);
	if (!point)
		return NULL;

	/* @umm->mutex keeps it, even if it is unlinked. */
	mmap_write_lock(umm->mm);
	ret = uprobe_text_check(umm->mm, vaddr);
	if (!ret && !uprobe_inode_maps(umm->mm, probe, vaddr))
		ret = -ESRCH;
	if (!ret && (!point_intact(point) || uprobe_xol_is_dead(point))) {
		ret = -EIO;
		if (restore_text(point)) {
			ret = 0;
			point = NULL;
		}
	}
	mmap_write_unlock(umm->mm);
	return ret ? ERR_PTR(ret) : point;
}

/**
 * uprobe_make_point() - the probepoint at an address, a new one if need be
 * @umm: the address space
 * @probe: whom it is for, or NULL. What is mapped has to be its file, if it has one
 * @vaddr: the address
 * @points: one that fails when its address can have been looked up is moved
 *	here, for uprobe_put_points()
 *
 * Context: @umm->mutex held. Sleeps.
 *
 * Return: the probepoint, armed, or an error of register_uprobe(); -ESRCH when
 * the file is not mapped there any more.
 */
struct probepoint *uprobe_make_point(struct uprobes_mm *umm,
				     struct probe *probe, unsigned long vaddr,
				     struct list_head *points)
{
	struct probepoint *point;

	lockdep_assert_held(&umm->mutex);

	if (uprobe_xol_contains(umm, vaddr))
		return ERR_PTR(-EINVAL);
	point = existing_point(umm, probe, vaddr);
	return point ?: make_point(umm, probe, vaddr, points);
}

static bool disarm_point(struct probepoint *point)
{
	struct mm_struct *mm = point->umm->mm;
	bool restored;

	mmap_write_lock(mm);
	restored = restore_text(point);
	mmap_write_unlock(mm);
	return restored;
}

/* No probe was added to it. */
static void drop_point(struct probepoint *point, struct list_head *points)
{
	if (list_empty(&point->sites) && disarm_point(point))
		list_move(&point->node, points);
}

/* An inode probe has one site for each place that its file is mapped at. */
static bool has_site(struct probepoint *point, struct probe *probe)
{
	struct probe_site *site;

	if (!probe->inode)
		return false;
	list_for_each_entry(site, &point->sites, node) {
		if (site->probe == probe)
			return true;
	}
	return false;
}

static int arm_site(struct probe_site *site, struct mm_struct *mm)
{
	struct uprobes_mm *umm = uprobe_make_umm(mm);
	struct probe *probe = site->probe;
	struct probepoint *point;
	LIST_HEAD(points);
	int ret = 0;

	if (!umm)
		return -ENOMEM;

	mutex_lock(&umm->mutex);
	point = uprobe_make_point(umm, probe, site->vaddr, &points);
	if (IS_ERR(point)) {
		ret = PTR_ERR(point);
		goto unlock;
	}
	if (probe->returns)
		ret = uretprobe_need_trampoline(umm);
	if (!ret && has_site(point, probe))
		ret = -EALREADY;
	if (ret) {
		drop_point(point, &points);
		goto unlock;
	}
	if (probe->inode) {
		/* For who unlinks it. */
		spin_lock(&umm->lock);
		point->by_inode = true;
		spin_unlock(&umm->lock);
	}
	refcount_inc(&umm->refs);
	site->umm = umm;
	site->point = point;
	list_add_tail_rcu(&site->node, &point->sites);
unlock:
	mutex_unlock(&umm->mutex);

	/* A thread may have met a foreign breakpoint, and found ours. */
	if (!list_empty(&points))
		synchronize_srcu(&umm->srcu);
	uprobe_put_points(&points);
	return ret;
}

/*
 * The mm core does nothing for a task that is going to die. For a worker it
 * does.
 */
static void run_in_worker(struct work_struct *work)
{
	queue_work(system_unbound_wq, work);
	flush_work(work);
	destroy_work_on_stack(work);
}

struct arm_work {
	struct work_struct work;
	struct probe_site *site;
	struct mm_struct *mm;
	int ret;
};

static void arm_work_fn(struct work_struct *work)
{
	struct arm_work *aw = container_of(work, struct arm_work, work);

	aw->ret = arm_site(aw->site, aw->mm);
}

/**
 * uprobe_arm_site() - set a probe in a process
 * @site: new, of a probe
 * @mm: the address space, with a reference
 *
 * Context: no lock held. Sleeps.
 *
 * Return: 0 or an error of register_uprobe(). For an inode probe also -EALREADY
 * when it has a site there.
 */
int uprobe_arm_site(struct probe_site *site, struct mm_struct *mm)
{
	struct arm_work aw = { .site = site, .mm = mm };
	int ret = arm_site(site, mm);

	if (!ret || !fatal_signal_pending(current))
		return ret;
	INIT_WORK_ONSTACK(&aw.work, arm_work_fn);
	run_in_worker(&aw.work);
	return aw.ret;
}

struct disarm_work {
	struct work_struct work;
	struct probepoint *point;
	bool restored;
};

static void disarm_work_fn(struct work_struct *work)
{
	struct disarm_work *dw = container_of(work, struct disarm_work, work);

	dw->restored = disarm_point(dw->point);
}

static bool disarm_for_dying(struct probepoint *point)
{
	struct disarm_work dw = { .point = point };

	INIT_WORK_ONSTACK(&dw.work, disarm_work_fn);
	run_in_worker(&dw.work);
	return dw.restored;
}

static struct mm_struct *get_mm(struct uprobes_mm *umm)
{
	lockdep_assert_held(&umm->mutex);
	return umm->mm && mmget_not_zero(umm->mm) ? umm->mm : NULL;
}

/**
 * uprobe_get_mm() - a reference on an address space, for mmput()
 * @umm: the engine's part of it
 *
 * Context: sleeps.
 *
 * Return: it, or NULL when it is dying.
 */
struct mm_struct *uprobe_get_mm(struct uprobes_mm *umm)
{
	struct mm_struct *mm;

	mutex_lock(&umm->mutex);
	mm = get_mm(umm);
	mutex_unlock(&umm->mutex);
	return mm;
}

/**
 * uprobe_disarm_site() - unlink a probe from its probepoint
 * @site: where the probe is set
 * @points: a probepoint without a probe loses its first reference: it is moved
 *	here, for uprobe_put_points()
 *
 * A breakpoint that cannot be taken out keeps its probepoint, without a probe:
 * hits go on as if there were none. So does the one that is the trampoline.
 *
 * Context: no lock held. Sleeps.
 */
void uprobe_disarm_site(struct probe_site *site, struct list_head *points)
{
	struct probepoint *point = site->point;
	struct uprobes_mm *umm = site->umm;
	struct mm_struct *mm = NULL;
	bool restored = true;

	mutex_lock(&umm->mutex);
	list_del_rcu(&site->node);
	if (!list_empty(&point->sites) || point == umm->tramp_point)
		goto unlock;

	mm = get_mm(umm);
	if (mm) {
		restored = disarm_point(point);
		if (fatal_signal_pending(current))
			restored = disarm_for_dying(point);
	}
	if (restored) {
		unlink_point(point);
		list_move(&point->node, points);
	} else {
		pr_warn_once("a breakpoint cannot be removed\n");
	}
unlock:
	mutex_unlock(&umm->mutex);
	/* The last reference may lead to uprobe_clear_state(). */
	if (mm)
		mmput(mm);
}

/*
 * The hit.
 */

/**
 * uprobe_make_task() - the engine's part of a thread
 * @t: current
 * @umm: its address space
 *
 * A thread cannot go on without it: its instruction has to be executed.
 *
 * Context: sleeps.
 *
 * Return: it; never NULL.
 */
struct uprobe_task *uprobe_make_task(struct task_struct *t,
				     struct uprobes_mm *umm)
{
	struct uprobe_task *utask = t->utask;

	if (utask)
		return utask;
	utask = kmem_cache_zalloc(task_cache, GFP_KERNEL | __GFP_NOFAIL);
	spin_lock_init(&utask->lock);
	INIT_LIST_HEAD(&utask->ops);
	INIT_LIST_HEAD(&utask->unfinished);
	utask->umm = umm;
	utask->tgid = task_tgid(t);
	spin_lock(&umm->lock);
	list_add_tail(&utask->node, &umm->tasks);
	spin_unlock(&umm->lock);
	/* Pairs with the acquire in uprobe_task_ip(). */
	smp_store_release(&t->utask, utask);
	return utask;
}

unsigned int __weak arch_uprobe_insn_len(const struct arch_uprobe *aup)
{
	return sizeof(aup->insn);
}

bool __weak arch_uprobe_needs_slot(const struct arch_uprobe *aup)
{
	return true;
}

unsigned long __weak uprobe_get_swbp_addr(struct pt_regs *regs)
{
	return instruction_pointer(regs) - UPROBE_SWBP_INSN_SIZE;
}

bool __weak is_trap_insn(uprobe_opcode_t *insn)
{
	return *insn == UPROBE_SWBP_INSN;
}

bool __weak arch_uprobe_is_trap(uprobe_opcode_t before, uprobe_opcode_t at)
{
	return is_trap_insn(&at);
}

void __weak arch_uprobe_send_trap(struct pt_regs *regs)
{
	force_sig_fault(SIGTRAP, TRAP_BRKPT,
			(void __user *)instruction_pointer(regs));
}

bool __weak arch_uprobe_ignore(struct arch_uprobe *aup, struct pt_regs *regs)
{
	return false;
}

bool __weak arch_uprobe_interruptible(struct arch_uprobe *aup)
{
	return false;
}

bool __weak arch_uprobe_xol_is_partial(struct arch_uprobe *aup,
				       struct pt_regs *regs)
{
	return false;
}

bool __weak arch_uprobe_xol_is_done(struct pt_regs *regs)
{
	return false;
}

bool __weak arch_uprobe_same_regs(const struct pt_regs *a,
				  const struct pt_regs *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/**
 * uprobe_pre_sstep_notifier() - a thread trapped on a breakpoint
 * @regs: its registers
 *
 * Whose breakpoint it is cannot be told here, where text that is not in memory
 * cannot be read and one that is being unmapped cannot be waited for.
 *
 * Context: atomic, in the trap.
 *
 * Return: 1 when the trap may be the engine's: it is taken over. Else 0.
 */
int uprobe_pre_sstep_notifier(struct pt_regs *regs)
{
	if (!current->mm || !umm_of(current->mm))
		return 0;
	set_thread_flag(TIF_UPROBE);
	return 1;
}

/**
 * uprobe_post_sstep_notifier() - a thread trapped behind a copy
 * @regs: its registers
 *
 * Context: atomic, in the trap.
 *
 * Return: 1 when it was executing one, else 0.
 */
int uprobe_post_sstep_notifier(struct pt_regs *regs)
{
	if (!current->utask || !current->utask->active)
		return 0;
	set_thread_flag(TIF_UPROBE);
	return 1;
}

/* A child that shares the memory is another process, which has the same files. */
static bool serves_current(struct probe_site *site)
{
	return (!site->tgid || site->tgid == task_tgid(current)) &&
	       READ_ONCE(uprobes_enabled) && !READ_ONCE(site->probe->disabled);
}

static void run_handlers(struct uprobe_task *utask, struct probepoint *point,
			 struct pt_regs *regs)
{
	struct probe_site *site;

	utask->handling = true;
	utask->auprobe = &point->arch;
	list_for_each_entry_srcu(site, &point->sites, node,
				 srcu_read_lock_held(&point->umm->srcu)) {
		struct probe *probe = site->probe;

		if (!serves_current(site))
			continue;
		if (probe->type == UPTY_URETPROBE) {
			uretprobe_enter(probe, regs);
		} else {
			this_cpu_inc(*probe->hits);
			probe->u->handler(probe->u, regs);
		}
	}
	if (utask->instances)
		uretprobe_hijack(regs);
	utask->auprobe = NULL;
	utask->handling = false;
}

static void count_missed(struct probepoint *point)
{
	struct probe_site *site;

	list_for_each_entry_srcu(site, &point->sites, node,
				 srcu_read_lock_held(&point->umm->srcu)) {
		if (serves_current(site))
			uprobe_count_missed(site->probe);
	}
}

static void enter_section(struct uprobe_task *utask)
	__acquires(&utask->umm->srcu)
{
	utask->srcu_idx = srcu_read_lock(&utask->umm->srcu);
	utask->reading = true;
}

static void leave_section(struct uprobe_task *utask)
	__releases(&utask->umm->srcu)
{
	utask->reading = false;
	srcu_read_unlock(&utask->umm->srcu, utask->srcu_idx);
}

static void end_step(struct uprobe_task *utask)
{
	put_point(utask->active);
	WRITE_ONCE(utask->active, NULL);
	if (utask->denied)
		calculate_sigpending();
	utask->denied = false;
}

static void begin_step(struct uprobe_task *utask, struct pt_regs *regs)
{
	if (!arch_uprobe_pre_xol(&utask->active->arch, regs))
		return;
	end_step(utask);
	force_sig(SIGILL);
}

static void drop_unfinished(struct uprobe_unfinished *exec)
{
	put_point(exec->point);
	kfree(exec);
}

/*
 * Leave an execution whose handlers have run, to be gone on with. The thread is
 * where the instruction stands.
 */
static void leave_unfinished(struct uprobe_task *utask, struct pt_regs *regs)
{
	struct uprobe_unfinished *exec;

	exec = kmalloc(sizeof(*exec), GFP_KERNEL | __GFP_NOFAIL);
	exec->regs = *regs;
	exec->point = utask->active;
	refcount_inc(&exec->point->refs);
	end_step(utask);
	list_add(&exec->node, &utask->unfinished);
	if (++utask->nr_unfinished <= MAX_UNFINISHED)
		return;
	exec = list_last_entry(&utask->unfinished, typeof(*exec), node);
	list_del(&exec->node);
	utask->nr_unfinished--;
	drop_unfinished(exec);
}

/* Does the thread go on with an execution whose handlers have run? */
static bool continues(struct uprobe_task *utask, struct probepoint *point,
		      struct pt_regs *regs)
{
	struct uprobe_unfinished *exec;

	list_for_each_entry(exec, &utask->unfinished, node) {
		if (exec->point != point ||
		    !arch_uprobe_same_regs(&exec->regs, regs))
			continue;
		list_del(&exec->node);
		utask->nr_unfinished--;
		drop_unfinished(exec);
		return true;
	}
	return false;
}

static void handle_step(struct uprobe_task *utask, struct pt_regs *regs)
{
	int ret;

	if (utask->paused) {
		utask->paused = false;
		if (instruction_pointer(regs) == utask->vaddr)
			begin_step(utask, regs);
		else
			end_step(utask);
		return;
	}

	ret = arch_uprobe_post_xol(&utask->active->arch, regs);
	if (ret == -EAGAIN)
		return;
	if (ret == -EINTR) {
		leave_unfinished(utask, regs);
		return;
	}
	end_step(utask);
	if (ret)
		force_sig(SIGSEGV);
}

/*
 * Is there a breakpoint at @vaddr that is not ours? The mmap_lock waits for who
 * is just removing, or adding, what is mapped.
 */
static bool is_foreign_trap(unsigned long vaddr)
{
	struct mm_struct *mm = current->mm;
	uprobe_opcode_t text[2] = {};
	const size_t size = sizeof(text[0]);
	bool ours, mapped, known;

	mmap_read_lock(mm);
	ours = find_point(umm_of(mm), vaddr);
	mapped = vma_lookup(mm, vaddr);
	uprobe_text_read(mm, vaddr - size, (u8 *)&text[0], size);
	known = uprobe_text_read(mm, vaddr, (u8 *)&text[1], size) >=
		UPROBE_SWBP_INSN_SIZE;
	mmap_read_unlock(mm);

	if (ours || !mapped)
		return false;
	/* The mm core does not show all that can be executed: our areas, say. */
	if (!known) {
		uprobe_opcode_t __user *user = (void __user *)vaddr;

		if (get_user(text[1], user))
			return false;
		if (get_user(text[0], user - 1))
			text[0] = 0;
	}
	return arch_uprobe_is_trap(text[0], text[1]);
}

/*
 * No probepoint was found at @vaddr. A breakpoint there is the program's or its
 * debugger's: go on where the trap left it, at @ip, with a signal. Else it was
 * ours until a moment ago, or just became ours, or what can be executed there
 * is just going: the thread executes what it finds.
 */
static void handle_foreign_trap(struct pt_regs *regs, unsigned long vaddr,
				unsigned long ip)
{
	if (!is_foreign_trap(vaddr))
		return;
	instruction_pointer_set(regs, ip);
	arch_uprobe_send_trap(regs);
}

/* Has the program changed the instruction behind the breakpoint? */
static bool went_stale(struct probepoint *point)
{
	const unsigned int size = UPROBE_SWBP_INSN_SIZE;
	unsigned int len = arch_uprobe_insn_len(&point->arch);
	u8 now[sizeof(point->arch.insn)];
	bool stale;

	if (!READ_ONCE(point->mutable) || len <= size)
		return false;
	if (copy_from_user(now, (void __user *)(point->vaddr + size),
			   len - size) ||
	    !memcmp(now, insn_bytes(point) + size, len - size))
		return false;

	/* Or is there another breakpoint of ours? */
	mmap_read_lock(current->mm);
	stale = !point_intact(point);
	mmap_read_unlock(current->mm);
	return stale;
}

/*
 * The instruction cannot be executed as it was analysed, and may not be that
 * instruction any more. The thread executes what is there, without a probe.
 */
static void abandon_point(struct probepoint *point)
{
	bool restored;

	mmap_write_lock(current->mm);
	count_missed(point);
	restored = restore_text(point);
	mmap_write_unlock(current->mm);
	if (!restored)
		force_sig(SIGBUS);
}

static bool can_execute(struct probepoint *point, struct pt_regs *regs)
{
	return !went_stale(point) && !uprobe_xol_is_dead(point) &&
	       !arch_uprobe_ignore(&point->arch, regs);
}

/*
 * Execute the probed instruction, unless a handler sent the thread elsewhere.
 * If it takes a step, that is only prepared.
 */
static void execute_insn(struct uprobe_task *utask, struct probepoint *point,
			 struct pt_regs *regs)
{
	/* A restartable sequence that a handler slept in ends before it. */
	if (test_thread_flag(TIF_NOTIFY_RESUME))
		rseq_handle_notify_resume(NULL, regs);

	if (instruction_pointer(regs) != point->vaddr ||
	    arch_uprobe_skip_sstep(&point->arch, regs))
		return;

	refcount_inc(&point->refs);
	utask->vaddr = point->vaddr;
	utask->xol_vaddr = point->xol_vaddr;
	/* Pairs with the acquire in uprobe_task_ip(). */
	smp_store_release(&utask->active, point);
}

static void handle_hit(struct uprobe_task *utask, struct pt_regs *regs)
{
	unsigned long ip = instruction_pointer(regs);
	unsigned long vaddr = uprobe_get_swbp_addr(regs);
	struct uprobes_mm *umm = utask->umm;
	struct probepoint *point;

	instruction_pointer_set(regs, vaddr);

	enter_section(utask);
	if (uretprobe_is_trampoline(umm, vaddr) && uretprobe_return(regs)) {
		leave_section(utask);
		uprobe_run_ops(utask);
		return;
	}
	point = find_point(umm, vaddr);
	if (!point) {
		handle_foreign_trap(regs, vaddr, ip);
		goto leave;
	}
	/* Its own breakpoint comes first. It takes that out to go on. */
	if (READ_ONCE(point->debugger)) {
		instruction_pointer_set(regs, ip);
		arch_uprobe_send_trap(regs);
		goto leave;
	}
	if (!can_execute(point, regs)) {
		abandon_point(point);
		goto leave;
	}

	if (!continues(utask, point, regs))
		run_handlers(utask, point, regs);
	if (likely(list_empty(&utask->ops))) {
		execute_insn(utask, point, regs);
		leave_section(utask);
	} else {
		/* What they deferred may be the removal of this probepoint. */
		refcount_inc(&point->refs);
		leave_section(utask);
		uprobe_run_ops(utask);
		execute_insn(utask, point, regs);
		put_point(point);
	}
	if (utask->active)
		begin_step(utask, regs);
	return;

leave:
	leave_section(utask);
}

/**
 * uprobe_notify_resume() - work of a thread with TIF_UPROBE before user mode
 * @regs: its registers
 *
 * Context: process context, sleeps.
 */
void uprobe_notify_resume(struct pt_regs *regs)
{
	struct uprobe_task *utask;

	clear_thread_flag(TIF_UPROBE);
	utask = uprobe_make_task(current, umm_of(current->mm));
	if (utask->active)
		handle_step(utask, regs);
	else
		handle_hit(utask, regs);
}

/**
 * uprobe_syscall_enter() - a thread enters the kernel by a system call's copy
 * @regs: the registers of current
 *
 * From here on it stands behind the original, before anybody looks: seccomp, a
 * debugger, the thread's own child.
 *
 * Context: process context, before all other work of the system call. Sleeps.
 */
void uprobe_syscall_enter(struct pt_regs *regs)
{
	handle_step(current->utask, regs);
}

/**
 * uprobe_pause_step() - a restartable sequence may have to be aborted
 * @regs: the registers of current
 *
 * Whether it has to depends on where the thread is in the program, so it leaves
 * the copy, which it did not execute to its end. If it is still there
 * afterwards, uprobe_notify_resume() sends it back.
 *
 * Context: process context, sleeps.
 */
void uprobe_pause_step(struct pt_regs *regs)
{
	struct uprobe_task *utask = current->utask;

	if (likely(!utask || !utask->active || utask->paused))
		return;
	if (arch_uprobe_xol_is_done(regs)) {
		handle_step(utask, regs);
		return;
	}
	if (instruction_pointer(regs) != utask->xol_vaddr)
		return;
	arch_uprobe_abort_xol(&utask->active->arch, regs);
	utask->paused = true;
	set_thread_flag(TIF_UPROBE);
}

/*
 * If the thread returned from a function, and has not executed the trampoline
 * yet, do that now. For one that has to die it is enough to know where it was.
 */
static void leave_trampoline(struct pt_regs *regs)
{
	struct uprobes_mm *umm = current->mm ? umm_of(current->mm) : NULL;
	unsigned long ip = instruction_pointer(regs);
	struct uprobe_task *utask;

	if (likely(!umm) || !uretprobe_is_trampoline(umm, ip))
		return;
	if (__fatal_signal_pending(current)) {
		if (uretprobe_find_return(umm, regs, &ip))
			instruction_pointer_set(regs, ip);
		return;
	}
	/* On the stack of another one, it may be its first return. */
	utask = uprobe_make_task(current, umm);
	enter_section(utask);
	uretprobe_return(regs);
	leave_section(utask);
	uprobe_run_ops(utask);
}

/* Will the program handle a signal that is pending? */
static bool handles_signal(void)
{
	/* It is current's until current ends. */
	struct sighand_struct *sighand =
		rcu_dereference_protected(current->sighand, true);
	sigset_t pending;
	bool handles = false;
	int sig;

	spin_lock_irq(&sighand->siglock);
	sigorsets(&pending, &current->pending.signal,
		  &current->signal->shared_pending.signal);
	sigandnsets(&pending, &pending, &current->blocked);
	for (sig = 1; sig <= _NSIG && !handles; sig++) {
		__sighandler_t handler = sighand->action[sig - 1].sa.sa_handler;

		handles = sigismember(&pending, sig) && handler != SIG_DFL &&
			  handler != SIG_IGN;
	}
	spin_unlock_irq(&sighand->siglock);
	return handles;
}

/*
 * May the thread leave the copy now, at whose beginning it is? If the kernel
 * sent a signal because of the copy, it would raise the next one there.
 */
static bool can_leave(struct uprobe_task *utask)
{
	const unsigned long synchronous = sigmask(SIGSEGV) | sigmask(SIGBUS) |
					  sigmask(SIGILL) | sigmask(SIGTRAP) |
					  sigmask(SIGFPE) | sigmask(SIGSYS);

	return arch_uprobe_interruptible(&utask->active->arch) ||
	       sigtestsetmask(&current->pending.signal, synchronous) ||
	       !handles_signal();
}

/**
 * uprobe_deny_signal() - may a signal be delivered now?
 *
 * Not between a hit and the trap behind the copy: the frame would show the
 * copy, and who returns to it would execute it without us. If the step cannot
 * come to its end, because the copy raised a fault or the thread has to die, it
 * is undone here.
 *
 * A copy may also wait in a page fault, for as long as it likes. If the thread
 * is only to be stopped, it is stopped where the instruction is, and comes back
 * by another trap there. The same holds for any signal, and for a fault that
 * the program handles, in the middle of an instruction that the CPU would go on
 * with: handlers do not run again. A fault before it has begun is another
 * matter: to try once more is to execute it anew.
 *
 * Nor is one delivered at the trampoline: the thread is moved to where it was
 * returning.
 *
 * Return: true when signals have to wait. They are looked at anew after the
 * step.
 */
bool uprobe_deny_signal(void)
{
	struct uprobe_task *utask = current->utask;
	struct pt_regs *regs = current_pt_regs();
	struct arch_uprobe *aup;
	bool trapped, fatal;

	if (likely(!utask || !utask->active)) {
		leave_trampoline(regs);
		return false;
	}

	trapped = arch_uprobe_xol_was_trapped(current);
	if (!trapped && arch_uprobe_xol_is_done(regs)) {
		handle_step(utask, regs);
		return false;
	}

	clear_thread_flag(TIF_SIGPENDING);
	/*
	 * A fatal signal is queued first and then sets the flag. If that was
	 * before we cleared it, we see the signal below.
	 */
	smp_mb__after_atomic();
	fatal = __fatal_signal_pending(current);
	utask->denied = !trapped && !fatal &&
			(instruction_pointer(regs) != utask->xol_vaddr ||
			 !can_leave(utask));
	if (utask->denied)
		return true;
	set_thread_flag(TIF_SIGPENDING);

	aup = &utask->active->arch;
	arch_uprobe_abort_xol(aup, regs);
	if (fatal || (trapped && !arch_uprobe_xol_is_partial(aup, regs)))
		end_step(utask);
	else
		leave_unfinished(utask, regs);
	return false;
}

/**
 * uprobe_get_trap_addr() - where the instruction that trapped really stands
 * @regs: the registers of current
 *
 * Return: the probed address while its copy is executed, else the instruction
 * pointer.
 */
unsigned long uprobe_get_trap_addr(struct pt_regs *regs)
{
	if (unlikely(current->utask && current->utask->active))
		return current->utask->vaddr;
	return instruction_pointer(regs);
}

/**
 * uprobe_task_ip() - where a thread is in its program
 * @t: the thread, which does not run, or current
 * @regs: its registers
 *
 * Context: any that can read @regs.
 *
 * Return: the instruction pointer, and for an address of the engine the one
 * that the thread would have without us.
 */
unsigned long uprobe_task_ip(struct task_struct *t, struct pt_regs *regs)
{
	unsigned long ip = instruction_pointer(regs);
	struct uprobe_task *utask;

	rcu_read_lock();
	/* Pairs with the release in uprobe_make_task(). */
	utask = smp_load_acquire(&t->utask);
	if (utask) {
		/* Pairs with the release in execute_insn(). */
		if (smp_load_acquire(&utask->active))
			ip = utask->vaddr;
		else if (uretprobe_is_trampoline(utask->umm, ip))
			uretprobe_find_return(utask->umm, regs, &ip);
	}
	rcu_read_unlock();
	return ip;
}

/**
 * uprobe_task_link() - where will a thread return to, by its register for that?
 * @t: the thread, which does not run, or current
 * @regs: its registers, on an architecture that has arch_uretprobe_link()
 *
 * Context: any in which a spinlock may be taken.
 *
 * Return: the register's value, and for the address of the trampoline the one
 * that would be there without us.
 */
unsigned long uprobe_task_link(struct task_struct *t, struct pt_regs *regs)
{
	unsigned long addr = *arch_uretprobe_link(regs);
	struct uprobe_task *utask;

	rcu_read_lock();
	/* Pairs with the release in uprobe_make_task(). */
	utask = smp_load_acquire(&t->utask);
	if (utask && uretprobe_is_trampoline(utask->umm, addr))
		uretprobe_find_link(utask, user_stack_pointer(regs), &addr);
	rcu_read_unlock();
	return addr;
}

/*
 * The life of a thread and of an address space.
 */

/**
 * uprobe_free_utask() - a thread leaves its address space, or dies
 * @t: current
 *
 * It may do so inside a handler. What that deferred is carried out; calls in
 * progress will not return any more, and nobody touches their stack.
 */
void uprobe_free_utask(struct task_struct *t)
{
	struct uprobe_unfinished *exec, *next;
	struct uprobe_task *utask = t->utask;

	if (likely(!utask))
		return;
	if (utask->reading)
		__acquire(&utask->umm->srcu);
	else
		enter_section(utask);
	uretprobe_end_thread(utask);
	utask->auprobe = NULL;
	leave_section(utask);
	uprobe_run_ops(utask);

	if (utask->active)
		put_point(utask->active);
	list_for_each_entry_safe(exec, next, &utask->unfinished, node)
		drop_unfinished(exec);
	spin_lock(&utask->umm->lock);
	list_del(&utask->node);
	spin_unlock(&utask->umm->lock);
	WRITE_ONCE(t->utask, NULL);
	kfree_rcu(utask, rcu);
}

/**
 * uprobe_zap() - pages are going to be no longer mapped, or just went
 * @vma: the mapping
 * @start: from here
 * @end: to here
 *
 * Breakpoints go with them. A thread that hits one meanwhile waits, in
 * is_foreign_trap(), for who holds the mmap_lock for writing. munmap() holds it
 * for reading only by then, but has taken the mapping out of the tree already.
 * Others call this after the last thread can have hit a breakpoint.
 *
 * Context: any; the address space may be dying.
 */
void uprobe_zap(struct vm_area_struct *vma, unsigned long start,
		unsigned long end)
{
	struct probepoint *point;
	struct uprobes_mm *umm;
	bool lost;

	rcu_read_lock();
	umm = umm_of(vma->vm_mm);
	if (likely(!umm))
		goto unlock;
	spin_lock(&umm->lock);
	lost = uprobe_inode_lose_sems(umm, start, end);
	while ((point = first_point(umm, start, end))) {
		lost |= point->by_inode;
		unlink_point_locked(point);
	}
	if (lost)
		uprobe_inode_lose(umm, start, end);
	if (umm->trampoline - start < end - start)
		WRITE_ONCE(umm->tramp_lives, false);
	spin_unlock(&umm->lock);
unlock:
	rcu_read_unlock();
}

/**
 * uprobe_mremap() - pages are going to be mapped at another address
 * @vma: the mapping they are in now
 * @start: from here
 * @end: to here
 *
 * Breakpoints must not go with them.
 *
 * Context: current's mmap_lock held for writing. Sleeps.
 *
 * Return: 0, -ENOMEM, or an error of uprobe_text_swap(): the pages must not be
 * moved. Of the probes in them, some may be gone.
 */
int uprobe_mremap(struct vm_area_struct *vma, unsigned long start,
		  unsigned long end)
{
	struct uprobes_mm *umm = umm_of(vma->vm_mm);
	bool by_inode;
	int ret;

	if (likely(!umm))
		return 0;
	by_inode = uprobe_inode_drop_sems(umm, start, end);

	/* Calls in progress must not return to where it is not any more. */
	if (umm->trampoline - start < end - start) {
		spin_lock(&umm->lock);
		WRITE_ONCE(umm->tramp_lives, false);
		spin_unlock(&umm->lock);
		/* Pairs with that in begin_call(): it sees this, or we its call. */
		smp_mb();
		if (!uretprobe_give_up(umm, vma->vm_mm))
			return -ENOMEM;
	}

	for (;;) {
		struct probepoint *point;
		uprobe_swbp_t opcode;

		spin_lock(&umm->lock);
		point = first_point(umm, start, end);
		if (point) {
			start = point->vaddr;
			opcode = foreign_opcode(point);
			by_inode |= point->by_inode;
		}
		spin_unlock(&umm->lock);
		/* Where it is going to be, or still is. */
		if (by_inode)
			uprobe_inode_cover_later(0, ULONG_MAX,
						 GFP_KERNEL | __GFP_NOFAIL);
		if (!point)
			return 0;

		ret = uprobe_text_swap(vma->vm_mm, start, UPROBE_SWBP_INSN,
				       opcode);
		if (ret && ret != -ESTALE)
			return ret;
		uprobe_text_share(vma->vm_mm, start);
		uprobe_zap(vma, start, start + 1);
	}
}

/**
 * uprobe_peek() - another process reads memory
 * @mm: whose
 * @addr: the address
 * @mem: what is there, with the rest of its page around it
 * @buf: what was read; changed to what would be there without us
 * @len: how much
 *
 * Context: mmap_lock of @mm held since before it was read, so that text is as
 * the index of probepoints says.
 */
void uprobe_peek(struct mm_struct *mm, unsigned long addr, const void *mem,
		 void *buf, int len)
{
	struct probepoint *point;
	struct uprobes_mm *umm;
	struct rb_node *rb;

	rcu_read_lock();
	umm = umm_of(mm);
	if (likely(!umm))
		goto unlock;
	spin_lock(&umm->lock);
	point = first_point(umm, addr - sizeof(uprobe_swbp_t) + 1, addr + len);
	for (rb = point ? &point->rb : NULL; rb; rb = rb_next(rb)) {
		uprobe_swbp_t opcode;
		int at, from, n;

		point = rb_entry(rb, struct probepoint, rb);
		n = uprobe_overlap(addr, len, point->vaddr, sizeof(opcode), &at,
				   &from);
		if (!n)
			break;
		opcode = foreign_opcode(point);
		memcpy(buf + at, (void *)&opcode + from, n);
	}
	spin_unlock(&umm->lock);
	if (READ_ONCE(umm->calls))
		uretprobe_peek(umm, addr, mem, buf, len);
unlock:
	rcu_read_unlock();
}

/* @len bytes from @buf are going to be written to @addr. */
static void poke_point(struct probepoint *point, unsigned long addr, void *buf,
		       int len)
{
	const int size = sizeof(uprobe_swbp_t);
	int insn_len = arch_uprobe_insn_len(&point->arch);
	uprobe_swbp_t opcode;
	int at, from, n;

	lockdep_assert_held(&point->umm->lock);

	n = uprobe_overlap(addr, len, point->vaddr + size, insn_len - size, &at,
			   &from);
	if (n && memcmp(buf + at, insn_bytes(point) + size + from, n))
		WRITE_ONCE(point->mutable, true);

	n = uprobe_overlap(addr, len, point->vaddr, size, &at, &from);
	if (!n)
		return;
	if (n < size) {
		unlink_point_locked(point);
		return;
	}
	memcpy(&opcode, buf + at, size);
	if (opcode == UPROBE_SWBP_INSN) {
		WRITE_ONCE(point->debugger, true);
	} else if (opcode == old_opcode(point)) {
		WRITE_ONCE(point->debugger, false);
		opcode = UPROBE_SWBP_INSN;
		memcpy(buf + at, &opcode, size);
	} else {
		unlink_point_locked(point);
	}
}

/**
 * uprobe_poke() - another process, a debugger, writes memory
 * @mm: whose
 * @addr: the address
 * @mem: what is there now, with the rest of its page around it
 * @buf: what will be written; changed so that breakpoints of ours stay
 * @len: how much
 *
 * If the debugger writes its own breakpoint where ours is, both are there, and
 * when it takes that out again, ours still is. If it writes anything else, ours
 * is gone.
 *
 * Context: mmap_lock of @mm held until it was written.
 */
void uprobe_poke(struct mm_struct *mm, unsigned long addr, const void *mem,
		 void *buf, int len)
{
	struct uprobes_mm *umm;
	struct probepoint *point;
	struct rb_node *rb, *next;

	rcu_read_lock();
	umm = umm_of(mm);
	if (likely(!umm))
		goto unlock;
	spin_lock(&umm->lock);
	point = first_point(umm, addr - sizeof(point->arch.insn) + 1,
			    addr + len);
	for (rb = point ? &point->rb : NULL; rb; rb = next) {
		next = rb_next(rb);
		point = rb_entry(rb, struct probepoint, rb);
		if (point->vaddr >= addr + len)
			break;
		poke_point(point, addr, buf, len);
	}
	spin_unlock(&umm->lock);
	if (READ_ONCE(umm->calls))
		uretprobe_poke(umm, addr, mem, buf, len);
unlock:
	rcu_read_unlock();
}

/**
 * uprobe_start_dup_mmap() - current begins to fork
 */
void uprobe_start_dup_mmap(void)
{
	/* A fork may have failed after the text was copied. */
	if (current->utask)
		current->utask->unclean_child = false;
}

/**
 * uprobe_dup_mmap() - fork is going to copy the text
 * @oldmm: current's address space, mmap_lock held for writing
 * @newmm: the child's, still empty
 *
 * What is armed now is what the child gets, since arming takes the mmap_lock
 * for writing; note it for uprobe_end_dup_mmap().
 */
void uprobe_dup_mmap(struct mm_struct *oldmm, struct mm_struct *newmm)
{
	struct uprobes_mm *umm = umm_of(oldmm);
	struct uprobe_dup *dup;
	struct rb_node *rb;
	unsigned int nr = 0;

	if (likely(!umm))
		return;

	spin_lock(&umm->lock);
	for (rb = rb_first(&umm->index); rb; rb = rb_next(rb))
		nr++;
	spin_unlock(&umm->lock);

	dup = kvmalloc(struct_size(dup, old, nr), GFP_KERNEL | __GFP_NOFAIL);
	dup->mm = newmm;
	mmget(newmm);
	dup->nr = nr;

	/* There may be less now, not more. */
	nr = 0;
	spin_lock(&umm->lock);
	for (rb = rb_first(&umm->index); rb; rb = rb_next(rb)) {
		struct probepoint *point;

		point = rb_entry(rb, struct probepoint, rb);
		dup->old[nr].vaddr = point->vaddr;
		dup->old[nr].opcode = foreign_opcode(point);
		nr++;
	}
	spin_unlock(&umm->lock);
	dup->nr = nr;

	dup->slots = uretprobe_collect(umm, &dup->nr_slots);
	dup->sems = uprobe_inode_sems(umm, &dup->nr_sems);
	uprobe_make_task(current, umm)->dup = dup;
}

/* Returns false if a breakpoint had to stay. */
static bool clean_child(struct uprobes_mm *umm, struct uprobe_dup *dup)
{
	struct mm_struct *mm = dup->mm;
	struct uretprobe_slot *slots;
	unsigned int i, nr_slots;
	bool clean = true;

	mmap_write_lock(mm);
	for (i = 0; i < dup->nr; i++) {
		int ret = uprobe_text_swap(mm, dup->old[i].vaddr,
					   UPROBE_SWBP_INSN,
					   dup->old[i].opcode);

		/* The child may have been given less than all mappings. */
		if (ret && ret != -ESTALE && ret != -ENOENT)
			clean = false;
		else
			uprobe_text_share(mm, dup->old[i].vaddr);
	}
	for (i = 0; i < dup->nr_sems; i++)
		uprobe_sem_add(mm, dup->sems[i], -1);
	/*
	 * Calls that began while memory was copied come first. Those that
	 * returned meanwhile have not in the child.
	 */
	slots = uretprobe_collect(umm, &nr_slots);
	clean &= uretprobe_clean(umm, mm, slots, nr_slots);
	clean &= uretprobe_clean(umm, mm, dup->slots, dup->nr_slots);
	mmap_write_unlock(mm);

	clean = clean &&
		uretprobe_inherit(umm, mm, dup->slots, dup->nr_slots) &&
		uretprobe_inherit(umm, mm, slots, nr_slots);
	kvfree(slots);
	return clean;
}

/**
 * uprobe_end_dup_mmap() - fork has copied the memory, or failed to
 *
 * Take the breakpoints out of the child's text, and let calls in progress
 * return there without us. Nothing executes it yet.
 */
void uprobe_end_dup_mmap(void)
{
	struct uprobe_task *utask = current->utask;
	struct uprobe_dup *dup = utask ? utask->dup : NULL;

	if (likely(!dup))
		return;
	utask->dup = NULL;
	/* Set by a fork that failed. */
	if (!test_bit(MMF_UNSTABLE, &dup->mm->flags))
		utask->unclean_child = !clean_child(utask->umm, dup);
	mmput(dup->mm);
	kvfree(dup->slots);
	kvfree(dup->sems);
	kvfree(dup);
}

/* A child whose memory could not be cleaned for want of some must not run. */
static void copy_calls_and_probes(struct task_struct *t, unsigned long flags)
{
	struct uprobe_task *utask = current->utask;

	if (flags & CLONE_VM) {
		if (utask && utask->return_instances)
			uretprobe_copy(t);
		return;
	}
	if (utask && utask->unclean_child) {
		utask->unclean_child = false;
		pr_warn_once("breakpoints cannot be removed from a child\n");
		send_sig(SIGKILL, t, 1);
		return;
	}
	if (utask && utask->return_instances) {
		uretprobe_copy_link(t);
		uretprobe_adopt(t);
	}
	uprobe_inherit(t);
}

/**
 * uprobe_copy_process() - current made a thread or a process
 * @t: the child, which did not run yet
 * @flags: of clone()
 *
 * Context: process context, sleeps.
 */
void uprobe_copy_process(struct task_struct *t, unsigned long flags)
{
	t->utask = NULL;
	if (unlikely(!current->mm))
		return;
	if (unlikely(umm_of(current->mm)))
		copy_calls_and_probes(t, flags);
	if (!(flags & CLONE_VM))
		uprobe_inode_fork(t->mm);
}

/**
 * uprobe_clear_state() - the last user of an address space is gone
 * @mm: the address space
 *
 * No thread can hit anything in it any more. Its probes go, but for those which
 * somebody else is just removing: uprobe_disarm_site() follows for these.
 */
void uprobe_clear_state(struct mm_struct *mm)
{
	struct uprobes_mm *umm = umm_of(mm);
	struct probepoint *point, *next_point;
	struct probe_site *site, *next;

	if (likely(!umm))
		return;

	mutex_lock(&umm->mutex);
	umm->mm = NULL;
	umm->tramp_point = NULL;
	WRITE_ONCE(mm->uprobes_state.xol_area, NULL);
	list_for_each_entry_safe(point, next_point, &umm->points, node) {
		unlink_point(point);

		list_for_each_entry_safe(site, next, &point->sites, node)
			uprobe_forget_site(site);
		if (!list_empty(&point->sites))
			continue;
		list_del(&point->node);
		put_point(point);
	}
	mutex_unlock(&umm->mutex);
	uprobe_put_umm(umm);
}

static struct notifier_block die_nb = {
	.notifier_call = arch_uprobe_exception_notify,
	/* Behind hardware breakpoints, which look at the same trap. */
	.priority = INT_MAX - 1,
};

/**
 * uprobes_init() - once, before there are processes
 */
void __init uprobes_init(void)
{
	task_cache = KMEM_CACHE(uprobe_task, SLAB_PANIC | SLAB_ACCOUNT);
	point_cache = kmem_cache_create("uprobe_point",
					sizeof(struct probepoint), 0,
					SLAB_PANIC, NULL);
	uretprobes_init();
	register_die_notifier(&die_nb);
}
