// SPDX-License-Identifier: Apache-2.0
/* A child of each role is put into its jail and then plays a parser that has been taken over
 * (case 91): it tries what would harm others. */
#include "common/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/confine.h"
#include "common/parallel.h"
#include "lib/scratch.h"
#include "lib/tap.h"

#define FILE_BYTES 4096
#define MS	   60000

static const char *const role_names[JAIL_ROLES] = {
	[JAIL_DRAW] = "drawing",	  [JAIL_SPLIT] = "splitting",
	[JAIL_ELF] = "reading ELF",	  [JAIL_DISCOVER] = "discovering",
	[JAIL_TABLES] = "building tables", [JAIL_MEMORY] = "reading memory",
};

static struct err err;

/* Known to the played parser. */
static struct {
	struct jail jail;
	int kept;     /* a file it may write */
	int foreign;  /* a file of another container */
	pid_t victim; /* another process of the same user */
	pid_t parent;
	bool as_root;
	int terminal; /* of the one who started it */
} world;

static char secret = 's';

static bool has_sanitizer(void)
{
#ifdef __SANITIZE_ADDRESS__
	return true;
#elif defined(__has_feature)
	return __has_feature(address_sanitizer);
#else
	return false;
#endif
}

/* ---- attacks: each is true where it has worked --------------------------------------------- */

static bool signals_a_process(void)
{
	const pid_t others[] = {world.victim, world.parent, 1};
	bool worked = false;

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		siginfo_t info = {.si_signo = SIGTERM, .si_code = SI_QUEUE};
		pid_t pid = others[i];
		int sig = pid == world.victim ? SIGKILL : 0;

		worked |= kill(pid, sig) == 0 || tgkill(pid, pid, sig) == 0;
		worked |= syscall(SYS_tkill, pid, sig) == 0;
		worked |= syscall(SYS_rt_sigqueueinfo, pid, sig, &info) == 0;
		worked |= syscall(SYS_rt_tgsigqueueinfo, pid, pid, sig, &info) == 0;
	}
	/* A thread of its own is no way round: the group must be its own. */
	return worked || tgkill(world.victim, gettid(), 0) == 0 || tgkill(-1, gettid(), 0) == 0;
}

/* The kernel would signal the owner of a descriptor. */
static bool sets_an_owner(void)
{
	struct f_owner_ex owner = {F_OWNER_PID, world.victim};

	return fcntl(world.kept, F_SETOWN, world.victim) == 0 ||
	       fcntl(world.kept, F_SETOWN_EX, &owner) == 0 ||
	       fcntl(world.kept, F_SETSIG, SIGKILL) == 0 ||
	       fcntl(world.kept, F_SETFL, O_ASYNC) == 0 ||
	       fcntl(world.kept, F_SETLEASE, F_WRLCK) == 0;
}

static bool opens_a_file(void)
{
	static const char *const paths[] = {"/etc/passwd", "/proc/self/status", "/",
					    ".",	   "/dev/tty",		"/proc/self/fd/0"};
	bool worked = false;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		worked |= open(paths[i], O_RDONLY) >= 0 || open(paths[i], O_PATH) >= 0 ||
			  openat(world.kept, paths[i], O_RDONLY) >= 0 ||
			  access(paths[i], F_OK) == 0 || truncate(paths[i], 0) == 0;
	return worked || open("new", O_CREAT | O_WRONLY, 0600) >= 0 || unlink("new") == 0 ||
	       syscall(SYS_memfd_create, "new", 0) >= 0 ||
	       syscall(SYS_openat2, AT_FDCWD, "/", &(uint64_t[3]){0}, 24) >= 0 ||
	       syscall(SYS_open_tree, AT_FDCWD, "/", 0) >= 0;
}

/* With an empty path, newfstatat is fstat; with another, only the empty root refuses. */
static bool looks_at_a_file(void)
{
	static const char *const paths[] = {"/etc/shadow", "/etc", "/proc", "/proc/1", "..", "/.."};
	struct statx x;
	struct stat st;
	bool worked = false;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		worked |= stat(paths[i], &st) == 0 || lstat(paths[i], &st) == 0 ||
			  statx(AT_FDCWD, paths[i], 0, STATX_ALL, &x) == 0;
	for (size_t i = 0; i < ARRAY_LEN(paths) && world.as_root; i++)
		worked |= fstatat(AT_FDCWD, paths[i], &st, AT_EMPTY_PATH) == 0 ||
			  fstatat(world.kept, paths[i], &st, AT_EMPTY_PATH) == 0;
	return worked;
}

