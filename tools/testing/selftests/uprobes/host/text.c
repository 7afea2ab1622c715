// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the x86 instruction unit on the host: what of a program is code.
 *
 * The .text of a library written in assembler holds tables as well. The file
 * tells where its functions are, in .eh_frame_hdr and in its dynamic symbols;
 * those that it leaves out, as assembler may, are found by following jumps,
 * calls and pointers: what can be reached is code. What remains is for the
 * caller to look at.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <asm/insn.h>

#include "test.h"

/* Of each byte of the text */
#define FUNCTION	BIT(0)	/* the first one of a declared function */
#define DECLARED	BIT(1)	/* of a declared function */
#define REACHED		BIT(2)	/* of an instruction that something leads to */

/* DW_EH_PE_pcrel | DW_EH_PE_sdata4 and the like: what linkers write on x86 */
#define EH_FRAME_PTR	0x1b
#define EH_COUNT	0x03
#define EH_TABLE	0x3b

struct section {
	const u8	*bytes;
	size_t		size;
	unsigned long	addr;
	u32		type;
	const char	*name;
};

struct file {
	const u8	*bytes;
	size_t		size;
	bool		is_64bit;
	struct section	*sections;
	size_t		nr_sections;
};

static unsigned long field(const void *p, size_t size)
{
	unsigned long value = 0;

	memcpy(&value, p, size);
	return value;
}

/* What is read of the file's structures */
enum elf_member {
	EHDR_MACHINE,
	EHDR_ENTRY,
	EHDR_SHOFF,
	EHDR_SHNUM,
	EHDR_SHSTRNDX,
	SHDR_NAME,
	SHDR_TYPE,
	SHDR_ADDR,
	SHDR_OFFSET,
	SHDR_SIZE,
	SYM_INFO,
	SYM_VALUE,
	SYM_SIZE,
	REL_OFFSET,
	RELA_ADDEND,
};

/* In 32-bit and in 64-bit files: where it is, and how long */
static const struct {
	u8 offset, size;
} members[][2] = {
	[EHDR_MACHINE]	= { { 18, 2 }, { 18, 2 } },
	[EHDR_ENTRY]	= { { 24, 4 }, { 24, 8 } },
	[EHDR_SHOFF]	= { { 32, 4 }, { 40, 8 } },
	[EHDR_SHNUM]	= { { 48, 2 }, { 60, 2 } },
	[EHDR_SHSTRNDX]	= { { 50, 2 }, { 62, 2 } },
	[SHDR_NAME]	= { {  0, 4 }, {  0, 4 } },
	[SHDR_TYPE]	= { {  4, 4 }, {  4, 4 } },
	[SHDR_ADDR]	= { { 12, 4 }, { 16, 8 } },
	[SHDR_OFFSET]	= { { 16, 4 }, { 24, 8 } },
	[SHDR_SIZE]	= { { 20, 4 }, { 32, 8 } },
	[SYM_INFO]	= { { 12, 1 }, {  4, 1 } },
	[SYM_VALUE]	= { {  4, 4 }, {  8, 8 } },
	[SYM_SIZE]	= { {  8, 4 }, { 16, 8 } },
	[REL_OFFSET]	= { {  0, 4 }, {  0, 8 } },
	[RELA_ADDEND]	= { {  0, 0 }, { 16, 8 } },
};

/* The structures themselves; relocations have their addends in 64-bit files */
static const size_t ehdr_size = 64;
static const size_t shdr_size[] = { 40, 64 };
static const size_t sym_size[] = { 16, 24 };
static const size_t rel_size[] = { 8, 24 };

static unsigned long get(const struct file *f, const u8 *p,
			 enum elf_member member)
{
	return field(p + members[member][f->is_64bit].offset,
		     members[member][f->is_64bit].size);
}

static bool inside(const struct file *f, unsigned long offset, size_t size)
{
	return offset <= f->size && size <= f->size - offset;
}

