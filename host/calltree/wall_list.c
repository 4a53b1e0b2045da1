// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calltree/calltree.h"
#include "calltree/samples.h"
#include "calltree/subjects.h"
#include "calltree/wall.h"
#include "common/str.h"

/* ---- the longest waits --------------------------------------------------------------------- */

/* Sorts the longest first, and those of the same length by time. */
static int by_length(const void *a, const void *b)
{
	const struct wall_part *x = *(const struct wall_part *const *)a;
	const struct wall_part *y = *(const struct wall_part *const *)b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Copies a stack's text; of one that is too long the outer frames are left out. */
static void copy_stack(const struct str *text, char ret[WALL_STACK])
{
	static const char left_out[] = "...";
	const char *from = text->len ? text->buf : "";

	if (text->len >= WALL_STACK) {
		from = strchr(text->buf + text->len - (WALL_STACK - sizeof(left_out)), ';');
		from = from ? from : "";
	}
	snprintf(ret, WALL_STACK, "%s%s", text->len >= WALL_STACK ? left_out : "", from);
}

static bool is_woken_by(const struct frame *f)
{
	return f->kind == FRAME_STUB && !strcmp(f->name, event_names[EVENT_CLOCK].held);
}

/* Returns the node of the thread's own stack. */
static uint32_t without_waker(const struct stacks *s, uint32_t node)
{
	for (uint32_t n = node; n; n = stacks_node(s, n)->parent)
		if (is_woken_by(stacks_frame(s, stacks_node(s, n)->frame)))
			return stacks_node(s, n)->parent;
	return node;
}

static void add_frame(struct str *to, const struct stacks *s, uint32_t frame)
{
	str_addf(to, "%s%s", to->len ? ";" : "", stacks_frame(s, frame)->name);
}

/* Writes the stack of a node, and that of the waker, which is after the frame that says so, its
 * innermost frame first. */
static void write_stacks(const struct stacks *s, uint32_t node, struct wall_wait *ret)
{
	CLEANUP(str_fini) struct str own = {0}, waker = {0};
	CLEANUP(free) uint32_t *frames = NULL;
	size_t count = 0, cap = 0;

	for (uint32_t n = node; n; n = stacks_node(s, n)->parent) {
		const struct frame *f = stacks_frame(s, stacks_node(s, n)->frame);

		if (is_woken_by(f)) {
			for (size_t i = 0; i < count; i++)
				add_frame(&waker, s, frames[i]);
			count = 0;
			continue;
		}
		frames = grow(frames, count, &cap, sizeof(*frames));
		frames[count++] = stacks_node(s, n)->frame;
	}
	while (count)
		add_frame(&own, s, frames[--count]);
	copy_stack(&own, ret->stack);
	copy_stack(&waker, ret->waker_stack);
}

/* Finds what the waker waited for meanwhile, so that it came no sooner: the last that took a tenth
 * of the wait or more; else the longest. */
static const struct wall_part *find_meanwhile(const struct wall *w, const struct wall_part *of,
					      uint64_t *ret_ns)
{
	const uint32_t waker = wall_waker(w, of);
	const struct wall_part *found = NULL;

	*ret_ns = 0;
	for (size_t i = 0; i < w->part_count && waker != WALL_UNKNOWN; i++) {
		const struct wall_part *p = &w->parts[i];
		const uint64_t begin = p->begin > of->begin ? p->begin : of->begin;
		const uint64_t end = p->begin + p->ns < of->begin + of->ns ? p->begin + p->ns
									   : of->begin + of->ns;
		const uint64_t ns = end > begin ? end - begin : 0;
		const bool much = ns > of->ns / 10, before = *ret_ns > of->ns / 10;

		if (p->thread != waker || !ns || (before && !much))
			continue;
		if (!found || (before ? p->begin > found->begin : ns > *ret_ns)) {
			*ret_ns = ns;
			found = p;
		}
	}
	return found;
}

/* Writes what the method of a stack calls: the next Java frame. */
static void write_callee(const struct stacks *s, uint32_t node, const char *method, char *ret,
			 size_t size)
{
	CLEANUP(str_fini) struct str name = {0}, callee = {0};

	for (uint32_t n = without_waker(s, node); n && *method; n = stacks_node(s, n)->parent) {
		const struct frame *f = stacks_frame(s, stacks_node(s, n)->frame);

		if (!f->java)
			continue;
		str_clear(&name);
		frame_add_stable_name(&name, f->name, f->len);
		if (!strcmp(name.buf, method))
			break;
		str_clear(&callee);
		str_add(&callee, name.buf, name.len);
	}
	snprintf(ret, size, "%s", callee.len ? callee.buf : "");
}

static void describe_what(const struct stacks *s, uint32_t node, struct wall_what *ret)
{
	struct subject subject = {0};

	subject_of(s, EVENT_CLOCK, node, &subject);
	memcpy(ret->class, subject.class, sizeof(ret->class));
	memcpy(ret->method, subject.method, sizeof(ret->method));
	memcpy(ret->waker, subject.holder, sizeof(ret->waker));
	write_callee(s, node, ret->method, ret->callee, sizeof(ret->callee));
}

static void describe(const struct wall *w, const struct stacks *s, const struct wall_part *p,
		     struct wall_wait *ret)
{
	const struct wall_thread *t = &w->threads[p->thread];
	const struct wall_part *meanwhile = find_meanwhile(w, p, &ret->meanwhile_ns);
	const uint32_t waker = wall_waker(w, p);

	snprintf(ret->thread, sizeof(ret->thread), "%s", t->name);
	ret->tid = t->tid;
	ret->cause = p->cause;
	ret->begin = p->begin;
	ret->ns = p->ns;
	describe_what(s, p->node, &ret->what);
	write_stacks(s, p->node, ret);
	if (waker != WALL_UNKNOWN)
		snprintf(ret->waker, sizeof(ret->waker), "%s", w->threads[waker].name);
	if (meanwhile) {
		ret->meanwhile_cause = meanwhile->cause;
		describe_what(s, meanwhile->node, &ret->meanwhile);
	}
}

/* One thread that waits in a loop would have the whole list. */
#define LISTED_SAME 5u /* waits of a thread of one cause */

static void list_waits(const struct wall *w, const struct stacks *s,
		       const struct wall_part *const *sorted, struct wall_waits *ret)
{
	CLEANUP(free) unsigned(*same)[WALL_CAUSES] = xcalloc(w->count + 1, sizeof(*same));

	for (size_t i = 0; i < w->part_count && ret->count < WALL_WAITS; i++)
		if (!sorted[i]->idle && same[sorted[i]->thread][sorted[i]->cause]++ < LISTED_SAME)
			describe(w, s, sorted[i], &ret->list[ret->count++]);
}

/* ---- the finding --------------------------------------------------------------------------- */

/* Causes that say what a program could do better; others are its own business. */
static bool is_wanted_cause(unsigned cause)
{
	return cause != WALL_RUNNING && cause != WALL_SLEEP && cause != WALL_WAIT &&
	       cause != WALL_EPOLL && cause != WALL_OTHER;
}

/* Takes the cause and the pool that have most of the time; returns the number of the pool. */
static size_t judge_pools(const struct wall_pool *pools, size_t n, struct wall_finding *best)
{
	size_t ret = 0;

	for (size_t i = 0; i < n; i++)
		for (unsigned c = 0; c < WALL_CAUSES; c++)
			if (is_wanted_cause(c) && pools[i].ns[c] > best->ns) {
				best->cause = c;
				best->ns = pools[i].ns[c];
				ret = i;
			}
	if (n) {
		best->all = count_add(wall_sum(pools[ret].ns), pools[ret].ns[WALL_CAUSES]);
		snprintf(best->pool, sizeof(best->pool), "%s", pools[ret].name);
	}
	return ret;
}

/* Takes the node that most of the time of a pool's waits is of. */
static void find_example(const struct wall *w, const struct stacks *s, const uint32_t *pool_of,
			 size_t pool, struct wall_finding *f)
{
	CLEANUP(free) uint64_t *sums = xcalloc(stacks_node_count(s), sizeof(*sums));
	const struct wall_part *best = NULL;

	for (size_t i = 0; i < w->part_count; i++) {
		const struct wall_part *p = &w->parts[i];

		if (p->cause != f->cause || p->idle || pool_of[p->thread] != pool)
			continue;
		sums[p->node] += p->ns;
		if (!best || sums[p->node] > sums[best->node] ||
		    (p->node == best->node && p->ns > best->ns))
			best = p;
	}
	f->known = best;
	if (best)
		describe(w, s, best, &f->wait);
}

#define LEAST_FOUND 0.01 /* of a pool's time */

static void find(const struct wall *w, const struct stacks *s, struct wall_finding *ret)
{
	CLEANUP(free) struct wall_pool *pools = xcalloc(w->count + 1, sizeof(*pools));
	CLEANUP(free) uint32_t *pool_of = xcalloc(w->count + 1, sizeof(*pool_of));
	const size_t pool =
		judge_pools(pools, wall_pools_make(w->threads, w->count, pools, pool_of), ret);

	if (!ret->ns || (double)ret->ns < LEAST_FOUND * (double)ret->all)
		*ret = (struct wall_finding){0};
	else
		find_example(w, s, pool_of, pool, ret);
}

/* ---- the list ------------------------------------------------------------------------------ */

static uint64_t wanted(const struct wall_thread *t)
{
	return wall_sum(t->ns) - wall_sum(t->idle);
}

static void list(struct wall_list *l, const struct wall_thread *t)
{
	size_t at = l->listed;

	while (at && wanted(&l->list[at - 1]) < wanted(t))
		at--;
	if (at == WALL_THREADS)
		return;
	if (l->listed < WALL_THREADS)
		l->listed++;
	memmove(&l->list[at + 1], &l->list[at], (l->listed - 1 - at) * sizeof(l->list[at]));
	l->list[at] = *t;
}

void wall_list_make(const struct wall *w, const struct stacks *s, struct wall_list *ret)
{
	CLEANUP(free) const struct wall_part **sorted = xcalloc(w->part_count + 1, sizeof(*sorted));

	memset(ret, 0, sizeof(*ret));
	ret->threads = w->count;
	for (size_t i = 0; i < w->count; i++) {
		for (unsigned c = 0; c < WALL_CAUSES; c++) {
			ret->ns[c] = count_add(ret->ns[c], w->threads[i].ns[c]);
			ret->idle[c] = count_add(ret->idle[c], w->threads[i].idle[c]);
		}
		list(ret, &w->threads[i]);
	}
	for (size_t i = 0; i < w->part_count; i++)
		sorted[i] = &w->parts[i];
	qsort(sorted, w->part_count, sizeof(*sorted), by_length);
	list_waits(w, s, sorted, &ret->waits);
	find(w, s, &ret->finding);
}

static void check_what(struct wall_what *w)
{
	str_clean(w->class, sizeof(w->class));
	str_clean(w->method, sizeof(w->method));
	str_clean(w->callee, sizeof(w->callee));
	str_clean(w->waker, sizeof(w->waker));
}

static void check_wait(struct wall_wait *w)
{
	str_clean(w->thread, sizeof(w->thread));
	str_clean(w->waker, sizeof(w->waker));
	str_clean(w->stack, sizeof(w->stack));
	str_clean(w->waker_stack, sizeof(w->waker_stack));
	check_what(&w->what);
	check_what(&w->meanwhile);
	w->cause = w->cause < WALL_CAUSES ? w->cause : WALL_OTHER;
	w->meanwhile_cause = w->meanwhile_cause < WALL_CAUSES ? w->meanwhile_cause : WALL_OTHER;
}

void wall_list_check(struct wall_list *l)
{
	if (l->listed > WALL_THREADS)
		l->listed = WALL_THREADS;
	for (size_t i = 0; i < l->listed; i++)
		str_clean(l->list[i].name, sizeof(l->list[i].name));
	if (l->waits.count > WALL_WAITS)
		l->waits.count = WALL_WAITS;
	for (size_t i = 0; i < l->waits.count; i++)
		check_wait(&l->waits.list[i]);
	str_clean(l->finding.pool, sizeof(l->finding.pool));
	check_wait(&l->finding.wait);
	l->finding.cause = l->finding.cause < WALL_CAUSES ? l->finding.cause : WALL_OTHER;
}

/* ---- texts --------------------------------------------------------------------------------- */

static void add_what(struct str *to, const struct wall_what *w)
{
	if (*w->class)
		str_addf(to, " %s", w->class);
	if (*w->method)
		str_addf(to, " in %s", w->method);
	if (*w->callee)
		str_addf(to, ", which calls %s", w->callee);
}

bool wall_is_held(const struct wall_wait *w)
{
	const char *class = w->what.class;

	if (w->cause == WALL_MONITOR)
		return true;
	return w->cause == WALL_PARK && !strstr(class, "ConditionObject") &&
	       (has_prefix(class, "java.util.concurrent.locks.") ||
		has_prefix(class, "java.util.concurrent.Semaphore$"));
}

static void add_waker(struct str *to, const struct wall_wait *w)
{
	if (!*w->waker)
		return;
	str_addf(to, ", %s by %s", wall_is_held(w) ? "held" : "woken", w->waker);
	if (w->meanwhile_ns) {
		str_addf(to, " (which before waited %.1f ms: %s", (double)w->meanwhile_ns / 1e6,
			 wall_names[w->meanwhile_cause]);
		add_what(to, &w->meanwhile);
		str_addc(to, ')');
	} else if (*w->what.waker) {
		str_addf(to, " in %s", w->what.waker);
	}
}

#define LEAST_SHARE 1u /* %, of a cause that is told */

void wall_add_causes(struct str *to, const uint64_t ns[WALL_CAUSES + 1])
{
	const uint64_t all = wall_sum(ns) + ns[WALL_CAUSES];
	bool told[WALL_CAUSES + 1] = {false};

	for (unsigned k = 0; k <= WALL_CAUSES && all; k++) {
		unsigned most = 0;

		for (unsigned c = 0; c <= WALL_CAUSES; c++)
			if (!told[c] && (told[most] || ns[c] > ns[most]))
				most = c;
		told[most] = true;
		if (100 * (double)ns[most] < LEAST_SHARE * (double)all)
			break;
		str_addf(to, "%s%.0f %% %s", k ? ", " : "", 100 * (double)ns[most] / (double)all,
			 most < WALL_CAUSES ? wall_names[most] : WALL_IDLE);
	}
}

void wall_add_wait_text(struct str *to, const struct wall_wait *w)
{
	str_adds(to, wall_names[w->cause]);
	add_what(to, &w->what);
	add_waker(to, w);
}

void wall_add_finding(struct str *to, const struct wall_finding *f)
{
	static const char *const verbs[WALL_CAUSES] = {
		[WALL_RUNNABLE] = "waits for a processor",
		[WALL_THROTTLED] = "waits for the next quota of its control group",
		[WALL_SAFEPOINT] = "waits for an operation of the JVM",
		[WALL_MONITOR] = "waits for monitor",
		[WALL_PARK] = "is parked",
		[WALL_SOCKET] = "waits for socket",
		[WALL_FILE] = "waits for a file",
		[WALL_FAULT] = "waits for pages of memory",
	};
	const char *verb = verbs[f->cause];

	if (!f->ns || !verb)
		return;
	str_addf(to, "%.0f %% of %s's time %s", 100 * (double)f->ns / (double)f->all, f->pool,
		 verb);
	if (!f->known)
		return;
	if (f->cause == WALL_PARK && *f->wait.what.class)
		str_adds(to, " for");
	add_what(to, &f->wait.what);
	add_waker(to, &f->wait);
}
