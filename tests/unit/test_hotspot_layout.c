// SPDX-License-Identifier: Apache-2.0
/* The places of fields that a snapshot tells (SNAP_LAYOUT), of a JVM that is made up. */
#include "common/str.h"
#include "hotspot/state.h"
#include "lib/hsfields.h"
#include "lib/tap.h"

enum { ALLOCATED = 72, TLAB = 640, TLAB_START = 24, TLAB_TOP = 8 };

static struct snap_image s;
static struct hs_result result;
static struct snap_layout layout;
static unsigned layouts, records, at; /* records in all, and before the layout */
static uint32_t flags;

static bool take(void *arg, const char *record, size_t len)
{
	uint32_t type = snap_record_type(record, len);
	struct snap_head head;

	(void)arg;
	if (type == SNAP_HEAD) {
		memcpy(&head, record, sizeof(head));
		flags = head.flags;
	} else if (type == SNAP_LAYOUT && len == sizeof(layout)) {
		memcpy(&layout, record, sizeof(layout));
		layouts++;
		at = records;
	}
	records++;
	return true;
}

static void snapshot(struct hs_state *state)
{
	struct hs_source source = image_source(&s.im);
	struct hs_sink sink = {.write = take};

	memset(&layout, 0, sizeof(layout));
	layouts = records = at = flags = 0;
	if (state)
		hs_dump_delta(&source, &sink, image_work(), state, false, &result);
	else
		hs_dump_snapshot(&source, &sink, image_work(), &result);
}

/* Adds what says how much a thread has allocated. */
static void add_threads(void)
{
	static const struct image_field fields[] = {
		{"Thread", "_allocated_bytes", "jlong", ALLOCATED, false},
		{"Thread", "_tlab", "ThreadLocalAllocBuffer", TLAB, false},
		{"ThreadLocalAllocBuffer", "_start", "HeapWord*", TLAB_START, false},
		{"ThreadLocalAllocBuffer", "_top", "HeapWord*", TLAB_TOP, false},
		{"ThreadLocalAllocBuffer", "_end", "HeapWord*", 16, false},
	};

	image_more_fields(&s.im, fields, ARRAY_LEN(fields));
}

static void is_layout(uint32_t allocated, uint32_t start, uint32_t top, const char *what)
{
	snapshot(NULL);
	ok(layout.allocated == allocated && layout.tlab_start == start && layout.tlab_top == top,
	   "%s: %d %d %d", what, (int)layout.allocated, (int)layout.tlab_start,
	   (int)layout.tlab_top);
}

static void test_releases(void)
{
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		snap_image_build(&s, (enum image_release)r);
		printf("# layout %d\n", r);
		is_layout(SNAP_NONE, SNAP_NONE, SNAP_NONE, "what is not listed is not known");
		is_int(layouts, 1, "a whole snapshot has one layout");
		is_int(at, 1, "after its head");
		is_int(layout.class_name, 88, "a class's name");
		/* JDK 17 has the length in the upper half of _length_and_refcount. */
		is_int(layout.symbol_length, r == IMAGE_17 ? 6 : 4, "a symbol's length");
		is_int(layout.symbol_body, 9, "a symbol's bytes");
		add_threads();
		is_layout(ALLOCATED, TLAB + TLAB_START, TLAB + TLAB_TOP, "a thread's buffer");
	}
}

/* A release that lacks one of them. */
static void test_hidden(void)
{
	snap_image_build(&s, IMAGE_25);
	add_threads();
	image_hide(&s.im, "Thread", "_allocated_bytes");
	is_layout(SNAP_NONE, TLAB + TLAB_START, TLAB + TLAB_TOP, "no counter");
	image_hide(&s.im, "ThreadLocalAllocBuffer", "_start");
	is_layout(SNAP_NONE, SNAP_NONE, TLAB + TLAB_TOP, "no start of a buffer");
	image_hide(&s.im, "Thread", "_tlab");
	is_layout(SNAP_NONE, SNAP_NONE, SNAP_NONE, "a buffer that is nowhere has no top");
}

static void test_delta(void)
{
	static uint8_t memory[HS_STATE_BYTES] __attribute__((aligned(16)));
	struct hs_state *state = (void *)memory;

	snap_image_build(&s, IMAGE_17);
	add_threads();
	snapshot(state);
	ok(!(flags & SNAP_DELTA) && layouts == 1 && layout.allocated == ALLOCATED,
	   "the first of a row of snapshots is whole, and has a layout");
	snapshot(state);
	ok(flags & SNAP_DELTA && layouts == 0 && records == 2, "a delta has none");
}

int main(void)
{
	test_releases();
	test_hidden();
	test_delta();
	return tap_done();
}
