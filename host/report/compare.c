// SPDX-License-Identifier: Apache-2.0
#include "report/compare.h"

#include <errno.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/str.h"
#include "report/merge.h"
#include "report/outputs.h"
#include "report/sandbox.h"

struct compare_job {
	const struct inputs *in;
	const struct compare_options *options;
	int fds[FORMATS_MAX + 1]; /* of the formats, then of the rows */
};

/* Returns "web, 2026-11-22T10:00:00Z" of a session, the path of a file. Owned. */
static char *name_of(const struct input *in)
{
	const struct session *s = input_session(in);

	return s ? xasprintf("%s, %s", s->label, s->started) : xstrdup(in->path);
}

static char *title_of(const struct inputs *in)
{
	CLEANUP(free) char *before = name_of(&in->list[0]);
	CLEANUP(free) char *after = name_of(&in->list[1]);

	if (in->event != EVENT_CPU)
		return xasprintf("%s compared with %s: %s", after, before,
				 event_names[in->event].text);
	return xasprintf("%s compared with %s", after, before);
}

/* Appends where a side is from; nothing for a file, whose name is its path. */
static void add_source(struct str *out, const char *side, const struct input *in)
{
	const struct session *s = input_session(in);

	if (s)
		str_addf(out, "%s%s: %s, %.1f s at %u Hz", out->len ? " | " : "", side, in->path,
			 s->duration, s->frequency);
}

static char *subtitle_of(const struct inputs *in)
{
	struct str out = {0};

	str_adds(&out, "");
	add_source(&out, "before", &in->list[0]);
	add_source(&out, "after", &in->list[1]);
	return out.buf;
}

static void cost_fill(struct compare_cost *ret, const struct difference *d,
		      const struct difference_cost *c)
{
	ret->counts = c->counts;
	for (enum measure_kind i = 0; i < MEASURES; i++) {
		const struct measure *m = &d->by[i];

		if (m->before <= 0 || m->after <= 0)
			continue;
		ret->by[i].change = measure_change(m, c->counts);
		ret->by[i].z = difference_cost_z(d, c, i);
		ret->by[i].significant = difference_cost_is_significant(d, c, i);
	}
}

/* The whole is a single test. */
static void whole_fill(struct compare_cost *ret, const struct difference *d)
{
	struct difference_cost c = {.counts = {d->before.samples, d->after.samples}};

	memcpy(c.spread, d->spread, sizeof(c.spread));
	cost_fill(ret, d, &c);
	for (size_t i = 0; i < MEASURES; i++)
		ret->by[i].significant = fabs(ret->by[i].z) >= DIFFERENCE_Z;
}

/* Cuts a long name between two characters. */
static void name_copy(char *ret, size_t size, const char *name)
{
	size_t len = strlen(name);

	if (len >= size)
		for (len = size - 1; len && ((unsigned char)name[len] & 0xc0) == 0x80;)
			len--;
	memcpy(ret, name, len);
	ret[len] = '\0';
}

/* Writes a row for each method. */
static int write_rows(const struct difference *d, int fd, struct err *err)
{
	CLEANUP(free) struct compare_row *rows = xcalloc(d->method_count, sizeof(*rows));

	for (size_t i = 0; i < d->method_count; i++) {
		const struct difference_method *m = &d->methods[i];

		name_copy(rows[i].method, sizeof(rows[i].method),
			  stacks_frame(d->tree, m->frame)->name);
		cost_fill(&rows[i].self, d, &m->self);
		cost_fill(&rows[i].total, d, &m->total);
		memcpy(rows[i].via, m->via, sizeof(m->via));
	}
	return fs_write_all(fd, rows, d->method_count * sizeof(*rows), err);
}

static int draw_all(const struct compare_job *j, const struct difference *d,
		    const struct compare_result *result, struct err *err)
{
	CLEANUP(free) char *title = title_of(j->in);
	CLEANUP(free) char *subtitle = subtitle_of(j->in);
	struct difference_picture p = {.title = title,
				       .subtitle = subtitle,
				       .before_quality = result->before.quality,
				       .after_quality = result->after.quality,
				       .normalize = j->options->normalize,
				       .unit = event_names[j->in->event].unit};

	for (size_t i = 0; i < j->options->formats.count; i++) {
		const struct format *f = j->options->formats.list[i];

		if (f->draw_difference(d, &p, j->fds[i], err) < 0)
			return err_wrap(err, "%s", f->difference_file);
	}
	return 0;
}

static struct difference_time time_of(const struct gathered *g, const struct compare_side *side)
{
	return (struct difference_time){
		.samples = g->profile.samples, .busy = side->busy, .worth = side->worth};
}

/* Pictures of other roots are of another difference. */
static int draw_sides(const struct compare_job *j, const struct gathered *before,
		      const struct gathered *after, struct compare_result *ret, struct err *err)
{
	struct difference_time times[2] = {time_of(before, &ret->before),
					   time_of(after, &ret->after)};
	struct difference methods, rooted;
	int rc;

	difference_make(&methods, before->profile.stacks, after->profile.stacks, j->options->kinds);
	difference_add_time(&methods, &times[0], &times[1]);
	ret->before.samples = methods.before.samples;
	ret->after.samples = methods.after.samples;
	whole_fill(&ret->whole, &methods);
	rc = write_rows(&methods, j->fds[j->options->formats.count], err);
	if (rc == 0 && before->rooted && after->rooted) {
		difference_make(&rooted, before->rooted, after->rooted, j->options->kinds);
		difference_copy_spread(&rooted, &methods);
		rc = draw_all(j, &rooted, ret, err);
		difference_fini(&rooted);
	} else if (rc == 0) {
		rc = draw_all(j, &methods, ret, err);
	}
	difference_fini(&methods);
	return rc;
}

