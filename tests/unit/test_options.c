// SPDX-License-Identifier: Apache-2.0
#include <getopt.h>
#include <signal.h>
#include <sys/resource.h>

#include "cmd/options.h"
#include "lib/tap.h"
#include "record/budget.h"
#include "report/merge.h"

static struct options o;
static struct err err;

static int parse(const char *line)
{
	static char text[512];
	static char *argv[32];
	char *save = NULL;
	int argc = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	optind = 0; /* glibc: start over */
	options_fini(&o);
	return options_parse(strcmp(argv[0], "dfg-top") ? PROGRAM_TRIGGER : PROGRAM_TOP, argc, argv,
			     &o, &err);
}

static void refused(const char *line, const char *word)
{
	if (ok(parse(line) < 0, "refused: %s", line))
		ok(strstr(err.msg, word) != NULL, "  says %s: %s", word, err.msg);
}

/* ---- whole messages ---- */

static void says(const char *line, const char *want)
{
	is_int(parse(line), -1, "refused: %s", line);
	is_str(err.msg, want, "the message is \"%s\"", want);
}

static void says_duration(const char *value)
{
	CLEANUP(free) char *line = xasprintf("dfg-trigger --duration=%s web", value);
	CLEANUP(free)
	char *want = xasprintf("--duration %s: must be from 1s to 24h, such as 90, 90s, 5m or 1h",
			       value);

	says(line, want);
}

static void test_messages(void)
{
	says("dfg-trigger", "no container given; see --help");
	says("dfg-top", "no container given; see --help");
	says("dfg-trigger --pid", "no pid given; see --help");
	says("dfg-trigger --replay", "no session given; see --help");
	says("dfg-trigger --wibble web", "unknown option --wibble; see --help");
	says("dfg-trigger -d", "-d needs a value; see --help");
	says("dfg-trigger --duration", "--duration needs a value; see --help");
	says("dfg-trigger --max-bytes 1023k web",
	     "--max-bytes 1023k: must be 1m or more, such as 500m or 2g");
	says_duration("0");
	says_duration("86401");
	says_duration("x");
	says_duration("25h");
	says_duration("1m30");
	says_duration("s");
	says_duration("");
	says_duration("5124095576030432h");
	says("dfg-trigger -F 0 web", "--frequency 0: must be a whole number from 1 to 100000");
	says("dfg-trigger -F 100001 web",
	     "--frequency 100001: must be a whole number from 1 to 100000");
	says("dfg-trigger --stack 65529 web",
	     "--stack 65529: must be from 1024 to 65528 bytes, such as 8192 or 8k");
	says("dfg-top -n 4294967296 web",
	     "--count 4294967296: must be a whole number from 1 to 4294967295");
	says("dfg-trigger --unwind x web", "--unwind x: must be one of auto, fp, vm, bpf");
	says("dfg-trigger --source x web", "--source x: must be one of auto, agent, host");
	says("dfg-trigger --trigger x web", "--trigger x: must be one of auto, file, signal, load");
	says("dfg-trigger --output= web", "--output: no directory given");
	says("dfg-trigger --root x web", "--root x: must be absolute");
	says("dfg-trigger --root= web", "--root : must be absolute");
	says("dfg-trigger --list web", "--list takes no container, --pid or --all");
	says("dfg-trigger --list --pid", "--list takes no container, --pid or --all");
	says("dfg-trigger --list --all", "--list takes no container, --pid or --all");
	says("dfg-trigger --all web", "--all takes no container, --pid or --replay");
	says("dfg-trigger --all --pid", "--all takes no container, --pid or --replay");
	says("dfg-trigger --all --replay", "--all takes no container, --pid or --replay");
	says("dfg-trigger --pid --replay 1", "--pid and --replay do not go together");
	says("dfg-trigger --pid 1 web", "\"web\" is not a pid");
	says("dfg-trigger --pid 0", "\"0\" is not a pid");
	says("dfg-top --replay x", "unknown option --replay; see --help");
	says("dfg-top --list", "unknown option --list; see --help");
	says("dfg-trigger --plain web", "unknown option --plain; see --help");
	says("dfg-trigger --count 3 web", "unknown option --count; see --help");
	is_int(err.code, 0, "a usage error has no code of the system's");
}

/* ---- values ---- */

