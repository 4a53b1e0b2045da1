// SPDX-License-Identifier: Apache-2.0
#include "probe/counted.h"

#include <linux/perf_event.h>
#include <string.h>

#include "common/str.h"

/* perf-list(1), linux/perf_event.h */
static const struct {
	const char *name;
	struct counted_event event;
} events[] = {
	{"page-faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}},
	{"faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}},
	{"minor-faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN}},
	{"major-faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ}},
	{"context-switches", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES}},
	{"cs", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES}},
	{"cpu-migrations", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS}},
	{"migrations", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS}},
	{"alignment-faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS}},
	{"emulation-faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS}},
	{"cycles", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES}},
	{"instructions", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS}},
	{"cache-references", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES}},
	{"cache-misses", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}},
	{"branches", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS}},
	{"branch-misses", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}},
	{"bus-cycles", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES}},
	{"ref-cycles", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES}},
	{"stalled-cycles-frontend", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND}},
	{"stalled-cycles-backend", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND}},
};

bool counted_event_find(const char *name, struct counted_event *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (!strcmp(name, events[i].name)) {
			*ret = events[i].event;
			return true;
		}
	return false;
}
