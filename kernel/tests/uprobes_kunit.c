// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the engine behind user-space probes.
 *
 * Nothing here executes a program. A test thread is a kernel thread, in which
 * nothing can be registered; so where it hits a probe, what a registration would
 * have made stands for it, in an address space that the test thread borrows. All
 * that takes a program is in tools/testing/selftests/uprobes, how instructions
 * are executed is tested there in host/.
 *
 * The tests are the same for all architectures: no instruction is executed,
 * since a handler that moves the instruction pointer has that effect.
 */

#include <kunit/test.h>
#include <kunit/test-bug.h>
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/security.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "../uprobes.h"

/* What text is filled with; no instruction has to be behind it. */
#define FILL	0x5a

#define EXEC		(PROT_READ | PROT_EXEC)
#define WRITE_EXEC	(PROT_READ | PROT_WRITE | PROT_EXEC)

static void never_runs(struct uprobe *u, struct pt_regs *regs)
{
}

static void never_returns(struct uretprobe_instance *instance,
			  struct pt_regs *regs)
{
}

static uprobe_opcode_t fill_opcode(void)
{
	uprobe_opcode_t opcode;

	memset(&opcode, FILL, sizeof(opcode));
	return opcode;
}

static void *zalloc(struct kunit *test, size_t size)
{
	void *p = kunit_kzalloc(test, size, GFP_KERNEL);

	if (!p)
		kunit_skip(test, "no memory");
	return p;
}

/*
 * Text, in the address space that the test thread gets with its first mapping
 * and that ends with the thread.
 */

static unsigned long map(struct kunit *test, struct file *file,
			 unsigned long pages, int prot, int flags)
{
	unsigned long vaddr;

	vaddr = kunit_vm_mmap(test, file, 0, pages * PAGE_SIZE, prot,
			      file ? flags : flags | MAP_ANONYMOUS, 0);
	KUNIT_ASSERT_NE(test, vaddr, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(vaddr));
	return vaddr;
}

/* Two pages of FILL that the program could write, and a hole behind. */
static unsigned long map_text(struct kunit *test)
{
	unsigned long vaddr = map(test, NULL, 3, WRITE_EXEC, MAP_PRIVATE);
	u8 *fill = zalloc(test, 2 * PAGE_SIZE);

	memset(fill, FILL, 2 * PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)vaddr, fill,
					      2 * PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(vaddr + 2 * PAGE_SIZE, PAGE_SIZE));
	return vaddr;
}

static void put_file(void *file)
{
	fput(file);
}

/* A file with one page of FILL. */
static struct file *make_file(struct kunit *test)
{
	struct file *file = shmem_kernel_file_setup("text", PAGE_SIZE, 0);
	struct page *page;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, put_file, file));
	page = shmem_read_mapping_page(file->f_mapping, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(page));
	memset_page(page, 0, FILL, PAGE_SIZE);
	set_page_dirty(page);
	put_page(page);
	return file;
}

/* The same file, which cannot be written through this. */
static struct file *reopen_read_only(struct kunit *test, struct file *file)
{
	file = dentry_open(&file->f_path, O_RDONLY, current_cred());
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, put_file, file));
	return file;
}

/* What the program, which is this thread, reads. */
static uprobe_opcode_t opcode_at(struct kunit *test, unsigned long vaddr)
{
	uprobe_opcode_t opcode;

	KUNIT_ASSERT_EQ(test, 0, copy_from_user(&opcode, (void __user *)vaddr,
						sizeof(opcode)));
	return opcode;
}

static int check(unsigned long vaddr)
{
	int ret;

	mmap_read_lock(current->mm);
	ret = uprobe_text_check(current->mm, vaddr);
	mmap_read_unlock(current->mm);
	return ret;
}

static bool is_mutable(unsigned long vaddr)
{
	bool mutable;

	mmap_read_lock(current->mm);
	mutable = uprobe_text_mutable(current->mm, vaddr);
	mmap_read_unlock(current->mm);
	return mutable;
}

static int read(unsigned long vaddr, u8 *buf, size_t len)
{
	int ret;

	mmap_read_lock(current->mm);
	ret = uprobe_text_read(current->mm, vaddr, buf, len);
	mmap_read_unlock(current->mm);
	return ret;
}

static int swap_opcode(unsigned long vaddr, uprobe_opcode_t old,
		       uprobe_opcode_t new)
{
	int ret;

	mmap_write_lock(current->mm);
	ret = uprobe_text_swap(current->mm, vaddr, old, new);
	mmap_write_unlock(current->mm);
	return ret;
}

static void share(unsigned long vaddr)
{
	mmap_write_lock(current->mm);
	uprobe_text_share(current->mm, vaddr);
	mmap_write_unlock(current->mm);
}

/* Is the page the process' own, not the file's? */
static bool is_private(struct kunit *test, unsigned long vaddr)
{
	struct vm_area_struct *vma;
	struct page *page;
	bool private;

	mmap_read_lock(current->mm);
	page = get_user_page_vma_remote(current->mm, vaddr, FOLL_FORCE, &vma);
	private = !IS_ERR(page) && PageAnon(page);
	mmap_read_unlock(current->mm);
	KUNIT_ASSERT_FALSE(test, IS_ERR(page));
	put_page(page);
	return private;
}

/*
 * What a registration makes.
 */

static const struct rhashtable_params table_params = {
	.head_offset = offsetof(struct probepoint, hash),
	.key_offset = offsetof(struct probepoint, vaddr),
	.key_len = sizeof_field(struct probepoint, vaddr),
	.automatic_shrinking = true,
};

/* Ends with the address space, in uprobe_clear_state(). */
static struct uprobes_mm *make_umm(struct kunit *test)
{
	struct uprobes_mm *umm = uprobe_make_umm(current->mm);

	if (!umm)
		kunit_skip(test, "no memory");
	return umm;
}

static bool point_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct probepoint, rb)->vaddr <
	       rb_entry(b, struct probepoint, rb)->vaddr;
}

static void init_point(struct probepoint *point, struct uprobes_mm *umm,
		       unsigned long vaddr)
{
	uprobe_opcode_t opcode = fill_opcode();

	refcount_set(&point->refs, 1);
	INIT_LIST_HEAD(&point->sites);
	point->umm = umm;
	point->vaddr = vaddr;
	memcpy(&point->arch.insn, &opcode, sizeof(opcode));
#ifdef CONFIG_X86
	/* Of what code it is part. */
	point->arch.how.word = sizeof(long);
#endif
}

static int link_point(struct probepoint *point)
{
	struct uprobes_mm *umm = point->umm;
	int ret;

	spin_lock(&umm->lock);
	ret = rhashtable_insert_fast(&umm->table, &point->hash, table_params);
	if (!ret)
		rb_add(&point->rb, &umm->index, point_less);
	spin_unlock(&umm->lock);
	return ret;
}

/*
 * The table outlives the test's memory: the worker that makes it smaller may
 * look at what is in it.
 */
static void unlink_point(void *context)
{
	struct probepoint *point = context;
	struct uprobes_mm *umm = point->umm;

	spin_lock(&umm->lock);
	if (!point->gone) {
		point->gone = true;
		rhashtable_remove_fast(&umm->table, &point->hash, table_params);
		rb_erase(&point->rb, &umm->index);
	}
	spin_unlock(&umm->lock);
	flush_work(&umm->table.run_work);
	uprobe_put_umm(umm);
}

/* An armed probepoint without a probe. */
static struct probepoint *arm(struct kunit *test, struct uprobes_mm *umm,
			      unsigned long vaddr)
{
	struct probepoint *point = zalloc(test, sizeof(*point));

	init_point(point, umm, vaddr);
	KUNIT_ASSERT_EQ(test, 0, link_point(point));
	refcount_inc(&umm->refs);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, unlink_point, point));
	KUNIT_ASSERT_EQ(test, 0, swap_opcode(vaddr, fill_opcode(),
					     UPROBE_SWBP_INSN));
	return point;
}

static void init_probe(struct probe *probe, struct uprobe *u,
		       enum uprobe_type type, struct probepoint *point)
{
	int i;

	refcount_set(&probe->refs, 1);
	INIT_LIST_HEAD(&probe->all);
	INIT_LIST_HEAD(&probe->sites);
	for (i = 0; i < ARRAY_SIZE(probe->ops); i++) {
		INIT_LIST_HEAD(&probe->ops[i].node);
		INIT_LIST_HEAD(&probe->ops[i].run);
		probe->ops[i].probe = probe;
		probe->ops[i].u = u;
	}
	probe->ops[UPROBE_OP_REGISTER].what = UPROBE_OP_REGISTER;
	probe->ops[UPROBE_OP_UNREGISTER].what = UPROBE_OP_UNREGISTER;
	probe->u = u;
	probe->type = type;
	probe->registered = true;
	probe->site.probe = probe;
	probe->site.umm = point->umm;
	probe->site.tgid = task_tgid(current);
	probe->site.point = point;
	list_add(&probe->site.link, &probe->sites);
	list_add_tail_rcu(&probe->site.node, &point->sites);
	u->probe = probe;
}

static void free_hits(void *context)
{
	struct probe *probe = context;

	free_percpu(probe->hits);
}

/* @u is registered at @point, for this process. */
static struct probe *add_probe(struct kunit *test, struct probepoint *point,
			       struct uprobe *u)
{
	struct probe *probe = zalloc(test, sizeof(*probe));

	probe->hits = alloc_percpu(unsigned long);
	if (!probe->hits)
		kunit_skip(test, "no memory");
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, free_hits, probe));
	init_probe(probe, u, UPTY_UPROBE, point);
	return probe;
}

static unsigned long hits_of(struct probe *probe)
{
	unsigned long hits = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		hits += *per_cpu_ptr(probe->hits, cpu);
	return hits;
}

static bool in_table(struct uprobes_mm *umm, unsigned long vaddr)
{
	return rhashtable_lookup_fast(&umm->table, &vaddr, table_params);
}

/*
 * Calls that need no program.
 */

static void bad_object_is_refused(struct kunit *test)
{
	struct uprobe no_handler = { .pid = 1 };
	struct uprobe unknown_flags = {
		.pid = 1,
		.handler = never_runs,
		.flags = BIT(31) | UPROBE_FLAG_INHERIT,
	};
	struct uprobe inherit = {
		.pid = -1,
		.handler = never_runs,
		.flags = UPROBE_FLAG_INHERIT,
	};

	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobe(NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobe(&no_handler));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobe(&unknown_flags));
	KUNIT_EXPECT_EQ(test, -ESRCH, register_uprobe(&inherit));
	KUNIT_EXPECT_PTR_EQ(test, NULL, inherit.probe);
}

static void bad_pid_is_refused(struct kunit *test)
{
	static const pid_t nobody[] = { 0, -1, INT_MIN, INT_MAX };
	struct uprobe u = { .handler = never_runs };
	int i;

	/* Twice: a failed object can be registered again. */
	for (i = 0; i < 2 * ARRAY_SIZE(nobody); i++) {
		u.pid = nobody[i / 2];
		KUNIT_EXPECT_EQ_MSG(test, -ESRCH, register_uprobe(&u),
				    "pid %d", u.pid);
		KUNIT_EXPECT_PTR_EQ(test, NULL, u.probe);
	}
}

/* With an address space or without. */
static void kernel_thread_is_refused(struct kunit *test)
{
	struct uprobe u = {
		.pid = task_pid_vnr(current),
		.handler = never_runs,
	};

	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobe(&u));
	u.vaddr = map_text(test);
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobe(&u));
	KUNIT_EXPECT_PTR_EQ(test, NULL, u.probe);
	KUNIT_EXPECT_PTR_EQ(test, NULL, current->mm->uprobes_state.xol_area);
}

static void busy_object_is_refused(struct kunit *test)
{
	struct probepoint *point = zalloc(test, sizeof(*point));
	struct probe *registered;
	struct uprobe u = {
		.handler = never_runs,
		.nmissed = 3,
	};
	struct uprobe *us[] = { &u };

	INIT_LIST_HEAD(&point->sites);
	registered = add_probe(test, point, &u);
	KUNIT_EXPECT_EQ(test, -EBUSY, register_uprobe(&u));
	KUNIT_EXPECT_EQ(test, -EBUSY, register_uprobes(us, 1));
	KUNIT_EXPECT_PTR_EQ(test, registered, u.probe);
	KUNIT_EXPECT_EQ(test, 3, u.nmissed);
}

static void pending_object_is_refused(struct kunit *test)
{
	struct probe *pending = zalloc(test, sizeof(*pending));
	struct uprobe u = { .handler = never_runs, .probe = pending };

	KUNIT_EXPECT_EQ(test, -EAGAIN, register_uprobe(&u));
	KUNIT_EXPECT_EQ(test, -EINVAL, enable_uprobe(&u));
	KUNIT_EXPECT_EQ(test, -EINVAL, disable_uprobe(&u));
	KUNIT_EXPECT_PTR_EQ(test, pending, u.probe);
}

static void unregistered_object_is_left_alone(struct kunit *test)
{
	struct uprobe never = { .handler = never_runs };
	struct uprobe failed = { .pid = -1, .handler = never_runs };
	struct uprobe *us[] = { &never, NULL, &failed, &never };

	KUNIT_EXPECT_EQ(test, -ESRCH, register_uprobe(&failed));

	KUNIT_EXPECT_EQ(test, -EINVAL, enable_uprobe(NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, disable_uprobe(NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, enable_uprobe(&never));
	KUNIT_EXPECT_EQ(test, -EINVAL, disable_uprobe(&never));
	KUNIT_EXPECT_EQ(test, -EINVAL, enable_uprobe(&failed));
	KUNIT_EXPECT_EQ(test, -EINVAL, disable_uprobe(&failed));
	KUNIT_EXPECT_EQ(test, 0, never.flags);
	KUNIT_EXPECT_EQ(test, 0, failed.flags);

	unregister_uprobe(NULL);
	unregister_uprobe(&never);
	unregister_uprobe(&failed);
	unregister_uprobes(us, ARRAY_SIZE(us));
	unregister_uprobes(us, -1);
	unregister_uprobes(NULL, 1);
	KUNIT_EXPECT_PTR_EQ(test, NULL, never.probe);
	KUNIT_EXPECT_PTR_EQ(test, NULL, failed.probe);
}

static void bad_batch_is_refused(struct kunit *test)
{
	struct uprobe u = { .pid = -1, .handler = never_runs };
	struct uprobe *good[] = { &u };
	struct uprobe *bad[] = { NULL, &u };

	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobes(NULL, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobes(good, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobes(good, -1));
	/* The first error counts, and what comes behind it is not tried. */
	KUNIT_EXPECT_EQ(test, -ESRCH, register_uprobes(good, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobes(bad, 2));
	KUNIT_EXPECT_PTR_EQ(test, NULL, u.probe);
	KUNIT_EXPECT_EQ(test, -ESRCH, register_uprobes(good, 1));
}

static void bad_return_probe_is_refused(struct kunit *test)
{
	struct uretprobe no_handler = {
		.u.pid = -1,
		/* Which is not used. */
		.u.handler = never_runs,
	};
	struct uretprobe unknown_flags = {
		.u.pid = -1,
		.u.flags = BIT(31),
		.handler = never_returns,
	};
	struct uretprobe rp = { .u.pid = -1, .handler = never_returns };
	struct uretprobe *rps[] = { &rp, NULL };

	KUNIT_EXPECT_EQ(test, -EINVAL, register_uretprobe(NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uretprobe(&no_handler));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uretprobe(&unknown_flags));
	rp.data_size = UPROBE_MAX_DATA + 1;
	KUNIT_EXPECT_EQ(test, -E2BIG, register_uretprobe(&rp));
	KUNIT_EXPECT_EQ(test, -E2BIG, register_uretprobes(rps, 1));
	rp.data_size = SIZE_MAX;
	KUNIT_EXPECT_EQ(test, -E2BIG, register_uretprobe(&rp));
	rp.data_size = UPROBE_MAX_DATA;
	KUNIT_EXPECT_EQ(test, -ESRCH, register_uretprobe(&rp));
	KUNIT_EXPECT_EQ(test, -ESRCH, register_uretprobes(rps, 2));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uretprobes(rps + 1, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uretprobes(rps, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uretprobes(NULL, 1));
	rp.u.pid = task_pid_vnr(current);
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uretprobe(&rp));

	KUNIT_EXPECT_EQ(test, -EINVAL, enable_uretprobe(&rp));
	KUNIT_EXPECT_EQ(test, -EINVAL, disable_uretprobe(&rp));
	KUNIT_EXPECT_EQ(test, -EINVAL, enable_uretprobe(NULL));
	unregister_uretprobe(NULL);
	unregister_uretprobe(&rp);
	unregister_uretprobes(rps, 2);
	unregister_uretprobes(NULL, 1);
	KUNIT_EXPECT_NULL(test, rp.u.probe);
}

static void bad_init_is_refused(struct kunit *test)
{
	pid_t self = task_pid_vnr(current);

	KUNIT_EXPECT_EQ(test, -ESRCH, init_uretprobes(0, 0));
	KUNIT_EXPECT_EQ(test, -ESRCH, init_uretprobes(-1, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, init_uretprobes(self, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, init_uretprobes(self, map_text(test)));
	KUNIT_EXPECT_EQ(test, UPROBE_NO_TRAMPOLINE_VADDR,
			uprobe_get_trampoline_vaddr());
}

/*
 * uprobes_text.c
 */

static void text_check_knows_mappings(struct kunit *test)
{
	struct file *file = make_file(test);
	unsigned long text = map_text(test);

	KUNIT_EXPECT_EQ(test, -EINVAL, check(0));
	KUNIT_EXPECT_EQ(test, -EINVAL, check(ULONG_MAX));
	KUNIT_EXPECT_EQ(test, 0, check(text));
	KUNIT_EXPECT_EQ(test, 0, check(text + 2 * PAGE_SIZE - 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, check(text + 2 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			check(map(test, NULL, 1, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE)));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			check(map(test, file, 1, PROT_READ, MAP_SHARED)));
	KUNIT_EXPECT_EQ(test, 0, check(map(test, file, 1, EXEC, MAP_PRIVATE)));
	KUNIT_EXPECT_EQ(test, 0,
			check(map(test, file, 1, WRITE_EXEC, MAP_PRIVATE)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			check(map(test, file, 1, EXEC, MAP_SHARED)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			check(map(test, NULL, 1, EXEC, MAP_SHARED)));
	/* The mm core takes this one for private in all but name. */
	file = reopen_read_only(test, file);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			check(map(test, file, 1, EXEC, MAP_SHARED)));
}

static void generated_text_is_mutable(struct kunit *test)
{
	struct file *file = make_file(test);

	KUNIT_EXPECT_TRUE(test,
			  is_mutable(map(test, NULL, 1, EXEC, MAP_PRIVATE)));
	KUNIT_EXPECT_TRUE(test, is_mutable(map(test, file, 1, WRITE_EXEC,
					       MAP_PRIVATE)));
	KUNIT_EXPECT_FALSE(test,
			   is_mutable(map(test, file, 1, EXEC, MAP_PRIVATE)));
}

static void text_read_ends_with_the_mapping(struct kunit *test)
{
	unsigned long text = map_text(test);
	unsigned long hole = text + 2 * PAGE_SIZE;
	u8 mark[4] = { 1, 2, 3, 4 };
	u8 buf[16];

	KUNIT_ASSERT_EQ(test, 0,
			copy_to_user((void __user *)(text + PAGE_SIZE - 2),
				     mark, sizeof(mark)));
	/* Across the pages' border, and no further than asked for. */
	memset(buf, 0, sizeof(buf));
	KUNIT_EXPECT_EQ(test, 6, read(text + PAGE_SIZE - 3, buf, 6));
	KUNIT_EXPECT_EQ(test, FILL, buf[0]);
	KUNIT_EXPECT_MEMEQ(test, buf + 1, mark, sizeof(mark));
	KUNIT_EXPECT_EQ(test, FILL, buf[5]);
	KUNIT_EXPECT_EQ(test, 0, buf[6]);

	memset(buf, 0, sizeof(buf));
	KUNIT_EXPECT_EQ(test, 5, read(hole - 5, buf, sizeof(buf)));
	KUNIT_EXPECT_EQ(test, FILL, buf[4]);
	KUNIT_EXPECT_EQ(test, 0, buf[5]);
	KUNIT_EXPECT_EQ(test, -EIO, read(hole, buf, 1));
}

static void text_swap_changes_one_opcode(struct kunit *test)
{
	size_t at = 8 * sizeof(uprobe_opcode_t);
	uprobe_opcode_t swbp = UPROBE_SWBP_INSN;
	unsigned long text = map_text(test);
	u8 *expected = zalloc(test, 2 * PAGE_SIZE);
	u8 *is = zalloc(test, 2 * PAGE_SIZE);

	memset(expected, FILL, 2 * PAGE_SIZE);
	memcpy(expected + at, &swbp, sizeof(swbp));
	KUNIT_EXPECT_EQ(test, 0, swap_opcode(text + at, fill_opcode(), swbp));
	KUNIT_ASSERT_EQ(test, 0, copy_from_user(is, (void __user *)text,
						2 * PAGE_SIZE));
	KUNIT_EXPECT_MEMEQ(test, is, expected, 2 * PAGE_SIZE);

	memset(expected, FILL, 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, 0, swap_opcode(text + at, swbp, fill_opcode()));
	KUNIT_ASSERT_EQ(test, 0, copy_from_user(is, (void __user *)text,
						2 * PAGE_SIZE));
	KUNIT_EXPECT_MEMEQ(test, is, expected, 2 * PAGE_SIZE);
}

static void text_swap_respects_what_is_there(struct kunit *test)
{
	unsigned long behind_end_of_file = PAGE_SIZE +
		map(test, make_file(test), 2, EXEC, MAP_PRIVATE);
	unsigned long text = map_text(test);

	KUNIT_EXPECT_EQ(test, -ESTALE, swap_opcode(text, UPROBE_SWBP_INSN, 0));
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text));
	KUNIT_EXPECT_EQ(test, -ENOENT, swap_opcode(text + 2 * PAGE_SIZE, 0, 0));
	KUNIT_EXPECT_EQ(test, -EIO, swap_opcode(behind_end_of_file, 0, 0));
}

static void text_swap_spares_the_file(struct kunit *test)
{
	struct file *file = make_file(test);
	unsigned long ours = map(test, file, 1, EXEC, MAP_PRIVATE);
	unsigned long files = map(test, file, 1, EXEC, MAP_SHARED);

	KUNIT_EXPECT_FALSE(test, is_private(test, ours));
	KUNIT_EXPECT_EQ(test, 0, swap_opcode(ours, fill_opcode(),
					     UPROBE_SWBP_INSN));
	KUNIT_EXPECT_TRUE(test, is_private(test, ours));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, ours));
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, files));
}

static void text_share_drops_what_is_like_the_file(struct kunit *test)
{
	unsigned long text = map(test, make_file(test), 1, EXEC, MAP_PRIVATE);
	unsigned long last = text + PAGE_SIZE - sizeof(uprobe_opcode_t);

	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text, fill_opcode(),
					     UPROBE_SWBP_INSN));
	KUNIT_ASSERT_EQ(test, 0, swap_opcode(last, fill_opcode(),
					     UPROBE_SWBP_INSN));

	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text, UPROBE_SWBP_INSN,
					     fill_opcode()));
	share(text);
	KUNIT_EXPECT_TRUE(test, is_private(test, text));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, last));

	KUNIT_ASSERT_EQ(test, 0, swap_opcode(last, UPROBE_SWBP_INSN,
					     fill_opcode()));
	share(last);
	KUNIT_EXPECT_FALSE(test, is_private(test, text));
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text));
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, last));
}

