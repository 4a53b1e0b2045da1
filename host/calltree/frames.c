// SPDX-License-Identifier: Apache-2.0
#include "calltree/frames.h"

#include "common/str.h"
#include "common/table.h"

#define CHUNK (64u << 10)

/* Names live in chunks that never move, so that borrowed names stay valid. */
struct chunk {
	struct chunk *next;
	size_t used, size;
	char text[];
};

struct frames {
	struct chunk *names;
	struct frame *list;
	size_t count, cap;
	struct hash_table index; /* of list */
	bool places;
	const char **modules;
	size_t module_count, module_cap;
	struct hash_table by_path; /* of modules */
};

static uint64_t hash_frame(const struct frame *f)
{
	uint64_t place = (uint64_t)f->module << 32 | f->line;

	return hash_bytes(hash_mix(place ^ (uint64_t)f->level << 60) + (uint64_t)f->kind, f->name,
			  f->len);
}

struct frames *frames_new(void)
{
	struct frames *fs = xcalloc(1, sizeof(*fs));

	frames_intern_module(fs, "");
	return fs;
}

void frames_free(struct frames *fs)
{
	while (fs->names) {
		struct chunk *next = fs->names->next;

		free(fs->names);
		fs->names = next;
	}
	free(fs->list);
	hash_fini(&fs->index);
	hash_fini(&fs->by_path);
	free(fs->modules);
	free(fs);
}

static const char *copy_name(struct frames *fs, const char *name, size_t len)
{
	char *copy;

	if (!fs->names || fs->names->size - fs->names->used <= len) {
		size_t size = len + 1 > CHUNK ? len + 1 : CHUNK;
		struct chunk *c = xmalloc(sizeof(*c) + size);

		*c = (struct chunk){.next = fs->names, .size = size};
		fs->names = c;
	}
	copy = fs->names->text + fs->names->used;
	memcpy(copy, name, len);
	copy[len] = '\0';
	fs->names->used += len + 1;
	return copy;
}

