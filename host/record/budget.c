// SPDX-License-Identifier: Apache-2.0
#include "record/budget.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "bpf/recording.h"
#include "elf/elfparts.h"
#include "hotspot/mem.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

enum unit { NUMBER, BYTES, MILLISECONDS };

static struct {
	const char *name, *about;
	enum unit unit;
	uint64_t max;
} table[BUDGET_COUNT] = {
	/* A JVM of JDK 25: 33 MiB. Programs of one file, as node and native images, have about 100.
	 */
	[BUDGET_FILE_BYTES] = {"files", "copies of mapped programs and libraries, with symbols",
			       BYTES, 512 * MIB},
	/* A whole snapshot of 14 463 pieces of code: 6 MiB. The sandbox reads 256 MiB of a JVM's.
	 */
	[BUDGET_CODE_BYTES] = {"code", "snapshots of JVMs and perf maps", BYTES, 512 * MIB},
	/* 100 bytes for each of 600 000 pieces of code: several times node's largest. */
	[BUDGET_PERF_MAP_BYTES] = {"perf-map", "a perf map of a process", BYTES, 64 * MIB},
	/* One for each worker of node or Python, of which there are about as many as processors. */
	[BUDGET_PERF_MAPS] = {"perf-maps", "number of perf maps", NUMBER, 256},
	/* Kubernetes and engines limit pids to 1024 to 4096, where they do. */
	[BUDGET_PROCESSES] = {"processes", "processes whose files are looked at", NUMBER, 4096},
	/* A JVM of JDK 25: 15; those of different containers on a host do not count together. */
	[BUDGET_PATHS] = {"paths", "paths of mapped programs and libraries", NUMBER, 4096},
	/* libjvm of JDK 25: 70 000. */
	[BUDGET_SYMBOLS] = {"symbols", "symbols read of all files", NUMBER, ELF_FUNCS_ALL},
	/* Several times the daemons of a build server. A reader takes 36 MiB at most. */
	[BUDGET_JVMS] = {"jvms", "JVMs that are read at once", NUMBER, 64},
	/* hotspot/mem.h says what real ones take. */
	[BUDGET_STEPS] = {"steps", "steps of a look at a JVM's tables, of 25 ns", NUMBER, HS_STEPS},
	/* 33 MiB at 4 MiB a second. */
	[BUDGET_COPY_MS] = {"copying", "copying files, each time", MILLISECONDS, 10000},
	/* A JVM of JDK 25: 7 MiB. */
	[BUDGET_TABLES_BYTES] = {"tables", "tables in the kernel, by which stacks are walked",
				 BYTES, KERNEL_TABLES_BYTES},
	/* A build that starts 1000 processes a second for a minute. */
	[BUDGET_FOLLOWED] = {"recorded", "processes that the recorder in the kernel follows",
			     NUMBER, KERNEL_FOLLOWED},
};

const char *budget_name(enum budget b)
{
	return table[b].name;
}

const char *budget_about(enum budget b)
{
	return table[b].about;
}

uint64_t budget_max(enum budget b)
{
	return table[b].max;
}

void budget_text(enum budget b, struct str *out)
{
	uint64_t max = table[b].max;

	if (table[b].unit == BYTES)
		str_addf(out, "%llu MiB", (unsigned long long)(max / MIB));
	else if (table[b].unit == MILLISECONDS)
		str_addf(out, "%llu s", (unsigned long long)(max / 1000));
	else
		str_addu(out, max);
}

void budget_cut(enum budget b, struct session *s, uint64_t n, const char *what)
{
	CLEANUP(str_fini) struct str limit = {0};

	budget_text(b, &limit);
	if (n)
		session_set_cut(s, table[b].name, "%llu %s: the limit is %s%s",
				(unsigned long long)n, what, limit.buf,
				table[b].unit == BYTES ? ", or what the disk has left" : "");
}

void budget_set(enum budget b, uint64_t max)
{
	table[b].max = max;
}

void budget_set_bytes(uint64_t bytes)
{
	budget_set(BUDGET_FILE_BYTES, bytes / 2);
	budget_set(BUDGET_CODE_BYTES, bytes / 2);
}

/* Sizes, not blocks: what reads the files maps all of them. */
static uint64_t bytes_below(int dirfd, uint64_t *ret_files)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	uint64_t sum = 0;
	struct dirent *e;
	struct stat st;

	*ret_files = 0;
	if (!dir)
		return 0;
	while ((e = readdir(dir))) {
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		sum += (uint64_t)st.st_size;
		++*ret_files;
	}
	closedir(dir);
	return sum;
}

static uint64_t spare_of_disk(int dirfd)
{
	struct statvfs fs;
	uint64_t kept;

	if (fstatvfs(dirfd, &fs) < 0)
		return 0;
	kept = fs.f_blocks / 16 < GIB / fs.f_frsize ? fs.f_blocks / 16 : GIB / fs.f_frsize;
	return fs.f_bavail > kept ? (uint64_t)(fs.f_bavail - kept) * fs.f_frsize / 4 : 0;
}

static uint64_t room_of(enum budget b, int dirfd, uint64_t *ret_files)
{
	uint64_t used = bytes_below(dirfd, ret_files), spare = spare_of_disk(dirfd);
	uint64_t left = table[b].max > used ? table[b].max - used : 0;

	return left < spare ? left : spare;
}

uint64_t budget_room(enum budget b, int dirfd)
{
	uint64_t files;

	return room_of(b, dirfd, &files);
}

uint64_t budget_share(enum budget b, int dirfd)
{
	uint64_t files, room = room_of(b, dirfd, &files);

	return room / (files ? files : 1);
}
