// SPDX-License-Identifier: Apache-2.0
/* Swaps what dfg writes to, all the time, until it is killed (case 85), as the user UID:
 *
 *	swapper names DIR VICTIM UID	DIR/out: a directory with links in it, a link to VICTIM, a
 *					dangling link into it
 *	swapper session DIR VICTIM UID	the session in DIR, its files and the graphs, for links into
 *					VICTIM */
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/str.h"

static const char *const files[] = {"perf.data", "perf.log", "session.json", "kallsyms",
				    "maps",	 "elf",	     "flame.folded", "diff.folded"};

/* Makes, in a directory, a dangling link into the victim by each name that dfg may write. */
static void put_links(const char *dir, const char *victim)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP(free) char *from = xasprintf("%s/%s", dir, files[i]);
		CLEANUP(free) char *to = xasprintf("%s/%s", victim, files[i]);

		unlink(from);
		(void)!symlink(to, from);
	}
}

static void remove_links(const char *dir)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP(free) char *path = xasprintf("%s/%s", dir, files[i]);

		unlink(path);
	}
	rmdir(dir);
}

static void exchange(const char *a, const char *b)
{
	syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

static void swap_names(const char *victim)
{
	CLEANUP(free) char *dangling = xasprintf("%s/made", victim);

	mkdir("out", 0777);
	mkdir("out/session", 0777);
	put_links("out/session", victim);
	usleep(200);
	(void)!symlink(victim, "link");
	exchange("link", "out");
	usleep(200);
	exchange("link", "out");
	unlink("link");
	(void)!symlink(dangling, "link");
	exchange("link", "out");
	usleep(200);
	unlink("out");
	usleep(200); /* dfg may make it now */
	remove_links("link/session");
	rmdir("link");
	unlink("link");
	rename("out", "old");
	rmdir("old");
}

static void swap_session(const char *victim)
{
	mkdir("own", 0777);
	put_links("own", victim);
	exchange("own", "session");
	put_links(".", victim);
	usleep(100);
	exchange("own", "session");
	put_links("session", victim);
	usleep(100);
	remove_links("own");
}

int main(int argc, char **argv)
{
	void (*swap)(const char *victim) = swap_session;

	umask(0);
	if (argc != 5 || chdir(argv[2]) < 0 || setgid((gid_t)atoi(argv[4])) < 0 ||
	    setuid((uid_t)atoi(argv[4])) < 0)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* setuid has reset it */
	if (!strcmp(argv[1], "names"))
		swap = swap_names;
	for (;;)
		swap(argv[3]);
}
