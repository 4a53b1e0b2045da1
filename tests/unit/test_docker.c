// SPDX-License-Identifier: Apache-2.0
/* dfg's runtime in the configuration of a Docker daemon that runs. This program plays the daemon,
 * started anew under its name; a script plays docker(1). */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/fs.h"
#include "lib/scratch.h"
#include "lib/tap.h"
#include "setup/change.h"
#include "setup/engine.h"

#define PLAY	  "--play"
#define SIGNALLED 9 /* descriptor on which the daemon reports each SIGHUP */

static char program[64], file[64];
static struct setup setup = {.hook = "/l/dfg-hook",
			     .runtime = "/l/dfg-runtime",
			     .conf = "/etc/dfg/dfg.conf",
			     .program = program};
static struct err err;
static int reports[2];
static pid_t daemon_pid;

static char *get(const char *path)
{
	struct str s = {0};

	str_adds(&s, "");
	if (fs_read_file(setup.rootfd, path, 1 << 20, &s, &err) < 0)
		str_clear(&s);
	return s.buf;
}

/* Answers of docker(1): the default runtime, the containers' ids, and their runtimes and names. */
static void answer(const char *usual, const char *ids, const char *containers)
{
	CLEANUP(free)
	char *script =
		xasprintf("#!/bin/sh\necho \"$DOCKER_HOST $*\" >>%s/asked\ncase \"$*\" in\n"
			  "'ps -aq') printf '%s' ;;\n"
			  "'info --format {{.DefaultRuntime}}') printf '%s' ;;\n"
			  "'inspect -f {{.HostConfig.Runtime}} {{.Name}} 'id*) printf '%s' ;;\n"
			  "*) exit 1 ;;\nesac\n",
			  top, ids, usual, containers);

	put_text("docker", 0755, script);
	unlinkat(setup.rootfd, "asked", 0);
}

/* ---- the daemon ---- */

static void on_hangup(int sig)
{
	(void)sig;
	if (write(SIGNALLED, "h", 1) < 0)
		_exit(1);
}

static int play_daemon(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "dockerd");
	signal(SIGHUP, on_hangup);
	if (write(SIGNALLED, "r", 1) < 0)
		return 1;
	for (;;)
		pause();
}

static char reported(void)
{
	struct pollfd p = {.fd = reports[0], .events = POLLIN};
	char c = 0;

	return poll(&p, 1, 10000) > 0 && read(reports[0], &c, 1) == 1 ? c : '\0';
}

/* Starts it, with one more option or NULL, and waits until it is ready. */
static void start_daemon(const char *option)
{
	CLEANUP(free) char *path = xasprintf("/%s", file);

	if (pipe(reports) < 0)
		abort();
	daemon_pid = fork();
	if (daemon_pid == 0) {
		dup2(reports[1], SIGNALLED);
		execl("/proc/self/exe", "dockerd", PLAY, "--config-file", path, option,
		      option ? "x" : NULL, NULL);
		_exit(127);
	}
	close(reports[1]);
	if (reported() != 'r')
		abort();
}

static void stop_daemon(void)
{
	kill(daemon_pid, SIGKILL);
	waitpid(daemon_pid, NULL, 0);
	close(reports[0]);
}

/* ---- installing and removing ---- */

static struct str logged;

/* Plans and applies it, with the log in `logged`. */
static int change(bool install)
{
	const struct engine *e = engine_find("docker");
	CLEANUP(close_fd) int log = memfd_create("log", MFD_CLOEXEC);
	CLEANUP(close_fd) int saved = dup(STDERR_FILENO);
	struct changes c = {0};
	int rc;

	dup2(log, STDERR_FILENO);
	rc = e->plan(&setup, install, file, &c, &err);
	if (rc == 0)
		rc = e->apply(&setup, install, file, &c, &err);
	dup2(saved, STDERR_FILENO);
	changes_fini(&c);
	str_clear(&logged);
	str_adds(&logged, "");
	lseek(log, 0, SEEK_SET);
	if (fs_read_all(log, 1 << 20, &logged, NULL) < 0)
		abort();
	return rc;
}

static void check_file(const char *want, const char *name)
{
	CLEANUP(free) char *got = get(file);

	is_str(got, want, "%s", name);
}

static void check_logged(const char *want, const char *name)
{
	ok(strstr(logged.buf, want), "%s", name);
	if (!strstr(logged.buf, want))
		printf("#  got: %s\n", logged.buf);
}

#define OURS "\"runtimes\":{\"dfg\":{\"path\": \"/l/dfg-runtime\"}}"

