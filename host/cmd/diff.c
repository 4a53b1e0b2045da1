// SPDX-License-Identifier: Apache-2.0
/* dfg-diff: what a change of a program, its load or its machine changed in its profile. */
#include <stdio.h>

#include "cmd/command.h"
#include "common/log.h"
#include "common/str.h"
#include "report/compare.h"
#include "report/filter.h"
#include "report/merge.h"

static const struct command command = {
	"dfg-diff",
	"usage: dfg-diff [options] BEFORE AFTER\n"
	"\n"
	"Shows what changed between two profiles: a differential flame graph, and a table of the\n"
	"methods that changed most. Shares are compared, so recordings may differ in length. "
	"BEFORE\n"
	"and AFTER are session directories, folded text, pprof or JFR, in any combination.\n"
	"\n"
	"  -f, --format LIST   svg,html,folded (svg,html)\n"
	"  -o, --output DIR    where to (.)\n"
	"  -n, --normalize     scale the counts before in folded text to the samples after\n"
	"      --include REGEX, --exclude REGEX, --java-only, --from TIME, --to TIME\n"
	"                      the samples that count, as of dfg-trigger\n"
	"      --by LIST       what stacks begin with: pool (default), thread, container,pool,\n"
	"                      container,thread, container or none\n"
	"      --full          keep all frames that start a thread; else they are one row\n"
	"      --event KIND    of JFR: cpu (default), native, wall, alloc or lock\n"
	"      --kinds         keep compiled, inlined and interpreted methods apart\n"
	"      --rows N        of the table, at most 100 (20)\n"
	"      --json          the table as one JSON object on stdout\n"
	"      --version\n"
	"\n"
	"exit: 0 done, 1 failed, 2 usage\n",
};

struct diff_arguments {
	struct compare_options compare;
	const char *outdir;
	enum event_kind event;
	char **inputs;
	bool json;
	struct filter *filter;
};

static int parse_rows(const char *value, unsigned *ret, struct err *err)
{
	uint64_t n;

	if (!parse_u64(value, &n) || n > COMPARE_ROWS)
		return err_set(err, 0, "--rows %s: must be a whole number up to %d", value,
			       COMPARE_ROWS);
	*ret = (unsigned)n;
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
		return parse_rows(optarg, &a->compare.rows, err);
	}
	if (opt >= FILTER_INCLUDE)
		return filter_option(a->filter, opt, optarg, err);
	a->compare.normalize |= opt == 'n';
	a->compare.kinds |= opt == 'k';
	a->json |= opt == 'j';
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
		{"event", required_argument, NULL, 'e'},
		{"full", no_argument, NULL, 'F'},
		{"kinds", no_argument, NULL, 'k'},
		{"rows", required_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		{"include", required_argument, NULL, FILTER_INCLUDE},
		{"exclude", required_argument, NULL, FILTER_EXCLUDE},
		{"java-only", no_argument, NULL, FILTER_JAVA_ONLY},
		{"from", required_argument, NULL, FILTER_FROM},
		{"to", required_argument, NULL, FILTER_TO},
		{0},
	};
	struct diff_arguments a = {
		.compare = {.roots = ROOT_POOL, .rows = 20}, .outdir = ".", .filter = filter_new()};
	int opt;

	if (formats_parse_difference("svg,html", &a.compare.formats, err) < 0)
		return -1;
	while ((opt = command_option_of(&command, argc, argv, ":f:o:n", options, err)) > 0)
		if (parse_option(opt, &a, err) < 0)
			return -1;
	if (opt < 0)
		return -1;
	if (argc - optind != 2)
		return err_set(err, 0, "two profiles are compared, BEFORE and AFTER; see --help");
	a.inputs = argv + optind;
	*ret = a;
	return filter_check(a.filter, err);
}

static int run(struct diff_arguments *a, struct err *err)
{
	CLEANUP(outdir_close) struct outdir out = {0};
	CLEANUP(inputs_fini) struct inputs in = {.filter = a->filter};
	CLEANUP(free) struct compare_result *result = xcalloc(1, sizeof(*result));

	a->compare.outdir = &out;
	in.event = a->event;
	if (inputs_add(&in, a->inputs[0], err) < 0 || inputs_add(&in, a->inputs[1], err) < 0 ||
	    outdir_open(a->outdir, 0755, &out, err) < 0 ||
	    compare(&in, &a->compare, result, err) < 0)
		return -1;
	if (a->json)
		compare_json(&in, &a->compare, result);
	else
		compare_print(&in, &a->compare, result);
	if (result->skipped)
		log_warn("%llu lines could not be read and are left out",
			 (unsigned long long)result->skipped);
	if (result->cut)
		log_warn("%llu bytes of damaged recordings could not be read",
			 (unsigned long long)result->cut);
	if (!result->before_samples || !result->after_samples)
		log_warn("%s: no samples, all of the other is new or gone",
			 in.list[result->before_samples > 0].path);
	return 0;
}

int main(int argc, char **argv)
{
	struct diff_arguments a;
	struct err err;

	log_init(command.name);
	if (parse(argc, argv, &a, &err) < 0)
		return (int)command_fail(EXIT_USAGE, &err);
	return (int)(run(&a, &err) < 0 ? command_fail(EXIT_FAILED, &err) : EXIT_DONE);
}
