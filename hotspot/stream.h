/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as HotSpot packs them (code/compressedStream.hpp, utilities/unsigned5.hpp): one to five
 * bytes, the lowest first; another byte follows one of 192 or above. From JDK 20 on each
 * byte is one higher, so that 0 can mark the end (JDK-8292758). */
#ifndef HS_STREAM_H
#define HS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_stream {
	const uint8_t *p, *end;
	uint8_t base; /* 0 up to JDK 19, then 1 */
	bool bad;     /* the data ended within a number; all further numbers are 0 */
};

static inline uint8_t hs_stream_u8(struct hs_stream *s)
{
	if (s->p == s->end) {
		s->bad = true;
		return 0;
	}
	return *s->p++;
}

static inline uint32_t hs_stream_u32(struct hs_stream *s)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 5; i++) {
		uint8_t b = hs_stream_u8(s);

		if (s->bad || b < s->base) {
			s->bad = true;
			return 0;
		}
		sum += (uint32_t)(b - s->base) << (6 * i);
		if (b < 192)
			break;
	}
	return sum;
}

static inline int32_t hs_stream_i32(struct hs_stream *s)
{
	uint32_t n = hs_stream_u32(s);

	return (int32_t)((n >> 1) ^ (0u - (n & 1)));
}

#endif
