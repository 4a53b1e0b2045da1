// SPDX-License-Identifier: Apache-2.0
#include "bpf/builder_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/message.h"
#include "common/proc.h"
#include "common/str.h"
#include "discover/debug_link.h"
#include "discover/jvm.h"
#include "discover/mapped_files.h"

#define MEMORY_MAX  (4ull << 30)
#define SECONDS_MAX 3600 /* of a processor, with the pauses below */

/* ---- before the jail: everything is opened ------------------------------------------------ */

/* Opens the debug file of a libjvm that has no symbols; -1: it has, or there is none. */
static int open_symbols(int fd, const struct file_mapping *m, int procfd)
{
	struct debug_link own = {0};
	struct err ignored;

	return jvm_is_library(m->path) && debug_links_read(&fd, 1, &own, &ignored) == 0
		       ? debug_symbols_open(m->path, &own, procfd)
		       : -1;
}

static size_t add_file(struct builder *b, int fd, const struct stat *st,
		       const struct file_mapping *m, int procfd)
{
	for (size_t i = 0; i < b->file_count; i++)
		if (b->files[i].dev == st->st_dev && b->files[i].ino == st->st_ino) {
			close(fd);
			return i;
		}
	b->files = grow(b->files, b->file_count, &b->file_cap, sizeof(*b->files));
	b->files[b->file_count] = (struct mapped){.dev = st->st_dev,
						  .ino = st->st_ino,
						  .fd = fd,
						  .symbols = open_symbols(fd, m, procfd)};
	return b->file_count++;
}

static void open_files(struct builder *b, size_t process, int procfd,
		       const struct look_answer *maps)
{
	struct file_mapping m;
	struct stat st;

	for (size_t at = 0; mapped_file_next(maps, &at, &m);) {
		int fd = m.path[0] == '/' ? mapped_file_open(procfd, &m, &st) : -1;

		if (fd < 0)
			continue;
		b->places = grow(b->places, b->place_count, &b->place_cap, sizeof(*b->places));
		b->places[b->place_count++] =
			(struct place){process, add_file(b, fd, &st, &m, procfd), m.start};
	}
}

/* Opens it again for reading only. */
static int open_snapshots(int fd)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fd < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
}

static int open_all(struct builder *b, const struct builder_process *list, size_t count,
		    struct err *err)
{
	struct look_answer maps[BUILDER_PROCESSES_MAX];
	int procfds[BUILDER_PROCESSES_MAX];

	_Static_assert(BUILDER_PROCESSES_MAX <= LOOK_MAX, "one look");
	for (size_t i = 0; i < count; i++)
		procfds[i] = list[i].handle->procfd;
	for (size_t i = 0; i < count; i++)
		if (proc_program(procfds[i], &b->processes[i].program, err) < 0)
			b->processes[i].program = 0; /* it has ended */
	if (mapped_files_read(procfds, count, INT_MAX, deadline_after(BUILDER_OPEN_MS), maps, err) <
	    0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		b->processes[i].pid = list[i].handle->pid;
		b->processes[i].maps = openat(procfds[i], "maps", O_RDONLY | O_CLOEXEC);
		b->processes[i].snapshots = open_snapshots(list[i].snapshots);
		b->processes[i].reader.sock = list[i].asks;
		open_files(b, i, procfds[i], &maps[i]);
	}
	b->count = count;
	look_fini(maps, count);
	return 0;
}

static int enter_jail(const struct builder *b, struct err *err)
{
	CLEANUP(free) int *keep = xcalloc(1 + 3 * b->count + 2 * b->file_count, sizeof(*keep));
	struct jail jail = {.role = JAIL_TABLES,
			    .memory = MEMORY_MAX,
			    .cpu_seconds = SECONDS_MAX,
			    .keep = keep};

	keep[jail.keep_count++] = b->sock;
	for (size_t i = 0; i < b->count; i++) {
		keep[jail.keep_count++] = b->processes[i].maps;
		keep[jail.keep_count++] = b->processes[i].snapshots;
		keep[jail.keep_count++] = b->processes[i].reader.sock;
	}
	for (size_t i = 0; i < b->file_count; i++) {
		keep[jail.keep_count++] = b->files[i].fd;
		if (b->files[i].symbols >= 0)
			keep[jail.keep_count++] = b->files[i].symbols;
	}
	return jail_enter(&jail, err);
}

