// SPDX-License-Identifier: Apache-2.0
#include "common/clock.h"

#include <limits.h>
#include <time.h>

static uint64_t read_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t clock_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

uint64_t clock_cpu_us(void)
{
	return read_us(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_ms(void)
{
	return clock_us() / 1000;
}

void sleep_ms(unsigned ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&t, NULL);
}

uint64_t deadline_after(int ms)
{
	return ms < 0 ? UINT64_MAX : clock_ms() + (uint64_t)ms;
}

int deadline_ms_left(uint64_t deadline)
{
	uint64_t now = clock_ms();

	if (deadline == UINT64_MAX)
		return -1;
	if (now >= deadline)
		return 0;
	return deadline - now < INT_MAX ? (int)(deadline - now) : INT_MAX;
}

int64_t clock_of(const char *text)
{
	struct tm tm = {0};

	return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? timegm(&tm) : 0;
}
