// SPDX-License-Identifier: Apache-2.0
/* The views of a call tree in dfg-top: rows, threads, what the machine was busy with, calls. */
#include "calltree/view.h"

#include "lib/drawn.h"
#include "lib/tap.h"
#include "top/calls.h"
#include "top/plain.h"
#include "top/rows.h"

static const struct lens all;

/* "name self/total " of each row. */
static void check_rows(const char *folded, const struct lens *lens, const char *want,
		       const char *name)
{
	CLEANUP(view_fini) struct view v = {0};
	CLEANUP(str_fini) struct str got = {0};
	struct stacks *s = stacks_of(folded);

	view_make(s, lens, &v);
	str_adds(&got, "");
	for (size_t i = 0; i < v.row_count; i++)
		str_addf(&got, "%s %u/%u ", v.rows[i].name, (unsigned)v.rows[i].self,
			 (unsigned)v.rows[i].total);
	is_str(got.buf, want, "%s", name);
	stacks_free(s);
}

static void test_rows(void)
{
	const struct lens by_total = {.order = ORDER_TOTAL}, thread = {.thread = "t2"},
			  filter = {.filter = "b"}, none = {.filter = "zz"};
	const char *two = "t1;a;b 3\nt1;a 1\nt2;b 2\n";

	check_rows("", &all, "", "nothing");
	check_rows("t 5\n", &all, "", "a thread is no method");
	check_rows(two, &all, "b 5/5 a 1/4 ", "by self");
	check_rows("t;a;b 3\nt;a;c 2\n", &by_total, "a 0/5 b 3/3 c 2/2 ", "by total");
	check_rows("t;a;b;a;b;a 4\nt;a 1\n", &all, "a 5/5 b 0/4 ", "recursion counts once");
	check_rows("t;a;b 1\nt;b;a 1\n", &all, "a 1/2 b 1/2 ", "either way round");
	check_rows("t;m_[j];m_[i] 2\nt;m_[0] 1\nt;m 1\n", &all, "m 3/3 m 1/1 ",
		   "a Java method is one however it runs, native code of that name another");
	check_rows(two, &thread, "b 2/2 ", "one thread");
	check_rows(two, &filter, "b 5/5 ", "a filter, whatever the case");
	check_rows(two, &none, "", "a filter that nothing passes");
}

static void test_how(void)
{
	CLEANUP(view_fini) struct view v = {0};
	struct stacks *s = stacks_new();
	struct frames *fs = stacks_frames(s);
	uint32_t stack[2], m;

	frames_keep_places(fs);
	stack[0] = stacks_intern(s, "t", 1, FRAME_ROOT);
	m = stacks_intern(s, "m", 1, FRAME_JAVA);
	stack[1] = frames_level(fs, m, 4);
	stacks_add(s, stack, 2, 5);
	stack[1] = frames_level(fs, frames_place(fs, m, 7, 0), 4);
	stacks_add(s, stack, 2, 2);
	stack[1] = frames_level(fs, m, 2);
	stacks_add(s, stack, 2, 3);
	stack[1] = stacks_intern(s, "m", 1, FRAME_INTERPRETED);
	stacks_add(s, stack, 2, 1);
	view_make(s, &all, &v);
	is_int((int64_t)v.row_count, 1, "levels and lines: one method");
	is_int((int64_t)v.rows[0].how[HOW_C2], 7, "C2");
	is_int((int64_t)v.rows[0].how[HOW_C1], 3, "C1");
	is_int((int64_t)v.rows[0].how[HOW_INTERPRETED], 1, "interpreted");
	is_str(how_name(row_how(&v.rows[0])), "C2", "most of it");
	stacks_free(s);
}

static void test_busy(void)
{
	static const struct {
		const char *folded;
		enum busy busy;
	} t[] = {
		{"main;a 1\n", BUSY_APPLICATION},
		{"main;a;sys_read_[k] 1\n", BUSY_KERNEL},
		{"main;sys_read_[k];a 1\n", BUSY_APPLICATION},
		{"C2_CompilerThread0;a 1\n", BUSY_COMPILER},
		{"C1 CompilerThre;a 1\n", BUSY_COMPILER},
		{"web/C2_CompilerThread0;a 1\n", BUSY_COMPILER},
		{"GC_Thread#3;a 1\n", BUSY_GC},
		{"G1_Conc#0 1\n", BUSY_GC},
		{"ZWorkerYoung#1;a 1\n", BUSY_GC},
		{"VM_Thread;a 1\n", BUSY_JVM},
		{"VM_Thread;VM_GenCollectForAllocation::doit;a 1\n", BUSY_GC},
		{"VM_Thread;VM_HeapDumper::doit;a 1\n", BUSY_JVM},
		{"GC_Thread#0;a;page_fault_[k] 1\n", BUSY_KERNEL},
		{"worker;VM_GenCollectForAllocation::doit 1\n", BUSY_APPLICATION},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(view_fini) struct view v = {0};
		struct stacks *s = stacks_of(t[i].folded);

		view_make(s, &all, &v);
		ok(v.samples == 1 && v.busy[t[i].busy] == 1 && v.threads[0].busy[t[i].busy] == 1,
		   "%s: %.*s", busy_name(t[i].busy), (int)strlen(t[i].folded) - 3, t[i].folded);
		stacks_free(s);
	}
}

