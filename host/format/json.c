// SPDX-License-Identifier: Apache-2.0
/* Writes the call tree as JSON (docs/formats.md): frames, and nodes that refer to them by index.
 * The lists are flat because JSON parsers limit the nesting of objects, and stacks are deeper. */
#include "format/format.h"
#include "format/palette.h"
#include "format/text.h"

static void member(struct str *o, const char *name, const char *text)
{
	str_adds(o, "\"");
	str_adds(o, name);
	str_adds(o, "\":");
	text_json(o, text, strlen(text));
}

static void number(struct str *o, const char *name, uint64_t n)
{
	str_adds(o, ",\"");
	str_adds(o, name);
	str_adds(o, "\":");
	str_addu(o, n);
}

static void write_head(struct str *o, const struct picture *p)
{
	const struct quality *q = &p->quality;

	str_adds(o, "{\"format\":\"dfg-tree\",\"version\":1,\n");
	member(o, "title", p->title);
	str_adds(o, ",");
	member(o, "subtitle", p->subtitle);
	number(o, "frequency", p->frequency);
	str_adds(o, ",\"duration\":");
	text_fixed(o, (uint64_t)(p->duration * 1000), 3);
	number(o, "samples", q->samples);
	number(o, "lost", q->lost);
	number(o, "java_samples", q->java_samples);
	number(o, "java_complete", q->java_complete);
	number(o, "all_frames", q->frames);
	number(o, "unknown_frames", q->frames_unknown);
	number(o, "truncated", q->truncated);
	number(o, "stale", q->stale);
}

static void write_frames(struct out *out, const struct stacks *s)
{
	struct str *o = &out->buf;

	str_adds(o, ",\n\"frames\":[");
	for (uint32_t i = 0; i < stacks_frame_count(s); i++) {
		const struct frame *f = stacks_frame(s, i);
		const char *module = frames_module(stacks_frames(s), f->module);

		str_adds(o, i ? ",\n{\"name\":" : "\n{\"name\":");
		text_json(o, f->name, f->len);
		str_adds(o, ",");
		member(o, "kind", palette_look(f->kind)->name);
		if (f->line)
			number(o, "line", f->line);
		if (*module) {
			str_adds(o, ",");
			member(o, "module", module);
		}
		str_addc(o, '}');
		out_tick(out);
	}
	str_addc(o, ']');
}

static void write_nodes(struct out *out, const struct stacks *s)
{
	CLEANUP(free) uint64_t *totals = stacks_totals(s);
	struct str *o = &out->buf;

	str_adds(o, ",\n\"nodes\":[\n{\"parent\":null,\"frame\":null");
	for (uint32_t i = 0; i < stacks_node_count(s); i++) {
		const struct stack_node *n = stacks_node(s, i);

		if (i) {
			str_adds(o, ",\n{\"parent\":");
			str_addu(o, n->parent);
			number(o, "frame", n->frame);
		}
		number(o, "self", n->self);
		number(o, "total", totals[i]);
		str_addc(o, '}');
		out_tick(out);
	}
	str_addc(o, ']');
}

int draw_json(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	const struct stacks *all = p->details ? p->details->stacks : s;
	struct out out = {.fd = fd, .err = err};

	write_head(&out.buf, p);
	write_frames(&out, all);
	write_nodes(&out, all);
	str_adds(&out.buf, "}\n");
	return out_end(&out);
}
