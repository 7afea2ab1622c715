// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space probes: reading, patching and restoring text in an address space
 * that need not be the current one.
 *
 * A breakpoint is one atomic compare-and-exchange in a page that is private to
 * the process. Threads execute either the old instruction or the breakpoint,
 * and when the program itself writes there, its bytes win: we replace nothing
 * but what we expect to find.
 *
 * The mmap_lock is held for writing: no fork copies the page, no madvise()
 * drops it and no mprotect() changes its rights between our look at it and our
 * store. No thread of the process needs to stop for that, none is interrupted.
 */

#include <linux/cacheflush.h>
#include <linux/highmem.h>
#include <linux/hugetlb_inline.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/userfaultfd_k.h>

#include "uprobes.h"

/**
 * uprobe_text_check() - can there be a probe at this address?
 * @mm: the address space
 * @vaddr: the address
 *
 * Context: mmap_lock of @mm held.
 *
 * Return:
 * * %0 - it can.
 * * %-EINVAL - nothing executable is mapped there.
 * * %-EOPNOTSUPP - other processes would see the breakpoint.
 */
int uprobe_text_check(struct mm_struct *mm, unsigned long vaddr)
{
	struct vm_area_struct *vma;

	mmap_assert_locked(mm);

	vma = vma_lookup(mm, vaddr);
	if (!vma || !(vma->vm_flags & VM_EXEC))
		return -EINVAL;
	/* MAYSHARE stays on when a MAP_SHARED mapping cannot be written. */
	if (vma->vm_flags & VM_MAYSHARE)
		return -EOPNOTSUPP;
	/* The mm core has no forced copy-on-write for huge pages of a file. */
	if (is_vm_hugetlb_page(vma))
		return -EOPNOTSUPP;
	return 0;
}

/**
 * uprobe_text_mutable() - is this text that a program may write?
 * @mm: the address space
 * @vaddr: an address for which uprobe_text_check() returned 0
 *
 * Generated code is anonymous, or written where it is executed. The text of a
 * file, which the program would have to make writable first, is not counted.
 *
 * Context: mmap_lock of @mm held.
 *
 * Return: true when it is.
 */
bool uprobe_text_mutable(struct mm_struct *mm, unsigned long vaddr)
{
	struct vm_area_struct *vma = vma_lookup(mm, vaddr);

	return !vma->vm_file || (vma->vm_flags & VM_WRITE);
}

/**
 * uprobe_text_read() - read text as the program would
 * @mm: the address space
 * @vaddr: the address
 * @buf: where to
 * @len: how much
 *
 * Context: mmap_lock of @mm held. Sleeps.
 *
 * Return: bytes read, less than @len when the mapping ends before, or -EIO.
 */
int uprobe_text_read(struct mm_struct *mm, unsigned long vaddr, u8 *buf,
		     size_t len)
{
	size_t done, n;

	mmap_assert_locked(mm);

	for (done = 0; done < len; done += n) {
		unsigned long addr = vaddr + done;
		struct vm_area_struct *vma;
		struct page *page;
		void *kaddr;

		n = min(len - done, PAGE_SIZE - offset_in_page(addr));
		page = get_user_page_vma_remote(mm, addr, FOLL_FORCE, &vma);
		if (IS_ERR(page))
			break;

		kaddr = kmap_local_page(page);
		copy_from_user_page(vma, page, addr, buf + done,
				    kaddr + offset_in_page(addr), n);
		kunmap_local(kaddr);
		put_page(page);
	}
	return done ?: -EIO;
}

/**
 * uprobe_text_own() - make a page of text private, before it is looked at
 * @mm: the address space
 * @vaddr: an address for which uprobe_text_check() returned 0
 *
 * A breakpoint needs that anyway, and it spares the page fault of the look.
 * Whether it succeeds is seen when the breakpoint is written. If that is not done,
 * uprobe_text_share() has to follow.
 *
 * Context: mmap_lock of @mm held. Sleeps.
 */
void uprobe_text_own(struct mm_struct *mm, unsigned long vaddr)
{
	struct vm_area_struct *vma;
	struct page *page;

	page = get_user_page_vma_remote(mm, vaddr, FOLL_FORCE | FOLL_WRITE,
					&vma);
	if (!IS_ERR(page))
		put_page(page);
}

/**
 * uprobe_text_swap() - replace one opcode by another
 * @mm: the address space
 * @vaddr: the address
 * @old: what has to be there
 * @new: what will be there
 *
 * Context: mmap_lock of @mm held for writing. Sleeps.
 *
 * Return:
 * * %0 - done; what a CPU fetches from now on is @new.
 * * %-ESTALE - something else than @old was there, and still is.
 * * %-ENOENT - nothing is mapped there.
 * * %-ENOMEM - the page could not be made private.
 * * %-EINTR - current is going to die, and cannot have the page for that.
 * * %-EIO - the page cannot be had.
 */
