/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flat tables by which BPF programs walk stacks, and the records they send: the layout that both
 * sides share. User space fills the tables from a JVM's snapshot, from the call frame information
 * of mapped files and from a process's mappings; the programs only read them.
 *
 * Every table is an array that the processes of a walker share; struct flat_process says where a
 * process's part begins. Entry 0 of `pages` and `codes` is unused: number 0 means none. */
#ifndef DFG_KERNEL_FLAT_TABLES_H
#define DFG_KERNEL_FLAT_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/probes.h"

#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define FLAT_ARM64
#endif

#define FLAT_NONE	UINT32_MAX
#define FLAT_PAGE	4096u /* bytes of code with one struct flat_page */
#define FLAT_SEGMENT	64u   /* bytes of code that have one number: HotSpot's code is aligned so */
#define FLAT_BLOCK	1024u /* bytes of a file that have one entry of `blocks` */
#define FLAT_SEGMENTS	(FLAT_PAGE / FLAT_SEGMENT)
#define FLAT_FRAMES_MAX 8192u
#define FLAT_PROBES	8u     /* most places of a hash table that a search looks at */
#define FLAT_PROCESSES	16384u /* that are looked at, at most */
#define FLAT_KERNEL_MAX 127u   /* kernel.perf_event_max_stack, by default */
#define FLAT_WALKERS	1024u  /* programs with tables, at most */
#define FLAT_NAME_MAX	256u   /* bytes of a name that comes with an event */
#define FLAT_COPY	32768u /* bytes of a stack that an event copies, in pieces: */
#define FLAT_PIECE	1024u  /* aligned so, each is there or not as a whole */
#define FLAT_NO_WALKER	0u
#define FLAT_PROBING	4u /* probes at once on a processor */

enum flat_kind { /* as enum snap_kind */
		 FLAT_COMPILED = 1,
		 FLAT_WRAPPER = 2, /* of a native method */
		 FLAT_INTERPRETER = 3,
		 FLAT_STUBS = 4,
		 FLAT_RUNTIME = 5,
		 FLAT_ADAPTER = 6,
};

#define FLAT_THROWS  1u	 /* ExceptionBlob */
#define FLAT_BARRIER 2u	 /* thawed frames of a virtual thread return to it */
#define FLAT_SELECTS 4u	 /* the method, by the class of the object it is called for */
#define FLAT_PUSHES  8u	 /* registers below its return address, and has no frame */
#define FLAT_MADE    16u /* by a probe, no snapshot has it yet; programs do not look at it */

/* As struct snap_code. Offsets from `start`; FLAT_NONE: none. */
struct flat_code {
	uint64_t start;
	uint32_t size;
	uint32_t frame;
	uint32_t deopt, deopt_mh;
	uint16_t orig_pc; /* UINT16_MAX: none */
	uint8_t kind, flags;
	uint16_t exit_count, spill_count;
	uint32_t exits, spills; /* numbers of the first ranges */
	uint32_t complete, push_end, sub_end;
	/* Offset from which the frame may be gone although no exit says so. */
	uint32_t left;
	uint32_t compile_id;
	uint32_t pad;
};

_Static_assert(sizeof(struct flat_code) == 64, "a line of the cache");

/* Offsets in a code, ascending: its exits, its spills (`bytes`: see struct snap_spill). */
struct flat_range {
	uint32_t begin, end, bytes, pad;
};

/* A page of the code cache, by segment. */
struct flat_segment {
	uint32_t returns[2]; /* bit for each byte that may end a call */
	uint32_t code;	     /* FLAT_NONE: more than one */
};
struct flat_page {
	struct flat_segment segments[FLAT_SEGMENTS];
};

/* Two entries of a table whose entries have 4 bytes: the kernel rounds what an array has up to 8
 * (kernel/bpf/arraymap.c). */
struct flat_pair {
	uint32_t of[2];
};

enum flat_rule {
	FLAT_BY_COPY = 0, /* does not fit here: needs the stack copy */
	FLAT_BY_POINTER,  /* nothing is said: by frame pointer */
	FLAT_OUTERMOST,
	FLAT_FROM_SP,
	FLAT_FROM_FP,
};

/* Call frame information of some addresses: the frame's address (cfa) is `cfa` words above the
 * register. The return address is right below it on x86-64. On arm64 it is in the link register, or
 * right above the saved frame pointer, or (`alone`) `fp` is where it is saved. */