/* A program that may write there could do so while we compare. */
static void text_share_keeps_what_can_change(struct kunit *test)
{
	struct file *file = make_file(test);
	unsigned long text = map(test, file, 1, WRITE_EXEC, MAP_PRIVATE);
	unsigned long anon = map_text(test);

	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text, fill_opcode(),
					     UPROBE_SWBP_INSN));
	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text, UPROBE_SWBP_INSN,
					     fill_opcode()));
	share(text);
	KUNIT_EXPECT_TRUE(test, is_private(test, text));

	share(anon);
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, anon));
}

/*
 * uprobes_xol.c
 */

/* A slot with a copy whose bytes are all @copy. */
static int get_slot(struct probepoint *point, struct uprobes_mm *umm, u8 copy)
{
	int ret;

	memset(point, 0, sizeof(*point));
	init_point(point, umm, 0);
	memset(&point->arch.ixol, copy, sizeof(point->arch.ixol));
	mutex_lock(&umm->mutex);
	ret = uprobe_xol_get(point);
	mutex_unlock(&umm->mutex);
	return ret;
}

static bool is_area(struct uprobes_mm *umm, unsigned long vaddr)
{
	bool contains;

	mutex_lock(&umm->mutex);
	contains = uprobe_xol_contains(umm, vaddr);
	mutex_unlock(&umm->mutex);
	return contains;
}

/* The bounds of what is mapped at @vaddr. */
static void mapping_at(struct kunit *test, unsigned long vaddr,
		       unsigned long *start, unsigned long *end)
{
	struct vm_area_struct *vma;

	mmap_read_lock(current->mm);
	vma = vma_lookup(current->mm, vaddr);
	*start = vma ? vma->vm_start : 0;
	*end = vma ? vma->vm_end : 0;
	mmap_read_unlock(current->mm);
	KUNIT_ASSERT_NE(test, 0, *end);
}

static void copies_stand_in_the_process(struct kunit *test)
{
	struct probepoint *points = zalloc(test, 3 * sizeof(*points));
	unsigned long text = map_text(test), start, end;
	struct uprobes_mm *umm = make_umm(test);
	u8 is[sizeof(points->arch.ixol)];
	int i;

	KUNIT_EXPECT_FALSE(test, is_area(umm, text));
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, get_slot(&points[i], umm, i + 1));

	for (i = 0; i < 3; i++) {
		void __user *copy = (void __user *)points[i].xol_vaddr;

		KUNIT_ASSERT_EQ(test, 0, copy_from_user(is, copy, sizeof(is)));
		KUNIT_EXPECT_MEMEQ(test, is, &points[i].arch.ixol,
				   sizeof(is));
		KUNIT_EXPECT_EQ(test, sizeof(is),
				copy_to_user(copy, is, sizeof(is)));
	}

	mapping_at(test, points[0].xol_vaddr, &start, &end);
	KUNIT_EXPECT_EQ(test, 0, points[0].xol_vaddr % UPROBE_XOL_SLOT_BYTES);
	KUNIT_EXPECT_TRUE(test, is_area(umm, start));
	KUNIT_EXPECT_TRUE(test, is_area(umm, end - 1));
	KUNIT_EXPECT_FALSE(test, is_area(umm, start - 1));
	KUNIT_EXPECT_FALSE(test, is_area(umm, end));
	KUNIT_EXPECT_FALSE(test, is_area(umm, text));
}

static void slot_is_used_again(struct kunit *test)
{
	struct probepoint *a = zalloc(test, sizeof(*a));
	struct probepoint *b = zalloc(test, sizeof(*b));
	struct uprobes_mm *umm;
	unsigned long vaddr;
	u8 is;

	map_text(test);
	umm = make_umm(test);
	KUNIT_ASSERT_EQ(test, 0, get_slot(a, umm, 1));
	KUNIT_ASSERT_EQ(test, 0, get_slot(b, umm, 2));
	vaddr = a->xol_vaddr;
	KUNIT_EXPECT_NE(test, vaddr, b->xol_vaddr);

	uprobe_xol_put(a);
	KUNIT_ASSERT_EQ(test, 0, get_slot(a, umm, 3));
	KUNIT_EXPECT_EQ(test, vaddr, a->xol_vaddr);
	KUNIT_ASSERT_EQ(test, 0, get_user(is, (u8 __user *)vaddr));
	KUNIT_EXPECT_EQ(test, 3, is);
	KUNIT_ASSERT_EQ(test, 0, get_user(is, (u8 __user *)b->xol_vaddr));
	KUNIT_EXPECT_EQ(test, 2, is);
}

/* Fill one area: every slot is given out once, the next is in another area. */
static void area_grows(struct kunit *test)
{
	struct probepoint *point = zalloc(test, sizeof(*point));
	unsigned long start, end, nr, slots, *seen;
	struct uprobes_mm *umm;

	map_text(test);
	umm = make_umm(test);
	KUNIT_ASSERT_EQ(test, 0, get_slot(point, umm, 0));
	mapping_at(test, point->xol_vaddr, &start, &end);
	uprobe_xol_put(point);

	slots = (end - start) / UPROBE_XOL_SLOT_BYTES;
	seen = zalloc(test, BITS_TO_LONGS(slots) * sizeof(*seen));
	for (nr = 0; nr < slots; nr++) {
		unsigned long slot;

		KUNIT_ASSERT_EQ(test, 0, get_slot(point, umm, nr));
		KUNIT_ASSERT_GE(test, point->xol_vaddr, start);
		KUNIT_ASSERT_LT(test, point->xol_vaddr, end);
		slot = (point->xol_vaddr - start) / UPROBE_XOL_SLOT_BYTES;
		KUNIT_ASSERT_FALSE(test, __test_and_set_bit(slot, seen));
	}

	KUNIT_ASSERT_EQ(test, 0, get_slot(point, umm, 0));
	KUNIT_EXPECT_TRUE(test,
			  point->xol_vaddr < start || point->xol_vaddr >= end);
	KUNIT_EXPECT_TRUE(test, is_area(umm, point->xol_vaddr));
	KUNIT_EXPECT_TRUE(test, is_area(umm, start));
}

/* The program unmaps what it did not map. */
static void unmapped_area_is_not_used(struct kunit *test)
{
	struct probepoint *lost = zalloc(test, sizeof(*lost));
	struct probepoint *next = zalloc(test, sizeof(*next));
	struct uprobes_mm *umm;
	unsigned long start, end;
	u8 is;

	map_text(test);
	umm = make_umm(test);
	KUNIT_ASSERT_EQ(test, 0, get_slot(lost, umm, 1));
	KUNIT_EXPECT_FALSE(test, uprobe_xol_is_dead(lost));
	mapping_at(test, lost->xol_vaddr, &start, &end);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(start, end - start));
	KUNIT_EXPECT_TRUE(test, uprobe_xol_is_dead(lost));
	KUNIT_EXPECT_FALSE(test, is_area(umm, start));

	KUNIT_ASSERT_EQ(test, 0, get_slot(next, umm, 2));
	KUNIT_EXPECT_FALSE(test, uprobe_xol_is_dead(next));
	KUNIT_EXPECT_TRUE(test, is_area(umm, next->xol_vaddr));
	KUNIT_ASSERT_EQ(test, 0, get_user(is, (u8 __user *)next->xol_vaddr));
	KUNIT_EXPECT_EQ(test, 2, is);
	uprobe_xol_put(lost);
}

static void fill_room(struct kunit *test, unsigned long start,
		      unsigned long end)
{
	unsigned long vaddr;

	vaddr = vm_mmap(NULL, start, end - start, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
			0);
	KUNIT_ASSERT_EQ(test, start, vaddr);
}

static void area_needs_room(struct kunit *test)
{
	struct probepoint *point = zalloc(test, sizeof(*point));
	unsigned long text = map_text(test), hole;
	unsigned long room = 64 * PAGE_SIZE;
	struct mm_struct *mm = current->mm;
	struct uprobes_mm *umm = make_umm(test);

	fill_room(test, PAGE_ALIGN(max(mmap_min_addr, PAGE_SIZE)), text);
	fill_room(test, text, mm->task_size);
	KUNIT_EXPECT_EQ(test, -ENOSPC, get_slot(point, umm, 0));
	KUNIT_EXPECT_PTR_EQ(test, NULL, point->area);
	uprobe_xol_put(point);

	hole = text - room;
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(hole, room));
	KUNIT_EXPECT_EQ(test, 0, get_slot(point, umm, 0));
	KUNIT_EXPECT_GE(test, point->xol_vaddr, hole);
	KUNIT_EXPECT_LT(test, point->xol_vaddr, text);
}

/*
 * Hits.
 */

/**
 * struct hit_log - which handlers ran, in test->priv
 * @nr: how many
 * @u: for which probe
 * @ip: what instruction_pointer() was
 * @go_on: where the last handler sent the thread
 */
struct hit_log {
	int nr;
	struct uprobe *u[4];
	unsigned long ip[4];
	unsigned long go_on;
};

static struct hit_log *start_log(struct kunit *test, unsigned long go_on)
{
	struct hit_log *log = zalloc(test, sizeof(*log));

	log->go_on = go_on;
	test->priv = log;
	return log;
}

static void log_hit(struct uprobe *u, struct pt_regs *regs)
{
	struct hit_log *log = kunit_get_current_test()->priv;

	if (log->nr < ARRAY_SIZE(log->u)) {
		log->u[log->nr] = u;
		log->ip[log->nr] = instruction_pointer(regs);
	}
	log->nr++;
}

static void log_hit_and_go_on(struct uprobe *u, struct pt_regs *regs)
{
	struct hit_log *log = kunit_get_current_test()->priv;

	log_hit(u, regs);
	instruction_pointer_set(regs, log->go_on);
}

/* Of a program. */
static void init_regs(struct pt_regs *regs)
{
	memset(regs, 0, sizeof(*regs));
#ifdef CONFIG_X86
	regs->cs = __USER_CS;
	regs->ss = __USER_DS;
#elif defined(CONFIG_PPC)
	regs->msr = MSR_PR | MSR_64BIT;
#endif
}

/* Registers as the breakpoint at @vaddr leaves them. */
static void trap(struct pt_regs *regs, unsigned long vaddr)
{
	init_regs(regs);
	instruction_pointer_set(regs, vaddr);
	instruction_pointer_set(regs, 2 * vaddr - uprobe_get_swbp_addr(regs));
}

static void take_hit(struct kunit *test, struct pt_regs *regs)
{
	KUNIT_ASSERT_EQ(test, 1, uprobe_pre_sstep_notifier(regs));
	KUNIT_ASSERT_TRUE(test, test_thread_flag(TIF_UPROBE));
	uprobe_notify_resume(regs);
	KUNIT_EXPECT_FALSE(test, test_thread_flag(TIF_UPROBE));
}

static void hit(struct kunit *test, struct pt_regs *regs, unsigned long vaddr)
{
	trap(regs, vaddr);
	take_hit(test, regs);
}

static void handlers_run_in_order(struct kunit *test)
{
	struct uprobe a = { .handler = log_hit };
	struct uprobe b = { .handler = log_hit };
	struct uprobe c = { .handler = log_hit_and_go_on };
	unsigned long text = map_text(test);
	struct uprobes_mm *umm = make_umm(test);
	struct hit_log *log = start_log(test, text + 64);
	struct probepoint *point = arm(test, umm, text);
	struct probe *first = add_probe(test, point, &b);
	struct pt_regs regs;
	int i;

	add_probe(test, point, &a);
	add_probe(test, point, &c);
	arm(test, umm, text + 32);

	hit(test, &regs, text);
	KUNIT_EXPECT_EQ(test, 3, log->nr);
	KUNIT_EXPECT_PTR_EQ(test, &b, log->u[0]);
	KUNIT_EXPECT_PTR_EQ(test, &a, log->u[1]);
	KUNIT_EXPECT_PTR_EQ(test, &c, log->u[2]);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, text, log->ip[i]);
	KUNIT_EXPECT_EQ(test, text + 64, instruction_pointer(&regs));

	hit(test, &regs, text);
	KUNIT_EXPECT_EQ(test, 6, log->nr);
	KUNIT_EXPECT_EQ(test, 2, hits_of(first));
	KUNIT_EXPECT_EQ(test, 1, refcount_read(&point->refs));
}

static void handlers_of_others_do_not_run(struct kunit *test)
{
	struct uprobe others = { .handler = log_hit };
	struct uprobe disabled = { .handler = log_hit };
	struct uprobe ours = { .handler = log_hit_and_go_on };
	unsigned long text = map_text(test);
	struct hit_log *log = start_log(test, text + 64);
	struct probepoint *point = arm(test, make_umm(test), text);
	struct probe *probe = add_probe(test, point, &others);
	struct pt_regs regs;

	/* A process that shares the memory, as after vfork(). */
	probe->site.tgid = &init_struct_pid;
	probe = add_probe(test, point, &disabled);
	add_probe(test, point, &ours);

	KUNIT_EXPECT_EQ(test, 0, disable_uprobe(&disabled));
	KUNIT_EXPECT_EQ(test, UPROBE_FLAG_DISABLED, disabled.flags);
	hit(test, &regs, text);
	KUNIT_EXPECT_EQ(test, 1, log->nr);
	KUNIT_EXPECT_PTR_EQ(test, &ours, log->u[0]);
	KUNIT_EXPECT_EQ(test, 0, hits_of(probe));
	KUNIT_EXPECT_EQ(test, 0, disabled.nmissed);

	KUNIT_EXPECT_EQ(test, 0, enable_uprobe(&disabled));
	KUNIT_EXPECT_EQ(test, 0, disabled.flags);
	hit(test, &regs, text);
	KUNIT_EXPECT_EQ(test, 3, log->nr);
	KUNIT_EXPECT_PTR_EQ(test, &disabled, log->u[1]);
	KUNIT_EXPECT_EQ(test, 1, hits_of(probe));
}

static bool has_sigtrap(void)
{
	bool pending = sigismember(&current->pending.signal, SIGTRAP);

	flush_signals(current);
	return pending;
}

