// SPDX-License-Identifier: Apache-2.0
#include "format/format.h"
#include "format/text.h"

/* ---- writing ---- */

static void path_push(struct str *path, const struct frame *f)
{
	size_t at;

	if (path->len)
		str_addc(path, ';');
	at = path->len;
	str_add(path, f->name, f->len);
	/* Names do not have these by contract; check, since one would fake a stack. */
	for (char *p = path->buf + at; (p = strpbrk(p, ";\n"));)
		*p = ':';
	str_adds(path, frame_suffix(f->kind));
}

static void path_write(struct str *out, const struct str *path)
{
	if (path->len)
		str_add(out, path->buf, path->len);
	else
		str_adds(out, "[unknown]");
	str_addc(out, ' ');
}

/* Calls `count` for each node with the path of names to it; returns what out_end does. */
static int write_lines(const struct stacks *s, int fd,
		       bool (*count)(struct str *out, const struct str *path, uint32_t node,
				     const void *arg),
		       const void *arg, struct err *err)
{
	struct out o = {.fd = fd, .err = err};
	CLEANUP(str_fini) struct str path = {0};
	CLEANUP(free) size_t *ends = NULL; /* by depth: length of the path before this node */
	size_t cap = 0, depth = 0;
	uint32_t node = 0;

	for (;;) {
		const struct stack_node *n = stacks_node(s, node);

		ends = grow(ends, depth, &cap, sizeof(*ends));
		ends[depth] = path.len;
		if (node)
			path_push(&path, stacks_frame(s, n->frame));
		if (count(&o.buf, &path, node, arg))
			out_tick(&o);
		if (n->first) {
			node = n->first;
			depth++;
			continue;
		}
		while (depth && !n->next) {
			node = n->parent;
			n = stacks_node(s, node);
			depth--;
		}
		if (!depth)
			return out_end(&o);
		path.len = ends[depth];
		node = n->next;
	}
}

static bool one_count(struct str *out, const struct str *path, uint32_t node, const void *arg)
{
	uint64_t self = stacks_node(arg, node)->self;

	if (!self)
		return false;
	path_write(out, path);
	str_addu(out, self);
	str_addc(out, '\n');
	return true;
}

int draw_folded(const struct stacks *s, int fd, struct err *err)
{
	return write_lines(s, fd, one_count, s, err);
}

struct pairs {
	const struct difference *d;
	bool scaled;
};

static bool two_counts(struct str *out, const struct str *path, uint32_t node, const void *arg)
{
	const struct pairs *p = arg;
	struct counts c = difference_self(p->d, node);

	if (!c.before && !c.after)
		return false;
	if (p->scaled)
		c.before = (uint64_t)((unsigned __int128)c.before * p->d->after.samples /
				      p->d->before.samples);
	path_write(out, path);
	str_addu(out, c.before);
	str_addc(out, ' ');
	str_addu(out, c.after);
	str_addc(out, '\n');
	return true;
}

int draw_difference_folded(const struct difference *d, const struct difference_picture *p, int fd,
			   struct err *err)
{
	struct pairs pairs = {.d = d, .scaled = p->normalize && d->before.samples};

	return write_lines(d->tree, fd, two_counts, &pairs, err);
}

/* ---- reading ---- */

static enum frame_kind kind_of(const char *name, size_t *len)
{
	static const enum frame_kind marked[] = {FRAME_KERNEL, FRAME_JAVA, FRAME_INLINED,
						 FRAME_INTERPRETED};

	for (size_t i = 0; i < ARRAY_LEN(marked); i++) {
		const char *suffix = frame_suffix(marked[i]);
		size_t n = strlen(suffix);

		if (*len > n && memcmp(name + *len - n, suffix, n) == 0) {
			*len -= n;
			return marked[i];
		}
	}
	return frame_kind_of_text(name, *len);
}

struct fold_line {
	uint32_t *frames;
	size_t count;
	size_t cap;
	struct str name;
};

static void frame_add(struct fold_line *l, struct stacks *s, const char *text, size_t len)
{
	enum frame_kind kind = FRAME_ROOT;
	size_t name_len;

	str_clear(&l->name);
	str_add_clean(&l->name, text, len);
	name_len = l->name.len;
	if (name_len == 0)
		return;
	if (l->count)
		kind = kind_of(l->name.buf, &name_len);
	l->frames = grow(l->frames, l->count, &l->cap, sizeof(*l->frames));
	l->frames[l->count++] = stacks_intern(s, l->name.buf, name_len, kind);
}

/* Parses the count after the last blank; *len becomes the length of the text before it. */
static bool count_parse(const char *text, size_t *len, uint64_t *ret)
{
	const char *blank = memrchr(text, ' ', *len);
	char digits[24];
	size_t n;

	if (!blank)
		return false;
	n = *len - (size_t)(blank + 1 - text);
	if (n >= sizeof(digits))
		return false;
	memcpy(digits, blank + 1, n);
	digits[n] = '\0';
	*len = (size_t)(blank - text);
	return strlen(digits) == n && parse_u64(digits, ret) && *ret <= COUNT_MAX;
}

static bool line_read(struct fold_line *l, struct stacks *s, const char *text, size_t len,
		      uint64_t *sum)
{
	uint64_t count;

	if (!count_parse(text, &len, &count) || count > COUNT_MAX - *sum)
		return false;
	l->count = 0;
	for (const char *p = text, *end = text + len; p <= end;) {
		const char *semicolon = memchr(p, ';', (size_t)(end - p));
		size_t n = (size_t)((semicolon ? semicolon : end) - p);

		frame_add(l, s, p, n);
		p += n + 1;
	}
	if (l->count == 0)
		return false;
	stacks_add(s, l->frames, l->count, count);
	*sum += count;
	return true;
}

uint64_t fold_read(struct stacks *s, const char *text, size_t len, uint64_t *samples)
{
	struct fold_line l = {0};
	uint64_t skipped = 0, sum = 0;

	while (len) {
		const char *newline = memchr(text, '\n', len);
		size_t line = newline ? (size_t)(newline - text) : len;
		size_t step = newline ? line + 1 : line;

		if (line && text[line - 1] == '\r')
			line--;
		if (line && !line_read(&l, s, text, line, &sum))
			skipped++;
		text += step;
		len -= step;
	}
	free(l.frames);
	str_fini(&l.name);
	if (samples)
		*samples += sum;
	return skipped;
}
