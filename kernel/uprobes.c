// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space probes: run a handler in the kernel whenever a thread of one
 * process reaches one address.
 *
 * A probe (struct uprobe) is its caller's. For each one that is registered the
 * engine has a struct probe, which hangs on the probepoint of its address: the
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
 *     gives the SIGTRAP that it would have given without us.
 *  3. The instruction is executed: emulated on the saved registers if the
 *     architecture can do that, else by one step through its copy. A signal
 *     that comes meanwhile waits for that one instruction; a fault that the
 *     copy raises is moved to the probed address before it is seen.
 *  4. The trap behind the step (uprobe_post_sstep_notifier()) leads back to
 *     uprobe_notify_resume(), which hides where the instruction was executed.
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
 *  - fork() copies the breakpoints; they are taken out of the child's text
 *    before it can be seen (uprobe_dup_mmap(), uprobe_end_dup_mmap()).
 *  - When the last user of an address space is gone, by exec or exit, all of
 *    its probes are, and a later unregister finds nothing to do
 *    (uprobe_clear_state()).
 *
 * Lock order:
 *
 *	umm->mutex		registration and removal in an address space
 *	    mmap_lock		for writing whenever we change text, or add to
 *				the table
 *		umm->lock	table and index of probepoints
 *	    probes_mutex	uprobe.probe, and the list of all probes
 *
 * Handlers run with none of them held. A hit that is not as it should be takes
 * the mmap_lock inside its SRCU section, and a handler any lock of its own; so
 * nobody waits for a grace period with a lock held.
 */

#define pr_fmt(fmt) "uprobes: " fmt

#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/kdebug.h>
#include <linux/list_sort.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/rseq.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "uprobes.h"

/* Protects uprobe.probe of all probes, all_probes, and probe.disabled. */
static DEFINE_MUTEX(probes_mutex);
static LIST_HEAD(all_probes);

/* uprobe.probe during a registration or removal, and who waits for its end. */
#define PROBE_PENDING	ERR_PTR(-EAGAIN)
static DECLARE_WAIT_QUEUE_HEAD(pending_wq);

/* The file "enabled" in debugfs: off, no handler runs. */
static bool uprobes_enabled = true;

static const struct rhashtable_params table_params = {
	.head_offset = offsetof(struct probepoint, hash),
	.key_offset = offsetof(struct probepoint, vaddr),
	.key_len = sizeof_field(struct probepoint, vaddr),
	.automatic_shrinking = true,
};

/**
 * struct uprobe_dup - the breakpoints that a fork in progress copies
 * @mm: the child's address space, a reference
 * @nr: their number
 * @old: where they are, and what was there before
 */
struct uprobe_dup {
	struct mm_struct *mm;
	unsigned int nr;
	struct {
		unsigned long vaddr;
		uprobe_opcode_t opcode;
	} old[] __counted_by(nr);
};

/*
 * Address spaces and probepoints.
 */

static struct uprobes_mm *umm_of(struct mm_struct *mm)
{
	return READ_ONCE(mm->uprobes_state.xol_area);
}

static void put_umm(struct uprobes_mm *umm)
{
	if (!refcount_dec_and_test(&umm->refs))
		return;
	cleanup_srcu_struct(&umm->srcu);
	rhashtable_destroy(&umm->table);
	uprobe_xol_free(umm);
	kfree_rcu(umm, rcu);
}

static struct uprobes_mm *make_umm(struct mm_struct *mm)
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

	/* Full barrier; umm_of() depends on the pointer. */
	old = cmpxchg(&mm->uprobes_state.xol_area, NULL, umm);
	if (!old)
		return umm;
	put_umm(umm);
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
	put_umm(umm);
}

/* Inside an SRCU section, or with a lock that keeps the probepoint. */
static struct probepoint *find_point(struct uprobes_mm *umm,
				     unsigned long vaddr)
{
	return rhashtable_lookup_fast(&umm->table, &vaddr, table_params);
}

