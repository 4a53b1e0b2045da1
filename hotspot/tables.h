/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets and widths of the fields this reader uses, from gHotSpotVMStructs and gHotSpotVMTypes
 * (src/hotspot/share/runtime/vmStructs.cpp, JDK 8 to 25), and the JVM's flags. A field that a
 * release does not export is absent; where releases differ, both are listed. */
#ifndef HS_TABLES_H
#define HS_TABLES_H

#include "hotspot/mem.h"

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
	X(SYMBOL_BODY_0, "Symbol", "_body[0]")                                                     \
	/* The rest is used by snapshots and flags only. */                                        \
	X(CODE_LOW, "CodeCache", "_low_bound") /* 9 and later */                                   \
	X(CODE_HIGH, "CodeCache", "_high_bound")                                                   \
	X(BLOB_FRAME_SIZE, "CodeBlob", "_frame_size") /* words */                                  \
	X(BLOB_FRAME_COMPLETE, "CodeBlob", "_frame_complete_offset")                               \
	X(BLOB_MUTABLE, "CodeBlob", "_mutable_data") /* 25 */                                      \
	X(BLOB_MUTABLE_SIZE, "CodeBlob", "_mutable_data_size")                                     \
	X(BLOB_RELOCATION_SIZE, "CodeBlob", "_relocation_size")                                    \
	X(NMETHOD_ID, "nmethod", "_compile_id")                                                    \
	X(NMETHOD_STATE, "nmethod", "_state")                                                      \
	X(NMETHOD_LEVEL, "nmethod", "_comp_level")                                                 \
	X(NMETHOD_ORIG_PC, "nmethod", "_orig_pc_offset")                                           \
	X(NMETHOD_ENTRY, "nmethod", "_verified_entry_point")	 /* to 22: address */              \
	X(NMETHOD_ENTRY_23, "nmethod", "_verified_entry_offset") /* from the code's begin */       \
	X(NMETHOD_DEOPT_8, "nmethod", "_deoptimize_offset")	 /* from the blob's start */       \
	X(NMETHOD_DEOPT_MH_8, "nmethod", "_deoptimize_mh_offset")                                  \
	X(NMETHOD_DEOPT_23, "nmethod", "_deopt_handler_offset") /* from the blob's start */        \
	X(NMETHOD_DEOPT_MH_23, "nmethod", "_deopt_mh_handler_offset")                              \
	X(NMETHOD_DEOPT_26, "nmethod", "_deopt_handler_entry_offset")                              \
	X(COMPILED_DEOPT, "CompiledMethod", "_deopt_handler_begin") /* 9 to 22: addresses */       \
	X(COMPILED_DEOPT_MH, "CompiledMethod", "_deopt_mh_handler_begin")                          \
	X(COMPILED_SCOPES_DATA, "CompiledMethod", "_scopes_data_begin")                            \
	X(NMETHOD_METADATA, "nmethod", "_metadata_offset")                                         \
	X(NMETHOD_SCOPES_DATA, "nmethod", "_scopes_data_offset") /* 8, 23 and later */             \
	X(NMETHOD_SCOPES_PCS, "nmethod", "_scopes_pcs_offset")                                     \
	X(NMETHOD_DEPENDENCIES, "nmethod", "_dependencies_offset") /* to 22 */                     \
	X(NMETHOD_IMMUTABLE, "nmethod", "_immutable_data")	   /* 23 and later */              \
	X(NMETHOD_IMMUTABLE_SIZE, "nmethod", "_immutable_data_size")                               \
	X(PC_OFFSET, "PcDesc", "_pc_offset")                                                       \
	X(PC_SCOPE, "PcDesc", "_scope_decode_offset")                                              \
	X(METHOD_COUNTERS, "Method", "_method_counters")                                           \
	X(METHOD_CODE, "Method", "_code")                                                          \
	X(CONST_FLAGS, "ConstMethod", "_flags")                                                    \
	X(CONST_FLAGS_21, "ConstMethod", "_flags._flags")                                          \
	X(CONST_CODE_SIZE, "ConstMethod", "_code_size")                                            \
	X(POOL_SOURCE_FILE, "ConstantPool", "_source_file_name_index")	 /* 15 and later */        \
	X(KLASS_SOURCE_FILE, "InstanceKlass", "_source_file_name_index") /* 8 to 14 */             \
	X(KLASS_METHODS, "InstanceKlass", "_methods")                                              \
	X(KLASS_NEXT, "Klass", "_next_link") /* 9 and later */                                     \
	X(KLASS_LAYOUT, "Klass", "_layout_helper")                                                 \
	X(KLASS_SUPER, "Klass", "_super")                                                          \
	X(KLASS_SUBCLASS, "Klass", "_subklass")                                                    \
	X(KLASS_SIBLING, "Klass", "_next_sibling")                                                 \
	X(KLASS_OBJECT, "SystemDictionary",                                                        \
	  "_well_known_klasses[SystemDictionary::Object_klass_knum]") /* 8 */                      \
	X(LOADERS, "ClassLoaderDataGraph", "_head")                                                \
	X(LOADER_NEXT, "ClassLoaderData", "_next")                                                 \
	X(LOADER_KLASSES, "ClassLoaderData", "_klasses") /* 9 and later */                         \
	X(METHODS_LENGTH, "Array<int>", "_length")                                                 \
	X(METHODS_DATA, "Array<Method*>", "_data")                                                 \
	X(CALL_STUB_RETURN, "StubRoutines", "_call_stub_return_address")                           \
	X(CONT_RETURN, "StubRoutines", "_cont_returnBarrier")                                      \
	X(JDK_CURRENT, "JDK_Version", "_current") /* 8 to 21 */                                    \
	X(JDK_MAJOR, "JDK_Version", "_major")                                                      \
	X(VM_MAJOR, "Abstract_VM_Version", "_vm_major_version")                                    \
	X(THREADS_LIST, "ThreadsSMRSupport", "_java_thread_list") /* 12 and later */               \
	X(LIST_LENGTH, "ThreadsList", "_length")                                                   \
	X(LIST_THREADS, "ThreadsList", "_threads")                                                 \
	X(THREADS_FIRST, "Threads", "_thread_list") /* 8 to 11: a chain */                         \
	X(THREAD_NEXT, "JavaThread", "_next")                                                      \
	X(THREAD_OBJECT, "JavaThread", "_threadObj") /* an oop, then a handle of one */            \
	X(THREAD_VIRTUAL, "JavaThread", "_vthread") /* a handle; 21 and later */                   \
	X(ENTER_RETURN, "ContinuationEntry", "_return_pc")                                         \
	X(THREAD_PENDING, "JavaThread", "_current_pending_monitor")                                \
	X(THREAD_WAITING, "JavaThread", "_current_waiting_monitor")                                \
	X(THREAD_PENDING_8, "Thread", "_current_pending_monitor")                                  \
	X(THREAD_WAITING_8, "Thread", "_current_waiting_monitor")                                  \
	X(TASK_METHOD, "CompileTask", "_method")                                                   \
	X(TASK_LEVEL, "CompileTask", "_comp_level")                                                \
	X(MONITOR_OBJECT, "ObjectMonitor", "_object")                                              \
	X(THREAD_OS, "JavaThread", "_osthread")                                                    \
	X(THREAD_OS_25, "Thread", "_osthread")                                                     \
	X(OS_THREAD_ID, "OSThread", "_thread_id")                                                  \
	X(HANDLE_OBJECT, "OopHandle", "_obj")                                                      \
	X(OBJECT_CLASS, "oopDesc", "_metadata._klass")                                             \
	X(OBJECT_NARROW_CLASS, "oopDesc", "_metadata._compressed_klass")                           \
	X(OBJECT_NARROW_CLASS_27, "oopDesc", "_compressed_klass")                                  \
	X(HEAP, "Universe", "_collectedHeap")                                                      \
	X(HEAP_COLLECTIONS, "CollectedHeap", "_total_collections")                                 \
	X(COUNTERS, "PerfMemory", "_start") /* of the JVM's counters */                            \
	X(REF_BASE_8, "Universe", "_narrow_oop._base")                                             \
	X(REF_SHIFT_8, "Universe", "_narrow_oop._shift")                                           \
	X(REF_BASE_13, "CompressedOops", "_narrow_oop._base")                                      \
	X(REF_SHIFT_13, "CompressedOops", "_narrow_oop._shift")                                    \
	X(REF_BASE_25, "CompressedOops", "_base")                                                  \
	X(REF_SHIFT_25, "CompressedOops", "_shift")                                                \
	X(CLASS_BASE_8, "Universe", "_narrow_klass._base")                                         \
	X(CLASS_SHIFT_8, "Universe", "_narrow_klass._shift")                                       \
	X(CLASS_BASE_13, "CompressedKlassPointers", "_narrow_klass._base")                         \
	X(CLASS_SHIFT_13, "CompressedKlassPointers", "_narrow_klass._shift")                       \
	X(CLASS_BASE_25, "CompressedKlassPointers", "_base")                                       \
	X(CLASS_SHIFT_25, "CompressedKlassPointers", "_shift")                                     \
	X(CLASS_SUPER, "Klass", "_super")                                                          \
	X(CLASS_POOL, "InstanceKlass", "_constants")                                               \
	X(CLASS_FIELDS, "InstanceKlass", "_fields") /* 8 to 20 */                                  \
	X(CLASS_FIELD_COUNT, "InstanceKlass", "_java_fields_count")                                \
	X(CLASS_FIELD_STREAM, "InstanceKlass", "_fieldinfo_stream") /* 21 and later */             \
	X(ARRAY_U1_DATA, "Array<u1>", "_data")                                                     \
	X(ARRAY_U2_DATA, "Array<u2>", "_data")                                                     \
	X(THREAD_ALLOCATED, "Thread", "_allocated_bytes") /* jlong, of buffers that are full */    \
	X(THREAD_TLAB, "Thread", "_tlab")                                                          \
	X(TLAB_START, "ThreadLocalAllocBuffer", "_start")                                          \
	X(TLAB_TOP, "ThreadLocalAllocBuffer", "_top")                                              \
	X(CLASS_THREAD_8, "SystemDictionary",                                                      \
	  "_well_known_klasses[SystemDictionary::Thread_klass_knum]")                              \
	X(CLASS_STRING_8, "SystemDictionary",                                                      \
	  "_well_known_klasses[SystemDictionary::String_klass_knum]")                              \
	X(CLASS_THREAD_16, "vmClasses",                                                            \
	  "_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]")                              \
	X(CLASS_STRING_16, "vmClasses",                                                            \
	  "_klasses[static_cast<int>(vmClassID::String_klass_knum)]")                              \
	X(FLAG_NAME, "JVMFlag", "_name") /* 9 and later */                                         \
	X(FLAG_ADDR, "JVMFlag", "_addr")                                                           \
	X(FLAGS, "JVMFlag", "flags")                                                               \
	X(FLAG_COUNT, "JVMFlag", "numFlags")                                                       \
	X(FLAG_NAME_8, "Flag", "_name")                                                            \
	X(FLAG_ADDR_8, "Flag", "_addr")                                                            \
	X(FLAGS_8, "Flag", "flags")                                                                \
	X(FLAG_COUNT_8, "Flag", "numFlags")

