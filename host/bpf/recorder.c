// SPDX-License-Identifier: Apache-2.0
#include "bpf/recorder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <walk.skel.h>

#include "common/str.h"
#include "dfg/bytes.h"

#define RING_PAGES	  2048u /* of a processor's copied samples; a power of 2 */
#define PAGE		  4096u
#define RING		  ((uint64_t)RING_PAGES * PAGE)
#define INITIAL_NAMESPACE 0xeffffffcu /* linux/proc_ns.h: PROC_PID_INIT_INO */
#define REGISTERS	  0xff01ffull /* asm/perf_regs.h: AX to IP, R8 to R15 */

struct copy_ring {
	int fd; /* of the event */
	struct perf_event_mmap_page *page;
	struct bpf_link *link;
};

enum { DIR, PAGES, CODES, RANGES, MAPPINGS, BLOCKS, ROWS, METHODS, TABLES };

/* A table of the program, mapped. */
struct table {
	struct bpf_map *map;
	size_t size, room; /* of an entry; entries */
	size_t used;
	char *p;
};

struct stack_recorder {
	struct walk_bpf *bpf;
	struct table tables[TABLES];
	struct ring_buffer *walked;
	struct copy_ring *rings; /* by processor */
	unsigned cpus;
	const struct stack_handler *handler; /* while reading */
	uint64_t copies_lost;
	uint8_t *record;
};

/* ---- the program -------------------------------------------------------------------------- */

static int print_none(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* The kernel rounds entries of an array up to 8 bytes. */
static size_t stride_of(size_t size)
{
	return (size + 7) / 8 * 8;
}

static size_t bytes_of_table(const struct table *t)
{
	return (t->room * stride_of(t->size) + PAGE - 1) / PAGE * PAGE;
}

#define TABLE(of, list, n)                                                                         \
	{                                                                                          \
		.map = (of), .size = sizeof(*(list)), .room = (n)                                  \
	}

/* Sets how large the tables are, with room to grow. */
static void list_tables(struct stack_recorder *r, const struct flat_tables *t)
{
	const struct walk_bpf *b = r->bpf;
	const struct table tables[TABLES] = {
		[DIR] = TABLE(b->maps.dir, t->dir, t->dir_count + 1),
		[PAGES] = TABLE(b->maps.pages, t->pages, 2 * t->page_count + 4096),
		[CODES] = TABLE(b->maps.codes, t->codes, 4 * t->code_count + 8192),
		[RANGES] = TABLE(b->maps.ranges, t->ranges, 4 * t->range_count + 16384),
		[MAPPINGS] = TABLE(b->maps.mappings, t->mappings, t->mapping_count + 64),
		[BLOCKS] = TABLE(b->maps.blocks, t->blocks, t->block_count + 1),
		[ROWS] = TABLE(b->maps.rows, t->rows, t->row_count + 1),
		[METHODS] = TABLE(b->maps.methods, t->methods, t->method_count + 1),
	};

	memcpy(r->tables, tables, sizeof(tables));
	for (unsigned i = 0; i < TABLES; i++)
		bpf_map__set_max_entries(r->tables[i].map, (uint32_t)r->tables[i].room);
}

static int map_tables(struct stack_recorder *r, struct err *err)
{
	for (unsigned i = 0; i < TABLES; i++) {
		struct table *t = &r->tables[i];
		void *p = mmap(NULL, bytes_of_table(t), PROT_READ | PROT_WRITE, MAP_SHARED,
			       bpf_map__fd(t->map), 0);

		if (p == MAP_FAILED)
			return err_set(err, errno, "map a table of %zu bytes", bytes_of_table(t));
		t->p = p;
	}
	return 0;
}

/* The inode of our pid namespace; 0: the initial one. */
static uint32_t pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == INITIAL_NAMESPACE)
		return 0;
	return (uint32_t)st.st_ino;
}

static int load(struct stack_recorder *r, const struct stack_recorder_config *c,
		const struct flat_tables *t, struct err *err)
{
	r->bpf = walk_bpf__open();
	if (!r->bpf)
		return err_set(err, errno, "open the BPF program");
	r->bpf->rodata->both = c->both;
	r->bpf->rodata->namespace = pid_namespace();
	list_tables(r, t);
	bpf_map__set_max_entries(r->bpf->maps.scratches, r->cpus);
	if (walk_bpf__load(r->bpf) != 0)
		return err_set(err, errno, "load the BPF program");
	return map_tables(r, err) < 0 ? -1 : stack_recorder_update(r, t, err);
}

/* ---- changes of the tables ---------------------------------------------------------------- */

/* Adds the entries that the table does not have yet. */
static int append(struct table *t, const void *list, size_t count, struct err *err)
{
	size_t stride = stride_of(t->size);

	if (count > t->room)
		return err_set(err, ENOSPC, "%zu entries in a table of %zu", count, t->room);
	for (; t->used < count; t->used++)
		memcpy(t->p + t->used * stride, (const char *)list + t->used * t->size, t->size);
	return 0;
}

