// SPDX-License-Identifier: Apache-2.0
#include "calltree/hidden.h"

#define LAMBDA "$$Lambda"

/* Length of a number behind this character: "$14", or "/7582" of JDK 8. */
static size_t number_length(const char *at, char first)
{
	size_t n = *at == first ? strspn(at + 1, "0123456789") : 0;

	return n ? n + 1 : 0;
}

/* Length of ".0x00007f5ba0000a08" or the like. */
static size_t address_length(const char *at)
{
	size_t n;

	if ((*at != '.' && *at != '/') || strncmp(at + 1, "0x", 2) != 0)
		return 0;
	n = strspn(at + 3, "0123456789abcdef");
	return n ? n + 3 : 0;
}

void hidden_name(struct str *out, const char *name, size_t len)
{
	CLEANUP(free) char *text = xstrndup(name, len);

	for (const char *p = text; *p;) {
		size_t skip = address_length(p);

		if (skip) {
			p += skip;
		} else if (has_prefix(p, LAMBDA)) {
			str_adds(out, LAMBDA);
			p += strlen(LAMBDA);
			p += number_length(p, '$');
			p += address_length(p) ? 0 : number_length(p, '/');
		} else {
			str_addc(out, *p++);
		}
	}
}
