// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls the API of <linux/uprobes.h> on request of the selftests, through a
 * device that is named like the module.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "uprobes_test.h"

/* UPT_SLOT sleeps at each so many hits. */
#define SLEEP_EVERY	1024

struct test_probe {
	struct uprobe u;
	struct uprobe nested;	/* what UPT_NEST tries to register */
	u32 kind;
	u64 arg;
	atomic_long_t hits;
	atomic_long_t callbacks;
	atomic_long_t errors;
	spinlock_t lock;	/* protects last: hits are concurrent */
	struct upt_state last;
};

/* The objects of one open file. */
struct test_file {
	struct mutex lock;	/* makes requests take turns */
	int n;
	struct uprobe *us[UPT_MAX];
};

/*
 * Kept objects are never freed: they live as long as the module, and the
 * engine has to find out by itself that the module is gone.
 */
static struct test_probe kept[UPT_MAX_KEPT];
static atomic_t nkept = ATOMIC_INIT(0);

static atomic64_t order = ATOMIC64_INIT(0);

static struct test_probe *to_test_probe(struct uprobe *u)
{
	return container_of(u, struct test_probe, u);
}

/* All that depends on the architecture. */
static unsigned long first_arg(struct pt_regs *regs)
{
	return regs_get_kernel_argument(regs, 0);
}

static void set_first_arg(struct pt_regs *regs, unsigned long val)
{
#if defined(CONFIG_X86_64)
	regs->di = val;
#elif defined(CONFIG_PPC)
	regs->gpr[3] = val;
#else
#error "which register is the first argument?"
#endif
}

static unsigned long cpu_flags(struct pt_regs *regs)
{
#ifdef CONFIG_X86
	return regs->flags;
#else
	return 0;
#endif
}

static void hit_slot(struct test_probe *tp, struct pt_regs *regs, long nth)
{
	struct upt_slot __user *slot = (void __user *)first_arg(regs);
	s64 kcount;
	s32 utid;

	if (put_user(current->pid, &slot->ktid) ||
	    get_user(utid, &slot->utid) || get_user(kcount, &slot->kcount))
		goto complain;
	if (utid != current->pid)
		goto complain;
	if (kcount == -1 && put_user(-1LL, &slot->ucount))
		goto complain;
	if (put_user(kcount + 1, &slot->kcount))
		goto complain;

	if (nth % SLEEP_EVERY == 0)
		usleep_range(50, 100);
	return;

complain:
	atomic_long_inc(&tp->errors);
}

static void hit_record(struct test_probe *tp, struct pt_regs *regs)
{
	spin_lock(&tp->lock);
	tp->last.order = atomic64_inc_return(&order);
	tp->last.ip = instruction_pointer(regs);
	tp->last.sp = user_stack_pointer(regs);
	tp->last.rflags = cpu_flags(regs);
	tp->last.arg = first_arg(regs);
	tp->last.tid = current->pid;
	spin_unlock(&tp->lock);
}

static void no_hit(struct uprobe *u, struct pt_regs *regs)
{
}

static void no_ret_hit(struct uretprobe_instance *ri, struct pt_regs *regs)
{
}

static int call_ret(enum upt_call call, pid_t pid, unsigned long vaddr)
{
	struct uretprobe rp = {
		.u.pid = pid,
		.u.vaddr = vaddr,
		.handler = no_ret_hit,
	};
	struct uretprobe *rps[] = { &rp };

	switch (call) {
	case UPT_CALL_RET_REGISTER:
		return register_uretprobe(&rp);
	case UPT_CALL_RET_REGISTER_BATCH:
		return register_uretprobes(rps, 1);
	case UPT_CALL_RET_UNREGISTER:
		unregister_uretprobe(&rp);
		unregister_uretprobes(rps, 1);
		return 0;
	case UPT_CALL_RET_ENABLE:
		return enable_uretprobe(&rp);
	case UPT_CALL_RET_DISABLE:
		return disable_uretprobe(&rp);
	default:
		return init_uretprobes(pid, vaddr);
	}
}

