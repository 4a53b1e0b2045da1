// SPDX-License-Identifier: Apache-2.0
#include "jfr/jfr.h"

#include "jfr/chunk.h"
#include "lib/drawn.h"
#include "lib/jfrmake.h"
#include "lib/tap.h"

#define MAIN  "main;a.B.run_[j]"
#define MIXED "GC:1;a.B.run_[0];a.B.run_[j];a.B$$Lambda$14.0x7f.get_[i];read;do_read_[k]"

static char *folded_of(const struct profile *p)
{
	struct stacks *plain = stacks_plain(p->stacks, NULL);
	char *ret;

	stacks_sort(plain);
	ret = drawn_folded(plain);
	stacks_free(plain);
	return ret;
}

/* Reads the first `len` bytes and checks the folded text. */
static void check_part(const struct jm *m, size_t len, enum event_kind kind, struct profile *p,
		       const char *want, const char *name)
{
	CLEANUP(free) char *folded = NULL;
	struct err err = {0};

	profile_init(p, true);
	ok(jfr_read(p, m->s.buf, len, kind, &err) == 0, "%s: it is read", name);
	folded = folded_of(p);
	is_str(folded, want, "%s", name);
}

static void check_whole(const struct jm *m, enum event_kind kind, const char *want,
			const char *name)
{
	struct profile p;

	check_part(m, m->s.len, kind, &p, want, name);
	is_int(p.cut, 0, "%s: nothing is damaged", name);
	profile_fini(&p);
}

static void check_fails(const char *data, size_t len, const char *message)
{
	struct profile p;
	struct err err = {0};

	profile_init(&p, false);
	ok(jfr_read(&p, data, len, EVENT_CPU, &err) < 0, "it fails: %s", message);
	is_str(err.msg, message, "the message is %s", message);
	profile_fini(&p);
}

/* ---- events -------------------------------------------------------------------------------- */

static void test_kinds(bool fixed)
{
	struct jm m = {.fixed = fixed};
	struct profile p;

	jm_example(&m);
	check_part(&m, m.s.len, EVENT_CPU, &p, MIXED " 1\n" MAIN " 2\n", "execution samples");
	is_int(p.quality.samples, 3, "samples are counted");
	is_int(p.quality.truncated, 1, "truncated stacks are counted");
	is_int(p.quality.java_complete, 2, "the others are complete");
	is_int(p.events[EVENT_CPU], 3, "there are execution samples");
	is_int(p.events[EVENT_LOCK], 1, "there is an event of a lock, though it is not drawn");
	is_int(p.events[EVENT_WALL], 0, "there is none of the clock");
	is_int((int64_t)profile_worth(&p), 3, "samples are worth themselves");
	is_int(p.samples->count, 3, "each sample is kept");
	is_int(p.samples->list[0].time, 0, "times begin with the first sample");
	is_int(p.samples->list[1].time, 20, "a sample that is written earlier may be later");
	is_int(p.samples->list[2].time, 60, "a tick is 2 ns");
	is_int(p.samples->thread_count, 2, "each thread is known once");
	is_int(p.samples->threads[p.samples->list[0].thread].tid, 77, "a thread has its number");
	profile_fini(&p);
	check_whole(&m, EVENT_LOCK, MAIN ";a.B 200\n", "a wait counts nanoseconds");
	check_whole(&m, EVENT_ALLOC, MAIN ";byte[] 4096\n", "an allocation counts bytes");
	check_whole(&m, EVENT_WALL, "", "a kind without events is empty");
	str_fini(&m.s);
}

static void test_lines(void)
{
	struct jm m = {0};
	struct profile p;
	bool line = false, file = false;

	jm_example(&m);
	check_part(&m, m.s.len, EVENT_CPU, &p, MIXED " 1\n" MAIN " 2\n", "with places");
	for (uint32_t f = 0; f < stacks_frame_count(p.stacks); f++) {
		const struct frame *frame = stacks_frame(p.stacks, f);

		line |= !strcmp(frame->name, "a.B.run") && frame->line == 12;
		file |= !strcmp(frame->name, "read") && frame->kind == FRAME_NATIVE &&
			!strcmp(frames_module(stacks_frames(p.stacks), frame->module), "libc.so.6");
	}
	ok(line, "a method has its line");
	ok(file, "a function of async-profiler has its file");
	profile_fini(&p);
	str_fini(&m.s);
}

