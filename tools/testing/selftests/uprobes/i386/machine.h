/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests have to know of the architecture: see machine.h. */
#ifndef _I386_MACHINE_H
#define _I386_MACHINE_H

#define opcode_t	__u8
#define BREAKPOINT	0xcc
#define RETURN		0xc3
#define NOP_SIZE	1
#define INSNS_ARE_WORDS	false
#ifdef COMPAT
#define ADDRESS_END	0xffffe000
#else
#define ADDRESS_END	0xc0000000
#endif
#define KERNEL_ADDRESS	0xfffff000
#define TWO_ENTRIES	false
#define DESCRIPTORS	false

#define TRAP_CODE	SI_KERNEL
#define TRAP_PASSES	true
#define TRACE_FLAGS	0x10100	/* trap flag and resume flag */
#define TRACES_ITSELF	true

#define RETURN_SLOT	0
#define RETURN_POPS	4
#define RETURNS_IN_MEMORY	true
#define SLOTS_KNOWN	true
#define REFUSED		EOPNOTSUPP
#define BEHIND_COPY	SIGTRAP
#define CHAIN_SKIPS	0

#define REGS		struct user_regs_struct
#define REGS_IP		eip
#define REGS_SP		esp
#define REGS_CALL	orig_eax
#define CONTEXT_IP	gregs[REG_EIP]
#define CONTEXT_SP	gregs[REG_ESP]

#define ADD_SIZE	9
#define SUB_SIZE	9
#define TAIL_CALL_SIZE	5

#define GDB_ARG		"*(long *)($sp + 4)"
#define GDB_RESULT	"$eax"
#define GDB_STACK	"8wx"
#define GDB_MIDDLES	4

#define thread_pointer	__builtin_thread_pointer

#endif /* _I386_MACHINE_H */