static bool map_file(struct file *f, const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st = {};
	void *map;

	if (fd < 0 || fstat(fd, &st)) {
		fail("%s: %s", path, strerror(errno));
		return false;
	}
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		fail("%s: %s", path, strerror(errno));
	close(fd);
	if (map == MAP_FAILED)
		return false;
	f->bytes = map;
	f->size = st.st_size;
	return true;
}

static bool read_sections(struct file *f)
{
	const u8 *ident = f->bytes, *p;
	unsigned long offset, names, i;
	struct section *s;

	if (f->size < ehdr_size || memcmp(ident, ELFMAG, SELFMAG))
		return false;
	f->is_64bit = ident[EI_CLASS] == ELFCLASS64;
	if (get(f, ident, EHDR_MACHINE) != (f->is_64bit ? EM_X86_64 : EM_386))
		return false;

	offset = get(f, ident, EHDR_SHOFF);
	names = get(f, ident, EHDR_SHSTRNDX);
	f->nr_sections = get(f, ident, EHDR_SHNUM);
	if (!inside(f, offset, f->nr_sections * shdr_size[f->is_64bit]) ||
	    names >= f->nr_sections)
		return false;

	f->sections = calloc(f->nr_sections, sizeof(*s));
	if (!f->sections)
		abort();
	for (i = 0; i < f->nr_sections; i++) {
		p = f->bytes + offset + i * shdr_size[f->is_64bit];
		s = &f->sections[i];
		s->type = get(f, p, SHDR_TYPE);
		s->addr = get(f, p, SHDR_ADDR);
		if (s->type == SHT_NOBITS)
			continue;
		s->size = get(f, p, SHDR_SIZE);
		if (!inside(f, get(f, p, SHDR_OFFSET), s->size))
			return false;
		s->bytes = f->bytes + get(f, p, SHDR_OFFSET);
	}
	for (i = 0; i < f->nr_sections; i++) {
		p = f->bytes + offset + i * shdr_size[f->is_64bit];
		s = &f->sections[names];
		if (get(f, p, SHDR_NAME) >= s->size || s->bytes[s->size - 1])
			return false;
		f->sections[i].name = (const char *)s->bytes +
				      get(f, p, SHDR_NAME);
	}
	return true;
}

static const struct section *find_section(const struct file *f,
					  const char *name)
{
	size_t i;

	for (i = 0; i < f->nr_sections; i++)
		if (!strcmp(f->sections[i].name, name))
			return &f->sections[i];
	return NULL;
}

/* Of the file's memory image; NULL unless @size bytes are in one section */
static const u8 *at(const struct file *f, unsigned long addr, size_t size)
{
	const struct section *s;
	size_t i;

	for (i = 0; i < f->nr_sections; i++) {
		s = &f->sections[i];
		if (s->addr && addr >= s->addr && addr - s->addr <= s->size &&
		    size <= s->size - (addr - s->addr))
			return s->bytes + (addr - s->addr);
	}
	return NULL;
}

static bool in_text(const struct text *t, unsigned long addr)
{
	return addr >= t->vaddr && addr - t->vaddr < t->size;
}

static void declare(struct text *t, unsigned long start, size_t size)
{
	size_t i;

	if (!in_text(t, start))
		return;
	start -= t->vaddr;
	t->marks[start] |= FUNCTION;
	for (i = start; i < t->size && i - start < size; i++)
		t->marks[i] |= DECLARED;
}

/*
 * The table is a list of functions and where in .eh_frame each is described:
 * length, CIE, start, size. Two things say where one starts: they must agree.
 */
