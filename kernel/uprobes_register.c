// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space probes: what modules call.
 *
 * An object that is in use has a struct probe. Whoever registers or removes it
 * has it to himself meanwhile ("busy"); others wait for that, or are sent away.
 *
 * Calls from handlers are deferred: a removal waits for handlers to end, and a
 * registration may have to wait for who removes. They are put into a queue of
 * the thread (uprobe_task.ops) and carried out, in the order of the calls, when
 * its handlers are done and it is in no SRCU section (uprobe_run_ops()). What
 * callbacks call is deferred as well, to the end of the same queue. Until an
 * operation is taken off the queue anybody may cancel it.
 *
 * An operation that is carried out is in the list of those until its callback
 * has returned: that is how unregister_uprobe() knows what to wait for after a
 * callback, which may free the object, was given it.
 */

#define pr_fmt(fmt) "uprobes: " fmt

#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/list_sort.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "uprobes.h"

/*
 * Protects uprobe.probe of all objects, the lists below, the queues of deferred
 * calls, and what struct probe says it does.
 */
static DEFINE_MUTEX(probes_mutex);
static LIST_HEAD(all_probes);
static LIST_HEAD(running_ops);
static unsigned int last_batch;

/*
 * Counts the ends of what somebody may wait for. To wait: look at the state and
 * the count with probes_mutex held, then sleep until the count has changed.
 */
static unsigned int events;
static DECLARE_WAIT_QUEUE_HEAD(events_wq);

/* An array of pointers to these is one of pointers to struct uprobe. */
static_assert(offsetof(struct uretprobe, u) == 0);

static void announce(void)
{
	lockdep_assert_held(&probes_mutex);
	WRITE_ONCE(events, events + 1);
	wake_up_all(&events_wq);
}

static void wait_for_event(unsigned int seen)
{
	wait_event(events_wq, READ_ONCE(events) != seen);
}

static bool in_handler(void)
{
	return current->utask && current->utask->handling;
}

static struct uretprobe *to_uretprobe(struct uprobe *u)
{
	return container_of(u, struct uretprobe, u);
}

/*
 * Objects in use.
 */

static void init_op(struct probe *probe, int what)
{
	struct uprobe_op *op = &probe->ops[what];

	INIT_LIST_HEAD(&op->node);
	INIT_LIST_HEAD(&op->run);
	op->what = what;
	op->probe = probe;
	op->u = probe->u;
}

/**
 * uprobe_init_probe() - make an object one that sites can be made of
 * @probe: zeroed
 * @u: its object
 * @type: what that is
 *
 * Return: 0, or -ENOMEM.
 */
int uprobe_init_probe(struct probe *probe, struct uprobe *u,
		      enum uprobe_type type)
{
	probe->hits = alloc_percpu(unsigned long);
	if (!probe->hits)
		return -ENOMEM;
	refcount_set(&probe->refs, 1);
	INIT_LIST_HEAD(&probe->sites);
	probe->u = u;
	probe->type = type;
	probe->returns = type == UPTY_URETPROBE;
	return 0;
}

static struct probe *make_probe(struct uprobe *u, enum uprobe_type type)
{
	struct probe *probe = kzalloc(sizeof(*probe), GFP_KERNEL);

	if (!probe)
		return NULL;
	if (uprobe_init_probe(probe, u, type)) {
		kfree(probe);
		return NULL;
	}
	probe->site.probe = probe;
	probe->site.vaddr = u->vaddr;
	probe->busy = true;
	probe->disabled = u->flags & UPROBE_FLAG_DISABLED;
	probe->inherit = u->flags & UPROBE_FLAG_INHERIT;
	if (type == UPTY_URETPROBE) {
		probe->maxactive = to_uretprobe(u)->maxactive;
		probe->data_size = to_uretprobe(u)->data_size;
	}
	init_op(probe, UPROBE_OP_REGISTER);
	init_op(probe, UPROBE_OP_UNREGISTER);
	return probe;
}

static void put_probe(struct probe *probe)
{
	if (!refcount_dec_and_test(&probe->refs))
		return;
	free_percpu(probe->hits);
	kfree(probe);
}

static bool is_used(struct probe *probe)
{
	lockdep_assert_held(&probes_mutex);
	return !list_empty(&probe->all);
}

static bool is_queued(struct uprobe_op *op)
{
	lockdep_assert_held(&probes_mutex);
	return !list_empty(&op->node) && list_empty(&op->run);
}

/*
 * The object is idle again: put_probe() has to follow. Unless its removal is
 * queued, then this returns false. The object is in use until that is carried
 * out, or cancelled: so nobody frees it meanwhile.
 */
