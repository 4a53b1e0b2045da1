// SPDX-License-Identifier: Apache-2.0
#include "calltree/pauses.h"

#include <string.h>

/* Puts it into its place of the list, if it is long enough. */
static void list(struct pauses *p, const struct pause *new)
{
	size_t at = p->listed;

	while (at && p->list[at - 1].all < new->all)
		at--;
	if (at == PAUSES_MAX)
		return;
	if (p->listed < PAUSES_MAX)
		p->listed++;
	memmove(&p->list[at + 1], &p->list[at], (p->listed - 1 - at) * sizeof(p->list[at]));
	p->list[at] = *new;
}

void pauses_add(struct pauses *p, const struct pause *new)
{
	if (new->all < PAUSES_LEAST)
		return;
	p->count++;
	list(p, new);
}

void pauses_merge(struct pauses *to, const struct pauses *from)
{
	to->count += from->count;
	for (size_t i = 0; i < from->listed; i++)
		list(to, &from->list[i]);
}

void pauses_check(struct pauses *p)
{
	if (p->listed > PAUSES_MAX)
		p->listed = PAUSES_MAX;
	for (size_t i = 0; i < p->listed; i++)
		subject_check(&p->list[i].subject);
}
