// SPDX-License-Identifier: Apache-2.0
/* Probes rights, kernel, symbols and space of the machine. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/capability.h>
#include <sys/statvfs.h>

#include "common/fs.h"
#include "doctor/probe.h"
#include "record/budget.h"
#include "record/perf.h"

#define TEXT_MAX      (1u << 20)
#define KALLSYMS_LOOK (64u << 10)
#define INIT_PID_NS   0xEFFFFFFCu /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define LEAST_ROOM    (64ull << 20)

bool probe_read(const struct probe *p, const char *path, struct str *ret)
{
	CLEANUP(close_fd) int fd = openat(p->rootfd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct err err;

	return fd >= 0 && fs_read_all(fd, TEXT_MAX, ret, &err) == 0 && ret->buf;
}

long probe_number(const struct probe *p, const char *path, long missing)
{
	CLEANUP(str_fini) struct str text = {0};
	char *end;
	long n;

	if (!probe_read(p, path, &text))
		return missing;
	n = strtol(text.buf, &end, 10);
	return end == text.buf ? missing : n;
}

bool probe_capable(const struct probe *p, int cap)
{
	CLEANUP(str_fini) struct str status = {0};
	const char *at;

	if (!probe_read(p, "proc/self/status", &status))
		return false;
	at = strstr(status.buf, "\nCapEff:");
	return at && strtoull(at + strlen("\nCapEff:"), NULL, 16) >> cap & 1;
}

size_t probe_cpus(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus > 0 ? (size_t)cpus : 1;
}

unsigned probe_stack_bytes(void)
{
	return perf_stack_bytes(probe_cpus(), PERF_FREQUENCY, PERF_SECONDS);
}

void probe_rights(const struct probe *p)
{
	bool admin = probe_capable(p, CAP_SYS_ADMIN);
	struct stat ns;

	if (geteuid() != 0)
		finding_add(p->f, FINDING_NO, "rights", "run it with sudo", "not root");
	else if (!probe_capable(p, CAP_SYS_PTRACE))
		finding_add(p->f, FINDING_NO, "rights", "run it on the host, as its root",
			    "root without CAP_SYS_PTRACE: other processes are closed to it");
	else if (!admin || !probe_capable(p, CAP_SETUID))
		finding_add(p->f, FINDING_NOTE, "rights", "JVMs are read from outside",
			    "root without CAP_SYS_ADMIN or CAP_SETUID: no mounts, no attaching");
	else
		finding_add(p->f, FINDING_OK, "rights", "", "root, with all capabilities needed");
	if (fstatat(p->rootfd, "proc/self/ns/pid", &ns, 0) == 0 && ns.st_ino != INIT_PID_NS)
		finding_add(p->f, FINDING_NOTE, "pids",
			    "run it on the host, or in a container with --pid=host",
			    "not in the host's pid namespace: other containers are not seen");
}

bool probe_kernel_is(const struct probe *p, int major, int minor)
{
	CLEANUP(str_fini) struct str release = {0};
	int is[2] = {0};

	return probe_read(p, "proc/sys/kernel/osrelease", &release) &&
	       sscanf(release.buf, "%d.%d", &is[0], &is[1]) == 2 &&
	       (is[0] > major || (is[0] == major && is[1] >= minor));
}

void probe_kernel(const struct probe *p)
{
	CLEANUP(str_fini) struct str release = {0};

	if (!probe_read(p, "proc/sys/kernel/osrelease", &release))
		return;
	release.buf[strcspn(release.buf, "\n")] = '\0';
	if (!probe_kernel_is(p, 5, 6))
		finding_add(p->f, FINDING_NO, "kernel", "Linux 5.6 is the least, 5.14 is better",
			    "Linux %s: no openat2(2), no file of a container can be opened safely",
			    release.buf);
	else if (!probe_kernel_is(p, 5, 14))
		finding_add(p->f, FINDING_NOTE, "kernel", "JVMs are read from outside",
			    "Linux %s: the hook's mounts need 5.14", release.buf);
	else
		finding_add(p->f, FINDING_OK, "kernel", "", "Linux %s", release.buf);
	if (probe_number(p, "proc/sys/kernel/yama/ptrace_scope", 0) == 3)
		finding_add(p->f, FINDING_NOTE, "ptrace", "names come from the agent",
			    "kernel.yama.ptrace_scope 3: no memory of JVMs can be read");
}

/* Withheld addresses are all zeros (kernel/kallsyms.c); a few are zero anyway. */
static bool has_addresses(const char *text)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strtoull(line, NULL, 16))
			return true;
	}
	return false;
}

