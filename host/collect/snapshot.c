// SPDX-License-Identifier: Apache-2.0
#include "snapshot.h"

#include <errno.h>
#include <sys/syscall.h>

#include "agent.h"
#include "dfg/snapshot.h"
#include "dfg/str.h"
#include "hostread.h"

#define LOCK_MS	  10000
#define ANSWER_MS 5000
#define READ_MS	  10000

/* How a snapshot went. */
struct outcome {
	uint32_t methods, skipped, us;
	char note[512];
};

/* ---- by the agent ---- */

static int wake(struct share *share, const struct jvm *j, const struct dump *d, int pidfd,
		const struct snapshot_options *o, struct err *err)
{
	bool resident = agent_is_resident(j);

	if (o->trigger == TRIGGER_LOAD || (o->trigger == TRIGGER_AUTO && !resident))
		return agent_load(j, d, !o->keep_flags, err);
	if (!resident && agent_load(j, NULL, !o->keep_flags, err) < 0)
		return -1;
	if (dump_request(share, d, j->pid, j->nspid, err) < 0)
		return -1;
	if (o->trigger == TRIGGER_SIGNAL)
		return agent_signal(j, pidfd, share_agent_signal(share, j->nspid), err);
	return 0;
}

static int exchange(struct share *share, const struct jvm *j, const struct snapshot_options *o,
		    int to, struct outcome *ret, struct err *err)
{
	CLEANUP(close_fd) int pidfd = (int)syscall(SYS_pidfd_open, j->pid, 0);
	struct dump_answer answer;
	struct dump d;
	int rc;

	if (pidfd < 0)
		return err_set(err, errno, "process %d", (int)j->pid);
	if (dump_make(share, j->pid, j->uid, j->gid, &d, err) < 0)
		return -1;
	rc = wake(share, j, &d, pidfd, o, err);
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
	rc = exchange(&share, j, o, to, ret, err);
	share_close(&share);
	return rc;
}

/* ---- by the host ---- */

static int by_host(const struct jvm *j, const struct snapshot_options *o, int to,
		   struct outcome *ret, struct err *err)
{
	struct hostread_result result;

	if (hostread_snapshot(j, !o->keep_flags, to, READ_MS, &result, err) < 0)
		return -1;
	if (result.entries == 0)
		return err_set(err, 0, "read process %d: %s", (int)j->pid,
			       answer_status_text((uint32_t)result.status));
	if (result.status != DFG_DUMP_OK)
		snprintf(ret->note, sizeof(ret->note), "host: %s",
			 answer_status_text((uint32_t)result.status));
	ret->methods = result.entries;
	ret->skipped = result.skipped;
	ret->us = result.us;
	return 0;
}

/* ---- the way that works ---- */

/* The flags in the snapshot's head. Should a container forge it, its own graph is the worse for it.
 */
static bool keeps_frame_pointers(int fd)
{
	struct snap_head head;

	return pread(fd, &head, sizeof(head), 0) == sizeof(head) && head.magic == SNAP_MAGIC &&
	       (head.flags & SNAP_PRESERVE_FP);
}

static void note(struct session_jvm *ret, const char *source, int fd, const struct outcome *o)
{
	snprintf(ret->source, sizeof(ret->source), "%s", source);
	snprintf(ret->note, sizeof(ret->note), "%s", o->note);
	ret->keeps_fp = keeps_frame_pointers(fd);
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
		note(ret, "agent", to, &out);
		return 0;
	}
	if (o->source != SOURCE_HOST)
		snprintf(out.note, sizeof(out.note), "%s", err->msg);
	if (o->source != SOURCE_AGENT && ftruncate(to, 0) == 0 && lseek(to, 0, SEEK_SET) == 0) {
		struct outcome host = {0};

		if (by_host(j, o, to, &host, err) == 0) {
			/* The reason why not the agent is worth more than a remark of the reader.
			 */
			if (out.note[0] || !host.note[0])
				memcpy(host.note, out.note[0] ? out.note : ret->note,
				       sizeof(host.note));
			note(ret, "host", to, &host);
			return 0;
		}
	}
	session_drop_map(s);
	if (!ret->source[0])
		snprintf(ret->source, sizeof(ret->source), "none");
	snprintf(ret->note, sizeof(ret->note), "%s", err->msg);
	return -1;
}
