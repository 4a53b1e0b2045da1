// SPDX-License-Identifier: Apache-2.0
/* One call of the hook for a container: its status, what is in the container, what the host keeps.
 */
#include "hook/worker.h"

#include <seccomp.h>
#include <sys/vfs.h>

#include "common/child.h"
#include "common/proc.h"
#include "dfg/paths.h"
#include "hook/mounts.h"
#include "hook/store.h"
#include "lib/hookbox.h"
#include "oci/jsontext.h"

#define ROOT "/tmp/root"
#define WEB  ROOT "/containers/web"

/* One call, and what it differs in from a usual one. */
struct call {
	const char *id, *bundle, *status, *notes;
	const char *conf, *root, *payload;
	bool join, requested;
	bool (*before)(void); /* in the process of the call */
};

struct run {
	const struct call *call;
	const struct hook_job *job;
};

static int work(void *arg, void *reply, struct err *err)
{
	const struct run *r = arg;

	if (r->call->before && !r->call->before())
		return err_set(err, errno, "before");
	hook_worker_run(r->job, reply);
	return 0;
}

static struct hook_outcome call_text(const struct call *c, const char *text)
{
	struct hook_outcome outcome = {.status = HOOK_ERR_CRASH};
	struct conf conf;
	struct hook_job job = {
		.conf = &conf,
		.root = c->root ? c->root : ROOT,
		.payload = c->payload ? c->payload : "/tmp/pay",
		.join = c->join,
		.requested = c->requested,
		.input = text,
		.len = strlen(text),
	};
	struct run r = {c, &job};
	struct err err = {0};

	if (conf_parse(c->conf ? c->conf : "", c->conf ? strlen(c->conf) : 0, &conf, &err) < 0 ||
	    child_call(work, &r, &outcome, sizeof(outcome), 20000, &err) < 0)
		printf("# %s\n", err.msg);
	return outcome;
}

/* A call with a state of this process. */
static struct hook_outcome call(const struct call *c, pid_t pid)
{
	CLEANUP(free)
	char *text = xasprintf(
		"{\"ociVersion\":\"1\",\"id\":\"%s\",\"status\":\"%s\",\"pid\":%d%s%s%s%s%s}",
		c->id ? c->id : "web", c->status ? c->status : "creating", (int)pid,
		c->join ? "" : ",\"bundle\":\"",
		c->join	    ? ""
		: c->bundle ? c->bundle
			    : "/tmp/b",
		c->join ? "" : "\"", c->notes ? ",\"annotations\":" : "", c->notes ? c->notes : "");

	return call_text(c, text);
}

static struct hook_outcome end(void)
{
	return call(&(struct call){.status = "stopped"}, 0);
}

/* ---- what it leaves ---- */

static json_t *saved(void)
{
	CLEANUP(free) char *text = box_read(WEB "/state.json");

	return json_loads(text, 0, NULL);
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static unsigned mounts_in(pid_t pid)
{
	static const char *const names[] = {DFG_OUT_MNT, DFG_CTL_MNT, DFG_PAYLOAD_MNT};
	unsigned count = 0;
	char line[1024];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP(free) char *point = xasprintf(BOX_FS "/dev/%s", names[i]);
		CLEANUP(free) char *joined = xasprintf("/dev/%s", names[i]);

		count += box_mounts(pid, point, line) + box_mounts(pid, joined, line);
	}
	return count;
}

static bool shares(void)
{
	char line[1024];

	return box_mounts(0, WEB "/out", line) == 1 && box_mounts(0, WEB "/ctl", line) == 1;
}

/* ---- a container that gets its mounts ---- */

