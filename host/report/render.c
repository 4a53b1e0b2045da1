// SPDX-License-Identifier: Apache-2.0
#include "report/render.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/log.h"
#include "common/parallel.h"
#include "common/str.h"
#include "report/filter.h"
#include "report/merge.h"
#include "report/outputs.h"
#include "report/sandbox.h"

struct render_job {
	const struct inputs *in;
	const struct format_set *formats;
	unsigned roots;
	struct outputs outputs;
};

/* True if no input before this one has its name. */
static bool is_first(const struct inputs *in, size_t i)
{
	size_t k = 0;

	while (strcmp(input_name(&in->list[k]), input_name(&in->list[i])))
		k++;
	return k == i;
}

static char *title_of(const struct inputs *in)
{
	size_t names = 0;

	if (in->count == 1)
		return input_title(&in->list[0]);
	for (size_t i = 0; i < in->count; i++)
		names += is_first(in, i);
	if (names == 1)
		return xasprintf("%s: %zu recordings", input_name(&in->list[0]), in->count);
	return xasprintf("%zu recordings of %zu containers", in->count, names);
}

#define SUBTITLE_NAMES 120 /* bytes, about */

static char *whole_subtitle(const struct inputs *in)
{
	CLEANUP(str_fini) struct str out = {0};

	if (in->count == 1)
		return input_subtitle(&in->list[0]);
	for (size_t i = 0; i < in->count && out.len < SUBTITLE_NAMES; i++)
		if (is_first(in, i))
			str_addf(&out, "%s%s", i ? ", " : "", input_name(&in->list[i]));
	if (out.len >= SUBTITLE_NAMES)
		str_adds(&out, ", …");
	return TAKE_PTR(out.buf);
}

static char *subtitle_of(const struct inputs *in)
{
	CLEANUP(free) char *whole = whole_subtitle(in);
	CLEANUP(free) char *filter = NULL;

	if (filter_is_empty(in->filter))
		return TAKE_PTR(whole);
	filter = filter_text(in->filter);
	return xasprintf("%s%s%s", whole ? whole : "", whole && *whole ? " · " : "", filter);
}

/* Returns the recordings' common frequency, 0: none. */
static unsigned frequency_of(const struct inputs *in)
{
	unsigned ret = 0;

	for (size_t i = 0; i < in->count && in->event == EVENT_CPU; i++) {
		const struct session *s = input_session(&in->list[i]);

		if (!s || (ret && ret != s->frequency))
			return 0;
		ret = s->frequency;
	}
	return ret;
}

static double duration_of(const struct inputs *in)
{
	const struct session *s = input_session(&in->list[0]);

	return in->count == 1 && s ? s->duration : 0;
}

/* The figures of one session. Processors used are estimated from the samples where the control
 * group did not say. */
static struct session_cpu cpu_of(const struct inputs *in, const struct quality *q)
{
	const bool single = in->count == 1 && in->event == EVENT_CPU;
	const struct session *s = single ? input_session(&in->list[0]) : NULL;
	struct session_cpu ret = SESSION_CPU_UNKNOWN;

	if (!s)
		return ret;
	ret = s->cpu;
	if (ret.used < 0 && s->duration > 0 && s->frequency)
		ret.used = (double)(q->samples + q->lost) / s->duration / s->frequency;
	return ret;
}

/* ---- the hottest frame and stack --------------------------------------------------------- */

static void find_leaf(const struct stacks *s, struct render_result *ret)
{
	uint64_t *self = xcalloc(stacks_frame_count(s), sizeof(*self));
	size_t nodes = stacks_node_count(s), best = 0;

	for (uint32_t n = 1; n < nodes; n++) {
		const struct stack_node *node = stacks_node(s, n);

		self[node->frame] += node->self;
	}
	for (size_t f = 0; f < stacks_frame_count(s); f++)
		if (self[f] > self[best])
			best = f;
	if (stacks_frame_count(s) && self[best]) {
		snprintf(ret->leaf, sizeof(ret->leaf), "%s", stacks_frame(s, (uint32_t)best)->name);
		ret->leaf_self = self[best];
	}
	free(self);
}

/* Writes the outermost two frames, "...", and as many of the innermost as fit. */
static void write_path(const struct stacks *s, const uint32_t *frames, size_t n, char *ret,
		       size_t size)
{
	CLEANUP(str_fini) struct str head = {0};
	CLEANUP(str_fini) struct str tail = {0};
	size_t first = n, used = 0, head_count = n < 2 ? n : 2;

	for (size_t i = 0; i < head_count; i++)
		str_addf(&head, "%s%s", i ? ";" : "", stacks_frame(s, frames[i])->name);
	while (first > head_count) {
		size_t len = stacks_frame(s, frames[first - 1])->len + 1u;

		if (head.len + used + len + sizeof(";...") > size)
			break;
		used += len;
		first--;
	}
	if (first > head_count)
		str_adds(&tail, ";...");
	for (size_t i = first; i < n; i++)
		str_addf(&tail, ";%s", stacks_frame(s, frames[i])->name);
	snprintf(ret, size, "%s%s", head.buf ? head.buf : "", tail.buf ? tail.buf : "");
}

