// SPDX-License-Identifier: Apache-2.0
/* Files of real processes are copied into a session: libraries, debug files, perf maps. */
#include "record/session_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/log.h"
#include "lib/actor.h"
#include "lib/elfmake.h"
#include "lib/printed.h"
#include "lib/scratch.h"
#include "lib/sessionmake.h"
#include "lib/tap.h"
#include "record/budget.h"

/* ---- a reader of maps that crashes ---- */

struct crash {
	int (*fn)(const struct proc_map *, void *);
	void *arg;
};

/* At a file of this name. */
static int crash_or_see(const struct proc_map *m, void *arg)
{
	const struct crash *c = arg;

	if (has_suffix(m->path, "/crash.so"))
		abort();
	return c->fn(m, c->arg);
}

static int read_or_crash(int fd, int (*fn)(const struct proc_map *, void *), void *arg,
			 struct err *e)
{
	struct crash c = {fn, arg};

	return proc_each_map_in(fd, crash_or_see, &c, e);
}

#define proc_each_map_in read_or_crash
#include "discover/mapped_files.c"
#undef proc_each_map_in

static struct err err;

static struct session session_of(const char *name)
{
	CLEANUP(free) char *dir = path_of(name);
	struct session s;

	if (sessionmake(dir, &s, &err) < 0)
		abort();
	return s;
}

/* A process that has files of the scratch directory mapped, which is its root directory. */
static pid_t process_with(const char *const *files)
{
	struct actor a;

	if (actor_fork(&a)) {
		for (; *files; files++) {
			bool data = **files == '!';
			CLEANUP(free) char *path = path_of(*files + data);
			int fd = open(path, O_RDONLY | O_CLOEXEC);

			if (mmap(NULL, 1, data ? PROT_READ : PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				 0) == MAP_FAILED)
				_exit(1);
			close(fd);
		}
		if (chroot(top) < 0 || chdir("/") < 0)
			_exit(1);
		actor_play(&a);
	}
	ok(actor_wait(&a), "a process with files runs");
	return a.pid;
}

/* Processes that do not exist are left out. */
static struct handles handles_of(const pid_t *pids, size_t count)
{
	struct handles ret = {0};
	struct handle h;

	for (size_t i = 0; i < count; i++)
		if (handle_open(pids[i], &h, &err) == 0)
			handles_add(&ret, &h);
	return ret;
}

static void copy_files(struct session *s, const pid_t *pids, size_t count)
{
	CLEANUP(handles_fini) struct handles h = handles_of(pids, count);

	session_copy_files(s, &h, deadline_after(60000));
}

static void copy_maps(struct session *s, const pid_t *pids, size_t count)
{
	CLEANUP(handles_fini) struct handles h = handles_of(pids, count);

	session_copy_perf_maps(s, &h, deadline_after(60000));
}

static const struct session_elf *find(const struct session *s, const char *name)
{
	CLEANUP(free) char *path = path_of(name);

	for (size_t i = 0; i < s->elf_count; i++)
		if (!strcmp(s->elfs[i].path, path) || !strcmp(s->elfs[i].path, name))
			return &s->elfs[i];
	return NULL;
}

static void is_copy(const struct session *s, const char *name, const char *want, const char *check)
{
	const struct session_elf *elf = find(s, name);
	CLEANUP(str_fini) struct str got = {0};
	struct stat st = {0};

	if (elf && fs_read_file(s->elffd, elf->name, 1 << 20, &got, &err) < 0)
		printf("# %s\n", err.msg);
	is_str(got.buf, want, "%s", check);
	if (elf && fstatat(s->elffd, elf->name, &st, 0) == 0)
		is_int(st.st_mode & 07777, 0600, "the copy is for root only");
}

/* ---- mapped files ---- */

