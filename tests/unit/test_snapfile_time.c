// SPDX-License-Identifier: Apache-2.0
/* Snapshots that follow each other: what was there at a time. */
#include "jit/code_history.h"

#include "lib/snapmake.h"
#include "lib/tap.h"

#define A 0x1000u
#define B 0x2000u

static struct snapfile *sf;

static void head(struct str *s, uint64_t time, uint32_t flags)
{
	flags |= flags & SNAP_DELTA ? 0 : SNAP_METHODS_COMPLETE;
	sm_head(s, (struct snap_head){.time = time, .flags = flags});
}

static void code(struct str *s, uint64_t start, uint32_t size, uint32_t id)
{
	sm_code(s, (struct sm_code){.head = {.start = start,
					     .size = size,
					     .kind = SNAP_COMPILED,
					     .method = id,
					     .compile_id = id}});
}

static void begin(const struct str *s)
{
	struct err err;

	snapfile_free(sf);
	sf = snapfile_new();
	ok(sm_read(sf, s->buf, s->len, &err) == 0, "%zu bytes of snapshots", s->len);
	snapfile_finish(sf);
}

/* The compile ids of what may be at an address, and the names an id may have. */
static void is_at(uint64_t addr, uint64_t time, const char *want, const char *what)
{
	const struct snapfile_code *c[SNAPFILE_AROUND];
	size_t n = snapfile_find(sf, addr, snapfile_around(sf, time), c);
	CLEANUP(str_fini) struct str got = {0};

	str_adds(&got, "");
	for (size_t i = 0; i < n; i++)
		str_addf(&got, "%s%u", i ? " " : "", c[i]->record->compile_id);
	is_str(got.len ? got.buf : "", want, "%s", what);
}

static void is_method(uint64_t id, uint64_t time, const char *want, const char *what)
{
	uint32_t number[SNAPFILE_AROUND];
	size_t n = snapfile_find_method(sf, id, snapfile_around(sf, time), number);
	CLEANUP(str_fini) struct str got = {0};

	for (size_t i = 0; i < n; i++) {
		struct snapfile_method m = snapfile_method(sf, number[i]);

		str_adds(&got, i ? " " : "");
		str_add(&got, m.name, m.name_len);
	}
	is_str(got.len ? got.buf : "", want, "%s", what);
}

/* The compile id that is found of a code that was known to be at an address; 0: none. */
static uint32_t known(uint64_t addr, uint64_t time, uint64_t start, uint32_t id)
{
	const struct snapfile_code *c =
		snapfile_find_known(sf, addr, snapfile_around(sf, time), start, id);

	return c ? c->record->compile_id : 0;
}

/* At A: 1, replaced by 2 between 200 and 300, which is gone by 400. At B: 9, always. */
static void test_life(void)
{
	static const uint64_t gone[] = {A};
	CLEANUP(str_fini) struct str s = {0};

	head(&s, 100, 0);
	code(&s, A, 64, 1);
	code(&s, B, 64, 9);
	sm_done_at(&s, 110);
	head(&s, 200, SNAP_DELTA);
	sm_done_at(&s, 210);
	head(&s, 300, SNAP_DELTA);
	code(&s, A, 32, 2);
	sm_done_at(&s, 310);
	head(&s, 400, SNAP_DELTA);
	sm_gone(&s, gone, 1);
	sm_done_at(&s, 410);
	str_adds(&s, "#dfg1 end");
	begin(&s);
	is_at(A, 1, "1", "before the first snapshot");
	is_at(A, 150, "1", "the same before and after");
	is_at(A, 205, "1 2", "while a snapshot is taken the next one counts, too");
	is_at(A, 250, "1 2", "replaced in between");
	is_at(A + 40, 250, "1", "of which the later is shorter");
	is_at(A, 305, "1 2", "a snapshot may have seen the later at its end");
	is_at(A, 311, "2", "gone after that");
	is_at(A + 40, 311, "", "nothing after the shorter");
	is_at(A, 350, "2", "gone in the next");
	is_at(A, 410, "", "gone");
	is_at(A, SNAPFILE_LATEST, "", "and stays so");
	is_int(known(A, 250, A, 1), 0, "known before: it may have been replaced");
	is_int(known(A, 250, A, 2), 2, "known already, and there afterwards");
	is_int(known(A, 205, A, 2), 2, "while a snapshot was taken, too");
	is_int(known(A, 350, A, 2), 2, "known before, and nothing after it");
	is_int(known(A, 250, A, 3), 0, "in no snapshot");
	is_int(known(A, 250, A - 16, 2), 0, "another start");
	is_int(known(A + 40, 250, A, 2), 0, "not of its size");
	is_at(B, 1, "9", "what did not change is there at first");
	is_at(B, 250, "9", "and in between");
	is_at(B, SNAPFILE_LATEST, "9", "and at last");
}

