// SPDX-License-Identifier: Apache-2.0
/* dfg.conf, the hook's command line, and the id maps. */
#include "hook/container.h"
#include "hook/self.h"
#include "oci/conf.h"
#include "oci/jsontext.h"

#include <errno.h>
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
	is_int(c.keep.count, CONF_KEEP, "default number of results");
	is_int(parse("# all\n\n inject = annotated \r\nstrict=yes\nearly=yes\nsource = "
		     "host\nbudget_ms = 4000\n"
		     "root = "
		     "/srv/dfg\nout_bytes=1048576\nout_inodes=8\nkeep=7\nruntime=/usr/bin/crun",
		     &c, &err),
	       0, "every key");
	is_int(c.inject, CONF_INJECT_ANNOTATED, "inject");
	ok(c.strict, "strict");
	ok(c.early, "early");
	is_int(c.source, CONF_SOURCE_HOST, "source");
	is_int(c.keep.count, 7, "keep");
	is_int(c.budget_ms, 4000, "budget_ms");
	is_str(c.root, "/srv/dfg", "root");
	is_str(c.runtime, "/usr/bin/crun", "runtime");
	is_int(c.out_bytes, 1048576, "out_bytes");
}

static void test_keep(void)
{
	static const char *const bad[] = {"",
					  ",",
					  "x",
					  "20,30",
					  "1d,2d",
					  "1g,1m",
					  "0d",
					  "d",
					  "-1",
					  "1.5g",
					  "20 ",
					  "1y",
					  "g",
					  "1d,x",
					  "1kd",
					  "5000000000",
					  "4294967295t,4294967296d"};
	struct conf_keep k = {.count = 9};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(!conf_parse_keep(bad[i], &k) && k.count == 9, "keep = \"%s\" is refused",
		   bad[i]);
	ok(conf_parse_keep("0", &k) && !k.count && !k.seconds && !k.bytes, "0 is no limit");
	ok(conf_parse_keep("12h", &k) && k.seconds == 12 * 3600, "hours");
	ok(conf_parse_keep("500m,7", &k) && k.bytes == 500u << 20 && k.count == 7,
	   "a size and a number");
	ok(conf_parse_keep("1t", &k) && k.bytes == UINT64_C(1) << 40, "terabytes");
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
		"budget_ms=60001", "budget_ms=-1", "out_bytes=99999999999999",
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
}

