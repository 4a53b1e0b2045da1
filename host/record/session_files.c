// SPDX-License-Identifier: Apache-2.0
#include "record/session_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/proc.h"
#include "common/str.h"
#include "discover/mapped_files.h"
#include "record/budget.h"
#include "record/debug_files.h"

#define KALLSYMS_MAX (128u << 20)
#define LIST_MAX     (8u << 20)
#define PROCESS_MS   5000 /* of the time for all processes, at most */
#define VDSO_NAME    "vdso"
#define KALLSYMS     "kallsyms"
#define PART_NAME    ".part"

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
	pid_t pid;
	int procfd;
	const struct look_answer *maps;
	uint64_t root;
	uint64_t room; /* bytes */
	int list;      /* of what is copied, shared between the processes */
	struct cut_counts cut;
};

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

/* Lists a file, or with an empty name a process whose files hang (`number`: its pid). In one write:
 * what is listed when the child is killed is whole. */
static int list_file(int list, uint64_t number, const char *name, const char *path,
		     const char *debug, struct err *err)
{
	CLEANUP(str_fini) struct str line = {0};

	str_addf(&line, "%llu%c%s%c%s%c%s%c", (unsigned long long)number, 0, name, 0, path, 0,
		 debug ? debug : "", 0);
	return fs_write_all(list, line.buf, line.len, err);
}

static int copy_file_of(struct file_job *k, const struct file_mapping *m, struct err *err)
{
	CLEANUP(close_fd) int from = -1;
	struct stat st;
	char name[96] = VDSO_NAME;

	if (session_find_elf(k->session, k->root, m->path))
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
	return list_file(k->list, k->root, name, m->path, NULL, err);
}

