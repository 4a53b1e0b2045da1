/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tells what a thread waits for, by its system call, its files, and its state: struct flat_peer and
 * enum flat_cause of flat_tables.h. */
#ifndef DFG_KERNEL_CAUSE_BPF_H
#define DFG_KERNEL_CAUSE_BPF_H

#include "kernel/walk_state.h"

#include <bpf/bpf_core_read.h>

/* The parts of the kernel's structs that are used here. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct inode {
	unsigned short i_mode;
};
struct in6_addr {
	uint8_t bytes[16];
};
struct sock_common {
	uint32_t skc_daddr;
	uint16_t skc_dport; /* as in the network */
	uint16_t skc_num;
	uint16_t skc_family;
	struct in6_addr skc_v6_daddr;
};
struct sock {
	struct sock_common __sk_common;
};
struct socket {
	struct sock *sk;
};
struct file {
	struct inode *f_inode;
	void *private_data;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};
struct cfs_rq {
	int throttle_count; /* CONFIG_CFS_BANDWIDTH */
};
struct sched_entity {
	struct cfs_rq *cfs_rq;
};
struct task_struct___wall {
	int pid;
	unsigned int __state;
	struct files_struct *files;
	struct sched_entity se;
	bool throttled; /* Linux 6.18: tasks are throttled one by one */
};
#pragma clang attribute pop

#define INTERRUPTIBLE	1u	 /* linux/sched.h, TASK_INTERRUPTIBLE */
#define UNINTERRUPTIBLE 2u	 /* linux/sched.h, TASK_UNINTERRUPTIBLE */
#define DEAD		0x80u	 /* TASK_DEAD */
#define MODE_TYPE	0170000u /* linux/stat.h, S_IFMT, and types */
#define MODE_FIFO	0010000u
#define MODE_BLOCK	0060000u
#define MODE_REGULAR	0100000u
#define MODE_SOCKET	0140000u

/* An open file of a task; NULL: there is none of this number. */
static inline struct file *find_file(const struct task_struct___wall *task, uint64_t number)
{
	const struct fdtable *table = task->files->fdt;
	struct file **files = table->fd, *file = NULL;

	if (number >= table->max_fds ||
	    bpf_core_read(&file, sizeof(file), &files[number & 0xffffff]))
		return NULL;
	return file;
}

static inline uint32_t type_of(const struct file *file)
{
	return BPF_CORE_READ(file, f_inode, i_mode) & MODE_TYPE;
}

static inline enum flat_cause cause_of_file(const struct task_struct___wall *task, uint64_t number)
{
	switch (type_of(find_file(task, number))) {
	case MODE_SOCKET:
		return FLAT_SOCKET;
	case MODE_FIFO:
		return FLAT_EPOLL;
	case MODE_REGULAR:
	case MODE_BLOCK:
		return FLAT_FILE;
	}
	return FLAT_OTHER;
}

/* System calls that threads wait in (asm/unistd_64.h; asm-generic/unistd.h), and what of: an enum
 * flat_cause, BY_FILE of their first argument, BY_POLLED of their only file. */
enum { BY_FILE = FLAT_CAUSES, BY_POLLED };

static inline unsigned cause_of_call(long call)
{
	switch (call) {
#ifdef FLAT_ARM64
	case 98:
	case 449:
		return FLAT_FUTEX;
	case 101:
	case 115:
		return FLAT_SLEEP;
	case 202 ... 203:
	case 206 ... 207:
	case 211 ... 212:
	case 242 ... 243:
	case 269:
		return FLAT_SOCKET;
	case 22:
	case 72:
	case 441:
		return FLAT_EPOLL;
	case 73:
		return BY_POLLED;
	case 63 ... 70:
		return BY_FILE;
	case 82 ... 84:
		return FLAT_FILE;
#else
	case 202: /* futex, futex_waitv */
	case 449:
		return FLAT_FUTEX;
	case 35: /* nanosleep, clock_nanosleep */
	case 230:
		return FLAT_SLEEP;
	case 42 ... 47: /* connect to recvmsg, accept4, recvmmsg, sendmmsg */
	case 288:
	case 299:
	case 307:
		return FLAT_SOCKET;
	case 23: /* select, epoll_wait, pselect6, epoll_pwait, epoll_pwait2 */
	case 232:
	case 270:
	case 281:
	case 441:
		return FLAT_EPOLL;
	case 7: /* poll, ppoll */
	case 271:
		return BY_POLLED;
	case 0 ... 1: /* read and write, pread64 to writev, preadv, pwritev */
	case 17 ... 20:
	case 295 ... 296:
		return BY_FILE;
	case 74 ... 75: /* fsync, fdatasync, sync_file_range */
	case 277:
		return FLAT_FILE;
#endif
	}
	return FLAT_OTHER;
}

/* A system call that a thread is in. */
struct system_call {
	uint64_t arguments[2], sp;
	uint64_t pc;  /* on arm64 */
	long number;  /* negative: in none */
	int32_t file; /* the only one that it polls; -1: none */
	uint32_t pad;
};

