// SPDX-License-Identifier: Apache-2.0
/* session.json: written by session_write, read and checked by session_open. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>

#include "common/fs.h"
#include "common/str.h"
#include "session/session.h"

#define SESSION_VERSION 1
#define SESSION_MAX	(64u << 20)
#define CUTS_MAX	32 /* this version has fewer budgets */

static const char *const sources[] = {
	[JVM_SOURCE_UNKNOWN] = "unknown", [JVM_SOURCE_NONE] = "none", [JVM_SOURCE_AGENT] = "agent",
	[JVM_SOURCE_HOST] = "host",	  [JVM_SOURCE_MAP] = "map",
};

const char *jvm_source_name(enum jvm_source source)
{
	return sources[source];
}

static enum jvm_source parse_source(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		if (!strcmp(word, sources[i]))
			return (enum jvm_source)i;
	return JVM_SOURCE_UNKNOWN;
}

/* jansson refuses text that is not UTF-8; a path is bytes. */
static json_t *text(const char *s)
{
	CLEANUP(str_fini) struct str clean = {0};

	str_add_clean(&clean, s, strlen(s));
	return json_string(clean.buf ? clean.buf : "");
}

static json_t *container_json(const struct session *s)
{
	return json_pack("{so so so so}", "id", text(s->container_id), "name",
			 text(s->container_name), "pod", text(s->pod), "namespace",
			 text(s->namespace));
}

static json_t *jvms_json(const struct session *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->jvm_count; i++) {
		const struct session_jvm *j = &s->jvms[i];

		json_array_append_new(
			list,
			json_pack("{si si sI so ss so si si si si sI sb}", "pid", (int)j->pid,
				  "nspid", (int)j->nspid, "uid", (json_int_t)j->uid, "version",
				  text(j->version), "source", jvm_source_name(j->source), "note",
				  text(j->note), "methods", (int)j->methods, "skipped",
				  (int)j->skipped, "dump_us", (int)j->dump_us, "snapshots",
				  (int)j->snapshots, "watch_us", (json_int_t)j->watch_us,
				  "switched", (int)j->switched));
	}
	return list;
}

static json_t *files_json(const struct session *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->elf_count; i++)
		json_array_append_new(list, json_pack("{sI so ss ss*}", "root",
						      (json_int_t)s->elfs[i].root, "path",
						      text(s->elfs[i].path), "file",
						      s->elfs[i].name, "debug", s->elfs[i].debug));
	return list;
}

static json_t *maps_json(const struct session *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->map_count; i++)
		json_array_append_new(list,
				      json_pack("{si si ss}", "pid", (int)s->maps[i].pid, "order",
						s->maps[i].order, "file", s->maps[i].name));
	return list;
}

static json_t *processes_json(const struct session *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->process_count; i++)
		json_array_append_new(list, json_pack("{si sI}", "pid", (int)s->processes[i].pid,
						      "root", (json_int_t)s->processes[i].root));
	return list;
}

static json_t *threads_json(const struct session *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->thread_count; i++)
		json_array_append_new(list, json_pack("{si si si}", "pid", (int)s->threads[i].pid,
						      "tid", (int)s->threads[i].tid, "nstid",
						      (int)s->threads[i].nstid));
	return list;
}

static json_t *cuts_json(const struct session *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->cut_count; i++)
		json_array_append_new(list, text(s->cuts[i].text));
	return list;
}

/* The figures of a session, in the order of session.json. */
static const struct {
	const char *key;
	size_t at;
} cpu_figures[] = {
	{"used", offsetof(struct session_cpu, used)},
	{"limit", offsetof(struct session_cpu, limit)},
	{"processors", offsetof(struct session_cpu, processors)},
	{"throttled_periods", offsetof(struct session_cpu, throttled_periods)},
	{"throttled_seconds", offsetof(struct session_cpu, throttled_seconds)},
	{"steal", offsetof(struct session_cpu, steal)},
	{"pressure", offsetof(struct session_cpu, pressure)},
};

static double *figure_of(struct session_cpu *cpu, size_t i)
{
	return (void *)((char *)cpu + cpu_figures[i].at);
}

/* Without the figures that are not known. */
static json_t *cpu_json(struct session_cpu cpu)
{
	json_t *o = json_object();

	for (size_t i = 0; i < ARRAY_LEN(cpu_figures); i++)
		if (*figure_of(&cpu, i) >= 0)
			json_object_set_new(o, cpu_figures[i].key, json_real(*figure_of(&cpu, i)));
	return o;
}

void session_cpu_check(struct session_cpu *cpu)
{
	for (size_t i = 0; i < ARRAY_LEN(cpu_figures); i++) {
		double *figure = figure_of(cpu, i);

		if (!(*figure >= 0 && *figure < 1e9)) /* nor a number */
			*figure = -1;
	}
}

