// SPDX-License-Identifier: Apache-2.0
#include "bpf/share.h"

#include <string.h>

#include "common/log.h"
#include "common/str.h"

/* Place of a JavaCallWrapper, if the JVM does not say (cpu/aarch64/frame_aarch64.hpp). */
#define WRAPPER_SLOT_ARM64 (-8)
#define CACHE_MAX  (4ull << 30) /* bytes of a code cache; HotSpot allows 2 GiB */
#define CODE_MAX   (64u << 20)	/* bytes of a code; the interpreter, the largest, has one MB */
#define NUMBER_MAX (1u << 28)	/* of a code: FLAT_IN_CODE */

_Static_assert((int)FLAT_COMPILED == SNAP_COMPILED && (int)FLAT_WRAPPER == SNAP_NATIVE &&
		       (int)FLAT_INTERPRETER == SNAP_INTERPRETER && (int)FLAT_STUBS == SNAP_STUBS &&
		       (int)FLAT_RUNTIME == SNAP_RUNTIME && (int)FLAT_ADAPTER == SNAP_ADAPTER &&
		       FLAT_NONE == SNAP_NONE,
	       "the numbers of a snapshot");

struct flat_tables *flat_tables_new(void)
{
	struct flat_tables *t = xcalloc(1, sizeof(*t));

	memset(flat_add_entry(t, FLAT_PAGES), 0, sizeof(*t->pages));
	memset(flat_add_entry(t, FLAT_CODES), 0, sizeof(*t->codes));
	return t;
}

void flat_tables_free(struct flat_tables *t)
{
	if (!t)
		return;
	flat_unshare(t);
	for (unsigned i = 0; i < FLAT_TABLES; i++)
		free(t->list[i]);
	free(t->row_places);
	free(t);
}

/* ---- code --------------------------------------------------------------------------------- */

static uint64_t page_of(uint64_t addr)
{
	return addr & ~(uint64_t)(FLAT_PAGE - 1);
}

static size_t pages_of(const struct flat_process *p)
{
	return (size_t)((p->code_high - p->code_low + FLAT_PAGE - 1) / FLAT_PAGE);
}

static bool in_cache(const struct flat_process *p, uint64_t addr)
{
	return addr >= p->code_low && addr < p->code_high;
}

/* The segment of an address in the code cache, to be changed; valid until the next call. */
static struct flat_segment *segment_at(struct flat_tables *t, const struct flat_process *p,
				       uint64_t addr)
{
	const size_t at = p->dir + (addr - p->code_low) / FLAT_PAGE;

	if (!t->dir[at]) {
		const uint32_t number = (uint32_t)t->count[FLAT_PAGES];

		memset(flat_add_entry(t, FLAT_PAGES), 0, sizeof(*t->pages));
		__atomic_store_n(&t->dir[at], number, __ATOMIC_RELEASE);
	}
	return &t->pages[t->dir[at]].segments[addr % FLAT_PAGE / FLAT_SEGMENT];
}

static void clear_segment(struct flat_segment *s)
{
	__atomic_store_n(&s->code, 0, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < ARRAY_LEN(s->returns); i++)
		__atomic_store_n(&s->returns[i], 0, __ATOMIC_RELEASE);
}

/* Number of the code at an address in the code cache; 0: none, FLAT_NONE: it cannot be told. */
static uint32_t number_at(const struct flat_tables *t, const struct flat_process *p, uint64_t addr)
{
	uint32_t page = t->dir[p->dir + (addr - p->code_low) / FLAT_PAGE];

	return t->pages[page].segments[addr % FLAT_PAGE / FLAT_SEGMENT].code;
}

/* Notes that a call may end at an address in the code, or right after it. */
static void add_return(struct flat_tables *t, const struct flat_process *p,
		       const struct snapfile_code *c, uint64_t addr)
{
	const uint32_t at = (uint32_t)(addr - 1) % FLAT_SEGMENT;

	if (addr > c->start && addr <= c->end)
		segment_at(t, p, addr - 1)->returns[at / 32] |= 1u << at % 32;
}

static uint64_t segment_of(uint64_t addr)
{
	return addr & ~(uint64_t)(FLAT_SEGMENT - 1);
}

static void add_segments(struct flat_tables *t, const struct flat_process *p,
			 const struct snapfile_code *c, uint32_t number)
{
	for (uint64_t at = segment_of(c->start); at < c->end; at += FLAT_SEGMENT) {
		uint32_t *code = &segment_at(t, p, at)->code;

		__atomic_store_n(code, *code ? FLAT_NONE : number, __ATOMIC_RELEASE);
	}
}

