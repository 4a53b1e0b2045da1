// SPDX-License-Identifier: Apache-2.0
/* Fields of the records that a snapshot and its deltas have, one by one. */
#include "common/str.h"
#include "dfg/request.h"
#include "hotspot/code_heap.h"
#include "hotspot/state.h"
#include "lib/hsfields.h"
#include "lib/tap.h"

static struct snap_image s;
static struct hs_result result;
static struct hs_state *state;
static struct snap_head head;
static struct snap_end end;
static struct snap_code code[8]; /* in order */
static unsigned codes, gone;
static struct str names; /* of METHOD records, a space before each */
static size_t padding;	 /* bytes after the records' parts that are not 0 */

static void take_code(const char *record, size_t len)
{
	struct snap_code *c = &code[codes++ % 8];
	size_t used;

	memcpy(c, record, sizeof(*c));
	used = sizeof(*c) + c->scope_count * sizeof(struct snap_scope) +
	       c->region_count * sizeof(struct snap_region) +
	       c->exit_count * sizeof(struct snap_exit) + c->call_count * sizeof(uint32_t) +
	       c->name_len;
	for (; used % 8; used++)
		padding += record[used] != 0;
	/* The rest are spills, of which this JVM has none. */
	padding += len - used;
}

static bool take(void *arg, const char *record, size_t len)
{
	uint32_t type = snap_record_type(record, len);
	struct snap_method m;

	(void)arg;
	if (type == SNAP_HEAD)
		memcpy(&head, record, sizeof(head));
	if (type == SNAP_END)
		memcpy(&end, record, sizeof(end));
	if (type == SNAP_CODE)
		take_code(record, len);
	if (type == SNAP_GONE)
		gone += (unsigned)(len - sizeof(struct snap_gone)) / 8;
	if (type == SNAP_METHOD) {
		memcpy(&m, record, sizeof(m));
		str_addf(&names, " %.*s", (int)m.name_len, record + sizeof(m));
		for (size_t i = sizeof(m) + m.name_len + m.file_len; i < len; i++)
			padding += record[i] != 0;
	}
	return true;
}

/* Takes a snapshot; with a state the next one, which is a delta if it can be. */
static void take_next(struct hs_state *st, bool named)
{
	struct hs_source source = image_source(&s.im);
	struct hs_sink sink = {.write = take};

	codes = gone = 0;
	str_clear(&names);
	str_adds(&names, "");
	if (st)
		hs_dump_delta(&source, &sink, image_work(), st, named, &result);
	else
		hs_dump_snapshot(&source, &sink, image_work(), &result);
}

static void snapshot(void)
{
	take_next(NULL, true);
}

/* The address of a static field of the image. */
static uint64_t static_at(const char *type, const char *field)
{
	return image_pointer(&s.im, image_entry(&s.im, type, field) + IM_ADDRESS);
}

/* ---- HEAD ---- */

static void test_head(void)
{
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		snap_image_build(&s, (enum image_release)r);
		snapshot();
		ok(head.magic == SNAP_MAGIC && head.version == SNAP_VERSION,
		   "layout %d: the head says what follows", r);
		is_int(head.code_low, s.im.heap_low[0], "layout %d: code begins with its heap", r);
		is_int(head.code_high, s.im.heap_low[r != IMAGE_8] + IMAGE_HEAP,
		       "layout %d: it ends with the last one", r);
		is_int(head.interpreter_method, -3, "layout %d: where the method is in a frame", r);
#if defined(__aarch64__)
		is_int(head.interpreter_bcp, r == IMAGE_8 ? -7 : -9, "layout %d: and bcp", r);
#else
		is_int(head.interpreter_bcp, r == IMAGE_8 ? -7 : -8, "layout %d: and bcp", r);
#endif
		is_int(head.entry_wrapper, 0, "layout %d: a wrapper that is not listed", r);
		is_int(head.cont_return, 0, "layout %d: a barrier that is not listed", r);
		ok(head.time > 0 && end.time >= head.time, "layout %d: times ascend", r);
		is_int(padding, 0, "layout %d: padding is 0", r);
	}
}