/* Takes away the code that has gone: what is left of it is no longer found. */
static void take_away(struct table *pages, const struct flat_tables *t)
{
	struct flat_page *to = (struct flat_page *)(void *)pages->p;

	for (size_t i = 0; i < pages->used; i++)
		for (unsigned k = 0; k < FLAT_SEGMENTS; k++) {
			uint32_t *code = &to[i].segments[k].code;

			if (*code && *code != t->pages[i].segments[k].code)
				__atomic_store_n(code, 0, __ATOMIC_SEQ_CST);
		}
}

/* Adds new code, the number by which it is found last. */
static void put_pages(struct table *pages, const struct flat_tables *t)
{
	struct flat_page *to = (struct flat_page *)(void *)pages->p;

	for (size_t i = 0; i < pages->used; i++) {
		if (memcmp(&to[i], &t->pages[i], sizeof(to[i])) == 0)
			continue;
		for (unsigned k = 0; k < FLAT_SEGMENTS; k++) {
			const struct flat_segment *from = &t->pages[i].segments[k];

			to[i].segments[k].returns = from->returns;
			__atomic_store_n(&to[i].segments[k].code, from->code, __ATOMIC_SEQ_CST);
		}
	}
}

static void put_words(struct table *to, const uint64_t *words)
{
	for (size_t i = 0; i < to->used; i++)
		if (((uint64_t *)(void *)to->p)[i] != words[i])
			((uint64_t *)(void *)to->p)[i] = words[i];
}

static void put_dir(struct table *to, const struct flat_tables *t)
{
	uint32_t *word = (uint32_t *)(void *)to->p;

	for (size_t i = 0; i < to->used; i++)
		__atomic_store_n(&word[2 * i], t->dir[i], __ATOMIC_SEQ_CST);
}

int stack_recorder_update(struct stack_recorder *r, const struct flat_tables *t, struct err *err)
{
	struct table *to = r->tables;

	take_away(&to[PAGES], t);
	if (append(&to[CODES], t->codes, t->code_count, err) < 0 ||
	    append(&to[RANGES], t->ranges, t->range_count, err) < 0 ||
	    append(&to[ROWS], t->rows, t->row_count, err) < 0 ||
	    append(&to[BLOCKS], t->blocks, t->block_count, err) < 0 ||
	    append(&to[MAPPINGS], t->mappings, t->mapping_count, err) < 0 ||
	    append(&to[METHODS], t->methods, t->method_count, err) < 0 ||
	    append(&to[PAGES], t->pages, t->page_count, err) < 0 ||
	    append(&to[DIR], t->dir, t->dir_count, err) < 0)
		return -1;
	put_words(&to[METHODS], t->methods);
	put_pages(&to[PAGES], t);
	put_dir(&to[DIR], t);
	return 0;
}

/* ---- events ------------------------------------------------------------------------------- */

static struct perf_event_attr make_attr(const struct stack_recorder_config *c)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = c->frequency,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = REGISTERS,
		.sample_stack_user = c->stack_bytes,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.disabled = 1,
	};
}

static int open_ring(struct stack_recorder *r, const struct stack_recorder_config *c, unsigned cpu,
		     struct err *err)
{
	struct perf_event_attr attr = make_attr(c);
	struct copy_ring *ring = &r->rings[cpu];
	void *p;

