// SPDX-License-Identifier: Apache-2.0
#include "top/colours.h"

#include <ncurses.h>
#include <stdlib.h>

/* Of xterm's 256 the nearest to palette.c, for dark and for light backgrounds; else of eight. */
static const struct {
	short rich, plain;
} colours[HOW_KINDS] = {
	[HOW_C2] = {71, COLOR_GREEN},
	[HOW_C1] = {71, COLOR_GREEN},
	[HOW_COMPILED] = {71, COLOR_GREEN},
	[HOW_INLINED] = {37, COLOR_CYAN},
	[HOW_INTERPRETED] = {137, COLOR_YELLOW},
	[HOW_NATIVE] = {167, COLOR_RED},
	[HOW_JVM] = {142, COLOR_YELLOW},
	[HOW_STUB] = {98, COLOR_BLUE},
	[HOW_KERNEL] = {172, COLOR_MAGENTA},
	[HOW_UNKNOWN] = {-1, -1},
};

static bool on;

void colours_begin(void)
{
	const char *unwanted = getenv("NO_COLOR"); /* no-color.org */

	on = !(unwanted && *unwanted) && has_colors() && start_color() == OK &&
	     use_default_colors() == OK;
	for (short h = 0; on && h < HOW_KINDS; h++)
		init_pair((short)(h + 1), COLORS >= 256 ? colours[h].rich : colours[h].plain, -1);
}

short colours_pair(enum how how)
{
	return on ? (short)(how + 1) : 0;
}
