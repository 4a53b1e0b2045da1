// SPDX-License-Identifier: Apache-2.0
/* Writes speedscope's file format (jlfwong/speedscope, src/lib/file-format-spec.ts): a profile of
 * all threads, then one per pool or thread, with samples at their times. A method is one frame at
 * all lines and of all kinds, since speedscope counts by frame. */
#include "calltree/thread_root.h"
#include "format/format.h"
#include "format/text.h"
#include "format/timeline.h"

struct speedscope_writer {
	const struct stacks *stacks;
	struct frames *names; /* speedscope's frames, by number */
	uint32_t *numbers;    /* by frame: the number of its name */
	uint64_t period;      /* ns per sample, 0: unknown */
	const char *unit;     /* without a period */
	struct out out;
	uint32_t *path; /* of the current stack, innermost first */
	size_t path_cap;
	const char *threads; /* as in struct picture */
};

/* A profile of the file: the entries of some threads, in the order of time. */
struct track {
	char *name;
	struct timeline_entry *entries;
	size_t count, cap;
	uint64_t samples;
};

struct track_list {
	struct track *list; /* the first has all threads */
	size_t count, cap;
};

static void write_text(struct speedscope_writer *w, const char *text)
{
	text_json(&w->out.buf, text, strlen(text));
}

static void write_frames(struct speedscope_writer *w)
{
	w->numbers = xcalloc(stacks_frame_count(w->stacks) + 1, sizeof(*w->numbers));
	str_adds(&w->out.buf, ",\n\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < stacks_frame_count(w->stacks); i++) {
		const struct frame *f = stacks_frame(w->stacks, i);
		size_t before = frames_count(w->names);

		w->numbers[i] = frames_intern(w->names, f->name, f->len, FRAME_ROOT);
		if (w->numbers[i] < before)
			continue;
		str_adds(&w->out.buf, before ? ",\n{\"name\":" : "\n{\"name\":");
		text_json(&w->out.buf, f->name, f->len);
		str_addc(&w->out.buf, '}');
		out_tick(&w->out);
	}
	str_adds(&w->out.buf, "]},\n\"profiles\":[");
}

/* Leaves out the thread's frame: it is the name of the profile. */
static void write_stack(struct speedscope_writer *w, uint32_t node)
{
	size_t depth = 0;

	for (; node; node = stacks_node(w->stacks, node)->parent) {
		const struct stack_node *n = stacks_node(w->stacks, node);

		if (n->parent == 0 && stacks_frame(w->stacks, n->frame)->kind == FRAME_ROOT)
			break;
		w->path = grow(w->path, depth, &w->path_cap, sizeof(*w->path));
		w->path[depth++] = w->numbers[n->frame];
	}
	str_addc(&w->out.buf, '[');
	while (depth-- > 0) {
		str_addu(&w->out.buf, w->path[depth]);
		if (depth)
			str_addc(&w->out.buf, ',');
	}
	str_addc(&w->out.buf, ']');
	out_tick(&w->out);
}

/* ---- tracks ---- */

static struct track *track_of(struct track_list *l, const char *name)
{
	for (size_t i = 1; i < l->count; i++)
		if (!strcmp(l->list[i].name, name))
			return &l->list[i];
	l->list = grow(l->list, l->count, &l->cap, sizeof(*l->list));
	l->list[l->count] = (struct track){.name = xstrdup(name)};
	return &l->list[l->count++];
}

static void track_add(struct track *t, const struct timeline_thread *from)
{
	for (size_t i = 0; i < from->count; i++) {
		t->entries = grow(t->entries, t->count, &t->cap, sizeof(*t->entries));
		t->entries[t->count++] = from->entries[i];
	}
	t->samples += from->samples;
}

static char *track_name(const struct speedscope_writer *w, const struct timeline_thread *t)
{
	CLEANUP(str_fini) struct str name = {0};

	if (!*t->name)
		return xstrdup("[unknown]");
	if (!w->threads || !strcmp(w->threads, "pool")) {
		thread_add_pool(&name, t->name, strlen(t->name));
		return TAKE_PTR(name.buf);
	}
	return t->tid ? xasprintf("%s (%d)", t->name, (int)t->tid) : xstrdup(t->name);
}

static int compare_entries(const void *a, const void *b)
{
	const struct timeline_entry *x = a, *y = b;

	if (x->time != y->time)
		return x->time > y->time ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Orders the busiest first, equal ones by name. */
static int compare_tracks(const void *a, const void *b)
{
	const struct track *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void tracks_make(struct track_list *l, const struct speedscope_writer *w,
			const struct timeline *t)
{
	bool merged = w->threads && !strcmp(w->threads, "merged");

	*l = (struct track_list){0};
	track_of(l, "all threads");
	for (size_t i = 0; i < t->count; i++) {
		CLEANUP(free) char *name = track_name(w, &t->threads[i]);

		track_add(&l->list[0], &t->threads[i]);
		if (!merged)
			track_add(track_of(l, name), &t->threads[i]);
	}
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].count)
			qsort(l->list[i].entries, l->list[i].count, sizeof(*l->list[i].entries),
			      compare_entries);
	qsort(l->list + 1, l->count - 1, sizeof(*l->list), compare_tracks);
}

