// SPDX-License-Identifier: Apache-2.0
#include "discover/jvm.h"

#include <fcntl.h>

#include "common/child.h"
#include "common/fs.h"
#include "common/proc.h"
#include "common/str.h"

#define RELEASE_MAX (64u << 10)
#define RELEASE_MS  2000

struct release {
	int procfd;
	char *libjvm; /* its path */
};

bool jvm_is_library(const char *path)
{
	return has_suffix(path, "/libjvm.so") || has_suffix(path, "/libjvm.so (deleted)");
}

/* The text behind `key`, up to the next quotation mark. */
static bool release_value(const char *text, const char *key, char ret[static 64])
{
	CLEANUP(str_fini) struct str clean = {0};
	const char *at = strstr(text, key);

	if (!at)
		return false;
	at += strlen(key);
	str_add_clean(&clean, at, strcspn(at, "\"\n"));
	snprintf(ret, 64, "%s", clean.buf ? clean.buf : "");
	return true;
}

/* <java home>/release, a text of KEY="value" lines; libjvm is in lib/server (9 and later),
 * jre/lib/<arch>/server (8). The file is the container's: bounded, cleaned, only shown. */
static int read_release(void *arg, void *reply, struct err *err)
{
	const struct release *r = arg;
	struct jvm *j = reply;
	char *home = r->libjvm;
	CLEANUP(close_fd) int rootfd = proc_open_root(r->procfd, err);

	for (int up = 0; rootfd >= 0 && up < 5; up++) {
		char *slash = strrchr(home, '/');
		CLEANUP(free) char *path = NULL;
		CLEANUP(close_fd) int fd = -1;
		CLEANUP(str_fini) struct str text = {0};
		struct stat st;

		if (!slash)
			break;
		*slash = '\0';
		path = xasprintf("%s/release", home);
		fd = fs_open_in_root(rootfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, err);
		if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
		    fs_read_all(fd, RELEASE_MAX, &text, err) < 0 || !text.buf)
			continue;
		if (!release_value(text.buf, "JAVA_VERSION=\"", j->version))
			continue;
		(void)release_value(text.buf, "IMPLEMENTOR=\"", j->vendor);
		break;
	}
	return 0;
}

static bool look_at(pid_t pid, struct jvm *ret)
{
	CLEANUP(free) char *libjvm = NULL;
	CLEANUP(close_fd) int procfd = -1;
	struct release release;
	struct proc_status st;
	enum runtime runtime;
	struct err err;

	procfd = proc_open(pid, &err);
	if (procfd < 0)
		return false;
	runtime = runtime_of(procfd, &libjvm);
	if (runtime == RUNTIME_NONE || proc_read_status(procfd, &st, &err) < 0)
		return false;
	*ret = (struct jvm){.pid = pid,
			    .procfd = TAKE_FD(procfd),
			    .nspid = st.nspid,
			    .uid = st.euid,
			    .gid = st.egid,
			    .runtime = runtime};
	/* In a child: a file system of the container's own (FUSE) can make it wait for ever. */
	release = (struct release){ret->procfd, libjvm};
	if (libjvm)
		(void)!child_call(read_release, &release, ret, sizeof(*ret), RELEASE_MS, &err);
	return true;
}

void jvms_find(const pid_t *pids, size_t count, struct jvms *ret)
{
	*ret = (struct jvms){0};
	for (size_t i = 0; i < count; i++) {
		struct jvm j;

		if (!look_at(pids[i], &j))
			continue;
		ret->list = grow(ret->list, ret->count, &ret->cap, sizeof(j));
		ret->list[ret->count++] = j;
	}
}

void jvms_fini(struct jvms *j)
{
	for (size_t i = 0; i < j->count; i++)
		close(j->list[i].procfd);
	free(j->list);
	*j = (struct jvms){0};
}
