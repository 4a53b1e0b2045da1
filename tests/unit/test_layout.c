// SPDX-License-Identifier: Apache-2.0
#include "format/layout.h"

#include "format/palette.h"
#include "format/text.h"
#include "lib/drawn.h"
#include "lib/tap.h"

/* "depth start samples" of each box. */
static void check_layout(const char *folded, uint64_t narrowest, const char *want, const char *name)
{
	CLEANUP(layout_fini) struct layout l = {0};
	CLEANUP(str_fini) struct str got = {0};
	struct stacks *s = stacks_of(folded);

	layout_make(&l, s, narrowest);
	str_adds(&got, "");
	for (size_t i = 0; i < l.count; i++)
		str_addf(&got, "%u:%u+%u ", l.boxes[i].depth, (unsigned)l.boxes[i].start,
			 (unsigned)l.boxes[i].samples);
	is_str(got.buf, want, "%s", name);
	stacks_free(s);
}

static void test_layout(void)
{
	check_layout("", 100, "", "empty: no box");
	check_layout("a 0\n", 100, "", "no sample: no box");
	check_layout("a 5\n", 100, "0:0+5 1:0+5 ", "one frame");
	check_layout("a;b;c 3\na;b 2\na;d 1\ne 4\n", 0, "0:0+10 1:0+6 2:0+5 3:0+3 2:5+1 1:6+4 ",
		     "children side by side, own time at the right");
	check_layout("a 1\nb;x 998\nc 1\n", 500, "0:0+1000 1:1+998 2:1+998 ",
		     "narrow ones are left out, but keep their place");
	check_layout("a 2\nb;x 997\nc 1\n", 500, "0:0+1000 1:0+2 1:2+997 2:2+997 ",
		     "the narrowest that stays");
	check_layout("a 1\n", 11800, "0:0+1 1:0+1 ", "fewer samples than the picture has units");
}

/* Whatever the tree: a box's children lie within it, in order, and do not overlap. */
static void test_sums(void)
{
	CLEANUP(layout_fini) struct layout l = {0};
	CLEANUP(str_fini) struct str folded = {0};
	uint64_t ends[64] = {0}, starts[64] = {0}, samples = 0;
	unsigned seed = 7, bad = 0;
	struct stacks *s;

	for (unsigned i = 0; i < 3000; i++) {
		unsigned depth = 1 + (seed = seed * 1103515245 + 12345) / 65536 % 40;

		str_adds(&folded, "t");
		for (unsigned d = 0; d < depth; d++) {
			seed = seed * 1103515245 + 12345;
			str_addf(&folded, ";f%u", seed / 65536 % 3);
		}
		str_addf(&folded, " %u\n", 1 + i % 9);
		samples += 1 + i % 9;
	}
	s = stacks_of(folded.buf);
	layout_make(&l, s, 0);
	for (size_t i = 0; i < l.count; i++) {
		const struct layout_box *b = &l.boxes[i];

		if (b->depth &&
		    (b->start < starts[b->depth - 1] ||
		     b->start + b->samples > ends[b->depth - 1] ||
		     (b->start < ends[b->depth] && ends[b->depth] <= ends[b->depth - 1] &&
		      starts[b->depth] >= starts[b->depth - 1])))
			bad++;
		starts[b->depth] = b->start;
		ends[b->depth] = b->start + b->samples;
	}
	is_int(l.total, samples, "the whole is the sum");
	is_int(l.count, stacks_node_count(s), "every node has its box");
	is_int(bad, 0, "%zu boxes lie within their parents and beside each other", l.count);
	ok(l.rows > 20, "%u rows", l.rows);
	stacks_free(s);
}

static void check_escape(const char *text, size_t len, const char *want)
{
	CLEANUP(str_fini) struct str got = {0};

	text_escape(&got, text, len);
	is_str(got.buf, want, "escape: %s", want);
}

static void test_escape(void)
{
	check_escape("plain", 5, "plain");
	check_escape("</script><img onerror=\"x\">", 26,
		     "&lt;/script&gt;&lt;img onerror=&quot;x&quot;&gt;");
	check_escape("]]>&'", 5, "]]&gt;&amp;&#39;");
	check_escape("a\0b\x1b\x7f\n", 6, "a?b???");
	check_escape("\xc3\xa9\xff\xc3", 4, "\xc3\xa9??");
	check_escape("\xef\xbf\xbe.\xef\xbf\xbf.\xef\xbf\xbd", 11, "?.?.\xef\xbf\xbd");
	check_escape("\xed\xa0\x80\xc0\x80", 5, "?????");
}

