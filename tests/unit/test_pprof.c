// SPDX-License-Identifier: Apache-2.0
#include "format/gzip.h"
#include "format/pprof.h"
#include "lib/drawn.h"
#include "lib/tap.h"

/* ---- a profile with all that there is ---- */

static uint32_t frame(struct profile *p, const char *name, enum frame_kind kind, uint32_t line,
		      const char *module)
{
	struct frames *fs = stacks_frames(p->stacks);

	return frames_place(fs, frames_intern(fs, name, strlen(name), kind), line,
			    frames_intern_module(fs, module));
}

static void profile_make(struct profile *p)
{
	uint32_t stack[FRAME_KINDS + 1], origin, one, other, node;

	profile_init(p, true);
	origin =
		samples_add_origin(p->samples, &(struct origin){.container = "web",
								.id = "0123",
								.pod = "web-1",
								.namespace = "shop",
								.host = "db1",
								.started = "2026-11-21T10:00:00Z"});
	one = samples_add_thread(p->samples, origin, 7, 8);
	other = samples_add_thread(p->samples, origin, 7, 9);
	stack[0] = frame(p, "exec-1", FRAME_ROOT, 0, "");
	stack[1] = frame(p, "start_thread", FRAME_NATIVE, 0, "/lib/libc.so.6");
	stack[2] = frame(p, "JavaThread::run", FRAME_JVM, 0, "/jdk/libjvm.so");
	stack[3] = frame(p, "a.B.c", FRAME_INTERPRETED, 12, "");
	stack[4] = frame(p, "a.B.d", FRAME_JAVA, 34, "");
	stack[5] = frame(p, "a.B.e", FRAME_INLINED, 56, "");
	stack[6] = frame(p, "a.B.f", FRAME_INLINED, 78, "");
	stack[7] = frame(p, "jlong_disjoint_arraycopy", FRAME_STUB, 0, "");
	stack[8] = frame(p, "[anon]", FRAME_UNKNOWN, 0, "");
	stack[9] = frame(p, "page_fault", FRAME_KERNEL, 0, "[kernel.kallsyms]");
	node = stacks_add(p->stacks, stack, 10, 1);
	samples_add(p->samples, 0, node, one);
	stacks_add(p->stacks, stack, 10, 2);
	samples_add(p->samples, 10, node, one);
	samples_add(p->samples, 20, node, other);
	/* The same method at another line is another place; without a sample of its own kind. */
	stack[4] = frame(p, "a.B.d", FRAME_JAVA, 35, "");
	stacks_add(p->stacks, stack, 5, 4);
}

static void add_origin(struct str *out, const struct sample_thread *t, const struct origin *o)
{
	str_addf(out, " %d/%d/%s/%s/%s/%s/%s", (int)t->pid, (int)t->tid, o->container, o->id,
		 o->pod, o->namespace, o->host);
}

/* Every stack with places, samples and threads: what must come back. */
static char *text_of(const struct profile *p)
{
	struct str out = {0};

	for (uint32_t n = 0; n < stacks_node_count(p->stacks); n++) {
		uint64_t self = stacks_node(p->stacks, n)->self;

		if (!self)
			continue;
		str_addf(&out, "%d:", (int)self);
		for (uint32_t at = n; at; at = stacks_node(p->stacks, at)->parent) {
			const struct frame *f =
				stacks_frame(p->stacks, stacks_node(p->stacks, at)->frame);

			str_addf(&out, " %s/%d:%u@%s", f->name, (int)f->kind, f->line,
				 frames_module(stacks_frames(p->stacks), f->module));
		}
		for (size_t i = 0; i < p->samples->count; i++) {
			const struct sample *s = &p->samples->list[i];
			const struct sample_thread *t = &p->samples->threads[s->thread];

			if (s->node == n && t->pid)
				add_origin(&out, t, &p->samples->origins[t->origin]);
		}
		str_addc(&out, '\n');
	}
	return out.buf;
}

