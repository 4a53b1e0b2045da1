// SPDX-License-Identifier: Apache-2.0
#include "bpf/recorder.h"

#include "dfg/bytes.h"
#include "unwind/unwind_regs.h"

bool copied_sample_of(const struct perf_event_header *h, struct copied_sample *ret)
{
	struct copied_sample s = {.regs_mask = UNWIND_PERFMASK};
	struct bytes b = bytes_of(h + 1, h->size - sizeof(*h));
	uint64_t size, used;

	if (h->type != PERF_RECORD_SAMPLE)
		return false;
	bytes_u64(&b); /* the event's id */
	bytes_u64(&b); /* the instruction pointer */
	s.pid = bytes_u32(&b);
	s.tid = bytes_u32(&b);
	s.time = bytes_u64(&b);
	size = bytes_u64(&b);
	bytes_take(&b, size < b.len / 8 ? (size_t)size * 8 : b.len);
	s.regs_abi = bytes_u64(&b);
	if (s.regs_abi)
		s.regs = bytes_take(&b, 8u * (size_t)__builtin_popcountll(UNWIND_PERFMASK));
	size = bytes_u64(&b);
	if (size) {
		s.stack = bytes_take(&b, size);
		used = bytes_u64(&b);
		s.stack_len = used < size ? (size_t)used : (size_t)size;
		s.limited = used >= size;
	}
	*ret = s;
	return !b.bad;
}