static uprobe_opcode_t old_opcode(const struct probepoint *point)
{
	return *(uprobe_opcode_t *)point->arch.insn;
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

/* The first references of unlinked probepoints, after a grace period. */
static void put_points(struct list_head *points)
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
	struct probepoint *point;
	struct rb_node *rb;
	int ret;

	ret = uprobe_text_check(umm->mm, vaddr);
	if (ret)
		return ret;
	ret = uprobe_text_read(umm->mm, vaddr, buf, len);
	if (ret < 0)
		return ret;

	spin_lock(&umm->lock);
	point = first_point(umm, vaddr, vaddr + ret);
	for (rb = point ? &point->rb : NULL; rb; rb = rb_next(rb)) {
		uprobe_opcode_t opcode, is;
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
	len = read_text(umm, point->vaddr, aup->insn, sizeof(aup->insn));
	mmap_read_unlock(umm->mm);
	if (len < 0)
		return len;

	if (is_trap_insn((uprobe_opcode_t *)aup->insn))
		return -EEXIST;
	ret = arch_uprobe_analyze_insn(aup, umm->mm, point->vaddr);
	if (ret)
		return ret;
	/* Behind what could be read it took zeroes for an instruction. */
	return arch_uprobe_insn_len(aup) <= len ? 0 : -EINVAL;
}

/* Write the breakpoint, unless the text is no longer what was analysed. */
static int arm_point(struct probepoint *point)
{
	struct uprobes_mm *umm = point->umm;
	unsigned int len = arch_uprobe_insn_len(&point->arch);
	u8 now[sizeof(point->arch.insn)] = {};
	int ret;

	mmap_write_lock(umm->mm);
	ret = read_text(umm, point->vaddr, now, len);
	if (ret < 0)
		goto unlock;
	ret = is_trap_insn((uprobe_opcode_t *)now) ? -EEXIST : -EIO;
	if (memcmp(now, point->arch.insn, len))
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

/* One that fails with its address already in the table is moved to @points. */
static struct probepoint *make_point(struct uprobes_mm *umm,
				     unsigned long vaddr,
				     struct list_head *points)
{
	struct probepoint *point;
	int ret;

	point = kzalloc(sizeof(*point), GFP_KERNEL);
	if (!point)
		return ERR_PTR(-ENOMEM);
	refcount_set(&point->refs, 1);
	INIT_LIST_HEAD(&point->probes);
	point->vaddr = vaddr;
	point->umm = umm;
	refcount_inc(&umm->refs);

	ret = analyze_point(point);
	if (!ret && arch_uprobe_needs_slot(&point->arch))
		ret = uprobe_xol_get(point);
	if (!ret)
		ret = arm_point(point);
	if (!ret) {
		list_add(&point->node, &umm->points);
		return point;
	}

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
	uprobe_opcode_t opcode;

	if (uprobe_text_read(umm->mm, point->vaddr, (u8 *)&opcode,
			     sizeof(opcode)) != sizeof(opcode))
		return false;
	return opcode == UPROBE_SWBP_INSN &&
	       read_text(umm, point->vaddr, now, len) == len &&
	       !memcmp(now, point->arch.insn, len);
}

/*
 * Take the breakpoint out of the text, with the mmap_lock held for writing, and
 * give the page back. Returns false if it may still be there: then the
 * probepoint has to stay.
 */
static bool restore_text(struct probepoint *point)
{
	int ret;

	if (READ_ONCE(point->gone))
		return true;
	ret = uprobe_text_swap(point->umm->mm, point->vaddr, UPROBE_SWBP_INSN,
			       old_opcode(point));
	if (ret && ret != -ESTALE && ret != -ENOENT)
		return false;
	uprobe_text_share(point->umm->mm, point->vaddr);
	return true;
}

/*
 * The probepoint that is there, if it still is of use: when the program has
 * changed the instruction, or unmapped its copy, that one is gone.
 */
static struct probepoint *existing_point(struct uprobes_mm *umm,
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
	if (!ret && (!point_intact(point) || uprobe_xol_is_dead(point))) {
		ret = -EIO;
		if (restore_text(point)) {
			unlink_point(point);
			ret = 0;
			point = NULL;
		}
	}
	mmap_write_unlock(umm->mm);
	return ret ? ERR_PTR(ret) : point;
}

static int arm_probe(struct probe *probe, struct mm_struct *mm)
{
	struct uprobes_mm *umm = make_umm(mm);
	struct probepoint *point;
	LIST_HEAD(points);
	int ret = 0;

	if (!umm)
		return -ENOMEM;
	probe->umm = umm;
	refcount_inc(&umm->refs);

	mutex_lock(&umm->mutex);
	if (uprobe_xol_contains(umm, probe->u->vaddr)) {
		ret = -EINVAL;
		goto unlock;
	}
	point = existing_point(umm, probe->u->vaddr);
	if (!point)
		point = make_point(umm, probe->u->vaddr, &points);
	if (IS_ERR(point)) {
		ret = PTR_ERR(point);
		goto unlock;
	}
	probe->point = point;
	list_add_tail_rcu(&probe->node, &point->probes);
unlock:
	mutex_unlock(&umm->mutex);

	/* A thread may have met a foreign breakpoint, and found ours. */
	if (!list_empty(&points))
		synchronize_srcu(&umm->srcu);
	put_points(&points);
	return ret;
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

/* The mm core does nothing for a task that is going to die. A worker is not. */
static bool disarm_for_dying(struct probepoint *point)
{
	struct disarm_work dw = { .point = point };

	INIT_WORK_ONSTACK(&dw.work, disarm_work_fn);
	queue_work(system_unbound_wq, &dw.work);
	flush_work(&dw.work);
	destroy_work_on_stack(&dw.work);
	return dw.restored;
}

/*
 * Unlink @probe from its probepoint. A probepoint without a probe loses its
 * first reference: it is moved to @points, to be dropped after a grace period.
 *
 * A breakpoint that cannot be taken out keeps its probepoint, without a probe:
 * hits go on as if there were none.
 */
static void disarm_probe(struct probe *probe, struct list_head *points)
{
	struct probepoint *point = probe->point;
	struct uprobes_mm *umm = probe->umm;
	struct mm_struct *mm = NULL;
	bool restored = true;

	mutex_lock(&umm->mutex);
	list_del_rcu(&probe->node);
	if (!list_empty(&point->probes))
		goto unlock;

	if (umm->mm && mmget_not_zero(umm->mm))
		mm = umm->mm;
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
 * Registration.
 */

static bool in_handler(void)
{
	return current->utask && current->utask->auprobe;
}

static void free_probe(struct probe *probe)
{
	if (probe->umm)
		put_umm(probe->umm);
	put_pid(probe->tgid);
	free_percpu(probe->hits);
	kfree(probe);
}

static struct probe *make_probe(struct uprobe *u)
{
	struct probe *probe = kzalloc(sizeof(*probe), GFP_KERNEL);

	if (!probe)
		return NULL;
	probe->hits = alloc_percpu(unsigned long);
	if (!probe->hits) {
		kfree(probe);
		return NULL;
	}
	probe->u = u;
	probe->disabled = u->flags & UPROBE_FLAG_DISABLED;
	return probe;
}

/* The address space of a process, any of whose threads may have exited. */
static struct mm_struct *process_mm(struct task_struct *task)
{
	struct mm_struct *mm = NULL;
	struct task_struct *t;

	rcu_read_lock();
	for_each_thread(task, t) {
		mm = get_task_mm(t);
		if (mm)
			break;
	}
	rcu_read_unlock();
	return mm;
}

static void publish_probe(struct uprobe *u, struct probe *probe)
{
	mutex_lock(&probes_mutex);
	if (probe)
		list_add_tail(&probe->all, &all_probes);
	/* Pairs with the acquire in is_pending(): all is done with @u. */
	smp_store_release(&u->probe, probe);
	mutex_unlock(&probes_mutex);
	wake_up_all(&pending_wq);
}

static bool is_pending(struct uprobe *u)
{
	/* Pairs with the release in publish_probe(). */
	return smp_load_acquire(&u->probe) == PROBE_PENDING;
}

/* Returns true if there was something to wait for. */
static bool wait_pending(struct uprobe *u)
{
	if (!is_pending(u))
		return false;
	wait_event(pending_wq, !is_pending(u));
	return true;
}

static int attach_probe(struct probe *probe)
{
	struct mm_struct *mm, *now;
	struct task_struct *task;
	LIST_HEAD(points);
	int ret;

	task = find_get_task_by_vpid(probe->u->pid);
	if (!task)
		return -ESRCH;
	ret = -EINVAL;
	if (task->flags & PF_KTHREAD)
		goto put_task;

	ret = -ESRCH;
	mm = process_mm(task);
	if (!mm)
		goto put_task;
	probe->tgid = get_task_pid(task, PIDTYPE_TGID);
	ret = probe->tgid ? arm_probe(probe, mm) : -ESRCH;
	if (ret)
		goto put_mm;

	/* It may have executed another program meanwhile. */
	now = process_mm(task);
	if (now != mm) {
		ret = -ESRCH;
		disarm_probe(probe, &points);
		synchronize_srcu(&probe->umm->srcu);
		put_points(&points);
	}
	if (now)
		mmput(now);
put_mm:
	/* Known before its address space can die, and take it along. */
	if (!ret)
		publish_probe(probe->u, probe);
	mmput(mm);
put_task:
	put_task_struct(task);
	return ret;
}

static int check_uprobe(const struct uprobe *u)
{
	if (!u || !u->handler)
		return -EINVAL;
	if (u->flags & ~(UPROBE_FLAG_DISABLED | UPROBE_FLAG_INHERIT))
		return -EINVAL;
	if (u->flags & UPROBE_FLAG_INHERIT)
		return -EOPNOTSUPP;
	return 0;
}

/**
 * register_uprobe() - set a probe
 * @u: the probe; see struct uprobe for what to fill in
 *
 * When this returns 0 the probe is armed. No thread of the process was stopped
 * and no system call interrupted, whatever the process was doing. Until
 * unregister_uprobe() @u belongs to the engine, and its handler has to stay
 * where it is. Several probes may be set at one address.
 *
 * The caller says that an instruction begins at @u->vaddr: one that begins
 * elsewhere is cut in two, which the engine cannot see.
 *
 * Context: process context, sleeps. Not from a handler yet (-EOPNOTSUPP).
 *
 * Return:
 * * %0 - armed.
 * * %-EINVAL - @u is NULL or has no handler or unknown flags, @u->pid is a
 *   kernel thread, nothing executable is mapped at @u->vaddr, the address is
 *   the engine's own, or the instruction there is not in memory to its end.
 * * %-ESRCH - no process with a thread @u->pid, or it exited or executed
 *   another program meanwhile.
 * * %-EBUSY - @u is registered.
 * * %-EAGAIN - @u is just being registered or unregistered.
 * * %-EEXIST - the program, or a debugger, has its own breakpoint there.
 * * %-EOPNOTSUPP - the instruction cannot be executed faithfully away from
 *   its place, or the mapping is shared with other processes, or the
 *   architecture or mode is not supported.
 * * %-EIO - text cannot be read or written.
 * * %-ENOMEM - no memory.
 * * %-ENOSPC - no room in the process for the copy of an instruction.
 */
int register_uprobe(struct uprobe *u)
{
	struct probe *probe;
	int ret;

	ret = check_uprobe(u);
	if (ret)
		return ret;
	if (in_handler())
		return -EOPNOTSUPP;

	mutex_lock(&probes_mutex);
	if (!u->probe)
		u->probe = PROBE_PENDING;
	else
		ret = PTR_ERR_OR_ZERO(u->probe) ?: -EBUSY;
	mutex_unlock(&probes_mutex);
	if (ret)
		return ret;

	u->nmissed = 0;
	probe = make_probe(u);
	ret = probe ? attach_probe(probe) : -ENOMEM;
	if (!ret)
		return 0;

	if (probe)
		free_probe(probe);
	publish_probe(u, NULL);
	return ret;
}
EXPORT_SYMBOL_GPL(register_uprobe);

/**
 * register_uprobes() - set several probes, or none
 * @us: the probes, each as for register_uprobe()
 * @n: their number
 *
 * Context: as register_uprobe().
 *
 * Return: 0 when all are armed, otherwise the error of the first that could not
 * be, and none is; -EINVAL also when @n is not positive.
 */
int register_uprobes(struct uprobe **us, int n)
{
	int i, ret;

	if (!us || n <= 0)
		return -EINVAL;
	if (in_handler())
		return -EOPNOTSUPP;

	for (i = 0; i < n; i++) {
		ret = register_uprobe(us[i]);
		if (ret) {
			unregister_uprobes(us, i);
			return ret;
		}
	}
	return 0;
}
EXPORT_SYMBOL_GPL(register_uprobes);

/*
 * Whoever gets the probe is the one to disarm and free it. Until that is done
 * the object is pending.
 */
static struct probe *detach_probe(struct uprobe *u)
{
	struct probe *probe = NULL;

	mutex_lock(&probes_mutex);
	if (!IS_ERR_OR_NULL(u->probe)) {
		probe = u->probe;
		u->probe = PROBE_PENDING;
		list_del(&probe->all);
	}
	mutex_unlock(&probes_mutex);
	return probe;
}

static int cmp_umm(void *priv, const struct list_head *a,
		   const struct list_head *b)
{
	return list_entry(a, struct probe, all)->umm >
	       list_entry(b, struct probe, all)->umm;
}

/* Remove detached probes, linked by @all: one grace period a process. */
static void remove_probes(struct list_head *probes)
{
	struct uprobes_mm *umm = NULL;
	struct probe *probe, *next;
	LIST_HEAD(points);

	list_for_each_entry(probe, probes, all)
		disarm_probe(probe, &points);

	list_sort(NULL, probes, cmp_umm);
	list_for_each_entry(probe, probes, all) {
		if (probe->umm != umm)
			synchronize_srcu(&probe->umm->srcu);
		umm = probe->umm;
	}
	list_for_each_entry_safe(probe, next, probes, all) {
		publish_probe(probe->u, NULL);
		free_probe(probe);
	}
	put_points(&points);
}

/**
 * unregister_uprobes() - remove several probes
 * @us: the probes
 * @n: their number
 *
 * As unregister_uprobe() of each, with one wait for all of them together.
 *
 * Context: as unregister_uprobe().
 */
void unregister_uprobes(struct uprobe **us, int n)
{
	bool again = us;
	int i;

	if (WARN_ONCE(in_handler(), "unregistering from a handler\n"))
		return;

	while (again) {
		LIST_HEAD(probes);

		for (i = 0; i < n; i++) {
			struct probe *probe = us[i] ? detach_probe(us[i]) : NULL;

			if (probe)
				list_add_tail(&probe->all, &probes);
		}
		remove_probes(&probes);

		/* Somebody else is at it. If he registered it, remove it. */
		again = false;
		for (i = 0; i < n; i++)
			again |= us[i] && wait_pending(us[i]);
	}
}
EXPORT_SYMBOL_GPL(unregister_uprobes);

/**
 * unregister_uprobe() - remove a probe
 * @u: the probe
 *
 * When this returns no handler of @u is running or will run, and @u may be
 * freed. Text is as it was before, unless another probe is there, or the
 * program itself wrote there.
 *
 * Nothing happens for NULL, nor for an object that is not registered: it never
 * was, its registration failed, it was removed, or its process is gone. If @u
 * is just being registered or removed by somebody else, that is waited for.
 *
 * Context: process context, sleeps; waits for handlers that are running. Not
 * from a handler yet: that warns and does nothing.
 */
void unregister_uprobe(struct uprobe *u)
{
	unregister_uprobes(&u, 1);
}
EXPORT_SYMBOL_GPL(unregister_uprobe);

static int set_disabled(struct uprobe *u, bool disabled)
{
	int ret = -EINVAL;

	if (!u)
		return ret;

	mutex_lock(&probes_mutex);
	if (!IS_ERR_OR_NULL(u->probe)) {
		WRITE_ONCE(u->probe->disabled, disabled);
		u->flags &= ~UPROBE_FLAG_DISABLED;
		if (disabled)
			u->flags |= UPROBE_FLAG_DISABLED;
		ret = 0;
	}
	mutex_unlock(&probes_mutex);
	return ret;
}

/**
 * enable_uprobe() - let the handler of a probe run again
 * @u: the probe
 *
 * Context: process context, may sleep.
 *
 * Return: 0, or -EINVAL when @u is not registered, or register_uprobe() has not
 * returned yet.
 */
int enable_uprobe(struct uprobe *u)
{
	return set_disabled(u, false);
}
EXPORT_SYMBOL_GPL(enable_uprobe);

/**
 * disable_uprobe() - let the handler of a probe rest
 * @u: the probe
 *
 * The probe stays registered. Hits that begin after this has returned do not
 * run the handler, and do not count as missed; one that is under way may.
 *
 * Context: process context, may sleep.
 *
 * Return: 0, or -EINVAL when @u is not registered, or register_uprobe() has not
 * returned yet.
 */
int disable_uprobe(struct uprobe *u)
{
	return set_disabled(u, true);
}
EXPORT_SYMBOL_GPL(disable_uprobe);

#ifdef CONFIG_MODULES
/*
 * A module that is unloaded takes its handlers along. Probes in processes that
 * have ended are gone already, so what is found here it forgot.
 */
static int module_notify(struct notifier_block *self, unsigned long action,
			 void *data)
{
	struct module *mod = data;
	struct probe *probe, *next;
	unsigned int nr = 0;
	LIST_HEAD(probes);

	if (action != MODULE_STATE_GOING)
		return NOTIFY_DONE;

	mutex_lock(&probes_mutex);
	list_for_each_entry_safe(probe, next, &all_probes, all) {
		if (!within_module((unsigned long)probe->u, mod) &&
		    !within_module((unsigned long)probe->u->handler, mod))
			continue;
		probe->u->probe = PROBE_PENDING;
		list_move_tail(&probe->all, &probes);
		nr++;
	}
	mutex_unlock(&probes_mutex);

	if (nr)
		pr_warn("%s is unloaded with %u probes registered: removed\n",
			mod->name, nr);
	remove_probes(&probes);
	return NOTIFY_DONE;
}

static struct notifier_block module_nb = {
	.notifier_call = module_notify,
};
#endif

/*
 * The hit.
 */

/* A thread cannot go on without it: its instruction has to be executed. */
static struct uprobe_task *get_utask(void)
{
	if (!current->utask)
		current->utask = kzalloc(sizeof(*current->utask),
					 GFP_KERNEL | __GFP_NOFAIL);
	return current->utask;
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
	force_sig(SIGTRAP);
}

bool __weak arch_uprobe_ignore(struct arch_uprobe *aup, struct pt_regs *regs)
{
	return false;
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

/* A child that shares the memory is another process. */
static bool concerns_current(struct probe *probe)
{
	return probe->tgid == task_tgid(current) &&
	       READ_ONCE(uprobes_enabled) && !READ_ONCE(probe->disabled);
}

static void run_handlers(struct probepoint *point, struct pt_regs *regs)
{
	struct probe *probe;

	list_for_each_entry_srcu(probe, &point->probes, node,
				 srcu_read_lock_held(&point->umm->srcu)) {
		if (!concerns_current(probe))
			continue;
		this_cpu_inc(*probe->hits);
		probe->u->handler(probe->u, regs);
	}
}

/* With the mmap_lock held for writing, so that threads take turns. */
static void count_missed(struct probepoint *point)
{
	struct probe *probe;

	list_for_each_entry_srcu(probe, &point->probes, node,
				 srcu_read_lock_held(&point->umm->srcu)) {
		if (concerns_current(probe))
			WRITE_ONCE(probe->u->nmissed, probe->u->nmissed + 1);
	}
}

static void end_step(struct uprobe_task *utask)
{
	put_point(utask->active);
	utask->active = NULL;
	/* Signals, job control and the freezer: get_signal() sorts them out. */
	if (utask->denied)
		set_thread_flag(TIF_SIGPENDING);
	utask->denied = false;
}

static void begin_step(struct uprobe_task *utask, struct pt_regs *regs)
{
	if (!arch_uprobe_pre_xol(&utask->active->arch, regs))
		return;
	end_step(utask);
	force_sig(SIGILL);
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
	known = uprobe_text_read(mm, vaddr, (u8 *)&text[1], size) == size;
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

	if (!point->mutable || len <= size)
		return false;
	if (copy_from_user(now, (void __user *)(point->vaddr + size),
			   len - size) ||
	    !memcmp(now, point->arch.insn + size, len - size))
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
	if (restored)
		unlink_point(point);
	mmap_write_unlock(current->mm);
	if (!restored)
		force_sig(SIGBUS);
}

static bool can_execute(struct probepoint *point, struct pt_regs *regs)
{
	return !went_stale(point) && !uprobe_xol_is_dead(point) &&
	       !arch_uprobe_ignore(&point->arch, regs);
}

static void handle_hit(struct uprobe_task *utask, struct pt_regs *regs)
{
	struct uprobes_mm *umm = umm_of(current->mm);
	unsigned long ip = instruction_pointer(regs);
	unsigned long vaddr = uprobe_get_swbp_addr(regs);
	struct probepoint *point;

	instruction_pointer_set(regs, vaddr);

	utask->srcu_idx = srcu_read_lock(&umm->srcu);
	point = find_point(umm, vaddr);
	if (!point) {
		handle_foreign_trap(regs, vaddr, ip);
		goto unlock;
	}
	if (!can_execute(point, regs)) {
		abandon_point(point);
		goto unlock;
	}

	utask->auprobe = &point->arch;
	run_handlers(point, regs);
	utask->auprobe = NULL;

	/* A restartable sequence that a handler slept in ends before it. */
	if (test_thread_flag(TIF_NOTIFY_RESUME))
		rseq_handle_notify_resume(NULL, regs);

	if (instruction_pointer(regs) != vaddr)
		goto unlock;
	if (arch_uprobe_skip_sstep(&point->arch, regs))
		goto unlock;

	refcount_inc(&point->refs);
	utask->active = point;
	utask->vaddr = vaddr;
	utask->xol_vaddr = point->xol_vaddr;
unlock:
	srcu_read_unlock(&umm->srcu, utask->srcu_idx);
	if (utask->active)
		begin_step(utask, regs);
}

/**
 * uprobe_notify_resume() - work of a thread with TIF_UPROBE before user mode
 * @regs: its registers
 *
 * Context: process context, sleeps.
 */
void uprobe_notify_resume(struct pt_regs *regs)
{
	struct uprobe_task *utask = get_utask();

	clear_thread_flag(TIF_UPROBE);
	if (utask->active)
		handle_step(utask, regs);
	else
		handle_hit(utask, regs);
}

/**
 * uprobe_pause_step() - a restartable sequence may have to be aborted
 * @regs: the registers of current
 *
 * Whether it has to depends on where the thread is in the program, so it leaves
 * the copy, which it did not execute yet. If it is still there afterwards,
 * uprobe_notify_resume() sends it back.
 */
void uprobe_pause_step(struct pt_regs *regs)
{
	struct uprobe_task *utask = current->utask;

	if (likely(!utask || !utask->active) ||
	    instruction_pointer(regs) != utask->xol_vaddr)
		return;
	arch_uprobe_abort_xol(&utask->active->arch, regs);
	utask->paused = true;
	set_thread_flag(TIF_UPROBE);
}

/**
 * uprobe_deny_signal() - may a signal be delivered now?
 *
 * Not between a hit and the trap behind the copy: the frame would show the
 * copy, and who returns to it would execute it without us. If the step cannot
 * come to its end, because the copy raised a fault or the thread has to die, it
 * is undone here.
 *
 * Return: true when signals have to wait. They are looked at anew after the
 * step.
 */
bool uprobe_deny_signal(void)
{
	struct uprobe_task *utask = current->utask;

	if (likely(!utask || !utask->active))
		return false;

	clear_thread_flag(TIF_SIGPENDING);
	/*
	 * A fatal signal is queued first and then sets the flag. If that was
	 * before we cleared it, we see the signal below.
	 */
	smp_mb__after_atomic();
	utask->denied = true;
	if (!arch_uprobe_xol_was_trapped(current) &&
	    !__fatal_signal_pending(current))
		return true;

	arch_uprobe_abort_xol(&utask->active->arch, current_pt_regs());
	end_step(utask);
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
 * uprobe_get_trampoline_vaddr() - where return-probed functions return to
 *
 * Return: UPROBE_NO_TRAMPOLINE_VADDR, there are no return probes yet.
 */
unsigned long uprobe_get_trampoline_vaddr(void)
{
	return UPROBE_NO_TRAMPOLINE_VADDR;
}

/*
 * The life of a thread and of an address space.
 */

/**
 * uprobe_free_utask() - a thread leaves its address space, or dies
 * @t: current
 *
 * It may do so inside a handler.
 */
void uprobe_free_utask(struct task_struct *t)
{
	struct uprobe_task *utask = t->utask;

	if (!utask)
		return;
	t->utask = NULL;
	if (utask->auprobe)
		srcu_read_unlock(&umm_of(t->mm)->srcu, utask->srcu_idx);
	if (utask->active)
		put_point(utask->active);
	kfree(utask);
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

	rcu_read_lock();
	umm = umm_of(vma->vm_mm);
	if (likely(!umm))
		goto unlock;
	spin_lock(&umm->lock);
	while ((point = first_point(umm, start, end)))
		unlink_point_locked(point);
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
 * Return: 0, or an error of uprobe_text_swap(): the pages must not be moved. Of
 * the probes in them, some may be gone.
 */
int uprobe_mremap(struct vm_area_struct *vma, unsigned long start,
		  unsigned long end)
{
	struct uprobes_mm *umm = umm_of(vma->vm_mm);
	int ret;

	if (likely(!umm))
		return 0;

	for (;;) {
		struct probepoint *point;
		uprobe_opcode_t opcode;

		spin_lock(&umm->lock);
		point = first_point(umm, start, end);
		if (point) {
			start = point->vaddr;
			opcode = old_opcode(point);
		}
		spin_unlock(&umm->lock);
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
	if (!nr)
		return;

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
		dup->old[nr].opcode = old_opcode(point);
		nr++;
	}
	spin_unlock(&umm->lock);
	dup->nr = nr;

	get_utask()->dup = dup;
}

/* Returns false if a breakpoint had to stay. */
static bool clean_child(struct uprobe_dup *dup)
{
	struct mm_struct *mm = dup->mm;
	bool clean = true;
	unsigned int i;

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
	mmap_write_unlock(mm);
	return clean;
}

/**
 * uprobe_end_dup_mmap() - fork has copied the text, or failed to
 *
 * Take the breakpoints out of the child's text. Nothing executes it yet.
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
		utask->unclean_child = !clean_child(dup);
	mmput(dup->mm);
	kvfree(dup);
}

/**
 * uprobe_copy_process() - current made a thread or a process
 * @t: the child, which did not run yet
 * @flags: of clone()
 *
 * A child whose text could not be cleaned for want of memory must not run.
 */
void uprobe_copy_process(struct task_struct *t, unsigned long flags)
{
	struct uprobe_task *utask = current->utask;

	t->utask = NULL;
	if (likely(!utask || !utask->unclean_child))
		return;
	utask->unclean_child = false;
	if (flags & CLONE_VM)
		return;
	pr_warn_once("breakpoints cannot be removed from a child\n");
	send_sig(SIGKILL, t, 1);
}

/**
 * uprobe_clear_state() - the last user of an address space is gone
 * @mm: the address space
 *
 * No thread can hit anything in it any more. Its probes go, but for those which
 * somebody else is just unregistering: disarm_probe() follows for these.
 */
void uprobe_clear_state(struct mm_struct *mm)
{
	struct uprobes_mm *umm = umm_of(mm);
	struct probepoint *point, *next_point;
	struct probe *probe, *next;

	if (likely(!umm))
		return;

	mutex_lock(&umm->mutex);
	umm->mm = NULL;
	WRITE_ONCE(mm->uprobes_state.xol_area, NULL);
	list_for_each_entry_safe(point, next_point, &umm->points, node) {
		unlink_point(point);

		list_for_each_entry_safe(probe, next, &point->probes, node) {
			if (!detach_probe(probe->u))
				continue;
			list_del(&probe->node);
			publish_probe(probe->u, NULL);
			free_probe(probe);
		}
		if (!list_empty(&point->probes))
			continue;
		list_del(&point->node);
		put_point(point);
	}
	mutex_unlock(&umm->mutex);
	put_umm(umm);
}

/*
 * debugfs: uprobes/list and uprobes/enabled.
 */

static void *list_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&probes_mutex);
	return seq_list_start(&all_probes, *pos);
}

static void *list_next(struct seq_file *m, void *v, loff_t *pos)
{
	return seq_list_next(v, &all_probes, pos);
}

static void list_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&probes_mutex);
}

static int list_show(struct seq_file *m, void *v)
{
	struct probe *probe = list_entry(v, struct probe, all);
	unsigned long hits = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		hits += READ_ONCE(*per_cpu_ptr(probe->hits, cpu));

	seq_printf(m, "%d 0x%lx uprobe %ps %lu %lu%s%s\n",
		   pid_nr(probe->tgid), probe->u->vaddr, probe->u->handler,
		   hits, READ_ONCE(probe->u->nmissed),
		   probe->disabled ? " [DISABLED]" : "",
		   READ_ONCE(probe->point->gone) ? " [GONE]" : "");
	return 0;
}

static const struct seq_operations list_sops = {
	.start = list_start,
	.next = list_next,
	.stop = list_stop,
	.show = list_show,
};
DEFINE_SEQ_ATTRIBUTE(list);

static int __init uprobes_debugfs_init(void)
{
	struct dentry *dir = debugfs_create_dir("uprobes", NULL);

	debugfs_create_file("list", 0400, dir, NULL, &list_fops);
	debugfs_create_bool("enabled", 0600, dir, &uprobes_enabled);
	return 0;
}
late_initcall(uprobes_debugfs_init);

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
	register_die_notifier(&die_nb);
#ifdef CONFIG_MODULES
	register_module_notifier(&module_nb);
#endif
}
