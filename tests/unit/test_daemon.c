// SPDX-License-Identifier: Apache-2.0
/* Finds the daemon that reads a configuration file, and tells if it has read its current content:
 * this process plays one. */
#include "setup/daemon.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fs.h"
#include "lib/tap.h"

static char usual[64], name[64];

static struct daemon_kind kind = {"dfg-test-daemon", {"--config", "-c"}, usual};

static void test_find(void)
{
	struct daemon d = {0};

	ok(!daemon_find(&kind, "etc/another.toml", &d), "nobody reads another file");
	ok(daemon_find(&kind, usual, &d), "without the option it is the usual one");
	is_int(d.pid, getpid(), "by this process");
	daemon_fini(&d);
	kind.program = "dfg-none";
	ok(!daemon_find(&kind, usual, &d), "a daemon of another name");
	kind.program = "dfg-test-daemon";
}

static void test_older(void)
{
	const struct timespec before[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct daemon d = {.pid = getpid()};
	CLEANUP(close_fd) int dir = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err;

	ok(!daemon_is_older(&d, dir, name), "a file that is not there");
	ok(fs_replace_file(dir, name, 0600, "x", 1, &err) == 0, "a file is written");
	ok(daemon_is_older(&d, dir, name), "the daemon is older");
	utimensat(dir, name, before, 0);
	ok(!daemon_is_older(&d, dir, name), "a file of before its start");
	unlinkat(dir, name, 0);
	d.pid = 0;
	ok(!daemon_is_older(&d, dir, "/"), "a daemon that has ended");
}

int main(void)
{
	snprintf(usual, sizeof(usual), "etc/dfg-test-%d.toml", (int)getpid());
	snprintf(name, sizeof(name), "dfg-test-daemon-%d", (int)getpid());
	prctl(PR_SET_NAME, kind.program);
	test_find();
	test_older();
	return tap_done();
}
