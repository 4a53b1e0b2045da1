// SPDX-License-Identifier: Apache-2.0
#include "bpf/probe_events.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf_perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/str.h"
#include "unwind/unwind_regs.h"

/* ---- events ------------------------------------------------------------------------------- */

/* Puts registers of the kernel's order into that of perf (UNWIND_PERFMASK). */
static void order_registers(const bpf_user_pt_regs_t *r, uint64_t *ret)
{
#if defined(__x86_64__)
	const uint64_t list[] = {r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi,
				 r->rbp, r->rsp, r->rip, r->r8,	 r->r9,	 r->r10,
				 r->r11, r->r12, r->r13, r->r14, r->r15};

	memcpy(ret, list, sizeof(list));
#else
	memcpy(ret, r->regs, sizeof(r->regs));
	ret[UNWIND_SP] = r->sp;
	ret[UNWIND_PC] = r->pc;
#endif
}

/* The copy begins at a whole piece, below the stack pointer. */
static bool read_copy(const struct flat_sample *s, const struct flat_detail *d, size_t left,
		      struct stack_event *ret)
{
	const uint8_t *regs = (const uint8_t *)(d + 1);
	const size_t below = s->sp % FLAT_PIECE;

	if (left != sizeof(*d) + sizeof(bpf_user_pt_regs_t) + d->copied || d->copied <= below)
		return false;
	order_registers((const void *)regs, ret->regs);
	ret->stack = regs + sizeof(bpf_user_pt_regs_t) + below;
	ret->stack_len = d->copied - below;
	return true;
}

bool stack_event_of(const struct flat_sample *s, const void *detail, size_t left,
		    struct stack_event *ret)
{
	const size_t head = offsetof(struct flat_detail, name);
	const struct flat_detail *d = detail;

	if (left < head || d->name_len > FLAT_NAME_MAX || s->thread_len > FLAT_NAME_MAX ||
	    left < head + d->name_len + s->thread_len)
		return false;
	ret->amount = d->amount;
	ret->holder = d->holder;
	ret->asker = d->asker;
	ret->heap_before = d->heap_before;
	ret->heap_after = d->heap_after;
	ret->part = d->part;
	ret->operation = d->operation;
	ret->asker_tid = d->asker_tid;
	ret->holder_tid = d->holder_tid;
	ret->level = d->level;
	ret->place = d->place;
	ret->flags = d->flags;
	ret->name = d->name;
	ret->name_len = d->name_len;
	ret->thread = d->name + d->name_len;
	ret->thread_len = s->thread_len;
	ret->stack = NULL;
	ret->stack_len = 0;
	return !d->copied || read_copy(s, d, left, ret);
}

/* ---- maps --------------------------------------------------------------------------------- */

int stack_probes_set(const struct bpf_map *map, uint32_t number, int fd, struct err *err)
{
	if (bpf_map__update_elem(map, &number, sizeof(number), &fd, sizeof(fd), BPF_ANY) != 0)
		return err_set(err, errno, "add a walker");
	return 0;
}

int stack_probes_share(struct bpf_map *outer, uint32_t number, int before,
		       const struct stack_probes_map *like, struct err *err)
{
	CLEANUP(close_fd) int fd = -1;

	if (before >= 0)
		fd = fcntl(before, F_DUPFD_CLOEXEC, 0);
	else
		fd = bpf_map_create(like->key ? BPF_MAP_TYPE_HASH : BPF_MAP_TYPE_RINGBUF, NULL,
				    like->key, like->value, like->most, NULL);
	if (fd < 0)
		return err_set(err, errno, "memory for a map of BPF programs");
	return stack_probes_set(outer, number, fd, err) < 0 ? -1 : TAKE_FD(fd);
}

/* ---- probes ------------------------------------------------------------------------------- */

/* Describes many probes to BPF_LINK_CREATE (Linux 6.6, uapi/linux/bpf.h, link_create.uprobe_multi);
 * the headers of Debian 12 lack it. */
struct many_probes {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, counters, cookies;
	uint32_t count, many_flags, pid, pad;
};
#define TRACE_UPROBE_MULTI ((enum bpf_attach_type)48)

