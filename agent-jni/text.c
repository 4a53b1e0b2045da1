// SPDX-License-Identifier: Apache-2.0
#include "agent-jni/text.h"

void text_add(struct text_builder *t, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (t->len + 1 >= t->cap) {
			t->cut = true;
			break;
		}
		t->buf[t->len++] = s[i];
	}
	if (t->cap > 0)
		t->buf[t->len] = '\0';
}

void text_adds(struct text_builder *t, const char *s)
{
	size_t len = 0;

	while (s[len])
		len++;
	text_add(t, s, len);
}

void text_addu(struct text_builder *t, uint64_t n)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	text_add(t, digits + at, sizeof(digits) - at);
}

struct text_scanner scan_of(const char *s)
{
	struct text_scanner scan = {.p = s};

	while (s && s[scan.len])
		scan.len++;
	return scan;
}

static void scan_skip(struct text_scanner *s, size_t n)
{
	s->p += n;
	s->len -= n;
}

bool scan_word(struct text_scanner *s, const char *word)
{
	size_t n = 0;

	for (; word[n]; n++)
		if (n >= s->len || s->p[n] != word[n])
			return false;
	scan_skip(s, n);
	return true;
}

bool scan_number(struct text_scanner *s, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;
	size_t n = 0;

	for (; n < s->len && s->p[n] >= '0' && s->p[n] <= '9'; n++) {
		value = value * 10 + (uint64_t)(s->p[n] - '0');
		/* max is far below 2^60: the product above never wraps. */
		if (value > max)
			return false;
	}
	if (n == 0)
		return false;
	scan_skip(s, n);
	*ret = value;
	return true;
}

struct text_scanner scan_until(struct text_scanner *s, char end)
{
	struct text_scanner part = {.p = s->p};

	while (part.len < s->len && s->p[part.len] != end)
		part.len++;
	scan_skip(s, part.len);
	return part;
}

bool scan_is_name(const struct text_scanner *s)
{
	if (s->len == 0 || s->len > 255 || (s->p[0] == '.' && s->len == 1) ||
	    (s->p[0] == '.' && s->p[1] == '.' && s->len == 2))
		return false;
	for (size_t i = 0; i < s->len; i++)
		if (s->p[i] == '/' || (uint8_t)s->p[i] < 0x20 || s->p[i] == 0x7f)
			return false;
	return true;
}
