// SPDX-License-Identifier: Apache-2.0
#include "bpf/recorder_parts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "common/fs.h"

#define THREADS 65536u /* that are followed at once */

/* ---- the programs -------------------------------------------------------------------------- */

static struct bpf_program *clock_program(const struct stack_recorder *r, unsigned n)
{
	struct bpf_program *const list[CLOCK_PROGRAMS] = {r->bpf->progs.hrtimer_expire_entry,
							  r->bpf->progs.hrtimer_expire_exit,
							  r->bpf->progs.irq_handler_entry,
							  r->bpf->progs.irq_handler_exit,
							  r->bpf->progs.softirq_entry,
							  r->bpf->progs.softirq_exit,
							  r->bpf->progs.switched,
							  r->bpf->progs.waking};

	return list[n];
}

void recorder_choose_wall(const struct stack_recorder *r, bool looks)
{
	const bool wall = r->config.wall;

	for (unsigned i = 0; i < CLOCK_PROGRAMS; i++)
		bpf_program__set_autoload(clock_program(r, i), wall);
	bpf_program__set_autoload(r->bpf->progs.look, looks);
	if (wall)
		bpf_map__set_max_entries(r->bpf->maps.threads, THREADS);
}

int recorder_attach_wall(struct stack_recorder *r, struct err *err)
{
	for (unsigned i = 0; r->config.wall && i < CLOCK_PROGRAMS; i++) {
		r->clock[i] = bpf_program__attach(clock_program(r, i));
		if (!r->clock[i])
			return err_set(err, errno, "attach to %s",
				       bpf_program__name(clock_program(r, i)));
	}
	return 0;
}

void recorder_detach_wall(struct stack_recorder *r)
{
	for (unsigned i = 0; i < CLOCK_PROGRAMS; i++)
		bpf_link__destroy(r->clock[i]);
}

/* ---- the clock ----------------------------------------------------------------------------- */

void stack_recorder_begin_wall(struct stack_recorder *r, uint64_t time)
{
	r->bpf->data->wall_from = time;
	stack_recorder_look(r);
	r->bpf->bss->wall_looked = true;
}

void stack_recorder_look(struct stack_recorder *r)
{
	struct bpf_link *link = NULL;
	CLEANUP(close_fd) int fd = -1;
	char nothing[64];

	if (bpf_program__fd(r->bpf->progs.look) >= 0)
		link = bpf_program__attach_iter(r->bpf->progs.look, NULL);
	fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	if (fd >= 0)
		(void)!read(fd, nothing, sizeof(nothing)); /* looks at all, writes nothing */
	bpf_link__destroy(link);
}

void stack_recorder_stop_wall(struct stack_recorder *r)
{
	r->bpf->data->wall_from = UINT64_MAX;
}

static void end_state(struct flat_thread *t, uint64_t time)
{
	const uint64_t ns = t->since && time > t->since ? time - t->since : 0;
	const bool waits = t->cause >= FLAT_WAITS_FROM;

	if (waits && t->place && t->place <= FLAT_PLACES)
		t->places[t->place - 1].ns += ns;
	else if (t->cause < FLAT_CAUSES)
		t->ns[t->cause] += ns;
	t->last = waits ? ns : 0;
	t->ended = time;
}

void stack_recorder_end_wall(struct stack_recorder *r, uint64_t time, const struct stack_handler *h)
{
	uint64_t key, *last = NULL;
	struct flat_thread t;

	stack_recorder_stop_wall(r);
	while (bpf_map__get_next_key(r->bpf->maps.threads, last, &key, sizeof(key)) == 0) {
		last = &key;
		if (bpf_map__lookup_elem(r->bpf->maps.threads, &key, sizeof(key), &t, sizeof(t),
					 0) != 0)
			continue;
		end_state(&t, time);
		h->times(h->arg, &t);
	}
}

/* ---- virtual threads ----------------------------------------------------------------------- */

/* The id of a walker's map of those that wait, which it may share with the one before; 0: none. */
static uint32_t frozen_id(const struct stack_recorder *r, uint32_t walker)
{
	uint32_t id;

	return bpf_map__lookup_elem(r->bpf->maps.frozen, &walker, sizeof(walker), &id, sizeof(id),
				    0) == 0
		       ? id
		       : 0;
}

bool recorder_has_frozen(const struct stack_recorder *r, uint32_t walker)
{
	return r->walker_maps[walker][WALKER_FROZEN] >= 0;
}

int stack_recorder_follow_virtual(struct stack_recorder *r, uint32_t walker, struct err *err)
{
	return recorder_has_frozen(r, walker)
		       ? 0
		       : recorder_add_map(r, walker, FLAT_NO_WALKER, WALKER_FROZEN, err);
}

static void give_frozen(int map, uint64_t time, const struct stack_handler *h)
{
	uint64_t key, next, since, *last = NULL;

	while (bpf_map_get_next_key(map, last, &next) == 0) {
		key = next;
		last = &key;
		if (bpf_map_lookup_elem(map, &key, &since) != 0)
			continue;
		h->frozen(h->arg, key, since, time);
		(void)bpf_map_update_elem(map, &key, &time, BPF_EXIST); /* it may have gone on */
	}
}

void stack_recorder_frozen(struct stack_recorder *r, uint64_t time, const struct stack_handler *h)
{
	uint32_t before = 0;

	for (uint32_t i = FLAT_NO_WALKER + 1; i < r->walker_count; i++) {
		const uint32_t id = frozen_id(r, i);

		if (id && id != before)
			give_frozen(r->walker_maps[i][WALKER_FROZEN], time, h);
		before = id;
	}
}

bool stack_recorder_is_frozen(const struct stack_recorder *r, uint32_t walker, uint64_t thread,
			      uint64_t since)
{
	const int map = r->walker_maps[walker][WALKER_FROZEN];
	uint64_t now;

	return map >= 0 && bpf_map_lookup_elem(map, &thread, &now) == 0 && now == since;
}
