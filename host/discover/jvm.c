// SPDX-License-Identifier: Apache-2.0
#include "discover/jvm.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/proc.h"
#include "common/str.h"
#include "discover/look.h"
#include "discover/mapped_files.h"

#define RELEASE_MAX  (64u << 10)
#define RELEASES_MAX 5 /* directories up from libjvm.so */
#define SECTIONS_MAX 4096
#define NAME_MAX_LEN 16

#define HANG_MS	    1000 /* for files of containers that a child opens */
#define MEMORY_MAX  (1ull << 30)
#define SECONDS_MAX 5 /* of a processor */

/* ---- the kind of runtime ---- */

bool jvm_is_library(const char *path)
{
	return has_suffix(path, "/libjvm.so") || has_suffix(path, "/libjvm.so (deleted)");
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
	const struct jail jail = {.role = JAIL_DISCOVER,
				  .memory = MEMORY_MAX,
				  .cpu_seconds = SECONDS_MAX,
				  .keep = fds,
				  .keep_count = ARRAY_LEN(fds)};

	memset(fds, -1, sizeof(fds));
	open_releases(arg, fds);
	if (jail_enter(&jail, err) < 0)
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

/* The file is the container's: its text is bounded, sanitised, and only shown. */
static void find_release(struct jvm *j, const char *libjvm, uint64_t deadline)
{
	struct release r = {j->procfd, libjvm};
	struct release_values values = {0};
	int left = deadline_ms_left(deadline), ms = left < HANG_MS ? left : HANG_MS;

	if (!ms || child_call(read_release, &r, &values, sizeof(values), ms, NULL) < 0)
		return;
	str_clean(values.version, sizeof(values.version));
	str_clean(values.vendor, sizeof(values.vendor));
	memcpy(j->version, values.version, sizeof(j->version));
	memcpy(j->vendor, values.vendor, sizeof(j->vendor));
}

/* ---- a search ---- */

static size_t read_program(int fd, char *answer)
{
	(void)answer;
	return jvm_file_has_section(fd, ".svm_heap");
}

/* libjvm: the path of its libjvm.so, or NULL. */
static enum runtime runtime_by_maps(const struct look_answer *maps, const char **libjvm)
{
	struct file_mapping f;
	bool openj9 = false;

	*libjvm = NULL;
	for (size_t at = 0; mapped_file_next(maps, &at, &f);) {
		const char *name = strrchr(f.path, '/');

		if (!*libjvm && jvm_is_library(f.path))
			*libjvm = f.path;
		openj9 |= name && has_prefix(name, "/libj9vm");
	}
	return openj9 ? RUNTIME_OPENJ9 : *libjvm ? RUNTIME_HOTSPOT : RUNTIME_NONE;
}

static void add_jvm(struct jvms *found, const struct handle *h, enum runtime runtime,
		    const char *libjvm, uint64_t deadline)
{
	CLEANUP(close_fd) int procfd = fcntl(h->procfd, F_DUPFD_CLOEXEC, 0);
	struct proc_status st;
	struct jvm *j;

	if (procfd < 0 || proc_read_status(procfd, &st, NULL) < 0)
		return;
	found->list = grow(found->list, found->count, &found->cap, sizeof(*j));
	j = &found->list[found->count++];
	*j = (struct jvm){.pid = h->pid,
			  .procfd = TAKE_FD(procfd),
			  .nspid = st.nspid,
			  .uid = st.euid,
			  .gid = st.egid,
			  .runtime = runtime};
	if (libjvm)
		find_release(j, libjvm, deadline);
}

bool jvms_have(const struct jvms *j, pid_t pid)
{
	for (size_t i = 0; i < j->count; i++)
		if (j->list[i].pid == pid)
			return true;
	return false;
}

/* Of at most LOOK_MAX processes. Looks at programs last and only where it must: they are files that
 * can hang. */
static void find_some(const struct handle *list, size_t n, uint64_t deadline, struct jvms *found)
{
	const struct look program = {"exe", read_program, HANG_MS};
	struct look_answer maps[LOOK_MAX], programs[LOOK_MAX];
	enum runtime runtimes[LOOK_MAX];
	const char *libjvm[LOOK_MAX];
	int procfds[LOOK_MAX] = {0};

	for (size_t i = 0; i < n; i++)
		procfds[i] = jvms_have(found, list[i].pid) ? -1 : list[i].procfd;
	(void)!mapped_files_read(procfds, n, INT_MAX, deadline, maps, NULL);
	for (size_t i = 0; i < n; i++) {
		runtimes[i] = runtime_by_maps(&maps[i], &libjvm[i]);
		if (runtimes[i] != RUNTIME_NONE)
			procfds[i] = -1;
	}
	(void)!look_at(&program, procfds, n, deadline, programs, NULL);
	for (size_t i = 0; i < n; i++) {
		if (programs[i].text.len)
			runtimes[i] = RUNTIME_NATIVE_IMAGE;
		if (runtimes[i] != RUNTIME_NONE)
			add_jvm(found, &list[i], runtimes[i], libjvm[i], deadline);
	}
	look_fini(maps, n);
	look_fini(programs, n);
}

void jvms_find(const struct handles *p, uint64_t deadline, struct jvms *found)
{
	for (size_t i = 0; i < p->count; i += LOOK_MAX)
		find_some(p->list + i, p->count - i < LOOK_MAX ? p->count - i : LOOK_MAX, deadline,
			  found);
}

void jvms_fini(struct jvms *j)
{
	for (size_t i = 0; i < j->count; i++)
		close(j->list[i].procfd);
	free(j->list);
	*j = (struct jvms){0};
}