static void trap_of_others_is_theirs(struct kunit *test)
{
	unsigned long text = map_text(test);
	struct pt_regs regs, before;

	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text, fill_opcode(),
					     UPROBE_SWBP_INSN));
	trap(&regs, text);
	before = regs;
	KUNIT_EXPECT_EQ(test, 0, uprobe_pre_sstep_notifier(&regs));
	KUNIT_EXPECT_EQ(test, 0, uprobe_post_sstep_notifier(&regs));
	KUNIT_EXPECT_FALSE(test, test_thread_flag(TIF_UPROBE));

	/* Where something is probed, it is told later. */
	arm(test, make_umm(test), text + 32);
	hit(test, &regs, text);
	KUNIT_EXPECT_MEMEQ(test, &regs, &before, sizeof(regs));
	KUNIT_EXPECT_TRUE(test, has_sigtrap());
	KUNIT_EXPECT_EQ(test, 0, uprobe_post_sstep_notifier(&regs));
}

/* The probe is removed between the trap and our look. */
static void late_trap_goes_back(struct kunit *test)
{
	struct uprobe u = { .handler = log_hit };
	unsigned long text = map_text(test);
	struct vm_area_struct vma = { .vm_mm = current->mm };
	struct hit_log *log = start_log(test, 0);
	struct probepoint *point = arm(test, make_umm(test), text);
	struct pt_regs regs;

	add_probe(test, point, &u);
	trap(&regs, text);
	KUNIT_ASSERT_EQ(test, 1, uprobe_pre_sstep_notifier(&regs));
	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text, UPROBE_SWBP_INSN,
					     fill_opcode()));
	uprobe_zap(&vma, text, text + 1);
	uprobe_notify_resume(&regs);
	KUNIT_EXPECT_EQ(test, text, instruction_pointer(&regs));
	KUNIT_EXPECT_EQ(test, 0, log->nr);
	KUNIT_EXPECT_FALSE(test, has_sigtrap());
}

static void hit_without_copy_is_missed(struct kunit *test)
{
	struct uprobe u = { .handler = log_hit };
	struct uprobe disabled = { .handler = log_hit };
	unsigned long text = map_text(test), start, end;
	struct uprobes_mm *umm = make_umm(test);
	struct hit_log *log = start_log(test, 0);
	struct probepoint *point = arm(test, umm, text);
	struct pt_regs regs;
	int ret;

	add_probe(test, point, &u);
	add_probe(test, point, &disabled);
	KUNIT_EXPECT_EQ(test, 0, disable_uprobe(&disabled));
	mutex_lock(&umm->mutex);
	ret = uprobe_xol_get(point);
	mutex_unlock(&umm->mutex);
	KUNIT_ASSERT_EQ(test, 0, ret);
	mapping_at(test, point->xol_vaddr, &start, &end);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(start, end - start));

	hit(test, &regs, text);
	KUNIT_EXPECT_EQ(test, text, instruction_pointer(&regs));
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text));
	KUNIT_EXPECT_TRUE(test, point->gone);
	KUNIT_EXPECT_EQ(test, 0, log->nr);
	KUNIT_EXPECT_EQ(test, 1, u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, disabled.nmissed);
}

/*
 * The life of an address space.
 */

static void zap_takes_the_range(struct kunit *test)
{
	/* In no order; the range is from the second to before the fourth. */
	static const unsigned int at[] = { 192, 64, 128, 256, 0 };
	struct probepoint *points[ARRAY_SIZE(at)];
	unsigned long text = map_text(test);
	struct uprobes_mm *umm = make_umm(test);
	struct vm_area_struct vma = { .vm_mm = current->mm };
	int i;

	for (i = 0; i < ARRAY_SIZE(at); i++)
		points[i] = arm(test, umm, text + at[i]);

	uprobe_zap(&vma, text + 1, text + 64);
	for (i = 0; i < ARRAY_SIZE(at); i++)
		KUNIT_EXPECT_FALSE(test, points[i]->gone);

	uprobe_zap(&vma, text + 64, text + 192);
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		bool gone = at[i] >= 64 && at[i] < 192;

		KUNIT_EXPECT_EQ(test, gone, points[i]->gone);
		KUNIT_EXPECT_EQ(test, !gone, in_table(umm, text + at[i]));
	}

	uprobe_zap(&vma, 0, ULONG_MAX);
	for (i = 0; i < ARRAY_SIZE(at); i++)
		KUNIT_EXPECT_TRUE(test, points[i]->gone);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&umm->index));
}

static void mremap_leaves_no_breakpoint(struct kunit *test)
{
	unsigned long text = map_text(test);
	struct uprobes_mm *umm = make_umm(test);
	struct probepoint *below = arm(test, umm, text);
	struct probepoint *overwritten = arm(test, umm, text + PAGE_SIZE);
	struct probepoint *moved = arm(test, umm, text + PAGE_SIZE + 64);
	uprobe_opcode_t programs = 0;
	struct vm_area_struct *vma;
	int ret;

	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text + PAGE_SIZE, UPROBE_SWBP_INSN,
					     programs));

	mmap_write_lock(current->mm);
	vma = vma_lookup(current->mm, text);
	ret = uprobe_mremap(vma, text + PAGE_SIZE, text + 2 * PAGE_SIZE);
	mmap_write_unlock(current->mm);

	KUNIT_EXPECT_EQ(test, 0, ret);
	KUNIT_EXPECT_FALSE(test, below->gone);
	KUNIT_EXPECT_TRUE(test, overwritten->gone);
	KUNIT_EXPECT_TRUE(test, moved->gone);
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text));
	KUNIT_EXPECT_EQ(test, programs, opcode_at(test, text + PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, fill_opcode(),
			opcode_at(test, text + PAGE_SIZE + 64));
}

static void fork_begins(struct mm_struct *child)
{
	mmap_write_lock(current->mm);
	uprobe_start_dup_mmap();
	uprobe_dup_mmap(current->mm, child);
	mmap_write_unlock(current->mm);
}

/* Our own address space stands for the child's copy of it. */
static void fork_cleans_the_child(struct kunit *test)
{
	unsigned long text = map_text(test);
	struct uprobes_mm *umm = make_umm(test);
	struct probepoint *first = arm(test, umm, text);

	arm(test, umm, text + PAGE_SIZE);
	fork_begins(current->mm);
	uprobe_end_dup_mmap();
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text));
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text + PAGE_SIZE));
	/* It is the parent's, who keeps it. */
	KUNIT_EXPECT_FALSE(test, first->gone);
	KUNIT_EXPECT_TRUE(test, in_table(umm, text));
}

static void fork_that_fails_cleans_nothing(struct kunit *test)
{
	unsigned long text = map_text(test);
	struct mm_struct *mm = current->mm;
	int users = atomic_read(&mm->mm_users);

	arm(test, make_umm(test), text);
	fork_begins(mm);
	KUNIT_EXPECT_NOT_NULL(test, current->utask->dup);
	set_bit(MMF_UNSTABLE, &mm->flags);
	uprobe_end_dup_mmap();
	clear_bit(MMF_UNSTABLE, &mm->flags);
	KUNIT_EXPECT_NULL(test, current->utask->dup);
	KUNIT_EXPECT_FALSE(test, current->utask->unclean_child);
	KUNIT_EXPECT_EQ(test, users, atomic_read(&mm->mm_users));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text));
}

/* With MADV_DONTFORK, or where copying has ended early. */
static void fork_may_leave_text_behind(struct kunit *test)
{
	unsigned long text = map_text(test);
	struct mm_struct *child = mm_alloc();

	if (!child)
		kunit_skip(test, "no memory");
	arm(test, make_umm(test), text);
	fork_begins(child);
	mmput(child);
	uprobe_end_dup_mmap();
	KUNIT_EXPECT_FALSE(test, current->utask->unclean_child);
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text));
}

/* As arm() and add_probe() do, in memory that is the engine's to free. */
static struct probe *add_engines_probe(struct kunit *test,
				       struct uprobes_mm *umm,
				       unsigned long vaddr, struct uprobe *u)
{
	struct probepoint *point = kzalloc(sizeof(*point), GFP_KERNEL);
	struct probe *probe = kzalloc(sizeof(*probe), GFP_KERNEL);

	if (!point || !probe) {
		kfree(point);
		kfree(probe);
		kunit_skip(test, "no memory");
	}
	init_point(point, umm, vaddr);
	refcount_inc(&umm->refs);
	KUNIT_ASSERT_EQ(test, 0, link_point(point));
	list_add(&point->node, &umm->points);

	init_probe(probe, u, UPTY_UPROBE, point);
	refcount_inc(&umm->refs);
	get_pid(probe->site.tgid);
	return probe;
}

static void exit_takes_the_probes(struct kunit *test)
{
	struct uprobe u = { .handler = never_runs };
	unsigned long text = map_text(test);
	struct uprobes_mm *umm = make_umm(test);

	add_engines_probe(test, umm, text, &u);
	KUNIT_EXPECT_EQ(test, 0, disable_uprobe(&u));

	uprobe_clear_state(current->mm);
	KUNIT_EXPECT_PTR_EQ(test, NULL, u.probe);
	KUNIT_EXPECT_PTR_EQ(test, NULL, current->mm->uprobes_state.xol_area);
	KUNIT_EXPECT_EQ(test, -EINVAL, enable_uprobe(&u));
	unregister_uprobe(&u);
}

/*
 * What a debugger does.
 */

/* The page around @vaddr, as the mm core has it mapped. Returns where that is. */
static void *page_around(struct kunit *test, unsigned long vaddr)
{
	u8 *page = zalloc(test, PAGE_SIZE);

	KUNIT_ASSERT_EQ(test, 0,
			copy_from_user(page,
				       (void __user *)(vaddr & PAGE_MASK),
				       PAGE_SIZE));
	return page + offset_in_page(vaddr);
}

/* What the mm core would give a debugger of @len bytes at @vaddr. */
static void peek(struct kunit *test, unsigned long vaddr, void *buf, int len)
{
	KUNIT_ASSERT_EQ(test, 0,
			copy_from_user(buf, (void __user *)vaddr, len));
	uprobe_peek(current->mm, vaddr, page_around(test, vaddr), buf, len);
}

static void poke(struct kunit *test, unsigned long vaddr, const void *buf,
		 int len)
{
	void *bytes = zalloc(test, len);

	memcpy(bytes, buf, len);
	uprobe_poke(current->mm, vaddr, page_around(test, vaddr), bytes, len);
	KUNIT_ASSERT_EQ(test, 0,
			copy_to_user((void __user *)vaddr, bytes, len));
}

static void poke_opcode(struct kunit *test, unsigned long vaddr,
			uprobe_opcode_t opcode)
{
	poke(test, vaddr, &opcode, sizeof(opcode));
}

/*
 * Calls in progress. Stacks are memory of the test thread, which does what the
 * instructions of a call and of a return would do.
 */

/* A limit of what is logged. */
#define MAX_LOG	16

/**
 * struct calls - where return-probed functions are called, in test->priv
 * @umm: the address space
 * @text: functions begin here; see make_function()
 * @stack: the end of a stack
 * @other: the end of another one, with a hole below it
 * @leave: a probe of each function, that leaves it at once
 * @nr: how many return handlers ran
 * @rp: for which probe
 * @ip: what instruction_pointer() was
 */
struct calls {
	struct uprobes_mm *umm;
	unsigned long text;
	unsigned long stack;
	unsigned long other;
	struct uprobe leave;
	int nr;
	struct uretprobe *rp[MAX_LOG];
	unsigned long ip[MAX_LOG];
};

/*
 * A slot is where a return address is: at the stack pointer on x86, and above it
 * on powerpc, where a function saves it once it has been entered. On arm64 the
 * function is free to choose, and ours saves it below. A return pops it, or does
 * not.
 */
#if defined(CONFIG_PPC)
#define SLOT_OFFSET	(STACK_FRAME_LR_SAVE * sizeof(long))
#define RETURN_POPS	0
#elif defined(CONFIG_ARM64)
#define SLOT_OFFSET	(-sizeof(long))
#define RETURN_POPS	0
#else
#define SLOT_OFFSET	0
#define RETURN_POPS	sizeof(long)
#endif

/* So that the slot is, or would be, at @slot. */
static void set_stack_pointer(struct pt_regs *regs, unsigned long slot)
{
#if defined(CONFIG_PPC)
	regs->gpr[1] = slot - SLOT_OFFSET;
#else
	regs->sp = slot - SLOT_OFFSET;
#endif
}

/* The register that has the return address at entry, if one has. */
static unsigned long *return_register(struct pt_regs *regs)
{
#if defined(CONFIG_PPC)
	return &regs->link;
#elif defined(CONFIG_ARM64)
	return (unsigned long *)&regs->regs[30];
#else
	return NULL;
#endif
}

/* No instruction of the function is executed. */
static void leave_function(struct uprobe *u, struct pt_regs *regs)
{
	struct calls *calls = kunit_get_current_test()->priv;

	instruction_pointer_set(regs, calls->text + PAGE_SIZE);
}

static void log_return(struct uretprobe_instance *instance,
		       struct pt_regs *regs)
{
	struct kunit *test = kunit_get_current_test();
	struct calls *calls = test->priv;

	KUNIT_EXPECT_EQ(test, instance->ret_addr, instruction_pointer(regs));
	if (calls->nr < MAX_LOG) {
		calls->rp[calls->nr] = instance->rp;
		calls->ip[calls->nr] = instruction_pointer(regs);
	}
	calls->nr++;
}

static struct calls *start_calls(struct kunit *test)
{
	struct calls *calls = zalloc(test, sizeof(*calls));
	unsigned long stacks;

	calls->text = map_text(test);
	stacks = map(test, NULL, 5, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(stacks + 2 * PAGE_SIZE, PAGE_SIZE));
	calls->stack = stacks + 2 * PAGE_SIZE;
	calls->other = stacks + 5 * PAGE_SIZE;
	calls->leave.handler = leave_function;
	calls->umm = make_umm(test);
	KUNIT_ASSERT_EQ(test, 0, uretprobe_init(current->mm, 0));
	test->priv = calls;
	return calls;
}

/* The @nr-th function. */
static struct probepoint *make_function(struct kunit *test, int nr)
{
	struct calls *calls = test->priv;
	struct probepoint *point;

	point = arm(test, calls->umm, calls->text + nr * 64);
	add_probe(test, point, &calls->leave);
	return point;
}

static struct uretprobe *add_return_probe(struct kunit *test,
					  struct probepoint *function)
{
	struct uretprobe *rp = zalloc(test, sizeof(*rp));

	rp->handler = log_return;
	add_probe(test, function, &rp->u)->type = UPTY_URETPROBE;
	return rp;
}

/* Among all probes, where it has to be for unregister_uprobe() to find it. */
static void list_probe(struct kunit *test, struct probe *probe)
{
	struct list_head *all = zalloc(test, sizeof(*all));

	INIT_LIST_HEAD(all);
	list_add(&probe->all, all);
}

/*
 * unregister_uprobe() can remove @probe, which add_probe() made. The test keeps
 * the memory.
 */
static void let_remove(struct kunit *test, struct probe *probe)
{
	list_probe(test, probe);
	refcount_inc(&probe->refs);
	refcount_inc(&probe->site.umm->refs);
	get_pid(probe->site.tgid);
}

/* Where the return address of a call is, @depth calls deep. */
static unsigned long slot_at(struct calls *calls, int depth)
{
	return calls->stack - (depth + 1) * 4 * sizeof(long);
}

/* The return address that call() writes to @slot, another one for each. */
static unsigned long return_to(unsigned long slot)
{
	return 0x10000 + slot % (8 * PAGE_SIZE);
}

static unsigned long word_at(struct kunit *test, unsigned long slot)
{
	unsigned long word;

	KUNIT_ASSERT_EQ(test, 0, get_user(word, (unsigned long __user *)slot));
	return word;
}

static void set_word(struct kunit *test, unsigned long slot, unsigned long word)
{
	KUNIT_ASSERT_EQ(test, 0, put_user(word, (unsigned long __user *)slot));
}

static bool is_hijacked(struct kunit *test, unsigned long slot)
{
	struct calls *calls = test->priv;

	return word_at(test, slot) == calls->umm->trampoline;
}

/* Enter @function with what there is at @slot. */
static void jump_to(struct kunit *test, struct probepoint *function,
		    unsigned long slot)
{
	unsigned long *link;
	struct pt_regs regs;

	trap(&regs, function->vaddr);
	set_stack_pointer(&regs, slot);
	link = return_register(&regs);
	if (link)
		*link = word_at(test, slot);
	take_hit(test, &regs);
	if (link)
		set_word(test, slot, *link);
}

static void call(struct kunit *test, struct probepoint *function,
		 unsigned long slot)
{
	set_word(test, slot, return_to(slot));
	jump_to(test, function, slot);
}

/* Where does the trampoline lead to, with that stack pointer? */
static unsigned long run_trampoline(struct kunit *test, unsigned long sp)
{
	struct calls *calls = test->priv;
	struct pt_regs regs;

	trap(&regs, calls->umm->trampoline);
	set_stack_pointer(&regs, sp);
	take_hit(test, &regs);
	return instruction_pointer(&regs);
}

/* Return with @more bytes popped. Where does that lead to? */
static unsigned long pop_and_return(struct kunit *test, unsigned long slot,
				    unsigned int more)
{
	if (!is_hijacked(test, slot))
		return word_at(test, slot);
	return run_trampoline(test, slot + RETURN_POPS + more);
}

static unsigned long return_from(struct kunit *test, unsigned long slot)
{
	return pop_and_return(test, slot, 0);
}

static void expect_return(struct kunit *test, unsigned long slot)
{
	KUNIT_EXPECT_EQ(test, return_to(slot), return_from(test, slot));
}

/* Registers that the test's thread would have, were it not the kernel's. */
static struct pt_regs *own_regs(struct kunit *test)
{
	/* Its stack begins there. */
	if (IS_ENABLED(CONFIG_PPC))
		kunit_skip(test, "a thread of the kernel has no registers");
	return current_pt_regs();
}

/* The engine has to know where functions keep their return addresses. */
static void need_slots(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_ARM64))
		kunit_skip(test, "return addresses are anywhere");
}

static unsigned int calls_of(struct uprobe_task *utask)
{
	struct return_instance *ri;
	unsigned int nr = 0;

	for (ri = utask->return_instances; ri; ri = ri->next)
		nr++;
	return nr;
}

static unsigned int calls_in_progress(void)
{
	return calls_of(current->utask);
}

static struct task_struct *make_task(struct kunit *test)
{
	struct task_struct *task = zalloc(test, sizeof(*task));

	task->stack = zalloc(test, THREAD_SIZE);
#ifdef CONFIG_PPC
	task->thread.regs = (void *)task->stack + THREAD_SIZE -
			    sizeof(struct pt_regs);
#endif
	return task;
}

/* All calls in progress are those of another thread. */
static struct task_struct *become_other_thread(struct kunit *test)
{
	struct task_struct *before = make_task(test);

	before->utask = current->utask;
	current->utask = NULL;
	return before;
}

