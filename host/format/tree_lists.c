// SPDX-License-Identifier: Apache-2.0
#include "format/tree_parts.h"

/* ---- writing ----------------------------------------------------------------------------- */

static void add_pause(struct str *out, const struct pause *p)
{
	add_u64(out, p->begin);
	add_u64(out, p->stopping);
	add_u64(out, p->all);
	add_u64(out, p->heap_before);
	add_u64(out, p->heap_after);
	add_text(out, p->subject.class);
	add_text(out, p->subject.method);
	add_text(out, p->subject.holder);
}

static void add_method(struct str *out, const struct compiled_method *m)
{
	add_text(out, m->name);
	for (unsigned i = 0; i < COMPILE_LEVELS; i++)
		add_u32(out, m->compiled.times[i]);
	add_u32(out, m->compiled.discarded);
	add_u64(out, m->compiled.ns);
}

static void add_wall_thread(struct str *out, const struct wall_thread *t)
{
	add_text(out, t->name);
	add_u32(out, (uint32_t)t->pid);
	add_u32(out, (uint32_t)t->tid);
	for (unsigned c = 0; c < WALL_CAUSES; c++) {
		add_u64(out, t->ns[c]);
		add_u64(out, t->idle[c]);
	}
}

static void add_wait(struct str *out, const struct wall_part *p)
{
	add_u32(out, p->thread);
	add_u32(out, p->node);
	add_u64(out, p->begin);
	add_u64(out, p->ns);
	add_u32(out, (uint32_t)p->waker);
	str_addc(out, (char)p->cause);
	str_addc(out, (char)p->idle);
}

void tree_write_lists(struct out *o, const struct profile *p)
{
	for (size_t i = 0; i < p->pauses.listed; i++)
		add_pause(&o->buf, &p->pauses.list[i]);
	for (size_t i = 0; i < p->compilations.count; i++) {
		add_method(&o->buf, &p->compilations.list[i]);
		out_tick(o);
	}
	for (size_t i = 0; i < p->wall.count; i++) {
		add_wall_thread(&o->buf, &p->wall.threads[i]);
		out_tick(o);
	}
	for (size_t i = 0; i < p->wall.part_count; i++) {
		add_wait(&o->buf, &p->wall.parts[i]);
		out_tick(o);
	}
}

/* ---- reading ----------------------------------------------------------------------------- */

const char *tree_text(struct bytes *b, struct str *ret)
{
	uint16_t len = bytes_u16(b);
	const uint8_t *text = bytes_take(b, len);

	if (!text)
		return NULL;
	str_clear(ret);
	str_add_clean(ret, (const char *)text, len);
	return ret->len ? ret->buf : "";
}

/* Reads a text, cut to its room. */
static bool read_name(struct bytes *b, char *to, size_t size)
{
	CLEANUP(str_fini) struct str s = {0};
	const char *text = tree_text(b, &s);

	if (text)
		snprintf(to, size, "%s", text);
	return text;
}

static bool read_pause(struct bytes *b, struct pauses *to)
{
	struct pause p = {0};
	struct subject *s = &p.subject;

	p.begin = bytes_u64(b);
	p.stopping = bytes_u64(b);
	p.all = bytes_u64(b);
	p.heap_before = bytes_u64(b);
	p.heap_after = bytes_u64(b);
	if (!read_name(b, s->class, sizeof(s->class)) ||
	    !read_name(b, s->method, sizeof(s->method)) ||
	    !read_name(b, s->holder, sizeof(s->holder)) || p.all < PAUSES_LEAST)
		return false;
	pauses_add(to, &p);
	return true;
}

static bool read_method(struct bytes *b, struct compilations *to)
{
	CLEANUP(str_fini) struct str s = {0};
	const char *name = tree_text(b, &s);
	struct compiled c = {0};

	for (unsigned level = 0; level < COMPILE_LEVELS; level++)
		c.times[level] = bytes_u32(b);
	c.discarded = bytes_u32(b);
	c.ns = bytes_u64(b);
	if (!name || b->bad)
		return false;
	compilations_add(to, name, &c);
	return true;
}

/* Returns the thread's number; WALL_UNKNOWN: it is not well-formed. */
static uint32_t read_wall_thread(struct bytes *b, struct wall *to)
{
	char name[WALL_NAME];
	bool good = read_name(b, name, sizeof(name));
	pid_t pid = (pid_t)bytes_u32(b), tid = (pid_t)bytes_u32(b);
	uint32_t ret = WALL_UNKNOWN;

	for (unsigned c = 0; c < WALL_CAUSES; c++) {
		uint64_t ns = bytes_u64(b), idle = bytes_u64(b);

		if (!good || b->bad || ns > COUNT_MAX || idle > ns)
			return WALL_UNKNOWN;
		ret = wall_add(to, name, pid, tid, (enum wall_cause)c, ns - idle, false);
		wall_add(to, name, pid, tid, (enum wall_cause)c, idle, true);
	}
	return ret;
}

static bool read_wait(struct bytes *b, const struct tree_head *head, const uint32_t *threads,
		      const uint32_t *nodes, struct wall *to)
{
	uint32_t thread = bytes_u32(b), node = bytes_u32(b);
	struct wall_part p = {0};

	p.begin = bytes_u64(b);
	p.ns = bytes_u64(b);
	p.waker = (pid_t)bytes_u32(b);
	p.cause = bytes_u8(b);
	p.idle = bytes_u8(b);
	if (b->bad || thread >= head->wall_threads || node >= head->nodes || p.cause >= WALL_CAUSES)
		return false;
	p.thread = threads[thread];
	p.node = nodes[node];
	wall_add_part(to, &p);
	return true;
}

static bool read_wall(struct bytes *b, const struct tree_head *head, const uint32_t *nodes,
		      struct wall *to)
{
	CLEANUP(free)
	uint32_t *threads = xcalloc((size_t)head->wall_threads + 1, sizeof(*threads));
	bool good = true;

	for (uint32_t i = 0; good && i < head->wall_threads; i++)
		good = (threads[i] = read_wall_thread(b, to)) != WALL_UNKNOWN;
	for (uint32_t i = 0; good && i < head->waits; i++)
		good = read_wait(b, head, threads, nodes, to);
	return good;
}

bool tree_read_lists(struct bytes *b, const struct tree_head *head, const uint32_t *nodes,
		     struct profile *to)
{
	bool good = true;

	for (uint32_t i = 0; good && i < head->pauses; i++)
		good = read_pause(b, &to->pauses);
	to->pauses.count += head->all_pauses - head->pauses;
	for (uint32_t i = 0; good && i < head->methods; i++)
		good = read_method(b, &to->compilations);
	return good && read_wall(b, head, nodes, &to->wall);
}
