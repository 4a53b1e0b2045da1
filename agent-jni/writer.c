// SPDX-License-Identifier: Apache-2.0
#include "agent-jni/writer.h"

#include "agent-jni/sys.h"
#include "agent-jni/text.h"
#include "dfg/request.h"
#include "dfg/snapshot.h"

_Static_assert(WRITER_TAIL >= sizeof(struct snap_end) + TRAILER_MAX, "the tail holds an end");

/* Writes len bytes at an offset; returns how many were written. */
static size_t write_at(int fd, const void *p, size_t len, uint64_t at)
{
	size_t done = 0;

	while (done < len) {
		long n = sys_pwrite(fd, (const uint8_t *)p + done, len - done, at + done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static void flush(struct dump_writer *w)
{
	size_t len = w->used + (w->is_map ? TRAILER_MAX : WRITER_TAIL), done;

	if (w->full)
		return;
	__builtin_memset(w->buf + w->used, 0, WRITER_TAIL);
	done = write_at(w->fd, w->buf, len, w->at);
	if (w->at + done > w->reach)
		w->reach = w->at + done;
	if (done < len) {
		w->full = true;
		return;
	}
	w->has_tail = true;
	w->at += w->used;
	w->used = 0;
	w->safe = w->now;
}

void writer_init(struct dump_writer *w, int fd, bool is_map)
{
	w->fd = fd;
	w->is_map = is_map;
	w->full = false;
	w->has_tail = false;
	w->at = 0;
	w->reach = 0;
	w->used = 0;
	w->now = (struct writer_mark){0};
	w->safe = w->now;
	/* Makes room for a trailer before anything else is written. */
	flush(w);
}

bool writer_write(void *arg, const char *unit, size_t len)
{
	struct dump_writer *w = arg;
	struct snap_record head;

	for (size_t left = len; left > 0;) {
		size_t n = WRITER_CHUNK - w->used;

		if (n == 0) {
			flush(w);
			if (w->full)
				return false;
			n = WRITER_CHUNK;
		}
		if (n > left)
			n = left;
		__builtin_memcpy(w->buf + w->used, unit + (len - left), n);
		w->used += n;
		left -= n;
	}
	w->now.at += len;
	if (w->is_map) {
		w->now.entries++;
		return true;
	}
	__builtin_memcpy(&head, unit, sizeof(head));
	w->now.entries += head.type == SNAP_CODE;
	w->now.methods += head.type == SNAP_METHOD;
	return true;
}

static size_t trailer_format(const struct trailer *t, int status, uint64_t bytes, uint32_t entries,
			     char *buf)
{
	struct text_builder text = {.buf = buf, .cap = TRAILER_MAX};

	text_adds(&text, DFG_TRAILER_START "seq=");
	text_addu(&text, t->seq);
	text_adds(&text, " status=");
	text_addu(&text, (uint64_t)status);
	text_adds(&text, " entries=");
	text_addu(&text, entries);
	text_adds(&text, " skipped=");
	text_addu(&text, t->skipped);
	text_adds(&text, " bytes=");
	text_addu(&text, bytes);
	text_adds(&text, " us=");
	text_addu(&text, sys_now_us() - t->since_us);
	text_adds(&text, " cpu=");
	text_addu(&text, sys_cpu_us() - t->since_cpu_us);
	text_adds(&text, "\n");
	return text.len;
}

/* Overwrites the rest of what was written with zeros. */
static bool zeros_write(struct dump_writer *w, uint64_t from)
{
	__builtin_memset(w->buf, 0, sizeof(w->buf));
	while (from < w->reach) {
		size_t n = sizeof(w->buf);

		if (n > w->reach - from)
			n = (size_t)(w->reach - from);
		if (write_at(w->fd, w->buf, n, from) != n)
			return false;
		from += n;
	}
	return true;
}

bool writer_end(struct dump_writer *w, const struct trailer *t, bool ended)
{
	struct snap_end end = {.record = {SNAP_END, sizeof(end)}, .skipped = t->skipped};
	char tail[WRITER_TAIL];
	size_t len = 0;

	flush(w);
	if (!w->has_tail)
		return false;
	end.status = w->full ? DFG_DUMP_NO_SPACE : (uint32_t)t->status;
	end.codes = w->safe.entries;
	end.methods = w->safe.methods;
	end.time = sys_now_us() * 1000;
	if (!w->is_map && (w->full || !ended)) {
		__builtin_memcpy(tail, &end, sizeof(end));
		len = sizeof(end);
	}
	len += trailer_format(t, (int)end.status, w->safe.at + len, end.codes, tail + len);
	return write_at(w->fd, tail, len, w->safe.at) == len && zeros_write(w, w->safe.at + len);
}

void writer_refuse(int fd, const struct trailer *t)
{
	char buf[TRAILER_MAX];

	write_at(fd, buf, trailer_format(t, t->status, 0, 0, buf), 0);
}
