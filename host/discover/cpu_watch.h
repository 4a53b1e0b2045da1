/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a container's control group and the machine did with the processors between two times:
 * usage, limit, throttling, pressure (PSI), steal. Of cgroup v1 and v2. What cannot be read is not
 * known: nothing here fails. */
#ifndef DFG_DISCOVER_CPU_WATCH_H
#define DFG_DISCOVER_CPU_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "discover/container.h"
#include "session/session.h"

/* Counters of the kernel; below 0: not known. Times in µs. */
struct cpu_counters {
	uint64_t at; /* clock_us() */
	int64_t used, periods, throttled, throttled_us, pressure_us;
	int64_t machine, stolen; /* of /proc/stat, in its unit */
};

struct cpu_watch {
	/* Directories of control groups, -1: none. The limit is the lowest of the group's and of
	 * those above it; `limited` has it. */
	int usage, limited, pressure;
	bool v1;
	double limit; /* processors, 0: none, below 0: not known */
	struct cpu_counters begin;
};

/* Parse the kernel's texts. */
double cpu_limit_parse(const char *max);		       /* cpu.max; as cpu_watch.limit */
int64_t cpu_counter_parse(const char *text, const char *name); /* a line of cpu.stat, or -1 */
int64_t cpu_pressure_parse(const char *text);		       /* "some … total=N", or -1 */
void cpu_machine_parse(const char *text, struct cpu_counters *ret); /* /proc/stat */

/* The figures between two readings. */
void cpu_difference(const struct cpu_counters *begin, const struct cpu_counters *end,
		    struct session_cpu *ret);

/* Begins; an earlier watch is released. */
void cpu_watch_begin(const struct container *c, struct cpu_watch *w);

/* Fills *ret with what is known since then. May be called again. */
void cpu_watch_read(const struct cpu_watch *w, struct session_cpu *ret);

#define CPU_WATCH_NONE ((struct cpu_watch){.usage = -1, .limited = -1, .pressure = -1})
void cpu_watch_fini(struct cpu_watch *w);

#endif
