// SPDX-License-Identifier: Apache-2.0
/* A recording through everything it passes on the way to stacks. */
#include "fuzz/filemap.h"
#include "profile/read.h"

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
	struct profile p;
	struct err err;

	profile_init(&p, true);
	samples_add_origin(p.samples, &(struct origin){"", "", "", "", "", ""});
	if (profile_read(&in, &p, &err) == 0) {
		const struct quality *q = &p.quality;
		uint64_t *totals = stacks_totals(p.stacks);

		if (totals[0] != q->samples || q->java_complete > q->java_samples ||
		    q->java_samples > q->samples ||
		    q->frames_unknown + q->frames_nameless > q->frames ||
		    p.samples->count != q->samples)
			abort();
		stacks_free(stacks_plain(p.stacks, NULL));
		stacks_sort(p.stacks);
		free(totals);
	}
	profile_fini(&p);
	return 0;
}
