// SPDX-License-Identifier: Apache-2.0
/* Names of Java threads, read from objects of a JVM that is made up, moves them, and lies. */
#include "common/str.h"
#include "dfg/request.h"
#include "hotspot/state.h"
#include "lib/hsthreads.h"
#include "lib/tap.h"

#define LEN(text) (sizeof(text) / sizeof(*(text)) - 1)

static struct threads_image t;
static struct hs_result result;
static struct str text; /* "tid:name" of each record, a space before each */
static struct hs_state *state;

static bool take(void *arg, const char *record, size_t len)
{
	uint32_t type = snap_record_type(record, len);
	struct snap_thread thread;

	(void)arg;
	if (type != SNAP_THREAD)
		return true;
	memcpy(&thread, record, sizeof(thread));
	if (len - sizeof(thread) - thread.name_len > 7)
		abort();
	str_addf(&text, " %u:%.*s", thread.tid, (int)thread.name_len, record + sizeof(thread));
	for (size_t i = sizeof(thread) + thread.name_len; i < len; i++)
		if (record[i])
			str_adds(&text, "<padding>");
	return true;
}

static void *work(void)
{
	str_clear(&text);
	str_adds(&text, "");
	return image_work();
}

/* The names in a whole snapshot. */
static const char *names(void)
{
	struct hs_source source = image_source(&t.s.im);
	struct hs_sink sink = {.write = take};

	hs_dump_snapshot(&source, &sink, work(), &result);
	return text.buf;
}

/* The names in a delta. */
static const char *next(bool named)
{
	struct hs_source source = image_source(&t.s.im);
	struct hs_sink sink = {.write = take};

	hs_dump_delta(&source, &sink, work(), state, named, &result);
	return text.buf;
}

static uint64_t add(uint32_t tid, const char *name)
{
	uint16_t chars[512];
	uint32_t len = 0;

	for (; name[len]; len++)
		chars[len] = (uint8_t)name[len];
	return threads_add(&t, tid, chars, len);
}

static void rename_to(uint64_t thread, const char *name)
{
	uint16_t chars[512];
	uint32_t len = 0;

	for (; name[len]; len++)
		chars[len] = (uint8_t)name[len];
	threads_rename(&t, thread, chars, len);
}

/* A JVM with one thread, whose JavaThread is returned. */
static uint64_t build(enum image_release release, bool narrow)
{
	t.narrow_refs = t.narrow_classes = narrow;
	t.array_names = false;
	threads_build(&t, release);
	return add(7, "main");
}

static void test_texts(void)
{
	static const uint16_t accent[] = {'c', 'a', 'f', 0xe9, ' ', 0x80, 0x7ff, 0},
			      asian[] = u"\u65e5\u672c\u0800", pair[] = u"x\U0001f600\U0010ffffy",
			      halves[] = {'a', 0xd800, 'b', 0xdc00, 0xdbff, 0xe000, 0xd834, 0};

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		for (int how = 0; how < (r == IMAGE_25 ? 6 : 4); how++) {
			t.compact = how >= 4;
			t.narrow_refs = how & 1;
			t.narrow_classes = how & 2;
			t.array_names = r == IMAGE_8 && how == 3;
			threads_build(&t, (enum image_release)r);
			add(1, "main");
			threads_add(&t, 0x7fffffff, accent, LEN(accent));
			threads_add(&t, 3, asian, LEN(asian));
			threads_add(&t, 4, pair, LEN(pair));
			threads_add(&t, 5, halves, LEN(halves));
			is_str(names(),
			       " 1:main 2147483647:caf\xc3\xa9 \xc2\x80\xdf\xbf"
			       " 3:\xe6\x97\xa5\xe6\x9c\xac\xe0\xa0\x80"
			       " 4:x\xf0\x9f\x98\x80\xf4\x8f\xbf\xbfy 5:a?b??\xee\x80\x80?",
			       "layout %d: names of all characters, %s references, %s classes", r,
			       how & 1 ? "narrow" : "plain",
			       t.compact ? "compact"
			       : how & 2 ? "narrow"
					 : "plain");
		}
	}
	t.compact = false;
}

