// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space probes: what tracefs, perf and BPF call.
 *
 * They probe a place in a file, in whatever process maps it, now or later. Such
 * an inode probe is made of the same parts as the probes of modules: it has a
 * struct probe, and that a site in each address space, for each place where the
 * file is mapped to be executed. What is at the site is shared with all other
 * probes there.
 *
 * Its users are "consumers". As many as like observe one place, and each may have
 * a filter that tells which address spaces it wants. There is a site where any
 * consumer wants one, and then the handlers of all of them are called.
 *
 * Sites come and go with mappings. Those that are there at the registration are
 * found through the file (apply_everywhere()). Those that come later find the
 * probes of their file: a thread that maps something, or is the child of a fork,
 * covers its address space before it goes on to user mode (cover_mm()). Neither
 * misses what the other has not seen: a mapping is in the list of its file before
 * it looks for probes, and a probe is in the tree before it looks for mappings.
 *
 * A call that is observed does not belong to a probe, but to whoever has one at
 * that place in the file when it returns (inode_return()).
 *
 * Lock order, on top of that in uprobes.c:
 *
 *	inode_uprobe.mutex	consumers and sites of one probe
 *	    umm->mutex
 *		...
 *		sites_lock	probe.sites of inode probes
 *	inodes_lock		the tree, innermost
 */

#define pr_fmt(fmt) "uprobes: " fmt

#include <linux/elf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/oom.h>
#include <linux/pagemap.h>
#include <linux/rbtree.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/seqlock.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/task_work.h>

#include "uprobes.h"

/**
 * struct inode_uprobe - a probe in a file
 * @probe: what sites are made of. Its @sites are under sites_lock
 * @u: its object, and the handle that users have
 * @refs: one while it is in the tree, one for each site and for whom works on it
 * @rb: in the tree, changed under inodes_lock
 * @ref_ctr_offset: where in the file the semaphore is, 0 if there is none;
 *	immutable
 * @mutex: serialises changes of @consumers and of sites
 * @consumers: struct uprobe_consumer, changed under @mutex, read under
 *	consumers_srcu
 * @dead: under @mutex; the last consumer has gone, it is no longer in the tree and
 *	has no reference on its file: that is only compared with
 * @rcu: delays the free for who looks it up under consumers_srcu
 */
struct inode_uprobe {
	struct probe probe;
	struct uprobe u;
	refcount_t refs;
	struct rb_node rb;
	loff_t ref_ctr_offset;
	struct mutex mutex; /* consumers, sites */
	struct list_head consumers;
	bool dead;
	struct rcu_head rcu;
};

/**
 * struct inode_site - where a file is mapped
 * @site: the probe there
 * @mm: the address space. It can be dead, but not freed, while the site is in
 *	probe.sites
 * @claimed: under sites_lock; it is being removed, by whom took it off there
 * @sem: under the lock of the address space; its semaphore, if that was
 *	incremented, else 0
 * @node: in umm->sems, while there is @sem
 */
struct inode_site {
	struct probe_site site;
	struct mm_struct *mm;
	bool claimed;
	unsigned long sem;
	struct list_head node;
};

/**
 * struct inode_call - a call that is observed
 * @inode: the file. No reference: it is only compared with
 * @offset: where in it the function is
 * @func: where it is in the process
 */
struct inode_call {
	struct inode *inode;
	loff_t offset;
	unsigned long func;
};

/**
 * struct place - where a probe may be missing, or not wanted any more
 * @node: in a list of places to look at
 * @iu: the probe, a reference
 * @vaddr: the address, or 0
 */
struct place {
	struct list_head node;
	struct inode_uprobe *iu;
	unsigned long vaddr;
};

/**
 * struct cover - memory of current that may have places which are not covered
 * @work: task work
 * @start: from here
 * @end: to here
 */
struct cover {
	struct callback_head work;
	unsigned long start;
	unsigned long end;
};

/*
 * Inode probes by file and offset. Changed under inodes_lock, which the count
 * belongs to: who looks something up without the lock looks again if that was
 * changed meanwhile, since a rotation can hide a node.
 */
static DEFINE_SPINLOCK(inodes_lock);
static seqcount_spinlock_t inodes_seq =
	SEQCNT_SPINLOCK_ZERO(inodes_seq, &inodes_lock);
static struct rb_root inodes = RB_ROOT;
static unsigned int nr_inodes;

/* Protects probe.sites of inode probes. */
static DEFINE_SPINLOCK(sites_lock);

/* Read-held while handlers of consumers run, and while a return looks for them. */
DEFINE_STATIC_SRCU(consumers_srcu);

/* Disarmed, to be freed a grace period later, with their probepoints. */
static DEFINE_SPINLOCK(released_lock);
static LIST_HEAD(released_sites);
static LIST_HEAD(released_points);

static struct inode_uprobe *to_inode_uprobe(struct uprobe *u)
{
	return container_of(u, struct inode_uprobe, u);
}

static struct inode_site *to_inode_site(struct probe_site *site)
{
	return container_of(site, struct inode_site, site);
}

/*
 * The tree.
 */

static void free_inode_uprobe(struct rcu_head *rcu)
{
	struct inode_uprobe *iu = container_of(rcu, struct inode_uprobe, rcu);

	free_percpu(iu->probe.hits);
	kfree(iu);
}

static void put_inode_uprobe(struct inode_uprobe *iu)
{
	if (refcount_dec_and_test(&iu->refs))
		call_srcu(&consumers_srcu, &iu->rcu, free_inode_uprobe);
}

static int cmp_place(const struct inode *inode, loff_t offset,
		     const struct rb_node *rb)
{
	const struct probe *probe;

	probe = &rb_entry(rb, struct inode_uprobe, rb)->probe;
	if (inode != probe->inode)
		return inode < probe->inode ? -1 : 1;
	if (offset != probe->offset)
		return offset < probe->offset ? -1 : 1;
	return 0;
}

static int cmp_call(const void *key, const struct rb_node *rb)
{
	const struct inode_call *call = key;

	return cmp_place(call->inode, call->offset, rb);
}