static bool release_object(struct probe *probe)
{
	lockdep_assert_held(&probes_mutex);
	probe->registered = false;
	probe->busy = false;
	announce();
	if (is_queued(&probe->ops[UPROBE_OP_UNREGISTER]))
		return false;
	probe->u->probe = NULL;
	list_del_init(&probe->all);
	return true;
}

static bool release_probe(struct probe *probe)
{
	bool idle;

	mutex_lock(&probes_mutex);
	idle = release_object(probe);
	mutex_unlock(&probes_mutex);
	if (idle)
		put_probe(probe);
	return idle;
}

static int check_object(struct uprobe *u, enum uprobe_type type)
{
	if (!u || u->flags & ~(UPROBE_FLAG_DISABLED | UPROBE_FLAG_INHERIT))
		return -EINVAL;
	if (type == UPTY_UPROBE)
		return u->handler ? 0 : -EINVAL;
	if (!to_uretprobe(u)->handler)
		return -EINVAL;
	return to_uretprobe(u)->data_size > UPROBE_MAX_DATA ? -E2BIG : 0;
}

/* Take an idle object into use. It is busy. */
static struct probe *acquire_object(struct uprobe *u, enum uprobe_type type)
{
	struct probe *probe, *old;
	int ret;

	ret = check_object(u, type);
	if (ret)
		return ERR_PTR(ret);
	probe = make_probe(u, type);
	if (!probe)
		return ERR_PTR(-ENOMEM);

	mutex_lock(&probes_mutex);
	old = u->probe;
	if (!old) {
		u->nmissed = 0;
		u->probe = probe;
		list_add_tail(&probe->all, &all_probes);
	} else if (old->registered && !old->busy &&
		   list_empty(&old->ops[UPROBE_OP_UNREGISTER].node)) {
		ret = -EBUSY;
	} else {
		ret = -EAGAIN;
	}
	mutex_unlock(&probes_mutex);
	if (!ret)
		return probe;
	put_probe(probe);
	return ERR_PTR(ret);
}

/*
 * Sites.
 */

static void free_site(struct probe_site *site)
{
	if (site->umm)
		uprobe_put_umm(site->umm);
	put_pid(site->tgid);
	if (site->probe->inode)
		uprobe_inode_free_site(site);
	else if (site != &site->probe->site)
		kfree(site);
}

static int cmp_umm(void *priv, const struct list_head *a,
		   const struct list_head *b)
{
	return list_entry(a, struct probe_site, link)->umm >
	       list_entry(b, struct probe_site, link)->umm;
}

/**
 * uprobe_release_sites() - free sites, with a grace period for each address space
 * @sites: disarmed
 * @points: what uprobe_disarm_site() put there
 *
 * Context: no lock held, in no SRCU section of the engine. Sleeps.
 */
void uprobe_release_sites(struct list_head *sites, struct list_head *points)
{
	struct probe_site *site, *next;
	struct uprobes_mm *umm = NULL;

	list_sort(NULL, sites, cmp_umm);
	list_for_each_entry(site, sites, link) {
		if (site->umm == umm)
			continue;
		umm = site->umm;
		uprobe_wait_for_hits(umm);
		uretprobe_purge(umm);
	}
	list_for_each_entry_safe(site, next, sites, link)
		free_site(site);
	uprobe_put_points(points);
}

static void remove_sites(struct list_head *sites)
{
	struct probe_site *site;
	LIST_HEAD(points);

	list_for_each_entry(site, sites, link)
		uprobe_disarm_site(site, &points);
	uprobe_release_sites(sites, &points);
}

/**
 * uprobe_forget_site() - an address space dies that a probe is set in
 * @site: there
 *
 * A probe that has no other site is not registered any more. One that somebody
 * removes is left to him.
 *
 * Context: the mutex of @site->umm held; no thread is left in it.
 */
