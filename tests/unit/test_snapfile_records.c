// SPDX-License-Identifier: Apache-2.0
/* Records of snapshots: which of them count, what makes two of them the same, and which snapshots
 * are around a time. */
#include "jit/code_history.h"

#include "dfg/request.h"
#include "lib/snapmake.h"
#include "lib/tap.h"

#define SECOND 1000000000ull

static struct snapfile *history_of(const struct str *s)
{
	struct snapfile *sf = snapfile_new();
	struct err err;

	if (sm_read(sf, s->buf, s->len, &err) < 0)
		abort();
	snapfile_finish(sf);
	return sf;
}

/* A THREAD record that claims a name of `len` bytes. */
static void thread(struct str *s, uint32_t tid, const char *name, size_t len)
{
	struct snap_thread t = {
		.record = {.type = SNAP_THREAD}, .tid = tid, .name_len = (uint32_t)len};
	size_t at = s->len;

	str_add(s, &t, sizeof(t));
	str_adds(s, name);
	sm_end(s, at);
}

static void is_thread(const struct snapfile *sf, uint32_t tid, const char *want, const char *what)
{
	size_t len = 0;
	const char *name = snapfile_thread(sf, tid, &len);
	CLEANUP(free) char *got = name ? xstrndup(name, len) : NULL;

	is_str(got, want, "%s", what);
}

static void test_threads(void)
{
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(snapfile_free) struct snapfile *empty = snapfile_new();
	CLEANUP(snapfile_free) struct snapfile *sf = NULL;
	char name[DFG_NAME_MAX + 2];
	size_t len = 0;

	is_thread(empty, 1, NULL, "a history of nothing has no thread");
	memset(name, 'n', sizeof(name));
	name[DFG_NAME_MAX + 1] = '\0';
	sm_head(&s, (struct snap_head){.time = 1});
	thread(&s, 20, "twenty", 6);
	thread(&s, 10, "ten", 3);
	thread(&s, 30, "", 0);
	thread(&s, 40, "eightbyt", 9);
	thread(&s, 50, "eightbyt", 8);
	thread(&s, 60, name, DFG_NAME_MAX + 1);
	name[DFG_NAME_MAX] = '\0';
	thread(&s, 70, name, DFG_NAME_MAX);
	sm_done(&s);
	sm_head(&s, (struct snap_head){.time = 2, .flags = SNAP_DELTA});
	thread(&s, 20, "renamed", 7);
	sm_done(&s);
	sf = history_of(&s);
	is_thread(sf, 10, "ten", "a thread has its name");
	is_thread(sf, 20, "renamed", "the last name of a thread counts");
	is_thread(sf, 9, NULL, "a number before all threads has no name");
	is_thread(sf, 15, NULL, "a number between two threads has no name");
	is_thread(sf, 99, NULL, "a number after all threads has no name");
	is_thread(sf, 30, NULL, "a thread without a name has none");
	is_thread(sf, 40, NULL, "a name longer than its record does not count");
	is_thread(sf, 50, "eightbyt", "a name may fill its record");
	is_thread(sf, 60, NULL, "a name that is too long does not count");
	ok(snapfile_thread(sf, 70, &len) && len == DFG_NAME_MAX,
	   "a name may be as long as allowed");
}

static struct snapfile_code made(struct sm_code *c, struct snapfile *sf)
{
	c->head.name_len = c->name ? (uint32_t)strlen(c->name) : 0;
	return (struct snapfile_code){.start = c->head.start,
				      .end = c->head.start + c->head.size,
				      .record = &c->head,
				      .scopes = c->scopes,
				      .regions = c->regions,
				      .name = c->name,
				      .file = sf};
}

