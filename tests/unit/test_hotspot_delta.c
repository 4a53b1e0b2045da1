// SPDX-License-Identifier: Apache-2.0
/* Deltas between snapshots of a JVM that is made up and changes. */
#include "common/str.h"
#include "dfg/request.h"
#include "hotspot/state.h"
#include "lib/hssnap.h"
#include "lib/tap.h"

static struct snap_image s;
static struct hs_result result;
static struct str text; /* the last snapshot: "delta method Main.run code 1f10 gone 2a40 end" */
static struct hs_state *state;
static size_t room = SIZE_MAX;

static bool take(void *arg, const char *record, size_t len)
{
	uint32_t type = snap_record_type(record, len);
	struct snap_head head;
	struct snap_method m;
	struct snap_code c;
	struct snap_end end;

	(void)arg;
	if (len > room)
		return false;
	room -= len;
	if (type == SNAP_HEAD) {
		memcpy(&head, record, sizeof(head));
		str_adds(&text, head.flags & SNAP_DELTA ? "delta" : "whole");
	} else if (type == SNAP_METHOD || type == SNAP_ASKED) {
		memcpy(&m, record, sizeof(m));
		str_addf(&text, "%s %.*s", type == SNAP_ASKED ? " asked" : "", (int)m.name_len,
			 record + sizeof(m));
	} else if (type == SNAP_UNLOADED) {
		str_addf(&text, " unloaded %llu",
			 (unsigned long long)((const struct snap_unloaded *)record)->time);
	} else if (type == SNAP_CODE || type == SNAP_ASKED_CODE) {
		memcpy(&c, record, sizeof(c));
		str_addf(&text, " %scode %llx", type == SNAP_CODE ? "" : "asked-",
			 (unsigned long long)(c.start - IMAGE_BASE));
	} else if (type == SNAP_GONE) {
		for (size_t at = sizeof(struct snap_gone); at < len; at += 8)
			str_addf(&text, " gone %llx",
				 (unsigned long long)(*(const uint64_t *)(record + at) -
						      IMAGE_BASE));
	} else if (type == SNAP_END) {
		memcpy(&end, record, sizeof(end));
		str_adds(&text, end.time > 0 ? " end" : " end without time");
	}
	return true;
}

static const char *next(bool last)
{
	struct hs_source source = image_source(&s.im);
	struct hs_sink sink = {.write = take};

	str_clear(&text);
	str_adds(&text, "");
	hs_dump_delta(&source, &sink, image_work(), state, last, &result);
	return text.buf;
}

/* A new JVM, of which a whole snapshot has been taken. */
static void begin(enum image_release release)
{
	snap_image_build(&s, release);
	free(state);
	state = calloc(1, HS_STATE_BYTES);
	room = SIZE_MAX;
	ok(has_prefix(next(false), "whole"), "layout %d: the first is whole", (int)release);
}

/* Describes the records of code, with "here" for that of block i of the first heap. */
static const char *expect(const char *format, int i)
{
	static char buf[256];
	char here[32];
	size_t n = 0;

	snprintf(here, sizeof(here), "%llx",
		 (unsigned long long)(s.im.block[i] + IM_HEADER + IM_BLOB - IMAGE_BASE));
	for (const char *p = format; *p && n < sizeof(buf) - 32; p++)
		n += (size_t)(*p == '@' ? snprintf(buf + n, 32, "%s", here)
					: snprintf(buf + n, 2, "%c", *p));
	buf[n] = '\0';
	return buf;
}

static void set_used(int block, bool used)
{
	image_set(&s.im, s.im.block[block] + 3, used, 1);
}

