// SPDX-License-Identifier: Apache-2.0
#include "bpf/publish.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/str.h"

#define PAGE	       4096u
#define PART_BYTES_MAX (256ull << 20) /* some 20 MB are usual */

struct flat_published {
	struct flat_part part;
	char *p[FLAT_TABLES];
	size_t used[FLAT_TABLES];
};

static const size_t sizes[FLAT_TABLES] = {
	[FLAT_DIR] = sizeof(uint32_t),
	[FLAT_PAGES] = sizeof(struct flat_page),
	[FLAT_CODES] = sizeof(struct flat_code),
	[FLAT_RANGES] = sizeof(struct flat_range),
	[FLAT_MAPPINGS] = sizeof(struct flat_mapping),
	[FLAT_BLOCKS] = sizeof(uint32_t),
	[FLAT_ROWS] = sizeof(struct flat_row),
	[FLAT_METHODS] = sizeof(uint64_t),
};

/* ---- places ------------------------------------------------------------------------------- */

/* The kernel rounds entries of an array up to 8 bytes (kernel/bpf/arraymap.c). */
size_t flat_stride(enum flat_table which)
{
	return (sizes[which] + 7) / 8 * 8;
}

/* Entries after which a part can begin: memory is mapped by pages. */
static size_t alignment_of(enum flat_table which)
{
	size_t stride = flat_stride(which), power = stride & -stride;

	return power < PAGE ? PAGE / power : 1;
}

void flat_part_for(const struct flat_tables *t, struct flat_part *ret)
{
	const size_t room[FLAT_TABLES] = {
		[FLAT_DIR] = t->dir_count + 1,		 [FLAT_PAGES] = 2 * t->page_count + 4096,
		[FLAT_CODES] = 4 * t->code_count + 8192, [FLAT_RANGES] = 4 * t->range_count + 16384,
		[FLAT_MAPPINGS] = t->mapping_count + 64, [FLAT_BLOCKS] = t->block_count + 1,
		[FLAT_ROWS] = t->row_count + 1,		 [FLAT_METHODS] = t->method_count + 1,
	};

	for (unsigned i = 0; i < FLAT_TABLES; i++) {
		size_t step = alignment_of(i), n = (room[i] + step - 1) / step * step;

		ret->base[i] = 0;
		ret->room[i] = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	}
}

bool flat_part_is_sane(const struct flat_part *p)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < FLAT_TABLES; i++)
		bytes += (uint64_t)p->room[i] * flat_stride(i);
	return bytes <= PART_BYTES_MAX;
}

int flat_parts_place(struct flat_part *parts, size_t count, uint32_t ret[FLAT_TABLES],
		     struct err *err)
{
	for (unsigned i = 0; i < FLAT_TABLES; i++) {
		size_t step = alignment_of(i);
		uint64_t next = 0;

		for (size_t k = 0; k < count; k++) {
			parts[k].base[i] = (uint32_t)next;
			next += (parts[k].room[i] + step - 1) / step * step;
			if (next > INT32_MAX)
				return err_set(err, ENOSPC, "tables of %zu containers", count);
		}
		ret[i] = (uint32_t)(next ? next : step);
	}
	return 0;
}

int flat_publish_open(const int maps[static FLAT_TABLES], const struct flat_part *part,
		      struct flat_published **ret, struct err *err)
{
	CLEANUP(flat_publish_close) struct flat_published *p = xcalloc(1, sizeof(*p));

	p->part = *part;
	for (unsigned i = 0; i < FLAT_TABLES; i++) {
		size_t stride = flat_stride(i), len = part->room[i] * stride;
		void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, maps[i],
				(off_t)(part->base[i] * stride));

		if (at == MAP_FAILED)
			return err_set(err, errno, "map %zu bytes of a table", len);
		p->p[i] = at;
	}
	*ret = TAKE_PTR(p);
	return 0;
}

void flat_publish_close(struct flat_published *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < FLAT_TABLES; i++)
		if (p->p[i])
			munmap(p->p[i], p->part.room[i] * flat_stride(i));
	free(p);
}

/* ---- numbers ------------------------------------------------------------------------------ */

/* The code's number as the kernel knows it. */
static uint32_t code_number(const struct flat_published *p, uint32_t code)
{
	return code && code != FLAT_NONE ? code + p->part.base[FLAT_CODES] : code;
}

static uint32_t page_number(const struct flat_published *p, uint32_t page)
{
	return page ? page + p->part.base[FLAT_PAGES] : 0;
}

struct flat_process flat_publish_process(const struct flat_published *p,
					 const struct flat_process *of)
{
	struct flat_process ret = *of;

	ret.dir += p->part.base[FLAT_DIR];
	ret.mappings += p->part.base[FLAT_MAPPINGS];
	ret.methods += p->part.base[FLAT_METHODS];
	return ret;
}

/* ---- changes ------------------------------------------------------------------------------ */

static void *entry_at(const struct flat_published *p, enum flat_table which, size_t i)
{
	return p->p[which] + i * flat_stride(which);
}

