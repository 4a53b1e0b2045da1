// SPDX-License-Identifier: Apache-2.0
#include "format/tree.h"

#include <errno.h>

#include "common/str.h"
#include "format/tree_parts.h"

#define TREE_MAGIC   0x3465657274676664ull /* "dfgtree4" */
#define TREE_MAGIC_3 0x3365657274676664ull /* "dfgtree3": its head ends before pauses */
#define TREE_MAGIC_2 0x3265657274676664ull /* "dfgtree2": and before excess */
#define LEVEL_MAX    4
#define DEPTH_MAX    8192 /* perf and the unwinder stop long before */

/* ---- writing ----------------------------------------------------------------------------- */

static void add_frame(struct str *out, const struct frame *f)
{
	str_addc(out, (char)f->kind);
	str_addc(out, (char)(f->level > LEVEL_MAX ? 0 : f->level));
	add_u16(out, shorten(f->len));
	add_u32(out, f->line);
	add_u32(out, f->module);
	str_add(out, f->name, shorten(f->len));
}

static void write_samples(struct out *o, const struct samples *s)
{
	for (size_t i = 0; i < s->thread_count; i++) {
		add_u32(&o->buf, (uint32_t)s->threads[i].pid);
		add_u32(&o->buf, (uint32_t)s->threads[i].tid);
		out_tick(o);
	}
	for (size_t i = 0; i < s->count; i++) {
		add_u64(&o->buf, s->list[i].time);
		add_u32(&o->buf, s->list[i].node);
		add_u32(&o->buf, s->list[i].thread);
		out_tick(o);
	}
}

/* `whole`: NULL for the tree alone. */
static int write_tree(const struct tree_head *h, const struct stacks *s,
		      const struct profile *whole, int fd, struct err *err)
{
	struct out o = {.fd = fd, .err = err};

	str_add(&o.buf, h, sizeof(*h));
	for (uint32_t m = 1; m <= h->modules; m++) {
		add_text(&o.buf, frames_module(stacks_frames(s), m));
		out_tick(&o);
	}
	for (uint32_t f = 0; f < h->frames; f++) {
		add_frame(&o.buf, stacks_frame(s, f));
		out_tick(&o);
	}
	for (uint32_t n = 1; n < h->nodes; n++) {
		const struct stack_node *node = stacks_node(s, n);

		add_u32(&o.buf, node->parent);
		add_u32(&o.buf, node->frame);
		add_u64(&o.buf, node->self);
		out_tick(&o);
	}
	if (whole) {
		write_samples(&o, whole->samples);
		tree_write_lists(&o, whole);
	}
	return out_end(&o);
}

static struct tree_head head_of(const struct stacks *s)
{
	size_t modules = frames_module_count(stacks_frames(s));

	return (struct tree_head){.magic = TREE_MAGIC,
				  .frames = (uint32_t)stacks_frame_count(s),
				  .nodes = (uint32_t)stacks_node_count(s),
				  .modules = (uint32_t)(modules ? modules - 1 : 0)};
}

int tree_write(const struct stacks *s, int fd, struct err *err)
{
	struct tree_head h = head_of(s);

	return write_tree(&h, s, NULL, fd, err);
}

int draw_tree(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	const struct profile *all = p->details;
	struct tree_head h = head_of(all->stacks);

	(void)s;
	h.threads = (uint32_t)all->samples->thread_count;
	h.samples = all->samples->count;
	h.cut = all->cut;
	h.nameless_files = all->nameless_files;
	h.quality = all->quality;
	h.excess = all->excess;
	h.pauses = (uint32_t)all->pauses.listed;
	h.all_pauses = all->pauses.count;
	h.methods = (uint32_t)all->compilations.count;
	h.wall_threads = (uint32_t)all->wall.count;
	h.waits = (uint32_t)all->wall.part_count;
	return write_tree(&h, all->stacks, all, fd, err);
}

/* ---- reading ----------------------------------------------------------------------------- */

struct tree_reader {
	struct bytes bytes;
	struct tree_head head;
	const char *prefix;
	struct stacks *stacks;
	struct profile *profile; /* NULL: the tree alone */
	/* Numbers in the tree that is read to. */
	uint32_t *modules, *frames, *nodes, *threads;
	struct str name;
};

static void reader_fini(struct tree_reader *r)
{
	free(r->modules);
	free(r->frames);
	free(r->nodes);
	free(r->threads);
	str_fini(&r->name);
}

/* Bytes of the head; 0: no tree. */
static size_t head_size(uint64_t magic)
{
	switch (magic) {
	case TREE_MAGIC:
		return sizeof(struct tree_head);
	case TREE_MAGIC_3:
		return offsetof(struct tree_head, pauses);
	case TREE_MAGIC_2:
		return offsetof(struct tree_head, excess);
	default:
		return 0;
	}
}

static bool read_head(struct tree_reader *r)
{
	struct bytes begin = r->bytes;
	const size_t size = head_size(bytes_u64(&begin));
	const uint8_t *p = size ? bytes_take(&r->bytes, size) : NULL;
	struct tree_head *h = &r->head;
	size_t len = r->bytes.len;

	if (!p)
		return false;
	memcpy(h, p, size);
	/* Each of them takes some bytes, so len limits the memory. */
	if (!h->nodes || h->frames > len || h->nodes - 1 > len / 16 || h->modules > len ||
	    h->threads > len || h->samples > len / 16 || h->wall_threads > len ||
	    h->waits > WALL_PARTS || h->pauses > PAUSES_MAX || h->all_pauses < h->pauses ||
	    h->all_pauses > COUNT_MAX)
		return false;
	r->modules = xcalloc((size_t)h->modules + 1, sizeof(uint32_t));
	r->frames = xcalloc(h->frames, sizeof(uint32_t));
	r->nodes = xcalloc(h->nodes, sizeof(uint32_t));
	r->threads = xcalloc(h->threads, sizeof(uint32_t));
	return true;
}

