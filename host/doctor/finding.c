// SPDX-License-Identifier: Apache-2.0
#include "doctor/probe.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/str.h"

static const char *const states[] = {"ok", "note", "no"};

PRINTF_LIKE(1, 0) static char *clean_text(const char *fmt, va_list ap)
{
	CLEANUP(str_fini) struct str clean = {0};
	CLEANUP(free) char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		text = xstrdup("");
	str_add_clean(&clean, text, strlen(text));
	return xstrdup(clean.buf ? clean.buf : "");
}

void findings_about(struct findings *f, const char *about, pid_t pid, const char *heading, ...)
{
	va_list ap;

	free(f->heading);
	va_start(ap, heading);
	f->heading = clean_text(heading, ap);
	va_end(ap);
	f->about = about;
	f->pid = pid;
}

void finding_add(struct findings *f, enum finding_state state, const char *what, const char *advice,
		 const char *why, ...)
{
	va_list ap;

	f->list = grow(f->list, f->count, &f->cap, sizeof(*f->list));
	va_start(ap, why);
	f->list[f->count++] = (struct finding){
		.state = state,
		.about = f->about,
		.pid = f->pid,
		.heading = xstrdup(f->heading),
		.what = what,
		.why = clean_text(why, ap),
		.advice = xstrdup(advice),
	};
	va_end(ap);
}

enum finding_state findings_worst(const struct findings *f)
{
	enum finding_state worst = FINDING_OK;

	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].state > worst)
			worst = f->list[i].state;
	return worst;
}

void findings_print(const struct findings *f)
{
	const char *heading = "";

	for (size_t i = 0; i < f->count; i++) {
		const struct finding *at = &f->list[i];

		if (strcmp(at->heading, heading) != 0)
			printf("%s%s\n", i ? "\n" : "", at->heading);
		heading = at->heading;
		printf("  %-4s  %-10s %s%s%s\n", states[at->state], at->what, at->why,
		       *at->advice ? " → " : "", at->advice);
	}
	fflush(stdout);
}

json_t *findings_json(const struct findings *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->count; i++) {
		const struct finding *at = &f->list[i];

		json_t *o =
			json_pack("{ss ss ss ss ss}", "about", at->about, "what", at->what, "state",
				  states[at->state], "why", at->why, "advice", at->advice);

		if (at->pid)
			json_object_set_new(o, "pid", json_integer(at->pid));
		json_array_append_new(list, o);
	}
	return list;
}

void findings_fini(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->list[i].heading);
		free(f->list[i].why);
		free(f->list[i].advice);
	}
	free(f->list);
	free(f->heading);
	*f = (struct findings){0};
}
