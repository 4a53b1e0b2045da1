// SPDX-License-Identifier: Apache-2.0
/* One request to the agent and its answer in the share, of a HotSpot in this process: maps,
 * snapshots, series of deltas, and files that cannot be written. The sources are included, since
 * the agent is built without a libc and is in no archive. */
#include "agent-jni/agent.h"
#include "agent-jni/writer.h"

#include "agent-jni/dump.c"
#include "agent-jni/jvm_memory.c"
#include "agent-jni/request.c"
#include "agent-jni/text.c"

#include "agent-jni/writer.c"

#include "dfg/snapshot.h"
#include "lib/agentjvm.h"
#include "lib/tap.h"

static char top[] = "/tmp/dfg-dump.XXXXXX";
static char library[64];
static char answer[1u << 20]; /* the last one */
static long answer_len;

static void path_of(char path[256], const char *name)
{
	snprintf(path, 256, "%s/%s", top, name);
}

static void file_put(const char *name, const char *text)
{
	char path[256];
	int fd;

	path_of(path, name);
	unlink(path);
	fd = sys_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	sys_write(fd, text, strlen(text));
	sys_close(fd);
}

static void file_read(const char *name)
{
	char path[256];
	int fd;

	path_of(path, name);
	fd = sys_open(path, O_RDONLY | O_NONBLOCK); /* a FIFO may be there */
	answer_len = sys_read(fd, answer, sizeof(answer) - 1);
	answer[answer_len > 0 ? answer_len : 0] = '\0';
	sys_close(fd);
}

static struct request request_of(const char *name, uint32_t seq)
{
	struct request r = {.seq = seq, .host_pid = 1};

	snprintf(r.name, sizeof(r.name), "%s", name);
	snprintf(r.dir, sizeof(r.dir), "%s", top);
	return r;
}

struct reply {
	bool served;
	unsigned seq, status, entries, skipped;
	unsigned long bytes, us, cpu;
};

static struct reply serve(struct request r)
{
	struct reply reply = {0};
	const char *trailer;

	reply.served = dump_serve(&r, &agentjvm_vm, sys_now_us());
	file_read(r.name);
	trailer = answer_len > 0 ? memmem(answer, (size_t)answer_len, DFG_TRAILER_START,
					  sizeof(DFG_TRAILER_START) - 1)
				 : NULL;
	if (trailer &&
	    sscanf(trailer,
		   "#dfg1 end seq=%u status=%u entries=%u skipped=%u bytes=%lu us=%lu cpu=%lu",
		   &reply.seq, &reply.status, &reply.entries, &reply.skipped, &reply.bytes,
		   &reply.us, &reply.cpu) != 7)
		abort();
	if (trailer && reply.bytes != (unsigned long)(trailer - answer))
		abort();
	return reply;
}

/* The answer in a new file. */
static struct reply ask(const char *name, uint32_t seq)
{
	file_put(name, "");
	return serve(request_of(name, seq));
}

/* An answer of a series. */
static struct reply follow(uint32_t seq, uint32_t since, uint32_t keep)
{
	struct request r = request_of("series.snap", seq);

	file_put("series.snap", "");
	r.since = since;
	r.keep = keep;
	return serve(r);
}

static bool is_delta(void)
{
	struct snap_head head;

	memcpy(&head, answer, sizeof(head));
	if (head.magic != SNAP_MAGIC)
		abort();
	return (head.flags & SNAP_DELTA) != 0;
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += sys_call2(__NR_fcntl, fd, F_GETFD) >= 0;
	return n;
}

/* ---- answers ---- */

static void test_map(void)
{
	int fds = count_fds();
	struct reply r = ask("perf-1.map", 7);

	ok(r.served, "a map is served");
	is_int(r.seq, 7, "with its number");
	is_int(r.status, DFG_DUMP_OK, "it is whole");
	is_int(r.entries, 4, "it has all code");
	ok(strstr(answer, " com.example.Main.run\n") != NULL, "a method has its name");
	ok(r.us < 60000000, "its time is from the wake-up on (%lu us)", r.us);
	ok(r.cpu < 60000000, "its CPU time is the thread's since then (%lu us)", r.cpu);
	is_int(count_fds(), fds, "no descriptor is left");
	is_int(dump_cache_expire(), -1, "no memory is kept");
}