/* A name of so many characters; the bytes of it in the record. */
static size_t bytes_of(enum image_release release, uint32_t len, uint16_t character)
{
	uint16_t chars[1024];

	for (uint32_t i = 0; i < len; i++)
		chars[i] = character;
	t.narrow_refs = t.narrow_classes = false;
	t.array_names = false;
	threads_build(&t, release);
	threads_add(&t, 7, chars, len);
	names();
	return text.len > 3 ? text.len - 3 : 0;
}

static void test_long_names(void)
{
	static const struct {
		uint16_t character;
		uint32_t len;
		size_t want;
	} row[] = {{'a', 256, 256},    {'a', 512, 512},	    {'a', 513, 512},
		   {0xe9, 384, 768},   {0xe9, 385, 768},    {0x65e5, 254, 3 * 254},
		   {0x65e5, 255, 765}, {0x65e5, 1000, 765}, {'a', 1, 1},
		   {'a', 0, 0}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		is_int(bytes_of(IMAGE_17, row[i].len, row[i].character), row[i].want,
		       "a name of %u characters U+%04x has %d bytes", row[i].len, row[i].character,
		       (int)row[i].want);
	is_int(bytes_of(IMAGE_8, 256, 'a'), 256, "JDK 8: a name of 256 characters is whole");
	is_int(bytes_of(IMAGE_8, 257, 'a'), 256, "JDK 8: a longer one is cut");
}

static void test_subclasses(void)
{
	uint64_t thread, below, class;

	for (unsigned depth = 1; depth <= 64; depth += 21) {
		thread = build(IMAGE_25, true);
		class = t.thread_class;
		for (unsigned i = 0; i < depth; i++, class = below) {
			below = image_new(&t.s.im, FIELDS_CLASS);
			image_set(&t.s.im, below + 64, class, 8);
		}
		threads_set_class(&t, threads_object(&t, thread), class);
		is_str(names(), depth < 64 ? " 7:main" : "",
		       "a thread of a class %u below java.lang.Thread is %s", depth,
		       depth < 64 ? "one" : "not believed");
	}
	thread = build(IMAGE_8, false);
	class = image_new(&t.s.im, FIELDS_CLASS);
	image_set(&t.s.im, class + 64, class, 8);
	threads_set_class(&t, threads_object(&t, thread), class);
	is_str(names(), "", "classes in a circle end");
	image_set(&t.s.im, class + 64, 64, 8);
	is_str(names(), "", "a superclass in a hole is none");
	image_set(&t.s.im, class + 64, 0, 8);
	is_str(names(), "", "an object of another class is no thread");
}

static void test_threads(void)
{
	static const struct {
		uint32_t tid;
		const char *want;
	} row[] = {{0, ""}, {1, " 1:x"}, {0x7fffffff, " 2147483647:x"}, {0x80000000, ""}};
	uint64_t thread;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		t.narrow_refs = t.narrow_classes = i & 1;
		threads_build(&t, i % IMAGE_RELEASES);
		add(row[i].tid, "x");
		is_str(names(), row[i].want, "a thread with the id %u is %s", row[i].tid,
		       *row[i].want ? "named" : "not there");
	}
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		thread = build((enum image_release)r, true);
		add(8, "other");
		image_set(&t.s.im, thread + 56, 0, 8);
		is_str(names(), " 8:other", "layout %d: a thread that has ended is passed over", r);
		image_set(&t.s.im, thread + 56, 64, 8);
		is_str(names(), " 8:other", "layout %d: one in a hole, too", r);
		thread = build((enum image_release)r, true);
		add(8, "other");
		image_set(&t.s.im, thread + THREADS_OBJECT, 0, 8);
		is_str(names(), " 8:other", "layout %d: one without an object, too", r);
	}
}

