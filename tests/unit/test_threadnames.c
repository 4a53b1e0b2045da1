// SPDX-License-Identifier: Apache-2.0
/* Java's names of threads, from made-up snapshots. */
#include "symbols/store.h"

#include <sys/mman.h>

#include "common/fs.h"
#include "common/str.h"
#include "dfg/snapshot.h"
#include "lib/tap.h"
#include "lib/textfile.h"

static void add(struct str *s, uint32_t tid, const char *name, uint32_t claimed)
{
	struct snap_thread t = {.record = {SNAP_THREAD, 0}, .tid = tid, .name_len = claimed};

	t.record.size = (uint32_t)(sizeof(t) + strlen(name) + 7) & ~7u;
	str_add(s, (const char *)&t, sizeof(t));
	str_adds(s, name);
	while (s->len % 8)
		str_addc(s, 0);
}

static void start(struct str *s)
{
	struct snap_head h = {
		.record = {SNAP_HEAD, sizeof(h)}, .magic = SNAP_MAGIC, .version = SNAP_VERSION};

	str_add(s, (const char *)&h, sizeof(h));
}

static void is_named(struct sources *s, pid_t pid, pid_t tid, const char *want)
{
	size_t len = 0;
	const char *got = sources_thread_name(s, pid, tid, &len);

	ok(want ? got && len == strlen(want) && memcmp(got, want, len) == 0 : !got,
	   "%d/%d is %s: %.*s", (int)pid, (int)tid, want ? want : "nothing", (int)len,
	   got ? got : "");
}

int main(void)
{
	CLEANUP(str_fini) struct str first = {0}, later = {0}, other = {0};
	static const struct session_thread threads[] = {
		{7, 1007, 7}, {7, 1008, 8}, {7, 1009, 9}, {7, 1010, 10}, {9, 2007, 7}};
	struct session_map maps[3];
	struct recording in = {.maps = maps, .map_count = 3, .threads = threads, .thread_count = 5};
	CLEANUP(sources_free) struct sources *s = NULL;

	start(&first);
	add(&first, 7, "request-handler-1", 17);
	add(&first, 8, "request-handler-2", 17);
	add(&first, 9, "longer than its record", 1000);
	add(&first, 10, "", 0);
	start(&later);
	add(&later, 7, "renamed", 7);
	start(&later); /* a delta in the same file */
	add(&later, 7, "renamed again", 13);
	str_add(&later, "#dfg1 end of it\n", 16);
	start(&other);
	add(&other, 7, "of another JVM", 14);
	maps[0] = (struct session_map){.pid = 7, .fd = file_of(later.buf, later.len), .order = 1};
	maps[1] = (struct session_map){.pid = 7, .fd = file_of(first.buf, first.len), .order = 0};
	maps[2] = (struct session_map){.pid = 9, .fd = file_of(other.buf, other.len), .order = 0};
	s = sources_new(&in);
	is_named(s, 7, 1007, "renamed again");
	is_named(s, 7, 1008, "request-handler-2");
	is_named(s, 7, 1009, NULL);
	is_named(s, 7, 1010, NULL);
	is_named(s, 7, 7, NULL);
	is_named(s, 9, 2007, "of another JVM");
	is_named(s, 9, 1007, NULL);
	for (size_t i = 0; i < 3; i++)
		close(maps[i].fd);
	return tap_done();
}
