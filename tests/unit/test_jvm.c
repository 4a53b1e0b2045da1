// SPDX-License-Identifier: Apache-2.0
/* JVMs among real processes, which have files mapped as a JVM has. */
#include "discover/jvm.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/fs.h"
#include "lib/actor.h"
#include "lib/elfmake.h"
#include "lib/handlesof.h"
#include "lib/scratch.h"
#include "lib/tap.h"
#include "lib/textfile.h"

static struct err err;

static void find_jvms(const pid_t *pids, size_t n, struct jvms *ret)
{
	CLEANUP(handles_fini) struct handles processes = handles_of(pids, n);

	*ret = (struct jvms){0};
	jvms_find(&processes, deadline_after(60000), ret);
}

/* A process that has these files mapped, executable or not. */
static pid_t process_with(const char *const *files, int prot)
{
	struct actor a;

	if (actor_fork(&a)) {
		for (; *files; files++) {
			CLEANUP(free) char *path = path_of(*files);
			int fd = open(path, O_RDONLY | O_CLOEXEC);

			if (mmap(NULL, 1, prot, MAP_PRIVATE, fd, 0) == MAP_FAILED)
				_exit(1);
			close(fd);
		}
		actor_play(&a);
	}
	if (!actor_wait(&a))
		abort();
	return a.pid;
}

/* What is found of a process with one file mapped: "kind version vendor", or "none". */
static char *found_of(const char *file, int prot)
{
	static const char *const kinds[] = {"none", "hotspot", "openj9", "native"};
	const char *files[] = {file, NULL};
	pid_t pid = process_with(files, prot);
	struct jvms j;
	char *ret;

	find_jvms(&pid, 1, &j);
	ret = j.count ? xasprintf("%s %s %s", kinds[j.list[0].runtime], j.list[0].version,
				  j.list[0].vendor)
		      : xstrdup("none");
	jvms_fini(&j);
	actor_end(pid);
	return ret;
}

static void finds(const char *file, const char *want, const char *check)
{
	CLEANUP(free) char *got = found_of(file, PROT_READ | PROT_EXEC);

	is_str(got, want, "%s", check);
}

