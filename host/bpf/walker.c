// SPDX-License-Identifier: Apache-2.0
#include "bpf/walker.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <walk.skel.h>

#include "bpf/probe_events.h"
#include "common/str.h"

struct walker {
	struct walk_bpf *bpf;
	struct flat_rooms rooms;
	const struct flat_code *codes; /* the kernel's, mapped */
	const struct flat_mapping *mappings;
	const uint64_t *methods;
};

static struct bpf_map *table(const struct walker *w, enum flat_table which)
{
	struct bpf_map *const maps[FLAT_TABLES] = {
		[FLAT_DIR] = w->bpf->maps.dir,		 [FLAT_PAGES] = w->bpf->maps.pages,
		[FLAT_CODES] = w->bpf->maps.codes,	 [FLAT_RANGES] = w->bpf->maps.ranges,
		[FLAT_MAPPINGS] = w->bpf->maps.mappings, [FLAT_BLOCKS] = w->bpf->maps.blocks,
		[FLAT_SPOTS] = w->bpf->maps.spots,	 [FLAT_ROWS] = w->bpf->maps.rows,
		[FLAT_METHODS] = w->bpf->maps.methods,	 [FLAT_FOUND] = w->bpf->maps.found,
	};

	return maps[which];
}

/* Maps a table to be read; NULL: it cannot be. */
static const void *map_table(const struct walker *w, enum flat_table which, struct err *err)
{
	void *p = mmap(NULL, flat_table_bytes(&w->rooms, which), PROT_READ, MAP_SHARED,
		       bpf_map__fd(table(w, which)), 0);

	if (p != MAP_FAILED)
		return p;
	err_set(err, errno, "map %zu bytes of a table", flat_table_bytes(&w->rooms, which));
	return NULL;
}

static void unmap_table(const struct walker *w, enum flat_table which, const void *p)
{
	if (p)
		munmap((void *)(uintptr_t)p, flat_table_bytes(&w->rooms, which));
}

/* Sets how large the tables are, or which they are. */
static int choose_tables(const struct walker *w, const struct walker *before, struct err *err)
{
	for (unsigned i = 0; i < FLAT_TABLES; i++) {
		if (before && flat_is_filled_once(i) && before->rooms.of[i] == w->rooms.of[i]) {
			if (bpf_map__reuse_fd(table(w, i), bpf_map__fd(table(before, i))) != 0)
				return err_set(err, errno, "share a table");
		} else {
			bpf_map__set_max_entries(table(w, i), flat_values(i, w->rooms.of[i]));
		}
	}
	return 0;
}

int walker_load(const struct walker_config *c, const struct flat_rooms *rooms,
		const struct walker *before, struct walker **ret, struct err *err)
{
	CLEANUP(walker_free) struct walker *w = xcalloc(1, sizeof(*w));

	w->rooms = *rooms;
	w->bpf = walk_bpf__open();
	if (!w->bpf)
		return err_set(err, errno, "open the BPF program");
	w->bpf->rodata->both = c->both;
	w->bpf->rodata->processors = c->processors;
	w->bpf->rodata->events = c->probes;
	w->bpf->rodata->wall = c->wall;
	bpf_program__set_autoload(w->bpf->progs.walk_probe, c->probes);
	bpf_program__set_autoload(w->bpf->progs.walk_wait, c->wall);
	if (c->joined)
		stack_probes_join(w->bpf->progs.walk_probe);
	if (choose_tables(w, before, err) < 0)
		return -1;
	if (bpf_map__reuse_fd(w->bpf->maps.scratches, c->scratches) != 0 ||
	    bpf_map__reuse_fd(w->bpf->maps.counts, c->counts) != 0 ||
	    bpf_map__reuse_fd(w->bpf->maps.rates, c->rates) != 0 ||
	    bpf_map__reuse_fd(w->bpf->maps.threads, c->threads) != 0 ||
	    bpf_map__reuse_fd(w->bpf->maps.samples, c->samples) != 0)
		return err_set(err, errno, "share the maps of BPF programs");
	if (walk_bpf__load(w->bpf) != 0)
		return err_set(err, errno, "load the BPF program");
	w->codes = map_table(w, FLAT_CODES, err);
	w->mappings = w->codes ? map_table(w, FLAT_MAPPINGS, err) : NULL;
	w->methods = w->mappings ? map_table(w, FLAT_METHODS, err) : NULL;
	if (!w->methods)
		return -1;
	*ret = TAKE_PTR(w);
	return 0;
}

void walker_free(struct walker *w)
{
	if (!w)
		return;
	unmap_table(w, FLAT_CODES, w->codes);
	unmap_table(w, FLAT_MAPPINGS, w->mappings);
	unmap_table(w, FLAT_METHODS, w->methods);
	walk_bpf__destroy(w->bpf);
	free(w);
}

int walker_program(const struct walker *w)
{
	return bpf_program__fd(w->bpf->progs.walk);
}

int walker_probe_program(const struct walker *w)
{
	return bpf_program__fd(w->bpf->progs.walk_probe);
}

int walker_wait_program(const struct walker *w)
{
	return bpf_program__fd(w->bpf->progs.walk_wait);
}

void walker_tables(const struct walker *w, int ret[static FLAT_TABLES])
{
	for (unsigned i = 0; i < FLAT_TABLES; i++)
		ret[i] = bpf_map__fd(table(w, i));
}

uint32_t walker_codes(const struct walker *w)
{
	return w->rooms.of[FLAT_CODES];
}

struct flat_code walker_code(const struct walker *w, uint32_t number)
{
	return number < w->rooms.of[FLAT_CODES] ? w->codes[number] : (struct flat_code){0};
}

struct flat_mapping walker_mapping(const struct walker *w, uint32_t number)
{
	return number < w->rooms.of[FLAT_MAPPINGS] ? w->mappings[number] : (struct flat_mapping){0};
}

bool walker_has_method(const struct walker *w, const struct flat_process *p, uint64_t id)
{
	for (uint32_t i = 0, at = flat_hash(id); i < FLAT_PROBES; i++) {
		const uint32_t number = p->methods + ((at + i) & p->method_mask);

		if (number < w->rooms.of[FLAT_METHODS] && w->methods[number] == id)
			return true;
	}
	return false;
}