static int cmp_node(struct rb_node *node, const struct rb_node *rb)
{
	struct probe *probe = &rb_entry(node, struct inode_uprobe, rb)->probe;

	return cmp_place(probe->inode, probe->offset, rb);
}

/* Under consumers_srcu. What is found may be on its way out. */
static struct inode_uprobe *find_inode_uprobe(struct inode_call *call)
{
	struct rb_node *rb;
	unsigned int seq;

	do {
		seq = read_seqcount_begin(&inodes_seq);
		rb = rb_find_rcu(call, &inodes, cmp_call);
		if (rb)
			return rb_entry(rb, struct inode_uprobe, rb);
	} while (read_seqcount_retry(&inodes_seq, seq));
	return NULL;
}

/* The first probe from a place on, be it in that file or in the next. */
static struct inode_uprobe *first_from(struct inode *inode, loff_t from)
{
	struct rb_node *rb = inodes.rb_node;
	struct inode_uprobe *iu = NULL;

	lockdep_assert_held(&inodes_lock);
	while (rb) {
		if (cmp_place(inode, from, rb) > 0) {
			rb = rb->rb_right;
		} else {
			iu = rb_entry(rb, struct inode_uprobe, rb);
			rb = rb->rb_left;
		}
	}
	return iu;
}

/* A reference on the first probe in [from, end) of a file. */
static struct inode_uprobe *next_inode_uprobe(struct inode *inode, loff_t from,
					      loff_t end)
{
	struct inode_uprobe *iu;

	spin_lock(&inodes_lock);
	iu = first_from(inode, from);
	if (iu && (iu->probe.inode != inode || iu->probe.offset >= end))
		iu = NULL;
	if (iu)
		refcount_inc(&iu->refs);
	spin_unlock(&inodes_lock);
	return iu;
}

static bool has_uprobes(struct inode *inode)
{
	struct inode_uprobe *iu = next_inode_uprobe(inode, 0, MAX_LFS_FILESIZE);

	if (iu)
		put_inode_uprobe(iu);
	return iu;
}

static void inode_handler(struct uprobe *u, struct pt_regs *regs);

static struct inode_uprobe *make_inode_uprobe(struct inode *inode,
					      loff_t offset,
					      loff_t ref_ctr_offset)
{
	struct inode_uprobe *iu = kzalloc(sizeof(*iu), GFP_KERNEL);

	if (!iu)
		return NULL;
	if (uprobe_init_probe(&iu->probe, &iu->u, UPTY_UPROBE)) {
		kfree(iu);
		return NULL;
	}
	ihold(inode);
	iu->probe.inode = inode;
	iu->probe.offset = offset;
	iu->u.handler = inode_handler;
	iu->ref_ctr_offset = ref_ctr_offset;
	/* The caller's, and that of the tree */
	refcount_set(&iu->refs, 2);
	mutex_init(&iu->mutex);
	INIT_LIST_HEAD(&iu->consumers);
	return iu;
}

/* The probe at a place in a file, a new one if need be; a reference. */
static struct inode_uprobe *get_inode_uprobe(struct inode *inode, loff_t offset,
					     loff_t ref_ctr_offset)
{
	struct inode_uprobe *iu, *old = NULL;
	struct rb_node *rb;

	iu = make_inode_uprobe(inode, offset, ref_ctr_offset);
	if (!iu)
		return NULL;

	spin_lock(&inodes_lock);
	write_seqcount_begin(&inodes_seq);
	rb = rb_find_add_rcu(&iu->rb, &inodes, cmp_node);
	if (rb) {
		old = rb_entry(rb, struct inode_uprobe, rb);
		refcount_inc(&old->refs);
	} else {
		WRITE_ONCE(nr_inodes, nr_inodes + 1);
	}
	write_seqcount_end(&inodes_seq);
	spin_unlock(&inodes_lock);
	if (!old)
		return iu;

	iput(inode);
	free_percpu(iu->probe.hits);
	kfree(iu);
	return old;
}

/* Without a consumer. Who finds it later makes a new one. */
static void bury_inode_uprobe(struct inode_uprobe *iu)
{
	lockdep_assert_held(&iu->mutex);
	iu->dead = true;
	spin_lock(&inodes_lock);
	write_seqcount_begin(&inodes_seq);
	rb_erase(&iu->rb, &inodes);
	WRITE_ONCE(nr_inodes, nr_inodes - 1);
	write_seqcount_end(&inodes_seq);
	spin_unlock(&inodes_lock);
	/* At once: its file system may be unmounted next. */
	iput(iu->probe.inode);
	put_inode_uprobe(iu);
}

/*
 * Consumers.
 */

static struct uretprobe inode_uretprobe;

/* The engine's side of all calls that are observed for consumers. */
struct probe uprobe_inode_returns;

static bool wants(struct uprobe_consumer *uc, struct mm_struct *mm)
{
	return !uc->filter || uc->filter(uc, mm);
}

static void inode_handler(struct uprobe *u, struct pt_regs *regs)
{
	struct inode_uprobe *iu = to_inode_uprobe(u);
	unsigned long func = instruction_pointer(regs);
	bool returns = false, wanted = false;
	struct uretprobe_instance *instance;
	struct uprobe_consumer *uc;
	int idx;

	idx = srcu_read_lock(&consumers_srcu);
	list_for_each_entry_srcu(uc, &iu->consumers, cons_node,
				 srcu_read_lock_held(&consumers_srcu)) {
		int ret = uc->handler ? uc->handler(uc, regs) : 0;

		wanted |= ret != UPROBE_HANDLER_REMOVE || wants(uc, current->mm);
		returns |= !!uc->ret_handler;
	}
	srcu_read_unlock(&consumers_srcu, idx);

	if (!wanted) {
		uprobe_inode_cover_later(func, func + 1, GFP_KERNEL);
		return;
	}
	if (!returns)
		return;
	instance = uretprobe_enter(&uprobe_inode_returns, regs);
	if (!instance) {
		uprobe_count_missed(&iu->probe);
		return;
	}
	*(struct inode_call *)instance->data = (struct inode_call){
		.inode = iu->probe.inode,
		.offset = iu->probe.offset,
		.func = func,
	};
}