static bool declare_frames(struct text *t, const struct file *f)
{
	const struct section *hdr = find_section(f, ".eh_frame_hdr");
	const u8 *entry, *fde;
	unsigned long start, addr;
	size_t i, n;

	if (!hdr || hdr->size < 12 || hdr->bytes[1] != EH_FRAME_PTR ||
	    hdr->bytes[2] != EH_COUNT || hdr->bytes[3] != EH_TABLE)
		return false;
	n = field(hdr->bytes + 8, 4);
	if (n > (hdr->size - 12) / 8)
		return false;

	for (i = 0; i < n; i++) {
		entry = hdr->bytes + 12 + 8 * i;
		start = hdr->addr + (s32)field(entry, 4);
		addr = hdr->addr + (s32)field(entry + 4, 4);
		fde = at(f, addr, 16);
		if (!fde || addr + 8 + (s32)field(fde + 8, 4) != start)
			return false;
		declare(t, start, field(fde + 12, 4));
	}
	return true;
}

static void declare_symbols(struct text *t, const struct file *f)
{
	const struct section *s = find_section(f, ".dynsym");
	const u8 *p;
	size_t i;

	for (i = 0; s && i < s->size / sym_size[f->is_64bit]; i++) {
		p = s->bytes + i * sym_size[f->is_64bit];
		if (ELF64_ST_TYPE(get(f, p, SYM_INFO)) == STT_FUNC)
			declare(t, get(f, p, SYM_VALUE),
				get(f, p, SYM_SIZE));
	}
}

/* What can be reached: a stack of addresses that are yet to be followed */

struct todo {
	unsigned long	*addrs;
	size_t		n, room;
};

static void push(struct todo *todo, unsigned long addr)
{
	todo->addrs = grow(todo->addrs, todo->n, &todo->room, sizeof(addr));
	todo->addrs[todo->n++] = addr;
}

/* Functions, the entry point, and what the dynamic linker makes pointers of */
static void push_roots(struct todo *todo, const struct text *t,
		       const struct file *f)
{
	const struct section *s;
	const u8 *p, *addend;
	size_t i, k, size;

	for (i = 0; i < t->size; i++)
		if (t->marks[i] & FUNCTION)
			push(todo, t->vaddr + i);
	push(todo, get(f, f->bytes, EHDR_ENTRY));

	size = rel_size[f->is_64bit];
	for (i = 0; i < f->nr_sections; i++) {
		s = &f->sections[i];
		if (s->type != (f->is_64bit ? SHT_RELA : SHT_REL))
			continue;
		for (k = 0; k < s->size / size; k++) {
			p = s->bytes + k * size;
			if (f->is_64bit) {
				push(todo, get(f, p, RELA_ADDEND));
				continue;
			}
			addend = at(f, get(f, p, REL_OFFSET), 4);
			if (addend)
				push(todo, field(addend, 4));
		}
	}
}

static bool decode(struct insn *insn, const struct text *t, size_t i)
{
	size_t n = t->size - i;

	return !insn_decode(insn, t->bytes + i,
			    n < MAX_INSN_SIZE ? n : MAX_INSN_SIZE,
			    t->is_64bit ? INSN_MODE_64 : INSN_MODE_32);
}

static bool is_relative_branch(const struct insn *insn)
{
	u8 op = insn->opcode.bytes[0];

	if (insn->vex_prefix.nbytes)
		return false;
	if (op == 0x0f)
		return (insn->opcode.bytes[1] & 0xf0) == 0x80;
	return (op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xe3) ||
	       op == 0xe8 || op == 0xe9 || op == 0xeb;
}

/* Does nothing but a branch lead to what is behind it? */
static bool is_end(const struct insn *insn)
{
	u8 reg = X86_MODRM_REG(insn->modrm.bytes[0]);

	if (insn->vex_prefix.nbytes)
		return false;
	switch (insn->opcode.bytes[0]) {
	case 0x0f: /* ud2 */
		return insn->opcode.bytes[1] == 0x0b;
	case 0xc2: case 0xc3: /* ret */
	case 0xe9: case 0xeb: /* jmp */
	case 0xf4: /* hlt */
		return true;
	case 0xff: /* jmp */
		return reg == 4;
	}
	return false;
}

