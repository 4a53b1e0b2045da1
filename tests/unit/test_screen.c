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
	ok(table_has(&s, "no matches for \"PuT\""), "capital letters are no small ones");
	screen_press(&s, 27);
	press_all(&s, "/p.t");
	check_table(&s, "put ", "a filter is applied while it is typed");
	press_all(&s, "q");
	is_str(s.filter, "p.tq", "q is a letter of the filter");
	ok(table_has(&s, "no matches for \"p.tq\""), "an empty table names the filter");
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

static void check_typed(int key, const char *want, const char *name)
{
	struct screen s = screen_of(FOLDED);

	press_all(&s, "/ab");
	screen_press(&s, key);
	is_str(s.filter, want, "%s", name);
	screen_free(&s);
}

static void test_typing(void)
{
	struct screen s = screen_of(FOLDED);

	check_typed(' ', "ab ", "a blank is a letter of the filter");
	check_typed('~', "ab~", "so is the last of ASCII");
	check_typed(31, "ab", "a control character is not");
	check_typed(128, "ab", "nor is a byte beyond ASCII");
	check_typed(KEY_DOWN, "ab", "nor is an arrow");
	check_typed(KEY_BACKSPACE, "a", "Backspace removes a letter");
	check_typed(127, "a", "so does Delete's code");
	check_typed(8, "a", "so does Ctrl-H");
	check_typed(9, "ab", "Tab does nothing");
	check_typed('\r', "ab", "Enter keeps the filter");
	check_typed(27, "", "Esc clears it");
	for (size_t i = 0; i < 3; i++) {
		static const int enter[] = {'\r', '\n', KEY_ENTER};

		press_all(&s, "/");
		ok(s.typing, "a filter is typed");
		screen_press(&s, enter[i]);
		ok(!s.typing, "each code of Enter ends it");
	}
	press_all(&s, "/");
	screen_press(&s, KEY_BACKSPACE);
	is_str(s.filter, "", "there is nothing to remove from an empty filter");
	for (int i = 0; i < 70; i++)
		screen_press(&s, 'x');
	is_int((int64_t)strlen(s.filter), 63, "a filter has 63 letters at most");
	screen_press(&s, KEY_BACKSPACE);
	is_int((int64_t)strlen(s.filter), 62, "the last of them can be removed");
	screen_press(&s, 27);
	screen_press(&s, KEY_END);
	ok(s.chosen && s.cursor == 3, "a line is selected");
	s.first = 2;
	press_all(&s, "/g");
	ok(!s.chosen && s.cursor == 0 && s.first == 0, "a filter selects the first line anew");
	screen_free(&s);
}

static void test_keys(void)
{
	static const struct {
		int key;
		const char *name;
	} back[] = {{27, "Esc"}, {KEY_LEFT, "Left"}, {KEY_BACKSPACE, "Backspace"}, {127, "Delete"}};
	static const int forth[] = {'\r', '\n', KEY_ENTER, KEY_RIGHT};
	struct screen s = screen_of(FOLDED);

	for (size_t i = 0; i < ARRAY_LEN(back); i++) {
		screen_press(&s, forth[i]);
		is_int(s.mode, SCREEN_CALLS, "each code of Enter shows the calls");
		screen_press(&s, back[i].key);
		is_int(s.mode, SCREEN_METHODS, "%s goes back", back[i].name);
	}
	press_all(&s, "h");
	is_int(s.mode, SCREEN_HELP, "h shows the keys, too");
	screen_press(&s, '\r');
	is_int(s.mode, SCREEN_METHODS, "any key leaves the help");
	press_all(&s, "h");
	screen_press(&s, 27);
	is_int(s.mode, SCREEN_METHODS, "Esc, too");
	press_all(&s, "t");
	screen_press(&s, 27);
	is_int(s.mode, SCREEN_METHODS, "Esc leaves the threads");
	press_all(&s, "t/");
	is_int(s.mode, SCREEN_METHODS, "a filter is typed over the methods");
	screen_press(&s, 27);
	press_all(&s, "jj");
	screen_press(&s, '/');
	is_int((int64_t)s.cursor, 2, "the cursor stays while the filter is empty");
	screen_press(&s, 27);
	press_all(&s, "jjjk");
	is_int((int64_t)s.cursor, 2, "k goes up by one");
	press_all(&s, "k ");
	is_int((int64_t)s.cursor, 2, "a blank goes down by a page");
	s.message[0] = 'x';
	screen_press(&s, KEY_RESIZE);
	is_int(s.message[0], 'x', "a new size keeps the message");
	screen_press(&s, 'x');
	is_str(s.message, "", "any key takes it away");
	screen_free(&s);
}

static void check_spans(const char *keys, size_t want, const char *message)
{
	struct screen s = screen_of(FOLDED);

	press_all(&s, keys);
	is_int((int64_t)s.span, (int64_t)want, "%s: refreshes", keys);
	is_str(s.message, message, "the message says so");
	screen_free(&s);
}

static void test_spans(void)
{
	check_spans("-", 1, "window: the last 1 refresh");
	check_spans("+", 5, "window: the last 5 refreshes");
	check_spans("++", 15, "window: the last 15 refreshes");
	check_spans("+++", 30, "window: the last 30 refreshes");
	check_spans("++++", 30, "window: the last 30 refreshes");
	check_spans("+++-", 15, "window: the last 15 refreshes");
	check_spans("+++--", 5, "window: the last 5 refreshes");
	check_spans("+++---", 1, "window: the last 1 refresh");
}

static void test_messages(void)
{
	struct screen s = {.name = "web", .span = 1, .message = "recording …"};
	struct stacks *none = screen_stacks(&s);

	ok(!none, "before the first window there are no stacks");
	add_window(&s, FOLDED);
	is_str(s.message, "", "the first window takes the message away");
	screen_set_message(&s, "late");
	add_window(&s, FOLDED);
	is_str(s.message, "late", "the second does not");
	screen_set_message(&s, "");
	is_str(s.message, "", "a message may be empty");
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
	test_typing();
	test_keys();
	test_spans();
	test_messages();
	test_windows();
	test_wishes();
	return tap_done();
}