static void tracks_fini(struct track_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->list[i].name);
		free(l->list[i].entries);
	}
	free(l->list);
}

/* ---- placing samples in time ---- */

/* A stack, or none (node 0), for a while: ns, or samples if the frequency is unknown. */
struct segment {
	uint32_t node;
	uint64_t width;
};

struct segment_list {
	struct segment *list;
	size_t count, cap;
	uint64_t end;
};

static void add_segment(struct segment_list *l, uint32_t node, uint64_t width)
{
	l->end += width;
	if (!width)
		return;
	if (l->count && l->list[l->count - 1].node == node) {
		l->list[l->count - 1].width += width;
		return;
	}
	l->list = grow(l->list, l->count, &l->cap, sizeof(*l->list));
	l->list[l->count++] = (struct segment){node, width};
}

#define LATE_MOST 10 /* periods that a sample may be shown after its time */

/* True if samples that wide are not shown too late: they follow each other where they would
 * overlap. */
static bool fits(const struct track *t, uint64_t period, uint64_t width)
{
	uint64_t end = 0;

	for (size_t i = 0; i < t->count; i++) {
		uint64_t begin = end > t->entries[i].time ? end : t->entries[i].time;

		if (begin - t->entries[i].time > LATE_MOST * period)
			return false;
		end = begin + t->entries[i].count * width;
	}
	return true;
}

/* Returns how many samples are taken at a time, at most: a profile of speedscope has one stack at a
 * time, so that each sample gets that part of its time only. */
static unsigned overlap_of(const struct track *t, uint64_t period)
{
	unsigned n = 1;

	while (n < 4096 && !fits(t, period, period / n))
		n++;
	return n;
}

static unsigned place(const struct speedscope_writer *w, const struct track *t,
		      struct segment_list *ret)
{
	bool timed = w->period && t->count && t->entries[t->count - 1].time;
	unsigned overlap = timed ? overlap_of(t, w->period) : 1;
	uint64_t width = w->period ? w->period / overlap : 1;

	*ret = (struct segment_list){0};
	for (size_t i = 0; i < t->count; i++) {
		const struct timeline_entry *e = &t->entries[i];

		if (timed && e->time > ret->end)
			add_segment(ret, 0, e->time - ret->end);
		add_segment(ret, e->node, e->count * width);
	}
	return overlap;
}

/* ---- profiles ---- */

/* Writes milliseconds, or samples if the frequency is unknown. */
static void write_value(struct speedscope_writer *w, uint64_t value)
{
	if (w->period)
		text_fixed(&w->out.buf, value / 1000, 3);
	else
		str_addu(&w->out.buf, value);
}

static void write_track(struct speedscope_writer *w, const struct track *t)
{
	CLEANUP(str_fini) struct str name = {0};
	struct str *o = &w->out.buf;
	struct segment_list l;
	unsigned overlap = place(w, t, &l);

	str_adds(&name, t->name);
	if (overlap > 1)
		str_addf(&name, " (up to %u at a time: 1 ms is %u ms of processor time)", overlap,
			 overlap);
	str_addf(o, "{\"type\":\"sampled\",\"unit\":\"%s\",\"startValue\":0,\"endValue\":",
		 w->period ? "milliseconds" : w->unit);
	write_value(w, l.end);
	str_adds(o, ",\"name\":");
	write_text(w, name.buf);
	str_adds(o, ",\n\"samples\":[");
	for (size_t i = 0; i < l.count; i++) {
		str_adds(o, i ? "," : "");
		write_stack(w, l.list[i].node);
	}
	str_adds(o, "],\n\"weights\":[");
	for (size_t i = 0; i < l.count; i++) {
		str_adds(o, i ? "," : "");
		write_value(w, l.list[i].width);
		out_tick(&w->out);
	}
	str_adds(o, "]}");
	free(l.list);
}

/* A unit that speedscope knows. */
static const char *unit_of(const struct picture *p)
{
	if (p->unit && !strcmp(p->unit, "bytes"))
		return "bytes";
	return p->unit && !strcmp(p->unit, "ns") ? "nanoseconds" : "none";
}

int draw_speedscope(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	struct speedscope_writer w = {.stacks = p->details ? p->details->stacks : s,
				      .names = frames_new(),
				      .period = p->frequency ? 1000000000 / p->frequency : 0,
				      .threads = p->threads,
				      .unit = unit_of(p),
				      .out = {.fd = fd, .err = err}};
	struct track_list tracks;
	struct timeline t;

	timeline_make(&t, w.stacks, p->details ? p->details->samples : NULL);
	str_adds(&w.out.buf,
		 "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		 "\"exporter\":\"dfg " DFG_VERSION "\",\"name\":");
	write_text(&w, p->title);
	write_frames(&w);
	tracks_make(&tracks, &w, &t);
	for (size_t i = 0; i < tracks.count; i++) {
		str_adds(&w.out.buf, i ? ",\n" : "\n");
		write_track(&w, &tracks.list[i]);
	}
	str_adds(&w.out.buf, "]}\n");
	tracks_fini(&tracks);
	timeline_fini(&t);
	frames_free(w.names);
	free(w.numbers);
	free(w.path);
	return out_end(&w.out);
}
