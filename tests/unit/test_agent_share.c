// SPDX-License-Identifier: Apache-2.0
/* The host's end of the dump protocol, in a share on a tmpfs; the agent's part is played here. */
#include "record/agent_share.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/fs.h"
#include "common/proc.h"
#include "dfg/snapshot.h"
#include "lib/actor.h"
#include "lib/tap.h"

static char top[] = "/tmp/dfg-share.XXXXXX";
static struct err err;
static uid_t owner;

struct snapshot {
	struct snap_head head;
	struct snap_end end;
};

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/containers/%s", top, name);
	return path;
}

static void put(const char *name, const char *text)
{
	CLEANUP(close_fd)
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
}

static bool exists(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

static int count_files(const char *name)
{
	DIR *dir = opendir(path_of(name));
	struct dirent *e;
	int count = 0;

	while (dir && (e = readdir(dir)))
		count += e->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void is_text(const char *name, const char *want, const char *check)
{
	CLEANUP(str_fini) struct str got = {0};

	if (fs_read_file(AT_FDCWD, path_of(name), 4096, &got, &err) < 0)
		printf("# %s\n", err.msg);
	is_str(got.buf, want, "%s", check);
}

static void open_share(struct agent_share *s, const char *check)
{
	*s = (struct agent_share){-1, -1, -1, 0};
	if (!ok(agent_share_open(top, "web", 0, s, &err) == 0, "%s", check))
		printf("# %s\n", err.msg);
}

static void refused(const char *id, int code, const char *words, const char *check)
{
	struct agent_share s = {-1, -1, -1, 0};

	err = (struct err){0};
	is_int(agent_share_open(top, id, 1, &s, &err), -1, "%s", check);
	is_int(err.code, code, "%s: the code of the error", check);
	ok(strstr(err.msg, words) != NULL, "%s: the error says \"%s\": %s", check, words, err.msg);
	ok(s.outfd == -1 && s.ctlfd == -1 && s.lockfd == -1, "%s: nothing is opened", check);
}

/* ---- opening ---- */

static void test_refused(void)
{
	struct err mine = {0};
	struct agent_share s;

	is_int(agent_share_open("/nonexistent", "web", 0, &s, &mine), -1,
	       "a root that does not exist has no share");
	is_int(mine.code, ENOENT, "the error is that there is none");
	is_str(mine.msg, "open /nonexistent/containers: No such file or directory",
	       "the error names the directory");
	refused("none", ENOENT, "none", "a container without a directory has no share");
	mkdir(path_of("bare"), 0700);
	refused("bare", ENOENT, "out", "a container without the output directory has no share");
	mkdir(path_of("bare/out"), 0700);
	refused("bare", ENOENT, "ctl", "a container without the control directory has no share");
	mkdir(path_of("bare/ctl"), 0700);
	refused("bare", ENOENT, "the share of container bare is not mounted",
		"a directory of the same file system is no share");
	ok(!exists("bare/lock"), "no lock file is made where there is no share");
	if (symlink("web", path_of("link")) < 0)
		abort();
	refused("link", ELOOP, "link", "a link in place of a container's directory is refused");
	refused("../containers/web", EXDEV, "containers/web", "a path that leads out is refused");
}

static void test_lock(void)
{
	struct agent_share s;
	struct stat st;
	int other;

	open_share(&s, "a share is opened");
	is_int(s.seq, 0, "the first request has no number before it");
	ok(stat(path_of("web/lock"), &st) == 0 && (st.st_mode & 07777) == 0600,
	   "the lock file can be read by its owner only");
	refused("web", 0, "another dfg has been using this container's share for 1 ms",
		"a share in use is waited for no longer than was asked");
	ok((fcntl(s.outfd, F_GETFD) & FD_CLOEXEC) && (fcntl(s.ctlfd, F_GETFD) & FD_CLOEXEC) &&
		   (fcntl(s.lockfd, F_GETFD) & FD_CLOEXEC),
	   "no descriptor of a share is inherited");
	agent_share_close(&s);
	other = open(path_of("web/lock"), O_RDWR | O_CLOEXEC);
	is_int(flock(other, LOCK_EX | LOCK_NB), 0, "a closed share is not locked");
	close(other);
}

static void test_numbers(void)
{
	static const struct {
		const char *text;
		uint32_t want;
		const char *check;
	} rows[] = {
		{"41", 41, "the last number is read from the lock file"},
		{"4294967295", UINT32_MAX, "the largest number is read"},
		{"4294967296", 0, "a number of more than 32 bits counts as none"},
		{"4x", 0, "a text that is no number counts as none"},
		{"", 0, "an empty lock file has no number"},
		{"0000000000000042", 4, "no more than 15 digits are read"},
	};
	struct agent_share s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		put("web/lock", rows[i].text);
		open_share(&s, "a share with a number is opened");
		is_int(s.seq, rows[i].want, "%s", rows[i].check);
		agent_share_close(&s);
	}
	unlink(path_of("web/lock"));
	if (symlink("target", path_of("web/lock")) < 0)
		abort();
	refused("web", ELOOP, "open the lock of container web", "a lock that is a link is refused");
	ok(!exists("web/target"), "and its target is not made");
	unlink(path_of("web/lock"));
}

static void test_sweep(void)
{
	static const struct {
		const char *name;
		bool kept;
	} rows[] = {
		{"web/out/perf-7.00ff.snap", false}, {"web/out/perf-.snap", false},
		{"web/out/perf-7.map", true},	     {"web/out/xperf-7.snap", true},
		{"web/out/agent.7", true},	     {"web/ctl/request.7", false},
		{"web/ctl/request.", false},	     {"web/ctl/request", true},
		{"web/ctl/perf-7.snap", true},	     {"web/out/request.7", true},
	};
	struct agent_share s;

	open_share(&s, "while an exchange runs");
	put("web/out/perf-7.00ff.snap", "x");
	agent_share_sweep(top, "web");
	ok(exists("web/out/perf-7.00ff.snap"), "its files are not swept");
	agent_share_close(&s);
	agent_share_sweep(top, "web");
	ok(!exists("web/out/perf-7.00ff.snap"), "the files of one that was killed are");
	agent_share_sweep(top, "nobody");
	ok(!exists("nobody"), "where no share is, none is made");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		put(rows[i].name, "x");
	open_share(&s, "a share with the files of a killed exchange is opened");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		is_int(exists(rows[i].name), rows[i].kept, "%s is %s", rows[i].name,
		       rows[i].kept ? "kept" : "removed");
		unlink(path_of(rows[i].name));
	}
	agent_share_close(&s);
}

