// SPDX-License-Identifier: Apache-2.0
#include "symbols/store.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/parallel.h"
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
	return tap_done();
}
