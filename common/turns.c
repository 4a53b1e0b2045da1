// SPDX-License-Identifier: Apache-2.0
#include "common/turns.h"

#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/parallel.h"

int turns_make(void)
{
	return eventfd((unsigned)parallel_cpus(), EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
}

bool turn_take(int turns, int ms)
{
	const uint64_t deadline = deadline_after(ms);
	struct pollfd p = {.fd = turns, .events = POLLIN};
	uint64_t one;

	while (turns >= 0 && deadline_ms_left(deadline)) {
		if (read(turns, &one, sizeof(one)) == sizeof(one))
			return true;
		(void)poll(&p, 1, deadline_ms_left(deadline));
	}
	return false;
}

void turn_give_back(int turns)
{
	const uint64_t one = 1;

	(void)!write(turns, &one, sizeof(one));
}
