// SPDX-License-Identifier: Apache-2.0
#include "perf/perfdata.h"

#include <sys/mman.h>
#include <time.h>

#include "common/str.h"
#include "perf/perfformat.h"

/* Kinds perf itself writes (linux tools/lib/perf/include/perf/event.h). */
#define RECORD_FINISHED_ROUND 68
#define RECORD_AUXTRACE	      71
#define RECORD_COMPRESSED     81
#define RECORD_COMPRESSED2    83

#define PAGE	      4096u
#define RELEASE_BYTES (16u << 20) /* of the mapping, given back at once */

/* Bytes behind an AUXTRACE record that belong to it but not to its size. */
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

/* The next record of the file into the window. False at the end of what is whole. */
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

/* Gives back the pages of the mapping that hold nothing of the window any more. */
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

/* Takes one more round into the window, and finds what of it can go: all that is not later than the
 * latest record of the round before. Returns whether there was a compressed record. */
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

static int load(struct perfdata *pd, struct err *err)
{
	if (perfheader_read(pd, &pd->data, &pd->missing, err) < 0)
		return -1;
	perfdata_rewind(pd);
	/* perf record -z compresses all that it records, so that the first round shows it. */
	if (fill_window(pd))
		return err_set(err, 0, "perf.data: compressed; record without perf record -z");
	return 0;
}

struct perfdata *perfdata_of(const void *p, size_t len, struct err *err)
{
	CLEANUP(perfdata_close) struct perfdata *pd = xcalloc(1, sizeof(*pd));

	pd->file = p;
	pd->len = len;
	return load(pd, err) < 0 ? NULL : TAKE_PTR(pd);
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
	return load(pd, err) < 0 ? NULL : TAKE_PTR(pd);
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
