// SPDX-License-Identifier: Apache-2.0
/* dfg-diff: what a change of a program, its load or its machine changed in its profile. */
#include <limits.h>
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/help_diff.h"
#include "common/log.h"
#include "common/str.h"
#include "report/compare_print.h"
#include "report/filter.h"
#include "report/gate.h"
#include "report/merge.h"

static const struct command command = {"dfg-diff", help_diff};

enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_MARKDOWN };

#define ROWS_DEFAULT 20
#define ROWS_ALL     UINT_MAX

struct diff_arguments {
	struct compare_options compare;
	struct gate gate;
	bool tables[2];
	unsigned rows;
	enum output output;
	const char *outdir;
	enum event_kind event;
	char **inputs;
	struct filter *filter;
};

static int parse_rows(const char *value, struct diff_arguments *a, struct err *err)
{
	uint64_t n;

	if (!parse_u64(value, &n) || n >= ROWS_ALL)
		return err_set(err, 0, "--rows %s: must be a whole number", value);
	a->rows = (unsigned)n;
	return 0;
}

static int parse_measure(const char *value, enum measure_kind *ret, struct err *err)
{
	if (strcmp(value, "sample") && strcmp(value, "second"))
		return err_set(err, 0, "--per %s: must be sample or second", value);
	*ret = strcmp(value, "second") ? MEASURE_SHARE : MEASURE_RATE;
	return 0;
}

static int parse_sort(const char *value, bool *tables, struct err *err)
{
	if (strcmp(value, "total") && strcmp(value, "self"))
		return err_set(err, 0, "--sort %s: must be total or self", value);
	tables[TABLE_TOTAL] = !strcmp(value, "total");
	tables[TABLE_SELF] = !tables[TABLE_TOTAL];
	return 0;
}

static int parse_output(enum output output, struct diff_arguments *a, struct err *err)
{
	if (a->output != OUTPUT_TEXT && a->output != output)
		return err_set(err, 0, "--json and --markdown: only one of them");
	a->output = output;
	return 0;
}

static int parse_option(int opt, struct diff_arguments *a, struct err *err)
{
	switch (opt) {
	case 'f':
		return formats_parse_difference(optarg, &a->compare.formats, err);
	case 'o':
		a->outdir = optarg;
		return *optarg ? 0 : err_set(err, 0, "--output: no directory given");
	case 'b':
		return roots_parse(optarg, &a->compare.roots, err);
	case 'e':
		return event_parse(optarg, &a->event, err);
	case 'r':
		return parse_rows(optarg, a, err);
	case 'p':
		return parse_measure(optarg, &a->gate.measure, err);
	case 's':
		return parse_sort(optarg, a->tables, err);
	case 'l':
		return gate_add(&a->gate, optarg, err);
	case 'j':
		return parse_output(OUTPUT_JSON, a, err);
	case 'm':
		return parse_output(OUTPUT_MARKDOWN, a, err);
	}
	if (opt >= FILTER_INCLUDE)
		return filter_option(a->filter, opt, optarg, err);
	a->compare.normalize |= opt == 'n';
	a->compare.kinds |= opt == 'k';
	a->compare.roots |= opt == 'F' ? ROOT_FULL : 0;
	return 0;
}

