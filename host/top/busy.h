/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread is there for, by its name: HotSpot names its own (src/hotspot/share/gc,
 * compiler/compileBroker.cpp, runtime/vmThread.cpp; JDK 8 to 26). */
#ifndef DFG_TOP_BUSY_H
#define DFG_TOP_BUSY_H

#include "top/view.h"

/* BUSY_APPLICATION for all that HotSpot does not name. Blanks may be '_', a container's name and
 * '/' may come first, and the kernel's 15 bytes will do. */
enum busy busy_thread(const char *name);

/* An operation of the VM thread that collects garbage (JDK 8 to 26: VM_GenCollectForAllocation,
 * VM_G1CollectFull, …): the serial collector has no thread of its own. */
bool busy_is_collection(const struct frame *f);

#endif
