/* SPDX-License-Identifier: Apache-2.0 */
/* Takes from a ring of the kernel's which code a container's JVMs have just made, and asks the
 * readers of their memory for it, so that the tables have it before the next snapshot; and when
 * they unload classes, which the readers put into that. */
#ifndef DFG_BPF_MADE_H
#define DFG_BPF_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/flat_tables.h"

/* ---- the list ----------------------------------------------------------------------------- */

/* A ring of the kernel's (BPF_MAP_TYPE_RINGBUF) of one page. */
struct made_list {
	int fd; /* readable when code has been made; -1: there is no list */
	uint64_t *read, page;
	const uint8_t *ring; /* how much was written, and then, twice, what */
};
#define MADE_LIST_NONE ((struct made_list){.fd = -1})

/* Maps the list; fd becomes its own, or is closed where there is one already. Without a list
 * nothing is made. */
void made_list_map(struct made_list *l, int fd);
void made_list_unmap(struct made_list *l);

/* Takes the next code that was made, by any process of the container; false: there is none. */
bool made_list_next(struct made_list *l, struct flat_made *ret);

/* ---- the reader --------------------------------------------------------------------------- */

/* A question (socket of SOCK_SEQPACKET): starts of codes and ids of methods, and what the next
 * snapshot is to have: times of unloading (with FLAT_UNLOADS), and codes that samples were taken in
 * (with MADE_KEEP); at most so many. It is answered by a struct made_answer and the delta of
 * hs_dump_codes; without it, if that would have more bytes or the memory cannot be read. */
#define MADE_KEEP   (1ull << 62)
#define MADE_ASKED  64u
#define MADE_ANSWER (96u << 10)
struct made_answer {
	uint64_t cpu_us; /* what it cost */
};

#define MADE_RECENT 64u

struct made_reader {
	int sock;     /* to the JVM's reader; -1: there is none */
	bool waiting; /* for an answer */
	size_t count;
	uint64_t wanted[MADE_ASKED];
	/* The last ones that were answered, and when they were asked (ns). */
	struct {
		uint64_t start, time;
	} recent[MADE_RECENT];
	size_t next;
	uint64_t asked; /* ns */
};

/* Adds a code to the next question; what is too much is left to snapshots. */
void made_reader_want(struct made_reader *r, uint64_t start);

/* Adds the codes asked for since a time again: a snapshot that began then may have older code in
 * their place. */
void made_reader_want_since(struct made_reader *r, uint64_t time);

/* Asks, unless an answer is still to come, or nothing is wanted. */
void made_reader_ask(struct made_reader *r);

/* Takes an answer into a buffer (8-byte aligned) of sizeof(struct made_answer) + MADE_ANSWER bytes.
 * Returns its bytes, 0: nobody answers any more. */
size_t made_reader_answer(struct made_reader *r, void *buf);

#endif
