// SPDX-License-Identifier: Apache-2.0
#include "oci_spec.h"

#define DEPTH_MAX 256

struct scan {
	const char *text;
	size_t len;
	size_t at;
};

struct span {
	size_t from, to;
};

/* One insertion, or replacement of a null. */
struct edit {
	struct span at;
	struct str text;
};

static char peek(struct scan *s)
{
	while (s->at < s->len && strchr(" \t\r\n", s->text[s->at]) && s->text[s->at])
		s->at++;
	return s->at < s->len ? s->text[s->at] : '\0';
}

static bool take(struct scan *s, char c)
{
	if (peek(s) != c)
		return false;
	s->at++;
	return true;
}

static bool take_string(struct scan *s, struct span *ret)
{
	ret->from = s->at;
	if (!take(s, '"'))
		return false;
	ret->from = s->at - 1;
	while (s->at < s->len && s->text[s->at] != '"') {
		if ((unsigned char)s->text[s->at] < 0x20)
			return false;
		s->at += s->text[s->at] == '\\' ? 2 : 1;
	}
	if (s->at >= s->len)
		return false;
	ret->to = ++s->at;
	return true;
}

/* true, false, null or a number: whatever it is, it stays as it is. */
static bool take_word(struct scan *s)
{
	size_t from = s->at;

	while (s->at < s->len && s->text[s->at] &&
	       strchr("abcdefghijklmnopqrstuvwxyzE0123456789+-.", s->text[s->at]))
		s->at++;
	return s->at > from;
}

/* Passes over a value. Brackets are matched by a stack of their own: a hostile depth is an error,
 * not recursion. */
static bool take_value(struct scan *s, struct span *ret)
{
	char open[DEPTH_MAX];
	size_t depth = 0;
	struct span string;
	bool first = true;

	do {
		char c = peek(s);

		if (first)
			ret->from = s->at;
		first = false;
		if (c == '{' || c == '[') {
			if (depth == DEPTH_MAX)
				return false;
			open[depth++] = c == '{' ? '}' : ']';
			s->at++;
		} else if (c == '}' || c == ']') {
			if (depth == 0 || open[--depth] != c)
				return false;
			s->at++;
		} else if (depth && (c == ',' || c == ':')) {
			s->at++;
		} else if (c == '"' ? !take_string(s, &string) : !take_word(s)) {
			return false;
		}
	} while (depth);
	ret->to = s->at;
	return true;
}

static bool is_text(const char *text, const struct span *span, const char *want)
{
	size_t len = span->to - span->from;

	return len == strlen(want) && !memcmp(text + span->from, want, len);
}

/* Finds a member of the object at `object`. Returns 1 and its value, 0 when there is none, -1 when
 * this is no object, or the key is there twice. `empty`: whether the object has no members. A key
 * with an escape could be any key: no engine writes one, so it is an error. */
static int find_member(const char *text, const struct span *object, const char *key,
		       struct span *ret, bool *empty)
{
	struct scan s = {.text = text, .len = object->to, .at = object->from};
	int found = 0;

	if (!take(&s, '{'))
		return -1;
	*empty = peek(&s) == '}';
	if (*empty)
		return 0;
	do {
		struct span name, value;

		if (peek(&s) != '"' || !take_string(&s, &name) || !take(&s, ':') ||
		    !take_value(&s, &value) || memchr(text + name.from, '\\', name.to - name.from))
			return -1;
		if (is_text(text, &name, key)) {
			if (found++)
				return -1;
			*ret = value;
		}
	} while (take(&s, ','));
	return peek(&s) == '}' && s.at + 1 == object->to ? found : -1;
}

/* Whether an entry of the array has this path. 1, 0, or -1 when it is no array of objects. */
static int has_path(const char *text, const struct span *array, const char *path, bool *empty)
{
	struct scan s = {.text = text, .len = array->to, .at = array->from};
	int found = 0;

	if (!take(&s, '['))
		return -1;
	*empty = peek(&s) == ']';
	if (*empty)
		return 0;
	do {
		struct span entry, value;
		bool none;
		int rc;

		if (!take_value(&s, &entry))
			return -1;
		rc = find_member(text, &entry, "\"path\"", &value, &none);
		if (rc < 0)
			return -1;
		if (rc > 0 && is_text(text, &value, path))
			found = 1;
	} while (take(&s, ','));
	return peek(&s) == ']' && s.at + 1 == array->to ? found : -1;
}

