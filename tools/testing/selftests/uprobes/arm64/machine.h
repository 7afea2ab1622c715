/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests have to know of the architecture: see machine.h. */
#ifndef _ARM64_MACHINE_H
#define _ARM64_MACHINE_H

#define opcode_t	__u32
#define BREAKPOINT	0xd42000a0	/* brk #5 */
#define RETURN		0xd65f03c0
#define NOP_SIZE	4
#define INSNS_ARE_WORDS	true
#define ADDRESS_END	0x1000000000000
#define KERNEL_ADDRESS	0xffff800080000000
#define TWO_ENTRIES	false
#define DESCRIPTORS	false

#define TRAP_CODE	TRAP_BRKPT
#define TRAP_PASSES	false
#define TRACE_FLAGS	0x200000	/* PSTATE.SS */
#define TRACES_ITSELF	false

#define RETURN_SLOT	-8	/* as these programs do it */
#define RETURN_POPS	0
#define RETURNS_IN_MEMORY	false
#define SLOTS_KNOWN	false
#define REFUSED		EINVAL
#define BEHIND_COPY	SIGILL	/* another slot, which is not in use */
#define CHAIN_SKIPS	1	/* its caller: it has no frame */

#define REGS		struct user_regs_struct
#define REGS_IP		pc
#define CONTEXT_IP	pc
#define CONTEXT_SP	sp

#define ADD_SIZE	8
#define SUB_SIZE	8
#define TAIL_CALL_SIZE	8

#define thread_pointer	__builtin_thread_pointer

#endif /* _ARM64_MACHINE_H */
