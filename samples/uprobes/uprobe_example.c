// SPDX-License-Identifier: GPL-2.0-only
/*
 * uprobe_example.c
 *
 * A sample kernel module that probes one instruction of a running program,
 * logs each hit and counts them.
 *
 * usage: insmod uprobe_example.ko pid=<pid> vaddr=<address> [verbose=0]
 *
 * The address is that of the first byte of an instruction in the memory of the
 * process; "tools/uprobes/vaddr <pid> <symbol>" prints that of a function.
 * The output appears in the kernel log: one line per hit, unless verbose=0,
 * and the number of hits when the module is unloaded.
 *
 * For more information on probes in user space, see
 * Documentation/trace/uprobes/usage.rst
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/uprobes.h>

static int pid;
module_param(pid, int, 0444);
MODULE_PARM_DESC(pid, "Process to probe, by the id of any of its threads");

static unsigned long vaddr;
module_param(vaddr, ulong, 0444);
MODULE_PARM_DESC(vaddr, "Address of the instruction to probe");

static bool verbose = true;
module_param(verbose, bool, 0644);
MODULE_PARM_DESC(verbose, "Log each hit, not just their number (default: Y)");

static atomic64_t hits = ATOMIC64_INIT(0);

/* Runs in the thread that hit, and in several of them at once. */
static void example_handler(struct uprobe *u, struct pt_regs *regs)
{
	atomic64_inc(&hits);
	if (verbose)
		pr_info("hit at 0x%lx by %s[%d/%d]\n",
			instruction_pointer(regs), current->comm,
			task_tgid_nr(current), task_pid_nr(current));
}

static struct uprobe example_probe = {
	.handler = example_handler,
};

static const char *explain(int err)
{
	switch (err) {
	case -EINVAL:
		return "no code of a user process is there";
	case -ESRCH:
		return "no such process";
	case -EEXIST:
		return "a breakpoint that is not ours is already there";
	case -EOPNOTSUPP:
		return "that instruction, or shared memory, cannot be probed";
	default:
		return "see the errors of register_uprobe()";
	}
}

static int __init uprobe_example_init(void)
{
	int ret;

	if (!pid || !vaddr) {
		pr_err("pid= and vaddr= are required\n");
		return -EINVAL;
	}

	example_probe.pid = pid;
	example_probe.vaddr = vaddr;
	ret = register_uprobe(&example_probe);
	if (ret) {
		pr_err("cannot probe 0x%lx of process %d: %s (%d)\n", vaddr,
		       pid, explain(ret), ret);
		return ret;
	}
	pr_info("probing 0x%lx of process %d\n", vaddr, pid);
	return 0;
}

static void __exit uprobe_example_exit(void)
{
	unregister_uprobe(&example_probe);
	pr_info("%lld hits, %lu missed\n", atomic64_read(&hits),
		example_probe.nmissed);
}

module_init(uprobe_example_init);
module_exit(uprobe_example_exit);
MODULE_DESCRIPTION("sample kernel module that probes a user-space instruction");
MODULE_LICENSE("GPL");