/* Adds the entries that the table does not have yet. */
static int append(struct flat_published *p, enum flat_table which, const void *list, size_t count,
		  struct err *err)
{
	if (count > p->part.room[which])
		return err_set(err, ENOSPC, "%zu entries in a table of %u", count,
			       p->part.room[which]);
	for (size_t i = p->used[which]; i < count; i++)
		memcpy(entry_at(p, which, i), (const char *)list + i * sizes[which], sizes[which]);
	return 0;
}

static int append_codes(struct flat_published *p, const struct flat_tables *t, struct err *err)
{
	size_t from = p->used[FLAT_CODES];

	if (append(p, FLAT_CODES, t->codes, t->code_count, err) < 0)
		return -1;
	for (size_t i = from; i < t->code_count; i++) {
		struct flat_code *c = entry_at(p, FLAT_CODES, i);

		c->exits += p->part.base[FLAT_RANGES];
		c->spills += p->part.base[FLAT_RANGES];
	}
	return 0;
}

static int append_files(struct flat_published *p, const struct flat_tables *t, struct err *err)
{
	if (append(p, FLAT_ROWS, t->rows, t->row_count, err) < 0 ||
	    append(p, FLAT_BLOCKS, t->blocks, t->block_count, err) < 0 ||
	    append(p, FLAT_MAPPINGS, t->mappings, t->mapping_count, err) < 0)
		return -1;
	for (size_t i = p->used[FLAT_BLOCKS]; i < t->block_count; i++)
		*(uint32_t *)entry_at(p, FLAT_BLOCKS, i) += p->part.base[FLAT_ROWS];
	for (size_t i = p->used[FLAT_MAPPINGS]; i < t->mapping_count; i++)
		((struct flat_mapping *)entry_at(p, FLAT_MAPPINGS, i))->blocks +=
			p->part.base[FLAT_BLOCKS];
	return 0;
}

/* Takes away the code that has gone: what is left of it is no longer found. */
static void take_away(struct flat_published *p, const struct flat_tables *t)
{
	for (size_t i = 0; i < p->used[FLAT_PAGES]; i++) {
		struct flat_page *to = entry_at(p, FLAT_PAGES, i);

		for (unsigned k = 0; k < FLAT_SEGMENTS; k++) {
			uint32_t *code = &to->segments[k].code;

			if (*code && *code != code_number(p, t->pages[i].segments[k].code))
				__atomic_store_n(code, 0, __ATOMIC_SEQ_CST);
		}
	}
}

/* Adds new code, the number by which it is found last. */
static void put_pages(struct flat_published *p, const struct flat_tables *t)
{
	for (size_t i = 0; i < t->page_count; i++) {
		struct flat_page *to = entry_at(p, FLAT_PAGES, i);

		for (unsigned k = 0; k < FLAT_SEGMENTS; k++) {
			const struct flat_segment *from = &t->pages[i].segments[k];
			uint32_t code = code_number(p, from->code);

			if (to->segments[k].returns != from->returns)
				to->segments[k].returns = from->returns;
			if (to->segments[k].code != code)
				__atomic_store_n(&to->segments[k].code, code, __ATOMIC_SEQ_CST);
		}
	}
}

static void put_methods(struct flat_published *p, const struct flat_tables *t)
{
	uint64_t *to = entry_at(p, FLAT_METHODS, 0);

	for (size_t i = 0; i < t->method_count; i++)
		if (to[i] != t->methods[i])
			to[i] = t->methods[i];
}

static void put_dir(struct flat_published *p, const struct flat_tables *t)
{
	for (size_t i = 0; i < t->dir_count; i++) {
		uint32_t *to = entry_at(p, FLAT_DIR, i), page = page_number(p, t->dir[i]);

		if (*to != page)
			__atomic_store_n(to, page, __ATOMIC_SEQ_CST);
	}
}

/* True if there is room for the tables that change in place. */
static bool has_room(const struct flat_published *p, const struct flat_tables *t)
{
	return t->page_count <= p->part.room[FLAT_PAGES] &&
	       t->dir_count <= p->part.room[FLAT_DIR] &&
	       t->method_count <= p->part.room[FLAT_METHODS];
}

int flat_publish(struct flat_published *p, const struct flat_tables *t, struct err *err)
{
	const size_t used[FLAT_TABLES] = {
		[FLAT_DIR] = t->dir_count,	    [FLAT_PAGES] = t->page_count,
		[FLAT_CODES] = t->code_count,	    [FLAT_RANGES] = t->range_count,
		[FLAT_MAPPINGS] = t->mapping_count, [FLAT_BLOCKS] = t->block_count,
		[FLAT_ROWS] = t->row_count,	    [FLAT_METHODS] = t->method_count,
	};

	take_away(p, t);
	if (!has_room(p, t))
		return err_set(err, ENOSPC, "%zu pages of code in a table of %u", t->page_count,
			       p->part.room[FLAT_PAGES]);
	if (append(p, FLAT_RANGES, t->ranges, t->range_count, err) < 0 ||
	    append_codes(p, t, err) < 0 || append_files(p, t, err) < 0)
		return -1;
	put_methods(p, t);
	put_pages(p, t);
	put_dir(p, t);
	memcpy(p->used, used, sizeof(used));
	return 0;
}
