// SPDX-License-Identifier: Apache-2.0
#include "probe/probes.h"

#include <stdio.h>
#include <string.h>

#include "common/str.h"
#include "probe/place_search.h"

#define LONGEST	   4	  /* bytes of an endbr64, or of an instruction of arm64 */
#define CALLER_MAX 65536u /* bytes of a function in which calls are looked for */

/* Functions, of several for a probe the last one counts that there is; mangled names are up to the
 * parameters, which differ from release to release. Those of locks are called by threads that
 * block, or wake others: a probe that is not cheap is good enough.
 */
static const struct {
	const char *name;
	enum flat_probe probe;
	bool only_cheap;
} functions[] = {
	{"_ZN11AllocTracer33send_allocation_in_new_tlab_eventE", FLAT_PROBE_TLAB, true}, /* JDK 8 */
	{"_ZN11AllocTracer34send_allocation_outside_tlab_eventE", FLAT_PROBE_OUTSIDE, true},
	{"_ZN11AllocTracer27send_allocation_in_new_tlabE", FLAT_PROBE_TLAB, true},
	{"_ZN11AllocTracer28send_allocation_outside_tlabE", FLAT_PROBE_OUTSIDE, true},
	{"_ZN15G1CollectedHeap22humongous_obj_allocateE", FLAT_PROBE_HUMONGOUS, true},
	{"_ZN13ObjectMonitor6EnterIE", FLAT_PROBE_ENTER, false}, /* up to JDK 24 */
	{"_ZN13ObjectMonitor8ReenterIE", FLAT_PROBE_REENTER, false},
	{"_ZN13ObjectMonitor10ExitEpilogE", FLAT_PROBE_EXIT, false},
	{"_ZN13ObjectMonitor14enter_internalE", FLAT_PROBE_ENTER, false},
	{"_ZN13ObjectMonitor16reenter_internalE", FLAT_PROBE_REENTER, false},
	{"_ZN13ObjectMonitor11exit_epilogE", FLAT_PROBE_EXIT, false},
	{"_ZN13ObjectMonitor22notify_contended_enterE", FLAT_PROBE_CONTEND, false},
	{"Unsafe_Park", FLAT_PROBE_PARK, false},
	{"_ZN6Parker4parkE", FLAT_PROBE_PARKED, false}, /* the place after its call */
	{"Unsafe_Unpark", FLAT_PROBE_UNPARK, false},
	{"_ZN13CompileBroker25invoke_compiler_on_methodE", FLAT_PROBE_COMPILE, false},
	{"_ZN7nmethod16make_not_entrantE", FLAT_PROBE_DISCARD, false},
	{"_ZN7nmethod26make_not_entrant_or_zombieE", FLAT_PROBE_DISCARD, false},
	{"_ZN14Deoptimization13uncommon_trapE", FLAT_PROBE_TRAP, true},
	{"_ZN8VMThread7executeE", FLAT_PROBE_EXECUTE, true},
	{"_ZN20SafepointSynchronize5beginE", FLAT_PROBE_BEGIN, true},
	{"_ZN20SafepointSynchronize5blockE", FLAT_PROBE_BLOCK, true},
	{"_ZN20SafepointSynchronize16do_cleanup_tasksE", FLAT_PROBE_STOPPED, true}, /* to JDK 23 */
	{"_ZN12VM_Operation8evaluateE", FLAT_PROBE_EVALUATE, true},
	{"_ZN16SafepointTracing3endE", FLAT_PROBE_END, true},
	{"_ZN10FreezeBase16freeze_fast_copyE", FLAT_PROBE_FREEZE, false},
	{"_ZN10FreezeBase13finish_freezeE", FLAT_PROBE_FREEZE_SLOW, false},
	{"_ZN12Continuation12prepare_thawE", FLAT_PROBE_THAW, false},
};

uint64_t place_offset(const struct place_search *s, uint64_t addr)
{
	for (size_t i = 0; i < s->segs.count; i++) {
		const struct elfseg *seg = &s->segs.list[i];
		const uint64_t offset = seg->offset + (addr - seg->vaddr);

		if (seg->exec && addr >= seg->vaddr && addr - seg->vaddr < seg->size)
			return offset < s->size ? offset : 0;
	}
	return 0;
}

