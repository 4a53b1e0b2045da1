// SPDX-License-Identifier: Apache-2.0
/* Case 63. A perf map: a symbol that is found covers the address that was looked up, and its name
 * is valid text. */
#include "jit/perf_map.h"

#include "common/str.h"
#include "elf/names.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_map *pm = perf_map_new();
	struct perf_map_symbol s;
	uint64_t addr = 0;

	int first = input_file(0, data, size / 2);
	int second = input_file(1, data + size / 2, size - size / 2);
	struct err err;

	if (perf_map_read(pm, first, &err) < 0 || perf_map_read(pm, second, &err) < 0)
		abort();
	perf_map_finish(pm);
	for (int i = 0; i < 64; i++, addr = addr * 3 + 0x101) {
		CLEANUP(str_fini) struct str name = {0};

		if (!perf_map_find(pm, addr, &s))
			continue;
		if (addr < s.start || addr >= s.end)
			abort();
		symname_add_clean(&name, s.name, s.len);
		if (strpbrk(name.buf, ";\n") || name.len > 3 * SYMNAME_SHOWN)
			abort();
		perf_map_kind(s.name, s.len);
	}
	perf_map_free(pm);
	return 0;
}