static bool read_modules(struct tree_reader *r)
{
	for (uint32_t m = 1; m <= r->head.modules; m++) {
		if (!tree_text(&r->bytes, &r->name))
			return false;
		if (r->profile && r->name.len)
			r->modules[m] = frames_intern_module(stacks_frames(r->stacks), r->name.buf);
	}
	return true;
}

static bool read_frame(struct tree_reader *r, uint32_t *ret)
{
	struct frames *frames = stacks_frames(r->stacks);
	uint8_t kind = bytes_u8(&r->bytes), level = bytes_u8(&r->bytes);
	uint16_t len = bytes_u16(&r->bytes);
	uint32_t line = bytes_u32(&r->bytes), module = bytes_u32(&r->bytes);
	const uint8_t *text = bytes_take(&r->bytes, len);

	if (!text || kind >= FRAME_KINDS || level > LEVEL_MAX || module > r->head.modules)
		return false;
	str_clear(&r->name);
	if (r->prefix && kind == FRAME_ROOT) {
		str_add_clean(&r->name, r->prefix, strlen(r->prefix));
		str_addc(&r->name, '/');
	}
	str_add_clean(&r->name, (const char *)text, len);
	*ret = stacks_intern(r->stacks, r->name.len ? r->name.buf : "", r->name.len, kind);
	if (r->profile)
		*ret = frames_place(frames, *ret, line, r->modules[module]);
	*ret = frames_level(frames, *ret, level);
	return true;
}

static bool read_nodes(struct tree_reader *r)
{
	CLEANUP(free) uint16_t *depths = xcalloc(r->head.nodes, sizeof(*depths));
	uint64_t sum = 0;

	for (uint32_t n = 1; n < r->head.nodes; n++) {
		uint32_t parent = bytes_u32(&r->bytes), frame = bytes_u32(&r->bytes);
		uint64_t self = bytes_u64(&r->bytes);

		if (r->bytes.bad || parent >= n || frame >= r->head.frames ||
		    self > COUNT_MAX - sum || depths[parent] == DEPTH_MAX)
			return false;
		depths[n] = (uint16_t)(depths[parent] + 1);
		sum += self;
		r->nodes[n] = stacks_child(r->stacks, r->nodes[parent], r->frames[frame], self);
	}
	return true;
}

/* `to`: NULL where samples are not kept. */
static bool read_samples(struct tree_reader *r, struct samples *to, uint32_t origin)
{
	for (uint32_t i = 0; i < r->head.threads; i++) {
		pid_t pid = (pid_t)bytes_u32(&r->bytes), tid = (pid_t)bytes_u32(&r->bytes);

		if (r->bytes.bad)
			return false;
		r->threads[i] = to ? samples_add_thread(to, origin, pid, tid) : 0;
	}
	for (uint64_t i = 0; i < r->head.samples; i++) {
		uint64_t time = bytes_u64(&r->bytes);
		uint32_t node = bytes_u32(&r->bytes), thread = bytes_u32(&r->bytes);

		if (r->bytes.bad || node >= r->head.nodes || thread >= r->head.threads)
			return false;
		if (to)
			samples_add(to, time, r->nodes[node], r->threads[thread]);
	}
	return true;
}

static bool read_tree(struct tree_reader *r)
{
	bool good = read_head(r) && read_modules(r);

	for (uint32_t f = 0; good && f < r->head.frames; f++)
		good = read_frame(r, &r->frames[f]);
	return good && read_nodes(r);
}

int tree_read(const void *bytes, size_t len, const char *prefix, struct stacks *ret,
	      struct err *err)
{
	struct tree_reader r = {.bytes = bytes_of(bytes, len), .prefix = prefix, .stacks = ret};
	bool good = len <= TREE_MAX && read_tree(&r) && r.bytes.len == 0;

	reader_fini(&r);
	return good ? 0 : err_set(err, EBADMSG, "read a call tree");
}

bool tree_is(int fd)
{
	uint64_t magic;

	return pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && head_size(magic);
}

/* Shares are shown of these: more than COUNT_MAX is forged. */
static bool quality_is_valid(const struct quality *q)
{
	uint64_t counts[sizeof(*q) / sizeof(uint64_t)];

	_Static_assert(sizeof(*q) % sizeof(uint64_t) == 0, "all are counts");
	memcpy(counts, q, sizeof(counts));
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if (counts[i] > COUNT_MAX)
			return false;
	return true;
}

int tree_read_profile(const void *bytes, size_t len, uint32_t origin, struct profile *ret,
		      struct err *err)
{
	struct tree_reader r = {
		.bytes = bytes_of(bytes, len), .stacks = ret->stacks, .profile = ret};
	bool good = read_tree(&r) && quality_is_valid(&r.head.quality) &&
		    read_samples(&r, ret->samples, origin) &&
		    tree_read_lists(&r.bytes, &r.head, r.nodes, ret) && r.bytes.len == 0;

	const double all = (double)r.head.quality.samples;

	if (good) {
		quality_add(&ret->quality, &r.head.quality);
		ret->cut += r.head.cut;
		ret->nameless_files += r.head.nameless_files;
		/* No sample counts more than all together. */
		if (r.head.excess > 0 && r.head.excess <= all * all)
			ret->excess += r.head.excess;
	}
	reader_fini(&r);
	return good ? 0 : err_set(err, EBADMSG, "read the call tree of a session");
}
