// SPDX-License-Identifier: Apache-2.0
#include "hook/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/capability.h>
#include <sys/stat.h>

#include "common/confine.h"
#include "common/fs.h"
#include "common/proc.h"
#include "hook/container.h"
#include "hook/payload.h"
#include "hook/store.h"

/* ---- privileges ---- */

/* Refuses a user namespace of the caller's own, which has no rights on the host's mounts. */
static enum hook_status check_rootless(struct err *err)
{
	CLEANUP(str_fini) struct str map = {0};

	if (fs_read_file(AT_FDCWD, "/proc/self/uid_map", 65536, &map, err) < 0)
		return HOOK_ERR_HOST;
	if (geteuid() != 0 || !map.buf || !idmap_is_full(map.buf)) {
		err_set(err, 0, "not root of the host");
		return HOOK_SKIP_ROOTLESS;
	}
	return HOOK_NONE;
}

/* The system calls of the worker and its child, and of libc for them. Excluded: exec, sockets,
 * tracing, changing ids, mounts by path, loading code into the kernel. */
static const char *const calls[] = {
	/* files */
	"access",
	"close",
	"copy_file_range",
	"faccessat",
	"faccessat2",
	"fchdir",
	"fchmod",
	"fcntl",
	"flock",
	"fstat",
	"fstatfs",
	"getdents64",
	"ioctl",
	"mkdirat",
	"newfstatat",
	"openat",
	"openat2",
	"read",
	"readlink",
	"readlinkat",
	"renameat",
	"statx",
	"unlinkat",
	"write",
	/* mounts, by descriptor */
	"fsconfig",
	"fsmount",
	"fsopen",
	"fspick",
	"mount_setattr",
	"move_mount",
	"open_tree",
	"setns",
	"umount2",
	/* privileges, only to give them up */
	"capget",
	"capset",
	"prctl",
	"seccomp",
	"setfsgid",
	"setfsuid",
	/* processes and memory */
	"brk",
	"clone",
	"exit_group",
	"futex",
	"geteuid",
	"getpid",
	"getppid",
	"gettid",
	"kill",
	"madvise",
	"mmap",
	"mprotect",
	"mremap",
	"munmap",
	"pidfd_open",
	"pipe2",
	"poll",
	"ppoll",
	"restart_syscall",
	"rt_sigaction",
	"rt_sigprocmask",
	"set_robust_list",
	"sigaltstack", /* of sanitizers */
	"tgkill",
	"wait4",
	/* time */
	"clock_gettime",
	"getrandom",
	"time",
};

static enum hook_status limit_privileges(struct err *err)
{
	/* SYS_ADMIN mounts; SYS_PTRACE opens /proc/PID/ns of an init that is not dumpable; the
	 * others are for the child in the container (container.c). */
	static const int caps[] = {CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_SYS_CHROOT,
				   CAP_SETUID,	  CAP_SETGID,	  CAP_DAC_READ_SEARCH};
	enum hook_status status = check_rootless(err);

	if (status == HOOK_NONE && (confine_caps(caps, ARRAY_LEN(caps), err) < 0 ||
				    confine_syscalls(calls, ARRAY_LEN(calls), err) < 0))
		return HOOK_ERR_PRIVILEGES;
	return status;
}

/* ---- one container ---- */

struct hook_run {
	const struct hook_job *job;
	struct oci_state state;
	struct oci_config config;
	struct hook_container container;
	struct hook_store store;
	int payload;
	int dir; /* containers/<id> */
	int lock;
	struct hook_state saved;
};

static void run_fini(struct hook_run *r)
{
	cleanup_close_fd(&r->lock);
	cleanup_close_fd(&r->dir);
	cleanup_close_fd(&r->payload);
	hook_store_close(&r->store);
	hook_container_close(&r->container);
	oci_config_fini(&r->config);
	oci_state_fini(&r->state);
}

static enum hook_status read_state(struct hook_run *r, struct err *err)
{
	const struct hook_job *job = r->job;
	enum oci_state_result result =
		oci_state_parse(job->input, job->len, !job->join, &r->state, err);

	if (result != OCI_STATE_OK)
		return result == OCI_STATE_INVALID_ID ? HOOK_SKIP_ID : HOOK_SKIP_STATE;
	if (hook_store_open(job->root, &r->store, err) < 0 ||
	    proc_boot_id(r->saved.boot_id, err) < 0)
		return HOOK_ERR_HOST;
	return HOOK_NONE;
}

/* Opens and locks the container's directory; makes it again if it was removed meanwhile. */
static enum hook_status open_container(struct hook_run *r, struct err *err)
{
	struct stat st;

	for (int tries = 0; tries < 3; tries++) {
		cleanup_close_fd(&r->lock);
		cleanup_close_fd(&r->dir);
		r->lock = -1;
		r->dir = hook_store_open_container(&r->store, r->state.id, true, err);
		if (r->dir < 0)
			return HOOK_ERR_HOST;
		r->lock = hook_store_lock_container(r->dir, true, err);
		if (r->lock >= 0 && fstat(r->dir, &st) == 0 && st.st_nlink > 0)
			return HOOK_NONE;
	}
	err_set(err, 0, "containers/%s keeps vanishing", r->state.id);
	return HOOK_ERR_HOST;
}

