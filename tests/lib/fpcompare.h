/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder's frames of Java held against the kernel's walk along the frame pointers of a JVM
 * with -XX:+PreserveFramePointer: from the innermost one to the call stub, since native code below
 * it may have no frame pointers.
 *
 * The walk takes rbp for the innermost frame's own. Where it is still, or again, the caller's (in
 * prologues and exits, in adapters, stubs and the interpreter's entries), the walk leaves the
 * caller out. That this is so, and who the caller is, is proved without the unwinder's rules: a
 * caller whose frame pointer is in rbp has its return address right below its own frame, at rbp +
 * 16 - size of its frame - 8; an interpreted one has a known Method in its frame at rbp. */
#ifndef DFG_LIB_FPCOMPARE_H
#define DFG_LIB_FPCOMPARE_H

#include "perf/perfdata.h"
#include "unwind/unwind.h"

#define FP_FRAMES UNWIND_FRAMES_MAX
#define FP_PROVED "proved: the frame pointer is that of the caller that the walk leaves out"

struct fp_sample {
	const struct snapfile *snapshot;
	uint64_t time;
	const struct unwind_regs *regs;
	struct stack_copy *stack;
};

/* Addresses of Java, innermost first; whole: up to the call stub. */
struct fp_part {
	uint64_t addr[FP_FRAMES];
	size_t count;
	bool whole;
};

static const struct snapfile_code *fp_code(const struct snapfile *sf, uint64_t time, uint64_t addr)
{
	const struct snapfile_code *c[SNAPFILE_AROUND];

	return snapfile_find(sf, addr, snapfile_around(sf, time), c) ? c[0] : NULL;
}

static void fp_java_part(const struct fp_sample *s, const uint64_t *addrs, size_t n,
			 struct fp_part *ret)
{
	ret->count = 0;
	ret->whole = false;
	for (size_t i = 0; i < n && !ret->whole; i++) {
		if (!fp_code(s->snapshot, s->time, addrs[i])) {
			if (ret->count)
				break;
			continue;
		}
		ret->addr[ret->count++] = addrs[i];
		ret->whole = addrs[i] + 1 == snapfile_head(s->snapshot)->call_stub_return;
	}
}

static void fp_chain_part(const struct fp_sample *s, const struct perf_sample *sample,
			  struct fp_part *ret)
{
	uint64_t addrs[512], word;
	bool user = false;
	size_t n = 0;

	for (uint64_t i = 0; i < sample->chain_len && n < ARRAY_LEN(addrs); i++) {
		memcpy(&word, sample->chain + 8 * i, 8);
		if (word >= (uint64_t)PERF_CONTEXT_MAX) {
			user = word == (uint64_t)PERF_CONTEXT_USER;
		} else if (user) {
			addrs[n] = word - (n != 0);
			n++;
		}
	}
	fp_java_part(s, addrs, n, ret);
}

/* True if the frame that a frame pointer belongs to is that of a caller at `addr`. */
static bool fp_is_of(const struct fp_sample *s, uint64_t fp, uint64_t addr)
{
	const struct snapfile_code *c = fp_code(s->snapshot, s->time, addr);
	const struct snap_head *head = snapfile_head(s->snapshot);
	uint32_t ignored[SNAPFILE_AROUND];
	uint64_t word;

	if (c->record->kind == SNAP_INTERPRETER)
		return stack_read(s->stack, fp + (uint64_t)(8 * (int64_t)head->interpreter_method),
				  &word) &&
		       snapfile_find_method(s->snapshot, word,
					    snapfile_around(s->snapshot, s->time), ignored);
	return stack_read(s->stack, fp + 8 - c->record->frame_size, &word) && word == addr + 1;
}

/* The caller at `addr` was left out, and the walk went on at `next`. Below native code rbp is not
 * current any more: then the frame pointer is that of any frame which returns to `next`. */
static bool fp_is_proved(const struct fp_sample *s, bool native, uint64_t addr, uint64_t next)
{
	uint64_t word;

	if (!native)
		return fp_is_of(s, unwind_fp(s->regs), addr);
	for (uint64_t at = s->stack->base + 8; stack_read(s->stack, at, &word); at += 8)
		if (word == next + 1 && fp_is_of(s, at - 8, addr))
			return true;
	return false;
}

/* A native function without a frame of its own, so far or again: rbp is that of the caller at
 * `addr`, which has a return address to `addr` in its frame, and returns to `next` itself. */
static bool fp_is_called(const struct fp_sample *s, uint64_t addr, uint64_t next)
{
	uint64_t fp = unwind_fp(s->regs), word;

	if (!stack_read(s->stack, fp + 8, &word) || word != next + 1)
		return false;
	for (uint64_t at = unwind_sp(s->regs); at < fp && stack_read(s->stack, at, &word); at += 8)
		if (word == addr + 1)
			return true;
	return false;
}

/* Names the difference of the two; NULL: there is none. */
static const char *fp_difference(const struct fp_sample *s, const struct fp_part *ours,
				 const struct fp_part *theirs)
{
	size_t n = ours->count, m = theirs->count, same = 0;

	while (same < n && same < m && ours->addr[n - 1 - same] == theirs->addr[m - 1 - same])
		same++;
	if (n == m && same == n)
		return NULL;
	/* The innermost is where the program was; the walk goes on after the frame of rbp. */
	if (n > m && m > 1 && same == m - 1 && ours->addr[0] == theirs->addr[0])
		return fp_is_proved(s, unwind_pc(s->regs) != ours->addr[0], ours->addr[n - m],
				    theirs->addr[1])
			       ? FP_PROVED
			       : "UNWINDER has more callers";
	if (n == m + 1 && m > 0 && same == m && unwind_pc(s->regs) != ours->addr[0] &&
	    fp_is_called(s, ours->addr[0], theirs->addr[0]))
		return FP_PROVED;
	if (!ours->whole && theirs->whole)
		return "UNWINDER does not reach the call stub";
	if (same == n)
		return "UNWINDER misses the innermost frames";
	if (same == m)
		return "UNWINDER has more frames";
	return ours->whole && !theirs->whole ? "UNWINDER reaches the call stub, the walk does not"
					     : "UNWINDER differs";
}

#endif
