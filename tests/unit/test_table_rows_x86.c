// SPDX-License-Identifier: Apache-2.0
/* The rows of real files, held against what libdw says of the same addresses, and those of call
 * frame information that no compiler writes. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "bpf/frame_ops.h"
#include "bpf/tables.h"
#include "common/filemap.h"
#include "common/str.h"
#include "lib/tap.h"
#include "unwind/cfi_rule.h"

/* ---- against libdw ------------------------------------------------------------------------ */

static bool is_set(const struct cfi_rule *rule, unsigned reg, uint32_t how)
{
	return rule->set >> reg & 1 && rule->regs[reg].how == how;
}

/* Makes a row of what libdw has for an address. */
static struct flat_row row_of(Dwarf_CFI *table, uint64_t at)
{
	static struct cfi_exprs exprs;
	struct cfi_rule rule;
	struct flat_row row = {.rule = FLAT_BY_COPY};
	uint64_t end;
	int32_t fp;

	if (!cfirule_read(table, at, &exprs, &rule, &end))
		return (struct flat_row){.rule = FLAT_BY_POINTER};
	if (rule.result == CFI_END)
		return (struct flat_row){.rule = FLAT_OUTERMOST};
	fp = rule.regs[UNWIND_FP].n;
	if (rule.result != CFI_OK || rule.signal || rule.cfa_is_expr || rule.cfa < 8 ||
	    rule.cfa > UINT16_MAX || (rule.cfa_reg != UNWIND_SP && rule.cfa_reg != UNWIND_FP) ||
	    !is_set(&rule, UNWIND_PC, CFI_AT) || rule.regs[UNWIND_PC].n != -8 ||
	    !is_set(&rule, UNWIND_SP, CFI_IS) || rule.regs[UNWIND_SP].n != 0)
		return row;
	if (is_set(&rule, UNWIND_FP, CFI_AT) && fp < -8 && fp >= -8 * UINT8_MAX && fp % 8 == 0)
		row.fp = (uint8_t)(-fp / 8);
	else if (!(rule.keep >> UNWIND_FP & 1))
		return row;
	row.rule = rule.cfa_reg == UNWIND_FP ? FLAT_FROM_FP : FLAT_FROM_SP;
	row.cfa = (uint16_t)rule.cfa;
	return row;
}

static bool is_same(const struct flat_row *a, const struct flat_row *b)
{
	return a->rule == b->rule && a->cfa == b->cfa && a->fp == b->fp;
}

/* Compares each row where it begins and where it ends. */
static void compare(const char *path)
{
	CLEANUP(flat_tables_free) struct flat_tables *t = flat_tables_new();
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t differ = 0, left = 0;
	struct flat_file file;
	struct filemap map;
	Dwarf_CFI *table;
	struct err err;
	Elf *elf;

	if (fd < 0 || flat_add_file(t, fd, &file, &err) < 0 ||
	    filemap_open(fd, UINT64_MAX, &map, &err) < 0)
		abort();
	elf = elf_memory((char *)(uintptr_t)map.p, map.len);
	table = dwarf_getcfi_elf(elf);
	for (size_t i = 0; table && i + 1 < t->row_count; i++) {
		const struct flat_row *row = &t->rows[i];
		struct flat_row first = row_of(table, row->at),
				last = row_of(table, t->rows[i + 1].at - 1);

		left += row->rule == FLAT_BY_COPY && first.rule != FLAT_BY_COPY;
		if (row->rule == FLAT_BY_COPY || row->at == t->rows[i + 1].at ||
		    (is_same(row, &first) && is_same(row, &last)))
			continue;
		if (differ++ < 5)
			printf("# %s: %x: rule %d, cfa %d, fp %d; libdw: %d, %d, %d\n", path,
			       row->at, row->rule, row->cfa, row->fp, first.rule, first.cfa,
			       first.fp);
	}
	ok(t->row_count > 4 && differ == 0, "%s: %zu rows are as libdw has them", path,
	   t->row_count);
	ok(left * 1000 <= t->row_count, "  and few are left: %zu", left);
	dwarf_cfi_end(table);
	elf_end(elf);
	filemap_close(&map);
	flat_file_fini(&file);
}

