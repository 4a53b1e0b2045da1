// SPDX-License-Identifier: Apache-2.0
#include "agent-jni/jvm_memory.h"

#include <linux/memfd.h>

#include "dfg/request.h"

#include "agent-jni/sys.h"

/* struct JNIInvokeInterface_ (jni.h): three reserved words, then functions. */
#define VM_FUNCTION 3

#define GATHER_MAX 512
#define COPY_MAX   (256u << 10) /* largest size of the copy file */

/* A line of /proc/PID/maps (proc(5)). */
struct maps_line {
	uint64_t start, end, offset, dev, inode;
	bool is_libjvm;
};

/* Opens the file of the thread, not of the process: the process's first thread may have ended. */
static int proc_open(const char *of_thread, const char *of_process, int flags)
{
	int fd = sys_open(of_thread, flags);

	return fd >= 0 ? fd : sys_open(of_process, flags);
}

/* Writes memory into a file in memory and reads it back: the kernel copies it, so that an unmapped
 * page only ends the write. Costs a tenth of a read of /proc/self/mem. */
static bool copy_read(const struct agent_memory *memory, uint64_t addr, uint8_t *buf, size_t len)
{
	for (size_t n; len > 0; addr += n, buf += n, len -= n) {
		n = len < COPY_MAX ? len : COPY_MAX;
		if (sys_pwrite(memory->copy, (const void *)addr, n, 0) != (long)n ||
		    sys_pread(memory->copy, buf, n, 0) != (long)n)
			return false;
	}
	return true;
}

static int64_t memory_read(void *arg, uint64_t addr, void *buf, size_t len)
{
	const struct agent_memory *memory = arg;
	struct sys_iovec local = {buf, len}, remote = {(void *)addr, len};

	if (memory->copy >= 0 && copy_read(memory, addr, buf, len))
		return (int64_t)len;
	if (memory->mem >= 0)
		return sys_pread(memory->mem, buf, len, addr);
	return sys_call6(__NR_process_vm_readv, memory->pid, SYS_ARG(&local), 1, SYS_ARG(&remote),
			 1, 0);
}

static size_t memory_gather(void *arg, const uint64_t *addr, size_t n, void *buf, size_t len)
{
	const struct agent_memory *memory = arg;
	struct sys_iovec from[GATHER_MAX];
	long got;

	if (memory->copy < 0)
		return 0;
	n = n < GATHER_MAX ? n : GATHER_MAX;
	for (size_t i = 0; i < n; i++)
		from[i] = (struct sys_iovec){(void *)addr[i], len};
	got = sys_call6(__NR_pwritev, memory->copy, SYS_ARG(from), (long)n, 0, 0, 0);
	if (got > 0)
		got = sys_pread(memory->copy, buf, (size_t)got, 0);
	return got > 0 ? (size_t)got / len : 0;
}

static bool hex_parse(const char **p, const char *end, uint64_t *ret)
{
	const char *at = *p;
	uint64_t n = 0;

	for (; at < end; at++) {
		char c = *at;
		unsigned digit = c >= '0' && c <= '9'	? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
							: 16;
		if (digit == 16)
			break;
		n = n << 4 | digit;
	}
	if (at == *p)
		return false;
	*p = at < end ? at + 1 : at; /* and the separator */
	*ret = n;
	return true;
}

static bool ends_in_libjvm(const char *p, const char *end)
{
	static const char name[] = "/libjvm.so", deleted[] = " (deleted)";
	size_t len = sizeof(name) - 1, gone = sizeof(deleted) - 1;

	if ((size_t)(end - p) > gone && __builtin_memcmp(end - gone, deleted, gone) == 0)
		end -= gone;
	return (size_t)(end - p) >= len && __builtin_memcmp(end - len, name, len) == 0;
}

/* start-end perms offset major:minor inode path */
static bool map_parse(const char *p, const char *end, struct maps_line *ret)
{
	uint64_t minor;

	if (!hex_parse(&p, end, &ret->start) || !hex_parse(&p, end, &ret->end) || end - p < 5)
		return false;
	p += 5;
	if (!hex_parse(&p, end, &ret->offset) || !hex_parse(&p, end, &ret->dev) ||
	    !hex_parse(&p, end, &minor) || !hex_parse(&p, end, &ret->inode))
		return false;
	ret->dev = ret->dev << 32 | minor;
	ret->is_libjvm = ends_in_libjvm(p, end);
	return true;
}

