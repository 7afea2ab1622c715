/* SPDX-License-Identifier: GPL-2.0-only */
/* A tail call: the library may be gone when its argument returns. */
#include "abi.S"
	.text

func gone_call
	ctr_fn	%r3
	bctr

	.section .note.GNU-stack, "", @progbits
