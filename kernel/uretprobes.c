// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space return probes: calls in progress.
 *
 * When a function with return probes is entered, its return address is replaced
 * by that of a breakpoint, the trampoline. When a thread hits that, the call has
 * returned: handlers run, and the thread goes on at the real return address.
 *
 * All probes that observe the same call (several at one address, or on functions
 * of which one ends by a jump to the other) have their instances in one entry.
 * Each thread has a list of those, the newest first. They also stand in a table
 * of the address space by the stack pointer at entry, where any thread finds
 * them: a slot on a stack belongs to the call that was last to put the address
 * of the trampoline there, whichever thread makes it.
 *
 * Which call has returned is told by the stack pointer, since a thread need not
 * return from its newest. It may use several stacks, for signals or coroutines,
 * and calls may never return:
 *
 *  - The call that returns is that with the same slot.
 *  - Calls that began after it further down on the same stack were left by
 *    longjmp() or an exception. So were, at an entry, those that began below
 *    the new one. They are dropped, and count as missed.
 *  - What is one stack and what are two cannot be known for sure. So a dropped
 *    call gets its return address back where the slot still has ours: if it
 *    lives, it returns unobserved. Should it be returning right now, it is still
 *    in the table, as an orphan.
 *  - A stack may go on in another thread. There, its calls return unobserved and
 *    count as missed. Those of a thread that has ended are orphans as well.
 *
 * Only a thread itself takes calls off its list. So another one that finds a
 * call in the table, and holds the lock of its bucket, may also look at the list
 * that it is in: the thread takes a call out of the table before it frees it.
 */

#include <linux/export.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "uprobes.h"

#define CALL_BITS	8
#define MAX_ORPHANS	256

/**
 * struct call_bucket - calls in progress whose slots have the same hash
 * @lock: protects @calls, and return_instance.utask of those
 * @calls: struct return_instance
 */
struct call_bucket {
	spinlock_t lock; /* the chain */
	struct hlist_head calls;
};

static struct kmem_cache *return_cache;

unsigned int __weak arch_uprobe_word(struct mm_struct *mm)
{
	return sizeof(long);
}

unsigned long __weak arch_uretprobe_return_addr(struct pt_regs *regs)
{
	unsigned long addr = arch_uretprobe_hijack_return_addr(0, regs);

	if (addr != -1UL)
		arch_uretprobe_hijack_return_addr(addr, regs);
	return addr;
}

unsigned long __weak arch_uretprobe_stack(struct pt_regs *regs)
{
	return user_stack_pointer(regs);
}

unsigned long __weak arch_uretprobe_pops(void)
{
	return 0;
}

unsigned long __weak arch_uretprobe_slot(struct mm_struct *mm,
					 struct return_instance *ri)
{
	return 0;
}

unsigned long * __weak arch_uretprobe_link(struct pt_regs *regs)
{
	return NULL;
}

int __weak arch_uretprobe_give_back(struct return_instance *ri,
				    unsigned long trampoline)
{
	return -EFAULT;
}

unsigned long __weak arch_uretprobe_trampoline(struct mm_struct *mm)
{
	return 0;
}

/*
 * The trampoline.
 */

static bool trampoline_lives(struct uprobes_mm *umm)
{
	struct probepoint *point;

	/* Pairs with the release in set_trampoline(). */
	if (!smp_load_acquire(&umm->tramp_lives))
		return false;
	point = READ_ONCE(umm->tramp_point);
	return !point || !READ_ONCE(point->gone);
}

/* What belongs to any trampoline. What calls have of a dead one is taken out. */
static int prepare_trampoline(struct uprobes_mm *umm)
{
	struct call_bucket *calls;
	int i;

	lockdep_assert_held(&umm->mutex);

	if (umm->calls) {
		mmap_read_lock(umm->mm);
		uretprobe_give_up(umm, umm->mm);
		mmap_read_unlock(umm->mm);
		return 0;
	}
	calls = kcalloc(1 << CALL_BITS, sizeof(*calls), GFP_KERNEL);
	if (!calls)
		return -ENOMEM;
	for (i = 0; i < 1 << CALL_BITS; i++)
		spin_lock_init(&calls[i].lock);
	/* Pairs with the acquire in calls_of(). */
	smp_store_release(&umm->calls, calls);
	return 0;
}

static void set_trampoline(struct uprobes_mm *umm, unsigned long vaddr,
			   struct probepoint *point)
{
	spin_lock(&umm->lock);
	WRITE_ONCE(umm->tramp_point, point);
	WRITE_ONCE(umm->trampoline, vaddr);
	/* Pairs with the acquire in trampoline_lives(). */
	smp_store_release(&umm->tramp_lives, true);
	spin_unlock(&umm->lock);
}

/**
 * uretprobe_need_trampoline() - make sure that there is a trampoline
 * @umm: the address space
 *
 * Context: @umm->mutex held. Sleeps.
 *
 * Return: 0 or an error of register_uretprobe().
 */
int uretprobe_need_trampoline(struct uprobes_mm *umm)
{
	unsigned long vaddr;
	int ret;

	lockdep_assert_held(&umm->mutex);

	if (trampoline_lives(umm))
		return 0;
	ret = prepare_trampoline(umm) ?: uprobe_xol_add_trampoline(umm, &vaddr);
	if (!ret)
		set_trampoline(umm, vaddr, NULL);
	return ret;
}

/**
 * uretprobe_init() - init_uretprobes() of an address space
 * @mm: the address space, with a reference
 * @vaddr: 0 or the address to use
 *
 * Context: no lock held. Sleeps.
 *
 * Return: 0 or an error of init_uretprobes().
 */
int uretprobe_init(struct mm_struct *mm, unsigned long vaddr)
{
	struct uprobes_mm *umm = uprobe_make_umm(mm);
	struct probepoint *point;
	LIST_HEAD(points);
	int ret;

	if (!umm)
		return -ENOMEM;

	mutex_lock(&umm->mutex);
	if (!vaddr) {
		ret = uretprobe_need_trampoline(umm);
		goto unlock;
	}
	if (trampoline_lives(umm)) {
		ret = umm->trampoline == vaddr ? 0 : -EEXIST;
		goto unlock;
	}
	ret = prepare_trampoline(umm);
	if (ret)
		goto unlock;
	point = uprobe_make_point(umm, NULL, vaddr, &points);
	if (IS_ERR(point))
		ret = PTR_ERR(point);
	else
		set_trampoline(umm, vaddr, point);
unlock:
	mutex_unlock(&umm->mutex);

	if (!list_empty(&points))
		synchronize_srcu(&umm->srcu);
	uprobe_put_points(&points);
	return ret;
}

