// SPDX-License-Identifier: Apache-2.0
/* The screen of dfg-top as ncurses has it, on a terminal of ten lines that writes to nowhere and
 * whose keyboard is a pipe. */
#include <fcntl.h>
#include <ncurses.h>
#include <unistd.h>

#include "lib/drawn.h"
#include "lib/tap.h"
#include "top/screen.h"

#define FOLDED                                                                                     \
	"t1;run_[j];get_[j] 3\nt1;run_[j];put_[j] 2\nt2;run_[j];get_[j] 4\nt2;idle 1\n"            \
	"t2;e1 1\nt2;e2 1\nt2;e3 1\nt2;e4 1\nt2;e5_[k] 1\n"

static int keyboard[2];

/* Begins the screen as if stdin and stdout were this terminal. */
static void begin(struct screen *s)
{
	FILE *in = stdin, *out = stdout;

	stdin = fdopen(dup(keyboard[0]), "r");
	stdout = fopen("/dev/null", "w");
	screen_begin(s, "web", 99);
	stdin = in;
	stdout = out;
}

static void add_window(struct screen *s, const char *folded)
{
	const struct window w = {.parts = 1, .us = 2000000, .quality = {.samples = 15}};

	history_add(&s->history, &w, stacks_of(folded));
	screen_update(s);
}

/* A line of the screen without the blanks at its end. Owned. */
static char *line_at(int y)
{
	char buf[1024] = "";
	size_t len;

	mvinnstr(y, 0, buf, sizeof(buf) - 1);
	for (len = strlen(buf); len && buf[len - 1] == ' '; len--)
		continue;
	return xstrndup(buf, len);
}

static void check_line(int y, const char *want, const char *name)
{
	CLEANUP(free) char *got = line_at(y);

	is_str(got, want, "%s", name);
}

/* The lines between the head of the columns and the bottom line, each with '|' after it. */
static void check_rows(const char *want, const char *name)
{
	CLEANUP(str_fini) struct str got = {0};

	for (int y = 5; y < 9; y++) {
		CLEANUP(free) char *line = line_at(y);

		str_addf(&got, "%s|", line);
	}
	is_str(got.buf, want, "%s", name);
}

static attr_t style_at(int y, int x)
{
	return mvinch(y, x) & A_ATTRIBUTES;
}

/* The only selected line of the table, or -1. */
static int selected_line(void)
{
	int found = -1;

	for (int y = 5; y < 9; y++)
		if (style_at(y, 1) & A_REVERSE)
			found = found < 0 ? y : -2;
	return found;
}

static void press(struct screen *s, const char *keys)
{
	if (write(keyboard[1], keys, strlen(keys)) < 0)
		abort();
	is_int(screen_read_keys(s), WISH_NONE, "the keys are read, and ask for nothing");
	screen_draw(s);
}

static void test_empty(struct screen *s)
{
	is_str(s->name, "web", "the screen begins with the name of the container");
	is_int(s->frequency, 99, "the screen begins with the frequency of the samples");
	is_int((int64_t)s->span, 15, "the screen begins with the last 15 windows together");
	screen_draw(s);
	check_line(0, "web · 0.0 s · 0 samples · 0.00 processors",
		   "before the first window the title counts nothing");
	check_line(9, "recording …", "before the first window the bottom line says so");
	check_rows("||||", "before the first window the table is empty");
	ok(!screen_stacks(s), "before the first window there are no stacks to write");
}

static void test_methods(struct screen *s)
{
	add_window(s, FOLDED);
	screen_draw(s);
	check_line(0, "web · 2.0 s · 15 samples · 0.08 processors · ±22.6 %",
		   "the title is the first line");
	check_line(2, "application 93.3 %   compiler 0.0 %   gc 0.0 %   jvm 0.0 %   kernel 6.7 %",
		   "the shares are the third line");
	check_line(3, "", "a blank line follows the head");
	check_line(4, "  SELF>   TOTAL  HOW     METHOD",
		   "the head of the columns is the fifth line");
	check_rows(" 46.7 %  46.7 %  java    get| 13.3 %  13.3 %  java    put|"
		   "  6.7 %   6.7 %  native  e1|  6.7 %   6.7 %  native  e2|",
		   "as many methods are shown as fit");
	check_line(9,
		   "? help  / filter  Enter open  Esc back  t threads  s sort  +- window  q quit",
		   "the bottom line has the keys when a window has come");
}

