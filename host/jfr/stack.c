// SPDX-License-Identifier: Apache-2.0
#include "jfr/chunk.h"

#include "elf/names.h"

/* Fields, by their place in the lists of wishes. */
enum { TRACE_TRUNCATED, TRACE_FRAMES };
enum { FRAME_METHOD, FRAME_LINE, FRAME_TYPE };
enum { METHOD_CLASS, METHOD_NAME, METHOD_DESCRIPTOR };
enum { CLASS_NAME };
enum { THREAD_OS_NAME, THREAD_ID, THREAD_JAVA_NAME, THREAD_VIRTUAL };

static const struct jfr_wish trace_wishes[] = {{"truncated", NULL},
					       {"frames", "jdk.types.StackFrame"}};
static const struct jfr_wish frame_wishes[] = {
	{"method", "jdk.types.Method"}, {"lineNumber", NULL}, {"type", "jdk.types.FrameType"}};
static const struct jfr_wish method_wishes[] = {
	{"type", "java.lang.Class"}, {"name", ""}, {"descriptor", ""}};
static const struct jfr_wish class_wishes[] = {{"name", ""}};
static const struct jfr_wish thread_wishes[] = {
	{"osName", ""}, {"osThreadId", NULL}, {"javaName", ""}, {"virtual", NULL}};

/* Stands before the frames of a trace. */
struct trace_head {
	uint32_t count, truncated, java, unknown;
};
#define NAMELESS   "[unknown]"
#define HEAD_WORDS (sizeof(struct trace_head) / sizeof(uint32_t))

/* The picks of a type, by its name. */
#define pick(n, name, wishes, ret)                                                                 \
	jfr_pick((n)->chunk, jfr_type_by_name((n)->chunk, name), wishes, ARRAY_LEN(wishes), ret)

void jfr_names_start(struct jfr_names *n)
{
	pick(n, "jdk.types.StackTrace", trace_wishes, &n->trace);
	pick(n, "jdk.types.StackFrame", frame_wishes, &n->frame);
	pick(n, "jdk.types.Method", method_wishes, &n->method);
	pick(n, "java.lang.Class", class_wishes, &n->class);
	pick(n, "java.lang.Thread", thread_wishes, &n->thread);
	n->methods = frames_new();
	frames_keep_places(n->methods);
}

void jfr_names_end(struct jfr_names *n)
{
	if (n->methods)
		frames_free(n->methods);
	free(n->frames);
	free(n->threads);
	str_fini(&n->text);
	*n = (struct jfr_names){0};
}

/* ---- names --------------------------------------------------------------------------------- */

/* Appends the text of a field, cleaned like all names from outside. */
static void add_name(const struct jfr_chunk *c, uint32_t field, const struct jfr_value *v,
		     struct str *ret)
{
	CLEANUP(str_fini) struct str raw = {0};

	jfr_text(c, field, v, &raw);
	if (raw.len)
		symname_add_clean(ret, raw.buf, raw.len);
}

/* Appends the name of a class; nothing if there is none, as for native functions. */
static void add_class(const struct jfr_names *n, uint64_t number, struct str *ret)
{
	CLEANUP(str_fini) struct str raw = {0};
	struct jfr_value v[JFR_PICKS];
	struct bytes b;

	if (!jfr_constant(n->chunk, n->class.type, number, &b, NULL) ||
	    !jfr_read_fields(n->chunk, &b, &n->class, v))
		return;
	jfr_text(n->chunk, n->class.field[CLASS_NAME], &v[CLASS_NAME], &raw);
	if (raw.len)
		symname_add_class(ret, raw.buf, raw.len);
}

uint32_t jfr_class_of(struct jfr_names *n, uint64_t number)
{
	str_clear(&n->text);
	add_class(n, number, &n->text);
	if (!n->text.len)
		return JFR_NONE;
	return stacks_intern(n->profile->stacks, n->text.buf, n->text.len, FRAME_STUB);
}

/* ---- frames -------------------------------------------------------------------------------- */

/* True for a function of async-profiler, whose descriptor is none of Java: "()L;", "(Lk;)L;". */
static bool is_function(struct jfr_names *n, const struct jfr_value *v)
{
	str_clear(&n->text);
	add_name(n->chunk, n->method.field[METHOD_DESCRIPTOR], &v[METHOD_DESCRIPTOR], &n->text);
	return n->text.len && has_suffix(n->text.buf, ")L:"); /* cleaned */
}

/* Adds the name of a method, or of a function with its file in place of the class. Returns its
 * number in n->methods + 1, 0: it has no name. */
