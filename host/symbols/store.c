// SPDX-License-Identifier: Apache-2.0
#include "symbols/store.h"

#include <pthread.h>

#include "common/str.h"
#include "common/table.h"
#include "elf/elfparts.h"

struct elf_source {
	pthread_mutex_t lock;
	size_t first; /* number of the first file with the same copy */
	bool loaded;
	struct elfsym *symbols;
};

struct code_source {
	pthread_mutex_t lock;
	bool loaded;
	pid_t pid;
	struct jvm_code code;
};

struct sources {
	const struct recording *in;
	struct keyed *maps;	   /* order -> number in the recording; sorted */
	struct keyed *threads;	   /* host pid and tid -> tid in the JVM's namespace; sorted */
	struct kallsyms *kallsyms; /* NULL: none */
	struct elf_source *files;  /* as in the recording */
	size_t functions, cut;	   /* of all files: read; files with more */
	struct code_source *jvms;
	size_t jvm_count;
};

static uint64_t key_of(pid_t pid, pid_t tid)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

static void index_input(struct sources *s)
{
	const struct recording *in = s->in;

	s->maps = xcalloc(in->map_count, sizeof(*s->maps));
	for (size_t i = 0; i < in->map_count; i++)
		s->maps[i] =
			(struct keyed){.key = (uint64_t)(uint32_t)in->maps[i].order, .value = i};
	keyed_sort(s->maps, in->map_count);
	s->threads = xcalloc(in->thread_count, sizeof(*s->threads));
	for (size_t i = 0; i < in->thread_count; i++)
		s->threads[i] =
			(struct keyed){.key = key_of(in->threads[i].pid, in->threads[i].tid),
				       .value = (uint32_t)in->threads[i].nstid};
	keyed_sort(s->threads, in->thread_count);
}

static void index_files(struct sources *s)
{
	const struct session_elf *elfs = s->in->elfs;
	CLEANUP(hash_fini) struct hash_table copies = {0};

	s->files = xcalloc(s->in->elf_count, sizeof(*s->files));
	for (size_t i = 0; i < s->in->elf_count; i++) {
		const char *name = elfs[i].name ? elfs[i].name : "";
		struct hash_probe p = {.hash = hash_bytes(0, name, strlen(name))};

		pthread_mutex_init(&s->files[i].lock, NULL);
		s->files[i].first = i;
		while (*name && s->files[i].first == i && hash_next(&copies, &p))
			if (!strcmp(elfs[p.index].name, name))
				s->files[i].first = p.index;
		if (s->files[i].first == i)
			hash_add(&copies, p.hash, (uint32_t)i);
	}
}

struct sources *sources_new(const struct recording *in)
{
	struct sources *s = xcalloc(1, sizeof(*s));
	struct err ignored;

	s->in = in;
	index_input(s);
	if (in->kallsyms_fd >= 0)
		s->kallsyms = kallsyms_open(in->kallsyms_fd, &ignored);
	index_files(s);
	s->jvms = xcalloc(in->map_count, sizeof(*s->jvms));
	for (size_t i = 0; i < in->map_count; i++) {
		if (sources_jvm(s, in->maps[i].pid))
			continue;
		pthread_mutex_init(&s->jvms[s->jvm_count].lock, NULL);
		s->jvms[s->jvm_count++].pid = in->maps[i].pid;
	}
	return s;
}

void sources_free(struct sources *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->in->elf_count; i++)
		elfsym_close(s->files[i].symbols);
	for (size_t i = 0; i < s->jvm_count; i++) {
		perf_map_free(s->jvms[i].code.map);
		snapfile_free(s->jvms[i].code.snapshot);
	}
	kallsyms_close(s->kallsyms);
	free(s->maps);
	free(s->threads);
	free(s->files);
	free(s->jvms);
	free(s);
}

const struct recording *sources_input(const struct sources *s)
{
	return s->in;
}

const struct kallsyms *sources_kallsyms(const struct sources *s)
{
	return s->kallsyms;
}

size_t sources_file(const struct sources *s, size_t number)
{
	return s->files[number].first;
}

size_t sources_cut(const struct sources *s)
{
	return __atomic_load_n(&s->cut, __ATOMIC_RELAXED);
}

/* Files that are loaded at the same time do not know of each other: one more for each thread. */
static struct elfsym *load_symbols(struct sources *s, const struct session_elf *elf)
{
	struct elfsym *ret = NULL;
	struct err ignored;
	bool cut = __atomic_load_n(&s->functions, __ATOMIC_RELAXED) >= ELF_FUNCS_ALL;

	if (!cut)
		ret = elfsym_open(elf->fd, elf->debug_fd, &ignored);
	if (ret)
		__atomic_fetch_add(&s->functions, elfsym_count(ret, &cut), __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->cut, cut, __ATOMIC_RELAXED);
	return ret;
}

const struct elfsym *sources_elf(struct sources *s, size_t number)
{
	struct elf_source *f = &s->files[s->files[number].first];

	pthread_mutex_lock(&f->lock);
	if (!f->loaded)
		f->symbols = load_symbols(s, &s->in->elfs[f->first]);
	f->loaded = true;
	pthread_mutex_unlock(&f->lock);
	return f->symbols;
}

/* ---- JVMs -------------------------------------------------------------------------------- */

size_t sources_jvm_count(const struct sources *s)
{
	return s->jvm_count;
}

uint32_t sources_jvm(const struct sources *s, pid_t pid)
{
	for (size_t i = 0; i < s->jvm_count; i++)
		if (s->jvms[i].pid == pid)
			return (uint32_t)i + 1;
	return 0;
}

/* Code that cannot be read stays unnamed, which the quality line shows. */
static void load_map(struct jvm_code *c, int fd)
{
	struct err ignored;
	int done;

	if (!snapfile_is(fd)) {
		done = perf_map_read(c->map, fd, &ignored);
	} else {
		c->snapshot = c->snapshot ? c->snapshot : snapfile_new();
		done = snapfile_read(c->snapshot, fd, &ignored);
	}
	(void)done;
}

static void load_code(const struct sources *s, pid_t pid, struct jvm_code *c)
{
	c->map = perf_map_new();
	/* In ascending order: the later wins. */
	for (size_t i = 0; i < s->in->map_count; i++) {
		const struct session_map *m = &s->in->maps[s->maps[i].value];

		if (m->pid == pid && !session_map_is_dump(m))
			load_map(c, m->fd);
	}
	perf_map_finish(c->map);
	if (c->snapshot)
		snapfile_finish(c->snapshot);
}

const struct jvm_code *sources_code(struct sources *s, uint32_t jvm)
{
	struct code_source *j = &s->jvms[jvm - 1];

	pthread_mutex_lock(&j->lock);
	if (!j->loaded)
		load_code(s, j->pid, &j->code);
	j->loaded = true;
	pthread_mutex_unlock(&j->lock);
	return &j->code;
}

const char *sources_thread_name(struct sources *s, pid_t pid, pid_t tid, size_t *ret_len)
{
	size_t n = s->in->thread_count, at = keyed_upper(s->threads, n, key_of(pid, tid));
	uint32_t jvm = sources_jvm(s, pid);
	const struct snapfile *sf;

	if (!at || s->threads[at - 1].key != key_of(pid, tid) || !jvm)
		return NULL;
	sf = sources_code(s, jvm)->snapshot;
	return sf ? snapfile_thread(sf, (uint32_t)s->threads[at - 1].value, ret_len) : NULL;
}