/**
 * uretprobe_is_trampoline() - do return-probed functions return there?
 * @umm: the address space
 * @vaddr: the address
 *
 * Context: any.
 *
 * Return: true when they do.
 */
bool uretprobe_is_trampoline(struct uprobes_mm *umm, unsigned long vaddr)
{
	return vaddr && vaddr == READ_ONCE(umm->trampoline);
}

/**
 * uprobe_get_trampoline_vaddr() - where return-probed functions return to
 *
 * Context: any, in a process.
 *
 * Return: the address in current's process, UPROBE_NO_TRAMPOLINE_VADDR if there
 * is none.
 */
unsigned long uprobe_get_trampoline_vaddr(void)
{
	struct uprobes_mm *umm = current->mm ? umm_of(current->mm) : NULL;
	unsigned long vaddr = umm ? READ_ONCE(umm->trampoline) : 0;

	return vaddr ?: UPROBE_NO_TRAMPOLINE_VADDR;
}

/*
 * Instances. Those of a call that is in the list of its thread are freed when
 * their probe is removed, so a probe can be looked at by who holds the lock of
 * the thread. When a call is taken off the list, and before that lock is given
 * up, instances of dead probes are freed as well. The others belong to the SRCU
 * section of the thread: since that did not see their probes dead, the removal
 * of these waits for it.
 */

static void free_instance(struct uretprobe_instance *instance)
{
	struct probe *probe = instance->probe;

	if (probe->maxactive > 0)
		atomic_dec(&probe->active);
	kfree(instance);
}

/* Those whose probe is being removed. */
static void forget_dead(struct return_instance *ri)
{
	struct uretprobe_instance **link = &ri->instances, *instance;

	while ((instance = *link)) {
		if (!READ_ONCE(instance->probe->dead)) {
			link = &instance->next;
			continue;
		}
		*link = instance->next;
		free_instance(instance);
	}
}

/* In an SRCU section, with the lock of the call's thread held. */
static struct uretprobe_instance *take_instances(struct return_instance *ri)
{
	struct uretprobe_instance *instances;

	forget_dead(ri);
	instances = ri->instances;
	ri->instances = NULL;
	return instances;
}

static bool is_inode_instance(const struct uretprobe_instance *instance)
{
	return instance->probe == &uprobe_inode_returns;
}

static void miss_instances(struct uretprobe_instance *instance)
{
	struct uretprobe_instance *next;

	for (; instance; instance = next) {
		next = instance->next;
		if (is_inode_instance(instance))
			uprobe_inode_count_missed(instance);
		else
			uprobe_count_missed(instance->probe);
		free_instance(instance);
	}
}

static struct uretprobe_instance *make_instance(struct probe *probe)
{
	struct uretprobe_instance *instance;

	if (probe->maxactive > 0 &&
	    !atomic_add_unless(&probe->active, 1, probe->maxactive))
		return NULL;
	instance = kzalloc(struct_size(instance, data, probe->data_size),
			   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!instance) {
		if (probe->maxactive > 0)
			atomic_dec(&probe->active);
		return NULL;
	}
	instance->rp = container_of(probe->u, struct uretprobe, u);
	instance->probe = probe;
	return instance;
}

/*
 * The table of calls.
 */

/*
 * Can the return address be in another place than the slot: in a register, or
 * where only the function knows? Then a new call with the same stack pointer
 * does not mean that this one is over.
 */
static bool is_elusive(struct uprobes_mm *umm, struct return_instance *ri)
{
	return !arch_uretprobe_slot(umm->mm, ri) ||
	       arch_uretprobe_link(current_pt_regs());
}

static struct call_bucket *bucket_of(struct uprobes_mm *umm,
				     unsigned long stack)
{
	/* Pairs with the release in prepare_trampoline(). */
	return smp_load_acquire(&umm->calls) + hash_long(stack, CALL_BITS);
}

/* If there are several, which takes registers, the newest returns first. */
static struct return_instance *find_call(struct call_bucket *bucket,
					 unsigned long stack)
{
	struct return_instance *ri;

	lockdep_assert_held(&bucket->lock);
	hlist_for_each_entry(ri, &bucket->calls, hash) {
		if (ri->stack == stack)
			return ri;
	}
	return NULL;
}

/* Who unwinds the stack does not find it any more. */
static void forget_unwind(struct uprobes_mm *umm, struct return_instance *ri)
{
	uprobe_xol_del_unwind(umm, ri->unwind);
	ri->unwind = 0;
}

static void unhash_call(struct uprobes_mm *umm, struct return_instance *ri)
{
	hlist_del_init(&ri->hash);
	forget_unwind(umm, ri);
}

/* Its slot has got another owner, or none. */
static bool is_lost(struct return_instance *ri)
{
	return hlist_unhashed_lockless(&ri->hash);
}

/* Returns false if somebody else has it already, who will free it. */
static bool unlink_orphan(struct uprobes_mm *umm, struct return_instance *ri)
{
	bool linked;

	spin_lock(&umm->lock);
	linked = !list_empty(&ri->orphan);
	if (linked) {
		list_del_init(&ri->orphan);
		umm->nr_orphans--;
	}
	spin_unlock(&umm->lock);
	return linked;
}

/* With the lock of its bucket held. */
static void add_orphan(struct uprobes_mm *umm, struct return_instance *ri)
{
	ri->utask = NULL;
	spin_lock(&umm->lock);
	list_add_tail(&ri->orphan, &umm->orphans);
	umm->nr_orphans++;
	spin_unlock(&umm->lock);
}

/* Forget the oldest orphans, in current's memory, that are too many. */
static void limit_orphans(struct uprobes_mm *umm)
{
	while (READ_ONCE(umm->nr_orphans) > MAX_ORPHANS) {
		struct return_instance *ri;
		struct call_bucket *bucket;

		spin_lock(&umm->lock);
		ri = list_first_entry_or_null(&umm->orphans,
					      struct return_instance, orphan);
		if (ri) {
			list_del_init(&ri->orphan);
			umm->nr_orphans--;
		}
		spin_unlock(&umm->lock);
		if (!ri)
			return;

		bucket = bucket_of(umm, ri->stack);
		spin_lock(&bucket->lock);
		/* What is in its slot may be that of a newer call. */
		if (!is_lost(ri) && find_call(bucket, ri->stack) == ri)
			arch_uretprobe_give_back(ri, umm->trampoline);
		if (!is_lost(ri))
			unhash_call(umm, ri);
		spin_unlock(&bucket->lock);
		kmem_cache_free(return_cache, ri);
	}
}

/*
 * Take a call out of the table, with the lock of its bucket held, whose thread
 * is another one or none. What has to be missed is returned, and the memory of
 * an orphan in @orphan.
 */
