// SPDX-License-Identifier: Apache-2.0
/* A library of a container and its debug file: the reference, the paths where it is searched, and
 * the copy of its symbols, which is read again. The first byte is the share of the library, with
 * 255 it is its own debug file. */
#include "discover/jvm.h"
#include "fuzz/fuzz.h"
#include "symbols/elfsym.h"
/* For what is static. */
#include "discover/debug_link.c"
#undef MEMORY_MAX
#undef SECONDS_MAX
#undef MS_MAX
#include "record/debug_files.c"

static void check_paths(const struct debug_link *l)
{
	struct debug_paths p;

	require(memchr(l->name, '\0', sizeof(l->name)) && l->id_len <= sizeof(l->id));
	for (int host = 0; host < 2; host++) {
		debug_paths_of("/usr/lib/libx.so", l, host, &p);
		require(p.n <= DEBUG_PATHS_MAX);
		for (size_t i = 0; i < p.n; i++)
			require(has_prefix(p.path[i], host ? DEBUG_ROOT : "/usr/lib/") &&
				!strstr(p.path[i], "/../"));
		debug_paths_fini(&p);
	}
}

static void read_copy(int library, int to)
{
	struct elf_symbol s;
	struct err err;
	struct elfsym *es = elfsym_open(library, to, &err);
	struct stat st;

	require(fstat(to, &st) == 0 && (uint64_t)st.st_size < 2ull * CONTENTS_MAX);
	for (uint64_t offset = 0; es && offset < 0x3000; offset += 0x11)
		if (elfsym_find(es, offset, &s))
			require(s.end > s.start && strlen(s.name) < (size_t)st.st_size + 4096);
	elfsym_close(es);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct debug_link link = {0};
	struct debug_copy copy = {.link = &link};
	uint64_t room = CONTENTS_MAX;
	struct elfparts p;
	size_t first;
	int library;
	Elf *elf;

	if (!size)
		return 0;
	elf_version(EV_CURRENT);
	size--;
	first = data[0] == 255 ? size : size * data[0] / 255;
	library = input_file(0, data + 1, first);
	copy.from = data[0] == 255 ? library : input_file(1, data + 1 + first, size - first);
	copy.to = input_file(2, "", 0);
	read_link(library, &link);
	check_paths(&link);
	/* The same of a child that was taken over. */
	memcpy(&link, data + 1, size < sizeof(link) ? size : sizeof(link));
	check_link(&link);
	check_paths(&link);
	read_link(library, &link);
	(void)!jvm_file_has_section(library, ".svm_heap");
	elf = debug_elf_open(copy.from);
	if (!elf)
		return 0;
	elfparts_find(elf, &p);
	belongs(&copy, &p);
	if (p.symtab && write_symbols(elf, &p, copy.to, &room))
		read_copy(library, copy.to);
	elf_end(elf);
	return 0;
}
