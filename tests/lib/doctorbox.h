/* SPDX-License-Identifier: Apache-2.0 */
/* A machine made of files, for tests of dfg-doctor's probes, and what they find there. */
#ifndef DFG_LIB_DOCTORBOX_H
#define DFG_LIB_DOCTORBOX_H

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "common/fs.h"
#include "doctor/probe.h"
#include "lib/printed.h"
#include "lib/scratch.h"
#include "lib/tap.h"

#define HEAD "this machine\n"

static struct findings found;
static struct probe machine = {.root = top, .f = &found};

static inline void doctorbox_make(void)
{
	scratch_make();
	machine.rootfd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static inline void doctorbox_remove(void)
{
	findings_fini(&found);
	scratch_remove();
}

/* A file of the machine, with the directories above it. */
static inline void put(const char *path, const char *text)
{
	put_text(path, 0755, text);
}

static inline void take_away(const char *path)
{
	unlinkat(machine.rootfd, path, 0);
}

static inline void forget(void)
{
	findings_fini(&found);
	findings_about(&found, "machine", 0, "this machine");
}

static inline const struct finding *finding_of(const char *what)
{
	for (size_t i = 0; i < found.count; i++)
		if (!strcmp(found.list[i].what, what))
			return &found.list[i];
	return NULL;
}

/* True if there is a finding about `what` in this state, with these words and no others. */
static inline void check_found(const char *what, enum finding_state state, const char *why,
			       const char *advice, const char *name)
{
	const struct finding *f = finding_of(what);

	is_str(f ? f->why : NULL, why, "%s", name);
	if (why && f) {
		is_int(f->state, state, "the state of %s is as it should be", what);
		is_str(f->advice, advice, "so is its advice");
	}
}

/* True if the probe finds `what` in this state, with these words. */
static inline void finds(void (*probe)(const struct probe *), const char *what,
			 enum finding_state state, const char *words)
{
	const struct finding *f;
	bool good;

	forget();
	probe(&machine);
	f = finding_of(what);
	good = f && f->state == state && strstr(f->why, words);
	ok(good, "%s: %d, \"%s\"", what, (int)state, words);
	if (f && !good)
		printf("#  got: %d, \"%s\"\n", (int)f->state, f->why);
}

/* In a child: gives it a /dev of its own, as a container has, with these mounts on it. False where
 * that is not permitted. */
static inline bool doctorbox_mounts(const char *const *names)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/dev", "tmpfs", 0, "size=1m") < 0)
		return false;
	for (; *names; names++) {
		CLEANUP(free) char *path = xasprintf("/dev/%s", *names);

		if (mkdir(path, 0755) < 0 || mount("tmpfs", path, "tmpfs", 0, "size=1m") < 0)
			return false;
	}
	return true;
}

static inline void doctorbox_print(const void *arg)
{
	(void)arg;
	findings_print(&found);
}

/* The findings as findings_print prints them. */
static inline void check_printed(const char *want, const char *name)
{
	CLEANUP(free) char *got = printed_by(doctorbox_print, NULL);

	is_str(got, want, "%s", name);
}

#endif
