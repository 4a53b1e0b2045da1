// SPDX-License-Identifier: Apache-2.0
/* The flat tables of a snapshot, of files and of mappings, and walks through them that end early.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/share.h"
#include "lib/unwindmake.h"

static struct flat_tables *tables;
static struct flat_process process;

static void is_end(const struct thread *t, enum flat_end want, const char *what)
{
	struct stack_copy stack = {
		.base = BASE, .p = (const uint8_t *)t->stack, .len = 8 * t->words};

	flat_tables = tables;
	is_int(flat_walk_from(&process, &t->regs, &stack), want, "%s", what);
}

static void open_tables(const struct snapfile *sf)
{
	struct err err;

	tables = flat_tables_new();
	if (flat_add_process(tables, sf, &process, &err) < 0)
		abort();
	flat_add_mapping(tables, &process, NATIVE, NATIVE + 0x1000, 0, NULL);
	flat_tables = tables;
}

/* ---- walks -------------------------------------------------------------------------------- */

static void test_whole(void)
{
	struct thread t = at(METHOD + 0x20, 1);

	t.stack[3] = UP;
	bottom(&t, 4);
	is_end(&t, FLAT_ROOT, "a stack that can be proved is walked to its first function");
	is_int(flat_made.sample.count, 4, "all its frames are there");
	is_int(flat_made.frames[0] >> 60, FLAT_FRAME_CODE, "the method is compiled");
	is_int((uint32_t)flat_made.frames[0], 0x20, "its offset is that of the pc");
	is_int((uint32_t)flat_made.frames[1], 0x3f, "a caller's is in its call");
}

static void test_left(void)
{
	struct thread t = at(METHOD + 0x20, 1);

	t.stack[3] = UP + 1;
	bottom(&t, 4);
	is_end(&t, FLAT_RETURN, "a return address that no call ends at is not believed");
	t.stack[3] = BARRIER + 0x800;
	process.code_high += 0x2000;
	is_end(&t, FLAT_UNSURE, "nor one in code that the tables lack");
	unwind_set(&t.regs, UNWIND_PC, BARRIER + 0x800);
	is_end(&t, FLAT_NO_CODE, "a pc in code that the tables lack is left");
	process.code_high -= 0x2000;
	unwind_set(&t.regs, UNWIND_PC, 0x10000);
	is_end(&t, FLAT_UNMAPPED, "and one where nothing is mapped");
	t = at(METHOD + 0x20, 1);
	t.words = 3;
	is_end(&t, FLAT_UNREAD, "memory that cannot be read ends the walk");
	t = at(NATIVE + 8, 1);
	is_end(&t, FLAT_POINTER, "so does native code without a frame pointer");
	t = at(ADAPTER + 8, 1);
	is_end(&t, FLAT_STUB, "and an adapter without a return address");
}

/* Words that are no return addresses, and one that is. */
static void test_searches(void)
{
	struct thread t = at(METHOD + 0x20, 1);
	struct stack_copy stack = {.base = BASE, .p = (const uint8_t *)t.stack, .len = 8 * t.words};
	unsigned found = 0;

	t.stack[2] = ENTRY;
	flat_stack = &stack;
	flat_made = (struct flat_walk){.process = process, .base = BASE};
	do {
		flat_made.sp = BASE - 8;
		flat_made.words_len = 0;
		flat_made.unsure = false;
	} while (flat_search_at(&flat_made, BASE, 0, 3) && ++found < 1000);
	is_int(found, FLAT_SEARCHES_MAX, "a walk ends that needs more searches than a stack does");
	ok(flat_made.unsure, "it is left to the copy");
}