void uprobe_forget_site(struct probe_site *site)
{
	struct probe *probe = site->probe;
	bool idle;

	lockdep_assert_held(&site->umm->mutex);

	if (probe->inode) {
		if (uprobe_inode_forget_site(site))
			free_site(site);
		return;
	}
	mutex_lock(&probes_mutex);
	if (probe->busy) {
		mutex_unlock(&probes_mutex);
		return;
	}
	list_del(&site->node);
	list_del(&site->link);
	idle = list_empty(&probe->sites) && release_object(probe);
	mutex_unlock(&probes_mutex);

	free_site(site);
	if (idle)
		put_probe(probe);
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

/*
 * The address space of @pid's process, with its task. Both are references; it
 * may be that of another program by now.
 */
static struct mm_struct *find_process(pid_t pid, struct task_struct **task)
{
	struct mm_struct *mm = ERR_PTR(-ESRCH);

	*task = find_get_task_by_vpid(pid);
	if (!*task)
		return mm;
	if ((*task)->flags & PF_KTHREAD)
		mm = ERR_PTR(-EINVAL);
	else
		mm = process_mm(*task) ?: mm;
	if (IS_ERR(mm))
		put_task_struct(*task);
	return mm;
}

/* Has the process executed another program since find_process()? */
static bool has_left(struct task_struct *task, struct mm_struct *mm)
{
	struct mm_struct *now = process_mm(task);

	if (now)
		mmput(now);
	return now != mm;
}

static int attach_site(struct probe_site *site, struct mm_struct *mm,
		       struct task_struct *task)
{
	LIST_HEAD(sites);
	int ret;

	site->tgid = get_task_pid(task, PIDTYPE_TGID);
	ret = site->tgid ? uprobe_arm_site(site, mm) : -ESRCH;
	if (ret) {
		free_site(site);
		return ret;
	}
	if (!has_left(task, mm))
		return 0;
	WRITE_ONCE(site->probe->dead, true);
	list_add(&site->link, &sites);
	remove_sites(&sites);
	return -ESRCH;
}

/* Carry out the registration of a busy probe. It is not busy after success. */
static int attach_probe(struct probe *probe)
{
	struct task_struct *task;
	struct mm_struct *mm;
	int ret;

	mm = find_process(probe->u->pid, &task);
	if (IS_ERR(mm))
		return PTR_ERR(mm);

	ret = attach_site(&probe->site, mm, task);
	if (!ret) {
		/* Before the address space can die, and take the site along. */
		mutex_lock(&probes_mutex);
		list_add(&probe->site.link, &probe->sites);
		probe->registered = true;
		probe->busy = false;
		announce();
		mutex_unlock(&probes_mutex);
	}
	mmput(mm);
	put_task_struct(task);
	return ret;
}

/*
 * Deferred calls.
 */

/* From the queue into the hands of current */
static void start_op(struct uprobe_op *op, struct list_head *ops)
{
	lockdep_assert_held(&probes_mutex);
	op->runner = current;
	if (op->u)
		op->callback = op->u->registration_callback;
	list_move_tail(&op->node, ops);
	list_add_tail(&op->run, &running_ops);
}

/* @op is queued. If nobody carries it out yet, nobody will. */
static void cancel_op(struct uprobe_op *op, int result,
		      struct list_head *cancelled)
{
	if (!is_queued(op))
		return;
	op->result = result;
	start_op(op, cancelled);
}

/* With or without its callback, an operation is over. */
static void end_op(struct uprobe_op *op)
{
	mutex_lock(&probes_mutex);
	list_del_init(&op->node);
	list_del_init(&op->run);
	announce();
	mutex_unlock(&probes_mutex);
	put_probe(op->probe);
}

static void end_ops(struct list_head *ops)
{
	struct uprobe_op *op, *next;

	list_for_each_entry_safe(op, next, ops, node) {
		if (op->callback)
			op->callback(op->u, op->what == UPROBE_OP_REGISTER,
				     op->probe->type, op->result);
		end_op(op);
	}
}

/*
 * Take a probe to remove it, and cancel what is queued for it, unless
 * @cancelled is NULL. Returns false when somebody else has it.
 */
static bool claim_probe(struct probe *probe, struct list_head *probes,
			struct list_head *cancelled)
{
	lockdep_assert_held(&probes_mutex);

	if (!is_used(probe))
		return true;
	if (probe->busy)
		return false;
	if (probe->forks) {
		/* Let no more begin. */
		probe->inherit = false;
		return false;
	}
	if (cancelled) {
		cancel_op(&probe->ops[UPROBE_OP_REGISTER], -ECANCELED,
			  cancelled);
		cancel_op(&probe->ops[UPROBE_OP_UNREGISTER], 0, cancelled);
	}
	probe->busy = true;
	WRITE_ONCE(probe->dead, true);
	list_add_tail(&probe->link, probes);
	return true;
}

/*
 * Remove probes that were claimed. Until the grace period is over handlers may
 * have queued what has to be cancelled as well.
 */
static void remove_probes(struct list_head *probes, struct list_head *cancelled)
{
	struct probe *probe, *next;
	LIST_HEAD(sites);

	/* They are busy: nobody else changes their lists. */
	list_for_each_entry(probe, probes, link)
		list_splice_tail_init(&probe->sites, &sites);
	remove_sites(&sites);

	list_for_each_entry_safe(probe, next, probes, link) {
		bool idle;

		mutex_lock(&probes_mutex);
		if (cancelled)
			cancel_op(&probe->ops[UPROBE_OP_UNREGISTER], 0,
				  cancelled);
		idle = release_object(probe);
		mutex_unlock(&probes_mutex);
		if (idle)
			put_probe(probe);
	}
}

/* Is one of them told, by another thread, how a deferred call went? */
static bool in_callback(struct uprobe **us, int n)
{
	struct uprobe_op *op;
	int i;

	lockdep_assert_held(&probes_mutex);
	list_for_each_entry(op, &running_ops, run) {
		for (i = 0; i < n && op->runner != current; i++)
			if (us[i] && us[i] == op->u)
				return true;
	}
	return false;
}

/* A callback may register its object anew, so look again behind each. */
static void remove_objects(struct uprobe **us, int n)
{
	bool again;

	do {
		LIST_HEAD(cancelled);
		LIST_HEAD(probes);
		unsigned int seen;
		int i;

		mutex_lock(&probes_mutex);
		again = in_callback(us, n);
		for (i = 0; i < n; i++) {
			if (us[i] && us[i]->probe)
				again |= !claim_probe(us[i]->probe, &probes,
						      &cancelled);
		}
		seen = events;
		mutex_unlock(&probes_mutex);

		remove_probes(&probes, &cancelled);
		again |= !list_empty(&cancelled);
		end_ops(&cancelled);
		if (again)
			wait_for_event(seen);
	} while (again);
}

/* The same for the probes of operations that are carried out. */
static void remove_probes_of(struct list_head *ops, struct list_head *cancelled)
{
	bool again;

	do {
		struct uprobe_op *op;
		LIST_HEAD(probes);
		unsigned int seen;

		again = false;
		mutex_lock(&probes_mutex);
		list_for_each_entry(op, ops, node)
			again |= !claim_probe(op->probe, &probes, cancelled);
		seen = events;
		mutex_unlock(&probes_mutex);

		remove_probes(&probes, cancelled);
		if (again)
			wait_for_event(seen);
	} while (again);
}

static void run_removals(struct list_head *ops)
{
	LIST_HEAD(cancelled);

	remove_probes_of(ops, &cancelled);
	end_ops(&cancelled);
}

/* The error of an init_uretprobes() that nobody could be told, if it matters. */
static int take_failed_init(struct uprobe_task *utask, struct uprobe_op *op)
{
	int ret = utask->failed_init;

	if (!ret || op->probe->type != UPTY_URETPROBE ||
	    op->u->pid != utask->failed_pid)
		return 0;
	utask->failed_init = 0;
	return ret;
}

/* All of @ops, or none. */
static void run_registrations(struct uprobe_task *utask, struct list_head *ops)
{
	struct uprobe_op *op, *failed = NULL;
	bool ours = false;
	int ret = 0;

	list_for_each_entry(op, ops, node) {
		failed = op;
		ret = take_failed_init(utask, op) ?: attach_probe(op->probe);
		if (ret)
			break;
	}
	if (!ret)
		return;

	list_for_each_entry(op, ops, node) {
		bool idle;

		op->result = ret;
		/* Those before it were registered, and so are not ours. */
		ours |= op == failed;
		mutex_lock(&probes_mutex);
		idle = ours && release_object(op->probe);
		mutex_unlock(&probes_mutex);
		if (idle)
			put_probe(op->probe);
	}
	/* Their own removals, if they are queued, are still to be carried out. */
	remove_probes_of(ops, NULL);
}

/* init_uretprobes(), called from a handler */
struct init_op {
	struct uprobe_op op;
	pid_t pid;
	unsigned long vaddr;
};

static int do_init(pid_t pid, unsigned long vaddr)
{
	struct task_struct *task;
	struct mm_struct *mm;
	int ret;

	mm = find_process(pid, &task);
	if (IS_ERR(mm))
		return PTR_ERR(mm);
	ret = uretprobe_init(mm, vaddr);
	if (!ret && has_left(task, mm))
		ret = -ESRCH;
	mmput(mm);
	put_task_struct(task);
	return ret;
}

static void run_init(struct uprobe_task *utask, struct uprobe_op *op)
{
	struct init_op *init = container_of(op, struct init_op, op);
	int ret = do_init(init->pid, init->vaddr);

	if (ret || init->pid == utask->failed_pid) {
		utask->failed_init = ret;
		utask->failed_pid = init->pid;
	}
	mutex_lock(&probes_mutex);
	list_del(&op->node);
	list_del(&op->run);
	mutex_unlock(&probes_mutex);
	kfree(init);
}

static bool go_together(struct uprobe_op *a, struct uprobe_op *b)
{
	if (a->what != b->what)
		return false;
	return a->what == UPROBE_OP_UNREGISTER || (a->batch && a->batch == b->batch);
}

/* Take the next operations off the queue that can be carried out in one. */
static struct uprobe_op *take_ops(struct uprobe_task *utask,
				  struct list_head *ops)
{
	struct uprobe_op *op, *next, *first = NULL;

	mutex_lock(&probes_mutex);
	list_for_each_entry_safe(op, next, &utask->ops, node) {
		if (first && !go_together(first, op))
			break;
		first = first ?: op;
		op->result = 0;
		start_op(op, ops);
		if (op->what == UPROBE_OP_REGISTER)
			op->probe->busy = true;
	}
	mutex_unlock(&probes_mutex);
	return first;
}

/**
 * uprobe_run_ops() - carry out what handlers deferred
 * @utask: current->utask
 *
 * Context: in no SRCU section of the engine, no lock held. Sleeps.
 */
void uprobe_run_ops(struct uprobe_task *utask)
{
	struct uprobe_op *op;
	LIST_HEAD(ops);

	/* Only current adds to it. */
	if (list_empty(&utask->ops))
		return;
	utask->handling = true;
	while ((op = take_ops(utask, &ops))) {
		switch (op->what) {
		case UPROBE_OP_REGISTER:
			run_registrations(utask, &ops);
			break;
		case UPROBE_OP_UNREGISTER:
			run_removals(&ops);
			break;
		case UPROBE_OP_INIT:
			run_init(utask, op);
			break;
		}
		end_ops(&ops);
	}
	utask->handling = false;
}

static void queue_op(struct uprobe_op *op)
{
	lockdep_assert_held(&probes_mutex);
	refcount_inc(&op->probe->refs);
	list_add_tail(&op->node, &current->utask->ops);
}

static int defer_registration(struct uprobe **us, int n, enum uprobe_type type)
{
	struct probe *probe;
	int i;

	for (i = 0; i < n; i++) {
		probe = acquire_object(us[i], type);
		if (IS_ERR(probe))
			goto release;
	}

	mutex_lock(&probes_mutex);
	if (!++last_batch)
		last_batch = 1;
	for (i = 0; i < n; i++) {
		us[i]->probe->busy = false;
		us[i]->probe->ops[UPROBE_OP_REGISTER].batch = last_batch;
		queue_op(&us[i]->probe->ops[UPROBE_OP_REGISTER]);
	}
	announce();
	mutex_unlock(&probes_mutex);
	return -EINPROGRESS;

release:
	while (i--)
		release_probe(us[i]->probe);
	return PTR_ERR(probe);
}

static void defer_removal(struct uprobe **us, int n)
{
	int i;

	mutex_lock(&probes_mutex);
	for (i = 0; i < n; i++) {
		struct probe *probe = us[i] ? us[i]->probe : NULL;

		/* Who was first removes it. The second time does nothing. */
		if (probe && list_empty(&probe->ops[UPROBE_OP_UNREGISTER].node))
			queue_op(&probe->ops[UPROBE_OP_UNREGISTER]);
	}
	mutex_unlock(&probes_mutex);
}

static int defer_init(pid_t pid, unsigned long vaddr)
{
	struct init_op *init = kzalloc(sizeof(*init), GFP_KERNEL);

	if (!init)
		return -ENOMEM;
	init->op.what = UPROBE_OP_INIT;
	init->pid = pid;
	init->vaddr = vaddr;
	mutex_lock(&probes_mutex);
	list_add_tail(&init->op.node, &current->utask->ops);
	mutex_unlock(&probes_mutex);
	return -EINPROGRESS;
}

/*
 * The interface.
 */

static int register_object(struct uprobe *u, enum uprobe_type type)
{
	struct probe *probe = acquire_object(u, type);
	int ret;

	if (IS_ERR(probe))
		return PTR_ERR(probe);
	ret = attach_probe(probe);
	if (ret && !release_probe(probe))
		remove_objects(&u, 1);
	return ret;
}

static int register_objects(struct uprobe **us, int n, enum uprobe_type type)
{
	int i, ret;

	if (!us || n <= 0)
		return -EINVAL;
	if (in_handler())
		return defer_registration(us, n, type);

	for (i = 0; i < n; i++) {
		ret = register_object(us[i], type);
		if (ret) {
			remove_objects(us, i);
			return ret;
		}
	}
	return 0;
}

static void unregister_objects(struct uprobe **us, int n)
{
	if (!us)
		return;
	if (in_handler())
		defer_removal(us, n);
	else
		remove_objects(us, n);
}

static int set_disabled(struct uprobe *u, bool disabled)
{
	struct probe *probe;
	int ret = -EINVAL;

	if (!u)
		return ret;

	mutex_lock(&probes_mutex);
	probe = u->probe;
	if (probe && probe->registered && !probe->busy) {
		WRITE_ONCE(probe->disabled, disabled);
		u->flags &= ~UPROBE_FLAG_DISABLED;
		if (disabled)
			u->flags |= UPROBE_FLAG_DISABLED;
		ret = 0;
	}
	mutex_unlock(&probes_mutex);
	return ret;
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
 * Context: process context, sleeps. From a handler, or a callback, the call is
 * deferred until all handlers of this hit have run; @u->registration_callback
 * is told what it would have returned.
 *
 * Return:
 * * %0 - armed.
 * * %-EINPROGRESS - called from a handler: deferred.
 * * %-EINVAL - @u is NULL or has no handler or unknown flags, @u->pid is a
 *   kernel thread, nothing executable is mapped at @u->vaddr, the address is
 *   the engine's own, or the instruction there is not in memory to its end.
 * * %-ESRCH - no process with a thread @u->pid, or it exited or executed
 *   another program meanwhile.
 * * %-EBUSY - @u is registered.
 * * %-EAGAIN - @u is just being registered or unregistered, or that is queued.
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
	return register_objects(&u, 1, UPTY_UPROBE);
}
EXPORT_SYMBOL_GPL(register_uprobe);

/**
 * register_uprobes() - set several probes, or none
 * @us: the probes, each as for register_uprobe()
 * @n: their number
 *
 * Context: as register_uprobe(). If it is deferred and fails, the callback of
 * each probe is told the error.
 *
 * Return: 0 when all are armed, -EINPROGRESS, or the error of the first that
 * could not be, and none is; -EINVAL also when @n is not positive.
 */
int register_uprobes(struct uprobe **us, int n)
{
	return register_objects(us, n, UPTY_UPROBE);
}
EXPORT_SYMBOL_GPL(register_uprobes);

/**
 * unregister_uprobe() - remove a probe
 * @u: the probe
 *
 * When this returns no handler of @u is running or will run, no callback is
 * pending, and @u may be freed. Text is as it was before, unless another probe
 * is there, or the program itself wrote there.
 *
 * Nothing happens for NULL, nor for an object that is not registered: it never
 * was, its registration failed, it was removed, or its process is gone. A
 * registration of @u that a handler deferred is cancelled, and its callback
 * told -ECANCELED, by the calling thread: what it calls of this API acts at
 * once, and must not concern other objects of the same call. If @u is just
 * being registered or removed by somebody else, that is waited for.
 *
 * Context: process context, sleeps; waits for handlers that are running. From a
 * handler, or a callback, the call is deferred until all handlers of this hit
 * have run: then @u may be freed in, or after, @u->registration_callback. That
 * cannot fail.
 */
void unregister_uprobe(struct uprobe *u)
{
	unregister_objects(&u, 1);
}
EXPORT_SYMBOL_GPL(unregister_uprobe);

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
	unregister_objects(us, n);
}
EXPORT_SYMBOL_GPL(unregister_uprobes);

