/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls, string instructions, the FPU: see exact.h. */
#include <asm/unistd.h>

#include "abi.S"
	.text

.macro label name
	.globl \name
\name:
.endm

/* Calls a function with nothing in the registers, nor on the stack. */
func run_clean
	mov	4(%esp), %eax
	lea	clean_stack_end, %esp
	xor	%ebx, %ebx
	xor	%ecx, %ecx
	xor	%edx, %edx
	xor	%esi, %esi
	xor	%edi, %edi
	xor	%ebp, %ebp
	call	*%eax
	push	$0
	call	_exit

	.comm from, 8 * 4096, 4096
	.comm to, 8 * 4096, 4096
	.local clean_stack
	.comm clean_stack, 0x40000, 4096
	.set clean_stack_end, clean_stack + 0x40000

/* The arguments (nr, a, b, c, d, e) where int $0x80 takes them from. */
.macro load_arguments
	push	%ebx
	push	%esi
	push	%edi
	mov	16(%esp), %eax
	mov	20(%esp), %ebx
	mov	24(%esp), %ecx
	mov	28(%esp), %edx
	mov	32(%esp), %esi
	mov	36(%esp), %edi
.endm

.macro restore_registers
	pop	%edi
	pop	%esi
	pop	%ebx
.endm

/* name(nr, a, b, c, d, e) */
.macro by_int80 name
	func \name
	load_arguments
label \name\()_insn
	int	$0x80
label \name\()_after
	restore_registers
	ret
.endm

by_int80 int80
by_int80 int80_too

/* With the trap flag set around it. */
func int80_traced
	mov	4(%esp), %eax
	pushf
	orl	$0x100, (%esp)
	popf
	nop
label int80_traced_insn
	int	$0x80
	nop
	pushf
	andl	$~0x100, (%esp)
	popf
	nop
	ret

/* vfork(); its child exits with that status by the same instruction. */
func vfork_exit
	push	%ebx
	mov	8(%esp), %ebx
	mov	$__NR_vfork, %eax
label vfork_exit_insn
	int	$0x80
	test	%eax, %eax
	jnz	1f
	mov	$__NR_exit, %eax
	jmp	vfork_exit_insn
1:	pop	%ebx
	ret

/*
 * new_thread(nr, a, b, c, d, e): that system call makes a thread, which calls
 * what is on top of its stack and ends by the same instruction.
 */
func new_thread
	load_arguments
label new_thread_insn
	int	$0x80
	test	%eax, %eax
	jz	1f
	restore_registers
	ret
1:	pop	%eax
	call	*%eax
	mov	$__NR_exit, %eax
	xor	%ebx, %ebx
	jmp	new_thread_insn

/* Where a signal handler returns to. */
func restorer
	mov	$__NR_rt_sigreturn, %eax
label restorer_insn
	int	$0x80
	ud2

/* For run_snippet(). */
func raise_sigill
	ud2
	nop
	jmp	snippet_end

func shadow_stack
	mov	$1, %eax
	rdsspd	%ecx
label incssp
	incsspd	%eax
	jmp	snippet_end

/* NAME(struct string *), see exact.h */
.macro string name, insn:vararg
	func \name
	push	%ebx
	push	%esi
	push	%edi
	mov	16(%esp), %ebx
	mov	0(%ebx), %edi
	mov	4(%ebx), %esi
	mov	8(%ebx), %ecx
	mov	12(%ebx), %eax
	pushl	16(%ebx)
	popf
label \name\()_insn
	\insn
label \name\()_after
	mov	%edi, 0(%ebx)
	mov	%esi, 4(%ebx)
	mov	%ecx, 8(%ebx)
	mov	%eax, 12(%ebx)
	pushf
	popl	16(%ebx)
	push	$0x202
	popf
	restore_registers
	ret
.endm

string rep_movsb, rep movsb
string rep_stosb, rep stosb
string rep_stos, rep stosl
string repe_cmpsb, repe cmpsb
string repne_scasb, repne scasb
string rep_lodsb, rep lodsb

/* x87(env, numbers): each instruction with the environment behind it. */
.macro x insn:vararg
	i 1, \insn
	fnstenv	(%eax)
	add	$32, %eax
.endm

func_insns x87
	mov	4(%esp), %eax
	mov	8(%esp), %ecx
	fninit
	x fldl (%ecx)
	x fldl 8(%ecx)
	x fadd %st(1), %st
	x faddl (%ecx)
	x fmull x87_number
	x fxch
	x fdivp
	x fsqrt
	x fldpi
	x fcomip
	x fstl 16(%ecx)
	x fildl (%ecx)
	x fistpl 24(%ecx)
	x fstpt 32(%ecx)
	x fldt 32(%ecx)
	x fwait
	x fnstcw 48(%ecx)
	x fldcw 48(%ecx)
	fninit
	ret
end_insns

/* A division by 0 that is found out about at the next instruction. */
func_insns x87_fault
	fninit
	fldcw	x87_unmasked
	fld1
	fldz
	i 1, fdivrp
	nop
label x87_next
	i 1, fwait
	fninit
	ret
end_insns

/* Instructions that are refused. */
.macro no insn:vararg
98:	\insn
	.pushsection .rodata.exact.texts, "a"
99:	.asciz "\insn"
	.popsection
	.pushsection .rodata.exact, "a"
	.long 98b, 99b
	.popsection
.endm

	.pushsection .rodata.exact, "a"
	.balign 8
label refused
	.popsection
refused_code:
	no mov %eax, %ss
	no pop %ss
	no lss (%ecx), %eax
	no lcall *(%edi)
	no ljmp *(%edi)
	no lcall $0x23, $refused_code
	no ljmp $0x23, $refused_code
	no lret
	no lret $8
	no iret
	no into
	no int $4
	no int $0x81
	no int1
	no sysenter
	no syscall
	no sysexit
	no sysret
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
	no pushfw
	no popfw
	no .byte 0x67, 0xe2, 0	/* loop with cx */
	no .byte 0x66, 0xe8, 0, 0	/* call rel16 */
	no .byte 0x66, 0xe9, 0, 0	/* jmp rel16 */
	no .byte 0x66, 0x0f, 0x84, 0, 0	/* je rel16 */
	no .byte 0x66, 0x74, 0	/* je */
	no .byte 0x66, 0xeb, 0	/* jmp */
	no .byte 0x66, 0xc3	/* ret */
	no .byte 0x66, 0xff, 0xe0	/* jmp *%ax */
	no .byte 0x66, 0xff, 0xd0	/* call *%ax */
	.pushsection .rodata.exact, "a"
	.long 0, 0
	.popsection

	.section .rodata
	.balign 8
x87_number:
	.double	1.25
x87_unmasked:
	.word	0x37b

	.section .note.GNU-stack, "", @progbits