#define FLAT_WORDS_MAX 0x3fffu
struct flat_row {
	uint32_t cfa : 14;
	uint32_t fp : 14;  /* words below the cfa where the frame pointer is saved; 0: unchanged */
	uint32_t rule : 3; /* enum flat_rule */
	uint32_t alone : 1;
};

_Static_assert(sizeof(struct flat_row) == 4, "an entry of `rows`");

/* From an address on a row holds. A file has some 200 000 of these, but few different rows. */
struct flat_spot {
	uint16_t at;  /* the address as linked: its lowest bits */
	uint16_t row; /* its number in `rows`; 0 says FLAT_BY_COPY */
};

_Static_assert(sizeof(struct flat_spot) == 4, "an entry of `spots`");

/* Keeps what walks of a process have found, by a hash of the address: the number of its row, above
 * FLAT_FOUND_BITS, and the address. Programs read and write an entry as a whole. A frame costs one
 * line of the cache so, and some five that most often are cold where the row is looked up. */
#define FLAT_FOUND_ROWS 512u /* entries of a process; a power of 2 */
#define FLAT_FOUND_BITS 48

/* Executable memory [start, end). A file's spots ascend; `blocks` has, for each FLAT_BLOCK bytes
 * from address `low` on, the number of the last spot up to where they begin, and one more for the
 * end. */
struct flat_mapping {
	uint64_t start, end;
	uint64_t shift;	      /* address + shift = address as linked */
	uint32_t low;	      /* as linked */
	uint32_t block_count; /* 0: no file, so that frame pointers are all there is */
	uint32_t blocks;
	uint32_t pad;
};

/* Places of fields, as struct snap_layout; FLAT_NONE: not known. */
struct flat_layout {
	uint32_t class_name, symbol_length, symbol_body;
	uint32_t allocated, tlab_start, tlab_top;
};

/* Virtual threads, as struct snap_virtual. */
struct flat_virtual {
	uint32_t carrier, continuation;
	uint32_t thread_id, thread_name, string_value, string_coder, array_length, class_layout;
	uint32_t chunk, chunk_parent, chunk_size, chunk_sp, chunk_arguments, chunk_bottom,
		chunk_stack;
	uint32_t pad;
	uint64_t enter_return;
};

/* The layout of Java objects, as struct snap_objects. */
struct flat_objects {
	uint32_t monitor_object, thread_object, park_blocker, thread_address, class_at;
	uint8_t ref_bytes, ref_shift, class_bytes, class_shift;
	uint32_t flags, class_pool;
	uint64_t ref_base, class_base;
	uint32_t task_method, task_level;
	uint32_t method_const, const_pool, const_name, pool_symbols, pool_holder;
	uint32_t code_method, code_level, code_state;
	uint64_t collections, gc_cause;
	uint32_t pending_monitor, waiting_monitor;
	uint32_t os_thread, os_thread_id;
	struct flat_virtual virtual;
};
#define FLAT_HANDLES  1u /* as SNAP_HANDLES and so on */
#define FLAT_COLOURED 2u
#define FLAT_REFILLS  4u

/* Of a mark that has the class, as SNAP_MARK_CLASS and so on. */
#define FLAT_MARK_CLASS 42
#define FLAT_MARK_BITS	3u
#define FLAT_MARK_MOVED 3u

struct flat_process {
	uint64_t code_low, code_high;
	uint64_t call_stub_return, cont_return;
	int32_t method_slot, bcp_slot;	  /* as struct snap_head, interpreter_* */
	int32_t wrapper_slot;		  /* as entry_wrapper */
	uint32_t dir;			  /* entry of the first page from code_low on */
	uint32_t mappings, mapping_count; /* ascending */
	uint32_t found;			  /* its first entry; none without mappings */
	uint32_t methods, method_mask;	  /* hash table of ids; the mask is its size less one */
	uint32_t walker;		  /* the program that has these tables; FLAT_NO_WALKER */
	struct flat_layout layout;
	struct flat_objects objects;
	uint64_t trap_reasons; /* Deoptimization::_trap_reason_name, char *[]; 0: not known */
};

/* Returns where a search of a hash table begins, before its size is applied. */
static inline uint32_t flat_hash(uint64_t id)
{
	return (uint32_t)(id * 0x9e3779b97f4a7c15ull >> 32);
}

