// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include "lib/drawn.h"
#include "lib/tap.h"

static void check_round(const char *folded, const char *want, const char *name)
{
	struct stacks *s = stacks_of(folded);
	CLEANUP(free) char *text = drawn_folded(s);

	is_str(text, want, "%s", name);
	stacks_free(s);
}

static void test_text(void)
{
	check_round("", "", "nothing");
	check_round("main 1\n", "main 1\n", "one frame");
	check_round("b;x 2\na;y_[j] 1\na;y_[j] 4\na 3\n", "a 3\na;y_[j] 5\nb;x 2\n",
		    "sorted, equal stacks together");
	check_round("t;a_[j];b_[i];c_[0];d;e_[k] 7", "t;a_[j];b_[i];c_[0];d;e_[k] 7\n",
		    "suffixes, no newline at the end");
	check_round("GC Thread#0;a b 1\r\n", "GC Thread#0;a b 1\n", "blanks in names, CR LF");
	check_round("t;;a; 5\n", "t;a 5\n", "empty frames are none");
	check_round("t;a\x01\xff\xe2\x80\xae"
		    "b 1\n",
		    "t;a???b 1\n", "names are cleaned");
	check_round("t;caf\xc3\xa9_[j] 1\n", "t;caf\xc3\xa9_[j] 1\n", "UTF-8 stays");
}

static void check_skipped(const char *folded, uint64_t want, const char *name)
{
	struct stacks *s = stacks_new();

	is_int(fold_read(s, folded, strlen(folded), NULL), want, "%s", name);
	stacks_free(s);
}

static void test_bad_lines(void)
{
	check_skipped("a;b 1\n\n\nc 2\n", 0, "empty lines are no bad lines");
	check_skipped("a;b\na;b x\na;b -1\na;b 1.5\na;b 0x1\n 5\n;; 5\n12\na;b \n", 9,
		      "no count, bad count, no frame");
	check_skipped("a 99999999999999999999\na 18446744073709551616\n", 2, "a count too large");
	check_skipped("a 9007199254740992\nb 1\n", 1, "a sum too large");
}

