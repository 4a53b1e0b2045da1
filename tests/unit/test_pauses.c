// SPDX-License-Identifier: Apache-2.0
/* The longest pauses: in order, so many, of several recordings, of a process that lies. */
#include "calltree/pauses.h"

#include <string.h>

#include "common/str.h"
#include "lib/tap.h"

static struct pauses all, other, third;

/* The n-th of a list is told by its class. */
static struct pause make(uint64_t ns, unsigned n)
{
	struct pause p = {.begin = 10 * n, .stopping = ns / 2, .all = ns};

	snprintf(p.subject.class, sizeof(p.subject.class), "%u", n);
	return p;
}

static void add(struct pauses *to, uint64_t ns, unsigned n)
{
	const struct pause p = make(ns, n);

	pauses_add(to, &p);
}

/* True if they are the longest first. */
static bool is_ordered(const struct pauses *p)
{
	for (size_t i = 1; i < p->listed; i++)
		if (p->list[i - 1].all < p->list[i].all)
			return false;
	return true;
}

static void test_add(void)
{
	add(&all, PAUSES_LEAST - 1, 1);
	ok(all.count == 0 && all.listed == 0, "one that is too short is not listed, nor counted");
	add(&all, PAUSES_LEAST, 2);
	add(&all, 3 * PAUSES_LEAST, 3);
	add(&all, 2 * PAUSES_LEAST, 4);
	add(&all, 3 * PAUSES_LEAST, 5);
	ok(all.count == 4 && all.listed == 4 && is_ordered(&all), "others are, the longest first");
	ok(!strcmp(all.list[0].subject.class, "3") && !strcmp(all.list[1].subject.class, "5") &&
		   !strcmp(all.list[2].subject.class, "4") &&
		   !strcmp(all.list[3].subject.class, "2"),
	   "of those that are as long, the first that came");
	ok(all.list[2].begin == 40 && all.list[2].stopping == PAUSES_LEAST &&
		   all.list[2].all == 2 * PAUSES_LEAST,
	   "with all that is known of them");
	/* Each is longer than some that were there and shorter than others. */
	for (unsigned i = 0; i < 1000; i++)
		add(&all, PAUSES_LEAST + i * 7919 % 1000 * 1000, 100 + i);
	ok(all.count == 1004 && all.listed == PAUSES_MAX && is_ordered(&all),
	   "there are so many, and the others are counted");
	is_int((int64_t)all.list[PAUSES_MAX - 1].all, PAUSES_LEAST + (1000 - 47) * 1000,
	       "the longest of them");
	add(&all, all.list[PAUSES_MAX - 1].all, 7);
	ok(strcmp(all.list[PAUSES_MAX - 1].subject.class, "7") != 0 && all.count == 1005,
	   "one that is as long as the last has no place");
	add(&all, UINT64_MAX, 8);
	ok(!strcmp(all.list[0].subject.class, "8") && all.listed == PAUSES_MAX,
	   "the longest of all is the first");
}

static void test_merge(void)
{
	for (unsigned i = 0; i < 60; i++) {
		add(&other, (2 * i + 2) * PAUSES_LEAST, i);
		add(&third, (2 * i + 3) * PAUSES_LEAST, 100 + i);
	}
	pauses_merge(&other, &third);
	ok(other.count == 120 && other.listed == PAUSES_MAX && is_ordered(&other),
	   "those of two recordings are one list");
	ok(!strcmp(other.list[0].subject.class, "159") &&
		   !strcmp(other.list[1].subject.class, "59") &&
		   !strcmp(other.list[PAUSES_MAX - 1].subject.class, "35"),
	   "of the longest of both");
	memset(&third, 0, sizeof(third));
	pauses_merge(&third, &other);
	ok(third.count == 120 && !memcmp(third.list, other.list, sizeof(third.list)),
	   "merged into none they stay as they are");
	memset(&other, 0, sizeof(other));
	pauses_merge(&third, &other);
	ok(third.count == 120 && third.listed == PAUSES_MAX, "and with none, too");
}

static void test_check(void)
{
	memset(&other, 'x', sizeof(other));
	strcpy(other.list[0].subject.class, "a\n\x1b[1m");
	pauses_check(&other);
	ok(other.listed == PAUSES_MAX, "more than there are is not gone by");
	ok(!strpbrk(other.list[0].subject.class, "\n\x1b"), "texts are clean");
	ok(memchr(other.list[PAUSES_MAX - 1].subject.class, 0,
		  sizeof(other.list[0].subject.class)) &&
		   memchr(other.list[PAUSES_MAX - 1].subject.holder, 0,
			  sizeof(other.list[0].subject.holder)) &&
		   memchr(other.list[PAUSES_MAX - 1].subject.method, 0,
			  sizeof(other.list[0].subject.method)),
	   "and have an end");
}

int main(void)
{
	test_add();
	test_merge();
	test_check();
	return tap_done();
}
