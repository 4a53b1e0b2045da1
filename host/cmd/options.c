// SPDX-License-Identifier: Apache-2.0
#include "cmd/options.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/help_top.h"
#include "cmd/help_trigger.h"
#include "common/log.h"
#include "common/str.h"
#include "dfg/paths.h"
#include "oci/conf.h"
#include "record/budget.h"
#include "record/perf.h"
#include "report/filter.h"
#include "report/merge.h"
#include "report/push.h"

#define TOP_SECONDS   2
#define DURATION_MAX  (24 * 3600)
#define FREQUENCY_MAX 100000
#define STACK_MIN     1024 /* below, hardly any stack is whole */
#define BYTES_LEAST   (1u << 20)
#define STACK_MAX     65528 /* a record's size is 16 bits (include/uapi/linux/perf_event.h) */

#define TRIGGER (1u << PROGRAM_TRIGGER)
#define TOP	(1u << PROGRAM_TOP)
#define BOTH	(TRIGGER | TOP)

enum {
	OPT_PID = 256,
	OPT_ALL,
	OPT_UNWIND,
	OPT_STACK,
	OPT_SOURCE,
	OPT_TRIGGER,
	OPT_FORCE,
	OPT_KEEP,
	OPT_MAX_BYTES,
	OPT_KEEP_FLAGS,
	OPT_KEEP_STACKS,
	OPT_OPEN,
	OPT_PUSH,
	OPT_REPLAY,
	OPT_LIST,
	OPT_LIST_RECORDINGS,
	OPT_ROOT,
	OPT_JSON,
	OPT_PLAIN,
	OPT_BY,
	OPT_FULL,
	OPT_VERSION,
};

static const struct {
	struct option option;
	unsigned programs; /* that take it */
} rows[] = {
	{{"duration", required_argument, NULL, 'd'}, BOTH},
	{{"frequency", required_argument, NULL, 'F'}, BOTH},
	{{"event", required_argument, NULL, 'e'}, BOTH},
	{{"format", required_argument, NULL, 'f'}, BOTH},
	{{"output", required_argument, NULL, 'o'}, BOTH},
	{{"pid", no_argument, NULL, OPT_PID}, BOTH},
	{{"all", no_argument, NULL, OPT_ALL}, BOTH},
	{{"unwind", required_argument, NULL, OPT_UNWIND}, BOTH},
	{{"stack", required_argument, NULL, OPT_STACK}, BOTH},
	{{"source", required_argument, NULL, OPT_SOURCE}, BOTH},
	{{"trigger", required_argument, NULL, OPT_TRIGGER}, BOTH},
	{{"max-bytes", required_argument, NULL, OPT_MAX_BYTES}, BOTH},
	{{"by", required_argument, NULL, OPT_BY}, BOTH},
	{{"full", no_argument, NULL, OPT_FULL}, BOTH},
	{{"force", no_argument, NULL, OPT_FORCE}, TRIGGER},
	{{"keep", required_argument, NULL, OPT_KEEP}, TRIGGER},
	{{"keep-flags", no_argument, NULL, OPT_KEEP_FLAGS}, BOTH},
	{{"keep-stacks", no_argument, NULL, OPT_KEEP_STACKS}, TRIGGER},
	{{"open", no_argument, NULL, OPT_OPEN}, TRIGGER},
	{{"push", required_argument, NULL, OPT_PUSH}, TRIGGER},
	{{"replay", no_argument, NULL, OPT_REPLAY}, TRIGGER},
	{{"list", no_argument, NULL, OPT_LIST}, TRIGGER},
	{{"list-recordings", no_argument, NULL, OPT_LIST_RECORDINGS}, TRIGGER},
	{{"include", required_argument, NULL, FILTER_INCLUDE}, TRIGGER},
	{{"exclude", required_argument, NULL, FILTER_EXCLUDE}, TRIGGER},
	{{"java-only", no_argument, NULL, FILTER_JAVA_ONLY}, TRIGGER},
	{{"from", required_argument, NULL, FILTER_FROM}, TRIGGER},
	{{"to", required_argument, NULL, FILTER_TO}, TRIGGER},
	{{"root", required_argument, NULL, OPT_ROOT}, BOTH},
	{{"json", no_argument, NULL, OPT_JSON}, BOTH},
	{{"quiet", no_argument, NULL, 'q'}, BOTH},
	{{"help", no_argument, NULL, 'h'}, BOTH},
	{{"version", no_argument, NULL, OPT_VERSION}, BOTH},
	{{"count", required_argument, NULL, 'n'}, TOP},
	{{"plain", no_argument, NULL, OPT_PLAIN}, TOP},
};

