// SPDX-License-Identifier: Apache-2.0
/* The built agent ("agent-jni/agent.c") in processes that load it as a JVM does: its two entry
 * points, its thread, the ways of asking it, and what a loader must not notice. Real JVMs are in
 * tests/e2e/inject. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/fs.h"
#include "dfg/request.h"
#include "lib/built.h"
#include "lib/fakejvm.h"
#include "lib/tap.h"

#define LIMIT_MS 20000

static char top[] = "/tmp/dfg-load.XXXXXX";
static char *out, *ctl, *library, *agent;
static struct snap_image image;
static struct err err;

/* ---- what a process does with the agent ---- */

typedef int (*entry_fn)(void *vm, char *options, void *reserved);

/* A JavaVM: a pointer to a table whose functions are in the library. */
static void *functions[8], *table = functions;

static entry_fn entry(const char *path, const char *name)
{
	void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	entry_fn fn = NULL;

	if (so)
		*(void **)&fn = dlsym(so, name);
	if (!fn)
		abort();
	return fn;
}

static int load(const char *options)
{
	CLEANUP(free) char *text = options ? xstrdup(options) : NULL;

	return entry(agent, "Agent_OnAttach")(&table, text, NULL);
}

/* The options that name the test's directories, and more. */
static int load_here(const char *more)
{
	CLEANUP(free) char *options = xasprintf("dir=%s,ctl=%s%s", out, ctl, more);

	return load(options);
}

static char *out_path(const char *name)
{
	return xasprintf("%s/%s", out, name);
}

/* The thread of an agent in this process: its id, 0 if there is none. ret_count: of all. */
static int thread_find(int *ret_count)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *e;
	int tid = 0;

	*ret_count = 0;
	while (dir && (e = readdir(dir))) {
		CLEANUP(free) char *path = xasprintf("/proc/self/task/%s/comm", e->d_name);
		CLEANUP(str_fini) struct str name = {0};
		struct err ignored;

		if (fs_read_file(AT_FDCWD, path, 64, &name, &ignored) < 0 || !name.buf ||
		    strcmp(name.buf, DFG_THREAD_NAME "\n") != 0)
			continue;
		tid = atoi(e->d_name);
		++*ret_count;
	}
	closedir(dir);
	return tid;
}

/* Waits until there are so many of these threads. Returns the id of one. */
static int threads_wait(int count)
{
	uint64_t deadline = clock_ms() + LIMIT_MS;
	int now, tid;

	while ((tid = thread_find(&now)), now != count && clock_ms() < deadline)
		sleep_ms(1);
	is_int(now, count, "the process has %d of the agent's threads", count);
	return tid;
}

