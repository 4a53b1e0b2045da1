// SPDX-License-Identifier: Apache-2.0
/* Walks over the classes of a JVM that is made up: all of them, and what is new since the last
 * walk. */
#include "hotspot/classes.h"

#include "common/str.h"
#include "lib/hsfields.h"
#include "lib/tap.h"

#define LOADERS 20
#define HOLE	64u

static struct snap_image s;
static struct hs *hs;
static struct hs_methods *methods;
static struct hs_loaders *known;
static struct str text;
/* Loaders in the JVM's order, with one class each, of one method. */
static uint64_t loader[LOADERS], method[LOADERS];

static void start(void)
{
	image_tables(&s.im, hs, NULL, 0);
	hs_methods_init(methods);
}

/* The methods that a walk finds: "run get", or by their number; "!" after them if there may be
 * more. */
static const char *walk(struct hs_loaders *l, enum hs_methods_of of)
{
	bool complete;

	start();
	complete = hs_methods_walk(hs, methods, l, of);
	str_clear(&text);
	str_adds(&text, "");
	for (uint32_t i = 0; i < methods->count; i++) {
		uint64_t m = methods->slot[methods->order[i]];
		unsigned n = 0;

		while (n < LOADERS && method[n] != m)
			n++;
		if (i > 0)
			str_adds(&text, " ");
		if (n < LOADERS)
			str_addf(&text, "%u", n);
		else
			str_adds(&text, m == s.run    ? "run"
					: m == s.get  ? "get"
					: m == s.idle ? "idle"
						      : "?");
	}
	str_adds(&text, complete ? "" : "!");
	return text.buf;
}

static const char *all(void)
{
	return walk(NULL, HS_METHODS_OF_ALL);
}

/* ---- one class ---- */

static void test_methods(void)
{
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		snap_image_build(&s, (enum image_release)r);
		is_str(all(), "run get", "layout %d: methods that have run are found", r);
		image_set(&s.im, s.idle + 40, 1, 8);
		is_str(all(), "run get idle", "layout %d: also those with counters alone", r);
		image_set(&s.im, s.get + 40, 0, 8);
		image_set(&s.im, s.run + 48, 0, 8);
		is_str(all(), "idle", "layout %d: but none without counters and code", r);
		image_set(&s.im, s.compiler, 0, 1);
		is_str(all(), "run get idle", "layout %d: in a JVM that does not count, all", r);
	}
	snap_image_build(&s, IMAGE_25);
	is_str(walk(known, HS_METHODS_OF_NEW), "run get idle", "of new classes all are found");
	image_set(&s.im, s.methods + 16 + 8, 0, 8);
	is_str(all(), "run", "a place without a method is passed over");
	image_set(&s.im, s.methods + 4, 0, 4);
	is_str(all(), "", "a class may have no methods");
	methods->count = HS_METHODS_MAX;
	image_set(&s.im, s.methods + 4, 3, 4);
	start();
	methods->count = HS_METHODS_MAX;
	ok(!hs_methods_walk(hs, methods, NULL, HS_METHODS_OF_ALL),
	   "a set that is full does not have all");
}

static void test_layouts(void)
{
	static const struct {
		uint32_t layout;
		const char *want, *what;
	} row[] = {{1, "run get", "the smallest instance"},
		   {0x7fffffff, "run get", "the largest"},
		   {0, "", "no object"},
		   {0x80000000, "", "an array"},
		   {0xffffffff, "", "another array"}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		snap_image_build(&s, i % IMAGE_RELEASES);
		image_set(&s.im, s.klass + 48, row[i].layout, 4);
		is_str(all(), row[i].want, "a class whose layout is of %s has %s", row[i].what,
		       *row[i].want ? "methods" : "none");
	}
}

static void test_holes(void)
{
	static const struct {
		const char *what, *want;
	} row[] = {{"the first loader", "!"},	     {"the first class", "!"},
		   {"the second class", "!"},	     {"its array of methods", "!"},
		   {"its second method", "run!"},    {"the class after it", "run get!"},
		   {"the second loader", "run get!"}};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint64_t at[7];

		snap_image_build(&s, IMAGE_17);
		memcpy(at,
		       (uint64_t[]){s.loaders, s.loader + 16,
				    image_pointer(&s.im, s.loader + 16) + 40, s.klass + 56,
				    s.methods + 24, s.klass + 40, s.loader + 8},
		       sizeof(at));
		image_set(&s.im, at[i], HOLE, 8);
		is_str(all(), row[i].want, "with %s in a hole a walk is not complete", row[i].what);
	}
}