static void test_mounted(void)
{
	const struct call usual = {.notes = "{\"a\":\"b\"}", .conf = "out_bytes = 2097152\n"};
	pid_t pid = box_container(0, NULL), other;
	struct hook_outcome o = call(&usual, pid);
	struct statfs fs;

	is_str(hook_status_name(o.status), "mounted", "a container gets its mounts");
	ok(!strcmp(o.id, "web") && !o.err.msg[0], "the call tells its id, and no reason");
	is_int(mounts_in(pid), 3, "all three are in it");
	ok(shares(), "two are on the host's side");
	is_int(statfs(WEB "/out", &fs) == 0 ? (int64_t)fs.f_bsize * (int64_t)fs.f_blocks : 0,
	       2097152, "out has the size of dfg.conf");
	is_int(fs.f_files, DFG_OUT_INODES, "out has the default number of files");
	{
		CLEANUP(json_decref) json_t *s = saved();

		is_str(text_of(s, "status"), "mounted", "the state says so");
		is_int(strlen(text_of(s, "payload")), 16, "it names the payload");
		is_int(strlen(text_of(s, "boot_id")), 36, "it has the boot");
		ok(json_integer_value(json_object_get(s, "mnt_ns")) > 0 &&
			   json_integer_value(json_object_get(s, "start_time")) > 0,
		   "it has the mount namespace and the start of the process");
		is_str(text_of(s, "root"), BOX_FS, "it has the root file system of config.json");
		is_str(text_of(s, "how"), "hook", "it says that the runtime called");
	}
	box_write(WEB "/out/file", 0600, "");
	o = call(&usual, pid);
	is_str(hook_status_name(o.status), "already", "a second call finds them");
	ok(access(WEB "/out/file", F_OK) == 0 && mounts_in(pid) == 3, "it changes nothing");
	other = box_container(0, NULL);
	o = call(&usual, other);
	is_str(hook_status_name(o.status), "skip-state", "another process has this id");
	is_str(o.id, "web", "the id is told");
	ok(strstr(o.err.msg, " runs under this id") && mounts_in(other) == 0, "it gets nothing");
	actor_end(pid);
	o = call(&usual, other);
	is_str(hook_status_name(o.status), "mounted", "it gets them when the first has ended");
	ok(access(WEB "/out/file", F_OK) < 0 && mounts_in(other) == 3 && shares(),
	   "its share is its own");
	actor_end(other);
	is_str(hook_status_name(end().status), "ended", "a container is ended");
	ok(access(WEB, F_OK) < 0, "nothing of it stays");
	is_str(hook_status_name(end().status), "ended", "one that is not known, too");
}

/* A call that was killed after it had mounted the share. */
static void test_interrupted(void)
{
	pid_t pid = box_container(0, NULL);
	struct hook_outcome o;
	CLEANUP(json_decref) json_t *s = NULL;
	CLEANUP(free) char *text = NULL;

	box_must(call(&(struct call){0}, pid).status == HOOK_MOUNTED, "mounted");
	s = saved();
	json_object_set_new(s, "status", json_string("starting"));
	text = json_dumps(s, 0);
	box_write(WEB "/state.json", 0600, text);
	actor_end(pid);
	pid = box_container(0, NULL);
	o = call(&(struct call){0}, pid);
	is_str(hook_status_name(o.status), "mounted", "an interrupted call is made again");
	ok(shares(), "what it left is replaced");
	actor_end(pid);
	end();
}

/* A call whose reason to leave it alone has gone. */
static void test_again(void)
{
	const struct call usual = {0};
	pid_t pid = box_container(0, NULL);
	struct hook_outcome o;

	box_must(call(&(struct call){.payload = "/tmp/none"}, pid).status == HOOK_SKIP_PAYLOAD,
		 "skipped");
	o = call(&usual, pid);
	is_str(hook_status_name(o.status), "mounted", "one that was left alone is tried again");
	is_int(mounts_in(pid), 3, "it has its mounts then");
	actor_end(pid);
	end();
}

static bool change_root(void)
{
	return chroot(".") == 0 && chdir("/") == 0;
}

static struct hook_outcome join_by_start(pid_t pid, uint64_t start)
{
	CLEANUP(free)
	char *text = xasprintf("{\"id\":\"web\",\"pid\":%d,\"start_time\":%llu}", (int)pid,
			       (unsigned long long)start);

	return call_text(&(struct call){.join = true}, text);
}

static void test_join_start(void)
{
	pid_t pid = box_container(0, change_root);
	CLEANUP(close_fd) int procfd = proc_open(pid, NULL);
	uint64_t start = 0;
	struct hook_outcome o;

	box_must(proc_start_time(procfd, &start, NULL) == 0, "start time");
	o = join_by_start(pid, start + 1);
	is_str(hook_status_name(o.status), "skip-gone", "a later process of the pid is not joined");
	is_str(o.err.msg, "the container has ended: its pid is another process's", "it says why");
	is_int(mounts_in(pid), 0, "it gets nothing");
	o = join_by_start(pid, start);
	is_str(hook_status_name(o.status), "mounted", "the very process is joined");
	actor_end(pid);
	end();
}

