/* SPDX-License-Identifier: GPL-2.0-only */
/* A tail call: the library may be gone when its argument returns. */
	.text
	.globl gone_call
	.type gone_call, @function
gone_call:
	br	x0

	.section .note.GNU-stack, "", @progbits
