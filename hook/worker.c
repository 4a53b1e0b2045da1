// SPDX-License-Identifier: Apache-2.0
#include "hook/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "common/proc.h"
#include "dfg/paths.h"
#include "hook/confine.h"
#include "hook/container.h"
#include "hook/mounts.h"
#include "hook/payload.h"
#include "hook/record.h"
#include "hook/share.h"
#include "hook/store.h"
#include "hook/sweep.h"
#include "oci/config.h"

/* All that one container takes; closed together. */
struct box {
	const struct hook_job *job;
	struct oci_state state;
	struct oci_config config;
	struct hook_target target;
	struct hook_store store;
	int payload;
	int dir; /* containers/<id> */
	int lock;
	struct hook_record record;
};

static void box_fini(struct box *b)
{
	cleanup_close_fd(&b->lock);
	cleanup_close_fd(&b->dir);
	cleanup_close_fd(&b->payload);
	hook_store_close(&b->store);
	hook_target_close(&b->target);
	oci_config_fini(&b->config);
	oci_state_fini(&b->state);
}

const char *hook_worker_root(const struct hook_options *o, const struct conf *c)
{
	if (o->root)
		return o->root;
	return c->root[0] ? c->root : DFG_ROOT_DEFAULT;
}

static enum hook_reason read_state(struct box *b, struct err *err)
{
	bool join = b->job->options->mode == HOOK_MODE_JOIN;
	enum oci_state_result result =
		oci_state_parse(b->job->input, b->job->len, !join, &b->state, err);

	if (result != OCI_STATE_OK)
		return result == OCI_STATE_INVALID_ID ? HOOK_SKIP_ID : HOOK_SKIP_STATE;
	if (hook_store_open(hook_worker_root(b->job->options, b->job->conf), &b->store, err) < 0)
		return HOOK_ERR_HOST;
	return HOOK_NONE;
}

/* The container's directory, locked. A directory that was removed while its lock was waited for is
 * made again. */
static enum hook_reason open_container(struct box *b, struct err *err)
{
	struct stat st;

	for (int tries = 0; tries < 3; tries++) {
		cleanup_close_fd(&b->lock);
		cleanup_close_fd(&b->dir);
		b->lock = -1;
		b->dir = hook_store_container(&b->store, b->state.id, true, err);
		if (b->dir < 0)
			return HOOK_ERR_HOST;
		b->lock = hook_store_container_lock(b->dir, true, err);
		if (b->lock >= 0 && fstat(b->dir, &st) == 0 && st.st_nlink > 0)
			return HOOK_NONE;
	}
	err_set(err, 0, "containers/%s keeps vanishing", b->state.id);
	return HOOK_ERR_HOST;
}

/* What an earlier call for this id left: the mounts of a container that runs are kept, those of one
 * that has ended, or of a call that was cut short, go. */
static enum hook_reason check_past(const struct box *b, struct err *err)
{
	struct hook_past past;
	struct err none;

	if (hook_record_read(b->dir, &past, &none) == 0 && hook_sweep_alive(&past)) {
		if (past.pid != b->state.pid) {
			err_set(err, 0, "process %d runs under this id", (int)past.pid);
			return HOOK_SKIP_STATE;
		}
		if (past.mounted)
			return HOOK_ALREADY;
	}
	hook_share_remove(b->dir);
	return HOOK_NONE;
}

static enum hook_reason find_container(struct box *b, struct err *err)
{
	bool join = b->job->options->mode == HOOK_MODE_JOIN;
	enum hook_reason reason;