static void add_returns(struct flat_tables *t, const struct flat_process *p,
			const struct snapfile_code *c, bool anywhere)
{
	const struct snap_code *r = c->record;

	for (uint64_t at = c->start; anywhere && at < c->end; at++)
		add_return(t, p, c, at + 1);
	for (uint32_t i = 0; i < r->region_count; i++)
		add_return(t, p, c, c->start + c->regions[i].end);
	for (uint32_t i = 0; i < r->call_count; i++)
		add_return(t, p, c, c->start + c->calls[i]);
	if (r->kind == SNAP_COMPILED || r->kind == SNAP_NATIVE) {
		add_return(t, p, c, c->start + r->deopt);
		add_return(t, p, c, c->start + r->deopt_mh);
	}
	add_return(t, p, c, p->call_stub_return);
	add_return(t, p, c, p->cont_return);
}

/* See is_left of unwind_frames.c, and by_exception of unwind_x86.c. */
static uint32_t left_of(const struct snapfile_code *c)
{
	uint32_t regions = c->record->region_count, exits = c->record->exit_count;
	uint32_t region = regions ? c->regions[regions - 1].end : 0;
	uint32_t exit = exits ? c->exits[exits - 1].end : 0;

	if (snapfile_is_thrower(c))
		return exits ? exit : FLAT_NONE;
	if (!regions)
		return FLAT_NONE;
	return exit > region ? exit : region;
}

static struct flat_code make_code(const struct snapfile_code *c)
{
	const struct snap_code *r = c->record;

	return (struct flat_code){
		.start = c->start,
		.size = r->size,
		.frame = r->frame_size,
		.complete = r->frame_complete,
		.push_end = r->push_end,
		.sub_end = r->sub_end,
		.deopt = r->deopt,
		.deopt_mh = r->deopt_mh,
		.orig_pc = (uint16_t)(r->orig_pc < UINT16_MAX ? r->orig_pc : UINT16_MAX),
		.left = left_of(c),
		.exit_count = (uint16_t)r->exit_count,
		.spill_count = (uint16_t)c->spill_count,
		.kind = (uint8_t)r->kind,
		.flags = (snapfile_is_thrower(c) ? FLAT_THROWS : 0) |
			 (snapfile_selects(c) ? FLAT_SELECTS : 0) |
			 (snapfile_pushes(c) ? FLAT_PUSHES : 0),
		.compile_id = r->compile_id};
}

/* Finds the number that the code has already; 0: none. It is not FLAT_MADE any more where this one
 * is not. */
static uint32_t known_number(const struct flat_tables *t, const struct flat_process *p,
			     const struct flat_code *code)
{
	uint32_t number = number_at(t, p, code->start);
	struct flat_code old;

	if (!number || number == FLAT_NONE)
		return 0;
	old = t->codes[number];
	old.exits = old.spills = 0;
	old.flags = (uint8_t)((old.flags & ~FLAT_MADE) | (code->flags & FLAT_MADE));
	if (memcmp(&old, code, sizeof(old)) != 0)
		return 0;
	if (!(code->flags & FLAT_MADE))
		t->codes[number].flags &= (uint8_t)~FLAT_MADE;
	return number;
}

/* Adds a code that has no number yet. */
static uint32_t add_code(struct flat_tables *t, const struct snapfile_code *c,
			 struct flat_code code)
{
	code.exits = (uint32_t)t->count[FLAT_RANGES];
	for (uint32_t i = 0; i < code.exit_count; i++)
		*(struct flat_range *)flat_add_entry(t, FLAT_RANGES) =
			(struct flat_range){.begin = c->exits[i].pop, .end = c->exits[i].end};
	code.spills = (uint32_t)t->count[FLAT_RANGES];
	for (size_t i = 0; i < code.spill_count; i++)
		*(struct flat_range *)flat_add_entry(t, FLAT_RANGES) =
			(struct flat_range){.begin = c->spills[i].begin,
					    .end = c->spills[i].end,
					    .bytes = c->spills[i].bytes};
	*(struct flat_code *)flat_add_entry(t, FLAT_CODES) = code;
	return (uint32_t)t->count[FLAT_CODES] - 1;
}

static bool fits(const struct flat_tables *t, const struct flat_process *p,
		 const struct snapfile_code *c)
{
	return in_cache(p, c->start) && in_cache(p, c->end - 1) && c->record->size <= CODE_MAX &&
	       c->record->exit_count <= UINT16_MAX && c->spill_count <= UINT16_MAX &&
	       c->record->kind <= SNAP_ADAPTER && t->count[FLAT_CODES] < NUMBER_MAX;
}