static void test_release(void)
{
	CLEANUP(free) char *large = xasprintf("%065500d\nJAVA_VERSION=\"21\"\n", 1);
	CLEANUP(free) char *larger = xasprintf("%065530d\nJAVA_VERSION=\"21\"\n", 1);
	CLEANUP(free) char *name = xasprintf("JAVA_VERSION=\"%0100d\"\n", 0);
	CLEANUP(free) char *cut = xasprintf("hotspot %063d ", 0);
	CLEANUP(free) char *data = NULL;

	put_text("jdk17/lib/server/libjvm.so", 0644, "x");
	put_text("jdk17/release", 0644, "IMPLEMENTOR=\"Us\"\nJAVA_VERSION=\"17.0.9\"\nX=\"y\"\n");
	finds("jdk17/lib/server/libjvm.so", "hotspot 17.0.9 Us",
	      "a JVM has the version and vendor of its release file");
	data = found_of("jdk17/lib/server/libjvm.so", PROT_READ);
	is_str(data, "none", "a library that is only read makes no JVM");
	put_text("jdk8/jre/lib/amd64/server/libjvm.so", 0644, "x");
	put_text("jdk8/release", 0644, "JAVA_VERSION=\"1.8.0_402\"\n");
	finds("jdk8/jre/lib/amd64/server/libjvm.so", "hotspot 1.8.0_402 ",
	      "the release file of JDK 8 is further up, and names no vendor");
	put_text("deep/1/2/3/4/5/libjvm.so", 0644, "x");
	put_text("deep/release", 0644, "JAVA_VERSION=\"17\"\n");
	finds("deep/1/2/3/4/5/libjvm.so", "hotspot  ", "a file far above is of something else");
	put_text("deep/1/release", 0644, "JAVA_VERSION=\"18\"\n");
	finds("deep/1/2/3/4/5/libjvm.so", "hotspot 18 ", "five directories up is the last");
	put_text("two/lib/server/libjvm.so", 0644, "x");
	put_text("two/lib/release", 0644, "NOTHING=\"1\"\n");
	put_text("two/release", 0644, "JAVA_VERSION=\"19\nX=\"y\"\n");
	finds("two/lib/server/libjvm.so", "hotspot 19 ",
	      "a release file without a version is passed over, and a value ends with its line");
	put_text("near/lib/server/libjvm.so", 0644, "x");
	put_text("near/lib/release", 0644, "JAVA_VERSION=\"22\"\n");
	put_text("near/release", 0644, "JAVA_VERSION=\"23\"\nIMPLEMENTOR=\"No\"\n");
	finds("near/lib/server/libjvm.so", "hotspot 22 ", "the nearest release file counts");
	put_text("odd/lib/server/libjvm.so", 0644, "x");
	put_text("odd/release", 0644, "JAVA_VERSION=\"1\033[2J\"\nIMPLEMENTOR=\"\"\n");
	finds("odd/lib/server/libjvm.so", "hotspot 1?[2J ", "control characters are not shown");
	put_text("large/lib/server/libjvm.so", 0644, "x");
	put_text("large/release", 0644, large);
	finds("large/lib/server/libjvm.so", "hotspot 21 ", "a release file may have 64 KiB");
	put_text("large/release", 0644, larger);
	finds("large/lib/server/libjvm.so", "hotspot  ", "a larger one is not read");
	put_text("large/release", 0644, name);
	finds("large/lib/server/libjvm.so", cut, "a long version is cut");
	put_text("large/release", 0644, "");
	finds("large/lib/server/libjvm.so", "hotspot  ", "an empty one has no version");
}

/* A release file that is no file would block whoever opens it. */
static void test_odd_files(void)
{
	CLEANUP(free) char *fifo = path_of("fifo/release");
	CLEANUP(free) char *link = path_of("link/release");

	put_text("fifo/lib/server/libjvm.so", 0644, "x");
	if (mkfifo(fifo, 0644) < 0)
		abort();
	finds("fifo/lib/server/libjvm.so", "hotspot  ", "a pipe is no release file");
	put_text("link/lib/server/libjvm.so", 0644, "x");
	if (symlink("../jdk17/release", link) < 0)
		abort();
	finds("link/lib/server/libjvm.so", "hotspot 17.0.9 Us",
	      "a release file may be a link inside the container");
}

static void test_kinds(void)
{
	static const char *const both[] = {"j9/libjvm.so", "j9/libj9vm29.so", NULL};
	pid_t pids[4];
	struct jvms j;

	put_text("j9/libj9vm29.so", 0644, "x");
	put_text("j9/libjvm.so", 0644, "x");
	put_text("other/libjvm.so.1", 0644, "x");
	put_text("other/mylibjvm.so", 0644, "x");
	put_text("libj9vm29.so/lib.so", 0644, "x");
	finds("j9/libj9vm29.so", "openj9  ", "a library of OpenJ9 makes an OpenJ9");
	finds("other/libjvm.so.1", "none", "a longer name is another library");
	finds("other/mylibjvm.so", "none", "a name that ends so is another library");
	finds("libj9vm29.so/lib.so", "none", "the name of a directory does not count");
	pids[0] = process_with(both, PROT_READ | PROT_EXEC);
	pids[1] = process_with(both + 2, PROT_READ);
	pids[2] = 4194304;
	pids[3] = process_with((const char *[]){"jdk17/lib/server/libjvm.so", NULL},
			       PROT_READ | PROT_EXEC);
	find_jvms(pids, 4, &j);
	if (is_int(j.count, 2, "of four processes two run Java")) {
		is_int(j.list[0].pid, pids[0], "the first is the one with OpenJ9");
		is_int(j.list[0].runtime, RUNTIME_OPENJ9, "though it has a libjvm.so, too");
		is_int(j.list[0].nspid, pids[0], "it has its pid");
		is_int(j.list[0].uid, geteuid(), "it has its user");
		is_int(j.list[0].gid, getegid(), "and its group");
		is_int(j.list[1].pid, pids[3], "the second is the one with HotSpot");
		ok(faccessat(j.list[1].procfd, "stat", F_OK, 0) == 0, "its descriptor is open");
	}
	jvms_fini(&j);
	is_int(j.count, 0, "after the release there is none");
	actor_end(pids[0]);
	actor_end(pids[1]);
	actor_end(pids[3]);
}

