// SPDX-License-Identifier: Apache-2.0
#include "oci/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>

#include "common/fs.h"
#include "common/str.h"
#include "dfg/paths.h"

void conf_set_defaults(struct conf *ret)
{
	*ret = (struct conf){.keep = {.count = CONF_KEEP},
			     .budget_ms = 250,
			     .out_bytes = DFG_OUT_BYTES,
			     .out_inodes = DFG_OUT_INODES};
}

/* Finds the value in a NULL-terminated list of words. */
static bool set_word(const char *value, const char *const *words, int *ret)
{
	for (int i = 0; words[i]; i++) {
		if (!strcmp(value, words[i])) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static bool set_bool(const char *value, bool *ret)
{
	*ret = !strcmp(value, "yes");
	return *ret || !strcmp(value, "no");
}

static bool set_number(const char *value, uint64_t min, uint64_t max, uint64_t *ret)
{
	return parse_u64(value, ret) && *ret >= min && *ret <= max;
}

static bool add_limit(char *text, struct conf_keep *keep)
{
	static const struct {
		char letter;
		uint64_t factor;
	} units[] = {{'h', 3600},     {'d', 86400},    {'w', 7 * 86400},
		     {'m', 1u << 20}, {'g', 1u << 30}, {'t', UINT64_C(1) << 40}};
	size_t len = strlen(text), i = 0;
	uint64_t n, *to;

	while (len && i < ARRAY_LEN(units) && units[i].letter != text[len - 1])
		i++;
	if (i == ARRAY_LEN(units)) {
		if (keep->count || !set_number(text, 0, UINT32_MAX, &n))
			return false;
		keep->count = (unsigned)n;
		return true;
	}
	to = i < 3 ? &keep->seconds : &keep->bytes;
	text[len ? len - 1 : 0] = '\0';
	return !*to && set_number(text, 1, UINT32_MAX, &n) &&
	       !__builtin_mul_overflow(n, units[i].factor, to);
}

bool conf_parse_keep(const char *list, struct conf_keep *ret)
{
	CLEANUP(free) char *copy = xstrdup(list);
	struct conf_keep keep = {0};
	char *save = NULL, *limit = strtok_r(copy, ",", &save);

	if (!limit)
		return false;
	for (; limit; limit = strtok_r(NULL, ",", &save))
		if (!add_limit(limit, &keep))
			return false;
	*ret = keep;
	return true;
}

/* Accepts absolute paths without "..". */
static bool set_path(const char *value, char *ret, size_t size)
{
	if (value[0] != '/' || strstr(value, "/../") || has_suffix(value, "/..") ||
	    strlen(value) >= size)
		return false;
	strcpy(ret, value);
	return true;
}

/* Accepts KEY=PATTERN, neither of them empty. */
static bool add_rule(const char *value, bool never, struct conf *c)
{
	const char *equals = strchr(value, '=');
	size_t len = equals ? (size_t)(equals - value) : 0;
	struct conf_rule *r = &c->rules[c->rule_count];

	if (c->rule_count == CONF_RULES_MAX || len == 0 || len >= sizeof(r->key) || !equals[1] ||
	    strlen(equals + 1) >= sizeof(r->pattern))
		return false;
	*r = (struct conf_rule){.never = never};
	memcpy(r->key, value, len);
	strcpy(r->pattern, equals + 1);
	c->rule_count++;
	return true;
}

static bool set_key(const char *key, const char *value, struct conf *c, struct err *err)
{
	static const char *const injects[] = {"all", "annotated", "none", NULL};
	static const char *const sources[] = {"auto", "agent", "host", NULL};
	uint64_t n = 0;
	bool good;
	int i = 0;

	if (!strcmp(key, "inject")) {
		good = set_word(value, injects, &i);
		c->inject = (enum conf_inject)i;
	} else if (!strcmp(key, "source")) {
		good = set_word(value, sources, &i);
		c->source = (enum conf_source)i;
	} else if (!strcmp(key, "only") || !strcmp(key, "never")) {
		good = add_rule(value, key[0] == 'n', c);
	} else if (!strcmp(key, "strict")) {
		good = set_bool(value, &c->strict);
	} else if (!strcmp(key, "early")) {
		good = set_bool(value, &c->early);
	} else if (!strcmp(key, "budget_ms")) {
		good = set_number(value, 10, CONF_BUDGET_MS_MAX, &n);
		c->budget_ms = (unsigned)n;
	} else if (!strcmp(key, "keep")) {
		good = conf_parse_keep(value, &c->keep);
	} else if (!strcmp(key, "out_bytes")) {
		good = set_number(value, 1u << 20, 64ull << 30, &c->out_bytes);
	} else if (!strcmp(key, "out_inodes")) {
		good = set_number(value, 8, 1u << 20, &n);
		c->out_inodes = (unsigned)n;
	} else if (!strcmp(key, "root")) {
		good = set_path(value, c->root, sizeof(c->root));
	} else if (!strcmp(key, "runtime")) {
		good = set_path(value, c->runtime, sizeof(c->runtime));
	} else {
		err_set(err, 0, "unknown key %s", key);
		return false;
	}
	if (!good)
		err_set(err, 0, "invalid value of %s: `%s`", key, value);
	return good;
}

/* Cuts white space at both ends, in place. */
static char *trim(char *s)
{
	size_t len;

	s += strspn(s, " \t\r");
	for (len = strlen(s); len && strchr(" \t\r", s[len - 1]); len--)
		s[len - 1] = '\0';
	return s;
}

static bool parse_line(char *line, struct conf *c, struct err *err)
{
	char *key = trim(line);
	char *equals;

	if (!*key || *key == '#')
		return true;
	equals = strchr(key, '=');
	if (!equals) {
		err_set(err, 0, "expected `key = value`, got `%s`", key);
		return false;
	}
	*equals = '\0';
	return set_key(trim(key), trim(equals + 1), c, err);
}

/* Keeps what lets a container start as its administrator wants it, whatever else is wrong. */
static void set_failed(const struct conf *c, struct conf *ret)
{
	conf_set_defaults(ret);
	ret->strict = c->strict;
	strcpy(ret->runtime, c->runtime);
}

int conf_parse(const char *text, size_t len, struct conf *ret, struct err *err)
{
	struct conf c;
	char line[512];
	int bad = 0;

	conf_set_defaults(&c);
	for (int number = 1; len; number++) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;
		struct err *first = bad ? NULL : err;
		bool good = n < sizeof(line) && !memchr(text, '\0', n);

		if (good) {
			memcpy(line, text, n);
			line[n] = '\0';
			good = parse_line(line, &c, first);
		} else {
			err_set(first, 0, "line too long or with a NUL byte");
		}
		if (!good && !bad)
			bad = number;
		n += end != NULL;
		text += n;
		len -= n;
	}
	if (bad) {
		set_failed(&c, ret);
		return err_wrap(err, "line %d", bad);
	}
	*ret = c;
	return 0;
}

static int read_file(const char *path, struct str *text, struct err *err)
{
	CLEANUP(close_fd)
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return err_set(err, errno, "open");
	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat");
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022))
		return err_set(err, 0, "not a regular file that only root can write");
	return fs_read_all(fd, CONF_MAX, text, err);
}

