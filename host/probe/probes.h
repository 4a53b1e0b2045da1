/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the places in libjvm that events are taken at. The file is untrusted. The enums are those
 * of BPF programs, too. */
#ifndef DFG_PROBE_PROBES_H
#define DFG_PROBE_PROBES_H

#include <stdbool.h>
#include <stdint.h>

/* Events, in the order of those of the file (perf/perfwrite.h). */
enum flat_event {
	FLAT_EVENT_CPU,
	FLAT_EVENT_ALLOC,
	FLAT_EVENT_LOCK,
	FLAT_EVENT_SAFEPOINT,
	FLAT_EVENT_COMPILE,
	FLAT_EVENT_DEOPT,
	FLAT_EVENT_PERF, /* counted by the kernel */
	FLAT_EVENT_WALL,
	FLAT_EVENTS,
};

/* Places in the JVM that probes are on, JDK 8 to 27. */
enum flat_probe {
	/* Code that has just been made: a USDT probe, compiled__method__load (code/nmethod.cpp),
	 * with three names and their lengths, where the code begins, and its size (JDK 11 to 27;
	 * the one of code that is freed does not say which). */
	FLAT_PROBE_CODE,
	/* Classes that are unloaded: a USDT probe, class__unloaded, for each of them
	 * (services/classLoadingService.cpp, JDK 11 to 27), before their memory is freed. */
	FLAT_PROBE_UNLOAD,
	/* Allocations: AllocTracer::send_allocation_in_new_tlab(Klass *, HeapWord *, size_t tlab,
	 * size_t size, Thread *) and send_allocation_outside_tlab(Klass *, HeapWord *, size_t size,
	 * Thread *), gc/shared/allocTracer.hpp (JDK 8: …_event(KlassHandle, …), a class of one
	 * word); before the latter
	 * G1CollectedHeap::humongous_obj_allocate, gc/g1/g1CollectedHeap.hpp. */
	FLAT_PROBE_TLAB,
	FLAT_PROBE_OUTSIDE,
	FLAT_PROBE_HUMONGOUS,
	/* Monitors, runtime/objectMonitor.hpp: EnterI(Thread *), a thread is going to block, and
	 * ReenterI(Thread *, ObjectWaiter *), after Object.wait; where each returns to, then it
	 * has the monitor; ExitEpilog(Thread *, ObjectWaiter *), the owner leaves it to a thread
	 * that has blocked. From JDK 25 on enter_internal and so on. Where nothing calls
	 * ExitEpilog, which exit has in it then (JDK 8), ObjectMonitor::exit(bool, Thread *). */
	FLAT_PROBE_ENTER,
	FLAT_PROBE_REENTER,
	FLAT_PROBE_ENTERED,
	FLAT_PROBE_REENTERED,
	FLAT_PROBE_EXIT,
	/* java.util.concurrent: Unsafe_Park(JNIEnv *, jobject, jboolean, jlong) and
	 * Unsafe_Unpark(JNIEnv *, jobject, jobject thread), prims/unsafe.cpp; the end of the first
	 * is a USDT probe, thread__park__end. */
	FLAT_PROBE_PARK,
	FLAT_PROBE_PARKED,
	FLAT_PROBE_UNPARK,
	FLAT_PROBE_PARKED_2, /* where there is a second call, as in Debian's JDK 8 */
	/* Monitors of JDK 27, where enter_internal is what a thread calls after Object.wait:
	 * ObjectMonitor::notify_contended_enter(JavaThread *, bool), a thread is going to block;
	 * where enter_with_contention_mark returns to in ObjectMonitor::enter and in
	 * ObjectSynchronizer::inflate_and_enter. */
	FLAT_PROBE_CONTEND,
	FLAT_PROBE_CONTENDED,
	FLAT_PROBE_INFLATED,
	/* Memory: ZPageAllocator::alloc_page_stall, a thread waits for ZGC to free some, and where
	 * that, or claim_capacity_or_stall, which jumps there from JDK 25 on, returns to
	 * (gc/z/zPageAllocator.cpp, JDK 17 and later); of JDK 21's older ZGC XPageAllocator. */
	FLAT_PROBE_STALL,
	FLAT_PROBE_STALLED,
	FLAT_PROBE_STALL_X,
	FLAT_PROBE_STALLED_X,
	/* Safepoints: VMThread::execute(VM_Operation *), a thread asks for an operation;
	 * SafepointSynchronize::begin and block, of a thread that arrives; all have stopped where
	 * synchronize_threads returns to, before it was there (JDK 11) where do_cleanup_tasks
	 * begins; VM_Operation::evaluate; SafepointTracing::end (runtime/safepoint.hpp), before it
	 * was there a USDT probe, safepoint__end. */
	FLAT_PROBE_EXECUTE,
	FLAT_PROBE_BEGIN,
	FLAT_PROBE_BLOCK,
	FLAT_PROBE_STOPPED,
	FLAT_PROBE_EVALUATE,
	FLAT_PROBE_END,
	/* Memory pools before and after a collection: USDT probes mem__pool__gc__begin and _end
	 * (services/memoryManager.cpp), with the name of the manager, its length, those of the
	 * pool, and the bytes that it began with, that are used, committed, and its most. */
	FLAT_PROBE_POOL_BEFORE,
	FLAT_PROBE_POOL_AFTER,
	/* Compilations: CompileBroker::invoke_compiler_on_method(CompileTask *), compiler/
	 * compileBroker.hpp, and where it returns to. */
	FLAT_PROBE_COMPILE,
	FLAT_PROBE_COMPILED,
	/* Code that is not entered any more: nmethod::make_not_entrant(), before JDK 21
	 * make_not_entrant_or_zombie(int), code/nmethod.hpp. */
	FLAT_PROBE_DISCARD,
	/* Compiled code that goes on in the interpreter: Deoptimization::uncommon_trap(JavaThread
	 * *, jint trap_request, jint), runtime/deoptimization.hpp. */
	FLAT_PROBE_TRAP,
	/* Virtual threads, runtime/continuationFreezeThaw.cpp (JDK 21 and later): frames are put
	 * into the heap by FreezeBase::freeze_fast_copy(stackChunkOop, int) or end to be by
	 * finish_freeze(const frame &, const frame &); Continuation::prepare_thaw(JavaThread *,
	 * bool return_barrier), the thread goes on. */
	FLAT_PROBE_FREEZE,
	FLAT_PROBE_FREEZE_SLOW,
	FLAT_PROBE_THAW,
	FLAT_PROBE_COUNT,
};

