// SPDX-License-Identifier: Apache-2.0
#include "calltree/difference.h"
#include "dfg/compiler.h"

#include <math.h>

#include "common/str.h"
#include "format/format.h"
#include "lib/tap.h"

static struct stacks *folded(const char *text)
{
	struct stacks *s = stacks_new();

	fold_read(s, text, strlen(text), NULL);
	return s;
}

static void make(struct difference *d, const char *before, const char *after, bool kinds)
{
	struct stacks *b = folded(before), *a = folded(after);

	difference_make(d, b, a, kinds);
	stacks_free(b);
	stacks_free(a);
}

/* The node of a path of names, 0: none. */
static uint32_t find(const struct difference *d, const char *path)
{
	uint32_t node = 0;

	while (*path) {
		size_t len = strcspn(path, ";");

		node = stacks_node(d->tree, node)->first;
		for (; node; node = stacks_node(d->tree, node)->next) {
			const struct frame *f =
				stacks_frame(d->tree, stacks_node(d->tree, node)->frame);

			if (f->len == len && memcmp(f->name, path, len) == 0)
				break;
		}
		if (!node)
			return 0;
		path += len + (path[len] == ';');
	}
	return node;
}

static void is_counts(struct counts got, uint64_t before, uint64_t after, const char *name)
{
	ok(got.before == before && got.after == after, "%s", name);
	if (got.before != before || got.after != after)
		printf("# got: %llu, %llu\n", (unsigned long long)got.before,
		       (unsigned long long)got.after);
}

static void test_tree(void)
{
	struct difference d;

	make(&d, "t;a;b 6\nt;a 2\nt;gone 2\n", "t;new 5\nt;a;b 10\nt;a 5\n", false);
	is_int(d.before.samples, 10, "samples before");
	is_int(d.after.samples, 20, "samples after");
	is_counts(difference_self(&d, find(&d, "t;a")), 2, 5, "a frame by itself");
	is_counts(difference_total(&d, find(&d, "t;a")), 8, 15, "and with what it calls");
	is_counts(difference_total(&d, find(&d, "t;gone")), 2, 0, "a stack that vanished");
	is_counts(difference_total(&d, find(&d, "t;new")), 0, 5, "a stack that is new");
	is_counts(difference_total(&d, 0), 10, 20, "the whole");
	is_int(stacks_node(d.tree, find(&d, "t;a"))->next, find(&d, "t;gone"), "sorted");
	is_int(stacks_node(d.tree, find(&d, "t;a"))->self, 7, "the tree has the sum");
	difference_fini(&d);
}

static void test_kinds(void)
{
	static const char before[] = "t;A.m_[j];A.n_[i] 1\nt;A.m_[0] 1\n",
			  after[] = "t;A.m_[j];A.n_[j] 1\n";
	struct difference d;

	make(&d, before, after, false);
	is_int(stacks_node_count(d.tree), 4, "a Java method is one frame, however it ran");
	is_counts(difference_total(&d, find(&d, "t;A.m;A.n")), 1, 1, "before inlined, now called");
	is_counts(difference_self(&d, find(&d, "t;A.m")), 1, 0,
		  "interpreted ones are the same, too");
	difference_fini(&d);
	make(&d, before, after, true);
	is_int(stacks_node_count(d.tree), 6, "unless kinds are asked for");
	difference_fini(&d);
	make(&d, "t;m_[k] 1\n", "t;m 1\n", false);
	is_int(stacks_node_count(d.tree), 4, "the kernel's are never somebody else's");
	difference_fini(&d);
	make(&d, "t;m 1\n", "u;t;m 1\n", true);
	is_int(stacks_node_count(d.tree), 6, "and a thread no function");
	difference_fini(&d);
}

static void test_hidden(void)
{
	static const char *const t[][2] = {
		{"A$$Lambda$14.0x00007f5ba0000a08.run", "A$$Lambda.run"},
		{"A$$Lambda.0x00007f5ba0000a08.run", "A$$Lambda.run"},
		{"A$$Lambda$14/0x00007f5b.run", "A$$Lambda.run"},
		{"A$$Lambda/0x7f12.run", "A$$Lambda.run"},
		{"A$$Lambda$14/12345.run", "A$$Lambda.run"},
		{"java.lang.invoke.LambdaForm$MH.0x7f12.invoke",
		 "java.lang.invoke.LambdaForm$MH.invoke"},
		{"A$$Lambda", "A$$Lambda"},
		{"A.0x.m", "A.0x.m"},
		{"A$1.m", "A$1.m"},
		{"", ""},
	};
	struct difference d;

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str got = {0};

		str_adds(&got, "");
		frame_add_stable_name(&got, t[i][0], strlen(t[i][0]));
		is_str(got.buf, t[i][1], "%s", t[i][0]);
	}
	make(&d, "t;A$$Lambda$1.0x7f01.run_[j] 1\n", "t;A$$Lambda$2.0x7f02.run_[j] 1\n", false);
	is_int(stacks_node_count(d.tree), 3, "a lambda is the same in another run");
	difference_fini(&d);
}