/**
 * enable_uprobe() - let the handler of a probe run again
 * @u: the probe
 *
 * Context: process context, may sleep. Acts at once, in handlers too.
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
 * Context: process context, may sleep. Acts at once, in handlers too.
 *
 * Return: 0, or -EINVAL when @u is not registered, or register_uprobe() has not
 * returned yet.
 */
int disable_uprobe(struct uprobe *u)
{
	return set_disabled(u, true);
}
EXPORT_SYMBOL_GPL(disable_uprobe);

/**
 * init_uretprobes() - say where return-probed functions of a process return to
 * @pid: any thread id of the process
 * @vaddr: 0, or the address of an instruction that the program does not execute
 *	again, like the first one of main()
 *
 * There is no need to call this: without it, the first return probe in a
 * process gives it a place that programs can unwind from, or if there is none,
 * one in the engine's own area. What is set stays until the process ends, or
 * executes another program.
 *
 * Context: as register_uprobe(). If a deferred call fails, the next deferred
 * registration of a return probe in that process, by the same thread, fails
 * with its error.
 *
 * Return:
 * * %0 - done. If @vaddr is 0: there is such a place, whichever.
 * * %-EINPROGRESS - called from a handler: deferred.
 * * %-EEXIST - it is another address already, or there is a breakpoint which is
 *   not the engine's at @vaddr.
 * * any other error of register_uprobe() that does not concern the object.
 */
