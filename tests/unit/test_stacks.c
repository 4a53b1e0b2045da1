// SPDX-License-Identifier: Apache-2.0
#include "calltree/calltree.h"
#include "dfg/compiler.h"

#include "common/str.h"
#include "lib/tap.h"

static uint32_t frame(struct stacks *s, const char *name, enum frame_kind kind)
{
	return stacks_intern(s, name, strlen(name), kind);
}

static uint32_t find_child(const struct stacks *s, uint32_t node, uint32_t want)
{
	uint32_t n = stacks_node(s, node)->first;

	while (n && stacks_node(s, n)->frame != want)
		n = stacks_node(s, n)->next;
	return n;
}

static void test_intern(void)
{
	struct stacks *s = stacks_new();
	uint32_t a = frame(s, "run", FRAME_JAVA), b = frame(s, "run", FRAME_NATIVE);
	bool same = true;
	char name[32];

	ok(a != b, "the kind is part of a frame");
	is_int(frame(s, "run", FRAME_JAVA), a, "the same frame has the same number");
	is_int(stacks_intern(s, "runner", 3, FRAME_JAVA), a, "len counts, not the NUL");
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "method%d", i);
		frame(s, name, FRAME_JAVA);
	}
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "method%d", i);
		same = same && strcmp(stacks_frame(s, frame(s, name, FRAME_JAVA))->name, name) == 0;
	}
	ok(same, "5000 names are found again");
	is_int(stacks_frame_count(s), 5002, "and none was made twice");
	is_int(frame(s, "", FRAME_UNKNOWN), 5002, "an empty name is a name");
	stacks_free(s);
}

static void test_nameless(void)
{
	struct stacks *s = stacks_new();
	const struct {
		const char *name;
		enum frame_kind kind;
		bool want;
	} t[] = {{"[libz.so+0x5d80]", FRAME_NATIVE, true}, {"[libjvm.so+0x5d80]", FRAME_JVM, true},
		 {"[libz.so]", FRAME_UNKNOWN, false},	   {"[thread start]", FRAME_NATIVE, false},
		 {"inflate", FRAME_NATIVE, false},	   {"[a+0x1]", FRAME_ROOT, false}};

	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		ok(stacks_frame(s, frame(s, t[i].name, t[i].kind))->nameless == t[i].want,
		   "%s is %snameless", t[i].name, t[i].want ? "" : "not ");
	stacks_free(s);
}

static void test_tree(void)
{
	struct stacks *s = stacks_new();
	uint32_t main_ = frame(s, "main", FRAME_ROOT), b = frame(s, "b", FRAME_JAVA),
		 a = frame(s, "a", FRAME_JAVA), k = frame(s, "a", FRAME_KERNEL);
	uint32_t n;
	uint64_t *totals;

	stacks_add(s, (uint32_t[]){main_, b}, 2, 1);
	stacks_add(s, (uint32_t[]){main_, k}, 2, 1);
	stacks_add(s, (uint32_t[]){main_, a, b}, 3, 5);
	stacks_add(s, (uint32_t[]){main_, a}, 2, 2);
	stacks_add(s, (uint32_t[]){main_, b}, 2, 1);
	is_int(stacks_node_count(s), 6, "a node for each prefix, and the root");
	stacks_sort(s);
	n = stacks_node(s, 0)->first;
	is_int(stacks_node(s, n)->frame, main_, "one thread below the root");
	is_int(stacks_node(s, n)->next, 0, "and no other");
	n = stacks_node(s, n)->first;
	is_int(stacks_node(s, n)->frame, k, "sorted by name, then kind");
	n = stacks_node(s, n)->next;
	is_int(stacks_node(s, n)->frame, a, "second");
	is_int(stacks_node(s, n)->self, 2, "samples that end in it");
	totals = stacks_totals(s);
	is_int(totals[0], 10, "all samples");
	is_int(totals[n], 7, "samples of a node and below");
	is_int(totals[find_child(s, n, b)], 5, "of a leaf");
	free(totals);
	n = find_child(s, find_child(s, 0, main_), b);
	is_int(stacks_node(s, n)->self, 2, "the same stack twice");
	is_int(stacks_node(s, n)->next, 0, "the last of the list");
	stacks_free(s);
}

