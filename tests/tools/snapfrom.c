// SPDX-License-Identifier: Apache-2.0
/* Takes a snapshot of a running JVM from outside: snapfrom PID FILE. Prints what it cost. */
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
	struct hs_sink sink = {.write = write_record};
	struct hs_result result;
	struct err err;
	uint64_t start;
	int pid;

	if (argc != 3 || !parse_pid(argv[1], &pid))
		return 2;
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
	start = clock_us();
	hs_dump_snapshot(hs_proc_source(proc), &sink, work, &result);
	printf("status=%d entries=%u skipped=%u bytes=%llu us=%llu\n", result.status,
	       result.entries, result.skipped, (unsigned long long)result.bytes,
	       (unsigned long long)(clock_us() - start));
	return fclose(sink.arg) == 0 && result.status == 0 ? 0 : 1;
}
