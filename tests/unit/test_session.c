// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "lib/sessionmake.h"
#include "lib/tap.h"
#include "session/session.h"

static char base[] = "/tmp/dfg-test-session-XXXXXX";

static void write_json(const char *dir, const char *text)
{
	struct err err;
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	ok(fs_replace_file(fd, "session.json", 0600, text, strlen(text), &err) == 0, "write json");
	close(fd);
}

static void refused(const char *dir, const char *text, const char *word)
{
	struct session s;
	struct err err;

	write_json(dir, text);
	if (ok(session_open(dir, &s, &err) < 0, "refused: %.50s", text))
		ok(strstr(err.msg, word) != NULL, "  says %s: %s", word, err.msg);
}

/* ---- the parts of a session in memory ---- */

static bool exists(const char *dir, const char *name)
{
	CLEANUP(free) char *path = xasprintf("%s/%s", dir, name);

	return access(path, F_OK) == 0;
}

static void is_mode(const char *dir, const char *name, unsigned want)
{
	CLEANUP(free) char *path = xasprintf("%s/%s", dir, name);
	struct stat st = {0};

	is_int(stat(path, &st), 0, "there is a \"%s\" in the session", name);
	is_int(st.st_mode & 07777, want, "\"%s\" is for its owner only", name);
}

static void test_create(void)
{
	CLEANUP(free) char *dir = xasprintf("%s/new", base);
	CLEANUP(free) char *twice = xasprintf("make directory %s: File exists", dir);
	struct session s, unset = {.dirfd = 77};
	struct err err = {0};

	umask(0);
	is_int(sessionmake(dir, &s, &err), 0, "a session is made");
	is_mode(dir, ".", 0700);
	is_mode(dir, "maps", 0700);
	is_mode(dir, "elf", 0700);
	ok((fcntl(s.dirfd, F_GETFD) & FD_CLOEXEC), "its descriptor is not inherited");
	is_str(s.dir, dir, "the session has its path");
	is_int(s.map_count + s.elf_count + s.process_count + s.thread_count + s.jvm_count, 0,
	       "a new session is empty");
	is_int(sessionmake(dir, &unset, &err), -1, "a directory that exists is refused");
	is_int(err.code, EEXIST, "the error is that it exists");
	is_str(err.msg, twice, "the error names the directory");
	is_int(unset.dirfd, 77, "the output of a failure is untouched");
	session_fini(&s);
	ok(s.dirfd == -1 && s.mapsfd == -1 && s.elffd == -1, "a released session has no files");
	ok(!s.dir && !s.maps && !s.map_count, "and no memory");
	session_fini(&s);
	ok(fcntl(0, F_GETFD) >= 0 || errno == EBADF, "it can be released again");
}

