// SPDX-License-Identifier: Apache-2.0
#include "common/table.h"
#include "elf/names.h"
#include "format/pprof.h"

/* The text with this number, or an empty one. */
static struct bytes text_get(const struct pprof_tables *t, uint64_t number)
{
	return number < t->text_count ? t->texts[number] : bytes_of("", 0);
}

struct pb_field pprof_field(struct bytes message, unsigned number)
{
	struct pb_field f;

	while (pb_next(&message, &f))
		if (f.number == number)
			return f;
	return (struct pb_field){.bytes = bytes_of("", 0)};
}

struct bytes pprof_field_text(const struct pprof_tables *t, struct bytes message, unsigned number)
{
	return text_get(t, pprof_field(message, number).value);
}

/* ---- messages with ids ---- */

static void table_add(struct pprof_table *t, struct bytes message)
{
	t->list = grow(t->list, t->count, &t->cap, sizeof(*t->list));
	t->list[t->count++] = (struct pprof_message){pprof_field(message, PPROF_ID).value, message};
}

/* Of messages with the same id, the last in the file comes last. */
static int compare_messages(const void *a, const void *b)
{
	const struct pprof_message *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->bytes.p > y->bytes.p) - (x->bytes.p < y->bytes.p);
}

static void table_sort(struct pprof_table *t)
{
	if (t->count)
		qsort(t->list, t->count, sizeof(*t->list), compare_messages);
}

/* Index of the last message with this id, or SIZE_MAX. */
static size_t table_find(const struct pprof_table *t, uint64_t id)
{
	size_t n = t->count ? upper_bound(&t->list->id, t->count, sizeof(*t->list), id) : 0;

	return n && t->list[n - 1].id == id ? n - 1 : SIZE_MAX;
}

static struct bytes table_message(const struct pprof_table *t, uint64_t id)
{
	size_t i = table_find(t, id);

	return i == SIZE_MAX ? bytes_of("", 0) : t->list[i].bytes;
}

/* ---- frames ---- */

static enum frame_kind kind_of(struct bytes name, struct bytes system_name, const char *file)
{
	struct bytes suffix = system_name;

	if (bytes_take(&suffix, name.len) &&
	    (!name.len || memcmp(system_name.p, name.p, name.len) == 0))
		for (enum frame_kind k = 0; k < FRAME_KINDS; k++)
			if (bytes_are(suffix, pprof_suffix(k)))
				return k;
	if (has_prefix(file, "[kernel") || has_prefix(file, "[guest.kernel"))
		return FRAME_KERNEL;
	return name.len || system_name.len ? FRAME_NATIVE : FRAME_UNKNOWN;
}

static uint32_t module_of(const struct pprof_tables *t, struct stacks *s, uint64_t mapping)
{
	struct bytes message = table_message(&t->mappings, mapping);
	struct bytes file = pprof_field_text(t, message, PPROF_MAPPING_FILE);
	CLEANUP(str_fini) struct str path = {0};

	if (file.len == 0)
		return 0;
	symname_add_clean(&path, (const char *)file.p, file.len);
	return frames_intern_module(stacks_frames(s), path.buf);
}

static void frame_add(struct pprof_tables *t, uint32_t frame)
{
	t->frames = grow(t->frames, t->frame_count, &t->frame_cap, sizeof(*t->frames));
	t->frames[t->frame_count++] = frame;
}

static void line_add(struct pprof_tables *t, struct stacks *s, struct bytes line, uint32_t module)
{
	struct frames *frames = stacks_frames(s);
	uint64_t number = pprof_field(line, PPROF_LINE_NUMBER).value;
	struct bytes f = table_message(&t->functions, pprof_field(line, PPROF_LINE_FUNCTION).value);
	struct bytes name = pprof_field_text(t, f, PPROF_FUNCTION_NAME);
	struct bytes system_name = pprof_field_text(t, f, PPROF_FUNCTION_SYSTEM_NAME);
	enum frame_kind kind = kind_of(name, system_name, frames_module(frames, module));
	struct bytes shown = name.len ? name : system_name;
	CLEANUP(str_fini) struct str text = {0};
	uint32_t frame;

	symname_add_clean(&text, (const char *)shown.p, shown.len);
	frame = stacks_intern(s, text.buf, text.len, kind);
	frame_add(t,
		  frames_place(frames, frame, number <= INT32_MAX ? (uint32_t)number : 0, module));
}

/* Adds a frame for an address without a function, named after its file like dfg's unknown frames.
 */
