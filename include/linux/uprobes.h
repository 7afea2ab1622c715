/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_UPROBES_H
#define _LINUX_UPROBES_H
/*
 * User-space probes: run a function of a kernel module whenever a thread of
 * one process reaches one address.
 *
 * Four groups, in this order: what modules call; what the rest of the kernel
 * calls; what an architecture implements; and, with CONFIG_UPROBES off, stubs.
 *
 * See Documentation/trace/uprobes/ for a session to copy and the rules that
 * a handler can rely on, and the head of kernel/uprobes.c for how it works.
 */

#include <linux/bits.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/spinlock_types.h>
#include <linux/types.h>

struct inode;
struct mm_struct;
struct probe;
struct probepoint;
struct notifier_block;
struct page;
struct pt_regs;
struct task_struct;
struct uprobe;
struct uprobes_mm;
struct uretprobe;
struct uretprobe_instance;
struct vm_area_struct;

/**
 * enum uprobe_type - the kind of object that a registration callback is about
 * @UPTY_UPROBE: a struct uprobe
 * @UPTY_URETPROBE: the struct uprobe that is embedded in a struct uretprobe
 */
enum uprobe_type {
	UPTY_UPROBE,
	UPTY_URETPROBE,
};

/* Registered, but no handler runs until enable_uprobe(). */
#define UPROBE_FLAG_DISABLED	BIT(0)
/* Children that the process forks are served as well, and theirs. */
#define UPROBE_FLAG_INHERIT	BIT(1)

/* Entries of return-probed functions that can be in progress in one thread. */
#define UPROBE_MAX_RETURNS	256

/* Limit of uretprobe.data_size, bytes. */
#define UPROBE_MAX_DATA		4096

typedef void (*uprobe_handler_t)(struct uprobe *u, struct pt_regs *regs);
typedef void (*uprobe_callback_t)(struct uprobe *u, int reg,
				  enum uprobe_type type, int result);
typedef void (*uretprobe_handler_t)(struct uretprobe_instance *ri,
				    struct pt_regs *regs);
typedef int (*uretprobe_entry_t)(struct uretprobe_instance *ri,
				 struct pt_regs *regs);

/**
 * struct uprobe - a probe at one address of one process
 *
 * Owned by the caller, who zeroes it, fills in the members above @nmissed and
 * keeps it until unregister_uprobe() has returned. It may live in static, heap
 * or module memory.
 *
 * @pid: any thread id of the process, as seen in the caller's pid namespace.
 *	The probe covers all threads of the process, present and future, and
 *	no thread of any other process.
 * @vaddr: address of the first byte of an instruction in an executable,
 *	not shared, mapping of the process. A file stands behind it or not.
 * @handler: called each time a thread of the process is about to execute that
 *	instruction, with its registers, in that thread's own context: it may
 *	sleep, fault and change registers, and may run on many CPUs at once.
 *	instruction_pointer() of the registers is @vaddr on every architecture.
 *	Setting it anew makes the thread go on there instead.
 * @registration_callback: optional, reports the end of a call of this API
 *	that was made from a handler, and so had to be deferred.
 * @flags: UPROBE_FLAG_DISABLED, UPROBE_FLAG_INHERIT, both, or 0. Later changed
 *	only by enable_uprobe() and disable_uprobe().
 * @nmissed: hits for which @handler could not be run. Set by the engine.
 */
struct uprobe {
	pid_t pid;
	unsigned long vaddr;
	uprobe_handler_t handler;
	uprobe_callback_t registration_callback;
	unsigned int flags;
	unsigned long nmissed;
	/* private: NULL unless registered, or on the way to that or back */
	struct probe *probe;
};