/* A method that calls itself more often than there is room for. */
static void test_deep(void)
{
	enum { FRAME_WORDS = 4, MANY = FLAT_FRAMES_MAX + 10 };
	CLEANUP(free) uint64_t *words = xcalloc(MANY * FRAME_WORDS, sizeof(*words));
	struct stack_copy stack = {.base = BASE,
				   .p = (const uint8_t *)words,
				   .len = MANY * FRAME_WORDS * sizeof(*words)};
	struct thread t = at(METHOD + 0x20, 1);

	for (size_t i = FRAME_WORDS - 1; i < (size_t)MANY * FRAME_WORDS; i += FRAME_WORDS)
		words[i] = RET;
	is_int(flat_walk_from(&process, &t.regs, &stack), FLAT_FULL, "a walk ends when it is full");
	is_int(flat_made.sample.count, FLAT_FRAMES_MAX, "with as many frames as there is room for");
}

/* ---- code --------------------------------------------------------------------------------- */

static uint32_t number_at(uint64_t addr)
{
	struct flat_walk w = {.process = process};

	return flat_find(&w, addr) ? flat_number(&w, addr) : 0;
}

static bool returns_to(uint64_t addr)
{
	struct flat_walk w = {.process = process};

	return flat_is_return(&w, addr);
}

static void test_code(void)
{
	ok(number_at(METHOD) && number_at(METHOD) == number_at(METHOD + 0xff),
	   "all addresses of a code have its number");
	ok(!number_at(METHOD - 1) && !number_at(METHOD + 0x100), "those around it do not");
	ok(returns_to(RET) && returns_to(LEAF) && !returns_to(RET + 1),
	   "calls end where the snapshot says");
	ok(returns_to(AGAIN + 0xf0), "a frame may return to the deoptimisation handler");
	ok(returns_to(INTERP + 1) && returns_to(INTERP + 0x100),
	   "and anywhere into the interpreter");
	ok(returns_to(ENTRY) && !returns_to(ENTRY + 1), "and to the call stub");
}

/* Two codes where HotSpot has one: which one it is cannot be told by the number of 64 bytes. */
static void test_close(void)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	CLEANUP(str_fini) struct str s = {0};
	struct sm_code c = sm_compiled(METHOD);
	struct flat_walk w = {0};
	struct err err;

	sm_head(&s, (struct snap_head){.code_low = METHOD, .code_high = METHOD + 0x1000});
	c.head.size = 0x28;
	c.head.deopt = 0x20;
	sm_code(&s, c);
	c.head.start = METHOD + 0x28;
	sm_code(&s, c);
	sm_done(&s);
	if (sm_read(sf, s.buf, s.len, &err) < 0)
		abort();
	snapfile_finish(sf);
	open_tables(sf);
	w.process = process;
	ok(!number_at(METHOD) && !number_at(METHOD + 0x28),
	   "codes that are too close have no number");
	ok(!flat_is_return(&w, METHOD + 0x20) && w.unsure,
	   "nor is it said whether a call ends there");
	flat_tables_free(tables);
}

