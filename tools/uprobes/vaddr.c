// SPDX-License-Identifier: GPL-2.0-only
/*
 * vaddr - where a function of a running process is
 *
 * usage: vaddr PID [OBJECT:]SYMBOL[+OFFSET]
 *
 * Prints the address to give to a module that calls register_uprobe().
 * OBJECT, the path of a mapped file or the last part of it, is needed only
 * where several mapped files define SYMBOL. Each file's .symtab is searched
 * first, and its .dynsym if that knows no such symbol. OFFSET is decimal, or
 * hexadecimal with 0x. Without one, and where a function has two entries, as on
 * powerpc, it is the one that all of its callers come by. Where the symbol of a
 * function is that of a descriptor, it stands for the code.
 *
 * The answer is an address or a refusal, never a guess: whatever leaves more
 * than one address to choose from is an error that names them.
 */

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define USAGE		"usage: vaddr PID [OBJECT:]SYMBOL[+OFFSET]"
#define DELETED		" (deleted)"
#define VERSION_HIDDEN	0x8000

/* One line of /proc/PID/maps that is executable and backed by a file. */
struct mapping {
	unsigned long start;
	unsigned long end;
	unsigned long pgoff;
	unsigned int major;
	unsigned int minor;
	unsigned long inode;
	char *path;
};

/* A symbol table, with what is needed to tell versions of a name apart. */
struct symtab {
	Elf *elf;
	Elf_Data *syms;
	Elf_Data *versym;
	Elf_Data *verdef;
	size_t strings;
	size_t version_strings;
};

struct candidate {
	unsigned long addr;
	unsigned long size;	/* what may be probed from addr on */
	bool ifunc;
	char *name;
};

static struct {
	int pid;
	const char *object;	/* NULL: any */
	const char *symbol;
	unsigned long offset;
} want;

static struct mapping *mappings;
static size_t nr_mappings;

static struct candidate *candidates;
static size_t nr_candidates;

/* What else is known about a symbol that turns out to have no address. */
static bool object_seen;
static bool data_seen;
static bool unmapped_seen;
static const struct mapping *unreadable;
static int unreadable_errno;

static bool parse_number(const char *s, unsigned long max, unsigned long *res)
{
	int base = 10;
	char *end;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
	}
	/* strtoul() would take a sign, a blank or a second prefix, too */
	if (!isxdigit((unsigned char)*s) || s[1] == 'x' || s[1] == 'X')
		return false;
	errno = 0;
	*res = strtoul(s, &end, base);
	return end != s && !*end && !errno && *res <= max;
}

static void parse_args(int argc, char **argv)
{
	unsigned long pid;
	char *p;

	if (argc != 3)
		errx(1, USAGE);
	if (!parse_number(argv[1], INT_MAX, &pid) || !pid)
		errx(1, "bad process id: %s", argv[1]);
	want.pid = pid;

	want.symbol = argv[2];
	p = strrchr(argv[2], ':');
	if (p) {
		*p = '\0';
		want.object = argv[2];
		want.symbol = p + 1;
	}
	p = strrchr(want.symbol, '+');
	if (p) {
		*p++ = '\0';
		if (!parse_number(p, ULONG_MAX, &want.offset))
			errx(1, "bad offset: %s", p);
	}
	if (!*want.symbol || (want.object && !*want.object))
		errx(1, USAGE);
}

static void add_mapping(const char *line)
{
	struct mapping m;
	char exec;
	int path;

	if (sscanf(line, "%lx-%lx %*c%*c%c%*c %lx %x:%x %lu %n", &m.start,
		   &m.end, &exec, &m.pgoff, &m.major, &m.minor, &m.inode,
		   &path) != 7)
		errx(1, "cannot understand /proc/%d/maps: %s", want.pid, line);
	if (exec != 'x' || !m.inode)
		return;
	m.path = strdup(line + path);
	mappings = realloc(mappings, (nr_mappings + 1) * sizeof(m));
	if (!m.path || !mappings)
		errx(1, "out of memory");
	mappings[nr_mappings++] = m;
}