static void compiled(struct str *s, uint64_t start, uint32_t id, uint32_t frame, bool asked)
{
	struct sm_code c = sm_compiled(start);

	c.head.compile_id = id;
	c.head.frame_size = frame;
	(asked ? sm_asked_code : sm_code)(s, c);
}

/* Codes that were asked for between snapshots, of which these have only what came after them. */
static void test_asked_code(void)
{
	CLEANUP(str_fini) struct str s = {0};

	head(&s, 100, 0);
	sm_method(&s, 1, "a.One", "");
	compiled(&s, B, 9, 32, false);
	sm_done_at(&s, 110);
	for (unsigned i = 2; i <= 4; i++) {
		head(&s, i * 100, SNAP_DELTA);
		if (i == 3) {
			compiled(&s, A + 0x400, 5, 32, true);
			compiled(&s, A, 1, 32, true);
			compiled(&s, A, 2, 32, true);
			compiled(&s, A + 0x200, 3, 64, true);
			compiled(&s, A + 0x200, 4, 32, false);
			compiled(&s, A + 0x400, 6, 32, false);
		}
		if (i == 4)
			compiled(&s, B, 10, 64, false);
		sm_done_at(&s, i * 100 + 10);
	}
	begin(&s);
	is_at(A, 250, "", "it is in no snapshot");
	is_int(known(A, 250, A, 1), 1, "but known");
	is_int(known(A + 0xff, 250, A, 2), 2, "with another one after it");
	is_int(known(A, 250, A, 7), 0, "which has another id");
	is_int(known(A, 150, A, 1), 1, "in the snapshot before that");
	is_int(known(A, 50, A, 1), 0, "not long before");
	is_int(known(A, 350, A, 1), 1, "just after it");
	is_int(known(A, 450, A, 1), 0, "not long after");
	is_int(known(A + 0x200, 250, A + 0x200, 3), 0, "another frame took its place");
	is_int(known(A + 0x400, 250, A + 0x400, 5), 5, "the same frame did");
	is_int(known(A + 0x400, 250, A + 0x400, 6), 6, "which is known, too");
	is_int(known(B, 350, B, 9), 0, "another frame took the place of one in a snapshot");
}

/* Names what goes by where it starts. */
static void test_gone_elsewhere(void)
{
	static const uint64_t gone[] = {0, A - 1, A + 1, A + 63, A + 64, UINT64_MAX};
	CLEANUP(str_fini) struct str s = {0};

	head(&s, 100, 0);
	code(&s, A, 64, 1);
	sm_done_at(&s, 110);
	head(&s, 200, SNAP_DELTA);
	sm_gone(&s, gone, ARRAY_LEN(gone));
	sm_done_at(&s, 210);
	begin(&s);
	is_at(A, SNAPFILE_LATEST, "1", "addresses in code, or of no code, end none");
}

/* Code that a writer had not finished goes and comes again in one delta: it is the same if its
 * contents are. */