static void test_styles(struct screen *s)
{
	screen_draw(s);
	ok(style_at(0, 0) & A_BOLD, "the title is bold");
	ok(!(style_at(1, 0) & (A_BOLD | A_REVERSE)), "the quality is not bold");
	ok(style_at(4, 2) & A_UNDERLINE, "the head of the columns is underlined");
	ok(style_at(9, 0) & A_REVERSE, "the bottom line is reversed");
	is_int(selected_line(), 5, "the first line alone is selected");
	is_int(PAIR_NUMBER(style_at(5, 17)), 0, "the selected line has no colour");
	is_int(PAIR_NUMBER(style_at(6, 16)), 0, "the columns before HOW have no colour");
	is_int(PAIR_NUMBER(style_at(6, 17)), HOW_COMPILED + 1, "HOW has its colour");
	is_int(PAIR_NUMBER(style_at(6, 22)), HOW_COMPILED + 1, "HOW has its colour to its end");
	is_int(PAIR_NUMBER(style_at(6, 23)), 0, "the columns after HOW have no colour");
	is_int(PAIR_NUMBER(style_at(7, 17)), HOW_NATIVE + 1, "each way has a colour of its own");
}

static void check_colour(enum how how, short want, const char *name)
{
	short front = 0, back = 0;

	pair_content((short)(how + 1), &front, &back);
	is_int(front, want, "%s", name);
	is_int(back, -1, "and the terminal's own background");
}

static void test_colours(void)
{
	check_colour(HOW_C2, 71, "C2 is green");
	check_colour(HOW_C1, 71, "C1 is green");
	check_colour(HOW_COMPILED, 71, "compiled code is green");
	check_colour(HOW_INLINED, 37, "inlined code is cyan");
	check_colour(HOW_INTERPRETED, 137, "interpreted code is brown");
	check_colour(HOW_NATIVE, 167, "native code is red");
	check_colour(HOW_JVM, 142, "the JVM's code is yellow");
	check_colour(HOW_STUB, 98, "stubs are violet");
	check_colour(HOW_KERNEL, 172, "the kernel's code is orange");
	check_colour(HOW_UNKNOWN, -1, "an unknown frame has the terminal's own colour");
}

static void test_scrolling(struct screen *s)
{
	press(s, "jjj");
	is_int(selected_line(), 8, "the cursor moves to the last line without scrolling");
	is_int((int64_t)s->first, 0, "the list is not scrolled yet");
	press(s, "j");
	is_int(selected_line(), 8, "one further the cursor stays on the last line");
	is_int((int64_t)s->first, 1, "and the list is scrolled by one");
	press(s, "kkk");
	is_int(selected_line(), 5, "the cursor moves up to the first line");
	is_int((int64_t)s->first, 1, "without scrolling");
	press(s, "k");
	is_int((int64_t)s->first, 0, "one further the list is scrolled back");
	press(s, " ");
	is_int((int64_t)s->cursor, 3, "a page is one line less than the table");
	press(s, "\033[5~");
	is_int((int64_t)s->cursor, 0, "PgUp goes back by a page");
	press(s, "\033OF");
	is_int((int64_t)s->cursor, 8, "End goes to the last method");
	is_int((int64_t)s->first, 5, "and scrolls by as much as it takes");
	press(s, "\033OA");
	is_str(s->chosen, "idle", "Up goes to the one before the last");
	press(s, "\033OH");
	is_int((int64_t)s->first, 0, "Home scrolls back to the first method");
	press(s, "\033OB");
	is_str(s->chosen, "put", "Down goes to the second");
}

