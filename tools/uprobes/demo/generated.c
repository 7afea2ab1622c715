// SPDX-License-Identifier: GPL-2.0-only
/* Generates a function into anonymous memory, as a JIT compiler does. */

#include <err.h>
#include <string.h>
#include <sys/mman.h>
#include "demo.h"

/* The machine code of: long f(long n) { return n + 1; } */
static const unsigned char code[] = {
#if defined(__x86_64__)
	0x48, 0x8d, 0x47, 0x01,		/* lea 0x1(%rdi),%rax */
	0xc3,				/* ret */
#else
#error "add the machine code of this architecture"
#endif
};

demo_fn generate(void)
{
	char *p = mmap(NULL, sizeof(code), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "cannot map memory for code");
	memcpy(p, code, sizeof(code));
	__builtin___clear_cache(p, p + sizeof(code));
	if (mprotect(p, sizeof(code), PROT_READ | PROT_EXEC))
		err(1, "cannot make memory executable");
	return (demo_fn)p;
}
