// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the engine behind user-space probes.
 *
 * Nothing here executes a program, so nothing is registered: a test thread is a
 * kernel thread, and those are refused. What a registration would have made
 * stands for it, in an address space that the test thread borrows. All that
 * takes a program is in tools/testing/selftests/uprobes, how instructions are
 * executed is tested there in host/.
 *
 * The tests are the same for all architectures: no instruction is executed,
 * since a handler that moves the instruction pointer has that effect.
 */

#include <kunit/test.h>
#include <kunit/test-bug.h>
#include <linux/bitmap.h>
#include <linux/cred.h>
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
#include <linux/security.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/uaccess.h>

#include "../uprobes.h"

/* What text is filled with; no instruction has to be behind it. */
#define FILL	0x5a

#define EXEC		(PROT_READ | PROT_EXEC)
#define WRITE_EXEC	(PROT_READ | PROT_WRITE | PROT_EXEC)

static void never_runs(struct uprobe *u, struct pt_regs *regs)
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
	struct uprobes_mm *umm = kzalloc(sizeof(*umm), GFP_KERNEL);

	if (!umm)
		kunit_skip(test, "no memory");
	if (init_srcu_struct(&umm->srcu)) {
		kfree(umm);
		kunit_skip(test, "no memory");
	}
	if (rhashtable_init(&umm->table, &table_params)) {
		cleanup_srcu_struct(&umm->srcu);
		kfree(umm);
		kunit_skip(test, "no memory");
	}
	refcount_set(&umm->refs, 1);
	mutex_init(&umm->mutex);
	spin_lock_init(&umm->lock);
	umm->mm = current->mm;
	umm->index = RB_ROOT;
	INIT_LIST_HEAD(&umm->points);
	INIT_LIST_HEAD(&umm->areas);
	current->mm->uprobes_state.xol_area = umm;
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
	INIT_LIST_HEAD(&point->probes);
	point->umm = umm;
	point->vaddr = vaddr;
	memcpy(point->arch.insn, &opcode, sizeof(opcode));
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

/* An armed probepoint without a probe. */
static struct probepoint *arm(struct kunit *test, struct uprobes_mm *umm,
			      unsigned long vaddr)
{
	struct probepoint *point = zalloc(test, sizeof(*point));

	init_point(point, umm, vaddr);
	KUNIT_ASSERT_EQ(test, 0, link_point(point));
	KUNIT_ASSERT_EQ(test, 0, swap_opcode(vaddr, fill_opcode(),
					     UPROBE_SWBP_INSN));
	return point;
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
	probe->u = u;
	probe->umm = point->umm;
	probe->tgid = task_tgid(current);
	probe->point = point;
	u->probe = probe;
	list_add_tail_rcu(&probe->node, &point->probes);
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
		.pid = 1,
		.handler = never_runs,
		.flags = UPROBE_FLAG_INHERIT,
	};

	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobe(NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobe(&no_handler));
	KUNIT_EXPECT_EQ(test, -EINVAL, register_uprobe(&unknown_flags));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, register_uprobe(&inherit));
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
	struct probe *registered = zalloc(test, sizeof(*registered));
	struct uprobe u = {
		.handler = never_runs,
		.nmissed = 3,
		.probe = registered,
	};
	struct uprobe *us[] = { &u };

	KUNIT_EXPECT_EQ(test, -EBUSY, register_uprobe(&u));
	KUNIT_EXPECT_EQ(test, -EBUSY, register_uprobes(us, 1));
	KUNIT_EXPECT_PTR_EQ(test, registered, u.probe);
	KUNIT_EXPECT_EQ(test, 3, u.nmissed);
}

static void pending_object_is_refused(struct kunit *test)
{
	struct probe *pending = ERR_PTR(-EAGAIN);
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

static void return_probes_are_refused(struct kunit *test)
{
	struct uretprobe rp = { .u.pid = 1 };
	struct uretprobe *rps[] = { &rp };

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, init_uretprobes(1, 0));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, register_uretprobe(&rp));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, register_uretprobes(rps, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, enable_uretprobe(&rp));
	KUNIT_EXPECT_EQ(test, -EINVAL, disable_uretprobe(&rp));
	unregister_uretprobe(&rp);
	unregister_uretprobes(rps, 1);
	KUNIT_EXPECT_PTR_EQ(test, NULL, rp.u.probe);
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
	memset(point->arch.ixol, copy, sizeof(point->arch.ixol));
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
		KUNIT_EXPECT_MEMEQ(test, is, points[i].arch.ixol, sizeof(is));
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