/**
 * struct uretprobe - a probe on the return of one function of one process
 *
 * Owned by the caller under the rules of struct uprobe.
 *
 * @u: @u.pid, @u.vaddr (the function's first instruction), @u.flags and
 *	@u.registration_callback are the caller's; @u.handler is not used.
 *	@u.nmissed is the engine's: calls whose return was not reported and will
 *	not be, be it that the call was left by longjmp(), that its thread ended,
 *	or that there was no memory or no room for an instance. Not counted is
 *	one that returns while the probe is disabled.
 * @handler: called when a call of the function has returned, with the registers
 *	as its caller will find them; instruction_pointer() is the return
 *	address. What struct uprobe says of handlers holds for this one too. Of
 *	several return probes on one call the last to be entered is first.
 * @entry_handler: optional, called at entry with the registers of that moment.
 *	Other than 0 lets this call go unobserved. Neither that nor an entry at
 *	which the probe is disabled counts as missed.
 * @data_size: bytes of @data in each instance, at most UPROBE_MAX_DATA.
 * @maxactive: calls that may be in progress at a time in all threads, <= 0 for
 *	no limit but UPROBE_MAX_RETURNS for each thread.
 */
struct uretprobe {
	struct uprobe u;
	uretprobe_handler_t handler;
	uretprobe_entry_t entry_handler;
	size_t data_size;
	int maxactive;
};

/**
 * struct uretprobe_instance - one call of a return-probed function
 *
 * Made before the entry handler and freed behind the handler, for which it is
 * valid. Only the thread that makes the call uses it, so @data needs no lock.
 *
 * @rp: the probe
 * @ret_addr: the real return address
 * @sp: the stack pointer at entry
 * @data: @rp->data_size bytes for the handlers, zero at entry
 */
struct uretprobe_instance {
	struct uretprobe *rp;
	unsigned long ret_addr;
	unsigned long sp;
	/* private: older one of the same call; the engine's side of @rp */
	struct uretprobe_instance *next;
	struct probe *probe;
	/* public: */
	char data[] __aligned(sizeof(u64));
};

/* What the handler of a consumer returns when it does not want the process. */
#define UPROBE_HANDLER_REMOVE	1

/**
 * struct uprobe_consumer - who observes a place in a file
 *
 * For tracers, which observe a file and not a process. Made by the caller, who
 * keeps it from uprobe_register() until uprobe_unregister_sync() has returned.
 * What struct uprobe says of the context of handlers holds here as well, but for
 * what may be called: nothing that registers or removes.
 *
 * @handler: called each time a thread of any process that is probed is about to
 *	execute the instruction; @filter is not asked before. Returns 0, or
 *	UPROBE_HANDLER_REMOVE: if @filter does not want the process either, and no
 *	other consumer does, the probe is removed from that process. Optional, if
 *	there is @ret_handler
 * @ret_handler: called when a call of the function that begins at the place, in
 *	process at @func, has returned; see uretprobe.handler. Also for a call that
 *	began earlier, if it was observed by anybody. Optional
 * @filter: does the consumer want this address space? Without it, it wants all.
 *	It is asked whenever mappings or consumers change, so no lock that it
 *	takes may be held by who makes such a change: maps a file, or calls
 *	uprobe_register() and what belongs to that
 */
struct uprobe_consumer {
	int (*handler)(struct uprobe_consumer *self, struct pt_regs *regs);
	int (*ret_handler)(struct uprobe_consumer *self, unsigned long func,
			   struct pt_regs *regs);
	bool (*filter)(struct uprobe_consumer *self, struct mm_struct *mm);
	/* private: */
	struct list_head cons_node;
};

struct return_instance;

#ifdef CONFIG_UPROBES

int register_uprobe(struct uprobe *u);
void unregister_uprobe(struct uprobe *u);
int register_uprobes(struct uprobe **us, int n);
void unregister_uprobes(struct uprobe **us, int n);
int enable_uprobe(struct uprobe *u);
int disable_uprobe(struct uprobe *u);

int init_uretprobes(pid_t pid, unsigned long vaddr);
int register_uretprobe(struct uretprobe *rp);
void unregister_uretprobe(struct uretprobe *rp);
int register_uretprobes(struct uretprobe **rps, int n);
void unregister_uretprobes(struct uretprobe **rps, int n);
int enable_uretprobe(struct uretprobe *rp);
int disable_uretprobe(struct uretprobe *rp);
unsigned long uprobe_real_addr(unsigned long addr,
			       struct return_instance **cursor);

struct uprobe *uprobe_register(struct inode *inode, loff_t offset,
			       loff_t ref_ctr_offset,
			       struct uprobe_consumer *uc);