static void check_class(const char *name, const char *want)
{
	is_str(name + text_package(name, strlen(name)), want, "class of %s", name);
}

static void test_names(void)
{
	check_class("java.util.HashMap.get", "HashMap.get");
	check_class("java/util/HashMap.get", "HashMap.get");
	check_class("java/util/HashMap::get", "HashMap::get");
	check_class("java.util.HashMap.get(java.lang.Object)", "HashMap.get(java.lang.Object)");
	check_class("java.util.Foo$$Lambda$14/0x0008.run", "Foo$$Lambda$14/0x0008.run");
	check_class("a.b.c.d", "c.d");
	check_class("a.b", "a.b");
	check_class("main", "main");
	check_class("", "");
	check_class("a.", "a.");
	check_class("...", "...");
	check_class("Main.main", "Main.main");
	check_class("com.x.Main.<init>", "Main.<init>");
	is_int(text_fit("abcdef", 6, 4), 4, "fit");
	is_int(text_fit("ab", 2, 4), 2, "fit: all of it");
	is_int(text_fit("a\xc3\xa9\xc3\xa9", 5, 2), 3, "fit: never within a character");
	is_int(text_fit("\xe6\xbc\xa2\xe5\xad\x97", 6, 3), 3, "fit: wide characters");
	is_int(text_columns("a\xc3\xa9\xe6\xbc\xa2", 6), 4, "columns");
	is_int(text_columns("a\xf0", 2), 3, "columns of a cut character: no byte too many is read");
}

static void test_numbers(void)
{
	CLEANUP(str_fini) struct str s = {0};
	static const uint64_t counts[] = {0, 7, 999, 1000, 51466, 1000000, 1002003, UINT64_MAX};

	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		text_count(&s, counts[i], ",");
		str_addc(&s, ' ');
	}
	is_str(s.buf, "0 7 999 1,000 51,466 1,000,000 1,002,003 18,446,744,073,709,551,615 ",
	       "counts");
	str_clear(&s);
	text_fixed(&s, 1250, 3);
	str_addc(&s, ' ');
	text_fixed(&s, 5, 2);
	str_addc(&s, ' ');
	text_fixed(&s, 10000, 2);
	str_addc(&s, ' ');
	text_fixed(&s, 0, 4);
	is_str(s.buf, "1.25 0.05 100 0", "fixed point");
}

/* x^2.4 by Newton's method for the fifth root of x^2, as libm is linked for nothing else. */
static double power_2_4(double x)
{
	double root = 1;

	for (unsigned i = 0; i < 60; i++)
		root -= (root - x * x / (root * root * root * root)) / 5;
	return x * x * root;
}

/* Relative luminance, WCAG 2.1. */
static double luminance(uint32_t rgb)
{
	static const double weights[] = {0.2126, 0.7152, 0.0722};
	double sum = 0;

	for (unsigned i = 0; i < 3; i++) {
		double c = (rgb >> (16 - 8 * i) & 0xff) / 255.0;

		sum += weights[i] * (c <= 0.03928 ? c / 12.92 : power_2_4((c + 0.055) / 1.055));
	}
	return sum;
}

static void test_colours(void)
{
	for (unsigned k = 0; k < FRAME_KINDS; k++) {
		double least = 21;
		unsigned shades = 0;
		uint32_t before = 0;

		for (unsigned i = 0; i < 500; i++) {
			char name[16];
			size_t len = (size_t)snprintf(name, sizeof(name), "name%u", i);
			uint32_t rgb = palette_colour((enum frame_kind)k, name, len);

			double contrast = (luminance(rgb) + 0.05) / 0.05;

			least = contrast < least ? contrast : least;
			shades += rgb != before;
			before = rgb;
		}
		ok(least >= 4.5 && shades > 400, "%s: contrast of text %.1f, %u shades",
		   palette_look((enum frame_kind)k)->label, least, shades);
	}
}

static void check_json(const char *text, size_t len, const char *want)
{
	CLEANUP(str_fini) struct str got = {0};

	text_json(&got, text, len);
	is_str(got.buf, want, "the JSON string %s is escaped", want);
}

static void test_json(void)
{
	check_json("", 0, "\"\"");
	check_json("plain ~", 7, "\"plain ~\"");
	check_json("cut off", 3, "\"cut\"");
	check_json("a\"b\\c<d>e", 9, "\"a\\\"b\\\\c\\u003cd>e\"");
	check_json("\x1f\x7f\n\t", 4, "\"????\"");
	check_json("a\0b", 3, "\"a?b\"");
	check_json("\xc3\xa9\xff", 3, "\"\xc3\xa9?\"");
}

