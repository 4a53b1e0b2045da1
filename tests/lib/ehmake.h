/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information written byte by byte, for files of elfmake.h. */
#ifndef DFG_LIB_EHMAKE_H
#define DFG_LIB_EHMAKE_H

#include <dwarf.h>

#include "lib/elfmake.h"
#include "unwind/unwind_regs.h"

/* The frame's address is sp + 16, the return address below it. */
#define EH_USUAL DW_CFA_def_cfa, UNWIND_SP, 16, DW_CFA_offset | UNWIND_RA, 1
/* The outermost frame. */
#define EH_OUTERMOST DW_CFA_def_cfa, UNWIND_SP, 16, DW_CFA_undefined, UNWIND_RA

/* A function of ELFMAKE_FUNCTION bytes. */
struct eh_function {
	uint64_t start;
	const uint8_t *rules;
	size_t len;
};

static inline void eh_entry(struct str *to, const struct str *entry)
{
	uint32_t len = (uint32_t)(entry->len + 7) & ~7u;

	str_add(to, (const char *)&len, sizeof(len));
	str_add(to, entry->buf, entry->len);
	for (size_t i = entry->len; i < len; i++)
		str_addc(to, DW_CFA_nop);
}

static inline void eh_number(struct str *to, uint64_t n, size_t size)
{
	str_add(to, (const char *)&n, size);
}

/* Adds .eh_frame without an index. ra: the column of the return address. */
static inline void eh_add(struct elfmake *m, const struct eh_function *list, size_t n, uint8_t ra,
			  bool signal)
{
	CLEANUP(str_fini) struct str all = {0};
	CLEANUP(str_fini) struct str cie = {0};
	const char *augmentation = signal ? "zRS" : "zR";

	eh_number(&cie, 0, 4);
	str_addc(&cie, 1);
	str_add(&cie, augmentation, strlen(augmentation) + 1);
	str_addc(&cie, 1);
	str_addc(&cie, 0x78); /* -8 */
	str_addc(&cie, (char)ra);
	eh_number(&cie, 1, 2); /* absolute addresses */
	eh_entry(&all, &cie);
	for (size_t i = 0; i < n; i++) {
		CLEANUP(str_fini) struct str fde = {0};

		eh_number(&fde, all.len + 4, 4);
		eh_number(&fde, list[i].start, 8);
		eh_number(&fde, ELFMAKE_FUNCTION, 8);
		str_addc(&fde, 0);
		str_add(&fde, (const char *)list[i].rules, list[i].len);
		eh_entry(&all, &fde);
	}
	eh_number(&all, 0, 4);
	elfmake_add(m, ".eh_frame", SHT_PROGBITS, all.buf, all.len);
}

/* Appends a file of these functions; `symbols` as for elfmake_symbols, "": none. */
static inline void eh_file(struct str *ret, const char *symbols, const struct eh_function *list,
			   size_t n)
{
	struct elfmake m;

	elfmake_start(&m);
	if (*symbols)
		elfmake_symbols(&m, SHT_SYMTAB, symbols);
	eh_add(&m, list, n, UNWIND_RA, false);
	elfmake_end(&m, ret);
}

#endif
