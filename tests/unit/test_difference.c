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
	struct difference d = {.before.samples = 1000, .after.samples = 1000};

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
	d = (struct difference){.before.samples = 500, .after.samples = 2000};
	ok(near(difference_z(&d, (struct counts){60, 300}), 1.7089), "sides of different size");
	d = (struct difference){.before = {.samples = 500000, .worth = 500},
				.after = {.samples = 2000, .worth = 2000}};
	ok(near(difference_worth(&d.before), 0.001),
	   "a byte may be worth a thousandth of a sample");
	ok(near(difference_z(&d, (struct counts){60000, 300}), 1.7089),
	   "bytes count as the events that they are of");
	d.before = (struct difference_side){0};
	ok(near(difference_z(&d, (struct counts){0, 300}), 0), "a side without samples");
	ok(near(difference_change(&d, (struct counts){0, 300}), 0.15), "has shares of 0");
}

static void test_methods(void)
{
	struct difference_method *m;
	struct difference d;
	size_t count;

	make(&d, "t;a;b;a 4\nt;b;c 4\nt;c 2\n", "u;a;b 2\nt;a;b;a 4\nt;b;c 4\n", false);
	m = difference_methods(&d, &count);
	is_int(count, 3, "all but the threads");
	/* c: 6 -> 4, b: 0 -> 2, a: 4 -> 4 */
	is_str(stacks_frame(d.tree, m[2].frame)->name, "a", "the unchanged one is the last");
	is_counts(m[2].self, 4, 4, "its own samples");
	is_counts(m[2].total, 4, 6, "recursion counts once");
	for (size_t i = 0; i < 2; i++) {
		bool b = stacks_frame(d.tree, m[i].frame)->name[0] == 'b';

		is_counts(m[i].self, b ? 0 : 6, b ? 2 : 4, "own samples of all its places");
		is_counts(m[i].total, b ? 8 : 6, b ? 10 : 4, "and with all they call");
	}
	free(m);
	difference_fini(&d);
	make(&d, "", "", false);
	m = difference_methods(&d, &count);
	is_int(count, 0, "of nothing there is no method");
	free(m);
	difference_fini(&d);
}

int main(void)
{
	test_tree();
	test_kinds();
	test_hidden();
	test_z();
	test_methods();
	return tap_done();
}
