// SPDX-License-Identifier: Apache-2.0
#include "oci/jsontext.h"

#define BLANKS " \t\r\n"

/* A member or an element, and the bytes around it. */
struct item {
	struct json_span value;
	size_t before; /* just after the bracket or comma that precedes it */
	size_t after;  /* the comma or the bracket that follows */
	bool is_first, is_last;
};

json_t *json_text_parse(const struct str *text)
{
	json_t *o;

	/* jansson passes over a NUL after a literal, where the functions below would end. */
	if (!text->len || memchr(text->buf, '\0', text->len))
		return NULL;
	o = json_loadb(text->buf, text->len,
		       JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
	if (json_is_object(o))
		return o;
	json_decref(o);
	return NULL;
}

bool json_text_is_object(const struct str *text)
{
	CLEANUP(json_decref) json_t *o = json_text_parse(text);

	return o;
}

/* ---- finding: the text is valid JSON from here on ---- */

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, BLANKS);
}

static const char *skip_string(const char *p)
{
	for (p++; *p != '"'; p++)
		p += *p == '\\';
	return p + 1;
}

static const char *skip_value(const char *p)
{
	size_t depth = 0;

	if (!strchr("\"[{", *p))
		return p + strcspn(p, ",]}" BLANKS);
	do {
		if (*p == '"') {
			p = skip_string(p);
			continue;
		}
		depth += *p == '{' || *p == '[';
		depth -= *p == '}' || *p == ']';
		p++;
	} while (depth);
	return p;
}

/* Passes a member's key and colon. Returns 1 if it is this key, 0 if not, -1 if it has escapes. */
static int skip_key(const char **p, const char *key)
{
	const char *from = *p + 1;
	size_t len;

	*p = skip_string(*p);
	len = (size_t)(*p - 1 - from);
	*p = skip_blanks(skip_blanks(*p) + 1);
	if (memchr(from, '\\', len))
		return -1;
	return len == strlen(key) && !memcmp(from, key, len);
}

/* Finds a member by its key in the object at `within`; without a key, an element by its index in
 * the array. */
static int find_item(const struct str *text, const struct json_span *within, const char *key,
		     size_t index, struct item *ret)
{
	const char *const base = text->buf;
	const char *p = base + within->from;

	if (*p != (key ? '{' : '['))
		return -1;
	p = skip_blanks(p + 1);
	if (*p == '}' || *p == ']')
		return 0;
	p = base + within->from + 1;
	for (size_t i = 0;; i++, p++) {
		struct item item = {.before = (size_t)(p - base), .is_first = i == 0};
		int found = i == index;

		p = skip_blanks(p);
		if (key && (found = skip_key(&p, key)) < 0)
			return -1;
		item.value.from = (size_t)(p - base);
		p = skip_value(p);
		item.value.to = (size_t)(p - base);
		p = skip_blanks(p);
		item.after = (size_t)(p - base);
		item.is_last = *p != ',';
		if (found)
			*ret = item;
		if (found || item.is_last)
			return found;
	}
}

static bool is_null(const struct str *text, const struct json_span *span)
{
	return text->buf[span->from] == 'n';
}

/* Finds the item at the path's end. If it is missing, ret has the last value on the way, and
 * *missing the number of keys that led there. A null counts as an object without members. */
static int find_path(const struct str *text, const char *const *path, struct item *ret,
		     size_t *missing)
{
	struct item at = {0};
	int rc = 1;

	if (!json_text_is_object(text))
		return -1;
	at.value.from = (size_t)(skip_blanks(text->buf) - text->buf);
	at.value.to = (size_t)(skip_value(text->buf + at.value.from) - text->buf);
	for (*missing = 0; path[*missing]; ++*missing) {
		struct item next;

		rc = is_null(text, &at.value)
			     ? 0
			     : find_item(text, &at.value, path[*missing], 0, &next);
		if (rc <= 0)
			break;
		at = next;
	}
	if (rc >= 0)
		*ret = at;
	return rc;
}