void probe_symbols(const struct probe *p)
{
	CLEANUP(close_fd) int fd = openat(p->rootfd, "proc/kallsyms", O_RDONLY | O_CLOEXEC);
	CLEANUP(free) char *text = xcalloc(1, KALLSYMS_LOOK);
	long kptr = probe_number(p, "proc/sys/kernel/kptr_restrict", 0);

	if (fd < 0 || read(fd, text, KALLSYMS_LOOK - 1) <= 0)
		finding_add(p->f, FINDING_NOTE, "symbols", "kernel frames are [kernel]",
			    "no /proc/kallsyms");
	else if (!has_addresses(text))
		finding_add(p->f, FINDING_NOTE, "symbols",
			    "kernel frames are [kernel]; sysctl kernel.kptr_restrict=1 as root",
			    "the kernel withholds its addresses (kptr_restrict %ld)", kptr);
	else
		finding_add(p->f, FINDING_OK, "symbols", "",
			    "the kernel's, from /proc/kallsyms (kptr_restrict %ld)", kptr);
}

/* Free bytes of the file system of a directory that may not exist yet. */
static bool free_bytes(const char *path, uint64_t *ret)
{
	CLEANUP(free) char *at = xstrdup(path);
	struct statvfs fs;

	while (statvfs(at, &fs) < 0) {
		char *slash = strrchr(at, '/');

		if (errno != ENOENT || !slash)
			return false;
		slash[slash == at] = '\0';
	}
	*ret = (uint64_t)fs.f_bavail * fs.f_frsize;
	return true;
}

static void size_text(uint64_t bytes, char ret[static 32])
{
	bool large = bytes >= 1u << 30;

	snprintf(ret, 32, large ? "%.1f GiB" : "%.0f MiB",
		 (double)bytes / (large ? 1u << 30 : 1u << 20));
}

void probe_room(const struct probe *p)
{
	uint64_t samples = (uint64_t)probe_cpus() * PERF_FREQUENCY * PERF_SECONDS, room;
	uint64_t most = samples * (probe_stack_bytes() + 1024);
	char is[32], wanted[32];

	if (!free_bytes(p->root, &room)) {
		finding_add(p->f, FINDING_NO, "disk", "choose another with --root",
			    "%s cannot be read: %s", p->root, strerror(errno));
		return;
	}
	size_text(room, is);
	size_text(most, wanted);
	if (room < LEAST_ROOM)
		finding_add(p->f, FINDING_NO, "disk",
			    "free some, or choose another directory with --root", "%s free in %s",
			    is, p->root);
	else if (room < most)
		finding_add(p->f, FINDING_NOTE, "disk", "record shorter, or with --stack 16384",
			    "%s free in %s; with all processors busy %d s take %s", is, p->root,
			    PERF_SECONDS, wanted);
	else
		finding_add(p->f, FINDING_OK, "disk", "",
			    "%s free in %s; with all processors busy %d s take %s", is, p->root,
			    PERF_SECONDS, wanted);
}

/* ---- budgets --------------------------------------------------------------------------------- */

void probe_budgets(const struct probe *p)
{
	for (enum budget b = 0; b < BUDGET_COUNT; b++) {
		CLEANUP(str_fini) struct str limit = {0};

		budget_text(b, &limit);
		finding_add(p->f, FINDING_OK, budget_name(b), "", "%s: at most %s", budget_about(b),
			    limit.buf);
	}
}
