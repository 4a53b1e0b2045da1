// SPDX-License-Identifier: Apache-2.0
/* Compilations by method: their sums, and which are listed, in which order. */
#include "calltree/compilations.h"

#include "common/str.h"
#include "lib/tap.h"

static void add(struct compilations *c, const char *method, unsigned level, unsigned times)
{
	struct compiled what = {.ns = 1000};

	what.times[level] = 1;
	while (times--)
		compilations_add(c, method, &what);
}

static void discard(struct compilations *c, const char *method, unsigned times)
{
	const struct compiled what = {.discarded = 1};

	while (times--)
		compilations_add(c, method, &what);
}

/* "method times/not entrant" of each, a space after it. */
static const char *text_of(const struct compilation_list *l)
{
	static char text[4096];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < l->listed; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %u/%u ",
					 l->list[i].method, compiled_times(&l->list[i].compiled),
					 l->list[i].compiled.discarded);
	return text;
}

static void test_sums(void)
{
	struct compilations c = {0}, part = {0};
	struct compilation_list l;

	compilations_list(&c, &l);
	ok(l.listed == 0 && l.times == 0 && l.methods == 0, "nothing was compiled");
	add(&c, "a.B.again", 3, 4);
	add(&part, "a.B.again", 4, 1);
	discard(&part, "a.B.again", 1);
	add(&part, "a.B.usual", 3, 1);
	add(&part, "a.B.usual", 4, 1);
	discard(&part, "a.B.usual", 1);
	discard(&part, "a.B.gone", 2);
	compilations_merge(&c, &part);
	compilations_list(&c, &l);
	is_str(text_of(&l), "a.B.again 5/1 a.B.gone 0/2 ",
	       "C2's code in the place of C1's is usual; others are listed");
	ok(l.times == 7 && l.discarded == 4 && l.methods == 3, "the sums are of all");
	ok(l.list[0].compiled.times[3] == 4 && l.list[0].compiled.times[4] == 1, "by level");
	is_int(l.list[0].compiled.ns, 5000, "and in time");
	compilations_fini(&part);
	compilations_fini(&c);
}

static void test_order(void)
{
	struct compilations c = {0};
	struct compilation_list l;

	add(&c, "three", 4, 3);
	add(&c, "five", 1, 5);
	add(&c, "three.gone", 4, 3);
	discard(&c, "three.gone", 2);
	add(&c, "three.long", 4, 3);
	compilations_add(&c, "three.long", &(struct compiled){.ns = 1});
	compilations_list(&c, &l);
	is_str(text_of(&l), "five 5/0 three.gone 3/2 three.long 3/0 three 3/0 ",
	       "the most often compiled first, then the most often discarded, then the longest");
	compilations_fini(&c);
}

static void test_many(void)
{
	struct compilations c = {0};
	struct compilation_list l;
	unsigned wrong = 0;

	for (unsigned i = 0; i < 3 * COMPILATIONS_MAX; i++) {
		CLEANUP(free) char *name = xasprintf("m%u", i);

		add(&c, name, 4, 3 + (i * 7) % (3 * COMPILATIONS_MAX));
	}
	compilations_list(&c, &l);
	for (size_t i = 0; i < l.listed; i++)
		wrong += compiled_times(&l.list[i].compiled) != 3 * COMPILATIONS_MAX + 2 - i;
	ok(l.listed == COMPILATIONS_MAX && wrong == 0, "of many the first are listed");
	is_int(l.methods, 3 * COMPILATIONS_MAX, "all are counted");
	compilations_fini(&c);
}

static void test_hostile(void)
{
	CLEANUP(free) char *name = xcalloc(5000, 1);
	struct compilations c = {0};
	struct compilation_list l;

	memset(name, 'x', 4999);
	memcpy(name, "\x1b[2J", 4);
	add(&c, name, 4, 3);
	compilations_list(&c, &l);
	ok(strlen(l.list[0].method) == sizeof(l.list[0].method) - 1 &&
		   !strchr(l.list[0].method, 0x1b),
	   "a name is cut, and clean");
	memset(&l, 0xff, sizeof(l));
	compilation_list_check(&l);
	ok(l.listed == COMPILATIONS_MAX && strnlen(l.list[49].method, sizeof(l.list[49].method)) <
						   sizeof(l.list[49].method),
	   "a list of an untrusted process is made safe");
	compilations_fini(&c);
}

int main(void)
{
	test_sums();
	test_order();
	test_many();
	test_hostile();
	return tap_done();
}