static void unknown_add(struct pprof_tables *t, struct stacks *s, uint32_t module)
{
	const char *file = frames_module(stacks_frames(s), module);
	CLEANUP(str_fini) struct str name = {0};
	size_t len;
	const char *base = symname_base(file, &len);

	if (len == 0)
		str_adds(&name, "[unknown]");
	else
		str_addf(&name, *base == '[' ? "%.*s" : "[%.*s]", (int)len, base);
	frame_add(t, frames_place(stacks_frames(s),
				  stacks_intern(s, name.buf, name.len, FRAME_UNKNOWN), 0, module));
}

static void locations_read(struct pprof_tables *t, struct stacks *s)
{
	t->begins = xcalloc(t->locations.count + 1, sizeof(*t->begins));
	for (size_t i = 0; i < t->locations.count; i++) {
		struct bytes b = t->locations.list[i].bytes;
		uint32_t module = module_of(t, s, pprof_field(b, PPROF_LOCATION_MAPPING).value);
		struct pb_field f;

		t->begins[i] = t->frame_count;
		while (pb_next(&b, &f))
			if (f.number == PPROF_LOCATION_LINE)
				line_add(t, s, f.bytes, module);
		if (t->frame_count == t->begins[i])
			unknown_add(t, s, module);
	}
	t->begins[t->locations.count] = t->frame_count;
}

const uint32_t *pprof_location(const struct pprof_tables *t, uint64_t id, size_t *ret_count)
{
	size_t i = table_find(&t->locations, id);

	*ret_count = i == SIZE_MAX ? 0 : t->begins[i + 1] - t->begins[i];
	return i == SIZE_MAX ? NULL : t->frames + t->begins[i];
}

/* ---- types of values ---- */

struct pprof_value pprof_value_of(const char *unit)
{
	if (unit && !strcmp(unit, "bytes"))
		return (struct pprof_value){"alloc_space", "bytes"};
	if (unit && !strcmp(unit, "ns"))
		return (struct pprof_value){"delay", "nanoseconds"};
	return (struct pprof_value){"samples", "count"};
}

/* ---- all tables ---- */

static struct pprof_type type_read(const struct pprof_tables *t, struct bytes message)
{
	return (struct pprof_type){.type = pprof_field_text(t, message, PPROF_VALUE_TYPE),
				   .unit = pprof_field_text(t, message, PPROF_VALUE_UNIT)};
}

static void field_add(struct pprof_tables *t, const struct pb_field *f)
{
	switch (f->number) {
	case PPROF_STRING:
		t->texts = grow(t->texts, t->text_count, &t->text_cap, sizeof(*t->texts));
		t->texts[t->text_count++] = f->bytes;
		break;
	case PPROF_MAPPING:
		table_add(&t->mappings, f->bytes);
		break;
	case PPROF_LOCATION:
		table_add(&t->locations, f->bytes);
		break;
	case PPROF_FUNCTION:
		table_add(&t->functions, f->bytes);
		break;
	case PPROF_SAMPLE_TYPE:
		/* Resolved after all texts are read. */
		t->types = grow(t->types, t->type_count, &t->type_cap, sizeof(*t->types));
		t->types[t->type_count++] = (struct pprof_type){.type = f->bytes};
		break;
	default:
		break;
	}
}

int pprof_tables_read(struct pprof_tables *t, struct bytes profile, struct stacks *s,
		      struct err *err)
{
	struct bytes b = profile;
	struct pb_field f;

	*t = (struct pprof_tables){0};
	while (pb_next(&b, &f))
		field_add(t, &f);
	if (b.bad || t->type_count == 0)
		return err_set(err, 0, "damaged, or not a pprof profile");
	for (size_t i = 0; i < t->type_count; i++)
		t->types[i] = type_read(t, t->types[i].type);
	t->period_type = type_read(t, pprof_field(profile, PPROF_PERIOD_TYPE).bytes);
	t->period = pprof_field(profile, PPROF_PERIOD).value;
	t->default_type = pprof_field_text(t, profile, PPROF_DEFAULT_TYPE);
	t->first_mapping = t->mappings.count ? t->mappings.list[0].bytes : bytes_of("", 0);
	table_sort(&t->mappings);
	table_sort(&t->locations);
	table_sort(&t->functions);
	locations_read(t, s);
	return 0;
}

void pprof_tables_fini(struct pprof_tables *t)
{
	free(t->mappings.list);
	free(t->locations.list);
	free(t->functions.list);
	free(t->texts);
	free(t->types);
	free(t->frames);
	free(t->begins);
}
