// SPDX-License-Identifier: Apache-2.0
/* dfg-hook: gives a container its three mounts, or leaves it alone, and never stops its start. */
#include <errno.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "dfg/paths.h"
#include "hook/help_hook.h"
#include "hook/payload.h"
#include "hook/self.h"
#include "hook/store.h"
#include "hook/worker.h"
#include "oci/jsontext.h"
#include "oci/spec.h"

#define JOIN_BUDGET_MS 5000 /* no container's start waits for it */
#define SPEC_MAX       (64u << 20)

static uint64_t started_us;

static int print_outcome(const struct hook_outcome *o, uint64_t us)
{
	CLEANUP(str_fini) struct str detail = {0};
	CLEANUP(json_decref) json_t *j = NULL;

	str_add_clean(&detail, o->err.msg, strlen(o->err.msg));
	j = json_pack("{s:s, s:s, s:s, s:I}", "id", o->id, "status", hook_status_name(o->status),
		      "detail", detail.buf ? detail.buf : "", "us", (json_int_t)us);
	if (!j || json_dumpf(j, stdout, JSON_COMPACT) < 0 || puts("") < 0)
		log_error("cannot write the result");
	return hook_status_is_done(o->status) ? 0 : 1;
}

static int finish_hook(const struct hook_outcome *o, const struct conf *conf)
{
	if (!conf->strict || !hook_status_is_conf(o->status))
		return 0;
	dprintf(STDERR_FILENO, "dfg-hook: %s: %.160s\n", hook_status_name(o->status), o->err.msg);
	return 1;
}

static const char *root_of(const struct hook_options *o, const struct conf *c)
{
	if (o->root)
		return o->root;
	return c->root[0] ? c->root : DFG_ROOT_DEFAULT;
}

/* Reads the state, also after an error: the runtime must not block on a full pipe. Then works. */
static void serve(const struct hook_options *options, const struct conf *conf,
		  struct hook_outcome *ret)
{
	struct hook_job job = {
		.conf = conf,
		.root = root_of(options, conf),
		.payload = options->payload,
		.join = options->mode == HOOK_MODE_JOIN,
		.requested = options->requested,
		.started_us = started_us,
	};
	uint64_t deadline = started_us / 1000 + (job.join ? JOIN_BUDGET_MS : conf->budget_ms);
	struct err err;
	long len = hook_self_read_input(deadline, &job.input, &err);

	if (ret->status != HOOK_NONE)
		return;
	if (len < 0) {
		ret->status = err.code == ETIMEDOUT ? HOOK_ERR_TIMEOUT : HOOK_SKIP_STATE;
		ret->err = err;
		return;
	}
	job.len = (size_t)len;
	hook_self_work(&job, deadline, ret);
}

/* The hook, and --join. `bad`: the error in the options, or NULL. */
static int hook(const struct hook_options *options, const struct err *bad)
{
	struct hook_outcome outcome = {.status = HOOK_NONE};
	struct conf conf;
	uint64_t us;

	if (conf_load(options->conf, &conf, &outcome.err) < 0)
		outcome.status = HOOK_SKIP_CONF;
	if (bad) {
		outcome.status = HOOK_SKIP_CONF;
		outcome.err = *bad;
	}
	serve(options, &conf, &outcome);
	us = clock_us() - started_us;
	hook_self_log(&outcome, us);
	return options->mode == HOOK_MODE_JOIN ? print_outcome(&outcome, us)
					       : finish_hook(&outcome, &conf);
}

/* --gc and --release: by hand or from a package's scripts. Running containers keep their mounts. */
static int sweep(const struct hook_options *options)
{
	CLEANUP(hook_store_close) struct hook_store store = HOOK_STORE_EMPTY;
	bool release = options->mode == HOOK_MODE_RELEASE;
	struct hook_sweep result;
	struct conf conf;
	struct err err;

	if (conf_load(options->conf, &conf, &err) < 0 ||
	    hook_store_open(root_of(options, &conf), &store, &err) < 0 ||
	    (release && hook_store_lock(&store, true, &err) < 0)) {
		log_error("%s", err.msg);
		return 1;
	}
	hook_store_sweep(&store, &result);
	if (release)
		hook_payload_release(&store);
	if (release && result.running == 0)
		hook_store_unbind(&store);
	printf("removed %u, running %u\n", result.removed, result.running);
	return 0;
}

static bool wants_early(const struct hook_options *options, const struct str *text)
{
	CLEANUP(oci_config_fini) struct oci_config config = {0};
	struct conf conf;
	struct err err;

	return text->len <= OCI_CONFIG_MAX && conf_load(options->conf, &conf, &err) == 0 &&
	       oci_config_parse(text->buf, text->len, "/", &config, NULL) == 0 &&
	       conf_selects(&conf, options->requested, config.annotations, NULL);
}

/* podman's stage precreate (oci-hooks(5)): copies the specification from stdin to stdout, with
 * early flags for JVMs (oci/spec.h) unless dfg.conf or an annotation excludes the container. Any
 * error leaves it unchanged; only one in copying is a failure. */
static int precreate(const struct hook_options *options)
{
	CLEANUP(str_fini) struct str text = {0};

	if (fs_read_all(STDIN_FILENO, SPEC_MAX, &text, NULL) < 0 || !text.len)
		return 1;
	if (wants_early(options, &text))
		(void)!oci_spec_add_early(&text, NULL);
	return fs_write_all(STDOUT_FILENO, text.buf, text.len, NULL) < 0;
}

/* Reads DFG_ROOT where an administrator or dfg-trigger calls; as a hook, the environment may be a
 * container's. */
static void read_environment(struct hook_options *options)
{
	const char *root = getenv("DFG_ROOT");

	if (options->mode != HOOK_MODE_HOOK && !options->root && root && root[0] == '/')
		options->root = root;
}

int main(int argc, char **argv)
{
	struct hook_options options;
	struct err err;
	bool good;

	started_us = clock_us();
	log_init("dfg-hook");
	log_set_oom_status(0);
	good = hook_options_parse(argc, argv, &options, &err) == 0;
	read_environment(&options);
	hook_self_sanitise();
	if (options.mode == HOOK_MODE_HOOK || options.mode == HOOK_MODE_JOIN)
		return hook(&options, good ? NULL : &err);
	if (options.mode == HOOK_MODE_PRECREATE)
		return precreate(&options);
	if (!good) {
		log_error("%s", err.msg);
		return 2;
	}
	if (options.mode == HOOK_MODE_HELP)
		return fputs(help_hook, stdout) < 0;
	if (options.mode == HOOK_MODE_VERSION)
		return puts("dfg-hook " DFG_VERSION) < 0;
	return sweep(&options);
}
