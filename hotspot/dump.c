// SPDX-License-Identifier: Apache-2.0
#include "dfg/request.h"
#include "hotspot/blob.h"
#include "hotspot/name.h"

/* Two numbers of 16 digits, two blanks, a newline. */
#define LINE_MAX    (DFG_NAME_MAX + 36)
#define LINES_MAX   (128u << 10)
#define BATCH_BLOBS 512
#define WINDOW	    (64u << 10)

/* A read costs two microseconds, and 0.3 for each KiB: where blocks are larger than this, it is
 * cheaper to read their headers one by one than all that lies between. */
#define SPARSE_BYTES  (6u << 10)
#define SPARSE_WINDOW (2 * HS_BLOB_HEADER)

/* The lines of one window, held back until its blocks have been looked at a second time: between
 * the two looks the JVM may have freed a block, and what it named may be something else by now. */
struct batch {
	unsigned count;
	size_t used;
	struct {
		struct hs_block block;
		struct hs_blob blob;
		size_t line_end;
	} item[BATCH_BLOBS];
	char lines[LINES_MAX];
};

struct dump {
	struct hs hs;
	uint64_t mean_block; /* bytes, of the last few blocks */
	struct batch batch;
	const struct hs_sink *sink;
	struct hs_result *result;
	uint8_t window[WINDOW];
};

_Static_assert(sizeof(struct dump) <= HS_WORK_BYTES, "the work memory holds a dump");

static size_t hex_add(char *buf, uint64_t n)
{
	unsigned digits = 1;

	while (digits < 16 && n >> (4 * digits))
		digits++;
	for (unsigned i = 0; i < digits; i++)
		buf[i] = "0123456789abcdef"[(n >> (4 * (digits - 1 - i))) & 15];
	return digits;
}

/* The map line of a blob: its length, 0 when it has no name. line has LINE_MAX bytes. */
static size_t line_make(struct hs *hs, const struct hs_blob *blob, const char *text, char *line)
{
	size_t len = hex_add(line, blob->code), name;

	line[len++] = ' ';
	len += hex_add(line + len, blob->code_end - blob->code);
	line[len++] = ' ';
	name = blob->is_nmethod ? hs_name_method(hs, blob->method, line + len)
				: hs_name_blob(text, line + len);
	if (name == 0)
		return 0;
	len += name;
	line[len++] = '\n';
	return len;
}

/* Writes the lines whose blocks are still what they were. False: the sink is full. */
static bool batch_flush(struct dump *d, const struct hs_heap *heap)
{
	struct batch *b = &d->batch;
	struct hs_mem *mem = &d->hs.mem;
	size_t from = 0;

	if (b->count > 0)
		hs_mem_window(mem, mem->window.at, mem->window.have);
	for (unsigned i = 0; i < b->count; i++) {
		size_t len = b->item[i].line_end - from;
		const char *line = b->lines + from;

		from += len;
		if (!hs_blob_still(&d->hs, heap, &b->item[i].block, &b->item[i].blob)) {
			d->result->skipped++;
			continue;
		}
		if (!d->sink->write(d->sink->arg, line, len)) {
			d->result->status = DFG_DUMP_NO_SPACE;
			return false;
		}
		d->result->entries++;
		d->result->bytes += len;
	}
	b->count = 0;
	b->used = 0;
	return true;
}

static void batch_add(struct dump *d, const struct hs_block *block)
{
	char text[HS_BLOB_NAME_MAX];
	struct batch *b = &d->batch;
	struct hs_blob *blob = &b->item[b->count].blob;
	size_t len = 0;

	if (hs_blob_read(&d->hs, block, blob, text))
		len = line_make(&d->hs, blob, text, b->lines + b->used);
	if (len == 0) {
		d->result->skipped++;
		return;
	}
	b->used += len;
	b->item[b->count].block = *block;
	b->item[b->count++].line_end = b->used;
}

static void window_load(struct dump *d, const struct hs_heap *heap, uint64_t from)
{
	size_t want = d->mean_block > SPARSE_BYTES ? SPARSE_WINDOW : WINDOW;
	uint64_t left = heap->high - from;

	hs_mem_window(&d->hs.mem, from, left < want ? (size_t)left : want);
}

static void block_take(struct dump *d, const struct hs_block *block)
{
	uint64_t size = block->size < 4 * SPARSE_BYTES ? block->size : 4 * SPARSE_BYTES;

	d->mean_block = (d->mean_block * 7 + size) / 8;
	if (block->used)
		batch_add(d, block);
}

/* False: the sink is full. */
static bool dump_heap(struct dump *d, const struct hs_heap *heap, unsigned *budget)
{
	struct hs_mem *mem = &d->hs.mem;
	struct batch *b = &d->batch;
	struct hs_walk walk;
	struct hs_block block;

	hs_walk_start(&walk, heap, *budget);
	while (hs_walk_seek(&d->hs, &walk)) {
		if (!hs_mem_in_window(mem, walk.next, HS_BLOB_HEADER) || b->count == BATCH_BLOBS ||
		    b->used + LINE_MAX > LINES_MAX) {
			if (!batch_flush(d, heap))
				return false;
			window_load(d, heap, walk.next);
		}
		if (hs_walk_next(&d->hs, &walk, &block))
			block_take(d, &block);
	}
	if (walk.cut)
		d->result->status = DFG_DUMP_READ;
	*budget = walk.budget;
	return batch_flush(d, heap);
}

void hs_dump_map(const struct hs_source *source, const struct hs_sink *sink, void *work,
		 struct hs_result *ret)
{
	unsigned budget = HS_BLOCKS_MAX;
	struct dump *d = work;
	struct hs_heaps heaps;

	*ret = (struct hs_result){.status = DFG_DUMP_OK};
	d->sink = sink;
	d->result = ret;
	d->mean_block = 0;
	d->batch.count = 0;
	d->batch.used = 0;
	hs_mem_init(&d->hs.mem, source, d->window, sizeof(d->window));
	if (!hs_tables_read(&d->hs) || !hs_heaps_read(&d->hs, &heaps)) {
		ret->status = DFG_DUMP_NO_TABLES;
		return;
	}
	for (unsigned i = 0; i < heaps.count; i++)
		if (!dump_heap(d, &heaps.heap[i], &budget))
			return;
}