static void read_cpu(const json_t *o, struct session_cpu *ret)
{
	*ret = SESSION_CPU_UNKNOWN;
	for (size_t i = 0; i < ARRAY_LEN(cpu_figures); i++) {
		const json_t *figure = json_object_get(o, cpu_figures[i].key);

		if (json_is_number(figure))
			*figure_of(ret, i) = json_number_value(figure);
	}
	session_cpu_check(ret);
}

static json_t *events_json(const struct session *s)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < SESSION_EVENTS; i++)
		if (s->events & 1u << i)
			json_array_append_new(list, json_string(session_event_of(s, i)));
	return list;
}

int session_write(const struct session *s, struct err *err)
{
	json_t *root = json_pack(
		"{si ss so so ss sI so si sf sb si ss sI sI so so so so so so so ss*}", "version",
		SESSION_VERSION, "dfg", DFG_VERSION, "container", container_json(s), "host",
		text(s->host), "started", s->started, "began_us", (json_int_t)s->began_us, "events",
		events_json(s), "frequency", (int)s->frequency, "duration", s->duration,
		"whole_machine", (int)s->whole_machine, "stack_bytes", (int)s->stack_bytes,
		"recorder", session_recorder_name(s), "walked", (json_int_t)s->walked, "copied",
		(json_int_t)s->copied, "cpu", cpu_json(s->cpu), "jvms", jvms_json(s), "processes",
		processes_json(s), "threads", threads_json(s), "elf", files_json(s), "maps",
		maps_json(s), "cut", cuts_json(s), "failure", s->failure);
	char *out = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
	int rc;

	json_decref(root);
	if (!out)
		return err_set(err, 0, "cannot build session.json");
	rc = fs_replace_file(s->dirfd, "session.json", 0600, out, strlen(out), err);
	free(out);
	return rc;
}

/* ---- reading: the content is not trusted ---- */

static bool plain_name(const char *name)
{
	return name && *name && *name != '.' && !strchr(name, '/') && strlen(name) < 200;
}

static const char *str_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* Text for people. Whoever hands a session over may have written it. Owned. */
static char *clean_of(const json_t *o, const char *key)
{
	const char *raw = str_of(o, key);
	struct str s = {0};

	str_adds(&s, "");
	str_add_clean(&s, raw, strlen(raw));
	return s.buf;
}

static void read_clean(const json_t *o, const char *key, char *ret, size_t size)
{
	CLEANUP(free) char *text = clean_of(o, key);

	snprintf(ret, size, "%s", text);
}

static int64_t int_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static void read_jvms(struct session *s, const json_t *list)
{
	size_t i;
	json_t *o;

	json_array_foreach(list, i, o)
	{
		struct session_jvm j = {
			.pid = (pid_t)int_of(o, "pid"),
			.nspid = (pid_t)int_of(o, "nspid"),
			.uid = (uid_t)int_of(o, "uid"),
			.source = parse_source(str_of(o, "source")),
			.methods = (uint32_t)int_of(o, "methods"),
			.skipped = (uint32_t)int_of(o, "skipped"),
			.dump_us = (uint32_t)int_of(o, "dump_us"),
			.snapshots = (uint32_t)int_of(o, "snapshots"),
			.watch_us = (uint64_t)int_of(o, "watch_us"),
			.switched = json_is_true(json_object_get(o, "switched")),
		};

		read_clean(o, "version", j.version, sizeof(j.version));
		read_clean(o, "note", j.note, sizeof(j.note));
		s->jvms = grow(s->jvms, s->jvm_count, &s->jvm_cap, sizeof(j));
		s->jvms[s->jvm_count++] = j;
	}
}

static int read_lists(struct session *s, const json_t *root, struct err *err)
{
	size_t i;
	json_t *o;

	json_array_foreach(json_object_get(root, "processes"), i, o)
		session_add_process(s, (pid_t)int_of(o, "pid"), (uint64_t)int_of(o, "root"));
	json_array_foreach(json_object_get(root, "threads"), i, o) session_add_thread(
		s, (pid_t)int_of(o, "pid"), (pid_t)int_of(o, "tid"), (pid_t)int_of(o, "nstid"));
	json_array_foreach(json_object_get(root, "elf"), i, o)
	{
		const char *debug = json_string_value(json_object_get(o, "debug"));

		if (!plain_name(str_of(o, "file")) || (debug && !plain_name(debug)))
			return err_set(err, 0, "session.json: elf file %zu has no plain name", i);
		session_add_elf(s, (uint64_t)int_of(o, "root"), str_of(o, "path"),
				str_of(o, "file"), debug);
	}
	json_array_foreach(json_object_get(root, "maps"), i, o)
	{
		if (!plain_name(str_of(o, "file")))
			return err_set(err, 0, "session.json: map file %zu has no plain name", i);
		s->maps = grow(s->maps, s->map_count, &s->map_cap, sizeof(*s->maps));
		s->maps[s->map_count++] = (struct session_map){.pid = (pid_t)int_of(o, "pid"),
							       .order = (int)int_of(o, "order"),
							       .name = xstrdup(str_of(o, "file"))};
	}
	return 0;
}