/* Two codes that differ in one thing each. */
static void test_agree(void)
{
	static const struct snap_scope a[] = {{.method = 1, .line = 5, .parent = SNAP_NONE},
					      {.method = 2, .line = 6, .parent = 0}};
	static const struct snap_scope line[] = {{.method = 1, .line = 7, .parent = SNAP_NONE},
						 {.method = 2, .line = 6, .parent = 0}};
	static const struct snap_scope inlined[] = {{.method = 1, .line = 5, .parent = SNAP_NONE},
						    {.method = 3, .line = 6, .parent = 0}};
	static const struct snap_scope bci[] = {
		{.method = 1, .bci = 9, .line = 5, .parent = SNAP_NONE},
		{.method = 2, .bci = 3, .line = 6, .parent = 0}};
	static const struct snap_scope one[] = {{.method = 1, .line = 5, .parent = SNAP_NONE},
						{.method = 1, .line = 6, .parent = SNAP_NONE}};
	static const struct snap_region region = {.end = 64, .scope = 1};
	static const struct {
		const struct snap_scope *scopes;
		uint64_t method;
		uint32_t kind;
		uint16_t level;
		bool want;
		const char *what;
	} t[] = {
		{a, 1, SNAP_COMPILED, 4, true, "equal codes agree"},
		{bci, 1, SNAP_COMPILED, 4, true, "codes with other bytecodes agree"},
		{line, 1, SNAP_COMPILED, 4, false, "codes with another line disagree"},
		{inlined, 1, SNAP_COMPILED, 4, false, "codes with another inlined method disagree"},
		{one, 1, SNAP_COMPILED, 4, false, "codes with fewer scopes disagree"},
		{a, 2, SNAP_COMPILED, 4, false, "codes of other methods disagree"},
		{a, 4, SNAP_COMPILED, 4, false, "methods of one length disagree"},
		{a, 0, SNAP_COMPILED, 4, false, "a code without a method disagrees"},
		{a, 1, SNAP_NATIVE, 4, false, "codes of other kinds disagree"},
		{a, 1, SNAP_COMPILED, 3, false, "codes of other levels disagree"},
	};
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(snapfile_free) struct snapfile *sf = NULL;
	struct sm_code x = {.head = {.start = 0x1000,
				     .size = 64,
				     .kind = SNAP_COMPILED,
				     .level = 4,
				     .method = 1,
				     .region_count = 1,
				     .scope_count = 2},
			    .scopes = a,
			    .regions = &region};
	struct snapfile_code first, second;

	sm_head(&s, (struct snap_head){.time = 1});
	sm_method(&s, 1, "a.Outer", "A.java");
	sm_method(&s, 2, "a.Inlined", "");
	sm_method(&s, 3, "a.Another", "");
	sm_method(&s, 4, "b.Outer", "A.java");
	sm_done(&s);
	sf = history_of(&s);
	first = made(&x, sf);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct sm_code y = x;

		y.scopes = t[i].scopes;
		y.head.method = t[i].method;
		y.head.kind = t[i].kind;
		y.head.level = t[i].level;
		y.head.start = 0x1000;
		second = made(&y, sf);
		is_int(snapfile_agree(&first, &second, 0x1010), t[i].want, "%s", t[i].what);
		is_int(snapfile_agree(&second, &first, 0x1010), t[i].want,
		       "and so they do the other way round");
	}
}

/* Codes without a method agree by their names. */
static void test_agree_names(void)
{
	struct sm_code x = {.head = {.start = 0x1000, .size = 64, .kind = SNAP_STUBS},
			    .name = "stubs"};
	struct sm_code y = x;
	struct snapfile_code first = made(&x, NULL), second = made(&y, NULL);

	ok(snapfile_agree(&first, &second, 0x1010), "blobs of one name agree");
	y.name = "stubz";
	second = made(&y, NULL);
	ok(!snapfile_agree(&first, &second, 0x1010), "blobs of other names disagree");
	x.name = y.name = "";
	first = made(&x, NULL);
	second = made(&y, NULL);
	ok(!snapfile_agree(&first, &second, 0x1010), "blobs without a name disagree");
}

static void compiled(struct str *s, uint64_t start, uint32_t id)
{
	sm_code(s, (struct sm_code){.head = {.start = start,
					     .size = 64,
					     .kind = SNAP_COMPILED,
					     .method = 1,
					     .compile_id = id},
				    .name = "name"});
}

