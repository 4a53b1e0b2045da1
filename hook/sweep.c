// SPDX-License-Identifier: Apache-2.0
#include "hook/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "common/fs.h"
#include "common/proc.h"
#include "dfg/paths.h"
#include "hook/payload.h"
#include "hook/share.h"
#include "oci/state.h"

bool hook_sweep_alive(const struct hook_past *past)
{
	CLEANUP(close_fd) int proc = -1;
	struct proc_status status;
	uint64_t start;
	struct err err;
	char boot[37];

	if (past->ended || past->pid <= 0 || proc_boot_id(boot, &err) < 0 ||
	    strcmp(boot, past->boot_id) != 0)
		return false;
	proc = proc_open(past->pid, &err);
	if (proc < 0 || proc_start_time(proc, &start, &err) < 0 || start != past->start_time)
		return false;
	return proc_read_status(proc, &status, &err) == 0 && status.state != 'Z';
}

/* With the container's lock held. */
static int sweep_locked(const struct hook_store *s, const char *id, int dir, struct err *err)
{
	struct hook_past past;

	hook_share_remove(dir);
	unlinkat(dir, DFG_GRAPHS_DIR, AT_REMOVEDIR); /* succeeds only when it is empty */
	if (faccessat(dir, DFG_GRAPHS_DIR, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		if (hook_record_read(dir, &past, err) < 0 || past.ended)
			return 0;
		return hook_record_end(dir, err);
	}
	return fs_remove_tree(s->containers, id) == 0 ? 0 : err_set(err, errno, "remove %s", id);
}

int hook_sweep_container(const struct hook_store *s, const char *id, struct err *err)
{
	CLEANUP(close_fd) int dir = hook_store_container(s, id, false, err);
	CLEANUP(close_fd) int lock = -1;

	if (dir < 0)
		return err->code == ENOENT ? 0 : -1;
	lock = hook_store_container_lock(dir, true, err);
	return lock < 0 ? -1 : sweep_locked(s, id, dir, err);
}

static void sweep_dead(const struct hook_store *s, const char *id, struct hook_sweep *ret)
{
	struct err err;
	CLEANUP(close_fd) int dir = hook_store_container(s, id, false, &err);
	CLEANUP(close_fd) int lock = -1;
	struct hook_past past;

	if (dir < 0)
		return;
	lock = hook_store_container_lock(dir, false, &err);
	if (lock < 0 || (hook_record_read(dir, &past, &err) == 0 && hook_sweep_alive(&past))) {
		ret->alive++;
		return;
	}
	if (sweep_locked(s, id, dir, &err) == 0)
		ret->swept++;
}

/* Calls fn for the id of each container's directory. */
static void each_container(const struct hook_store *s,
			   void (*fn)(const struct hook_store *, const char *, void *), void *arg)
{
	int fd = openat(s->containers, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	while (list && (e = readdir(list)))
		if (oci_id_valid(e->d_name))
			fn(s, e->d_name, arg);
	if (list)
		closedir(list);
	else
		cleanup_close_fd(&fd);
}

static void gc_one(const struct hook_store *s, const char *id, void *arg)
{
	sweep_dead(s, id, arg);
}

void hook_sweep_gc(const struct hook_store *s, struct hook_sweep *ret)
{
	*ret = (struct hook_sweep){0};
	each_container(s, gc_one, ret);
}

struct search {
	const char *key;
	bool found;
};

static void uses_payload(const struct hook_store *s, const char *id, void *arg)
{
	struct err err;
	CLEANUP(close_fd) int dir = hook_store_container(s, id, false, &err);
	struct search *search = arg;
	struct hook_past past;

	if (dir >= 0 && hook_record_read(dir, &past, &err) == 0 && !past.ended &&
	    !strcmp(past.payload, search->key))
		search->found = true;
}

static bool keep_payload(const char *key, void *arg)
{
	struct search search = {.key = key};

	each_container(arg, uses_payload, &search);
	return search.found;
}

int hook_sweep_release(struct hook_store *s, struct hook_sweep *ret, struct err *err)
{
	if (hook_store_lock(s, true, err) < 0)
		return -1;
	hook_sweep_gc(s, ret);
	hook_payload_release(s, keep_payload, s);
	if (ret->alive == 0)
		hook_store_unbind(s);
	return 0;
}
