// SPDX-License-Identifier: Apache-2.0
/* Prints snapshots (dfg/snapshot.h) as text, for tests and for people: snapdump FILE. Deltas are
 * printed as they are (snapapply makes a whole snapshot of them). Checks the shape on the way, and
 * says what is wrong on standard error. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fs.h"
#include "dfg/snapshot.h"

struct method {
	uint64_t id;
	unsigned of; /* which snapshot of the file it is in */
	const char *name, *file;
	uint32_t name_len, file_len;
};

static struct method *methods;
static size_t method_count;
static unsigned current; /* snapshot of the file */
static int bad;

static void complain(const char *what)
{
	fprintf(stderr, "snapdump: %s\n", what);
	bad = 1;
}

static int method_order(const void *a, const void *b)
{
	const struct method *x = a, *y = b;

	return x->id != y->id ? (x->id > y->id) - (x->id < y->id)
			      : (x->of > y->of) - (x->of < y->of);
}

/* The last one that had the id by then, else the first that gets it. */
static const struct method *method_find(uint64_t id)
{
	size_t low = 0, high = method_count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (methods[mid].id < id || (methods[mid].id == id && methods[mid].of <= current))
			low = mid + 1;
		else
			high = mid;
	}
	if (low > 0 && methods[low - 1].id == id)
		return &methods[low - 1];
	return low < method_count && methods[low].id == id ? &methods[low] : NULL;
}

static void print_method(uint64_t id)
{
	const struct method *m = method_find(id);

	if (m)
		printf("%.*s", (int)m->name_len, m->name);
	else
		printf(id ? "?%" PRIx64 : "?", id);
	if (id && !m)
		complain("a method without a record");
}

static void print_offset(const char *name, uint32_t value)
{
	if (value != SNAP_NONE)
		printf(" %s=%u", name, value);
}

static void print_head(const uint8_t *p)
{
	struct snap_head h;

	memcpy(&h, p, sizeof(h));
	if (h.magic != SNAP_MAGIC || h.version != SNAP_VERSION)
		complain("not a snapshot of this version");
	printf("head flags=%u time=%" PRIu64 " code=%" PRIx64 "-%" PRIx64 " call_stub=%" PRIx64
	       " cont=%" PRIx64 " method=%d bcp=%d wrapper=%d jdk=%u\n",
	       h.flags, h.time, h.code_low, h.code_high, h.call_stub_return, h.cont_return,
	       h.interpreter_method, h.interpreter_bcp, h.entry_wrapper, h.jdk);
}

/* leaf < ... < root, each as name@bci:line. */
static void print_chain(const uint8_t *scopes, uint32_t count, uint32_t i)
{
	for (uint32_t depth = 0; i != SNAP_NONE; depth++) {
		struct snap_scope scope;

		if (i >= count || depth > count) {
			complain("a scope out of bounds, or a circle of them");
			return;
		}
		memcpy(&scope, scopes + i * sizeof(scope), sizeof(scope));
		printf(" ");
		print_method(scope.method);
		printf("@%d:%d", scope.bci, scope.line);
		i = scope.parent;
	}
}

static void print_tables(const struct snap_code *c, const uint8_t *p)
{
	const uint8_t *scopes = p;
	uint32_t last = 0;

	p += c->scope_count * sizeof(struct snap_scope);
	for (uint32_t i = 0; i < c->region_count; i++) {
		struct snap_region r;

		memcpy(&r, p + i * sizeof(r), sizeof(r));
		printf("  region %u-%u", last, r.end);
		print_chain(scopes, c->scope_count, r.scope);
		printf("\n");
		if (r.end <= last || r.end > c->size)
			complain("a region out of order");
		last = r.end;
	}
	p += c->region_count * sizeof(struct snap_region);
	for (uint32_t i = 0; i < c->exit_count; i++) {
		struct snap_exit e;

		memcpy(&e, p + i * sizeof(e), sizeof(e));
		printf("  exit %u-%u\n", e.pop, e.end);
		if (e.pop >= e.end || e.end > c->size)
			complain("an exit out of bounds");
	}
	p += c->exit_count * sizeof(struct snap_exit);
	for (uint32_t i = 0; i < c->call_count; i++) {
		uint32_t call;

		memcpy(&call, p + i * sizeof(call), sizeof(call));
		printf("  call %u\n", call);
	}
}

