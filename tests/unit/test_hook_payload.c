// SPDX-License-Identifier: Apache-2.0
/* The payload, mounted once per image: from a directory, from an image, and when it goes. */
#include "hook/payload.h"

#include <linux/loop.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include "common/proc.h"
#include "dfg/paths.h"
#include "hook/mounts.h"
#include "hook/state.h"
#include "lib/hookbox.h"

#define ROOT  "/tmp/root"
#define DIR_  "/tmp/pay"
#define AGENT DIR_ "/" DFG_AGENT_NAME
#define INJ   DIR_ "/" DFG_INJECT_NAME
#define IMAGE "/tmp/beside/payload.squashfs"

static struct hook_store store = HOOK_STORE_EMPTY;

static char *point_of(const char *key)
{
	return xasprintf(ROOT "/payload/%s", key);
}

/* The mounts of a payload; its line of mountinfo. */
static unsigned mounts_of(const char *key, char line[static 1024])
{
	CLEANUP(free) char *point = point_of(key);

	return box_mounts(0, point, line);
}

/* Opens it and closes it again: 0, or -1 and err. */
static int use(const char *path, char key[static 32], struct err *err)
{
	CLEANUP(close_fd) int fd = hook_payload_open(&store, path, key, err);

	return fd >= 0 ? 0 : -1;
}

/* True if the store's lock is shared: others can have it, but not for themselves. */
static bool is_lock_shared(void)
{
	CLEANUP(close_fd) int fd = open(ROOT "/lock", O_RDWR | O_CLOEXEC);

	return flock(fd, LOCK_SH | LOCK_NB) == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

static void make_files(void)
{
	mkdir(DIR_, 0755);
	box_write(AGENT, 0640, "agent");
	box_write(INJ, 0600, "inject");
}

/* ---- a directory ---- */

static void check_file(int dir, const char *name, const char *want)
{
	CLEANUP(str_fini) struct str text = {0};
	struct stat st;

	is_int(fs_read_file(dir, name, 100, &text, NULL), 0, "%s is in the payload", name);
	is_str(text.buf, want, "it has the bytes of the file");
	ok(fstatat(dir, name, &st, 0) == 0 && st.st_mode == (S_IFREG | 0555) && st.st_uid == 0,
	   "every user may execute it");
}

static void test_directory(void)
{
	struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY};
	char key[32] = "", again[32] = "", line[1024];
	struct err err = {0};
	CLEANUP(close_fd) int fd = -1;
	struct statfs fs;

	make_files();
	fd = hook_payload_open(&store, DIR_, key, &err);
	ok(fd >= 0 && hook_mnt_is_root(fd), "the root of a mount is returned");
	ok(strlen(key) == 16 && strspn(key, "0123456789abcdef") == 16, "the key has 16 digits");
	is_int(mounts_of(key, line), 1, "the payload is mounted at its key");
	ok(has_prefix(line, "ro,nosuid,nodev,relatime,nosymfollow ") &&
		   strstr(line, " - tmpfs dfg-payload ro,"),
	   "it is a read-only tmpfs whose files may be executed");
	ok(fstatfs(fd, &fs) == 0 && (uint64_t)fs.f_bsize * fs.f_blocks == 16u << 20 &&
		   fs.f_files == 16,
	   "it has room for 16 MiB in 16 files");
	check_file(fd, DFG_AGENT_NAME, "agent");
	check_file(fd, DFG_INJECT_NAME, "inject");
	ok(mount_setattr(fd, "", AT_EMPTY_PATH, &writable, sizeof(writable)) == 0 &&
		   faccessat(fd, ".", W_OK, 0) < 0 && errno == EROFS,
	   "a mount of it that is made writable cannot be written");
	is_int(use(DIR_, again, &err), 0, "it is opened again");
	is_str(again, key, "the same payload has the same key");
	is_int(mounts_of(key, line), 1, "it is mounted once");
	ok(is_lock_shared(), "the lock is shared again after it");
}

static void test_key(void)
{
	static const struct timespec times[] = {{.tv_sec = 1000, .tv_nsec = 5},
						{.tv_sec = 1001, .tv_nsec = 5},
						{.tv_sec = 1001, .tv_nsec = 6}};
	char keys[6][32];
	struct err err;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		const struct timespec both[] = {times[i], times[i]};

		box_must(utimensat(AT_FDCWD, INJ, both, 0) == 0, INJ);
		box_must(use(DIR_, keys[n++], &err) == 0, err.msg);
	}
	{
		const struct timespec both[] = {times[2], times[2]};

		box_write(INJ, 0600, "longer than before");
		box_must(utimensat(AT_FDCWD, INJ, both, 0) == 0, INJ);
		box_must(use(DIR_, keys[n++], &err) == 0, err.msg);
		box_must(rename(INJ, "/tmp/old") == 0, INJ);
		box_write(INJ, 0600, "longer than before");
		box_must(utimensat(AT_FDCWD, INJ, both, 0) == 0, INJ);
		box_must(use(DIR_, keys[n++], &err) == 0, err.msg);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			ok(strcmp(keys[i], keys[j]) != 0,
			   "files of other time, size or inode are another payload (%zu, %zu)", i,
			   j);
	hook_payload_release(&store);
}

