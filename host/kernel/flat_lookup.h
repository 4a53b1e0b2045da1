/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lookups of a walk in the flat tables, and the steps and checks that its rules share.
 *
 * Compiled for BPF and for user space. The including file defines FLAT_FUNCTION (how functions are
 * declared that are better not repeated) and FLAT_INLINE (for those that return a struct) before,
 * and the accessors below after it. */
#ifndef DFG_KERNEL_FLAT_LOOKUP_H
#define DFG_KERNEL_FLAT_LOOKUP_H

#include <stddef.h>

#include "kernel/flat_objects.h"

#define FLAT_FRAME_BYTES  (1u << 20) /* above the stack pointer: further up is another stack */
#define FLAT_SEARCHES_MAX 64u	     /* of a walk: few stacks need more than one */
#define FLAT_SEARCH_MAX	  17u	     /* places that a search looks at */
#define FLAT_STUB_PUSHED  2u	     /* words of arguments that C1 pushes for a stub */

/* Begins a FLAT_FUNCTION: in BPF each is verified by itself, once and not for each of its calls,
 * with pointers that may be NULL (kernel/bpf/btf.c, btf_prepare_func_args; 5.12). Loading takes 0.1
 * s so, and 1.6 s without. */
#define FLAT_NEED(p, otherwise)                                                                    \
	do                                                                                         \
		if (!(p))                                                                          \
			return otherwise;                                                          \
	while (0)

/* Calls leave the return address on the stack, or in the link register (FLAT_LINK). FLAT_ADDRESS:
 * of a return address, the bits without its signature. */
#ifdef FLAT_ARM64
#define FLAT_LINK    true
#define FLAT_ADDRESS 0x0000ffffffffffffull
#else
#define FLAT_LINK    false
#define FLAT_ADDRESS UINT64_MAX
#endif

/* As struct sender of the unwinder. */
struct flat_sender {
	uint64_t ret_at, fp_at; /* fp_at 0: not saved */
	bool link;
};

/* Entries of the tables by number; NULL: there is none. */
static inline const uint32_t *flat_dir(uint32_t i);
static inline const struct flat_page *flat_page(uint32_t i);
static inline const struct flat_code *flat_code(uint32_t i);
static inline const struct flat_range *flat_range(uint32_t i);
static inline const struct flat_mapping *flat_mapping(uint32_t i);
static inline const uint32_t *flat_block(uint32_t i);
static inline const struct flat_spot *flat_spot(uint32_t i);
static inline const struct flat_row *flat_row(uint32_t i);
static inline const uint64_t *flat_method(uint32_t i);
static inline volatile uint64_t *flat_found(uint32_t i);

/* ---- lookups ------------------------------------------------------------------------------ */

/* Reads a part of the stack from an address on, into `words`; a shorter one where the stack ends
 * before. */
static inline void flat_read_part(struct flat_walk *w, uint64_t from)
{
	w->words_at = from;
	w->words_len = sizeof(w->words);
	if (flat_memory(from, w->words, sizeof(w->words)))
		return;
	w->words_len = FLAT_BELOW + FLAT_WORD;
	if (!flat_memory(from, w->words, FLAT_BELOW + FLAT_WORD))
		w->words_len = 0;
}

/* Reads a word of the stack. False outside of what can be the stack. The words around it are read,
 * too: the rules ask for some below it next, the callers' for some above. */
FLAT_FUNCTION bool flat_read(struct flat_walk *w, uint64_t at, uint64_t *ret)
{
	uint64_t from = at - FLAT_BELOW, known;

	FLAT_NEED(w && ret, false);
	*ret = 0;
	if (at < w->base || (at > w->sp && at - w->sp > FLAT_FRAME_BYTES))
		return false;
	known = at - w->words_at;
	if (known >= w->words_len && from >= w->base && from < at) {
		flat_read_part(w, from);
		known = FLAT_BELOW;
	}
	if (known < w->words_len && known % FLAT_WORD == 0) {
		*ret = w->words[known / FLAT_WORD % FLAT_WORDS];
		return true;
	}
	if (flat_memory(at, ret, sizeof(*ret)))
		return true;
	w->unread = true;
	return false;
}

static inline bool flat_in_cache(const struct flat_walk *w, uint64_t addr)
{
	return addr >= w->process.code_low && addr < w->process.code_high;
}

static inline const struct flat_segment *flat_segment_at(const struct flat_walk *w, uint64_t addr)
{
	const struct flat_page *page;
	const uint32_t *number;

	if (!flat_in_cache(w, addr))
		return NULL;
	number = flat_dir(w->process.dir + (uint32_t)((addr - w->process.code_low) / FLAT_PAGE));
	page = number && *number ? flat_page(*number) : NULL;
	return page ? &page->segments[addr % FLAT_PAGE / FLAT_SEGMENT] : NULL;
}

