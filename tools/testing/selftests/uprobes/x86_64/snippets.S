/* SPDX-License-Identifier: GPL-2.0-only */
/* Snippets, and what runs them: see snippets.h. */
	.text

	.globl run_snippet, snippet_end
run_snippet:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, old_rsp(%rip)
	mov	%rdi, start(%rip)
	cmpb	$0, has_avx(%rip)
	je	1f
	vmovdqu	cpu+136(%rip), %ymm0
	vmovdqu	cpu+168(%rip), %ymm1
	vmovdqu	cpu+200(%rip), %ymm2
	vmovdqu	cpu+232(%rip), %ymm3
	jmp	2f
1:	movdqu	cpu+136(%rip), %xmm0
	movdqu	cpu+168(%rip), %xmm1
	movdqu	cpu+200(%rip), %xmm2
	movdqu	cpu+232(%rip), %xmm3
2:	push	cpu+128(%rip)
	popf
	mov	cpu+0(%rip), %rax
	mov	cpu+8(%rip), %rcx
	mov	cpu+16(%rip), %rdx
	mov	cpu+24(%rip), %rbx
	mov	cpu+32(%rip), %rsp
	mov	cpu+40(%rip), %rbp
	mov	cpu+48(%rip), %rsi
	mov	cpu+56(%rip), %rdi
	mov	cpu+64(%rip), %r8
	mov	cpu+72(%rip), %r9
	mov	cpu+80(%rip), %r10
	mov	cpu+88(%rip), %r11
	mov	cpu+96(%rip), %r12
	mov	cpu+104(%rip), %r13
	mov	cpu+112(%rip), %r14
	mov	cpu+120(%rip), %r15
	jmp	*start(%rip)
snippet_end:
	mov	%rax, cpu+0(%rip)
	mov	%rcx, cpu+8(%rip)
	mov	%rdx, cpu+16(%rip)
	mov	%rbx, cpu+24(%rip)
	mov	%rsp, cpu+32(%rip)
	mov	%rbp, cpu+40(%rip)
	mov	%rsi, cpu+48(%rip)
	mov	%rdi, cpu+56(%rip)
	mov	%r8, cpu+64(%rip)
	mov	%r9, cpu+72(%rip)
	mov	%r10, cpu+80(%rip)
	mov	%r11, cpu+88(%rip)
	mov	%r12, cpu+96(%rip)
	mov	%r13, cpu+104(%rip)
	mov	%r14, cpu+112(%rip)
	mov	%r15, cpu+120(%rip)
	mov	old_rsp(%rip), %rsp
	pushf
	pop	cpu+128(%rip)
	push	$0x202
	popf
	cmpb	$0, has_avx(%rip)
	je	1f
	vmovdqu	%ymm0, cpu+136(%rip)
	vmovdqu	%ymm1, cpu+168(%rip)
	vmovdqu	%ymm2, cpu+200(%rip)
	vmovdqu	%ymm3, cpu+232(%rip)
	vzeroupper
	jmp	2f
1:	movdqu	%xmm0, cpu+136(%rip)
	movdqu	%xmm1, cpu+168(%rip)
	movdqu	%xmm2, cpu+200(%rip)
	movdqu	%xmm3, cpu+232(%rip)
2:	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

	.bss
	.balign 64
	.globl cpu, stack, data, has_avx, bad_page
cpu:
	.zero	272
	.balign 64
stack:
	.zero	512
	.balign 64
data:
	.zero	256
code_pointer:
	.zero	8
old_rsp:
	.zero	8
start:
	.zero	8
has_avx:
	.zero	1
	.balign 4096
bad_page:
	.zero	4096
	.text

.macro table name
	.pushsection .rodata.snippets, "a"
	.balign 8
	.globl \name
\name:
	.popsection
.endm

.macro end_table
	.pushsection .rodata.snippets, "a"
	.quad 0, 0, 0
	.popsection
.endm

/* The probed instruction with the code before it and behind it */
.macro around before, insn, after
77:	\before
78:	\insn
	\after
	jmp snippet_end
	.pushsection .rodata.texts, "a"
79:	.asciz "\insn"
	.popsection
	.pushsection .rodata.snippets, "a"
	.quad 77b, 78b, 79b
	.popsection
.endm

.macro plain insn
	around "", "\insn", ""
.endm

/* A branch to 1: both ways leave their mark */
.macro branch before, insn
	around "\before", "\insn", "mov $1, %r15d; jmp 2f; 1: mov $2, %r15d; 2:"
.endm

/* The stack pointer is in a page that cannot be accessed */
.macro bad_stack insn, before
	around "\before; lea bad_page+64(%rip), %rsp", "\insn", "1:"
