// SPDX-License-Identifier: Apache-2.0
#include <getopt.h>

#include "cmd/options.h"
#include "lib/tap.h"

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
	return options_parse(strcmp(argv[0], "dfg-top") ? PROGRAM_TRIGGER : PROGRAM_TOP, argc, argv,
			     &o, &err);
}

static void refused(const char *line, const char *word)
{
	if (ok(parse(line) < 0, "refused: %s", line))
		ok(strstr(err.msg, word) != NULL, "  says %s: %s", word, err.msg);
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
	is_int(parse("dfg-trigger --unwind vm --stack 1001 web"), 0, "unwinding");
	is_int(o.record.unwind, RECORD_UNWIND_VM, "by the JVM's tables");
	is_int(o.record.stack_bytes, 1008, "whole words of the stack");
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
	refused("dfg-trigger -d 0 web", "whole number");
	refused("dfg-trigger -d 1.5 web", "whole number");
	refused("dfg-trigger -F 1000000 web", "100000");
	refused("dfg-trigger -f gif web", "svg, html, folded");
	refused("dfg-trigger -f , web", "no format");
	refused("dfg-trigger --unwind dwarf web", "auto, fp, vm");
	refused("dfg-trigger --stack 65536 web", "65528");
	refused("dfg-trigger --source somewhere web", "auto, agent, host");
	refused("dfg-trigger --wibble web", "--wibble");
	refused("dfg-trigger -d", "needs a value");
	refused("dfg-trigger --pid web", "no pid");
	refused("dfg-trigger --all web", "--all");
	refused("dfg-trigger --pid --replay 1", "do not go together");
	refused("dfg-trigger --root relative web", "absolute");
	return tap_done();
}
