/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests have to know of the architecture: see machine.h. */
#ifndef _POWERPC_MACHINE_H
#define _POWERPC_MACHINE_H

#include <asm/ptrace.h>

#define opcode_t	__u32
#define BREAKPOINT	0x7fe00008
#define RETURN		0x4e800020
#define NOP_SIZE	4
#define INSNS_ARE_WORDS	true
#define KERNEL_ADDRESS	0xc000000000100000
#if defined(_CALL_ELF) && _CALL_ELF == 1
#define DESCRIPTORS	true
#else
#define DESCRIPTORS	false
#endif

#define TRAP_CODE	TRAP_BRKPT
#define TRAP_PASSES	false
#define TRACE_FLAGS	0x600	/* MSR_SE and MSR_BE */
#define TRACES_ITSELF	false

#define RETURN_POPS	0
#define RETURNS_IN_MEMORY	false	/* but in the link register, at entry */
#define SLOTS_KNOWN	true
#define REFUSED		EOPNOTSUPP
#define BEHIND_COPY	SIGTRAP
#define CHAIN_SKIPS	0

#define REGS		struct pt_regs
#define REGS_IP		nip
#define REGS_SP		gpr[1]
#define REGS_CALL	gpr[0]
#define REGS_LINK	link

#define ADD_SIZE	12
#define SUB_SIZE	8
#define TAIL_CALL_SIZE	(DESCRIPTORS ? 20 : 16)

#ifdef __LP64__
#define ADDRESS_END	0x400000000000	/* with pages of 4K */
#define TWO_ENTRIES	true
#define RETURN_SLOT	16
#define CONTEXT_IP	gp_regs[PT_NIP]
#define CONTEXT_SP	gp_regs[PT_R1]
#define GDB_STACK	"2gx"	/* behind that is what nobody has written */
#else
#define ADDRESS_END	0xfffff000
#define TWO_ENTRIES	false
#define RETURN_SLOT	4
#define CONTEXT_IP	uc_regs->gregs[PT_NIP]
#define CONTEXT_SP	uc_regs->gregs[PT_R1]
#define GDB_STACK	"2wx"
#endif

#define GDB_ARG		"$r3"
#define GDB_RESULT	"$r3"
#define GDB_MIDDLES	3	/* a label is taken for another function */

static inline char *thread_pointer(void)
{
	char *tp;

#ifdef __LP64__
	asm("mr	%0, 13" : "=r" (tp));
#else
	asm("mr	%0, 2" : "=r" (tp));
#endif
	return tp;
}

#endif /* _POWERPC_MACHINE_H */
