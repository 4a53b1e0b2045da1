// SPDX-License-Identifier: Apache-2.0
/* The call frame information of an ELF file as rows of the flat tables. */
#include <string.h>

#include "bpf/tables.h"
#include "common/filemap.h"
#include "common/str.h"
#include "unwind/cfi_rule.h"

#define ROWS_MAX     (1u << 24)
#define FUNCTION_MAX 65536u /* rows of one function */

struct row_source {
	struct filemap map;
	Elf *elf;
	Dwarf_CFI *table;
	struct cfi_exprs exprs;
	struct ehtable functions;
};

static void cleanup_row_source(struct row_source *s)
{
	if (s->table)
		dwarf_cfi_end(s->table);
	elf_end(s->elf);
	filemap_close(&s->map);
	free(s->exprs.list);
}

/* ---- one rule ----------------------------------------------------------------------------- */

static bool is_set(const struct cfi_rule *rule, unsigned reg, uint32_t how)
{
	return rule->set >> reg & 1 && rule->regs[reg].how == how;
}

/* Makes a row of a rule; FLAT_BY_COPY if it says more than a row can. */
static struct flat_row row_of(const struct cfi_rule *rule, uint32_t at)
{
	const struct flat_row other = {.at = at, .rule = FLAT_BY_COPY};
	struct flat_row row = {.at = at, .rule = FLAT_FROM_SP};
	int32_t fp = rule->regs[UNWIND_FP].n;

	if (rule->result == CFI_END)
		return (struct flat_row){.at = at, .rule = FLAT_OUTERMOST};
	if (rule->result != CFI_OK || rule->signal || rule->cfa_is_expr || rule->cfa < 8 ||
	    rule->cfa > UINT16_MAX || (rule->cfa_reg != UNWIND_SP && rule->cfa_reg != UNWIND_FP) ||
	    !is_set(rule, UNWIND_PC, CFI_AT) || rule->regs[UNWIND_PC].n != -8 ||
	    !is_set(rule, UNWIND_SP, CFI_IS) || rule->regs[UNWIND_SP].n != 0)
		return other;
	if (is_set(rule, UNWIND_FP, CFI_AT) && fp < -8 && fp >= -8 * UINT8_MAX && fp % 8 == 0)
		row.fp = (uint8_t)(-fp / 8);
	else if (!(rule->keep >> UNWIND_FP & 1))
		return other;
	if (rule->cfa_reg == UNWIND_FP)
		row.rule = FLAT_FROM_FP;
	row.cfa = (uint16_t)rule->cfa;
	return row;
}

/* ---- a file ------------------------------------------------------------------------------- */

/* Adds a row unless the one before says the same. */
static void add_row(struct flat_tables *t, size_t first, struct flat_row row)
{
	struct flat_row *last = t->row_count > first ? &t->rows[t->row_count - 1] : NULL;

	if (last && last->rule == row.rule && last->cfa == row.cfa && last->fp == row.fp)
		return;
	t->rows = grow(t->rows, t->row_count, &t->row_cap, sizeof(*t->rows));
	t->rows[t->row_count++] = row;
}

/* Adds the rows of the function that starts at an address, up to at most `limit`. Returns where
 * they end. */
static uint64_t add_function(struct flat_tables *t, size_t first, struct row_source *s,
			     uint64_t start, uint64_t limit)
{
	uint64_t at = start, end;
	struct cfi_rule rule;

	for (unsigned i = 0; i < FUNCTION_MAX && at < limit; i++) {
		if (!cfirule_read(s->table, at, &s->exprs, &rule, &end) || end <= at)
			break;
		add_row(t, first, row_of(&rule, (uint32_t)at));
		at = end;
	}
	return at < limit ? at : limit;
}

static bool has_debug_frame(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t strings = 0;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(elf, &strings) != 0)
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(elf, strings, sh.sh_name) : NULL;

		if (name && strstr(name, "debug_frame"))
			return true;
	}
	return false;
}

/* Between functions nothing is said, unless .debug_frame, which is not read here, has it. */
static void add_functions(struct flat_tables *t, struct row_source *s)
{
	uint8_t gap = has_debug_frame(s->elf) ? FLAT_BY_COPY : FLAT_BY_POINTER;
	size_t first = t->row_count;
	uint64_t end = 0;

	for (uint64_t i = 0; i < s->functions.count && t->row_count < first + ROWS_MAX; i++) {
		uint64_t start = ehtable_start(&s->functions, i), limit = UINT32_MAX;

		if (i + 1 < s->functions.count)
			limit = ehtable_start(&s->functions, i + 1);
		if (start < end || start > UINT32_MAX || limit > UINT32_MAX)
			continue;
		if (start > end)
			add_row(t, first, (struct flat_row){.at = (uint32_t)end, .rule = gap});
		end = add_function(t, first, s, start, limit);
	}
	add_row(t, first, (struct flat_row){.at = (uint32_t)end, .rule = gap});
}

/* Makes the index of the rows from `first` on. */
static void add_blocks(struct flat_tables *t, size_t first, struct flat_file *f)
{
	uint32_t high = t->rows[t->row_count - 1].at, low;
	size_t row = first;

	low = first + 1 < t->row_count ? t->rows[first + 1].at : high;
	f->low = low & ~(FLAT_BLOCK - 1);
	f->blocks = (uint32_t)t->block_count;
	for (uint64_t at = f->low; at < (uint64_t)high + 2 * FLAT_BLOCK; at += FLAT_BLOCK) {
		while (row + 1 < t->row_count && t->rows[row + 1].at <= at)
			row++;
		t->blocks = grow(t->blocks, t->block_count, &t->block_cap, sizeof(*t->blocks));
		t->blocks[t->block_count++] = (uint32_t)row;
	}
	f->block_count = (uint32_t)t->block_count - f->blocks;
}

int flat_add_file(struct flat_tables *t, int fd, struct flat_file *ret, struct err *err)
{
	CLEANUP(row_source) struct row_source s = {0};
	GElf_Ehdr eh;
	size_t first;

	elf_version(EV_CURRENT);
	if (filemap_open(fd, UINT64_MAX, &s.map, err) < 0)
		return err_wrap(err, "an ELF file");
	s.elf = elf_memory((char *)(uintptr_t)s.map.p, s.map.len);
	if (!s.elf || elf_kind(s.elf) != ELF_K_ELF || !gelf_getehdr(s.elf, &eh) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64)
		return err_set(err, 0, "not an ELF file of this machine");
	*ret = (struct flat_file){.block_count = 1};
	elfsegs_read(s.elf, &ret->segments);
	ehtable_read(s.elf, &s.functions);
	s.table = s.functions.count ? dwarf_getcfi_elf(s.elf) : NULL;
	first = t->row_count;
	if (s.table) {
		add_functions(t, &s);
		add_blocks(t, first, ret);
	}
	return 0;
}

void flat_file_fini(struct flat_file *f)
{
	elfsegs_fini(&f->segments);
}
