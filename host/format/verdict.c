// SPDX-License-Identifier: Apache-2.0
#include "format/verdict.h"

#include "format/text.h"

/* There is a warning from these shares on. */
static const struct {
	const char *kind;
	double percent;
} bad[] = {
	{"lost", 1}, {"truncated", 1}, {"incomplete", 5}, {"inlining", 5}, {"unknown", 5},
};

#define STACK_BYTES 32768 /* copied of each stack by default, at most */

#define NOTABLE 0.005 /* of pressure and steal: less is not shown */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Appends "12 %"; what rounds to nothing is "<1 %". */
static void add_whole_percent(struct str *out, double percent)
{
	if (percent > 0 && percent < 0.5)
		str_adds(out, "<1 %");
	else
		str_addf(out, "%.0f %%", percent);
}

/* ---- the verdict ---- */

static void add_limit(struct str *out, const struct session_cpu *cpu)
{
	double tenths = 10 * cpu->limit;

	str_addf(out, tenths == (double)(long)tenths ? " of limit %.1f" : " of limit %.2f",
		 cpu->limit);
	if (cpu->throttled_periods < 0)
		return;
	if (cpu->throttled_periods == 0) {
		str_adds(out, ", not throttled");
		return;
	}
	str_adds(out, ", throttled in ");
	add_whole_percent(out, 100 * cpu->throttled_periods);
	str_adds(out, " of periods");
}

static void add_cpu(struct str *out, const struct session_cpu *cpu)
{
	if (cpu->used < 0)
		return;
	str_addf(out, "%.2f", cpu->used);
	if (cpu->limit > 0)
		add_limit(out, cpu);
	else if (cpu->processors > 0)
		str_addf(out, " of %.0f processor%s%s", cpu->processors,
			 cpu->processors == 1 ? "" : "s", cpu->limit == 0 ? ", no limit" : "");
	else
		str_adds(out, " processors");
	if (cpu->pressure >= NOTABLE) {
		str_adds(out, ", pressure ");
		add_whole_percent(out, 100 * cpu->pressure);
	}
	if (cpu->steal >= NOTABLE) {
		str_adds(out, ", steal ");
		add_whole_percent(out, 100 * cpu->steal);
	}
	str_adds(out, "; ");
}

void verdict_text(struct str *out, const struct verdict *v, const struct session_cpu *cpu)
{
	static const enum busy order[] = {BUSY_APPLICATION, BUSY_GC, BUSY_COMPILER, BUSY_JVM,
					  BUSY_KERNEL};

	add_cpu(out, cpu);
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		uint64_t part = v->busy[order[i]];

		if (i && !part)
			continue;
		str_addf(out, "%s%s ", i ? ", " : "", busy_name(order[i]));
		add_whole_percent(out, percent(part, v->samples));
	}
}

void verdict_share(struct str *out, const struct verdict *v, uint64_t part, int width)
{
	str_addf(out, "%*.1f %%", width > 2 ? width - 2 : 0, percent(part, v->samples));
}

void verdict_owner(struct str *out, const struct verdict_method *m)
{
	if (m->owner != CODE_OWN)
		str_addf(out, " (%s)", code_owner_name(m->owner));
}

void verdict_subject_text(struct str *out, const struct subject *s, enum event_kind event)
{
	const struct event_name *names = &event_names[event];

	str_adds(out, s->class);
	if (s->method[0] && names->by)
		str_addf(out, ", %s %s", names->by, s->method);
	if (s->holder[0] && names->held)
		str_addf(out, ", %s %s", names->held, s->holder);
}

void verdict_subject(struct str *out, const struct subjects *s, size_t i)
{
	verdict_subject_text(out, &s->list[i], s->event);
}

/* ---- warnings ---- */

static void add(struct warnings *w, const char *kind, char *what, const char *remedy)
{
	w->list[w->count++] =
		(struct warning){kind, xasprintf("%s: %s", what, remedy), (int)strlen(what)};
	free(what);
}

/* Adds "12.3 % of …: remedy", if the share is at least so many percent. */
static void judge(struct warnings *w, const char *kind, uint64_t part, uint64_t whole,
		  const char *of, const char *remedy)
{
	double share = percent(part, whole), least = 0;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (!strcmp(kind, bad[i].kind))
			least = bad[i].percent;
	if (share >= least)
		add(w, kind, xasprintf("%.1f %% %s", share, of), remedy);
}

static void judge_truncated(struct warnings *w, const struct quality *q, const struct session *s)
{
	bool few = s && s->stack_bytes && s->stack_bytes < STACK_BYTES;

	judge(w, "truncated", q->truncated, q->samples,
	      few ? "of the stacks were cut, as few bytes of each were copied"
		  : "of the stacks were cut, as they are very deep",
	      few ? "use --stack 32768, or --unwind bpf"
		  : "totals of outer methods are too low, methods by self are right");
}