static void drawn(const struct profile *p, struct str *ret)
{
	CLEANUP(close_fd) int fd = memfd_create("pprof", MFD_CLOEXEC);
	struct picture picture = {.title = "title",
				  .subtitle = "subtitle",
				  .frequency = 100,
				  .duration = 1.5,
				  .details = p};
	struct err err;

	ok(draw_pprof(p->stacks, &picture, fd, &err) == 0, "drawn");
	ok(lseek(fd, 0, SEEK_SET) == 0 && fs_read_all(fd, 1 << 20, ret, &err) == 0, "read");
}

static void test_round_trip(void)
{
	CLEANUP(str_fini) struct str data = {0};
	CLEANUP(str_fini) struct str expanded = {0};
	CLEANUP(free) char *before = NULL;
	CLEANUP(free) char *after = NULL;
	struct profile p, again, plain;
	struct err err = {0};

	profile_make(&p);
	drawn(&p, &data);
	ok(pprof_is(data.buf, data.len), "known as pprof");
	profile_init(&again, true);
	ok(pprof_read(&again, data.buf, data.len, EVENT_CPU, &err) == 0, "read back: %s", err.msg);
	is_int(again.quality.samples, 7, "all samples");
	before = text_of(&p);
	after = text_of(&again);
	is_str(after, before, "kinds, lines, modules, threads and containers survive");
	ok(gzip_expand(data.buf, data.len, 1 << 20, &expanded, &err) == 0 &&
		   pprof_is(expanded.buf, expanded.len),
	   "known without compression, too");
	profile_init(&plain, false);
	ok(pprof_read(&plain, expanded.buf, expanded.len, EVENT_CPU, &err) == 0, "read without");
	profile_fini(&plain);
	profile_fini(&again);
	profile_fini(&p);
}

/* ---- messages by hand ---- */

static void message_add(struct str *out, unsigned field, const struct str *message)
{
	pb_add_bytes(out, field, message->buf ? message->buf : "", message->len);
}

/* A message of numbers: field, value, …, 0. */
static void numbers_add(struct str *out, unsigned field, const uint64_t *numbers)
{
	CLEANUP(str_fini) struct str m = {0};

	for (; *numbers; numbers += 2)
		pb_add_number(&m, (unsigned)numbers[0], numbers[1]);
	message_add(out, field, &m);
}
#define NUMBERS(...) ((const uint64_t[]){__VA_ARGS__, 0})

/* Of an allocation profiler: no count of samples, values not packed, no thread. */
static void foreign_make(struct str *out, const char *space, uint64_t value_type, uint64_t period)
{
	const char *const texts[] = {"",    "objects",	 "count",
				     space, "bytes",	 "f",
				     "g",   "/bin/tool", "[kernel.kallsyms]_text"};
	CLEANUP(str_fini) struct str m = {0};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		pb_add_bytes(out, PPROF_STRING, texts[i], strlen(texts[i]));
	numbers_add(out, PPROF_SAMPLE_TYPE, NUMBERS(PPROF_VALUE_TYPE, 1, PPROF_VALUE_UNIT, 2));
	numbers_add(out, PPROF_SAMPLE_TYPE, NUMBERS(PPROF_VALUE_TYPE, 3, PPROF_VALUE_UNIT, 4));
	numbers_add(out, PPROF_PERIOD_TYPE, NUMBERS(PPROF_VALUE_TYPE, 3, PPROF_VALUE_UNIT, 4));
	pb_add_number(out, PPROF_PERIOD, period);
	pb_add_number(out, PPROF_DEFAULT_TYPE, value_type);
	numbers_add(out, PPROF_MAPPING, NUMBERS(PPROF_ID, 1, PPROF_MAPPING_FILE, 7));
	numbers_add(out, PPROF_MAPPING, NUMBERS(PPROF_ID, 2, PPROF_MAPPING_FILE, 8));
	numbers_add(out, PPROF_FUNCTION, NUMBERS(PPROF_ID, 11, PPROF_FUNCTION_NAME, 5));
	numbers_add(out, PPROF_FUNCTION, NUMBERS(PPROF_ID, 12, PPROF_FUNCTION_SYSTEM_NAME, 6));
	for (uint64_t i = 0; i < 2; i++) {
		str_clear(&m);
		pb_add_number(&m, PPROF_ID, 21 + i);
		pb_add_number(&m, PPROF_LOCATION_MAPPING, 1 + i);
		numbers_add(&m, PPROF_LOCATION_LINE, NUMBERS(PPROF_LINE_FUNCTION, 11 + i));
		message_add(out, PPROF_LOCATION, &m);
	}
	numbers_add(out, PPROF_LOCATION, NUMBERS(PPROF_ID, 23, PPROF_LOCATION_MAPPING, 1));
	numbers_add(out, PPROF_SAMPLE,
		    NUMBERS(PPROF_SAMPLE_LOCATION, 22, PPROF_SAMPLE_LOCATION, 21,
			    PPROF_SAMPLE_LOCATION, 23, PPROF_SAMPLE_LOCATION, 99,
			    PPROF_SAMPLE_VALUE, 3, PPROF_SAMPLE_VALUE, 3500));
}

