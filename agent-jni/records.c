// SPDX-License-Identifier: Apache-2.0
#include "agent-jni/records.h"

#include "agent-jni/sys.h"
#include "dfg/request.h"
#include "dfg/snapshot.h"

_Static_assert(RECORDS_TAIL >= sizeof(struct snap_end) + TRAILER_MAX, "the tail holds an end");

static void records_flush(struct records *r)
{
	size_t done;

	if (r->full)
		return;
	__builtin_memset(r->buf + r->used, 0, RECORDS_TAIL);
	done = output_write_at(r->fd, (const char *)r->buf, r->used + RECORDS_TAIL, r->at);
	if (r->at + done > r->reach)
		r->reach = r->at + done;
	if (done < r->used + RECORDS_TAIL) {
		r->full = true;
		return;
	}
	r->room = true;
	r->at += r->used;
	r->used = 0;
	r->safe = r->now;
}

void records_init(struct records *r, int fd)
{
	r->fd = fd;
	r->full = false;
	r->room = false;
	r->at = 0;
	r->reach = 0;
	r->used = 0;
	r->now = (struct records_mark){0};
	r->safe = r->now;
	/* Room for an answer, whatever it is going to be. */
	records_flush(r);
}

bool records_write(void *arg, const char *record, size_t len)
{
	struct records *r = arg;
	struct snap_record head;

	__builtin_memcpy(&head, record, sizeof(head));
	for (size_t left = len; left > 0;) {
		size_t n = RECORDS_CHUNK - r->used;

		if (n == 0) {
			records_flush(r);
			if (r->full)
				return false;
			n = RECORDS_CHUNK;
		}
		if (n > left)
			n = left;
		__builtin_memcpy(r->buf + r->used, record + (len - left), n);
		r->used += n;
		left -= n;
	}
	r->now.at += len;
	r->now.codes += head.type == SNAP_CODE;
	r->now.methods += head.type == SNAP_METHOD;
	return true;
}

static bool zeros_write(struct records *r, uint64_t from)
{
	__builtin_memset(r->buf, 0, sizeof(r->buf));
	while (from < r->reach) {
		size_t n = sizeof(r->buf);

		if (n > r->reach - from)
			n = (size_t)(r->reach - from);
		if (output_write_at(r->fd, (const char *)r->buf, n, from) != n)
			return false;
		from += n;
	}
	return true;
}

bool records_end(struct records *r, const struct trailer *t, bool ended)
{
	char tail[RECORDS_TAIL];
	struct snap_end end = {.record = {SNAP_END, sizeof(end)},
			       .skipped = t->skipped,
			       .time = sys_now_us() * 1000};
	size_t len = 0;

	records_flush(r);
	if (!r->room)
		return false;
	end.status = r->full ? DFG_DUMP_NO_SPACE : (uint32_t)t->status;
	end.codes = r->safe.codes;
	end.methods = r->safe.methods;
	if (r->full || !ended) {
		__builtin_memcpy(tail, &end, sizeof(end));
		len = sizeof(end);
	}
	len += trailer_make(t, (int)end.status, r->safe.at + len, end.codes, tail + len);
	return output_write_at(r->fd, tail, len, r->safe.at) == len &&
	       zeros_write(r, r->safe.at + len);
}
