/* SPDX-License-Identifier: Apache-2.0 */
/* A process that stops its threads as a JVM does: it has functions of the names that probes look
 * for, and calls them as an order says, letter by letter. */
#ifndef DFG_LIB_STOPPER_H
#define DFG_LIB_STOPPER_H

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/sdtnote.h"
#include "lib/servant.h"

/* The functions, as a compiler begins them; they may call one. Their frames can be walked. */
#ifdef __x86_64__
#define STOPPER_BEGIN                                                                              \
	"endbr64\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n"
#define STOPPER_CALL(name) "call " name "\n"
#define STOPPER_END	   "pop %rbp\n.cfi_def_cfa_offset 8\nret\n"
#else
#define STOPPER_BEGIN                                                                              \
	"stp x29, x30, [sp, -16]!\n.cfi_def_cfa_offset 16\n.cfi_offset x29, -16\n"                 \
	".cfi_offset x30, -8\nmov x29, sp\n"
#define STOPPER_CALL(name) "bl " name "\n"
#define STOPPER_END	   "ldp x29, x30, [sp], 16\n.cfi_def_cfa_offset 0\nret\n"
#endif
#define STOPPER_FUNCTION(name, call)                                                               \
	__asm__(".text\n.p2align 4\n.globl " name "\n.type " name ", %function\n" name             \
		":\n.cfi_startproc\n" STOPPER_BEGIN call STOPPER_END ".cfi_endproc\n.size " name   \
		", .-" name "\n")

/* Notes of which what is used is the sixth argument of the function, or the ninth, on the stack. */
#ifdef __x86_64__
#define STOPPER_SIXTH "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9 8@%rdi 8@%rdi"
#define STOPPER_NINTH "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@32(%rbp) 8@%rdi 8@%rdi"
#else
#define STOPPER_SIXTH "8@x0 8@x1 8@x2 8@x3 8@x4 8@x5 8@x0 8@x0"
#define STOPPER_NINTH "8@x0 8@x1 8@x2 8@x3 8@x4 8@[x29, 16] 8@x0 8@x0"
#endif

#define STOPPER_THREADS "_ZN20SafepointSynchronize19synchronize_threadsEfake"
STOPPER_FUNCTION("_ZN8VMThread7executeEfake", "");
STOPPER_FUNCTION("_ZN20SafepointSynchronize5blockEfake", "");
STOPPER_FUNCTION("_ZN12VM_Operation8evaluateEfake", "");
STOPPER_FUNCTION("_ZN16SafepointTracing3endEfake", "");
STOPPER_FUNCTION(STOPPER_THREADS, STOPPER_CALL("stopper_wait"));
STOPPER_FUNCTION("_ZN20SafepointSynchronize5beginEfake", STOPPER_CALL(STOPPER_THREADS));
STOPPER_FUNCTION("stopper_pool_before", SDT_NOTE("mem__pool__gc__begin", STOPPER_SIXTH));
STOPPER_FUNCTION("stopper_pool_after", SDT_NOTE("mem__pool__gc__end", STOPPER_NINTH));
void stopper_pool_before(const char *manager, uint64_t len, const char *pool, uint64_t pool_len,
			 uint64_t begin, uint64_t used);
void stopper_pool_after(const char *manager, uint64_t len, const char *pool, uint64_t pool_len,
			uint64_t begin, uint64_t other, uint64_t third, uint64_t fourth,
			uint64_t used);
void stopper_execute(const void *operation) __asm__("_ZN8VMThread7executeEfake");
void stopper_block(const void *thread) __asm__("_ZN20SafepointSynchronize5blockEfake");
void stopper_evaluate(const void *operation) __asm__("_ZN12VM_Operation8evaluateEfake");
void stopper_end(void) __asm__("_ZN16SafepointTracing3endEfake");
void stopper_begin(void) __asm__("_ZN20SafepointSynchronize5beginEfake");
void stopper_wait(void);

#define STOPPER_ORDER 40  /* letters */
#define STOPPER_MANY  400 /* operations that are many */

/* The words that objects of the operations' classes begin with. */
#define STOPPER_CLASS(n) (0x555500001000u + 0x100u * (n))

/* Memory that both processes see: of the last order. */
struct stopper_shared {
	uint32_t asker[2], late, self;
	/* Before the begin, after it, all have stopped, and later; before the end, and after it. */
	uint64_t time[6];
	uint64_t asked; /* before a thread asks, of the first operation */
};

/* An order: `a` and `A`, a thread of its own asks for an operation, the first or the second one;
 * `q`, for many; `e` and `E`, they run; `n` and `x`, one runs that is nowhere; `(` a safepoint
 * begins, and waits for what is up to `)`; `l`, a thread arrives; `g`, garbage is
 * collected; `p`, pools have STOPPER_HEAP bytes and as many more as `p` and `P` there were, `P`,
 * after a collection; `m`, the first of them only, before; `.`, 2 ms; `$`, it ends. */