static const char *const help[] = {
	[PROGRAM_TRIGGER] = help_trigger,
	[PROGRAM_TOP] = help_top,
};

void options_help(enum options_program program)
{
	fputs(help[program], stdout);
}

/* Index of value in a NULL-terminated list of words. */
static int choose(const char *option, const char *value, const char *const *words, struct err *err)
{
	CLEANUP(str_fini) struct str all = {0};

	for (int i = 0; words[i]; i++) {
		if (!strcmp(words[i], value))
			return i;
		str_addf(&all, "%s%s", i ? ", " : "", words[i]);
	}
	return err_set(err, 0, "--%s %s: must be one of %s", option, value, all.buf);
}

static int parse_number(const char *option, const char *value, unsigned max, unsigned *ret,
			struct err *err)
{
	uint64_t n;

	if (!parse_u64(value, &n) || n == 0 || n > max)
		return err_set(err, 0, "--%s %s: must be a whole number from 1 to %u", option,
			       value, max);
	*ret = (unsigned)n;
	return 0;
}

static int parse_choice(int opt, const char *value, struct options *o, struct err *err)
{
	static const char *const unwind[] = {"auto", "fp", "vm", "bpf", NULL};
	static const char *const source[] = {"auto", "agent", "host", NULL};
	static const char *const trigger[] = {"auto", "file", "signal", "load", NULL};
	int i = opt == OPT_UNWIND   ? choose("unwind", value, unwind, err)
		: opt == OPT_SOURCE ? choose("source", value, source, err)
				    : choose("trigger", value, trigger, err);

	if (i < 0)
		return -1;
	if (opt == OPT_UNWIND)
		o->record.unwind = (enum record_unwind)i;
	else if (opt == OPT_SOURCE)
		o->record.source = (enum snapshot_source)i;
	else
		o->record.trigger = (enum snapshot_trigger)i;
	return 0;
}

/* A letter at a number's end, and what it multiplies it by. */
struct unit {
	char letter;
	uint64_t factor;
};

static const struct unit times[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {0, 0}};
static const struct unit sizes[] = {{'k', 1u << 10}, {'m', 1u << 20}, {'g', 1u << 30},
				    {'K', 1u << 10}, {'M', 1u << 20}, {'G', 1u << 30},
				    {0, 0}};

static bool parse_amount(const char *value, const struct unit *units, uint64_t *ret)
{
	CLEANUP(free) char *number = xstrdup(value);
	size_t len = strlen(number);
	uint64_t factor = 1;

	for (; len && units->letter; units++)
		if (number[len - 1] == units->letter) {
			factor = units->factor;
			number[len - 1] = '\0';
			break;
		}
	return parse_u64(number, ret) && !__builtin_mul_overflow(*ret, factor, ret);
}

static int parse_duration(const char *value, unsigned *ret, struct err *err)
{
	uint64_t n;

	if (!parse_amount(value, times, &n) || n == 0 || n > DURATION_MAX)
		return err_set(err, 0,
			       "--duration %s: must be from 1s to 24h, such as 90, 90s, 5m or 1h",
			       value);
	*ret = (unsigned)n;
	return 0;
}

/* perf wants a multiple of 8. */
static int parse_stack(const char *value, unsigned *ret, struct err *err)
{
	uint64_t n;

	if (!parse_amount(value, sizes, &n) || n < STACK_MIN || n > STACK_MAX)
		return err_set(err, 0,
			       "--stack %s: must be from %u to %u bytes, such as 8192 or 8k", value,
			       STACK_MIN, STACK_MAX);
	*ret = ((unsigned)n + 7) & ~7u;
	return 0;
}

static struct retention retention_of(const struct conf_keep *k)
{
	return (struct retention){.count = k->count, .seconds = k->seconds, .bytes = k->bytes};
}

static int parse_keep(const char *value, struct retention *ret, struct err *err)
{
	struct conf_keep keep;

	if (!conf_parse_keep(value, &keep))
		return err_set(
			err, 0,
			"--keep %s: must be a number of results, an age (h, d, w), a size (m, "
			"g, t) or several of these, such as 20 or 20,30d,2g; 0 keeps all",
			value);
	*ret = retention_of(&keep);
	return 0;
}

static int parse_max_bytes(const char *value, struct err *err)
{
	uint64_t n;

	if (!parse_amount(value, sizes, &n) || n < BYTES_LEAST)
		return err_set(err, 0, "--max-bytes %s: must be 1m or more, such as 500m or 2g",
			       value);
	budget_set_bytes(n);
	return 0;
}

