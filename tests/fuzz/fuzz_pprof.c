// SPDX-License-Identifier: Apache-2.0
/* pprof from anywhere: what is read can be drawn, and what is written reads as the same. */
#include "format/format.h"
#include "fuzz/fuzz.h"
#include "lib/drawn.h"

static char *folded_of(const struct profile *p)
{
	struct stacks *plain = stacks_plain(p->stacks, NULL);
	char *text;

	stacks_sort(plain);
	text = drawn_folded(plain);
	stacks_free(plain);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct picture picture = {.title = "fuzz", .subtitle = "", .frequency = 99};
	CLEANUP(close_fd) int fd = memfd_create("pprof", MFD_CLOEXEC);
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(free) char *first = NULL;
	CLEANUP(free) char *second = NULL;
	struct profile p, again;
	struct err err;

	/* Samples that are kept one by one would only fill the memory. */
	profile_init(&p, false);
	frames_keep_places(stacks_frames(p.stacks));
	picture.details = &p;
	if (pprof_read(&p, data, size, EVENT_CPU, &err) == 0) {
		first = folded_of(&p);
		if (draw_pprof(p.stacks, &picture, fd, &err) < 0 || lseek(fd, 0, SEEK_SET) != 0 ||
		    fs_read_all(fd, (size_t)1 << 30, &text, &err) < 0)
			abort();
		profile_init(&again, false);
		if (pprof_read(&again, text.buf, text.len, EVENT_CPU, &err) < 0)
			abort();
		second = folded_of(&again);
		if (strcmp(first, second) != 0)
			abort();
		profile_fini(&again);
	}
	profile_fini(&p);
	return 0;
}
