// SPDX-License-Identifier: Apache-2.0
/* Estimates the size of a recording before it begins. */
#include "record/perf.h"

#include <unistd.h>

#include "lib/tap.h"

int main(void)
{
	pid_t self = getpid();
	struct perf_events e;

	is_int(perf_stack_bytes(2, 99, 30), 32768, "a small machine: most");
	is_int(perf_stack_bytes(64, 99, 30), 16384, "64 processors: half");
	is_int(perf_stack_bytes(64, 999, 600), 16384, "never less than 16 KiB");

	perf_count_events(&self, 1, &e);
	is_int((int64_t)e.threads, 1, "a thread");
	ok(e.cpus >= 1 && e.files == e.cpus + 128, "an event for each processor, and perf's own");
	ok(e.limit > 0, "a limit");
	perf_count_events(NULL, 0, &e);
	is_int((int64_t)e.threads, 0, "no process");
	return tap_done();
}
