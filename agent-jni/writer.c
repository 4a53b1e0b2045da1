// SPDX-License-Identifier: Apache-2.0
#include "agent-jni/writer.h"

#include "agent-jni/sys.h"
#include "agent-jni/text.h"
#include "dfg/request.h"

void output_init(struct output *out, int fd)
{
	out->fd = fd;
	out->full = false;
	out->lines = 0;
	out->at = 0;
	out->used = 0;
	out->written = 0;
}

size_t output_write_at(int fd, const char *p, size_t len, uint64_t at)
{
	size_t done = 0;

	while (done < len) {
		long n = sys_pwrite(fd, p + done, len - done, at + done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static void flush(struct output *out)
{
	size_t want = out->used - out->written;

	if (out->full || want == 0)
		return;
	out->written +=
		output_write_at(out->fd, out->buf + out->written, want, out->at + out->written);
	out->full = out->written < out->used;
}

/* Drops what is written, but for the last OUTPUT_KEEP bytes. */
static void drop(struct output *out)
{
	size_t n = out->written > OUTPUT_KEEP ? out->written - OUTPUT_KEEP : 0;

	__builtin_memmove(out->buf, out->buf + n, out->used - n);
	out->at += n;
	out->used -= n;
	out->written -= n;
}

bool output_write(void *arg, const char *text, size_t len)
{
	struct output *out = arg;

	if (len > sizeof(out->buf) - out->used) {
		flush(out);
		if (out->full)
			return false;
		drop(out);
	}
	__builtin_memcpy(out->buf + out->used, text, len);
	out->used += len;
	for (size_t i = 0; i < len; i++)
		out->lines += text[i] == '\n';
	return true;
}

size_t trailer_make(const struct trailer *t, int status, uint64_t bytes, uint32_t entries,
		    char *buf)
{
	struct text text = {.buf = buf, .cap = TRAILER_MAX};

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

/* The longest prefix of whole lines that leaves room for a trailer in what the file has taken.
 * Returns -1 when there is none in memory. */
static long cut_find(const struct output *out)
{
	size_t cut = out->written;

	if (cut < TRAILER_MAX)
		return -1;
	cut -= TRAILER_MAX;
	while (cut > 0 && out->buf[cut - 1] != '\n')
		cut--;
	return cut > 0 || out->at == 0 ? (long)cut : -1;
}

/* Puts the trailer where the last lines were, and zeros over the rest of them. */
static bool end_cut(struct output *out, const struct trailer *t)
{
	long cut = cut_find(out);
	uint32_t lines = out->lines;
	size_t len, end = out->written;

	if (cut < 0)
		return false;
	for (size_t i = (size_t)cut; i < out->used; i++)
		lines -= out->buf[i] == '\n';
	len = trailer_make(t, DFG_DUMP_NO_SPACE, out->at + (size_t)cut, lines, out->buf + cut);
	for (size_t i = (size_t)cut + len; i < end; i++)
		out->buf[i] = '\0';
	return output_write_at(out->fd, out->buf + cut, end - (size_t)cut, out->at + (size_t)cut) ==
	       end - (size_t)cut;
}

bool output_end(struct output *out, const struct trailer *t)
{
	char trailer[TRAILER_MAX];
	uint64_t end;
	size_t len, done;

	flush(out);
	if (!out->full) {
		end = out->at + out->used;
		len = trailer_make(t, t->status, end, out->lines, trailer);
		done = output_write_at(out->fd, trailer, len, end);
		if (done == len)
			return true;
		/* The map fits, its trailer does not: what there is of it counts as written. */
		out->full = true;
		drop(out);
		__builtin_memcpy(out->buf + out->used, trailer, done);
		out->used += done;
		out->written += done;
	}
	return end_cut(out, t);
}

void output_refuse(int fd, const struct trailer *t)
{
	char buf[TRAILER_MAX];

	output_write_at(fd, buf, trailer_make(t, t->status, 0, 0, buf), 0);
}