static struct uretprobe_instance *
rob_call(struct uprobes_mm *umm, struct return_instance *ri,
	 struct return_instance **orphan)
{
	struct uretprobe_instance *instances;

	unhash_call(umm, ri);
	if (!ri->utask) {
		*orphan = unlink_orphan(umm, ri) ? ri : NULL;
		return NULL;
	}
	/* The thread takes it out of the table before it ends. */
	spin_lock(&ri->utask->lock);
	instances = take_instances(ri);
	spin_unlock(&ri->utask->lock);
	*orphan = NULL;
	return instances;
}

/*
 * The slot gets a new owner. Returns false if it is that of another process,
 * whose stack current was lent by vfork(): it will want it back.
 */
static bool take_over_slot(struct uprobes_mm *umm, unsigned long stack)
{
	struct call_bucket *bucket = bucket_of(umm, stack);
	struct uretprobe_instance *instances = NULL;
	struct return_instance *ri, *orphan = NULL;
	bool taken = true;

	spin_lock(&bucket->lock);
	ri = find_call(bucket, stack);
	if (ri && ri->utask && ri->utask->tgid != task_tgid(current))
		taken = false;
	else if (ri && (ri->utask || !is_elusive(umm, ri)))
		instances = rob_call(umm, ri, &orphan);
	spin_unlock(&bucket->lock);
	miss_instances(instances);
	if (orphan)
		kmem_cache_free(return_cache, orphan);
	return taken;
}

static void hash_call(struct uprobes_mm *umm, struct return_instance *ri)
{
	struct call_bucket *bucket = bucket_of(umm, ri->stack);
	struct return_instance *older;

	spin_lock(&bucket->lock);
	/* What is looked up is a slot, so that is in the table once. */
	older = find_call(bucket, ri->stack);
	if (older)
		forget_unwind(umm, older);
	hlist_add_head(&ri->hash, &bucket->calls);
	if (!ri->utask)
		add_orphan(umm, ri);
	spin_unlock(&bucket->lock);
}

/* The real return address of the call that has a slot. */
static bool find_addr(struct uprobes_mm *umm, unsigned long stack,
		      unsigned long *addr)
{
	struct call_bucket *bucket = bucket_of(umm, stack);
	struct return_instance *ri;

	spin_lock(&bucket->lock);
	ri = find_call(bucket, stack);
	if (ri)
		*addr = ri->orig_ret_vaddr;
	spin_unlock(&bucket->lock);
	return ri;
}

/* Does a slot of current's memory have the address of the trampoline? */
static bool holds_trampoline(struct uprobes_mm *umm, struct return_instance *ri,
			     bool if_unknown)
{
	unsigned int size = arch_uprobe_word(current->mm);
	unsigned long slot = arch_uretprobe_slot(current->mm, ri), word;

	if (!slot)
		return true;
	if (copy_from_user_nofault(&word, (void __user *)slot, size))
		return if_unknown;
	return uretprobe_is_trampoline(umm, uprobe_word_get(&word, size));
}

/*
 * The calls of a thread.
 */

/**
 * struct stack - what is taken for one stack
 * @start: its lowest address
 * @end: behind it
 * @signal: it is, or has nothing of, the alternate signal stack
 */
struct stack {
	unsigned long start;
	unsigned long end;
	bool signal;
};

static bool on_signal_stack(unsigned long addr)
{
	return addr - current->sas_ss_sp < current->sas_ss_size;
}

/*
 * That there is no end of a mapping between is the best we can tell. It is not
 * worth waiting for: if it cannot be told now, no other call is on that stack.
 */
static struct stack find_stack(unsigned long addr)
{
	struct stack stack = { .signal = on_signal_stack(addr) };
	struct vm_area_struct *vma = lock_vma_under_rcu(current->mm, addr);

	if (vma) {
		stack.start = vma->vm_start;
		stack.end = vma->vm_end;
		vma_end_read(vma);
	} else if (!IS_ENABLED(CONFIG_PER_VMA_LOCK) &&
		   mmap_read_trylock(current->mm)) {
		vma = vma_lookup(current->mm, addr);
		stack.start = vma ? vma->vm_start : 0;
		stack.end = vma ? vma->vm_end : 0;
		mmap_read_unlock(current->mm);
	}
	return stack;
}

static bool on_stack(const struct stack *stack, unsigned long addr)
{
	return addr >= stack->start && addr < stack->end &&
	       on_signal_stack(addr) == stack->signal;
}

static void unlink_call(struct uprobe_task *utask,
			struct return_instance **link)
{
	lockdep_assert_held(&utask->lock);
	utask->depth -= (*link)->entries;
	/* uretprobe_purge() does not find it any more. */
	forget_dead(*link);
	WRITE_ONCE(*link, (*link)->next);
}

/*
 * Unlink the calls that are lost, and those that began below @sp on the same
 * stack, onto the list @dead; up to @end.
 */
static void unlink_below(struct uprobe_task *utask, unsigned long sp,
			 const struct stack *stack, struct return_instance *end,
			 struct return_instance **dead)
{
	struct return_instance **link = &utask->return_instances, *ri;

	while ((ri = *link) != end) {
		if (!is_lost(ri) && (ri->stack >= sp ||
				     !on_stack(stack, ri->stack))) {
			link = &ri->next;
			continue;
		}
		unlink_call(utask, link);
		ri->next = *dead;
		*dead = ri;
	}
}

/* Those whose slot has been used for something else. */
static void unlink_overwritten(struct uprobe_task *utask,
			       struct return_instance **dead)
{
	struct return_instance **link = &utask->return_instances, *ri;

	while ((ri = *link)) {
		if (holds_trampoline(utask->umm, ri, true)) {
			link = &ri->next;
			continue;
		}
		unlink_call(utask, link);
		ri->next = *dead;
		*dead = ri;
	}
}

/*
 * @ri was unlinked from the list of current. If it cannot be excluded that it
 * will return, or is just returning, it becomes an orphan.
 */
static void drop_call(struct uprobe_task *utask, struct return_instance *ri,
		      bool give_back)
{
	struct uprobes_mm *umm = utask->umm;
	struct call_bucket *bucket = bucket_of(umm, ri->stack);
	struct uretprobe_instance *instances;
	bool keep = false;

	spin_lock(&bucket->lock);
	spin_lock(&utask->lock);
	instances = take_instances(ri);
	spin_unlock(&utask->lock);
	if (!is_lost(ri)) {
		keep = !give_back ||
		       arch_uretprobe_give_back(ri, umm->trampoline) <= 0;
		if (keep)
			add_orphan(umm, ri);
		else
			unhash_call(umm, ri);
	}
	spin_unlock(&bucket->lock);

	miss_instances(instances);
	if (keep)
		limit_orphans(umm);
	else
		kmem_cache_free(return_cache, ri);
}

