// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include "lib/drawn.h"
#include "lib/tap.h"

static const struct picture plain = {.title = "Title", .subtitle = "", .quality.samples = 1};

/* Counts `what` in the text before the script, which has words of its own. */
static unsigned count_of(const char *svg, const char *what)
{
	const char *end = strstr(svg, "<script>");
	unsigned n = 0;

	for (const char *p = svg; (p = strstr(p, what)) && p < end; p += strlen(what))
		n++;
	return n;
}

static void test_frames(void)
{
	struct stacks *s = stacks_of("t;java.util.Map.get_[j];read_[k] 1\nt;Gc::run 2999\n");
	CLEANUP(free) char *svg = drawn_svg(s, &plain);

	is_int(count_of(svg, "<g class=\"j\"><title>java.util.Map.get (1 sample, 0.03%)</title>"),
	       1, "a title for tools, in the singular");
	is_int(count_of(svg, "<title>all (3,000 samples, 100%)</title>"), 1, "the whole");
	is_int(count_of(svg, "Gc::run (2,999 samples, 99.97%)"), 1, "the rest");
	is_int(count_of(svg, "class=\"key v\""), 1, "a legend for what occurs");
	is_int(count_of(svg, "class=\"key s\""), 0, "and for nothing else");
	is_int(count_of(svg, "Kernel 0.03 %"), 1, "share by the innermost frame");
	stacks_free(s);
}

static void test_labels(void)
{
	struct stacks *s = stacks_of("t;com.example.deep.Outer.method_[j] 10\nt;x 90\n");
	CLEANUP(free) char *wide = drawn_svg(s, &plain);

	/* 118 px: 15 columns. */
	is_int(count_of(wide, ">Outer.method</text>"), 1, "the package goes first");
	stacks_free(s);
	s = stacks_of("t;com.example.deep.Outer.method_[j] 7\nt;x 93\n");
	free(wide);
	wide = drawn_svg(s, &plain);
	is_int(count_of(wide, ">Outer.me..</text>"), 1, "then the end");
	stacks_free(s);
	s = stacks_of("t;com.example.deep.Outer.method_[j] 3\nt;x 97\n");
	free(wide);
	wide = drawn_svg(s, &plain);
	is_int(count_of(wide, "..</text>"), 0, "too little to mean something is left out");
	stacks_free(s);
}

/* Bytes and ns: three digits in the title, all of them for the script. */
static void test_units(void)
{
	const struct picture bytes = {.title = "T", .subtitle = "", .unit = "bytes"};
	struct stacks *s = stacks_of("t;a.B.c_[j] 3221225472\nt;x 1\n");
	CLEANUP(free) char *svg = drawn_svg(s, &bytes), *samples = drawn_svg(s, &plain);

	is_int(count_of(svg, "<title>a.B.c (3.22 GB, 100%)</title><rect data-n=\"bytes "
			     "3221225472\" x=\""),
	       1, "bytes are in three digits, and exact beside");
	is_int(count_of(svg, "<title>all (3.22 GB, 100%)</title><rect data-n=\"bytes 3221225473\""),
	       1, "the whole, too");
	is_int(count_of(svg, "data-n"), 3, "every frame has its count");
	is_int(count_of(samples, "data-n"), 0, "of samples the title has all digits");
	stacks_free(s);
}

static void test_units_of_difference(void)
{
	struct stacks *before = stacks_of("t;a 12500\n"), *after = stacks_of("t;a 500\nt;b 500\n");
	const struct difference_picture p = {.title = "T", .subtitle = "", .unit = "ns"};
	CLEANUP(close_fd) int fd = memfd_create("svg", MFD_CLOEXEC);
	CLEANUP(free) char *svg = NULL;
	struct difference d;
	struct err err;

	difference_make(&d, before, after, true);
	is_int(draw_difference_svg(&d, &p, fd, &err), 0, "a difference of times is drawn");
	svg = drawn_text(fd);
	is_int(count_of(svg, "<title>a (12.5 µs → 500 ns, 100 → 50 %, -50.00 %; self -50.00 "
			     "%)</title><rect data-n=\"ns 12500 500\" x=\""),
	       1, "each side has its unit");
	difference_fini(&d);
	stacks_free(before);
	stacks_free(after);
}

