// SPDX-License-Identifier: Apache-2.0
#include "discover/jvm.h"

#include <elf.h>
#include <fcntl.h>

#include "common/child.h"
#include "common/fs.h"
#include "common/proc.h"
#include "common/str.h"

#define RELEASE_MAX  (64u << 10)
#define RELEASE_MS   2000
#define SECTIONS_MAX 4096
#define NAME_MAX_LEN 16
#define PROGRAM_MS   2000

/* ---- the kind of runtime ---- */

bool jvm_is_library(const char *path)
{
	return has_suffix(path, "/libjvm.so") || has_suffix(path, "/libjvm.so (deleted)");
}

struct mapped_libs {
	char *libjvm;
	bool openj9;
};

static int check_map(const struct proc_map *m, void *arg)
{
	const char *name = strrchr(m->path, '/');
	struct mapped_libs *f = arg;

	if (!m->exec || !name)
		return 0;
	if (!f->libjvm && jvm_is_library(m->path))
		f->libjvm = xstrdup(m->path);
	f->openj9 |= has_prefix(name, "/libj9vm");
	return 0;
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

static int check_program(void *arg, void *reply, struct err *err)
{
	CLEANUP(close_fd) int fd = openat(*(int *)arg, "exe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	(void)err;
	*(bool *)reply = fd >= 0 && jvm_file_has_section(fd, ".svm_heap");
	return 0;
}

/* Runs in a child: a file system of the container (FUSE) can block it without limit. */
static bool is_native_image(int procfd)
{
	bool found = false;

	return child_call(check_program, &procfd, &found, sizeof(found), PROGRAM_MS, NULL) == 0 &&
	       found;
}

static enum runtime runtime_of(int procfd, char **ret_libjvm)
{
	struct mapped_libs f = {0};

	*ret_libjvm = NULL;
	if (proc_each_map(procfd, check_map, &f, NULL) < 0) {
		free(f.libjvm);
		return RUNTIME_NONE;
	}
	*ret_libjvm = f.libjvm;
	if (f.openj9)
		return RUNTIME_OPENJ9;
	if (f.libjvm)
		return RUNTIME_HOTSPOT;
	return is_native_image(procfd) ? RUNTIME_NATIVE_IMAGE : RUNTIME_NONE;
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
	char *libjvm; /* its path */
};

/* Copies the text after `key` up to the next quotation mark. */
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

/* Reads <java home>/release, lines of KEY="value"; libjvm is in lib/server (9 and later) or
 * jre/lib/<arch>/server (8). The file is the container's: its text is bounded, sanitised, and only
 * shown. */
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

/* `taken`: a descriptor that the JVM takes over. */
static bool jvm_open(pid_t pid, int taken, struct jvm *ret)
{
	CLEANUP(free) char *libjvm = NULL;
	CLEANUP(close_fd) int procfd = taken;
	struct release release;
	struct proc_status st;
	enum runtime runtime;

	if (procfd < 0)
		return false;
	runtime = runtime_of(procfd, &libjvm);
	if (runtime == RUNTIME_NONE || proc_read_status(procfd, &st, NULL) < 0)
		return false;
	*ret = (struct jvm){.pid = pid,
			    .procfd = TAKE_FD(procfd),
			    .nspid = st.nspid,
			    .uid = st.euid,
			    .gid = st.egid,
			    .runtime = runtime};
	/* In a child for the same reason. */
	release = (struct release){ret->procfd, libjvm};
	if (libjvm)
		(void)!child_call(read_release, &release, ret, sizeof(*ret), RELEASE_MS, NULL);
	return true;
}

static void add(struct jvms *list, pid_t pid, int procfd)
{
	struct jvm j;

	if (!jvm_open(pid, procfd, &j))
		return;
	list->list = grow(list->list, list->count, &list->cap, sizeof(j));
	list->list[list->count++] = j;
}

void jvms_find(const pid_t *pids, size_t count, struct jvms *ret)
{
	*ret = (struct jvms){0};
	for (size_t i = 0; i < count; i++)
		add(ret, pids[i], proc_open(pids[i], NULL));
}

void jvms_find_among(const struct handles *p, struct jvms *ret)
{
	*ret = (struct jvms){0};
	for (size_t i = 0; i < p->count; i++)
		add(ret, p->list[i].pid, fcntl(p->list[i].procfd, F_DUPFD_CLOEXEC, 0));
}

void jvms_fini(struct jvms *j)
{
	for (size_t i = 0; i < j->count; i++)
		close(j->list[i].procfd);
	free(j->list);
	*j = (struct jvms){0};
}
