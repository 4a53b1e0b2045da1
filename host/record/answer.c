// SPDX-License-Identifier: Apache-2.0
#include "record/share.h"

#include "common/str.h"
#include "dfg/snapshot.h"

/* " key=<digits>" at *at; moves behind it. */
static bool take_field(const char **at, const char *end, const char *key, uint64_t max,
		       uint64_t *ret)
{
	size_t len = strlen(key);
	const char *p = *at;
	char digits[24] = "";
	size_t n = 0;

	if ((size_t)(end - p) < len || memcmp(p, key, len))
		return false;
	p += len;
	while (p < end && *p >= '0' && *p <= '9' && n < sizeof(digits) - 1)
		digits[n++] = *p++;
	*at = p;
	return parse_u64(digits, ret) && *ret <= max;
}

bool answer_parse(const char *line, size_t len, struct dump_answer *ret)
{
	const char *at = line + strlen(DFG_TRAILER_START), *end = line + len;
	uint64_t seq, status, entries, skipped, bytes, us, cpu;

	if (len < strlen(DFG_TRAILER_START) ||
	    memcmp(line, DFG_TRAILER_START, strlen(DFG_TRAILER_START)))
		return false;
	if (!take_field(&at, end, "seq=", UINT32_MAX, &seq) ||
	    !take_field(&at, end, " status=", UINT32_MAX, &status) ||
	    !take_field(&at, end, " entries=", UINT32_MAX, &entries) ||
	    !take_field(&at, end, " skipped=", UINT32_MAX, &skipped) ||
	    !take_field(&at, end, " bytes=", UINT64_MAX, &bytes) ||
	    !take_field(&at, end, " us=", UINT64_MAX, &us) ||
	    !take_field(&at, end, " cpu=", UINT64_MAX, &cpu))
		return false;
	if (end - at != 1 || *at != '\n')
		return false;
	*ret = (struct dump_answer){.seq = (uint32_t)seq,
				    .status = (uint32_t)status,
				    .entries = (uint32_t)entries,
				    .skipped = (uint32_t)skipped,
				    .bytes = bytes,
				    .us = us,
				    .cpu_us = cpu};
	return true;
}

bool answer_is_snapshot(const char *buf, size_t len)
{
	struct snap_record r = {0};

	for (size_t at = 0; at < len; at += r.size) {
		if (len - at < sizeof(r))
			return false;
		memcpy(&r, buf + at, sizeof(r));
		/* One, whole: the head comes first and never again, nothing is behind the end. */
		if (r.size < sizeof(r) || r.size % 8 || r.size > len - at ||
		    (r.type == SNAP_HEAD) != (at == 0) ||
		    (r.type == SNAP_END) != (r.size == len - at))
			return false;
	}
	return len > 0;
}

static void take_off(char *time, int64_t ahead)
{
	uint64_t t;

	memcpy(&t, time, sizeof(t));
	t -= (uint64_t)ahead;
	memcpy(time, &t, sizeof(t));
}

void answer_set_clock(char *buf, size_t len, int64_t ahead)
{
	struct snap_record r = {0};

	for (size_t at = 0; at < len; at += r.size) {
		memcpy(&r, buf + at, sizeof(r));
		if (r.type == SNAP_HEAD && r.size >= sizeof(struct snap_head))
			take_off(buf + at + offsetof(struct snap_head, time), ahead);
		else if (r.type == SNAP_END && r.size >= sizeof(struct snap_end))
			take_off(buf + at + offsetof(struct snap_end, time), ahead);
	}
}

const char *answer_status_text(uint32_t status)
{
	switch ((enum dfg_dump_status)status) {
	case DFG_DUMP_OK:
		return "whole";
	case DFG_DUMP_NO_TABLES:
		return "HotSpot's tables of this JVM are not of a known shape";
	case DFG_DUMP_NO_SPACE:
		return "the share is full";
	case DFG_DUMP_NO_MEMORY:
		return "the JVM's container has no memory left";
	case DFG_DUMP_READ:
		return "the JVM's own memory could not be read";
	case DFG_DUMP_PARTLY:
		return "HotSpot's tables of this JVM lack something, and its graph, too";
	}
	return "unknown to this version of dfg";
}
