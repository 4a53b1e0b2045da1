// SPDX-License-Identifier: Apache-2.0
/* The lines of dfg-top's tables, byte for byte. */
#include "top/rows.h"

#include "lib/drawn.h"
#include "lib/tap.h"
#include "top/plain.h"
#include "top/screen.h"

static void check_title(struct moment m, const char *want, const char *name)
{
	CLEANUP(str_fini) struct str out = {0};

	rows_title(&out, "web", &m, 100);
	is_str(out.buf, want, "%s", name);
}

static void test_title_of_events(void)
{
	static const struct {
		struct moment m;
		const char *want, *name;
	} t[] = {
		{{.event = EVENT_ALLOC, .us = 2000000, .quality.samples = 3000000},
		 "web · 2.0 s · 3.00 MB · 1.50 MB a second",
		 "of allocations there are bytes, and no processors"},
		{{.event = EVENT_ALLOC, .us = 10000000, .quality.samples = 3221225472},
		 "web · 10.0 s · 3.22 GB · 322 MB a second",
		 "of many three digits"},
		{{.event = EVENT_LOCK, .us = 2000000, .quality.samples = 11000000000},
		 "web · 2.0 s · 11.0 s · 5.50 s a second",
		 "of waits there is time, more than has passed where threads wait at once"},
		{{.event = EVENT_LOCK, .us = 4000000, .gap_us = 100000, .quality.samples = 900},
		 "web · 4.0 s, 0.1 s not recorded · 900 ns · 225 ns a second",
		 "little time has a small unit"},
		{{.event = EVENT_LOCK, .quality.samples = 900},
		 "web · 0.0 s · 900 ns · 0 ns a second",
		 "without recorded time there is no rate"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str out = {0};

		rows_title(&out, "web", &t[i].m, 0);
		is_str(out.buf, t[i].want, "%s", t[i].name);
	}
}

static void test_title(void)
{
	const uint64_t s = 1000000;

	check_title((struct moment){0}, "web · 0.0 s · 0 samples · 0.00 processors",
		    "without recorded time there are no processors");
	check_title((struct moment){.quality.samples = 50},
		    "web · 0.0 s · 50 samples · 0.00 processors · ±13.4 %",
		    "samples without recorded time are no processors");
	check_title((struct moment){.us = s / 2, .quality.samples = 50},
		    "web · 0.5 s · 50 samples · 1.00 processors · ±13.4 %",
		    "less than a second has its processors");
	check_title((struct moment){.us = s, .quality.samples = 150},
		    "web · 1.0 s · 150 samples · 1.50 processors · ±7.9 %",
		    "processors are samples by second and by frequency");
	check_title((struct moment){.us = s, .gap_us = 99999},
		    "web · 1.0 s · 0 samples · 0.00 processors",
		    "a gap of less than a tenth of a second is not worth a word");
	check_title((struct moment){.us = s, .gap_us = 100000},
		    "web · 1.0 s, 0.1 s not recorded · 0 samples · 0.00 processors",
		    "a gap of a tenth of a second is shown");
}

static void check_share(uint64_t part, uint64_t whole, const char *want)
{
	CLEANUP(str_fini) struct str out = {0};

	rows_share(&out, part, whole);
	is_str(out.buf, want, "%d of %d is a share of%s", (int)part, (int)whole, want);
}

static void test_shares(void)
{
	check_share(0, 1, "  0.0 %");
	check_share(1, 1, "100.0 %");
	check_share(1, 8, " 12.5 %");
	check_share(1, 3, " 33.3 %");
	check_share(5, 0, "  0.0 %");
}

static void test_threads(void)
{
	static const struct {
		struct thread_row row;
		const char *want, *name;
	} t[] = {
		{{.name = "t", .total = 4, .busy = {4}},
		 " 50.0 %   0.0 %  application  t",
		 "a thread of the application"},
		{{.name = "t", .total = 4, .busy = {[BUSY_COMPILER] = 4}},
		 " 50.0 %   0.0 %  compiler     t",
		 "a compiler"},
		{{.name = "t", .total = 4, .busy = {[BUSY_GC] = 4}},
		 " 50.0 %   0.0 %  gc           t",
		 "a collector"},
		{{.name = "t", .total = 4, .busy = {[BUSY_JVM] = 4}},
		 " 50.0 %   0.0 %  jvm          t",
		 "another of the JVM"},
		{{.name = "t", .total = 4, .busy = {[BUSY_KERNEL] = 4}},
		 " 50.0 % 100.0 %  application  t",
		 "a thread in the kernel alone counts for the application"},
		{{.name = "t", .total = 4, .busy = {[BUSY_JVM] = 1, [BUSY_KERNEL] = 3}},
		 " 50.0 %  75.0 %  jvm          t",
		 "the kernel's share is not what a thread is for"},
		{{.name = "t", .total = 4, .busy = {[BUSY_GC] = 1, [BUSY_JVM] = 3}},
		 " 50.0 %   0.0 %  jvm          t",
		 "most of the samples decide what a thread is for"},
		{{.name = "t", .total = 4, .busy = {[BUSY_GC] = 3, [BUSY_JVM] = 1}},
		 " 50.0 %   0.0 %  gc           t",
		 "most of the samples decide, in either order"},
		{{.name = "t", .total = 4, .busy = {[BUSY_APPLICATION] = 2, [BUSY_GC] = 2}},
		 " 50.0 %   0.0 %  application  t",
		 "of as many samples the first purpose counts"},
		{{.name = "t",
		  .total = 4,
		  .causes = {[WALL_RUNNING] = 1, [WALL_MONITOR] = 3, [WALL_CAUSES] = 4}},
		 " 50.0 %  t                               50 % idle, 38 % monitor, 12 % running",
		 "of the wall clock it has causes"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str out = {0};

		rows_thread(&out, &t[i].row, 8);
		is_str(out.buf, t[i].want, "%s", t[i].name);
	}
}

static void test_methods(void)
{
	static const struct {
		struct row row;
		const char *want, *name;
	} t[] = {
		{{"m", FRAME_JAVA, 1, 2, {[HOW_C2] = 2}},
		 " 25.0 %  50.0 %  C2      m",
		 "a method has self, total and how it ran"},
		{{"m", FRAME_JAVA, 0, 4, {[HOW_C2] = 2, [HOW_INTERPRETED] = 2}},
		 "  0.0 % 100.0 %  C2      m",
		 "of as many samples the first way counts"},
		{{"m", FRAME_JAVA, 0, 4, {[HOW_C1] = 1, [HOW_INLINED] = 3}},
		 "  0.0 % 100.0 %  inline  m",
		 "the most frequent way counts"},
		{{"m", FRAME_UNKNOWN, 0, 4, {[HOW_UNKNOWN] = 4}},
		 "  0.0 % 100.0 %  ?       m",
		 "what is unknown has a question mark"},
		{{"m", FRAME_NATIVE, 0, 0, {0}},
		 "  0.0 %   0.0 %  ?       m",
		 "a method without samples ran in no known way"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str out = {0};

		rows_method(&out, &t[i].row, 4);
		is_str(out.buf, t[i].want, "%s", t[i].name);
	}
}

static void check_cut(const char *text, const char *name, size_t columns, const char *want,
		      const char *why)
{
	const struct row_line line = {.text = (char *)text, .name = name, .kind = FRAME_JAVA};
	CLEANUP(str_fini) struct str got = {0};

	row_line_cut(&got, &line, columns);
	is_str(got.buf, want, "%s", why);
}

static void test_cut(void)
{
	check_cut("abc", NULL, 3, "abc", "a line that fits stays whole");
	check_cut("abcd", NULL, 3, "ab…", "a line without a name is cut at its end");
	check_cut("abcd", NULL, 1, "…", "one column has only the mark");
	check_cut("abcd", NULL, 0, "…", "no column has only the mark");
	check_cut("1 a.b.C.d", "a.b.C.d", 8, "1 C.d", "a method loses its whole package");
	check_cut("1 a.b.C.d", "a.b.C.d", 9, "1 a.b.C.d", "a method that fits keeps its package");
	check_cut("é é", NULL, 3, "é é", "columns are counted, not bytes");
}

/* The lines of the screen's table, each with '|' after it. */
static void check_table(const struct screen *s, const char *want, const char *name)
{
	CLEANUP(str_fini) struct str got = {0};
	struct screen_table t;

	str_adds(&got, "");
	screen_table_make(s, &t);
	for (size_t i = 0; i < t.list.count; i++)
		str_addf(&got, "%s|", t.list.lines[i].text);
	is_str(got.buf, want, "%s", name);
	screen_table_fini(&t);
	is_int((int64_t)(t.list.count + t.view.row_count + t.calls.total), 0, "and is emptied");
}

#define FOLDED                                                                                     \
	"t1;run_[j];get_[j] 4\nt1;run_[j];get_[i] 2\nt1;run_[j];get_[j];get_[j];sub_[0] 1\n"       \
	"t2;get 3\n"

static void test_tables(void)
{
	struct screen s = {.name = "web", .span = 1};

	check_table(&s, "", "before the first window the table is empty");
	s.shown.stacks = stacks_of(FOLDED);
	check_table(&s,
		    " 60.0 %  70.0 %  java    get| 30.0 %  30.0 %  native  get|"
		    " 10.0 %  10.0 %  interp  sub|  0.0 %  70.0 %  java    run|",
		    "the table of methods");
	s.mode = SCREEN_THREADS;
	check_table(&s, " 70.0 %   0.0 %  application  t1| 30.0 %   0.0 %  application  t2|",
		    "the table of threads");
	s.lens.filter = "t2";
	check_table(&s, " 30.0 %   0.0 %  application  t2|",
		    "a filter leaves out threads; shares are of all of them");
	s.lens.filter = "zz";
	check_table(&s, "no matches for \"zz\"|", "a filter that nothing passes is named");
	s.mode = SCREEN_CALLS;
	s.method = (char *)"get";
	s.method_kind = FRAME_JAVA;
	check_table(&s,
		    "get|self  60.0 %, total  70.0 %   java  71.4 %, inline  28.6 %||  CALLERS|"
		    "100.0 %  run|100.0 %    t1||  CALLEES| 14.3 %  get| 14.3 %    sub|",
		    "the calls of a method, whatever the filter");
	s.method_kind = FRAME_NATIVE;
	check_table(&s,
		    "get|self  30.0 %, total  30.0 %   native 100.0 %||  CALLERS|100.0 %  t2||"
		    "  CALLEES|          none|",
		    "the calls of another method of that name");
	s.method = (char *)"gone";
	check_table(&s, "gone|self ||  CALLERS|          none||  CALLEES|          none|",
		    "a method that is gone has no calls");
	moment_fini(&s.shown);
	s.mode = SCREEN_METHODS;
	s.lens.filter = NULL;
	s.shown.stacks = stacks_new();
	check_table(&s, "no samples|", "a window without samples says so");
	moment_fini(&s.shown);
}

/* The kinds of lines: what can be selected, what is coloured. */
static void test_lines(void)
{
	struct screen s = {.name = "web", .span = 1};
	struct screen_table t;

	s.shown.stacks = stacks_of(FOLDED);
	screen_table_make(&s, &t);
	is_int((int64_t)t.list.count, 4, "there is a line for each method");
	for (size_t i = 0; i < t.list.count; i++) {
		ok(t.list.lines[i].has_how, "the line of %s has a way", t.list.lines[i].name);
		is_int(t.list.lines[i].how, row_how(&t.view.rows[i]), "it is the row's");
		is_int(t.list.lines[i].kind, t.view.rows[i].kind, "and so is its kind");
	}
	screen_table_fini(&t);
	s.mode = SCREEN_THREADS;
	screen_table_make(&s, &t);
	ok(!t.list.lines[0].has_how, "a thread has no way");
	is_int(t.list.lines[0].kind, FRAME_ROOT, "a thread's line is of the kind of threads");
	screen_table_fini(&t);
	s.mode = SCREEN_HELP;
	screen_table_make(&s, &t);
	is_int((int64_t)t.list.count, 14, "the help has all of its lines");
	is_str(t.list.lines[0].text, "Arrows  select a line; PgUp, PgDn, Home, End",
	       "the help begins with the arrows");
	ok(!t.list.lines[0].name, "a line of the help has no name");
	screen_table_fini(&t);
	moment_fini(&s.shown);
}

/* Deep calls are indented by twenty levels at most. */
static void test_depth(void)
{
	struct screen s = {.name = "web", .span = 1, .mode = SCREEN_CALLS};
	CLEANUP(str_fini) struct str folded = {0};
	struct screen_table t;

	str_adds(&folded, "t;m");
	for (int i = 0; i < 250; i++)
		str_addf(&folded, ";f%d", i);
	str_adds(&folded, " 1\n");
	s.shown.stacks = stacks_of(folded.buf);
	s.method = (char *)"m";
	s.method_kind = FRAME_NATIVE;
	screen_table_make(&s, &t);
	is_int((int64_t)t.calls.callee_count, 200, "callees are listed to a depth of 200");
	is_int((int64_t)t.list.count, 2 + 3 + 2 + 200, "each has its line");
	is_str(t.list.lines[7].text, "100.0 %  f0", "the first is not indented");
	is_str(t.list.lines[8].text, "100.0 %    f1", "the second is indented by two");
	is_str(t.list.lines[26].text, "100.0 %                                        f19",
	       "each level is indented by two more");
	is_str(t.list.lines[27].text, "100.0 %                                          f20",
	       "the twenty-first is indented by forty");
	is_str(t.list.lines[28].text, "100.0 %                                          f21",
	       "those below are not indented further");
	screen_table_fini(&t);
	moment_fini(&s.shown);
}

/* ---- plain output ---- */

static char *plain(struct moment *m, bool json)
{
	CLEANUP(close_fd) int fd = memfd_create("plain", MFD_CLOEXEC);
	struct err err;

	is_int(json ? plain_json(fd, "web", m, 100, &err) : plain_text(fd, "web", m, 100, &err), 0,
	       "a window is written as %s", json ? "JSON" : "text");
	return drawn_text(fd);
}

static void test_event_window(void)
{
	struct moment m = {.event = EVENT_LOCK,
			   .stacks = stacks_new(),
			   .us = 2000000,
			   .quality.samples = 4430000000};
	CLEANUP(free) char *text = plain(&m, false);

	ok(has_prefix(text, "web · 2.0 s · 4.43 s · 2.22 s a second\n4.43 s · 0 lost"),
	   "of another event the lines have its unit");
	moment_fini(&m);
}

static void test_empty_window(void)
{
	struct moment m = {.stacks = stacks_new(), .gap_us = 1500000, .quality.samples = 3};
	CLEANUP(free) char *text = plain(&m, false);
	CLEANUP(free) char *json = plain(&m, true);

	ok(has_prefix(text, "web · 0.0 s, 1.5 s not recorded · 3 samples · 0.00 processors · "
			    "±37.5 %\n"),
	   "the text begins with the title");
	ok(strstr(text,
		  "\n  SELF>   TOTAL  HOW     METHOD\n  TOTAL  KERNEL  FOR          THREAD\n\n"),
	   "the heads are there without rows");
	is_str(json,
	       "{\"name\":\"web\",\"unit\":\"samples\",\"seconds\":0.0,\"gap\":1.5,\"samples\":3,"
	       "\"lost\":0,"
	       "\"java_samples\":0,\"java_complete\":0,\"processors\":0.0,\"busy\":{"
	       "\"application\":0,\"compiler\":0,\"gc\":0,\"jvm\":0,\"kernel\":0},\"methods\":[],"
	       "\"threads\":[]}\n",
	       "a window without time has no processors");
	moment_fini(&m);
}

/* Of an event there is no frequency. */
static void check_event_window(enum event_kind event, const char *title, const char *unit)
{
	struct moment m = {.event = event, .us = 1000000, .quality.samples = 2000};
	CLEANUP(close_fd) int fd = memfd_create("plain", MFD_CLOEXEC);
	CLEANUP(close_fd) int text_fd = memfd_create("plain", MFD_CLOEXEC);
	CLEANUP(free)
	char *want = xasprintf("{\"name\":\"web\",\"unit\":\"%s\",\"seconds\":1.0,\"gap\":0.0,"
			       "\"samples\":2000,",
			       unit);
	CLEANUP(free) char *json = NULL;
	CLEANUP(free) char *text = NULL;
	struct err err;

	m.stacks = stacks_of("t;a.B.c_[j] 2000\n");
	if (plain_json(fd, "web", &m, 0, &err) < 0 || plain_text(text_fd, "web", &m, 0, &err) < 0)
		abort();
	json = drawn_text(fd);
	text = drawn_text(text_fd);
	ok(has_prefix(json, want), "JSON has the unit %s", unit);
	ok(strstr(json, "\"processors\":0.0,"), "and no processors");
	ok(has_prefix(text, title), "text has the title \"%s\"", title);
	moment_fini(&m);
}

static void test_event_windows(void)
{
	check_event_window(EVENT_ALLOC, "web · 1.0 s · 2.00 kB · 2.00 kB a second\n", "bytes");
	check_event_window(EVENT_LOCK, "web · 1.0 s · 2.00 µs · 2.00 µs a second\n", "ns");
}

static void test_many(void)
{
	CLEANUP(str_fini) struct str folded = {0};
	struct moment m = {.us = 1000000};
	CLEANUP(free) char *text = NULL;
	CLEANUP(free) char *json = NULL;
	size_t methods = 0, rows = 0;

	for (int i = 0; i < JSON_METHODS + 5; i++)
		str_addf(&folded, "thread%d;method%d 1\n", i, i);
	m.stacks = stacks_of(folded.buf);
	text = plain(&m, false);
	json = plain(&m, true);
	for (const char *at = text; (at = strstr(at, "  method")); at++)
		methods++;
	for (const char *at = text; (at = strstr(at, "  thread")); at++)
		rows++;
	is_int((int64_t)methods, PLAIN_METHODS, "the text has the first methods");
	is_int((int64_t)rows, PLAIN_THREADS, "and the first threads");
	methods = rows = 0;
	for (const char *at = json; (at = strstr(at, "\"method")); at++)
		methods += has_prefix(at, "\"methods") ? 0 : 1;
	for (const char *at = json; (at = strstr(at, "\"thread")); at++)
		rows += has_prefix(at, "\"threads") ? 0 : 1;
	is_int((int64_t)methods, JSON_METHODS, "JSON has more methods");
	is_int((int64_t)rows, JSON_METHODS + 5, "and all threads");
	moment_fini(&m);
}

int main(void)
{
	test_empty_window();
	test_event_window();
	test_many();
	test_event_windows();
	test_title();
	test_title_of_events();
	test_shares();
	test_threads();
	test_methods();
	test_cut();
	test_tables();
	test_lines();
	test_depth();
	return tap_done();
}
