// SPDX-License-Identifier: Apache-2.0
#include "jit/threadnames.h"

#include "common/filemap.h"
#include "common/str.h"
#include "common/table.h"
#include "dfg/bytes.h"
#include "dfg/request.h"
#include "jit/snapfile.h"

#define NAMES_MAX (1u << 20)

struct name {
	uint64_t thread; /* key_of process and thread in its namespace */
	const char *text;
	size_t len;
};

struct threadnames {
	struct filemap *files; /* the names are in them */
	size_t file_count;
	struct name *names; /* in the order of time */
	size_t name_count, name_cap;
	struct keyed *by_thread; /* number of a name */
	struct keyed *nstids;	 /* by perf's numbers */
	size_t nstid_count;
};

static uint64_t key_of(pid_t pid, uint32_t tid)
{
	return (uint64_t)(uint32_t)pid << 32 | tid;
}

static void add_name(struct threadnames *tn, pid_t pid, struct bytes b)
{
	const uint8_t *p = bytes_take(&b, sizeof(struct snap_thread));
	struct snap_thread t = {0};

	if (p)
		memcpy(&t, p, sizeof(t));
	if (!t.name_len || t.name_len > b.len || t.name_len > DFG_NAME_MAX ||
	    tn->name_count == NAMES_MAX)
		return;
	tn->names = grow(tn->names, tn->name_count, &tn->name_cap, sizeof(*tn->names));
	tn->names[tn->name_count++] = (struct name){
		.thread = key_of(pid, t.tid), .text = (const char *)b.p, .len = t.name_len};
}

/* One or more snapshots, up to what is no record: a text, zeros. */
static void add_names(struct threadnames *tn, pid_t pid, struct bytes b)
{
	while (!b.bad && b.len >= sizeof(struct snap_record)) {
		struct bytes at = b;
		uint32_t type = bytes_u32(&at), size = bytes_u32(&at);

		if (size < sizeof(struct snap_record) || size % 8 || size > b.len)
			return;
		at = bytes_sub(&b, size);
		if (type == SNAP_THREAD)
			add_name(tn, pid, at);
	}
}

static void read_file(struct threadnames *tn, const struct session_map *m)
{
	struct filemap *f = &tn->files[tn->file_count];
	struct err ignored;

	if (!snapfile_is(m->fd) || filemap_open(m->fd, SNAPFILE_BYTES_MAX, f, &ignored) < 0)
		return;
	tn->file_count++;
	add_names(tn, m->pid, bytes_of(f->p, f->len));
}

struct threadnames *threadnames_new(const struct recording *in)
{
	CLEANUP(free) struct keyed *order = xcalloc(in->map_count, sizeof(*order));
	struct threadnames *tn = xcalloc(1, sizeof(*tn));

	for (size_t i = 0; i < in->map_count; i++)
		order[i] = (struct keyed){.key = (uint64_t)(uint32_t)in->maps[i].order, .value = i};
	keyed_sort(order, in->map_count);
	tn->files = xcalloc(in->map_count, sizeof(*tn->files));
	for (size_t i = 0; i < in->map_count; i++)
		read_file(tn, &in->maps[order[i].value]);
	tn->by_thread = xcalloc(tn->name_count, sizeof(*tn->by_thread));
	for (size_t i = 0; i < tn->name_count; i++)
		tn->by_thread[i] = (struct keyed){.key = tn->names[i].thread, .value = i};
	keyed_sort(tn->by_thread, tn->name_count);
	tn->nstid_count = in->thread_count;
	tn->nstids = xcalloc(in->thread_count, sizeof(*tn->nstids));
	for (size_t i = 0; i < in->thread_count; i++)
		tn->nstids[i] = (struct keyed){
			.key = key_of(in->threads[i].pid, (uint32_t)in->threads[i].tid),
			.value = (uint32_t)in->threads[i].nstid};
	keyed_sort(tn->nstids, in->thread_count);
	return tn;
}

void threadnames_free(struct threadnames *tn)
{
	if (!tn)
		return;
	for (size_t i = 0; i < tn->file_count; i++)
		filemap_close(&tn->files[i]);
	free(tn->files);
	free(tn->names);
	free(tn->by_thread);
	free(tn->nstids);
	free(tn);
}

/* The last of a key's. */
static const struct keyed *find(const struct keyed *a, size_t n, uint64_t key)
{
	size_t at = keyed_upper(a, n, key);

	return at && a[at - 1].key == key ? &a[at - 1] : NULL;
}

const char *threadnames_find(const struct threadnames *tn, pid_t pid, pid_t tid, size_t *ret_len)
{
	const struct keyed *nstid = find(tn->nstids, tn->nstid_count, key_of(pid, (uint32_t)tid));
	const struct keyed *by = NULL;

	if (nstid)
		by = find(tn->by_thread, tn->name_count, key_of(pid, (uint32_t)nstid->value));
	if (!by)
		return NULL;
	*ret_len = tn->names[by->value].len;
	return tn->names[by->value].text;
}
