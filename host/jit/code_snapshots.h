/* SPDX-License-Identifier: Apache-2.0 */
/* A code history while it is read: the records of its snapshots. */
#ifndef DFG_JIT_CODE_SNAPSHOTS_H
#define DFG_JIT_CODE_SNAPSHOTS_H

#include "common/filemap.h"
#include "common/table.h"
#include "jit/code_history.h"
#include "jit/interval_tree.h"

#define NEVER UINT32_MAX

struct snapshot {
	uint64_t begin, end; /* time it was taken; never before the end of its predecessor */
	bool whole;	     /* code it does not list is gone */
	bool methods_known;  /* a method that no snapshot has named so far has not run */
	bool methods_whole;  /* the same, and a method that it does not name is gone */
	/* Taken long after its predecessor, and most code compiled since is already gone: what
	 * changed in between may have changed more than once. */
	bool restless;
	uint32_t codes; /* codes and lists of gone code that were read before it */
	uint32_t gone;
};

/* A METHOD record, or several equal ones. */
struct method_life {
	uint64_t id;
	bool asked; /* the last of them is an ASKED: it need not be in its snapshot */
	const struct snap_method *record;
	uint32_t named;	      /* the first snapshot that has its record */
	uint32_t first, last; /* snapshots it was, or could have been, in */
	uint32_t gone;	      /* the next snapshot that it is not in */
};

struct java_thread {
	uint32_t tid; /* in the JVM's pid namespace */
	uint32_t name_len;
	const char *name;
};

struct snapfile {
	struct filemap *maps; /* records are used in place */
	size_t map_count, map_cap;
	struct snap_head head;
	struct snap_layout layout;
	struct snap_objects objects;
	struct snapshot *snapshots;
	size_t snapshot_count, snapshot_cap;
	/* In the order of the records; one that continues another has no life of its own. */
	struct snapfile_code *codes;
	size_t code_count, code_cap;
	/* Codes that need not be in their snapshots, `from`; after snapfile_finish by start. */
	struct snapfile_code *asked;
	size_t asked_count, asked_cap;
	struct method_life *methods; /* after snapfile_finish by id, then by time */
	size_t method_count, method_cap;
	const struct snap_gone **gone;
	size_t gone_count, gone_cap;
	uint64_t *unloads; /* times; after snapfile_finish ascending */
	size_t unload_count, unload_cap;
	struct lifetree tree;
	struct snapfile_stub *stubs; /* after snapfile_finish by address */
	size_t stub_count, stub_cap;
	struct java_thread *threads; /* in the order of time */
	size_t thread_count, thread_cap;
	struct keyed *by_tid; /* tid -> number of a thread; sorted */
};

/* Find out from the records of all snapshots in which of them each code and each method was. */
void snapfile_live_codes(struct snapfile *sf);
void snapfile_live_methods(struct snapfile *sf);

/* True if both records have the same names. */
bool snapfile_same_method(const struct snap_method *a, const struct snap_method *b);

#endif
