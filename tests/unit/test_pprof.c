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
	ok(pprof_read(&again, data.buf, data.len, &err) == 0, "read back: %s", err.msg);
	is_int(again.quality.samples, 7, "all samples");
	before = text_of(&p);
	after = text_of(&again);
	is_str(after, before, "kinds, lines, modules, threads and containers survive");
	ok(gzip_expand(data.buf, data.len, 1 << 20, &expanded, &err) == 0 &&
		   pprof_is(expanded.buf, expanded.len),
	   "known without compression, too");
	profile_init(&plain, false);
	ok(pprof_read(&plain, expanded.buf, expanded.len, &err) == 0, "read without");
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
static void foreign_make(struct str *out, uint64_t value_type, uint64_t period)
{
	static const char *const texts[] = {"",	     "objects",	  "count",
					    "space", "bytes",	  "f",
					    "g",     "/bin/tool", "[kernel.kallsyms]_text"};
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
	if (pprof_read(&p, data->buf, data->len, &err) < 0)
		text = xstrdup(err.msg);
	else
		text = drawn_folded(p.stacks);
	is_str(text, want, "%s", name);
	profile_fini(&p);
}

static void test_foreign(void)
{
	CLEANUP(str_fini) struct str data = {0};

	foreign_make(&data, 0, 0);
	check_folded(&data, "tool;[tool];f;g_[k] 3500\n",
		     "the last value counts; what has no name goes by its file");
	str_clear(&data);
	foreign_make(&data, 1, 0);
	check_folded(&data, "tool;[tool];f;g_[k] 3\n", "the default value, where it is told");
	str_clear(&data);
	foreign_make(&data, 0, 1000);
	check_folded(&data, "tool;[tool];f;g_[k] 3\n",
		     "so much of it a sample, where that is told");
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
	test_damage();
	test_empty();
	return tap_done();
}