/* Debug files are listed once more with their files. */
static int copy_process(void *arg, void *reply, struct err *err)
{
	struct file_job *k = arg;
	size_t known = k->session->elf_count;
	CLEANUP(close_fd) int rootfd = -1;
	struct file_mapping m;
	int rc = 0;

	for (size_t at = 0; rc == 0 && mapped_file_next(k->maps, &at, &m);)
		rc = copy_file_of(k, &m, err);
	*(struct cut_counts *)reply = k->cut;
	if (rc < 0 || k->session->elf_count == known)
		return rc;
	rootfd = proc_open_root(k->procfd, err);
	debug_files_copy(k->session, known, rootfd);
	for (const struct session_elf *e = k->session->elfs + known;
	     rc == 0 && e < k->session->elfs + k->session->elf_count; e++)
		if (e->debug)
			rc = list_file(k->list, k->root, e->name, e->path, e->debug, err);
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

/* Adds to the session what is listed from the offset on, which is moved to the end. */
static void add_listed(struct session *s, int list, off_t *from)
{
	CLEANUP(str_fini) struct str text = {0};
	const char *number, *name, *path, *debug;
	struct session_process *p;

	if (lseek(list, *from, SEEK_SET) < 0 || fs_read_all(list, LIST_MAX, &text, NULL) < 0)
		return;
	*from += (off_t)text.len;
	for (size_t at = 0; (number = next_text(&text, &at)) && (name = next_text(&text, &at)) &&
			    (path = next_text(&text, &at)) && (debug = next_text(&text, &at));) {
		if (*name)
			session_add_elf(s, strtoull(number, NULL, 10), path, name,
					*debug ? debug : NULL);
		else if ((p = session_find_process(s, atoi(number))))
			p->files_hang = true;
	}
}

/* Reads no file of the process again. */
static void give_up(const struct file_job *k, const struct err *why)
{
	struct session_process *p = session_find_process(k->session, k->pid);

	if (p)
		p->files_hang = true;
	(void)!list_file(k->list, (uint64_t)k->pid, "", "", NULL, NULL);
	log_warn("the files of process %d cannot be read, some of its frames will have no "
		 "names: %s",
		 (int)k->pid, why->msg);
}

/* Copies the files of a process in a child; lists it where they hang. */
static void copy_in_child(struct file_job *k, int ms)
{
	struct err err;

	k->room = budget_room(BUDGET_FILE_BYTES, k->session->elffd);
	if (child_call(copy_process, k, &k->cut, sizeof(k->cut), ms, &err) == 0)
		return;
	unlinkat(k->session->elffd, PART_NAME, 0);
	if (err.code == ETIMEDOUT && ms < PROCESS_MS) /* the time for all was over */
		k->cut.late++;
	else if (err.code == ETIMEDOUT)
		give_up(k, &err);
}

static bool has_new_file(const struct file_job *k)
{
	struct file_mapping m;

	for (size_t at = 0; mapped_file_next(k->maps, &at, &m);)
		if (!session_find_elf(k->session, k->root, m.path))
			return true;
	return false;
}

static void copy_process_files(struct file_job *k, int ms)
{
	bool new = has_new_file(k);

	k->cut.paths += mapped_files_cut(k->maps);
	if (k->maps->state == LOOK_FAILED)
		give_up(k, &k->maps->why);
	else if (k->maps->state == LOOK_LEFT || (new && !ms))
		k->cut.late++;
	else if (new)
		copy_in_child(k, ms < PROCESS_MS ? ms : PROCESS_MS);
}

static struct session_process *add_process(struct session *s, const struct handle *h,
					   uint64_t *ret_root)
{
	return proc_ns_inode(h->procfd, "mnt", ret_root, NULL) < 0
		       ? NULL /* it has ended */
		       : session_add_process(s, h->pid, *ret_root);
}

/* Copies the files of at most LOOK_MAX processes, and lists them. */
static void copy_some(struct session *s, const struct handle *processes, size_t n, int list,
		      off_t *listed, uint64_t deadline, struct cut_counts *cut)
{
	struct look_answer maps[LOOK_MAX];
	uint64_t roots[LOOK_MAX];
	int procfds[LOOK_MAX] = {0};
	struct err err;

	for (size_t i = 0; i < n; i++) {
		const struct session_process *p = add_process(s, &processes[i], &roots[i]);

		procfds[i] = p && !p->files_hang ? processes[i].procfd : -1;
	}
	if (mapped_files_read(procfds, n, PROCESS_MS, deadline, maps, &err) < 0)
		log_warn("the maps of processes cannot be read: %s", err.msg);
	for (size_t i = 0; i < n; i++) {
		struct file_job k = {.session = s,
				     .pid = processes[i].pid,
				     .procfd = procfds[i],
				     .maps = &maps[i],
				     .root = roots[i],
				     .list = list,
				     .cut = *cut};

		if (procfds[i] < 0)
			continue;
		copy_process_files(&k, deadline_ms_left(deadline));
		add_listed(s, list, listed);
		*cut = k.cut;
	}
	look_fini(maps, n);
}

/* Copies the files of all processes, and lists them. */
static void copy_all(struct session *s, const struct handles *processes, int list,
		     uint64_t deadline, struct cut_counts *cut)
{
	const size_t most = (size_t)budget_max(BUDGET_PROCESSES);
	size_t end = processes->count < most ? processes->count : most;
	off_t listed = 0;
	uint64_t root;

	for (size_t i = 0; i < end; i += LOOK_MAX)
		copy_some(s, processes->list + i, end - i < LOOK_MAX ? end - i : LOOK_MAX, list,
			  &listed, deadline, cut);
	for (size_t i = end; i < processes->count; i++)
		cut->processes += add_process(s, &processes->list[i], &root) != NULL;
}

static void note_cuts(struct session *s, const struct cut_counts *cut)
{
	budget_cut(BUDGET_FILE_BYTES, s, cut->bytes, "mapped files are not copied");
	budget_cut(BUDGET_PATHS, s, cut->paths, "mapped files are not looked at");
	budget_cut(BUDGET_PROCESSES, s, cut->processes, "processes' files are not looked at");
	budget_cut(BUDGET_COPY_MS, s, cut->late, "processes' files are not looked at");
}

void session_copy_files(struct session *s, const struct handles *processes, uint64_t deadline)
{
	CLEANUP(close_fd) int list = memfd_create("files", MFD_CLOEXEC);
	struct cut_counts cut = {0};

	if (list < 0)
		return;
	copy_all(s, processes, list, deadline, &cut);
	note_cuts(s, &cut);
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

/* From the copy in the shared directory, or from the kernel. */
static int copy_kallsyms(int shared, int dirfd, struct err *err)
{
	CLEANUP(close_fd)
	int from = shared < 0 ? -1 : openat(shared, KALLSYMS, O_RDONLY | O_CLOEXEC);
	CLEANUP(close_fd) int to = fs_create(dirfd, KALLSYMS, 0600, err);

	if (to < 0)
		return -1;
	if (from < 0)
		from = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (from >= 0 && fs_copy(from, to, KALLSYMS_MAX, err) < 0)
		return err_wrap(err, "copy /proc/kallsyms");
	return 0;
}

int session_share_kernel(int shared, struct err *err)
{
	int rc = copy_kallsyms(-1, shared, err);

	if (rc < 0)
		unlinkat(shared, KALLSYMS, 0);
	return rc;
}

int session_copy_kernel(struct session *s, int shared, struct err *err)
{
	return copy_kallsyms(shared, s->dirfd, err) < 0 ? -1 : copy_vdso(s, err);
}

/* ---- mapped files, by a process of their own ---------------------------------------------- */

struct copier {
	struct session *session;
	const struct handles *processes;
	uint64_t deadline;
	int list;
	struct cut_counts *cut; /* shared */
};

static int copy_in_background(void *arg)
{
	const struct copier *c = arg;

	copy_all(c->session, c->processes, c->list, c->deadline, c->cut);
	return 0;
}

int session_copy_begin(struct session *s, const struct handles *processes, uint64_t deadline,
		       struct session_copy *ret, struct err *err)
{
	CLEANUP(close_fd) int list = memfd_create("files", MFD_CLOEXEC);
	struct copier c = {s, processes, deadline, list, NULL};
	struct session_copy copy = {.child = {-1, -1}};
	uint64_t root;

	c.cut = mmap(NULL, sizeof(*c.cut), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (list < 0 || c.cut == MAP_FAILED)
		return err_set(err, errno, "memory for a list of files");
	for (size_t i = 0; i < processes->count; i++)
		(void)add_process(s, &processes->list[i], &root);
	if (child_fork(copy_in_background, &c, &copy.child, err) < 0) {
		munmap(c.cut, sizeof(*c.cut));
		return -1;
	}
	copy.list = TAKE_FD(list);
	copy.cut = c.cut;
	*ret = copy;
	return 0;
}

void session_copy_end(struct session_copy *c, struct session *s, uint64_t deadline)
{
	off_t from = 0;
	int status;

	if (!c->cut)
		return;
	while (c->child.pid > 0 && deadline_ms_left(deadline))
		(void)child_wait(&c->child, deadline_ms_left(deadline), &status);
	c->cut->late += c->child.pid > 0;
	child_stop(&c->child);
	unlinkat(s->elffd, PART_NAME, 0);
	add_listed(s, c->list, &from);
	note_cuts(s, c->cut);
	munmap(c->cut, sizeof(*c->cut));
	cleanup_close_fd(&c->list);
	*c = (struct session_copy){.child = {-1, -1}, .list = -1};
}
