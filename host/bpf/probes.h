/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the functions of libjvm that events are taken at (enum flat_probe). The file is untrusted.
 */
#ifndef DFG_BPF_PROBES_H
#define DFG_BPF_PROBES_H

#include "bpf/flat_tables.h"

/* Offsets in the file; 0: it has no such function, or none where a probe is cheap. */
struct flat_probes {
	uint64_t offset[FLAT_PROBE_COUNT];
};

/* True if the functions are there without which an event has nothing to say. */
static inline bool flat_has_event(const struct flat_probes *p, enum flat_event event)
{
	if (event == FLAT_EVENT_LOCK)
		return p->offset[FLAT_PROBE_ENTER] && p->offset[FLAT_PROBE_ENTERED];
	if (event == FLAT_EVENT_SAFEPOINT)
		return p->offset[FLAT_PROBE_BEGIN] && p->offset[FLAT_PROBE_END];
	return p->offset[FLAT_PROBE_TLAB];
}

/* fd stays the caller's. All 0 where it is no ELF file with a .symtab. */
void flat_find_probes(int fd, struct flat_probes *ret);

#endif
