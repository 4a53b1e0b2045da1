// SPDX-License-Identifier: Apache-2.0
#include "hotspot/metadata.h"

#include "dfg/request.h"
#include "hotspot/stream.h"
#include "hotspot/table.h"

/* ConstMethod::_has_linenumber_table, and ConstMethodFlags' from JDK 21 on. */
#define HAS_LINES   1u
#define LINE_ESCAPE 0xffu
#define TABLE_MAX   (2 * HS_PAGE) /* bytes read */

#define FIELDS_MAX 4096u
#define OFFSET_MAX 4096u
#define STREAM_MAX 4096u /* bytes read */
#define TEXT_MAX   64

/* Up to JDK 20 a field has six u2; the last two hold the offset above a tag of two bits
 * (oops/fieldInfo.hpp, JDK 17). */
#define SLOTS	      6
#define SLOT_NAME     1
#define SLOT_TYPE     2
#define SLOT_LOW      4
#define SLOT_HIGH     5
#define OFFSET_SHIFT  2
#define OFFSET_IS_SET 1u

/* From JDK 21 these flags add numbers to a field in the stream (oops/fieldInfo.hpp). */
#define FLAG_INITIALIZED (1u << 0)
#define FLAG_GENERIC	 (1u << 2)
#define FLAG_CONTENDED	 (1u << 4)

/* Bytes of a long name reserved for the method after its class. */
#define METHOD_ROOM 256

