// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/proc.h"
#include "dfg/paths.h"
#include "hook/state.h"
#include "oci/jsontext.h"

#include "lib/tap.h"

static char dir_name[] = "/tmp/dfg-hook-state.XXXXXX";
static int dir;

/* ---- names and kinds of statuses ---- */

static void test_names(void)
{
	static const struct {
		enum hook_status status;
		const char *name;
		bool done, conf;
	} rows[] = {
		{HOOK_NONE, "none", false, false},
		{HOOK_STARTING, "starting", false, false},
		{HOOK_MOUNTED, "mounted", true, false},
		{HOOK_ALREADY, "already", true, false},
		{HOOK_ENDED, "ended", true, false},
		{HOOK_SKIP_STATE, "skip-state", false, false},
		{HOOK_SKIP_ID, "skip-id", false, false},
		{HOOK_SKIP_BUNDLE, "skip-bundle", false, false},
		{HOOK_SKIP_CONF, "skip-conf", false, true},
		{HOOK_SKIP_OPTOUT, "skip-optout", false, false},
		{HOOK_SKIP_ROOTLESS, "skip-rootless", false, false},
		{HOOK_SKIP_GONE, "skip-gone", false, false},
		{HOOK_SKIP_NOMNTNS, "skip-nomntns", false, false},
		{HOOK_SKIP_UNMAPPED, "skip-unmapped", false, false},
		{HOOK_SKIP_NODEV, "skip-nodev", false, false},
		{HOOK_SKIP_HOSTDEV, "skip-hostdev", false, false},
		{HOOK_SKIP_OCCUPIED, "skip-occupied", false, false},
		{HOOK_SKIP_PAYLOAD, "skip-payload", false, true},
		{HOOK_SKIP_KERNEL, "skip-kernel", false, true},
		{HOOK_ERR_PRIVILEGES, "err-privileges", false, false},
		{HOOK_ERR_HOST, "err-host", false, false},
		{HOOK_ERR_ENTER, "err-enter", false, false},
		{HOOK_ERR_MOUNT, "err-mount", false, false},
		{HOOK_ERR_TIMEOUT, "err-timeout", false, false},
		{HOOK_ERR_CRASH, "err-crash", false, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		enum hook_status s = rows[i].status;

		is_int(s, i, "the status %s has number %zu", rows[i].name, i);
		is_str(hook_status_name(s), rows[i].name, "the status is named %s", rows[i].name);
		is_int(hook_status_is_done(s), rows[i].done, "%s %s success", rows[i].name,
		       rows[i].done ? "is" : "is no");
		is_int(hook_status_is_conf(s), rows[i].conf, "the administrator %s repair %s",
		       rows[i].conf ? "can" : "cannot", rows[i].name);
	}
	is_str(hook_status_name((enum hook_status)ARRAY_LEN(rows)), "unknown",
	       "the number after the last status has no name");
	is_str(hook_status_name((enum hook_status) - 1), "unknown",
	       "a negative status has no name");
}

/* ---- what is written ---- */

static struct hook_state make_state(void)
{
	return (struct hook_state){.status = HOOK_MOUNTED,
				   .detail = "",
				   .start_time = 123456,
				   .boot_id = "01234567-89ab-cdef-0123-456789abcdef",
				   .mnt_ns = 4026531841,
				   .root_uid = 100000,
				   .root_gid = 200000,
				   .payload = "00c0ffee00c0ffee",
				   .started_us = clock_us()};
}

static json_t *load(void)
{
	CLEANUP(str_fini) struct str text = {0};
	struct err err;

	if (fs_read_file(dir, DFG_STATE_FILE, 2u << 20, &text, &err) < 0)
		return NULL;
	return json_loadb(text.buf, text.len, JSON_REJECT_DUPLICATES, NULL);
}

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static int64_t number_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static json_t *written(const struct hook_state *s, const struct oci_state *state,
		       const struct oci_config *config)
{
	struct err err = {0};

	is_int(hook_state_write(dir, s, state, config, &err), 0, "the state is written");
	return load();
}

static void test_all_keys(void)
{
	struct hook_state s = make_state();
	CLEANUP(json_decref) json_t *notes = json_pack("{s:s}", "a", "b");
	struct oci_state state = {
		.id = "web", .pid = 4711, .bundle = (char *)"/bundle", .annotations = notes};
	struct oci_config config = {.root = (char *)"/rootfs",
				    .hostname = (char *)"ho\nst",
				    .cgroups_path = (char *)"/cg/web"};
	CLEANUP(json_decref) json_t *o = written(&s, &state, &config);
	struct stat st;

	is_int(json_object_size(o), 17, "everything but an empty detail is written");
	is_str(text_of(o, "id"), "web", "the id is written");
	is_str(text_of(o, "status"), "mounted", "the status is written by name");
	is_str(text_of(o, "how"), "hook", "a call of the hook is named so");
	is_int(number_of(o, "pid"), 4711, "the process is written");
	is_int(number_of(o, "start_time"), 123456, "its start is written");
	is_str(text_of(o, "boot_id"), s.boot_id, "the boot is written");
	is_int(number_of(o, "mnt_ns"), 4026531841, "its mount namespace is written");
	is_int(number_of(o, "root_uid"), 100000, "the user of its root is written");
	is_int(number_of(o, "root_gid"), 200000, "the group of its root is written");
	is_str(text_of(o, "bundle"), "/bundle", "the bundle is written");
	is_str(text_of(o, "root"), "/rootfs", "the root file system is written");
	ok(text_of(o, "hostname") && !strchr(text_of(o, "hostname"), '\n'),
	   "the host name is written without its control byte");
	is_str(text_of(o, "cgroups_path"), "/cg/web", "the path of its cgroup is written");
	is_str(text_of(o, "payload"), "00c0ffee00c0ffee", "the payload's key is written");
	is_str(text_of(json_object_get(o, "annotations"), "a"), "b", "the annotations are written");
	ok(number_of(o, "time") > 1577836800 && number_of(o, "time") <= (int64_t)time(NULL),
	   "the time is that of the day");
	ok(number_of(o, "hook_us") >= 0 &&
		   number_of(o, "hook_us") <= (int64_t)(clock_us() - s.started_us),
	   "the time of the hook's work counts from its start");
	ok(fstatat(dir, DFG_STATE_FILE, &st, 0) == 0 && (st.st_mode & 07777) == 0600,
	   "only root may read the state");
}

static void test_few_keys(void)
{
	struct hook_state s = make_state();
	struct oci_state state = {.id = "job", .pid = 1};
	struct oci_config config = {.hostname = (char *)""};

	s.join = true;
	s.detail = "a\tb";
	s.status = HOOK_ERR_HOST;
	s.payload[0] = '\0';
	CLEANUP(json_decref) json_t *o = written(&s, &state, &config);

	is_str(text_of(o, "how"), "join", "a call of a user is named join");
	is_str(text_of(o, "status"), "err-host", "the status of a failure is written");
	ok(text_of(o, "detail") && !strchr(text_of(o, "detail"), '\t'),
	   "the detail is written without its control byte");
	for (const char *const *key =
		     (const char *const[]){"bundle", "root", "hostname", "cgroups_path", "payload",
					   "annotations", "ended", NULL};
	     *key; key++)
		ok(!json_object_get(o, *key), "a container without %s has no such key", *key);
}

static void test_annotations(void)
{
	static const struct {
		size_t key, value;
		bool kept;
	} rows[] = {{1, HOOK_ANNOTATIONS_MAX - 1, true},
		    {1, HOOK_ANNOTATIONS_MAX, false},
		    {HOOK_ANNOTATIONS_MAX / 2, HOOK_ANNOTATIONS_MAX / 2, true},
		    {HOOK_ANNOTATIONS_MAX / 2 + 1, HOOK_ANNOTATIONS_MAX / 2, false}};
	struct hook_state s = make_state();
	struct oci_config config = {0};
	struct err err = {0};

	is_int(HOOK_ANNOTATIONS_MAX, 65536, "annotations of 64 KiB are kept");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free) char *key = xasprintf("%0*d", (int)rows[i].key, 0);
		CLEANUP(free) char *value = xasprintf("%0*d", (int)rows[i].value, 0);
		CLEANUP(json_decref) json_t *notes = json_pack("{s:s}", key, value);
		struct oci_state state = {.id = "x", .annotations = notes};

		(void)!hook_state_write(dir, &s, &state, &config, &err);
		CLEANUP(json_decref) json_t *o = load();
		is_int(json_object_get(o, "annotations") != NULL, rows[i].kept,
		       "annotations of a name of %zu bytes and a value of %zu are %s", rows[i].key,
		       rows[i].value, rows[i].kept ? "kept" : "omitted");
	}
}

