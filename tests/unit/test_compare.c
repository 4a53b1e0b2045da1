// SPDX-License-Identifier: Apache-2.0
/* A comparison as dfg-diff prints it, and its limits. */
#include "report/compare_print.h"

#include <jansson.h>

#include "lib/printed.h"
#include "lib/tap.h"

static struct session old_session = {.label = (char *)"web",
				     .started = (char *)"2026-11-22T10:00:00Z",
				     .frequency = 100,
				     .duration = 4};
static struct session new_session = {.label = (char *)"web",
				     .started = (char *)"2026-11-22T11:00:00Z",
				     .frequency = 100,
				     .duration = 4};
static struct input files[2] = {{.path = (char *)"old.txt", .file = (char *)"old.txt"},
				{.path = (char *)"new.txt", .file = (char *)"new.txt"}};
static struct input sessions[2] = {{.path = (char *)"tcb", .session = &old_session},
				   {.path = (char *)"tca", .session = &new_session}};
static const struct inputs two_files = {.list = files, .count = 2};
static const struct inputs two_sessions = {.list = sessions, .count = 2};
static struct outdir where = {.path = (char *)"/d"};
static struct compare_options options = {.outdir = &where};

#define SHARE(c, zscore, sure)                                                                     \
	{                                                                                          \
		{                                                                                  \
			.change = (c), .z = (zscore), .significant = (sure)                        \
		}                                                                                  \
	}

/* run calls pay, which calls slow: their totals changed alike; a did not change. The whole: 1 and
 * 0.5 processors where both are sessions. */
static struct compare_row rows[] = {
	{.method = "app.Shop.run",
	 .self = {.counts = {4, 2}},
	 .total = {.counts = {120, 120}, .by = SHARE(0.30, 6.5, true)},
	 .via = {2}},
	{.method = "app.Shop.pay",
	 .total = {.counts = {110, 116}, .by = SHARE(0.29, 6.25, true)},
	 .via = {3}},
	{.method = "app.Shop.slow",
	 .self = {.counts = {104, 112}, .by = SHARE(0.28, 6, true)},
	 .total = {.counts = {104, 112}, .by = SHARE(0.28, 6, true)}},
	{.method = "a|b`c",
	 .self = {.counts = {8, 0}, .by = SHARE(-0.02, -3, true)},
	 .total = {.counts = {8, 1}, .by = SHARE(-0.015, -1.5, false)}},
	{.method = "a", .self = {.counts = {4, 2}}, .total = {.counts = {8, 4}}},
};

static struct compare_result changes(void)
{
	return (struct compare_result){
		.before = {.quality = {.samples = 400, .unrated = 400, .lost = 3},
			   .samples = 400,
			   .worth = 400},
		.after = {.quality = {.samples = 200, .unrated = 200, .lost = 4},
			  .samples = 200,
			  .worth = 200},
		.whole = {.counts = {400, 200}},
		.rows = rows,
		.row_count = ARRAY_LEN(rows)};
}

static struct gate no_gate;

static struct compare_view view(const struct compare_result *r)
{
	return (struct compare_view){.in = &two_files,
				     .options = &options,
				     .result = r,
				     .gate = &no_gate,
				     .rows = 20,
				     .tables = {true, true}};
}

static void print_text(const void *arg)
{
	compare_print(arg);
}

static void print_json(const void *arg)
{
	compare_json(arg);
}

static void print_markdown(const void *arg)
{
	compare_markdown(arg);
}

#define SIDES                                                                                      \
	"before  old.txt\n"                                                                        \
	"        400 samples · 3 lost · 100 % of unknown quality\n"                              \
	"after   new.txt\n"                                                                        \
	"        200 samples · 4 lost · 100 % of unknown quality\n"
#define PICTURES                                                                                   \
	"\nsvg     /d/diff.svg\n"                                                                  \
	"html    /d/diff.html\n"
#define HEAD                                                                                       \
	"    % of samples\n"                                                                       \
	"  before   after    change  method\n"

