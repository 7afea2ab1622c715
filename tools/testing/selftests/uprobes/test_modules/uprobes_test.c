// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls the API of <linux/uprobes.h> on request of the selftests, through a
 * device that is named like the module.
 *
 * What a handler does is data: an object has a kind, and steps that say what
 * else to do, when, and with which other objects. See uprobes_test.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "uprobes_test.h"

/* UPT_SLOT sleeps at each so many hits. */
#define SLEEP_EVERY	1024

/* What the API knows; it can be freed before the rest is. */
struct api_object {
	struct uretprobe rp;	/* of an entry probe only the member u is used */
	struct test_probe *tp;
};

/* What a batch consists of. */
union api_pointer {
	struct uprobe *u;
	struct uretprobe *rp;
};

struct test_step {
	struct upt_step s;
	struct test_probe *target;
};

struct test_probe {
	struct test_file *tf;	/* NULL for kept objects, which outlive it */
	struct test_probe *next;	/* the one with the next id */
	struct upt_probe req;
	struct api_object *object;	/* NULL once freed; changed under @lock */
	int nsteps;
	struct test_step steps[UPT_MAX_STEPS];
	atomic_long_t hits;
	atomic_long_t entered;
	atomic_long_t skipped;
	atomic_long_t errors;
	spinlock_t lock;	/* protects last: hits are concurrent */
	struct upt_state last;
};

/* The objects of one open file. */
struct test_file {
	struct mutex lock;	/* makes requests take turns */
	bool closing;		/* no more steps */
	int n;
	struct test_probe *tps[UPT_MAX];
	union api_pointer all[UPT_MAX];	/* for its end: nothing may fail */
	spinlock_t events_lock;
	u32 nevents;
	struct upt_event events[UPT_MAX_EVENTS];
};

/*
 * Kept objects are never freed: they live as long as the module, and the
 * engine has to find out by itself that the module is gone.
 */
static struct test_probe kept[UPT_MAX_KEPT];
static struct api_object kept_objects[UPT_MAX_KEPT];
static atomic_t nkept = ATOMIC_INIT(0);

static atomic64_t order = ATOMIC64_INIT(0);

static struct test_probe *to_test_probe(struct uprobe *u)
{
	return container_of(u, struct api_object, rp.u)->tp;
}

static bool is_ret(struct test_probe *tp)
{
	return tp->req.type == UPT_URETPROBE;
}

static void complain(struct test_probe *tp)
{
	atomic_long_inc(&tp->errors);
}

/* All that depends on the architecture. */

static bool has_long_words(struct pt_regs *regs);

/* The nth word of the program from addr on. */
static int get_word(struct pt_regs *regs, unsigned long *word,
		    unsigned long addr, int n)
{
	u32 half;
	int ret;

	if (has_long_words(regs))
		return get_user(*word, (unsigned long __user *)addr + n);
	ret = get_user(half, (u32 __user *)addr + n);
	*word = half;
	return ret;
}

#if defined(CONFIG_X86)

static bool has_long_words(struct pt_regs *regs)
{
	return user_64bit_mode(regs);
}

/* Where it is in 32 bits, behind the return address. */
static u32 __user *arg_slot(struct pt_regs *regs)
{
	return (u32 __user *)regs->sp + 1;
}

static unsigned long first_arg(struct pt_regs *regs)
{
	u32 arg;

	if (user_64bit_mode(regs))
		return regs->di;
	return get_user(arg, arg_slot(regs)) ? 0 : arg;
}

static void set_first_arg(struct pt_regs *regs, unsigned long val)
{
	if (user_64bit_mode(regs))
		regs->di = val;
	else if (put_user((u32)val, arg_slot(regs)))
		pr_warn("an argument cannot be set\n");
}

/* One that a function has to give back as it was. */
static void set_saved(struct pt_regs *regs, unsigned long val)
{
	regs->bx = val;
}

static void add_sp(struct pt_regs *regs, unsigned long val)
{
	regs->sp += val;
}

static unsigned long cpu_flags(struct pt_regs *regs)
{
	return regs->flags;
}

/* The return address of the function that has just been called. */
static int first_frame(struct pt_regs *regs, unsigned long *addr)
{
	return get_word(regs, addr, regs->sp, 0);
}

static unsigned long own_frame(struct pt_regs *regs)
{
	return frame_pointer(regs);
}