static void test_alternatives(void)
{
	struct jm m = {0};
	struct profile p;

	jm_chunk(&m);
	jm_metadata(&m);
	jm_methods(&m);
	jm_stacks(&m);
	jm_event(&m, JM_ALLOC, 1000, 5);
	jm_event(&m, JM_TLAB, 300, 6);
	jm_event(&m, JM_TLAB, 100, 0);
	jm_event(&m, JM_WALL, 3, 0);
	jm_chunk_end(&m);
	check_part(&m, m.s.len, EVENT_ALLOC, &p, MAIN " 100\n" MAIN ";java.lang.String[][] 300\n",
		   "allocations that are recorded in two ways count once");
	ok(profile_worth(&p) > 1.5999 && profile_worth(&p) < 1.6001,
	   "unequal events are worth less than their number");
	is_int(p.events[EVENT_ALLOC], 2, "the events that count are counted");
	profile_fini(&p);
	check_part(&m, m.s.len, EVENT_WALL, &p, MAIN " 3\n", "a sample may stand for several");
	is_int(p.samples->count, 3, "it is kept as often");
	profile_fini(&p);
	str_fini(&m.s);
}

/* ---- chunks -------------------------------------------------------------------------------- */

static void test_chunks(void)
{
	struct jm m = {0};
	struct profile p;
	size_t first;

	jm_example(&m);
	first = m.s.len;
	jm_example(&m);
	check_part(&m, m.s.len, EVENT_CPU, &p, MIXED " 2\n" MAIN " 4\n", "two chunks");
	is_int(p.samples->thread_count, 2, "a thread of both is one");
	is_int(p.cut, 0, "nothing is damaged");
	profile_fini(&p);
	check_part(&m, first + 40, EVENT_CPU, &p, MIXED " 1\n" MAIN " 2\n",
		   "a second one that is cut in its header");
	is_int(p.cut, 40, "  has damaged bytes");
	profile_fini(&p);
	check_part(&m, first + 100, EVENT_CPU, &p, MIXED " 1\n" MAIN " 2\n",
		   "a second one that is cut before its types");
	ok(p.cut > 0, "  has damaged bytes");
	profile_fini(&p);
	jm_put_fixed(&m, first + 8, 0, 8);
	check_part(&m, m.s.len, EVENT_CPU, &p, MIXED " 2\n" MAIN " 4\n",
		   "a last one that was not finished");
	profile_fini(&p);
	str_adds(&m.s, "garbage");
	jm_put_fixed(&m, first + 8, first, 8);
	check_part(&m, m.s.len, EVENT_CPU, &p, MIXED " 2\n" MAIN " 4\n", "garbage at the end");
	is_int(p.cut, 7, "  is damaged");
	profile_fini(&p);
	str_fini(&m.s);
}

/* Every part of a recording is read, or fails, and has no event that the whole has not. */
static void test_every_part(void)
{
	struct jm m = {0};
	bool good = true;

	jm_example(&m);
	for (size_t len = 0; len < m.s.len; len++) {
		CLEANUP(free) char *copy = xmalloc(len + 1);
		struct profile p;
		struct err err;

		memcpy(copy, m.s.buf, len);
		profile_init(&p, true);
		if (jfr_read(&p, copy, len, EVENT_CPU, &err) == 0 && len < m.s.len)
			good &= p.quality.samples <= 3 && p.cut > 0 &&
				p.quality.frames_unknown == 0;
		profile_fini(&p);
	}
	ok(good, "a cut recording says so at any length");
	str_fini(&m.s);
}