/* Two snapshots: of the second, METHOD, AGAIN and OTHER are other code. */
static void test_update(void)
{
	struct snapfile *first = make_snapshot(0, false), *both = make_snapshot(0, true);
	struct flat_sample sample = {.time = TIME + 2, .count = 2};
	uint32_t method, caller;
	uint64_t frames[2];
	size_t codes;
	struct err err;

	open_tables(first);
	method = number_at(METHOD);
	caller = number_at(CALLER);
	codes = tables->count[FLAT_CODES];
	ok(flat_update_process(tables, first, false, &process, &err) == 0 &&
		   tables->count[FLAT_CODES] == codes,
	   "the same snapshot again adds nothing");
	ok(flat_update_process(tables, both, false, &process, &err) == 0,
	   "a later snapshot is taken over");
	is_int(number_at(CALLER), caller, "code that stays has its number");
	ok(number_at(METHOD) >= codes, "code that was compiled again has a new one");
	is_int(tables->codes[number_at(METHOD)].frame, 64, "and its own frame");
	ok(!returns_to(RET), "calls of the old code end nowhere");
	is_int(tables->codes[method].frame, 32, "an old number is still that of the old code");
	frames[0] = FLAT_FRAME(FLAT_FRAME_NATIVE, NATIVE);
	frames[1] = FLAT_FRAME(FLAT_FRAME_CODE, FLAT_IN_CODE(caller, 0x3f));
	ok(flat_is_current(tables, both, &sample, frames),
	   "a stack through code that stays is right");
	frames[1] = FLAT_FRAME(FLAT_FRAME_CODE, FLAT_IN_CODE(method, 0x3f));
	ok(flat_is_current(tables, first, &sample, frames) &&
		   !flat_is_current(tables, both, &sample, frames),
	   "one through code that has been replaced is not");
	frames[1] = FLAT_FRAME(FLAT_FRAME_CODE, FLAT_IN_CODE(1u << 27, 0));
	ok(!flat_is_current(tables, both, &sample, frames), "nor one through a number of no code");
	process.code_low -= FLAT_PAGE;
	ok(flat_update_process(tables, both, false, &process, &err) < 0,
	   "a code cache does not move");
	flat_tables_free(tables);
	snapfile_free(first);
	snapfile_free(both);
}

/* ---- a file that grows ------------------------------------------------------------------- */

#define CACHE_PAGES 16u
#define SERIES	    400u
#define SNAPSHOTS   8u

static uint32_t next_random(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32);
}

static uint64_t random_start(void)
{
	return METHOD + next_random() % (CACHE_PAGES * FLAT_PAGE / FLAT_SEGMENT) * FLAT_SEGMENT;
}

/* Some codes, which overlap others and each other, and some that are gone, among them such as were
 * never there. */
static void add_random_snapshot(struct str *s, bool whole, bool ended)
{
	uint64_t gone[8];

	for (unsigned i = 0; i < ARRAY_LEN(gone); i++)
		gone[i] = random_start();
	sm_head(s, (struct snap_head){.code_low = METHOD,
				      .code_high = METHOD + CACHE_PAGES * FLAT_PAGE,
				      .flags = whole ? 0 : SNAP_DELTA});
	for (unsigned i = next_random() % 24; i > 0; i--) {
		struct sm_code c = sm_compiled(random_start());
		uint32_t call;

		c.head.size = 64 * (1 + next_random() % 40);
		c.head.compile_id = next_random() % 4; /* often the same code again */
		call = 1 + c.head.compile_id;
		c.head.call_count = 1;
		c.calls = &call;
		if (c.head.start + c.head.size <= METHOD + CACHE_PAGES * FLAT_PAGE)
			sm_code(s, c);
		if (next_random() % 8 == 0)
			sm_gone(s, gone, ARRAY_LEN(gone));
	}
	if (ended)
		sm_done(s);
}

static bool is_same_code(const struct flat_code *a, const struct flat_code *b)
{
	return a->start == b->start && a->compile_id == b->compile_id;
}

/* Places where the tables and those of the whole history do not say the same. */
static unsigned count_differences(const struct flat_process *p, int fd)
{
	struct snapfile *sf = snapfile_new();
	struct flat_tables *whole = flat_tables_new(), *own = tables;
	struct flat_process q;
	unsigned differ = 0;
	struct err err;

	if (snapfile_read(sf, fd, &err) < 0)
		abort();
	snapfile_finish(sf);
	if (flat_add_process(whole, sf, &q, &err) < 0)
		abort();
	for (uint64_t at = METHOD; at < METHOD + CACHE_PAGES * FLAT_PAGE; at += FLAT_SEGMENT) {
		const struct flat_segment *a, *b;

		flat_tables = own;
		a = flat_segment_at(&(struct flat_walk){.process = *p}, at);
		flat_tables = whole;
		b = flat_segment_at(&(struct flat_walk){.process = q}, at);
		if ((a ? a->code : 0) == 0 || (b ? b->code : 0) == 0)
			differ += (a ? a->code : 0) != (b ? b->code : 0);
		else
			differ += memcmp(a->returns, b->returns, sizeof(a->returns)) != 0 ||
				  !is_same_code(&own->codes[a->code], &whole->codes[b->code]);
	}
	flat_tables_free(whole);
	snapfile_free(sf);
	return differ;
}

