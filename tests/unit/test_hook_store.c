// SPDX-License-Identifier: Apache-2.0
/* The hook's root directory: how it is made and locked, and what stays after a container's end. */
#include "hook/store.h"

#include <sys/file.h>

#include "common/proc.h"
#include "dfg/paths.h"
#include "hook/mounts.h"
#include "hook/state.h"
#include "lib/hookbox.h"

#define ROOT "/tmp/a/root"

static struct hook_store open_good(const char *root)
{
	struct hook_store s = HOOK_STORE_EMPTY;
	struct err err = {0};

	box_must(hook_store_open(root, &s, &err) == 0, err.msg);
	return s;
}

static bool is_shared(const char *point)
{
	char line[1024];

	return box_mounts(0, point, line) > 0 && strstr(line, "shared:");
}

/* True if another process could lock the file now. */
static bool can_lock(const char *path, int how)
{
	CLEANUP(close_fd) int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd >= 0 && flock(fd, how | LOCK_NB) == 0;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_mode : 0;
}

/* ---- the root ---- */

static void test_open(void)
{
	CLEANUP(hook_store_close) struct hook_store s = open_good(ROOT);
	CLEANUP(hook_store_close) struct hook_store other = open_good(ROOT);
	char line[1024];

	is_str(s.path, ROOT, "the path is known");
	is_int(mode_of(ROOT), S_IFDIR | 0755, "the root is made with those above it");
	is_int(mode_of(ROOT "/containers"), S_IFDIR | 0755, "so is the one of containers");
	is_int(mode_of(ROOT "/lock"), S_IFREG | 0600, "so is the lock");
	is_int(box_mounts(0, ROOT, line), 1, "the root is bound onto itself, once");
	ok(faccessat(s.root, "containers", F_OK, 0) == 0 && hook_mnt_is_root(s.root),
	   "the descriptor is of the mount");
	ok(can_lock(ROOT "/lock", LOCK_SH) && !can_lock(ROOT "/lock", LOCK_EX),
	   "the lock is shared by all that have it open");
	hook_store_close(&s);
	ok(!can_lock(ROOT "/lock", LOCK_EX), "one that is open still holds it");
	hook_store_close(&other);
	ok(can_lock(ROOT "/lock", LOCK_EX), "the last that is closed frees it");
	ok(s.root == -1 && s.containers == -1 && s.lock == -1, "nothing stays open");
}

static void test_unlock(void)
{
	CLEANUP(hook_store_close) struct hook_store s = open_good(ROOT);

	hook_store_unlock(&s);
	ok(can_lock(ROOT "/lock", LOCK_EX), "a store that gave up its lock keeps nobody waiting");
	ok(s.root >= 0 && s.containers >= 0, "its directories stay open");
	hook_store_unlock(&s);
	is_int(s.lock, -1, "it may be given up twice");
}

/* A hook was killed after it had bound the root: a mount of the same peers as the one below. */
static void test_private(void)
{
	struct hook_store s;

	box_must(mkdir("/tmp/host", 0755) == 0 &&
			 mount("host", "/tmp/host", "tmpfs", 0, "mode=755") == 0 &&
			 mount("", "/tmp/host", "", MS_SHARED, NULL) == 0,
		 "/tmp/host");
	s = open_good("/tmp/host/dfg");
	ok(is_shared("/tmp/host") && !is_shared("/tmp/host/dfg"),
	   "mounts in the root are not propagated to the peers of what is below");
	hook_store_close(&s);
	box_must(mount("", "/tmp/host/dfg", "", MS_SHARED, NULL) == 0, "shared");
	s = open_good("/tmp/host/dfg");
	ok(!is_shared("/tmp/host/dfg"), "a root that was left shared is made private");
	hook_store_close(&s);
	umount2("/tmp/host", MNT_DETACH);
}

