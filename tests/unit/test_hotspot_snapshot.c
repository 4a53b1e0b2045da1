// SPDX-License-Identifier: Apache-2.0
/* Snapshots of a JVM that is made up, and of ones that lie. */
#include "common/str.h"
#include "dfg/request.h"
#include "hotspot/code_heap.h"
#include "lib/hssnap.h"
#include "lib/tap.h"

static struct snap_image s;
static struct hs_result result;
static struct str text; /* what was read, as text */
static struct snap_head head;
static struct snap_end end;
static size_t room = SIZE_MAX;
static size_t length;

static void add_code(const uint8_t *p)
{
	const uint8_t *scopes = p + sizeof(struct snap_code), *at;
	struct snap_code c;

	memcpy(&c, p, sizeof(c));
	at = scopes + c.scope_count * sizeof(struct snap_scope);
	str_addf(&text,
		 "code %u kind=%u frame=%d,%d push=%d sub=%d level=%u id=%u deopt=%d orig=%d",
		 c.size, c.kind, (int)c.frame_size, (int)c.frame_complete, (int)c.push_end,
		 (int)c.sub_end, c.level, c.compile_id, (int)c.deopt, (int)c.orig_pc);
	for (uint32_t i = 0; i < c.region_count; i++, at += sizeof(struct snap_region)) {
		struct snap_region r;

		memcpy(&r, at, sizeof(r));
		str_addf(&text, " [%u", r.end);
		for (uint32_t n = r.scope; n != SNAP_NONE;) {
			struct snap_scope scope;

			memcpy(&scope, scopes + n * sizeof(scope), sizeof(scope));
			str_addf(&text, " %s@%d:%d",
				 scope.method == s.run	 ? "run"
				 : scope.method == s.map ? "map"
				 : scope.method == s.get ? "get"
							 : "?",
				 scope.bci, scope.line);
			n = scope.parent;
		}
		str_adds(&text, "]");
	}
	for (uint32_t i = 0; i < c.exit_count; i++, at += sizeof(struct snap_exit))
		str_addf(&text, " exit=%u-%u", *(const uint32_t *)at, *(const uint32_t *)(at + 4));
	for (uint32_t i = 0; i < c.call_count; i++, at += 4)
		str_addf(&text, " call=%u", *(const uint32_t *)at);
	if (c.name_len)
		str_addf(&text, " '%.*s'", (int)c.name_len, (const char *)at);
	str_adds(&text, "\n");
}

static bool take(void *arg, const char *record, size_t len)
{
	uint32_t type = snap_record_type(record, len);
	struct snap_method m;

	(void)arg;
	if (length + len > room)
		return false;
	length += len;
	if (type == SNAP_HEAD)
		memcpy(&head, record, sizeof(head));
	if (type == SNAP_END)
		memcpy(&end, record, sizeof(end));
	if (type == SNAP_CODE)
		add_code((const uint8_t *)record);
	if (type == SNAP_METHOD) {
		memcpy(&m, record, sizeof(m));
		str_addf(&text, "method %.*s %.*s\n", (int)m.name_len, record + sizeof(m),
			 (int)m.file_len, record + sizeof(m) + m.name_len);
	}
	return true;
}

static const char *snapshot(void)
{
	struct hs_source source = image_source(&s.im);
	struct hs_sink sink = {.write = take};

	str_clear(&text);
	str_adds(&text, "");
	length = 0;
	memset(&head, 0, sizeof(head));
	memset(&end, 0, sizeof(end));
	hs_dump_snapshot(&source, &sink, image_work(), &result);
	return text.buf ? text.buf : "";
}

/* The line of com.example.Main.run's code. */
static const char *code(void)
{
	static char line[1024];
	const char *p = strstr(snapshot(), "code 100 kind=1 frame=48");
	size_t len = p ? strcspn(p, "\n") : 0;

	snprintf(line, sizeof(line), "%.*s", (int)len, p ? p : "");
	return line;
}

#ifdef __x86_64__
#define FRAME "code 100 kind=1 frame=48,14 push=10 sub=14 level=4 id=77 deopt=90 orig=8"
#define SCAN  " exit=28-36 call=19"
#else
#define FRAME "code 100 kind=1 frame=48,12 push=-1 sub=8 level=4 id=77 deopt=90 orig=8"
#define SCAN  " exit=28-48 call=20"
#endif
#define REGIONS                                                                                    \
	" [24 run@4:12] [40 map@7:300 run@4:12] [50 get@-1:40 map@7:300 run@4:12] [60 run@4:12]"

