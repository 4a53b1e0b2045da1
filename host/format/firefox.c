// SPDX-License-Identifier: Apache-2.0
/* Writes Firefox Profiler's processed format (firefox-devtools/profiler, src/types/profile.ts),
 * version 60: the first whose threads share one set of tables, so that its stack table is the call
 * tree. Later versions upgrade it on loading (src/profile-logic/processed-profile-versioning). */
#include "common/clock.h"
#include "format/format.h"
#include "format/palette.h"
#include "format/text.h"
#include "format/timeline.h"
#include "session/session.h"

#define FORMAT_VERSION 60

/* The profiler's colours nearest to the palette. Its first grey one is the default category, used
 * for unknown frames. */
static const char *const colours[FRAME_KINDS] = {
	[FRAME_ROOT] = "darkgrey",     [FRAME_NATIVE] = "red",	[FRAME_JVM] = "yellow",
	[FRAME_KERNEL] = "orange",     [FRAME_JAVA] = "green",	[FRAME_INLINED] = "lightblue",
	[FRAME_INTERPRETED] = "brown", [FRAME_STUB] = "purple", [FRAME_UNKNOWN] = "grey",
};

struct firefox_writer {
	const struct stacks *stacks;
	const struct frames *frames;
	const struct picture *picture;
	uint32_t *modules;		      /* of each function */
	const struct timeline_thread *thread; /* the current one */
	struct out out;
};

static void write_text(struct firefox_writer *w, const char *text)
{
	text_json(&w->out.buf, text, strlen(text));
}

/* ---- tables of columns ---- */

typedef void cell_fn(struct firefox_writer *w, size_t row);

static void next(struct firefox_writer *w, bool first)
{
	if (!first)
		str_addc(&w->out.buf, ',');
	out_tick(&w->out);
}

static void table_begin(struct firefox_writer *w, const char *name, size_t rows)
{
	str_addf(&w->out.buf, ",\n\"%s\":{\"length\":%zu", name, rows);
}

static void column(struct firefox_writer *w, const char *name, size_t rows, cell_fn *cell)
{
	str_addf(&w->out.buf, ",\n\"%s\":[", name);
	for (size_t i = 0; i < rows; i++) {
		next(w, i == 0);
		cell(w, i);
	}
	str_addc(&w->out.buf, ']');
}

/* Writes a column with the same value in all rows. */
static void constant(struct firefox_writer *w, const char *name, size_t rows, const char *value)
{
	str_addf(&w->out.buf, ",\n\"%s\":[", name);
	for (size_t i = 0; i < rows; i++) {
		next(w, i == 0);
		str_adds(&w->out.buf, value);
	}
	str_addc(&w->out.buf, ']');
}

static void table_end(struct firefox_writer *w)
{
	str_addc(&w->out.buf, '}');
}

/* Writes a number, or `none`. */
static void number_or(struct firefox_writer *w, bool is, uint64_t n, const char *none)
{
	if (is)
		str_addu(&w->out.buf, n);
	else
		str_adds(&w->out.buf, none);
}

static void row_cell(struct firefox_writer *w, size_t row)
{
	str_addu(&w->out.buf, row);
}

/* ---- stacks: row n is node n + 1 ---- */

/* False for a thread's name, which is no frame here. */
static bool in_stack(const struct firefox_writer *w, uint32_t node)
{
	const struct stack_node *n = stacks_node(w->stacks, node);

	return node && (n->parent || stacks_frame(w->stacks, n->frame)->kind != FRAME_ROOT);
}

static void prefix_cell(struct firefox_writer *w, size_t row)
{
	uint32_t parent = stacks_node(w->stacks, (uint32_t)row + 1)->parent;

	number_or(w, in_stack(w, parent), parent - 1ull, "null");
}

static void stack_frame_cell(struct firefox_writer *w, size_t row)
{
	str_addu(&w->out.buf, stacks_node(w->stacks, (uint32_t)row + 1)->frame);
}

static void write_stacks(struct firefox_writer *w)
{
	size_t rows = stacks_node_count(w->stacks) - 1;

	table_begin(w, "stackTable", rows);
	column(w, "prefix", rows, prefix_cell);
	column(w, "frame", rows, stack_frame_cell);
	table_end(w);
}

/* ---- frames, and a function for each; only functions of plain frames are used ---- */

static void kind_cell(struct firefox_writer *w, size_t row)
{
	str_addu(&w->out.buf, frames_get(w->frames, (uint32_t)row)->kind);
}