/* The return address of the function whose frame is at fp, and the next fp. */
static int next_frame(struct pt_regs *regs, unsigned long *fp,
		      unsigned long *addr)
{
	return get_word(regs, addr, *fp, 1) ?: get_word(regs, fp, *fp, 0);
}

static unsigned long return_value(struct pt_regs *regs)
{
	return regs_return_value(regs);
}

#elif defined(CONFIG_PPC64)

static bool has_long_words(struct pt_regs *regs)
{
	return regs->msr & MSR_64BIT;
}

static unsigned long first_arg(struct pt_regs *regs)
{
	return has_long_words(regs) ? regs->gpr[3] : (u32)regs->gpr[3];
}

static void set_first_arg(struct pt_regs *regs, unsigned long val)
{
	regs->gpr[3] = val;
}

static void set_saved(struct pt_regs *regs, unsigned long val)
{
	regs->gpr[31] = val;
}

static void add_sp(struct pt_regs *regs, unsigned long val)
{
	regs->gpr[1] += val;
}

static unsigned long cpu_flags(struct pt_regs *regs)
{
	return regs->msr;
}

static int first_frame(struct pt_regs *regs, unsigned long *addr)
{
	*addr = regs->link;
	return 0;
}

static unsigned long own_frame(struct pt_regs *regs)
{
	return user_stack_pointer(regs);
}

/* A function saves it in the frame of its caller. */
static int next_frame(struct pt_regs *regs, unsigned long *fp,
		      unsigned long *addr)
{
	if (get_word(regs, fp, *fp, 0) || !*fp)
		return -EFAULT;
	return get_word(regs, addr, *fp, has_long_words(regs) ? 2 : 1);
}

/* regs_return_value() minds the error flag of system calls. */
static unsigned long return_value(struct pt_regs *regs)
{
	return first_arg(regs);
}

#elif defined(CONFIG_ARM64)

static bool has_long_words(struct pt_regs *regs)
{
	return true;
}

static unsigned long first_arg(struct pt_regs *regs)
{
	return regs->regs[0];
}

static void set_first_arg(struct pt_regs *regs, unsigned long val)
{
	regs->regs[0] = val;
}

static void set_saved(struct pt_regs *regs, unsigned long val)
{
	regs->regs[19] = val;
}

static void add_sp(struct pt_regs *regs, unsigned long val)
{
	regs->sp += val;
}

static unsigned long cpu_flags(struct pt_regs *regs)
{
	return regs->pstate;
}

static int first_frame(struct pt_regs *regs, unsigned long *addr)
{
	*addr = regs->regs[30];
	return 0;
}

static unsigned long own_frame(struct pt_regs *regs)
{
	return regs->regs[29];
}

static int next_frame(struct pt_regs *regs, unsigned long *fp,
		      unsigned long *addr)
{
	return get_word(regs, addr, *fp, 1) ?: get_word(regs, fp, *fp, 0);
}

static unsigned long return_value(struct pt_regs *regs)
{
	return regs->regs[0];
}

#else
#error "which register is the first argument?"
#endif

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
	complain(tp);
}

static void hit_record(struct test_probe *tp, struct pt_regs *regs,
		       struct uretprobe_instance *ri)
{
	unsigned long arg = first_arg(regs);

	spin_lock(&tp->lock);
	tp->last.order = atomic64_inc_return(&order);
	tp->last.ip = instruction_pointer(regs);
	tp->last.sp = user_stack_pointer(regs);
	tp->last.rflags = cpu_flags(regs);
	tp->last.arg = arg;
	tp->last.value = return_value(regs);
	tp->last.ret_addr = ri ? ri->ret_addr : 0;
	tp->last.ret_sp = ri ? ri->sp : 0;
	tp->last.tid = current->pid;
	tp->last.tgid = current->tgid;
	spin_unlock(&tp->lock);
}