static void test_text(void)
{
	struct compare_result r = changes(), none = changes();
	struct compare_view v = view(&r), nothing = view(&none);
	CLEANUP(free) char *got = printed_by(print_text, &v);
	CLEANUP(free) char *few = NULL;
	CLEANUP(free) char *unchanged = NULL;

	is_str(got,
	       SIDES "verdict 4 of 5 methods changed significantly\n"
		     "\nBy total: methods with what they call\n" HEAD
		     "   30.00   60.00   +30.00  app.Shop.run\n"
		     "          via  Shop.pay, Shop.slow\n"
		     "\nBy self: methods without what they call\n" HEAD
		     "   26.00   56.00   +28.00  app.Shop.slow\n"
		     "    2.00    0.00    -2.00  a|b`c\n"
		     "\nChanges in (parentheses) are not statistically significant.\n" PICTURES,
	       "both tables have significant changes only, and one row for a chain of calls");
	v.rows = 1;
	v.tables[TABLE_TOTAL] = false;
	few = printed_by(print_text, &v);
	is_str(few,
	       SIDES "verdict 4 of 5 methods changed significantly\n"
		     "\nBy self: methods without what they call\n" HEAD
		     "   26.00   56.00   +28.00  app.Shop.slow\n"
		     "  ... 1 more (--rows)\n"
		     "\nChanges in (parentheses) are not statistically significant.\n" PICTURES,
	       "one table, cut after its rows were chosen");
	none.rows = rows + 4;
	none.row_count = 1;
	unchanged = printed_by(print_text, &nothing);
	is_str(unchanged, SIDES "verdict no significant change in 1 methods\n" PICTURES,
	       "without a change there is no table");
}

/* slow has the greatest change: get, which calls it, and filter and do_filter, which call each
 * other and get, belong to its row. */
static void test_callers(void)
{
	static struct compare_row list[] = {
		{.method = "Web.filter", .total = {.by = SHARE(0.26, 5, true)}, .via = {2}},
		{.method = "Web.do_filter", .total = {.by = SHARE(0.27, 5, true)}, .via = {3}},
		{.method = "Shop.get", .total = {.by = SHARE(0.28, 5, true)}, .via = {4}},
		{.method = "Shop.slow", .total = {.by = SHARE(0.30, 5, true)}},
		{.method = "Ring.a", .total = {.by = SHARE(-0.1, -5, true)}, .via = {6}},
		{.method = "Ring.b", .total = {.by = SHARE(-0.1, -5, true)}, .via = {5}},
	};
	struct compare_result r = changes();
	struct compare_view v = view(&r);
	CLEANUP(free) char *got = NULL;
	CLEANUP(free) char *markdown = NULL;

	r.rows = list;
	r.row_count = ARRAY_LEN(list);
	v.tables[TABLE_SELF] = false;
	got = printed_by(print_text, &v);
	is_str(got,
	       SIDES "verdict 6 of 6 methods changed significantly\n"
		     "\nBy total: methods with what they call\n" HEAD
		     "    0.00    0.00   +30.00  Shop.slow\n"
		     "          from Shop.get, Web.do_filter, Web.filter\n"
		     "    0.00    0.00   -10.00  Ring.a\n"
		     "          via  Ring.b\n"
		     "\nChanges in (parentheses) are not statistically significant.\n" PICTURES,
	       "callers of a change are in its row, and a ring ends");
	markdown = printed_by(print_markdown, &v);
	ok(strstr(markdown, "| `Shop.slow`<br>from `Shop.get`, `Web.do_filter`, `Web.filter` |"),
	   "Markdown has the callers, too");
}

static void add_gate(struct gate *g, const char *text)
{
	struct err err;

	ok(gate_add(g, text, &err) == 0, "%s is a limit", text);
}

