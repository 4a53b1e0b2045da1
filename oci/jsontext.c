// SPDX-License-Identifier: Apache-2.0
#include "oci/jsontext_inside.h"

static void splice(struct str *text, size_t from, size_t to, const char *part, size_t len)
{
	struct str s = {0};

	str_add(&s, text->buf, from);
	str_add(&s, part, len);
	str_add(&s, text->buf + to, text->len - to);
	str_fini(text);
	*text = s;
}

void json_text_put_in(struct str *text, size_t at, const char *part)
{
	splice(text, at, at, part, strlen(part));
}

void json_text_cut(struct str *text, const struct json_span *span)
{
	splice(text, span->from, span->to, "", 0);
}

/* Puts a member in front of all others, on a line of its own where they are. */
static void insert_member(struct str *text, const struct json_span *object, const char *key,
			  const char *value)
{
	CLEANUP(str_fini) struct str part = {0};
	size_t at = object->from + 1, space = json_blanks(text, at);
	bool empty = text->buf[at + space] == '}';

	if (!empty)
		str_add(&part, text->buf + at, space);
	str_addf(&part, "\"%s\":%s%s%s", key, space && !empty ? " " : "", value, empty ? "" : ",");
	splice(text, at, at, part.buf, part.len);
}

/* The value inside new objects for these keys. */
static char *wrap(const char *const *keys, const char *value)
{
	CLEANUP(free) char *inner = NULL;

	if (!keys[0])
		return xstrdup(value);
	inner = wrap(keys + 1, value);
	return xasprintf("{\"%s\":%s}", keys[0], inner);
}

int json_text_set(struct str *text, const char *const *path, const char *value)
{
	CLEANUP(free) char *part = NULL;
	struct item at;
	size_t missing;
	int rc = json_find_path(text, path, &at, &missing);

	if (rc < 0)
		return -1;
	if (rc > 0 || json_text_is(text, &at.value, "null")) {
		part = wrap(path + missing, value);
		splice(text, at.value.from, at.value.to, part, strlen(part));
		return 0;
	}
	part = wrap(path + missing + 1, value);
	insert_member(text, &at.value, path[missing], part);
	return 0;
}

int json_text_append(struct str *text, const char *const *path, const char *value)
{
	CLEANUP(str_fini) struct str part = {0};
	struct json_span array;
	struct item last = {0};
	size_t count = 0, at;
	int rc = json_text_get(text, path, &array);

	if (rc < 0)
		return -1;
	if (rc == 0 || json_text_is(text, &array, "null")) {
		str_addf(&part, "[%s]", value);
		return json_text_set(text, path, part.buf);
	}
	while ((rc = json_find_element(text, path, count, &last)) > 0)
		count++;
	if (rc < 0)
		return -1;
	at = count ? last.value.to : array.from + 1;
	if (count) {
		str_addc(&part, ',');
		str_add(&part, text->buf + last.before, last.value.from - last.before);
	}
	str_adds(&part, value);
	splice(text, at, at, part.buf, part.len);
	return 0;
}

/* Members are put in at the front and elements at the end; the comma goes with which it came. */
static void cut(struct str *text, const struct item *item, bool front)
{
	size_t from = item->before, to = item->value.to;

	if (!item->is_last && (front || item->is_first))
		to = item->after + 1;
	else if (!item->is_first)
		from--;
	splice(text, from, to, "", 0);
}

int json_text_remove(struct str *text, const char *const *path)
{
	struct item item;
	size_t missing;
	int rc = json_find_path(text, path, &item, &missing);

	if (rc > 0)
		cut(text, &item, true);
	return rc;
}

int json_text_remove_element(struct str *text, const char *const *path, size_t number)
{
	struct item item;
	int rc = json_find_element(text, path, number, &item);

	if (rc > 0)
		cut(text, &item, false);
	return rc;
}

int json_text_remove_empty(struct str *text, const char *const *path)
{
	struct json_span value;
	int rc = json_text_get(text, path, &value);

	if (rc <= 0)
		return rc;
	if (value.from + 1 + json_blanks(text, value.from + 1) + 1 != value.to ||
	    !strchr("{[", text->buf[value.from]))
		return 0;
	return json_text_remove(text, path);
}
