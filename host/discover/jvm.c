// SPDX-License-Identifier: Apache-2.0
#include "discover/jvm.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/proc.h"
#include "common/str.h"

#define RELEASE_MAX  (64u << 10)
#define RELEASES_MAX 5 /* directories up from libjvm.so */
#define SECTIONS_MAX 4096
#define NAME_MAX_LEN 16

#define BATCH	    64		 /* processes that one child looks at */
#define HANG_MS	    1000	 /* for files of containers that a child opens */
#define MEMORY_MAX  (1ull << 30) /* maps have up to 256 MiB */
#define SECONDS_MAX 5		 /* of a processor */

/* ---- the kind of runtime ---- */

bool jvm_is_library(const char *path)
{
	return has_suffix(path, "/libjvm.so") || has_suffix(path, "/libjvm.so (deleted)");
}

/* Evidence of a process's kind. A jailed child writes it, and may have been taken over. */
struct evidence {
	enum { LOOK_NOT_YET, LOOK_NOW, LOOK_DONE } look;
	bool openj9, native;
	char libjvm[PATH_MAX]; /* path of its libjvm.so; "": none */
};

static int check_map(const struct proc_map *m, void *arg)
{
	const char *name = strrchr(m->path, '/');
	struct evidence *e = arg;

	if (!m->exec || !name)
		return 0;
	if (!e->libjvm[0] && jvm_is_library(m->path))
		snprintf(e->libjvm, sizeof(e->libjvm), "%s", m->path);
	e->openj9 |= has_prefix(name, "/libj9vm");
	return 0;
}

static void read_maps(int fd, struct evidence *e)
{
	if (proc_each_map_in(fd, check_map, e, NULL) < 0)
		e->libjvm[0] = '\0';
}

static bool read_at(int fd, uint64_t at, void *buf, size_t len)
{
	return at <= INT64_MAX && pread(fd, buf, len, (off_t)at) == (ssize_t)len;
}

