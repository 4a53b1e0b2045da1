// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfi.h"

#include <dwarf.h>
#include <gelf.h>
#include <time.h>

#include "common/filemap.h"
#include "common/str.h"
#include "common/table.h"
#include "elf/elf_tables.h"
#include "unwind/cfi_rule.h"

#define SECTIONS_MAX 4096
#define RULES_MAX    (1u << 16)
#define PCS_MAX	     (1u << 20)
/* Limit for reading one file's rules, microseconds each: libdw accepts register numbers up to 2^27,
 * so that each rule of a hostile file could fill gigabytes. */
#define READ_NS_MAX 2000000000u

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

struct pc {
	uint64_t offset; /* in the file */
	uint32_t rule;	 /* its index */
};

struct cfi {
	struct filemap map;
	Elf *elf;
	Dwarf *dwarf; /* owns `frames`; NULL when there is no .debug_frame */
	Dwarf_CFI *eh, *frames;
	bool eh_searched, frames_searched;
	clockid_t clock;
	uint64_t read_ns; /* spent in libdw, by the clock */
	struct elfsegs segments;

	/* Cache of rules by pc; emptied when it grows too large. */
	struct cfi_exprs exprs;
	struct cfi_rule *rules;
	size_t rule_count, rule_cap;
	struct hash_table by_bytes; /* of rules */
	struct pc *pcs;
	size_t pc_count, pc_cap;
	struct hash_table by_offset; /* of pcs */
};

struct cfi *cfi_open(int fd, struct err *err)
{
	CLEANUP(cfi_close) struct cfi *c = xcalloc(1, sizeof(*c));
	GElf_Ehdr eh;

	elf_version(EV_CURRENT);
	c->clock = CLOCK_MONOTONIC;
	/* A mapping of our own rather than elf_begin's: libelf then has no descriptor to use. */
	if (filemap_open(fd, UINT64_MAX, &c->map, err) < 0) {
		err_wrap(err, "an ELF file");
		return NULL;
	}
	c->elf = elf_memory((char *)(uintptr_t)c->map.p, c->map.len);
	if (!c->elf || elf_kind(c->elf) != ELF_K_ELF || !gelf_getehdr(c->elf, &eh)) {
		err_set(err, 0, "not an ELF file");
		return NULL;
	}
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_machine != MACHINE) {
		err_set(err, 0, "an ELF file of another architecture");
		return NULL;
	}
	elfsegs_read(c->elf, &c->segments);
	return TAKE_PTR(c);
}

void cfi_close(struct cfi *c)
{
	if (!c)
		return;
	if (c->eh)
		dwarf_cfi_end(c->eh);
	dwarf_end(c->dwarf);
	elf_end(c->elf);
	filemap_close(&c->map);
	elfsegs_fini(&c->segments);
	free(c->exprs.list);
	free(c->rules);
	hash_fini(&c->by_bytes);
	free(c->pcs);
	hash_fini(&c->by_offset);
	free(c);
}

/* Rejects files with compressed sections: libdw would inflate them without a limit. */
static bool has_debug_frame(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t strings = 0;
	bool found = false;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(elf, &strings) != 0)
		return false;
	for (int i = 0; i < SECTIONS_MAX && (scn = elf_nextscn(elf, scn)); i++) {
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(elf, strings, sh.sh_name) : NULL;

		if (!name || sh.sh_flags & SHF_COMPRESSED || has_prefix(name, ".zdebug"))
			return false;
		if (strcmp(name, ".debug_frame") == 0 && sh.sh_type == SHT_PROGBITS)
			found = true;
	}
	return found;
}

static Dwarf_CFI *eh_table(struct cfi *c)
{
	if (!c->eh_searched)
		c->eh = dwarf_getcfi_elf(c->elf);
	c->eh_searched = true;
	return c->eh;
}

/* Used only for what .eh_frame lacks: libdw reads all debug sections to open this one (and looks
 * for the path of the file, which the jail refuses). */