static void test_not_a_recording(void)
{
	struct jm m = {0};

	jm_example(&m);
	ok(jfr_is(m.s.buf, m.s.len), "a recording is known by its first bytes");
	ok(!jfr_is("FLR", 3) && !jfr_is("a;b 1\n", 6), "other bytes are none");
	check_fails(m.s.buf, 60, "no chunk of a JFR recording, or only a part of its header");
	check_fails(m.s.buf, 100, "a JFR recording that was cut off before its metadata");
	m.s.buf[5] = 1;
	check_fails(m.s.buf, m.s.len, "JFR version 1: only version 2 can be read");
	str_fini(&m.s);
}

/* ---- texts --------------------------------------------------------------------------------- */

static void check_text(struct jm *m, const char *want, const char *name)
{
	const struct jfr_chunk c = {.fixed = m->fixed};
	CLEANUP(str_fini) struct str got = {0};
	struct bytes b = bytes_of(m->s.buf, m->s.len);

	str_adds(&got, "");
	str_reserve(&got, 1);
	got.buf[got.len] = '\0';
	jfr_string(&c, &b, &got);
	is_str(got.buf, want, "%s", name);
	is_int(b.len, 0, "%s: all of it is read", name);
	str_clear(&m->s);
}

static void test_texts(void)
{
	static const uint16_t units[] = {'a', 0xe9, 0x4e16, 0xd83d, 0xde00, 0xdc00, 0xd83d};
	struct jm m = {0};

	str_addc(&m.s, 0);
	check_text(&m, "", "null");
	str_addc(&m.s, 1);
	check_text(&m, "", "the empty text");
	jm_bytes(&m, 3, "h\303\251");
	check_text(&m, "h\303\251", "UTF-8");
	jm_bytes(&m, 5, "h\351");
	check_text(&m, "h\303\251", "Latin-1");
	for (int fixed = 0; fixed < 2; fixed++) {
		m.fixed = fixed;
		str_addc(&m.s, 4);
		jm_int(&m, ARRAY_LEN(units));
		for (size_t i = 0; i < ARRAY_LEN(units); i++)
			jm_number(&m, units[i], 2);
		check_text(&m, "a\303\251\344\270\226\360\237\230\200\355\260\200?",
			   "UTF-16, with half pairs");
	}
	m.fixed = false;
	str_addc(&m.s, 9);
	check_text(&m, "", "an encoding that does not exist");
	str_addc(&m.s, 3);
	jm_int(&m, 1000);
	check_text(&m, "", "a length beyond the end");
	str_fini(&m.s);
}

/* A string that is a constant, as the recorder writes long ones: of a thread's name. */
static void test_constant_text(void)
{
	struct jm m = {0};

	jm_chunk(&m);
	jm_metadata(&m);
	jm_methods(&m);
	jm_stacks(&m);
	jm_checkpoint(&m, 2);
	jm_pool(&m, JM_TEXT, 3);
	jm_long(&m, 9);
	jm_text(&m, "of the pool");
	for (unsigned key = 10; key < 12; key++) {
		jm_long(&m, key);
		str_addc(&m.s, 2);
		jm_long(&m, key ^ 1); /* the other one */
	}
	jm_pool(&m, JM_THREAD, 2);
	for (unsigned key = 3; key < 5; key++) {
		jm_long(&m, key);
		str_addc(&m.s, 0);
		str_addc(&m.s, 2);
		jm_long(&m, key == 3 ? 9 : 10);
		jm_long(&m, 0);
		str_addc(&m.s, 1);
	}
	jm_end(&m);
	jm_sample(&m, 60, 1, 3);
	jm_sample(&m, 60, 1, 4);
	jm_sample(&m, 60, 0, 0);
	jm_chunk_end(&m);
	check_whole(&m, EVENT_CPU,
		    "[unknown];[unknown] 1\n[unknown];a.B.run_[j] 1\nof the pool;a.B.run_[j] 1\n",
		    "text of the pool, text that leads to itself, and nothing at all");
	str_fini(&m.s);
}

