// SPDX-License-Identifier: Apache-2.0
#include "calltree/thread_root.h"
#include "common/clock.h"
#include "common/table.h"
#include "format/format.h"
#include "format/gzip.h"
#include "format/pprof.h"
#include "format/text.h"

#define SECOND UINT64_C(1000000000)

/* The labels of a thread's samples, encoded once for each of its names. */
struct thread_labels {
	const char *name; /* NULL: not encoded yet */
	struct str bytes;
};

struct pprof_writer {
	const struct picture *picture;
	const struct stacks *stacks;
	const struct samples *samples; /* NULL: none kept */
	uint64_t period;	       /* ns of processor time per sample, 0: unknown */
	struct gzip gzip;
	struct str message, part, packed;
	struct thread_labels *labels; /* by thread + 1; 0: unknown */
	struct frames *texts;	      /* the string table, by number */
	/* A location is what one address stands for: a compiled method and the methods inlined
	 * there. Each node of this tree is one; its path holds its frames, outermost first. */
	struct stacks *locations;
	uint32_t *location,
		*caller; /* by node: its location, 0: a thread's name; the node below it */
	/* Referenced so far: locations, functions by plain frame, mappings by module. */
	bool *has_location, *has_function, *has_mapping;
};

/* ---- locations of the nodes ---- */

static enum frame_kind kind_at(const struct stacks *s, uint32_t node)
{
	return stacks_frame(s, stacks_node(s, node)->frame)->kind;
}

/* The location of a node that is `count` frames above its caller. `frames` has room for them. */
static uint32_t location_of(struct pprof_writer *w, uint32_t node, uint32_t *frames, size_t count)
{
	for (size_t i = count; i-- > 0; node = stacks_node(w->stacks, node)->parent)
		frames[i] = stacks_node(w->stacks, node)->frame;
	return stacks_add(w->locations, frames, count, 0);
}

static void find_locations(struct pprof_writer *w)
{
	const struct stacks *s = w->stacks;
	size_t nodes = stacks_node_count(s), cap = 0;
	CLEANUP(free) uint32_t *counts = xcalloc(nodes, sizeof(*counts));
	CLEANUP(free) uint32_t *frames = NULL;

	w->location = xcalloc(nodes, sizeof(*w->location));
	w->caller = xcalloc(nodes, sizeof(*w->caller));
	/* A node always comes after its parent. */
	for (uint32_t n = 1; n < nodes; n++) {
		uint32_t parent = stacks_node(s, n)->parent;
		enum frame_kind kind = kind_at(s, n);

		if (kind == FRAME_ROOT && parent == 0)
			continue;
		counts[n] = 1;
		w->caller[n] = parent;
		if (kind == FRAME_INLINED &&
		    (counts[parent] > 1 || (parent && kind_at(s, parent) == FRAME_JAVA))) {
			counts[n] += counts[parent];
			w->caller[n] = w->caller[parent];
		}
		while (cap < counts[n])
			frames = grow(frames, cap, &cap, sizeof(*frames));
		w->location[n] = location_of(w, n, frames, counts[n]);
	}
}

/* ---- messages ---- */

const char *pprof_suffix(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_ROOT:
		return "_[t]";
	case FRAME_NATIVE:
		return "_[n]";
	case FRAME_JVM:
		return "_[v]";
	case FRAME_STUB:
		return "_[s]";
	case FRAME_UNKNOWN:
		return "_[u]";
	default:
		return frame_suffix(kind);
	}
}

static uint64_t text_number(struct pprof_writer *w, const char *text)
{
	return frames_intern(w->texts, text, strlen(text), FRAME_ROOT);
}

/* Compresses the message so far. */
static void flush(struct pprof_writer *w)
{
	gzip_add(&w->gzip, &w->message);
	str_clear(&w->message);
}

/* Adds w->part as a field of the profile. */
static void end_part(struct pprof_writer *w, unsigned field)
{
	pb_add_bytes(&w->message, field, w->part.buf ? w->part.buf : "", w->part.len);
	str_clear(&w->part);
	if (w->message.len > 32u << 10)
		flush(w);
}

/* ---- sample types, period, comments ---- */

static void write_type(struct pprof_writer *w, unsigned field, const char *type, const char *unit)
{
	pb_add_number(&w->part, PPROF_VALUE_TYPE, text_number(w, type));
	pb_add_number(&w->part, PPROF_VALUE_UNIT, text_number(w, unit));
	end_part(w, field);
}

static void write_comment(struct pprof_writer *w, const char *text)
{
	if (*text)
		pb_add_number(&w->message, PPROF_COMMENT, text_number(w, text));
}

