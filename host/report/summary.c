// SPDX-License-Identifier: Apache-2.0
#include "report/summary.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/str.h"
#include "format/text.h"
#include "format/verdict.h"

static const char nameless_files[] = "files with more symbols than are read";

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* Share of one processor, over the recording. */
static double watch_share(const struct session *s, const struct session_jvm *j)
{
	return s->duration > 0 ? (double)j->watch_us / 1e6 / s->duration : 0;
}

static void print_jvm(const struct session *s, const struct session_jvm *j)
{
	CLEANUP(str_fini) struct str methods = {0};

	text_count(&methods, j->methods, ",");
	printf("  JVM          pid %d (", (int)j->pid);
	if (j->nspid != j->pid)
		printf("pid %d in the container, ", (int)j->nspid);
	printf("uid %u)%s%s: ", (unsigned)j->uid, j->version[0] ? ", Java " : "", j->version);
	if (j->source == JVM_SOURCE_NONE)
		printf("no names for its Java code");
	else if (j->source == JVM_SOURCE_MAP)
		printf("names by the map that it writes");
	else
		printf("%s compiled methods and stubs, read %s in %.1f ms", methods.buf,
		       j->source == JVM_SOURCE_AGENT  ? "by the agent"
		       : j->source == JVM_SOURCE_HOST ? "from outside"
						      : "in an unknown way",
		       j->dump_us / 1000.0);
	if (j->skipped)
		printf(", %u not readable", j->skipped);
	printf("\n");
	if (j->snapshots > 1)
		printf("               re-read %u time%s; overhead %.1f %% of one CPU\n",
		       j->snapshots - 1, j->snapshots == 2 ? "" : "s", 100 * watch_share(s, j));
	if (j->switched)
		printf("               DebugNonSafepoints was switched on in it, and stays on; "
		       "--keep-flags leaves it off\n");
	if (j->note[0] && strcmp(j->note, JVM_NOTE_NO_AGENT))
		printf("               %s\n", j->note);
}

static void print_methods(const struct verdict *v)
{
	CLEANUP(str_fini) struct str line = {0};

	for (size_t i = 0; i < v->method_count; i++) {
		const struct verdict_method *m = &v->methods[i];

		str_clear(&line);
		verdict_share(&line, v, m->total, 7);
		str_adds(&line, "  self ");
		verdict_share(&line, v, m->self, 7);
		str_addf(&line, "  %s", m->name);
		verdict_owner(&line, m);
		printf("  method      %s\n", line.buf);
	}
}

static void print_subjects(const struct subjects *s)
{
	CLEANUP(str_fini) struct str line = {0};

	for (size_t i = 0; i < s->count; i++) {
		str_clear(&line);
		verdict_subject(&line, s, i);
		printf("  %-12s%6.1f %%  %s\n", event_names[s->event].name,
		       100 * share(s->list[i].amount, s->amount), line.buf);
	}
}

/* s: NULL for several recordings. */
static void print_verdict(const struct summary_event *e, const struct session *s)
{
	const struct render_result *r = &e->result;
	CLEANUP(warnings_fini) struct warnings warnings = {0};
	CLEANUP(str_fini) struct str line = {0};

	if (r->verdict.samples && e->event == EVENT_CPU) {
		verdict_text(&line, &r->verdict, &r->cpu);
		printf("  cpu          %s\n", line.buf);
	}
	if (e->event != EVENT_CPU) {
		if (e->event == EVENT_CLOCK)
			summary_print_wall(&r->wall);
		print_subjects(&r->subjects);
		summary_print_pauses(&r->pauses);
		summary_print_compilations(&r->compilations);
		return;
	}
	print_methods(&r->verdict);
	warnings_make(&r->quality, s, &warnings);
	for (size_t i = 0; i < warnings.count; i++)
		printf("  warning      %s\n", warnings.list[i].text);
}

/* The name of an event, which perf has given it, or dfg. */
static const char *name_of(const struct summary *s, enum event_kind event)
{
	return event == EVENT_PERF && s->session && s->session->perf_event
		       ? s->session->perf_event
		       : event_names[event].name;
}

static void print_result(const struct summary *s, const struct summary_event *e)
{
	const struct render_result *r = &e->result;
	const enum event_kind event = e->event;
	CLEANUP(str_fini) struct str others = {0};
	CLEANUP(str_fini) struct str quality = {0};

	draw_quality_of(&quality, &r->quality, event_names[event].unit);
	printf("  %-12s %s\n", event == EVENT_CPU ? "samples" : name_of(s, event), quality.buf);
	events_add_others(r->events, event, &others);
	if (others.len)
		printf("  other events %s: choose with --event\n", others.buf);
	if (r->cut)
		printf("  damaged      %llu bytes at the end of the recording could not be read\n",
		       (unsigned long long)r->cut);
	if (r->skipped)
		printf("  damaged      %llu lines of text could not be read\n",
		       (unsigned long long)r->skipped);
	if (r->nameless_files)
		printf("  cut          %llu %s\n", (unsigned long long)r->nameless_files,
		       nameless_files);
	/* Subjects say more; most of all time is waiting for something to do. */
	if (r->leaf[0] && !r->subjects.count && event != EVENT_CLOCK)
		printf("  hottest leaf %5.1f %%  %s\n",
		       100 * share(r->leaf_self, r->quality.samples), r->leaf);
}