static void depth_cell(struct firefox_writer *w, size_t row)
{
	str_addu(&w->out.buf, frames_get(w->frames, (uint32_t)row)->kind == FRAME_INLINED);
}

static void plain_cell(struct firefox_writer *w, size_t row)
{
	str_addu(&w->out.buf, frames_get(w->frames, (uint32_t)row)->plain);
}

static void line_cell(struct firefox_writer *w, size_t row)
{
	uint32_t line = frames_get(w->frames, (uint32_t)row)->line;

	number_or(w, line, line, "null");
}

static void resource_cell(struct firefox_writer *w, size_t row)
{
	number_or(w, w->modules[row], w->modules[row] - 1ull, "-1");
}

static void write_frames(struct firefox_writer *w)
{
	size_t rows = frames_count(w->frames);

	table_begin(w, "frameTable", rows);
	constant(w, "address", rows, "-1");
	column(w, "inlineDepth", rows, depth_cell);
	column(w, "category", rows, kind_cell);
	constant(w, "subcategory", rows, "0");
	column(w, "func", rows, plain_cell);
	constant(w, "nativeSymbol", rows, "null");
	constant(w, "innerWindowID", rows, "null");
	column(w, "line", rows, line_cell);
	constant(w, "column", rows, "null");
	table_end(w);
}

/* A function gets the file of any of its frames. */
static void write_functions(struct firefox_writer *w)
{
	size_t rows = frames_count(w->frames);

	w->modules = xcalloc(rows + 1, sizeof(*w->modules));
	for (uint32_t i = 0; i < rows; i++)
		if (frames_get(w->frames, i)->module)
			w->modules[frames_get(w->frames, i)->plain] =
				frames_get(w->frames, i)->module;
	table_begin(w, "funcTable", rows);
	column(w, "name", rows, row_cell);
	constant(w, "isJS", rows, "false");
	constant(w, "relevantForJS", rows, "false");
	column(w, "resource", rows, resource_cell);
	constant(w, "source", rows, "null");
	constant(w, "lineNumber", rows, "null");
	constant(w, "columnNumber", rows, "null");
	table_end(w);
}

/* ---- files, and the strings: names of the frames, then of the files ---- */

static void file_name_cell(struct firefox_writer *w, size_t row)
{
	str_addu(&w->out.buf, frames_count(w->frames) + row);
}

/* Type 1 is a library (src/profile-logic/data-structures, resourceTypes). */
static void write_resources(struct firefox_writer *w)
{
	size_t rows = frames_module_count(w->frames) - 1;

	table_begin(w, "resourceTable", rows);
	constant(w, "type", rows, "1");
	column(w, "lib", rows, row_cell);
	column(w, "name", rows, file_name_cell);
	constant(w, "host", rows, "null");
	table_end(w);
}

static void string_cell(struct firefox_writer *w, size_t row)
{
	size_t names = frames_count(w->frames);

	if (row < names)
		write_text(w, frames_get(w->frames, (uint32_t)row)->name);
	else
		write_text(w, frames_module(w->frames, (uint32_t)(row - names + 1)));
}

static void write_shared(struct firefox_writer *w)
{
	str_adds(&w->out.buf,
		 ",\n\"shared\":{\"sources\":{\"length\":0,\"id\":[],\"filename\":[]}");
	table_begin(w, "nativeSymbols", 0);
	str_adds(&w->out.buf, ",\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[]");
	table_end(w);
	write_stacks(w);
	write_frames(w);
	write_functions(w);
	write_resources(w);
	column(w, "stringArray", frames_count(w->frames) + frames_module_count(w->frames) - 1,
	       string_cell);
	str_addc(&w->out.buf, '}');
}

/* ---- threads ---- */

static void stack_cell(struct firefox_writer *w, size_t row)
{
	uint32_t node = w->thread->entries[row].node;

	number_or(w, in_stack(w, node), node - 1ull, "null");
}

static void time_cell(struct firefox_writer *w, size_t row)
{
	text_fixed(&w->out.buf, w->thread->entries[row].time / 1000, 3);
}

/* A type that the Firefox Profiler knows. */
static const char *weight_type(const struct picture *p)
{
	if (p->unit && !strcmp(p->unit, "bytes"))
		return "bytes";
	return p->unit && !strcmp(p->unit, "ns") ? "tracing-ms" : "samples";
}

static void weight_cell(struct firefox_writer *w, size_t row)
{
	const bool times = w->picture->unit && !strcmp(w->picture->unit, "ns");

	text_fixed(&w->out.buf, w->thread->entries[row].count, times ? 6 : 0);
}