/* Makes one frame of those that start a thread, as in text and pictures. */
static void fold_start(struct profile *p)
{
	struct profile folded;

	profile_init(&folded, true);
	profile_add(&folded, p, &(struct graft){.fold_start = true});
	profile_fini(p);
	*p = folded;
}

static int gather_side(struct reading *r, const struct compare_job *j, struct gathered *g,
		       struct compare_side *side, struct compare_result *ret, struct err *err)
{
	int rc = gather(r, 1, j->options->roots, true, g, err);

	if (rc == 0 && !(j->options->roots & ROOT_FULL))
		fold_start(&g->profile);
	side->quality = g->profile.quality;
	side->worth = profile_worth(&g->profile);
	memcpy(side->events, g->profile.events, sizeof(side->events));
	ret->cut += g->profile.cut;
	ret->skipped += g->skipped;
	return rc;
}

/* Runs in the sandbox. */
static int draw(struct reading *r, void *arg, void *reply, struct err *err)
{
	struct compare_result *ret = reply;
	const struct compare_job *j = arg;
	struct gathered before, after;
	int rc;

	ret->before.busy = input_busy(j->in, 0);
	ret->after.busy = input_busy(j->in, 1);
	rc = gather_side(r, j, &before, &ret->before, ret, err);
	if (rc == 0) {
		rc = gather_side(r, j, &after, &ret->after, ret, err);
		if (rc == 0)
			rc = draw_sides(j, &before, &after, ret, err);
		gathered_fini(&after);
	}
	gathered_fini(&before);
	return rc;
}

static void check_cost(struct compare_cost *c)
{
	for (size_t i = 0; i < MEASURES; i++) {
		c->by[i].change = isfinite(c->by[i].change) ? c->by[i].change : 0;
		c->by[i].z = isfinite(c->by[i].z) ? c->by[i].z : 0;
		bool_clean(&c->by[i].significant);
	}
}

static void check_result(void *reply)
{
	struct compare_result *r = reply;

	r->rows = NULL;
	r->row_count = 0;
	r->before.worth = isfinite(r->before.worth) ? r->before.worth : 0;
	r->after.worth = isfinite(r->after.worth) ? r->after.worth : 0;
	check_cost(&r->whole);
}

#define ROWS_MAX ((size_t)1 << 30) /* bytes */

/* Reads the rows that the sandbox wrote, which may be forged. */
static int read_rows(int fd, struct compare_result *ret, struct err *err)
{
	struct str bytes = {0};

	if (lseek(fd, 0, SEEK_SET) < 0 || fs_read_all(fd, ROWS_MAX, &bytes, err) < 0) {
		str_fini(&bytes);
		return err_wrap(err, "rows");
	}
	ret->row_count = bytes.len / sizeof(*ret->rows);
	ret->rows = (struct compare_row *)bytes.buf;
	for (size_t i = 0; i < ret->row_count; i++) {
		str_clean(ret->rows[i].method, sizeof(ret->rows[i].method));
		check_cost(&ret->rows[i].self);
		check_cost(&ret->rows[i].total);
		for (size_t k = 0; k < MEASURES; k++)
			if (ret->rows[i].via[k] > ret->row_count)
				ret->rows[i].via[k] = 0;
	}
	return 0;
}

static int run_job(struct compare_job *j, struct compare_result *ret, struct err *err)
{
	const struct reading_job job = {.fn = draw,
					.arg = j,
					.outputs = j->fds,
					.output_count = j->options->formats.count + 1,
					.check = check_result};
	CLEANUP(close_fd) int rows = memfd_create("rows", MFD_CLOEXEC);

	if (rows < 0)
		return err_set(err, errno, "memory for rows");
	j->fds[j->options->formats.count] = rows;
	if (reading_run(j->in, &job, ret, sizeof(*ret), err) < 0)
		return -1;
	/* The sandbox does not say what its caller knows. */
	ret->before.busy = input_busy(j->in, 0);
	ret->after.busy = input_busy(j->in, 1);
	return read_rows(rows, ret, err);
}

int compare(const struct inputs *in, const struct compare_options *o, struct compare_result *ret,
	    struct err *err)
{
	struct compare_job j = {.in = in, .options = o};
	struct compare_result result = {0};
	const char *names[FORMATS_MAX];
	struct outputs outputs;
	int rc;

	for (size_t i = 0; i < o->formats.count; i++)
		names[i] = o->formats.list[i]->difference_file;
	if (outputs_open(o->outdir, names, o->formats.count, &outputs, err) < 0)
		return -1;
	memcpy(j.fds, outputs.fds, o->formats.count * sizeof(*j.fds));
	rc = run_job(&j, &result, err);
	if (outputs_close(&outputs, rc == 0, err) < 0)
		rc = -1;
	if (rc == 0)
		*ret = result;
	else
		compare_fini(&result);
	return rc;
}

void compare_fini(struct compare_result *r)
{
	free(r->rows);
	*r = (struct compare_result){0};
}

double compare_value(const struct compare_side *side, uint64_t count, enum measure_kind measure)
{
	double whole = measure == MEASURE_SHARE ? (double)side->samples : side->busy;

	return whole > 0 ? (double)count / whole : 0;
}
