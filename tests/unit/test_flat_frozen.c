// SPDX-License-Identifier: Apache-2.0
/* Frames of a virtual thread in the heap, walked by the rules of the BPF program. */
#include "lib/unwindmake.h"

#include "common/str.h"
#include "kernel/flat_frozen.h"

/* A thread's stack, and after it a heap: a Continuation and StackChunks. */
enum {
	HEAP = 64,
	CONT = HEAP, /* words */
	FIRST = HEAP + 8,
	SECOND = HEAP + 64,
	ALL = HEAP + 128,
	DATA = 6,     /* words of a chunk before its stack */
	ENTRY_AT = 4, /* the ContinuationEntry */
	CARRIER = 12, /* where the frame of enterSpecial's caller is */
};

static struct flat_process process;
static uint64_t words[ALL];
static char text[512]; /* cut */

static void set_int(size_t word, unsigned half, uint32_t value)
{
	memcpy((char *)&words[word] + 4 * half, &value, sizeof(value));
}

static void set_chunk(size_t at, uint32_t size, uint32_t sp, uint32_t bottom)
{
	set_int(at + 1, 0, size);
	set_int(at + 1, 1, sp);
	set_int(at + 2, 0, bottom);
}

/* METHOD on the stack, thawed; in the heap METHOD again, an interpreted method, and CALLER; then
 * enterSpecial, which RUNTIME stands for. */
static void make(void)
{
	uint64_t *data = &words[FIRST + DATA];
	struct thread t = {0};

	memset(words, 0, sizeof(words));
	words[2] = S(CARRIER - 2);
	words[3] = BARRIER + 0x20;
	words[CARRIER - 1] = UP;
	bottom(&t, CARRIER);
	memcpy(&words[CARRIER], &t.stack[CARRIER], sizeof(t.stack) - CARRIER * sizeof(*words));
	words[ENTRY_AT + 2] = S(CONT);
	words[ENTRY_AT + 4] = 1; /* a virtual thread, no arguments */
	words[CONT + 1] = S(FIRST);
	set_chunk(FIRST, 40, 5, 23);
	data[3] = (uint64_t)-100;
	data[4] = RET;
	data[7] = 8; /* to word 15 */
	data[8] = INTO;
	data[12] = 0x111;
	data[14] = 2; /* to word 17 */
	data[15] = 1;
	data[16] = UP;
}

/* Walks it from a place, and makes a text of the frames: as is_stack of test_unwind.c. */
static const char *walk_from(uint64_t pc, uint64_t fp)
{
	static const char kinds[] = "ncif";
	struct stack_copy stack = {.base = BASE, .p = (const uint8_t *)words, .len = sizeof(words)};
	struct thread t = at(pc, fp);
	CLEANUP(str_fini) struct str s = {0};
	enum flat_end end = flat_walk_from(&process, &t.regs, &stack);

	for (uint32_t i = 0; i < flat_made.sample.count; i++) {
		const uint64_t f = flat_made.frames[i], value = f & (~0ull >> 4);

		str_addf(&s, "%c%" PRIx64 " ", kinds[f >> 60],
			 f >> 60 == FLAT_FRAME_CODE
				 ? flat_tables->codes[value >> 32].start + (uint32_t)value
				 : value);
	}
	str_addf(&s, "%s", end == FLAT_ROOT ? "root" : "left");
	snprintf(text, sizeof(text), "%s", s.buf);
	return text;
}

static const char *walk(void)
{
	return walk_from(METHOD + 0x20, 1);
}

#define TOP    "c90020 "
#define HEAPED "c9003f i111 c9103f "
#define ENTER  "cb103f "
#define BELOW  "c9103f cb000f nc001f root"

static void test_whole(void)
{
	struct flat_virtual *v = &process.objects.virtual;

	make();
	is_str(walk(), TOP HEAPED ENTER BELOW, "frames in the heap, then the carrier's");
	words[FIRST + DATA + 22] = RET;
	is_str(walk(), TOP HEAPED ENTER BELOW, "where they return to is not believed");
	v->enter_return = 0;
	words[7] = UP;
	words[12] = S(20);
	words[13] = ENTRY;
	is_str(walk(), TOP HEAPED "c9003f " BELOW, "but by a JVM that does not tell it");
	words[FIRST + DATA + 22] = 0;
	is_str(walk(), TOP HEAPED BELOW, "else enterSpecial is left out");
	v->enter_return = RUNTIME + 0x40;
	v->chunk_bottom = FLAT_NONE;
	v->chunk_arguments = 40;
	set_int(FIRST + 5, 0, 17);
	is_str(walk(), TOP HEAPED ENTER BELOW, "chunks of JDK 21 tell the size of arguments");
	v->chunk_bottom = 16;
}

static void test_chunks(void)
{
	make();
	words[FIRST + 3] = S(SECOND);
	set_chunk(SECOND, 20, 4, 8);
	words[SECOND + DATA + 3] = RET;
	is_str(walk(), TOP HEAPED "c9003f " ENTER BELOW, "the frames of the next chunk follow");
	set_chunk(FIRST, 40, 23, 23);
	is_str(walk(), TOP "c9003f " ENTER BELOW, "those of an empty one do not");
	set_chunk(SECOND, 20, 20, 20);
	is_str(walk(), TOP ENTER BELOW, "nor of two");
}