/* An option of both programs with a number: its limits, by its short and long name. */
static void test_numbers(void)
{
	static const struct {
		const char *line;
		const unsigned *at;
		unsigned want;
	} rows[] = {
		{"dfg-trigger -d 1 web", &o.record.duration, 1},
		{"dfg-trigger --duration 86400 web", &o.record.duration, 86400},
		{"dfg-trigger -d 90s web", &o.record.duration, 90},
		{"dfg-trigger -d 5m web", &o.record.duration, 300},
		{"dfg-trigger -d 24h web", &o.record.duration, 86400},
		{"dfg-trigger -F 1 web", &o.record.frequency, 1},
		{"dfg-trigger --frequency 100000 web", &o.record.frequency, 100000},
		{"dfg-trigger --stack 1024 web", &o.record.stack_bytes, 1024},
		{"dfg-trigger --stack 1025 web", &o.record.stack_bytes, 1032},
		{"dfg-trigger --stack 65528 web", &o.record.stack_bytes, 65528},
		{"dfg-trigger --stack 8k web", &o.record.stack_bytes, 8192},
		{"dfg-trigger --stack 16K web", &o.record.stack_bytes, 16384},
		{"dfg-trigger web", &o.record.stack_bytes, 0},
		{"dfg-top -n 1 web", &o.count, 1},
		{"dfg-top --count 4294967295 web", &o.count, 4294967295},
		{"dfg-top web", &o.record.frequency, 99},
		{"dfg-top -d 7 web", &o.record.duration, 7},
		{"dfg-top -F 7 web", &o.record.frequency, 7},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		is_int(parse(rows[i].line), 0, "accepted: %s", rows[i].line);
		is_int(*rows[i].at, rows[i].want, "the value is %u", rows[i].want);
	}
}

static void test_words(void)
{
	static const struct {
		const char *line;
		unsigned unwind, source, trigger;
	} rows[] = {
		{"dfg-trigger web", RECORD_UNWIND_AUTO, SOURCE_AUTO, TRIGGER_AUTO},
		{"dfg-trigger --unwind auto web", RECORD_UNWIND_AUTO, SOURCE_AUTO, TRIGGER_AUTO},
		{"dfg-trigger --unwind fp web", RECORD_UNWIND_FP, SOURCE_AUTO, TRIGGER_AUTO},
		{"dfg-top --unwind vm web", RECORD_UNWIND_VM, SOURCE_AUTO, TRIGGER_AUTO},
		{"dfg-trigger --source agent web", RECORD_UNWIND_AUTO, SOURCE_AGENT, TRIGGER_AUTO},
		{"dfg-top --source host web", RECORD_UNWIND_AUTO, SOURCE_HOST, TRIGGER_AUTO},
		{"dfg-trigger --source auto web", RECORD_UNWIND_AUTO, SOURCE_AUTO, TRIGGER_AUTO},
		{"dfg-trigger --trigger file web", RECORD_UNWIND_AUTO, SOURCE_AUTO, TRIGGER_FILE},
		{"dfg-top --trigger signal web", RECORD_UNWIND_AUTO, SOURCE_AUTO, TRIGGER_SIGNAL},
		{"dfg-trigger --trigger load web", RECORD_UNWIND_AUTO, SOURCE_AUTO, TRIGGER_LOAD},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		is_int(parse(rows[i].line), 0, "accepted: %s", rows[i].line);
		is_int(o.record.unwind, rows[i].unwind, "the unwinder is as given");
		is_int(o.record.source, rows[i].source, "the source is as given");
		is_int(o.record.trigger, rows[i].trigger, "the trigger is as given");
	}
}