/* ---- hostile recordings (case 63) ---------------------------------------------------------- */

/* A chunk whose last checkpoint has a constant of a type that has no end, or takes no byte. */
static void test_no_end(void)
{
	for (unsigned type = JM_NEST; type <= JM_EMPTY; type++) {
		struct jm m = {0};
		struct profile p;

		jm_chunk(&m);
		jm_metadata(&m);
		jm_methods(&m);
		jm_stacks(&m);
		jm_checkpoint(&m, 1);
		jm_pool(&m, type, UINT32_MAX);
		for (unsigned i = 0; i < 100; i++)
			jm_long(&m, i);
		jm_end(&m);
		jm_sample(&m, 60, 1, 1);
		jm_chunk_end(&m);
		check_part(&m, m.s.len, EVENT_CPU, &p, MAIN " 1\n", "a type without an end");
		ok(p.cut > 100, "its constants are damaged");
		profile_fini(&p);
		str_fini(&m.s);
	}
}

static void test_damaged_events(void)
{
	struct jm m = {0};
	struct profile p;

	jm_chunk(&m);
	jm_metadata(&m);
	jm_methods(&m);
	jm_stacks(&m);
	jm_sample(&m, 60, 1, 1);
	jm_begin(&m, JM_SAMPLE); /* without its fields */
	jm_end(&m);
	jm_begin(&m, 99999); /* of an unknown type */
	jm_end(&m);
	jm_sample(&m, 61, 1, 1);
	jm_chunk_end(&m);
	check_part(&m, m.s.len, EVENT_CPU, &p, MAIN " 2\n", "damaged events are left out");
	is_int(p.cut, 6, "they are counted");
	profile_fini(&p);
	str_addc(&m.s, 0); /* a record of no bytes */
	str_adds(&m.s, "after");
	jm_chunk_end(&m);
	check_part(&m, m.s.len, EVENT_CPU, &p, MAIN " 2\n", "a record of no size ends the chunk");
	is_int(p.cut, 12, "what follows is damaged");
	profile_fini(&p);
	str_fini(&m.s);
}

/* As the JDK writes them where a chunk ends while a thread waits; its own reader shows no stack. */
static void test_missing_constants(void)
{
	struct jm m = {0};

	jm_chunk(&m);
	jm_metadata(&m);
	jm_methods(&m);
	jm_stacks(&m);
	jm_sample(&m, 60, 99, 1);
	jm_sample(&m, 60, 1, 99);
	jm_chunk_end(&m);
	check_whole(&m, EVENT_CPU, "[unknown];a.B.run_[j] 1\nmain;[unknown] 1\n",
		    "a trace or a thread that a whole chunk lacks is unknown");
	str_fini(&m.s);
}

static void test_too_much(void)
{
	struct jm m = {0};
	struct profile p;
	struct err err;

	jm_chunk(&m);
	jm_metadata(&m);
	jm_methods(&m);
	jm_stacks(&m);
	jm_event(&m, JM_ALLOC, COUNT_MAX, 5);
	jm_event(&m, JM_ALLOC, 1, 5);
	jm_lock(&m, UINT64_MAX);
	jm_event(&m, JM_WALL, UINT32_MAX, 0);
	jm_chunk_end(&m);
	for (int kind = EVENT_WALL; kind <= EVENT_LOCK; kind++) {
		profile_init(&p, true);
		ok(jfr_read(&p, m.s.buf, m.s.len, (enum event_kind)kind, &err) < 0,
		   "too much of a kind fails");
		is_str(err.msg, "too many samples", "it says why");
		profile_fini(&p);
	}
	str_fini(&m.s);
}

int main(void)
{
	test_kinds(false);
	test_kinds(true);
	test_lines();
	test_alternatives();
	test_chunks();
	test_every_part();
	test_not_a_recording();
	test_texts();
	test_constant_text();
	test_no_end();
	test_damaged_events();
	test_missing_constants();
	test_too_much();
	return tap_done();
}
