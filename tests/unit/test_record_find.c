// SPDX-License-Identifier: Apache-2.0
/* A recording run finds containers by their names, their JVMs, and the size of stack copies that
 * these need. perf is a fake one. */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "discover/jvm.h"
#include "lib/actor.h"
#include "lib/fakejvm.h"
#include "lib/fakeperf.h"
#include "lib/fakeshim.h"
#include "lib/hookrecord.h"
#include "lib/laterjvm.h"
#include "lib/scratch.h"
#include "lib/tap.h"
#include "record/run.h"

static char *root, *perf, *output;
static struct err err;

static struct record_config config_of(char *const *names, size_t count)
{
	return (struct record_config){.root = root,
				      .names = names,
				      .name_count = count,
				      .frequency = 99,
				      .duration = 1,
				      .output = output,
				      .perf = perf,
				      .source = SOURCE_HOST};
}

static void put_record(const char *id, pid_t pid)
{
	hookrecord_put(id, pid, "");
}

/* Starts a run. Where that fails there is nothing to discard. */
static bool starts(const struct record_config *c, struct record_run *r, const char *check)
{
	int result;

	err = (struct err){0};
	*r = (struct record_run){0};
	result = (int)record_start(c, r, &err);
	if (!is_int(result, RECORD_OK, "%s", check))
		printf("# %s\n", err.msg);
	return result == RECORD_OK;
}

static void fails(const struct record_config *c, enum record_result want, const char *message,
		  const char *check)
{
	struct record_run r = {0};

	is_int(record_start(c, &r, &err), want, "%s", check);
	if (message)
		is_str(err.msg, message, "the message is: %s", message);
	ok(!r.workers && !exists("out"), "nothing is left of it");
}

/* ---- names ---- */

static void test_find(void)
{
	pid_t pids[] = {actor_idle(), actor_idle()};
	CLEANUP(free) char *first = xasprintf("%d", (int)pids[0]);
	CLEANUP(free) char *second = xasprintf("%d", (int)pids[1]);
	char *names[] = {first, second, first}, *web[] = {(char *)"web", (char *)"we"};
	struct record_config c = config_of(names, 3);
	struct record_run r;

	c.by_pid = true;
	if (starts(&c, &r, "processes are found by their pids") &&
	    is_int(r.count, 2, "each is one target, however often it is named")) {
		is_int(r.workers[0].container.pid, pids[0], "they are in order");
		is_int(r.workers[1].name, 1, "with the number of their name");
		ok(r.workers[0].pid_count == 1 && r.workers[0].pids[0] == pids[0],
		   "each has its process");
		is_int(r.workers[0].jvms, 0, "none is a JVM");
		ok(r.pid_count == 2 && r.pids[0] == pids[0] && r.pids[1] == pids[1],
		   "perf is given all their processes");
	}
	record_discard(&r);
	is_int(r.count, 0, "after the release there is none");

	put_record("web", pids[0]);
	c = config_of(web, 2);
	if (starts(&c, &r, "a container is found by its id and the beginning of it")) {
		is_int(r.count, 1, "it is one target");
		is_str(r.workers[0].container.label, "web", "it is the one that was named");
		is_str(r.workers[0].outdir.path, output, "it has the output directory for itself");
	}
	record_discard(&r);
	actor_end(pids[0]);
	actor_end(pids[1]);
}

static void test_not_found(void)
{
	pid_t pid = actor_idle();
	CLEANUP(free) char *text = xasprintf("%d", (int)pid);
	char *names[] = {text, (char *)"4194304"}, *word[] = {(char *)"nobody"};
	struct record_config c = config_of(names, 2);

	c.by_pid = true;
	fails(&c, RECORD_NO_CONTAINER, NULL, "each pid has to exist");
	c = config_of(word, 1);
	c.by_pid = true;
	fails(&c, RECORD_NO_CONTAINER, NULL, "a word is no pid");
	c.by_pid = false;
	fails(&c, RECORD_NO_CONTAINER, "no running container \"nobody\"; see dfg-trigger --list",
	      "another name is not found");
	c.name_count = 0;
	fails(&c, RECORD_NO_CONTAINER,
	      "its processes could not be read: they ended, or may not be inspected",
	      "no name is no container");
	is_int(err.code, 0, "which is no error of the system's");
	actor_end(pid);
}

/* ---- pods ---- */

#define POD(name)                                                                                  \
	"\"io.kubernetes.cri.sandbox-name\":\"pod\","                                              \
	"\"io.kubernetes.cri.sandbox-namespace\":\"ns\","                                          \
	"\"io.kubernetes.cri.container-name\":\"" name "\""

static void check_pod(size_t jvms)
{
	char *names[] = {(char *)"other", (char *)"ns/pod"};
	struct record_config c = config_of(names, 2);
	struct record_run r;
	size_t found = 0;

	if (starts(&c, &r, "a pod is found") &&
	    is_int(r.count, 3, "each of its containers is a target, beside one outside"))
		for (size_t i = 0; i < 3; i++) {
			found += r.workers[i].jvms;
			is_int(r.workers[i].name, i > 0, "that both are of one name is known");
		}
	is_int(found, jvms, "its %zu JVMs are found", jvms);
	record_discard(&r);
}