/* Moves the tables into files, as if those were the kernel's, with room for few entries more. */
static void share_in_files(void)
{
	struct flat_rooms rooms;
	int files[FLAT_TABLES];
	struct err err;

	for (unsigned i = 0; i < FLAT_TABLES; i++) {
		rooms.of[i] = (uint32_t)tables->count[i] + 1 + next_random() % 100;
		files[i] = memfd_create("table", MFD_CLOEXEC);
		if (ftruncate(files[i], (off_t)flat_table_bytes(&rooms, i)) < 0)
			abort();
	}
	if (flat_share(tables, files, &rooms, false, &err) < 0)
		abort();
	for (unsigned i = 0; i < FLAT_TABLES; i++)
		close(files[i]);
}

/* Follows a file by what is added to it. Returns the differences to what its whole says.
 * `moves`: counts how often the tables had to leave the files that they are in; NULL: in none. */
static unsigned follow_series(unsigned *moves)
{
	CLEANUP(close_fd) int fd = file_of("", 0);
	unsigned differ = 0;
	uint64_t at = 0;
	struct err err;

	tables = flat_tables_new();
	for (unsigned i = 0; i < SNAPSHOTS; i++) {
		CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
		CLEANUP(str_fini) struct str s = {0};

		for (unsigned k = next_random() % 3; k < 3; k++)
			add_random_snapshot(&s, i == 0 || next_random() % 16 == 0, true);
		if (write(fd, s.buf, s.len) != (ssize_t)s.len ||
		    snapfile_read_ended(sf, fd, &at, &err) < 0)
			abort();
		snapfile_finish(sf);
		if ((i ? flat_update_process(tables, sf, false, &process, &err)
		       : flat_add_process(tables, sf, &process, &err)) < 0)
			abort();
		if (moves && !tables->shared) {
			*moves += i > 0;
			share_in_files();
		}
		differ += count_differences(&process, fd);
	}
	flat_tables_free(tables);
	return differ;
}

static bool has_method(uint64_t id)
{
	struct flat_walk w = {.process = process};

	return flat_is_method(&w, id);
}

static void begin_delta(struct str *s, uint32_t flags)
{
	sm_head(s, (struct snap_head){.flags = SNAP_DELTA | flags,
				      .code_low = process.code_low,
				      .code_high = process.code_high});
}

/* Takes over a delta, of code that has just been made or not. */
static void take_delta(struct str *s, bool made)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	struct err err;

	sm_done(s);
	if (sm_read(sf, s->buf, s->len, &err) < 0)
		abort();
	snapfile_finish(sf);
	if (flat_update_process(tables, sf, made, &process, &err) < 0)
		abort();
}

/* A delta with these methods is taken over. */
static void take_methods(uint32_t flags, uint64_t first, uint64_t last)
{
	CLEANUP(str_fini) struct str s = {0};

	begin_delta(&s, flags);
	for (uint64_t id = first; id <= last; id++)
		sm_method(&s, 8 * id, "a.b", "");
	take_delta(&s, false);
}

