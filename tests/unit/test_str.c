// SPDX-License-Identifier: Apache-2.0
#include "common/str.h"

#include "lib/tap.h"

static void test_building(void)
{
	CLEANUP(str_fini) struct str s = {0};

	ok(!s.buf, "empty: no memory");
	str_add(&s, "", 0);
	is_str(s.buf, "", "nothing added: a text all the same");
	str_adds(&s, "ab");
	str_addc(&s, 'c');
	str_addf(&s, "%d-%s", 7, "x");
	str_addu(&s, 0);
	str_addu(&s, UINT64_MAX);
	is_str(s.buf, "abc7-x018446744073709551615", "all kinds of adding");
	is_int(s.len, strlen(s.buf), "length");
	str_clear(&s);
	is_str(s.buf, "", "cleared");
	is_int(s.len, 0, "length 0");
	str_add(&s, "a\0b", 3);
	is_int(s.len, 3, "a NUL is a byte like others");
}

static void test_growing(void)
{
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(free) int *array = NULL;
	size_t cap = 0;

	for (int i = 0; i < 100000; i++)
		str_addc(&s, (char)('a' + i % 26));
	is_int(s.len, 100000, "100000 characters");
	is_int(s.buf[99999], 'a' + 99999 % 26, "the last one");
	ok(s.cap < 400000, "not more memory than it takes");
	for (size_t i = 0; i < 1000; i++) {
		array = grow(array, i, &cap, sizeof(*array));
		array[i] = (int)i;
	}
	ok(cap >= 1000 && array[999] == 999 && array[0] == 0, "an array of 1000");
}

struct clean {
	const char *name, *in, *out;
};

