/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of a process's functions (uprobes), and the events they send. */
#ifndef DFG_BPF_PROBE_EVENTS_H
#define DFG_BPF_PROBE_EVENTS_H

#include <stddef.h>

#include "common/err.h"
#include "kernel/flat_tables.h"

#define STACK_REGISTERS 64 /* at most, of perf */

/* The detail of an event. Borrowed, but for the registers. */
struct stack_event {
	uint64_t amount;
	/* As in struct flat_detail. */
	uint64_t holder, asker, part, operation, heap_before, heap_after;
	uint32_t asker_tid, holder_tid, level, place;
	uint32_t flags; /* FLAT_OUTSIDE … */
	/* Of a class; not clean, without a NUL at the end. With FLAT_PEER a struct flat_peer. */
	const char *name;
	size_t name_len;
	const char *thread; /* of the virtual thread, likewise */
	size_t thread_len;
	/* Of a stack that was not walked: registers of UNWIND_PERFMASK, and what is there from the
	 * stack pointer on; stack is NULL otherwise. */
	uint64_t regs[STACK_REGISTERS];
	const uint8_t *stack;
	size_t stack_len;
};

/* Reads the detail (struct flat_detail) that follows the frames of a sample, in `left` bytes.
 * False: it contradicts itself. */
bool stack_event_of(const struct flat_sample *s, const void *detail, size_t left,
		    struct stack_event *ret);

struct bpf_map;

/* Has an array of programs, or of maps, refer to one. */
MUST_CHECK int stack_probes_set(const struct bpf_map *map, uint32_t number, int fd,
				struct err *err);

/* A hash map: bytes of keys and values, and how many there may be; or, without keys, a ring of so
 * many bytes. */
struct stack_probes_map {
	uint32_t key, value, most;
};

/* Makes a map of an array of maps for a walker, or shares that of the one before, whose threads
 * still wait (-1: none). Returns its descriptor: by its id only CAP_SYS_ADMIN gets one
 * (kernel/bpf/syscall.c, bpf_map_get_fd_by_id). */
MUST_CHECK int stack_probes_share(struct bpf_map *outer, uint32_t number, int before,
				  const struct stack_probes_map *like, struct err *err);

struct bpf_program;
struct stack_probes;

/* Says whether one link can have all probes of a process (Linux 6.10; 6.6 from 6.6.35 on). The
 * kernel waits some tenths of a second for each link that is closed, and of links with one probe
 * each nobody can open another meanwhile. */
bool stack_probes_can_join(void);

/* Has a program, before it is loaded, called by such links. */
void stack_probes_join(struct bpf_program *program);

/* Has the program called at places of a file that is mapped at [start, end) in the process, until
 * the probes are closed, or their process has no more threads, or this one ends. Places of offset 0
 * are left out, and those for events (bits of enum flat_event) that are not wanted. Fails where the
 * kernel refuses. */
MUST_CHECK int stack_probes_open(const struct bpf_program *program, uint32_t pid, uint64_t start,
				 uint64_t end, const struct flat_probes *at, unsigned events,
				 struct stack_probes **ret, struct err *err);
void stack_probes_close(struct stack_probes *p); /* NULL is fine */

#endif
