// SPDX-License-Identifier: Apache-2.0
#include "jit/javasym.h"

#include <errno.h>

#include "common/str.h"
#include "dfg/request.h"
#include "jit/ranges.h"

struct line {
	uint64_t start, end;
	const char *name;
	uint32_t len;
};

struct text {
	struct text *next;
	char buf[];
};

struct javasym {
	struct text *texts; /* hold the names */
	struct line *lines; /* in the order they were written */
	size_t count, cap;
	struct ranges ranges; /* number: index of lines */
	uint64_t dropped;
};

struct javasym *javasym_new(void)
{
	return xcalloc(1, sizeof(struct javasym));
}

void javasym_free(struct javasym *js)
{
	if (!js)
		return;
	while (js->texts) {
		struct text *next = js->texts->next;

		free(js->texts);
		js->texts = next;
	}
	free(js->lines);
	ranges_fini(&js->ranges);
	free(js);
}

/* A number in hex with or without "0x" (jcmd writes it), and the blank behind it. */
static bool take_hex(const char **p, const char *end, uint64_t *ret)
{
	const char *start = *p, *blank;

	if (end - start > 2 && start[0] == '0' && (start[1] | 0x20) == 'x')
		start += 2;
	blank = memchr(start, ' ', (size_t)(end - start));
	if (!blank || !parse_hex(start, (size_t)(blank - start), ret))
		return false;
	*p = blank + 1;
	return true;
}

static bool parse_line(const char *p, const char *end, struct line *ret)
{
	uint64_t start, size;

	if (end - p > JAVASYM_LINE_MAX || !take_hex(&p, end, &start) || !take_hex(&p, end, &size))
		return false;
	if (p == end || size == 0 || start + size < start)
		return false;
	*ret = (struct line){
		.start = start, .end = start + size, .name = p, .len = (uint32_t)(end - p)};
	return true;
}

/* Takes over the text. */
static void add_text(struct javasym *js, struct text *text, size_t len)
{
	const char *p = text->buf, *end = p + len;
	size_t limit = js->count + JAVASYM_LINES_MAX;

	text->next = js->texts;
	js->texts = text;
	while (p < end) {
		const char *line_end = memchr(p, '\n', (size_t)(end - p));
		struct line line;

		/* A last line without its end was cut off: half a name is no name. */
		if (!line_end || has_prefix(p, DFG_TRAILER_START))
			return;
		if (js->count < limit && parse_line(p, line_end, &line)) {
			js->lines = grow(js->lines, js->count, &js->cap, sizeof(*js->lines));
			js->lines[js->count++] = line;
		} else {
			js->dropped++;
		}
		p = line_end + 1;
	}
}

static struct text *text_resize(struct text *text, size_t size)
{
	return xrealloc(text, 1, sizeof(*text) + size + 1);
}

void javasym_add(struct javasym *js, const char *text, size_t len)
{
	struct text *copy;
	const char *nul;

	len = len < JAVASYM_BYTES_MAX ? len : JAVASYM_BYTES_MAX;
	nul = len ? memchr(text, 0, len) : NULL;
	len = nul ? (size_t)(nul - text) : len;
	copy = text_resize(NULL, len);
	memcpy(copy->buf, len ? text : "", len);
	copy->buf[len] = '\0';
	add_text(js, copy, len);
}

int javasym_read(struct javasym *js, int fd, struct err *err)
{
	const size_t chunk = 256u << 10;
	CLEANUP(free) struct text *text = NULL;
	size_t len = 0, cap = 0;

	/* The file may be many times longer than the map in it: zeros are not worth reading. */
	while (len < JAVASYM_BYTES_MAX) {
		ssize_t n;

		if (cap - len < chunk) {
			cap = cap * 2 + chunk;
			text = text_resize(text, cap);
		}
		n = pread(fd, text->buf + len, chunk, (off_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "read a map of compiled code");
		len += (size_t)n;
		if (n == 0 || memchr(text->buf + len - n, 0, (size_t)n))
			break;
	}
	if (!text)
		return 0;
	text->buf[len] = '\0';
	len = strlen(text->buf);
	add_text(js, TAKE_PTR(text), len);
	return 0;
}

void javasym_finish(struct javasym *js)
{
	for (size_t n = 0; n < js->count; n++)
		ranges_add(&js->ranges, js->lines[n].start, js->lines[n].end);
	ranges_finish(&js->ranges);
}

size_t javasym_count(const struct javasym *js)
{
	return js->count;
}

uint64_t javasym_dropped(const struct javasym *js)
{
	return js->dropped;
}

bool javasym_find(const struct javasym *js, uint64_t addr, struct java_symbol *ret)
{
	const struct range_piece *p = ranges_find(&js->ranges, addr);

	if (!p)
		return false;
	*ret = (struct java_symbol){.start = p->start,
				    .end = p->end,
				    .name = js->lines[p->range].name,
				    .len = js->lines[p->range].len,
				    .index = p->range};
	return true;
}

enum frame_kind javasym_kind(const char *name, size_t len)
{
	static const char interpreter[] = "Interpreter";

	if (memchr(name, '.', len))
		return FRAME_JAVA;
	if (len == strlen(interpreter) && memcmp(name, interpreter, len) == 0)
		return FRAME_INTERPRETED;
	return FRAME_STUB;
}