static void read_container(struct session *s, const json_t *root)
{
	const json_t *o = json_object_get(root, "container");
	CLEANUP(free) char *id = clean_of(o, "id");
	CLEANUP(free) char *name = clean_of(o, "name");
	CLEANUP(free) char *pod = clean_of(o, "pod");
	CLEANUP(free) char *namespace = clean_of(o, "namespace");
	CLEANUP(free) char *host = clean_of(root, "host");

	session_set_container(s, id, name, pod, namespace, host);
}

static void read_cuts(struct session *s, const json_t *list)
{
	size_t i;
	json_t *o;

	json_array_foreach(list, i, o)
	{
		const char *raw = json_string_value(o);
		CLEANUP(str_fini) struct str clean = {0};

		if (!raw || i == CUTS_MAX)
			break;
		str_add_clean(&clean, raw, strlen(raw));
		s->cuts = grow(s->cuts, s->cut_count, &s->cut_cap, sizeof(*s->cuts));
		s->cuts[s->cut_count++] =
			(struct session_cut){.text = xstrdup(clean.buf ? clean.buf : "")};
	}
}

/* Adds an event by its name: one that is none of dfg's is perf's. */
static void add_event(struct session *s, const char *name)
{
	struct str clean = {0};

	if (session_event_named(name) != SESSION_PERF) {
		s->events |= 1u << session_event_named(name);
		return;
	}
	str_add_clean(&clean, name, strlen(name));
	s->events |= 1u << SESSION_PERF;
	free(s->perf_event);
	s->perf_event = clean.buf;
}

/* Older sessions have no list. */
static void read_events(struct session *s, const json_t *list)
{
	s->events = list ? 0 : 1u << SESSION_CPU;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));

		if (name && *name)
			add_event(s, name);
	}
}

static int read_json(struct session *s, const json_t *root, struct err *err)
{
	const char *recorder;

	if (int_of(root, "version") != SESSION_VERSION)
		return err_set(err, 0, "session.json has version %d, this dfg reads %d",
			       (int)int_of(root, "version"), SESSION_VERSION);
	read_container(s, root);
	s->started = clean_of(root, "started");
	s->began_us = (uint64_t)int_of(root, "began_us");
	read_events(s, json_object_get(root, "events"));
	s->frequency = (unsigned)int_of(root, "frequency");
	s->duration = json_number_value(json_object_get(root, "duration"));
	s->whole_machine = json_is_true(json_object_get(root, "whole_machine"));
	s->stack_bytes = (unsigned)int_of(root, "stack_bytes");
	recorder = json_string_value(json_object_get(root, "recorder"));
	s->in_kernel = recorder && !strcmp(recorder, RECORDER_BPF);
	s->walked = (uint64_t)int_of(root, "walked");
	s->copied = (uint64_t)int_of(root, "copied");
	read_cpu(json_object_get(root, "cpu"), &s->cpu);
	if (*str_of(root, "failure"))
		s->failure = clean_of(root, "failure");
	read_jvms(s, json_object_get(root, "jvms"));
	read_cuts(s, json_object_get(root, "cut"));
	return read_lists(s, root, err);
}

/* Opens `dir`, or the session in it. */
static int open_directory(const char *dir, struct session *ret, struct err *err)
{
	CLEANUP(close_fd) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(close_fd) int below = -1;
	bool is_below;

	if (fd < 0)
		return err_set(err, errno, "open session %s", dir);
	below = openat(fd, "session", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	is_below = below >= 0 && faccessat(below, "session.json", F_OK, 0) == 0;
	ret->dirfd = is_below ? TAKE_FD(below) : TAKE_FD(fd);
	ret->dir = xasprintf("%s%s", dir, is_below ? "/session" : "");
	return 0;
}

int session_parse(struct session *s, const char *text, size_t len, struct err *err)
{
	json_error_t why;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	int rc = root ? read_json(s, root, err)
		      : err_set(err, 0, "session.json: %s (line %d)", why.text, why.line);

	json_decref(root);
	return rc;
}

int session_open(const char *dir, struct session *ret, struct err *err)
{
	struct session s = {.dirfd = -1, .mapsfd = -1, .elffd = -1};
	CLEANUP(str_fini) struct str in = {0};
	int rc;

	if (open_directory(dir, &s, err) < 0)
		return -1;
	s.mapsfd = openat(s.dirfd, "maps", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	s.elffd = openat(s.dirfd, "elf", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = fs_read_file(s.dirfd, "session.json", SESSION_MAX, &in, err);
	if (rc < 0) {
		session_fini(&s);
		return err_wrap(err, "%s is not a session directory", dir);
	}
	rc = session_parse(&s, in.buf ? in.buf : "", in.len, err);
	if (rc < 0)
		session_fini(&s);
	else
		*ret = s;
	return rc;
}
