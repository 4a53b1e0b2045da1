/* SPDX-License-Identifier: Apache-2.0 */
/* dfg-hook as a program in a box (hookbox.h): its filter kills, its payload is a directory, its
 * messages to the log are read back. */
#ifndef DFG_LIB_HOOKPROGRAM_H
#define DFG_LIB_HOOKPROGRAM_H

#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "common/child.h"
#include "dfg/paths.h"
#include "lib/hookbox.h"

#define ROOT  "/tmp/root"
#define HOOK  "/tmp/bin/dfg-hook "
#define GIVEN HOOK "--root " ROOT " --payload /tmp/pay "
#define CONF  "/tmp/bin/dfg.conf"
/* Is enough for a busy machine: the time budget is tested by itself. */
#define PATIENT "budget_ms = 30000\n"

static int program_log = -1; /* a socket at /dev/log */

/* dfg.conf, with patience. */
static inline void program_conf(const char *text)
{
	CLEANUP(free) char *all = xasprintf("%s" PATIENT, text);

	box_write(CONF, 0644, all);
}

/* Runs a shell's command; its exit status. Standard error is appended to the output. */
static inline int program_sh(struct str *out, const char *command)
{
	CLEANUP(free) char *all = xasprintf("exec 2>&1; %s", command);
	char *argv[] = {(char *)"sh", (char *)"-c", all, NULL};
	struct err err = {0};
	int rc;

	str_fini(out);
	*out = (struct str){0};
	rc = child_capture(argv, NULL, -1, 20000, 1 << 20, out, &err);
	if (rc < 0)
		printf("# %s\n", err.msg);
	str_add(out, "", 0);
	return rc;
}

static inline const char *program_text(const struct str *s)
{
	return s->buf ? s->buf : "";
}

/* The next message of the hook to the log, or "". */
static inline const char *program_logged(void)
{
	static char line[2048];
	ssize_t n = recv(program_log, line, sizeof(line) - 1, MSG_DONTWAIT);

	line[n > 0 ? n : 0] = '\0';
	return line;
}

static inline void program_state(pid_t pid, const char *status)
{
	CLEANUP(free)
	char *text = xasprintf("{\"ociVersion\":\"1\",\"id\":\"web\",\"status\":\"%s\",\"pid\":%d,"
			       "\"bundle\":\"/tmp/b\"}",
			       status, (int)pid);

	box_write("/tmp/state", 0600, text);
}

static inline void program_end(void)
{
	struct str out = {0};

	program_state(0, "stopped");
	if (program_sh(&out, GIVEN "</tmp/state") != 0)
		printf("# %s\n", program_text(&out));
	str_fini(&out);
	(void)program_logged();
}

/* Puts all in place; false, with a skip, where that cannot be. */
static inline bool program_prepare(void)
{
	const struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};

	box_must(mkdir("/tmp/bin", 0755) == 0 && mkdir("/tmp/b", 0755) == 0 &&
			 mkdir("/tmp/pay", 0755) == 0 && mkdir("/tmp/bad", 0777) == 0 &&
			 chmod("/tmp/bad", 0777) == 0,
		 "folders");
	if (!box_copy("tools/dfg-hook", "/tmp/bin/dfg-hook")) {
		ok(true, "dfg-hook works # SKIP it is not built");
		return false;
	}
	box_write("/tmp/b/config.json", 0644, "{\"root\":{\"path\":\"" BOX_FS "\"}}");
	box_write("/tmp/pay/" DFG_AGENT_NAME, 0644, "agent");
	box_write("/tmp/pay/" DFG_INJECT_NAME, 0755, "inject");
	program_log = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (mount("dev", "/dev", "tmpfs", 0, "mode=755") < 0 ||
	    mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)) < 0 ||
	    mknod("/dev/zero", S_IFCHR | 0666, makedev(1, 5)) < 0 ||
	    mknod("/dev/full", S_IFCHR | 0666, makedev(1, 7)) < 0 ||
	    bind(program_log, (const struct sockaddr *)&to, sizeof(to)) < 0) {
		ok(true, "dfg-hook works # SKIP devices cannot be made");
		return false;
	}
	program_conf("");
	return true;
}

#endif
