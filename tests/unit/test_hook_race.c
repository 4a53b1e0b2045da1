// SPDX-License-Identifier: Apache-2.0
/* Case 6: whoever may write to a container's file system swaps directories and symbolic links while
 * the hook mounts in it. Each call mounts inside the container's /dev, or nothing. DFG_ROUNDS is
 * the number of calls in each of the four races. */
#include "hook/container.h"

#include <linux/fs.h>
#include <sys/syscall.h>

#include "dfg/paths.h"
#include "lib/hookbox.h"

#define DEV    BOX_FS "/dev"
#define CANARY "/tmp/canary"   /* a tmpfs, such as the hook looks for */
#define INNER  CANARY "/empty" /* an empty directory, such as it mounts on */

static unsigned rounds = 200;
static int share;

/* ---- who swaps ---- */

static void exchange(const char *a, const char *b)
{
	syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

/* A process that swaps the hook's mount points with a link, in the container. They exist already,
 * empty, as an interrupted call leaves them. */
static bool swap_points(void)
{
	static const char *const points[] = {
		DEV "/" DFG_OUT_MNT,
		DEV "/" DFG_CTL_MNT,
		DEV "/" DFG_PAYLOAD_MNT,
	};
	struct actor a;

	for (size_t i = 0; i < ARRAY_LEN(points); i++)
		if (mkdir(points[i], 0755) < 0)
			return false;
	if (symlink(INNER, DEV "/link") < 0)
		return false;
	if (actor_fork(&a)) {
		actor_tell(&a);
		for (size_t i = 0;; i = (i + 1) % ARRAY_LEN(points))
			exchange(points[i], DEV "/link");
	}
	return actor_wait(&a);
}

/* The same in the container for its /dev and a link, from a mount namespace in which that is no
 * mount point: a container that shares the volume. */
static pid_t swap_dev(void)
{
	struct actor a;

	if (actor_fork(&a)) {
		actor_tell(&a);
		for (;;)
			exchange(DEV, BOX_FS "/link");
	}
	box_must(actor_wait(&a), "a process that swaps");
	return a.pid;
}

/* ---- containers that are joined, whose process is in its root ---- */

static bool enter_root(void)
{
	return chroot(".") == 0 && chdir("/") == 0;
}

static bool swap_points_in_root(void)
{
	return swap_points() && enter_root();
}

/* With a child that stays outside, and sees all mounts. */
static bool stay_in_root(void)
{
	return actor_idle() > 0 && enter_root();
}

/* ---- what the hook does meanwhile ---- */

/* A process of the container that sees all its mounts. */
static pid_t witness_of(pid_t pid)
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/task/%d/children", (int)pid, (int)pid);
	CLEANUP(free) char *children = box_read(path);

	return atoi(children) > 0 ? atoi(children) : pid;
}

/* Counts what it mounted in a container at another place than below its /dev. */
static unsigned escapes_of(pid_t pid)
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/mountinfo", (int)witness_of(pid));
	CLEANUP(fclose) FILE *f = fopen(path, "re");
	unsigned count = 0;
	char line[1024];

	while (f && fgets(line, sizeof(line), f)) {
		bool ours = strstr(line, " - tmpfs dfg-") && !strstr(line, " /tmp/share/");

		/* The tmpfs itself may be seen at the other name. */
		count += ours && !strstr(line, " " DEV "/") && !strstr(line, " " BOX_FS "/link/");
	}
	return count;
}

static enum hook_status mount_once(pid_t pid, bool join)
{
	const struct hook_tmpfs out = {.bytes = 1u << 20, .inodes = 16};
	struct hook_container c = HOOK_CONTAINER_EMPTY;
	struct hook_mounts m = {-1, -1, -1};
	struct err err = {0};
	enum hook_status status;

	box_must(hook_container_open(pid, join, &c, &err) == HOOK_NONE &&
			 hook_share_mount(share, &out, &m, &err) == 0,
		 err.msg);
	m.payload = hook_mnt_tmpfs(&(struct hook_tmpfs){.name = "dfg-payload"}, 0, &err);
	status = hook_container_mount(&c, join ? NULL : BOX_FS, &m, &err);
	cleanup_close_fd(&m.out);
	cleanup_close_fd(&m.ctl);
	cleanup_close_fd(&m.payload);
	hook_share_remove(share);
	hook_container_close(&c);
	return status;
}

static bool is_untouched(void)
{
	char line[1024];
	struct stat st;

	return stat(INNER, &st) == 0 && st.st_nlink == 2 && box_mounts(0, CANARY, line) == 1 &&
	       box_mounts(0, INNER, line) == 0;
}

static void race(const char *what, bool join, bool (*setup)(void))
{
	unsigned mounted = 0, escapes = 0, touched = 0;

	for (unsigned i = 0; i < rounds; i++) {
		pid_t pid = box_container(0, setup);

		mounted += mount_once(pid, join) == HOOK_MOUNTED;
		escapes += escapes_of(pid);
		touched += !is_untouched();
		actor_end(pid);
		/* Those that swapped have become this process's, the first of its namespace. */
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
	}
	is_int(escapes, 0, "%s: of %u calls, of which %u mounted, none did it elsewhere (case 6)",
	       what, rounds, mounted);
	is_int(touched, 0, "%s: where the link leads nothing changes (case 6)", what);
}

static void tests(void)
{
	pid_t swapper;

	box_must(mkdir(CANARY, 0755) == 0 && mount("canary", CANARY, "tmpfs", 0, "mode=755") == 0 &&
			 mkdir(INNER, 0755) == 0 && symlink(INNER, BOX_FS "/link") == 0 &&
			 mkdir("/tmp/share", 0700) == 0,
		 "folders");
	share = open("/tmp/share", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	race("mount points are swapped with a link", false, swap_points);
	race("the same of one that is joined", true, swap_points_in_root);
	swapper = swap_dev();
	race("/dev is swapped with a link", false, NULL);
	race("the same of one that is joined", true, stay_in_root);
	actor_end(swapper);
}

int main(void)
{
	const char *text = getenv("DFG_ROUNDS");

	if (text && atoi(text) > 0)
		rounds = (unsigned)atoi(text);
	return box_run(tests);
}
