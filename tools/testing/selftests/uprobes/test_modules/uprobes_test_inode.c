// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes files, as tracefs, perf and BPF do, on request of the selftests,
 * through a device that is named like the module. See uprobes_test_inode.h.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "uprobes_test_inode.h"

struct consumer {
	struct uprobe_consumer uc;
	struct upi_probe req;
	struct file *file;
	struct uprobe *uprobe;	/* NULL unless registered */
	atomic_long_t hits;
	atomic_long_t foreign;
	atomic_long_t returns;
	spinlock_t lock;	/* protects all below */
	struct upi_whom whom;
	struct mm_struct *mm;	/* of whom.pid: compared, and not used */
	struct upi_state last;
};

struct test_file {
	struct mutex lock;	/* makes requests take turns */
	int n;
	struct consumer *consumers[UPI_MAX];
};

static struct consumer *to_consumer(struct uprobe_consumer *uc)
{
	return container_of(uc, struct consumer, uc);
}

static bool filter(struct uprobe_consumer *uc, struct mm_struct *mm)
{
	struct consumer *c = to_consumer(uc);
	bool is_pid, yes;

	spin_lock(&c->lock);
	is_pid = mm == c->mm;
	switch (c->whom.filter) {
	case UPI_NOBODY:
		yes = false;
		break;
	case UPI_ONLY:
		yes = is_pid;
		break;
	case UPI_ALL_BUT:
		yes = !is_pid;
		break;
	default:
		yes = true;
	}
	spin_unlock(&c->lock);
	return yes;
}

/* regs_return_value() minds the error flag of system calls on powerpc. */
static unsigned long return_value(struct pt_regs *regs)
{
#ifdef CONFIG_PPC64
	return regs->msr & MSR_64BIT ? regs->gpr[3] : (u32)regs->gpr[3];
#else
	return regs_return_value(regs);
#endif
}

static void record(struct consumer *c, struct pt_regs *regs, unsigned long func)
{
	spin_lock(&c->lock);
	c->last.tid = current->pid;
	c->last.ip = instruction_pointer(regs);
	c->last.func = func;
	c->last.value = return_value(regs);
	spin_unlock(&c->lock);
}

static int hit(struct uprobe_consumer *uc, struct pt_regs *regs)
{
	struct consumer *c = to_consumer(uc);

	atomic_long_inc(&c->hits);
	if (!filter(uc, current->mm))
		atomic_long_inc(&c->foreign);
	record(c, regs, 0);

	switch (c->req.kind) {
	case UPI_SLEEP:
		usleep_range(c->req.arg, c->req.arg + c->req.arg / 8);
		break;
	case UPI_SET_IP:
		instruction_pointer_set(regs, c->req.arg);
		break;
	case UPI_REMOVE:
		return UPROBE_HANDLER_REMOVE;
	}
	return 0;
}

static int returned(struct uprobe_consumer *uc, unsigned long func,
		    struct pt_regs *regs)
{
	struct consumer *c = to_consumer(uc);

	atomic_long_inc(&c->returns);
	record(c, regs, func);
	return 0;
}

static int set_whom(struct consumer *c, const struct upi_whom *whom)
{
	struct mm_struct *mm = NULL, *old;
	struct task_struct *task;
	struct pid *pid;

	if (whom->filter == UPI_ONLY || whom->filter == UPI_ALL_BUT) {
		pid = find_get_pid(whom->pid);
		task = get_pid_task(pid, PIDTYPE_TGID);
		put_pid(pid);
		if (!task)
			return -ESRCH;
		mm = get_task_mm(task);
		put_task_struct(task);
		if (!mm)
			return -ESRCH;
		mmgrab(mm);
		mmput(mm);
	}
	spin_lock(&c->lock);
	old = c->mm;
	c->whom = *whom;
	c->mm = mm;
	spin_unlock(&c->lock);
	if (old)
		mmdrop(old);
	return 0;
}

/* The API. */

static int register_consumer(struct consumer *c)
{
	struct uprobe *uprobe;

	uprobe = uprobe_register(d_real_inode(c->file->f_path.dentry),
				 c->req.offset, c->req.ref_ctr_offset, &c->uc);
	if (IS_ERR(uprobe))
		return PTR_ERR(uprobe);
	c->uprobe = uprobe;
	return 0;
}

static void unregister_consumers(struct consumer **cs, int n)
{
	bool sync = false;
	int i;

	for (i = 0; i < n; i++) {
		if (!cs[i]->uprobe)
			continue;
		uprobe_unregister_nosync(cs[i]->uprobe, &cs[i]->uc);
		cs[i]->uprobe = NULL;
		sync = true;
	}
	if (sync)
		uprobe_unregister_sync();
}

/* Requests, with the test_file's lock held. */

static void free_consumer(struct consumer *c)
{
	if (c->file)
		fput(c->file);
	if (c->mm)
		mmdrop(c->mm);
	kfree(c);
}

