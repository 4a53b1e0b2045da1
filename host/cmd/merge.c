// SPDX-License-Identifier: Apache-2.0
/* dfg-merge: many recordings -> one graph. */
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/help_merge.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/str.h"
#include "report/filter.h"
#include "report/merge.h"
#include "report/render.h"
#include "report/summary.h"

static const struct command command = {"dfg-merge", help_merge};

struct merge_arguments {
	struct format_set formats;
	const char *outdir;
	unsigned roots;
	enum event_kind event;
	char **inputs;
	size_t count;
	bool json, quiet;
	struct filter *filter;
};

static int parse_option(int opt, struct merge_arguments *a, struct err *err)
{
	switch (opt) {
	case 'f':
		return formats_parse(optarg, &a->formats, err);
	case 'o':
		a->outdir = optarg;
		return *optarg ? 0 : err_set(err, 0, "--output: no directory given");
	case 'b':
		return roots_parse(optarg, &a->roots, err);
	case 'e':
		return event_parse(optarg, &a->event, err);
	}
	if (opt >= FILTER_INCLUDE)
		return filter_option(a->filter, opt, optarg, err);
	a->quiet |= opt == 'q';
	a->json |= opt == 'j';
	a->roots |= opt == 'F' ? ROOT_FULL : 0;
	return 0;
}

static int parse(int argc, char **argv, struct merge_arguments *ret, struct err *err)
{
	static const struct option options[] = {
		{"format", required_argument, NULL, 'f'},
		{"output", required_argument, NULL, 'o'},
		{"by", required_argument, NULL, 'b'},
		{"event", required_argument, NULL, 'e'},
		{"full", no_argument, NULL, 'F'},
		{"json", no_argument, NULL, 'j'},
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		FILTER_OPTIONS,
		{0},
	};
	struct merge_arguments a = {
		.outdir = ".", .roots = ROOT_CONTAINER | ROOT_POOL, .filter = filter_new()};
	int opt;

	ret->filter = a.filter; /* also after a failure */
	if (formats_parse("svg,html,folded", &a.formats, err) < 0)
		return -1;
	while ((opt = command_option_of(&command, argc, argv, ":f:o:q", options, err)) > 0)
		if (parse_option(opt, &a, err) < 0)
			return -1;
	if (opt < 0)
		return -1;
	a.inputs = argv + optind;
	a.count = (size_t)(argc - optind);
	if (a.count == 0)
		return err_set(err, 0, "no input given; see --help");
	*ret = a;
	return filter_check(a.filter, err);
}

static int add_from_stdin(struct inputs *in, struct err *err)
{
	CLEANUP(free) char *line = NULL;
	size_t size = 0;
	ssize_t len;

	while ((len = getline(&line, &size, stdin)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		if (*line && inputs_add(in, line, err) < 0)
			return -1;
	}
	return in->count ? 0 : err_set(err, 0, "no input named on stdin");
}

static enum exit_status run(const struct merge_arguments *a, struct err *err)
{
	CLEANUP(inputs_fini) struct inputs in = {.filter = a->filter, .event = a->event};
	uint64_t began = clock_ms();
	CLEANUP(outdir_close) struct outdir out = {0};
	CLEANUP(free) struct summary_event *event = xcalloc(1, sizeof(*event));
	struct summary summary = {.events = event, .event_count = 1};

	event->formats = a->formats;
	for (size_t i = 0; i < a->count; i++)
		if ((!strcmp(a->inputs[i], "-") ? add_from_stdin(&in, err)
						: inputs_add(&in, a->inputs[i], err)) < 0)
			return EXIT_FAILED;
	event->event = in.event;
	if (formats_check(&a->formats, &in, err) < 0)
		return EXIT_USAGE;
	log_progress("merging %zu recordings", in.count);
	if (outdir_open(a->outdir, 0755, &out, err) < 0 ||
	    render(&in, a->roots, &a->formats, &out, &event->result, err) < 0)
		return EXIT_FAILED;
	summary.outdir = out.path;
	log_progress("%s", "");
	summary.post_ms = clock_ms() - began;
	if (a->json)
		summary_json_merged(&summary, &in);
	else
		summary_print_merged(&summary, &in);
	return EXIT_DONE;
}

static void cleanup_arguments(struct merge_arguments *a)
{
	filter_free(a->filter);
}

int main(int argc, char **argv)
{
	CLEANUP(arguments) struct merge_arguments a = {0};
	enum exit_status status;
	struct err err;

	log_init(command.name);
	if (parse(argc, argv, &a, &err) < 0)
		return (int)command_fail(EXIT_USAGE, &err);
	log_quiet(a.quiet);
	status = run(&a, &err);
	return (int)(status == EXIT_DONE ? status : command_fail(status, &err));
}