int init_uretprobes(pid_t pid, unsigned long vaddr)
{
	return in_handler() ? defer_init(pid, vaddr) : do_init(pid, vaddr);
}
EXPORT_SYMBOL_GPL(init_uretprobes);

/**
 * register_uretprobe() - set a return probe
 * @rp: the probe; see struct uretprobe for what to fill in
 *
 * Calls that are in progress are not observed. Otherwise as register_uprobe(),
 * with @rp->u.vaddr the first instruction of a function.
 *
 * Context: as register_uprobe().
 *
 * Return: as register_uprobe(), and
 * * %-E2BIG - @rp->data_size is more than UPROBE_MAX_DATA.
 */
int register_uretprobe(struct uretprobe *rp)
{
	return register_objects((struct uprobe **)&rp, 1, UPTY_URETPROBE);
}
EXPORT_SYMBOL_GPL(register_uretprobe);

/**
 * register_uretprobes() - set several return probes, or none
 * @rps: the probes, each as for register_uretprobe()
 * @n: their number
 *
 * Context: as register_uprobes().
 *
 * Return: as register_uprobes(), with the errors of register_uretprobe().
 */
int register_uretprobes(struct uretprobe **rps, int n)
{
	return register_objects((struct uprobe **)rps, n, UPTY_URETPROBE);
}
EXPORT_SYMBOL_GPL(register_uretprobes);

