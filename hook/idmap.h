/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/uid_map and gid_map (user_namespaces(7)). Pure. */
#ifndef HOOK_IDMAP_H
#define HOOK_IDMAP_H

#include <stdbool.h>
#include <stdint.h>

/* The host's id of id 0 in the map; false when 0 is not mapped or the text is no map. */
bool idmap_root(const char *text, uint32_t *ret);

/* Whether it is the one line that maps all ids to themselves: the initial user namespace. */
bool idmap_is_full(const char *text);

#endif