/* Registers as the breakpoint at @vaddr leaves them. */
static void trap(struct pt_regs *regs, unsigned long vaddr)
{
	memset(regs, 0, sizeof(*regs));
#ifdef CONFIG_X86_64
	regs->cs = __USER_CS;
#endif
	instruction_pointer_set(regs, vaddr);
	instruction_pointer_set(regs, 2 * vaddr - uprobe_get_swbp_addr(regs));
}

static void hit(struct kunit *test, struct pt_regs *regs, unsigned long vaddr)
{
	trap(regs, vaddr);
	KUNIT_ASSERT_EQ(test, 1, uprobe_pre_sstep_notifier(regs));
	KUNIT_ASSERT_TRUE(test, test_thread_flag(TIF_UPROBE));
	uprobe_notify_resume(regs);
	KUNIT_EXPECT_FALSE(test, test_thread_flag(TIF_UPROBE));
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
	probe->tgid = &init_struct_pid;
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

static void register_in_handler(struct uprobe *u, struct pt_regs *regs)
{
	struct kunit *test = kunit_get_current_test();
	struct uprobe other = { .pid = -1, .handler = never_runs };

	log_hit_and_go_on(u, regs);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, register_uprobe(&other));
	KUNIT_EXPECT_PTR_EQ(test, NULL, other.probe);
}

static void handler_cannot_register(struct kunit *test)
{
	struct uprobe other = { .pid = -1, .handler = never_runs };
	struct uprobe u = { .handler = register_in_handler };
	unsigned long text = map_text(test);
	struct hit_log *log = start_log(test, text + 64);
	struct pt_regs regs;

	add_probe(test, arm(test, make_umm(test), text), &u);
	hit(test, &regs, text);
	KUNIT_EXPECT_EQ(test, 1, log->nr);
	/* That was because of the handler. */
	KUNIT_EXPECT_EQ(test, -ESRCH, register_uprobe(&other));
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

	probe->u = u;
	probe->umm = umm;
	refcount_inc(&umm->refs);
	probe->tgid = get_pid(task_tgid(current));
	probe->point = point;
	INIT_LIST_HEAD(&probe->all);
	list_add_tail(&probe->node, &point->probes);
	u->probe = probe;
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

static struct kunit_case uprobes_cases[] = {
	KUNIT_CASE(bad_object_is_refused),
	KUNIT_CASE(bad_pid_is_refused),
	KUNIT_CASE(kernel_thread_is_refused),
	KUNIT_CASE(busy_object_is_refused),
	KUNIT_CASE(pending_object_is_refused),
	KUNIT_CASE(unregistered_object_is_left_alone),
	KUNIT_CASE(bad_batch_is_refused),
	KUNIT_CASE(return_probes_are_refused),
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
	KUNIT_CASE(handler_cannot_register),
	KUNIT_CASE(trap_of_others_is_theirs),
	KUNIT_CASE(late_trap_goes_back),
	KUNIT_CASE(hit_without_copy_is_missed),
	KUNIT_CASE(zap_takes_the_range),
	KUNIT_CASE(mremap_leaves_no_breakpoint),
	KUNIT_CASE(fork_cleans_the_child),
	KUNIT_CASE(fork_that_fails_cleans_nothing),
	KUNIT_CASE(fork_may_leave_text_behind),
	KUNIT_CASE(exit_takes_the_probes),
	{}
};

static struct kunit_suite uprobes_suite = {
	.name = "uprobes",
	.test_cases = uprobes_cases,
};

kunit_test_suite(uprobes_suite);

MODULE_DESCRIPTION("KUnit tests of user-space probes");
MODULE_LICENSE("GPL");