/* Reads it from the registers with which the thread has come into the kernel. */
static inline bool read_call(const bpf_user_pt_regs_t *r, struct system_call *ret)
{
	ret->file = -1;
#ifdef FLAT_ARM64
	const uint8_t *from = (const void *)r;

	/* asm/ptrace.h, struct pt_regs: after those of user space and orig_x0. */
	int32_t number = -1;

	(void)bpf_probe_read_kernel(&number, sizeof(number),
				    from + sizeof(bpf_user_pt_regs_t) + sizeof(uint64_t));
	ret->number = number;
	(void)bpf_probe_read_kernel(&ret->sp, sizeof(ret->sp),
				    from + offsetof(bpf_user_pt_regs_t, sp));
	(void)bpf_probe_read_kernel(&ret->pc, sizeof(ret->pc),
				    from + offsetof(bpf_user_pt_regs_t, pc));
	return bpf_probe_read_kernel(ret->arguments, sizeof(ret->arguments), from) == 0;
#else
	ret->sp = r->rsp;
	ret->number = (long)r->orig_rax;
	ret->arguments[0] = r->rdi;
	ret->arguments[1] = r->rsi;
	return true;
#endif
}

#ifdef FLAT_ARM64
#define INSTRUCTION 4u /* bytes */

/* Tells a call from what else enters the kernel, which has the number of the last call, too: the
 * instruction svc 0 is before the program counter. */
static inline void check_call(struct system_call *c, uint32_t instruction)
{
	if (instruction != 0xd4000001)
		c->number = -1;
}
#endif

static inline bool polls_one(const struct system_call *c)
{
	return c->number >= 0 && cause_of_call(c->number) == BY_POLLED && c->arguments[1] == 1;
}

/* Tells what a task waits for in a call. Inlined: where it is called, it reads a wrong c->number
 * on Linux 6.1 of arm64. */
static inline __attribute__((always_inline)) enum flat_cause cause_of(
	const struct task_struct___wall *task, const struct system_call *c)
{
	const bool disk = task->__state & UNINTERRUPTIBLE;
	unsigned cause;

	if (c->number < 0)
		return task->__state & (INTERRUPTIBLE | UNINTERRUPTIBLE) ? FLAT_FAULT : FLAT_OTHER;
	cause = cause_of_call(c->number);
	if (cause == BY_POLLED)
		return c->file >= 0 && cause_of_file(task, (uint32_t)c->file) == FLAT_SOCKET
			       ? FLAT_SOCKET
			       : FLAT_EPOLL;
	if (cause == BY_FILE)
		cause = cause_of_file(task, c->arguments[0]);
	return cause == FLAT_OTHER && disk ? FLAT_FILE : (enum flat_cause)cause;
}

/* Tells what the current thread begins to wait for, in which call. */
static inline enum flat_cause cause_of_wait(const struct task_struct___wall *task,
					    struct system_call *c)
{
	if (!read_call((const void *)bpf_task_pt_regs(bpf_get_current_task_btf()), c))
		return FLAT_OTHER;
#ifdef FLAT_ARM64
	uint32_t instruction;

	if (bpf_probe_read_user(&instruction, sizeof(instruction),
				(const void *)(c->pc - INSTRUCTION)) == 0)
		check_call(c, instruction);
#endif
	if (polls_one(c) &&
	    bpf_probe_read_user(&c->file, sizeof(c->file), (const void *)c->arguments[0]))
		c->file = -1;
	return cause_of(task, c);
}

#define AF_INET	 2 /* linux/socket.h */
#define AF_INET6 10

/* Takes whom the socket is connected to that a call waits for. */
static inline void take_peer(const struct task_struct___wall *task, const struct system_call *c,
			     struct flat_detail *d)
{
	struct flat_peer *peer = (struct flat_peer *)d->name;
	const struct file *file =
		find_file(task, c->file >= 0 ? (uint32_t)c->file : c->arguments[0]);
	const struct socket *socket;
	const struct sock *sock;

	if (!file || type_of(file) != MODE_SOCKET)
		return;
	socket = BPF_CORE_READ(file, private_data);
	sock = BPF_CORE_READ(socket, sk);
	__builtin_memset(peer, 0, sizeof(*peer));
	peer->family = BPF_CORE_READ(sock, __sk_common.skc_family);
	peer->port = __builtin_bswap16(BPF_CORE_READ(sock, __sk_common.skc_dport));
	peer->own_port = BPF_CORE_READ(sock, __sk_common.skc_num);
	if (peer->family == AF_INET)
		bpf_core_read(peer->address, 4, &sock->__sk_common.skc_daddr);
	else if (peer->family == AF_INET6)
		bpf_core_read(peer->address, 16, &sock->__sk_common.skc_v6_daddr);
	else
		return;
	d->name_len = sizeof(*peer);
	d->flags |= FLAT_PEER;
}

/* True if the quota of its control group keeps a task from running. */
static inline bool is_throttled(const struct task_struct___wall *task)
{
	if (bpf_core_field_exists(((struct task_struct___wall *)0)->throttled))
		return BPF_CORE_READ(task, throttled);
	if (bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count))
		return BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
	return false;
}

#endif
