// SPDX-License-Identifier: Apache-2.0
#include "report/summary.h"

#include <stdio.h>
#include <string.h>

#include "common/str.h"
#include "format/text.h"
#include "format/verdict.h"

/* ---- pauses ------------------------------------------------------------------------------- */

#define PRINTED_PAUSES 5u

void summary_print_pauses(const struct pauses *p)
{
	CLEANUP(str_fini) struct str line = {0};

	for (size_t i = 0; i < p->listed && i < PRINTED_PAUSES; i++) {
		const struct pause *one = &p->list[i];

		str_clear(&line);
		verdict_subject_text(&line, &one->subject, EVENT_SAFEPOINT);
		if (one->heap_before || one->heap_after) {
			str_adds(&line, ", heap ");
			text_amounts(&line, one->heap_before, one->heap_after, "bytes");
		}
		printf("  pause       %6.1f ms  at %.3f s, %.1f ms until all had stopped: %s\n",
		       (double)one->all / 1e6, (double)one->begin / 1e9,
		       (double)one->stopping / 1e6, line.buf);
	}
	if (p->count > PRINTED_PAUSES)
		printf("  pause        %llu in all of 1 ms or more\n",
		       (unsigned long long)p->count);
}

json_t *summary_pauses_json(const struct pauses *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->listed; i++) {
		const struct pause *one = &p->list[i];
		const char *name = one->subject.class, *cause = strstr(name, " (");
		const size_t len = strlen(name), before = cause ? (size_t)(cause - name) : len;

		/* A cause is in brackets after the operation. */
		json_t *pause =
			json_pack("{sf sf sf ss% ss% ss ss}", "begin", (double)one->begin / 1e9,
				  "ms", (double)one->all / 1e6, "stopping_ms",
				  (double)one->stopping / 1e6, "operation", name, before, "cause",
				  cause ? cause + 2 : "", cause ? len - before - 3 : 0, "asked_by",
				  one->subject.method, "waiting_for", one->subject.holder);

		if (one->heap_before || one->heap_after)
			json_object_update_new(pause,
					       json_pack("{sI sI}", "heap_before",
							 (json_int_t)one->heap_before, "heap_after",
							 (json_int_t)one->heap_after));
		json_array_append_new(list, pause);
	}
	return list;
}

/* ---- compilations ------------------------------------------------------------------------- */

#define PRINTED_COMPILED 5u

void summary_print_compilations(const struct compilation_list *l)
{
	if (!l->times && !l->discarded)
		return;
	printf("  compiled    %6llu times, code of %llu methods; made not entrant %llu times\n",
	       (unsigned long long)l->times, (unsigned long long)l->methods,
	       (unsigned long long)l->discarded);
	for (size_t i = 0; i < l->listed && i < PRINTED_COMPILED; i++) {
		const struct compiled *c = &l->list[i].compiled;

		printf("              %6u times, %.1f ms, made not entrant %u times: %s\n",
		       compiled_times(c), (double)c->ns / 1e6, c->discarded, l->list[i].method);
	}
}

json_t *summary_compilations_json(const struct compilation_list *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->listed; i++) {
		const struct compiled *c = &l->list[i].compiled;
		json_t *levels = json_array();

		for (unsigned k = 1; k < COMPILE_LEVELS; k++)
			json_array_append_new(levels, json_integer(c->times[k]));
		json_array_append_new(list,
				      json_pack("{ss sI so sI sf}", "method", l->list[i].method,
						"times", (json_int_t)compiled_times(c), "levels",
						levels, "not_entrant", (json_int_t)c->discarded,
						"ms", (double)c->ns / 1e6));
	}
	return json_pack("{sI sI sI so}", "times", (json_int_t)l->times, "methods",
			 (json_int_t)l->methods, "not_entrant", (json_int_t)l->discarded, "most",
			 list);
}

/* ---- the wall clock ----------------------------------------------------------------------- */

#define PRINTED_POOLS 5u
#define PRINTED_WAITS 5u

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static json_t *causes_json(const uint64_t ns[WALL_CAUSES])
{
	json_t *o = json_object();

	for (unsigned c = 0; c < WALL_CAUSES; c++)
		json_object_set_new(o, wall_names[c], json_real(ms(ns[c])));
	return o;
}

/* Writes what the waker waited for meanwhile; null: nothing. */
static json_t *meanwhile_json(const struct wall_wait *w)
{
	if (!w->meanwhile_ns)
		return json_null();
	return json_pack("{ss sf ss ss}", "cause", wall_names[w->meanwhile_cause], "ms",
			 ms(w->meanwhile_ns), "subject", w->meanwhile.class, "method",
			 w->meanwhile.method);
}

static json_t *wait_json(const struct wall_wait *w)
{
	const bool held = wall_is_held(w);
	json_t *o =
		json_pack("{ss si ss sf sf}", "thread", w->thread, "tid", (int)w->tid, "cause",
			  wall_names[w->cause], "begin", (double)w->begin / 1e9, "ms", ms(w->ns));

	json_object_update_new(o, json_pack("{ss ss ss ss ss ss ss so}", "subject", w->what.class,
					    "method", w->what.method, "calls", w->what.callee,
					    "stack", w->stack, "waker", w->waker, "waker_stack",
					    w->waker_stack, "holder", held ? w->waker : "",
					    "meanwhile", meanwhile_json(w)));
	return o;
}

json_t *summary_wall_json(const struct wall_list *l)
{
	CLEANUP(str_fini) struct str finding = {0};
	json_t *threads = json_array(), *waits = json_array();

	for (size_t i = 0; i < l->listed; i++) {
		const struct wall_thread *t = &l->list[i];

		json_array_append_new(threads, json_pack("{ss si si sf sf so}", "name", t->name,
							 "pid", (int)t->pid, "tid", (int)t->tid,
							 "wall_ms", ms(wall_sum(t->ns)), "idle_ms",
							 ms(wall_sum(t->idle)), "causes",
							 causes_json(t->ns)));
	}
	for (size_t i = 0; i < l->waits.count; i++)
		json_array_append_new(waits, wait_json(&l->waits.list[i]));
	str_adds(&finding, "");
	wall_add_finding(&finding, &l->finding);
	return json_pack("{ss sI so sf so so}", "finding", finding.buf, "thread_count",
			 (json_int_t)l->threads, "causes", causes_json(l->ns), "idle_ms",
			 ms(wall_sum(l->idle)), "threads", threads, "waits", waits);
}

/* ---- text ---------------------------------------------------------------------------------- */

void summary_print_wall(const struct wall_list *l)
{
	struct wall_pool pools[WALL_THREADS];
	const size_t n = wall_pools_make(l->list, l->listed, pools, NULL);
	CLEANUP(str_fini) struct str text = {0};

	wall_add_finding(&text, &l->finding);
	if (text.len)
		printf("  %-12s %s\n", "waiting", text.buf);
	for (size_t i = 0; i < n && i < PRINTED_POOLS; i++) {
		CLEANUP(str_fini) struct str causes = {0};

		wall_add_causes(&causes, pools[i].ns);
		printf("  %-12s %u %s: %s\n", "threads", pools[i].threads, pools[i].name,
		       causes.buf ? causes.buf : "");
	}
	for (size_t i = 0; i < l->waits.count && i < PRINTED_WAITS; i++) {
		const struct wall_wait *w = &l->waits.list[i];

		str_clear(&text);
		wall_add_wait_text(&text, w);
		printf("  wait        %8.1f ms  at %.3f s, %s: %s\n", ms(w->ns),
		       (double)w->begin / 1e9, w->thread, text.buf);
	}
}
