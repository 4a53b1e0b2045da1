// SPDX-License-Identifier: Apache-2.0
#include "discover/debug_link.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/child.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/proc.h"
#include "common/str.h"
#include "elf/elfparts.h"

#define MEMORY_MAX  (2ull << 30)
#define SECONDS_MAX 30
#define MS_MAX	    60000
#define DEBUG_MAX   (2ll << 30)

/* ---- links -------------------------------------------------------------------------------- */

Elf *debug_elf_open(int fd)
{
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	GElf_Ehdr eh;

	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &eh) &&
	    eh.e_ident[EI_CLASS] == ELFCLASS64 && eh.e_ident[EI_DATA] == ELFDATA2LSB)
		return elf;
	elf_end(elf);
	return NULL;
}

struct link_job {
	const int *fds;
	size_t n;
};

static void read_link(int fd, struct debug_link *ret)
{
	Elf *elf = debug_elf_open(fd);
	struct elfparts p;

	if (!elf)
		return;
	elfparts_find(elf, &p);
	ret->whole = p.symtab != NULL;
	if (p.build_id_len >= 2 && p.build_id_len <= sizeof(ret->id)) {
		ret->id_len = (uint8_t)p.build_id_len;
		memcpy(ret->id, p.build_id, p.build_id_len);
	}
	if (p.debug_name && strlen(p.debug_name) < sizeof(ret->name)) {
		snprintf(ret->name, sizeof(ret->name), "%s", p.debug_name);
		ret->crc = p.debug_crc;
	}
	elf_end(elf);
}

static int links_child(void *arg, void *reply, struct err *err)
{
	const struct link_job *l = arg;
	struct debug_link *ret = reply;
	const struct jail jail = {.role = JAIL_ELF,
				  .memory = MEMORY_MAX,
				  .cpu_seconds = SECONDS_MAX,
				  .keep = l->fds,
				  .keep_count = l->n};

	elf_version(EV_CURRENT);
	if (jail_enter(&jail, err) < 0)
		return -1;
	for (size_t i = 0; i < l->n; i++)
		read_link(l->fds[i], &ret[i]);
	return 0;
}

/* The name becomes a part of a path on the host. */
static void check_link(struct debug_link *l)
{
	bool_clean(&l->whole);
	str_clean(l->name, sizeof(l->name));
	if (strchr(l->name, '/'))
		l->name[0] = '\0';
	if (l->id_len > sizeof(l->id))
		l->id_len = 0;
}

int debug_links_read(const int *fds, size_t n, struct debug_link *ret, struct err *err)
{
	struct link_job l = {fds, n};

	memset(ret, 0, n * sizeof(*ret));
	if (child_call(links_child, &l, ret, n * sizeof(*ret), MS_MAX, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		check_link(&ret[i]);
	return 0;
}

/* ---- files -------------------------------------------------------------------------------- */

void debug_paths_fini(struct debug_paths *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->path[i]);
}

void debug_paths_of(const char *path, const struct debug_link *l, bool host,
		    struct debug_paths *ret)
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

/* Checks the type before it opens the file for reading. */
int debug_path_open(int rootfd, const char *path)
{
	CLEANUP(close_fd) int at = fs_open_in_root(rootfd, path, O_PATH, NULL);
	CLEANUP(close_fd) int fd = -1;
	struct stat st;

	fd = fs_reopen_regular(at, &st);
	return fd >= 0 && st.st_size <= DEBUG_MAX ? TAKE_FD(fd) : -1;
}

int debug_file_open(const char *path, const struct debug_link *l, int rootfd)
{
	CLEANUP(close_fd) int hostfd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int roots[] = {rootfd, hostfd}, fd = -1;

	for (size_t i = 0; i < ARRAY_LEN(roots) && fd < 0; i++) {
		struct debug_paths p;

		debug_paths_of(path, l, i > 0, &p);
		for (size_t k = 0; k < p.n && roots[i] >= 0 && fd < 0; k++)
			fd = debug_path_open(roots[i], p.path[k]);
		debug_paths_fini(&p);
	}
	return fd;
}

int debug_symbols_open(const char *path, const struct debug_link *own, int procfd)
{
	CLEANUP(close_fd) int rootfd = -1;
	CLEANUP(close_fd) int debug = -1;
	struct debug_link its = {0};
	struct err err;

	if (own->whole || !own->id_len)
		return -1;
	rootfd = proc_open_root(procfd, &err);
	debug = debug_file_open(path, own, rootfd);
	if (debug < 0 || debug_links_read(&debug, 1, &its, &err) < 0 || !its.whole ||
	    its.id_len != own->id_len || memcmp(its.id, own->id, own->id_len) != 0)
		return -1;
	return TAKE_FD(debug);
}
