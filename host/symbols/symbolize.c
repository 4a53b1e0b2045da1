// SPDX-License-Identifier: Apache-2.0
#include "symbols/symbolize.h"

#include "common/str.h"
#include "common/table.h"
#include "elf/names.h"

/* The frames of an address in a code of a snapshot, at any time, or in one generation of a
 * process's address space; or the frame of a name (frame_of_name). */
struct cached {
	uint64_t addr;
	const struct snapfile_code *code; /* NULL: of the generation */
	uint32_t generation;		  /* 0: of the code */
	uint32_t first, count;		  /* in frame_cache.frames */
};

struct frame_cache {
	struct cached *list; /* an id is an index; the first is not used */
	size_t count, cap;
	struct hash_table index;
	uint32_t *frames;
	size_t frame_count, frame_cap;
};

/* A mapped file, by its path in its root. */
struct mapped_file {
	uint64_t root;
	uint32_t path;
	bool jvm;
	const struct elfsym *elf; /* NULL: none, or not readable */
	int fd;			  /* of elf */
	struct cfi **cfi;	  /* its call frame information, shared by its paths; NULL: none */
	bool cfi_loaded;
	uint32_t unnamed; /* frame */
	uint32_t module;
};

struct symbolizer {
	struct sources *sources;
	const struct perfdata *pd;
	const struct space *space;
	struct stacks *stacks;
	struct kernel *kernel;
	struct {
		struct mapped_file *list;
		size_t count, cap;
		struct hash_table index;
	} files;
	struct cfi **cfis;	       /* by number of the file (sources_file) */
	const struct jvm_code **codes; /* by number - 1; NULL: not loaded yet */
	struct frame_cache cache;
	uint32_t stale; /* frame */
	struct str name;
};

static uint32_t intern(struct symbolizer *sy, const char *text, enum frame_kind kind)
{
	return stacks_intern(sy->stacks, text, strlen(text), kind);
}

/* Text from outside. */
static uint32_t intern_clean(struct symbolizer *sy, const char *name, size_t len,
			     enum frame_kind kind)
{
	uint32_t frame;

	symname_add_clean(&sy->name, name, len);
	frame = stacks_intern(sy->stacks, sy->name.buf, sy->name.len, kind);
	str_clear(&sy->name);
	return frame;
}

struct symbolizer *symbolizer_new(struct sources *sources, const struct perfdata *pd,
				  const struct space *space, struct stacks *stacks)
{
	struct symbolizer *sy = xcalloc(1, sizeof(*sy));

	sy->sources = sources;
	sy->space = space;
	sy->stacks = stacks;
	sy->kernel = kernel_new(sources_kallsyms(sources));
	sy->pd = pd;
	sy->cfis = xcalloc(sources_input(sources)->elf_count, sizeof(struct cfi *));
	sy->codes = xcalloc(sources_jvm_count(sources), sizeof(struct jvm_code *));
	sy->stale = intern(sy, "[stale]", FRAME_UNKNOWN);
	sy->cache.list = grow(NULL, 0, &sy->cache.cap, sizeof(*sy->cache.list));
	sy->cache.count = 1;
	return sy;
}

void symbolizer_free(struct symbolizer *sy)
{
	if (!sy)
		return;
	for (size_t i = 0; i < sources_input(sy->sources)->elf_count; i++)
		cfi_close(sy->cfis[i]);
	free(sy->cfis);
	free(sy->files.list);
	hash_fini(&sy->files.index);
	kernel_free(sy->kernel);
	hash_fini(&sy->cache.index);
	free(sy->cache.list);
	free(sy->cache.frames);
	free(sy->codes);
	str_fini(&sy->name);
	free(sy);
}

/* ---- cache of frames --------------------------------------------------------------------- */

static uint64_t hash_of(const struct cached *c)
{
	return hash_mix(c->addr ^ (uint64_t)c->generation << 40);
}

