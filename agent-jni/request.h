/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of the agent (request.h): the line of a request file, and the options of a load. */
#ifndef AGENT_ORDER_H
#define AGENT_ORDER_H

#include "agent-jni/text.h"
#include "dfg/request.h"

#define AGENT_PATH_MAX 256

struct order {
	uint32_t seq;
	uint32_t host_pid;
	uint32_t since;		  /* 0: whole */
	uint32_t keep;		  /* seconds; 0: not at all */
	char name[256];		  /* of the output file */
	char dir[AGENT_PATH_MAX]; /* the share it is in */
};

struct options {
	char dir[AGENT_PATH_MAX];
	char ctl[AGENT_PATH_MAX];
	int signal;	 /* 0: not asked for */
	bool debug_info; /* switch DebugNonSafepoints on */
	bool has_order;
	struct order order;
};

/* Fills all fields, with the defaults for what is not said; text may be NULL. False: a value is
 * malformed or too long. */
bool options_parse(const char *text, struct options *ret);

/* One line with its newline. Does not set dir. */
bool order_parse(const char *line, size_t len, struct order *ret);

/* What a signal means where there is no control directory. False: not a pid. */
bool order_of_pid(uint32_t host_pid, struct order *ret);

#endif
