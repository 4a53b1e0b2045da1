/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of dfg-top (ncurses): its state, what the keys do to it, and how it is drawn. */
#ifndef DFG_TOP_SCREEN_H
#define DFG_TOP_SCREEN_H

#include "calltree/view.h"
#include "top/history.h"

enum screen_mode {
	SCREEN_METHODS,
	SCREEN_THREADS,
	SCREEN_CALLS, /* callers and callees of one method */
	SCREEN_HELP,
};

struct screen {
	const char *name; /* of the recorded containers */
	unsigned frequency;
	struct history history;
	struct moment shown;
	size_t span; /* windows that are shown together */
	bool paused;

	enum screen_mode mode;
	struct lens lens;
	char filter[64];
	bool typing;  /* the filter */
	char *thread; /* lens.thread */
	char *method; /* of SCREEN_CALLS */
	enum frame_kind method_kind;
	char *chosen; /* name of the selected row; the selection stays on it in the next window */
	size_t cursor, first; /* selected line; first line on the screen */
	char message[256];
};

/* Requests of the user that the caller carries out. */
enum screen_wish {
	WISH_NONE,
	WISH_QUIT,
	WISH_WRITE, /* screen_stacks, as a picture */
};

void screen_begin(struct screen *s, const char *name, unsigned frequency);
void screen_end(struct screen *s); /* restores the terminal */

/* Call it when the history has a new window. */
void screen_update(struct screen *s);

/* Sets the bottom line, until the next key. The text is cleaned here. */
void screen_set_message(struct screen *s, const char *text);

void screen_draw(struct screen *s);

/* Handles all keys the terminal has, up to a wish. */
enum screen_wish screen_read_keys(struct screen *s);

/* Handles one key, in ncurses' code. Does not draw. */
enum screen_wish screen_press(struct screen *s, int key);

/* The stacks that are shown; owned by the caller. NULL before the first window. */
struct stacks *screen_stacks(const struct screen *s);

#endif
