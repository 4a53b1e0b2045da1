// SPDX-License-Identifier: Apache-2.0
/* The list of past recordings: dfg-trigger --list-recordings. */
#include "cmd/options.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "common/log.h"
#include "common/str.h"
#include "record/retention.h"

/* True without names, too. */
static bool is_wanted(const struct options *o, const struct session *s)
{
	const struct record_config *c = &o->record;

	for (size_t i = 0; i < c->name_count; i++)
		if (!strcmp(c->names[i], s->label) || !strcmp(c->names[i], s->container_name) ||
		    has_prefix(s->container_id, c->names[i]))
			return true;
	return c->name_count == 0;
}

/* "1.5 GiB", "30.2 MiB", "4 KiB" */
static char *size_text(uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double size = (double)bytes / 1024;
	size_t i = 0;

	for (; size >= 1000 && i + 1 < ARRAY_LEN(units); i++)
		size /= 1024;
	return xasprintf(i ? "%.1f %s" : "%.0f %s", size, units[i]);
}

static void print_line(const struct result *r, const struct session *s)
{
	CLEANUP(free) char *size = size_text(r->bytes);
	CLEANUP(str_fini) struct str label = {0};

	str_add_clean(&label, s->label, strlen(s->label));
	printf("%-20s %8.1f s %10s  %-24s %s%s\n", s->started, s->duration, size, label.buf, s->dir,
	       r->recorded ? "  (is being recorded)" : "");
}

static json_t *to_json(const struct result *r, const struct session *s)
{
	return json_pack("{s{ss ss ss ss ss} ss sf si sI ss sb}", "container", "id",
			 s->container_id, "name", s->container_name, "pod", s->pod, "namespace",
			 s->namespace, "host", s->host, "started", s->started, "duration",
			 s->duration, "frequency", (int)s->frequency, "bytes", (json_int_t)r->bytes,
			 "session", s->dir, "recording", (int)r->recorded);
}

/* Shows a recording; one that cannot be read is skipped: its session.json is written at its end. */
static bool show(const struct options *o, const struct result *r, json_t *list, bool heading)
{
	struct session s;
	bool wanted;

	if (result_open(o->record.root, r, &s, &(struct err){0}) < 0)
		return false;
	wanted = is_wanted(o, &s);
	if (wanted && list)
		json_array_append_new(list, to_json(r, &s));
	if (wanted && !list && heading)
		printf("%-20s %10s %10s  %-24s %s\n", "STARTED", "DURATION", "SIZE", "CONTAINER",
		       "SESSION");
	if (wanted && !list)
		print_line(r, &s);
	session_fini(&s);
	return wanted;
}

enum exit_status recordings_list(const struct options *o)
{
	CLEANUP(results_fini) struct results r = {0};
	json_t *list = o->json ? json_array() : NULL;
	json_t *all = list ? json_pack("{so}", "recordings", list) : NULL;
	size_t shown = 0;
	struct err err;

	if (geteuid() != 0) {
		err_set(&err, 0, "listing recordings needs root: run it with sudo");
		return command_fail(EXIT_NOT_PERMITTED, &err);
	}
	results_list(o->record.root, true, &r);
	for (size_t i = 0; i < r.count; i++)
		shown += show(o, &r.list[i], list, shown == 0);
	if (all) {
		json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
		putchar('\n');
	} else if (shown == 0) {
		log_info("no recordings%s in %s", o->record.name_count ? " of that name" : "",
			 o->record.root);
	}
	json_decref(all);
	return EXIT_DONE;
}
