/* SPDX-License-Identifier: Apache-2.0 */
/* Session -> pictures, in a child process that has given up everything but the descriptors it
 * holds: all it reads was written or influenced by containers. */
#ifndef DFG_RENDER_H
#define DFG_RENDER_H

#include <stdint.h>

#include "dfg/err.h"
#include "formats.h"
#include "session.h"
#include "stacks.h"

/* What the child says of the profile; texts are clean. */
struct render_result {
	struct quality quality;
	uint64_t cut;	/* bytes of a damaged recording left out */
	char leaf[512]; /* the frame with most samples of its own, "" without samples */
	uint64_t leaf_self;
	char path[2048]; /* the stack with most samples, "a;b;c", cut in the middle if long */
	uint64_t path_self;
};

/* Draws the session into `outdir` (an existing directory), each file under its format's name,
 * replaced only when it is whole. */
MUST_CHECK int render_session(const struct session *s, const struct format_set *formats,
			      const char *outdir, struct render_result *ret, struct err *err);

#endif