static void test_mapped(void)
{
	static const char *const files[] = {"lib/one.so", "lib/two.so", "!lib/data", NULL};
	struct session s = session_of("mapped");
	CLEANUP(free) char *one = path_of("lib/one.so"), *want = NULL;
	CLEANUP(free) char *gone = xasprintf("%s (deleted)", one);
	struct stat st;
	pid_t pids[2];
	size_t count;

	put_text("lib/one.so", 0644, "first");
	put_text("lib/two.so", 0644, "second");
	put_text("lib/data", 0644, "data");
	pids[0] = process_with(files);
	pids[1] = 4194304;
	if (stat(one, &st) < 0 || unlink(one) < 0)
		abort();
	want = xasprintf("%llx-%llu-%lld-%lld", (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino, (long long)st.st_size,
			 (long long)st.st_mtim.tv_sec);
	put_text("lib/one.so", 0644, "replaced");
	copy_files(&s, pids, 2);
	is_int(s.process_count, 1, "the process that runs is in the session");
	is_int(s.processes[0].pid, pids[0], "with its pid");
	ok(s.processes[0].root > 0, "and its root");
	ok(!s.processes[0].files_hang, "its files can be read");
	is_copy(&s, "lib/two.so", "second", "a mapped file is copied");
	ok(!find(&s, "lib/data"), "a file that is not mapped executable is not");
	ok(find(&s, "[vdso]") != NULL, "the vdso is listed");
	is_str(find(&s, "[vdso]")->name, "vdso", "by the name of its copy");
	ok(!find(&s, "[vdso]")->debug, "it has no debug file");
	is_copy(&s, gone, "first", "of a file that was replaced the mapped one is copied");
	is_str(find(&s, gone) ? find(&s, gone)->name : NULL, want,
	       "a copy is named by what identifies the file on this host");
	count = s.elf_count;
	copy_files(&s, pids, 2);
	is_int(s.elf_count, count, "files are copied once");
	is_int(s.process_count, 1, "so are processes");
	s.processes[0].files_hang = true;
	copy_files(&s, pids, 1);
	is_int(s.elf_count, count, "a process whose files hung is not tried again");
	ok(faccessat(s.elffd, ".part", F_OK, 0) < 0, "no part of a copy is left");
	actor_end(pids[0]);
	session_fini(&s);
}

/* A process that hung is left alone, also with new files. */
static void test_hung(void)
{
	static const char *const files[] = {"lib/two.so", NULL};
	struct session s = session_of("hung");
	pid_t pid = process_with(files);

	session_add_process(&s, pid, 1)->files_hang = true;
	copy_files(&s, &pid, 1);
	is_int(s.elf_count, 0, "no file of a process that hung is copied");
	actor_end(pid);
	session_fini(&s);
}

/* A crash of the jailed reader costs the files of that process, and is told. */
static void test_crash(void)
{
	static const char *const files[][3] = {
		{"lib/one.so"}, {"lib/crash.so", "lib/data"}, {"lib/two.so"}};
	struct session s = session_of("crash");
	CLEANUP(free) char *want = NULL, *got = NULL, *again = NULL;
	struct catcher c;
	pid_t pids[3];

	put_text("lib/crash.so", 0644, "crash");
	for (size_t i = 0; i < 3; i++)
		pids[i] = process_with(files[i]);
	want = xasprintf(
		"dfg: warning: the files of process %d cannot be read, some of its frames will "
		"have no names: ended by signal 6 (Aborted)\n",
		(int)pids[1]);
	log_quiet(false);
	c = catch_begin(stderr, STDERR_FILENO);
	copy_files(&s, pids, 3);
	got = caught(&c);
	c = catch_begin(stderr, STDERR_FILENO);
	copy_files(&s, pids, 3);
	again = caught(&c);
	log_quiet(true);
	is_str(got, want, "a process whose maps crash their reader is told");
	ok(!find(&s, "lib/crash.so") && !find(&s, "lib/data"), "none of its files is copied");
	ok(find(&s, "lib/one.so") && find(&s, "lib/two.so"), "those of the others are");
	is_int(s.process_count, 3, "each process is in the session");
	is_str(again, "", "it is not tried again");
	for (size_t i = 0; i < 3; i++)
		actor_end(pids[i]);
	session_fini(&s);
}

/* More processes than one child looks at. */
static void test_many_processes(void)
{
	static const char *const none[] = {NULL}, *const files[] = {"lib/two.so", NULL};
	struct session s = session_of("many");
	pid_t pids[LOOK_MAX + 2];

	for (size_t i = 0; i < ARRAY_LEN(pids); i++)
		pids[i] = process_with(i == LOOK_MAX + 1 ? files : none);
	copy_files(&s, pids, ARRAY_LEN(pids));
	is_int(s.process_count, ARRAY_LEN(pids), "each of many processes is in the session");
	is_copy(&s, "lib/two.so", "second", "files of the last one are copied");
	for (size_t i = 0; i < ARRAY_LEN(pids); i++)
		actor_end(pids[i]);
	session_fini(&s);
}

/* ---- debug files ---- */

static void make_elf(struct str *ret, uint8_t id, const char *link, const char *symbols)
{
	struct elfmake m;

	elfmake_start(&m);
	if (symbols)
		elfmake_symbols(&m, SHT_SYMTAB, symbols);
	if (id)
		elfmake_build_id(&m, id);
	if (link)
		elfmake_debuglink(&m, link, 1);
	elfmake_end(&m, ret);
}

/* Puts a library with a build id of this byte, and its debug file. */
static void put_library(const char *name, uint8_t id, uint8_t debug_id)
{
	CLEANUP(free) char *library = xasprintf("lib/%s", name), *debug = NULL;
	CLEANUP(str_fini) struct str text = {0}, hex = {0};

	make_elf(&text, id, NULL, NULL);
	put_bytes(library, 0644, text.buf, text.len);
	for (int i = 1; i < 20; i++)
		str_addf(&hex, "%02x", id);
	debug = xasprintf("usr/lib/debug/.build-id/%02x/%s.debug", id, hex.buf);
	make_elf(&text, debug_id, NULL, "hidden@1180+40");
	put_bytes(debug, 0644, text.buf, text.len);
}

static void test_debug(void)
{
	static const char *const files[] = {"lib/a.so", "lib/two.so", "lib/b.so", "lib/c.so", NULL};
	struct session s = session_of("debug");
	const struct session_elf *a, *b, *c;
	pid_t pid;

	put_library("a.so", 0x1a, 0x1a);
	put_library("b.so", 0x1b, 0x77);
	put_library("c.so", 0x1c, 0x1c);
	pid = process_with(files);
	copy_files(&s, &pid, 1);
	a = find(&s, "lib/a.so");
	b = find(&s, "lib/b.so");
	c = find(&s, "lib/c.so");
	if (ok(a && b && c, "libraries with build ids are copied")) {
		CLEANUP(free) char *want = xasprintf("%s.debug", a->name);

		is_str(a->debug, want, "a debug file in the container is found by the build id");
		ok(!b->debug, "one with another build id is not taken");
		ok(c->debug != NULL, "each library has its own");
		is_int(faccessat(s.elffd, want, F_OK, 0), 0, "the copy is in the session");
	}
	ok(find(&s, "lib/two.so") && !find(&s, "lib/two.so")->debug, "others have none");
	actor_end(pid);
	session_fini(&s);
}

/* ---- perf maps ---- */

static void put_map(pid_t pid, const char *text)
{
	CLEANUP(free) char *name = xasprintf("tmp/perf-%d.map", (int)pid);

	put_text(name, 0644, text);
}

static void is_map(const struct session *s, pid_t pid, const char *want, const char *check)
{
	CLEANUP(free) char *name = xasprintf("perf-%d.map", (int)pid);
	CLEANUP(str_fini) struct str got = {0};

	if (faccessat(s->mapsfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fs_read_file(s->mapsfd, name, 4096, &got, &err) < 0)
		printf("# %s\n", err.msg);
	is_str(got.buf, want, "%s", check);
}

static void test_perf_maps(void)
{
	static const char *const none[] = {NULL};
	static const enum jvm_source sources[] = {JVM_SOURCE_AGENT, JVM_SOURCE_HOST,
						  JVM_SOURCE_NONE};
	struct session s = session_of("maps");
	struct session_jvm jvms[3] = {0};
	pid_t pids[5];

	for (size_t i = 0; i < 5; i++)
		pids[i] = i < 4 ? process_with(none) : 4194304;
	for (size_t i = 0; i < 3; i++) {
		jvms[i] = (struct session_jvm){.pid = pids[i], .source = sources[i]};
		put_map(pids[i], "1000 10 a\n");
	}
	s.jvms = jvms;
	s.jvm_count = 3;
	put_map(pids[3], "2000 10 b\n");
	copy_maps(&s, pids, 5);
	is_map(&s, pids[0], NULL, "of a JVM with the agent's snapshots no map is copied");
	is_map(&s, pids[1], NULL, "nor of one with the host's");
	is_map(&s, pids[2], "1000 10 a\n", "of a JVM without a snapshot it is");
	is_map(&s, pids[3], "2000 10 b\n", "so it is of other processes");
	is_int(s.map_count, 2, "both are registered");
	is_int(s.maps[0].pid, pids[2], "for their processes");
	is_int(s.maps[1].pid, pids[3], "in order");
	put_map(pids[3], "3000 10 c\n");
	copy_maps(&s, pids, 5);
	is_map(&s, pids[3], "3000 10 c\n", "a later copy replaces an earlier one");
	is_int(s.map_count, 2, "but is registered once");
	ok(faccessat(s.mapsfd, ".perf.map", F_OK, 0) < 0, "no part of a copy is left");
	for (size_t i = 0; i < 4; i++)
		actor_end(pids[i]);
	s.jvms = NULL;
	session_fini(&s);
}

/* Files of other users, links and pipes in place of a map. Case 65. */
static void test_odd_maps(void)
{
	static const char *const none[] = {NULL};
	struct session s = session_of("odd");
	char *paths[4];
	pid_t pids[4];

	for (size_t i = 0; i < 4; i++) {
		pids[i] = process_with(none);
		paths[i] = xasprintf("%s/tmp/perf-%d.map", top, (int)pids[i]);
	}
	put_map(pids[0], "1000 10 a\n");
	put_map(pids[3], "4000 10 d\n");
	if (chown(paths[0], 12345, 0) < 0 || symlink("other", paths[1]) < 0 ||
	    mkfifo(paths[2], 0644) < 0)
		abort();
	put_text("tmp/other", 0644, "2000 10 b\n");
	copy_maps(&s, pids, 4);
	is_map(&s, pids[0], NULL, "a map of another user is not copied");
	is_map(&s, pids[1], NULL, "a link is not followed");
	is_map(&s, pids[2], NULL, "a pipe is not read");
	is_map(&s, pids[3], "4000 10 d\n", "the others are copied all the same");
	is_int(s.map_count, 1, "and registered");
	for (size_t i = 0; i < 4; i++) {
		actor_end(pids[i]);
		free(paths[i]);
	}
	session_fini(&s);
}

/* One that cannot be copied is told, and does not keep the others from being copied. */
static void test_failing_map(void)
{
	static const char *const none[] = {NULL};
	struct session s = session_of("failing");
	CLEANUP(free) char *name = NULL, *want = NULL, *got = NULL;
	struct catcher c;
	pid_t pids[2];

	for (size_t i = 0; i < 2; i++) {
		pids[i] = process_with(none);
		put_map(pids[i], "1000 10 a\n");
	}
	name = xasprintf("perf-%d.map", (int)pids[0]);
	want = xasprintf("dfg: perf maps: rename %s: Is a directory\n", name);
	if (mkdirat(s.mapsfd, name, 0700) < 0)
		abort();
	log_quiet(false);
	c = catch_begin(stderr, STDERR_FILENO);
	copy_maps(&s, pids, 2);
	got = caught(&c);
	log_quiet(true);
	is_str(got, want, "a map that cannot be copied is told");
	is_map(&s, pids[1], "1000 10 a\n", "the one after it is copied");
	for (size_t i = 0; i < 2; i++)
		actor_end(pids[i]);
	session_fini(&s);
}

/* ---- budgets ---- */

static void put_sparse(const char *name, off_t size, const char *text)
{
	CLEANUP(free) char *path = path_of(name);

	put_text(name, 0644, text);
	if (truncate(path, size) < 0)
		abort();
}

static const char *cut_of(const struct session *s, enum budget b)
{
	for (size_t i = 0; i < s->cut_count; i++)
		if (!strcmp(s->cuts[i].budget, budget_name(b)))
			return s->cuts[i].text;
	return NULL;
}

/* Case 82. */
static void test_sparse(void)
{
	static const char *const files[] = {"lib/sparse.so", "lib/huge.so", "lib/two.so", NULL};
	struct session s = session_of("sparse");
	const struct session_elf *elf;
	struct stat st = {0};
	pid_t pid;

	put_sparse("lib/sparse.so", 64 << 20, "head");
	put_sparse("lib/huge.so", (off_t)budget_max(BUDGET_FILE_BYTES) + 1, "head");
	pid = process_with(files);
	copy_files(&s, &pid, 1);
	elf = find(&s, "lib/sparse.so");
	if (ok(elf && fstatat(s.elffd, elf->name, &st, 0) == 0, "a sparse file is copied")) {
		is_int(st.st_size, 64 << 20, "with its size");
		ok(st.st_blocks * 512 <= 65536, "its holes take no blocks");
	}
	ok(!find(&s, "lib/huge.so"), "a file for which the budget has no room is not copied");
	is_copy(&s, "lib/two.so", "second", "smaller ones after it are");
	is_str(cut_of(&s, BUDGET_FILE_BYTES),
	       "1 mapped files are not copied: the limit is 512 MiB, or what the disk has left",
	       "the session says so");
	copy_files(&s, &pid, 1);
	is_int(s.cut_count, 1, "once");
	actor_end(pid);
	session_fini(&s);
}

/* Case 84. */
static void test_paths(void)
{
	char name[64], path[4096], text[16];
	CLEANUP(free) char *one = path_of("lib/one.so");
	const char *files[41] = {NULL};
	struct session s = session_of("paths");
	const char *copy = NULL;
	size_t links = 0, same = 0;
	pid_t pid;

	for (size_t i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "lib/link%zu.so", i);
		snprintf(path, sizeof(path), "%s/%s", top, name);
		if (link(one, path) < 0)
			abort();
		files[i] = xstrdup(name);
	}
	pid = process_with(files);
	budget_set(BUDGET_PATHS, 10); /* the program, and those mapped last */
	copy_files(&s, &pid, 1);
	is_int(s.elf_count, 10, "so many paths are looked at");
	for (size_t i = 0; i < s.elf_count; i++) {
		if (!strstr(s.elfs[i].path, "/link"))
			continue;
		copy = copy ? copy : s.elfs[i].name;
		same += !strcmp(s.elfs[i].name, copy);
		links++;
	}
	ok(links > 1 && same == links, "links of a file share a copy");
	snprintf(text, sizeof(text), "%s",
		 cut_of(&s, BUDGET_PATHS) ? cut_of(&s, BUDGET_PATHS) : "");
	ok(atoi(text) >= 30, "the rest is counted: %s", cut_of(&s, BUDGET_PATHS));
	budget_set(BUDGET_PATHS, 4096);
	for (size_t i = 0; i < 40; i++)
		free((char *)(uintptr_t)files[i]);
	actor_end(pid);
	session_fini(&s);
}

static void test_processes(void)
{
	static const char *const files[] = {"lib/two.so", NULL};
	struct session s = session_of("processes");
	pid_t pids[2] = {process_with(files), process_with(files)};

	budget_set(BUDGET_PROCESSES, 1);
	copy_files(&s, pids, 2);
	is_int(s.process_count, 2, "each process is in the session");
	is_str(cut_of(&s, BUDGET_PROCESSES), "1 processes' files are not looked at: the limit is 1",
	       "it says whose files are not");
	budget_set(BUDGET_PROCESSES, 4096);
	for (size_t i = 0; i < 2; i++)
		actor_end(pids[i]);
	session_fini(&s);
}

/* Case 83. */
static void test_many_maps(void)
{
	static const char *const none[] = {NULL};
	struct session s = session_of("many-maps");
	CLEANUP(free) char *sparse = NULL;
	pid_t pids[4];

	for (size_t i = 0; i < 4; i++) {
		pids[i] = process_with(none);
		put_map(pids[i], "1000 10 a\n2000 10 b\n");
	}
	sparse = xasprintf("tmp/perf-%d.map", (int)pids[0]);
	put_sparse(sparse, 1 << 30, "");
	budget_set(BUDGET_PERF_MAPS, 2);
	budget_set(BUDGET_PERF_MAP_BYTES, 15);
	copy_maps(&s, pids, 4);
	is_map(&s, pids[0], NULL, "of a map without data nothing is copied");
	is_map(&s, pids[1], "1000 10 a\n2000 ", "a long map is cut");
	is_map(&s, pids[2], "1000 10 a\n2000 ", "so is the next one");
	is_map(&s, pids[3], NULL, "there is a limit for their number");
	is_str(cut_of(&s, BUDGET_PERF_MAPS), "3 perf maps are cut or missing: the limit is 2",
	       "the session says so");
	budget_set(BUDGET_PERF_MAPS, 256);
	budget_set(BUDGET_PERF_MAP_BYTES, 64 << 20);
	for (size_t i = 0; i < 4; i++)
		actor_end(pids[i]);
	session_fini(&s);
}

static void test_room(void)
{
	struct session s = session_of("room");
	uint64_t spare = budget_room(BUDGET_FILE_BYTES, s.elffd);
	CLEANUP(close_fd) int fd = fs_create(s.elffd, "file", 0600, &err);

	ok(spare <= 512 << 20 && spare > 0, "a new session has room");
	budget_set_bytes(2 << 20);
	is_int((int64_t)budget_room(BUDGET_FILE_BYTES, s.elffd), 1 << 20, "half of it for files");
	if (ftruncate(fd, 1 << 19) < 0)
		abort();
	is_int((int64_t)budget_room(BUDGET_FILE_BYTES, s.elffd), 1 << 19, "files take of it");
	is_int((int64_t)budget_room(BUDGET_CODE_BYTES, s.mapsfd), 1 << 20, "half of it for code");
	if (ftruncate(fd, 1 << 21) < 0)
		abort();
	is_int((int64_t)budget_room(BUDGET_FILE_BYTES, s.elffd), 0, "no room is left");
	is_int((int64_t)budget_room(BUDGET_FILE_BYTES, -1), 0, "nor in no directory");
	budget_set_bytes(1 << 30);
	session_fini(&s);
}

/* ---- the kernel ---- */

static void test_kernel(void)
{
	struct session s = session_of("kernel");
	struct stat a = {0};
	char magic[4] = "";
	int fd;

	is_int(session_copy_kernel(&s, -1, &err), 0, "the kernel's symbols are copied");
	fstatat(s.dirfd, "kallsyms", &a, 0);
	is_int(a.st_mode & 07777, 0600, "the file is for root only");
	fd = openat(s.elffd, "vdso", O_RDONLY | O_CLOEXEC);
	ok(fd >= 0 && read(fd, magic, 4) == 4 && !memcmp(magic, ELFMAG, 4),
	   "the vdso is an ELF file");
	ok(fstat(fd, &a) == 0 && a.st_size % 4096 == 0 && (a.st_mode & 07777) == 0600,
	   "it is whole pages, for root only");
	close(fd);
	is_int(session_copy_kernel(&s, -1, &err), -1, "they are not copied twice");
	is_int(err.code, EEXIST, "the error is that they exist");
	session_fini(&s);
}

/* Opens a new directory that sessions share. */
static int shared_dir(const char *name)
{
	CLEANUP(free) char *dir = path_of(name);

	return fs_make_dirs(dir, 0700, &err);
}

static void test_shared_kernel(void)
{
	static const char own[] = "0 T only_in_the_shared_copy\n";
	struct session s = session_of("kernel-shared"), other = session_of("kernel-own");
	CLEANUP(close_fd) int shared = shared_dir("kernel-shares"), fd = -1;
	CLEANUP(str_fini) struct str got = {0};
	struct stat a = {0};

	is_int(session_share_kernel(shared, &err), 0, "the kernel's symbols are read for all");
	fd = openat(shared, "kallsyms", O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fs_write_all(fd, own, strlen(own), &err) < 0)
		abort();
	is_int(session_copy_kernel(&s, shared, &err), 0, "a session has a copy");
	if (fs_read_file(s.dirfd, "kallsyms", 4096, &got, &err) < 0)
		abort();
	is_str(got.buf, own, "of what was read");
	fstatat(s.dirfd, "kallsyms", &a, 0);
	ok((a.st_mode & 07777) == 0600 && a.st_nlink == 1, "which is its own, for root only");
	is_int(session_share_kernel(shared, &err), -1, "they are not read twice");
	ok(faccessat(shared, "kallsyms", F_OK, 0) < 0, "a failure leaves no copy");
	is_int(session_copy_kernel(&other, shared, &err), 0, "a session reads them then");
	is_int(faccessat(other.dirfd, "kallsyms", F_OK, 0), 0, "and has them");
	session_fini(&s);
	session_fini(&other);
}

int main(void)
{
	scratch_make();
	jail_prepare(); /* or each child does, in its time */
	log_quiet(true);
	test_kernel();
	test_shared_kernel();
	if (geteuid() == 0) {
		test_mapped();
		test_hung();
		test_crash();
		test_many_processes();
		test_debug();
		test_perf_maps();
		test_odd_maps();
		test_failing_map();
		test_sparse();
		test_paths();
		test_processes();
		test_many_maps();
		test_room();
	} else {
		ok(true, "files of other processes # SKIP that needs root");
	}
	scratch_remove();
	return tap_done();
}