struct libjvm_search {
	uint64_t address;	/* in libjvm; 0: search by file name */
	uint64_t base;		/* result: address of the ELF header */
	struct maps_line first; /* of the current file */
};

static bool search_line(struct libjvm_search *s, const char *p, const char *end)
{
	struct maps_line map;

	if (!map_parse(p, end, &map) || map.inode == 0)
		return false;
	if (map.offset == 0)
		s->first = map;
	if (s->first.inode != map.inode || s->first.dev != map.dev)
		return false;
	if (s->address ? s->address < map.start || s->address >= map.end : !map.is_libjvm)
		return false;
	s->base = s->first.start;
	return true;
}

/* Calls search_line for each line until one matches; a line longer than the buffer is cut. */
static bool search_maps(struct libjvm_search *s, char *buf, size_t cap)
{
	int fd = proc_open("/proc/thread-self/maps", "/proc/self/maps", O_RDONLY);
	size_t used = 0;
	bool found = false;

	while (fd >= 0 && !found) {
		long n = sys_read(fd, buf + used, cap - used);
		size_t from = 0;

		if (n <= 0)
			break;
		used += (size_t)n;
		for (size_t i = from; i < used && !found; i++) {
			if (buf[i] != '\n')
				continue;
			found = search_line(s, buf + from, buf + i);
			from = i + 1;
		}
		if (from == 0 && used == cap)
			from = used;
		used -= from;
		__builtin_memmove(buf, buf + from, used);
	}
	if (fd >= 0)
		sys_close(fd);
	return found;
}

static bool jvm_open(struct agent_memory *memory, uint64_t address)
{
	struct libjvm_search search = {.address = address};
	char buf[8192];

	return search_maps(&search, buf, sizeof(buf)) &&
	       hs_elf_open_jvm(&memory->elf, &memory->source, search.base);
}

bool jvm_memory_open(struct agent_memory *memory, const void *vm)
{
	uint64_t table, function = 0;

	memory->pid = (int)sys_call0(__NR_getpid);
	memory->mem = proc_open("/proc/thread-self/mem", "/proc/self/mem", O_RDONLY);
	memory->copy = (int)sys_call2(__NR_memfd_create, DFG_THREAD_NAME, MFD_CLOEXEC);
	memory->source = (struct hs_source){.read = memory_read,
					    .gather = memory_gather,
					    .arg = memory,
					    .symbol = hs_elf_symbol,
					    .symbol_arg = &memory->elf};
	if (vm && memory_read(memory, (uintptr_t)vm, &table, 8) == 8)
		memory_read(memory, table + VM_FUNCTION * 8, &function, 8);
	/* By file name if other code has replaced the functions of the JavaVM. */
	return (function && jvm_open(memory, function)) || jvm_open(memory, 0);
}

void jvm_memory_close(struct agent_memory *memory)
{
	if (memory->mem >= 0)
		sys_close(memory->mem);
	if (memory->copy >= 0)
		sys_close(memory->copy);
	memory->mem = -1;
	memory->copy = -1;
}

/* Writes 1 to a byte. */
static bool byte_set(uint64_t addr)
{
	int fd = proc_open("/proc/thread-self/mem", "/proc/self/mem", O_WRONLY);
	bool done = fd >= 0 && sys_pwrite(fd, "\1", 1, addr) == 1;

	if (fd >= 0)
		sys_close(fd);
	return done;
}

bool jvm_memory_set_flag(const void *vm, const char *flag)
{
	void *work = sys_map(HS_WORK_BYTES);
	struct agent_memory memory;
	uint64_t addr;
	uint8_t value;
	bool done;

	if (!work)
		return false;
	done = jvm_memory_open(&memory, vm) &&
	       hs_find_flag(&memory.source, work, flag, &addr, &value) && value == 0 &&
	       byte_set(addr);
	jvm_memory_close(&memory);
	sys_unmap(work, HS_WORK_BYTES);
	return done;
}
