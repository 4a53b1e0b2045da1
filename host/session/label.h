/* SPDX-License-Identifier: Apache-2.0 */
/* What a container is called, in messages, titles and graphs, and on the command line. */
#ifndef DFG_SESSION_LABEL_H
#define DFG_SESSION_LABEL_H

#include "common/str.h"

/* "web", or of a pod "shop/web-1/app". pod and namespace are "" where there is none. Owned. */
static inline char *container_label(const char *namespace, const char *pod, const char *name)
{
	return *pod ? xasprintf("%s%s%s/%s", namespace, *namespace ? "/" : "", pod, name)
		    : xstrdup(name);
}

#endif
