// SPDX-License-Identifier: Apache-2.0
#include "hook/payload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "dfg/paths.h"
#include "hook/mounts.h"
#include "oci/conf.h"

#define PAYLOAD_IMAGE "payload.squashfs"
#define PAYLOAD_MAX   (16u << 20) /* of one file in a payload directory */
#define HARDENED      (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSYMFOLLOW)
#define ATTRS	      (MOUNT_ATTR_RDONLY | HARDENED)

/* Containers execute it: accepts only root's files and directories that nobody else can write. */
static int check_owner(int fd, const char *path, struct stat *st, struct err *err)
{
	if (fstat(fd, st) < 0)
		return err_set(err, errno, "%s", path);
	if (st->st_uid != 0 || (st->st_mode & 022) ||
	    (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode)))
		return err_set(err, 0, "%s must belong to root and be writable by root only", path);
	return 0;
}

static void key_add(uint64_t *hash, const void *p, size_t len)
{
	const unsigned char *b = p;

	for (size_t i = 0; i < len; i++) /* FNV-1a */
		*hash = (*hash ^ b[i]) * 0x100000001b3;
}

static void key_add_stat(uint64_t *hash, const struct stat *st)
{
	key_add(hash, &st->st_dev, sizeof(st->st_dev));
	key_add(hash, &st->st_ino, sizeof(st->st_ino));
	key_add(hash, &st->st_size, sizeof(st->st_size));
	key_add(hash, &st->st_mtim.tv_sec, sizeof(st->st_mtim.tv_sec));
	key_add(hash, &st->st_mtim.tv_nsec, sizeof(st->st_mtim.tv_nsec));
}

static const char *const files[] = {DFG_AGENT_NAME, DFG_INJECT_NAME};

static int make_key(int source, const struct stat *st, char key[static 32], struct err *err)
{
	uint64_t hash = 0xcbf29ce484222325;

	if (S_ISDIR(st->st_mode)) {
		for (size_t i = 0; i < ARRAY_LEN(files); i++) {
			struct stat file;

			if (fstatat(source, files[i], &file, AT_SYMLINK_NOFOLLOW) < 0)
				return err_set(err, errno, "%s", files[i]);
			key_add_stat(&hash, &file);
		}
	} else {
		key_add_stat(&hash, st);
	}
	snprintf(key, 32, "%016llx", (unsigned long long)hash);
	return 0;
}