/* ---- what is read ---- */

static int put(const char *text)
{
	struct err err;

	return fs_replace_file(dir, DFG_STATE_FILE, 0600, text, strlen(text), &err);
}

static void test_read(void)
{
	static const struct {
		const char *text;
		bool mounted, ended;
		pid_t pid;
		uint64_t start;
		const char *boot, *payload;
	} rows[] = {
		{"{}", false, false, 0, 0, "", ""},
		{"{\"status\":\"mounted\",\"pid\":12,\"start_time\":9}", true, false, 12, 9, "",
		 ""},
		{"{\"status\":\"already\",\"ended\":true}", false, true, 0, 0, "", ""},
		{"{\"status\":7,\"ended\":false,\"boot_id\":3}", false, false, 0, 0, "", ""},
		{"{\"status\":\"mounted \",\"ended\":1,\"boot_id\":\"b\",\"payload\":\"p\"}", false,
		 false, 0, 0, "b", "p"},
		{"{\"boot_id\":\"012345678901234567890123456789012345+\","
		 "\"payload\":\"0123456789012345678901234567890+\"}",
		 false, false, 0, 0, "012345678901234567890123456789012345",
		 "0123456789012345678901234567890"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct hook_past past;
		struct err err = {0};

		put(rows[i].text);
		is_int(hook_state_read(dir, &past, &err), 0, "%s is read", rows[i].text);
		is_int(past.mounted, rows[i].mounted, "what it says of its mounts is taken");
		is_int(past.ended, rows[i].ended, "what it says of its end is taken");
		is_int(past.pid, rows[i].pid, "its process is taken");
		is_int(past.start_time, rows[i].start, "its process's start is taken");
		is_str(past.boot_id, rows[i].boot, "its boot is taken, cut to its size");
		is_str(past.payload, rows[i].payload, "its payload is taken, cut to its size");
	}
}

static void test_broken(void)
{
	static const char *const rows[] = {"", "[]", "{", "{\"pid\":1,\"pid\":2}", "{} x", "7"};
	struct hook_past past = {.pid = 5};
	struct err err = {0};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		err = (struct err){0};
		put(rows[i]);
		is_int(hook_state_read(dir, &past, &err), -1, "the text '%s' is refused", rows[i]);
		is_str(err.msg, "state.json is broken", "it is told that the file is broken");
		is_int(hook_state_end(dir, &err), -1, "a broken file cannot be ended");
	}
	is_int(past.pid, 5, "nothing is set by a broken file");
	unlinkat(dir, DFG_STATE_FILE, 0);
	is_int(hook_state_read(dir, &past, &err), -1, "a missing file is an error");
	is_int(err.code, ENOENT, "the error says that it is missing");
	is_int(hook_state_end(dir, &err), -1, "a missing file cannot be ended");
}

