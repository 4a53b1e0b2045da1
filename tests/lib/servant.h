/* SPDX-License-Identifier: Apache-2.0 */
/* A child that carries out orders of its test, with memory that both have. It dies with the test.
 */
#ifndef DFG_LIB_SERVANT_H
#define DFG_LIB_SERVANT_H

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns memory of zeros. */
static void *servant_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

/* In the child: reads orders of this size, and obeys. */
static void servant_serve(int sock, void *order, size_t size, void (*obey)(void))
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(sock, order, size) == (ssize_t)size) {
		obey();
		if (write(sock, "", 1) != 1)
			break;
	}
	_exit(0);
}

/* Starts the child, which reads its orders into the test's own variable. */
static pid_t servant_start(void *order, size_t size, void (*obey)(void), int *ret_sock)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		servant_serve(pair[1], order, size, obey);
	}
	close(pair[1]);
	*ret_sock = pair[0];
	return pid;
}

/* Returns when it is done. */
static void servant_do(int sock, const void *order, size_t size)
{
	char c;

	if (write(sock, order, size) != (ssize_t)size || read(sock, &c, 1) != 1)
		abort();
}

static void servant_end(pid_t pid, int sock)
{
	close(sock);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
