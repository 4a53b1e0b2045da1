// SPDX-License-Identifier: Apache-2.0
/* A recording through everything it passes on the way to stacks: those of each event. */
#include "fuzz/filemap.h"
#include "profile/read.h"

static void check(const struct profile *p, unsigned event)
{
	const struct quality *q = &p->quality;
	uint64_t *totals = stacks_totals(p->stacks);

	if (q->java_complete > q->java_samples || q->java_samples > q->samples ||
	    q->frames_unknown + q->frames_nameless > q->frames || q->samples > COUNT_MAX ||
	    p->samples->count != (event ? 0 : q->samples) ||
	    (q->samples < COUNT_MAX && totals[0] != q->samples))
		abort();
	stacks_free(stacks_plain(p->stacks, NULL));
	stacks_sort(p->stacks);
	free(totals);
}

static void read_event(struct recording *in, unsigned event)
{
	struct profile p;
	struct err err;

	in->event = event;
	profile_init(&p, true);
	samples_add_origin(p.samples, &(struct origin){"", "", "", "", "", ""});
	if (profile_read(in, &p, &err) == 0)
		check(&p, event);
	profile_fini(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char map_text[] = "7f0000000000 fffffffffff all.of.it\n";
	static const char kernel_text[] = "ffffffff81000000 T _stext\n";
	struct session_map map = {.pid = 7, .fd = input_file(0, map_text, strlen(map_text))};
	struct session_process process = {.pid = 7, .root = 1};
	struct session_elf elf = {
		.root = 1, .path = "/proc/self/exe", .fd = map.fd, .debug_fd = -1};
	struct recording in = {.perf_fd = input_file(1, data, size),
			       .kallsyms_fd = input_file(2, kernel_text, strlen(kernel_text)),
			       .maps = &map,
			       .map_count = 1,
			       .elfs = &elf,
			       .elf_count = 1,
			       .processes = &process,
			       .process_count = 1,
			       .parts = 1};

	for (unsigned event = 0; event < 2; event++)
		read_event(&in, event);
	return 0;
}
