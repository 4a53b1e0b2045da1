// SPDX-License-Identifier: Apache-2.0
/* The head of a perf.data file: events, their ids, and the table of build ids. */
#include <errno.h>

#include "common/str.h"
#include "perf/perfformat.h"

#define EVENTS_MAX	     1024
#define FEATURE_BIT_BUILD_ID 2
#define BUILD_ID_BYTES	     20
#define MISC_BUILD_ID_SIZE   (1 << 15) /* linux tools/lib/perf/include/perf/event.h */

struct section {
	uint64_t offset, size;
};

static struct section read_section(struct bytes *b)
{
	struct section s = {.offset = bytes_u64(b)};

	s.size = bytes_u64(b);
	return s;
}

/* The part of a section that is in the file. */
static struct bytes section_bytes(const struct perfdata *pd, struct section s)
{
	uint64_t room;

	if (s.offset > pd->len)
		return (struct bytes){.bad = true};
	room = pd->len - s.offset;
	return bytes_of(pd->file + s.offset, s.size < room ? s.size : room);
}

static int read_ids(struct perfdata *pd, struct section s, uint32_t event, struct err *err)
{
	struct bytes b = section_bytes(pd, s);

	if (b.bad || b.len < s.size)
		return err_set(err, 0, "perf.data: ids of event %u lie outside the file", event);
	pd->ids = xrealloc(pd->ids, pd->id_count + s.size / sizeof(uint64_t), sizeof(*pd->ids));
	while (b.len >= sizeof(uint64_t))
		pd->ids[pd->id_count++] = (struct keyed){.key = bytes_u64(&b), .value = event};
	return 0;
}

static size_t count_bits(uint64_t mask)
{
	return (size_t)__builtin_popcountll(mask);
}

static int read_attrs(struct perfdata *pd, struct section s, uint64_t entry, struct err *err)
{
	struct bytes b = section_bytes(pd, s);

	if (entry < PERF_ATTR_SIZE_VER0 + 2 * sizeof(uint64_t) || entry > 4096 || s.size % entry ||
	    b.bad || b.len < s.size || s.size == 0 || s.size / entry > EVENTS_MAX)
		return err_set(err, 0, "perf.data: its table of events is damaged");
	pd->events = xcalloc(s.size / entry, sizeof(*pd->events));
	while (b.len) {
		struct bytes e = bytes_sub(&b, entry);
		struct bytes attr = bytes_sub(&e, entry - 2 * sizeof(uint64_t));
		struct perf_event *ev = &pd->events[pd->event_count];

		memcpy(&ev->attr, attr.p,
		       attr.len < sizeof(ev->attr) ? attr.len : sizeof(ev->attr));
		if (ev->attr.sample_id_all)
			ev->trailer = sizeof(uint64_t) *
				      count_bits(ev->attr.sample_type &
						 (PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						  PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
						  PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER));
		if (read_ids(pd, read_section(&e), (uint32_t)pd->event_count, err) < 0)
			return -1;
		pd->event_count++;
	}
	keyed_sort(pd->ids, pd->id_count);
	return 0;
}

static bool same_layout(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->sample_type == b->sample_type && a->read_format == b->read_format &&
	       a->branch_sample_type == b->branch_sample_type &&
	       a->sample_regs_user == b->sample_regs_user &&
	       a->sample_regs_intr == b->sample_regs_intr && a->sample_id_all == b->sample_id_all;
}

/* Events of different layout can only be told apart by an id at a fixed place. */
static int check_layouts(struct perfdata *pd, struct err *err)
{
	bool all = true, same = true;

	for (size_t i = 0; i < pd->event_count; i++) {
		const struct perf_event_attr *a = &pd->events[i].attr;

		all = all && a->sample_type & PERF_SAMPLE_IDENTIFIER;
		same = same && same_layout(a, &pd->events[0].attr);
		if (a->sample_type >= PERF_SAMPLE_MAX)
			return err_set(
				err, 0,
				"perf.data: event %zu records fields unknown to this version "
				"(sample_type %#llx)",
				i, (unsigned long long)a->sample_type);
	}
	pd->by_identifier = all && pd->event_count > 1;
	if (!same && !all)
		return err_set(err, 0, "perf.data: several events that cannot be told apart");
	return 0;
}