static void test_empty(void)
{
	struct stacks *s = stacks_new();
	uint64_t *totals;

	stacks_sort(s);
	totals = stacks_totals(s);
	is_int(totals[0], 0, "no samples");
	is_int(stacks_node(s, 0)->first, 0, "no nodes");
	free(totals);
	stacks_free(s);
}

static void test_many(void)
{
	struct stacks *s = stacks_new();
	uint32_t path[3], last = 0;
	bool sorted = true;
	char name[16];

	for (uint32_t i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "f%u", i * 7919 % 20000);
		path[0] = frame(s, "root", FRAME_ROOT);
		path[1] = frame(s, name, FRAME_JAVA);
		path[2] = path[1];
		stacks_add(s, path, 3, i);
	}
	is_int(stacks_node_count(s), 40002, "wide and many");
	stacks_sort(s);
	for (uint32_t n = stacks_node(s, stacks_node(s, 0)->first)->first; n;
	     n = stacks_node(s, n)->next) {
		const char *x = stacks_frame(s, stacks_node(s, n)->frame)->name;

		sorted = sorted &&
			 (!last ||
			  strcmp(stacks_frame(s, stacks_node(s, last)->frame)->name, x) < 0);
		last = n;
	}
	ok(sorted, "all sorted");
	stacks_free(s);
}

static void test_places(void)
{
	struct stacks *s = stacks_new(), *plain;
	CLEANUP(free) uint32_t *nodes = NULL;
	uint32_t path[2], f, lib, a, b;

	path[0] = frame(s, "root", FRAME_ROOT);
	path[1] = f = frame(s, "f", FRAME_JAVA);
	is_int(frames_place(stacks_frames(s), f, 7, 0), f, "places are not kept unless asked for");
	frames_keep_places(stacks_frames(s));
	lib = frames_intern_module(stacks_frames(s), "/lib/x.so");
	is_int(frames_intern_module(stacks_frames(s), "/lib/x.so"), lib, "a module once");
	is_str(frames_module(stacks_frames(s), lib), "/lib/x.so", "by its number");
	path[1] = frames_place(stacks_frames(s), f, 7, 0);
	ok(path[1] != f && frames_place(stacks_frames(s), f, 7, 0) == path[1], "a line, once");
	is_int(stacks_frame(s, path[1])->plain, f, "which knows its frame");
	a = stacks_add(s, path, 2, 3);
	path[1] = frames_place(stacks_frames(s), f, 8, lib);
	b = stacks_add(s, path, 2, 4);
	ok(a != b, "two lines, two nodes");
	plain = stacks_plain(s, &nodes);
	is_int(stacks_node_count(plain), 3, "and one of both without");
	is_int(nodes[a], nodes[b], "the same for both");
	is_int(stacks_node(plain, nodes[a])->self, 7, "with the samples of both");
	stacks_free(plain);
	stacks_free(s);
}

/* main -> f, which is compiled, inlined and interpreted -> g. */
static void test_join_methods(void)
{
	static const enum frame_kind kinds[] = {FRAME_INTERPRETED, FRAME_JAVA, FRAME_INLINED,
						FRAME_NATIVE};
	struct stacks *s = stacks_new(), *joined;
	const struct stack_node *f, *native;
	uint32_t path[3];

	path[0] = frame(s, "main", FRAME_ROOT);
	for (unsigned i = 0; i < ARRAY_LEN(kinds); i++) {
		path[1] = frame(s, "f", kinds[i]);
		path[2] = frame(s, "g", FRAME_INLINED);
		stacks_add(s, path, 3, 1 + i);
		stacks_add(s, path, 2, 10);
	}
	joined = stacks_join_methods(s);
	stacks_sort(joined);
	is_int(stacks_node_count(joined), 6,
	       "a method is one node however it ran, a function another");
	native = stacks_node(joined, stacks_node(joined, stacks_node(joined, 0)->first)->first);
	f = stacks_node(joined, native->next);
	is_int(stacks_frame(joined, native->frame)->kind, FRAME_NATIVE, "the function");
	is_int(stacks_frame(joined, f->frame)->kind, FRAME_INLINED, "has the kind of most samples");
	is_int(f->self, 30, "with the samples of all");
	is_int(stacks_node(joined, f->first)->self, 1 + 2 + 3, "so have its callees");
	is_int(stacks_frame(joined, stacks_node(joined, f->first)->frame)->kind, FRAME_INLINED,
	       "of which each has its own kind");
	stacks_free(joined);
	stacks_free(s);
}

