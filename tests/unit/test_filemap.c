// SPDX-License-Identifier: Apache-2.0
#include "common/filemap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/tap.h"
#include "lib/textfile.h"

static struct err err;

static void check_len(int fd, uint64_t limit, size_t want, const char *name)
{
	struct filemap m = {0};

	is_int(filemap_open(fd, limit, &m, &err), 0, "%s", name);
	is_int((int64_t)m.len, (int64_t)want, "its length is right");
	ok(m.p && !memcmp(m.p, "0123456789", want), "its bytes are the file's");
	filemap_close(&m);
	ok(!m.p && !m.len, "a map that was closed is empty");
	filemap_close(&m);
}

static void check_refused(int fd, const char *message, const char *name)
{
	struct filemap m = {.len = 77};

	is_int(filemap_open(fd, 100, &m, &err), -1, "%s", name);
	is_str(err.msg, message, "the message says why");
	is_int((int64_t)m.len, 77, "nothing is returned");
}

/* A mapped file that shrinks would end the process. */
static void check_read(int unreadable)
{
	CLEANUP(close_fd) int fd = file_of("0123456789", 10);
	struct filemap m = {0};

	is_int(filemap_read(fd, 0, 4, &m, &err), 0, "a file is read");
	is_int((int64_t)m.len, 4, "up to the limit");
	filemap_close(&m);
	is_int(filemap_read(fd, 0, 100, &m, &err), 0, "a whole one, too");
	if (ftruncate(fd, 0) < 0)
		abort();
	ok(m.len == 10 && !memcmp(m.p, "0123456789", 10), "what is read stays when it shrinks");
	filemap_close(&m);
	is_int(filemap_read(fd, 0, 100, &m, &err), -1, "an empty one is refused");
	is_int(filemap_read(unreadable, 0, 100, &m, &err), -1, "so is what cannot be read");
	is_str(err.msg, "read: Bad file descriptor", "the message says why");
}

int main(void)
{
	CLEANUP(close_fd) int ten = file_of("0123456789", 10);
	CLEANUP(close_fd) int empty = file_of("", 0);
	CLEANUP(close_fd) int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(close_fd) int one = file_of("0", 1);
	CLEANUP(close_fd) int unreadable = open("/proc/self/exe", O_PATH | O_CLOEXEC);

	check_len(ten, 100, 10, "a file is mapped");
	check_len(ten, 10, 10, "one of just the limit is whole");
	check_len(ten, 4, 4, "a longer one is cut");
	check_len(one, 100, 1, "a byte is a file");
	check_refused(empty, "empty, or not a regular file", "an empty file is refused");
	check_refused(dir, "empty, or not a regular file", "a directory is refused");
	check_refused(-1, "stat: Bad file descriptor", "what is not open is refused");
	check_read(unreadable);
	check_refused(unreadable, "mmap: Bad file descriptor", "so is what cannot be read");
	return tap_done();
}
