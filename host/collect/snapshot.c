// SPDX-License-Identifier: Apache-2.0
#include "snapshot.h"

#include <errno.h>
#include <sys/syscall.h>

#include "agent.h"
#include "dfg/clock.h"
#include "dfg/fs.h"
#include "dfg/hotspot.h"
#include "dfg/str.h"
#include "hsproc.h"

#define LOCK_MS	  10000
#define ANSWER_MS 5000

/* How a snapshot went. */
struct outcome {
	uint32_t methods, skipped, us;
	char note[512];
};

/* ---- by the agent ---- */

static int wake(struct share *share, const struct jvm *j, const struct dump *d, int pidfd,
		enum snapshot_trigger trigger, struct err *err)
{
	bool resident = agent_is_resident(j);

	if (trigger == TRIGGER_LOAD || (trigger == TRIGGER_AUTO && !resident))
		return agent_load(j, d, err);
	if (!resident && agent_load(j, NULL, err) < 0)
		return -1;
	if (dump_request(share, d, j->pid, j->nspid, err) < 0)
		return -1;
	if (trigger == TRIGGER_SIGNAL)
		return agent_signal(j, pidfd, share_agent_signal(share, j->nspid), err);
	return 0;
}

static int exchange(struct share *share, const struct jvm *j, enum snapshot_trigger trigger, int to,
		    struct outcome *ret, struct err *err)
{
	CLEANUP(close_fd) int pidfd = (int)syscall(SYS_pidfd_open, j->pid, 0);
	struct dump_answer answer;
	struct dump d;
	int rc;

	if (pidfd < 0)
		return err_set(err, errno, "process %d", (int)j->pid);
	if (dump_make(share, j->pid, j->uid, j->gid, &d, err) < 0)
		return -1;
	rc = wake(share, j, &d, pidfd, trigger, err);
	if (rc == 0)
		rc = dump_wait(&d, pidfd, ANSWER_MS, to, &answer, err);
	dump_done(share, &d, j->nspid);
	if (rc < 0)
		return -1;
	if (answer.status != DFG_DUMP_OK)
		snprintf(ret->note, sizeof(ret->note), "agent: %s",
			 answer_status_text(answer.status));
	if (answer.status != DFG_DUMP_OK && answer.entries == 0)
		return err_set(err, 0, "%s", ret->note);
	ret->methods = answer.entries;
	ret->skipped = answer.skipped;
	ret->us = answer.us > UINT32_MAX ? UINT32_MAX : (uint32_t)answer.us;
	return 0;
}

static int by_agent(const struct container *c, const struct jvm *j,
		    const struct snapshot_options *o, int to, struct outcome *ret, struct err *err)
{
	struct share share = {-1, -1, -1, 0};
	int rc;

	if (c->is_single)
		return err_set(err, 0, "process %d is in no container", (int)j->pid);
	if ((!agent_is_visible(j) || share_open(o->root, c->id, LOCK_MS, &share, err) < 0) &&
	    (agent_join(o->root, c, err) < 0 ||
	     share_open(o->root, c->id, LOCK_MS, &share, err) < 0))
		return -1;
	rc = exchange(&share, j, o->trigger, to, ret, err);
	share_close(&share);
	return rc;
}

/* ---- by the host ---- */

struct sink {
	int fd;
	struct str buf;
	bool failed;
};

static bool sink_write(void *arg, const char *text, size_t len)
{
	struct sink *k = arg;
	struct err err;

	str_add(&k->buf, text, len);
	if (k->buf.len >= 1 << 16) {
		k->failed |= fs_write_all(k->fd, k->buf.buf, k->buf.len, &err) < 0;
		str_clear(&k->buf);
	}
	return !k->failed;
}

static int by_host(const struct jvm *j, int to, struct outcome *ret, struct err *err)
{
	CLEANUP(free) void *work = aligned_alloc(4096, HS_WORK_BYTES);
	struct sink sink = {.fd = to};
	struct hs_sink out = {.write = sink_write, .arg = &sink};
	uint64_t began = clock_us();
	struct hs_result result;
	struct hs_proc *proc;

	if (!work)
		return err_set(err, ENOMEM, "read process %d", (int)j->pid);
	if (hs_proc_open(j->procfd, &proc, err) < 0)
		return -1;
	hs_dump_map(hs_proc_source(proc), &out, work, &result);
	hs_proc_close(proc);
	sink.failed |= fs_write_all(to, sink.buf.buf ? sink.buf.buf : "", sink.buf.len, err) < 0;
	str_fini(&sink.buf);
	if (sink.failed)
		return err_set(err, ENOSPC, "write the map of %d", (int)j->pid);
	if (result.entries == 0)
		return err_set(err, 0, "read process %d: %s", (int)j->pid,
			       answer_status_text((uint32_t)result.status));
	if (result.status != DFG_DUMP_OK)
		snprintf(ret->note, sizeof(ret->note), "host: %s",
			 answer_status_text((uint32_t)result.status));
	ret->methods = result.entries;
	ret->skipped = result.skipped;
	ret->us = (uint32_t)(clock_us() - began);
	return 0;
}

/* ---- the way that works ---- */

static void note(struct session_jvm *ret, const char *source, const struct outcome *o)
{
	snprintf(ret->source, sizeof(ret->source), "%s", source);
	snprintf(ret->note, sizeof(ret->note), "%s", o->note);
	ret->methods = o->methods;
	ret->skipped = o->skipped;
	ret->dump_us = o->us;
}

int snapshot_take(struct session *s, const struct container *c, const struct jvm *j,
		  const struct snapshot_options *o, struct session_jvm *ret, struct err *err)
{
	CLEANUP(close_fd) int to = session_add_map(s, j->pid, err);
	struct outcome out = {0};

	if (to < 0)
		return -1;
	if (o->source != SOURCE_HOST && by_agent(c, j, o, to, &out, err) == 0) {
		note(ret, "agent", &out);
		return 0;
	}
	if (o->source != SOURCE_HOST)
		snprintf(out.note, sizeof(out.note), "%s", err->msg);
	if (o->source != SOURCE_AGENT && ftruncate(to, 0) == 0 && lseek(to, 0, SEEK_SET) == 0) {
		struct outcome host = {0};

		if (by_host(j, to, &host, err) == 0) {
			/* The reason why not the agent is worth more than a remark of the reader.
			 */
			if (out.note[0] || !host.note[0])
				memcpy(host.note, out.note[0] ? out.note : ret->note,
				       sizeof(host.note));
			note(ret, "host", &host);
			return 0;
		}
	}
	session_drop_map(s);
	if (!ret->source[0])
		snprintf(ret->source, sizeof(ret->source), "none");
	snprintf(ret->note, sizeof(ret->note), "%s", err->msg);
	return -1;
}
