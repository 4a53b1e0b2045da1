// SPDX-License-Identifier: Apache-2.0
#include "profile/holders.h"

#include <string.h>

#include "common/str.h"
#include "common/table.h"

#define HOLDERS 4096u /* a power of 2 */

struct holders {
	struct holder list[HOLDERS];
};

struct holders *holders_new(void)
{
	return xcalloc(1, sizeof(struct holders));
}

void holders_free(struct holders *h)
{
	free(h);
}

static size_t place_of(pid_t pid, uint64_t time)
{
	return hash_mix(time ^ (uint64_t)pid << 32) % HOLDERS;
}

void holders_keep(struct holders *h, pid_t pid, pid_t tid, uint64_t time, bool to_root,
		  const uint32_t *frames, size_t n)
{
	struct holder *to = &h->list[place_of(pid, time)];
	size_t kept = n < HOLDER_FRAMES ? n : HOLDER_FRAMES;

	to->pid = pid;
	to->tid = tid;
	to->time = time;
	to->to_root = to_root && kept == n;
	to->count = kept;
	if (kept)
		memcpy(to->frames, frames + n - kept, kept * sizeof(*frames));
}

const struct holder *holders_find(const struct holders *h, pid_t pid, uint64_t time)
{
	const struct holder *found = h && time ? &h->list[place_of(pid, time)] : NULL;

	return found && found->pid == pid && found->time == time ? found : NULL;
}
