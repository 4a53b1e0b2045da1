/* SPDX-License-Identifier: Apache-2.0 */
/* A process that allocates as a JVM does: it has functions of the names that probes look for, and
 * calls them with a class, a symbol and threads whose fields are at places of no real release. */
#ifndef DFG_LIB_ALLOCATOR_H
#define DFG_LIB_ALLOCATOR_H

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "kernel/flat_tables.h"
#include "lib/servant.h"

#define ALLOCATOR_THREADS 3
#define ALLOCATOR_BUFFER  (32u << 10)  /* bytes of a buffer (TLAB) */
#define ALLOCATOR_OBJECT  1000u	       /* at its beginning */
#define ALLOCATOR_LARGE	  (300u << 10) /* outside of buffers */
#define ALLOCATOR_REGION  (8u << 20)   /* with regions of its own */
#define ALLOCATOR_OBJECTS 20000u       /* that are many */

/* The functions, as a compiler begins them. Their frames can be walked. */
#ifdef __x86_64__
#define ALLOCATOR_BODY                                                                             \
	"endbr64\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n"      \
	"pop %rbp\n.cfi_def_cfa_offset 8\nret\n"
#define ALLOCATOR_SKIPPED 4 /* bytes before the place of the probe */
#else
#define ALLOCATOR_BODY                                                                             \
	"stp x29, x30, [sp, -16]!\n.cfi_def_cfa_offset 16\n.cfi_offset x29, -16\n"                 \
	".cfi_offset x30, -8\nldp x29, x30, [sp], 16\n.cfi_def_cfa_offset 0\nret\n"
#define ALLOCATOR_SKIPPED 0
#endif
#define ALLOCATOR_FUNCTION(name)                                                                   \
	__asm__(".text\n.p2align 4\n.globl " name "\n.type " name ", %function\n" name             \
		":\n.cfi_startproc\n" ALLOCATOR_BODY ".cfi_endproc\n.size " name ", .-" name "\n")

#define ALLOCATOR_TLAB	    "_ZN11AllocTracer27send_allocation_in_new_tlabEfake"
#define ALLOCATOR_OUTSIDE   "_ZN11AllocTracer28send_allocation_outside_tlabEfake"
#define ALLOCATOR_HUMONGOUS "_ZN15G1CollectedHeap22humongous_obj_allocateEfake"
ALLOCATOR_FUNCTION(ALLOCATOR_TLAB);
ALLOCATOR_FUNCTION(ALLOCATOR_OUTSIDE);
ALLOCATOR_FUNCTION(ALLOCATOR_HUMONGOUS);
void allocator_tlab(const void *class, const void *object, size_t buffer, size_t size,
		    const void *thread) __asm__(ALLOCATOR_TLAB);
void allocator_outside(const void *class, const void *object, size_t size,
		       const void *thread) __asm__(ALLOCATOR_OUTSIDE);
void allocator_humongous(const void *heap, size_t words) __asm__(ALLOCATOR_HUMONGOUS);

struct allocator_class {
	uint64_t before[3];
	const void *name;
};
struct allocator_symbol {
	uint16_t before[3], len;
	char body[400];
};
struct allocator_thread {
	uint64_t before[5];
	uint64_t allocated;
	uint64_t between[3];
	uint64_t start, end, top;
};

static const struct flat_layout allocator_layout = {
	.class_name = offsetof(struct allocator_class, name),
	.symbol_length = offsetof(struct allocator_symbol, len),
	.symbol_body = offsetof(struct allocator_symbol, body),
	.allocated = offsetof(struct allocator_thread, allocated),
	.tlab_start = offsetof(struct allocator_thread, start),
	.tlab_top = offsetof(struct allocator_thread, top),
};

/* Memory that both processes see. */
struct allocator_shared {
	uint32_t tid[ALLOCATOR_THREADS]; /* of the last order */
	uint64_t bytes[ALLOCATOR_THREADS];
};

/* An order: all threads, but for the second and the third with buffers; the first with
 * objects, many (also larger than memory) or a few, with regions of their own, or of classes that
 * are none; or a process that it forks. */
enum allocator_order {
	ALLOCATOR_ALL = 'a',
	ALLOCATOR_MANY = 'm',
	ALLOCATOR_HUGE = 'h',
	ALLOCATOR_REGIONS = 'r',
	ALLOCATOR_FORGED = 'f',
	ALLOCATOR_FORK = 'k',
};

struct allocator {
	pid_t pid;
	int sock;
	struct allocator_shared *shared;
};

/* A name that fits no event. */
#define ALLOCATOR_LONG 300

static struct allocator_symbol allocator_symbols[ALLOCATOR_THREADS] = {
	{.len = 16, .body = "java/lang/String"},
	{.len = 2, .body = "[Bytes"},
	{.len = ALLOCATOR_LONG}};
