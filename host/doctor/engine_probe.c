// SPDX-License-Identifier: Apache-2.0
/* Whether new containers get dfg's mounts: per engine, by its own configuration. */
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>

#include "dfg/install.h"
#include "dfg/paths.h"
#include "probe.h"

#define HOOK	"/dfg-hook"
#define RUNTIME "/dfg-runtime"
#define JOINED	"dfg-trigger joins its containers when needed"

/* What an engine's configuration says: the program, and whether all new containers get it. */
struct setting {
	char *file; /* that says so */
	char *program;
	bool for_all;
};

static json_t *read_json(const struct probe *p, const char *path)
{
	CLEANUP(str_fini) struct str text = {0};

	return probe_read(p, path, &text) ? json_loadb(text.buf, text.len, 0, NULL) : NULL;
}

static void take(struct setting *s, const char *file, const char *program, bool for_all)
{
	if (s->for_all || !program || (s->program && !for_all))
		return;
	free(s->file);
	free(s->program);
	*s = (struct setting){xasprintf("/%s", file), xstrdup(program), for_all};
}

/* {"runtimes": {NAME: {"path": PROGRAM}}, "default-runtime": NAME} */
static void look_docker(const struct probe *p, const char *file, struct setting *ret)
{
	json_t *conf = read_json(p, file), *runtime;
	const char *usual = json_string_value(json_object_get(conf, "default-runtime")), *name;

	json_object_foreach(json_object_get(conf, "runtimes"), name, runtime)
	{
		const char *path = json_string_value(json_object_get(runtime, "path"));

		if (path && has_suffix(path, RUNTIME))
			take(ret, file, path, usual && !strcmp(usual, name));
	}
	json_decref(conf);
}

/* A directory of {"version": "1.0.0", "hook": {"path": PROGRAM}, …} (oci-hooks(5)). */
static void look_hooks(const struct probe *p, const char *dirname, struct setting *ret)
{
	int fd = openat(p->rootfd, dirname, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		CLEANUP(free) char *file = xasprintf("%s/%s", dirname, e->d_name);
		json_t *hook = has_suffix(file, ".json") ? read_json(p, file) : NULL;
		const char *path =
			json_string_value(json_object_get(json_object_get(hook, "hook"), "path"));

		if (path && has_suffix(path, HOOK))
			take(ret, file, path, true);
		json_decref(hook);
	}
	if (dir)
		closedir(dir);
}

/* A specification that new containers begin with: {"hooks": {STAGE: [{"path": PROGRAM}]}} */
static void look_spec(const struct probe *p, const char *file, struct setting *ret)
{
	json_t *spec = read_json(p, file), *stage, *hook;
	const char *name;
	size_t i;

	json_object_foreach(json_object_get(spec, "hooks"), name, stage)
	{
		json_array_foreach(stage, i, hook)
		{
			const char *path = json_string_value(json_object_get(hook, "path"));

			if (path && has_suffix(path, HOOK))
				take(ret, file, path, true);
		}
	}
	json_decref(spec);
}

/* Lines of TOML: base_runtime_spec = "/FILE" */
static void look_containerd(const struct probe *p, const char *file, struct setting *ret)
{
	static const char key[] = "base_runtime_spec";
	CLEANUP(str_fini) struct str text = {0};
	char *save = NULL;

	if (!probe_read(p, file, &text))
		return;
	for (char *l = strtok_r(text.buf, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *at = l + strspn(l, " \t"), *end;

		if (!has_prefix(at, key))
			continue;
		at += strcspn(at, "\"'");
		end = *at ? strchr(at + 1, *at) : NULL;
		if (!end || at[1] != '/')
			continue;
		*end = '\0';
		look_spec(p, at + 2, ret);
	}
}

/* One row per engine; paths are below the root. */
static const struct engine {
	const char *name;
	const char *program;
	void (*look)(const struct probe *p, const char *file, struct setting *ret);
	const char *files[2];
} engines[] = {
	{"docker", "dockerd", look_docker, {"etc/docker/daemon.json"}},
	{"containerd", "containerd", look_containerd, {"etc/containerd/config.toml"}},
	{"podman",
	 "podman",
	 look_hooks,
	 {"etc/containers/oci/hooks.d", "usr/share/containers/oci/hooks.d"}},
	{"cri-o",
	 "crio",
	 look_hooks,
	 {"etc/containers/oci/hooks.d", "usr/share/containers/oci/hooks.d"}},
};

static bool is_installed(const struct probe *p, const char *program)
{
	static const char *const places[] = {"usr/bin", "usr/sbin", "usr/local/bin",
					     "usr/local/sbin"};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		CLEANUP(free) char *path = xasprintf("%s/%s", places[i], program);

		if (faccessat(p->rootfd, path, X_OK, 0) == 0)
			return true;
	}
	return false;
}

static void tell(const struct probe *p, const char *engine, const struct setting *s)
{
	if (!s->program)
		finding_add(p->f, FINDING_NOTE, engine, JOINED, "no hook in its configuration");
	else if (faccessat(p->rootfd, s->program + strspn(s->program, "/"), X_OK, 0) < 0)
		finding_add(p->f, FINDING_NOTE, engine, "install dfg, or take it out of the file",
			    "%s names %s, which is not there", s->file, s->program);
	else if (!s->for_all)
		finding_add(p->f, FINDING_NOTE, engine, JOINED,
			    "%s is a runtime of %s, but not the default", s->program, s->file);
	else
		finding_add(p->f, FINDING_OK, engine, "", "new containers get %s, by %s",
			    s->program, s->file);
}

void probe_engines(const struct probe *p)
{
	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		const struct engine *e = &engines[i];
		struct setting s = {0};

		if (!is_installed(p, e->program))
			continue;
		for (size_t k = 0; k < ARRAY_LEN(e->files) && e->files[k]; k++)
			e->look(p, e->files[k], &s);
		tell(p, e->name, &s);
		free(s.file);
		free(s.program);
	}
}

char *probe_missing_file(void)
{
	static const char *const names[] = {"dfg-hook", "payload.squashfs"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP(free) char *path = install_path(names[i]);

		if (access(path, R_OK) < 0)
			return TAKE_PTR(path);
	}
	return NULL;
}

void probe_payload(const struct probe *p)
{
	CLEANUP(free) char *missing = probe_missing_file();
	CLEANUP(free) char *place = xasprintf(" %s/" DFG_PAYLOAD_DIR "/", p->root);
	CLEANUP(str_fini) struct str mounts = {0};

	if (missing)
		finding_add(p->f, FINDING_NOTE, "payload",
			    "make install; until then JVMs are read from outside",
			    "%s is missing: no agent can be brought into a container", missing);
	else if (probe_read(p, "proc/self/mountinfo", &mounts) && strstr(mounts.buf, place))
		finding_add(p->f, FINDING_OK, "payload", "", "mounted below %s", p->root);
	else
		finding_add(p->f, FINDING_OK, "payload", "",
			    "there; no container has it mounted yet");
}
