// SPDX-License-Identifier: Apache-2.0
#include "calltree/samples.h"

#include "common/str.h"

const struct event_name event_names[EVENT_KINDS] = {
	[EVENT_CPU] = {"cpu", "samples", "execution samples", NULL, NULL},
	[EVENT_NATIVE] = {"native", "samples", "samples in native methods", NULL, NULL},
	[EVENT_WALL] = {"wall", "samples", "wall-clock samples", NULL, NULL},
	[EVENT_ALLOC] = {"alloc", "bytes", "allocated bytes", "allocated by", NULL},
	[EVENT_LOCK] = {"lock", "ns", "time waiting for locks", "wanted by", "held by"},
	[EVENT_SAFEPOINT] = {"safepoint", "ns", "time stopped in safepoints", "asked for by",
			     "waiting for"},
	[EVENT_COMPILE] = {"compile", "ns", "time of compilations", "compiled by", NULL},
	[EVENT_DEOPT] = {"deopt", "traps", "uncommon traps of compiled code", "in", NULL},
	[EVENT_PERF] = {"perf", "events", "events of perf", NULL, NULL},
	[EVENT_CLOCK] = {"wall", "ns", "time of all threads, by cause", NULL, "woken by"},
};

double profile_worth(const struct profile *p)
{
	double all = (double)p->quality.samples;

	return p->excess > 0 ? all * all / (all + p->excess) : all;
}

void profile_init(struct profile *p, bool details)
{
	*p = (struct profile){.stacks = stacks_new()};
	if (!details)
		return;
	p->samples = xcalloc(1, sizeof(*p->samples));
	frames_keep_places(stacks_frames(p->stacks));
}

static void text_free(const char *text)
{
	free((char *)(uintptr_t)text);
}

static void origin_fini(struct origin *o)
{
	text_free(o->container);
	text_free(o->id);
	text_free(o->pod);
	text_free(o->namespace);
	text_free(o->host);
	text_free(o->started);
}

static void samples_free(struct samples *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->origin_count; i++)
		origin_fini(&s->origins[i]);
	free(s->origins);
	free(s->threads);
	free(s->list);
	free(s);
}

void profile_fini(struct profile *p)
{
	stacks_free(p->stacks);
	samples_free(p->samples);
	compilations_fini(&p->compilations);
	wall_fini(&p->wall);
}

uint32_t samples_add_origin(struct samples *s, const struct origin *origin)
{
	s->origins = grow(s->origins, s->origin_count, &s->origin_cap, sizeof(*s->origins));
	s->origins[s->origin_count] = (struct origin){.container = xstrdup(origin->container),
						      .id = xstrdup(origin->id),
						      .pod = xstrdup(origin->pod),
						      .namespace = xstrdup(origin->namespace),
						      .host = xstrdup(origin->host),
						      .started = xstrdup(origin->started)};
	return (uint32_t)s->origin_count++;
}

uint32_t samples_add_thread(struct samples *s, uint32_t origin, pid_t pid, pid_t tid)
{
	s->threads = grow(s->threads, s->thread_count, &s->thread_cap, sizeof(*s->threads));
	s->threads[s->thread_count] =
		(struct sample_thread){.pid = pid, .tid = tid, .origin = origin};
	return (uint32_t)s->thread_count++;
}

void samples_add(struct samples *s, uint64_t time, uint32_t node, uint32_t thread)
{
	s->list = grow(s->list, s->count, &s->cap, sizeof(*s->list));
	s->list[s->count++] = (struct sample){.time = time, .node = node, .thread = thread};
}

uint32_t *samples_add_threads(struct samples *to, const struct samples *from)
{
	uint32_t *ret = xcalloc(from->thread_count, sizeof(*ret));
	uint32_t origins = (uint32_t)to->origin_count;

	for (size_t i = 0; i < from->origin_count; i++)
		samples_add_origin(to, &from->origins[i]);
	for (size_t i = 0; i < from->thread_count; i++)
		ret[i] = samples_add_thread(to, origins + from->threads[i].origin,
					    from->threads[i].pid, from->threads[i].tid);
	return ret;
}

static void add(struct profile *to, const struct profile *part, const struct graft *how,
		const uint32_t *threads, bool same)
{
	CLEANUP(free) uint32_t *nodes = NULL;

	quality_add(&to->quality, &part->quality);
	to->cut += part->cut;
	to->nameless_files += part->nameless_files;
	to->excess += part->excess;
	pauses_merge(&to->pauses, &part->pauses);
	compilations_merge(&to->compilations, &part->compilations);
	for (size_t i = 0; i < EVENT_KINDS; i++)
		to->events[i] += part->events[i];
	stacks_graft(to->stacks, part->stacks, how, &nodes);
	wall_merge(&to->wall, &part->wall, nodes, same);
	for (size_t i = 0; threads && i < part->samples->count; i++) {
		const struct sample *s = &part->samples->list[i];

		samples_add(to->samples, s->time, nodes[s->node], threads[s->thread]);
	}
}

void profile_add_part(struct profile *to, const struct profile *part, const struct graft *how,
		      const uint32_t *threads)
{
	add(to, part, how, threads, true);
}

void profile_add(struct profile *to, const struct profile *from, const struct graft *how)
{
	CLEANUP(free)
	uint32_t *threads = to->samples && from->samples
				    ? samples_add_threads(to->samples, from->samples)
				    : NULL;

	add(to, from, how, threads, false);
}
