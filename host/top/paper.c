// SPDX-License-Identifier: Apache-2.0
#include "top/paper.h"

#include "format/text.h"
#include "top/lines.h"

#define INDENT_MOST 20 /* levels: then the name would be off the screen */

void paper_add(struct paper *p, const char *text, const char *name, enum frame_kind kind)
{
	p->lines = grow(p->lines, p->count, &p->cap, sizeof(*p->lines));
	p->lines[p->count++] =
		(struct paper_line){.text = xstrdup(text), .name = name, .kind = kind};
}

void paper_fini(struct paper *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->lines[i].text);
	free(p->lines);
	*p = (struct paper){0};
}

/* A line ends with the name of what it stands for. */
void paper_cut(struct str *out, const struct paper_line *line, size_t columns)
{
	size_t len = strlen(line->text), name = line->name ? strlen(line->name) : 0;

	if (text_columns(line->text, len) > columns && name && frame_is_java(line->kind)) {
		size_t package = text_package(line->name, name);

		str_add(out, line->text, len - name);
		str_add(out, line->name + package, name - package);
	} else {
		str_add(out, line->text, len);
	}
	if (text_columns(out->buf, out->len) <= columns)
		return;
	out->len = text_fit(out->buf, out->len, columns ? columns - 1 : 0);
	str_adds(out, "…");
}

void paper_methods(struct paper *p, const struct view *v)
{
	CLEANUP(str_fini) struct str line = {0};

	for (size_t i = 0; i < v->row_count; i++) {
		str_clear(&line);
		lines_row(&line, &v->rows[i], v->samples);
		paper_add(p, line.buf, v->rows[i].name, v->rows[i].kind);
		p->lines[p->count - 1].has_how = true;
		p->lines[p->count - 1].how = row_how(&v->rows[i]);
	}
}

void paper_threads(struct paper *p, const struct view *v, const struct lens *lens)
{
	CLEANUP(str_fini) struct str line = {0};
	uint64_t all = 0;

	for (size_t i = 0; i < v->thread_count; i++)
		all += v->threads[i].total;
	for (size_t i = 0; i < v->thread_count; i++) {
		if (!lens_has_name(lens, v->threads[i].name))
			continue;
		str_clear(&line);
		lines_thread(&line, &v->threads[i], all);
		paper_add(p, line.buf, v->threads[i].name, FRAME_ROOT);
	}
}

/* How the samples with it ran, those with most first. */
static void add_hows(struct str *out, const struct row *r)
{
	uint64_t left[HOW_KINDS];

	memcpy(left, r->how, sizeof(left));
	for (unsigned n = 0; n < HOW_KINDS; n++) {
		enum how most = HOW_UNKNOWN;

		for (enum how h = 0; h < HOW_KINDS; h++)
			if (left[h] > left[most])
				most = h;
		if (!left[most])
			return;
		str_addf(out, "%s%s ", n ? ", " : "   ", how_name(most));
		lines_share(out, left[most], r->total);
		left[most] = 0;
	}
}

static void add_method(struct paper *p, const struct calls *c, const struct view *v,
		       const char *method)
{
	CLEANUP(str_fini) struct str line = {0};

	paper_add(p, method, NULL, FRAME_UNKNOWN);
	str_adds(&line, "self ");
	for (size_t i = 0; i < v->row_count; i++) {
		const struct row *r = &v->rows[i];

		if (strcmp(r->name, method) || r->total != c->total)
			continue;
		lines_share(&line, r->self, v->samples);
		str_adds(&line, ", total ");
		lines_share(&line, r->total, v->samples);
		add_hows(&line, r);
		break;
	}
	paper_add(p, line.buf, NULL, FRAME_UNKNOWN);
}

static void add_calls(struct paper *p, const char *head, const struct call *list, size_t count,
		      uint64_t total)
{
	CLEANUP(str_fini) struct str line = {0};

	paper_add(p, "", NULL, FRAME_UNKNOWN);
	paper_add(p, head, NULL, FRAME_UNKNOWN);
	for (size_t i = 0; i < count; i++) {
		unsigned depth = list[i].depth < INDENT_MOST ? list[i].depth : INDENT_MOST;

		str_clear(&line);
		lines_share(&line, list[i].samples, total);
		str_addf(&line, "  %*s%s", (int)depth * 2, "", list[i].name);
		paper_add(p, line.buf, list[i].name, list[i].kind);
	}
	if (count == 0)
		paper_add(p, "          none", NULL, FRAME_UNKNOWN);
}

void paper_calls(struct paper *p, const struct calls *c, const struct view *v, const char *method)
{
	add_method(p, c, v, method);
	add_calls(p, "  CALLERS", c->callers, c->caller_count, c->total);
	add_calls(p, "  CALLEES", c->callees, c->callee_count, c->total);
}
