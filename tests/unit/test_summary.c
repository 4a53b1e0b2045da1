// SPDX-License-Identifier: Apache-2.0
/* The summary of a run, as commands print it. */
#include "report/summary.h"

#include <jansson.h>

#include "lib/printed.h"
#include "lib/tap.h"

/* ---- a run ------------------------------------------------------------------------------- */

static struct session_jvm jvms[] = {
	{.pid = 4711,
	 .nspid = 7,
	 .uid = 1000,
	 .version = "21.0.8",
	 .source = JVM_SOURCE_AGENT,
	 .methods = 1234,
	 .dump_us = 1500,
	 .snapshots = 1},
	{.pid = 4712,
	 .nspid = 8,
	 .source = JVM_SOURCE_HOST,
	 .methods = 5,
	 .skipped = 3,
	 .dump_us = 20,
	 .snapshots = 2,
	 .watch_us = 250000,
	 .switched = true,
	 .note = "no agent is there"},
	{.pid = 4713, .nspid = 9, .version = "8", .source = JVM_SOURCE_NONE},
	{.pid = 4714, .nspid = 10, .version = "9", .source = JVM_SOURCE_MAP},
	{.pid = 4715, .nspid = 4715, .source = JVM_SOURCE_UNKNOWN},
};

static struct session session = {.dir = (char *)"/graphs/session",
				 .container_id = (char *)"0123",
				 .container_name = (char *)"web",
				 .pod = (char *)"web-1",
				 .namespace = (char *)"shop",
				 .host = (char *)"db1",
				 .label = (char *)"shop/web-1/web",
				 .frequency = 99,
				 .duration = 2.5,
				 .jvms = jvms,
				 .jvm_count = ARRAY_LEN(jvms)};

static struct render_result result = {
	.quality = {.samples = 1000,
		    .lost = 2,
		    .java_samples = 800,
		    .java_complete = 600,
		    .frames = 10000,
		    .frames_unknown = 500,
		    .frames_nameless = 1000,
		    .truncated = 250,
		    .between_safepoints = 400,
		    .java_frames = 4000,
		    .stale = 500},
	.leaf = "a.B.c",
	.leaf_self = 125,
	.path = "main;a.B.c",
	.path_self = 75,
	.verdict = {.samples = 1000,
		    .busy = {[BUSY_APPLICATION] = 375, [BUSY_GC] = 624, [BUSY_KERNEL] = 1},
		    .methods = {{"a.B.c", 125, 375, CODE_OWN},
				{"java.util.Map.get", 1, 300, CODE_JDK}},
		    .method_count = 2},
	.cpu = {0.65, 1, 4, 0.12, 0.25, -1, -1}};

static struct format_set formats;

/* Room for the events of the last two summaries. */
static struct summary_event events[2][EVENT_KINDS];

static struct summary summary(void)
{
	static unsigned next;
	struct summary_event *e = events[next++ % ARRAY_LEN(events)];

	memset(e, 0, sizeof(events[0]));
	e->formats = formats;
	e->result = result;
	return (struct summary){.session = &session,
				.outdir = "/graphs",
				.events = e,
				.event_count = 1,
				.post_ms = 17};
}

static void print(const void *arg)
{
	summary_print(arg);
}

#define QUALITY                                                                                    \
	"1,000 samples · 2 lost · 75 % of Java stacks complete · 5 % frames unknown · "        \
	"10 % nameless · 25 % truncated · 50 % of Java samples with approximate inlining · "    \
	"12.5 % Java frames stale\n"

#define INLINING                                                                                   \
	"50.0 % of the Java samples may be charged to a neighbouring inlined method, as this "     \
	"code was compiled without DebugNonSafepoints: record again when it has been "             \
	"recompiled, or have JVMs start with it (dfg-setup install --early)"
#define WARNINGS                                                                                   \
	"  warning      25.0 % of the stacks were cut, as they are very deep: totals of outer "    \
	"methods are too low, methods by self are right\n"                                         \
	"  warning      " INLINING "\n"                                                            \
	"  warning      5.0 % of the frames have no name: dfg-doctor says what this JVM lacks\n"

