// SPDX-License-Identifier: Apache-2.0
/* Files of /proc/PID, whose texts a process can choose in part: its name, its arguments, the paths
 * that it maps. The first byte chooses the file. */
#include <fcntl.h>

#include "common/fs.h"
#include "fuzz/fuzz.h"

static struct {
	const uint8_t *p;
	size_t len;
} input;

/* In place of the file. */
static int given_all(int fd, size_t limit, struct str *s, struct err *err)
{
	(void)fd;
	if (input.len > limit)
		return err_set(err, 0, "too large");
	if (input.len)
		str_add(s, input.p, input.len);
	return 0;
}

static int given_file(int dirfd, const char *name, size_t limit, struct str *s, struct err *err)
{
	(void)name;
	return given_all(dirfd, limit, s, err);
}

static int given_open(int dirfd, const char *name, int flags)
{
	(void)dirfd;
	(void)name;
	(void)flags;
	return dup(STDERR_FILENO);
}

#define openat	     given_open
#define fs_read_all  given_all
#define fs_read_file given_file
#include "common/proc.c"

static void read_status(void)
{
	struct proc_status st;
	struct err err;

	if (proc_read_status(-1, &st, &err) < 0)
		return;
	require(st.nspid > 0 && memchr(st.name, '\0', sizeof(st.name)));
	for (const char *p = st.name; *p; p++)
		require((unsigned char)*p >= ' ' && *p != 0x7f);
}

static int see_map(const struct proc_map *m, void *arg)
{
	static volatile size_t seen;

	(void)arg;
	seen = strlen(m->path);
	require(!memchr(m->path, '\n', seen));
	return 0;
}

static void read_args(void)
{
	CLEANUP(str_fini) struct str args = {0};
	const char *value;
	struct err err;

	if (proc_read_args(-1, &args, &err) < 0)
		return;
	value = proc_arg(&args, "-id");
	require(!value || (value > args.buf && value + strlen(value) <= args.buf + args.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t ticks;
	struct err err;

	if (!size)
		return 0;
	input.p = data + 1;
	input.len = size - 1;
	if (data[0] == 's')
		read_status();
	else if (data[0] == 't')
		(void)!proc_start_time(-1, &ticks, &err);
	else if (data[0] == 'm')
		proc_each_map(-1, see_map, NULL, &err);
	else if (data[0] == 'a')
		read_args();
	else if (data[0] == 'c')
		proc_clock_ahead(-1);
	else if (data[0] == 'f')
		proc_is_frozen(-1);
	return 0;
}