static void test_events(void)
{
	static const struct {
		const char *line;
		unsigned want;
	} rows[] = {
		{"dfg-trigger web", 1u << SESSION_CPU},
		{"dfg-trigger -e cpu web", 1u << SESSION_CPU},
		{"dfg-trigger -e alloc web", 1u << SESSION_ALLOC},
		{"dfg-trigger -e lock web", 1u << SESSION_LOCK},
		{"dfg-trigger -e lock,cpu web", 1u << SESSION_CPU | 1u << SESSION_LOCK},
		{"dfg-trigger -e cpu,alloc,lock web",
		 1u << SESSION_CPU | 1u << SESSION_ALLOC | 1u << SESSION_LOCK},
		{"dfg-trigger --event cpu,alloc web", 1u << SESSION_CPU | 1u << SESSION_ALLOC},
		{"dfg-trigger -e alloc,cpu web", 1u << SESSION_CPU | 1u << SESSION_ALLOC},
		{"dfg-trigger -e alloc,alloc web", 1u << SESSION_ALLOC},
		{"dfg-trigger -e cpu -e alloc web", 1u << SESSION_ALLOC},
		{"dfg-trigger -e lock web", 1u << SESSION_LOCK},
		{"dfg-trigger -e lock,cpu,alloc web",
		 1u << SESSION_CPU | 1u << SESSION_ALLOC | 1u << SESSION_LOCK},
		{"dfg-trigger -e lock --unwind auto web", 1u << SESSION_LOCK},
		{"dfg-top -e lock web", 1u << SESSION_LOCK},
		{"dfg-trigger -e alloc --unwind bpf web", 1u << SESSION_ALLOC},
		{"dfg-trigger -e alloc --unwind auto web", 1u << SESSION_ALLOC},
		{"dfg-trigger -e cpu --unwind vm web", 1u << SESSION_CPU},
		{"dfg-trigger --replay x", ~0u},
		{"dfg-trigger -e cpu --replay x", 1u << SESSION_CPU},
		{"dfg-trigger -e alloc --unwind fp --replay x", 1u << SESSION_ALLOC},
		{"dfg-top web", 1u << SESSION_CPU},
		{"dfg-top -e alloc web", 1u << SESSION_ALLOC},
		{"dfg-top -e lock web", 1u << SESSION_LOCK},
		{"dfg-top -e cpu web", 1u << SESSION_CPU},
		{"dfg-trigger -e gc web", 1u << SESSION_SAFEPOINT},
		{"dfg-trigger -e cpu,GC,safepoint web",
		 1u << SESSION_CPU | 1u << SESSION_SAFEPOINT},
	};
	static const char *const bad[] = {"", ",", "cpu,", ",alloc", "-x", "cpu,a;b", "a(b)"};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		is_int(parse(rows[i].line), 0, "accepted: %s", rows[i].line);
		is_int(o.record.events, rows[i].want, "the events are %u", rows[i].want);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP(free) char *line = xasprintf("dfg-trigger --event=%s web", bad[i]);
		CLEANUP(free)
		char *want =
			xasprintf("--event %s: must be of cpu, wall, alloc, lock, safepoint or gc, "
				  "compile, deopt, or one that `perf list` shows",
				  bad[i]);

		says(line, want);
	}
	is_int(parse("dfg-trigger -e Alloc,LOCK web"), 0, "in whatever letters");
	is_int(o.record.events, 1u << SESSION_ALLOC | 1u << SESSION_LOCK, "dfg's own events");
	says("dfg-trigger --unwind vm -e alloc web", "--event: these need --unwind bpf or auto");
	says("dfg-trigger -e cpu,alloc --unwind fp web",
	     "--event: these need --unwind bpf or auto");
	says("dfg-top --unwind vm -e alloc web", "--event: these need --unwind bpf or auto");
	says("dfg-trigger -e lock --unwind fp web", "--event: these need --unwind bpf or auto");
	says("dfg-top -e alloc,lock web", "--event: dfg-top shows one event at a time");
	says("dfg-top -e cpu,alloc web", "--event: dfg-top shows one event at a time");
}

/* Checks the flags that a command line sets, a letter each. */
static void test_flags(void)
{
	static const struct {
		const char *line, *want;
		enum options_action action;
	} rows[] = {
		{"dfg-trigger web", "", ACTION_RECORD},
		{"dfg-trigger -q web", "q", ACTION_RECORD},
		{"dfg-trigger --quiet web", "q", ACTION_RECORD},
		{"dfg-trigger --json web", "j", ACTION_RECORD},
		{"dfg-trigger --keep-flags web", "k", ACTION_RECORD},
		{"dfg-trigger --pid 1", "p", ACTION_RECORD},
		{"dfg-trigger --all", "a", ACTION_RECORD},
		{"dfg-trigger --all -q --json --keep-flags", "qjka", ACTION_RECORD},
		{"dfg-trigger --list", "", ACTION_LIST},
		{"dfg-trigger --list --json", "j", ACTION_LIST},
		{"dfg-trigger --replay x", "", ACTION_REPLAY},
		{"dfg-trigger --help", "", ACTION_HELP},
		{"dfg-trigger -h", "", ACTION_HELP},
		{"dfg-trigger --version", "", ACTION_VERSION},
		{"dfg-trigger --version --all web", "a", ACTION_VERSION},
		{"dfg-top --plain web", "P", ACTION_RECORD},
		{"dfg-top -q --json --keep-flags --pid 1", "qjkp", ACTION_RECORD},
		{"dfg-top --all", "a", ACTION_RECORD},
		{"dfg-top --help", "", ACTION_HELP},
		{"dfg-top --version", "", ACTION_VERSION},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char got[8] = "";

		is_int(parse(rows[i].line), 0, "accepted: %s", rows[i].line);
		is_int(o.action, rows[i].action, "the action is number %u", rows[i].action);
		snprintf(got, sizeof(got), "%s%s%s%s%s%s", o.quiet ? "q" : "", o.json ? "j" : "",
			 o.record.keep_flags ? "k" : "", o.record.by_pid ? "p" : "",
			 o.record.all ? "a" : "", o.plain ? "P" : "");
		is_str(got, rows[i].want, "the flags are \"%s\"", rows[i].want);
	}
}

