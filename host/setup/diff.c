// SPDX-License-Identifier: Apache-2.0
#include "setup/diff.h"

#include <stdio.h>

#define CONTEXT 3

/* A text as lines; each ends behind its newline, or with the text. */
struct lines {
	const char *const *at; /* count + 1 of them */
	size_t count;
};

static const char **split(const struct str *text, size_t *ret_count)
{
	const char **list = NULL, *p = text && text->buf ? text->buf : "", *end;
	size_t count = 0, cap = 0;

	for (end = p + (text ? text->len : 0); p < end; count++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));

		list = grow(list, count, &cap, sizeof(*list));
		list[count] = p;
		p = newline ? newline + 1 : end;
	}
	list = grow(list, count, &cap, sizeof(*list));
	list[count] = p;
	*ret_count = count;
	return list;
}

static bool same(const struct lines *a, size_t i, const struct lines *b, size_t k)
{
	size_t len = (size_t)(a->at[i + 1] - a->at[i]);

	return len == (size_t)(b->at[k + 1] - b->at[k]) && !memcmp(a->at[i], b->at[k], len);
}

static void print(char mark, const struct lines *l, size_t from, size_t to)
{
	for (; from < to; from++) {
		size_t len = (size_t)(l->at[from + 1] - l->at[from]);

		printf("%c%.*s", mark, (int)len, l->at[from]);
		if (l->at[from][len - 1] != '\n')
			puts("\n\\ No newline at end of file");
	}
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void print_part(const struct lines *a, const struct lines *b)
{
	size_t shorter = least(a->count, b->count), head = 0, tail = 0, from, behind;

	while (head < shorter && same(a, head, b, head))
		head++;
	while (tail < shorter - head && same(a, a->count - tail - 1, b, b->count - tail - 1))
		tail++;
	from = head - least(head, CONTEXT);
	behind = tail - least(tail, CONTEXT);
	printf("@@ -%zu,%zu +%zu,%zu @@\n", a->count ? from + 1 : 0, a->count - behind - from,
	       b->count ? from + 1 : 0, b->count - behind - from);
	print(' ', a, from, head);
	print('-', a, head, a->count - tail);
	print('+', b, head, b->count - tail);
	print(' ', a, a->count - tail, a->count - behind);
}

void diff_print(const char *path, const struct str *before, const struct str *after)
{
	struct lines a, b;
	const char **list_a = split(before, &a.count), **list_b = split(after, &b.count);

	a.at = list_a;
	b.at = list_b;
	printf("--- %s%s\n", before ? "/" : "/dev/null", before ? path : "");
	printf("+++ %s%s\n", after ? "/" : "/dev/null", after ? path : "");
	print_part(&a, &b);
	free(list_a);
	free(list_b);
}