static void read_mappings(void)
{
	char *line = NULL, path[64];
	size_t size = 0;
	bool any = false;
	ssize_t len;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", want.pid);
	f = fopen(path, "re");
	if (!f && (errno == ENOENT || errno == ESRCH))
		errx(1, "no such process: %d", want.pid);
	if (!f)
		err(1, "cannot read %s", path);
	while ((len = getline(&line, &size, f)) > 0) {
		any = true;
		line[len - 1] = '\0';
		add_mapping(line);
	}
	if (ferror(f))
		err(1, "cannot read %s", path);
	if (!any)
		errx(1, "process %d has no memory: it ended, or is a kernel thread",
		     want.pid);
	free(line);
	fclose(f);
}

static bool same_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->major == b->major &&
	       a->minor == b->minor;
}

static bool seen_before(const struct mapping *m)
{
	const struct mapping *prev;

	for (prev = mappings; prev < m; prev++)
		if (same_file(prev, m))
			return true;
	return false;
}

static bool is_wanted_object(const struct mapping *m)
{
	size_t len = strlen(m->path), cut = strlen(DELETED);
	const char *base = strrchr(m->path, '/');

	if (!want.object)
		return true;
	if (len > cut && !strcmp(m->path + len - cut, DELETED))
		len -= cut;
	base = base ? base + 1 : m->path;
	if (strlen(want.object) == len && !strncmp(m->path, want.object, len))
		return true;
	len -= base - m->path;
	return strlen(want.object) == len && !strncmp(base, want.object, len);
}

static int open_checked(const char *path, const struct mapping *m)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	/*
	 * The path may lead to a successor of the mapped file. The device is
	 * not compared: some filesystems show another one in stat().
	 */
	if (!fstat(fd, &st) && st.st_ino == m->inode)
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/*
 * map_files leads to the mapped file itself, deleted or not, but takes
 * privileges; the path and exe serve those who have none.
 */
static int open_object(const struct mapping *m)
{
	char path[PATH_MAX + 64];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", want.pid,
		 m->start, m->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/root%s", want.pid, m->path);
	fd = open_checked(path, m);
	if (fd >= 0)
		return fd;
	err = errno;
	snprintf(path, sizeof(path), "/proc/%d/exe", want.pid);
	fd = open_checked(path, m);
	if (fd < 0)
		errno = err;
	return fd;
}

/* The section of @type or NULL, and the index of its string table. */
static Elf_Data *find_section(Elf *elf, unsigned int type, size_t *strings)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != type)
			continue;
		if (strings)
			*strings = shdr.sh_link;
		return elf_getdata(scn, NULL);
	}
	return NULL;
}

static const char *version_name(const struct symtab *tab, unsigned int version)
{
	GElf_Verdaux aux;
	GElf_Verdef def;
	int offset = 0;

	while (gelf_getverdef(tab->verdef, offset, &def)) {
		if (def.vd_ndx == version && !(def.vd_flags & VER_FLG_BASE) &&
		    gelf_getverdaux(tab->verdef, offset + def.vd_aux, &aux))
			return elf_strptr(tab->elf, tab->version_strings,
					  aux.vda_name);
		if (!def.vd_next)
			break;
		offset += def.vd_next;
	}
	return NULL;
}

/* .symtab spells versions out: name@VERSION. Do likewise for .dynsym. */
static char *full_name(const struct symtab *tab, int i, const char *name)
{
	const char *version = NULL;
	GElf_Versym versym;
	char *full;

	if (gelf_getversym(tab->versym, i, &versym))
		version = version_name(tab, versym & ~VERSION_HIDDEN);
	if (asprintf(&full, "%s%s%s", name,
		     !version ? "" : versym & VERSION_HIDDEN ? "@" : "@@",
		     version ? version : "") < 0)
		errx(1, "out of memory");
	return full;
}

