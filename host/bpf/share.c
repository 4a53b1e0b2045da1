// SPDX-License-Identifier: Apache-2.0
#include "bpf/share.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/str.h"

/* Bytes of an entry, here and in the kernel, which rounds values up to 8 (kernel/bpf/arraymap.c):
 * it has two entries of 4 bytes in one (struct flat_pair). */
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
	[FLAT_FOUND] = sizeof(uint64_t),
};

_Static_assert(sizeof(struct flat_page) % 8 == 0 && sizeof(struct flat_code) % 8 == 0 &&
		       sizeof(struct flat_range) % 8 == 0 && sizeof(struct flat_mapping) % 8 == 0,
	       "the kernel's entries are as long");

/* ---- rooms -------------------------------------------------------------------------------- */

uint32_t flat_values(enum flat_table which, uint32_t entries)
{
	return sizes[which] == sizeof(uint32_t) ? entries / 2 + entries % 2 : entries;
}

void flat_rooms_for(const struct flat_tables *t, struct flat_rooms *ret)
{
	const size_t more[FLAT_TABLES] = {
		[FLAT_PAGES] = t->count[FLAT_PAGES] / 4 + 63,
		[FLAT_CODES] = t->count[FLAT_CODES] / 2 + 1023,
		[FLAT_RANGES] = t->count[FLAT_RANGES] / 2 + 2047,
		[FLAT_MAPPINGS] = 63,
	};

	for (unsigned i = 0; i < FLAT_TABLES; i++) {
		const size_t room = t->count[i] + more[i] + 1;

		ret->of[i] = room < INT32_MAX ? (uint32_t)room : INT32_MAX;
	}
}

size_t flat_table_bytes(const struct flat_rooms *rooms, enum flat_table which)
{
	return rooms->of[which] * sizes[which];
}

uint64_t flat_rooms_bytes(const struct flat_rooms *rooms)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < FLAT_TABLES; i++)
		bytes += flat_table_bytes(rooms, i);
	return bytes;
}

/* ---- sharing ------------------------------------------------------------------------------ */

struct shared_tables {
	const struct flat_rooms *rooms;
	void *at[FLAT_TABLES];
};

static void cleanup_shared_tables(struct shared_tables *s)
{
	for (unsigned i = 0; i < FLAT_TABLES; i++)
		if (s->at[i])
			munmap(s->at[i], flat_table_bytes(s->rooms, i));
}

/* Maps a table of the kernel's, and fills it. */
static int fill(struct shared_tables *s, const struct flat_tables *t, enum flat_table which,
		int map, struct err *err)
{
	const size_t len = flat_table_bytes(s->rooms, which);
	void *at;

	if (t->count[which] > s->rooms->of[which])
		return err_set(err, ENOSPC, "%zu entries in a table of %u", t->count[which],
			       s->rooms->of[which]);
	at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (at == MAP_FAILED)
		return err_set(err, errno, "map %zu bytes of a table", len);
	s->at[which] = at;
	if (t->count[which])
		memcpy(at, t->list[which], t->count[which] * sizes[which]);
	return 0;
}

int flat_share(struct flat_tables *t, const int maps[static FLAT_TABLES],
	       const struct flat_rooms *rooms, bool filled, struct err *err)
{
	CLEANUP(shared_tables) struct shared_tables s = {.rooms = rooms};

	flat_unshare(t);
	for (unsigned i = 0; i < FLAT_TABLES; i++)
		if (!(filled && flat_is_filled_once(i)) && fill(&s, t, i, maps[i], err) < 0)
			return -1;
	for (unsigned i = 0; i < FLAT_TABLES; i++) {
		if (flat_is_filled_once(i))
			continue;
		free(t->list[i]);
		t->list[i] = TAKE_PTR(s.at[i]);
		t->cap[i] = rooms->of[i];
	}
	t->shared = true;
	return 0;
}

void flat_unshare(struct flat_tables *t)
{
	for (unsigned i = 0; t->shared && i < FLAT_TABLES; i++) {
		void *there = t->list[i];

		if (flat_is_filled_once(i))
			continue;
		t->list[i] = xcalloc(t->count[i] + 1, sizes[i]);
		memcpy(t->list[i], there, t->count[i] * sizes[i]);
		munmap(there, t->cap[i] * sizes[i]);
		t->cap[i] = t->count[i] + 1;
	}
	t->shared = false;
}

void *flat_add_entry(struct flat_tables *t, enum flat_table which)
{
	if (t->count[which] == t->cap[which] && !flat_is_filled_once(which))
		flat_unshare(t);
	t->list[which] = grow(t->list[which], t->count[which], &t->cap[which], sizes[which]);
	return (char *)t->list[which] + t->count[which]++ * sizes[which];
}

uint32_t flat_extend(struct flat_tables *t, enum flat_table which, size_t more)
{
	const size_t count = t->count[which], size = sizes[which];
	char *longer;

	flat_unshare(t);
	longer = xrealloc(t->list[which], count + more, size);
	memset(longer + count * size, 0, more * size);
	t->list[which] = longer;
	t->count[which] = t->cap[which] = count + more;
	return (uint32_t)count;
}
