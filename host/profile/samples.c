// SPDX-License-Identifier: Apache-2.0
#include "samples.h"

#include "dfg/str.h"

void profile_init(struct profile *p, bool details)
{
	*p = (struct profile){.stacks = stacks_new()};
	if (!details)
		return;
	p->samples = xcalloc(1, sizeof(*p->samples));
	frames_keep_places(stacks_frames(p->stacks));
}

static void samples_free(struct samples *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->origin_count; i++) {
		free((char *)(uintptr_t)s->origins[i].container);
		free((char *)(uintptr_t)s->origins[i].id);
		free((char *)(uintptr_t)s->origins[i].started);
	}
	free(s->origins);
	free(s->threads);
	free(s->list);
	free(s);
}

void profile_fini(struct profile *p)
{
	stacks_free(p->stacks);
	samples_free(p->samples);
}

uint32_t samples_add_origin(struct samples *s, const struct origin *origin)
{
	s->origins = grow(s->origins, s->origin_count, &s->origin_cap, sizeof(*s->origins));
	s->origins[s->origin_count] = (struct origin){.container = xstrdup(origin->container),
						      .id = xstrdup(origin->id),
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