static void test_join(void)
{
	pid_t pid = box_container(0, change_root);
	struct hook_outcome o = call(&(struct call){.join = true}, pid);
	CLEANUP(json_decref) json_t *s = saved();

	is_str(hook_status_name(o.status), "mounted", "a running container is joined");
	is_str(o.err.msg, "", "it is joined without a bundle");
	is_str(text_of(s, "how"), "join", "the state says that it was joined");
	is_int(mounts_in(pid), 3, "its own root has the mounts");
	actor_end(pid);
	end();
}

static void test_user_namespace(void)
{
	pid_t pid = box_container(100000, NULL);
	struct hook_outcome o = call(&(struct call){0}, pid);
	CLEANUP(json_decref) json_t *s = saved();
	struct stat st = {0};

	is_str(hook_status_name(o.status), "mounted", "a container of other ids gets its mounts");
	is_int(json_integer_value(json_object_get(s, "root_uid")), 100000,
	       "the state has the user of its root");
	is_int(json_integer_value(json_object_get(s, "root_gid")), 100001,
	       "the state has the group of its root");
	ok(stat(WEB "/out", &st) == 0 && st.st_uid == 100000 && st.st_gid == 100001,
	   "out is its root's");
	actor_end(pid);
	end();
}

/* ---- who gets none ---- */

static bool make_readonly(void)
{
	return mount("", "dev", "", MS_REMOUNT | MS_RDONLY, NULL) == 0;
}

static bool become_user(void)
{
	return setgid(5) == 0 && setuid(5) == 0;
}

static bool become_mapped(void)
{
	return box_enter_user(0, 1000);
}

/* Plays a kernel without a call. */
static bool lack_call(int call)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	return ctx && seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), call, 0) == 0 &&
	       seccomp_load(ctx) == 0;
}

static bool lack_move_mount(void)
{
	return lack_call(SCMP_SYS(move_mount));
}

static bool lack_fsopen(void)
{
	return lack_call(SCMP_SYS(fsopen));
}

static bool lack_openat2(void)
{
	return lack_call(SCMP_SYS(openat2));
}

/* Cases 20, 34 and 77: bundles, callers without rights, kernels without a call. */
static void test_skipped(void)
{
#define NO  "{\"dfg.io/inject\":\"false\"}"
#define YES "{\"dfg.io/inject\":\"true\"}"
	static const struct {
		const char *what;
		struct call call;
		const char *status, *msg;
		bool kept; /* a state is written */
	} rows[] = {
		{"an unsafe id", {.id = "../web"}, "skip-id", "the state has no valid id", false},
		{"a relative bundle",
		 {.bundle = "b"},
		 "skip-state",
		 "the state has no bundle",
		 false},
		{"a missing bundle",
		 {.bundle = "/tmp/none"},
		 "skip-bundle",
		 "/tmp/none: open /tmp/none: No such file or directory",
		 true},
		{"an annotation that refuses",
		 {.notes = NO},
		 "skip-optout",
		 "annotation dfg.io/inject is false",
		 true},
		{"an annotation of its bundle that refuses",
		 {.bundle = "/tmp/refuses"},
		 "skip-optout",
		 "annotation dfg.io/inject is false",
		 true},
		{"annotations of the state, which count more",
		 {.bundle = "/tmp/refuses", .notes = YES},
		 "mounted",
		 "",
		 true},
		{"dfg.conf that says none",
		 {.conf = "inject = none"},
		 "skip-optout",
		 "dfg.conf: inject = none",
		 true},
		{"dfg.conf that says annotated",
		 {.conf = "inject = annotated"},
		 "skip-optout",
		 "dfg.conf: inject = annotated",
		 true},
		{"dfg.conf that says annotated, and a request",
		 {.conf = "inject = annotated", .requested = true},
		 "mounted",
		 "",
		 true},
		{"a payload that is missing",
		 {.payload = "/tmp/none"},
		 "skip-payload",
		 "payload /tmp/none: No such file or directory",
		 true},
		{"a root that others can write",
		 {.root = "/tmp/bad"},
		 "err-host",
		 "/tmp/bad: /tmp/bad can be written by others than root",
		 false},
		{"a caller that is no root",
		 {.before = become_user},
		 "skip-rootless",
		 "not root of the host",
		 false},
		{"a caller in a user namespace",
		 {.before = become_mapped},
		 "skip-rootless",
		 "not root of the host",
		 false},
		{"a kernel without move_mount",
		 {.before = lack_move_mount},
		 "skip-kernel",
		 "out: attach a mount: Function not implemented",
		 true},
		{"a kernel without fsopen",
		 {.before = lack_fsopen},
		 "skip-kernel",
		 "out: tmpfs: Function not implemented",
		 true},
		{"a kernel without openat2",
		 {.before = lack_openat2},
		 "skip-kernel",
		 "/tmp/b: open /tmp/b: Function not implemented",
		 true},
		{"a root file system that is missing",
		 {.bundle = "/tmp/rootless"},
		 "skip-bundle",
		 "open /tmp/none: No such file or directory",
		 true},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		pid_t pid = box_container(0, NULL);
		struct hook_outcome o = call(&rows[i].call, pid);
		bool mounted = !strcmp(rows[i].status, "mounted");
		CLEANUP(json_decref) json_t *s = saved();

		is_str(hook_status_name(o.status), rows[i].status, "the status is right with %s",
		       rows[i].what);
		is_str(o.err.msg, rows[i].msg, "the reason is told with %s", rows[i].what);
		is_int(mounts_in(pid), mounted ? 3 : 0, "there are %s mounts with %s",
		       mounted ? "all" : "no", rows[i].what);
		is_int(shares(), mounted, "the share is %s", mounted ? "there" : "not there");
		is_str(text_of(s, "status"), rows[i].kept ? rows[i].status : "",
		       "the state is %s with %s", rows[i].kept ? "kept" : "not kept", rows[i].what);
		is_str(text_of(s, "detail"), rows[i].kept ? rows[i].msg : "",
		       "the state has the reason");
		actor_end(pid);
		end();
	}
}

