// SPDX-License-Identifier: Apache-2.0
#include "record/session_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/str.h"
#include "record/budget.h"
#include "record/debug_files.h"

#define KALLSYMS_MAX (128u << 20)
#define LIST_MAX     (8u << 20)
#define PROCESS_MS   5000 /* of the time for all processes */
#define VDSO_NAME    "vdso"
#define PART_NAME    ".part"
#define MAPS_MS	     5000

/* ---- mapped files ------------------------------------------------------------------------- */

/* Of one call: what its budgets cut. */
struct cut_counts {
	uint32_t bytes, paths;	  /* mappings whose files are not copied */
	uint32_t processes, late; /* whose files were not looked at: too many; it took too long */
};

/* A child copies the files of one process: they may be on a file system of the container's own
 * (FUSE), whose reads may wait without limit. It adds them to its copy of the session. */
struct file_job {
	struct session *session;
	int procfd;
	uint64_t root;
	uint64_t room; /* bytes */
	int list; /* memory shared with the parent: "<name>\0<path>\0<debug>\0" for each file */
	struct cut_counts cut;
};

/* Checks the file's type on an O_PATH descriptor first: opening some devices has effects. */
int mapped_file_open(int procfd, const struct proc_map *m, struct stat *st)
{
	CLEANUP(close_fd) int at = -1;
	char path[64];

	snprintf(path, sizeof(path), "map_files/%llx-%llx", (unsigned long long)m->start,
		 (unsigned long long)m->end);
	at = openat(procfd, path, O_PATH | O_CLOEXEC);
	if (at < 0 || fstat(at, st) < 0 || !S_ISREG(st->st_mode))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Copies the data below `size`; holes stay holes. A file system that knows none has all as data. */
static int copy_data(int from, int to, off_t size, struct err *err)
{
	off_t at = 0, end;

	while ((at = lseek(from, at, SEEK_DATA)) >= 0 && at < size) {
		end = lseek(from, at, SEEK_HOLE);
		end = end > size ? size : end;
		if (end <= at || lseek(from, at, SEEK_SET) < 0 || lseek(to, at, SEEK_SET) < 0)
			return err_set(err, errno, "find the data of a file");
		if (fs_copy(from, to, (uint64_t)(end - at), err) < 0)
			return -1;
		at = end;
	}
	return ftruncate(to, size) < 0 ? err_set(err, errno, "size of a copy") : 0;
}

/* Copies a file once, by a name that identifies it on this host; by another one until it is whole.
 */
static bool copy_file(struct file_job *k, int from, const struct stat *st, const char *name)
{
	int elffd = k->session->elffd;
	CLEANUP(close_fd) int to = -1;
	struct err err;

	if (faccessat(elffd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	if ((uint64_t)st->st_size > k->room) {
		k->cut.bytes++;
		return false;
	}
	to = fs_create(elffd, PART_NAME, 0600, &err);
	if (to >= 0 && copy_data(from, to, st->st_size, &err) == 0 &&
	    renameat(elffd, PART_NAME, elffd, name) == 0) {
		k->room -= (uint64_t)st->st_size;
		return true;
	}
	unlinkat(elffd, PART_NAME, 0);
	return false;
}

/* In one write: what is listed when the child is killed is whole. */
static int list_file(int list, const char *name, const char *path, const char *debug,
		     struct err *err)
{
	CLEANUP(str_fini) struct str line = {0};

	str_add(&line, name, strlen(name) + 1);
	str_add(&line, path, strlen(path) + 1);
	str_add(&line, debug ? debug : "", debug ? strlen(debug) + 1 : 1);
	return fs_write_all(list, line.buf, line.len, err);
}

static int copy_mapping(const struct proc_map *m, void *arg)
{
	struct file_job *k = arg;
	CLEANUP(close_fd) int from = -1;
	struct stat st;
	char name[96] = VDSO_NAME;
	struct err err;

	if (!m->exec || (m->path[0] != '/' && strcmp(m->path, "[vdso]")) ||
	    session_find_elf(k->session, k->root, m->path))
		return 0;
	if (k->session->elf_count >= budget_max(BUDGET_PATHS)) {
		k->cut.paths++;
		return 0;
	}
	if (m->path[0] == '/') {
		from = mapped_file_open(k->procfd, m, &st);
		if (from < 0)
			return 0;
		snprintf(name, sizeof(name), "%llx-%llu-%lld-%lld", (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino, (long long)st.st_size,
			 (long long)st.st_mtim.tv_sec);
		if (!copy_file(k, from, &st, name))
			return 0;
	}
	session_add_elf(k->session, k->root, m->path, name, NULL);
	return list_file(k->list, name, m->path, NULL, &err);
}

/* Debug files are listed once more with their files. */
static int copy_process(void *arg, void *reply, struct err *err)
{
	struct file_job *k = arg;
	size_t known = k->session->elf_count;
	CLEANUP(close_fd) int rootfd = -1;
	int rc = proc_each_map(k->procfd, copy_mapping, k, err);

	*(struct cut_counts *)reply = k->cut;
	if (rc < 0 || k->session->elf_count == known)
		return rc;
	rootfd = proc_open_root(k->procfd, err);
	debug_files_copy(k->session, known, rootfd);
	for (const struct session_elf *e = k->session->elfs + known;
	     rc == 0 && e < k->session->elfs + k->session->elf_count; e++)
		if (e->debug)
			rc = list_file(k->list, e->name, e->path, e->debug, err);
	return rc;
}

/* Returns the text at *at and moves past it; NULL: none is whole. */
static const char *next_text(const struct str *s, size_t *at)
{
	const char *text = s->buf + *at;
	const char *end = *at < s->len ? memchr(text, '\0', s->len - *at) : NULL;

	if (!end)
		return NULL;
	*at += (size_t)(end - text) + 1;
	return text;
}

static void add_listed(struct session *s, uint64_t root, const struct str *list)
{
	const char *name, *path, *debug;

	for (size_t at = 0; (name = next_text(list, &at)) && (path = next_text(list, &at)) &&
			    (debug = next_text(list, &at));)
		session_add_elf(s, root, path, name, *debug ? debug : NULL);
}

/* Copies the files of a process in a child, and adds what it has listed. */
static void copy_in_child(struct file_job *k, struct session_process *p, int ms)
{
	CLEANUP(close_fd) int list = memfd_create("files", MFD_CLOEXEC);
	CLEANUP(str_fini) struct str files = {0};
	struct err err;

	k->list = list;
	if (list < 0)
		return;
	if (child_call(copy_process, k, &k->cut, sizeof(k->cut), ms, &err) < 0) {
		p->files_hang = err.code == ETIMEDOUT;
		unlinkat(k->session->elffd, PART_NAME, 0);
	}
	if (p->files_hang)
		log_warn("the files of process %d cannot be read, some of its frames will have no "
			 "names: %s",
			 (int)p->pid, err.msg);
	if (lseek(list, 0, SEEK_SET) == 0 && fs_read_all(list, LIST_MAX, &files, &err) == 0)
		add_listed(k->session, k->root, &files);
}

void session_copy_files(struct session *s, const pid_t *pids, size_t count)
{
	uint64_t deadline = deadline_after((int)budget_max(BUDGET_COPY_MS));
	struct cut_counts cut = {0};

	for (size_t i = 0; i < count; i++) {
		struct file_job k = {.session = s, .cut = cut};
		CLEANUP(close_fd) int procfd = -1;
		int left = deadline_ms_left(deadline);
		struct session_process *p;
		struct err err;

		procfd = proc_open(pids[i], &err);
		if (procfd < 0 || proc_ns_inode(procfd, "mnt", &k.root, &err) < 0)
			continue;
		p = session_add_process(s, pids[i], k.root);
		cut.processes += i >= budget_max(BUDGET_PROCESSES);
		cut.late += !left;
		if (!left || i >= budget_max(BUDGET_PROCESSES) || p->files_hang)
			continue;
		k.procfd = procfd;
		k.room = budget_room(BUDGET_FILE_BYTES, s->elffd);
		copy_in_child(&k, p, left < PROCESS_MS ? left : PROCESS_MS);
		cut = k.cut;
	}
	budget_cut(BUDGET_FILE_BYTES, s, cut.bytes, "mapped files are not copied");
	budget_cut(BUDGET_PATHS, s, cut.paths, "mapped files are not looked at");
	budget_cut(BUDGET_PROCESSES, s, cut.processes, "processes' files are not looked at");
	budget_cut(BUDGET_COPY_MS, s, cut.late, "processes' files are not looked at");
}

/* ---- the kernel --------------------------------------------------------------------------- */

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
	uint64_t room; /* bytes */
	uint64_t maps; /* copied */
	uint32_t cut;
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

/* Returns how much of a map to copy, up to its first hole, since it is text; counts a cut. 0: it is
 * empty, or there is no room. */
static uint64_t map_part(struct map_job *t, int fd)
{
	uint64_t most = budget_max(BUDGET_PERF_MAP_BYTES);
	off_t len = lseek(fd, 0, SEEK_HOLE);

	most = t->maps >= budget_max(BUDGET_PERF_MAPS) ? 0 : t->room < most ? t->room : most;
	if (len < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return 0;
	t->cut += (uint64_t)len > most;
	return (uint64_t)len < most ? (uint64_t)len : most;
}

/* Copies the map, by another name until it is whole. */
static int copy_perf_map(struct map_job *t, pid_t pid, struct err *err)
{
	int mapsfd = t->session->mapsfd;
	CLEANUP(close_fd) int from = open_perf_map(pid);
	CLEANUP(close_fd) int to = -1;
	uint64_t len = from < 0 ? 0 : map_part(t, from);

	if (!len)
		return 0;
	unlinkat(mapsfd, ".perf.map", 0);
	to = fs_create(mapsfd, ".perf.map", 0600, err);
	if (to < 0 || fs_copy(from, to, len, err) < 0)
		return -1;
	if (renameat(mapsfd, ".perf.map", mapsfd, map_name_of(pid).text) < 0)
		return err_set(err, errno, "rename %s", map_name_of(pid).text);
	t->room -= len;
	t->maps++;
	return 0;
}

/* One that cannot be copied does not keep the others back. The reply counts those that are cut or
 * missing. */
static int copy_perf_maps(void *arg, void *reply, struct err *err)
{
	struct map_job *t = arg;
	int rc = 0;

	for (size_t i = 0; i < t->count; i++)
		if (!has_snapshot(t->session, t->pids[i]) && copy_perf_map(t, t->pids[i], err) < 0)
			rc = -1;
	*(uint32_t *)reply = t->cut;
	return rc;
}

void session_copy_perf_maps(struct session *s, const pid_t *pids, size_t count)
{
	size_t most = (size_t)budget_max(BUDGET_PROCESSES);
	struct map_job t = {.session = s,
			    .pids = pids,
			    .count = count < most ? count : most,
			    .room = budget_room(BUDGET_CODE_BYTES, s->mapsfd)};
	uint32_t cut = 0;
	struct err err;

	if (child_call(copy_perf_maps, &t, &cut, sizeof(cut), MAPS_MS, &err) < 0)
		log_info("perf maps: %s", err.msg);
	budget_cut(BUDGET_PERF_MAPS, s, cut, "perf maps are cut or missing");
	for (size_t i = 0; i < t.count; i++)
		if (faccessat(s->mapsfd, map_name_of(pids[i]).text, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			session_register_map(s, pids[i], map_name_of(pids[i]).text);
}
