// SPDX-License-Identifier: Apache-2.0
#include "setup/change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "common/child.h"
#include "common/fs.h"
#include "common/log.h"

#define KEPT	".before-dfg"
#define DIFF_MS 10000

void changes_drop_last(struct changes *c)
{
	struct change *last = &c->list[--c->count];

	free(last->path);
	str_fini(&last->now);
	str_fini(&last->then);
}

void changes_put_first(struct changes *c, const char *path)
{
	for (size_t i = 1; i < c->count; i++) {
		struct change at = c->list[i];

		if (strcmp(at.path, path) != 0)
			continue;
		memmove(c->list + 1, c->list, i * sizeof(at));
		c->list[0] = at;
	}
}

void changes_fini(struct changes *c)
{
	while (c->count)
		changes_drop_last(c);
	free(c->list);
	*c = (struct changes){0};
}

int change_read(int rootfd, const char *path, struct str *ret, struct err *err)
{
	struct err why;

	if (fs_read_file(rootfd, path, CHANGE_FILE_MAX, ret, &why) == 0)
		return 1;
	if (why.code == ENOENT || why.code == ENOTDIR)
		return 0;
	if (why.code == ELOOP)
		return err_set(err, 0, "/%s is a symbolic link: name the file itself, with --file",
			       path);
	return err_set(err, 0, "%s", why.msg);
}

static bool same(const struct str *a, const struct str *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->buf, b->buf, a->len));
}

static void copy(struct str *to, const struct str *from)
{
	str_clear(to);
	str_add(to, from->buf ? from->buf : "", from->len);
}

/* Plans a change, unless both texts are the same. */
static void add(struct changes *c, const char *path, const struct str *now, const struct str *then,
		unsigned own_dirs)
{
	struct change *at;

	if (!now == !then && (!now || same(now, then)))
		return;
	c->list = grow(c->list, c->count, &c->cap, sizeof(*c->list));
	at = &c->list[c->count++];
	*at = (struct change){
		.path = xstrdup(path), .is = now, .will_be = then, .own_dirs = own_dirs};
	if (now)
		copy(&at->now, now);
	if (then)
		copy(&at->then, then);
}

/* True if the file is `base` with our part, of any version: without the part, both are the same. */
static bool is_made_of(const struct str *base, const struct str *now, const struct edit *e)
{
	CLEANUP(str_fini) struct str made = {0};
	CLEANUP(str_fini) struct str left = {0};

	copy(&made, base);
	copy(&left, now);
	return e->add(&made, e->context, NULL) == 0 &&
	       e->remove(&made, base, e->context, NULL) == 0 &&
	       e->remove(&left, base, e->context, NULL) == 0 && same(&made, &left);
}

/* Builds the file without our part. Returns 1, 0 if there would be no file, -1. */
static int find_base(const struct str *now, const struct str *kept, const struct edit *e,
		     struct str *ret, struct err *err)
{
	static const struct str nothing;

	copy(ret, kept ? kept : now);
	if (kept && is_made_of(kept, now, e))
		return 1;
	copy(ret, now);
	if (e->remove(ret, kept, e->context, err) < 0)
		return -1;
	if (same(ret, now)) /* without a part of ours */
		return 1;
	return is_made_of(&nothing, now, e) ? 0 : 1;
}

/* True if our part can be removed exactly, without a copy of the file. */
static bool is_exact(const struct str *base, const struct str *put, const struct edit *e)
{
	CLEANUP(str_fini) struct str found = {0};

	return find_base(put, NULL, e, &found, NULL) == 1 && same(&found, base);
}

int change_plan(struct changes *c, int rootfd, const char *path, const struct edit *e, bool install,
		struct err *err)
{
	CLEANUP(free) char *kept_path = xasprintf("%s" KEPT, path);
	CLEANUP(str_fini) struct str now = {0};
	CLEANUP(str_fini) struct str kept = {0};
	CLEANUP(str_fini) struct str base = {0};
	CLEANUP(str_fini) struct str then = {0};
	int is = change_read(rootfd, path, &now, err);
	int is_kept = is < 0 ? -1 : change_read(rootfd, kept_path, &kept, err);
	int was = is_kept < 0 ? -1 : 0;
	bool keep;