static void write_head(struct pprof_writer *w)
{
	const struct picture *p = w->picture;
	const struct pprof_value value = pprof_value_of(p->unit);
	CLEANUP(str_fini) struct str quality = {0};

	write_type(w, PPROF_SAMPLE_TYPE, value.type, value.unit);
	if (w->period) {
		write_type(w, PPROF_SAMPLE_TYPE, "cpu", "nanoseconds");
		write_type(w, PPROF_PERIOD_TYPE, "cpu", "nanoseconds");
		pb_add_number(&w->message, PPROF_PERIOD, w->period);
	}
	if (w->samples && w->samples->origin_count)
		pb_add_number(&w->message, PPROF_TIME_NANOS,
			      (uint64_t)clock_of(w->samples->origins[0].started) * SECOND);
	pb_add_number(&w->message, PPROF_DURATION_NANOS, (uint64_t)(p->duration * (double)SECOND));
	draw_quality_of(&quality, &p->quality, p->unit);
	write_comment(w, p->title);
	write_comment(w, p->subtitle);
	write_comment(w, quality.buf);
}

/* ---- locations, functions, mappings ---- */

static void write_line(struct pprof_writer *w, struct str *line, const struct frame *f)
{
	str_clear(line);
	pb_add_number(line, PPROF_LINE_FUNCTION, f->plain + 1ull);
	pb_add_number(line, PPROF_LINE_NUMBER, f->line);
	pb_add_bytes(&w->part, PPROF_LOCATION_LINE, line->buf, line->len);
	w->has_function[f->plain] = true;
	w->has_mapping[f->module] = true;
}

static void write_locations(struct pprof_writer *w)
{
	const struct stacks *locations = w->locations;
	CLEANUP(str_fini) struct str line = {0};

	for (uint32_t i = 1; i < stacks_node_count(locations); i++) {
		uint32_t module = 0;

		if (!w->has_location[i])
			continue;
		pb_add_number(&w->part, PPROF_ID, i);
		for (uint32_t at = i; at; at = stacks_node(locations, at)->parent) {
			uint32_t frame = stacks_node(locations, at)->frame;
			const struct frame *f = stacks_frame(w->stacks, frame);

			write_line(w, &line, f);
			module = f->module;
		}
		pb_add_number(&w->part, PPROF_LOCATION_MAPPING, module);
		end_part(w, PPROF_LOCATION);
	}
}

static void write_functions(struct pprof_writer *w)
{
	CLEANUP(str_fini) struct str name = {0};

	for (uint32_t i = 0; i < stacks_frame_count(w->stacks); i++) {
		const struct frame *f = stacks_frame(w->stacks, i);

		if (!w->has_function[i])
			continue;
		str_clear(&name);
		str_add(&name, f->name, f->len);
		str_adds(&name, pprof_suffix(f->kind));
		pb_add_number(&w->part, PPROF_ID, i + 1ull);
		pb_add_number(&w->part, PPROF_FUNCTION_NAME, text_number(w, f->name));
		pb_add_number(&w->part, PPROF_FUNCTION_SYSTEM_NAME, text_number(w, name.buf));
		end_part(w, PPROF_FUNCTION);
	}
}

/* Marks mappings as symbolised, so that pprof does not look for the files on its own machine. */
static void write_mappings(struct pprof_writer *w)
{
	const struct frames *frames = stacks_frames(w->stacks);

	for (uint32_t i = 1; i < frames_module_count(frames); i++) {
		if (!w->has_mapping[i])
			continue;
		pb_add_number(&w->part, PPROF_ID, i);
		pb_add_number(&w->part, PPROF_MAPPING_FILE,
			      text_number(w, frames_module(frames, i)));
		pb_add_number(&w->part, PPROF_MAPPING_HAS_FUNCTIONS, 1);
		pb_add_number(&w->part, PPROF_MAPPING_HAS_FILENAMES, 1);
		pb_add_number(&w->part, PPROF_MAPPING_HAS_LINES, 1);
		pb_add_number(&w->part, PPROF_MAPPING_HAS_INLINED, 1);
		end_part(w, PPROF_MAPPING);
	}
}

/* ---- samples ---- */

static void add_label(struct pprof_writer *w, struct str *out, const char *key, const char *text,
		      uint64_t number)
{
	CLEANUP(str_fini) struct str label = {0};

	if (!*text && !number)
		return;
	pb_add_number(&label, PPROF_LABEL_KEY, text_number(w, key));
	pb_add_number(&label, PPROF_LABEL_TEXT, text_number(w, text));
	pb_add_number(&label, PPROF_LABEL_NUMBER, number);
	pb_add_bytes(out, PPROF_SAMPLE_LABEL, label.buf, label.len);
}

static void add_thread(struct pprof_writer *w, struct str *out, const struct sample_thread *t)
{
	const struct origin *o = &w->samples->origins[t->origin];

	add_label(w, out, "pid", "", (uint64_t)t->pid);
	add_label(w, out, "tid", "", (uint64_t)t->tid);
	add_label(w, out, "container", o->container, 0);
	add_label(w, out, "container_id", o->id, 0);
	add_label(w, out, "pod", o->pod, 0);
	add_label(w, out, "namespace", o->namespace, 0);
	add_label(w, out, "host", o->host, 0);
}

