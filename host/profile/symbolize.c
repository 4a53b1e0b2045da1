// SPDX-License-Identifier: Apache-2.0
#include "symbolize.h"

#include "codemaps.h"
#include "dfg/str.h"
#include "elffiles.h"
#include "symname.h"

/* An address in a code of a snapshot, whenever that is there, or one of a process's generation. */
struct question {
	uint64_t addr;
	const struct snapfile_code *code; /* NULL: the generation's */
	uint32_t generation;
};

/* Open addressing; an answer once given holds. */
struct answer {
	struct question question;
	uint32_t first, count; /* frames of the pool; count 0: empty */
};

#define NATIVES	     64u
#define NATIVE_BYTES (1u << 20) /* as many addresses have the same place among them */

/* An executable mapping that was looked for, with what native unwinding needs to know of it. */
struct native {
	uint64_t start, len, pgoff;
	struct cfi *cfi;     /* NULL: none */
	uint32_t generation; /* of the process; 0: free */
};

struct symbolizer {
	const struct space *space;
	struct stacks *stacks;
	struct kernsym *kernel;
	struct elffiles *files;
	struct codemaps *codes;
	struct answer *answers;
	size_t answer_count, answer_mask;
	uint32_t *pool;
	size_t pool_count, pool_cap;
	struct native natives[NATIVES]; /* by address */
	struct str name;
};

struct symbolizer *symbolizer_new(const struct profile_input *in, const struct perfdata *pd,
				  const struct space *space, struct stacks *stacks)
{
	struct symbolizer *sy = xcalloc(1, sizeof(*sy));
	struct err ignored;

	sy->space = space;
	sy->stacks = stacks;
	sy->answer_mask = (1u << 14) - 1;
	sy->answers = xcalloc(sy->answer_mask + 1, sizeof(*sy->answers));
	if (in->kallsyms_fd >= 0)
		sy->kernel = kernsym_open(in->kallsyms_fd, &ignored);
	if (!sy->kernel)
		sy->kernel = kernsym_of(NULL, 0);
	sy->files = elffiles_new(in, pd, space, stacks);
	sy->codes = codemaps_new(in, stacks);
	return sy;
}

void symbolizer_free(struct symbolizer *sy)
{
	if (!sy)
		return;
	elffiles_free(sy->files);
	codemaps_free(sy->codes);
	kernsym_close(sy->kernel);
	free(sy->answers);
	free(sy->pool);
	str_fini(&sy->name);
	free(sy);
}

uint32_t symbolizer_code(const struct symbolizer *sy, pid_t pid)
{
	return codemaps_number(sy->codes, pid);
}

static uint32_t intern(struct symbolizer *sy, enum frame_kind kind)
{
	uint32_t frame = stacks_intern(sy->stacks, sy->name.buf, sy->name.len, kind);

	str_clear(&sy->name);
	return frame;
}

static uint32_t intern_text(struct symbolizer *sy, const char *text)
{
	return stacks_intern(sy->stacks, text, strlen(text), FRAME_UNKNOWN);
}

/* Memory without a file, by the names the kernel and perf give it. A map is believed only here, so
 * that a forged one cannot rename what a file holds. */
static bool is_anonymous(const char *path)
{
	static const char *const starts[] = {
		"//anon", "[anon:", "/memfd:", "/anon_hugepage", "/dev/zero", "/SYSV"};

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (has_prefix(path, starts[i]))
			return true;
	return !*path;
}

static struct answer *answer_slot(const struct symbolizer *sy, struct question q)
{
	uint64_t h = (q.addr ^ (uint64_t)q.generation << 40 ^ (uint64_t)(uintptr_t)q.code) *
		     0x9e3779b97f4a7c15ull;
	size_t i = (h ^ h >> 32) & sy->answer_mask;

	while (sy->answers[i].count &&
	       (sy->answers[i].question.addr != q.addr || sy->answers[i].question.code != q.code ||
		sy->answers[i].question.generation != q.generation))
		i = (i + 1) & sy->answer_mask;
	return &sy->answers[i];
}

static void grow_answers(struct symbolizer *sy)
{
	struct answer *old = sy->answers;
	size_t old_mask = sy->answer_mask;

	sy->answer_mask = old_mask * 2 + 1;
	sy->answers = xcalloc(sy->answer_mask + 1, sizeof(*sy->answers));
	for (size_t i = 0; i <= old_mask; i++)
		if (old[i].count)
			*answer_slot(sy, old[i].question) = old[i];
	free(old);
}

static const struct answer *keep_answer(struct symbolizer *sy, struct question q,
					const uint32_t *frames, size_t n)
{
	struct answer *a;

	if (++sy->answer_count > sy->answer_mask / 2)
		grow_answers(sy);
	a = answer_slot(sy, q);
	*a = (struct answer){
		.question = q, .first = (uint32_t)sy->pool_count, .count = (uint32_t)n};
	for (size_t i = 0; i < n; i++) {
		sy->pool = grow(sy->pool, sy->pool_count, &sy->pool_cap, sizeof(*sy->pool));
		sy->pool[sy->pool_count++] = frames[i];
	}
	return a;
}

/* Where the JVM may have its code. */
static bool is_code_cache(const struct snapfile *sf, uint64_t addr)
{
	const struct snap_head *h = snapfile_head(sf);

	return addr >= h->code_low && addr < h->code_high;
}

