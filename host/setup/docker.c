// SPDX-License-Identifier: Apache-2.0
/* Docker: dfg-runtime in daemon.json, as a runtime and as the default one. */
#include "oci/jsontext.h"
#include "setup/dockerd.h"
#include "setup/engine.h"

#define NAME	"dfg" /* of the runtime, in Docker */
#define PROGRAM "/dfg-runtime"

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

void look_docker(int rootfd, const char *file, struct engine_setting *ret)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(free) char *program = NULL;
	struct err err;

	if (change_read(rootfd, file, &text, &err) <= 0 || !is_ours(&text))
		return;
	program = get_string(&text, program_path);
	engine_setting_take(ret, file, program, is_usual(&text));
}

/* ---- the text ---- */

static int check(const struct setup *s, const struct str *text, struct err *err)
{
	CLEANUP(free) char *usual = get_string(text, usual_path);
	struct json_span span;

	if (!json_text_is_object(text) || json_text_get(text, usual_path, &span) < 0 ||
	    json_text_get(text, program_path, &span) < 0)
		return err_set(err, 0, "is not understood: it should be one JSON object");
	if (json_text_get(text, ours_path, &span) > 0 && !is_ours(text))
		return err_set(err, 0, "has a runtime " NAME " that is not dfg's");
	/* dfg-runtime would run runc in its place. */
	if (!s->opt_in && usual && strcmp(usual, NAME) != 0 && strcmp(usual, "runc") != 0)
		return err_set(err, 0,
			       "the default runtime is %s, and two wrappers do not go together: "
			       "with --opt-in only docker run --runtime " NAME " uses it",
			       usual);
	return 0;
}

static int put(struct str *text, const void *what, struct err *err)
{
	const struct setup *s = what;
	CLEANUP(free) char *runtime = xasprintf("{\"path\": \"%s\"}", s->runtime);

	if (strpbrk(s->runtime, "\"\\"))
		return err_set(err, 0, "%s: no path for a JSON file", s->runtime);
	if (!text->len) {
		str_addf(text, "{\n  \"runtimes\": {\"" NAME "\": %s}%s\n}\n", runtime,
			 s->opt_in ? "" : ",\n  \"default-runtime\": \"" NAME "\"");
		return 0;
	}
	if (check(s, text, err) < 0)
		return -1;
	if ((!s->opt_in && json_text_set(text, usual_path, "\"" NAME "\"") < 0) ||
	    json_text_set(text, ours_path, runtime) < 0)
		return err_set(err, 0, "its runtimes are not understood");
	return 0;
}

/* What was the default before is the default again. */
static int restore_usual(struct str *text, const struct str *before)
{
	CLEANUP(free) char *old = before ? get_string(before, usual_path) : NULL;
	CLEANUP(free) char *value = old ? xasprintf("\"%s\"", old) : NULL;

	if (!is_usual(text))
		return 0;
	return value ? json_text_set(text, usual_path, value) : json_text_remove(text, usual_path);
}

static int take(struct str *text, const struct str *before, const void *what, struct err *err)
{
	const struct setup *s = what;

	if (!text->len)
		return 0;
	if (!json_text_is_object(text))
		return err_set(err, 0, "is not understood: it should be one JSON object");
	if (!is_ours(text))
		return 0;
	if ((!s->keep_name && (json_text_remove(text, ours_path) < 0 ||
			       json_text_remove_empty(text, runtimes_path) < 0)) ||
	    restore_usual(text, before) < 0)
		return err_set(err, 0, "its runtimes are not understood");
	return 0;
}

/* ---- dfg.conf ---- */

#define EARLY "# dfg-setup install docker --early\nearly = yes\n"

static int put_early(struct str *text, const void *what, struct err *err)
{
	(void)what;
	(void)err;
	if (text->len && text->buf[text->len - 1] != '\n')
		str_addc(text, '\n');
	str_adds(text, EARLY);
	return 0;
}

static int take_early(struct str *text, const struct str *before, const void *what, struct err *err)
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

/* dfg-runtime has no arguments of its own: dfg.conf tells it. */
static int plan_conf(const struct setup *s, bool install, struct changes *ret, struct err *err)
{
	return change_plan(ret, s->rootfd, s->conf + 1, &(struct edit){s, put_early, take_early},
			   install && s->early, err);
}

int plan_docker(const struct setup *s, bool install, const char *file, struct changes *ret,
		struct err *err)
{
	CLEANUP(free) char *users = NULL;
	struct setup own = *s;

	if (install && !s->force && dockerd_has_flags(file, err))
		return -1;
	users = install || s->force ? NULL : dockerd_containers_of(s, file, NAME);
	own.keep_name = users;
	if (change_plan(ret, s->rootfd, file, &(struct edit){&own, put, take}, install, err) < 0)
		return -1;
	return plan_conf(s, install, ret, err);
}

/* ---- carrying it out ---- */

/* Docker keeps the default runtime that it was told last when a file without one is reloaded
 * (moby daemon/reload_unix.go, reloadPlatform): so it is told of runc first. */
static int tell_runc(const struct setup *s, const struct changes *c, struct err *err)
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
			dockerd_reload(s, at->path, "runc");
	}
	changes_fini(&step);
	return rc;
}

int apply_docker(const struct setup *s, bool install, const char *file, const struct changes *c,
		 struct err *err)
{
	CLEANUP(free) char *users = NULL;

	if (!install && tell_runc(s, c, err) < 0)
		return -1;
	if (changes_apply(c, s->rootfd, err) < 0)
		return -1;
	if (install) {
		dockerd_reload(s, file, s->opt_in ? NULL : NAME);
		return 0;
	}
	users = s->force ? NULL : dockerd_containers_of(s, file, NAME);
	if (users)
		return err_set(err, 0,
			       "new containers are without dfg, but these have \"" NAME
			       "\" as their runtime and could not start again without: %s; make "
			       "them anew and say remove again, or --force",
			       users);
	return 0;
}