.endm

/* Emulated, or at least what functions begin and end with. */
	table emulated
	plain "nop"
	plain "xchg %ax, %ax"
	plain "pause"
	plain "endbr64"
	plain "endbr32"
	plain "nopl (%rax)"
	plain "nopl 8(%rax)"
	plain "nopl 8(%rax, %rax)"
	plain "nopw 0x100(%rax, %rax)"
	plain "nopl 0x12345678(%r9)"
	plain ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0"
	plain ".byte 0x66, 0x66, 0x66, 0x66, 0x90"
	plain "push %rax"
	plain "push %rsp"
	plain "push %rbp"
	plain "push %r8"
	plain "push %r12"
	plain "push $-5"
	plain "push $0x12345678"
	plain "push $-0x12345678"
	plain "pop %rax"
	plain "pop %rsp"
	plain "pop %rbp"
	plain "pop %r13"
	plain "mov %rax, %rcx"
	plain "mov %eax, %ecx"
	plain "mov %rsp, %rbp"
	plain "mov %rbp, %rsp"
	plain "mov %esp, %r15d"
	plain "mov %r9, %rsi"
	plain "mov %r8d, %r9d"
	plain ".byte 0x48, 0x8b, 0xec"
	plain "add $8, %rsp"
	plain "add $0x1000, %rsp"
	plain "sub $8, %rsp"
	plain "sub $0x12345678, %rsp"
	plain "sub $-128, %rsp"
	plain "and $-16, %rsp"
	plain "lea 8(%rsp), %rsp"
	plain "lea -0x1000(%rsp), %rsp"
	plain "lea -8(%rbp), %rsp"
	plain "lea 8(%rsp, %rcx, 4), %r10"
	plain "xor %eax, %eax"
	plain "xor %r12d, %r12d"
	plain "xor %rsi, %rsi"
	plain "leave"
	plain "enter $16, $0"
	plain "pushf"
	around "movq $0x200ed7, (%rsp)", "popf", ""
	around "movq $0x3202, (%rsp)", "popf", ""
	around "lea 1f(%rip), %r11; mov %r11, (%rsp)", "ret", "ud2; 1:"
	around "lea 1f(%rip), %r11; mov %r11, (%rsp)", "repz ret", "ud2; 1:"
	around "lea 1f(%rip), %r11; mov %r11, (%rsp)", "ret $16", "ud2; 1:"
	branch "", "jmp 1f"
	branch "", ".byte 0xe9; .long 1f - . - 4"
	branch "", "call 1f"
	branch "lea 1f(%rip), %r11", "jmp *%r11"
	branch "lea 1f(%rip), %r11", "call *%r11"
	branch "lea 1f(%rip), %r11; mov %r11, (%rdi)", "jmp *(%rdi)"
	branch "lea 1f(%rip), %r11; mov %r11, 8(%rdi)", "call *8(%rdi)"
	branch "lea 1f(%rip), %r11; mov %r11, 8(%rsp)", "call *8(%rsp)"
	branch "lea 1f(%rip), %r11; mov %r11, -8(%rsp)", "call *-8(%rsp)"
	branch "lea 1f(%rip), %r11; mov %r11, 8(%rsp)", "jmp *8(%rsp)"
	branch "lea 1f(%rip), %r11; mov %r11, code_pointer(%rip)", "jmp *code_pointer(%rip)"
	branch "lea 1f(%rip), %r11; mov %r11, code_pointer(%rip)", "call *code_pointer(%rip)"
	branch "", "jo 1f"
	branch "", "jno 1f"
	branch "", "jb 1f"
	branch "", "jae 1f"
	branch "", "je 1f"
	branch "", "jne 1f"
	branch "", "jbe 1f"
	branch "", "ja 1f"
	branch "", "js 1f"
	branch "", "jns 1f"
	branch "", "jp 1f"
	branch "", "jnp 1f"
	branch "", "jl 1f"
	branch "", "jge 1f"
	branch "", "jle 1f"
	branch "", "jg 1f"
	branch "", ".byte 0x0f, 0x80; .long 1f - . - 4"
	branch "", ".byte 0x0f, 0x84; .long 1f - . - 4"
	branch "", ".byte 0x0f, 0x87; .long 1f - . - 4"
	branch "", ".byte 0x0f, 0x8f; .long 1f - . - 4"
	branch "", "loop 1f"
	branch "", "loope 1f"
	branch "", "loopne 1f"
	branch "", "jrcxz 1f"
	branch "", "jecxz 1f"
	branch "mov $0, %ecx", "jrcxz 1f"
	branch "mov $1, %ecx", "loop 1f"
	end_table