static uint32_t add_method(struct jfr_names *n, const struct jfr_value *v)
{
	enum frame_kind kind = is_function(n, v) ? FRAME_NATIVE : FRAME_JAVA;
	uint32_t module = 0;

	str_clear(&n->text);
	add_class(n, v[METHOD_CLASS].number, &n->text);
	if (!n->text.len)
		kind = FRAME_NATIVE;
	if (kind == FRAME_JAVA) {
		str_addc(&n->text, '.');
	} else {
		module = frames_intern_module(n->methods, n->text.len ? n->text.buf : "");
		str_clear(&n->text);
	}
	add_name(n->chunk, n->method.field[METHOD_NAME], &v[METHOD_NAME], &n->text);
	if (!n->text.len)
		return 0;
	return 1 + frames_place(n->methods,
				frames_intern(n->methods, n->text.buf, n->text.len, kind), 0,
				module);
}

/* Returns the number of a method in n->methods + 1, of kind FRAME_JAVA or FRAME_NATIVE; 0: damaged.
 */
static uint32_t method_of(struct jfr_names *n, uint64_t number)
{
	struct jfr_value v[JFR_PICKS];
	struct bytes b;
	uint32_t *memo;
	size_t index;

	if (!jfr_constant(n->chunk, n->method.type, number, &b, &index))
		return 0;
	memo = jfr_memo(n->chunk, n->method.type);
	if (memo[index])
		return memo[index];
	if (jfr_read_fields(n->chunk, &b, &n->method, v))
		memo[index] = add_method(n, v);
	return memo[index];
}

/* Frame types, with those of async-profiler. "Native" is of a native method, too. */
static const struct {
	const char *name;
	enum frame_kind kind;
	uint32_t level; /* of compilation */
} frame_types[] = {
	{"Interpreted", FRAME_INTERPRETED, 0},
	{"JIT compiled", FRAME_JAVA, 0},
	{"Inlined", FRAME_INLINED, 0},
	{"Native", FRAME_NATIVE, 0},
	{"C++", FRAME_NATIVE, 0},
	{"Kernel", FRAME_KERNEL, 0},
	{"C1 compiled", FRAME_JAVA, 1},
};

/* Returns an index of frame_types, or their number for another one. */
static size_t frame_type_of(const struct jfr_names *n, const struct jfr_value *v)
{
	char name[16] = "";
	CLEANUP(str_fini) struct str text = {0};
	size_t i = 0;

	jfr_text(n->chunk, n->frame.field[FRAME_TYPE], v, &text);
	if (text.len && text.len < sizeof(name))
		memcpy(name, text.buf, text.len);
	while (i < ARRAY_LEN(frame_types) && strcmp(frame_types[i].name, name) != 0)
		i++;
	return i;
}

static enum frame_kind kind_of(const struct jfr_names *n, const struct frame *method, size_t type)
{
	enum frame_kind kind =
		type < ARRAY_LEN(frame_types) ? frame_types[type].kind : method->kind;
	const char *file = frames_module(n->methods, method->module);

	if (method->kind == FRAME_JAVA)
		return frame_is_java(kind) ? kind : FRAME_JAVA;
	if (kind == FRAME_KERNEL)
		return kind;
	if (!*file)
		return frame_kind_of_text(method->name, method->len);
	return has_prefix(file, "libjvm.") ? FRAME_JVM : FRAME_NATIVE;
}

/* Makes the frame of a StackFrame; false if it is damaged. */
static bool read_frame(struct jfr_names *n, struct bytes *b, uint32_t *ret)
{
	struct stacks *s = n->profile->stacks;
	struct frames *fs = stacks_frames(s);
	struct jfr_value v[JFR_PICKS];
	const struct frame *method;
	uint32_t number, line;
	enum frame_kind kind;
	size_t type, len;

	if (!jfr_read_fields(n->chunk, b, &n->frame, v))
		return false;
	number = method_of(n, v[FRAME_METHOD].number);
	if (!number && !n->chunk->whole)
		return false;
	if (!number) {
		*ret = stacks_intern(s, NAMELESS, strlen(NAMELESS), FRAME_UNKNOWN);
		return true;
	}
	method = frames_get(n->methods, number - 1);
	type = frame_type_of(n, &v[FRAME_TYPE]);
	kind = kind_of(n, method, type);
	len = method->len;
	if (kind == FRAME_KERNEL && has_suffix(method->name, frame_suffix(kind)))
		len -= strlen(frame_suffix(kind));
	*ret = stacks_intern(s, method->name, len, kind);
	line = v[FRAME_LINE].number <= INT32_MAX ? (uint32_t)v[FRAME_LINE].number : 0;
	*ret = frames_place(fs, *ret, line,
			    frames_intern_module(fs, frames_module(n->methods, method->module)));
	if (type < ARRAY_LEN(frame_types) && frame_types[type].level)
		*ret = frames_level(fs, *ret, frame_types[type].level);
	return true;
}

/* ---- traces -------------------------------------------------------------------------------- */

static void add_word(struct jfr_names *n, uint32_t word)
{
	n->frames = grow(n->frames, n->count, &n->cap, sizeof(*n->frames));
	n->frames[n->count++] = word;
}