/* True if it is the function of the table: parts of one have a name with a '.'. */
static bool is_function(const char *name, const char *wanted)
{
	return wanted[0] == '_' ? has_prefix(name, wanted) && !strchr(name, '.')
				: strcmp(name, wanted) == 0;
}

/* The first instruction from `offset` on that the kernel emulates (arch/x86/kernel/uprobes.c, Linux
 * 4.20): `push rbp` and the like, and nop, after an endbr64. Others are executed step by step,
 * which takes ten times as long. 0: there is none. */
static uint64_t cheap_place(const struct place_search *s, uint64_t offset)
{
	if (s->size < LONGEST || offset >= s->size - LONGEST)
		return 0;
#if defined(__x86_64__)
	if (memcmp(s->file + offset, "\xf3\x0f\x1e\xfa", 4) == 0) /* endbr64 */
		offset += 4;
	return (s->file[offset] >= 0x50 && s->file[offset] <= 0x57) || s->file[offset] == 0x90
		       ? offset
		       : 0;
#else
	return offset;
#endif
}

static void find_functions(struct place_search *s, struct flat_probes *ret)
{
	unsigned last[FLAT_PROBE_COUNT] = {0};

	for (size_t i = 0; i < s->funcs.count; i++)
		for (unsigned k = 0; k < ARRAY_LEN(functions); k++) {
			const enum flat_probe probe = functions[k].probe;
			uint64_t at, cheap;

			if (!is_function(s->funcs.list[i].name, functions[k].name) ||
			    k < last[probe])
				continue;
			last[probe] = k;
			s->linked[probe] = s->funcs.list[i].start;
			at = place_offset(s, s->linked[probe]);
			cheap = at ? cheap_place(s, at) : 0;
			ret->offset[probe] = cheap || functions[k].only_cheap ? cheap : at;
		}
}

/* ---- calls --------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define CALL_BYTES 5u
#define CALL_STEP  1u

/* Returns what the call instruction at an address calls, or the jump there goes to; 0: it is none
 * (Intel SDM, CALL rel32 and JMP rel32). */
static uint64_t called_by(const uint8_t *code, uint64_t at, bool jumps)
{
	int32_t distance;

	memcpy(&distance, code + 1, sizeof(distance));
	return code[0] == (jumps ? 0xe9 : 0xe8) ? at + CALL_BYTES + (uint64_t)(int64_t)distance : 0;
}
#else
#define CALL_BYTES 4u
#define CALL_STEP  4u

/* Arm Architecture Reference Manual, BL and B: 26 bits, words. */
static uint64_t called_by(const uint8_t *code, uint64_t at, bool jumps)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	return word >> 26 == (jumps ? 0x05 : 0x25)
		       ? at + (uint64_t)(int64_t)((int32_t)(word << 6) >> 4)
		       : 0;
}
#endif

/* Calls of a function by others, of names with this beginning. */
struct wanted_call {
	uint64_t callee; /* as linked; 0: there are none */
	const char *caller;
	bool jumps;    /* jumps to it are wanted instead */
	unsigned skip; /* so many are not */
};

/* Returns the offset in the file after a call; 0: there is none. */
static uint64_t find_call(const struct place_search *s, struct wanted_call c)
{
	for (size_t i = 0; c.callee && i < s->funcs.count; i++) {
		const struct elffunc *f = &s->funcs.list[i];
		uint64_t offset = place_offset(s, f->start), size = f->end - f->start;

		if (!has_prefix(f->name, c.caller) || !offset || size > CALLER_MAX ||
		    size >= s->size - offset)
			continue;
		for (uint64_t at = 0; at + CALL_BYTES < size; at += CALL_STEP)
			if (called_by(s->file + offset + at, f->start + at, c.jumps) == c.callee &&
			    c.skip-- == 0)
				return offset + at + CALL_BYTES;
	}
	return 0;
}

/* Finds where a function returns to that only one other one calls: its own end may be in several
 * places, and without a name. */
