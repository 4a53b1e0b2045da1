// SPDX-License-Identifier: Apache-2.0
/* containerd's CRI: base_runtime_spec in config.toml, a specification that the containers of pods
 * begin with. A handler that has one already gets the hook into that one.
 *
 * A file of our own that config.toml imports would be tidier, but before containerd 2 an imported
 * file replaces all of the CRI plugin's configuration (containerd 1.6 services/server/config/
 * config.go, mergeConfig). */
#include <fcntl.h>

#include "common/child.h"
#include "common/fs.h"
#include "oci/jsontext.h"
#include "oci/spec.h"
#include "setup/change.h"
#include "setup/engine.h"
#include "setup/toml.h"

#define KEY   "base_runtime_spec"
#define SPEC  "dfg-base.json" /* beside config.toml */
#define BEGIN "# dfg-setup: begin\n"
#define END   "# dfg-setup: end\n"

#define ASK_MS	  10000
#define DUMP_MAX  (1u << 20)
#define IMPORTS	  "imports = " /* names the file itself, which is elsewhere now */
#define SPEC_LINE "base_runtime_spec = "

/* Input of the edit of config.toml. */
struct toml_edit {
	const char *dump; /* of containerd, without our part; NULL: unknown */
	int version;	  /* of the file's format */
	const char *spec; /* our specification, absolute */
};

static int version_of(const char *text)
{
	struct str s = {.buf = (char *)text, .len = strlen(text)};
	CLEANUP(toml_table_fini) struct toml_table top = {0};
	CLEANUP(free) char *version = NULL;
	size_t at = 0;
	uint64_t n;

	if (!toml_next_table(&s, &at, &top) || top.count)
		return 1;
	version = toml_get(&s, &top, "version");
	return version && parse_u64(version, &n) && n < 100 ? (int)n : 1;
}

/* The name of the runtime handler that the table configures, if it is one of the CRI plugin whose
 * containers an OCI runtime of this machine makes; else NULL. Borrowed. */
static const char *handler_of(const struct str *text, const struct toml_table *t)
{
	static const char *const plugins[] = {"io.containerd.grpc.v1.cri",
					      "io.containerd.cri.v1.runtime"};
	CLEANUP(free) char *type = NULL;
	bool is = t->count == 5 && !strcmp(t->keys[0], "plugins") &&
		  !strcmp(t->keys[2], "containerd") && !strcmp(t->keys[3], "runtimes") &&
		  (!strcmp(t->keys[1], plugins[0]) || !strcmp(t->keys[1], plugins[1]));

	if (!is)
		return NULL;
	type = toml_get(text, t, "runtime_type");
	return type ? has_prefix(type, "io.containerd.runc.") ? t->keys[4] : NULL
	       : !strcmp(t->keys[4], "runc") ? t->keys[4]
					     : NULL;
}

/* Calls fn for each handler, with the file in its base_runtime_spec ("": none), until it returns
 * other than 0. fn may change the text if it returns 1: then the loop starts again. */
static int each_handler(struct str *text,
			int (*fn)(struct str *text, const struct toml_table *t, const char *spec,
				  void *arg),
			void *arg)
{
	int rc = 1;

	while (rc > 0) {
		size_t at = 0;
		struct toml_table t;

		for (rc = 0; rc == 0 && toml_next_table(text, &at, &t); toml_table_fini(&t)) {
			CLEANUP(free) char *spec = NULL;

			if (!handler_of(text, &t))
				continue;
			spec = toml_get(text, &t, KEY);
			rc = fn(text, &t, spec ? spec : "", arg);
		}
	}
	return rc;
}

/* ---- config.toml ---- */

struct add_line {
	const char *spec;
	bool has_runc;
};

static int add_line(struct str *text, const struct toml_table *t, const char *spec, void *arg)
{
	struct add_line *p = arg;

	p->has_runc |= !strcmp(t->keys[4], "runc");
	if (*spec)
		return 0;
	toml_set(text, t, KEY, p->spec);
	return 1;
}

/* Adds the handler runc, which the file does not have. A table replaces the built-in one, so all of
 * that is copied from the dump. The dump is in the newest format, which an older file cannot use;
 * but those versions of containerd that know two formats fill in missing values. */
static void add_block(struct str *text, const struct toml_edit *e)
{
	static const char header[] = "[plugins.\"%s\".containerd.runtimes.runc]\n";
	const char *plugin =
		e->version >= 3 ? "io.containerd.cri.v1.runtime" : "io.containerd.grpc.v1.cri";
	struct str dump = {.buf = (char *)e->dump, .len = e->dump ? strlen(e->dump) : 0};
	CLEANUP(str_fini) struct str block = {0};
	bool same = e->dump && version_of(e->dump) == e->version, inside = false;
	struct toml_table t;
	size_t at = 0;

	for (; same && toml_next_table(&dump, &at, &t); toml_table_fini(&t)) {
		inside = handler_of(&dump, &t) && !strcmp(t.keys[4], "runc")
				 ? true
				 : inside && t.count > 5;
		if (inside)
			str_add(&block, dump.buf + t.header, t.to - t.header);
	}
	if (!block.len) {
		str_addf(&block, header, plugin);
		str_adds(&block, "  runtime_type = \"io.containerd.runc.v2\"\n");
	}
	for (at = 0; toml_next_table(&block, &at, &t); toml_table_fini(&t)) {
		if (!handler_of(&block, &t))
			continue;
		toml_set(&block, &t, KEY, e->spec);
		toml_table_fini(&t);
		break;
	}
	if (text->len && text->buf[text->len - 1] != '\n')
		str_addc(text, '\n');
	str_addf(text, BEGIN "%s" END, block.buf);
}