static void test_pod(void)
{
	struct later a = later_jvm(), b = later_jvm();
	pid_t other = actor_idle();

	put_record("other", other);
	put_record("pod-a", a.pid);
	put_record("pod-b", b.pid);
	if (fakeshim_adopt("pod-a", a.pid, POD("a")) && fakeshim_adopt("pod-b", b.pid, POD("b"))) {
		check_pod(0);
		later_become(&b);
		check_pod(1);
		later_become(&a);
		check_pod(2);
	} else {
		ok(true, "a pod is found # SKIP no cgroup can be made here");
	}
	actor_end(a.pid);
	actor_end(b.pid);
	actor_end(other);
}

/* ---- --all ---- */

/* Other containers with JVMs may run on this machine, and are left as they are. */
static void test_all(void)
{
	struct record_config c = config_of(NULL, 0);
	struct later with = later_jvm();
	pid_t without = actor_idle();
	size_t mine = 0, lacking = 0;
	struct record_run r;

	c.all = true;
	c.keep_flags = true;
	put_record("with", with.pid);
	put_record("without", without);
	later_become(&with);
	if (starts(&c, &r, "all containers with a JVM are found"))
		for (size_t i = 0; i < r.count; i++) {
			mine += !strcmp(r.workers[i].container.id, "with");
			lacking += r.workers[i].jvms == 0;
		}
	is_int(mine, 1, "this one is among them, once");
	is_int(lacking, 0, "those without a JVM are not");
	ok(exists("out/with/session"), "it has a directory of its own, if it is the only one");
	record_discard(&r);
	actor_end(with.pid);
	rmdir(output);
	if (record_start(&c, &r, &err) != RECORD_OK)
		is_str(err.msg,
		       "dfg found no container with a JVM; a process of the host: --pid PID",
		       "the message where there is none");
	else
		record_discard(&r);
	actor_end(without);
	rmdir(output);
}

/* ---- the size of stack copies ---- */

/* The size that a run has for these processes. */
static unsigned copies_of(const struct record_config *config, const pid_t *pids, size_t count)
{
	struct record_config c = *config;
	char text[2][16], *names[2];
	struct record_run r;
	unsigned bytes;

	for (size_t i = 0; i < count; i++) {
		snprintf(text[i], sizeof(text[i]), "%d", (int)pids[i]);
		names[i] = text[i];
	}
	c.names = names;
	c.name_count = count;
	c.by_pid = true;
	if (!starts(&c, &r, "a run starts"))
		return ~0u;
	bytes = r.stack_bytes;
	record_discard(&r);
	rmdir(output);
	return bytes;
}

static void test_stack_bytes(const char *library)
{
	struct jvm kept[] = {fakejvm_start(library), fakejvm_start(library)};
	const pid_t both[] = {kept[0].pid, kept[1].pid}, none = actor_idle();
	const pid_t mixed[] = {kept[0].pid, none};
	struct record_config c = config_of(NULL, 0);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	c.stack_bytes = 1024;
	is_int(copies_of(&c, both, 2), 0, "JVMs that keep frame pointers need no copies");
	is_int(copies_of(&c, mixed, 2), 1024, "a process without a JVM needs them");
	c.unwind = RECORD_UNWIND_VM;
	is_int(copies_of(&c, both, 1), 1024, "--unwind vm copies in any case");
	c.unwind = RECORD_UNWIND_FP;
	is_int(copies_of(&c, &none, 1), 0, "--unwind fp never does");
	c = config_of(NULL, 0);
	c.frequency = 1;
	is_int(copies_of(&c, &none, 1), perf_stack_bytes((size_t)cpus, 1, 1),
	       "without --stack a short recording has the largest copies");
	c.frequency = 100000;
	c.duration = 86400;
	is_int(copies_of(&c, &none, 1), perf_stack_bytes((size_t)cpus, 100000, 86400),
	       "and a long one the smallest");
	fakejvm_end(&kept[0]);
	fakejvm_end(&kept[1]);
	actor_end(none);
}

int main(int argc, char **argv)
{
	static const char *const fakes[] = {"perf-good"};
	CLEANUP(free) char *golden = NULL, *library = NULL;
	static struct snap_image image;

	if (fakeperf_is(argv[0]))
		return fakeperf_main(argc, argv);
	fakeshim_become(argc);
	scratch_make();
	signal(SIGPIPE, SIG_IGN); /* as in each command */
	root = path_of("root");
	perf = path_of("perf-good");
	output = path_of("out");
	golden = path_of("golden");
	fakeperf_make_at(golden, getpid());
	fakeperf_install(top, fakes, ARRAY_LEN(fakes));
	test_find();
	test_not_found();
	test_pod();
	test_all();
	library = path_of("libjvm.so");
	unlink(library);
	snap_image_build(&image, IMAGE_17);
	fakejvm_library(&image.im, library);
	test_stack_bytes(library);
	free(root);
	free(perf);
	free(output);
	fakeshim_end();
	scratch_remove();
	return tap_done();
}