static void test_text(void)
{
	struct summary s = summary();
	CLEANUP(free) char *got = printed_by(print, &s);

	is_str(got,
	       "shop/web-1/web: 2.5 s at 99 Hz\n"
	       "  cpu          0.65 of limit 1.0, throttled in 12 % of periods; application 38 %, "
	       "gc 62 %, kernel <1 %\n"
	       "  method       37.5 %  self  12.5 %  a.B.c\n"
	       "  method       30.0 %  self   0.1 %  java.util.Map.get (jdk)\n" WARNINGS
	       "  samples      " QUALITY "  hottest leaf  12.5 %  a.B.c\n"
	       "  JVM          pid 4711 (pid 7 in the container, uid 1000), Java 21.0.8: "
	       "1,234 compiled methods and stubs, read by the agent in 1.5 ms\n"
	       "  JVM          pid 4712 (pid 8 in the container, uid 0): "
	       "5 compiled methods and stubs, read from outside in 0.0 ms, 3 not readable\n"
	       "               re-read 1 time; overhead 10.0 % of one CPU\n"
	       "               DebugNonSafepoints was switched on in it, and stays on; "
	       "--keep-flags leaves it off\n"
	       "               no agent is there\n"
	       "  JVM          pid 4713 (pid 9 in the container, uid 0), Java 8: no names for its "
	       "Java code\n"
	       "  JVM          pid 4714 (pid 10 in the container, uid 0), Java 9: names by the map "
	       "that it writes\n"
	       "  JVM          pid 4715 (uid 0): "
	       "0 compiled methods and stubs, read in an unknown way in 0.0 ms\n"
	       "  svg          /graphs/flame.svg\n"
	       "  folded       /graphs/flame.folded\n"
	       "  session      /graphs/session\n",
	       "the summary has the samples, each JVM, each graph and the session");
}

/* A second event, of bytes. */
static void add_allocations(struct summary *s)
{
	s->events[1] = (struct summary_event){
		.event = EVENT_ALLOC,
		.formats = formats,
		.result = {.quality = {.samples = 4096,
				       .java_samples = 4096,
				       .java_complete = 1024,
				       .frames = 10},
			   .leaf = "byte[]",
			   .leaf_self = 2048,
			   .subjects = {.event = EVENT_ALLOC,
					.amount = 4096,
					.count = 2,
					.list = {{"byte[]", "a.B.c", "", 2048},
						 {"int[]", "", "", 51}}},
			   .verdict = {.samples = 4096,
				       .methods = {{"a.B.c", 0, 2048, CODE_OWN}},
				       .method_count = 1}}};
	s->events[1].formats.event = "alloc";
	s->event_count = 2;
}

static void test_events_text(void)
{
	struct summary s = summary();
	CLEANUP(free) char *one = printed_by(print, &s), *two = NULL;
	const char *at = strstr(one, "  session");

	add_allocations(&s);
	two = printed_by(print, &s);
	ok(strncmp(one, two, (size_t)(at - one)) == 0, "the first event comes first");
	is_str(two + (at - one),
	       "  alloc        4.10 kB · 0 lost · 25 % of Java stacks complete · 0 % frames "
	       "unknown · 0 % truncated\n"
	       "  alloc         50.0 %  byte[], allocated by a.B.c\n"
	       "  alloc          1.2 %  int[]\n"
	       "  svg          /graphs/flame-alloc.svg\n"
	       "  folded       /graphs/flame-alloc.folded\n"
	       "  session      /graphs/session\n",
	       "then the next, with its unit and its graphs");
}

/* Of one event alone, of time. */
static struct summary waits(void)
{
	struct summary s = summary();

	s.events[0].event = EVENT_LOCK;
	s.events[0].result = (struct render_result){
		.quality = {.samples = 11000000000},
		.leaf = "a.Box",
		.subjects = {.event = EVENT_LOCK,
			     .amount = 11000000000,
			     .count = 1,
			     .list = {{"a.Box", "a.B.want", "a.B.hold", 8250000000}}}};
	return s;
}

static void test_subjects_text(void)
{
	struct summary s = waits();
	CLEANUP(free) char *got = printed_by(print, &s), *without = NULL;

	ok(has_prefix(got, "shop/web-1/web: 2.5 s\n"
			   "  lock          75.0 %  a.Box, wanted by a.B.want, held by a.B.hold\n"
			   "  lock         11.0 s · 0 lost"),
	   "what was waited for comes first");
	ok(!strstr(got, "hottest leaf"), "a leaf says no more than that");
	s.events[0].result.subjects = (struct subjects){.event = EVENT_LOCK};
	without = printed_by(print, &s);
	ok(strstr(without, "  hottest leaf   0.0 %  a.Box\n") && !strstr(without, "wanted by"),
	   "without subjects there is the leaf");
}