static void check_folded(const struct str *data, const char *want, const char *name)
{
	CLEANUP(free) char *text = NULL;
	struct profile p;
	struct err err = {0};

	profile_init(&p, false);
	if (pprof_read(&p, data->buf, data->len, EVENT_CPU, &err) < 0)
		text = xstrdup(err.msg);
	else
		text = drawn_folded(p.stacks);
	is_str(text, want, "%s", name);
	profile_fini(&p);
}

static void test_foreign(void)
{
	CLEANUP(str_fini) struct str data = {0};

	foreign_make(&data, "space", 0, 0);
	check_folded(&data, "tool;[tool];f;g_[k] 3500\n",
		     "the last value counts; what has no name goes by its file");
	str_clear(&data);
	foreign_make(&data, "space", 1, 0);
	check_folded(&data, "tool;[tool];f;g_[k] 3\n", "the default value, where it is told");
	str_clear(&data);
	foreign_make(&data, "space", 0, 1000);
	check_folded(&data, "tool;[tool];f;g_[k] 3\n",
		     "so much of it a sample, where that is told");
}

/* Bytes are no samples: those of some megabytes would take gigabytes. */
static void test_bytes(void)
{
	CLEANUP(str_fini) struct str data = {0};
	struct profile p;
	struct err err;

	foreign_make(&data, "alloc_space", 0, 0);
	profile_init(&p, true);
	is_int(pprof_read(&p, data.buf, data.len, EVENT_ALLOC, &err), 0, "allocated bytes");
	is_int((int64_t)p.quality.samples, 3500, "all of them count");
	is_int((int64_t)p.samples->count, 0, "they are not kept one by one");
	profile_fini(&p);
}

/* ---- a profile by hand, with a table of texts ---------------------------------------------- */

struct made {
	struct str profile;
	struct frames *texts;
};

static uint64_t text_of_made(struct made *m, const char *text)
{
	return frames_intern(m->texts, text, strlen(text), FRAME_ROOT);
}

static void made_begin(struct made *m, const char *type, const char *unit)
{
	*m = (struct made){.texts = frames_new()};
	text_of_made(m, "");
	numbers_add(&m->profile, PPROF_SAMPLE_TYPE,
		    NUMBERS(PPROF_VALUE_TYPE, text_of_made(m, type), PPROF_VALUE_UNIT,
			    text_of_made(m, unit)));
}

/* Adds function and location `id`; file 0: in no mapping. */
static void made_location(struct made *m, uint64_t id, const char *name, const char *system,
			  uint64_t mapping, uint64_t line)
{
	CLEANUP(str_fini) struct str location = {0};

	pb_add_number(&location, PPROF_ID, id);
	pb_add_number(&location, PPROF_LOCATION_MAPPING, mapping);
	if (*name || *system) {
		CLEANUP(str_fini) struct str f = {0};

		pb_add_number(&f, PPROF_ID, id);
		pb_add_number(&f, PPROF_FUNCTION_NAME, text_of_made(m, name));
		pb_add_number(&f, PPROF_FUNCTION_SYSTEM_NAME, text_of_made(m, system));
		message_add(&m->profile, PPROF_FUNCTION, &f);
		str_clear(&f);
		pb_add_number(&f, PPROF_LINE_FUNCTION, id);
		pb_add_number(&f, PPROF_LINE_NUMBER, line);
		message_add(&location, PPROF_LOCATION_LINE, &f);
	}
	message_add(&m->profile, PPROF_LOCATION, &location);
}

