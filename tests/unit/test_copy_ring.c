// SPDX-License-Identifier: Apache-2.0
/* A processor's event and its buffer: the kernel's records, in order, and what is lost. Needs the
 * right to open events of all processes. */
#include "bpf/copy_ring.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/tap.h"

#define CHILDREN 20u

static struct {
	unsigned forks, others;
	pid_t last;
} seen;

static void take(void *arg, const struct perf_event_header *h)
{
	const uint32_t *body = (const uint32_t *)(h + 1); /* pid, ppid, tid, ptid */

	(void)arg;
	if (h->type == PERF_RECORD_FORK && body[1] == (uint32_t)getpid()) {
		seen.forks++;
		seen.last = (pid_t)body[0];
	} else {
		seen.others++;
	}
}

static pid_t fork_some(unsigned n)
{
	pid_t pid = 0;

	for (unsigned i = 0; i < n; i++) {
		pid = fork();
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return pid;
}

/* All on one processor. */
static void stay(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		abort();
}

int main(void)
{
	const struct perf_event_attr attr = {.size = sizeof(attr),
					     .type = PERF_TYPE_SOFTWARE,
					     .config = PERF_COUNT_SW_DUMMY,
					     .sample_id_all = 1,
					     .task = 1,
					     .disabled = 1};
	struct copy_ring ring = COPY_RING_NONE;
	static uint8_t record[1 << 16];
	struct err err = {0};
	uint64_t lost = 0;
	pid_t last;

	stay();
	if (copy_ring_open(&ring, 0, &attr, 4096, NULL, &err) < 0) {
		printf("1..0 # SKIP %s\n", err.msg);
		return 0;
	}
	fork_some(1);
	copy_ring_read(&ring, record, take, NULL);
	is_int(seen.forks, 0, "nothing comes before it is on");
	ok(copy_ring_enable(&ring, true) == 0, "it is switched on");
	last = fork_some(CHILDREN);
	lost = copy_ring_read(&ring, record, take, NULL);
	ok(seen.forks == CHILDREN && seen.last == last && lost == 0,
	   "then all children come, in order: %u", seen.forks);
	seen.forks = 0;
	copy_ring_read(&ring, record, take, NULL);
	is_int(seen.forks, 0, "once");
	fork_some(20 * CHILDREN);
	copy_ring_read(&ring, record, take, NULL);
	ok(seen.forks > 0 && seen.forks < 20 * CHILDREN, "a small buffer has no room for many");
	seen.forks = 0;
	last = fork_some(1);
	lost = copy_ring_read(&ring, record, take, NULL);
	ok(seen.forks == 1 && seen.last == last && lost > 0,
	   "it goes on, and what is lost is told");
	ok(copy_ring_enable(&ring, false) == 0, "it is switched off");
	seen.forks = 0;
	fork_some(1);
	copy_ring_read(&ring, record, take, NULL);
	is_int(seen.forks, 0, "and nothing comes");
	copy_ring_close(&ring);
	ring = COPY_RING_NONE;
	ok(copy_ring_open(&ring, 4095, &attr, 4096, NULL, &err) < 0 || ring.fd < 0,
	   "a processor that is not there has none");
	copy_ring_close(&ring);
	return tap_done();
}
