// SPDX-License-Identifier: Apache-2.0
/* eventseeds: writes the seeds of fuzz targets for what the recorder in the kernel makes, to
 * tests/fuzz/corpus: recordings of walked stacks, of one event and of several, and a snapshot with
 * the places of fields and the layout of objects, and a file with places of probes. */
#include <linux/perf_event.h>
#include <time.h>

#include "lib/elfmake.h"
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

/* A holder, waits that name it, and that name what is not there, and both parts of a safepoint. */
static void write_held(void)
{
	static const uint64_t held_by[] = {0x7f0000001000, 2ull << 60 | 0x1234, 0x7f0000001010};
	const struct sample_detail holder = {.event = 2, .flags = PERFWRITE_HOLDER};
	const struct sample_detail entire = {.event = 2,
					     .flags = PERFWRITE_HOLDER | PERFWRITE_ENTIRE};
	struct sample_detail wait = {.event = 2,
				     .amount = 5000,
				     .holder = 20,
				     .name = "java/lang/Object",
				     .name_len = 16};
	CLEANUP(close_fd) int fd = file_of("", 0);
	struct walked_sample s = sample(&holder);
	struct perf_writer *w = begin(fd, 3, &s);

	s.frames = held_by;
	s.frame_count = ARRAY_LEN(held_by);
	perf_writer_walked(w, &s);
	s.time = 21;
	s.detail = &entire;
	perf_writer_walked(w, &s);
	for (unsigned i = 0; i < 4; i++) {
		s.time = 30 + i / 2;
		s.detail = &wait;
		wait.holder = 20 + i % 3;
		wait.asker = i > 1 ? 21 : 0;
		wait.flags = i == 2 ? PERFWRITE_WAITED : i == 3 ? PERFWRITE_STOPPED : 0;
		perf_writer_walked(w, &s);
	}
	end(w, fd, "held");
}

static void write_layout(void)
{
	static const struct snap_layout layout = {
		{SNAP_LAYOUT, sizeof(layout)}, 24, 0, 6, 248, 264, 272};
	static const struct snap_objects objects = {.record = {SNAP_OBJECTS, sizeof(objects)},
						    .monitor_object = 8,
						    .thread_object = 40,
						    .park_blocker = 48,
						    .thread_address = 16,
						    .class_at = 8,
						    .ref_bytes = 4,
						    .ref_shift = 3,
						    .class_bytes = 4,
						    .flags = SNAP_HANDLES,
						    .class_base = 0x7f0000000000};
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
	str_add(&s, &objects, sizeof(objects));
	sm_method(&s, 1, "a.B.c", "B.java");
	sm_code(&s, sm_compiled(0x400100));
	sm_done_at(&s, 2);
	head.time = 3;
	head.flags = SNAP_DELTA;
	sm_head(&s, head);
	sm_done_at(&s, 4);
	write_seed("snapfile/layout", &s);
}

/* A libjvm with functions that wait for monitors, their callers and a note of <sys/sdt.h>. */
static void write_probes(void)
{
	static const char symbols[] = "_ZN13ObjectMonitor6EnterIEP6Thread@1040+20 "
				      "_ZN13ObjectMonitor8ReenterIEP6Thread@1060+20 "
				      "_ZN13ObjectMonitor5enterEP6Thread@1080+40 "
				      "Unsafe_Park@10c0+40";
	static const char texts[] = "hotspot\0thread__park__end\08@%rax";
	static const uint8_t call[] = {0xe8, 0xab, 0xff, 0xff, 0xff}; /* 0x1090 -> 0x1040 */
	const uint32_t head[] = {8, 24 + sizeof(texts), 3};
	const uint64_t places[] = {0x10d0, 0x3000, 0};
	CLEANUP(str_fini) struct str file = {0}, note = {0};
	struct elfmake m;

	str_add(&note, (const char *)head, sizeof(head));
	str_add(&note, "stapsdt", 8);
	str_add(&note, (const char *)places, sizeof(places));
	str_add(&note, texts, sizeof(texts));
	while (note.len % 4)
		str_addc(&note, 0);
	elfmake_start(&m);
	elfmake_symbols(&m, SHT_SYMTAB, symbols);
	m.sections[elfmake_add(&m, ".stapsdt.base", SHT_PROGBITS, "", 1)].sh_addr = 0x3000;
	m.sections[elfmake_add(&m, ".note.stapsdt", SHT_NOTE, note.buf, note.len)].sh_addralign = 4;
	elfmake_end(&m, &file);
	while (file.len < 0x1100)
		str_addc(&file, 0);
	memcpy(file.buf + 0x1090, call, sizeof(call));
	write_seed("elfsym/probes", &file);
}

int main(void)
{
	write_walked();
	write_named();
	write_held();
	write_layout();
	write_probes();
	return 0;
}
