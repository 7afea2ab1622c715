// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space probes on x86: traps and stepping. What there is to know about
 * instructions is in uprobes_insn.c.
 *
 * A copy is executed with the trap flag (TF) set, and so ends with a debug
 * exception (#DB). The program may have set TF itself, or its debugger may:
 * then one SIGTRAP is due after each probed instruction, as after any other,
 * however it was executed.
 *
 * Two kinds of copies leave TF alone. A string instruction with a repeat prefix
 * would trap after each iteration; the breakpoint behind its copy ends it. A
 * system call ends at the entry to the kernel: SYSCALL_WORK_UPROBE.
 */

#define pr_fmt(fmt) "uprobes: " fmt

#include <linux/elf.h>
#include <linux/kdebug.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include <asm/debugreg.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>
#include <asm/mmu_context.h>
#include <asm/shstk.h>
#include <asm/trapnr.h>
#include <asm/vdso.h>

#include "uprobes_insn.h"

/*
 * No exception has this number: while it stands, the copy raised none, or one
 * for which the kernel notes no number (#NM).
 */
#define TRAP_NR_NONE	UINT_MAX

unsigned int arch_uprobe_word(struct mm_struct *mm)
{
	return is_64bit_mm(mm) ? sizeof(u64) : sizeof(u32);
}

/* There is 64-bit code, too, whose addresses have 32 bits: x32. */
unsigned long arch_uprobe_mmap_base(struct mm_struct *mm)
{
#ifdef CONFIG_HAVE_ARCH_COMPAT_MMAP_BASES
	if (mm->task_size <= U32_MAX)
		return mm->mmap_compat_base;
#endif
	return mm->mmap_base;
}

static int analyze(struct arch_uprobe *aup, unsigned long vaddr, bool is_64bit)
{
	const char *why;
	int ret;

	ret = uprobe_insn_analyze(&aup->how, aup->insn, sizeof(aup->insn),
				  vaddr, is_64bit, &why);
	if (ret) {
		pr_debug("%*ph at 0x%lx: %s\n", MAX_INSN_SIZE, aup->insn,
			 vaddr, why);
		return ret;
	}
	/* hide_copy_from_fpu() needs to find the address where FXSAVE puts it. */
	if (aup->how.op == UPROBE_INSN_X87 && !boot_cpu_has(X86_FEATURE_FXSR)) {
		pr_debug("0x%lx: x87 instruction on a CPU without FXSAVE\n",
			 vaddr);
		return -EOPNOTSUPP;
	}
	return 0;
}

int arch_uprobe_analyze_insn(struct arch_uprobe *aup, struct mm_struct *mm,
			     unsigned long vaddr)
{
	int ret = analyze(aup, vaddr, is_64bit_mm(mm));

	if (ret)
		return ret;
	memset(aup->ixol, UPROBE_SWBP_INSN, sizeof(aup->ixol));
	memcpy(aup->ixol, aup->how.copy, aup->how.copy_len);
	return 0;
}

/* What is no program can be mapped by either kind, and x32 is of both. */
int arch_uprobe_check_insn(struct arch_uprobe *aup, int elf_class,
			   loff_t offset)
{
	int ret = -EOPNOTSUPP;

	if (IS_ENABLED(CONFIG_X86_64) &&
	    (elf_class != ELFCLASS32 || IS_ENABLED(CONFIG_X86_X32_ABI)))
		ret = analyze(aup, offset, true);
	if (ret && elf_class != ELFCLASS64)
		ret = analyze(aup, offset, false);
	return ret;
}

unsigned int arch_uprobe_insn_len(const struct arch_uprobe *aup)
{
	return aup->how.len;
}

bool arch_uprobe_needs_slot(const struct arch_uprobe *aup)
{
	return aup->how.copy_len;
}

/* Two bytes raise the same trap: cd 03, int $3. */
bool arch_uprobe_is_trap(uprobe_opcode_t before, uprobe_opcode_t at)
{
	return at == UPROBE_SWBP_INSN || (before == 0xcd && at == 0x03);
}

/* As do_int3_user() without the engine. */
void arch_uprobe_send_trap(struct pt_regs *regs)
{
	if (fixup_vdso_exception(regs, X86_TRAP_BP, 0, 0))
		return;
	current->thread.error_code = 0;
	current->thread.trap_nr = X86_TRAP_BP;
	force_sig(SIGTRAP);
}

/*
 * 64-bit processes have 32-bit code segments at hand, and 32-bit ones a 64-bit
 * segment. Others, from a local descriptor table, may begin anywhere.
 */
bool arch_uprobe_ignore(struct arch_uprobe *aup, struct pt_regs *regs)
{
	if (aup->how.word == sizeof(u32))
		return regs->cs != __USER32_CS || regs->ss != __USER_DS;
	return !user_64bit_mode(regs);
}

bool is_trap_insn(uprobe_opcode_t *insn)
{
	return insn[0] == UPROBE_SWBP_INSN ||
	       (insn[0] == 0xcd && insn[1] == 0x03);
}

static bool takes_branch(struct arch_uprobe *aup, struct pt_regs *regs,
			 unsigned long vaddr)
{
	switch (aup->how.op) {
	case UPROBE_INSN_JCC:
	case UPROBE_INSN_LOOP:
		return regs->ip != vaddr + aup->how.len;
	}
	return uprobe_insn_is_branch(&aup->how);
}

/*
 * Raise the #DB that would have come behind the instruction in its place.
 * @tf: TF was set before it; @vaddr: its address.
 */
static void report_debug(struct arch_uprobe *aup, struct pt_regs *regs, bool tf,
			 unsigned long vaddr)
{
	struct arch_uprobe_task *autask = &current->utask->autask;
	unsigned long dr6 = autask->dr6;

	/* Stepping by branches goes on until one is taken. */
	if (tf && test_thread_flag(TIF_BLOCKSTEP)) {
		tf = takes_branch(aup, regs, vaddr);
		if (tf)
			set_task_blockstep(current, false);
	}
	if (tf)
		dr6 |= DR_STEP;
	if (!dr6)
		return;
	autask->dr6 = 0;
	current->thread.virtual_dr6 |= dr6;
	send_sigtrap(regs, 0, tf ? TRAP_TRACE : TRAP_HWBKPT);
}

/* The same for a step that is not finished: watchpoints that it hit so far. */
static void report_watchpoints(struct pt_regs *regs)
{
	struct arch_uprobe_task *autask = &current->utask->autask;
	unsigned long trap_nr = current->thread.trap_nr;

	if (!autask->dr6)
		return;
	current->thread.virtual_dr6 |= autask->dr6;
	autask->dr6 = 0;
	send_sigtrap(regs, 0, TRAP_HWBKPT);
	/* That of the fault is for the signal frame. */
	current->thread.trap_nr = trap_nr;
}

/* A debugger's watchpoint sees what the program does, not what we do for it. */
static bool is_watched(void)
{
	int i;

	for (i = 0; i < HBP_NUM; i++)
		if (current->thread.ptrace_bps[i])
			return true;
	return false;
}

/* Does the CPU push on the shadow stack, or pop from it? */
static bool uses_shadow_stack(struct arch_uprobe *aup)
{
	if (!shstk_is_enabled())
		return false;
	switch (aup->how.op) {
	case UPROBE_INSN_CALL_REL:
	case UPROBE_INSN_CALL_REG:
	case UPROBE_INSN_CALL_MEM:
	case UPROBE_INSN_RET:
		return true;
	}
	return false;
}

bool arch_uprobe_skip_sstep(struct arch_uprobe *aup, struct pt_regs *regs)
{
	bool tf = regs->flags & X86_EFLAGS_TF;
	unsigned long vaddr = regs->ip;

	if (aup->how.copy_len && (is_watched() || uses_shadow_stack(aup)))
		return false;
	if (!uprobe_insn_emulate(&aup->how, regs))
		return false;

	report_debug(aup, regs, tf, vaddr);
	return true;
}

static void set_tf(struct arch_uprobe_task *autask, struct pt_regs *regs)
{
	regs->flags |= X86_EFLAGS_TF;
	autask->blockstep = test_thread_flag(TIF_BLOCKSTEP);
	if (autask->blockstep)
		set_task_blockstep(current, false);
}

int arch_uprobe_pre_xol(struct arch_uprobe *aup, struct pt_regs *regs)
{
	struct arch_uprobe_task *autask = &current->utask->autask;
	unsigned long copy = current->utask->xol_vaddr;

	autask->trap_nr = current->thread.trap_nr;
	current->thread.trap_nr = TRAP_NR_NONE;

	autask->tf = regs->flags & X86_EFLAGS_TF;
	autask->blockstep = false;
	autask->count = regs->cx;
	autask->end = 0;

	uprobe_insn_pre_step(&aup->how, &autask->step, regs, copy);
	if (uprobe_insn_is_syscall(&aup->how))
		set_syscall_work(UPROBE);
	else if (arch_uprobe_interruptible(aup) && !autask->tf)
		autask->end = copy + aup->how.copy_len;
	else
		set_tf(autask, regs);
	return 0;
}

/* Undo what arch_uprobe_pre_xol() did, registers of the program apart. */
static void end_xol(struct arch_uprobe *aup, struct arch_uprobe_task *autask,
		    struct pt_regs *regs)
{
	if (!autask->tf)
		regs->flags &= ~X86_EFLAGS_TF;
	if (autask->blockstep)
		set_task_blockstep(current, true);
	if (uprobe_insn_is_syscall(&aup->how))
		clear_syscall_work(UPROBE);
	autask->end = 0;
}

/* FOP holds the ModRM byte, which was rewritten if it was relative to rip. */
static void hide_copy_from_fop(struct arch_uprobe *aup,
			       struct fxregs_state *fx)
{
	int i = aup->how.len - 1;

	while (i > 0 && aup->insn[i] == aup->ixol[i])
		i--;
	if ((u8)fx->fop == aup->ixol[i])
		fx->fop ^= aup->ixol[i] ^ aup->insn[i];
}

/*
 * The FPU keeps address and opcode of the last x87 instruction, for who handles
 * the exception that it raises. With the FPU's registers in memory they can be
 * put right; they are loaded again on the way to user mode.
 */
static void hide_copy_from_fpu(struct arch_uprobe *aup)
{
	struct uprobe_task *utask = current->utask;
	struct fxregs_state *fx;
	unsigned long *ip;

	if (aup->how.op != UPROBE_INSN_X87)
		return;
	kernel_fpu_begin();
	kernel_fpu_end();
	fx = &current->thread.fpu.fpstate->regs.fxsave;
	/* A 32-bit kernel has a selector in the other half. */
	ip = (unsigned long *)&fx->rip;
	if (*ip != utask->xol_vaddr)
		return;
	*ip = utask->vaddr;
	hide_copy_from_fop(aup, fx);
}

void arch_uprobe_abort_xol(struct arch_uprobe *aup, struct pt_regs *regs)
{
	struct uprobe_task *utask = current->utask;

	/* The number of the fault, if there was one, is for the signal frame. */
	if (current->thread.trap_nr == TRAP_NR_NONE)
		current->thread.trap_nr = utask->autask.trap_nr;
	end_xol(aup, &utask->autask, regs);
	uprobe_insn_abort(&aup->how, &utask->autask.step, regs, utask->vaddr);
}

int arch_uprobe_post_xol(struct arch_uprobe *aup, struct pt_regs *regs)
{
	struct uprobe_task *utask = current->utask;
	struct arch_uprobe_task *autask = &utask->autask;

	if (uprobe_insn_unfinished(regs, utask->xol_vaddr)) {
		if (!autask->dr6 && (!autask->tf || autask->blockstep))
			return -EAGAIN;
		/* The CPU stops in the middle as well. */
		arch_uprobe_abort_xol(aup, regs);
		report_debug(aup, regs, autask->tf, utask->vaddr);
		return -EINTR;
	}

	current->thread.trap_nr = autask->trap_nr;
	end_xol(aup, autask, regs);
	hide_copy_from_fpu(aup);

	/* The copy of a call left its own address there. (ret left nothing.) */
	if (uses_shadow_stack(aup) && aup->how.op != UPROBE_INSN_RET &&
	    !uprobe_insn_is_get_pc(&aup->how) &&
	    shstk_update_last_frame(utask->vaddr + aup->how.len)) {
		regs->sp += sizeof(long);
		uprobe_insn_abort(&aup->how, &autask->step, regs, utask->vaddr);
		goto fault;
	}
	if (!uprobe_insn_post_step(&aup->how, &autask->step, regs,
				   utask->vaddr, utask->xol_vaddr))
		goto fault;

	/* The kernel itself sees to TF behind a system call. */
	if (uprobe_insn_is_syscall(&aup->how))
		return 0;
	report_debug(aup, regs, autask->tf, utask->vaddr);
	return 0;

fault:
	report_watchpoints(regs);
	return -EFAULT;
}

bool arch_uprobe_interruptible(struct arch_uprobe *aup)
{
	return aup->how.op == UPROBE_INSN_REP;
}

bool arch_uprobe_xol_is_partial(struct arch_uprobe *aup, struct pt_regs *regs)
{
	return aup->how.op == UPROBE_INSN_REP &&
	       regs->cx != current->utask->autask.count;
}

bool arch_uprobe_xol_is_done(struct pt_regs *regs)
{
	unsigned long end = current->utask->autask.end;

	return end && regs->ip == end;
}

/* 32-bit code has none of these; a system call may leave anything in them. */
static bool same_extended_regs(const struct pt_regs *a, const struct pt_regs *b)
{
#ifdef CONFIG_X86_64
	return a->cs == __USER32_CS ||
	       (a->r8 == b->r8 && a->r9 == b->r9 && a->r10 == b->r10 &&
		a->r11 == b->r11 && a->r12 == b->r12 && a->r13 == b->r13 &&
		a->r14 == b->r14 && a->r15 == b->r15);
#else
	return true;
#endif
}

/* What the exception left besides them tells nothing. */
bool arch_uprobe_same_regs(const struct pt_regs *a, const struct pt_regs *b)
{
	return a->ip == b->ip && a->sp == b->sp && a->ax == b->ax &&
	       a->bx == b->bx && a->cx == b->cx && a->dx == b->dx &&
	       a->si == b->si && a->di == b->di && a->bp == b->bp &&
	       same_extended_regs(a, b);
}

bool arch_uprobe_xol_was_trapped(struct task_struct *t)
{
	return t->thread.trap_nr != TRAP_NR_NONE;
}

/* Where a call pushed its address, at @sp, in the way of the program. */
static unsigned long get_return_addr(unsigned long sp)
{
	unsigned long addr;
	u32 half;

	if (is_64bit_mm(current->mm))
		return get_user(addr, (unsigned long __user *)sp) ? -1 : addr;
	return get_user(half, (u32 __user *)sp) ? -1 : half;
}

static int put_return_addr(unsigned long sp, unsigned long addr)
{
	if (is_64bit_mm(current->mm))
		return put_user(addr, (unsigned long __user *)sp);
	return put_user((u32)addr, (u32 __user *)sp);
}

unsigned long arch_uretprobe_return_addr(struct pt_regs *regs)
{
	return get_return_addr(regs->sp);
}

unsigned long
arch_uretprobe_hijack_return_addr(unsigned long trampoline_vaddr,
				  struct pt_regs *regs)
{
	unsigned long addr;

	/*
	 * A word that is not aligned cannot be written back in one store. Nor
	 * can a shadow stack be written back at all.
	 */
	if (!IS_ALIGNED(regs->sp, arch_uprobe_word(current->mm)) ||
	    shstk_is_enabled())
		return -1;
	addr = get_return_addr(regs->sp);
	if (addr == -1UL || put_return_addr(regs->sp, trampoline_vaddr))
		return -1;
	return addr;
}

int arch_uretprobe_give_back(struct return_instance *ri,
			     unsigned long trampoline)
{
	unsigned long __user *slot = (unsigned long __user *)ri->stack;
	u32 __user *half = (u32 __user *)ri->stack;
	unsigned long is = trampoline;
	u32 half_is = trampoline;
	int ret;

	if (!access_ok(slot, sizeof(*slot)))
		return -EFAULT;
	pagefault_disable();
	if (is_64bit_mm(current->mm))
		ret = __try_cmpxchg_user(slot, &is, ri->orig_ret_vaddr, fault);
	else
		ret = __try_cmpxchg_user(half, &half_is,
					 (u32)ri->orig_ret_vaddr, half_fault);
	pagefault_enable();
	return ret;
}

unsigned long arch_uretprobe_stack(struct pt_regs *regs)
{
	if (IS_ENABLED(CONFIG_X86_32) || regs->cs == __USER32_CS)
		return regs->sp - sizeof(u32);
	return regs->sp - sizeof(u64);
}

/* ret $n pops n bytes more. */
unsigned long arch_uretprobe_pops(void)
{
	return U16_MAX;
}

unsigned long arch_uretprobe_trampoline(struct mm_struct *mm)
{
	const struct vdso_image *image = mm->context.vdso_image;
	unsigned long vdso = (unsigned long)mm->context.vdso;
	struct vm_area_struct *vma = vma_lookup(mm, vdso);

	/* The program may have put it, or something else, elsewhere. */
	if (!image || !vma || vma->vm_file || !vma->vm_ops ||
	    vma->vm_start != vdso || !(vma->vm_flags & VM_EXEC))
		return 0;
	return vdso + image->sym___vdso_uretprobe_trampoline;
}

unsigned long arch_uretprobe_slot(struct mm_struct *mm,
				  struct return_instance *ri)
{
	return ri->stack;
}

/* Does the thread execute a copy that a breakpoint ends? */
static bool runs_to_end(void)
{
	struct uprobe_task *utask = current->utask;

	return utask && utask->active && utask->autask.end;
}

static bool ends_copy(struct pt_regs *regs)
{
	unsigned long at = regs->ip - UPROBE_SWBP_INSN_SIZE;

	if (!runs_to_end() || current->utask->autask.end != at)
		return false;
	regs->ip = at;
	return uprobe_post_sstep_notifier(regs);
}

int arch_uprobe_exception_notify(struct notifier_block *self,
				 unsigned long val, void *data)
{
	struct die_args *args = data;
	unsigned long *dr6;

	/* In virtual 8086 mode, addresses are not what they are to us. */
	if (!args->regs || !user_mode(args->regs) || v8086_mode(args->regs))
		return NOTIFY_DONE;

	switch (val) {
	case DIE_INT3:
		if (ends_copy(args->regs))
			return NOTIFY_STOP;
		if (uprobe_pre_sstep_notifier(args->regs))
			return NOTIFY_STOP;
		break;
	case DIE_DEBUG:
		dr6 = (unsigned long *)args->err;
		/* A watchpoint stops what runs to its end, too. */
		if (!(*dr6 & DR_STEP) && !runs_to_end())
			break;
		if (!uprobe_post_sstep_notifier(args->regs))
			break;
		/* Watchpoints that came with it are reported behind the step. */
		current->utask->autask.dr6 |= current->thread.virtual_dr6 &
					      DR_TRAP_BITS;
		current->thread.virtual_dr6 &= ~(DR_STEP | DR_TRAP_BITS);
		*dr6 &= ~(DR_STEP | DR_TRAP_BITS);
		break;
	}
	return NOTIFY_DONE;
}

/*
 * Functions with return probes can return by a system call as well. Here they do
 * not, so whoever calls it does so by mistake.
 */
SYSCALL_DEFINE0(uretprobe)
{
	force_sig(SIGILL);
	return -EINVAL;
}
