// SPDX-License-Identifier: Apache-2.0
#include "symbolize.h"

#include "dfg/str.h"
#include "elfsym.h"
#include "javasym.h"
#include "symname.h"

/* A mapped file: as many as there are paths, in each root. */
struct file {
	uint64_t root;
	uint32_t path;
	bool jvm;
	struct elfsym *elf; /* NULL: none, or not readable */
	uint32_t unnamed;   /* frame */
	uint32_t *frames;   /* + 1, by symbol; 0: not yet asked for */
};

/* A JVM's map of compiled code, of one or more snapshots. */
struct code {
	pid_t pid;
	struct javasym *map; /* NULL until it is needed */
	uint32_t *frames;
};

/* Open addressing; an answer once given for a generation holds. */
struct answer {
	uint64_t addr;
	uint32_t generation;
	uint32_t frame; /* + 1; 0: empty */
};

struct symbolizer {
	const struct profile_input *in;
	const struct perfdata *pd;
	const struct space *space;
	struct stacks *stacks;
	struct kernsym *kernel;
	struct file *files;
	size_t file_count, file_cap;
	struct code *codes;
	size_t code_count, code_cap;
	struct answer *answers;
	size_t answer_count, answer_mask;
	uint8_t *first; /* by frame: 0 not yet asked for, 1 no, 2 yes */
	size_t first_count;
	struct str name;
};

static void find_codes(struct symbolizer *sy)
{
	for (size_t i = 0; i < sy->in->map_count; i++) {
		if (symbolizer_code(sy, sy->in->maps[i].pid))
			continue;
		sy->codes = grow(sy->codes, sy->code_count, &sy->code_cap, sizeof(*sy->codes));
		sy->codes[sy->code_count++] = (struct code){.pid = sy->in->maps[i].pid};
	}
}

struct symbolizer *symbolizer_new(const struct profile_input *in, const struct perfdata *pd,
				  const struct space *space, struct stacks *stacks)
{
	struct symbolizer *sy = xcalloc(1, sizeof(*sy));
	struct err ignored;

	sy->in = in;
	sy->pd = pd;
	sy->space = space;
	sy->stacks = stacks;
	sy->answer_mask = (1u << 14) - 1;
	sy->answers = xcalloc(sy->answer_mask + 1, sizeof(*sy->answers));
	if (in->kallsyms_fd >= 0 && lseek(in->kallsyms_fd, 0, SEEK_SET) == 0)
		sy->kernel = kernsym_open(in->kallsyms_fd, &ignored);
	if (!sy->kernel)
		sy->kernel = kernsym_of(NULL, 0);
	find_codes(sy);
	return sy;
}

void symbolizer_free(struct symbolizer *sy)
{
	if (!sy)
		return;
	for (size_t i = 0; i < sy->file_count; i++) {
		elfsym_close(sy->files[i].elf);
		free(sy->files[i].frames);
	}
	for (size_t i = 0; i < sy->code_count; i++) {
		javasym_free(sy->codes[i].map);
		free(sy->codes[i].frames);
	}
	kernsym_close(sy->kernel);
	free(sy->files);
	free(sy->codes);
	free(sy->answers);
	free(sy->first);
	str_fini(&sy->name);
	free(sy);
}

