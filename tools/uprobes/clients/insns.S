/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is probed. First, functions that load the state from where their argument points, execute an
 * instruction, and store the state there. Some need others around it, to have
 * an effect that can be seen, and to leave the stack as it was.
 */

.macro symbol name, address, execute=0
	.pushsection .data.rel.ro, "aw"
	.quad	10f, \address, \execute
	.popsection
	.pushsection .rodata
10:	.asciz	"\name"
	.popsection
.endm

.macro load name
	symbol	\name, at_\name, insn_\name
insn_\name:
	vmovdqu	(%rdi), %ymm0
	vmovdqu	32(%rdi), %ymm1
	mov	64(%rdi), %rax
	mov	72(%rdi), %rcx
	push	80(%rdi)
	popf
.endm

.macro store
	pushf
	pop	80(%rdi)
	vmovdqu	%ymm0, (%rdi)
	vmovdqu	%ymm1, 32(%rdi)
	mov	%rax, 64(%rdi)
	mov	%rcx, 72(%rdi)
	vzeroupper
	ret
.endm

.macro begin name
	load	\name
at_\name:
.endm

	.pushsection .data.rel.ro, "aw"
	.balign 8
	.globl symbols
symbols:
	.popsection

	/* Without their prefix, the opcodes are jmp, je, jg, call, jo, ja. */
	begin	vpor
	vpor	%ymm1, %ymm0, %ymm0
	store
	begin	vpcmpeqb
	vpcmpeqb	%ymm1, %ymm0, %ymm0
	store
	begin	vmovdqu
	vmovdqu	%ymm0, 88(%rdi)
	store
	begin	vpsubsb
	vpsubsb	%ymm1, %ymm0, %ymm0
	store
	begin	vpshufd
	vpshufd	$27, %ymm0, %ymm0
	store
	begin	vzeroupper
	vzeroupper
	store

	begin	por
	por	%xmm1, %xmm0
	store
	begin	add
	add	%rcx, %rax
	store
	begin	nop
	nopl	8(%rax)
	store
	begin	nop_cs
	cs nopw 0(%rax, %rax)
	store
	begin	push
	push	%rax
	pop	%rcx
	store
	begin	pushf
	pushf
	pop	%rcx
	store
	begin	call
	call	1f
	ud2
1:	pop	%rcx
	store
	begin	jmp
	jmp	1f
	ud2
1:
	store
	begin	jae
	jae	1f
	inc	%rcx
1:
	store
	begin	rip_load
	mov	symbols(%rip), %rcx
	store
	begin	rip_lea
	lea	symbols(%rip), %rcx
	store
	begin	lock_xadd
	lock	xadd %rax, 88(%rdi)
	store
	begin	segment
	cmpq	$0, %fs:0
	store
	begin	syscall
	syscall
	mov	%r11, %rax
	store

	load	ret
	call	1f
	jmp	2f
1:
at_ret:
	ret
2:	store

	/* push %es, which there is no more */
no_insn:
	.byte	0x06

	.globl work
	.type work, @function
work:
	lea	(%rdi, %rdi), %rax
	ret
	.size work, . - work

	/* How often the USDT probe is asked for. */
	.pushsection .probes, "aw"
	.globl clients_step_semaphore
	.balign 2
clients_step_semaphore:
	.2byte	0
	.popsection

	symbol	no_insn, no_insn
	symbol	work, work
	symbol	semaphore, clients_step_semaphore

	.pushsection .data.rel.ro, "aw"
	.quad	0
	.popsection

	.section .note.GNU-stack, "", @progbits