static void test_sessions(void)
{
	struct compare_result r = changes();
	struct compare_view v = view(&r);
	struct gate gate = {.measure = MEASURE_RATE};
	CLEANUP(free) char *got = NULL;
	CLEANUP(free) char *json = NULL;
	json_t *o;

	add_gate(&gate, "-2%");
	add_gate(&gate, "+2%");
	v.in = &two_sessions;
	v.gate = &gate;
	r.before.busy = r.after.busy = 400;
	r.row_count = 0;
	r.whole.by[MEASURE_RATE] =
		(struct compare_change){.change = -0.5, .z = -9, .significant = true};
	got = printed_by(print_text, &v);
	is_str(got,
	       "before  web: 4.0 s at 100 Hz, 2026-11-22T10:00:00Z, tcb\n"
	       "        400 samples · 3 lost · 100 % of unknown quality\n"
	       "after   web: 4.0 s at 100 Hz, 2026-11-22T11:00:00Z, tca\n"
	       "        200 samples · 4 lost · 100 % of unknown quality\n"
	       "whole   1.000 -> 0.500 processors, -50.0%\n"
	       "verdict no significant change in 0 methods\n"
	       "failed  -2%: the whole -50.00%\n"
	       "passed  +2%\n" PICTURES,
	       "sessions are named and dated, and have a cost per second");
	json = printed_by(print_json, &v);
	o = json_loads(json, 0, NULL);
	ok(json_is_true(json_object_get(o, "failed")), "JSON says whether a limit is exceeded");
	is_str(json_string_value(json_object_get(json_object_get(o, "before"), "started")),
	       "2026-11-22T10:00:00Z", "and has the dates");
	is_int(json_array_size(json_object_get(json_array_get(json_object_get(o, "limits"), 0),
					       "exceeding")),
	       1, "and what exceeds a limit");
	ok(json_real_value(json_object_get(json_object_get(o, "whole"), "before")) > 0.99,
	   "and the processors of the whole");
	json_decref(o);
}

static void check_member(const json_t *o, const char *name, const char *want)
{
	CLEANUP(free) char *got = json_dumps(json_object_get(o, name), JSON_ENCODE_ANY);

	is_str(got, want, "the JSON has %s", name);
}

static void test_json(void)
{
	struct compare_result r = changes();
	struct compare_view v = view(&r);
	CLEANUP(free) char *text = printed_by(print_json, &v);
	json_t *o = json_loads(text, 0, NULL), *methods, *slow;

	check_member(o, "verdict", "\"4 of 5 methods changed significantly\"");
	check_member(o, "failed", "false");
	check_member(o, "per", "\"sample\"");
	check_member(o, "whole", "null");
	check_member(o, "before",
		     "{\"input\": \"old.txt\", \"title\": \"old.txt\", \"samples\": 400, "
		     "\"lost\": 3, \"events\": []}");
	check_member(o, "event", "\"cpu\"");
	check_member(o, "unit", "\"samples\"");
	check_member(o, "graphs", "{\"svg\": \"/d/diff.svg\", \"html\": \"/d/diff.html\"}");
	check_member(o, "method_count", "5");
	methods = json_object_get(o, "methods");
	is_int(json_array_size(methods), 5, "each method is in the JSON, changed or not");
	check_member(json_array_get(methods, 0), "via", "\"app.Shop.pay\"");
	slow = json_array_get(methods, 2);
	check_member(slow, "method", "\"app.Shop.slow\"");
	check_member(slow, "via", "null");
	check_member(slow, "self",
		     "{\"change\": 0.28000000000000003, \"z\": 6.0, \"significant\": true, "
		     "\"before\": 0.26000000000000001, \"after\": 0.56000000000000005, "
		     "\"before_samples\": 104, \"after_samples\": 112, \"per_second\": null}");
	ok(text[0] == '{' && !strcmp(text + strlen(text) - 3, "\n}\n"),
	   "the object ends with a newline");
	json_decref(o);
}