static void calls_return_to_their_callers(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct probepoint *g = make_function(test, 1);
	struct uretprobe *a = add_return_probe(test, f);
	struct uretprobe *b = add_return_probe(test, g);
	int i;

	for (i = 0; i < 4; i++) {
		call(test, i % 2 ? g : f, slot_at(calls, i));
		KUNIT_EXPECT_EQ(test, i + 1, calls_in_progress());
		KUNIT_EXPECT_TRUE(test, is_hijacked(test, slot_at(calls, i)));
	}
	KUNIT_EXPECT_EQ(test, 0, calls->nr);

	for (i = 3; i >= 0; i--) {
		int nr = 3 - i;

		expect_return(test, slot_at(calls, i));
		KUNIT_EXPECT_EQ(test, i, calls_in_progress());
		KUNIT_ASSERT_EQ(test, nr + 1, calls->nr);
		KUNIT_EXPECT_PTR_EQ(test, i % 2 ? b : a, calls->rp[nr]);
		KUNIT_EXPECT_EQ(test, return_to(slot_at(calls, i)),
				calls->ip[nr]);
	}
	KUNIT_EXPECT_EQ(test, 2, hits_of(a->u.probe));
	KUNIT_EXPECT_EQ(test, 2, hits_of(b->u.probe));
	KUNIT_EXPECT_EQ(test, 0, a->u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, b->u.nmissed);
}

static void jump_makes_no_new_call(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct probepoint *g = make_function(test, 1);
	struct uretprobe *rp[3];
	unsigned long slot = slot_at(calls, 0);
	int i;

	rp[0] = add_return_probe(test, f);
	rp[1] = add_return_probe(test, f);
	rp[2] = add_return_probe(test, g);
	call(test, f, slot);
	jump_to(test, g, slot);
	KUNIT_EXPECT_EQ(test, 1, calls_in_progress());

	/* The last to be entered is the first. */
	expect_return(test, slot);
	KUNIT_ASSERT_EQ(test, 3, calls->nr);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_PTR_EQ(test, rp[i], calls->rp[2 - i]);
		KUNIT_EXPECT_EQ(test, return_to(slot), calls->ip[i]);
		KUNIT_EXPECT_EQ(test, 0, rp[i]->u.nmissed);
	}
	KUNIT_EXPECT_EQ(test, 0, calls_in_progress());
}

/* A loop that is written as a call at the end. */
static void jumps_are_limited(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long slot = slot_at(calls, 1);
	int i;

	call(test, f, slot_at(calls, 0));
	call(test, f, slot);
	for (i = 0; i < UPROBE_MAX_RETURNS; i++)
		jump_to(test, f, slot);
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 2, calls_in_progress());

	expect_return(test, slot);
	KUNIT_EXPECT_EQ(test, UPROBE_MAX_RETURNS - 1, calls->nr);
	/* There is room again. */
	call(test, f, slot);
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
	expect_return(test, slot);
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, UPROBE_MAX_RETURNS + 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 0, current->utask->depth);
}

/* By longjmp(), back into the outermost call, which then returns. */
static void left_calls_are_dropped_by_a_return(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long slots[4];
	int i;

	need_slots(test);
	for (i = 0; i < 4; i++) {
		slots[i] = slot_at(calls, i);
		call(test, f, slots[i]);
	}
	/* Used by others since. */
	set_word(test, slots[2], 1234);

	expect_return(test, slots[1]);
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 1, calls_in_progress());
	KUNIT_EXPECT_EQ(test, 1234, word_at(test, slots[2]));
	KUNIT_EXPECT_EQ(test, return_to(slots[3]), word_at(test, slots[3]));

	expect_return(test, slots[0]);
	KUNIT_EXPECT_EQ(test, 2, calls->nr);
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
}

static void left_calls_are_dropped_by_an_entry(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);

	need_slots(test);
	call(test, f, slot_at(calls, 0));
	call(test, f, slot_at(calls, 2));
	call(test, f, slot_at(calls, 3));
	call(test, f, slot_at(calls, 1));
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 2, calls_in_progress());
	KUNIT_EXPECT_FALSE(test, is_hijacked(test, slot_at(calls, 2)));
	KUNIT_EXPECT_FALSE(test, is_hijacked(test, slot_at(calls, 3)));

	expect_return(test, slot_at(calls, 1));
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 2, calls->nr);
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
}

/* The new call has the slot of one that was left. */
static void slot_is_that_of_the_last_call(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long slot = slot_at(calls, 0);

	call(test, f, slot);
	set_word(test, slot, 1234);
	jump_to(test, f, slot);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 1, calls_in_progress());
	KUNIT_EXPECT_TRUE(test, is_hijacked(test, slot));

	KUNIT_EXPECT_EQ(test, 1234, return_from(test, slot));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
}

/* Coroutines: each of two stacks is left while a call on it is in progress. */
static void calls_on_another_stack_stay(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long high = calls->other - 64, low = calls->stack - 64;

	call(test, f, high);
	call(test, f, low);
	call(test, f, high - 64);
	call(test, f, low - 64);
	KUNIT_EXPECT_EQ(test, 4, calls_in_progress());

	expect_return(test, high - 64);
	KUNIT_EXPECT_EQ(test, 3, calls_in_progress());
	/* Above all that is in progress on the lower stack. */
	call(test, f, high - 64);
	KUNIT_EXPECT_EQ(test, 4, calls_in_progress());
	expect_return(test, high - 64);
	expect_return(test, high);
	expect_return(test, low - 64);
	expect_return(test, low);
	KUNIT_EXPECT_EQ(test, 5, calls->nr);
	KUNIT_EXPECT_EQ(test, 0, rp->u.nmissed);
}

/* Which may be a part of another one. */
static void signal_stack_is_a_stack(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long slot = slot_at(calls, 1);
	unsigned long on_signal_stack;

	current->sas_ss_sp = calls->stack - 2 * PAGE_SIZE;
	current->sas_ss_size = PAGE_SIZE;
	on_signal_stack = calls->stack - PAGE_SIZE - 64;

	call(test, f, slot);
	call(test, f, on_signal_stack);
	/* Another signal's handler, say, which runs on the thread's stack. */
	call(test, f, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 1, calls_in_progress());
	expect_return(test, on_signal_stack);
	KUNIT_EXPECT_EQ(test, 2, calls->nr);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);

	current->sas_ss_sp = 0;
	current->sas_ss_size = 0;
}

static void too_many_calls_are_missed(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	int i;

	for (i = 0; i < UPROBE_MAX_RETURNS; i++)
		call(test, f, calls->stack - (i + 1) * sizeof(long));
	KUNIT_EXPECT_EQ(test, 0, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, UPROBE_MAX_RETURNS, calls_in_progress());

	call(test, f, calls->stack - (i + 1) * sizeof(long));
	call(test, f, calls->stack - (i + 2) * sizeof(long));
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
	expect_return(test, calls->stack - (i + 2) * sizeof(long));
	expect_return(test, calls->stack - (i + 1) * sizeof(long));
	KUNIT_EXPECT_EQ(test, 0, calls->nr);

	expect_return(test, calls->stack - i * sizeof(long));
	call(test, f, calls->stack - i * sizeof(long));
	for (; i; i--)
		expect_return(test, calls->stack - i * sizeof(long));
	KUNIT_EXPECT_EQ(test, UPROBE_MAX_RETURNS + 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
}

/* That they were is looked for when the last one does not tell. */
static void left_calls_make_room(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	int i;

	need_slots(test);
	for (i = 1; i < UPROBE_MAX_RETURNS; i++)
		call(test, f, calls->stack - (i + 1) * sizeof(long));
	call(test, f, calls->other - 64);
	KUNIT_EXPECT_EQ(test, UPROBE_MAX_RETURNS, calls_in_progress());

	call(test, f, calls->stack - sizeof(long));
	KUNIT_EXPECT_EQ(test, UPROBE_MAX_RETURNS - 1, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 2, calls_in_progress());
	expect_return(test, calls->stack - sizeof(long));
	expect_return(test, calls->other - 64);
	KUNIT_EXPECT_EQ(test, 2, calls->nr);
}

/* On a stack that cannot be told from one in use, but for what is there now. */
static void overwritten_calls_make_room(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	int i;

	need_slots(test);
	for (i = 1; i <= UPROBE_MAX_RETURNS; i++)
		call(test, f, calls->stack - i * sizeof(long));
	for (i = 100; i < 110; i++)
		set_word(test, calls->stack - i * sizeof(long), 1234);
	KUNIT_EXPECT_EQ(test, 0, rp->u.nmissed);

	call(test, f, calls->other - 64);
	KUNIT_EXPECT_EQ(test, 10, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, UPROBE_MAX_RETURNS - 10 + 1, calls_in_progress());
	expect_return(test, calls->other - 64);
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
}

static int never_enters(struct uretprobe_instance *instance,
			struct pt_regs *regs)
{
	KUNIT_FAIL(kunit_get_current_test(), "entry handler of a missed call");
	return 0;
}

static void maxactive_is_for_all_threads(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	struct task_struct *other;

	rp->u.probe->maxactive = 2;
	call(test, f, slot_at(calls, 0));
	other = become_other_thread(test);
	call(test, f, calls->other - 64);
	KUNIT_EXPECT_EQ(test, 0, rp->u.nmissed);
	rp->entry_handler = never_enters;
	call(test, f, calls->other - 128);
	rp->entry_handler = NULL;
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	KUNIT_EXPECT_FALSE(test, is_hijacked(test, calls->other - 128));

	expect_return(test, calls->other - 64);
	call(test, f, calls->other - 64);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);

	/* The end of a thread is that of its calls. */
	uprobe_free_utask(other);
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
	call(test, f, calls->other - 128);
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
	expect_return(test, calls->other - 128);
	expect_return(test, calls->other - 64);
	KUNIT_EXPECT_EQ(test, 3, calls->nr);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&rp->u.probe->active));
}

static void left_call_is_not_active(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);

	rp->u.probe->maxactive = 1;
	call(test, f, slot_at(calls, 1));
	call(test, f, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
}

static int skip_call(struct uretprobe_instance *instance, struct pt_regs *regs)
{
	return 1;
}

static void entry_handler_skips(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *skips = add_return_probe(test, f);
	unsigned long slot = slot_at(calls, 0);
	struct uretprobe *rp;

	skips->entry_handler = skip_call;
	skips->u.probe->maxactive = 1;
	call(test, f, slot);
	KUNIT_EXPECT_FALSE(test, is_hijacked(test, slot));
	KUNIT_EXPECT_EQ(test, 0, calls_in_progress());

	rp = add_return_probe(test, f);
	call(test, f, slot);
	expect_return(test, slot);
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_PTR_EQ(test, rp, calls->rp[0]);
	KUNIT_EXPECT_EQ(test, 0, skips->u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, hits_of(skips->u.probe));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&skips->u.probe->active));
}

static int fill_data(struct uretprobe_instance *instance, struct pt_regs *regs)
{
	struct kunit *test = kunit_get_current_test();
	size_t size = instance->rp->data_size;

	KUNIT_EXPECT_NULL(test, memchr_inv(instance->data, 0, size));
	KUNIT_EXPECT_EQ(test, return_to(instance->sp + SLOT_OFFSET),
			instance->ret_addr);
	memset(instance->data, (u8)(instance->sp / sizeof(long)), size);
	return 0;
}

static void check_data(struct uretprobe_instance *instance,
		       struct pt_regs *regs)
{
	KUNIT_EXPECT_NULL(kunit_get_current_test(),
			  memchr_inv(instance->data,
				     (u8)(instance->sp / sizeof(long)),
				     instance->rp->data_size));
	log_return(instance, regs);
}

static void calls_have_their_own_data(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);

	rp->data_size = UPROBE_MAX_DATA;
	rp->u.probe->data_size = UPROBE_MAX_DATA;
	rp->entry_handler = fill_data;
	rp->handler = check_data;
	call(test, f, slot_at(calls, 0));
	call(test, f, slot_at(calls, 1));
	expect_return(test, slot_at(calls, 1));
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 2, calls->nr);
}

static int change_return_address(struct uretprobe_instance *instance,
				 struct pt_regs *regs)
{
	unsigned long *link = return_register(regs);

	if (link)
		*link = 1234;
	else
		set_word(kunit_get_current_test(), instance->sp, 1234);
	return 0;
}

static void go_elsewhere(struct uretprobe_instance *instance,
			 struct pt_regs *regs)
{
	log_return(instance, regs);
	instruction_pointer_set(regs, 5678);
}

static void handlers_may_change_the_return(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long slot = slot_at(calls, 0);

	rp->entry_handler = change_return_address;
	call(test, f, slot);
	KUNIT_EXPECT_EQ(test, 1234, return_from(test, slot));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 1234, calls->ip[0]);

	rp->entry_handler = NULL;
	rp->handler = go_elsewhere;
	call(test, f, slot);
	KUNIT_EXPECT_EQ(test, 5678, return_from(test, slot));
	KUNIT_EXPECT_EQ(test, 2, calls->nr);
}

static int return_at_once(struct uretprobe_instance *instance,
			  struct pt_regs *regs)
{
	set_stack_pointer(regs, instance->sp + SLOT_OFFSET + sizeof(long));
	return 0;
}

static void handler_may_end_the_call(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long slot = slot_at(calls, 1);

	set_word(test, slot + sizeof(long), 1234);
	rp->entry_handler = return_at_once;
	call(test, f, slot);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, calls_in_progress());
	KUNIT_EXPECT_FALSE(test, is_hijacked(test, slot));
	KUNIT_EXPECT_EQ(test, 1234, word_at(test, slot + sizeof(long)));
}

static void disabled_return_probe_rests(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);

	call(test, f, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 0, disable_uretprobe(rp));
	KUNIT_EXPECT_EQ(test, UPROBE_FLAG_DISABLED, rp->u.flags);
	call(test, f, slot_at(calls, 1));
	KUNIT_EXPECT_FALSE(test, is_hijacked(test, slot_at(calls, 1)));
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 0, calls->nr);
	KUNIT_EXPECT_EQ(test, 0, hits_of(rp->u.probe));

	KUNIT_EXPECT_EQ(test, 0, enable_uretprobe(rp));
	call(test, f, slot_at(calls, 0));
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 0, rp->u.nmissed);
}

static void all_handlers_can_be_switched_off(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);

	call(test, f, slot_at(calls, 0));
	uprobes_enabled = false;
	expect_return(test, slot_at(calls, 0));
	uprobes_enabled = true;
	KUNIT_EXPECT_EQ(test, 0, calls->nr);
	KUNIT_EXPECT_EQ(test, 0, rp->u.nmissed);

	call(test, f, slot_at(calls, 0));
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
}

static void removed_probe_leaves_the_call(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *removed = add_return_probe(test, f);
	struct uretprobe *rp = add_return_probe(test, f);
	struct task_struct *other;

	removed->u.probe->maxactive = 4;
	let_remove(test, removed->u.probe);
	let_remove(test, rp->u.probe);
	call(test, f, slot_at(calls, 0));
	other = become_other_thread(test);
	call(test, f, calls->other - 64);

	unregister_uretprobe(removed);
	KUNIT_EXPECT_NULL(test, removed->u.probe);
	expect_return(test, calls->other - 64);
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_PTR_EQ(test, rp, calls->rp[0]);

	/* Then nobody observes it, but it has to return. */
	call(test, f, calls->other - 64);
	unregister_uretprobe(rp);
	KUNIT_EXPECT_EQ(test, 1, calls_in_progress());
	expect_return(test, calls->other - 64);

	uprobe_free_utask(current);
	current->utask = other->utask;
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 0, removed->u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, rp->u.nmissed);
}

static void removed_probe_has_no_instances(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	struct probe *probe = rp->u.probe;
	struct task_struct *other;

	probe->maxactive = 4;
	let_remove(test, probe);
	call(test, f, slot_at(calls, 0));
	call(test, f, slot_at(calls, 1));
	other = become_other_thread(test);
	call(test, f, calls->other - 64);
	KUNIT_EXPECT_EQ(test, 3, atomic_read(&probe->active));
	unregister_uretprobe(rp);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&probe->active));
	KUNIT_EXPECT_NULL(test, other->utask->return_instances->instances);
	KUNIT_EXPECT_NULL(test, current->utask->return_instances->instances);
	uprobe_free_utask(other);
	KUNIT_EXPECT_EQ(test, 0, rp->u.nmissed);
}

/* From when it is marked, before anything waits for those who did not see it. */
static void dying_probe_is_not_called(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *dying = add_return_probe(test, f);
	struct uretprobe *rp = add_return_probe(test, f);

	call(test, f, slot_at(calls, 0));
	call(test, f, slot_at(calls, 1));
	call(test, f, slot_at(calls, 2));
	WRITE_ONCE(dying->u.probe->dead, true);
	expect_return(test, slot_at(calls, 1));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_PTR_EQ(test, rp, calls->rp[0]);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	uprobe_free_utask(current);
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, dying->u.nmissed);
}

/* The stack goes on in this thread. */
static void calls_of_another_thread_return(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	struct task_struct *other;

	call(test, f, slot_at(calls, 0));
	call(test, f, slot_at(calls, 1));
	other = become_other_thread(test);
	call(test, f, slot_at(calls, 2));
	expect_return(test, slot_at(calls, 2));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);

	expect_return(test, slot_at(calls, 1));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, calls->umm->nr_orphans);

	/* Its own thread notices later. */
	uprobe_free_utask(current);
	current->utask = other->utask;
	call(test, f, slot_at(calls, 2));
	KUNIT_EXPECT_EQ(test, 1, calls_in_progress());
	KUNIT_EXPECT_EQ(test, 1, current->utask->depth);
	expect_return(test, slot_at(calls, 2));
	KUNIT_EXPECT_EQ(test, 2, calls->nr);
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
}

/* Whichever thread that is. */
static void slot_is_that_of_the_last_thread(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long slot = slot_at(calls, 0);
	struct return_instance *cursor = NULL;
	struct task_struct *other, *last;

	call(test, f, slot);
	other = become_other_thread(test);
	set_word(test, slot, 1234);
	jump_to(test, f, slot);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 1234, return_from(test, slot));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);

	/* A walk of the other one's stack does not find it. */
	call(test, f, slot);
	last = become_other_thread(test);
	current->utask = other->utask;
	KUNIT_EXPECT_EQ(test, calls->umm->trampoline,
			uprobe_real_addr(calls->umm->trampoline, &cursor));
	KUNIT_EXPECT_NULL(test, cursor);
	current->utask = last->utask;
	expect_return(test, slot);

	/* Nor does that count it again, or leave it behind. */
	uprobe_free_utask(other);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, calls->umm->nr_orphans);
}

static void jump_on_another_threads_stack_is_missed(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long slot = slot_at(calls, 0);
	struct task_struct *other;

	call(test, f, slot);
	other = become_other_thread(test);
	jump_to(test, f, slot);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	expect_return(test, slot);
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, calls->nr);
	uprobe_free_utask(other);
}

