// SPDX-License-Identifier: Apache-2.0
#include "report/outputs.h"

#include <errno.h>
#include <fcntl.h>

#include "common/fs.h"
#include "common/str.h"

/* Follows symbolic links: the path is the caller's own. */
static int make_directory(const char *dir, struct err *err)
{
	CLEANUP(free) char *path = xstrdup(dir);
	int fd;

	for (char *p = path + (*path == '/'); (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			return err_set(err, errno, "make directory %s", path);
	}
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return err_set(err, errno, "make directory %s", path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : err_set(err, errno, "open %s", dir);
}

static char *temporary(const char *name)
{
	return xasprintf(".%s.%d", name, (int)getpid());
}

int outputs_open(const char *dir, const char *const *names, size_t count, struct outputs *ret,
		 struct err *err)
{
	struct outputs o = {.dirfd = make_directory(dir, err)};

	if (o.dirfd < 0)
		return -1;
	for (; o.count < count; o.count++) {
		CLEANUP(free) char *name = temporary(names[o.count]);
		struct err ignored;

		unlinkat(o.dirfd, name, 0);
		o.names[o.count] = names[o.count];
		o.fds[o.count] = fs_create(o.dirfd, name, 0644, err);
		if (o.fds[o.count] < 0) {
			(void)!outputs_close(&o, false, &ignored);
			return err_wrap(err, "%s", dir);
		}
	}
	*ret = o;
	return 0;
}

int outputs_close(struct outputs *o, bool good, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < o->count; i++) {
		CLEANUP(free) char *name = temporary(o->names[i]);

		/* close may be the first to report a full disk. */
		if (close(o->fds[i]) < 0 && good && rc == 0)
			rc = err_set(err, errno, "write %s", o->names[i]);
		if (!good || rc < 0)
			unlinkat(o->dirfd, name, 0);
		else if (renameat(o->dirfd, name, o->dirfd, o->names[i]) < 0)
			rc = err_set(err, errno, "name %s", o->names[i]);
	}
	close(o->dirfd);
	*o = (struct outputs){.dirfd = -1};
	return rc;
}