/* A collection ends with its frame. */
static void test_after_collection(void)
{
	CLEANUP(view_fini) struct view v = {0};
	struct stacks *s = stacks_of("VM_Thread;a::b 1\n"
				     "VM_Thread;VM_GenCollectForAllocation::doit;a::b 2\n"
				     "VM_Thread;c::d 4\n");

	view_make(s, &all, &v);
	is_int((int64_t)v.busy[BUSY_GC], 2, "a collection's samples are the collector's");
	is_int((int64_t)v.busy[BUSY_JVM], 5, "those before and after it are the JVM's");
	stacks_free(s);
}

static void test_threads(void)
{
	CLEANUP(view_fini) struct view v = {0};
	const struct lens one = {.thread = "t2"};
	struct stacks *s = stacks_of("t1;a 3\nt2;a 2\nt2;b 4\n");

	view_make(s, &one, &v);
	is_int((int64_t)v.thread_count, 2, "all threads, whatever the lens");
	is_str(v.threads[0].name, "t2", "the busiest first");
	is_int((int64_t)v.threads[0].total, 6, "with its samples");
	is_int((int64_t)v.samples, 6, "samples in the lens");
	stacks_free(s);
}

static void test_agent(void)
{
	check_rows("t;a 1\ndfg-agent;b 2\nweb/dfg-agent;b 2\n", &(struct lens){.hides_agent = true},
		   "a 1/1 ", "dfg's agent can be left out");
	check_rows("t;a 1\ndfg-agent;b 2\n", &all, "b 2/2 a 1/1 ", "and is there by default");
}

static void check_calls(const char *folded, const char *method, const char *want, const char *name)
{
	CLEANUP(calls_fini) struct calls c = {0};
	CLEANUP(str_fini) struct str got = {0};
	struct stacks *s = stacks_of(folded);

	calls_make(s, &all, method, FRAME_NATIVE, 100, &c);
	str_addf(&got, "%u <", (unsigned)c.total);
	for (size_t i = 0; i < c.caller_count; i++)
		str_addf(&got, " %u%s=%u", c.callers[i].depth, c.callers[i].name,
			 (unsigned)c.callers[i].samples);
	str_adds(&got, " >");
	for (size_t i = 0; i < c.callee_count; i++)
		str_addf(&got, " %u%s=%u", c.callees[i].depth, c.callees[i].name,
			 (unsigned)c.callees[i].samples);
	is_str(got.buf, want, "%s", name);
	stacks_free(s);
}

static void test_calls(void)
{
	check_calls("t;a;m;x 3\nt;b;m 1\nu;b;m;y 4\nt;z 9\n", "m",
		    "8 < 0b=5 1u=4 1t=1 0a=3 1t=3 > 0y=4 0x=3", "callers and callees");
	check_calls("t;a;m;a;m;x 2\n", "m", "2 < 0a=2 1t=2 > 0a=2 1m=2 2x=2",
		    "recursion: the outermost call");
	check_calls("t;m 999\nt;a;m 1\n", "m", "1000 < 0t=999 >", "less than 1 % is left out");
	check_calls("t;a 1\n", "m", "0 < >", "a method that is gone");
}

static void check_seen(const char *folded, const struct lens *lens, const char *want,
		       const char *name)
{
	struct stacks *s = stacks_of(folded), *seen = lens_stacks(s, lens);
	CLEANUP(free) char *got = NULL;

	stacks_sort(seen);
	got = drawn_folded(seen);
	is_str(got, want, "%s", name);
	stacks_free(seen);
	stacks_free(s);
}

static void test_seen(void)
{
	const char *folded = "t;a;b 2\nt;a;c_[k] 1\nu;b;d 4\n";

	check_seen(folded, &all, folded, "all stacks");
	check_seen(folded, &(struct lens){.thread = "t"}, "t;a;b 2\nt;a;c_[k] 1\n", "of a thread");
	check_seen(folded, &(struct lens){.filter = "b"}, "t;a;b 2\nu;b;d 4\n", "through a method");
	check_seen(folded, &(struct lens){.thread = "u", .filter = "a"}, "", "of both, none");
}