/* As after vfork(): both return. */
static void call_of_another_process_stays(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long slot = slot_at(calls, 0);
	struct task_struct *parent;

	call(test, f, slot);
	parent = become_other_thread(test);
	KUNIT_EXPECT_PTR_EQ(test, task_tgid(current), parent->utask->tgid);
	uprobe_make_task(current, calls->umm)->tgid = &init_struct_pid;
	expect_return(test, slot);
	KUNIT_EXPECT_EQ(test, 0, calls->nr);
	KUNIT_EXPECT_EQ(test, 0, rp->u.nmissed);

	uprobe_free_utask(current);
	current->utask = parent->utask;
	expect_return(test, slot);
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 0, rp->u.nmissed);
}

static void end_of_thread_is_counted(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);

	add_return_probe(test, f);
	call(test, f, slot_at(calls, 0));
	call(test, f, slot_at(calls, 1));
	uprobe_free_utask(current);
	KUNIT_EXPECT_NULL(test, current->utask);
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
	KUNIT_EXPECT_TRUE(test, list_empty(&calls->umm->tasks));
	KUNIT_EXPECT_EQ(test, 0, calls->nr);
}

/* Another thread goes on where it ended. */
static void calls_outlive_their_thread(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	struct task_struct *other;
	/* Where return addresses are passed in a register, it may not be over. */
	const int kept = !IS_ENABLED(CONFIG_X86);

	need_slots(test);
	call(test, f, slot_at(calls, 0));
	call(test, f, slot_at(calls, 1));
	call(test, f, slot_at(calls, 2));
	other = become_other_thread(test);
	uprobe_free_utask(other);
	KUNIT_EXPECT_EQ(test, 3, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 3, calls->umm->nr_orphans);

	/* One slot has another call's return address by now. */
	call(test, f, slot_at(calls, 1));
	KUNIT_EXPECT_EQ(test, 2 + kept, calls->umm->nr_orphans);
	expect_return(test, slot_at(calls, 2));
	KUNIT_EXPECT_EQ(test, 0, calls->nr);
	expect_return(test, slot_at(calls, 1));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 3, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, kept, calls->umm->nr_orphans);
}

static void few_calls_outlive_their_thread(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	const int nr = 1000;
	int i;

	for (i = 1; i <= nr; i++) {
		call(test, f, calls->stack - i * sizeof(long));
		if (i % 100 == 0)
			uprobe_free_utask(current);
	}
	KUNIT_EXPECT_EQ(test, nr, rp->u.nmissed);
	KUNIT_EXPECT_GE(test, calls->umm->nr_orphans, 100);
	KUNIT_EXPECT_LT(test, calls->umm->nr_orphans, nr / 2);
	/* The last ones. */
	for (i = nr - 99; i <= nr; i++)
		expect_return(test, calls->stack - i * sizeof(long));
	KUNIT_EXPECT_EQ(test, 0, calls->nr);
	KUNIT_EXPECT_EQ(test, nr, rp->u.nmissed);
}

/* The callee pops arguments. */
static void return_may_pop_more(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	unsigned long slot = slot_at(calls, 1);

	if (!arch_uretprobe_pops())
		kunit_skip(test, "a return pops nothing");
	add_return_probe(test, f);
	call(test, f, slot_at(calls, 0));
	call(test, f, slot);
	KUNIT_EXPECT_EQ(test, return_to(slot),
			pop_and_return(test, slot, 2 * sizeof(long)));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);

	/* Of two that it can be, it is the one next below. */
	call(test, f, slot);
	slot = slot_at(calls, 0);
	KUNIT_EXPECT_EQ(test, return_to(slot),
			pop_and_return(test, slot, 2 * sizeof(long)));
	KUNIT_EXPECT_EQ(test, 2, calls->nr);
	KUNIT_EXPECT_EQ(test, 0, calls_in_progress());
}

/* A call that was left, and whose slot was used since, is not it. */
static void overwritten_slot_is_not_popped(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	unsigned long slot = slot_at(calls, 0);
	int i;

	if (!arch_uretprobe_pops())
		kunit_skip(test, "a return pops nothing");
	add_return_probe(test, f);
	/* That is at the very place, or between. */
	for (i = 1; i < 3; i++) {
		call(test, f, slot + i * sizeof(long));
		set_word(test, slot + i * sizeof(long), 1234);
		call(test, f, slot);
		KUNIT_EXPECT_EQ(test, return_to(slot),
				pop_and_return(test, slot, 2 * sizeof(long)));
		KUNIT_EXPECT_EQ(test, i, calls->nr);
	}
}

/* In a signal handler, before the thread got to the trampoline. */
static void slot_may_be_overwritten_at_last(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	unsigned long slot = slot_at(calls, 0);

	add_return_probe(test, f);
	call(test, f, slot);
	set_word(test, slot, 1234);
	KUNIT_EXPECT_EQ(test, return_to(slot),
			run_trampoline(test, slot + RETURN_POPS));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
}

/* Nor is one whose slot is not there any more. */
static void unmapped_slot_is_not_popped(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	unsigned long page = calls->stack - PAGE_SIZE;
	unsigned long slot = page - sizeof(long);

	if (!arch_uretprobe_pops())
		kunit_skip(test, "a return pops nothing");
	add_return_probe(test, f);
	call(test, f, page);
	call(test, f, slot);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(page, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, return_to(slot),
			pop_and_return(test, slot, 2 * sizeof(long)));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 1, calls_in_progress());
}

/* A return that belongs to the call before is not taken for such a one. */
static void exact_return_comes_first(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);

	call(test, f, slot_at(calls, 0));
	call(test, f, slot_at(calls, 1));
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, calls_in_progress());
}

static void jump_to_the_trampoline_is_a_breakpoint(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct pt_regs regs, before;

	add_return_probe(test, f);
	call(test, f, slot_at(calls, 0));
	trap(&regs, calls->umm->trampoline);
	set_stack_pointer(&regs, slot_at(calls, 0) - PAGE_SIZE);
	before = regs;
	take_hit(test, &regs);
	KUNIT_EXPECT_MEMEQ(test, &regs, &before, sizeof(regs));
	KUNIT_EXPECT_TRUE(test, has_sigtrap());
	KUNIT_EXPECT_EQ(test, 0, calls->nr);
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_FALSE(test, has_sigtrap());
}

static void unusable_stack_is_missed(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);

	if (!IS_ENABLED(CONFIG_X86))
		kunit_skip(test, "a return address is in a register");
	rp->entry_handler = never_enters;
	/* In the hole. */
	jump_to(test, f, calls->stack + 64);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, calls_in_progress());
	KUNIT_EXPECT_FALSE(test, signal_pending(current));

	/* It cannot be written back in one store. */
	rp->entry_handler = NULL;
	call(test, f, slot_at(calls, 0) + 1);
	KUNIT_EXPECT_EQ(test, 2, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, return_to(slot_at(calls, 0) + 1),
			word_at(test, slot_at(calls, 0) + 1));
	KUNIT_EXPECT_EQ(test, 0, calls_in_progress());
	rp->entry_handler = never_enters;

	/* The address of the trampoline, but no call that it is of. */
	set_word(test, slot_at(calls, 0), calls->umm->trampoline);
	jump_to(test, f, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 3, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, calls_in_progress());
}

static int need_trampoline(struct uprobes_mm *umm)
{
	int ret;

	mutex_lock(&umm->mutex);
	ret = uretprobe_need_trampoline(umm);
	mutex_unlock(&umm->mutex);
	return ret;
}

/* The program unmaps what it did not map. */
static void unmapped_trampoline_is_not_used(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long start, end;

	mapping_at(test, calls->umm->trampoline, &start, &end);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(start, end - start));
	call(test, f, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	KUNIT_EXPECT_FALSE(test, is_hijacked(test, slot_at(calls, 0)));

	KUNIT_ASSERT_EQ(test, 0, need_trampoline(calls->umm));
	call(test, f, slot_at(calls, 0));
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
}

static void calls_return_without_the_trampoline(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long others = calls->other - 64;
	struct task_struct *other;
	unsigned long start, end;
	int i;

	need_slots(test);
	call(test, f, others);
	other = become_other_thread(test);
	for (i = 0; i < 3; i++)
		call(test, f, slot_at(calls, i));
	set_word(test, slot_at(calls, 2), 1234);

	mapping_at(test, calls->umm->trampoline, &start, &end);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(start, end - start));
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, return_to(slot_at(calls, i)),
				word_at(test, slot_at(calls, i)));
	KUNIT_EXPECT_EQ(test, 1234, word_at(test, slot_at(calls, 2)));
	KUNIT_EXPECT_EQ(test, return_to(others), word_at(test, others));

	uprobe_free_utask(other);
	uprobe_free_utask(current);
	KUNIT_EXPECT_EQ(test, 4, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, calls->nr);
}

static void trampoline_is_set_once(struct kunit *test)
{
	unsigned long text = map_text(test), trampoline;
	struct mm_struct *mm = current->mm;

	KUNIT_EXPECT_EQ(test, UPROBE_NO_TRAMPOLINE_VADDR,
			uprobe_get_trampoline_vaddr());
	make_umm(test);
	KUNIT_EXPECT_EQ(test, UPROBE_NO_TRAMPOLINE_VADDR,
			uprobe_get_trampoline_vaddr());

	KUNIT_EXPECT_EQ(test, 0, uretprobe_init(mm, 0));
	trampoline = uprobe_get_trampoline_vaddr();
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, trampoline));
	KUNIT_EXPECT_TRUE(test, is_area(umm_of(mm), trampoline));

	KUNIT_EXPECT_EQ(test, 0, uretprobe_init(mm, 0));
	KUNIT_EXPECT_EQ(test, 0, uretprobe_init(mm, trampoline));
	KUNIT_EXPECT_EQ(test, -EEXIST, uretprobe_init(mm, text));
	KUNIT_EXPECT_EQ(test, trampoline, uprobe_get_trampoline_vaddr());
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text));
}

static void trampoline_may_be_the_programs(struct kunit *test)
{
	unsigned long text = map_text(test);
	struct mm_struct *mm = current->mm;
	struct uprobes_mm *umm = make_umm(test);

	KUNIT_EXPECT_EQ(test, -EINVAL, uretprobe_init(mm, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			uretprobe_init(mm, text + 2 * PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text, fill_opcode(),
					     UPROBE_SWBP_INSN));
	KUNIT_EXPECT_EQ(test, -EEXIST, uretprobe_init(mm, text));
	KUNIT_EXPECT_EQ(test, UPROBE_NO_TRAMPOLINE_VADDR,
			uprobe_get_trampoline_vaddr());

	KUNIT_EXPECT_EQ(test, 0, uretprobe_init(mm, text + 64));
	KUNIT_EXPECT_EQ(test, text + 64, uprobe_get_trampoline_vaddr());
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text + 64));
	KUNIT_EXPECT_EQ(test, 0, uretprobe_init(mm, 0));
	KUNIT_EXPECT_EQ(test, 0, need_trampoline(umm));
	KUNIT_EXPECT_EQ(test, 0, uretprobe_init(mm, text + 64));
	KUNIT_EXPECT_EQ(test, -EEXIST, uretprobe_init(mm, text + 128));
	KUNIT_EXPECT_EQ(test, text + 64, uprobe_get_trampoline_vaddr());
}

/* start_calls(), but a thread returns to the second page of the text. */
static struct calls *start_calls_to_program(struct kunit *test)
{
	struct calls *calls = zalloc(test, sizeof(*calls));
	unsigned long stack;

	test->priv = calls;
	calls->text = map_text(test);
	stack = map(test, NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	calls->stack = stack + PAGE_SIZE;
	calls->leave.handler = leave_function;
	calls->umm = make_umm(test);
	KUNIT_ASSERT_EQ(test, 0,
			uretprobe_init(current->mm, calls->text + PAGE_SIZE));
	return calls;
}

static void programs_trampoline_works(struct kunit *test)
{
	struct calls *calls = start_calls_to_program(test);
	struct probepoint *f = make_function(test, 0);

	add_return_probe(test, f);
	call(test, f, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, calls->text + PAGE_SIZE,
			word_at(test, slot_at(calls, 0)));
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
}

static void lost_trampoline_is_replaced(struct kunit *test)
{
	struct calls *calls = start_calls_to_program(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long slot = slot_at(calls, 0);

	need_slots(test);
	call(test, f, slot);
	/* There is something else now. */
	poke_opcode(test, calls->text + PAGE_SIZE, 0);
	call(test, f, slot_at(calls, 1));
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	KUNIT_EXPECT_FALSE(test, is_hijacked(test, slot_at(calls, 1)));

	KUNIT_ASSERT_EQ(test, 0, need_trampoline(calls->umm));
	KUNIT_EXPECT_TRUE(test, is_area(calls->umm, calls->umm->trampoline));
	KUNIT_EXPECT_EQ(test, return_to(slot), word_at(test, slot));
	call(test, f, slot_at(calls, 1));
	expect_return(test, slot_at(calls, 1));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
}

/*
 * What others see of calls in progress.
 */

static void stack_walk_finds_real_addresses(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	unsigned long trampoline = calls->umm->trampoline;
	struct probepoint *f = make_function(test, 0);
	struct return_instance *cursor = NULL;
	int i;

	need_slots(test);
	/* Without a hit yet. */
	KUNIT_EXPECT_EQ(test, trampoline,
			uprobe_real_addr(trampoline, &cursor));
	add_return_probe(test, f);
	for (i = 0; i < 3; i++)
		call(test, f, slot_at(calls, i));

	for (i = 2; i >= 0; i--) {
		KUNIT_EXPECT_EQ(test, calls->text,
				uprobe_real_addr(calls->text, &cursor));
		KUNIT_EXPECT_EQ(test, return_to(slot_at(calls, i)),
				uprobe_real_addr(trampoline, &cursor));
	}
	KUNIT_EXPECT_EQ(test, trampoline,
			uprobe_real_addr(trampoline, &cursor));

	/* The newest was left, and its slot used since. */
	set_word(test, slot_at(calls, 2), 1234);
	cursor = NULL;
	KUNIT_EXPECT_EQ(test, return_to(slot_at(calls, 1)),
			uprobe_real_addr(trampoline, &cursor));
}

static void thread_is_not_at_the_trampoline(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct task_struct *other;
	struct pt_regs regs;

	init_regs(&regs);
	instruction_pointer_set(&regs, calls->umm->trampoline);
	KUNIT_EXPECT_EQ(test, calls->umm->trampoline,
			uprobe_task_ip(current, &regs));
	add_return_probe(test, f);
	call(test, f, slot_at(calls, 0));
	call(test, f, slot_at(calls, 1));
	other = become_other_thread(test);

	set_stack_pointer(&regs, slot_at(calls, 0) + RETURN_POPS);
	KUNIT_EXPECT_EQ(test, return_to(slot_at(calls, 0)),
			uprobe_task_ip(other, &regs));
	instruction_pointer_set(&regs, calls->text);
	KUNIT_EXPECT_EQ(test, calls->text, uprobe_task_ip(other, &regs));
	KUNIT_EXPECT_EQ(test, 2, calls_of(other->utask));
	uprobe_free_utask(other);
}

static void signal_does_not_come_at_the_trampoline(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct pt_regs *regs = own_regs(test);
	struct probepoint *f = make_function(test, 0);
	unsigned long slot = slot_at(calls, 0);
	struct task_struct *other;

	add_return_probe(test, f);
	call(test, f, slot);
	instruction_pointer_set(regs, calls->text);
	set_stack_pointer(regs, slot + RETURN_POPS);
	KUNIT_EXPECT_FALSE(test, uprobe_deny_signal());
	KUNIT_EXPECT_EQ(test, calls->text, instruction_pointer(regs));
	KUNIT_EXPECT_EQ(test, 0, calls->nr);

	instruction_pointer_set(regs, calls->umm->trampoline);
	KUNIT_EXPECT_FALSE(test, uprobe_deny_signal());
	KUNIT_EXPECT_EQ(test, return_to(slot), instruction_pointer(regs));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 0, calls_in_progress());

	/* The stack was another thread's, and this one never hit anything. */
	call(test, f, slot);
	other = become_other_thread(test);
	instruction_pointer_set(regs, calls->umm->trampoline);
	KUNIT_EXPECT_FALSE(test, uprobe_deny_signal());
	KUNIT_EXPECT_EQ(test, return_to(slot), instruction_pointer(regs));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	uprobe_free_utask(other);
	memset(regs, 0, sizeof(*regs));
}

/* The child runs on a copy of the stack that it was given. */
static void child_in_our_memory_returns(struct kunit *test)
{
	struct pt_regs *regs = own_regs(test);
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long distance = calls->other - calls->stack;
	struct task_struct *child = make_task(test);
	struct task_struct *parent;
	int i;

	need_slots(test);
	for (i = 0; i < 3; i++)
		call(test, f, slot_at(calls, i));
	/* It was not given all of it. */
	for (i = 0; i < 2; i++)
		set_word(test, slot_at(calls, i) + distance,
			 calls->umm->trampoline);
	/* It inherits the pointer, and must not use it. */
	child->utask = current->utask;
	set_stack_pointer(regs, slot_at(calls, 4));
	set_stack_pointer(task_pt_regs(child), slot_at(calls, 4) + distance);
	uprobe_copy_process(child, CLONE_VM);
	memset(regs, 0, sizeof(*regs));
	KUNIT_ASSERT_PTR_NE(test, current->utask, child->utask);
	KUNIT_EXPECT_EQ(test, 2, calls->umm->nr_orphans);

	parent = become_other_thread(test);
	current->utask = child->utask;
	for (i = 1; i >= 0; i--)
		KUNIT_EXPECT_EQ(test, return_to(slot_at(calls, i)),
				return_from(test,
					    slot_at(calls, i) + distance));
	KUNIT_EXPECT_EQ(test, 0, calls->umm->nr_orphans);
	uprobe_free_utask(current);

	current->utask = parent->utask;
	KUNIT_EXPECT_EQ(test, 0, rp->u.nmissed);
	KUNIT_EXPECT_EQ(test, 0, calls->nr);
	for (i = 2; i >= 0; i--)
		expect_return(test, slot_at(calls, i));
	KUNIT_EXPECT_EQ(test, 3, calls->nr);
}

static void child_on_our_stack_has_no_copies(struct kunit *test)
{
	struct pt_regs *regs = own_regs(test);
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct task_struct *child = make_task(test);

	add_return_probe(test, f);
	call(test, f, slot_at(calls, 0));
	set_stack_pointer(regs, slot_at(calls, 1));
	set_stack_pointer(task_pt_regs(child), slot_at(calls, 1));
	uprobe_copy_process(child, CLONE_VM);
	memset(regs, 0, sizeof(*regs));
	KUNIT_EXPECT_NULL(test, child->utask);
	KUNIT_EXPECT_EQ(test, 0, calls->umm->nr_orphans);
	expect_return(test, slot_at(calls, 0));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
}

/* Our own address space stands for the child's copy of it. */
static void fork_all(void)
{
	fork_begins(current->mm);
	uprobe_end_dup_mmap();
}

static void fork_cleans_the_childs_stacks(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long slots[3], others = calls->other - 64;
	unsigned long orphan = calls->other - 128;
	struct task_struct *other;
	int i;

	need_slots(test);
	call(test, f, orphan);
	uprobe_free_utask(current);
	call(test, f, others);
	other = become_other_thread(test);
	for (i = 0; i < 3; i++) {
		slots[i] = slot_at(calls, i);
		call(test, f, slots[i]);
	}
	set_word(test, slots[1], 1234);

	fork_all();
	KUNIT_EXPECT_FALSE(test, current->utask->unclean_child);
	KUNIT_EXPECT_EQ(test, return_to(slots[0]), word_at(test, slots[0]));
	KUNIT_EXPECT_EQ(test, 1234, word_at(test, slots[1]));
	KUNIT_EXPECT_EQ(test, return_to(slots[2]), word_at(test, slots[2]));
	KUNIT_EXPECT_EQ(test, return_to(others), word_at(test, others));
	KUNIT_EXPECT_EQ(test, return_to(orphan), word_at(test, orphan));
	/* The parent's calls go on. */
	KUNIT_EXPECT_EQ(test, 3, calls_in_progress());
	KUNIT_EXPECT_EQ(test, 1, calls_of(other->utask));
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
	uprobe_free_utask(other);
}

/* They run while memory is copied, and the child may have got either state. */
static void fork_sees_other_threads(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	unsigned long ends = calls->other - 64, begins = calls->other - 128;
	struct task_struct *other, *forks;

	need_slots(test);
	add_return_probe(test, f);
	call(test, f, ends);
	other = become_other_thread(test);
	fork_begins(current->mm);

	forks = become_other_thread(test);
	current->utask = other->utask;
	expect_return(test, ends);
	call(test, f, begins);
	current->utask = forks->utask;

	uprobe_end_dup_mmap();
	KUNIT_EXPECT_FALSE(test, current->utask->unclean_child);
	KUNIT_EXPECT_EQ(test, return_to(ends), word_at(test, ends));
	KUNIT_EXPECT_EQ(test, return_to(begins), word_at(test, begins));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	uprobe_free_utask(other);
}

static void fork_spares_a_shared_stack(struct kunit *test)
{
	struct probepoint *f;
	unsigned long slot;

	start_calls(test);
	f = make_function(test, 0);
	add_return_probe(test, f);
	slot = map(test, NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED) + 64;
	call(test, f, slot);
	fork_all();
	KUNIT_EXPECT_FALSE(test, current->utask->unclean_child);
	KUNIT_EXPECT_TRUE(test, is_hijacked(test, slot));
}

/*
 * Debuggers.
 */

static uprobe_opcode_t peek_opcode(struct kunit *test, unsigned long vaddr)
{
	uprobe_opcode_t opcode;

	peek(test, vaddr, &opcode, sizeof(opcode));
	return opcode;
}

static void debugger_reads_no_breakpoint(struct kunit *test)
{
	const int size = sizeof(uprobe_opcode_t);
	unsigned long text = map_text(test);
	struct uprobes_mm *umm = make_umm(test);
	u8 is[64 + 2 * 16];

	/* The program's own is not ours. */
	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text + 32, fill_opcode(),
					     UPROBE_SWBP_INSN));
	peek(test, text, is, sizeof(is));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, *(uprobe_opcode_t *)&is[32]);

	arm(test, umm, text + 16);
	arm(test, umm, text + 64);
	arm(test, umm, text + 64 + size);
	peek(test, text, is, sizeof(is));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, *(uprobe_opcode_t *)&is[32]);
	KUNIT_EXPECT_NULL(test, memchr_inv(is, FILL, 32));
	KUNIT_EXPECT_NULL(test, memchr_inv(is + 32 + size, FILL,
					   sizeof(is) - 32 - size));

	/* One that begins before what is read, or ends behind it. */
	peek(test, text + 16 + size - 1, is, 2);
	KUNIT_EXPECT_NULL(test, memchr_inv(is, FILL, 2));
	peek(test, text + 15, is, 2);
	KUNIT_EXPECT_NULL(test, memchr_inv(is, FILL, 2));
}