/* ---- the request ---- */

static struct jvm a_jvm(void)
{
	return (struct jvm){.pid = 4711,
			    .nspid = 7,
			    .uid = owner,
			    .gid = owner,
			    .procfd = proc_open(getpid(), &err)};
}

static int create(struct agent_share *s, const struct jvm *j, uint32_t since, uint32_t keep,
		  struct dump *ret)
{
	const struct dump wish = {.fd = -1, .since = since, .keep = keep};

	return dump_create(s, j, &wish, ret, &err);
}

/* Case 60: the name cannot be foreseen, and the file is new. */
static void test_create(void)
{
	struct jvm j = a_jvm();
	struct agent_share s;
	struct dump d, e;
	struct stat st;

	put("web/lock", "4294967294");
	open_share(&s, "a share for a dump is opened");
	if (!ok(create(&s, &j, 0, 30, &d) == 0, "a file for a whole dump is made"))
		printf("# %s\n", err.msg);
	is_int(d.seq, UINT32_MAX, "the request has the next number");
	is_text("web/lock", "4294967295", "the number is in the lock file");
	ok(!strncmp(d.name, "perf-4711.", 10) && strlen(d.name) == 10 + 16 + 5 &&
		   !strcmp(d.name + 26, ".snap"),
	   "the file is named after the process and a random number: %s", d.name);
	ok(fstat(d.fd, &st) == 0 && st.st_size == 16 << 20, "it has room for a whole snapshot");
	ok(st.st_blocks * 512ll >= 16 << 20, "the room is allocated");
	is_int(st.st_mode & 07777, 0600, "nobody else can read it");
	is_int(st.st_uid, owner, "it belongs to the user of the JVM");
	is_int(st.st_gid, owner, "it belongs to the group of the JVM");
	is_int(d.since, 0, "it is to be whole");
	is_int(d.keep, 30, "the agent is to remember");
	is_int(d.clock_ahead, 0, "a process of this time namespace has the same clock");

	is_int(create(&s, &j, 5, 0, &e), 0, "a file for a delta is made");
	is_int(e.seq, 1, "after the largest number comes 1, since 0 is always served");
	is_text("web/lock", "1", "the number in the lock file is not longer than its digits");
	ok(fstat(e.fd, &st) == 0 && st.st_size == 1 << 20, "it has room for a delta");
	is_int(e.since, 5, "it is to be a delta to that answer");
	is_int(e.keep, 0, "the agent is to forget");
	ok(strcmp(d.name, e.name) != 0, "no two dumps have the same name");

	dump_remove(&s, &d, 7);
	dump_remove(&s, &e, 7);
	is_int(create(&s, &j, 0, 0, &d), 0, "a third one is made");
	is_int(d.seq, 2, "numbers rise by one");
	dump_remove(&s, &d, 7);
	agent_share_close(&s);
	close(j.procfd);
}