static void hit_walk(struct test_probe *tp, struct pt_regs *regs, bool at_entry)
{
	unsigned long raw[UPT_MAX_FRAMES], real[UPT_MAX_FRAMES];
	unsigned long fp = own_frame(regs);
	struct return_instance *cursor = NULL;
	int i, n = 0;

	if (at_entry && !first_frame(regs, &raw[n]))
		n++;
	while (n < UPT_MAX_FRAMES && fp && !next_frame(regs, &fp, &raw[n]))
		n++;
	for (i = 0; i < n; i++)
		real[i] = uprobe_real_addr(raw[i], &cursor);

	spin_lock(&tp->lock);
	tp->last.nframes = n;
	for (i = 0; i < n; i++) {
		tp->last.raw_frames[i] = raw[i];
		tp->last.frames[i] = real[i];
	}
	spin_unlock(&tp->lock);
}

struct counting_kprobe {
	struct kprobe kp;
	atomic_t hits;
};

static int kprobe_hit(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_inc(&container_of(kp, struct counting_kprobe, kp)->hits);
	return 0;
}

static noinline void kprobed(void)
{
	barrier();
}

static void hit_kprobe(struct test_probe *tp)
{
	struct counting_kprobe *ckp = kzalloc(sizeof(*ckp), GFP_KERNEL);

	if (!ckp) {
		complain(tp);
		return;
	}
	ckp->kp.addr = (kprobe_opcode_t *)kprobed;
	ckp->kp.pre_handler = kprobe_hit;
	if (register_kprobe(&ckp->kp)) {
		complain(tp);
	} else {
		kprobed();
		unregister_kprobe(&ckp->kp);
		if (!atomic_read(&ckp->hits))
			complain(tp);
	}
	kfree(ckp);
}

/* The API, for n objects of one type from tp on. */

static int call_one(enum upt_kind kind, struct test_probe *tp)
{
	struct api_object *object = READ_ONCE(tp->object);
	bool ret = is_ret(tp);

	if (!object)
		return -ENOENT;

	switch (kind) {
	case UPT_DO_REGISTER:
		return ret ? register_uretprobe(&object->rp) :
			     register_uprobe(&object->rp.u);
	case UPT_DO_UNREGISTER:
		if (ret)
			unregister_uretprobe(&object->rp);
		else
			unregister_uprobe(&object->rp.u);
		return 0;
	case UPT_DO_ENABLE:
		return ret ? enable_uretprobe(&object->rp) :
			     enable_uprobe(&object->rp.u);
	case UPT_DO_DISABLE:
		return ret ? disable_uretprobe(&object->rp) :
			     disable_uprobe(&object->rp.u);
	default:
		return -EINVAL;
	}
}

/* The array is gone when a deferred call is carried out. */
static int call_batch(enum upt_kind kind, struct test_probe *tp, int n)
{
	bool ret = is_ret(tp);
	union api_pointer *all;
	int i, result = 0;

	all = kvmalloc_array(n, sizeof(*all), GFP_KERNEL);
	if (!all)
		return -ENOMEM;
	for (i = 0; i < n; i++, tp = tp->next) {
		struct api_object *object = READ_ONCE(tp->object);

		if (ret)
			all[i].rp = object ? &object->rp : NULL;
		else
			all[i].u = object ? &object->rp.u : NULL;
	}
	if (kind == UPT_DO_REGISTER_BATCH)
		result = ret ? register_uretprobes(&all->rp, n) :
			       register_uprobes(&all->u, n);
	else if (ret)
		unregister_uretprobes(&all->rp, n);
	else
		unregister_uprobes(&all->u, n);
	memset(all, 0, n * sizeof(*all));
	kvfree(all);
	return result;
}

static void unregister_null(void)
{
	struct uretprobe *no_rp = NULL;
	struct uprobe *no_u = NULL;

	unregister_uprobe(NULL);
	unregister_uretprobe(NULL);
	unregister_uprobes(&no_u, 1);
	unregister_uretprobes(&no_rp, 1);
}

static void free_object(struct test_probe *tp)
{
	struct api_object *object;

	spin_lock(&tp->lock);
	object = tp->object;
	if (object)
		tp->last.nmissed = object->rp.u.nmissed;
	tp->object = NULL;
	spin_unlock(&tp->lock);
	kfree(object);
}

static void log_event(struct test_probe *tp, enum upt_event_type type, int id,
		      u64 value, int result)
{
	struct test_file *tf = tp->tf;
	struct upt_event *e;

	if (!tp->req.log)
		return;

	spin_lock(&tf->events_lock);
	if (tf->nevents < UPT_MAX_EVENTS) {
		e = &tf->events[tf->nevents];
		e->type = type;
		e->id = id;
		e->tid = current->pid;
		e->value = value;
		e->result = result;
	}
	tf->nevents++;
	spin_unlock(&tf->events_lock);
}

