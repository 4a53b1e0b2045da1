// SPDX-License-Identifier: Apache-2.0
/* The layout of Java objects, as a snapshot tells it (SNAP_OBJECTS), of a JVM that is made up.
 */
#include "common/str.h"
#include "hotspot/state.h"
#include "lib/hsthreads.h"
#include "lib/tap.h"

enum { BLOCKER = 44, EETOP = 16, MONITOR = 24, VIRTUAL = 200, PENDING = 208, WAITING = 216 };

static struct threads_image t;
static struct hs_result result;
static struct snap_objects objects;
static unsigned count, records, at; /* records in all, and before that of the objects */

static bool take(void *arg, const char *record, size_t len)
{
	(void)arg;
	if (snap_record_type(record, len) == SNAP_OBJECTS && len == sizeof(objects)) {
		memcpy(&objects, record, sizeof(objects));
		count++;
		at = records;
	}
	records++;
	return true;
}

static void snapshot(struct hs_state *state)
{
	struct hs_source source = image_source(&t.s.im);
	struct hs_sink sink = {.write = take};

	memset(&objects, 0xa5, sizeof(objects));
	count = records = at = 0;
	if (state)
		hs_dump_delta(&source, &sink, image_work(), state, false, &result);
	else
		hs_dump_snapshot(&source, &sink, image_work(), &result);
}

/* ---- JVMs that are made up ----------------------------------------------------------------- */

static const struct made_field thread_fields[] = {
	{"daemon", "Z", 12, 0},
	{"eetop", "J", EETOP, 0},
	{"parkBlocker", "Ljava/lang/Object;", BLOCKER, 0},
};

/* Has java.lang.Thread have these fields. */
static void set_thread(const struct made_field *f, unsigned n)
{
	image_set(&t.s.im, t.statics + 40, image_fields_class(&t.s.im, f, n), 8);
}

static void make(enum image_release release, bool narrow_refs, bool narrow_classes)
{
	const char *thread = release == IMAGE_25 ? "JavaThread" : "Thread";
	const struct image_field monitors[] = {
		{"ObjectMonitor", "_object", "void*", MONITOR, false},
		{thread, "_current_pending_monitor", "ObjectMonitor*", PENDING, false},
		{thread, "_current_waiting_monitor", "ObjectMonitor*", WAITING, false},
	};
	static const struct image_field virtual = {"JavaThread", "_vthread", "OopHandle", VIRTUAL,
						   false};

	t.narrow_refs = narrow_refs;
	t.narrow_classes = narrow_classes;
	threads_build(&t, release);
	set_thread(thread_fields, ARRAY_LEN(thread_fields));
	image_more_fields(&t.s.im, monitors, ARRAY_LEN(monitors));
	if (release == IMAGE_25)
		image_more_fields(&t.s.im, &virtual, 1);
}

/* Makes it another feature release. */
static void set_release(uint8_t jdk)
{
	struct image *im = &t.s.im;
	const bool new = im->release == IMAGE_25;
	const uint64_t entry = image_entry(im, new ? "Abstract_VM_Version" : "JDK_Version",
					   new ? "_vm_major_version" : "_current");

	image_set(im, image_pointer(im, entry + IM_ADDRESS) + (new ? 0 : 2), jdk, 1);
}

static const uint32_t code_method[] = {120, 128, 112}; /* lib/hsimage.h */

static struct snap_objects plain(uint32_t thread_object, uint32_t flags)
{
	return (struct snap_objects){.record = {SNAP_OBJECTS, sizeof(struct snap_objects)},
				     .monitor_object = MONITOR,
				     .thread_object = thread_object,
				     .pending_monitor = PENDING,
				     .waiting_monitor = WAITING,
				     .os_thread = 56,
				     .os_thread_id = 4, /* lib/hsthreads.h */
				     .park_blocker = BLOCKER,
				     .thread_address = EETOP,
				     .class_at = THREADS_CLASS,
				     .ref_bytes = 8,
				     .class_bytes = 8,
				     .flags = flags,
				     .task_method = SNAP_NONE,
				     .task_level = SNAP_NONE,
				     .method_const = 24, /* lib/hsimage.h */
				     .const_pool = 16,
				     .const_name = 42,
				     .pool_holder = 32,
				     .class_pool = FIELDS_POOL,
				     .code_level = 140, /* lib/hssnap.h */
				     .code_state = SNAP_NONE,
				     .pool_symbols = IM_POOL_HEADER};
}