	if (!join && oci_config_load(b->state.bundle, &b->config, err) < 0)
		return HOOK_SKIP_BUNDLE;
	if (!conf_selects(b->job->conf, b->job->options->asked,
			  b->state.annotations ? b->state.annotations : b->config.annotations, err))
		return HOOK_SKIP_OPTOUT;
	reason = hook_target_open(b->state.pid, join, &b->target, err);
	if (reason != HOOK_NONE)
		return reason;
	b->record.start_time = b->target.start_time;
	b->record.mnt_ns = b->target.mnt_ns_inode;
	b->record.root_uid = b->target.root_uid;
	b->record.root_gid = b->target.root_gid;
	b->payload = hook_payload_open(&b->store, b->job->options->payload, b->record.payload, err);
	return b->payload < 0 ? HOOK_SKIP_PAYLOAD : HOOK_NONE;
}

static enum hook_reason mount_all(struct box *b, struct err *err)
{
	struct hook_mounts m = {-1, -1, -1};
	enum hook_reason reason = HOOK_ERR_HOST;

	if (hook_share_make(b->dir, b->job->conf, &b->target, b->config.mount_label, &m, err) < 0)
		return HOOK_ERR_HOST;
	m.payload = hook_mnt_clone(b->payload, err);
	if (m.payload >= 0)
		reason = hook_target_mount(&b->target, b->config.root, &m, err);
	if (reason == HOOK_MOUNTED && hook_target_check(&b->target) != HOOK_NONE) {
		err_set(err, 0, "the container has ended");
		reason = HOOK_SKIP_GONE;
	}
	if (reason != HOOK_MOUNTED)
		hook_share_remove(b->dir);
	cleanup_close_fd(&m.out);
	cleanup_close_fd(&m.ctl);
	cleanup_close_fd(&m.payload);
	return reason;
}

static void write_record(struct box *b, enum hook_reason reason, const char *detail)
{
	struct err err;

	b->record.reason = reason;
	b->record.detail = detail;
	/* Without a record the container is still served: cleaning up copes with its absence. */
	(void)!hook_record_write(b->dir, &b->record, &b->state, &b->config, &err);
}

static enum hook_reason start_container(struct box *b, struct err *err)
{
	enum hook_reason found = find_container(b, err);
	enum hook_reason reason;
	struct err later;

	/* The payload may take the exclusive lock, so the container's lock comes after it. */
	reason = open_container(b, &later);
	if (reason != HOOK_NONE) {
		*err = later;
		return reason;
	}
	reason = check_past(b, &later);
	if (reason != HOOK_NONE) {
		*err = later;
		return reason;
	}
	if (found == HOOK_NONE) {
		write_record(b, HOOK_STARTING, "");
		found = mount_all(b, err);
	}
	write_record(b, found, found == HOOK_MOUNTED ? "" : err->msg);
	return found;
}

static enum hook_reason run(struct box *b, struct err *err)
{
	enum hook_reason reason = hook_confine_worker(err);

	if (reason == HOOK_NONE)
		reason = read_state(b, err);
	if (reason == HOOK_NONE && proc_boot_id(b->record.boot_id, err) < 0)
		reason = HOOK_ERR_HOST;
	if (reason != HOOK_NONE)
		return reason;
	if (!b->state.stopped)
		return start_container(b, err);
	return hook_sweep_container(&b->store, b->state.id, err) < 0 ? HOOK_ERR_HOST : HOOK_ENDED;
}

void hook_worker_run(const struct hook_job *job, struct hook_outcome *ret)
{
	struct box b = {
		.job = job,
		.target = HOOK_TARGET_EMPTY,
		.store = HOOK_STORE_EMPTY,
		.payload = -1,
		.dir = -1,
		.lock = -1,
		.record = {.join = job->options->mode == HOOK_MODE_JOIN,
			   .started_us = job->started_us},
	};
	struct err err = {0};
	enum hook_reason reason = run(&b, &err);

	if (err.code == ENOSYS && !hook_reason_done(reason))
		reason = HOOK_SKIP_KERNEL;
	*ret = (struct hook_outcome){.reason = reason};
	strcpy(ret->id, b.state.id);
	if (!hook_reason_done(reason))
		ret->err = err;
	box_fini(&b);
}