static void test_again(void)
{
	static const uint64_t gone[] = {A};
	CLEANUP(str_fini) struct str s = {0};

	head(&s, 100, 0);
	code(&s, A, 64, 1);
	sm_done_at(&s, 110);
	for (unsigned i = 2; i <= 4; i++) {
		head(&s, i * 100, SNAP_DELTA);
		sm_gone(&s, gone, 1);
		code(&s, A, 64, i < 4 ? 1 : 2);
		sm_done_at(&s, i * 100 + 10);
	}
	begin(&s);
	is_at(A, 250, "1", "the same before and after");
	is_at(A, 350, "1 2", "another");
	is_at(A, 450, "2", "which stays");
}

/* Whole snapshots: what is not listed is gone, unless the snapshot is not whole after all. */
static void test_whole(void)
{
	CLEANUP(str_fini) struct str s = {0};
	size_t end;

	head(&s, 100, 0);
	code(&s, A, 64, 1);
	code(&s, B, 64, 9);
	sm_done(&s);
	head(&s, 200, 0);
	code(&s, B, 64, 9);
	end = s.len;
	sm_done(&s);
	begin(&s);
	is_at(A, 150, "1", "not listed again");
	is_at(A, 200, "", "is gone");
	is_at(B, 200, "9", "listed again");
	s.len = end;
	begin(&s);
	is_at(A, 200, "1", "a snapshot without an end does not tell what is gone");
}

static void test_methods(void)
{
	CLEANUP(str_fini) struct str s = {0};
	const struct snapfile_code *c[SNAPFILE_AROUND];
	struct snapfile_method m;

	head(&s, 100, 0);
	sm_method(&s, 1, "a.Old", "");
	sm_method(&s, 2, "a.Same", "");
	sm_method(&s, 3, "a.Unloaded", "");
	code(&s, A, 64, 1);
	sm_done(&s);
	head(&s, 200, SNAP_DELTA);
	sm_method(&s, 1, "a.New", "");
	sm_method(&s, 2, "a.Same", "");
	code(&s, B, 64, 1);
	sm_done(&s);
	head(&s, 300, 0);
	sm_method(&s, 1, "a.New", "");
	sm_method(&s, 2, "a.Same", "");
	sm_method(&s, 5, "a.Late", "");
	code(&s, B, 64, 1);
	sm_done(&s);
	head(&s, 400, SNAP_DELTA | SNAP_METHODS_NAMED);
	sm_method(&s, 6, "a.Last", "");
	sm_done(&s);
	begin(&s);
	is_method(5, 250, "a.Late", "listed when it had run");
	is_method(5, 150, "a.Late", "but loaded before");
	is_method(5, 50, "", "though not run by the last list of all");
	is_method(1, 100, "a.Old a.New", "an id that is used again");
	is_method(1, 50, "a.Old", "before");
	is_method(1, 250, "a.New", "and after");
	is_method(2, 150, "a.Same", "the same in both");
	is_method(3, 250, "a.Unloaded", "not in a delta: as it was");
	is_method(3, 300, "", "not in a whole snapshot: gone");
	is_method(6, 350, "a.Last",
		  "in the last delta, which names all that had no name: loaded before");
	is_method(6, 250, "", "though not run by the last list of all");
	is_method(5, 450, "a.Late", "what it does not name again is still there");
	is_method(4, 150, "", "in none");
	ok(snapfile_methods_complete(sf), "all methods are known");
	ok(snapfile_find(sf, A, snapfile_around(sf, 50), c) == 1 &&
		   snapfile_code_method(c[0], &m) && memcmp(m.name, "a.Old", 5) == 0,
	   "code has the methods of its own snapshot");
	ok(snapfile_find(sf, B, snapfile_around(sf, 250), c) == 1 &&
		   snapfile_code_method(c[0], &m) && memcmp(m.name, "a.New", 5) == 0,
	   "the later code, too");
}