/* The event that a probe is for. */
static inline uint32_t flat_probe_event(uint32_t probe)
{
	if (probe < FLAT_PROBE_TLAB)
		return FLAT_EVENT_CPU; /* new code is needed to walk its stacks */
	if (probe < FLAT_PROBE_ENTER)
		return FLAT_EVENT_ALLOC;
	if (probe < FLAT_PROBE_EXECUTE)
		return FLAT_EVENT_LOCK;
	if (probe < FLAT_PROBE_COMPILE)
		return FLAT_EVENT_SAFEPOINT;
	if (probe < FLAT_PROBE_TRAP)
		return FLAT_EVENT_COMPILE;
	return probe < FLAT_PROBE_FREEZE ? FLAT_EVENT_DEOPT : FLAT_EVENT_WALL;
}

/* Says where an argument of a USDT probe is: in a register, by its place among those that the
 * kernel has (bpf_user_pt_regs_t), in words; or in memory, so many bytes from where that register
 * points. */
#define FLAT_ARGUMENT(reg, memory, offset)                                                         \
	((reg) | ((memory) ? FLAT_IN_MEMORY : 0u) | (uint32_t)(uint16_t)(offset) << 8)
#define FLAT_ARGUMENT_REGISTER(argument) ((argument)&31u)
#define FLAT_IN_MEMORY			 32u
#define FLAT_ARGUMENT_OFFSET(argument)	 ((int16_t)((argument) >> 8 & 0xffff))

/* Offsets in the file; 0: it has no such function, or none where a probe is cheap. */
struct flat_probes {
	uint64_t offset[FLAT_PROBE_COUNT];
	uint32_t pool_name[2], pool_used[2]; /* arguments, before and after */
	uint32_t code;			     /* argument: where it begins */
};

/* Returns what a program gets with a probe: the probe in the lowest byte, and its arguments, two at
 * most. */
static inline uint64_t flat_cookie(const struct flat_probes *p, uint32_t probe)
{
	const uint32_t after = probe - FLAT_PROBE_POOL_BEFORE;

	if (probe == FLAT_PROBE_CODE)
		return probe | (uint64_t)p->code << 8;
	if (probe != FLAT_PROBE_POOL_BEFORE && probe != FLAT_PROBE_POOL_AFTER)
		return probe;
	return probe | (uint64_t)p->pool_name[after] << 8 | (uint64_t)p->pool_used[after] << 32;
}
#define FLAT_COOKIE_PROBE(cookie)  ((uint32_t)(cookie)&0xffu)
#define FLAT_COOKIE_FIRST(cookie)  ((uint32_t)((cookie) >> 8) & 0xffffffu)
#define FLAT_COOKIE_SECOND(cookie) ((uint32_t)((cookie) >> 32))

/* True if the functions are there without which an event has nothing to say. */
static inline bool flat_has_event(const struct flat_probes *p, enum flat_event event)
{
	if (event == FLAT_EVENT_LOCK)
		return p->offset[FLAT_PROBE_ENTER] && p->offset[FLAT_PROBE_ENTERED];
	if (event == FLAT_EVENT_SAFEPOINT)
		return p->offset[FLAT_PROBE_BEGIN] && p->offset[FLAT_PROBE_END];
	if (event == FLAT_EVENT_COMPILE)
		return p->offset[FLAT_PROBE_COMPILE];
	if (event == FLAT_EVENT_DEOPT)
		return p->offset[FLAT_PROBE_TRAP];
	if (event == FLAT_EVENT_WALL)
		return p->offset[FLAT_PROBE_THAW];
	return p->offset[FLAT_PROBE_TLAB];
}

/* fd, of libjvm, and symbols, of its debug file or -1, stay the caller's. All 0 where neither is an
 * ELF file with a .symtab. */
void flat_find_probes(int fd, int symbols, struct flat_probes *ret);

/* Finds FLAT_PROBE_CODE and FLAT_PROBE_UNLOAD only, which takes no symbols, and less time. */
void flat_find_code_probes(int fd, struct flat_probes *ret);

#endif