static void drop_calls(struct uprobe_task *utask, struct return_instance *dead)
{
	struct return_instance *next;

	for (; dead; dead = next) {
		next = dead->next;
		drop_call(utask, dead, true);
	}
}

/*
 * The entry.
 */

/*
 * Drop calls that were left, below @sp or, unless this one will @join it, at
 * @sp: that slot has got another return address.
 */
static void drop_left(struct uprobe_task *utask, unsigned long sp, bool join)
{
	struct return_instance *top = utask->return_instances, *dead = NULL;
	unsigned long end = join ? sp : sp + 1;
	struct stack stack;

	if (likely(!top || (top->stack >= end && !is_lost(top))))
		return;
	stack = find_stack(sp);
	spin_lock(&utask->lock);
	unlink_below(utask, end, &stack, NULL, &dead);
	spin_unlock(&utask->lock);
	drop_calls(utask, dead);
}

/**
 * uretprobe_enter() - a function with a return probe is entered
 * @probe: the probe
 * @regs: the registers
 *
 * The instance waits in current->utask->instances for uretprobe_hijack().
 *
 * Context: inside the SRCU section. Sleeps.
 *
 * Return: the instance, or NULL when the return will not be reported.
 */
struct uretprobe_instance *uretprobe_enter(struct probe *probe,
					   struct pt_regs *regs)
{
	struct uprobe_task *utask = current->utask;
	struct uretprobe_instance *instance;
	unsigned long addr;
	bool joins;

	addr = arch_uretprobe_return_addr(regs);
	joins = uretprobe_is_trampoline(utask->umm, addr);
	drop_left(utask, user_stack_pointer(regs), joins);
	if (joins && !find_addr(utask->umm, user_stack_pointer(regs), &addr))
		addr = -1;
	instance = addr == -1UL ? NULL : make_instance(probe);
	if (!instance) {
		uprobe_count_missed(probe);
		return NULL;
	}
	instance->ret_addr = addr;
	instance->sp = user_stack_pointer(regs);
	instance->next = utask->instances;
	utask->instances = instance;
	if (!instance->rp->entry_handler ||
	    !instance->rp->entry_handler(instance, regs))
		return instance;
	utask->instances = instance->next;
	free_instance(instance);
	return NULL;
}

/*
 * Returns false if there are too many calls, even without those that were left
 * behind newer ones, and those whose stack was freed: that can only be noticed
 * when it is used for something else.
 */
static bool make_room(struct uprobe_task *utask, unsigned long sp)
{
	struct return_instance *dead = NULL;
	struct stack stack;

	if (likely(utask->depth < UPROBE_MAX_RETURNS))
		return true;
	stack = find_stack(sp);
	spin_lock(&utask->lock);
	unlink_below(utask, sp + 1, &stack, NULL, &dead);
	unlink_overwritten(utask, &dead);
	spin_unlock(&utask->lock);
	drop_calls(utask, dead);
	return utask->depth < UPROBE_MAX_RETURNS;
}

static void add_instances(struct return_instance *ri,
			  struct uretprobe_instance *instances)
{
	struct uretprobe_instance *last = instances;

	while (last->next)
		last = last->next;
	last->next = ri->instances;
	ri->instances = instances;
}

/* By a jump from a function that is observed: it will return for both. */
static bool join_call(struct uprobe_task *utask, unsigned long stack)
{
	struct call_bucket *bucket = bucket_of(utask->umm, stack);
	struct return_instance *ri;
	bool joined;

	spin_lock(&bucket->lock);
	ri = find_call(bucket, stack);
	joined = ri && ri->utask == utask && utask->depth < UPROBE_MAX_RETURNS;
	if (joined) {
		spin_lock(&utask->lock);
		add_instances(ri, utask->instances);
		ri->entries++;
		utask->depth++;
		spin_unlock(&utask->lock);
	}
	spin_unlock(&bucket->lock);
	return joined;
}

static void link_call(struct uprobe_task *utask, struct return_instance *ri)
{
	spin_lock(&utask->lock);
	ri->next = utask->return_instances;
	/* A call chain that is taken now sees all of it or nothing. */
	smp_store_release(&utask->return_instances, ri);
	utask->depth++;
	spin_unlock(&utask->lock);
	hash_call(utask->umm, ri);
}

static bool begin_call(struct uprobe_task *utask, struct pt_regs *regs,
		       unsigned long stack, unsigned long addr)
{
	unsigned long trampoline = READ_ONCE(utask->umm->trampoline);
	struct uretprobe_instance *instance;
	struct uprobes_mm *umm = utask->umm;
	struct return_instance *ri;

	if (!make_room(utask, stack) || !trampoline_lives(umm))
		return false;
	ri = kmem_cache_zalloc(return_cache, GFP_KERNEL | __GFP_NOWARN);
	if (!ri)
		return false;
	ri->orig_ret_vaddr = addr;
	ri->stack = stack;
	ri->entries = 1;
	ri->utask = utask;
	INIT_LIST_HEAD(&ri->orphan);

	/* Rather no hit than a stack that the program cannot unwind. */
	if (!take_over_slot(umm, stack) ||
	    !uprobe_xol_add_unwind(umm, arch_uretprobe_slot(current->mm, ri),
				   addr, &ri->unwind))
		goto free;
	if (arch_uretprobe_hijack_return_addr(trampoline, regs) != addr)
		goto del_unwind;

	/* A handler may have changed it. */
	for (instance = utask->instances; instance; instance = instance->next)
		instance->ret_addr = addr;
	ri->instances = utask->instances;
	link_call(utask, ri);

	/* Who unmaps the trampoline writes back what is in the table by then. */
	smp_mb();
	if (unlikely(!trampoline_lives(umm) ||
		     READ_ONCE(umm->trampoline) != trampoline))
		arch_uretprobe_give_back(ri, trampoline);
	return true;

del_unwind:
	uprobe_xol_del_unwind(umm, ri->unwind);
free:
	kmem_cache_free(return_cache, ri);
	return false;
}

/**
 * uretprobe_hijack() - let the function that was entered return to us
 * @regs: the registers, as all entry handlers left them
 *
 * A handler that moved the stack pointer has ended the call itself.
 *
 * Context: inside the SRCU section. Sleeps.
 */
void uretprobe_hijack(struct pt_regs *regs)
{
	struct uprobe_task *utask = current->utask;
	unsigned long stack = utask->instances->sp, addr;
	bool begun = false;

	if (user_stack_pointer(regs) == stack) {
		addr = arch_uretprobe_return_addr(regs);
		if (uretprobe_is_trampoline(utask->umm, addr))
			begun = join_call(utask, stack);
		else if (addr != -1UL)
			begun = begin_call(utask, regs, stack, addr);
	}
	if (!begun)
		miss_instances(utask->instances);
	utask->instances = NULL;
}

