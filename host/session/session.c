// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>

#include "common/fs.h"
#include "common/str.h"

static int open_parts(struct session *s, struct err *err)
{
	s->mapsfd = fs_make_dir(s->dirfd, "maps", 0700, err);
	s->elffd = s->mapsfd < 0 ? -1 : fs_make_dir(s->dirfd, "elf", 0700, err);
	return s->elffd < 0 ? -1 : 0;
}

int session_create(const struct outdir *in, const char *name, struct session *ret, struct err *err)
{
	struct session s = {
		.mapsfd = -1, .elffd = -1, .events = 1u << SESSION_CPU, .cpu = SESSION_CPU_UNKNOWN};
	struct outdir dir;

	if (outdir_make(in, name, &dir, err) < 0)
		return -1;
	s.dirfd = dir.fd;
	s.dir = dir.path;
	(void)flock(s.dirfd, LOCK_SH);
	if (open_parts(&s, err) < 0) {
		session_fini(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

bool session_is_recorded(int dirfd)
{
	if (flock(dirfd, LOCK_EX | LOCK_NB) < 0)
		return true;
	(void)flock(dirfd, LOCK_UN);
	return false;
}

int session_remove(int dirfd, const char *name, struct err *err)
{
	CLEANUP(close_fd)
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, errno, "open %s", name);
	if (faccessat(fd, "session.json", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(err, 0, "%s is not a session: it has no session.json", name);
	if (session_is_recorded(fd))
		return err_set(err, 0, "another dfg records into %s", name);
	return fs_remove_tree(dirfd, name) < 0 ? err_set(err, errno, "remove %s", name) : 0;
}

char *container_label(const char *namespace, const char *pod, const char *name)
{
	return *pod ? xasprintf("%s%s%s/%s", namespace, *namespace ? "/" : "", pod, name)
		    : xstrdup(name);
}

static void container_fini(struct session *s)
{
	free(s->container_id);
	free(s->container_name);
	free(s->pod);
	free(s->namespace);
	free(s->host);
	free(s->label);
}

void session_set_container(struct session *s, const char *id, const char *name, const char *pod,
			   const char *namespace, const char *host)
{
	container_fini(s);
	s->container_id = xstrdup(id);
	s->container_name = xstrdup(name);
	s->pod = xstrdup(pod);
	s->namespace = xstrdup(namespace);
	s->host = xstrdup(host);
	s->label = container_label(namespace, pod, name);
}

/* The lists of what a recording needs to be read. */
static void lists_fini(struct session *s)
{
	for (size_t i = 0; i < s->map_count; i++)
		free(s->maps[i].name);
	for (size_t i = 0; i < s->elf_count; i++) {
		free((char *)s->elfs[i].path);
		free(s->elfs[i].name);
		free(s->elfs[i].debug);
	}
	hash_fini(&s->elf_index);
	hash_fini(&s->thread_index);
}

void session_fini(struct session *s)
{
	lists_fini(s);
	for (size_t i = 0; i < s->cut_count; i++)
		free(s->cuts[i].text);
	hash_fini(&s->process_index);
	free(s->cuts);
	free(s->jvms);
	free(s->maps);
	free(s->elfs);
	free(s->processes);
	free(s->threads);
	free(s->dir);
	container_fini(s);
	free(s->started);
	free(s->perf_event);
	free(s->failure);
	cleanup_close_fd(&s->dirfd);
	cleanup_close_fd(&s->mapsfd);
	cleanup_close_fd(&s->elffd);
	*s = (struct session){.dirfd = -1, .mapsfd = -1, .elffd = -1};
}

static void add_map(struct session *s, pid_t pid, int order, const char *name)
{
	s->maps = grow(s->maps, s->map_count, &s->map_cap, sizeof(*s->maps));
	s->maps[s->map_count++] =
		(struct session_map){.pid = pid, .order = order, .name = xstrdup(name)};
}

int session_add_map(struct session *s, pid_t pid, struct err *err)
{
	CLEANUP(free) char *name = NULL;
	int order = 0, fd;

	for (size_t i = 0; i < s->map_count; i++)
		if (s->maps[i].pid == pid && s->maps[i].order >= order)
			order = s->maps[i].order + 1;
	name = xasprintf("jvm-%d.%d.snap", (int)pid, order);
	fd = fs_create(s->mapsfd, name, 0600, err);
	if (fd >= 0)
		add_map(s, pid, order, name);
	return fd;
}

void session_register_map(struct session *s, pid_t pid, const char *name)
{
	for (size_t i = 0; i < s->map_count; i++)
		if (!strcmp(s->maps[i].name, name))
			return;
	add_map(s, pid, 0, name);
}

void session_drop_map(struct session *s, pid_t pid)
{
	size_t i = s->map_count;

	while (i > 0 && s->maps[i - 1].pid != pid)
		i--;
	if (i == 0)
		return;
	unlinkat(s->mapsfd, s->maps[i - 1].name, 0);
	free(s->maps[i - 1].name);
	memmove(&s->maps[i - 1], &s->maps[i], (s->map_count - i) * sizeof(*s->maps));
	s->map_count--;
}

struct session_process *session_find_process(const struct session *s, pid_t pid)
{
	for (struct hash_probe p = {.hash = hash_mix((uint64_t)pid)};
	     hash_next(&s->process_index, &p);)
		if (s->processes[p.index].pid == pid)
			return &s->processes[p.index];
	return NULL;
}

struct session_process *session_add_process(struct session *s, pid_t pid, uint64_t root)
{
	struct session_process *known = session_find_process(s, pid);

	if (!known) {
		s->processes = grow(s->processes, s->process_count, &s->process_cap,
				    sizeof(*s->processes));
		known = &s->processes[s->process_count++];
		hash_add(&s->process_index, hash_mix((uint64_t)pid),
			 (uint32_t)s->process_count - 1);
		*known = (struct session_process){.pid = pid};
	}
	known->root = root;
	return known;
}

void session_add_thread(struct session *s, pid_t pid, pid_t tid, pid_t nstid)
{
	struct session_thread new = {.pid = pid, .tid = tid, .nstid = nstid};
	uint64_t hash = hash_mix((uint64_t)(uint32_t)pid << 32 | (uint32_t)tid);

	for (struct hash_probe p = {.hash = hash}; hash_next(&s->thread_index, &p);)
		if (s->threads[p.index].pid == pid && s->threads[p.index].tid == tid) {
			s->threads[p.index] = new;
			return;
		}
	hash_add(&s->thread_index, hash, (uint32_t)s->thread_count);
	s->threads = grow(s->threads, s->thread_count, &s->thread_cap, sizeof(*s->threads));
	s->threads[s->thread_count++] = new;
}

struct session_elf *session_find_elf(const struct session *s, uint64_t root, const char *path)
{
	struct hash_probe p = {.hash = hash_bytes(root, path, strlen(path))};

	while (hash_next(&s->elf_index, &p))
		if (s->elfs[p.index].root == root && !strcmp(s->elfs[p.index].path, path))
			return &s->elfs[p.index];
	return NULL;
}

void session_add_elf(struct session *s, uint64_t root, const char *path, const char *name,
		     const char *debug)
{
	struct session_elf *known = session_find_elf(s, root, path);

	if (known) {
		if (!known->debug && debug)
			known->debug = xstrdup(debug);
		return;
	}
	hash_add(&s->elf_index, hash_bytes(root, path, strlen(path)), (uint32_t)s->elf_count);
	s->elfs = grow(s->elfs, s->elf_count, &s->elf_cap, sizeof(*s->elfs));
	s->elfs[s->elf_count++] = (struct session_elf){.root = root,
						       .path = xstrdup(path),
						       .name = xstrdup(name),
						       .debug = debug ? xstrdup(debug) : NULL};
}

void session_set_cut(struct session *s, const char *budget, const char *fmt, ...)
{
	struct session_cut *cut = s->cuts;
	va_list ap;

	while (cut < s->cuts + s->cut_count && cut->budget != budget)
		cut++;
	if (cut == s->cuts + s->cut_count) {
		s->cuts = grow(s->cuts, s->cut_count, &s->cut_cap, sizeof(*s->cuts));
		cut = &s->cuts[s->cut_count++];
		*cut = (struct session_cut){.budget = budget};
	}
	free(cut->text);
	va_start(ap, fmt);
	if (vasprintf(&cut->text, fmt, ap) < 0)
		cut->text = xstrdup("");
	va_end(ap);
}

const char *session_event_name(enum session_event event)
{
	static const char *const names[SESSION_EVENTS] = {"cpu",     "alloc", "lock", "safepoint",
							  "compile", "deopt", "perf", "wall"};

	return names[event];
}

enum session_event session_event_named(const char *name)
{
	for (unsigned i = 0; i < SESSION_EVENTS; i++)
		if (i != SESSION_PERF && strcasecmp(name, session_event_name(i)) == 0)
			return i;
	return SESSION_PERF;
}

const char *session_event_of(const struct session *s, enum session_event event)
{
	return event == SESSION_PERF && s->perf_event ? s->perf_event : session_event_name(event);
}

const char *session_tree(enum session_event event)
{
	static const char *const names[SESSION_EVENTS] = {
		"tree",		"tree-alloc", "tree-lock", "tree-safepoint",
		"tree-compile", "tree-deopt", "tree-perf", "tree-wall"};

	return names[event];
}

int session_strip(struct session *s, struct err *err)
{
	for (unsigned i = 0; i < SESSION_EVENTS; i++)
		if (s->events & 1u << i && faccessat(s->dirfd, session_tree(i), F_OK, 0) < 0)
			return err_set(err, errno, "find the profile %s", session_tree(i));
	if (unlinkat(s->dirfd, "perf.data", 0) < 0)
		return err_set(err, errno, "remove the recording");
	(void)unlinkat(s->dirfd, "kallsyms", 0);
	fs_remove_tree(s->dirfd, "maps");
	fs_remove_tree(s->dirfd, "elf");
	lists_fini(s);
	s->map_count = s->elf_count = s->thread_count = 0;
	return session_write(s, err);
}
