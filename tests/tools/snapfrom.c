// SPDX-License-Identifier: Apache-2.0
/* Takes a snapshot of a running JVM from outside: snapfrom PID FILE [COUNT MS]. Then, every MS
 * milliseconds, COUNT deltas behind it; the last of them goes through all classes. Prints what each
 * cost. */
#include <fcntl.h>
#include <unistd.h>

#include "dfg/clock.h"
#include "dfg/proc.h"
#include "hsproc.h"

static bool write_record(void *arg, const char *record, size_t len)
{
	return fwrite(record, 1, len, arg) == len;
}

int main(int argc, char **argv)
{
	CLEANUP(hs_proc_close) struct hs_proc *proc = NULL;
	CLEANUP(close_fd) int fd = -1;
	CLEANUP(free) void *work = NULL;
	CLEANUP(free) void *state = NULL;
	struct hs_sink sink = {.write = write_record};
	struct hs_result result = {0};
	int pid, count = 0, ms = 0;
	struct err err;

	if ((argc != 3 && argc != 5) || !parse_pid(argv[1], &pid))
		return 2;
	if (argc == 5) {
		count = atoi(argv[3]);
		ms = atoi(argv[4]);
	}
	fd = proc_open(pid, &err);
	if (fd < 0 || hs_proc_open(fd, &proc, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	sink.arg = fopen(argv[2], "we");
	if (!sink.arg) {
		perror(argv[2]);
		return 1;
	}
	work = xmalloc(HS_WORK_BYTES);
	state = xcalloc(1, HS_STATE_BYTES);
	for (int i = 0; i <= count && result.status == 0; i++) {
		uint64_t start = clock_us();
		uint64_t cpu = clock_cpu_us();

		hs_dump_delta(hs_proc_source(proc), &sink, work, state, i == count, &result);
		printf("status=%d entries=%u skipped=%u bytes=%llu cpu=%llu us=%llu\n",
		       result.status, result.entries, result.skipped,
		       (unsigned long long)result.bytes, (unsigned long long)(clock_cpu_us() - cpu),
		       (unsigned long long)(clock_us() - start));
		if (i < count)
			sleep_ms((unsigned)ms);
	}
	return fclose(sink.arg) == 0 && result.status == 0 ? 0 : 1;
}
