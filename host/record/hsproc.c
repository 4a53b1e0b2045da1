// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "common/proc.h"
#include "common/str.h"
#include "discover/jvm.h"
#include "record/hsproc.h"

#define GATHER_MAX 1024 /* UIO_MAXIOV */

struct hs_proc {
	int mem;
	pid_t pid;	 /* 0: reads go through mem only */
	uint64_t *bases; /* where a libjvm.so is mapped from its beginning */
	size_t base_count, base_cap;
	struct hs_elf elf;
	struct hs_source source;
};

static int64_t mem_read(void *arg, uint64_t addr, void *buf, size_t len)
{
	struct hs_proc *p = arg;
	struct iovec to = {buf, len}, from = {(void *)(uintptr_t)addr, len};
	ssize_t n;

	if (addr > INT64_MAX)
		return -1;
	/* Half the time that the file takes, which copies twice, and looks each page up by itself.
	 */
	n = p->pid ? process_vm_readv(p->pid, &to, 1, &from, 1, 0) : 0;
	if (n == (ssize_t)len)
		return n;
	if (n < 0 && (errno == EPERM || errno == ENOSYS))
		p->pid = 0;
	return pread(p->mem, buf, len, (off_t)addr);
}

static size_t mem_gather(void *arg, const uint64_t *addr, size_t n, void *buf, size_t len)
{
	struct iovec from[GATHER_MAX], to;
	struct hs_proc *p = arg;
	ssize_t got;

	n = p->pid == 0 ? 0 : n < GATHER_MAX ? n : GATHER_MAX;
	for (size_t i = 0; i < n; i++)
		from[i] = (struct iovec){(void *)(uintptr_t)addr[i], len};
	to = (struct iovec){buf, n * len};
	got = n ? process_vm_readv(p->pid, &to, 1, from, n, 0) : 0;
	return got > 0 ? (size_t)got / len : 0;
}

static int add_base(const struct proc_map *map, void *arg)
{
	struct hs_proc *p = arg;

	if (map->offset != 0 || !jvm_is_library(map->path))
		return 0;
	p->bases = grow(p->bases, p->base_count, &p->base_cap, sizeof(*p->bases));
	p->bases[p->base_count++] = map->start;
	return 0;
}

/* The number by which the process is known here. */
static pid_t pid_of(int procfd)
{
	CLEANUP(close_fd) int fd = openat(procfd, "stat", O_RDONLY | O_CLOEXEC);
	char text[32] = "";
	int pid;

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && sscanf(text, "%d ", &pid) == 1
		       ? pid
		       : 0;
}

int hs_proc_open(int procfd, struct hs_proc **ret, struct err *err)
{
	CLEANUP(hs_proc_close) struct hs_proc *p = xcalloc(1, sizeof(*p));

	p->pid = pid_of(procfd);
	p->mem = openat(procfd, "mem", O_RDONLY | O_CLOEXEC);
	if (p->mem < 0)
		return err_set(err, errno, "open the memory of the process");
	p->source = (struct hs_source){.read = mem_read,
				       .gather = mem_gather,
				       .arg = p,
				       .symbol = hs_elf_symbol,
				       .symbol_arg = &p->elf};
	if (proc_each_map(procfd, add_base, p, err) < 0)
		return -1;
	*ret = TAKE_PTR(p);
	return 0;
}

int hs_proc_file(const struct hs_proc *proc)
{
	return proc->mem;
}

/* A JVM's libjvm.so is the one that has the tables; a process may map others, to read them. */
int hs_proc_find(struct hs_proc *p, struct err *err)
{
	for (size_t i = 0; i < p->base_count; i++)
		if (hs_elf_open_jvm(&p->elf, &p->source, p->bases[i]))
			return 0;
	return err_set(err, 0, "no libjvm.so with HotSpot's tables is mapped");
}

const struct hs_source *hs_proc_source(const struct hs_proc *proc)
{
	return &proc->source;
}

void hs_proc_close(struct hs_proc *proc)
{
	if (!proc)
		return;
	if (proc->mem >= 0)
		close(proc->mem);
	free(proc->bases);
	free(proc);
}