/* Ends of a walk. */
enum flat_end {
	FLAT_ON = 0, /* it goes on */
	FLAT_ROOT,   /* at the thread's first function: nothing else counts as walked */
	FLAT_FULL,   /* FLAT_FRAMES_MAX */
	/* Everything else is left to the stack copy. */
	FLAT_NO_TABLES, /* the process has none */
	FLAT_NO_CODE,	/* in the code cache, where the tables have nothing */
	FLAT_UNREAD,	/* memory that cannot be read now */
	FLAT_UNSURE,	/* a check met an address of the code cache that the tables lack */
	FLAT_RETURN,	/* no known call ends at the return address */
	FLAT_DEOPT,	/* the original pc of a deoptimised frame was not found */
	FLAT_THROWN,	/* an exception is on its way to its handler */
	FLAT_STUB,	/* a stub whose frame is not known */
	FLAT_IN_ADAPTER,
	FLAT_ENTERED,	/* an interpreted method that is entered or left */
	FLAT_SLOTS,	/* an interpreted frame that contradicts itself */
	FLAT_UNMAPPED,	/* native code where nothing executable is mapped */
	FLAT_RULE,	/* native code whose rule is FLAT_BY_COPY */
	FLAT_POINTER,	/* native code without a valid frame pointer */
	FLAT_REGISTERS, /* not a 64-bit program's */
	FLAT_ENDS,
};

/* A frame: its kind (enum unwind_kind) in the upper four bits, then CODE: the code's number (28
 * bits) and the offset of the address; INTERPRETED: the id of the method; else the address. */
#define FLAT_FRAME(kind, value)	 ((uint64_t)(kind) << 60 | (value))
#define FLAT_IN_CODE(number, at) ((uint64_t)(number) << 32 | (uint32_t)(at))
#define FLAT_FRAME_NATIVE	 0u
#define FLAT_FRAME_CODE		 1u
#define FLAT_FRAME_INTERPRETED	 2u
#define FLAT_FRAME_FROZEN	 3u

/* Flags of a flat_detail. */
#define FLAT_OUTSIDE   1u    /* the object is in no buffer (TLAB) */
#define FLAT_HUMONGOUS 2u    /* it has regions of its own */
#define FLAT_HOLDER    4u    /* the stack of another thread that events name: not one of its own */
#define FLAT_WHOLE     8u    /* all of its frames are wanted */
#define FLAT_FOR_LOCK  16u   /* the thread waits for a futex: what for, the JVM may know */
#define FLAT_PEER      32u   /* the name is a flat_peer */
#define FLAT_UNMOUNTED 64u   /* a virtual thread, about to be put on its carrier */
#define FLAT_FREEZES   128u  /* the same, but it begins to wait: the amount is 0 */
#define FLAT_ONE       256u  /* the amount is of one wait alone */
#define FLAT_DISCARDED 4096u /* code of the method is not entered any more; the amount is 0 */

/* Counts an event since its last sample; a sample stands for `interval` or more, a power of 2. */
struct flat_part {
	uint64_t rest, interval;
};

/* Bounds what an event costs a container on a processor, and counts what that has cost it. */
struct flat_rate {
	uint64_t begin; /* of the current window */
	uint32_t events, shift;
	uint64_t lost;
	uint64_t seen; /* waits of virtual threads */
	struct flat_part part;
};

/* Waits of virtual threads have a rate of their own. */
#define FLAT_RATE_VIRTUAL FLAT_EVENTS
#define FLAT_RATES	  (FLAT_EVENTS + 1u)

/* Returns where the rate of an event of a walker's processes is. */
static inline uint32_t flat_rate_at(uint32_t event, uint32_t walker)
{
	return event * FLAT_WALKERS + walker;
}

/* A thread that waits for a lock. */
struct flat_wait {
	uint64_t thread; /* the JVM's */
	uint64_t lock;	 /* its monitor, or the object of java.util.concurrent, plus 1 */
	uint64_t class;	 /* of the lock; 0: a monitor's */
	uint64_t begin;	 /* ns */
	uint64_t amount; /* ns that its sample stands for, up to now; 0: none */
	uint64_t holder; /* time of the holder's sample, ^ the lock that it left; 0: none */
};

/* A lock that threads wait for. */
struct flat_lock {
	uint64_t left; /* when a holder left it last */
	uint32_t waiting;
	uint32_t last; /* tid of the thread that began last */
	uint64_t
		counted; /* sum, of those who wait, of the times until when their wait is counted */
};
#define FLAT_WAITS 1024u /* of a container, at once; locks, too */

