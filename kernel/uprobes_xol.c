// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space probes: copies of instructions, to be executed out of line.
 *
 * Each probepoint whose instruction may have to run in another place than its
 * own has one slot with a copy, which any number of threads execute at the
 * same time. It is written before the breakpoint is, and kept until the last
 * thread has left it, so no thread ever waits for a slot, and a slot that is
 * written is executed by nobody. A thread comes to the copy through a trap and
 * a return from it, which serialise instruction fetch, so it cannot meet what
 * an earlier owner of the slot left in its pipeline.
 *
 * Slots stand in areas: special mappings of the probed process that it can
 * execute but not write. When all slots are in use another area is added. That
 * happens at registration, so running out of room is an error there and never
 * at a hit.
 */

#include <linux/bitmap.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/security.h>
#include <linux/slab.h>

#include <vdso/uretprobe.h>

#include "uprobes.h"

#define AREA_PAGES	16
#define PAGE_SLOTS	(PAGE_SIZE / UPROBE_XOL_SLOT_BYTES)
#define AREA_SLOTS	(AREA_PAGES * PAGE_SLOTS)

/**
 * struct xol_area - a mapping with slots
 * @node: in umm->areas
 * @vaddr: its address in the process; immutable
 * @dead: the program unmapped it. Set with mmap_lock held
 * @pages: allocated when the first slot on them is used; set once
 * @used: a bit for each slot. Set under umm->mutex, cleared without a lock
 */
struct xol_area {
	struct list_head node;
	unsigned long vaddr;
	bool dead;
	struct page *pages[AREA_PAGES];
	DECLARE_BITMAP(used, AREA_SLOTS);
};

static_assert(PAGE_SIZE % UPROBE_XOL_SLOT_BYTES == 0);

/* What else the architecture lets programs do with copies. */
#ifndef UPROBE_XOL_VM_FLAGS
#define UPROBE_XOL_VM_FLAGS	0
#endif

void __weak arch_uprobe_copy_ixol(struct page *page, unsigned long vaddr,
				  void *src, unsigned long len)
{
	memcpy_to_page(page, offset_in_page(vaddr), src, len);
}

/* The area of a mapping, with the mmap_lock held. */
static struct xol_area *vma_area(struct vm_area_struct *vma)
{
	struct uprobes_mm *umm = READ_ONCE(vma->vm_mm->uprobes_state.xol_area);
	struct xol_area *area;

	if (!umm)
		return NULL;

	list_for_each_entry(area, &umm->areas, node) {
		if (area->vaddr == vma->vm_start && !area->dead)
			return area;
	}
	return NULL;
}

/* The area that an address lies in, with the mutex or the mmap_lock held. */
static struct xol_area *find_area(struct uprobes_mm *umm, unsigned long vaddr)
{
	struct xol_area *area;

	list_for_each_entry(area, &umm->areas, node) {
		if (!READ_ONCE(area->dead) &&
		    vaddr - area->vaddr < AREA_PAGES * PAGE_SIZE)
			return area;
	}
	return NULL;
}

static vm_fault_t area_fault(const struct vm_special_mapping *sm,
			     struct vm_area_struct *vma, struct vm_fault *vmf)
{
	struct xol_area *area = vma_area(vma);

	if (!area)
		return VM_FAULT_SIGBUS;

	/* Pairs with the release in slot_page(). */
	vmf->page = smp_load_acquire(&area->pages[vmf->pgoff]);
	if (!vmf->page)
		return VM_FAULT_SIGBUS;
	get_page(vmf->page);
	return 0;
}

/*
 * A program may unmap what it did not map. Its probes are abandoned then, and
 * calls in progress return by themselves.
 */
static void area_close(const struct vm_special_mapping *sm,
		       struct vm_area_struct *vma)
{
	struct xol_area *area = vma_area(vma);
	struct uprobes_mm *umm;

	if (!area)
		return;
	WRITE_ONCE(area->dead, true);
	umm = umm_of(vma->vm_mm);
	if (umm->trampoline - area->vaddr >= AREA_PAGES * PAGE_SIZE)
		return;
	/* uprobe_zap() came before. Pairs with the barrier in begin_call(). */
	smp_mb();
	uretprobe_give_up(umm, vma->vm_mm);
}

