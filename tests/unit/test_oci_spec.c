// SPDX-License-Identifier: Apache-2.0
/* config.json: what the hook reads of it, what dfg-runtime writes into it, and the command lines
 * that make it do so. */
#include "oci/config.h"
#include "oci/spec.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/str.h"
#include "hook/runtime_args.h"
#include "lib/tap.h"

#define H    "{\"path\":\"/l/dfg-hook\",\"args\":[\"dfg-hook\"],\"env\":[\"DFG=1\"],\"timeout\":90}"
#define ADDS "\"createRuntime\":[" H "],\"poststop\":[" H "]"

#define HOOK "/l/dfg-hook"

static void check_add(const char *name, const char *text, const char *want)
{
	CLEANUP(str_fini) struct str s = {0};
	struct err err;

	str_adds(&s, text);
	is_int(oci_spec_add_hook(&s, HOOK, NULL, &err), 1, "%s", name);
	is_str(s.buf, want, "%s", name);
	is_int(oci_spec_add_hook(&s, HOOK, NULL, &err), 0, "a second time");
	is_str(s.buf, want, "changes nothing");
}

/* Removing the hook restores the text. */
static void check_remove(const char *name, const char *text)
{
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(free) char *program = NULL;
	struct err err;

	str_adds(&s, text);
	is_int(oci_spec_remove_hook(&s, &err), 0, "nothing to take out");
	ok(!oci_spec_find_hook(&s), "none is found");
	if (oci_spec_add_hook(&s, HOOK, "/r", &err) != 1)
		abort();
	program = oci_spec_find_hook(&s);
	is_str(program, HOOK, "it is found");
	is_int(oci_spec_remove_hook(&s, &err), 1, "taken out");
	is_str(s.buf, text, "%s", name);
}

static void check_refused(const char *text)
{
	CLEANUP(str_fini) struct str s = {0};
	struct err err;

	str_adds(&s, text);
	is_int(oci_spec_add_hook(&s, HOOK, NULL, &err), -1, "%s", text);
	is_str(s.buf, text, "stays as it was");
}

static void test_add(void)
{
	check_add("no hooks", "{\"a\": 18446744073709551615 }",
		  "{\"hooks\":{" ADDS "},\"a\": 18446744073709551615 }");
	check_add("nothing at all", " {}\n", " {\"hooks\":{" ADDS "}}\n");
	check_add("null", "{\"hooks\": null,\"b\":[1, -2.5e3,true]}",
		  "{\"hooks\": {" ADDS "},\"b\":[1, -2.5e3,true]}");
	check_add("empty", "{\"hooks\": { } }", "{\"hooks\": {" ADDS " } }");
	check_add("another's", "{\"hooks\":{\"prestart\":[{\"path\":\"/x\",\"args\":[\"[\"]}]}}",
		  "{\"hooks\":{" ADDS ",\"prestart\":[{\"path\":\"/x\",\"args\":[\"[\"]}]}}");
	check_add("same stage", "{\"hooks\":{\"createRuntime\":[{\"path\":\"/x\"}]}}",
		  "{\"hooks\":{\"poststop\":[" H "],\"createRuntime\":[{\"path\":\"/x\"}," H "]}}");
	check_add("stages the other way round",
		  "{\"hooks\":{\"poststop\":[],\"createRuntime\":null},\"z\":\"\\\"}\"}",
		  "{\"hooks\":{\"poststop\":[" H "],\"createRuntime\":[" H "]},\"z\":\"\\\"}\"}");
	check_add("one is there", "{\"hooks\":{\"poststop\":[" H "]}}",
		  "{\"hooks\":{\"createRuntime\":[" H "],\"poststop\":[" H "]}}");
	check_add("hooks further down do not count", "{\"x\":{\"hooks\":{}}}",
		  "{\"hooks\":{" ADDS "},\"x\":{\"hooks\":{}}}");
}