/*
 * Who observes that place now is told, whether or not it did when the function
 * was entered.
 */
static void inode_return(struct uretprobe_instance *instance,
			 struct pt_regs *regs)
{
	struct inode_call *call = (struct inode_call *)instance->data;
	struct uprobe_consumer *uc;
	struct inode_uprobe *iu;
	int idx;

	idx = srcu_read_lock(&consumers_srcu);
	iu = find_inode_uprobe(call);
	if (!iu)
		goto unlock;
	this_cpu_inc(*iu->probe.hits);
	list_for_each_entry_srcu(uc, &iu->consumers, cons_node,
				 srcu_read_lock_held(&consumers_srcu)) {
		if (uc->ret_handler)
			uc->ret_handler(uc, call->func, regs);
	}
unlock:
	srcu_read_unlock(&consumers_srcu, idx);
}

/**
 * uprobe_inode_count_missed() - a return is not reported
 * @instance: the call
 *
 * Context: any.
 */
void uprobe_inode_count_missed(struct uretprobe_instance *instance)
{
	struct inode_uprobe *iu;
	int idx;

	idx = srcu_read_lock(&consumers_srcu);
	iu = find_inode_uprobe((struct inode_call *)instance->data);
	if (iu)
		uprobe_count_missed(&iu->probe);
	srcu_read_unlock(&consumers_srcu, idx);
}

static bool is_wanted(struct inode_uprobe *iu, struct mm_struct *mm)
{
	struct uprobe_consumer *uc;

	lockdep_assert_held(&iu->mutex);
	list_for_each_entry(uc, &iu->consumers, cons_node) {
		if (wants(uc, mm))
			return true;
	}
	return false;
}

static bool has_consumer(struct inode_uprobe *iu, struct uprobe_consumer *uc)
{
	struct uprobe_consumer *other;

	lockdep_assert_held(&iu->mutex);
	list_for_each_entry(other, &iu->consumers, cons_node) {
		if (other == uc)
			return true;
	}
	return false;
}

/*
 * Semaphores: a counter in the data of a program that tells it how many observe
 * a place, so that it can spare itself the work for nobody.
 */

static bool maps_offset(struct vm_area_struct *vma, struct inode *inode,
			loff_t offset)
{
	loff_t start = (loff_t)vma->vm_pgoff << PAGE_SHIFT;

	return vma->vm_file && file_inode(vma->vm_file) == inode &&
	       offset >= start &&
	       offset - start < vma->vm_end - vma->vm_start;
}

static unsigned long vaddr_of(struct vm_area_struct *vma, loff_t offset)
{
	return vma->vm_start + offset - ((loff_t)vma->vm_pgoff << PAGE_SHIFT);
}

static bool can_have_sems(struct vm_area_struct *vma)
{
	return (vma->vm_flags & (VM_WRITE | VM_SHARED)) == VM_WRITE;
}

/**
 * uprobe_sem_add() - change a semaphore
 * @mm: the address space
 * @vaddr: its address
 * @n: 1 or -1
 *
 * Context: mmap_lock of @mm held for writing. Sleeps.
 *
 * Return: 0, -EFAULT if it cannot be had, -ERANGE if it is not the counter that
 * it should be. Then it is left alone.
 */
int uprobe_sem_add(struct mm_struct *mm, unsigned long vaddr, int n)
{
	struct vm_area_struct *vma;
	struct page *page;
	int ret = 0, now;
	s16 *sem;

	mmap_assert_write_locked(mm);

	page = get_user_page_vma_remote(mm, vaddr, FOLL_WRITE, &vma);
	if (IS_ERR(page))
		return -EFAULT;
	sem = kmap_local_page(page) + offset_in_page(vaddr);
	now = *sem + n;
	if (now < 0 || now > S16_MAX)
		ret = -ERANGE;
	else
		WRITE_ONCE(*sem, now);
	kunmap_local(sem);
	if (!ret)
		set_page_dirty_lock(page);
	put_page(page);
	return ret;
}

/* Where the semaphore of a probe is, or 0. */
static unsigned long find_sem(struct mm_struct *mm, struct inode_uprobe *iu)
{
	VMA_ITERATOR(vmi, mm, 0);
	struct vm_area_struct *vma;

	for_each_vma(vmi, vma) {
		if (can_have_sems(vma) &&
		    maps_offset(vma, iu->probe.inode, iu->ref_ctr_offset))
			return vaddr_of(vma, iu->ref_ctr_offset);
	}
	return 0;
}

/* A site without a semaphore. It stays, by @iu->mutex and a reference of @mm. */
static struct inode_site *find_site_without(struct inode_uprobe *iu,
					    struct mm_struct *mm)
{
	struct probe_site *site;

	spin_lock(&sites_lock);
	list_for_each_entry(site, &iu->probe.sites, link) {
		struct inode_site *is = to_inode_site(site);

		if (is->mm == mm && !READ_ONCE(is->sem))
			goto unlock;
	}
	site = NULL;
unlock:
	spin_unlock(&sites_lock);
	return site ? to_inode_site(site) : NULL;
}

static void set_sem(struct inode_site *is, unsigned long vaddr)
{
	struct uprobes_mm *umm = is->site.umm;

	spin_lock(&umm->lock);
	WRITE_ONCE(is->sem, vaddr);
	list_add(&is->node, &umm->sems);
	spin_unlock(&umm->lock);
}

static void clear_sem(struct inode_site *is)
{
	lockdep_assert_held(&is->site.umm->lock);
	WRITE_ONCE(is->sem, 0);
	list_del(&is->node);
}