/* A name without a version stands for all versions of it. */
static bool is_wanted_symbol(const char *name)
{
	size_t len = strlen(want.symbol);

	return !strncmp(name, want.symbol, len) &&
	       (!name[len] || name[len] == '@');
}

/* The file offset of the code at @vaddr, false if there is no code. */
static bool code_offset(Elf *elf, GElf_Addr vaddr, unsigned long *offset)
{
	GElf_Phdr phdr;
	size_t i, nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &phdr) || phdr.p_type != PT_LOAD ||
		    vaddr < phdr.p_vaddr ||
		    vaddr - phdr.p_vaddr >= phdr.p_filesz)
			continue;
		*offset = vaddr - phdr.p_vaddr + phdr.p_offset;
		return phdr.p_flags & PF_X;
	}
	return false;
}

static void add_candidate(unsigned long addr, unsigned long room, bool ifunc,
			  const char *path, const char *name)
{
	struct candidate *c;

	for (c = candidates; c < candidates + nr_candidates; c++)
		if (c->addr == addr)
			return;
	candidates = realloc(candidates, (nr_candidates + 1) * sizeof(*c));
	if (!candidates)
		errx(1, "out of memory");
	c = candidates + nr_candidates++;
	c->addr = addr;
	c->size = room;
	c->ifunc = ifunc;
	if (asprintf(&c->name, "%s:%s", path, name) < 0)
		errx(1, "out of memory");
}

/*
 * Where the code of a symbol is: itself, but in the first ABI of powerpc the
 * symbol of a function is that of a descriptor, which begins with the address.
 */
static GElf_Addr code_vaddr(Elf *elf, const GElf_Sym *sym)
{
	Elf_Scn *scn = elf_getscn(elf, sym->st_shndx);
	const char *section = NULL;
	Elf_Data *data = NULL;
	GElf_Ehdr ehdr;
	GElf_Shdr shdr;
	size_t strings;

	if (!gelf_getehdr(elf, &ehdr) || ehdr.e_machine != EM_PPC64 ||
	    (ehdr.e_flags & EF_PPC64_ABI) == 2)
		return sym->st_value;
	if (gelf_getshdr(scn, &shdr) && !elf_getshdrstrndx(elf, &strings))
		section = elf_strptr(elf, strings, shdr.sh_name);
	if (section && !strcmp(section, ".opd"))
		data = elf_getdata_rawchunk(elf, sym->st_value - shdr.sh_addr +
					    shdr.sh_offset, sizeof(Elf64_Addr),
					    ELF_T_ADDR);
	return data ? *(Elf64_Addr *)data->d_buf : sym->st_value;
}

/*
 * How far behind its symbol a function begins for those who call it from its own
 * file: powerpc functions may begin by finding their data, which such a caller
 * has done for them. Whoever comes from elsewhere gets there as well.
 */
static unsigned int local_entry(Elf *elf, const GElf_Sym *sym)
{
	unsigned int code = sym->st_other >> 5;
	GElf_Ehdr ehdr;

	if (!gelf_getehdr(elf, &ehdr) || ehdr.e_machine != EM_PPC64 ||
	    (ehdr.e_flags & EF_PPC64_ABI) != 2)
		return 0;
	/* Of 1, too, the meaning is that both are the same. 7 has none. */
	return code < 2 || code > 6 ? 0 : 1U << code;
}

/* A file may be mapped at several places, and each of them counts. */
static void add_symbol(Elf *elf, const struct mapping *file,
		       const GElf_Sym *sym, const char *name)
{
	unsigned char type = GELF_ST_TYPE(sym->st_info);
	const struct mapping *m;
	unsigned long offset, addr, room;
	unsigned int skip;
	bool mapped = false;

	if ((type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC) ||
	    !code_offset(elf, code_vaddr(elf, sym), &offset)) {
		data_seen = true;
		return;
	}
	skip = want.offset ? 0 : local_entry(elf, sym);
	offset += skip;
	for (m = file; m < mappings + nr_mappings; m++) {
		if (!same_file(m, file) || offset < m->pgoff ||
		    offset - m->pgoff >= m->end - m->start)
			continue;
		mapped = true;
		addr = m->start + offset - m->pgoff;
		room = m->end - addr;
		if (sym->st_size > skip && sym->st_size - skip < room)
			room = sym->st_size - skip;
		add_candidate(addr, room, type == STT_GNU_IFUNC, file->path,
			      name);
	}
	if (!mapped)
		unmapped_seen = true;
}

