// SPDX-License-Identifier: Apache-2.0
/* hostile KIND [ARG]: a process that makes trouble for who records it, and keeps a processor busy.
 *
 *	young		forks a process each half second, so that one is always young
 *	secret		has a key on its stack: what no other container's session may hold
 *	maps N FILE	maps FILE executable N times
 *	crowd N		has N children that wait */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Computes for some milliseconds, by the clock. */
static void compute(long ms)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static void young(void)
{
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			compute(500);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

/* The key is made when it is used, so that the program's own file does not hold it. */
static void secret(void)
{
	static const volatile char reversed[] = "YEK-ETAVIRP";
	volatile char key[64];

	for (int i = 0; i < 63; i++)
		key[i] = reversed[10 - i % 11];
	key[63] = '\0';
	for (;;)
		compute(100);
}

static void maps(int n, const char *file)
{
	int fd = open(file, O_RDONLY);

	for (int i = 0; i < n; i++)
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
		    mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			break;
	for (;;)
		compute(100);
}

static void crowd(int n)
{
	for (int i = 0; i < n; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, 9);
			for (;;)
				pause();
		}
	for (;;)
		compute(100);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	puts("ready");
	fflush(stdout);
	if (!strcmp(kind, "young"))
		young();
	if (!strcmp(kind, "secret"))
		secret();
	if (!strcmp(kind, "maps") && argc == 4)
		maps(atoi(argv[2]), argv[3]);
	if (!strcmp(kind, "crowd") && argc == 3)
		crowd(atoi(argv[2]));
	return 2;
}