/* Reads at most cap bytes of a Symbol's text. Returns the length, 0 if it cannot be read. */
static size_t symbol_read(struct hs *hs, uint64_t symbol, char *buf, size_t cap)
{
	enum hs_field_id body = hs_has(hs, HS_SYMBOL_BODY) ? HS_SYMBOL_BODY : HS_SYMBOL_BODY_0;
	uint64_t len;

	/* Symbols are aligned to words; a tagged or torn pointer is not. */
	if (symbol == 0 || (symbol & 7) != 0)
		return 0;
	if (hs_has(hs, HS_SYMBOL_LENGTH)) {
		if (!hs_get(hs, symbol, HS_SYMBOL_LENGTH, &len))
			return 0;
	} else {
		if (!hs_get(hs, symbol, HS_SYMBOL_LENGTH_REFS, &len))
			return 0;
		len >>= 16;
	}
	len &= 0xffff;
	if (len > cap) {
		len = cap;
		if (!hs_mem_read(&hs->mem, hs_inside(hs, symbol, body), buf, len))
			return 0;
		/* Not in the middle of a character. */
		while (len > 0 && ((uint8_t)buf[len - 1] & 0xc0) == 0x80)
			len--;
		return len > 0 && ((uint8_t)buf[len - 1] & 0x80) ? len - 1 : len;
	}
	return hs_mem_read(&hs->mem, hs_inside(hs, symbol, body), buf, len) ? len : 0;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Replaces the plus sign of a hidden class, whose symbol ends in +0x and up to 16 digits (JDK 15).
 */
static void hidden_suffix(char *buf, size_t len)
{
	size_t at = len;

	while (at > 0 && len - at < 16 && is_hex(buf[at - 1]))
		at--;
	if (at < len && at > 3 && buf[at - 1] == 'x' && buf[at - 2] == '0' && buf[at - 3] == '+')
		buf[at - 3] = '.';
}

/* Replaces control bytes. */
static void text_clean(char *buf, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((uint8_t)buf[i] < 0x20 || buf[i] == 0x7f)
			buf[i] = '?';
}

/* Reads the Symbol* at an index of a constant pool; the entries follow its header. */
static bool pool_symbol(struct hs *hs, uint64_t pool, uint64_t index, uint64_t *ret)
{
	uint64_t length;

	if (index == 0 || (hs_has(hs, HS_POOL_LENGTH) &&
			   (!hs_get(hs, pool, HS_POOL_LENGTH, &length) || index >= length)))
		return false;
	return hs_mem_ptr(&hs->mem, pool + hs->tables.size[HS_TYPE_CONSTANT_POOL] + index * 8, ret);
}

/* Reads at most cap bytes of the Symbol at an index of a ConstantPool*. Returns the length, 0:
 * none. */
static size_t pool_text(struct hs *hs, uint64_t pool, uint64_t index, char *buf, size_t cap)
{
	uint64_t symbol;

	return pool_symbol(hs, pool, index, &symbol) ? symbol_read(hs, symbol, buf, cap) : 0;
}

size_t hs_method_name(struct hs *hs, uint64_t method, char *buf)
{
	uint64_t cm, pool, index, holder, name, klass, signature;
	size_t len, more;
	char first;

	if (method == 0 || !hs_get(hs, method, HS_METHOD_CONST, &cm) ||
	    !hs_get(hs, cm, HS_CONST_POOL, &pool) || !hs_get(hs, cm, HS_CONST_NAME_INDEX, &index) ||
	    !hs_get(hs, pool, HS_POOL_HOLDER, &holder) ||
	    !hs_get(hs, holder, HS_KLASS_NAME, &klass) || !pool_symbol(hs, pool, index, &name))
		return 0;
	/* A descriptor begins with '(': this distinguishes a live Method from stale memory. */
	if (hs_get(hs, cm, HS_CONST_SIGNATURE_INDEX, &index) &&
	    (!pool_symbol(hs, pool, index, &signature) ||
	     symbol_read(hs, signature, &first, 1) != 1 || first != '('))
		return 0;
	len = symbol_read(hs, klass, buf, DFG_NAME_MAX - METHOD_ROOM);
	if (len == 0)
		return 0;
	for (size_t i = 0; i < len; i++)
		if (buf[i] == '/')
			buf[i] = '.';
	hidden_suffix(buf, len);
	buf[len++] = '.';
	more = symbol_read(hs, name, buf + len, DFG_NAME_MAX - len);
	if (more == 0)
		return 0;
	text_clean(buf, len + more);
	return len + more;
}

uint64_t hs_method_fingerprint(struct hs *hs, uint64_t method)
{
	uint64_t part[] = {method, 0, 0, 0, 0};

	if (!hs_get(hs, method, HS_METHOD_CONST, &part[1]) ||
	    !hs_get(hs, part[1], HS_CONST_POOL, &part[2]) ||
	    !hs_get(hs, part[1], HS_CONST_NAME_INDEX, &part[3]))
		return 0;
	(void)hs_get(hs, part[1], HS_CONST_SIGNATURE_INDEX, &part[4]);
	return hs_hash(part, sizeof(part) / sizeof(*part));
}

size_t hs_method_file(struct hs *hs, uint64_t method, char *buf, size_t cap)
{
	uint64_t cm, pool, index, holder;
	size_t len;

	if (!hs_get(hs, method, HS_METHOD_CONST, &cm) || !hs_get(hs, cm, HS_CONST_POOL, &pool))
		return 0;
	if (hs_has(hs, HS_POOL_SOURCE_FILE)) {
		if (!hs_get(hs, pool, HS_POOL_SOURCE_FILE, &index))
			return 0;
	} else if (!hs_get(hs, pool, HS_POOL_HOLDER, &holder) ||
		   !hs_get(hs, holder, HS_KLASS_SOURCE_FILE, &index)) {
		return 0;
	}
	len = pool_text(hs, pool, index, buf, cap);
	text_clean(buf, len);
	return len;
}

uint32_t hs_class_fingerprint(struct hs *hs, uint64_t klass)
{
	char text[256];
	uint64_t name;
	size_t len;
	uint32_t hash = 2166136261u; /* FNV-1a */

	if (!hs_get(hs, klass, HS_KLASS_NAME, &name))
		return 0;
	len = symbol_read(hs, name, text, sizeof(text));
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return len > 0 ? hash : 0;
}

bool hs_class_is(struct hs *hs, uint64_t klass, const char *name)
{
	char text[TEXT_MAX + 1];
	uint64_t symbol;
	size_t len;

	if (!hs_get(hs, klass, HS_KLASS_NAME, &symbol))
		return false;
	len = symbol_read(hs, symbol, text, TEXT_MAX);
	text[len] = '\0';
	return hs_text_is(text, name);
}

size_t hs_blob_name(const char *text, char *buf)
{
	size_t len = 0;

	for (; text[len] && len < DFG_NAME_MAX; len++)
		buf[len] = text[len] == '.' ? '_' : text[len];
	text_clean(buf, len);
	return len;
}

/* ---- line numbers ---- */

/* Returns the address of the line number table, 0: none. */
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

/* Finds the entry with the greatest bci up to `want`; entries may be unsorted. Of several with one
 * bci the first counts if it is `want`, else the last (oops/method.cpp, line_number_from_bci). */
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
		if (bci < want && bci >= best_bci) {
			best_bci = bci;
			best_line = line;
		}
	}
	return best_line;
}