static void print_merged(const void *arg)
{
	static struct input two[2] = {{.path = (char *)"/a"}, {.path = (char *)"/b"}};
	const struct summary *s = arg;
	struct inputs in = {.list = two, .count = s->session ? 1 : 2};

	summary_print_merged(s, &in);
}

static void test_merged_text(void)
{
	struct summary s = summary();
	char *got;

	s.outdir = "/out";
	s.events->result = (struct render_result){.cut = 5, .skipped = 6};
	got = printed_by(print_merged, &s);

	is_str(got,
	       "1 recording\n"
	       "  samples      0 samples · 0 lost\n"
	       "  damaged      5 bytes at the end of the recording could not be read\n"
	       "  damaged      6 lines of text could not be read\n"
	       "  svg          /out/flame.svg\n"
	       "  folded       /out/flame.folded\n",
	       "the summary of one merged recording says what was damaged and nothing of leaves");
	free(got);
	s.session = NULL;
	s.events[0].result = (struct render_result){.quality = {.samples = 1, .unrated = 1}};
	got = printed_by(print_merged, &s);
	is_str(got,
	       "2 recordings together\n"
	       "  samples      1 sample · 0 lost · 100 % of unknown quality\n"
	       "  svg          /out/flame.svg\n"
	       "  folded       /out/flame.folded\n",
	       "two recordings are told in the plural");
	free(got);
}

static void print_json(const void *arg)
{
	summary_json(arg);
}

static void check_member(const json_t *o, const char *name, const char *want)
{
	CLEANUP(free) char *got = json_dumps(json_object_get(o, name), JSON_ENCODE_ANY);

	is_str(got, want, "the JSON summary has %s", name);
}

static void check_verdict(const json_t *verdict)
{
	static const char *const members[][2] = {
		{"cpus_used", "0.65000000000000002"},
		{"cpu_limit", "1.0"},
		{"processors", "4.0"},
		{"throttled_seconds", "0.25"},
		{"steal", "null"},
		{"pressure", "null"},
		{"shares", "{\"application\": 0.375, \"compiler\": 0.0, \"gc\": 0.624, "
			   "\"jvm\": 0.0, \"kernel\": 0.001}"},
		{"top_methods",
		 "[{\"name\": \"a.B.c\", \"self\": 0.125, \"total\": 0.375, \"code\": "
		 "\"application\"}, {\"name\": \"java.util.Map.get\", \"self\": 0.001, "
		 "\"total\": 0.29999999999999999, \"code\": \"jdk\"}]"},
	};
	const json_t *warnings = json_object_get(verdict, "warnings");

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		check_member(verdict, members[i][0], members[i][1]);
	is_int(json_array_size(warnings), 3, "the warnings are in the list");
	check_member(json_array_get(warnings, 1), "kind", "\"inlining\"");
	check_member(json_array_get(warnings, 1), "text", "\"" INLINING "\"");
}