/* Executed in a copy. */
	table stepped
	plain "add %rcx, %rax"
	plain "adc $5, %r8d"
	plain "sbb %rax, %rcx"
	plain "neg %r12"
	plain "lea 1(%rdi, %rcx, 4), %rax"
	plain "imul $7, (%rdi), %r13"
	plain "mul %r12"
	plain "div %rcx"
	plain "idivl (%rdi)"
	plain "shl %cl, %rax"
	plain "rcr $3, %r8"
	plain "bts %rcx, (%rdi)"
	plain "bsf %rax, %rdx"
	plain "bswap %rax"
	plain "cqo"
	plain "shld $3, %rax, (%rdi)"
	plain "popcnt %rax, %rdx"
	plain "crc32 %rax, %rdx"
	plain "lock xadd %rax, (%rdi)"
	plain "lock incl (%rdi)"
	plain "lock cmpxchg %rcx, (%rdi)"
	plain "xchg %rax, (%rdi)"
	plain "xchg %r8, %rax"
	plain "lock cmpxchg16b (%rdi)"
	plain "cmpxchg8b (%rdi)"
	plain "mov (%rdi), %rax"
	plain "mov %rax, (%rdi)"
	plain "mov %ah, %bh"
	plain "movzbl (%rdi), %eax"
	plain "movslq (%rdi), %rax"
	plain "movabs $0x1122334455667788, %rax"
	plain "movabs data, %rax"
	plain "movabs %eax, data"
	plain "movl $5, 8(%rdi)"
	plain "mov %fs:0, %rax"
	plain "mov %fs:40, %rcx"
	plain "cmovl %rax, %rcx"
	plain "setbe (%rdi)"
	plain "pushq (%rdi)"
	plain "popq (%rdi)"
	plain "push 8(%rsp)"
	plain "pop 8(%rsp)"
	plain "lahf"
	plain "sahf"
	plain "stc"
	plain "cmc"
	plain "std"
	plain "cld"
	plain "movsb"
	plain "movsq"
	plain "stosl"
	plain "lodsw"
	plain "scasb"
	plain "cmpsq"
	plain "rep movsb"
	plain "rep movsq"
	plain "rep stosl"
	plain "repe cmpsb"
	plain "repne scasb"
	plain "repe scasw"
	plain "rep lodsb"
	around "mov $0, %ecx", "rep movsb", ""
	around "mov $1, %ecx", "rep stosb", ""
	around "mov $0, %eax", "cpuid", ""
	around "mov $5, %eax; mov %rdi, %rbx", "xlat", ""
	around "", "fldl (%rdi)", "fstpl 8(%rdi)"
	around "fldpi", "fstpl 16(%rdi)", ""
	around "fldpi", "fldcw (%rsp)", "fstp %st; fninit"
	plain "fwait"
	plain "fnstcw (%rdi)"
	plain "stmxcsr (%rdi)"
	plain "addps %xmm1, %xmm0"
	plain "movups (%rdi), %xmm2"
	plain "pxor %xmm1, %xmm2"
	plain "movaps %xmm0, (%rdi)"
	plain "movq %rax, %xmm3"
	plain "pshufd $27, %xmm1, %xmm0"
	plain "cvtsi2sd %rax, %xmm0"
	plain "ucomisd %xmm0, %xmm1"
	plain "movntdq %xmm0, (%rdi)"
	plain "pcmpistri $0, %xmm1, %xmm2"
	plain "palignr $3, %xmm0, %xmm1"
	plain "lfence"
	plain "mfence"
	plain "sfence"
	plain "prefetcht0 (%rdi)"
	plain "clflush (%rdi)"
	end_table