/* Makes the file of an answer, as the host does. */
static void answer_make(const char *name)
{
	CLEANUP(free) char *path = out_path(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		abort();
	close(fd);
}

/* Waits for the trailer of an answer. Returns its text, for the caller to free, or NULL. */
static char *answer_wait(const char *name, unsigned ms)
{
	CLEANUP(free) char *path = out_path(name);
	uint64_t deadline = clock_ms() + ms;

	do {
		CLEANUP(str_fini) struct str text = {0};
		const char *at = NULL;

		if (fs_read_file(AT_FDCWD, path, 1u << 20, &text, &err) == 0 && text.buf)
			at = memmem(text.buf, text.len, DFG_TRAILER_START,
				    strlen(DFG_TRAILER_START));
		if (at && strchr(at, '\n'))
			return xasprintf("%.*s", (int)strcspn(at, "\n"), at);
		sleep_ms(1);
	} while (clock_ms() < deadline);
	return NULL;
}

static void is_answered(const char *name, unsigned seq, int status, const char *check)
{
	CLEANUP(free) char *trailer = answer_wait(name, LIMIT_MS);
	CLEANUP(free) char *want = xasprintf(DFG_TRAILER_START "seq=%u status=%d ", seq, status);

	if (trailer)
		trailer[strlen(want) < strlen(trailer) ? strlen(want) : strlen(trailer)] = '\0';
	is_str(trailer, want, "%s", check);
}

static void request_put(unsigned seq, const char *name)
{
	CLEANUP(free)
	char *text = xasprintf("dfg1 dump seq=%u host_pid=1 out=%s\n", seq, name);
	CLEANUP(free) char *file = xasprintf("request.%d", (int)getpid());
	CLEANUP(close_fd) int fd = fs_make_dirs(ctl, 0700, &err);

	if (fs_replace_file(fd, file, 0600, text, strlen(text), &err) < 0)
		abort();
}

static char *published(void)
{
	CLEANUP(free) char *path = xasprintf("%s/agent.%d", out, (int)getpid());
	CLEANUP(str_fini) struct str text = {0};
	uint64_t deadline = clock_ms() + LIMIT_MS;

	while (text.len == 0 && clock_ms() < deadline) {
		if (fs_read_file(AT_FDCWD, path, 200, &text, &err) < 0 || !text.len)
			sleep_ms(1);
	}
	return text.buf ? xstrdup(text.buf) : NULL;
}

/* ---- parts, each in a process of its own ---- */

static void wrong_options(void)
{
	int count;

	is_int(load("dir=relative"), DFG_AGENT_BAD_OPTIONS, "options may be wrong");
	is_int(load("signal=9"), DFG_AGENT_BAD_OPTIONS, "or have a wrong signal");
	is_int(entry(agent, "Agent_OnLoad")(&table, (char *)"dir=relative", NULL), 0,
	       "a JVM starts all the same");
	thread_find(&count);
	is_int(count, 0, "no thread is started by them");
}

static void quiet_load(void)
{
	CLEANUP(free) char *options = xasprintf("dir=%s/none,ctl=%s/none", top, top);
	sigset_t before, after;
	int tid;

	sigprocmask(SIG_SETMASK, NULL, &before);
	errno = 4711;
	is_int(load(options), DFG_AGENT_OK, "the agent loads where its directories are missing");
	is_int(errno, 4711, "the loader's errno stays");
	sigprocmask(SIG_SETMASK, NULL, &after);
	ok(memcmp(&before, &after, 8) == 0, "so does its signal mask");
	tid = threads_wait(1);
	ok(tid != getpid(), "it is another thread than the loader's");
	is_int(load(options), DFG_AGENT_OK, "it loads again");
	is_int(load(NULL), DFG_AGENT_OK, "so it does without options");
	is_int(threads_wait(1), tid, "it is still the same");
}

static void residence(void)
{
	CLEANUP(free) char *path = xasprintf("%s/agent.%d", out, (int)getpid());
	CLEANUP(free) char *victim = xasprintf("%s/victim", top);
	CLEANUP(free) char *text = NULL, *want = NULL;
	struct stat st = {0};
	int tid;

	(void)!symlink(victim, path);
	umask(077);
	signal(36, SIG_IGN);
	is_int(load_here(""), DFG_AGENT_OK, "the agent loads");
	tid = threads_wait(1);
	text = published();
	want = xasprintf("dfg1 agent signal=37 tid=%d\n", tid);
	is_str(text, want, "it publishes the first free signal and its thread");
	ok(lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 07777) == 0644,
	   "in a file that all may read, whatever the umask");
	ok(access(victim, F_OK) < 0, "a link of that name is replaced, not followed");
}

static void wanted_signal(void)
{
	CLEANUP(free) char *text = NULL;

	is_int(load_here(",signal=50"), DFG_AGENT_OK, "the agent loads with a signal");
	text = published();
	ok(text && strstr(text, "signal=50 "), "it uses that one");
}

static void by_load(void)
{
	answer_make("perf-1.map");
	answer_make("b.snap");
	is_int(load_here(",request=seq:4:1:perf-1.map"), DFG_AGENT_OK, "a load has a request");
	is_answered("perf-1.map", 4, DFG_DUMP_OK, "it is answered with the map of the JVM");
	is_int(load_here(",request=seq:5:1:b.snap,keep=30"), DFG_AGENT_OK, "a second load, too");
	is_answered("b.snap", 5, DFG_DUMP_OK, "it is answered by the same thread");
	threads_wait(1);
	answer_make("c.map");
	answer_make("d.map");
	answer_make("e.map");
	load_here(",request=seq:5:1:c.map");
	load_here(",request=seq:3:1:c.map");
	load_here(",request=seq:0:1:d.map");
	is_answered("d.map", 0, DFG_DUMP_OK, "a request without a number is always served");
	load_here(",request=seq:4:1:c.map");
	load_here(",request=seq:9:1:missing.map");
	load_here(",request=seq:6:1:e.map");
	is_answered("e.map", 6, DFG_DUMP_OK, "one that could not be answered does not count");
	ok(!answer_wait("c.map", 0), "one whose number is not greater is not served");
}

