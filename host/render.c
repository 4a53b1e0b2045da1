// SPDX-License-Identifier: Apache-2.0
#include "render.h"

#include <errno.h>
#include <fcntl.h>

#include "dfg/confine.h"
#include "dfg/fs.h"
#include "dfg/run.h"
#include "dfg/str.h"
#include "hottest.h"
#include "profile.h"

/* The child's limits: generous for any real recording, small enough that a forged one cannot take
 * the machine. Address space, since the recording is mapped. */
#define MEMORY_BASE (4ull << 30)
#define CPU_SECONDS 600

struct job {
	const struct session *session;
	const struct format_set *formats;
	struct profile_input in;
	struct profile_map *maps;
	struct profile_elf *elfs;
	struct profile_process *processes;
	struct profile_thread *threads;
	pid_t *only;
	int out[FORMATS_MAX];
	uint64_t memory;
};

/* ---- opening all, before power is given up ---- */

static int open_inputs(struct job *j, struct err *err)
{
	const struct session *s = j->session;
	struct err ignored;
	struct stat st;

	j->in.perf_fd = fs_open_regular(s->dirfd, "perf.data", O_RDONLY, err);
	if (j->in.perf_fd < 0)
		return -1;
	if (fstat(j->in.perf_fd, &st) == 0)
		j->memory = MEMORY_BASE + 4 * (uint64_t)st.st_size;
	j->in.kallsyms_fd = fs_open_regular(s->dirfd, "kallsyms", O_RDONLY, &ignored);
	for (size_t i = 0; i < s->map_count; i++)
		j->maps[i] = (struct profile_map){
			.pid = s->maps[i].pid,
			.order = s->maps[i].order,
			.fd = fs_open_regular(s->mapsfd, s->maps[i].name, O_RDONLY, &ignored)};
	for (size_t i = 0; i < s->elf_count; i++)
		j->elfs[i] = (struct profile_elf){
			.root = s->elfs[i].root,
			.path = s->elfs[i].path,
			.fd = fs_open_regular(s->elffd, s->elfs[i].name, O_RDONLY, &ignored),
			.debug_fd = s->elfs[i].debug ? fs_open_regular(s->elffd, s->elfs[i].debug,
								       O_RDONLY, &ignored)
						     : -1};
	return 0;
}

static void fill_input(struct job *j)
{
	const struct session *s = j->session;

	for (size_t i = 0; i < s->process_count; i++) {
		j->processes[i] = (struct profile_process){.pid = s->processes[i].pid,
							   .root = s->processes[i].root};
		j->only[i] = s->processes[i].pid;
	}
	for (size_t i = 0; i < s->thread_count; i++)
		j->threads[i] = (struct profile_thread){.pid = s->threads[i].pid,
							.tid = s->threads[i].tid,
							.nstid = s->threads[i].nstid};
	j->in.threads = j->threads;
	j->in.thread_count = s->thread_count;
	j->in.maps = j->maps;
	j->in.map_count = s->map_count;
	j->in.elfs = j->elfs;
	j->in.elf_count = s->elf_count;
	j->in.processes = j->processes;
	j->in.process_count = s->process_count;
	j->in.only = j->only;
	j->in.only_count = s->whole_machine ? s->process_count : 0;
}

static char *temporary(const struct format *f)
{
	return xasprintf(".%s.%d", f->file, (int)getpid());
}

static int open_outputs(struct job *j, int outdir, struct err *err)
{
	for (size_t i = 0; i < j->formats->count; i++) {
		CLEANUP(free) char *name = temporary(j->formats->list[i]);

		unlinkat(outdir, name, 0);
		j->out[i] = fs_create(outdir, name, 0644, err);
		if (j->out[i] < 0)
			return -1;
	}
	return 0;
}

/* Whole files get their names; after a failure all are removed. */
static int close_outputs(struct job *j, int outdir, bool good, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < j->formats->count; i++) {
		CLEANUP(free) char *name = temporary(j->formats->list[i]);

		if (j->out[i] < 0)
			continue;
		/* A full disk may show only now. */
		if (close(j->out[i]) < 0 && good && rc == 0)
			rc = err_set(err, errno, "write %s", j->formats->list[i]->file);
		if (!good || rc < 0)
			unlinkat(outdir, name, 0);
		else if (renameat(outdir, name, outdir, j->formats->list[i]->file) < 0)
			rc = err_set(err, errno, "name %s", j->formats->list[i]->file);
	}
	return rc;
}

static void close_inputs(struct job *j)
{
	for (size_t i = 0; i < j->session->map_count; i++)
		cleanup_close_fd(&j->maps[i].fd);
	for (size_t i = 0; i < j->session->elf_count; i++) {
		cleanup_close_fd(&j->elfs[i].fd);
		cleanup_close_fd(&j->elfs[i].debug_fd);
	}
	cleanup_close_fd(&j->in.perf_fd);
	cleanup_close_fd(&j->in.kallsyms_fd);
	free(j->maps);
	free(j->elfs);
	free(j->processes);
	free(j->threads);
	free(j->only);
}