/*
 * The return.
 */

/* Off the list of current. Those that began after it on its stack are left. */
static void finish_call(struct uprobe_task *utask, struct return_instance *ri)
{
	struct return_instance **link, *dead = NULL;
	bool newest = utask->return_instances == ri;
	struct stack stack = {};

	if (!newest)
		stack = find_stack(ri->stack);
	spin_lock(&utask->lock);
	if (!newest)
		unlink_below(utask, ri->stack, &stack, ri, &dead);
	for (link = &utask->return_instances; *link != ri;)
		link = &(*link)->next;
	unlink_call(utask, link);
	utask->instances = take_instances(ri);
	spin_unlock(&utask->lock);

	drop_calls(utask, dead);
	kmem_cache_free(return_cache, ri);
}

/*
 * The call with that slot has returned: what it is of current, it is in
 * @own, for finish_call(). @word: only if the slot still has our word, which
 * nothing overwrites before the trampoline is reached.
 */
static bool take_call(struct uprobe_task *utask, unsigned long stack, bool word,
		      unsigned long *addr, struct return_instance **own)
{
	struct call_bucket *bucket = bucket_of(utask->umm, stack);
	struct uretprobe_instance *instances = NULL;
	struct return_instance *ri, *orphan = NULL;

	spin_lock(&bucket->lock);
	ri = find_call(bucket, stack);
	if (ri && word && !holds_trampoline(utask->umm, ri, true))
		ri = NULL;
	if (!ri)
		goto unlock;
	*addr = ri->orig_ret_vaddr;
	if (ri->utask == utask) {
		unhash_call(utask->umm, ri);
		*own = ri;
	} else if (!ri->utask || ri->utask->tgid == utask->tgid) {
		instances = rob_call(utask->umm, ri, &orphan);
	}
	/* Else it is a child in the memory of its parent, who returns as well. */
unlock:
	spin_unlock(&bucket->lock);
	miss_instances(instances);
	if (orphan)
		kmem_cache_free(return_cache, orphan);
	return ri;
}

/* What has popped more than its address is the call next below. */
static bool find_popped(struct uprobe_task *utask, unsigned long sp,
			unsigned long *stack)
{
	struct return_instance *ri;
	bool found = false;

	for (ri = utask->return_instances; ri; ri = ri->next) {
		if (sp - ri->stack > arch_uretprobe_pops() || is_lost(ri) ||
		    (found && ri->stack < *stack) ||
		    !holds_trampoline(utask->umm, ri, false))
			continue;
		*stack = ri->stack;
		found = true;
	}
	return found;
}

static bool find_returned(struct uprobe_task *utask, struct pt_regs *regs,
			  unsigned long *addr, struct return_instance **own)
{
	unsigned long sp = arch_uretprobe_stack(regs), stack;

	return take_call(utask, sp, true, addr, own) ||
	       (find_popped(utask, sp, &stack) &&
		take_call(utask, stack, true, addr, own)) ||
	       take_call(utask, sp, false, addr, own);
}

static void run_handlers(struct uprobe_task *utask, struct pt_regs *regs)
{
	struct uretprobe_instance *instance;

	utask->handling = true;
	while ((instance = utask->instances)) {
		struct probe *probe = instance->probe;

		utask->instances = instance->next;
		utask->running = instance;
		if (READ_ONCE(uprobes_enabled) && !READ_ONCE(probe->disabled)) {
			this_cpu_inc(*probe->hits);
			instance->rp->handler(instance, regs);
		}
		utask->running = NULL;
		free_instance(instance);
	}
	utask->handling = false;
}

/**
 * uretprobe_return() - current executes the trampoline
 * @regs: the registers
 *
 * Context: inside the SRCU section. Sleeps.
 *
 * Return: true when a call has returned: @regs are those of its caller. False
 * when the thread did not come here by a return.
 */
bool uretprobe_return(struct pt_regs *regs)
{
	unsigned long *link = arch_uretprobe_link(regs), addr;
	struct uprobe_task *utask = current->utask;
	struct return_instance *own = NULL;

	if (!find_returned(utask, regs, &addr, &own))
		return false;
	instruction_pointer_set(regs, addr);
	/* A return by the register leaves there where it went to. */
	if (link && uretprobe_is_trampoline(utask->umm, *link))
		*link = addr;
	if (own) {
		finish_call(utask, own);
		run_handlers(utask, regs);
	}
	return true;
}

/**
 * uretprobe_find_return() - where does a thread at the trampoline return to?
 * @umm: its address space
 * @regs: its registers
 * @addr: set to the address
 *
 * Context: any in which a spinlock may be taken.
 *
 * Return: true when it is known.
 */
bool uretprobe_find_return(struct uprobes_mm *umm, struct pt_regs *regs,
			   unsigned long *addr)
{
	return find_addr(umm, arch_uretprobe_stack(regs), addr);
}

/* That which returns first of those that began at @sp or above. */
static struct return_instance *newest_call(struct uprobe_task *utask,
					   unsigned long sp)
{
	struct return_instance *ri = READ_ONCE(utask->return_instances);

	while (ri && (is_lost(ri) || ri->stack < sp))
		ri = READ_ONCE(ri->next);
	return ri;
}

/**
 * uretprobe_find_link() - where will a thread return to by its register?
 * @utask: its
 * @sp: its stack pointer, which need not be that at the entry any more
 * @addr: set to the address
 *
 * The register is that of the newest call, if it is not that of one at @sp.
 *
 * Context: any in which a spinlock may be taken.
 */
void uretprobe_find_link(struct uprobe_task *utask, unsigned long sp,
			 unsigned long *addr)
{
	struct return_instance *ri;

	if (find_addr(utask->umm, sp, addr))
		return;
	spin_lock(&utask->lock);
	ri = newest_call(utask, sp);
	if (ri)
		*addr = ri->orig_ret_vaddr;
	spin_unlock(&utask->lock);
}

/*
 * Removal, and the life of a thread.
 */

/**
 * uretprobe_purge() - forget the instances of probes that are being removed
 * @umm: the address space
 *
 * The calls stay: they have to return.
 *
 * Context: a grace period after the probes were marked dead and unlinked: no
 * new instance of them can appear.
 */
void uretprobe_purge(struct uprobes_mm *umm)
{
	struct return_instance *ri;
	struct uprobe_task *utask;

	spin_lock(&umm->lock);
	list_for_each_entry(utask, &umm->tasks, node) {
		if (!READ_ONCE(utask->return_instances))
			continue;
		spin_lock(&utask->lock);
		for (ri = utask->return_instances; ri; ri = ri->next)
			forget_dead(ri);
		spin_unlock(&utask->lock);
	}
	spin_unlock(&umm->lock);
}

