// SPDX-License-Identifier: Apache-2.0
/* A map of compiled code: what is found is inside of what is asked for, and its name is a text. */
#include "jit/javasym.h"

#include "common/str.h"
#include "elf/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct javasym *js = javasym_new();
	struct java_symbol s;
	uint64_t addr = 0;

	javasym_add(js, (const char *)data, size / 2);
	javasym_add(js, (const char *)data + size / 2, size - size / 2);
	javasym_finish(js);
	for (int i = 0; i < 64; i++, addr = addr * 3 + 0x101) {
		CLEANUP(str_fini) struct str name = {0};

		if (!javasym_find(js, addr, &s))
			continue;
		if (addr < s.start || addr >= s.end || s.index >= javasym_count(js))
			abort();
		symname_add_clean(&name, s.name, s.len);
		if (strpbrk(name.buf, ";\n") || name.len > 3 * SYMNAME_SHOWN)
			abort();
		javasym_kind(s.name, s.len);
	}
	javasym_free(js);
	return 0;
}
