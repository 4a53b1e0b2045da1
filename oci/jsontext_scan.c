// SPDX-License-Identifier: Apache-2.0
#include "oci/jsontext_inside.h"

#define DEPTH_MAX 256

struct scan {
	const char *text;
	size_t len;
	size_t at;
};

static char peek(struct scan *s)
{
	while (s->at < s->len && s->text[s->at] && strchr(" \t\r\n", s->text[s->at]))
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

static bool take_string(struct scan *s, struct json_span *ret)
{
	if (peek(s) != '"')
		return false;
	ret->from = s->at++;
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
static bool take_value(struct scan *s, struct json_span *ret)
{
	char open[DEPTH_MAX];
	size_t depth = 0;
	struct json_span string;

	peek(s);
	ret->from = s->at;
	do {
		char c = peek(s);

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

static bool take_item(struct scan *s, bool keyed, struct item *ret)
{
	ret->before = s->at;
	ret->key = (struct json_span){0};
	if (keyed && (!take_string(s, &ret->key) || !take(s, ':') ||
		      memchr(s->text + ret->key.from, '\\', ret->key.to - ret->key.from)))
		return false;
	if (!take_value(s, &ret->value))
		return false;
	ret->is_last = peek(s) != ',';
	ret->after = s->at;
	return true;
}

/* Walks over the items of an object or array until `is_it` says so. Returns 1, 0 or -1. */
static int find_item(const struct str *text, const struct json_span *within, bool keyed,
		     const char *key, size_t number, struct item *ret)
{
	struct scan s = {.text = text->buf, .len = within->to, .at = within->from};
	struct item item = {.is_first = true};
	size_t i = 0;
	int found = 0;

	if (!take(&s, keyed ? '{' : '['))
		return -1;
	if (peek(&s) == (keyed ? '}' : ']'))
		return 0;
	s.at = within->from + 1;
	for (;; i++) {
		if (!take_item(&s, keyed, &item))
			return -1;
		if (keyed ? item.key.to - item.key.from == strlen(key) + 2 &&
				    !memcmp(s.text + item.key.from + 1, key, strlen(key))
			  : i == number) {
			if (found++)
				return -1;
			*ret = item;
		}
		item.is_first = false;
		if (!take(&s, ','))
			break;
	}
	return peek(&s) == (keyed ? '}' : ']') && s.at + 1 == within->to ? found : -1;
}

static int find_top(const struct str *text, struct json_span *ret)
{
	struct scan s = {.text = text->buf, .len = text->len};

	if (!text->buf || !take_value(&s, ret) || peek(&s) != '\0' || s.at != s.len)
		return -1;
	return text->buf[ret->from] == '{' ? 1 : -1;
}

bool json_text_is_object(const struct str *text)
{
	struct json_span top;

	return find_top(text, &top) > 0;
}

int json_find_path(const struct str *text, const char *const *path, struct item *ret,
		   size_t *missing)
{
	struct item at = {0};
	int rc = find_top(text, &at.value);

	for (*missing = 0; rc > 0 && path[*missing]; ++*missing) {
		struct item next;

		rc = json_text_is(text, &at.value, "null")
			     ? 0
			     : find_item(text, &at.value, true, path[*missing], 0, &next);
		if (rc <= 0)
			break;
		at = next;
	}
	if (rc >= 0)
		*ret = at;
	return rc;
}

int json_text_get(const struct str *text, const char *const *path, struct json_span *ret)
{
	struct item item;
	size_t missing;
	int rc = json_find_path(text, path, &item, &missing);

	if (rc > 0)
		*ret = item.value;
	return rc;
}

int json_text_member(const struct str *text, const struct json_span *within, const char *key,
		     struct json_span *ret)
{
	struct item item;
	int rc = find_item(text, within, true, key, 0, &item);

	if (rc > 0)
		*ret = item.value;
	return rc;
}

int json_find_element(const struct str *text, const char *const *path, size_t number,
		      struct item *ret)
{
	struct json_span array;
	int rc = json_text_get(text, path, &array);

	if (rc <= 0 || json_text_is(text, &array, "null"))
		return rc < 0 ? -1 : 0;
	return find_item(text, &array, false, NULL, number, ret);
}

int json_text_element(const struct str *text, const char *const *path, size_t number,
		      struct json_span *ret)
{
	struct item item;
	int rc = json_find_element(text, path, number, &item);

	if (rc > 0)
		*ret = item.value;
	return rc;
}

bool json_text_is(const struct str *text, const struct json_span *span, const char *want)
{
	size_t len = span->to - span->from;

	return len == strlen(want) && !memcmp(text->buf + span->from, want, len);
}

bool json_text_ends(const struct str *text, const struct json_span *span, const char *end)
{
	CLEANUP(free) char *string = json_text_string(text, span);

	return string && has_suffix(string, end);
}

char *json_text_string(const struct str *text, const struct json_span *span)
{
	if (span->to - span->from < 2 || text->buf[span->from] != '"')
		return NULL;
	return xstrndup(text->buf + span->from + 1, span->to - span->from - 2);
}

size_t json_blanks(const struct str *text, size_t at)
{
	struct scan s = {.text = text->buf, .len = text->len, .at = at};

	peek(&s);
	return s.at - at;
}
