// SPDX-License-Identifier: Apache-2.0
#include "symbols/store.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/parallel.h"
#include "common/str.h"
#include "elf/elfparts.h"
#include "lib/tap.h"
#include "lib/textfile.h"

#define THREADS 8

struct asking {
	struct sources *sources;
	const struct elfsym *elf[THREADS];
	const struct jvm_code *code[THREADS];
};

static void ask(void *arg, size_t i)
{
	struct asking *a = arg;

	a->elf[i] = sources_elf(a->sources, 0);
	a->code[i] = sources_code(a->sources, 1);
}

/* An ELF file with `count` symbols of one name. */
static int file_with_symbols(size_t count)
{
	static const char names[] = "\0f\0.symtab";
	Elf64_Ehdr eh = {.e_ident = ELFMAG,
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_shoff = sizeof(eh),
			 .e_ehsize = sizeof(eh),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 2};
	Elf64_Shdr sh[3] = {{0},
			    {.sh_name = 3,
			     .sh_type = SHT_SYMTAB,
			     .sh_offset = sizeof(eh) + sizeof(sh) + 16,
			     .sh_size = count * sizeof(Elf64_Sym),
			     .sh_link = 2,
			     .sh_entsize = sizeof(Elf64_Sym)},
			    {.sh_name = 3,
			     .sh_type = SHT_STRTAB,
			     .sh_offset = sizeof(eh) + sizeof(sh),
			     .sh_size = sizeof(names)}};
	CLEANUP(str_fini) struct str out = {0};

	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
	str_add(&out, &eh, sizeof(eh));
	str_add(&out, sh, sizeof(sh));
	str_add(&out, names, sizeof(names));
	str_add(&out, "\0\0\0\0\0", 16 - sizeof(names));
	for (size_t i = 0; i < count; i++) {
		Elf64_Sym s = {.st_name = 1,
			       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			       .st_shndx = 1,
			       .st_value = 16 * i,
			       .st_size = 16};

		str_add(&out, &s, sizeof(s));
	}
	return file_of(out.buf, out.len);
}

/* Case 81. */
static void test_symbols(void)
{
	CLEANUP(close_fd) int full = file_with_symbols(ELF_FUNCS_MAX);
	CLEANUP(close_fd) int more = file_with_symbols(ELF_FUNCS_MAX + 1);
	struct session_elf elfs[7];
	struct recording in = {
		.elfs = elfs, .elf_count = ARRAY_LEN(elfs), .perf_fd = -1, .kallsyms_fd = -1};
	char names[] = "aabcdef";
	struct sources *s;
	size_t read = 0;

	for (size_t i = 0; i < ARRAY_LEN(elfs); i++)
		elfs[i] = (struct session_elf){.path = "path",
					       .name = xasprintf("%c", names[i]),
					       .fd = i ? full : more,
					       .debug_fd = -1};
	s = sources_new(&in);
	ok(sources_elf(s, 0) == sources_elf(s, 1), "two paths of one copy are read once");
	is_int(sources_file(s, 1), 0, "the second is the first");
	is_int(sources_file(s, 2), 2, "another copy is not");
	is_int(sources_cut(s), 1, "a file with too many symbols is counted");
	for (size_t i = 0; i < ARRAY_LEN(elfs); i++)
		read += sources_elf(s, i) != NULL;
	is_int(read, 1 + ELF_FUNCS_ALL / ELF_FUNCS_MAX, "files are read until there are too many");
	is_int(sources_cut(s), 3, "the rest is counted");
	sources_free(s);
	for (size_t i = 0; i < ARRAY_LEN(elfs); i++)
		free(elfs[i].name);
}

int main(void)
{
	struct session_map maps[] = {
		{.pid = 7, .fd = file_of("1000 10 new\n", strlen("1000 10 new\n")), .order = 2},
		{.pid = 9, .fd = -1, .order = 1},
		{.pid = 7, .fd = file_of("1000 20 old\n", strlen("1000 20 old\n")), .order = 1}};
	struct session_elf elfs[] = {
		{.path = "spin", .fd = open("tests/golden/perf/spin", O_RDONLY), .debug_fd = -1},
		{.path = "none", .fd = -1, .debug_fd = -1}};
	struct recording in = {.maps = maps,
			       .map_count = 3,
			       .elfs = elfs,
			       .elf_count = 2,
			       .perf_fd = -1,
			       .kallsyms_fd = -1};
	struct sources *s = sources_new(&in);
	struct asking a = {.sources = s};
	struct elf_symbol symbol = {.name = "nothing"};
	struct perf_map_symbol java = {.name = "nothing"};
	bool same = true;

	is_int(sources_jvm_count(s), 2, "two JVMs");
	is_int(sources_jvm(s, 9), 2, "the second");
	is_int(sources_jvm(s, 8), 0, "none");
	parallel_run(THREADS, ask, &a);
	for (size_t i = 1; i < THREADS; i++)
		same &= a.elf[i] == a.elf[0] && a.code[i] == a.code[0];
	ok(same, "many ask at the same time and get the same");
	ok(a.elf[0] && elfsym_find(a.elf[0], 0x100f, &symbol) && !strcmp(symbol.name, "spin"),
	   "a file's symbols");
	ok(!sources_elf(s, 1), "what cannot be read has none");
	ok(perf_map_find(a.code[0]->map, 0x1008, &java) && !memcmp(java.name, "new", 3),
	   "of a JVM's maps the later wins");
	ok(!a.code[0]->snapshot, "there is no snapshot");
	ok(!perf_map_find(sources_code(s, 2)->map, 0x1008, &java), "what cannot be read is empty");
	sources_free(s);
	test_symbols();
	return tap_done();
}