/* `code`: the snapshot's there, or NULL. */
static size_t find_user(struct symbolizer *sy, const struct process *p, uint64_t addr,
			const struct snapfile_code *code, uint32_t ret[SNAPFILE_DEPTH])
{
	const struct mapping *m = space_find(p, addr);
	const char *path = m ? space_path(sy->space, m->path) : NULL;
	const struct snapfile *sf = symbolizer_snapshot(sy, p);
	bool java = m && m->exec && p->code;

	if (!m)
		*ret = intern_text(sy, "[unknown]");
	else if (!is_anonymous(path))
		*ret = elffiles_frame(sy->files, p->root, m->path, addr - m->start + m->pgoff);
	else if (java && code)
		return codemaps_code(sy->codes, code, addr, ret);
	else if (java && codemaps_text(sy->codes, p->code, addr, ret))
		;
	else if (java && sf && is_code_cache(sf, addr))
		*ret = codemaps_stale(sy->codes);
	else
		*ret = intern_text(sy, "[anon]");
	return 1;
}

static size_t answer(struct symbolizer *sy, const struct process *p, struct question q,
		     const uint32_t **ret)
{
	const struct answer *a = answer_slot(sy, q);
	uint32_t frames[SNAPFILE_DEPTH];

	if (!a->count)
		a = keep_answer(sy, q, frames, find_user(sy, p, q.addr, q.code, frames));
	*ret = sy->pool + a->first;
	return a->count;
}

size_t symbolize_code(struct symbolizer *sy, const struct process *p, const struct snapfile_code *c,
		      uint64_t addr, const uint32_t **ret)
{
	return answer(sy, p, (struct question){.addr = addr, .code = c}, ret);
}

size_t symbolize_frames(struct symbolizer *sy, const struct process *p, uint64_t addr,
			uint64_t time, const uint32_t **ret)
{
	const struct snapfile *sf = symbolizer_snapshot(sy, p);
	const struct snapfile_code *c[SNAPFILE_AROUND];
	size_t n = sf ? snapfile_find(sf, addr, snapfile_around(sf, time), c) : 0;

	if (n == 1)
		return symbolize_code(sy, p, c[0], addr, ret);
	return answer(sy, p, (struct question){.addr = addr, .generation = p->generation}, ret);
}

uint32_t symbolize_native(struct symbolizer *sy, const struct process *p, uint64_t addr)
{
	const uint32_t *frames;

	answer(sy, p, (struct question){.addr = addr, .generation = p->generation}, &frames);
	return frames[0];
}

bool symbolize_is_between(struct symbolizer *sy, const struct process *p, uint64_t addr,
			  uint64_t time)
{
	const struct snapfile *sf = symbolizer_snapshot(sy, p);
	const struct snapfile_code *c[SNAPFILE_AROUND];

	return sf && snapfile_find(sf, addr, snapfile_around(sf, time), c) == 1 &&
	       c[0]->record->kind == SNAP_COMPILED && !(c[0]->record->flags & SNAP_BETWEEN);
}

uint32_t symbolize_user(struct symbolizer *sy, const struct process *p, uint64_t addr,
			uint64_t time)
{
	const uint32_t *frames;

	symbolize_frames(sy, p, addr, time, &frames);
	return frames[0];
}

static uint32_t find_kernel(struct symbolizer *sy, const struct process *kernel, uint64_t addr)
{
	const struct mapping *m;
	struct kernel_symbol s;
	const char *path;

	if (kernsym_find(sy->kernel, addr, &s)) {
		symname_add_clean(&sy->name, s.name, s.len);
		return intern(sy, FRAME_KERNEL);
	}
	m = space_find(kernel, addr);
	path = m ? space_path(sy->space, m->path) : "";
	if (!m || has_prefix(path, "[kernel"))
		return intern_text(sy, "[kernel]");
	return elffiles_unnamed(sy->stacks, path);
}

uint32_t symbolize_kernel(struct symbolizer *sy, const struct process *kernel, uint64_t addr)
{
	struct question q = {.addr = addr, .generation = kernel->generation};
	const struct answer *a = answer_slot(sy, q);

	if (!a->count) {
		uint32_t frame = find_kernel(sy, kernel, addr);

		a = keep_answer(sy, q, &frame, 1);
	}
	return sy->pool[a->first];
}

const struct snapfile *symbolizer_snapshot(struct symbolizer *sy, const struct process *p)
{
	return p->code ? codemaps_snapshot(sy->codes, p->code) : NULL;
}

uint32_t symbolize_method(struct symbolizer *sy, const struct process *p, uint64_t method,
			  struct snapfile_span span)
{
	return codemaps_method(sy->codes, p->code, method, span);
}

uint32_t symbolizer_stale(const struct symbolizer *sy)
{
	return codemaps_stale(sy->codes);
}

static bool find_native(struct symbolizer *sy, const struct process *p, uint64_t addr,
			struct native *ret)
{
	const struct mapping *m = space_find(p, addr);
	bool file = m && !is_anonymous(space_path(sy->space, m->path));

	if (!m || !m->exec)
		return false;
	*ret = (struct native){.start = m->start,
			       .len = m->end - m->start,
			       .pgoff = m->pgoff,
			       .cfi = file ? elffiles_cfi(sy->files, p->root, m->path) : NULL,
			       .generation = p->generation};
	return true;
}

bool symbolizer_native(struct symbolizer *sy, const struct process *p, uint64_t addr,
		       struct cfi **ret_cfi, uint64_t *ret_offset)
{
	struct native *n = &sy->natives[addr / NATIVE_BYTES % NATIVES];

	if ((n->generation != p->generation || addr - n->start >= n->len) &&
	    !find_native(sy, p, addr, n))
		return false;
	*ret_offset = addr - n->start + n->pgoff;
	*ret_cfi = n->cfi;
	return true;
}

void symbolizer_kernel_change(struct symbolizer *sy, const struct perf_ksymbol *change)
{
	if (change->gone)
		kernsym_remove(sy->kernel, change->addr);
	else
		kernsym_add(sy->kernel, change->addr, change->len, change->name);
}