static void test_head_more(void)
{
	struct image_field f = {"StubRoutines", "_cont_returnBarrier", "address", 0, true};
	uint64_t table;

	snap_image_build(&s, IMAGE_25);
	f.offset = image_new(&s.im, 8);
	image_set(&s.im, f.offset, 0x1234, 8);
	image_more_fields(&s.im, &f, 1);
	table = image_new(&s.im, 64);
	image_set(&s.im, table, image_text(&s.im, "frame::entry_frame_call_wrapper_offset"), 8);
	image_set(&s.im, table + 8, (uint32_t)-6, 4);
	image_variable(&s.im, "gHotSpotVMIntConstants", table);
	image_variable(&s.im, "gHotSpotVMIntConstantEntryArrayStride", 32);
	image_variable(&s.im, "gHotSpotVMIntConstantEntryNameOffset", 0);
	image_variable(&s.im, "gHotSpotVMIntConstantEntryValueOffset", 8);
	snapshot();
	is_int(head.entry_wrapper, -6, "where a call's wrapper is in a frame is written");
	is_int(head.cont_return, 0x1234, "the return barrier of JDK 21 is written");
}

static void test_bounds(void)
{
	static const struct {
		int64_t low, high; /* added to the heaps' */
		bool used;
		const char *what;
	} row[] = {{0, 0, true, "that is theirs"},
		   {-4096, 4096, true, "around them"},
		   {1, 0, false, "that begins later"},
		   {0, -1, false, "that ends earlier"},
		   {-4096, -1, false, "around no end"}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct image_field f[] = {{"CodeCache", "_low_bound", "address", 0, true},
					  {"CodeCache", "_high_bound", "address", 0, true}};
		uint64_t low, high;

		snap_image_build(&s, IMAGE_25);
		low = s.im.heap_low[0];
		high = s.im.heap_low[1] + IMAGE_HEAP;
		f[0].offset = image_new(&s.im, 8);
		f[1].offset = image_new(&s.im, 8);
		image_set(&s.im, f[0].offset, low + (uint64_t)row[i].low, 8);
		image_set(&s.im, f[1].offset, high + (uint64_t)row[i].high, 8);
		image_more_fields(&s.im, f, 2);
		snapshot();
		is_int(head.code_low, low + (row[i].used ? (uint64_t)row[i].low : 0),
		       "a reserved range of heaps %s: code begins there", row[i].what);
		is_int(head.code_high, high + (row[i].used ? (uint64_t)row[i].high : 0),
		       "a reserved range of heaps %s: code ends there", row[i].what);
	}
}

static void test_jdk(void)
{
	const struct image_field vm = {"Abstract_VM_Version", "_vm_major_version", "int", 0, true};
	struct image_field f = vm;

	snap_image_build(&s, IMAGE_17);
	f.offset = image_new(&s.im, 8);
	image_set(&s.im, f.offset, 11, 4);
	image_more_fields(&s.im, &f, 1);
	snapshot();
	is_int(head.jdk, 17, "the release is the JDK's, not HotSpot's");
	image_set(&s.im, static_at("JDK_Version", "_current") + 2, 0, 1);
	snapshot();
	is_int(head.jdk, 11, "where the JDK's is not set yet, HotSpot's");
	image_set(&s.im, f.offset, 999, 4);
	snapshot();
	is_int(head.jdk, 999, "which is below 1000");
	image_set(&s.im, f.offset, 1000, 4);
	snapshot();
	is_int(head.jdk, 0, "another one is unknown");
}

static void test_flags(void)
{
	snap_image_build(&s, IMAGE_17);
	image_set(&s.im, s.preserve_fp, 0, 1);
	snapshot();
	is_int(head.flags, SNAP_METHODS_COMPLETE, "flags that are off are not written");
	image_set(&s.im, s.preserve_fp, 1, 1);
	image_set(&s.im, s.non_safepoints, 1, 1);
	snapshot();
	is_int(head.flags, SNAP_METHODS_COMPLETE | SNAP_PRESERVE_FP | SNAP_DEBUG_NON_SAFE,
	       "flags that are on are");
	memset(state, 0, sizeof(*state));
	take_next(state, false);
	is_int(head.flags, SNAP_METHODS_COMPLETE | SNAP_PRESERVE_FP | SNAP_DEBUG_NON_SAFE,
	       "the first of several is whole");
	image_set(&s.im, s.non_safepoints, 0, 1);
	take_next(state, false);
	is_int(head.flags, SNAP_DELTA | SNAP_PRESERVE_FP, "a delta has the flags of its time");
	take_next(state, true);
	is_int(head.flags, SNAP_DELTA | SNAP_PRESERVE_FP | SNAP_METHODS_NAMED,
	       "one that goes through all classes says so");
	image_set(&s.im, s.loader + 8, 64, 8);
	take_next(state, true);
	is_int(head.flags, SNAP_DELTA | SNAP_PRESERVE_FP, "unless it could not");
}