static void test_lists(void)
{
	uint64_t array;
	unsigned n = 0;

	build(IMAGE_17, true);
	add(8, "other");
	image_set(&t.s.im, t.list + 12, 1, 4);
	is_str(names(), " 7:main", "threads after the list's length do not count");
	image_set(&t.s.im, t.list + 12, 0xffffffff, 4);
	is_str(names(), " 7:main 8:other", "a list ends with the first address that is 0");
	array = IMAGE_BASE + IMAGE_BYTES - 8;
	memcpy(image_at(&t.s.im, array), image_at(&t.s.im, image_pointer(&t.s.im, t.list + 24)), 8);
	image_set(&t.s.im, t.list + 24, array, 8);
	is_str(names(), " 7:main", "a list without end ends in a hole");
	image_set(&t.s.im, t.statics, 0, 8);
	is_str(names(), "", "a JVM that is starting has no list");
	is_int(result.status, DFG_DUMP_OK, "which is no failure");
	image_set(&t.s.im, t.statics, 64, 8);
	is_str(names(), "", "nor is a list in a hole");
	build(IMAGE_8, true);
	image_set(&t.s.im, t.last, image_pointer(&t.s.im, t.statics), 8);
	for (const char *p = names(); (p = strstr(p, " 7:main")); p++)
		n++;
	is_int(n, 16384, "JDK 8: threads in a circle end");
	image_set(&t.s.im, t.last, 64, 8);
	is_str(names(), " 7:main", "JDK 8: a thread in a hole ends the chain");
	image_set(&t.s.im, t.statics, 64, 8);
	is_str(names(), "", "JDK 8: as the first one, too");
}

/* ---- objects that are not what they should be ---- */

static uint64_t name_of(uint64_t thread)
{
	return threads_object(&t, thread) + THREADS_NAME;
}

static void test_objects(void)
{
	uint64_t thread, string, array, other;

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		for (int narrow = 0; narrow < 2; narrow++) {
			printf("# layout %d, %s\n", r, narrow ? "narrow" : "plain");
			thread = build((enum image_release)r, narrow);
			string = threads_string(&t, u"new", 3);
			array = threads_array(&t, "ab", 2);
			other = image_new(&t.s.im, 64);
			threads_set_ref(&t, name_of(thread), string);
			is_str(names(), " 7:new", "a name is the object's that is referred to");
			image_set(&t.s.im, name_of(thread), 0, narrow ? 4 : 8);
			is_str(names(), "", "a thread without a name has none");
			threads_set_ref(&t, name_of(thread), other);
			is_str(names(), "", "an object without a class is no String");
			threads_set_class(&t, other, t.thread_class);
			is_str(names(), "", "an object of another class is no String");
			threads_set_ref(&t, name_of(thread), string);
			image_set(&t.s.im, string + THREADS_VALUE, 0, narrow ? 4 : 8);
			is_str(names(), "", "a String without an array is none");
			threads_set_ref(&t, string + THREADS_VALUE, array);
			is_str(names(), r == IMAGE_8 ? " 7:\xe6\x89\xa1" : " 7:ab",
			       "a String has the array's elements");
			threads_set_class(&t, array, t.string_class);
			is_str(names(), "", "an object that is no array has no elements");
		}
	}
}

static void test_arrays(void)
{
	static const struct {
		uint32_t layout;
		const char *what, *want;
	} row[] = {
		{THREADS_LAYOUT(8u, 28u), "bytes", " 7:abcd"},
		{THREADS_LAYOUT(8u, 30u), "bytes that begin later", " 7:cd\x01\x02"},
		{THREADS_LAYOUT(5u, 28u), "characters", ""},
		{THREADS_LAYOUT(9u, 28u), "shorts", ""},
		{THREADS_LAYOUT(8u, 28u) & 0xbfffffff, "references", ""},
		{THREADS_LAYOUT(8u, 28u) & 0x3fffffff, "an instance", ""},
	};
	uint64_t array;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		array = build(IMAGE_17, true);
		threads_set_ref(&t, name_of(array), threads_string(&t, u"abcd\1\2", 6));
		array = t.s.im.used + IMAGE_BASE;
		threads_rename(&t, image_pointer(&t.s.im, image_pointer(&t.s.im, t.list + 24)),
			       u"abcd\1\2", 6);
		image_set(&t.s.im, threads_length_at(&t, array), 4, 4);
		image_set(&t.s.im, t.array_class + 48, row[i].layout, 4);
		is_str(names(), row[i].want, "an array of %s is %s", row[i].what,
		       *row[i].want ? "read" : "none");
	}
	array = build(IMAGE_17, false);
	threads_rename(&t, array, u"abcd", 4);
	for (array = t.s.im.used + IMAGE_BASE; image_pointer(&t.s.im, array) != t.array_class;)
		array -= 8;
	array -= THREADS_CLASS;
	image_set(&t.s.im, threads_length_at(&t, array), 0x80000000, 4);
	is_str(names(), "", "an array with a negative length is none");
	image_set(&t.s.im, threads_length_at(&t, array), 0x7fffffff, 4);
	ok(has_prefix(names(), " 7:abcd") && text.len <= 3 + 768,
	   "the longest array is read as far as needed");
	image_set(&t.s.im, t.array_class + 48, 0, 4);
	is_str(names(), "", "a class without a layout is of no array");
}