static void test_refused(void)
{
	static const struct {
		const char *what;
		mode_t mode;
		uid_t uid;
	} rows[] = {{"its group can write", 0775, 0},
		    {"others can write", 0757, 0},
		    {"is another user's", 0755, 7}};
	struct hook_store s = HOOK_STORE_EMPTY;
	CLEANUP(free) char *longest = xasprintf("/%0254d", 0);
	CLEANUP(free) char *longer = xasprintf("/%0255d", 0);
	struct err err;
	char line[1024];

	box_must(mkdir("/tmp/bad", 0755) == 0, "/tmp/bad");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		box_must(chmod("/tmp/bad", rows[i].mode) == 0 &&
				 chown("/tmp/bad", rows[i].uid, 0) == 0,
			 "/tmp/bad");
		is_int(hook_store_open("/tmp/bad", &s, &err), -1, "a root that %s is refused",
		       rows[i].what);
		is_str(err.msg, "/tmp/bad: /tmp/bad can be written by others than root",
		       "the reason is told");
		is_int(box_mounts(0, "/tmp/bad", line), 0, "nothing is mounted on it");
	}
	is_int(s.root, -1, "nothing is set by a failure");
	is_int(hook_store_open("relative", &s, &err), -1, "a relative path is refused");
	is_int(hook_store_open(longer, &s, &err), -1, "a path of 256 bytes is refused");
	is_int(err.code, ENAMETOOLONG, "it is said to be too long");
	is_int(hook_store_open(longest, &s, &err), -1, "/ of the box is read-only");
	is_int(err.code, EROFS, "a path of 255 bytes is not too long");
	box_must(chown("/tmp/bad", 0, 0) == 0 && symlink("/tmp/elsewhere", "/tmp/bad/lock") == 0,
		 "lock");
	is_int(hook_store_open("/tmp/bad", &s, &err), -1, "a root whose lock is a link is refused");
	ok(has_prefix(err.msg, "/tmp/bad: open lock: ") && access("/tmp/elsewhere", F_OK) < 0,
	   "the reason is told, and nothing is made elsewhere");
	unlink("/tmp/bad/lock");
	box_must(symlink("/tmp", "/tmp/bad/containers") == 0, "containers");
	is_int(hook_store_open("/tmp/bad", &s, &err), -1, "so is one whose containers are a link");
	umount2("/tmp/bad", MNT_DETACH);
	fs_remove_tree(AT_FDCWD, "/tmp/bad");
	box_must(symlink("/tmp/a", "/tmp/bad") == 0, "link");
	is_int(hook_store_open("/tmp/bad", &s, &err), -1, "a link is not followed");
}

static void test_lock(void)
{
	CLEANUP(hook_store_close) struct hook_store s = open_good(ROOT);
	struct err err;

	is_int(hook_store_lock(&s, true, &err), 0, "the lock is made exclusive");
	ok(!can_lock(ROOT "/lock", LOCK_SH), "nobody else has it then");
	is_int(hook_store_lock(&s, false, &err), 0, "it is made shared again");
	ok(can_lock(ROOT "/lock", LOCK_SH) && !can_lock(ROOT "/lock", LOCK_EX),
	   "others share it then");
	close(s.lock);
	s.lock = -1;
	is_int(hook_store_lock(&s, true, &err), -1, "what is not open is not locked");
	is_str(err.msg, "lock " ROOT ": Bad file descriptor", "the reason is told");
}

static void test_unbind(void)
{
	CLEANUP(hook_store_close) struct hook_store s = open_good(ROOT);
	char line[1024];

	hook_store_unbind(&s);
	is_int(box_mounts(0, ROOT, line), 0, "the root is not bound onto itself any more");
	hook_store_close(&s);
	s = open_good(ROOT);
	is_int(box_mounts(0, ROOT, line), 1, "it is bound again by the next call");
	hook_store_close(&s);
	box_must(mkdir("/tmp/part", 0755) == 0 &&
			 mount("part", "/tmp/part", "tmpfs", 0, "mode=755") == 0,
		 "/tmp/part");
	s = open_good("/tmp/part");
	is_int(box_mounts(0, "/tmp/part", line), 1, "a root that is a partition is not bound");
	hook_store_unbind(&s);
	is_int(box_mounts(0, "/tmp/part", line), 1, "the administrator's partition stays");
	umount2("/tmp/part", MNT_DETACH);
}

/* ---- containers ---- */

static void test_container(const struct hook_store *s)
{
	CLEANUP(close_fd) int dir = -1;
	CLEANUP(close_fd) int lock = -1;
	struct err err;

	is_int(hook_store_open_container(s, "web", false, &err), -1, "a container is not there");
	is_int(err.code, ENOENT, "it is said to be missing");
	dir = hook_store_open_container(s, "web", true, &err);
	ok(dir >= 0, "its directory is made");
	is_int(mode_of(ROOT "/containers/web"), S_IFDIR | 0700, "only root may enter it");
	close(dir);
	dir = hook_store_open_container(s, "web", false, &err);
	ok(dir >= 0, "it is found");
	lock = hook_store_lock_container(dir, false, &err);
	ok(lock >= 0, "it is locked");
	is_int(mode_of(ROOT "/containers/web/lock"), S_IFREG | 0600, "by a file of root");
	is_int(hook_store_lock_container(dir, false, &err), -1, "it is not locked twice");
	is_int(err.code, EWOULDBLOCK, "it is said to be locked");
	is_int(hook_store_lock_container(-1, false, &err), -1, "nothing is not locked");
	is_str(err.msg, "open lock: Bad file descriptor", "the reason is told");
	unlinkat(dir, "lock", 0);
	box_must(symlinkat("/tmp/elsewhere", dir, "lock") == 0, "lock");
	is_int(hook_store_lock_container(dir, false, &err), -1, "a lock that is a link is refused");
	is_int(err.code, ELOOP, "it is said to be one");
	unlinkat(dir, "lock", 0);
	box_must(symlink("/tmp", ROOT "/containers/link") == 0, "link");
	is_int(hook_store_open_container(s, "link", false, &err), -1, "a link is no container");
	unlink(ROOT "/containers/link");
}