static void test_snapshot(void)
{
	static const struct {
		const char *name;
		bool is_snapshot;
	} rows[] = {{"a.snap", true},	{"a.snap.snap", true}, {".snap", false},
		    {"a.snapx", false}, {"a.snap.map", false}, {"asnap", false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct reply r = ask(rows[i].name, 1);
		uint64_t magic;

		memcpy(&magic, answer + offsetof(struct snap_head, magic), sizeof(magic));
		is_int(r.status, DFG_DUMP_OK, "the answer in \"%s\" is whole", rows[i].name);
		is_int(magic == SNAP_MAGIC, rows[i].is_snapshot, "it is a %s",
		       rows[i].is_snapshot ? "snapshot" : "map");
		if (rows[i].is_snapshot)
			is_int(r.entries, 4, "with all code");
	}
}

static void test_series(void)
{
	uint64_t began = sys_now_us();
	struct reply r = follow(1, 0, 30);
	int fds = count_fds(), left;

	is_int(r.entries, 4, "the first of a series has all code");
	ok(!is_delta(), "it is whole");
	left = dump_cache_expire();
	ok(left <= 30001 && left >= 30000 - (int)((sys_now_us() - began) / 1000),
	   "what it wrote is kept for its seconds (%d ms)", left);
	r = follow(2, 1, 20);
	ok(is_delta(), "the next is a delta");
	is_int(r.entries, 0, "it has what changed: nothing");
	is_int(r.seq, 2, "and its number");
	left = dump_cache_expire();
	ok(left > 10000 && left <= 20001, "each sets the time anew (%d ms)", left);
	is_int(count_fds(), fds, "no descriptor is left by it");
	r = follow(3, 2, 0);
	ok(is_delta(), "the last, which keeps nothing, is a delta, too");
	is_int(dump_cache_expire(), -1, "nothing is kept after it");
	ok(count_fds() < fds, "its descriptors are closed");
	r = follow(4, 3, 30);
	ok(!is_delta() && r.entries == 4, "after that it begins again, whole");
	r = follow(5, 3, 30);
	ok(!is_delta() && r.entries == 4, "one that follows another answer is whole");
	r = follow(6, 5, 30);
	ok(is_delta(), "it begins a series, too");
	ask("b.map", 7);
	is_int(dump_cache_expire(), -1, "a map in between ends the series");
	r = follow(8, 7, 30);
	ok(!is_delta() && r.entries == 4, "the next is whole");
	follow(9, 0, 0);
	is_int(dump_cache_expire(), -1, "a whole one that keeps nothing leaves nothing");
}

static void test_expiry(void)
{
	uint64_t began = sys_now_us();

	follow(1, 0, 1);
	while (dump_cache_expire() >= 0)
		sys_call0(__NR_sched_yield);
	ok(sys_now_us() - began >= 1000000, "the memory of a series lasts for its seconds");
	follow(2, 1, 1);
	ok(!is_delta(), "after its time a series begins again");
	follow(3, 0, 0);
}

/* Methods that ran only after the first snapshot, of classes that are old. */
static void test_named(void)
{
	struct request r = request_of("named.snap", 2);
	uint64_t now = 0x1000;
	unsigned len;

	follow(1, 0, 30);
	memcpy((void *)(uintptr_t)(agentjvm_image.idle + 48), &now, sizeof(now));
	r.since = 1;
	r.keep = 30;
	file_put("named.snap", "");
	len = (unsigned)serve(r).bytes;
	ok(is_delta() && len == sizeof(struct snap_head) + sizeof(struct snap_end),
	   "a delta does not walk all classes");
	r.seq = 3;
	r.since = 2;
	r.named = true;
	file_put("named.snap", "");
	len = (unsigned)serve(r).bytes;
	ok(is_delta() && len > sizeof(struct snap_head) + sizeof(struct snap_end),
	   "one with named=1 does: a method has begun to run");
	now = 0;
	memcpy((void *)(uintptr_t)(agentjvm_image.idle + 48), &now, sizeof(now));
	follow(4, 3, 0);
}

/* ---- failures ---- */

static void test_files(void)
{
	char path[256], victim[256];
	struct request r;

	path_of(path, "link");
	path_of(victim, "victim");
	r = request_of("missing", 1);
	ok(!serve(r).served, "a file that is missing is not made");
	is_int(answer_len, -9, "there is none");
	file_put("victim", "precious");
	(void)!symlink(victim, path);
	ok(!serve(request_of("link", 1)).served, "a link is not followed");
	file_read("victim");
	is_str(answer, "precious", "what it points to stays");
	unlink(path);
	sys_call4(__NR_mknodat, AT_FDCWD, path, 0010600, 0);
	ok(!serve(request_of("link", 1)).served, "a FIFO is not waited for");
	unlink(path);
	sys_call3(__NR_mkdirat, AT_FDCWD, path, 0700);
	ok(!serve(request_of("link", 1)).served, "a directory is no file");
	rmdir(path);
	r = request_of("victim", 1);
	snprintf(r.dir, sizeof(r.dir), "%s/nowhere", top);
	ok(!dump_serve(&r, &agentjvm_vm, sys_now_us()), "a share that is missing has no file");
	is_int(serve(request_of("victim", 1)).status, DFG_DUMP_OK, "what was there is overwritten");
}

/* The most of one resource, of RLIMIT_FSIZE or RLIMIT_AS. */
static void limit_set(int resource, uint64_t most)
{
	uint64_t limit[2];

	sys_call4(__NR_prlimit64, 0, resource, NULL, limit);
	limit[0] = most < limit[1] ? most : limit[1];
	sys_call4(__NR_prlimit64, 0, resource, limit, NULL);
}

static void test_no_space(void)
{
	static const char *const names[] = {"full.map", "full.snap"};
	uint64_t mask = 1ull << (25 - 1); /* SIGXFSZ */

	sys_call4(__NR_rt_sigprocmask, SYS_SIG_BLOCK, &mask, NULL, sizeof(mask));
	for (int i = 0; i < 2; i++) {
		struct reply r;

		limit_set(1 /* RLIMIT_FSIZE */, 300);
		r = ask(names[i], 3);
		limit_set(1, UINT64_MAX);
		ok(r.served, "a share that is full is answered in: %s", names[i]);
		is_int(r.status, DFG_DUMP_NO_SPACE, "with the status that says so");
		ok(r.entries < 4, "and what there was room for (%u)", r.entries);
	}
	is_int(ask("a.snap", 4).status, DFG_DUMP_OK, "with room the next is whole");
}

static void test_no_memory(void)
{
	struct reply r;

	limit_set(9 /* RLIMIT_AS */, 1u << 20);
	r = ask("a.snap", 3);
	limit_set(9, UINT64_MAX);
	ok(r.served, "without memory a request is answered");
	is_int(r.status, DFG_DUMP_NO_MEMORY, "with the status that says so");
	is_int(r.bytes, 0, "and nothing else");
	is_int(r.seq, 3, "but its number");
	is_int(dump_cache_expire(), -1, "nothing is kept");
}

static void test_no_jvm(void)
{
	static const char *const names[] = {"none.map", "none.snap"};
	int fds = count_fds();
	struct reply r;

	for (int i = 0; i < 2; i++) {
		r = ask(names[i], 9);
		is_int(r.status, DFG_DUMP_NO_TABLES, "%s: without a JVM there are no tables",
		       names[i]);
		is_int(r.entries, 0, "nothing is in the answer");
	}
	r = follow(1, 0, 30);
	is_int(r.status, DFG_DUMP_NO_TABLES, "a series begins without tables");
	is_int(count_fds(), fds, "no descriptor is left");
	agentjvm_map(library, IMAGE_25);
	r = follow(2, 1, 30);
	is_int(r.status, DFG_DUMP_OK, "a JVM that comes later is found");
	follow(3, 0, 0);
}

/* ---- request files ---- */

static void test_request(void)
{
	static char line[DFG_REQUEST_MAX + 2];
	struct request r;
	char path[256];
	size_t len;

	is_int(dump_read_request("/nowhere", 5, &r), -1, "there may be no control directory");
	path_of(path, "request.5");
	is_int(dump_read_request(path, 5, &r), -1, "or a file in its place");
	is_int(dump_read_request(top, 5, &r), 0, "there may be no request");
	file_put("request.5", "dfg1 dump seq=3 host_pid=4 out=a.map\n");
	is_int(dump_read_request(path, 5, &r), -1, "a file is no control directory");
	is_int(dump_read_request(top, 5, &r), 1, "a request is read");
	is_int(r.seq, 3, "its number");
	is_str(r.name, "a.map", "its file");
	is_int(dump_read_request(top, 51, &r), 0, "it is for one process");
	file_put("request.5", "dfg2 dump\n");
	is_int(dump_read_request(top, 5, &r), 0, "what is malformed is none");
	file_put("request.5", "");
	is_int(dump_read_request(top, 5, &r), 0, "nor is an empty file");
	len = (size_t)sprintf(line, "dfg1 dump seq=3 host_pid=4 out=a.map ");
	memset(line + len, 'x', sizeof(line) - len - 1);
	line[DFG_REQUEST_MAX - 1] = '\n';
	line[DFG_REQUEST_MAX] = '\0';
	file_put("request.5", line);
	is_int(dump_read_request(top, 5, &r), 1, "the longest request is read");
	line[DFG_REQUEST_MAX - 1] = 'x';
	line[DFG_REQUEST_MAX] = '\n';
	file_put("request.5", line);
	is_int(dump_read_request(top, 5, &r), 0, "a longer one is not");
	unlink(path);
	sys_call4(__NR_mknodat, AT_FDCWD, path, 0010600, 0);
	is_int(dump_read_request(top, 5, &r), 0, "a FIFO is not waited for");
	unlink(path);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(top))
		abort();
	snprintf(library, sizeof(library), "%s/libjvm.so", top);
	test_no_jvm();
	test_map();
	test_snapshot();
	test_series();
	test_expiry();
	test_named();
	test_files();
	test_no_space();
	test_no_memory();
	test_request();
	snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command) ? 1 : tap_done();
}
