// SPDX-License-Identifier: Apache-2.0
/* The JVM's operations by the tables of their classes: in files that are made up, and in that of a
 * JDK of this machine. */
#include "probe/operations.h"

#include <fcntl.h>
#include <unistd.h>

#include "lib/elfmake.h"
#include "lib/tap.h"
#include "lib/textfile.h"

#define HEAD 16 /* bytes from a class's table on; its objects begin with that address */

/* The file with a table of these symbols, which are objects. `type`: as elfmake_symbols. */
static void make(uint32_t type, const char *symbols, unsigned char kind, struct str *file)
{
	struct elfmake m;

	elfmake_start(&m);
	elfmake_symbols(&m, type, symbols);
	for (unsigned i = 0; i < m.count; i++) {
		const Elf64_Shdr *s = &m.sections[i];

		for (size_t at = 0; s->sh_type == type && at < s->sh_size; at += sizeof(Elf64_Sym))
			((Elf64_Sym *)(m.data.buf + s->sh_offset - ELFMAKE_HEADERS + at))->st_info =
				ELF64_ST_INFO(STB_WEAK, kind);
	}
	elfmake_end(&m, file);
}

static void find(uint32_t type, const char *symbols, unsigned char kind, struct operations *ret)
{
	CLEANUP(str_fini) struct str file = {0};
	CLEANUP(close_fd) int fd = -1;

	memset(ret, 0x55, sizeof(*ret));
	make(type, symbols, kind, &file);
	fd = file_of(file.buf, file.len);
	operations_find(fd, ret);
}

static bool is(const struct operations *o, uint64_t begin, const char *want)
{
	const char *name = operations_name(o, begin);

	return want ? name && !strcmp(name, want) : !name;
}

static void test_made(void)
{
	struct operations o;

	find(SHT_SYMTAB,
	     "_ZTV13VM_ThreadDump@5000+40 _ZTV16VM_GC_Operation@5100+40 "
	     "_ZTV12VM_Operation@5200+40 _ZTV3VM_@5300+40 "
	     "_ZTI13VM_ThreadDump@6000+10 _ZTS13VM_ThreadDump@6100+10 _ZTV8VMThread@6200+40 "
	     "_ZTVN2gc13VM_ThreadDumpE@6300+40 _ZTV10NotVM_Dump@6400+40 VM_ThreadDump@6500+40 "
	     "_ZTV@6600+40 _ZTV13@6700+40 ZTV13VM_ThreadDump@6800+40",
	     STT_OBJECT, &o);
	is_int(o.count, 4, "the classes of operations are found, and nothing else");
	ok(o.shift == 0 && is(&o, 0x5000 + HEAD, "ThreadDump") &&
		   is(&o, 0x5100 + HEAD, "GC_Operation") && is(&o, 0x5200 + HEAD, "Operation"),
	   "by what their objects begin with");
	ok(is(&o, 0x5000, NULL) && is(&o, 0x5000 + HEAD - 1, NULL) &&
		   is(&o, 0x5000 + HEAD + 1, NULL) && is(&o, 0, NULL) && is(&o, UINT64_MAX, NULL),
	   "other addresses are none");
	o.shift = (uint64_t)-0x7f0000000000;
	ok(is(&o, 0x7f0000005000 + HEAD, "ThreadDump") && is(&o, 0x5000 + HEAD, NULL),
	   "where the file is mapped, they are so much further");
	find(SHT_SYMTAB, "_ZTV13VM_ThreadDump@5000+40", STT_FUNC, &o);
	is_int(o.count, 0, "a function is no class");
}

