// SPDX-License-Identifier: Apache-2.0
#include "hotspot/lines.h"

#include "hotspot/stream.h"

/* ConstMethod::_has_linenumber_table, and ConstMethodFlags' from JDK 21 on. */
#define HAS_LINES   1u
#define LINE_ESCAPE 0xffu
#define TABLE_MAX   (2 * HS_PAGE) /* bytes looked at */

/* The address of the table. 0: none. */
static uint64_t table_find(struct hs *hs, uint64_t method, int32_t bci)
{
	enum hs_field_id flags_id =
		hs_has(hs, HS_CONST_FLAGS_21) ? HS_CONST_FLAGS_21 : HS_CONST_FLAGS;
	uint64_t cm, flags, size;

	if (hs->tables.size[HS_TYPE_CONST_METHOD] == 0 ||
	    !hs_get(hs, method, HS_METHOD_CONST, &cm) || !hs_get(hs, cm, flags_id, &flags) ||
	    !(flags & HAS_LINES) || !hs_get(hs, cm, HS_CONST_CODE_SIZE, &size) ||
	    (uint64_t)bci >= size)
		return 0;
	return cm + hs->tables.size[HS_TYPE_CONST_METHOD] + size;
}

/* Entries need not be sorted: the one that is nearest below wins. */
static int32_t table_search(struct hs_stream *s, int32_t want)
{
	int32_t bci = 0, line = 0, best_bci = -1, best_line = 0;

	for (uint8_t b; (b = hs_stream_u8(s)) != 0;) {
		if (b == LINE_ESCAPE) {
			bci = (int32_t)((uint32_t)bci + (uint32_t)hs_stream_i32(s));
			line = (int32_t)((uint32_t)line + (uint32_t)hs_stream_i32(s));
		} else {
			bci += b >> 3;
			line += b & 7;
		}
		if (s->bad || line < 0 || line > (int32_t)UINT16_MAX || bci < 0 ||
		    bci > (int32_t)UINT16_MAX)
			break;
		if (bci == want)
			return line;
		if (bci < want && bci > best_bci) {
			best_bci = bci;
			best_line = line;
		}
	}
	return best_line;
}

int32_t hs_line(struct hs *hs, uint64_t method, int32_t bci, uint8_t base)
{
	uint8_t copy[TABLE_MAX];
	struct hs_stream s = {.base = base};
	uint64_t table;
	size_t len, more;
	const uint8_t *p;
	int32_t line;

	if (bci < 0)
		bci = 0;
	table = table_find(hs, method, bci);
	p = table ? hs_mem_view(&hs->mem, table, &len) : NULL;
	if (!p)
		return 0;
	s.p = p;
	s.end = p + len;
	line = table_search(&s, bci);
	if (!s.bad)
		return line;
	/* It runs over the end of the page. */
	if (len > HS_PAGE)
		return 0;
	__builtin_memcpy(copy, p, len);
	p = hs_mem_view(&hs->mem, table + len, &more);
	if (!p)
		return 0;
	if (more > TABLE_MAX - len)
		more = TABLE_MAX - len;
	__builtin_memcpy(copy + len, p, more);
	s = (struct hs_stream){.p = copy, .end = copy + len + more, .base = base};
	line = table_search(&s, bci);
	return s.bad ? 0 : line;
}
