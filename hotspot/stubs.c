// SPDX-License-Identifier: Apache-2.0
/* Names of stubs, from the list that HotSpot keeps (runtime/stubCodeGenerator.hpp, JDK 8 to 26):
 *
 *	class StubCodeDesc {
 *		static StubCodeDesc* _list;	the last one made
 *		StubCodeDesc* _next;		the one made before it; not in the C heap's order
 *		const char *_group, *_name;
 *		int _index;			up to JDK 8
 *		address _begin, _end;
 *
 * vmStructs do not describe it, and _list is not an exported symbol. So all variables of libjvm are
 * searched for _list; a candidate is accepted only if it leads to a whole chain of stubs in the
 *code cache, one of which is named call_stub and contains StubRoutines::_call_stub_return_address.
 */
#include "hotspot/metadata.h"
#include "hotspot/records.h"
#include "hotspot/scan.h"
#include "hotspot/state.h"

#define STUBS_MAX     4096u		/* JDK 25: 161 */
#define STUBS_LEAST   16u		/* in an accepted list */
#define STEPS_MAX     (16u * STUBS_MAX) /* of all candidates; JDK 25: 200 */
#define VARIABLES_MAX (16u << 20)	/* bytes; JDK 25: 0.7 MB */

/* The entries come from malloc, in the thread that starts the JVM or in a compiler's (JDK 21): they
 * are near the mapped libraries or near the CodeHeap objects. Other pointers are not followed. */
#define NEAR (1ull << 40)

struct stub_range {
	uint64_t next, name;
	uint64_t start, end;
};

struct stub_desc {
	uint64_t next, group, name, word[3];
};

static bool in_code(const struct hs_snapshot *s, uint64_t start, uint64_t end)
{
	const struct snap_head *head = &s->fixed.head;

	return start >= head->code_low && start < end && end <= head->code_high;
}

static bool stub_parse(const struct hs_snapshot *s, const struct stub_desc *d,
		       struct stub_range *ret)
{
	unsigned begin = in_code(s, d->word[0], d->word[1]) ? 0 : 1;

	*ret = (struct stub_range){
		.next = d->next,
		.name = d->name,
		.start = d->word[begin],
		.end = d->word[begin + 1],
	};
	return in_code(s, ret->start, ret->end) && ret->name != 0;
}

static bool stub_read(struct hs_snapshot *s, uint64_t at, struct stub_range *ret)
{
	struct stub_desc d;

	return hs_mem_read(&s->hs.mem, at, &d, sizeof(d)) && stub_parse(s, &d, ret);
}

/* JDK 26 (StubInfo): "Stub Generator dsin_stub" for what was "dsin". */
static size_t name_shorten(char *text, size_t len)
{
	static const char front[] = "Stub Generator ", back[] = "_stub";
	size_t cut = sizeof(front) - 1, end = sizeof(back) - 1;

	if (len <= cut + end || __builtin_memcmp(text, front, cut) != 0 ||
	    __builtin_memcmp(text + len - end, back, end) != 0)
		return len;
	len -= cut + end;
	__builtin_memmove(text, text + cut, len);
	text[len] = '\0';
	return len;
}

/* Returns the length, 0: the name cannot be read. */
static size_t name_read(struct hs_snapshot *s, const struct stub_range *stub,
			char ret[HS_BLOB_NAME_MAX])
{
	int len = hs_mem_text(&s->hs.mem, stub->name, ret, HS_BLOB_NAME_MAX);

	return len > 0 ? name_shorten(ret, (size_t)len) : 0;
}

static bool is_call_stub(struct hs_snapshot *s, const struct stub_range *stub)
{
	static const char name[] = "call_stub";
	uint64_t inside = s->fixed.head.call_stub_return;
	char text[HS_BLOB_NAME_MAX];

	return inside > stub->start && inside <= stub->end &&
	       name_read(s, stub, text) == sizeof(name) - 1 &&
	       __builtin_memcmp(text, name, sizeof(name)) == 0;
}