int uprobe_apply(struct uprobe *uprobe, struct uprobe_consumer *uc, bool add);
void uprobe_unregister_nosync(struct uprobe *uprobe,
			      struct uprobe_consumer *uc);
void uprobe_unregister_sync(void);

#include <asm/uprobes.h>

/*
 * What the rest of the kernel calls: mm, fork, exit, signal, trap, perf.
 */

/**
 * struct uprobes_state - the engine's part of a struct mm_struct
 * @xol_area: what the engine knows of this address space, NULL until the first
 *	registration in it. Set once; cleared when the address space dies.
 */
struct uprobes_state {
	struct uprobes_mm *xol_area;
};

/**
 * struct return_instance - a call in progress whose return address we changed
 *
 * In the list of the thread that made the call, and in the table of the address
 * space by the slot, which is what belongs to it alone: the word on the stack
 * that holds the address of the trampoline. There, any thread may find it, and
 * remove it; off the list, and free it, only the thread itself. Call chains of
 * perf walk the list from any context of the thread: it is added to and removed
 * from by one store each.
 *
 * If the thread ends, or cannot tell whether the stack is still in use, the
 * call stays in the table as an orphan, without a thread.
 *
 * @next: the call before it, NULL for the oldest
 * @orig_ret_vaddr: the real return address; immutable
 * @stack: the stack pointer at entry; immutable
 * @instances: of the probes that observe this call, the newest first. Under the
 *	lock of @utask
 * @entries: of functions that will return by it; more than one if they jump to
 *	each other. Under the lock of @utask
 * @unwind: which entry of the table for unwinders it has, from 1, or 0
 * @utask: whose list it is in, NULL for an orphan. Under the bucket's lock
 * @hash: in the bucket of @stack, under its lock. Unhashed: the slot belongs to
 *	another call, or none
 * @orphan: in the list of orphans, under the lock of the address space
 */
struct return_instance {
	struct return_instance *next;
	unsigned long orig_ret_vaddr;
	unsigned long stack;
	struct uretprobe_instance *instances;
	unsigned int entries;
	unsigned int unwind;
	struct uprobe_task *utask;
	struct hlist_node hash;
	struct list_head orphan;
};

/**
 * struct uretprobe_unwind - tells the program a return address that we changed
 * @slot: the address of the word on the stack, 0 when the entry is free
 * @addr: the real return address
 *
 * See vdso/uretprobe.h, which has the layout.
 */
struct uretprobe_unwind {
	unsigned long slot __aligned(sizeof(u64));
	unsigned long addr __aligned(sizeof(u64));
};

/**
 * struct uprobe_task - the engine's part of a thread, made at its first hit
 *
 * Where nothing else is said only the thread itself reads or writes a member,
 * and needs no lock for that.
 *
 * @autask: the architecture's state of a step
 * @vaddr: the probe's address, while @active
 * @xol_vaddr: the copy's address, while @active
 * @auprobe: the probed instruction while entry handlers run, else NULL. Call
 *	chains of perf look at its bytes
 * @active: the probepoint whose copy the thread executes, else NULL. Holds a
 *	reference on it: its slot is not given to another one meanwhile.
 * @srcu_idx: what srcu_read_lock() returned
 * @reading: inside that section
 * @handling: handlers run, or what they deferred: calls of the API are queued
 * @denied: a signal came while @active, and waits for the end of the step
 * @paused: the thread left the copy before it executed it; @active stays
 * @unfinished: executions that it left before their ends, the newest first: to
 *	handle a signal, or to be stopped
 * @nr_unfinished: their number
 * @dup: during a fork, the breakpoints that the child must not keep
 * @unclean_child: during a fork, the child kept one, and has to die
 * @ops: calls of the API to carry out behind the handlers. Only the thread adds
 *	to it, anybody removes, both with probes_mutex held
 * @failed_init: error of a deferred init_uretprobes(), not yet reported
 * @failed_pid: the process that it was for
 * @instances: at entry, those of this call so far; at a return, those whose
 *	handlers have not run yet
 * @running: at a return, the one whose handler runs
 * @lock: protects the list of calls in progress, to which only the thread adds
 *	and from which only it removes, and their instances
 * @return_instances: the calls in progress, the newest first
 * @depth: the entries that they stand for
 * @tgid: the thread's process, to compare with. No reference
 * @umm: the thread's address space
 * @node: in @umm->tasks
 * @rcu: delays the free for who looks at another thread
 */
