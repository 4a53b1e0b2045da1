// SPDX-License-Identifier: Apache-2.0
#include "perf/perfdata.h"

#include <sys/mman.h>
#include <time.h>

#include "common/str.h"
#include "perf/perfformat.h"

/* Kinds perf itself writes (linux tools/lib/perf/include/perf/event.h). */
#define RECORD_AUXTRACE	   71
#define RECORD_COMPRESSED  81
#define RECORD_COMPRESSED2 83

#define PAGE		     4096u
#define RELEASE_BYTES	     (16u << 20) /* of the mapping, given back at once */
#define EVENTS_MAX	     1024
#define FEATURE_BIT_BUILD_ID 2
#define BUILD_ID_BYTES	     20
#define MISC_BUILD_ID_SIZE   (1 << 15) /* linux tools/lib/perf/include/perf/event.h */

/* ---- file header: events, their ids, build ids ---- */

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

/* Events of different layouts can only be distinguished by an id at a fixed position. */
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
		return err_set(err, 0, "perf.data: several events that cannot be distinguished");
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

/* Fills events, ids and build_ids, and finds the records. */
static int read_file_header(struct perfdata *pd, struct bytes *ret_data, uint64_t *ret_missing,
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

/* ---- records, in the order of time ---- */

/* Bytes after an AUXTRACE record that belong to it but are not in its size. */
static uint64_t extra_bytes(const struct perf_event_header *h, struct bytes body)
{
	return h->type == RECORD_AUXTRACE ? bytes_u64(&body) : 0;
}

static struct perf_event_header read_header(struct bytes *b)
{
	struct perf_event_header h = {.type = bytes_u32(b)};

	h.misc = bytes_u16(b);
	h.size = bytes_u16(b);
	return h;
}

static bool wanted(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_KSYMBOL:
		return true;
	default:
		return false;
	}
}

/* Adds the next record of the file to the window. False after the last whole one. */
static bool scan_record(struct perfdata *pd, struct perf_event_header *ret)
{
	struct bytes at = pd->rest, body;
	struct perf_event_header h = read_header(&at);
	uint64_t time, extra;

	if (at.bad || h.size < sizeof(h) || h.size > pd->rest.len)
		return false;
	body = bytes_sub(&at, h.size - sizeof(h));
	extra = extra_bytes(&h, body);
	if (extra > at.len)
		return false;
	if (wanted(h.type)) {
		if (perfrecord_time(pd, &h, body, &time))
			pd->last = time == UINT64_MAX ? 0 : time;
		if (pd->last > pd->highest)
			pd->highest = pd->last;
		pd->window = grow(pd->window, pd->count, &pd->cap, sizeof(*pd->window));
		pd->window[pd->count++] =
			(struct keyed){.key = pd->last, .value = (uint64_t)(pd->rest.p - pd->file)};
	}
	bytes_take(&pd->rest, h.size + (size_t)extra);
	*ret = h;
	return true;
}

/* Releases the pages of the mapping below the window. */
static void release_pages(struct perfdata *pd)
{
	size_t needed = (size_t)(pd->rest.p - pd->file);

	for (size_t i = 0; i < pd->count; i++)
		if (pd->window[i].value < needed)
			needed = (size_t)pd->window[i].value;
	needed -= needed % PAGE;
	if (!pd->map.p || needed < pd->released + RELEASE_BYTES)
		return;
	/* Advice: whether it is taken does not matter. */
	(void)madvise((void *)(uintptr_t)(pd->file + pd->released), needed - pd->released,
		      MADV_DONTNEED);
	pd->released = needed;
}

/* Adds one round to the window, and finds the records that can be returned: those not later than
 * the latest record of the round before. Returns true if there was a compressed record. */