static uint64_t place_after_call(const struct place_search *s, uint64_t callee, const char *caller)
{
	return find_call(s, (struct wanted_call){.callee = callee, .caller = caller});
}

/* A wait whose end is not seen would never end: it has no beginning then. */
static void drop_halves(struct flat_probes *ret)
{
	uint64_t *at = ret->offset;

	if (!at[FLAT_PROBE_ENTERED])
		at[FLAT_PROBE_ENTER] = at[FLAT_PROBE_CONTEND] = 0;
	if (!at[FLAT_PROBE_REENTERED])
		at[FLAT_PROBE_REENTER] = 0;
	if (!at[FLAT_PROBE_COMPILED])
		at[FLAT_PROBE_COMPILE] = 0;
	if (!at[FLAT_PROBE_PARKED])
		at[FLAT_PROBE_PARK] = at[FLAT_PROBE_UNPARK] = 0;
	if (!at[FLAT_PROBE_FREEZE] || !at[FLAT_PROBE_FREEZE_SLOW] || !at[FLAT_PROBE_THAW])
		at[FLAT_PROBE_FREEZE] = at[FLAT_PROBE_FREEZE_SLOW] = at[FLAT_PROBE_THAW] = 0;
	if (!at[FLAT_PROBE_POOL_BEFORE] || !at[FLAT_PROBE_POOL_AFTER])
		at[FLAT_PROBE_POOL_BEFORE] = at[FLAT_PROBE_POOL_AFTER] = 0;
}

/* The address of a function, as linked; 0: there is none. */
static uint64_t function_at(const struct place_search *s, const char *name)
{
	for (size_t i = 0; i < s->funcs.count; i++)
		if (is_function(s->funcs.list[i].name, name))
			return s->funcs.list[i].start;
	return 0;
}

/* Threads that come from compiled code may call a part of block alone: gcc leaves the head of a
 * function to its callers (-fpartial-inlining). */
static void find_part_of_block(const struct place_search *s, struct flat_probes *ret)
{
	for (size_t i = 0; i < s->funcs.count; i++) {
		const struct elffunc *f = &s->funcs.list[i];
		const char *part = has_prefix(f->name, "_ZN20SafepointSynchronize5blockE")
					   ? strchr(f->name, '.')
					   : NULL;

		if (part && strcmp(part, ".part.0") == 0)
			ret->offset[FLAT_PROBE_BLOCK] = cheap_place(s, place_offset(s, f->start));
	}
}

/* All threads have stopped where synchronize_threads returns to; JDK 11 has no such function. */
static void find_stopped(const struct place_search *s, struct flat_probes *ret)
{
	const uint64_t threads = function_at(s, "_ZN20SafepointSynchronize19synchronize_threadsE");
	const uint64_t at = place_after_call(s, threads, "_ZN20SafepointSynchronize5beginE");

	if (at)
		ret->offset[FLAT_PROBE_STOPPED] = at;
}

static void find_monitors(const struct place_search *s, struct flat_probes *ret)
{
	const uint64_t enter = s->linked[FLAT_PROBE_ENTER], reenter = s->linked[FLAT_PROBE_REENTER];
	const uint64_t exit = s->linked[FLAT_PROBE_EXIT];
	const uint64_t left = place_offset(s, function_at(s, "_ZN13ObjectMonitor4exitE"));
	const uint64_t contended =
		function_at(s, "_ZN13ObjectMonitor26enter_with_contention_markE");
	const uint64_t again = reenter ? 0 : place_after_call(s, enter, "_ZN13ObjectMonitor4waitE");
	uint64_t *at = ret->offset;

	at[FLAT_PROBE_ENTERED] = place_after_call(s, enter, "_ZN13ObjectMonitor");
	at[FLAT_PROBE_REENTERED] = place_after_call(s, reenter, "_ZN13ObjectMonitor");
	if (left && !place_after_call(s, exit, "_ZN13ObjectMonitor") &&
	    !find_call(s, (struct wanted_call){exit, "_ZN13ObjectMonitor", .jumps = true}))
		at[FLAT_PROBE_EXIT] = left;
	if (!again) { /* up to JDK 26 */
		at[FLAT_PROBE_CONTEND] = 0;
		return;
	}
	at[FLAT_PROBE_CONTENDED] = place_after_call(s, contended, "_ZN13ObjectMonitor5enterE");
	at[FLAT_PROBE_INFLATED] =
		place_after_call(s, contended, "_ZN18ObjectSynchronizer17inflate_and_enterE");
	at[FLAT_PROBE_ENTERED] =
		at[FLAT_PROBE_CONTEND] && at[FLAT_PROBE_CONTENDED] && at[FLAT_PROBE_INFLATED]
			? again
			: 0;
}

