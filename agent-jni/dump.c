// SPDX-License-Identifier: Apache-2.0
#include "agent-jni/dump.h"

#include "agent-jni/sys.h"

static struct {
	struct kept *kept; /* NULL: nothing is kept */
	uint32_t seq;
	uint64_t until_us;
} last;

static void forget(void)
{
	if (!last.kept)
		return;
	if (last.kept->found)
		self_close(&last.kept->self);
	sys_unmap(last.kept, sizeof(*last.kept));
	last.kept = NULL;
}

struct kept *kept_take(const struct order *order, const void *vm)
{
	struct kept *k;

	if (order->since == 0 || order->since != last.seq)
		forget();
	if (!last.kept) {
		last.kept = sys_map(sizeof(*last.kept));
		if (!last.kept)
			return NULL;
		last.kept->remembers = order->keep > 0;
	}
	k = last.kept;
	if (!k->found && !(k->found = self_open(&k->self, vm)))
		self_close(&k->self);
	return k;
}

void kept_give(const struct order *order)
{
	if (order->keep == 0)
		forget();
	/* A whole one has touched much more of it than deltas will. */
	else if (order->since == 0)
		sys_discard(last.kept->work, sizeof(last.kept->work));
	last.seq = order->seq;
	last.until_us = sys_now_us() + order->keep * 1000000ull;
}

int kept_expire(void)
{
	uint64_t now = sys_now_us();

	if (last.kept && now >= last.until_us)
		forget();
	return last.kept ? (int)((last.until_us - now) / 1000) + 1 : -1;
}