static void log_call(struct test_probe *tp, const struct test_step *step,
		     int id, int result)
{
	spin_lock(&tp->lock);
	tp->last.calls++;
	tp->last.deferred += result == -EINPROGRESS;
	tp->last.last_call = result;
	spin_unlock(&tp->lock);
	log_event(tp, UPT_EV_CALL, id, step->s.kind, result);
}

/* Makes the call or calls of a step. */
static void call_api(struct test_probe *tp, const struct test_step *step)
{
	struct test_probe *target = step->target;
	enum upt_kind kind = step->s.kind;
	int i, ret;

	switch (kind) {
	case UPT_DO_UNREGISTER_NULL:
		unregister_null();
		break;
	case UPT_DO_REGISTER_BATCH:
	case UPT_DO_UNREGISTER_BATCH:
		ret = call_batch(kind, target, step->s.n);
		log_call(tp, step, step->s.target, ret);
		break;
	case UPT_DO_INIT:
		ret = init_uretprobes(target->req.pid, step->s.arg);
		log_call(tp, step, step->s.target, ret);
		break;
	case UPT_DO_FREE:
		for (i = 0; i < step->s.n; i++, target = target->next)
			free_object(target);
		break;
	default:
		for (i = 0; i < step->s.n; i++, target = target->next) {
			ret = call_one(kind, target);
			log_call(tp, step, step->s.target + i, ret);
		}
	}
}

/* What needs no other object. Returns true for UPT_SKIP. */
static bool act(struct test_probe *tp, enum upt_kind kind, u64 arg,
		struct pt_regs *regs, struct uretprobe_instance *ri, long nth)
{
	switch (kind) {
	case UPT_SLOT:
		hit_slot(tp, regs, nth);
		break;
	case UPT_SLEEP:
		usleep_range(arg, arg + arg / 8);
		break;
	case UPT_SET_ARG:
		set_first_arg(regs, arg);
		break;
	case UPT_SET_SAVED:
		set_saved(regs, arg);
		break;
	case UPT_SET_RET:
		regs_set_return_value(regs, arg);
		break;
	case UPT_SET_IP:
		instruction_pointer_set(regs, arg);
		break;
	case UPT_ADD_SP:
		add_sp(regs, arg);
		break;
	case UPT_RECORD:
		hit_record(tp, regs, ri);
		break;
	case UPT_SKIP:
		return true;
	case UPT_SIGNAL:
		send_sig(arg, current, 1);
		break;
	case UPT_WALK:
		hit_walk(tp, regs, arg);
		break;
	case UPT_KPROBE:
		hit_kprobe(tp);
		break;
	default:
		break;
	}
	return false;
}

static bool is_call(enum upt_kind kind)
{
	return kind >= UPT_DO_REGISTER;
}

static bool is_due(const struct upt_step *s, enum upt_when when, long nth,
		   struct pt_regs *regs)
{
	if (s->when != when)
		return false;
	if (s->nth && s->nth != nth)
		return false;
	return !s->every || first_arg(regs) % s->every == 0;
}

static bool take_steps(struct test_probe *tp, enum upt_when when, long nth,
		       struct pt_regs *regs, struct uretprobe_instance *ri)
{
	bool skip = false;
	int i;

	for (i = 0; i < tp->nsteps; i++) {
		const struct test_step *step = &tp->steps[i];

		if (!is_due(&step->s, when, nth, regs))
			continue;
		if (tp->tf && READ_ONCE(tp->tf->closing))
			break;
		if (is_call(step->s.kind))
			call_api(tp, step);
		else
			skip |= act(tp, step->s.kind, step->s.arg, regs, ri,
				    nth);
	}
	return skip;
}

/* The handlers and the callback that the API knows. */

static void hit(struct uprobe *u, struct pt_regs *regs)
{
	struct test_probe *tp = to_test_probe(u);
	long nth = atomic_long_inc_return(&tp->hits);

	if (instruction_pointer(regs) != u->vaddr)
		complain(tp);
	log_event(tp, UPT_EV_ENTRY, tp->req.id, first_arg(regs), 0);
	act(tp, tp->req.kind, tp->req.arg, regs, NULL, nth);
	take_steps(tp, UPT_AT_ENTRY, nth, regs, NULL);
}

