// SPDX-License-Identifier: Apache-2.0
#include "format/text.h"

#include "common/fs.h"
#include "format/format.h"
#include "format/layout.h"

#define OUT_CHUNK (256u << 10)

static void out_flush(struct out *o)
{
	if (!o->failed && o->buf.len && fs_write_all(o->fd, o->buf.buf, o->buf.len, o->err) < 0)
		o->failed = true;
	str_clear(&o->buf);
}

void out_tick(struct out *o)
{
	if (o->buf.len >= OUT_CHUNK)
		out_flush(o);
}

int out_end(struct out *o)
{
	out_flush(o);
	str_fini(&o->buf);
	return o->failed ? -1 : 0;
}

/* ---- escaping ---- */

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '&' && c != '<' && c != '>' && c != '"' && c != '\'';
}

static void escape_byte(struct str *out, char c)
{
	switch (c) {
	case '&':
		str_adds(out, "&amp;");
		break;
	case '<':
		str_adds(out, "&lt;");
		break;
	case '>':
		str_adds(out, "&gt;");
		break;
	case '"':
		str_adds(out, "&quot;");
		break;
	case '\'':
		str_adds(out, "&#39;");
		break;
	default:
		str_addc(out, c);
	}
}

void text_escape(struct str *out, const char *text, size_t len)
{
	CLEANUP(str_fini) struct str clean = {0};
	size_t plain = 0;

	while (plain < len && is_plain((unsigned char)text[plain]))
		plain++;
	str_add(out, text, plain);
	if (plain == len)
		return;
	str_add_clean(&clean, text + plain, len - plain);
	for (size_t i = 0; i < clean.len; i++) {
		/* U+FFFE and U+FFFF are valid UTF-8 but not XML 1.0 characters (section 2.2). */
		if (clean.len - i >= 3 && (memcmp(clean.buf + i, "\xef\xbf\xbe", 3) == 0 ||
					   memcmp(clean.buf + i, "\xef\xbf\xbf", 3) == 0)) {
			str_addc(out, '?');
			i += 2;
		} else {
			escape_byte(out, clean.buf[i]);
		}
	}
}

static bool is_plain_json(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<';
}

static void escape_json(struct str *out, const char *text, size_t len)
{
	CLEANUP(str_fini) struct str clean = {0};

	str_add_clean(&clean, text, len);
	for (size_t i = 0; i < clean.len; i++) {
		char c = clean.buf[i];

		if (c == '<') {
			str_adds(out, "\\u003c");
			continue;
		}
		if (c == '"' || c == '\\')
			str_addc(out, '\\');
		str_addc(out, c);
	}
}

void text_json(struct str *out, const char *text, size_t len)
{
	size_t plain = 0;

	while (plain < len && is_plain_json((unsigned char)text[plain]))
		plain++;
	str_addc(out, '"');
	str_add(out, text, plain);
	if (plain < len)
		escape_json(out, text + plain, len - plain);
	str_addc(out, '"');
}

/* Length and width of the first character; the length is at most len, for any bytes. */
static size_t char_size(const char *text, size_t len, size_t *ret_columns)
{
	unsigned char c = (unsigned char)text[0];
	size_t n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	/* Most from U+1100 (E1 84 80) on are wide; a guess that is too wide only cuts a name early.
	 */
	*ret_columns = c > 0xe1 || (c == 0xe1 && len > 1 && (unsigned char)text[1] >= 0x84) ? 2 : 1;
	return n <= len ? n : len;
}

size_t text_fit(const char *text, size_t len, size_t columns)
{
	size_t at = 0, width, n;

	while (at < len) {
		n = char_size(text + at, len - at, &width);
		if (width > columns)
			break;
		columns -= width;
		at += n;
	}
	return at;
}

size_t text_columns(const char *text, size_t len)
{
	size_t columns = 0, width;

	for (size_t at = 0; at < len; columns += width)
		at += char_size(text + at, len - at, &width);
	return columns;
}

static size_t segment_end(const char *name, size_t len, size_t at)
{
	while (at < len && !strchr("./:(", name[at]))
		at++;
	return at;
}

size_t text_package(const char *name, size_t len)
{
	size_t at = 0;

	for (;;) {
		size_t end = segment_end(name, len, at);
		size_t class_end;

		/* A package begins with a lower-case letter and is followed by a class and a
		 * method. */
		if (end >= len || (name[end] != '.' && name[end] != '/') || name[at] < 'a' ||
		    name[at] > 'z')
			return at;
		class_end = segment_end(name, len, end + 1);
		if (class_end >= len || name[class_end] == '(')
			return at;
		at = end + 1;
	}
}

void text_count(struct str *out, uint64_t n, const char *separator)
{
	uint64_t unit = 1;

	while (n / unit >= 1000)
		unit *= 1000;
	str_addu(out, n / unit);
	for (n %= unit, unit /= 1000; unit; n %= unit, unit /= 1000) {
		str_adds(out, separator);
		str_addc(out, (char)('0' + n / unit / 100));
		str_addc(out, (char)('0' + n / unit / 10 % 10));
		str_addc(out, (char)('0' + n / unit % 10));
	}
}

void text_fixed(struct str *out, uint64_t n, unsigned decimals)
{
	char text[24], *end = text + sizeof(text), *p = end;
	bool point = false;

	/* Digits from the last to the first, without trailing zeros. */
	for (; decimals; decimals--, n /= 10) {
		if (n % 10 || point)
			*--p = (char)('0' + n % 10);
		point = point || n % 10;
	}
	if (point)
		*--p = '.';
	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	str_add(out, p, (size_t)(end - p));
}

