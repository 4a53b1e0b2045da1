// SPDX-License-Identifier: Apache-2.0
/* Docker: dfg-runtime in daemon.json, as a runtime and as the default one; and the dockerd that
 * reads the file. */
#include <signal.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/proc.h"
#include "oci/jsontext.h"
#include "setup/change.h"
#include "setup/daemon.h"
#include "setup/engine.h"

#define NAME	"dfg" /* of the runtime, in Docker */
#define PROGRAM "/dfg-runtime"

#define OUTPUT_MAX (8u << 20)
#define ASK_MS	   5000
#define RELOAD_MS  5000

static const char *const usual_path[] = {"default-runtime", NULL};
static const char *const runtimes_path[] = {"runtimes", NULL};
static const char *const ours_path[] = {"runtimes", NAME, NULL};
static const char *const program_path[] = {"runtimes", NAME, "path", NULL};

/* A string of the text, owned; NULL where there is none. */
static char *get_string(const struct str *text, const char *const *path)
{
	struct json_span span;

	return json_text_get(text, path, &span) > 0 ? json_text_string(text, &span) : NULL;
}

static bool is_ours(const struct str *text)
{
	CLEANUP(free) char *program = get_string(text, program_path);

	return program && has_suffix(program, PROGRAM);
}

static bool is_usual(const struct str *text)
{
	CLEANUP(free) char *usual = get_string(text, usual_path);

	return usual && !strcmp(usual, NAME);
}

void read_docker(int rootfd, const char *file, struct engine_setting *ret)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(free) char *program = NULL;

	if (change_read(rootfd, file, &text, NULL) <= 0 || !is_ours(&text))
		return;
	program = get_string(&text, program_path);
	engine_setting_add(ret, file, program, is_usual(&text));
}

/* ---- the text ---- */

static int check(const struct setup *s, const struct str *text, struct err *err)
{
	CLEANUP(free) char *usual = get_string(text, usual_path);
	struct json_span span;

	if (!json_text_is_object(text) || json_text_get(text, usual_path, &span) < 0 ||
	    json_text_get(text, program_path, &span) < 0)
		return err_set(err, 0, "has unexpected content: it should be one JSON object");
	if (json_text_get(text, ours_path, &span) > 0 && !is_ours(text))
		return err_set(err, 0, "has a runtime " NAME " that is not dfg's");
	/* dfg-runtime would run runc in its place. */
	if (!s->opt_in && usual && strcmp(usual, NAME) != 0 && strcmp(usual, "runc") != 0)
		return err_set(err, 0,
			       "the default runtime is %s, and dfg-runtime runs runc, not another "
			       "wrapper: with --opt-in only docker run --runtime " NAME " uses it",
			       usual);
	return 0;
}

static int add_runtime(struct str *text, const void *what, struct err *err)
{
	const struct setup *s = what;
	CLEANUP(free) char *runtime = xasprintf("{\"path\": \"%s\"}", s->runtime);

	if (strpbrk(s->runtime, "\"\\") ||
	    !json_text_is_object(&(struct str){.buf = runtime, .len = strlen(runtime)}))
		return err_set(err, 0, "%s cannot be written into a JSON file", s->runtime);
	if (!text->len) {
		str_addf(text, "{\n  \"runtimes\": {\"" NAME "\": %s}%s\n}\n", runtime,
			 s->opt_in ? "" : ",\n  \"default-runtime\": \"" NAME "\"");
		return 0;
	}
	if (check(s, text, err) < 0)
		return -1;
	if ((!s->opt_in && json_text_set(text, usual_path, "\"" NAME "\"") < 0) ||
	    json_text_set(text, ours_path, runtime) < 0)
		return err_set(err, 0, "has unexpected content: its runtimes");
	return 0;
}

/* Makes the earlier default the default again. */
static int restore_usual(struct str *text, const struct str *before)
{
	CLEANUP(free) char *old = before ? get_string(before, usual_path) : NULL;
	CLEANUP(free) char *value = old ? xasprintf("\"%s\"", old) : NULL;

	if (!is_usual(text))
		return 0;
	return value ? json_text_set(text, usual_path, value) : json_text_remove(text, usual_path);
}

