/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __VDSO_URETPROBE_H
#define __VDSO_URETPROBE_H
/*
 * The table that tells a program which unwinds its stack the real return
 * addresses of return-probed functions. vdso/uretprobe_unwind.S looks them up.
 *
 * Such functions return to a breakpoint in the vDSO, the trampoline. The table
 * stands UPROBE_UNWIND_DISTANCE bytes behind it, in 32-bit programs
 * UPROBE_UNWIND_DISTANCE32, counted from the multiple of UPROBE_UNWIND_ALIGN
 * that is before it: the vDSO is near the stack, or near the top of where files
 * are mapped, and between the two there is a gap of at least 128 MB, into which
 * stacks grow. Where addresses are few, not much of it is taken. No page is
 * larger than UPROBE_UNWIND_ALIGN.
 *
 * The table has entries of UPROBE_UNWIND_SIZE bytes, two times eight: the
 * address of a word on a stack that holds the trampoline's, and what that word
 * would hold without us. The entry of a word is one of UPROBE_UNWIND_TRIES in a
 * row. The first of these is the UPROBE_UNWIND_BITS highest bits of the address
 * times UPROBE_UNWIND_HASH, of 32 bits times UPROBE_UNWIND_HASH32 in 32-bit
 * programs. A word that has no entry ends the walk.
 */

#define UPROBE_UNWIND_DISTANCE		0x4000000
#define UPROBE_UNWIND_DISTANCE32	0x100000
#define UPROBE_UNWIND_ALIGN		0x10000
#define UPROBE_UNWIND_SIZE		16
#define UPROBE_UNWIND_TRIES		8
#define UPROBE_UNWIND_BITS		12
#define UPROBE_UNWIND_HASH		0x9e3779b97f4a7c15
#define UPROBE_UNWIND_HASH32		0x9e3779b1

#endif /* __VDSO_URETPROBE_H */