static bool has_another_descriptor(void)
{
	struct stat st;

	for (int fd = 3; fd < 1024; fd++) {
		bool kept = fd == child_reply_fd();

		for (size_t i = 0; i < world.jail.keep_count; i++)
			kept |= fd == world.jail.keep[i];
		if (!kept && fstat(fd, &st) == 0)
			return true;
	}
	return fstat(world.foreign, &st) == 0 || fcntl(world.kept, F_DUPFD, 0) >= 0;
}

/* Its parent's were a terminal. What is written must not come there: see test_terminal. */
static bool has_a_terminal(void)
{
	struct stat st;

	for (int fd = 0; fd < (has_sanitizer() ? 2 : 3); fd++) { /* one reports on stderr */
		(void)!write(fd, "\033]0;taken\a", 10);
		if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
			return true;
	}
	return isatty(0) || syscall(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, "x") == 0;
}

static bool opens_a_socket(void)
{
	static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_VSOCK, AF_PACKET};
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0dfg"};
	bool worked = false;
	int pair[2];

	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		worked |= socket(families[i], SOCK_STREAM, 0) >= 0 ||
			  socket(families[i], SOCK_DGRAM, 0) >= 0;
	return worked || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 ||
	       connect(world.kept, (struct sockaddr *)&name, sizeof(name)) == 0 ||
	       bind(world.kept, (struct sockaddr *)&name, sizeof(name)) == 0;
}

static bool reads_another_process(void)
{
	const pid_t others[] = {world.victim, world.parent, 1};
	bool worked = false;

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		struct iovec to = {&(char){0}, 1}, from = {&secret, 1};
		pid_t pid = others[i];

		worked |= pid != world.jail.of && process_vm_readv(pid, &to, 1, &from, 1, 0) > 0;
		worked |= process_vm_writev(pid, &from, 1, &from, 1, 0) > 0;
		worked |= ptrace(PTRACE_SEIZE, pid, 0, 0) == 0;
		worked |= syscall(SYS_pidfd_open, pid, 0) >= 0;
		worked |= syscall(SYS_kcmp, pid, pid, 0, 0, 0) >= 0;
	}
	return worked || ptrace(PTRACE_TRACEME, 0, 0, 0) == 0;
}

static bool maps_code(void)
{
	static _Alignas(4096) char page[4096];
	int rwx = PROT_READ | PROT_WRITE | PROT_EXEC;

	return mmap(NULL, 4096, rwx, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED ||
	       mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, world.kept, 0) != MAP_FAILED ||
	       mprotect(page, sizeof(page), PROT_EXEC) == 0 ||
	       mprotect(page, sizeof(page), PROT_READ | PROT_EXEC) == 0 ||
	       syscall(SYS_pkey_mprotect, page, sizeof(page), rwx, -1) == 0 ||
	       syscall(SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */) >= 0;
}

static bool fills_a_file(void)
{
	static char bytes[FILE_BYTES + 1];
	struct stat st;

	(void)!pwrite(world.kept, bytes, sizeof(bytes), 0);
	(void)!pwrite(world.kept, bytes, 1, FILE_BYTES);
	(void)!pwrite(world.kept, bytes, 1, 1 << 30);
	(void)!ftruncate(world.kept, FILE_BYTES + 1);
	(void)!fallocate(world.kept, 0, 0, 1 << 20);
	return fstat(world.kept, &st) < 0 || st.st_size > FILE_BYTES;
}

static bool makes_a_process(void)
{
	uint64_t args[11] = {[4] = SIGCHLD};

	return syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) >= 0 ||
	       syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL) >= 0 ||
	       syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL) >= 0 ||
	       syscall(SYS_clone3, args, sizeof(args)) >= 0 || fork() >= 0;
}

static bool runs_a_program(void)
{
	execl("/bin/true", "true", (char *)NULL);
	execl("/proc/self/exe", "true", (char *)NULL);
	return syscall(SYS_execveat, world.kept, "", NULL, NULL, AT_EMPTY_PATH) == 0;
}

