/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of functions of this program, which its children have, too, and a recorder of one of
 * them. */
#ifndef DFG_LIB_OWNPROBES_H
#define DFG_LIB_OWNPROBES_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/recorder.h"
#include "common/str.h"
#include "lib/stackrecorder.h"

struct own_probes {
	uint64_t start, end; /* executable memory */
	struct flat_probes at;
};

/* Finds the executable memory with this function, and where the probes are in the file. */
static void own_probes_find(uint64_t function, struct own_probes *ret)
{
	CLEANUP(close_fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t start, end;
	char line[4400];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && function >= start &&
		    function < end) {
			ret->start = start;
			ret->end = end;
		}
	if (maps)
		fclose(maps);
	flat_find_probes(fd, -1, &ret->at);
}

/* Skips the test where programs cannot be loaded. */
static void own_probes_require(const struct stack_recorder_config *c)
{
	struct stack_recorder *r;
	struct err err;

	if (stack_recorder_open(c, &r, &err) == 0) {
		stack_recorder_close(r);
		return;
	}
	printf("1..0 # SKIP %s\n", err.msg);
	exit(0);
}

/* ---- a recorder of a child ----------------------------------------------------------------- */

struct watched {
	struct filled_recorder f;
	struct stack_probes *probes;
};

typedef void watched_event(void *arg, const struct flat_sample *s, const uint64_t *frames,
			   const struct stack_event *e);

static void watched_walked(void *arg, const struct flat_sample *s, const uint64_t *frames)
{
	(void)s;
	(void)frames;
	++*(unsigned *)arg;
}

static void watched_record(void *arg, const struct perf_event_header *h)
{
	*(unsigned *)arg += h->type == PERF_RECORD_SAMPLE;
}

/* Hands over the events that have come since the last call. Returns how many other samples have. */
static unsigned watched_read(const struct watched *w, watched_event *take)
{
	unsigned samples = 0;
	const struct stack_handler handler = {
		.arg = &samples, .walked = watched_walked, .event = take, .record = watched_record};
	struct err err;

	if (stack_recorder_read(w->f.recorder, &handler, &err) < 0)
		printf("# %s\n", err.msg);
	return samples;
}

/* Sets the probes of an event in a child. */
static void watched_probe(const struct watched *w, pid_t pid, const struct own_probes *own,
			  enum flat_event event, struct stack_probes **ret)
{
	struct err err;

	if (stack_recorder_probe(w->f.recorder, (uint32_t)pid, own->start, own->end, &own->at,
				 1u << event, ret, &err) < 0) {
		printf("# %s\n", err.msg);
		abort();
	}
}

/* Begins to record a child; p: as what the program knows it, NULL: it does not. */
static void watched_open(struct watched *w, const struct stack_recorder_config *c,
			 struct flat_tables *t, pid_t pid, const struct flat_process *p,
			 const struct own_probes *own, enum flat_event event)
{
	struct err err;

	*w = (struct watched){0};
	if (filled_recorder_open(c, t, false, &w->f, &err) < 0 ||
	    (p && filled_recorder_add(&w->f, (uint32_t)pid, p, &err) < 0) ||
	    stack_recorder_enable(w->f.recorder, true, &err) < 0) {
		printf("# %s\n", err.msg);
		abort();
	}
	watched_probe(w, pid, own, event, &w->probes);
}

static void watched_close(struct watched *w)
{
	stack_probes_close(w->probes);
	filled_recorder_close(&w->f);
}

#endif
