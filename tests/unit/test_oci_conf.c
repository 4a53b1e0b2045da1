// SPDX-License-Identifier: Apache-2.0
/* dfg.conf, the hook's command line, and the id maps. */
#include "hook/container.h"
#include "hook/self.h"
#include "oci/conf.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/str.h"
#include "dfg/paths.h"
#include "lib/tap.h"

static int parse(const char *text, struct conf *c, struct err *err)
{
	return conf_parse(text, strlen(text), c, err);
}

static void test_conf(void)
{
	struct conf c;
	struct err err;

	is_int(parse("", &c, &err), 0, "an empty file");
	is_int(c.budget_ms, 250, "default budget");
	is_int(c.out_bytes, DFG_OUT_BYTES, "default size");
	is_int(parse("# all\n\n inject = annotated \r\nstrict=yes\nearly=yes\nsource = "
		     "host\nbudget_ms = 4000\n"
		     "root = /srv/dfg\nout_bytes=1048576\nout_inodes=8\nruntime=/usr/bin/crun",
		     &c, &err),
	       0, "every key");
	is_int(c.inject, CONF_INJECT_ANNOTATED, "inject");
	ok(c.strict, "strict");
	ok(c.early, "early");
	is_int(c.source, CONF_SOURCE_HOST, "source");
	is_int(c.budget_ms, 4000, "budget_ms");
	is_str(c.root, "/srv/dfg", "root");
	is_str(c.runtime, "/usr/bin/crun", "runtime");
	is_int(c.out_bytes, 1048576, "out_bytes");
}

/* 1 when a container with these annotations gets the mounts. */
static int selects(const char *conf, bool asked, const char *notes)
{
	json_t *n = json_loads(notes, 0, NULL);
	struct conf c;
	struct err err;
	int rc;

	if (parse(conf, &c, &err) < 0)
		abort();
	rc = conf_selects(&c, asked, n, &err);
	json_decref(n);
	return rc;
}

#define NS(name) "{\"ns\":\"" name "\"}"

static void test_select(void)
{
	static const char rules[] = "only = ns=shop*\nonly=ns=x*y\nnever = ns=shop-test\n";

	is_int(selects("", false, "{}"), 1, "all");
	is_int(selects("", true, "{\"dfg.io/inject\":\"false\"}"), 0, "but one that says false");
	is_int(selects("", false, "{\"dfg.io/inject\":\"no\"}"), 1, "other words do not count");
	is_int(selects("inject=none", true, "{\"dfg.io/inject\":\"true\"}"), 0, "none");
	is_int(selects("inject=annotated", false, "{}"), 0, "annotated: it is not");
	is_int(selects("inject=annotated", false, "{\"dfg.io/inject\":\"true\"}"), 1, "it is");
	is_int(selects("inject=annotated", true, "{}"), 1, "or is asked for");
	is_int(selects(rules, false, "{}"), 0, "only: no such annotation");
	is_int(selects(rules, false, NS("shop")), 1, "only: the first");
	is_int(selects(rules, false, NS("shop-eu")), 1, "only: the first, with a star");
	is_int(selects(rules, false, NS("xyzy")), 1, "only: the second");
	is_int(selects(rules, false, NS("bank")), 0, "only: neither");
	is_int(selects("only=ns=*a*b*", false, NS("xaxabx")), 1, "stars");
	is_int(selects("only=ns=*a*b", false, NS("xaxabx")), 0, "all of the text");
	is_int(selects(rules, true, NS("shop-test")), 0, "never counts more");
	is_int(selects("never=ns=kube-system", false, "{}"), 1, "never: no such annotation");
	is_int(selects("never=ns=*", false, NS("")), 0, "never: any value");
}

static void test_bad_conf(void)
{
	static const char *const bad[] = {
		"inject",	  "inject=",	  "inject=All",
		"injekt=all",	  "strict=1",	  "=",
		"root=rel",	  "root=/a/../b", "root=/a/..",
		"budget_ms=9",	  "root=",	  "out_bytes=",
		"budget_ms=4001", "budget_ms=-1", "out_bytes=99999999999999",
		"only=ns",	  "only==x",	  "never=ns=",
	};
	CLEANUP(str_fini) struct str longest = {0};
	struct conf c;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		is_int(parse(bad[i], &c, &err), -1, "%s", bad[i]);
	is_int(conf_parse("root=/a\0b", 9, &c, &err), -1, "NUL");
	str_adds(&longest, "root=/");
	for (int i = 0; i < 255; i++)
		str_addc(&longest, 'a');
	is_int(parse(longest.buf, &c, &err), -1, "a path that is too long");
	is_int(parse("strict = yes\nruntime = /x\ninject = annotated\nwhat = 1\n", &c, &err), -1,
	       "an error in line 4");
	is_str(err.msg, "line 4: unknown key what", "says where");
	ok(c.strict && c.inject == CONF_INJECT_ALL && !strcmp(c.runtime, "/x"),
	   "strict and runtime stay, the rest is the default");
}