int32_t hs_method_line(struct hs *hs, uint64_t method, int32_t bci, uint8_t base)
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
	/* The table crosses the end of the page: read it from a copy. */
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

/* ---- fields of classes ---- */

struct field_query {
	uint64_t pool;
	const char *name, *descriptor;
};

static bool pool_text_is(struct hs *hs, uint64_t pool, uint64_t index, const char *wanted)
{
	char text[TEXT_MAX + 1];
	size_t len = pool_text(hs, pool, index, text, TEXT_MAX);

	text[len] = '\0';
	return len > 0 && hs_text_is(text, wanted);
}

static bool field_matches(struct hs *hs, const struct field_query *w, uint64_t name,
			  uint64_t descriptor)
{
	return pool_text_is(hs, w->pool, name, w->name) &&
	       pool_text_is(hs, w->pool, descriptor, w->descriptor);
}

static bool find_in_array(struct hs *hs, uint64_t class, const struct field_query *w, uint32_t *ret)
{
	uint64_t array, length, count, data;
	uint16_t slot[SLOTS];

	if (!hs_has(hs, HS_ARRAY_U2_DATA) || !hs_get(hs, class, HS_CLASS_FIELDS, &array) ||
	    !hs_get(hs, array, HS_METHODS_LENGTH, &length) ||
	    !hs_get(hs, class, HS_CLASS_FIELD_COUNT, &count) || count > FIELDS_MAX ||
	    count * SLOTS > length)
		return false;
	data = hs_inside(hs, array, HS_ARRAY_U2_DATA);
	for (uint64_t i = 0; i < count; i++) {
		if (!hs_mem_read(&hs->mem, data + i * sizeof(slot), slot, sizeof(slot)))
			return false;
		if (!(slot[SLOT_LOW] & OFFSET_IS_SET) ||
		    !field_matches(hs, w, slot[SLOT_NAME], slot[SLOT_TYPE]))
			continue;
		*ret = ((uint32_t)slot[SLOT_HIGH] << 16 | slot[SLOT_LOW]) >> OFFSET_SHIFT;
		return true;
	}
	return false;
}

static bool find_in_stream(struct hs *hs, uint64_t class, const struct field_query *w,
			   uint32_t *ret)
{
	uint8_t bytes[STREAM_MAX];
	struct hs_stream s = {.p = bytes, .base = 1};
	uint64_t array, length;
	uint32_t count;

	if (!hs_has(hs, HS_ARRAY_U1_DATA) || !hs_get(hs, class, HS_CLASS_FIELD_STREAM, &array) ||
	    !hs_get(hs, array, HS_METHODS_LENGTH, &length))
		return false;
	length = length < STREAM_MAX ? length : STREAM_MAX;
	if (!hs_mem_read(&hs->mem, hs_inside(hs, array, HS_ARRAY_U1_DATA), bytes, length))
		return false;
	s.end = bytes + length;
	count = hs_stream_u32(&s); /* fields that Java declares */
	hs_stream_u32(&s);	   /* fields that the JVM adds, which follow */
	for (uint32_t i = 0; i < count && !s.bad; i++) {
		uint32_t name = hs_stream_u32(&s), descriptor = hs_stream_u32(&s);
		uint32_t offset = hs_stream_u32(&s), flags;

		hs_stream_u32(&s); /* access flags */
		flags = hs_stream_u32(&s);
		for (uint32_t more = flags & (FLAG_INITIALIZED | FLAG_GENERIC | FLAG_CONTENDED);
		     more; more &= more - 1)
			hs_stream_u32(&s);
		if (s.bad || !field_matches(hs, w, name, descriptor))
			continue;
		*ret = offset;
		return true;
	}
	return false;
}

bool hs_field_offset(struct hs *hs, uint64_t class, const char *name, const char *descriptor,
		     uint32_t *ret)
{
	struct field_query w = {.name = name, .descriptor = descriptor};
	uint32_t offset;

	if (!hs_get(hs, class, HS_CLASS_POOL, &w.pool))
		return false;
	if (!(hs_has(hs, HS_CLASS_FIELD_STREAM) ? find_in_stream(hs, class, &w, &offset)
						: find_in_array(hs, class, &w, &offset)) ||
	    offset == 0 || offset > OFFSET_MAX)
		return false;
	*ret = offset;
	return true;
}
