/* SPDX-License-Identifier: Apache-2.0 */
/* What the recordings beside this file were made of: a program without libc that spins in functions
 * of known names, renames itself, forks, and executes itself.
 *	gcc -O1 -fno-omit-frame-pointer \
 *	-fcf-protection=none -nostdlib -static -no-pie -o spin spin.c */
#include <stddef.h>

static long sys4(long n, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

static volatile unsigned long sink;
static char buffer[65536];

__attribute__((noinline)) static void spin(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
	/* a leaf would have no frame otherwise */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
}

__attribute__((noinline)) static void before_exec(void)
{
	spin(300000000);
	__asm__ volatile("");
}

__attribute__((noinline)) static void after_exec(void)
{
	spin(300000000);
	__asm__ volatile("");
}

__attribute__((noinline)) static void read_zeros(void)
{
	long fd = sys4(2, (long)"/dev/zero", 0, 0, 0);

	for (int i = 0; i < 30000; i++)
		sys4(0, fd, (long)buffer, sizeof(buffer), 0);
	sys4(3, fd, 0, 0, 0);
}

__attribute__((noinline, noreturn)) static void finish(void)
{
	spin(200000000);
	for (;;)
		sys4(231, 0, 0, 0, 0); /* exit_group */
}

/* The call is the last instruction: its return address is that of the next function. */
__attribute__((noinline, noreturn)) static void last_call(void)
{
	finish();
}

__attribute__((used, noreturn)) void run(long *stack)
{
	char *again[] = {"spin", "again", NULL};

	if (stack[0] > 1) {
		after_exec();
		last_call();
	}
	sys4(157, 15, (long)"the parent", 0, 0); /* prctl PR_SET_NAME */
	if (sys4(57, 0, 0, 0, 0) == 0) {	 /* fork */
		sys4(157, 15, (long)"child", 0, 0);
		before_exec();
		sys4(59, (long)"/proc/self/exe", (long)again, 0, 0); /* execve */
	}
	read_zeros();
	sys4(61, -1, 0, 0, 0); /* wait4 */
	last_call();
}

__asm__(".globl _start\n.type _start, @function\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n"
	"\tand $-16, %rsp\n\tcall run\n\thlt\n.size _start, . - _start\n");