static bool near(double x, double y)
{
	return fabs(x - y) < 0.0005;
}

/* z by hand: 120 of 1000 and 150 of 1000 have the pooled share 0.135, the standard error
 * sqrt(0.135 * 0.865 * 2 / 1000) = 0.015282, hence 0.03 / 0.015282 = 1.9631; 60 of 500 and 300 of
 * 2000: 0.144, 0.017555, 1.7089. */
static void test_z(void)
{
	struct difference d = {.by = {{.before = 1000,
				       .after = 1000,
				       .before_worth = 1,
				       .after_worth = 1,
				       .least_z = DIFFERENCE_Z},
				      {.kind = MEASURE_RATE,
				       .before = 1000,
				       .after = 1000,
				       .before_worth = 1,
				       .after_worth = 1}}};

	ok(near(difference_change(&d, (struct counts){120, 150}), 0.03), "change of shares");
	ok(near(difference_z(&d, (struct counts){120, 150}), 1.9631), "z-score");
	ok(near(difference_z(&d, (struct counts){150, 120}), -1.9631), "of less, negative");
	ok(!difference_is_significant(&d, (struct counts){120, 150}), "too small to be sure of");
	ok(difference_is_significant(&d, (struct counts){120, 165}), "that is sure");
	ok(difference_is_significant(&d, (struct counts){165, 120}), "and so is less");
	ok(!difference_is_significant(&d, (struct counts){0, 6}), "6 new samples may be chance");
	ok(difference_is_significant(&d, (struct counts){0, 7}), "7 hardly");
	ok(near(difference_z(&d, (struct counts){0, 0}), 0), "nothing in both");
	ok(near(difference_z(&d, (struct counts){1000, 1000}), 0), "all in both");
	/* Poisson: 0.03 / sqrt(0.135 * 2 / 1000) */
	ok(near(measure_z(&d.by[MEASURE_RATE], (struct counts){120, 150}), 1.8257),
	   "z-score of a rate");
	ok(near(measure_change(&d.by[MEASURE_RATE], (struct counts){1000, 1500}), 0.5),
	   "a rate may be more than one processor");
	d.by[MEASURE_SHARE].before = 500;
	d.by[MEASURE_SHARE].after = 2000;
	ok(near(difference_z(&d, (struct counts){60, 300}), 1.7089), "sides of different size");
	d.by[MEASURE_SHARE] = (struct measure){
		.before = 500000, .after = 2000, .before_worth = 0.001, .after_worth = 1};
	ok(near(difference_z(&d, (struct counts){60000, 300}), 1.7089),
	   "bytes count as the events that they are of");
	d.by[MEASURE_SHARE].before = 0;
	ok(near(difference_z(&d, (struct counts){0, 300}), 0), "a side without samples");
	ok(near(difference_change(&d, (struct counts){0, 300}), 0.15), "has shares of 0");
}

static const struct difference_method *method(const struct difference *d, const char *name)
{
	for (size_t i = 0; i < d->method_count; i++)
		if (!strcmp(stacks_frame(d->tree, d->methods[i].frame)->name, name))
			return &d->methods[i];
	return NULL;
}

static void test_methods(void)
{
	struct difference d;

	make(&d, "t;a;b;a 4\nt;b;c 4\nt;c 2\n", "u;a;b 2\nt;a;b;a 4\nt;b;c 4\n", false);
	is_int(d.method_count, 3, "all but the threads");
	is_counts(method(&d, "a")->self.counts, 4, 4, "own samples of all places");
	is_counts(method(&d, "a")->total.counts, 4, 6, "recursion counts once");
	is_counts(method(&d, "b")->self.counts, 0, 2, "a method without own samples before");
	is_counts(method(&d, "b")->total.counts, 8, 10, "and with all it calls");
	is_counts(method(&d, "c")->total.counts, 6, 4, "of all its places, too");
	ok(near(method(&d, "a")->self.spread[MEASURE_SHARE], 1),
	   "without times there is no spread");
	difference_fini(&d);
	make(&d, "", "", false);
	is_int(d.method_count, 0, "of nothing there is no method");
	difference_fini(&d);
}