static void print_cuts(const struct session *s)
{
	for (size_t i = 0; i < s->cut_count; i++)
		printf("  cut          %s\n", s->cuts[i].text);
}

static void print_graphs(const struct summary *s, const struct format_set *formats)
{
	for (size_t i = 0; i < formats->count; i++) {
		CLEANUP(free) char *file = formats_file(formats, formats->list[i]);

		printf("  %-12s %s/%s\n", formats->list[i]->name, s->outdir, file);
	}
}

/* The first event's verdict comes before everything else. */
static void print_event(const struct summary *s, size_t i)
{
	const struct summary_event *e = &s->events[i];

	print_result(s, e);
	if (i)
		print_verdict(e, s->session);
	print_graphs(s, &e->formats);
}

/* Returns the path of the session's directory, sanitised. Owned. */
static char *session_path(const struct session *s)
{
	struct str clean = {0};

	str_add_clean(&clean, s->dir, strlen(s->dir));
	return clean.buf;
}

static void print_recorder(const struct session *s)
{
	if (s->in_kernel)
		printf("  recorder     in the kernel: %llu stacks walked there, %llu copied\n",
		       (unsigned long long)s->walked, (unsigned long long)s->copied);
}

void summary_print(const struct summary *s)
{
	CLEANUP(free) char *dir = session_path(s->session);

	printf("%s: %.1f s", s->session->label, s->session->duration);
	if (s->events[0].event == EVENT_CPU)
		printf(" at %u Hz", s->session->frequency);
	putchar('\n');
	print_verdict(&s->events[0], s->session);
	print_result(s, &s->events[0]);
	print_recorder(s->session);
	for (size_t i = 0; i < s->session->jvm_count; i++)
		print_jvm(s->session, &s->session->jvms[i]);
	print_cuts(s->session);
	print_graphs(s, &s->events[0].formats);
	for (size_t i = 1; i < s->event_count; i++)
		print_event(s, i);
	printf("  session      %s\n", dir);
	fflush(stdout);
}

void summary_print_merged(const struct summary *s, const struct inputs *in)
{
	printf("%zu recording%s\n", in->count, in->count == 1 ? "" : "s together");
	print_verdict(&s->events[0], NULL);
	print_event(s, 0);
	fflush(stdout);
}

static json_t *graphs_json(const struct summary *s, const struct format_set *formats)
{
	json_t *graphs = json_object();

	for (size_t i = 0; i < formats->count; i++) {
		CLEANUP(free) char *file = formats_file(formats, formats->list[i]);
		CLEANUP(free) char *path = xasprintf("%s/%s", s->outdir, file);

		json_object_set_new(graphs, formats->list[i]->name, json_string(path));
	}
	return graphs;
}

static json_t *jvms_json(const struct session *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->jvm_count; i++) {
		const struct session_jvm *j = &s->jvms[i];

		json_array_append_new(
			list,
			json_pack("{si si si ss ss si si sf si sf ss sb}", "pid", (int)j->pid,
				  "nspid", (int)j->nspid, "uid", (int)j->uid, "version", j->version,
				  "source", jvm_source_name(j->source), "methods", (int)j->methods,
				  "skipped", (int)j->skipped, "dump_ms", j->dump_us / 1000.0,
				  "snapshots", (int)j->snapshots, "watch_cpu", watch_share(s, j),
				  "note", j->note, "switched", (int)j->switched));
	}
	return list;
}

/* s: NULL for several recordings that were merged. */
static json_t *cuts_json(const struct session *s, const struct render_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; s && i < s->cut_count; i++)
		json_array_append_new(list, json_string(s->cuts[i].text));
	if (r->nameless_files)
		json_array_append_new(list,
				      json_sprintf("%llu %s", (unsigned long long)r->nameless_files,
						   nameless_files));
	return list;
}

/* ---- the verdict ---- */

static json_t *methods_json(const struct verdict *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->method_count; i++) {
		const struct verdict_method *m = &v->methods[i];

		json_array_append_new(list, json_pack("{ss sf sf ss}", "name", m->name, "self",
						      share(m->self, v->samples), "total",
						      share(m->total, v->samples), "code",
						      code_owner_name(m->owner)));
	}
	return list;
}

static json_t *subjects_json(const struct subjects *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->count; i++) {
		const struct subject *one = &s->list[i];

		json_array_append_new(list, json_pack("{ss ss ss sf}", "class", one->class,
						      "method", one->method, "holder", one->holder,
						      "share", share(one->amount, s->amount)));
	}
	return list;
}

static json_t *shares_json(const struct verdict *v)
{
	json_t *o = json_object();

	for (enum busy b = 0; b < BUSY_KINDS; b++)
		json_object_set_new(o, busy_name(b), json_real(share(v->busy[b], v->samples)));
	return o;
}

