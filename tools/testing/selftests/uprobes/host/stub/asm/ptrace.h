/* SPDX-License-Identifier: GPL-2.0-only */
/* struct pt_regs with the member names that the kernel uses */
#ifndef _HOST_ASM_PTRACE_H
#define _HOST_ASM_PTRACE_H

struct pt_regs {
	unsigned long r15;
	unsigned long r14;
	unsigned long r13;
	unsigned long r12;
	unsigned long bp;
	unsigned long bx;
	unsigned long r11;
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long cs;
	unsigned long flags;
	unsigned long sp;
	unsigned long ss;
};

#endif /* _HOST_ASM_PTRACE_H */
