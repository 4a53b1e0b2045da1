// SPDX-License-Identifier: Apache-2.0
/* A container that makes dfg's copies, lists and tables as large as it can, with next to no disk of
 * its own. Prints a line when it is ready, and then uses a processor until it is killed.
 *
 *	app spin	nothing else
 *	app sparse	maps three libraries of 1 GiB that are holes, but for a page
 *	app symbols	runs code of 40 hard links of one library with 1.9 million symbols
 *	app maps	24 processes that share a perf map of 1 GiB, all holes but for a page
 *	app paths	maps 40 000 hard links of one file */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE	4096
#define GIB	(1l << 30)
#define SYMBOLS 1900000ul

typedef void code(void);

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void spin(void)
{
	for (volatile unsigned long i = 0;; i++)
		;
}

static void *map(const char *path, off_t at)
{
	int fd = open(path, O_RDONLY);
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, at);

	if (p == MAP_FAILED)
		exit(1);
	close(fd);
	return p;
}

static void make_sparse(const char *path, const char *text)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (write(fd, text, strlen(text)) < 0 || ftruncate(fd, GIB) < 0)
		exit(1);
	close(fd);
}

static void sparse(void)
{
	char path[64];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/tmp/lib%d.so", i);
		make_sparse(path, "\177ELF");
		map(path, 0);
	}
	ready();
	spin();
}

/* A library: one page of code, a loop that counts down, and its symbols, all at that page. */
static void make_library(const char *path)
{
#ifdef __x86_64__
	static const unsigned char loop[] = {0xb9, 0,	 0,    1,    0,	    /* mov $0x10000, %ecx */
					     0xff, 0xc9, 0x75, 0xfc, 0xc3}; /* dec, jne, ret */
#else
	static const unsigned loop[] = {0x52a00020, 0x71000400, 0x54ffffe1, 0xd65f03c0};
#endif
	static Elf64_Sym symbols[SYMBOLS];
	static char names[SYMBOLS * 8 + 1];
	Elf64_Ehdr eh = {.e_ident = ELFMAG,
			 .e_type = ET_DYN,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(eh),
			 .e_shoff = sizeof(eh) + sizeof(Elf64_Phdr),
			 .e_ehsize = sizeof(eh),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 4,
			 .e_shstrndx = 2};
	Elf64_Phdr ph = {.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_offset = PAGE,
			 .p_vaddr = PAGE,
			 .p_filesz = PAGE,
			 .p_memsz = PAGE,
			 .p_align = PAGE};
	Elf64_Shdr sh[4] = {{0},
			    {.sh_type = SHT_SYMTAB,
			     .sh_offset = 2 * PAGE,
			     .sh_size = sizeof(symbols),
			     .sh_link = 2,
			     .sh_entsize = sizeof(*symbols)},
			    {.sh_type = SHT_STRTAB,
			     .sh_offset = 2 * PAGE + sizeof(symbols),
			     .sh_size = sizeof(names)},
			    {.sh_type = SHT_PROGBITS,
			     .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			     .sh_addr = PAGE,
			     .sh_offset = PAGE,
			     .sh_size = PAGE}};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);

	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
#ifdef __x86_64__
	eh.e_machine = EM_X86_64;
#else
	eh.e_machine = EM_AARCH64;
#endif
	for (unsigned long i = 0; i < SYMBOLS; i++) {
		snprintf(names + 1 + i * 8, 8, "f%06lx", i);
		symbols[i] = (Elf64_Sym){.st_name = (unsigned)(1 + i * 8),
					 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					 .st_shndx = 3,
					 .st_value = PAGE + i,
					 .st_size = 16};
	}
	if (pwrite(fd, &eh, sizeof(eh), 0) < 0 || pwrite(fd, &ph, sizeof(ph), sizeof(eh)) < 0 ||
	    pwrite(fd, sh, sizeof(sh), sizeof(eh) + sizeof(ph)) < 0 ||
	    pwrite(fd, loop, sizeof(loop), PAGE) < 0 ||
	    pwrite(fd, symbols, sizeof(symbols), 2 * PAGE) != (ssize_t)sizeof(symbols) ||
	    pwrite(fd, names, sizeof(names), 2 * PAGE + (off_t)sizeof(symbols)) !=
		    (ssize_t)sizeof(names))
		exit(1);
	close(fd);
}

static void symbols(void)
{
	code *calls[40];
	char path[64];

	make_library("/tmp/many.so");
	for (int i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "/tmp/many%d.so", i);
		if (link("/tmp/many.so", path) < 0)
			exit(1);
		calls[i] = (code *)map(path, PAGE);
	}
	ready();
	for (;;)
		for (int i = 0; i < 40; i++)
			calls[i]();
}

static void maps(void)
{
	char path[64];

	make_sparse("/tmp/map", "1000 10 name\n");
	for (int i = 0; i < 24; i++) {
		pid_t pid = fork();

		if (pid == 0)
			spin();
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
		if (link("/tmp/map", path) < 0)
			exit(1);
	}
	ready();
	spin();
}

static void paths(void)
{
	char path[64];

	close(open("/tmp/one.so", O_RDWR | O_CREAT | O_TRUNC, 0755));
	if (truncate("/tmp/one.so", PAGE) < 0)
		exit(1);
	for (int i = 0; i < 40000; i++) {
		snprintf(path, sizeof(path), "/tmp/%d.so", i);
		if (link("/tmp/one.so", path) < 0)
			exit(1);
		map(path, 0);
	}
	ready();
	spin();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "sparse"))
		sparse();
	if (!strcmp(what, "symbols"))
		symbols();
	if (!strcmp(what, "maps"))
		maps();
	if (!strcmp(what, "paths"))
		paths();
	ready();
	spin();
}
