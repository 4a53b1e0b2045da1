// SPDX-License-Identifier: Apache-2.0
/* JFR recordings from anywhere: each kind of event can be read and drawn, and the counts agree.
 * Case 63. */
#include "fuzz/fuzz.h"
#include "jfr/jfr.h"
#include "lib/drawn.h"

static void read_kind(const uint8_t *data, size_t size, enum event_kind kind)
{
	CLEANUP(free) uint64_t *totals = NULL;
	CLEANUP(free) char *folded = NULL;
	struct profile p;
	struct err err;

	/* Samples of a clock that are kept one by one would only fill the memory. */
	profile_init(&p, kind == EVENT_CPU);
	if (jfr_read(&p, data, size, kind, &err) == 0) {
		totals = stacks_totals(p.stacks);
		require(totals[0] == p.quality.samples);
		require(p.quality.samples <= COUNT_MAX && p.quality.truncated <= p.quality.samples);
		require(p.quality.java_complete <= p.quality.java_samples);
		require(p.quality.java_samples <= p.quality.samples);
		require(profile_worth(&p) <= (double)p.quality.samples);
		if (p.samples)
			require(p.samples->count == p.quality.samples);
		for (size_t i = 1; p.samples && i < p.samples->count; i++)
			require(p.samples->list[i].time >= p.samples->list[i - 1].time);
		stacks_sort(p.stacks);
		folded = drawn_folded(p.stacks);
	}
	profile_fini(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int kind = 0; kind < EVENT_KINDS; kind++)
		read_kind(data, size, (enum event_kind)kind);
	return 0;
}