/* ---- CODE ---- */

static void test_kinds(void)
{
	static const struct {
		const char *name;
		unsigned frame, want;
	} row[] = {
		{"Interpreter", 0, SNAP_INTERPRETER},
		{"Interpreter", 4, SNAP_INTERPRETER},
		{"I2C/C2I adapters", 0, SNAP_ADAPTER},
		{"I2C/C2I adapters(0xbb)", 4, SNAP_ADAPTER},
		{"MethodHandles adapters", 0, SNAP_ADAPTER},
		{"vtable chunks", 0, SNAP_ADAPTER},
		{"itable", 0, SNAP_ADAPTER},
		{"native signature", 0, SNAP_ADAPTER},
		{"Signature", 0, SNAP_ADAPTER},
		{"MHAdapter", 0, SNAP_ADAPTER},
		{"adapters", 0, SNAP_ADAPTER},
		{"vtabl", 0, SNAP_STUBS},
		{"StubRoutines (2)", 0, SNAP_STUBS},
		{"StubRoutines (2)", 1, SNAP_RUNTIME},
		{"ExceptionBlob", 6, SNAP_RUNTIME},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint64_t blob;

		snap_image_build(&s, i % IMAGE_RELEASES);
		blob = s.im.block[2] + IM_HEADER;
		image_set(&s.im, blob + 16, image_text(&s.im, row[i].name), 8);
		image_set(&s.im, blob + 24, row[i].frame, 4);
		snapshot();
		is_int(code[2].kind, row[i].want, "'%s' with a frame of %u words is of kind %u",
		       row[i].name, row[i].frame, row[i].want);
		is_int(code[2].name_len, strlen(row[i].name), "'%s' has its name", row[i].name);
	}
	snap_image_build(&s, IMAGE_17);
	snapshot();
	ok(code[0].kind == SNAP_COMPILED && code[1].kind == SNAP_NATIVE &&
		   code[3].kind == SNAP_COMPILED,
	   "methods are compiled or native");
	ok(code[0].name_len == 0 && code[0].method == s.run, "they have a method for a name");
	ok(code[2].method == 0 && code[2].deopt == SNAP_NONE && code[2].deopt_mh == SNAP_NONE &&
		   code[2].orig_pc == SNAP_NONE && code[2].level == 0,
	   "a stub has nothing of a method");
}

static void test_frames(void)
{
	static const struct {
		int32_t words, complete;
		uint32_t size, at;
	} row[] = {{6, 12, 48, 12},
		   {0, 12, 0, SNAP_NONE},
		   {-1, 12, 0, SNAP_NONE},
		   {1 << 17, 12, 1 << 20, 12},
		   {(1 << 17) + 1, 12, 0, SNAP_NONE},
		   {6, 0, 48, 0},
		   {6, 100, 48, 100},
		   {6, 101, 48, SNAP_NONE},
		   {6, -1, 48, SNAP_NONE}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		snap_image_build(&s, IMAGE_17);
		image_set(&s.im, s.im.block[0] + IM_HEADER + 24, (uint32_t)row[i].words, 4);
		image_set(&s.im, s.im.block[0] + IM_HEADER + 28, (uint32_t)row[i].complete, 4);
		snapshot();
		is_int(code[0].frame_size, row[i].size, "a frame of %d words has %u bytes",
		       row[i].words, row[i].size);
		is_int(code[0].frame_complete, row[i].at,
		       "a frame of %d words that is complete at %d is from %d on", row[i].words,
		       row[i].complete, (int)row[i].at);
		is_int(code[0].call_count + code[0].exit_count > 0, row[i].size > 0,
		       "a frame of %d words: %s", row[i].words,
		       row[i].size > 0 ? "calls are looked for" : "nothing is looked for");
	}
}

