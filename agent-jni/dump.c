// SPDX-License-Identifier: Apache-2.0
#include "agent-jni/agent.h"
#include "agent-jni/jvm_memory.h"
#include "agent-jni/request.h"
#include "agent-jni/sys.h"
#include "agent-jni/writer.h"

#define PATH_BYTES (AGENT_PATH_MAX + 300)

/* Working memory of a dump. With keep= (dfg/request.h) it is cached for some seconds, so that the
 * next request of the series gets a cheap delta. */
struct dump_cache {
	_Alignas(16) uint8_t work[HS_WORK_BYTES];
	_Alignas(16) uint8_t state[HS_STATE_BYTES];
	struct dump_writer writer;
	struct agent_memory memory;
	bool is_open;	/* memory is open */
	bool is_series; /* state is valid: requests have keep= */
};

static struct {
	struct dump_cache *cache; /* NULL: none */
	uint32_t seq;		  /* of the last request */
	uint64_t until_us;
} last;

static void cache_free(void)
{
	if (!last.cache)
		return;
	if (last.cache->is_open)
		jvm_memory_close(&last.cache->memory);
	sys_unmap(last.cache, sizeof(*last.cache));
	last.cache = NULL;
}

/* Returns the cache if the request continues its series, else a new, zeroed one. NULL: no memory.
 */
static struct dump_cache *cache_get(const struct request *request, const void *vm)
{
	struct dump_cache *c;

	if (request->since == 0 || request->since != last.seq)
		cache_free();
	if (!last.cache) {
		last.cache = sys_map(sizeof(*last.cache));
		if (!last.cache)
			return NULL;
		last.cache->is_series = request->keep > 0;
	}
	c = last.cache;
	if (!c->is_open && !(c->is_open = jvm_memory_open(&c->memory, vm)))
		jvm_memory_close(&c->memory);
	return c;
}

/* Frees the cache after a dump, unless the request keeps it. */
static void cache_put(const struct request *request)
{
	if (request->keep == 0)
		cache_free();
	/* A whole snapshot has touched far more memory than deltas will. */
	else if (request->since == 0)
		sys_discard(last.cache->work, sizeof(last.cache->work));
	last.seq = request->seq;
	last.until_us = sys_now_us() + request->keep * 1000000ull;
}

int dump_cache_expire(void)
{
	uint64_t now = sys_now_us();

	if (last.cache && now >= last.until_us)
		cache_free();
	return last.cache ? (int)((last.until_us - now) / 1000) + 1 : -1;
}

static void path_make(char *path, const char *dir, const char *name, uint64_t number, bool numbered)
{
	struct text_builder t = {.buf = path, .cap = PATH_BYTES};

	text_adds(&t, dir);
	text_adds(&t, "/");
	text_adds(&t, name);
	if (numbered)
		text_addu(&t, number);
}

/* O_NONBLOCK: a FIFO in place of the file must not block the thread. */
static int file_open(const char *path, int flags)
{
	int fd = sys_open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && !sys_is_file(fd)) {
		sys_close(fd);
		return -1;
	}
	return fd;
}

static bool wants_snapshot(const char *name)
{
	static const char end[] = ".snap";
	size_t len = scan_of(name).len, tail = sizeof(end) - 1;

	return len > tail && __builtin_memcmp(name + len - tail, end, tail) == 0;
}

static void dump_write(int fd, const struct request *request, const void *vm,
		       struct trailer *trailer)
{
	bool is_map = !wants_snapshot(request->name);
	struct hs_result result = {.status = DFG_DUMP_NO_TABLES};
	struct dump_cache *c = cache_get(request, vm);
	struct hs_sink sink = {.write = writer_write};

	if (!c) {
		trailer->status = DFG_DUMP_NO_MEMORY;
		writer_refuse(fd, trailer);
		return;
	}
	sink.arg = &c->writer;
	writer_init(&c->writer, fd, is_map);
	if (c->is_open && is_map)
		hs_dump_map(&c->memory.source, &sink, c->work, &result);
	else if (c->is_open && c->is_series)
		hs_dump_delta(&c->memory.source, &sink, c->work, c->state,
			      request->named || request->keep == 0, &result);
	else if (c->is_open)
		hs_dump_snapshot(&c->memory.source, &sink, c->work, &result);
	trailer->status = result.status;
	trailer->skipped = result.skipped;
	writer_end(&c->writer, trailer, result.status != DFG_DUMP_NO_TABLES);
	cache_put(request);
}

bool dump_serve(const struct request *request, const void *vm, uint64_t since_us)
{
	struct trailer trailer = {
		.seq = request->seq, .since_us = since_us, .since_cpu_us = sys_cpu_us()};
	char path[PATH_BYTES];
	int fd;

	path_make(path, request->dir, request->name, 0, false);
	fd = file_open(path, O_WRONLY);
	if (fd < 0)
		return false;
	dump_write(fd, request, vm, &trailer);
	sys_close(fd);
	return true;
}

int dump_read_request(const char *ctl, int pid, struct request *ret)
{
	char path[PATH_BYTES], line[DFG_REQUEST_MAX + 1];
	long len;
	int fd = sys_open(ctl, O_PATH | O_DIRECTORY);

	if (fd < 0)
		return -1;
	sys_close(fd);
	path_make(path, ctl, "request.", (uint64_t)pid, true);
	fd = file_open(path, O_RDONLY);
	if (fd < 0)
		return 0;
	len = sys_read(fd, line, sizeof(line));
	sys_close(fd);
	return len > 0 && len <= DFG_REQUEST_MAX && request_parse(line, (size_t)len, ret);
}