/* struct build_id_event: header, pid, 20 bytes (the 21st is its size when the record says so) and 3
 * of padding, name. */
static void read_build_ids(struct perfdata *pd, struct bytes b)
{
	while (b.len >= sizeof(struct perf_event_header)) {
		struct build_id_row row = {.len = BUILD_ID_BYTES};
		struct perf_event_header h;
		struct bytes rec;
		uint8_t size;

		bytes_u32(&b);
		h.misc = bytes_u16(&b);
		h.size = bytes_u16(&b);
		if (h.size < sizeof(h))
			return;
		rec = bytes_sub(&b, h.size - sizeof(h));
		bytes_u32(&rec);
		row.id = bytes_take(&rec, BUILD_ID_BYTES);
		size = bytes_u8(&rec);
		bytes_take(&rec, 3);
		if (h.misc & MISC_BUILD_ID_SIZE)
			row.len = size < BUILD_ID_BYTES ? size : BUILD_ID_BYTES;
		row.path = bytes_cstr(&rec);
		if (rec.bad)
			return;
		pd->build_ids = grow(pd->build_ids, pd->build_id_count, &pd->build_id_cap,
				     sizeof(*pd->build_ids));
		pd->build_ids[pd->build_id_count++] = row;
	}
}

/* Sections of the features whose bits are set follow the data, in the order of the bits. A
 * recording that was killed has none. */
static void read_features(struct perfdata *pd, struct section data, uint64_t flags)
{
	struct section table = {.offset = data.offset + data.size, .size = UINT64_MAX};
	struct bytes b;

	if (data.size == 0 || table.offset < data.offset)
		return;
	b = section_bytes(pd, table);
	for (int bit = 0; bit < 64 && !b.bad; bit++) {
		struct section s;

		if (!(flags >> bit & 1))
			continue;
		s = read_section(&b);
		if (bit == FEATURE_BIT_BUILD_ID && !b.bad)
			read_build_ids(pd, section_bytes(pd, s));
	}
}

int perfheader_read(struct perfdata *pd, struct bytes *ret_data, uint64_t *ret_missing,
		    struct err *err)
{
	struct bytes b = bytes_of(pd->file, pd->len);
	const uint8_t *magic = bytes_take(&b, 8);
	uint64_t size = bytes_u64(&b), entry = bytes_u64(&b);
	struct section attrs = read_section(&b), data = read_section(&b);
	uint64_t flags;

	read_section(&b);
	flags = bytes_u64(&b);
	if (magic && memcmp(magic, "2ELIFREP", 8) == 0)
		return err_set(err, 0, "perf.data: from a machine of the other byte order");
	if (!magic || memcmp(magic, "PERFILE2", 8) != 0)
		return err_set(err, 0, "not a perf.data file");
	if (size == 2 * sizeof(uint64_t))
		return err_set(err, 0,
			       "perf.data: written to a pipe; record to a file (perf record -o)");
	if (b.bad)
		return err_set(err, 0, "perf.data: its header is cut off");
	if (read_attrs(pd, attrs, entry, err) < 0 || check_layouts(pd, err) < 0)
		return -1;
	*ret_data = section_bytes(pd, data);
	if (ret_data->bad)
		return err_set(err, 0, "perf.data: its records are missing");
	if (data.size == 0) /* perf was killed before it could say: all there is */
		*ret_data = bytes_of(pd->file + data.offset, pd->len - data.offset);
	*ret_missing = data.size > ret_data->len ? data.size - ret_data->len : 0;
	read_features(pd, data, flags);
	return 0;
}