static void by_start(void)
{
	answer_make("a.map");
	request_put(9, "a.map");
	is_int(entry(agent, "Agent_OnLoad")(
		       &table, xasprintf("dir=%s,ctl=%s,dns=1,request=seq:8:1:b.map", out, ctl),
		       NULL),
	       0, "the agent loads when the JVM starts");
	is_answered("a.map", 9, DFG_DUMP_OK, "a request file that is there is served");
	is_int(*(uint8_t *)(uintptr_t)image.non_safepoints, 1, "dns=1 sets the JVM's flag");
}

static void by_file(void)
{
	CLEANUP(free) char *text = NULL;

	mkdir(ctl, 0700);
	load_here(",dns=0");
	text = published();
	is_int(*(uint8_t *)(uintptr_t)image.non_safepoints, 0, "dns=0 sets no flag");
	answer_make("a.map");
	answer_make("b.map");
	answer_make("c.map");
	request_put(1, "a.map");
	is_answered("a.map", 1, DFG_DUMP_OK, "a request file is served");
	request_put(1, "b.map");
	request_put(7, "missing.map");
	request_put(2, "c.map");
	is_answered("c.map", 2, DFG_DUMP_OK,
		    "one whose file is missing is not answered: its number stays free");
	ok(!answer_wait("b.map", 0), "a number is not served twice");
	answer_make("agent.map");
	request_put(3, "agent.map");
	is_answered("agent.map", 3, DFG_DUMP_OK, "the next is served");
}

static void by_signal(void)
{
	union sigval value = {.sival_int = 4711};
	CLEANUP(free) char *text = NULL;
	int signal_number = 0;

	load_here("");
	text = published();
	if (!text || sscanf(text, "dfg1 agent signal=%d", &signal_number) != 1)
		abort();
	answer_make("perf-4711.map");
	sigqueue(getpid(), signal_number, value);
	is_answered("perf-4711.map", 0, DFG_DUMP_OK,
		    "without a control directory the signal's value is the request");
	answer_make("late.map");
	answer_make("later.map");
	answer_make("perf-4711.map");
	request_put(5, "late.map");
	sigqueue(getpid(), signal_number, value);
	is_answered("late.map", 5, DFG_DUMP_OK, "with one, that came later, the file is");
	request_put(6, "later.map");
	is_answered("later.map", 6, DFG_DUMP_OK, "from then on the directory is watched");
	ok(!answer_wait("perf-4711.map", 0), "the value means nothing then");
}

static void share_gone(void)
{
	CLEANUP(free) char *elsewhere = xasprintf("%s/elsewhere", top);

	load_here("");
	free(published());
	if (rename(out, elsewhere) < 0 || mkdir(out, 0700) < 0)
		abort();
	load_here(",request=seq:2:1:gone.map");
	answer_make("back.map");
	load_here(",request=seq:3:1:back.map");
	is_answered("back.map", 3, DFG_DUMP_OK, "a share may go and come back");
	threads_wait(1);
	fs_remove_tree(AT_FDCWD, elsewhere);
}

static int eventfd_find(void)
{
	for (int fd = 0; fd < 256; fd++) {
		CLEANUP(free) char *path = xasprintf("/proc/self/fd/%d", fd);
		char target[64] = "";

		if (readlink(path, target, sizeof(target) - 1) > 0 &&
		    !strcmp(target, "anon_inode:[eventfd]"))
			return fd;
	}
	return -1;
}