/* Increment the semaphore for each site that has not done so. */
static void raise_sems(struct inode_uprobe *iu, struct mm_struct *mm)
{
	struct inode_site *is;
	unsigned long vaddr;

	lockdep_assert_held(&iu->mutex);

	if (!iu->ref_ctr_offset)
		return;
	while ((is = find_site_without(iu, mm))) {
		int ret = -EFAULT;

		mmap_write_lock(mm);
		vaddr = find_sem(mm, iu);
		if (vaddr)
			ret = uprobe_sem_add(mm, vaddr, 1);
		if (!ret)
			set_sem(is, vaddr);
		mmap_write_unlock(mm);
		/* Its memory may be mapped later. */
		if (ret)
			return;
	}
}

static void lower_sem(struct inode_site *is)
{
	struct uprobes_mm *umm = is->site.umm;
	struct mm_struct *mm = NULL;
	unsigned long vaddr;

	if (READ_ONCE(is->sem))
		mm = uprobe_get_mm(umm);
	if (mm)
		mmap_write_lock(mm);
	spin_lock(&umm->lock);
	vaddr = is->sem;
	if (vaddr)
		clear_sem(is);
	spin_unlock(&umm->lock);
	if (!mm)
		return;
	if (vaddr)
		uprobe_sem_add(mm, vaddr, -1);
	mmap_write_unlock(mm);
	mmput(mm);
}

/**
 * uprobe_inode_lose_sems() - memory is going to be unmapped
 * @umm: the address space
 * @start: from here
 * @end: to here
 *
 * Context: @umm->lock held.
 *
 * Return: true when semaphores go with it.
 */
bool uprobe_inode_lose_sems(struct uprobes_mm *umm, unsigned long start,
			    unsigned long end)
{
	struct inode_site *is, *next;
	bool lost = false;

	list_for_each_entry_safe(is, next, &umm->sems, node) {
		if (is->sem - start >= end - start)
			continue;
		clear_sem(is);
		lost = true;
	}
	return lost;
}

/**
 * uprobe_inode_drop_sems() - memory is going to be mapped elsewhere
 * @umm: the address space
 * @start: from here
 * @end: to here
 *
 * Semaphores in it are lowered. uprobe_inode_cover_later() raises them again.
 *
 * Context: mmap_lock held for writing. Sleeps.
 *
 * Return: true when there were any.
 */
bool uprobe_inode_drop_sems(struct uprobes_mm *umm, unsigned long start,
			    unsigned long end)
{
	bool dropped = false;

	for (;;) {
		struct inode_site *is;
		unsigned long vaddr;

		spin_lock(&umm->lock);
		list_for_each_entry(is, &umm->sems, node) {
			vaddr = is->sem;
			if (vaddr - start < end - start)
				break;
		}
		if (list_entry_is_head(is, &umm->sems, node)) {
			spin_unlock(&umm->lock);
			return dropped;
		}
		clear_sem(is);
		spin_unlock(&umm->lock);
		dropped = true;
		uprobe_sem_add(umm->mm, vaddr, -1);
	}
}

/**
 * uprobe_inode_sems() - the semaphores that are raised now
 * @umm: the address space
 * @nr: set to their number
 *
 * Context: mmap_lock held for writing. Sleeps.
 *
 * Return: an array of their addresses, for kvfree(), or NULL when there are none.
 */
unsigned long *uprobe_inode_sems(struct uprobes_mm *umm, unsigned int *nr)
{
	struct inode_site *is;
	unsigned long *sems;
	unsigned int max;

	spin_lock(&umm->lock);
	max = list_count_nodes(&umm->sems);
	spin_unlock(&umm->lock);
	*nr = 0;
	if (!max)
		return NULL;

	sems = kvmalloc_array(max, sizeof(*sems), GFP_KERNEL | __GFP_NOFAIL);
	/* There may be less now, not more. */
	spin_lock(&umm->lock);
	list_for_each_entry(is, &umm->sems, node)
		sems[(*nr)++] = is->sem;
	spin_unlock(&umm->lock);
	return sems;
}

/*
 * Sites.
 */

/**
 * uprobe_inode_maps() - is this the file of an inode probe?
 * @mm: the address space
 * @probe: the probe; one of another kind, or NULL, is content with anything
 * @vaddr: the address
 *
 * Context: mmap_lock of @mm held.
 *
 * Return: true when it is.
 */
bool uprobe_inode_maps(struct mm_struct *mm, struct probe *probe,
		       unsigned long vaddr)
{
	struct vm_area_struct *vma;

	if (!probe || !probe->inode)
		return true;
	vma = vma_lookup(mm, vaddr);
	return vma && maps_offset(vma, probe->inode, probe->offset) &&
	       vaddr_of(vma, probe->offset) == vaddr;
}

/**
 * uprobe_inode_forget_site() - an address space dies that a probe is set in
 * @site: there
 *
 * Context: the mutex of @site->umm held; no thread is left in it.
 *
 * Return: false when somebody else is removing it.
 */
bool uprobe_inode_forget_site(struct probe_site *site)
{
	struct inode_site *is = to_inode_site(site);
	bool claimed;

	spin_lock(&sites_lock);
	claimed = is->claimed;
	if (!claimed)
		list_del(&site->link);
	spin_unlock(&sites_lock);
	if (claimed)
		return false;

	list_del(&site->node);
	spin_lock(&site->umm->lock);
	if (is->sem)
		clear_sem(is);
	spin_unlock(&site->umm->lock);
	return true;
}

/**
 * uprobe_inode_free_site() - free one that nobody uses any more
 * @site: of an inode probe
 */
void uprobe_inode_free_site(struct probe_site *site)
{
	struct inode_uprobe *iu;

	iu = container_of(site->probe, struct inode_uprobe, probe);
	kfree(to_inode_site(site));
	put_inode_uprobe(iu);
}

static void release_sites(struct work_struct *work)
{
	LIST_HEAD(points);
	LIST_HEAD(sites);

	spin_lock(&released_lock);
	list_splice_init(&released_sites, &sites);
	list_splice_init(&released_points, &points);
	spin_unlock(&released_lock);
	uprobe_release_sites(&sites, &points);
}

static DECLARE_WORK(release_work, release_sites);