static void test_request(void)
{
	static const struct {
		uint32_t since, keep;
		bool named;
		const char *end;
	} rows[] = {{0, 0, false, ""},
		    {5, 0, false, " since=5"},
		    {0, 30, false, " keep=30"},
		    {1, 1, false, " since=1 keep=1"},
		    {1, 1, true, " since=1 keep=1 named=1"}};
	struct jvm j = a_jvm();
	struct agent_share s;
	struct stat st;

	put("web/lock", "8");
	open_share(&s, "a share for requests is opened");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(free) char *want = NULL;
		struct dump d;

		if (create(&s, &j, rows[i].since, rows[i].keep, &d) < 0)
			abort();
		d.named = rows[i].named;
		want = xasprintf("dfg1 dump seq=%zu host_pid=4711 out=%s%s\n", 9 + i, d.name,
				 rows[i].end);
		is_int(dump_request(&s, &d, &j, &err), 0, "request %zu is written", i);
		is_text("web/ctl/request.7", want, "it is the line of request.h");
		ok(stat(path_of("web/ctl/request.7"), &st) == 0 && (st.st_mode & 07777) == 0444,
		   "everyone in the container can read it, nobody write it");
		dump_remove(&s, &d, 7);
		ok(!exists("web/ctl/request.7"), "it is removed with its dump");
		ok(faccessat(s.outfd, d.name, F_OK, 0) < 0, "so is the file");
	}
	agent_share_close(&s);
	close(j.procfd);
}

static void test_full(void)
{
	struct jvm j = a_jvm();
	struct agent_share s;
	struct dump d = {.fd = -5};

	unlink(path_of("web/lock"));
	if (mount("share", path_of("web/out"), "tmpfs", MS_REMOUNT, "size=4m") < 0)
		abort();
	open_share(&s, "a small share is opened");
	is_int(create(&s, &j, 0, 0, &d), -1, "a whole dump does not fit into it");
	is_int(err.code, ENOSPC, "the error is that there is no space");
	ok(strstr(err.msg, "room for the snapshot in the container's share") != NULL,
	   "the error says where: %s", err.msg);
	is_int(d.fd, -5, "the dump is untouched");
	is_int(count_files("web/out"), 0, "nothing is left in the share");
	is_int(s.seq, 1, "its number is used up");
	agent_share_close(&s);
	if (mount("share", path_of("web/out"), "tmpfs", MS_REMOUNT, "size=64m") < 0)
		abort();
	close(j.procfd);
}

/* ---- the answer ---- */

static const struct snapshot whole = {
	.head = {.record = {SNAP_HEAD, sizeof(struct snap_head)}, .time = 5000},
	.end = {.record = {SNAP_END, sizeof(struct snap_end)}, .time = 7000},
};