/* Siblings that differ in one thing each, made in the wrong order. */
static void test_order(void)
{
	struct stacks *s = stacks_new();
	struct frames *fs = stacks_frames(s);
	uint32_t lib, other, want[8], i = 0;
	bool good = true;

	frames_keep_places(fs);
	lib = frames_intern_module(fs, "/x");
	other = frames_intern_module(fs, "/y");
	want[7] = frame(s, "b", FRAME_NATIVE);
	want[6] = frames_place(fs, frame(s, "a", FRAME_JAVA), 9, 0);
	want[5] = frames_place(fs, frame(s, "a", FRAME_JAVA), 8, other);
	want[4] = frames_level(fs, frames_place(fs, frame(s, "a", FRAME_JAVA), 8, lib), 4);
	want[3] = frames_level(fs, frames_place(fs, frame(s, "a", FRAME_JAVA), 8, lib), 1);
	want[2] = frame(s, "a", FRAME_JAVA);
	want[1] = frame(s, "a", FRAME_NATIVE);
	want[0] = frame(s, "", FRAME_UNKNOWN);
	for (size_t k = 8; k-- > 0;)
		stacks_child(s, 0, want[k], k + 1);
	for (size_t k = 0; k < 8; k++)
		stacks_child(s, 0, want[k], k + 1);
	stacks_sort(s);
	for (uint32_t n = stacks_node(s, 0)->first; n; n = stacks_node(s, n)->next, i++)
		good = good && i < 8 && stacks_node(s, n)->frame == want[i] &&
		       stacks_node(s, n)->self == 2 * (i + 1);
	ok(good && i == 8, "siblings are in the order of name, kind, line, module and level");
	stacks_free(s);
}

/* Stacks of many threads in turn, each with what it shares with the one before. */
static void test_shared(void)
{
	struct stacks *s = stacks_new();
	uint32_t path[12], node = 0, again = 0;

	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t t = 0; t < 20; t++)
			for (uint32_t depth = 1; depth <= 12; depth++) {
				path[0] =
					stacks_intern(s, (char[]){(char)('A' + t)}, 1, FRAME_ROOT);
				for (uint32_t i = 1; i < depth; i++)
					path[i] = stacks_intern(s, (char[]){(char)('a' + i)}, 1,
								FRAME_JAVA);
				if (depth > 3)
					path[depth / 2] = path[depth - 1];
				node = stacks_add(s, path, depth, 1);
				again += stacks_node(s, node)->self == round + 1;
			}
	is_int(again, 720, "each stack ends at a node of its own, the same in each round");
	is_int(stacks_add(s, path, 0, 5), 0, "a stack without frames ends at the root");
	is_int(stacks_node(s, 0)->self, 5, "its samples are the root's");
	is_int(stacks_node(s, node)->self, 3, "and no other's");
	stacks_free(s);
}