/**
 * uretprobe_end_thread() - the calls in progress of a thread do not return
 * @utask: current's
 *
 * Their stack may go on in another thread, so it is left as it is.
 *
 * Context: inside the SRCU section, in a handler maybe.
 */
void uretprobe_end_thread(struct uprobe_task *utask)
{
	struct return_instance *ri;

	if (utask->running)
		free_instance(utask->running);
	utask->running = NULL;
	miss_instances(utask->instances);
	utask->instances = NULL;

	while ((ri = utask->return_instances)) {
		spin_lock(&utask->lock);
		unlink_call(utask, &utask->return_instances);
		spin_unlock(&utask->lock);
		drop_call(utask, ri, false);
	}
}

/**
 * uretprobe_free_calls() - an address space is gone
 * @umm: the address space
 */
void uretprobe_free_calls(struct uprobes_mm *umm)
{
	struct return_instance *ri, *next;

	list_for_each_entry_safe(ri, next, &umm->orphans, orphan)
		kmem_cache_free(return_cache, ri);
	kfree(umm->calls);
}

/* A call that has no thread yet. */
static void copy_call(struct uprobes_mm *umm, unsigned long stack,
		      unsigned long addr)
{
	struct return_instance *ri;

	ri = kmem_cache_zalloc(return_cache, GFP_KERNEL | __GFP_NOFAIL);
	ri->orig_ret_vaddr = addr;
	ri->stack = stack;
	ri->entries = 1;
	uprobe_xol_add_unwind(umm, arch_uretprobe_slot(umm->mm, ri), addr,
			      &ri->unwind);
	hash_call(umm, ri);
}

/*
 * Can @child, in current's memory, return from the call @ri of current, with
 * that stack pointer? Where there is nothing to look at, any call that would
 * stand on its stack can.
 */
static bool is_copied(struct task_struct *child, struct return_instance *ri,
		      unsigned long stack)
{
	unsigned long *link = arch_uretprobe_link(task_pt_regs(child)), addr;
	struct uprobes_mm *umm = current->utask->umm;
	struct return_instance at = { .stack = stack };
	struct stack its;

	if (!arch_uretprobe_slot(umm->mm, &at)) {
		its = find_stack(user_stack_pointer(task_pt_regs(child)));
		return on_stack(&its, stack) && !find_addr(umm, stack, &addr);
	}
	return (link && uretprobe_is_trampoline(umm, *link) &&
		ri->stack == user_stack_pointer(current_pt_regs())) ||
	       holds_trampoline(umm, &at, false);
}

/**
 * uretprobe_copy() - current makes a thread, or a process, in its memory
 * @child: which did not run yet
 *
 * If it was given a copy of the stack it has to be able to return there from
 * what current has called. Nobody observes that.
 *
 * Context: process context, sleeps.
 */
void uretprobe_copy(struct task_struct *child)
{
	struct uprobe_task *utask = current->utask;
	unsigned long distance = user_stack_pointer(task_pt_regs(child)) -
				 user_stack_pointer(current_pt_regs());
	struct uprobes_mm *umm = utask->umm;
	struct return_instance *ri;
	int idx;

	if (!distance || !IS_ALIGNED(distance, arch_uprobe_word(current->mm)) ||
	    !user_stack_pointer(task_pt_regs(child)))
		return;
	idx = srcu_read_lock(&umm->srcu);
	for (ri = utask->return_instances; ri; ri = ri->next) {
		unsigned long stack = ri->stack + distance;

		if (!is_lost(ri) && is_copied(child, ri, stack) &&
		    take_over_slot(umm, stack))
			copy_call(umm, stack, ri->orig_ret_vaddr);
	}
	srcu_read_unlock(&umm->srcu, idx);
	limit_orphans(umm);
}

/**
 * uretprobe_copy_link() - current makes a process, with a copy of its registers
 * @child: which did not run yet
 *
 * Return addresses in memory are uretprobe_clean()'s.
 */
void uretprobe_copy_link(struct task_struct *child)
{
	struct uprobes_mm *umm = current->utask->umm, *its = umm_of(child->mm);
	struct pt_regs *regs = task_pt_regs(child);
	unsigned long *link = arch_uretprobe_link(regs), addr;

	if (!link || !uretprobe_is_trampoline(umm, *link))
		return;
	/* It has got that call, if it is followed, and the trampoline. */
	if (its && uretprobe_is_trampoline(its, *link) &&
	    find_addr(its, user_stack_pointer(regs), &addr))
		return;
	find_addr(umm, user_stack_pointer(regs), link);
}

static unsigned int count_calls(struct uprobes_mm *umm)
{
	struct return_instance *ri;
	unsigned int nr = 0;
	int i;

	for (i = 0; i < 1 << CALL_BITS; i++) {
		struct call_bucket *bucket = &umm->calls[i];

		if (hlist_empty(&bucket->calls))
			continue;
		spin_lock(&bucket->lock);
		hlist_for_each_entry(ri, &bucket->calls, hash)
			nr++;
		spin_unlock(&bucket->lock);
	}
	return nr;
}

static bool add_slot(struct uprobes_mm *umm, struct uretprobe_slot *slots,
		     unsigned int *n, unsigned int max,
		     struct return_instance *ri, bool followed)
{
	if (*n == max)
		return false;
	slots[*n].stack = ri->stack;
	slots[*n].followed = followed;
	slots[*n].elusive = followed || is_elusive(umm, ri);
	slots[*n].slot = arch_uretprobe_slot(umm->mm, ri);
	slots[(*n)++].addr = ri->orig_ret_vaddr;
	return true;
}

/* Of current. */
static bool is_followed(struct uprobe_task *utask, struct return_instance *ri)
{
	struct uretprobe_instance *instance;

	spin_lock(&utask->lock);
	instance = ri->instances;
	while (instance && !is_inode_instance(instance))
		instance = instance->next;
	spin_unlock(&utask->lock);
	return instance;
}

/* Those of @utask, which is current's or NULL, come first. */
static bool fill_slots(struct uprobes_mm *umm, struct uprobe_task *utask,
		       struct uretprobe_slot *slots, unsigned int *n,
		       unsigned int max)
{
	struct return_instance *ri;
	bool room = true;
	int i;

	for (ri = utask ? utask->return_instances : NULL; ri; ri = ri->next) {
		if (!is_lost(ri) && !add_slot(umm, slots, n, max, ri,
					      is_followed(utask, ri)))
			return false;
	}
	for (i = 0; i < 1 << CALL_BITS && room; i++) {
		struct call_bucket *bucket = &umm->calls[i];

		if (hlist_empty(&bucket->calls))
			continue;
		spin_lock(&bucket->lock);
		hlist_for_each_entry(ri, &bucket->calls, hash) {
			if (!utask || ri->utask != utask)
				room = room && add_slot(umm, slots, n, max, ri,
							false);
		}
		spin_unlock(&bucket->lock);
	}
	return room;
}