int conf_load(const char *path, struct conf *ret, struct err *err)
{
	CLEANUP(str_fini) struct str text = {0};
	char sibling[PATH_MAX];
	bool may_miss = !path;

	conf_set_defaults(ret);
	if (!path)
		path = conf_find_sibling("dfg.conf", sibling, sizeof(sibling)) ? sibling
									       : DFG_CONF_FILE;
	if (read_file(path, &text, err) < 0)
		return may_miss && err->code == ENOENT ? 0 : err_wrap(err, "%s", path);
	if (conf_parse(text.buf ? text.buf : "", text.len, ret, err) < 0)
		return err_wrap(err, "%s", path);
	return 0;
}

/* "*" stands for any text. Only the last star is ever retried, so the time is bounded by the
 * product of the lengths. */
static bool matches_pattern(const char *text, const char *pattern)
{
	const char *star = NULL, *after = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			after = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++after;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool rule_matches(const struct conf_rule *r, const json_t *annotations)
{
	const char *value = json_string_value(json_object_get(annotations, r->key));

	return value && matches_pattern(value, r->pattern);
}

/* Returns a "never" rule that matches; or an "only" rule, if there are some and none matches. */
static const struct conf_rule *find_excluding(const struct conf *conf, const json_t *annotations)
{
	const struct conf_rule *missed = NULL;
	bool met = false;

	for (unsigned i = 0; i < conf->rule_count; i++) {
		const struct conf_rule *r = &conf->rules[i];
		bool matches = rule_matches(r, annotations);

		if (r->never && matches)
			return r;
		if (!r->never && !matches)
			missed = r;
		met |= !r->never && matches;
	}
	return met ? NULL : missed;
}

bool conf_selects(const struct conf *c, bool requested, const json_t *annotations, struct err *err)
{
	const char *inject = json_string_value(json_object_get(annotations, "dfg.io/inject"));
	const struct conf_rule *rule = find_excluding(c, annotations);

	if (inject && !strcmp(inject, "false"))
		err_set(err, 0, "annotation dfg.io/inject is false");
	else if (rule)
		err_set(err, 0, "dfg.conf: %s = %s=%s", rule->never ? "never" : "only", rule->key,
			rule->pattern);
	else if (c->inject == CONF_INJECT_NONE)
		err_set(err, 0, "dfg.conf: inject = none");
	else if (c->inject == CONF_INJECT_ANNOTATED && !requested &&
		 (!inject || strcmp(inject, "true") != 0))
		err_set(err, 0, "dfg.conf: inject = annotated");
	else
		return true;
	return false;
}

bool conf_find_sibling(const char *name, char *ret, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", ret, size - 1);
	struct stat st;
	char *slash;

	if (n <= 0 || (size_t)n >= size - 1)
		return false;
	ret[n] = '\0';
	slash = strrchr(ret, '/');
	if (!slash || slash == ret || (size_t)(slash + 1 - ret) + strlen(name) >= size)
		return false;
	*slash = '\0';
	if (stat(ret, &st) < 0 || st.st_uid != 0 || (st.st_mode & 022))
		return false;
	*slash = '/';
	strcpy(slash + 1, name);
	return access(ret, F_OK) == 0;
}
