// SPDX-License-Identifier: Apache-2.0
/* Turns of a run's processes: one for each processor, and waits for one that end. */
#include <sys/wait.h>
#include <unistd.h>

#include "common/parallel.h"
#include "common/turns.h"
#include "lib/tap.h"

/* A child that waits for a turn; its exit status says whether it got one. */
static pid_t wait_for_turn(int turns, int ms)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(turn_take(turns, ms) ? 0 : 1);
	return pid;
}

static int status_of(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	const long cpus = (long)parallel_cpus();
	const int turns = turns_make();
	long taken = 0;
	pid_t other;

	ok(turns >= 0, "turns are made");
	for (long i = 0; i < cpus; i++)
		taken += turn_take(turns, 10000);
	is_int(taken, cpus, "one for each processor");
	other = wait_for_turn(turns, 60000);
	turn_give_back(turns);
	is_int(status_of(other), 0, "another process gets the one that is given back");
	is_int(status_of(wait_for_turn(turns, 300)), 1,
	       "it was not given back: the next one waits in vain, and goes on");
	turn_give_back(turns);
	ok(turn_take(turns, 10000), "one is given back again");
	ok(!turn_take(-1, 10000), "without turns nobody has one");
	close(turns);
	return tap_done();
}
