// SPDX-License-Identifier: Apache-2.0
#include "pprof.h"

#include "dfg/clock.h"
#include "draw.h"
#include "gzip.h"
#include "pprof_places.h"
#include "protobuf.h"

#define SECOND UINT64_C(1000000000)

struct writer {
	const struct picture *picture;
	const struct stacks *stacks;
	const struct samples *samples; /* NULL: none kept */
	uint64_t period;	       /* ns of processor time per sample, 0: unknown */
	struct gzip gzip;
	struct str message, part;
	struct frames *texts; /* the table of texts, by number */
	struct pprof_places places;
	/* What is written: by node of places.locations, by plain frame, by module. */
	bool *location, *function, *mapping;
};

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

static uint64_t text_number(struct writer *w, const char *text)
{
	return frames_intern(w->texts, text, strlen(text), FRAME_ROOT);
}

/* Hands over what has gathered. */
static void flush(struct writer *w)
{
	gzip_add(&w->gzip, &w->message);
	str_clear(&w->message);
}

/* Adds w->part as a field of the profile. */
static void end_part(struct writer *w, unsigned field)
{
	pb_add_bytes(&w->message, field, w->part.buf ? w->part.buf : "", w->part.len);
	str_clear(&w->part);
	if (w->message.len > 32u << 10)
		flush(w);
}

/* ---- what was measured ---- */

static void write_type(struct writer *w, unsigned field, const char *type, const char *unit)
{
	pb_add_number(&w->part, PPROF_VALUE_TYPE, text_number(w, type));
	pb_add_number(&w->part, PPROF_VALUE_UNIT, text_number(w, unit));
	end_part(w, field);
}

static void write_comment(struct writer *w, const char *text)
{
	if (*text)
		pb_add_number(&w->message, PPROF_COMMENT, text_number(w, text));
}

static void write_head(struct writer *w)
{
	const struct picture *p = w->picture;
	CLEANUP(str_fini) struct str quality = {0};

	write_type(w, PPROF_SAMPLE_TYPE, "samples", "count");
	if (w->period) {
		write_type(w, PPROF_SAMPLE_TYPE, "cpu", "nanoseconds");
		write_type(w, PPROF_PERIOD_TYPE, "cpu", "nanoseconds");
		pb_add_number(&w->message, PPROF_PERIOD, w->period);
	}
	if (w->samples && w->samples->origin_count)
		pb_add_number(&w->message, PPROF_TIME_NANOS,
			      (uint64_t)clock_of(w->samples->origins[0].started) * SECOND);
	pb_add_number(&w->message, PPROF_DURATION_NANOS, (uint64_t)(p->duration * (double)SECOND));
	draw_quality(&quality, &p->quality);
	write_comment(w, p->title);
	write_comment(w, p->subtitle);
	write_comment(w, quality.buf);
}

/* ---- locations ---- */

static void write_line(struct writer *w, struct str *line, const struct frame *f)
{
	str_clear(line);
	pb_add_number(line, PPROF_LINE_FUNCTION, f->plain + 1ull);
	pb_add_number(line, PPROF_LINE_NUMBER, f->line);
	pb_add_bytes(&w->part, PPROF_LOCATION_LINE, line->buf, line->len);
	w->function[f->plain] = true;
	w->mapping[f->module] = true;
}