/* A Method that no table has: it leads to its class, which has the same ConstantPool. */
static void test_class_of_method(void)
{
	enum { METHOD_AT = 0x7000, CONST_AT = 0x7010, POOL_AT = 0x7020, CLASS_AT = 0x7030 };
	uint64_t words[8] = {[1] = CONST_AT, [3] = POOL_AT, [5] = CLASS_AT, [7] = POOL_AT};
	struct stack_copy memory = {
		.p = (const uint8_t *)words, .base = METHOD_AT, .len = sizeof(words)};

	flat_stack = &memory;
	ok(!has_method(METHOD_AT), "nothing is known without the places of the fields");
	process.objects.method_const = process.objects.const_pool = 8;
	process.objects.pool_holder = process.objects.class_pool = 8;
	ok(has_method(METHOD_AT), "a method that has never run");
	ok(!has_method(METHOD_AT + 8) && !has_method(0x9000), "others are none");
	words[7] = CONST_AT;
	ok(!has_method(METHOD_AT), "nor is one whose class has another pool");
	words[7] = words[3] = 0;
	ok(!has_method(METHOD_AT), "or none");
	words[3] = words[7] = POOL_AT;
	process.objects.class_pool = 0;
	ok(!has_method(METHOD_AT), "an older agent does not tell that place");
}

static void take_code(uint64_t start, uint32_t frame, bool made)
{
	CLEANUP(str_fini) struct str s = {0};
	struct sm_code c = sm_compiled(start);

	c.head.frame_size = frame;
	begin_delta(&s, 0);
	sm_code(&s, c);
	take_delta(&s, made);
}

static bool is_made(uint64_t addr)
{
	return tables->codes[number_at(addr)].flags & FLAT_MADE;
}

static void test_made(void)
{
	struct snapfile *first = make_snapshot(0, false);
	uint32_t number;
	struct err err;

	open_tables(first);
	ok(number_at(METHOD) && !is_made(METHOD), "code of a snapshot");
	take_code(METHOD, 96, true);
	number = number_at(METHOD);
	ok(is_made(METHOD), "code that has just been made");
	take_code(METHOD, 96, false);
	ok(number_at(METHOD) && !is_made(METHOD), "a delta has it");
	take_code(METHOD, 64, true);
	ok(number_at(METHOD) > number && is_made(METHOD), "another code in its place");
	ok(flat_update_process(tables, first, false, &process, &err) == 0 && !is_made(METHOD),
	   "a whole snapshot has its own");
	flat_tables_free(tables);
	snapfile_free(first);
}

static void test_methods(void)
{
	struct snapfile *first = make_snapshot(0, false);

	open_tables(first);
	take_methods(0, 1, 3);
	ok(has_method(8) && has_method(24) && !has_method(32), "a delta adds methods");
	take_methods(0, 4, 4);
	ok(has_method(8) && has_method(32), "to those that there are");
	take_methods(SNAP_METHODS_COMPLETE, 3, 4);
	ok(!has_method(8) && has_method(24) && has_method(32), "a list of all has no others");
	test_class_of_method();
	flat_tables_free(tables);
	snapfile_free(first);
}

static void test_growing(void)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	CLEANUP(close_fd) int fd = -1;
	CLEANUP(str_fini) struct str s = {0};
	unsigned differ = 0, moves = 0;
	uint64_t at = 0;
	struct err err;

	for (unsigned i = 0; i < SERIES; i++)
		differ += follow_series(NULL);
	is_int(differ, 0, "tables that follow a file are those of all of it");
	for (unsigned i = 0; i < SERIES; i++)
		differ += follow_series(&moves);
	ok(differ == 0 && moves > SERIES && moves < SERIES * (SNAPSHOTS - 1),
	   "so are those that are shared, and move %u times for more room", moves);
	add_random_snapshot(&s, true, true);
	at = s.len;
	add_random_snapshot(&s, false, false);
	fd = file_of(s.buf, s.len);
	ok(snapfile_read_ended(sf, fd, &at, &err) < 0 && at != 0 && at < s.len,
	   "a snapshot that is being written is left for later");
	at = 8;
	ok(snapfile_read_ended(sf, fd, &at, &err) < 0 && at == 0,
	   "where no snapshot begins, all of the file is read again");
}

/* ---- places of fields --------------------------------------------------------------------- */