/* Handles an earlier call's state for this id: the mounts of a running container stay; those of an
 * ended one, or of a call that was interrupted, are removed. */
static enum hook_status check_past(const struct hook_run *r, struct err *err)
{
	struct hook_past past;

	if (hook_state_read(r->dir, &past, NULL) == 0 && hook_past_is_alive(&past)) {
		if (past.pid != r->state.pid) {
			err_set(err, 0, "process %d runs under this id", (int)past.pid);
			return HOOK_SKIP_STATE;
		}
		if (past.mounted)
			return HOOK_ALREADY;
	}
	hook_share_remove(r->dir);
	return HOOK_NONE;
}

static enum hook_status find_container(struct hook_run *r, struct err *err)
{
	const struct hook_job *job = r->job;
	enum hook_status status;

	if (!job->join && oci_config_load(r->state.bundle, &r->config, err) < 0)
		return HOOK_SKIP_BUNDLE;
	if (!conf_selects(job->conf, job->requested,
			  r->state.annotations ? r->state.annotations : r->config.annotations, err))
		return HOOK_SKIP_OPTOUT;
	status = hook_container_open(r->state.pid, job->join, &r->container, err);
	if (status != HOOK_NONE)
		return status;
	if (r->state.start_time && r->state.start_time != r->container.start_time) {
		err_set(err, 0, "the container has ended: its pid is another process's");
		return HOOK_SKIP_GONE;
	}
	r->saved.start_time = r->container.start_time;
	r->saved.mnt_ns = r->container.mnt_ns_inode;
	r->saved.root_uid = r->container.root_uid;
	r->saved.root_gid = r->container.root_gid;
	r->payload = hook_payload_open(&r->store, job->payload, r->saved.payload, err);
	return r->payload < 0 ? HOOK_SKIP_PAYLOAD : HOOK_NONE;
}

static enum hook_status mount_all(struct hook_run *r, struct err *err)
{
	struct hook_mounts m = {-1, -1, -1};
	const struct hook_tmpfs out = {
		.bytes = r->job->conf->out_bytes,
		.inodes = r->job->conf->out_inodes,
		.uid = r->container.root_uid,
		.gid = r->container.root_gid,
		.label = r->config.mount_label,
	};
	enum hook_status status = HOOK_ERR_HOST;

	if (hook_share_mount(r->dir, &out, &m, err) < 0)
		return HOOK_ERR_HOST;
	m.payload = hook_mnt_clone(r->payload, err);
	/* From here on the container's file systems can make this process wait without end. */
	hook_store_unlock(&r->store);
	if (m.payload >= 0)
		status = hook_container_mount(&r->container, r->config.root, &m, err);
	if (status == HOOK_MOUNTED && hook_container_check(&r->container, err) != HOOK_NONE)
		status = HOOK_SKIP_GONE;
	if (status != HOOK_MOUNTED)
		hook_share_remove(r->dir);
	cleanup_close_fd(&m.out);
	cleanup_close_fd(&m.ctl);
	cleanup_close_fd(&m.payload);
	return status;
}

static void write_state(struct hook_run *r, enum hook_status status, const char *detail)
{
	r->saved.status = status;
	r->saved.detail = detail;
	/* A failure does not stop the work: the clean-up handles a missing file. */
	(void)!hook_state_write(r->dir, &r->saved, &r->state, &r->config, NULL);
}

/* A call that the kernel lacks is what the administrator can repair. */
static enum hook_status refine(enum hook_status status, const struct err *err)
{
	return err->code == ENOSYS && !hook_status_is_done(status) ? HOOK_SKIP_KERNEL : status;
}

static enum hook_status start_container(struct hook_run *r, struct err *err)
{
	enum hook_status found = find_container(r, err);
	enum hook_status status;
	struct err later = {0};

	/* The payload may take the exclusive lock, so the container's lock comes after it. */
	status = open_container(r, &later);
	if (status == HOOK_NONE)
		status = check_past(r, &later);
	if (status != HOOK_NONE) {
		*err = later;
		return status;
	}
	if (found == HOOK_NONE) {
		write_state(r, HOOK_STARTING, "");
		found = mount_all(r, err);
	}
	found = refine(found, err);
	write_state(r, found, found == HOOK_MOUNTED ? "" : err->msg);
	return found;
}

static enum hook_status run(struct hook_run *r, struct err *err)
{
	enum hook_status status = limit_privileges(err);

	if (status == HOOK_NONE)
		status = read_state(r, err);
	if (status != HOOK_NONE)
		return status;
	if (!r->state.stopped)
		return start_container(r, err);
	return hook_store_end_container(&r->store, r->state.id, err) < 0 ? HOOK_ERR_HOST
									 : HOOK_ENDED;
}

void hook_worker_run(const struct hook_job *job, struct hook_outcome *ret)
{
	struct hook_run r = {
		.job = job,
		.container = HOOK_CONTAINER_EMPTY,
		.store = HOOK_STORE_EMPTY,
		.payload = -1,
		.dir = -1,
		.lock = -1,
		.saved = {.join = job->join, .started_us = job->started_us},
	};
	struct err err = {0};
	enum hook_status status = refine(run(&r, &err), &err);

	*ret = (struct hook_outcome){.status = status};
	strcpy(ret->id, r.state.id);
	if (!hook_status_is_done(status))
		ret->err = err;
	run_fini(&r);
}
