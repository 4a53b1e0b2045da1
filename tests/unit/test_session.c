// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include "common/fs.h"
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

int main(void)
{
	struct session s, r;
	struct err err;
	char dir[64];

	ok(mkdtemp(base) != NULL, "scratch directory");
	snprintf(dir, sizeof(dir), "%s/s", base);
	ok(session_create(dir, &s, &err) == 0, "create");
	ok(session_create(dir, &r, &err) < 0, "not twice");
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
	ok(session_open("/nonexistent", &r, &err) < 0, "no directory");
	session_fini(&s);
	fs_remove_tree(AT_FDCWD, base);
	return tap_done();
}
