// SPDX-License-Identifier: Apache-2.0
/* dfg-runtime ("hook/runtime.c") as a program: what it does to a bundle, and which runtime it
 * becomes. */
#include "hook/runtime_args.h"

#include "common/child.h"
#include "lib/hookbox.h"
#include "lib/textfile.h"
#include "oci/conf.h"
#include "oci/spec.h"

#define BUNDLE	"/tmp/bundle"
#define SPEC	BUNDLE "/config.json"
#define PLAIN	"{\"root\":{\"path\":\"/r\"},\"process\":{\"env\":[\"A=b\"]}}"
#define REFUSES "\"annotations\":{\"dfg.io/inject\":\"false\"}"

/* Plays the real runtime: prints its name and arguments. */
static const char real[] = "#!/bin/sh\nprintf '%s|' \"$0\" \"$@\"\nexit 42\n";

static int run(char *const argv[], struct str *out)
{
	struct err err;

	return child_capture(argv, NULL, -1, 20000, 65536, out, &err);
}

/* `dfg-runtime create --bundle BUNDLE id`, with this configuration. */
static int create(const char *conf, struct str *out)
{
	char *argv[] = {(char *)"/tmp/bin/dfg-runtime",
			(char *)"create",
			(char *)"--bundle",
			(char *)BUNDLE,
			(char *)"id",
			NULL};

	box_write("/tmp/bin/dfg.conf", 0644, conf);
	return run(argv, out);
}

/* ---- which runtime ---- */

static void test_runtime(void)
{
	static const struct {
		const char *what, *conf;
		int status;
	} rows[] = {
		{"the runtime of dfg.conf", "runtime = /tmp/real\n", 42},
		{"a broken line after it", "runtime = /tmp/real\nnonsense\n", 42},
		{"a broken line before it", "nonsense\nruntime = /tmp/real\n", 42},
		{"no such file", "runtime = /tmp/none\n", 127},
		{"a directory", "runtime = /tmp\n", 127},
		{"a file that cannot be executed", "runtime = /tmp/data\n", 127},
		{"a file of another user", "runtime = /tmp/foreign\n", 127},
		{"a file its group can write", "runtime = /tmp/group\n", 127},
		{"a file others can write", "runtime = /tmp/others\n", 127},
		{"itself", "runtime = /tmp/bin/dfg-runtime\n", 127},
		{"itself by another name", "runtime = /tmp/again\n", 127},
		{"a program without its interpreter", "runtime = /tmp/lost\n", 126},
	};

	box_write("/tmp/real", 0755, real);
	box_write("/tmp/data", 0644, real);
	box_write("/tmp/foreign", 0755, real);
	box_must(chown("/tmp/foreign", 1, 0) == 0, "chown");
	box_write("/tmp/group", 0775, real);
	box_write("/tmp/others", 0757, real);
	box_write("/tmp/lost", 0755, "#!/tmp/none\n");
	box_must(link("/tmp/bin/dfg-runtime", "/tmp/again") == 0, "link");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(str_fini) struct str out = {0};

		box_write(SPEC, 0600, PLAIN);
		is_int(create(rows[i].conf, &out), rows[i].status, "the status is right with %s",
		       rows[i].what);
		is_str(out.buf,
		       rows[i].status == 42 ? "/tmp/real|create|--bundle|" BUNDLE "|id|" : NULL,
		       "the arguments are passed on only where there is a runtime");
	}
}

/* The first that is there and right is taken. */
static void test_usual(void)
{
	static const char *const rows[] = {"/usr/local/sbin/runc", "/usr/local/bin/runc",
					   "/usr/bin/runc"};
	CLEANUP(str_fini) struct str none = {0};

	if (mount("usr", "/usr/local", "tmpfs", 0, "mode=755") < 0 ||
	    mkdir("/usr/local/bin", 0755) < 0 || mkdir("/usr/local/sbin", 0755) < 0) {
		ok(true, "a usual runtime is taken # SKIP there is no /usr/local");
		return;
	}
	is_int(create("", &none), 127, "without any runtime nothing is executed");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free) char *want = xasprintf("%s|create|--bundle|" BUNDLE "|id|", rows[i]);
		CLEANUP(str_fini) struct str out = {0};

		if (i < 2)
			box_write(rows[i], 0755, real);
		else if (mount("/tmp/real", rows[i], "", MS_BIND, NULL) < 0)
			continue; /* the host has no file there */
		is_int(create("", &out), 42, "%s is executed before those of later folders",
		       rows[i]);
		is_str(out.buf, want, "it gets its own name and the arguments");
	}
}

/* ---- the bundle ---- */

static bool has_hook(const char *text)
{
	return strstr(text, "/tmp/bin/dfg-hook") && strstr(text, "\"createRuntime\"") &&
	       strstr(text, "\"poststop\"");
}

