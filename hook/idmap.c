// SPDX-License-Identifier: Apache-2.0
#include "hook/idmap.h"

#include <stdlib.h>
#include <string.h>

struct range {
	uint64_t inside, outside, count;
};

/* One unsigned decimal number of 32 bits behind blanks. */
static bool take_number(const char **p, uint64_t *ret)
{
	const char *s = *p + strspn(*p, " \t");
	uint64_t n = 0;
	size_t digits = strspn(s, "0123456789");

	if (digits == 0 || digits > 10)
		return false;
	for (size_t i = 0; i < digits; i++)
		n = n * 10 + (uint64_t)(s[i] - '0');
	*p = s + digits;
	*ret = n;
	return n <= UINT32_MAX;
}

/* The next line; false at the end and at anything that is no range. */
static bool take_range(const char **p, struct range *r)
{
	if (!take_number(p, &r->inside) || !take_number(p, &r->outside) ||
	    !take_number(p, &r->count))
		return false;
	if (**p == '\n')
		(*p)++;
	else if (**p)
		return false;
	return true;
}

bool idmap_root(const char *text, uint32_t *ret)
{
	struct range r;

	while (take_range(&text, &r)) {
		if (r.inside == 0 && r.count > 0 && r.outside < UINT32_MAX) {
			*ret = (uint32_t)r.outside;
			return true;
		}
	}
	return false;
}

bool idmap_is_full(const char *text)
{
	struct range r;

	return take_range(&text, &r) && r.inside == 0 && r.outside == 0 && r.count == UINT32_MAX;
}
