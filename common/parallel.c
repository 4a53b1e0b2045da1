// SPDX-License-Identifier: Apache-2.0
#include "common/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "common/str.h"

struct parallel_part {
	void (*fn)(void *arg, size_t i);
	void *arg;
	size_t i;
	pthread_t thread;
	bool started;
};

size_t parallel_cpus(void)
{
	cpu_set_t set;

	/* Also fails with more than 1024 CPUs. */
	return sched_getaffinity(0, sizeof(set), &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

static void *run(void *arg)
{
	struct parallel_part *p = arg;

	p->fn(p->arg, p->i);
	return NULL;
}

void parallel_run(size_t n, void (*fn)(void *arg, size_t i), void *arg)
{
	CLEANUP(free) struct parallel_part *parts = xcalloc(n, sizeof(*parts));

	for (size_t i = 0; i < n; i++)
		parts[i] = (struct parallel_part){.fn = fn, .arg = arg, .i = i};
	for (size_t i = 1; i < n; i++)
		parts[i].started = pthread_create(&parts[i].thread, NULL, run, &parts[i]) == 0;
	for (size_t i = 0; i < n; i++)
		if (!parts[i].started)
			fn(arg, i);
	for (size_t i = 1; i < n; i++)
		if (parts[i].started)
			pthread_join(parts[i].thread, NULL);
}
