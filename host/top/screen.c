// SPDX-License-Identifier: Apache-2.0
#include "top/screen.h"

#include <locale.h>
#include <ncurses.h>

#include "common/str.h"
#include "format/format.h"
#include "top/colours.h"
#include "top/lines.h"
#include "top/table.h"

void screen_begin(struct screen *s, const char *name, unsigned frequency)
{
	*s = (struct screen){.name = name, .frequency = frequency, .span = 1};
	setlocale(LC_CTYPE, "");
	initscr();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(25);
	nodelay(stdscr, TRUE);
	curs_set(0);
	colours_begin();
	screen_say(s, "recording …");
}

void screen_end(struct screen *s)
{
	endwin();
	history_fini(&s->history);
	moment_fini(&s->shown);
	free(s->thread);
	free(s->method);
	free(s->chosen);
}

void screen_show(struct screen *s)
{
	moment_fini(&s->shown);
	history_sum(&s->history, s->span, &s->shown);
}

void screen_update(struct screen *s)
{
	if (s->history.seen == 1)
		s->message[0] = '\0';
	if (!s->frozen)
		screen_show(s);
}

void screen_say(struct screen *s, const char *text)
{
	CLEANUP(str_fini) struct str clean = {0};

	str_add_clean(&clean, text, strlen(text));
	snprintf(s->message, sizeof(s->message), "%s", clean.buf ? clean.buf : "");
}

struct stacks *screen_stacks(const struct screen *s)
{
	return s->shown.stacks ? lens_stacks(s->shown.stacks, &s->lens) : NULL;
}

/* The cursor stays on the name it was on, where that is still there. */
static void place_cursor(struct screen *s, const struct table *t, size_t rows)
{
	size_t n = t->paper.count;

	for (size_t i = 0; s->chosen && s->mode != SCREEN_CALLS && i < n; i++)
		if (t->paper.lines[i].name && !strcmp(t->paper.lines[i].name, s->chosen))
			s->cursor = i;
	if (s->cursor >= n)
		s->cursor = n ? n - 1 : 0;
	if (s->cursor < s->first)
		s->first = s->cursor;
	if (rows && s->cursor >= s->first + rows)
		s->first = s->cursor - rows + 1;
}

/* ---- drawing ---- */

static void put_line(int y, const struct paper_line *line, int attributes)
{
	CLEANUP(str_fini) struct str out = {0};

	if (y < 0 || y >= LINES)
		return;
	paper_cut(&out, line, (size_t)COLS);
	attron(attributes);
	mvaddnstr(y, 0, out.buf, (int)out.len);
	attroff(attributes);
	if (line->has_how && attributes == A_NORMAL)
		mvchgat(y, LINES_HOW_AT, LINES_HOW, A_NORMAL, colours_pair(line->how), NULL);
}

static void put(int y, char *text, int attributes)
{
	if (text)
		put_line(y, &(struct paper_line){.text = text}, attributes);
}

static void put_head(const struct screen *s, const struct table *t)
{
	CLEANUP(str_fini) struct str line = {0};

	lines_title(&line, s->name, &s->shown, s->frequency);
	if (s->frozen)
		str_adds(&line, " · FROZEN");
	put(0, line.buf, A_BOLD);
	str_clear(&line);
	draw_quality(&line, &s->shown.quality);
	put(1, line.buf, A_NORMAL);
	str_clear(&line);
	lines_busy(&line, &t->view);
	put(2, line.buf, A_NORMAL);
}

static void put_bottom(const struct screen *s)
{
	CLEANUP(str_fini) struct str line = {0};

	if (s->typing)
		str_addf(&line, "filter: %s_", s->filter);
	else if (s->message[0])
		str_adds(&line, s->message);
	else {
		if (s->lens.thread)
			str_addf(&line, "thread: %s   ", s->lens.thread);
		if (s->filter[0])
			str_addf(&line, "filter: %s   ", s->filter);
		str_adds(&line, "? help   / filter   f freeze   Enter calls   t threads   w write  "
				" q quit");
	}
	put(LINES - 1, line.buf, A_REVERSE);
}

void screen_draw(struct screen *s)
{
	CLEANUP(str_fini) struct str head = {0};
	size_t rows = LINES > 6 ? (size_t)LINES - 6 : 0;
	struct table t;

	table_make(s, &t);
	place_cursor(s, &t, rows);
	erase();
	put_head(s, &t);
	if (s->mode == SCREEN_METHODS)
		lines_row_head(&head, s->lens.order);
	else if (s->mode == SCREEN_THREADS)
		lines_thread_head(&head);
	put(4, head.buf, A_UNDERLINE);
	for (size_t i = 0; i < rows && s->first + i < t.paper.count; i++)
		put_line((int)(5 + i), &t.paper.lines[s->first + i],
			 s->first + i == s->cursor && s->mode != SCREEN_HELP ? A_REVERSE
									     : A_NORMAL);
	put_bottom(s);
	refresh();
	table_fini(&t);
}