static void find_path(const struct stacks *s, struct render_result *ret)
{
	size_t nodes = stacks_node_count(s), depth = 0;
	CLEANUP(free) uint32_t *frames = NULL;
	uint32_t best = 0;

	for (uint32_t n = 1; n < nodes; n++)
		if (stacks_node(s, n)->self > (best ? stacks_node(s, best)->self : 0))
			best = n;
	if (!best)
		return;
	ret->path_self = stacks_node(s, best)->self;
	for (uint32_t n = best; n; n = stacks_node(s, n)->parent)
		depth++;
	frames = xcalloc(depth, sizeof(*frames));
	for (uint32_t n = best, i = (uint32_t)depth; n; n = stacks_node(s, n)->parent)
		frames[--i] = stacks_node(s, n)->frame;
	write_path(s, frames, depth, ret->path, sizeof(ret->path));
}

/* ---- drawing ----------------------------------------------------------------------------- */

struct drawing {
	const struct format *format;
	const struct stacks *stacks;
	struct picture picture;
	int fd, rc;
	struct err err;
};

static void draw_format(void *arg, size_t i)
{
	struct drawing *d = (struct drawing *)arg + i;

	d->rc = d->format->draw(d->stacks, &d->picture, d->fd, &d->err);
}

/* Draws each format in its own thread: shared data is constant from here on. */
static int draw_all(struct drawing *list, size_t n, struct err *err)
{
	parallel_run(n, draw_format, list);
	for (size_t i = 0; i < n; i++)
		if (list[i].rc < 0) {
			*err = list[i].err;
			return err_wrap(err, "%s", list[i].format->file);
		}
	return 0;
}

/* Formats with details get the profile, whose stacks begin with threads; other formats get stacks
 * with the roots of the options. */
static int draw_gathered(const struct render_job *j, const struct gathered *g,
			 const struct picture *p, struct render_result *ret, struct err *err)
{
	CLEANUP(free) uint32_t *nodes = NULL;
	CLEANUP(stacks_free)
	struct stacks *plain = g->profile.samples ? stacks_plain(g->profile.stacks, &nodes) : NULL;
	struct stacks *rooted = g->rooted ? g->rooted : plain ? plain : g->profile.stacks;
	struct drawing list[FORMATS_MAX];
	size_t n = 0;

	stacks_sort(rooted);
	if (plain && plain != rooted)
		stacks_sort(plain);
	find_leaf(rooted, ret);
	find_path(rooted, ret);
	for (size_t i = 0; i < j->formats->count; i++) {
		const struct format *f = j->formats->list[i];
		struct drawing *d = &list[n];

		if (f->draw_inputs)
			continue;
		*d = (struct drawing){.format = f,
				      .stacks = f->details ? plain : rooted,
				      .picture = *p,
				      .fd = j->outputs.fds[i]};
		d->picture.details = f->details ? &g->profile : NULL;
		d->picture.nodes = f->details ? nodes : NULL;
		d->picture.threads = roots_threads(j->roots);
		d->picture.full = j->roots & ROOT_FULL;
		n++;
	}
	return draw_all(list, n, err);
}

/* Runs in the sandbox. */
static int draw(struct reading *r, void *arg, void *reply, struct err *err)
{
	struct render_result *ret = reply;
	const struct render_job *j = arg;
	CLEANUP(free) char *title = title_of(j->in);
	CLEANUP(free) char *subtitle = subtitle_of(j->in);
	struct picture p = {.title = title,
			    .subtitle = subtitle,
			    .frequency = frequency_of(j->in),
			    .duration = duration_of(j->in),
			    .links = j->formats->links,
			    .link_count = j->formats->link_count,
			    .unit = event_names[j->in->event].unit};
	struct gathered g;
	/* The verdict needs threads: with details the profile's own stacks begin with them. */
	bool details = formats_take_details(j->formats) || j->roots != ROOT_THREAD;
	int rc = gather(r, j->in->count, j->roots, details, &g, err);

	ret->quality = p.quality = g.profile.quality;
	p.cpu = ret->cpu = cpu_of(j->in, &g.profile.quality);
	p.session = j->in->count == 1 ? input_session(&j->in->list[0]) : NULL;
	ret->cut = g.profile.cut;
	ret->nameless_files = g.profile.nameless_files;
	ret->skipped = g.skipped;
	verdict_make(g.profile.stacks, &ret->verdict);
	p.verdict = j->in->event == EVENT_CPU ? &ret->verdict : NULL;
	if (event_names[j->in->event].by) {
		subjects_make(g.profile.stacks, j->in->event, &ret->subjects);
		p.subjects = &ret->subjects;
		ret->pauses = g.profile.pauses;
		p.pauses = &ret->pauses;
		compilations_list(&g.profile.compilations, &ret->compilations);
		p.compilations = &ret->compilations;
	}
	wall_list_make(&g.profile.wall, g.profile.stacks, &ret->wall);
	p.wall = j->in->event == EVENT_CLOCK ? &ret->wall : NULL;
	memcpy(ret->events, g.profile.events, sizeof(ret->events));
	if (rc == 0)
		rc = draw_gathered(j, &g, &p, ret, err);
	gathered_fini(&g);
	return rc;
}

