// SPDX-License-Identifier: Apache-2.0
/* The keys of dfg-top do what its help and dfg-top(1) say. No terminal: keys are pressed by
 * screen_press, and the state of the screen is checked. */
#include "top/screen.h"

#include <ncurses.h>

#include "lib/drawn.h"
#include "lib/tap.h"
#include "top/rows.h"

#define FOLDED "t1;run_[j];get_[j] 3\nt1;run_[j];put_[j] 2\nt2;run_[j];get_[j] 4\nt2;idle 1\n"

static void add_window(struct screen *s, const char *folded)
{
	const struct window w = {.parts = 1, .us = 2000000};

	history_add(&s->history, &w, stacks_of(folded));
	screen_update(s);
}

static struct screen screen_of(const char *folded)
{
	struct screen s = {.name = "web", .frequency = 99, .span = 1};

	add_window(&s, folded);
	return s;
}

static void screen_free(struct screen *s)
{
	history_fini(&s->history);
	moment_fini(&s->shown);
	free(s->thread);
	free(s->method);
	free(s->chosen);
}

static void press_all(struct screen *s, const char *keys)
{
	for (; *keys; keys++)
		screen_press(s, *keys);
}

/* "name name …" of the table's lines. */
static void check_table(const struct screen *s, const char *want, const char *name)
{
	CLEANUP(str_fini) struct str got = {0};
	struct screen_table t;

	str_adds(&got, "");
	screen_table_make(s, &t);
	for (size_t i = 0; i < t.list.count; i++)
		if (t.list.lines[i].name)
			str_addf(&got, "%s ", t.list.lines[i].name);
	is_str(got.buf, want, "%s", name);
	screen_table_fini(&t);
}

static bool table_has(const struct screen *s, const char *text)
{
	struct screen_table t;
	bool found = false;

	screen_table_make(s, &t);
	for (size_t i = 0; i < t.list.count; i++)
		found |= strstr(t.list.lines[i].text, text) != NULL;
	screen_table_fini(&t);
	return found;
}

static void test_selection(void)
{
	struct screen s = screen_of(FOLDED);

	check_table(&s, "get put idle run ", "methods are sorted by self at first");
	screen_press(&s, KEY_DOWN);
	is_str(s.chosen, "put", "Down selects the next line");
	screen_press(&s, KEY_UP);
	is_str(s.chosen, "get", "Up selects the line before");
	screen_press(&s, KEY_UP);
	is_int((int64_t)s.cursor, 0, "Up on the first line stays there");
	screen_press(&s, KEY_END);
	is_str(s.chosen, "run", "End selects the last line");
	screen_press(&s, KEY_HOME);
	is_str(s.chosen, "get", "Home selects the first line");
	screen_press(&s, KEY_NPAGE);
	is_int((int64_t)s.cursor, 1, "PgDn moves by the rows of the screen");
	screen_press(&s, KEY_PPAGE);
	is_int((int64_t)s.cursor, 0, "PgUp moves back by as many");
	screen_press(&s, 'j');
	press_all(&s, "s");
	check_table(&s, "run get put idle ", "s sorts by total");
	screen_press(&s, KEY_DOWN);
	is_str(s.chosen, "idle", "the selection is on the same method in the new order");
	press_all(&s, "s");
	check_table(&s, "get put idle run ", "s again sorts by self");
	screen_free(&s);
}

static void test_modes(void)
{
	struct screen s = screen_of(FOLDED);

	press_all(&s, "t");
	check_table(&s, "t1 t2 ", "t shows the threads");
	press_all(&s, "t");
	check_table(&s, "get put idle run ", "t again shows the methods");
	press_all(&s, "tj\r");
	check_table(&s, "get idle run ", "Enter on a thread shows only its methods");
	press_all(&s, "\r");
	is_str(s.method, "get", "Enter on a method shows its calls");
	check_table(&s, "run t2 ", "callers are limited to the thread");
	screen_press(&s, 27);
	check_table(&s, "get idle run ", "Esc goes back to the thread's methods");
	is_str(s.chosen, "get", "the selection is on the method whose calls were shown");
	screen_press(&s, 27);
	check_table(&s, "get put idle run ", "Esc again shows all threads");
	screen_press(&s, KEY_END);
	press_all(&s, "\r");
	check_table(&s, "t1 t2 get put ", "a method's callers are followed by its callees");
	for (int i = 0; i < 8; i++)
		screen_press(&s, KEY_DOWN);
	press_all(&s, "\r");
	is_str(s.method, "get", "Enter on a callee shows its own calls");
	press_all(&s, "?");
	ok(table_has(&s, "pause/resume") && table_has(&s, "quit"), "? shows the keys");
	press_all(&s, "?");
	check_table(&s, "get put idle run ", "? again shows the methods");
	screen_free(&s);
}

static void test_filter(void)
{
	struct screen s = screen_of(FOLDED);

	press_all(&s, "/PuT");
	check_table(&s, "put ", "a filter is applied while it is typed, ignoring case");
	press_all(&s, "q");
	is_str(s.filter, "PuTq", "q is a letter of the filter");
	ok(table_has(&s, "no matches for \"PuTq\""), "an empty table names the filter");
	screen_press(&s, KEY_BACKSPACE);
	screen_press(&s, '\r');
	ok(!s.typing, "Enter ends the filter");
	check_table(&s, "put ", "the filter stays");
	screen_press(&s, 27);
	check_table(&s, "get put idle run ", "Esc clears the filter");
	press_all(&s, "/x");
	screen_press(&s, 27);
	ok(!s.typing && !s.lens.filter, "Esc while typing clears the filter, too");
	screen_free(&s);
}

static void test_windows(void)
{
	struct screen s = screen_of("t;old 1\n");

	press_all(&s, "f");
	add_window(&s, "t;new 1\n");
	check_table(&s, "old ", "f pauses: a new window is not shown");
	press_all(&s, "f");
	check_table(&s, "new ", "f again resumes with the last window");
	press_all(&s, "+");
	is_int((int64_t)s.span, 5, "+ widens the time window");
	check_table(&s, "new old ", "the last windows are added up");
	press_all(&s, "+++");
	is_int((int64_t)s.span, 30, "the widest time window is 30 refreshes");
	press_all(&s, "-");
	is_int((int64_t)s.span, 15, "- narrows the time window");
	press_all(&s, "---");
	is_int((int64_t)s.span, 1, "the narrowest time window is one refresh");
	check_table(&s, "new ", "only the last window is shown");
	screen_free(&s);
}

static void test_wishes(void)
{
	struct screen s = screen_of(FOLDED);
	struct stacks *shown;
	CLEANUP(free) char *folded = NULL;

	is_int(screen_press(&s, 'x'), WISH_NONE, "other keys do nothing");
	is_int(screen_press(&s, KEY_RESIZE), WISH_NONE, "nor does a new size of the terminal");
	press_all(&s, "/put\r");
	is_int(screen_press(&s, 'w'), WISH_WRITE, "w asks for a flame graph");
	shown = screen_stacks(&s);
	folded = drawn_folded(shown);
	is_str(folded, "t1;run_[j];put_[j] 2\n", "the graph has the stacks that match the filter");
	is_int(screen_press(&s, 'q'), WISH_QUIT, "q quits");
	stacks_free(shown);
	screen_free(&s);
}

int main(void)
{
	test_selection();
	test_modes();
	test_filter();
	test_windows();
	test_wishes();
	return tap_done();
}