static void test_maps(void)
{
	CLEANUP(free) char *dir = xasprintf("%s/maps", base);
	static const char *const added[] = {"jvm-1.0.snap", "jvm-2.0.snap", "jvm-1.1.snap",
					    "jvm-1.2.snap", "jvm-2.1.snap"};
	static const char *const files[] = {"maps/jvm-1.0.snap", "maps/jvm-2.0.snap",
					    "maps/jvm-1.1.snap", "maps/jvm-1.2.snap",
					    "maps/jvm-2.1.snap"};
	static const pid_t pids[] = {1, 2, 1, 1, 2};
	struct session s;
	struct err err;

	if (sessionmake(dir, &s, &err) < 0)
		abort();
	session_drop_map(&s, 1);
	is_int(s.map_count, 0, "of a session without maps none is dropped");
	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		int fd = session_add_map(&s, pids[i], &err);

		ok(fd >= 0 && write(fd, "x", 1) == 1, "map %zu can be written", i);
		is_str(s.maps[i].name, added[i], "it is named after process and order");
		is_int(s.maps[i].pid, pids[i], "it belongs to its process");
		is_int(s.maps[i].order, added[i][6] - '0', "it has its order");
		close(fd);
		is_mode(dir, files[i], 0600);
	}
	session_drop_map(&s, 1);
	is_int(s.map_count, 4, "a map is dropped");
	is_str(s.maps[2].name, "jvm-1.1.snap", "it was not the one before");
	is_str(s.maps[3].name, "jvm-2.1.snap", "the one after it is kept");
	ok(!exists(dir, "maps/jvm-1.2.snap"), "its file is removed");
	ok(exists(dir, "maps/jvm-1.1.snap") && exists(dir, "maps/jvm-2.1.snap"),
	   "the files of the others are kept");
	session_drop_map(&s, 3);
	is_int(s.map_count, 4, "of a process without maps none is dropped");
	session_drop_map(&s, 1);
	session_drop_map(&s, 1);
	is_str(s.maps[0].name, "jvm-2.0.snap", "the first one can be dropped, too");
	is_int(s.map_count, 2, "so that two are left");
	session_register_map(&s, 9, "jvm-2.0.snap");
	is_int(s.map_count, 2, "a name that is registered is not registered again");
	session_register_map(&s, 9, "perf-9.map");
	is_int(s.maps[2].order, 0, "a registered map is the first of its process");
	is_int(s.maps[2].pid, 9, "and belongs to it");

	unlinkat(s.dirfd, "maps/jvm-9.1.snap", 0);
	close(openat(s.mapsfd, "jvm-9.1.snap", O_CREAT | O_WRONLY, 0600));
	is_int(session_add_map(&s, 9, &err), -1, "a file that exists is not taken for a new one");
	is_int(s.map_count, 3, "and not registered");
	session_fini(&s);
}

static void test_threads(void)
{
	static const struct session_thread in[] = {{1, 10, 4}, {1, 11, 6}, {2, 10, 7},
						   {1, 11, 8}, {1, 12, 9}, {1, 10, 5}};
	static const struct session_thread want[] = {
		{1, 10, 5}, {1, 11, 8}, {2, 10, 7}, {1, 12, 9}};
	struct session s = {.dirfd = -1, .mapsfd = -1, .elffd = -1};

	for (size_t i = 0; i < ARRAY_LEN(in); i++)
		session_add_thread(&s, in[i].pid, in[i].tid, in[i].nstid);
	if (is_int(s.thread_count, ARRAY_LEN(want), "a thread is added once"))
		for (size_t i = 0; i < ARRAY_LEN(want); i++)
			ok(s.threads[i].pid == want[i].pid && s.threads[i].tid == want[i].tid &&
				   s.threads[i].nstid == want[i].nstid,
			   "thread %zu has its latest ids", i);
	session_add_process(&s, 1, 10);
	session_add_process(&s, 2, 20);
	session_add_process(&s, 3, 30);
	session_add_process(&s, 2, 21);
	is_int(s.process_count, 3, "a process is added once");
	is_int(session_find_process(&s, 2)->root, 21, "it has its latest root");
	is_int(session_find_process(&s, 3)->root, 30, "the others have their own");
	ok(!session_find_process(&s, 4), "another process is not found");
	session_add_elf(&s, 1, "/a", "f1", NULL);
	session_add_elf(&s, 2, "/a", "f2", NULL);
	session_add_elf(&s, 1, "/b", "f3", "d");
	session_add_elf(&s, 1, "/b", "f4", NULL);
	is_int(s.elf_count, 3, "a file is added once for each root and path");
	is_str(s.elfs[2].name, "f3", "the first name counts");
	session_fini(&s);
}

static void test_labels(void)
{
	static const struct {
		const char *namespace, *pod, *name, *want;
	} rows[] = {{"", "", "web", "web"},
		    {"ns", "", "web", "web"},
		    {"", "pod", "web", "pod/web"},
		    {"ns", "pod", "web", "ns/pod/web"}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free)
		char *label = container_label(rows[i].namespace, rows[i].pod, rows[i].name);

		is_str(label, rows[i].want, "a container is called %s", rows[i].want);
	}
}

/* ---- session.json ---- */

