// SPDX-License-Identifier: Apache-2.0
#include "cmd/list.h"

#include <jansson.h>
#include <stdio.h>

#include "common/str.h"
#include "discover/container.h"
#include "discover/jvm.h"

static size_t count_jvms(const struct container *c)
{
	CLEANUP(free) pid_t *pids = NULL;
	struct jvms jvms;
	struct err err;
	size_t count;

	if (container_pids(c, &pids, &count, &err) < 0)
		return 0;
	jvms_find(pids, count, &jvms);
	count = jvms.count;
	jvms_fini(&jvms);
	return count;
}

static json_t *container_json(const struct container *c)
{
	return json_pack("{ss ss ss ss ss si sI}", "id", c->id, "name", c->name, "pod", c->pod,
			 "namespace", c->space, "label", c->label, "pid", (int)c->pid, "jvms",
			 (json_int_t)count_jvms(c));
}

static int by_label(const void *a, const void *b)
{
	const struct container *x = a, *y = b;
	int order = strcmp(x->label, y->label);

	return order ? order : strcmp(x->id, y->id);
}

enum exit_status list_containers(const struct options *o)
{
	CLEANUP(containers_fini) struct containers c = {0};
	json_t *list = json_array(), *all;
	struct err err;

	if (geteuid() != 0) {
		err_set(&err, 0, "other users' processes are closed to you: run it with sudo");
		return command_fail(EXIT_NOT_PERMITTED, &err);
	}
	if (containers_list(o->snapshot.root, &c, &err) < 0)
		return command_fail(EXIT_FAILED, &err);
	if (c.count)
		qsort(c.list, c.count, sizeof(*c.list), by_label);
	for (size_t i = 0; i < c.count; i++) {
		const struct container *at = &c.list[i];

		if (at->is_pause)
			continue;
		if (o->json)
			json_array_append_new(list, container_json(at));
		else
			printf("%-12.12s  %7d  %3zu JVM  %s\n", at->id, (int)at->pid,
			       count_jvms(at), at->label);
	}
	all = json_pack("{so}", "containers", list);
	if (o->json) {
		json_dumpf(all, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(all);
	return EXIT_DONE;
}