static void set_narrow(struct snap_objects *o, bool refs, bool classes)
{
	if (refs) {
		o->ref_bytes = 4;
		o->ref_shift = (uint8_t)threads_shift(false);
		o->ref_base = threads_base(false);
	}
	if (classes) {
		o->class_bytes = 4;
		o->class_shift = (uint8_t)threads_shift(true);
		o->class_base = threads_base(true);
	}
}

static void are_objects(const struct snap_objects *want, const char *what)
{
	const struct snap_objects *o = &objects;
	struct snap_objects all = *want;

	snapshot(NULL);
	all.code_method = code_method[t.s.im.release];
	if (ok(memcmp(o, &all, offsetof(struct snap_objects, virtual)) == 0, "%s", what))
		return;
	printf("# monitor %d, thread %d, blocker %d, eetop %d, class %d\n", (int)o->monitor_object,
	       (int)o->thread_object, (int)o->park_blocker, (int)o->thread_address,
	       (int)o->class_at);
	printf("# references %u %u %llx, classes %u %u %llx, flags %u\n", o->ref_bytes,
	       o->ref_shift, (unsigned long long)o->ref_base, o->class_bytes, o->class_shift,
	       (unsigned long long)o->class_base, o->flags);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void test_releases(void)
{
	static const struct {
		uint32_t thread, flags;
	} releases[] = {[IMAGE_8] = {THREADS_OBJECT, 0},
			[IMAGE_17] = {THREADS_OBJECT, SNAP_HANDLES},
			[IMAGE_25] = {VIRTUAL, SNAP_HANDLES}};

	for (int i = 0; i < 4 * IMAGE_RELEASES; i++) {
		const int r = i / 4;
		const bool refs = i & 1, classes = i & 2;
		struct snap_objects want = plain(releases[r].thread, releases[r].flags);
		char what[96];

		make((enum image_release)r, refs, classes);
		set_narrow(&want, refs, classes);
		snprintf(what, sizeof(what), "layout %d with %s references and %s classes", r,
			 refs ? "narrow" : "whole", classes ? "narrow" : "whole");
		are_objects(&want, what);
		ok(count == 1 && at == 2, "  after the places of fields");
	}
}

/* From which release on fields are handles. */
static void test_handles(void)
{
	static const uint8_t releases[] = {11, 12, 16, 17, 21};

	for (size_t i = 0; i < sizeof(releases); i++) {
		const uint8_t jdk = releases[i];
		struct snap_objects want = plain(THREADS_OBJECT, jdk >= 17 ? SNAP_HANDLES : 0);
		char what[64];

		make(IMAGE_17, false, false);
		set_release(jdk);
		if (jdk > 11 && jdk < 17)
			want.monitor_object = want.thread_object = want.pending_monitor =
				want.waiting_monitor = SNAP_NONE;
		snprintf(what, sizeof(what), "JDK %u %s", jdk,
			 jdk <= 11   ? "has objects"
			 : jdk >= 17 ? "has handles"
				     : "may have either: no place is told");
		are_objects(&want, what);
	}
}

static void test_colours(void)
{
	static const struct {
		uint8_t jdk;
		bool z, generational, coloured;
	} rows[] = {
		{17, true, false, false}, {21, true, false, false}, {21, true, true, true},
		{23, true, true, true},	  {23, true, false, false}, {23, false, true, false},
		{24, true, false, true},  {25, true, false, true},  {25, false, false, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct snap_objects want =
			plain(VIRTUAL, SNAP_HANDLES | (rows[i].coloured ? SNAP_COLOURED : 0));
		char what[96];

		make(IMAGE_25, false, false);
		set_release(rows[i].jdk);
		snap_image_flag(&t.s, "UseZGC", rows[i].z);
		if (rows[i].jdk < 24)
			snap_image_flag(&t.s, "ZGenerational", rows[i].generational);
		snprintf(what, sizeof(what), "JDK %u %s%s: %s", rows[i].jdk,
			 rows[i].z ? "with ZGC" : "without ZGC",
			 rows[i].generational ? ", generational" : "",
			 rows[i].coloured ? "colours" : "no colours");
		are_objects(&want, what);
	}
}

/* Tells whether C1's and interpreted code refills buffers itself. */
static void test_refills(void)
{
	static const struct {
		bool on, g1, refills;
	} rows[] = {{true, false, true}, {true, true, false}, {false, false, false}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct snap_objects want =
			plain(THREADS_OBJECT, rows[i].refills ? SNAP_REFILLS : 0);
		char what[64];

		make(IMAGE_8, false, false);
		snap_image_flag(&t.s, "FastTLABRefill", rows[i].on);
		snap_image_flag(&t.s, "UseG1GC", rows[i].g1);
		snprintf(what, sizeof(what), "JDK 8 %s FastTLABRefill %s G1",
			 rows[i].on ? "with" : "without", rows[i].g1 ? "and" : "without");
		are_objects(&want, what);
	}
}

static void test_compact(void)
{
	for (unsigned on = 0; on < 2; on++) {
		struct snap_objects want = plain(VIRTUAL, SNAP_HANDLES);

		make(IMAGE_25, true, true);
		image_set(&t.s.im, t.compact_flag, on, 1);
		set_narrow(&want, true, true);
		if (on)
			want.class_at = want.class_bytes = 0;
		are_objects(&want, on ? "compact headers have the class in the mark"
				      : "only if they are used");
	}
}

/* Releases that list no plain class words, or none. */
static void test_class_words(void)
{
	struct snap_objects want = plain(VIRTUAL, SNAP_HANDLES);

	make(IMAGE_25, false, false);
	image_hide(&t.s.im, "oopDesc", "_metadata._klass");
	set_narrow(&want, false, true);
	are_objects(&want, "without whole classes they are narrow");
	image_hide(&t.s.im, "oopDesc", "_metadata._compressed_klass");
	snapshot(NULL);
	is_int(objects.class_at, SNAP_NONE, "without either there is no place");
	t.compact = true;
	make(IMAGE_25, false, false);
	t.compact = false;
	want = plain(VIRTUAL, SNAP_HANDLES);
	set_narrow(&want, false, true);
	want.class_at = want.class_bytes = 0;
	are_objects(&want, "of JDK 27 it is in the mark");
	image_set(&t.s.im, t.compact_flag, 0, 1);
	set_narrow(&want, false, true);
	want.class_at = THREADS_CLASS;
	are_objects(&want, "or after it");
	is_int(objects.monitor_object, MONITOR, "the others are known");
}

static void test_hidden(void)
{
	static const struct {
		const char *type, *field, *what;
		uint32_t thread, monitor, blocker;
	} rows[] = {
		{"JavaThread", "_vthread", "without _vthread it is _threadObj", THREADS_OBJECT,
		 MONITOR, BLOCKER},
		{"ObjectMonitor", "_object", "a monitor's object", VIRTUAL, SNAP_NONE, BLOCKER},
		{"CompressedOops", "_base", "how references are encoded", VIRTUAL, MONITOR,
		 SNAP_NONE},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		make(IMAGE_25, true, true);
		image_hide(&t.s.im, rows[i].type, rows[i].field);
		snapshot(NULL);
		ok(objects.thread_object == rows[i].thread &&
			   objects.monitor_object == rows[i].monitor &&
			   objects.park_blocker == rows[i].blocker &&
			   objects.thread_address == EETOP,
		   "hidden: %s", rows[i].what);
	}
	make(IMAGE_25, true, true);
	image_hide(&t.s.im, "JavaThread", "_vthread");
	image_hide(&t.s.im, "JavaThread", "_threadObj");
	snapshot(NULL);
	is_int(objects.thread_object, SNAP_NONE, "without both there is no place");
}

/* java.lang.Thread without fields, and of other types. */
static void test_thread(void)
{
	static const struct made_field others[] = {{"eetop", "I", EETOP, 0},
						   {"parkBlocker", "J", BLOCKER, 0}};

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		make((enum image_release)r, false, false);
		set_thread(thread_fields, 1);
		snapshot(NULL);
		ok(objects.thread_address == SNAP_NONE && objects.park_blocker == SNAP_NONE,
		   "layout %d: a Thread without its fields", r);
		set_thread(thread_fields, 2);
		snapshot(NULL);
		ok(objects.thread_address == EETOP && objects.park_blocker == SNAP_NONE,
		   "  with one of them");
		set_thread(others, ARRAY_LEN(others));
		snapshot(NULL);
		ok(objects.thread_address == SNAP_NONE && objects.park_blocker == SNAP_NONE,
		   "  with fields of other types");
		image_set(&t.s.im, t.statics + 40, 0, 8);
		snapshot(NULL);
		ok(objects.thread_address == SNAP_NONE && objects.park_blocker == SNAP_NONE &&
			   objects.monitor_object == MONITOR,
		   "  that is not loaded yet");
	}
}

static void test_tasks(void)
{
	static const struct image_field task[] = {{"CompileTask", "_method", "Method*", 8, false},
						  {"CompileTask", "_comp_level", "int", 48, false}};
	struct snap_objects want = plain(THREADS_OBJECT, SNAP_HANDLES);

	make(IMAGE_17, false, false);
	image_more_fields(&t.s.im, task, ARRAY_LEN(task));
	want.task_method = 8;
	want.task_level = 48;
	are_objects(&want, "tasks of the compilers");
}

/* Counters as runtime/perfMemory.hpp has them, at `start`: that of a collection's cause is the
 * second one. Returns the address of its text. */
static uint64_t make_counters(uint64_t start, uint32_t counters, uint32_t first_size)
{
	static const uint8_t magic[] = {0xca, 0xfe, 0xc0, 0xc0};
	struct image *im = &t.s.im;
	const uint64_t second = start + 32 + 48;

	memcpy(image_at(im, start), magic, sizeof(magic));
	image_set(im, start + 24, 32, 4);
	image_set(im, start + 28, counters, 4);
	image_set(im, start + 32, first_size, 4);
	image_set(im, start + 32 + 4, 20, 4);
	image_set(im, start + 32 + 16, 40, 4);
	memcpy(image_at(im, start + 32 + 20), "sun.gc.cause", 13);
	image_set(im, second, 64, 4);
	image_set(im, second + 4, 20, 4);
	image_set(im, second + 16, 40, 4);
	memcpy(image_at(im, second + 20), "sun.gc.lastCause", 17);
	return second + 40;
}

static void test_collections(void)
{
	const struct {
		const char *what;
		uint32_t count, first_size;
		bool hides_counters, known;
	} rows[] = {
		{"collections, and their cause", 2, 48, false, true},
		{"without counters the cause is not known", 2, 48, true, false},
		{"nor without that one", 1, 48, false, false},
		{"nor if a counter has no size", 2, 0, false, false},
		{"nor if it is too short for its name", 2, 20, false, false},
		{"nor if it goes on without end", 2, 0xfffffff0, false, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct snap_objects want = plain(THREADS_OBJECT, SNAP_HANDLES);
		uint64_t statics, heap, start, cause;

		make(IMAGE_17, false, false);
		statics = image_new(&t.s.im, 16);
		heap = image_new(&t.s.im, 64);
		start = image_new(&t.s.im, 256);
		const struct image_field fields[] = {
			{"Universe", "_collectedHeap", "CollectedHeap*", statics, true},
			{"CollectedHeap", "_total_collections", "unsigned int", 24, false},
			{"PerfMemory", "_start", "char*", statics + 8, true}};

		image_set(&t.s.im, statics, heap, 8);
		image_set(&t.s.im, statics + 8, start, 8);
		cause = make_counters(start, rows[i].count, rows[i].first_size);
		image_more_fields(&t.s.im, fields, rows[i].hides_counters ? 2 : 3);
		want.collections = heap + 24;
		want.gc_cause = rows[i].known ? cause : 0;
		are_objects(&want, rows[i].what);
	}
}

/* ---- virtual threads ---- */

/* Adds a class to a loader's list. */
static uint64_t add_class(uint64_t loader, const char *name, const struct made_field *f, unsigned n)
{
	struct image *im = &t.s.im;
	const uint64_t class = image_fields_class(im, f, n);

	image_set(im, class + 88, image_symbol(im, name), 8);
	image_set(im, class + 40, image_pointer(im, loader + 16), 8);
	image_set(im, loader + 16, class, 8);
	return class;
}

/* Makes a JVM with two loaders, of which the last one is the boot loader; `bottom`: of JDK 22 and
 * later. */
static void make_virtual(bool bottom)
{
	static const struct made_field thread[] = {{"tid", "J", 24, 0},
						   {"name", "Ljava/lang/String;", 60, 0}};
	static const struct made_field cont[] = {{"cont", "Ljdk/internal/vm/Continuation;", 72, 0}};
	static const struct made_field tail[] = {{"tail", "Ljdk/internal/vm/StackChunk;", 32, 0}};
	const struct made_field chunk[] = {{"parent", "Ljdk/internal/vm/StackChunk;", 40, 0},
					   {"size", "I", 12, 0},
					   {"sp", "I", 28, 0},
					   {bottom ? "bottom" : "argsize", "I", 20, 0}};
	struct image *im = &t.s.im;
	const uint64_t first = image_new(im, 32), boot = image_new(im, 32);
	const struct image_field fields[] = {
		{"ContinuationEntry", "_return_pc", "address", image_new(im, 8), true}};

	set_thread(thread, 2);
	image_more_fields(im, fields, 1);
	image_set(im, fields[0].offset, 0x12345, 8);
	image_set(im,
		  image_pointer(im, image_entry(im, "ClassLoaderDataGraph", "_head") + IM_ADDRESS),
		  first, 8);
	image_set(im, first + 8, boot, 8);
	add_class(first, "jdk/internal/vm/StackChunk", NULL, 0); /* the application's own */
	image_set(im, add_class(boot, "jdk/internal/vm/StackChunk", chunk, 4) + 48, 48 | 1, 4);
	add_class(boot, "jdk/internal/vm/StackChunks", NULL, 0);
	add_class(boot, "jdk/internal/vm/Continuation", tail, 1);
	add_class(boot, "java/lang/VirtualThread", cont, 1);
}

static void is_virtual(const struct snap_virtual *want, const char *what)
{
	snapshot(NULL);
	ok(memcmp(&objects.virtual, want, sizeof(*want)) == 0, "%s", what);
}

static void test_virtual(void)
{
	struct snap_virtual want = {.carrier = THREADS_OBJECT,
				    .continuation = 72,
				    .thread_id = 24,
				    .thread_name = 60,
				    .string_value = THREADS_VALUE,
				    .string_coder = THREADS_CODER,
				    .array_length = THREADS_CLASS + 8,
				    .class_layout = 48,
				    .chunk = 32,
				    .chunk_parent = 40,
				    .chunk_size = 12,
				    .chunk_sp = 28,
				    .chunk_arguments = SNAP_NONE,
				    .chunk_bottom = 20,
				    .chunk_stack = 48,
				    .enter_return = 0x12345};

	make(IMAGE_25, false, false);
	make_virtual(true);
	is_virtual(&want, "threads, their names, and chunks of JDK 22");
	make(IMAGE_25, false, false);
	make_virtual(false);
	want.chunk_arguments = 20;
	want.chunk_bottom = SNAP_NONE;
	is_virtual(&want, "chunks of JDK 21");
	image_hide(&t.s.im, "ContinuationEntry", "_return_pc");
	want.enter_return = 0;
	is_virtual(&want, "  with no place to which frames return");
	image_hide(&t.s.im, "ClassLoaderDataGraph", "_head");
	want.continuation = want.chunk = want.chunk_parent = want.chunk_size = want.chunk_sp =
		want.chunk_arguments = want.chunk_stack = SNAP_NONE;
	is_virtual(&want, "no loaders are listed: no chunks");
	image_hide(&t.s.im, "JavaThread", "_vthread");
	memset(&want, 0xff, sizeof(want));
	want.pad = 0;
	want.enter_return = 0;
	is_virtual(&want, "before JDK 21 there are none");
}

static void test_delta(void)
{
	static uint8_t memory[HS_STATE_BYTES] __attribute__((aligned(16)));
	struct hs_state *state = (void *)memory;

	make(IMAGE_17, true, true);
	snapshot(state);
	is_int(count, 1, "the first of a row of snapshots is whole, and has a layout of objects");
	snapshot(state);
	is_int(count, 0, "a delta has none");
}

int main(void)
{
	test_releases();
	test_handles();
	test_colours();
	test_refills();
	test_compact();
	test_class_words();
	test_hidden();
	test_thread();
	test_tasks();
	test_collections();
	test_virtual();
	test_delta();
	return tap_done();
}