static void judge_complete(struct warnings *w, const struct quality *q, const struct session *s)
{
	bool by_pointers = s && !s->in_kernel && !s->stack_bytes;
	uint64_t missing = q->java_samples - q->java_complete;

	/* Stacks that were cut have a warning of their own. */
	judge(w, "incomplete", missing > q->truncated ? missing : 0, q->java_samples,
	      by_pointers ? "of the Java stacks are incomplete, as the JVM keeps no frame pointers"
			  : "of the Java stacks are incomplete, totals of outer methods too low",
	      by_pointers ? "use --unwind auto, or start it with -XX:+PreserveFramePointer"
			  : "dfg-doctor says what this JVM lacks");
}

void warnings_make(const struct quality *q, const struct session *s, struct warnings *ret)
{
	*ret = (struct warnings){0};
	judge(ret, "lost", q->lost, q->lost + q->samples,
	      "of the samples were lost, as the recorder could not keep up",
	      "use a lower frequency (-F)");
	judge_truncated(ret, q, s);
	judge_complete(ret, q, s);
	judge(ret, "inlining", q->between_safepoints, q->java_samples,
	      "of the Java samples may be charged to a neighbouring inlined method, as this code "
	      "was compiled without DebugNonSafepoints",
	      "record again when it has been recompiled, or have JVMs start with it (dfg-setup "
	      "install --early)");
	judge(ret, "unknown", q->frames_unknown, q->frames, "of the frames have no name",
	      "dfg-doctor says what this JVM lacks");
	if (s && s->failure)
		add(ret, "recorder", xstrdup(s->failure), "the graph shows the time before");
}

void warnings_fini(struct warnings *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->list[i].text);
	*w = (struct warnings){0};
}

/* ---- for the page ---- */

/* A picture has no column that says what the line is about. */
static void picture_text(struct str *out, const struct picture *p)
{
	str_adds(out, p->cpu.used >= 0 ? "CPU: " : "");
	verdict_text(out, p->verdict, &p->cpu);
}

static void page_methods(struct str *out, const struct verdict *v)
{
	for (size_t i = 0; i < v->method_count; i++) {
		const struct verdict_method *m = &v->methods[i];

		str_adds(out, i ? ",[" : "[");
		text_json(out, m->name, strlen(m->name));
		str_adds(out, ",\"");
		verdict_share(out, v, m->total, 0);
		str_adds(out, "\",\"");
		verdict_share(out, v, m->self, 0);
		str_addf(out, "\",\"%s\"]", code_owner_name(m->owner));
	}
}

/* Each with its share, its text, and the names that the graph has. */
static void page_subjects(struct str *out, const struct subjects *all)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct subject *one = &all->list[i];
		const char *const names[] = {one->class, one->method, one->holder};
		CLEANUP(str_fini) struct str text = {0};

		verdict_subject(&text, all, i);
		str_addf(out, "%s[\"%.1f %%\",", i ? "," : "", percent(one->amount, all->amount));
		text_json(out, text.buf, text.len);
		for (size_t k = 0; k < ARRAY_LEN(names); k++) {
			str_addc(out, ',');
			text_json(out, names[k], strlen(names[k]));
		}
		str_addc(out, ']');
	}
}

/* Each with its begin in seconds, its times in ms, the heap's bytes before and after, and its text.
 */
static void page_pauses(struct str *out, const struct pauses *p)
{
	for (size_t i = 0; i < p->listed; i++) {
		const struct pause *one = &p->list[i];
		CLEANUP(str_fini) struct str text = {0};

		verdict_subject_text(&text, &one->subject, EVENT_SAFEPOINT);
		str_addf(out, "%s[%.3f,%.2f,%.2f,%llu,%llu,", i ? "," : "",
			 (double)one->begin / 1e9, (double)one->all / 1e6,
			 (double)one->stopping / 1e6, (unsigned long long)one->heap_before,
			 (unsigned long long)one->heap_after);
		text_json(out, text.buf, text.len);
		str_addc(out, ']');
	}
}

static void page_compilations(struct str *out, const struct compilation_list *l)
{
	for (size_t i = 0; i < l->listed; i++) {
		const struct compiled *c = &l->list[i].compiled;

		str_addf(out, "%s[%u,%u,%u,%.1f,", i ? "," : "",
			 compiled_times(c) - c->times[COMPILE_LEVELS - 1],
			 c->times[COMPILE_LEVELS - 1], c->discarded, (double)c->ns / 1e6);
		text_json(out, l->list[i].method, strlen(l->list[i].method));
		str_addc(out, ']');
	}
}

