/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _VM86_H
#define _VM86_H

#include <asm/vm86.h>

/* In assembler: what vm86(2) returns, and the address of the system call. */
long enter_vm86(struct vm86plus_struct *vm86);
extern char vm86_syscall[];

#endif /* _VM86_H */