/**
 * uretprobe_collect() - the return addresses that are changed now
 * @umm: the address space
 * @nr: set to their number
 *
 * Calls may begin and end meanwhile, but for those of current.
 *
 * Context: sleeps.
 *
 * Return: an array for kvfree(), or NULL when there are none.
 */
struct uretprobe_slot *uretprobe_collect(struct uprobes_mm *umm,
					 unsigned int *nr)
{
	struct uprobe_task *utask = current->utask;
	struct uretprobe_slot *slots = NULL;
	unsigned int max;

	if (utask && utask->umm != umm)
		utask = NULL;
	/* What begins meanwhile needs room, too: only so many can. */
	do {
		kvfree(slots);
		*nr = 0;
		max = READ_ONCE(umm->calls) ? count_calls(umm) : 0;
		if (!max)
			return NULL;
		max += max / 2 + 64 + (utask ? utask->depth : 0);
		slots = kvmalloc_array(max, sizeof(*slots),
				       GFP_KERNEL | __GFP_NOFAIL);
	} while (!fill_slots(umm, utask, slots, nr, max));
	return slots;
}

/* Once it was written back: does the slot have the return address? */
static bool is_clean(struct mm_struct *mm, const struct uretprobe_slot *slot)
{
	unsigned int size = arch_uprobe_word(mm);
	unsigned long word;

	return slot->slot &&
	       uprobe_text_read(mm, slot->slot, (u8 *)&word, size) == size &&
	       uprobe_word_get(&word, size) == slot->addr;
}

/**
 * uretprobe_clean() - write return addresses back
 * @umm: the address space that they were collected in
 * @mm: the same, or that of a child, which is a copy and not in use yet
 * @slots: the return addresses. Those that may be elsewhere stay elusive, and
 *	those that are followed stay as they are in a child
 * @nr: their number
 *
 * Context: mmap_lock of @mm held. Sleeps.
 *
 * Return: false if a page cannot be had.
 */
bool uretprobe_clean(struct uprobes_mm *umm, struct mm_struct *mm,
		     struct uretprobe_slot *slots, unsigned int nr)
{
	bool clean = true;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (slots[i].followed && mm != umm->mm)
			continue;
		clean &= uprobe_word_swap(mm, slots[i].slot,
					  arch_uprobe_word(mm),
					  umm->trampoline, slots[i].addr);
		if (slots[i].elusive)
			slots[i].elusive = !is_clean(mm, &slots[i]);
	}
	return clean;
}

/**
 * uretprobe_give_up() - let all calls in progress return without us
 * @umm: the address space
 * @mm: the same, or that of a child, which is a copy and not in use yet
 *
 * Context: mmap_lock of @mm held. Sleeps.
 *
 * Return: false if a page cannot be had.
 */
bool uretprobe_give_up(struct uprobes_mm *umm, struct mm_struct *mm)
{
	struct uretprobe_slot *slots;
	unsigned int nr;
	bool clean;

	slots = uretprobe_collect(umm, &nr);
	clean = uretprobe_clean(umm, mm, slots, nr);
	kvfree(slots);
	return clean;
}

/* The trampoline of @umm, in a child as well. */
static int copy_trampoline(struct uprobes_mm *umm, struct uprobes_mm *child)
{
	unsigned long vaddr = READ_ONCE(umm->trampoline);
	int ret = 0;

	if (READ_ONCE(umm->tramp_point))
		return uretprobe_init(child->mm, vaddr);
	mutex_lock(&child->mutex);
	if (!trampoline_lives(child)) {
		ret = prepare_trampoline(child) ?:
		      uprobe_xol_copy_trampoline(umm, child, vaddr);
		if (!ret)
			set_trampoline(child, vaddr, NULL);
	}
	mutex_unlock(&child->mutex);
	return ret;
}

static bool has_copy(struct uprobes_mm *umm, const struct uretprobe_slot *slot)
{
	struct call_bucket *bucket = bucket_of(umm, slot->stack);
	struct return_instance *ri;

	spin_lock(&bucket->lock);
	hlist_for_each_entry(ri, &bucket->calls, hash) {
		if (ri->stack == slot->stack &&
		    ri->orig_ret_vaddr == slot->addr)
			break;
	}
	spin_unlock(&bucket->lock);
	return ri;
}

/**
 * uretprobe_inherit() - let calls in progress return in a child with our help
 * @umm: the address space that they were collected in
 * @mm: that of a child, which is a copy and not in use yet
 * @slots: the return addresses, those that could be written back no longer
 *	elusive
 * @nr: their number
 *
 * Wherever the child has the address of the trampoline, there is one.
 *
 * Context: no lock held. Sleeps.
 *
 * Return: false if there is no memory.
 */
bool uretprobe_inherit(struct uprobes_mm *umm, struct mm_struct *mm,
		       struct uretprobe_slot *slots, unsigned int nr)
{
	struct uprobes_mm *child = NULL;

	/* Of those with one stack pointer, the newest is added last. */
	while (nr--) {
		if (!slots[nr].elusive)
			continue;
		if (!child) {
			child = uprobe_make_umm(mm);
			if (!child || copy_trampoline(umm, child))
				return false;
		}
		if (!has_copy(child, &slots[nr]))
			copy_call(child, slots[nr].stack, slots[nr].addr);
	}
	return true;
}

/* The @n-th that a consumer of a file has for a call of current. */
static bool copy_instance(struct return_instance *ri, unsigned int n,
			  struct uretprobe_instance *to)
{
	struct uretprobe_instance *from;

	spin_lock(&ri->utask->lock);
	for (from = ri->instances; from; from = from->next) {
		if (is_inode_instance(from) && !n--)
			break;
	}
	if (from) {
		to->ret_addr = from->ret_addr;
		to->sp = from->sp;
		memcpy(to->data, from->data, from->probe->data_size);
	}
	spin_unlock(&ri->utask->lock);
	return from;
}

/* From a call of current to its copy in a child. */
static void copy_instances(struct return_instance *ri,
			   struct return_instance *copy)
{
	struct uretprobe_instance **link = &copy->instances, *instance;
	unsigned int n;

	for (n = 0; ; n++) {
		instance = make_instance(&uprobe_inode_returns);
		if (!instance)
			return;
		if (!copy_instance(ri, n, instance)) {
			free_instance(instance);
			return;
		}
		*link = instance;
		link = &instance->next;
	}
}

