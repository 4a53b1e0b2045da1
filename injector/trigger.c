// SPDX-License-Identifier: Apache-2.0
#include "injector/trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "injector/socket.h"

#define OTHER_CLIENT_MS 1000
#define AGAIN_MS	1000

struct trigger_file {
	int dirfd; /* borrowed; -1: no file was made */
	char name[32];
};

static void cleanup_remove_trigger(struct trigger_file *f)
{
	if (f->dirfd >= 0)
		unlinkat(f->dirfd, f->name, 0);
}

/* Waits until the JVM listens. ATTACH_OK with *ret_sock -1 when it does not by `deadline`. */
static enum attach_result wait_for_socket(const struct target *t, uint64_t deadline, int *ret_sock,
					  struct err *err)
{
	for (unsigned pause = 2;; pause = pause < 50 ? pause * 2 : 50) {
		enum attach_result result = exchange_connect(t, deadline, ret_sock, err);

		if (result != ATTACH_OK || *ret_sock >= 0)
			return result;
		if (!target_is_alive(t))
			return err_set(err, ESRCH, "the JVM ended meanwhile"), ATTACH_GONE;
		if (clock_ms() >= deadline)
			return ATTACH_OK;
		sleep_ms(pause);
	}
}

static int create(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static bool is_ours(const struct target *t, const char *name)
{
	struct stat st;

	return fstatat(t->tmpfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == t->st.euid;
}

/* Someone else's name is in the way in /tmp. The JVM looks into its working directory first (all
 * JDKs), but that may be a volume of the application, hence only now. */
static enum attach_result make_file_elsewhere(const struct target *t, struct trigger_file *f,
					      struct err *err)
{
	if (t->cwdfd >= 0 && create(t->cwdfd, f->name) == 0) {
		f->dirfd = t->cwdfd;
		return ATTACH_OK;
	}
	err_set(err, EEXIST, "/tmp/%s is in the way, and its working directory takes no file",
		f->name);
	return ATTACH_REFUSED;
}

/* *ret_sock is set instead when another client has made the JVM listen meanwhile. */
static enum attach_result make_file(const struct target *t, uint64_t deadline,
				    struct trigger_file *f, int *ret_sock, struct err *err)
{
	uint64_t until = clock_ms() + OTHER_CLIENT_MS;
	enum attach_result result;

	if (create(t->tmpfd, f->name) == 0) {
		f->dirfd = t->tmpfd;
		return ATTACH_OK;
	}
	if (errno != EEXIST) {
		err_set(err, errno, ATTACH_NO_TMP_TEXT);
		return ATTACH_NO_TMP;
	}
	if (!is_ours(t, f->name))
		return make_file_elsewhere(t, f, err);
	/* Another client is at it: one more SIGQUIT could find the JVM listening already, which
	 * then prints its threads. A file left behind by a dead client is taken over. */
	result = wait_for_socket(t, until < deadline ? until : deadline, ret_sock, err);
	if (result == ATTACH_OK && *ret_sock < 0)
		f->dirfd = t->tmpfd;
	return result;
}

/* One SIGQUIT; a second one only to a JVM that has just been started, since it can lose the first:
 * it catches the signal before it can start its listener, and removes sockets of its name once. */
static enum attach_result quit_and_wait(struct target *t, uint64_t deadline, int *ret_sock,
					struct err *err)
{
	uint64_t again = target_is_young(t) ? clock_ms() + AGAIN_MS : deadline;
	enum attach_result result;

	do {
		/* At the last moment: it may have been stopped, or be another program by now. */
		result = target_check(t, err);
		if (result == ATTACH_OK)
			result = target_signal(t, SIGQUIT, err);
		if (result == ATTACH_OK)
			result = wait_for_socket(t, again < deadline ? again : deadline, ret_sock,
						 err);
		if (result != ATTACH_OK || *ret_sock >= 0 || again >= deadline)
			return result;
		again = deadline;
	} while (clock_ms() < deadline);
	return ATTACH_OK;
}

enum attach_result trigger_connect(struct target *t, uint64_t deadline, int *ret_sock,
				   struct err *err)
{
	CLEANUP(remove_trigger) struct trigger_file f = {.dirfd = -1};
	enum attach_result result = exchange_connect(t, deadline, ret_sock, err);

	if (result != ATTACH_OK || *ret_sock >= 0)
		return result;
	if (t->attach_disabled) {
		err_set(err, 0, ATTACH_DISABLED_TEXT);
		return ATTACH_DISABLED;
	}
	snprintf(f.name, sizeof(f.name), ".attach_pid%d", (int)t->st.nspid);
	result = make_file(t, deadline, &f, ret_sock, err);
	if (result != ATTACH_OK || *ret_sock >= 0)
		return result;
	result = quit_and_wait(t, deadline, ret_sock, err);
	if (result != ATTACH_OK || *ret_sock >= 0)
		return result;
	err_set(err, ETIMEDOUT,
		"it does not open its socket (-XX:+DisableAttachMechanism, hung, or very busy)");
	return ATTACH_DISABLED;
}