static void test_lengths(void)
{
	CLEANUP(str_fini) struct str symbols = {0};
	struct operations o;

	str_adds(&symbols, "_ZTV99VM_");
	for (unsigned i = 0; i < 300; i++)
		str_addc(&symbols, 'n');
	str_adds(&symbols, "@5000+40");
	find(SHT_SYMTAB, symbols.buf, STT_OBJECT, &o);
	ok(o.count == 1 && strlen(o.list[0].name) == OPERATION_NAME_MAX - 1 &&
		   strspn(o.list[0].name, "n") == OPERATION_NAME_MAX - 1,
	   "a long name is cut");
	str_clear(&symbols);
	for (unsigned i = 0; i < OPERATIONS_MAX + 9; i++)
		str_addf(&symbols, "%s_ZTV9VM_Op%u@%x+10", i ? " " : "", i, 0x5000 + 16 * i);
	find(SHT_SYMTAB, symbols.buf, STT_OBJECT, &o);
	ok(o.count == OPERATIONS_MAX && is(&o, 0x5000 + HEAD, "Op0") &&
		   is(&o, 0x5000 + 16 * (OPERATIONS_MAX - 1) + HEAD, "Op127") &&
		   is(&o, 0x5000 + 16 * OPERATIONS_MAX + HEAD, NULL),
	   "of more than there is room for, the first");
	o.count = UINT32_MAX;
	ok(is(&o, 1, NULL), "a number of them that is wrong is not gone by");
}

static void test_lacking(void)
{
	static const char symbols[] = "_ZTV13VM_ThreadDump@5000+40";
	CLEANUP(str_fini) struct str file = {0};
	CLEANUP(close_fd) int text = file_of("no ELF file", 11), empty = file_of("", 0);
	const int fds[] = {text, empty, -1};
	struct operations o;
	unsigned found = 0;

	find(SHT_DYNSYM, symbols, STT_OBJECT, &o);
	is_int(o.count, 0, "a file without .symtab has none");
	for (unsigned i = 0; i < 3; i++) {
		memset(&o, 0x55, sizeof(o));
		operations_find(fds[i], &o);
		ok(o.count == 0 && is(&o, 0x5000 + HEAD, NULL), "nor one that is no ELF file: %u",
		   i);
	}
	make(SHT_SYMTAB, symbols, STT_OBJECT, &file);
	for (size_t len = 0; len < file.len; len += 7) {
		CLEANUP(close_fd) int fd = file_of(file.buf, len);

		operations_find(fd, &o);
		found += o.count > 1 || (o.count && !is(&o, 0x5000 + HEAD, "ThreadDump"));
	}
	is_int(found, 0, "one that is cut has none, or the right one");
}

/* Each byte after the program headers in turn is another. */
static void test_garbage(void)
{
	CLEANUP(str_fini) struct str file = {0};
	unsigned bad = 0;

	make(SHT_SYMTAB, "_ZTV13VM_ThreadDump@5000+40 _ZTV7VM_Halt@5100+40", STT_OBJECT, &file);
	for (size_t at = sizeof(Elf64_Ehdr); at < file.len; at++) {
		CLEANUP(close_fd) int fd = -1;
		struct operations o;

		file.buf[at] = (char)~file.buf[at];
		fd = file_of(file.buf, file.len);
		file.buf[at] = (char)~file.buf[at];
		operations_find(fd, &o);
		bad += o.count > 2;
		for (unsigned i = 0; i < o.count && i < 2; i++)
			bad += !memchr(o.list[i].name, 0, OPERATION_NAME_MAX);
	}
	is_int(bad, 0, "a damaged file has no more than it had, with ends");
}

static void test_real(void)
{
	CLEANUP(close_fd)
	int fd = open("/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
		      O_RDONLY | O_CLOEXEC);
	struct operations o;
	unsigned known = 0;

	if (fd < 0) {
		printf("# no JDK 17 here\n");
		return;
	}
	operations_find(fd, &o);
	for (unsigned i = 0; i < o.count; i++)
		known += !strcmp(o.list[i].name, "G1CollectFull") ||
			 !strcmp(o.list[i].name, "ThreadDump") ||
			 !strcmp(o.list[i].name, "HeapDumper") ||
			 !strcmp(o.list[i].name, "Cleanup");
	ok(known == 4 && o.count < OPERATIONS_MAX, "a real libjvm.so has them: %u", o.count);
}

static void test_causes(void)
{
	ok(operations_has_cause("G1CollectForAllocation") && operations_has_cause("G1PauseRem"),
	   "a collection is for a cause");
	ok(!operations_has_cause("G1PauseRemark") && !operations_has_cause("G1PauseCleanup") &&
		   !operations_has_cause("CGC_Operation"),
	   "G1's remark and cleanup are for none");
}

int main(void)
{
	test_made();
	test_lengths();
	test_lacking();
	test_garbage();
	test_real();
	test_causes();
	return tap_done();
}
