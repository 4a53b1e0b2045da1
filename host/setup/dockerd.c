// SPDX-License-Identifier: Apache-2.0
#include "setup/dockerd.h"

#include <signal.h>
#include <time.h>

#include "common/child.h"
#include "common/log.h"
#include "common/proc.h"
#include "setup/daemon.h"

#define OUTPUT_MAX (8u << 20)
#define ASK_MS	   5000
#define RELOAD_MS  5000

static bool find(const char *file, struct daemon *ret)
{
	static const struct daemon_kind dockerd = {
		"dockerd", {"--config-file"}, "etc/docker/daemon.json"};

	return daemon_find(&dockerd, file, ret);
}

bool dockerd_has_flags(const char *file, struct err *err)
{
	static const char *const flags[] = {"--add-runtime", "--default-runtime"};
	const char *flag = NULL;
	CLEANUP(daemon_fini) struct daemon daemon = {0};

	if (!find(file, &daemon))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (proc_arg(&daemon.args, flags[i]))
			flag = flags[i];
	if (flag)
		err_set(err, 0,
			"/%s: dockerd is started with %s, and refuses a file that sets it, too: "
			"take it from the command line first",
			file, flag);
	return flag;
}

/* docker(1) asks the daemon that the caller means. Returns what it printed, or NULL. */
static char *ask(const struct setup *s, const char *const *args, size_t count)
{
	const char *given = getenv("DOCKER_HOST");
	CLEANUP(free) char *host = given ? xasprintf("DOCKER_HOST=%s", given) : NULL;
	CLEANUP(free) const char **argv = xcalloc(count + 2, sizeof(*argv));
	CLEANUP(str_fini) struct str out = {0};
	struct err err;

	argv[0] = s->program ? s->program : "docker";
	memcpy(argv + 1, args, count * sizeof(*args));
	if (child_capture((char *const *)argv, (char *[]){host, NULL}, -1, ASK_MS, OUTPUT_MAX, &out,
			  &err) != 0)
		return NULL;
	return xstrdup(out.buf ? out.buf : "");
}

#define ASK(s, ...)                                                                                \
	ask(s, (const char *const[]){__VA_ARGS__},                                                 \
	    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Lines "RUNTIME /NAME" of the containers. */
static char *list_runtimes(const struct setup *s)
{
	static const char *const head[] = {"inspect", "-f", "{{.HostConfig.Runtime}} {{.Name}}"};
	CLEANUP(free) char *ids = ASK(s, "ps", "-aq");
	CLEANUP(free) const char **args = NULL;
	size_t count = 0, cap = 0;
	char *save = NULL;

	for (; count < ARRAY_LEN(head); count++) {
		args = grow(args, count, &cap, sizeof(*args));
		args[count] = head[count];
	}
	for (char *id = ids ? strtok_r(ids, "\n", &save) : NULL; id;
	     id = strtok_r(NULL, "\n", &save)) {
		args = grow(args, count, &cap, sizeof(*args));
		args[count++] = id;
	}
	return count > ARRAY_LEN(head) ? ask(s, args, count) : NULL;
}

char *dockerd_containers_of(const struct setup *s, const char *file, const char *runtime)
{
	CLEANUP(free) char *lines = NULL;
	CLEANUP(str_fini) struct str names = {0};
	CLEANUP(daemon_fini) struct daemon daemon = {0};
	char *save = NULL;

	if (!find(file, &daemon))
		return NULL;
	lines = list_runtimes(s);
	for (char *l = lines ? strtok_r(lines, "\n", &save) : NULL; l;
	     l = strtok_r(NULL, "\n", &save)) {
		char *name = strchr(l, ' ');

		if (!name || strncmp(l, runtime, strlen(runtime)) || l[strlen(runtime)] != ' ')
			continue;
		name += strspn(name, " /");
		str_adds(&names, names.len ? ", " : "");
		str_add_clean(&names, name, strlen(name));
	}
	return names.len ? xstrdup(names.buf) : NULL;
}

static bool is_default(const struct setup *s, const char *runtime)
{
	CLEANUP(free) char *answer = ASK(s, "info", "--format", "{{.DefaultRuntime}}");

	return answer && !strncmp(answer, runtime, strlen(runtime)) &&
	       answer[strlen(runtime)] == '\n';
}

/* What a restart would do to containers, for who has to restart it. */
static const char *restart_words(const struct setup *s)
{
	CLEANUP(free) char *live = ASK(s, "info", "--format", "{{.LiveRestoreEnabled}}");

	return live && has_prefix(live, "true") ? "containers keep running (live-restore)"
						: "this stops containers, as live-restore is off";
}

void dockerd_reload(const struct setup *s, const char *file, const char *runtime)
{
	CLEANUP(daemon_fini) struct daemon daemon = {0};

	if (!find(file, &daemon)) {
		log_info("no dockerd runs that reads /%s; it counts from its next start", file);
		return;
	}
	if (kill(daemon.pid, SIGHUP) < 0) {
		log_warn("dockerd (%d) could not be told; restart it: %s", (int)daemon.pid,
			 restart_words(s));
		return;
	}
	for (int ms = 0; runtime && ms < RELOAD_MS; ms += 100) {
		if (is_default(s, runtime)) {
			log_info("dockerd (%d) has reloaded it: new containers are started by %s",
				 (int)daemon.pid, runtime);
			return;
		}
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	}
	if (runtime)
		log_warn("dockerd (%d) was told to reload /%s, but does not say that %s is its "
			 "default runtime; see its log, or restart it: %s",
			 (int)daemon.pid, file, runtime, restart_words(s));
}
