// SPDX-License-Identifier: Apache-2.0
/* dfg-setup: installs dfg's hook in an engine's configuration, and removes it. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/help_setup.h"
#include "common/install.h"
#include "common/log.h"
#include "common/proc.h"
#include "dfg/paths.h"
#include "doctor/probe.h"
#include "oci/conf.h"
#include "setup/change.h"
#include "setup/engine.h"

enum setup_action { INSTALL, REMOVE, STATUS };

struct setup_arguments {
	enum setup_action action;
	const struct engine *engine; /* NULL: all, for STATUS */
	struct setup setup;
	bool dry_run, json;
};

static const struct command command = {"dfg-setup", help_setup};

static int parse_words(int argc, char **argv, struct setup_arguments *a, struct err *err)
{
	static const char *const names[] = {"install", "remove", "status"};
	const char *name = argc > 0 ? argv[0] : "";
	size_t i = 0;

	while (i < ARRAY_LEN(names) && strcmp(names[i], name) != 0)
		i++;
	if (i == ARRAY_LEN(names))
		return err_set(err, 0,
			       "missing command: expected install, remove or status; see --help");
	a->action = (enum setup_action)i;
	if (argc > 2)
		return err_set(err, 0, "one engine at a time; see --help");
	if (argc == 2) {
		a->engine = engine_find(argv[1]);
		if (!a->engine)
			return err_set(err, 0, "no engine %s is known; see --help", argv[1]);
	}
	if (!a->engine && a->action != STATUS)
		return err_set(err, 0, "no engine given; see --help");
	if (a->engine && a->setup.early && a->engine->no_early)
		return err_set(err, 0, "%s cannot have --early: %s", a->engine->name,
			       a->engine->no_early);
	if (a->engine && !a->engine->files[0] && !a->setup.bundle)
		return err_set(err, 0, "%s needs --bundle DIR", a->engine->name);
	return 0;
}

static int parse_option(int opt, struct setup_arguments *a, struct err *err)
{
	switch (opt) {
	case 'b':
		a->setup.bundle = optarg;
		break;
	case 'f':
		a->setup.file = optarg;
		break;
	case 'p':
		a->setup.program = optarg;
		break;
	case 'r':
		a->setup.root = optarg;
		break;
	case 'q':
		log_quiet(true);
		break;
	}
	a->setup.opt_in |= opt == 'o';
	a->setup.early |= opt == 'e';
	a->setup.force |= opt == 'F';
	a->dry_run |= opt == 'n';
	a->json |= opt == 'j';
	if (strchr("fpr", opt) && optarg[0] != '/')
		return err_set(err, 0, "%s: must be absolute; see --help", optarg);
	return 0;
}

