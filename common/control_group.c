// SPDX-License-Identifier: Apache-2.0
#include "common/control_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/str.h"

#define PARENT	    "dfg"
#define OLD_SECONDS 60	/* a new group has no process for a moment */
#define KILL_MS	    500 /* one that a file system blocks ends when that lets it */

enum { CONTROLLER_CPU, CONTROLLER_MEMORY, CONTROLLER_PIDS };

/* The limits, by controller: files of v1 and v2. The share of the processors needs no file. */
static const struct {
	const char *controller, *v1, *v2;
} controllers[CONTROL_GROUP_DIRS] = {
	[CONTROLLER_CPU] = {"cpu", NULL, NULL},
	[CONTROLLER_MEMORY] = {"memory", "memory.limit_in_bytes", "memory.max"},
	[CONTROLLER_PIDS] = {"pids", "pids.max", "pids.max"},
};

static bool write_text(const char *dir, const char *name, const char *text)
{
	CLEANUP(free) char *path = xasprintf("%s/%s", dir, name);
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

char *control_group_mount(const char *controller)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	char *ret = NULL;
	struct mntent *m;

	while (mounts && !ret && (m = getmntent(mounts)))
		if (controller ? !strcmp(m->mnt_type, "cgroup") && hasmntopt(m, controller)
			       : !strcmp(m->mnt_type, "cgroup2"))
			ret = xstrdup(m->mnt_dir);
	if (mounts)
		endmntent(mounts);
	return ret;
}

/* Removes the groups of processes that were killed: those that are old and empty. */
static void sweep(const char *parent)
{
	DIR *dir = opendir(parent);
	struct dirent *e;
	struct stat st;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.' &&
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode) && st.st_mtime + OLD_SECONDS < time(NULL))
			unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	if (dir)
		closedir(dir);
}

/* Makes a directory for the group below a mount and returns its path, or NULL. */
static char *make_below(const char *mount)
{
	CLEANUP(free) char *parent = xasprintf("%s/" PARENT, mount);
	CLEANUP(free) char *dir = xasprintf("%s/XXXXXX", parent);

	if (mkdir(parent, 0755) == 0) {
		/* Of v2, each that there is; of v1, there is no such file. */
		for (size_t i = 0; i < CONTROL_GROUP_DIRS; i++) {
			CLEANUP(free) char *add = xasprintf("+%s", controllers[i].controller);

			(void)write_text(parent, "cgroup.subtree_control", add);
		}
	} else if (errno != EEXIST) {
		return NULL;
	}
	sweep(parent);
	return mkdtemp(dir) ? TAKE_PTR(dir) : NULL;
}

/* True if the controller limits the group. */
static bool limit(const char *dir, size_t controller, bool v2, const struct control_group_limits *l)
{
	const char *file = v2 ? controllers[controller].v2 : controllers[controller].v1;
	CLEANUP(free) char *weight = xasprintf("%s/cpu.weight", dir);
	CLEANUP(free)
	char *value = xasprintf("%llu", controller == CONTROLLER_MEMORY
						? (unsigned long long)l->memory
						: (unsigned long long)l->processes);

	if (!file) /* of v1 the hierarchy is the controller */
		return !v2 || access(weight, F_OK) == 0;
	return write_text(dir, file, value);
}

/* Removes a group's directory, and the one above it if it was the last. */
static void remove_below(const char *dir)
{
	CLEANUP(free) char *parent = xasprintf("%.*s", (int)(strrchr(dir, '/') - dir), dir);

	if (rmdir(dir) == 0)
		rmdir(parent);
}

void control_group_make(const struct control_group_limits *l, struct control_group *ret)
{
	CLEANUP(free) char *unified = control_group_mount(NULL);
	char *dir = unified ? make_below(unified) : NULL;

	*ret = (struct control_group){0};
	for (size_t i = 0; dir && i < CONTROL_GROUP_DIRS; i++)
		ret->limits += limit(dir, i, true, l);
	if (ret->limits) { /* else its controllers are those of v1: both may be mounted */
		ret->dirs[ret->count++] = dir;
		return;
	}
	if (dir)
		remove_below(dir);
	free(dir);
	for (size_t i = 0; i < CONTROL_GROUP_DIRS; i++) {
		CLEANUP(free) char *mount = control_group_mount(controllers[i].controller);

		dir = mount ? make_below(mount) : NULL;
		if (!dir)
			continue;
		ret->limits += limit(dir, i, false, l);
		ret->dirs[ret->count++] = dir;
	}
}

void control_group_enter(const struct control_group *g)
{
	for (size_t i = 0; i < g->count; i++)
		(void)write_text(g->dirs[i], "cgroup.procs", "0");
}

/* False once none is left. */
static bool kill_members(const char *dir)
{
	CLEANUP(free) char *path = xasprintf("%s/cgroup.procs", dir);
	FILE *f = fopen(path, "re");
	bool any = false;
	int pid;

	while (f && fscanf(f, "%d", &pid) == 1 && pid > 0) {
		any = true;
		kill(pid, SIGKILL);
	}
	if (f)
		fclose(f);
	return any;
}

void control_group_remove(struct control_group *g)
{
	uint64_t deadline = deadline_after(KILL_MS);

	while (g->count && kill_members(g->dirs[0]) && deadline_ms_left(deadline))
		sleep_ms(1);
	for (size_t i = 0; i < g->count; i++) {
		remove_below(g->dirs[i]);
		free(g->dirs[i]);
	}
	*g = (struct control_group){0};
}