static void test_names(void)
{
	is_int(parse("dfg-trigger --pid 1 4194304"), 0, "two pids are accepted");
	is_int(o.record.name_count, 2, "both are there");
	is_str(o.record.names[1], "4194304", "in order");
	ok(!o.record.output, "without --output there is none");
	is_int(parse("dfg-trigger -o out web"), 0, "an output directory is accepted");
	is_str(o.record.output, "out", "as it is given");
	is_int(parse("dfg-trigger --output out web"), 0, "by its long name, too");
	is_str(o.record.output, "out", "as it is given");
	is_int(o.roots, ROOT_POOL, "stacks begin with pools");
	is_int(parse("dfg-trigger --full --by thread web"), 0, "other roots are accepted");
	is_int(o.roots, ROOT_THREAD | ROOT_FULL, "threads, with all frames that start them");
	is_int(parse("dfg-top --by threads web"), -1, "unknown roots are not");
	is_int(parse("dfg-trigger --format pprof,json web"), 0, "formats are accepted");
	is_int(o.formats.count, 2, "both are there");
	is_str(o.formats.list[1]->name, "json", "in order");
	is_int(parse("dfg-trigger -- -web"), 0, "a name after -- is no option");
	is_str(o.record.names[0], "-web", "it is the name");
	setenv("DFG_ROOT", "relative", 1);
	is_int(parse("dfg-trigger web"), 0, "a relative DFG_ROOT is no error");
	is_str(o.record.root, "/var/lib/dfg", "it does not count");
	unsetenv("DFG_ROOT");
}

static void test_statuses(void)
{
	is_int(options_exit_status(RECORD_OK), 0, "a recording that is made has status 0");
	is_int(options_exit_status(RECORD_FAILED), 1, "a failure has status 1");
	is_int(options_exit_status(RECORD_NO_CONTAINER), 3, "no container has status 3");
	is_int(options_exit_status(RECORD_NO_JVM), 4, "no JVM has status 4");
	is_int(options_exit_status((enum record_result)99), 1, "an unknown result has status 1");
}

/* A handler sets the variable; the limit of open files is the hard one. */
static void test_process(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct rlimit files = {0};
	struct sigaction act;

	command_catch_signals();
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		command_interrupted = 0;
		raise(signals[i]);
		is_int(command_interrupted, 1, "signal %d interrupts a command", signals[i]);
	}
	is_int(sigaction(SIGPIPE, NULL, &act), 0, "SIGPIPE is looked at");
	ok(act.sa_handler == SIG_IGN, "it is ignored");
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max < 64 ? files.rlim_max : 64;
	setrlimit(RLIMIT_NOFILE, &files);
	command_raise_file_limit();
	getrlimit(RLIMIT_NOFILE, &files);
	ok(files.rlim_cur == files.rlim_max, "as many files as allowed can be open");
}

