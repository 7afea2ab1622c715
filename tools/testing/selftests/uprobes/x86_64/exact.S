/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls, string instructions, the FPU: see exact.h. */
#include <asm/unistd.h>

	.text

.macro func name
	.globl \name
	.type \name, @function
	.balign 16
\name:
.endm

.macro label name
	.globl \name
\name:
.endm

/* Calls a function with nothing in the registers, nor on the stack. */
func run_clean
	lea	clean_stack_end(%rip), %rsp
	mov	%rdi, %rax
	xor	%ebx, %ebx
	xor	%ecx, %ecx
	xor	%edx, %edx
	xor	%esi, %esi
	xor	%edi, %edi
	xor	%ebp, %ebp
	xor	%r8d, %r8d
	xor	%r9d, %r9d
	xor	%r10d, %r10d
	xor	%r11d, %r11d
	xor	%r12d, %r12d
	xor	%r13d, %r13d
	xor	%r14d, %r14d
	xor	%r15d, %r15d
	call	*%rax
	xor	%edi, %edi
	call	_exit

	.comm from, 8 * 4096, 4096
	.comm to, 8 * 4096, 4096
	.local clean_stack
	.comm clean_stack, 0x40000, 4096
	.set clean_stack_end, clean_stack + 0x40000

/* name(nr, a, b, c, d, e) by syscall */
.macro by_syscall name
	func \name
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rcx, %rdx
	mov	%r8, %r10
	mov	%r9, %r8
label \name\()_insn
	syscall
label \name\()_after
	ret
.endm

/* The same by int $0x80. */
.macro by_int80 name
	func \name
	push	%rbx
	mov	%rdi, %rax
	mov	%rsi, %rbx
	xchg	%rcx, %rdx
	mov	%r8, %rsi
	mov	%r9, %rdi
label \name\()_insn
	int	$0x80
label \name\()_after
	pop	%rbx
	ret
.endm

/* With the trap flag set around it. */
.macro traced name, insn
	func \name
	mov	%rdi, %rax
	pushf
	orq	$0x100, (%rsp)
	popf
	nop
label \name\()_insn
	\insn
	nop
	pushf
	andq	$~0x100, (%rsp)
	popf
	nop
	ret
.endm

by_syscall syscall_64
by_syscall syscall_64_too
traced syscall_64_traced, syscall
by_int80 int80
by_int80 int80_too
traced int80_traced, "int $0x80"

/* vfork(); its child exits with that status by the same instruction. */
func vfork_exit
	push	%r12
	mov	%edi, %r12d
	mov	$__NR_vfork, %eax
label vfork_exit_insn
	syscall
	test	%eax, %eax
	jnz	1f
	mov	$__NR_exit, %eax
	mov	%r12d, %edi
	jmp	vfork_exit_insn
1:	pop	%r12
	ret

/*
 * new_thread(nr, a, b, c, d, e): that system call makes a thread, which calls
 * what is on top of its stack and ends by the same instruction.
 */
func new_thread
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rcx, %rdx
	mov	%r8, %r10
	mov	%r9, %r8
label new_thread_insn
	syscall
	test	%eax, %eax
	jz	1f
	ret
1:	pop	%rax
	call	*%rax
	mov	$__NR_exit, %eax
	xor	%edi, %edi
	jmp	new_thread_insn

/* Where a signal handler returns to. */
func restorer
	mov	$__NR_rt_sigreturn, %eax
label restorer_insn
	syscall
	ud2

/* For run_snippet(). */
func raise_sigill
	ud2
	nop
	jmp	snippet_end

func shadow_stack
	mov	$1, %eax
	rdsspq	%rcx
label incssp
	incsspq	%rax
	jmp	snippet_end

/* NAME(struct string *), see exact.h */
.macro string name, insn:vararg
	func \name
	push	%rbx
	mov	%rdi, %rbx
	mov	0(%rbx), %rdi
	mov	8(%rbx), %rsi
	mov	16(%rbx), %rcx
	mov	24(%rbx), %rax
	push	32(%rbx)
	popf