static int parse(int argc, char **argv, struct diff_arguments *ret, struct err *err)
{
	static const struct option options[] = {
		{"format", required_argument, NULL, 'f'},
		{"output", required_argument, NULL, 'o'},
		{"normalize", no_argument, NULL, 'n'},
		{"by", required_argument, NULL, 'b'},
		{"full", no_argument, NULL, 'F'},
		{"event", required_argument, NULL, 'e'},
		{"kinds", no_argument, NULL, 'k'},
		{"rows", required_argument, NULL, 'r'},
		{"per", required_argument, NULL, 'p'},
		{"sort", required_argument, NULL, 's'},
		{"fail-on", required_argument, NULL, 'l'},
		{"markdown", no_argument, NULL, 'm'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		FILTER_OPTIONS,
		{0},
	};
	struct diff_arguments a = {.compare = {.roots = ROOT_POOL},
				   .tables = {true, true},
				   .rows = ROWS_ALL,
				   .outdir = ".",
				   .filter = filter_new()};
	int opt;

	ret->filter = a.filter; /* also after a failure */
	if (formats_parse_difference("svg,html", &a.compare.formats, err) < 0)
		return -1;
	while ((opt = command_option_of(&command, argc, argv, ":f:o:n", options, err)) > 0)
		if (parse_option(opt, &a, err) < 0)
			return -1;
	if (opt < 0)
		return -1;
	if (argc - optind != 2)
		return err_set(err, 0, "two profiles are compared, BEFORE and AFTER; see --help");
	if (gate_check_measure(&a.gate, err) < 0)
		return -1;
	if (a.rows == ROWS_ALL && a.output != OUTPUT_JSON)
		a.rows = ROWS_DEFAULT;
	a.inputs = argv + optind;
	*ret = a;
	return filter_check(a.filter, err);
}

static void print(const struct diff_arguments *a, const struct compare_view *v)
{
	if (a->output == OUTPUT_JSON)
		compare_json(v);
	else if (a->output == OUTPUT_MARKDOWN)
		compare_markdown(v);
	else
		compare_print(v);
}

/* Fails if a limit is exceeded; the error is of the first. */
static enum exit_status check_limits(const struct compare_view *v, struct err *err)
{
	for (size_t i = 0; i < v->gate->count; i++) {
		CLEANUP(compare_table_fini)
		struct compare_table t = compare_exceeding(v, &v->gate->limits[i]);
		CLEANUP(str_fini) struct str names = {0};

		compare_add_exceeding(&names, v, &t, str_adds);
		if (t.count == 0)
			continue;
		(void)err_set(err, 0, "--fail-on %s: %s", v->gate->limits[i].text, names.buf);
		return EXIT_EXCEEDED;
	}
	return EXIT_DONE;
}

static void warn(const struct diff_arguments *a, const struct inputs *in,
		 const struct compare_result *result)
{
	if (result->skipped)
		log_warn("%llu lines could not be read and are left out",
			 (unsigned long long)result->skipped);
	if (result->cut)
		log_warn("%llu bytes of damaged recordings could not be read",
			 (unsigned long long)result->cut);
	if (!result->before.samples || !result->after.samples) {
		log_warn("%s: no samples, all of the other is new or gone",
			 in->list[result->before.samples > 0].path);
		return;
	}
	for (size_t i = 0; i < a->gate.count; i++) {
		const struct gate_limit *l = &a->gate.limits[i];
		unsigned long long needed = gate_samples_needed(l, result);

		if (needed)
			log_warn("--fail-on %s: too few samples to tell such a change from chance; "
				 "record about %llu on each side",
				 l->text, needed);
	}
}

static enum exit_status run(struct diff_arguments *a, struct err *err)
{
	CLEANUP(outdir_close) struct outdir out = {0};
	CLEANUP(inputs_fini) struct inputs in = {.filter = a->filter, .event = a->event};
	CLEANUP(compare_fini) struct compare_result result = {0};
	struct compare_view v = {.in = &in,
				 .options = &a->compare,
				 .result = &result,
				 .gate = &a->gate,
				 .rows = a->rows,
				 .tables = {a->tables[TABLE_TOTAL], a->tables[TABLE_SELF]}};

	a->compare.outdir = &out;
	if (inputs_add(&in, a->inputs[0], err) < 0 || inputs_add(&in, a->inputs[1], err) < 0 ||
	    gate_check_inputs(&a->gate, &in, err) < 0 ||
	    outdir_open(a->outdir, 0755, &out, err) < 0 ||
	    compare(&in, &a->compare, &result, err) < 0)
		return EXIT_FAILED;
	if (gate_check_samples(&a->gate, &in, &result, err) < 0)
		return EXIT_FAILED;
	warn(a, &in, &result);
	print(a, &v);
	return check_limits(&v, err);
}

static void cleanup_arguments(struct diff_arguments *a)
{
	filter_free(a->filter);
}

int main(int argc, char **argv)
{
	CLEANUP(arguments) struct diff_arguments a = {0};
	enum exit_status status;
	struct err err;

	log_init(command.name);
	if (parse(argc, argv, &a, &err) < 0)
		return (int)command_fail(EXIT_USAGE, &err);
	status = run(&a, &err);
	return (int)(status == EXIT_DONE ? status : command_fail(status, &err));
}