/* Disarm what was claimed. Nobody waits for the grace period. */
static void remove_sites(struct list_head *sites)
{
	struct probe_site *site;
	LIST_HEAD(points);

	if (list_empty(sites))
		return;
	list_for_each_entry(site, sites, link) {
		lower_sem(to_inode_site(site));
		uprobe_disarm_site(site, &points);
	}
	spin_lock(&released_lock);
	list_splice_tail(sites, &released_sites);
	list_splice_tail(&points, &released_points);
	spin_unlock(&released_lock);
	queue_work(system_unbound_wq, &release_work);
}

/*
 * Take, to be removed, the sites of @iu in @mm, or in all address spaces if that
 * is NULL, which are gone or nobody wants.
 */
static void claim_sites(struct inode_uprobe *iu, struct mm_struct *mm,
			struct list_head *sites)
{
	struct probe_site *site, *next;

	lockdep_assert_held(&iu->mutex);

	spin_lock(&sites_lock);
	list_for_each_entry_safe(site, next, &iu->probe.sites, link) {
		struct inode_site *is = to_inode_site(site);
		bool keep;

		/* One that dies takes the site along. */
		if ((mm && is->mm != mm) || !mmget_not_zero(is->mm))
			continue;
		spin_unlock(&sites_lock);
		/* By the reference nobody else takes the site. */
		keep = !READ_ONCE(site->point->gone) && is_wanted(iu, is->mm);
		spin_lock(&sites_lock);
		next = list_next_entry(site, link);
		mmput_async(is->mm);
		if (keep)
			continue;
		is->claimed = true;
		list_move(&site->link, sites);
	}
	spin_unlock(&sites_lock);
}

static int add_site(struct inode_uprobe *iu, struct mm_struct *mm,
		    unsigned long vaddr)
{
	struct inode_site *is;
	int ret;

	lockdep_assert_held(&iu->mutex);

	is = kzalloc(sizeof(*is), GFP_KERNEL);
	if (!is)
		return -ENOMEM;
	is->site.probe = &iu->probe;
	is->site.vaddr = vaddr;
	is->mm = mm;
	ret = uprobe_arm_site(&is->site, mm);
	if (ret) {
		kfree(is);
		return ret;
	}
	refcount_inc(&iu->refs);
	spin_lock(&sites_lock);
	list_add(&is->site.link, &iu->probe.sites);
	spin_unlock(&sites_lock);
	return 0;
}

/* Is there one, whose breakpoint is still there? */
static bool has_site(struct inode_uprobe *iu, struct mm_struct *mm,
		     unsigned long vaddr)
{
	struct probe_site *site;
	bool found = false;

	spin_lock(&sites_lock);
	list_for_each_entry(site, &iu->probe.sites, link) {
		found = to_inode_site(site)->mm == mm && site->vaddr == vaddr &&
			!READ_ONCE(site->point->gone);
		if (found)
			break;
	}
	spin_unlock(&sites_lock);
	return found;
}

/*
 * Mappings.
 */

static bool is_stable(struct mm_struct *mm)
{
	/* A fork may have failed half-way. */
	return !check_stable_address_space(mm);
}

static void add_place(struct list_head *places, struct inode_uprobe *iu,
		      unsigned long vaddr)
{
	struct place *place;

	place = kmalloc(sizeof(*place), GFP_KERNEL | __GFP_NOFAIL);
	place->iu = iu;
	place->vaddr = vaddr;
	list_add_tail(&place->node, places);
}

/* What has a place, or its semaphore, in this mapping. */
static void find_places(struct vm_area_struct *vma, struct list_head *places)
{
	struct inode *inode = vma->vm_file ? file_inode(vma->vm_file) : NULL;
	loff_t start = (loff_t)vma->vm_pgoff << PAGE_SHIFT;
	loff_t end = start + vma->vm_end - vma->vm_start;
	struct inode_uprobe *iu;

	if (!inode)
		return;
	if (vma->vm_flags & VM_EXEC) {
		while ((iu = next_inode_uprobe(inode, start, end))) {
			start = iu->probe.offset + 1;
			add_place(places, iu, vaddr_of(vma, iu->probe.offset));
		}
	}
	if (!can_have_sems(vma))
		return;
	start = 0;
	while ((iu = next_inode_uprobe(inode, start, MAX_LFS_FILESIZE))) {
		start = iu->probe.offset + 1;
		if (iu->ref_ctr_offset &&
		    maps_offset(vma, inode, iu->ref_ctr_offset))
			add_place(places, iu, 0);
		else
			put_inode_uprobe(iu);
	}
}

/* Probes that have sites where nothing is mapped any more. */
static void find_gone(struct mm_struct *mm, struct list_head *places)
{
	struct uprobes_mm *umm = umm_of(mm);
	struct probepoint *point;
	struct probe_site *site;

	if (!umm)
		return;
	mutex_lock(&umm->mutex);
	list_for_each_entry(point, &umm->points, node) {
		if (!point->by_inode || !READ_ONCE(point->gone))
			continue;
		list_for_each_entry(site, &point->sites, node) {
			struct inode_uprobe *iu;

			if (!site->probe->inode)
				continue;
			iu = container_of(site->probe, struct inode_uprobe,
					  probe);
			/* The site has one. */
			refcount_inc(&iu->refs);
			add_place(places, iu, 0);
		}
	}
	mutex_unlock(&umm->mutex);
}

static void visit_place(struct place *place, struct mm_struct *mm)
{
	struct inode_uprobe *iu = place->iu;
	LIST_HEAD(sites);

	mutex_lock(&iu->mutex);
	claim_sites(iu, mm, &sites);
	remove_sites(&sites);
	if (is_wanted(iu, mm)) {
		if (place->vaddr)
			add_site(iu, mm, place->vaddr);
		raise_sems(iu, mm);
	}
	mutex_unlock(&iu->mutex);
	put_inode_uprobe(iu);
}

/*
 * Set the inode probes of files that are mapped in [start, end), and remove those
 * that are not wanted there.
 */