	ring->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return errno == ENODEV ? 0
				       : err_set(err, errno, "open an event of processor %u", cpu);
	p = mmap(NULL, RING + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (p == MAP_FAILED)
		return err_set(err, errno, "map the buffer of processor %u", cpu);
	ring->page = p;
	ring->link = bpf_program__attach_perf_event(r->bpf->progs.walk, ring->fd);
	if (!ring->link)
		return err_set(err, errno, "attach the program to processor %u", cpu);
	return 0;
}

/* ---- walked samples ----------------------------------------------------------------------- */

static int take_walked(void *arg, void *data, size_t len)
{
	const struct stack_recorder *r = arg;
	const struct flat_sample *s = data;

	if (len >= sizeof(*s) && len == sizeof(*s) + s->count * sizeof(uint64_t))
		r->handler->walked(r->handler->arg, s, (const uint64_t *)(s + 1));
	return 0;
}

/* ---- copied samples ----------------------------------------------------------------------- */

static void take_copied(const struct stack_recorder *r, struct bytes b)
{
	struct copied_sample s = {.regs_mask = REGISTERS};
	uint64_t size, used;

	s.pid = bytes_u32(&b);
	s.tid = bytes_u32(&b);
	s.time = bytes_u64(&b);
	s.regs_abi = bytes_u64(&b);
	if (s.regs_abi)
		s.regs = bytes_take(&b, 8u * (size_t)__builtin_popcountll(REGISTERS));
	size = bytes_u64(&b);
	if (size) {
		s.stack = bytes_take(&b, size);
		used = bytes_u64(&b);
		s.stack_len = used < size ? (size_t)used : (size_t)size;
		s.limited = used >= size;
	}
	if (!b.bad)
		r->handler->copied(r->handler->arg, &s);
}

static void copy_out(const struct copy_ring *ring, uint64_t at, void *to, size_t len)
{
	const uint8_t *data = (const uint8_t *)ring->page + PAGE;
	size_t from = (size_t)(at % RING), first = (size_t)RING - from;

	first = first < len ? first : len;
	memcpy(to, data + from, first);
	memcpy((uint8_t *)to + first, data, len - first);
}

static void read_ring(struct stack_recorder *r, struct copy_ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = ring->page->data_tail;
	struct perf_event_header h;

	for (; at < head; at += h.size) {
		struct bytes b;

		copy_out(ring, at, &h, sizeof(h));
		if (h.size < sizeof(h))
			break;
		copy_out(ring, at, r->record, h.size);
		b = bytes_of(r->record + sizeof(h), h.size - sizeof(h));
		if (h.type == PERF_RECORD_SAMPLE) {
			take_copied(r, b);
		} else if (h.type == PERF_RECORD_LOST) {
			bytes_u64(&b);
			r->copies_lost += bytes_u64(&b);
		}
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

/* ---- interface ---------------------------------------------------------------------------- */

int stack_recorder_open(const struct stack_recorder_config *c, const struct flat_tables *t,
			struct stack_recorder **ret, struct err *err)
{
	CLEANUP(stack_recorder_close) struct stack_recorder *r = xcalloc(1, sizeof(*r));
	int cpus;

	libbpf_set_print(print_none);
	cpus = libbpf_num_possible_cpus();
	if (cpus < 1)
		return err_set(err, -cpus, "count the processors");
	r->cpus = (unsigned)cpus;
	r->record = xmalloc(1u << 16);
	r->rings = xcalloc(r->cpus, sizeof(*r->rings));
	for (unsigned i = 0; i < r->cpus; i++)
		r->rings[i].fd = -1;
	if (load(r, c, t, err) < 0)
		return -1;
	r->walked = ring_buffer__new(bpf_map__fd(r->bpf->maps.samples), take_walked, r, NULL);
	if (!r->walked)
		return err_set(err, errno, "map the ring of samples");
	for (unsigned i = 0; i < r->cpus; i++)
		if (open_ring(r, c, i, err) < 0)
			return -1;
	*ret = TAKE_PTR(r);
	return 0;
}

void stack_recorder_close(struct stack_recorder *r)
{
	if (!r)
		return;
	for (unsigned i = 0; r->rings && i < r->cpus; i++) {
		bpf_link__destroy(r->rings[i].link);
		if (r->rings[i].page)
			munmap(r->rings[i].page, RING + PAGE);
		if (r->rings[i].fd >= 0)
			close(r->rings[i].fd);
	}
	for (unsigned i = 0; i < TABLES; i++)
		if (r->tables[i].p)
			munmap(r->tables[i].p, bytes_of_table(&r->tables[i]));
	ring_buffer__free(r->walked);
	walk_bpf__destroy(r->bpf);
	free(r->rings);
	free(r->record);
	free(r);
}

int stack_recorder_add(struct stack_recorder *r, uint32_t pid, const struct flat_process *p,
		       struct err *err)
{
	if (bpf_map__update_elem(r->bpf->maps.processes, &pid, sizeof(pid), p, sizeof(*p),
				 BPF_ANY) != 0)
		return err_set(err, errno, "add process %u", pid);
	return 0;
}

int stack_recorder_enable(struct stack_recorder *r, bool on, struct err *err)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	for (unsigned i = 0; i < r->cpus; i++)
		if (r->rings[i].fd >= 0 && ioctl(r->rings[i].fd, request, 0) < 0)
			return err_set(err, errno, "switch the event of processor %u", i);
	return 0;
}

int stack_recorder_read(struct stack_recorder *r, const struct stack_handler *h, struct err *err)
{
	int n;

	r->handler = h;
	n = ring_buffer__consume(r->walked);
	if (n < 0)
		return err_set(err, -n, "read the ring of samples");
	for (unsigned i = 0; i < r->cpus; i++)
		if (r->rings[i].page)
			read_ring(r, &r->rings[i]);
	return 0;
}

void stack_recorder_count(const struct stack_recorder *r, struct stack_counts *ret)
{
	CLEANUP(free) uint64_t *each = xcalloc(r->cpus, sizeof(*each));
	int fd = bpf_map__fd(r->bpf->maps.counts);

	*ret = (struct stack_counts){.copies_lost = r->copies_lost};
	for (uint32_t i = 0; i < FLAT_COUNTS; i++) {
		if (bpf_map_lookup_elem(fd, &i, each) != 0)
			continue;
		for (unsigned cpu = 0; cpu < r->cpus; cpu++)
			ret->of[i] += each[cpu];
	}
}