/* Its place is tried before, where the number of arguments is another one. */
static void test_arguments(void)
{
	make();
	memmove(&words[ENTRY_AT + 3], &words[ENTRY_AT], 5 * sizeof(*words));
	memset(&words[ENTRY_AT], 0, 3 * sizeof(*words));
	set_int(ENTRY_AT + 4, 1, 1);
	set_int(ENTRY_AT + 3 + 4, 1, 2);
	words[2] = S(CARRIER + 2);
	words[CARRIER + 2] = S(20);
	words[CARRIER + 3] = ENTRY;
	is_str(walk(), TOP HEAPED ENTER "cb000f nc001f root",
	       "the entry is above the arguments of the outermost frame, aligned");
}

#define LOST "f0 " ENTER BELOW

static void test_lost(void)
{
	static const struct {
		const char *what;
		size_t word;
		uint64_t value;
		const char *frames;
	} rows[] = {
		{"a continuation without a chunk", CONT + 1, 0, TOP LOST},
		{"an address that is no object's", CONT + 1, 0x1000, NULL},
		{"a chunk that is too large", FIRST + 1, 5ull << 32 | 0x200000, TOP LOST},
		{"one with its frames above its end", FIRST + 1, 41ull << 32 | 40, TOP LOST},
		{"or that end there", FIRST + 2, 41, TOP LOST},
		{"a first frame that no call has left", FIRST + DATA + 4, RET + 1, TOP LOST},
		{"a caller that has not called", FIRST + DATA + 8, NATIVE, TOP LOST},
		{"an interpreted frame below its callee", FIRST + DATA + 7, (uint64_t)-4,
		 TOP "c9003f " LOST},
		{"or whose caller is no further up", FIRST + DATA + 14, (uint64_t)-8,
		 TOP "c9003f " LOST},
		{"the next chunk is none", FIRST + 3, 0x1000, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		make();
		words[rows[i].word] = rows[i].value;
		walk();
		if (rows[i].frames)
			is_str(text, rows[i].frames, "%s", rows[i].what);
		else
			ok(strstr(text, "f0 ") || strstr(text, "left"), "%s", rows[i].what);
	}
	make();
	set_chunk(FIRST, 40, 23, 23);
	words[FIRST + 3] = S(FIRST);
	is_str(walk(), TOP LOST, "an empty chunk that is its own next one");
	make();
	words[FIRST + 3] = S(FIRST);
	walk();
	is_int(flat_made.sample.count, FLAT_FRAMES_MAX, "frames that repeat fill the stack");
	make();
	process.objects.virtual.chunk = FLAT_NONE;
	is_str(walk(), TOP LOST, "a JVM whose chunks are not known has a mark");
	process.objects.virtual.chunk = 8;
}

/* METHOD has called the JVM, which may be putting it into the chunk. */
static void test_freezing(void)
{
	make();
	words[ENTRY_AT + 4] = S(CONT);
	words[ENTRY_AT + 6] = 1;
	words[ENTRY_AT + 2] = 0;
	words[0] = 1;
	words[1] = RET;
	words[4] = S(CARRIER - 2);
	words[5] = BARRIER + 0x20;
	is_str(walk_from(NATIVE + 0x10, S(0)), "nc0010 c9003f " LOST,
	       "a chunk that begins where the JVM was called may have its frames already");
	words[FIRST + DATA + 4] = LEAF;
	is_str(walk_from(NATIVE + 0x10, S(0)), "nc0010 c9003f c9005f i111 c9103f " ENTER BELOW,
	       "one that begins elsewhere has others");
}

/* The barrier has called the JVM. */
static void test_thawing(void)
{
	make();
	words[0] = S(CARRIER - 2);
	words[1] = BARRIER + 0x20;
	words[2] = words[3] = 0;
	is_str(walk_from(NATIVE + 0x10, S(0)), "nc0010 f0 " BELOW,
	       "while frames are put back, the frame pointer leads to the carrier");
	words[0] = 1;
	is_str(walk_from(NATIVE + 0x10, S(0)), "nc0010 f0 root", "or nothing does");
}

/* A thread that is in the heap as a whole. */
static void test_unmounted(void)
{
	struct stack_copy stack = {.base = BASE, .p = (const uint8_t *)words, .len = sizeof(words)};

	make();
	flat_stack = &stack;
	flat_made = (struct flat_walk){.process = process, .mapping = process.mappings};
	ok(flat_enter_chunk(&flat_made, S(FIRST)), "a chunk");
	while ((flat_made.sample.end = flat_step(&flat_made)) == FLAT_ON)
		;
	ok(flat_made.sample.end == FLAT_ROOT && flat_made.sample.count == 3,
	   "without a carrier its frames are all there are");
}

int main(void)
{
	CLEANUP(flat_tables_free) struct flat_tables *tables = flat_tables_new();
	struct err err;

	snapshot = make_snapshot(BARRIER + 0x20, false);
	flat_tables = tables;
	if (flat_add_process(tables, snapshot, &process, &err) < 0)
		abort();
	flat_add_mapping(tables, &process, NATIVE, NATIVE + 0x1000, 0, NULL);
	process.objects = (struct flat_objects){.ref_bytes = 8,
						.virtual = {.chunk = 8,
							    .chunk_parent = 24,
							    .chunk_size = 8,
							    .chunk_sp = 12,
							    .chunk_bottom = 16,
							    .chunk_stack = 8 * DATA,
							    .enter_return = RUNTIME + 0x40}};
	test_whole();
	test_chunks();
	test_arguments();
	test_lost();
	test_freezing();
	test_thawing();
	test_unmounted();
	snapfile_free(snapshot);
	return tap_done();
}
