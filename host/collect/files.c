// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <errno.h>
#include <fcntl.h>

#include "debugfiles.h"
#include "dfg/fs.h"
#include "dfg/proc.h"
#include "dfg/str.h"

#define ELF_MAX	     (1u << 30)
#define KALLSYMS_MAX (128u << 20)
#define VDSO_NAME    "vdso"

struct keep {
	struct session *session;
	int procfd;
	uint64_t root;
};

/* What it is is looked up on an O_PATH descriptor first: opening some devices has effects. */
int files_open_mapped(int procfd, const struct proc_map *m, struct stat *st)
{
	CLEANUP(close_fd) int at = -1;
	char path[64];

	snprintf(path, sizeof(path), "map_files/%llx-%llx", (unsigned long long)m->start,
		 (unsigned long long)m->end);
	at = openat(procfd, path, O_PATH | O_CLOEXEC);
	if (at < 0 || fstat(at, st) < 0 || !S_ISREG(st->st_mode) || st->st_size > ELF_MAX)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* One copy per file, named after what identifies it on this host. */
static int copy_file(int elffd, int from, const char *name)
{
	CLEANUP(close_fd) int to = -1;
	struct err err;

	to = fs_create(elffd, name, 0600, &err);
	if (to < 0)
		return err.code == EEXIST ? 0 : -1;
	if (fs_copy(from, to, ELF_MAX, &err) < 0) {
		unlinkat(elffd, name, 0);
		return -1;
	}
	return 0;
}

static int keep_mapping(const struct proc_map *m, void *arg)
{
	struct keep *k = arg;
	CLEANUP(close_fd) int from = -1;
	struct stat st;
	char name[96];

	if (!m->exec)
		return 0;
	if (!strcmp(m->path, "[vdso]"))
		session_add_elf(k->session, k->root, m->path, VDSO_NAME, NULL);
	if (m->path[0] != '/')
		return 0;
	from = files_open_mapped(k->procfd, m, &st);
	if (from < 0)
		return 0;
	snprintf(name, sizeof(name), "%llx-%llu-%lld-%lld", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino, (long long)st.st_size,
		 (long long)st.st_mtim.tv_sec);
	if (copy_file(k->session->elffd, from, name) == 0)
		session_add_elf(k->session, k->root, m->path, name, NULL);
	return 0;
}

void files_keep(struct session *s, const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CLEANUP(close_fd) int procfd = -1;
		CLEANUP(close_fd) int rootfd = -1;
		size_t known = s->elf_count;
		struct keep k = {.session = s};
		struct err err;

		procfd = proc_open(pids[i], &err);
		if (procfd < 0 || proc_ns_inode(procfd, "mnt", &k.root, &err) < 0)
			continue;
		k.procfd = procfd;
		session_add_process(s, pids[i], k.root);
		(void)proc_each_map(procfd, keep_mapping, &k, &err);
		rootfd = proc_open_root(procfd, &err);
		debugfiles_keep(s, known, rootfd);
	}
}

static int is_vdso(const struct proc_map *m, void *arg)
{
	if (strcmp(m->path, "[vdso]"))
		return 0;
	*(struct proc_map *)arg = *m;
	return 1;
}

/* Every 64-bit process of this kernel has the same vdso: our own will do. */
static int keep_vdso(struct session *s, struct err *err)
{
	CLEANUP(close_fd) int procfd = proc_open(getpid(), err);
	CLEANUP(close_fd) int fd = -1;
	struct proc_map m;

	if (procfd < 0 || proc_each_map(procfd, is_vdso, &m, err) <= 0)
		return 0; /* a kernel without vdso */
	fd = fs_create(s->elffd, VDSO_NAME, 0600, err);
	if (fd < 0)
		return -1;
	return fs_write_all(fd, (const void *)(uintptr_t)m.start, m.end - m.start, err);
}

int files_keep_kernel(struct session *s, struct err *err)
{
	CLEANUP(close_fd) int from = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	CLEANUP(close_fd) int to = fs_create(s->dirfd, "kallsyms", 0600, err);

	if (to < 0)
		return -1;
	if (from >= 0 && fs_copy(from, to, KALLSYMS_MAX, err) < 0)
		return err_wrap(err, "copy /proc/kallsyms");
	return keep_vdso(s, err);
}
