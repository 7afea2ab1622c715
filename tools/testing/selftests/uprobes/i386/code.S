/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions to probe, of which every instruction is known: see probed.h. */
#include "abi.S"
	.text

func add
	mov	4(%esp), %eax
	.globl add_next, add_ret
add_next:
	add	8(%esp), %eax
add_ret:
	ret

func sub
	mov	4(%esp), %eax
	sub	8(%esp), %eax
	ret

func nop_fn
	nop
	ret

func own_sp
	lea	(%esp), %eax
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

/* Removes 16 bytes from its caller's stack: its arguments, and more. */
func pop_16
	mov	4(%esp), %eax
	add	8(%esp), %eax
	ret	$16

/* Returns what pop_16() returns, plus what the stack pointer is off by. */
func call_pop_16
	push	%ebx
	mov	%esp, %ebx
	push	$1
	push	$2
	push	12(%ebx)
	push	8(%ebx)
	call	pop_16
	sub	%esp, %ebx
	add	%ebx, %eax
	pop	%ebx
	ret

/* A tail call: both return to one address. */
func tail_outer
	incl	4(%esp)
	jmp	tail_inner
func tail_inner
	mov	4(%esp), %eax
	add	%eax, %eax
	ret

/* Returns what is in a register that it has to give back. */
func saved_register
	push	%ebx
	.globl at_copied, at_emulated
at_copied:
	lea	(%ebx, %ebx), %eax
at_emulated:
	mov	%ebx, %eax
	pop	%ebx
	ret

/* Jumps to where its argument says. */
func tail_call
	nop
	jmp	*4(%esp)

/* Returns by a jump. */
func pop_jmp
	mov	4(%esp), %eax
	add	$3, %eax
	pop	%ecx
	jmp	*%ecx

/* Returns 5, but to where its first argument says. */
func ret_to
	mov	4(%esp), %eax
	mov	%eax, (%esp)
	mov	$5, %eax
	ret

/* Calls ret_to() so that it returns there, and not behind the call. */
func call_ret_to
	push	$1f
	call	ret_to
	mov	$-1, %eax
1:	pop	%ecx
	ret

/* Calls fn(arg) on another stack, which begins with on_stack_end and arg. */
func call_on_stack
	push	%ebx
	mov	%esp, %ebx
	mov	12(%esp), %eax
	mov	8(%esp), %esp
	jmp	*%eax
	.globl on_stack_end
on_stack_end:
	mov	%ebx, %esp
	pop	%ebx
	ret

/* Three calls in each other, with frame pointers up to 0. */
func walk_0
	push	%ebp
	xor	%ebp, %ebp
	call	walk_1
	.globl after_walk_1
after_walk_1:
	pop	%ebp
	ret
func walk_1
	push	%ebp
	mov	%esp, %ebp
	call	walk_2
	.globl after_walk_2
after_walk_2:
	pop	%ebp
	ret
func walk_2
	push	%ebp
	mov	%esp, %ebp
	call	walk_3
	.globl after_walk_3
after_walk_3:
	pop	%ebp
	ret
func walk_3
	mov	$9, %eax
	ret

func end_thread
	mov	$1, %eax	/* exit, of one thread */
	xor	%ebx, %ebx
	int	$0x80
	ud2

/* 64 bytes with rep stosb: one execution, many steps. */
func fill
	push	%edi
	mov	8(%esp), %edi
	mov	$64, %ecx
	mov	$7, %eax
	.globl fill_rep
fill_rep:
	rep stosb
	pop	%edi
	ret

/*
 * Fill memory below the stack pointer, execute one instruction of each sort,
 * compare. It is not the program's in 32 bits, but nor is it the engine's.
 */
func_insns red_zone
	mov	$-128, %ecx
1:	mov	%ecx, (%esp, %ecx)
	add	$4, %ecx
	jnz	1b
	i 0, nop
	i 0, lea (%esi, %edi), %edx
	i 0, mov red_zone, %edx
	i 0, jmp 2f
2:	i 0, mov %esp, %edx
	mov	$-128, %ecx
	xor	%eax, %eax
3:	cmp	%ecx, (%esp, %ecx)
	je	4f
	inc	%eax
4:	add	$4, %ecx
	jnz	3b
	ret
end_insns

/*
 * The number of an instruction says how often every(n), n even, executes it:
 * 0 once, 1 n times, 2 n / 2 times, 3 2 * n times.
 */