static void test_code(void)
{
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		uint64_t blob;
		unsigned reads;

		begin((enum image_release)r);
		blob = s.im.block[0] + IM_HEADER;
		reads = s.im.reads;
		next(false);
		is_str(next(false), "delta end", "nothing new: a head and an end");
		ok((s.im.reads - reads) / 2 < 40, "and few reads");
		set_used(1, false);
		is_str(next(false), expect("delta gone @ end", 1), "code that was freed");
		is_str(next(false), "delta end", "is gone once");
		set_used(1, true);
		is_str(next(false), expect("delta sun.misc.Unsafe.park code @ end", 1),
		       "code in a place that was free, and its method");
		image_set(&s.im, blob + 136, 78, 4);
		is_str(next(false),
		       expect("delta com.example.Main.run com.example.Util.map "
			      "com.example.Util.get code @ gone @ end",
			      0),
		       "another compilation in the same place; all that it names");
		is_str(next(false), "delta end", "and no more of it");
	}
}

/* The delta of the codes at these addresses. */
static const char *codes(const uint64_t *at, size_t n)
{
	struct hs_source source = image_source(&s.im);
	struct hs_sink sink = {.write = take};

	str_clear(&text);
	str_adds(&text, "");
	hs_dump_codes(&source, &sink, image_work(), state, false, at, n, &result);
	return text.buf;
}

static void test_codes(void)
{
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		uint64_t at[] = {0, 16, UINT64_MAX};

		begin((enum image_release)r);
		next(false);
		at[0] = s.im.block[1] + IM_HEADER + IM_BLOB + 3;
		set_used(1, false);
		is_str(codes(at, 3), "delta end", "there is no code, or nothing at all");
		next(false);
		set_used(1, true);
		is_str(codes(at, 3), expect("delta code @ end", 1),
		       "code by an address in it, without the names of methods");
		is_int(result.status, DFG_DUMP_OK, "all is well");
		is_str(next(false), expect("delta sun.misc.Unsafe.park code @ end", 1),
		       "the next delta has it, too, with the names");
		is_str(codes(at, 0), "delta end", "of no code there is nothing");
		room = 8;
		codes(at, 1);
		is_int(result.status, DFG_DUMP_NO_SPACE, "there is no room for it");
		room = SIZE_MAX;
		is_str(next(false), "delta end", "a delta knows nothing of that");
		free(state);
		state = calloc(1, HS_STATE_BYTES);
		is_str(codes(at, 1), expect("delta code @ end", 1),
		       "code of which no snapshot has been taken");
		ok(has_prefix(next(false), "whole"), "the first one is whole nevertheless");
	}
}

/* Writes each method that was asked for into the answer, and into one delta: the next. */
static void test_asked(void)
{
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		uint64_t at[] = {0, 0, 0, 4, UINT64_MAX - 7};

		begin((enum image_release)r);
		at[0] = s.idle;
		at[1] = s.im.block[1] + IM_HEADER + IM_BLOB;
		at[2] = s.idle + 8;
		is_str(codes(at, ARRAY_LEN(at)),
		       expect("delta code @ com.example.Idle.never end", 1),
		       "a method among codes, and what is none");
		is_str(codes(at, 1), "delta com.example.Idle.never end",
		       "as often as it is asked for");
		is_str(next(false),
		       "delta asked com.example.Idle.never asked com.example.Idle.never end",
		       "the next delta has them");
		is_str(next(false), "delta end", "once");
	}
	hs_unloaded(state, 5);
	codes(&s.idle, 1);
	hs_unloaded(state, 7);
	is_str(next(false), "delta unloaded 5 asked com.example.Idle.never unloaded 7 end",
	       "and times of unloading");
	is_str(next(false), "delta end", "once, too");
	for (unsigned i = 0; i < HS_ASKED_BYTES / 8; i++)
		hs_unloaded(state, i);
	ok(state->asked.used <= HS_ASKED_BYTES && has_prefix(next(false), "delta unloaded 0"),
	   "of too many times there are some");
	for (unsigned i = 0; i < HS_ASKED_BYTES / 32; i++)
		codes(&s.idle, 1);
	ok(state->asked.used <= HS_ASKED_BYTES && has_prefix(next(false), "delta asked"),
	   "of too many there are some");
	codes(&s.idle, 1);
	room = 100;
	next(false);
	room = SIZE_MAX;
	ok(has_prefix(next(false), "whole"), "a sink that is full");
}

