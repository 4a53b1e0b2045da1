// SPDX-License-Identifier: Apache-2.0
#include "hook/state.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/proc.h"
#include "dfg/paths.h"
#include "oci/jsontext.h"

#define STATE_MAX (1u << 20)

static const char *const names[] = {
#define HOOK_STATUS_NAME(id, name) [HOOK_##id] = (name),
	HOOK_STATUSES(HOOK_STATUS_NAME)
#undef HOOK_STATUS_NAME
};

const char *hook_status_name(enum hook_status status)
{
	return (size_t)status < ARRAY_LEN(names) ? names[status] : "unknown";
}

bool hook_status_is_done(enum hook_status status)
{
	return status == HOOK_MOUNTED || status == HOOK_ALREADY || status == HOOK_ENDED;
}

bool hook_status_is_conf(enum hook_status status)
{
	return status == HOOK_SKIP_CONF || status == HOOK_SKIP_PAYLOAD ||
	       status == HOOK_SKIP_KERNEL;
}

static void set_text(json_t *o, const char *key, const char *text)
{
	CLEANUP(str_fini) struct str clean = {0};

	if (!text || !*text)
		return;
	str_add_clean(&clean, text, strlen(text));
	json_object_set_new(o, key, json_string(clean.buf));
}

static void set_number(json_t *o, const char *key, uint64_t n)
{
	json_object_set_new(o, key, json_integer((json_int_t)n));
}

static size_t annotations_size(const json_t *annotations)
{
	const char *key;
	json_t *value;
	size_t size = 0;

	json_object_foreach((json_t *)annotations, key, value) size +=
		strlen(key) + json_string_length(value);
	return size;
}

static int write_object(int dirfd, const json_t *o, struct err *err)
{
	CLEANUP(free) char *text = json_dumps(o, JSON_INDENT(1));
	CLEANUP(free) char *line = text ? xasprintf("%s\n", text) : NULL;

	if (!line)
		return err_set(err, 0, "write " DFG_STATE_FILE);
	return fs_replace_file(dirfd, DFG_STATE_FILE, 0600, line, strlen(line), err);
}

int hook_state_write(int dirfd, const struct hook_state *s, const struct oci_state *state,
		     const struct oci_config *config, struct err *err)
{
	CLEANUP(json_decref) json_t *o = json_object();

	set_text(o, "id", state->id);
	set_text(o, "status", hook_status_name(s->status));
	set_text(o, "detail", s->detail);
	set_text(o, "how", s->join ? "join" : "hook");
	set_number(o, "pid", (uint64_t)state->pid);
	set_number(o, "start_time", s->start_time);
	set_text(o, "boot_id", s->boot_id);
	set_number(o, "mnt_ns", s->mnt_ns);
	set_number(o, "root_uid", s->root_uid);
	set_number(o, "root_gid", s->root_gid);
	set_text(o, "bundle", state->bundle);
	set_text(o, "root", config->root);
	set_text(o, "hostname", config->hostname);
	set_text(o, "cgroups_path", config->cgroups_path);
	set_text(o, "payload", s->payload);
	if (state->annotations && annotations_size(state->annotations) <= HOOK_ANNOTATIONS_MAX)
		json_object_set(o, "annotations", state->annotations);
	set_number(o, "time", (uint64_t)time(NULL));
	set_number(o, "hook_us", clock_us() - s->started_us);
	return write_object(dirfd, o, err);
}

static json_t *read_object(int dirfd, struct err *err)
{
	CLEANUP(str_fini) struct str text = {0};
	json_t *o;

	if (fs_read_file(dirfd, DFG_STATE_FILE, STATE_MAX, &text, err) < 0)
		return NULL;
	o = json_loadb(text.buf ? text.buf : "", text.len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(o)) {
		json_decref(o);
		err_set(err, 0, DFG_STATE_FILE " is broken");
		return NULL;
	}
	return o;
}

static void get_text(const json_t *o, const char *key, char *ret, size_t size)
{
	const char *s = json_string_value(json_object_get(o, key));

	snprintf(ret, size, "%s", s ? s : "");
}

int hook_state_read(int dirfd, struct hook_past *ret, struct err *err)
{
	CLEANUP(json_decref) json_t *o = read_object(dirfd, err);
	const char *status;

	if (!o)
		return -1;
	status = json_string_value(json_object_get(o, "status"));
	*ret = (struct hook_past){
		.mounted = status && !strcmp(status, hook_status_name(HOOK_MOUNTED)),
		.ended = json_is_true(json_object_get(o, "ended")),
		.pid = (pid_t)json_integer_value(json_object_get(o, "pid")),
		.start_time = (uint64_t)json_integer_value(json_object_get(o, "start_time")),
	};
	get_text(o, "boot_id", ret->boot_id, sizeof(ret->boot_id));
	get_text(o, "payload", ret->payload, sizeof(ret->payload));
	return 0;
}

int hook_state_end(int dirfd, struct err *err)
{
	CLEANUP(json_decref) json_t *o = read_object(dirfd, err);

	if (!o)
		return -1;
	json_object_set_new(o, "ended", json_true());
	return write_object(dirfd, o, err);
}

/* True if the error says that there is no such process: any other leaves open whether there is. */
static bool is_gone(const struct err *err)
{
	return err->code == ENOENT || err->code == ESRCH;
}

bool hook_past_is_alive(const struct hook_past *past)
{
	CLEANUP(close_fd) int proc = -1;
	struct proc_status status;
	uint64_t start;
	char boot[37];
	struct err err;

	if (past->ended || past->pid <= 0)
		return false;
	if (proc_boot_id(boot, NULL) < 0)
		return true;
	if (strcmp(boot, past->boot_id) != 0)
		return false;
	proc = proc_open(past->pid, &err);
	if (proc < 0 || proc_start_time(proc, &start, &err) < 0)
		return !is_gone(&err);
	if (start != past->start_time)
		return false;
	return proc_read_status(proc, &status, &err) < 0 ? !is_gone(&err) : status.state != 'Z';
}