/* True for what can be an event of perf's, and no option. */
static bool is_perf_event(const char *name)
{
	const char *at = name;

	for (; isalnum((unsigned char)*at) || (*at && strchr("_-:/=.*@", *at)); at++)
		;
	return *name && *name != '-' && !*at;
}

/* Takes the events of a comma-separated list, of perf's at most one. */
static int parse_events(const char *value, struct options *o, struct err *err)
{
	struct record_config *c = &o->record;
	CLEANUP(free) char *list = xstrdup(value);
	char *rest = list, *name;

	c->events = 0;
	free(o->perf_event);
	c->perf_event = o->perf_event = NULL;
	while ((name = strsep(&rest, ","))) {
		const enum session_event event =
			session_event_named(strcasecmp(name, "gc") ? name : "safepoint");

		c->events |= 1u << event;
		if (event != SESSION_PERF)
			continue;
		if (o->perf_event || !is_perf_event(name))
			return err_set(err, 0,
				       "--event %s: must be of cpu, wall, alloc, lock, safepoint "
				       "or gc, compile, deopt, or one that `perf list` shows",
				       value);
		c->perf_event = o->perf_event = xstrdup(name);
	}
	return 0;
}

/* True for an option that only switches something on. */
static bool parse_flag(int opt, struct options *o)
{
	o->record.force |= opt == OPT_FORCE;
	o->open |= opt == OPT_OPEN;
	return opt == OPT_FORCE || opt == OPT_OPEN;
}

/* Sets what the program does; false: the option is another one. */
static bool parse_action(int opt, struct options *o)
{
	switch (opt) {
	case OPT_REPLAY:
		o->action = ACTION_REPLAY;
		return true;
	case OPT_LIST:
		o->action = ACTION_LIST;
		return true;
	case OPT_LIST_RECORDINGS:
		o->action = ACTION_LIST_RECORDINGS;
		return true;
	case 'h':
		o->action = ACTION_HELP;
		return true;
	case OPT_VERSION:
		o->action = ACTION_VERSION;
		return true;
	default:
		return false;
	}
}

static int parse_option(int opt, const char *value, struct options *o, struct err *err)
{
	if (parse_action(opt, o))
		return 0;
	switch (opt) {
	case 'd':
		return parse_duration(value, &o->record.duration, err);
	case 'F':
		return parse_number("frequency", value, FREQUENCY_MAX, &o->record.frequency, err);
	case 'e':
		return parse_events(value, o, err);
	case 'f':
		return formats_parse(value, &o->formats, err);
	case 'o':
		o->record.output = value;
		return *value ? 0 : err_set(err, 0, "--output: no directory given");
	case 'q':
		o->quiet = true;
		return 0;
	case OPT_MAX_BYTES:
		return parse_max_bytes(value, err);
	case OPT_KEEP:
		return parse_keep(value, &o->record.keep, err);
	case OPT_KEEP_FLAGS:
		o->record.keep_flags = true;
		return 0;
	case OPT_KEEP_STACKS:
		o->keep_stacks = true;
		return 0;
	case OPT_STACK:
		return parse_stack(value, &o->record.stack_bytes, err);
	case OPT_BY:
		return roots_parse(value, &o->roots, err);
	case OPT_FULL:
		o->roots |= ROOT_FULL;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_PLAIN:
		o->plain = true;
		return 0;
	case 'n':
		return parse_number("count", value, UINT32_MAX, &o->count, err);
	case OPT_PID:
		o->record.by_pid = true;
		return 0;
	case OPT_ALL:
		o->record.all = true;
		return 0;
	case OPT_PUSH:
		o->push = value;
		return push_check(value, err);
	case OPT_ROOT:
		o->record.root = value;
		return *value == '/' ? 0 : err_set(err, 0, "--root %s: must be absolute", value);
	default:
		return opt >= FILTER_INCLUDE ? filter_option(o->filter, opt, value, err)
					     : parse_choice(opt, value, o, err);
	}
}

static int check_names(const struct options *o, struct err *err)
{
	if (o->action == ACTION_HELP || o->action == ACTION_VERSION)
		return 0;
	if (o->action == ACTION_LIST)
		return o->record.all || o->record.name_count || o->record.by_pid
			       ? err_set(err, 0, "--list takes no container, --pid or --all")
			       : 0;
	if (o->action == ACTION_LIST_RECORDINGS)
		return o->record.all || o->record.by_pid
			       ? err_set(err, 0, "--list-recordings takes no --pid or --all")
			       : 0;
	if (o->record.all &&
	    (o->record.name_count || o->record.by_pid || o->action == ACTION_REPLAY))
		return err_set(err, 0, "--all takes no container, --pid or --replay");
	if (o->record.by_pid && o->action == ACTION_REPLAY)
		return err_set(err, 0, "--pid and --replay do not go together");
	if (!o->record.all && o->record.name_count == 0)
		return err_set(err, 0, "no %s given; see --help",
			       o->action == ACTION_REPLAY ? "session"
			       : o->record.by_pid	  ? "pid"
							  : "container");
	for (size_t i = 0; o->record.by_pid && i < o->record.name_count; i++) {
		int pid;

		if (!parse_pid(o->record.names[i], &pid))
			return err_set(err, 0, "\"%s\" is not a pid", o->record.names[i]);
	}
	return 0;
}