static pid_t sleeper(int *ret_pidfd)
{
	pid_t pid = actor_idle();

	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return pid;
}

/* Writes records and trailer into the file and closes it, as the agent does. */
static void answer(const struct agent_share *s, const struct dump *d, const void *p, size_t len,
		   const char *trailer)
{
	CLEANUP(close_fd) int fd = openat(s->outfd, d->name, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || pwrite(fd, p, len, 0) != (ssize_t)len ||
	    pwrite(fd, trailer, strlen(trailer), (off_t)len) != (ssize_t)strlen(trailer))
		abort();
}

/* A dump, the share that it is made in, and the file that its records are copied to. */
struct exchange {
	struct jvm j;
	struct agent_share s;
	struct dump d;
	int to;
};

/* Its dump has number 1. */
static struct exchange begin(struct dump wish)
{
	struct exchange x = {.j = a_jvm(), .to = memfd_create("to", MFD_CLOEXEC)};

	unlink(path_of("web/lock"));
	if (agent_share_open(top, "web", 0, &x.s, &err) < 0 ||
	    dump_create(&x.s, &x.j, &wish, &x.d, &err) < 0)
		abort();
	return x;
}

static void finish(struct exchange *x)
{
	dump_remove(&x->s, &x->d, x->j.nspid);
	agent_share_close(&x->s);
	close(x->j.procfd);
	close(x->to);
}

struct waited {
	int rc;
	struct dump_answer answer;
	struct snapshot got;
	ssize_t len;
	struct err err;
};

/* Has a dump answered, and waits. */
static struct waited wait_for(size_t len, const char *trailer, int64_t ahead, int pidfd)
{
	struct exchange x = begin((struct dump){.fd = -1, .since = 1});
	struct waited w = {0};

	x.d.clock_ahead = ahead;
	answer(&x.s, &x.d, &whole, len, trailer);
	w.rc = dump_wait(&x.d, pidfd, 20, x.to, &w.answer, &w.err);
	w.len = pread(x.to, &w.got, sizeof(w.got), 0);
	finish(&x);
	return w;
}

static void waits_in_vain(size_t len, const char *trailer, const char *want, const char *check)
{
	int pidfd;
	pid_t pid = sleeper(&pidfd);
	struct waited w = wait_for(len, trailer, 0, pidfd);

	is_int(w.rc, -1, "%s", check);
	is_str(w.err.msg, want, "the error says so");
	is_int(w.err.code, 0, "it has no code of the system's");
	is_int(w.len, 0, "nothing is copied");
	actor_end(pid);
	close(pidfd);
}

#define TRAILER(seq, status, bytes)                                                                \
	"#dfg1 end seq=" seq " status=" status " entries=3 skipped=2 bytes=" bytes " us=9 cpu=8\n"

static char *trailer_of(unsigned status, size_t bytes)
{
	return xasprintf("#dfg1 end seq=1 status=%u entries=3 skipped=2 bytes=%zu us=9 cpu=8\n",
			 status, bytes);
}

