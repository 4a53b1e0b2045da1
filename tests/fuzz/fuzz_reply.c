// SPDX-License-Identifier: Apache-2.0
/* Replies of confined children that a hostile JVM or recording has taken over, as bytes: texts that
 * are shown are clean and end, numbers are in their ranges. The first byte chooses the child. */
#include <math.h>

#include "fuzz/fuzz.h"
/* For what is static. */
#include "record/memory_reader.c"
#include "report/compare.c"

static void check_text(const char *text, size_t size)
{
	require(memchr(text, '\0', size));
	for (; *text; text++)
		require((unsigned char)*text >= ' ' && *text != 0x7f);
}

/* The reader of a JVM's memory: a message of any size, in place of the whole reply. */
static void take_from_reader(const uint8_t *data, size_t size)
{
	static int pair[2] = {-1, -1};
	const struct jvm jvm = {.procfd = AT_FDCWD};
	struct memory_reader h = {.jvm = &jvm, .turns = -1};
	struct reader_order order;
	struct hs_result result;
	uint64_t cpu;
	struct err err = {0};

	if (pair[0] < 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	h.socket = pair[0];
	require(send(pair[1], data, size, 0) == (ssize_t)size);
	if (size && size >= sizeof(struct reader_reply) &&
	    data[offsetof(struct reader_reply, noticed)]) {
		memory_reader_noticed(&h);
		return;
	}
	if (memory_reader_dump(&h, size & 1, 0, &result, &cpu, &err) < 0)
		check_text(err.msg, sizeof(err.msg));
	check_text(h.missing, sizeof(h.missing));
	require(recv(pair[1], &order, sizeof(order), 0) == sizeof(order));
}

static void check_changes(const struct compare_cost *c)
{
	for (size_t i = 0; i < MEASURES; i++) {
		require(isfinite(c->by[i].change) && isfinite(c->by[i].z));
		require(c->by[i].significant || !c->by[i].significant);
	}
}

/* The sandbox of a comparison: its reply, then rows. */
static void take_from_comparison(const uint8_t *data, size_t size)
{
	CLEANUP(close_fd) int fd = memfd_create("rows", MFD_CLOEXEC);
	size_t first = size < sizeof(struct compare_result) ? size : sizeof(struct compare_result);
	CLEANUP(compare_fini) struct compare_result r = {0};
	struct err err;

	memcpy(&r, data, first);
	check_result(&r);
	require(!r.rows && !r.row_count);
	check_changes(&r.whole);
	require(fd >= 0 && fs_write_all(fd, data + first, size - first, &err) == 0 &&
		read_rows(fd, &r, &err) == 0);
	require(r.row_count == (size - first) / sizeof(*r.rows));
	for (size_t i = 0; i < r.row_count; i++) {
		check_text(r.rows[i].method, sizeof(r.rows[i].method));
		check_changes(&r.rows[i].self);
		check_changes(&r.rows[i].total);
		for (size_t k = 0; k < MEASURES; k++)
			require(r.rows[i].via[k] <= r.row_count);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] == 'c')
		take_from_comparison(data + 1, size - 1);
	else if (size > 1)
		take_from_reader(data + 1, size - 1);
	return 0;
}
