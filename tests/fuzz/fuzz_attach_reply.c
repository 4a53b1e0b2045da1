// SPDX-License-Identifier: Apache-2.0
/* Case 50. Replies of a JVM, or of another process in its place, to an attach client; and the
 * command line of a JVM. The first byte chooses. */
#include "fuzz/fuzz.h"
#include "injector/process.h"
#include "injector/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data + 1;
	struct err err = {0};
	int code = 0;

	if (size == 0)
		return 0;
	size--;
	if (data[0] == 'a') {
		jvm_args_disable_attach(p, size / 2, p + size / 2, size - size / 2);
		return 0;
	}
	attach_offers_v2(p, size);
	if (attach_parse_reply(p, size, &code, &err) == ATTACH_OK)
		return 0;
	/* The promise of an error: one line of printable text. */
	for (const char *m = err.msg; *m; m++)
		if ((unsigned char)*m < 0x20 || (unsigned char)*m == 0x7f)
			abort();
	return 0;
}
