// SPDX-License-Identifier: Apache-2.0
/* The agent reads the memory of its own process: all of what is there, nothing of what is not, and
 * it finds the JVM's library by a function of the JavaVM or by its name. The source is included,
 * since the agent is built without a libc and is in no archive. */
#include "agent-jni/jvm_memory.h"

#include "agent-jni/jvm_memory.c"

#include "lib/agentjvm.h"
#include "lib/tap.h"

#define PAGE 65536u /* the largest in use */

static char top[] = "/tmp/dfg-memory.XXXXXX";
static char library[64], other[64];

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += sys_call2(__NR_fcntl, fd, F_GETFD) >= 0;
	return n;
}

/* ---- reading ---- */

/* Three pages of bytes; what follows is not mapped. */
static uint8_t *pages_make(void)
{
	uint8_t *p = sys_map(6 * PAGE);

	for (unsigned i = 0; i < 3 * PAGE; i++)
		p[i] = (uint8_t)(i * 31 + i / 256);
	sys_unmap(p + 3 * PAGE, 3 * PAGE);
	return p;
}

struct way {
	bool copy, mem;
	const char *name;
};

static const struct way ways[] = {{true, true, "a copy"},
				  {true, false, "a copy, and a system call"},
				  {false, true, "/proc/self/mem"},
				  {false, false, "a system call"}};

/* A reader that has only these descriptors. */
static void way_open(struct agent_memory *memory, const struct way *way)
{
	jvm_memory_open(memory, &agentjvm_vm);
	if (!way->copy) {
		sys_close(memory->copy);
		memory->copy = -1;
	}
	if (!way->mem) {
		sys_close(memory->mem);
		memory->mem = -1;
	}
}

static void test_read(const struct way *way)
{
	static uint8_t buf[600u << 10], big[600u << 10];
	uint8_t *p = pages_make();
	uint64_t at = (uintptr_t)p, hole = at + 3 * PAGE;
	struct agent_memory memory;
	const struct hs_source *s = &memory.source;

	way_open(&memory, way);
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (uint8_t)(i * 7 + i / 1000);
	is_int(s->read(s->arg, at + 5, buf, 1), 1, "by %s: a byte is read", way->name);
	is_int(buf[0], p[5], "it is this byte");
	is_int(s->read(s->arg, at, buf, 3 * PAGE), 3 * PAGE, "pages are read");
	ok(memcmp(buf, p, 3 * PAGE) == 0, "they are these");
	is_int(s->read(s->arg, (uintptr_t)big, buf, sizeof(big)), sizeof(big),
	       "more than the largest copy is read");
	ok(memcmp(buf, big, sizeof(big)) == 0, "it is this");
	memset(buf, 0, 100);
	is_int(s->read(s->arg, hole - 10, buf, 100), 10, "up to a hole what is there is read");
	ok(memcmp(buf, p + 3 * PAGE - 10, 10) == 0 && !buf[10], "and nothing else");
	ok(s->read(s->arg, hole, buf, 8) <= 0, "in a hole there is nothing");
	ok(s->read(s->arg, 0, buf, 8) <= 0, "nor at a null pointer");
	jvm_memory_close(&memory);
	sys_unmap(p, 3 * PAGE);
}

static void test_gather(void)
{
	enum { PIECES = 600 };
	static uint64_t addr[PIECES];
	static uint8_t buf[PIECES * 12];
	uint8_t *p = pages_make();
	uint64_t hole = (uintptr_t)p + 3 * PAGE;
	struct agent_memory memory;
	const struct hs_source *s = &memory.source;
	unsigned bad = 0;

	way_open(&memory, &ways[0]);
	for (unsigned i = 0; i < PIECES; i++)
		addr[i] = (uintptr_t)p + (i * 977) % (2 * PAGE);
	is_int(s->gather(s->arg, addr, 100, buf, 12), 100, "pieces are gathered");
	for (unsigned i = 0; i < 100; i++)
		bad += memcmp(buf + i * 12, (void *)(uintptr_t)addr[i], 12) != 0;
	is_int(bad, 0, "each is what stands at its address");
	is_int(s->gather(s->arg, addr, PIECES, buf, 12), 512, "of many, the first 512");
	addr[7] = hole - 5;
	is_int(s->gather(s->arg, addr, 20, buf, 12), 7, "those before one that is cut by a hole");
	addr[0] = hole;
	is_int(s->gather(s->arg, addr, 20, buf, 12), 0, "none, where the first is in one");
	jvm_memory_close(&memory);
	way_open(&memory, &ways[2]);
	is_int(s->gather(s->arg, addr + 1, 3, buf, 12), 0, "none, without a file for copies");
	jvm_memory_close(&memory);
	sys_unmap(p, 3 * PAGE);
}

/* ---- finding the library ---- */

static bool finds(const void *vm)
{
	struct agent_memory memory;
	bool found = jvm_memory_open(&memory, vm);

	found = found && memory.source.symbol(memory.source.symbol_arg, "gHotSpotVMStructs") ==
				 image_find(&agentjvm_image.im, "gHotSpotVMStructs");
	jvm_memory_close(&memory);
	return found;
}

