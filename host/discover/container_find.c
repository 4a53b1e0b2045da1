// SPDX-License-Identifier: Apache-2.0
/* A container by what people call it. */
#include "common/proc.h"
#include "common/str.h"
#include "discover/container.h"

/* How a name meets a container. */
enum meeting {
	MEETS_NOT,
	MEETS_CONTAINER,
	MEETS_POD, /* all of the pod is meant */
};

/* "a/b" is a and b. */
static bool is_path(const char *wanted, const char *a, const char *b)
{
	size_t len = strlen(a);

	return len && !strncmp(wanted, a, len) && wanted[len] == '/' &&
	       !strcmp(wanted + len + 1, b);
}

static enum meeting meets_id(const struct container *c, const char *wanted)
{
	return !strcmp(c->id, wanted) ? MEETS_CONTAINER : MEETS_NOT;
}

static enum meeting meets_name(const struct container *c, const char *wanted)
{
	CLEANUP(free) char *file = container_file_name(c);

	if (c->is_pause)
		return MEETS_NOT;
	if (*c->pod && (!strcmp(c->pod, wanted) || is_path(wanted, c->space, c->pod)))
		return MEETS_POD;
	if (!strcmp(c->name, wanted) || !strcmp(c->label, wanted) || !strcmp(file, wanted))
		return MEETS_CONTAINER;
	return is_path(wanted, *c->pod ? c->pod : c->space, c->name) ? MEETS_CONTAINER : MEETS_NOT;
}

static enum meeting meets_beginning(const struct container *c, const char *wanted)
{
	return *wanted && has_prefix(c->id, wanted) ? MEETS_CONTAINER : MEETS_NOT;
}

typedef enum meeting (*meets)(const struct container *c, const char *wanted);

/* How to name it so that it alone is meant. */
static void tell_candidate(struct str *out, const struct container *c, enum meeting how)
{
	const char *space = *c->pod || strcmp(c->id, c->name) != 0 ? "" : c->space;

	if (how == MEETS_POD)
		str_addf(out, "pod %s%s%s", c->space, *c->space ? "/" : "", c->pod);
	else if (*space)
		str_addf(out, "%s/%s", space, c->name);
	else
		str_addf(out, "%.16s (%s)", c->id, c->label);
}

static bool is_of_pod(const struct container *c, const struct container *pod)
{
	return !strcmp(c->pod, pod->pod) && !strcmp(c->space, pod->space);
}

/* Marks in `taken` what the name means, and fails where that is more than a container or a pod. */
static enum container_match choose(const struct containers *all, const char *wanted, meets how,
				   bool *taken, struct err *err)
{
	CLEANUP(str_fini) struct str candidates = {0};
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct container *c = &all->list[i];
		enum meeting m = how(c, wanted);
		bool known = false;

		for (size_t k = 0; k < i && m == MEETS_POD; k++)
			known |= taken[k] && is_of_pod(c, &all->list[k]);
		taken[i] = m != MEETS_NOT;
		if (!taken[i] || known)
			continue;
		str_adds(&candidates, count++ ? ", " : "");
		tell_candidate(&candidates, c, m);
	}
	if (count > 1) {
		err_set(err, 0, "\"%s\" may be any of %zu: %s; name one of these", wanted, count,
			candidates.buf);
		return CONTAINER_AMBIGUOUS;
	}
	return count ? CONTAINER_FOUND : CONTAINER_NONE;
}

static void move(struct containers *from, const bool *taken, struct containers *to)
{
	for (size_t i = 0; i < from->count; i++) {
		if (!taken[i])
			continue;
		to->list = grow(to->list, to->count, &to->cap, sizeof(*to->list));
		to->list[to->count++] = from->list[i];
		from->list[i] = (struct container){0};
	}
}

static enum container_match select_by(struct containers *all, const char *wanted, meets how,
				      struct containers *ret, struct err *err)
{
	CLEANUP(free) bool *taken = xcalloc(all->count + 1, sizeof(*taken));
	enum container_match match = choose(all, wanted, how, taken, err);

	if (match == CONTAINER_FOUND) {
		*ret = (struct containers){0};
		move(all, taken, ret);
	}
	return match;
}

/* ---- a container of runc without hook: its id is a component of its cgroup's path ---- */

struct component {
	const char *wanted;
	pid_t pid;
};

static int match_component(pid_t pid, void *arg)
{
	CLEANUP(close_fd) int procfd = -1;
	CLEANUP(str_fini) struct str cgroup = {0};
	struct component *s = arg;
	size_t len = strlen(s->wanted);
	struct err err;

	procfd = proc_open(pid, &err);
	if (procfd < 0 || proc_read_cgroup(procfd, &cgroup, &err) < 0)
		return 0;
	for (const char *p = cgroup.buf; (p = strchr(p, '/')); p++) {
		if (!strncmp(p + 1, s->wanted, len) && strchr("/\n", p[1 + len])) {
			s->pid = pid;
			return 1;
		}
	}
	return 0;
}

static bool find_component(const char *wanted, struct containers *ret)
{
	struct component s = {.wanted = wanted};
	struct containers found = {0};
	struct err err;

	if (!*wanted || strchr(wanted, '/') || proc_each(match_component, &s, &err) <= 0)
		return false;
	found.list = grow(NULL, 0, &found.cap, sizeof(*found.list));
	found.list[found.count++] = (struct container){.id = xstrdup(wanted), .pid = s.pid};
	container_set_names(found.list, &(struct names){0});
	*ret = found;
	return true;
}

/* `others`: a place to look that is not the list, or NULL. */
static enum container_match search(struct containers *all, const char *wanted,
				   bool (*others)(const char *, struct containers *),
				   struct containers *ret, struct err *err)
{
	enum container_match match = select_by(all, wanted, meets_id, ret, err);

	if (match == CONTAINER_NONE)
		match = select_by(all, wanted, meets_name, ret, err);
	if (match == CONTAINER_NONE && others && others(wanted, ret))
		match = CONTAINER_FOUND;
	if (match == CONTAINER_NONE)
		match = select_by(all, wanted, meets_beginning, ret, err);
	if (match == CONTAINER_NONE)
		err_set(err, 0, "no running container \"%s\"; dfg-trigger --list tells which run",
			wanted);
	return match;
}

enum container_match containers_select(struct containers *all, const char *wanted,
				       struct containers *ret, struct err *err)
{
	return search(all, wanted, NULL, ret, err);
}

enum container_match containers_find(const char *root, const char *wanted, struct containers *ret,
				     struct err *err)
{
	enum container_match match;
	struct containers all;

	if (containers_list(root, &all, err) < 0)
		return CONTAINER_NONE;
	match = search(&all, wanted, find_component, ret, err);
	containers_fini(&all);
	return match;
}
