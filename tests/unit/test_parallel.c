// SPDX-License-Identifier: Apache-2.0
/* Work in threads; where there can be none: test_confine.c. */
#include "common/parallel.h"

#include <pthread.h>
#include <sched.h>

#include "common/str.h"
#include "lib/tap.h"

#define CALLS_MAX 64

static unsigned calls[CALLS_MAX];
static pthread_t threads[CALLS_MAX];

static void note(void *arg, size_t i)
{
	calls[i] += *(unsigned *)arg;
	threads[i] = pthread_self();
}

static void check_run(size_t n)
{
	unsigned each = 3;
	size_t right = 0, others = 0;

	memset(calls, 0, sizeof(calls));
	parallel_run(n, note, &each);
	for (size_t i = 0; i < CALLS_MAX; i++)
		right += calls[i] == (i < n ? each : 0);
	for (size_t i = 1; i < n; i++)
		others += !pthread_equal(threads[i], pthread_self());
	is_int((int64_t)right, CALLS_MAX, "each of %zu parts is called once", n);
	ok(n == 0 || pthread_equal(threads[0], pthread_self()), "the first by the caller");
	is_int((int64_t)others, n ? (int64_t)n - 1 : 0, "each other by a thread of its own");
}

static void test_cpus(void)
{
	cpu_set_t all, one;
	size_t first = 0;

	if (sched_getaffinity(0, sizeof(all), &all) < 0) {
		ok(true, "processors # SKIP more than this test knows");
		return;
	}
	is_int((int64_t)parallel_cpus(), CPU_COUNT(&all), "a process may run on its processors");
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		abort();
	is_int((int64_t)parallel_cpus(), 1, "not on others");
	sched_setaffinity(0, sizeof(all), &all);
}

int main(void)
{
	check_run(0);
	check_run(1);
	check_run(2);
	check_run(17);
	test_cpus();
	return tap_done();
}