/* Each with its begin in seconds, its ms, its thread, its text, and its method. */
static void page_waits(struct str *out, const struct wall_waits *l)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct wall_wait *w = &l->list[i];
		CLEANUP(str_fini) struct str text = {0};

		wall_add_wait_text(&text, w);
		str_addf(out, "%s[%.3f,%.2f,", i ? "," : "", (double)w->begin / 1e9,
			 (double)w->ns / 1e6);
		text_json(out, w->thread, strlen(w->thread));
		str_addc(out, ',');
		text_json(out, text.buf, text.len);
		str_addc(out, ',');
		text_json(out, w->what.method, strlen(w->what.method));
		str_addc(out, ']');
	}
}

static void page_warnings(struct str *out, const struct picture *p)
{
	CLEANUP(warnings_fini) struct warnings warnings;

	warnings_make(&p->quality, p->session, &warnings);
	for (size_t i = 0; i < warnings.count; i++) {
		str_adds(out, i ? "," : "");
		text_json(out, warnings.list[i].text, strlen(warnings.list[i].text));
	}
}

void verdict_page(struct str *out, const struct picture *p)
{
	CLEANUP(str_fini) struct str text = {0};

	str_adds(&text, "");
	if (p->verdict && p->verdict->samples)
		picture_text(&text, p);
	if (p->subjects && p->subjects->count) {
		text_amount(&text, p->subjects->amount, p->unit);
		str_addf(&text, ": %s", event_names[p->subjects->event].text);
	}
	if (p->wall)
		wall_add_finding(&text, &p->wall->finding);
	str_adds(out, "{\"text\":");
	text_json(out, text.buf, text.len);
	str_adds(out, ",\"methods\":[");
	if (p->verdict)
		page_methods(out, p->verdict);
	str_adds(out, "],\"subjects\":[");
	if (p->subjects)
		page_subjects(out, p->subjects);
	str_adds(out, "],\"pauses\":[");
	if (p->pauses)
		page_pauses(out, p->pauses);
	str_adds(out, "],\"compilations\":[");
	if (p->compilations)
		page_compilations(out, p->compilations);
	str_adds(out, "],\"waits\":[");
	if (p->wall)
		page_waits(out, &p->wall->waits);
	str_adds(out, "],\"warnings\":[");
	if (p->verdict)
		page_warnings(out, p);
	str_adds(out, "]}");
}

/* ---- for the SVG ---- */

#define SVG_COLUMNS  185 /* fit into its width */
#define SVG_SUBJECTS 3u

static void svg_line(struct str *out, unsigned x, unsigned y, const char *class, const char *text,
		     size_t len)
{
	str_addf(out, "<text class=\"verdict %s\" x=\"%u\" y=\"%u\">", class, x, y);
	text_escape(out, text, len);
	str_adds(out, "</text>\n");
}

/* As many methods as fit into a line, as Class.method. */
static void svg_methods(struct str *out, const struct verdict *v)
{
	for (size_t i = 0; i < v->method_count; i++) {
		const struct verdict_method *m = &v->methods[i];
		size_t before = out->len;

		str_addf(out, "%s%s ", i ? " · " : "",
			 m->name + text_package(m->name, strlen(m->name)));
		verdict_share(out, v, m->total, 0);
		str_adds(out, ", self ");
		verdict_share(out, v, m->self, 0);
		verdict_owner(out, m);
		if (i && text_columns(out->buf, out->len) > SVG_COLUMNS) {
			out->len = before;
			return;
		}
	}
}

unsigned verdict_svg(struct str *out, const struct picture *p, unsigned x, unsigned y,
		     unsigned step)
{
	CLEANUP(warnings_fini) struct warnings warnings = {0};
	CLEANUP(str_fini) struct str text = {0};
	unsigned lines = 0;

	if (p->verdict && p->verdict->samples) {
		picture_text(&text, p);
		svg_line(out, x, y + lines++ * step, "strong", text.buf, text.len);
		str_clear(&text);
		svg_methods(&text, p->verdict);
		if (text.len)
			svg_line(out, x, y + lines++ * step, "", text.buf, text.len);
	}
	if (p->wall) {
		wall_add_finding(&text, &p->wall->finding);
		if (text.len)
			svg_line(out, x, y + lines++ * step, "strong", text.buf,
				 text_fit(text.buf, text.len, SVG_COLUMNS));
	}
	for (size_t i = 0; p->subjects && i < p->subjects->count && i < SVG_SUBJECTS; i++) {
		str_clear(&text);
		str_addf(&text, "%.1f %% ",
			 percent(p->subjects->list[i].amount, p->subjects->amount));
		verdict_subject(&text, p->subjects, i);
		svg_line(out, x, y + lines++ * step, "", text.buf,
			 text_fit(text.buf, text.len, SVG_COLUMNS));
	}
	if (p->verdict)
		warnings_make(&p->quality, p->session, &warnings);
	for (size_t i = 0; i < warnings.count; i++)
		svg_line(out, x, y + lines++ * step, "bad", warnings.list[i].text,
			 (size_t)warnings.list[i].what);
	return lines;
}