static bool shares_memory(void)
{
	return shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) >= 0 ||
	       syscall(SYS_msgget, IPC_PRIVATE, IPC_CREAT | 0600) >= 0 ||
	       syscall(SYS_semget, IPC_PRIVATE, 1, IPC_CREAT | 0600) >= 0 ||
	       syscall(SYS_mq_open, "dfg", O_CREAT | O_RDWR, 0600, NULL) >= 0 ||
	       syscall(SYS_add_key, "user", "dfg", "x", 1, -3) >= 0 ||
	       syscall(SYS_keyctl, 0, -3, 1) >= 0;
}

static bool raises_a_limit(void)
{
	struct rlimit r = {RLIM_INFINITY, RLIM_INFINITY};

	return setrlimit(RLIMIT_FSIZE, &r) == 0 || prlimit(0, RLIMIT_CPU, &r, NULL) == 0 ||
	       prlimit(world.victim, RLIMIT_CPU, &(struct rlimit){0, 0}, NULL) == 0 ||
	       setpriority(PRIO_PROCESS, 0, -1) == 0 ||
	       sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}) == 0 ||
	       prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 || prctl(PR_SET_PDEATHSIG, 0) == 0;
}

static bool becomes_another(void)
{
	return setuid(0) == 0 || setresuid(0, 0, 0) == 0 || setgid(0) == 0 ||
	       unshare(CLONE_NEWUSER) == 0 || unshare(CLONE_FS) == 0 || chroot("/") == 0 ||
	       chdir("/") == 0 || fchdir(world.kept) == 0 || umount2("/", MNT_DETACH) == 0 ||
	       mount("none", "/", "tmpfs", 0, NULL) == 0 || setns(world.kept, 0) == 0;
}

static bool asks_the_kernel(void)
{
	char buf[256] = {0};

	return syscall(SYS_bpf, 0, buf, sizeof(buf)) >= 0 ||
	       syscall(SYS_perf_event_open, buf, 0, -1, -1, 0) >= 0 ||
	       syscall(SYS_io_uring_setup, 1, buf) >= 0 || syscall(SYS_userfaultfd, 0) >= 0 ||
	       syscall(SYS_ioctl, world.kept, 0, 0) >= 0 || syscall(SYS_epoll_create1, 0) >= 0 ||
	       syscall(SYS_inotify_init1, 0) >= 0;
}

static const struct {
	const char *what; /* it must not do */
	bool (*works)(void);
} attacks[] = {
	{"signals no other process", signals_a_process},
	{"has the kernel signal none", sets_an_owner},
	{"opens and changes no file", opens_a_file},
	{"sees no file", looks_at_a_file},
	{"has no descriptor that is not its own", has_another_descriptor},
	{"has no terminal", has_a_terminal},
	{"opens no socket", opens_a_socket},
	{"reads no other process", reads_another_process},
	{"maps no memory as code", maps_code},
	{"writes no file beyond its limit", fills_a_file},
	{"makes no process", makes_a_process},
	{"runs no program", runs_a_program},
	{"has neither IPC nor keys", shares_memory},
	{"keeps its limits and its parent", raises_a_limit},
	{"becomes no other user and moves nowhere", becomes_another},
	{"reaches no other part of the kernel", asks_the_kernel},
};

/* ---- the played parser ---------------------------------------------------------------------- */

/* Another process of the same user: without root that is any, with root one that is made so. */
static int be_victim(void *arg)
{
	const int *ready = arg;
	uid_t uid = 2100000000u + (uid_t)getppid();

	if ((world.as_root && confine_ids(uid, uid, NULL) < 0) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || write(*ready, "", 1) != 1)
		return 1;
	pause();
	return 0;
}

static int start_victim(struct child *victim)
{
	int ready[2];
	char c;

	if (pipe(ready) < 0 || child_fork(be_victim, &ready[1], victim, &err) < 0 ||
	    read(ready[0], &c, 1) != 1)
		return -1;
	world.victim = victim->pid;
	return 0;
}