static void made_mapping(struct made *m, uint64_t id, const char *file)
{
	numbers_add(&m->profile, PPROF_MAPPING,
		    NUMBERS(PPROF_ID, id, PPROF_MAPPING_FILE, text_of_made(m, file)));
}

/* Adds a sample of one location. */
static void made_sample(struct made *m, uint64_t location, uint64_t value, const struct str *labels)
{
	CLEANUP(str_fini) struct str sample = {0};

	pb_add_number(&sample, PPROF_SAMPLE_LOCATION, location);
	pb_add_number(&sample, PPROF_SAMPLE_VALUE, value);
	if (labels)
		str_add(&sample, labels->buf, labels->len);
	message_add(&m->profile, PPROF_SAMPLE, &sample);
}

static void made_end(struct made *m)
{
	for (uint32_t i = 0; i < frames_count(m->texts); i++) {
		const struct frame *f = frames_get(m->texts, i);

		pb_add_bytes(&m->profile, PPROF_STRING, f->name, f->len);
	}
}

static void made_fini(struct made *m)
{
	frames_free(m->texts);
	str_fini(&m->profile);
}

static void check_made(struct made *m, const char *want, const char *name)
{
	made_end(m);
	check_folded(&m->profile, want, name);
	made_fini(m);
}

static void test_values(void)
{
	static const struct {
		const char *type, *unit, *period_type, *period_unit;
		uint64_t period, value;
		const char *want, *name;
	} t[] = {
		{"cpu", "ns", "cpu", "ns", 1000, 500, "", "half a sample is none"},
		{"cpu", "ns", "cpu", "ns", 1000, 501, "all;f 1\n", "more than a half is one"},
		{"cpu", "ns", "cpu", "ns", 1000, 1500, "all;f 1\n", "one and a half is one"},
		{"cpu", "ns", "cpu", "ns", 1000, 1501, "all;f 2\n", "more than that is two"},
		{"cpu", "ns", "cpu", "ms", 1000, 1501, "all;f 1501\n",
		 "a period of another unit does not count"},
		{"cpu", "ns", "wall", "ns", 1000, 1501, "all;f 1501\n",
		 "a period of another type does not count"},
		{"cpu", "ns", "cpu", "ns", UINT64_MAX, 7, "all;f 7\n",
		 "a negative period does not count"},
		{"cpu", "ns", "", "", 0, UINT64_MAX, "", "a negative value does not count"},
		{"cpu", "ns", "", "", 0, UINT64_C(1) << 53, "all;f 9007199254740992\n",
		 "2^53 samples are counted"},
		{"cpu", "ns", "", "", 0, (UINT64_C(1) << 53) + 1, "too many samples",
		 "more than 2^53 samples are refused"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct made m;

		made_begin(&m, t[i].type, t[i].unit);
		numbers_add(&m.profile, PPROF_PERIOD_TYPE,
			    NUMBERS(PPROF_VALUE_TYPE, text_of_made(&m, t[i].period_type),
				    PPROF_VALUE_UNIT, text_of_made(&m, t[i].period_unit)));
		pb_add_number(&m.profile, PPROF_PERIOD, t[i].period);
		made_location(&m, 1, "f", "", 0, 0);
		made_sample(&m, 1, t[i].value, NULL);
		check_made(&m, t[i].want, t[i].name);
	}
}

/* The number of samples is preferred to the default type, that to the last value. */
static void test_choice(void)
{
	static const char *const units[] = {"ns", "count"};

	for (size_t i = 0; i < 2; i++) {
		CLEANUP(str_fini) struct str sample = {0};
		struct made m;

		made_begin(&m, "samples", units[i]);
		numbers_add(&m.profile, PPROF_SAMPLE_TYPE,
			    NUMBERS(PPROF_VALUE_TYPE, text_of_made(&m, "space")));
		numbers_add(&m.profile, PPROF_SAMPLE_TYPE,
			    NUMBERS(PPROF_VALUE_TYPE, text_of_made(&m, "time")));
		pb_add_number(&m.profile, PPROF_DEFAULT_TYPE, text_of_made(&m, "space"));
		made_location(&m, 1, "f", "", 0, 0);
		pb_add_number(&sample, PPROF_SAMPLE_LOCATION, 1);
		pb_add_bytes(&sample, PPROF_SAMPLE_VALUE, "\x03\x04\x05", 3);
		message_add(&m.profile, PPROF_SAMPLE, &sample);
		check_made(&m, i ? "all;f 3\n" : "all;f 4\n",
			   i ? "the number of samples is counted before the default value"
			     : "samples of another unit are no number of samples");
	}
}

static void test_names(void)
{
	static const struct {
		const char *name, *system, *file, *want;
	} t[] = {
		{"f", "f_[j]", "", "all;f_[j] 1\n"},
		{"f", "f_[i]", "", "all;f_[i] 1\n"},
		{"f", "f_[0]", "", "all;f_[0] 1\n"},
		{"f", "f_[k]", "", "all;f_[k] 1\n"},
		{"f", "g_[j]", "", "all;f 1\n"},
		{"f", "f_[x]", "", "all;f 1\n"},
		{"", "mangled", "", "all;mangled 1\n"},
		{"f", "", "[kernel.kallsyms]", "[kernel.kallsyms];f_[k] 1\n"},
		{"f", "", "[guest.kernel.kallsyms]", "[guest.kernel.kallsyms];f_[k] 1\n"},
		{"f", "", "/usr/bin/tool", "tool;f 1\n"},
		{"", "", "/usr/bin/tool", "tool;[tool] 1\n"},
		{"", "", "[vdso]", "[vdso];[vdso] 1\n"},
		{"", "", "", "all;[unknown] 1\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct made m;

		made_begin(&m, "samples", "count");
		if (*t[i].file)
			made_mapping(&m, 5, t[i].file);
		made_location(&m, 1, t[i].name, t[i].system, *t[i].file ? 5 : 0, 0);
		made_sample(&m, 1, 1, NULL);
		check_made(&m, t[i].want, "a location gets its name and kind");
	}
}

/* An address of which nothing but its file is known. */
static void test_unknown(void)
{
	struct made m;
	struct profile p;
	const struct frame *f;
	struct err err = {0};

	made_begin(&m, "samples", "count");
	made_mapping(&m, 5, "/usr/bin/tool");
	made_location(&m, 1, "", "", 5, 0);
	made_sample(&m, 1, 1, NULL);
	made_end(&m);
	profile_init(&p, true);
	ok(pprof_read(&p, m.profile.buf, m.profile.len, EVENT_CPU, &err) == 0, "read: %s", err.msg);
	f = stacks_frame(p.stacks,
			 stacks_node(p.stacks, (uint32_t)stacks_node_count(p.stacks) - 1)->frame);
	is_str(f->name, "[tool]", "it has the name of its file");
	is_int(f->kind, FRAME_UNKNOWN, "it is unknown");
	is_int(f->line, 0, "it has no line");
	is_str(frames_module(stacks_frames(p.stacks), f->module), "/usr/bin/tool",
	       "it has its file as module");
	profile_fini(&p);
	made_fini(&m);
}

/* Messages with the same id, a sample of a location that is missing, one of a packed list. */
static void test_ids(void)
{
	CLEANUP(str_fini) struct str sample = {0};
	struct made m;

	made_begin(&m, "samples", "count");
	made_location(&m, 7, "first", "", 0, 0);
	made_location(&m, 3, "three", "", 0, 0);
	made_location(&m, 7, "last", "", 0, 0);
	made_sample(&m, 7, 1, NULL);
	made_sample(&m, 8, 2, NULL);
	pb_add_bytes(&sample, PPROF_SAMPLE_LOCATION, "\x07\x03\x03", 3);
	pb_add_number(&sample, PPROF_SAMPLE_VALUE, 4);
	message_add(&m.profile, PPROF_SAMPLE, &sample);
	check_made(&m, "all 2\nall;three;three;last 4\nall;last 1\n",
		   "of messages with the same id the last counts");
}

static void label_add(struct str *out, struct made *m, const char *key, const char *text,
		      uint64_t number)
{
	CLEANUP(str_fini) struct str label = {0};

	pb_add_number(&label, PPROF_LABEL_KEY, text_of_made(m, key));
	pb_add_number(&label, PPROF_LABEL_TEXT, text_of_made(m, text));
	pb_add_number(&label, PPROF_LABEL_NUMBER, number);
	message_add(out, PPROF_SAMPLE_LABEL, &label);
}

/* Samples that differ in one label each: pid, tid, container. */
static void test_labels(void)
{
	static const struct {
		uint64_t pid, tid;
		const char *container;
	} t[] = {{1, 2, "a"},
		 {1, 3, "a"},
		 {2, 2, "a"},
		 {1, 2, "b"},
		 {1, 2, "a"},
		 {INT32_MAX, 3, "a"},
		 {INT32_MAX + 1ull, 4, "a"},
		 {1, UINT64_MAX, "a"}};
	static const pid_t pids[] = {1, 1, 2, 1, 1, INT32_MAX, 0, 1};
	static const pid_t tids[] = {2, 3, 2, 2, 2, 3, 4, 0};
	struct profile p;
	struct made m;
	struct err err = {0};
	bool good = true;

	made_begin(&m, "samples", "count");
	made_location(&m, 1, "f", "", 0, INT32_MAX);
	made_location(&m, 2, "g", "", 0, INT32_MAX + 1ull);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str labels = {0};

		label_add(&labels, &m, "pid", "", t[i].pid);
		label_add(&labels, &m, "tid", "", t[i].tid);
		label_add(&labels, &m, "container", t[i].container, 0);
		label_add(&labels, &m, "thread", "exec", 0);
		made_sample(&m, 1 + i % 2, 1, &labels);
	}
	made_end(&m);
	profile_init(&p, true);
	samples_add_thread(p.samples,
			   samples_add_origin(p.samples, &(struct origin){"", "", "", "", "", ""}),
			   99, 99);
	ok(pprof_read(&p, m.profile.buf, m.profile.len, EVENT_CPU, &err) == 0, "labels are read%s",
	   err.msg);
	is_int(p.samples->count, 8, "each sample is kept");
	is_int(p.samples->thread_count, 8, "each thread is there once, beside the one before");
	is_int(p.samples->origin_count, 3, "each container is there once, beside the one before");
	for (size_t i = 0; i < p.samples->count; i++) {
		const struct sample *s = &p.samples->list[i];
		const struct sample_thread *thread = &p.samples->threads[s->thread];

		good = good && thread->pid == pids[i] && thread->tid == tids[i] && s->time == 0 &&
		       !strcmp(p.samples->origins[thread->origin].container, t[i].container) &&
		       stacks_frame(p.stacks, stacks_node(p.stacks, s->node)->frame)->line ==
			       (i % 2 ? 0 : INT32_MAX);
	}
	ok(good, "each sample has its process, thread, container and line, where these are valid");
	profile_fini(&p);
	made_fini(&m);
}

/* 65 536 frames with the thread's, and one more. */
static void test_deep(void)
{
	for (size_t n = 65535; n <= 65536; n++) {
		CLEANUP(str_fini) struct str sample = {0};
		CLEANUP(str_fini) struct str ids = {0};
		struct profile p;
		struct made m;
		struct err err = {0};

		made_begin(&m, "samples", "count");
		made_location(&m, 1, "f", "", 0, 0);
		for (size_t i = 0; i < n; i++)
			text_varint(&ids, 1);
		pb_add_bytes(&sample, PPROF_SAMPLE_LOCATION, ids.buf, ids.len);
		pb_add_number(&sample, PPROF_SAMPLE_VALUE, 1);
		message_add(&m.profile, PPROF_SAMPLE, &sample);
		made_end(&m);
		profile_init(&p, false);
		is_int(pprof_read(&p, m.profile.buf, m.profile.len, EVENT_CPU, &err),
		       n > 65535 ? -1 : 0, "a stack of %zu frames and a thread is %s", n,
		       n > 65535 ? "refused" : "read");
		if (n > 65535)
			is_str(err.msg,
			       "a stack of more than 65536 frames, or more than 134217728 in all",
			       "the error says what is too much");
		profile_fini(&p);
		made_fini(&m);
	}
}

static void test_first_bytes(void)
{
	ok(pprof_is("\n\x10\x08", 3), "a message of 16 bytes that begins with a number may be one");
	ok(!pprof_is("\n\x11\x08", 3), "a longer one is none");
	ok(!pprof_is("\n\x04\x09", 3), "nor one that begins otherwise");
	ok(!pprof_is("\n\x04", 2), "two bytes are too few");
	ok(!pprof_is("\x0b\x04\x08", 3), "another field is none");
	ok(pprof_is("\x1f\x8b", 2), "gzip may be one");
	ok(!pprof_is("\x1f", 1) && !pprof_is("\x1f\x8c", 2), "what is no gzip is none");
}

/* Around the size of a piece, 64 KiB, with data that does not shrink. */
static void test_gzip(void)
{
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 300000};

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		CLEANUP(close_fd) int fd = memfd_create("gzip", MFD_CLOEXEC);
		CLEANUP(str_fini) struct str in = {0}, packed = {0}, out = {0}, less = {0};
		CLEANUP(free) char *want = NULL;
		uint32_t random = 1;
		struct gzip g;
		struct err err;

		for (size_t k = 0; k < sizes[i]; k++) {
			random = random * 1664525 + 1013904223;
			str_addc(&in, (char)(random >> 24));
		}
		gzip_begin(&g, fd, &err);
		gzip_add(&g, &in);
		is_int(gzip_end(&g), 0, "%zu bytes are compressed", sizes[i]);
		ok(lseek(fd, 0, SEEK_SET) == 0 && fs_read_all(fd, 1 << 20, &packed, &err) == 0 &&
			   gzip_expand(packed.buf, packed.len, sizes[i], &out, &err) == 0 &&
			   out.len == sizes[i] &&
			   (!out.len || memcmp(out.buf, in.buf, out.len) == 0),
		   "as many as the limit are expanded again");
		is_int(gzip_expand(packed.buf, packed.len - 1, sizes[i], &less, &err), -1,
		       "data without its last byte is damaged");
		is_int(less.len, 0, "nothing of damaged data is returned");
		if (!sizes[i])
			continue;
		is_int(gzip_expand(packed.buf, packed.len, sizes[i] - 1, &less, &err), -1,
		       "more than the limit is refused");
		want = xasprintf("expands to more than %zu bytes", sizes[i] - 1);
		is_str(err.msg, want, "the error has the limit");
	}
}