static int parse(int argc, char **argv, struct setup_arguments *ret, struct err *err)
{
	static const struct option options[] = {
		{"opt-in", no_argument, NULL, 'o'},
		{"dry-run", no_argument, NULL, 'n'},
		{"bundle", required_argument, NULL, 'b'},
		{"file", required_argument, NULL, 'f'},
		{"program", required_argument, NULL, 'p'},
		{"force", no_argument, NULL, 'F'},
		{"root", required_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'},
		{"early", no_argument, NULL, 'e'},
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		{0},
	};
	struct setup_arguments a = {0};
	int opt;

	while ((opt = command_option_of(&command, argc, argv, ":q", options, err)) > 0)
		if (parse_option(opt, &a, err) < 0)
			return -1;
	if (opt < 0)
		return -1;
	if (parse_words(argc - optind, argv + optind, &a, err) < 0)
		return -1;
	*ret = a;
	return 0;
}

/* The engine's file, relative to the root directory: as given, the bundle's, or the usual one. */
static char *find_file(const struct setup_arguments *a, struct err *err)
{
	CLEANUP(free) char *bundle = NULL;

	if (a->setup.file)
		return xstrdup(a->setup.file + 1);
	if (a->engine->files[0])
		return xstrdup(a->engine->files[0]);
	bundle = realpath(a->setup.bundle, NULL);
	if (!bundle) {
		err_set(err, errno, "%s", a->setup.bundle);
		return NULL;
	}
	return xasprintf("%s/config.json", bundle + 1);
}

static int apply_changes(const struct setup_arguments *a, const char *file, const struct changes *c,
			 struct err *err)
{
	const struct engine *e = a->engine;
	bool install = a->action == INSTALL;

	if (a->dry_run) {
		changes_print(c);
		return 0;
	}
	if (install && !c->count) {
		log_info("%s has it already: /%s", e->name, file);
		return 0;
	}
	if ((e->apply ? e->apply(&a->setup, install, file, c, err)
		      : changes_apply(c, a->setup.rootfd, err)) < 0)
		return -1;
	log_info("%s: %s /%s", e->name,
		 c->count ? install ? "installed in" : "removed from" : "not in", file);
	if (c->count && e->hint && (install || e->reads_once))
		log_info("%s", e->hint);
	return 0;
}

static enum exit_status change(struct setup_arguments *a)
{
	CLEANUP(free) char *hook = install_path("dfg-hook");
	CLEANUP(free) char *runtime = install_path("dfg-runtime");
	CLEANUP(free) char *conf = command_conf_path();
	CLEANUP(free) char *file = NULL;
	struct changes c = {0};
	struct err err;
	int rc = -1;

	if (geteuid() != 0 && !a->dry_run) {
		log_error("changing an engine's configuration needs root: run it with sudo");
		return EXIT_NOT_PERMITTED;
	}
	a->setup.hook = hook;
	a->setup.runtime = runtime;
	a->setup.conf = conf;
	file = find_file(a, &err);
	if (file && a->action == INSTALL && access(hook, X_OK) < 0)
		err_set(&err, errno, "%s: install dfg first", hook);
	else if (file)
		rc = a->engine->plan(&a->setup, a->action == INSTALL, file, &c, &err);
	if (rc == 0)
		rc = apply_changes(a, file, &c, &err);
	changes_fini(&c);
	if (rc < 0)
		log_error("%s: %s", a->engine->name, err.msg);
	return rc < 0 ? EXIT_FAILED : EXIT_DONE;
}

/* ---- status ---- */

/* Reports which containers get the mounts, by dfg.conf. */
static void report_selection(const struct probe *p)
{
	static const char *const who[] = {
		"all containers, but those with the annotation dfg.io/inject=false",
		"containers with the annotation dfg.io/inject=true, or that ask for it by CDI",
		"no container"};
	CLEANUP(free) char *path = command_conf_path();
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

/* Reports which running containers have them. */
static void report_running(const struct probe *p)
{
	struct containers all;
	struct err err;

	findings_about(p->f, "running", 0, "running containers");
	if (containers_list(p->root, &all, &err) < 0) {
		finding_add(p->f, FINDING_NOTE, "containers", "", "%s", err.msg);
		return;
	}
	if (all.count == 0)
		finding_add(p->f, FINDING_OK, "containers", "", "none found");
	for (size_t i = 0; i < all.count; i++) {
		const struct container *c = &all.list[i];
		CLEANUP(close_fd) int procfd = proc_open(c->pid, &err);
		bool has = procfd >= 0 && probe_has_mounts(procfd);

		finding_add(p->f, has ? FINDING_OK : FINDING_NOTE, "container",
			    has ? "" : "dfg-trigger sets it up on demand", "%s %s", c->label,
			    has ? "has the mounts" : "was started before the hook");
	}
	containers_fini(&all);
}

/* True if any engine has the hook; says so where none has. */
static bool report_all_engines(const struct probe *p)
{
	bool is = false;

	probe_engines(p);
	for (size_t i = 0; i < engine_count; i++) {
		struct engine_setting s = {0};

		if (engines[i].files[0])
			engine_read_setting(p->rootfd, &engines[i], &s);
		is |= s.program != NULL;
		engine_setting_fini(&s);
	}
	if (!is)
		finding_add(p->f, FINDING_NOTE, "hook", "dfg-setup install ENGINE",
			    "in the configuration of no engine that dfg knows");
	return is;
}

/* Reports the engines' settings. True if the given engine is set up, or any where none is given. */
static bool report_engines(const struct setup_arguments *a, const struct probe *p)
{
	struct engine_setting s = {0};
	CLEANUP(free) char *file = NULL;
	struct err err;
	bool is;

	if (!a->engine)
		return report_all_engines(p);
	file = find_file(a, &err);
	if (!a->setup.file && !a->setup.bundle)
		engine_read_setting(p->rootfd, a->engine, &s);
	else if (file)
		a->engine->read(p->rootfd, file, &s);
	probe_engine(p, a->engine, &s);
	if (file)
		probe_restart(p, a->engine, file, &s);
	is = s.program;
	engine_setting_fini(&s);
	return is;
}

static enum exit_status status(const struct setup_arguments *a)
{
	struct findings f = {0};
	struct probe p = {.rootfd = a->setup.rootfd,
			  .root = a->setup.root ? a->setup.root : DFG_ROOT_DEFAULT,
			  .f = &f};
	bool is;

	findings_about(&f, "engines", 0, "engines");
	probe_payload(&p);
	is = report_engines(a, &p);
	report_selection(&p);
	if (geteuid() == 0)
		report_running(&p);
	if (a->json) {
		json_t *all = json_pack("{ss sb so}", "dfg", DFG_VERSION, "installed", is,
					"findings", findings_json(&f));

		json_dumpf(all, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(all);
	} else {
		findings_print(&f);
	}
	findings_fini(&f);
	return is ? EXIT_DONE : EXIT_FAILED;
}

int main(int argc, char **argv)
{
	CLEANUP(close_fd) int rootfd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct setup_arguments a = {0};
	struct err err;

	log_init(command.name);
	if (parse(argc, argv, &a, &err) < 0)
		return (int)command_fail(EXIT_USAGE, &err);
	a.setup.rootfd = rootfd;
	return (int)(a.action == STATUS ? status(&a) : change(&a));
}