int uprobe_text_swap(struct mm_struct *mm, unsigned long vaddr,
		     uprobe_swbp_t old, uprobe_swbp_t new)
{
	struct vm_area_struct *vma;
	uprobe_swbp_t *opcode;
	struct page *page;
	bool done;

	mmap_assert_write_locked(mm);

	if (!vma_lookup(mm, vaddr))
		return -ENOENT;
	page = get_user_page_vma_remote(mm, vaddr, FOLL_FORCE | FOLL_WRITE,
					&vma);
	if (IS_ERR(page)) {
		int ret = PTR_ERR(page);

		return ret == -ENOMEM || ret == -EINTR ? ret : -EIO;
	}

	/*
	 * Fully ordered. What a hit needs was stored before: it cannot come
	 * before the breakpoint can be seen.
	 */
	opcode = kmap_local_page(page) + offset_in_page(vaddr);
	done = cmpxchg(opcode, old, new) == old;
	if (done)
		flush_icache_user_page(vma, page, vaddr, sizeof(*opcode));
	kunmap_local(opcode);

	if (done)
		set_page_dirty_lock(page);
	put_page(page);
	return done ? 0 : -ESTALE;
}

/**
 * uprobe_word_get() - read a word as the program has it
 * @mem: where it is, in the kernel; aligned
 * @size: its bytes: 4, or 8 where the kernel's own words have that
 *
 * Return: its value.
 */
unsigned long uprobe_word_get(const void *mem, unsigned int size)
{
	if (size == sizeof(u32))
		return *(const u32 *)mem;
	return *(const unsigned long *)mem;
}

/**
 * uprobe_word_swap() - replace an aligned word of data by another
 * @mm: the address space
 * @vaddr: the address
 * @size: bytes of the word, see uprobe_word_get()
 * @old: what has to be there
 * @new: what will be there
 *
 * What other processes share is left alone.
 *
 * Context: mmap_lock of @mm held. Sleeps.
 *
 * Return: false when @old may be there and cannot be replaced.
 */
bool uprobe_word_swap(struct mm_struct *mm, unsigned long vaddr,
		      unsigned int size, unsigned long old, unsigned long new)
{
	struct vm_area_struct *vma = vma_lookup(mm, vaddr);
	unsigned long is;
	struct page *page;
	void *kaddr, *word;

	mmap_assert_locked(mm);

	if (!vma || vma->vm_flags & VM_SHARED ||
	    uprobe_text_read(mm, vaddr, (u8 *)&is, size) != size ||
	    uprobe_word_get(&is, size) != old)
		return true;
	if (WARN_ON_ONCE(!IS_ALIGNED(vaddr, size)))
		return false;
	page = get_user_page_vma_remote(mm, vaddr, FOLL_FORCE | FOLL_WRITE,
					&vma);
	if (IS_ERR(page))
		return false;
	kaddr = kmap_local_page(page);
	word = kaddr + offset_in_page(vaddr);
	if (size == sizeof(u32))
		cmpxchg((u32 *)word, (u32)old, (u32)new);
	else
		cmpxchg((unsigned long *)word, old, new);
	kunmap_local(kaddr);
	set_page_dirty_lock(page);
	put_page(page);
	return true;
}

/* Is this page that was private for our sake like the file's again? */
static bool like_file(struct page *page, struct vm_area_struct *vma,
		      unsigned long vaddr)
{
	struct folio *folio;
	void *ours, *files;
	struct page *cached;
	bool same;

	folio = filemap_get_folio(vma->vm_file->f_mapping,
				  linear_page_index(vma, vaddr));
	if (IS_ERR(folio))
		return false;

	cached = folio_file_page(folio, linear_page_index(vma, vaddr));
	same = folio_test_uptodate(folio) && !PageHWPoison(cached);
	if (same) {
		ours = kmap_local_page(page);
		files = kmap_local_page(cached);
		same = !memcmp(ours, files, PAGE_SIZE);
		kunmap_local(files);
		kunmap_local(ours);
	}
	folio_put(folio);
	return same;
}

/**
 * uprobe_text_share() - give a private copy back when it is no longer needed
 * @mm: the address space
 * @vaddr: an address on the page
 *
 * A private page of a file mapping whose content is the file's is dropped: the
 * next access maps the page cache again. The content compares equal for as long
 * as we look: the program cannot write there, a debugger would need the
 * mmap_lock, and a page that a device may write is left alone.
 *
 * Context: mmap_lock of @mm held for writing. Sleeps.
 */
void uprobe_text_share(struct mm_struct *mm, unsigned long vaddr)
{
	struct vm_area_struct *vma;
	struct page *page;
	bool drop;

	mmap_assert_write_locked(mm);

	vaddr &= PAGE_MASK;
	page = get_user_page_vma_remote(mm, vaddr, FOLL_FORCE, &vma);
	if (IS_ERR(page))
		return;

	drop = vma->vm_file && !(vma->vm_flags & (VM_WRITE | VM_MAYSHARE)) &&
	       !userfaultfd_armed(vma) && PageAnon(page) &&
	       !folio_maybe_dma_pinned(page_folio(page)) &&
	       like_file(page, vma, vaddr);
	put_page(page);
	if (!drop)
		return;

	zap_page_range_single(vma, vaddr, PAGE_SIZE, NULL);

	/* mlock() promised that the page is there. */
	if (!(vma->vm_flags & VM_LOCKED))
		return;
	page = get_user_page_vma_remote(mm, vaddr, FOLL_FORCE, &vma);
	if (!IS_ERR(page))
		put_page(page);
}
