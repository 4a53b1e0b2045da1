// SPDX-License-Identifier: Apache-2.0
#include "common/fs.h"
#include "common/str.h"
#include "format/format.h"
#include "profile/read.h"
#include "report/load.h"

#define TEXT_MAX    ((size_t)2 << 30)
#define BINARY_LOOK 4096		/* bytes; text has no 0 */

static int read_session(const struct session *s, const struct input_files *files,
			struct profile *profile, struct err *err)
{
	struct origin origin = {.container = s->container_name,
				.id = s->container_id,
				.pod = s->pod,
				.namespace = s->namespace,
				.host = s->host,
				.started = s->started};
	CLEANUP(free) struct session_map *maps = xcalloc(s->map_count, sizeof(*maps));
	CLEANUP(free) struct session_elf *elfs = xcalloc(s->elf_count, sizeof(*elfs));
	const int *at = files->list + INPUT_MAPS;
	struct recording in = {
		.perf_fd = files->list[INPUT_PERF],
		.kallsyms_fd = files->list[INPUT_KALLSYMS],
		.maps = maps,
		.map_count = s->map_count,
		.elfs = elfs,
		.elf_count = s->elf_count,
		.processes = s->processes,
		.process_count = s->process_count,
		.threads = s->threads,
		.thread_count = s->thread_count,
		.only_processes = s->whole_machine && s->process_count,
		.origin = profile->samples ? samples_add_origin(profile->samples, &origin) : 0};

	for (size_t i = 0; i < s->map_count; i++) {
		maps[i] = s->maps[i];
		maps[i].fd = *at++;
	}
	for (size_t i = 0; i < s->elf_count; i++) {
		elfs[i] = s->elfs[i];
		elfs[i].fd = *at++;
		elfs[i].debug_fd = *at++;
	}
	return profile_read(&in, profile, err);
}

static int read_folded(const struct str *text, struct profile *profile, uint64_t *skipped,
		       struct err *err)
{
	size_t look = text->len < BINARY_LOOK ? text->len : BINARY_LOOK;
	uint64_t samples = 0, lines = 1;

	if (!look || !memchr(text->buf, '\0', look))
		lines = fold_read(profile->stacks, text->buf, text->len, &samples);
	if (samples == 0 && lines)
		return err_set(err, 0, "neither folded text nor pprof, and no session directory");
	*skipped += lines;
	profile->quality.samples += samples;
	profile->quality.unrated += samples;
	return 0;
}

static int read_file(int fd, struct profile *profile, uint64_t *skipped, struct err *err)
{
	CLEANUP(str_fini) struct str text = {0};
	uint64_t before = profile->quality.samples;

	if (fs_read_all(fd, TEXT_MAX, &text, err) < 0)
		return -1;
	if (!pprof_is(text.buf, text.len))
		return read_folded(&text, profile, skipped, err);
	if (pprof_read(profile, text.buf, text.len, err) < 0)
		return -1;
	profile->quality.unrated += profile->quality.samples - before;
	return 0;
}

int input_read(const struct input *in, const struct input_files *files, struct profile *profile,
	       uint64_t *skipped, struct err *err)
{
	const struct session *s = input_session(in);

	if ((s ? read_session(s, files, profile, err)
	       : read_file(files->list[0], profile, skipped, err)) < 0)
		return err_wrap(err, "%s", in->path);
	if (profile->quality.samples > COUNT_MAX)
		return err_set(err, 0, "%s: more than 2^53 samples in all", in->path);
	return 0;
}