static void test_no_daemon(void)
{
	CLEANUP(free)
	char *words =
		xasprintf("no running dockerd reads /%s; it takes effect at the next start", file);

	put_text(file, 0644, "{}");
	answer("dfg\\n", "id1\\n", "dfg /web\\n");
	is_int(change(true), 0, "without a daemon the runtime is added");
	check_logged(words, "it says that no daemon reads the file yet");
	is_int(change(false), 0, "without a daemon the runtime is removed");
	check_file("{}", "the file is as it was");
}

static void test_install(void)
{
	CLEANUP(free) char *words = NULL;
	CLEANUP(free) char *asked = NULL;

	put_text(file, 0644, "{}");
	answer("dfg\\n", "", "");
	start_daemon(NULL);
	words = xasprintf("dockerd (%d) has reloaded it: new containers are started by dfg",
			  (int)daemon_pid);
	setenv("DOCKER_HOST", "unix:///x", 1);
	is_int(change(true), 0, "the runtime is added to a daemon that runs");
	is_int(reported(), 'h', "the daemon is signalled");
	check_logged(words, "it is said to have reloaded");
	asked = get("asked");
	is_str(asked, "unix:///x info --format {{.DefaultRuntime}}\n",
	       "docker(1) is asked once, about the daemon of the caller");
	unsetenv("DOCKER_HOST");
}

static void test_remove(void)
{
	CLEANUP(free)
	char *words = xasprintf("dockerd (%d) has reloaded it: new containers are started by runc",
				(int)daemon_pid);
	CLEANUP(free) char *asked = NULL;

	answer("runc\\n", "id1\\nid2\\n",
	       "dfg /web\\nrunc /db\\ndfgx /no\\ndfg\\ndf /no\\ndfg /two\\n");
	is_int(change(false), -1, "a runtime that containers have is not removed");
	is_str(err.msg,
	       "new containers are without dfg, but these have the runtime \"dfg\" and could not "
	       "start again without it: web, two; recreate them and run remove again, or --force",
	       "the message names the containers");
	is_int(reported(), 'h', "the daemon is signalled");
	check_logged(words, "new containers are started by runc");
	check_file("{" OURS "}", "the name stays, but it is not the default");
	asked = get("asked");
	ok(strstr(asked, " inspect -f {{.HostConfig.Runtime}} {{.Name}} id1 id2\n"),
	   "all containers are asked about at once");
	answer("runc\\n", "id2\\n", "runc /db\\n");
	is_int(change(false), 0, "without such containers it is removed");
	check_file("{}", "the file is as it was");
	put_text(file, 0644, "{" OURS "}");
	answer("runc\\n", "id1\\n", "dfg /web\\n");
	setup.force = true;
	is_int(change(false), 0, "with --force the containers do not count");
	check_file("{}", "the name is removed");
	setup.force = false;
	put_text(file, 0644, "{" OURS "}");
	answer("runc\\n", "", "dfg /web\\n");
	is_int(change(false), 0, "without containers none is asked about");
	stop_daemon();
}

static void test_opt_in(void)
{
	put_text(file, 0644, "{}");
	answer("runc\\n", "", "");
	start_daemon(NULL);
	setup.opt_in = true;
	is_int(change(true), 0, "the runtime is added for containers that ask for it");
	setup.opt_in = false;
	is_int(reported(), 'h', "the daemon is signalled");
	is_str(logged.buf, "", "the default is not waited for");
	check_file("{" OURS "}", "it is not the default");
	stop_daemon();
}

static void check_flag(const char *flag)
{
	CLEANUP(free)
	char *want =
		xasprintf("/%s: dockerd is started with %s, and refuses a file that sets it, too: "
			  "remove it from the command line first",
			  file, flag);

	put_text(file, 0644, "{}");
	answer("dfg\\n", "", "");
	start_daemon(flag);
	is_int(change(true), -1, "a daemon with %s is refused", flag);
	is_str(err.msg, want, "the message says why");
	check_file("{}", "the file stays");
	is_int(change(false), 0, "removal does not mind");
	setup.force = true;
	is_int(change(true), 0, "with --force the flag does not count");
	setup.force = false;
	stop_daemon();
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], PLAY))
		return play_daemon();
	scratch_make();
	setup.rootfd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(program, sizeof(program), "%s/docker", top);
	snprintf(file, sizeof(file), "dfg-test-%d.json", (int)getpid());
	unsetenv("DOCKER_HOST");
	test_no_daemon();
	test_install();
	test_remove();
	test_opt_in();
	check_flag("--add-runtime");
	check_flag("--default-runtime");
	scratch_remove();
	str_fini(&logged);
	return tap_done();
}
