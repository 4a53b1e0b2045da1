// SPDX-License-Identifier: Apache-2.0
#include "top/tree.h"

#include <errno.h>

#include "common/str.h"
#include "dfg/bytes.h"
#include "format/text.h"

#define TREE_MAGIC 0x3165657274676664ull /* "dfgtree1" */
#define TREE_SUM   (UINT64_C(1) << 53)	 /* of all samples: what JSON's readers count exactly */
#define LEVEL_MAX  4
#define DEPTH_MAX  8192 /* perf and the unwinder stop long before */

/* ---- writing ---- */

static void add_u32(struct str *out, size_t n)
{
	uint32_t v = (uint32_t)n;

	str_add(out, &v, sizeof(v));
}

static void add_u64(struct str *out, uint64_t v)
{
	str_add(out, &v, sizeof(v));
}

static void add_frame(struct str *out, const struct frame *f)
{
	uint16_t len = f->len > UINT16_MAX ? UINT16_MAX : (uint16_t)f->len;

	str_addc(out, (char)f->kind);
	str_addc(out, (char)(f->level > LEVEL_MAX ? 0 : f->level));
	str_add(out, &len, sizeof(len));
	str_add(out, f->name, len);
}

int tree_write(const struct stacks *all, int fd, struct err *err)
{
	struct out o = {.fd = fd, .err = err};

	add_u64(&o.buf, TREE_MAGIC);
	add_u32(&o.buf, stacks_frame_count(all));
	add_u32(&o.buf, stacks_node_count(all));
	for (uint32_t f = 0; f < stacks_frame_count(all); f++) {
		add_frame(&o.buf, stacks_frame(all, f));
		out_tick(&o);
	}
	for (uint32_t n = 1; n < stacks_node_count(all); n++) {
		const struct stack_node *node = stacks_node(all, n);

		add_u32(&o.buf, node->parent);
		add_u32(&o.buf, node->frame);
		add_u64(&o.buf, node->self);
		out_tick(&o);
	}
	return out_end(&o);
}

/* ---- reading ---- */

/* The reader's number of the frame; false: these bytes are none. */
static bool read_frame(struct bytes *b, const char *prefix, struct stacks *s, struct str *name,
		       uint32_t *ret)
{
	uint8_t kind = bytes_u8(b), level = bytes_u8(b);
	uint16_t len = bytes_u16(b);
	const uint8_t *text = bytes_take(b, len);

	if (!text || kind >= FRAME_KINDS || level > LEVEL_MAX)
		return false;
	str_clear(name);
	if (prefix && kind == FRAME_ROOT) {
		str_add_clean(name, prefix, strlen(prefix));
		str_addc(name, '/');
	}
	str_add_clean(name, (const char *)text, len);
	*ret = stacks_intern(s, name->len ? name->buf : "", name->len, kind);
	*ret = frames_level(stacks_frames(s), *ret, level);
	return true;
}

struct tree_counts {
	uint32_t frames, nodes;
};

static bool read_nodes(struct bytes *b, struct tree_counts c, const uint32_t *frames,
		       uint32_t *nodes, struct stacks *s)
{
	CLEANUP(free) uint16_t *depths = xcalloc(c.nodes, sizeof(*depths));
	uint64_t sum = 0;

	for (uint32_t n = 1; n < c.nodes; n++) {
		uint32_t parent = bytes_u32(b), frame = bytes_u32(b);
		uint64_t self = bytes_u64(b);

		if (b->bad || parent >= n || frame >= c.frames || self > TREE_SUM - sum ||
		    depths[parent] == DEPTH_MAX)
			return false;
		depths[n] = (uint16_t)(depths[parent] + 1);
		sum += self;
		nodes[n] = stacks_child(s, nodes[parent], frames[frame], self);
	}
	return b->len == 0;
}

int tree_read(const void *bytes, size_t len, const char *prefix, struct stacks *ret,
	      struct err *err)
{
	struct bytes b = bytes_of(bytes, len);
	CLEANUP(str_fini) struct str name = {0};
	CLEANUP(free) uint32_t *frames = NULL;
	CLEANUP(free) uint32_t *nodes = NULL;
	uint64_t magic = bytes_u64(&b);
	struct tree_counts c = {.frames = bytes_u32(&b)};
	bool good;

	c.nodes = bytes_u32(&b);
	/* Each frame and each node takes some bytes, so that these limit the memory. */
	good = !b.bad && len <= TREE_MAX && magic == TREE_MAGIC && c.frames <= len && c.nodes &&
	       c.nodes <= len;
	if (good) {
		frames = xcalloc(c.frames, sizeof(*frames));
		nodes = xcalloc(c.nodes, sizeof(*nodes));
	}
	for (uint32_t f = 0; good && f < c.frames; f++)
		good = read_frame(&b, prefix, ret, &name, &frames[f]);
	if (!good || !read_nodes(&b, c, frames, nodes, ret))
		return err_set(err, EBADMSG, "read a call tree");
	return 0;
}
