// SPDX-License-Identifier: Apache-2.0
/* dfg-hook ("hook/main.c") as a program: its modes and options, what it prints and logs, its exit
 * status. */
#include "hook/self.h"

#include "lib/hookprogram.h"
#include "oci/jsontext.h"

/* ---- options ---- */

static void test_options(void)
{
	static const struct {
		const char *command, *out;
		int status;
	} rows[] = {
		{HOOK "--version", "dfg-hook " DFG_VERSION "\n", 0},
		{HOOK "--bad --version", "dfg-hook: unknown option --bad\n", 2},
		{HOOK "--gc --root", "dfg-hook: --root needs an absolute path\n", 2},
		{HOOK "--gc --conf rel", "dfg-hook: --conf needs an absolute path\n", 2},
		{HOOK "--gc --conf /tmp/none",
		 "dfg-hook: /tmp/none: open: No such file or directory\n", 1},
		{HOOK "--release --root /sys/x", "dfg-hook: /sys/x: /sys/x: make directory x: ", 1},
		{HOOK "--bad </tmp/state", "", 0},
		{HOOK "--root rel prestart </tmp/state", "", 0},
	};
	CLEANUP(str_fini) struct str out = {0};

	box_write("/tmp/state", 0600, "");
	is_int(program_sh(&out, HOOK "--help"), 0, "help is no failure");
	ok(has_prefix(program_text(&out), "usage: dfg-hook ") && strstr(out.buf, "--release"),
	   "help is printed");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = strlen(rows[i].out);

		is_int(program_sh(&out, rows[i].command), rows[i].status,
		       "the status of %s is right", rows[i].command);
		ok(len && rows[i].out[len - 1] != '\n' ? has_prefix(program_text(&out), rows[i].out)
						       : !strcmp(program_text(&out), rows[i].out),
		   "it prints what is wrong and nothing else");
	}
	ok(strstr(program_logged(), " id=? status=skip-conf ") &&
		   strstr(program_logged(), " status=skip-conf us="),
	   "as a hook it logs what is wrong, and lets the container start");
}

/* ---- a container ---- */

static void test_hook(void)
{
	pid_t pid = box_container(0, NULL);
	CLEANUP(str_fini) struct str out = {0};
	const char *line;
	char point[1024];

	program_state(pid, "creating");
	is_int(program_sh(&out, GIVEN "createRuntime </tmp/state"), 0, "the hook succeeds");
	is_str(program_text(&out), "", "the runtime sees no text of it");
	is_int(box_mounts(pid, BOX_FS "/dev/dfg", point), 1, "the container has the payload");
	line = program_logged();
	ok(has_prefix(line, "<30>dfg-hook[") && strstr(line, "]: id=web status=mounted us="),
	   "one message is logged");
	is_str(program_logged(), "", "there is no second one");
	program_end();
	ok(access(ROOT "/containers/web", F_OK) < 0, "nothing stays of a container that ended");
	actor_end(pid);
}

static bool change_root(void)
{
	return chroot(".") == 0 && chdir("/") == 0;
}

static void test_join(void)
{
	pid_t pid = box_container(0, change_root);
	CLEANUP(str_fini) struct str out = {0};
	json_t *o;

	program_state(pid, "running");
	is_int(program_sh(&out, GIVEN "--join </tmp/state"), 0, "a running container is joined");
	o = json_loads(program_text(&out), JSON_REJECT_DUPLICATES, NULL);
	is_str(json_string_value(json_object_get(o, "id")), "web", "the line has the id");
	is_str(json_string_value(json_object_get(o, "status")), "mounted", "it has the status");
	is_str(json_string_value(json_object_get(o, "detail")), "", "there is no detail");
	ok(json_integer_value(json_object_get(o, "us")) > 0, "it has the time it took");
	ok(strchr(program_text(&out), '\n') == out.buf + out.len - 1, "it is one line");
	json_decref(o);
	is_int(program_sh(&out, GIVEN "--join </tmp/state"), 0, "a container is joined twice");
	ok(strstr(program_text(&out), "\"status\":\"already\""), "the second finds the mounts");
	program_end();
	is_int(program_sh(&out, GIVEN "--join </dev/null"), 1, "a join without a state fails");
	ok(strstr(program_text(&out),
		  "\"id\":\"\",\"status\":\"skip-state\",\"detail\":\"the state is "
		  "not a JSON object\""),
	   "the reason is in the line");
	ok(has_prefix(program_logged(), "<30>") && strstr(program_text(&out), "skip"),
	   "it is no warning");
	while (*program_logged())
		;
	actor_end(pid);
}

