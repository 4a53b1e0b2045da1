/* SPDX-License-Identifier: Apache-2.0 */
/* A processor's event of ours, and its buffer: samples that the program leaves to the kernel, and
 * the records of mappings, names, forks and ends (perf_event_open(2)). */
#ifndef DFG_BPF_COPY_RING_H
#define DFG_BPF_COPY_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct bpf_program;
struct bpf_link;

struct copy_ring {
	int fd; /* of the event; -1: the processor is off */
	size_t bytes;
	struct perf_event_mmap_page *page;
	struct bpf_link *link;
	int counted_fd; /* of the event that the kernel counts; -1: none */
	struct bpf_link *counted;
};
#define COPY_RING_NONE                                                                             \
	(struct copy_ring)                                                                         \
	{                                                                                          \
		.fd = -1, .counted_fd = -1                                                         \
	}

/* Opens a disabled event, with a buffer of so many bytes, a power of 2, that calls the program for
 * each sample. NULL: none. */
MUST_CHECK int copy_ring_open(struct copy_ring *ring, unsigned cpu,
			      const struct perf_event_attr *attr, size_t bytes,
			      const struct bpf_program *sampled, struct err *err);

/* Adds an event without a buffer, which calls a program. */
MUST_CHECK int copy_ring_count(struct copy_ring *ring, unsigned cpu,
			       const struct perf_event_attr *attr,
			       const struct bpf_program *counted, struct err *err);
void copy_ring_close(struct copy_ring *ring);

/* Switches both on or off. -1, with errno. */
MUST_CHECK int copy_ring_enable(const struct copy_ring *ring, bool on);

/* Hands over what has come, one by one, in a buffer of 64 KiB. Returns how many are lost. */
uint64_t copy_ring_read(struct copy_ring *ring, uint8_t *record,
			void (*take)(void *arg, const struct perf_event_header *h), void *arg);

#endif
