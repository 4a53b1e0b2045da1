// SPDX-License-Identifier: Apache-2.0
/* The four functions a compiler may call on its own, and a thread without a libc. */
#include "agent-jni/sys.h"

#include <linux/sched.h>

#define STACK_BYTES (128u << 10)
#define GUARD_BYTES (64u << 10) /* the largest page size in use */

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

/* Keeps the compiler from turning a loop into a call of the function that contains it. */
#define BARRIER() __asm__ volatile("" ::: "memory")

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
#if defined(__x86_64__)
	void *ret = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return ret;
#else
	uint8_t *t = to;
	const uint8_t *f = from;

	for (; n > 0; n--) {
		*t++ = *f++;
		BARRIER();
	}
	return to;
#endif
}

void *memmove(void *to, const void *from, size_t n)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	if ((uintptr_t)to - (uintptr_t)from >= n)
		return memcpy(to, from, n);
	while (n-- > 0) {
		t[n] = f[n];
		BARRIER();
	}
	return to;
}

void *memset(void *to, int c, size_t n)
{
#if defined(__x86_64__)
	void *ret = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
	return ret;
#else
	uint8_t *t = to;

	for (; n > 0; n--) {
		*t++ = (uint8_t)c;
		BARRIER();
	}
	return to;
#endif
}

int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	for (; n > 0; n--, x++, y++) {
		if (*x != *y)
			return *x - *y;
		BARRIER();
	}
	return 0;
}

/* clone(2) that calls fn in the child: a C function cannot return on a stack it was not called on.
 * Without CLONE_SETTLS and CLONE_CHILD_CLEARTID, since no libc knows of the thread. */
long agent_clone(unsigned long flags, void *stack_top, void (*fn)(void *), void *arg);

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".hidden agent_clone\n"
	".globl agent_clone\n"
	".type agent_clone, @function\n"
	"agent_clone:\n"
	"	mov %rdx, %r9\n"
	"	mov %rcx, %r8\n"
	"	xor %edx, %edx\n"
	"	xor %r10d, %r10d\n"
	"	mov $56, %eax\n"
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jnz 1f\n"
	"	xor %ebp, %ebp\n"
	"	mov %r8, %rdi\n"
	"	call *%r9\n"
	"	ud2\n"
	"1:	ret\n"
	".size agent_clone, .-agent_clone\n"
	".popsection\n");
#else
__asm__(".pushsection .text\n"
	".hidden agent_clone\n"
	".globl agent_clone\n"
	".type agent_clone, %function\n"
	"agent_clone:\n"
	"	mov x9, x2\n"
	"	mov x10, x3\n"
	"	mov x2, xzr\n"
	"	mov x3, xzr\n"
	"	mov x4, xzr\n"
	"	mov x8, #220\n"
	"	svc #0\n"
	"	cbnz x0, 1f\n"
	"	mov x29, xzr\n"
	"	mov x0, x10\n"
	"	blr x9\n"
	"	brk #1\n"
	"1:	ret\n"
	".size agent_clone, .-agent_clone\n"
	".popsection\n");
#endif

int sys_thread_start(void (*main_fn)(void *), void *arg)
{
	unsigned long flags =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	uint64_t all = ~0ull, before;
	uint8_t *stack = sys_map(STACK_BYTES + GUARD_BYTES);
	long tid;

	if (!stack)
		return -ENOMEM;
	sys_call3(__NR_mprotect, stack, GUARD_BYTES, 0);
	/* The thread inherits the mask: it never runs with a signal unblocked. */
	sys_call4(__NR_rt_sigprocmask, SYS_SIG_SETMASK, &all, &before, sizeof(all));
	tid = agent_clone(flags, stack + GUARD_BYTES + STACK_BYTES, main_fn, arg);
	sys_call4(__NR_rt_sigprocmask, SYS_SIG_SETMASK, &before, NULL, sizeof(before));
	if (tid < 0)
		sys_unmap(stack, STACK_BYTES + GUARD_BYTES);
	return (int)tid;
}

bool sys_thread_exists(int tid)
{
	return sys_call3(__NR_tgkill, sys_call0(__NR_getpid), tid, 0) == 0;
}
