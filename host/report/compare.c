// SPDX-License-Identifier: Apache-2.0
#include "report/compare.h"

#include "common/str.h"
#include "report/merge.h"
#include "report/outputs.h"
#include "report/sandbox.h"

struct job {
	const struct inputs *in;
	const struct compare_options *options;
	struct outputs outputs;
};

static void change_fill(struct compare_change *ret, const struct difference *d, struct counts c)
{
	*ret = (struct compare_change){.counts = c,
				       .change = difference_change(d, c),
				       .z = difference_z(d, c),
				       .significant = difference_is_significant(d, c)};
}

/* A name that is cut, is so between two characters. */
static void name_copy(char *ret, size_t size, const char *name)
{
	size_t len = strlen(name);

	if (len >= size)
		for (len = size - 1; len && ((unsigned char)name[len] & 0xc0) == 0x80;)
			len--;
	memcpy(ret, name, len);
	ret[len] = '\0';
}

static void rows_fill(struct compare_result *ret, const struct difference *d, unsigned most)
{
	CLEANUP(free) struct difference_method *methods = NULL;
	size_t count;

	methods = difference_methods(d, &count);
	ret->methods = count;
	ret->row_count = (unsigned)(count < most ? count : most);
	for (unsigned i = 0; i < ret->row_count; i++) {
		struct compare_row *row = &ret->rows[i];

		name_copy(row->method, sizeof(row->method),
			  stacks_frame(d->tree, methods[i].frame)->name);
		change_fill(&row->self, d, methods[i].self);
		change_fill(&row->total, d, methods[i].total);
	}
}

static int draw_all(const struct job *j, const struct difference *d,
		    const struct compare_result *result, struct err *err)
{
	CLEANUP(free) char *before = input_title(&j->in->list[0]);
	CLEANUP(free) char *after = input_title(&j->in->list[1]);
	struct difference_picture p = {.before = before,
				       .after = after,
				       .before_quality = result->before,
				       .after_quality = result->after,
				       .normalize = j->options->normalize};

	for (size_t i = 0; i < j->options->formats.count; i++) {
		const struct format *f = j->options->formats.list[i];

		if (f->draw_difference(d, &p, j->outputs.fds[i], err) < 0)
			return err_wrap(err, "%s", f->difference_file);
	}
	return 0;
}

static int draw_sides(const struct job *j, const struct gathered *before,
		      const struct gathered *after, struct compare_result *ret, struct err *err)
{
	struct difference d;
	int rc;

	difference_make(&d, before->profile.stacks, after->profile.stacks, j->options->kinds);
	ret->before = before->profile.quality;
	ret->after = after->profile.quality;
	ret->cut = before->profile.cut + after->profile.cut;
	ret->skipped = before->skipped + after->skipped;
	ret->before_samples = d.before.samples;
	ret->after_samples = d.after.samples;
	rows_fill(ret, &d, j->options->rows);
	rc = draw_all(j, &d, ret, err);
	difference_fini(&d);
	return rc;
}

/* In the child. */
static int draw(struct reading *r, void *arg, void *reply, struct err *err)
{
	const struct job *j = arg;
	struct gathered before, after;
	int rc = gather(r, 1, j->options->roots, false, &before, err);

	if (rc == 0) {
		rc = gather(r, 1, j->options->roots, false, &after, err);
		if (rc == 0)
			rc = draw_sides(j, &before, &after, reply, err);
		gathered_fini(&after);
	}
	gathered_fini(&before);
	return rc;
}

int compare(const struct inputs *in, const struct compare_options *o, struct compare_result *ret,
	    struct err *err)
{
	CLEANUP(free) struct compare_result *result = xcalloc(1, sizeof(*result));
	struct job j = {.in = in, .options = o};
	const char *names[FORMATS_MAX];
	int rc;

	for (size_t i = 0; i < o->formats.count; i++)
		names[i] = o->formats.list[i]->difference_file;
	if (outputs_open(o->outdir, names, o->formats.count, &j.outputs, err) < 0)
		return -1;
	rc = reading_run(in, draw, &j, result, sizeof(*result), err);
	if (outputs_close(&j.outputs, rc == 0, err) < 0)
		rc = -1;
	if (rc == 0)
		*ret = *result;
	return rc;
}
