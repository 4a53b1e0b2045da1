// SPDX-License-Identifier: Apache-2.0
#include "kept.h"

#include "dfg/hotspot.h"
#include "sys.h"

static struct {
	void *state; /* NULL: nothing is kept */
	uint32_t seq;
	uint64_t until_us;
} kept;

static void forget(void)
{
	if (kept.state)
		sys_unmap(kept.state, HS_STATE_BYTES);
	kept.state = NULL;
}

void *kept_take(const struct order *order)
{
	if (order->since == 0 || order->since != kept.seq)
		forget();
	if (!kept.state && order->keep > 0)
		kept.state = sys_map(HS_STATE_BYTES);
	return kept.state;
}

void kept_give(const struct order *order)
{
	if (order->keep == 0)
		forget();
	kept.seq = order->seq;
	kept.until_us = sys_now_us() + order->keep * 1000000ull;
}

int kept_expire(void)
{
	uint64_t now = sys_now_us();

	if (kept.state && now >= kept.until_us)
		forget();
	return kept.state ? (int)((kept.until_us - now) / 1000) + 1 : -1;
}
