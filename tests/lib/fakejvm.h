/* SPDX-License-Identifier: Apache-2.0 */
/* A process that has the HotSpot of hssnap.h in its memory, as the library libjvm.so that it has
 * mapped: what reads a JVM from outside finds everything there, and no JDK is needed. */
#ifndef DFG_LIB_FAKEJVM_H
#define DFG_LIB_FAKEJVM_H

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/proc.h"
#include "common/str.h"
#include "discover/jvm.h"
#include "lib/hssnap.h"

/* The ELF file's head is before the image: headers, dynamic section, symbols, names, hash table. */
#define FAKEJVM_HEAD 65536u

struct fakejvm_head {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	Elf64_Dyn dynamic[5];
	Elf64_Sym symbols[17];
	uint32_t hash[2 + 1 + 17];
	char names[1024];
};

/* The symbols are those of the image, in one chain of DT_HASH. */
static inline void fakejvm_head_make(const struct image *im, struct fakejvm_head *h)
{
	size_t used = 1, at = offsetof(struct fakejvm_head, dynamic);

	*h = (struct fakejvm_head){0};
	h->eh = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			     .e_phoff = offsetof(struct fakejvm_head, ph),
			     .e_phentsize = sizeof(*h->ph),
			     .e_phnum = 2};
	h->ph[0] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_memsz = FAKEJVM_HEAD + IMAGE_BYTES};
	h->ph[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_vaddr = at};
	h->dynamic[0] = (Elf64_Dyn){DT_SYMTAB, {offsetof(struct fakejvm_head, symbols)}};
	h->dynamic[1] = (Elf64_Dyn){DT_STRTAB, {offsetof(struct fakejvm_head, names)}};
	h->dynamic[2] = (Elf64_Dyn){DT_STRSZ, {sizeof(h->names)}};
	h->dynamic[3] = (Elf64_Dyn){DT_HASH, {offsetof(struct fakejvm_head, hash)}};
	h->hash[0] = 1;
	h->hash[1] = im->symbols + 1;
	h->hash[2] = 1;
	for (unsigned i = 0; i < im->symbols; i++) {
		h->symbols[i + 1] =
			(Elf64_Sym){.st_name = (uint32_t)used,
				    .st_shndx = 1,
				    .st_value = im->symbol[i].addr - IMAGE_BASE + FAKEJVM_HEAD};
		h->hash[3 + i + 1] = i + 1 < im->symbols ? i + 2 : 0;
		strcpy(h->names + used, im->symbol[i].name);
		used += strlen(im->symbol[i].name) + 1;
	}
}

/* Writes the library to a file. */
static inline void fakejvm_library(const struct image *im, const char *path)
{
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct fakejvm_head head;

	fakejvm_head_make(im, &head);
	if (pwrite(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    pwrite(fd, im->mem, IMAGE_BYTES, FAKEJVM_HEAD) != IMAGE_BYTES)
		abort();
}

/* Starts the process; `path`, NULL for none, is the library, whose name should be libjvm.so. */
static inline struct jvm fakejvm_start(const char *path)
{
	int ready[2];
	struct err err;
	pid_t pid;
	char byte;

	if (pipe2(ready, O_CLOEXEC) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (path && mmap((void *)(uintptr_t)(IMAGE_BASE - FAKEJVM_HEAD),
				 FAKEJVM_HEAD + IMAGE_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == MAP_FAILED)
			_exit(1);
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		abort();
	close(ready[0]);
	return (struct jvm){.pid = pid,
			    .nspid = pid,
			    .uid = geteuid(),
			    .gid = getegid(),
			    .procfd = proc_open(pid, &err),
			    .version = "17",
			    .runtime = RUNTIME_HOTSPOT};
}

static inline void fakejvm_end(struct jvm *j)
{
	kill(j->pid, SIGKILL);
	waitpid(j->pid, NULL, 0);
	cleanup_close_fd(&j->procfd);
	j->procfd = -1;
}

#endif
