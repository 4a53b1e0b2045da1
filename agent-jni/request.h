/* SPDX-License-Identifier: Apache-2.0 */
/* Parses requests (dfg/request.h): the line of a request file, and the options of a load. */
#ifndef AGENT_REQUEST_H
#define AGENT_REQUEST_H

#include "agent-jni/text.h"
#include "dfg/request.h"

#define AGENT_PATH_MAX 256

struct request {
	uint32_t seq;
	uint32_t host_pid;
	uint32_t since;		  /* 0: a whole snapshot */
	uint32_t keep;		  /* seconds; 0: keep nothing */
	bool named;		  /* a delta walks all classes */
	char name[256];		  /* of the output file */
	char dir[AGENT_PATH_MAX]; /* the share that contains it */
};

struct load_options {
	char dir[AGENT_PATH_MAX];
	char ctl[AGENT_PATH_MAX];
	int signal;	 /* 0: any */
	bool debug_info; /* switch DebugNonSafepoints on */
	bool has_request;
	struct request request;
};

/* Sets all fields, with defaults for missing options; text may be NULL. False: a value is malformed
 * or too long. */
bool options_parse(const char *text, struct load_options *ret);

/* Parses one line with its newline. Does not set dir. */
bool request_parse(const char *line, size_t len, struct request *ret);

/* Makes the request that a signal stands for where there is no control directory. False: not a
 * pid. */
bool request_from_pid(uint32_t host_pid, struct request *ret);

#endif