/* The walker of a process has what its snapshot tells. */
static void test_layout(void)
{
	const struct snap_head head = {.time = 1, .code_low = METHOD, .code_high = METHOD + 0x1000};
	const struct snap_layout l = {{SNAP_LAYOUT, sizeof(l)}, 1, 2, 3, 4, 5, 6};
	const struct snap_objects o = {
		{SNAP_OBJECTS, sizeof(o)},
		7,
		8,
		9,
		10,
		11,
		4,
		3,
		0,
		2,
		SNAP_COLOURED,
		0,
		12,
		13,
		14,
		15,
		16,
		17,
		18,
		19,
		20,
		21,
		22,
		23,
		24,
		25,
		26,
		27,
		28,
		29,
		{30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46}};
	const struct flat_layout want = {1, 2, 3, 4, 5, 6};
	const struct flat_objects objects = {
		7,  8,
		9,  10,
		11, 4,
		3,  0,
		2,  FLAT_COLOURED,
		0,  12,
		13, 14,
		15, 16,
		17, 18,
		19, 20,
		21, 22,
		23, 24,
		25, 26,
		27, 28,
		29, {30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46}};
	uint8_t none[sizeof(objects)];

	memset(none, 0xff, sizeof(none));
	for (unsigned i = 0; i < 2; i++) {
		CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
		CLEANUP(str_fini) struct str s = {0};
		struct err err;

		sm_head(&s, head);
		if (i)
			str_add(&s, &l, sizeof(l));
		if (i)
			str_add(&s, &o, sizeof(o));
		sm_done(&s);
		if (sm_read(sf, s.buf, s.len, &err) < 0)
			abort();
		snapfile_finish(sf);
		open_tables(sf);
		ok(memcmp(&process.layout, i ? (const void *)&want : none, sizeof(want)) == 0,
		   "a process has the places of its snapshot: %s", i ? "all" : "none");
		ok(memcmp(&process.objects, i ? (const void *)&objects : none, sizeof(objects)) ==
			   0,
		   "and how objects are laid out");
		flat_tables_free(tables);
	}
}

/* ---- files -------------------------------------------------------------------------------- */

#define AT 0x7f0000000000u

/* True if a row says nothing of an address, or what the unwinder finds there. *ret_walked: it says
 * something. */
static bool is_step(struct cfi *cfi, uint64_t offset, bool *ret_walked)
{
	uint64_t words[512], pc = AT + offset;
	struct stack_copy stack = {.base = BASE, .p = (const uint8_t *)words, .len = sizeof(words)};
	struct unwind_regs r = {.exact = true};
	enum cfi_result result;
	enum flat_end end;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = AT + 0x1000 + i;
	unwind_set(&r, UNWIND_PC, pc);
	unwind_set(&r, UNWIND_SP, BASE);
	unwind_set(&r, UNWIND_FP, S(64));
	flat_stack = &stack;
	flat_made = (struct flat_walk){
		.process = process, .pc = pc, .sp = BASE, .fp = S(64), .base = BASE, .exact = true};
	end = flat_step(&flat_made);
	*ret_walked = end == FLAT_ON || end == FLAT_ROOT;
	result = cfi_step(cfi, offset, false, &r, &stack);
	if (end == FLAT_ROOT)
		return result == CFI_END;
	if (end != FLAT_ON || result == CFI_NONE)
		return end != FLAT_ON || flat_made.sp == S(66);
	return result == CFI_OK && flat_made.pc == unwind_pc(&r) && flat_made.sp == unwind_sp(&r) &&
	       flat_made.fp == unwind_fp(&r);
}