/* Both stop being ours at their last byte. */
static void debugger_reads_next_to_a_breakpoint(struct kunit *test)
{
	const int size = sizeof(uprobe_opcode_t);
	unsigned long text = map_text(test);
	u8 is[16], same[16];

	arm(test, make_umm(test), text + 64);
	memset(same, 0x11, sizeof(same));
	memset(is, 0x11, sizeof(is));
	uprobe_peek(current->mm, text + 64 + size,
		    page_around(test, text + 64 + size), is, sizeof(is));
	KUNIT_EXPECT_MEMEQ(test, is, same, sizeof(is));
	uprobe_peek(current->mm, text + 64 - sizeof(is),
		    page_around(test, text + 64 - sizeof(is)), is, sizeof(is));
	KUNIT_EXPECT_MEMEQ(test, is, same, sizeof(is));
}

static void debuggers_breakpoint_comes_first(struct kunit *test)
{
	struct uprobe u = { .handler = log_hit_and_go_on };
	unsigned long text = map_text(test);
	struct hit_log *log = start_log(test, text + 64);
	struct probepoint *point = arm(test, make_umm(test), text);
	struct pt_regs regs, before;

	add_probe(test, point, &u);
	poke_opcode(test, text, UPROBE_SWBP_INSN);
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, peek_opcode(test, text));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text));
	trap(&regs, text);
	before = regs;
	take_hit(test, &regs);
	KUNIT_EXPECT_MEMEQ(test, &regs, &before, sizeof(regs));
	KUNIT_EXPECT_TRUE(test, has_sigtrap());
	KUNIT_EXPECT_EQ(test, 0, log->nr);
	KUNIT_EXPECT_EQ(test, 0, u.nmissed);

	/* It takes its own out, to go on. */
	poke_opcode(test, text, fill_opcode());
	KUNIT_EXPECT_EQ(test, fill_opcode(), peek_opcode(test, text));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text));
	hit(test, &regs, text);
	KUNIT_EXPECT_FALSE(test, has_sigtrap());
	KUNIT_EXPECT_EQ(test, 1, log->nr);
	KUNIT_EXPECT_FALSE(test, point->gone);
}

static void debugger_writes_what_it_read(struct kunit *test)
{
	unsigned long text = map_text(test);
	struct uprobes_mm *umm = make_umm(test);
	struct probepoint *point = arm(test, umm, text + 64);
	u8 is[128];

	peek(test, text, is, sizeof(is));
	poke(test, text, is, sizeof(is));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text + 64));
	KUNIT_EXPECT_FALSE(test, point->gone);
	KUNIT_EXPECT_FALSE(test, point->debugger);
	KUNIT_EXPECT_FALSE(test, point->mutable);

	/* And next to it, what it wants. */
	memset(is, 0x11, sizeof(is));
	poke(test, text, is, 64);
	poke(test, text + 64 + sizeof(uprobe_opcode_t), is, 32);
	KUNIT_EXPECT_FALSE(test, point->gone);
	KUNIT_EXPECT_TRUE(test, in_table(umm, text + 64));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text + 64));
}

static void debuggers_text_wins(struct kunit *test)
{
	unsigned long text = map_text(test);
	struct uprobes_mm *umm = make_umm(test);
	struct probepoint *first = arm(test, umm, text);
	struct probepoint *last = arm(test, umm, text + 32);
	struct probepoint *other = arm(test, umm, text + 64);
	u8 text_now[64], nops[64];

	memset(nops, 0x11, sizeof(nops));
	poke(test, text, nops, sizeof(nops));
	KUNIT_ASSERT_EQ(test, 0, copy_from_user(text_now, (void __user *)text,
						sizeof(text_now)));
	KUNIT_EXPECT_MEMEQ(test, text_now, nops, sizeof(nops));
	KUNIT_EXPECT_TRUE(test, first->gone);
	KUNIT_EXPECT_TRUE(test, last->gone);
	KUNIT_EXPECT_FALSE(test, in_table(umm, text + 32));
	KUNIT_EXPECT_FALSE(test, other->gone);
}

#ifdef CONFIG_X86
/* Behind the breakpoint, which stays. */
static void debugger_changes_the_instruction(struct kunit *test)
{
	unsigned long text = map_text(test);
	struct probepoint *point = arm(test, make_umm(test), text);
	u8 bytes[4];

	memset(point->arch.insn, FILL, 4);
	point->arch.how.len = 4;
	memset(bytes, FILL, sizeof(bytes));
	poke(test, text + 1, bytes, 3);
	KUNIT_EXPECT_FALSE(test, point->mutable);
	bytes[0] = 0x11;
	poke(test, text + 4, bytes, 1);
	KUNIT_EXPECT_FALSE(test, point->mutable);
	poke(test, text + 3, bytes, 1);
	KUNIT_EXPECT_TRUE(test, point->mutable);
	KUNIT_EXPECT_FALSE(test, point->gone);
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text));
}
#endif

static void debuggers_breakpoint_outlives_ours(struct kunit *test)
{
	struct uprobe *u = zalloc(test, sizeof(*u));
	unsigned long text = map_text(test);
	struct uprobes_mm *umm = make_umm(test);
	struct pt_regs regs, before;

	u->handler = never_runs;
	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text, fill_opcode(),
					     UPROBE_SWBP_INSN));
	list_probe(test, add_engines_probe(test, umm, text, u));
	poke_opcode(test, text, UPROBE_SWBP_INSN);
	unregister_uprobe(u);
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text));
	trap(&regs, text);
	before = regs;
	take_hit(test, &regs);
	KUNIT_EXPECT_MEMEQ(test, &regs, &before, sizeof(regs));
	KUNIT_EXPECT_TRUE(test, has_sigtrap());
}

static void removal_takes_the_breakpoint(struct kunit *test)
{
	struct uprobe *u = zalloc(test, sizeof(*u));
	unsigned long text = map_text(test);
	struct uprobes_mm *umm = make_umm(test);
	int refs = refcount_read(&umm->refs);

	u->handler = never_runs;
	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text, fill_opcode(),
					     UPROBE_SWBP_INSN));
	list_probe(test, add_engines_probe(test, umm, text, u));
	unregister_uprobe(u);
	KUNIT_EXPECT_NULL(test, u->probe);
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text));
	KUNIT_EXPECT_FALSE(test, in_table(umm, text));
	KUNIT_EXPECT_TRUE(test, list_empty(&umm->points));
	KUNIT_EXPECT_EQ(test, refs, refcount_read(&umm->refs));
}

/* The child of a debugged process is debugged as well. */
static void fork_copies_the_debuggers_breakpoint(struct kunit *test)
{
	unsigned long text = map_text(test);
	struct uprobes_mm *umm = make_umm(test);

	arm(test, umm, text);
	arm(test, umm, text + 64);
	poke_opcode(test, text, UPROBE_SWBP_INSN);
	fork_begins(current->mm);
	uprobe_end_dup_mmap();
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text));
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text + 64));
}

static void debugger_reads_return_addresses(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	unsigned long words[4], slot = slot_at(calls, 0), expected;
	u8 is[sizeof(u64)], *bytes = (u8 *)&expected;
	struct task_struct *other;

	need_slots(test);
	/* In a word of the stack without a call it means nothing. */
	set_word(test, slot + sizeof(long), calls->umm->trampoline);
	add_return_probe(test, f);
	call(test, f, slot);
	call(test, f, slot_at(calls, 1));
	other = become_other_thread(test);
	peek(test, slot - sizeof(long), words, sizeof(words));
	KUNIT_EXPECT_EQ(test, return_to(slot), words[1]);
	KUNIT_EXPECT_EQ(test, calls->umm->trampoline, words[2]);

	expected = return_to(slot);
	peek(test, slot + 1, is, 3);
	KUNIT_EXPECT_MEMEQ(test, is, bytes + 1, 3);
	peek(test, slot - 3, is, 5);
	KUNIT_EXPECT_MEMEQ(test, is + 3, bytes, 2);
	peek(test, slot + sizeof(long) - 3, is, sizeof(is));
	KUNIT_EXPECT_MEMEQ(test, is, bytes + sizeof(long) - 3, 3);

	/* The program has used it for something else. */
	set_word(test, slot_at(calls, 1), 1234);
	peek(test, slot_at(calls, 1), words, sizeof(long));
	KUNIT_EXPECT_EQ(test, 1234, words[0]);

	/* The stack outlives its thread. */
	uprobe_free_utask(other);
	peek(test, slot, words, sizeof(long));
	KUNIT_EXPECT_EQ(test, return_to(slot), words[0]);
}

static void debugger_writes_return_addresses(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long slot = slot_at(calls, 0), words[4], new = 1234;

	call(test, f, slot);
	/* What it read, all of it or a part, changes nothing. */
	peek(test, slot - sizeof(long), words, sizeof(words));
	poke(test, slot - sizeof(long), words, sizeof(words));
	KUNIT_EXPECT_TRUE(test, is_hijacked(test, slot));
	poke(test, slot + 2, (u8 *)&words[1] + 2, 3);
	KUNIT_EXPECT_TRUE(test, is_hijacked(test, slot));
	expect_return(test, slot);
	KUNIT_EXPECT_EQ(test, 1, calls->nr);

	call(test, f, slot);
	poke(test, slot, &new, sizeof(new));
	KUNIT_EXPECT_EQ(test, new, word_at(test, slot));
	KUNIT_EXPECT_EQ(test, new, return_from(test, slot));
	KUNIT_EXPECT_EQ(test, 1, calls->nr);

	/* The same, when it happens to be what was there. */
	new = return_to(slot);
	poke(test, slot, &new, sizeof(new));
	KUNIT_EXPECT_EQ(test, new, word_at(test, slot));
	uprobe_free_utask(current);
	KUNIT_EXPECT_EQ(test, 1, rp->u.nmissed);
}

/*
 * Calls of the API from handlers. A registration that is carried out fails, as
 * long as it is of a process that does not exist.
 */

/* What a registration_callback was called with. */
struct callback {
	struct uprobe *u;
	int reg;
	enum uprobe_type type;
	int result;
};

/**
 * struct object - what a handler registers or removes
 * @rp: stands for struct uprobe as well, that is its @u
 * @deferral: where it belongs to
 * @then: optional, called by the callback
 */
struct object {
	struct uretprobe rp;
	struct deferral *deferral;
	void (*then)(struct object *o);
};

/**
 * struct deferral - a handler and its objects, in test->priv
 * @text: where it runs
 * @caller: the probe of the handler
 * @point: its probepoint
 * @act: what the handler does
 * @o: objects
 * @nr: how many callbacks there were
 * @callbacks: with what arguments
 */
struct deferral {
	unsigned long text;
	struct uprobe caller;
	struct probepoint *point;
	void (*act)(struct kunit *test, struct deferral *d);
	struct object o[3];
	int nr;
	struct callback callbacks[MAX_LOG];
};

static void log_callback(struct uprobe *u, int reg, enum uprobe_type type,
			 int result)
{
	struct object *o = container_of(u, struct object, rp.u);
	struct deferral *d = o->deferral;

	if (d->nr < MAX_LOG)
		d->callbacks[d->nr] = (struct callback){ u, reg, type, result };
	d->nr++;
	if (o->then)
		o->then(o);
}

static void run_act(struct uprobe *u, struct pt_regs *regs)
{
	struct kunit *test = kunit_get_current_test();
	struct deferral *d = test->priv;

	d->act(test, d);
	instruction_pointer_set(regs, d->text + 64);
}

static void init_object(struct deferral *d, struct object *o)
{
	o->deferral = d;
	o->rp.u.pid = -1;
	o->rp.u.handler = never_runs;
	o->rp.u.registration_callback = log_callback;
	o->rp.handler = never_returns;
}

static struct deferral *start_deferral(struct kunit *test)
{
	struct deferral *d = zalloc(test, sizeof(*d));
	int i;

	for (i = 0; i < ARRAY_SIZE(d->o); i++)
		init_object(d, &d->o[i]);
	d->text = map_text(test);
	d->point = arm(test, make_umm(test), d->text);
	d->caller.handler = run_act;
	add_probe(test, d->point, &d->caller);
	test->priv = d;
	return d;
}

/* Unregistering it works. */
static struct probe *register_object(struct kunit *test, struct object *o)
{
	struct probe *probe;

	probe = add_probe(test, o->deferral->point, &o->rp.u);
	let_remove(test, probe);
	/* Its callback is called, its handler is not. */
	probe->disabled = true;
	return probe;
}

/* Let the handler @act, and carry out what it deferred. */
static void run_handler(struct kunit *test,
			void (*act)(struct kunit *test, struct deferral *d))
{
	struct deferral *d = test->priv;
	struct pt_regs regs;

	d->act = act;
	hit(test, &regs, d->text);
	KUNIT_EXPECT_EQ(test, d->text + 64, instruction_pointer(&regs));
	KUNIT_EXPECT_TRUE(test, list_empty(&current->utask->ops));
	KUNIT_EXPECT_FALSE(test, current->utask->handling);
}

static void expect_callback(struct kunit *test, int nr, struct object *o,
			    int reg, enum uprobe_type type, int result)
{
	struct deferral *d = test->priv;
	struct callback *callback = &d->callbacks[nr];

	KUNIT_ASSERT_GT(test, d->nr, nr);
	KUNIT_EXPECT_PTR_EQ_MSG(test, &o->rp.u, callback->u, "callback %d", nr);
	KUNIT_EXPECT_EQ_MSG(test, reg, callback->reg, "callback %d", nr);
	KUNIT_EXPECT_EQ_MSG(test, type, callback->type, "callback %d", nr);
	KUNIT_EXPECT_EQ_MSG(test, result, callback->result, "callback %d", nr);
}

static void defer_two(struct kunit *test, struct deferral *d)
{
	struct uprobe *u = &d->o[0].rp.u;
	int nr = d->nr;

	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uprobe(u));
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uretprobe(&d->o[1].rp));
	/* It is queued. */
	KUNIT_EXPECT_EQ(test, -EAGAIN, register_uprobe(u));
	KUNIT_EXPECT_EQ(test, -EINVAL, enable_uprobe(u));
	KUNIT_EXPECT_EQ(test, -EINVAL, disable_uprobe(u));
	KUNIT_EXPECT_EQ(test, nr, d->nr);
}

static void registration_is_deferred(struct kunit *test)
{
	struct deferral *d = start_deferral(test);

	run_handler(test, defer_two);
	KUNIT_EXPECT_EQ(test, 2, d->nr);
	expect_callback(test, 0, &d->o[0], 1, UPTY_UPROBE, -ESRCH);
	expect_callback(test, 1, &d->o[1], 1, UPTY_URETPROBE, -ESRCH);
	KUNIT_EXPECT_NULL(test, d->o[0].rp.u.probe);
	KUNIT_EXPECT_NULL(test, d->o[1].rp.u.probe);

	/* Not behind the handler, and they are idle. */
	KUNIT_EXPECT_EQ(test, -ESRCH, register_uprobe(&d->o[0].rp.u));
	KUNIT_EXPECT_EQ(test, 2, d->nr);
	run_handler(test, defer_two);
	KUNIT_EXPECT_EQ(test, 4, d->nr);
}

