// SPDX-License-Identifier: Apache-2.0
#include "elf/names.h"
#include "format/format.h"
#include "format/gzip.h"
#include "format/pprof.h"

#define EXPANDED_MAX ((size_t)1 << 30)
#define DEPTH_MAX    (1u << 16)		 /* frames of one stack */
#define FRAMES_MAX   (UINT64_C(1) << 27) /* of all stacks: a few bytes can stand for many */
#ifndef KEPT_MAX
#define KEPT_MAX (UINT64_C(1) << 27) /* samples that are kept one by one */
#endif

struct pprof_loader {
	struct profile *profile;
	struct err *err;
	struct pprof_tables tables;
	size_t value;	  /* index of the value that is counted */
	uint64_t divisor; /* its amount per sample */
	bool single;	  /* it counts samples, which are kept one by one: not bytes or times */
	uint32_t main_frame;
	uint32_t *frames; /* of the current stack, innermost first */
	size_t depth, cap;
	uint64_t all_frames, sum;
	size_t first_sample;		  /* of this profile's in the samples that are kept */
	struct frames *origins, *threads; /* keys of those added here, numbered from the first */
	uint32_t first_origin, first_thread;
};

/* Labels that name the origin of a sample (struct origin). */
enum from { FROM_CONTAINER, FROM_ID, FROM_POD, FROM_NAMESPACE, FROM_HOST, FROM_COUNT };
static const char *const from_keys[] = {"container", "container_id", "pod", "namespace", "host"};

/* The labels of a sample that dfg knows. */
struct sample_labels {
	struct bytes thread, from[FROM_COUNT];
	uint64_t pid, tid;
};

/* ---- the value that is counted ---- */

