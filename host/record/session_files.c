// SPDX-License-Identifier: Apache-2.0
#include "record/session_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>

#include "common/child.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/str.h"
#include "record/debug_files.h"

#define ELF_MAX	     (1u << 30)
#define KALLSYMS_MAX (128u << 20)
#define LIST_MAX     (8u << 20)
#define PROCESS_MS   10000
#define VDSO_NAME    "vdso"
#define PART_NAME    ".part"
#define MAP_MAX	     (64u << 20)
#define MAPS_MS	     5000

/* A child copies the files of one process: they may be on a file system of the container's own
 * (FUSE), whose reads may wait without limit. */
struct file_job {
	int procfd;
	struct session *session;
	size_t known; /* files that the session had before */
	int list;     /* memory shared with the child: "<name>\0<path>\0" of each copied file */
};

/* Checks the file's type on an O_PATH descriptor first: opening some devices has effects. */
int mapped_file_open(int procfd, const struct proc_map *m, struct stat *st)
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

/* Copies a file once, by a name that identifies it on this host; by another one until it is whole.
 */
static int copy_file(int elffd, int from, const char *name)
{
	CLEANUP(close_fd) int to = -1;
	struct err err;

	if (faccessat(elffd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	to = fs_create(elffd, PART_NAME, 0600, &err);
	if (to >= 0 && fs_copy(from, to, ELF_MAX, &err) >= 0 &&
	    renameat(elffd, PART_NAME, elffd, name) == 0)
		return 0;
	unlinkat(elffd, PART_NAME, 0);
	return -1;
}

static int copy_mapping(const struct proc_map *m, void *arg)
{
	const struct file_job *k = arg;
	CLEANUP(close_fd) int from = -1;
	struct stat st;
	char name[96] = VDSO_NAME;
	struct err err;

	if (!m->exec || (m->path[0] != '/' && strcmp(m->path, "[vdso]")))
		return 0;
	if (m->path[0] == '/') {
		from = mapped_file_open(k->procfd, m, &st);
		if (from < 0)
			return 0;
		snprintf(name, sizeof(name), "%llx-%llu-%lld-%lld", (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino, (long long)st.st_size,
			 (long long)st.st_mtim.tv_sec);
		if (copy_file(k->session->elffd, from, name) < 0)
			return 0;
	}
	if (fs_write_all(k->list, name, strlen(name) + 1, &err) < 0 ||
	    fs_write_all(k->list, m->path, strlen(m->path) + 1, &err) < 0)
		return -1;
	return 0;
}

static int copy_mappings(void *arg, void *reply, struct err *err)
{
	const struct file_job *k = arg;

	(void)reply;
	return proc_each_map(k->procfd, copy_mapping, arg, err);
}

/* Lists the debug file of each new file in order, "" for none. */
static int copy_debug_files(void *arg, void *reply, struct err *err)
{
	const struct file_job *k = arg;
	CLEANUP(close_fd) int rootfd = proc_open_root(k->procfd, err);

	(void)reply;
	debug_files_copy(k->session, k->known, rootfd);
	for (size_t i = k->known; i < k->session->elf_count; i++) {
		const char *debug = k->session->elfs[i].debug ? k->session->elfs[i].debug : "";

		if (fs_write_all(k->list, debug, strlen(debug) + 1, err) < 0)
			return -1;
	}
	return 0;
}

/* Runs one of the two in a child and returns what it listed: whole texts only. */
static void in_child(int (*fn)(void *arg, void *reply, struct err *err), struct file_job *k,
		     struct session_process *p, struct str *ret)
{
	CLEANUP(close_fd) int list = memfd_create("files", MFD_CLOEXEC);
	struct err err;

	k->list = list;
	if (list < 0 || p->files_hang)
		return;
	if (child_call(fn, k, NULL, 0, PROCESS_MS, &err) < 0 && err.code == ETIMEDOUT) {
		p->files_hang = true;
		unlinkat(k->session->elffd, PART_NAME, 0);
		log_warn("the files of process %d cannot be read, some of its frames will have no "
			 "names: %s",
			 (int)p->pid, err.msg);
	}
	if (lseek(list, 0, SEEK_SET) < 0 || fs_read_all(list, LIST_MAX, ret, &err) < 0)
		str_clear(ret);
	while (ret->len && ret->buf[ret->len - 1])
		ret->len--;
}

static void copy_process(struct session *s, struct session_process *p, int procfd)
{
	CLEANUP(str_fini) struct str files = {0};
	CLEANUP(str_fini) struct str debug = {0};
	struct file_job k = {.procfd = procfd, .session = s, .known = s->elf_count};
	size_t i = k.known;

	in_child(copy_mappings, &k, p, &files);
	for (size_t at = 0; at < files.len;) {
		const char *name = files.buf + at, *path = name + strlen(name) + 1;

		if (path >= files.buf + files.len)
			break;
		session_add_elf(s, p->root, path, name, NULL);
		at = (size_t)(path - files.buf) + strlen(path) + 1;
	}
	if (s->elf_count == k.known)
		return;
	in_child(copy_debug_files, &k, p, &debug);
	for (size_t at = 0; at < debug.len; at += strlen(debug.buf + at) + 1, i++)
		if (debug.buf[at])
			s->elfs[i].debug = xstrdup(debug.buf + at);
}

void session_copy_files(struct session *s, const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CLEANUP(close_fd) int procfd = -1;
		struct session_process *p;
		struct err err;
		uint64_t root;

		procfd = proc_open(pids[i], &err);
		if (procfd < 0 || proc_ns_inode(procfd, "mnt", &root, &err) < 0)
			continue;
		p = session_add_process(s, pids[i], root);
		if (!p->files_hang)
			copy_process(s, p, procfd);
	}
}

static int is_vdso(const struct proc_map *m, void *arg)
{
	if (strcmp(m->path, "[vdso]"))
		return 0;
	*(struct proc_map *)arg = *m;
	return 1;
}

/* Copies our own vdso: it is the same in every 64-bit process of this kernel. */
static int copy_vdso(struct session *s, struct err *err)
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

static int copy_kallsyms(struct session *s, struct err *err)
{
	CLEANUP(close_fd) int from = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	CLEANUP(close_fd) int to = fs_create(s->dirfd, "kallsyms", 0600, err);

	if (to < 0)
		return -1;
	if (from >= 0 && fs_copy(from, to, KALLSYMS_MAX, err) < 0)
		return err_wrap(err, "copy /proc/kallsyms");
	return 0;
}

int session_copy_kernel(struct session *s, struct err *err)
{
	return copy_kallsyms(s, err) < 0 ? -1 : copy_vdso(s, err);
}

/* ---- perf maps --------------------------------------------------------------------------- */

struct map_job {
	const struct session *session;
	const pid_t *pids;
	size_t count;
};

struct map_name {
	char text[48];
};

static struct map_name map_name_of(pid_t pid)
{
	struct map_name n;

	snprintf(n.text, sizeof(n.text), "perf-%d.map", (int)pid);
	return n;
}

static bool has_snapshot(const struct session *s, pid_t pid)
{
	for (size_t i = 0; i < s->jvm_count; i++)
		if (s->jvms[i].pid == pid)
			return s->jvms[i].source == JVM_SOURCE_AGENT ||
			       s->jvms[i].source == JVM_SOURCE_HOST;
	return false;
}

/* Opens the process's own map, or returns -1. */
static int open_perf_map(pid_t pid)
{
	CLEANUP(close_fd) int procfd = -1;
	CLEANUP(close_fd) int rootfd = -1;
	CLEANUP(close_fd) int fd = -1;
	struct proc_status status;
	struct stat st;
	struct err err;
	char path[48];

	procfd = proc_open(pid, &err);
	if (procfd < 0 || proc_read_status(procfd, &status, &err) < 0)
		return -1;
	rootfd = proc_open_root(procfd, &err);
	if (rootfd < 0)
		return -1;
	snprintf(path, sizeof(path), "tmp/perf-%d.map", (int)status.nspid);
	fd = fs_openat2(rootfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0,
			RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, &err);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != status.euid)
		return -1;
	return TAKE_FD(fd);
}

/* Copies the map, by another name until it is whole. */
static int copy_perf_map(int mapsfd, pid_t pid, struct err *err)
{
	CLEANUP(close_fd) int from = open_perf_map(pid);
	CLEANUP(close_fd) int to = -1;

	if (from < 0)
		return 0;
	unlinkat(mapsfd, ".perf.map", 0);
	to = fs_create(mapsfd, ".perf.map", 0600, err);
	if (to < 0 || fs_copy(from, to, MAP_MAX, err) < 0)
		return -1;
	if (renameat(mapsfd, ".perf.map", mapsfd, map_name_of(pid).text) < 0)
		return err_set(err, errno, "rename %s", map_name_of(pid).text);
	return 0;
}

/* One that cannot be copied does not keep the others back. */
static int copy_perf_maps(void *arg, void *reply, struct err *err)
{
	const struct map_job *t = arg;
	int rc = 0;

	(void)reply;
	for (size_t i = 0; i < t->count; i++)
		if (!has_snapshot(t->session, t->pids[i]) &&
		    copy_perf_map(t->session->mapsfd, t->pids[i], err) < 0)
			rc = -1;
	return rc;
}

void session_copy_perf_maps(struct session *s, const pid_t *pids, size_t count)
{
	struct map_job t = {.session = s, .pids = pids, .count = count};
	struct err err;

	if (child_call(copy_perf_maps, &t, NULL, 0, MAPS_MS, &err) < 0)
		log_info("perf maps: %s", err.msg);
	for (size_t i = 0; i < count; i++)
		if (faccessat(s->mapsfd, map_name_of(pids[i]).text, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			session_register_map(s, pids[i], map_name_of(pids[i]).text);
}
