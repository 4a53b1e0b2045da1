// SPDX-License-Identifier: Apache-2.0
/* The kernel's figures of a control group: texts, differences, and groups that are real. */
#include "discover/cpu_watch.h"

#include <math.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/proc.h"
#include "lib/tap.h"

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static void test_texts(void)
{
	static const char stat[] = "usage_usec 12\nnr_periods 7\nnr_throttled 3\nthrottled_usec 9";
	struct cpu_counters c;

	ok(near(cpu_limit_parse("50000 100000\n"), 0.5), "a limit of half a processor");
	ok(near(cpu_limit_parse("max 100000\n"), 0), "no limit");
	ok(cpu_limit_parse("max") < 0 && cpu_limit_parse("") < 0, "a text of another form");
	ok(near(cpu_limit_parse("1x 5"), 0), "a quota that is no number is none");
	is_int(cpu_counter_parse(stat, "usage_usec"), 12, "the first counter");
	is_int(cpu_counter_parse(stat, "throttled_usec"), 9, "the last one");
	is_int(cpu_counter_parse(stat, "nr_period"), -1, "a part of a name is another");
	is_int(cpu_counter_parse("", "x"), -1, "an empty text has none");
	is_int(cpu_counter_parse("x -1\n", "x"), -1, "counters are not negative");
	is_int(cpu_pressure_parse(
		       "some avg10=1.00 avg60=2.00 avg300=3.00 total=77\nfull total=5\n"),
	       77, "the pressure of some");
	is_int(cpu_pressure_parse("full avg10=0 total=5\n"), -1, "not that of all");
	cpu_machine_parse("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1\n", &c);
	ok(c.machine == 36 && c.stolen == 8, "the machine's time, without that of its guests");
	cpu_machine_parse("cpu  1 2 3\n", &c);
	ok(c.machine == -1 && c.stolen == -1, "an old kernel has no steal");
	cpu_machine_parse("intr 1\n", &c);
	ok(c.machine == -1, "a text of another form has neither");
}

static void test_differences(void)
{
	const struct cpu_counters a = {1000000, 5, 10, 2, 100, 500, 50, 5};
	const struct cpu_counters b = {3000000, 1000005, 110, 14, 3000100, 1000500, 150, 15};
	const struct cpu_counters none = {3000000, -1, -1, -1, -1, -1, -1, -1};
	struct session_cpu cpu = SESSION_CPU_UNKNOWN;

	cpu_difference(&a, &none, &cpu);
	ok(cpu.used < 0 && cpu.steal < 0 && cpu.pressure < 0 && cpu.throttled_periods < 0 &&
		   cpu.throttled_seconds < 0,
	   "counters that are gone are not known");
	cpu_difference(&b, &a, &cpu);
	ok(cpu.used < 0 && cpu.throttled_periods < 0, "nor those that went back");
	cpu_difference(&a, &b, &cpu);
	ok(near(cpu.used, 0.5), "processors used");
	ok(near(cpu.pressure, 0.5), "pressure");
	ok(near(cpu.steal, 0.1), "steal");
	ok(near(cpu.throttled_periods, 0.12), "share of periods");
	ok(near(cpu.throttled_seconds, 3), "seconds");
	cpu_difference(&a, &a, &cpu);
	ok(near(cpu.throttled_periods, 0), "without a period there is no throttling");
}

/* This process, alone and as if its group were a container's. */
static void test_self(void)
{
	CLEANUP(close_fd) int procfd = proc_open(getpid(), NULL);
	struct container c = {.id = (char *)"x", .pid = getpid()};
	struct cpu_watch w = CPU_WATCH_NONE;
	struct session_cpu cpu;

	cpu_watch_read(&w, &cpu);
	ok(cpu.processors < 0 && cpu.limit < 0, "before it begins nothing is known");
	if (procfd < 0 || proc_start_time(procfd, &c.start, NULL) < 0)
		abort();
	for (int single = 0; single < 2; single++) {
		c.is_single = single;
		cpu_watch_begin(&c, &w);
		sleep_ms(50);
		cpu_watch_read(&w, &cpu);
		ok(cpu.processors >= 1, "the machine has processors");
		ok(cpu.used < 1000 && cpu.limit < 10000, "usage and limit are sane, or not known");
		ok(!single || cpu.used < 0, "a process alone is not its group");
	}
	c.start++;
	cpu_watch_begin(&c, &w);
	cpu_watch_read(&w, &cpu);
	ok(cpu.used < 0 && cpu.limit < 0, "another process has its pid: nothing of it is read");
	cpu_watch_fini(&w);
	is_int(w.limited, -1, "what is released is closed");
}

int main(void)
{
	test_texts();
	test_differences();
	test_self();
	return tap_done();
}
