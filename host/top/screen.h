/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of dfg-top (ncurses): what is seen, the keys, and the way from one to the other. */
#ifndef DFG_TOP_SCREEN_H
#define DFG_TOP_SCREEN_H

#include "top/calls.h"
#include "top/history.h"
#include "top/lens.h"

enum screen_mode {
	SCREEN_METHODS,
	SCREEN_THREADS,
	SCREEN_CALLS, /* of one method */
	SCREEN_HELP,
};

/* What the keys have made of it. */
struct screen {
	const char *name; /* of what is looked at */
	unsigned frequency;
	struct history history;
	struct moment shown;
	size_t span; /* windows that are shown together */
	bool frozen;

	enum screen_mode mode;
	struct lens lens;
	char filter[64];
	bool typing;
	char *thread; /* lens.thread */
	char *method; /* whose calls are shown */
	enum frame_kind method_kind;
	char *chosen; /* the row the cursor is on, by name: it stays there in the next window */
	size_t cursor, first; /* line; the first that is on the screen */
	char message[256];
};

enum screen_wish {
	WISH_NONE,
	WISH_QUIT,
	WISH_WRITE, /* screen_stacks, as a picture */
};

void screen_begin(struct screen *s, const char *name, unsigned frequency);
void screen_end(struct screen *s); /* the terminal is as it was */

/* There is a new window in the history. */
void screen_update(struct screen *s);

/* The last windows become what is seen. */
void screen_show(struct screen *s);

/* A line at the bottom, until the next key; cleaned here. */
void screen_say(struct screen *s, const char *text);

void screen_draw(struct screen *s);

/* Takes a key of the terminal, if there is one. */
enum screen_wish screen_key(struct screen *s);

/* The stacks that are seen; owned by the caller. NULL: none yet. */
struct stacks *screen_stacks(const struct screen *s);

#endif