static void test_counts(void)
{
	static const struct {
		const char *folded;
		uint64_t skipped, samples;
		const char *what;
	} t[] = {
		{"a 1\nb;c 2\n", 0, 3, "all lines"},
		{"a 1\nb\nc 4", 1, 5, "all lines but a bad one"},
		{"a 00000000000000000000001\n", 0, 1, "a count of 23 digits"},
		{"a 000000000000000000000001\n", 1, 0, "none of 24 digits"},
		{"a 9007199254740992\n", 0, UINT64_C(1) << 53, "a count of 2^53"},
		{"a 9007199254740993\n", 1, 0, "none above"},
		{"a 9007199254740991\nb 1\nc 1\nd 0\n", 1, UINT64_C(1) << 53, "a sum of 2^53"},
		{"a 1\r\n\r\n\r\n", 0, 1, "no empty line"},
		{"a 1\r", 0, 1, "the last line"},
		{"a\t1\n", 1, 0, "no count after a tab"},
		{"a  7\n", 0, 7, "a count after two blanks"},
		{"\n", 0, 0, "nothing"},
		{"", 0, 0, "nothing at all"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct stacks *s = stacks_new();
		uint64_t samples = 100;

		is_int(fold_read(s, t[i].folded, strlen(t[i].folded), &samples), t[i].skipped,
		       "bad lines are counted beside %s", t[i].what);
		is_int(samples, 100 + t[i].samples, "samples are counted: %s", t[i].what);
		stacks_free(s);
	}
}

static enum frame_kind kind_of_second(const char *folded, const char *name)
{
	struct stacks *s = stacks_of(folded);
	const struct stack_node *root = stacks_node(s, stacks_node(s, 0)->first);
	const struct frame *f = stacks_frame(s, stacks_node(s, root->first)->frame);
	enum frame_kind kind = f->kind;

	is_str(f->name, name, "name of %s", folded);
	is_int(stacks_frame(s, root->frame)->kind, FRAME_ROOT, "the first frame is the thread");
	stacks_free(s);
	return kind;
}

static void test_kinds(void)
{
	is_int(kind_of_second("a;f_[j] 1", "f"), FRAME_JAVA, "_[j]");
	is_int(kind_of_second("a;f_[i] 1", "f"), FRAME_INLINED, "_[i]");
	is_int(kind_of_second("a;f_[0] 1", "f"), FRAME_INTERPRETED, "_[0]");
	is_int(kind_of_second("a;f_[k] 1", "f"), FRAME_KERNEL, "_[k]");
	is_int(kind_of_second("a;_[k] 1", "_[k]"), FRAME_NATIVE, "a suffix is no name");
	is_int(kind_of_second("a;[unknown] 1", "[unknown]"), FRAME_UNKNOWN, "unknown");
	is_int(kind_of_second("a;Thread::run 1", "Thread::run"), FRAME_JVM, "C++");
	is_int(kind_of_second("a_[j];read 1", "read"), FRAME_NATIVE, "anything else");
}

static void test_writer(void)
{
	struct stacks *s = stacks_new();
	uint32_t frames[] = {
		stacks_intern(s, "a;b\nc", 5, FRAME_ROOT),
		stacks_intern(s, "f", 1, FRAME_STUB),
	};
	CLEANUP(close_fd) int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	CLEANUP(free) char *text = NULL;
	struct err err;

	stacks_add(s, frames, 2, 3);
	stacks_add(s, frames, 0, 4);
	stacks_sort(s);
	text = drawn_folded(s);
	is_str(text, "[unknown] 4\na:b:c;f 3\n", "no name breaks the format, no sample is lost");
	ok(full >= 0 && draw_folded(s, full, &err) == -1, "a full disk is an error");
	ok(strstr(err.msg, "No space left"), "which says why: %s", err.msg);
	stacks_free(s);
}

static void test_deep(void)
{
	CLEANUP(str_fini) struct str want = {0};
	CLEANUP(free) char *text = NULL;
	struct stacks *s;

	str_adds(&want, "t");
	for (unsigned i = 0; i < 100000; i++)
		str_addf(&want, ";f%u", i % 7);
	str_adds(&want, " 1\n");
	s = stacks_of(want.buf);
	text = drawn_folded(s);
	ok(strcmp(text, want.buf) == 0, "a stack of 100 000 frames");
	stacks_free(s);
}

static void check_quality(const struct quality *q, const char *want, const char *name)
{
	CLEANUP(str_fini) struct str line = {0};

	draw_quality_of(&line, q, NULL);
	is_str(line.buf, want, "quality: %s", name);
}

static void test_quality(void)
{
	struct quality q = {.samples = 51466,
			    .java_samples = 40000,
			    .java_complete = 39880,
			    .frames = 1000000,
			    .frames_unknown = 1000};

	check_quality(&q,
		      "51,466 samples · 0 lost · 99.7 % of Java stacks complete · "
		      "0.1 % frames unknown · 0 % truncated",
		      "good");
	q = (struct quality){.samples = 1000000,
			     .lost = 1234567,
			     .java_samples = 100000,
			     .java_complete = 99999,
			     .frames = 1000000,
			     .frames_unknown = 1,
			     .frames_nameless = 75000,
			     .truncated = 1000000,
			     .between_safepoints = 25000,
			     .java_frames = 1000000,
			     .stale = 5500};
	check_quality(&q,
		      "1,000,000 samples · 1,234,567 lost · 99.9 % of Java stacks complete · "
		      "<0.1 % frames unknown · 7.5 % nameless · 100 % truncated · "
		      "25 % of Java samples with approximate inlining · 0.6 % Java frames stale",
		      "nothing is rounded to all or to none");
	q = (struct quality){.samples = 1, .frames = 3};
	check_quality(&q, "1 sample · 0 lost · no Java stacks · 0 % frames unknown · 0 % truncated",
		      "no Java");
	q = (struct quality){.lost = 7};
	check_quality(&q, "0 samples · 7 lost", "empty");
	q = (struct quality){.samples = UINT64_MAX,
			     .java_samples = UINT64_MAX,
			     .java_complete = UINT64_MAX / 2,
			     .frames = 1,
			     .frames_unknown = 2};
	check_quality(
		&q,
		"18,446,744,073,709,551,615 samples · 0 lost · 50 % of Java stacks complete · "
		"100 % frames unknown · 0 % truncated",
		"no overflow");
}

int main(void)
{
	test_text();
	test_bad_lines();
	test_counts();
	test_kinds();
	test_writer();
	test_deep();
	test_quality();
	return tap_done();
}
