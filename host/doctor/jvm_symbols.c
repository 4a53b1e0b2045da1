// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "common/child.h"
#include "common/proc.h"
#include "common/str.h"
#include "doctor/jvm_look.h"
#include "record/debug_files.h"
#include "record/session_files.h"

#define LOOK_MS 5000

struct libjvm {
	int procfd, fd;
	char *path;
};

static int open_libjvm(const struct proc_map *m, void *arg)
{
	static const char name[] = "/libjvm.so";
	const char *base = strrchr(m->path, '/');
	struct libjvm *l = arg;
	struct stat st;

	/* A file that was replaced since has " (deleted)" behind its name. */
	if (!m->exec || !base || strncmp(base, name, strlen(name)) != 0)
		return 0;
	l->fd = mapped_file_open(l->procfd, m, &st);
	l->path = xstrdup(m->path);
	return 1;
}

static bool has_debug_file(const struct libjvm *l, const struct debug_link *own)
{
	CLEANUP(close_fd) int rootfd = -1;
	CLEANUP(close_fd) int fd = -1;
	struct debug_link its = {0};
	struct err err;

	rootfd = proc_open_root(l->procfd, &err);
	fd = debug_file_open(l->path, own, rootfd);
	return fd >= 0 && debug_links_read(&fd, 1, &its, &err) == 0 && its.whole &&
	       its.id_len == own->id_len && !memcmp(its.id, own->id, own->id_len);
}

static int look_for_symbols(void *arg, void *reply, struct err *err)
{
	const struct jvm *j = arg;
	enum jvm_symbols *ret = reply;
	struct libjvm l = {.procfd = j->procfd, .fd = -1};
	struct debug_link own = {0};

	if (proc_each_map(j->procfd, open_libjvm, &l, err) == 1 && l.fd >= 0 &&
	    debug_links_read(&l.fd, 1, &own, err) == 0)
		*ret = own.whole		  ? JVM_SYMBOLS_OWN
		       : has_debug_file(&l, &own) ? JVM_SYMBOLS_DEBUG
						  : JVM_SYMBOLS_NONE;
	cleanup_close_fd(&l.fd);
	free(l.path);
	return 0;
}

enum jvm_symbols jvm_symbols(const struct jvm *j)
{
	enum jvm_symbols ret = JVM_SYMBOLS_UNKNOWN;
	struct jvm target = *j;
	struct err err;

	return child_call(look_for_symbols, &target, &ret, sizeof(ret), LOOK_MS, &err) == 0
		       ? ret
		       : JVM_SYMBOLS_UNKNOWN;
}