static void test_markdown(void)
{
	struct compare_result r = changes();
	struct compare_view v = view(&r);
	struct gate gate = {0};
	CLEANUP(free) char *got = NULL;

	add_gate(&gate, "app.*:+2%");
	add_gate(&gate, "a|b`c:+2%");
	v.gate = &gate;
	got = printed_by(print_markdown, &v);
	is_str(got,
	       "### Profile: **failed**, 4 of 5 methods changed significantly\n\n"
	       "**Failed** `app.*:+2%`: `app.Shop.run` +30.00%, `app.Shop.pay` +29.00%, "
	       "`app.Shop.slow` +28.00%\n\n"
	       "**Passed** `` a|b`c:+2% ``\n\n"
	       "| | recording | started | input | samples | processors |\n"
	       "| :-- | :-- | :-- | :-- | --: | --: |\n"
	       "| before | `old.txt` |  | `old.txt` | 400 |  |\n"
	       "| after | `new.txt` |  | `new.txt` | 200 |  |\n"
	       "\n<details open><summary>By total</summary>\n\n"
	       "| method, with what it calls | before, % | after, % | change |\n"
	       "| :-- | --: | --: | --: |\n"
	       "| `app.Shop.run`<br>via `Shop.pay`, `Shop.slow` | 30.00 | 60.00 | **+30.00** |\n"
	       "\n</details>\n"
	       "\n<details><summary>By self</summary>\n\n"
	       "| method | before, % | after, % | change |\n"
	       "| :-- | --: | --: | --: |\n"
	       "| `app.Shop.slow` | 26.00 | 56.00 | **+28.00** |\n"
	       "| `` a\\|b`c `` | 2.00 | 0.00 | **-2.00** |\n"
	       "\n</details>\n"
	       "\n<sub>before: 400 samples · 3 lost · 100 % of unknown quality</sub>\n"
	       "\n<sub>after: 200 samples · 4 lost · 100 % of unknown quality</sub>\n"
	       "\n<sub>Bold changes are statistically significant.</sub>\n",
	       "Markdown has the verdict, the sides and the tables, escaped");
}

/* Of JFR recordings, unit and other events are printed. */
static void test_events(void)
{
	struct compare_result r = changes();
	struct input list[2] = {files[0], files[1]};
	struct inputs alloc = {.list = list, .count = 2, .event = EVENT_ALLOC};
	struct compare_view v = view(&r);
	CLEANUP(free) char *got = NULL;
	CLEANUP(free) char *json = NULL;
	CLEANUP(free) char *markdown = NULL;
	json_t *o;

	list[0].event = list[1].event = EVENT_ALLOC;
	v.in = &alloc;
	v.tables[TABLE_SELF] = false;
	r.before.events[EVENT_CPU] = 28;
	r.before.events[EVENT_ALLOC] = 2;
	got = printed_by(print_text, &v);
	is_str(got,
	       "before  old.txt: allocated bytes\n"
	       "        400 bytes · 3 lost · 100 % of unknown quality\n"
	       "        other events, for --event: 28 cpu\n"
	       "after   new.txt: allocated bytes\n"
	       "        200 bytes · 4 lost · 100 % of unknown quality\n"
	       "verdict 4 of 5 methods changed significantly\n"
	       "\nBy total: methods with what they call\n"
	       "    % of allocated bytes\n"
	       "  before   after    change  method\n"
	       "   30.00   60.00   +30.00  app.Shop.run\n"
	       "          via  Shop.pay, Shop.slow\n"
	       "\nChanges in (parentheses) are not statistically significant.\n" PICTURES,
	       "text has the unit, and what else there is");
	json = printed_by(print_json, &v);
	o = json_loads(json, 0, NULL);
	check_member(o, "event", "\"alloc\"");
	check_member(o, "unit", "\"bytes\"");
	check_member(json_object_get(o, "before"), "events",
		     "[{\"event\": \"cpu\", \"unit\": \"samples\", \"events\": 28}, "
		     "{\"event\": \"alloc\", \"unit\": \"bytes\", \"events\": 2}]");
	json_decref(o);
	markdown = printed_by(print_markdown, &v);
	ok(strstr(markdown, "| input | allocated bytes | processors |\n") &&
		   strstr(markdown, "<sub>before: 400 bytes · 3 lost · 100 % of unknown quality · "
				    "other events: 28 cpu</sub>"),
	   "Markdown, too");
	ok(strstr(markdown, " | 400 bytes | |\n") || strstr(markdown, " | 400 bytes |  |\n"),
	   "where amounts have their unit");
	is_int(gate_samples_needed(&(struct gate_limit){.percent = 2}, &r), 800,
	       "bytes are as many samples as they are worth");
}