static void test_bundle(void)
{
#define RUNS "runtime = /tmp/real\n"
	static const struct {
		const char *what, *conf, *spec;
		bool hook, early;
	} rows[] = {
		{"no key", RUNS, PLAIN, true, false},
		{"early", RUNS "early = yes\n", PLAIN, true, true},
		{"early in a container that refuses", RUNS "early = yes\n",
		 "{\"root\":{\"path\":\"/r\"},\"process\":{\"env\":[]}," REFUSES "}", true, false},
		{"early and inject = none", RUNS "early = yes\ninject = none\n", PLAIN, true,
		 false},
		{"early and inject = annotated", RUNS "early = yes\ninject = annotated\n", PLAIN,
		 true, false},
		{"early in a bundle without a root", RUNS "early = yes\n",
		 "{\"process\":{\"env\":[]}}", true, false},
		{"early and an error", RUNS "early = yes\nnonsense\n", PLAIN, true, false},
		{"a bundle that is no JSON", RUNS, "nonsense", false, false},
		{"hooks of another kind", RUNS, "{\"hooks\":7}", false, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(str_fini) struct str out = {0};
		CLEANUP(free) char *text = NULL;
		CLEANUP(free) char *again = NULL;
		struct stat before = {0}, after = {0};

		unlink(SPEC);
		box_write(SPEC, 0640, rows[i].spec);
		box_must(chown(SPEC, 5, 6) == 0 && stat(SPEC, &before) == 0, SPEC);
		is_int(create(rows[i].conf, &out), 42, "a container is made with %s", rows[i].what);
		text = box_read(SPEC);
		is_int(has_hook(text), rows[i].hook, "the hooks are %s with %s",
		       rows[i].hook ? "added" : "not added", rows[i].what);
		is_int(strstr(text, "DebugNonSafepoints") != NULL, rows[i].early,
		       "early flags are %s with %s", rows[i].early ? "added" : "not added",
		       rows[i].what);
		if (!rows[i].hook)
			is_str(text, rows[i].spec, "the specification stays as it was");
		stat(SPEC, &after);
		ok(after.st_uid == 5 && after.st_gid == 6 && (after.st_mode & 07777) == 0640,
		   "the specification keeps its owner and mode");
		is_int(create(rows[i].conf, &out), 42, "it is made again");
		again = box_read(SPEC);
		is_str(again, text, "nothing is added twice");
		stat(SPEC, &before);
		is_int(before.st_ino, after.st_ino, "a file without a change is not written");
	}
}

static void test_flags_only(void)
{
	CLEANUP(str_fini) struct str spec = {0};
	CLEANUP(str_fini) struct str out = {0};
	CLEANUP(free) char *text = NULL;
	struct err err;

	str_adds(&spec, PLAIN);
	is_int(oci_spec_add_hook(&spec, "/tmp/bin/dfg-hook", NULL, &err), 1, "hooks are there");
	box_write(SPEC, 0600, spec.buf);
	is_int(create(RUNS "early = yes\n", &out), 42, "a container with hooks is made");
	text = box_read(SPEC);
	ok(strstr(text, "DebugNonSafepoints"), "early flags are added where hooks are already");
}

/* What is not changed, though the runtime is executed. */
static void test_unchanged(void)
{
	static const struct {
		const char *what;
		char *argv[6];
	} rows[] = {
		{"another command", {(char *)"delete", (char *)"--bundle", (char *)BUNDLE}},
		{"an unknown option",
		 {(char *)"--new", (char *)"create", (char *)"--bundle", (char *)BUNDLE}},
		{"a bundle that is missing",
		 {(char *)"create", (char *)"--bundle", (char *)"/tmp/none", (char *)"id"}},
	};

	box_write("/tmp/bin/dfg.conf", 0644, RUNS);
	box_write(SPEC, 0600, PLAIN);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *argv[8] = {(char *)"/tmp/bin/dfg-runtime"};
		CLEANUP(str_fini) struct str out = {0};
		CLEANUP(free) char *text = NULL;

		memcpy(argv + 1, rows[i].argv, sizeof(rows[i].argv));
		is_int(run(argv, &out), 42, "the runtime is executed with %s", rows[i].what);
		text = box_read(SPEC);
		is_str(text, PLAIN, "the specification stays as it was with %s", rows[i].what);
	}
}

static void test_no_hook(void)
{
	CLEANUP(str_fini) struct str out = {0};
	CLEANUP(free) char *text = NULL;

	box_write(SPEC, 0600, PLAIN);
	box_must(unlink("/tmp/bin/dfg-hook") == 0, "dfg-hook");
	is_int(create(RUNS, &out), 42, "without a dfg-hook beside it the runtime is executed");
	text = box_read(SPEC);
	is_str(text, PLAIN, "without a dfg-hook beside it nothing is added");
}

static void tests(void)
{
	box_must(mkdir("/tmp/bin", 0755) == 0 && mkdir(BUNDLE, 0755) == 0, "folders");
	box_write("/tmp/bin/dfg-hook", 0755, "");
	if (!box_copy("libexec/dfg-runtime", "/tmp/bin/dfg-runtime")) {
		ok(true, "dfg-runtime works # SKIP it is not built");
		return;
	}
	/* The host's runtime takes no part. */
	(void)!mount("/dev/null", "/usr/bin/runc", "", MS_BIND, NULL);
	(void)!mount("/dev/null", "/usr/sbin/runc", "", MS_BIND, NULL);
	test_runtime();
	test_bundle();
	test_flags_only();
	test_unchanged();
	test_usual();
	test_no_hook();
}

int main(void)
{
	return box_run(tests);
}