static int area_mremap(const struct vm_special_mapping *sm,
		       struct vm_area_struct *vma)
{
	return -EPERM;
}

/*
 * One for all, since a mapping outlives our knowledge of its address space:
 * that ends before exit_mmap().
 */
static const struct vm_special_mapping area_mapping = {
	.name = "[uprobes]",
	.fault = area_fault,
	.mremap = area_mremap,
	.close = area_close,
};

unsigned long __weak arch_uprobe_mmap_base(struct mm_struct *mm)
{
	return mm->mmap_base;
}

/* Like get_unmapped_area(), which however looks at current. */
static long find_room(struct mm_struct *mm, unsigned long len)
{
	MA_STATE(mas, &mm->mm_mt, 0, 0);
	unsigned long low = max(mmap_min_addr, PAGE_SIZE);
	unsigned long base = arch_uprobe_mmap_base(mm);

	if (!mas_empty_area_rev(&mas, low, base - 1, len))
		return mas.last + 1 - len;

	mas_reset(&mas);
	if (!mas_empty_area(&mas, base, mm->task_size - 1, len))
		return mas.index;

	return -ENOSPC;
}

/* At @at, or where there is room if that is 0. */
static struct xol_area *add_area(struct uprobes_mm *umm, unsigned long at)
{
	const vm_flags_t flags = VM_EXEC | VM_MAYEXEC | VM_IO | VM_DONTCOPY |
				 VM_DONTDUMP | UPROBE_XOL_VM_FLAGS;
	struct mm_struct *mm = umm->mm;
	struct vm_area_struct *vma;
	struct xol_area *area;
	long vaddr;

	area = kzalloc(sizeof(*area), GFP_KERNEL);
	if (!area)
		return ERR_PTR(-ENOMEM);

	mmap_write_lock(mm);
	vaddr = !may_expand_vm(mm, flags, AREA_PAGES) ? -ENOMEM :
		at ?: find_room(mm, AREA_PAGES * PAGE_SIZE);
	if (IS_ERR_VALUE(vaddr)) {
		vma = ERR_PTR(vaddr);
		goto unlock;
	}

	vma = _install_special_mapping(mm, vaddr, AREA_PAGES * PAGE_SIZE,
				       flags, &area_mapping);
	if (IS_ERR(vma))
		goto unlock;
	area->vaddr = vaddr;
	list_add_tail(&area->node, &umm->areas);
unlock:
	mmap_write_unlock(mm);
	if (!IS_ERR(vma))
		return area;
	kfree(area);
	return ERR_CAST(vma);
}

static struct page *slot_page(struct xol_area *area, unsigned int nr)
{
	struct page **page = &area->pages[nr / PAGE_SLOTS];

	if (!*page) {
		struct page *new = alloc_page(GFP_HIGHUSER | __GFP_ZERO);

		/* Pairs with the acquire in area_fault(). */
		smp_store_release(page, new);
	}
	return *page;
}

static struct xol_area *find_free(struct uprobes_mm *umm, unsigned int *nr)
{
	struct xol_area *area;

	list_for_each_entry(area, &umm->areas, node) {
		if (READ_ONCE(area->dead))
			continue;
		*nr = find_first_zero_bit(area->used, AREA_SLOTS);
		if (*nr < AREA_SLOTS)
			return area;
	}
	*nr = 0;
	return add_area(umm, 0);
}

static struct page *use_slot(struct xol_area *area, unsigned int nr)
{
	struct page *page = slot_page(area, nr);

	/* Acquire, pairs with uprobe_xol_put(). Only we set bits. */
	if (page)
		WARN_ON_ONCE(test_and_set_bit_lock(nr, area->used));
	return page ?: ERR_PTR(-ENOMEM);
}