static const struct snapfile_code *code_at(const struct snapfile *sf, uint64_t addr, uint64_t time,
					   size_t *ret_count)
{
	const struct snapfile_code *c[SNAPFILE_AROUND] = {0};

	*ret_count = snapfile_find(sf, addr, snapfile_around(sf, time), c);
	return c[0];
}

/* A second record at the same place is the same code, or replaces it. */
static void test_same(void)
{
	static const struct {
		struct snap_code head;
		const char *name;
		size_t want;
		const char *what;
	} t[] = {
		{{.start = 0x1000, .size = 64, .kind = 1, .method = 1, .compile_id = 5},
		 "name",
		 1,
		 "an equal record continues a code"},
		{{.start = 0x1000, .size = 64, .kind = 1, .method = 1, .compile_id = 6},
		 "name",
		 2,
		 "another compilation is another code"},
		{{.start = 0x1000, .size = 64, .kind = 2, .method = 1, .compile_id = 5},
		 "name",
		 2,
		 "another kind is another code"},
		{{.start = 0x1000, .size = 64, .kind = 1, .method = 2, .compile_id = 5},
		 "name",
		 2,
		 "another method is another code"},
		{{.start = 0x1000, .size = 60, .kind = 1, .method = 1, .compile_id = 5},
		 "name",
		 2,
		 "another end is another code"},
		{{.start = 0x0ffc, .size = 68, .kind = 1, .method = 1, .compile_id = 5},
		 "name",
		 2,
		 "another start is another code"},
		{{.start = 0x1000, .size = 64, .kind = 1, .method = 1, .compile_id = 5},
		 "names",
		 2,
		 "a longer name is another code"},
		{{.start = 0x1000, .size = 64, .kind = 1, .method = 1, .compile_id = 5},
		 "nam",
		 2,
		 "a shorter name is another code"},
		{{.start = 0x1000, .size = 64, .kind = 1, .method = 1, .compile_id = 5},
		 "nama",
		 2,
		 "another name is another code"},
		{{.start = 0x1040, .size = 64, .kind = 1, .method = 1, .compile_id = 5},
		 "name",
		 1,
		 "the code right after it replaces nothing"},
		{{.start = 0x0fc0, .size = 64, .kind = 1, .method = 1, .compile_id = 5},
		 "name",
		 1,
		 "the code right before it replaces nothing"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str s = {0};
		CLEANUP(snapfile_free) struct snapfile *sf = NULL;
		size_t n;

		sm_head(&s, (struct snap_head){.time = 100});
		compiled(&s, 0x1000, 5);
		sm_done_at(&s, 110);
		sm_head(&s, (struct snap_head){.time = 200, .flags = SNAP_DELTA});
		sm_code(&s, (struct sm_code){.head = t[i].head, .name = t[i].name});
		sm_done_at(&s, 210);
		sf = history_of(&s);
		code_at(sf, 0x1000, 150, &n);
		is_int(n, t[i].want, "%s", t[i].what);
	}
}

/* A second record of one code that has more regions than the first, or fewer. */
static void test_more_regions(void)
{
	static const struct snap_region regions[] = {{.end = 8}, {.end = 16}, {.end = 24}};
	static const struct snap_scope scope = {.parent = SNAP_NONE};

	for (uint32_t second = 1; second <= 3; second++) {
		CLEANUP(str_fini) struct str s = {0};
		CLEANUP(snapfile_free) struct snapfile *sf = NULL;
		struct sm_code c = {.head = {.start = 0x1000,
					     .size = 64,
					     .kind = SNAP_COMPILED,
					     .region_count = 2,
					     .scope_count = 1},
				    .regions = regions,
				    .scopes = &scope};
		const struct snapfile_code *got;
		size_t n;

		sm_head(&s, (struct snap_head){.time = 100});
		sm_code(&s, c);
		sm_done_at(&s, 110);
		sm_head(&s, (struct snap_head){.time = 200, .flags = SNAP_DELTA});
		c.head.region_count = second;
		sm_code(&s, c);
		sm_done_at(&s, 210);
		sf = history_of(&s);
		got = code_at(sf, 0x1000, 50, &n);
		if (!ok(n == 1 && got, "the code is one"))
			continue;
		is_int(got->record->region_count, second > 2 ? second : 2,
		       "it has the record with more regions");
		is_int(got->first, 0, "it is there from the first snapshot on");
		is_int(got->gone, UINT32_MAX, "it is not gone");
		is_int(got->from, second > 2, "it knows the snapshot of its record");
	}
}

static void test_around(void)
{
	static const struct {
		uint64_t time;
		uint32_t first, last;
		const char *what;
	} t[] = {
		{0, 0, 0, "before all is the first snapshot"},
		{100, 0, 0, "at its begin is the first snapshot alone"},
		{101, 0, 1, "while the first is taken the second counts, too"},
		{109, 0, 1, "right before its end the second counts, too"},
		{110, 0, 1, "at the end of the first it and the second count"},
		{200, 0, 1, "at the begin of the second it and the first count"},
		{201, 0, 2, "while the second is taken its neighbours count, too"},
		{209, 0, 2, "right before its end its neighbours count, too"},
		{210, 1, 2, "at the end of the second it and the third count"},
		{300, 1, 2, "at the begin of the last it and the one before count"},
		{305, 1, 2, "while the last is taken there is none after it"},
		{310, 2, 2, "at the end of the last it counts alone"},
		{SNAPFILE_LATEST, 2, 2, "the latest time has the last snapshot"},
	};
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(snapfile_free) struct snapfile *sf = NULL;
	CLEANUP(snapfile_free) struct snapfile *empty = snapfile_new();
	struct snapfile_span span = snapfile_around(empty, 5);

	ok(span.first == 0 && span.last == 0, "a history of nothing has an empty span");
	ok(!snapfile_methods_complete(empty), "a history of nothing does not know its methods");
	is_int(snapfile_head(empty)->time, 0, "a history of nothing has an empty head");
	for (unsigned i = 1; i <= 3; i++) {
		sm_head(&s, (struct snap_head){.time = i * 100, .flags = i > 1 ? SNAP_DELTA : 0});
		sm_done_at(&s, i * 100 + 10);
	}
	sf = history_of(&s);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		span = snapfile_around(sf, t[i].time);
		is_int(span.first, t[i].first, "%s", t[i].what);
		is_int(span.last, t[i].last, "its last snapshot is right");
	}
	is_int(snapfile_head(sf)->time, 300, "the head is the latest one's");
}

