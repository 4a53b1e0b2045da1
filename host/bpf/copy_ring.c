// SPDX-License-Identifier: Apache-2.0
#include "bpf/copy_ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dfg/bytes.h"

/* Of the control page before a ring: 64 KiB on some arm64 kernels. */
static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int open_event(const struct perf_event_attr *attr, unsigned cpu)
{
	struct perf_event_attr a = *attr;

	return (int)syscall(SYS_perf_event_open, &a, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int copy_ring_open(struct copy_ring *ring, unsigned cpu, const struct perf_event_attr *attr,
		   size_t bytes, const struct bpf_program *sampled, struct err *err)
{
	void *p;

	ring->fd = open_event(attr, cpu);
	if (ring->fd < 0)
		return errno == ENODEV ? 0
				       : err_set(err, errno, "open an event of processor %u", cpu);
	p = mmap(NULL, bytes + page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (p == MAP_FAILED)
		return err_set(err, errno, "map the buffer of processor %u", cpu);
	ring->page = p;
	ring->bytes = bytes;
	if (!sampled)
		return 0;
	ring->link = bpf_program__attach_perf_event(sampled, ring->fd);
	if (!ring->link)
		return err_set(err, errno, "attach the program to processor %u", cpu);
	/* libbpf has enabled it. */
	if (ioctl(ring->fd, PERF_EVENT_IOC_DISABLE, 0) < 0)
		return err_set(err, errno, "switch the event of processor %u", cpu);
	return 0;
}

int copy_ring_count(struct copy_ring *ring, unsigned cpu, const struct perf_event_attr *attr,
		    const struct bpf_program *counted, struct err *err)
{
	if (ring->fd < 0)
		return 0;
	ring->counted_fd = open_event(attr, cpu);
	if (ring->counted_fd < 0)
		return err_set(err, errno, "open the event of processor %u", cpu);
	ring->counted = bpf_program__attach_perf_event(counted, ring->counted_fd);
	if (!ring->counted || ioctl(ring->counted_fd, PERF_EVENT_IOC_DISABLE, 0) < 0)
		return err_set(err, errno, "attach the program to processor %u", cpu);
	return 0;
}

void copy_ring_close(struct copy_ring *ring)
{
	bpf_link__destroy(ring->link);
	bpf_link__destroy(ring->counted);
	if (ring->page)
		munmap(ring->page, ring->bytes + page_bytes());
	if (ring->fd >= 0)
		close(ring->fd);
	if (ring->counted_fd >= 0)
		close(ring->counted_fd);
}

int copy_ring_enable(const struct copy_ring *ring, bool on)
{
	const unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	if (ring->fd >= 0 && ioctl(ring->fd, request, 0) < 0)
		return -1;
	return ring->counted_fd >= 0 ? ioctl(ring->counted_fd, request, 0) : 0;
}

static void copy_out(const struct copy_ring *ring, uint64_t at, void *to, size_t len)
{
	const uint8_t *data = (const uint8_t *)ring->page + ring->page->data_offset;
	size_t from = (size_t)(at % ring->bytes), first = ring->bytes - from;

	first = first < len ? first : len;
	memcpy(to, data + from, first);
	memcpy((uint8_t *)to + first, data, len - first);
}

static uint64_t lost_of(const void *record, size_t len)
{
	struct bytes b = bytes_of(record, len);

	bytes_take(&b, sizeof(struct perf_event_header) + sizeof(uint64_t));
	return bytes_u64(&b);
}

uint64_t copy_ring_read(struct copy_ring *ring, uint8_t *record,
			void (*take)(void *arg, const struct perf_event_header *h), void *arg)
{
	struct perf_event_header h;
	uint64_t head, at, lost = 0;

	if (!ring->page)
		return 0;
	head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	for (at = ring->page->data_tail; at < head; at += h.size) {
		copy_out(ring, at, &h, sizeof(h));
		if (h.size < sizeof(h))
			break;
		copy_out(ring, at, record, h.size);
		if (h.type == PERF_RECORD_LOST)
			lost += lost_of(record, h.size);
		take(arg, (const void *)record);
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	return lost;
}