static struct consumer *new_consumer(const struct upi_probe *req)
{
	struct consumer *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int ret = -EBADF;

	if (!c)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&c->lock);
	c->req = *req;
	if (req->handlers & UPI_ENTRY)
		c->uc.handler = hit;
	if (req->handlers & UPI_RETURN)
		c->uc.ret_handler = returned;
	if (req->whom.filter != UPI_NO_FILTER)
		c->uc.filter = filter;
	c->file = fget(req->fd);
	if (c->file)
		ret = set_whom(c, &req->whom);
	if (ret) {
		free_consumer(c);
		return ERR_PTR(ret);
	}
	return c;
}

static struct consumer *find(struct test_file *tf, int id)
{
	return id >= 0 && id < tf->n ? tf->consumers[id] : NULL;
}

static int do_register(struct test_file *tf, struct upi_probe *req)
{
	struct consumer *c;

	if (tf->n == UPI_MAX)
		return -ENOSPC;
	c = new_consumer(req);
	if (IS_ERR(c))
		return PTR_ERR(c);
	req->id = -1;
	req->result = register_consumer(c);
	if (req->result) {
		free_consumer(c);
		return 0;
	}
	req->id = tf->n;
	tf->consumers[tf->n++] = c;
	return 0;
}

static int do_again(struct test_file *tf, struct upi_op *req)
{
	struct consumer *c = find(tf, req->id);

	if (!c || c->uprobe)
		return -EINVAL;
	req->result = register_consumer(c);
	return 0;
}

static int do_unregister(struct test_file *tf, struct upi_op *req)
{
	if (req->id < 0 || req->n < 1 || req->n > tf->n ||
	    req->id > tf->n - req->n)
		return -EINVAL;
	unregister_consumers(&tf->consumers[req->id], req->n);
	req->result = 0;
	return 0;
}

static int do_change(struct test_file *tf, struct upi_change *req)
{
	struct consumer *c = find(tf, req->id);
	int ret;

	if (!c || !c->uprobe || !c->uc.filter)
		return -EINVAL;
	ret = set_whom(c, &req->whom);
	if (ret)
		return ret;
	req->result = req->apply ? uprobe_apply(c->uprobe, &c->uc, req->add) : 0;
	return 0;
}

static int do_read(struct test_file *tf, struct upi_state *req)
{
	struct consumer *c = find(tf, req->id);
	int id = req->id;

	if (!c)
		return -EINVAL;
	spin_lock(&c->lock);
	*req = c->last;
	spin_unlock(&c->lock);
	req->id = id;
	req->hits = atomic_long_read(&c->hits);
	req->foreign = atomic_long_read(&c->foreign);
	req->returns = atomic_long_read(&c->returns);
	return 0;
}

union request {
	struct upi_probe probe;
	struct upi_op op;
	struct upi_change change;
	struct upi_state state;
};

static int handle_request(struct test_file *tf, unsigned int cmd,
			  union request *req)
{
	switch (cmd) {
	case UPI_REGISTER:
		return do_register(tf, &req->probe);
	case UPI_AGAIN:
		return do_again(tf, &req->op);
	case UPI_UNREGISTER:
		return do_unregister(tf, &req->op);
	case UPI_CHANGE:
		return do_change(tf, &req->change);
	case UPI_READ:
		return do_read(tf, &req->state);
	default:
		return -ENOTTY;
	}
}

static long test_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct test_file *tf = file->private_data;
	void __user *user = (void __user *)arg;
	unsigned int size = _IOC_SIZE(cmd);
	union request req;
	long ret;

	if (size > sizeof(req))
		return -ENOTTY;
	if (copy_from_user(&req, user, size))
		return -EFAULT;
	mutex_lock(&tf->lock);
	ret = handle_request(tf, cmd, &req);
	mutex_unlock(&tf->lock);
	if (!ret && copy_to_user(user, &req, size))
		ret = -EFAULT;
	return ret;
}

static int test_open(struct inode *inode, struct file *file)
{
	struct test_file *tf = kzalloc(sizeof(*tf), GFP_KERNEL);

	if (!tf)
		return -ENOMEM;
	mutex_init(&tf->lock);
	file->private_data = tf;
	return 0;
}

static int test_release(struct inode *inode, struct file *file)
{
	struct test_file *tf = file->private_data;
	int i;

	unregister_consumers(tf->consumers, tf->n);
	for (i = 0; i < tf->n; i++)
		free_consumer(tf->consumers[i]);
	kfree(tf);
	return 0;
}

static const struct file_operations test_fops = {
	.owner = THIS_MODULE,
	.open = test_open,
	.release = test_release,
	.unlocked_ioctl = test_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice test_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = KBUILD_MODNAME,
	.fops = &test_fops,
	.mode = 0600,
};

module_misc_device(test_device);

MODULE_DESCRIPTION("Probes files on request of the selftests");
MODULE_LICENSE("GPL");