static void test_remove(void)
{
	CLEANUP(str_fini) struct str s = {0};
	struct err err;

	check_remove("no hooks", "{\"a\": 18446744073709551615 }");
	check_remove("nothing at all", " {}\n");
	check_remove("on lines", "{\n\t\"a\": 1,\n\t\"b\": {}\n}\n");
	check_remove("another's",
		     "{\"hooks\":{\"prestart\":[{\"path\":\"/x\",\"args\":[\"[\"]}]}}");
	check_remove("same stage, on lines",
		     "{\n \"hooks\": {\n  \"poststop\": [\n   {\"path\": \"/x\"}\n  ]\n }\n}");
	str_adds(&s, "{\"hooks\":{\"prestart\":[{\"path\":\"/old/dfg-hook\"},{\"path\":\"/x\"},"
		     "{\"path\":\"dfg-hook\"}],\"poststop\":[" H "," H "]}}");
	is_int(oci_spec_remove_hook(&s, &err), 1, "of another installation, twice");
	is_str(s.buf, "{\"hooks\":{\"prestart\":[{\"path\":\"/x\"},{\"path\":\"dfg-hook\"}]}}",
	       "all are gone");
}

static void test_refused(void)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{",
		"{}x",
		"{]",
		"{\"a\"}",
		"{\"a\":1,}",
		"{\"a\":1,\"a",
		"{\"hooks\":1}",
		"{\"hooks\":[]}",
		"{\"hooks\":{},\"hooks\":{}}",
		"{\"h\\u006foks\":{}}",
		"{\"hooks\":{\"poststop\":{}}}",
		"{\"hooks\":{\"poststop\":[1]}}",
		"{\"hooks\":{\"poststop\":[{}",
	};
	CLEANUP(str_fini) struct str deep = {0};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		check_refused(bad[i]);
	str_adds(&deep, "{\"a\":");
	for (int i = 0; i < 300; i++)
		str_addc(&deep, '[');
	check_refused(deep.buf);
}

static void check_bundle(const char *name, const char *want, const char *const *args)
{
	char *argv[16] = {(char *)"runc"};
	int argc = 1;

	for (; args[argc - 1] && argc < 15; argc++)
		argv[argc] = (char *)args[argc - 1];
	is_str(runtime_args_bundle(argc, argv), want, "%s", name);
}
#define CHECK(want, ...) check_bundle(#__VA_ARGS__, want, (const char *const[]){__VA_ARGS__, NULL})

static void test_args(void)
{
	CHECK(".", "create", "id");
	CHECK("/b", "run", "--bundle", "/b", "id");
	CHECK("/b", "create", "--bundle=/b", "id");
	CHECK("/b", "create", "-b", "/b", "id");
	CHECK("/b", "--root", "/r", "--log", "/l", "--log-format", "json", "--systemd-cgroup",
	      "create", "--bundle", "/b", "--pid-file", "/p", "id");
	CHECK("/b", "--root=create", "--debug", "run", "--console-socket", "--bundle", "-d",
	      "-b=/b", "id");
	CHECK("/b", "run", "id", "--bundle", "/b");
	CHECK(".", "run", "--", "--bundle", "/b");
	CHECK(NULL, "--root", "create", "start", "id");
	CHECK(NULL, "exec", "-d", "id", "create");
	CHECK(NULL, "--unknown", "create", "id");
	CHECK(NULL, "--version");
	CHECK(NULL, "--root");
	CHECK(NULL, "create", "--bundle");
	CHECK(NULL, "create", "--bundle=", "id");
	CHECK(NULL, "run", "--config", "/other.json", "id");
	CHECK(NULL, "run", "-f", "/other.json", "id");
	CHECK(NULL, "features");
	CHECK("/b", "--log-level", "debug", "--rootless=true", "create", "--pid-file=/p",
	      "--bundle", "/b", "id");
	CHECK("/b", "--criu", "/c", "--cgroup-manager", "systemd", "run", "-b", "/b", "id");
	CHECK("/b", "create", "--preserve-fds", "3", "-b", "/b", "id");
	CHECK("/2", "run", "-b", "/1", "--bundle=/2", "id");
	CHECK(".", "run", "-d", "--no-pivot", "id");
	CHECK(".", "create", "-", "id");
	CHECK(".", "create", "--bundles", "/b", "id");
	CHECK(NULL, "create", "--conf", "/x", "id");
	CHECK(NULL, "create", "--pid-file", "/p", "-b");
	CHECK(NULL, "-", "create");
	CHECK(NULL, "--debug");
}