struct stack_probes {
	int many; /* a link with all of them; -1: each has its own */
	struct bpf_link *links[FLAT_PROBE_COUNT];
};

/* Returns the descriptor of the link, or -1 with errno. */
static int link_many(int program, const char *path, uint32_t pid, const uint64_t *offsets,
		     const uint64_t *cookies, uint32_t count)
{
	const struct many_probes attr = {.program = (uint32_t)program,
					 .type = TRACE_UPROBE_MULTI,
					 .path = (uintptr_t)path,
					 .offsets = (uintptr_t)offsets,
					 .cookies = (uintptr_t)cookies,
					 .count = count,
					 .pid = pid};

	return (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

/* Tries links that cannot be made, to the root directory. EBADF (it is no file): the kernel has
 * such links. EINVAL for a negative pid: it takes the pid for a process's; before 46ba0e49b642
 * (Linux 6.10) it took it for a thread's, and refused none. */
bool stack_probes_can_join(void)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = TRACE_UPROBE_MULTI);
	CLEANUP(close_fd)
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "Dual BSD/GPL", nothing,
				    ARRAY_LEN(nothing), &o);
	const uint64_t offset = 0;
	CLEANUP(close_fd) int link = -1;

	if (program < 0)
		return false;
	link = link_many(program, "/", 0, &offset, NULL, 1);
	if (link >= 0 || errno != EBADF)
		return false;
	link = link_many(program, "/", UINT32_MAX, &offset, NULL, 1);
	return link < 0 && errno == EINVAL;
}

void stack_probes_join(struct bpf_program *program)
{
	bpf_program__set_expected_attach_type(program, TRACE_UPROBE_MULTI);
}

static bool is_joined(const struct bpf_program *program)
{
	return bpf_program__expected_attach_type(program) == TRACE_UPROBE_MULTI;
}

static bool is_wanted(const struct flat_probes *at, unsigned events, unsigned probe)
{
	return at->offset[probe] && events & 1u << flat_probe_event(probe);
}

/* Returns whether all are opened. */
static bool open_many(const struct bpf_program *program, uint32_t pid, const char *path,
		      const struct flat_probes *at, unsigned events, struct stack_probes *p)
{
	uint64_t offsets[FLAT_PROBE_COUNT], cookies[FLAT_PROBE_COUNT];
	uint32_t n = 0;

	for (unsigned i = 0; i < FLAT_PROBE_COUNT; i++) {
		if (!is_wanted(at, events, i))
			continue;
		offsets[n] = at->offset[i];
		cookies[n++] = flat_cookie(at, i);
	}
	if (n)
		p->many = link_many(bpf_program__fd(program), path, pid, offsets, cookies, n);
	return !n || p->many >= 0;
}

static bool open_each(const struct bpf_program *program, uint32_t pid, const char *path,
		      const struct flat_probes *at, unsigned events, struct stack_probes *p)
{
	for (unsigned i = 0; i < FLAT_PROBE_COUNT; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, o, .bpf_cookie = flat_cookie(at, i));

		if (!is_wanted(at, events, i))
			continue;
		p->links[i] = bpf_program__attach_uprobe_opts(program, (pid_t)pid, path,
							      at->offset[i], &o);
		if (!p->links[i])
			return false;
	}
	return true;
}

int stack_probes_open(const struct bpf_program *program, uint32_t pid, uint64_t start, uint64_t end,
		      const struct flat_probes *at, unsigned events, struct stack_probes **ret,
		      struct err *err)
{
	struct stack_probes *p = xcalloc(1, sizeof(*p));
	char path[96];

	p->many = -1;
	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)start,
		 (unsigned long long)end);
	if (!(is_joined(program) ? open_many : open_each)(program, pid, path, at, events, p)) {
		err_set(err, errno, "probe process %u", pid);
		stack_probes_close(p);
		return -1;
	}
	*ret = p;
	return 0;
}

void stack_probes_close(struct stack_probes *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < FLAT_PROBE_COUNT; i++)
		bpf_link__destroy(p->links[i]);
	cleanup_close_fd(&p->many);
	free(p);
}
