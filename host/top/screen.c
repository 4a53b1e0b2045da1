// SPDX-License-Identifier: Apache-2.0
#include "top/screen.h"

#include <locale.h>
#include <ncurses.h>

#include "common/str.h"
#include "format/format.h"
#include "top/rows.h"

/* ---- colours ---- */

/* The colours of xterm's 256 nearest to palette.c, legible on dark and on light backgrounds; and
 * those of terminals with eight. */
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

static bool colours_on;

/* Call it after initscr(). No colours without terminal support, or with NO_COLOR (no-color.org). */
static void colours_begin(void)
{
	const char *unwanted = getenv("NO_COLOR");

	colours_on = !(unwanted && *unwanted) && has_colors() && start_color() == OK &&
		     use_default_colors() == OK;
	for (short h = 0; colours_on && h < HOW_KINDS; h++)
		init_pair((short)(h + 1), COLORS >= 256 ? colours[h].rich : colours[h].plain, -1);
}

/* ncurses' number of the colour, 0: none. */
static short colours_pair(enum how how)
{
	return colours_on ? (short)(how + 1) : 0;
}

/* ---- the screen ---- */

#define SPAN 15 /* windows at first: one of 2 s has too few samples */

void screen_begin(struct screen *s, const char *name, unsigned frequency)
{
	*s = (struct screen){.name = name, .frequency = frequency, .span = SPAN};
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
	screen_set_message(s, "recording …");
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

/* Shows the last windows of the history. */
static void screen_show(struct screen *s)
{
	moment_fini(&s->shown);
	history_sum(&s->history, s->span, &s->shown);
}

void screen_update(struct screen *s)
{
	if (s->history.seen == 1)
		s->message[0] = '\0';
	if (!s->paused)
		screen_show(s);
}

void screen_set_message(struct screen *s, const char *text)
{
	CLEANUP(str_fini) struct str clean = {0};

	str_add_clean(&clean, text, strlen(text));
	snprintf(s->message, sizeof(s->message), "%s", clean.buf ? clean.buf : "");
}

struct stacks *screen_stacks(const struct screen *s)
{
	return s->shown.stacks ? lens_stacks(s->shown.stacks, &s->lens) : NULL;
}

/* Rows of the table that fit on the screen. */
static size_t table_rows(void)
{
	return LINES > 6 ? (size_t)LINES - 6 : 0;
}

/* Keeps the cursor on the selected name if that is still listed, and the cursor on the screen. */
static void place_cursor(struct screen *s, const struct screen_table *t)
{
	size_t n = t->list.count, rows = table_rows();

	for (size_t i = 0; s->chosen && s->mode != SCREEN_CALLS && i < n; i++)
		if (t->list.lines[i].name && !strcmp(t->list.lines[i].name, s->chosen))
			s->cursor = i;
	if (s->cursor >= n)
		s->cursor = n ? n - 1 : 0;
	if (s->cursor < s->first)
		s->first = s->cursor;
	if (rows && s->cursor >= s->first + rows)
		s->first = s->cursor - rows + 1;
}

/* ---- drawing ---- */

static void put_line(int y, const struct row_line *line, int attributes)
{
	CLEANUP(str_fini) struct str out = {0};

	if (y < 0 || y >= LINES)
		return;
	row_line_cut(&out, line, (size_t)COLS);
	attron(attributes);
	mvaddnstr(y, 0, out.buf, (int)out.len);
	attroff(attributes);
	if (line->has_how && attributes == A_NORMAL)
		mvchgat(y, ROWS_HOW_AT, ROWS_HOW, A_NORMAL, colours_pair(line->how), NULL);
}

static void put(int y, char *text, int attributes)
{
	if (text)
		put_line(y, &(struct row_line){.text = text}, attributes);
}

static void put_head(const struct screen *s, const struct screen_table *t)
{
	CLEANUP(str_fini) struct str line = {0};

	rows_title(&line, s->name, &s->shown, s->frequency);
	if (s->shown.windows > 1)
		str_addf(&line, " · last %u refreshes", s->shown.windows);
	if (s->paused)
		str_adds(&line, " · PAUSED");
	put(0, line.buf, A_BOLD);
	str_clear(&line);
	draw_quality_of(&line, &s->shown.quality, event_names[s->shown.event].unit);
	put(1, line.buf, A_NORMAL);
	str_clear(&line);
	rows_busy(&line, &t->view);
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
		str_adds(&line, "? help  / filter  Enter open  Esc back  t threads  s sort  "
				"+- window  q quit");
	}
	put(LINES - 1, line.buf, A_REVERSE);
}