/* Case 64: an answer to another request, or to none. */
static void test_answer(void)
{
	CLEANUP(free) char *trailer = trailer_of(5, sizeof(whole));
	CLEANUP(free) char *longer = trailer_of(0, sizeof(whole) + 200);
	int pidfd;
	pid_t pid = sleeper(&pidfd);
	struct waited w = wait_for(sizeof(whole), trailer, 4000, pidfd);

	if (!ok(w.rc == 0, "a whole answer is accepted"))
		printf("# %s\n", w.err.msg);
	is_int(w.len, sizeof(whole), "its records are copied, without the trailer");
	is_int((int64_t)w.got.head.time, 1000, "its beginning is by the host's clock");
	is_int((int64_t)w.got.end.time, 3000, "its end is by the host's clock");
	is_int(w.answer.seq, 1, "the answer has the number of the request");
	is_int(w.answer.status, DFG_DUMP_PARTLY, "the answer has the agent's status");
	is_int(w.answer.cpu_us, 8, "the answer has its cost");

	waits_in_vain(sizeof(whole), "", "the agent did not answer within 20 ms",
		      "an answer without trailer is waited for");
	waits_in_vain(sizeof(whole), TRAILER("2", "0", "16"),
		      "the agent did not answer within 20 ms",
		      "the answer to another request is waited for");
	waits_in_vain(sizeof(whole), TRAILER("1", "0", "16"), "what the agent wrote is no snapshot",
		      "half a snapshot is refused");
	waits_in_vain(sizeof(whole), longer, "what the agent wrote is no snapshot",
		      "a snapshot that is longer than its file is refused");
	waits_in_vain(0, TRAILER("1", "0", "0"), "what the agent wrote is no snapshot",
		      "no snapshot is refused");
	waits_in_vain(0, TRAILER("1", "3", "0"), "the JVM's container has no memory left",
		      "a failed dump fails with the agent's reason");
	actor_end(pid);
	w = wait_for(sizeof(whole), "", 0, pidfd);
	is_int(w.rc, -1, "the end of the JVM ends the wait");
	is_int(w.err.code, ESRCH, "the error is that the process is gone");
	is_str(w.err.msg, "the JVM ended before it answered: No such process", "it says so");
	w = wait_for(sizeof(whole), trailer, 0, pidfd);
	is_int(w.rc, 0, "what a JVM answered before its end is accepted");
	close(pidfd);
}

/* Waits for an agent that closes the file without a trailer: once before it does so with one, or
 * again and again. */
static int wait_while_closed(struct exchange *x, const char *trailer, struct dump_answer *ret)
{
	pid_t agent = fork();
	int pidfd, rc;

	if (agent == 0) {
		do {
			answer(&x->s, &x->d, &whole, sizeof(whole), "");
			usleep(1000);
		} while (!trailer);
		answer(&x->s, &x->d, &whole, sizeof(whole), trailer);
		for (;;)
			pause();
	}
	pidfd = (int)syscall(SYS_pidfd_open, agent, 0);
	rc = dump_wait(&x->d, pidfd, 60000, x->to, ret, &err);
	actor_end(agent);
	close(pidfd);
	return rc;
}

/* Each close has the host read the whole file: it ends that. */
static void test_closes(void)
{
	CLEANUP(free) char *trailer = trailer_of(0, sizeof(whole));
	struct exchange x = begin((struct dump){.fd = -1});
	struct dump_answer a = {0};

	is_int(wait_while_closed(&x, trailer, &a), 0, "an answer in two steps is accepted");
	is_int(a.entries, 3, "with its trailer");
	is_int(lseek(x.to, 0, SEEK_END), sizeof(whole), "its records are written once");
	finish(&x);
	x = begin((struct dump){.fd = -1});
	is_int(wait_while_closed(&x, NULL, &a), -1, "a file closed all the time fails");
	is_str(err.msg, "the agent's file was closed again and again", "the error says so");
	finish(&x);
}

/* A map is text: its lines are not looked at here. */
static void test_map(void)
{
	static const struct {
		const char *text, *end;
		const char *want; /* message, NULL: accepted */
		const char *check;
	} rows[] = {
		{"7f00 10 a.b\n", TRAILER("1", "0", "12"), NULL, "a whole map is accepted"},
		{"7f00 10 a.b\n", TRAILER("1", "0", "13"), NULL,
		 "the length of a map is the agent's word, within its file"},
		{"7f00 10 a.b\n", TRAILER("1", "0", "500"), "what the agent wrote is no map",
		 "a map that is longer than its file is refused"},
		{"", TRAILER("1", "0", "0"), "what the agent wrote is no map",
		 "an empty map is refused"},
		{"7f00 10 a.b\n", TRAILER("1", "2", "12"), "the share is full",
		 "a map that was cut is refused"},
	};
	int pidfd;
	pid_t pid = sleeper(&pidfd);

	put("web/out/perf-4711.map", "an earlier one");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct exchange x = begin((struct dump){.fd = -1, .is_map = true});
		struct dump_answer a;
		struct err why = {0};
		int rc;

		is_str(x.d.name, "perf-4711.map",
		       "a map's file, in place of an earlier one, is named as perf expects");
		answer(&x.s, &x.d, rows[i].text, strlen(rows[i].text), rows[i].end);
		rc = dump_wait(&x.d, pidfd, 20, x.to, &a, &why);
		is_int(rc, rows[i].want ? -1 : 0, "%s", rows[i].check);
		is_str(rc ? why.msg : NULL, rows[i].want, "the message, if any, says why");
		is_int(lseek(x.to, 0, SEEK_END), rows[i].want ? 0 : (int64_t)a.bytes,
		       "an accepted map is copied without the trailer");
		finish(&x);
	}
	actor_end(pid);
	close(pidfd);
}