static void test_missing(void)
{
	static const struct {
		enum image_release release;
		const char *type, *field;
	} row[] = {
		{IMAGE_17, "Klass", "_layout_helper"},
		{IMAGE_17, "InstanceKlass", "_methods"},
		{IMAGE_17, "Array<int>", "_length"},
		{IMAGE_17, "Array<Method*>", "_data"},
		{IMAGE_17, "Method", "_code"},
		{IMAGE_17, "Method", "_method_counters"},
		{IMAGE_17, "ClassLoaderDataGraph", "_head"},
		{IMAGE_17, "ClassLoaderData", "_next"},
		{IMAGE_17, "ClassLoaderData", "_klasses"},
		{IMAGE_17, "Klass", "_next_link"},
		{IMAGE_8, "Klass", "_super"},
		{IMAGE_8, "Klass", "_subklass"},
		{IMAGE_8, "Klass", "_next_sibling"},
		{IMAGE_8, "SystemDictionary",
		 "_well_known_klasses[SystemDictionary::Object_klass_knum]"},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		snap_image_build(&s, row[i].release);
		image_hide(&s.im, row[i].type, row[i].field);
		is_str(all(), "!", "without %s::%s no classes are walked", row[i].type,
		       row[i].field);
	}
	for (size_t i = 6; i < sizeof(row) / sizeof(*row); i += 7) {
		snap_image_build(&s, row[i].release);
		image_set(&s.im, image_entry(&s.im, row[i].type, row[i].field) + IM_ADDRESS, HOLE,
			  8);
		is_str(all(), "!", "with %s::%s in a hole there may be more", row[i].type,
		       row[i].field);
	}
	snap_image_build(&s, IMAGE_8);
	is_str(walk(known, HS_METHODS_OF_NEW), "!", "JDK 8 does not show which classes are new");
}

/* ---- many classes ---- */

static uint64_t class_new(unsigned i)
{
	uint64_t class = image_new(&s.im, 128), array = image_new(&s.im, 24);

	method[i] = image_new(&s.im, 64);
	image_set(&s.im, method[i] + 40, 1, 8);
	image_set(&s.im, array + 4, 1, 4);
	image_set(&s.im, array + 16, method[i], 8);
	image_set(&s.im, class + 48, 8, 4);
	image_set(&s.im, class + 56, array, 8);
	/* The loaders' classes differ in their names. */
	image_set(&s.im, class + 88, image_symbol(&s.im, (char[]){(char)('A' + i), 0}), 8);
	return class;
}

/* Class i + 1 is the first below class i, or the next beside it, or beside its super, as `how`
 * says. */
static void tree_make(const char *how)
{
	uint64_t class[LOADERS], top = 0;

	snap_image_build(&s, IMAGE_8);
	class[0] = class_new(0);
	for (unsigned i = 0; how[i]; i++) {
		uint64_t at = class[i];

		class[i + 1] = class_new(i + 1);
		for (char c = how[i]; c > '0'; c--)
			at = image_pointer(&s.im, at + 64);
		image_set(&s.im, at + (how[i] == '.' ? 72 : 80), class[i + 1], 8);
		image_set(&s.im, class[i + 1] + 64,
			  how[i] == '.' ? at : image_pointer(&s.im, at + 64), 8);
	}
	top = image_entry(&s.im, "SystemDictionary",
			  "_well_known_klasses[SystemDictionary::Object_klass_knum]");
	image_set(&s.im, image_pointer(&s.im, top + IM_ADDRESS), class[0], 8);
}

