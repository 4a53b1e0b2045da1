/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's system calls, without a libc: each returns what the kernel returns (a negative errno
 * on failure) and touches neither errno nor any thread-local variable. */
#ifndef AGENT_SYS_H
#define AGENT_SYS_H

#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
static inline long sys_call6(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/* Atomic exchange; the compiler's built-in may call libgcc on aarch64. */
static inline uint32_t sys_exchange(uint32_t *p, uint32_t value)
{
	__asm__ volatile("xchg %0, %1" : "+r"(value), "+m"(*p) : : "memory");
	return value;
}
#elif defined(__aarch64__)
static inline long sys_call6(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

static inline uint32_t sys_exchange(uint32_t *p, uint32_t value)
{
	uint32_t old, failed;

	__asm__ volatile("1:	ldaxr %w0, [%2]\n"
			 "	stlxr %w1, %w3, [%2]\n"
			 "	cbnz %w1, 1b"
			 : "=&r"(old), "=&r"(failed)
			 : "r"(p), "r"(value)
			 : "memory");
	return old;
}
#else
#error "the agent supports x86_64 and aarch64"
#endif

#define SYS_ARG(x)		 ((long)(x))
#define sys_call0(n)		 sys_call6(n, 0, 0, 0, 0, 0, 0)
#define sys_call1(n, a)		 sys_call6(n, SYS_ARG(a), 0, 0, 0, 0, 0)
#define sys_call2(n, a, b)	 sys_call6(n, SYS_ARG(a), SYS_ARG(b), 0, 0, 0, 0)
#define sys_call3(n, a, b, c)	 sys_call6(n, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), 0, 0, 0)
#define sys_call4(n, a, b, c, d) sys_call6(n, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), 0, 0)

/* The kernel's struct sigaction (asm/signal.h clashes with the libc headers of the tests). */
struct sys_sigaction {
	void *handler;
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* The start of siginfo_t as the kernel fills it for sigqueue(3). */
struct sys_siginfo {
	int signo, error, code, pad;
	int pid;
	unsigned uid;
	union {
		int number;
		void *pointer;
	} value;
};

#define SYS_SIG_QUEUE	  (-1) /* SI_QUEUE */
#define SYS_SIG_BLOCK	  0
#define SYS_SIG_SETMASK	  2
#define SYS_SA_SIGINFO	  0x00000004ul
#define SYS_SA_RESTORER	  0x04000000ul
#define SYS_SA_ONSTACK	  0x08000000ul
#define SYS_SA_RESTART	  0x10000000ul
#define SYS_CLOCK_MONO	  1
#define SYS_CLOCK_CPU	  3 /* CLOCK_THREAD_CPUTIME_ID */
#define SYS_PROT_RW	  3
#define SYS_MAP_ANON	  0x22 /* MAP_PRIVATE | MAP_ANONYMOUS */
#define SYS_MAP_NORESERVE 0x4000
#define SYS_POLLIN	  1

struct sys_pollfd {
	int fd;
	short events, revents;
};

struct sys_iovec {
	void *base;
	size_t len;
};

static inline int sys_openat(int dirfd, const char *path, int flags, unsigned mode)
{
	return (int)sys_call4(__NR_openat, dirfd, path, flags | O_CLOEXEC, mode);
}

static inline int sys_open(const char *path, int flags)
{
	return sys_openat(AT_FDCWD, path, flags, 0);
}

static inline void sys_close(int fd)
{
	sys_call1(__NR_close, fd);
}

static inline long sys_read(int fd, void *buf, size_t len)
{
	return sys_call3(__NR_read, fd, buf, len);
}

static inline long sys_pread(int fd, void *buf, size_t len, uint64_t at)
{
	return sys_call4(__NR_pread64, fd, buf, len, at);
}

static inline long sys_write(int fd, const void *buf, size_t len)
{
	return sys_call3(__NR_write, fd, buf, len);
}

static inline long sys_pwrite(int fd, const void *buf, size_t len, uint64_t at)
{
	return sys_call4(__NR_pwrite64, fd, buf, len, at);
}

/* True if fd is a regular file. */
static inline bool sys_is_file(int fd)
{
	struct stat st;

	return sys_call2(__NR_fstat, fd, &st) == 0 && (st.st_mode & 0170000) == 0100000;
}

static inline void *sys_map(size_t len)
{
	long p = sys_call6(__NR_mmap, 0, SYS_ARG(len), SYS_PROT_RW,
			   SYS_MAP_ANON | SYS_MAP_NORESERVE, -1, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

static inline void sys_unmap(void *p, size_t len)
{
	sys_call2(__NR_munmap, p, len);
}

/* Frees the whole pages of a range; they read as zeros afterwards. */
static inline void sys_discard(void *p, size_t len)
{
	uintptr_t page = 64u << 10; /* the largest in use */
	uintptr_t from = ((uintptr_t)p + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t)p + len) & ~(page - 1);

	if (from < to)
		sys_call3(__NR_madvise, from, to - from, 4); /* MADV_DONTNEED */
}

static inline uint64_t sys_clock_us(long clock)
{
	struct {
		long sec, nsec;
	} now = {0, 0};

	sys_call2(__NR_clock_gettime, clock, &now);
	return (uint64_t)now.sec * 1000000 + (uint64_t)now.nsec / 1000;
}

static inline uint64_t sys_now_us(void)
{
	return sys_clock_us(SYS_CLOCK_MONO);
}

/* CPU time of this thread. */
static inline uint64_t sys_cpu_us(void)
{
	return sys_clock_us(SYS_CLOCK_CPU);
}

/* Starts a thread that no libc knows of, with all signals blocked. It shares the thread-local
 * storage of its creator, so it may run nothing but the agent's code. main_fn must not return.
 * Returns the thread id, or a negative errno. */
int sys_thread_start(void (*main_fn)(void *), void *arg);

/* True if this process has a thread with that id. */
bool sys_thread_exists(int tid);

#endif
