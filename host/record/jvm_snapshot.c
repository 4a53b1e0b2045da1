// SPDX-License-Identifier: Apache-2.0
#include "record/jvm_snapshot.h"

#include <errno.h>
#include <sys/syscall.h>

#include "common/clock.h"
#include "common/str.h"
#include "dfg/snapshot.h"
#include "record/agent_client.h"
#include "record/memory_reader.h"

#define LOCK_MS	  10000
#define ANSWER_MS 5000
#define KEEP	  30 /* seconds: more than the longest time between two */

/* What a snapshot without any news is made of. */
#define QUIET_BYTES (sizeof(struct snap_head) + sizeof(struct snap_end))

static void note_status(struct snapshots *s, const char *who, uint32_t status)
{
	if (status != DFG_DUMP_OK)
		snprintf(s->note, sizeof(s->note), "%s: %s", who, answer_status_text(status));
}

/* ---- by the agent ---- */

/* known: the agent has answered before. */
static int wake(struct share *share, const struct jvm *j, const struct dump *d, int pidfd,
		const struct snapshot_options *o, bool known, struct err *err)
{
	bool resident = known || agent_is_resident(j);

	if (o->trigger == TRIGGER_LOAD || (o->trigger == TRIGGER_AUTO && !resident))
		return agent_load(j, d, !o->keep_flags, err);
	if (!resident && agent_load(j, NULL, !o->keep_flags, err) < 0)
		return -1;
	if (dump_request(share, d, j, err) < 0)
		return -1;
	if (o->trigger == TRIGGER_SIGNAL)
		return agent_signal(j, pidfd, share_agent_signal(share, j->nspid), err);
	return 0;
}

static int exchange(struct snapshots *s, struct share *share, bool last, struct snapshot *ret,
		    struct err *err)
{
	const struct jvm *j = s->jvm;
	const struct dump_wish wish = {.since = s->seq, .keep = last ? 0 : KEEP};
	CLEANUP(close_fd) int pidfd = (int)syscall(SYS_pidfd_open, j->pid, 0);
	struct dump_answer answer;
	struct dump d = {.fd = -1, .watch = -1};
	int rc;

	if (pidfd < 0)
		return err_set(err, errno, "process %d", (int)j->pid);
	rc = dump_make(share, j, &wish, &d, err);
	if (rc == 0)
		rc = wake(share, j, &d, pidfd, s->options, s->by_agent, err);
	/* Up to here, room was short in the container's share and not where the snapshots go. */
	if (rc < 0)
		err->code = 0;
	else
		rc = dump_wait(&d, pidfd, ANSWER_MS, s->to, &answer, err);
	dump_done(share, &d, j->nspid);
	if (rc < 0)
		return -1;
	note_status(s, "agent", answer.status);
	s->seq = answer.seq;
	*ret = (struct snapshot){
		.entries = answer.entries,
		.skipped = answer.skipped,
		.us = answer.us > UINT32_MAX ? UINT32_MAX : (uint32_t)answer.us,
		.cpu_us = answer.cpu_us,
		.news = answer.bytes > QUIET_BYTES,
	};
	return 0;
}

static int take_by_agent(struct snapshots *s, bool last, struct snapshot *ret, struct err *err)
{
	const struct container *c = s->container;
	const char *root = s->options->root;
	struct share share = {-1, -1, -1, 0};
	int rc;

	if (c->is_single)
		return err_set(err, 0, "process %d is in no container", (int)s->jvm->pid);
	if (agent_can_answer(s->jvm, err) < 0)
		return -1;
	if (((!s->by_agent && !agent_is_visible(s->jvm)) ||
	     share_open(root, c->id, LOCK_MS, &share, err) < 0) &&
	    (agent_join(root, c, err) < 0 || share_open(root, c->id, LOCK_MS, &share, err) < 0))
		return -1;
	rc = exchange(s, &share, last, ret, err);
	share_close(&share);
	s->by_agent = rc == 0;
	return rc;
}

/* ---- by the host ---- */

static int take_by_host(struct snapshots *s, bool last, struct snapshot *ret, struct err *err)
{
	uint64_t began = clock_us();
	struct hs_result result;
	uint64_t cpu;

	if (!s->host && hostread_open(s->jvm, !s->options->keep_flags, s->to, &s->host, err) < 0)
		return -1;
	if (hostread_dump(s->host, last, &result, &cpu, err) < 0)
		return err_wrap(err, "read process %d", (int)s->jvm->pid);
	note_status(s, "host", (uint32_t)result.status);
	if (last && *hostread_missing(s->host))
		snprintf(s->note, sizeof(s->note), "host: HotSpot's tables of this JVM lack %s",
			 hostread_missing(s->host));
	*ret = (struct snapshot){
		.entries = result.entries,
		.skipped = result.skipped,
		.us = (uint32_t)(clock_us() - began),
		.cpu_us = cpu,
		.news = result.bytes > QUIET_BYTES,
	};
	s->by_agent = false;
	return 0;
}

/* ---- the way that works ---- */

typedef int take_fn(struct snapshots *s, bool last, struct snapshot *ret, struct err *err);

/* Takes back what a failed one has left. */
static int take_whole(struct snapshots *s, take_fn *take, bool last, struct snapshot *ret,
		      struct err *err)
{
	off_t before = lseek(s->to, 0, SEEK_END);
	struct err ignored;

	if (before < 0)
		return err_set(err, errno, "write the snapshot");
	if (take(s, last, ret, err) == 0)
		return 0;
	s->seq = 0;
	if (ftruncate(s->to, before) < 0 || lseek(s->to, before, SEEK_SET) < 0)
		err_set(&ignored, errno, "take back a snapshot");
	return -1;
}

/* The one way, and the other where that fails; there is always something to say about why. */
static int take_first(struct snapshots *s, take_fn *one, take_fn *other, bool last,
		      struct snapshot *ret, struct err *err)
{
	char why[sizeof(s->note)];

	if (take_whole(s, one, last, ret, err) == 0)
		return 0;
	snprintf(why, sizeof(why), "%s", err->msg);
	if (err->code == ENOSPC || take_whole(s, other, last, ret, err) < 0) {
		snprintf(s->note, sizeof(s->note), "%s", why);
		return -1;
	}
	snprintf(s->note, sizeof(s->note), "%s", why);
	return 0;
}

int snapshots_take(struct snapshots *s, bool last, struct snapshot *ret, struct err *err)
{
	bool asked = s->options->trigger != TRIGGER_AUTO;

	if (s->options->source == SOURCE_AGENT)
		return take_whole(s, take_by_agent, last, ret, err);
	if (s->options->source == SOURCE_HOST || (s->host && !s->by_agent))
		return take_whole(s, take_by_host, last, ret, err);
	if (s->by_agent || asked || agent_is_resident(s->jvm))
		return take_first(s, take_by_agent, take_by_host, last, ret, err);
	snprintf(s->note, sizeof(s->note), "no agent is resident in the JVM");
	return take_first(s, take_by_host, take_by_agent, last, ret, err);
}

void snapshots_fini(struct snapshots *s)
{
	hostread_close(TAKE_PTR(s->host));
}
