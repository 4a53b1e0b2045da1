/* SPDX-License-Identifier: Apache-2.0 */
/* What dfg-setup status tells: as dfg-doctor's findings. */
#ifndef DFG_CMD_SETUP_STATUS_H
#define DFG_CMD_SETUP_STATUS_H

#include "doctor/probe.h"

/* Which containers get the mounts, by dfg.conf. */
void status_selection(const struct probe *p);

/* Which of the running ones have them. */
void status_running(const struct probe *p);

#endif