static int attack(void *arg, void *reply, struct err *e)
{
	bool *worked = reply;
	struct child victim;

	(void)arg;
	/* The victim of this child, so that it has its user. */
	if (start_victim(&victim) < 0)
		return err_set(e, errno, "victim");
	for (int fd = 0; fd < 3; fd++)
		dup2(world.terminal, fd);
	if (jail_enter(&world.jail, e) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(attacks); i++)
		worked[i] = attacks[i].works();
	return 0;
}

static void test_attacks(enum jail_role role)
{
	bool worked[ARRAY_LEN(attacks)];

	world.jail.role = role;
	world.jail.of = role == JAIL_MEMORY ? getpid() : 0;
	memset(worked, true, sizeof(worked));
	if (!is_int(child_call(attack, NULL, worked, sizeof(worked), MS, &err), 0,
		    "%s: a jailed child lives and replies", role_names[role]))
		printf("# %s\n", err.msg);
	for (size_t i = 0; i < ARRAY_LEN(attacks); i++)
		ok(!worked[i], "%s (case 91): it %s", role_names[role], attacks[i].what);
}

/* ---- what is allowed ------------------------------------------------------------------------ */

static pid_t thread_ids[3];

static void note_thread(void *arg, size_t i)
{
	(void)arg;
	thread_ids[i] = gettid();
}

/* Steps are numbered: the reply of a child tells the first one that went wrong. */
#define STEP(n, cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			return (n);                                                                \
	} while (0)

static int use_rights(void)
{
	bool draws = world.jail.role == JAIL_DRAW;
	struct iovec to = {&(char){0}, 1}, from = {&secret, 1};
	struct stat st;
	char *p;

	STEP(1, ftruncate(world.kept, 0) == 0 && pwrite(world.kept, "xyz", 3, 0) == 3 &&
			pread(world.kept, &st, 1, 2) == 1);
	STEP(2, fstat(world.kept, &st) == 0 && st.st_size == 3);
	STEP(3, fcntl(world.kept, F_GETFL) >= 0 && fcntl(world.kept, F_GETFD) >= 0);
	p = malloc(1 << 20);
	STEP(4, p);
	memset(p, 1, 1 << 20);
	free(p);
	STEP(5, tgkill(getpid(), gettid(), 0) == 0);
	parallel_run(3, note_thread, NULL);
	STEP(6, thread_ids[0] == getpid());
	for (size_t i = 1; i < 3; i++)
		STEP(7, draws == (thread_ids[i] > 0 && thread_ids[i] != thread_ids[0]));
	STEP(8, !draws || (thread_ids[1] != thread_ids[2] && parallel_cpus() > 0));
	STEP(9, draws == (recv(world.kept, &st, 1, 0) < 0 && errno == ENOTSOCK));
	STEP(10, world.jail.role != JAIL_MEMORY ||
			 process_vm_readv(world.jail.of, &to, 1, &from, 1, 0) == 1 ||
			 !world.as_root);
	return 0;
}

static int in_jail(void *arg, void *reply, struct err *e)
{
	int (*const *fn)(void) = arg;

	if (jail_enter(&world.jail, e) < 0)
		return -1;
	*(int *)reply = (*fn)();
	return 0;
}

/* Returns what fn does in the jail; -1 and err. */
static int jailed(int (*fn)(void))
{
	int ret = -1;

	return child_call(in_jail, &fn, &ret, sizeof(ret), MS, &err) < 0 ? -1 : ret;
}

/* ---- limits --------------------------------------------------------------------------------- */

static int take_memory(void)
{
	void *volatile p = malloc(16u << 20); /* or the compiler takes an unused one away */

	STEP(1, p != NULL);
	p = malloc(300u << 20);
	STEP(2, p == NULL);
	return 0;
}

static int run_out_of_memory(void)
{
	(void)xmalloc(300u << 20);
	return 0;
}

static int take_time(void)
{
	for (volatile bool on = true; on;)
		;
	return 0;
}

