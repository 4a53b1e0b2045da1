// SPDX-License-Identifier: Apache-2.0
/* HotSpot's packed numbers. */
#include "hotspot/stream.h"
#include "lib/tap.h"

static struct hs_stream stream(const uint8_t *p, size_t len, uint8_t base)
{
	return (struct hs_stream){.p = p, .end = p + len, .base = base};
}

static void test_stream(void)
{
	static const uint8_t old[] = {0, 191, 192, 0, 255, 255, 255, 255, 255, 3, 192},
			     new[] = {1, 191, 192, 1, 3, 0, 1};
	struct hs_stream s = stream(old, sizeof(old), 0);

	is_int(hs_stream_u32(&s), 0, "one byte, 0");
	is_int(hs_stream_u32(&s), 191, "the largest in one byte");
	is_int(hs_stream_u32(&s), 192, "the smallest in two");
	is_int(hs_stream_u32(&s), 0xffu * (1 + 64 + 4096 + 262144 + 16777216), "five bytes");
	ok(!s.bad, "all is well so far");
	is_int(hs_stream_i32(&s), -2, "a negative number");
	is_int(hs_stream_u32(&s), 0, "a number that is cut");
	ok(s.bad, "is noticed");
	s = stream(new, sizeof(new), 1);
	is_int(hs_stream_u32(&s), 0, "JDK 20: 0 is 1");
	is_int(hs_stream_u32(&s), 190, "the largest in one byte");
	is_int(hs_stream_u32(&s), 191, "the smallest in two");
	is_int(hs_stream_i32(&s), 1, "a positive number");
	hs_stream_u32(&s);
	ok(s.bad, "0 is no number");
	is_int(hs_stream_u32(&s), 0, "and nothing follows");
}

int main(void)
{
	test_stream();
	return tap_done();
}
