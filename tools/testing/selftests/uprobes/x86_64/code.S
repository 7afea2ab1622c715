/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions to probe, of which every instruction is known: see probed.h. */
	.text

.macro func name
	.globl \name
	.type \name, @function
	.balign 16
\name:
.endm

/*
 * A function with a table of its instructions, NAME_insns: i NUMBER, INSN is
 * an instruction whose address is entered, with a number that says something
 * about it. end_insns ends the table with an address of 0.
 */
.macro func_insns name
	func \name
	.pushsection .rodata.insns, "a"
	.balign 8
	.globl \name\()_insns
\name\()_insns:
	.popsection
.endm

.macro i number, insn:vararg
99:	\insn
	.pushsection .rodata.insns, "a"
	.quad 99b, \number
	.popsection
.endm

.macro end_insns
	.pushsection .rodata.insns, "a"
	.quad 0, 0
	.popsection
.endm

func add
	lea	(%rdi, %rsi), %rax
	.globl add_next, add_ret
add_next:
add_ret:
	ret

func sub
	mov	%rdi, %rax
	sub	%rsi, %rax
	ret

func nop_fn
	nop
	ret

func own_sp
	lea	(%rsp), %rax
	ret

/* A call of which the return address is known. */
func call_own_sp
	call	own_sp
	.globl after_own_sp, instead_of_own_sp
after_own_sp:
	ret
instead_of_own_sp:
	mov	$77, %eax
	ret

/* Removes 16 bytes from its caller's stack. */
func pop_16
	lea	(%rdi, %rsi), %rax
	ret	$16

/* Returns what pop_16() returns, plus what the stack pointer is off by. */
func call_pop_16
	push	%rbx
	mov	%rsp, %rbx
	push	$1
	push	$2
	call	pop_16
	sub	%rsp, %rbx
	add	%rbx, %rax
	pop	%rbx
	ret

/* A tail call: both return to one address. */
func tail_outer
	lea	1(%rdi), %rdi
	jmp	tail_inner
func tail_inner
	lea	(%rdi, %rdi), %rax
	ret

/* Returns what is in a register that it has to give back. */
func saved_register
	push	%rbx
	.globl at_copied, at_emulated
at_copied:
	lea	(%rbx, %rbx), %rax
at_emulated:
	mov	%rbx, %rax
	pop	%rbx
	ret

/* Jumps to where its argument says. */
func tail_call
	nop
	jmp	*%rdi

/* Returns by a jump. */
func pop_jmp
	lea	3(%rdi), %rax
	pop	%rcx
	jmp	*%rcx

/* Returns 5, but to where its first argument says. */
func ret_to
	mov	%rdi, (%rsp)
	mov	$5, %eax
	ret

/* Calls ret_to() so that it returns there, and not behind the call. */
func call_ret_to
	lea	1f(%rip), %rdi
	call	ret_to
	mov	$-1, %eax
1:	ret

/* Calls fn(arg) on another stack, at whose top is on_stack_end. */
func call_on_stack
	push	%rbx
	mov	%rsp, %rbx
	mov	%rdi, %rsp
	mov	%rdx, %rdi
	jmp	*%rsi
	.globl on_stack_end
on_stack_end:
	mov	%rbx, %rsp
	pop	%rbx
	ret

/* Three calls in each other, with frame pointers up to 0. */
func walk_0
	push	%rbp
	xor	%ebp, %ebp
	call	walk_1
	.globl after_walk_1
after_walk_1:
	pop	%rbp
	ret
func walk_1
	push	%rbp
	mov	%rsp, %rbp
	call	walk_2
	.globl after_walk_2
after_walk_2:
	pop	%rbp
	ret
func walk_2
	push	%rbp
	mov	%rsp, %rbp
	call	walk_3
	.globl after_walk_3
after_walk_3:
	pop	%rbp
	ret
func walk_3
	mov	$9, %eax
	ret

func end_thread
	mov	$60, %eax	/* exit, of one thread */
	xor	%edi, %edi
	syscall
	ud2

/* 64 bytes with rep stosb: one execution, many steps. */
func fill
	mov	$64, %ecx
	mov	$7, %eax
	.globl fill_rep
fill_rep:
	rep stosb
	ret

/* Fill the red zone, execute one instruction of each sort, compare. */
func_insns red_zone
	mov	$-128, %rcx
1:	mov	%rcx, (%rsp, %rcx)
	add	$8, %rcx
	jnz	1b
	i 0, nop
	i 0, lea (%rsi, %rdi), %rdx
	i 0, mov red_zone(%rip), %rdx
	i 0, jmp 2f
2:	i 0, mov %rsp, %rdx
	mov	$-128, %rcx
	xor	%eax, %eax
3:	cmp	%rcx, (%rsp, %rcx)
	je	4f
	inc	%eax
