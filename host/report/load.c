// SPDX-License-Identifier: Apache-2.0
#include "report/load.h"

#include <errno.h>
#include <fcntl.h>

#include "common/filemap.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/str.h"
#include "format/format.h"
#include "format/tree.h"
#include "jfr/jfr.h"
#include "profile/read.h"
#include "report/filter.h"

#define TEXT_MAX    ((size_t)2 << 30)
#define BINARY_LOOK 4096 /* bytes; text has no 0 */

/* ---- the list ---------------------------------------------------------------------------- */

static struct input *add(struct inputs *in, const char *path)
{
	CLEANUP(str_fini) struct str clean = {0};
	struct input *new;

	str_add_clean(&clean, path, strlen(path));
	in->list = grow(in->list, in->count, &in->cap, sizeof(*in->list));
	new = &in->list[in->count++];
	*new = (struct input){.path = xstrdup(clean.buf ? clean.buf : ""),
			      .event = in->event,
			      .own = {.dirfd = -1, .mapsfd = -1, .elffd = -1}};
	return new;
}

/* The caller's session is still open, and may have been renamed. */
static int open_again(const struct session *s)
{
	return s->dirfd >= 0 ? openat(s->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			     : open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

enum event_kind event_kind_of(enum session_event event)
{
	static const enum event_kind kinds[SESSION_EVENTS] = {
		[SESSION_CPU] = EVENT_CPU,	   [SESSION_ALLOC] = EVENT_ALLOC,
		[SESSION_LOCK] = EVENT_LOCK,	   [SESSION_SAFEPOINT] = EVENT_SAFEPOINT,
		[SESSION_COMPILE] = EVENT_COMPILE, [SESSION_DEOPT] = EVENT_DEOPT,
		[SESSION_PERF] = EVENT_PERF,	   [SESSION_WALL] = EVENT_CLOCK,
	};

	return kinds[event];
}

/* The event of a session that is drawn as this kind. False: none is. */
static bool recorded_as(enum event_kind kind, enum session_event *ret)
{
	for (unsigned i = 0; i < SESSION_EVENTS; i++)
		if (event_kind_of(i) == kind) {
			*ret = i;
			return true;
		}
	return false;
}

static const char *tree_of(const struct input *in)
{
	enum session_event event;

	return recorded_as(in->event, &event) ? session_tree(event) : "";
}

/* Bytes of the recording, or of what is left of it. */
static uint64_t size_of(const struct input *in, const struct session *s)
{
	CLEANUP(close_fd) int dirfd = open_again(s);
	struct stat st;

	return fstatat(dirfd, "perf.data", &st, 0) == 0 || fstatat(dirfd, tree_of(in), &st, 0) == 0
		       ? (uint64_t)st.st_size
		       : 0;
}

void inputs_add_session(struct inputs *in, const struct session *s)
{
	struct input *new = add(in, s->dir);

	new->session = s;
	new->size = size_of(new, s);
}

static int add_directory(struct inputs *in, const char *path, struct err *err)
{
	enum session_event event;
	struct session s;
	struct input *new;

	if (session_open(path, &s, err) < 0)
		return -1;
	if (!recorded_as(in->event, &event) || !(s.events & 1u << event)) {
		session_fini(&s);
		return err_set(err, 0, "%s: has no events %s", path, event_names[in->event].name);
	}
	/* Thousands of inputs are possible: the directories are opened again for reading. */
	cleanup_close_fd(&s.dirfd);
	cleanup_close_fd(&s.mapsfd);
	cleanup_close_fd(&s.elffd);
	s.dirfd = s.mapsfd = s.elffd = -1;
	new = add(in, path);
	new->own = s;
	new->size = size_of(new, &s);
	return 0;
}

/* The first bytes of a regular file. Returns how many; 0: it is another one, or cannot be read. */
static size_t read_head(const char *path, const struct stat *st, char *head, size_t size)
{
	CLEANUP(close_fd) int fd = S_ISREG(st->st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	const ssize_t n = fd < 0 ? 0 : read(fd, head, size);

	return n > 0 ? (size_t)n : 0;
}

/* Both are called "wall": JFR has samples of the wall clock, all others have its time. They cannot
 * be added up. */
static int choose_wall(struct inputs *in, const char *path, bool is_jfr, struct err *err)
{
	const enum event_kind kind = is_jfr ? EVENT_WALL : EVENT_CLOCK;

	if (in->count && in->event != kind)
		return err_set(err, 0,
			       "%s: samples of the wall clock (JFR) and its time cannot be "
			       "added up",
			       path);
	in->event = kind;
	return 0;
}

int inputs_add(struct inputs *in, const char *path, struct err *err)
{
	struct input *new;
	struct stat st;
	char head[8];
	size_t n;

	if (stat(path, &st) < 0)
		return err_set(err, errno, "open %s", path);
	n = read_head(path, &st, head, sizeof(head));
	if ((in->event == EVENT_WALL || in->event == EVENT_CLOCK) &&
	    choose_wall(in, path, jfr_is(head, n), err) < 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		return add_directory(in, path, err);
	new = add(in, path);
	new->file = xstrdup(path);
	new->is_text = !jfr_is(head, n) && !pprof_is(head, n);
	new->size = (uint64_t)st.st_size;
	return 0;
}

void inputs_fini(struct inputs *in)
{
	for (size_t i = 0; i < in->count; i++) {
		free(in->list[i].path);
		free(in->list[i].file);
		session_fini(&in->list[i].own);
	}
	free(in->list);
	*in = (struct inputs){0};
}

/* The list moves while it grows: keep no pointer into it. */
const struct session *input_session(const struct input *in)
{
	return in->file ? NULL : in->session ? in->session : &in->own;
}

/* ---- events ------------------------------------------------------------------------------ */

int event_parse(const char *name, enum event_kind *ret, struct err *err)
{
	for (int i = 0; i < EVENT_KINDS; i++)
		if (!strcmp(event_names[i].name, strcmp(name, "gc") ? name : "safepoint")) {
			*ret = (enum event_kind)i;
			return 0;
		}
	return err_set(err, 0,
		       "--event %s: must be cpu, native, wall, alloc, lock, safepoint, "
		       "compile, deopt or perf",
		       name);
}

void events_add_others(const uint64_t events[EVENT_KINDS], enum event_kind drawn, struct str *ret)
{
	const char *separator = "";

	for (int i = 0; i < EVENT_KINDS; i++)
		if (events[i] && i != (int)drawn) {
			str_addf(ret, "%s%llu %s", separator, (unsigned long long)events[i],
				 event_names[i].name);
			separator = ", ";
		}
}

json_t *events_json(const uint64_t events[EVENT_KINDS])
{
	json_t *ret = json_array();

	for (int i = 0; i < EVENT_KINDS; i++)
		if (events[i])
			json_array_append_new(ret,
					      json_pack("{ss ss sI}", "event", event_names[i].name,
							"unit", event_names[i].unit, "events",
							(json_int_t)events[i]));
	return ret;
}

/* ---- names ------------------------------------------------------------------------------- */

const char *input_name(const struct input *in)
{
	const struct session *s = input_session(in);

	return s ? s->label : in->path;
}

char *input_title(const struct input *in)
{
	const struct session *s = input_session(in);

	if (s && in->event != EVENT_CPU)
		return xasprintf("%s: %s in %.1f s", s->label,
				 in->event == EVENT_PERF && s->perf_event
					 ? s->perf_event
					 : event_names[in->event].text,
				 s->duration);
	if (s)
		return xasprintf("%s: %.1f s at %u Hz", s->label, s->duration, s->frequency);
	if (in->event != EVENT_CPU)
		return xasprintf("%s: %s", in->path, event_names[in->event].text);
	return xstrdup(in->path);
}

double input_busy(const struct inputs *in, size_t i)
{
	const struct session *s = input_session(&in->list[i]);

	return s && in->event == EVENT_CPU && !filter_has_times(in->filter) && s->duration > 0
		       ? s->duration * s->frequency
		       : 0;
}

char *input_subtitle(const struct input *in)
{
	const struct session *s = input_session(in);
	CLEANUP(str_fini) struct str out = {0};

	if (!s)
		return xstrdup("");
	str_addf(&out, "%.12s · %s", s->container_id, s->started);
	for (size_t i = 0; i < s->jvm_count; i++)
		str_addf(&out, " · JVM %d%s%s", (int)s->jvms[i].pid,
			 s->jvms[i].version[0] ? " Java " : "", s->jvms[i].version);
	return TAKE_PTR(out.buf);
}

/* ---- opening --------------------------------------------------------------------------- */

static void add_fd(struct open_input *o, int *fd)
{
	*fd = -1;
	o->fds[o->fd_count++] = fd;
}

void input_prepare(const struct input *in, struct open_input *ret)
{
	const struct session *s = input_session(in);
	struct open_input o = {.recording = {.perf_fd = -1, .kallsyms_fd = -1}};
	enum session_event event;

	o.fds = xcalloc(2 + (s ? s->map_count + 2 * s->elf_count : 0), sizeof(int *));
	if (s) {
		o.maps = xcalloc(s->map_count, sizeof(*o.maps));
		o.elfs = xcalloc(s->elf_count, sizeof(*o.elfs));
		o.recording.maps = o.maps;
		o.recording.map_count = s->map_count;
		o.recording.elfs = o.elfs;
		o.recording.elf_count = s->elf_count;
		o.recording.processes = s->processes;
		o.recording.process_count = s->process_count;
		o.recording.threads = s->threads;
		o.recording.thread_count = s->thread_count;
		o.recording.began = s->began_us * 1000;
		if (!recorded_as(in->event, &event))
			event = SESSION_CPU;
		o.recording.by_period = event == SESSION_PERF && !s->in_kernel;
		o.recording.has_tasks = s->in_kernel && s->events & (1u << SESSION_COMPILE |
								     1u << SESSION_SAFEPOINT);
		o.recording.event = o.recording.by_period ? SESSION_CPU : event;
		o.recording.only_processes = s->whole_machine && s->process_count;
	}
	*ret = o;
	add_fd(ret, &ret->recording.perf_fd);
	add_fd(ret, &ret->recording.kallsyms_fd);
	for (size_t i = 0; s && i < s->map_count; i++) {
		ret->maps[i] = s->maps[i];
		add_fd(ret, &ret->maps[i].fd);
	}
	for (size_t i = 0; s && i < s->elf_count; i++) {
		ret->elfs[i] = s->elfs[i];
		add_fd(ret, &ret->elfs[i].fd);
		add_fd(ret, &ret->elfs[i].debug_fd);
	}
}

/* Files that cannot be opened; the error is of the first. */
struct missing {
	size_t count;
	struct err why;
};

static void open_file(int dirfd, const char *name, int *ret, struct missing *m)
{
	struct err err;

	if (!name)
		return;
	*ret = fs_open_regular(dirfd, name, O_RDONLY, &err);
	if (*ret < 0 && m->count++ == 0)
		m->why = err;
}

static int open_session(const struct input *in, const struct session *s, struct open_input *o,
			struct err *err)
{
	CLEANUP(close_fd) int dir = open_again(s);
	CLEANUP(close_fd) int maps = -1;
	CLEANUP(close_fd) int elf = -1;
	struct missing m = {0};

	if (dir < 0)
		return err_set(err, errno, "open %s", s->dir);
	o->recording.perf_fd = fs_open_regular(dir, "perf.data", O_RDONLY, err);
	if (o->recording.perf_fd < 0 && err->code == ENOENT)
		o->recording.perf_fd = fs_open_regular(dir, tree_of(in), O_RDONLY, NULL);
	if (o->recording.perf_fd < 0)
		return err_wrap(err, "%s", s->dir);
	o->recording.kallsyms_fd = fs_open_regular(dir, "kallsyms", O_RDONLY, NULL);
	maps = openat(dir, "maps", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	elf = openat(dir, "elf", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (size_t i = 0; i < s->map_count; i++)
		open_file(maps, s->maps[i].name, &o->maps[i].fd, &m);
	for (size_t i = 0; i < s->elf_count; i++) {
		open_file(elf, s->elfs[i].name, &o->elfs[i].fd, &m);
		open_file(elf, s->elfs[i].debug, &o->elfs[i].debug_fd, &m);
	}
	if (m.count)
		log_warn("%s: %zu files cannot be opened, their code will have no names: %s",
			 s->dir, m.count, m.why.msg);
	return 0;
}

int input_open(const struct input *in, struct open_input *o, struct err *err)
{
	const struct session *s = input_session(in);

	if (s)
		return open_session(in, s, o, err);
	o->recording.perf_fd = open(in->file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return o->recording.perf_fd < 0 ? err_set(err, errno, "open %s", in->path) : 0;
}

void input_close(struct open_input *o)
{
	for (size_t i = 0; i < o->fd_count; i++)
		cleanup_close_fd(o->fds[i]);
	free(o->fds);
	free(o->maps);
	free(o->elfs);
	*o = (struct open_input){0};
}

/* ---- reading ----------------------------------------------------------------------------- */

static int read_tree(int fd, uint32_t origin, struct profile *profile, struct err *err)
{
	struct filemap map;
	int rc;

	if (filemap_open(fd, UINT64_MAX, &map, err) < 0)
		return -1;
	rc = tree_read_profile(map.p, map.len, origin, profile, err);
	filemap_close(&map);
	return rc;
}

static int read_session(const struct session *s, struct open_input *o, struct profile *profile,
			struct err *err)
{
	struct origin origin = {.container = s->container_name,
				.id = s->container_id,
				.pod = s->pod,
				.namespace = s->namespace,
				.host = s->host,
				.started = s->started};

	if (profile->samples)
		o->recording.origin = samples_add_origin(profile->samples, &origin);
	if (tree_is(o->recording.perf_fd))
		return read_tree(o->recording.perf_fd, o->recording.origin, profile, err);
	return profile_read(&o->recording, profile, err);
}

static int read_folded(const struct str *text, struct profile *profile, uint64_t *skipped,
		       struct err *err)
{
	size_t look = text->len < BINARY_LOOK ? text->len : BINARY_LOOK;
	uint64_t samples = 0, lines = 1;

	if (!look || !memchr(text->buf, '\0', look))
		lines = fold_read(profile->stacks, text->buf, text->len, &samples);
	if (samples == 0 && lines)
		return err_set(err, 0, "not folded text, pprof or JFR, and no session directory");
	*skipped += lines;
	profile->quality.samples += samples;
	profile->quality.unrated += samples;
	return 0;
}

static int read_file(int fd, enum event_kind event, struct profile *profile, uint64_t *skipped,
		     struct err *err)
{
	CLEANUP(str_fini) struct str text = {0};
	uint64_t before = profile->quality.samples;

	if (fs_read_all(fd, TEXT_MAX, &text, err) < 0)
		return -1;
	if (jfr_is(text.buf, text.len))
		return jfr_read(profile, text.buf, text.len, event, err);
	if (pprof_is(text.buf, text.len)) {
		if (pprof_read(profile, text.buf, text.len, event, err) < 0)
			return -1;
		profile->quality.unrated += profile->quality.samples - before;
		return 0;
	}
	if (event != EVENT_CPU)
		return err_set(err, 0,
			       "--event %s: text does not tell its event; give a session, "
			       "pprof or JFR",
			       event_names[event].name);
	return read_folded(&text, profile, skipped, err);
}

int input_check_count(const struct input *in, const struct profile *all, struct err *err)
{
	if (all->quality.samples >= COUNT_MAX)
		return err_set(err, 0, "%s: 2^53 samples or more in all", in->path);
	return 0;
}

int input_read(const struct input *in, struct open_input *o, struct profile *profile,
	       uint64_t *skipped, struct err *err)
{
	const struct session *s = input_session(in);

	if ((s ? read_session(s, o, profile, err)
	       : read_file(o->recording.perf_fd, in->event, profile, skipped, err)) < 0)
		return err_wrap(err, "%s", in->path);
	return input_check_count(in, profile, err);
}