struct uprobe_task {
	struct arch_uprobe_task autask;
	unsigned long vaddr;
	unsigned long xol_vaddr;
	struct arch_uprobe *auprobe;
	struct probepoint *active;
	int srcu_idx;
	bool reading;
	bool handling;
	bool denied;
	bool paused;
	bool unclean_child;
	struct list_head unfinished;
	unsigned int nr_unfinished;
	struct uprobe_dup *dup;
	struct list_head ops;
	int failed_init;
	pid_t failed_pid;
	struct uretprobe_instance *instances;
	struct uretprobe_instance *running;
	spinlock_t lock; /* calls in progress */
	struct return_instance *return_instances;
	unsigned int depth;
	struct pid *tgid;
	struct uprobes_mm *umm;
	struct list_head node;
	struct rcu_head rcu;
};

#define UPROBE_NO_TRAMPOLINE_VADDR	(~0UL)

/* Text stays where it is when mappings are split or merged: see uprobe_zap(). */
static inline void uprobe_munmap(struct vm_area_struct *vma,
				 unsigned long start, unsigned long end)
{
}

void uprobes_init(void);
int uprobe_mmap(struct vm_area_struct *vma);
void uprobe_zap(struct vm_area_struct *vma, unsigned long start,
		unsigned long end);
int uprobe_mremap(struct vm_area_struct *vma, unsigned long start,
		  unsigned long end);
void uprobe_start_dup_mmap(void);
void uprobe_end_dup_mmap(void);
void uprobe_dup_mmap(struct mm_struct *oldmm, struct mm_struct *newmm);
void uprobe_clear_state(struct mm_struct *mm);
void uprobe_free_utask(struct task_struct *t);
void uprobe_copy_process(struct task_struct *t, unsigned long flags);
int uprobe_pre_sstep_notifier(struct pt_regs *regs);
int uprobe_post_sstep_notifier(struct pt_regs *regs);
void uprobe_notify_resume(struct pt_regs *regs);
bool uprobe_deny_signal(void);
void uprobe_pause_step(struct pt_regs *regs);
void uprobe_syscall_enter(struct pt_regs *regs);
unsigned long uprobe_get_trap_addr(struct pt_regs *regs);
unsigned long uprobe_get_trampoline_vaddr(void);
unsigned long uprobe_task_ip(struct task_struct *t, struct pt_regs *regs);
unsigned long uprobe_task_link(struct task_struct *t, struct pt_regs *regs);
unsigned long uprobe_frame_addr(unsigned long addr, unsigned long sp);
void uprobe_peek(struct mm_struct *mm, unsigned long addr, const void *mem,
		 void *buf, int len);
void uprobe_poke(struct mm_struct *mm, unsigned long addr, const void *mem,
		 void *buf, int len);

/*
 * What an architecture must implement. All run in process context, may sleep,
 * and concern current, unless said otherwise.
 */

/**
 * arch_uprobe_analyze_insn() - decide how to execute an instruction elsewhere
 * @aup: @aup->insn, of any type, holds what is in memory at @vaddr, zeroes behind
 *	the end of what can be read. To be filled in; @aup->ixol becomes the copy,
 *	and may be the same member.
 * @mm: the address space, which need not be current's
 * @vaddr: where the instruction stands
 *
 * Return: 0, -EOPNOTSUPP when it cannot be executed exactly, -EINVAL when it
 * is misaligned. Nothing may be left to be found out at a hit.
 */
int arch_uprobe_analyze_insn(struct arch_uprobe *aup, struct mm_struct *mm,
			     unsigned long vaddr);

/**
 * arch_uprobe_skip_sstep() - emulate the instruction, if that is possible
 * @aup: the instruction; instruction_pointer(@regs) is its address
 * @regs: the thread's registers
 *
 * Return: true when done: registers and memory are as after it. Otherwise both
 * are untouched, and the copy is executed.
 */