static void test_graft(void)
{
	struct stacks *from = stacks_new(), *to = stacks_new();
	CLEANUP(free) uint32_t *nodes = NULL;
	uint32_t path[3], line, lib, under, node;

	frames_keep_places(stacks_frames(from));
	frames_keep_places(stacks_frames(to));
	frames_intern_module(stacks_frames(to), "/lib/other.so");
	path[0] = frame(from, "thread", FRAME_ROOT);
	lib = frames_intern_module(stacks_frames(from), "/lib/x.so");
	path[1] = frames_place(stacks_frames(from), frame(from, "f", FRAME_INLINED), 7, lib);
	stacks_add(from, path, 1, 5);
	line = stacks_add(from, path, 2, 3);
	under = stacks_add(to, &(uint32_t){frame(to, "web", FRAME_ROOT)}, 1, 1);
	stacks_graft(to, from, &(struct graft){.under = under, .skip_first = true}, &nodes);
	node = nodes[line];
	is_int(stacks_node(to, node)->parent, under, "put below a node, without the thread");
	is_int(stacks_node(to, node)->self, 3, "with its samples");
	is_int(stacks_node(to, under)->self, 6, "those of the thread itself are the node's");
	is_str(frames_module(stacks_frames(to),
			     stacks_frame(to, stacks_node(to, node)->frame)->module),
	       "/lib/x.so", "and with its place");
	stacks_graft(to, from, &(struct graft){.kinds = GRAFT_METHODS}, NULL);
	is_int(stacks_node_count(to), 5, "again at the top, with the thread");
	is_int(stacks_frame(to, stacks_node(to, 4)->frame)->kind, FRAME_JAVA,
	       "and one kind of Java");
	stacks_free(from);
	stacks_free(to);
}

/* As two JDKs have the same thread. */
static void test_graft_methods(void)
{
	static const char *const old[] = {"worker",    "java_start",
					  "call_stub", "java.lang.Thread.run",
					  "Shop.run",  "Shop.work"};
	static const char *const new[] = {"worker",
					  "clone3",
					  "thread_entry",
					  "call_stub",
					  "java.lang.Thread.run",
					  "java.lang.Thread.runWith",
					  "Shop.run",
					  "Shop.work"};
	static const char *const callback[] = {"worker", "clone3", "Shop.run", "qsort",
					       "Shop.work"};
	static const struct {
		const char *const *names;
		size_t n;
	} stacks[] = {{old, 6}, {new, 8}, {callback, 5}};
	struct stacks *to = stacks_new();
	const uint32_t *path;

	for (size_t i = 0; i < 3; i++) {
		struct stacks *from = stacks_new();
		uint32_t frames[8];

		for (size_t k = 0; k < stacks[i].n; k++) {
			const char *name = stacks[i].names[k];

			frames[k] = frame(from, name,
					  k == 0	      ? FRAME_ROOT
					  : strchr(name, '.') ? FRAME_INLINED
							      : FRAME_NATIVE);
		}
		stacks_add(from, frames, stacks[i].n, 1);
		stacks_graft(to, from, &(struct graft){.kinds = GRAFT_METHODS}, NULL);
		stacks_free(from);
	}
	path = (uint32_t[]){frame(to, "worker", FRAME_ROOT),
			    frame(to, "java.lang.Thread.run", FRAME_JAVA),
			    frame(to, "Shop.run", FRAME_JAVA), frame(to, "Shop.work", FRAME_JAVA)};
	is_int(stacks_node(to, stacks_add(to, path, 4, 0))->self, 2,
	       "what is before a thread's first Java method, and in java.lang.Thread, is left out");
	path = (uint32_t[]){frame(to, "worker", FRAME_ROOT), frame(to, "Shop.run", FRAME_JAVA),
			    frame(to, "qsort", FRAME_NATIVE), frame(to, "Shop.work", FRAME_JAVA)};
	is_int(stacks_node(to, stacks_add(to, path, 4, 0))->self, 1, "but nothing after it");
	stacks_free(to);
}

int main(void)
{
	test_graft_methods();
	test_intern();
	test_nameless();
	test_tree();
	test_empty();
	test_many();
	test_places();
	test_join_methods();
	test_order();
	test_shared();
	test_graft();
	is_str(frame_suffix(FRAME_KERNEL), "_[k]", "kernel");
	is_str(frame_suffix(FRAME_JAVA), "_[j]", "Java");
	is_str(frame_suffix(FRAME_INLINED), "_[i]", "inlined");
	is_str(frame_suffix(FRAME_INTERPRETED), "_[0]", "interpreted");
	is_str(frame_suffix(FRAME_JVM), "", "others have none");
	return tap_done();
}