/* ---- in the jail -------------------------------------------------------------------------- */

static void find_probes(struct mapped *m)
{
	flat_find_probes(m->fd, m->symbols, &m->probes);
	operations_find(m->symbols >= 0 ? m->symbols : m->fd, &m->operations);
}

static const struct flat_file *rows_of(struct builder *b, size_t i, bool is_jvm)
{
	struct mapped *m = &b->files[i];
	struct err ignored;

	if (!m->read) {
		m->good = flat_add_file(b->tables, m->fd, &m->file, &ignored) == 0;
		if (is_jvm && b->probes)
			find_probes(m);
		else if (is_jvm)
			flat_find_code_probes(m->fd, &m->probes);
		m->read = true;
		cleanup_close_fd(&m->fd);
		cleanup_close_fd(&m->symbols);
	}
	return m->good ? &m->file : NULL;
}

/* A process whose mappings are read. */
struct mapping_walk {
	struct builder *b;
	size_t process;
	size_t known; /* mapped file of the path; SIZE_MAX: it is not known */
	char path[PATH_MAX];
};

static size_t file_at(const struct builder *b, size_t process, uint64_t start)
{
	for (size_t i = 0; i < b->place_count; i++)
		if (b->places[i].process == process && b->places[i].start == start)
			return b->places[i].mapped;
	return SIZE_MAX;
}

static void keep_probes(struct built *p, const struct mapped *file, const struct proc_map *m)
{
	uint64_t addr;

	if (!elfsegs_address(&file->file.segments, m->offset, &addr))
		return;
	p->probes = (struct builder_probes){.start = m->start,
					    .end = m->end,
					    .at = file->probes,
					    .operations = file->operations};
	p->probes.operations.shift = addr - m->start;
	if (file->operations.trap_reasons)
		p->flat.trap_reasons = file->operations.trap_reasons - (addr - m->start);
}

/* Of a file that is not known all is left to the copy; there is no call frame information of other
 * executable memory. */
static int add_mapping(const struct proc_map *m, void *arg)
{
	static const struct flat_file no_rows = {.block_count = 1};
	struct mapping_walk *w = arg;
	struct built *p = &w->b->processes[w->process];
	const bool is_jvm = p->is_jvm && jvm_is_library(m->path);
	const struct flat_file *f = NULL;
	size_t file;

	if (!m->exec)
		return 0;
	if (m->path[0] == '/') {
		file = file_at(w->b, w->process, m->start);
		if (file != SIZE_MAX || strcmp(w->path, m->path) != 0) {
			w->known = file;
			snprintf(w->path, sizeof(w->path), "%s", m->path);
		}
		f = w->known == SIZE_MAX ? NULL : rows_of(w->b, w->known, is_jvm);
		if (f && is_jvm)
			keep_probes(p, &w->b->files[w->known], m);
		f = f ? f : &no_rows;
	}
	flat_add_mapping(w->b->tables, &p->flat, m->start, m->end, m->offset, f);
	return 0;
}

static void add_process(struct builder *b, size_t i)
{
	struct built *p = &b->processes[i];
	CLEANUP(snapfile_free) struct snapfile *sf = builder_read(p);
	struct mapping_walk walk = {.b = b, .process = i, .known = SIZE_MAX};
	struct err ignored;

	p->is_jvm = sf && flat_add_process(b->tables, sf, &p->flat, &ignored) == 0;
	if (!p->is_jvm)
		p->flat = (struct flat_process){.mappings =
							(uint32_t)b->tables->count[FLAT_MAPPINGS]};
	if (p->maps >= 0)
		(void)proc_each_map_in(p->maps, add_mapping, &walk, &ignored);
	cleanup_close_fd(&p->maps);
}