/**
 * unregister_uretprobe() - remove a return probe
 * @rp: the probe
 *
 * As unregister_uprobe(). Calls in progress return as if there had never been a
 * probe.
 *
 * Context: as unregister_uprobe().
 */
void unregister_uretprobe(struct uretprobe *rp)
{
	unregister_objects((struct uprobe **)&rp, 1);
}
EXPORT_SYMBOL_GPL(unregister_uretprobe);

/**
 * unregister_uretprobes() - remove several return probes
 * @rps: the probes
 * @n: their number
 *
 * As unregister_uretprobe() of each, with one wait for all of them together.
 *
 * Context: as unregister_uprobe().
 */
void unregister_uretprobes(struct uretprobe **rps, int n)
{
	unregister_objects((struct uprobe **)rps, n);
}
EXPORT_SYMBOL_GPL(unregister_uretprobes);

/**
 * enable_uretprobe() - let the handlers of a return probe run again
 * @rp: the probe
 *
 * Context: as enable_uprobe().
 *
 * Return: as enable_uprobe().
 */
int enable_uretprobe(struct uretprobe *rp)
{
	return set_disabled((struct uprobe *)rp, false);
}
EXPORT_SYMBOL_GPL(enable_uretprobe);

/**
 * disable_uretprobe() - let the handlers of a return probe rest
 * @rp: the probe
 *
 * Neither the entry handler nor the handler of a call in progress runs any
 * more.
 *
 * Context: as disable_uprobe().
 *
 * Return: as disable_uprobe().
 */