/* ---- other parts ---- */

static void test_signal(void)
{
	static const struct {
		const char *text;
		int want;
		const char *check;
	} rows[] = {
		{"dfg1 agent signal=40 tid=9\n", 40, "the signal that the agent published is read"},
		{"dfg1 agent signal=1 tid=9\n", 1, "the least signal is 1"},
		{"dfg1 agent signal=64 tid=9\n", 64, "the largest signal is 64"},
		{"dfg1 agent signal=65 tid=9\n", 0, "65 is no signal"},
		{"dfg1 agent signal=0 tid=9\n", 0, "0 is no signal"},
		{"dfg1 agent signal=-1 tid=9\n", 0, "a negative number is no signal"},
		{"dfg2 agent signal=40 tid=9\n", 0, "a line of another version has no signal"},
		{"dfg1 agent signal=\n", 0, "a line without a number has no signal"},
		{"", 0, "an empty file has no signal"},
	};
	struct agent_share s;

	open_share(&s, "a share with an agent is opened");
	is_int(agent_share_signal(&s, 7), 0, "without the agent's file there is no signal");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		put("web/out/agent.7", rows[i].text);
		is_int(agent_share_signal(&s, 7), rows[i].want, "%s", rows[i].check);
	}
	put("web/out/real", "dfg1 agent signal=40 tid=9\n");
	unlink(path_of("web/out/agent.7"));
	if (symlink("real", path_of("web/out/agent.7")) < 0)
		abort();
	is_int(agent_share_signal(&s, 7), 0, "a link in place of the agent's file is not followed");
	agent_share_close(&s);
}

static bool write_map(const char *path, const char *text)
{
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* True in a mount namespace of our own, in which file systems can be mounted. */
static bool enter_namespace(void)
{
	CLEANUP(free) char *uids = xasprintf("0 %u 1", (unsigned)geteuid());
	CLEANUP(free) char *gids = xasprintf("0 %u 1", (unsigned)getegid());

	if (geteuid() == 0)
		return unshare(CLONE_NEWNS) == 0 &&
		       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
	       write_map("/proc/self/setgroups", "deny") && write_map("/proc/self/uid_map", uids) &&
	       write_map("/proc/self/gid_map", gids);
}

static bool make_share(void)
{
	if (!mkdtemp(top))
		abort();
	mkdir(path_of(""), 0700);
	mkdir(path_of("web"), 0700);
	mkdir(path_of("web/out"), 0700);
	mkdir(path_of("web/ctl"), 0700);
	return mount("share", path_of("web/out"), "tmpfs", 0, "size=64m") == 0;
}

int main(void)
{
	if (!enter_namespace() || !make_share()) {
		ok(true, "a share is opened # SKIP mounting is not permitted here");
		return tap_done();
	}
	/* The JVM's user is our own where no other is known: in a user namespace of one. */
	if (chown(top, 12345, 12345) == 0 && chown(top, 0, 0) == 0)
		owner = 12345;
	close(STDIN_FILENO); /* so that 0 is a descriptor as any other */
	test_refused();
	test_lock();
	test_numbers();
	test_sweep();
	test_create();
	test_request();
	test_full();
	test_answer();
	test_closes();
	test_map();
	test_signal();
	umount2(path_of("web/out"), MNT_DETACH);
	fs_remove_tree(AT_FDCWD, top);
	return tap_done();
}