static int call_nested(struct test_probe *tp)
{
	struct uprobe *u = &tp->u, *nested = &tp->nested;

	nested->pid = u->pid;
	nested->vaddr = u->vaddr;
	nested->handler = no_hit;

	switch (tp->arg) {
	case UPT_CALL_NEST_REGISTER:
		return register_uprobe(nested);
	case UPT_CALL_NEST_REGISTER_BATCH:
		return register_uprobes(&nested, 1);
	case UPT_CALL_NEST_UNREGISTER:
		unregister_uprobe(u);
		unregister_uprobes(&u, 1);
		return 0;
	case UPT_CALL_NEST_ENABLE:
		return disable_uprobe(u) ?: enable_uprobe(u);
	case UPT_CALL_NEST_DISABLE:
		return disable_uprobe(u);
	default:
		return call_ret(tp->arg, u->pid, u->vaddr);
	}
}

static void hit_nest(struct test_probe *tp)
{
	int ret = call_nested(tp);

	spin_lock(&tp->lock);
	tp->last.nested = ret;
	spin_unlock(&tp->lock);
}

static void hit(struct uprobe *u, struct pt_regs *regs)
{
	struct test_probe *tp = to_test_probe(u);
	long nth = atomic_long_inc_return(&tp->hits);

	switch (tp->kind) {
	case UPT_SLOT:
		hit_slot(tp, regs, nth);
		break;
	case UPT_SLEEP:
		usleep_range(tp->arg, tp->arg + tp->arg / 8);
		break;
	case UPT_SET_ARG:
		set_first_arg(regs, tp->arg);
		break;
	case UPT_SET_RET:
		regs_set_return_value(regs, tp->arg);
		break;
	case UPT_SET_IP:
		instruction_pointer_set(regs, tp->arg);
		break;
	case UPT_RECORD:
		hit_record(tp, regs);
		break;
	case UPT_NEST:
		hit_nest(tp);
		break;
	}
}

static void registered(struct uprobe *u, int reg, enum uprobe_type type,
		       int result)
{
	atomic_long_inc(&to_test_probe(u)->callbacks);
}

static struct test_probe *alloc_probe(bool keep)
{
	int i;

	if (!keep)
		return kzalloc(sizeof(struct test_probe), GFP_KERNEL);

	i = atomic_fetch_inc(&nkept);
	return i < UPT_MAX_KEPT ? &kept[i] : NULL;
}

static bool is_kept(struct test_probe *tp)
{
	return tp >= kept && tp < kept + UPT_MAX_KEPT;
}

/* Returns the new object's id. It is in the table, but not registered. */
static int add_probe(struct test_file *tf, const struct upt_probe *req)
{
	struct test_probe *tp;

	if (req->kind >= UPT_KINDS)
		return -EINVAL;
	if (tf->n == UPT_MAX)
		return -ENOSPC;
	tp = alloc_probe(req->keep);
	if (!tp)
		return -ENOMEM;

	tp->u.pid = req->pid;
	tp->u.vaddr = req->vaddr;
	tp->u.flags = req->flags;
	tp->u.handler = hit;
	tp->u.registration_callback = registered;
	tp->kind = req->kind;
	tp->arg = req->arg;
	spin_lock_init(&tp->lock);
	tf->us[tf->n] = &tp->u;
	return tf->n++;
}

static struct uprobe *get_uprobe(struct test_file *tf, int id)
{
	return id >= 0 && id < tf->n ? tf->us[id] : NULL;
}

static int do_register(struct test_file *tf, struct upt_probe *req)
{
	int id = add_probe(tf, req);

	if (id < 0)
		return id;
	req->id = id;
	req->result = register_uprobe(tf->us[id]);
	return 0;
}

/*
 * Without the lock of the file, so that operations on one object can meet.
 * Objects stay until it is closed.
 */
