// SPDX-License-Identifier: Apache-2.0
/* The hook in JSON files:
 * runc and crun: in a bundle's config.json.
 * podman and CRI-O: in a file of oci-hooks(5) (containers/common, pkg/hooks/docs/oci-hooks.5.md,
 * schema 1.0.0). One broken file there makes podman fail for every container, so ours is written
 * whole or not at all.
 * Container Device Interface: in a file that describes a device with the hook (CDI specification,
 * SPEC.md, version 0.5.0: hooks with timeout). */
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>

#include "oci/jsontext.h"
#include "oci/spec.h"
#include "setup/change.h"
#include "setup/engine.h"

#define HOOKS_FILE "50-dfg.json"
#define EARLY_FILE "50-dfg-early.json"
#define CDI_FILE   "dfg.json"

/* ---- bundles ---- */

void read_bundle(int rootfd, const char *file, struct engine_setting *ret)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(free) char *program = NULL;

	if (change_read(rootfd, file, &text, NULL) <= 0)
		return;
	program = oci_spec_find_hook(&text);
	engine_setting_add(ret, file, program, true);
	ret->early |= program && oci_spec_is_early(&text);
}

static int add_hook(struct str *text, const void *what, struct err *err)
{
	const struct setup *s = what;

	if (!text->len)
		return err_set(err, 0, "there is no bundle");
	if (oci_spec_add_hook(text, s->hook, s->root, err) < 0)
		return -1;
	return s->early && oci_spec_add_early(text, err) < 0 ? -1 : 0;
}

static int remove_hook(struct str *text, const struct str *before, const void *what,
		       struct err *err)
{
	(void)before;
	(void)what;
	int hook = oci_spec_remove_hook(text, err);

	/* The flags are ours where the hook is. */
	return hook < 0 || (hook && oci_spec_remove_early(text, err) < 0) ? -1 : 0;
}

int plan_bundle(const struct setup *s, bool install, const char *file, struct changes *ret,
		struct err *err)
{
	return change_plan(ret, s->rootfd, file, &(struct edit){s, add_hook, remove_hook}, install,
			   err);
}

/* ---- files with a hook ---- */

static json_t *read_json(int rootfd, const char *path)
{
	CLEANUP(str_fini) struct str text = {0};

	return change_read(rootfd, path, &text, NULL) > 0 ? json_loadb(text.buf, text.len, 0, NULL)
							  : NULL;
}

typedef const char *(*program_of)(const json_t *content, bool *for_all);

static void read_file(int rootfd, const char *file, program_of program, struct engine_setting *ret)
{
	json_t *content = has_suffix(file, ".json") ? read_json(rootfd, file) : NULL;
	bool for_all = false;
	const char *path = content ? program(content, &for_all) : NULL;

	if (path && has_suffix(path, "/dfg-hook"))
		engine_setting_add(ret, file, path, for_all);
	json_decref(content);
}

