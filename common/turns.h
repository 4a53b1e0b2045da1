/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of a run's processes that all have much to do at once: as many as there are processors
 * (parallel_cpus) work at a time. Fifty readers that share two processors would all end late, and
 * all keep their memory until then.
 *
 * A process that gets no turn in time works without one, and gives back its own after TURN_HELD_MS
 * at the latest: a container that makes its readers wait delays others no longer than that. The
 * turn of a process that is killed is lost. */
#ifndef DFG_COMMON_TURNS_H
#define DFG_COMMON_TURNS_H

#include <stdbool.h>

#define TURN_HELD_MS  500
#define TURN_FIRST_MS 10000 /* before the recording, which does not wait as long */
#define TURN_MS	      2000

/* A descriptor for the run's processes; -1: there are none, and nobody waits. */
int turns_make(void);

/* Waits up to `ms`. True: the caller has a turn, which it must give back. */
bool turn_take(int turns, int ms);
void turn_give_back(int turns);

#endif
