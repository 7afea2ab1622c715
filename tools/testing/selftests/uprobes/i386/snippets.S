/* SPDX-License-Identifier: GPL-2.0-only */
/* Snippets of 32-bit code, and what runs them: see snippets.h. */
	.text

	.globl run_snippet, snippet_end
run_snippet:
	push	%ebx
	push	%esi
	push	%edi
	push	%ebp
	mov	20(%esp), %eax
	mov	%eax, start
	mov	%esp, old_esp
	cmpb	$0, has_avx
	je	1f
	vmovdqu	cpu+40, %ymm0
	vmovdqu	cpu+72, %ymm1
	vmovdqu	cpu+104, %ymm2
	vmovdqu	cpu+136, %ymm3
	jmp	2f
1:	movdqu	cpu+40, %xmm0
	movdqu	cpu+72, %xmm1
	movdqu	cpu+104, %xmm2
	movdqu	cpu+136, %xmm3
2:	pushl	cpu+32
	popf
	mov	cpu+0, %eax
	mov	cpu+4, %ecx
	mov	cpu+8, %edx
	mov	cpu+12, %ebx
	mov	cpu+16, %esp
	mov	cpu+20, %ebp
	mov	cpu+24, %esi
	mov	cpu+28, %edi
	jmp	*start
snippet_end:
	mov	%eax, cpu+0
	mov	%ecx, cpu+4
	mov	%edx, cpu+8
	mov	%ebx, cpu+12
	mov	%esp, cpu+16
	mov	%ebp, cpu+20
	mov	%esi, cpu+24
	mov	%edi, cpu+28
	mov	old_esp, %esp
	pushf
	popl	cpu+32
	push	$0x202
	popf
	cmpb	$0, has_avx
	je	1f
	vmovdqu	%ymm0, cpu+40
	vmovdqu	%ymm1, cpu+72
	vmovdqu	%ymm2, cpu+104
	vmovdqu	%ymm3, cpu+136
	vzeroupper
	jmp	2f
1:	movdqu	%xmm0, cpu+40
	movdqu	%xmm1, cpu+72
	movdqu	%xmm2, cpu+104
	movdqu	%xmm3, cpu+136
2:	pop	%ebp
	pop	%edi
	pop	%esi
	pop	%ebx
	ret

	.bss
	.balign 64
	.globl cpu, stack, data, has_avx, bad_page
cpu:
	.zero	168
	.balign 64
stack:
	.zero	512
	.balign 64
data:
	.zero	256
code_pointer:
	.zero	4
old_esp:
	.zero	4
start:
	.zero	4
has_avx:
	.zero	1
	.balign 4096
bad_page:
	.zero	4096
	.text

.macro table name
	.pushsection .rodata.snippets, "a"
	.balign 4
	.globl \name
\name:
	.popsection
.endm

.macro end_table
	.pushsection .rodata.snippets, "a"
	.long 0, 0, 0
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
	.long 77b, 78b, 79b
	.popsection
.endm

.macro plain insn
	around "", "\insn", ""
.endm

/* A branch to 1: both ways leave their mark */
.macro branch before, insn
	around "\before", "\insn", "mov $1, %esi; jmp 2f; 1: mov $2, %esi; 2:"
.endm

/* The stack pointer is in a page that cannot be accessed */
.macro bad_stack insn, before
	around "\before; lea bad_page+64, %esp", "\insn", "1:"
.endm

