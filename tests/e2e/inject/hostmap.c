// SPDX-License-Identifier: Apache-2.0
/* Writes the map of a JVM read from outside (/proc/PID/mem), with the agent's trailer: the other
 * memory source of the one reader. */
#include "common/clock.h"
#include "common/proc.h"
#include "dfg/request.h"
#include "discover/jvm_memory.h"

static bool write_line(void *arg, const char *text, size_t len)
{
	return fwrite(text, 1, len, arg) == len;
}

int main(int argc, char **argv)
{
	CLEANUP(jvm_memory_close) struct jvm_memory *proc = NULL;
	CLEANUP(close_fd) int fd = -1;
	struct hs_sink sink = {.write = write_line, .arg = stdout};
	struct hs_result result;
	struct err err;
	uint64_t start = clock_us();
	int pid;

	if (argc != 2 || !parse_pid(argv[1], &pid))
		return 2;
	fd = proc_open(pid, &err);
	if (fd < 0 || jvm_memory_open(fd, &proc, &err) < 0 ||
	    jvm_memory_find_tables(proc, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	hs_dump_map(jvm_memory_source(proc), &sink, xmalloc(HS_WORK_BYTES), &result);
	printf(DFG_TRAILER_START "seq=0 status=%d entries=%u skipped=%u bytes=%llu us=%llu\n",
	       result.status, result.entries, result.skipped, (unsigned long long)result.bytes,
	       (unsigned long long)(clock_us() - start));
	return 0;
}
