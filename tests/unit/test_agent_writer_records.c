// SPDX-License-Identifier: Apache-2.0
/* The agent's snapshot file at every size it can turn out to have. The agent's sources are
 * included, since it is built without a libc and is in no archive. */
#include "agent-jni/writer.h"

#include "agent-jni/text.c"
#include "agent-jni/writer.c"

#include "lib/tap.h"

#define FILE_BYTES (1u << 20)

static char file[FILE_BYTES];

/* Nothing can be written at or after this offset of any file (SIGXFSZ is blocked in main). */
static void limit_set(uint64_t bytes)
{
	uint64_t limit[2];

	sys_call4(__NR_prlimit64, 0, 1 /* RLIMIT_FSIZE */, NULL, limit);
	limit[0] = bytes < limit[1] ? bytes : limit[1];
	sys_call4(__NR_prlimit64, 0, 1, limit, NULL);
}

/* Record n of a snapshot: a CODE now and then as long as several chunks, METHODs between. */
static size_t record_make(char *buf, unsigned n)
{
	struct snap_record r = {.type = n % 3 ? SNAP_METHOD : SNAP_CODE,
				.size = n % 97 == 96 ? 150000 : 24 + n * 56 % 800};

	memset(buf, 0x5a, r.size);
	memcpy(buf, &r, sizeof(r));
	return r.size;
}

/* Writes the records and the end into fd; how many bytes of records there were room for. */
static bool fill(int fd, unsigned records, bool ended)
{
	static struct dump_writer out;
	static char buf[150000];
	struct snap_end end = {.record = {SNAP_END, sizeof(end)}};
	struct trailer t = {.seq = 9, .status = DFG_DUMP_OK, .skipped = 3};
	bool room = true;

	writer_init(&out, fd, false);
	for (unsigned i = 0; i < records && room; i++)
		room = writer_write(&out, buf, record_make(buf, i));
	if (room && ended) {
		end.codes = out.now.entries;
		memcpy(buf, &end, sizeof(end));
		writer_write(&out, buf, sizeof(end));
	}
	return writer_end(&out, &t, ended);
}

/* Checks as the host does. Returns the trailer's status, -1 when anything is wrong. */
static int verify(int fd, unsigned *ret_records)
{
	unsigned codes = 0, entries, skipped, seq;
	unsigned long bytes, us, cpu;
	struct snap_record r = {0};
	struct snap_end end;
	long len = sys_pread(fd, file, sizeof(file) - 1, 0);
	size_t at = 0;
	int status, n = 0;
	static char want[150000];

	file[len < 0 ? 0 : len] = '\0';
	*ret_records = 0;
	for (;; at += r.size) {
		memcpy(&r, file + at, sizeof(r));
		if (r.type == SNAP_END)
			break;
		if (r.size != record_make(want, *ret_records) || memcmp(want, file + at, r.size))
			return -1;
		codes += r.type == SNAP_CODE;
		++*ret_records;
	}
	memcpy(&end, file + at, sizeof(end));
	at += r.size;
	if (sscanf(file + at,
		   DFG_TRAILER_START
		   "seq=%u status=%d entries=%u skipped=%u bytes=%lu us=%lu cpu=%lu\n%n",
		   &seq, &status, &entries, &skipped, &bytes, &us, &cpu, &n) != 7 ||
	    n == 0 || bytes != at || entries != codes || end.codes != codes || seq != 9 ||
	    skipped != 3)
		return -1;
	for (at += (size_t)n; at < (size_t)len; at++)
		if (file[at] != '\0')
			return -1;
	return status;
}

static void test_whole(void)
{
	unsigned records;
	int fd = (int)sys_call2(__NR_memfd_create, "snap", 0);

	ok(fill(fd, 300, true), "a snapshot is written");
	is_int(verify(fd, &records), DFG_DUMP_OK, "and is whole");
	is_int(records, 300, "all of it");
	sys_close(fd);
	fd = (int)sys_call2(__NR_memfd_create, "snap", 0);
	ok(fill(fd, 0, false), "a JVM without tables");
	is_int(verify(fd, &records), DFG_DUMP_OK, "has an end and a trailer all the same");
	sys_close(fd);
}

/* The limit can only go down: from the largest file to the smallest. */
static void test_sizes(void)
{
	unsigned bad = 0, cut = 0, records, last = UINT32_MAX;

	for (uint64_t size = 640000; size >= WRITER_TAIL; size -= size > 140000 ? 997 : 61) {
		int fd = (int)sys_call2(__NR_memfd_create, "snap", 0);
		int status;

		limit_set(size);
		if (!fill(fd, 300, true))
			bad++;
		status = verify(fd, &records);
		bad += status != DFG_DUMP_NO_SPACE && status != DFG_DUMP_OK;
		bad += records > last;
		cut += status == DFG_DUMP_NO_SPACE;
		last = records;
		sys_close(fd);
		if (size < WRITER_TAIL + 61)
			break;
	}
	is_int(bad, 0, "at each size: whole records, an end, a trailer that counts them, zeros");
	ok(cut > 1000, "most of them are too small (%u)", cut);
	is_int(last, 0, "the smallest has no record");
	limit_set(100);
	int fd = (int)sys_call2(__NR_memfd_create, "snap", 0);

	ok(!fill(fd, 300, true), "not even room for an end: no answer");
	sys_close(fd);
}

int main(void)
{
	uint64_t blocked = 1ull << (25 - 1); /* SIGXFSZ */

	sys_call4(__NR_rt_sigprocmask, SYS_SIG_BLOCK, &blocked, NULL, sizeof(blocked));
	test_whole();
	test_sizes();
	return tap_done();
}
