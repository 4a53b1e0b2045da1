// SPDX-License-Identifier: Apache-2.0
/* eventseeds: writes the seeds of fuzz targets for what the recorder in the kernel makes, to
 * tests/fuzz/corpus: recordings of walked stacks, of one event and of two, and a snapshot with the
 * places of fields. */
#include <linux/perf_event.h>
#include <time.h>

#include "lib/seedfile.h"
#include "lib/snapmake.h"
#include "perf/perfwrite.h"
#include "unwind/unwind_regs.h"

static const uint64_t frames[] = {0x7f0000001000, 1ull << 60 | 5ull << 32 | 16, 2ull << 60 | 0x1234,
				  3ull << 60};

/* Begins a recording with a process and a code. */
static struct perf_writer *begin(int fd, unsigned events, const struct walked_sample *s)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		.sample_regs_user = events > 1 ? UNWIND_PERFMASK : 0,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	const struct proc_map map = {
		.start = 0x7f0000000000, .end = 0x7f0000010000, .exec = true, .path = ""};
	const uint64_t id = 11;
	struct perf_writer *w;
	struct err err;

	if (perf_writer_open(fd, &attr, &id, 1, events, &w, &err) < 0)
		abort();
	perf_writer_comm(w, 7, 8, "worker");
	perf_writer_map(w, 7, &map);
	perf_writer_code(w, s, 5, 0x7f0000002000, 42);
	return w;
}

/* Ends it, and writes it for both targets. */
static void end(struct perf_writer *w, int fd, const char *name)
{
	CLEANUP(free) char *perfdata = xasprintf("perfdata/%s", name);
	CLEANUP(free) char *split = xasprintf("split/%s", name);
	CLEANUP(str_fini) struct str text = {0};
	struct err err;

	if (perf_writer_end(w, &err) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    fs_read_all(fd, 1 << 20, &text, &err) < 0)
		abort();
	perf_writer_free(w);
	write_seed(perfdata, &text);
	write_seed(split, &text);
}

static struct walked_sample sample(const struct sample_detail *d)
{
	return (struct walked_sample){.pid = 7,
				      .tid = 8,
				      .time = 20,
				      .frames = frames,
				      .frame_count = ARRAY_LEN(frames),
				      .detail = d};
}

static void write_walked(void)
{
	static const uint64_t kernel[] = {0xffffffff81000000};
	CLEANUP(close_fd) int fd = file_of("", 0);
	struct walked_sample s = sample(NULL);
	struct perf_writer *w;

	s.kernel = kernel;
	s.kernel_count = ARRAY_LEN(kernel);
	w = begin(fd, 1, &s);
	perf_writer_walked(w, &s);
	perf_writer_round(w);
	s.cut = true;
	s.time++;
	perf_writer_walked(w, &s);
	perf_writer_lost(w, 7, 3);
	end(w, fd, "walked");
}

/* A named sample that is walked, one that is cut, and one with a copy of the stack. */
static void write_named(void)
{
	/* A stack ends at code that is not known: it comes last. */
	static const uint64_t known_first[] = {0x7f0000001000, 2ull << 60 | 0x1234, 2ull << 60,
					       3ull << 60, 1ull << 60 | 5ull << 32 | 16};
	static const uint64_t regs[64] = {[UNWIND_SP] = 0x7ffe0000, [8] = 0x7f0000001000};
	static const uint64_t stack[] = {0x7f0000001010, 0, 0x7f0000001020, 1};
	struct sample_detail d = {.event = 1,
				  .amount = 1 << 17,
				  .name = "[Ljava/lang/String;",
				  .name_len = 19,
				  .flags = PERFWRITE_OUTSIDE};
	CLEANUP(close_fd) int fd = file_of("", 0);
	struct walked_sample s = sample(NULL);
	struct perf_writer *w = begin(fd, 2, &s);

	perf_writer_walked(w, &s);
	s = sample(&d);
	s.frames = known_first;
	s.frame_count = ARRAY_LEN(known_first);
	perf_writer_walked(w, &s);
	s.cut = true;
	s.time++;
	perf_writer_walked(w, &s);
	perf_writer_round(w);
	d.name = "a/A$$Lambda$14+0x7f12/7582";
	d.name_len = strlen(d.name);
	d.flags |= PERFWRITE_HUMONGOUS;
	d.regs = regs;
	d.stack = (const uint8_t *)stack;
	d.stack_len = sizeof(stack);
	s.frame_count = 0;
	s.time++;
	perf_writer_walked(w, &s);
	end(w, fd, "named");
}

static void write_layout(void)
{
	static const struct snap_layout layout = {
		{SNAP_LAYOUT, sizeof(layout)}, 24, 0, 6, 248, 264, 272};
	/* Says how many words the registers and the stack are: fuzz_snapfile.c. */
	static const uint8_t parts[4] = {24};
	static const uint64_t words[24] = {
		0x400120, [UNWIND_SP] = 0x7000, [UNWIND_PC] = 0x400140, [20] = 0x400150};
	CLEANUP(str_fini) struct str s = {0};
	struct snap_head head = {.time = 1, .jdk = 17, .code_low = 0x400000, .code_high = 0x500000};

	str_add(&s, parts, sizeof(parts));
	str_add(&s, words, sizeof(words));
	sm_head(&s, head);
	str_add(&s, &layout, sizeof(layout));
	sm_method(&s, 1, "a.B.c", "B.java");
	sm_code(&s, sm_compiled(0x400100));
	sm_done_at(&s, 2);
	head.time = 3;
	head.flags = SNAP_DELTA;
	sm_head(&s, head);
	sm_done_at(&s, 4);
	write_seed("snapfile/layout", &s);
}

int main(void)
{
	write_walked();
	write_named();
	write_layout();
	return 0;
}