/* The same for all of an instance's data, and other for other frames. */
static u8 filling(struct uretprobe_instance *ri)
{
	return ri->sp / sizeof(long) + 1;
}

static int ret_entry(struct uretprobe_instance *ri, struct pt_regs *regs)
{
	struct test_probe *tp = to_test_probe(&ri->rp->u);
	long nth = atomic_long_inc_return(&tp->entered);
	bool skip;

	if (instruction_pointer(regs) != ri->rp->u.vaddr || !ri->ret_addr ||
	    ri->sp != user_stack_pointer(regs))
		complain(tp);
	memset(ri->data, filling(ri), ri->rp->data_size);
	log_event(tp, UPT_EV_ENTRY, tp->req.id, first_arg(regs), 0);
	skip = act(tp, tp->req.entry_kind, tp->req.entry_arg, regs, ri, nth);
	skip |= take_steps(tp, UPT_AT_ENTRY, nth, regs, ri);
	if (skip)
		atomic_long_inc(&tp->skipped);
	return skip;
}

static void ret_hit(struct uretprobe_instance *ri, struct pt_regs *regs)
{
	struct test_probe *tp = to_test_probe(&ri->rp->u);
	long nth = atomic_long_inc_return(&tp->hits);

	if (instruction_pointer(regs) != ri->ret_addr)
		complain(tp);
	if (ri->rp->entry_handler &&
	    memchr_inv(ri->data, filling(ri), ri->rp->data_size))
		complain(tp);
	log_event(tp, UPT_EV_RETURN, tp->req.id, return_value(regs), 0);
	act(tp, tp->req.kind, tp->req.arg, regs, ri, nth);
	take_steps(tp, UPT_AT_RETURN, nth, regs, ri);
}

static void registered(struct uprobe *u, int reg, enum uprobe_type type,
		       int result)
{
	struct test_probe *tp = to_test_probe(u);
	bool ret = type == UPTY_URETPROBE;
	long nth;

	if (ret != is_ret(tp))
		complain(tp);
	spin_lock(&tp->lock);
	nth = ++tp->last.callbacks;
	tp->last.failed += !!result;
	tp->last.last_reg = reg;
	tp->last.last_result = result;
	spin_unlock(&tp->lock);
	log_event(tp, UPT_EV_CALLBACK, tp->req.id, reg, result);
	/* The last of them may free u */
	take_steps(tp, reg ? UPT_AT_REGISTERED : UPT_AT_UNREGISTERED, nth,
		   NULL, NULL);
}

/* Requests. */

static struct test_probe *alloc_probe(bool keep)
{
	struct test_probe *tp;
	int i;

	if (keep) {
		i = atomic_fetch_inc(&nkept);
		if (i >= UPT_MAX_KEPT)
			return NULL;
		kept[i].object = &kept_objects[i];
		return &kept[i];
	}

	tp = kzalloc(sizeof(*tp), GFP_KERNEL);
	if (!tp)
		return NULL;
	tp->object = kzalloc(sizeof(*tp->object), GFP_KERNEL);
	if (!tp->object) {
		kfree(tp);
		return NULL;
	}
	return tp;
}

static bool is_kept(struct test_probe *tp)
{
	return tp >= kept && tp < kept + UPT_MAX_KEPT;
}

static void fill_object(struct test_probe *tp)
{
	const struct upt_probe *req = &tp->req;
	struct uretprobe *rp = &tp->object->rp;

	tp->object->tp = tp;
	rp->u.pid = req->pid;
	rp->u.vaddr = req->vaddr;
	rp->u.flags = req->flags;
	rp->u.registration_callback = registered;
	if (!is_ret(tp)) {
		rp->u.handler = hit;
		return;
	}
	rp->handler = ret_hit;
	rp->entry_handler = req->entry ? ret_entry : NULL;
	rp->data_size = req->data_size;
	rp->maxactive = req->maxactive;
}