bool arch_uprobe_skip_sstep(struct arch_uprobe *aup, struct pt_regs *regs);

/**
 * arch_uprobe_pre_xol() - make the thread execute the copy, and then trap
 * @aup: the instruction
 * @regs: to be changed so that it goes on at current->utask->xol_vaddr
 *
 * If the copy is a system call, the trap may be replaced by SYSCALL_WORK_UPROBE:
 * uprobe_syscall_enter() is called then.
 *
 * Return: 0, or an error that kills the thread.
 */
int arch_uprobe_pre_xol(struct arch_uprobe *aup, struct pt_regs *regs);

/**
 * arch_uprobe_post_xol() - the copy was executed: hide where
 * @aup: the instruction
 * @regs: to be changed into what they are after the instruction in its place
 *
 * Return: 0 when done; -EAGAIN when the instruction is only part done: the copy
 * is to be executed once more with @regs, to trap again; -EINTR when it is part
 * done, and a signal is due in the middle: @regs are as after
 * arch_uprobe_abort_xol(); -EFAULT when its last effect on memory could not be
 * had: @regs are those of before it, and SIGSEGV is due.
 */
int arch_uprobe_post_xol(struct arch_uprobe *aup, struct pt_regs *regs);

/**
 * arch_uprobe_abort_xol() - the copy raised a fault, or is not to be executed
 * @aup: the instruction
 * @regs: to be changed into what they were before arch_uprobe_pre_xol(), with
 *	what the instruction did before it faulted
 */
void arch_uprobe_abort_xol(struct arch_uprobe *aup, struct pt_regs *regs);

/**
 * arch_uretprobe_hijack_return_addr() - let the current function return to us
 * @trampoline_vaddr: where it has to return to
 * @regs: the registers at its first instruction
 *
 * Return: the address that it would have returned to, -1 if that cannot be
 * changed.
 */
unsigned long
arch_uretprobe_hijack_return_addr(unsigned long trampoline_vaddr,
				  struct pt_regs *regs);

/**
 * arch_uprobe_xol_was_trapped() - did the copy raise a fault?
 * @t: current
 *
 * Return: true when the exception that is being handled came from the copy.
 */
bool arch_uprobe_xol_was_trapped(struct task_struct *t);

/**
 * arch_uprobe_exception_notify() - the die notifier
 * @self: the core's notifier block
 * @val: an enum die_val
 * @data: a struct die_args
 *
 * Calls uprobe_pre_sstep_notifier() for a breakpoint and, when the trap that
 * arch_uprobe_pre_xol() asked for arrives, uprobe_post_sstep_notifier().
 * Atomic context.
 *
 * Return: NOTIFY_STOP for what was the engine's, else NOTIFY_DONE.
 */
int arch_uprobe_exception_notify(struct notifier_block *self,
				 unsigned long val, void *data);

/*
 * What an architecture may implement. The core has __weak defaults.
 */

/**
 * arch_uprobe_insn_len() - length of an instruction that was analysed
 * @aup: the instruction
 *
 * Default: sizeof(@aup->insn). To be overridden where instructions may be
 * shorter than that. Else a probe on one that ends with its mapping is refused,
 * and a change of what follows it is taken for one of the instruction.
 *
 * Return: bytes in memory, UPROBE_SWBP_INSN_SIZE to sizeof(@aup->insn).
 */
unsigned int arch_uprobe_insn_len(const struct arch_uprobe *aup);

/**
 * arch_uprobe_needs_slot() - does an instruction ever run out of line?
 * @aup: the instruction
 *
 * Default: true. To be overridden to spare the copy of what is emulated.
 *
 * Return: false when arch_uprobe_skip_sstep() cannot fail for it.
 */
bool arch_uprobe_needs_slot(const struct arch_uprobe *aup);