/* Emulated, or at least what functions begin and end with. */
	table emulated
	plain "nop"
	plain "xchg %ax, %ax"
	plain "pause"
	plain "endbr32"
	plain "endbr64"
	plain "nopl (%eax)"
	plain "nopl 8(%eax, %eax)"
	plain "nopw 0x100(%eax, %eax)"
	plain ".byte 0x66, 0x66, 0x66, 0x90"
	plain "push %eax"
	plain "push %esp"
	plain "push %ebp"
	plain "push $-5"
	plain "push $0x12345678"
	plain "push $-0x12345678"
	plain "pop %eax"
	plain "pop %esp"
	plain "pop %ebp"
	plain "mov %eax, %ecx"
	plain "mov %esp, %ebp"
	plain "mov %ebp, %esp"
	plain ".byte 0x8b, 0xec"
	plain "add $8, %esp"
	plain "add $0x1000, %esp"
	plain "sub $8, %esp"
	plain "sub $0x12345678, %esp"
	plain "sub $-128, %esp"
	plain "and $-16, %esp"
	plain "lea 8(%esp), %esp"
	plain "lea -0x1000(%esp), %esp"
	plain "lea -8(%ebp), %esp"
	plain "lea 8(%esp, %ecx, 4), %ebx"
	plain "xor %eax, %eax"
	plain "leave"
	plain "enter $16, $0"
	plain "pushf"
	around "movl $0x200ed7, (%esp)", "popf", ""
	around "movl $0x3202, (%esp)", "popf", ""
	around "movl $1f, (%esp)", "ret", "ud2; 1:"
	around "movl $1f, (%esp)", "repz ret", "ud2; 1:"
	around "movl $1f, (%esp)", "ret $16", "ud2; 1:"
	branch "", "jmp 1f"
	branch "", ".byte 0xe9; .long 1f - . - 4"
	branch "", "call 1f"
	branch "", "call .+5"
	branch "mov $1f, %eax", "jmp *%eax"
	branch "mov $1f, %eax", "call *%eax"
	branch "movl $1f, (%edi)", "jmp *(%edi)"
	branch "movl $1f, 8(%edi)", "call *8(%edi)"
	branch "movl $1f, 8(%esp)", "call *8(%esp)"
	branch "movl $1f, -4(%esp)", "call *-4(%esp)"
	branch "movl $1f, 8(%esp)", "jmp *8(%esp)"
	branch "movl $1f, code_pointer", "jmp *code_pointer"
	branch "movl $1f, code_pointer", "call *code_pointer"
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
	branch "", ".byte 0x0f, 0x8f; .long 1f - . - 4"
	branch "", "loop 1f"
	branch "", "loope 1f"
	branch "", "loopne 1f"
	branch "", "jecxz 1f"
	branch "mov $0, %ecx", "jecxz 1f"
	branch "mov $1, %ecx", "loop 1f"
	end_table

/* Executed in a copy. The first ones are none of 64-bit code. */
	table stepped
	plain "inc %eax"
	plain "dec %esi"
	plain "daa"
	plain "das"
	plain "aaa"
	plain "aas"
	plain "aam"
	plain "aad"
	plain "pusha"
	plain "popa"
	plain "push %es"
	plain "push %cs"
	plain "push %ss"
	plain "push %ds"
	plain "push %fs"
	around "push %es", "pop %es", ""
	around "push %ds", "pop %ds", ""
	plain ".byte 0x82, 0xc0, 5"	/* add $5, %al */
	around "mov $5, %eax; movl $0, (%edi); movl $9, 4(%edi)", "bound %eax, (%edi)", ""
	around "mov %ds, 4(%edi)", "les (%edi), %eax", ""
	around "mov %ds, 4(%edi)", "lds (%edi), %ecx", ""
	plain "add %ecx, %eax"
	plain "adc $5, %ebx"
	plain "sbb %eax, %ecx"
	plain "neg %ebx"
	plain "lea 1(%edi, %ecx, 4), %eax"
	plain "imul $7, (%edi), %ebx"
	plain "mul %ebx"
	around "mov $7, %ebx", "div %ebx", ""
	plain "idivl (%edi)"
	plain "shl %cl, %eax"
	plain "rcr $3, %ebx"
	plain "bts %ecx, (%edi)"
	plain "bsf %eax, %edx"
	plain "bswap %eax"
	plain "cltd"
	plain "shld $3, %eax, (%edi)"
	plain "popcnt %eax, %edx"
	plain "crc32 %eax, %edx"
	plain "lock xadd %eax, (%edi)"
	plain "lock incl (%edi)"
	plain "lock cmpxchg %ecx, (%edi)"
	plain "lock cmpxchg8b (%edi)"
	plain "xchg %eax, (%edi)"
	plain "xchg %ebx, %eax"
	plain "mov (%edi), %eax"
	plain "mov %eax, (%edi)"
	plain "mov %ah, %bh"
	plain "movzbl (%edi), %eax"
	plain "mov data, %eax"	/* a0 to a3: an address and nothing else */
	plain "mov %al, data"
	plain "movl $5, 8(%edi)"
	plain "mov %gs:0, %eax"
	plain "mov %gs:20, %ecx"
	plain "cmovl %eax, %ecx"
	plain "setbe (%edi)"
	plain "pushl (%edi)"
	plain "popl (%edi)"
	plain "pushl 8(%esp)"
	plain "popl 8(%esp)"
	plain "lahf"
	plain "sahf"
	plain "stc"
	plain "cmc"
	plain "std"
	plain "cld"
	plain "movsb"
	plain "movsl"
	plain "stosl"
	plain "lodsw"
	plain "scasb"
	plain "cmpsl"
	plain "rep movsb"
	plain "rep movsl"
	plain "rep stosl"
	plain "repe cmpsb"
	plain "repne scasb"
	plain "repe scasw"
	plain "rep lodsb"
	around "mov $0, %ecx", "rep movsb", ""
	around "mov $1, %ecx", "rep stosb", ""
	around "mov $0, %eax", "cpuid", ""
	around "mov $5, %eax; mov %edi, %ebx", "xlat", ""
	around "", "fldl (%edi)", "fstpl 8(%edi)"
	around "fldpi", "fstpl 16(%edi)", ""
	around "fldpi", "fldcw (%esp)", "fstp %st; fninit"
	plain "fwait"
	plain "fnstcw (%edi)"
	plain "stmxcsr (%edi)"
	plain "addps %xmm1, %xmm0"
	plain "movups (%edi), %xmm2"
	plain "pxor %xmm1, %xmm2"
	plain "movaps %xmm0, (%edi)"
	plain "movd %eax, %xmm3"
	plain "pshufd $27, %xmm1, %xmm0"
	plain "cvtsi2sd %eax, %xmm0"
	plain "ucomisd %xmm0, %xmm1"
	plain "movntdq %xmm0, (%edi)"
	plain "pcmpistri $0, %xmm1, %xmm2"
	plain "palignr $3, %xmm0, %xmm1"
	plain "lfence"
	plain "mfence"
	plain "sfence"
	plain "prefetcht0 (%edi)"
	plain "clflush (%edi)"
	end_table

