/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshot of a JVM's compiled code: what unwinding and naming its frames requires, without
 * frame pointers and without the JVM. Written by hotspot/ (in the agent or by the host's reader),
 * read by host/jit; each side treats the file as hostile input from the other.
 *
 * A stream of records, little-endian, 8-byte aligned, a multiple of 8 long: struct snap_record
 * first, `size` bytes with it. Readers skip unknown types, and bytes after the fields they know.
 * The first record is SNAP_HEAD, the last SNAP_END; a METHOD may come before or after the records
 * that refer to it, and more than once. All offsets of code are bytes from the `start` of the CODE
 * record; SNAP_NONE means none.
 *
 * DELTAS. Snapshots of one JVM can follow each other in one file, HEAD … END HEAD … END, the first
 * of them whole. One with SNAP_DELTA has only the changes since the snapshot before it: CODE
 * records for new or changed code, GONE records for code that was freed (code that new code
 * overlaps is gone, listed or not), and METHOD records for all that its own CODE records refer to
 * and for methods of new classes. Everything else is unchanged, except what HotSpot patches in
 * place (the entry of code that must not be entered any more; some calls). GONE refers to earlier
 * snapshots, never to its own, wherever it stands. A METHOD is valid from its snapshot on, and
 * before it, too, if no earlier one had its id: the last delta names methods of older classes that
 * have begun to run. An ASKED is a METHOD that was read after the snapshot before, since a frame
 * had its id and no snapshot did; when its own snapshot is taken the class may be unloaded. An
 * ASKED_CODE is the same of a CODE, whose methods are ASKED. An UNLOADED is a time since the
 * snapshot before at which the JVM began to unload classes, for methods whose memory has become
 * that of others; not all times need be known. A whole snapshot can follow others (the writer has
 * lost its state): it stands for itself. What a snapshot contains was true at some time between its
 * HEAD's and its END's. The last one may lack its END: its writer was stopped.
 *
 * In a file that answers a request (request.h) the text trailer follows SNAP_END, then zeros. */
#ifndef DFG_SNAPSHOT_H
#define DFG_SNAPSHOT_H

#include <stdint.h>

#define SNAP_MAGIC   0x31504e53474644ull /* "DFGSNP1" */
#define SNAP_VERSION 1u
#define SNAP_NONE    0xffffffffu

enum snap_type {
	SNAP_HEAD = 1,
	SNAP_METHOD = 2,
	SNAP_CODE = 3,
	SNAP_END = 4,
	SNAP_GONE = 5,
	SNAP_THREAD = 6,
	SNAP_STUB = 7,
	SNAP_LAYOUT = 8,
	SNAP_OBJECTS = 9,
	SNAP_ASKED = 10,
	SNAP_UNLOADED = 11,
	SNAP_ASKED_CODE = 12,
};

struct snap_record {
	uint32_t type; /* enum snap_type */
	uint32_t size; /* bytes of the whole record, a multiple of 8 */
};

#define SNAP_PRESERVE_FP      1u  /* -XX:+PreserveFramePointer */
#define SNAP_DEBUG_NON_SAFE   2u  /* -XX:+DebugNonSafepoints is on now */
#define SNAP_METHODS_COMPLETE 4u  /* every method ever interpreted has a METHOD record */
#define SNAP_DELTA	      8u  /* see above */
#define SNAP_METHODS_NAMED    16u /* the same, in this snapshot or one before it */

struct snap_head {
	struct snap_record record;
	uint64_t magic;
	uint32_t version;
	uint32_t flags;		      /* SNAP_PRESERVE_FP … */
	uint64_t time;		      /* CLOCK_MONOTONIC, ns, when the walk began */
	uint64_t code_low, code_high; /* bounds of all code heaps */
	uint64_t call_stub_return;    /* StubRoutines::_call_stub_return_address; 0 unknown */
	uint64_t cont_return;	      /* StubRoutines::_cont_returnBarrier, JDK 21; 0 none */
	int32_t interpreter_method;   /* slots of an interpreted frame, in words from the frame */
	int32_t interpreter_bcp;      /* pointer: -3 and -8, arm64 -9 (JDK 8: -7) */
	int32_t entry_wrapper;	      /* frame::entry_frame_call_wrapper_offset, words; 0 unknown */
	uint32_t jdk;		      /* feature release, 0 unknown */
};

/* A Java method: SNAP_METHOD, SNAP_ASKED. Strings are not terminated; the name is as in request.h.
 * `id` is the address of the Method, which an interpreted frame contains. */
struct snap_method {
	struct snap_record record;
	uint64_t id;
	uint32_t name_len;
	uint32_t file_len; /* of the source file's name; 0 unknown */
			   /* char name[name_len], file[file_len], padding */
};

enum snap_kind {
	SNAP_COMPILED = 1,    /* nmethod of C1 or C2 */
	SNAP_NATIVE = 2,      /* nmethod that wraps a native method */
	SNAP_INTERPRETER = 3, /* the template interpreter */
	SNAP_STUBS = 4,	      /* StubRoutines: many stubs in one blob */
	SNAP_RUNTIME = 5, /* a stub with a frame of its own (RuntimeStub, C1 and deopt blobs …) */
	SNAP_ADAPTER = 6, /* i2c/c2i adapters, vtable and itable stubs: no frame */
};

/* A scope: a method at a bytecode, inlined into its parent. */
struct snap_scope {
	uint64_t method; /* id of a METHOD; 0 unknown */
	int32_t bci;	 /* -1 unknown */
	int32_t line;	 /* 0 unknown */
	uint32_t parent; /* index of the scope it is inlined into, SNAP_NONE: outermost */
	uint32_t pad;
};

/* Code from the end of the region before up to, but without, `end` is in `scope`. HotSpot's PcDesc
 * marks the *end* of its code (prims/forte.cpp); a return address equals the `end` of the region of
 * its call, so it is looked up at address - 1. So does that of a call that HotSpot does not
 * describe, where the code says what it belongs to. */
struct snap_region {
	uint32_t end;	/* offset */
	uint32_t scope; /* index, SNAP_NONE: unknown */
};

/* Code that removes the frame: from `pop` (the offset of `pop rbp`, or of the return if there is
 * none) up to `end`, after the return instruction or, in a stub that jumps to an exception handler,
 * after the `pop` that removes the return address. On arm64 `pop` is the last instruction that
 * changes the stack pointer: `add sp, sp, n` after the load of x29 and x30 if the prologue makes
 * the frame at once (push_end is SNAP_NONE), else that load itself.
 *
 * Other code without the frame is told as exits, too: the slow path of an exit's safepoint poll
 * (JDK 16 and later), and C1's second prologue, at which a method is entered in a loop (on-stack
 * replacement; after its push the stack is as before the pop). If the frame is gone from the first
 * instruction on, `pop` is the byte before it. */
struct snap_exit {
	uint32_t pop, end;
};

/* Code that runs with the stack pointer `bytes` below the frame: a GC barrier's slow path keeps the
 * live registers there around its call, C1 the arguments of slow_subtype_check. From `begin`, after
 * `sub rsp, n` or a push, up to `end`, after the `add rsp, n` or the pop that ends it. */
struct snap_spill {
	uint32_t begin, end, bytes, pad;
};

/* The code was compiled with -XX:+DebugNonSafepoints: its regions are exact between calls and
 * safepoints, too. Otherwise code there has the scope of the next one. */
#define SNAP_BETWEEN 1u

struct snap_code {
	struct snap_record record;
	uint64_t start;
	uint32_t size;
	uint32_t kind;		 /* enum snap_kind */
	uint64_t method;	 /* id; 0 unless COMPILED or NATIVE */
	uint32_t frame_size;	 /* bytes with return address and saved frame pointer; 0 none */
	uint32_t frame_complete; /* offset from which frame_size holds; SNAP_NONE: never */
	uint32_t push_end;	 /* offset after `push rbp` (arm64: `stp x29, x30, [sp, #-16]!`),
				  * SNAP_NONE: the prologue has none */
	uint32_t sub_end;	 /* offset after `sub rsp, n`; SNAP_NONE unknown */
	uint16_t level;		 /* compilation level, 1 to 4; 0 unknown or none */
	uint16_t flags;		 /* SNAP_BETWEEN */
	uint32_t compile_id;
	uint32_t deopt;	   /* offset of the deoptimisation handler's entry */
	uint32_t deopt_mh; /* the same for method handle call sites (up to JDK 25) */
	uint32_t orig_pc;  /* offset from the unextended sp at which the original pc is kept */
	uint32_t region_count, scope_count, exit_count, call_count, name_len;
	/* Followed by:
	 *
	 *	struct snap_scope  scopes[scope_count]
	 *	struct snap_region regions[region_count]	ascending, `end` unique
	 *	struct snap_exit   exits[exit_count]		ascending
	 *	uint32_t           calls[call_count]		ascending, see below
	 *	char               name[name_len]		the blob's name where method is 0
	 *	padding
	 *	struct snap_spill  spills[]			ascending; the rest of the record
	 *
	 * calls: offsets after call instructions that have no region of their own and whose
	 * target, known from the code, is in the code cache: leaf calls of stubs. */
};

/* Code of earlier snapshots that was freed, by `start`, ascending. There may be several of these
 * records. */
struct snap_gone {
	struct snap_record record;
	uint64_t count;
	/* uint64_t start[count] */
};

/* Classes were found to be unused, and none of their methods runs from then on. Their memory is
 * given to others later. */
struct snap_unloaded {
	struct snap_record record;
	uint64_t time; /* CLOCK_MONOTONIC, ns */
};

/* A Java thread and its name in Java. */
struct snap_thread {
	struct snap_record record;
	uint32_t tid; /* in the JVM's pid namespace */
	uint32_t name_len;
	/* char name[name_len] (UTF-8, at most DFG_NAME_MAX), padding */
};

/* The name of a stub, at [start, start + size) in a CODE without a method. A stub is never freed; a
 * delta has new ones, and may repeat others. */
struct snap_stub {
	struct snap_record record;
	uint64_t start;
	uint32_t size;
	uint32_t name_len;
	/* char name[name_len], padding */
};

/* Places of fields in objects of the JVM (gHotSpotVMStructs), for probes that read what its
 * functions are called with; bytes, SNAP_NONE: not known. Whole snapshots have it. */
struct snap_layout {
	struct snap_record record;
	uint32_t class_name;	/* Klass::_name, a Symbol * */
	uint32_t symbol_length; /* the length in a Symbol, u16 */
	uint32_t symbol_body;	/* its bytes */
	/* In a Thread: _allocated_bytes, s64, without those of the buffer (TLAB) in use; that one's
	 * _start and _top, addresses. */
	uint32_t allocated, tlab_start, tlab_top;
};

/* snap_objects.flags */
#define SNAP_HANDLES  1u /* the two fields are addresses of references */
#define SNAP_COLOURED 2u /* references have the colours of generational ZGC (JDK 21) */
#define SNAP_REFILLS  4u /* stubs refill threads' buffers, too (FastTLABRefill, JDK 8) */

/* Of a mark that has the class, oops/markWord.hpp, JDK 24 to 27: the bit from which on it is, and
 * how the lowest bits say that the object has been moved. */
#define SNAP_MARK_CLASS 42
#define SNAP_MARK_BITS	3u
#define SNAP_MARK_MOVED 3u

/* Places in a ContinuationEntry (runtime/continuationEntry.hpp, JDK 21 to 27), which is on the
 * stack above the outermost thawed frame of a virtual thread: _cont; _flags, s32, 1 of a virtual
 * thread; _argsize, s32, the words between that frame and it, but for its alignment. */
#define SNAP_ENTRY_CONT	     16u
#define SNAP_ENTRY_FLAGS     32u
#define SNAP_ENTRY_ARGUMENTS 36u

/* Virtual threads, JDK 21 and later; SNAP_NONE where places are not known. */
struct snap_virtual {
	uint32_t carrier;		     /* JavaThread::_threadObj */
	uint32_t continuation;		     /* java.lang.VirtualThread.cont */
	uint32_t thread_id, thread_name;     /* java.lang.Thread.tid, s64; name */
	uint32_t string_value, string_coder; /* java.lang.String.value, a byte[]; coder, s8 */
	uint32_t array_length, class_layout; /* in an array, s32; Klass::_layout_helper, s32 */
	/* jdk.internal.vm.Continuation.tail; in the StackChunk that it is, the next one, parent;
	 * s32, in words: size, sp, and argsize (JDK 21), or the number of the word after its
	 * frames, bottom; the place of the first word. */
	uint32_t chunk, chunk_parent, chunk_size, chunk_sp, chunk_arguments, chunk_bottom,
		chunk_stack;
	uint32_t pad;
	/* ContinuationEntry::_return_pc, to which the frames of a virtual thread return that is on
	 * the stack as a whole; 0: not known (JDK 21). */
	uint64_t enter_return;
};

/* The layout of Java objects, for probes. A reference, or a class word, is a plain address, or with
 * 4 bytes base + (value << shift). Whole snapshots have it after SNAP_LAYOUT; places as there. */
struct snap_objects {
	struct snap_record record;
	uint32_t monitor_object;	       /* ObjectMonitor::_object */
	uint32_t thread_object;		       /* JavaThread::_vthread, before JDK 21 _threadObj */
	uint32_t park_blocker, thread_address; /* java.lang.Thread.parkBlocker, eetop */
	uint32_t class_at;		       /* the class word in an object */
	uint8_t ref_bytes, ref_shift;
	uint8_t class_bytes; /* 0: the class is in the upper bits of the mark (compact headers) */
	uint8_t class_shift;
	uint32_t flags;
	uint32_t class_pool; /* InstanceKlass::_constants, a ConstantPool *; 0: not known */
	uint64_t ref_base, class_base;
	/* CompileTask::_method, a Method *, and _comp_level; from a method to its name: its
	 * ConstMethod, that one's ConstantPool and the index (u16) of the name's Symbol, the first
	 * Symbol and the class in a ConstantPool. */
	uint32_t task_method, task_level;
	uint32_t method_const, const_pool, const_name, pool_symbols, pool_holder;
	uint32_t code_method, code_level, code_state; /* of an nmethod */
	/* Addresses: of CollectedHeap::_total_collections (u32), and of the text of why the JVM
	 * collected garbage last, sun.gc.lastCause of its counters; 0 unknown. */
	uint64_t collections, gc_cause;
	/* JavaThread::_current_pending_monitor and _current_waiting_monitor (JDK 8: Thread). */
	uint32_t pending_monitor, waiting_monitor;
	uint32_t os_thread, os_thread_id; /* JavaThread::_osthread, a pointer; _thread_id there */
	struct snap_virtual virtual;
};

struct snap_end {
	struct snap_record record;
	uint32_t status; /* enum dfg_dump_status */
	uint32_t codes, methods, skipped;
	uint64_t time; /* CLOCK_MONOTONIC, ns, when the walk ended */
};

_Static_assert(sizeof(struct snap_head) == 80, "layout is the format");
_Static_assert(sizeof(struct snap_method) == 24, "layout is the format");
_Static_assert(sizeof(struct snap_scope) == 24, "layout is the format");
_Static_assert(sizeof(struct snap_spill) == 16, "layout is the format");
_Static_assert(sizeof(struct snap_code) == 88, "layout is the format");
_Static_assert(sizeof(struct snap_gone) == 16, "layout is the format");
_Static_assert(sizeof(struct snap_unloaded) == 16, "layout is the format");
_Static_assert(sizeof(struct snap_thread) == 16, "layout is the format");
_Static_assert(sizeof(struct snap_stub) == 24, "layout is the format");
_Static_assert(sizeof(struct snap_layout) == 32, "layout is the format");
_Static_assert(sizeof(struct snap_objects) == 200, "layout is the format");
_Static_assert(sizeof(struct snap_end) == 32, "layout is the format");

#endif
