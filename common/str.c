// SPDX-License-Identifier: Apache-2.0
#include "common/str.h"

#include "common/log.h"

void *xrealloc(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		die_oom();
	p = realloc(p, bytes ? bytes : 1);
	if (!p)
		die_oom();
	return p;
}

void *xmalloc(size_t size)
{
	return xrealloc(NULL, 1, size);
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		die_oom();
	return p;
}

char *xstrndup(const char *s, size_t len)
{
	char *copy = xmalloc(len + 1);

	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *xasprintf(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		die_oom();
	va_end(ap);
	return s;
}

void *grow(void *array, size_t used, size_t *cap, size_t size)
{
	if (used < *cap)
		return array;
	*cap = *cap ? *cap * 2 : 16;
	return xrealloc(array, *cap, size);
}

void str_reserve(struct str *s, size_t more)
{
	size_t need;

	if (__builtin_add_overflow(s->len, more + 1, &need))
		die_oom();
	if (need <= s->cap)
		return;
	s->cap = need > s->cap * 2 ? need : s->cap * 2;
	s->buf = xrealloc(s->buf, s->cap, 1);
}

void str_addf(struct str *s, const char *fmt, ...)
{
	va_list ap;
	int len;

	/* The first attempt usually fits. */
	for (size_t room = 32;; room = (size_t)len + 1) {
		str_reserve(s, room);
		room = s->cap - s->len;
		va_start(ap, fmt);
		len = vsnprintf(s->buf + s->len, room, fmt, ap);
		va_end(ap);
		if (len < 0)
			die_oom();
		if ((size_t)len < room)
			break;
	}
	s->len += (size_t)len;
}

void str_addu(struct str *s, uint64_t n)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	str_add(s, digits + at, sizeof(digits) - at);
}

void str_clear(struct str *s)
{
	s->len = 0;
	if (s->buf)
		s->buf[0] = '\0';
}

void str_fini(struct str *s)
{
	free(s->buf);
	*s = (struct str){0};
}

/* Length of the valid UTF-8 sequence at p (1 to 4), or 0. Rejects overlong forms, surrogates and
 * values above U+10FFFF (RFC 3629, section 4). */
static size_t utf8_len(const unsigned char *p, size_t left, uint32_t *ret)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t c = n < 2 ? p[0] : p[0] & (0x7fu >> n);

	if (n == 0 || n > left || p[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

/* Controls, what has no width, and what changes the order or the line of the text around it
 * (Unicode 15, categories Cc, Zl, Zp and those of Cf that stand in plain text). */
static bool is_harmful(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0, 0x1f},	  {0x7f, 0x9f},	      {0xad, 0xad},	{0x61c, 0x61c},
		{0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f}, {0xfeff, 0xfeff},
		{0xfff9, 0xfffb}, {0xe0000, 0xe007f},
	};

	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

void str_add_clean(struct str *s, const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t i = 0, n; i < len; i += n) {
		uint32_t c = 0;

		for (n = 0; i + n < len && p[i + n] >= 0x20 && p[i + n] < 0x7f;)
			n++;
		if (n) { /* usually the whole text */
			str_add(s, p + i, n);
			continue;
		}
		n = utf8_len(p + i, len - i, &c);
		if (n == 0 || is_harmful(c)) {
			str_addc(s, '?');
			n = n ? n : 1;
		} else {
			str_add(s, p + i, n);
		}
	}
}

void str_clean(char *text, size_t size)
{
	CLEANUP(str_fini) struct str clean = {0};

	str_add_clean(&clean, text, strnlen(text, size - 1));
	text[clean.len] = '\0';
	if (clean.len) /* never more than before */
		memcpy(text, clean.buf, clean.len);
}

bool parse_u64(const char *s, uint64_t *ret)
{
	uint64_t n = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return false;
	}
	*ret = n;
	return true;
}

bool parse_hex(const char *s, size_t len, uint64_t *ret)
{
	uint64_t n = 0;

	if (len == 0 || len > 16)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = s[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (digit < 0)
			return false;
		n = n << 4 | (uint64_t)digit;
	}
	*ret = n;
	return true;
}

bool parse_pid(const char *s, int *ret)
{
	uint64_t n;

	if (!parse_u64(s, &n) || n == 0 || n > 1 << 22)
		return false;
	*ret = (int)n;
	return true;
}

bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool has_suffix(const char *s, const char *suffix)
{
	size_t ls = strlen(s), lx = strlen(suffix);

	return ls >= lx && memcmp(s + ls - lx, suffix, lx) == 0;
}