static int config(const char *text, struct oci_config *c)
{
	struct err err;

	return oci_config_parse(text, strlen(text), "/run/b", c, &err);
}

static void test_config(void)
{
	CLEANUP(oci_config_fini) struct oci_config c;

	is_int(config("{\"root\":{\"path\":\"/r\"},\"hostname\":\"h\",\"linux\":{\"mountLabel\":"
		      "\"s0:c1,c2\",\"cgroupsPath\":\"/c\"},\"annotations\":{\"dfg.io/inject\":"
		      "\"false\"}}",
		      &c),
	       0, "config.json");
	is_str(c.root, "/r", "root");
	is_str(c.mount_label, "s0:c1,c2", "label");
	is_str(c.cgroups_path, "/c", "cgroup");
	is_str(c.hostname, "h", "host name");
	is_str(json_string_value(json_object_get(c.annotations, "dfg.io/inject")), "false",
	       "annotation");
	oci_config_fini(&c);
	is_int(config("{\"root\":{\"path\":\"rootfs\"},\"linux\":{\"mountLabel\":\"a\\nb\"}}", &c),
	       0, "a relative root");
	is_str(c.root, "/run/b/rootfs", "is below the bundle");
	is_str(c.mount_label, NULL, "a label with a newline is none");
	oci_config_fini(&c);
	is_int(config("{\"process\":{\"rlimits\":[{\"hard\":18446744073709551615}]},"
		      "\"root\":{\"path\":\"/r\"}}",
		      &c),
	       0, "no limit");
	oci_config_fini(&c);
	is_int(config("{}", &c), -1, "no root");
	is_int(config("{\"root\":{\"path\":7}}", &c), -1, "root is a number");
	is_int(config("{\"root\":{\"path\":\"/a\\nb\"}}", &c), -1, "root with a newline");
	is_int(config("{\"root\":{\"path\":\"/a\"},\"root\":{\"path\":\"/b\"}}", &c), -1,
	       "two roots");
	is_int(config("nonsense", &c), -1, "not JSON");
}

/* Cases 20 and 21. */
static void test_config_file(void)
{
	char dir[] = "/tmp/dfg-bundle-XXXXXX";
	CLEANUP(oci_config_fini) struct oci_config c;
	CLEANUP(free) char *file = NULL;
	struct err err;

	if (!ok(mkdtemp(dir) != NULL, "a bundle"))
		return;
	file = xasprintf("%s/config.json", dir);
	is_int(oci_config_load(dir, &c, &err), -1, "config.json is missing");
	is_int(mkfifo(file, 0600), 0, "it is a FIFO");
	is_int(oci_config_load(dir, &c, &err), -1, "refused, without waiting");
	unlink(file);
	is_int(symlink("/etc/passwd", file), 0, "it is a link");
	is_int(oci_config_load(dir, &c, &err), -1, "refused");
	unlink(file);
	rmdir(dir);
	is_int(oci_config_load(dir, &c, &err), -1, "the bundle is missing");
}

#define FLAGS "-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints"

/* want: NULL where nothing may change. */
static void check_early(const char *name, const char *env, const char *want)
{
	CLEANUP(free) char *before = xasprintf("{\"process\":{\"env\":%s}}", env);
	CLEANUP(free) char *after = xasprintf("{\"process\":{\"env\":%s}}", want ? want : env);
	CLEANUP(str_fini) struct str s = {0};
	struct err err;

	str_adds(&s, before);
	is_int(oci_spec_add_early(&s, &err), want != NULL, "early: %s", name);
	is_str(s.buf, after, "is so");
	is_int(oci_spec_is_early(&s), want != NULL, "is told");
	is_int(oci_spec_add_early(&s, &err), 0, "not twice");
	is_int(oci_spec_remove_early(&s, &err), want != NULL, "taken out");
	is_str(s.buf, before, "without a trace");
}

static void check_early_refused(const char *name, const char *text, int rc)
{
	CLEANUP(str_fini) struct str s = {0};
	struct err err;

	str_adds(&s, text);
	is_int(oci_spec_add_early(&s, &err), rc, "early: %s", name);
	is_str(s.buf, text, "nothing is changed");
}

