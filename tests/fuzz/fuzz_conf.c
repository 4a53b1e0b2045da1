// SPDX-License-Identifier: Apache-2.0
/* dfg.conf and the id maps: values that are accepted are in range. */
#include "common/str.h"
#include "fuzz/fuzz.h"
#include "hook/container.h"
#include "oci/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free) char *text = xstrndup((const char *)data, size);
	struct conf c;
	struct err err;
	uint32_t id;

	if (conf_parse((const char *)data, size, &c, &err) < 0 && !err.msg[0])
		abort();
	if (c.budget_ms < 10 || c.budget_ms > 60000 || c.out_bytes < 1u << 20 || c.out_inodes < 8 ||
	    (c.root[0] && c.root[0] != '/') || c.inject > CONF_INJECT_NONE)
		abort();
	(void)!idmap_root(text, &id);
	if (idmap_is_full(text) && (!idmap_root(text, &id) || id != 0))
		abort();
	return 0;
}