static void check_varint(uint64_t n, const char *want, size_t len)
{
	CLEANUP(str_fini) struct str got = {0};

	text_varint(&got, n);
	ok(got.len == len && memcmp(got.buf, want, len) == 0, "%llu is encoded in %zu bytes",
	   (unsigned long long)n, len);
}

static void test_encodings(void)
{
	CLEANUP(str_fini) struct str s = {0};

	check_varint(0, "\0", 1);
	check_varint(127, "\x7f", 1);
	check_varint(128, "\x80\x01", 2);
	check_varint(300, "\xac\x02", 2);
	check_varint(16383, "\xff\x7f", 2);
	check_varint(16384, "\x80\x80\x01", 3);
	check_varint(UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
	text_colour(&s, 0x0189ef);
	text_colour(&s, 0xfedcba);
	text_colour(&s, 0);
	is_str(s.buf, "#0189ef#fedcba#000000", "colours have six digits");
	str_clear(&s);
	text_fixed(&s, 123456789, 9);
	str_addc(&s, ' ');
	text_fixed(&s, UINT64_MAX, 1);
	str_addc(&s, ' ');
	text_fixed(&s, 1000, 3);
	str_addc(&s, ' ');
	text_fixed(&s, 1001, 3);
	str_addc(&s, ' ');
	text_fixed(&s, 42, 0);
	is_str(s.buf, "0.123456789 1844674407370955161.5 1 1.001 42",
	       "numbers with a point keep their inner zeros and lose the last ones");
}

/* The widths around the first wide character, U+1100 (E1 84 80). */
static void test_widths(void)
{
	static const struct {
		const char *text;
		size_t columns;
	} t[] = {{"\xe1\x83\xbf", 1}, {"\xe1\x84\x80", 2}, {"\xe0\xbf\xbf", 1},
		 {"\xe2\x80\xa6", 2}, {"\xdf\xbf", 1},	   {"\xf0\x9f\x98\x80", 2},
		 {"\x7f", 1},	      {"\xe1", 1},	   {"", 0}};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		size_t len = strlen(t[i].text);

		is_int(text_columns(t[i].text, len), t[i].columns, "character %zu has its width",
		       i);
		is_int(text_fit(t[i].text, len, t[i].columns), len,
		       "character %zu fits into its width", i);
		is_int(text_fit(t[i].text, len, t[i].columns - (len > 0)), 0,
		       "character %zu fits into no less", i);
	}
	check_class("a.B(c.d)", "a.B(c.d)");
	check_class("a.b(x", "a.b(x");
	check_class("z.a.B.c", "B.c");
	check_class("`x.B.c", "`x.B.c");
	check_class("{x.B.c", "{x.B.c");
	check_class("a/b/C.d", "C.d");
	check_class("a:b.C.d", "a:b.C.d");
	check_class("a.b:c", "b:c");
}

/* Quality shares near to none and to all, and where a count decides what is said. */
static void check_quality(struct quality q, const char *want, const char *name)
{
	CLEANUP(str_fini) struct str got = {0};

	draw_quality_of(&got, &q, NULL);
	is_str(got.buf, want, "%s", name);
}

#define REST " · no Java stacks · 0 % frames unknown"

static void test_quality(void)
{
	check_quality((struct quality){.samples = 2000, .truncated = 1},
		      "2,000 samples · 0 lost" REST " · 0.1 % truncated",
		      "half of a tenth of a percent is a tenth");
	check_quality((struct quality){.samples = 2500, .truncated = 1},
		      "2,500 samples · 0 lost" REST " · <0.1 % truncated",
		      "less than half of a tenth of a percent is not nothing");
	check_quality((struct quality){.samples = 2000, .truncated = 1999},
		      "2,000 samples · 0 lost" REST " · 99.9 % truncated",
		      "all but one of 2000 are not all");
	check_quality((struct quality){.samples = 8, .truncated = 9},
		      "8 samples · 0 lost" REST " · 100 % truncated", "no share is above all");
	check_quality((struct quality){.samples = 1, .unrated = 1, .java_samples = 1},
		      "1 sample · 0 lost · 100 % of unknown quality",
		      "of samples of unknown quality nothing else is said");
	check_quality((struct quality){.samples = 4, .java_samples = 4, .stale = 1},
		      "4 samples · 0 lost · 0 % of Java stacks complete · 0 % frames unknown · "
		      "0 % truncated · 0 % Java frames stale",
		      "a share of nothing is nothing");
}