/* The id of the entry; 0: there is none. */
static uint32_t cache_find(const struct frame_cache *cache, const struct cached *key)
{
	for (struct hash_probe p = {.hash = hash_of(key)}; hash_next(&cache->index, &p);) {
		const struct cached *c = &cache->list[p.index];

		if (c->addr == key->addr && c->code == key->code &&
		    c->generation == key->generation)
			return p.index;
	}
	return 0;
}

/* Finds the entry of an address in code that was there in all snapshots of the span: no search for
 * the code is needed, as no other one was there. */
static uint32_t cache_find_at(const struct frame_cache *cache, uint64_t addr,
			      const struct snapfile *sf, struct snapfile_span span)
{
	struct cached key = {.addr = addr};

	for (struct hash_probe p = {.hash = hash_of(&key)}; hash_next(&cache->index, &p);) {
		const struct snapfile_code *c = cache->list[p.index].code;

		if (cache->list[p.index].addr == addr && c && c->file == sf &&
		    c->first <= span.first && c->gone > span.last)
			return p.index;
	}
	return 0;
}

static uint32_t cache_add(struct frame_cache *cache, struct cached entry, const uint32_t *frames,
			  size_t n)
{
	entry.first = (uint32_t)cache->frame_count;
	entry.count = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		cache->frames = grow(cache->frames, cache->frame_count, &cache->frame_cap,
				     sizeof(*cache->frames));
		cache->frames[cache->frame_count++] = frames[i];
	}
	cache->list = grow(cache->list, cache->count, &cache->cap, sizeof(*cache->list));
	cache->list[cache->count] = entry;
	hash_add(&cache->index, hash_of(&entry), (uint32_t)cache->count);
	return (uint32_t)cache->count++;
}

static size_t cache_frames(const struct frame_cache *cache, uint32_t id, const uint32_t **ret)
{
	*ret = cache->frames + cache->list[id].first;
	return cache->list[id].count;
}

/* Interns a name that stays where it is, in a file or snapshot: once, since many addresses have it.
 * `suffix` follows a symbol's name, which is demangled; NULL: it is none. */
static uint32_t frame_of_name(struct symbolizer *sy, const char *text, size_t len,
			      enum frame_kind kind, const char *suffix)
{
	uint32_t as = (uint32_t)kind + (suffix && *suffix ? FRAME_KINDS : 0), frame;
	struct cached key = {.addr = (uintptr_t)text, .generation = UINT32_MAX - as};
	uint32_t id = cache_find(&sy->cache, &key);

	if (id)
		return sy->cache.frames[sy->cache.list[id].first];
	(suffix ? symname_add : symname_add_clean)(&sy->name, text, len);
	str_adds(&sy->name, suffix ? suffix : "");
	frame = stacks_intern(sy->stacks, sy->name.buf, sy->name.len, kind);
	str_clear(&sy->name);
	cache_add(&sy->cache, key, &frame, 1);
	return frame;
}

/* ---- code of a JVM ----------------------------------------------------------------------- */

uint32_t symbolizer_code(const struct symbolizer *sy, pid_t pid)
{
	return sources_jvm(sy->sources, pid);
}

static const struct jvm_code *code_of(struct symbolizer *sy, uint32_t number)
{
	const struct jvm_code **c = &sy->codes[number - 1];

	if (!*c)
		*c = sources_code(sy->sources, number);
	return *c;
}

const struct snapfile *symbolizer_snapshot(struct symbolizer *sy, const struct process *p)
{
	return p->code ? code_of(sy, p->code)->snapshot : NULL;
}

uint32_t symbolizer_stale(const struct symbolizer *sy)
{
	return sy->stale;
}

static uint32_t intern_method(struct symbolizer *sy, const struct snapfile_method *m,
			      enum frame_kind kind)
{
	return m->name_len ? frame_of_name(sy, m->name, m->name_len, kind, NULL)
			   : intern(sy, "[unknown]", FRAME_UNKNOWN);
}

uint32_t symbolize_method(struct symbolizer *sy, const struct process *p, uint64_t method,
			  struct snapfile_span span)
{
	const struct snapfile *sf = symbolizer_snapshot(sy, p);
	uint32_t found[SNAPFILE_AROUND];
	size_t n = sf && method ? snapfile_find_method(sf, method, span, found) : 0;
	struct snapfile_method m;