static void test_references(void)
{
	uint64_t thread, at, copy;

	thread = build(IMAGE_17, false);
	at = name_of(thread);
	copy = image_new(&t.s.im, 64);
	memcpy(image_at(&t.s.im, copy + 4), image_at(&t.s.im, image_pointer(&t.s.im, at)), 48);
	image_set(&t.s.im, at, copy + 4, 8);
	is_str(names(), "", "a reference that is not aligned leads nowhere");
	thread = build(IMAGE_17, true);
	image_set(&t.s.im, t.statics + 16, 17, 4);
	is_str(names(), "", "references shifted by more than 16 are not known");
	thread = build(IMAGE_17, true);
	image_set(&t.s.im, t.statics + 32, 17, 4);
	is_str(names(), "", "nor are such classes");
	thread = build(IMAGE_17, true);
	image_set(&t.s.im, t.statics + 8, 0, 8);
	image_set(&t.s.im, t.statics + 16, 16, 4);
	image_set(&t.s.im, name_of(thread), IMAGE_BASE >> 16, 4);
	is_str(names(), "", "references shifted by 16 lead to what is there");
}

/* _threadObj is an object or a handle in releases of one layout. */
static void test_handles(void)
{
	uint64_t thread = build(IMAGE_17, true), object = threads_object(&t, thread);

	image_set(&t.s.im, thread + THREADS_OBJECT, object, 8);
	is_str(names(), " 7:main", "a thread whose field is the object itself has a name");
	image_set(&t.s.im, thread + THREADS_OBJECT, object + 4, 8);
	is_str(names(), "", "an object that is not aligned is none");
	thread = build(IMAGE_17, true);
	image_hide(&t.s.im, "OopHandle", "_obj");
	is_str(names(), "", "without handles in the release none is followed");
	thread = build(IMAGE_17, true);
	image_set(&t.s.im, image_pointer(&t.s.im, thread + THREADS_OBJECT), 0, 8);
	is_str(names(), "", "a handle of nothing leads nowhere");
}

/* ---- JVMs whose objects are not read ---- */

static void test_flags(void)
{
	for (int on = 0; on < 2; on++) {
		build(IMAGE_25, true);
		snap_image_flag(&t.s, "UseZGC", (uint8_t)on);
		is_str(names(), on ? "" : " 7:main", "UseZGC %s: names are %sread",
		       on ? "on" : "off", on ? "not " : "");
	}
}

/* The mark of an object that the collector has moved is the new one's address. */
static void test_moved(void)
{
	uint64_t thread, object;

	t.compact = true;
	thread = build(IMAGE_25, true);
	object = threads_object(&t, thread);
	is_str(names(), " 7:main", "an object with its class in the mark");
	image_set(&t.s.im, object, image_pointer(&t.s.im, object) | 3, 8);
	is_str(names(), "", "one that has been moved has none");
	t.compact = false;
}

