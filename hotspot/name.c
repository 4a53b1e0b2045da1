// SPDX-License-Identifier: Apache-2.0
#include "hotspot/name.h"

#include "dfg/request.h"

/* Bytes of a long name that stay free for the method behind its class. */
#define METHOD_ROOM 256

/* The text of a Symbol, at most cap bytes of it. Returns its length, 0 when it cannot be read. */
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

/* A hidden class's symbol ends in +0x and up to 16 digits (JDK 15); Java code sees a '/' there. */
static void hidden_suffix(char *buf, size_t len)
{
	size_t at = len;

	while (at > 0 && len - at < 16 && is_hex(buf[at - 1]))
		at--;
	if (at < len && at > 3 && buf[at - 1] == 'x' && buf[at - 2] == '0' && buf[at - 3] == '+')
		buf[at - 3] = '.';
}

static void text_clean(char *buf, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((uint8_t)buf[i] < 0x20 || buf[i] == 0x7f)
			buf[i] = '?';
}

/* The Symbol* at an index of a constant pool, whose entries follow its header. */
static bool pool_symbol(struct hs *hs, uint64_t pool, uint64_t index, uint64_t *ret)
{
	uint64_t length;

	if (index == 0 || (hs_has(hs, HS_POOL_LENGTH) &&
			   (!hs_get(hs, pool, HS_POOL_LENGTH, &length) || index >= length)))
		return false;
	return hs_mem_ptr(&hs->mem, pool + hs->tables.size[HS_TYPE_CONSTANT_POOL] + index * 8, ret);
}

size_t hs_name_pool_text(struct hs *hs, uint64_t pool, uint64_t index, char *buf, size_t cap)
{
	uint64_t symbol;

	return pool_symbol(hs, pool, index, &symbol) ? symbol_read(hs, symbol, buf, cap) : 0;
}

size_t hs_name_method(struct hs *hs, uint64_t method, char *buf)
{
	uint64_t cm, pool, index, holder, name, klass, signature;
	size_t len, more;
	char first;

	if (method == 0 || !hs_get(hs, method, HS_METHOD_CONST, &cm) ||
	    !hs_get(hs, cm, HS_CONST_POOL, &pool) || !hs_get(hs, cm, HS_CONST_NAME_INDEX, &index) ||
	    !hs_get(hs, pool, HS_POOL_HOLDER, &holder) ||
	    !hs_get(hs, holder, HS_KLASS_NAME, &klass) || !pool_symbol(hs, pool, index, &name))
		return 0;
	/* A descriptor begins with '(': the one thing that tells a live Method from stale memory.
	 */
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

uint64_t hs_name_print(struct hs *hs, uint64_t method)
{
	uint64_t part[] = {method, 0, 0, 0, 0}, print = 0;

	if (!hs_get(hs, method, HS_METHOD_CONST, &part[1]) ||
	    !hs_get(hs, part[1], HS_CONST_POOL, &part[2]) ||
	    !hs_get(hs, part[1], HS_CONST_NAME_INDEX, &part[3]))
		return 0;
	(void)hs_get(hs, part[1], HS_CONST_SIGNATURE_INDEX, &part[4]);
	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++) {
		print = (print ^ part[i]) * 0x9e3779b97f4a7c15ull;
		print ^= print >> 32;
	}
	return print;
}

size_t hs_name_file(struct hs *hs, uint64_t method, char *buf, size_t cap)
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
	len = hs_name_pool_text(hs, pool, index, buf, cap);
	text_clean(buf, len);
	return len;
}

uint32_t hs_name_hash(struct hs *hs, uint64_t klass)
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

size_t hs_name_blob(const char *text, char *buf)
{
	size_t len = 0;

	for (; text[len] && len < DFG_NAME_MAX; len++)
		buf[len] = text[len] == '.' ? '_' : text[len];
	text_clean(buf, len);
	return len;
}
