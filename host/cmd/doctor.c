// SPDX-License-Identifier: Apache-2.0
/* dfg-doctor: reports what works on this machine, what does not, and what dfg uses instead. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/help_doctor.h"
#include "common/clock.h"
#include "common/jail.h"
#include "common/log.h"
#include "common/str.h"
#include "dfg/paths.h"
#include "discover/container.h"
#include "discover/jvm.h"
#include "doctor/probe.h"

struct doctor_arguments {
	const char *name; /* of a container, or NULL */
	const char *root;
	bool by_pid, json, limits;
};

static const struct command command = {"dfg-doctor", help_doctor};

static int parse(int argc, char **argv, struct doctor_arguments *ret, struct err *err)
{
	static const struct option options[] = {
		{"pid", no_argument, NULL, 'p'},
		{"root", required_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'},
		{"limits", no_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		{0},
	};
	const char *root = getenv("DFG_ROOT");
	struct doctor_arguments a = {.root = root && *root == '/' ? root : DFG_ROOT_DEFAULT};
	int opt;

	while ((opt = command_option_of(&command, argc, argv, ":", options, err)) > 0) {
		if (opt == 'r')
			a.root = optarg;
		a.by_pid |= opt == 'p';
		a.json |= opt == 'j';
		a.limits |= opt == 'l' || opt == 'j';
	}
	if (opt < 0)
		return -1;
	if (a.root[0] != '/')
		return err_set(err, 0, "--root %s: must be absolute", a.root);
	if (argc - optind > 1)
		return err_set(err, 0, "one container at a time; see --help");
	a.name = argv[optind];
	if (a.by_pid && !a.name)
		return err_set(err, 0, "no pid given; see --help");
	*ret = a;
	return 0;
}

static void probe_machine(const struct probe *p, bool limits)
{
	findings_about(p->f, "machine", 0, "this machine, %zu processors", probe_cpus());
	probe_rights(p);
	probe_kernel(p);
	probe_perf(p);
	if (geteuid() == 0) { /* they fail without root, whatever the machine allows */
		probe_events(p);
		probe_walks(p);
		probe_buffers(p);
		probe_symbols(p);
	}
	probe_room(p);
	findings_about(p->f, "engines", 0, "containers started later");
	probe_payload(p);
	probe_engines(p);
	if (!limits)
		return;
	findings_about(p->f, "budgets", 0, "what one container may cost");
	probe_budgets(p);
}

static enum exit_status find_by_name(const struct doctor_arguments *a, struct container *ret,
				     struct err *err)
{
	CLEANUP(containers_fini) struct containers found = {0};
	CLEANUP(str_fini) struct str all = {0};

	if (containers_find(a->root, a->name, &found, err) != CONTAINER_FOUND)
		return EXIT_NO_CONTAINER;
	for (size_t i = 0; i < found.count; i++)
		str_addf(&all, "%s%s", i ? ", " : "", found.list[i].label);
	if (found.count > 1) {
		err_set(err, 0, "\"%s\" is a pod of %zu containers: %s; name one of these", a->name,
			found.count, all.buf);
		return EXIT_NO_CONTAINER;
	}
	*ret = found.list[0];
	found.list[0] = (struct container){0};
	return EXIT_DONE;
}

static enum exit_status find(const struct doctor_arguments *a, struct container *ret,
			     struct err *err)
{
	int pid = 0;

	if (!a->by_pid)
		return find_by_name(a, ret, err);
	if (!parse_pid(a->name, &pid)) {
		err_set(err, 0, "\"%s\" is not a pid", a->name);
		return EXIT_USAGE;
	}
	return container_of_pid(a->root, pid, ret, err) < 0 ? EXIT_NO_CONTAINER : EXIT_DONE;
}

static enum exit_status probe_target(const struct probe *p, const struct container *c)
{
	bool named = !c->is_single && strcmp(c->label, c->id) != 0;
	CLEANUP(handles_fini) struct handles processes = {0};
	struct jvms jvms = {0};
	size_t found;
	bool reachable;

	findings_about(p->f, "container", 0, "%s%s%s%.12s%s", c->is_single ? "" : "container ",
		       c->label, named ? " (" : "", named ? c->id : "", named ? ")" : "");
	(void)!container_processes(c, &processes, NULL);
	probe_container(p, c, &processes, &reachable);
	jvms_find(&processes, deadline_after(JVMS_MS), &jvms);
	found = jvms.count;
	if (found == 0)
		finding_add(p->f, FINDING_NOTE, "java", "its graph has native and kernel frames",
			    "no JVM runs in it");
	for (size_t i = 0; i < found; i++)
		probe_jvm(p, reachable, &jvms.list[i]);
	jvms_fini(&jvms);
	return found ? EXIT_DONE : EXIT_NO_JVM;
}

/* A missing requirement takes precedence over a missing JVM. */
static enum exit_status exit_status_of(const struct findings *f, enum exit_status status)
{
	if (geteuid() != 0)
		return EXIT_NOT_PERMITTED;
	return findings_worst(f) == FINDING_NO ? EXIT_FAILED : status;
}

static void print_findings(const struct doctor_arguments *a, const struct findings *f,
			   const struct container *c, enum exit_status status)
{
	json_t *all;

	if (!a->json) {
		findings_print(f);
		return;
	}
	all = json_pack("{ss si so}", "dfg", DFG_VERSION, "status", (int)status, "findings",
			findings_json(f));
	if (c)
		json_object_set_new(all, "container",
				    json_pack("{ss ss ss ss}", "id", c->id, "name", c->name, "pod",
					      c->pod, "namespace", *c->pod ? c->namespace : ""));
	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	fflush(stdout);
	json_decref(all);
}

static enum exit_status examine(const struct doctor_arguments *a)
{
	CLEANUP(close_fd) int rootfd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct findings f = {0};
	struct probe p = {.rootfd = rootfd, .root = a->root, .f = &f};
	enum exit_status status = EXIT_DONE;
	struct container c = {0};
	struct err err;

	/* Before all probes, so that a wrong name is the only message. */
	if (a->name && geteuid() == 0) {
		status = find(a, &c, &err);
		if (status != EXIT_DONE) {
			log_error("%s", err.msg);
			return status;
		}
	}
	probe_machine(&p, a->limits);
	if (c.id)
		status = probe_target(&p, &c);
	status = exit_status_of(&f, status);
	print_findings(a, &f, c.id ? &c : NULL, status);
	if (a->name && !c.id)
		log_error("looking into a container needs root: run it with sudo");
	findings_fini(&f);
	container_fini(&c);
	return status;
}

int main(int argc, char **argv)
{
	struct doctor_arguments a = {0};
	struct err err;

	log_init(command.name);
	if (parse(argc, argv, &a, &err) < 0)
		return (int)command_fail(EXIT_USAGE, &err);
	jail_prepare();
	return (int)examine(&a);
}