	if (n > 1 || (n == 0 && sf && method && snapfile_methods_complete(sf)))
		return sy->stale;
	if (n == 0)
		return intern(sy, "Interpreter", FRAME_INTERPRETED);
	m = snapfile_method(sf, found[0]);
	return intern_method(sy, &m, FRAME_INTERPRETED);
}

/* A compiled method with what is inlined at the address. */
static size_t find_compiled(struct symbolizer *sy, const struct snapfile_code *c, uint64_t addr,
			    uint32_t ret[SNAPFILE_DEPTH])
{
	struct snapfile_scope scopes[SNAPFILE_DEPTH] = {0};
	size_t n = snapfile_scopes(c, addr - c->start, scopes);
	struct frames *frames = stacks_frames(sy->stacks);

	if (n == 0) /* the method itself, no line */
		n = 1;
	scopes[n - 1].method = (struct snapfile_method){0};
	snapfile_code_method(c, &scopes[n - 1].method);
	for (size_t i = 0; i < n; i++) {
		const struct snapfile_scope *s = &scopes[i];

		ret[i] = intern_method(sy, &s->method, i + 1 < n ? FRAME_INLINED : FRAME_JAVA);
		ret[i] = frames_place(frames, ret[i], s->line > 0 ? (uint32_t)s->line : 0, 0);
		ret[i] = frames_level(frames, ret[i], c->record->level);
	}
	return n;
}

static size_t find_code(struct symbolizer *sy, const struct snapfile_code *c, uint64_t addr,
			uint32_t ret[SNAPFILE_DEPTH])
{
	bool interpreter = c->record->kind == SNAP_INTERPRETER;
	const struct snapfile_stub *stub = interpreter ? NULL : snapfile_stub(c->file, addr);

	if (c->record->method)
		return find_compiled(sy, c, addr, ret);
	if (stub && stub->start >= c->start && stub->end <= c->end)
		*ret = intern_clean(sy, stub->name, stub->name_len, FRAME_STUB);
	else
		*ret = intern_clean(sy, c->name, c->record->name_len,
				    interpreter ? FRAME_INTERPRETED : FRAME_STUB);
	return 1;
}

static bool is_code_cache(const struct snapfile *sf, uint64_t addr)
{
	const struct snap_head *h = snapfile_head(sf);

	return addr >= h->code_low && addr < h->code_high;
}

/* ---- mapped files ------------------------------------------------------------------------ */

/* Interns "[file]", or with the start of a function "[file+0x1234]". */
static uint32_t intern_unnamed(struct symbolizer *sy, const char *path, uint64_t start,
			       enum frame_kind kind)
{
	CLEANUP(str_fini) struct str name = {0};
	size_t len;
	const char *base = symname_base(path, &len);
	bool bare = base[0] != '['; /* "[vdso]" has its brackets */

	if (bare)
		str_addc(&name, '[');
	symname_add_clean(&name, base, len);
	if (start && bare)
		str_addf(&name, "+0x%llx", (unsigned long long)start);
	if (bare)
		str_addc(&name, ']');
	return stacks_intern(sy->stacks, name.buf, name.len, bare && start ? kind : FRAME_UNKNOWN);
}

static const struct elfsym *open_elf(const struct symbolizer *sy, const char *path, size_t number)
{
	const struct elfsym *es = sources_elf(sy->sources, number);
	const uint8_t *id;
	size_t len = es ? elfsym_build_id(es, &id) : 0;

	/* Names of another build would be wrong. */
	return len && perfdata_other_build(sy->pd, path, id, len) ? NULL : es;
}