static int tell(const struct builder *b, const struct builder_word *w)
{
	return message_send(b->sock, w, sizeof(*w), NULL, 0, 0);
}

static int tell_processes(const struct builder *b)
{
	const struct builder_word last = {.what = BUILDER_READY};

	for (size_t i = 0; i < b->count; i++) {
		const struct built *p = &b->processes[i];
		const struct builder_word w = {.what = BUILDER_PROCESS,
					       .pid = (uint32_t)p->pid,
					       .program = p->program,
					       .process = p->flat,
					       .probes = p->probes};

		/* Of a JVM without code every return address into it would be unknown. */
		if (!(p->snapshots >= 0 && !p->is_jvm) && tell(b, &w) < 0)
			return -1;
	}
	return tell(b, &last);
}

/* Asks for tables with room for all entries, and for some more, and moves them there. */
static int share(struct builder *b, struct err *err)
{
	struct builder_word w = {.what = BUILDER_ROOM};
	int maps[FLAT_TABLES + 1], rc;
	ssize_t got;
	char answer;
	size_t n;

	flat_rooms_for(b->tables, &w.rooms);
	if (tell(b, &w) < 0)
		return err_set(err, errno, "ask for tables");
	do /* questions may come before it */
		got = message_receive(b->sock, &answer, sizeof(answer), maps, ARRAY_LEN(maps), &n);
	while (got > 0 && !n);
	if (got <= 0 || n != ARRAY_LEN(maps))
		return err_set(err, 0, "no tables");
	made_list_map(&b->made, maps[FLAT_TABLES]);
	rc = flat_share(b->tables, maps, &w.rooms, b->filled, err);
	for (size_t i = 0; i < FLAT_TABLES; i++)
		close(maps[i]);
	return rc;
}

/* Fills new tables of the kernel; the processes are looked at by them from then on. No file is
 * added later. */
int builder_share(struct builder *b)
{
	struct err ignored;

	if (share(b, &ignored) < 0)
		return -1;
	b->filled = true;
	flat_forget_rows(b->tables);
	malloc_trim(0); /* there is a builder for each container, as long as it is recorded */
	return tell_processes(b);
}

/* Waits until it may begin. False: nobody wants tables any more. */
static bool wait_turn(const struct builder *b)
{
	char word;
	size_t n;

	return message_receive(b->sock, &word, sizeof(word), NULL, 0, &n) > 0;
}

static int build(struct builder *b)
{
	struct err ignored;

	if (enter_jail(b, &ignored) < 0 || !wait_turn(b))
		return 1;
	b->tables = flat_tables_new();
	for (size_t i = 0; i < b->count; i++)
		add_process(b, i);
	if (builder_share(b) < 0)
		return 1;
	builder_follow(b);
	return 0;
}

/* ---- in the caller ------------------------------------------------------------------------ */

struct start {
	const struct builder_process *list;
	size_t count;
	bool probes;
	int sock;
};

static int serve(void *arg)
{
	const struct start *s = arg;
	struct builder *b = xcalloc(1, sizeof(*b));
	struct err ignored;

	b->sock = s->sock;
	b->made = MADE_LIST_NONE;
	b->probes = s->probes;
	return open_all(b, s->list, s->count, &ignored) < 0 ? 1 : build(b);
}

int builder_start(const struct builder_process *list, size_t count, bool probes, struct child *ret,
		  int *ret_sock, struct err *err)
{
	struct start s = {list, count < BUILDER_PROCESSES_MAX ? count : BUILDER_PROCESSES_MAX,
			  probes, -1};
	int pair[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, errno, "socket");
	s.sock = pair[1];
	rc = child_fork(serve, &s, ret, err);
	close(pair[1]);
	if (rc < 0)
		close(pair[0]);
	else
		*ret_sock = pair[0];
	return rc;
}
