/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The differential tester: what it knows about instructions and registers, in
 * 64 bits and, compiled for i386, in 32.
 */
#ifndef _ENCODINGS_ARCH_H
#define _ENCODINGS_ARCH_H

#include <stdbool.h>
#include <linux/audit.h>
#include <linux/types.h>

#ifdef __x86_64__
#define IS_64BIT	true
#define NGPRS		16
#define NGREGS		23
#define OWN_AUDIT_ARCH	AUDIT_ARCH_X86_64
#else
#define IS_64BIT	false
#define NGPRS		8
#define NGREGS		21	/* with those that are behind them */
#define OWN_AUDIT_ARCH	AUDIT_ARCH_I386
#endif

#define MAX_INSN	15
#define INSN_UNIT	1
#define IN_ORDER(i)	(i)
#define FILL		0xf4	/* hlt, which faults */

/* There is FILL around as far as a branch of 8 bits can reach. */
#define STRIDE		288
#define IN_STRIDE	136

/* In 32-bit code they are set, or it would not be VEX; and one for QEMU. */
#define VEX_BITS	(IS_64BIT ? 0 : 0xe0)

/* Each map of opcodes has its place among so many cases. */
#define ROUND		16

/*
 * In 32 bits there is no place where nothing could be. The tester is linked to
 * be from TESTER on, its stack and the libraries are below TOP, and nothing
 * generated leads to the 256 MB around. Random addresses are of the bits AFAR,
 * and remain safe when the base of a segment is added.
 */
#define TESTER		0x54000000U	/* see Makefile */
#define TOP		0xffffe000U
#define AFAR		0x8fffffffU

/* The page at WINDOW is there as well, for addresses of 16 bits. */
#define LOW_WINDOW	0x8000UL

#define NO_REG	0xff

/* What is where in an instruction; offsets are 0 where there is no such part */
struct parts {
	__u8 map;	/* 0: one byte, 1: 0f, 2: 0f 38, 3: 0f 3a */
	__u8 opcode;
	__u8 opcode_at;
	__u8 modrm_at;
	__u8 disp_at;
	__u8 disp_size;
	__u8 imm_at;
	__u8 imm_size;
	__u8 len;
	__u8 base;	/* registers of a memory operand, or NO_REG */
	__u8 index;
	bool vex;	/* or EVEX */
	__u8 vex_l_pp;	/* bits L and pp */
	bool lock;
	bool repe;
	bool opsize;
	bool addrsize;
	bool fs;
	bool gs;
};

/* A state of the CPU, but for the FPU. */
struct state {
	__u64 gpr[NGPRS];	/* by their numbers */
	__u64 flags;
	__u64 fs_base;
	__u64 gs_base;
	/* Selectors, in 32 bits only. */
	__u16 ds;
	__u16 es;
	__u16 fs;
	__u16 gs;
};

#define FSAVE_SIZE	112	/* of 32 bits, before the rest */
#define XSTATE_MAX	2560

struct registers {
	__u64 gregs[NGREGS];	/* sigcontext */
	__u64 uc_flags;
	__u64 uc_mask;
#ifdef __x86_64__
	__u64 fs_base;
	__u64 gs_base;
	__u16 segments[4];	/* ds, es, fs, gs */
#else
	__u64 fsave[FSAVE_SIZE / 8];
#endif
	__u64 xstate[XSTATE_MAX / 8];
};

/* In 32 bits: segments that an instruction may find. */
enum {
	SEGMENT_NULL,
	SEGMENT_FLAT,
	SEGMENT_FS,
	SEGMENT_GS,
	NSEGMENTS
};

struct segment {
	__u16 selector;
	__u32 base;
};

extern struct segment segments[NSEGMENTS];

/*
 * encodings_fpu.c: floating point and vectors in a frame. @state is what
 * fpregs of one points to.
 */
struct rng;

void *take_fpu(const void *state);
void fill_fpu(struct rng *r);
void leave_fpu(__u64 *xstate, const void *state);

/* encodings_enter.S; these are flags that the frame cannot set. */
void sandbox_enter(void *frame, unsigned long flags);
void sandbox_syscall(void);	/* in 32 bits */

#endif /* _ENCODINGS_ARCH_H */
