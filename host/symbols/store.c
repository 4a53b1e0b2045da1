// SPDX-License-Identifier: Apache-2.0
#include "symbols/store.h"

#include <pthread.h>

#include "common/str.h"

struct file {
	pthread_mutex_t lock;
	bool asked;
	struct elfsym *symbols;
};

struct jvm {
	pthread_mutex_t lock;
	bool asked;
	pid_t pid;
	struct jvm_code code;
};

struct sources {
	const struct recording *in;
	struct threadnames *threads;
	struct kallsyms *kallsyms; /* NULL: none */
	struct file *files;	   /* as in the input */
	struct jvm *jvms;
	size_t jvm_count;
};

struct sources *sources_new(const struct recording *in)
{
	struct sources *s = xcalloc(1, sizeof(*s));
	struct err ignored;

	s->in = in;
	s->threads = threadnames_new(in);
	if (in->kallsyms_fd >= 0)
		s->kallsyms = kallsyms_open(in->kallsyms_fd, &ignored);
	s->files = xcalloc(in->elf_count, sizeof(*s->files));
	for (size_t i = 0; i < in->elf_count; i++)
		pthread_mutex_init(&s->files[i].lock, NULL);
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
		javasym_free(s->jvms[i].code.map);
		snapfile_free(s->jvms[i].code.snapshot);
	}
	threadnames_free(s->threads);
	kallsyms_close(s->kallsyms);
	free(s->files);
	free(s->jvms);
	free(s);
}

const struct recording *sources_input(const struct sources *s)
{
	return s->in;
}

const struct threadnames *sources_threads(const struct sources *s)
{
	return s->threads;
}

const struct kallsyms *sources_kallsyms(const struct sources *s)
{
	return s->kallsyms;
}

const struct elfsym *sources_elf(struct sources *s, size_t number)
{
	const struct session_elf *elf = &s->in->elfs[number];
	struct file *f = &s->files[number];
	struct err ignored;

	pthread_mutex_lock(&f->lock);
	if (!f->asked)
		f->symbols = elfsym_open(elf->fd, elf->debug_fd, &ignored);
	f->asked = true;
	pthread_mutex_unlock(&f->lock);
	return f->symbols;
}

/* ---- code -------------------------------------------------------------------------------- */

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

/* What cannot be read stays unnamed, which the quality line says. */
static void load_map(struct jvm_code *c, int fd)
{
	struct err ignored;
	int done;

	if (!snapfile_is(fd)) {
		done = javasym_read(c->map, fd, &ignored);
	} else {
		c->snapshot = c->snapshot ? c->snapshot : snapfile_new();
		done = snapfile_read(c->snapshot, fd, &ignored);
	}
	(void)done;
}

static void load_code(const struct recording *in, pid_t pid, struct jvm_code *c)
{
	size_t count = in->map_count, done = 0;
	int64_t last = INT64_MIN;

	c->map = javasym_new();
	/* In ascending order: the later wins. */
	while (done < count) {
		int64_t next = INT64_MAX;

		for (size_t i = 0; i < count; i++)
			if (in->maps[i].order > last && in->maps[i].order < next)
				next = in->maps[i].order;
		for (size_t i = 0; i < count; i++) {
			if (in->maps[i].order != next)
				continue;
			done++;
			if (in->maps[i].pid == pid)
				load_map(c, in->maps[i].fd);
		}
		last = next;
	}
	javasym_finish(c->map);
	if (c->snapshot)
		snapfile_finish(c->snapshot);
}

const struct jvm_code *sources_code(struct sources *s, uint32_t jvm)
{
	struct jvm *j = &s->jvms[jvm - 1];

	pthread_mutex_lock(&j->lock);
	if (!j->asked)
		load_code(s->in, j->pid, &j->code);
	j->asked = true;
	pthread_mutex_unlock(&j->lock);
	return &j->code;
}