/* Returns the new object's id. It is in the table, but not registered. */
static int add_probe(struct test_file *tf, const struct upt_probe *req)
{
	struct test_probe *tp;

	if (is_call(req->kind) || is_call(req->entry_kind) ||
	    req->type > UPT_URETPROBE || (req->keep && req->log))
		return -EINVAL;
	if (tf->n == UPT_MAX)
		return -ENOSPC;
	tp = alloc_probe(req->keep);
	if (!tp)
		return -ENOMEM;

	tp->tf = req->keep ? NULL : tf;
	tp->req = *req;
	tp->req.id = tf->n;
	spin_lock_init(&tp->lock);
	fill_object(tp);
	if (tf->n)
		tf->tps[tf->n - 1]->next = tp;
	tf->tps[tf->n] = tp;
	return tf->n++;
}

static struct test_probe *get_probe(struct test_file *tf, int id)
{
	return id >= 0 && id < tf->n ? tf->tps[id] : NULL;
}

static int do_add(struct test_file *tf, struct upt_probe *req)
{
	int id = add_probe(tf, req);

	if (id < 0)
		return id;
	req->id = id;
	req->result = 0;
	return 0;
}

static int do_register(struct test_file *tf, struct upt_probe *req)
{
	int ret = do_add(tf, req);

	if (!ret)
		req->result = call_one(UPT_DO_REGISTER, tf->tps[req->id]);
	return ret;
}

static int do_move(struct test_file *tf, const struct upt_probe *req)
{
	struct test_probe *tp = get_probe(tf, req->id);

	if (!tp || !tp->object)
		return -EINVAL;
	tp->req.pid = req->pid;
	tp->req.vaddr = req->vaddr;
	tp->object->rp.u.pid = req->pid;
	tp->object->rp.u.vaddr = req->vaddr;
	return 0;
}

static int check_step(struct test_file *tf, const struct upt_step *s)
{
	bool callback = s->when >= UPT_AT_REGISTERED;
	int i;

	if (s->when > UPT_AT_UNREGISTERED || s->kind >= UPT_KINDS)
		return -EINVAL;
	if (!is_call(s->kind)) {
		if (callback && s->kind != UPT_SLEEP && s->kind != UPT_SIGNAL)
			return -EINVAL;
		return 0;
	}
	if (s->every && s->when != UPT_AT_ENTRY)
		return -EINVAL;
	if (s->target < 0 || s->n <= 0 || s->n > tf->n - s->target)
		return -EINVAL;
	for (i = s->target; i < s->target + s->n; i++) {
		if (is_kept(tf->tps[s->id]) && !is_kept(tf->tps[i]))
			return -EINVAL;
		if (is_kept(tf->tps[i]) && s->kind == UPT_DO_FREE)
			return -EINVAL;
	}
	return 0;
}

static int do_step(struct test_file *tf, const struct upt_step *s)
{
	struct test_probe *tp = get_probe(tf, s->id);
	struct test_step *step;
	int ret;

	if (!tp)
		return -EINVAL;
	if (tp->nsteps == UPT_MAX_STEPS)
		return -ENOSPC;
	ret = check_step(tf, s);
	if (ret)
		return ret;

	step = &tp->steps[tp->nsteps++];
	step->s = *s;
	step->target = is_call(s->kind) ? tf->tps[s->target] : NULL;
	return 0;
}

/*
 * Without the lock of the file, so that operations on one object can meet.
 * Objects stay until it is closed.
 */
static int do_op(struct test_file *tf, unsigned int cmd, struct upt_op *req)
{
	struct test_probe *tp;

	mutex_lock(&tf->lock);
	tp = get_probe(tf, req->id);
	mutex_unlock(&tf->lock);
	if (!tp)
		return -EINVAL;

	switch (cmd) {
	case UPT_REGISTER_AGAIN:
		req->result = call_one(UPT_DO_REGISTER, tp);
		break;
	case UPT_UNREGISTER_KILLED:
		send_sig(SIGKILL, current, 1);
		fallthrough;
	case UPT_UNREGISTER:
		req->result = call_one(UPT_DO_UNREGISTER, tp);
		break;
	case UPT_ENABLE:
		req->result = call_one(UPT_DO_ENABLE, tp);
		break;
	case UPT_DISABLE:
		req->result = call_one(UPT_DO_DISABLE, tp);
		break;
	}
	return 0;
}

