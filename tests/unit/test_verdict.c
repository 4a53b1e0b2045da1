// SPDX-License-Identifier: Apache-2.0
/* The verdict on a profile, its warnings, and their texts. */
#include "calltree/verdict.h"

#include <math.h>

#include "format/verdict.h"
#include "lib/drawn.h"
#include "lib/tap.h"

static void test_owners(void)
{
	static const struct {
		const char *method, *own;
		enum code_owner owner;
	} t[] = {
		{"shop.Cart.add", NULL, CODE_OWN},
		{"Load.main", "", CODE_OWN},
		{"java.util.Map.get", NULL, CODE_JDK},
		{"java/util/Map.get", NULL, CODE_JDK},
		{"jdk.internal.misc.Unsafe.park", NULL, CODE_JDK},
		{"com.sun.proxy.$Proxy7.run", NULL, CODE_JDK},
		{"javaz.util.Map.get", NULL, CODE_OWN},
		{"org.apache.catalina.core.StandardWrapperValve.invoke", NULL, CODE_LIBRARY},
		{"org.apache.jsp.index_jsp._jspService", NULL, CODE_OWN},
		{"org.springframework.web.Servlet.service", NULL, CODE_LIBRARY},
		{"org.elasticsearch.index.Engine.index", "org.elasticsearch.", CODE_OWN},
		{"org.elasticsearch.index.Engine.index", "org.elastic.", CODE_LIBRARY},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		is_str(code_owner_name(code_owner_of(t[i].method, t[i].own)),
		       code_owner_name(t[i].owner), "whose %s is", t[i].method);
}

static void test_packages(void)
{
	static const struct {
		const char *method, *want;
	} t[] = {
		{"Load.main", ""},
		{"shop.Main.main", "shop."},
		{"com.example.shop.Main.main", "com.example."},
		{"org.apache.hop.run.Main.main", "org.apache.hop."},
		{"org.apache.catalina.startup.Bootstrap.main", ""},
		{"org.springframework.boot.loader.JarLauncher.main", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str got = {0};

		str_adds(&got, "");
		code_own_package(&got, t[i].method);
		is_str(got.buf, t[i].want, "what %s proves", t[i].method);
	}
}

/* "name self/total " of each method. */
static void check_methods(const char *folded, const char *want, const char *name)
{
	CLEANUP(str_fini) struct str got = {0};
	struct stacks *s = stacks_of(folded);
	struct verdict v;

	verdict_make(s, &v);
	str_adds(&got, "");
	for (size_t i = 0; i < v.method_count; i++)
		str_addf(&got, "%s %u/%u ", v.methods[i].name, (unsigned)v.methods[i].self,
			 (unsigned)v.methods[i].total);
	is_str(got.buf, want, "%s", name);
	stacks_free(s);
}

static void test_methods(void)
{
	check_methods("t;java.A.a_[j];org.apache.B.b_[j];my.C.c_[j] 1\n"
		      "t;java.A.a_[j];org.apache.B.b_[j] 9\n",
		      "my.C.c 1/1 org.apache.B.b 9/10 ",
		      "own code comes before libraries; what passes all on is left out");
	check_methods("t;java.A.a_[j];x_[k] 3\nt;java.B.b_[i] 5\n", "java.B.b 5/5 java.A.a 0/3 ",
		      "without either the JDK's methods are shown, by total");
	check_methods("t;a.M.main_[j];a.M.run_[j];a.X.x_[j] 40\n"
		      "t;a.M.main_[j];a.M.run_[j];a.Y.y_[j] 60\n",
		      "a.M.run 0/100 a.Y.y 60/60 a.X.x 40/40 ",
		      "of a chain the innermost method counts");
	check_methods("t;a.M.r_[j];a.M.s_[j];a.M.r_[j];a.M.s_[j] 10\nt;a.M.s_[j] 10\n",
		      "a.M.s 20/20 ", "recursion counts once");
	check_methods("t;a.A.a_[j] 995\nt;a.B.b_[j] 5\n", "a.A.a 995/995 ",
		      "a method with less than one percent is none of the top");
	check_methods("t;a.A.a_[j] 1\nt;a.B.b_[j] 2\nt;a.C.c_[j] 3\nt;a.D.d_[j] 4\n"
		      "t;a.E.e_[j] 5\nt;a.F.f_[j] 6\n",
		      "a.F.f 6/6 a.E.e 5/5 a.D.d 4/4 a.C.c 3/3 a.B.b 2/2 ", "there are five");
	check_methods(
		"t;org.h2.Run.main_[j];org.h2.A.a_[j] 4\nt;org.h2.Run.main_[j];my.B.b_[j] 4\n",
		"org.h2.Run.main 0/8 my.B.b 4/4 org.h2.A.a 4/4 ",
		"the main class says which listed package is the application");
	check_methods("t;a.A$$Lambda$14.0x7f12.run_[j] 4\n", "a.A$$Lambda.run 4/4 ",
		      "a lambda's address is not shown");
	check_methods("t;Interpreter_[0] 4\n", "", "nor is the interpreter one");
	check_methods("t;main 4\n", "", "native functions are no methods");
	check_methods("", "", "without samples there are none");
}

static void test_shares(void)
{
	struct stacks *s = stacks_of("main;a.A.a_[j] 35\nGC_Thread#0;x 62\nC2 CompilerThre;y 1\n"
				     "main;read_[k] 2\ndfg-agent;z 50\nweb/dfg-agent;z_[k] 9\n");
	struct verdict v;

	verdict_make(s, &v);
	is_int((int64_t)v.samples, 100, "dfg's own threads do not count");
	is_int((int64_t)v.busy[BUSY_APPLICATION], 35, "the application's samples");
	is_int((int64_t)v.busy[BUSY_GC], 62, "the collector's");
	is_int((int64_t)v.busy[BUSY_KERNEL], 2, "the kernel's");
	is_int((int64_t)v.busy[BUSY_JVM], 0, "an agent is no thread of the JVM here");
	stacks_free(s);
}

static void test_check(void)
{
	struct verdict v = {.method_count = 77,
			    .methods = {{"a\nb", 1, 1, (enum code_owner)9},
					{"", 1, 1, CODE_OWN},
					{"", 1, 1, CODE_OWN},
					{"", 1, 1, CODE_OWN},
					{"", 1, 1, CODE_OWN}}};

	verdict_check(&v);
	is_int((int64_t)v.method_count, VERDICT_METHODS, "a forged count is cut");
	ok(!strchr(v.methods[0].name, '\n') && v.methods[0].owner == CODE_OWN,
	   "texts are clean, numbers in range");
}

static void test_text(void)
{
	static const struct {
		struct session_cpu cpu;
		const char *want, *name;
	} t[] = {
		{{0.65, 1, 4, 0.12, 3, -1, -1},
		 "0.65 of limit 1.0, throttled in 12 % of periods; ",
		 "a limit"},
		{{0.2, 0.25, 4, 0, 0, 0, 0}, "0.20 of limit 0.25, not throttled; ", "one of 0.25"},
		{{0.2, 2.5, 4, 0.001, 0, 0, 0},
		 "0.20 of limit 2.5, throttled in <1 % of periods; ",
		 "seldom throttled"},
		{{0.2, 2.5, 4, -1, -1, 0, 0}, "0.20 of limit 2.5; ", "no counters"},
		{{1.5, 0, 2, -1, -1, 0.07, 0.5},
		 "1.50 of 2 processors, no limit, pressure 50 %, steal 7 %; ",
		 "no limit"},
		{{1.5, -1, 1, -1, -1, -1, -1}, "1.50 of 1 processor; ", "no control group"},
		{{1.5, -1, -1, -1, -1, -1, -1}, "1.50 processors; ", "an old session"},
		{{-1, -1, -1, -1, -1, -1, -1}, "", "nothing is known"},
	};
	const struct verdict v = {.samples = 1000,
				  .busy = {[BUSY_GC] = 620, [BUSY_COMPILER] = 376, [BUSY_JVM] = 4}};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(free)
		char *want = xasprintf("%sapplication 0 %%, gc 62 %%, compiler 38 %%, jvm <1 %%",
				       t[i].want);
		CLEANUP(str_fini) struct str got = {0};

		verdict_text(&got, &v, &t[i].cpu);
		is_str(got.buf, want, "%s", t[i].name);
	}
}

/* The kinds of the warnings, each followed by a blank. */
static void check_warnings(const struct quality *q, const struct session *s, const char *want,
			   const char *name)
{
	CLEANUP(warnings_fini) struct warnings w;
	CLEANUP(str_fini) struct str got = {0};

	warnings_make(q, s, &w);
	str_adds(&got, "");
	for (size_t i = 0; i < w.count; i++) {
		str_addf(&got, "%s ", w.list[i].kind);
		ok(!strncmp(w.list[i].text + w.list[i].what, ": ", 2), "%s has a remedy",
		   w.list[i].kind);
	}
	is_str(got.buf, want, "%s", name);
}

static void test_warnings(void)
{
	const struct quality good = {.samples = 1000,
				     .java_samples = 1000,
				     .java_complete = 951,
				     .frames = 1000,
				     .frames_unknown = 49,
				     .truncated = 9,
				     .between_safepoints = 49,
				     .lost = 10};
	struct quality bad = {.samples = 1000,
			      .java_samples = 1000,
			      .java_complete = 950,
			      .frames = 1000,
			      .frames_unknown = 50,
			      .truncated = 10,
			      .between_safepoints = 50,
			      .lost = 11};
	struct session s = {.stack_bytes = 512, .failure = (char *)"perf ended with status 255"};
	CLEANUP(warnings_fini) struct warnings w;

	check_warnings(&good, NULL, "", "good quality has none");
	check_warnings(&(struct quality){0}, NULL, "", "nor has nothing");
	check_warnings(&(struct quality){.samples = 10, .java_samples = 10, .truncated = 10}, NULL,
		       "truncated ", "stacks that were cut are not incomplete besides");
	check_warnings(&bad, NULL, "lost truncated incomplete inlining unknown ", "each kind");
	check_warnings(&bad, &s, "lost truncated incomplete inlining unknown recorder ",
		       "and a recorder that failed");
	warnings_make(&bad, &s, &w);
	ok(strstr(w.list[1].text, "use --stack 32768"), "few bytes of stack: take more");
	ok(strstr(w.list[2].text, "dfg-doctor"), "stack copies: dfg-doctor says why");
	is_str(w.list[5].text, "perf ended with status 255: the graph shows the time before",
	       "the recorder's failure");
	warnings_fini(&w);
	s = (struct session){.stack_bytes = 0};
	warnings_make(&bad, &s, &w);
	ok(strstr(w.list[2].text, "--unwind auto"), "frame pointers: do not use them");
}

static void test_pictures(void)
{
	const struct verdict v = {
		.samples = 10,
		.busy = {[BUSY_APPLICATION] = 10},
		.methods = {{"my.<A>.a", 1, 5, CODE_OWN}, {"org.h2.B.b", 0, 4, CODE_LIBRARY}},
		.method_count = 2};
	const struct picture p = {.verdict = &v,
				  .quality = {.samples = 10, .lost = 10},
				  .cpu = {0.5, 0, 2, -1, -1, -1, -1}};
	CLEANUP(str_fini) struct str page = {0};
	CLEANUP(str_fini) struct str svg = {0};

	verdict_page(&page, &p);
	is_str(page.buf,
	       "{\"text\":\"CPU: 0.50 of 2 processors, no limit; application 100 %\","
	       "\"methods\":[[\"my.\\u003cA>.a\",\"50.0 %\",\"10.0 %\",\"application\"],"
	       "[\"org.h2.B.b\",\"40.0 %\",\"0.0 "
	       "%\",\"library\"]],\"subjects\":[],\"pauses\":[],\"compilations\":[],"
	       "\"waits\":[],\"warnings\":["
	       "\"50.0 % of the samples were lost, as the recorder could not keep up: use a lower "
	       "frequency (-F)\"]}",
	       "the page's object");
	is_int(verdict_svg(&svg, &p, 10, 64, 18), 3, "three lines of SVG");
	is_str(svg.buf,
	       "<text class=\"verdict strong\" x=\"10\" y=\"64\">CPU: 0.50 of 2 processors, no "
	       "limit; application 100 %</text>\n"
	       "<text class=\"verdict \" x=\"10\" y=\"82\">&lt;A&gt;.a 50.0 %, self 10.0 % · B.b "
	       "40.0 %, self 0.0 % (library)</text>\n"
	       "<text class=\"verdict bad\" x=\"10\" y=\"100\">50.0 % of the samples were lost, "
	       "as the recorder could not keep up</text>\n",
	       "which are escaped");
	str_clear(&svg);
	is_int(verdict_svg(&svg, &(struct picture){.quality = {.lost = 9}}, 0, 0, 18), 0,
	       "without a verdict there is none");
}

static const struct subjects waits = {
	.event = EVENT_LOCK,
	.amount = 12500000000,
	.count = 4,
	.list = {{"a.<Box>", "shop.Cart.add", "shop.Cart.sum", 7587500000},
		 {"a.Box", "shop.Cart.add", "", 2500000000},
		 {"a.Box", "", "b.\"C", 2400000000},
		 {"a.Pot", "", "", 12500000}},
};

/* Of other events than the processor's time there are subjects and no verdict. */
static void test_subjects_page(void)
{
	const struct picture p = {.unit = "ns", .subjects = &waits, .quality = {.lost = 99}};
	const struct subjects none = {.event = EVENT_ALLOC}, bytes = {.event = EVENT_ALLOC,
								      .amount = 3221225472,
								      .count = 1,
								      .list = {{.class = "c"}}};
	CLEANUP(str_fini) struct str page = {0};

	verdict_page(&page, &p);
	is_str(page.buf,
	       "{\"text\":\"12.5 s: time waiting for locks\",\"methods\":[],\"subjects\":["
	       "[\"60.7 %\",\"a.\\u003cBox>, wanted by shop.Cart.add, held by shop.Cart.sum\","
	       "\"a.\\u003cBox>\",\"shop.Cart.add\",\"shop.Cart.sum\"],"
	       "[\"20.0 %\",\"a.Box, wanted by shop.Cart.add\",\"a.Box\",\"shop.Cart.add\",\"\"],"
	       "[\"19.2 %\",\"a.Box, held by b.\\\"C\",\"a.Box\",\"\",\"b.\\\"C\"],"
	       "[\"0.1 "
	       "%\",\"a.Pot\",\"a.Pot\",\"\",\"\"]],\"pauses\":[],\"compilations\":[],"
	       "\"waits\":[],\"warnings\":"
	       "[]}",
	       "the page's object has subjects: share, text, class, method, holder");
	str_clear(&page);
	verdict_page(&page, &(struct picture){.unit = "bytes", .subjects = &none});
	is_str(page.buf,
	       "{\"text\":\"\",\"methods\":[],\"subjects\":[],\"pauses\":[],\"compilations\":[],"
	       "\"waits\":[],"
	       "\"warnings\":[]}",
	       "without one nothing is said");
	str_clear(&page);
	verdict_page(&page, &(struct picture){.unit = "bytes", .subjects = &bytes});
	ok(has_prefix(page.buf, "{\"text\":\"3.22 GB: allocated bytes\","),
	   "the text has the amount of all");
}

static void test_subjects_svg(void)
{
	const struct picture p = {.unit = "ns", .subjects = &waits, .quality = {.lost = 99}};
	struct subjects wide = {.event = EVENT_ALLOC, .amount = 2, .count = 1};
	CLEANUP(str_fini) struct str svg = {0};
	const char *end;

	is_int(verdict_svg(&svg, &p, 10, 64, 18), 3, "three lines of SVG, and no warning");
	is_str(svg.buf,
	       "<text class=\"verdict \" x=\"10\" y=\"64\">60.7 % a.&lt;Box&gt;, wanted by "
	       "shop.Cart.add, held by shop.Cart.sum</text>\n"
	       "<text class=\"verdict \" x=\"10\" y=\"82\">20.0 % a.Box, wanted by "
	       "shop.Cart.add</text>\n"
	       "<text class=\"verdict \" x=\"10\" y=\"100\">19.2 % a.Box, held by "
	       "b.&quot;C</text>\n",
	       "for the first subjects");
	memset(wide.list[0].class, 'c', sizeof(wide.list[0].class) - 1);
	memset(wide.list[0].method, 'm', sizeof(wide.list[0].method) - 1);
	wide.list[0].amount = 1;
	str_clear(&svg);
	is_int(verdict_svg(&svg, &(struct picture){.unit = "bytes", .subjects = &wide}, 0, 0, 18),
	       1, "a line may be long");
	end = strstr(svg.buf, "</text>");
	is_int(end - strchr(svg.buf, '>') - 1, 185, "and is cut to the picture's width");
}

int main(void)
{
	test_owners();
	test_packages();
	test_methods();
	test_shares();
	test_check();
	test_text();
	test_warnings();
	test_pictures();
	test_subjects_page();
	test_subjects_svg();
	return tap_done();
}
