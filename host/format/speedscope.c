// SPDX-License-Identifier: Apache-2.0
/* Writes speedscope's file format (jlfwong/speedscope, src/lib/file-format-spec.ts): a profile per
 * thread, in the order of time. A method is one frame at all lines and of all kinds, since
 * speedscope counts by frame. */
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

/* Finds the end of a run of samples with the same stack; *ret_count: samples in it. */
static size_t run_end(const struct timeline_thread *t, size_t at, uint64_t *ret_count)
{
	uint32_t node = t->entries[at].node;

	for (*ret_count = 0; at < t->count && t->entries[at].node == node; at++)
		*ret_count += t->entries[at].count;
	return at;
}

/* Writes milliseconds of processor time, or samples if the frequency is unknown. */
static void write_value(struct speedscope_writer *w, uint64_t count)
{
	if (w->period)
		text_fixed(&w->out.buf, count * (w->period / 1000), 3);
	else
		str_addu(&w->out.buf, count);
}

static void write_thread(struct speedscope_writer *w, const struct timeline_thread *t)
{
	CLEANUP(str_fini) struct str name = {0};
	struct str *o = &w->out.buf;
	uint64_t count;

	str_adds(&name, *t->name ? t->name : "[unknown]");
	if (t->tid)
		str_addf(&name, " (%d)", (int)t->tid);
	str_addf(o, "{\"type\":\"sampled\",\"unit\":\"%s\",\"startValue\":0,\"endValue\":",
		 w->period ? "milliseconds" : w->unit);
	write_value(w, t->samples);
	str_adds(o, ",\"name\":");
	write_text(w, name.buf);
	str_adds(o, ",\n\"samples\":[");
	for (size_t i = 0; i < t->count; i = run_end(t, i, &count)) {
		str_adds(o, i ? "," : "");
		write_stack(w, t->entries[i].node);
	}
	str_adds(o, "],\n\"weights\":[");
	for (size_t i = 0, end; i < t->count; i = end) {
		end = run_end(t, i, &count);
		str_adds(o, i ? "," : "");
		write_value(w, count);
		out_tick(&w->out);
	}
	str_adds(o, "]}");
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
				      .unit = unit_of(p),
				      .out = {.fd = fd, .err = err}};
	struct timeline t;

	timeline_make(&t, w.stacks, p->details ? p->details->samples : NULL);
	str_adds(&w.out.buf,
		 "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		 "\"exporter\":\"dfg " DFG_VERSION "\",\"name\":");
	write_text(&w, p->title);
	write_frames(&w);
	for (size_t i = 0; i < t.count; i++) {
		str_adds(&w.out.buf, i ? ",\n" : "\n");
		write_thread(&w, &t.threads[i]);
	}
	str_adds(&w.out.buf, "]}\n");
	timeline_fini(&t);
	frames_free(w.names);
	free(w.numbers);
	free(w.path);
	return out_end(&w.out);
}