/* A stub has no frame_complete: its prologue shows where the frame is. */
static void test_stub_frames(void)
{
	uint64_t start;

	snap_image_build(&s, IMAGE_17);
	start = s.im.block[2] + IM_HEADER + IM_BLOB;
#if defined(__aarch64__)
	memcpy(image_at(&s.im, start), (uint32_t[]){0xd100c3ff, 0xa9027bfd}, 8);
#else
	memcpy(image_at(&s.im, start), (uint8_t[]){0x55, 0x48, 0x83, 0xec, 0x20}, 5);
#endif
	image_set(&s.im, s.im.block[2] + IM_HEADER + 24, 6, 4);
	image_set(&s.im, s.im.block[2] + IM_HEADER + 28, (uint32_t)-1, 4);
	snapshot();
	ok(code[2].sub_end != SNAP_NONE, "the prologue of a stub is found");
	is_int(code[2].frame_complete, code[2].sub_end, "its frame is complete after that");
	image_set(&s.im, s.im.block[0] + IM_HEADER + 28, (uint32_t)-1, 4);
	snapshot();
	is_int(code[0].frame_complete, SNAP_NONE, "a method's never is");
}

/* Regions between safepoints describe neither locals nor a stack nor monitors. */
static void test_between(void)
{
	snap_image_build(&s, IMAGE_17);
	for (unsigned i = 0; i < 3; i++) {
		uint8_t *p = image_at(&s.im, s.scopes + 1);

		/* Three scopes of nothing, none in another. */
		memcpy(p + 6 * i, (uint8_t[]){0, 1, 5, 0, 0, 0}, 6);
		s.place[i] = 1 + 6 * i;
	}
	for (unsigned i = 1; i < 6; i++)
		snap_image_set_pc(&s, i, 10 * i, s.place[i % 3]);
	snapshot();
	is_int(result.skipped, 0, "code without locals is read");
	is_int(code[0].flags, SNAP_BETWEEN, "it is exact");
	memset(image_at(&s.im, s.scopes + 1), 0, 30);
	for (unsigned i = 0; i < 5; i++) {
		memcpy(image_at(&s.im, s.scopes + 1 + 6 * i),
		       (uint8_t[]){0, 1, (uint8_t)(5 + i), i != 4, 0, 0}, 6);
		snap_image_set_pc(&s, i + 1, 10 * (i + 1), 1 + 6 * i);
	}
	snapshot();
	is_int(code[0].flags, SNAP_BETWEEN, "if a quarter of the places is like that");
	memcpy(image_at(&s.im, s.scopes + 1 + 24), (uint8_t[]){0, 1, 9, 1}, 4);
	snapshot();
	is_int(code[0].flags, 0, "but not if none is");
}

/* A call, and a jump after it to before the offset 20. */
static void test_slow_calls(void)
{
#if defined(__aarch64__)
	static const uint32_t insn[] = {0x94000040, 0x17fffffb};
	const uint32_t at = 28;
#else
	static const uint8_t insn[] = {0xe8, 0, 1, 0, 0, 0xeb, 0xee};
	const uint32_t at = 26;
#endif
	uint32_t calls, regions;

	snap_image_build(&s, IMAGE_17);
	for (unsigned i = 0; i < 5; i++) {
		memcpy(image_at(&s.im, s.scopes + 1 + 6 * i),
		       (uint8_t[]){0, 1, (uint8_t)(5 + i), 0, 0, 0}, 6);
		snap_image_set_pc(&s, i + 1, 10 * (i + 1) + 3, 1 + 6 * i);
	}
	snapshot();
	calls = code[0].call_count;
	regions = code[0].region_count;
	is_int(regions, 5, "five places");
	memcpy(image_at(&s.im, s.im.block[0] + IM_HEADER + IM_BLOB + at), insn, sizeof(insn));
	snapshot();
	is_int(code[0].call_count, calls, "a slow path's call is none without a region");
	is_int(code[0].region_count, 6, "it belongs to what it jumps back to");
	for (unsigned i = 0; i < 5; i++)
		memcpy(image_at(&s.im, s.scopes + 1 + 6 * i),
		       (uint8_t[]){0, 1, (uint8_t)(5 + i), 1, 0, 0}, 6);
	snapshot();
	is_int(code[0].flags, 0, "without places between safepoints");
	is_int(code[0].call_count, calls + 1, "it is not known what it belongs to");
}