static void cover_mm(struct mm_struct *mm, unsigned long start,
		     unsigned long end)
{
	VMA_ITERATOR(vmi, mm, start);
	struct place *place, *next;
	struct vm_area_struct *vma;
	LIST_HEAD(places);

	find_gone(mm, &places);
	mmap_read_lock(mm);
	if (is_stable(mm)) {
		for_each_vma_range(vmi, vma, end)
			find_places(vma, &places);
	}
	mmap_read_unlock(mm);

	list_for_each_entry_safe(place, next, &places, node) {
		visit_place(place, mm);
		kfree(place);
	}
}

static void cover_current(struct callback_head *work)
{
	struct cover *cover = container_of(work, struct cover, work);

	if (current->mm)
		cover_mm(current->mm, cover->start, cover->end);
	kfree(cover);
}

static void add_cover(struct cover *cover)
{
	/* One that is going to die does not go to user mode any more. */
	if (task_work_add(current, &cover->work, TWA_RESUME))
		kfree(cover);
}

/**
 * uprobe_inode_cover_later() - cover memory of current before user mode
 * @start: from here
 * @end: to here
 * @gfp: how to get memory, of which it needs little
 *
 * Context: process context; otherwise as @gfp says. Locks may be held.
 *
 * Return: true when it will be.
 */
bool uprobe_inode_cover_later(unsigned long start, unsigned long end, gfp_t gfp)
{
	struct callback_head *work;
	struct cover *cover;

	if (likely(!READ_ONCE(nr_inodes)))
		return true;
	if (current->flags & (PF_KTHREAD | PF_USER_WORKER))
		return false;
	work = task_work_cancel_func(current, cover_current);
	if (work) {
		cover = container_of(work, struct cover, work);
		cover->start = min(start, cover->start);
		cover->end = max(end, cover->end);
		add_cover(cover);
		return true;
	}
	cover = kmalloc(sizeof(*cover), gfp);
	if (!cover)
		return false;
	cover->start = start;
	cover->end = end;
	init_task_work(&cover->work, cover_current);
	add_cover(cover);
	return true;
}

/**
 * uprobe_inode_cover() - the work of an address space that lost something
 * @work: uprobes_mm.cover
 */
void uprobe_inode_cover(struct work_struct *work)
{
	struct uprobes_mm *umm = container_of(work, struct uprobes_mm, cover);
	struct mm_struct *mm = uprobe_get_mm(umm);

	if (mm) {
		cover_mm(mm, 0, ULONG_MAX);
		mmput(mm);
	}
	uprobe_put_umm(umm);
}

static void cover_by_worker(struct uprobes_mm *umm)
{
	refcount_inc(&umm->refs);
	if (!queue_work(system_unbound_wq, &umm->cover))
		refcount_dec(&umm->refs);
}

/**
 * uprobe_inode_lose() - text with a site, or a semaphore, is unmapped
 * @umm: the address space, which has other references
 * @start: from here
 * @end: to here
 *
 * It may be mapped again at once: madvise() takes pages, not mappings.
 *
 * Context: any, with the address space known to live.
 */
void uprobe_inode_lose(struct uprobes_mm *umm, unsigned long start,
		       unsigned long end)
{
	if (!current->mm || umm_of(current->mm) != umm ||
	    !uprobe_inode_cover_later(start, end, GFP_ATOMIC | __GFP_NOWARN))
		cover_by_worker(umm);
}

/**
 * uprobe_mmap() - there is a mapping, or one has changed
 * @vma: the mapping
 *
 * Context: mmap_lock held for writing. Sleeps.
 *
 * Return: 0.
 */
int uprobe_mmap(struct vm_area_struct *vma)
{
	struct uprobes_mm *umm;

	if (likely(!READ_ONCE(nr_inodes)) || !vma->vm_file ||
	    !(vma->vm_flags & VM_EXEC || can_have_sems(vma)) ||
	    !has_uprobes(file_inode(vma->vm_file)))
		return 0;
	if (current->mm == vma->vm_mm &&
	    uprobe_inode_cover_later(vma->vm_start, vma->vm_end, GFP_KERNEL))
		return 0;
	umm = uprobe_make_umm(vma->vm_mm);
	if (umm)
		cover_by_worker(umm);
	return 0;
}

/**
 * uprobe_inode_fork() - a child has got a copy of mappings
 * @mm: the child's address space
 *
 * Context: process context, sleeps. The child did not run yet.
 */
void uprobe_inode_fork(struct mm_struct *mm)
{
	if (unlikely(READ_ONCE(nr_inodes)))
		cover_mm(mm, 0, ULONG_MAX);
}

/**
 * struct target - where a file is mapped
 * @mm: in this address space, a reference
 * @vaddr: at this address
 */
struct target {
	struct mm_struct *mm;
	unsigned long vaddr;
};

static void put_targets(struct target *targets, unsigned int nr)
{
	while (nr--)
		mmput(targets[nr].mm);
	kvfree(targets);
}

/*
 * All mappings of a place in a file that have this flag; their number in @nr.
 * Other flags of theirs may change before the mmap_lock is held.
 */
static struct target *find_targets(struct probe *probe, vm_flags_t flag,
				   unsigned int *nr)
{
	struct address_space *mapping = probe->inode->i_mapping;
	pgoff_t pgoff = probe->offset >> PAGE_SHIFT;
	struct target *targets = NULL;
	struct vm_area_struct *vma;
	unsigned int max, n = 0;

	do {
		max = n + n / 4;
		kvfree(targets);
		targets = kvmalloc_array(max, sizeof(*targets), GFP_KERNEL);
		if (max && !targets)
			return ERR_PTR(-ENOMEM);
		*nr = 0;
		n = 0;
		i_mmap_lock_read(mapping);
		vma_interval_tree_foreach(vma, &mapping->i_mmap, pgoff, pgoff) {
			if (!(vma->vm_flags & flag) || n++ >= max ||
			    !mmget_not_zero(vma->vm_mm))
				continue;
			targets[*nr].mm = vma->vm_mm;
			targets[(*nr)++].vaddr = vaddr_of(vma, probe->offset);
		}
		i_mmap_unlock_read(mapping);
		if (n <= max)
			break;
		while (*nr)
			mmput(targets[--*nr].mm);
	} while (true);
	return targets;
}