/* Case 63. */
static void test_hostile(void)
{
	static const char name[] = "</script><img src=x onerror=alert(1)>]]>&amp;\"'";
	struct picture p = {.title = name, .subtitle = name, .quality.samples = 1};
	struct stacks *s = stacks_new();
	uint32_t frames[] = {
		stacks_intern(s, name, strlen(name), FRAME_ROOT),
		stacks_intern(s, "\x01\xff\xef\xbf\xbf", 5, FRAME_JAVA),
		stacks_intern(s, "", 0, FRAME_NATIVE),
	};
	CLEANUP(free) char *svg = NULL;

	stacks_add(s, frames, 3, 1);
	svg = drawn_svg(s, &p);
	ok(*svg && !strstr(svg, "<img"), "no element comes from a name");
	is_int(count_of(svg, "</script>"), 0, "none ends either");
	is_int(count_of(svg, "<title>??? (1 sample, 100%)"), 1, "bytes XML forbids are gone");
	stacks_free(s);
}

static void test_empty(void)
{
	struct picture p = {.title = "Nothing", .subtitle = "", .quality.lost = 3};
	struct stacks *s = stacks_new();
	CLEANUP(free) char *svg = drawn_svg(s, &p);

	is_int(count_of(svg, "No samples"), 1, "an empty picture says so");
	is_int(count_of(svg, "0 samples · 3 lost</text>"), 1, "and how good it is");
	is_int(count_of(svg, "<g class=\"key"), 0, "no legend");
	ok(strstr(svg, "</svg>\n"), "whole");
	free(svg);
	p.unit = "ns";
	svg = drawn_svg(s, &p);
	ok(count_of(svg, ">Nothing of this event while recording<") == 1 &&
		   count_of(svg, "0 ns · 3 lost</text>") == 1,
	   "another event than the processor's time needs no processor");
	stacks_free(s);
}

static void test_deep(void)
{
	CLEANUP(str_fini) struct str folded = {0};
	CLEANUP(free) char *svg = NULL;
	struct stacks *s;

	str_adds(&folded, "t");
	for (unsigned i = 0; i < 2000; i++)
		str_addf(&folded, ";frame%u", i);
	str_adds(&folded, " 1\n");
	s = stacks_of(folded.buf);
	svg = drawn_svg(s, &plain);
	/* 84 above, 2002 rows of 16, 52 below. */
	is_int(count_of(svg, "height=\"32168\" viewBox=\"0 0 1200 32168\""), 1, "2000 frames deep");
	is_int(count_of(svg, " (1 sample, 100%)</title>"), 2002, "every frame is there");
	is_int(count_of(svg, " y=\"84\" "), 1, "up to the top");
	stacks_free(s);
}

static void test_large(void)
{
	struct stacks *s = stacks_new();
	uint32_t frame = stacks_intern(s, "big", 3, FRAME_ROOT);
	uint32_t other = stacks_intern(s, "other", 5, FRAME_ROOT);
	CLEANUP(close_fd) int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	CLEANUP(free) char *svg = NULL;
	struct err err;

	stacks_add(s, &frame, 1, UINT64_MAX / 2);
	stacks_add(s, &other, 1, UINT64_MAX / 2);
	svg = drawn_svg(s, &plain);
	is_int(count_of(svg, "<title>big (9,223,372,036,854,775,807 samples, 50%)</title>"), 1,
	       "counts near the limit");
	ok(strstr(svg, "x=\"10\" y=\"84\" width=\"589.5\""), "have the right width");
	ok(full >= 0 && draw_svg(s, &plain, full, &err) == -1, "a full disk is an error");
	stacks_free(s);
}

static void test_script(void)
{
	struct stacks *s = stacks_of("a 1\n");
	CLEANUP(free) char *svg = drawn_svg(s, &plain);
	const char *script = strstr(svg, "<script><![CDATA["), *end = strstr(svg, "]]></script>");

	ok(script && end && script < end, "the script is in the picture");
	ok(script && strstr(script, "]]>") == end, "and does not end its section early");
	ok(!strstr(svg, "innerHTML") && !strstr(svg, "eval("), "no text becomes code");
	is_int(count_of(svg, " on"), 0, "no handlers in attributes");
	ok(!strstr(svg, "http://") || (count_of(svg, "http") == 1 && !strstr(svg, "https:")),
	   "no address but the name space");
	stacks_free(s);
}

int main(void)
{
	test_frames();
	test_labels();
	test_units();
	test_units_of_difference();
	test_hostile();
	test_empty();
	test_deep();
	test_large();
	test_script();
	return tap_done();
}
