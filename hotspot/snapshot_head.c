// SPDX-License-Identifier: Apache-2.0
#include "hotspot/flags.h"
#include "hotspot/snapshot.h"

static uint32_t jdk_read(struct hs *hs)
{
	uint64_t n;

	/* JDK 8 calls its HotSpot 25. */
	if (hs_has(hs, HS_JDK_CURRENT) && hs_has(hs, HS_JDK_MAJOR) &&
	    hs_get(hs, hs_inside(hs, 0, HS_JDK_CURRENT), HS_JDK_MAJOR, &n) && n != 0)
		return (uint32_t)n;
	return hs_get(hs, 0, HS_VM_MAJOR, &n) && n < 1000 ? (uint32_t)n : 0;
}

static uint64_t flag_find(struct hs *hs, const char *name)
{
	uint64_t addr;
	uint8_t value;

	return hs_flag(hs, name, &addr, &value) ? addr : 0;
}

static bool flag_is_on(struct hs *hs, uint64_t addr)
{
	uint8_t value;

	return addr != 0 && hs_mem_read(&hs->mem, addr, &value, 1) && value != 0;
}

void snapshot_head_read(struct snapshot *s)
{
	struct hs *hs = &s->hs;
	struct snap_head *head = &s->fixed.head;

	*head = (struct snap_head){
		.record = {SNAP_HEAD, sizeof(*head)},
		.magic = SNAP_MAGIC,
		.version = SNAP_VERSION,
		.jdk = jdk_read(hs),
	};
	hs_constant(hs, "frame::entry_frame_call_wrapper_offset", &head->entry_wrapper);
	/* cpu/x86/frame_x86.hpp, cpu/aarch64/frame_aarch64.hpp */
	head->interpreter_method = -3;
#ifdef __aarch64__
	head->interpreter_bcp = head->jdk == 8 ? -7 : -9;
#else
	head->interpreter_bcp = head->jdk == 8 ? -7 : -8;
#endif
	s->fixed.preserve_fp = flag_find(hs, "PreserveFramePointer");
	s->fixed.debug_non_safe = flag_find(hs, "DebugNonSafepoints");
}

void snapshot_bounds_read(struct snapshot *s, const struct hs_heaps *heaps)
{
	struct snap_head *head = &s->fixed.head;
	uint64_t low, high;

	/* Not yet made in a JVM that is starting. */
	hs_get(&s->hs, 0, HS_CALL_STUB_RETURN, &head->call_stub_return);
	hs_get(&s->hs, 0, HS_CONT_RETURN, &head->cont_return);
	head->code_low = heaps->heap[0].low;
	head->code_high = heaps->heap[heaps->count - 1].high;
	/* What is reserved, where it is known: code may still be made there. */
	if (hs_get(&s->hs, 0, HS_CODE_LOW, &low) && hs_get(&s->hs, 0, HS_CODE_HIGH, &high) &&
	    low <= head->code_low && high >= head->code_high) {
		head->code_low = low;
		head->code_high = high;
	}
}

bool snapshot_head_write(struct snapshot *s, uint64_t time, uint32_t flags)
{
	struct snap_head head = s->fixed.head;

	head.time = time;
	head.flags = flags | (s->delta ? SNAP_DELTA : 0);
	if (flag_is_on(&s->hs, s->fixed.preserve_fp))
		head.flags |= SNAP_PRESERVE_FP;
	if (flag_is_on(&s->hs, s->fixed.debug_non_safe))
		head.flags |= SNAP_DEBUG_NON_SAFE;
	return snapshot_emit(s, &head, sizeof(head));
}