/* Of both or none; `stall` is followed by its end. */
static void find_stalls(const struct place_search *s, const char *class, enum flat_probe stall,
			struct flat_probes *ret)
{
	CLEANUP(free) char *name = xasprintf("%s16alloc_page_stallE", class);
	CLEANUP(free) char *claim = xasprintf("%s23claim_capacity_or_stallE", class);
	const uint64_t begin = function_at(s, name);
	uint64_t end = place_after_call(s, begin, class);

	if (begin && !end)
		end = place_after_call(s, function_at(s, claim), class);
	ret->offset[stall] = end ? place_offset(s, begin) : 0;
	ret->offset[stall + 1] = end;
}

/* False: the file cannot be read. */
static bool read_file(struct place_search *s)
{
	s->file = (const void *)elf_rawfile(s->elf, &s->size);
	if (s->file)
		elfsegs_read(s->elf, &s->segs);
	return s->file;
}

static void end_search(struct place_search *s)
{
	elfsegs_fini(&s->segs);
	free(s->funcs.list);
	elf_end(s->elf);
}

/* `symbols`: of the debug file, or NULL. */
static void find(struct place_search *s, Elf *symbols, struct flat_probes *ret)
{
	struct elfparts parts = {0};

	elfparts_find(symbols ? symbols : s->elf, &parts);
	elfparts_symtab(&parts, &s->funcs);
	find_functions(s, ret);
	find_monitors(s, ret);
	ret->offset[FLAT_PROBE_COMPILED] =
		place_after_call(s, s->linked[FLAT_PROBE_COMPILE], "_ZN13CompileBroker");
	ret->offset[FLAT_PROBE_PARKED] =
		place_after_call(s, s->linked[FLAT_PROBE_PARKED], "Unsafe_Park");
	ret->offset[FLAT_PROBE_PARKED_2] = find_call(
		s, (struct wanted_call){s->linked[FLAT_PROBE_PARKED], "Unsafe_Park", .skip = 1});
	find_stalls(s, "_ZN14ZPageAllocator", FLAT_PROBE_STALL, ret);
	find_stalls(s, "_ZN14XPageAllocator", FLAT_PROBE_STALL_X, ret);
	find_part_of_block(s, ret);
	find_stopped(s, ret);
	usdt_find(s, ret);
	if (!ret->offset[FLAT_PROBE_END]) /* JDK 8 */
		ret->offset[FLAT_PROBE_END] =
			place_offset(s, function_at(s, "_ZN20SafepointSynchronize3endE"));
	drop_halves(ret);
}

void flat_find_probes(int fd, int symbols, struct flat_probes *ret)
{
	struct place_search s = {0};
	Elf *debug;

	*ret = (struct flat_probes){0};
	elf_version(EV_CURRENT);
	s.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	debug = symbols < 0 ? NULL : elf_begin(symbols, ELF_C_READ_MMAP, NULL);
	if (s.elf && read_file(&s))
		find(&s, debug, ret);
	elf_end(debug);
	end_search(&s);
}

void flat_find_code_probes(int fd, struct flat_probes *ret)
{
	struct place_search s = {0};
	struct flat_probes all = {0};

	*ret = all;
	elf_version(EV_CURRENT);
	s.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (s.elf && read_file(&s))
		usdt_find(&s, &all);
	ret->offset[FLAT_PROBE_CODE] = all.offset[FLAT_PROBE_CODE];
	ret->offset[FLAT_PROBE_UNLOAD] = all.offset[FLAT_PROBE_UNLOAD];
	ret->code = all.code;
	end_search(&s);
}
