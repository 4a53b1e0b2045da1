// SPDX-License-Identifier: Apache-2.0
/* Takes a snapshot of a running JVM from outside: snapfrom PID FILE [MS]. Then, every MS
 * milliseconds, deltas after it, until its standard input ends; the last of them goes through all
 * classes. Prints what each cost: system calls that read, what they read, and time. */
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/proc.h"
#include "discover/jvm_memory.h"

static bool write_record(void *arg, const char *record, size_t len)
{
	return fwrite(record, 1, len, arg) == len;
}

/* Memory read through here is counted. */
struct counted {
	const struct hs_source *source;
	uint64_t reads, bytes;
};

static int64_t counted_read(void *arg, uint64_t addr, void *buf, size_t len)
{
	struct counted *c = arg;

	c->reads++;
	c->bytes += len;
	return c->source->read(c->source->arg, addr, buf, len);
}

static size_t counted_gather(void *arg, const uint64_t *addr, size_t n, void *buf, size_t len)
{
	struct counted *c = arg;

	c->reads++;
	c->bytes += n * len;
	return c->source->gather(c->source->arg, addr, n, buf, len);
}

int main(int argc, char **argv)
{
	CLEANUP(jvm_memory_close) struct jvm_memory *proc = NULL;
	CLEANUP(close_fd) int fd = -1;
	CLEANUP(free) void *work = NULL;
	CLEANUP(free) void *state = NULL;
	struct hs_sink sink = {.write = write_record};
	struct hs_result result = {0};
	struct hs_source source;
	struct counted counted;
	int pid, ms = 0;
	bool last;
	struct err err;

	if ((argc != 3 && argc != 4) || !parse_pid(argv[1], &pid))
		return 2;
	if (argc == 4)
		ms = atoi(argv[3]);
	fd = proc_open(pid, &err);
	if (fd < 0 || jvm_memory_open(fd, &proc, &err) < 0 ||
	    jvm_memory_find_tables(proc, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	sink.arg = fopen(argv[2], "we");
	if (!sink.arg) {
		perror(argv[2]);
		return 1;
	}
	setvbuf(sink.arg, NULL, _IOFBF, 1 << 16); /* as dfg does */
	counted.source = jvm_memory_source(proc);
	source = *counted.source;
	source.read = counted_read;
	source.gather = counted_gather;
	source.arg = &counted;
	work = xmalloc(HS_WORK_BYTES);
	state = xcalloc(1, HS_STATE_BYTES);
	last = argc == 3;
	do {
		struct pollfd in = {.fd = 0, .events = POLLIN};
		uint64_t start, cpu;

		if (result.bytes > 0)
			last = poll(&in, 1, ms) > 0;
		counted.reads = counted.bytes = 0;
		start = clock_us();
		cpu = clock_cpu_us();
		hs_dump_delta(&source, &sink, work, state, last, &result);
		printf("status=%d entries=%u skipped=%u bytes=%llu reads=%llu read_kib=%llu "
		       "cpu=%llu us=%llu\n",
		       result.status, result.entries, result.skipped,
		       (unsigned long long)result.bytes, (unsigned long long)counted.reads,
		       (unsigned long long)counted.bytes / 1024,
		       (unsigned long long)(clock_cpu_us() - cpu),
		       (unsigned long long)(clock_us() - start));
	} while (!last && result.status == 0);
	return fclose(sink.arg) == 0 && result.status == 0 ? 0 : 1;
}
