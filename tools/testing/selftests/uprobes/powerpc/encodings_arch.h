/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The differential tester: what it knows about instructions and registers.
 */
#ifndef _ENCODINGS_ARCH_H
#define _ENCODINGS_ARCH_H

#include <stdbool.h>
#include <linux/audit.h>
#include <linux/types.h>

#define MAX_INSN	8
#define INSN_UNIT	4
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_AUDIT_ARCH	AUDIT_ARCH_PPC64LE
#define IN_ORDER(i)	((i) ^ 3)
#else
#ifdef _LP64
#define OWN_AUDIT_ARCH	AUDIT_ARCH_PPC64
#else
#define OWN_AUDIT_ARCH	AUDIT_ARCH_PPC
#endif
#define IN_ORDER(i)	(i)
#endif
#define FILL		0	/* illegal, now and for ever */

/* So far that what makes a reservation has nothing to do with another case. */
#define STRIDE		1024
#define IN_STRIDE	512

/* Each primary opcode has its place among so many cases. */
#define ROUND		16

struct parts {
	__u32 word;	/* the suffix, if there is a prefix */
	__u32 prefix;	/* or 0 */
	__u8 len;
};

/* A state of the CPU, but for the FPU and the vector units. */
struct state {
	__u64 gpr[32];
	__u64 ctr;
	__u64 link;
	__u64 xer;
	__u64 ccr;
	bool fpu_traps;
};

#define NGREGS	48

struct registers {
	__u64 gregs[NGREGS];	/* sigcontext */
	__u64 fpregs[33];	/* with FPSCR */
	__u64 vmx[33][2];	/* with VSCR */
	__u64 vrsave;
	__u64 vsx[32];		/* the other halves of the first 32 */
	__u64 uc_mask;
	__u64 tar;
	__u64 dscr;
};

/* encodings_enter.S */
void sandbox_enter(void *frame);

#endif /* _ENCODINGS_ARCH_H */
