// SPDX-License-Identifier: Apache-2.0
/* Opens a picture on the screen of the user: dfg-trigger --open. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/options.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/outdir.h"
#include "common/str.h"

#define OPEN_MS 2000
#define STEP_MS 50

/* Becomes the user who called sudo, for good: a browser of root's would be one of the user's pages.
 */
static int become_caller(struct err *err)
{
	struct passwd *user;
	uint32_t uid, gid;

	if (geteuid() != 0)
		return 0;
	if (!outdir_caller(&uid, &gid))
		return err_set(err, 0, "root has no screen: call dfg-trigger by sudo");
	user = getpwuid(uid);
	if (!user)
		return err_set(err, 0, "user %u is not known", uid);
	if (initgroups(user->pw_name, gid) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return err_set(err, errno, "become user %u", uid);
	setenv("HOME", user->pw_dir, 1);
	setenv("USER", user->pw_name, 1);
	setenv("LOGNAME", user->pw_name, 1);
	return 0;
}

/* sudo drops the variable of Wayland's socket, but not always that of X. */
static bool has_display(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return (x && *x) || (wayland && *wayland);
}

NORETURN static void start(char *path)
{
	char program[] = "xdg-open", *argv[] = {program, path, NULL};
	int null = open("/dev/null", O_RDWR);

	setsid();
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	close_range(3, ~0u, 0);
	execvp(program, argv);
	_exit(127);
}

/* Waits a while for a failure: xdg-open may run as long as the browser that it starts, and is left
 * alone then. */
static int run(void *arg, void *reply, struct err *err)
{
	int status = 0;
	pid_t pid;

	(void)reply;
	if (become_caller(err) < 0)
		return -1;
	pid = fork();
	if (pid < 0)
		return err_set(err, errno, "start xdg-open");
	if (pid == 0)
		start(arg);
	for (unsigned ms = 0; ms < OPEN_MS; ms += STEP_MS) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
		sleep_ms(STEP_MS);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return err_set(err, 0, "xdg-open is not installed; open it yourself");
	return status == 0 ? 0 : err_set(err, 0, "xdg-open failed; open it yourself");
}

int open_picture(const char *path, struct err *err)
{
	char reply = 0;

	if (*path != '/')
		return err_set(err, 0, "--open: %s is no absolute path", path);
	if (!has_display())
		return err_set(err, 0,
			       "--open: there is no display (DISPLAY, WAYLAND_DISPLAY); "
			       "open %s yourself",
			       path);
	if (child_call(run, (void *)(uintptr_t)path, &reply, sizeof(reply), 5 * OPEN_MS, err) < 0)
		return err_wrap(err, "--open %s", path);
	return 0;
}