/* Set a probe in all that maps its file, and that @uc wants. */
static int apply_everywhere(struct inode_uprobe *iu, struct uprobe_consumer *uc)
{
	struct target *targets;
	unsigned int i, nr;
	int ret = 0;

	lockdep_assert_held(&iu->mutex);

	/* Whether it can be executed is seen with the mmap_lock held. */
	targets = find_targets(&iu->probe, VM_MAYEXEC, &nr);
	if (IS_ERR(targets))
		return PTR_ERR(targets);
	for (i = 0; i < nr && !ret; i++) {
		struct mm_struct *mm = targets[i].mm;
		bool stable;

		mmap_read_lock(mm);
		stable = is_stable(mm);
		mmap_read_unlock(mm);
		if (!stable || !wants(uc, mm))
			continue;
		/* What else is wrong with a mapping concerns that alone. */
		if (add_site(iu, mm, targets[i].vaddr) == -ENOMEM)
			ret = -ENOMEM;
		else
			raise_sems(iu, mm);
	}
	put_targets(targets, nr);
	return ret;
}

/*
 * What can be said of an instruction before anybody maps it.
 */

int __weak arch_uprobe_check_insn(struct arch_uprobe *aup, int elf_class,
				  loff_t offset)
{
	int class = ELFCLASS64;

	if (!current->mm)
		return 0;
	if (arch_uprobe_word(current->mm) == sizeof(u32))
		class = ELFCLASS32;
	return elf_class == class ?
	       arch_uprobe_analyze_insn(aup, current->mm, offset) : 0;
}

static struct page *get_file_page(struct inode *inode, pgoff_t index)
{
	if (shmem_mapping(inode->i_mapping))
		return shmem_read_mapping_page(inode->i_mapping, index);
	return read_mapping_page(inode->i_mapping, index, NULL);
}

static int read_file(struct inode *inode, loff_t offset, void *buf, size_t len)
{
	size_t done, n;

	for (done = 0; done < len; done += n) {
		size_t at = offset_in_page(offset + done);
		struct page *page;

		n = min(len - done, PAGE_SIZE - at);
		page = get_file_page(inode, (offset + done) >> PAGE_SHIFT);
		if (IS_ERR(page))
			return PTR_ERR(page);
		memcpy_from_page(buf + done, page, at, n);
		put_page(page);
	}
	return 0;
}

static int check_insn(struct inode *inode, loff_t offset)
{
	u8 ident[EI_CLASS + 1] = {};
	struct arch_uprobe aup = {};
	size_t len;
	int ret;

	if (!inode->i_mapping->a_ops->read_folio &&
	    !shmem_mapping(inode->i_mapping))
		return -EIO;
	if (offset < 0 || offset >= i_size_read(inode))
		return -EINVAL;
	len = min_t(loff_t, sizeof(aup.insn), i_size_read(inode) - offset);
	ret = read_file(inode, offset, &aup.insn, len);
	if (!ret && i_size_read(inode) > sizeof(ident))
		ret = read_file(inode, 0, ident, sizeof(ident));
	if (ret)
		return ret;
	if (is_trap_insn((uprobe_opcode_t *)&aup.insn))
		return -EEXIST;
	if (memcmp(ident, ELFMAG, SELFMAG))
		ident[EI_CLASS] = ELFCLASSNONE;
	return arch_uprobe_check_insn(&aup, ident[EI_CLASS], offset);
}

static int check_registration(struct inode *inode, loff_t offset,
			      loff_t ref_ctr_offset, struct uprobe_consumer *uc)
{
	if (!uc->handler && !uc->ret_handler)
		return -EINVAL;
	if (!IS_ALIGNED(offset, UPROBE_SWBP_INSN_SIZE) || ref_ctr_offset < 0 ||
	    !IS_ALIGNED(ref_ctr_offset, sizeof(s16)))
		return -EINVAL;
	return check_insn(inode, offset);
}

/* A probe at that place that is not dead. Its mutex is held. */
static struct inode_uprobe *lock_inode_uprobe(struct inode *inode,
					      loff_t offset,
					      loff_t ref_ctr_offset)
{
	struct inode_uprobe *iu;

	for (;;) {
		iu = get_inode_uprobe(inode, offset, ref_ctr_offset);
		if (!iu)
			return NULL;
		mutex_lock(&iu->mutex);
		if (!iu->dead)
			return iu;
		mutex_unlock(&iu->mutex);
		put_inode_uprobe(iu);
	}
}

/* @uc is no consumer any more: its handlers may still run. */
static void remove_consumer(struct inode_uprobe *iu, struct uprobe_consumer *uc)
{
	LIST_HEAD(sites);

	lockdep_assert_held(&iu->mutex);

	list_del_rcu(&uc->cons_node);
	claim_sites(iu, NULL, &sites);
	remove_sites(&sites);
	if (list_empty(&iu->consumers))
		bury_inode_uprobe(iu);
}

/**
 * uprobe_register() - observe a place in a file
 * @inode: the file. Of an overlay the real one (d_real_inode())
 * @offset: where in it an instruction begins, bytes
 * @ref_ctr_offset: where in it the semaphore is that the instruction belongs to,
 *	bytes; 0 for none. In each process it is incremented while the probe is
 *	set there
 * @uc: the consumer; kept by the caller until uprobe_unregister_sync()
 *
 * All processes that have mapped the file executable and private, and that @uc
 * wants, are probed when the call returns, and those that do so later before they
 * can execute it. What executes the file from another kind of mapping is not:
 * /sys/kernel/debug/uprobes/inodes tells how many of those there are.
 *
 * Context: process context, not a handler. Sleeps. Takes the mmap_lock of others.
 *
 * Return: a handle for uprobe_apply() and uprobe_unregister_nosync(), or an error:
 *
 * * %-EINVAL - no handler, a place that is not in the file or not aligned, another
 *   @ref_ctr_offset than that of a probe which is there.
 * * %-EEXIST - there is a breakpoint in the file.
 * * %-EOPNOTSUPP - the instruction cannot be executed away from its place.
 * * %-EIO - the file cannot be read.
 * * %-ENOMEM - no memory.
 */