/**
 * uretprobe_adopt() - what a child has inherited from current is its thread's
 * @child: which did not run yet
 *
 * Context: process context, sleeps.
 */
void uretprobe_adopt(struct task_struct *child)
{
	struct uprobes_mm *umm = umm_of(child->mm);
	struct return_instance *ri, *copy, **link;
	struct uprobe_task *utask;

	if (!umm || !umm->calls)
		return;
	utask = uprobe_make_task(child, umm);
	link = &utask->return_instances;
	for (ri = current->utask->return_instances; ri; ri = ri->next) {
		struct call_bucket *bucket = bucket_of(umm, ri->stack);

		spin_lock(&bucket->lock);
		copy = is_lost(ri) ? NULL : find_call(bucket, ri->stack);
		if (copy && (copy->utask || !unlink_orphan(umm, copy)))
			copy = NULL;
		if (copy) {
			copy->utask = utask;
			utask->depth += copy->entries;
			*link = copy;
			link = &copy->next;
		}
		spin_unlock(&bucket->lock);
		/* Nobody runs there yet, to return. */
		if (copy && is_followed(current->utask, ri))
			copy_instances(ri, copy);
	}
}

/*
 * What others see.
 */

/*
 * If there is the address of the trampoline in @slot, what it stands for. @mem
 * has what is at @addr, with the rest of its page.
 */
static bool real_word(struct uprobes_mm *umm, unsigned long slot,
		      unsigned int size, unsigned long addr, const void *mem,
		      unsigned long *real)
{
	struct return_instance at = { .stack = slot };
	unsigned long word = uprobe_word_get(mem + (long)(slot - addr), size);
	unsigned long distance;

	if (!uretprobe_is_trampoline(umm, word) ||
	    !arch_uretprobe_slot(umm->mm, &at))
		return false;
	distance = arch_uretprobe_slot(umm->mm, &at) - slot;
	return find_addr(umm, slot - distance, real);
}

/* The bytes of a word of this size begin here. */
static void *word_bytes(unsigned long *value, unsigned int size)
{
	if (IS_ENABLED(CONFIG_CPU_BIG_ENDIAN))
		return (void *)(value + 1) - size;
	return value;
}

/**
 * uretprobe_peek() - uprobe_peek() of return addresses
 * @umm: whose memory it is
 * @addr: the address
 * @mem: what is there, with the rest of its page around it
 * @buf: what was read; changed
 * @len: how much
 *
 * Context: mmap_lock held.
 */
void uretprobe_peek(struct uprobes_mm *umm, unsigned long addr,
		    const void *mem, void *buf, int len)
{
	unsigned int size = arch_uprobe_word(umm->mm);
	unsigned long slot, real;
	int at, from, n;

	for (slot = ALIGN_DOWN(addr, size); slot < addr + len; slot += size) {
		if (!real_word(umm, slot, size, addr, mem, &real))
			continue;
		n = uprobe_overlap(addr, len, slot, size, &at, &from);
		memcpy(buf + at, word_bytes(&real, size) + from, n);
	}
}

/**
 * uretprobe_poke() - uprobe_poke() of return addresses
 * @umm: whose memory it is
 * @addr: the address
 * @mem: what is there now, with the rest of its page around it
 * @buf: what will be written; changed
 * @len: how much
 *
 * What was read, and is written back without a change, changes nothing.
 *
 * Context: mmap_lock held.
 */
void uretprobe_poke(struct uprobes_mm *umm, unsigned long addr, const void *mem,
		    void *buf, int len)
{
	unsigned int size = arch_uprobe_word(umm->mm);
	unsigned long slot, real;
	int at, from, n;

	for (slot = ALIGN_DOWN(addr, size); slot < addr + len; slot += size) {
		if (!real_word(umm, slot, size, addr, mem, &real))
			continue;
		n = uprobe_overlap(addr, len, slot, size, &at, &from);
		if (!memcmp(buf + at, word_bytes(&real, size) + from, n))
			memcpy(buf + at, mem + at, n);
	}
}

/* Is its return address where the call left it, in memory or in the register? */
static bool will_return(struct uprobe_task *utask, struct return_instance *ri)
{
	unsigned long *link = arch_uretprobe_link(current_pt_regs());

	return holds_trampoline(utask->umm, ri, true) ||
	       (ri == utask->return_instances && link &&
		uretprobe_is_trampoline(utask->umm, *link));
}

/**
 * uprobe_real_addr() - the real address behind one from a walk of the stack
 * @addr: an address of an instruction: first the instruction pointer of
 *	current, then the return addresses on its stack from the innermost
 * @cursor: where the walk is; *@cursor is NULL before the first call
 *
 * Calls are told by their order. Where a program uses several stacks, or has
 * just left calls by longjmp(), an address may be that of another call.
 *
 * Context: of current, a handler for example.
 *
 * Return: @addr, or if that is the engine's, what would be there without us.
 */
unsigned long uprobe_real_addr(unsigned long addr,
			       struct return_instance **cursor)
{
	struct uprobe_task *utask = current->utask;
	struct return_instance *ri;

	if (!utask)
		return addr;
	if (utask->active && addr == utask->xol_vaddr)
		return utask->vaddr;
	if (!uretprobe_is_trampoline(utask->umm, addr))
		return addr;
	ri = *cursor ? (*cursor)->next : utask->return_instances;
	while (ri && (is_lost(ri) || !will_return(utask, ri)))
		ri = ri->next;
	if (!ri)
		return addr;
	*cursor = ri;
	return ri->orig_ret_vaddr;
}
EXPORT_SYMBOL_GPL(uprobe_real_addr);

/**
 * uprobe_frame_addr() - the real return address behind one from a walk of frames
 * @addr: the address: where the function returns to whose frame is at @sp, or
 *	one that has no frame there
 * @sp: the stack pointer of that frame, at or below that at the entry
 *
 * For architectures where frames tell more than the order of the calls.
 *
 * Context: of current, any.
 *
 * Return: @addr, or if that is the trampoline, what would be there without us.
 */
unsigned long uprobe_frame_addr(unsigned long addr, unsigned long sp)
{
	struct uprobe_task *utask = current->utask;
	struct return_instance *ri;

	if (!utask || !uretprobe_is_trampoline(utask->umm, addr))
		return addr;
	ri = newest_call(utask, sp);
	return ri ? ri->orig_ret_vaddr : addr;
}

/**
 * uretprobes_init() - once, before there are processes
 */
void __init uretprobes_init(void)
{
	return_cache = kmem_cache_create("uprobe_return",
					 sizeof(struct return_instance), 0,
					 SLAB_PANIC | SLAB_ACCOUNT, NULL);
}
