// SPDX-License-Identifier: Apache-2.0
/* A process that claims to be a JVM, and is asked for a snapshot. The first byte chooses the
 * layout; what follows are patches to a working image, {u32 offset, u8 width, u64 value} each. With
 * an odd high half of the first byte, offsets count from the compiled method and its scopes; with
 * its highest bit, a snapshot of the working image comes first, and one after the patches is a
 * delta. The promise: it ends, and what it writes is what dfg/snapshot.h says. */
#include "dfg/bytes.h"
#include "dfg/request.h"
#include "fuzz/fuzz.h"
#include "lib/hsthreads.h"

struct check {
	uint32_t records, codes, methods;
	uint64_t bytes;
	bool ended;
};

static void check_method(const uint8_t *p, size_t len)
{
	struct snap_method m;

	require(len >= sizeof(m));
	memcpy(&m, p, sizeof(m));
	require(m.id != 0 && m.name_len > 0 && m.name_len <= DFG_NAME_MAX && m.file_len <= 255);
	require(((sizeof(m) + m.name_len + m.file_len + 7) & ~7ull) == len);
}

static void check_scopes(const struct snap_code *c, const uint8_t *p)
{
	for (uint32_t i = 0; i < c->scope_count; i++) {
		struct snap_scope s;

		memcpy(&s, p + i * sizeof(s), sizeof(s));
		require(s.parent == SNAP_NONE || s.parent < i);
		require(s.bci >= -1 && s.bci <= UINT16_MAX && s.line >= 0 && s.line <= UINT16_MAX);
	}
}

static void check_regions(const struct snap_code *c, const uint8_t *p)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < c->region_count; i++) {
		struct snap_region r;

		memcpy(&r, p + i * sizeof(r), sizeof(r));
		require(r.end > last && r.end <= c->size);
		require(r.scope == SNAP_NONE || r.scope < c->scope_count);
		last = r.end;
	}
}

static void check_exits(const struct snap_code *c, const uint8_t *p)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < c->exit_count; i++) {
		struct snap_exit e;

		memcpy(&e, p + i * sizeof(e), sizeof(e));
		require(e.pop >= last && e.pop < e.end && e.end <= c->size);
		last = e.end;
	}
}

static void check_spills(const struct snap_code *c, const uint8_t *p, size_t len)
{
	uint32_t last = 0;

	require(len % sizeof(struct snap_spill) == 0);
	for (; len; p += sizeof(struct snap_spill), len -= sizeof(struct snap_spill)) {
		struct snap_spill s;

		memcpy(&s, p, sizeof(s));
		require(s.begin > last && s.begin < s.end && s.end <= c->size && s.bytes);
		last = s.end;
	}
}

static bool offset_in(const struct snap_code *c, uint32_t offset)
{
	return offset == SNAP_NONE || offset <= c->size;
}

static void check_code(const uint8_t *p, size_t len)
{
	const uint8_t *at = p + sizeof(struct snap_code);
	struct snap_code c;
	uint64_t need;

	require(len >= sizeof(c));
	memcpy(&c, p, sizeof(c));
	need = sizeof(c) + c.scope_count * sizeof(struct snap_scope) +
	       c.region_count * sizeof(struct snap_region) +
	       c.exit_count * sizeof(struct snap_exit) + 4ull * c.call_count + c.name_len;
	need = (need + 7) & ~7ull;
	require(need <= len && c.size > 0 && c.start + c.size > c.start);
	require(c.kind >= SNAP_COMPILED && c.kind <= SNAP_ADAPTER && c.level <= 4);
	require(offset_in(&c, c.frame_complete) && offset_in(&c, c.push_end) &&
		offset_in(&c, c.sub_end) && offset_in(&c, c.deopt) && offset_in(&c, c.deopt_mh));
	require((c.method != 0) == (c.kind <= SNAP_NATIVE) && (c.name_len != 0) == (c.method == 0));
	check_scopes(&c, at);
	at += c.scope_count * sizeof(struct snap_scope);
	check_regions(&c, at);
	at += c.region_count * sizeof(struct snap_region);
	check_exits(&c, at);
	check_spills(&c, p + need, len - need);
}

static void check_gone(const uint8_t *p, size_t len)
{
	struct snap_gone g;
	uint64_t start, last = 0;

	require(len >= sizeof(g));
	memcpy(&g, p, sizeof(g));
	require(g.count > 0 && len == sizeof(g) + g.count * sizeof(start));
	for (uint64_t i = 0; i < g.count; i++) {
		memcpy(&start, p + sizeof(g) + i * sizeof(start), sizeof(start));
		require(start > last);
		last = start;
	}
}

static void check_stub(const uint8_t *p, size_t len)
{
	struct snap_stub t;

	require(len >= sizeof(t));
	memcpy(&t, p, sizeof(t));
	require(t.size > 0 && t.start + t.size > t.start && t.name_len > 0);
	require(t.name_len <= len - sizeof(t));
}