static int do_op(struct test_file *tf, unsigned int cmd, struct upt_op *req)
{
	struct uprobe *u;

	mutex_lock(&tf->lock);
	u = get_uprobe(tf, req->id);
	mutex_unlock(&tf->lock);
	if (!u)
		return -EINVAL;

	req->result = 0;
	switch (cmd) {
	case UPT_REGISTER_AGAIN:
		req->result = register_uprobe(u);
		break;
	case UPT_UNREGISTER:
		unregister_uprobe(u);
		break;
	case UPT_UNREGISTER_KILLED:
		send_sig(SIGKILL, current, 1);
		unregister_uprobe(u);
		break;
	case UPT_ENABLE:
		req->result = enable_uprobe(u);
		break;
	case UPT_DISABLE:
		req->result = disable_uprobe(u);
		break;
	}
	return 0;
}

static int do_read(struct test_file *tf, struct upt_state *req)
{
	struct uprobe *u = get_uprobe(tf, req->id);
	struct test_probe *tp;
	int id = req->id;

	if (!u)
		return -EINVAL;

	tp = to_test_probe(u);
	spin_lock(&tp->lock);
	*req = tp->last;
	spin_unlock(&tp->lock);
	req->id = id;
	req->flags = u->flags;
	req->nmissed = u->nmissed;
	req->hits = atomic_long_read(&tp->hits);
	req->callbacks = atomic_long_read(&tp->callbacks);
	req->errors = atomic_long_read(&tp->errors);
	return 0;
}

static int do_register_batch(struct test_file *tf, struct upt_batch *req)
{
	u64 __user *vaddrs = u64_to_user_ptr(req->vaddrs);
	s32 __user *pids = u64_to_user_ptr(req->pids);
	struct upt_probe probe = { .pid = req->pid, .kind = req->kind };
	int i, id;

	if (req->n <= 0 || req->n > UPT_MAX - tf->n)
		return -EINVAL;

	req->first = tf->n;
	for (i = 0; i < req->n; i++) {
		if (get_user(probe.vaddr, vaddrs + i) ||
		    (pids && get_user(probe.pid, pids + i)))
			return -EFAULT;
		id = add_probe(tf, &probe);
		if (id < 0)
			return id;
	}
	req->result = register_uprobes(tf->us + req->first, req->n);
	return 0;
}

static int do_unregister_batch(struct test_file *tf, struct upt_batch *req)
{
	if (req->first < 0 || req->n <= 0 || req->n > tf->n - req->first)
		return -EINVAL;

	unregister_uprobes(tf->us + req->first, req->n);
	req->result = 0;
	return 0;
}

static int do_misuse(struct upt_misuse *req)
{
	struct uprobe u = {
		.pid = req->pid,
		.vaddr = req->vaddr,
		.handler = hit,
	};
	struct uprobe *with_null[] = { &u, NULL };
	struct uprobe *twice[] = { &u, &u };

	req->result = 0;
	switch (req->call) {
	case UPT_CALL_REGISTER_NULL:
		req->result = register_uprobe(NULL);
		break;
	case UPT_CALL_REGISTER_NO_HANDLER:
		u.handler = NULL;
		req->result = register_uprobe(&u);
		break;
	case UPT_CALL_UNREGISTER_NULL:
		unregister_uprobe(NULL);
		break;
	case UPT_CALL_UNREGISTER_FRESH:
		unregister_uprobe(&u);
		break;
	case UPT_CALL_BATCH_NULL:
		req->result = register_uprobes(NULL, 1);
		break;
	case UPT_CALL_BATCH_EMPTY:
		req->result = register_uprobes(twice, 0);
		break;
	case UPT_CALL_BATCH_NEGATIVE:
		req->result = register_uprobes(twice, -1);
		break;
	case UPT_CALL_BATCH_NULL_MEMBER:
		req->result = register_uprobes(with_null, 2);
		break;
	case UPT_CALL_BATCH_TWICE:
		req->result = register_uprobes(twice, 2);
		break;
	case UPT_CALL_UNREGISTER_BATCH_EMPTY:
		unregister_uprobes(NULL, 1);
		unregister_uprobes(twice, 0);
		unregister_uprobes(twice, -1);
		unregister_uprobes(with_null, 2);
		break;
	case UPT_CALL_ENABLE_NULL:
		req->result = enable_uprobe(NULL);
		break;
	case UPT_CALL_ENABLE_FRESH:
		req->result = enable_uprobe(&u);
		break;
	case UPT_CALL_DISABLE_NULL:
		req->result = disable_uprobe(NULL);
		break;
	case UPT_CALL_DISABLE_FRESH:
		req->result = disable_uprobe(&u);
		break;
	case UPT_CALL_RET_REGISTER ... UPT_CALL_RET_INIT:
		req->result = call_ret(req->call, req->pid, req->vaddr);
		break;
	default:
		return -EINVAL;
	}
	/* Should a call that must fail have worked: u is on the stack. */
	unregister_uprobe(&u);
	return 0;
}

