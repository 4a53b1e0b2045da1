// SPDX-License-Identifier: Apache-2.0
#include "perfdata.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "dfg/str.h"
#include "perfformat.h"

/* Kinds perf itself writes (linux tools/lib/perf/include/perf/event.h). */
#define RECORD_AUXTRACE	   71
#define RECORD_COMPRESSED  81
#define RECORD_COMPRESSED2 83

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

/* Finds the records and puts them in the order of time. perf writes the buffers of the CPUs one
 * after the other, so that a sample can stand before the mapping it needs. Sorting all of them does
 * what perf's rounds (FINISHED_ROUND) do with less memory. Time 0 is perf's for what it found
 * before it started; a record without a time stays behind the one before it. */
static int index_records(struct perfdata *pd, struct bytes data, struct err *err)
{
	uint64_t last = 0;

	while (data.len) {
		struct bytes at = data, body;
		struct perf_event_header h = read_header(&at);
		uint64_t time, extra;

		if (at.bad || h.size < sizeof(h) || h.size > data.len)
			break;
		if (h.type == RECORD_COMPRESSED || h.type == RECORD_COMPRESSED2)
			return err_set(err, 0,
				       "perf.data: compressed; record without perf record -z");
		body = bytes_sub(&at, h.size - sizeof(h));
		extra = extra_bytes(&h, body);
		if (extra > at.len)
			break;
		if (wanted(h.type)) {
			if (perfrecord_time(pd, &h, body, &time))
				last = time == UINT64_MAX ? 0 : time;
			pd->order = grow(pd->order, pd->order_count, &pd->order_cap,
					 sizeof(*pd->order));
			pd->order[pd->order_count++] =
				(struct keyed){.key = last, .value = (uint64_t)(data.p - pd->file)};
		}
		bytes_take(&data, h.size + (size_t)extra);
	}
	pd->cut += data.len;
	keyed_sort(pd->order, pd->order_count);
	return 0;
}

static int load(struct perfdata *pd, struct err *err)
{
	struct bytes data;

	if (perfheader_read(pd, &data, &pd->cut, err) < 0)
		return -1;
	return index_records(pd, data, err);
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
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0) {
		err_set(err, errno, "perf.data");
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size <= 0) {
		err_set(err, 0, "perf.data: empty, or no regular file");
		return NULL;
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED) {
		err_set(err, errno, "map perf.data into memory");
		return NULL;
	}
	pd->file = p;
	pd->len = (size_t)st.st_size;
	pd->mapped = true;
	return load(pd, err) < 0 ? NULL : TAKE_PTR(pd);
}

void perfdata_close(struct perfdata *pd)
{
	if (!pd)
		return;
	if (pd->mapped)
		munmap((void *)(uintptr_t)pd->file, pd->len);
	free(pd->events);
	free(pd->ids);
	free(pd->order);
	free(pd->build_ids);
	free(pd);
}

bool perfdata_next(struct perfdata *pd, struct perf_record *ret)
{
	while (pd->at < pd->order_count) {
		size_t offset = (size_t)pd->order[pd->at++].value;
		struct bytes at = bytes_of(pd->file + offset, pd->len - offset);
		struct perf_event_header h = read_header(&at);
		bool bad;

		if (perfrecord_parse(pd, &h, bytes_sub(&at, h.size - sizeof(h)), ret, &bad))
			return true;
		pd->cut += bad ? h.size : 0;
	}
	return false;
}

void perfdata_rewind(struct perfdata *pd)
{
	pd->at = 0;
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
