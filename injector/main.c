// SPDX-License-Identifier: Apache-2.0
/* dfg-inject: loads the agent into a running JVM, from the host or inside a container. */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "common/log.h"
#include "common/proc.h"
#include "dfg/paths.h"
#include "injector/attach.h"
#include "injector/help_inject.h"
#include "injector/process.h"

enum { EXIT_LOADED, EXIT_FAILED, EXIT_USAGE, EXIT_NO_PROCESS, EXIT_NO_JVM, EXIT_NOT_PERMITTED };

struct jvm_count {
	int count;
	pid_t pid;
	int hidden; /* processes that may not be inspected */
};

static int count_jvm(pid_t pid, void *arg)
{
	struct jvm_count *c = arg;
	struct err ignored;
	CLEANUP(close_fd) int procfd = proc_open(pid, &ignored);
	int jvm = procfd >= 0 && pid != getpid() ? process_is_jvm(procfd, &ignored) : 0;

	if (jvm > 0) {
		c->count++;
		c->pid = pid;
	}
	c->hidden += jvm < 0;
	return 0;
}

static int find_only_jvm(pid_t *ret)
{
	struct jvm_count found = {0};
	struct err err;

	if (proc_each(count_jvm, &found, &err) < 0) {
		log_error("%s", err.msg);
		return EXIT_FAILED;
	}
	if (found.count > 1) {
		log_error("found %d JVMs; give the PID of one", found.count);
		return EXIT_USAGE;
	}
	if (found.count == 0) {
		log_error("no JVM found%s", found.hidden ? "; some processes may not be inspected: "
							   "run as root or as the JVM's user"
							 : "");
		return EXIT_NO_JVM;
	}
	*ret = found.pid;
	return EXIT_LOADED;
}

/* Parses options and arguments; returns an exit status, or -1 to continue. */
static int parse_arguments(int argc, char **argv, struct attach_request *req)
{
	static const struct option options[] = {
		{"timeout", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{0},
	};
	uint64_t timeout;
	int c;

	while ((c = getopt_long(argc, argv, "+t:hV", options, NULL)) >= 0) {
		switch (c) {
		case 't':
			if (!parse_u64(optarg, &timeout) || timeout == 0 || timeout > 3600000) {
				log_error("--timeout %s: not a number of milliseconds", optarg);
				return EXIT_USAGE;
			}
			req->timeout_ms = (unsigned)timeout;
			break;
		case 'h':
			fputs(help_inject, stdout);
			return EXIT_LOADED;
		case 'V':
			puts("dfg-inject " DFG_VERSION);
			return EXIT_LOADED;
		default:
			fputs(help_inject, stderr);
			return EXIT_USAGE;
		}
	}
	argv += optind;
	argc -= optind;
	if (argc > 3) {
		fputs(help_inject, stderr);
		return EXIT_USAGE;
	}
	if (argc > 0 && !parse_pid(argv[0], &req->pid)) {
		log_error("%s: not a process id", argv[0]);
		return EXIT_USAGE;
	}
	if (argc > 1)
		req->path = argv[1];
	if (argc > 2)
		req->options = argv[2];
	if (req->path[0] != '/') {
		log_error("%s: the agent's path must be absolute", req->path);
		return EXIT_USAGE;
	}
	return -1;
}

static int exit_status(enum attach_result result, const struct err *err)
{
	switch (result) {
	case ATTACH_OK:
		return EXIT_LOADED;
	case ATTACH_GONE:
		return EXIT_NO_PROCESS;
	case ATTACH_NOT_READY:
		return EXIT_NO_JVM;
	case ATTACH_FAILED:
		return err->code == EPERM || err->code == EACCES ? EXIT_NOT_PERMITTED : EXIT_FAILED;
	case ATTACH_STOPPED:
	case ATTACH_DISABLED:
	case ATTACH_NO_TMP:
	case ATTACH_REFUSED:
		break;
	}
	return EXIT_FAILED;
}

int main(int argc, char **argv)
{
	struct attach_request req = {.path = DFG_AGENT_PATH, .options = ""};
	enum attach_result result;
	struct err err;
	int code = 0;
	int status;

	log_init("dfg-inject");
	status = parse_arguments(argc, argv, &req);
	if (status < 0 && req.pid == 0) {
		status = find_only_jvm(&req.pid);
		if (status == EXIT_LOADED)
			status = -1;
	}
	if (status >= 0)
		return status;
	result = attach_load(&req, &code, &err);
	if (result != ATTACH_OK) {
		log_error("%s", err.msg);
		return exit_status(result, &err);
	}
	if (code != 0) {
		log_error("%s was loaded, but returned %d", req.path, code);
		return EXIT_FAILED;
	}
	return EXIT_LOADED;
}