static void test_releases(void)
{
	static const int jdk[] = {8, 17, 25};

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		snap_image_build(&s, (enum image_release)r);
		printf("# layout %d\n", r);
		is_str(code(), FRAME REGIONS SCAN, "the code, its frame and what is inlined");
		is_int(result.status, DFG_DUMP_OK, "whole");
		is_int(result.skipped, 0, "nothing skipped");
		is_int(result.entries, r == IMAGE_8 ? 3 : 4, "entries counted");
		is_int(result.bytes, length, "bytes counted");
		is_int(end.codes, result.entries, "the end says so too");
		is_int(end.methods, r == IMAGE_8 ? 4 : 5, "methods counted");
		is_int(head.jdk, jdk[r], "the release");
		is_int(head.call_stub_return, 0x4711, "the call stub");
		is_int(head.flags, SNAP_PRESERVE_FP | SNAP_METHODS_COMPLETE, "flags; all methods");
		ok(strstr(text.buf, "method com.example.Main.run Main.java\n") != NULL,
		   "a method and its file");
		ok(strstr(text.buf, "method com.example.Util.map Util.java\n") != NULL,
		   "one that is only inlined");
		ok(!strstr(text.buf, "Idle"), "none that never ran");
		ok(strstr(text.buf, "kind=4 frame=0,-1 push=-1 sub=-1 level=0 id=0 deopt=-1 "
				    "orig=-1 'Stub_Routines (1)'\n") != NULL,
		   "a stub has its name");
	}
	image_set(&s.im, s.non_safepoints, 1, 1);
	image_set(&s.im, s.compiler, 0, 1);
	snapshot();
	ok(head.flags & SNAP_DEBUG_NON_SAFE, "DebugNonSafepoints");
	ok(strstr(text.buf, "method com.example.Idle.never Idle.java\n") != NULL,
	   "a JVM that does not count: all methods may have run");
}

/* Breaks one thing; the code keeps its frame, and says `want` of its regions. */
#define BREAK(release, want, what, ...)                                                            \
	do {                                                                                       \
		snap_image_build(&s, release);                                                     \
		__VA_ARGS__;                                                                       \
		ok(has_prefix(code(), FRAME want " exit") || has_prefix(code(), FRAME want), "%s", \
		   what);                                                                          \
		if (!has_prefix(code(), FRAME want))                                               \
			printf("#  got: %s\n", code());                                            \
	} while (0)
#define BLOB (s.im.block[0] + IM_HEADER)

/* No regions, and it is counted. */
#define LOST(what, ...)                                                                            \
	do {                                                                                       \
		for (int r = IMAGE_17; r <= IMAGE_25; r++) {                                       \
			snap_image_build(&s, (enum image_release)r);                               \
			__VA_ARGS__;                                                               \
			code();                                                                    \
			ok(has_prefix(code(), FRAME) && !strchr(code(), '['), "%s: no regions",    \
			   what);                                                                  \
			is_int(result.skipped, 1, "and it is counted");                            \
			is_int(result.entries, 4, "but the code is there");                        \
		}                                                                                  \
	} while (0)

static void test_lies(void)
{
	uint64_t hole = IMAGE_BASE - 4096;

	LOST("a place after the scopes' data", snap_image_set_pc(&s, 2, 30, 1000));
	LOST("PcDescs out of order", snap_image_set_pc(&s, 2, 20, s.place[1]));
	LOST("a scope that is its own sender",
	     *snap_image_pack(&s.im, image_at(&s.im, s.scopes + s.place[1]),
			      (uint32_t)s.place[1]) += 0);
	LOST("a sender after its scope",
	     *snap_image_pack(&s.im, image_at(&s.im, s.scopes + s.place[0]),
			      (uint32_t)s.place[2]) += 0);
	LOST("PcDescs that end before they begin",
	     image_set(&s.im, BLOB + (s.im.release == IMAGE_25 ? 148 : 8), 1, 4));
	LOST("PcDescs after all there is",
	     image_set(&s.im, BLOB + (s.im.release == IMAGE_25 ? 148 : 8), 0x7fffffff, 4));
	BREAK(IMAGE_25, "", "immutable data in a hole", image_set(&s.im, BLOB + 96, hole, 8));
	is_int(result.skipped, 1, "is counted");
	BREAK(IMAGE_25, "", "mutable data in a hole", image_set(&s.im, BLOB + 80, hole, 8));
	BREAK(IMAGE_25, "", "immutable data without end",
	      image_set(&s.im, BLOB + 104, 0x7fffffff, 4));
	BREAK(IMAGE_25, "", "a byte that packs no number",
	      image_set(&s.im, s.scopes + s.place[0], 0, 1));
	BREAK(IMAGE_25, " [24 ?@4:0]", "a method index after the metadata",
	      image_set(&s.im, s.scopes + s.place[0] + 1, 100, 1));
	BREAK(IMAGE_17, " [24 ?@4:0]", "a method in a hole", image_set(&s.im, s.metadata, hole, 8));
	BREAK(IMAGE_17, " [24 ?@4:0]", "a method that is none", image_set(&s.im, s.metadata, 3, 8));
}

