// SPDX-License-Identifier: Apache-2.0
#include "engines.h"

#include "dfg/run.h"

#define ENGINE_MS     3000
#define ENGINE_OUTPUT (4u << 20)

/* Where the caller says the engine listens; all else of the caller's environment stays out. */
static char *engine_env(void)
{
	const char *host = getenv("DOCKER_HOST");

	return host ? xasprintf("DOCKER_HOST=%s", host) : NULL;
}

/* Each prints a line per running container: "<full id> <name>[,<name>...]". The engines' own
 * command lines are their stable interface; sockets and state files move between versions. */
static const struct engine {
	const char *name;
	const char *argv[8];
} engines[] = {
	{"docker", {"docker", "ps", "--no-trunc", "--format", "{{.ID}} {{.Names}}", NULL}},
	{"podman", {"podman", "ps", "--no-trunc", "--format", "{{.ID}} {{.Names}}", NULL}},
};

struct names {
	struct engine_name *list;
	size_t count, cap;
};

static void add_lines(struct names *n, const char *engine, char *text)
{
	char *save = NULL, *part = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *id = strtok_r(line, " ,", &part);
		char *name;

		while (id && (name = strtok_r(NULL, " ,", &part))) {
			n->list = grow(n->list, n->count, &n->cap, sizeof(*n->list));
			n->list[n->count++] = (struct engine_name){
				.id = xstrdup(id), .name = xstrdup(name), .engine = engine};
		}
	}
}

size_t engine_names(struct engine_name **ret)
{
	CLEANUP(free) char *host = engine_env();
	char *env[] = {host, NULL};
	struct names n = {0};

	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		CLEANUP(str_fini) struct str out = {0};
		struct err err;
		char *argv[8];

		memcpy(argv, engines[i].argv, sizeof(argv));
		if (run_capture(argv, env, -1, ENGINE_MS, ENGINE_OUTPUT, &out, &err) == 0 &&
		    out.buf)
			add_lines(&n, engines[i].name, out.buf);
	}
	*ret = n.list;
	return n.count;
}

void engine_names_free(struct engine_name *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(names[i].id);
		free(names[i].name);
	}
	free(names);
}