static void test_trees(void)
{
	static const struct {
		const char *how, *want, *what;
	} row[] = {
		{"", "0", "Object alone"},
		{".", "0 1", "one class"},
		{"..", "0 1 2", "a class below a class"},
		{".0", "0 1 2", "two classes"},
		{"..1", "0 1 2 3", "a class beside one that has another"},
		{"....3", "0 1 2 3 4 5", "a class beside one far above"},
		{".0.0.01", "0 1 2 3 4 5 6 7", "classes here and there"},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		tree_make(row[i].how);
		is_str(all(), row[i].want, "JDK 8: a tree of %s is walked", row[i].what);
	}
	tree_make(".");
	image_set(&s.im,
		  image_pointer(
			  &s.im,
			  image_entry(&s.im, "SystemDictionary",
				      "_well_known_klasses[SystemDictionary::Object_klass_knum]") +
				  IM_ADDRESS),
		  0, 8);
	is_str(all(), "", "JDK 8: a JVM that is starting has no classes");
}

/* Loader 0 is the first in the list. */
static void loaders_make(void)
{
	snap_image_build(&s, IMAGE_25);
	memset(known, 0, sizeof(*known));
	for (unsigned i = 0; i < LOADERS; i++) {
		loader[i] = image_new(&s.im, 32);
		image_set(&s.im, i ? loader[i - 1] + 8 : s.loaders, loader[i], 8);
		image_set(&s.im, loader[i] + 16, class_new(i), 8);
	}
	walk(known, HS_METHODS_OF_ALL);
	hs_loaders_commit(known);
}

/* A walk after which what it has seen is known. */
static const char *next(enum hs_methods_of of)
{
	const char *found = walk(known, of);

	hs_loaders_commit(known);
	return found;
}

/* Gives loader `at` one more class, whose method is number `i`. */
static uint64_t loader_add_class(unsigned at, unsigned i)
{
	uint64_t class = class_new(i);

	image_set(&s.im, class + 40, image_pointer(&s.im, loader[at] + 16), 8);
	image_set(&s.im, loader[at] + 16, class, 8);
	return class;
}

static void test_new_classes(void)
{
	uint64_t class;

	loaders_make();
	is_int(known->count[known->turn], LOADERS, "all loaders are known");
	is_str(next(HS_METHODS_OF_NEW), "", "without a new class nothing is found");
	is_str(next(HS_METHODS_OF_NEW_LOADERS), "", "nor without a new loader");
	is_int(known->count[known->turn], LOADERS, "the loaders stay known");
	for (unsigned i = 0; i < LOADERS; i += 3) {
		char want[8];

		snprintf(want, sizeof(want), "%u", i);
		loader_add_class(i, i);
		is_str(next(HS_METHODS_OF_NEW), want, "a new class of loader %u is found", i);
		is_str(next(HS_METHODS_OF_NEW), "", "a class of loader %u is new once", i);
	}
	class = loader_add_class(5, 5);
	image_set(&s.im, class + 56, 0, 8);
	is_str(next(HS_METHODS_OF_NEW), "", "a class that is being loaded has no methods");
	loader_add_class(7, 7);
	is_str(next(HS_METHODS_OF_NEW), "7", "others do not wait for it");
	image_set(&s.im, class + 56, image_pointer(&s.im, image_pointer(&s.im, class + 40) + 56),
		  8);
	is_str(next(HS_METHODS_OF_NEW), "?", "when it has methods, it is new");
	is_str(next(HS_METHODS_OF_NEW), "", "once");
}

/* A walk of new loaders ends after a few that are the same, since those after them are older. */
static void test_new_loaders(void)
{
	uint64_t added;

	loaders_make();
	loader_add_class(7, 7);
	is_str(next(HS_METHODS_OF_NEW_LOADERS), "7", "the first eight loaders are looked at");
	loader_add_class(8, 8);
	is_str(next(HS_METHODS_OF_NEW_LOADERS), "", "eight in a row end the walk");
	is_str(next(HS_METHODS_OF_NEW), "8", "a later one waits for the walk of all");
	loaders_make();
	added = loader[0];
	loader[0] = image_new(&s.im, 32);
	image_set(&s.im, loader[0] + 8, added, 8);
	image_set(&s.im, loader[0] + 16, class_new(0), 8);
	image_set(&s.im, s.loaders, loader[0], 8);
	is_str(next(HS_METHODS_OF_NEW_LOADERS), "0", "a new loader is found");
	is_int(known->count[known->turn], LOADERS + 1, "all loaders are known with it");
	is_str(next(HS_METHODS_OF_NEW), "", "each of them");
	image_set(&s.im, loader[3] + 8, HOLE, 8);
	is_str(next(HS_METHODS_OF_NEW_LOADERS), "!", "a loader in a hole ends the walk");
}