/* ---- limits ------------------------------------------------------------------------------ */

static void test_limit_text(void)
{
	static const char *const bad[] = {"",	  "2",	  "+%",	   "+2 %",   "+2%x", "++2%",
					  "1e3%", "nan%", "+inf%", "1.2.3%", "a:",   "+-2%"};
	struct gate g = {0};
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		is_int(gate_add(&g, bad[i], &err), -1, "\"%s\" is no limit", bad[i]);
	is_str(err.msg, "--fail-on +-2%: must be like +2% or NAME:+2%", "the error has an example");
	add_gate(&g, "std::f:-0.5%");
	is_str(g.limits[0].method, "std::f", "a name may have colons");
	ok(g.limits[0].less && !g.limits[0].more, "a limit of what becomes cheaper");
	add_gate(&g, "2%");
	ok(g.limits[1].less && g.limits[1].more, "a limit both ways");
	add_gate(&g, "whole:+1%");
	is_int(gate_check_measure(&g, &err), -1, "the share of the whole has no limit");
	g.measure = MEASURE_RATE;
	is_int(gate_check_measure(&g, &err), 0, "its rate has");
	is_int(gate_check_inputs(&g, &two_files, &err), -1, "files have no rate");
	is_int(gate_check_inputs(&g, &two_sessions, &err), 0, "sessions have");
	for (g.count = 0; g.count < GATE_LIMITS;)
		if (gate_add(&g, "+2%", &err) < 0)
			break;
	is_int(g.count, GATE_LIMITS, "there may be many");
	is_int(gate_add(&g, "+2%", &err), -1, "but not more than that");
}

static bool fails(const struct compare_result *r, const char *limit)
{
	struct gate g = {0};
	struct err err;

	return gate_add(&g, limit, &err) == 0 && gate_fails(&g, r);
}

static void test_limits(void)
{
	struct compare_result r = changes();
	struct gate g = {0};
	struct err err;

	ok(fails(&r, "+2%"), "a method that rose by 30 points exceeds 2");
	ok(!fails(&r, "+30%"), "and does not exceed 30");
	ok(!fails(&r, "-1%"), "a change that is not significant exceeds nothing");
	ok(fails(&r, "29.5%"), "both ways");
	ok(fails(&r, "app.Shop.slow:+27%") && !fails(&r, "app.Shop.slow:+28.5%"), "one method");
	ok(fails(&r, "app.Shop.*:+2%") && !fails(&r, "app.Other.*:+2%"), "methods of a prefix");
	ok(!fails(&r, "app.Shop:+2%"), "a name is a whole name");
	add_gate(&g, "+2%");
	is_int(gate_check_samples(&g, &two_files, &r, &err), 0, "sides with samples");
	is_int(gate_samples_needed(&g.limits[0], &r), 800, "that are too few for two percent");
	r.before.worth = r.after.worth = 2000;
	is_int(gate_samples_needed(&g.limits[0], &r), 0, "or enough");
	r.after.samples = 0;
	is_int(gate_check_samples(&g, &two_files, &r, &err), -1, "a side without samples fails");
	is_str(err.msg, "--fail-on: new.txt has no samples to compare", "and is named");
}

int main(void)
{
	formats_add("svg", &options.formats);
	formats_add("html", &options.formats);
	test_text();
	test_callers();
	test_sessions();
	test_json();
	test_markdown();
	test_events();
	test_limit_text();
	test_limits();
	return tap_done();
}