static bool make_foreign(void)
{
	return chown(DIR_, 1, 0) == 0;
}

static bool make_writable(void)
{
	return chmod(DIR_, 0775) == 0;
}

static bool make_file_foreign(void)
{
	return chown(AGENT, 1, 0) == 0;
}

static bool make_file_writable(void)
{
	return chmod(INJ, 0602) == 0;
}

static bool remove_agent(void)
{
	return unlink(AGENT) == 0;
}

static bool remove_inject(void)
{
	return unlink(INJ) == 0;
}

static bool make_link(void)
{
	return unlink(INJ) == 0 && symlink("/bin/sh", INJ) == 0;
}

static bool make_huge(void)
{
	return truncate(AGENT, (16 << 20) + 1) == 0;
}

static void test_refused(void)
{
#define ROOTS "must belong to root and be writable by root only"
	static const struct {
		const char *what;
		bool (*make)(void);
		const char *msg;
	} rows[] = {
		{"of another user", make_foreign, DIR_ " " ROOTS},
		{"that its group can write", make_writable, DIR_ " " ROOTS},
		{"with a file of another user", make_file_foreign, DFG_AGENT_NAME " " ROOTS},
		{"with a file others can write", make_file_writable, DFG_INJECT_NAME " " ROOTS},
		{"without the agent", remove_agent, DFG_AGENT_NAME ": No such file"},
		{"without the injector", remove_inject, DFG_INJECT_NAME ": No such file"},
		{"with a link", make_link, "open " DFG_INJECT_NAME},
		{"with a file that is too large", make_huge, "No space left on device"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		char key[32] = "", line[1024];

		fs_remove_tree(AT_FDCWD, DIR_);
		make_files();
		box_must(rows[i].make(), rows[i].what);
		is_int(use(DIR_, key, &err), -1, "a directory %s is refused", rows[i].what);
		ok(strstr(err.msg, rows[i].msg), "the reason is told");
		ok(!key[0] || mounts_of(key, line) == 0, "nothing is mounted");
		ok(is_lock_shared(), "the lock is shared as before");
	}
	fs_remove_tree(AT_FDCWD, DIR_);
	make_files();
}

static void test_no_payload(void)
{
	struct err err = {0};
	char key[32];

	is_int(use("/tmp/none", key, &err), -1, "a missing payload is refused");
	is_str(err.msg, "payload /tmp/none: No such file or directory", "it is named");
	box_must(mkfifo("/tmp/fifo", 0600) == 0, "fifo");
	is_int(use("/tmp/fifo", key, &err), -1, "a FIFO is refused, without waiting");
	ok(strstr(err.msg, ROOTS), "the reason is told");
}

/* ---- an image ---- */

/* The loop device of a payload mount, by its line of mountinfo. */
static int loop_of(const char *line, struct loop_info64 *ret)
{
	const char *device = strstr(line, "/dev/loop");
	char path[32] = "";
	int fd;

	if (!device || sscanf(device, "%31s", path) != 1)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && ioctl(fd, LOOP_GET_STATUS64, ret) == 0)
		return fd;
	cleanup_close_fd(&fd);
	return -1;
}

static void check_image(const char *line)
{
	struct loop_info64 info = {0};
	CLEANUP(close_fd) int loop = loop_of(line, &info);

	ok(has_prefix(line, "ro,nosuid,nodev,relatime,nosymfollow ") &&
		   strstr(line, " - squashfs /dev/loop"),
	   "it is a read-only squashfs whose files may be executed");
	ok(loop >= 0 && (info.lo_flags & LO_FLAGS_READ_ONLY), "its loop device is read-only");
	ok(loop >= 0 && (info.lo_flags & LO_FLAGS_AUTOCLEAR), "it ends with its last mount");
	is_str((const char *)info.lo_file_name, "payload.squashfs", "it has a name");
}

