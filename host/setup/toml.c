// SPDX-License-Identifier: Apache-2.0
#include "setup/toml.h"

#define BLANKS " \t"

static size_t end_of_line(const struct str *text, size_t at)
{
	const char *newline = memchr(text->buf + at, '\n', text->len - at);

	return newline ? (size_t)(newline + 1 - text->buf) : text->len;
}

/* True if only a comment or nothing follows. */
static bool is_rest(const char *p)
{
	p += strspn(p, BLANKS "\r");
	return !*p || *p == '\n' || *p == '#';
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* Parses one key, bare or in quotes. Owned. */
static char *parse_key(const char **p)
{
	const char *at = *p + strspn(*p, BLANKS);
	const char *end;
	char *key;

	if (is_quote(*at)) {
		end = at + 1 + strcspn(at + 1, *at == '"' ? "\"\\\n" : "'\n");
		if (*end != *at)
			return NULL;
		key = xstrndup(at + 1, (size_t)(end - at - 1));
		end++;
	} else {
		size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789_-");

		if (!len)
			return NULL;
		key = xstrndup(at, len);
		end = at + len;
	}
	*p = end + strspn(end, BLANKS);
	return key;
}

void toml_table_fini(struct toml_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->keys[i]);
	*t = (struct toml_table){0};
}

/* Parses a header line. One with more than TOML_KEYS_MAX keys is a header without keys, which
 * matches no table. */
static bool parse_header(const char *line, struct toml_table *ret)
{
	struct toml_table t = {0};
	const char *p = line + strspn(line, BLANKS);
	char *key;

	if (*p != '[')
		return false;
	p++;
	while (t.count < TOML_KEYS_MAX && (key = parse_key(&p))) {
		t.keys[t.count++] = key;
		if (*p != '.')
			break;
		p++;
	}
	if (*p != ']' || !is_rest(p + 1)) {
		toml_table_fini(&t);
		/* [[list]], which ends a table as well; else a line of an array. */
		return line[strspn(line, BLANKS) + 1] == '[' &&
		       memmem(line, strcspn(line, "\n"), "]]", 2);
	}
	*ret = t;
	return true;
}

bool toml_next_table(const struct str *text, size_t *at, struct toml_table *ret)
{
	struct toml_table none = {0};
	size_t next;

	if (*at >= text->len)
		return false;
	*ret = (struct toml_table){0};
	next = parse_header(text->buf + *at, ret) ? end_of_line(text, *at) : *at;
	ret->header = *at;
	ret->from = next;
	while (next < text->len && !parse_header(text->buf + next, &none))
		next = end_of_line(text, next);
	toml_table_fini(&none);
	ret->to = *at = next;
	return true;
}

/* Finds the line of the key, and its value with quotes. */
static bool find_line(const struct str *text, const struct toml_table *t, const char *key,
		      size_t *ret_line, size_t *ret_from, size_t *ret_to)
{
	for (size_t at = t->from; at < t->to; at = end_of_line(text, at)) {
		const char *p = text->buf + at;
		CLEANUP(free) char *name = parse_key(&p);
		size_t len;

		if (!name || strcmp(name, key) != 0 || *p != '=')
			continue;
		p++;
		p += strspn(p, BLANKS);
		len = is_quote(*p) ? 2 + strcspn(p + 1, *p == '"' ? "\"\n" : "'\n")
				   : strcspn(p, BLANKS "\r\n#");
		if (is_quote(*p) && p[len - 1] != *p)
			continue; /* it does not end on its line */
		*ret_line = at;
		*ret_from = (size_t)(p - text->buf);
		*ret_to = *ret_from + len;
		return *ret_to <= t->to;
	}
	return false;
}

char *toml_get(const struct str *text, const struct toml_table *t, const char *key)
{
	size_t line, from, to;

	if (!find_line(text, t, key, &line, &from, &to))
		return NULL;
	return is_quote(text->buf[from]) ? xstrndup(text->buf + from + 1, to - from - 2)
					 : xstrndup(text->buf + from, to - from);
}

static void splice(struct str *text, size_t from, size_t to, const struct str *part)
{
	struct str s = {0};

	str_add(&s, text->buf, from);
	str_add(&s, part->buf ? part->buf : "", part->len);
	str_add(&s, text->buf + to, text->len - to);
	str_fini(text);
	*text = s;
}

void toml_set(struct str *text, const struct toml_table *t, const char *key, const char *value)
{
	CLEANUP(str_fini) struct str part = {0};
	size_t line, from, to, blanks;

	if (find_line(text, t, key, &line, &from, &to)) {
		str_addf(&part, "\"%s\"", value);
		splice(text, from, to, &part);
		return;
	}
	if (t->from == text->len && t->from && text->buf[t->from - 1] != '\n')
		str_addc(&part, '\n'); /* the header ends the text */
	/* Indented as the first line, or two columns more than the header. */
	blanks = strspn(text->buf + t->from, BLANKS);
	if (t->from < t->to && !is_rest(text->buf + t->from)) {
		str_add(&part, text->buf + t->from, blanks);
	} else {
		str_add(&part, text->buf + t->header, strspn(text->buf + t->header, BLANKS));
		str_adds(&part, "  ");
	}
	str_addf(&part, "%s = \"%s\"\n", key, value);
	splice(text, t->from, t->from, &part);
}

void toml_remove(struct str *text, const struct toml_table *t, const char *key)
{
	struct str nothing = {0};
	size_t line, from, to;

	if (find_line(text, t, key, &line, &from, &to))
		splice(text, line, end_of_line(text, line), &nothing);
}
