// SPDX-License-Identifier: Apache-2.0
/* Files of an installation, found by a copy of this program that is installed somewhere. */
#include "common/install.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/child.h"
#include "common/fs.h"
#include "lib/scratch.h"
#include "lib/tap.h"

static struct err err;

/* The path that the copy finds. */
static void check_path(const char *program, const char *want, const char *name)
{
	CLEANUP(free) char *path = path_of(program);
	char *argv[] = {path, (char *)"dfg-file", NULL};
	CLEANUP(str_fini) struct str out = {0};

	if (child_capture(argv, NULL, -1, 10000, 4096, &out, &err) != 0)
		ok(false, "the program runs: %s", err.msg);
	is_str(out.buf, want, "%s", name);
}

int main(int argc, char **argv)
{
	CLEANUP(str_fini) struct str self = {0};
	CLEANUP(free) char *beside = NULL;
	int fd;

	if (argc > 1) {
		CLEANUP(free) char *path = install_path(argv[1]);

		fputs(path, stdout);
		return 0;
	}
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fs_read_all(fd, 1u << 30, &self, &err) < 0)
		abort();
	close(fd);
	scratch_make();
	put_bytes("opt/bin/program", 0755, self.buf, self.len);
	put_bytes("bin/program", 0755, self.buf, self.len);
	put_text("opt/dfg-file", 0755, "");
	put_text("opt/bin/dfg-file", 0755, "");
	beside = path_of("opt/libexec/dfg-file");
	check_path("opt/bin/program", DFG_LIBEXECDIR "/dfg-file",
		   "a file that is not in libexec is the system's");
	put_text("opt/libexec/dfg-file", 0755, "");
	check_path("opt/bin/program", beside, "one in libexec beside bin is the program's own");
	check_path("bin/program", DFG_LIBEXECDIR "/dfg-file",
		   "that of another installation is not");
	scratch_remove();
	return tap_done();
}