/* The next delta has the codes that are to be kept, with their methods, whether they are still
 * there or not. */
static void test_kept(void)
{
	struct hs_source source = image_source(&s.im);

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		uint64_t at[] = {0, 16, UINT64_MAX};

		begin((enum image_release)r);
		next(false);
		at[0] = s.im.block[1] + IM_HEADER + IM_BLOB;
		hs_keep_codes(&source, image_work(), state, at, ARRAY_LEN(at));
		set_used(1, false);
		is_str(next(false),
		       expect("delta asked sun.misc.Unsafe.park asked-code @ gone @ end", 1),
		       "code that is gone by then");
		hs_keep_codes(&source, image_work(), state, at, ARRAY_LEN(at));
		is_str(next(false), "delta end", "none, and once");
	}
}

static void test_young(void)
{
	begin(IMAGE_17);
	snap_image_set_pc(&s, 2, 30, 1000);
	image_set(&s.im, s.im.block[0] + IM_HEADER + 136, 79, 4);
	next(false);
	is_int(result.skipped, 1, "scopes that are not whole yet");
	snap_image_set_pc(&s, 2, 30, s.place[1]);
	ok(strstr(next(false), "code") != NULL, "are read again");
	is_str(next(false), "delta end", "and then known");
}

static void test_unloaded_code(void)
{
	unsigned at = 0;

	begin(IMAGE_17);
	while (memcmp(image_at(&s.im, s.im.block[0] + IM_HEADER + at), &s.run, 8) != 0)
		at += 8;
	image_set(&s.im, s.im.block[0] + IM_HEADER + at, 0, 8);
	is_str(next(false), expect("delta gone @ end", 0), "code of a class that was unloaded");
	is_int(result.skipped, 0, "is nothing that could not be read");
}

static void test_classes(void)
{
	uint64_t klass, methods;

	begin(IMAGE_25);
	image_set(&s.im, s.idle + 40, 0x1000, 8);
	is_str(next(false), "delta end", "a method of an old class begins to run");
	ok(strstr(next(true), "Idle.never") != NULL, "which the last delta finds");
	klass = image_new(&s.im, 128);
	memcpy(image_at(&s.im, klass), image_at(&s.im, s.klass), 128);
	methods = image_new(&s.im, 64);
	image_set(&s.im, methods + 4, 1, 4);
	image_set(&s.im, methods + 16, s.idle, 8);
	image_set(&s.im, klass + 56, 0, 8);
	memcpy(image_at(&s.im, klass + 40), image_at(&s.im, s.loader + 16), 8);
	image_set(&s.im, s.loader + 16, klass, 8);
	is_str(next(false), "delta end", "a class that is being loaded has no methods");
	image_set(&s.im, klass + 56, methods, 8);
	is_str(next(false), "delta com.example.Idle.never end", "then it has: all of them");
	is_str(next(false), "delta end", "once");
	image_set(&s.im, klass + 40, klass, 8);
	image_set(&s.im, s.loader + 16, klass, 8);
	is_str(next(false), "delta end", "a circle after what is known is not walked");
}

/* Methods whose memory may be used again: a delta after which a loader is missing lists all. */
static void test_unloaded(void)
{
	uint64_t loader;

	begin(IMAGE_25);
	loader = image_new(&s.im, 32);
	image_set(&s.im, s.loader + 8, loader, 8);
	is_str(next(false), "delta end", "a loader without classes");
	image_set(&s.im, s.loader + 8, 0, 8);
	is_str(next(false), "delta end", "goes: not each time that one does");
	/* Some time later. */
	state->loaders.listed -= HS_LOADERS_LIST_NS;
	ok(strstr(next(false), "Main.run") != NULL, "what methods there are is said");
	is_str(next(false), "delta end", "once");
}