static struct allocator_class allocator_classes[ALLOCATOR_THREADS] = {
	{.name = &allocator_symbols[0]},
	{.name = &allocator_symbols[1]},
	{.name = &allocator_symbols[2]}};
static struct allocator_thread allocator_threads[ALLOCATOR_THREADS];
static struct allocator_shared *allocator_said;
static enum allocator_order allocator_now;

/* Allocates an object that is in no buffer. */
static void allocator_object(unsigned n, const void *class, size_t size)
{
	allocator_threads[n].allocated += size;
	allocator_outside(class, NULL, size, &allocator_threads[n]);
	allocator_said->bytes[n] += size;
}

/* Fills the buffer, and begins the next one with an object. */
static void allocator_refill(unsigned n, const void *class)
{
	struct allocator_thread *t = &allocator_threads[n];

	if (t->start) {
		allocator_said->bytes[n] += ALLOCATOR_BUFFER - (t->top - t->start);
		t->allocated += ALLOCATOR_BUFFER;
	}
	t->start = 0x700000000 + (t->allocated << 8);
	t->top = t->start + ALLOCATOR_OBJECT;
	t->end = t->start + ALLOCATOR_BUFFER;
	allocator_said->bytes[n] += ALLOCATOR_OBJECT;
	allocator_tlab(class, (const void *)t->start, ALLOCATOR_BUFFER, ALLOCATOR_OBJECT, t);
}

static void *allocator_run(void *arg)
{
	const unsigned n = (unsigned)(uintptr_t)arg;

	allocator_said->tid[n] = (uint32_t)gettid();
	for (unsigned i = 0; i < 64; i++) {
		if (n == 0 || i % 16 == 5)
			allocator_object(n, &allocator_classes[n], ALLOCATOR_LARGE / (n ? 1 : 8));
		else
			allocator_refill(n, &allocator_classes[n]);
	}
	return NULL;
}

static void allocator_all(void)
{
	pthread_t threads[ALLOCATOR_THREADS];

	memset(allocator_threads, 0, sizeof(allocator_threads));
	for (unsigned i = 1; i < ALLOCATOR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, allocator_run, (void *)(uintptr_t)i) != 0)
			abort();
	allocator_run(NULL);
	for (unsigned i = 1; i < ALLOCATOR_THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Has a process of its own allocate. */
static void allocator_fork(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		for (unsigned i = 0; i < 8; i++)
			allocator_object(0, &allocator_classes[0], ALLOCATOR_REGION);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		abort();
}

static void allocator_obey(void)
{
	const enum allocator_order order = allocator_now;
	static struct allocator_class bad = {.name = (const void *)0xdead00000000beef};
	static struct allocator_class low = {.name = (const void *)8};
	const void *forged[] = {NULL, (const void *)8, (const void *)0xffffffff81000000, &bad,
				&low};

	memset(allocator_said, 0, sizeof(*allocator_said));
	allocator_said->tid[0] = (uint32_t)gettid();
	if (order == ALLOCATOR_ALL)
		allocator_all();
	if (order == ALLOCATOR_FORK)
		allocator_fork();
	for (unsigned i = 0; order == ALLOCATOR_MANY && i < ALLOCATOR_OBJECTS; i++)
		allocator_object(0, &allocator_classes[0], 128u << 10);
	for (unsigned i = 0; order == ALLOCATOR_HUGE && i < ALLOCATOR_OBJECTS; i++)
		allocator_object(0, &allocator_classes[0], 1ull << 40);
	for (unsigned i = 0; order == ALLOCATOR_REGIONS && i < 8; i++) {
		if (i % 2)
			allocator_humongous(NULL, ALLOCATOR_REGION / 8);
		allocator_object(0, &allocator_classes[i % 2], ALLOCATOR_REGION);
	}
	for (unsigned i = 0; order == ALLOCATOR_FORGED && i < sizeof(forged) / sizeof(*forged); i++)
		allocator_object(0, forged[i], ALLOCATOR_REGION);
}

static struct allocator allocator_start(void)
{
	struct allocator a = {.shared = servant_memory(sizeof(*a.shared))};

	allocator_said = a.shared;
	memset(allocator_symbols[2].body, 'n', ALLOCATOR_LONG);
	a.pid = servant_start(&allocator_now, sizeof(allocator_now), allocator_obey, &a.sock);
	return a;
}

/* Returns when it is done. */
static void allocator_do(const struct allocator *a, enum allocator_order order)
{
	servant_do(a->sock, &order, sizeof(order));
}

static void allocator_end(const struct allocator *a)
{
	servant_end(a->pid, a->sock);
	munmap(a->shared, sizeof(*a->shared));
}

#endif
