// SPDX-License-Identifier: Apache-2.0
/* Scopes of compiled code as a JVM that lies describes them. */
#include <stdlib.h>

#include "hotspot/nmethod.h"
#include "lib/tap.h"

#define DATA_MAX 60000u

static struct hs *hs;
static struct hs_scopes *scopes;

/* Each byte of the data begins a description: nothing inlined, no method, and the third byte from
 * there as its bci. */
static bool read_dense(uint32_t len)
{
	uint8_t *data = calloc(len, 1);
	uint32_t *pcs = calloc(2 * len, sizeof(*pcs));
	struct hs_debug d = {.pcs = (const uint8_t *)pcs, .data = data, .data_len = len};
	bool done;

	d.code_size = len;
	/* 0 is no place, and the last two have no room. */
	for (uint32_t i = 1; i + 2 < len; i++) {
		pcs[2 * d.pc_count] = i;
		pcs[2 * d.pc_count++ + 1] = i;
	}
	pcs[2 * d.pc_count++] = len + 1; /* the sentinel */
	done = hs_scopes_read(hs, scopes, &d);
	free(data);
	free(pcs);
	return done;
}

int main(void)
{
	unsigned whole = 0;

	hs = calloc(1, sizeof(*hs));
	scopes = calloc(1, sizeof(*scopes));
	hs->tables.size[HS_TYPE_PC_DESC] = 8;
	hs->tables.field[HS_PC_SCOPE].place = 4;
	hs_scopes_init(scopes);
	for (uint32_t len = 4; len < 2000; len++)
		whole += read_dense(len) && scopes->places == len - 3 && scopes->scope_count == 1;
	is_int(whole, 1996, "a place at each byte, however many there are");
	ok(!read_dense(DATA_MAX), "more than there is room for: none");
	is_int(scopes->region_count, 0, "and no regions");
	ok(read_dense(8), "the next is read as ever");
	free(hs);
	free(scopes);
	return tap_done();
}
