// SPDX-License-Identifier: Apache-2.0
/* stuckfs DIR [root]: mounts a file system (FUSE) at DIR whose server knows one file, libjvm.so,
 * and answers neither reads nor questions about others; maps that file executable, says "ready" and
 * computes: it looks like a JVM, and its memory and files make whoever looks at it wait. "root": it
 * enters a mount namespace of its own with DIR as its root instead, like a container. All is over
 * when it is killed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE 65536

static int dev;

static void answer(const struct fuse_in_header *in, int error, const void *body, size_t len)
{
	char buf[4096];
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + len), .error = -error, .unique = in->unique};

	memcpy(buf, &out, sizeof(out));
	if (len)
		memcpy(buf + sizeof(out), body, len);
	(void)!write(dev, buf, sizeof(out) + len);
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){.ino = node,
				  .size = node == 1 ? 0 : SIZE,
				  .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0755,
				  .nlink = 1};
}

static void serve(const struct fuse_in_header *in, const char *body)
{
	struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = 4096};
	struct fuse_entry_out entry = {.nodeid = 2, .attr = attr_of(2)};
	struct fuse_attr_out attr = {.attr = attr_of(in->nodeid)};
	struct fuse_open_out opened = {.fh = 1};

	switch (in->opcode) {
	case FUSE_INIT:
		answer(in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		if (!strcmp(body, "libjvm.so"))
			answer(in, 0, &entry, sizeof(entry));
		/* Others are kept waiting. */
		break;
	case FUSE_GETATTR:
		answer(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		break;
	default:
		answer(in, ENOSYS, NULL, 0);
	}
}

static void mount_here(const char *dir)
{
	char options[128];

	dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 dev);
	if (dev < 0 || mount("stuck", dir, "fuse.stuck", MS_NODEV | MS_NOSUID, options) < 0) {
		perror("mount");
		exit(1);
	}
}

static int enter(const char *dir)
{
	if (unshare(CLONE_NEWNS) < 0 || chroot(dir) < 0) {
		perror(dir);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	static char buf[1 << 17];
	char path[4096];
	int fd;

	if (argc < 2)
		return 2;
	mount_here(argv[1]);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			if (read(dev, buf, sizeof(buf)) > 0)
				serve((void *)buf, buf + sizeof(struct fuse_in_header));
	}
	close(dev);
	if (argc > 2)
		return enter(argv[1]);
	snprintf(path, sizeof(path), "%s/libjvm.so", argv[1]);
	fd = open(path, O_RDONLY);
	if (fd < 0 || mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
		perror(path);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		;
}
