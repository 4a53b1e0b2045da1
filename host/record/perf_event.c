// SPDX-License-Identifier: Apache-2.0
#include "record/perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "common/str.h"

#define COUNT_SECONDS	"0.2"
#define COUNTS_A_SECOND 5
#define COUNT_MS	20000 /* perf opens an event for each thread first */
#define ANSWER_MAX	65536

static void list_pids(const struct perf_config *c, struct str *ret)
{
	for (size_t i = 0; i < c->count; i++)
		str_addf(ret, "%s%d", i ? "," : "", (int)c->pids[i]);
}

/* Cuts the text after its first line. */
static void keep_line(struct str *text)
{
	str_adds(text, "\n");
	text->buf[strcspn(text->buf, "\n")] = '\0';
	str_clean(text->buf, text->len);
}

/* Reads "29717,,page-faults,…", or "<not supported>,,cache-misses,…". */
static int parse(struct str *text, const char *event, uint64_t *ret, struct err *err)
{
	char *end;

	keep_line(text);
	errno = 0;
	*ret = strtoull(text->buf, &end, 10);
	if (end != text->buf && *end == ',' && errno == 0)
		return 0;
	if (has_prefix(text->buf, "<not counted>")) { /* no thread ran */
		*ret = 0;
		return 0;
	}
	if (has_prefix(text->buf, "<not supported>"))
		return err_set(err, 0, "this machine, or its kernel, does not have the event %s",
			       event);
	return err_set(err, 0, "event %s: perf says: %s", event, text->buf);
}

/* Appends what perf says; its exit status does not matter. */
static int count(const struct perf_config *c, struct str *ret, struct err *err)
{
	CLEANUP(str_fini) struct str pids = {0};
	const char *argv[] = {"sh",
			      "-c",
			      "exec \"$@\" 2>&1",
			      "sh",
			      c->program ? c->program : "perf",
			      "stat",
			      "-x",
			      ",",
			      "-e",
			      c->event,
			      "-a",
			      NULL,
			      NULL,
			      NULL,
			      NULL};
	size_t n = 10;

	list_pids(c, &pids);
	if (!c->whole_machine) {
		argv[n] = "-p";
		argv[++n] = pids.buf;
	}
	argv[++n] = "sleep";
	argv[++n] = COUNT_SECONDS;
	return child_capture((char *const *)(uintptr_t)argv, NULL, -1, COUNT_MS, ANSWER_MAX, ret,
			     err) < 0
		       ? -1
		       : 0;
}

int perf_event_period(const struct perf_config *c, uint64_t *ret, struct err *err)
{
	CLEANUP(str_fini) struct str text = {0};
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t events, wanted = (uint64_t)c->frequency * (cpus > 0 ? (uint64_t)cpus : 1);

	if (count(c, &text, err) < 0 || parse(&text, c->event, &events, err) < 0)
		return -1;
	*ret = events * COUNTS_A_SECOND / wanted;
	*ret = *ret ? *ret : 1;
	return 0;
}
