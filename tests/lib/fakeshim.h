/* SPDX-License-Identifier: Apache-2.0 */
/* Plays containerd's shim, so that children of the test have names as containers do:
 *
 *	int main(int argc, char **argv) { fakeshim_become(argc); … fakeshim_end(); }
 *	if (fakeshim_adopt("web-1", pid, "\"nerdctl/name\":\"shop\"")) …
 */
#ifndef DFG_LIB_FAKESHIM_H
#define DFG_LIB_FAKESHIM_H

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/scratch.h"

static char *fakeshim_groups[8];

/* Executes the test anew with a shim's arguments. */
static inline void fakeshim_become(int argc)
{
	static const char *const argv[] = {"containerd-shim", "-namespace", "k8s.io", NULL};

	if (argc == 1)
		execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
	prctl(PR_SET_NAME, argv[0]);
}

/* The first hierarchy in which a cgroup can be made. */
static inline char *fakeshim_group(const char *id)
{
	static const char *const hierarchies[] = {"", "/freezer", "/pids", "/unified"};

	for (size_t i = 0; i < ARRAY_LEN(hierarchies); i++) {
		/* Longer than the paths of other hierarchies: the longest counts. */
		char *path = xasprintf("/sys/fs/cgroup%s/dfg-shim.%0150d.%s", hierarchies[i],
				       (int)getpid(), id);
		CLEANUP(free) char *procs = xasprintf("%s/cgroup.procs", path);

		if ((mkdir(path, 0755) == 0 || errno == EEXIST) && access(procs, W_OK) == 0)
			return path;
		rmdir(path);
		free(path);
	}
	return NULL;
}

/* Gives a child a cgroup of its own and, below `top`, a bundle with these annotations, members of a
 * JSON object. False where no cgroup can be made. */
static inline bool fakeshim_adopt(const char *id, pid_t pid, const char *annotations)
{
	CLEANUP(free) char *bundle = xasprintf("bundles/%s/config.json", id);
	CLEANUP(free) char *text = xasprintf("{\"annotations\":{%s}}", annotations);
	CLEANUP(free) char *cwd = xasprintf("%s/bundles/%s", top, id);
	char *group = fakeshim_group(id);
	CLEANUP(free) char *procs = group ? xasprintf("%s/cgroup.procs", group) : NULL;
	CLEANUP(free) char *number = xasprintf("%d", (int)pid);
	CLEANUP(close_fd) int fd = procs ? open(procs, O_WRONLY | O_CLOEXEC) : -1;

	for (size_t i = 0; group && i < ARRAY_LEN(fakeshim_groups); i++)
		if (!fakeshim_groups[i]) {
			fakeshim_groups[i] = group;
			break;
		}
	put_text(bundle, 0644, text);
	return fd >= 0 && chdir(cwd) == 0 &&
	       write(fd, number, strlen(number)) == (ssize_t)strlen(number);
}

/* After the children have ended. */
static inline void fakeshim_end(void)
{
	for (size_t i = 0; i < ARRAY_LEN(fakeshim_groups); i++) {
		for (int k = 0; fakeshim_groups[i] && rmdir(fakeshim_groups[i]) < 0 &&
				errno == EBUSY && k < 500;
		     k++)
			usleep(10000);
		free(fakeshim_groups[i]);
	}
	(void)!chdir("/");
}

#endif