static void load_file(struct symbolizer *sy, struct mapped_file *f)
{
	const struct recording *in = sources_input(sy->sources);
	const char *path = space_path(sy->space, f->path), *base;
	size_t len;

	for (size_t i = 0; i < in->elf_count && !f->elf; i++)
		if (in->elfs[i].root == f->root && strcmp(in->elfs[i].path, path) == 0) {
			f->elf = open_elf(sy, path, i);
			f->fd = in->elfs[i].fd;
			f->cfi = &sy->cfis[sources_file(sy->sources, i)];
		}
	base = symname_base(path, &len);
	f->jvm = len == strlen("libjvm.so") && memcmp(base, "libjvm.so", len) == 0;
	f->unnamed = intern_unnamed(sy, path, 0, FRAME_UNKNOWN);
	symname_add_clean(&sy->name, path, strlen(path));
	f->module = frames_intern_module(stacks_frames(sy->stacks), sy->name.buf);
	str_clear(&sy->name);
}

static struct mapped_file *file_of(struct symbolizer *sy, uint64_t root, uint32_t path)
{
	uint64_t h = hash_mix(root << 32 ^ path);
	struct mapped_file *f;

	for (struct hash_probe p = {.hash = h}; hash_next(&sy->files.index, &p);)
		if (sy->files.list[p.index].path == path && sy->files.list[p.index].root == root)
			return &sy->files.list[p.index];
	hash_add(&sy->files.index, h, (uint32_t)sy->files.count);
	sy->files.list =
		grow(sy->files.list, sy->files.count, &sy->files.cap, sizeof(*sy->files.list));
	f = &sy->files.list[sy->files.count++];
	*f = (struct mapped_file){.root = root, .path = path};
	load_file(sy, f);
	return f;
}

static uint32_t named_frame(struct symbolizer *sy, struct mapped_file *f, uint64_t offset)
{
	enum frame_kind kind = f->jvm ? FRAME_JVM : FRAME_NATIVE;
	struct elf_symbol s;
	uint64_t start;

	if (!f->elf || !elfsym_find(f->elf, offset, &s))
		return f->elf && elfsym_start(f->elf, offset, &start)
			       ? intern_unnamed(sy, space_path(sy->space, f->path), start, kind)
			       : f->unnamed;
	return frame_of_name(sy, s.name, strlen(s.name), kind, s.plt ? "@plt" : "");
}

/* The frame of a file offset. Without a symbol it is named by the start of its function; where that
 * is unknown or the file cannot be read it is "[file]", FRAME_UNKNOWN. */
static uint32_t file_frame(struct symbolizer *sy, uint64_t root, uint32_t path, uint64_t offset)
{
	struct mapped_file *f = file_of(sy, root, path);

	return frames_place(stacks_frames(sy->stacks), named_frame(sy, f, offset), 0, f->module);
}

/* The call frame information of a file; NULL: there is none. */
static struct cfi *file_cfi(struct symbolizer *sy, uint64_t root, uint32_t path)
{
	struct mapped_file *f = file_of(sy, root, path);
	struct err ignored;

	if (f->elf && !f->cfi_loaded && !*f->cfi)
		*f->cfi = cfi_open(f->fd, &ignored);
	f->cfi_loaded = true;
	return f->elf ? *f->cfi : NULL;
}

/* ---- any address --------------------------------------------------------------------------- */

static uint32_t find_kernel(struct symbolizer *sy, const struct process *kernel, uint64_t addr)
{
	const struct mapping *m;
	struct kernel_symbol s;
	const char *path;

	if (kernel_find(sy->kernel, addr, &s))
		return intern_clean(sy, s.name, s.len, FRAME_KERNEL);
	m = space_find(kernel, addr);
	path = m ? space_path(sy->space, m->path) : "";
	if (!m || has_prefix(path, "[kernel"))
		return intern(sy, "[kernel]", FRAME_UNKNOWN);
	return intern_unnamed(sy, path, 0, FRAME_UNKNOWN);
}