static void defer_without_callback(struct kunit *test, struct deferral *d)
{
	d->o[0].rp.u.registration_callback = NULL;
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uprobe(&d->o[0].rp.u));
}

static void callback_is_optional(struct kunit *test)
{
	struct deferral *d = start_deferral(test);

	run_handler(test, defer_without_callback);
	KUNIT_EXPECT_EQ(test, 0, d->nr);
	KUNIT_EXPECT_NULL(test, d->o[0].rp.u.probe);
}

static void defer_nonsense(struct kunit *test, struct deferral *d)
{
	struct uprobe *twice[] = { &d->o[0].rp.u, &d->o[0].rp.u };
	struct uprobe *hole[] = { &d->o[0].rp.u, NULL };
	struct uretprobe *rp = &d->o[1].rp;

	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobe(NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobes(NULL, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobes(twice, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobes(hole, 2));
	KUNIT_EXPECT_EQ(test, -EAGAIN, register_uprobes(twice, 2));
	KUNIT_EXPECT_NULL(test, d->o[0].rp.u.probe);

	rp->data_size = UPROBE_MAX_DATA + 1;
	KUNIT_EXPECT_EQ(test, -E2BIG, register_uretprobe(rp));
	rp->u.flags = BIT(31);
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uretprobe(rp));
	KUNIT_EXPECT_NULL(test, rp->u.probe);
	KUNIT_EXPECT_EQ(test, -EBUSY, register_uprobe(&d->o[2].rp.u));
	KUNIT_EXPECT_TRUE(test, list_empty(&current->utask->ops));
}

static void nonsense_is_refused_at_once(struct kunit *test)
{
	struct deferral *d = start_deferral(test);
	struct probe *probe = add_probe(test, d->point, &d->o[2].rp.u);

	probe->disabled = true;
	run_handler(test, defer_nonsense);
	KUNIT_EXPECT_EQ(test, 0, d->nr);
	KUNIT_EXPECT_PTR_EQ(test, probe, d->o[2].rp.u.probe);
}

static void defer_in_order(struct kunit *test, struct deferral *d)
{
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uprobe(&d->o[2].rp.u));
	unregister_uprobe(&d->o[1].rp.u);
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uretprobe(&d->o[0].rp));
	unregister_uretprobe(&d->o[0].rp);
	/* It is set until then, but not for long. */
	KUNIT_EXPECT_EQ(test, -EAGAIN, register_uprobe(&d->o[1].rp.u));
	KUNIT_EXPECT_EQ(test, 0, enable_uprobe(&d->o[1].rp.u));
	KUNIT_EXPECT_EQ(test, 0, disable_uprobe(&d->o[1].rp.u));
}

static void deferred_calls_keep_their_order(struct kunit *test)
{
	struct deferral *d = start_deferral(test);

	register_object(test, &d->o[1]);
	run_handler(test, defer_in_order);
	KUNIT_EXPECT_EQ(test, 4, d->nr);
	expect_callback(test, 0, &d->o[2], 1, UPTY_UPROBE, -ESRCH);
	expect_callback(test, 1, &d->o[1], 0, UPTY_UPROBE, 0);
	expect_callback(test, 2, &d->o[0], 1, UPTY_URETPROBE, -ESRCH);
	expect_callback(test, 3, &d->o[0], 0, UPTY_URETPROBE, 0);
	KUNIT_EXPECT_NULL(test, d->o[1].rp.u.probe);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&d->point->sites));
}

static void remove_thrice(struct kunit *test, struct deferral *d)
{
	struct uprobe *us[] = { &d->o[0].rp.u, NULL, &d->o[0].rp.u };

	unregister_uprobe(&d->o[0].rp.u);
	unregister_uprobes(us, ARRAY_SIZE(us));
	KUNIT_EXPECT_NOT_NULL(test, d->o[0].rp.u.probe);
}

static void removal_is_deferred_once(struct kunit *test)
{
	struct deferral *d = start_deferral(test);

	register_object(test, &d->o[0]);
	run_handler(test, remove_thrice);
	KUNIT_EXPECT_EQ(test, 1, d->nr);
	expect_callback(test, 0, &d->o[0], 0, UPTY_UPROBE, 0);
	KUNIT_EXPECT_NULL(test, d->o[0].rp.u.probe);
}

static void remove_idle(struct kunit *test, struct deferral *d)
{
	struct uprobe *us[] = { NULL, &d->o[0].rp.u };

	unregister_uprobe(NULL);
	unregister_uprobe(&d->o[0].rp.u);
	unregister_uretprobe(&d->o[1].rp);
	unregister_uprobes(us, ARRAY_SIZE(us));
	unregister_uprobes(us, -1);
	unregister_uprobes(NULL, 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&current->utask->ops));
}

static void removal_of_idle_objects_is_not_deferred(struct kunit *test)
{
	struct deferral *d = start_deferral(test);

	run_handler(test, remove_idle);
	KUNIT_EXPECT_EQ(test, 0, d->nr);
}

static void remove_caller(struct kunit *test, struct deferral *d)
{
	unregister_uprobe(&d->caller);
	KUNIT_EXPECT_FALSE(test, list_empty(&current->utask->ops));
}

static void probe_may_remove_itself(struct kunit *test)
{
	struct deferral *d = start_deferral(test);

	/* The breakpoint stays for another one. */
	add_probe(test, d->point, &d->o[0].rp.u)->disabled = true;
	let_remove(test, d->caller.probe);
	run_handler(test, remove_caller);
	KUNIT_EXPECT_NULL(test, d->caller.probe);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&d->point->sites));
}

/* It is not looked at again. */
static void overwrite_object(struct object *o)
{
	memset(o, FILL, sizeof(*o));
}

static void remove_first(struct kunit *test, struct deferral *d)
{
	unregister_uprobe(&d->o[0].rp.u);
	unregister_uretprobe(&d->o[1].rp);
}

static void removals_callback_may_free_the_object(struct kunit *test)
{
	struct deferral *d = start_deferral(test);
	struct object *o = &d->o[0];

	register_object(test, o);
	register_object(test, &d->o[1])->type = UPTY_URETPROBE;
	o->then = overwrite_object;
	run_handler(test, remove_first);
	KUNIT_EXPECT_EQ(test, 2, d->nr);
	expect_callback(test, 0, o, 0, UPTY_UPROBE, 0);
	expect_callback(test, 1, &d->o[1], 0, UPTY_URETPROBE, 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(o, FILL, sizeof(*o)));
}

static void defer_batch(struct kunit *test, struct deferral *d)
{
	struct uprobe *us[] = {
		&d->o[1].rp.u, &d->o[0].rp.u, &d->o[2].rp.u
	};

	KUNIT_EXPECT_EQ(test, -EINPROGRESS,
			register_uprobes(us, ARRAY_SIZE(us)));
	unregister_uprobe(&d->o[0].rp.u);
}

/* All are told the error of the first that could not be set. */
static void deferred_batch_fails_as_a_whole(struct kunit *test)
{
	struct deferral *d = start_deferral(test);
	int i;

	/* A kernel thread would be another error. */
	d->o[0].rp.u.pid = task_pid_vnr(current);
	run_handler(test, defer_batch);
	KUNIT_EXPECT_EQ(test, 4, d->nr);
	expect_callback(test, 0, &d->o[1], 1, UPTY_UPROBE, -ESRCH);
	expect_callback(test, 1, &d->o[0], 1, UPTY_UPROBE, -ESRCH);
	expect_callback(test, 2, &d->o[2], 1, UPTY_UPROBE, -ESRCH);
	expect_callback(test, 3, &d->o[0], 0, UPTY_UPROBE, 0);
	for (i = 0; i < ARRAY_SIZE(d->o); i++)
		KUNIT_EXPECT_NULL(test, d->o[i].rp.u.probe);
}

static void defer_two_registrations(struct kunit *test, struct deferral *d)
{
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uprobe(&d->o[0].rp.u));
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uprobe(&d->o[1].rp.u));
}

static void deferred_calls_fail_one_by_one(struct kunit *test)
{
	struct deferral *d = start_deferral(test);

	d->o[1].rp.u.pid = task_pid_vnr(current);
	run_handler(test, defer_two_registrations);
	KUNIT_EXPECT_EQ(test, 2, d->nr);
	expect_callback(test, 0, &d->o[0], 1, UPTY_UPROBE, -ESRCH);
	expect_callback(test, 1, &d->o[1], 1, UPTY_UPROBE, -EINVAL);
}

/**
 * struct removal - unregister_uprobe() by another thread
 * @work: in its queue
 * @u: of what
 */
struct removal {
	struct work_struct work;
	struct uprobe *u;
};

static void remove_fn(struct work_struct *work)
{
	unregister_uprobe(container_of(work, struct removal, work)->u);
}

static void remove_elsewhere(struct uprobe *u)
{
	struct removal removal = { .u = u };

	INIT_WORK_ONSTACK(&removal.work, remove_fn);
	queue_work(system_unbound_wq, &removal.work);
	flush_work(&removal.work);
	destroy_work_on_stack(&removal.work);
}

static void defer_and_cancel(struct kunit *test, struct deferral *d)
{
	struct uprobe *u = &d->o[0].rp.u;

	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uprobe(u));
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uretprobe(&d->o[1].rp));
	unregister_uprobe(u);
	remove_elsewhere(u);
	KUNIT_EXPECT_EQ(test, 2, d->nr);
	expect_callback(test, 0, &d->o[0], 1, UPTY_UPROBE, -ECANCELED);
	expect_callback(test, 1, &d->o[0], 0, UPTY_UPROBE, 0);
	KUNIT_EXPECT_NULL(test, u->probe);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&current->utask->ops));
}

static void queued_registration_is_cancelled(struct kunit *test)
{
	struct deferral *d = start_deferral(test);

	run_handler(test, defer_and_cancel);
	KUNIT_EXPECT_EQ(test, 3, d->nr);
	expect_callback(test, 2, &d->o[1], 1, UPTY_URETPROBE, -ESRCH);
}

static void register_again(struct object *o)
{
	struct kunit *test = kunit_get_current_test();

	o->then = NULL;
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uprobe(&o->rp.u));
	unregister_uprobe(&o->deferral->o[2].rp.u);
	/* This one and the other one that the handler registered. */
	KUNIT_EXPECT_EQ(test, 1, o->deferral->nr);
}

static void callbacks_defer_to_the_end(struct kunit *test)
{
	struct deferral *d = start_deferral(test);

	register_object(test, &d->o[2]);
	d->o[0].then = register_again;
	run_handler(test, defer_two_registrations);
	KUNIT_EXPECT_EQ(test, 4, d->nr);
	expect_callback(test, 0, &d->o[0], 1, UPTY_UPROBE, -ESRCH);
	expect_callback(test, 1, &d->o[1], 1, UPTY_UPROBE, -ESRCH);
	expect_callback(test, 2, &d->o[0], 1, UPTY_UPROBE, -ESRCH);
	expect_callback(test, 3, &d->o[2], 0, UPTY_UPROBE, 0);
}

static int defer_at_entry(struct uretprobe_instance *instance,
			  struct pt_regs *regs)
{
	struct object *o = container_of(instance->rp, struct object, rp);

	return register_uprobe(&o->deferral->o[0].rp.u) != -EINPROGRESS;
}

static void defer_at_return(struct uretprobe_instance *instance,
			    struct pt_regs *regs)
{
	struct object *o = container_of(instance->rp, struct object, rp);

	KUNIT_EXPECT_EQ(kunit_get_current_test(), 1, o->deferral->nr);
	KUNIT_EXPECT_EQ(kunit_get_current_test(), -EINPROGRESS,
			register_uprobe(&o->deferral->o[1].rp.u));
	log_return(instance, regs);
}

static void return_probes_handlers_defer(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct deferral *d = zalloc(test, sizeof(*d));
	unsigned long slot = slot_at(calls, 0);
	struct object *o = &d->o[2];
	int i;

	for (i = 0; i < ARRAY_SIZE(d->o); i++)
		init_object(d, &d->o[i]);
	o->rp.entry_handler = defer_at_entry;
	o->rp.handler = defer_at_return;
	add_probe(test, f, &o->rp.u)->type = UPTY_URETPROBE;

	call(test, f, slot);
	KUNIT_EXPECT_EQ(test, 1, d->nr);
	expect_return(test, slot);
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
	KUNIT_EXPECT_EQ(test, 2, d->nr);
	test->priv = d;
	expect_callback(test, 0, &d->o[0], 1, UPTY_UPROBE, -ESRCH);
	expect_callback(test, 1, &d->o[1], 1, UPTY_UPROBE, -ESRCH);
}

static void defer_init(struct kunit *test, struct deferral *d)
{
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, init_uretprobes(-1, 0));
	KUNIT_EXPECT_EQ(test, 0, current->utask->failed_init);
}

/* As if it had failed for another reason than what comes behind it. */
static void fail_init(struct kunit *test, struct deferral *d)
{
	current->utask->failed_pid = -1;
	current->utask->failed_init = -ENOSPC;
	d->o[2].rp.u.pid = INT_MAX;
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uprobe(&d->o[0].rp.u));
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uretprobe(&d->o[2].rp));
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uretprobe(&d->o[1].rp));
}

static void deferred_init_is_reported_later(struct kunit *test)
{
	struct deferral *d = start_deferral(test);

	run_handler(test, defer_init);
	KUNIT_EXPECT_EQ(test, -ESRCH, current->utask->failed_init);
	KUNIT_EXPECT_EQ(test, -1, current->utask->failed_pid);

	run_handler(test, fail_init);
	KUNIT_EXPECT_EQ(test, 3, d->nr);
	expect_callback(test, 0, &d->o[0], 1, UPTY_UPROBE, -ESRCH);
	expect_callback(test, 1, &d->o[2], 1, UPTY_URETPROBE, -ESRCH);
	expect_callback(test, 2, &d->o[1], 1, UPTY_URETPROBE, -ENOSPC);
	KUNIT_EXPECT_EQ(test, 0, current->utask->failed_init);
}

/* In a handler that was killed, say. */
static void end_of_thread_carries_out(struct kunit *test)
{
	struct deferral *d = start_deferral(test);
	struct uprobe_task *utask;

	utask = uprobe_make_task(current, umm_of(current->mm));
	utask->handling = true;
	register_object(test, &d->o[1]);
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uprobe(&d->o[0].rp.u));
	unregister_uprobe(&d->o[1].rp.u);
	KUNIT_EXPECT_EQ(test, 0, d->nr);
	uprobe_free_utask(current);
	KUNIT_EXPECT_EQ(test, 2, d->nr);
	expect_callback(test, 0, &d->o[0], 1, UPTY_UPROBE, -ESRCH);
	expect_callback(test, 1, &d->o[1], 0, UPTY_UPROBE, 0);
	KUNIT_EXPECT_EQ(test, -ESRCH, register_uprobe(&d->o[0].rp.u));
}

/*
 * Processes that are no kernel threads. They do nothing.
 */

/**
 * struct process - what keeps it alive
 * @pid: of which
 * @end: it may end
 * @gone: it does
 */
struct process {
	pid_t pid;
	struct completion end;
	struct completion gone;
};

static int process_fn(void *context)
{
	struct process *process = context;

	wait_for_completion(&process->end);
	complete(&process->gone);
	do_exit(0);
}

static void end_process(void *context)
{
	struct process *process = context;

	complete_all(&process->end);
	wait_for_completion(&process->gone);
	complete_all(&process->gone);
}

static struct process *make_process(struct kunit *test, unsigned long flags)
{
	struct process *process = zalloc(test, sizeof(*process));
	struct kernel_clone_args args = {
		.flags = flags | CLONE_UNTRACED,
		.exit_signal = SIGCHLD,
		.fn = process_fn,
		.fn_arg = process,
	};

	init_completion(&process->end);
	init_completion(&process->gone);
	process->pid = kernel_clone(&args);
	KUNIT_ASSERT_GT(test, process->pid, 0);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, end_process,
							   process));
	return process;
}

/* In our memory: what is registered for it is registered there. */
static pid_t start_process(struct kunit *test)
{
	return make_process(test, CLONE_VM)->pid;
}

static void put_mm(void *mm)
{
	mmput(mm);
}

/* A child of ours, with a copy of our memory. Its address space, too. */
static struct process *fork_child(struct kunit *test, struct mm_struct **mm)
{
	struct process *child = make_process(test, 0);
	struct task_struct *task = find_get_task_by_vpid(child->pid);

	KUNIT_ASSERT_NOT_NULL(test, task);
	*mm = get_task_mm(task);
	put_task_struct(task);
	KUNIT_ASSERT_NOT_NULL(test, *mm);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, put_mm, *mm));
	return child;
}

static unsigned long childs_word_at(struct kunit *test, struct mm_struct *mm,
				    unsigned long vaddr)
{
	unsigned long word;
	int len;

	mmap_read_lock(mm);
	len = uprobe_text_read(mm, vaddr, (u8 *)&word, sizeof(word));
	mmap_read_unlock(mm);
	KUNIT_ASSERT_EQ(test, sizeof(word), len);
	return word;
}

static uprobe_opcode_t childs_opcode_at(struct kunit *test,
					struct mm_struct *mm,
					unsigned long vaddr)
{
	unsigned long word = childs_word_at(test, mm, vaddr);

	return *(uprobe_opcode_t *)&word;
}

static void child_has_no_trace_of_us(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	unsigned long slot = slot_at(calls, 0);
	struct mm_struct *mm;

	need_slots(test);
	add_return_probe(test, f);
	call(test, f, slot);
	fork_child(test, &mm);
	KUNIT_EXPECT_EQ(test, fill_opcode(),
			childs_opcode_at(test, mm, f->vaddr));
	KUNIT_EXPECT_EQ(test, return_to(slot), childs_word_at(test, mm, slot));
	KUNIT_EXPECT_NULL(test, umm_of(mm));
	mmap_read_lock(mm);
	KUNIT_EXPECT_NULL(test, vma_lookup(mm, calls->umm->trampoline));
	mmap_read_unlock(mm);

	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, f->vaddr));
	KUNIT_EXPECT_TRUE(test, is_hijacked(test, slot));
	expect_return(test, slot);
	KUNIT_EXPECT_EQ(test, 1, calls->nr);
}

#ifndef CONFIG_X86	/* where it is on the stack */
/* Where a function keeps its return address is nobody's business but its own. */
static void child_returns_with_our_help(struct kunit *test)
{
	struct calls *calls = start_calls(test);
	struct probepoint *f = make_function(test, 0);
	struct uretprobe *rp = add_return_probe(test, f);
	unsigned long slot = slot_at(calls, 0), addr = 0;
	struct uprobes_mm *umm;
	struct mm_struct *mm;
	struct pt_regs regs;

	call(test, f, slot);
	set_word(test, slot, 1234);
	fork_child(test, &mm);
	umm = umm_of(mm);
	KUNIT_ASSERT_NOT_NULL(test, umm);
	KUNIT_EXPECT_EQ(test, calls->umm->trampoline, umm->trampoline);
	trap(&regs, umm->trampoline);
	set_stack_pointer(&regs, slot + RETURN_POPS);
	KUNIT_EXPECT_TRUE(test, uretprobe_find_return(umm, &regs, &addr));
	KUNIT_EXPECT_EQ(test, return_to(slot), addr);
	/* It belongs to the thread that the child has, and is not observed. */
	KUNIT_EXPECT_EQ(test, 0, umm->nr_orphans);
	KUNIT_EXPECT_EQ(test, 1, calls_in_progress());
	KUNIT_EXPECT_EQ(test, 0, rp->u.nmissed);
}
#endif

