/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of a run's processes that all have much to do at once: as many as the machine has
 * processors work at a time. Fifty readers that share two processors would all end late, and all
 * keep their memory until then.
 *
 * Who gets no turn in time works without one, and each gives its own back after TURN_HELD_MS at the
 * latest: a container that makes its readers wait delays others no longer, and nor does a process
 * that is killed with its turn. */
#ifndef DFG_COMMON_TURNS_H
#define DFG_COMMON_TURNS_H

#include <stdbool.h>

#define TURN_HELD_MS  500
#define TURN_FIRST_MS 10000 /* before the recording, which does not wait as long */
#define TURN_MS	      2000

/* A descriptor for the run's processes; -1: there are none, and nobody waits. */
int turns_make(void);

/* Waits up to `ms`. True: the caller has a turn, and gives it back. */
bool turn_take(int turns, int ms);
void turn_give_back(int turns);

#endif