static inline uint32_t flat_number(const struct flat_walk *w, uint64_t addr)
{
	const struct flat_segment *s;

	if (addr == w->number_at)
		return w->number;
	s = flat_segment_at(w, addr);
	return s ? s->code : 0;
}

static inline const struct flat_code *flat_find(const struct flat_walk *w, uint64_t addr)
{
	uint32_t number = flat_number(w, addr);
	const struct flat_code *c = number ? flat_code(number) : NULL;

	return c && addr - c->start < c->size ? c : NULL;
}

/* True if a call ends at the address. Where code is missing nothing can be said. */
FLAT_FUNCTION bool flat_is_return(struct flat_walk *w, uint64_t addr)
{
	const struct flat_segment *s;
	uint32_t at = (uint32_t)(addr - 1) % FLAT_SEGMENT;

	FLAT_NEED(w, false);
	s = flat_segment_at(w, addr - 1);
	if (!s || !s->code || s->code == FLAT_NONE) {
		w->unsure = w->unsure || flat_in_cache(w, addr - 1);
		return false;
	}
	w->number_at = addr - 1;
	w->number = s->code;
	return s->returns[at / 32] >> at % 32 & 1;
}

/* Number, from 1, of the range that holds an offset; 0: none. */
FLAT_FUNCTION uint32_t flat_holds(uint32_t first, uint32_t count, uint32_t offset)
{
	const struct flat_range *r;
	uint32_t lo = first, hi = first + count;

	for (uint32_t i = 0; i < 16 && lo < hi; i++) {
		uint32_t half = lo + (hi - lo) / 2;

		r = flat_range(half);
		if (r && r->end <= offset)
			lo = half + 1;
		else
			hi = half;
	}
	if (lo >= first + count)
		return 0;
	r = flat_range(lo);
	return r && r->begin <= offset && offset < r->end ? lo + 1 : 0;
}

static inline uint32_t flat_exit(const struct flat_code *c, uint32_t offset)
{
	return c->exit_count ? flat_holds(c->exits, c->exit_count, offset) : 0;
}

static inline uint32_t flat_spilled(const struct flat_code *c, uint32_t offset)
{
	uint32_t n = c->spill_count ? flat_holds(c->spills, c->spill_count, offset) : 0;
	const struct flat_range *r = n ? flat_range(n - 1) : NULL;

	return r ? r->bytes : 0;
}

/* Finds the executable mapping of an address: its number from 1; 0: none. */
FLAT_FUNCTION uint32_t flat_find_mapping(struct flat_walk *w, uint64_t addr)
{
	const struct flat_mapping *m;
	uint32_t lo, end, hi;

	FLAT_NEED(w, 0);
	m = flat_mapping(w->mapping);
	lo = w->process.mappings;
	end = hi = lo + w->process.mapping_count;
	if (w->mapping >= lo && w->mapping < end && m && addr >= m->start && addr < m->end)
		return w->mapping + 1;
	for (uint32_t i = 0; i < 13 && lo < hi; i++) {
		uint32_t half = lo + (hi - lo) / 2;

		m = flat_mapping(half);
		if (m && m->end <= addr)
			lo = half + 1;
		else
			hi = half;
	}
	m = lo < end ? flat_mapping(lo) : NULL;
	if (!m || addr < m->start || addr >= m->end)
		return 0;
	w->mapping = lo;
	return lo + 1;
}

/* Finds the row that holds for an address as linked; 0: none. */
static inline uint32_t flat_find_row(const struct flat_mapping *m, uint32_t at)
{
	uint32_t block = (at - m->low) / FLAT_BLOCK, begin = m->low + block * FLAT_BLOCK, lo, hi;
	const struct flat_spot *last;
	const uint32_t *first, *end;

	if (at < m->low || block + 1 >= m->block_count)
		return 0;
	first = flat_block(m->blocks + block);
	end = flat_block(m->blocks + block + 1);
	if (!first || !end)
		return 0;
	lo = *first + 1; /* the first spot that may be above */
	hi = *end + 1;
	for (uint32_t i = 0; i < 11 && lo < hi; i++) { /* a block has FLAT_BLOCK spots at most */
		uint32_t half = lo + (hi - lo) / 2;
		const struct flat_spot *s = flat_spot(half);

		if (s && (uint16_t)(s->at - begin) <= at - begin)
			lo = half + 1;
		else
			hi = half;
	}
	last = flat_spot(lo - 1);
	return last ? last->row : 0;
}

