/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User-space probes: how to execute one x86 instruction away from its place.
 *
 * This unit knows instructions and nothing else: no locks, no tasks, no
 * mappings. It is compiled into the kernel and, from the same source, into a
 * host test (tools/testing/selftests/uprobes/host).
 *
 * Life of a probed instruction::
 *
 *	uprobe_insn_analyze()		once, at registration
 *
 *	uprobe_insn_emulate()		at each hit; true: all done
 *	uprobe_insn_pre_step()		otherwise run the copy with TF set
 *	 trap: uprobe_insn_unfinished()	true: run it once more, as it stands
 *	       uprobe_insn_post_step()	the instruction is done
 *	 fault or signal: uprobe_insn_abort()
 *
 * TF can be left alone with UPROBE_INSN_REP, whose copy may then be ended by a
 * breakpoint behind it, and with system calls (uprobe_insn_is_syscall()), for
 * which uprobe_insn_post_step() is called at the entry to the kernel.
 *
 * TF belongs to the caller. At every call of this unit, regs->flags holds the
 * program's own TF: set TF for the step after uprobe_insn_pre_step(), and put
 * the program's back before anything else is called.
 */
#ifndef _ARCH_X86_KERNEL_UPROBES_INSN_H
#define _ARCH_X86_KERNEL_UPROBES_INSN_H

#include <linux/types.h>
#include <asm/insn.h>
#include <asm/ptrace.h>
#include <asm/uprobes.h>

/**
 * enum uprobe_insn_op - how an instruction is executed
 * @UPROBE_INSN_STEP: the copy is run, execution goes on after it
 * @UPROBE_INSN_X87: the same; the FPU remembers where the instruction stood
 * @UPROBE_INSN_REP: the same; may run for long, and be interrupted
 * @UPROBE_INSN_SYSCALL: syscall in 64-bit code
 * @UPROBE_INSN_INT80: int $0x80
 * @UPROBE_INSN_NOP: nop in all its forms, endbr, prefetch
 * @UPROBE_INSN_PUSH_REG: push reg
 * @UPROBE_INSN_PUSH_IMM: push imm
 * @UPROBE_INSN_POP_REG: pop reg
 * @UPROBE_INSN_LEAVE: leave
 * @UPROBE_INSN_PUSHF: pushf; the copy pushes any word, the flags replace it
 * @UPROBE_INSN_POPF: popf; the copy pops the word into the scratch register
 * @UPROBE_INSN_MOV: mov reg, reg
 * @UPROBE_INSN_LEA: lea disp(base), reg, where base may be rip
 * @UPROBE_INSN_ADD: add imm, reg
 * @UPROBE_INSN_SUB: sub imm, reg
 * @UPROBE_INSN_RET: ret, ret imm
 * @UPROBE_INSN_CALL_REL: call rel; the copy calls a byte behind it, which is
 *	not reached
 * @UPROBE_INSN_CALL_REG: call \*reg; the copy calls by itself
 * @UPROBE_INSN_CALL_MEM: call \*mem; the copy calls by itself. The right return
 *	address replaces the one that copies of all three pushed
 * @UPROBE_INSN_JMP_REL: jmp rel
 * @UPROBE_INSN_JMP_REG: jmp \*reg
 * @UPROBE_INSN_JMP_MEM: jmp \*mem; the copy is run and jumps by itself
 * @UPROBE_INSN_JCC: jcc rel
 * @UPROBE_INSN_LOOP: loop, loope, loopne, jrcxz, jecxz
 */
enum uprobe_insn_op {
	UPROBE_INSN_STEP,
	UPROBE_INSN_X87,
	UPROBE_INSN_REP,
	UPROBE_INSN_SYSCALL,
	UPROBE_INSN_INT80,
	UPROBE_INSN_NOP,
	UPROBE_INSN_PUSH_REG,
	UPROBE_INSN_PUSH_IMM,
	UPROBE_INSN_POP_REG,
	UPROBE_INSN_LEAVE,
	UPROBE_INSN_PUSHF,
	UPROBE_INSN_POPF,
	UPROBE_INSN_MOV,
	UPROBE_INSN_LEA,
	UPROBE_INSN_ADD,
	UPROBE_INSN_SUB,
	UPROBE_INSN_RET,
	UPROBE_INSN_CALL_REL,
	UPROBE_INSN_CALL_REG,
	UPROBE_INSN_CALL_MEM,
	UPROBE_INSN_JMP_REL,
	UPROBE_INSN_JMP_REG,
	UPROBE_INSN_JMP_MEM,
	UPROBE_INSN_JCC,
	UPROBE_INSN_LOOP,
};

/* Values of uprobe_insn.base and .scratch besides register numbers 0-15 */
#define UPROBE_INSN_REG_RIP	0xfe
#define UPROBE_INSN_REG_NONE	0xff

int uprobe_insn_analyze(struct uprobe_insn *ui, const u8 *bytes, size_t n,
			unsigned long vaddr, bool is_64bit, const char **why);
bool uprobe_insn_emulate(const struct uprobe_insn *ui, struct pt_regs *regs);
bool uprobe_insn_is_branch(const struct uprobe_insn *ui);
bool uprobe_insn_is_get_pc(const struct uprobe_insn *ui);
bool uprobe_insn_is_syscall(const struct uprobe_insn *ui);
void uprobe_insn_pre_step(const struct uprobe_insn *ui,
			  struct uprobe_insn_step *st, struct pt_regs *regs,
			  unsigned long copy);
bool uprobe_insn_unfinished(const struct pt_regs *regs, unsigned long copy);
bool uprobe_insn_post_step(const struct uprobe_insn *ui,
			   const struct uprobe_insn_step *st,
			   struct pt_regs *regs, unsigned long vaddr,
			   unsigned long copy);
void uprobe_insn_abort(const struct uprobe_insn *ui,
		       const struct uprobe_insn_step *st,
		       struct pt_regs *regs, unsigned long vaddr);

#endif /* _ARCH_X86_KERNEL_UPROBES_INSN_H */