int disable_uretprobe(struct uretprobe *rp)
{
	return set_disabled((struct uprobe *)rp, true);
}
EXPORT_SYMBOL_GPL(disable_uretprobe);

/**
 * uprobe_count_missed() - a hit, or a return, is not reported
 * @probe: its probe, which is not dead
 *
 * Context: any in which @probe->u is valid.
 */
void uprobe_count_missed(struct probe *probe)
{
	unsigned long *nmissed = &probe->u->nmissed;
	unsigned long old = READ_ONCE(*nmissed);

	while (!try_cmpxchg(nmissed, &old, old + 1))
		;
}

/*
 * Children.
 */

/* Sites for the child, not armed yet. Their probes cannot be removed. */
static void collect_inherited(struct uprobes_mm *umm, struct list_head *sites)
{
	struct probepoint *point;
	struct probe_site *site, *new;

	mutex_lock(&umm->mutex);
	mutex_lock(&probes_mutex);
	list_for_each_entry(point, &umm->points, node) {
		if (READ_ONCE(point->gone))
			continue;
		list_for_each_entry(site, &point->sites, node) {
			struct probe *probe = site->probe;

			if (!probe->inherit || !probe->registered ||
			    probe->busy || site->tgid != task_tgid(current))
				continue;
			new = kzalloc(sizeof(*new), GFP_KERNEL | __GFP_NOFAIL);
			new->probe = probe;
			new->vaddr = point->vaddr;
			list_add_tail(&new->link, sites);
			probe->forks++;
		}
	}
	mutex_unlock(&probes_mutex);
	mutex_unlock(&umm->mutex);
}

/**
 * uprobe_inherit() - let probes with UPROBE_FLAG_INHERIT serve a child
 * @child: of current, with an address space of its own; did not run yet
 *
 * If one cannot be set there, that counts as one missed hit.
 *
 * Context: process context, sleeps.
 */
void uprobe_inherit(struct task_struct *child)
{
	struct probe_site *site, *next;
	LIST_HEAD(sites);

	collect_inherited(umm_of(current->mm), &sites);
	list_for_each_entry_safe(site, next, &sites, link) {
		struct probe *probe = site->probe;
		int ret;

		site->tgid = get_task_pid(child, PIDTYPE_TGID);
		ret = uprobe_arm_site(site, child->mm);
		list_del(&site->link);
		if (ret) {
			uprobe_count_missed(probe);
			free_site(site);
		}

		/* current is alive, so the probe still has its site. */
		mutex_lock(&probes_mutex);
		if (!ret)
			list_add_tail(&site->link, &probe->sites);
		probe->forks--;
		announce();
		mutex_unlock(&probes_mutex);
	}
}