static void test_missing(void)
{
	static const struct {
		enum image_release release;
		bool narrow;
		const char *type, *field;
	} row[] = {
		{IMAGE_17, true, "JavaThread", "_threadObj"},
		{IMAGE_17, true, "JavaThread", "_osthread"},
		{IMAGE_17, true, "Klass", "_super"},
		{IMAGE_17, true, "oopDesc", "_metadata._compressed_klass"},
		{IMAGE_17, false, "oopDesc", "_metadata._klass"},
		{IMAGE_17, true, "CompressedOops", "_narrow_oop._base"},
		{IMAGE_17, true, "CompressedOops", "_narrow_oop._shift"},
		{IMAGE_17, true, "CompressedKlassPointers", "_narrow_klass._base"},
		{IMAGE_25, true, "CompressedKlassPointers", "_shift"},
		{IMAGE_8, true, "Universe", "_narrow_oop._base"},
		{IMAGE_8, true, "JavaThread", "_next"},
		{IMAGE_8, true, "Threads", "_thread_list"},
		{IMAGE_17, true, "vmClasses",
		 "_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]"},
		{IMAGE_17, true, "vmClasses",
		 "_klasses[static_cast<int>(vmClassID::String_klass_knum)]"},
		{IMAGE_17, true, "ThreadsSMRSupport", "_java_thread_list"},
		{IMAGE_17, true, "InstanceKlass", "_fields"},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		build(row[i].release, row[i].narrow);
		image_hide(&t.s.im, row[i].type, row[i].field);
		is_str(names(), "", "without %s::%s no name is read", row[i].type, row[i].field);
		is_int(result.status, DFG_DUMP_OK, "the snapshot is whole without %s",
		       row[i].field);
	}
	build(IMAGE_17, false);
	image_hide(&t.s.im, "CompressedOops", "_narrow_oop._base");
	image_hide(&t.s.im, "CompressedKlassPointers", "_narrow_klass._base");
	image_hide(&t.s.im, "oopDesc", "_metadata._compressed_klass");
	is_str(names(), " 7:main", "plain references and classes need no base");
	for (unsigned i = 40; i <= 48; i += 8) {
		build(IMAGE_17, false);
		image_set(&t.s.im, t.statics + i, 0, 8);
		is_str(names(), "", "a JVM that has not loaded %s yet has no names",
		       i == 40 ? "Thread" : "String");
	}
}

/* ---- objects that move, threads that change ---- */

static uint64_t changing; /* the JavaThread */
static unsigned changes;

/* Moves the object each time that the thread's last object has been read. */
static void move_object(struct image *im, uint64_t addr, size_t len)
{
	uint64_t object = threads_object(&t, changing), to;

	(void)len;
	if (addr != object + THREADS_NAME || changes == 0)
		return;
	changes--;
	to = image_new(im, 64);
	memcpy(image_at(im, to), image_at(im, object), 64);
	image_set(im, image_pointer(im, changing + THREADS_OBJECT), to, 8);
}

static void test_moves(void)
{
	for (unsigned n = 1; n < 5; n++) {
		changing = build(IMAGE_17, true);
		changes = n;
		t.s.im.before_read = move_object;
		is_str(names(), n < 3 ? " 7:main" : "",
		       "a name whose object moves %u times while it is read is %s", n,
		       n < 3 ? "read again" : "left out");
	}
}

static void test_deltas(void)
{
	uint64_t thread;

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		thread = build((enum image_release)r, true);
		memset(state, 0, sizeof(*state));
		is_str(next(false), " 7:main", "layout %d: a whole snapshot has the names", r);
		is_str(next(true), "", "layout %d: a name is written once", r);
		add(8, "other");
		is_str(next(false), "", "layout %d: the next delta looks for none", r);
		is_str(next(true), " 8:other", "layout %d: then a new thread is named", r);
		rename_to(thread, "niam");
		is_str(next(true), " 7:niam", "layout %d: a thread of another name, too", r);
		add(9, "niam");
		is_str(next(true), " 9:niam", "layout %d: as is another one of that name", r);
		is_str(next(true), "", "layout %d: once", r);
	}
	state->threads.count = HS_THREADS_SLOTS / 2 - 1;
	add(10, "new");
	is_str(next(true), " 10:new", "half of the slots may be used");
	add(11, "newer");
	is_str(next(true), " 11:newer", "one more is written");
	is_int(state->threads.count, 1, "then all are forgotten");
	is_str(next(true), " 7:niam 8:other 9:niam 10:new", "and the others written once again");
	is_str(next(true), "", "but no more");
}

int main(void)
{
	state = calloc(1, HS_STATE_BYTES);
	test_texts();
	test_long_names();
	test_subclasses();
	test_threads();
	test_lists();
	test_objects();
	test_arrays();
	test_references();
	test_handles();
	test_flags();
	test_moved();
	test_missing();
	test_moves();
	test_deltas();
	free(state);
	str_fini(&text);
	return tap_done();
}