/* The edit for one stage of a "hooks" object that has members. Returns 1, 0 (nothing to do) or -1.
 */
static int plan_stage(const char *text, const struct span *hooks, const char *stage,
		      const char *hook, const char *path, struct edit *ret)
{
	struct span array;
	bool empty, no_entries;
	int rc = find_member(text, hooks, stage, &array, &empty);

	if (rc < 0)
		return -1;
	if (rc == 0) {
		ret->at = (struct span){hooks->from + 1, hooks->from + 1};
		str_addf(&ret->text, "%s:[%s],", stage, hook);
		return 1;
	}
	if (is_text(text, &array, "null")) {
		ret->at = array;
		str_addf(&ret->text, "[%s]", hook);
		return 1;
	}
	rc = has_path(text, &array, path, &no_entries);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	ret->at = (struct span){array.to - 1, array.to - 1};
	str_addf(&ret->text, "%s%s", no_entries ? "" : ",", hook);
	return 1;
}

static void apply(const char *text, size_t len, const struct edit *edits, size_t count,
		  struct str *ret)
{
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		str_add(ret, text + at, edits[i].at.from - at);
		str_add(ret, edits[i].text.buf, edits[i].text.len);
		at = edits[i].at.to;
	}
	str_add(ret, text + at, len - at);
}

static const char *const stages[] = {"\"createRuntime\"", "\"poststop\""};

/* A spec without hooks gets the whole member; where it is there, but null or {}, its value. */
static void plan_hooks(const struct span *top, const struct span *value, bool empty,
		       const char *hook, struct edit *ret)
{
	ret->at = value ? *value : (struct span){top->from + 1, top->from + 1};
	str_addf(&ret->text, "%s{%s:[%s],%s:[%s]}%s", value ? "" : "\"hooks\":", stages[0], hook,
		 stages[1], hook, value || empty ? "" : ",");
}

static bool is_nothing(const char *text, const struct span *value)
{
	struct span none;
	bool empty = false;

	return is_text(text, value, "null") ||
	       (find_member(text, value, "\"\"", &none, &empty) == 0 && empty);
}

/* The edits for both stages, in the order of the text. Returns how many, or -1. */
static int plan_stages(const char *text, const struct span *hooks, const char *hook,
		       const char *path, struct edit edits[static 2])
{
	int count = 0;

	for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
		int rc = plan_stage(text, hooks, stages[i], hook, path, &edits[count]);

		if (rc < 0)
			return -1;
		count += rc;
	}
	if (count == 2 && edits[0].at.from > edits[1].at.from) {
		struct edit swap = edits[0];

		edits[0] = edits[1];
		edits[1] = swap;
	}
	return count;
}

int oci_spec_add_hook(const char *text, size_t len, const char *hook, const char *path,
		      struct str *ret, struct err *err)
{
	struct scan s = {.text = text, .len = len};
	struct edit edits[2] = {0};
	struct span top, hooks;
	bool empty = false;
	int rc = -1;

	if (take_value(&s, &top) && peek(&s) == '\0' && s.at == len)
		rc = find_member(text, &top, "\"hooks\"", &hooks, &empty);
	if (rc == 0 || (rc > 0 && is_nothing(text, &hooks))) {
		plan_hooks(&top, rc ? &hooks : NULL, empty, hook, &edits[0]);
		rc = 1;
	} else if (rc > 0) {
		rc = plan_stages(text, &hooks, hook, path, edits);
	}
	if (rc > 0)
		apply(text, len, edits, (size_t)rc, ret);
	str_fini(&edits[0].text);
	str_fini(&edits[1].text);
	if (rc < 0)
		return err_set(err, 0, "config.json is not understood");
	return rc > 0;
}