static void test_limits(void)
{
	struct jail whole = world.jail;

	world.jail.role = JAIL_ELF;
	world.jail.cpu_seconds = 1;
	is_int(jailed(take_time), -1, "processor time is limited");
	ok(strstr(err.msg, "CPU time limit") || strstr(err.msg, "Killed"), "and says so (%s)",
	   err.msg);
	world.jail.cpu_seconds = 0;
	world.jail.memory = 256u << 20;
	if (!has_sanitizer()) { /* one takes terabytes of addresses itself */
		is_int(jailed(take_memory), 0, "memory is limited");
		is_int(jailed(run_out_of_memory), -1, "a child that needs more ends");
		is_str(err.msg, "stopped: Cannot allocate memory", "and its parent says why");
	}
	world.jail = whole;
}

/* ---- what the outside sees --------------------------------------------------------------------
 */

static struct {
	int ready[2], go[2];
} gate;

static int wait_in_jail(void *arg)
{
	char c;

	(void)arg;
	if (jail_enter(&world.jail, NULL) < 0 || write(gate.ready[1], "", 1) != 1)
		return 1;
	return read(gate.go[0], &c, 1) < 0;
}

static char *read_proc(pid_t pid, const char *name)
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/%s", (int)pid, name);
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct str s = {0};

	return fd >= 0 && fs_read_all(fd, 1 << 16, &s, NULL) == 0 && s.buf ? s.buf : xstrdup("");
}

/* True if a line of /proc/PID/limits has this for both limits. */
static bool has_limit(const char *limits, const char *name, const char *want)
{
	char soft[64] = "", hard[64] = "";
	const char *at = strstr(limits, name);

	return at && sscanf(at + strlen(name), "%63s %63s", soft, hard) == 2 &&
	       !strcmp(soft, want) && !strcmp(hard, want);
}

static bool has_own_namespace(pid_t pid, const char *name)
{
	CLEANUP(free) char *its = xasprintf("/proc/%d/ns/%s", (int)pid, name);
	CLEANUP(free) char *own = xasprintf("/proc/self/ns/%s", name);
	struct stat a, b;

	return stat(its, &a) == 0 && stat(own, &b) == 0 && a.st_ino != b.st_ino;
}

static void see_limits(pid_t pid, const char *name)
{
	CLEANUP(free) char *limits = read_proc(pid, "limits");
	CLEANUP(free) char *oom = read_proc(pid, "oom_score_adj");
	int last = gate.ready[1] > gate.go[0] ? gate.ready[1] : gate.go[0];
	CLEANUP(free) char *files = xasprintf("%d", last + 1);

	if (world.jail.role != JAIL_DRAW && world.jail.role != JAIL_TABLES)
		ok(has_limit(limits, "Max open files", files), "%s: it can open no more", name);
	is_str(oom, "1000\n", "%s: it is ended first when memory is out", name);
	ok(has_limit(limits, "Max cpu time", "5"), "%s: its processor time is limited", name);
	ok(has_limit(limits, "Max file size", "4096"), "%s: its files are limited", name);
	ok(has_limit(limits, "Max core file size", "0"), "%s: it leaves no core file", name);
	ok(has_sanitizer() || has_limit(limits, "Max address space", "1099511627776"),
	   "%s: its memory is limited", name);
}

static void see_identity(pid_t pid, const char *name, enum jail_role role)
{
	CLEANUP(free) char *status = read_proc(pid, "status");
	CLEANUP(free) char *limits = read_proc(pid, "limits");
	CLEANUP(free) char *uid = xasprintf("%u", 2100000000u + (unsigned)pid);
	CLEANUP(free) char *uids = xasprintf("\nUid:\t%s\t%s\t%s\t%s\n", uid, uid, uid, uid);
	CLEANUP(free) char *gids = xasprintf("\nGid:\t%s\t%s\t%s\t%s\n", uid, uid, uid, uid);
	CLEANUP(free) char *root = xasprintf("/proc/%d/root/etc", (int)pid);
	bool traces = role == JAIL_MEMORY;

	ok(strstr(status, uids) && strstr(status, gids), "%s: its user is its own", name);
	ok(strstr(status, "\nGroups:\t \n"), "%s: it is in no other group", name);
	ok(strstr(status,
		  traces ? "\nCapPrm:\t0000000000080000\n" : "\nCapPrm:\t0000000000000000\n"),
	   "%s: it has %s", name, traces ? "CAP_SYS_PTRACE only" : "no capability");
	ok(has_limit(limits, "Max processes", role == JAIL_DRAW ? "1024" : "1"),
	   "%s: its threads are limited", name);
	ok(has_own_namespace(pid, "mnt") && has_own_namespace(pid, "net") &&
		   has_own_namespace(pid, "ipc"),
	   "%s: it has no mounts, network and IPC of the host", name);
	ok(access(root, F_OK) < 0, "%s: its root is empty", name);
}