static bool search_table(Elf *elf, unsigned int type,
			 const struct mapping *file)
{
	size_t bare = strcspn(want.symbol, "@");
	struct symtab tab = { .elf = elf };
	bool found = false;
	const char *name;
	GElf_Sym sym;
	char *full;
	int i;

	tab.syms = find_section(elf, type, &tab.strings);
	if (type == SHT_DYNSYM) {
		tab.versym = find_section(elf, SHT_GNU_versym, NULL);
		tab.verdef = find_section(elf, SHT_GNU_verdef,
					  &tab.version_strings);
	}
	for (i = 0; gelf_getsym(tab.syms, i, &sym); i++) {
		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS)
			continue;
		name = elf_strptr(elf, tab.strings, sym.st_name);
		if (!name || strncmp(name, want.symbol, bare))
			continue;
		full = full_name(&tab, i, name);
		if (is_wanted_symbol(full)) {
			add_symbol(elf, file, &sym, full);
			found = true;
		}
		free(full);
	}
	return found;
}

static void search_object(const struct mapping *file)
{
	int fd = open_object(file);
	Elf *elf;

	if (fd < 0) {
		unreadable = file;
		unreadable_errno = errno;
		return;
	}
	/* what is no ELF file, a cache of generated code say, has no symbols */
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && !search_table(elf, SHT_SYMTAB, file))
		search_table(elf, SHT_DYNSYM, file);
	elf_end(elf);
	close(fd);
}

static void report_nothing(void)
{
	if (want.object && !object_seen)
		errx(1, "process %d maps no executable file %s", want.pid,
		     want.object);
	if (data_seen)
		errx(1, "%s is data, not code", want.symbol);
	if (unmapped_seen)
		errx(1, "%s is not in executable memory of process %d",
		     want.symbol, want.pid);
	if (unreadable)
		errx(1, "no symbol %s in process %d, but cannot read %s: %s",
		     want.symbol, want.pid, unreadable->path,
		     strerror(unreadable_errno));
	errx(1, "no symbol %s in %s%sprocess %d", want.symbol,
	     want.object ? want.object : "", want.object ? " of " : "",
	     want.pid);
}

static void report_ambiguity(void)
{
	const struct candidate *c;

	fprintf(stderr, "vaddr: %s is ambiguous, take one of:", want.symbol);
	for (c = candidates; c < candidates + nr_candidates; c++)
		fprintf(stderr, " %s (0x%lx%s)", c->name, c->addr,
			c->ifunc ? ", IFUNC" : "");
	fputc('\n', stderr);
	exit(1);
}

int main(int argc, char **argv)
{
	const struct mapping *m;

	parse_args(argc, argv);
	read_mappings();
	elf_version(EV_CURRENT);
	for (m = mappings; m < mappings + nr_mappings; m++) {
		if (!is_wanted_object(m))
			continue;
		object_seen = true;
		if (!seen_before(m))
			search_object(m);
	}

	if (!nr_candidates)
		report_nothing();
	if (nr_candidates > 1)
		report_ambiguity();
	if (candidates->ifunc)
		errx(1, "%s is an IFUNC (resolver at 0x%lx): name the function that it chose",
		     candidates->name, candidates->addr);
	if (want.offset >= candidates->size)
		errx(1, "bad offset: %s ends after 0x%lx bytes",
		     candidates->name, candidates->size);
	if (printf("0x%lx\n", candidates->addr + want.offset) < 0 ||
	    fflush(stdout))
		err(1, "cannot write the address");
	return 0;
}
