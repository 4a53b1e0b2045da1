// SPDX-License-Identifier: Apache-2.0
#include "discover/cgroup.h"

#include "common/str.h"

#define ID_LEN 64

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Start of a run of exactly 64 hex digits in [p, end), or NULL. */
static const char *find_id(const char *p, const char *end)
{
	for (const char *run = p; p <= end; p++) {
		if (p < end && is_hex(*p))
			continue;
		if (p - run == ID_LEN)
			return run;
		run = p + 1;
	}
	return NULL;
}

bool cgroup_container_id(const char *cgroup, char ret[static 65], bool *ret_nested)
{
	const char *best = NULL, *outer = NULL; /* outer: of this line */

	*ret_nested = false;
	for (const char *at = cgroup; *at;) {
		const char *end = at + strcspn(at, "/\n");
		const char *id = find_id(at, end);

		/* A later component is the inner container (docker in docker). */
		if (id) {
			*ret_nested = outer && memcmp(outer, id, ID_LEN) != 0;
			best = id;
			outer = outer ? outer : id;
		}
		if (*end == '\n')
			outer = NULL;
		at = end + (*end != '\0');
	}
	if (!best)
		return false;
	memcpy(ret, best, ID_LEN);
	ret[ID_LEN] = '\0';
	return true;
}

struct cgroup_line {
	const char *own;  /* after the first ':' */
	const char *path; /* after the second one */
	const char *end;
};

/* Parses the line at *at and advances to the next; lines without two ':' are skipped. */
static bool next_line(const char **at, struct cgroup_line *ret)
{
	while (**at) {
		const char *end = *at + strcspn(*at, "\n");
		const char *own = memchr(*at, ':', (size_t)(end - *at));
		const char *path = own ? memchr(own + 1, ':', (size_t)(end - own - 1)) : NULL;

		*at = end + (*end != '\0');
		if (path) {
			*ret = (struct cgroup_line){own + 1, path + 1, end};
			return true;
		}
	}
	return false;
}

/* Copies the runtime's id, "web" of "/a/web" or "/a/runc-web.scope"; false for another unit. */
static bool copy_runtime_id(const struct cgroup_line *line, char ret[static 256])
{
	static const char *const scopes[] = {"runc-", "crun-"};
	static const char *const units[] = {".service", ".scope", ".slice", ".mount", ".socket"};
	const char *slash = memrchr(line->path, '/', (size_t)(line->end - line->path));
	size_t len = slash ? (size_t)(line->end - slash - 1) : 0;
	char name[256];

	if (len == 0 || len >= sizeof(name))
		return false;
	memcpy(name, slash + 1, len);
	name[len] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(scopes); i++)
		if (has_prefix(name, scopes[i]) && has_suffix(name, ".scope")) {
			name[len - strlen(".scope")] = '\0';
			if (!name[strlen(scopes[i])])
				return false;
			strcpy(ret, name + strlen(scopes[i]));
			return true;
		}
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (has_suffix(name, units[i]))
			return false;
	strcpy(ret, name);
	return true;
}

bool cgroup_runtime_id(const char *cgroup, char ret[static 256])
{
	struct cgroup_line line;
	size_t longest = 0;

	while (next_line(&cgroup, &line)) {
		size_t len = (size_t)(line.end - line.path);

		if (len > longest && copy_runtime_id(&line, ret))
			longest = len;
	}
	return longest;
}

/* True for "ID", "docker-ID.scope", "libpod-payload-ID", "kubelet.slice:cri-containerd:ID" … */
static bool names(const char *component, const char *end, const char *id)
{
	static const char scope[] = ".scope";
	size_t len = (size_t)(end - component), id_len = strlen(id);

	if (len > strlen(scope) && memcmp(end - strlen(scope), scope, strlen(scope)) == 0)
		len -= strlen(scope);
	return id_len && len >= id_len && memcmp(component + len - id_len, id, id_len) == 0 &&
	       (len == id_len || strchr("-:", component[len - id_len - 1]));
}

/* Returns the end of the first component that names the container; without one the line's. */
static const char *end_of_container(const struct cgroup_line *line, const char *id)
{
	const char *end;

	for (const char *at = line->path; at < line->end; at = end + 1) {
		end = memchr(at, '/', (size_t)(line->end - at));
		if (!end)
			end = line->end;
		if (names(at, end, id))
			return end;
	}
	return line->end;
}

char *cgroup_own_line(const char *cgroup, const char *id)
{
	struct cgroup_line line, best = {0};
	size_t longest = 1; /* "/" belongs to no process alone */

	while (next_line(&cgroup, &line))
		if ((size_t)(line.end - line.path) > longest) {
			longest = (size_t)(line.end - line.path);
			best = line;
		}
	return best.own ? xstrndup(best.own, (size_t)(end_of_container(&best, id) - best.own))
			: NULL;
}

/* True if the list of controllers, up to ':', has the controller. */
static bool has_controller(const struct cgroup_line *line, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = line->own; at + len < line->path; at += strcspn(at, ",:") + 1)
		if (!memcmp(at, name, len) && strchr(",:", at[len]))
			return true;
	return false;
}

char *cgroup_path(const char *cgroup, const char *id, const char *controller, bool *ret_v1)
{
	struct cgroup_line line, best = {0};

	*ret_v1 = false;
	while (!*ret_v1 && next_line(&cgroup, &line)) {
		*ret_v1 = controller && has_controller(&line, controller);
		if (*ret_v1 || *line.own == ':')
			best = line;
	}
	if (!best.own || best.end - best.path <= 1) /* "/" */
		return NULL;
	return xstrndup(best.path, (size_t)(end_of_container(&best, id) - best.path));
}

bool cgroup_is_below(const char *cgroup, const char *own)
{
	size_t len = strlen(own);
	struct cgroup_line line;

	while (next_line(&cgroup, &line))
		if ((size_t)(line.end - line.own) >= len && !memcmp(line.own, own, len) &&
		    (line.own + len == line.end || line.own[len] == '/'))
			return true;
	return false;
}
