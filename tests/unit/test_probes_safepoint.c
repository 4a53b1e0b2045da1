// SPDX-License-Identifier: Apache-2.0
/* Places where all threads have stopped: after a call, or at a function's beginning, JDK 11. */
#include "probe/probes.h"

#include <fcntl.h>
#include <unistd.h>

#include "lib/elfmake.h"
#include "lib/tap.h"
#include "lib/textfile.h"

#define BYTES	      (ELFMAKE_CODE + ELFMAKE_CODE_LEN)
#define BEGIN	      "_ZN20SafepointSynchronize5beginEv@1100+40 "
#define THREADS	      "_ZN20SafepointSynchronize19synchronize_threadsElPi@1200+40 "
#define CLEANUP_TASKS "_ZN20SafepointSynchronize16do_cleanup_tasksEv@1300+40 "
#define CALLING	      "_ZN20SafepointSynchronize3endEv@1180+40 "
#define CALL_AT	      0x1110u

#ifdef __x86_64__
#define PUSH "\x55"
#define CALL 5 /* bytes */
#else
#define PUSH "\xfd\x7b\xbe\xa9"
#define CALL 4
#endif

/* A call of 0x1200 at an offset. */
static void call(char *file, uint32_t at)
{
#ifdef __x86_64__
	const int32_t distance = (int32_t)(0x1200 - at - CALL);

	file[at] = (char)0xe8;
	memcpy(file + at + 1, &distance, sizeof(distance));
#else
	const uint32_t word = 0x25u << 26 | (0x1200 - at) / 4;

	memcpy(file + at, &word, sizeof(word));
#endif
}

static struct flat_probes find(const char *symbols, uint32_t at)
{
	CLEANUP(str_fini) struct str file = {0};
	CLEANUP(close_fd) int fd = -1;
	struct flat_probes ret;
	struct elfmake m;

	elfmake_start(&m);
	elfmake_symbols(&m, SHT_SYMTAB, symbols);
	elfmake_end(&m, &file);
	while (file.len < BYTES)
		str_addc(&file, 0);
	for (uint32_t f = 0x1100; f <= 0x1300; f += 0x80)
		memcpy(file.buf + f, PUSH, sizeof(PUSH) - 1);
	if (at)
		call(file.buf, at);
	fd = file_of(file.buf, file.len);
	flat_find_probes(fd, -1, &ret);
	return ret;
}

static uint64_t stopped(const char *symbols, uint32_t at)
{
	return find(symbols, at).offset[FLAT_PROBE_STOPPED];
}

#define BLOCK "_ZN20SafepointSynchronize5blockEP10JavaThread"
#define OVER  "_ZN20SafepointSynchronize3endEv"

/* JDK 8: gcc has left the head of block to its callers, and there is no SafepointTracing. */
static void test_parts(void)
{
	struct flat_probes p = find(BLOCK "@1100+40 " BLOCK ".part.0@1180+40 " OVER "@1200+40", 0);

	is_int((int64_t)p.offset[FLAT_PROBE_BLOCK], 0x1180, "threads arrive in a part of block");
	is_int((int64_t)p.offset[FLAT_PROBE_END], 0x1200, "it ends where end begins");
	p = find(BLOCK "@1100+40 " BLOCK ".cold@1180+40 " OVER
		       "@1200+40 _ZN16SafepointTracing3endEv@1280+40",
		 0);
	is_int((int64_t)p.offset[FLAT_PROBE_BLOCK], 0x1100, "or in all of it");
	is_int((int64_t)p.offset[FLAT_PROBE_END], 0x1280, "or in SafepointTracing's");
}

int main(void)
{
	is_int((int64_t)stopped(BEGIN THREADS CLEANUP_TASKS, CALL_AT), CALL_AT + CALL,
	       "all have stopped where synchronize_threads returns to");
	is_int((int64_t)stopped(CLEANUP_TASKS THREADS BEGIN, CALL_AT), CALL_AT + CALL,
	       "in whatever order the symbols are");
	is_int((int64_t)stopped(BEGIN CLEANUP_TASKS, CALL_AT), 0x1300,
	       "without it where do_cleanup_tasks begins");
	is_int((int64_t)stopped(BEGIN THREADS CLEANUP_TASKS, 0), 0x1300,
	       "or where nothing calls it");
	is_int((int64_t)stopped(BEGIN THREADS CLEANUP_TASKS CALLING, 0x1190), 0x1300,
	       "or another function does");
	is_int((int64_t)stopped(BEGIN THREADS, 0), 0, "without both it is not known");
	test_parts();
	return tap_done();
}
