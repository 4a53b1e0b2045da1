// SPDX-License-Identifier: Apache-2.0
/* The agent's output file at every size it can turn out to have. The agent's sources are included,
 * since it is built without a libc and is in no archive. */
#include "agent-jni/writer.h"

#include "agent-jni/text.c"
#include "agent-jni/writer.c"

#include "lib/tap.h"

#define FILE_BYTES (1u << 20)

static char file[FILE_BYTES];

static int memory_file(void)
{
	return (int)sys_call2(__NR_memfd_create, "map", 0);
}

/* Nothing can be written at or after this offset of any file (SIGXFSZ is blocked in main). */
static void limit_set(uint64_t bytes)
{
	uint64_t limit[2];

	sys_call4(__NR_prlimit64, 0, 1 /* RLIMIT_FSIZE */, NULL, limit);
	limit[0] = bytes < limit[1] ? bytes : limit[1];
	sys_call4(__NR_prlimit64, 0, 1, limit, NULL);
}

static size_t line_make(char *line, unsigned n)
{
	return (size_t)sprintf(line, "%x %x method.%0*u\n", 0x1000 + n * 64, 64,
			       (int)(n * 37 % 400) + 1, n);
}

/* Writes `lines` lines and the trailer into fd. */
static bool fill(int fd, unsigned lines, uint64_t *ret_bytes)
{
	static struct dump_writer out;
	struct trailer t = {.seq = 9, .status = DFG_DUMP_OK, .skipped = 3};
	char line[512];
	bool room = true;

	*ret_bytes = 0;
	writer_init(&out, fd, true);
	for (unsigned i = 0; i < lines && room; i++) {
		size_t len = line_make(line, i);

		room = writer_write(&out, line, len);
		*ret_bytes += room ? len : 0;
	}
	return writer_end(&out, &t, true);
}

/* Checks as the host does: lines, a trailer that counts them right, and zeros. Returns the
 * trailer's status, -1 when anything is wrong. */
static int verify(int fd, unsigned *ret_lines)
{
	unsigned lines = 0, entries, skipped, seq;
	unsigned long bytes, us, cpu;
	char want[512], *p = file, *end;
	long len, status;

	memset(file, 0, sizeof(file));
	len = sys_pread(fd, file, sizeof(file) - 1, 0);
	while (strncmp(p, DFG_TRAILER_START, strlen(DFG_TRAILER_START)) != 0) {
		size_t n = line_make(want, lines);

		if (strncmp(p, want, n) != 0)
			return -1;
		p += n;
		lines++;
	}
	if (sscanf(p,
		   "#dfg1 end seq=%u status=%ld entries=%u skipped=%u bytes=%lu us=%lu cpu=%lu\n",
		   &seq, &status, &entries, &skipped, &bytes, &us, &cpu) != 7 ||
	    seq != 9 || skipped != 3 || entries != lines || bytes != (unsigned long)(p - file))
		return -1;
	end = strchr(p, '\n');
	if (!end)
		return -1;
	for (end++; end < file + len; end++)
		if (*end)
			return -1;
	*ret_lines = lines;
	return (int)status;
}

static void test_whole(void)
{
	static const unsigned counts[] = {0, 1, 300, 3000};
	uint64_t bytes;

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		unsigned lines = 0;
		int fd = memory_file();

		ok(fill(fd, counts[i], &bytes), "%u lines are written", counts[i]);
		is_int(verify(fd, &lines), DFG_DUMP_OK, "whole");
		is_int(lines, counts[i], "all of them");
		sys_close(fd);
	}
}

/* Each size of file around the chunks and around the end of the map. */
static void test_cut(unsigned lines, long from, long to)
{
	unsigned bad = 0, cut = 0, whole = 0, got;
	uint64_t bytes;

	for (long size = from; size <= to; size++) {
		int fd = memory_file(), status;
		bool done;

		limit_set((uint64_t)size);
		done = fill(fd, lines, &bytes);
		limit_set(UINT64_MAX);
		status = done ? verify(fd, &got) : -1;
		bad += !done || (status != DFG_DUMP_NO_SPACE && status != DFG_DUMP_OK) ||
		       (status == DFG_DUMP_OK && got != lines);
		cut += status == DFG_DUMP_NO_SPACE;
		whole += status == DFG_DUMP_OK;
		sys_close(fd);
	}
	ok(bad == 0, "files of %ld to %ld bytes for %u lines: a trailer in each", from, to, lines);
	printf("# %u cut, %u whole\n", cut, whole);
}

static void test_tiny(void)
{
	uint64_t bytes;
	int fd = memory_file();
	bool done;

	limit_set(40);
	done = fill(fd, 10, &bytes);
	limit_set(UINT64_MAX);
	ok(!done, "no room for a trailer: no answer");
	sys_close(fd);
}

static void test_refuse(void)
{
	struct trailer t = {.seq = 9, .status = DFG_DUMP_NO_MEMORY, .skipped = 3};
	unsigned lines = 1;
	int fd = memory_file();

	writer_refuse(fd, &t);
	is_int(verify(fd, &lines), DFG_DUMP_NO_MEMORY, "an answer without any memory");
	is_int(lines, 0, "has no lines");
	sys_close(fd);
}

int main(void)
{
	uint64_t bytes, mask = 1ull << (25 - 1); /* SIGXFSZ */
	int fd = memory_file();

	sys_call4(__NR_rt_sigprocmask, SYS_SIG_BLOCK, &mask, NULL, sizeof(mask));
	fill(fd, 900, &bytes);
	sys_close(fd);
	test_whole();
	test_cut(900, 192, 700);
	test_cut(900, WRITER_CHUNK - 300, WRITER_CHUNK + 300);
	test_cut(900, 2 * WRITER_CHUNK - 300, 2 * WRITER_CHUNK + 700);
	test_cut(900, (long)bytes - 300, (long)bytes + 200);
	test_tiny();
	test_refuse();
	return tap_done();
}
