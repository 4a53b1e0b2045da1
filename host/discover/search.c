// SPDX-License-Identifier: Apache-2.0
/* Finds a container by a name, an id, or parts of them. */
#include "common/proc.h"
#include "common/str.h"
#include "discover/container.h"

/* Result of comparing a name with a container. */
enum name_match {
	MATCHES_NOT,
	MATCHES_CONTAINER,
	MATCHES_POD, /* all of the pod is meant */
};

/* True for wanted "a/b", where a is not empty. */
static bool is_path(const char *wanted, const char *a, const char *b)
{
	size_t len = strlen(a);

	return len && !strncmp(wanted, a, len) && wanted[len] == '/' &&
	       !strcmp(wanted + len + 1, b);
}

static enum name_match match_id(const struct container *c, const char *wanted)
{
	return !strcmp(c->id, wanted) ? MATCHES_CONTAINER : MATCHES_NOT;
}

static enum name_match match_name(const struct container *c, const char *wanted)
{
	CLEANUP(free) char *file = container_file_name(c);

	if (c->is_pause)
		return MATCHES_NOT;
	if (*c->pod && (!strcmp(c->pod, wanted) || is_path(wanted, c->namespace, c->pod)))
		return MATCHES_POD;
	if (!strcmp(c->name, wanted) || !strcmp(c->label, wanted) || !strcmp(file, wanted))
		return MATCHES_CONTAINER;
	return is_path(wanted, *c->pod ? c->pod : c->namespace, c->name) ? MATCHES_CONTAINER
									 : MATCHES_NOT;
}

static enum name_match match_prefix(const struct container *c, const char *wanted)
{
	return *wanted && has_prefix(c->id, wanted) ? MATCHES_CONTAINER : MATCHES_NOT;
}

typedef enum name_match (*matcher)(const struct container *c, const char *wanted);

/* Appends a name that means this candidate alone. */
static void describe_candidate(struct str *out, const struct container *c, enum name_match how)
{
	const char *namespace = *c->pod || strcmp(c->id, c->name) != 0 ? "" : c->namespace;

	if (how == MATCHES_POD)
		str_addf(out, "pod %s%s%s", c->namespace, *c->namespace ? "/" : "", c->pod);
	else if (*namespace)
		str_addf(out, "%s/%s", namespace, c->name);
	else
		str_addf(out, "%.16s (%s)", c->id, c->label);
}

static bool is_of_pod(const struct container *c, const struct container *pod)
{
	return !strcmp(c->pod, pod->pod) && !strcmp(c->namespace, pod->namespace);
}

/* Marks the containers that match; fails if they are more than one container or pod. */
static enum container_match choose(const struct containers *all, const char *wanted, matcher fn,
				   bool *matched, struct err *err)
{
	CLEANUP(str_fini) struct str candidates = {0};
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct container *c = &all->list[i];
		enum name_match m = fn(c, wanted);
		bool known = false;

		for (size_t k = 0; k < i && m == MATCHES_POD; k++)
			known |= matched[k] && is_of_pod(c, &all->list[k]);
		matched[i] = m != MATCHES_NOT;
		if (!matched[i] || known)
			continue;
		str_adds(&candidates, count++ ? ", " : "");
		describe_candidate(&candidates, c, m);
	}
	if (count > 1) {
		err_set(err, 0, "\"%s\" matches %zu: %s; name one of these", wanted, count,
			candidates.buf);
		return CONTAINER_AMBIGUOUS;
	}
	return count ? CONTAINER_FOUND : CONTAINER_NONE;
}

static void move(struct containers *from, const bool *matched, struct containers *to)
{
	for (size_t i = 0; i < from->count; i++) {
		if (!matched[i])
			continue;
		to->list = grow(to->list, to->count, &to->cap, sizeof(*to->list));
		to->list[to->count++] = from->list[i];
		from->list[i] = (struct container){0};
	}
}

static enum container_match select_by(struct containers *all, const char *wanted, matcher fn,
				      struct containers *ret, struct err *err)
{
	CLEANUP(free) bool *matched = xcalloc(all->count + 1, sizeof(*matched));
	enum container_match match = choose(all, wanted, fn, matched, err);

	if (match == CONTAINER_FOUND) {
		*ret = (struct containers){0};
		move(all, matched, ret);
	}
	return match;
}

/* ---- by a component of a cgroup's path, which is the id of a plain runc container ---- */

struct component_search {
	const char *wanted;
	struct container found;
};

static int match_component(pid_t pid, void *arg)
{
	CLEANUP(handle_close) struct handle p = {.procfd = -1};
	CLEANUP(str_fini) struct str cgroup = {0};
	struct component_search *s = arg;
	size_t len = strlen(s->wanted);

	if (handle_open(pid, &p, NULL) < 0 || proc_read_cgroup(p.procfd, &cgroup, NULL) < 0)
		return 0;
	for (const char *at = cgroup.buf; (at = strchr(at, '/')); at++) {
		if (!strncmp(at + 1, s->wanted, len) && strchr("/\n", at[1 + len])) {
			s->found = (struct container){
				.id = xstrdup(s->wanted),
				.pid = p.pid,
				.start = p.start,
				.cgroup = container_own_cgroup(p.procfd, s->wanted),
			};
			return 1;
		}
	}
	return 0;
}

static bool find_component(const char *wanted, struct containers *ret)
{
	struct component_search s = {.wanted = wanted};
	struct containers found = {0};

	if (!*wanted || strchr(wanted, '/') || proc_each(match_component, &s, NULL) <= 0)
		return false;
	found.list = grow(NULL, 0, &found.cap, sizeof(*found.list));
	found.list[found.count++] = s.found;
	container_set_names(found.list, &(struct engine_names){0});
	*ret = found;
	return true;
}

enum container_match containers_select(struct containers *all, const char *wanted, bool by_cgroup,
				       struct containers *ret, struct err *err)
{
	enum container_match match = select_by(all, wanted, match_id, ret, err);

	if (match == CONTAINER_NONE)
		match = select_by(all, wanted, match_name, ret, err);
	if (match == CONTAINER_NONE && by_cgroup && find_component(wanted, ret))
		match = CONTAINER_FOUND;
	if (match == CONTAINER_NONE)
		match = select_by(all, wanted, match_prefix, ret, err);
	if (match == CONTAINER_NONE)
		err_set(err, 0, "no running container \"%s\"; see dfg-trigger --list", wanted);
	return match;
}

enum container_match containers_find(const char *root, const char *wanted, struct containers *ret,
				     struct err *err)
{
	CLEANUP(containers_fini) struct containers all = {0};

	if (containers_list(root, &all, err) < 0)
		return CONTAINER_NONE;
	return containers_select(&all, wanted, true, ret, err);
}