/* Binds the image to a free loop device, which is freed with its last mount. */
static int attach_loop(int image, char device[static 32], struct err *err)
{
	CLEANUP(close_fd) int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	struct loop_config config = {
		.fd = (uint32_t)image,
		.info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR,
	};

	if (control < 0)
		return err_set(err, errno, "/dev/loop-control");
	snprintf((char *)config.info.lo_file_name, sizeof(config.info.lo_file_name), PAYLOAD_IMAGE);
	for (int tries = 0; tries < 16; tries++) {
		int n = ioctl(control, LOOP_CTL_GET_FREE);
		CLEANUP(close_fd) int fd = -1;

		if (n < 0)
			return err_set(err, errno, "find a free loop device");
		snprintf(device, 32, "/dev/loop%d", n);
		fd = open(device, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return err_set(err, errno, "%s", device);
		if (ioctl(fd, LOOP_CONFIGURE, &config) == 0)
			return TAKE_FD(fd);
		if (errno != EBUSY) /* another process took it meanwhile */
			return err_set(err, errno, "%s", device);
	}
	return err_set(err, EBUSY, "find a free loop device");
}

static int mount_image(int image, struct err *err)
{
	CLEANUP(close_fd) int loop = -1;
	char device[32];
	int mnt;

	loop = attach_loop(image, device, err);
	if (loop < 0)
		return -1;
	mnt = hook_mnt_image("squashfs", device, ATTRS, err);
	return mnt >= 0 ? mnt : hook_mnt_image("erofs", device, ATTRS, NULL);
}

static int copy_file(int from, int to, const char *name, struct err *err)
{
	CLEANUP(close_fd) int in = fs_open_regular(from, name, O_RDONLY, err);
	CLEANUP(close_fd) int out = -1;
	struct stat st;

	if (in < 0 || check_owner(in, name, &st, err) < 0)
		return -1;
	out = fs_create(to, name, 0600, err);
	if (out < 0 || fs_copy(in, out, PAYLOAD_MAX, err) < 0)
		return -1;
	if (fchmod(out, 0555) < 0)
		return err_set(err, errno, "%s", name);
	return 0;
}

static int mount_copy(int dir, struct err *err)
{
	const struct hook_tmpfs t = {
		.name = "dfg-payload", .bytes = PAYLOAD_MAX, .inodes = 16, .mode = 0755};
	CLEANUP(close_fd) int mnt = hook_mnt_tmpfs(&t, HARDENED, err);

	if (mnt < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (copy_file(dir, mnt, files[i], err) < 0)
			return -1;
	if (hook_mnt_seal(mnt, err) < 0 || hook_mnt_set(mnt, ATTRS, err) < 0)
		return -1;
	return TAKE_FD(mnt);
}

/* Mounts a copy of the directory beside an image: payload.squashfs -> payload. */
static int mount_beside(const char *image, struct err *err)
{
	CLEANUP(close_fd) int dir = -1;
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%.*s/payload", (int)(strrchr(image, '/') - image), image);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_set(err, errno, "%s", path);
	return check_owner(dir, path, &st, err) < 0 ? -1 : mount_copy(dir, err);
}

static int mount_payload(int source, const char *path, const struct stat *st, struct err *err)
{
	int mnt;

	if (S_ISDIR(st->st_mode))
		return mount_copy(source, err);
	mnt = mount_image(source, err);
	if (mnt < 0)
		mnt = mount_beside(path, NULL);
	return mnt;
}

/* Opens the mount if it exists. */
static int open_mounted(int dir, const char *key, struct err *err)
{
	CLEANUP(close_fd)
	int fd = openat(dir, key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || hook_mnt_is_root(fd) <= 0)
		return err_set(err, fd < 0 ? errno : 0, "%s is not mounted", key);
	return TAKE_FD(fd);
}

static int mount_at(int dir, const char *key, int mnt, struct err *err)
{
	CLEANUP(close_fd) int point = fs_make_dir(dir, key, 0755, err);

	if (point < 0 || hook_mnt_attach(mnt, point, err) < 0)
		return -1;
	return open_mounted(dir, key, err);
}

static int mount_locked(struct hook_store *s, int dir, const char *key, int source,
			const char *path, const struct stat *st, struct err *err)
{
	CLEANUP(close_fd) int mnt = -1;
	int fd;

	if (hook_store_lock(s, true, err) < 0)
		return -1;
	fd = open_mounted(dir, key, err);
	if (fd < 0) {
		mnt = mount_payload(source, path, st, err);
		fd = mnt < 0 ? -1 : mount_at(dir, key, mnt, err);
	}
	if (hook_store_lock(s, false, err) < 0 && fd >= 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int hook_payload_open(struct hook_store *s, const char *path, char key[static 32], struct err *err)
{
	CLEANUP(close_fd) int source = -1;
	CLEANUP(close_fd) int dir = -1;
	char sibling[PATH_MAX];
	struct stat st;
	int fd;

	if (!path)
		path = conf_find_sibling(PAYLOAD_IMAGE, sibling, sizeof(sibling)) ? sibling
										  : DFG_LIBEXECDIR
			       "/" PAYLOAD_IMAGE;
	source = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (source < 0)
		return err_set(err, errno, "payload %s", path);
	dir = fs_make_dir(s->root, DFG_PAYLOAD_DIR, 0755, err);
	if (dir < 0 || check_owner(source, path, &st, err) < 0 ||
	    make_key(source, &st, key, err) < 0)
		return -1;
	fd = open_mounted(dir, key, err);
	if (fd < 0)
		fd = mount_locked(s, dir, key, source, path, &st, err);
	return fd >= 0 ? fd : err_wrap(err, "payload %s", path);
}

void hook_payload_release(const struct hook_store *s)
{
	int fd = openat(s->root, DFG_PAYLOAD_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || hook_store_uses_payload(s, e->d_name))
			continue;
		hook_mnt_detach(dirfd(dir), e->d_name);
		unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	}
	if (dir)
		closedir(dir);
	else
		cleanup_close_fd(&fd);
}