/* A state is at most 1 MiB; what is longer is read all the same. */
/* ---- configuration ---- */

static void test_conf(void)
{
	static const struct {
		const char *what, *conf, *args;
		int status;
		const char *out, *log;
	} rows[] = {
		{"a broken line", "nonsense\n", "", 0, "", "<30>"},
		{"strict and a broken line", "nonsense\nstrict = yes\n", "", 1,
		 "dfg-hook: skip-conf: /tmp/bin/dfg.conf: line 1: ", "<30>"},
		{"strict and no payload", "strict = yes\n", "--payload /tmp/none", 1,
		 "dfg-hook: skip-payload: payload /tmp/none: No such file or directory\n", "<30>"},
		{"no payload", "", "--payload /tmp/none", 0, "", "<30>"},
		{"strict and an option that is wrong", "strict = yes\n", "--bad", 1,
		 "dfg-hook: skip-conf: unknown option --bad\n", "<30>"},
		{"strict and a container that is left alone", "strict = yes\ninject = none\n", "",
		 0, "", "<30>"},
		{"strict and a container that gets its mounts", "strict = yes\n", "", 0, "",
		 "<30>"},
		{"another configuration", "nonsense\n", "--conf /tmp/other.conf", 0, "", "<30>"},
		{"an error of the host", "strict = yes\n", "--root /tmp/bad", 0, "", "<28>"},
	};
	CLEANUP(str_fini) struct str out = {0};

	box_write("/tmp/other.conf", 0600, PATIENT);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free) char *command = xasprintf(GIVEN "%s </tmp/state", rows[i].args);
		pid_t pid = box_container(0, NULL);
		const char *line;

		program_state(pid, "creating");
		program_conf(rows[i].conf);
		is_int(program_sh(&out, command), rows[i].status, "the start %s with %s",
		       rows[i].status ? "is stopped" : "goes on", rows[i].what);
		ok(rows[i].status ? has_prefix(program_text(&out), rows[i].out) : !out.len,
		   "the runtime is told only what stops the start");
		line = program_logged();
		ok(has_prefix(line, rows[i].log), "what should have worked is a warning");
		program_conf("");
		actor_end(pid);
		program_end();
	}
}

/* The root: the option, the environment where an administrator calls, dfg.conf. */
static void test_root(void)
{
	static const struct {
		const char *what, *command, *used;
	} rows[] = {
		{"the option", "DFG_ROOT=/tmp/r2 " HOOK "--root /tmp/r1 --gc", "/tmp/r1"},
		{"the environment", "DFG_ROOT=/tmp/r2 " HOOK "--gc", "/tmp/r2"},
		{"dfg.conf", HOOK "--gc", "/tmp/r3"},
		{"dfg.conf, as the environment has a relative path", "DFG_ROOT=r2 " HOOK "--gc",
		 "/tmp/r3"},
		{"dfg.conf, as the environment is not asked in a hook",
		 "DFG_ROOT=/tmp/r2 " HOOK "</tmp/state", "/tmp/r3"},
	};
	static const char *const roots[] = {"/tmp/r1", "/tmp/r2", "/tmp/r3"};
	CLEANUP(str_fini) struct str out = {0};

	program_state(0, "stopped");
	program_conf("root = /tmp/r3\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		is_int(program_sh(&out, rows[i].command), 0, "the root is that of %s",
		       rows[i].what);
		for (size_t r = 0; r < ARRAY_LEN(roots); r++) {
			is_int(access(roots[r], F_OK) == 0, !strcmp(roots[r], rows[i].used),
			       "%s is %s", roots[r],
			       strcmp(roots[r], rows[i].used) ? "not used" : "used");
			umount2(roots[r], MNT_DETACH);
			fs_remove_tree(AT_FDCWD, roots[r]);
		}
	}
	program_conf("");
	while (*program_logged())
		;
}