static void check_result(void *reply)
{
	struct render_result *r = reply;

	str_clean(r->leaf, sizeof(r->leaf));
	str_clean(r->path, sizeof(r->path));
	verdict_check(&r->verdict);
	subjects_check(&r->subjects);
	pauses_check(&r->pauses);
	compilation_list_check(&r->compilations);
	wall_list_check(&r->wall);
	session_cpu_check(&r->cpu);
}

/* Draws the formats that are not made from the profile. */
static int draw_inputs(const struct render_job *j, struct err *err)
{
	for (size_t i = 0; i < j->formats->count; i++) {
		const struct format *f = j->formats->list[i];

		if (f->draw_inputs && f->draw_inputs(j->in, j->outputs.fds[i], err) < 0)
			return err_wrap(err, "%s", f->file);
	}
	return 0;
}

static int open_outputs(const struct format_set *formats, const struct outdir *outdir, char **names,
			struct outputs *ret, struct err *err)
{
	for (size_t i = 0; i < formats->count; i++) {
		bool apart = formats->list[i] == &format_tree && formats->tree_dir;

		names[i] = formats_file(formats, formats->list[i]);
		if (outputs_add(ret, apart ? formats->tree_dir : outdir, names[i], err) < 0)
			return -1;
	}
	return 0;
}

static void say_replaced(const struct outputs *o)
{
	CLEANUP(str_fini) struct str names = {0};

	for (size_t i = 0; i < o->count; i++)
		if (faccessat(o->dirs[i]->fd, o->names[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			str_addf(&names, "%s %s", names.len ? "," : "", o->names[i]);
	if (names.len)
		log_info("replaced in %s:%s", o->dirs[0]->path, names.buf);
}

static int draw_outputs(struct render_job *j, struct render_result *ret, struct err *err)
{
	const struct reading_job job = {.fn = draw,
					.arg = j,
					.outputs = j->outputs.fds,
					.output_count = j->outputs.count,
					.check = check_result};
	struct render_result result = {0};
	int rc = reading_run(j->in, &job, &result, sizeof(result), err);

	if (rc == 0)
		rc = draw_inputs(j, err);
	if (rc < 0)
		err_wrap(err, "draw");
	else
		say_replaced(&j->outputs);
	if (outputs_close(&j->outputs, rc == 0, err) < 0)
		rc = -1;
	if (rc == 0)
		*ret = result;
	return rc;
}

int render(const struct inputs *in, unsigned roots, const struct format_set *formats,
	   const struct outdir *outdir, struct render_result *ret, struct err *err)
{
	struct render_job j = {.in = in, .formats = formats, .roots = roots};
	char *names[FORMATS_MAX] = {0};
	int rc = open_outputs(formats, outdir, names, &j.outputs, err);

	if (rc == 0)
		rc = draw_outputs(&j, ret, err);
	for (size_t i = 0; i < formats->count; i++)
		free(names[i]);
	return rc;
}

struct tree_job {
	size_t count;
	int (*write)(const struct stacks *s, int fd, struct err *err);
	int fd;
};

/* Runs in the sandbox. */
static int write_tree(struct reading *r, void *arg, void *reply, struct err *err)
{
	struct render_result *ret = reply;
	const struct tree_job *j = arg;
	struct gathered g;
	int rc = gather(r, j->count, ROOT_THREAD | ROOT_FULL, true, &g, err);

	ret->quality = g.profile.quality;
	ret->cut = g.profile.cut;
	ret->nameless_files = g.profile.nameless_files;
	ret->skipped = g.skipped;
	if (rc == 0)
		rc = j->write(g.profile.stacks, j->fd, err);
	gathered_fini(&g);
	return rc;
}

int render_tree(const struct inputs *in,
		int (*write)(const struct stacks *s, int fd, struct err *err), int fd,
		struct render_result *ret, struct err *err)
{
	struct tree_job j = {.count = in->count, .write = write, .fd = fd};
	const struct reading_job job = {.fn = write_tree,
					.arg = &j,
					.outputs = &fd,
					.output_count = 1,
					.check = check_result};
	struct render_result result = {0};

	if (reading_run(in, &job, &result, sizeof(result), err) < 0)
		return err_wrap(err, "draw");
	*ret = result;
	return 0;
}
