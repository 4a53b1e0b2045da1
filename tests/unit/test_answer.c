// SPDX-License-Identifier: Apache-2.0
#include "dfg/snapshot.h"
#include "lib/tap.h"
#include "record/agent_share.h"

static bool parse(const char *line, struct dump_answer *ret)
{
	return answer_parse(line, strlen(line), ret);
}

/* Each letter is a record of 16 bytes: h head, m method, e end; a digit one of that many bytes. */
static bool records(const char *kinds)
{
	char buf[512] = "";
	size_t len = 0;

	for (const char *p = kinds; *p; p++, len += 16) {
		struct snap_record r = {.type = *p == 'h'   ? SNAP_HEAD
						: *p == 'e' ? SNAP_END
							    : SNAP_METHOD,
					.size = *p <= '9' ? (uint32_t)(*p - '0') : 16};

		memcpy(buf + len, &r, sizeof(r));
	}
	return answer_is_snapshot(buf, len);
}

static void test_records(void)
{
	static const char *const bad[] = {"",	 "h",	 "e",	"me",  "hm",
					  "hhe", "hehe", "h0e", "h7e", "h4me"};

	ok(records("he"), "a snapshot");
	ok(records("hmme"), "one with more in it");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(!records(bad[i]), "not: records \"%s\"", bad[i]);
	ok(!answer_is_snapshot("\1\0\0", 3), "less than a record");
}

struct answer {
	struct snap_head head;
	struct snap_end end;
};

/* A JVM in a time namespace has a clock of its own. */
static void test_clock(void)
{
	struct answer a = {
		.head = {.record = {SNAP_HEAD, sizeof(a.head)}, .time = 5000},
		.end = {.record = {SNAP_END, sizeof(a.end)}, .time = 7000},
	};

	answer_set_clock((char *)&a, sizeof(a), 4000);
	is_int((int64_t)a.head.time, 1000, "when it began, by the host's clock");
	is_int((int64_t)a.end.time, 3000, "when it ended");
	answer_set_clock((char *)&a, sizeof(a), -9000);
	is_int((int64_t)a.head.time, 10000, "of one that is after");
}

int main(void)
{
	static const char *const bad[] = {
		"",
		"#dfg1 end ",
		"#dfg1 end seq=1 status=0 entries=1 skipped=0 bytes=1 us=1 cpu=1", /* no newline */
		"#dfg1 end seq=1 status=0 entries=1 skipped=0 bytes=1 us=1 cpu=1 \n",
		"#dfg1 end seq=-1 status=0 entries=1 skipped=0 bytes=1 us=1 cpu=1\n",
		"#dfg1 end seq=4294967296 status=0 entries=1 skipped=0 bytes=1 us=1 cpu=1\n",
		"#dfg1 end seq= status=0 entries=1 skipped=0 bytes=1 us=1 cpu=1\n",
		"#dfg1 end seq=1 status=0 skipped=0 entries=1 bytes=1 us=1 cpu=1\n",
		("#dfg1 end seq=1 status=0 entries=1 skipped=0 bytes=99999999999999999999 us=1 "
		 "cpu=1\n"),
		"#dfg2 end seq=1 status=0 entries=1 skipped=0 bytes=1 us=1 cpu=1\n",
		"7f00 10 #dfg1 end seq=1 status=0 entries=1 skipped=0 bytes=1 us=1 cpu=1\n",
	};
	struct dump_answer a;

	if (ok(parse("#dfg1 end seq=7 status=2 entries=4321 skipped=3 bytes=98765 us=12000 "
		     "cpu=11000\n",
		     &a),
	       "a trailer")) {
		is_int(a.seq, 7, "seq");
		is_int(a.status, 2, "status");
		is_int(a.entries, 4321, "entries");
		is_int(a.skipped, 3, "skipped");
		is_int((int64_t)a.bytes, 98765, "bytes");
		is_int((int64_t)a.us, 12000, "us");
		is_int((int64_t)a.cpu_us, 11000, "processor time");
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(!parse(bad[i], &a), "refused: %zu", i);
	test_records();
	is_str(dump_status_text(DFG_DUMP_OK), "whole", "status text");
	ok(strstr(dump_status_text(77), "unknown") != NULL, "a status of a later version");
	test_clock();
	return tap_done();
}
