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

/* True if a register is saved at cfa + n, or (n 0) left alone. */
static bool is_at(const struct cfi_rule *rule, unsigned reg, int32_t n)
{
	if (!n)
		return rule->keep >> reg & 1;
	return rule->set >> reg & 1 && rule->regs[reg].how == CFI_AT && rule->regs[reg].n == n;
}

/* True if the cfa is all that a row can say of it. */
static bool is_simple(const struct cfi_rule *rule)
{
	const struct cfi_where *sp = &rule->regs[UNWIND_SP];

	return rule->result == CFI_OK && !rule->signal && !rule->cfa_is_expr && rule->cfa >= 0 &&
	       rule->cfa <= 8 * (int32_t)FLAT_WORDS_MAX &&
	       (rule->cfa_reg == UNWIND_SP || rule->cfa_reg == UNWIND_FP) &&
	       rule->set >> UNWIND_SP & 1 && sp->how == CFI_IS && sp->n == 0;
}

/* Return the places of the return address and the frame pointer, from the cfa on; 0: left alone. */
static int32_t return_at(const struct flat_row *row)
{
#ifdef __aarch64__
	return row->fp ? -8 * (int32_t)row->fp + (row->alone ? 0 : 8) : 0;
#else
	(void)row;
	return -8;
#endif
}

static int32_t fp_at(const struct flat_row *row)
{
	return row->alone ? 0 : -8 * (int32_t)row->fp;
}

/* True if libdw says of an address what the row does. */
static bool is_same(const struct flat_row *row, Dwarf_CFI *table, uint64_t at)
{
	static struct cfi_exprs exprs;
	struct cfi_rule rule;
	uint64_t end;

	if (!cfirule_read(table, at, &exprs, &rule, &end))
		return row->rule == FLAT_BY_POINTER;
	if (rule.result == CFI_END)
		return row->rule == FLAT_OUTERMOST;
	return is_simple(&rule) && rule.cfa == 8 * (int32_t)row->cfa &&
	       row->rule == (rule.cfa_reg == UNWIND_FP ? FLAT_FROM_FP : FLAT_FROM_SP) &&
	       is_at(&rule, UNWIND_RA, return_at(row)) && is_at(&rule, UNWIND_FP, fp_at(row));
}

/* True if a row could say where the return address and the frame pointer are. */
static bool is_sayable(const struct cfi_rule *rule)
{
	const struct cfi_where *fp = &rule->regs[UNWIND_FP];
	bool kept = is_at(rule, UNWIND_FP, 0);
	bool saved =
		rule->set >> UNWIND_FP & 1 && fp->how == CFI_AT && fp->n < -8 && fp->n % 8 == 0;

#ifdef __aarch64__
	return (kept && is_at(rule, UNWIND_RA, 0)) || (saved && is_at(rule, UNWIND_RA, fp->n + 8));
#else
	return (kept || saved) && rule->cfa > 0 && is_at(rule, UNWIND_RA, -8);
#endif
}

/* True if a row could say what libdw does of an address. */
static bool is_left(Dwarf_CFI *table, uint64_t at)
{
	static struct cfi_exprs exprs;
	struct cfi_rule rule;
	uint64_t end;

	return !cfirule_read(table, at, &exprs, &rule, &end) || rule.result == CFI_END ||
	       (is_simple(&rule) && rule.cfa % 8 == 0 && is_sayable(&rule));
}

/* The whole addresses of the spots of a file, by its index. */
static uint32_t *addresses_of(const struct flat_tables *t, const struct flat_file *f)
{
	uint32_t *ret = xcalloc(t->count[FLAT_SPOTS] + 1, sizeof(*ret));

	for (uint32_t b = 0; b + 1 < f->block_count; b++) {
		const uint32_t begin = f->low + b * FLAT_BLOCK;

		for (uint32_t i = b ? t->blocks[b] + 1 : 1; i <= t->blocks[b + 1]; i++)
			ret[i] = begin + (uint16_t)(t->spots[i].at - begin);
	}
	return ret;
}