static void test_other_views(struct screen *s)
{
	press(s, "s");
	check_line(4, "  SELF   >TOTAL  HOW     METHOD", "the head says what the order is");
	press(s, "st");
	check_line(4, "  TOTAL  KERNEL  FOR          THREAD", "threads have a head of their own");
	check_rows(" 66.7 %  10.0 %  application  t2| 33.3 %   0.0 %  application  t1|||",
		   "threads are shown with their shares");
	press(s, "?");
	check_line(4, "", "help has no head");
	is_int(selected_line(), -1, "no line of the help is selected");
	press(s, "?\r");
	check_line(4, "", "calls have no head");
	check_rows("get|self  46.7 %, total  46.7 %   java 100.0 %||  CALLERS|",
		   "the method whose calls are shown comes first");
	press(s, "\177");
	is_int(s->mode, SCREEN_METHODS, "Backspace goes back from the calls");
	is_int((int64_t)s->cursor, 0, "to the first line");
}

static void test_bottom(struct screen *s)
{
	press(s, "/g");
	check_line(9, "filter: g_", "the filter is shown while it is typed");
	press(s, "\r");
	check_line(
		9,
		"filter: g   ? help  / filter  Enter open  Esc back  t threads  s sort  +- windo…",
		"the filter is shown before the keys");
	press(s, "t");
	check_rows(" 66.7 %  10.0 %  application  t2| 33.3 %   0.0 %  application  t1|||",
		   "threads are not filtered by what methods were");
	press(s, "\r\033");
	check_line(9,
		   "? help  / filter  Enter open  Esc back  t threads  s sort  +- window  q quit",
		   "there is no thread after a line without one");
	s->message[0] = 'x';
	screen_set_message(s, "a\033b");
	screen_draw(s);
	check_line(9, "a?b", "a message is cleaned");
	press(s, "f");
	check_line(0, "web · 2.0 s · 15 samples · 0.08 processors · ±22.6 % · PAUSED",
		   "the title says when the screen is paused");
	press(s, "f");
	check_line(0, "web · 2.0 s · 15 samples · 0.08 processors · ±22.6 %",
		   "and no more when it goes on");
	press(s, "+");
	check_line(9, "window: the last 30 refreshes", "the number of refreshes is shown");
	press(s, "---");
	check_line(9, "window: the last 1 refresh", "one refresh is in the singular");
	press(s, "tj\r");
	check_line(
		9,
		"thread: t1   ? help  / filter  Enter open  Esc back  t threads  s sort  +- wind…",
		"the thread is shown before the keys");
	press(s, "\033");
}

/* Without colours; the first wish ends the reading of keys. */
static void test_narrow(void)
{
	struct screen s;

	setenv("NO_COLOR", "1", 1);
	begin(&s);
	resizeterm(10, 32);
	add_window(&s, "t;java.util.TreeMap.getEntry_[j] 1\nt;a 1\n");
	screen_draw(&s);
	check_rows(" 50.0 %  50.0 %  native  a| 50.0 %  50.0 %  java    TreeMa…|||",
		   "a name that is too long loses its package and is cut");
	is_int(PAIR_NUMBER(style_at(6, 17)), 0, "NO_COLOR is respected");
	if (write(keyboard[1], "qw", 2) != 2)
		abort();
	is_int(screen_read_keys(&s), WISH_QUIT, "a wish is returned at once");
	is_int(screen_read_keys(&s), WISH_WRITE, "the next key comes with the next call");
	screen_end(&s);
	unsetenv("NO_COLOR");
}

int main(void)
{
	struct screen s;

	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("TERM", "xterm-256color", 1);
	setenv("LINES", "10", 1);
	setenv("COLUMNS", "80", 1);
	unsetenv("NO_COLOR");
	if (pipe2(keyboard, O_CLOEXEC) < 0)
		abort();
	begin(&s);
	test_empty(&s);
	test_methods(&s);
	test_styles(&s);
	test_colours();
	test_scrolling(&s);
	test_other_views(&s);
	test_bottom(&s);
	screen_end(&s);
	test_narrow();
	return tap_done();
}
