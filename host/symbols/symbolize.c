// SPDX-License-Identifier: Apache-2.0
#include "symbols/symbolize.h"

#include "common/str.h"
#include "elf/names.h"
#include "symbols/answers.h"
#include "symbols/codemaps.h"
#include "symbols/elffiles.h"

struct symbolizer {
	const struct space *space;
	struct stacks *stacks;
	struct kernel *kernel;
	struct elffiles *files;
	struct codemaps *codes;
	struct answers answers;
	struct str name;
};

struct symbolizer *symbolizer_new(struct sources *sources, const struct perfdata *pd,
				  const struct space *space, struct stacks *stacks)
{
	struct symbolizer *sy = xcalloc(1, sizeof(*sy));

	sy->space = space;
	sy->stacks = stacks;
	answers_init(&sy->answers);
	sy->kernel = kernel_new(sources_kallsyms(sources));
	sy->files = elffiles_new(sources, pd, space, stacks);
	sy->codes = codemaps_new(sources, stacks);
	return sy;
}

void symbolizer_free(struct symbolizer *sy)
{
	if (!sy)
		return;
	elffiles_free(sy->files);
	codemaps_free(sy->codes);
	kernel_free(sy->kernel);
	answers_fini(&sy->answers);
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

static uint32_t answer(struct symbolizer *sy, const struct process *p, struct question q)
{
	uint32_t number = answers_find(&sy->answers, q), frames[SNAPFILE_DEPTH];

	return number ? number
		      : answers_keep(&sy->answers, q, frames,
				     find_user(sy, p, q.addr, q.code, frames));
}

size_t symbolize_code(struct symbolizer *sy, const struct process *p, const struct snapfile_code *c,
		      uint64_t addr, const uint32_t **ret)
{
	return answers_frames(&sy->answers,
			      answer(sy, p, (struct question){.addr = addr, .code = c}), ret);
}

static uint32_t answer_at(struct symbolizer *sy, const struct process *p, uint64_t addr,
			  const struct snapfile *sf, struct snapfile_span span)
{
	const struct snapfile_code *c[SNAPFILE_AROUND];
	struct question q = {.addr = addr};

	if (sf && snapfile_find(sf, addr, span, c) == 1)
		q.code = c[0];
	else
		q.generation = p->generation;
	return answer(sy, p, q);
}

size_t symbolize_frames(struct symbolizer *sy, const struct process *p, uint64_t addr,
			uint64_t time, const uint32_t **ret)
{
	const struct snapfile *sf = symbolizer_snapshot(sy, p);
	struct snapfile_span span = sf ? snapfile_around(sf, time) : (struct snapfile_span){0};

	return answers_frames(&sy->answers, answer_at(sy, p, addr, sf, span), ret);
}

uint32_t symbolize_native(struct symbolizer *sy, const struct process *p, uint64_t addr)
{
	struct question q = {.addr = addr, .generation = p->generation};
	const uint32_t *frames;

	answers_frames(&sy->answers, answer(sy, p, q), &frames);
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

	if (kernel_find(sy->kernel, addr, &s)) {
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
	uint32_t number = answers_find(&sy->answers, q), frame;
	const uint32_t *frames;

	if (!number) {
		frame = find_kernel(sy, kernel, addr);
		number = answers_keep(&sy->answers, q, &frame, 1);
	}
	answers_frames(&sy->answers, number, &frames);
	return frames[0];
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

bool symbolizer_native(struct symbolizer *sy, const struct process *p, uint64_t addr,
		       struct cfi **ret_cfi, uint64_t *ret_offset)
{
	const struct mapping *m = space_find(p, addr);

	if (!m || !m->exec)
		return false;
	*ret_offset = addr - m->start + m->pgoff;
	*ret_cfi = is_anonymous(space_path(sy->space, m->path))
			   ? NULL
			   : elffiles_cfi(sy->files, p->root, m->path);
	return true;
}

void symbolizer_kernel_change(struct symbolizer *sy, const struct perf_ksymbol *change)
{
	if (change->gone)
		kernel_remove(sy->kernel, change->addr);
	else
		kernel_add(sy->kernel, change->addr, change->len, change->name);
}