/* More than one child looks at. */
static void test_many(void)
{
	const size_t at[] = {1, 70, 129};
	CLEANUP(handles_fini) struct handles processes = {0};
	struct jvms j = {0};
	pid_t pids[130], children[ARRAY_LEN(at)];

	for (size_t i = 0; i < ARRAY_LEN(pids); i++)
		pids[i] = getpid();
	for (size_t i = 0; i < ARRAY_LEN(at); i++)
		pids[at[i]] = children[i] =
			process_with((const char *[]){"jdk17/lib/server/libjvm.so", NULL},
				     PROT_READ | PROT_EXEC);
	processes = handles_of(pids, ARRAY_LEN(pids));
	for (int round = 1; round <= 2; round++) {
		jvms_find(&processes, deadline_after(60000), &j);
		is_int(j.count, ARRAY_LEN(at), "of 130 processes three run Java, round %d", round);
		for (size_t i = 0; i < j.count && i < ARRAY_LEN(at); i++)
			ok(j.list[i].pid == children[i] && !strcmp(j.list[i].version, "17.0.9"),
			   "JVM %zu has its pid and version", i + 1);
	}
	jvms_fini(&j);
	for (size_t i = 0; i < ARRAY_LEN(at); i++)
		actor_end(children[i]);
}

static void test_names(void)
{
	ok(jvm_is_library("/a/libjvm.so"), "libjvm.so is HotSpot's library");
	ok(jvm_is_library("/a/libjvm.so (deleted)"), "also when it was replaced");
	ok(!jvm_is_library("libjvm.so"), "a path has a directory");
	ok(!jvm_is_library("/a/libjvm.so (deleted) "), "nothing follows it");
	ok(!runtime_note(RUNTIME_HOTSPOT), "a HotSpot can have snapshots");
	ok(!runtime_note(RUNTIME_NONE), "another process has no note");
	is_str(runtime_note(RUNTIME_OPENJ9),
	       "OpenJ9, whose tables are not known to dfg; the map that it writes with "
	       "-Xjit:perfTool is read",
	       "the note about OpenJ9");
	is_str(runtime_note(RUNTIME_NATIVE_IMAGE),
	       "a native image: its methods are named by the symbols of the program",
	       "the note about a native image");
}

/* ---- native images ---- */

static bool has_section(const struct str *file, const char *name)
{
	CLEANUP(close_fd) int fd = file_of(file->buf, file->len);

	return jvm_file_has_section(fd, name);
}

/* The file with a field of its head changed. */
static bool has_with(const struct str *file, size_t at, size_t size, uint64_t value)
{
	CLEANUP(str_fini) struct str other = {0};

	str_add(&other, file->buf, file->len);
	memcpy(other.buf + at, &value, size);
	return has_section(&other, ".svm_heap");
}

#define WITH(file, field, value)                                                                   \
	has_with(file, offsetof(Elf64_Ehdr, field), sizeof(((Elf64_Ehdr *)0)->field), value)