static int remove_runtime(struct str *text, const struct str *before, const void *what,
			  struct err *err)
{
	const struct setup *s = what;

	if (!text->len)
		return 0;
	if (!json_text_is_object(text))
		return err_set(err, 0, "has unexpected content: it should be one JSON object");
	if (!is_ours(text))
		return 0;
	if ((!s->keep_name && (json_text_remove(text, ours_path) < 0 ||
			       json_text_remove_empty(text, runtimes_path) < 0)) ||
	    restore_usual(text, before) < 0)
		return err_set(err, 0, "has unexpected content: its runtimes");
	return 0;
}

/* ---- dfg.conf ---- */

#define EARLY "# dfg-setup install docker --early\nearly = yes\n"

static int add_early(struct str *text, const void *what, struct err *err)
{
	(void)what;
	(void)err;
	if (text->len && text->buf[text->len - 1] != '\n')
		str_addc(text, '\n');
	str_adds(text, EARLY);
	return 0;
}

static int remove_early(struct str *text, const struct str *before, const void *what,
			struct err *err)
{
	char *at = text->len ? strstr(text->buf, EARLY) : NULL;

	(void)before;
	(void)what;
	(void)err;
	if (at) {
		memmove(at, at + strlen(EARLY), strlen(at + strlen(EARLY)) + 1);
		text->len -= strlen(EARLY);
	}
	return 0;
}

/* dfg-runtime has no arguments of its own: it reads this in dfg.conf. */
static int plan_conf(const struct setup *s, bool install, struct changes *ret, struct err *err)
{
	return change_plan(ret, s->rootfd, s->conf + 1, &(struct edit){s, add_early, remove_early},
			   install && s->early, err);
}

/* ---- the daemon ---- */

static bool find_dockerd(const char *file, struct daemon *ret)
{
	static const struct daemon_kind dockerd = {
		"dockerd", {"--config-file"}, "etc/docker/daemon.json"};

	return daemon_find(&dockerd, file, ret);
}

/* True if its command line has a runtime, too: Docker refuses a file that repeats it, and would not
 * start any more. Then err says so. */
static bool has_flags(const char *file, struct err *err)
{
	static const char *const flags[] = {"--add-runtime", "--default-runtime"};
	const char *flag = NULL;
	CLEANUP(daemon_fini) struct daemon daemon = DAEMON_NONE;

	if (!find_dockerd(file, &daemon))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (proc_arg(&daemon.args, flags[i]))
			flag = flags[i];
	if (flag)
		err_set(err, 0,
			"/%s: dockerd is started with %s, and refuses a file that sets it, too: "
			"remove it from the command line first",
			file, flag);
	return flag;
}

/* Output of docker(1), which asks the daemon that the caller means; NULL if it fails. */
static char *ask(const struct setup *s, const char *const *args, size_t count)
{
	const char *given = getenv("DOCKER_HOST");
	CLEANUP(free) char *host = given ? xasprintf("DOCKER_HOST=%s", given) : NULL;
	CLEANUP(free) const char **argv = xcalloc(count + 2, sizeof(*argv));
	CLEANUP(str_fini) struct str out = {0};

	argv[0] = s->program ? s->program : "docker";
	memcpy(argv + 1, args, count * sizeof(*args));
	if (child_capture((char *const *)argv, (char *[]){host, NULL}, -1, ASK_MS, OUTPUT_MAX, &out,
			  NULL) != 0)
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
	size_t count = ARRAY_LEN(head), cap = count;
	CLEANUP(free) const char **args = xcalloc(cap, sizeof(*args));
	char *save = NULL;

	memcpy(args, head, sizeof(head));
	for (char *id = ids ? strtok_r(ids, "\n", &save) : NULL; id;
	     id = strtok_r(NULL, "\n", &save)) {
		args = grow(args, count, &cap, sizeof(*args));
		args[count++] = id;
	}
	return count > ARRAY_LEN(head) ? ask(s, args, count) : NULL;
}

/* The names of the containers, running or not, that were made with this runtime: "web, db". NULL:
 * none, or no answer. Owned. */