/* The number of a virtual thread among its process's threads, which no thread of the system has:
 * linux/threads.h, PID_MAX_LIMIT. By its process and that the kernel has the time (ns) from when on
 * it waits, with its frames in the heap. */
#define FLAT_VIRTUAL		   (1u << 30)
#define FLAT_VIRTUAL_TID(id)	   (FLAT_VIRTUAL | ((uint32_t)(id) & (FLAT_VIRTUAL - 1)))
#define FLAT_FROZEN_KEY(tgid, tid) ((uint64_t)(tgid) << 32 | (tid))
#define FLAT_FROZEN_MOST	   65536u /* of a container, at once */

/* Who asked for an operation of the JVM. */
struct flat_asked {
	uint64_t time; /* of its sample */
	uint32_t tid;
	uint32_t pad;
};

/* Says what a thread does: it has a processor, waits for one, or for its control group's next
 * quota, or, from FLAT_WAITS_FROM on, for something else, by the system call. */
enum flat_cause {
	FLAT_RUNNING,
	FLAT_RUNNABLE,	/* since it was woken */
	FLAT_PREEMPTED, /* since another thread has its processor */
	FLAT_THROTTLED,
	FLAT_FUTEX,
	FLAT_SLEEP,
	FLAT_SOCKET,
	FLAT_EPOLL, /* pipes, too */
	FLAT_FILE,
	FLAT_FAULT,
	FLAT_OTHER,
	FLAT_CAUSES,
};
#define FLAT_WAITS_FROM FLAT_FUTEX

/* Waits of a thread that begin at one place, with one stack: in a system call with the same stack
 * pointer and first argument, for the same cause. */
struct flat_place {
	uint64_t key;	 /* 0: none */
	uint64_t stack;	 /* time of its stack */
	uint64_t ns;	 /* that the thread has waited there, not sent yet */
	uint32_t cause;	 /* enum flat_cause */
	uint32_t copied; /* 1: its stack has not been walked */
};
#define FLAT_PLACES 4u /* of a thread; a power of 2 */

/* A thread, for the wall clock. Times are CLOCK_MONOTONIC, ns. What each switch needs comes first:
 * the memory of a thread that is woken is cold. */
struct flat_thread {
	uint64_t since;		  /* its state began; 0: it is just being added */
	uint32_t cause;		  /* enum flat_cause: its state */
	uint32_t place;		  /* of its last wait, 1 more; 0: none */
	uint64_t sent;		  /* its times were sent */
	uint64_t ns[FLAT_CAUSES]; /* not sent yet; waits that have no place */
	uint64_t last;		  /* ns of its last wait, if that is listed; else 0 */
	uint64_t ended;		  /* when that did */
	uint64_t waker;		  /* of the stack of the thread that ended it; 0: none was taken */
	uint32_t tgid, tid, walker;
	uint32_t next; /* place that is given to others next */
	struct flat_place places[FLAT_PLACES];
	uint64_t java; /* the JVM's thread, a JavaThread; 0: not known */
	uint64_t id;   /* that the JVM gives it */
};

/* Stands after the frames of a sample of another event than the processor's time: so many bytes of
 * the name, in whole words. Where the stack was not walked (`copied` is not 0 then) it is whole,
 * and the registers (bpf_user_pt_regs_t) and so many bytes of the stack follow, from its pointer
 * (`sp`) down to a multiple of FLAT_PIECE on. */
struct flat_detail {
	uint64_t amount; /* that the sample stands for: bytes, ns; 0 with FLAT_HOLDER */
	/* Times of earlier samples of the process, with FLAT_HOLDER, 0: none: of the thread that
	 * was waited for, and of the one whose event this is, if that is not the thread itself. */
	uint64_t holder, asker;
	uint64_t part;			  /* of the amount, that was waited for the holder */
	uint64_t operation;		  /* what an object of its class begins with; 0: none */
	uint64_t heap_before, heap_after; /* used bytes, around a collection; both 0: not known */
	uint32_t asker_tid, holder_tid;
	uint32_t copied, flags, name_len;
	uint32_t level; /* of a compilation: 1 to 3 C1, 4 C2 (compiler/compilerDefinitions.hpp) */
	uint32_t place; /* of a wait, in struct flat_thread */
	uint32_t pad;
	char name[FLAT_NAME_MAX]; /* of a class, as the JVM has it: not clean; or a flat_peer */
};

