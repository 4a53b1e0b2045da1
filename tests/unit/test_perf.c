// SPDX-License-Identifier: Apache-2.0
/* Estimates the size of a recording before it begins. */
#include "record/perf.h"

#include <fcntl.h>
#include <unistd.h>

#include "lib/tap.h"

/* As perf does: the file is there long before anything is in it. */
static void test_begin(void)
{
	char dir[] = "/tmp/dfg-record.XXXXXX", data[64];
	struct perf p = {.dir = mkdtemp(dir)};
	int fd;

	snprintf(data, sizeof(data), "%s/perf.data", dir);
	ok(!perf_has_begun(&p), "no file: it has not begun");
	fd = open(data, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ok(fd >= 0 && !perf_has_begun(&p), "an empty one: neither");
	ok(write(fd, "PERFILE2", 8) == 8 && perf_has_begun(&p), "its head: it has");
	is_int(perf_wait(&p, 10000), 1, "a perf that is no more is not waited for");
	close(fd);
	unlink(data);
	rmdir(dir);
}

int main(void)
{
	pid_t self = getpid();
	struct perf_events e;

	test_begin();
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
