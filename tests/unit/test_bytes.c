// SPDX-License-Identifier: Apache-2.0
#include "dfg/bytes.h"

#include "lib/tap.h"

static void test_reading(void)
{
	static const uint8_t data[] = {1, 2, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 9};
	struct bytes b = bytes_of(data, sizeof(data));

	is_int(bytes_u8(&b), 1, "u8");
	is_int(bytes_u16(&b), 2, "u16, unaligned");
	is_int(bytes_u32(&b), 3, "u32");
	is_int(bytes_u64(&b), 4, "u64");
	is_int(b.len, 1, "one byte left");
	ok(!b.bad, "good so far");
	is_int(bytes_u16(&b), 0, "past the end: zero");
	ok(b.bad, "and bad");
	is_int(bytes_u8(&b), 0, "the byte that was left is not given out any more");
	ok(bytes_take(&b, 0) == NULL, "nor nothing at all");
}

static void test_huge_length(void)
{
	static const uint8_t data[4];
	struct bytes b = bytes_of(data, sizeof(data));

	bytes_u8(&b);
	ok(!bytes_take(&b, SIZE_MAX), "a length near overflow");
	ok(b.bad, "is bad");
}

static void test_sub(void)
{
	static const uint8_t data[] = {1, 2, 3, 4};
	struct bytes b = bytes_of(data, sizeof(data));
	struct bytes s = bytes_sub(&b, 3), t;

	is_int(bytes_u16(&s), 0x0201, "inside a slice");
	is_int(bytes_u16(&s), 0, "not beyond it");
	ok(s.bad && !b.bad, "only the slice is bad");
	is_int(bytes_u8(&b), 4, "the whole goes on after it");
	t = bytes_sub(&b, 1);
	ok(t.bad && b.bad && t.len == 0, "a slice that is not there");
}

static void test_cstr(void)
{
	static const char data[] = {'a', 'b', 0, 0, 'c'};
	struct bytes b = bytes_of(data, sizeof(data));

	is_str(bytes_cstr(&b), "ab", "text");
	is_str(bytes_cstr(&b), "", "empty text");
	ok(bytes_cstr(&b) == NULL && b.bad, "text without an end");
	b = bytes_of(NULL, 0);
	ok(bytes_cstr(&b) == NULL && b.bad, "text in nothing");
}

int main(void)
{
	test_reading();
	test_huge_length();
	test_sub();
	test_cstr();
	return tap_done();
}