static void print_spills(const struct snap_code *c, const uint8_t *p, size_t len)
{
	struct snap_spill s;

	for (; len >= sizeof(s); p += sizeof(s), len -= sizeof(s)) {
		memcpy(&s, p, sizeof(s));
		printf("  spill %u-%u %u\n", s.begin, s.end, s.bytes);
		if (s.begin >= s.end || s.end > c->size)
			complain("a spill out of bounds");
	}
}

static void print_code(const uint8_t *p, uint32_t size)
{
	static const char *const kinds[] = {"?",     "compiled", "native", "interpreter",
					    "stubs", "runtime",	 "adapter"};
	struct snap_code c;
	uint64_t need;

	memcpy(&c, p, sizeof(c));
	need = sizeof(c) + (uint64_t)c.scope_count * sizeof(struct snap_scope) +
	       (uint64_t)c.region_count * sizeof(struct snap_region) +
	       (uint64_t)c.exit_count * sizeof(struct snap_exit) + 4ull * c.call_count;
	if (need + c.name_len > size || c.kind == 0 || c.kind > SNAP_ADAPTER) {
		complain("a code record that is too short, or of no kind");
		return;
	}
	printf("code %" PRIx64 " %x %s ", c.start, c.size, kinds[c.kind]);
	if (c.method)
		print_method(c.method);
	else
		printf("'%.*s'", (int)c.name_len, (const char *)p + need);
	printf(" frame=%u", c.frame_size);
	print_offset("complete", c.frame_complete);
	print_offset("push", c.push_end);
	print_offset("sub", c.sub_end);
	printf(" level=%u id=%u%s", c.level, c.compile_id,
	       c.flags & SNAP_BETWEEN ? " between" : "");
	print_offset("deopt", c.deopt);
	print_offset("deopt_mh", c.deopt_mh);
	print_offset("orig_pc", c.orig_pc);
	printf("\n");
	print_tables(&c, p + sizeof(c));
	need = (need + c.name_len + 7) & ~7ull;
	print_spills(&c, p + need, size - need);
}

static bool read_method(const uint8_t *p, uint32_t size, struct snap_method *ret)
{
	memcpy(ret, p, sizeof(*ret));
	if ((uint64_t)sizeof(*ret) + ret->name_len + ret->file_len <= size)
		return true;
	complain("a method record that is too short");
	return false;
}

static void take_method(const uint8_t *p, uint32_t size)
{
	struct snap_method m;

	if (!read_method(p, size, &m))
		return;
	methods = xrealloc(methods, method_count + 1, sizeof(*methods));
	methods[method_count++] = (struct method){
		.id = m.id,
		.of = current,
		.name = (const char *)p + sizeof(m),
		.name_len = m.name_len,
		.file = (const char *)p + sizeof(m) + m.name_len,
		.file_len = m.file_len,
	};
}

static void print_end(const uint8_t *p)
{
	struct snap_end e;

	memcpy(&e, p, sizeof(e));
	printf("end status=%u codes=%u methods=%u skipped=%u time=%" PRIu64 "\n", e.status, e.codes,
	       e.methods, e.skipped, e.time);
}

static void print_gone(const uint8_t *p, uint32_t size)
{
	struct snap_gone g;
	uint64_t start, last = 0;

	memcpy(&g, p, sizeof(g));
	if (g.count > (size - sizeof(g)) / sizeof(start)) {
		complain("a record of gone code that is too short");
		return;
	}
	for (uint64_t i = 0; i < g.count; i++) {
		memcpy(&start, p + sizeof(g) + i * sizeof(start), sizeof(start));
		printf("gone %" PRIx64 "\n", start);
		if (start <= last)
			complain("gone code out of order");
		last = start;
	}
}

static void print_thread(const uint8_t *p, uint32_t size)
{
	struct snap_thread t;

	memcpy(&t, p, sizeof(t));
	if (t.name_len > size - sizeof(t)) {
		complain("a thread record that is too short");
		return;
	}
	printf("thread %u %.*s\n", t.tid, (int)t.name_len, (const char *)p + sizeof(t));
}

static void print_stub(const uint8_t *p, uint32_t size)
{
	struct snap_stub t;

	memcpy(&t, p, sizeof(t));
	if (t.name_len > size - sizeof(t)) {
		complain("a stub record that is too short");
		return;
	}
	printf("stub %" PRIx64 " %u %.*s\n", t.start, t.size, (int)t.name_len,
	       (const char *)p + sizeof(t));
}