static void test_methods(void)
{
	snap_image_build(&s, IMAGE_25);
	image_set(&s.im, s.klass + 40, s.klass, 8);
	snapshot();
	is_int(result.status, DFG_DUMP_OK, "classes in a circle end");
	ok(!(head.flags & SNAP_METHODS_COMPLETE), "and are not complete");
	for (int offset = 64; offset <= 80; offset += 8) {
		snap_image_build(&s, IMAGE_8);
		image_set(&s.im, s.klass + (unsigned)offset, s.klass, 8);
		snapshot();
		is_int(result.status, DFG_DUMP_OK, "JDK 8: a class that is its own %s ends",
		       offset == 64   ? "super"
		       : offset == 72 ? "sub"
				      : "sibling");
		ok(!(head.flags & SNAP_METHODS_COMPLETE), "and is not complete");
	}
	snap_image_build(&s, IMAGE_25);
	image_set(&s.im, s.loader + 8, s.loader, 8);
	snapshot();
	ok(!(head.flags & SNAP_METHODS_COMPLETE), "loaders in a circle");
	snap_image_build(&s, IMAGE_25);
	image_set(&s.im, s.methods + 4, 0x7fffffff, 4);
	snapshot();
	ok(!(head.flags & SNAP_METHODS_COMPLETE), "more methods than a class can have");
	snap_image_build(&s, IMAGE_25);
	image_set(&s.im, s.klass + 56, IMAGE_BASE - 4096, 8);
	is_str(code(), FRAME REGIONS SCAN, "methods in a hole: the code all the same");
	ok(!(head.flags & SNAP_METHODS_COMPLETE), "but not complete");
	is_int(end.methods, 5, "compiled methods are named");
}

static void test_race(void)
{
	snap_image_build(&s, IMAGE_17);
	s.im.before_read = snap_image_change_block;
	snapshot();
	ok(!strstr(text.buf, "frame=48"), "a block that is another one by now is not written");
	is_int(result.skipped, 1, "and counted");
	is_int(result.entries, 3, "the others are");
	ok(!strstr(text.buf, "Util.map"), "nor what it named");
}

/* Gives the class of com.example.Util.get another name before the heap is read. */
static void rename_class(struct image *im, uint64_t addr, size_t len)
{
	uint64_t klass =
		image_pointer(im, image_pointer(im, image_pointer(im, s.get + 24) + 16) + 32);

	if (addr == im->block[0] && len > HS_BLOB_HEADER)
		memcpy(image_at(im, image_pointer(im, klass + 88) + 9), "new", 3);
}

static void test_reused(void)
{
	snap_image_build(&s, IMAGE_17);
	s.im.before_read = rename_class;
	ok(strstr(snapshot(), "new.example.Util.get"),
	   "the memory of a listed class is another's when code is read: named as it is then");
}

static void test_full(void)
{
	snap_image_build(&s, IMAGE_17);
	snapshot();
	for (size_t n = result.bytes; n-- > 0;) {
		room = n;
		snapshot();
		if (result.status != DFG_DUMP_NO_SPACE || result.bytes != length || length > n)
			break;
		if (n == 0)
			room = SIZE_MAX;
	}
	is_int(room, SIZE_MAX, "a sink that is full at any record: no more is written, status 2");
	room = SIZE_MAX;
}

static void test_tables(void)
{
	snap_image_build(&s, IMAGE_17);
	s.im.symbols = 0;
	snapshot();
	is_int(result.status, DFG_DUMP_NO_TABLES, "no tables");
	is_int(length, 0, "nothing is written");
	snap_image_build(&s, IMAGE_17);
	image_build(&s.im, IMAGE_17);
	snapshot();
	is_int(result.status, DFG_DUMP_PARTLY, "tables with no more than a map needs");
	is_int(result.entries, 4, "all code, without frames");
	is_int(head.jdk, 0, "of an unknown release");
}

static void test_flags(void)
{
	struct hs_source source = image_source(&s.im);
	uint64_t addr = 0;
	uint8_t value = 0;

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		snap_image_build(&s, (enum image_release)r);
		ok(hs_find_flag(&source, image_work(), "PreserveFramePointer", &addr, &value),
		   "layout %d: a flag", r);
		is_int(addr, s.preserve_fp, "its address");
		is_int(value, 1, "its value");
		ok(!hs_find_flag(&source, image_work(), "Preserve", &addr, &value), "half a name");
		ok(!hs_find_flag(&source, image_work(), "", &addr, &value), "no name");
	}
	image_build(&s.im, IMAGE_17);
	ok(!hs_find_flag(&source, image_work(), "PreserveFramePointer", &addr, &value), "no flags");
}

int main(void)
{
	test_releases();
	test_lies();
	test_methods();
	test_race();
	test_reused();
	test_full();
	test_tables();
	test_flags();
	return tap_done();
}