/* True if a Method leads to a class that leads to the same ConstantPool. */
static inline bool flat_has_class(const struct flat_objects *o, uint64_t method)
{
	const uint64_t pool = word_at(word_at(method, o->method_const), o->const_pool);

	return pool && o->class_pool &&
	       word_at(word_at(pool, o->pool_holder), o->class_pool) == pool;
}

/* True if it is the id of a method. The table lacks those that have not run before; of an old
 * version of a method the class has another ConstantPool. */
FLAT_FUNCTION bool flat_is_method(struct flat_walk *w, uint64_t id)
{
	uint32_t at = flat_hash(id);

	FLAT_NEED(w, false);
	if (flat_has_class(&w->process.objects, id))
		return true;
	for (uint32_t i = 0; i < FLAT_PROBES; i++) {
		const uint64_t *m =
			flat_method(w->process.methods + ((at + i) & w->process.method_mask));

		if (m && *m == id && id)
			return true;
	}
	return false;
}

/* ---- steps -------------------------------------------------------------------------------- */

static inline void flat_add(struct flat_walk *w, uint64_t frame)
{
	uint32_t n = w->sample.count;

	if (n >= FLAT_FRAMES_MAX)
		return;
	w->frames[n & (FLAT_FRAMES_MAX - 1)] = frame;
	w->sample.count = n + 1;
}

/* Steps to the caller; fp_at 0: its frame pointer is unchanged. */
FLAT_FUNCTION bool flat_go(struct flat_walk *w, uint64_t pc, uint64_t sp, uint64_t fp_at)
{
	uint64_t fp = 0;

	FLAT_NEED(w, false);
	fp = w->fp;
	if (sp < w->sp || (sp == w->sp && !w->exact) || (fp_at && !flat_read(w, fp_at, &fp)))
		return false;
	w->pc = pc;
	w->sp = sp;
	w->fp = fp;
	w->exact = false;
	return true;
}

/* The first frame's link register. */
static inline uint64_t flat_link(const struct flat_walk *w)
{
#ifdef FLAT_ARM64
	return w->exact ? w->first.link & FLAT_ADDRESS : 0;
#else
	(void)w;
	return 0;
#endif
}

/* Reads a code address on the stack. */
static inline bool flat_read_pc(struct flat_walk *w, uint64_t at, uint64_t *ret)
{
	bool good = flat_read(w, at, ret);

	*ret &= FLAT_ADDRESS;
	return good;
}

static inline bool flat_sender_pc(struct flat_walk *w, uint64_t ret_at, bool link, uint64_t *ret)
{
	if (!FLAT_LINK || !link)
		return flat_read_pc(w, ret_at, ret);
	*ret = flat_link(w);
	return true;
}

/* The functions below named _at are for BPF, where a struct cannot be an argument. */
FLAT_FUNCTION bool flat_take_at(struct flat_walk *w, uint64_t ret_at, uint64_t fp_at, bool link)
{
	uint64_t pc = 0;

	FLAT_NEED(w, false);
	return flat_sender_pc(w, ret_at, link, &pc) && flat_is_return(w, pc) &&
	       flat_go(w, pc, ret_at + FLAT_WORD, fp_at);
}

FLAT_INLINE bool flat_take(struct flat_walk *w, struct flat_sender s)
{
	return flat_take_at(w, s.ret_at, s.fp_at, s.link);
}

FLAT_FUNCTION bool flat_take_native_at(struct flat_walk *w, uint64_t ret_at, uint64_t fp_at,
				       bool link)
{
	uint64_t pc = 0;

	FLAT_NEED(w, false);
	return flat_sender_pc(w, ret_at, link, &pc) && pc && flat_find_mapping(w, pc - 1) &&
	       flat_go(w, pc, ret_at + FLAT_WORD, fp_at);
}

FLAT_INLINE bool flat_take_native(struct flat_walk *w, struct flat_sender s)
{
	return flat_take_native_at(w, s.ret_at, s.fp_at, s.link);
}

/* True if a caller at pc, whose stack pointer will be sp, has a valid return address. */
FLAT_FUNCTION bool flat_leads_on(struct flat_walk *w, uint64_t pc, uint64_t sp)
{
	const struct flat_code *c;
	uint64_t at, next = 0;

	FLAT_NEED(w, false);
	c = flat_find(w, pc - 1);
	if (!c) {
		w->unsure = true;
		return false;
	}
	if (c->kind != FLAT_COMPILED && c->kind != FLAT_WRAPPER)
		return true;
	at = sp + flat_spilled(c, (uint32_t)(pc - c->start)) + c->frame - FLAT_WORD;
	if (!flat_read_pc(w, at, &next))
		return false;
	return flat_is_return(w, next) ||
	       (w->kind == FLAT_STUBS &&
		flat_read_pc(w, at + FLAT_STUB_PUSHED * FLAT_WORD, &next) &&
		flat_is_return(w, next));
}