static int add_part(struct str *text, const void *what, struct err *err)
{
	const struct toml_edit *e = what;
	struct add_line line = {e->spec, false};

	if (!text->len)
		str_addf(text, "version = %d\n", e->version);
	else if (e->version < 2)
		return err_set(err, 0,
			       "is of version 1, which has no " KEY ": move it to version 2");
	each_handler(text, add_line, &line);
	if (!line.has_runc)
		add_block(text, e);
	return 0;
}

/* Value of the same handler in the copy: NULL if it has no such line. Owned. */
static char *earlier(const struct str *before, const char *name)
{
	struct toml_table t;
	char *value = NULL;
	size_t at = 0;

	for (; before && !value && toml_next_table(before, &at, &t); toml_table_fini(&t))
		if (handler_of(before, &t) && !strcmp(t.keys[4], name))
			value = toml_get(before, &t, KEY);
	return value;
}

struct remove_line {
	const char *spec;
	const struct str *before;
};

static int remove_line(struct str *text, const struct toml_table *t, const char *spec, void *arg)
{
	const struct remove_line *p = arg;
	CLEANUP(free) char *old = NULL;

	if (strcmp(spec, p->spec) != 0)
		return 0;
	old = earlier(p->before, t->keys[4]);
	if (old)
		toml_set(text, t, KEY, old);
	else
		toml_remove(text, t, KEY);
	return 1;
}

static int remove_part(struct str *text, const struct str *before, const void *what,
		       struct err *err)
{
	const struct toml_edit *e = what;
	char *begin = text->len ? strstr(text->buf, BEGIN) : NULL;
	char *end = begin ? strstr(begin, END) : NULL;

	(void)err;
	if (end) {
		size_t len = (size_t)(end - begin) + strlen(END);

		memmove(begin, begin + len, text->len - (size_t)(begin - text->buf) - len + 1);
		text->len -= len;
	}
	each_handler(text, remove_line, &(struct remove_line){e->spec, before});
	return 0;
}

/* ---- the program ---- */

static int run(const char *const *argv, struct str *ret, struct err *err)
{
	int status = child_capture((char *const *)argv, NULL, -1, ASK_MS, DUMP_MAX, ret, err);

	if (status > 0)
		return err_set(err, 0, "%s ended with status %d", argv[0], status);
	return status;
}

/* Its whole configuration with this text as config.toml (NULL: without one), in TOML of its newest
 * format; NULL if it cannot run, or refuses the text. Owned. */
static char *dump_config(const struct setup *s, const char *text)
{
	char dir[] = "/tmp/dfg-setup.XXXXXX";
	CLEANUP(close_fd)
	int fd = mkdtemp(dir) ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	CLEANUP(free) char *path = xasprintf("%s/config.toml", dir);
	CLEANUP(str_fini) struct str out = {0};
	const char *program = s->program ? s->program : "containerd";
	bool done = false;

	if (fd < 0)
		return NULL;
	if (!text)
		done = run((const char *const[]){program, "config", "default", NULL}, &out, NULL) ==
		       0;
	else if (fs_replace_file(fd, "config.toml", 0600, text, strlen(text), NULL) == 0)
		done = run((const char *const[]){program, "--config", path, "config", "dump", NULL},
			   &out, NULL) == 0;
	fs_remove_tree(AT_FDCWD, dir);
	return done && out.len ? xstrdup(out.buf) : NULL;
}

/* Appends the specification that its containers begin with. */
static int print_spec(const struct setup *s, struct str *ret, struct err *err)
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

/* True for a difference that was planned. */
static bool is_planned(const char *before, const char *after, const char *spec)
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

/* The first line of `after` that is neither as before nor planned, or NULL. */
static const char *find_surprise(const char *before, const char *after, const char *spec)
{
	while (*before || *after) {
		size_t len = line_length(before), len2 = line_length(after);

		if ((len != len2 || memcmp(before, after, len)) && !is_planned(before, after, spec))
			return after;
		before += len + (before[len] != '\0');
		after += len2 + (after[len2] != '\0');
	}
	return NULL;
}

/* Fails unless the planned change of `file` does what it should and nothing else: with it, the dump
 * is the same except that some base_runtime_spec are `spec` now. */
