// SPDX-License-Identifier: Apache-2.0
#include "format/pack.h"

void pack_number(struct str *bytes, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		str_addc(bytes, (char)(n | 0x80));
	str_addc(bytes, (char)n);
}

void pack_signed(struct str *bytes, int64_t n)
{
	uint64_t u = (uint64_t)n << 1;

	pack_number(bytes, n < 0 ? ~u : u);
}

void pack_text(struct str *out, const struct str *bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *b = (const unsigned char *)bytes->buf;
	size_t len = bytes->len;

	for (; len > 0; len -= len < 3 ? len : 3, b += 3) {
		uint32_t three = (uint32_t)b[0] << 16 | (len > 1 ? (uint32_t)b[1] << 8 : 0) |
				 (len > 2 ? b[2] : 0);
		char text[4] = {digits[three >> 18], digits[three >> 12 & 63],
				len > 1 ? digits[three >> 6 & 63] : '=',
				len > 2 ? digits[three & 63] : '='};

		str_add(out, text, sizeof(text));
	}
}
