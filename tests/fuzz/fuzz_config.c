// SPDX-License-Identifier: Apache-2.0
/* Case 21. config.json: reading it, and adding hooks to its text. A text that was JSON stays JSON,
 * has the hooks, takes them only once, and gives them back. */
#include "fuzz/fuzz.h"
#include "oci/config.h"
#include "oci/spec.h"
#include "oci/state.h"

#define HOOK "/l/dfg-hook"

static void check_added(struct str *s)
{
	struct err err;

	if (oci_spec_add_hook(s, HOOK, NULL, &err) != 0 || oci_spec_remove_hook(s, &err) != 1 ||
	    oci_spec_remove_hook(s, &err) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(oci_config_fini) struct oci_config c;
	CLEANUP(str_fini) struct str s = {0};
	const char *text = (const char *)data;
	json_t *before = json_loadb(text, size, 0, NULL);
	struct err err;

	if (oci_config_parse(text, size, "/b", &c, &err) == 0 && !oci_path_valid(c.root))
		abort();
	str_add(&s, text, size);
	if (oci_spec_add_hook(&s, HOOK, NULL, &err) == 1) {
		json_t *after = json_loadb(s.buf, s.len, 0, NULL);

		if (before && !json_object_get(json_object_get(after, "hooks"), "poststop"))
			abort();
		if (before)
			check_added(&s);
		json_decref(after);
	}
	json_decref(before);
	return 0;
}