static void test_lines(void)
{
	CLEANUP(str_fini) struct str out = {0};
	struct moment m = {.us = 2000000, .quality.samples = 1234};

	rows_title(&out, "web", &m, 99);
	is_str(out.buf, "web · 2.0 s · 1,234 samples · 6.23 processors · ±2.8 %", "title");
	str_clear(&out);
	m.gap_us = 300000;
	rows_title(&out, "web", &m, 99);
	is_str(out.buf,
	       "web · 2.0 s, 0.3 s not recorded · 1,234 samples · 6.23 processors · ±2.8 %",
	       "title with a gap");
	str_clear(&out);
	rows_share(&out, 1, 0);
	is_str(out.buf, "  0.0 %", "a share of nothing");
}

/* A window as text and as JSON, byte for byte. */
static void test_plain(void)
{
	static const char text[] =
		"web · 2.0 s · 10 samples · 0.05 processors · ±26.3 %\n"
		"10 samples · 1 lost · 100 % of Java stacks complete · 0 % frames unknown · "
		"0 % truncated\n"
		"application 60.0 %   compiler 10.0 %   gc 0.0 %   jvm 0.0 %   kernel 30.0 %\n"
		"  SELF>   TOTAL  HOW     METHOD\n"
		" 60.0 %  90.0 %  java    Shop.run\n"
		" 30.0 %  30.0 %  kernel  sys_read\n"
		" 10.0 %  10.0 %  jvm     Parse::do_call\n"
		"  TOTAL  KERNEL  FOR          THREAD\n"
		" 90.0 %  33.3 %  application  main\n"
		" 10.0 %   0.0 %  compiler     C2_CompilerThread0\n\n";
	static const char json[] =
		"{\"name\":\"web\",\"unit\":\"samples\",\"seconds\":2.0,\"gap\":0.0,"
		"\"samples\":10,\"lost\":1,"
		"\"java_samples\":9,\"java_complete\":9,\"processors\":0.0505051,"
		"\"busy\":{\"application\":6,\"compiler\":1,\"gc\":0,\"jvm\":0,\"kernel\":3},"
		"\"methods\":[{\"name\":\"Shop.run\",\"self\":6,\"total\":9,\"how\":{\"java\":9}},"
		"{\"name\":\"sys_read\",\"self\":3,\"total\":3,\"how\":{\"kernel\":3}},"
		"{\"name\":\"Parse::do_call\",\"self\":1,\"total\":1,\"how\":{\"jvm\":1}}],"
		"\"threads\":[{\"name\":\"main\",\"total\":9,\"busy\":{\"application\":6,"
		"\"compiler\":0,\"gc\":0,\"jvm\":0,\"kernel\":3}},"
		"{\"name\":\"C2_CompilerThread0\",\"total\":1,\"busy\":{\"application\":0,"
		"\"compiler\":1,\"gc\":0,\"jvm\":0,\"kernel\":0}}]}\n";
	struct moment m = {
		.stacks = stacks_of("main;Shop.run_[j] 6\nmain;Shop.run_[j];sys_read_[k] 3\n"
				    "C2_CompilerThread0;Parse::do_call 1\n"),
		.us = 2000000,
		.quality = {.samples = 10, .lost = 1, .java_samples = 9, .java_complete = 9}};
	CLEANUP(close_fd) int as_text = memfd_create("text", MFD_CLOEXEC);
	CLEANUP(close_fd) int as_json = memfd_create("json", MFD_CLOEXEC);
	CLEANUP(free) char *got_text = NULL;
	CLEANUP(free) char *got_json = NULL;
	struct err err;

	is_int(plain_text(as_text, "web", &m, 99, &err), 0, "text");
	got_text = drawn_text(as_text);
	is_str(got_text, text, "as expected");
	is_int(plain_json(as_json, "web", &m, 99, &err), 0, "JSON");
	got_json = drawn_text(as_json);
	is_str(got_json, json, "as expected");
	moment_fini(&m);
}

static void check_cut(size_t columns, enum frame_kind kind, const char *want)
{
	static char text[] = " 20.5 %  C2  java.util.TreeMap.get";
	struct row_line line = {.text = text, .name = "java.util.TreeMap.get", .kind = kind};
	CLEANUP(str_fini) struct str got = {0};

	row_line_cut(&got, &line, columns);
	is_str(got.buf, want, "in %zu columns", columns);
}

static void test_cut(void)
{
	check_cut(34, FRAME_JAVA, " 20.5 %  C2  java.util.TreeMap.get");
	check_cut(33, FRAME_JAVA, " 20.5 %  C2  TreeMap.get");
	check_cut(24, FRAME_JAVA, " 20.5 %  C2  TreeMap.get");
	check_cut(23, FRAME_JAVA, " 20.5 %  C2  TreeMap.g…");
	check_cut(33, FRAME_NATIVE, " 20.5 %  C2  java.util.TreeMap.g…");
	check_cut(1, FRAME_JAVA, "…");
}

int main(void)
{
	test_cut();
	test_plain();
	test_rows();
	test_how();
	test_busy();
	test_after_collection();
	test_threads();
	test_agent();
	test_calls();
	test_seen();
	test_lines();
	return tap_done();
}
