// SPDX-License-Identifier: Apache-2.0
#include "common/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "common/fs.h"

#define STATUS_MAX (64u << 10)
#define ARGS_MAX   (4u << 20)
#define MAPS_MAX   (256u << 20)

int proc_open(pid_t pid, struct err *err)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : err_set(err, errno == ENOENT ? ESRCH : errno, "process %d", (int)pid);
}

static int open_proc(int procfd, const char *name, struct err *err)
{
	int fd = openat(procfd, name, O_RDONLY | O_CLOEXEC);

	return fd >= 0 ? fd
		       : err_set(err, errno == ENOENT ? ESRCH : errno, "open /proc/…/%s", name);
}

/* Some kernels do not report proc files as regular files, which fs_read_file requires. */
static int read_open(int fd, const char *name, size_t limit, struct str *s, struct err *err)
{
	if (fs_read_all(fd, limit, s, err) < 0)
		return err_wrap(err, "/proc/…/%s", name);
	if (!s->buf)
		return err_set(err, ESRCH, "/proc/…/%s is empty", name);
	return 0;
}

static int read_proc(int procfd, const char *name, size_t limit, struct str *s, struct err *err)
{
	CLEANUP(close_fd) int fd = open_proc(procfd, name, err);

	return fd < 0 ? -1 : read_open(fd, name, limit, s, err);
}

/* Finds "key:" at the beginning of a line; returns the text after it, or NULL. */
static const char *field(const char *status, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == ':')
			return line + len + 1 + strspn(line + len + 1, " \t");
		if (!*line)
			break;
	}
	return NULL;
}

/* Parses the n-th (from 0) number of a line; -1: the last one. */
static unsigned long number(const char *line, int n, int base)
{
	unsigned long value = 0;

	for (int i = 0; line && *line && *line != '\n'; i++) {
		char *end;

		value = strtoul(line, &end, base);
		if (end == line || i == n)
			break;
		line = end + strspn(end, " \t");
	}
	return value;
}

int proc_read_status(int procfd, struct proc_status *ret, struct err *err)
{
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(str_fini) struct str name = {0};
	struct proc_status st = {0};
	const char *line;

	if (read_proc(procfd, "status", STATUS_MAX, &s, err) < 0)
		return -1;
	line = field(s.buf, "Name");
	if (line)
		str_add_clean(&name, line, strcspn(line, "\n"));
	snprintf(st.name, sizeof(st.name), "%s", name.buf ? name.buf : "");
	line = field(s.buf, "State");
	st.state = line ? *line : '?';
	st.ppid = (pid_t)number(field(s.buf, "PPid"), 0, 10);
	line = field(s.buf, "NStgid");
	st.nspid = (pid_t)number(line ? line : field(s.buf, "Tgid"), -1, 10);
	st.nested = line && line[strspn(line, "0123456789")] == '\t'; /* another number */
	st.euid = (uid_t)number(field(s.buf, "Uid"), 1, 10);
	st.egid = (gid_t)number(field(s.buf, "Gid"), 1, 10);
	st.sigcgt = number(field(s.buf, "SigCgt"), 0, 16);
	st.sigign = number(field(s.buf, "SigIgn"), 0, 16);
	st.threads = (uint32_t)number(field(s.buf, "Threads"), 0, 10);
	if (st.nspid <= 0)
		return err_set(err, 0, "/proc/…/status has no pid");
	*ret = st;
	return 0;
}

/* Reads a field of stat by its number (proc(5)), above 3. */
static int read_stat(int procfd, int number, uint64_t *ret, struct err *err)
{
	CLEANUP(str_fini) struct str s = {0};
	const char *p;
	int n;

	if (read_proc(procfd, "stat", STATUS_MAX, &s, err) < 0)
		return -1;
	/* comm is in parentheses and may hold any byte; the field after the last ')' is state,
	 * number 3. */
	p = strrchr(s.buf, ')');
	for (n = 2; p && n < number; n++)
		p = strchr(p + 1, ' ');
	if (!p)
		return err_set(err, 0, "/proc/…/stat has no field %d", number);
	*ret = strtoull(p, NULL, 10);
	return 0;
}