/* Take a free slot. Returns its page. */
static struct page *take_slot(struct uprobes_mm *umm, struct xol_area **area,
			      unsigned long *vaddr)
{
	unsigned int nr;

	lockdep_assert_held(&umm->mutex);

	*area = find_free(umm, &nr);
	if (IS_ERR(*area))
		return ERR_CAST(*area);
	*vaddr = (*area)->vaddr + nr * UPROBE_XOL_SLOT_BYTES;
	return use_slot(*area, nr);
}

/**
 * uprobe_xol_get() - put a copy of a probepoint's instruction into the process
 * @point: the probepoint, analysed and not in use yet; its @area and @xol_vaddr
 *	are set
 *
 * Context: @point->umm->mutex held, mmap_lock not held. Sleeps.
 *
 * Return: 0, -ENOMEM, or -ENOSPC when the process has no room for an area.
 */
int uprobe_xol_get(struct probepoint *point)
{
	struct arch_uprobe *aup = &point->arch;
	struct xol_area *area;
	struct page *page;

	page = take_slot(point->umm, &area, &point->xol_vaddr);
	if (IS_ERR(page))
		return PTR_ERR(page);
	point->area = area;
	arch_uprobe_copy_ixol(page, point->xol_vaddr, &aup->ixol,
			      sizeof(aup->ixol));
	return 0;
}

/*
 * The table for unwinders.
 */

#define UNWIND_PAGE_ENTRIES	(PAGE_SIZE / sizeof(struct uretprobe_unwind))
#define UNWIND_TABLE_SIZE						\
	(((1 << UPROBE_UNWIND_BITS) + UPROBE_UNWIND_TRIES - 1) *	\
	 sizeof(struct uretprobe_unwind))

static_assert(sizeof(struct uretprobe_unwind) == UPROBE_UNWIND_SIZE);
static_assert(UPROBE_UNWIND_ALIGN % PAGE_SIZE == 0);

/**
 * struct unwind_table - return addresses that a program can look up
 * @nr_pages: its size; immutable
 * @pages: its memory, each page made when it is first used; set once
 *
 * Calls take entries and free them without a lock.
 */
struct unwind_table {
	unsigned int nr_pages;
	struct page *pages[] __counted_by(nr_pages);
};

static struct page *unwind_page(struct unwind_table *table, unsigned int nr)
{
	/* Pairs with the cmpxchg() below. */
	struct page *page = smp_load_acquire(&table->pages[nr]), *old;

	if (page)
		return page;
	page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!page)
		return NULL;
	old = cmpxchg(&table->pages[nr], NULL, page);
	if (!old)
		return page;
	__free_page(page);
	return old;
}

static vm_fault_t unwind_fault(const struct vm_special_mapping *sm,
			       struct vm_area_struct *vma, struct vm_fault *vmf)
{
	struct uprobes_mm *umm = umm_of(vma->vm_mm);
	/* Pairs with the release in add_unwind_table(). */
	struct unwind_table *table = umm ? smp_load_acquire(&umm->unwind) : NULL;

	if (!table || vmf->pgoff >= table->nr_pages)
		return VM_FAULT_SIGBUS;
	vmf->page = unwind_page(table, vmf->pgoff);
	if (!vmf->page)
		return VM_FAULT_OOM;
	get_page(vmf->page);
	return 0;
}

static const struct vm_special_mapping unwind_mapping = {
	.name = "[uprobes]",
	.fault = unwind_fault,
	.mremap = area_mremap,
};

static void free_unwind_table(struct unwind_table *table)
{
	unsigned int i;

	for (i = 0; i < table->nr_pages; i++)
		if (table->pages[i])
			__free_page(table->pages[i]);
	kfree(table);
}

static bool has_long_words(struct mm_struct *mm)
{
	return arch_uprobe_word(mm) == sizeof(u64);
}

/* Where the program looks for it. */
static unsigned long unwind_vaddr(struct mm_struct *mm,
				  unsigned long trampoline)
{
	return ALIGN_DOWN(trampoline, UPROBE_UNWIND_ALIGN) +
	       (has_long_words(mm) ? UPROBE_UNWIND_DISTANCE :
				     UPROBE_UNWIND_DISTANCE32);
}