FLAT_FUNCTION bool flat_take_found_at(struct flat_walk *w, uint64_t ret_at, uint64_t fp_at,
				      bool link)
{
	uint64_t pc = 0;

	FLAT_NEED(w, false);
	return flat_sender_pc(w, ret_at, link, &pc) && flat_is_return(w, pc) &&
	       flat_leads_on(w, pc, ret_at + FLAT_WORD) &&
	       flat_go(w, pc, ret_at + FLAT_WORD, fp_at);
}

FLAT_INLINE bool flat_take_found(struct flat_walk *w, struct flat_sender s)
{
	return flat_take_found_at(w, s.ret_at, s.fp_at, s.link);
}

/* True if a word could be a return address in code that is not where the tables have it. */
static inline bool flat_may_be_code(struct flat_walk *w, uint64_t word)
{
	const struct flat_code *c;

	if (word <= w->process.code_low || word > w->process.code_high || flat_is_return(w, word))
		return false;
	c = flat_find(w, word - 1);
	return !c || c->kind == FLAT_COMPILED || c->kind == FLAT_WRAPPER;
}

/* Tries flat_take_found at `count` places, a word apart. A stack that was made to need many
 * searches is left. */
FLAT_FUNCTION bool flat_search_at(struct flat_walk *w, uint64_t ret_at, uint64_t fp_at,
				  uint32_t count)
{
	uint64_t word = 0;

	FLAT_NEED(w, false);
	w->unsure = w->unsure || w->searches++ >= FLAT_SEARCHES_MAX;
	if (w->unsure)
		return false;
	for (uint32_t i = 0; i < FLAT_SEARCH_MAX && i < count; i++) {
		if (flat_take_found_at(w, ret_at, fp_at, false))
			return true;
		if (!flat_read_pc(w, ret_at, &word) || flat_may_be_code(w, word))
			return false;
		ret_at += FLAT_WORD;
		fp_at += fp_at ? FLAT_WORD : 0;
	}
	return false;
}

/* A return address in the link register is tried once: there is no place to search from. */
FLAT_INLINE bool flat_search(struct flat_walk *w, struct flat_sender first, uint32_t count)
{
	if (FLAT_LINK && first.link)
		return flat_take_found(w, first);
	return flat_search_at(w, first.ret_at, first.fp_at, count);
}

/* Sender of a complete frame with stack pointer `sp`. */
FLAT_INLINE struct flat_sender flat_body(const struct flat_code *c, uint64_t sp)
{
	if (c->frame < 2 * FLAT_WORD)
		return (struct flat_sender){.ret_at = sp};
	return (struct flat_sender){.ret_at = sp + c->frame - FLAT_WORD,
				    .fp_at = sp + c->frame - 2 * FLAT_WORD};
}

/* Sender of a frame that is not built yet, or has been removed. */
FLAT_INLINE struct flat_sender flat_frameless(const struct flat_walk *w)
{
	return (struct flat_sender){.ret_at = w->sp - FLAT_LINK * FLAT_WORD, .link = FLAT_LINK};
}

/* Sender of a frame that the frame pointer points to. */
FLAT_INLINE struct flat_sender flat_framed(const struct flat_walk *w)
{
	return (struct flat_sender){.ret_at = w->fp + FLAT_WORD, .fp_at = w->fp};
}

/* Adds the frame of an interpreted method, and steps to its caller. */
static inline bool flat_interpreted(struct flat_walk *w, uint64_t method, uint64_t pc, uint64_t sp,
				    uint64_t fp_at)
{
	if (!flat_go(w, pc, sp, fp_at))
		return false;
	flat_add(w, FLAT_FRAME(FLAT_FRAME_INTERPRETED, method & (~0ull >> 4)));
	return true;
}

/* Takes the pc that a deoptimised frame had. */
static inline bool flat_restore_pc(struct flat_walk *w, const struct flat_code *c, uint32_t offset)
{
	uint64_t pc = 0;

	if (offset != c->deopt && offset != c->deopt_mh)
		return true;
	if (c->orig_pc == UINT16_MAX || !flat_read_pc(w, w->sp + c->orig_pc, &pc) ||
	    pc <= c->start || pc - c->start > c->size || pc - c->start == c->deopt ||
	    pc - c->start == c->deopt_mh || !flat_is_return(w, pc))
		return false;
	w->pc = pc;
	return true;
}

#endif
