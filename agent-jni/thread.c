// SPDX-License-Identifier: Apache-2.0
#include "agent-jni/thread.h"

#include <linux/sched.h>

#include "agent-jni/sys.h"

#define STACK_BYTES (128u << 10)
#define GUARD_BYTES (64u << 10) /* the largest page size in use */

/* clone(2) with a function for the child: no C function can return on a stack it was not called on.
 * No CLONE_SETTLS, no CLONE_CHILD_CLEARTID: there is no libc to tell. */
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

int thread_start(void (*main_fn)(void *), void *arg)
{
	unsigned long flags =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	uint64_t all = ~0ull, before;
	uint8_t *stack = sys_map(STACK_BYTES + GUARD_BYTES);
	long tid;

	if (!stack)
		return -ENOMEM;
	sys_call3(__NR_mprotect, stack, GUARD_BYTES, 0);
	/* Blocked before it starts: it inherits the mask, and no signal can slip in between. */
	sys_call4(__NR_rt_sigprocmask, SYS_SIG_SETMASK, &all, &before, sizeof(all));
	tid = agent_clone(flags, stack + GUARD_BYTES + STACK_BYTES, main_fn, arg);
	sys_call4(__NR_rt_sigprocmask, SYS_SIG_SETMASK, &before, NULL, sizeof(before));
	if (tid < 0)
		sys_unmap(stack, STACK_BYTES + GUARD_BYTES);
	return (int)tid;
}

int thread_alive(int tid)
{
	return sys_call3(__NR_tgkill, sys_call0(__NR_getpid), tid, 0) == 0;
}