/* Other code may close descriptors it does not know. */
static void closed_descriptor(void)
{
	mkdir(ctl, 0700);
	load_here("");
	free(published());
	threads_wait(1);
	answer_make("a.map");
	close(eventfd_find());
	request_put(2, "a.map");
	threads_wait(0);
	answer_make("b.map");
	load_here(",request=seq:1:1:b.map");
	is_answered("b.map", 1, DFG_DUMP_OK, "the next load starts it again, with new numbers");
	threads_wait(1);
}

static void forked(void)
{
	CLEANUP(free) char *text = NULL;
	pid_t child;
	int status = -1;

	load_here("");
	text = published();
	answer_make("child.map");
	child = fork();
	if (child == 0) {
		char *trailer;
		int count;

		thread_find(&count);
		if (count != 0 || load_here(",request=seq:1:1:child.map") != DFG_AGENT_OK)
			_exit(1);
		trailer = answer_wait("child.map", LIMIT_MS);
		_exit(trailer && thread_find(&count) > 0 ? 0 : 2);
	}
	waitpid(child, &status, 0);
	is_int(status, 0, "in a forked child, which has no thread of it, the agent starts anew");
	threads_wait(1);
}

/* Another copy of the agent, of another version say. */
static void guest(void)
{
	CLEANUP(free) char *copy = xasprintf("%s/copy.so", top);
	CLEANUP(free) char *path = xasprintf("%s/agent.%d", out, (int)getpid());
	CLEANUP(free)
	char *options = xasprintf("dir=%s,ctl=%s,request=seq:1:1:guest.map", out, ctl);
	CLEANUP(str_fini) struct str bytes = {0};
	CLEANUP(close_fd) int fd = -1;
	CLEANUP(free) char *text = NULL;

	mkdir(ctl, 0700);
	load_here("");
	text = published();
	fd = open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	if (fs_read_file(AT_FDCWD, agent, 10u << 20, &bytes, &err) < 0 ||
	    fs_write_all(fd, bytes.buf, bytes.len, &err) < 0)
		abort();
	unlink(path);
	answer_make("guest.map");
	answer_make("file.map");
	is_int(entry(copy, "Agent_OnAttach")(&table, options, NULL), DFG_AGENT_OK,
	       "a second copy of the agent loads");
	is_answered("guest.map", 1, DFG_DUMP_OK, "it serves its own load");
	threads_wait(2);
	ok(access(path, F_OK) < 0, "it publishes nothing");
	request_put(8, "file.map");
	is_answered("file.map", 8, DFG_DUMP_OK, "the first one serves the request file");
	options[strlen(options) - strlen("1:1:guest.map")] = '9';
	answer_make("guest.map");
	entry(copy, "Agent_OnAttach")(&table, options, NULL);
	is_answered("guest.map", 9, DFG_DUMP_OK, "the second one goes on serving loads");
	unlink(copy);
}

/* As many requests as the queue holds, while a debugger keeps the thread from serving them. */
static void full_queue(void)
{
	CLEANUP(free) char *text = NULL;
	int tid, status, fds[2], result = 0;
	pid_t tracer, self = getpid();
	char byte = 0;

	load_here("");
	text = published();
	tid = threads_wait(1);
	if (pipe(fds) < 0)
		abort();
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	tracer = fork();
	if (tracer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self || ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0 ||
		    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 ||
		    waitpid(tid, &status, __WALL) != tid)
			_exit(1);
		(void)!write(fds[1], "", 1);
		pause();
	}
	close(fds[1]);
	if (read(fds[0], &byte, 1) != 1) {
		ok(true, "a queue that is full # SKIP ptrace is not permitted here");
		waitpid(tracer, NULL, 0);
		return;
	}
	for (int i = 1; i <= 9; i++) {
		CLEANUP(free) char *name = xasprintf("queue%d.map", i);
		CLEANUP(free) char *more = xasprintf(",request=seq:%d:1:%s", i, name);

		answer_make(name);
		if (i < 9)
			result |= load_here(more);
		else
			is_int(load_here(more), DFG_AGENT_BUSY, "a ninth is refused");
	}
	is_int(result, DFG_AGENT_OK, "eight requests can wait");
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	for (int i = 1; i <= 8; i++) {
		CLEANUP(free) char *name = xasprintf("queue%d.map", i);

		is_answered(name, (unsigned)i, DFG_DUMP_OK, "each of them is served in its turn");
	}
}

