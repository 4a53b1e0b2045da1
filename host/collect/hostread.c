// SPDX-License-Identifier: Apache-2.0
#include "hostread.h"

#include <errno.h>
#include <fcntl.h>

#include "dfg/clock.h"
#include "dfg/fs.h"
#include "dfg/hotspot.h"
#include "dfg/request.h"
#include "dfg/run.h"
#include "dfg/str.h"
#include "hsproc.h"

struct task {
	const struct jvm *jvm;
	bool debug_info;
	int to;
};

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

static void switch_debug_info(const struct jvm *j, const struct hs_proc *proc, void *work)
{
	CLEANUP(close_fd) int mem = openat(j->procfd, "mem", O_WRONLY | O_CLOEXEC);
	const uint8_t on = 1;
	uint64_t addr;
	uint8_t value;

	if (mem >= 0 &&
	    hs_find_flag(hs_proc_source(proc), work, "DebugNonSafepoints", &addr, &value) &&
	    value == 0)
		(void)!pwrite(mem, &on, sizeof(on), (off_t)addr);
}

static int snapshot(void *arg, void *reply, struct err *err)
{
	const struct task *t = arg;
	struct hostread_result *ret = reply;
	CLEANUP(hs_proc_close) struct hs_proc *proc = NULL;
	CLEANUP(free) void *work = aligned_alloc(4096, HS_WORK_BYTES);
	struct sink sink = {.fd = t->to};
	struct hs_sink out = {.write = sink_write, .arg = &sink};
	uint64_t began = clock_us();
	struct hs_result result;

	if (!work)
		return err_set(err, ENOMEM, "working memory");
	if (hs_proc_open(t->jvm->procfd, &proc, err) < 0)
		return -1;
	if (t->debug_info)
		switch_debug_info(t->jvm, proc, work);
	hs_dump_snapshot(hs_proc_source(proc), &out, work, &result);
	sink.failed |= fs_write_all(t->to, sink.buf.buf ? sink.buf.buf : "", sink.buf.len, err) < 0;
	str_fini(&sink.buf);
	if (sink.failed)
		return err_set(err, ENOSPC, "write the snapshot");
	*ret = (struct hostread_result){.status = result.status,
					.entries = result.entries,
					.skipped = result.skipped,
					.us = (uint32_t)(clock_us() - began)};
	return 0;
}

int hostread_snapshot(const struct jvm *j, bool debug_info, int to, int ms,
		      struct hostread_result *ret, struct err *err)
{
	struct task t = {.jvm = j, .debug_info = debug_info, .to = to};

	if (run_isolated(snapshot, &t, ret, sizeof(*ret), ms, err) < 0)
		return err_wrap(err, "read process %d", (int)j->pid);
	return 0;
}