static void test_damage(void)
{
	static const char hostile[] = "\x0a\x02\x08\x01\x12\x0b\x12\x09\xff\xff\xff\xff\xff\xff"
				      "\xff\xff\x7f\x12\x0b\x12\x09\xff\xff\xff\xff\xff\xff\xff"
				      "\xff\x7f";
	CLEANUP(str_fini) struct str data = {0};

	check_folded(&data, "damaged, or not a pprof profile", "nothing at all");
	str_adds(&data, "main;f 12\n");
	check_folded(&data, "damaged, or not a pprof profile", "folded text");
	ok(!pprof_is(data.buf, data.len), "which is not taken for pprof");
	str_clear(&data);
	str_adds(&data, "\x1f\x8b nothing");
	check_folded(&data, "damaged gzip data: data error", "no gzip");
	str_clear(&data);
	str_add(&data, hostile, sizeof(hostile) - 1);
	check_folded(&data, "too many samples", "a sum too large");
}

static void test_empty(void)
{
	CLEANUP(str_fini) struct str data = {0};
	struct profile p;

	profile_init(&p, true);
	drawn(&p, &data);
	check_folded(&data, "", "nothing recorded");
	profile_fini(&p);
}

int main(void)
{
	test_round_trip();
	test_foreign();
	test_bytes();
	test_values();
	test_choice();
	test_names();
	test_unknown();
	test_ids();
	test_labels();
	test_deep();
	test_first_bytes();
	test_gzip();
	test_damage();
	test_empty();
	return tap_done();
}