static void test_sweep(void)
{
	pid_t pid = box_container(0, NULL);
	CLEANUP(str_fini) struct str out = {0};
	char line[1024];

	program_state(pid, "creating");
	program_sh(&out, GIVEN "</tmp/state");
	is_int(program_sh(&out, HOOK "--gc --root " ROOT), 0, "ended containers are swept");
	is_str(program_text(&out), "removed 0, running 1\n", "a container that runs stays");
	program_sh(&out, HOOK "--release --root " ROOT);
	is_str(program_text(&out), "removed 0, running 1\n", "it stays when all is released");
	is_int(box_mounts(0, ROOT, line), 1, "then the root stays bound");
	actor_end(pid);
	program_sh(&out, HOOK "--gc --root " ROOT);
	is_str(program_text(&out), "removed 1, running 0\n", "it is removed when it has ended");
	is_int(box_mounts(0, ROOT, line), 1, "the root stays bound for the next");
	ok(program_sh(&out, "ls -d " ROOT "/payload/?*") == 0, "so does the payload");
	is_int(program_sh(&out, HOOK "--release --root " ROOT), 0, "all is released");
	is_str(program_text(&out), "removed 0, running 0\n", "nothing runs");
	is_int(box_mounts(0, ROOT, line), 0, "the root is not bound any more");
	ok(program_sh(&out, "ls -d " ROOT "/payload/?*") != 0, "the payload is gone");
	while (*program_logged())
		;
}

/* ---- the stage precreate ---- */

static void test_precreate(void)
{
#define SPEC(more) "{\"root\":{\"path\":\"r\"},\"process\":{\"env\":[]}" more "}"
	static const struct {
		const char *what, *conf, *spec, *args;
		bool early;
	} rows[] = {
		{"a specification", "", SPEC(""), "", true},
		{"a container that refuses", "",
		 SPEC(",\"annotations\":{\"dfg.io/inject\":\"false\"}"), "", false},
		{"inject = annotated", "inject = annotated\n", SPEC(""), "", false},
		{"inject = annotated, which was asked for", "inject = annotated\n", SPEC(""),
		 "--asked", true},
		{"a broken configuration", "nonsense\n", SPEC(""), "", false},
		{"a specification without a root", "", "{\"process\":{\"env\":[]}}", "", false},
		{"what is no specification", "", "nonsense", "", false},
		{"an unknown option", "", SPEC(""), "--bad", true},
	};
	CLEANUP(str_fini) struct str out = {0};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free)
		char *command = xasprintf(HOOK "--precreate %s </tmp/spec", rows[i].args);

		program_conf(rows[i].conf);
		box_write("/tmp/spec", 0600, rows[i].spec);
		is_int(program_sh(&out, command), 0, "precreate copies %s", rows[i].what);
		if (rows[i].early)
			ok(strstr(program_text(&out), "DebugNonSafepoints") &&
				   has_prefix(program_text(&out), "{\"root\":{\"path\":\"r\"}"),
			   "early flags are added");
		else
			is_str(program_text(&out), rows[i].spec, "nothing is changed");
	}
	program_conf("");
	for (int more = 0; more < 2; more++) {
		CLEANUP(free)
		char *spec = xasprintf("%s%*s", SPEC(""),
				       (int)(OCI_CONFIG_MAX - strlen(SPEC("")) + (size_t)more), "");

		box_write("/tmp/spec", 0600, spec);
		program_sh(&out, HOOK "--precreate </tmp/spec >/tmp/copy; cmp /tmp/spec /tmp/copy");
		is_int(out.len == 0, more, "a specification of %zu bytes is %s", strlen(spec),
		       more ? "only copied" : "changed");
	}
	is_int(program_sh(&out, HOOK "--precreate </dev/null"), 1, "nothing to copy is a failure");
	is_int(program_sh(&out, HOOK "--precreate </tmp"), 1, "a directory cannot be copied");
	box_write("/tmp/spec", 0600, "x");
	is_int(program_sh(&out, HOOK "--precreate </tmp/spec >/dev/full"), 1,
	       "so is a copy that fails");
}

static void tests(void)
{
	if (!program_prepare())
		return;
	test_options();
	test_hook();
	test_join();
	test_conf();
	test_root();
	test_sweep();
	test_precreate();
}

int main(void)
{
	return box_run(tests);
}