/**
 * arch_uprobe_check_insn() - can an instruction in a file be executed elsewhere?
 * @aup: @aup->insn holds it; may be changed
 * @elf_class: ELFCLASS32 or ELFCLASS64, as the file has it, or ELFCLASSNONE
 * @offset: where in the file it stands
 *
 * Default: what arch_uprobe_analyze_insn() says of it in current's address space,
 * or 0 if @elf_class is not that of current. To be overridden where either kind can
 * be judged, or where text around the instruction matters.
 *
 * Return: 0, or an error of arch_uprobe_analyze_insn() that it has in any process.
 */
int arch_uprobe_check_insn(struct arch_uprobe *aup, int elf_class,
			   loff_t offset);

/**
 * arch_uprobe_word() - what size have return addresses on the stack?
 * @mm: the address space
 *
 * Default: that of a long. Any context.
 *
 * Return: bytes, 4 or 8.
 */
unsigned int arch_uprobe_word(struct mm_struct *mm);

/**
 * arch_uprobe_mmap_base() - below which address do mappings go?
 * @mm: the address space, mmap_lock held
 *
 * Default: mm->mmap_base.
 *
 * Return: the address. There has to be room for stacks to grow between it and
 * them.
 */
unsigned long arch_uprobe_mmap_base(struct mm_struct *mm);

/**
 * uprobe_get_swbp_addr() - address of the breakpoint that raised a trap
 * @regs: registers as the trap left them
 *
 * Default: the instruction pointer less UPROBE_SWBP_INSN_SIZE. Any context.
 *
 * Return: the address.
 */
unsigned long uprobe_get_swbp_addr(struct pt_regs *regs);

/**
 * is_trap_insn() - is this the program's own breakpoint?
 * @insn: the first word of an instruction
 *
 * Default: is it UPROBE_SWBP_INSN? Others that raise the same trap belong here.
 *
 * Return: true when a probe there is refused with -EEXIST.
 */
bool is_trap_insn(uprobe_opcode_t *insn);

/**
 * arch_uprobe_is_trap() - do these words raise a breakpoint trap?
 * @before: the word before @at, or 0 if it cannot be read
 * @at: the word at the address that uprobe_get_swbp_addr() returned
 *
 * Default: is_trap_insn() of @at.
 *
 * Return: true when a trap at that address need not have been one of ours.
 */
bool arch_uprobe_is_trap(uprobe_opcode_t before, uprobe_opcode_t at);

/**
 * arch_uprobe_send_trap() - a breakpoint was not ours
 * @regs: the registers as the trap left them
 *
 * Default: SIGTRAP, of which si_code and si_addr are TRAP_BRKPT and the
 * instruction pointer. To be overridden if without us it would be another.
 */
void arch_uprobe_send_trap(struct pt_regs *regs);

/**
 * arch_uprobe_ignore() - can the instruction not be executed as analysed?
 * @aup: the instruction
 * @regs: the thread's registers
 *
 * Default: false. To be overridden where a thread can change to a mode in which
 * the same bytes are another instruction.
 *
 * Return: true when the thread has to execute it itself, in its place.
 */
bool arch_uprobe_ignore(struct arch_uprobe *aup, struct pt_regs *regs);

/**
 * arch_uprobe_interruptible() - does the CPU take interrupts in the middle?
 * @aup: the instruction
 *
 * Default: false. To be overridden for instructions that may run for long.
 *
 * Return: true when a signal is handled before the instruction has ended, as it
 * would be without us.
 */
bool arch_uprobe_interruptible(struct arch_uprobe *aup);

/**
 * arch_uprobe_xol_is_partial() - did the copy do a part of the instruction?
 * @aup: the instruction
 * @regs: the thread's registers, after arch_uprobe_abort_xol()
 *
 * Default: false. To be overridden with arch_uprobe_interruptible().
 *
 * Return: true when to go on from @regs is not to execute it anew.
 */
bool arch_uprobe_xol_is_partial(struct arch_uprobe *aup, struct pt_regs *regs);

/**
 * arch_uprobe_xol_is_done() - is the trap behind the copy all that is missing?
 * @regs: the thread's registers; it executes a copy
 *
 * Default: false. To be overridden if an interrupt can come between the two.
 *
 * Return: true when arch_uprobe_post_xol() can be called as well.
 */