bool proc_is_running(pid_t pid)
{
	CLEANUP(close_fd) int procfd = proc_open(pid, NULL);
	struct proc_status st;

	return procfd >= 0 && proc_read_status(procfd, &st, NULL) == 0 && st.state != 'Z';
}

uint64_t proc_waited_ms(pid_t pid)
{
	CLEANUP(close_fd) int procfd = proc_open(pid, NULL);
	CLEANUP(str_fini) struct str s = {0};

	if (procfd < 0 || read_proc(procfd, "schedstat", STATUS_MAX, &s, NULL) < 0)
		return 0;
	return number(s.buf, 1, 10) / 1000000;
}

int proc_start_time(int procfd, uint64_t *ret_ticks, struct err *err)
{
	return read_stat(procfd, 22, ret_ticks, err);
}

int proc_program(int procfd, uint64_t *ret, struct err *err)
{
	return read_stat(procfd, 28, ret, err);
}

int proc_read_args(int procfd, struct str *ret, struct err *err)
{
	return fs_read_file(procfd, "cmdline", ARGS_MAX, ret, err);
}

const char *proc_arg(const struct str *args, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = args->buf; p && p < args->buf + args->len; p += strlen(p) + 1) {
		if (strncmp(p, name, len) != 0)
			continue;
		if (p[len] == '=')
			return p + len + 1;
		if (!p[len])
			return p + len + 1 < args->buf + args->len ? p + len + 1 : NULL;
	}
	return NULL;
}

int proc_read_cgroup(int procfd, struct str *ret, struct err *err)
{
	return read_proc(procfd, "cgroup", STATUS_MAX, ret, err);
}

bool proc_is_frozen(int procfd)
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	CLEANUP(str_fini) struct str groups = {0};
	const char *path;

	if (proc_read_cgroup(procfd, &groups, NULL) < 0)
		return false;
	path = has_prefix(groups.buf, "0::") ? groups.buf : strstr(groups.buf, "\n0::");
	if (!path)
		return false;
	path = strchr(path, '/');
	for (size_t i = 0; path && i < ARRAY_LEN(mounts); i++) {
		CLEANUP(free)
		char *file = xasprintf("%s%.*s/cgroup.events", mounts[i], (int)strcspn(path, "\n"),
				       path);
		CLEANUP(str_fini) struct str events = {0};

		if (fs_read_file(AT_FDCWD, file, 4096, &events, NULL) == 0 && events.buf)
			return strstr(events.buf, "frozen 1") != NULL;
	}
	return false;
}

int proc_ns_inode(int procfd, const char *ns, uint64_t *ret, struct err *err)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "ns/%s", ns);
	if (fstatat(procfd, path, &st, 0) < 0)
		return err_set(err, errno, "/proc/…/%s", path);
	*ret = st.st_ino;
	return 0;
}

bool proc_shares_ns(int procfd, const char *ns)
{
	CLEANUP(close_fd) int self = proc_open(getpid(), NULL);
	uint64_t theirs, ours;

	return self >= 0 && proc_ns_inode(procfd, ns, &theirs, NULL) == 0 &&
	       proc_ns_inode(self, ns, &ours, NULL) == 0 && theirs == ours;
}

/* Without CAP_SYS_PTRACE, a process with more rights does not show these. */
static bool is_hidden(int code)
{
	return code == EACCES || code == EPERM;
}

