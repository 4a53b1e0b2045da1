// SPDX-License-Identifier: Apache-2.0
#include <ncurses.h>

#include "common/str.h"
#include "top/screen.h"
#include "top/table.h"

static const size_t spans[] = {1, 5, 15, HISTORY_MOST};

static void set_text(char **to, const char *text)
{
	char *copy = text ? xstrdup(text) : NULL;

	free(*to);
	*to = copy;
}

static void go(struct screen *s, enum screen_mode mode)
{
	s->mode = mode;
	s->cursor = s->first = 0;
	set_text(&s->chosen, NULL);
}

static void choose_line(struct screen *s)
{
	const struct paper_line *line;
	struct table t;

	table_make(s, &t);
	line = s->cursor < t.paper.count ? &t.paper.lines[s->cursor] : NULL;
	set_text(&s->chosen, line ? line->name : NULL);
	table_fini(&t);
}

static void move_cursor(struct screen *s, long by)
{
	if (by < 0 && (size_t)-by > s->cursor)
		s->cursor = 0;
	else
		s->cursor = (size_t)((long)s->cursor + by);
	set_text(&s->chosen, NULL);
	screen_draw(s); /* which knows how many lines there are */
	choose_line(s);
}

static void open_line(struct screen *s)
{
	const struct paper_line *line;
	struct table t;

	table_make(s, &t);
	line = s->cursor < t.paper.count ? &t.paper.lines[s->cursor] : NULL;
	if (line && line->name && s->mode == SCREEN_THREADS) {
		set_text(&s->thread, line->name);
		s->lens.thread = s->thread;
		go(s, SCREEN_METHODS);
	} else if (line && line->name && line->kind != FRAME_ROOT) {
		set_text(&s->method, line->name);
		s->method_kind = line->kind;
		go(s, SCREEN_CALLS);
	}
	table_fini(&t);
}

/* One step back: from a method's calls, the thread's methods, the filter. */
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
	snprintf(text, sizeof(text), "the last %zu window%s together", s->span,
		 s->span == 1 ? "" : "s");
	screen_say(s, text);
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

static void freeze(struct screen *s)
{
	s->frozen = !s->frozen;
	if (!s->frozen)
		screen_show(s);
}

static enum screen_wish command(struct screen *s, int key)
{
	long page = LINES > 7 ? LINES - 7 : 1;

	switch (key) {
	case 'q':
		return WISH_QUIT;
	case 'w':
		return WISH_WRITE;
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
		freeze(s);
		break;
	case 's':
		s->lens.order = s->lens.order == ORDER_SELF ? ORDER_TOTAL : ORDER_SELF;
		break;
	case 't':
		go(s, s->mode == SCREEN_THREADS ? SCREEN_METHODS : SCREEN_THREADS);
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
		break;
	}
	return WISH_NONE;
}

enum screen_wish screen_key(struct screen *s)
{
	enum screen_wish wish = WISH_NONE;
	int key;

	while (wish == WISH_NONE && (key = getch()) != ERR) {
		if (!s->typing && key != KEY_RESIZE)
			s->message[0] = '\0';
		if (key == KEY_RESIZE)
			continue;
		if (s->typing)
			type_key(s, key);
		else
			wish = command(s, key);
		s->lens.filter = s->filter[0] ? s->filter : NULL;
	}
	return wish;
}