bool arch_uprobe_xol_is_done(struct pt_regs *regs);

/**
 * arch_uprobe_same_regs() - are these the registers that the thread left?
 * @a: registers as the thread left a probed instruction that was not done
 * @b: registers as it came to the same address
 *
 * Default: all are equal. To be overridden where struct pt_regs also holds what
 * is not the program's.
 *
 * Return: true when it is taken to go on with what it left.
 */
bool arch_uprobe_same_regs(const struct pt_regs *a, const struct pt_regs *b);

/**
 * arch_uretprobe_return_addr() - where will the current function return to?
 * @regs: the registers at its first instruction
 *
 * Default: what arch_uretprobe_hijack_return_addr() returns, which is undone.
 *
 * Return: the address, -1 if it cannot be read.
 */
unsigned long arch_uretprobe_return_addr(struct pt_regs *regs);

/**
 * arch_uretprobe_stack() - what was the stack pointer at the entry?
 * @regs: the registers at the trampoline
 *
 * Default: what it is now. To be overridden where a return pops its address.
 * Any context; need not concern current.
 *
 * Return: the stack pointer at the entry of a function that has returned and
 * popped nothing but its address.
 */
unsigned long arch_uretprobe_stack(struct pt_regs *regs);

/**
 * arch_uretprobe_pops() - what can a return pop besides its address?
 *
 * Default: 0. Any context.
 *
 * Return: the highest number of bytes.
 */
unsigned long arch_uretprobe_pops(void);

/**
 * arch_uretprobe_trampoline() - a breakpoint that the program can unwind from
 * @mm: the address space, mmap_lock held
 *
 * Default: 0. To be overridden where the architecture has such a place: in the
 * vDSO, with the unwind information of vdso/uretprobe_unwind.S.
 *
 * Return: its address, or 0: then a place in the engine's area is taken.
 */
unsigned long arch_uretprobe_trampoline(struct mm_struct *mm);

/**
 * arch_uretprobe_give_back() - let a call return without us
 * @ri: the call
 * @trampoline: what its slot holds, if it is still a slot
 *
 * Default: -EFAULT. To be overridden where arch_uretprobe_slot() is. In one
 * store, since another thread may use that stack. No page is faulted in.
 *
 * Return: 0 when its return address was written back, 1 when something else is
 * there, -EFAULT when that cannot be known.
 */
int arch_uretprobe_give_back(struct return_instance *ri,
			     unsigned long trampoline);

/**
 * arch_uretprobe_slot() - the word in memory with the address of the trampoline
 * @mm: the address space, which need not be current's
 * @ri: a call in progress
 *
 * Default: 0. To be overridden where a call puts its return address on the
 * stack, or a function that calls others saves it there: at a fixed distance
 * from the stack pointer at entry. Any context.
 *
 * Return: its address, or 0 where it is in a register.
 */
unsigned long arch_uretprobe_slot(struct mm_struct *mm,
				  struct return_instance *ri);

/**
 * arch_uretprobe_link() - the register with the return address
 * @regs: the registers
 *
 * Default: NULL. To be overridden where a call leaves it in a register.
 *
 * Return: its address in @regs.
 */
unsigned long *arch_uretprobe_link(struct pt_regs *regs);

/**
 * arch_uprobe_copy_ixol() - write a copy
 * @page: page of the engine's area
 * @vaddr: where in the process the copy will be executed
 * @src: what to write
 * @len: how much
 *
 * Default: a plain copy. To be overridden where the instruction cache does
 * not see it by itself.
 */
void arch_uprobe_copy_ixol(struct page *page, unsigned long vaddr, void *src,
			   unsigned long len);

/*
 * What the backends of some architectures have as well, and nobody calls: which
 * calls are over is known from more than the stack pointer (uretprobes.c), and
 * a breakpoint that differs from UPROBE_SWBP_INSN is none of ours.
 */
enum rp_check {
	RP_CHECK_CALL,
	RP_CHECK_CHAIN_CALL,
	RP_CHECK_RET,
};

bool arch_uretprobe_is_alive(struct return_instance *ret, enum rp_check ctx,
			     struct pt_regs *regs);