/* Operands relative to the instruction pointer: the copy needs a register. */
	table relative
	plain "mov data(%rip), %rax"
	plain "mov data(%rip), %rsi"
	plain "mov data(%rip), %rdi"
	plain "mov data(%rip), %rbx"
	plain "mov data(%rip), %r14"
	plain "mov data(%rip), %rsp"
	plain "mov %rax, data(%rip)"
	plain "mov %rsi, data(%rip)"
	plain "mov %rdi, data(%rip)"
	plain "mov %rsp, data(%rip)"
	plain "mov %r13d, data(%rip)"
	plain "mov %ah, data(%rip)"
	plain "mov %bh, data(%rip)"
	plain "mov %dh, data(%rip)"
	plain "mov %sil, data(%rip)"
	plain "mov data(%rip), %ch"
	plain "mov data(%rip), %bh"
	plain "movl $5, data(%rip)"
	plain "movw $5, data(%rip)"
	plain "movb $5, data(%rip)"
	plain "cmpl $0x12345678, data(%rip)"
	plain "cmpb $5, data(%rip)"
	plain "testl $5, data(%rip)"
	plain "add data(%rip), %rsi"
	plain "adc %rdi, data(%rip)"
	plain "imul $300, data(%rip), %rcx"
	plain "imul $3, data(%rip), %rsi"
	plain "notq data(%rip)"
	plain "incb data(%rip)"
	plain "mulq data(%rip)"
	plain "shlq %cl, data(%rip)"
	plain "shrl $5, data(%rip)"
	plain "shld %cl, %rsi, data(%rip)"
	plain "btsl $7, data(%rip)"
	plain "xchg %rsi, data(%rip)"
	plain "xchg %rdi, data(%rip)"
	plain "lock xadd %rbx, data(%rip)"
	plain "lock cmpxchg %rsi, data(%rip)"
	plain "cmpxchg8b data(%rip)"
	plain "lock cmpxchg16b data(%rip)"
	plain "lea data(%rip), %rax"
	plain "lea data(%rip), %rsi"
	plain "lea data(%rip), %r9d"
	plain "setne data(%rip)"
	plain "cmovg data(%rip), %rdi"
	plain "movzwl data(%rip), %esi"
	plain "push data(%rip)"
	plain "pop data(%rip)"
	plain "movnti %rsi, data(%rip)"
	plain "movbe data(%rip), %rsi"
	plain "movups data(%rip), %xmm0"
	plain "addpd data(%rip), %xmm3"
	plain "pshufd $1, data(%rip), %xmm1"
	plain "movq %xmm2, data(%rip)"
	plain "cvtsi2sdq data(%rip), %xmm0"
	plain "pinsrb $3, data(%rip), %xmm1"
	around "", "fldl data(%rip)", "fstpl 8(%rdi)"
	end_table

/* C2: VEX opcodes are not what the same byte is without VEX, given in hex. */
	table avx
	plain "vpor %ymm1, %ymm2, %ymm0"	/* eb, jmp */
	plain "vpcmpeqb %ymm1, %ymm2, %ymm0"	/* 74, je */
	plain "vpcmpeqw %ymm1, %ymm2, %ymm0"	/* 75, jne */
	plain "vmovdqu %ymm0, (%rdi)"	/* 7f, jg */
	plain "vmovd %xmm0, %eax"	/* 7e, jle */
	plain "vhaddps %ymm1, %ymm2, %ymm0"	/* 7c, jl */
	plain "vpsubsb %ymm1, %ymm2, %ymm0"	/* e8, call */
	plain "vpsubsw %ymm1, %ymm2, %ymm0"	/* e9, jmp */
	plain "vpshufd $27, %ymm1, %ymm0"	/* 70, jo */
	plain "vpsrlw $3, %ymm1, %ymm0"	/* 71, jno */
	plain "vzeroupper"
	plain "vzeroall"	/* 77, ja */
	plain "vpaddq %ymm1, %ymm2, %ymm0"	/* d4 */
	plain "vpmuludq %ymm1, %ymm2, %ymm0"	/* f4, hlt */
	plain "vcmpps $2, %ymm1, %ymm2, %ymm0"	/* c2, ret */
	plain "vpinsrw $3, %eax, %xmm1, %xmm0"	/* c4 */
	plain "vsqrtps %ymm1, %ymm0"	/* 51, push */
	plain "vandps %ymm1, %ymm2, %ymm0"	/* 54, push */
	plain "vxorps %ymm1, %ymm2, %ymm0"	/* 57, push */
	plain "vaddps %ymm1, %ymm2, %ymm0"	/* 58, pop */
	plain "vmaxps %ymm1, %ymm2, %ymm0"	/* 5f, pop */
	plain "vpand %xmm1, %xmm2, %xmm0"
	plain "vpermq $27, %ymm1, %ymm0"
	plain "vpshufb %ymm1, %ymm2, %ymm0"
	plain "vbroadcastss (%rdi), %ymm3"
	plain "vpor data(%rip), %ymm2, %ymm0"
	plain "vpcmpeqb data(%rip), %ymm1, %ymm0"
	plain "vmovdqu %ymm1, data(%rip)"
	plain "vmovdqu data(%rip), %ymm3"
	plain "vpshufd $27, data(%rip), %ymm0"
	plain "vpsubsb data(%rip), %xmm2, %xmm0"
	plain "andn data(%rip), %rsi, %rax"
	plain "andn data(%rip), %rdi, %rsi"
	plain "andn %rax, %rbx, %rcx"
	plain "bextr %rsi, data(%rip), %rdi"
	plain "shlx %rsi, data(%rip), %rdi"
	plain "rorx $3, data(%rip), %rsi"
	plain "mulx data(%rip), %rsi, %rdi"
	plain "pdep data(%rip), %rsi, %rbx"
	end_table

