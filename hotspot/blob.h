/* SPDX-License-Identifier: Apache-2.0 */
/* A block of a code heap as a CodeBlob (code/codeBlob.hpp): its code, and whose it is.
 *
 * The code reported is code_begin to code_end: what jcmd Compiler.perfmap reports too. In a
 * compiled method that is entry, body, and the stub section behind it (exception and deoptimisation
 * handlers, static call stubs), all of which executes; constants in front and metadata behind are
 * outside. */
#ifndef HS_BLOB_H
#define HS_BLOB_H

#include "hotspot/heap.h"

#define HS_BLOB_NAME_MAX 256

/* More than any release's headers of a block and an nmethod: what hs_blob_read looks at. */
#define HS_BLOB_HEADER 512

/* The same of this release: what hs_blob_read and hs_blob_print look at. */
size_t hs_blob_header(const struct hs *hs);

struct hs_blob {
	uint64_t start; /* of the CodeBlob */
	uint64_t size;	/* bytes of the CodeBlob */
	uint64_t code, code_end;
	uint64_t name;	 /* address of the text */
	uint64_t method; /* Method*; 0 unless it is an nmethod */
	bool is_nmethod;
};

/* A compiled method whose class has been unloaded (nmethod::make_unloaded, JDK 17): it is on
 * no stack, and waits for the sweeper. */
static inline bool hs_blob_is_dead(const struct hs_blob *blob)
{
	return blob->is_nmethod && blob->method == 0;
}

/* text gets CodeBlob::_name. False: the block is not, or not yet, or no longer, a blob that holds
 * together. */
bool hs_blob_read(struct hs *hs, const struct hs_block *block, struct hs_blob *ret,
		  char text[HS_BLOB_NAME_MAX]);

/* A number that stands for all that tells this blob from another one in its place, hashed: 0 for
 * a compiled method that is still being made (nmethod::not_installed, JDK 9 and later). */
uint32_t hs_blob_print(struct hs *hs, const struct hs_blob *blob);

/* Whether the block, read again, is the same blob. */
bool hs_blob_still(struct hs *hs, const struct hs_heap *heap, const struct hs_block *block,
		   const struct hs_blob *blob);

#endif
