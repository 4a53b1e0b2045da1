/* SPDX-License-Identifier: Apache-2.0 */
/* Makes perf.data files in memory, for tests. */
#ifndef DFG_LIB_PERFFILE_H
#define DFG_LIB_PERFFILE_H

#include <linux/perf_event.h>

#include "common/str.h"
#include "lib/textfile.h"
#include "perf/perfdata.h"

#define PERFFILE_DATA 512 /* offset of the records */

struct perffile {
	struct str s;
	uint64_t sample_type; /* of the first event */
	size_t rec;	      /* start of the record being made */
};

__attribute__((unused)) static void pf_u16(struct perffile *f, uint16_t v)
{
	str_add(&f->s, &v, sizeof(v));
}

__attribute__((unused)) static void pf_u32(struct perffile *f, uint32_t v)
{
	str_add(&f->s, &v, sizeof(v));
}

__attribute__((unused)) static void pf_u64(struct perffile *f, uint64_t v)
{
	str_add(&f->s, &v, sizeof(v));
}

/* Text, its NUL, and zeros up to a multiple of 8. */
__attribute__((unused)) static void pf_text(struct perffile *f, const char *text)
{
	str_add(&f->s, text, strlen(text) + 1);
	while ((f->s.len - f->rec) % 8)
		str_addc(&f->s, 0);
}

/* The head, with n events (ids 100, 101 …); data.size is set by pf_done. */
__attribute__((unused)) static void pf_start(struct perffile *f,
					     const struct perf_event_attr *attrs, size_t n)
{
	size_t entry = sizeof(*attrs) + 16;

	*f = (struct perffile){.sample_type = attrs[0].sample_type};
	str_adds(&f->s, "PERFILE2");
	pf_u64(f, 104);
	pf_u64(f, entry);
	pf_u64(f, 104 + 8 * n);
	pf_u64(f, n * entry);
	pf_u64(f, PERFFILE_DATA);
	for (int i = 0; i < 7; i++)
		pf_u64(f, 0);
	for (size_t i = 0; i < n; i++)
		pf_u64(f, 100 + i);
	for (size_t i = 0; i < n; i++) {
		str_add(&f->s, &attrs[i], sizeof(*attrs));
		pf_u64(f, 104 + 8 * i);
		pf_u64(f, 8);
	}
	while (f->s.len < PERFFILE_DATA)
		str_addc(&f->s, 0);
}

__attribute__((unused)) static void pf_begin(struct perffile *f, uint32_t type, uint16_t misc)
{
	f->rec = f->s.len;
	pf_u32(f, type);
	pf_u16(f, misc);
	pf_u16(f, 0);
}

__attribute__((unused)) static void pf_end(struct perffile *f)
{
	uint16_t size = (uint16_t)(f->s.len - f->rec);

	memcpy(f->s.buf + f->rec + 6, &size, sizeof(size));
}

/* struct sample_id, for records that are no samples; id 0: none of the events'. */
__attribute__((unused)) static void pf_id(struct perffile *f, uint32_t pid, uint32_t tid,
					  uint64_t time, uint64_t id)
{
	if (f->sample_type & PERF_SAMPLE_TID) {
		pf_u32(f, pid);
		pf_u32(f, tid);
	}
	if (f->sample_type & PERF_SAMPLE_TIME)
		pf_u64(f, time);
	if (f->sample_type & PERF_SAMPLE_IDENTIFIER)
		pf_u64(f, id);
	pf_end(f);
}

__attribute__((unused)) static void pf_comm(struct perffile *f, uint32_t pid, uint32_t tid,
					    const char *comm, uint16_t misc, uint64_t time)
{
	pf_begin(f, PERF_RECORD_COMM, misc);
	pf_u32(f, pid);
	pf_u32(f, tid);
	pf_text(f, comm);
	pf_id(f, pid, tid, time, 0);
}

__attribute__((unused)) static void pf_mmap2(struct perffile *f, uint32_t pid, uint64_t start,
					     uint64_t len, uint64_t pgoff, uint32_t prot,
					     const char *path, uint64_t time)
{
	pf_begin(f, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	pf_u32(f, pid);
	pf_u32(f, pid);
	pf_u64(f, start);
	pf_u64(f, len);
	pf_u64(f, pgoff);
	for (int i = 0; i < 3; i++)
		pf_u64(f, 0);
	pf_u32(f, prot);
	pf_u32(f, 0);
	pf_text(f, path);
	pf_id(f, pid, pid, time, 0);
}

__attribute__((unused)) static void pf_fork(struct perffile *f, uint32_t pid, uint32_t ppid,
					    uint32_t tid, uint32_t ptid, uint64_t time)
{
	pf_begin(f, PERF_RECORD_FORK, 0);
	pf_u32(f, pid);
	pf_u32(f, ppid);
	pf_u32(f, tid);
	pf_u32(f, ptid);
	pf_u64(f, time);
	pf_id(f, pid, tid, time, 0);
}

/* A sample of IP, TID, TIME and CALLCHAIN. */
__attribute__((unused)) static void pf_sample(struct perffile *f, uint32_t pid, uint32_t tid,
					      uint64_t time, const uint64_t *chain, size_t n)
{
	pf_begin(f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	pf_u64(f, n > 1 ? chain[1] : 0);
	pf_u32(f, pid);
	pf_u32(f, tid);
	pf_u64(f, time);
	pf_u64(f, n);
	for (size_t i = 0; i < n; i++)
		pf_u64(f, chain[i]);
	pf_end(f);
}

/* Writes data.size. */
__attribute__((unused)) static void pf_done(struct perffile *f)
{
	uint64_t size = f->s.len - PERFFILE_DATA;

	memcpy(f->s.buf + 48, &size, sizeof(size));
}

/* Opens the first `len` bytes of it as a file. */
__attribute__((unused)) static struct perfdata *pf_open(const struct perffile *f, size_t len,
							struct err *err)
{
	CLEANUP(close_fd) int fd = file_of(f->s.buf, len);

	return perfdata_open(fd, err);
}

#endif