static void check_thread(const uint8_t *p, size_t len)
{
	struct snap_thread t;

	require(len >= sizeof(t));
	memcpy(&t, p, sizeof(t));
	require(t.tid > 0 && t.name_len <= DFG_NAME_MAX && t.name_len <= len - sizeof(t));
}

static void check_objects(const uint8_t *p, size_t len, uint64_t number)
{
	struct snap_objects o;

	require(len == sizeof(o) && number == 3);
	memcpy(&o, p, sizeof(o));
	require((o.ref_bytes == 4 || o.ref_bytes == 8) &&
		(o.class_bytes == 0 || o.class_bytes == 4 || o.class_bytes == 8));
	require(!(o.flags & ~(SNAP_HANDLES | SNAP_COLOURED)));
}

static bool check_record(void *arg, const char *record, size_t len)
{
	const uint8_t *p = (const uint8_t *)record;
	struct check *c = arg;
	struct snap_record r;

	memcpy(&r, p, sizeof(r));
	require(r.size == len && len % 8 == 0 && !c->ended);
	require((c->records++ == 0) == (r.type == SNAP_HEAD));
	c->bytes += len;
	c->codes += r.type == SNAP_CODE;
	c->methods += r.type == SNAP_METHOD;
	if (r.type == SNAP_METHOD)
		check_method(p, len);
	else if (r.type == SNAP_CODE)
		check_code(p, len);
	else if (r.type == SNAP_GONE)
		check_gone(p, len);
	else if (r.type == SNAP_STUB)
		check_stub(p, len);
	else if (r.type == SNAP_THREAD)
		check_thread(p, len);
	else if (r.type == SNAP_LAYOUT)
		require(len == sizeof(struct snap_layout) && c->records == 2);
	else if (r.type == SNAP_OBJECTS)
		check_objects(p, len, c->records);
	else if (r.type == SNAP_END)
		c->ended = true;
	else
		require(r.type == SNAP_HEAD);
	return true;
}

#define VARIABLES 32 /* words, among which the list of stubs is searched */

/* A working image. */
struct built {
	struct threads_image t;
	uint64_t variables, stub, thread; /* stub: of the list */
};

static void build(struct built *b, enum image_release release)
{
	static const uint16_t name[] = {'h', 't', 't', 'p', '-', '1'},
			      wide[] = {0x43a, '%', 0xd83d};
	struct image *im = &b->t.s.im;
	uint64_t stubs[SNAP_IM_STUBS];

	b->t.narrow_refs = b->t.narrow_classes = release != IMAGE_8;
	threads_build(&b->t, release);
	b->thread = threads_add(&b->t, 1234, name, ARRAY_LEN(name));
	threads_add(&b->t, 1235, wide, ARRAY_LEN(wide));
	snap_image_stubs(&b->t.s, stubs);
	b->variables = image_new(im, VARIABLES * 8);
	b->stub = stubs[0];
	image_set(im, b->variables + 40, b->stub, 8);
}

static void image_patch(struct image *im, const struct built *built, struct bytes *b, bool near)
{
	const struct snap_image *s = &built->t.s;
	const uint64_t from[] = {s->im.block[0], s->im.block[0] + IM_HEADER + IM_BLOB,
				 s->pcs,	 s->scopes,
				 s->metadata,	 s->klass,
				 s->methods,	 s->run,
				 built->stub,	 built->variables,
				 built->thread,	 built->t.statics};

	while (b->len >= 13) {
		uint32_t offset = bytes_u32(b);
		uint8_t width = bytes_u8(b);
		uint64_t value = bytes_u64(b);

		if (near)
			offset = (uint32_t)(from[offset % ARRAY_LEN(from)] - IMAGE_BASE) +
				 (offset >> 4) % 320;
		memcpy(im->mem + offset % (IMAGE_BYTES - 8), &value, width % 9);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(16) uint8_t work[HS_WORK_BYTES], state[HS_STATE_BYTES];
	static struct built all[IMAGE_RELEASES];
	static struct image im;
	struct check check = {0};
	struct bytes b = bytes_of(data, size);
	uint8_t how = bytes_u8(&b);
	const struct built *built = &all[(how & 15) % IMAGE_RELEASES];
	struct hs_source source = image_source(&im);
	struct hs_sink sink = {.write = check_record, .arg = &check};
	struct hs_result result;

	if (all[0].variables == 0)
		for (int i = 0; i < IMAGE_RELEASES; i++)
			build(&all[i], (enum image_release)i);
	source.variables = (struct hs_span){built->variables, built->variables + VARIABLES * 8};
	source.image = source.variables;
	im = built->t.s.im;
	if (how & 128) {
		memset(state, 0, sizeof(state));
		hs_dump_delta(&source, &sink, work, state, false, &result);
		check = (struct check){0};
	}
	image_patch(&im, built, &b, how >> 4 & 1);
	if (how & 128)
		hs_dump_delta(&source, &sink, work, state, how >> 6 & 1, &result);
	else
		hs_dump_snapshot(&source, &sink, work, &result);
	require(result.entries == check.codes && result.bytes == check.bytes);
	require(result.status == DFG_DUMP_NO_TABLES ? check.records == 0 : check.ended);
	return 0;
}