/* The number of a code of the process, a new one if it has none; 0: it does not fit. */
static uint32_t number_of(struct flat_tables *t, const struct flat_process *p,
			  const struct snapfile_code *c, bool made)
{
	struct flat_code code;
	uint32_t number;

	if (!fits(t, p, c))
		return 0;
	code = make_code(c);
	code.flags |= (!p->cont_return && snapfile_is_barrier(c) ? FLAT_BARRIER : 0) |
		      (made ? FLAT_MADE : 0);
	number = known_number(t, p, &code);
	return number ? number : add_code(t, c, code);
}

static void add_to_pages(struct flat_tables *t, const struct flat_process *p,
			 const struct snapfile_code *c, uint32_t number)
{
	const struct flat_code *code = &t->codes[number];

	add_returns(t, p, c, code->flags & FLAT_BARRIER || code->kind == FLAT_INTERPRETER);
	add_segments(t, p, c, number);
}

static void set_codes(struct flat_tables *t, const struct snapfile *sf,
		      const struct flat_process *p)
{
	CLEANUP(free) uint32_t *numbers = xcalloc(snapfile_code_count(sf), sizeof(*numbers));
	const struct snapfile_code *c;
	size_t n = 0;

	for (size_t at = 0; (c = snapfile_next_code(sf, &at)); n++)
		numbers[n] = number_of(t, p, c, false);
	for (size_t i = 0; i < pages_of(p); i++)
		for (unsigned k = 0; t->dir[p->dir + i] && k < FLAT_SEGMENTS; k++)
			clear_segment(&t->pages[t->dir[p->dir + i]].segments[k]);
	n = 0;
	for (size_t at = 0; (c = snapfile_next_code(sf, &at)); n++)
		if (numbers[n])
			add_to_pages(t, p, c, numbers[n]);
}

/* Takes a code away from the pages, but for segments where there is another one, too: these stay
 * unknown. */
static void remove_code(struct flat_tables *t, const struct flat_process *p, uint32_t number)
{
	const uint64_t start = t->codes[number].start, end = start + t->codes[number].size;

	for (uint64_t at = segment_of(start); at < end; at += FLAT_SEGMENT)
		if (number_at(t, p, at) == number)
			clear_segment(segment_at(t, p, at));
}

static void remove_start(struct flat_tables *t, const struct flat_process *p, uint64_t start)
{
	uint32_t number = in_cache(p, start) ? number_at(t, p, start) : 0;

	if (number && number != FLAT_NONE && t->codes[number].start == start)
		remove_code(t, p, number);
}

/* Code that new code overlaps is gone. */
static void remove_overlapped(struct flat_tables *t, const struct flat_process *p,
			      const struct snapfile_code *c)
{
	for (uint64_t at = segment_of(c->start); at < c->end; at += FLAT_SEGMENT) {
		uint32_t number = in_cache(p, at) ? number_at(t, p, at) : 0;
		const struct flat_code *old = &t->codes[number == FLAT_NONE ? 0 : number];

		if (old->start < c->end && c->start < old->start + old->size)
			remove_code(t, p, number);
	}
}

static void change_codes(struct flat_tables *t, const struct snapfile *sf, bool made,
			 const struct flat_process *p)
{
	struct snapfile_gone gone = {0};
	const struct snapfile_code *c;
	uint64_t start;

	while ((start = snapfile_next_gone(sf, &gone)))
		remove_start(t, p, start);
	for (size_t at = 0; (c = snapfile_next_listed(sf, &at));)
		remove_overlapped(t, p, c);
	for (size_t at = 0; (c = snapfile_next_code(sf, &at));) {
		uint32_t number = number_of(t, p, c, made);

		if (number)
			add_to_pages(t, p, c, number);
	}
}

/* ---- methods ------------------------------------------------------------------------------ */

static void add_method(struct flat_tables *t, const struct flat_process *p, uint64_t id)
{
	uint32_t at = flat_hash(id);

	for (uint32_t i = 0; i < FLAT_PROBES; i++) {
		uint64_t *m = &t->methods[p->methods + ((at + i) & p->method_mask)];

		if (!*m || *m == id) {
			*m = id;
			return;
		}
	}
}

static void add_methods(struct flat_tables *t, const struct snapfile *sf,
			const struct flat_process *p)
{
	uint64_t id;

	for (size_t at = 0; (id = snapfile_next_method(sf, &at));)
		add_method(t, p, id);
}

static void set_methods(struct flat_tables *t, const struct snapfile *sf,
			const struct flat_process *p)
{
	memset(t->methods + p->methods, 0, (p->method_mask + 1u) * sizeof(*t->methods));
	add_methods(t, sf, p);
}

/* Makes room for twice as many methods as there are now. */
static void reserve_methods(struct flat_tables *t, const struct snapfile *sf,
			    struct flat_process *p)
{
	size_t n = 0, places = 1024;