/* `code`: the snapshot's code at the address, or NULL. */
static size_t find_frames(struct symbolizer *sy, const struct process *p, uint64_t addr,
			  const struct snapfile_code *code, uint32_t ret[SNAPFILE_DEPTH])
{
	const struct mapping *m = space_find(p, addr);
	const struct jvm_code *jvm = m && m->exec && p->code ? code_of(sy, p->code) : NULL;
	struct perf_map_symbol s;

	if (p->pid == SPACE_KERNEL)
		*ret = find_kernel(sy, p, addr);
	else if (!m)
		*ret = intern(sy, "[unknown]", FRAME_UNKNOWN);
	else if (!m->anonymous) /* no forged perf map renames what a file holds */
		*ret = file_frame(sy, p->root, m->path, addr - m->start + m->pgoff);
	else if (jvm && code)
		return find_code(sy, code, addr, ret);
	else if (jvm && perf_map_find(jvm->map, addr, &s))
		*ret = intern_clean(sy, s.name, s.len, perf_map_kind(s.name, s.len));
	else if (jvm && jvm->snapshot && is_code_cache(jvm->snapshot, addr))
		*ret = sy->stale;
	else
		*ret = intern(sy, "[anon]", FRAME_UNKNOWN);
	return 1;
}

static uint32_t find_cached(struct symbolizer *sy, const struct process *p, struct cached key)
{
	uint32_t id = cache_find(&sy->cache, &key), frames[SNAPFILE_DEPTH];

	return id ? id
		  : cache_add(&sy->cache, key, frames,
			      find_frames(sy, p, key.addr, key.code, frames));
}

size_t symbolize_code(struct symbolizer *sy, const struct process *p, const struct snapfile_code *c,
		      uint64_t addr, uint32_t *id, const uint32_t **ret)
{
	if (!*id)
		*id = find_cached(sy, p, (struct cached){.addr = addr, .code = c});
	return cache_frames(&sy->cache, *id, ret);
}

/* The only code at an address at a time; NULL: none, or it is ambiguous. */
static const struct snapfile_code *code_at(const struct snapfile *sf, uint64_t addr,
					   struct snapfile_span span)
{
	const struct snapfile_code *c[SNAPFILE_AROUND];

	return snapfile_find(sf, addr, span, c) == 1 ? c[0] : NULL;
}

size_t symbolize_frames(struct symbolizer *sy, const struct process *p, uint64_t addr,
			uint64_t time, const uint32_t **ret)
{
	const struct snapfile *sf = symbolizer_snapshot(sy, p);
	struct snapfile_span span = sf ? snapfile_around(sf, time) : (struct snapfile_span){0};
	uint32_t id = sf ? cache_find_at(&sy->cache, addr, sf, span) : 0;
	struct cached key = {.addr = addr, .code = sf && !id ? code_at(sf, addr, span) : NULL};

	key.generation = key.code ? 0 : p->generation;
	return cache_frames(&sy->cache, id ? id : find_cached(sy, p, key), ret);
}

bool symbolize_is_between(struct symbolizer *sy, const struct process *p, uint64_t addr,
			  uint64_t time)
{
	const struct snapfile *sf = symbolizer_snapshot(sy, p);
	const struct snapfile_code *c = sf ? code_at(sf, addr, snapfile_around(sf, time)) : NULL;

	return c && c->record->kind == SNAP_COMPILED && !(c->record->flags & SNAP_BETWEEN);
}

uint32_t symbolize_native(struct symbolizer *sy, const struct process *p, uint64_t addr)
{
	struct cached key = {.addr = addr, .generation = p->generation};
	const uint32_t *frames;

	cache_frames(&sy->cache, find_cached(sy, p, key), &frames);
	return frames[0];
}

bool symbolizer_native(struct symbolizer *sy, const struct process *p, uint64_t addr,
		       struct cfi **ret_cfi, uint64_t *ret_offset)
{
	const struct mapping *m = space_find(p, addr);

	if (!m || !m->exec)
		return false;
	*ret_offset = addr - m->start + m->pgoff;
	*ret_cfi = m->anonymous ? NULL : file_cfi(sy, p->root, m->path);
	return true;
}

void symbolizer_kernel_change(struct symbolizer *sy, const struct perf_ksymbol *change)
{
	if (change->gone)
		kernel_remove(sy->kernel, change->addr);
	else
		kernel_add(sy->kernel, change->addr, change->len, change->name);
}