/* One colour of each kind: pictures keep their colours from release to release. */
static void test_palette(void)
{
	static const uint32_t want[FRAME_KINDS] = {0xc9cdd7, 0xed7d6c, 0xe8d84a, 0xf3a03b, 0x77d26c,
						   0x67d2ce, 0xbe996a, 0xbea6e4, 0xb0b2ac};

	for (unsigned k = 0; k < FRAME_KINDS; k++) {
		is_int(palette_colour((enum frame_kind)k, "java.util.Map.get", 17), want[k],
		       "the colour of a %s frame is kept", palette_look((enum frame_kind)k)->name);
		ok(palette_colour((enum frame_kind)k, "a", 1) !=
			   palette_colour((enum frame_kind)k, "b", 1),
		   "two %s names differ in colour", palette_look((enum frame_kind)k)->name);
	}
	is_int(palette_colour(FRAME_KINDS, "x", 1), palette_colour(FRAME_UNKNOWN, "x", 1),
	       "a kind that is not known has the colour of unknown frames");
	is_str(palette_look(FRAME_KINDS)->name, "unknown", "and their look");
}

/* Appends what text_amount makes of it. */
static void check_amount(uint64_t n, const char *unit, const char *want, const char *name)
{
	CLEANUP(str_fini) struct str s = {0};

	text_amount(&s, n, unit);
	is_str(s.buf, want, "%s", name);
}

static void test_amounts(void)
{
	check_amount(0, "bytes", "0 bytes", "no bytes");
	check_amount(1, "bytes", "1 bytes", "a unit has no singular");
	check_amount(999, "bytes", "999 bytes", "three digits need no larger unit");
	check_amount(1000, "bytes", "1.00 kB", "four do");
	check_amount(1004, "bytes", "1.00 kB", "rounded down");
	check_amount(1005, "bytes", "1.01 kB", "rounded up");
	check_amount(9994, "bytes", "9.99 kB", "two decimals");
	check_amount(9995, "bytes", "10.0 kB", "one decimal, where two round to four digits");
	check_amount(99949, "bytes", "99.9 kB", "up to");
	check_amount(99950, "bytes", "100 kB", "no decimal");
	check_amount(999499, "bytes", "999 kB", "the most of a unit");
	check_amount(999500, "bytes", "1.00 MB", "the least of the next");
	check_amount(3221225472, "bytes", "3.22 GB", "GB");
	check_amount(1000000000000, "bytes", "1.00 TB", "TB");
	check_amount(1000000000000000, "bytes", "1,000 TB", "more of the largest unit");
	check_amount(UINT64_MAX, "bytes", "18,446,744 TB", "the most");
	check_amount(0, "ns", "0 ns", "no time");
	check_amount(999, "ns", "999 ns", "ns");
	check_amount(1500, "ns", "1.50 µs", "µs");
	check_amount(12500000, "ns", "12.5 ms", "ms");
	check_amount(11000000000, "ns", "11.0 s", "s");
	check_amount(999499999999, "ns", "999 s", "up to 999 s");
	check_amount(1234567000000000, "ns", "1,234,567 s", "seconds are the largest unit");
	check_amount(0, NULL, "0 samples", "no samples");
	check_amount(1, NULL, "1 sample", "one sample, in the singular");
	check_amount(1, "samples", "1 sample", "whoever says so");
	check_amount(1234567, NULL, "1,234,567 samples", "samples have all digits");
	check_amount(12345, "files", "12,345 files", "so has what is of no known unit");
	check_amount(UINT64_MAX, NULL, "18,446,744,073,709,551,615 samples", "all of them");
}

static void test_two_amounts(void)
{
	static const struct {
		const char *unit, *want;
	} t[] = {{NULL, "1 → 123,456 samples"},
		 {"samples", "1 → 123,456 samples"},
		 {"bytes", "1 bytes → 123 kB"},
		 {"ns", "1 ns → 123 µs"}};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str s = {0};

		text_amounts(&s, 1, 123456, t[i].unit);
		is_str(s.buf, t[i].want, "before and after of %s", t[i].unit ? t[i].unit : "none");
	}
}

int main(void)
{
	test_layout();
	test_sums();
	test_escape();
	test_names();
	test_numbers();
	test_colours();
	test_json();
	test_encodings();
	test_widths();
	test_quality();
	test_palette();
	test_amounts();
	test_two_amounts();
	return tap_done();
}