label \name\()_insn
	\insn
label \name\()_after
	mov	%rdi, 0(%rbx)
	mov	%rsi, 8(%rbx)
	mov	%rcx, 16(%rbx)
	mov	%rax, 24(%rbx)
	pushf
	pop	32(%rbx)
	push	$0x202
	popf
	pop	%rbx
	ret
.endm

string rep_movsb, rep movsb
string rep_stosb, rep stosb
string rep_stos, rep stosq
string repe_cmpsb, repe cmpsb
string repne_scasb, repne scasb
string rep_lodsb, rep lodsb

.macro addr_table name
	.pushsection .rodata.exact, "a"
	.balign 8
	.globl \name
\name:
	.popsection
.endm

.macro end_addr_table
	.pushsection .rodata.exact, "a"
	.quad 0, 0
	.popsection
.endm

/* x87(env, numbers): each instruction with the environment behind it. */
.macro x insn:vararg
99:	\insn
	fnstenv	(%rdi)
	add	$32, %rdi
	.pushsection .rodata.exact, "a"
	.quad 99b, 1
	.popsection
.endm

	addr_table x87_insns
func x87
	fninit
	x fldl (%rsi)
	x fldl 8(%rsi)
	x fadd %st(1), %st
	x faddl (%rsi)
	x fmull x87_number(%rip)
	x fxch
	x fdivp
	x fsqrt
	x fldpi
	x fcomip
	x fstl 16(%rsi)
	x fildl (%rsi)
	x fistpl 24(%rsi)
	x fstpt 32(%rsi)
	x fldt 32(%rsi)
	x fwait
	x fnstcw 48(%rsi)
	x fldcw 48(%rsi)
	fninit
	ret
	end_addr_table

/* A division by 0 that is found out about at the next instruction. */
	addr_table x87_fault_insns
	.pushsection .rodata.exact, "a"
	.quad x87_divide, 1, x87_next, 1
	.popsection
	end_addr_table
func x87_fault
	fninit
	fldcw	x87_unmasked(%rip)
	fld1
	fldz
label x87_divide
	fdivrp
	nop
label x87_next
	fwait
	fninit
	ret

/* Instructions that are refused. */
.macro no insn:vararg
98:	\insn
	.pushsection .rodata.exact.texts, "a"
99:	.asciz "\insn"
	.popsection
	.pushsection .rodata.exact, "a"
	.quad 98b, 99b
	.popsection
.endm

	addr_table refused
refused_code:
	no mov %eax, %ss
	no lcall *(%rdi)
	no ljmp *(%rdi)
	no lretq
	no lretq $8
	no iretq
	no int $4
	no int $0x81
	no int1
	no sysenter
	no sysexitl
	no sysretq
	no hlt
	no cli
	no sti
	no in $0x60, %al
	no in %dx, %eax
	no out %al, $0x60
	no out %eax, %dx
	no insb
	no outsb
	no rep insb
	no rep outsb
	no xbegin refused_code
	no .byte 0x66, 0xe8, 0, 0	/* call rel16 */
	no .byte 0x66, 0xe9, 0, 0	/* jmp rel16 */
	no .byte 0x66, 0x0f, 0x84, 0, 0	/* je rel16 */
	no .byte 0x66, 0x74, 0	/* je */
	no .byte 0x66, 0xeb, 0	/* jmp */
	no .byte 0x66, 0xc3	/* ret */
	no .byte 0x66, 0xff, 0xe0	/* jmp *%ax */
	no .byte 0x66, 0xff, 0xd0	/* call *%ax */
	end_addr_table

	.section .rodata
	.balign 8
x87_number:
	.double	1.25
x87_unmasked:
	.word	0x37b

	.section .note.GNU-stack, "", @progbits