static void test_size(void)
{
	static const size_t sizes[] = {1u << 20, (1u << 20) + 1};
	struct hook_past past;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		CLEANUP(free) char *text = xasprintf("{}%*s", (int)sizes[i] - 2, "");

		put(text);
		is_int(hook_state_read(dir, &past, &err), i ? -1 : 0, "a state of %zu bytes is %s",
		       sizes[i], i ? "refused" : "read");
	}
}

static void test_end(void)
{
	struct hook_past past;
	struct err err = {0};

	put("{\"pid\":8,\"note\":\"kept\"}");
	is_int(hook_state_end(dir, &err), 0, "a state is ended");
	CLEANUP(json_decref) json_t *o = load();
	ok(json_is_true(json_object_get(o, "ended")), "the end is written");
	is_str(text_of(o, "note"), "kept", "the other keys are kept");
	ok(hook_state_read(dir, &past, &err) == 0 && past.ended && past.pid == 8,
	   "the end is read again");
}

/* ---- does it run ---- */

static struct hook_past past_of(pid_t pid)
{
	struct hook_past past = {.pid = pid};
	CLEANUP(close_fd) int proc = proc_open(pid, NULL);

	if (proc < 0 || proc_start_time(proc, &past.start_time, NULL) < 0 ||
	    proc_boot_id(past.boot_id, NULL) < 0)
		abort();
	return past;
}

static void test_alive(void)
{
	struct hook_past self = past_of(getpid()), p = self;
	siginfo_t info;
	pid_t child;

	ok(hook_past_is_alive(&p), "this process runs");
	p.ended = true;
	ok(!hook_past_is_alive(&p), "a state that was ended is of no running container");
	p = self;
	p.pid = 0;
	ok(!hook_past_is_alive(&p), "no process is no running container");
	p.pid = -1;
	ok(!hook_past_is_alive(&p), "a negative process is no running container");
	p = self;
	p.boot_id[0] = p.boot_id[0] == '0' ? '1' : '0';
	ok(!hook_past_is_alive(&p), "a process of another boot does not run");
	p = self;
	p.start_time++;
	ok(!hook_past_is_alive(&p), "an older process of the same number is another");
	p.start_time -= 2;
	ok(!hook_past_is_alive(&p), "a newer process of the same number is another");
	child = fork();
	if (child == 0)
		_exit(0);
	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	p = past_of(child);
	ok(!hook_past_is_alive(&p), "a process that waits for its parent has ended");
	waitpid(child, NULL, 0);
	ok(!hook_past_is_alive(&p), "a process that is gone has ended");
}

int main(void)
{
	if (!mkdtemp(dir_name) || (dir = open(dir_name, O_RDONLY | O_DIRECTORY)) < 0)
		return 1;
	test_names();
	test_all_keys();
	test_few_keys();
	test_annotations();
	test_read();
	test_broken();
	test_size();
	test_end();
	test_alive();
	fs_remove_tree(AT_FDCWD, dir_name);
	close(dir);
	return tap_done();
}
