// SPDX-License-Identifier: Apache-2.0
#include "bpf/made.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/str.h"

/* ---- the list ----------------------------------------------------------------------------- */

/* linux/bpf.h, bpf_ringbuf_reserve: a record begins with its length and these bits of it. */
#define BUSY	BPF_RINGBUF_BUSY_BIT
#define DISCARD BPF_RINGBUF_DISCARD_BIT
#define HEADER	BPF_RINGBUF_HDR_SZ

void made_list_map(struct made_list *l, int fd)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *read, *ring;

	if (l->fd >= 0) {
		close(fd);
		return;
	}
	read = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ring = mmap(NULL, 3 * page, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (read == MAP_FAILED || ring == MAP_FAILED) {
		if (read != MAP_FAILED)
			munmap(read, page);
		close(fd);
		return;
	}
	*l = (struct made_list){.fd = fd, .read = read, .page = page, .ring = ring};
}

void made_list_unmap(struct made_list *l)
{
	if (l->fd < 0)
		return;
	munmap(l->read, l->page);
	munmap((void *)(uintptr_t)l->ring, 3 * l->page);
	close(l->fd);
	*l = MADE_LIST_NONE;
}

bool made_list_next(struct made_list *l, struct flat_made *ret)
{
	while (l->fd >= 0) {
		const uint64_t at = *l->read;
		const uint8_t *record = l->ring + l->page + at % l->page;
		uint32_t len;

		if (at >=
		    __atomic_load_n((const uint64_t *)(const void *)l->ring, __ATOMIC_ACQUIRE))
			return false;
		len = __atomic_load_n((const uint32_t *)(const void *)record, __ATOMIC_ACQUIRE);
		if (len & BUSY)
			return false;
		if (len == sizeof(*ret))
			memcpy(ret, record + HEADER, sizeof(*ret));
		__atomic_store_n(l->read, at + HEADER + ((len & ~(uint32_t)DISCARD) + 7) / 8 * 8,
				 __ATOMIC_RELEASE);
		if (len == sizeof(*ret))
			return true;
	}
	return false;
}

/* ---- the reader --------------------------------------------------------------------------- */

void made_reader_want(struct made_reader *r, uint64_t start)
{
	if (r->sock < 0 || r->count == MADE_ASKED)
		return;
	for (size_t i = 0; i < r->count; i++)
		if (r->wanted[i] == start)
			return;
	r->wanted[r->count++] = start;
}

void made_reader_want_since(struct made_reader *r, uint64_t time)
{
	for (size_t i = 0; i < MADE_RECENT; i++) {
		if (!r->recent[i].start || r->recent[i].time < time)
			continue;
		made_reader_want(r, r->recent[i].start);
		r->recent[i].start = 0;
	}
}

void made_reader_ask(struct made_reader *r)
{
	const size_t bytes = r->count * sizeof(*r->wanted);

	if (r->waiting || !r->count)
		return;
	r->asked = clock_us() * 1000;
	r->waiting = write(r->sock, r->wanted, bytes) == (ssize_t)bytes;
	for (size_t i = 0; i < r->count && r->waiting; i++) {
		if (r->wanted[i] & (FLAT_UNLOADS | MADE_KEEP))
			continue;
		r->recent[r->next].start = r->wanted[i];
		r->recent[r->next].time = r->asked;
		r->next = (r->next + 1) % MADE_RECENT;
	}
	r->count = 0;
}

size_t made_reader_answer(struct made_reader *r, void *buf)
{
	const ssize_t n = read(r->sock, buf, sizeof(struct made_answer) + MADE_ANSWER);

	if (n >= (ssize_t)sizeof(struct made_answer)) {
		r->waiting = false;
		return (size_t)n;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	cleanup_close_fd(&r->sock);
	r->waiting = false;
	return 0;
}