static json_t *warnings_json(const struct render_result *r, const struct session *s)
{
	CLEANUP(warnings_fini) struct warnings warnings;
	json_t *list = json_array();

	warnings_make(&r->quality, s, &warnings);
	for (size_t i = 0; i < warnings.count; i++)
		json_array_append_new(list, json_pack("{ss ss}", "kind", warnings.list[i].kind,
						      "text", warnings.list[i].text));
	return list;
}

static json_t *known_json(double figure, bool known)
{
	return known ? json_real(figure) : json_null();
}

/* s: NULL for several recordings. */
static json_t *verdict_json(const struct render_result *r, const struct session *s)
{
	const struct session_cpu *cpu = &r->cpu;

	return json_pack("{so so so so so so so so so so so so so}", "cpus_used",
			 known_json(cpu->used, cpu->used >= 0), "cpu_limit",
			 known_json(cpu->limit, cpu->limit > 0), "processors",
			 known_json(cpu->processors, cpu->processors > 0), "throttled_periods",
			 known_json(cpu->throttled_periods, cpu->throttled_periods >= 0),
			 "throttled_seconds",
			 known_json(cpu->throttled_seconds, cpu->throttled_seconds >= 0), "steal",
			 known_json(cpu->steal, cpu->steal >= 0), "pressure",
			 known_json(cpu->pressure, cpu->pressure >= 0), "shares",
			 shares_json(&r->verdict), "top_methods", methods_json(&r->verdict),
			 "top_subjects", subjects_json(&r->subjects), "pauses",
			 summary_pauses_json(&r->pauses), "compilations",
			 summary_compilations_json(&r->compilations), "warnings",
			 warnings_json(r, s));
}

/* The keys of one event that do not belong to one session. */
static json_t *result_json(const struct summary *s, const struct summary_event *e)
{
	const struct render_result *r = &e->result;
	const struct quality *q = &r->quality;
	json_t *o = json_pack(
		"{so ss ss so sI sI sI sf sf sf sf sf sf s{ss sI} s{ss sI} sI sI so}", "verdict",
		verdict_json(r, s->session), "event", name_of(s, e->event), "unit",
		event_names[e->event].unit, "graphs", graphs_json(s, &e->formats), "samples",
		(json_int_t)q->samples, "lost", (json_int_t)q->lost, "java_samples",
		(json_int_t)q->java_samples, "complete", share(q->java_complete, q->java_samples),
		"unknown_frames", share(q->frames_unknown, q->frames), "nameless_frames",
		share(q->frames_nameless, q->frames), "truncated", share(q->truncated, q->samples),
		"without_debug_info", share(q->between_safepoints, q->java_samples), "stale",
		share(q->stale, q->java_frames), "hottest_leaf", "frame", r->leaf, "samples",
		(json_int_t)r->leaf_self, "hottest_path", "stack", r->path, "samples",
		(json_int_t)r->path_self, "damaged_bytes", (json_int_t)r->cut, "post_ms",
		(json_int_t)s->post_ms, "cut", cuts_json(s->session, r));

	if (e->event == EVENT_CLOCK)
		json_object_set_new(o, "wall", summary_wall_json(&r->wall));
	return o;
}

static void print_object(json_t *object)
{
	json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	json_decref(object);
	putchar('\n');
	fflush(stdout);
}

/* 0: the recording is not kept, or samples are not what it counts. */
static double bytes_per_sample(const struct summary *s)
{
	struct stat st;

	if (s->events[0].event != EVENT_CPU ||
	    fstatat(s->session->dirfd, "perf.data", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return share((uint64_t)st.st_size, s->events[0].result.quality.samples);
}

void summary_json(const struct summary *s)
{
	CLEANUP(free) char *dir = session_path(s->session);
	const struct session *of = s->session;
	json_t *all = json_pack(
		"{sn s{ss ss ss ss} ss ss sf si ss sf sf so}", "verdict", "container", "id",
		s->session->container_id, "name", s->session->container_name, "pod",
		s->session->pod, "namespace", s->session->namespace, "host", s->session->host,
		"session", dir, "duration", s->session->duration, "frequency",
		(int)s->session->frequency, "recorder", session_recorder_name(of), "fallback",
		share(of->copied, of->walked + of->copied), "bytes_per_sample", bytes_per_sample(s),
		"jvms", jvms_json(s->session));
	json_t *result = result_json(s, &s->events[0]), *more = json_array();

	json_object_update(all, result); /* the verdict stays the first */
	json_decref(result);
	for (size_t i = 1; i < s->event_count; i++)
		json_array_append_new(more, result_json(s, &s->events[i]));
	json_object_set_new(all, "more_events", more);
	print_object(all);
}

void summary_json_merged(const struct summary *s, const struct inputs *in)
{
	json_t *all = result_json(s, &s->events[0]), *list = json_array();

	for (size_t i = 0; i < in->count; i++)
		json_array_append_new(list, json_string(in->list[i].path));
	json_object_set_new(all, "inputs", list);
	json_object_set_new(all, "events", events_json(s->events[0].result.events));
	json_object_set_new(all, "damaged_lines",
			    json_integer((json_int_t)s->events[0].result.skipped));
	print_object(all);
}