static void child_inherits_probes(struct kunit *test)
{
	struct uprobe *heir = zalloc(test, sizeof(*heir));
	struct uprobe *other = zalloc(test, sizeof(*other));
	unsigned long text = map_text(test);
	struct uprobes_mm *umm = make_umm(test);
	struct probe *probe;
	struct mm_struct *mm;

	heir->handler = never_runs;
	heir->vaddr = text;
	other->handler = never_runs;
	other->vaddr = text + 64;
	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text, fill_opcode(),
					     UPROBE_SWBP_INSN));
	probe = add_engines_probe(test, umm, text, heir);
	list_probe(test, probe);
	probe->inherit = true;
	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text + 64, fill_opcode(),
					     UPROBE_SWBP_INSN));
	list_probe(test, add_engines_probe(test, umm, text + 64, other));

	fork_child(test, &mm);
	KUNIT_EXPECT_EQ(test, 2, list_count_nodes(&probe->sites));
	KUNIT_EXPECT_EQ(test, 1, list_count_nodes(&other->probe->sites));
	KUNIT_EXPECT_EQ(test, 0, heir->nmissed);
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN,
			childs_opcode_at(test, mm, text));
	KUNIT_EXPECT_EQ(test, fill_opcode(),
			childs_opcode_at(test, mm, text + 64));

	unregister_uprobe(heir);
	unregister_uprobe(other);
	KUNIT_EXPECT_NULL(test, heir->probe);
	KUNIT_EXPECT_EQ(test, fill_opcode(), childs_opcode_at(test, mm, text));
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text));
}

static void inherited_probe_goes_with_the_child(struct kunit *test)
{
	struct uprobe *heir = zalloc(test, sizeof(*heir));
	unsigned long text = map_text(test);
	struct uprobes_mm *umm = make_umm(test);
	struct process *child;
	struct probe *probe;
	int i;

	heir->handler = never_runs;
	heir->vaddr = text;
	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text, fill_opcode(),
					     UPROBE_SWBP_INSN));
	probe = add_engines_probe(test, umm, text, heir);
	list_probe(test, probe);
	probe->inherit = true;

	child = make_process(test, 0);
	KUNIT_EXPECT_EQ(test, 2, list_count_nodes(&probe->sites));
	end_process(child);
	for (i = 0; i < 500 && !list_is_singular(&probe->sites); i++)
		msleep(20);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&probe->sites));
	KUNIT_EXPECT_PTR_EQ(test, probe, heir->probe);
	KUNIT_EXPECT_EQ(test, 0, disable_uprobe(heir));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text));
	unregister_uprobe(heir);
}

static int try_uprobe(pid_t pid, unsigned long vaddr)
{
	struct uprobe u = { .pid = pid, .vaddr = vaddr, .handler = never_runs };
	int ret = register_uprobe(&u);

	if (!ret)
		unregister_uprobe(&u);
	return ret;
}

static int try_uretprobe(pid_t pid, unsigned long vaddr)
{
	struct uretprobe rp = {
		.u.pid = pid,
		.u.vaddr = vaddr,
		.handler = never_returns,
	};
	int ret = register_uretprobe(&rp);

	if (!ret)
		unregister_uretprobe(&rp);
	return ret;
}

static void bad_address_is_refused(struct kunit *test)
{
	struct file *file = make_file(test);
	unsigned long text = map_text(test);
	pid_t pid = start_process(test);
	struct {
		unsigned long vaddr;
		int ret;
	} tries[] = {
		{ text, 0 },
		{ 0, -EINVAL },
		{ ULONG_MAX, -EINVAL },
		{ text + 2 * PAGE_SIZE, -EINVAL },
		{ map(test, NULL, 1, PROT_READ, MAP_PRIVATE), -EINVAL },
		{ map(test, file, 1, EXEC, MAP_PRIVATE), 0 },
		{ map(test, file, 1, EXEC, MAP_SHARED), -EOPNOTSUPP },
		/* Behind the end of the file. */
		{ map(test, file, 2, EXEC, MAP_PRIVATE) + PAGE_SIZE, -EIO },
		{ text + 64, -EEXIST },
		{ text, 0 },
	};
	int i;

	KUNIT_ASSERT_EQ(test, 0, swap_opcode(text + 64, fill_opcode(),
					     UPROBE_SWBP_INSN));
	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		KUNIT_EXPECT_EQ_MSG(test, tries[i].ret,
				    try_uprobe(pid, tries[i].vaddr),
				    "try %d", i);
		KUNIT_EXPECT_EQ_MSG(test, tries[i].ret,
				    try_uretprobe(pid, tries[i].vaddr),
				    "try %d", i);
	}
	KUNIT_EXPECT_EQ(test, -EINVAL,
			try_uprobe(pid, uprobe_get_trampoline_vaddr()));
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text + 64));
}

static void batch_is_all_or_nothing(struct kunit *test)
{
	unsigned long text = map_text(test);
	pid_t pid = start_process(test);
	struct uprobe a = { pid, text, never_runs };
	struct uprobe b = { pid, text + 64, never_runs, .nmissed = 3 };
	struct uprobe bad = { pid, text + 2 * PAGE_SIZE, never_runs };
	struct uprobe *us[] = { &a, &b, &bad };

	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobes(us, 3));
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text));
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text + 64));
	KUNIT_EXPECT_NULL(test, a.probe);
	KUNIT_EXPECT_NULL(test, b.probe);

	KUNIT_EXPECT_EQ(test, 0, register_uprobes(us, 2));
	KUNIT_EXPECT_EQ(test, 0, b.nmissed);
	KUNIT_EXPECT_EQ(test, -EBUSY, register_uprobes(us + 1, 2));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text + 64));
	KUNIT_EXPECT_EQ(test, 0, disable_uprobe(&a));
	KUNIT_EXPECT_EQ(test, 0, enable_uprobe(&a));

	unregister_uprobes(us, 3);
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text));
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text + 64));
	KUNIT_EXPECT_NULL(test, a.probe);
	KUNIT_EXPECT_NULL(test, b.probe);
}

static void flags_are_heeded(struct kunit *test)
{
	unsigned long text = map_text(test);
	struct uprobe u = {
		.pid = start_process(test),
		.vaddr = text,
		.handler = never_runs,
		.flags = UPROBE_FLAG_DISABLED | UPROBE_FLAG_INHERIT,
	};

	KUNIT_ASSERT_EQ(test, 0, register_uprobe(&u));
	KUNIT_EXPECT_TRUE(test, u.probe->disabled);
	KUNIT_EXPECT_TRUE(test, u.probe->inherit);
	KUNIT_EXPECT_EQ(test, 0, enable_uprobe(&u));
	KUNIT_EXPECT_FALSE(test, u.probe->disabled);
	KUNIT_EXPECT_EQ(test, UPROBE_FLAG_INHERIT, u.flags);
	unregister_uprobe(&u);
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text));
}

static void init_chooses_the_trampoline(struct kunit *test)
{
	unsigned long text = map_text(test);
	pid_t pid = start_process(test);

	KUNIT_EXPECT_EQ(test, -EINVAL,
			init_uretprobes(pid, text + 2 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, 0, init_uretprobes(pid, text + 64));
	KUNIT_EXPECT_EQ(test, text + 64, uprobe_get_trampoline_vaddr());
	KUNIT_EXPECT_EQ(test, 0, try_uretprobe(pid, text));
	KUNIT_EXPECT_EQ(test, 0, init_uretprobes(pid, 0));
	KUNIT_EXPECT_EQ(test, -EEXIST, init_uretprobes(pid, text));
	/* A probe there comes and goes, the trampoline stays. */
	KUNIT_EXPECT_EQ(test, 0, try_uprobe(pid, text + 64));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, text + 64));
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, text));
}

static void defer_registrations(struct kunit *test, struct deferral *d)
{
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uprobe(&d->o[0].rp.u));
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, register_uretprobe(&d->o[1].rp));
	unregister_uprobe(&d->o[0].rp.u);
	KUNIT_EXPECT_EQ(test, UPROBE_NO_TRAMPOLINE_VADDR,
			uprobe_get_trampoline_vaddr());
}

/* The address space is new: it has to be mapped before the process starts. */
static struct deferral *start_deferral_for_process(struct kunit *test)
{
	struct deferral *d = start_deferral(test);
	pid_t pid = start_process(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(d->o); i++) {
		d->o[i].rp.u.pid = pid;
		d->o[i].rp.u.vaddr = d->text + PAGE_SIZE + i * 64;
	}
	return d;
}

static void deferred_calls_are_carried_out(struct kunit *test)
{
	struct deferral *d = start_deferral_for_process(test);
	struct uprobe *a = &d->o[0].rp.u, *b = &d->o[1].rp.u;

	run_handler(test, defer_registrations);
	KUNIT_EXPECT_EQ(test, 3, d->nr);
	expect_callback(test, 0, &d->o[0], 1, UPTY_UPROBE, 0);
	expect_callback(test, 1, &d->o[1], 1, UPTY_URETPROBE, 0);
	expect_callback(test, 2, &d->o[0], 0, UPTY_UPROBE, 0);
	KUNIT_EXPECT_NULL(test, a->probe);
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, a->vaddr));
	KUNIT_EXPECT_NE(test, UPROBE_NO_TRAMPOLINE_VADDR,
			uprobe_get_trampoline_vaddr());
	KUNIT_EXPECT_EQ(test, -EBUSY, register_uretprobe(&d->o[1].rp));
	KUNIT_EXPECT_EQ(test, UPROBE_SWBP_INSN, opcode_at(test, b->vaddr));

	unregister_uretprobe(&d->o[1].rp);
	KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, b->vaddr));
	KUNIT_EXPECT_EQ(test, 3, d->nr);
}

static void deferred_batch_is_rolled_back(struct kunit *test)
{
	struct deferral *d = start_deferral_for_process(test);
	int i;

	/* The last one. */
	d->o[2].rp.u.vaddr = d->text + 2 * PAGE_SIZE;
	run_handler(test, defer_batch);
	KUNIT_EXPECT_EQ(test, 4, d->nr);
	expect_callback(test, 0, &d->o[1], 1, UPTY_UPROBE, -EINVAL);
	expect_callback(test, 1, &d->o[0], 1, UPTY_UPROBE, -EINVAL);
	expect_callback(test, 2, &d->o[2], 1, UPTY_UPROBE, -EINVAL);
	expect_callback(test, 3, &d->o[0], 0, UPTY_UPROBE, 0);
	for (i = 0; i < 2; i++) {
		struct uprobe *u = &d->o[i].rp.u;

		KUNIT_EXPECT_NULL(test, u->probe);
		KUNIT_EXPECT_EQ(test, fill_opcode(), opcode_at(test, u->vaddr));
	}
}

static struct kunit_case uprobes_cases[] = {
	KUNIT_CASE(bad_object_is_refused),
	KUNIT_CASE(bad_pid_is_refused),
	KUNIT_CASE(kernel_thread_is_refused),
	KUNIT_CASE(busy_object_is_refused),
	KUNIT_CASE(pending_object_is_refused),
	KUNIT_CASE(unregistered_object_is_left_alone),
	KUNIT_CASE(bad_batch_is_refused),
	KUNIT_CASE(bad_return_probe_is_refused),
	KUNIT_CASE(bad_init_is_refused),
	KUNIT_CASE(text_check_knows_mappings),
	KUNIT_CASE(generated_text_is_mutable),
	KUNIT_CASE(text_read_ends_with_the_mapping),
	KUNIT_CASE(text_swap_changes_one_opcode),
	KUNIT_CASE(text_swap_respects_what_is_there),
	KUNIT_CASE(text_swap_spares_the_file),
	KUNIT_CASE(text_share_drops_what_is_like_the_file),
	KUNIT_CASE(text_share_keeps_what_can_change),
	KUNIT_CASE(copies_stand_in_the_process),
	KUNIT_CASE(slot_is_used_again),
	KUNIT_CASE(area_grows),
	KUNIT_CASE(unmapped_area_is_not_used),
	KUNIT_CASE(area_needs_room),
	KUNIT_CASE(handlers_run_in_order),
	KUNIT_CASE(handlers_of_others_do_not_run),
	KUNIT_CASE(trap_of_others_is_theirs),
	KUNIT_CASE(late_trap_goes_back),
	KUNIT_CASE(hit_without_copy_is_missed),
	KUNIT_CASE(zap_takes_the_range),
	KUNIT_CASE(mremap_leaves_no_breakpoint),
	KUNIT_CASE(fork_cleans_the_child),
	KUNIT_CASE(fork_that_fails_cleans_nothing),
	KUNIT_CASE(fork_may_leave_text_behind),
	KUNIT_CASE(exit_takes_the_probes),
	KUNIT_CASE(calls_return_to_their_callers),
	KUNIT_CASE(jump_makes_no_new_call),
	KUNIT_CASE(jumps_are_limited),
	KUNIT_CASE(left_calls_are_dropped_by_a_return),
	KUNIT_CASE(left_calls_are_dropped_by_an_entry),
	KUNIT_CASE(slot_is_that_of_the_last_call),
	KUNIT_CASE(calls_on_another_stack_stay),
	KUNIT_CASE(signal_stack_is_a_stack),
	KUNIT_CASE(too_many_calls_are_missed),
	KUNIT_CASE(left_calls_make_room),
	KUNIT_CASE(overwritten_calls_make_room),
	KUNIT_CASE(maxactive_is_for_all_threads),
	KUNIT_CASE(left_call_is_not_active),
	KUNIT_CASE(entry_handler_skips),
	KUNIT_CASE(calls_have_their_own_data),
	KUNIT_CASE(handlers_may_change_the_return),
	KUNIT_CASE(handler_may_end_the_call),
	KUNIT_CASE(disabled_return_probe_rests),
	KUNIT_CASE(all_handlers_can_be_switched_off),
	KUNIT_CASE(removed_probe_leaves_the_call),
	KUNIT_CASE(removed_probe_has_no_instances),
	KUNIT_CASE(dying_probe_is_not_called),
	KUNIT_CASE(calls_of_another_thread_return),
	KUNIT_CASE(slot_is_that_of_the_last_thread),
	KUNIT_CASE(jump_on_another_threads_stack_is_missed),
	KUNIT_CASE(call_of_another_process_stays),
	KUNIT_CASE(end_of_thread_is_counted),
	KUNIT_CASE(calls_outlive_their_thread),
	KUNIT_CASE(few_calls_outlive_their_thread),
	KUNIT_CASE(return_may_pop_more),
	KUNIT_CASE(overwritten_slot_is_not_popped),
	KUNIT_CASE(slot_may_be_overwritten_at_last),
	KUNIT_CASE(unmapped_slot_is_not_popped),
	KUNIT_CASE(exact_return_comes_first),
	KUNIT_CASE(jump_to_the_trampoline_is_a_breakpoint),
	KUNIT_CASE(unusable_stack_is_missed),
	KUNIT_CASE(unmapped_trampoline_is_not_used),
	KUNIT_CASE(calls_return_without_the_trampoline),
	KUNIT_CASE(trampoline_is_set_once),
	KUNIT_CASE(trampoline_may_be_the_programs),
	KUNIT_CASE(programs_trampoline_works),
	KUNIT_CASE(lost_trampoline_is_replaced),
	KUNIT_CASE(stack_walk_finds_real_addresses),
	KUNIT_CASE(thread_is_not_at_the_trampoline),
	KUNIT_CASE(signal_does_not_come_at_the_trampoline),
	KUNIT_CASE(child_in_our_memory_returns),
	KUNIT_CASE(child_on_our_stack_has_no_copies),
	KUNIT_CASE(fork_cleans_the_childs_stacks),
	KUNIT_CASE(fork_sees_other_threads),
	KUNIT_CASE(fork_spares_a_shared_stack),
	KUNIT_CASE(debugger_reads_no_breakpoint),
	KUNIT_CASE(debugger_reads_next_to_a_breakpoint),
	KUNIT_CASE(debuggers_breakpoint_comes_first),
	KUNIT_CASE(debugger_writes_what_it_read),
	KUNIT_CASE(debuggers_text_wins),
#ifdef CONFIG_X86
	KUNIT_CASE(debugger_changes_the_instruction),
#endif
	KUNIT_CASE(debuggers_breakpoint_outlives_ours),
	KUNIT_CASE(removal_takes_the_breakpoint),
	KUNIT_CASE(fork_copies_the_debuggers_breakpoint),
	KUNIT_CASE(debugger_reads_return_addresses),
	KUNIT_CASE(debugger_writes_return_addresses),
	KUNIT_CASE(registration_is_deferred),
	KUNIT_CASE(callback_is_optional),
	KUNIT_CASE(nonsense_is_refused_at_once),
	KUNIT_CASE(deferred_calls_keep_their_order),
	KUNIT_CASE(removal_is_deferred_once),
	KUNIT_CASE(removal_of_idle_objects_is_not_deferred),
	KUNIT_CASE(probe_may_remove_itself),
	KUNIT_CASE(removals_callback_may_free_the_object),
	KUNIT_CASE(deferred_batch_fails_as_a_whole),
	KUNIT_CASE(deferred_calls_fail_one_by_one),
	KUNIT_CASE(queued_registration_is_cancelled),
	KUNIT_CASE(callbacks_defer_to_the_end),
	KUNIT_CASE(return_probes_handlers_defer),
	KUNIT_CASE(deferred_init_is_reported_later),
	KUNIT_CASE(end_of_thread_carries_out),
	KUNIT_CASE(child_has_no_trace_of_us),
#ifndef CONFIG_X86
	KUNIT_CASE(child_returns_with_our_help),
#endif
	KUNIT_CASE(child_inherits_probes),
	KUNIT_CASE(inherited_probe_goes_with_the_child),
	KUNIT_CASE(bad_address_is_refused),
	KUNIT_CASE(batch_is_all_or_nothing),
	KUNIT_CASE(flags_are_heeded),
	KUNIT_CASE(init_chooses_the_trampoline),
	KUNIT_CASE(deferred_calls_are_carried_out),
	KUNIT_CASE(deferred_batch_is_rolled_back),
	{}
};

static struct kunit_suite uprobes_suite = {
	.name = "uprobes",
	.test_cases = uprobes_cases,
};

kunit_test_suite(uprobes_suite);

MODULE_DESCRIPTION("KUnit tests of user-space probes");
MODULE_LICENSE("GPL");