bool jvm_file_has_section(int fd, const char *name)
{
	char text[NAME_MAX_LEN];
	size_t len = strlen(name) + 1;
	Elf64_Shdr names, section;
	Elf64_Ehdr head;

	if (len > sizeof(text) || !read_at(fd, 0, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_shentsize != sizeof(section) || head.e_shnum > SECTIONS_MAX ||
	    head.e_shstrndx >= head.e_shnum ||
	    !read_at(fd, head.e_shoff + head.e_shstrndx * sizeof(names), &names, sizeof(names)))
		return false;
	for (unsigned i = 0; i < head.e_shnum; i++)
		if (read_at(fd, head.e_shoff + i * sizeof(section), &section, sizeof(section)) &&
		    read_at(fd, names.sh_offset + section.sh_name, text, len) &&
		    memcmp(text, name, len) == 0)
			return true;
	return false;
}

static void read_program(int fd, struct evidence *e)
{
	e->native = jvm_file_has_section(fd, ".svm_heap");
}

const char *runtime_note(enum runtime r)
{
	switch (r) {
	case RUNTIME_OPENJ9:
		return "OpenJ9, whose tables are not known to dfg; the map that it writes with "
		       "-Xjit:perfTool is read";
	case RUNTIME_NATIVE_IMAGE:
		return "a native image: its methods are named by the symbols of the program";
	case RUNTIME_HOTSPOT:
	case RUNTIME_NONE:
		break;
	}
	return NULL;
}

/* ---- in a jail ---- */

static int enter_jail(const int *keep, size_t n, struct err *err)
{
	const struct jail jail = {.role = JAIL_DISCOVER,
				  .memory = MEMORY_MAX,
				  .cpu_seconds = SECONDS_MAX,
				  .keep = keep,
				  .keep_count = n};

	return jail_enter(&jail, err);
}

/* A look at one file of each of some processes. */
struct look {
	const char *file; /* of the process's directory */
	void (*read)(int fd, struct evidence *e);
	const int *procfds;
	size_t count;
	struct evidence *all; /* memory shared with the child */
};

static int look_at(void *arg, void *reply, struct err *err)
{
	const struct look *l = arg;
	int fds[BATCH];

	(void)reply;
	for (size_t i = 0; i < l->count; i++) {
		fds[i] = -1;
		if (l->all[i].look == LOOK_DONE)
			continue;
		l->all[i].look = LOOK_NOW;
		fds[i] = openat(l->procfds[i], l->file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		l->all[i].look = fds[i] >= 0 ? LOOK_NOT_YET : LOOK_DONE;
	}
	if (enter_jail(fds, l->count, err) < 0)
		return -1;
	for (size_t i = 0; i < l->count; i++) {
		if (fds[i] < 0)
			continue;
		l->all[i].look = LOOK_NOW;
		l->read(fds[i], &l->all[i]);
		l->all[i].look = LOOK_DONE;
	}
	return 0;
}

static bool is_left(const struct look *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->all[i].look != LOOK_DONE)
			return true;
	return false;
}

/* Passes over the process at which a child hung or crashed. False: at none. */
static bool pass_over(const struct look *l)
{
	bool found = false;

	for (size_t i = 0; i < l->count; i++)
		if (l->all[i].look == LOOK_NOW) {
			l->all[i] = (struct evidence){.look = LOOK_DONE};
			found = true;
		}
	return found;
}

static int lesser(int a, int b)
{
	return a < b ? a : b;
}

/* A file system of a container (FUSE) can block whoever opens or reads its files without limit. */
static void look_at_all(struct look *l, int ms, uint64_t deadline)
{
	int left;

	while (is_left(l) && (left = deadline_ms_left(deadline)) > 0)
		if (child_call(look_at, l, NULL, 0, lesser(left, ms), NULL) < 0 && !pass_over(l))
			return;
}

static bool has_library(struct evidence *e)
{
	e->libjvm[sizeof(e->libjvm) - 1] = '\0';
	bool_clean(&e->openj9);
	bool_clean(&e->native);
	return e->openj9 || e->libjvm[0];
}

/* Looks at programs last and only where it must: they are files that can hang. */
static void find_evidence(const int *procfds, size_t n, struct evidence *all, uint64_t deadline)
{
	struct look maps = {"maps", read_maps, procfds, n, all};
	struct look program = {"exe", read_program, procfds, n, all};

	look_at_all(&maps, INT_MAX, deadline);
	for (size_t i = 0; i < n; i++)
		all[i].look = has_library(&all[i]) ? LOOK_DONE : LOOK_NOT_YET;
	look_at_all(&program, HANG_MS, deadline);
}

static enum runtime runtime_of(struct evidence *e)
{
	if (has_library(e))
		return e->openj9 ? RUNTIME_OPENJ9 : RUNTIME_HOTSPOT;
	return e->native ? RUNTIME_NATIVE_IMAGE : RUNTIME_NONE;
}

/* ---- the release file ---- */

struct release {
	int procfd;
	const char *libjvm; /* its path */
};

struct release_values {
	char version[64], vendor[64];
};

/* Copies the text after `key` up to the next quotation mark. */
static bool release_value(const char *text, const char *key, char ret[static 64])
{
	const char *at = strstr(text, key);

	if (!at)
		return false;
	at += strlen(key);
	snprintf(ret, 64, "%.*s", (int)strcspn(at, "\"\n"), at);
	return true;
}

/* Opens <java home>/release: libjvm is in lib/server (9 and later) or jre/lib/<arch>/server (8). */
static void open_releases(const struct release *r, int fds[static RELEASES_MAX])
{
	CLEANUP(close_fd) int rootfd = proc_open_root(r->procfd, NULL);
	CLEANUP(free) char *home = xstrdup(r->libjvm);
	char *slash = home + strlen(home);

	for (size_t up = 0; up < RELEASES_MAX; up++) {
		CLEANUP(free) char *path = NULL;
		struct stat st;

		*slash = '\0';
		slash = strrchr(home, '/');
		fds[up] = -1;
		if (!slash || rootfd < 0)
			return;
		path = xasprintf("%.*s/release", (int)(slash - home), home);
		fds[up] = fs_open_in_root(rootfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, NULL);
		if (fds[up] >= 0 && (fstat(fds[up], &st) < 0 || !S_ISREG(st.st_mode)))
			cleanup_close_fd(&fds[up]);
	}
}

/* Reads lines of KEY="value" from the nearest that names a version. */
static int read_release(void *arg, void *reply, struct err *err)
{
	struct release_values *ret = reply;
	int fds[RELEASES_MAX];

	memset(fds, -1, sizeof(fds));
	open_releases(arg, fds);
	if (enter_jail(fds, ARRAY_LEN(fds), err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		CLEANUP(str_fini) struct str text = {0};

		if (fds[i] < 0 || fs_read_all(fds[i], RELEASE_MAX, &text, err) < 0 || !text.buf ||
		    !release_value(text.buf, "JAVA_VERSION=\"", ret->version))
			continue;
		(void)release_value(text.buf, "IMPLEMENTOR=\"", ret->vendor);
		break;
	}
	return 0;
}

/* ---- a search ---- */

struct search {
	struct jvms *found;
	struct evidence *all; /* memory shared with children */
	uint64_t deadline;
	pid_t pids[BATCH];
	int procfds[BATCH]; /* -1: has ended */
	size_t count;
};

/* The file is the container's: its text is bounded, sanitised, and only shown. */
static void find_release(struct jvm *j, const char *libjvm, uint64_t deadline)
{
	struct release r = {j->procfd, libjvm};
	struct release_values values = {0};
	int left = deadline_ms_left(deadline);

	if (!left ||
	    child_call(read_release, &r, &values, sizeof(values), lesser(left, HANG_MS), NULL) < 0)
		return;
	str_clean(values.version, sizeof(values.version));
	str_clean(values.vendor, sizeof(values.vendor));
	memcpy(j->version, values.version, sizeof(j->version));
	memcpy(j->vendor, values.vendor, sizeof(j->vendor));
}

/* Adds process number i if it runs Java, which takes its descriptor then. */
static void add_jvm(struct search *s, size_t i)
{
	enum runtime runtime = runtime_of(&s->all[i]);
	struct jvms *found = s->found;
	struct proc_status st;
	struct jvm *j;

	if (runtime == RUNTIME_NONE || proc_read_status(s->procfds[i], &st, NULL) < 0)
		return;
	found->list = grow(found->list, found->count, &found->cap, sizeof(*j));
	j = &found->list[found->count++];
	*j = (struct jvm){.pid = s->pids[i],
			  .procfd = TAKE_FD(s->procfds[i]),
			  .nspid = st.nspid,
			  .uid = st.euid,
			  .gid = st.egid,
			  .runtime = runtime};
	if (s->all[i].libjvm[0])
		find_release(j, s->all[i].libjvm, s->deadline);
}

/* Looks at the processes that it has. */
static void search_go_on(struct search *s)
{
	memset(s->all, 0, s->count * sizeof(*s->all));
	find_evidence(s->procfds, s->count, s->all, s->deadline);
	for (size_t i = 0; i < s->count; i++) {
		if (s->procfds[i] >= 0)
			add_jvm(s, i);
		cleanup_close_fd(&s->procfds[i]);
	}
	s->count = 0;
}

/* procfd: becomes the search's. */
static void search_add(struct search *s, pid_t pid, int procfd)
{
	s->pids[s->count] = pid;
	s->procfds[s->count++] = procfd;
	if (s->count == BATCH)
		search_go_on(s);
}

static bool search_begin(struct search *s, uint64_t deadline, struct jvms *ret)
{
	*ret = (struct jvms){0};
	*s = (struct search){.found = ret, .deadline = deadline};
	s->all = mmap(NULL, BATCH * sizeof(*s->all), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return s->all != MAP_FAILED;
}

static void search_end(struct search *s)
{
	if (s->count)
		search_go_on(s);
	munmap(s->all, BATCH * sizeof(*s->all));
}

void jvms_find(const struct handles *p, uint64_t deadline, struct jvms *ret)
{
	struct search s;

	if (!search_begin(&s, deadline, ret))
		return;
	for (size_t i = 0; i < p->count; i++)
		search_add(&s, p->list[i].pid, fcntl(p->list[i].procfd, F_DUPFD_CLOEXEC, 0));
	search_end(&s);
}

void jvms_fini(struct jvms *j)
{
	for (size_t i = 0; i < j->count; i++)
		close(j->list[i].procfd);
	free(j->list);
	*j = (struct jvms){0};
}
