// SPDX-License-Identifier: Apache-2.0
/* Lists of dfg-trigger: containers that run, and past recordings. */
#include "cmd/options.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/proc.h"
#include "common/str.h"
#include "discover/container.h"
#include "discover/cpu_watch.h"
#include "discover/jvm.h"
#include "record/retention.h"

#define CPU_MS 400 /* processors in use are measured for so long */

/* Prints a list as the only member of an object, and releases it. */
static void print_json(const char *name, json_t *list)
{
	json_t *all = json_pack("{so}", name, list);

	json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(all);
}

/* ---- containers ---------------------------------------------------------------------------- */

/* What is known of a running container but for its names; below 0: not known. */
struct running {
	int64_t uid; /* of the first process, on the host */
	double age;  /* of it, seconds */
	double cpu;  /* processors in use */
	size_t jvms;
	struct cpu_watch watch;
};

static double age_of(const struct container *c)
{
	struct timespec now;

	if (clock_gettime(CLOCK_BOOTTIME, &now) < 0)
		return -1;
	return (double)now.tv_sec - (double)c->start / (double)sysconf(_SC_CLK_TCK);
}

static int64_t uid_of(const struct container *c)
{
	CLEANUP(handle_close) struct handle first = {.procfd = -1};
	struct proc_status status;

	if (handle_open(c->pid, &first, NULL) < 0 || first.start != c->start ||
	    proc_read_status(first.procfd, &status, NULL) < 0)
		return -1;
	return status.euid;
}

static size_t count_jvms(const struct container *c)
{
	CLEANUP(handles_fini) struct handles processes = {0};
	struct jvms jvms = {0};
	size_t count;

	if (container_processes(c, &processes, NULL) < 0)
		return 0;
	jvms_find(&processes, deadline_after(JVMS_MS), &jvms);
	count = jvms.count;
	jvms_fini(&jvms);
	return count;
}

/* Returns facts of each container, owned by the caller. The processors are watched meanwhile. */
static struct running *gather(const struct containers *c)
{
	struct running *ret = xcalloc(c->count + 1, sizeof(*ret));
	const uint64_t end = deadline_after(CPU_MS);

	for (size_t i = 0; i < c->count; i++) {
		ret[i].watch = CPU_WATCH_NONE;
		cpu_watch_begin(&c->list[i], &ret[i].watch);
	}
	for (size_t i = 0; i < c->count; i++) {
		ret[i].uid = uid_of(&c->list[i]);
		ret[i].age = age_of(&c->list[i]);
		ret[i].jvms = count_jvms(&c->list[i]);
	}
	if (c->count)
		usleep((useconds_t)deadline_ms_left(end) * 1000);
	for (size_t i = 0; i < c->count; i++) {
		struct session_cpu cpu = SESSION_CPU_UNKNOWN;

		cpu_watch_read(&ret[i].watch, &cpu);
		ret[i].cpu = cpu.used;
		cpu_watch_fini(&ret[i].watch);
	}
	return ret;
}

/* "45s", "12m", "3h", "2d" */
static void format_age(double seconds, char ret[static 16])
{
	static const struct {
		double least, unit;
		char letter;
	} units[] = {{2 * 86400, 86400, 'd'}, {2 * 3600, 3600, 'h'}, {120, 60, 'm'}, {0, 1, 's'}};
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(units) && seconds < units[i].least)
		i++;
	snprintf(ret, 16, seconds < 0 ? "-" : "%.0f%c", floor(seconds / units[i].unit),
		 units[i].letter);
}

static void print_container(const struct container *c, const struct running *f)
{
	char age[16], cpu[16] = "-", uid[24] = "-";

	format_age(f->age, age);
	if (f->cpu >= 0)
		snprintf(cpu, sizeof(cpu), "%.2f", f->cpu);
	if (f->uid >= 0)
		snprintf(uid, sizeof(uid), "%" PRId64, f->uid);
	printf("%-12.12s %8d %5zu %6s %6s %5s  %s%s\n", c->id, (int)c->pid, f->jvms, uid, cpu, age,
	       c->label, c->is_forged ? "  (claims to be another)" : "");
}

static json_t *container_json(const struct container *c, const struct running *f)
{
	return json_pack("{ss ss ss ss ss sb si sI so* so* so*}", "id", c->id, "name", c->name,
			 "pod", c->pod, "namespace", c->namespace, "label", c->label, "forged",
			 c->is_forged, "pid", (int)c->pid, "jvms", (json_int_t)f->jvms, "uid",
			 f->uid < 0 ? NULL : json_integer(f->uid), "age",
			 f->age < 0 ? NULL : json_real(f->age), "processors",
			 f->cpu < 0 ? NULL : json_real(f->cpu));
}

