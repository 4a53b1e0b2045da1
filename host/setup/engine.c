// SPDX-License-Identifier: Apache-2.0
#include "setup/engine.h"

#include <fcntl.h>

#include "setup/change.h"
#include "setup/daemon.h"

#define HOOKS_DIRS                                                                                 \
	{                                                                                          \
		"usr/share/containers/oci/hooks.d/", "etc/containers/oci/hooks.d/"                 \
	}

#define CONTAINERD_FILE "etc/containerd/config.toml"

static const struct daemon_kind containerd = {"containerd", {"--config", "-c"}, CONTAINERD_FILE};

const struct engine engines[] = {
	{.name = "runc",
	 .read = read_bundle,
	 .plan = plan_bundle,
	 .hint = "The next container made of the bundle gets the hook."},
	{.name = "crun",
	 .read = read_bundle,
	 .plan = plan_bundle,
	 .hint = "The next container made of the bundle gets the hook."},
	{.name = "docker",
	 .program = "dockerd",
	 .files = {"etc/docker/daemon.json"},
	 .read = read_docker,
	 .plan = plan_docker,
	 .apply = apply_docker},
	{.name = "containerd",
	 .program = "containerd",
	 .files = {CONTAINERD_FILE},
	 .reads_once = &containerd,
	 .read = read_containerd,
	 .plan = plan_containerd,
	 .hint = "Restart containerd when it suits you (systemctl restart containerd): pods keep "
		 "running."},
	{.name = "podman",
	 .program = "podman",
	 .files = HOOKS_DIRS,
	 .read = read_hooks,
	 .plan = plan_hooks,
	 .hint = "It applies to CRI-O, too, which reads the same directory."},
	{.name = "cri-o",
	 .program = "crio",
	 .files = HOOKS_DIRS,
	 .read = read_hooks,
	 .plan = plan_hooks,
	 .no_early = "it has no hook that may change a container before it is created",
	 .hint = "It applies to podman, too, which reads the same directory."},
	{.name = "cdi",
	 .files = {"etc/cdi/", "var/run/cdi/"},
	 .read = read_cdi,
	 .plan = plan_cdi,
	 .no_early = "a device's environment would replace the container's own JAVA_TOOL_OPTIONS",
	 .hint = "A container asks for it: docker run --device dfg.io/agent=on (docs/engines.md)."},
};
const size_t engine_count = ARRAY_LEN(engines);

const struct engine *engine_find(const char *name)
{
	for (size_t i = 0; i < engine_count; i++)
		if (!strcmp(engines[i].name, name))
			return &engines[i];
	return NULL;
}

bool engine_is_present(int rootfd, const struct engine *e)
{
	static const char *const places[] = {"usr/bin", "usr/sbin", "usr/local/bin",
					     "usr/local/sbin"};

	for (size_t i = 0; e->program && i < ARRAY_LEN(places); i++) {
		CLEANUP(free) char *path = xasprintf("%s/%s", places[i], e->program);

		if (faccessat(rootfd, path, X_OK, 0) == 0)
			return true;
	}
	return false;
}

void engine_read_setting(int rootfd, const struct engine *e, struct engine_setting *ret)
{
	*ret = (struct engine_setting){0};
	for (size_t i = 0; i < ARRAY_LEN(e->files) && e->files[i]; i++)
		e->read(rootfd, e->files[i], ret);
}

void engine_setting_add(struct engine_setting *s, const char *file, const char *program,
			bool for_all)
{
	if (s->for_all || !program || (s->program && !for_all))
		return;
	engine_setting_fini(s);
	*s = (struct engine_setting){
		.file = xasprintf("/%s", file), .program = xstrdup(program), .for_all = for_all};
}

void engine_setting_fini(struct engine_setting *s)
{
	free(s->file);
	free(s->program);
	*s = (struct engine_setting){0};
}
