// SPDX-License-Identifier: Apache-2.0
#include "report/load.h"

#include <errno.h>
#include <fcntl.h>

#include "common/fs.h"
#include "common/log.h"
#include "common/str.h"

/* ---- the list ---------------------------------------------------------------------------- */

static struct input *add(struct inputs *in, const char *path)
{
	CLEANUP(str_fini) struct str clean = {0};
	struct input *new;

	str_add_clean(&clean, path, strlen(path));
	in->list = grow(in->list, in->count, &in->cap, sizeof(*in->list));
	new = &in->list[in->count++];
	*new = (struct input){.path = xstrdup(clean.buf ? clean.buf : ""),
			      .own = {.dirfd = -1, .mapsfd = -1, .elffd = -1}};
	return new;
}

static uint64_t size_of(const char *dir, const char *name)
{
	CLEANUP(free) char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

void inputs_add_session(struct inputs *in, const struct session *s)
{
	struct input *new = add(in, s->dir);

	new->session = s;
	new->size = size_of(s->dir, "perf.data");
}

static int add_directory(struct inputs *in, const char *path, struct err *err)
{
	CLEANUP(free) char *below = xasprintf("%s/session", path);
	CLEANUP(free) char *json = xasprintf("%s/session.json", below);
	struct session s;
	struct input *new;

	if (session_open(access(json, F_OK) == 0 ? below : path, &s, err) < 0)
		return -1;
	/* There may be thousands of them: opened again when it is read. */
	cleanup_close_fd(&s.dirfd);
	cleanup_close_fd(&s.mapsfd);
	cleanup_close_fd(&s.elffd);
	s.dirfd = s.mapsfd = s.elffd = -1;
	new = add(in, path);
	new->own = s;
	new->size = size_of(s.dir, "perf.data");
	return 0;
}

int inputs_add(struct inputs *in, const char *path, struct err *err)
{
	struct input *new;
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(err, errno, "open %s", path);
	if (S_ISDIR(st.st_mode))
		return add_directory(in, path, err);
	new = add(in, path);
	new->file = xstrdup(path);
	new->size = (uint64_t)st.st_size;
	return 0;
}

void inputs_fini(struct inputs *in)
{
	for (size_t i = 0; i < in->count; i++) {
		free(in->list[i].path);
		free(in->list[i].file);
		session_fini(&in->list[i].own);
	}
	free(in->list);
	*in = (struct inputs){0};
}

/* The list moves while it grows: no pointer into it is kept. */
const struct session *input_session(const struct input *in)
{
	return in->file ? NULL : in->session ? in->session : &in->own;
}

/* ---- what it is called ------------------------------------------------------------------- */

const char *input_name(const struct input *in)
{
	const struct session *s = input_session(in);

	return s ? s->label : in->path;
}

char *input_title(const struct input *in)
{
	const struct session *s = input_session(in);

	return s ? xasprintf("%s: %.1f s at %u Hz", s->label, s->duration, s->frequency)
		 : xstrdup(in->path);
}

char *input_subtitle(const struct input *in)
{
	const struct session *s = input_session(in);
	CLEANUP(str_fini) struct str out = {0};

	if (!s)
		return xstrdup("");
	str_addf(&out, "%.12s · %s", s->container_id, s->started);
	for (size_t i = 0; i < s->jvm_count; i++)
		str_addf(&out, " · JVM %d%s%s", (int)s->jvms[i].pid,
			 s->jvms[i].version[0] ? " Java " : "", s->jvms[i].version);
	return TAKE_PTR(out.buf);
}

/* ---- opening --------------------------------------------------------------------------- */

size_t input_file_count(const struct input *in)
{
	const struct session *s = input_session(in);

	return s ? INPUT_MAPS + s->map_count + 2 * s->elf_count : 1;
}

struct opening {
	struct input_files *files;
	size_t missing;
	struct err why; /* of the first that is missing */
};

static void open_part(struct opening *o, size_t at, int dirfd, const char *name)
{
	struct err err;

	if (name)
		o->files->list[at] = fs_open_regular(dirfd, name, O_RDONLY, &err);
	if (name && o->files->list[at] < 0 && o->missing++ == 0)
		o->why = err;
}

static int open_session(const struct session *s, struct input_files *files, struct err *err)
{
	CLEANUP(close_fd) int dir = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(close_fd) int maps = -1;
	CLEANUP(close_fd) int elf = -1;
	struct opening o = {.files = files};
	struct err ignored;
	size_t at = INPUT_MAPS;

	if (dir < 0)
		return err_set(err, errno, "open %s", s->dir);
	files->list[INPUT_PERF] = fs_open_regular(dir, "perf.data", O_RDONLY, err);
	if (files->list[INPUT_PERF] < 0)
		return err_wrap(err, "%s", s->dir);
	files->list[INPUT_KALLSYMS] = fs_open_regular(dir, "kallsyms", O_RDONLY, &ignored);
	maps = openat(dir, "maps", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	elf = openat(dir, "elf", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (size_t i = 0; i < s->map_count; i++)
		open_part(&o, at++, maps, s->maps[i].name);
	for (size_t i = 0; i < s->elf_count; i++) {
		open_part(&o, at++, elf, s->elfs[i].name);
		open_part(&o, at++, elf, s->elfs[i].debug);
	}
	if (o.missing)
		log_warn("%s: %zu files cannot be opened, what is in them will have no names: %s",
			 s->dir, o.missing, o.why.msg);
	return 0;
}

int input_open(const struct input *in, struct input_files *ret, struct err *err)
{
	CLEANUP(input_close) struct input_files files = {.count = input_file_count(in)};
	const struct session *s = input_session(in);

	files.list = xcalloc(files.count, sizeof(*files.list));
	memset(files.list, -1, files.count * sizeof(*files.list));
	if (s && open_session(s, &files, err) < 0)
		return -1;
	if (!s)
		files.list[0] = open(in->file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (!s && files.list[0] < 0)
		return err_set(err, errno, "open %s", in->path);
	*ret = files;
	files = (struct input_files){0};
	return 0;
}

void input_close(struct input_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		cleanup_close_fd(&files->list[i]);
	free(files->list);
	*files = (struct input_files){0};
}