static int do_read(struct test_file *tf, struct upt_state *req)
{
	struct test_probe *tp = get_probe(tf, req->id);
	int id = req->id;

	if (!tp)
		return -EINVAL;

	spin_lock(&tp->lock);
	*req = tp->last;
	if (tp->object) {
		req->flags = tp->object->rp.u.flags;
		req->nmissed = tp->object->rp.u.nmissed;
	} else {
		req->freed = 1;
	}
	spin_unlock(&tp->lock);
	req->id = id;
	req->hits = atomic_long_read(&tp->hits);
	req->skipped = atomic_long_read(&tp->skipped);
	req->entries = atomic_long_read(&tp->entered) - req->skipped;
	req->errors = atomic_long_read(&tp->errors);
	return 0;
}

static int do_events(struct test_file *tf, struct upt_events *req)
{
	u32 n;

	spin_lock(&tf->events_lock);
	req->n = tf->nevents;
	spin_unlock(&tf->events_lock);

	n = min_t(u32, req->n, UPT_MAX_EVENTS);
	return copy_to_user(u64_to_user_ptr(req->events), tf->events,
			    n * sizeof(*tf->events)) ? -EFAULT : 0;
}

static int do_register_batch(struct test_file *tf, struct upt_batch *req)
{
	u64 __user *vaddrs = u64_to_user_ptr(req->vaddrs);
	s32 __user *pids = u64_to_user_ptr(req->pids);
	struct upt_probe probe = {
		.pid = req->pid,
		.kind = req->kind,
		.type = req->type,
		.entry = 1,
	};
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
	req->result = call_batch(UPT_DO_REGISTER_BATCH, tf->tps[req->first],
				 req->n);
	return 0;
}

static int do_unregister_batch(struct test_file *tf, struct upt_batch *req)
{
	if (req->first < 0 || req->n <= 0 || req->n > tf->n - req->first)
		return -EINVAL;

	req->result = call_batch(UPT_DO_UNREGISTER_BATCH, tf->tps[req->first],
				 req->n);
	return 0;
}

static void no_hit(struct uprobe *u, struct pt_regs *regs)
{
}

static void no_ret_hit(struct uretprobe_instance *ri, struct pt_regs *regs)
{
}

static int misuse(struct upt_misuse *req)
{
	struct uprobe u = {
		.pid = req->pid,
		.vaddr = req->vaddr,
		.handler = no_hit,
	};
	struct uprobe *with_null[] = { &u, NULL };
	struct uprobe *twice[] = { &u, &u };
	int ret = 0;

	switch (req->call) {
	case UPT_CALL_REGISTER_NULL:
		return register_uprobe(NULL);
	case UPT_CALL_REGISTER_NO_HANDLER:
		u.handler = NULL;
		ret = register_uprobe(&u);
		break;
	case UPT_CALL_UNREGISTER_NULL:
		unregister_uprobe(NULL);
		return 0;
	case UPT_CALL_UNREGISTER_FRESH:
		break;
	case UPT_CALL_BATCH_NULL:
		return register_uprobes(NULL, 1);
	case UPT_CALL_BATCH_EMPTY:
		ret = register_uprobes(twice, 0);
		break;
	case UPT_CALL_BATCH_NEGATIVE:
		ret = register_uprobes(twice, -1);
		break;
	case UPT_CALL_BATCH_NULL_MEMBER:
		ret = register_uprobes(with_null, 2);
		break;
	case UPT_CALL_BATCH_TWICE:
		ret = register_uprobes(twice, 2);
		break;
	case UPT_CALL_UNREGISTER_BATCH_EMPTY:
		unregister_uprobes(NULL, 1);
		unregister_uprobes(twice, 0);
		unregister_uprobes(twice, -1);
		unregister_uprobes(with_null, 2);
		return 0;
	case UPT_CALL_ENABLE_NULL:
		return enable_uprobe(NULL);
	case UPT_CALL_ENABLE_FRESH:
		return enable_uprobe(&u);
	case UPT_CALL_DISABLE_NULL:
		return disable_uprobe(NULL);
	case UPT_CALL_DISABLE_FRESH:
		return disable_uprobe(&u);
	default:
		return -ENOTTY;
	}
	/* Should a call that must fail have worked: u is on the stack. */
	unregister_uprobe(&u);
	return ret;
}