/* Memory of loaders that are gone is used again. */
static void test_reused_loaders(void)
{
	uint64_t class;

	loaders_make();
	class = image_pointer(&s.im, loader[4] + 16);
	image_set(&s.im, class + 88, image_symbol(&s.im, "Other"), 8);
	is_str(next(HS_METHODS_OF_NEW), "4", "a first class of another name is new");
	is_str(next(HS_METHODS_OF_NEW), "", "once");
	class = image_pointer(&s.im, loader[12] + 16);
	image_set(&s.im, class + 88, image_symbol(&s.im, "Another"), 8);
	is_str(next(HS_METHODS_OF_NEW), "",
	       "after eight that have kept their names the others are not compared");
	loaders_make();
	image_set(&s.im, loader[6] + 16, 0, 8);
	is_str(next(HS_METHODS_OF_NEW), "", "a loader may have no classes");
	loader_add_class(6, 6);
	is_str(next(HS_METHODS_OF_NEW), "6", "then its first one is new");
}

static void test_gone_loaders(void)
{
	uint64_t now = 5 * HS_LOADERS_LIST_NS;

	loaders_make();
	hs_loaders_listed(known, now);
	walk(known, HS_METHODS_OF_NEW);
	ok(!hs_loaders_due(known, now + HS_LOADERS_LIST_NS),
	   "while no loader goes, no list is due");
	hs_loaders_commit(known);
	image_set(&s.im, loader[9] + 8, loader[11], 8);
	is_str(walk(known, HS_METHODS_OF_NEW), "", "a loader goes");
	ok(!hs_loaders_due(known, now + HS_LOADERS_LIST_NS - 1), "a list is due, but not at once");
	ok(hs_loaders_due(known, now + HS_LOADERS_LIST_NS), "it is some time after the last one");
	hs_loaders_commit(known);
	is_int(known->count[known->turn], LOADERS - 1, "the loader is not known any more");
	walk(known, HS_METHODS_OF_NEW);
	ok(hs_loaders_due(known, now + HS_LOADERS_LIST_NS), "a list is due until it is made");
	hs_loaders_listed(known, now + HS_LOADERS_LIST_NS);
	ok(!hs_loaders_due(known, now + 3 * HS_LOADERS_LIST_NS), "but not after that");
	hs_loaders_reset(known);
	is_int(known->count[0] + known->count[1], 0, "after a reset no loader is known");
	is_str(walk(known, HS_METHODS_OF_NEW), "0 1 2 3 4 5 6 7 8 9 11 12 13 14 15 16 17 18 19",
	       "and all are new");
}

static void test_circles(void)
{
	loaders_make();
	image_set(&s.im, loader[LOADERS - 1] + 8, loader[0], 8);
	ok(strchr(all(), '!'), "loaders in a circle end");
	ok(strchr(walk(known, HS_METHODS_OF_NEW), '!'), "so do known ones");
	ok(known->count[!known->turn] <= 4 * LOADERS, "after a few rounds");
	loaders_make();
	image_set(&s.im, image_pointer(&s.im, loader[2] + 16) + 40,
		  image_pointer(&s.im, loader[2] + 16), 8);
	is_str(all(), "0 1 2!", "classes in a circle end");
	is_str(walk(known, HS_METHODS_OF_NEW), "", "those that are known are not walked");
	loaders_make();
	image_set(&s.im, image_pointer(&s.im, loader[LOADERS - 1] + 16) + 40,
		  image_pointer(&s.im, loader[LOADERS - 1] + 16), 8);
	start();
	is_int(hs_class_find(hs, "None"), 0, "nor is a class found among them that is not there");
}

int main(void)
{
	hs = aligned_alloc(4096, HS_WORK_BYTES);
	methods = malloc(sizeof(*methods));
	known = calloc(1, sizeof(*known));
	test_methods();
	test_layouts();
	test_holes();
	test_missing();
	test_trees();
	test_new_classes();
	test_new_loaders();
	test_reused_loaders();
	test_gone_loaders();
	test_circles();
	free(hs);
	free(methods);
	free(known);
	str_fini(&text);
	return tap_done();
}