static void test_first_error(void)
{
	static const struct {
		const char *text, *msg;
	} rows[] = {
		{"strict = yes\nruntime = /x\ninject = none\nwhat = 1\n",
		 "line 4: unknown key what"},
		{"what = 1\nstrict = yes\nruntime = /x\ninject = none\n",
		 "line 1: unknown key what"},
		{"strict = yes\nwhat = 1\nbudget_ms = 7\nruntime = /x\nno",
		 "line 2: unknown key what"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct conf c;
		struct err err;

		is_int(parse(rows[i].text, &c, &err), -1, "a file with a wrong line is refused");
		is_str(err.msg, rows[i].msg, "the first wrong line is told");
		ok(c.strict && !strcmp(c.runtime, "/x"),
		   "strict and runtime are taken from the lines before and after it");
		ok(c.inject == CONF_INJECT_ALL && c.budget_ms == 250, "the rest is the default");
	}
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

/* ---- limits ---- */

/* A line of a key, an equals sign and so many bytes. */
static char *line_of(const char *start, size_t len)
{
	CLEANUP(free) char *bytes = xasprintf("%0*d", (int)len, 0);

	return xasprintf("%s%s", start, bytes);
}

static void test_limits(void)
{
	static const struct {
		const char *start;
		size_t longest;
	} lengths[] = {{"root = /", 254},
		       {"runtime = /", 254},
		       {"only = k=", 159},
		       {"never = k=", 159},
		       {"# ", 509}};
	static const struct {
		const char *low, *lowest, *highest, *high;
	} numbers[] = {
		{"budget_ms = 9", "budget_ms = 10", "budget_ms = 60000", "budget_ms = 60001"},
		{"out_bytes = 1048575", "out_bytes = 1048576", "out_bytes = 68719476736",
		 "out_bytes = 68719476737"},
		{"out_inodes = 7", "out_inodes = 8", "out_inodes = 1048576",
		 "out_inodes = 1048577"},
	};
	struct conf c;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		CLEANUP(free) char *good = line_of(lengths[i].start, lengths[i].longest);
		CLEANUP(free) char *bad = line_of(lengths[i].start, lengths[i].longest + 1);

		is_int(parse(good, &c, &err), 0, "%s and %zu bytes are read", lengths[i].start,
		       lengths[i].longest);
		is_int(parse(bad, &c, &err), -1, "%s and one byte more are refused",
		       lengths[i].start);
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		ok(parse(numbers[i].lowest, &c, &err) == 0 && parse(numbers[i].low, &c, &err) < 0,
		   "%s is the lowest", numbers[i].lowest);
		ok(parse(numbers[i].highest, &c, &err) == 0 && parse(numbers[i].high, &c, &err) < 0,
		   "%s is the highest", numbers[i].highest);
	}
	for (size_t len = 95; len <= 96; len++) {
		CLEANUP(free) char *key = line_of("only = ", len);
		CLEANUP(free) char *line = xasprintf("%s=x", key);

		is_int(parse(line, &c, &err), len == 95 ? 0 : -1, "a key of %zu bytes is %s", len,
		       len == 95 ? "read" : "refused");
	}
}

static void test_rules(void)
{
	CLEANUP(str_fini) struct str text = {0};
	struct conf c;
	struct err err;

	is_int(parse("only = io.kubernetes.ns = shop\nnever=k==*\n", &c, &err), 0,
	       "two rules are read");
	ok(c.rule_count == 2 && !c.rules[0].never && c.rules[1].never, "each is of its kind");
	is_str(c.rules[0].key, "io.kubernetes.ns ", "the key ends at the first equals sign");
	is_str(c.rules[0].pattern, " shop", "the rest is the pattern");
	is_str(c.rules[1].pattern, "=*", "a pattern may have equals signs");
	for (int i = 0; i < CONF_RULES_MAX; i++)
		str_adds(&text, "only=a=b\n");
	is_int(parse(text.buf, &c, &err), 0, "32 rules are read");
	is_int(c.rule_count, 32, "all of them count");
	str_adds(&text, "only=a=b\n");
	is_int(parse(text.buf, &c, &err), -1, "one more is refused");
}

static void test_words(void)
{
	static const struct {
		const char *text;
		enum conf_inject inject;
		enum conf_source source;
		bool early, strict;
	} rows[] = {
		{"inject=all", CONF_INJECT_ALL, CONF_SOURCE_AUTO, false, false},
		{"inject=annotated", CONF_INJECT_ANNOTATED, CONF_SOURCE_AUTO, false, false},
		{"inject=none", CONF_INJECT_NONE, CONF_SOURCE_AUTO, false, false},
		{"source=auto", CONF_INJECT_ALL, CONF_SOURCE_AUTO, false, false},
		{"source=agent", CONF_INJECT_ALL, CONF_SOURCE_AGENT, false, false},
		{"source=host", CONF_INJECT_ALL, CONF_SOURCE_HOST, false, false},
		{"early=yes", CONF_INJECT_ALL, CONF_SOURCE_AUTO, true, false},
		{"early=yes\nearly=no", CONF_INJECT_ALL, CONF_SOURCE_AUTO, false, false},
		{"\t strict \t=\t yes \r", CONF_INJECT_ALL, CONF_SOURCE_AUTO, false, true},
		{"strict=yes\nstrict=no", CONF_INJECT_ALL, CONF_SOURCE_AUTO, false, false},
	};
	struct conf c;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		is_int(parse(rows[i].text, &c, &err), 0, "text %zu is read", i);
		ok(c.inject == rows[i].inject && c.source == rows[i].source &&
			   c.early == rows[i].early && c.strict == rows[i].strict,
		   "it says what is written");
		ok(!c.root[0] && !c.runtime[0] && c.out_inodes == DFG_OUT_INODES, "and no more");
	}
	ok(parse("source=both", &c, &err) < 0 && parse("early=", &c, &err) < 0 &&
		   parse("runtime=crun", &c, &err) < 0,
	   "other words are refused");
	is_str(err.msg, "line 1: invalid value of runtime: `crun`", "key and value are told");
	ok(parse("\n\nnonsense # x\n", &c, &err) < 0, "a line without an equals sign is refused");
	is_str(err.msg, "line 3: expected `key = value`, got `nonsense # x`", "it is shown");
}