struct stopper {
	pid_t pid;
	int sock;
	struct stopper_shared *shared;
};

/* The process says here how often, and why, it has collected garbage. */
static uint32_t stopper_collections;
static char stopper_cause[80] = "No GC";

static struct stopper_shared *stopper_said;
static char stopper_letters[STOPPER_ORDER];
static const char *stopper_order; /* the rest of them */
static const struct {
	uint64_t class, other;
} stopper_operations[2] = {{STOPPER_CLASS(0), 7}, {STOPPER_CLASS(1), 7}};

#define STOPPER_HEAP 1500u

static unsigned stopper_told; /* how often pools were */

/* Tells pools, in the JVM's order: of these the code's is not of the heap. */
static void stopper_tell(bool after, unsigned pools)
{
	static const char *const names[] = {"CodeHeap 'profiled nmethods'", "G1 Eden Space",
					    "Metaspace", "Compressed Class Space", "CMS Old Gen"};
	const uint64_t used[] = {70000, 1000 + ++stopper_told, 80000, 90000, STOPPER_HEAP - 1000};

	for (unsigned i = 0; i < pools; i++)
		if (after)
			stopper_pool_after("G1", 2, names[i], strlen(names[i]), 1, 2, 3, 4,
					   used[i]);
		else
			stopper_pool_before("G1", 2, names[i], strlen(names[i]), 1, used[i]);
}

static uint64_t stopper_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *stopper_ask(void *arg)
{
	const unsigned n = (unsigned)(uintptr_t)arg;

	stopper_said->asker[n] = (uint32_t)gettid();
	stopper_execute(&stopper_operations[n]);
	return NULL;
}

static void *stopper_arrive(void *arg)
{
	stopper_said->late = (uint32_t)gettid();
	stopper_block(arg);
	return NULL;
}

static void stopper_thread(void *(*run)(void *), unsigned n)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, (void *)(uintptr_t)n) != 0)
		abort();
	pthread_join(thread, NULL);
}

/* Obeys up to `)` or the end. */
static void stopper_obey(void)
{
	const struct timespec ms = {.tv_nsec = 2000000};
	uint64_t *time = stopper_said->time;

	for (; *stopper_order && *stopper_order != ')'; stopper_order++)
		switch (*stopper_order) {
		case 'a':
			stopper_said->asked = stopper_ns();
			stopper_thread(stopper_ask, 0);
			break;
		case 'A':
			stopper_thread(stopper_ask, 1);
			break;
		case 'g':
			stopper_collections++;
			strcpy(stopper_cause, "G1 Evacuation Pause");
			break;
		case 'p':
		case 'P':
			stopper_tell(*stopper_order == 'P', 5);
			break;
		case 'm':
			stopper_tell(false, 1);
			break;
		case 'q':
			for (unsigned i = 0; i < STOPPER_MANY; i++)
				stopper_execute(&stopper_operations[0]);
			break;
		case 'e':
		case 'E':
			stopper_evaluate(&stopper_operations[*stopper_order == 'E']);
			break;
		case 'n':
		case 'x':
			stopper_evaluate((void *)(*stopper_order == 'n' ? 0 : 0xdead00000000beef));
			break;
		case '(':
			time[0] = stopper_ns();
			stopper_order++;
			stopper_begin();
			time[3] = stopper_ns();
			break;
		case 'l':
			stopper_thread(stopper_arrive, 0);
			break;
		case '.':
			nanosleep(&ms, NULL);
			break;
		case '$':
			time[4] = stopper_ns();
			stopper_end();
			time[5] = stopper_ns();
			break;
		default:
			abort();
		}
}

/* Goes on while threads stop. */
void stopper_wait(void)
{
	stopper_said->time[1] = stopper_ns();
	stopper_obey();
	stopper_said->time[2] = stopper_ns();
}

/* Carries out an order. */
static void stopper_carry_out(void)
{
	memset(stopper_said, 0, sizeof(*stopper_said));
	stopper_said->self = (uint32_t)gettid();
	stopper_order = stopper_letters;
	stopper_told = 0;
	stopper_obey();
}

static struct stopper stopper_start(void)
{
	struct stopper s = {.shared = servant_memory(sizeof(*s.shared))};

	stopper_said = s.shared;
	s.pid = servant_start(stopper_letters, sizeof(stopper_letters), stopper_carry_out, &s.sock);
	return s;
}

/* Returns when it is done. */
static void stopper_do(const struct stopper *s, const char *order)
{
	char all[STOPPER_ORDER] = "";

	memccpy(all, order, 0, sizeof(all) - 1);
	servant_do(s->sock, all, sizeof(all));
}

static void stopper_stop(const struct stopper *s)
{
	servant_end(s->pid, s->sock);
	munmap(s->shared, sizeof(*s->shared));
}

#endif
