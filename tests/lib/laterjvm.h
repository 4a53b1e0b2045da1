/* SPDX-License-Identifier: Apache-2.0 */
/* A process that looks like a JVM from later on: it maps a file called libjvm.so, without HotSpot,
 * when it is told to. Include it after scratch.h. */
#ifndef DFG_LIB_LATERJVM_H
#define DFG_LIB_LATERJVM_H

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "lib/actor.h"
#include "lib/scratch.h"

struct later {
	pid_t pid;
	int to, from; /* pipes: a byte to it, then one from it */
};

static inline struct later later_jvm(void)
{
	CLEANUP(free) char *path = path_of("libjvm.so");
	int to[2], from[2], fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	struct later l;
	char byte;

	if (fd < 0 || write(fd, "x", 1) != 1 || pipe2(to, O_CLOEXEC) < 0 ||
	    pipe2(from, O_CLOEXEC) < 0)
		abort();
	l = (struct later){.pid = fork(), .to = to[1], .from = from[0]};
	if (l.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(to[0], &byte, 1) != 1 ||
		    mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
		    write(from[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(fd);
	close(to[0]);
	close(from[1]);
	return l;
}

static inline void later_become(struct later *l)
{
	char byte;

	if (write(l->to, "", 1) != 1 || read(l->from, &byte, 1) != 1)
		abort();
	close(l->to);
	close(l->from);
}

#endif
