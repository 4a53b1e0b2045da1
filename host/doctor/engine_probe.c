// SPDX-License-Identifier: Apache-2.0
/* Probes if new containers get dfg's mounts, by the configuration of each engine. */
#include <fcntl.h>

#include "common/install.h"
#include "dfg/paths.h"
#include "doctor/probe.h"
#include "setup/daemon.h"

#define JOINED "dfg-trigger sets its containers up on demand"

void probe_engine(const struct probe *p, const struct engine *e, const struct engine_setting *s)
{
	if (!s->program)
		finding_add(p->f, FINDING_NOTE, e->name, JOINED, "no hook in its configuration");
	else if (faccessat(p->rootfd, s->program + strspn(s->program, "/"), X_OK, 0) < 0)
		finding_add(p->f, FINDING_NOTE, e->name, "install dfg, or take it out of the file",
			    "%s names %s, which is not there", s->file, s->program);
	else if (!s->for_all)
		finding_add(p->f, FINDING_NOTE, e->name, JOINED,
			    "containers that ask for it get %s, by %s; the others do not",
			    s->program, s->file);
	else
		finding_add(p->f, FINDING_OK, e->name, "", "new containers get %s, by %s%s",
			    s->program, s->file,
			    s->early ? "; JVMs have DebugNonSafepoints from their start" : "");
}

void probe_restart(const struct probe *p, const struct engine *e, const char *file,
		   const struct engine_setting *s)
{
	CLEANUP(daemon_fini) struct daemon d = DAEMON_NONE;
	const char *const files[] = {file, s->file ? s->file + 1 : NULL};

	if (!e->reads_once || !daemon_find(e->reads_once, file, &d))
		return;
	for (size_t i = 0; i < ARRAY_LEN(files) && files[i]; i++) {
		if (!daemon_is_older(&d, p->rootfd, files[i]))
			continue;
		finding_add(p->f, FINDING_NOTE, "restart",
			    "restart it when it suits you; containers keep running",
			    "%s (%d) is older than the change of /%s, which does not count yet",
			    e->name, (int)d.pid, files[i]);
		return;
	}
}

void probe_engines(const struct probe *p)
{
	for (size_t i = 0; i < engine_count; i++) {
		struct engine_setting s;

		engine_read_setting(p->rootfd, &engines[i], &s);
		if (engine_is_present(p->rootfd, &engines[i]) ||
		    (!engines[i].program && s.program)) {
			probe_engine(p, &engines[i], &s);
			probe_restart(p, &engines[i], engines[i].files[0], &s);
		}
		engine_setting_fini(&s);
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
