/* SPDX-License-Identifier: Apache-2.0 */
/* What the pictures' colours are on a terminal. */
#ifndef DFG_COLOURS_H
#define DFG_COLOURS_H

#include "view.h"

/* Behind ncurses' initscr(). A terminal without colours, and a user with NO_COLOR, get none. */
void colours_begin(void);

/* Of ncurses; 0: none. */
short colours_pair(enum how how);

#endif