/* Compares the libraries that this program has, and libjvm. */
static void test_files(void)
{
	static const char find_jvm[] =
		"ls $(dirname $(readlink -f $(command -v java)))/../lib/server/libjvm.so";
	FILE *maps = fopen("/proc/self/maps", "re"), *jvm = popen(find_jvm, "re");
	char line[4400], path[4200], last[4200] = "";

	while (maps && fgets(line, sizeof(line), maps)) {
		path[0] = '\0';
		if (sscanf(line, "%*s %*s %*s %*s %*s %4199[^\n]", path) < 1 || path[0] != '/' ||
		    strcmp(path, last) == 0)
			continue;
		snprintf(last, sizeof(last), "%s", path);
		compare(path);
	}
	if (jvm && fgets(line, sizeof(line), jvm)) {
		line[strcspn(line, "\n")] = '\0';
		compare(line);
	}
	pclose(jvm);
	fclose(maps);
}

/* ---- instructions ------------------------------------------------------------------------- */

/* Carries out instructions after a CIE as compilers write it. */
static struct frame_ops carry_out(const uint8_t *p, size_t len)
{
	struct frame_ops f = {.code_align = 1, .data_align = -8};
	struct bytes b = bytes_of(p, len);

	f.state = (struct frame_state){.cfa_reg = 7, .cfa = 8, .ret = RETURN_BELOW_CFA};
	f.first = f.state;
	while (b.len && !f.failed)
		frame_op(&f, &b);
	return f;
}
#define DO(...) carry_out((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void test_instructions(void)
{
	struct bytes b = bytes_of("\x80\x7f\x80\x80\x01", 5);
	uint8_t many[FRAME_OPS_REMEMBERED + 1];

	is_int(frame_sleb(&b), -128, "numbers have a sign where they should");
	is_int((long)frame_uleb(&b), 16384, "or none");
	is_int(DO(0x0e, 16, 0x86, 2).state.fp_at, -16, "a saved frame pointer is below the cfa");
	ok(DO(0x86, 2, 0xc6).state.fp == FP_UNCHANGED, "it may be restored");
	ok(DO(0x08, 6).state.fp == FP_UNCHANGED && DO(0x09, 6, 3).state.fp == FP_LOST &&
		   DO(0x10, 6, 1, 0).state.fp == FP_LOST && DO(0x07, 6).state.fp == FP_LOST,
	   "elsewhere it is lost");
	ok(DO(0x0a, 0x0e, 32, 0x0b).state.cfa == 8, "a state may be remembered");
	ok(DO(0x07, 16).state.ret == RETURN_NONE && DO(0x90, 2).state.ret == RETURN_ELSEWHERE &&
		   DO(0x90, 1).state.ret == RETURN_BELOW_CFA,
	   "the return address is below the cfa, elsewhere or nowhere");
	ok(DO(0x0f, 1, 0).state.cfa_is_expr && !DO(0x0f, 1, 0, 0x0c, 6, 16).state.cfa_is_expr,
	   "the cfa may be an expression");
	ok(DO(0x16, 7, 1, 0).state.sp_is_odd, "and the stack pointer something else");
	ok(DO(0x2e, 8).state.cfa == 8, "the size of arguments says nothing");
	ok(DO(0x0b).failed && DO(0x3f).failed && DO(0x0c).failed && DO(0x0f, 9, 0).failed,
	   "what contradicts itself fails");
	memset(many, 0x0a, sizeof(many));
	ok(carry_out(many, sizeof(many)).failed, "so does what remembers without end");
}

int main(void)
{
	elf_version(EV_CURRENT);
	test_instructions();
	test_files();
	return tap_done();
}
