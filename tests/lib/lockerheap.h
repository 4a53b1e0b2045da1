/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a process that waits for locks (locker.h), in one of several layouts. They are at
 * the same addresses in the process that has started it. */
#ifndef DFG_LIB_LOCKERHEAP_H
#define DFG_LIB_LOCKERHEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel/flat_tables.h"

#define LOCKER_THREADS 20

enum locker_kind {
	LOCKER_PLAIN,
	LOCKER_NARROW,
	LOCKER_HANDLES,
	LOCKER_COMPACT,
	LOCKER_COLOUR_1, /* bits 12 to 15 of a reference of ZGC */
	LOCKER_COLOUR_2,
	LOCKER_COLOUR_4,
	LOCKER_COLOUR_8,
	LOCKER_KINDS,
};

struct locker_object {
	uint64_t mark, class, blocker, eetop, more[4];
};
struct locker_class {
	uint64_t before[3], name, more[4];
};
struct locker_symbol {
	uint16_t before[3], len;
	char body[120];
};
struct locker_monitor {
	uint64_t before[2], object, handle;
};
struct locker_thread {
	uint64_t before[3], object, handle, env[3];
};

#define LOCKER_REF_SHIFT   3
#define LOCKER_CLASS_SHIFT 4
#define LOCKER_CLASSES	   16

/* Java objects: those of threads, then locks. */
static struct locker_object locker_objects[2 * LOCKER_THREADS] __attribute__((aligned(64)));
static struct locker_class locker_classes[LOCKER_CLASSES] __attribute__((aligned(64)));
static struct locker_symbol locker_symbols[LOCKER_CLASSES];
static struct locker_monitor locker_monitors[LOCKER_THREADS] __attribute__((aligned(64)));
static struct locker_thread locker_threads[LOCKER_THREADS] __attribute__((aligned(64)));
static uint64_t locker_handles[LOCKER_THREADS]; /* of threads, as natives are given them */

static const char *const locker_names[LOCKER_CLASSES] = {
	"java/lang/Object",
	"java/util/concurrent/locks/ReentrantLock$NonfairSync",
	"java/util/concurrent/Semaphore$NonfairSync",
	"java/util/concurrent/locks/StampedLock",
	"java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject",
	"java/util/concurrent/locks/AbstractQueuedLongSynchronizer$ConditionObject",
	"java/util/concurrent/CountDownLatch$Sync",
	"java/util/concurrent/SynchronousQueue$TransferStack",
	"com/example/util/concurrent/locks/ReentrantLock$NonfairSync",
	"java/util/concurrent/locks",
	"",
};
#define LOCKER_LOCK_FIRST 1 /* numbers of the names that are locks */
#define LOCKER_LOCK_LAST  3
#define LOCKER_NAME_LAST  10

/* Bases such that no narrow value is 0. */
static uint64_t locker_base(const void *first, uint32_t shift)
{
	return (uint64_t)(uintptr_t)first - (5ull << shift << 4);
}

static struct flat_objects locker_layout(enum locker_kind kind)
{
	const bool narrow = kind == LOCKER_NARROW, compact = kind == LOCKER_COMPACT;
	struct flat_objects o = {.monitor_object = offsetof(struct locker_monitor, object),
				 .thread_object = offsetof(struct locker_thread, object),
				 .park_blocker = offsetof(struct locker_object, blocker),
				 .thread_address = offsetof(struct locker_object, eetop),
				 .class_at = compact ? 0 : offsetof(struct locker_object, class),
				 .ref_bytes = narrow || compact ? 4 : 8,
				 .class_bytes = compact	 ? 0
						: narrow ? 4
							 : 8,
				 .flags = (kind >= LOCKER_HANDLES ? FLAT_HANDLES : 0) |
					  (kind >= LOCKER_COLOUR_1 ? FLAT_COLOURED : 0)};

	if (narrow || compact) {
		o.ref_shift = LOCKER_REF_SHIFT;
		o.ref_base = locker_base(locker_objects, LOCKER_REF_SHIFT);
		o.class_shift = LOCKER_CLASS_SHIFT;
		o.class_base = locker_base(locker_classes, LOCKER_CLASS_SHIFT);
	}
	return o;
}

/* A reference in the JVM's memory, which is never narrow. */
static uint64_t locker_whole(enum locker_kind kind, const void *object)
{
	const uint64_t at = (uint64_t)(uintptr_t)object;

	if (kind < LOCKER_COLOUR_1)
		return at;
#ifdef FLAT_ARM64
	return at << 16 | 0x1000ull << (kind - LOCKER_COLOUR_1);
#else
	return at << (13 + kind - LOCKER_COLOUR_1) | 0x1000ull << (kind - LOCKER_COLOUR_1);
#endif
}

/* A reference in an object. */
static uint64_t locker_reference(enum locker_kind kind, const void *object)
{
	const struct flat_objects o = locker_layout(kind);

	if (o.ref_bytes == 8)
		return locker_whole(kind, object);
	/* What is above it is of another field. */
	return 0xabcdull << 32 | ((uint64_t)(uintptr_t)object - o.ref_base) >> o.ref_shift;
}

static void locker_set_class(enum locker_kind kind, struct locker_object *object,
			     const struct locker_class *class, bool moved)
{
	const struct flat_objects o = locker_layout(kind);
	const uint64_t at = (uint64_t)(uintptr_t) class;

	object->mark = 0x15500 | 1;
	object->class = at;
	if (o.class_bytes == 4)
		object->class = 0x77ull << 32 | (at - o.class_base) >> o.class_shift;
	if (o.class_bytes == 0)
		object->mark |= (at - o.class_base) >> o.class_shift << 42;
	if (moved)
		object->mark |= 3;
}

/* Makes monitors and threads, with objects of this class. `nothing`: threads park for no object. */
static void locker_make(enum locker_kind kind, unsigned class, bool nothing, bool moved,
			unsigned locks)
{
	for (unsigned i = 0; i < LOCKER_CLASSES; i++) {
		const char *name = locker_names[i] ? locker_names[i] : "";

		locker_symbols[i].len = (uint16_t)strlen(name);
		memcpy(locker_symbols[i].body, name, strlen(name));
		locker_classes[i].name = (uint64_t)(uintptr_t)&locker_symbols[i];
	}
	for (unsigned i = 0; i < LOCKER_THREADS; i++) {
		struct locker_object *thread = &locker_objects[i];
		struct locker_object *lock = &locker_objects[LOCKER_THREADS + i];
		struct locker_monitor *m = &locker_monitors[i];
		struct locker_thread *t = &locker_threads[i];
		const bool handles = kind >= LOCKER_HANDLES;

		locker_set_class(kind, lock, &locker_classes[class], moved);
		m->handle = locker_whole(kind, lock);
		m->object = handles ? (uint64_t)(uintptr_t)&m->handle : m->handle;
		t->handle = locker_whole(kind, thread);
		t->object = handles ? (uint64_t)(uintptr_t)&t->handle : t->handle;
		thread->eetop = (uint64_t)(uintptr_t)t;
		lock = &locker_objects[LOCKER_THREADS + i % locks];
		thread->blocker = nothing ? 0 : locker_reference(kind, lock);
		locker_handles[i] = (uint64_t)(uintptr_t)thread;
	}
}

#endif