static bool same_frame(const struct frame *a, const struct frame *b)
{
	return a->kind == b->kind && a->line == b->line && a->module == b->module &&
	       a->level == b->level && a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

static bool is_nameless(const struct frame *f)
{
	return (f->kind == FRAME_NATIVE || f->kind == FRAME_JVM) && f->name[0] == '[' &&
	       memmem(f->name, f->len, "+0x", 3);
}

static bool is_start(const char *name)
{
	static const char *const exact[] = {
		"start_thread",		 "clone",  "clone3",	   "__clone", "__clone3",
		"__GI___clone3",	 "_start", "thread_start", "start",   "_start_c",
		"__libc_start_call_main"};
	static const char *const prefixes[] = {"__libc_start_main", "[libc.so", "[libc-2.",
					       "[libpthread", "[ld-musl-"};

	for (size_t i = 0; i < ARRAY_LEN(exact); i++)
		if (strcmp(name, exact[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (has_prefix(name, prefixes[i]))
			return true;
	return false;
}

/* `is_new`: the name is the caller's, not one of these frames'. */
static uint32_t find_or_add(struct frames *fs, const struct frame *want, bool is_new)
{
	uint64_t hash = hash_frame(want);
	uint32_t number = (uint32_t)fs->count;
	struct frame *f;

	for (struct hash_probe p = {.hash = hash}; hash_next(&fs->index, &p);)
		if (same_frame(&fs->list[p.index], want))
			return p.index;
	fs->list = grow(fs->list, fs->count, &fs->cap, sizeof(*fs->list));
	f = &fs->list[number];
	*f = *want;
	if (is_new) {
		f->name = copy_name(fs, want->name, want->len);
		f->plain = number;
		f->java = frame_is_java(f->kind);
		f->nameless = is_nameless(f);
		f->start = is_start(f->name);
	}
	fs->count++;
	hash_add(&fs->index, hash, number);
	return number;
}

uint32_t frames_intern(struct frames *fs, const char *name, size_t len, enum frame_kind kind)
{
	struct frame want = {.name = name, .len = (uint32_t)len, .kind = kind};

	return find_or_add(fs, &want, true);
}

void frames_keep_places(struct frames *fs)
{
	fs->places = true;
}

bool frames_keeps_places(const struct frames *fs)
{
	return fs->places;
}

uint32_t frames_place(struct frames *fs, uint32_t frame, uint32_t line, uint32_t module)
{
	struct frame want = fs->list[frame];

	if (!fs->places || (!line && !module))
		return frame;
	want.line = line;
	want.module = module;
	return find_or_add(fs, &want, false);
}

uint32_t frames_level(struct frames *fs, uint32_t frame, uint32_t level)
{
	struct frame want = fs->list[frame];

	if (!fs->places || !level)
		return frame;
	want.level = level;
	return find_or_add(fs, &want, false);
}

uint32_t frames_intern_module(struct frames *fs, const char *path)
{
	uint64_t hash = hash_bytes(0, path, strlen(path));

	for (struct hash_probe p = {.hash = hash}; hash_next(&fs->by_path, &p);)
		if (strcmp(fs->modules[p.index], path) == 0)
			return p.index;
	fs->modules = grow(fs->modules, fs->module_count, &fs->module_cap, sizeof(*fs->modules));
	fs->modules[fs->module_count] = copy_name(fs, path, strlen(path));
	hash_add(&fs->by_path, hash, (uint32_t)fs->module_count);
	return (uint32_t)fs->module_count++;
}

const char *frames_module(const struct frames *fs, uint32_t module)
{
	return fs->modules[module];
}

size_t frames_module_count(const struct frames *fs)
{
	return fs->module_count;
}

const struct frame *frames_get(const struct frames *fs, uint32_t frame)
{
	return &fs->list[frame];
}

size_t frames_count(const struct frames *fs)
{
	return fs->count;
}

bool frame_is_java(enum frame_kind kind)
{
	return kind == FRAME_JAVA || kind == FRAME_INLINED || kind == FRAME_INTERPRETED;
}

enum frame_kind frame_kind_of_text(const char *name, size_t len)
{
	if (len == strlen("[unknown]") && memcmp(name, "[unknown]", len) == 0)
		return FRAME_UNKNOWN;
	return memmem(name, len, "::", 2) ? FRAME_JVM : FRAME_NATIVE;
}

const char *frame_suffix(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_KERNEL:
		return "_[k]";
	case FRAME_JAVA:
		return "_[j]";
	case FRAME_INLINED:
		return "_[i]";
	case FRAME_INTERPRETED:
		return "_[0]";
	default:
		return "";
	}
}

#define LAMBDA "$$Lambda"

/* Returns the length of a number after this character: "$14", or "/7582" of JDK 8. */
static size_t number_length(const char *at, char first)
{
	size_t n = *at == first ? strspn(at + 1, "0123456789") : 0;

	return n ? n + 1 : 0;
}

/* Returns the length of ".0x00007f5ba0000a08" or the like. */
static size_t address_length(const char *at)
{
	size_t n;

	if ((*at != '.' && *at != '/') || strncmp(at + 1, "0x", 2) != 0)
		return 0;
	n = strspn(at + 3, "0123456789abcdef");
	return n ? n + 3 : 0;
}

void frame_add_stable_name(struct str *out, const char *name, size_t len)
{
	CLEANUP(free) char *text = xstrndup(name, len);

	for (const char *p = text; *p;) {
		size_t skip = address_length(p);

		if (skip) {
			p += skip;
		} else if (has_prefix(p, LAMBDA)) {
			str_adds(out, LAMBDA);
			p += strlen(LAMBDA);
			p += number_length(p, '$');
			p += address_length(p) ? 0 : number_length(p, '/');
		} else {
			str_addc(out, *p++);
		}
	}
}