bool proc_is_trusted(int procfd, const struct proc_status *st)
{
	CLEANUP(close_fd) int self = proc_open(getpid(), NULL);
	uint64_t theirs, ours;
	struct err err = {0};
	struct stat exe;

	if (st->euid != geteuid() || st->nested || self < 0 ||
	    proc_ns_inode(self, "user", &ours, NULL) < 0)
		return false;
	if (proc_ns_inode(procfd, "user", &theirs, &err) < 0 ? !is_hidden(err.code)
							     : theirs != ours)
		return false;
	if (fstatat(procfd, "exe", &exe, 0) < 0)
		return is_hidden(errno);
	return (exe.st_uid == 0 || exe.st_uid == st->euid) && !(exe.st_mode & 022);
}

int proc_open_root(int procfd, struct err *err)
{
	int fd = openat(procfd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 ? fd : err_set(err, errno, "open /proc/…/root");
}

/* "start-end perms offset major:minor inode   path" (proc(5)). The path may hold blanks; the kernel
 * writes a newline in it as \012. */
static bool parse_map(char *line, struct proc_map *m)
{
	unsigned long long start, end, offset, inode;
	unsigned int major, minor;
	char perms[5];
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, perms, &offset, &major,
		   &minor, &inode, &at) < 7 ||
	    at == 0)
		return false;
	*m = (struct proc_map){
		.start = start,
		.end = end,
		.offset = offset,
		.dev_major = major,
		.dev_minor = minor,
		.inode = inode,
		.exec = perms[2] == 'x',
		.path = line + at,
	};
	return true;
}

int proc_each_map_in(int fd, int (*fn)(const struct proc_map *, void *), void *arg, struct err *err)
{
	CLEANUP(str_fini) struct str s = {0};
	char *save = NULL;

	if (read_open(fd, "maps", MAPS_MAX, &s, err) < 0)
		return -1;
	for (char *line = strtok_r(s.buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct proc_map m;
		int rc = parse_map(line, &m) ? fn(&m, arg) : 0;

		if (rc)
			return rc;
	}
	return 0;
}

int proc_each_map(int procfd, int (*fn)(const struct proc_map *, void *), void *arg,
		  struct err *err)
{
	CLEANUP(close_fd) int fd = open_proc(procfd, "maps", err);

	return fd < 0 ? -1 : proc_each_map_in(fd, fn, arg, err);
}

int proc_each(int (*fn)(pid_t, void *), void *arg, struct err *err)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	int rc = 0;

	if (!dir)
		return err_set(err, errno, "open /proc");
	while (rc == 0 && (e = readdir(dir))) {
		int pid;

		if (parse_pid(e->d_name, &pid))
			rc = fn(pid, arg);
	}
	closedir(dir);
	return rc;
}

void proc_each_thread(int procfd, void (*fn)(pid_t tid, pid_t nstid, void *), void *arg)
{
	CLEANUP(close_fd) int fd = openat(procfd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!dir)
		return;
	TAKE_FD(fd);
	while ((e = readdir(dir))) {
		CLEANUP(str_fini) struct str s = {0};
		char name[32];
		int tid;

		if (!parse_pid(e->d_name, &tid))
			continue;
		snprintf(name, sizeof(name), "%d/status", tid);
		if (read_proc(dirfd(dir), name, STATUS_MAX, &s, NULL) == 0)
			fn(tid, (pid_t)number(field(s.buf, "NSpid"), -1, 10), arg);
	}
	closedir(dir);
}

int64_t proc_clock_ahead(int procfd)
{
	CLEANUP(str_fini) struct str s = {0};
	long long sec, nsec;
	const char *at;

	if (read_proc(procfd, "timens_offsets", 4096, &s, NULL) < 0)
		return 0;
	at = strstr(s.buf, "monotonic");
	if (!at || sscanf(at, "monotonic %lld %lld", &sec, &nsec) != 2)
		return 0;
	return (int64_t)((uint64_t)sec * 1000000000u + (uint64_t)nsec);
}

int proc_boot_id(char ret[static 37], struct err *err)
{
	CLEANUP(str_fini) struct str s = {0};

	if (read_proc(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, &s, err) < 0)
		return -1;
	snprintf(ret, 37, "%.36s", s.buf);
	return 0;
}
