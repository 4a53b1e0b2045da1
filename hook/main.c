// SPDX-License-Identifier: Apache-2.0
/* dfg-hook: gives a container its three mounts, or leaves it alone, and never stops its start. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/str.h"
#include "hook/precreate.h"
#include "hook/self.h"
#include "hook/store.h"
#include "hook/sweep.h"

#define JOIN_BUDGET_MS 5000 /* nobody's start waits for it */

static const char help[] =
	"usage: dfg-hook [--root DIR] [--payload FILE] [--conf FILE] [MODE]\n"
	"An OCI hook for createRuntime (or prestart) and poststop: state on stdin.\n"
	"  --join     the same for a running container; prints one line of JSON\n"
	"  --precreate  podman's stage: the specification goes on with early flags for JVMs\n"
	"  --gc       remove what ended containers left\n"
	"  --release  gc, and unmount what no container uses\n"
	"  --help, --version\n"
	"Details: dfg-hook(8)\n";

static uint64_t started_us;

static int print_outcome(const struct hook_outcome *o, uint64_t us)
{
	CLEANUP(str_fini) struct str detail = {0};
	json_t *j;

	str_add_clean(&detail, o->err.msg, strlen(o->err.msg));
	j = json_pack("{s:s, s:s, s:s, s:I}", "id", o->id, "status", hook_reason_name(o->reason),
		      "detail", detail.buf ? detail.buf : "", "us", (json_int_t)us);
	if (!j || json_dumpf(j, stdout, JSON_COMPACT) < 0 || puts("") < 0)
		log_error("cannot write the result");
	json_decref(j);
	return hook_reason_done(o->reason) ? 0 : 1;
}

static int finish_hook(const struct hook_outcome *o, const struct conf *conf)
{
	if (!conf->strict || !hook_reason_is_conf(o->reason))
		return 0;
	dprintf(STDERR_FILENO, "dfg-hook: %s: %.160s\n", hook_reason_name(o->reason), o->err.msg);
	return 1;
}

/* Reads the state and does the job. The state is read in any case: a runtime may not be left with a
 * full pipe. */
static void serve(const struct hook_options *options, const struct conf *conf,
		  struct hook_outcome *ret)
{
	bool join = options->mode == HOOK_MODE_JOIN;
	uint64_t deadline = started_us + (join ? JOIN_BUDGET_MS : conf->budget_ms) * 1000ull;
	struct hook_job job = {.options = options, .conf = conf, .started_us = started_us};
	struct err err;
	long len = hook_self_drain(deadline, &job.input, &err);

	if (ret->reason != HOOK_NONE)
		return;
	if (len < 0) {
		ret->reason = err.code == ETIMEDOUT ? HOOK_ERR_TIMEOUT : HOOK_SKIP_STATE;
		ret->err = err;
		return;
	}
	job.len = (size_t)len;
	hook_self_work(&job, deadline, ret);
}

/* The hook itself, and --join. `bad`: what is wrong with the options, or NULL. */
static int hook(const struct hook_options *options, const struct err *bad)
{
	struct hook_outcome outcome = {.reason = HOOK_NONE};
	struct conf conf;
	uint64_t us;

	if (conf_load(options->conf, &conf, &outcome.err) < 0)
		outcome.reason = HOOK_SKIP_CONF;
	if (bad) {
		outcome.reason = HOOK_SKIP_CONF;
		outcome.err = *bad;
	}
	serve(options, &conf, &outcome);
	us = clock_us() - started_us;
	hook_self_log(&outcome, us);
	return options->mode == HOOK_MODE_JOIN ? print_outcome(&outcome, us)
					       : finish_hook(&outcome, &conf);
}

/* --gc and --release: by hand or from a package's scripts, so that errors are to be seen. */
static int sweep(const struct hook_options *options)
{
	CLEANUP(hook_store_close) struct hook_store store = HOOK_STORE_EMPTY;
	struct hook_sweep result = {0};
	struct conf conf;
	struct err err;

	if (conf_load(options->conf, &conf, &err) < 0 ||
	    hook_store_open(hook_worker_root(options, &conf), &store, &err) < 0) {
		log_error("%s", err.msg);
		return 1;
	}
	if (options->mode == HOOK_MODE_GC) {
		hook_sweep_gc(&store, &result);
	} else if (hook_sweep_release(&store, &result, &err) < 0) {
		log_error("%s", err.msg);
		return 1;
	}
	printf("removed %u, running %u\n", result.swept, result.alive);
	return 0;
}

/* Only where an administrator or dfg-trigger calls: a runtime may give a hook the environment of a
 * container. */
static void take_environment(struct hook_options *options)
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
	take_environment(&options);
	hook_self_sanitise();
	if (options.mode == HOOK_MODE_HOOK || options.mode == HOOK_MODE_JOIN)
		return hook(&options, good ? NULL : &err);
	if (options.mode == HOOK_MODE_PRECREATE)
		return hook_precreate(&options);
	if (!good) {
		log_error("%s", err.msg);
		return 2;
	}
	if (options.mode == HOOK_MODE_HELP)
		return fputs(help, stdout) < 0;
	if (options.mode == HOOK_MODE_VERSION)
		return puts("dfg-hook " DFG_VERSION) < 0;
	return sweep(&options);
}