/* Compares the row of each spot where it begins and where it ends. */
static void compare(const char *path)
{
	CLEANUP(flat_tables_free) struct flat_tables *t = flat_tables_new();
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(free) uint32_t *at = NULL;
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
	at = addresses_of(t, &file);
	for (size_t i = 0; table && i + 1 < t->count[FLAT_SPOTS]; i++) {
		const struct flat_row *row = &t->rows[t->spots[i].row];

		left += row->rule == FLAT_BY_COPY && is_left(table, at[i]);
		if (row->rule == FLAT_BY_COPY || at[i] == at[i + 1] ||
		    (is_same(row, table, at[i]) && is_same(row, table, at[i + 1] - 1)))
			continue;
		if (differ++ < 5)
			printf("# %s: %x: rule %d, cfa %d, fp %d\n", path, at[i], row->rule,
			       row->cfa, row->fp);
	}
	ok(t->count[FLAT_SPOTS] > 4 && differ == 0, "%s: %zu spots, %zu rows are as libdw has them",
	   path, t->count[FLAT_SPOTS], t->count[FLAT_ROWS]);
	ok(left * 1000 <= t->count[FLAT_SPOTS], "  and few are left: %zu", left);
	dwarf_cfi_end(table);
	elf_end(elf);
	filemap_close(&map);
	flat_file_fini(&file);
}

/* Compares the libraries that this program has, and libjvm, where that is of this machine. */
static void test_files(void)
{
#ifdef __x86_64__
	static const char find_jvm[] =
		"ls $(dirname $(readlink -f $(command -v java)))/../lib/server/libjvm.so";
#else
	static const char find_jvm[] = "true";
#endif
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

#ifdef __aarch64__
#define FP    29
#define RA    30
#define SP    31
#define SIGNS true
#else
#define FP    6
#define RA    16
#define SP    7
#define SIGNS false
#endif

/* Carries out instructions after a CIE as compilers write it for x86-64. */
static struct frame_ops carry_out(const uint8_t *p, size_t len)
{
	struct frame_ops f = {.code_align = 1, .data_align = -8};
	struct bytes b = bytes_of(p, len);

	f.state = (struct frame_state){.cfa_reg = SP, .cfa = 8, .ret = RETURN_SAVED, .ret_at = -8};
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
	is_int(DO(0x0e, 16, 0x80 | FP, 2).state.fp_at, -16,
	       "a saved frame pointer is below the cfa");
	ok(DO(0x80 | FP, 2, 0xc0 | FP).state.fp == FP_UNCHANGED, "it may be restored");
	ok(DO(0x08, FP).state.fp == FP_UNCHANGED && DO(0x09, FP, 3).state.fp == FP_LOST &&
		   DO(0x10, FP, 1, 0).state.fp == FP_LOST && DO(0x07, FP).state.fp == FP_LOST,
	   "elsewhere it is lost");
	ok(DO(0x0a, 0x0e, 32, 0x0b).state.cfa == 8, "a state may be remembered");
	ok(DO(0x07, RA).state.ret == RETURN_NONE && DO(0x80 | RA, 3).state.ret_at == -24 &&
		   DO(0x09, RA, 3).state.ret == RETURN_ELSEWHERE &&
		   DO(0x80 | RA, 2, 0xc0 | RA).state.ret_at == -8,
	   "the return address is saved, elsewhere or nowhere");
	ok(DO(0x08, RA).state.ret == RETURN_UNSAID, "or where it was");
	ok(DO(0x0f, 1, 0).state.cfa_is_expr && !DO(0x0f, 1, 0, 0x0c, FP, 16).state.cfa_is_expr,
	   "the cfa may be an expression");
	ok(DO(0x16, SP, 1, 0).state.sp_is_odd, "and the stack pointer something else");
	ok(DO(0x2e, 8).state.cfa == 8, "the size of arguments says nothing");
	ok(DO(0x0b).failed && DO(0x3f).failed && DO(0x0c).failed && DO(0x0f, 9, 0).failed,
	   "what contradicts itself fails");
	memset(many, 0x0a, sizeof(many));
	ok(carry_out(many, sizeof(many)).failed, "so does what remembers without end");
	ok(DO(0x2d).failed == !SIGNS, "a return address may be signed on arm64 only");
}

int main(void)
{
	elf_version(EV_CURRENT);
	test_instructions();
	test_files();
	return tap_done();
}