static void test_conf_file(void)
{
	char path[] = "/tmp/dfg-conf-XXXXXX";
	int fd = mkstemp(path);
	struct conf c;
	struct err err;

	ok(fd >= 0 && write(fd, "inject=none\n", 12) == 12, "a file");
	if (geteuid() == 0) {
		is_int(conf_load(path, &c, &err), 0, "of root is read");
		is_int(c.inject, CONF_INJECT_NONE, "inject");
	}
	fchmod(fd, 0666);
	is_int(conf_load(path, &c, &err), -1, "that all can write is refused");
	is_int(c.inject, CONF_INJECT_ALL, "and not used");
	unlink(path);
	is_int(conf_load(path, &c, &err), -1, "that was asked for must be there");
	is_int(symlink("/dev/null", path), 0, "a link");
	is_int(conf_load(path, &c, &err), -1, "is refused");
	unlink(path);
	is_int(mkfifo(path, 0600), 0, "a FIFO");
	is_int(conf_load(path, &c, &err), -1, "is refused, without waiting");
	unlink(path);
	close(fd);
}

static int options(struct hook_options *o, const char *a, const char *b, const char *c)
{
	char *argv[] = {(char *)"dfg-hook", (char *)a, (char *)b, (char *)c, NULL};
	struct err err;

	return hook_options_parse(a ? b ? c ? 4 : 3 : 2 : 1, argv, o, &err);
}

static void test_options(void)
{
	struct hook_options o;

	is_int(options(&o, NULL, NULL, NULL), 0, "no options");
	is_int(o.mode, HOOK_MODE_HOOK, "is the hook");
	is_int(options(&o, "prestart", NULL, NULL), 0, "the name of a stage");
	is_int(options(&o, "--root", "/r", "--join"), 0, "--root DIR --join");
	ok(o.mode == HOOK_MODE_JOIN && !strcmp(o.root, "/r"), "both are taken");
	is_int(options(&o, "--payload=/p", "--conf=/c", NULL), 0, "with =");
	ok(!strcmp(o.payload, "/p") && !strcmp(o.conf, "/c"), "both are taken");
	is_int(options(&o, "--root", NULL, NULL), -1, "a value is missing");
	is_int(options(&o, "--root", "rel", NULL), -1, "a relative path");
	is_int(options(&o, "--rootless", "/r", NULL), -1, "an unknown option");
	is_int(options(&o, "--bad", "--join", NULL), -1, "an unknown option before a mode");
	is_int(o.mode, HOOK_MODE_JOIN, "the mode is taken all the same");
}

static void test_idmap(void)
{
	uint32_t id = 7;

	ok(idmap_root("         0          0 4294967295\n", &id) && id == 0, "no user namespace");
	ok(idmap_is_full("         0          0 4294967295\n"), "is full");
	ok(idmap_root("0 100000 65536\n", &id) && id == 100000, "mapped");
	ok(!idmap_is_full("0 100000 65536\n"), "is not full");
	ok(idmap_root("1 1 5\n0 1000 1\n", &id) && id == 1000, "root in the second range");
	ok(!idmap_root("1 100000 65536\n", &id), "without root");
	ok(!idmap_root("", &id) && !idmap_is_full(""), "empty");
	ok(!idmap_root("0 99999999999 1\n", &id), "out of range");
	ok(!idmap_root("0 1 0\n", &id), "an empty range");
	ok(!idmap_root("0 x 1\n", &id) && !idmap_root("0 1", &id) && !idmap_root("-1 0 1", &id),
	   "no map");
}

int main(void)
{
	test_conf();
	test_select();
	test_bad_conf();
	test_conf_file();
	test_options();
	test_idmap();
	return tap_done();
}