/* By default the processors' time is recorded, and all is drawn that was. */
static int check_events(enum options_program program, struct options *o, struct err *err)
{
	struct record_config *c = &o->record;

	if (!c->events)
		c->events = o->action == ACTION_REPLAY ? ~0u : 1u << SESSION_CPU;
	if (o->action == ACTION_RECORD && !record_by_perf(c) &&
	    (c->unwind == RECORD_UNWIND_FP || c->unwind == RECORD_UNWIND_VM))
		return err_set(err, 0, "--event: these need --unwind bpf or auto");
	if (program == PROGRAM_TOP && c->events & (c->events - 1))
		return err_set(err, 0, "--event: dfg-top shows one event at a time");
	return 0;
}

/* The options of one program in getopt's form: long ones, and letters after a ':'. */
static void select_options(enum options_program program, struct option *ret_long,
			   struct str *ret_short)
{
	str_addc(ret_short, ':');
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct option *o = &rows[i].option;

		if (!(rows[i].programs & 1u << program))
			continue;
		*ret_long++ = *o;
		if (o->val > 0 && o->val <= CHAR_MAX)
			str_addf(ret_short, "%c%s", o->val, o->has_arg ? ":" : "");
	}
	*ret_long = (struct option){0};
}

/* Sets the defaults for --source and --keep from dfg.conf. */
static void set_defaults(struct record_config *c)
{
	CLEANUP(free) char *path = command_conf_path();
	struct conf conf;
	struct err err;

	c->keep.count = CONF_KEEP;
	if (access(path, F_OK) < 0)
		return;
	if (conf_load(path, &conf, &err) < 0)
		log_warn("%s", err.msg);
	c->source = (enum snapshot_source)conf.source;
	c->keep = retention_of(&conf.keep);
}

int options_parse(enum options_program program, int argc, char **argv, struct options *ret,
		  struct err *err)
{
	struct options o = {
		.roots = ROOT_POOL,
		.record = {.duration = program == PROGRAM_TOP ? TOP_SECONDS : PERF_SECONDS,
			   .frequency = PERF_FREQUENCY},
		.filter = filter_new()};
	CLEANUP(str_fini) struct str short_options = {0};
	struct option long_options[ARRAY_LEN(rows) + 1];
	const char *root = getenv("DFG_ROOT"), *unwind = getenv("DFG_UNWIND");
	int opt;

	ret->filter = o.filter;
	if (unwind && *unwind && parse_choice(OPT_UNWIND, unwind, &o, err) < 0)
		return err_wrap(err, "DFG_UNWIND");
	o.record.root = root && *root == '/' ? root : DFG_ROOT_DEFAULT;
	if (formats_parse("svg,html,folded", &o.formats, err) < 0)
		return -1;
	set_defaults(&o.record);
	select_options(program, long_options, &short_options);
	while ((opt = command_option(argc, argv, short_options.buf, long_options, err)) > 0)
		if (!parse_flag(opt, &o) && parse_option(opt, optarg, &o, err) < 0)
			return -1;
	if (opt < 0)
		return -1;
	o.record.names = argv + optind;
	o.record.name_count = (size_t)(argc - optind);
	if (check_names(&o, err) < 0 || filter_check(o.filter, err) < 0)
		return -1;
	if (o.open && !formats_include(&o.formats, "html") && !formats_include(&o.formats, "svg"))
		return err_set(err, 0, "--open needs the format html or svg");
	if (o.push)
		formats_add(PUSH_FORMAT, &o.formats);
	if (check_events(program, &o, err) < 0)
		return -1;
	o.record.perf_map = formats_include(&o.formats, "perf-map");
	*ret = o;
	return 0;
}

enum exit_status options_exit_status(enum record_result result)
{
	switch (result) {
	case RECORD_OK:
		return EXIT_DONE;
	case RECORD_NO_CONTAINER:
		return EXIT_NO_CONTAINER;
	case RECORD_NO_JVM:
		return EXIT_NO_JVM;
	case RECORD_FAILED:
		break;
	}
	return EXIT_FAILED;
}