/* Folded text of n methods with `each` samples, the last one with more. */
static void add_methods(struct str *out, unsigned n, unsigned each, unsigned more)
{
	for (unsigned i = 0; i < n; i++)
		str_addf(out, "t;m%u %u\n", i, each + (i + 1 == n ? more : 0));
}

/* The least z of n methods of which none changed is that of 0.01 / (2 n): 4.056 for 100 (p =
 * 5e-5), and one for itself keeps the z of a single test. */
static void test_least_z(void)
{
	CLEANUP(str_fini) struct str before = {0};
	CLEANUP(str_fini) struct str after = {0};
	struct difference d;

	make(&d, "t;a 50\nt;b 50\n", "t;a 50\nt;b 50\n", false);
	ok(near(d.by[MEASURE_SHARE].least_z, 3.0233), "2 methods, each with 2 tests");
	difference_fini(&d);
	add_methods(&before, 100, 100, 0);
	make(&d, before.buf, before.buf, false);
	ok(near(d.by[MEASURE_SHARE].least_z, 4.0556), "more methods need more certainty");
	difference_fini(&d);
	add_methods(&after, 100, 100, 100);
	make(&d, before.buf, after.buf, false);
	ok(d.by[MEASURE_SHARE].least_z > 2.576 && d.by[MEASURE_SHARE].least_z < 4.0556,
	   "if one changed, the next needs less");
	ok(difference_is_significant(&d, method(&d, "m99")->self.counts),
	   "that one is significant");
	ok(!difference_is_significant(&d, method(&d, "m1")->self.counts), "no other is");
	difference_fini(&d);
	make(&d, "t;a 3\n", "t;a 3\n", false);
	ok(near(d.by[MEASURE_SHARE].least_z, DIFFERENCE_Z), "few samples are not tested");
	difference_fini(&d);
}

/* The counts of test_z's last, of bytes. */
static void test_worth(void)
{
	struct difference_time before = {.worth = 500}, after = {.worth = 2000}, few = {.worth = 6};
	struct difference d, rooted;

	make(&d, "t;a 60000\nt;b 440000\n", "t;a 300000\nt;b 1700000\n", false);
	ok(difference_cost_is_significant(&d, &method(&d, "a")->self, MEASURE_SHARE),
	   "counts are samples");
	difference_add_time(&d, &before, &after);
	ok(near(d.by[MEASURE_SHARE].before_worth, 0.001),
	   "a byte may be worth a thousandth of a sample");
	ok(near(difference_cost_z(&d, &method(&d, "a")->self, MEASURE_SHARE), 1.7089),
	   "bytes count as the events that they are of");
	ok(near(method(&d, "a")->self.spread[MEASURE_SHARE], 1.0), "which are independent");
	ok(!difference_cost_is_significant(&d, &method(&d, "a")->self, MEASURE_SHARE),
	   "which are too few to tell");
	make(&rooted, "web;t;a 60000\nweb;t;b 440000\n", "web;t;a 300000\nweb;t;b 1700000\n",
	     false);
	difference_copy_spread(&rooted, &d);
	ok(!difference_node_is_significant(&rooted, find(&rooted, "web;t;a")),
	   "as in a picture of other roots");
	difference_fini(&rooted);
	difference_add_time(&d, &few, &few);
	ok(near(d.by[MEASURE_SHARE].least_z, 2.8070), "less than 8 events are not tested");
	difference_fini(&d);
}

static const char *via(const struct difference *d, const char *name)
{
	uint32_t at = method(d, name)->via[MEASURE_SHARE];

	return at ? stacks_frame(d->tree, d->methods[at - 1].frame)->name : "-";
}

/* slow: 10 -> 40 of 100 where it is called by pay, which run calls. */
static void test_via(void)
{
	struct difference d;

	make(&d, "t;run;pay;slow 10\nt;run;pay 10\nt;run;look 70\nt;look;slow 10\n",
	     "t;run;pay;slow 40\nt;run;pay 12\nt;run;look 38\nt;look;slow 10\n", false);
	is_str(via(&d, "pay"), "slow", "a caller names the callee that its change comes from");
	is_str(via(&d, "slow"), "-", "the cause names none");
	is_str(via(&d, "run"), "-", "nor does a caller of which two callees changed both ways");
	is_str(via(&d, "look"), "-", "nor one whose own time changed");
	difference_fini(&d);
}

