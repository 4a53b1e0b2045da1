// SPDX-License-Identifier: Apache-2.0
#include "dfg/request.h"
#include "hs_blob.h"
#include "hs_name.h"

_Static_assert(sizeof(struct hs) <= HS_WORK_BYTES, "the work memory holds a dump");

/* Two numbers of 16 digits, two blanks, a newline. */
#define LINE_MAX (DFG_NAME_MAX + 36)

struct dump {
	struct hs *hs;
	const struct hs_sink *sink;
	struct hs_result *result;
};

static size_t hex_add(char *buf, uint64_t n)
{
	unsigned digits = 1;

	while (digits < 16 && n >> (4 * digits))
		digits++;
	for (unsigned i = 0; i < digits; i++)
		buf[i] = "0123456789abcdef"[(n >> (4 * (digits - 1 - i))) & 15];
	return digits;
}

/* The line's text up to the name, which the caller appends. */
static size_t line_start(char *line, const struct hs_blob *blob)
{
	size_t len = hex_add(line, blob->code);

	line[len++] = ' ';
	len += hex_add(line + len, blob->code_end - blob->code);
	line[len++] = ' ';
	return len;
}

/* False: the sink is full. */
static bool dump_block(struct dump *d, const struct hs_heap *heap, const struct hs_block *block)
{
	char line[LINE_MAX];
	struct hs_blob blob;
	size_t len, name;

	if (!hs_blob_read(d->hs, block, &blob)) {
		d->result->skipped++;
		return true;
	}
	len = line_start(line, &blob);
	name = blob.is_nmethod ? hs_name_method(d->hs, blob.method, line + len)
			       : hs_name_blob(blob.text, line + len);
	if (name == 0 || !hs_blob_still(d->hs, heap, block, &blob)) {
		d->result->skipped++;
		return true;
	}
	len += name;
	line[len++] = '\n';
	if (!d->sink->write(d->sink->arg, line, len)) {
		d->result->status = DFG_DUMP_NO_SPACE;
		return false;
	}
	d->result->entries++;
	d->result->bytes += len;
	return true;
}

static void dump_heaps(struct dump *d, const struct hs_heaps *heaps)
{
	unsigned budget = HS_BLOCKS_MAX;

	for (unsigned i = 0; i < heaps->count; i++) {
		struct hs_walk walk;
		struct hs_block block;

		hs_walk_start(&walk, &heaps->heap[i], budget);
		while (hs_walk_next(d->hs, &walk, &block))
			if (block.used && !dump_block(d, walk.heap, &block))
				return;
		if (walk.cut)
			d->result->status = DFG_DUMP_READ;
		budget = walk.budget;
	}
}

void hs_dump_map(const struct hs_source *source, const struct hs_sink *sink, void *work,
		 struct hs_result *ret)
{
	struct dump d = {.hs = work, .sink = sink, .result = ret};
	struct hs_heaps heaps;

	*ret = (struct hs_result){.status = DFG_DUMP_OK};
	hs_mem_init(&d.hs->mem, source);
	if (!hs_tables_read(d.hs) || !hs_heaps_read(d.hs, &heaps)) {
		ret->status = DFG_DUMP_NO_TABLES;
		return;
	}
	dump_heaps(&d, &heaps);
}
