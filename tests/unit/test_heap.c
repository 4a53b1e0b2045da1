// SPDX-License-Identifier: Apache-2.0
#include "common/heap.h"

#include <unistd.h>

#include "common/str.h"
#include "lib/tap.h"

#define EXPECTED (8u << 20)

/* Whether the kernel was asked for huge pages at this address: "hg" among the flags (proc(5)). */
static bool wants_huge(const void *p)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	uintptr_t at = (uintptr_t)p, low, high;
	bool here = false, ret = false;
	char line[4096];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &low, &high) == 2)
			here = low <= at && at < high;
		ret |= here && has_prefix(line, "VmFlags:") && strstr(line, " hg");
	}
	if (f)
		fclose(f);
	return ret;
}

int main(void)
{
	bool possible = access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) == 0;
	char *begin = sbrk(0), *p;

	heap_expect(EXPECTED);
#ifdef __SANITIZE_ADDRESS__
	possible = false;
#endif
	p = xmalloc(EXPECTED / 2);
	memset(p, 1, EXPECTED / 2);
	if (possible) {
		ok(p >= begin && p + EXPECTED / 2 <= (char *)sbrk(0),
		   "what is large is on the heap");
		ok(wants_huge(p), "of huge pages");
	} else {
		ok(true, "what is large # SKIP no huge pages, or another malloc");
	}
	begin = sbrk(0);
	free(p);
	ok(sbrk(0) == begin, "nothing is given back");
	return tap_done();
}
