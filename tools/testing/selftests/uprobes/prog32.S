/* SPDX-License-Identifier: GPL-2.0-only */
/* 32-bit code of which every instruction is known: see prog32.h. */
#include "prog32.h"

/* An instruction that one pass executes so many times. */
.macro i times, insn:vararg
99:	\insn
	.pushsection .rodata.points, "a"
	.long 99b, 0, \times
	.popsection
.endm

/* A function, with its first instruction. */
.macro func name, times, insn:vararg
	.globl \name
	.type \name, @function
	.balign 16
\name:
	\insn
	.pushsection .rodata.points, "a"
	.long \name, PROG32_FUNCTION, \times
	.popsection
.endm

	.section .rodata.points, "a"
	.balign 4
	.globl points
points:

	.data
word:	.long	0
pointer:
	.long	leaf
extended:
	.fill	3, 4, 0x41424344
	.balign	16
vector:	.fill	16, 1, 7

	.bss
buffer:	.skip	64

	.text

func leaf, 7,	push	%ebp
	i 7,	mov	%esp, %ebp
	i 7,	mov	8(%ebp), %eax
	i 7,	lea	1(%eax, %eax, 2), %eax
	i 7,	leave
	i 7,	ret

/* Pops its argument. */
func popper, 1,	mov	4(%esp), %eax
	i 1,	ret	$4

/* Returns to its caller's caller's place by a jump: one return for both. */
func tail, 1,	nop
	i 1,	jmp	popper

/* fib(6): 25 entries of fib() in all */
func fib, 25,	push	%ebx
	i 25,	sub	$8, %esp
	i 25,	mov	16(%esp), %ebx
	i 25,	mov	%ebx, %eax
	i 25,	cmp	$1, %ebx
	i 25,	jle	1f
	i 12,	lea	-1(%ebx), %eax
	i 12,	mov	%eax, (%esp)
	i 12,	call	fib
	i 12,	mov	%eax, 4(%esp)
	i 12,	sub	$2, %ebx
	i 12,	mov	%ebx, (%esp)
	i 12,	call	fib
	i 12,	add	4(%esp), %eax
1:	i 25,	add	$8, %esp
	i 25,	pop	%ebx
	i 25,	ret

/*
 * The fork is in the middle of three calls in progress, which the child returns
 * from, too.
 */
func fork_inner, 1, mov	$2, %eax	/* fork */
	i 1,	int	$0x80
	i 1,	ret
func fork_middle, 1, call fork_inner
	i 1,	ret
func fork_outer, 1, call fork_middle
	i 1,	ret

/* All that is different in 32-bit code, or usual there. Its sum is in edx. */
func every, 1,	pusha
	i 1,	push	$-5
	i 1,	push	$0x12345678
	i 1,	pop	%edx
	i 1,	pop	%ecx
	i 1,	add	%ecx, %edx
	i 1,	call	3f
3:	i 1,	pop	%ebx
	i 1,	sub	$3b, %ebx
	i 1,	add	%ebx, %edx
	i 1,	inc	%edx
	i 1,	dec	%ecx
	i 1,	pushf
	i 1,	pop	%eax
	i 1,	and	$0x8d5, %eax
	i 1,	add	%eax, %edx
	i 1,	push	%eax
	i 1,	popf
	i 1,	adc	$7, %edx
	i 1,	pushl	$9
	i 1,	call	leaf
	i 1,	add	%eax, %edx
	i 1,	call	*pointer
	i 1,	add	%eax, %edx
	i 1,	mov	pointer, %ebx
	i 1,	call	*%ebx
	i 1,	add	%eax, %edx
	i 1,	add	$4, %esp
	i 1,	mov	$4, %ecx
4:	i 4,	push	%ecx
	i 4,	call	leaf
	i 4,	pop	%ecx
	i 4,	add	%eax, %edx
	i 4,	loop	4b
	i 1,	jecxz	5f
	ud2
5:	i 1,	pushl	$77
	i 1,	call	tail
	i 1,	add	%eax, %edx
	i 1,	pushl	$6
	i 1,	call	fib
	i 1,	pop	%ecx
	i 1,	add	%eax, %edx
	i 1,	mov	%edx, word
	i 1,	lock incl word
	i 1,	mov	word, %edx
	i 1,	mov	$5, %al
	i 1,	mul	%al
	i 1,	aam
	i 1,	aad
	i 1,	daa
	i 1,	movzx	%ax, %eax
	i 1,	add	%eax, %edx
	i 1,	push	%es
	i 1,	pop	%es
	i 1,	mov	%edx, %eax
	i 1,	lea	buffer, %edi
	i 1,	mov	$16, %ecx
	i 1,	rep stosl
	i 1,	lea	buffer, %esi
	i 1,	lea	buffer + 3, %edi
	i 1,	mov	$50, %ecx
	i 1,	rep movsb
	i 1,	add	buffer + 8, %edx
	i 1,	enter	$16, $1
	i 1,	mov	%edx, -8(%ebp)
	i 1,	fildl	-8(%ebp)
	i 1,	fld1
	i 1,	faddp
	i 1,	fistpl	-8(%ebp)
	i 1,	mov	-8(%ebp), %edx
	i 1,	leave
	i 1,	movdqa	vector, %xmm0
	i 1,	paddb	vector, %xmm0
	i 1,	movd	%xmm0, %eax
	i 1,	add	%eax, %edx
	i 1,	mov	$20, %eax	/* getpid */
	i 1,	int	$0x80
	i 1,	add	%eax, %edx
	i 1,	mov	%edx, 28(%esp)	/* eax of popa */
	i 1,	popa
	i 1,	ret

	.section .rodata.points, "a"
	.globl points_end
points_end:

	.section .note.GNU-stack, "", @progbits