/* A class with one method that has run, the first of a loader. Returns the class. */
static uint64_t give_class(uint64_t loader, uint64_t method)
{
	uint64_t klass = image_new(&s.im, 128), methods = image_new(&s.im, 64);

	memcpy(image_at(&s.im, klass), image_at(&s.im, s.klass), 128);
	image_set(&s.im, methods + 4, 1, 4);
	image_set(&s.im, methods + 16, method, 8);
	image_set(&s.im, klass + 56, methods, 8);
	memcpy(image_at(&s.im, klass + 40), image_at(&s.im, loader + 16), 8);
	image_set(&s.im, loader + 16, klass, 8);
	return klass;
}

/* Loaders come at the front of their list, also in memory that others had. */
static void test_loaders(void)
{
	uint64_t loader[3], klass;

	begin(IMAGE_25);
	for (int i = 0; i < 3; i++) {
		loader[i] = image_new(&s.im, 32);
		image_set(&s.im, loader[i] + 8, i ? loader[i - 1] : s.loader, 8);
		image_set(&s.im, s.loaders, loader[i], 8);
		is_str(next(false), "delta end", "loader %d comes, without classes", i);
	}
	klass = give_class(loader[1], s.idle);
	image_set(&s.im, klass + 88, s.im.klass_symbol, 8);
	is_str(next(false), "delta com.example.Idle.never end", "a class of one in the middle");
	is_str(next(false), "delta end", "once");
	image_set(&s.im, loader[2] + 8, loader[0], 8);
	image_set(&s.im, loader[1] + 8, loader[2], 8);
	image_set(&s.im, s.loaders, loader[1], 8);
	is_str(next(false), "delta end", "it is in another place, and still the same");
	image_set(&s.im, klass + 88, s.im.name_symbol, 8);
	is_str(next(false), "delta com.example.Idle.never end",
	       "another one in the memory of both");
	is_str(next(false), "delta end", "and all are known");
}

/* The last delta goes through all classes, but says what is new only. */
static void test_last(void)
{
	uint64_t cm;

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		begin((enum image_release)r);
		image_set(&s.im, s.idle + 40, 0x1000, 8);
		next(true);
		ok(strstr(text.buf, "Idle.never") != NULL, "a method of an old class");
		is_int(strstr(text.buf, "Main.run") != NULL, r == IMAGE_8, "%s",
		       r == IMAGE_8 ? "JDK 8 does not tell which classes are new: all methods"
				    : "of the others each has been named");
	}
	begin(IMAGE_25);
	memcpy(&cm, image_at(&s.im, s.run + 24), 8);
	image_set(&s.im, cm + 42, 6, 2);
	is_str(next(true), "delta com.example.Main.(I)V end",
	       "another name in the same place: the class was redefined");
	is_str(next(true), "delta end", "once");
	begin(IMAGE_25);
	give_class(s.loader, s.run);
	is_str(next(true), "delta com.example.Main.run end",
	       "methods of a new class, wherever they are");
}

static void test_failure(void)
{
	begin(IMAGE_17);
	image_set(&s.im, s.im.block[0] + IM_HEADER + 136, 80, 4);
	room = 200;
	next(false);
	is_int(result.status, DFG_DUMP_NO_SPACE, "a sink that is full");
	room = SIZE_MAX;
	ok(has_prefix(next(false), "whole"), "what comes after a delta that was cut is whole");
	s.im.array = 0;
	image_set(&s.im, s.im.heaps, 0, 8);
	next(false);
	is_int(result.status, DFG_DUMP_NO_TABLES, "a JVM that has gone");
	is_str(text.buf, "", "nothing is written");
}

int main(void)
{
	test_code();
	test_codes();
	test_asked();
	test_kept();
	test_young();
	test_unloaded_code();
	test_classes();
	test_unloaded();
	test_loaders();
	test_last();
	test_failure();
	free(state);
	return tap_done();
}
