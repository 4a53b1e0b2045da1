// SPDX-License-Identifier: Apache-2.0
#include "report/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/str.h"

static char *temporary(const char *name)
{
	return xasprintf(".%s.%d", name, (int)getpid());
}

int outputs_open(const struct outdir *dir, const char *const *names, size_t count,
		 struct outputs *ret, struct err *err)
{
	struct outputs o = {.dir = dir};

	for (; o.count < count; o.count++) {
		CLEANUP(free) char *name = temporary(names[o.count]);
		struct err ignored;

		unlinkat(dir->fd, name, 0);
		o.names[o.count] = names[o.count];
		o.fds[o.count] = fs_create(dir->fd, name, 0644, err);
		if (o.fds[o.count] < 0) {
			(void)!outputs_close(&o, false, &ignored);
			return err_wrap(err, "%s", dir->path);
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

		outdir_give(o->dir, o->fds[i]);
		/* close may be the first to report a full disk. */
		if (close(o->fds[i]) < 0 && good && rc == 0)
			rc = err_set(err, errno, "write %s", o->names[i]);
		if (!good || rc < 0)
			unlinkat(o->dir->fd, name, 0);
		else if (renameat(o->dir->fd, name, o->dir->fd, o->names[i]) < 0)
			rc = err_set(err, errno, "name %s", o->names[i]);
	}
	*o = (struct outputs){0};
	return rc;
}