bool is_swbp_insn(uprobe_opcode_t *insn);

#else /* !CONFIG_UPROBES */

struct uprobes_state {
};

static inline int register_uprobe(struct uprobe *u)
{
	return -ENOSYS;
}

static inline void unregister_uprobe(struct uprobe *u)
{
}

static inline int register_uprobes(struct uprobe **us, int n)
{
	return -ENOSYS;
}

static inline void unregister_uprobes(struct uprobe **us, int n)
{
}

static inline int enable_uprobe(struct uprobe *u)
{
	return -ENOSYS;
}

static inline int disable_uprobe(struct uprobe *u)
{
	return -ENOSYS;
}

static inline int init_uretprobes(pid_t pid, unsigned long vaddr)
{
	return -ENOSYS;
}

static inline int register_uretprobe(struct uretprobe *rp)
{
	return -ENOSYS;
}

static inline void unregister_uretprobe(struct uretprobe *rp)
{
}

static inline int register_uretprobes(struct uretprobe **rps, int n)
{
	return -ENOSYS;
}

static inline void unregister_uretprobes(struct uretprobe **rps, int n)
{
}

static inline int enable_uretprobe(struct uretprobe *rp)
{
	return -ENOSYS;
}

static inline int disable_uretprobe(struct uretprobe *rp)
{
	return -ENOSYS;
}

static inline unsigned long uprobe_real_addr(unsigned long addr,
					     struct return_instance **cursor)
{
	return addr;
}

static inline struct uprobe *uprobe_register(struct inode *inode,
					     loff_t offset,
					     loff_t ref_ctr_offset,
					     struct uprobe_consumer *uc)
{
	return ERR_PTR(-ENOSYS);
}

static inline int uprobe_apply(struct uprobe *uprobe,
			       struct uprobe_consumer *uc, bool add)
{
	return -ENOSYS;
}

static inline void uprobe_unregister_nosync(struct uprobe *uprobe,
					    struct uprobe_consumer *uc)
{
}

static inline void uprobe_unregister_sync(void)
{
}

static inline void uprobes_init(void)
{
}

static inline int uprobe_mmap(struct vm_area_struct *vma)
{
	return 0;
}

static inline void uprobe_munmap(struct vm_area_struct *vma,
				 unsigned long start, unsigned long end)
{
}

static inline void uprobe_zap(struct vm_area_struct *vma, unsigned long start,
			      unsigned long end)
{
}

static inline int uprobe_mremap(struct vm_area_struct *vma,
				unsigned long start, unsigned long end)
{
	return 0;
}

static inline void uprobe_start_dup_mmap(void)
{
}

static inline void uprobe_end_dup_mmap(void)
{
}

static inline void uprobe_dup_mmap(struct mm_struct *oldmm,
				   struct mm_struct *newmm)
{
}

static inline void uprobe_clear_state(struct mm_struct *mm)
{
}

static inline void uprobe_free_utask(struct task_struct *t)
{
}

static inline void uprobe_copy_process(struct task_struct *t,
				       unsigned long flags)
{
}

static inline void uprobe_notify_resume(struct pt_regs *regs)
{
}

static inline bool uprobe_deny_signal(void)
{
	return false;
}

static inline void uprobe_pause_step(struct pt_regs *regs)
{
}

static inline void uprobe_syscall_enter(struct pt_regs *regs)
{
}

static inline void uprobe_peek(struct mm_struct *mm, unsigned long addr,
			       const void *mem, void *buf, int len)
{
}

static inline void uprobe_poke(struct mm_struct *mm, unsigned long addr,
			       const void *mem, void *buf, int len)
{
}

static inline unsigned long uprobe_frame_addr(unsigned long addr,
					      unsigned long sp)
{
	return addr;
}

/* Macros: instruction_pointer() is not known yet where this is included. */
#define uprobe_get_trap_addr(regs)	instruction_pointer(regs)
#define uprobe_task_ip(t, regs)		((void)(t), instruction_pointer(regs))
#define uprobe_task_link(t, regs)	((void)(t), (regs)->link)

#endif /* !CONFIG_UPROBES */
#endif /* _LINUX_UPROBES_H */