/* A class that was loaded before, of which a method is named only when it is compiled. */
static void test_late_name(void)
{
	CLEANUP(str_fini) struct str s = {0};

	head(&s, 100, 0);
	sm_done_at(&s, 110);
	head(&s, 200, SNAP_DELTA);
	sm_done_at(&s, 210);
	head(&s, 300, SNAP_DELTA);
	code(&s, A, 64, 7);
	sm_method(&s, 7, "a.Compiled", "");
	sm_done_at(&s, 310);
	begin(&s);
	is_method(7, 150, "a.Compiled", "a method that is compiled later has its name before");
	is_method(7, 50, "", "but not before the list of all methods that had run");
}

/* Methods that were asked for before their snapshot, in which their ids may be those of others. */
static void test_asked(void)
{
	CLEANUP(str_fini) struct str s = {0};

	head(&s, 100, 0);
	sm_method(&s, 5, "a.Before", "");
	sm_done_at(&s, 110);
	head(&s, 200, SNAP_DELTA | SNAP_METHODS_COMPLETE);
	sm_asked(&s, 1, "a.Short");
	sm_asked(&s, 2, "a.Stays");
	sm_asked(&s, 3, "a.Short");
	sm_asked(&s, 4, "a.One");
	sm_asked(&s, 4, "a.Two");
	sm_asked(&s, 5, "a.After");
	sm_method(&s, 2, "a.Stays", "");
	sm_method(&s, 3, "a.Next", "");
	sm_done_at(&s, 210);
	head(&s, 300, SNAP_DELTA);
	sm_asked(&s, 6, "a.Delta");
	sm_done_at(&s, 310);
	head(&s, 400, SNAP_DELTA | SNAP_METHODS_COMPLETE);
	sm_method(&s, 2, "a.Stays", "");
	sm_done_at(&s, 410);
	begin(&s);
	is_method(1, 150, "a.Short", "one that is not in the next snapshot");
	is_method(1, 250, "", "nor after it");
	is_method(1, 90, "", "nor before the snapshot before");
	is_method(2, 150, "a.Stays", "one that is in the next one, too");
	is_method(2, 350, "a.Stays", "and stays");
	is_method(3, 150, "a.Short a.Next", "one whose id another has there");
	is_method(3, 250, "a.Next", "which has it then");
	is_method(4, 150, "a.One a.Two", "an id that two had");
	is_method(4, 250, "", "and none has");
	is_method(5, 150, "a.Before a.After", "an id that one had before");
	is_method(6, 250, "a.Delta", "one in a delta that does not list all");
	is_method(6, 350, "a.Delta", "may be there until one does");
	is_method(6, 450, "", "which does not have it");
}

/* An id that one method has, and later another one, around the times at which classes were
 * unloaded. */
static void test_unloaded(void)
{
	CLEANUP(str_fini) struct str s = {0};

	head(&s, 100, 0);
	sm_method(&s, 1, "a.Old", "");
	sm_method(&s, 2, "a.Old", "");
	sm_method(&s, 3, "a.Old", "");
	sm_method(&s, 4, "a.One", "");
	sm_done_at(&s, 110);
	head(&s, 200, SNAP_DELTA);
	sm_method(&s, 1, "a.New", "");
	sm_asked(&s, 4, "a.Two");
	sm_unloaded(&s, 150);
	sm_done_at(&s, 210);
	head(&s, 300, SNAP_DELTA);
	sm_unloaded(&s, 260);
	sm_unloaded(&s, 240);
	sm_method(&s, 2, "a.New", "");
	sm_method(&s, 4, "a.Three", "");
	sm_done_at(&s, 310);
	head(&s, 400, SNAP_DELTA);
	sm_method(&s, 3, "a.New", "");
	sm_done_at(&s, 410);
	head(&s, 500, SNAP_DELTA);
	sm_method(&s, 4, "a.Four", "");
	sm_done_at(&s, 510);
	begin(&s);
	is_method(1, 149, "a.Old", "before the time");
	is_method(1, 150, "a.New", "from the time on");
	is_method(1, 205, "a.New", "while the snapshot is taken, too");
	is_method(2, 230, "a.Old a.New", "between two times it is either");
	is_method(2, 250, "a.Old a.New", "between others, too");
	is_method(2, 260, "a.New", "after the last");
	is_method(3, 350, "a.New", "long after all of them");
	is_method(4, 120, "a.One", "before one that was asked for");
	is_method(4, 180, "a.Two", "after it");
	is_method(4, 215, "a.Two a.Three", "which may be unloaded by then");
	is_method(4, 280, "a.Three", "and is");
	is_method(4, 450, "a.Three a.Four", "no time is known");
}