static void fill(struct session *s)
{
	struct err err;
	int fd = session_add_map(s, 4711, &err);

	ok(fd >= 0, "a map");
	close(fd);
	fd = session_add_map(s, 4711, &err);
	ok(fd >= 0, "a second map of the same process");
	close(fd);
	fd = session_add_map(s, 4711, &err);
	close(fd);
	session_drop_map(s, 4711);
	session_register_map(s, 4712, "perf-4712.map");
	session_register_map(s, 4712, "perf-4712.map");
	session_add_process(s, 4711, 42);
	session_add_process(s, 4711, 43);
	session_add_elf(s, 43, "/usr/lib/libc.so.6", "1-2-3", "1-2-3.debug");
	session_add_elf(s, 43, "/usr/lib/libc.so.6", "1-2-3", "1-2-3.debug");
	session_add_elf(s, 43, "/odd\xffname\n", "1-2-4", NULL);
	session_set_container(s, "abc", "we\"b", "web-1", "shop", "db1");
	s->started = xstrdup("2026-11-21T09:50:20Z");
	s->frequency = 99;
	s->duration = 1.5;
	s->jvms = xcalloc(1, sizeof(*s->jvms));
	s->jvms[0] = (struct session_jvm){.pid = 4711,
					  .nspid = 1,
					  .uid = 3000000000,
					  .version = "17.0.15",
					  .source = JVM_SOURCE_AGENT,
					  .note = "a note",
					  .methods = 10,
					  .dump_us = 99};
	s->jvm_count = 1;
}

/* Every number and text of session.json comes back as it was. */
static void test_all_fields(void)
{
	CLEANUP(free) char *dir = xasprintf("%s/fields", base);
	struct session s, r;
	struct err err;

	if (sessionmake(dir, &s, &err) < 0)
		abort();
	session_set_container(&s, "id", "name", "", "", "host");
	s.started = xstrdup("now");
	s.began_us = 123456789;
	s.frequency = 997;
	s.stack_bytes = 16384;
	s.in_kernel = true;
	s.walked = 12345678901;
	s.copied = 7;
	s.whole_machine = true;
	s.duration = 12.3456789;
	s.cpu = (struct session_cpu){1.5, 2, 4, 0.25, 3, -1, 0};
	s.failure = xstrdup("perf ended\n");
	session_add_process(&s, 11, 4026531841);
	session_add_process(&s, 12, 4026531842);
	session_add_thread(&s, 11, 21, 31);
	session_add_thread(&s, 12, 22, 32);
	s.jvms = xcalloc(2, sizeof(*s.jvms));
	s.jvms[0] = (struct session_jvm){.pid = 11, .source = JVM_SOURCE_MAP};
	s.jvms[1] = (struct session_jvm){.pid = 12,
					 .nspid = 7,
					 .source = JVM_SOURCE_HOST,
					 .note = "why",
					 .methods = 1,
					 .skipped = 2,
					 .dump_us = 3,
					 .snapshots = 4,
					 .watch_us = 5000000000,
					 .switched = true};
	s.jvm_count = 2;
	umask(0);
	is_int(session_write(&s, &err), 0, "a session is written");
	is_mode(dir, "session.json", 0600);
	if (!ok(session_open(dir, &r, &err) == 0, "it is opened again"))
		return;
	is_int(r.frequency, 997, "its frequency is read");
	is_int(r.stack_bytes, 16384, "its size of stack copies is read");
	ok(r.in_kernel && r.walked == 12345678901 && r.copied == 7,
	   "how its stacks were recorded is read");
	ok(r.whole_machine, "that it is of the whole machine is read");
	ok(r.duration > 12.3456785 && r.duration < 12.3456795, "its duration is read: %.9f",
	   r.duration);
	ok(r.cpu.used > 1.49 && r.cpu.limit > 1.9 && r.cpu.processors > 3.9 &&
		   r.cpu.throttled_periods > 0.24 && r.cpu.throttled_seconds > 2.9 &&
		   r.cpu.pressure >= 0,
	   "the processors' figures are read");
	ok(r.cpu.steal < 0, "one that is not known stays so");
	is_str(r.failure, "perf ended?", "the recorder's failure is read, cleaned");
	is_str(r.started, "now", "its time is read");
	is_int((int64_t)r.began_us, 123456789, "in both clocks");
	is_str(r.container_id, "id", "its container's id is read");
	is_str(r.label, "name", "a container in no pod is called by its name");
	is_int(r.process_count, 2, "its processes are read");
	is_int(r.processes[1].pid, 12, "each with its pid");
	is_int(r.processes[1].root, 4026531842, "and its root");
	if (is_int(r.thread_count, 2, "its threads are read"))
		ok(r.threads[1].pid == 12 && r.threads[1].tid == 22 && r.threads[1].nstid == 32,
		   "each with its ids");
	if (is_int(r.jvm_count, 2, "its JVMs are read")) {
		const struct session_jvm *j = &r.jvms[1];

		is_int(r.jvms[0].source, JVM_SOURCE_MAP, "the source is read");
		is_int(j->pid, 12, "the pid is read");
		is_int(j->nspid, 7, "the pid in the container is read");
		is_str(j->note, "why", "the note is read");
		is_int(j->methods, 1, "the number of methods is read");
		is_int(j->skipped, 2, "the number of skipped ones is read");
		is_int(j->dump_us, 3, "the time of the first snapshot is read");
		is_int(j->snapshots, 4, "the number of snapshots is read");
		is_int(j->watch_us, 5000000000, "the cost of the others is read");
	}
	ok((fcntl(r.dirfd, F_GETFD) & FD_CLOEXEC) && (fcntl(r.mapsfd, F_GETFD) & FD_CLOEXEC) &&
		   (fcntl(r.elffd, F_GETFD) & FD_CLOEXEC),
	   "no descriptor is inherited");
	session_fini(&r);
	session_fini(&s);
}

