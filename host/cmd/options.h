/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of dfg-trigger and dfg-top (docs/man). */
#ifndef DFG_CMD_OPTIONS_H
#define DFG_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/command.h"
#include "common/err.h"
#include "record/config.h"
#include "record/run.h"
#include "report/filter.h"
#include "report/formats.h"

enum options_program {
	PROGRAM_TRIGGER,
	PROGRAM_TOP,
};

enum options_action {
	ACTION_RECORD,
	ACTION_REPLAY,
	ACTION_LIST,
	ACTION_LIST_RECORDINGS,
	ACTION_HELP,
	ACTION_VERSION,
};

struct options {
	enum options_action action;
	struct record_config record; /* names: sessions for ACTION_REPLAY */
	struct format_set formats;
	unsigned roots;	       /* report/merge.h */
	struct filter *filter; /* dfg-trigger: which samples are drawn */
	char *perf_event;      /* of `record` */
	const char *push;      /* URL, NULL: none */
	bool json, quiet;
	bool open;	  /* dfg-trigger: the first picture */
	bool keep_stacks; /* of dfg-trigger: the recording, with copies of stack memory */
	bool plain;	  /* dfg-top: no screen */
	unsigned count;	  /* dfg-top: refreshes; 0: no limit */
};

/* Fails with a usage error: exit status 2. */
MUST_CHECK int options_parse(enum options_program program, int argc, char **argv,
			     struct options *ret, struct err *err);

/* Frees the filter, which there is after a failure, too. */
static inline void options_fini(struct options *o)
{
	free(o->perf_event);
	filter_free(o->filter);
	o->filter = NULL;
}

static inline void cleanup_options_fini(struct options *o)
{
	options_fini(o);
}

void options_help(enum options_program program);

/* Lists of dfg-trigger, as lines or with --json as one object of docs/formats.md (lists.c): the
 * running containers; the recordings below dfg's directory, the newest first. With names, only the
 * recordings of these containers: ids, beginnings of ids, or names as --list prints them. */
enum exit_status containers_print(const struct options *o);
enum exit_status recordings_print(const struct options *o);

/* Has xdg-open open a file, as the user who called sudo (open.c). */
MUST_CHECK int open_picture(const char *path, struct err *err);

/* Translates the result of a recording. */
enum exit_status options_exit_status(enum record_result result);

#endif