	for (size_t at = 0; snapfile_next_method(sf, &at);)
		n++;
	while (places < 4 * n)
		places *= 2;
	p->methods = flat_extend(t, FLAT_METHODS, places);
	p->method_mask = (uint32_t)places - 1;
}

/* ---- processes ---------------------------------------------------------------------------- */

int flat_add_process(struct flat_tables *t, const struct snapfile *sf, struct flat_process *ret,
		     struct err *err)
{
	const struct snap_head *head = snapfile_head(sf);
	struct flat_process p = {.code_low = page_of(head->code_low),
				 .code_high = head->code_high,
				 .call_stub_return = head->call_stub_return,
				 .cont_return = head->cont_return,
				 .method_slot = head->interpreter_method,
				 .bcp_slot = head->interpreter_bcp,
				 .wrapper_slot = head->entry_wrapper ? head->entry_wrapper
								     : WRAPPER_SLOT_ARM64,
				 .mappings = (uint32_t)t->count[FLAT_MAPPINGS]};
	const struct snap_layout *l = snapfile_layout(sf);
	const struct snap_objects *o = snapfile_objects(sf);

	if (p.code_high <= p.code_low || p.code_high - p.code_low > CACHE_MAX)
		return err_set(err, 0, "a snapshot with a code cache of an impossible size");
	p.layout = (struct flat_layout){.class_name = l->class_name,
					.symbol_length = l->symbol_length,
					.symbol_body = l->symbol_body,
					.allocated = l->allocated,
					.tlab_start = l->tlab_start,
					.tlab_top = l->tlab_top};
	_Static_assert(sizeof(p.objects) == sizeof(*o) - sizeof(o->record) &&
			       FLAT_HANDLES == SNAP_HANDLES && FLAT_COLOURED == SNAP_COLOURED &&
			       FLAT_REFILLS == SNAP_REFILLS && FLAT_MARK_CLASS == SNAP_MARK_CLASS &&
			       FLAT_MARK_BITS == SNAP_MARK_BITS &&
			       FLAT_MARK_MOVED == SNAP_MARK_MOVED,
		       "the same fields");
	memcpy(&p.objects, &o->record + 1, sizeof(p.objects));
	p.dir = flat_extend(t, FLAT_DIR, pages_of(&p));
	reserve_methods(t, sf, &p);
	if (flat_update_process(t, sf, false, &p, err) < 0)
		return -1;
	*ret = p;
	return 0;
}

int flat_update_process(struct flat_tables *t, const struct snapfile *sf, bool made,
			const struct flat_process *p, struct err *err)
{
	const struct snap_head *head = snapfile_head(sf);

	if (page_of(head->code_low) != p->code_low || head->code_high != p->code_high)
		return err_set(err, 0, "a code cache that has moved");
	if (snapfile_is_whole(sf))
		set_codes(t, sf, p);
	else
		change_codes(t, sf, made, p);
	if (snapfile_is_whole(sf) || snapfile_methods_complete(sf))
		set_methods(t, sf, p);
	else
		add_methods(t, sf, p);
	return 0;
}

bool flat_is_current(const struct flat_tables *t, const struct snapfile *sf,
		     const struct flat_sample *s, const uint64_t *frames)
{
	struct snapfile_span span = snapfile_around(sf, s->time);

	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t number = frames[i] >> 32 & (NUMBER_MAX - 1);
		const struct flat_code *code;

		if (frames[i] >> 60 != FLAT_FRAME_CODE)
			continue;
		code = number < t->count[FLAT_CODES] ? &t->codes[number] : NULL;
		if (!code || !snapfile_find_known(sf, code->start + (uint32_t)frames[i], span,
						 code->start, code->compile_id))
			return false;
	}
	return true;
}

/* ---- mappings ----------------------------------------------------------------------------- */

void flat_add_mapping(struct flat_tables *t, struct flat_process *p, uint64_t start, uint64_t end,
		      uint64_t pgoff, const struct flat_file *f)
{
	struct flat_mapping m = {.start = start, .end = end};
	uint64_t addr;

	if (f && elfsegs_address(&f->segments, pgoff, &addr) &&
	    addr + (end - start) <= UINT32_MAX) {
		m.shift = addr - start;
		m.low = f->low;
		m.blocks = f->blocks;
		m.block_count = f->block_count;
	} else if (f) {
		m.block_count = 1; /* no row for any address */
	}
	if (!p->mapping_count)
		p->found = flat_extend(t, FLAT_FOUND, FLAT_FOUND_ROWS);
	*(struct flat_mapping *)flat_add_entry(t, FLAT_MAPPINGS) = m;
	p->mapping_count++;
}