static bool same(struct bytes a, struct bytes b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

static bool is_value(const struct pprof_type *type, const char *unit)
{
	const struct pprof_value value = pprof_value_of(unit);

	return bytes_are(type->type, value.type) && bytes_are(type->unit, value.unit);
}

/* Chooses the values of this unit. False: the profile has none. */
static bool choose_unit(struct pprof_loader *l, const char *unit)
{
	for (size_t i = 0; i < l->tables.type_count; i++)
		if (is_value(&l->tables.types[i], unit)) {
			l->value = i;
			return true;
		}
	return false;
}

/* Chooses values that can stand for samples: those of another event would be drawn as what they
 * are not. */
static int choose_samples(struct pprof_loader *l)
{
	const struct pprof_tables *t = &l->tables;
	const struct pprof_type *chosen;

	l->value = t->type_count - 1;
	for (size_t i = 0; t->default_type.len && i < t->type_count; i++)
		if (same(t->types[i].type, t->default_type))
			l->value = i;
	choose_unit(l, NULL);
	chosen = &t->types[l->value];
	if (is_value(chosen, event_names[EVENT_ALLOC].unit))
		return err_set(l->err, 0, "has allocated bytes: give --event alloc");
	if (is_value(chosen, event_names[EVENT_LOCK].unit))
		return err_set(
			l->err, 0,
			"has times of waiting: give --event lock, wall, safepoint or compile");
	if (t->period && t->period <= INT64_MAX && same(chosen->type, t->period_type.type) &&
	    same(chosen->unit, t->period_type.unit))
		l->divisor = t->period;
	return 0;
}

static int choose_value(struct pprof_loader *l, enum event_kind event)
{
	const char *unit = event_names[event].unit;

	l->divisor = 1;
	l->single = event == EVENT_CPU;
	if (event == EVENT_CPU)
		return choose_samples(l);
	/* Samples do not tell that they are of this event. */
	if (!strcmp(pprof_value_of(unit).type, pprof_value_of(NULL).type) || !choose_unit(l, unit))
		return err_set(l->err, 0, "has no events %s", event_names[event].name);
	return 0;
}

/* ---- origins and threads ---- */

static void label_read(const struct pprof_tables *t, struct bytes label, struct sample_labels *ret)
{
	struct bytes key = pprof_field_text(t, label, PPROF_LABEL_KEY);
	struct bytes text = pprof_field_text(t, label, PPROF_LABEL_TEXT);
	uint64_t number = pprof_field(label, PPROF_LABEL_NUMBER).value;

	if (bytes_are(key, "thread"))
		ret->thread = text;
	else if (bytes_are(key, "pid"))
		ret->pid = number <= INT32_MAX ? number : 0;
	else if (bytes_are(key, "tid"))
		ret->tid = number <= INT32_MAX ? number : 0;
	for (size_t i = 0; i < FROM_COUNT; i++)
		if (bytes_are(key, from_keys[i]))
			ret->from[i] = text;
}

static uint32_t find_origin(struct pprof_loader *l, const struct sample_labels *labels)
{
	struct samples *s = l->profile->samples;
	CLEANUP(str_fini) struct str key = {0};
	size_t at[FROM_COUNT];
	uint32_t number;

	for (size_t i = 0; i < FROM_COUNT; i++) {
		at[i] = key.len;
		str_add_clean(&key, (const char *)labels->from[i].p, labels->from[i].len);
		str_addc(&key, '\0');
	}
	number = l->first_origin + frames_intern(l->origins, key.buf, key.len, FRAME_ROOT);
	if (number == s->origin_count)
		samples_add_origin(s, &(struct origin){.container = key.buf + at[FROM_CONTAINER],
						       .id = key.buf + at[FROM_ID],
						       .pod = key.buf + at[FROM_POD],
						       .namespace = key.buf + at[FROM_NAMESPACE],
						       .host = key.buf + at[FROM_HOST],
						       .started = ""});
	return number;
}

static void add_samples(struct pprof_loader *l, const struct sample_labels *labels, uint32_t node,
			uint64_t count)
{
	struct samples *s = l->profile->samples;
	uint32_t origin = find_origin(l, labels), thread;
	uint64_t key[3] = {labels->pid, labels->tid, origin};

	thread = l->first_thread +
		 frames_intern(l->threads, (const char *)key, sizeof(key), FRAME_ROOT);
	if (thread == s->thread_count)
		samples_add_thread(s, origin, (pid_t)labels->pid, (pid_t)labels->tid);
	while (count-- > 0)
		samples_add(s, 0, node, thread);
}

/* Makes the first frame of stacks without a thread name: the first mapping is the main program. */
static void main_frame_make(struct pprof_loader *l)
{
	struct bytes file =
		pprof_field_text(&l->tables, l->tables.first_mapping, PPROF_MAPPING_FILE);
	CLEANUP(str_fini) struct str name = {0};
	const char *base = "all";
	size_t len = strlen(base);

	symname_add_clean(&name, (const char *)file.p, file.len);
	if (file.len)
		base = symname_base(name.buf, &len);
	l->main_frame = stacks_intern(l->profile->stacks, base, len, FRAME_ROOT);
}

static uint32_t thread_frame(const struct pprof_loader *l, struct bytes thread)
{
	CLEANUP(str_fini) struct str name = {0};

	if (thread.len == 0)
		return l->main_frame;
	symname_add_clean(&name, (const char *)thread.p, thread.len);
	return stacks_intern(l->profile->stacks, name.buf, name.len, FRAME_ROOT);
}

/* ---- samples ---- */

static int stack_push(struct pprof_loader *l, uint32_t frame)
{
	if (l->depth == DEPTH_MAX || ++l->all_frames > FRAMES_MAX)
		return err_set(l->err, 0,
			       "a stack of more than %u frames, or more than %llu in all",
			       DEPTH_MAX, (unsigned long long)FRAMES_MAX);
	l->frames = grow(l->frames, l->depth, &l->cap, sizeof(*l->frames));
	l->frames[l->depth++] = frame;
	return 0;
}

/* The locations may come packed or one by one. */
static int locations_push(struct pprof_loader *l, struct bytes ids)
{
	while (ids.len) {
		size_t count;
		const uint32_t *frames = pprof_location(&l->tables, pb_read_varint(&ids), &count);

		for (size_t i = 0; i < count; i++)
			if (stack_push(l, frames[i]) < 0)
				return -1;
	}
	return 0;
}

static void stack_reverse(struct pprof_loader *l)
{
	for (size_t i = 0; i < l->depth / 2; i++) {
		uint32_t frame = l->frames[i];

		l->frames[i] = l->frames[l->depth - 1 - i];
		l->frames[l->depth - 1 - i] = frame;
	}
}

static int stack_add(struct pprof_loader *l, const struct sample_labels *labels, uint64_t count)
{
	uint32_t node;

	if (stack_push(l, thread_frame(l, labels->thread)) < 0)
		return -1;
	if (count > COUNT_MAX - l->sum)
		return err_set(l->err, 0, "too many samples");
	l->sum += count;
	stack_reverse(l);
	node = stacks_add(l->profile->stacks, l->frames, l->depth, count);
	if (l->profile->samples && l->single && l->sum <= KEPT_MAX)
		add_samples(l, labels, node, count);
	else if (l->profile->samples)
		l->profile->samples->count = l->first_sample;
	return 0;
}

/* Reads the counted value; values may come packed or one by one. */
static void value_read(const struct pprof_loader *l, struct bytes values, size_t *at, uint64_t *ret)
{
	while (values.len) {
		uint64_t v = pb_read_varint(&values);

		if ((*at)++ == l->value && !values.bad)
			*ret = v <= INT64_MAX ? v : 0;
	}
}

static int sample_read(struct pprof_loader *l, struct bytes b)
{
	struct bytes none = bytes_of("", 0);
	struct sample_labels labels = {.thread = none};
	size_t values = 0;
	uint64_t value = 0;
	struct pb_field f;
	int rc = 0;

	for (size_t i = 0; i < FROM_COUNT; i++)
		labels.from[i] = none;
	l->depth = 0;
	while (rc == 0 && pb_next(&b, &f)) {
		if (f.number == PPROF_SAMPLE_VALUE)
			value_read(l, f.bytes, &values, &value);
		else if (f.number == PPROF_SAMPLE_LABEL)
			label_read(&l->tables, f.bytes, &labels);
		else if (f.number == PPROF_SAMPLE_LOCATION)
			rc = locations_push(l, f.bytes);
	}
	value = value / l->divisor + (value % l->divisor > l->divisor / 2);
	return rc == 0 && value ? stack_add(l, &labels, value) : rc;
}

static int profile_load(struct pprof_loader *l, struct bytes b, enum event_kind event)
{
	const struct samples *s = l->profile->samples;
	struct pb_field f;

	if (pprof_tables_read(&l->tables, b, l->profile->stacks, l->err) < 0)
		return -1;
	if (choose_value(l, event) < 0)
		return -1;
	main_frame_make(l);
	l->first_origin = s ? (uint32_t)s->origin_count : 0;
	l->first_thread = s ? (uint32_t)s->thread_count : 0;
	while (pb_next(&b, &f))
		if (f.number == PPROF_SAMPLE && sample_read(l, f.bytes) < 0)
			return -1;
	l->profile->quality.samples += l->sum;
	return 0;
}

bool pprof_is(const void *data, size_t len)
{
	/* Uncompressed data begins with a sample type: a short message of two numbers. */
	return gzip_is(data, len) ||
	       (len > 2 && memcmp(data, "\n", 1) == 0 && ((const char *)data)[1] <= 16 &&
		((const char *)data)[2] == 8);
}

int pprof_read(struct profile *p, const void *data, size_t len, enum event_kind event,
	       struct err *err)
{
	struct pprof_loader l = {
		.profile = p, .err = err, .origins = frames_new(), .threads = frames_new()};
	CLEANUP(str_fini) struct str expanded = {0};
	struct bytes b = bytes_of(data, len);
	int rc = 0;

	l.first_sample = p->samples ? p->samples->count : 0;
	if (gzip_is(data, len)) {
		rc = gzip_expand(data, len, EXPANDED_MAX, &expanded, err);
		b = bytes_of(expanded.buf, expanded.len);
	}
	if (rc == 0)
		rc = profile_load(&l, b, event);
	pprof_tables_fini(&l.tables);
	free(l.frames);
	frames_free(l.origins);
	frames_free(l.threads);
	return rc;
}