static int find_element(const struct str *text, const char *const *path, size_t index,
			struct item *ret)
{
	struct json_span array;
	int rc = json_text_get(text, path, &array);

	if (rc <= 0 || is_null(text, &array))
		return rc < 0 ? -1 : 0;
	return find_item(text, &array, NULL, index, ret);
}

int json_text_get(const struct str *text, const char *const *path, struct json_span *ret)
{
	struct item item;
	size_t missing;
	int rc = find_path(text, path, &item, &missing);

	if (rc > 0)
		*ret = item.value;
	return rc;
}

int json_text_get_element(const struct str *text, const char *const *path, size_t index,
			  struct json_span *ret)
{
	struct item item;
	int rc = find_element(text, path, index, &item);

	if (rc > 0)
		*ret = item.value;
	return rc;
}

char *json_text_string(const struct str *text, const struct json_span *span)
{
	if (text->buf[span->from] != '"')
		return NULL;
	return xstrndup(text->buf + span->from + 1, span->to - span->from - 2);
}

/* ---- changing ---- */

void json_text_replace(struct str *text, struct json_span span, const char *part)
{
	struct str s = {0};

	str_add(&s, text->buf, span.from);
	str_adds(&s, part);
	str_add(&s, text->buf + span.to, text->len - span.to);
	str_fini(text);
	*text = s;
}

/* Inserts a member as the first one, on a line of its own if the others are. */
static void insert_member(struct str *text, const struct json_span *object, const char *key,
			  const char *value)
{
	CLEANUP(str_fini) struct str part = {0};
	size_t at = object->from + 1, space = strspn(text->buf + at, BLANKS);
	bool empty = text->buf[at + space] == '}';

	if (!empty)
		str_add(&part, text->buf + at, space);
	str_addf(&part, "\"%s\":%s%s%s", key, space && !empty ? " " : "", value, empty ? "" : ",");
	json_text_replace(text, (struct json_span){at, at}, part.buf);
}

/* Returns the value inside new objects for these keys. */
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
	int rc = find_path(text, path, &at, &missing);

	if (rc < 0)
		return -1;
	if (rc > 0 || is_null(text, &at.value)) {
		part = wrap(path + missing, value);
		json_text_replace(text, at.value, part);
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
	if (rc == 0 || is_null(text, &array)) {
		str_addf(&part, "[%s]", value);
		return json_text_set(text, path, part.buf);
	}
	while ((rc = find_item(text, &array, NULL, count, &last)) > 0)
		count++;
	if (rc < 0)
		return -1;
	at = count ? last.value.to : array.from + 1;
	if (count) {
		str_addc(&part, ',');
		str_add(&part, text->buf + last.before, last.value.from - last.before);
	}
	str_adds(&part, value);
	json_text_replace(text, (struct json_span){at, at}, part.buf);
	return 0;
}

/* Removes an item with the comma that its insertion added: members were inserted as the first
 * (`front`), elements as the last. */
static void cut(struct str *text, const struct item *item, bool front)
{
	size_t from = item->before, to = item->value.to;

	if (!item->is_last && (front || item->is_first))
		to = item->after + 1;
	else if (!item->is_first)
		from--;
	json_text_replace(text, (struct json_span){from, to}, "");
}

int json_text_remove(struct str *text, const char *const *path)
{
	struct item item;
	size_t missing;
	int rc = find_path(text, path, &item, &missing);

	if (rc > 0)
		cut(text, &item, true);
	return rc;
}

int json_text_remove_element(struct str *text, const char *const *path, size_t index)
{
	struct item item;
	int rc = find_element(text, path, index, &item);

	if (rc > 0)
		cut(text, &item, false);
	return rc;
}

int json_text_remove_empty(struct str *text, const char *const *path)
{
	struct json_span value;
	const char *p;
	int rc = json_text_get(text, path, &value);

	if (rc <= 0)
		return rc;
	p = text->buf + value.from;
	if (!strchr("{[", *p) || skip_blanks(p + 1) + 1 != text->buf + value.to)
		return 0;
	return json_text_remove(text, path);
}
