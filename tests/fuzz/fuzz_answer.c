// SPDX-License-Identifier: Apache-2.0
/* The file in a container's share in which the agent answers, or the container in its place: an
 * answer that is taken is one whole snapshot. The first byte chooses between snapshot and map. */
#include "fuzz/fuzz.h"
/* For what is static. */
#include "record/agent_share.c"

static void check_snapshot(const struct str *text, const struct dump_answer *a)
{
	/* Exactly these bytes, so that a sanitizer sees one too many. */
	char *exact = xmalloc(a->bytes);

	memcpy(exact, text->buf, a->bytes);
	require(answer_is_snapshot(exact, a->bytes));
	answer_set_clock(exact, a->bytes, -5000);
	require(answer_is_snapshot(exact, a->bytes));
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(str_fini) struct str text = {0};
	struct dump d = {.seq = 7};
	struct dump_answer a;
	struct err err;

	if (!size)
		return 0;
	d.is_map = data[0] == 'm';
	d.fd = input_file(0, data + 1, size - 1);
	require(read_file(&d, &text, &err) == 0 && text.len < size);
	if (!find_answer(&text, d.seq, &a))
		return 0;
	require(a.seq == 7 && dump_status_text(a.status)[0]);
	if (!is_whole(&d, &text, &a))
		return 0;
	require(a.bytes > 0 && a.bytes <= text.len);
	if (!d.is_map)
		check_snapshot(&text, &a);
	return 0;
}