/* ---- what cannot be written ---- */

static void test_changed(void)
{
	snap_image_build(&s, IMAGE_17);
	s.im.before_read = snap_image_change_block;
	snapshot();
	is_int(codes, 3, "code that was replaced while it was read is left out");
	ok(strstr(names.buf, " com.example.Main.run") != NULL,
	   "its method is written for its class");
	ok(!strstr(names.buf, "Util.map"), "one that it alone has is not");
	is_int(end.codes, 3, "the end counts what was written");
	is_int(end.methods, 4, "of methods, too");
	is_int(end.skipped, 1, "and what was not");
	is_int(end.status, DFG_DUMP_OK, "which is no failure");
	snap_image_build(&s, IMAGE_17);
	s.im.before_read = snap_image_change_block;
	memset(state, 0, sizeof(*state));
	take_next(state, false);
	is_int(codes, 3, "so is it with a state");
	s.im.before_read = NULL;
	image_set(&s.im, s.im.block[0] + IM_HEADER + 44, (4u << IMAGE_SEG) - IM_HEADER, 4);
	take_next(state, false);
	is_int(codes, 1, "the next delta has it");
	ok(strstr(names.buf, "Util.map") != NULL, "with all its methods");
	is_int(gone, 0, "it is not said to be gone before");
}

static void test_nameless(void)
{
	snap_image_build(&s, IMAGE_17);
	image_set(&s.im, image_pointer(&s.im, s.run + 24) + 42, 0, 2);
	snapshot();
	is_int(codes, 3, "code whose method has no name is left out");
	is_int(result.skipped, 1, "and counted");
	ok(!strstr(names.buf, "Util.map"), "nothing that it has inlined is written for it");
	snap_image_build(&s, IMAGE_17);
	image_set(&s.im, image_pointer(&s.im, s.map + 24) + 42, 0, 2);
	snapshot();
	is_int(codes, 4, "code that has inlined a method without a name is written");
	is_int(result.skipped, 0, "whole");
}

static void test_cut(void)
{
	snap_image_build(&s, IMAGE_17);
	memset(state, 0, sizeof(*state));
	take_next(state, false);
	image_set(&s.im, s.im.heap[0] + 104 + 32, IMAGE_BASE - 4096, 8);
	image_set(&s.im, s.im.heap[0] + 104 + 16, IMAGE_BASE, 8);
	take_next(state, false);
	is_int(result.status, DFG_DUMP_READ, "a heap that cannot be walked is a failure");
	is_int(gone, 0, "after which nothing is said to be gone");
	is_int(end.status, DFG_DUMP_READ, "the end says so");
	take_next(state, false);
	is_int(head.flags & SNAP_DELTA, 0, "the next snapshot is whole");
}

/* Thread names, stubs and new classes of old loaders come every half second, or when asked for. */
static void test_rare(void)
{
	uint64_t was;

	snap_image_build(&s, IMAGE_25);
	memset(state, 0, sizeof(*state));
	take_next(state, false);
	was = state->rare_time;
	ok(was == head.time, "a whole snapshot has what rarely changes");
	take_next(state, false);
	is_int(state->rare_time, was, "a delta soon after it has not");
	take_next(state, true);
	is_int(state->rare_time, head.time, "unless it goes through all");
	state->rare_time = head.time - HS_RARE_NS;
	take_next(state, false);
	is_int(state->rare_time, head.time, "one after half a second has");
}

int main(void)
{
	state = calloc(1, HS_STATE_BYTES);
	test_head();
	test_head_more();
	test_bounds();
	test_jdk();
	test_flags();
	test_kinds();
	test_frames();
	test_stub_frames();
	test_between();
	test_slow_calls();
	test_changed();
	test_nameless();
	test_cut();
	test_rare();
	free(state);
	str_fini(&names);
	return tap_done();
}