static void test_json(void)
{
	static const char *const members[][2] = {
		{"container", "{\"id\": \"0123\", \"name\": \"web\", \"pod\": \"web-1\", "
			      "\"namespace\": \"shop\"}"},
		{"host", "\"db1\""},
		{"session", "\"/graphs/session\""},
		{"duration", "2.5"},
		{"frequency", "99"},
		{"graphs",
		 "{\"svg\": \"/graphs/flame.svg\", \"folded\": \"/graphs/flame.folded\"}"},
		{"samples", "1000"},
		{"lost", "2"},
		{"java_samples", "800"},
		{"complete", "0.75"},
		{"truncated", "0.25"},
		{"without_debug_info", "0.5"},
		{"stale", "0.125"},
		{"hottest_leaf", "{\"frame\": \"a.B.c\", \"samples\": 125}"},
		{"hottest_path", "{\"stack\": \"main;a.B.c\", \"samples\": 75}"},
		{"damaged_bytes", "0"},
		{"post_ms", "17"},
	};
	struct summary s = summary();
	CLEANUP(free) char *text = printed_by(print_json, &s);
	json_t *o = json_loads(text, 0, NULL), *jvm;

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		check_member(o, members[i][0], members[i][1]);
	check_verdict(json_object_get(o, "verdict"));
	ok(has_prefix(text, "{\n  \"verdict\": {"), "the verdict is the first member");
	is_int(json_array_size(json_object_get(o, "jvms")), 5, "each JVM is in the list");
	jvm = json_array_get(json_object_get(o, "jvms"), 1);
	check_member(jvm, "pid", "4712");
	check_member(jvm, "nspid", "8");
	check_member(jvm, "uid", "0");
	check_member(jvm, "version", "\"\"");
	check_member(jvm, "source", "\"host\"");
	check_member(jvm, "methods", "5");
	check_member(jvm, "skipped", "3");
	ok(json_real_value(json_object_get(jvm, "dump_ms")) > 0.0199 &&
		   json_real_value(json_object_get(jvm, "dump_ms")) < 0.0201,
	   "the time of a dump is in milliseconds");
	check_member(jvm, "snapshots", "2");
	check_member(jvm, "switched", "true");
	ok(json_real_value(json_object_get(jvm, "watch_cpu")) > 0.0999 &&
		   json_real_value(json_object_get(jvm, "watch_cpu")) < 0.1001,
	   "the cost of snapshots is a share of one processor");
	check_member(jvm, "note", "\"no agent is there\"");
	ok(text[strlen(text) - 1] == '\n' && strstr(text, "\n  \"samples\": 1000,\n"),
	   "the object is indented by two and ends with a newline");
	json_decref(o);
	session.duration = 0;
	free(text);
	text = printed_by(print_json, &s);
	session.duration = 2.5;
	o = json_loads(text, 0, NULL);
	jvm = json_array_get(json_object_get(o, "jvms"), 1);
	check_member(jvm, "watch_cpu", "0.0");
	json_decref(o);
}

static void test_json_subjects(void)
{
	struct summary one = waits(), two = summary();
	CLEANUP(free) char *text = printed_by(print_json, &one);
	CLEANUP(free) char *more = NULL;
	json_t *o = json_loads(text, 0, NULL);

	check_member(json_object_get(o, "verdict"), "top_subjects",
		     "[{\"class\": \"a.Box\", \"method\": \"a.B.want\", \"holder\": \"a.B.hold\", "
		     "\"share\": 0.75}]");
	check_member(o, "event", "\"lock\"");
	check_member(o, "unit", "\"ns\"");
	check_member(o, "samples", "11000000000");
	json_decref(o);
	add_allocations(&two);
	more = printed_by(print_json, &two);
	o = json_loads(more, 0, NULL);
	check_member(json_object_get(o, "verdict"), "top_subjects", "[]");
	check_member(
		json_object_get(json_array_get(json_object_get(o, "more_events"), 0), "verdict"),
		"top_subjects",
		"[{\"class\": \"byte[]\", \"method\": \"a.B.c\", \"holder\": \"\", "
		"\"share\": 0.5}, {\"class\": \"int[]\", \"method\": \"\", \"holder\": \"\", "
		"\"share\": 0.012451200000000001}]");
	json_decref(o);
}

/* A duration with more digits than are printed. */
static void test_json_digits(void)
{
	struct summary s = summary();
	CLEANUP(free) char *text = NULL;

	session.duration = 1.23456789;
	text = printed_by(print_json, &s);
	session.duration = 2.5;
	ok(strstr(text, "\n  \"duration\": 1.23457,\n"), "numbers have six digits");
}

static void print_json_merged(const void *arg)
{
	static struct input two[2] = {{.path = (char *)"/a"}, {.path = (char *)"/b"}};

	summary_json_merged(arg, &(struct inputs){.list = two, .count = 2});
}

static void test_json_merged(void)
{
	struct summary s = summary();
	CLEANUP(free) char *merged = NULL;
	json_t *o;

	s.events[0].result.skipped = 4;
	merged = printed_by(print_json_merged, &s);
	o = json_loads(merged, 0, NULL);
	check_member(o, "inputs", "[\"/a\", \"/b\"]");
	check_member(o, "damaged_lines", "4");
	check_member(o, "lost", "2");
	ok(!json_object_get(o, "session"), "a merged summary has nothing of one session");
	json_decref(o);
}

int main(void)
{
	formats_add("svg", &formats);
	formats_add("folded", &formats);
	test_text();
	test_events_text();
	test_subjects_text();
	test_merged_text();
	test_json();
	test_json_subjects();
	test_json_merged();
	test_json_digits();
	return tap_done();
}
