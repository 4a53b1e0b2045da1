/* SPDX-License-Identifier: Apache-2.0 */
/* One map of a JVM's compiled code, by the way that works: the resident agent, an agent loaded now,
 * or the host's own reader of the JVM's memory. */
#ifndef DFG_SNAPSHOT_H
#define DFG_SNAPSHOT_H

#include "container.h"
#include "dfg/err.h"
#include "jvm.h"
#include "session.h"

enum snapshot_source {
	SOURCE_AUTO, /* agent, else host */
	SOURCE_AGENT,
	SOURCE_HOST,
};

enum snapshot_trigger {
	TRIGGER_AUTO, /* by file; a first load carries the request with it */
	TRIGGER_FILE,
	TRIGGER_SIGNAL,
	TRIGGER_LOAD,
};

struct snapshot_options {
	const char *root;
	enum snapshot_source source;
	enum snapshot_trigger trigger;
	bool keep_flags; /* leave DebugNonSafepoints as it is */
};

/* Takes a snapshot into the session and notes in `jvm` (of the session) how it went. Fails only
 * when no map came out; the reason is in `jvm->note` too. */
MUST_CHECK int snapshot_take(struct session *s, const struct container *c, const struct jvm *j,
			     const struct snapshot_options *o, struct session_jvm *ret,
			     struct err *err);

#endif
