// SPDX-License-Identifier: Apache-2.0
/* Clocks and texts of time. Deadlines are in test_child.c, where they are used. */
#include "common/clock.h"

#include <sys/resource.h>
#include <time.h>

#include "common/str.h"
#include "lib/tap.h"

static uint64_t now_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void check_between(uint64_t low, uint64_t at, uint64_t high, const char *name)
{
	ok(low <= at && at <= high, "%s", name);
	if (low > at || at > high)
		printf("# %llu %llu %llu\n", (unsigned long long)low, (unsigned long long)at,
		       (unsigned long long)high);
}

static void test_clocks(void)
{
	uint64_t before = now_us(CLOCK_MONOTONIC), at = clock_us();

	check_between(before, at, now_us(CLOCK_MONOTONIC), "microseconds are the system's");
	before = now_us(CLOCK_MONOTONIC) / 1000;
	at = clock_ms();
	check_between(before, at, now_us(CLOCK_MONOTONIC) / 1000, "so are milliseconds");
	before = now_us(CLOCK_THREAD_CPUTIME_ID);
	at = clock_cpu_us();
	check_between(before, at, now_us(CLOCK_THREAD_CPUTIME_ID),
		      "processor time is this thread's");
}

/* Counts what takes less than a tick, too, in a process that has a limit. */
static void test_limit(void)
{
	const struct rlimit limit = {3600, 3600};
	unsigned counted = 0;
	volatile unsigned n = 0;

	ok(setrlimit(RLIMIT_CPU, &limit) == 0, "a limit of processor time");
	for (unsigned i = 0; i < 20; i++) {
		const uint64_t before = clock_cpu_us();

		for (unsigned k = 0; k < 50000; k++)
			n++;
		counted += clock_cpu_us() > before;
		sleep_ms(1);
	}
	is_int(counted, 20, "each piece of work takes some");
}

static void test_sleep(void)
{
	uint64_t began = clock_us();

	sleep_ms(0);
	sleep_ms(15);
	ok(clock_us() - began >= 15000, "a sleep is not shorter than asked");
}

static void test_texts(void)
{
	static const struct {
		const char *text;
		int64_t want;
		const char *name;
	} t[] = {
		{"1970-01-01T00:00:01Z", 1, "the first second"},
		{"2026-11-21T10:00:00Z", 1795255200, "a time of today, in UTC"},
		{"2026-02-29T00:00:00Z", 1772323200, "a day too many is one of the next month"},
		{"", 0, "no text is no time"},
		{"yesterday", 0, "a word is none"},
		{"2026-11-21", 0, "nor is a day alone"},
		{"2026-11-21 10:00:00", 0, "nor is a time with a blank"},
	};

	setenv("TZ", "America/New_York", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		is_int(clock_of(t[i].text), t[i].want, "%s", t[i].name);
}

int main(void)
{
	test_clocks();
	test_limit();
	test_sleep();
	test_texts();
	return tap_done();
}