int main(void)
{
	unsetenv("DFG_ROOT");
	is_int(parse("dfg-trigger web"), 0, "one container");
	is_int(o.action, ACTION_RECORD, "records");
	is_int(o.record.duration, 30, "30 s");
	is_int(o.record.frequency, 99, "99 Hz");
	is_int((int64_t)o.formats.count, 3, "three formats");
	ok(!o.record.perf_map, "agents do not dump maps");
	is_str(o.record.root, "/var/lib/dfg", "root");
	is_str(o.record.names[0], "web", "its name");

	is_int(parse("dfg-trigger -d 5 -F 999 -f folded -o /tmp/x --source host --trigger signal a "
		     "b -q"),
	       0, "all kinds of options");
	is_int(o.record.duration, 5, "duration");
	is_int(o.record.frequency, 999, "frequency");
	is_str(o.formats.list[0]->name, "folded", "format");
	is_int((int64_t)o.formats.count, 1, "one format");
	is_int(o.record.source, SOURCE_HOST, "source");
	is_int(o.record.trigger, TRIGGER_SIGNAL, "trigger");
	is_int((int64_t)o.record.name_count, 2, "two containers");
	ok(o.quiet, "an option after the names");

	is_int(parse("dfg-trigger -f svg,svg web"), 0, "a format twice");
	is_int((int64_t)o.formats.count, 1, "is drawn once");
	is_int(parse("dfg-trigger --replay /x --json"), 0, "replay");
	is_int(o.action, ACTION_REPLAY, "replays");
	is_int(parse("dfg-trigger --unwind vm --stack 2001 web"), 0, "unwinding");
	is_int(o.record.unwind, RECORD_UNWIND_VM, "by the JVM's tables");
	is_int(o.record.stack_bytes, 2008, "whole words of the stack");
	is_int(parse("dfg-trigger --help"), 0, "help needs no container");
	setenv("DFG_ROOT", "/srv/dfg", 1);
	is_int(parse("dfg-trigger web"), 0, "DFG_ROOT");
	is_str(o.record.root, "/srv/dfg", "moves the root");
	is_int(parse("dfg-trigger --root /opt/dfg web"), 0, "--root");
	is_str(o.record.root, "/opt/dfg", "has the last word");

	is_int(parse("dfg-top web"), 0, "dfg-top");
	is_int(o.record.duration, 2, "refreshes every 2 s");
	is_int((int64_t)o.count, 0, "without an end");
	is_int(parse("dfg-top -n 3 -d 5 --plain --source host web"), 0,
	       "its own options, and others");
	is_int((int64_t)o.count, 3, "three times");
	ok(o.plain, "as text");
	refused("dfg-top --replay /x", "--replay");
	refused("dfg-trigger -n 3 web", "-n");

	refused("dfg-trigger", "no container");
	refused("dfg-trigger --replay", "no session");
	refused("dfg-trigger -d 0 web", "from 1s to 24h");
	refused("dfg-trigger -d 1.5 web", "from 1s to 24h");
	refused("dfg-trigger -F 1000000 web", "100000");
	refused("dfg-trigger -f gif web", "svg, html, folded");
	refused("dfg-trigger -f , web", "no format");
	refused("dfg-trigger --unwind dwarf web", "auto, fp, vm");
	refused("dfg-trigger --stack 65536 web", "65528");
	refused("dfg-trigger --stack 1023 web", "1024");
	refused("dfg-trigger --source somewhere web", "auto, agent, host");
	refused("dfg-trigger --keep some web", "--keep some: must be a number of results, an age");
	refused("dfg-trigger --keep 4294967296 web", "must be a number of results");
	refused("dfg-trigger --keep 3,4 web", "must be a number of results");
	is_int(parse("dfg-trigger web"), 0, "without --keep");
	is_int(o.record.keep.count, 20, "20 results are kept");
	is_int(parse("dfg-trigger --keep 3 web"), 0, "with --keep");
	is_int(o.record.keep.count, 3, "it is the number");
	is_int(parse("dfg-trigger --keep 30d,3,2g web"), 0, "with limits of each kind");
	ok(o.record.keep.count == 3 && o.record.keep.seconds == 30 * 86400 &&
		   o.record.keep.bytes == UINT64_C(2) << 30,
	   "each is set");
	is_int(parse("dfg-trigger --keep 2w web"), 0, "with one of them");
	ok(o.record.keep.count == 0 && o.record.keep.seconds == 14 * 86400, "there is no other");
	refused("dfg-trigger --list-recordings --all", "takes no --pid or --all");
	is_int(parse("dfg-trigger --list-recordings web"), 0, "recordings of a container");
	ok(o.action == ACTION_LIST_RECORDINGS && o.record.name_count == 1, "are listed");
	is_int(parse("dfg-trigger --force web"), 0, "with --force");
	ok(o.record.force, "a session is replaced");
	is_int(parse("dfg-trigger --keep 0 web"), 0, "with --keep 0");
	is_int(o.record.keep.count, 0, "it is all");
	refused("dfg-trigger --max-bytes 1048575 web", "1m or more");
	is_int(parse("dfg-top --max-bytes 4194304 web"), 0, "with --max-bytes");
	is_int((int64_t)budget_max(BUDGET_FILE_BYTES), 2 << 20, "half of it is for files");
	is_int((int64_t)budget_max(BUDGET_CODE_BYTES), 2 << 20, "half of it for code");
	refused("dfg-trigger --wibble web", "--wibble");
	refused("dfg-trigger -d", "needs a value");
	refused("dfg-trigger --pid web", "not a pid");
	refused("dfg-trigger --all web", "--all");
	refused("dfg-trigger --pid --replay 1", "do not go together");
	refused("dfg-trigger --root relative web", "absolute");
	test_messages();
	test_numbers();
	test_words();
	test_events();
	test_flags();
	test_names();
	test_statuses();
	test_process();
	options_fini(&o);
	return tap_done();
}