static void test_image(void)
{
	char key[32], line[1024];
	struct err err = {0};
	CLEANUP(close_fd) int fd = -1;
	struct stat st;

	box_must(mkdir("/tmp/beside", 0755) == 0, "beside");
	if (!box_copy("libexec/payload.squashfs", IMAGE) || access("/dev/loop-control", F_OK) < 0) {
		ok(true, "an image is mounted # SKIP no image, or no loop devices");
		return;
	}
	fd = hook_payload_open(&store, IMAGE, key, &err);
	if (fd < 0 && strstr(err.msg, "loop")) {
		ok(true, "an image is mounted # SKIP %s", err.msg);
		return;
	}
	ok(fd >= 0 && mounts_of(key, line) == 1, "an image is mounted");
	check_image(line);
	ok(fstatat(fd, DFG_AGENT_NAME, &st, 0) == 0 && (st.st_mode & 0111) == 0111,
	   "it has the agent");
	box_must(chmod(IMAGE, 0757) == 0, IMAGE);
	is_int(use(IMAGE, key, &err), -1, "an image that others can write is refused");
	box_must(chmod(IMAGE, 0755) == 0, IMAGE);
}

/* The path itself is of no use, or loop devices are not: the directory beside it is. */
static void test_beside(void)
{
	char key[32], line[1024];
	struct err err = {0};

	mkdir("/tmp/beside", 0755);
	box_write(IMAGE, 0644, "broken");
	is_int(use(IMAGE, key, &err), -1, "a broken image is refused");
	ok(has_prefix(err.msg, "payload " IMAGE ": "), "it is named");
	box_must(rename(DIR_, "/tmp/beside/payload") == 0, DIR_);
	is_int(use(IMAGE, key, &err), 0, "the directory beside a broken image is used");
	ok(mounts_of(key, line) == 1 && strstr(line, " - tmpfs dfg-payload "),
	   "it is mounted at the image's key");
	hook_payload_release(&store);
	box_must(chmod("/tmp/beside/payload", 0777) == 0, "chmod");
	is_int(use(IMAGE, key, &err), -1, "but not if others can write to it");
	box_must(chmod("/tmp/beside/payload", 0755) == 0 &&
			 rename("/tmp/beside/payload", DIR_) == 0,
		 DIR_);
}

/* ---- the end ---- */

/* A container that has this payload. */
static void put_user(const char *key)
{
	CLEANUP(close_fd) int dir = hook_store_open_container(&store, "user", true, NULL);
	struct hook_state state = {.status = HOOK_MOUNTED, .detail = ""};
	struct oci_state oci = {.pid = getpid()};
	struct oci_config config = {0};

	strcpy(state.payload, key);
	box_must(hook_state_write(dir, &state, &oci, &config, NULL) == 0, "user");
}

static void test_release(void)
{
	char used[32], unused[32], line[1024];
	CLEANUP(free) char *point = NULL;
	struct err err;

	box_must(use(DIR_, used, &err) == 0, err.msg);
	put_user(used);
	box_write(AGENT, 0600, "another agent");
	box_must(use(DIR_, unused, &err) == 0, err.msg);
	box_must(mkdir(ROOT "/payload/.part", 0700) == 0 && mkdir(ROOT "/payload/old", 0700) == 0,
		 "payload");
	hook_payload_release(&store);
	is_int(mounts_of(used, line), 1, "the payload of a container stays");
	is_int(mounts_of(unused, line), 0, "one that no container has is unmounted");
	point = point_of(unused);
	ok(access(point, F_OK) < 0 && access(ROOT "/payload/old", F_OK) < 0,
	   "mount points that are not used are removed");
	ok(access(ROOT "/payload/.part", F_OK) == 0, "hidden names are left alone");
	box_must(hook_store_end_container(&store, "user", &err) == 0, err.msg);
	hook_payload_release(&store);
	is_int(mounts_of(used, line), 0, "it goes after its last container");
	fs_remove_tree(store.root, "payload");
	hook_payload_release(&store);
	ok(access(ROOT "/containers", F_OK) == 0 && access("/tmp/beside", F_OK) == 0,
	   "without any payload nothing is removed");
}

/* Loop devices are the machine's: frees those of the image that a fault of the payload left. */
static void free_loops(void)
{
	struct stat image;

	for (int i = 0; i < 64 && stat(IMAGE, &image) == 0; i++) {
		CLEANUP(free) char *path = xasprintf("/dev/loop%d", i);
		CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
		struct loop_info64 info;

		if (fd >= 0 && ioctl(fd, LOOP_GET_STATUS64, &info) == 0 &&
		    info.lo_device == image.st_dev && info.lo_inode == image.st_ino)
			ioctl(fd, LOOP_CLR_FD);
	}
}

static void tests(void)
{
	struct err err = {0};

	box_must(hook_store_open(ROOT, &store, &err) == 0, err.msg);
	test_directory();
	test_key();
	test_refused();
	test_no_payload();
	test_image();
	test_beside();
	test_release();
	free_loops();
	hook_store_close(&store);
}

int main(void)
{
	return box_run(tests);
}