static int misuse_ret(struct upt_misuse *req)
{
	struct uretprobe rp = {
		.u.pid = req->pid,
		.u.vaddr = req->vaddr,
		.handler = no_ret_hit,
	};
	struct uretprobe *with_null[] = { &rp, NULL };
	struct uretprobe *twice[] = { &rp, &rp };
	int ret = 0;

	switch (req->call) {
	case UPT_CALL_RET_REGISTER_NULL:
		return register_uretprobe(NULL);
	case UPT_CALL_RET_REGISTER_NO_HANDLER:
		rp.handler = NULL;
		ret = register_uretprobe(&rp);
		break;
	case UPT_CALL_RET_UNREGISTER_NULL:
		unregister_uretprobe(NULL);
		return 0;
	case UPT_CALL_RET_UNREGISTER_FRESH:
		break;
	case UPT_CALL_RET_BATCH_NULL:
		return register_uretprobes(NULL, 1);
	case UPT_CALL_RET_BATCH_EMPTY:
		ret = register_uretprobes(twice, 0);
		break;
	case UPT_CALL_RET_BATCH_NEGATIVE:
		ret = register_uretprobes(twice, -1);
		break;
	case UPT_CALL_RET_BATCH_NULL_MEMBER:
		ret = register_uretprobes(with_null, 2);
		break;
	case UPT_CALL_RET_BATCH_TWICE:
		ret = register_uretprobes(twice, 2);
		break;
	case UPT_CALL_RET_UNREGISTER_BATCH_EMPTY:
		unregister_uretprobes(NULL, 1);
		unregister_uretprobes(twice, 0);
		unregister_uretprobes(twice, -1);
		unregister_uretprobes(with_null, 2);
		return 0;
	case UPT_CALL_RET_ENABLE_NULL:
		return enable_uretprobe(NULL);
	case UPT_CALL_RET_ENABLE_FRESH:
		return enable_uretprobe(&rp);
	case UPT_CALL_RET_DISABLE_NULL:
		return disable_uretprobe(NULL);
	case UPT_CALL_RET_DISABLE_FRESH:
		return disable_uretprobe(&rp);
	default:
		return -ENOTTY;
	}
	unregister_uretprobe(&rp);
	return ret;
}

static int do_misuse(struct upt_misuse *req)
{
	if (req->call < UPT_CALL_RET_REGISTER_NULL)
		req->result = misuse(req);
	else if (req->call < UPT_CALL_INIT)
		req->result = misuse_ret(req);
	else
		req->result = init_uretprobes(req->pid, req->vaddr);
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
	case UPT_ADD:
		return do_add(tf, req);
	case UPT_STEP:
		return do_step(tf, req);
	case UPT_MOVE:
		return do_move(tf, req);
	case UPT_READ:
		return do_read(tf, req);
	case UPT_EVENTS:
		return do_events(tf, req);
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
		struct upt_step step;
		struct upt_op op;
		struct upt_state state;
		struct upt_batch batch;
		struct upt_misuse misuse;
		struct upt_events events;
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
	spin_lock_init(&tf->events_lock);
	file->private_data = tf;
	return 0;
}

/* Unregisters all objects of one type that are to be freed. */
static void unregister_type(struct test_file *tf, enum upt_type type)
{
	struct test_probe *tp;
	int i, n = 0;

	for (i = 0; i < tf->n; i++) {
		tp = tf->tps[i];
		if (is_kept(tp) || tp->req.type != type || !tp->object)
			continue;
		if (type == UPT_URETPROBE)
			tf->all[n++].rp = &tp->object->rp;
		else
			tf->all[n++].u = &tp->object->rp.u;
	}
	if (!n)
		return;
	if (type == UPT_URETPROBE)
		unregister_uretprobes(&tf->all->rp, n);
	else
		unregister_uprobes(&tf->all->u, n);
}

static int test_release(struct inode *inode, struct file *file)
{
	struct test_file *tf = file->private_data;
	struct test_probe *tp;
	int i;

	WRITE_ONCE(tf->closing, true);
	/* Twice: a step that was already begun may have registered some again */
	for (i = 0; i < 2; i++) {
		unregister_type(tf, UPT_UPROBE);
		unregister_type(tf, UPT_URETPROBE);
	}
	for (i = 0; i < tf->n; i++) {
		tp = tf->tps[i];
		if (is_kept(tp))
			continue;
		kfree(tp->object);
		kfree(tp);
	}
	kvfree(tf);
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

MODULE_DESCRIPTION("Calls the user-space probe API on request of the selftests");
MODULE_LICENSE("GPL");
