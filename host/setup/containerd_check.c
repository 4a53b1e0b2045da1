// SPDX-License-Identifier: Apache-2.0
#include "setup/containerd_check.h"

#include <fcntl.h>

#include "common/child.h"
#include "common/fs.h"

#define ASK_MS	  10000
#define DUMP_MAX  (1u << 20)
#define IMPORTS	  "imports = " /* names the file itself, which is elsewhere now */
#define SPEC_LINE "base_runtime_spec = "

static int run(const char *const *argv, struct str *ret, struct err *err)
{
	int status = child_capture((char *const *)argv, NULL, -1, ASK_MS, DUMP_MAX, ret, err);

	if (status > 0)
		return err_set(err, 0, "%s ended with status %d", argv[0], status);
	return status;
}

char *containerd_dump(const struct setup *s, const char *text)
{
	char dir[] = "/tmp/dfg-setup.XXXXXX";
	CLEANUP(close_fd)
	int fd = mkdtemp(dir) ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	CLEANUP(free) char *path = xasprintf("%s/config.toml", dir);
	CLEANUP(str_fini) struct str out = {0};
	const char *program = s->program ? s->program : "containerd";
	struct err err;
	bool done = false;

	if (fd < 0)
		return NULL;
	if (!text)
		done = run((const char *const[]){program, "config", "default", NULL}, &out, &err) ==
		       0;
	else if (fs_replace_file(fd, "config.toml", 0600, text, strlen(text), &err) == 0)
		done = run((const char *const[]){program, "--config", path, "config", "dump", NULL},
			   &out, &err) == 0;
	fs_remove_tree(AT_FDCWD, dir);
	return done && out.len ? xstrdup(out.buf) : NULL;
}

int containerd_spec(const struct setup *s, struct str *ret, struct err *err)
{
	const char *slash = s->program ? strrchr(s->program, '/') : NULL;
	CLEANUP(free)
	char *ctr = slash ? xasprintf("%.*s/ctr", (int)(slash - s->program), s->program)
			  : xstrdup("ctr");

	return run((const char *const[]){ctr, "oci", "spec", NULL}, ret, err);
}

static size_t line_length(const char *p)
{
	return strcspn(p, "\n");
}

/* Whether the lines may differ. */
static bool is_meant(const char *before, const char *after, const char *spec)
{
	size_t blanks = strspn(after, " ");
	const char *value;

	if (has_prefix(before + strspn(before, " "), IMPORTS) &&
	    has_prefix(after + blanks, IMPORTS))
		return true;
	if (!has_prefix(before + strspn(before, " "), SPEC_LINE) ||
	    !has_prefix(after + blanks, SPEC_LINE))
		return false;
	value = after + blanks + strlen(SPEC_LINE) + 1;
	return !strncmp(value, spec, strlen(spec)) && line_length(value) == strlen(spec) + 1;
}

/* The first line of `after` that is neither as before nor meant; NULL: there is none. */
static const char *find_surprise(const char *before, const char *after, const char *spec)
{
	while (*before || *after) {
		size_t len = line_length(before), len2 = line_length(after);

		if ((len != len2 || memcmp(before, after, len)) && !is_meant(before, after, spec))
			return after;
		before += len + (before[len] != '\0');
		after += len2 + (after[len2] != '\0');
	}
	return NULL;
}

int containerd_check(const struct setup *s, const struct changes *c, const char *file,
		     const char *before, const char *spec, struct err *err)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct change *at = &c->list[i];
		CLEANUP(free) char *after = NULL;
		const char *line;

		if (strcmp(at->path, file) != 0)
			continue;
		after = containerd_dump(s, at->then.buf);
		if (!after)
			return err_set(err, 0, "containerd would not accept the change of /%s",
				       file);
		line = find_surprise(before, after, spec);
		if (line)
			return err_set(
				err, 0,
				"the change of /%s would change more than it should: \"%.*s\"; "
				"put base_runtime_spec there by hand",
				file, (int)line_length(line), line);
		if (!strstr(after, spec))
			return err_set(err, 0,
				       "the change of /%s would have no effect: another file "
				       "counts more",
				       file);
	}
	return 0;
}