static int check_change(const struct setup *s, const struct changes *c, const char *file,
			const char *before, const char *spec, struct err *err)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct change *at = &c->list[i];
		CLEANUP(free) char *after = NULL;
		const char *line;

		if (strcmp(at->path, file) != 0)
			continue;
		after = dump_config(s, at->then.buf);
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
				       "overrides it",
				       file);
	}
	return 0;
}

/* ---- specifications ---- */

struct specs {
	const struct setup *s;
	const char *ours; /* absolute */
	bool install;
	struct changes *changes;
	struct err *err;
};

/* Adds the hook to the administrator's own specification, or removes it. */
static int plan_own_spec(struct str *text, const struct toml_table *t, const char *spec, void *arg)
{
	struct specs *p = arg;
	struct change *last;

	(void)text;
	(void)t;
	if (spec[0] != '/' || !strcmp(spec, p->ours))
		return 0;
	if (plan_bundle(p->s, p->install, spec + 1, p->changes, p->err) < 0)
		return -1;
	/* Two handlers may share it. */
	last = p->changes->count ? &p->changes->list[p->changes->count - 1] : NULL;
	for (size_t i = 0; last && i + 1 < p->changes->count; i++)
		if (!strcmp(p->changes->list[i].path, last->path))
			changes_drop_last(p->changes);
	return 0;
}

/* Builds the specification that containers would begin with, without the parts that CRI drops when
 * there is no base specification, so that pods stay the same (containerd
 * internal/cri/opts/spec_opts.go, WithoutDefaultSecuritySettings). */
static int make_spec(const struct setup *s, struct str *ret, struct err *err)
{
	static const char *const extra[][3] = {
		{"process", "rlimits"}, {"process", "apparmorProfile"}, {"linux", "seccomp"}};

	if (print_spec(s, ret, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(extra); i++)
		if (json_text_remove(ret, extra[i]) < 0)
			return err_set(err, 0, "the output of ctr oci spec is not understood");
	if (oci_spec_add_hook(ret, s->hook, s->root, err) < 0)
		return -1;
	return s->early && oci_spec_add_early(ret, err) < 0 ? -1 : 0;
}

/* True if a handler of the changed file begins with this specification. */
static bool is_used(const struct changes *c, const char *file, const struct str *now,
		    const char *spec)
{
	CLEANUP(free) char *value = xasprintf("\"%s\"", spec);
	const struct str *text = now;

	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->list[i].path, file))
			text = &c->list[i].then;
	return text->len && strstr(text->buf, value);
}

static int plan_our_spec(const struct setup *s, bool install, const char *spec, struct changes *ret,
			 struct err *err)
{
	CLEANUP(str_fini) struct str text = {0};

	if (install && make_spec(s, &text, err) < 0)
		return -1;
	if (change_plan_whole(ret, s->rootfd, spec + 1, install ? text.buf : NULL, 0, err) < 0)
		return -1;
	/* It has to be there before config.toml names it. */
	if (install)
		changes_put_first(ret, spec + 1);
	return 0;
}

int plan_containerd(const struct setup *s, bool install, const char *file, struct changes *ret,
		    struct err *err)
{
	const char *slash = strrchr(file, '/');
	CLEANUP(free)
	char *spec = xasprintf("/%.*s/" SPEC, slash ? (int)(slash - file) : 0, file);
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(free) char *dump = NULL;
	struct specs specs = {s, spec, install, ret, err};
	struct toml_edit edit = {.spec = spec};

	if (change_read(s->rootfd, file, &text, err) < 0)
		return -1;
	dump = dump_config(s, text.len ? text.buf : NULL);
	if (install && !dump && !s->force)
		return err_set(
			err, 0,
			"containerd config dump fails, so the effect of a change is unknown; "
			"--program FILE, or --force");
	edit.dump = dump;
	edit.version = version_of(text.len ? text.buf : dump ? dump : "version = 2");
	if (each_handler(&text, plan_own_spec, &specs) < 0 ||
	    change_plan(ret, s->rootfd, file, &(struct edit){&edit, add_part, remove_part}, install,
			err) < 0 ||
	    plan_our_spec(s, install && is_used(ret, file, &text, spec), spec, ret, err) < 0)
		return -1;
	return install && !s->force ? check_change(s, ret, file, dump, spec, err) : 0;
}

/* ---- the setting as it is ---- */

struct handler_reader {
	int rootfd;
	struct engine_setting *setting;
};

static int read_handler(struct str *text, const struct toml_table *t, const char *spec, void *arg)
{
	struct handler_reader *l = arg;

	(void)text;
	(void)t;
	if (spec[0] == '/')
		read_bundle(l->rootfd, spec + 1, l->setting);
	return 0;
}

void read_containerd(int rootfd, const char *file, struct engine_setting *ret)
{
	CLEANUP(str_fini) struct str text = {0};

	if (change_read(rootfd, file, &text, NULL) > 0)
		each_handler(&text, read_handler, &(struct handler_reader){rootfd, ret});
}