/* System calls that do nothing, in a way. */
	table system_calls
	around "mov $39, %eax", "syscall", ""	/* getpid */
	around "mov $-1, %eax", "syscall", ""
	around "xor %eax, %eax; mov $-1, %edi", "syscall", ""	/* read */
	around "mov $20, %eax", "int $0x80", ""	/* getpid */
	around "mov $-1, %eax", "int $0x80", ""
	around "mov $3, %eax; mov $-1, %ebx", "int $0x80", ""	/* read */
	end_table

/* What is rare. The base of gs is data. */
	table rare
	plain "mov %gs:8, %rax"
	plain "add %rcx, %gs:16"
	plain "push %gs:8"
	plain "pop %gs:40"
	around "mov $16, %esi", "lodsq %gs:(%rsi), %rax", ""
	around "mov $16, %esi", "rep movsb %gs:(%rsi), (%rdi)", ""
	around "mov $16, %ebx; xor %eax, %eax", "xlat %gs:(%rbx)", ""
	branch "lea 1f(%rip), %r11; mov %r11, %gs:24", "jmp *%gs:24"
	branch "lea 1f(%rip), %r11; mov %r11, %gs:24", "call *%gs:24"
	plain "push %fs:40"
	plain "mov %ss, %eax"
	plain "mov %cs, %rdx"
	plain "mov %ds, (%rdi)"
	plain "rdsspq %rax"
	plain "rdsspd %ecx"
	plain "enter $16, $3"
	plain "enter $0, $31"
	plain "enterw $16, $0"
	plain "leavew"
	plain "pushw %ax"
	plain "popw %cx"
	around "lea 1f(%rip), %r11; mov %r11, (%rsp)", "ret $0x7ff0", "ud2; 1:"
	around "xor %ecx, %ecx", "xgetbv", ""
	plain "lock btsq %rcx, (%rdi)"
	plain "lock notl (%rdi)"
	plain "lock addb $1, data(%rip)"
	end_table

/* C9: faults that the instruction raises. */
	table faulting
	plain "mov (%r8), %rax"
	plain "mov %rax, (%r8)"
	plain "addl $5, (%r8)"
	plain "mov (%r9), %rax"
	plain "mov %rax, (%r9)"
	plain "movaps 1(%rdi), %xmm0"
	plain "mov bad_page(%rip), %rax"
	plain "mov %rax, bad_page(%rip)"
	plain "add bad_page(%rip), %rsi"
	plain "lock cmpxchg16b bad_page(%rip)"
	plain "cmpl $5, bad_page+8(%rip)"
	plain "movups bad_page(%rip), %xmm0"
	plain "div %r10"
	plain "idivl bad_page(%rip)"
	around "movq $0, (%rdi)", "divq (%rdi)", ""
	around "movq $0, data(%rip)", "divq data(%rip)", ""
	plain "push (%r8)"
	plain "pop (%r8)"
	plain "call *(%r8)"
	plain "jmp *(%r8)"
	plain "jmp *bad_page(%rip)"
	plain "call *bad_page(%rip)"
	plain "jmp *%r8"
	plain "call *%r8"
	bad_stack "push %rax"
	bad_stack "push $5"
	bad_stack "pop %rax"
	bad_stack "call 1f"
	bad_stack "ret"
	bad_stack "ret $8"
	bad_stack "pushf"
	bad_stack "popf"
	bad_stack "push (%rdi)"
	bad_stack "pop (%rdi)"
	bad_stack "enter $16, $0"
	bad_stack "call *%r11", "lea 1f(%rip), %r11"
	bad_stack "call *(%rdi)", "lea 1f(%rip), %r11; mov %r11, (%rdi)"
	around "lea bad_page(%rip), %rbp", "leave", ""
	around "lea 1f(%rip), %r11; mov $16, %r11; mov %r11, (%rsp)", "ret", "1:"
/* Two bytes are written before it faults */
	around "lea bad_page-2(%rip), %rdi", "rep stosb", ""
	around "lea bad_page-2(%rip), %rsi", "rep movsb", ""
	plain "xchg %rax, bad_page(%rip)"
	plain "fldl bad_page(%rip)"
	plain "mov %gs:bad_page(%rip), %rax"
	end_table

	.section .note.GNU-stack, "", @progbits
