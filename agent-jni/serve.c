// SPDX-License-Identifier: Apache-2.0
#include "agent-jni/serve.h"

#include "agent-jni/dump.h"
#include "agent-jni/sys.h"

#define PATH_BYTES (AGENT_PATH_MAX + 300)

static void path_make(char *path, const char *dir, const char *name, uint64_t number, bool numbered)
{
	struct text t = {.buf = path, .cap = PATH_BYTES};

	text_adds(&t, dir);
	text_adds(&t, "/");
	text_adds(&t, name);
	if (numbered)
		text_addu(&t, number);
}

/* O_NONBLOCK: a FIFO in the place of the file must not hold the thread. */
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

static void map_write(struct kept *k, int fd, const struct order *order, struct trailer *trailer)
{
	struct hs_result result = {.status = DFG_DUMP_NO_TABLES};
	struct hs_sink sink = {.write = output_write, .arg = &k->output};

	(void)order;
	output_init(&k->output, fd);
	if (k->found)
		hs_dump_map(&k->self.source, &sink, k->work, &result);
	trailer->status = result.status;
	trailer->skipped = result.skipped;
	output_end(&k->output, trailer);
}

static void snapshot_write(struct kept *k, int fd, const struct order *order,
			   struct trailer *trailer)
{
	struct hs_result result = {.status = DFG_DUMP_NO_TABLES};
	struct hs_sink sink = {.write = records_write, .arg = &k->records};

	records_init(&k->records, fd);
	if (k->found && k->remembers)
		hs_dump_delta(&k->self.source, &sink, k->work, k->state, order->keep == 0, &result);
	else if (k->found)
		hs_dump_snapshot(&k->self.source, &sink, k->work, &result);
	trailer->status = result.status;
	trailer->skipped = result.skipped;
	records_end(&k->records, trailer, result.status != DFG_DUMP_NO_TABLES);
}

static void dump_write(int fd, const struct order *order, const void *vm, struct trailer *trailer)
{
	struct kept *k = kept_take(order, vm);

	if (!k) {
		trailer->status = DFG_DUMP_NO_MEMORY;
		output_refuse(fd, trailer);
		return;
	}
	(wants_snapshot(order->name) ? snapshot_write : map_write)(k, fd, order, trailer);
	kept_give(order);
}

bool serve_order(const struct order *order, const void *vm, uint64_t since_us)
{
	struct trailer trailer = {
		.seq = order->seq, .since_us = since_us, .since_cpu_us = sys_cpu_us()};
	char path[PATH_BYTES];
	int fd;

	path_make(path, order->dir, order->name, 0, false);
	fd = file_open(path, O_WRONLY);
	if (fd < 0)
		return false;
	dump_write(fd, order, vm, &trailer);
	sys_close(fd);
	return true;
}

int serve_read_request(const char *ctl, int pid, struct order *ret)
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
	return len > 0 && len <= DFG_REQUEST_MAX && order_parse(line, (size_t)len, ret);
}

void serve_publish(const char *dir, int pid, int tid, int signal)
{
	char path[PATH_BYTES], line[96];
	struct text t = TEXT_OF(line);
	int fd;

	text_adds(&t, "dfg1 agent signal=");
	text_addu(&t, (uint64_t)signal);
	text_adds(&t, " tid=");
	text_addu(&t, (uint64_t)tid);
	text_adds(&t, "\n");
	path_make(path, dir, "agent.", (uint64_t)pid, true);
	sys_call3(__NR_unlinkat, AT_FDCWD, path, 0);
	fd = sys_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
	if (fd < 0)
		return;
	/* Whatever the umask is, the host may read it. */
	sys_call2(__NR_fchmod, fd, 0644);
	sys_write(fd, line, t.len);
	sys_close(fd);
}

static bool thread_is_agent(const char *tid)
{
	static const char name[] = DFG_THREAD_NAME "\n";
	char path[64], comm[32];
	struct text t = TEXT_OF(path);
	long len = 0;
	int fd;

	text_adds(&t, "/proc/self/task/");
	text_adds(&t, tid);
	text_adds(&t, "/comm");
	fd = sys_open(path, O_RDONLY);
	if (fd >= 0) {
		len = sys_read(fd, comm, sizeof(comm));
		sys_close(fd);
	}
	return len == (long)sizeof(name) - 1 && __builtin_memcmp(comm, name, (size_t)len) == 0;
}

struct dirent64 { /* getdents64(2) */
	uint64_t inode;
	int64_t next;
	uint16_t len;
	uint8_t type;
	char name[];
};

bool serve_other_resident(int tid)
{
	_Alignas(struct dirent64) char buf[4096];
	int fd = sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY);
	bool found = false;
	long n;

	while (fd >= 0 && !found && (n = sys_call3(__NR_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n && !found;) {
			const struct dirent64 *e = (const void *)(buf + at);
			struct scan name = scan_of(e->name);
			uint64_t number;

			found = scan_number(&name, 1u << 30, &number) && (int)number != tid &&
				thread_is_agent(e->name);
			at += e->len;
		}
	}
	if (fd >= 0)
		sys_close(fd);
	return found;
}