#ifdef CONFIG_MODULES
static bool uses_module(struct probe *probe, struct module *mod)
{
	struct uprobe *u = probe->u;

	if (within_module((unsigned long)u, mod) ||
	    within_module((unsigned long)u->registration_callback, mod))
		return true;
	if (probe->type == UPTY_UPROBE)
		return within_module((unsigned long)u->handler, mod);
	return within_module((unsigned long)to_uretprobe(u)->handler, mod) ||
	       within_module((unsigned long)to_uretprobe(u)->entry_handler, mod);
}

/*
 * Take what @mod has forgotten. Returns true if there was something: one has to
 * look again, behind an event, since others may have been busy with it, and
 * handlers may have queued more until they were removed.
 */
static bool claim_of_module(struct module *mod, struct list_head *probes,
			    struct list_head *cancelled, unsigned int *nr)
{
	struct probe *probe, *next;
	struct uprobe_op *op;
	bool found = false;

	list_for_each_entry_safe(probe, next, &all_probes, all) {
		if (!uses_module(probe, mod))
			continue;
		found = true;
		if (claim_probe(probe, probes, cancelled))
			(*nr)++;
	}
	list_for_each_entry(op, &running_ops, run) {
		if (op->runner != current &&
		    within_module((unsigned long)op->callback, mod))
			found = true;
	}
	return found;
}

/*
 * A module that is unloaded takes its handlers along. Probes in processes that
 * have ended are gone already, so what is found here it forgot.
 */
static int module_notify(struct notifier_block *self, unsigned long action,
			 void *data)
{
	struct uprobe_op *op, *next;
	struct module *mod = data;
	unsigned int nr = 0;
	bool found;

	if (action != MODULE_STATE_GOING)
		return NOTIFY_DONE;

	do {
		LIST_HEAD(cancelled);
		LIST_HEAD(probes);
		unsigned int seen;

		mutex_lock(&probes_mutex);
		found = claim_of_module(mod, &probes, &cancelled, &nr);
		seen = events;
		mutex_unlock(&probes_mutex);

		remove_probes(&probes, &cancelled);
		/* Its callbacks must not be called any more. */
		list_for_each_entry_safe(op, next, &cancelled, node)
			end_op(op);
		if (found)
			wait_for_event(seen);
	} while (found);

	if (nr)
		pr_warn("%s is unloaded with %u probes registered or queued: removed\n",
			mod->name, nr);
	return NOTIFY_DONE;
}

static struct notifier_block module_nb = {
	.notifier_call = module_notify,
};
#endif

/*
 * debugfs: uprobes/list, uprobes/inodes and uprobes/enabled.
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

/**
 * uprobe_count_hits() - how often did the handlers of a probe run?
 * @probe: the probe
 *
 * Context: any.
 *
 * Return: the number.
 */
unsigned long uprobe_count_hits(struct probe *probe)
{
	unsigned long hits = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		hits += READ_ONCE(*per_cpu_ptr(probe->hits, cpu));
	return hits;
}

/* A line for each process that the probe serves. */
static int list_show(struct seq_file *m, void *v)
{
	struct probe *probe = list_entry(v, struct probe, all);
	bool ret = probe->type == UPTY_URETPROBE;
	struct probe_site *site;

	if (!probe->registered || probe->busy)
		return SEQ_SKIP;

	list_for_each_entry(site, &probe->sites, link)
		seq_printf(m, "%d 0x%lx %s %ps %lu %lu%s%s\n",
			   pid_nr(site->tgid), probe->u->vaddr,
			   ret ? "uretprobe" : "uprobe",
			   ret ? (void *)to_uretprobe(probe->u)->handler :
				 (void *)probe->u->handler,
			   uprobe_count_hits(probe),
			   READ_ONCE(probe->u->nmissed),
			   probe->disabled ? " [DISABLED]" : "",
			   READ_ONCE(site->point->gone) ? " [GONE]" : "");
	return 0;
}

static const struct seq_operations list_sops = {
	.start = list_start,
	.next = list_next,
	.stop = list_stop,
	.show = list_show,
};
DEFINE_SEQ_ATTRIBUTE(list);

static int __init uprobes_register_init(void)
{
	struct dentry *dir = debugfs_create_dir("uprobes", NULL);

	debugfs_create_file("list", 0400, dir, NULL, &list_fops);
	debugfs_create_file("inodes", 0400, dir, NULL, &uprobe_inodes_fops);
	debugfs_create_bool("enabled", 0600, dir, &uprobes_enabled);
#ifdef CONFIG_MODULES
	register_module_notifier(&module_nb);
#endif
	return 0;
}
late_initcall(uprobes_register_init);