/* A file, or a directory of them, by its slash. */
static void read_files(int rootfd, const char *path, program_of program, struct engine_setting *ret)
{
	bool is_dir = has_suffix(path, "/");
	int fd = is_dir ? openat(rootfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (!is_dir)
		read_file(rootfd, path, program, ret);
	while (dir && (e = readdir(dir))) {
		CLEANUP(free) char *file = xasprintf("%s%s", path, e->d_name);

		read_file(rootfd, file, program, ret);
	}
	if (dir)
		closedir(dir);
}

/* Indented, with a newline at the end, for people. */
static int plan_file(const struct setup *s, bool install, const char *dir, const char *name,
		     unsigned own_dirs, json_t *content, struct changes *ret, struct err *err)
{
	bool is_dir = has_suffix(dir, "/");
	CLEANUP(free) char *path = xasprintf("%s%s", dir, is_dir ? name : "");
	CLEANUP(free) char *text = json_dumps(content, JSON_INDENT(2));
	CLEANUP(free) char *line = text ? xasprintf("%s\n", text) : NULL;

	json_decref(content);
	if (!line)
		return err_set(err, 0, "/%s: a path in it is not UTF-8", path);
	return change_plan_whole(ret, s->rootfd, path, install ? line : NULL, is_dir ? own_dirs : 0,
				 err);
}

static json_t *hook_object(const struct setup *s)
{
	CLEANUP(free) char *text = oci_spec_hook(s->hook, s->root);

	return text ? json_loads(text, 0, NULL) : NULL;
}

/* ---- oci-hooks(5) ---- */

static const char *hooks_program(const json_t *content, bool *for_all)
{
	const char *stage =
		json_string_value(json_array_get(json_object_get(content, "stages"), 0));

	if (stage && !strcmp(stage, "precreate"))
		return NULL;
	*for_all = json_is_true(json_object_get(json_object_get(content, "when"), "always"));
	return json_string_value(json_object_get(json_object_get(content, "hook"), "path"));
}

/* Path beside the file, or in the directory. */
static char *early_file(const char *dir)
{
	const char *slash = strrchr(dir, '/');

	return xasprintf("%.*s" EARLY_FILE, slash ? (int)(slash + 1 - dir) : 0, dir);
}

void read_hooks(int rootfd, const char *dir, struct engine_setting *ret)
{
	CLEANUP(free) char *early = early_file(dir);

	read_files(rootfd, dir, hooks_program, ret);
	ret->early |= ret->program && faccessat(rootfd, early, F_OK, 0) == 0;
}

static json_t *when(const struct setup *s)
{
	return s->opt_in ? json_pack("{s:{s:s}}", "annotations", "^dfg\\.io/inject$", "^true$")
			 : json_pack("{s:b}", "always", true);
}

/* Plans a second file: at precreate a hook gets other input. The stage is podman's own; readers
 * of such files refuse stages that they do not know (containers/podman
 * pkg/hooks/1.0.0/hook.go, Validate). */
static int plan_early(const struct setup *s, bool install, const char *dir, struct changes *ret,
		      struct err *err)
{
	CLEANUP(free) char *file = early_file(dir);
	json_t *hook;

	if (install && s->early && !s->force && engine_is_present(s->rootfd, engine_find("cri-o")))
		return err_set(err, 0,
			       "CRI-O is installed, which reads the same directory and does not "
			       "know podman's stage precreate: omit --early, or use --force");
	hook = hook_object(s);
	json_array_append_new(json_object_get(hook, "args"), json_string("--precreate"));
	if (s->opt_in)
		json_array_append_new(json_object_get(hook, "args"), json_string("--asked"));
	return plan_file(s, install && s->early, file, "", 0,
			 json_pack("{s:s, s:o, s:o, s:[s]}", "version", "1.0.0", "hook", hook,
				   "when", when(s), "stages", "precreate"),
			 ret, err);
}

int plan_hooks(const struct setup *s, bool install, const char *dir, struct changes *ret,
	       struct err *err)
{
	json_t *hook =
		json_pack("{s:s, s:o, s:o, s:[ss]}", "version", "1.0.0", "hook", hook_object(s),
			  "when", when(s), "stages", "createRuntime", "poststop");

	if (plan_early(s, install, dir, ret, err) < 0) {
		json_decref(hook);
		return -1;
	}
	return plan_file(s, install, dir, HOOKS_FILE, 2, hook, ret, err);
}

/* ---- CDI ---- */

static const char *cdi_program(const json_t *content, bool *for_all)
{
	const json_t *device = json_array_get(json_object_get(content, "devices"), 0);
	const json_t *edits = json_object_get(device, "containerEdits");

	*for_all = false;
	return json_string_value(
		json_object_get(json_array_get(json_object_get(edits, "hooks"), 0), "path"));
}

void read_cdi(int rootfd, const char *dir, struct engine_setting *ret)
{
	read_files(rootfd, dir, cdi_program, ret);
}

static json_t *cdi_hook(const struct setup *s, const char *stage)
{
	json_t *hook = hook_object(s);

	json_object_set_new(hook, "hookName", json_string(stage));
	/* A container with the device has asked for the hook, as by the annotation. */
	json_array_append_new(json_object_get(hook, "args"), json_string("--asked"));
	return hook;
}

int plan_cdi(const struct setup *s, bool install, const char *dir, struct changes *ret,
	     struct err *err)
{
	return plan_file(s, install, dir, CDI_FILE, 1,
			 json_pack("{s:s, s:s, s:[{s:s, s:{s:[oo]}}]}", "cdiVersion", "0.5.0",
				   "kind", "dfg.io/agent", "devices", "name", "on",
				   "containerEdits", "hooks", cdi_hook(s, "createRuntime"),
				   cdi_hook(s, "poststop")),
			 ret, err);
}
