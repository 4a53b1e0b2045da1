// SPDX-License-Identifier: Apache-2.0
/* Case 17. Whatever is on stdin: a state that is accepted has an id and a pid that are safe to use.
 */
#include "fuzz/fuzz.h"
#include "oci/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(oci_state_fini) struct oci_state s;
	struct err err = {0};
	enum oci_state_result reason =
		oci_state_parse((const char *)data, size, size % 2 == 0, &s, &err);

	if (reason == OCI_STATE_OK &&
	    (!oci_id_valid(s.id) || (s.stopped ? s.pid != 0 : s.pid <= 1) ||
	     (s.bundle && !oci_path_valid(s.bundle))))
		abort();
	if (reason != OCI_STATE_OK && !err.msg[0])
		abort();
	return 0;
}
