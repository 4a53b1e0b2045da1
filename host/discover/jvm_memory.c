// SPDX-License-Identifier: Apache-2.0
#include "discover/jvm_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>

#include "common/clock.h"
#include "common/jail.h"
#include "common/proc.h"
#include "common/str.h"
#include "discover/jvm.h"

#define GATHER_MAX 1024		/* UIO_MAXIOV */
#define MEMORY	   (1ull << 30) /* address space, beyond what the child begins with */
#define CPU_MAX	   3600 /* seconds: a recording of a day, of which reading may take a 25th */
#define LET_IN_MS  2

struct jvm_memory {
	/* Called every LET_IN_MS while memory is read; NULL: nobody is. */
	void (*let_in)(void *arg);
	void *let_in_arg;
	uint64_t let_in_next; /* clock_ms */
	int fd, maps;
	pid_t pid;	 /* 0: reads go through mem only */
	uint64_t *bases; /* where a libjvm.so is mapped from its beginning */
	size_t base_count, base_cap;
	struct hs_elf elf;
	struct hs_source source;
};

static void let_in(struct jvm_memory *m)
{
	void (*call)(void *) = m->let_in;

	if (!call || clock_ms() < m->let_in_next)
		return;
	m->let_in = NULL; /* it reads memory, too */
	call(m->let_in_arg);
	m->let_in = call;
	m->let_in_next = clock_ms() + LET_IN_MS;
}

static int64_t mem_read(void *arg, uint64_t addr, void *buf, size_t len)
{
	struct jvm_memory *m = arg;
	struct iovec to = {buf, len}, from = {(void *)(uintptr_t)addr, len};
	ssize_t n;

	let_in(m);
	if (addr > INT64_MAX)
		return -1;
	/* Takes half the time of the file, which copies twice and looks up each page by itself. */
	n = m->pid ? process_vm_readv(m->pid, &to, 1, &from, 1, 0) : 0;
	if (n == (ssize_t)len)
		return n;
	if (n < 0 && (errno == EPERM || errno == ENOSYS))
		m->pid = 0;
	return pread(m->fd, buf, len, (off_t)addr);
}

static size_t mem_gather(void *arg, const uint64_t *addr, size_t n, void *buf, size_t len)
{
	struct iovec from[GATHER_MAX], to;
	struct jvm_memory *m = arg;
	ssize_t got;

	let_in(m);
	n = m->pid == 0 ? 0 : n < GATHER_MAX ? n : GATHER_MAX;
	for (size_t i = 0; i < n; i++)
		from[i] = (struct iovec){(void *)(uintptr_t)addr[i], len};
	to = (struct iovec){buf, n * len};
	got = n ? process_vm_readv(m->pid, &to, 1, from, n, 0) : 0;
	return got > 0 ? (size_t)got / len : 0;
}

static int add_base(const struct proc_map *map, void *arg)
{
	struct jvm_memory *m = arg;

	if (map->offset != 0 || !jvm_is_library(map->path))
		return 0;
	m->bases = grow(m->bases, m->base_count, &m->base_cap, sizeof(*m->bases));
	m->bases[m->base_count++] = map->start;
	return 0;
}

/* The process's pid in our pid namespace, or 0. */
static pid_t pid_of(int procfd)
{
	CLEANUP(close_fd) int fd = openat(procfd, "stat", O_RDONLY | O_CLOEXEC);
	char text[32] = "";
	int pid;

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && sscanf(text, "%d ", &pid) == 1
		       ? pid
		       : 0;
}

int jvm_memory_open(int procfd, struct jvm_memory **ret, struct err *err)
{
	CLEANUP(jvm_memory_close) struct jvm_memory *m = xcalloc(1, sizeof(*m));

	m->maps = -1;
	m->pid = pid_of(procfd);
	m->fd = openat(procfd, "mem", O_RDONLY | O_CLOEXEC);
	if (m->fd < 0)
		return err_set(err, errno, "open the memory of the process");
	m->maps = openat(procfd, "maps", O_RDONLY | O_CLOEXEC);
	if (m->maps < 0)
		return err_set(err, errno, "open the memory map of the process");
	m->source = (struct hs_source){.read = mem_read,
				       .gather = mem_gather,
				       .arg = m,
				       .symbol = hs_elf_symbol,
				       .symbol_arg = &m->elf};
	*ret = TAKE_PTR(m);
	return 0;
}

int jvm_memory_confine(const struct jvm_memory *m, const int *keep, size_t n, struct err *err)
{
	CLEANUP(free) int *all = xcalloc(n + 2, sizeof(*all));
	const struct jail jail = {.role = JAIL_MEMORY,
				  .of = m->pid,
				  .memory = MEMORY,
				  .file_bytes = JVM_MEMORY_WRITES,
				  .cpu_seconds = CPU_MAX,
				  .keep = all,
				  .keep_count = n + 2};

	all[0] = m->fd;
	all[1] = m->maps;
	for (size_t i = 0; i < n; i++)
		all[2 + i] = keep[i];
	return jail_enter(&jail, err);
}

/* A process may map several libjvm.so, to read them; the one in use has the tables. */
int jvm_memory_find_tables(struct jvm_memory *m, struct err *err)
{
	if (proc_each_map_in(m->maps, add_base, m, err) < 0)
		return -1;
	cleanup_close_fd(&m->maps);
	for (size_t i = 0; i < m->base_count; i++)
		if (hs_elf_open_jvm(&m->elf, &m->source, m->bases[i]))
			return 0;
	return err_set(err, 0, "no libjvm.so with HotSpot's tables is mapped");
}

const struct hs_source *jvm_memory_source(const struct jvm_memory *m)
{
	return &m->source;
}

void jvm_memory_let_in(struct jvm_memory *m, void (*call)(void *arg), void *arg)
{
	m->let_in = call;
	m->let_in_arg = arg;
}

void jvm_memory_close(struct jvm_memory *m)
{
	if (!m)
		return;
	cleanup_close_fd(&m->fd);
	cleanup_close_fd(&m->maps);
	free(m->bases);
	free(m);
}
