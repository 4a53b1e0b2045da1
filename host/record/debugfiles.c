// SPDX-License-Identifier: Apache-2.0
#include "record/debugfiles.h"

#include <fcntl.h>

#include "common/fs.h"
#include "common/log.h"
#include "common/str.h"
#include "record/symfile.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define DEBUG_MAX  (2ll << 30)
#define PLACES_MAX 4

/* Where the debug file of an ELF file may be, in order. */
struct places {
	char *path[PLACES_MAX];
	size_t n;
};

static void places_fini(struct places *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->path[i]);
}

/* On the host only what lies below DEBUG_ROOT: a container chooses names of its own files. */
static void places_of(const char *path, const struct symfile_link *l, bool host, struct places *ret)
{
	const char *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash - path) : 0;

	ret->n = 0;
	if (l->id_len) {
		CLEANUP(str_fini) struct str hex = {0};

		for (size_t i = 1; i < l->id_len; i++)
			str_addf(&hex, "%02x", l->id[i]);
		ret->path[ret->n++] =
			xasprintf(DEBUG_ROOT "/.build-id/%02x/%s.debug", l->id[0], hex.buf);
	}
	if (l->name[0])
		ret->path[ret->n++] = xasprintf(DEBUG_ROOT "%.*s/%s", dir, path, l->name);
	if (l->name[0] && !host) {
		ret->path[ret->n++] = xasprintf("%.*s/%s", dir, path, l->name);
		ret->path[ret->n++] = xasprintf("%.*s/.debug/%s", dir, path, l->name);
	}
}

/* A regular file, or -1; it is looked at before it is opened for reading. */
static int open_place(int rootfd, const char *path)
{
	CLEANUP(close_fd) int at = -1;
	char self[32];
	struct stat st;
	struct err err;

	at = fs_open_in_root(rootfd, path, O_PATH, &err);
	if (at < 0 || fstat(at, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > DEBUG_MAX)
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	return open(self, O_RDONLY | O_NOCTTY | O_CLOEXEC);
}

struct search {
	struct session *session;
	size_t count; /* of the files at hand */
	struct session_elf *files;
	struct symfile_link links[SYMFILE_MANY];
};

static char *copy_name(const struct session_elf *f)
{
	return xasprintf("%s.debug", f->name);
}

/* Tries the i-th place of each file that still has no debug file. */
static void try_places(struct search *s, int rootfd, bool host, size_t place)
{
	struct symfile_copy copies[SYMFILE_MANY];
	size_t of[SYMFILE_MANY], n = 0;
	bool done[SYMFILE_MANY] = {0};
	struct err err;

	for (size_t i = 0; i < s->count; i++) {
		struct session_elf *f = &s->files[i];
		CLEANUP(free) char *name = copy_name(f);
		struct places p;
		int from;

		if (s->links[i].whole || f->debug)
			continue;
		places_of(f->path, &s->links[i], host, &p);
		from = place < p.n ? open_place(rootfd, p.path[place]) : -1;
		places_fini(&p);
		if (from < 0)
			continue;
		of[n] = i;
		copies[n++] =
			(struct symfile_copy){.link = &s->links[i],
					      .from = from,
					      .to = fs_create(s->session->elffd, name, 0600, &err)};
	}
	if (n && symfile_copies(copies, n, done, &err) < 0)
		log_info("symbols of debug files: %s", err.msg);
	for (size_t i = 0; i < n; i++) {
		struct session_elf *f = &s->files[of[i]];
		CLEANUP(free) char *name = copy_name(f);

		close(copies[i].from);
		if (copies[i].to < 0)
			continue;
		close(copies[i].to);
		if (done[i])
			f->debug = TAKE_PTR(name);
		else
			unlinkat(s->session->elffd, name, 0);
	}
}

static void keep(struct search *s, int rootfd)
{
	CLEANUP(close_fd) int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fds[SYMFILE_MANY];
	struct err err;
	int rc;

	for (size_t i = 0; i < s->count; i++)
		fds[i] = fs_open_regular(s->session->elffd, s->files[i].name, O_RDONLY, &err);
	rc = symfile_links(fds, s->count, s->links, &err);
	for (size_t i = 0; i < s->count; i++)
		cleanup_close_fd(&fds[i]);
	if (rc < 0) {
		log_info("build ids: %s", err.msg);
		return;
	}
	for (size_t place = 0; place < PLACES_MAX && rootfd >= 0; place++)
		try_places(s, rootfd, false, place);
	for (size_t place = 0; place < PLACES_MAX && host >= 0; place++)
		try_places(s, host, true, place);
}

void debugfiles_keep(struct session *s, size_t first, int rootfd)
{
	struct search search = {.session = s};

	for (; first < s->elf_count; first += search.count) {
		search.files = s->elfs + first;
		search.count =
			s->elf_count - first < SYMFILE_MANY ? s->elf_count - first : SYMFILE_MANY;
		keep(&search, rootfd);
	}
}

int debugfiles_open(const char *path, const struct symfile_link *l, int rootfd)
{
	CLEANUP(close_fd) int hostfd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int roots[] = {rootfd, hostfd}, fd = -1;

	for (size_t i = 0; i < ARRAY_LEN(roots) && fd < 0; i++) {
		struct places p;

		places_of(path, l, i > 0, &p);
		for (size_t k = 0; k < p.n && roots[i] >= 0 && fd < 0; k++)
			fd = open_place(roots[i], p.path[k]);
		places_fini(&p);
	}
	return fd;
}