static void write_locations(struct writer *w)
{
	const struct stacks *locations = w->places.locations;
	CLEANUP(str_fini) struct str line = {0};

	for (uint32_t i = 1; i < stacks_node_count(locations); i++) {
		uint32_t module = 0;

		if (!w->location[i])
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

static void write_functions(struct writer *w)
{
	CLEANUP(str_fini) struct str name = {0};

	for (uint32_t i = 0; i < stacks_frame_count(w->stacks); i++) {
		const struct frame *f = stacks_frame(w->stacks, i);

		if (!w->function[i])
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

/* All is named that can be: pprof is not to look for the files on its own machine. */
static void write_mappings(struct writer *w)
{
	const struct frames *frames = stacks_frames(w->stacks);

	for (uint32_t i = 1; i < frames_module_count(frames); i++) {
		if (!w->mapping[i])
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

static void write_label(struct writer *w, const char *key, const char *text, uint64_t number)
{
	CLEANUP(str_fini) struct str label = {0};

	if (!*text && !number)
		return;
	pb_add_number(&label, PPROF_LABEL_KEY, text_number(w, key));
	pb_add_number(&label, PPROF_LABEL_TEXT, text_number(w, text));
	pb_add_number(&label, PPROF_LABEL_NUMBER, number);
	pb_add_bytes(&w->part, PPROF_SAMPLE_LABEL, label.buf, label.len);
}

static void write_thread(struct writer *w, const struct sample_thread *t)
{
	const struct origin *o = &w->samples->origins[t->origin];

	write_label(w, "pid", "", (uint64_t)t->pid);
	write_label(w, "tid", "", (uint64_t)t->tid);
	write_label(w, "container", o->container, 0);
	write_label(w, "container_id", o->id, 0);
	write_label(w, "pod", o->pod, 0);
	write_label(w, "namespace", o->namespace, 0);
	write_label(w, "host", o->host, 0);
}

/* Returns the thread's name. */
static const char *write_stack(struct writer *w, uint32_t node)
{
	CLEANUP(str_fini) struct str packed = {0};
	const char *name = "";

	for (; node; node = w->places.nodes[node].caller) {
		uint32_t location = w->places.nodes[node].location;

		if (location)
			pb_add_varint(&packed, location);
		else
			name = stacks_frame(w->stacks, stacks_node(w->stacks, node)->frame)->name;
		w->location[location] = true;
	}
	if (packed.len)
		pb_add_bytes(&w->part, PPROF_SAMPLE_LOCATION, packed.buf, packed.len);
	return name;
}

/* thread: its number + 1, 0: unknown. */
static void write_sample(struct writer *w, uint32_t node, uint32_t thread, uint64_t count)
{
	CLEANUP(str_fini) struct str values = {0};
	const char *name = write_stack(w, node);

	pb_add_varint(&values, count);
	if (w->period)
		pb_add_varint(&values,
			      count < INT64_MAX / w->period ? count * w->period : INT64_MAX);
	pb_add_bytes(&w->part, PPROF_SAMPLE_VALUE, values.buf, values.len);
	write_label(w, "thread", name, 0);
	if (thread)
		write_thread(w, &w->samples->threads[thread - 1]);
	end_part(w, PPROF_SAMPLE);
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* One for each stack and thread; what is not among the kept samples has no thread. */
static void write_samples(struct writer *w)
{
	size_t count = w->samples ? w->samples->count : 0, at = 0;
	CLEANUP(free) uint64_t *keys = xcalloc(count + 1, sizeof(*keys));

	for (size_t i = 0; i < count; i++)
		keys[i] = (uint64_t)w->samples->list[i].node << 32 |
			  (w->samples->list[i].thread + 1u);
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (uint32_t node = 0; node < stacks_node_count(w->stacks); node++) {
		uint64_t rest = stacks_node(w->stacks, node)->self;

		while (at < count && keys[at] >> 32 == node) {
			size_t begin = at;

			while (at < count && keys[at] == keys[begin])
				at++;
			write_sample(w, node, (uint32_t)keys[begin], at - begin);
			rest -= at - begin < rest ? at - begin : rest;
		}
		if (rest)
			write_sample(w, node, 0, rest);
	}
}

static void write_texts(struct writer *w)
{
	for (uint32_t i = 0; i < frames_count(w->texts); i++) {
		const struct frame *f = frames_get(w->texts, i);

		pb_add_bytes(&w->message, PPROF_STRING, f->name, f->len);
	}
}

static void write_profile(struct writer *w)
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

int draw_pprof(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	struct writer w = {.picture = p,
			   .stacks = p->details ? p->details->stacks : s,
			   .samples = p->details ? p->details->samples : NULL,
			   .period = p->frequency ? SECOND / p->frequency : 0,
			   .texts = frames_new()};
	int rc;

	gzip_begin(&w.gzip, fd, err);
	pprof_places_make(&w.places, w.stacks);
	w.location = xcalloc(stacks_node_count(w.places.locations), sizeof(*w.location));
	w.function = xcalloc(stacks_frame_count(w.stacks) + 1, sizeof(*w.function));
	w.mapping = xcalloc(frames_module_count(stacks_frames(w.stacks)), sizeof(*w.mapping));
	write_profile(&w);
	rc = gzip_end(&w.gzip);
	pprof_places_fini(&w.places);
	free(w.location);
	free(w.function);
	free(w.mapping);
	str_fini(&w.message);
	str_fini(&w.part);
	frames_free(w.texts);
	return rc;
}