static void test_seen(enum jail_role role)
{
	const char *name = role_names[role];
	const int keep[] = {gate.ready[1], gate.go[0]};
	struct jail whole = world.jail;
	CLEANUP(free) char *status = NULL;
	struct child child;
	int ended;
	char c;

	world.jail = (struct jail){.role = role,
				   .of = getpid(),
				   .memory = 1ull << 40,
				   .file_bytes = FILE_BYTES,
				   .cpu_seconds = 5,
				   .keep = keep,
				   .keep_count = ARRAY_LEN(keep)};
	if (child_fork(wait_in_jail, NULL, &child, &err) < 0 || read(gate.ready[0], &c, 1) != 1)
		abort();
	status = read_proc(child.pid, "status");
	ok(strstr(status, "\nNoNewPrivs:\t1\n") && strstr(status, "\nSeccomp:\t2\n"),
	   "%s: its system calls are filtered", name);
	see_limits(child.pid, name);
	if (world.as_root)
		see_identity(child.pid, name, role);
	(void)!write(gate.go[1], "", 1);
	child_wait(&child, -1, &ended);
	is_int(ended, 0, "%s: it has waited in the jail", name);
	world.jail = whole;
}

static int leave_child(void *arg)
{
	struct child child;
	char c;

	(void)arg;
	return child_fork(wait_in_jail, NULL, &child, NULL) < 0 || read(gate.ready[0], &c, 1) != 1;
}

/* The pipe has its end when the jailed child, which has it open, is gone. */
static void test_parent(void)
{
	struct child parent;
	int end[2], keep[3], status = -1;
	struct pollfd p = {.events = POLLIN};

	if (pipe2(end, O_CLOEXEC) < 0)
		abort();
	keep[0] = gate.ready[1];
	keep[1] = gate.go[0];
	keep[2] = end[1];
	world.jail = (struct jail){.role = JAIL_ELF, .keep = keep, .keep_count = 3};
	if (child_fork(leave_child, NULL, &parent, &err) < 0)
		abort();
	close(end[1]);
	while (!child_wait(&parent, -1, &status))
		;
	is_int(status, 0, "a parent ends before its jailed child");
	p.fd = end[0];
	is_int(poll(&p, 1, MS), 1, "the child ends with it");
	close(end[0]);
}

/* ---- all ------------------------------------------------------------------------------------ */

/* The terminal of the one who started it; what its children write there is seen at the other end.
 */
static int open_terminal(int *ret_slave)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	char name[64];

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    ptsname_r(master, name, sizeof(name)) != 0)
		abort();
	*ret_slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return master;
}

int main(void)
{
	CLEANUP(free) char *kept = NULL;
	CLEANUP(free) char *foreign = NULL;
	int keep[2], master;
	char buf[64];

	scratch_make();
	kept = path_of("kept");
	foreign = path_of("foreign");
	put_text("kept", 0600, "");
	put_text("foreign", 0600, "of another container");
	world.kept = open(kept, O_RDWR | O_CLOEXEC);
	world.foreign = open(foreign, O_RDWR | O_CLOEXEC);
	world.parent = getpid();
	world.as_root = geteuid() == 0;
	master = open_terminal(&world.terminal);
	if (pipe2(gate.ready, O_CLOEXEC) < 0 || pipe2(gate.go, O_CLOEXEC) < 0)
		abort();
	keep[0] = world.kept;
	keep[1] = -1;
	world.jail = (struct jail){.file_bytes = FILE_BYTES, .keep = keep, .keep_count = 2};
	jail_prepare();
	for (enum jail_role role = 0; role < JAIL_ROLES; role++) {
		test_attacks(role);
		is_int(jailed(use_rights), 0, "%s: it can do its work", role_names[role]);
		test_seen(role);
	}
	is_int(read(master, buf, sizeof(buf)), -1, "nothing has come to the terminal (case 91)");
	test_limits();
	test_parent();
	scratch_remove();
	return tap_done();
}