static bool fill_window(struct perfdata *pd)
{
	uint64_t safe = pd->highest;
	struct perf_event_header h;
	bool round = false, compressed = false;

	if (pd->at) {
		pd->count -= pd->at;
		memmove(pd->window, pd->window + pd->at, pd->count * sizeof(*pd->window));
		pd->at = 0;
	}
	release_pages(pd);
	while (!round && !compressed && scan_record(pd, &h)) {
		round = h.type == RECORD_FINISHED_ROUND;
		compressed = h.type == RECORD_COMPRESSED || h.type == RECORD_COMPRESSED2;
	}
	if (!round) { /* the end of what is whole */
		pd->cut += pd->rest.len;
		pd->rest.len = 0;
	}
	safe = pd->rest.len ? safe : UINT64_MAX;
	keyed_sort(pd->window, pd->count);
	pd->ready = keyed_upper(pd->window, pd->count, safe);
	return compressed;
}

struct perfdata *perfdata_open(int fd, struct err *err)
{
	CLEANUP(perfdata_close) struct perfdata *pd = xcalloc(1, sizeof(*pd));

	if (filemap_open(fd, UINT64_MAX, &pd->map, err) < 0) {
		err_wrap(err, "perf.data");
		return NULL;
	}
	pd->file = pd->map.p;
	pd->len = pd->map.len;
	if (read_file_header(pd, &pd->data, &pd->missing, err) < 0)
		return NULL;
	perfdata_rewind(pd);
	/* perf record -z compresses all that it records: the first round shows it. */
	if (fill_window(pd)) {
		err_set(err, 0, "perf.data: compressed; record without perf record -z");
		return NULL;
	}
	return TAKE_PTR(pd);
}

void perfdata_close(struct perfdata *pd)
{
	if (!pd)
		return;
	filemap_close(&pd->map);
	free(pd->events);
	free(pd->ids);
	free(pd->window);
	free(pd->build_ids);
	free(pd);
}

bool perfdata_next(struct perfdata *pd, struct perf_record *ret)
{
	for (;;) {
		struct perf_event_header h;
		struct bytes at;
		size_t offset;
		bool bad;

		while (pd->at == pd->ready && pd->rest.len)
			(void)fill_window(pd);
		if (pd->at == pd->ready)
			return false;
		offset = (size_t)pd->window[pd->at++].value;
		at = bytes_of(pd->file + offset, pd->len - offset);
		h = read_header(&at);
		pd->passed += h.size;
		if (perfrecord_parse(pd, &h, bytes_sub(&at, h.size - sizeof(h)), ret, &bad))
			return true;
		pd->cut += bad ? h.size : 0;
	}
}

const uint8_t *perfdata_bytes(const struct perfdata *pd, size_t *ret_len)
{
	size_t offset = (size_t)pd->window[pd->at - 1].value;
	struct bytes at = bytes_of(pd->file + offset, pd->len - offset);

	*ret_len = read_header(&at).size;
	return pd->file + offset;
}

bool perfdata_is_monotonic(const struct perfdata *pd)
{
	for (size_t i = 0; i < pd->event_count; i++)
		if (!pd->events[i].attr.use_clockid ||
		    pd->events[i].attr.clockid != CLOCK_MONOTONIC)
			return false;
	return true;
}

void perfdata_rewind(struct perfdata *pd)
{
	pd->rest = pd->data;
	pd->cut = pd->missing;
	pd->passed = 0;
	pd->count = pd->at = pd->ready = 0;
	pd->last = pd->highest = 0;
	pd->released = 0;
}

uint64_t perfdata_size(const struct perfdata *pd)
{
	return pd->data.len;
}

uint64_t perfdata_passed(const struct perfdata *pd)
{
	return pd->passed;
}

uint32_t perfdata_stack_bytes(const struct perfdata *pd)
{
	return pd->events[0].attr.sample_stack_user;
}

uint64_t perfdata_cut(const struct perfdata *pd)
{
	return pd->cut;
}

bool perfdata_other_build(const struct perfdata *pd, const char *path, const uint8_t *id,
			  size_t len)
{
	bool named = false;

	for (size_t i = 0; i < pd->build_id_count; i++) {
		const struct build_id_row *row = &pd->build_ids[i];

		if (strcmp(row->path, path) != 0)
			continue;
		if (row->len == len && memcmp(row->id, id, len) == 0)
			return false;
		named = true;
	}
	return named;
}
