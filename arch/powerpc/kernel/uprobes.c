// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space probes on powerpc.
 *
 * The breakpoint is the unconditional trap, one aligned word. Before a prefixed
 * instruction, which has two, it takes the place of the prefix.
 *
 * What the kernel can do on the saved registers is emulated: all branches and
 * what else depends on its place, integer arithmetic and logic, loads and
 * stores of integer registers. The rest is executed from a copy with MSR_SE
 * set, and so ends with a trace interrupt. An operand that a prefix makes
 * relative to the instruction is rewritten in the copy to use a register that
 * holds the original address.
 *
 * Refused is what does not get to its end under MSR_SE, and what an interrupt
 * breaks: from a load that makes a reservation to the store that needs it, no
 * instruction can be probed, or the loop around them would never end.
 */

#define pr_fmt(fmt) "uprobes: " fmt

#include <linux/elf.h>
#include <linux/highmem.h>
#include <linux/kdebug.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include <asm/asm-prototypes.h>
#include <asm/bug.h>
#include <asm/cacheflush.h>
#include <asm/cpu_has_feature.h>
#include <asm/hw_breakpoint.h>
#include <asm/inst.h>
#include <asm/probes.h>
#include <asm/sstep.h>
#include <asm/tm.h>
#include <asm/vdso.h>

/* No signal code has this number: while it stands, the copy raised none. */
#define TRAP_NR_NONE	ULONG_MAX

#define MSR_TRACE	(MSR_SE | MSR_BE)

/* How far we look for the two ends of a reservation, in words. */
#define MAX_RESERVED	64

/**
 * enum uprobe_how - how an instruction is executed
 * @UPROBE_STEP: from its copy
 * @UPROBE_ACCESS: emulated, if the access to memory is aligned and succeeds
 * @UPROBE_EMULATE: emulated, which cannot fail
 * @UPROBE_BRANCH: the same, and a debugger may want to know
 */
enum uprobe_how {
	UPROBE_STEP,
	UPROBE_ACCESS,
	UPROBE_EMULATE,
	UPROBE_BRANCH,
};

static_assert(UPROBE_SWBP_INSN == BREAKPOINT_INSTRUCTION);
/* A copy of a prefixed instruction crosses no boundary of 64 bytes. */
static_assert(64 % UPROBE_XOL_SLOT_BYTES == 0);

static bool is_32bit_mm(const struct mm_struct *mm)
{
	return !IS_ENABLED(CONFIG_PPC64) || mm->task_size <= TASK_SIZE_USER32;
}

unsigned int arch_uprobe_word(struct mm_struct *mm)
{
	return is_32bit_mm(mm) ? sizeof(u32) : sizeof(u64);
}

/* In a 32-bit program the upper half of a register is of no meaning. */
static unsigned long truncate(struct pt_regs *regs, unsigned long addr)
{
	return regs->msr & MSR_64BIT ? addr : (u32)addr;
}

/*
 * Analysis.
 */

static u32 first_word(const struct arch_uprobe *aup)
{
	return *(const u32 *)aup->insn;
}

static bool is_prefix(u32 word)
{
	return cpu_has_feature(CPU_FTR_ARCH_31) && get_op(word) == OP_PREFIX;
}

static ppc_inst_t insn_of(const struct arch_uprobe *aup)
{
	const u32 *words = (const u32 *)aup->insn;

	return is_prefix(words[0]) ? ppc_inst_prefix(words[0], words[1]) :
				     ppc_inst(words[0]);
}

static bool is_hashchk(u32 word)
{
	return get_op(word) == OP_31 && get_xop(word) == OP_31_XOP_HASHCHK;
}

/* A suffix stands on the same page as its prefix. */
static bool is_suffix(struct mm_struct *mm, unsigned long vaddr)
{
	u32 before;

	return IS_ENABLED(CONFIG_PPC64) && !IS_ALIGNED(vaddr, 64) &&
	       access_remote_vm(mm, vaddr - sizeof(before), &before,
				sizeof(before), FOLL_FORCE) == sizeof(before) &&
	       is_prefix(before);
}

static bool makes_reservation(u32 word)
{
	if (get_op(word) != OP_31)
		return false;
	switch (get_xop(word)) {
	case 20:	/* lwarx */
	case 52:	/* lbarx */
	case 84:	/* ldarx */
	case 116:	/* lharx */
	case 276:	/* lqarx */
		return true;
	}
	return false;
}

