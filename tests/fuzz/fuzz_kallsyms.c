// SPDX-License-Identifier: Apache-2.0
/* A copy of /proc/kallsyms, and code that comes and goes: what is found holds the address. */
#include "symbols/kernel.h"

#include "common/str.h"
#include "fuzz/filemap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err;
	struct kallsyms *ks = kallsyms_open(input_file(0, data, size), &err); /* NULL: empty */
	struct kernel *k = kernel_new(ks);
	struct kernel_symbol s;

	/* Bytes as addresses, too: code that comes and goes. */
	for (size_t i = 0; i + 12 <= size; i += 12) {
		uint64_t addr;
		uint32_t len;

		memcpy(&addr, data + i, sizeof(addr));
		memcpy(&len, data + i + 8, sizeof(len));
		if (len % 3 == 0)
			kernel_remove(k, addr);
		else
			kernel_add(k, addr, len, "bpf_prog");
		if (kernel_find(k, addr, &s) && (addr < s.start || addr >= s.end))
			abort();
	}
	for (uint64_t addr = 0xffffffff80000000; addr < 0xfffffffff0000000; addr += 0x1234567)
		if (kernel_find(k, addr, &s) && (addr < s.start || addr >= s.end || !s.len))
			abort();
	kernel_free(k);
	kallsyms_close(ks);
	return 0;
}