4:	add	$8, %rcx
	jnz	3b
	ret
end_insns

/*
 * The number of an instruction says how often every(n), n even, executes it:
 * 0 once, 1 n times, 2 n / 2 times, 3 2 * n times.
 */
func_insns every
	i 0, endbr64
	i 0, push %rbp
	i 0, mov %rsp, %rbp
	i 0, push %rbx
	i 0, push %r12
	i 0, sub $32, %rsp
	i 0, xor %eax, %eax
	i 0, xor %ecx, %ecx
	i 0, mov %rdi, %rbx
	i 0, test %rbx, %rbx
	i 0, je 3f
1:	i 1, mov %rbx, 8(%rsp)
	i 1, add every_data(%rip), %rax
	i 1, call every_leaf
	i 1, add %rdx, %rax
	i 1, imul $3, 8(%rsp), %rcx
	i 1, nopw 0x100(%rax, %rax)
	i 1, testb $1, %bl
	i 1, jne 2f
	i 2, push $-5
	i 2, pop %r12
	i 2, sub %r12, %rax
2:	i 1, lea every_leaf(%rip), %rdx
	i 1, call *%rdx
	i 1, xor %rdx, %rax
	i 1, dec %rbx
	i 1, jne 1b
3:	i 0, jmp 4f
	int3
4:	i 0, add $32, %rsp
	i 0, pop %r12
	i 0, pop %rbx
	i 0, leave
	i 0, ret
every_leaf:
	i 3, lea 7(%rcx, %rcx), %rdx
	i 3, ret
end_insns

/* Sets the trap flag, and does not clear it before the second popf. */
func_insns trace_me
	xor	%eax, %eax
	pushf
	orq	$0x100, (%rsp)
	i 0, popf
	i 0, nop
	i 0, lea 1(%rdi), %rax
	i 0, push %rbx
	i 0, mov %rsp, %rdx
	i 0, pushf
	i 0, pop %rcx
	i 0, mov %rcx, (%rdi)
	i 0, call 1f
	i 0, mov trace_me(%rip), %rdx
	i 0, xor %eax, %eax
	i 0, test %eax, %eax
	i 0, je 2f
	nop
1:	i 0, endbr64
	i 0, ret
2:	i 0, jmp 3f
	nop
3:	i 0, pop %rbx
	i 0, add $1, %rax
	i 0, pushf
	i 0, andq $~0x100, (%rsp)
	i 0, popf
	i 0, nop
	i 0, ret
end_insns

/* For a debugger to step through. */
func_insns step_me
	i 0, endbr64
	i 0, push %rbp
	i 0, lea 1(%rdi), %rax
	i 0, mov step_me(%rip), %rdx
	i 0, call 1f
	i 0, xor %ecx, %ecx
	i 0, imul $3, %rax, %rax
	i 0, jmp 2f
1:	i 0, nop
	i 0, ret
2:	i 0, pop %rbp
	i 0, ret
end_insns

/* A breakpoint of the program's own, between two other instructions. */
func call_int3
	lea	1(%rdi), %rax
	.globl own_int3, after_int3
own_int3:
	int3
after_int3:
	lea	2(%rdi), %rax
	ret

/* Instructions that are refused. */
func soft_int
	int	$0x21
	ret
func unknown
	.byte	0x06		/* no instruction of 64-bit mode */
	ret
func halt
	hlt
	ret

func call_kmov
	kmovw	%edi, %k1
	.globl kmov
kmov:
	kmovw	%k1, %k2
	kmovw	%k2, %eax
	ret

/* Many instructions in a row, of one byte and of four. */
func nops
.rept 10000
	nop
.endr
	ret

func add_10000
	mov	%rdi, %rax
	.globl leas
leas:
.rept 10000
	lea	1(%rax), %rax
.endr
	ret

/* A function on each of 100 pages. */
	.balign 4096
	.globl pages
pages:
.rept 100
	nop
	ret
	.balign 4096
.endr

/*
 * A restartable sequence, see rseq(2): stores 1 and returns 0, or is aborted
 * and returns 1. What it is aborted to has the C library's signature before it.
 */
	.data
	.balign 32
rseq_descriptor:
	.long	0, 0
	.quad	rseq_nop, rseq_end - rseq_nop, rseq_abort

	.text
	.globl rseq_nop, rseq_commit
func rseq_store
	lea	rseq_descriptor(%rip), %rax
	mov	%rax, 8(%rdi)
rseq_nop:
	nop
rseq_commit:
	movq	$1, (%rsi)
rseq_end:
	xor	%eax, %eax
	ret
	.byte	0x0f, 0xb9, 0x3d
	.long	0x53053053
rseq_abort:
	mov	$1, %eax
	ret

	.section .rodata
	.balign 8
every_data:
	.quad 0x123456789

	.section .note.GNU-stack, "", @progbits