static int by_label(const void *a, const void *b)
{
	const struct container *x = a, *y = b;
	int order = strcmp(x->label, y->label);

	return order ? order : strcmp(x->id, y->id);
}

/* They run nothing, so that nothing is read of them. */
static void drop_pauses(struct containers *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].is_pause)
			container_fini(&c->list[i]);
		else
			c->list[n++] = c->list[i];
	c->count = n;
}

enum exit_status containers_print(const struct options *o)
{
	CLEANUP(containers_fini) struct containers c = {0};
	CLEANUP(free) struct running *facts = NULL;
	json_t *list = NULL;
	struct err err;

	if (geteuid() != 0) {
		err_set(&err, 0, "listing other users' processes needs root: run it with sudo");
		return command_fail(EXIT_NOT_PERMITTED, &err);
	}
	if (containers_list(o->record.root, &c, &err) < 0)
		return command_fail(EXIT_FAILED, &err);
	drop_pauses(&c);
	if (c.count)
		qsort(c.list, c.count, sizeof(*c.list), by_label);
	facts = gather(&c);
	if (o->json)
		list = json_array();
	else if (c.count)
		printf("%-12s %8s %5s %6s %6s %5s  %s\n", "CONTAINER", "PID", "JVMS", "USER", "CPU",
		       "AGE", "NAME");
	for (size_t i = 0; i < c.count; i++)
		if (list)
			json_array_append_new(list, container_json(&c.list[i], &facts[i]));
		else
			print_container(&c.list[i], &facts[i]);
	if (list)
		print_json("containers", list);
	else if (c.count == 0)
		log_info("no containers found; a process of the host: dfg-trigger --pid PID");
	return EXIT_DONE;
}

/* ---- recordings ---------------------------------------------------------------------------- */

/* True without names, too. */
static bool is_wanted(const struct options *o, const struct session *s)
{
	const struct record_config *c = &o->record;

	for (size_t i = 0; i < c->name_count; i++)
		if (!strcmp(c->names[i], s->label) || !strcmp(c->names[i], s->container_name) ||
		    has_prefix(s->container_id, c->names[i]))
			return true;
	return c->name_count == 0;
}

/* "1.5 GiB", "30.2 MiB", "4 KiB" */
static char *size_text(uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double size = (double)bytes / 1024;
	size_t i = 0;

	for (; size >= 1000 && i + 1 < ARRAY_LEN(units); i++)
		size /= 1024;
	return xasprintf(i ? "%.1f %s" : "%.0f %s", size, units[i]);
}

static void print_line(const struct result *r, const struct session *s)
{
	CLEANUP(free) char *size = size_text(r->bytes);
	CLEANUP(str_fini) struct str label = {0};

	str_add_clean(&label, s->label, strlen(s->label));
	printf("%-20s %8.1f s %10s  %-24s %s%s\n", s->started, s->duration, size, label.buf, s->dir,
	       r->recorded ? "  (is being recorded)" : "");
}

static json_t *to_json(const struct result *r, const struct session *s)
{
	return json_pack("{s{ss ss ss ss ss} ss sf si sI ss sb}", "container", "id",
			 s->container_id, "name", s->container_name, "pod", s->pod, "namespace",
			 s->namespace, "host", s->host, "started", s->started, "duration",
			 s->duration, "frequency", (int)s->frequency, "bytes", (json_int_t)r->bytes,
			 "session", s->dir, "recording", (int)r->recorded);
}

/* Shows a recording; one that cannot be read is skipped: its session.json is written at its end. */
static bool show(const struct options *o, const struct result *r, json_t *list, bool heading)
{
	struct session s;
	bool wanted;

	if (result_open(o->record.root, r, &s, &(struct err){0}) < 0)
		return false;
	wanted = is_wanted(o, &s);
	if (wanted && list)
		json_array_append_new(list, to_json(r, &s));
	if (wanted && !list && heading)
		printf("%-20s %10s %10s  %-24s %s\n", "STARTED", "DURATION", "SIZE", "CONTAINER",
		       "SESSION");
	if (wanted && !list)
		print_line(r, &s);
	session_fini(&s);
	return wanted;
}

enum exit_status recordings_print(const struct options *o)
{
	CLEANUP(results_fini) struct results r = {0};
	json_t *list = o->json ? json_array() : NULL;
	size_t shown = 0;
	struct err err;

	if (geteuid() != 0) {
		err_set(&err, 0, "listing recordings needs root: run it with sudo");
		return command_fail(EXIT_NOT_PERMITTED, &err);
	}
	results_list(o->record.root, true, &r);
	for (size_t i = 0; i < r.count; i++)
		shown += show(o, &r.list[i], list, shown == 0);
	if (list)
		print_json("recordings", list);
	else if (shown == 0)
		log_info("no recordings%s in %s", o->record.name_count ? " of that name" : "",
			 o->record.root);
	return EXIT_DONE;
}
