// SPDX-License-Identifier: Apache-2.0
#include "cmd/setup_status.h"

#include "common/install.h"
#include "common/proc.h"
#include "dfg/paths.h"
#include "oci/conf.h"

void status_selection(const struct probe *p)
{
	static const char *const who[] = {
		"all containers, but those with the annotation dfg.io/inject=false",
		"containers with the annotation dfg.io/inject=true, or that ask for it by CDI",
		"no container"};
	CLEANUP(free) char *beside = install_path("dfg.conf");
	const char *path = access(beside, F_OK) == 0 ? beside : DFG_CONF_FILE;
	struct conf conf;
	struct err err;

	findings_about(p->f, "selection", 0, "which containers get dfg's mounts");
	if (access(path, F_OK) == 0 && conf_load(path, &conf, &err) < 0) {
		finding_add(p->f, FINDING_NO, "inject", "repair it; until then none gets them",
			    "%s", err.msg);
		return;
	}
	if (access(path, F_OK) < 0)
		conf_set_defaults(&conf);
	finding_add(p->f, conf.inject == CONF_INJECT_NONE ? FINDING_NOTE : FINDING_OK, "inject",
		    access(path, F_OK) < 0 ? "there is no " DFG_CONF_FILE ", dfg-hook(8)" : "",
		    "%s", who[conf.inject]);
	if (conf.early)
		finding_add(p->f, FINDING_OK, "early", "",
			    "dfg-runtime switches DebugNonSafepoints on in JVMs from their start");
	for (unsigned i = 0; i < conf.rule_count; i++)
		finding_add(p->f, FINDING_OK, conf.rules[i].never ? "never" : "only", "",
			    "with the annotation %s=%s", conf.rules[i].key, conf.rules[i].pattern);
}

void status_running(const struct probe *p)
{
	struct containers all;
	struct err err;

	findings_about(p->f, "running", 0, "running containers");
	if (containers_list(p->root, &all, &err) < 0) {
		finding_add(p->f, FINDING_NOTE, "containers", "", "%s", err.msg);
		return;
	}
	if (all.count == 0)
		finding_add(p->f, FINDING_OK, "containers", "", "none runs");
	for (size_t i = 0; i < all.count; i++) {
		const struct container *c = &all.list[i];
		CLEANUP(close_fd) int procfd = proc_open(c->pid, &err);
		bool has = procfd >= 0 && probe_has_mounts(procfd);

		finding_add(p->f, has ? FINDING_OK : FINDING_NOTE, "container",
			    has ? "" : "dfg-trigger joins it when needed", "%s %s", c->label,
			    has ? "has the mounts" : "was started without");
	}
	containers_fini(&all);
}