static void test_early(void)
{
	check_early("no variable", "[\"A=b\"]", "[\"A=b\",\"JAVA_TOOL_OPTIONS=" FLAGS "\"]");
	check_early("no environment", "[]", "[\"JAVA_TOOL_OPTIONS=" FLAGS "\"]");
	check_early("one of its own", "[\"JAVA_TOOL_OPTIONS=-Da=\\\"b\\\\\\\"\",\"A=b\"]",
		    "[\"JAVA_TOOL_OPTIONS=-Da=\\\"b\\\\\\\" " FLAGS "\",\"A=b\"]");
	check_early("another name", "[\"JAVA_TOOL_OPTIONS_OLD=x\"]",
		    "[\"JAVA_TOOL_OPTIONS_OLD=x\",\"JAVA_TOOL_OPTIONS=" FLAGS "\"]");
	check_early("no to the flag", "[\"JAVA_TOOL_OPTIONS=-XX:-DebugNonSafepoints\"]", NULL);
	check_early_refused("no process", "{\"root\":{}}", 0);
	check_early_refused("two of them",
			    "{\"process\":{\"env\":[\"JAVA_TOOL_OPTIONS=a\","
			    "\"JAVA_TOOL_OPTIONS=b\"]}}",
			    -1);
	check_early_refused("an environment of another kind", "{\"process\":{\"env\":{\"A\":1}}}",
			    -1);
	check_early_refused("no object", "[]", -1);
}

/* ---- limits and reasons of config.json ---- */

static void test_config_limits(void)
{
	static const struct {
		const char *format;
		size_t offset; /* of the field in struct oci_config */
		size_t longest;
	} rows[] = {
		{"{\"root\":{\"path\":\"/r\"},\"hostname\":\"%0*d\"}",
		 offsetof(struct oci_config, hostname), 255},
		{"{\"root\":{\"path\":\"/r\"},\"linux\":{\"mountLabel\":\"%0*d\"}}",
		 offsetof(struct oci_config, mount_label), 1024},
		{"{\"root\":{\"path\":\"/r\"},\"linux\":{\"cgroupsPath\":\"%0*d\"}}",
		 offsetof(struct oci_config, cgroups_path), 4095},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t more = 0; more < 2; more++) {
			CLEANUP(oci_config_fini) struct oci_config c;
			CLEANUP(str_fini) struct str text = {0};
			const char *value;
			int rc;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			str_addf(&text, rows[i].format, (int)(rows[i].longest + more), 0);
#pragma GCC diagnostic pop
			rc = config(text.buf, &c);
			value = *(char **)((char *)&c + rows[i].offset);
			ok(rc == 0 && (more ? !value : value && strlen(value) == rows[i].longest),
			   "field %zu of %zu bytes is %s", i, rows[i].longest + more,
			   more ? "left out" : "taken");
		}
	}
}