static void test_find(void)
{
	void *elsewhere[8] = {NULL, NULL, NULL, (void *)finds, NULL, (void *)(uintptr_t)IMAGE_BASE};
	void *no_function[8] = {NULL, NULL, NULL, NULL, (void *)(uintptr_t)IMAGE_BASE};
	void **replaced = elsewhere, **empty = no_function;
	void *nowhere = (void *)8;
	int fds = count_fds();

	ok(!finds(&agentjvm_vm), "without a library no JVM is found");
	is_int(count_fds(), fds, "no descriptor is left");
	agentjvm_map(other, IMAGE_17);
	ok(finds(&agentjvm_vm), "the library is found by a function of the JavaVM");
	ok(!finds(NULL), "without one, a library of another name is not");
	ok(!finds(&replaced), "nor is it by a function that is in another");
	ok(!finds(&empty), "nor by another function");
	agentjvm_unmap();
	agentjvm_map(library, IMAGE_17);
	ok(finds(&agentjvm_vm), "a library libjvm.so is found by a function");
	ok(finds(NULL), "without a JavaVM it is found by its name");
	ok(finds(&replaced), "so it is where the functions were replaced");
	ok(finds(&nowhere), "so it is where the JavaVM is none");
	unlink(library);
	ok(finds(NULL), "so it is where its file was removed");
	is_int(count_fds(), fds, "no descriptor is left, found or not");
}

/* Lines of the memory map before the library's, more than are read at once. */
static void test_many_maps(void)
{
	uint8_t *p = sys_map(400 * 4096);

	for (unsigned i = 0; i < 400; i += 2)
		sys_call3(__NR_mprotect, p + i * 4096, 4096, 1);
	ok(finds(&agentjvm_vm), "the library is found in a long memory map");
	ok(finds(NULL), "by its name, too");
	sys_unmap(p, 400 * 4096);
}

/* Parts of the library with rights of their own, as a real one has. */
static void test_parts(void)
{
	sys_call3(__NR_mprotect, IMAGE_BASE, PAGE, 1);
	ok(finds(&agentjvm_vm), "a function in the second part leads to the first");
	sys_call3(__NR_mprotect, IMAGE_BASE, PAGE, 3);
	sys_call6(__NR_mmap, (long)(AGENTJVM_LOW + 4096), 4096, SYS_PROT_RW,
		  SYS_MAP_ANON | 0x10 /* MAP_FIXED */, -1, 0);
	memcpy((void *)(uintptr_t)(AGENTJVM_LOW + 4096), "anonymous", 9);
	ok(finds(&agentjvm_vm), "memory without a file between them is passed over");
}

/* ---- lines of the memory map ---- */

static bool line_parse(const char *line, struct maps_line *ret)
{
	return map_parse(line, line + strlen(line), ret);
}

static void test_lines(void)
{
	static const struct {
		const char *line;
		struct maps_line want;
	} rows[] = {
		{"7f00a0-7f00bf r-xp 00012000 fe:1f 4711       /usr/lib/libjvm.so",
		 {0x7f00a0, 0x7f00bf, 0x12000, 0xfe0000001full, 0x4711, true}},
		{"1000-2000 rw-p 0000a000 08:01 9 /usr/lib/libjvm.so (deleted)",
		 {0x1000, 0x2000, 0xa000, 0x800000001ull, 9, true}},
		{"1000-2000 rw-p 00000000 00:00 0 ", {0x1000, 0x2000, 0, 0, 0, false}},
		{"1000-2000 rw-p 00000000 00:00 0", {0x1000, 0x2000, 0, 0, 0, false}},
		{"1000-2000 rw-p 00000000 08:01 9 /xlibjvm.so",
		 {0x1000, 0x2000, 0, 0x800000001ull, 9, false}},
		{"1000-2000 rw-p 00000000 08:01 9 /libjvm.so.1",
		 {0x1000, 0x2000, 0, 0x800000001ull, 9, false}},
	};
	static const char *const bad[] = {
		"",
		"1000",
		"1000-2000",
		"1000-2000 r",
		"1000-2000 rw-p ",
		"1000-2000 rw-p 0 ",
		"1000-2000 rw-p 0 8:",
		"1000-2000 rw-p 0 8:1 ",
		"-2000 rw-p 0 8:1 9 x",
		"1000-G000 rw-p 0 8:1 9 x",
	};
	struct maps_line map;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct maps_line *want = &rows[i].want;

		ok(line_parse(rows[i].line, &map), "a line of the map: %s", rows[i].line);
		ok(map.start == want->start && map.end == want->end && map.offset == want->offset &&
			   map.dev == want->dev && map.inode == want->inode,
		   "its numbers are read");
		is_int(map.is_libjvm, want->is_libjvm, "its path is %s",
		       want->is_libjvm ? "that of a JVM" : "another");
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ok(!line_parse(bad[i], &map), "no line of the map: %s", bad[i]);
}

/* ---- flags ---- */

static void test_flag(void)
{
	const uint8_t *flag = (const void *)(uintptr_t)agentjvm_image.non_safepoints;
	int fds = count_fds();

	is_int(*flag, 0, "the flag is off");
	ok(jvm_memory_set_flag(&agentjvm_vm, "DebugNonSafepoints"), "a flag is set");
	is_int(*flag, 1, "it is on now");
	ok(!jvm_memory_set_flag(&agentjvm_vm, "DebugNonSafepoints"), "one that is on is not set");
	ok(!jvm_memory_set_flag(&agentjvm_vm, "NoSuchFlag"), "nor one that there is not");
	is_int(*flag, 1, "nothing else has changed");
	is_int(count_fds(), fds, "no descriptor is left");
	agentjvm_unmap();
	ok(!jvm_memory_set_flag(&agentjvm_vm, "DebugNonSafepoints"), "without a JVM there is none");
}

int main(void)
{
	if (!mkdtemp(top))
		abort();
	snprintf(library, sizeof(library), "%s/libjvm.so", top);
	snprintf(other, sizeof(other), "%s/other.so", top);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		test_read(&ways[i]);
	test_gather();
	test_find();
	test_many_maps();
	test_parts();
	test_lines();
	test_flag();
	unlink(other);
	rmdir(top);
	return tap_done();
}
