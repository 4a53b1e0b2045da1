// SPDX-License-Identifier: Apache-2.0
/* Reading /proc/PID/cgroup (cgroups(7)): "hierarchy-ID:controller-list:path", a line each. */
#include "discover/container.h"

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

bool cgroup_container_id(const char *cgroup, char ret[static 65])
{
	const char *best = NULL;

	for (const char *at = cgroup; *at;) {
		const char *end = at + strcspn(at, "/\n");
		const char *id = find_id(at, end);

		/* A later component is the inner container (docker in docker). */
		if (id)
			best = id;
		at = end + (*end != '\0');
	}
	if (!best)
		return false;
	memcpy(ret, best, ID_LEN);
	ret[ID_LEN] = '\0';
	return true;
}

/* The path of a line, behind its second ':'. */
static const char *line_path(const char *line, const char *end)
{
	const char *p = memchr(line, ':', (size_t)(end - line));

	p = p ? memchr(p + 1, ':', (size_t)(end - p - 1)) : NULL;
	return p ? p + 1 : NULL;
}

char *cgroup_own_line(const char *cgroup)
{
	const char *best = NULL, *best_end = NULL;
	size_t longest = 1; /* "/" tells nothing */

	for (const char *line = cgroup; *line;) {
		const char *end = line + strcspn(line, "\n");
		const char *path = line_path(line, end);

		if (path && (size_t)(end - path) > longest) {
			longest = (size_t)(end - path);
			best = strchr(line, ':') + 1;
			best_end = end;
		}
		line = end + (*end != '\0');
	}
	return best ? xstrndup(best, (size_t)(best_end - best)) : NULL;
}

bool cgroup_is_below(const char *cgroup, const char *own)
{
	size_t len = strlen(own);

	for (const char *line = cgroup; *line;) {
		const char *end = line + strcspn(line, "\n");
		const char *from = memchr(line, ':', (size_t)(end - line));

		if (from && (size_t)(end - ++from) >= len && !memcmp(from, own, len) &&
		    (from + len == end || from[len] == '/'))
			return true;
		line = end + (*end != '\0');
	}
	return false;
}
