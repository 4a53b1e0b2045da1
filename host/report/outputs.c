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

int outputs_add(struct outputs *o, const struct outdir *dir, const char *name, struct err *err)
{
	CLEANUP(free) char *part = temporary(name);
	struct err ignored;
	int fd;

	unlinkat(dir->fd, part, 0);
	fd = fs_create(dir->fd, part, 0644, err);
	if (fd < 0) {
		(void)!outputs_close(o, false, &ignored);
		return err_wrap(err, "%s", dir->path);
	}
	o->dirs[o->count] = dir;
	o->names[o->count] = name;
	o->fds[o->count++] = fd;
	return 0;
}

int outputs_open(const struct outdir *dir, const char *const *names, size_t count,
		 struct outputs *ret, struct err *err)
{
	struct outputs o = {0};

	while (o.count < count)
		if (outputs_add(&o, dir, names[o.count], err) < 0)
			return -1;
	*ret = o;
	return 0;
}

static int finish(const struct outdir *dir, const char *name, int fd, bool good, struct err *err)
{
	CLEANUP(free) char *part = temporary(name);

	outdir_give(dir, fd);
	/* close may be the first to report a full disk. */
	if (close(fd) < 0 && good) {
		unlinkat(dir->fd, part, 0);
		return err_set(err, errno, "write %s", name);
	}
	if (!good)
		return unlinkat(dir->fd, part, 0), 0;
	if (renameat(dir->fd, part, dir->fd, name) < 0)
		return err_set(err, errno, "name %s", name);
	return 0;
}

int outputs_close(struct outputs *o, bool good, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < o->count; i++)
		if (finish(o->dirs[i], o->names[i], o->fds[i], good && rc == 0, err) < 0)
			rc = -1;
	*o = (struct outputs){0};
	return rc;
}
