/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the BPF program (bpf/flat_walk.h) in user space, on tables and a stack of a test. */
#ifndef DFG_LIB_FLATWALK_H
#define DFG_LIB_FLATWALK_H

#include "bpf/tables.h"
#include "unwind/unwind.h"

#define FLAT_FUNCTION __attribute__((unused)) static
#define FLAT_INLINE   static inline
#include "kernel/flat_lookup.h"

static const struct flat_tables *flat_tables;
static struct stack_copy *flat_stack;

#define FLAT_TABLE(name, type, list, number)                                                       \
	static inline const type *flat_##name(uint32_t i)                                          \
	{                                                                                          \
		return i < flat_tables->count[number] ? &flat_tables->list[i] : NULL;              \
	}
FLAT_TABLE(dir, uint32_t, dir, FLAT_DIR)
FLAT_TABLE(page, struct flat_page, pages, FLAT_PAGES)
FLAT_TABLE(code, struct flat_code, codes, FLAT_CODES)
FLAT_TABLE(range, struct flat_range, ranges, FLAT_RANGES)
FLAT_TABLE(mapping, struct flat_mapping, mappings, FLAT_MAPPINGS)
FLAT_TABLE(block, uint32_t, blocks, FLAT_BLOCKS)
FLAT_TABLE(spot, struct flat_spot, spots, FLAT_SPOTS)
FLAT_TABLE(row, struct flat_row, rows, FLAT_ROWS)
FLAT_TABLE(method, uint64_t, methods, FLAT_METHODS)

static inline volatile uint64_t *flat_found(uint32_t i)
{
	return i < flat_tables->count[FLAT_FOUND] ? &flat_tables->found[i] : NULL;
}

static inline bool flat_memory(uint64_t at, void *ret, uint32_t size)
{
	for (uint32_t i = 0; i < size; i += FLAT_WORD)
		if (!stack_read(flat_stack, at + i, (uint64_t *)ret + i / FLAT_WORD))
			return false;
	return true;
}

#include "kernel/flat_walk.h"

static struct flat_walk flat_made;

#ifdef FLAT_ARM64
static struct flat_registers flat_first(const struct unwind_regs *r)
{
	return (struct flat_registers){.link = unwind_get(r, UNWIND_RA),
				       .x12 = unwind_get(r, 12),
				       .x13 = unwind_get(r, 13),
				       .x19 = unwind_get(r, 19),
				       .x20 = unwind_get(r, 20)};
}
#else
static struct flat_registers flat_first(const struct unwind_regs *r)
{
	return (struct flat_registers){.rax = unwind_get(r, UNWIND_RAX),
				       .rbx = unwind_get(r, UNWIND_RBX),
				       .rcx = unwind_get(r, UNWIND_RCX),
				       .rdx = unwind_get(r, UNWIND_RDX),
				       .r8 = unwind_get(r, UNWIND_R8),
				       .r10 = unwind_get(r, UNWIND_R10),
				       .r13 = unwind_get(r, UNWIND_R13)};
}
#endif

/* Walks a thread's stack; the result is in flat_made. */
__attribute__((unused)) static enum flat_end flat_walk_from(const struct flat_process *p,
							    const struct unwind_regs *r,
							    struct stack_copy *stack)
{
	flat_stack = stack;
	flat_made = (struct flat_walk){.process = *p,
				       .pc = unwind_pc(r),
				       .sp = unwind_sp(r),
				       .fp = unwind_fp(r),
				       .first = flat_first(r),
				       .base = unwind_sp(r),
				       .exact = true,
				       .pushes = true,
				       .mapping = p->mappings};
	while ((flat_made.sample.end = flat_step(&flat_made)) == FLAT_ON)
		;
	return (enum flat_end)flat_made.sample.end;
}

/* True if a frame of the walk is the unwinder's. */
__attribute__((unused)) static bool flat_is_frame(uint64_t frame, const struct unwind_frame *f)
{
	uint64_t value = frame & (~0ull >> 4);

	if (frame >> 60 != (uint64_t)f->kind)
		return false;
	if (f->kind == UNWOUND_CODE)
		return flat_tables->codes[value >> 32].start + (uint32_t)value == f->addr;
	if (f->kind == UNWOUND_INTERPRETED)
		return value == f->method;
	return f->kind == UNWOUND_FROZEN || value == f->addr;
}

#endif
