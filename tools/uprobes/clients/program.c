// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests of the kernel's clients probe:
 *
 *	program list		the names of the instructions
 *	program offset NAME	where an instruction is in this file, or work(), or
 *				the probe's semaphore, or what is no instruction
 *	program insn NAME N	executes an instruction N times, and prints what
 *				has become of registers, flags and memory
 *	program calls N		calls work(0) to work(N - 1), passes the USDT
 *				probe clients:step as often, and prints how often
 *				that was asked for
 *	program later N		the same after the input has ended
 *	program wait N		N processes that sleep until the input ends
 *	program cost FILE TEXT	nanoseconds of the CPU that writing it takes
 */
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "program.h"

static const struct symbol *find(const char *name)
{
	const struct symbol *symbol;

	for (symbol = symbols; symbol->name; symbol++)
		if (!strcmp(symbol->name, name))
			return symbol;
	errx(2, "there is no %s", name);
}

static void list(void)
{
	const struct symbol *symbol;

	for (symbol = symbols; symbol->execute; symbol++)
		puts(symbol->name);
}

static void offset(const struct symbol *symbol)
{
	const Elf64_Phdr *phdr = (const void *)getauxval(AT_PHDR);
	unsigned long address = (unsigned long)symbol->address;

	while (phdr->p_type != PT_LOAD ||
	       address - phdr->p_vaddr >= phdr->p_filesz)
		phdr++;
	printf("%#lx\n", address - phdr->p_vaddr + phdr->p_offset);
}

static void execute(const struct symbol *symbol, long n)
{
	struct state state = { .rax = 0xabcd, .rcx = 0x77, .flags = 0x202 };
	const unsigned char *byte = (const void *)&state;
	size_t i;

	if (!symbol->execute)
		errx(2, "%s is no instruction", symbol->name);
	for (i = 0; i < sizeof(state.vector); i++)
		state.vector[i / 32][i % 32] = i * 37;
	while (n--)
		symbol->execute(&state);
	for (i = 0; i < sizeof(state); i++)
		printf("%02x", byte[i]);
	puts("");
}

static void call(long n)
{
	long i, asked = 0;

	for (i = 0; i < n; i++) {
		work(i);
		if (__atomic_load_n(&clients_step_semaphore, __ATOMIC_RELAXED))
			asked++;
		DTRACE_PROBE2(clients, step, i, i * 3);
	}
	printf("%ld\n", asked);
}

static void wait_for_input(void)
{
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}

static void wait_in_processes(long n)
{
	while (n--) {
		switch (fork()) {
		case -1:
			err(1, "fork");
		case 0:
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	wait_for_input();
}

static long cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void cost(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	long from = cpu_time();

	if (write(fd, text, strlen(text)) < 0)
		err(1, "%s", path);
	printf("%ld\n", cpu_time() - from);
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[argc - 1]) : 0;

	if (!strcmp(command, "list") && argc == 2) {
		list();
	} else if (!strcmp(command, "offset") && argc == 3) {
		offset(find(argv[2]));
	} else if (!strcmp(command, "insn") && argc == 4) {
		execute(find(argv[2]), n);
	} else if (!strcmp(command, "calls") && argc == 3) {
		call(n);
	} else if (!strcmp(command, "later") && argc == 3) {
		wait_for_input();
		call(n);
	} else if (!strcmp(command, "wait") && argc == 3) {
		wait_in_processes(n);
	} else if (!strcmp(command, "cost") && argc == 4) {
		cost(argv[2], argv[3]);
	} else {
		errx(2, "see the head of its source");
	}
	return 0;
}
