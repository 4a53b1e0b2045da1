/* SPDX-License-Identifier: Apache-2.0 */
/* What the pictures' colours are on a terminal. */
#ifndef DFG_TOP_COLOURS_H
#define DFG_TOP_COLOURS_H

#include "top/view.h"

/* Behind ncurses' initscr(). A terminal without colours, and a user with NO_COLOR, get none. */
void colours_begin(void);

/* Of ncurses; 0: none. */
short colours_pair(enum how how);

#endif
