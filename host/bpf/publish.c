// SPDX-License-Identifier: Apache-2.0
#include "bpf/publish.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/str.h"

struct flat_published {
	struct flat_rooms rooms;
	char *p[FLAT_TABLES];
	size_t used[FLAT_TABLES];
	uint32_t update; /* of the tables, that was published last */
};

static const size_t sizes[FLAT_TABLES] = {
	[FLAT_DIR] = sizeof(uint32_t),
	[FLAT_PAGES] = sizeof(struct flat_page),
	[FLAT_CODES] = sizeof(struct flat_code),
	[FLAT_RANGES] = sizeof(struct flat_range),
	[FLAT_MAPPINGS] = sizeof(struct flat_mapping),
	[FLAT_BLOCKS] = sizeof(uint32_t),
	[FLAT_SPOTS] = sizeof(struct flat_spot),
	[FLAT_ROWS] = sizeof(struct flat_row),
	[FLAT_METHODS] = sizeof(uint64_t),
};

/* ---- rooms -------------------------------------------------------------------------------- */

/* Bytes from one entry to the next. */
static size_t stride_of(enum flat_table which)
{
	return sizes[which] == sizeof(uint32_t) ? sizes[which] : (sizes[which] + 7) / 8 * 8;
}

uint32_t flat_values(enum flat_table which, uint32_t entries)
{
	return sizes[which] == sizeof(uint32_t) ? entries / 2 + entries % 2 : entries;
}

void flat_rooms_for(const struct flat_tables *t, struct flat_rooms *ret)
{
	const size_t room[FLAT_TABLES] = {
		[FLAT_DIR] = t->dir_count + 1,
		[FLAT_PAGES] = t->page_count + t->page_count / 4 + 128,
		[FLAT_CODES] = 2 * t->code_count + 2048,
		[FLAT_RANGES] = 2 * t->range_count + 4096,
		[FLAT_MAPPINGS] = t->mapping_count + 64,
		[FLAT_BLOCKS] = t->block_count + 1,
		[FLAT_SPOTS] = t->spot_count + 1,
		[FLAT_ROWS] = t->row_count + 1,
		[FLAT_METHODS] = t->method_count + 1,
	};

	for (unsigned i = 0; i < FLAT_TABLES; i++)
		ret->of[i] = room[i] < INT32_MAX ? (uint32_t)room[i] : INT32_MAX;
}

size_t flat_table_bytes(const struct flat_rooms *rooms, enum flat_table which)
{
	return rooms->of[which] * stride_of(which);
}

uint64_t flat_rooms_bytes(const struct flat_rooms *rooms)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < FLAT_TABLES; i++)
		bytes += flat_table_bytes(rooms, i);
	return bytes;
}

int flat_publish_open(const int maps[static FLAT_TABLES], const struct flat_rooms *rooms,
		      bool filled, struct flat_published **ret, struct err *err)
{
	CLEANUP(flat_publish_close) struct flat_published *p = xcalloc(1, sizeof(*p));

	p->rooms = *rooms;
	for (unsigned i = 0; i < FLAT_TABLES; i++) {
		size_t len = flat_table_bytes(rooms, i);
		void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, maps[i], 0);

		if (at == MAP_FAILED)
			return err_set(err, errno, "map %zu bytes of a table", len);
		p->p[i] = at;
		/* Of these all rooms but one are taken: flat_rooms_for. */
		p->used[i] = filled && flat_is_filled_once(i) ? rooms->of[i] - 1 : 0;
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
			munmap(p->p[i], flat_table_bytes(&p->rooms, i));
	free(p);
}

/* ---- changes ------------------------------------------------------------------------------ */

static void *entry_at(const struct flat_published *p, enum flat_table which, size_t i)
{
	return p->p[which] + i * stride_of(which);
}

/* Adds the entries that the table does not have yet. */
static int append(struct flat_published *p, enum flat_table which, const void *list, size_t count,
		  struct err *err)
{
	if (count > p->rooms.of[which])
		return err_set(err, ENOSPC, "%zu entries in a table of %u", count,
			       p->rooms.of[which]);
	for (size_t i = p->used[which]; i < count; i++)
		memcpy(entry_at(p, which, i), (const char *)list + i * sizes[which], sizes[which]);
	return 0;
}

