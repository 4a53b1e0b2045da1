// SPDX-License-Identifier: Apache-2.0
#include "record/targets.h"

#include "common/str.h"
#include "record/elf_copy.h"
#include "record/perf.h"

/* ---- finding ---- */

static bool known(const struct targets *t, const struct container *c)
{
	for (size_t i = 0; i < t->count; i++)
		if (!strcmp(t->list[i].container.id, c->id) &&
		    !strcmp(t->list[i].container.space, c->space))
			return true;
	return false;
}

/* Takes the container over. False when it has no process left. */
static bool add(struct targets *t, struct container *c)
{
	struct target new = {.container = *c, .session = {.dirfd = -1, .mapsfd = -1, .elffd = -1}};
	struct err err;

	if (known(t, c) || container_pids(c, &new.pids, &new.pid_count, &err) < 0) {
		container_fini(c);
		return false;
	}
	jvms_find(new.pids, new.pid_count, &new.jvms);
	t->list = grow(t->list, t->count, &t->cap, sizeof(new));
	t->list[t->count++] = new;
	*c = (struct container){0};
	return true;
}

static void target_fini(struct target *t)
{
	container_fini(&t->container);
	jvms_fini(&t->jvms);
	free(t->pids);
	free(t->outdir);
	free(t->watches);
	if (t->has_session)
		session_fini(&t->session);
}

void targets_fini(struct targets *t)
{
	for (size_t i = 0; i < t->count; i++)
		target_fini(&t->list[i]);
	free(t->list);
	*t = (struct targets){0};
}

static enum exit_status find_all(const struct options *o, struct targets *ret, struct err *err)
{
	struct containers c;

	if (containers_list(o->snapshot.root, &c, err) < 0)
		return EXIT_FAILED;
	for (size_t i = 0; i < c.count; i++) {
		if (!add(ret, &c.list[i]))
			continue;
		if (ret->list[ret->count - 1].jvms.count == 0)
			target_fini(&ret->list[--ret->count]);
	}
	containers_fini(&c);
	if (ret->count == 0) {
		err_set(err, 0, "no container with a JVM runs on this host");
		return EXIT_NO_JVM;
	}
	return EXIT_DONE;
}

/* Containers of a pod that has a JVM need none of their own. */
static void add_found(struct containers *c, struct targets *ret)
{
	size_t first = ret->count, jvms = 0;

	for (size_t i = 0; i < c->count; i++)
		if (add(ret, &c->list[i]))
			jvms += ret->list[ret->count - 1].jvms.count;
	for (size_t i = first; i < ret->count; i++)
		ret->list[i].may_lack_jvm = jvms > 0;
	containers_fini(c);
}

static enum exit_status find_one(const struct options *o, const char *name, struct targets *ret,
				 struct err *err)
{
	struct containers c = {0};

	if (o->by_pid) {
		int pid = 0;

		c.list = grow(NULL, 0, &c.cap, sizeof(*c.list));
		if (!parse_pid(name, &pid) ||
		    container_of_pid(o->snapshot.root, pid, c.list, err) < 0) {
			containers_fini(&c);
			return EXIT_NO_CONTAINER;
		}
		c.count = 1;
	} else if (containers_find(o->snapshot.root, name, &c, err) != CONTAINER_FOUND) {
		return EXIT_NO_CONTAINER;
	}
	add_found(&c, ret);
	return EXIT_DONE;
}

enum exit_status targets_find(const struct options *o, struct targets *ret, struct err *err)
{
	*ret = (struct targets){0};
	if (o->all)
		return find_all(o, ret, err);
	for (size_t i = 0; i < o->name_count; i++) {
		enum exit_status status = find_one(o, o->names[i], ret, err);

		if (status != EXIT_DONE)
			return status;
	}
	if (ret->count == 0) {
		err_set(err, 0, "the container ended before it was looked at");
		return EXIT_NO_CONTAINER;
	}
	return EXIT_DONE;
}

/* ---- processes and snapshots ---- */

static bool has_jvm(const struct jvms *j, pid_t pid)
{
	for (size_t i = 0; i < j->count; i++)
		if (j->list[i].pid == pid)
			return true;
	return false;
}

static void take_new_jvms(struct jvms *known_jvms, struct jvms *found)
{
	for (size_t i = 0; i < found->count; i++) {
		if (has_jvm(known_jvms, found->list[i].pid)) {
			close(found->list[i].procfd);
			continue;
		}
		known_jvms->list = grow(known_jvms->list, known_jvms->count, &known_jvms->cap,
					sizeof(*known_jvms->list));
		known_jvms->list[known_jvms->count++] = found->list[i];
	}
	free(found->list);
}

void target_refresh(struct target *t)
{
	struct jvms found;
	pid_t *pids;
	struct err err;
	size_t count;

	if (container_pids(&t->container, &pids, &count, &err) < 0)
		return; /* it has ended: what was seen before is all there is */
	free(t->pids);
	t->pids = pids;
	t->pid_count = count;
	files_keep(&t->session, pids, count);
	jvms_find(pids, count, &found);
	take_new_jvms(&t->jvms, &found);
}

void targets_pids(const struct targets *t, pid_t **ret, size_t *ret_count)
{
	size_t cap = 0;

	*ret = NULL;
	*ret_count = 0;
	for (size_t i = 0; i < t->count; i++) {
		for (size_t k = 0; k < t->list[i].pid_count; k++) {
			*ret = grow(*ret, *ret_count, &cap, sizeof(**ret));
			(*ret)[(*ret_count)++] = t->list[i].pids[k];
		}
	}
}

int targets_keep_files(struct targets *t, struct err *err)
{
	for (size_t i = 0; i < t->count; i++) {
		struct session *s = &t->list[i].session;

		if (files_keep_kernel(s, i > 0 ? &t->list[0].session : NULL, err) < 0)
			return -1;
		files_keep(s, t->list[i].pids, t->list[i].pid_count);
	}
	return 0;
}

unsigned targets_stack_bytes(const struct targets *t, const struct options *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned bytes = o->stack_bytes ? o->stack_bytes
					: record_stack_bytes(cpus > 0 ? (size_t)cpus : 1,
							     o->frequency, o->duration);
	size_t jvms = 0, kept = 0;

	if (o->unwind != UNWIND_AUTO)
		return o->unwind == UNWIND_VM ? bytes : 0;
	for (size_t i = 0; i < t->count; i++) {
		jvms += t->list[i].jvms.count;
		for (size_t k = 0; k < t->list[i].session.jvm_count; k++)
			kept += t->list[i].session.jvms[k].keeps_fp;
	}
	return jvms && kept == jvms ? 0 : bytes;
}