/* The whole of a declared function is code, whatever leads there */
static void follow(struct text *t, struct todo *todo, size_t i)
{
	struct insn insn;
	size_t end;

	while (i < t->size && !(t->marks[i] & REACHED) &&
	       decode(&insn, t, i)) {
		end = i + insn.length;
		if (is_relative_branch(&insn))
			push(todo, t->vaddr + end + insn.immediate.value);
		while (i < end)
			t->marks[i++] |= REACHED;
		if (is_end(&insn) && i < t->size &&
		    (t->marks[i] & (DECLARED | FUNCTION)) != DECLARED)
			return;
	}
}

static void follow_all(struct text *t, const struct file *f)
{
	struct todo todo = {};
	unsigned long addr;

	push_roots(&todo, t, f);
	while (todo.n) {
		addr = todo.addrs[--todo.n];
		if (in_text(t, addr))
			follow(t, &todo, addr - t->vaddr);
	}
	free(todo.addrs);
}

static bool is_code(const struct text *t, size_t i)
{
	return t->marks[i] & (DECLARED | REACHED);
}

static bool is_nop(const struct insn *insn)
{
	const u8 *op = insn->opcode.bytes;

	if (op[0] == 0x8d) /* lea 0(%esi), %esi */
		return insn->modrm.bytes[0] >> 6 && !insn->displacement.value;
	return op[0] == 0x90 || (op[0] == 0x0f && op[1] == 0x1f);
}

/* Up to code, or to where the assembler has aligned something with nops */
static size_t end_of_unknown(const struct text *t, size_t i)
{
	struct insn insn;
	bool aligned;
	size_t end;

	do {
		end = i + 1;
		aligned = false;
		if (decode(&insn, t, i)) {
			end = i + insn.length;
			aligned = is_nop(&insn) && !((t->vaddr + end) % 16);
		}
		while (i < end && !is_code(t, i))
			i++;
	} while (i == end && !aligned && i < t->size && !is_code(t, i));
	return i;
}

static size_t end_of_code(const struct text *t, size_t i)
{
	do {
		i++;
	} while (i < t->size && is_code(t, i) && !(t->marks[i] & FUNCTION));
	return i;
}

/*
 * Runs of code and of what is not known to be code, for a disassembler to
 * start afresh: it is out of step after a table.
 */
static void cut(struct text *t)
{
	size_t start, end, room = 0;

	for (start = 0; start < t->size; start = end) {
		end = is_code(t, start) ? end_of_code(t, start) :
					  end_of_unknown(t, start);
		t->runs = grow(t->runs, t->nr_runs, &room, sizeof(*t->runs));
		t->runs[t->nr_runs++] = (struct run){
			.bytes = t->bytes + start,
			.size = end - start,
			.vaddr = t->vaddr + start,
			.kind = is_code(t, start) ? RUN_CODE : RUN_UNKNOWN,
		};
	}
}

static bool find_text(struct text *t, const struct file *f, const char *path)
{
	const struct section *s = find_section(f, ".text");

	if (!s || s->type != SHT_PROGBITS || !s->size) {
		fail("%s: no .text", path);
		return false;
	}
	t->bytes = s->bytes;
	t->size = s->size;
	t->vaddr = s->addr;
	t->is_64bit = f->is_64bit;
	t->marks = calloc(t->size, 1);
	if (!t->marks)
		abort();
	declare_symbols(t, f);
	if (!declare_frames(t, f)) {
		fail("%s: no .eh_frame_hdr, or not as linkers write it", path);
		return false;
	}
	follow_all(t, f);
	cut(t);
	return true;
}

bool text_open(struct text *t, const char *path)
{
	struct file f = {};
	bool ok = false;

	memset(t, 0, sizeof(*t));
	if (!map_file(&f, path))
		return false;
	t->map = f.bytes;
	t->map_size = f.size;
	if (read_sections(&f))
		ok = find_text(t, &f, path);
	else
		fail("%s: not an x86 program or library", path);
	free(f.sections);
	if (!ok)
		text_close(t);
	return ok;
}

void text_close(struct text *t)
{
	free(t->runs);
	free(t->marks);
	munmap((void *)t->map, t->map_size);
}
