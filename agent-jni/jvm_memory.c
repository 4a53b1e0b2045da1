// SPDX-License-Identifier: Apache-2.0
#include "agent-jni/jvm_memory.h"

#include <linux/memfd.h>

#include "dfg/request.h"

#include "agent-jni/sys.h"

/* struct JNIInvokeInterface_ (jni.h): three reserved words, then functions. */
#define VM_FUNCTION 3

#define GATHER_MAX 512
#define COPY_MAX   (256u << 10) /* bytes that the file grows to */

/* One file's first mapping, and the mapping asked about. Lines of /proc/PID/maps (proc(5)). */
struct map {
	uint64_t start, end, offset, dev, inode;
	bool jvm; /* the path ends in /libjvm.so */
};

/* The mem file of the thread, not of the process: the thread that was first may have ended. */
static int proc_open(const char *of_thread, const char *of_process, int flags)
{
	int fd = sys_open(of_thread, flags);

	return fd >= 0 ? fd : sys_open(of_process, flags);
}

/* Memory is written from where it is into a file, and read back: the kernel copies it, so that what
 * is not there only ends the write, at a tenth of what reads of /proc/self/mem cost. */
static bool copy(const struct self *self, uint64_t addr, uint8_t *buf, size_t len)
{
	for (size_t n; len > 0; addr += n, buf += n, len -= n) {
		n = len < COPY_MAX ? len : COPY_MAX;
		if (sys_pwrite(self->pieces, (const void *)addr, n, 0) != (long)n ||
		    sys_pread(self->pieces, buf, n, 0) != (long)n)
			return false;
	}
	return true;
}

static int64_t self_read(void *arg, uint64_t addr, void *buf, size_t len)
{
	const struct self *self = arg;
	struct sys_iovec local = {buf, len}, remote = {(void *)addr, len};

	if (self->pieces >= 0 && copy(self, addr, buf, len))
		return (int64_t)len;
	if (self->mem >= 0)
		return sys_pread(self->mem, buf, len, addr);
	return sys_call6(__NR_process_vm_readv, self->pid, SYS_ARG(&local), 1, SYS_ARG(&remote), 1,
			 0);
}

/* Many of them at once. */
static size_t self_gather(void *arg, const uint64_t *addr, size_t n, void *buf, size_t len)
{
	const struct self *self = arg;
	struct sys_iovec from[GATHER_MAX];
	long got;

	if (self->pieces < 0)
		return 0;
	n = n < GATHER_MAX ? n : GATHER_MAX;
	for (size_t i = 0; i < n; i++)
		from[i] = (struct sys_iovec){(void *)addr[i], len};
	got = sys_call6(__NR_pwritev, self->pieces, SYS_ARG(from), (long)n, 0, 0, 0);
	if (got > 0)
		got = sys_pread(self->pieces, buf, (size_t)got, 0);
	return got > 0 ? (size_t)got / len : 0;
}

static bool hex_take(const char **p, const char *end, uint64_t *ret)
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
	*p = at < end ? at + 1 : at; /* and the one character behind it */
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
static bool map_parse(const char *p, const char *end, struct map *ret)
{
	uint64_t minor;

	if (!hex_take(&p, end, &ret->start) || !hex_take(&p, end, &ret->end) || end - p < 5)
		return false;
	p += 5;
	if (!hex_take(&p, end, &ret->offset) || !hex_take(&p, end, &ret->dev) ||
	    !hex_take(&p, end, &minor) || !hex_take(&p, end, &ret->inode))
		return false;
	ret->dev = ret->dev << 32 | minor;
	ret->jvm = ends_in_libjvm(p, end);
	return true;
}

struct search {
	uint64_t address; /* in the file wanted; 0: any libjvm.so */
	uint64_t base;	  /* the answer */
	struct map first; /* of the file whose lines are passing by */
};

static bool search_line(struct search *s, const char *p, const char *end)
{
	struct map map;

	if (!map_parse(p, end, &map) || map.inode == 0)
		return false;
	if (map.offset == 0)
		s->first = map;
	if (s->first.inode != map.inode || s->first.dev != map.dev)
		return false;
	if (s->address ? s->address < map.start || s->address >= map.end : !map.jvm)
		return false;
	s->base = s->first.start;
	return true;
}

/* Passes each line to search_line until one fits; a line too long for the buffer is cut. */
static bool search_maps(struct search *s, char *buf, size_t cap)
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

static bool jvm_open(struct self *self, uint64_t address)
{
	struct search search = {.address = address};
	char buf[8192];

	return search_maps(&search, buf, sizeof(buf)) &&
	       hs_elf_open_jvm(&self->elf, &self->source, search.base);
}

bool self_open(struct self *self, const void *vm)
{
	uint64_t table, function = 0;

	self->pid = (int)sys_call0(__NR_getpid);
	self->mem = proc_open("/proc/thread-self/mem", "/proc/self/mem", O_RDONLY);
	self->pieces = (int)sys_call2(__NR_memfd_create, DFG_THREAD_NAME, MFD_CLOEXEC);
	self->source = (struct hs_source){.read = self_read,
					  .gather = self_gather,
					  .arg = self,
					  .symbol = hs_elf_symbol,
					  .symbol_arg = &self->elf};
	if (vm && self_read(self, (uintptr_t)vm, &table, 8) == 8)
		self_read(self, table + VM_FUNCTION * 8, &function, 8);
	/* By name, where something has put its own functions into the JavaVM. */
	return (function && jvm_open(self, function)) || jvm_open(self, 0);
}

void self_close(struct self *self)
{
	if (self->mem >= 0)
		sys_close(self->mem);
	if (self->pieces >= 0)
		sys_close(self->pieces);
	self->mem = -1;
	self->pieces = -1;
}

/* True when the byte is 1 now and was 0. */
static bool byte_set(uint64_t addr)
{
	int fd = proc_open("/proc/thread-self/mem", "/proc/self/mem", O_WRONLY);
	bool done = fd >= 0 && sys_pwrite(fd, "\1", 1, addr) == 1;

	if (fd >= 0)
		sys_close(fd);
	return done;
}

bool self_switch_on(const void *vm, const char *flag)
{
	void *work = sys_map(HS_WORK_BYTES);
	struct self self;
	uint64_t addr;
	uint8_t value;
	bool done;

	if (!work)
		return false;
	done = self_open(&self, vm) && hs_find_flag(&self.source, work, flag, &addr, &value) &&
	       value == 0 && byte_set(addr);
	self_close(&self);
	sys_unmap(work, HS_WORK_BYTES);
	return done;
}