struct uprobe *uprobe_register(struct inode *inode, loff_t offset,
			       loff_t ref_ctr_offset,
			       struct uprobe_consumer *uc)
{
	struct inode_uprobe *iu;
	int ret;

	ret = check_registration(inode, offset, ref_ctr_offset, uc);
	if (ret)
		return ERR_PTR(ret);
	iu = lock_inode_uprobe(inode, offset, ref_ctr_offset);
	if (!iu)
		return ERR_PTR(-ENOMEM);

	if (iu->ref_ctr_offset != ref_ctr_offset) {
		ret = -EINVAL;
		goto unlock;
	}
	list_add_tail_rcu(&uc->cons_node, &iu->consumers);
	if (uc->ret_handler)
		iu->probe.returns = true;
	ret = apply_everywhere(iu, uc);
	if (ret)
		remove_consumer(iu, uc);
unlock:
	mutex_unlock(&iu->mutex);
	put_inode_uprobe(iu);
	if (!ret)
		return &iu->u;
	uprobe_unregister_sync();
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(uprobe_register);

/**
 * uprobe_apply() - the filter of a consumer has another opinion
 * @uprobe: what uprobe_register() returned
 * @uc: the consumer
 * @add: it wants more address spaces; else it wants less
 *
 * Context: as uprobe_register().
 *
 * Return: 0, -ENOENT if it is not a consumer of that, or -ENOMEM.
 */
int uprobe_apply(struct uprobe *uprobe, struct uprobe_consumer *uc, bool add)
{
	struct inode_uprobe *iu = to_inode_uprobe(uprobe);
	LIST_HEAD(sites);
	int ret = 0;

	mutex_lock(&iu->mutex);
	if (!has_consumer(iu, uc)) {
		ret = -ENOENT;
	} else if (add) {
		ret = apply_everywhere(iu, uc);
	} else {
		claim_sites(iu, NULL, &sites);
		remove_sites(&sites);
	}
	mutex_unlock(&iu->mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(uprobe_apply);

/**
 * uprobe_unregister_nosync() - observe a place no longer
 * @uprobe: what uprobe_register() returned
 * @uc: the consumer
 *
 * When it returns, text that nobody else probes is as before. Handlers that are
 * running go on: uprobe_unregister_sync() has to follow, once for several of
 * these.
 *
 * Context: as uprobe_register().
 */
void uprobe_unregister_nosync(struct uprobe *uprobe, struct uprobe_consumer *uc)
{
	struct inode_uprobe *iu = to_inode_uprobe(uprobe);

	mutex_lock(&iu->mutex);
	/* Its last consumer holds it. */
	refcount_inc(&iu->refs);
	remove_consumer(iu, uc);
	mutex_unlock(&iu->mutex);
	put_inode_uprobe(iu);
}
EXPORT_SYMBOL_GPL(uprobe_unregister_nosync);

/**
 * uprobe_unregister_sync() - wait for handlers of those that were unregistered
 *
 * Then no handler of theirs runs, or will run: they may be freed.
 *
 * Context: as uprobe_register().
 */
void uprobe_unregister_sync(void)
{
	synchronize_srcu(&consumers_srcu);
}
EXPORT_SYMBOL_GPL(uprobe_unregister_sync);

/*
 * debugfs: uprobes/inodes.
 */

/* Mappings that can be executed, and in which it is not set. */
static unsigned int count_uncovered(struct inode_uprobe *iu)
{
	unsigned int i, nr, uncovered = 0;
	struct target *targets;

	lockdep_assert_held(&iu->mutex);

	targets = find_targets(&iu->probe, VM_EXEC, &nr);
	if (IS_ERR(targets))
		return 0;
	for (i = 0; i < nr; i++) {
		uncovered += is_wanted(iu, targets[i].mm) &&
			     !has_site(iu, targets[i].mm, targets[i].vaddr);
	}
	put_targets(targets, nr);
	return uncovered;
}

static void show_inode_uprobe(struct seq_file *m, struct inode_uprobe *iu)
{
	struct inode *inode = iu->probe.inode;
	dev_t dev;

	mutex_lock(&iu->mutex);
	if (iu->dead)
		goto unlock;
	dev = inode->i_sb->s_dev;
	seq_printf(m, "%u:%u:%lu+0x%llx hits=%lu missed=%lu uncovered=%u\n",
		   MAJOR(dev), MINOR(dev), inode->i_ino, iu->probe.offset,
		   uprobe_count_hits(&iu->probe), READ_ONCE(iu->u.nmissed),
		   count_uncovered(iu));
unlock:
	mutex_unlock(&iu->mutex);
}

static struct inode_uprobe *get_first_from(struct inode *inode, loff_t from)
{
	struct inode_uprobe *iu;

	spin_lock(&inodes_lock);
	iu = first_from(inode, from);
	if (iu)
		refcount_inc(&iu->refs);
	spin_unlock(&inodes_lock);
	return iu;
}

static int inodes_show(struct seq_file *m, void *v)
{
	struct inode_uprobe *iu, *next;

	for (iu = get_first_from(NULL, 0); iu; iu = next) {
		show_inode_uprobe(m, iu);
		next = get_first_from(iu->probe.inode, iu->probe.offset + 1);
		put_inode_uprobe(iu);
	}
	return 0;
}

static int inodes_open(struct inode *inode, struct file *file)
{
	return single_open(file, inodes_show, NULL);
}

const struct file_operations uprobe_inodes_fops = {
	.open = inodes_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init uprobes_inode_init(void)
{
	inode_uretprobe.handler = inode_return;
	uprobe_inode_returns.data_size = sizeof(struct inode_call);
	return uprobe_init_probe(&uprobe_inode_returns, &inode_uretprobe.u,
				 UPTY_URETPROBE);
}
core_initcall(uprobes_inode_init);
