// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space return probes. The interface stands; each registration is refused
 * with -EOPNOTSUPP, so that there is nothing to enable or to remove.
 */

#include <linux/export.h>
#include <linux/uprobes.h>

/**
 * init_uretprobes() - give a process the place that return probes return to
 * @pid: any thread id of the process
 * @vaddr: 0, or an address on an executable page that the program does not
 *	run again
 *
 * Return: -EOPNOTSUPP, there are no return probes yet.
 */
int init_uretprobes(pid_t pid, unsigned long vaddr)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(init_uretprobes);

/**
 * register_uretprobe() - set a return probe
 * @rp: the probe
 *
 * Return: -EOPNOTSUPP, there are no return probes yet.
 */
int register_uretprobe(struct uretprobe *rp)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(register_uretprobe);

/**
 * unregister_uretprobe() - remove a return probe
 * @rp: the probe; nothing happens, since it cannot be registered
 */
void unregister_uretprobe(struct uretprobe *rp)
{
}
EXPORT_SYMBOL_GPL(unregister_uretprobe);

/**
 * register_uretprobes() - set several return probes, or none
 * @rps: the probes
 * @n: their number
 *
 * Return: -EOPNOTSUPP, there are no return probes yet.
 */
int register_uretprobes(struct uretprobe **rps, int n)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(register_uretprobes);

/**
 * unregister_uretprobes() - remove several return probes
 * @rps: the probes; nothing happens, since they cannot be registered
 * @n: their number
 */
void unregister_uretprobes(struct uretprobe **rps, int n)
{
}
EXPORT_SYMBOL_GPL(unregister_uretprobes);

/**
 * enable_uretprobe() - let the handlers of a return probe run again
 * @rp: the probe
 *
 * Return: -EINVAL, since it cannot be registered.
 */
int enable_uretprobe(struct uretprobe *rp)
{
	return -EINVAL;
}
EXPORT_SYMBOL_GPL(enable_uretprobe);

/**
 * disable_uretprobe() - let the handlers of a return probe rest
 * @rp: the probe
 *
 * Return: -EINVAL, since it cannot be registered.
 */
int disable_uretprobe(struct uretprobe *rp)
{
	return -EINVAL;
}
EXPORT_SYMBOL_GPL(disable_uretprobe);