static void test_config_values(void)
{
	static const struct {
		const char *text, *root, *label;
	} rows[] = {
		{"{\"root\":{\"path\":\"/r\"},\"linux\":{\"mountLabel\":\"a b\"}}", "/r", "a b"},
		{"{\"root\":{\"path\":\"/r\"},\"linux\":{\"mountLabel\":\"a\\\"\"}}", "/r", NULL},
		{"{\"root\":{\"path\":\"/r\"},\"linux\":{\"mountLabel\":\"\\u001f\"}}", "/r", NULL},
		{"{\"root\":{\"path\":\"/r\"},\"linux\":{\"mountLabel\":\"\\u007f\"}}", "/r", NULL},
		{"{\"root\":{\"path\":\"/r\"},\"linux\":{\"mountLabel\":\"\"}}", "/r", NULL},
		{"{\"root\":{\"path\":\"../r\"}}", "/run/b/../r", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(oci_config_fini) struct oci_config c;

		is_int(config(rows[i].text, &c), 0, "%s is read", rows[i].text);
		is_str(c.root, rows[i].root, "its root is right");
		is_str(c.mount_label, rows[i].label, "its label is right");
		ok(!c.hostname && !c.cgroups_path && !c.annotations, "it has nothing else");
	}
}

static void test_config_reasons(void)
{
	static const struct {
		const char *text, *msg;
	} rows[] = {
		{"nonsense", "config.json is not JSON"},
		{"{\"root\":{}}", "config.json has no root.path"},
		{"{\"root\":{\"path\":\"\"},\"hostname\":\"h\",\"annotations\":{\"a\":\"b\"}}",
		 "config.json has no root.path"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct oci_config c;
		struct err err = {0};

		is_int(oci_config_parse(rows[i].text, strlen(rows[i].text), "/b", &c, &err), -1,
		       "%s is refused", rows[i].text);
		is_str(err.msg, rows[i].msg, "the reason is told");
		ok(!c.root && !c.hostname && !c.annotations, "nothing is set");
	}
}

/* Writes a bundle's config.json of this size. */
static void put_config(const char *file, size_t size, mode_t mode)
{
	CLEANUP(close_fd) int fd = open(file, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	CLEANUP(free)
	char *text = xasprintf("{\"root\":{\"path\":\"/r\"}}%*s", (int)size, "");

	if (fd < 0 || write(fd, text, size) != (ssize_t)size || fchmod(fd, mode) < 0)
		abort();
}

/* Case 21: a file that others may write, and one that is too large. */
static void test_config_owner(void)
{
	char dir[] = "/tmp/dfg-bundle-XXXXXX";
	CLEANUP(oci_config_fini) struct oci_config c = {0};
	CLEANUP(free) char *file = NULL;
	CLEANUP(free) char *want = NULL;
	struct err err;

	if (!mkdtemp(dir))
		abort();
	file = xasprintf("%s/config.json", dir);
	want = xasprintf("%s: config.json can be written by others than the engine", dir);
	put_config(file, 100, 0660);
	is_int(oci_config_load(dir, &c, &err), 0, "a file that its group can write is read");
	is_str(c.root, "/r", "it has the root");
	oci_config_fini(&c);
	put_config(file, 100, 0602);
	is_int(oci_config_load(dir, &c, &err), -1, "a file that others can write is refused");
	is_str(err.msg, want, "bundle and reason are told");
	put_config(file, 100, 0600);
	if (geteuid() == 0 && chown(file, 7, 0) == 0)
		is_int(oci_config_load(dir, &c, &err), -1, "a file of another user is refused");
	unlink(file);
	put_config(file, OCI_CONFIG_MAX, 0600);
	is_int(oci_config_load(dir, &c, &err), 0, "8 MiB are read");
	oci_config_fini(&c);
	put_config(file, OCI_CONFIG_MAX + 1, 0600);
	is_int(oci_config_load(dir, &c, &err), -1, "one byte more is refused");
	unlink(file);
	rmdir(dir);
}

/* ---- removing ---- */

static void test_entries(void)
{
	static const struct {
		const char *text, *program, *after;
	} rows[] = {
		{"{\"hooks\":{\"prestart\":[{\"path\":\"/a/dfg-hook\"}]}}", "/a/dfg-hook", "{}"},
		{"{\"hooks\":{\"createContainer\":[{\"path\":\"/b/dfg-hook\"}],\"x\":1}}",
		 "/b/dfg-hook", "{\"hooks\":{\"x\":1}}"},
		{"{\"hooks\":{\"startContainer\":[{\"path\":\"/c/dfg-hook\"},{\"path\":\"/y\"}]}}",
		 "/c/dfg-hook", "{\"hooks\":{\"startContainer\":[{\"path\":\"/y\"}]}}"},
		{"{\"hooks\":{\"poststart\":[{},{\"path\":\"/d/dfg-hook\"}]}}", "/d/dfg-hook",
		 "{\"hooks\":{\"poststart\":[{}]}}"},
		{"{\"a\":1,\"hooks\":{\"poststop\":[{\"path\":\"/e/dfg-hook\"}]}}", "/e/dfg-hook",
		 "{\"a\":1}"},
		{"{\"hooks\":{\"poststop\":[{\"path\":\"/e/dfg-hooks\"}]}}", NULL, NULL},
		{"{\"hooks\":{\"other\":[{\"path\":\"/e/dfg-hook\"}]}}", NULL, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(str_fini) struct str s = {0};
		CLEANUP(free) char *program = NULL;
		struct err err;

		str_adds(&s, rows[i].text);
		program = oci_spec_find_hook(&s);
		is_str(program, rows[i].program, "the program of text %zu is right", i);
		is_int(oci_spec_remove_hook(&s, &err), rows[i].program != NULL, "text %zu is %s", i,
		       rows[i].program ? "changed" : "not changed");
		is_str(s.buf, rows[i].after ? rows[i].after : rows[i].text, "it is right then");
	}
}

static void test_reasons(void)
{
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(free) char *plain = oci_spec_hook("/l/dfg-hook", NULL);
	CLEANUP(free) char *rooted = oci_spec_hook("/l/dfg-hook", "/r");
	struct err err = {0};

	is_str(plain, H, "the hook has its name, an environment and a time-out");
	ok(strstr(rooted, "\"args\":[\"dfg-hook\",\"--root\",\"/r\"]"), "it has its root, if any");
	str_adds(&s, "{\"hooks\":{\"prestart\":[1]}}");
	is_int(oci_spec_remove_hook(&s, &err), -1, "an entry of another kind is refused");
	is_str(err.msg, "unexpected JSON at hooks", "the place is told");
	err = (struct err){0};
	s.len = 0;
	str_adds(&s, "{\"hooks\":{\"createRuntime\":7}}");
	is_int(oci_spec_add_hook(&s, HOOK, NULL, &err), -1, "a list of another kind is refused");
	is_str(err.msg, "unexpected JSON at hooks", "the place is told here, too");
	err = (struct err){0};
	s.len = 0;
	str_adds(&s, "{\"process\":{\"env\":7}}");
	is_int(oci_spec_add_early(&s, &err), -1, "an environment of another kind is refused");
	is_str(err.msg, "unexpected JSON at process.env", "it is told");
	err = (struct err){0};
	s.len = 0;
	str_adds(&s, "[]");
	is_int(oci_spec_remove_early(&s, &err), -1, "what is no object is refused");
	is_str(err.msg, "unexpected JSON at process.env", "it is told as well");
}

static void test_early_removed(void)
{
#define VAR "JAVA_TOOL_OPTIONS="
	static const struct {
		const char *env, *after;
		bool early;
	} rows[] = {
		{"[\"" VAR FLAGS "\"]", "[]", true},
		{"[\"A=b\",\"" VAR FLAGS "\",\"C=d\"]", "[\"A=b\",\"C=d\"]", true},
		{"[\"" VAR "-Xmx1g " FLAGS "\"]", "[\"" VAR "-Xmx1g\"]", true},
		{"[\"" VAR FLAGS " -Xmx1g\"]", NULL, false},
		{"[\"" VAR "-XX:+DebugNonSafepoints\"]", NULL, false},
		{"[\"" VAR "-Xx" FLAGS "\"]", NULL, true},
		{"[\"" VAR "\"]", NULL, false},
		{"[7,\"A=b\"]", NULL, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free) char *text = xasprintf("{\"process\":{\"env\":%s}}", rows[i].env);
		CLEANUP(free)
		char *after = xasprintf("{\"process\":{\"env\":%s}}",
					rows[i].after ? rows[i].after : rows[i].env);
		CLEANUP(str_fini) struct str s = {0};
		struct err err;

		str_adds(&s, text);
		is_int(oci_spec_is_early(&s), rows[i].early, "environment %zu %s the flags", i,
		       rows[i].early ? "ends with" : "is without");
		is_int(oci_spec_remove_early(&s, &err), rows[i].after != NULL,
		       "environment %zu is %s", i, rows[i].after ? "changed" : "not changed");
		is_str(s.buf, after, "it is right then");
	}
	check_early("an empty variable", "[\"" VAR "\"]", "[\"" VAR " " FLAGS "\"]");
}

int main(void)
{
	test_config_limits();
	test_config_values();
	test_config_reasons();
	test_config_owner();
	test_entries();
	test_reasons();
	test_early_removed();
	test_add();
	test_remove();
	test_refused();
	test_args();
	test_config();
	test_config_file();
	test_early();
	return tap_done();
}