static void test_reasons(void)
{
	static const struct {
		const char *conf, *notes, *msg;
	} rows[] = {
		{"inject=none", "{}", "dfg.conf: inject = none"},
		{"inject=annotated", "{}", "dfg.conf: inject = annotated"},
		{"", "{\"dfg.io/inject\":\"false\"}", "annotation dfg.io/inject is false"},
		{"only = ns=a*\nonly = ns=b", NS("c"), "dfg.conf: only = ns=b"},
		{"never = ns=a\nnever = ns=c*", NS("cd"), "dfg.conf: never = ns=c*"},
		{"only = ns=c\nnever = ns=c", NS("c"), "dfg.conf: never = ns=c"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(json_decref) json_t *notes = json_loads(rows[i].notes, 0, NULL);
		struct conf c;
		struct err err = {0};

		ok(parse(rows[i].conf, &c, &err) == 0 && !conf_selects(&c, false, notes, &err),
		   "a container is left alone: %s", rows[i].msg);
		is_str(err.msg, rows[i].msg, "this is the reason");
	}
}

static void test_patterns(void)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} rows[] = {
		{"a", "a", true},	 {"a", "ab", false},	  {"ab", "a", false},
		{"*", "", true},	 {"*", "x", true},	  {"a*", "a", true},
		{"*a", "ba", true},	 {"*a", "bab", false},	  {"**a**", "a", true},
		{"a*c", "abc", true},	 {"a*c", "abcd", false},  {"a*bc*d", "abxbcxd", true},
		{"*ab", "aab", true},	 {"*aab*", "aaab", true}, {"a*b*c", "acb", false},
		{"shop", "Shop", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free) char *conf = xasprintf("only = ns=%s", rows[i].pattern);
		CLEANUP(free) char *notes = xasprintf(NS("%s"), rows[i].text);

		is_int(selects(conf, false, notes), rows[i].matches, "%s %s '%s'", rows[i].pattern,
		       rows[i].matches ? "matches" : "does not match", rows[i].text);
	}
}

/* ---- files ---- */

static void test_owner(void)
{
	static const struct {
		uid_t uid;
		mode_t mode;
		bool good;
	} rows[] = {{0, 0644, true},
		    {0, 0400, true},
		    {0, 0664, false},
		    {0, 0646, false},
		    {7, 0644, false}};
	char path[] = "/tmp/dfg-conf-XXXXXX";
	CLEANUP(close_fd) int fd = mkstemp(path);
	struct conf c;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(rows) && geteuid() == 0; i++) {
		if (fchown(fd, rows[i].uid, 0) < 0 || fchmod(fd, rows[i].mode) < 0)
			abort();
		is_int(conf_load(path, &c, &err), rows[i].good ? 0 : -1,
		       "a file of user %u with mode %o is %s", (unsigned)rows[i].uid,
		       (unsigned)rows[i].mode, rows[i].good ? "read" : "refused");
		if (!rows[i].good)
			ok(strstr(err.msg, ": not a regular file that only root can write"),
			   "the reason is told");
	}
	for (off_t size = CONF_MAX; size <= CONF_MAX + 1 && geteuid() == 0; size++) {
		CLEANUP(free) char *text = xasprintf("%*s", (int)size, "");

		for (off_t i = 0; i < size; i++)
			text[i] = '\n';
		if (fchown(fd, 0, 0) < 0 || fchmod(fd, 0600) < 0 ||
		    pwrite(fd, text, (size_t)size, 0) != size)
			abort();
		is_int(conf_load(path, &c, &err), size == CONF_MAX ? 0 : -1,
		       "a file of %lld bytes is %s", (long long)size,
		       size == CONF_MAX ? "read" : "refused");
	}
	CLEANUP(free) char *link = xasprintf("%s.link", path);
	if (ftruncate(fd, 0) < 0 || symlink(path, link) < 0)
		abort();
	is_int(conf_load(path, &c, &err), geteuid() ? -1 : 0, "an empty file of root is read");
	is_int(conf_load(link, &c, &err), -1, "a link to it is refused");
	is_int(err.code, ELOOP, "it is said to be a link");
	unlink(link);
	unlink(path);
	is_int(conf_load(path, &c, &err), -1, "a missing file is an error");
	CLEANUP(free) char *want = xasprintf("%s: open: No such file or directory", path);
	is_str(err.msg, want, "it is named");
}