static void test_sections(void)
{
	CLEANUP(str_fini) struct str file = {0};
	struct elfmake m;
	Elf64_Ehdr head;

	elfmake_start(&m);
	elfmake_add(&m, ".svm_heap", SHT_PROGBITS, "x", 1);
	elfmake_add(&m, ".fifteen_bytes_", SHT_PROGBITS, "x", 1);
	elfmake_add(&m, ".sixteen_bytes__", SHT_PROGBITS, "x", 1);
	elfmake_end(&m, &file);
	memcpy(&head, file.buf, sizeof(head));
	ok(has_section(&file, ".svm_heap"), "a section is found by its name");
	ok(has_section(&file, ".text"), "so is the first");
	ok(has_section(&file, ".fifteen_bytes_"), "a name may have 15 bytes");
	ok(!has_section(&file, ".sixteen_bytes__"), "and no more");
	ok(!has_section(&file, ".svm_hea"), "the beginning of a name is another name");
	ok(!has_section(&file, ".svm_heap2"), "so is a longer one");
	ok(WITH(&file, e_shnum, head.e_shnum), "a file with the same head is the same");
	ok(!WITH(&file, e_ident[EI_CLASS], ELFCLASS32), "a 32-bit file is not read");
	ok(!WITH(&file, e_ident[EI_MAG1], 'X'), "a file of another kind is not read");
	ok(!WITH(&file, e_shentsize, 65), "nor one with headers of another size");
	ok(!WITH(&file, e_shnum, 4097), "nor one with too many sections");
	ok(WITH(&file, e_shnum, 4096), "4096 sections are not too many");
	ok(!WITH(&file, e_shstrndx, head.e_shnum), "the names have to be in a section");
	ok(!WITH(&file, e_shoff, UINT64_MAX - 63), "headers have to be in the file");
	ok(!WITH(&file, e_shoff, file.len), "not after its end");
	str_clear(&file);
	str_adds(&file, "\177ELF");
	ok(!has_section(&file, ".svm_heap"), "a short file has no sections");
}

static size_t left(const struct str *s, const char *at)
{
	return (size_t)(s->buf + s->len - at);
}

/* A copy of this program in which a section is called .svm_heap, and which does nothing. */
static void test_native_image(void)
{
	CLEANUP(free) char *path = path_of("image");
	CLEANUP(close_fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(str_fini) struct str self = {0};
	char *args[] = {path, NULL}, byte, *at;
	int ready[2];
	struct jvms j;
	pid_t pid;

	if (fs_read_all(fd, 1u << 30, &self, &err) < 0 || pipe(ready) < 0)
		abort();
	/* Everywhere: this text is in the program, too. */
	for (at = self.buf; (at = memmem(at, left(&self, at), "\0.eh_frame_hdr", 15)); at++)
		memcpy(at + 1, ".svm_heap", 10);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	if (fs_write_all(fd, self.buf, self.len, &err) < 0)
		abort();
	cleanup_close_fd(&fd);
	fd = -1;
	pid = fork();
	if (pid == 0) {
		dup2(ready[1], STDOUT_FILENO);
		setenv("DFG_TEST_PAUSE", "1", 1);
		execv(path, args);
		_exit(1);
	}
	close(ready[1]);
	is_int(read(ready[0], &byte, 1), 1, "a program with such a section runs");
	close(ready[0]);
	find_jvms(&pid, 1, &j);
	if (is_int(j.count, 1, "it is found"))
		is_int(j.list[0].runtime, RUNTIME_NATIVE_IMAGE, "as a native image");
	jvms_fini(&j);
	actor_end(pid);
}

int main(void)
{
	if (getenv("DFG_TEST_PAUSE")) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!write(STDOUT_FILENO, "", 1);
		for (;;)
			pause();
	}
	scratch_make();
	close(STDIN_FILENO); /* so that 0 is a descriptor as any other */
	test_release();
	test_odd_files();
	test_kinds();
	test_many();
	test_names();
	test_sections();
	test_native_image();
	scratch_remove();
	return tap_done();
}
