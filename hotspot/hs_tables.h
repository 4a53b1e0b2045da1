/* SPDX-License-Identifier: Apache-2.0 */
/* What HotSpot says of itself: the places and widths of the fields this reader uses, from
 * gHotSpotVMStructs and gHotSpotVMTypes (src/hotspot/share/runtime/vmStructs.cpp, JDK 8 to 25).
 * A field that a release does not export is absent; where releases differ, both are listed. */
#ifndef HS_TABLES_H
#define HS_TABLES_H

#include "hs_mem.h"

/* id, type, field */
#define HS_FIELDS(X)                                                                               \
	X(CODE_CACHE_HEAP, "CodeCache", "_heap")   /* 8: one heap */                               \
	X(CODE_CACHE_HEAPS, "CodeCache", "_heaps") /* 9: GrowableArray of heaps */                 \
	X(ARRAY_LEN_9, "GenericGrowableArray", "_len")                                             \
	X(ARRAY_LEN_16, "GrowableArrayBase", "_len")                                               \
	X(ARRAY_DATA, "GrowableArray<int>", "_data")                                               \
	X(HEAP_MEMORY, "CodeHeap", "_memory")                                                      \
	X(HEAP_SEGMAP, "CodeHeap", "_segmap")                                                      \
	X(HEAP_SHIFT, "CodeHeap", "_log2_segment_size")                                            \
	X(SPACE_LOW, "VirtualSpace", "_low")                                                       \
	X(SPACE_HIGH, "VirtualSpace", "_high")                                                     \
	X(BLOCK_LENGTH, "HeapBlock::Header", "_length")                                            \
	X(BLOCK_USED, "HeapBlock::Header", "_used")                                                \
	X(BLOB_NAME, "CodeBlob", "_name")                                                          \
	X(BLOB_SIZE, "CodeBlob", "_size")                                                          \
	X(BLOB_CODE_BEGIN, "CodeBlob", "_code_begin") /* 9 to 22: pointers */                      \
	X(BLOB_CODE_END, "CodeBlob", "_code_end")                                                  \
	X(BLOB_CODE_OFFSET, "CodeBlob", "_code_offset") /* 8, 23 and later: offsets */             \
	X(BLOB_DATA_OFFSET, "CodeBlob", "_data_offset")                                            \
	X(NMETHOD_METHOD, "nmethod", "_method")		/* 8, 23 and later */                      \
	X(COMPILED_METHOD, "CompiledMethod", "_method") /* 9 to 22 */                              \
	X(METHOD_CONST, "Method", "_constMethod")                                                  \
	X(CONST_POOL, "ConstMethod", "_constants")                                                 \
	X(CONST_NAME_INDEX, "ConstMethod", "_name_index")                                          \
	X(CONST_SIGNATURE_INDEX, "ConstMethod", "_signature_index")                                \
	X(POOL_LENGTH, "ConstantPool", "_length")                                                  \
	X(POOL_HOLDER, "ConstantPool", "_pool_holder")                                             \
	X(KLASS_NAME, "Klass", "_name")                                                            \
	X(SYMBOL_LENGTH, "Symbol", "_length")                                                      \
	X(SYMBOL_LENGTH_REFS, "Symbol", "_length_and_refcount") /* some of 11 to 16 */             \
	X(SYMBOL_BODY, "Symbol", "_body")                                                          \
	X(SYMBOL_BODY_0, "Symbol", "_body[0]")

enum hs_field_id {
#define X(id, type, field) HS_##id,
	HS_FIELDS(X)
#undef X
		HS_FIELD_COUNT
};

enum hs_type_id { HS_TYPE_HEAP_BLOCK, HS_TYPE_CONSTANT_POOL, HS_TYPE_COUNT };

struct hs_field {
	uint64_t place; /* offset in the object; the address itself for a static field */
	uint8_t width;	/* bytes; 0: not a number (an embedded object or array) */
	bool found;
};

struct hs_tables {
	struct hs_field field[HS_FIELD_COUNT];
	uint64_t size[HS_TYPE_COUNT]; /* sizeof; 0: not there */
};

/* What every module here works with. */
struct hs {
	struct hs_mem mem;
	struct hs_tables tables;
};

/* False: the tables are not there, or not of the known shape, or lack what every release has. */
bool hs_tables_read(struct hs *hs);

static inline bool hs_has(const struct hs *hs, enum hs_field_id id)
{
	return hs->tables.field[id].found;
}

/* The number in a field, zero-extended; object is ignored for a static field (pass 0). */
bool hs_get(struct hs *hs, uint64_t object, enum hs_field_id id, uint64_t *ret);

/* The address of a field that is an embedded object or array. */
static inline uint64_t hs_inside(const struct hs *hs, uint64_t object, enum hs_field_id id)
{
	return object + hs->tables.field[id].place;
}

#endif