static bool is_list(struct hs_snapshot *s, uint64_t first)
{
	bool proved = false;
	unsigned n = 0;
	struct stub_range stub;

	for (uint64_t at = first; at; at = stub.next, n++) {
		if (n == STUBS_MAX || s->stub_steps == 0 || !stub_read(s, at, &stub))
			return false;
		s->stub_steps--;
		proved |= is_call_stub(s, &stub);
	}
	return proved && n >= STUBS_LEAST;
}

/* ---- the variable that has the list ---- */

/* Addresses of the gathered pointers, in the memory of the empty batch. */
static uint64_t *places(struct hs_snapshot *s)
{
	return (uint64_t *)s->batch.records;
}

_Static_assert(HS_BATCH >= HS_PIECES * sizeof(uint64_t), "places fit");

/* Reads what the gathered pointers point to. Returns the address of the variable, 0: none. */
static uint64_t list_among(struct hs_snapshot *s)
{
	struct hs_pieces *p = &s->hs.mem.pieces;
	struct stub_range stub;
	struct stub_desc d;

	hs_mem_read_pieces(&s->hs.mem, sizeof(d));
	for (size_t i = 0; i < p->count; i++) {
		__builtin_memcpy(&d, p->bytes + i * p->len, sizeof(d));
		if (p->have[i] == sizeof(d) && stub_parse(s, &d, &stub) && is_list(s, p->at[i]))
			return places(s)[i];
	}
	p->count = 0;
	return 0;
}

static bool can_lead_to_stub(const struct hs_span *image, uint64_t heap, uint64_t pointer)
{
	if (pointer % 8 != 0 || (pointer >= image->low && pointer < image->high))
		return false;
	return pointer - image->low + NEAR < 2 * NEAR || pointer - heap + NEAR < 2 * NEAR;
}

/* Searches the variables in the window. */
static uint64_t list_in_window(struct hs_snapshot *s, uint64_t heap)
{
	const struct hs_span *image = &s->hs.mem.source->image;
	const struct hs_window window = s->hs.mem.window;
	struct hs_pieces *p = &s->hs.mem.pieces;
	uint64_t pointer, found;

	for (size_t i = 0; i + sizeof(pointer) <= window.have; i += sizeof(pointer)) {
		__builtin_memcpy(&pointer, window.bytes + i, sizeof(pointer));
		if (!can_lead_to_stub(image, heap, pointer))
			continue;
		places(s)[p->count] = window.at + i;
		p->at[p->count++] = pointer;
		if (p->count == HS_PIECES && (found = list_among(s)))
			return found;
	}
	return 0;
}

/* Returns the address of StubCodeDesc::_list, 0: not found. `heap`: a CodeHeap. */
static uint64_t list_find(struct hs_snapshot *s, uint64_t heap)
{
	struct hs_mem *mem = &s->hs.mem;
	uint64_t at = mem->source->variables.low, high = mem->source->variables.high;
	uint64_t found;

	if (!s->fixed.head.call_stub_return || high - at > VARIABLES_MAX)
		return 0;
	mem->pieces.count = 0;
	s->stub_steps = STEPS_MAX;
	while (at < high) {
		hs_mem_window(mem, at, high - at);
		found = list_in_window(s, heap);
		if (found)
			return found;
		at += mem->window.have >= 8 ? mem->window.have & ~(size_t)7 : HS_PAGE;
	}
	return list_among(s);
}

/* ---- records ---- */

static bool name_write(struct hs_snapshot *s, const char *text, uint64_t start, uint64_t bytes)
{
	_Alignas(8) char room[sizeof(struct snap_stub) + HS_BLOB_NAME_MAX + 8];
	char *name = room + sizeof(struct snap_stub);
	size_t len = hs_blob_name(text, name);
	size_t size = (sizeof(struct snap_stub) + len + 7) & ~(size_t)7;
	struct snap_stub record = {.record = {SNAP_STUB, (uint32_t)size},
				   .start = start,
				   .size = (uint32_t)bytes,
				   .name_len = (uint32_t)len};

	__builtin_memcpy(room, &record, sizeof(record));
	__builtin_memset(name + len, 0, size - sizeof(record) - len);
	return hs_record_write(s, room, size);
}