/* The entry that the program tries first. */
static unsigned int first_entry(struct mm_struct *mm, unsigned long slot)
{
	if (has_long_words(mm))
		return (u64)slot * UPROBE_UNWIND_HASH >>
		       (64 - UPROBE_UNWIND_BITS);
	return (u32)slot * UPROBE_UNWIND_HASH32 >> (32 - UPROBE_UNWIND_BITS);
}

/* Returns the trampoline that it is for, or 0: it is dispensable. */
static unsigned long add_unwind_table(struct uprobes_mm *umm)
{
	/* Debuggers may read it, and core dumps contain it. */
	const vm_flags_t flags = VM_READ | VM_MAYREAD | VM_DONTCOPY;
	const unsigned long len = PAGE_ALIGN(UNWIND_TABLE_SIZE);
	struct mm_struct *mm = umm->mm;
	unsigned long vaddr, trampoline;
	struct unwind_table *table;
	struct vm_area_struct *vma;

	/* The one that was before was unmapped. */
	if (umm->unwind)
		return 0;
	mmap_read_lock(mm);
	trampoline = arch_uretprobe_trampoline(mm);
	mmap_read_unlock(mm);
	if (!trampoline)
		return 0;

	vaddr = unwind_vaddr(mm, trampoline);
	table = kzalloc(struct_size(table, pages, len / PAGE_SIZE), GFP_KERNEL);
	if (!table)
		return 0;
	table->nr_pages = len / PAGE_SIZE;

	mmap_write_lock(mm);
	if (vaddr + len > mm->task_size ||
	    find_vma_intersection(mm, vaddr, vaddr + len) ||
	    !may_expand_vm(mm, flags, table->nr_pages))
		vma = ERR_PTR(-ENOSPC);
	else
		vma = _install_special_mapping(mm, vaddr, len, flags,
					       &unwind_mapping);
	mmap_write_unlock(mm);
	if (IS_ERR(vma)) {
		free_unwind_table(table);
		return 0;
	}
	/* Pairs with the acquires in unwind_fault() and unwind_entry(). */
	smp_store_release(&umm->unwind, table);
	return trampoline;
}

static struct uretprobe_unwind *unwind_entry(struct uprobes_mm *umm,
					     unsigned int nr)
{
	/* Pairs with the release in add_unwind_table(). */
	struct unwind_table *table = smp_load_acquire(&umm->unwind);
	struct page *page = unwind_page(table, nr / UNWIND_PAGE_ENTRIES);
	struct uretprobe_unwind *entries;

	if (!page)
		return NULL;
	entries = page_address(page);
	return entries + nr % UNWIND_PAGE_ENTRIES;
}

/**
 * uprobe_xol_add_unwind() - let the program look up a return address
 * @umm: its address space
 * @slot: the address of the word on the stack that will not hold it any more.
 *	There is no entry for it yet
 * @addr: the return address
 * @nr: set to the number of the entry, from 1, or to 0 if there is no table
 *
 * Context: process context, sleeps.
 *
 * Return: false when the table is full.
 */
bool uprobe_xol_add_unwind(struct uprobes_mm *umm, unsigned long slot,
			   unsigned long addr, unsigned int *nr)
{
	unsigned int try, n;

	*nr = 0;
	if (!READ_ONCE(umm->unwind))
		return true;
	n = first_entry(current->mm, slot);
	for (try = 0; try < UPROBE_UNWIND_TRIES; try++, n++) {
		struct uretprobe_unwind *entry = unwind_entry(umm, n);

		if (!entry)
			return false;
		if (READ_ONCE(entry->slot) || cmpxchg(&entry->slot, 0, slot))
			continue;
		/* Only the thread itself looks for its own. */
		WRITE_ONCE(entry->addr, addr);
		*nr = n + 1;
		return true;
	}
	return false;
}

/**
 * uprobe_xol_del_unwind() - the return address is not needed any more
 * @umm: the address space
 * @nr: what uprobe_xol_add_unwind() returned
 *
 * Context: any.
 */
void uprobe_xol_del_unwind(struct uprobes_mm *umm, unsigned int nr)
{
	if (nr)
		WRITE_ONCE(unwind_entry(umm, nr - 1)->slot, 0);
}