enum hs_field_id {
#define X(id, type, field) HS_##id,
	HS_FIELDS(X)
#undef X
		HS_FIELD_COUNT
};

enum hs_type_id {
	HS_TYPE_CODE_HEAP,
	HS_TYPE_HEAP_BLOCK,
	HS_TYPE_CONSTANT_POOL,
	HS_TYPE_PC_DESC,
	HS_TYPE_CONST_METHOD,
	HS_TYPE_FLAG,
	HS_TYPE_FLAG_8,
	HS_TYPE_COUNT
};

struct hs_field {
	uint64_t place; /* offset in the object; the address of a static field */
	uint8_t width;	/* bytes; 0: not a number (an embedded object or array) */
	bool found;
};

struct hs_tables {
	struct hs_field field[HS_FIELD_COUNT];
	uint64_t size[HS_TYPE_COUNT]; /* sizeof; 0: not listed */
};

/* A JVM being read: the argument of most functions of this folder. */
struct hs {
	struct hs_mem mem;
	struct hs_tables tables;
};

/* False: the tables are missing, of an unknown shape, or lack what every release has. */
bool hs_tables_read(struct hs *hs);

/* True if the tables have all that a whole snapshot requires. */
bool hs_tables_whole(const struct hs *hs);

static inline bool hs_has(const struct hs *hs, enum hs_field_id id)
{
	return hs->tables.field[id].found;
}

/* Reads a number, zero-extended. `object` is ignored for a static field (pass 0). */
bool hs_get(struct hs *hs, uint64_t object, enum hs_field_id id, uint64_t *ret);

/* The same, sign-extended. */
bool hs_get_signed(struct hs *hs, uint64_t object, enum hs_field_id id, int64_t *ret);

/* Reads a value of gHotSpotVMIntConstants. False: it is not listed. */
bool hs_constant(struct hs *hs, const char *name, int32_t *ret);

/* Reads a boolean flag (runtime/flags/jvmFlag.hpp; JDK 8: runtime/globals.hpp). */
bool hs_flag(struct hs *hs, const char *name, uint64_t *ret_addr, uint8_t *ret_value);
bool hs_flag_is_set(struct hs *hs, const char *name);

/* Returns the address of a field that is an embedded object or array. */
static inline uint64_t hs_inside(const struct hs *hs, uint64_t object, enum hs_field_id id)
{
	return object + hs->tables.field[id].place;
}

#endif