/* What is relative to the instruction pointer in 64-bit code, and not here. */
	table relative
	plain "mov data, %ecx"
	plain "mov data, %esp"
	plain "mov %esi, data"
	plain "mov %ah, data"
	plain "mov data, %ch"
	plain "movl $5, data"
	plain "movw $5, data"
	plain "movb $5, data"
	plain "cmpl $0x12345678, data"
	plain "add data, %esi"
	plain "adc %edi, data"
	plain "imul $300, data, %ecx"
	plain "incb data"
	plain "mull data"
	plain "shll %cl, data"
	plain "shld %cl, %esi, data"
	plain "btsl $7, data"
	plain "xchg %esi, data"
	plain "lock xadd %ebx, data"
	plain "lock cmpxchg %esi, data"
	plain "lock cmpxchg8b data"
	plain "lea data, %eax"
	plain "setne data"
	plain "cmovg data, %edi"
	plain "movzwl data, %esi"
	plain "pushl data"
	plain "popl data"
	plain "movnti %esi, data"
	plain "movbe data, %esi"
	plain "movups data, %xmm0"
	plain "pshufd $1, data, %xmm1"
	plain "movq %xmm2, data"
	around "", "fldl data", "fstpl 8(%edi)"
	end_table

/* C2: VEX opcodes are not what the same byte is without VEX, given in hex. */
	table avx
	plain "vpor %ymm1, %ymm2, %ymm0"	/* eb, jmp */
	plain "vpcmpeqb %ymm1, %ymm2, %ymm0"	/* 74, je */
	plain "vpcmpeqw %ymm1, %ymm2, %ymm0"	/* 75, jne */
	plain "vmovdqu %ymm0, (%edi)"	/* 7f, jg */
	plain "vmovd %xmm0, %eax"	/* 7e, jle */
	plain "vhaddps %ymm1, %ymm2, %ymm0"	/* 7c, jl */
	plain "vpsubsb %ymm1, %ymm2, %ymm0"	/* e8, call */
	plain "vpsubsw %ymm1, %ymm2, %ymm0"	/* e9, jmp */
	plain "vpshufd $27, %ymm1, %ymm0"	/* 70, jo */
	plain "vpsrlw $3, %ymm1, %ymm0"	/* 71, jno */
	plain "vzeroupper"
	plain "vzeroall"	/* 77, ja */
	plain "vpaddq %ymm1, %ymm2, %ymm0"	/* d4, aam */
	plain "vpmuludq %ymm1, %ymm2, %ymm0"	/* f4, hlt */
	plain "vcmpps $2, %ymm1, %ymm2, %ymm0"	/* c2, ret */
	plain "vpinsrw $3, %eax, %xmm1, %xmm0"	/* c4, les */
	plain "vsqrtps %ymm1, %ymm0"	/* 51, push */
	plain "vxorps %ymm1, %ymm2, %ymm0"	/* 57, push */
	plain "vaddps %ymm1, %ymm2, %ymm0"	/* 58, pop */
	plain "vpermilps $27, %ymm1, %ymm0"
	plain "vpshufb %ymm1, %ymm2, %ymm0"
	plain "vbroadcastss (%edi), %ymm3"
	plain "vpor data, %ymm2, %ymm0"
	plain "vmovdqu %ymm1, data"
	plain "vpshufd $27, data, %ymm0"
	plain "andn data, %esi, %eax"
	plain "andn %eax, %ebx, %ecx"
	plain "bextr %esi, data, %edi"
	plain "shlx %esi, data, %edi"
	plain "rorx $3, data, %esi"
	plain "mulx data, %esi, %edi"
	plain "pdep data, %esi, %ebx"
	end_table