static void limit(__rlimit_resource_t resource, rlim_t most)
{
	struct rlimit now;

	getrlimit(resource, &now);
	now.rlim_cur = most < now.rlim_max ? most : now.rlim_max;
	setrlimit(resource, &now);
}

static void no_resources(void)
{
	entry_fn attach = entry(agent, "Agent_OnAttach");
	CLEANUP(free)
	char *options = xasprintf("dir=%s,ctl=%s,request=seq:2:1:a.map", out, ctl);
	int count, none, full;

	limit(RLIMIT_NOFILE, 3);
	none = attach(&table, options, NULL);
	limit(RLIMIT_NOFILE, 4096);
	is_int(none, DFG_AGENT_NO_THREAD, "without a descriptor there is no thread");
	limit(RLIMIT_AS, 1u << 20);
	full = attach(&table, options, NULL);
	limit(RLIMIT_AS, RLIM_INFINITY);
	is_int(full, DFG_AGENT_NO_THREAD, "without memory there is none");
	is_int(eventfd_find(), -1, "no descriptor is left");
	thread_find(&count);
	is_int(count, 0, "no thread, either");
	answer_make("a.map");
	is_int(attach(&table, options, NULL), DFG_AGENT_OK, "a load with both starts the agent");
	is_answered("a.map", 2, DFG_DUMP_OK, "it serves the request");
}

static void no_jvm(void)
{
	munmap((void *)(uintptr_t)(IMAGE_BASE - FAKEJVM_HEAD), FAKEJVM_HEAD + IMAGE_BYTES);
	answer_make("a.map");
	load_here(",dns=1,request=seq:1:1:a.map");
	is_answered("a.map", 1, DFG_DUMP_NO_TABLES, "in a program that is no JVM it says so");
}

/* ---- running them ---- */

/* Counts of checks, which the processes share. */
static struct {
	int count, failed;
} * shared;

static void library_map(void)
{
	CLEANUP(close_fd) int fd = open(library, O_RDONLY | O_CLOEXEC);

	if (mmap((void *)(uintptr_t)(IMAGE_BASE - FAKEJVM_HEAD), FAKEJVM_HEAD + IMAGE_BYTES,
		 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == MAP_FAILED)
		abort();
	for (unsigned i = 3; i < 8; i++)
		functions[i] = (void *)(uintptr_t)(IMAGE_BASE + i);
}

static void run(void (*part)(void))
{
	pid_t pid;

	fs_remove_tree(AT_FDCWD, out);
	fs_remove_tree(AT_FDCWD, ctl);
	mkdir(out, 0700);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		library_map();
		part();
		shared->count = tap_count;
		shared->failed = tap_failed;
		fflush(stdout);
		_exit(0);
	}
	int status;

	waitpid(pid, &status, 0);
	tap_count = shared->count;
	tap_failed = shared->failed;
	ok(status == 0, "the process with the agent ends as it would");
	shared->count = tap_count;
}

int main(void)
{
	static void (*const parts[])(void) = {
		wrong_options, quiet_load, residence,  wanted_signal, by_load,
		by_start,      by_file,	   by_signal,  share_gone,    closed_descriptor,
		forked,	       guest,	   full_queue, no_resources,  no_jvm};

	agent = built("payload/libdfg-agent.so");
	if (access(agent, R_OK) < 0) {
		printf("1..0 # SKIP no libdfg-agent.so\n");
		return 0;
	}
	if (!mkdtemp(top))
		abort();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	out = xasprintf("%s/out", top);
	ctl = xasprintf("%s/ctl", top);
	library = xasprintf("%s/libjvm.so", top);
	snap_image_build(&image, IMAGE_17);
	fakejvm_library(&image.im, library);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		run(parts[i]);
	fs_remove_tree(AT_FDCWD, top);
	free(out);
	free(ctl);
	free(library);
	free(agent);
	return tap_done();
}