static bool stub_write(struct hs_snapshot *s, const struct stub_range *stub)
{
	char text[HS_BLOB_NAME_MAX];

	return name_read(s, stub, text) == 0 ||
	       name_write(s, text, stub->start, stub->end - stub->start);
}

/* ---- vtable and itable stubs ----
 *
 * HotSpot puts both kinds into blobs named "vtable chunks" (code/vtableStubs.hpp, JDK 8 to 25),
 * each with a header before its code. vmStructs do not describe it either: a header is accepted if
 * its ame_offset leads to the jump that ends the search for the method. */
struct vtable_header {
	uint64_t next;
	uint16_t index, ame_offset, npe_offset; /* offsets from the end of the header */
	uint8_t is_vtable;
	uint8_t padding;
};

/* Returns the length of the stub after a header, 0: there is none. */
static uint32_t vtable_stub_length(const struct hs_snapshot *s, const struct hs_code *code,
				   uint32_t at, const struct vtable_header *h)
{
	uint32_t left = code->size - at, len;

	if (h->is_vtable > 1 || h->npe_offset > h->ame_offset || h->ame_offset == 0 ||
	    (h->next && (h->next % 8 != 0 || !in_code(s, h->next, h->next + sizeof(*h)))))
		return 0;
	len = hs_scan_method_jump(code, at + h->ame_offset);
	if (len == 0)
		return 0;
	len += h->ame_offset + (h->is_vtable ? 0 : HS_FAR_JUMP);
	return len < left ? len : left;
}

/* Counts the stubs of all chunks, and writes them if `write`. False: the sink is full. */
static bool vtables_scan(struct hs_snapshot *s, bool write, uint32_t *ret_count)
{
	*ret_count = 0;
	for (uint32_t i = 0; i < s->vtables; i++) {
		const struct hs_span *span = &s->vtable[i];
		struct hs_code code = {.start = span->low};
		struct vtable_header h;
		uint32_t len;
		size_t have;

		hs_mem_window(&s->hs.mem, span->low, (size_t)(span->high - span->low));
		code.bytes = hs_mem_view(&s->hs.mem, span->low, &have);
		code.size = (uint32_t)s->hs.mem.window.have;
		for (uint32_t at = 0; at + sizeof(h) < code.size; at += (len + 7) & ~7u) {
			__builtin_memcpy(&h, code.bytes + at, sizeof(h));
			at += sizeof(h);
			len = vtable_stub_length(s, &code, at, &h);
			if (len == 0) {
				at -= 8;
				continue;
			}
			++*ret_count;
			if (write && !name_write(s, h.is_vtable ? "vtable stub" : "itable stub",
						 span->low + at, len))
				return false;
		}
	}
	return true;
}

/* Writes all of them when one was added. */
static bool vtables_write(struct hs_snapshot *s, struct hs_known_stubs *known)
{
	uint32_t count;

	vtables_scan(s, false, &count);
	if (count == known->vtable_stubs)
		return true;
	known->vtable_stubs = count;
	return vtables_scan(s, true, &count);
}

bool hs_stubs_write(struct hs_snapshot *s, const struct hs_heaps *heaps,
		    struct hs_known_stubs *known)
{
	struct hs_known_stubs all = {0};
	struct stub_range stub;
	uint64_t first;

	known = known ? known : &all;
	if (!s->delta || !known->searched)
		*known = (struct hs_known_stubs){.searched = s->fixed.head.call_stub_return,
						 .list = list_find(s, heaps->heap[0].at)};
	if (!vtables_write(s, known))
		return false;
	if (!known->list || !hs_mem_ptr(&s->hs.mem, known->list, &first))
		return true;
	for (uint64_t at = first, n = 0; at && at != known->first && n < STUBS_MAX;
	     at = stub.next, n++) {
		if (!stub_read(s, at, &stub))
			break;
		if (!stub_write(s, &stub))
			return false;
	}
	known->first = first;
	return true;
}
