// SPDX-License-Identifier: Apache-2.0
/* Case 63. Snapshots that follow each other, and a stack that is unwound with it: what is found
 * lies inside of the input, and every stack ends. The first byte says how the rest is divided. The
 * kernel's tables follow the snapshots as they come, too, and the stack is walked by them. */
#include "common/str.h"
#include "fuzz/filemap.h"
#include "lib/flatwalk.h"
#include "unwind/unwind.h"

/* Fewer, so that an input fills the cache. */
#define ANSWERS_MAX 64
#include "unwind/return_cache.c"

static bool find_native(void *arg, uint64_t addr, struct cfi **ret_cfi, uint64_t *ret_offset)
{
	(void)arg;
	*ret_cfi = NULL;
	*ret_offset = addr;
	return addr % 64 == 1;
}

static void look_in(const struct snapfile_code *c, uint64_t addr)
{
	static volatile char seen; /* so that the reads happen */
	struct snapfile_scope scopes[SNAPFILE_DEPTH];
	size_t n;

	if (addr < c->start || addr >= c->end || c->first >= c->gone)
		abort();
	n = snapfile_scopes(c, addr - c->start, scopes);
	for (size_t i = 0; i < n; i++)
		if (scopes[i].method.name_len)
			seen = scopes[i].method.name[scopes[i].method.name_len - 1];
	if (c->record->name_len)
		seen = c->name[c->record->name_len - 1];
	snapfile_is_return(c, addr - c->start);
	snapfile_exit(c, addr - c->start);
	(void)seen;
}

static void look_at_stub(const struct snapfile_stub *stub, uint64_t addr)
{
	static volatile char seen;

	if (!stub)
		return;
	if (addr < stub->start || addr >= stub->end || !stub->name_len)
		abort();
	seen = stub->name[stub->name_len - 1];
	(void)seen;
}

static void look(const struct snapfile *sf, uint64_t addr, uint64_t time)
{
	struct snapfile_span span = snapfile_around(sf, time);
	const struct snapfile_code *c[SNAPFILE_AROUND];
	uint32_t methods[SNAPFILE_AROUND];
	size_t n = snapfile_find(sf, addr, span, c);

	if (span.last - span.first >= SNAPFILE_AROUND)
		abort();
	for (size_t i = 0; i < n; i++)
		look_in(c[i], addr);
	n = snapfile_find_method(sf, addr, span, methods);
	for (size_t i = 0; i < n; i++)
		if (!snapfile_method(sf, methods[i]).name_len)
			abort();
	look_at_stub(snapfile_stub(sf, addr), addr);
}

/* Adds what has come since *at. */
static void follow(struct flat_tables *t, struct flat_process *p, int fd, uint64_t *at)
{
	struct snapfile *sf = snapfile_new();
	struct err err;
	int read = snapfile_read_ended(sf, fd, at, &err);

	snapfile_finish(sf);
	if (read == 0 && t->count[FLAT_DIR])
		(void)!flat_update_process(t, sf, false, p, &err);
	else if (read == 0)
		(void)!flat_add_process(t, sf, p, &err);
	snapfile_free(sf);
}

/* The file grows from its first quarter on, and loses its end once. */
static void walk_flat(const struct unwind_regs *regs, struct stack_copy *stack, const uint8_t *data,
		      size_t size)
{
	static const uint8_t quarters[] = {1, 2, 4, 3, 4};
	struct flat_tables *t = flat_tables_new();
	struct flat_process p = {0};
	uint64_t at = 0;

	for (size_t i = 0; i < sizeof(quarters); i++)
		follow(t, &p, input_file(1, data, size * quarters[i] / 4), &at);
	flat_add_mapping(t, &p, 0x400000, 0x500000, 0, NULL);
	flat_tables = t;
	flat_walk_from(&p, regs, stack);
	require(flat_made.sample.count <= stack->len / 8 + 2);
	for (uint32_t i = 0; i < flat_made.sample.count; i++)
		require(flat_made.frames[i] >> 60 != FLAT_FRAME_CODE ||
			(flat_made.frames[i] >> 32 & 0xfffffff) < t->count[FLAT_CODES]);
	flat_tables_free(t);
}

/* `rest`: the snapshots. */
static void walk(const struct snapfile *sf, const uint8_t *data, size_t size, const uint8_t *rest,
		 size_t rest_size)
{
	static struct unwind_frame frames[UNWIND_FRAMES_MAX];
	CLEANUP(returns_free) struct returns *returns = returns_new();
	struct unwind_source src = {.code = sf, .returns = returns, .native = find_native};
	struct unwind_regs regs = {.exact = true};
	struct stack_copy stack = {.base = 0x7000};
	CLEANUP(free) uint8_t *copy = NULL;
	size_t n, used = size < sizeof(regs.reg) ? size : sizeof(regs.reg);

	memcpy(regs.reg, data, used);
	regs.known = UNWIND_ALL;
	regs.reg[UNWIND_SP] = stack.base;
	stack.len = size - used;
	copy = xmalloc(stack.len); /* so that a sanitizer sees one byte too many */
	memcpy(copy, data + used, stack.len);
	stack.p = copy;
	for (size_t i = 0; i < UNWIND_REGS; i++)
		look(sf, regs.reg[i], regs.reg[0]);
	src.span = snapfile_around(sf, regs.reg[0]);
	walk_flat(&regs, &stack, rest, rest_size);
	unwind(&src, &regs, &stack, size & 1, frames, &n);
	if (n == 0 || n > UNWIND_FRAMES_MAX || n > size / 8 + 2)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct snapfile *sf = snapfile_new();
	struct err err;
	size_t head;
	int added;

	if (size < 4) {
		snapfile_free(sf);
		return 0;
	}
	/* The first two bytes: how many words of the rest are the registers and the stack. */
	head = (size_t)(data[0] | data[1] << 8) * 8;
	head = head < size - 4 ? head : size - 4;
	added = snapfile_read(sf, input_file(0, data + 4 + head, size - 4 - head), &err);
	if (data[2])
		added += snapfile_read(sf, input_file(0, data + 4 + head, (size - 4 - head) / 2),
				       &err);
	(void)added;
	snapfile_finish(sf);
	walk(sf, data + 4, head, data + 4 + head, size - 4 - head);
	snapfile_free(sf);
	return 0;
}
