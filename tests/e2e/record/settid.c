// SPDX-License-Identifier: Apache-2.0
/* settid PID PROGRAM ARG...: waits until no process has this pid, and runs the program with it
 * (clone3(2), set_tid: Linux 5.5, root of the pid namespace). Ends with the program. */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	pid_t wanted = argc > 2 ? atoi(argv[1]) : 0, pid;
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&wanted,
		.set_tid_size = 1,
	};
	int status = 1;

	if (wanted <= 1)
		return 2;
	while ((pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args))) < 0 && errno == EEXIST)
		usleep(200);
	if (pid < 0) {
		perror("clone3");
		return 1;
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv(argv[2], argv + 2);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status != 0;
}