static char *containers_of(const struct setup *s, const char *file, const char *runtime)
{
	CLEANUP(free) char *lines = NULL;
	CLEANUP(str_fini) struct str names = {0};
	CLEANUP(daemon_fini) struct daemon daemon = DAEMON_NONE;
	char *save = NULL;

	if (!find_dockerd(file, &daemon))
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

/* Effect of a restart on containers, for the administrator. */
static const char *restart_words(const struct setup *s)
{
	CLEANUP(free) char *live = ASK(s, "info", "--format", "{{.LiveRestoreEnabled}}");

	return live && has_prefix(live, "true") ? "containers keep running (live-restore)"
						: "this stops containers, as live-restore is off";
}

/* Makes it read the file again (SIGHUP; containers are not affected), and waits until `runtime` is
 * its default (NULL: does not wait). Logs the result. */
static void reload(const struct setup *s, const char *file, const char *runtime)
{
	CLEANUP(daemon_fini) struct daemon daemon = DAEMON_NONE;
	struct err err;

	if (!find_dockerd(file, &daemon)) {
		log_info("no running dockerd reads /%s; it takes effect at the next start", file);
		return;
	}
	if (daemon_signal(&daemon, SIGHUP, &err) < 0) {
		log_warn("dockerd does not reload: %s; restart it: %s", err.msg, restart_words(s));
		return;
	}
	for (int ms = 0; runtime && ms < RELOAD_MS; ms += 100) {
		if (is_default(s, runtime)) {
			log_info("dockerd (%d) has reloaded it: new containers are started by %s",
				 (int)daemon.pid, runtime);
			return;
		}
		sleep_ms(100);
	}
	if (runtime)
		log_warn("dockerd (%d) was signalled to reload /%s, but does not report %s as its "
			 "default runtime; see its log, or restart it: %s",
			 (int)daemon.pid, file, runtime, restart_words(s));
}

/* ---- the changes ---- */

int plan_docker(const struct setup *s, bool install, const char *file, struct changes *ret,
		struct err *err)
{
	CLEANUP(free) char *users = NULL;
	struct setup own = *s;

	if (install && !s->force && has_flags(file, err))
		return -1;
	users = install || s->force ? NULL : containers_of(s, file, NAME);
	own.keep_name = users;
	if (change_plan(ret, s->rootfd, file, &(struct edit){&own, add_runtime, remove_runtime},
			install, err) < 0)
		return -1;
	return plan_conf(s, install, ret, err);
}

/* Sets runc as the default and reloads: Docker keeps the last default when it reloads a file
 * without one (moby daemon/reload_unix.go, reloadPlatform). */
static int set_runc(const struct setup *s, const struct changes *c, struct err *err)
{
	struct changes step = {0};
	int rc = 0;

	for (size_t i = 0; i < c->count && rc == 0; i++) {
		CLEANUP(str_fini) struct str text = {0};
		const struct change *at = &c->list[i];

		if (!is_usual(&at->now))
			continue;
		str_add(&text, at->now.buf, at->now.len);
		if (json_text_set(&text, usual_path, "\"runc\"") < 0 ||
		    change_plan_whole(&step, s->rootfd, at->path, text.buf, 0, err) < 0 ||
		    changes_apply(&step, s->rootfd, err) < 0)
			rc = -1;
		else
			reload(s, at->path, "runc");
	}
	changes_fini(&step);
	return rc;
}

int apply_docker(const struct setup *s, bool install, const char *file, const struct changes *c,
		 struct err *err)
{
	CLEANUP(free) char *users = NULL;

	if (!install && set_runc(s, c, err) < 0)
		return -1;
	if (changes_apply(c, s->rootfd, err) < 0)
		return -1;
	if (install) {
		reload(s, file, s->opt_in ? NULL : NAME);
		return 0;
	}
	users = s->force ? NULL : containers_of(s, file, NAME);
	if (users)
		return err_set(err, 0,
			       "new containers are without dfg, but these have the runtime \"" NAME
			       "\" and could not start again without it: %s; recreate them and "
			       "run remove again, or --force",
			       users);
	return 0;
}