static void test_clean(void)
{
	static const struct clean cases[] = {
		{"plain", "plain text", "plain text"},
		{"control characters", "a\nb\r\033[0m\177", "a?b??[0m?"},
		{"UTF-8", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"C1",
		 "a\xc2\x9b"
		 "b",
		 "a?b"},
		{"bidirectional controls", "\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8e", "???"},
		{"the one beside them", "\xe2\x80\xaf", "\xe2\x80\xaf"},
		{"overlong slash", "\xc0\xaf", "??"},
		{"overlong three", "\xe0\x80\xaf", "???"},
		{"surrogate", "\xed\xa0\x80", "???"},
		{"above U+10FFFF", "\xf4\x90\x80\x80", "????"},
		{"bytes that begin no character", "\xf5\x81\x82\x83\xfa\x9c\x90\x94\xff",
		 "?????????"},
		{"cut sequence", "a\xe2\x82", "a??"},
		{"lone continuation", "\x80z", "?z"},
		{"wrong continuation", "\xe2\x28\xa1", "?(?"},
		{"surrogates' end", "\xed\xbf\xbf", "???"},
		{"overlong two", "\xc1\xbf", "??"},
		{"overlong four", "\xf0\x8f\xbf\xbf", "????"},
		{"cut before the end", "\xf0\x9f\x98", "???"},
		{"text after others", "\xc3\xa9 a", "\xc3\xa9 a"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(str_fini) struct str s = {0};

		str_add_clean(&s, cases[i].in, strlen(cases[i].in));
		is_str(s.buf, cases[i].out, "clean: %s", cases[i].name);
	}
}

/* Code points at both sides of each limit. */
static void test_limits(void)
{
	static const struct {
		uint32_t c;
		bool clean;
	} t[] = {
		{0x1f, false},	  {0x20, true},	   {0x7e, true},     {0x7f, false},
		{0x80, false},	  {0x9f, false},   {0xa0, true},     {0xac, true},
		{0xad, false},	  {0xae, true},	   {0x61b, true},    {0x61c, false},
		{0x61d, true},	  {0x7ff, true},   {0x800, true},    {0x200a, true},
		{0x200b, false},  {0x200f, false}, {0x2010, true},   {0x2027, true},
		{0x2028, false},  {0x202e, false}, {0x202f, true},   {0x205f, true},
		{0x2060, false},  {0x206f, false}, {0x2070, true},   {0xd7ff, true},
		{0xe000, true},	  {0xfefe, true},  {0xfeff, false},  {0xff00, true},
		{0xfff8, true},	  {0xfff9, false}, {0xfffb, false},  {0xfffc, true},
		{0xffff, true},	  {0x10000, true}, {0xdffff, true},  {0xe0000, false},
		{0xe007f, false}, {0xe0080, true}, {0x10ffff, true},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str s = {0};
		uint32_t c = t[i].c;
		char in[5] = "";

		if (c < 0x80)
			sprintf(in, "%c", (int)c);
		else if (c < 0x800)
			sprintf(in, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
		else if (c < 0x10000)
			sprintf(in, "%c%c%c", 0xe0 | c >> 12, 0x80 | (c >> 6 & 0x3f),
				0x80 | (c & 0x3f));
		else
			sprintf(in, "%c%c%c%c", 0xf0 | c >> 18, 0x80 | (c >> 12 & 0x3f),
				0x80 | (c >> 6 & 0x3f), 0x80 | (c & 0x3f));
		str_add_clean(&s, in, strlen(in));
		is_str(s.buf, t[i].clean ? in : "?", "U+%04X is %s", c,
		       t[i].clean ? "kept" : "replaced");
	}
}

/* Every sequence of up to three bytes: what comes out is printable and cleaning it again changes
 * nothing. */
static void test_clean_all(void)
{
	CLEANUP(str_fini) struct str once = {0};
	CLEANUP(str_fini) struct str twice = {0};
	int bad = 0;

	for (unsigned i = 0; i < 1u << 24; i += i < 1u << 16 ? 1 : 7) {
		char in[3] = {(char)(i & 0xff), (char)(i >> 8 & 0xff), (char)(i >> 16)};

		str_clear(&once);
		str_clear(&twice);
		str_add_clean(&once, in, sizeof(in));
		str_add_clean(&twice, once.buf, once.len);
		bad += once.len != twice.len || memcmp(once.buf, twice.buf, once.len) != 0;
		for (size_t j = 0; j < once.len; j++)
			bad += (unsigned char)once.buf[j] < 0x20 || once.buf[j] == 0x7f;
	}
	is_int(bad, 0, "clean: stable and printable for three bytes of any value");
}

static void test_numbers(void)
{
	static const char *const wrong[] = {"",	   "-1",  "+1", " 1",
					    "1 ",  "0x1", "1a", "18446744073709551616",
					    "1\n", "1e3", "1.", "99999999999999999999999"};
	uint64_t n = 77;
	int pid = 77;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		ok(!parse_u64(wrong[i], &n), "not a number: '%s'", wrong[i]);
	is_int(n, 77, "output untouched");
	ok(parse_u64("18446744073709551615", &n) && n == UINT64_MAX, "the largest");
	ok(parse_u64("007", &n) && n == 7, "leading zeros");
	ok(!parse_pid("0", &pid) && !parse_pid("4194305", &pid) && !parse_pid("-1", &pid),
	   "no process id");
	is_int(pid, 77, "output untouched");
	ok(parse_pid("4194304", &pid) && pid == 4194304, "the largest pid");
	ok(parse_hex("ffffFFFFffffFFFF", 16, &n) && n == UINT64_MAX, "hexadecimal");
	ok(parse_hex("1fz", 2, &n) && n == 0x1f, "only as many digits as told");
	ok(!parse_hex("", 0, &n) && !parse_hex("0x1", 3, &n) &&
		   !parse_hex("00000000000000001", 17, &n),
	   "not hexadecimal");
	for (const char *c = "/:@G`g"; *c; c++)
		ok(!parse_hex(c, 1, &n), "not hexadecimal: '%c'", *c);
	for (int i = 0; i < 16; i++) {
		char digit[2] = {"0123456789abcdef"[i]};

		ok(parse_hex(digit, 1, &n) && n == (uint64_t)i, "hexadecimal: '%s'", digit);
	}
	ok(parse_hex("AF", 2, &n) && n == 0xaf, "hexadecimal in capitals");
	ok(parse_pid("1", &pid) && pid == 1, "the smallest pid");
	ok(parse_u64("0", &n) && n == 0, "nothing is a number, too");
	ok(!parse_u64("/", &n) && !parse_u64(":", &n), "what is beside the digits is none");
}

static void test_ends(void)
{
	ok(has_prefix("abc", "ab") && has_prefix("abc", "") && !has_prefix("ab", "abc"), "prefix");
	ok(has_suffix("abc", "bc") && has_suffix("abc", "") && !has_suffix("bc", "abc"), "suffix");
}

static void test_copies(void)
{
	CLEANUP(free) char *a = xstrndup("abcdef", 3);
	CLEANUP(free) char *b = xasprintf("%s-%d", a, 5);
	CLEANUP(free) char *c = xcalloc(0, 0);

	is_str(a, "abc", "xstrndup");
	is_str(b, "abc-5", "xasprintf");
	ok(c != NULL, "nothing is something to free");
}

/* A text of a reply, which may be anything. */
static void test_clean_array(void)
{
	char text[16];

	snprintf(text, sizeof(text), "a\033[2J\xc3\xa4\n");
	str_clean(text, sizeof(text));
	is_str(text, "a?[2J\xc3\xa4?", "an array is sanitised in place");
	memset(text, 'x', sizeof(text));
	str_clean(text, sizeof(text));
	is_str(text, "xxxxxxxxxxxxxxx", "one without an end gets one");
	memset(text, '\xff', sizeof(text));
	str_clean(text, sizeof(text));
	is_str(text, "???????????????", "bytes that are no text, too");
	text[0] = '\0';
	str_clean(text, sizeof(text));
	is_str(text, "", "an empty text stays so");
}

int main(void)
{
	test_clean_array();
	test_building();
	test_growing();
	test_clean();
	test_limits();
	test_clean_all();
	test_numbers();
	test_ends();
	test_copies();
	return tap_done();
}
