/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _PROGRAM_H
#define _PROGRAM_H

/* What instructions work on. */
struct state {
	unsigned char vector[2][32];
	unsigned long rax, rcx, flags;
	unsigned char memory[32];
};

/* A table that ends with a name that is NULL, instructions first. */
struct symbol {
	const char *name;
	const void *address;
	void (*execute)(struct state *state);
};

extern const struct symbol symbols[];
extern unsigned short clients_step_semaphore;

/* Twice n. */
long work(long n);

#endif /* _PROGRAM_H */