static int append_all(struct flat_published *p, const struct flat_tables *t, struct err *err)
{
	return append(p, FLAT_RANGES, t->ranges, t->range_count, err) < 0 ||
			       append(p, FLAT_CODES, t->codes, t->code_count, err) < 0 ||
			       append(p, FLAT_ROWS, t->rows, t->row_count, err) < 0 ||
			       append(p, FLAT_SPOTS, t->spots, t->spot_count, err) < 0 ||
			       append(p, FLAT_BLOCKS, t->blocks, t->block_count, err) < 0 ||
			       append(p, FLAT_MAPPINGS, t->mappings, t->mapping_count, err) < 0
		       ? -1
		       : 0;
}

/* True if the kernel's page is not as it is in the tables. */
static bool has_changed(const struct flat_published *p, const struct flat_tables *t, size_t page)
{
	return page >= p->used[FLAT_PAGES] || t->page_changed[page] > p->update;
}

/* Takes away the code that has gone: what is left of it is no longer found. */
static void take_away(struct flat_published *p, const struct flat_tables *t)
{
	for (size_t i = 0; i < p->used[FLAT_PAGES]; i++) {
		struct flat_page *to = entry_at(p, FLAT_PAGES, i);

		for (unsigned k = 0; has_changed(p, t, i) && k < FLAT_SEGMENTS; k++) {
			uint32_t *code = &to->segments[k].code;

			if (*code && *code != t->pages[i].segments[k].code)
				__atomic_store_n(code, 0, __ATOMIC_SEQ_CST);
		}
	}
}

/* Adds new code, the number by which it is found last. */
static void put_pages(struct flat_published *p, const struct flat_tables *t)
{
	for (size_t i = 0; i < t->page_count; i++) {
		struct flat_page *to = entry_at(p, FLAT_PAGES, i);

		for (unsigned k = 0; has_changed(p, t, i) && k < FLAT_SEGMENTS; k++) {
			const struct flat_segment *from = &t->pages[i].segments[k];

			if (memcmp(to->segments[k].returns, from->returns, sizeof(from->returns)) !=
			    0)
				memcpy(to->segments[k].returns, from->returns,
				       sizeof(from->returns));
			if (to->segments[k].code != from->code)
				__atomic_store_n(&to->segments[k].code, from->code,
						 __ATOMIC_SEQ_CST);
		}
	}
}

static void put_methods(struct flat_published *p, const struct flat_tables *t)
{
	uint64_t *to = entry_at(p, FLAT_METHODS, 0);

	if (t->methods_changed <= p->update && p->used[FLAT_METHODS])
		return;
	for (size_t i = 0; i < t->method_count; i++)
		if (to[i] != t->methods[i])
			to[i] = t->methods[i];
}

static void put_dir(struct flat_published *p, const struct flat_tables *t)
{
	for (size_t i = 0; i < t->dir_count; i++) {
		uint32_t *to = entry_at(p, FLAT_DIR, i);

		if (*to != t->dir[i])
			__atomic_store_n(to, t->dir[i], __ATOMIC_SEQ_CST);
	}
}

/* True if there is room for the tables that change in place. */
static bool has_room(const struct flat_published *p, const struct flat_tables *t)
{
	return t->page_count <= p->rooms.of[FLAT_PAGES] && t->dir_count <= p->rooms.of[FLAT_DIR] &&
	       t->method_count <= p->rooms.of[FLAT_METHODS];
}

int flat_publish(struct flat_published *p, const struct flat_tables *t, struct err *err)
{
	const size_t used[FLAT_TABLES] = {
		[FLAT_DIR] = t->dir_count,	    [FLAT_PAGES] = t->page_count,
		[FLAT_CODES] = t->code_count,	    [FLAT_RANGES] = t->range_count,
		[FLAT_MAPPINGS] = t->mapping_count, [FLAT_BLOCKS] = t->block_count,
		[FLAT_SPOTS] = t->spot_count,	    [FLAT_ROWS] = t->row_count,
		[FLAT_METHODS] = t->method_count,
	};

	take_away(p, t);
	if (!has_room(p, t))
		return err_set(err, ENOSPC, "%zu pages of code in a table of %u", t->page_count,
			       p->rooms.of[FLAT_PAGES]);
	if (append_all(p, t, err) < 0)
		return -1;
	put_methods(p, t);
	put_pages(p, t);
	put_dir(p, t);
	memcpy(p->used, used, sizeof(used));
	p->update = t->update;
	return 0;
}
