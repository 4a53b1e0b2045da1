// SPDX-License-Identifier: Apache-2.0
/* perfrec PID SECONDS HZ STACK_BYTES OUT: records a process like perf does, but with all of it in
 * each sample: the kernel's walk along the frame pointers, the registers, and a copy of the stack.
 * So an unwinder's frames can be held against those of the frame pointers, sample by sample.
 *
 * As root: it opens an event on each CPU and keeps the process's samples. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "common/fs.h"
#include "lib/perffile.h"

#define RING_PAGES 2048u /* a power of 2 */
#define PAGE	   4096u
#define RING	   ((uint64_t)RING_PAGES * PAGE)
#define CPUS	   64
#define REGISTERS  0xff01ffull /* perf_regs.h: AX to IP, R8 to R15 */

static struct perf_event_attr make_attr(uint64_t hz, uint32_t stack)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = hz,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = REGISTERS,
		.sample_stack_user = stack,
		.sample_max_stack = 127,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.task = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.disabled = 1,
		.wakeup_watermark = RING / 4,
		.watermark = 1,
	};
}

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

static bool ring_open(struct ring *r, struct perf_event_attr *attr, int cpu)
{
	void *p;

	r->fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0)
		return false;
	p = mmap(NULL, RING + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	r->page = p;
	return p != MAP_FAILED;
}

/* The process a record is about: the first number after its header, but for samples (IP before)
 * and what the kernel says of itself. */
static bool is_about(const struct perf_event_header *h, const uint8_t *body, uint32_t pid)
{
	uint32_t got;

	if (h->type == PERF_RECORD_LOST)
		return true;
	memcpy(&got, body + (h->type == PERF_RECORD_SAMPLE ? 8 : 0), sizeof(got));
	return got == pid;
}

static void copy_out(const struct ring *r, uint64_t at, void *to, size_t len)
{
	const uint8_t *data = (const uint8_t *)r->page + PAGE;

	for (size_t i = 0; i < len; i++)
		((uint8_t *)to)[i] = data[(at + i) % RING];
}

static size_t ring_drain(struct ring *r, uint32_t pid, struct str *out)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = r->page->data_tail;
	static uint8_t record[1 << 16];
	size_t samples = 0;

	while (at < head) {
		struct perf_event_header h;

		copy_out(r, at, &h, sizeof(h));
		copy_out(r, at, record, h.size);
		if (h.size >= 24 && is_about(&h, record + sizeof(h), pid)) {
			str_add(out, record, h.size);
			samples += h.type == PERF_RECORD_SAMPLE;
		}
		at += h.size;
	}
	__atomic_store_n(&r->page->data_tail, at, __ATOMIC_RELEASE);
	return samples;
}

/* What is mapped already. */
static void add_maps(struct perffile *f, uint32_t pid)
{
	CLEANUP(free) char *path = xasprintf("/proc/%u/maps", pid);
	CLEANUP(fclose) FILE *maps = fopen(path, "re");
	char line[4400], perms[8], name[4200];
	uint64_t start, end, pgoff;

	while (maps && fgets(line, sizeof(line), maps)) {
		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4199[^\n]", &start, &end, perms, &pgoff,
			   name) < 4 ||
		    perms[2] != 'x')
			continue;
		pf_mmap2(f, pid, start, end - start, pgoff, PROT_READ | PROT_EXEC,
			 name[0] ? name : "//anon", 0);
	}
}

static void add_comms(struct perffile *f, uint32_t pid)
{
	for (uint32_t tid = pid; tid < pid + 1000; tid++) {
		CLEANUP(free) char *path = xasprintf("/proc/%u/task/%u/comm", pid, tid);
		CLEANUP(fclose) FILE *comm = fopen(path, "re");
		char name[32] = "";

		if (!comm || !fgets(name, sizeof(name), comm))
			continue;
		name[strcspn(name, "\n")] = '\0';
		pf_comm(f, pid, tid, name, 0, 0);
	}
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static size_t record(struct ring *rings, size_t n, uint32_t pid, uint64_t seconds, struct str *out)
{
	uint64_t end = now_ns() + seconds * 1000000000u;
	struct pollfd fds[CPUS];
	size_t samples = 0;
	bool done = false;

	for (size_t i = 0; i < n; i++) {
		fds[i] = (struct pollfd){.fd = rings[i].fd, .events = POLLIN};
		ioctl(rings[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	while (!done) {
		poll(fds, n, 50);
		done = now_ns() >= end;
		for (size_t i = 0; done && i < n; i++)
			ioctl(rings[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		for (size_t i = 0; i < n; i++)
			samples += ring_drain(&rings[i], pid, out);
	}
	return samples;
}

int main(int argc, char **argv)
{
	uint64_t pid, seconds, hz, stack;
	struct perf_event_attr attr;
	struct ring rings[CPUS];
	struct perffile f;
	size_t n = 0, samples;
	struct err err;
	int fd;

	if (argc != 6 || !parse_u64(argv[1], &pid) || !parse_u64(argv[2], &seconds) ||
	    !parse_u64(argv[3], &hz) || !parse_u64(argv[4], &stack)) {
		fprintf(stderr, "usage: perfrec PID SECONDS HZ STACK_BYTES OUT\n");
		return 2;
	}
	attr = make_attr(hz, (uint32_t)stack);
	for (int cpu = 0; cpu < (int)sysconf(_SC_NPROCESSORS_ONLN) && n < CPUS; cpu++, n++)
		if (!ring_open(&rings[n], &attr, cpu)) {
			perror("perfrec: perf_event_open");
			return 1;
		}
	pf_start(&f, &attr, 1);
	add_comms(&f, (uint32_t)pid);
	add_maps(&f, (uint32_t)pid);
	samples = record(rings, n, (uint32_t)pid, seconds, &f.s);
	pf_done(&f);
	fd = open(argv[5], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || fs_write_all(fd, f.s.buf, f.s.len, &err) < 0) {
		fprintf(stderr, "perfrec: cannot write %s\n", argv[5]);
		return 1;
	}
	printf("%zu samples\n", samples);
	str_fini(&f.s);
	return 0;
}