/* A sample stands for a period of processor time, since only running threads are sampled. */
static void cpu_cell(struct firefox_writer *w, size_t row)
{
	str_addu(&w->out.buf, w->thread->entries[row].count * 1000000 / w->picture->frequency);
}

static void write_thread(struct firefox_writer *w, const struct timeline_thread *t, size_t number)
{
	CLEANUP(free)
	char *label = t->origin ? container_label(t->origin->namespace, t->origin->pod,
						  t->origin->container)
				: NULL;
	struct str *o = &w->out.buf;

	w->thread = t;
	str_addf(o,
		 "{\"processType\":\"default\",\"processStartupTime\":0,"
		 "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
		 "\"pausedRanges\":[],\"isMainThread\":%s,\"pid\":\"%d\",\"tid\":%zu,\"name\":",
		 t->tid && t->tid == t->pid ? "true" : "false", (int)t->pid,
		 t->tid ? (size_t)t->tid : number);
	write_text(w, *t->name ? t->name : "[unknown]");
	str_adds(o, ",\"processName\":");
	write_text(w, label && *label ? label : "dfg");
	table_begin(w, "markers", 0);
	str_adds(o, ",\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
		    "\"category\":[]");
	table_end(w);
	table_begin(w, "samples", t->count);
	str_addf(o, ",\"weightType\":\"%s\"", weight_type(w->picture));
	column(w, "stack", t->count, stack_cell);
	column(w, "time", t->count, time_cell);
	column(w, "weight", t->count, weight_cell);
	if (w->picture->frequency)
		column(w, "threadCPUDelta", t->count, cpu_cell);
	table_end(w);
	str_addc(o, '}');
}

/* ---- metadata ---- */

static void category_cell(struct firefox_writer *w, size_t row)
{
	str_addf(&w->out.buf, "{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
		 palette_look((enum frame_kind)row)->label, colours[row]);
}

static void write_meta(struct firefox_writer *w, const struct samples *samples)
{
	const struct picture *p = w->picture;
	struct str *o = &w->out.buf;

	str_adds(o, "{\"meta\":{\"product\":");
	write_text(w, p->title);
	str_addf(
		o,
		",\"importedFrom\":\"dfg " DFG_VERSION "\",\"preprocessedProfileVersion\":%d,"
		"\"version\":31,\"processType\":0,\"stackwalk\":1,\"debug\":false,"
		"\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
		"\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[],\"sampleUnits\":{\"time\":"
		"\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"µs\"},\"platform\":\"Linux\","
		"\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]},\"interval\":",
		FORMAT_VERSION);
	text_fixed(o, p->frequency ? 1000000 / p->frequency : 1000, 3);
	str_adds(o, ",\"startTime\":");
	str_addu(o, samples && samples->origin_count
			    ? (uint64_t)clock_of(samples->origins[0].started) * 1000
			    : 0);
	column(w, "categories", FRAME_KINDS, category_cell);
	str_addc(o, '}');
}

static void lib_cell(struct firefox_writer *w, size_t row)
{
	static const char *const members[] = {"name", "path", "debugName", "debugPath"};

	str_adds(&w->out.buf, "{\"arch\":\"\",\"breakpadId\":\"\",\"codeId\":null");
	for (size_t m = 0; m < ARRAY_LEN(members); m++) {
		str_addf(&w->out.buf, ",\"%s\":", members[m]);
		write_text(w, frames_module(w->frames, (uint32_t)row + 1));
	}
	str_addc(&w->out.buf, '}');
}

int draw_firefox(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	struct firefox_writer w = {.stacks = p->details ? p->details->stacks : s,
				   .picture = p,
				   .out = {.fd = fd, .err = err}};
	const struct samples *samples = p->details ? p->details->samples : NULL;
	struct timeline t;

	w.frames = stacks_frames(w.stacks);
	timeline_make(&t, w.stacks, samples);
	write_meta(&w, samples);
	column(&w, "libs", frames_module_count(w.frames) - 1, lib_cell);
	write_shared(&w);
	str_adds(&w.out.buf, ",\n\"threads\":[\n");
	for (size_t i = 0; i < t.count; i++) {
		next(&w, i == 0);
		write_thread(&w, &t.threads[i], i + 1);
	}
	str_adds(&w.out.buf, "],\n\"pages\":[],\"counters\":[]}\n");
	timeline_fini(&t);
	free(w.modules);
	return out_end(&w.out);
}