/* This program's directory is root's where root has built it. */
static void test_sibling(void)
{
	char self[4096] = "", found[4096] = "";
	char *name;
	struct stat st;
	bool good;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		abort();
	name = strrchr(self, '/') + 1;
	name[-1] = '\0';
	good = stat(self, &st) == 0 && st.st_uid == 0 && !(st.st_mode & 022);
	name[-1] = '/';
	is_int(conf_find_sibling(name, found, sizeof(found)), good,
	       "a file beside this program is found where the folder is root's");
	ok(!good || !strcmp(found, self), "its path is returned");
	ok(!conf_find_sibling("none", found, sizeof(found)), "a missing file is not found");
	is_int(conf_find_sibling(name, found, strlen(self) + 2), good, "its path just fits");
	ok(!conf_find_sibling(name, found, strlen(self)), "a path that does not fit is not found");
	ok(!conf_find_sibling("longer-than-this-programs-name", found, strlen(self) + 2),
	   "nor is a name that does not fit");
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

static void test_modes(void)
{
	static const struct {
		const char *arg;
		enum hook_mode mode;
		bool requested;
	} rows[] = {
		{"--join", HOOK_MODE_JOIN, false},
		{"--gc", HOOK_MODE_GC, false},
		{"--release", HOOK_MODE_RELEASE, false},
		{"--help", HOOK_MODE_HELP, false},
		{"--version", HOOK_MODE_VERSION, false},
		{"--precreate", HOOK_MODE_PRECREATE, false},
		{"--asked", HOOK_MODE_HOOK, true},
		{"poststop", HOOK_MODE_HOOK, false},
	};
	struct hook_options o;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		is_int(options(&o, rows[i].arg, NULL, NULL), 0, "%s is known", rows[i].arg);
		ok(o.mode == rows[i].mode && o.requested == rows[i].requested,
		   "it means what it says");
		ok(!o.root && !o.payload && !o.conf, "no path is set");
	}
	is_int(options(&o, "--root=", NULL, NULL), -1, "an empty path is refused");
	is_int(options(&o, "--conf", "/c", "--payload"), -1, "the last value is missing");
	is_str(o.conf, "/c", "the options before it are taken");
	is_int(options(&o, "--join", "--root", "--gc"), -1, "an option is no path");
}

static void test_idmap_edges(void)
{
	static const struct {
		const char *map;
		bool root, full;
		uint32_t id;
	} rows[] = {
		{"0 0 4294967295", true, true, 0},
		{"0 0 4294967294", true, false, 0},
		{"0 1 4294967295", true, false, 1},
		{"1 0 4294967295", false, false, 0},
		{"0 4294967294 1", true, false, 4294967294},
		{"0 4294967295 1", false, false, 0},
		{"0 4294967296 1", false, false, 0},
		{"0 0000000005 1", true, false, 5},
		{"0 00000000005 1", false, false, 0},
		{"0\t7\t1\n", true, false, 7},
		{"0 7 1 \n", false, false, 0},
		{"0 7 1x\n", false, false, 0},
		{"\n0 7 1\n", false, false, 0},
		{"5 1 1\n\n0 7 1\n", false, false, 0},
		{"5 1 1\n0 7 9\n0 8 9\n", true, false, 7},
		{"0 7\n1\n", false, false, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint32_t id = 0;

		is_int(idmap_root(rows[i].map, &id), rows[i].root, "map %zu has %s root", i,
		       rows[i].root ? "a" : "no");
		is_int(id, rows[i].id, "its id is right");
		is_int(idmap_is_full(rows[i].map), rows[i].full, "it is %s",
		       rows[i].full ? "full" : "not full");
	}
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
	test_keep();
	test_select();
	test_bad_conf();
	test_first_error();
	test_limits();
	test_rules();
	test_words();
	test_reasons();
	test_patterns();
	test_conf_file();
	test_owner();
	test_sibling();
	test_options();
	test_modes();
	test_idmap();
	test_idmap_edges();
	return tap_done();
}