/* The whole executable segment of this program, which has the C library's start files in it. */
static void test_file(void)
{
	CLEANUP(close_fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(cfi_close) struct cfi *cfi = NULL;
	size_t same = 0, walked = 0, found = 0, all = 0;
	struct flat_file file;
	struct err err;

	tables = flat_tables_new();
	flat_tables = tables;
	process = (struct flat_process){0};
	cfi = cfi_open(fd, &err);
	if (!cfi || flat_add_file(tables, fd, &file, &err) < 0)
		abort();
	for (size_t i = 0; i < file.segments.count; i++) {
		const struct elfseg *g = &file.segments.list[i];

		if (!g->exec)
			continue;
		flat_add_mapping(tables, &process, AT + g->offset, AT + g->offset + g->size,
				 g->offset, &file);
		for (uint64_t at = g->offset; at < g->offset + g->size; at += 3, all++) {
			bool is_walked;

			/* The second time the row has been found. */
			same += is_step(cfi, at, &is_walked) && is_step(cfi, at, &is_walked);
			walked += is_walked;
			found += flat_found_row(&flat_made, AT + at) != 0;
		}
	}
	ok(all > 1000 && same == all, "rows step as the unwinder does, or not at all: %zu of %zu",
	   same, all);
	ok(walked > all / 2, "and most of them do: %zu", walked);
	ok(found >= walked, "rows that are looked up are found the next time: %zu", found);
	flat_file_fini(&file);
	flat_tables_free(tables);
}

/* What is found for an address is that of one process, and of no other address. */
static void test_found(void)
{
	struct flat_walk w[3] = {0}; /* the last one's process has no mappings */

	tables = flat_tables_new();
	flat_tables = tables;
	for (unsigned i = 0; i < 2; i++)
		flat_add_mapping(tables, &w[i].process, AT, AT + 4096, 0, NULL);
	flat_keep_row(&w[0], AT, 7);
	is_int(flat_found_row(&w[0], AT), 7, "a row that is kept is found");
	is_int(flat_found_row(&w[1], AT), 0, "but not for another process");
	is_int(flat_found_row(&w[2], AT), 0, "or for one without mappings");
	flat_keep_row(&w[2], AT, 8);
	is_int(flat_found_row(&w[0], AT), 7, "which keeps none");
	for (uint64_t at = AT + 1; at < AT + 4096; at++)
		if (flat_found_row(&w[0], at))
			abort();
	flat_keep_row(&w[0], AT | 1ull << FLAT_FOUND_BITS, 9);
	is_int(flat_found_row(&w[0], AT | 1ull << FLAT_FOUND_BITS), 0,
	       "addresses that do not fit are not kept");
	flat_tables_free(tables);
}

/* At a return all that was saved has been popped, which its rule does not say. */
static void test_popped(void)
{
	static const struct flat_row row = {.cfa = 1, .rule = FLAT_FROM_SP, .fp = 2};
	uint64_t words[] = {NATIVE};
	struct stack_copy stack = {.base = BASE, .p = (const uint8_t *)words, .len = sizeof(words)};

	flat_stack = &stack;
	flat_made = (struct flat_walk){.sp = BASE, .base = BASE, .fp = 7, .exact = true};
	is_int(flat_by_row(&flat_made, &row), FLAT_ON, "a frame pointer may have been popped");
	ok(flat_made.fp == 7 && flat_made.pc == NATIVE && flat_made.sp == S(1),
	   "then it has its value again");
}

static void test_no_file(void)
{
	CLEANUP(close_fd) int fd = open("tests/unit/test_flat_tables_x86.c", O_RDONLY | O_CLOEXEC);
	struct flat_file file;
	struct err err;

	tables = flat_tables_new();
	ok(flat_add_file(tables, fd, &file, &err) < 0, "a file that is no ELF file is refused");
	flat_tables_free(tables);
}

int main(void)
{
	snapshot = make_snapshot(0, false);
	open_tables(snapshot);
	test_whole();
	test_left();
	test_searches();
	test_deep();
	test_code();
	flat_tables_free(tables);
	snapfile_free(snapshot);
	snapshot = NULL;
	test_close();
	test_update();
	test_made();
	test_methods();
	test_growing();
	test_layout();
	test_file();
	test_found();
	test_popped();
	test_no_file();
	return tap_done();
}
