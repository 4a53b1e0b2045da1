// SPDX-License-Identifier: Apache-2.0
#include "share.h"
#include "tap.h"

static bool parse(const char *line, struct dump_answer *ret)
{
	return answer_parse(line, strlen(line), ret);
}

int main(void)
{
	static const char *const bad[] = {
		"",
		"#dfg1 end ",
		"#dfg1 end seq=1 status=0 entries=1 skipped=0 bytes=1 us=1", /* no newline */
		"#dfg1 end seq=1 status=0 entries=1 skipped=0 bytes=1 us=1 \n",
		"#dfg1 end seq=-1 status=0 entries=1 skipped=0 bytes=1 us=1\n",
		"#dfg1 end seq=4294967296 status=0 entries=1 skipped=0 bytes=1 us=1\n",
		"#dfg1 end seq= status=0 entries=1 skipped=0 bytes=1 us=1\n",
		"#dfg1 end seq=1 status=0 skipped=0 entries=1 bytes=1 us=1\n",
		"#dfg1 end seq=1 status=0 entries=1 skipped=0 bytes=99999999999999999999999 us=1\n",
		"#dfg2 end seq=1 status=0 entries=1 skipped=0 bytes=1 us=1\n",
		"7f00 10 #dfg1 end seq=1 status=0 entries=1 skipped=0 bytes=1 us=1\n",
	};
	struct dump_answer a;

	if (ok(parse("#dfg1 end seq=7 status=2 entries=4321 skipped=3 bytes=98765 us=12000\n", &a),
	       "a trailer")) {
		is_int(a.seq, 7, "seq");
		is_int(a.status, 2, "status");
		is_int(a.entries, 4321, "entries");
		is_int(a.skipped, 3, "skipped");
		is_int((int64_t)a.bytes, 98765, "bytes");
		is_int((int64_t)a.us, 12000, "us");
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(!parse(bad[i], &a), "refused: %zu", i);
	is_str(answer_status_text(DFG_DUMP_OK), "whole", "status text");
	ok(strstr(answer_status_text(77), "unknown") != NULL, "a status of a later version");
	return tap_done();
}
