// SPDX-License-Identifier: Apache-2.0
#include "hostread.h"

#include <errno.h>
#include <fcntl.h>

#include "dfg/fs.h"
#include "dfg/request.h"
#include "dfg/str.h"
#include "hsproc.h"
#include "share.h"

struct hostread {
	struct hs_proc *proc;
	void *work, *state;
};

struct sink {
	int fd;
	struct str buf;
	bool failed;
};

static bool sink_flush(struct sink *k)
{
	struct err err;

	k->failed |= k->buf.len > 0 && fs_write_all(k->fd, k->buf.buf, k->buf.len, &err) < 0;
	str_clear(&k->buf);
	return !k->failed;
}

static bool sink_write(void *arg, const char *text, size_t len)
{
	struct sink *k = arg;

	str_add(&k->buf, text, len);
	return k->buf.len < 1 << 16 ? !k->failed : sink_flush(k);
}

static void switch_debug_info(const struct jvm *j, const struct hostread *r)
{
	CLEANUP(close_fd) int mem = openat(j->procfd, "mem", O_WRONLY | O_CLOEXEC);
	const uint8_t on = 1;
	uint64_t addr;
	uint8_t value;

	if (mem >= 0 &&
	    hs_find_flag(hs_proc_source(r->proc), r->work, "DebugNonSafepoints", &addr, &value) &&
	    value == 0)
		(void)!pwrite(mem, &on, sizeof(on), (off_t)addr);
}

int hostread_open(const struct jvm *j, bool debug_info, struct hostread **ret, struct err *err)
{
	struct hostread *r = xcalloc(1, sizeof(*r));

	if (hs_proc_open(j->procfd, &r->proc, err) < 0) {
		hostread_close(r);
		return err_wrap(err, "read process %d", (int)j->pid);
	}
	r->work = xmalloc(HS_WORK_BYTES);
	r->state = xcalloc(1, HS_STATE_BYTES);
	if (debug_info)
		switch_debug_info(j, r);
	*ret = r;
	return 0;
}

void hostread_close(struct hostread *r)
{
	if (!r)
		return;
	hs_proc_close(r->proc);
	free(r->work);
	free(r->state);
	free(r);
}

bool hostread_missing(struct hostread *r, char ret[HS_MISSING_MAX])
{
	return hs_missing(hs_proc_source(r->proc), r->work, ret);
}

int hostread_dump(struct hostread *r, bool last, int to, struct hs_result *ret, struct err *err)
{
	struct sink sink = {.fd = to};
	struct hs_sink out = {.write = sink_write, .arg = &sink};
	char missing[HS_MISSING_MAX];

	hs_dump_delta(hs_proc_source(r->proc), &out, r->work, r->state, last, ret);
	sink_flush(&sink);
	str_fini(&sink.buf);
	if (sink.failed)
		return err_set(err, ENOSPC, "write the snapshot");
	if (!hs_proc_is_there(r->proc))
		return err_set(err, ESRCH, "the JVM ended meanwhile");
	if (ret->bytes == 0 && hostread_missing(r, missing))
		return err_set(err, 0, "HotSpot's tables of this JVM lack %s", missing);
	if (ret->bytes == 0)
		return err_set(err, 0, "%s", answer_status_text((uint32_t)ret->status));
	return 0;
}