static void print_layout(const uint8_t *p)
{
	struct snap_layout l;

	memcpy(&l, p, sizeof(l));
	printf("layout class_name=%d symbol=%d,%d allocated=%d tlab=%d,%d\n", (int)l.class_name,
	       (int)l.symbol_length, (int)l.symbol_body, (int)l.allocated, (int)l.tlab_start,
	       (int)l.tlab_top);
}

static void print_objects(const uint8_t *p)
{
	struct snap_objects o;

	memcpy(&o, p, sizeof(o));
	printf("objects monitor=%d thread=%d blocker=%d eetop=%d", (int)o.monitor_object,
	       (int)o.thread_object, (int)o.park_blocker, (int)o.thread_address);
	printf(" ref=%u,%u,%" PRIx64 " class=%d:%u,%u,%" PRIx64 " flags=%u\n", o.ref_bytes,
	       o.ref_shift, o.ref_base, (int)o.class_at, o.class_bytes, o.class_shift, o.class_base,
	       o.flags);
}

static void print_asked(const uint8_t *p, uint32_t size)
{
	struct snap_method m;

	if (!read_method(p, size, &m))
		return;
	printf("asked %" PRIx64 " %.*s\n", m.id, (int)m.name_len, (const char *)p + sizeof(m));
}

static void print_record(const struct snap_record *r, const uint8_t *p)
{
	switch ((enum snap_type)r->type) {
	case SNAP_HEAD:
		print_head(p);
		break;
	case SNAP_CODE:
		print_code(p, r->size);
		break;
	case SNAP_GONE:
		print_gone(p, r->size);
		break;
	case SNAP_THREAD:
		print_thread(p, r->size);
		break;
	case SNAP_STUB:
		print_stub(p, r->size);
		break;
	case SNAP_LAYOUT:
		print_layout(p);
		break;
	case SNAP_OBJECTS:
		print_objects(p);
		break;
	case SNAP_END:
		print_end(p);
		break;
	case SNAP_ASKED_CODE:
		printf("asked ");
		print_code(p, r->size);
		break;
	case SNAP_UNLOADED:
		printf("unloaded %" PRIu64 "\n", ((const struct snap_unloaded *)p)->time);
		break;
	case SNAP_ASKED:
		print_asked(p, r->size);
		break;
	case SNAP_METHOD:
		break;
	}
}

/* Takes the methods, or prints all else. Returns whether the last record is SNAP_END. */
static bool each_record(const struct str *s, bool print)
{
	static const size_t least[] = {
		0,
		sizeof(struct snap_head),
		sizeof(struct snap_method),
		sizeof(struct snap_code),
		sizeof(struct snap_end),
		sizeof(struct snap_gone),
		sizeof(struct snap_thread),
		sizeof(struct snap_stub),
		sizeof(struct snap_layout),
		sizeof(struct snap_objects),
		sizeof(struct snap_method),
		sizeof(struct snap_unloaded),
		sizeof(struct snap_code),
	};
	bool ended = false;
	struct snap_record r;

	current = 0;
	for (size_t at = 0; at + sizeof(r) <= s->len; at += r.size) {
		const uint8_t *p = (const uint8_t *)s->buf + at;

		memcpy(&r, p, sizeof(r));
		/* An answer's trailer (request.h), if one is left, ends the records. */
		if (r.size < sizeof(r) || r.size % 8 || r.size > s->len - at)
			break;
		if (r.type >= sizeof(least) / sizeof(*least) || r.size < least[r.type])
			continue;
		if (print)
			print_record(&r, p);
		else if (r.type == SNAP_METHOD)
			take_method(p, r.size);
		ended = r.type == SNAP_END;
		current += ended;
	}
	return ended;
}

int main(int argc, char **argv)
{
	CLEANUP(str_fini) struct str s = {0};
	struct err err;

	if (argc != 2)
		return 2;
	if (fs_read_file(AT_FDCWD, argv[1], (size_t)1 << 30, &s, &err) < 0) {
		fprintf(stderr, "snapdump: %s\n", err.msg);
		return 1;
	}
	if (!each_record(&s, false))
		complain("no end, or records that are cut");
	qsort(methods, method_count, sizeof(*methods), method_order);
	each_record(&s, true);
	for (size_t i = 0; i < method_count; i++)
		printf("method %" PRIx64 " %.*s %.*s\n", methods[i].id, (int)methods[i].name_len,
		       methods[i].name, (int)methods[i].file_len, methods[i].file);
	free(methods);
	return bad;
}
