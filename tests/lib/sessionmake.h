/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a session at a path. */
#ifndef DFG_LIB_SESSIONMAKE_H
#define DFG_LIB_SESSIONMAKE_H

#include "common/str.h"
#include "session/session.h"

static inline int sessionmake(const char *path, struct session *ret, struct err *err)
{
	CLEANUP(outdir_close) struct outdir in = {0};
	CLEANUP(free) char *above = xstrdup(path);
	char *name = strrchr(above, '/');

	*name++ = '\0';
	return outdir_open(above, 0755, &in, err) < 0 ? -1 : session_create(&in, name, ret, err);
}

#endif