static int write_trampoline(struct page *page, unsigned long vaddr)
{
	uprobe_opcode_t opcode = UPROBE_SWBP_INSN;

	if (IS_ERR(page))
		return PTR_ERR(page);
	arch_uprobe_copy_ixol(page, vaddr, &opcode, sizeof(opcode));
	return 0;
}

/**
 * uprobe_xol_add_trampoline() - put a trampoline into the process
 * @umm: its address space; there is no trampoline that is of use
 * @vaddr: set to its address
 *
 * It is where the program can unwind from, if there is such a place. Else it is
 * a breakpoint in a slot, which is never given back.
 *
 * Context: @umm->mutex held, mmap_lock not held. Sleeps.
 *
 * Return: 0, -ENOMEM, or -ENOSPC when the process has no room for an area.
 */
int uprobe_xol_add_trampoline(struct uprobes_mm *umm, unsigned long *vaddr)
{
	struct xol_area *area;
	struct page *page;

	*vaddr = add_unwind_table(umm);
	if (*vaddr)
		return 0;
	page = take_slot(umm, &area, vaddr);
	return write_trampoline(page, *vaddr);
}

/**
 * uprobe_xol_copy_trampoline() - put a trampoline into a child
 * @umm: the address space that it is a copy of
 * @child: its address space, without an area
 * @vaddr: where @umm has its trampoline
 *
 * Context: @child->mutex held, no mmap_lock held. Sleeps.
 *
 * Return: 0, or -ENOMEM, which also means that something else is there.
 */
int uprobe_xol_copy_trampoline(struct uprobes_mm *umm, struct uprobes_mm *child,
			       unsigned long vaddr)
{
	struct xol_area *area;

	mmap_read_lock(umm->mm);
	area = find_area(umm, vaddr);
	mmap_read_unlock(umm->mm);
	/* Else it stands where the child has one, too. */
	if (!area) {
		add_unwind_table(child);
		return 0;
	}
	area = add_area(child, area->vaddr);
	if (IS_ERR(area))
		return PTR_ERR(area);
	return write_trampoline(use_slot(area, (vaddr - area->vaddr) /
					       UPROBE_XOL_SLOT_BYTES), vaddr);
}

/**
 * uprobe_xol_put() - the copy, if there is one, is executed by nobody any more
 * @point: the probepoint
 *
 * Context: any.
 */
void uprobe_xol_put(struct probepoint *point)
{
	struct xol_area *area = point->area;

	if (!area)
		return;
	/* Release: what was executed in the slot is over. */
	clear_bit_unlock((point->xol_vaddr - area->vaddr) /
			 UPROBE_XOL_SLOT_BYTES, area->used);
}

/**
 * uprobe_xol_is_dead() - can the copy not be executed any more?
 * @point: the probepoint
 *
 * Context: any.
 *
 * Return: true when there was a copy, and the program unmapped it.
 */
bool uprobe_xol_is_dead(struct probepoint *point)
{
	return point->area && READ_ONCE(point->area->dead);
}

/**
 * uprobe_xol_contains() - is this an address of ours?
 * @umm: the address space
 * @vaddr: the address
 *
 * Context: @umm->mutex held.
 *
 * Return: true when @vaddr lies in an area for copies.
 */
bool uprobe_xol_contains(struct uprobes_mm *umm, unsigned long vaddr)
{
	lockdep_assert_held(&umm->mutex);

	return find_area(umm, vaddr);
}

/**
 * uprobe_xol_free() - free all areas of an address space that is gone
 * @umm: the address space
 *
 * Pages that are still mapped keep the reference which the mapping has.
 */
void uprobe_xol_free(struct uprobes_mm *umm)
{
	struct xol_area *area, *next;
	int i;

	if (umm->unwind)
		free_unwind_table(umm->unwind);
	list_for_each_entry_safe(area, next, &umm->areas, node) {
		for (i = 0; i < AREA_PAGES; i++)
			if (area->pages[i])
				__free_page(area->pages[i]);
		kfree(area);
	}
}
