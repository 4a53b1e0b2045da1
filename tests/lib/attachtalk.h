/* SPDX-License-Identifier: Apache-2.0 */
/* A client that talks to the JVMs of attachjvm.h with "injector/socket.c", and what comes of it. */
#ifndef DFG_LIB_ATTACHTALK_H
#define DFG_LIB_ATTACHTALK_H

#include <errno.h>
#include <fcntl.h>

#include "common/clock.h"
#include "injector/process.h"
#include "lib/attachjvm.h"
#include "lib/scratch.h"
#include "lib/tap.h"

#define LOAD "1\0load\0/a.so\0true\0x\0"

static char *tmp, *cwd; /* of the JVMs: their /tmp and working directory */

struct talk {
	enum attach_result result;
	struct err err;
	size_t len;	/* of the reply */
	char reply[64]; /* its first bytes */
	uint64_t ms;
	int sent;	  /* signals */
	bool left_a_file; /* of those that ask for the socket */
};

/* Makes the directories. */
static inline void talk_begin(void)
{
	scratch_make();
	tmp = path_of("tmp");
	cwd = path_of("cwd");
	mkdir(tmp, 0700);
	mkdir(cwd, 0700);
}

static inline void talk_end(void)
{
	scratch_remove();
	free(tmp);
	free(cwd);
}

static inline struct jvm_process process_of(const struct attachjvm *j)
{
	struct jvm_process p = JVM_PROCESS_EMPTY;
	struct err err;

	if (process_open(&p, j->pid, &err) != ATTACH_OK)
		abort();
	p.tmpfd = open(tmp, O_PATH | O_DIRECTORY | O_CLOEXEC);
	p.cwdfd = open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return p;
}

static inline struct talk say(struct attachjvm *j, struct jvm_process *p, const char *bytes,
			      size_t len, int ms)
{
	CLEANUP(str_fini) struct str request = {0}, reply = {0};
	CLEANUP(free) char *file = attachjvm_name(j, "attach");
	struct talk t = {0};
	uint64_t began = clock_ms();

	str_add(&request, bytes, len);
	t.result = process_exchange(p, &request, deadline_after(ms), &reply, &t.err);
	t.ms = clock_ms() - began;
	t.len = reply.len;
	memcpy(t.reply, reply.buf ? reply.buf : "",
	       reply.len < sizeof(t.reply) ? reply.len : sizeof(t.reply) - 1);
	attachjvm_settle(j);
	t.sent = j->log->quits;
	t.left_a_file = access(file, F_OK) == 0;
	return t;
}

static inline struct attachjvm *start(struct attachjvm *j)
{
	j->tmp = tmp;
	j->cwd = cwd;
	attachjvm_start(j);
	return j;
}

static inline struct talk talk_to(struct attachjvm *j, int ms)
{
	CLEANUP(process_close) struct jvm_process p = process_of(j);

	return say(j, &p, LOAD, sizeof(LOAD) - 1, ms);
}

/* The whole life of a JVM: it starts, is talked to, and ends. */
static inline struct talk meet(struct attachjvm j, int ms)
{
	struct talk t = talk_to(start(&j), ms);

	attachjvm_end(&j);
	return t;
}

static inline void check(const struct talk *t, enum attach_result result, int code,
			 const char *message, const char *who)
{
	CLEANUP(free)
	char *want = xasprintf("%s%s%s", message, code ? ": " : "", code ? strerror(code) : "");

	is_int(t->result, result, "%s: the result", who);
	is_str(t->err.msg, want, "%s: the message", who);
	is_int(t->err.code, code, "%s: the system's code", who);
}

static inline void put_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		abort();
	close(fd);
}

#endif