/* Not for ever: a test that fails must not leave the lock held. */
static int hold_mmap_lock(void)
{
	mmap_write_lock(current->mm);
	schedule_timeout_killable(20 * HZ);
	mmap_write_unlock(current->mm);
	return 0;
}

static int do_request(struct test_file *tf, unsigned int cmd, void *req)
{
	switch (cmd) {
	case UPT_REGISTER:
		return do_register(tf, req);
	case UPT_READ:
		return do_read(tf, req);
	case UPT_REGISTER_BATCH:
		return do_register_batch(tf, req);
	case UPT_UNREGISTER_BATCH:
		return do_unregister_batch(tf, req);
	case UPT_MISUSE:
		return do_misuse(req);
	default:
		return -ENOTTY;
	}
}

static long test_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct test_file *tf = file->private_data;
	void __user *user = (void __user *)arg;
	union {
		struct upt_probe probe;
		struct upt_op op;
		struct upt_state state;
		struct upt_batch batch;
		struct upt_misuse misuse;
	} req;
	int ret;

	if (_IOC_SIZE(cmd) > sizeof(req))
		return -ENOTTY;
	if (copy_from_user(&req, user, _IOC_SIZE(cmd)))
		return -EFAULT;

	switch (cmd) {
	case UPT_HOLD_MMAP_LOCK:
		return hold_mmap_lock();
	case UPT_REGISTER_AGAIN:
	case UPT_UNREGISTER:
	case UPT_UNREGISTER_KILLED:
	case UPT_ENABLE:
	case UPT_DISABLE:
		ret = do_op(tf, cmd, &req.op);
		break;
	default:
		mutex_lock(&tf->lock);
		ret = do_request(tf, cmd, &req);
		mutex_unlock(&tf->lock);
	}

	if (!ret && copy_to_user(user, &req, _IOC_SIZE(cmd)))
		ret = -EFAULT;
	return ret;
}

static int test_open(struct inode *inode, struct file *file)
{
	struct test_file *tf = kvzalloc(sizeof(*tf), GFP_KERNEL);

	if (!tf)
		return -ENOMEM;
	mutex_init(&tf->lock);
	file->private_data = tf;
	return 0;
}

static int test_release(struct inode *inode, struct file *file)
{
	struct test_file *tf = file->private_data;
	int i, n = 0;

	for (i = 0; i < tf->n; i++) {
		if (!is_kept(to_test_probe(tf->us[i])))
			tf->us[n++] = tf->us[i];
	}
	if (n)
		unregister_uprobes(tf->us, n);
	for (i = 0; i < n; i++) {
		/* Should a handler have been able to register it */
		unregister_uprobe(&to_test_probe(tf->us[i])->nested);
		kfree(to_test_probe(tf->us[i]));
	}
	kvfree(tf);
	return 0;
}

static const struct file_operations test_fops = {
	.owner = THIS_MODULE,
	.open = test_open,
	.release = test_release,
	.unlocked_ioctl = test_ioctl,
};

static struct miscdevice test_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = KBUILD_MODNAME,
	.fops = &test_fops,
	.mode = 0600,
};

module_misc_device(test_device);

MODULE_DESCRIPTION("Calls the user-space probe API on request of the selftests");
MODULE_LICENSE("GPL");
