// SPDX-License-Identifier: GPL-2.0-only
/* Generates a function into anonymous memory, as a JIT compiler does. */

#include <err.h>
#include <string.h>
#include <sys/mman.h>
#include "demo.h"

/* The machine code of: long f(long n) { return n + 1; } */
#if defined(__x86_64__)
static const unsigned char code[] = {
	0x48, 0x8d, 0x47, 0x01,		/* lea 0x1(%rdi),%rax */
	0xc3,				/* ret */
};
#elif defined(__i386__)
static const unsigned char code[] = {
	0x8b, 0x44, 0x24, 0x04,		/* mov 0x4(%esp),%eax */
	0x83, 0xc0, 0x01,		/* add $0x1,%eax */
	0xc3,				/* ret */
};
#elif defined(__powerpc__)
static const unsigned int code[] = {
	0x38630001,			/* addi r3,r3,1 */
	0x4e800020,			/* blr */
};
#elif defined(__aarch64__)
static const unsigned int code[] = {
	0x91000400,			/* add x0, x0, #1 */
	0xd65f03c0,			/* ret */
};
#else
#error "add the machine code of this architecture"
#endif

#if defined(_CALL_ELF) && _CALL_ELF == 1
/* A pointer to a function points to its address, its data, and a third word. */
static demo_fn as_function(char *p)
{
	static char *descriptor[3];

	descriptor[0] = p;
	return (demo_fn)descriptor;
}
#else
static demo_fn as_function(char *p)
{
	return (demo_fn)p;
}
#endif

demo_fn generate(const void **at)
{
	char *p = mmap(NULL, sizeof(code), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "cannot map memory for code");
	memcpy(p, code, sizeof(code));
	__builtin___clear_cache(p, p + sizeof(code));
	if (mprotect(p, sizeof(code), PROT_READ | PROT_EXEC))
		err(1, "cannot make memory executable");
	*at = p;
	return as_function(p);
}