void screen_draw(struct screen *s)
{
	CLEANUP(str_fini) struct str head = {0};
	size_t rows = table_rows();
	struct screen_table t;

	screen_table_make(s, &t);
	place_cursor(s, &t);
	erase();
	put_head(s, &t);
	if (s->mode == SCREEN_METHODS)
		rows_method_head(&head, s->lens.order);
	else if (s->mode == SCREEN_THREADS)
		rows_thread_head(&head, s->shown.event);
	put(4, head.buf, A_UNDERLINE);
	for (size_t i = 0; i < rows && s->first + i < t.list.count; i++)
		put_line((int)(5 + i), &t.list.lines[s->first + i],
			 s->first + i == s->cursor && s->mode != SCREEN_HELP ? A_REVERSE
									     : A_NORMAL);
	put_bottom(s);
	refresh();
	screen_table_fini(&t);
}

/* ---- keys ---- */

static const size_t spans[] = {1, 5, 15, HISTORY_MOST};

static void set_text(char **to, const char *text)
{
	char *copy = text ? xstrdup(text) : NULL;

	free(*to);
	*to = copy;
}

/* A filter of methods does not fit threads, nor the other way round. */
static void go(struct screen *s, enum screen_mode mode)
{
	if ((mode == SCREEN_THREADS) != (s->mode == SCREEN_THREADS))
		s->filter[0] = '\0';
	s->mode = mode;
	s->cursor = s->first = 0;
	set_text(&s->chosen, NULL);
}

static void move_cursor(struct screen *s, long by)
{
	struct screen_table t;

	screen_table_make(s, &t);
	place_cursor(s, &t); /* several keys may come between two drawings */
	if (by < 0 && (size_t)-by > s->cursor)
		s->cursor = 0;
	else
		s->cursor = (size_t)((long)s->cursor + by);
	set_text(&s->chosen, NULL);
	place_cursor(s, &t);
	set_text(&s->chosen, s->cursor < t.list.count ? t.list.lines[s->cursor].name : NULL);
	screen_table_fini(&t);
}

static void open_line(struct screen *s)
{
	const struct row_line *line;
	struct screen_table t;

	screen_table_make(s, &t);
	place_cursor(s, &t);
	line = s->cursor < t.list.count ? &t.list.lines[s->cursor] : NULL;
	if (line && line->name && s->mode == SCREEN_THREADS) {
		set_text(&s->thread, line->name);
		s->lens.thread = s->thread;
		go(s, SCREEN_METHODS);
	} else if (line && line->name && line->kind != FRAME_ROOT) {
		set_text(&s->method, line->name);
		s->method_kind = line->kind;
		go(s, SCREEN_CALLS);
	}
	screen_table_fini(&t);
}

/* Goes one step back: from a method's calls, from the thread's methods, from the filter. */
static void go_back(struct screen *s)
{
	if (s->mode == SCREEN_CALLS) {
		CLEANUP(free) char *method = xstrdup(s->method);

		go(s, SCREEN_METHODS);
		set_text(&s->chosen, method);
	} else if (s->mode != SCREEN_METHODS) {
		go(s, SCREEN_METHODS);
	} else if (s->lens.thread) {
		s->lens.thread = NULL;
	} else {
		s->filter[0] = '\0';
	}
}