uint32_t symbolizer_code(const struct symbolizer *sy, pid_t pid)
{
	for (size_t i = 0; i < sy->code_count; i++)
		if (sy->codes[i].pid == pid)
			return (uint32_t)i + 1;
	return 0;
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

/* "[file]" */
static uint32_t intern_path(struct symbolizer *sy, const char *path)
{
	size_t len;
	const char *base = symname_base(path, &len);

	if (base[0] == '[') { /* "[vdso]" has its brackets */
		symname_add_clean(&sy->name, base, len);
	} else {
		str_addc(&sy->name, '[');
		symname_add_clean(&sy->name, base, len);
		str_addc(&sy->name, ']');
	}
	return intern(sy, FRAME_UNKNOWN);
}

/* ---- files ------------------------------------------------------------------------------- */

static struct elfsym *open_elf(const struct symbolizer *sy, const struct profile_elf *elf)
{
	struct err ignored;
	struct elfsym *es = elfsym_open(elf->fd, &ignored);
	const uint8_t *id;
	size_t len = es ? elfsym_build_id(es, &id) : 0;

	/* Names of another version would be wrong ones. */
	if (len && perfdata_other_build(sy->pd, elf->path, id, len)) {
		elfsym_close(es);
		return NULL;
	}
	return es;
}

static void load_file(struct symbolizer *sy, struct file *f)
{
	const char *path = space_path(sy->space, f->path), *base;
	size_t len;

	for (size_t i = 0; i < sy->in->elf_count && !f->elf; i++)
		if (sy->in->elfs[i].root == f->root && strcmp(sy->in->elfs[i].path, path) == 0)
			f->elf = open_elf(sy, &sy->in->elfs[i]);
	base = symname_base(path, &len);
	f->jvm = len == strlen("libjvm.so") && memcmp(base, "libjvm.so", len) == 0;
	f->unnamed = intern_path(sy, path);
	if (f->elf)
		f->frames = xcalloc(elfsym_count(f->elf), sizeof(*f->frames));
}

static struct file *file_of(struct symbolizer *sy, uint64_t root, uint32_t path)
{
	struct file *f;

	/* Few, and asked for only when an address is new. */
	for (size_t i = 0; i < sy->file_count; i++)
		if (sy->files[i].path == path && sy->files[i].root == root)
			return &sy->files[i];
	sy->files = grow(sy->files, sy->file_count, &sy->file_cap, sizeof(*sy->files));
	f = &sy->files[sy->file_count++];
	*f = (struct file){.root = root, .path = path};
	load_file(sy, f);
	return f;
}

static uint32_t file_frame(struct symbolizer *sy, struct file *f, uint64_t offset)
{
	struct elf_symbol s;

	if (!f->elf || !elfsym_find(f->elf, offset, &s))
		return f->unnamed;
	if (!f->frames[s.index]) {
		symname_add(&sy->name, s.name, strlen(s.name));
		if (s.plt)
			str_adds(&sy->name, "@plt");
		f->frames[s.index] = intern(sy, f->jvm ? FRAME_JVM : FRAME_NATIVE) + 1;
	}
	return f->frames[s.index] - 1;
}

/* ---- compiled code ----------------------------------------------------------------------- */

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

static void load_code(struct symbolizer *sy, struct code *c)
{
	size_t count = sy->in->map_count, done = 0;
	struct err ignored;
	int64_t last = INT64_MIN;

	c->map = javasym_new();
	/* Snapshots in ascending order: the later wins. */
	while (done < count) {
		int64_t next = INT64_MAX;

		for (size_t i = 0; i < count; i++)
			if (sy->in->maps[i].order > last && sy->in->maps[i].order < next)
				next = sy->in->maps[i].order;
		for (size_t i = 0; i < count; i++) {
			const struct profile_map *m = &sy->in->maps[i];

			if (m->order != next)
				continue;
			done++;
			if (m->pid == c->pid && javasym_read(c->map, m->fd, &ignored) < 0)
				continue; /* its code stays unnamed, which the quality line says */
		}
		last = next;
	}
	javasym_finish(c->map);
	c->frames = xcalloc(javasym_count(c->map), sizeof(*c->frames));
}

static bool code_frame(struct symbolizer *sy, struct code *c, uint64_t addr, uint32_t *ret)
{
	struct java_symbol s;

	if (!c->map)
		load_code(sy, c);
	if (!javasym_find(c->map, addr, &s))
		return false;
	if (!c->frames[s.index]) {
		symname_add_clean(&sy->name, s.name, s.len);
		c->frames[s.index] = intern(sy, javasym_kind(s.name, s.len)) + 1;
	}
	*ret = c->frames[s.index] - 1;
	return true;
}

/* ---- answers ----------------------------------------------------------------------------- */

static struct answer *answer_slot(const struct symbolizer *sy, uint32_t generation, uint64_t addr)
{
	uint64_t h = (addr ^ (uint64_t)generation << 40) * 0x9e3779b97f4a7c15ull;
	size_t i = (h ^ h >> 32) & sy->answer_mask;

	while (sy->answers[i].frame &&
	       (sy->answers[i].addr != addr || sy->answers[i].generation != generation))
		i = (i + 1) & sy->answer_mask;
	return &sy->answers[i];
}

static uint32_t keep_answer(struct symbolizer *sy, uint32_t generation, uint64_t addr,
			    uint32_t frame)
{
	struct answer *old = sy->answers;
	size_t old_mask = sy->answer_mask;

	*answer_slot(sy, generation, addr) =
		(struct answer){.addr = addr, .generation = generation, .frame = frame + 1};
	if (++sy->answer_count <= sy->answer_mask / 2)
		return frame;
	sy->answer_mask = old_mask * 2 + 1;
	sy->answers = xcalloc(sy->answer_mask + 1, sizeof(*sy->answers));
	for (size_t i = 0; i <= old_mask; i++)
		if (old[i].frame)
			*answer_slot(sy, old[i].generation, old[i].addr) = old[i];
	free(old);
	return frame;
}

static uint32_t find_user(struct symbolizer *sy, const struct process *p, uint64_t addr)
{
	const struct mapping *m = space_find(p, addr);
	const char *path = m ? space_path(sy->space, m->path) : NULL;
	uint32_t frame;

	if (!m)
		return intern_text(sy, "[unknown]");
	if (is_anonymous(path)) {
		if (m->exec && p->code && code_frame(sy, &sy->codes[p->code - 1], addr, &frame))
			return frame;
		return intern_text(sy, "[anon]");
	}
	return file_frame(sy, file_of(sy, p->root, m->path), addr - m->start + m->pgoff);
}

uint32_t symbolize_user(struct symbolizer *sy, const struct process *p, uint64_t addr)
{
	const struct answer *a = answer_slot(sy, p->generation, addr);

	return a->frame ? a->frame - 1
			: keep_answer(sy, p->generation, addr, find_user(sy, p, addr));
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
	return intern_path(sy, path);
}

uint32_t symbolize_kernel(struct symbolizer *sy, const struct process *kernel, uint64_t addr)
{
	const struct answer *a = answer_slot(sy, kernel->generation, addr);

	return a->frame ? a->frame - 1
			: keep_answer(sy, kernel->generation, addr, find_kernel(sy, kernel, addr));
}

void symbolizer_kernel_change(struct symbolizer *sy, const struct perf_ksymbol *change)
{
	if (change->gone)
		kernsym_remove(sy->kernel, change->addr);
	else
		kernsym_add(sy->kernel, change->addr, change->len, change->name);
}

bool symbolize_is_code(const struct symbolizer *sy, uint32_t frame)
{
	enum frame_kind kind = stacks_frame(sy->stacks, frame)->kind;

	return kind == FRAME_JAVA || kind == FRAME_INLINED || kind == FRAME_INTERPRETED ||
	       kind == FRAME_STUB;
}

/* Where glibc and musl start a thread or a program. A C library without these symbols (stripped) is
 * taken for it too: it is at the outermost place for nothing else. */
static bool is_first(const char *name)
{
	static const char *const exact[] = {
		"start_thread",		 "clone",  "clone3",	   "__clone", "__clone3",
		"__GI___clone3",	 "_start", "thread_start", "start",   "_start_c",
		"__libc_start_call_main"};
	static const char *const starts[] = {"__libc_start_main", "[libc.so", "[libc-2.",
					     "[libpthread", "[ld-musl-"};

	for (size_t i = 0; i < ARRAY_LEN(exact); i++)
		if (strcmp(name, exact[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (has_prefix(name, starts[i]))
			return true;
	return false;
}

bool symbolize_is_first(struct symbolizer *sy, uint32_t frame)
{
	if (frame >= sy->first_count) {
		size_t count = stacks_frame_count(sy->stacks) * 2;

		sy->first = xrealloc(sy->first, count, 1);
		memset(sy->first + sy->first_count, 0, count - sy->first_count);
		sy->first_count = count;
	}
	if (!sy->first[frame])
		sy->first[frame] = is_first(stacks_frame(sy->stacks, frame)->name) ? 2 : 1;
	return sy->first[frame] == 2;
}