static void test_text(void)
{
	CLEANUP(free) char *dir = xasprintf("%s/text", base);
	CLEANUP(str_fini) struct str got = {0};
	struct session s;
	struct err err;

	if (sessionmake(dir, &s, &err) < 0)
		abort();
	session_set_container(&s, "id", "name", "", "", "host");
	s.started = xstrdup("now");
	s.duration = 0.1234567891;
	session_add_process(&s, 11, 12);
	if (session_write(&s, &err) < 0 ||
	    fs_read_file(s.dirfd, "session.json", 4096, &got, &err) < 0)
		abort();
	is_str(got.buf,
	       "{\n \"version\": 1,\n \"dfg\": \"" DFG_VERSION "\",\n"
	       " \"container\": {\n  \"id\": \"id\",\n  \"name\": \"name\",\n  \"pod\": \"\",\n"
	       "  \"namespace\": \"\"\n },\n \"host\": \"host\",\n \"started\": \"now\",\n "
	       "\"began_us\": 0,\n \"events\": [\n  \"cpu\"\n ],\n"
	       " \"frequency\": 0,\n \"duration\": 0.123456789,\n \"whole_machine\": false,\n"
	       " \"stack_bytes\": 0,\n \"recorder\": \"perf\",\n \"walked\": 0,\n"
	       " \"copied\": 0,\n \"cpu\": {},\n \"jvms\": [],\n \"processes\": [\n"
	       "  {\n   \"pid\": 11,\n   \"root\": 12\n  }\n ],\n \"threads\": [],\n"
	       " \"elf\": [],\n \"maps\": [],\n \"cut\": []\n}",
	       "session.json is as docs/formats.md has it, a line for each value");
	session_fini(&s);
}

/* Puts a file into a directory. */
static void put_file(int dirfd, const char *name)
{
	CLEANUP(close_fd) int fd = openat(dirfd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, "x", 1) != 1)
		abort();
}