/* System calls that do nothing, in a way. */
	table system_calls
	around "mov $20, %eax", "int $0x80", ""	/* getpid */
	around "mov $-1, %eax", "int $0x80", ""
	around "mov $3, %eax; mov $-1, %ebx", "int $0x80", ""	/* read */
	end_table

/* What is rare. The base of fs is data. */
	table rare
	plain "mov %fs:8, %eax"
	plain "add %ecx, %fs:16"
	plain "pushl %fs:8"
	plain "popl %fs:40"
	around "mov $16, %esi", "lodsl %fs:(%esi), %eax", ""
	around "mov $16, %esi", "rep movsb %fs:(%esi), (%edi)", ""
	around "mov $16, %ebx; xor %eax, %eax", "xlat %fs:(%ebx)", ""
	branch "movl $1f, %fs:24", "jmp *%fs:24"
	branch "movl $1f, %fs:24", "call *%fs:24"
	plain "pushl %gs:20"
	plain "mov %ss, %eax"
	plain "mov %cs, %edx"
	plain "mov %ds, (%edi)"
	plain "rdsspd %ecx"
	plain "enter $16, $3"
	plain "enter $0, $31"
	plain "enterw $16, $0"
	plain "leavew"
	plain "pushw %ax"
	plain "popw %cx"
	plain "pushaw"
	plain "popaw"
	around "movl $1f, (%esp)", "ret $0x7ff0", "ud2; 1:"
	around "xor %ecx, %ecx", "xgetbv", ""
	plain "lock btsl %ecx, (%edi)"
	plain "lock notl (%edi)"
	plain "lock addb $1, data"
	end_table

/* C9: faults that the instruction raises. */
	table faulting
	around "mov $16, %ebx", "mov (%ebx), %eax", ""
	around "mov $16, %ebx", "mov %eax, (%ebx)", ""
	around "mov $16, %ebx", "addl $5, (%ebx)", ""
	around "mov $0xfffff000, %ebx", "mov (%ebx), %eax", ""
	plain "movaps 1(%edi), %xmm0"
	plain "mov bad_page, %eax"
	plain "mov %eax, bad_page"
	plain "add bad_page, %esi"
	plain "lock cmpxchg8b bad_page"
	plain "cmpl $5, bad_page+8"
	plain "movups bad_page, %xmm0"
	around "xor %ebx, %ebx", "div %ebx", ""
	plain "idivl bad_page"
	around "movl $0, (%edi)", "divl (%edi)", ""
	around "movl $0, data", "divl data", ""
	plain "aam $0"
	around "mov $10, %eax; movl $0, (%edi); movl $9, 4(%edi)", "bound %eax, (%edi)", ""
	plain "mov %fs:bad_page, %eax"
	plain "pushl bad_page"
	plain "popl bad_page"
	plain "call *bad_page"
	plain "jmp *bad_page"
	around "mov $16, %ebx", "jmp *%ebx", ""
	around "mov $16, %ebx", "call *%ebx", ""
	bad_stack "push %eax"
	bad_stack "push $5"
	bad_stack "pop %eax"
	bad_stack "call 1f"
	bad_stack "ret"
	bad_stack "ret $8"
	bad_stack "pushf"
	bad_stack "popf"
	bad_stack "pusha"
	bad_stack "popa"
	bad_stack "pushl (%edi)"
	bad_stack "popl (%edi)"
	bad_stack "enter $16, $0"
	bad_stack "call *%eax", "mov $1f, %eax"
	bad_stack "call *(%edi)", "movl $1f, (%edi)"
	around "lea bad_page, %ebp", "leave", ""
	around "movl $16, (%esp)", "ret", ""
/* Two bytes are written before it faults */
	around "lea bad_page-2, %edi", "rep stosb", ""
	around "lea bad_page-2, %esi", "rep movsb", ""
	plain "xchg %eax, bad_page"
	plain "fldl bad_page"
	around "movl $5, 4(%edi)", "les (%edi), %eax", ""
	end_table

	.section .note.GNU-stack, "", @progbits