/* ---- the child ---- */

static char *title_of(const struct session *s)
{
	return xasprintf("%s: %.1f s at %u Hz", s->container_name, s->duration, s->frequency);
}

static char *subtitle_of(const struct session *s)
{
	CLEANUP(str_fini) struct str out = {0};

	str_addf(&out, "%.12s · %s", s->container_id, s->started);
	for (size_t i = 0; i < s->jvm_count; i++)
		str_addf(&out, " · JVM %d%s%s", (int)s->jvms[i].pid,
			 s->jvms[i].version[0] ? " Java " : "", s->jvms[i].version);
	return TAKE_PTR(out.buf);
}

static int read_all(struct job *j, struct profile *profile, struct err *err)
{
	const struct session *s = j->session;
	struct origin origin = {
		.container = s->container_name, .id = s->container_id, .started = s->started};

	if (profile->samples)
		j->in.origin = samples_add_origin(profile->samples, &origin);
	return profile_read(&j->in, profile, err);
}

static int draw_formats(const struct job *j, const struct stacks *stacks, const struct picture *p,
			struct err *err)
{
	for (size_t i = 0; i < j->formats->count; i++)
		if (j->formats->list[i]->draw(stacks, p, j->out[i], err) < 0)
			return err_wrap(err, "%s", j->formats->list[i]->file);
	return 0;
}

/* Without details the stacks have no places and are drawn as they are. */
static int draw_profile(struct job *j, const struct profile *profile, struct render_result *ret,
			struct err *err)
{
	CLEANUP(free) char *title = title_of(j->session);
	CLEANUP(free) char *subtitle = subtitle_of(j->session);
	CLEANUP(free) uint32_t *nodes = NULL;
	struct stacks *plain = profile->samples ? stacks_plain(profile->stacks, &nodes) : NULL;
	struct stacks *stacks = plain ? plain : profile->stacks;
	struct picture p = {.title = title,
			    .subtitle = subtitle,
			    .quality = profile->quality,
			    .frequency = j->session->frequency,
			    .duration = j->session->duration,
			    .details = plain ? profile : NULL,
			    .nodes = nodes};
	int rc;

	stacks_sort(stacks);
	rc = draw_formats(j, stacks, &p, err);
	if (rc == 0)
		hottest_find(stacks, ret);
	stacks_free(plain);
	return rc;
}

static int draw_all(struct job *j, struct render_result *ret, struct err *err)
{
	struct profile profile;
	int rc;

	profile_init(&profile, formats_take_details(j->formats));
	rc = read_all(j, &profile, err);
	if (rc == 0)
		rc = draw_profile(j, &profile, ret, err);
	ret->quality = profile.quality;
	ret->cut = profile.cut;
	profile_fini(&profile);
	return rc;
}

/* In the child: from here on nothing but the open descriptors is in reach. */
static int confined(void *arg, void *reply, struct err *err)
{
	struct job *j = arg;

	if (confine_reader(j->memory, CPU_SECONDS, err) < 0)
		return -1;
	return draw_all(j, reply, err);
}

int render_session(const struct session *s, const struct format_set *formats, const char *outdir,
		   struct render_result *ret, struct err *err)
{
	CLEANUP(close_fd) int outfd = open(outdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct job j = {.session = s, .formats = formats, .in = {.perf_fd = -1, .kallsyms_fd = -1}};
	struct render_result result = {0};
	int rc;

	if (outfd < 0)
		return err_set(err, errno, "open %s", outdir);
	memset(j.out, -1, sizeof(j.out));
	j.maps = xcalloc(s->map_count, sizeof(*j.maps));
	j.elfs = xcalloc(s->elf_count, sizeof(*j.elfs));
	j.processes = xcalloc(s->process_count, sizeof(*j.processes));
	j.threads = xcalloc(s->thread_count, sizeof(*j.threads));
	j.only = xcalloc(s->process_count, sizeof(*j.only));
	for (size_t i = 0; i < s->map_count; i++)
		j.maps[i].fd = -1;
	for (size_t i = 0; i < s->elf_count; i++)
		j.elfs[i].fd = j.elfs[i].debug_fd = -1;
	rc = open_inputs(&j, err);
	fill_input(&j);
	if (rc == 0)
		rc = open_outputs(&j, outfd, err);
	if (rc == 0 && run_isolated(confined, &j, &result, sizeof(result), -1, err) < 0)
		rc = err_wrap(err, "draw");
	if (close_outputs(&j, outfd, rc == 0, err) < 0)
		rc = -1;
	close_inputs(&j);
	if (rc == 0)
		*ret = result;
	return rc;
}