static Dwarf_CFI *frames_table(struct cfi *c)
{
	if (!c->frames_searched && has_debug_frame(c->elf)) {
		c->dwarf = dwarf_begin_elf(c->elf, DWARF_C_READ, NULL);
		c->frames = c->dwarf ? dwarf_getcfi(c->dwarf) : NULL;
	}
	c->frames_searched = true;
	return c->frames;
}

static void clear_cache(struct cfi *c)
{
	c->exprs.count = 0;
	c->rule_count = 0;
	c->pc_count = 0;
	hash_fini(&c->by_bytes);
	hash_fini(&c->by_offset);
}

/* Finds or adds an equal rule. Returns its index. */
static uint32_t intern_rule(struct cfi *c, const struct cfi_rule *rule)
{
	uint64_t hash = hash_bytes(0, rule, sizeof(*rule));

	for (struct hash_probe p = {.hash = hash}; hash_next(&c->by_bytes, &p);)
		if (memcmp(&c->rules[p.index], rule, sizeof(*rule)) == 0)
			return p.index;
	c->rules = grow(c->rules, c->rule_count, &c->rule_cap, sizeof(*c->rules));
	c->rules[c->rule_count] = *rule;
	hash_add(&c->by_bytes, hash, (uint32_t)c->rule_count);
	return (uint32_t)c->rule_count++;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Adds time spent in libdw. A busy machine must not change which rules are read, but reading the
 * thread's CPU clock takes a system call, as long as some rules: the wall clock is used until it
 * would exceed the limit, then the CPU clock from zero. */
static void count_time(struct cfi *c, uint64_t ns)
{
	c->read_ns += ns;
	if (c->read_ns <= READ_NS_MAX || c->clock == CLOCK_THREAD_CPUTIME_ID)
		return;
	c->clock = CLOCK_THREAD_CPUTIME_ID;
	c->read_ns = 0;
}

static bool read_tables(struct cfi *c, uint64_t addr, struct cfi_rule *ret)
{
	clockid_t clock = c->clock;
	uint64_t start = now_ns(clock), end;
	Dwarf_CFI *table = eh_table(c);
	bool found = table && cfirule_read(table, addr, &c->exprs, ret, &end);

	if (!found) {
		table = frames_table(c);
		found = table && cfirule_read(table, addr, &c->exprs, ret, &end);
	}
	count_time(c, now_ns(clock) - start);
	return found;
}

static void read_rule(struct cfi *c, uint64_t offset, struct cfi_rule *ret)
{
	uint64_t addr;

	if (c->read_ns <= READ_NS_MAX && elfsegs_address(&c->segments, offset, &addr) &&
	    read_tables(c, addr, ret))
		return;
	memset(ret, 0, sizeof(*ret));
	ret->result = CFI_NONE;
}

static const struct cfi_rule *add_pc(struct cfi *c, uint64_t offset)
{
	struct cfi_rule rule;
	uint32_t index;

	if (c->pc_count >= PCS_MAX || c->rule_count >= RULES_MAX)
		clear_cache(c);
	read_rule(c, offset, &rule);
	index = intern_rule(c, &rule);
	c->pcs = grow(c->pcs, c->pc_count, &c->pc_cap, sizeof(*c->pcs));
	c->pcs[c->pc_count] = (struct pc){offset, index};
	hash_add(&c->by_offset, hash_mix(offset), (uint32_t)c->pc_count++);
	return &c->rules[index];
}

static const struct cfi_rule *find_rule(struct cfi *c, uint64_t offset)
{
	for (struct hash_probe p = {.hash = hash_mix(offset)}; hash_next(&c->by_offset, &p);)
		if (c->pcs[p.index].offset == offset)
			return &c->rules[c->pcs[p.index].rule];
	return add_pc(c, offset);
}

enum cfi_result cfi_step(struct cfi *c, uint64_t offset, bool at_return, struct unwind_regs *regs,
			 struct stack_copy *stack)
{
	return cfirule_apply(find_rule(c, offset - at_return), &c->exprs, regs, stack);
}