/* thread: its index + 1, 0: unknown. */
static const struct str *labels_of(struct pprof_writer *w, uint32_t thread, const char *name)
{
	struct thread_labels *l = &w->labels[thread];
	CLEANUP(str_fini) struct str pool = {0};

	if (l->name == name)
		return &l->bytes;
	l->name = name;
	str_clear(&l->bytes);
	add_label(w, &l->bytes, "thread", name, 0);
	thread_add_pool(&pool, name, strlen(name));
	if (pool.len)
		add_label(w, &l->bytes, "pool", pool.buf, 0);
	if (thread)
		add_thread(w, &l->bytes, &w->samples->threads[thread - 1]);
	return &l->bytes;
}

/* Returns the thread's name. */
static const char *write_stack(struct pprof_writer *w, uint32_t node)
{
	const char *name = "";

	str_clear(&w->packed);
	for (; node; node = w->caller[node]) {
		uint32_t location = w->location[node];

		if (location)
			text_varint(&w->packed, location);
		else
			name = stacks_frame(w->stacks, stacks_node(w->stacks, node)->frame)->name;
		w->has_location[location] = true;
	}
	if (w->packed.len)
		pb_add_bytes(&w->part, PPROF_SAMPLE_LOCATION, w->packed.buf, w->packed.len);
	return name;
}

static void write_sample(struct pprof_writer *w, uint32_t node, uint32_t thread, uint64_t count)
{
	const struct str *labels = labels_of(w, thread, write_stack(w, node));

	str_clear(&w->packed);
	text_varint(&w->packed, count);
	if (w->period)
		text_varint(&w->packed,
			    count < INT64_MAX / w->period ? count * w->period : INT64_MAX);
	pb_add_bytes(&w->part, PPROF_SAMPLE_VALUE, w->packed.buf, w->packed.len);
	str_add(&w->part, labels->buf, labels->len);
	end_part(w, PPROF_SAMPLE);
}

/* Writes one for each stack and thread. Counts that are not among the kept samples have no thread.
 */
static void write_samples(struct pprof_writer *w)
{
	size_t count = w->samples ? w->samples->count : 0, at = 0;
	CLEANUP(free) struct keyed *order = xcalloc(count, sizeof(*order));

	for (size_t i = 0; i < count; i++)
		order[i].key = (uint64_t)w->samples->list[i].node << 32 |
			       (w->samples->list[i].thread + 1u);
	keyed_sort(order, count);
	for (uint32_t node = 0; node < stacks_node_count(w->stacks); node++) {
		uint64_t rest = stacks_node(w->stacks, node)->self;

		while (at < count && order[at].key >> 32 == node) {
			size_t begin = at;

			while (at < count && order[at].key == order[begin].key)
				at++;
			write_sample(w, node, (uint32_t)order[begin].key, at - begin);
			rest -= at - begin < rest ? at - begin : rest;
		}
		if (rest)
			write_sample(w, node, 0, rest);
	}
}

static void write_texts(struct pprof_writer *w)
{
	for (uint32_t i = 0; i < frames_count(w->texts); i++) {
		const struct frame *f = frames_get(w->texts, i);

		pb_add_bytes(&w->message, PPROF_STRING, f->name, f->len);
	}
}

static void write_profile(struct pprof_writer *w)
{
	text_number(w, "");
	write_head(w);
	write_samples(w);
	write_locations(w);
	write_functions(w);
	write_mappings(w);
	write_texts(w);
	flush(w);
}

static void writer_fini(struct pprof_writer *w)
{
	for (size_t i = 0; i <= (w->samples ? w->samples->thread_count : 0); i++)
		str_fini(&w->labels[i].bytes);
	free(w->labels);
	stacks_free(w->locations);
	free(w->location);
	free(w->caller);
	free(w->has_location);
	free(w->has_function);
	free(w->has_mapping);
	str_fini(&w->message);
	str_fini(&w->part);
	str_fini(&w->packed);
	frames_free(w->texts);
}

int draw_pprof(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	struct pprof_writer w = {.picture = p,
				 .stacks = p->details ? p->details->stacks : s,
				 .samples = p->details ? p->details->samples : NULL,
				 .period = p->frequency ? SECOND / p->frequency : 0,
				 .locations = stacks_new(),
				 .texts = frames_new()};
	int rc;

	gzip_begin(&w.gzip, fd, err);
	find_locations(&w);
	w.labels = xcalloc((w.samples ? w.samples->thread_count : 0) + 1, sizeof(*w.labels));
	w.has_location = xcalloc(stacks_node_count(w.locations), sizeof(*w.has_location));
	w.has_function = xcalloc(stacks_frame_count(w.stacks) + 1, sizeof(*w.has_function));
	w.has_mapping =
		xcalloc(frames_module_count(stacks_frames(w.stacks)), sizeof(*w.has_mapping));
	write_profile(&w);
	rc = gzip_end(&w.gzip);
	writer_fini(&w);
	return rc;
}