void text_varint(struct str *out, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		str_addc(out, (char)(n | 0x80));
	str_addc(out, (char)n);
}

void text_base64(struct str *out, const char *bytes, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *b = (const unsigned char *)bytes;

	for (; len > 0; len -= len < 3 ? len : 3, b += 3) {
		uint32_t three = (uint32_t)b[0] << 16 | (len > 1 ? (uint32_t)b[1] << 8 : 0) |
				 (len > 2 ? b[2] : 0);
		char text[4] = {digits[three >> 18], digits[three >> 12 & 63],
				len > 1 ? digits[three >> 6 & 63] : '=',
				len > 2 ? digits[three & 63] : '='};

		str_add(out, text, sizeof(text));
	}
}

void text_colour(struct str *out, uint32_t rgb)
{
	char text[7] = "#";

	for (unsigned i = 0; i < 6; i++)
		text[1 + i] = "0123456789abcdef"[rgb >> (20 - 4 * i) & 15];
	str_add(out, text, sizeof(text));
}

/* ---- the quality line ---- */

/* Rounds to a tenth, but never to 0 % or 100 %, which a reader takes for exact: 99.96 % is shown as
 * "99.9 %". */
static void add_percent(struct str *out, uint64_t part, uint64_t whole)
{
	uint64_t tenths;

	if (part == 0 || whole == 0) {
		str_adds(out, "0 %");
	} else if (part >= whole) {
		str_adds(out, "100 %");
	} else if ((tenths = (layout_scale(part, 10000, whole) + 5) / 10) == 0) {
		str_adds(out, "<0.1 %");
	} else {
		text_fixed(out, tenths < 1000 ? tenths : 999, 1);
		str_adds(out, " %");
	}
}

static void add_share(struct str *out, uint64_t part, uint64_t whole, const char *of)
{
	str_adds(out, " · ");
	add_percent(out, part, whole);
	str_adds(out, of);
}

const char *text_unit(uint64_t n, const char *unit)
{
	if (unit && strcmp(unit, "samples") != 0)
		return unit;
	return n == 1 ? "sample" : "samples";
}

static uint64_t rounded(uint64_t n, uint64_t step)
{
	return n / step + (n % step >= step - step / 2);
}

/* Returns the larger units of bytes and ns, up to a NULL; of others NULL. */
static const char *const *larger_units(const char *unit)
{
	static const char *const bytes[] = {"kB", "MB", "GB", "TB", NULL};
	static const char *const ns[] = {"µs", "ms", "s", NULL};

	if (unit && !strcmp(unit, "bytes"))
		return bytes;
	return unit && !strcmp(unit, "ns") ? ns : NULL;
}

bool text_is_scaled(const char *unit)
{
	return larger_units(unit);
}

void text_amount(struct str *out, uint64_t n, const char *unit)
{
	const char *const *larger = larger_units(unit);
	uint64_t step = 1;
	unsigned zeros = 0, most = 0, index;

	while (larger && larger[most])
		most++;
	for (; zeros < 3 * most && rounded(n, step) >= 1000; zeros++)
		step *= 10;
	index = (zeros + 2) / 3;
	if (zeros == 3 * index)
		text_count(out, rounded(n, step), ",");
	else
		str_addf(out, "%.*f", (int)(3 * index - zeros),
			 (double)rounded(n, step) / (3 * index - zeros == 1 ? 10 : 100));
	str_addf(out, " %s", index ? larger[index - 1] : text_unit(n, unit));
}

void text_amounts(struct str *out, uint64_t before, uint64_t after, const char *unit)
{
	if (text_is_scaled(unit)) {
		text_amount(out, before, unit);
		str_adds(out, " → ");
		text_amount(out, after, unit);
		return;
	}
	text_count(out, before, ",");
	str_adds(out, " → ");
	text_count(out, after, ",");
	str_addf(out, " %s", text_unit(0, unit));
}

void draw_quality_of(struct str *out, const struct quality *q, const char *unit)
{
	text_amount(out, q->samples, unit);
	str_adds(out, " · ");
	text_count(out, q->lost, ",");
	str_adds(out, " lost");
	if (q->samples == 0)
		return;
	if (q->unrated)
		add_share(out, q->unrated, q->samples, " of unknown quality");
	if (q->unrated == q->samples)
		return;
	if (q->java_samples)
		add_share(out, q->java_complete, q->java_samples, " of Java stacks complete");
	else
		str_adds(out, " · no Java stacks");
	add_share(out, q->frames_unknown, q->frames, " frames unknown");
	if (q->frames_nameless)
		add_share(out, q->frames_nameless, q->frames, " nameless");
	add_share(out, q->truncated, q->samples, " truncated");
	if (q->between_safepoints)
		add_share(out, q->between_safepoints, q->java_samples,
			  " of Java samples with approximate inlining");
	if (q->stale)
		add_share(out, q->stale, q->java_frames, " Java frames stale");
}

void draw_difference_quality(struct str *out, const struct difference_picture *p)
{
	str_adds(out, "before: ");
	draw_quality_of(out, &p->before_quality, p->unit);
	str_adds(out, " | after: ");
	draw_quality_of(out, &p->after_quality, p->unit);
}