/* Times that run backwards, deltas of nothing, overlaps, lists longer than their record. */
static void test_hostile(void)
{
	static const uint64_t gone[] = {A, 0, UINT64_MAX, B};
	CLEANUP(str_fini) struct str s = {0};
	uint64_t many = UINT64_MAX;
	size_t at;

	head(&s, 500, SNAP_DELTA);
	code(&s, A, 64, 1);
	code(&s, A + 32, 64, 2);
	sm_done_at(&s, 20);
	head(&s, 100, SNAP_DELTA);
	at = s.len;
	sm_gone(&s, gone, 4);
	code(&s, A + 63, 1, 3);
	sm_done_at(&s, UINT64_MAX);
	head(&s, 100, SNAP_DELTA);
	code(&s, A, 64, 1);
	begin(&s);
	is_at(A + 32, 1, "2", "of two that overlap, the later");
	is_at(A, 1, "", "and nothing of the other");
	is_at(A + 63, UINT64_MAX - 1, "2 3 1", "three snapshots around a time, at most");
	is_at(A + 63, UINT64_MAX, "1", "the last time");
	memcpy(s.buf + at + offsetof(struct snap_gone, count), &many, sizeof(many));
	begin(&s);
	is_at(A + 32, 1, "2", "a list with more than it has room for");
}

/* Seconds apart, and most of what was compiled in between is gone: it may have been at A, too. */
static void test_restless(uint32_t id, const char *want, const char *what)
{
	const uint64_t second = 1000000000;
	CLEANUP(str_fini) struct str s = {0};

	head(&s, 1 * second, 0);
	code(&s, A, 64, 1);
	code(&s, B, 64, 9);
	sm_method(&s, 77, "a.Gone", "");
	sm_done(&s);
	head(&s, 5 * second, 0);
	code(&s, B, 64, 9);
	code(&s, 0x3000, 64, id);
	sm_done(&s);
	begin(&s);
	is_at(A, 3 * second, want, what);
	is_at(B, 3 * second, "9", "what was there before and after");
	is_at(A, 1, "1", "before both");
	is_method(77, 3 * second, *want ? "a.Gone" : "", "methods, too");
}

static void test_many(void)
{
	CLEANUP(str_fini) struct str s = {0};
	const unsigned codes = 20000, deltas = 3000;

	head(&s, 0, 0);
	for (unsigned i = 0; i < codes; i++)
		code(&s, 0x100000 + 64 * i, 64, i + 1);
	sm_done(&s);
	for (unsigned k = 1; k <= deltas; k++) {
		head(&s, 100ull * k, SNAP_DELTA);
		for (unsigned i = 0; i < 16; i++)
			code(&s, 0x100000 + 64 * ((k * 7919 + i * 331) % codes), 64,
			     codes + k * 16 + i);
		sm_done(&s);
	}
	begin(&s);
	is_at(0x100000 + 64 * (7919 % codes), 99, "7920 20016", "the first that is replaced");
	is_at(0x100000 + 64 * (7919 % codes), 50, "7920 20016", "at any time in between");
	is_at(0x100000 + 64 * (7919 % codes), 100, "20016", "and the one that replaces it");
}

int main(void)
{
	test_life();
	test_gone_elsewhere();
	test_again();
	test_whole();
	test_methods();
	test_late_name();
	test_asked();
	test_asked_code();
	test_unloaded();
	test_hostile();
	test_restless(109, "1", "some compilations that are not seen");
	test_restless(111, "", "many");
	test_many();
	snapfile_free(sf);
	return tap_done();
}
