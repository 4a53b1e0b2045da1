/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the reader of snapshots: what its files share. */
#ifndef DFG_JIT_SNAPFILE_INSIDE_H
#define DFG_JIT_SNAPFILE_INSIDE_H

#include "common/filemap.h"
#include "dfg/bytes.h"
#include "jit/interval_tree.h"
#include "jit/snapfile.h"

struct snapshot {
	uint64_t begin, end; /* it was taken; never before the one in front of it */
	bool whole;	     /* what it does not have is not there */
	bool methods_known;  /* what has not been named by then has not run */
	bool methods_whole;  /* the same, and what it does not name is not there any more */
	/* The one before it is long ago, and most code that was compiled since is gone again: what
	 * changed in between may have changed more than once. */
	bool restless;
	uint32_t codes; /* codes and lists of gone code that were read before it */
	uint32_t gone;
};

/* A METHOD record, or several that say the same. */
struct method_life {
	uint64_t id;
	const struct snap_method *record;
	uint32_t first, last; /* snapshots it was, or could have been, in */
	uint32_t gone;	      /* the next one that it is not in */
};

struct snapfile {
	/* The files; aligned, so that records are used where they are. */
	struct filemap *maps;
	size_t map_count, map_cap;
	void **copies;
	size_t copy_count, copy_cap;
	struct snap_head head;
	struct snapshot *snapshots;
	size_t snapshot_count, snapshot_cap;
	/* As they were read; behind snapfile_finish one for each life. */
	struct snapfile_code *codes;
	size_t code_count, code_cap;
	struct method_life *methods; /* behind snapfile_finish in the order of their ids */
	size_t method_count, method_cap;
	const struct snap_gone **gone;
	size_t gone_count, gone_cap;
	struct lifetree tree;
	struct snapfile_stub *stubs; /* behind snapfile_finish by address */
	size_t stub_count, stub_cap;
};

/* Tells from the records of all snapshots when each code and each method was there. */
void snapfile_live_codes(struct snapfile *sf);	 /* snapfile_live.c */
void snapfile_live_methods(struct snapfile *sf); /* snapfile_methods.c */

/* snapfile_stubs.c */
void snapfile_add_stub(struct snapfile *sf, struct bytes b);
void snapfile_sort_stubs(struct snapfile *sf);

/* Whether what is in the snapshots [first, gone) can be believed to be there at the span's time. */
bool snapfile_is_sure(const struct snapfile *sf, uint32_t first, uint32_t gone,
		      struct snapfile_span span);

/* The method with this id as the snapshot has it, or one before it. */
bool snapfile_method_at(const struct snapfile *sf, uint64_t id, uint32_t snapshot,
			struct snapfile_method *ret);

#endif