static void set_span(struct screen *s, int step)
{
	size_t i = 0;
	char text[64];

	while (i + 1 < ARRAY_LEN(spans) && spans[i] < s->span)
		i++;
	if (step > 0 ? i + 1 < ARRAY_LEN(spans) : i > 0)
		s->span = spans[(long)i + step];
	screen_show(s);
	snprintf(text, sizeof(text), "window: the last %zu refresh%s", s->span,
		 s->span == 1 ? "" : "es");
	screen_set_message(s, text);
}

static void type_key(struct screen *s, int key)
{
	size_t len = strlen(s->filter);

	if (key == '\r' || key == '\n' || key == KEY_ENTER)
		s->typing = false;
	else if (key == 27) {
		s->typing = false;
		s->filter[0] = '\0';
	} else if (key == KEY_BACKSPACE || key == 127 || key == 8)
		s->filter[len ? len - 1 : 0] = '\0';
	else if (key >= ' ' && key < 127 && len + 1 < sizeof(s->filter)) {
		s->filter[len] = (char)key;
		s->filter[len + 1] = '\0';
	}
	s->cursor = s->first = 0;
	set_text(&s->chosen, NULL);
}

static void pause_or_resume(struct screen *s)
{
	s->paused = !s->paused;
	if (!s->paused)
		screen_show(s);
}

static void switch_pools(struct screen *s)
{
	s->history.pools = !s->history.pools;
	s->lens.thread = NULL; /* there is none of this name any more */
	screen_show(s);
	screen_set_message(s, s->history.pools ? "pools of threads" : "single threads");
}

static void move_by_key(struct screen *s, int key)
{
	long page = LINES > 7 ? LINES - 7 : 1;

	switch (key) {
	case KEY_UP:
	case 'k':
		move_cursor(s, -1);
		break;
	case KEY_DOWN:
	case 'j':
		move_cursor(s, 1);
		break;
	case KEY_PPAGE:
		move_cursor(s, -page);
		break;
	case KEY_NPAGE:
	case ' ':
		move_cursor(s, page);
		break;
	case KEY_HOME:
		move_cursor(s, -1000000);
		break;
	case KEY_END:
		move_cursor(s, 1000000);
		break;
	default:
		break;
	}
}

static enum screen_wish command(struct screen *s, int key)
{
	if (s->mode == SCREEN_HELP && key != 'q')
		key = '?';
	switch (key) {
	case 'q':
		return WISH_QUIT;
	case 'w':
		return WISH_WRITE;
	case '\r':
	case '\n':
	case KEY_ENTER:
	case KEY_RIGHT:
		open_line(s);
		break;
	case 27:
	case KEY_LEFT:
	case KEY_BACKSPACE:
	case 127:
		go_back(s);
		break;
	case '/':
		s->typing = true;
		if (s->mode != SCREEN_METHODS)
			go(s, SCREEN_METHODS);
		break;
	case 'f':
		pause_or_resume(s);
		break;
	case 's':
		s->lens.order = s->lens.order == ORDER_SELF ? ORDER_TOTAL : ORDER_SELF;
		break;
	case 't':
		go(s, s->mode == SCREEN_THREADS ? SCREEN_METHODS : SCREEN_THREADS);
		break;
	case 'p':
		switch_pools(s);
		break;
	case '+':
		set_span(s, 1);
		break;
	case '-':
		set_span(s, -1);
		break;
	case '?':
	case 'h':
		go(s, s->mode == SCREEN_HELP ? SCREEN_METHODS : SCREEN_HELP);
		break;
	default:
		move_by_key(s, key);
		break;
	}
	return WISH_NONE;
}

enum screen_wish screen_press(struct screen *s, int key)
{
	enum screen_wish wish = WISH_NONE;

	if (key == KEY_RESIZE)
		return WISH_NONE;
	if (s->typing) {
		type_key(s, key);
	} else {
		s->message[0] = '\0';
		wish = command(s, key);
	}
	s->lens.filter = s->filter[0] ? s->filter : NULL;
	return wish;
}

enum screen_wish screen_read_keys(struct screen *s)
{
	enum screen_wish wish = WISH_NONE;
	int key;

	while (wish == WISH_NONE && (key = getch()) != ERR)
		wish = screen_press(s, key);
	return wish;
}
