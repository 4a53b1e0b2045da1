// SPDX-License-Identifier: Apache-2.0
#include "symbols/elffiles.h"

#include "common/str.h"
#include "common/table.h"
#include "elf/names.h"

/* A mapped file, by its path in its root. */
struct mapped_file {
	uint64_t root;
	uint32_t path;
	bool jvm;
	const struct elfsym *elf; /* NULL: none, or not readable */
	int fd;			  /* of elf */
	struct cfi *cfi;	  /* NULL: not loaded yet, or none */
	bool cfi_loaded;
	uint32_t unnamed; /* frame */
	uint32_t module;
};

struct elffiles {
	struct sources *sources;
	const struct perfdata *pd;
	const struct space *space;
	struct stacks *stacks;
	struct mapped_file *list;
	size_t count, cap;
	struct hash_table index;
	struct str name;
};

struct elffiles *elffiles_new(struct sources *sources, const struct perfdata *pd,
			      const struct space *space, struct stacks *stacks)
{
	struct elffiles *ef = xcalloc(1, sizeof(*ef));

	ef->sources = sources;
	ef->pd = pd;
	ef->space = space;
	ef->stacks = stacks;
	return ef;
}

void elffiles_free(struct elffiles *ef)
{
	if (!ef)
		return;
	for (size_t i = 0; i < ef->count; i++) {
		cfi_close(ef->list[i].cfi);
	}
	free(ef->list);
	hash_fini(&ef->index);
	str_fini(&ef->name);
	free(ef);
}

/* Interns "[file]", or with the start of a function "[file+0x1234]". */
static uint32_t intern_unnamed(struct stacks *stacks, const char *path, uint64_t start,
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
	return stacks_intern(stacks, name.buf, name.len, bare && start ? kind : FRAME_UNKNOWN);
}

uint32_t elffiles_unnamed(struct stacks *stacks, const char *path)
{
	return intern_unnamed(stacks, path, 0, FRAME_UNKNOWN);
}

static const struct elfsym *open_elf(const struct elffiles *ef, const char *path, size_t number)
{
	const struct elfsym *es = sources_elf(ef->sources, number);
	const uint8_t *id;
	size_t len = es ? elfsym_build_id(es, &id) : 0;

	/* Names of another build would be wrong. */
	return len && perfdata_other_build(ef->pd, path, id, len) ? NULL : es;
}

static void load_file(struct elffiles *ef, struct mapped_file *f)
{
	const struct recording *in = sources_input(ef->sources);
	const char *path = space_path(ef->space, f->path), *base;
	size_t len;

	for (size_t i = 0; i < in->elf_count && !f->elf; i++)
		if (in->elfs[i].root == f->root && strcmp(in->elfs[i].path, path) == 0) {
			f->elf = open_elf(ef, path, i);
			f->fd = in->elfs[i].fd;
		}
	base = symname_base(path, &len);
	f->jvm = len == strlen("libjvm.so") && memcmp(base, "libjvm.so", len) == 0;
	f->unnamed = elffiles_unnamed(ef->stacks, path);
	symname_add_clean(&ef->name, path, strlen(path));
	f->module = frames_intern_module(stacks_frames(ef->stacks), ef->name.buf);
	str_clear(&ef->name);
}

static struct mapped_file *file_of(struct elffiles *ef, uint64_t root, uint32_t path)
{
	uint64_t h = hash_mix(root << 32 ^ path);
	struct mapped_file *f;

	for (struct hash_probe p = {.hash = h}; hash_next(&ef->index, &p);)
		if (ef->list[p.index].path == path && ef->list[p.index].root == root)
			return &ef->list[p.index];
	hash_add(&ef->index, h, (uint32_t)ef->count);
	ef->list = grow(ef->list, ef->count, &ef->cap, sizeof(*ef->list));
	f = &ef->list[ef->count++];
	*f = (struct mapped_file){.root = root, .path = path};
	load_file(ef, f);
	return f;
}

static uint32_t named_frame(struct elffiles *ef, struct mapped_file *f, uint64_t offset)
{
	enum frame_kind kind = f->jvm ? FRAME_JVM : FRAME_NATIVE;
	struct elf_symbol s;
	uint64_t start;
	uint32_t frame;

	if (!f->elf || !elfsym_find(f->elf, offset, &s))
		return f->elf && elfsym_start(f->elf, offset, &start)
			       ? intern_unnamed(ef->stacks, space_path(ef->space, f->path), start,
						kind)
			       : f->unnamed;
	symname_add(&ef->name, s.name, strlen(s.name));
	if (s.plt)
		str_adds(&ef->name, "@plt");
	frame = stacks_intern(ef->stacks, ef->name.buf, ef->name.len, kind);
	str_clear(&ef->name);
	return frame;
}

uint32_t elffiles_frame(struct elffiles *ef, uint64_t root, uint32_t path, uint64_t offset)
{
	struct mapped_file *f = file_of(ef, root, path);

	return frames_place(stacks_frames(ef->stacks), named_frame(ef, f, offset), 0, f->module);
}

struct cfi *elffiles_cfi(struct elffiles *ef, uint64_t root, uint32_t path)
{
	struct mapped_file *f = file_of(ef, root, path);
	struct err ignored;

	if (!f->cfi_loaded) {
		f->cfi_loaded = true;
		f->cfi = f->elf ? cfi_open(f->fd, &ignored) : NULL;
	}
	return f->cfi;
}
