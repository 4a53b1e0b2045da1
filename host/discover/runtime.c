// SPDX-License-Identifier: Apache-2.0
#include "discover/runtime.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fs.h"
#include "common/proc.h"
#include "common/str.h"
#include "discover/jvm.h"

#define SECTIONS_MAX 4096
#define NAME_MAX_LEN 16
#define PROGRAM_MS   2000

struct found {
	char *libjvm;
	bool openj9;
};

static int look_at_map(const struct proc_map *m, void *arg)
{
	const char *name = strrchr(m->path, '/');
	struct found *f = arg;

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

bool runtime_has_section(int fd, const char *name)
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

static int look_at_program(void *arg, void *reply, struct err *err)
{
	CLEANUP(close_fd) int fd = openat(*(int *)arg, "exe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	(void)err;
	*(bool *)reply = fd >= 0 && runtime_has_section(fd, ".svm_heap");
	return 0;
}

/* In a child: a file system of the container's own (FUSE) can make it wait for ever. */
static bool is_native_image(int procfd)
{
	bool found = false;
	struct err err;

	return child_call(look_at_program, &procfd, &found, sizeof(found), PROGRAM_MS, &err) == 0 &&
	       found;
}

enum runtime runtime_of(int procfd, char **ret_libjvm)
{
	struct found f = {0};
	struct err err;

	*ret_libjvm = NULL;
	if (proc_each_map(procfd, look_at_map, &f, &err) < 0) {
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