static bool has(int dirfd, const char *name)
{
	return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void test_strip(void)
{
	CLEANUP(free) char *dir = xasprintf("%s/strip", base);
	struct session s, r;
	struct err err;

	if (sessionmake(dir, &s, &err) < 0)
		abort();
	session_set_container(&s, "id", "name", "", "", "host");
	s.started = xstrdup("now");
	session_add_process(&s, 11, 12);
	session_add_thread(&s, 11, 13, 1);
	session_add_elf(&s, 1, "/a", "a", NULL);
	session_register_map(&s, 11, "m");
	session_set_cut(&s, "files", "%d files", 3);
	put_file(s.dirfd, "perf.data");
	put_file(s.dirfd, "kallsyms");
	put_file(s.elffd, "a");
	put_file(s.mapsfd, "m");
	s.events = 1u << SESSION_CPU | 1u << SESSION_ALLOC;
	is_int(session_strip(&s, &err), -1, "without a profile nothing is removed");
	ok(has(s.dirfd, "perf.data") && has(s.elffd, "a"), "the recording is there");
	put_file(s.dirfd, session_tree(SESSION_CPU));
	is_int(session_strip(&s, &err), -1, "each event has one");
	put_file(s.dirfd, session_tree(SESSION_ALLOC));
	is_int(session_strip(&s, &err), 0, "with them the recording goes");
	ok(!has(s.dirfd, "perf.data") && !has(s.dirfd, "kallsyms") && !has(s.dirfd, "elf") &&
		   !has(s.dirfd, "maps"),
	   "memory, addresses and files are gone");
	is_int((int64_t)(s.elf_count + s.map_count + s.thread_count), 0, "so are their lists");
	session_add_elf(&s, 1, "/a", "a", NULL);
	is_int((int64_t)s.elf_count, 1, "which can be used again");
	if (ok(session_open(dir, &r, &err) == 0, "it is a session")) {
		is_int((int64_t)(r.elf_count + r.map_count + r.thread_count), 0, "without files");
		is_int((int64_t)r.process_count, 1, "with its processes");
		is_int(r.events, 1u << SESSION_CPU | 1u << SESSION_ALLOC, "and its events");
		is_str(r.cuts[0].text, "3 files", "and what was cut");
		session_fini(&r);
	}
	session_fini(&s);
}

/* A program started without stdin has its files at descriptor 0. */
static void test_without_stdin(void)
{
	CLEANUP(free) char *dir = xasprintf("%s/stdin", base);
	int in = dup(0), fd;
	struct session s;
	struct err err;

	close(0);
	is_int(sessionmake(dir, &s, &err), 0, "a session is made where descriptor 0 is free");
	is_int(s.dirfd, 0, "it is the directory's");
	s.started = xstrdup("now");
	session_set_container(&s, "", "", "", "", "");
	is_int(session_write(&s, &err), 0, "the session is written");
	session_fini(&s);
	is_int(session_open(dir, &s, &err), 0, "and opened");
	is_int(s.dirfd, 0, "at the same descriptor");
	fd = dup(s.dirfd);
	close(0);
	s.dirfd = fd;
	fd = session_add_map(&s, 1, &err);
	is_int(fd, 0, "a map has the descriptor");
	is_int(s.map_count, 1, "and is registered");
	close(0);
	session_fini(&s);
	if (in >= 0 && dup2(in, 0) == 0)
		close(in);
}

/* A session that somebody hands over writes nothing but text on the terminal. Case 92. */
static void test_clean(const char *dir)
{
	struct session s;
	struct err err;

	write_json(dir, "{\"version\":1,\"started\":\"\\u001b[2J\",\"host\":\"h\\u009b\","
			"\"container\":{\"id\":\"\\u0007\",\"name\":\"a\\u202eb\","
			"\"pod\":\"p\\u000a\",\"namespace\":\"n\\u007f\"},"
			"\"jvms\":[{\"pid\":1,\"version\":\"17\\u000d\","
			"\"note\":\"\\u001b]0;title\\u0007\"}]}");
	if (!ok(session_open(dir, &s, &err) == 0, "a session with terminal codes is opened"))
		return;
	is_str(s.started, "?[2J", "its time is cleaned");
	is_str(s.host, "h?", "its machine is");
	is_str(s.container_id, "?", "its container's id is");
	is_str(s.label, "n?/p?/a?b", "its container's names are");
	is_str(s.jvms[0].version, "17?", "a JVM's version is");
	is_str(s.jvms[0].note, "?]0;title?", "a JVM's note is");
	session_fini(&s);
}

/* The whole message of a session that is refused. */
static void says(const char *dir, const char *text, const char *want)
{
	struct session s = {.dirfd = 77};
	struct err err;

	write_json(dir, text);
	is_int(session_open(dir, &s, &err), -1, "refused: %.60s", text);
	is_str(err.msg, want, "the message is \"%s\"", want);
	is_int(s.dirfd, 77, "the output of a failure is untouched");
}

static void test_messages(void)
{
	CLEANUP(free) char *dir = xasprintf("%s/messages", base);
	CLEANUP(free) char *file = xasprintf("%s/file", base);
	CLEANUP(free) char *longest = xasprintf("%0199d", 7), *longer = xasprintf("%0200d", 7);
	CLEANUP(free)
	char *good = xasprintf("{\"version\":1,\"maps\":[{\"file\":\"%s\"}]}", longest);
	CLEANUP(free) char *bad = xasprintf("{\"version\":1,\"maps\":[{\"file\":\"%s\"}]}", longer);
	struct session s;
	struct err err;

	if (sessionmake(dir, &s, &err) < 0)
		abort();
	session_fini(&s);
	says(dir, "{\"version\":2}", "session.json has version 2, this dfg reads 1");
	says(dir, "{\"version\":1,\"elf\":[{\"file\":\"a\"},{\"file\":\".b\"}]}",
	     "session.json: elf file 1 has no plain name");
	says(dir, "{\"version\":1,\"elf\":[{\"file\":\"a\",\"debug\":\"x/y\"}]}",
	     "session.json: elf file 0 has no plain name");
	says(dir, "{\"version\":1,\"maps\":[{\"file\":\"a\"},{\"file\":\"..\"}]}",
	     "session.json: map file 1 has no plain name");
	says(dir, bad, "session.json: map file 0 has no plain name");
	says(dir, "{\n\n\"version\" 1}", "session.json: ':' expected near '1' (line 3)");
	says(dir, "{\"version\":1,\"version\":1}",
	     "session.json: duplicate object key near '\"version\"' (line 1)");
	write_json(dir, good);
	is_int(session_open(dir, &s, &err), 0, "a name of 199 bytes is accepted");
	session_fini(&s);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	is_int(session_open(file, &s, &err), -1, "a file is no session");
	is_int(err.code, ENOTDIR, "the error is that it is no directory");
	is_int(session_open("/nonexistent", &s, &err), -1, "a path that does not exist is none");
	is_str(err.msg, "open session /nonexistent: No such file or directory", "it says so");
	is_int(session_open(base, &s, &err), -1, "a directory without session.json is none");
	ok(strstr(err.msg, " is not a session directory") != NULL, "it says so: %s", err.msg);
}

/* maps and elf in a session that was copied may lead elsewhere. */
static void test_links(void)
{
	CLEANUP(free) char *dir = xasprintf("%s/links", base);
	struct session s;
	struct err err;

	if (sessionmake(dir, &s, &err) < 0 || unlinkat(s.dirfd, "maps", AT_REMOVEDIR) < 0 ||
	    unlinkat(s.dirfd, "elf", AT_REMOVEDIR) < 0 || symlinkat("/", s.dirfd, "maps") < 0)
		abort();
	close(openat(s.dirfd, "elf", O_CREAT | O_WRONLY, 0600));
	session_fini(&s);
	write_json(dir, "{\"version\":1}");
	is_int(session_open(dir, &s, &err), 0, "a session without maps is opened");
	is_int(s.mapsfd, -1, "a link in place of maps is not followed");
	is_int(s.elffd, -1, "a file in place of elf is not opened");
	session_fini(&s);
}

static void test_sources(const char *dir)
{
	struct session r;
	struct err err;

	write_json(dir, "{\"version\":1,\"jvms\":[{\"source\":\"map\"},{\"source\":\"host\"},"
			"{\"source\":\"none\"},{\"source\":\"oracle\"},{\"source\":7},{}]}");
	ok(session_open(dir, &r, &err) == 0, "a session with sources of all kinds is opened");
	if (is_int((int64_t)r.jvm_count, 6, "all its JVMs are read")) {
		is_int(r.jvms[0].source, JVM_SOURCE_MAP, "source \"map\" is known");
		is_int(r.jvms[1].source, JVM_SOURCE_HOST, "source \"host\" is known");
		is_int(r.jvms[2].source, JVM_SOURCE_NONE, "source \"none\" is known");
		is_int(r.jvms[3].source, JVM_SOURCE_UNKNOWN, "another word is an unknown source");
		is_int(r.jvms[4].source, JVM_SOURCE_UNKNOWN, "a number is an unknown source");
		is_int(r.jvms[5].source, JVM_SOURCE_UNKNOWN, "no word is an unknown source");
	}
	is_str(jvm_source_name(JVM_SOURCE_HOST), "host", "a source has a name");
	session_fini(&r);
}

int main(void)
{
	struct session s, r;
	struct err err;
	char dir[64];

	ok(mkdtemp(base) != NULL, "scratch directory");
	snprintf(dir, sizeof(dir), "%s/s", base);
	ok(sessionmake(dir, &s, &err) == 0, "create");
	ok(sessionmake(dir, &r, &err) < 0, "not twice");
	test_clean(dir);
	fill(&s);
	is_int((int64_t)s.map_count, 3, "two maps are left, and one of another runtime, once");
	is_int(s.maps[1].order, 1, "in order");
	is_int((int64_t)s.process_count, 1, "one process");
	is_int((int64_t)s.elf_count, 2, "two files");
	ok(session_write(&s, &err) == 0, "write");

	ok(session_open(dir, &r, &err) == 0, "open");
	is_str(r.container_name, "we\"b", "name");
	is_str(r.pod, "web-1", "pod");
	is_str(r.namespace, "shop", "namespace");
	is_str(r.host, "db1", "host");
	is_str(r.label, "shop/web-1/we\"b", "label");
	is_int(r.frequency, 99, "frequency");
	ok(r.duration > 1.49 && r.duration < 1.51, "duration");
	is_int((int64_t)r.jvm_count, 1, "JVM");
	is_str(r.jvms[0].version, "17.0.15", "its version");
	is_int(r.jvms[0].dump_us, 99, "its dump");
	is_int(r.jvms[0].uid, 3000000000, "a user id above 2^31 is read as it was written");
	is_int(r.jvms[0].source, JVM_SOURCE_AGENT, "the source is read as it was written");
	is_int((int64_t)r.map_count, 3, "maps");
	is_str(r.maps[1].name, "jvm-4711.1.snap", "name of a map");
	is_str(r.maps[2].name, "perf-4712.map", "and of the other");
	is_int((int64_t)r.processes[0].root, 43, "root of the process");
	is_str(r.elfs[1].path, "/odd?name?", "a path of odd bytes");
	is_str(r.elfs[0].debug, "1-2-3.debug", "the file of its symbols");
	ok(!r.elfs[1].debug, "or none");
	session_fini(&r);

	refused(dir, "{}", "version 0");
	refused(dir, "{\"version\": 99}", "version 99");
	refused(dir, "nonsense", "session.json");
	refused(dir, "", "session.json");
	refused(dir, "{\"version\":1,\"elf\":[{\"file\":\"../../etc/shadow\"}]}", "plain name");
	refused(dir, "{\"version\":1,\"elf\":[{\"file\":\"a\",\"debug\":\"../b\"}]}", "plain name");
	refused(dir, "{\"version\":1,\"maps\":[{\"file\":\"\"}]}", "plain name");
	refused(dir, "{\"version\":1,\"maps\":[17]}", "plain name");
	write_json(dir, "{\"version\":1,\"jvms\":{},\"processes\":7}");
	ok(session_open(dir, &r, &err) == 0, "lists that are none are empty");
	is_str(r.pod, "", "and so is the pod of a session that has none");
	session_fini(&r);
	test_sources(dir);
	ok(session_open("/nonexistent", &r, &err) < 0, "no directory");
	session_fini(&s);
	test_create();
	test_maps();
	test_threads();
	test_labels();
	test_all_fields();
	test_text();
	test_strip();
	test_without_stdin();
	test_messages();
	test_links();
	fs_remove_tree(AT_FDCWD, base);
	return tap_done();
}