static char state_of(pid_t pid)
{
	CLEANUP(close_fd) int proc = proc_open(pid, NULL);
	struct proc_status st = {0};

	return proc >= 0 && proc_read_status(proc, &st, NULL) == 0 ? st.state : 'X';
}

static void test_waiting(const struct hook_store *s)
{
	CLEANUP(close_fd) int dir = hook_store_open_container(s, "web", false, NULL);
	CLEANUP(close_fd) int lock = hook_store_lock_container(dir, true, NULL);
	struct actor a;
	int status = -1;
	char state;

	if (actor_fork(&a)) {
		close(lock); /* a lock is of the open file: the parent still holds it */
		actor_tell(&a);
		_exit(hook_store_lock_container(dir, true, NULL) >= 0 ? 0 : 1);
	}
	box_must(lock >= 0 && actor_wait(&a), "lock");
	while (!strchr("SZX", state = state_of(a.pid)))
		usleep(1000);
	is_int(state, 'S', "who waits for a container's lock sleeps");
	is_int(waitpid(a.pid, &status, WNOHANG), 0, "it has not ended");
	close(lock);
	lock = -1;
	waitpid(a.pid, &status, 0);
	is_int(status, 0, "it gets the lock when it is free");
}

/* A state of a process with a payload, as the hook writes it. */
static void put_state(const struct hook_store *s, const char *id, pid_t pid, const char *payload)
{
	CLEANUP(close_fd) int dir = hook_store_open_container(s, id, true, NULL);
	CLEANUP(close_fd) int proc = proc_open(pid ? pid : getpid(), NULL);
	struct hook_state state = {.status = HOOK_MOUNTED, .detail = ""};
	struct oci_config config = {0};
	struct oci_state oci = {.pid = pid ? pid : 99999};

	snprintf(state.payload, sizeof(state.payload), "%s", payload);
	box_must(dir >= 0 && proc_boot_id(state.boot_id, NULL) == 0 &&
			 proc_start_time(proc, &state.start_time, NULL) == 0 &&
			 hook_state_write(dir, &state, &oci, &config, NULL) == 0,
		 id);
}

static void put_share(const struct hook_store *s, const char *id)
{
	static const struct hook_tmpfs out = {.bytes = 1u << 20, .inodes = 9};
	CLEANUP(close_fd) int dir = hook_store_open_container(s, id, true, NULL);
	struct hook_mounts m = {-1, -1, -1};

	box_must(hook_share_mount(dir, &out, &m, NULL) == 0, id);
	close(m.out);
	close(m.ctl);
}

static void put_graphs(const char *id, bool filled)
{
	CLEANUP(free) char *path = xasprintf(ROOT "/containers/%s/graphs", id);
	CLEANUP(free) char *below = xasprintf("%s/now", path);

	box_must(mkdir(path, 0700) == 0 && (!filled || mkdir(below, 0700) == 0), path);
}

static bool is_there(const char *id)
{
	CLEANUP(free) char *path = xasprintf(ROOT "/containers/%s", id);

	return access(path, F_OK) == 0;
}

static void test_payload_users(const struct hook_store *s)
{
	ok(!hook_store_uses_payload(s, "k1"), "without a container no payload is used");
	put_state(s, "one", 0, "k1");
	ok(hook_store_uses_payload(s, "k1"), "the payload of a container is used");
	ok(!hook_store_uses_payload(s, "k"), "a part of its name is another payload");
	put_state(s, "two", 0, "k2");
	ok(hook_store_uses_payload(s, "k1") && hook_store_uses_payload(s, "k2"),
	   "two containers use two");
	put_graphs("one", true);
	box_must(hook_store_end_container(s, "one", NULL) == 0, "one");
	ok(is_there("one") && !hook_store_uses_payload(s, "k1"),
	   "a container that has ended uses none");
	box_must(hook_store_end_container(s, "two", NULL) == 0, "two");
	fs_remove_tree(s->containers, "one");
}