	if (was == 0 && is)
		was = find_base(&now, is_kept ? &kept : NULL, e, &base, err);
	if (was < 0)
		return err_wrap(err, "/%s", path);
	if (was)
		copy(&then, &base);
	if (install && e->add(&then, e->context, err) < 0)
		return err_wrap(err, "/%s", path);
	keep = install && was && !is_exact(&base, &then, e);
	if (keep)
		add(c, kept_path, is_kept ? &kept : NULL, &base, 0);
	add(c, path, is ? &now : NULL, install || was ? &then : NULL, 0);
	if (!keep)
		add(c, kept_path, is_kept ? &kept : NULL, NULL, 0);
	return 0;
}

int change_plan_whole(struct changes *c, int rootfd, const char *path, const char *text,
		      unsigned own_dirs, struct err *err)
{
	CLEANUP(str_fini) struct str now = {0};
	CLEANUP(str_fini) struct str then = {0};
	int is = change_read(rootfd, path, &now, err);

	if (is < 0)
		return err_wrap(err, "/%s", path);
	if (text)
		str_adds(&then, text);
	add(c, path, is ? &now : NULL, text ? &then : NULL, own_dirs);
	return 0;
}

/* A descriptor that a child inherits. */
static int text_file(const struct str *text)
{
	int fd = memfd_create("text", 0);

	if (fd >= 0 && fs_write_all(fd, text->buf, text->len, NULL) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void print_diff(const struct change *c)
{
	CLEANUP(close_fd) int now = text_file(&c->now);
	CLEANUP(close_fd) int then = text_file(&c->then);
	CLEANUP(free) char *path = xasprintf("/%s", c->path);
	CLEANUP(free) char *now_path = xasprintf("/proc/self/fd/%d", now);
	CLEANUP(free) char *then_path = xasprintf("/proc/self/fd/%d", then);
	CLEANUP(str_fini) struct str out = {0};
	const char *const argv[] = {"diff",    "-au",
				    "--label", c->is ? path : "/dev/null",
				    "--label", c->will_be ? path : "/dev/null",
				    now_path,  then_path,
				    NULL};
	struct err err;
	int status = child_capture((char *const *)argv, NULL, -1, DIFF_MS, 4 * CHANGE_FILE_MAX,
				   &out, &err);

	if (status == 1)
		fputs(out.buf, stdout);
	else
		log_warn("no diff of %s: %s", path, status < 0 ? err.msg : "diff failed");
}

void changes_print(const struct changes *c)
{
	for (size_t i = 0; i < c->count; i++)
		print_diff(&c->list[i]);
}

/* ---- applying them ---- */

/* Opens the directory of the file, and makes missing ones. */
static int open_parent(int rootfd, const char *path, struct err *err)
{
	CLEANUP(free) char *copied = xstrdup(path);
	CLEANUP(close_fd) int at = openat(rootfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *part = copied, *slash;

	for (; (slash = strchr(part, '/')); part = slash + 1) {
		int next;

		*slash = '\0';
		/* Links are followed: these directories are root's. */
		next = openat(at, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (next < 0 && errno == ENOENT)
			next = fs_make_dir(at, part, 0755, err);
		else if (next < 0)
			err_set(err, errno, "open directory %s", part);
		if (next < 0)
			return -1;
		close(at);
		at = next;
	}
	return TAKE_FD(at);
}

static int make(const struct change *c, int rootfd, struct err *err)
{
	struct stat st = {.st_mode = 0644};
	const char *name = strrchr(c->path, '/');
	CLEANUP(close_fd) int dir = open_parent(rootfd, c->path, err);

	name = name ? name + 1 : c->path;
	if (dir < 0)
		return -1;
	(void)!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);
	return fs_replace_like(dir, name, &st, true, c->then.buf, c->then.len, err);
}

static int remove_file(const struct change *c, int rootfd, struct err *err)
{
	CLEANUP(free) char *path = xstrdup(c->path);
	char *slash;

	if (unlinkat(rootfd, path, 0) < 0 && errno != ENOENT)
		return err_set(err, errno, "remove");
	for (unsigned i = 0; i < c->own_dirs && (slash = strrchr(path, '/')); i++) {
		*slash = '\0';
		if (unlinkat(rootfd, path, AT_REMOVEDIR) < 0)
			break;
	}
	return 0;
}

int changes_apply(const struct changes *c, int rootfd, struct err *err)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct change *at = &c->list[i];

		if ((at->will_be ? make(at, rootfd, err) : remove_file(at, rootfd, err)) < 0)
			return err_wrap(err, "/%s", at->path);
	}
	return 0;
}
