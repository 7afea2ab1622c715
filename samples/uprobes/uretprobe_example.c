// SPDX-License-Identifier: GPL-2.0-only
/*
 * uretprobe_example.c
 *
 * A sample kernel module that probes the calls of one function of a running
 * program: logs what each returns, and how long it took.
 *
 * usage: insmod uretprobe_example.ko pid=<pid> vaddr=<address> [verbose=0]
 *
 * The address is that of the function's first instruction in the memory of the
 * process; "tools/uprobes/vaddr <pid> <symbol>" prints it. The output appears
 * in the kernel log: one line per return, unless verbose=0, and the numbers of
 * returns and of missed ones when the module is unloaded.
 *
 * For more information on probes in user space, see
 * Documentation/trace/uprobes/usage.rst
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/uprobes.h>

static int pid;
module_param(pid, int, 0444);
MODULE_PARM_DESC(pid, "Process to probe, by the id of any of its threads");

static unsigned long vaddr;
module_param(vaddr, ulong, 0444);
MODULE_PARM_DESC(vaddr, "Address of the function to probe");

static bool verbose = true;
module_param(verbose, bool, 0644);
MODULE_PARM_DESC(verbose, "Log each return, not just their number (default: Y)");

static atomic64_t returns = ATOMIC64_INIT(0);

/* On powerpc, regs_return_value() minds the error flag of system calls. */
static unsigned long return_value(struct pt_regs *regs)
{
#ifdef CONFIG_PPC
	return regs->gpr[3];
#else
	return regs_return_value(regs);
#endif
}

/* Each call has its own instance, whose data last from here to its return. */
static int example_entry(struct uretprobe_instance *ri, struct pt_regs *regs)
{
	*(u64 *)ri->data = ktime_get_ns();
	return 0;
}

/* Runs in the thread that returns, and in several of them at once. */
static void example_return(struct uretprobe_instance *ri, struct pt_regs *regs)
{
	u64 duration = ktime_get_ns() - *(u64 *)ri->data;

	atomic64_inc(&returns);
	if (verbose)
		pr_info("%s[%d/%d] returns %ld to 0x%lx after %llu ns\n",
			current->comm, task_tgid_nr(current),
			task_pid_nr(current), return_value(regs),
			ri->ret_addr, duration);
}

static struct uretprobe example_probe = {
	.handler = example_return,
	.entry_handler = example_entry,
	.data_size = sizeof(u64),
};

static int __init uretprobe_example_init(void)
{
	int ret;

	if (!pid || !vaddr) {
		pr_err("pid= and vaddr= are required\n");
		return -EINVAL;
	}

	example_probe.u.pid = pid;
	example_probe.u.vaddr = vaddr;
	ret = register_uretprobe(&example_probe);
	if (ret) {
		pr_err("cannot probe 0x%lx of process %d: error %d\n", vaddr,
		       pid, ret);
		return ret;
	}
	pr_info("probing 0x%lx of process %d\n", vaddr, pid);
	return 0;
}

static void __exit uretprobe_example_exit(void)
{
	unregister_uretprobe(&example_probe);
	pr_info("%lld returns, %lu missed\n", atomic64_read(&returns),
		example_probe.u.nmissed);
}

module_init(uretprobe_example_init);
module_exit(uretprobe_example_exit);
MODULE_DESCRIPTION("sample kernel module that probes a user-space function's returns");
MODULE_LICENSE("GPL");