static void test_end(const struct hook_store *s)
{
	struct hook_past past = {0};
	struct stat before, after;
	struct err err;
	char line[1024];

	is_int(hook_store_end_container(s, "unknown", &err), 0, "an unknown container is no error");
	ok(!is_there("unknown"), "it is not made");
	put_state(s, "plain", 0, "");
	put_share(s, "plain");
	put_graphs("plain", false);
	is_int(box_mounts(0, ROOT "/containers/plain/out", line), 1, "a container has a share");
	is_int(hook_store_end_container(s, "plain", &err), 0, "it is ended");
	is_int(box_mounts(0, ROOT "/containers/plain/out", line), 0, "its share is unmounted");
	ok(!is_there("plain"), "its directory goes, and so do graphs that are none");

	put_state(s, "drawn", 0, "");
	put_share(s, "drawn");
	put_graphs("drawn", true);
	is_int(hook_store_end_container(s, "drawn", &err), 0, "one with graphs is ended");
	ok(is_there("drawn/graphs/now") && !is_there("drawn/out") && !is_there("drawn/ctl"),
	   "its graphs stay, its share goes");
	CLEANUP(close_fd) int dir = hook_store_open_container(s, "drawn", false, &err);
	ok(hook_state_read(dir, &past, &err) == 0 && past.ended, "its state says that it ended");
	fstatat(dir, DFG_STATE_FILE, &before, 0);
	is_int(hook_store_end_container(s, "drawn", &err), 0, "it is ended once more");
	fstatat(dir, DFG_STATE_FILE, &after, 0);
	is_int(after.st_ino, before.st_ino, "its state is not written again");
	unlinkat(dir, DFG_STATE_FILE, 0);
	is_int(hook_store_end_container(s, "drawn", &err), 0,
	       "graphs without a state are no error");
	ok(is_there("drawn/graphs/now") && !is_there("drawn/" DFG_STATE_FILE),
	   "they stay, without a state");
	fs_remove_tree(s->containers, "drawn");
	box_write(ROOT "/containers/file", 0600, "");
	is_int(hook_store_end_container(s, "file", &err), -1, "a file is no container");
	unlink(ROOT "/containers/file");
}

/* Something that cannot be removed: a mount of somebody else in it. */
static void test_end_fails(const struct hook_store *s)
{
	struct err err;

	put_state(s, "held", 0, "");
	box_must(mkdir(ROOT "/containers/held/x", 0700) == 0 &&
			 mount("x", ROOT "/containers/held/x", "tmpfs", 0, "") == 0,
		 "held");
	is_int(hook_store_end_container(s, "held", &err), -1, "what cannot be removed is told");
	ok(has_prefix(err.msg, "remove held: "), "the container is named");
	umount2(ROOT "/containers/held/x", MNT_DETACH);
	is_int(hook_store_end_container(s, "held", &err), 0, "it is removed later");
}

static void test_sweep(const struct hook_store *s)
{
	pid_t pid = actor_idle();
	struct hook_sweep sweep = {7, 7};
	CLEANUP(close_fd) int dir = -1;
	CLEANUP(close_fd) int lock = -1;

	put_state(s, "alive", pid, "");
	put_share(s, "alive");
	put_state(s, "ended", 0, "");
	put_share(s, "ended");
	put_state(s, "locked", 0, "");
	dir = hook_store_open_container(s, "locked", false, NULL);
	lock = hook_store_lock_container(dir, false, NULL);
	box_must(lock >= 0 && mkdir(ROOT "/containers/without", 0700) == 0 &&
			 mkdir(ROOT "/containers/.hidden", 0700) == 0 &&
			 mkdir(ROOT "/containers/a b", 0700) == 0,
		 "sweep");
	hook_store_sweep(s, &sweep);
	is_int(sweep.removed, 2, "one that has ended and one without a state are removed");
	is_int(sweep.running, 2, "one that runs and one that is locked are not");
	ok(!is_there("ended") && !is_there("without"), "their directories are gone");
	ok(is_there("alive/out") && is_there("locked"), "the others are there");
	ok(is_there(".hidden") && is_there("a b"), "what is no container's is left alone");
	actor_end(pid);
	close(lock);
	lock = -1;
	hook_store_sweep(s, &sweep);
	ok(sweep.removed == 2 && sweep.running == 0 && !is_there("alive") && !is_there("locked"),
	   "they go when they have ended and nobody holds the lock");
}

static void tests(void)
{
	test_open();
	test_unlock();
	test_private();
	test_refused();
	test_lock();
	test_unbind();

	CLEANUP(hook_store_close) struct hook_store s = open_good(ROOT);
	test_container(&s);
	test_waiting(&s);
	box_must(hook_store_end_container(&s, "web", NULL) == 0, "web");
	test_payload_users(&s);
	test_end(&s);
	test_end_fails(&s);
	test_sweep(&s);
}

int main(void)
{
	return box_run(tests);
}