/* Processes that are no container, or one that cannot have the mounts. */
static void test_processes(void)
{
	pid_t readonly = box_container(0, make_readonly), gone = actor_idle();
	struct hook_outcome o = call(&(struct call){0}, readonly);
	CLEANUP(json_decref) json_t *s = saved();

	is_str(hook_status_name(o.status), "skip-nodev", "a read-only /dev gets no mounts");
	is_str(text_of(s, "status"), "skip-nodev", "the state says so");
	ok(!shares() && access(WEB "/out", F_OK) < 0, "the share is removed again");
	end();
	actor_end(readonly);
	o = call(&(struct call){0}, gone);
	is_str(hook_status_name(o.status), "skip-nomntns", "the caller's namespace gets none");
	end();
	actor_end(gone);
	o = call(&(struct call){0}, gone);
	is_str(hook_status_name(o.status), "skip-gone", "a process that has ended gets none");
	end();
	o = call_text(&(struct call){0}, "nonsense");
	is_str(hook_status_name(o.status), "skip-state", "what is no JSON is no state");
	is_str(o.id, "", "it has no id");
	ok(access(WEB, F_OK) < 0, "nothing is kept");
	o = call(&(struct call){.status = "stopped", .root = "/tmp/bad"}, 0);
	is_str(hook_status_name(o.status), "err-host", "an end needs a good root, too");
}

static void put_bundle(const char *path, const char *config)
{
	CLEANUP(free) char *file = xasprintf("%s/config.json", path);

	box_must(mkdir(path, 0755) == 0, path);
	box_write(file, 0644, config);
}

static void tests(void)
{
	put_bundle("/tmp/b", "{\"root\":{\"path\":\"" BOX_FS "\"}}");
	put_bundle("/tmp/refuses", "{\"root\":{\"path\":\"" BOX_FS "\"},\"annotations\":" NO "}");
	put_bundle("/tmp/rootless", "{\"root\":{\"path\":\"/tmp/none\"}}");
	box_must(mkdir("/tmp/pay", 0755) == 0 && mkdir("/tmp/bad", 0755) == 0 &&
			 chmod("/tmp/bad", 0777) == 0,
		 "folders");
	box_write("/tmp/pay/" DFG_AGENT_NAME, 0644, "agent");
	box_write("/tmp/pay/" DFG_INJECT_NAME, 0755, "inject");
	test_mounted();
	test_interrupted();
	test_again();
	test_join();
	test_join_start();
	test_user_namespace();
	test_skipped();
	test_processes();
}

int main(void)
{
	return box_run(tests);
}