/* Whom a thread talks to that waits for a socket. */
struct flat_peer {
	uint8_t address[16]; /* of IPv4 the first four bytes; all 0: of nobody yet */
	uint16_t family;     /* AF_INET or AF_INET6 (linux/socket.h) */
	uint16_t port;	     /* 0: of nobody yet */
	uint16_t own_port;
	uint16_t pad;
};

/* Code that a JVM has made, or when (CLOCK_MONOTONIC, ns) it begins to unload classes. */
struct flat_made {
	uint64_t start; /* or FLAT_UNLOADS | the time */
	uint32_t tgid;
	uint32_t pad;
};
#define FLAT_UNLOADS (1ull << 63) /* no address of code */

/* A walked stack: `count` frames follow, innermost first, and then `kernel` addresses of the part
 * in the kernel, also innermost first, among which may be marks (PERF_CONTEXT_KERNEL). */
struct flat_sample {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t pc, sp;
	uint32_t tgid, tid;
	uint32_t cpu;
	uint32_t ns;  /* that the walk took */
	uint32_t end; /* enum flat_end */
	uint32_t count;
	uint32_t kernel;
	uint32_t walker;   /* by whose tables */
	uint32_t event;	   /* enum flat_event */
	uint16_t stopping; /* 1: the JVM waits for its threads to stop */
	/* Bytes of the name of the class for whose object a stub selects a method: they stand after
	 * all addresses. 0: there is none, as with other events than FLAT_EVENT_CPU. */
	uint16_t receiver;
	/* The virtual thread that runs on this one, or waits: FLAT_VIRTUAL_TID; 0: none; and bytes
	 * of its name, which follow those of the class's, as whole words together. Of the wall
	 * clock. */
	uint32_t virtual, thread_len;
};

/* Comes for itself, with FLAT_TIMES as the end of the sample, which has no frames: a thread's time
 * since the last one. */
struct flat_times {
	struct flat_sample sample;
	struct flat_thread thread;
};
#define FLAT_TIMES FLAT_ENDS

#define FLAT_WORD  8u
#define FLAT_BELOW 32u	/* bytes that are read below a word, when it is read, */
#define FLAT_ABOVE 984u /* and above it: 1 KiB at once costs less than the waits of four reads */
#define FLAT_WORDS ((FLAT_BELOW + FLAT_WORD + FLAT_ABOVE) / FLAT_WORD) /* a power of two */

/* Registers of the first frame by which the rules of its machine go, too. */
struct flat_registers {
#ifdef FLAT_ARM64
	uint64_t link, x12, x13, x19, x20;
#else
	uint64_t rax, rbx, rcx, rdx, r8, r10, r13;
#endif
};

/* State of a walk. */
struct flat_walk {
	struct flat_process process;
	uint64_t pc, sp, fp;
	struct flat_registers first;
	uint64_t base;	/* the first frame's stack pointer */
	uint64_t entry; /* frame pointer of the last call of Java by the JVM; 0: none yet */
	uint32_t kind;	/* of the current code; 0: native */
	/* Frames of a virtual thread in the heap: the StackChunk that they are in (0: on the
	 * stack), where its frames end; and of the stack where they are mounted (0: nowhere): the
	 * ContinuationEntry, enterSpecial's frame pointer, and the base. */
	uint64_t chunk, chunk_end;
	uint64_t mount, mount_fp, mount_base;
	/* The place in Java code from which the innermost native code was called; if that is in the
	 * wrapper of a native method, also the place from which this was called. 0: not known. */
	uint64_t called, caller;
	bool exact, pushes;  /* as in struct stack_walk */
	bool unread, unsure; /* a check could not be made: the step does not count */
	uint32_t searches;
	uint32_t mapping; /* that was found last */
	/* The number of the code that was found last, before a return address; 0: none. */
	uint32_t number;
	uint64_t number_at;
	uint64_t words_at; /* memory that was read last */
	uint32_t words_len;
	uint64_t words[FLAT_WORDS];
	struct flat_sample sample;
	/* The detail of an event is after them, too. */
	uint64_t frames[FLAT_FRAMES_MAX + FLAT_KERNEL_MAX + sizeof(struct flat_detail) / 8];
};

/* Numbers that the programs count, on each processor. */
enum flat_count {
	FLAT_COUNT_LOST = FLAT_ENDS, /* samples that found the ring full */
	FLAT_COUNT_NS,		     /* first of 32: walks that took [2^i, 2^(i+1)) ns */
	FLAT_COUNTS = FLAT_COUNT_NS + 32,
};

#endif