func_insns every
	i 0, endbr32
	i 0, push %ebp
	i 0, mov %esp, %ebp
	i 0, push %ebx
	i 0, push %esi
	i 0, sub $32, %esp
	i 0, xor %eax, %eax
	i 0, xor %ecx, %ecx
	i 0, mov 8(%ebp), %ebx
	i 0, test %ebx, %ebx
	i 0, je 4f
1:	i 1, mov %ebx, 8(%esp)
	i 1, add every_data, %eax
	i 1, call every_leaf
	i 1, add %edx, %eax
	i 1, imul $3, 8(%esp), %ecx
	i 1, nopw 0x100(%eax, %eax)
	i 1, testb $1, %bl
	i 1, jne 2f
	i 2, push $-5
	i 2, pop %esi
	i 2, sub %esi, %eax
2:	i 1, call 3f
3:	i 1, pop %edx
	i 1, lea every_leaf - 3b(%edx), %edx
	i 1, call *%edx
	i 1, xor %edx, %eax
	i 1, dec %ebx
	i 1, jne 1b
4:	i 0, jmp 5f
	int3
5:	i 0, add $32, %esp
	i 0, pop %esi
	i 0, pop %ebx
	i 0, leave
	i 0, ret
every_leaf:
	i 3, lea 7(%ecx, %ecx), %edx
	i 3, ret
end_insns

/* Sets the trap flag, and does not clear it before the second popf. */
func_insns trace_me
	xor	%eax, %eax
	pushf
	orl	$0x100, (%esp)
	i 0, popf
	i 0, nop
	i 0, mov 4(%esp), %eax
	i 0, push %ebx
	i 0, mov %esp, %edx
	i 0, pushf
	i 0, pop %ecx
	i 0, mov %ecx, (%eax)
	i 0, call 1f
	i 0, mov trace_me, %edx
	i 0, push %es
	i 0, pop %es
	i 0, xor %eax, %eax
	i 0, test %eax, %eax
	i 0, je 2f
	nop
1:	i 0, endbr32
	i 0, ret
2:	i 0, jmp 3f
	nop
3:	i 0, pop %ebx
	i 0, add $1, %eax
	i 0, pushf
	i 0, andl $~0x100, (%esp)
	i 0, popf
	i 0, nop
	i 0, ret
end_insns

/*
 * For a debugger to step through. Without frame information it would look at
 * the frame pointer, which any caller may use for something else.
 */
func_insns step_me
	.cfi_startproc
	i 0, endbr32
	i 0, push %ebp
	.cfi_adjust_cfa_offset 4
	i 0, lea 1(%edx), %eax
	i 0, mov step_me, %edx
	i 0, call 1f
	i 0, xor %ecx, %ecx
	i 0, imul $3, %eax, %eax
	i 0, jmp 2f
	.cfi_adjust_cfa_offset 4
1:	i 0, nop
	i 0, ret
	.cfi_adjust_cfa_offset -4
2:	i 0, pop %ebp
	.cfi_adjust_cfa_offset -4
	i 0, ret
	.cfi_endproc
end_insns

/* A breakpoint of the program's own, between two other instructions. */
func call_int3
	lea	1(%edx), %eax
	.globl own_int3, after_int3
own_int3:
	int3
after_int3:
	lea	2(%edx), %eax
	ret

/* Instructions that are refused. */
func soft_int
	int	$0x21
	ret
func unknown
	.byte	0x0f, 0x04	/* no instruction */
	ret
func halt
	hlt
	ret

func call_kmov
	kmovw	4(%esp), %k1
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
	mov	4(%esp), %eax
	.globl leas
leas:
.rept 10000
	.byte	0x2e	/* cs, for the length */
	lea	1(%eax), %eax
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
	.long	rseq_nop, 0, rseq_end - rseq_nop, 0, rseq_abort, 0

	.text
	.globl rseq_nop, rseq_commit
func rseq_store
	mov	4(%esp), %ecx
	mov	8(%esp), %edx
	movl	$0, 12(%ecx)
	movl	$rseq_descriptor, 8(%ecx)
rseq_nop:
	nop
rseq_commit:
	movl	$1, (%edx)
rseq_end:
	xor	%eax, %eax
	ret
	.byte	0x0f, 0xb9, 0x3d
	.long	0x53053053
rseq_abort:
	mov	$1, %eax
	ret

	.section .rodata
	.balign 4
every_data:
	.long 0x23456789

	.section .note.GNU-stack, "", @progbits