static bool needs_reservation(u32 word)
{
	if (get_op(word) != OP_31)
		return false;
	switch (get_xop(word)) {
	case 150:	/* stwcx. */
	case 182:	/* stqcx. */
	case 214:	/* stdcx. */
	case 694:	/* stbcx. */
	case 726:	/* sthcx. */
		return true;
	}
	return false;
}

/* Between a load and a store that belong together, in the order of the text? */
static bool is_reserved(const u32 *words, unsigned int at, unsigned int nr)
{
	unsigned int i;

	if (makes_reservation(words[at]) || needs_reservation(words[at]))
		return true;
	for (i = at; i && !makes_reservation(words[i]); i--)
		if (needs_reservation(words[i]))
			return false;
	if (!makes_reservation(words[i]))
		return false;
	for (i = at; i < nr && !makes_reservation(words[i]); i++)
		if (needs_reservation(words[i]))
			return true;
	return false;
}

/* The same, with what can be read of the text around. */
static int check_reservation(struct mm_struct *mm, unsigned long vaddr)
{
	const unsigned long distance = MAX_RESERVED * sizeof(u32);
	unsigned long start = vaddr > distance ? vaddr - distance : 0;
	u32 *words;
	int n, ret;

	words = kmalloc(2 * distance, GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	n = access_remote_vm(mm, start, words, 2 * distance, FOLL_FORCE);
	if (start + n <= vaddr) {
		start = vaddr & PAGE_MASK;
		n = access_remote_vm(mm, start, words, 2 * distance,
				     FOLL_FORCE);
	}
	ret = start + n <= vaddr ? -EIO :
	      is_reserved(words, (vaddr - start) / sizeof(u32),
			  n / sizeof(u32)) ? -EOPNOTSUPP : 0;
	kfree(words);
	return ret;
}

/* Why the copy of an instruction cannot be stepped through, or NULL. */
static const char *refusal_31(u32 word)
{
	switch (get_xop(word)) {
	case 83:	/* mfmsr */
	case OP_31_XOP_MTMSR:
	case OP_31_XOP_MTMSRD:
		return "it is privileged";
	case 654:	/* tbegin. */
	case 686:	/* tend. */
	case 718:	/* tcheck */
	case 750:	/* tsr. */
	case 782:	/* tabortwc. */
	case 814:	/* tabortdc. */
	case 846:	/* tabortwci. */
	case 878:	/* tabortdci. */
	case 910:	/* tabort. */
	case 942:	/* treclaim. */
	case 1006:	/* trechkpt. */
		return "an interrupt aborts the transaction";
	case OP_31_XOP_HASHCHK:
		return "it may trap";
	case 774:	/* copy */
	case 902:	/* paste. */
		return "an interrupt may come between copy and paste.";
	}
	return NULL;
}

static const char *refusal(u32 word)
{
	switch (get_op(word)) {
	case OP_SC:
		return "a system call is not traced";
	case OP_19:
		/* What is left is rfid and the like, stop, and branches by TAR. */
		return "it goes elsewhere, or is privileged";
	case OP_31:
		return refusal_31(word);
	}
	return NULL;
}

/* bcctr cannot decrement the register that it goes to. */
static bool is_invalid_branch(u32 word)
{
	return get_op(word) == OP_19 && get_xop(word) == 528 &&
	       !(word & (0x4 << 21));
}

static bool is_plain_19(u32 word)
{
	switch (get_xop(word)) {
	case 0:		/* mcrf */
		return !(word & 0x0063f801);
	case 33:	/* crnor */
	case 129:	/* crandc */
	case 193:	/* crxor */
	case 225:	/* crnand */
	case 257:	/* crand */
	case 289:	/* creqv */
	case 417:	/* crorc */
	case 449:	/* cror */
		return !(word & 1);
	case 150:	/* isync */
		return !(word & 0x03fff801);
	}
	return true;
}

static bool is_plain_31(u32 word)
{
	switch (get_xop(word)) {
	case 8:		/* subfc */
	case 10:	/* addc */
	case 24:	/* slw */
	case 27:	/* sld */
	case 28:	/* and */
	case 40:	/* subf */
	case 60:	/* andc */
	case 124:	/* nor */
	case 136:	/* subfe */
	case 138:	/* adde */
	case 233:	/* mulld */
	case 235:	/* mullw */
	case 266:	/* add */
	case 284:	/* eqv */
	case 316:	/* xor */
	case 412:	/* orc */
	case 476:	/* nand */
	case 536:	/* srw */
	case 539:	/* srd */
	case 792:	/* sraw */
	case 794:	/* srad */
	case 824:	/* srawi */
	case 826:	/* sradi */
	case 827:
		return true;
	case 26:	/* cntlzw */
	case 58:	/* cntlzd */
	case 104:	/* neg */
	case 200:	/* subfze */
	case 202:	/* addze */
	case 232:	/* subfme */
	case 234:	/* addme */
	case 922:	/* extsh */
	case 954:	/* extsb */
	case 986:	/* extsw */
		return !(word & 0xf800);
	case 444:	/* or: with itself it may set the thread's priority */
		return (word >> 21 & 0x1f) != (word >> 16 & 0x1f) ||
		       (word >> 16 & 0x1f) != (word >> 11 & 0x1f);
	case 0:		/* cmp */
	case 32:	/* cmpl */
		return !(word & 0x00400001);
	case 19:	/* mfcr */
		return !(word & 0x001ff801);
	case 144:	/* mtcrf */
		return !(word & 0x00100801);
	case OP_31_XOP_MFSPR:
	case OP_31_XOP_MTSPR:
		return !(word & 1);
	}
	return word == PPC_RAW_SYNC() || word == 0x7c2004ac;	/* lwsync */
}

/*
 * What is emulated has 0 in all fields that have to be, and a result of which
 * no part is undefined. Otherwise the CPU knows what it makes of it.
 */
static bool is_plain(u32 word)
{
	switch (get_op(word)) {
	case OP_PREFIX:
		return !(word & 0x00ec0000);
	case 10:	/* cmpli */
	case 11:	/* cmpi */
		return !(word & 0x00400000);
	case OP_19:
		return is_plain_19(word);
	case OP_31:
		return is_plain_31(word);
	}
	return true;
}

static enum uprobe_how how_without_access(const struct instruction_op *op,
					  u32 word)
{
	if (!is_plain(word))
		return UPROBE_STEP;
	switch (GETTYPE(op->type)) {
	case BRANCH:
		return UPROBE_BRANCH;
	case MTSPR:
		/* The CPU knows which bits of it there are. */
		if (op->spr == SPRN_XER)
			return UPROBE_STEP;
	}
	return UPROBE_EMULATE;
}

/*
 * Registers of the FPU and of the vector units are left to the CPU, and so is
 * what takes more than one access, and forms that are invalid: those that update
 * no register, or the one that they load.
 */
static enum uprobe_how how_with_access(const struct instruction_op *op,
				       u32 word)
{
	int type = GETTYPE(op->type);

	if ((type != LOAD && type != STORE) ||
	    GETSIZE(op->type) > sizeof(long))
		return UPROBE_STEP;
	if ((op->type & UPDATE) &&
	    (!op->update_reg || (type == LOAD && op->reg == op->update_reg)))
		return UPROBE_STEP;
	if (get_op(word) == OP_31 ? word & 1 : !is_plain(word))
		return UPROBE_STEP;
	return UPROBE_ACCESS;
}

static void make_copy(struct arch_uprobe *aup)
{
	const u32 trap = UPROBE_SWBP_INSN;

	aup->ixol[0] = first_word(aup);
	aup->ixol[1] = trap;
	if (aup->len > sizeof(u32))
		aup->ixol[1] = ((const u32 *)aup->insn)[1];
	aup->ixol[2] = trap;
}

/* Does a prefix make the operand relative to the instruction? */
static bool is_relative(ppc_inst_t insn)
{
	unsigned int type = ppc_inst_val(insn) >> 24 & 3;

	/* Loads and stores of eight bytes, and what has a form of four bytes */
	return ppc_inst_prefixed(insn) && (type == 0 || type == 2) &&
	       GET_PREFIX_R(ppc_inst_val(insn));
}

/* Let the copy use a register that holds the address of the original. */
static void make_absolute(struct arch_uprobe *aup, int reg)
{
	/* It must not be one of a pair that is loaded or stored. */
	aup->scratch = (reg & 0x1f) >= 30 ? 29 : 31;
	aup->ixol[0] &= ~BIT(20);
	aup->ixol[1] |= aup->scratch << 16;
}

/* @mm is NULL for what is in a file: what stands around it is not looked at. */
static int analyze(struct arch_uprobe *aup, struct mm_struct *mm,
		   unsigned long vaddr, bool is_32bit, const char **why)
{
	struct pt_regs regs = { .nip = vaddr, .msr = MSR_PR };
	u32 word = first_word(aup);
	struct instruction_op op;
	ppc_inst_t insn;
	int ret;

	*why = "it is not aligned";
	if (!IS_ALIGNED(vaddr, sizeof(u32)))
		return -EINVAL;
	*why = "it is the second word of a prefixed instruction";
	if (mm && is_suffix(mm, vaddr))
		return -EINVAL;
	insn = insn_of(aup);
	aup->len = ppc_inst_prefixed(insn) ? 8 : 4;
	*why = "it crosses a boundary of 64 bytes";
	if (aup->len == 8 && vaddr % 64 == 60)
		return -EOPNOTSUPP;
	*why = "a reservation would be lost";
	ret = mm ? check_reservation(mm, vaddr) :
		   is_reserved(&word, 0, 1) ? -EOPNOTSUPP : 0;
	if (ret)
		return ret;

	make_copy(aup);
	if (!is_32bit)
		regs.msr |= MSR_64BIT;
	ret = analyse_instr(&op, &regs, insn);
	if (ret > 0) {
		aup->how = how_without_access(&op, word);
		*why = "no such branch";
		if (is_invalid_branch(word))
			return -EOPNOTSUPP;
		*why = "it depends on its place";
		return aup->how == UPROBE_STEP && is_relative(insn) ?
		       -EOPNOTSUPP : 0;
	}
	*why = refusal(word);
	if (*why)
		return -EOPNOTSUPP;
	if (!ret)
		aup->how = how_with_access(&op, word);
	if (!is_relative(insn))
		return 0;
	*why = "it depends on its place";
	if (!OP_IS_LOAD_STORE(GETTYPE(op.type)))
		return -EOPNOTSUPP;
	/* plq to r0, invalid only as long as the base is none. */
	*why = "no such load";
	if (GETTYPE(op.type) == LOAD && GETSIZE(op.type) == 16 && !op.reg)
		return -EOPNOTSUPP;
	make_absolute(aup, op.reg);
	return 0;
}

int arch_uprobe_analyze_insn(struct arch_uprobe *aup, struct mm_struct *mm,
			     unsigned long vaddr)
{
	const char *why;
	int ret = analyze(aup, mm, vaddr, is_32bit_mm(mm), &why);

	if (ret)
		pr_debug("%08x at 0x%lx: %s\n", first_word(aup), vaddr, why);
	return ret;
}

int arch_uprobe_check_insn(struct arch_uprobe *aup, int elf_class,
			   loff_t offset)
{
	const char *why;
	int ret = analyze(aup, NULL, offset, elf_class == ELFCLASS32, &why);

	if (ret)
		pr_debug("%08x in a file: %s\n", first_word(aup), why);
	return ret;
}

unsigned int arch_uprobe_insn_len(const struct arch_uprobe *aup)
{
	return aup->len;
}

bool arch_uprobe_needs_slot(const struct arch_uprobe *aup)
{
	return aup->how == UPROBE_STEP || aup->how == UPROBE_ACCESS;
}

void arch_uprobe_copy_ixol(struct page *page, unsigned long vaddr, void *src,
			   unsigned long len)
{
	void *kaddr = kmap_local_page(page) + offset_in_page(vaddr);

	memcpy(kaddr, src, len);
	flush_icache_range((unsigned long)kaddr, (unsigned long)kaddr + len);
	kunmap_local(kaddr);
}

/*
 * Execution.
 */

/*
 * A debugger that steps is owed a SIGTRAP for each instruction, and one that
 * steps from branch to branch for each of those. The trace interrupt ends both.
 */
static void report_step(struct arch_uprobe *aup, struct pt_regs *regs,
			unsigned long trace)
{
	if (!(trace & MSR_SE) &&
	    !((trace & MSR_BE) && aup->how == UPROBE_BRANCH))
		return;
	regs_set_return_msr(regs, regs->msr & ~MSR_TRACE);
	current->thread.trap_nr = TRAP_TRACE;
	user_single_step_report(regs);
}

/* A debugger's watchpoint sees what the program does, not what we do for it. */
static bool is_watched(void)
{
#ifdef CONFIG_HAVE_HW_BREAKPOINT
	int i;

	for (i = 0; i < nr_wp_slots(); i++)
		if (current->thread.ptrace_bps[i])
			return true;
#endif
	return false;
}

/* An access that is not aligned may be more than one for us, not for the CPU. */
static bool emulate_access(struct arch_uprobe *aup, struct pt_regs *regs)
{
	struct instruction_op op;

	if (is_watched() || analyse_instr(&op, regs, insn_of(aup)) ||
	    !IS_ALIGNED(op.ea, GETSIZE(op.type)) ||
	    emulate_loadstore(regs, &op))
		return false;
	regs_add_return_ip(regs, aup->len);
	return true;
}

/*
 * emulate_step() lets a branch look at all of the counter that it decrements.
 * In 32-bit mode the CPU decrements all of it, but looks at the lower half.
 */
static int emulate(struct arch_uprobe *aup, struct pt_regs *regs)
{
	unsigned long upper = 0;
	int ret;

	if (aup->how == UPROBE_BRANCH)
		upper = regs->ctr - truncate(regs, regs->ctr);
	regs->ctr -= upper;
	ret = emulate_step(regs, insn_of(aup));
	regs->ctr += upper;
	return ret;
}

bool arch_uprobe_skip_sstep(struct arch_uprobe *aup, struct pt_regs *regs)
{
	unsigned long trace = regs->msr & MSR_TRACE;

	switch (aup->how) {
	case UPROBE_STEP:
		return false;
	case UPROBE_ACCESS:
		if (!emulate_access(aup, regs))
			return false;
		break;
	default:
		if (WARN_ON_ONCE(emulate(aup, regs) != 1))
			force_sig(SIGILL);
	}
	report_step(aup, regs, trace);
	return true;
}

int arch_uprobe_pre_xol(struct arch_uprobe *aup, struct pt_regs *regs)
{
	struct arch_uprobe_task *autask = &current->utask->autask;
	unsigned long copy = current->utask->xol_vaddr;

	autask->trap_nr = current->thread.trap_nr;
	current->thread.trap_nr = TRAP_NR_NONE;

	autask->end = copy + aup->len;
	if (aup->scratch) {
		autask->scratch = regs->gpr[aup->scratch];
		regs->gpr[aup->scratch] = current->utask->vaddr;
	}
	autask->trace = regs->msr & MSR_TRACE;
	regs_set_return_msr(regs, regs->msr | MSR_SE);
	regs_set_return_ip(regs, copy);
	return 0;
}

/* Undo what arch_uprobe_pre_xol() did. The trace interrupt clears MSR_TRACE. */
static void end_xol(struct arch_uprobe *aup, struct pt_regs *regs,
		    unsigned long ip)
{
	struct arch_uprobe_task *autask = &current->utask->autask;

	if (aup->scratch)
		regs->gpr[aup->scratch] = autask->scratch;
	regs_set_return_msr(regs, (regs->msr & ~MSR_TRACE) | autask->trace);
	regs_set_return_ip(regs, ip);
}

int arch_uprobe_post_xol(struct arch_uprobe *aup, struct pt_regs *regs)
{
	struct uprobe_task *utask = current->utask;

	current->thread.trap_nr = utask->autask.trap_nr;
	end_xol(aup, regs, utask->vaddr + aup->len);
	report_step(aup, regs, utask->autask.trace);
	return 0;
}

void arch_uprobe_abort_xol(struct arch_uprobe *aup, struct pt_regs *regs)
{
	struct uprobe_task *utask = current->utask;

	if (current->thread.trap_nr == TRAP_NR_NONE)
		current->thread.trap_nr = utask->autask.trap_nr;
	end_xol(aup, regs, utask->vaddr);
}

bool arch_uprobe_xol_is_done(struct pt_regs *regs)
{
	return instruction_pointer(regs) == current->utask->autask.end;
}

bool arch_uprobe_xol_was_trapped(struct task_struct *t)
{
	return t->thread.trap_nr != TRAP_NR_NONE;
}

/* What the interrupt left besides them tells nothing. */
bool arch_uprobe_same_regs(const struct pt_regs *a, const struct pt_regs *b)
{
	return a->nip == b->nip && a->ctr == b->ctr && a->link == b->link &&
	       a->xer == b->xer && a->ccr == b->ccr &&
	       !memcmp(a->gpr, b->gpr, sizeof(a->gpr));
}

/*
 * Returns. The return address is in the link register at entry. Where a function
 * saves it is up to the ABI: in the frame of its caller, if it does.
 */

unsigned long arch_uretprobe_return_addr(struct pt_regs *regs)
{
	return truncate(regs, regs->link);
}

unsigned long
arch_uretprobe_hijack_return_addr(unsigned long trampoline_vaddr,
				  struct pt_regs *regs)
{
	unsigned long addr = truncate(regs, regs->link);

	regs->link = trampoline_vaddr;
	return addr;
}

unsigned long *arch_uretprobe_link(struct pt_regs *regs)
{
	return &regs->link;
}

unsigned long arch_uretprobe_trampoline(struct mm_struct *mm)
{
	void __user *vdso = mm->context.vdso;

	if (!vdso)
		return 0;
#ifdef CONFIG_VDSO32
	if (is_32bit_mm(mm))
		return VDSO32_SYMBOL(vdso, uretprobe_trampoline);
#endif
	return VDSO64_SYMBOL(vdso, uretprobe_trampoline);
}

/* Behind the back chain, and in 64-bit ABIs the condition register, too. */
unsigned long arch_uretprobe_slot(struct mm_struct *mm,
				  struct return_instance *ri)
{
	return ri->stack + (is_32bit_mm(mm) ? sizeof(u32) : 2 * sizeof(u64));
}

/* When the word is not there, it still may be in a register. */
int arch_uretprobe_give_back(struct return_instance *ri,
			     unsigned long trampoline)
{
	unsigned long slot = arch_uretprobe_slot(current->mm, ri);
	struct page *page;
	void *word;
	bool done;

	if (!IS_ALIGNED(slot, arch_uprobe_word(current->mm)) ||
	    !get_user_page_fast_only(slot, FOLL_WRITE, &page))
		return -EFAULT;
	word = kmap_local_page(page) + offset_in_page(slot);
	if (is_32bit_mm(current->mm))
		done = cmpxchg((u32 *)word, trampoline, ri->orig_ret_vaddr) ==
		       trampoline;
	else
		done = cmpxchg((u64 *)word, trampoline, ri->orig_ret_vaddr) ==
		       trampoline;
	kunmap_local(word);
	put_page(page);
	return done ? 0 : -EFAULT;
}

/*
 * Traps.
 */

/* The trap leaves the instruction pointer where it is. */
unsigned long uprobe_get_swbp_addr(struct pt_regs *regs)
{
	return instruction_pointer(regs);
}

bool is_trap_insn(uprobe_opcode_t *insn)
{
	return is_trap(*insn);
}

bool arch_uprobe_is_trap(uprobe_opcode_t before, uprobe_opcode_t at)
{
	return is_trap(at) || is_hashchk(at);
}

/* As do_program_check() without the engine. */
void arch_uprobe_send_trap(struct pt_regs *regs)
{
	unsigned long ip = instruction_pointer(regs);
	u32 word = 0;

	if (cpu_has_feature(CPU_FTR_DEXCR_NPHIE) &&
	    get_user(word, (u32 __user *)ip))
		_exception(SIGSEGV, regs, SEGV_MAPERR, ip);
	else if (is_hashchk(word))
		_exception(SIGILL, regs, ILL_ILLOPN, ip);
	else
		_exception(SIGTRAP, regs, TRAP_BRKPT, ip);
}

/*
 * Nothing that is done inside a transaction outlives its end by an interrupt.
 * So the hit has not happened: the transaction is aborted for good, and what the
 * program does in its stead is probed.
 */
static bool abort_transaction(struct pt_regs *regs)
{
#ifdef CONFIG_PPC_TRANSACTIONAL_MEM
	if (MSR_TM_TRANSACTIONAL(regs->msr)) {
		clear_thread_flag(TIF_UPROBE);
		tm_enable();
		tm_abort(TM_CAUSE_EMULATE | TM_CAUSE_PERSISTENT);
		return true;
	}
#endif
	return false;
}

/*
 * Is it the trap behind a copy? A watchpoint of perf takes the trace interrupt
 * for itself.
 */
static bool ends_copy(struct pt_regs *regs)
{
	struct uprobe_task *utask = current->utask;

	return utask && utask->active && arch_uprobe_xol_is_done(regs) &&
	       uprobe_post_sstep_notifier(regs);
}

int arch_uprobe_exception_notify(struct notifier_block *self,
				 unsigned long val, void *data)
{
	struct die_args *args = data;
	struct pt_regs *regs = args->regs;

	if (!regs || !user_mode(regs))
		return NOTIFY_DONE;

	switch (val) {
	case DIE_BPT:
		if (ends_copy(regs))
			return NOTIFY_STOP;
		if (!uprobe_pre_sstep_notifier(regs))
			break;
		abort_transaction(regs);
		return NOTIFY_STOP;
	case DIE_SSTEP:
		if (uprobe_post_sstep_notifier(regs))
			return NOTIFY_STOP;
		break;
	}
	return NOTIFY_DONE;
}
