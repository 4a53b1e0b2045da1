// SPDX-License-Identifier: Apache-2.0
/* Case 66. An ELF file of a container, and the names in it, and places of probes. */
#include "symbols/elfsym.h"

#include "common/str.h"
#include "elf/names.h"
#include "fuzz/fuzz.h"
#include "probe/probes.h"

static void find_probes(const uint8_t *data, size_t size)
{
	const int fd = input_file(2, data, size);

	/* As a file with its own symbols, and with those of a debug file. */
	for (unsigned debug = 0; debug < 2; debug++) {
		struct flat_probes p;

		flat_find_probes(fd, debug ? fd : -1, &p);
		for (unsigned i = 0; i < FLAT_PROBE_COUNT; i++)
			require(!p.offset[i] || p.offset[i] < size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err;
	struct elfsym *es = elfsym_open(input_file(0, data, size), input_file(1, data, size), &err);
	struct elf_symbol s;
	const uint8_t *id;
	uint64_t start;
	volatile uint8_t sum = 0;

	find_probes(data, size);
	if (!es)
		return 0;
	for (uint64_t offset = 0; offset < 0x4000; offset += 0x11) {
		CLEANUP(str_fini) struct str name = {0};

		if (elfsym_start(es, offset, &start))
			sum = (uint8_t)(sum + start);
		if (!elfsym_find(es, offset, &s))
			continue;
		if (s.end <= s.start)
			abort();
		symname_add(&name, s.name, strlen(s.name));
	}
	for (size_t n = elfsym_build_id(es, &id); n > 0; n--)
		sum = (uint8_t)(sum + id[n - 1]);
	elfsym_close(es);
	return 0;
}
