// SPDX-License-Identifier: Apache-2.0
#include "symbols/kernel.h"

#include "common/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kernsym *ks = kernsym_of((const char *)data, size);
	struct kernel_symbol s;

	/* Bytes as addresses, too: code that comes and goes. */
	for (size_t i = 0; i + 12 <= size; i += 12) {
		uint64_t addr;
		uint32_t len;

		memcpy(&addr, data + i, sizeof(addr));
		memcpy(&len, data + i + 8, sizeof(len));
		if (len % 3 == 0)
			kernsym_remove(ks, addr);
		else
			kernsym_add(ks, addr, len, "bpf_prog");
		if (kernsym_find(ks, addr, &s) && (addr < s.start || addr >= s.end))
			abort();
	}
	for (uint64_t addr = 0xffffffff80000000; addr < 0xfffffffff0000000; addr += 0x1234567)
		if (kernsym_find(ks, addr, &s) && (addr < s.start || addr >= s.end || !s.len))
			abort();
	kernsym_close(ks);
	return 0;
}