/* The second snapshot ends with a status: is a code that it does not list gone? */
static void test_status(void)
{
	static const struct {
		uint32_t status, size;
		bool gone;
		const char *what;
	} t[] = {
		{DFG_DUMP_OK, 32, true, "a whole snapshot tells what is gone"},
		{DFG_DUMP_OK, 16, true, "an end may have a status and no time"},
		{DFG_DUMP_OK, 8, false, "an end without a status tells nothing"},
		{DFG_DUMP_OK, 40, true, "an end may have more than is known"},
		{DFG_DUMP_PARTLY, 32, false, "a partial snapshot tells nothing"},
		{DFG_DUMP_READ, 32, false, "a snapshot of unreadable memory tells nothing"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str s = {0};
		CLEANUP(snapfile_free) struct snapfile *sf = NULL;
		struct snap_end end[2] = {{.record = {.type = SNAP_END, .size = t[i].size},
					   .status = t[i].status,
					   .time = 210}};
		size_t n;

		sm_head(&s, (struct snap_head){.time = 100});
		compiled(&s, 0x1000, 5);
		sm_done_at(&s, 110);
		sm_head(&s, (struct snap_head){.time = 200, .flags = SNAP_METHODS_COMPLETE});
		str_add(&s, end, t[i].size);
		sf = history_of(&s);
		code_at(sf, 0x1000, SNAPFILE_LATEST, &n);
		is_int(n, !t[i].gone, "%s", t[i].what);
		is_int(snapfile_methods_complete(sf), t[i].gone,
		       "its methods are complete under the same condition");
		is_int(snapfile_around(sf, 205).first, t[i].size < 32,
		       "it has the time of its end");
	}
}

/* Finds what is at 0x1000 between two snapshots, of which the second no longer has it. */
static size_t found_between(uint64_t pause, uint32_t ids, uint32_t seen)
{
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(snapfile_free) struct snapfile *sf = NULL;
	size_t n;

	sm_head(&s, (struct snap_head){.time = SECOND});
	compiled(&s, 0x1000, 1000);
	sm_done_at(&s, SECOND + 10);
	sm_head(&s, (struct snap_head){.time = SECOND + 10 + pause});
	for (uint32_t i = 0; i < seen; i++)
		compiled(&s, 0x10000 + 64 * i, 1000 + ids - i);
	sm_done_at(&s, SECOND + 20 + pause);
	sf = history_of(&s);
	code_at(sf, 0x1000, SECOND + 15, &n);
	return n;
}

static void test_restless(void)
{
	is_int(found_between(2 * SECOND + 1, 101, 1), 0, "100 codes unseen in 2 s prove unrest");
	is_int(found_between(2 * SECOND, 101, 1), 1, "they prove nothing in a shorter time");
	is_int(found_between(2 * SECOND + 1, 100, 1), 1, "99 codes unseen prove nothing");
	is_int(found_between(3 * SECOND, 400, 200), 1, "half of the codes unseen proves nothing");
	is_int(found_between(3 * SECOND, 401, 200), 0, "more than half unseen proves unrest");
	is_int(found_between(3 * SECOND, 0, 0), 1, "no new code proves nothing");
}

/* A record of a type, `size` bytes in all, between a head and a code. */
static size_t found_after(uint32_t type, uint32_t size)
{
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(snapfile_free) struct snapfile *sf = NULL;
	const struct snap_record rec = {.type = type, .size = size};
	const uint8_t zeros[64] = {0};
	size_t n;

	sm_head(&s, (struct snap_head){.time = 100});
	str_add(&s, &rec, sizeof(rec));
	str_add(&s, zeros, size > 8 && size <= 64 ? size - 8 : 0);
	compiled(&s, 0x1000, 1);
	sm_done(&s);
	sf = history_of(&s);
	code_at(sf, 0x1000, SNAPFILE_LATEST, &n);
	return n;
}

static void test_records(void)
{
	is_int(found_after(99, 8), 1, "a record of an unknown type is skipped");
	is_int(found_after(99, 64), 1, "a long record of an unknown type is skipped");
	is_int(found_after(99, 0), 0, "a record without a size ends the file");
	is_int(found_after(99, 12), 0, "a record of an odd size ends the file");
	for (uint32_t type = SNAP_METHOD; type <= SNAP_ASKED_CODE; type++)
		if (type != SNAP_END)
			is_int(found_after(type, 8), 1,
			       "a record of type %u without a body is skipped", type);
	is_int(found_after(SNAP_END, 8), 0, "code after an end is of no snapshot");
}

/* A head that differs in one thing is none. */
static void test_heads(void)
{
	for (unsigned i = 0; i < 6; i++) {
		CLEANUP(str_fini) struct str s = {0};
		CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
		struct snap_head h = {.record = {.type = SNAP_HEAD, .size = sizeof(h)},
				      .magic = SNAP_MAGIC + (i == 1),
				      .version = SNAP_VERSION + (i == 2)};
		CLEANUP(close_fd) int fd = -1;
		struct err err = {0};

		h.record.type += i == 3;
		h.record.size -= i == 4 ? 8 : 0;
		str_add(&s, &h, sizeof(h) - (i == 5));
		fd = file_of(s.buf, s.len);
		is_int(snapfile_is(fd), i == 0, "head %u is %s", i, i ? "none" : "one");
		is_int(snapfile_read(sf, fd, &err), i ? -1 : 0, "its file is read or refused");
		is_str(err.msg, i ? "no snapshot of this version" : "", "and the reason is given");
	}
}

int main(void)
{
	test_threads();
	test_agree();
	test_agree_names();
	test_same();
	test_more_regions();
	test_around();
	test_status();
	test_restless();
	test_records();
	test_heads();
	return tap_done();
}