/* Appends the trace; false if it is damaged. */
static bool read_trace(struct jfr_names *n, struct bytes b)
{
	struct trace_head head = {0};
	struct jfr_value v[JFR_PICKS];
	size_t at = n->count;
	uint64_t left;

	if (!jfr_read_fields(n->chunk, &b, &n->trace, v) || !v[TRACE_FRAMES].bytes.p)
		return false;
	b = v[TRACE_FRAMES].bytes;
	left = jfr_number(n->chunk, &b, 4);
	head.truncated = v[TRACE_TRUNCATED].number != 0;
	for (size_t i = 0; i < HEAD_WORDS; i++)
		add_word(n, 0);
	for (; left > 0; left--, head.count++) {
		const struct frame *f;
		uint32_t frame;

		if (!read_frame(n, &b, &frame)) {
			n->count = at;
			return false;
		}
		add_word(n, frame);
		f = stacks_frame(n->profile->stacks, frame);
		head.java += f->java;
		head.unknown += f->kind == FRAME_UNKNOWN;
	}
	memcpy(n->frames + at, &head, sizeof(head));
	return true;
}

bool jfr_has_trace(const struct jfr_names *n, uint64_t number)
{
	struct bytes b;

	return jfr_constant(n->chunk, n->trace.type, number, &b, NULL);
}

bool jfr_trace_of(struct jfr_names *n, uint64_t number, struct jfr_trace *ret)
{
	struct trace_head head;
	struct bytes b;
	uint32_t *memo;
	size_t index;

	*ret = (struct jfr_trace){0};
	if (!jfr_constant(n->chunk, n->trace.type, number, &b, &index))
		return number == 0 || n->chunk->whole;
	memo = jfr_memo(n->chunk, n->trace.type);
	if (!memo[index]) {
		size_t at = n->count;

		if (at >= UINT32_MAX - 1 || !read_trace(n, b))
			return false;
		memo[index] = (uint32_t)at + 1;
	}
	memcpy(&head, n->frames + memo[index] - 1, sizeof(head));
	*ret = (struct jfr_trace){.frames = n->frames + memo[index] - 1 + HEAD_WORDS,
				  .count = head.count,
				  .truncated = head.truncated,
				  .java = head.java,
				  .unknown = head.unknown};
	return true;
}

/* ---- threads ------------------------------------------------------------------------------- */

/* Adds a thread, which may be known of an earlier chunk. Returns its number + 1. */
static uint32_t add_thread(struct jfr_names *n, const char *name, size_t len, uint64_t id)
{
	struct samples *s = n->profile->samples;
	pid_t tid = id <= INT32_MAX ? (pid_t)id : 0;
	CLEANUP(free) char *key = xasprintf("%d %.*s", (int)tid, (int)len, name);
	struct jfr_thread t = {.frame = stacks_intern(n->profile->stacks, name, len, FRAME_ROOT),
			       .thread = n->first_thread + frames_intern(n->thread_keys, key,
									 strlen(key), FRAME_ROOT)};

	if (s && t.thread == s->thread_count)
		samples_add_thread(s, n->origin, 0, tid);
	n->threads = grow(n->threads, n->thread_count, &n->thread_cap, sizeof(*n->threads));
	n->threads[n->thread_count++] = t;
	return (uint32_t)n->thread_count;
}

static uint32_t read_thread(struct jfr_names *n, const struct jfr_value *v)
{
	const struct jfr_picks *p = &n->thread;

	str_clear(&n->text);
	add_name(n->chunk, p->field[THREAD_JAVA_NAME], &v[THREAD_JAVA_NAME], &n->text);
	if (!n->text.len)
		add_name(n->chunk, p->field[THREAD_OS_NAME], &v[THREAD_OS_NAME], &n->text);
	if (!n->text.len)
		str_adds(&n->text, v[THREAD_VIRTUAL].number ? "virtual thread" : NAMELESS);
	return add_thread(n, n->text.buf, n->text.len, v[THREAD_ID].number);
}

bool jfr_thread_of(struct jfr_names *n, uint64_t number, struct jfr_thread *ret)
{
	uint32_t *memo = &n->nobody;
	struct jfr_value v[JFR_PICKS];
	struct bytes b;
	size_t index;

	if (jfr_constant(n->chunk, n->thread.type, number, &b, &index)) {
		memo = &jfr_memo(n->chunk, n->thread.type)[index];
		if (!*memo && !jfr_read_fields(n->chunk, &b, &n->thread, v))
			return false;
		if (!*memo)
			*memo = read_thread(n, v);
	} else if (number && !n->chunk->whole) {
		return false;
	} else if (!*memo) {
		*memo = add_thread(n, NAMELESS, strlen(NAMELESS), 0);
	}
	*ret = n->threads[*memo - 1];
	return true;
}