/* A profile of one thread: `each` samples of b in each of `on` of 20 s, else of a; 1 sample per
 * 10 ms. */
static void fill(struct profile *p, unsigned on, unsigned each)
{
	uint32_t root, frames[2], nodes[2];

	profile_init(p, true);
	root = stacks_intern(p->stacks, "t", 1, FRAME_ROOT);
	for (size_t i = 0; i < 2; i++) {
		frames[0] = root;
		frames[1] = stacks_intern(p->stacks, i ? "b" : "a", 1, FRAME_NATIVE);
		nodes[i] = stacks_add(p->stacks, frames, 2, 0);
	}
	samples_add_thread(p->samples, 0, 1, 1);
	for (unsigned i = 0; i < 2000; i++) {
		bool b = i / 100 < on && i % 100 < each;

		samples_add(p->samples, i * UINT64_C(10000000), nodes[b], 0);
		stacks_child(p->stacks, stacks_node(p->stacks, nodes[b])->parent,
			     stacks_node(p->stacks, nodes[b])->frame, 1);
	}
}

static void compare_profiles(struct difference *d, unsigned on, unsigned each)
{
	struct difference_time b, a;
	struct profile before, after;

	fill(&before, 20, 10);
	fill(&after, on, each);
	difference_make(d, before.stacks, after.stacks, false);
	b = (struct difference_time){.samples = before.samples, .busy = 2000};
	a = (struct difference_time){.samples = after.samples, .busy = 1000};
	difference_add_time(d, &b, &a);
	profile_fini(&before);
	profile_fini(&after);
}

/* b has 200 samples before, 10 of each second, and 300 after: 15 of each second, or 100 of each of
 * 3 seconds, which one long call would make. */
static void test_spread(void)
{
	struct difference d, rooted;

	compare_profiles(&d, 20, 15);
	ok(near(method(&d, "b")->self.spread[MEASURE_SHARE], 1), "even samples are independent");
	is_int(d.freedom, 38, "20 blocks on each side");
	ok(difference_cost_z(&d, &method(&d, "b")->self, MEASURE_SHARE) > 4.5,
	   "of even samples a change is significant");
	ok(near(measure_change(&d.by[MEASURE_RATE], method(&d, "b")->self.counts), 0.2),
	   "rates are samples by those of a busy processor");
	difference_fini(&d);
	compare_profiles(&d, 3, 100);
	ok(method(&d, "b")->self.spread[MEASURE_SHARE] > 5, "samples that come together are not");
	ok(method(&d, "b")->total.spread[MEASURE_RATE] > 5, "nor for a rate");
	ok(fabs(difference_cost_z(&d, &method(&d, "b")->self, MEASURE_SHARE)) < 1,
	   "the same change is not");
	ok(difference_is_significant(&d, method(&d, "b")->total.counts) &&
		   !difference_node_is_significant(&d, find(&d, "t;b")),
	   "nor in a picture");
	make(&rooted, "web;t;a 1800\nweb;t;b 200\n", "web;t;a 1700\nweb;t;b 300\n", false);
	difference_copy_spread(&rooted, &d);
	rooted.by[MEASURE_SHARE].least_z = DIFFERENCE_Z;
	ok(!difference_node_is_significant(&rooted, find(&rooted, "web;t;b")),
	   "nor in one of other roots");
	difference_fini(&rooted);
	make(&rooted, "p;[start];b 200\nq;a 1800\n", "p;[start];b 300\nq;a 1700\n", false);
	difference_copy_spread(&rooted, &d);
	rooted.by[MEASURE_SHARE].least_z = DIFFERENCE_Z;
	ok(difference_is_significant(&rooted, difference_total(&rooted, find(&rooted, "p"))) &&
		   !difference_node_is_significant(&rooted, find(&rooted, "p")),
	   "nor a root that stands for what it calls");
	difference_fini(&rooted);
	difference_fini(&d);
}

int main(void)
{
	test_tree();
	test_kinds();
	test_hidden();
	test_z();
	test_methods();
	test_least_z();
	test_worth();
	test_via();
	test_spread();
	return tap_done();
}
