// SPDX-License-Identifier: Apache-2.0
#include "jit/ordset.h"

#include "common/str.h"

#define BITS 64u

void ordset_init(struct ordset *s, size_t bound)
{
	size_t n = bound;

	/* One word more than the numbers need, so that the place behind the last is one too. */
	*s = (struct ordset){.bound = bound};
	do {
		n = n / BITS + 1;
		s->level[s->levels++] = xcalloc(n, sizeof(uint64_t));
	} while (n > 1 && s->levels < ORDSET_LEVELS);
}

void ordset_fini(struct ordset *s)
{
	for (unsigned l = 0; l < s->levels; l++)
		free(s->level[l]);
	*s = (struct ordset){0};
}

void ordset_add(struct ordset *s, size_t n)
{
	for (unsigned l = 0; l < s->levels; l++, n /= BITS)
		s->level[l][n / BITS] |= 1ull << n % BITS;
}

void ordset_remove(struct ordset *s, size_t n)
{
	for (unsigned l = 0; l < s->levels; l++, n /= BITS) {
		s->level[l][n / BITS] &= ~(1ull << n % BITS);
		if (s->level[l][n / BITS])
			break;
	}
}

/* Down from a word that is not 0 to its first number, or its last. */
static size_t descend(const struct ordset *s, unsigned level, size_t word, bool last)
{
	for (;; level--) {
		uint64_t bits = s->level[level][word];

		word = word * BITS +
		       (size_t)(last ? 63 - __builtin_clzll(bits) : __builtin_ctzll(bits));
		if (level == 0)
			return word;
	}
}

size_t ordset_next(const struct ordset *s, size_t n)
{
	if (n >= s->bound)
		return ORDSET_NONE;
	for (unsigned l = 0; l < s->levels; l++) {
		uint64_t bits = s->level[l][n / BITS] & ~0ull << n % BITS;

		if (bits) {
			n = n / BITS * BITS + (size_t)__builtin_ctzll(bits);
			return l ? descend(s, l - 1, n, false) : n;
		}
		n = n / BITS + 1; /* in the level above: the words behind this one */
	}
	return ORDSET_NONE;
}

size_t ordset_before(const struct ordset *s, size_t n)
{
	if (n > s->bound)
		n = s->bound;
	for (unsigned l = 0; l < s->levels; l++) {
		uint64_t bits = s->level[l][n / BITS] & ~(~0ull << n % BITS);

		if (bits) {
			n = n / BITS * BITS + (size_t)(63 - __builtin_clzll(bits));
			return l ? descend(s, l - 1, n, true) : n;
		}
		n /= BITS;
	}
	return ORDSET_NONE;
}
