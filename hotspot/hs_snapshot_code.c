// SPDX-License-Identifier: Apache-2.0
#include "hs_name.h"
#include "hs_snapshot.h"

/* More is no frame of HotSpot's. */
#define FRAME_MAX (1u << 20)

static bool starts(const char *text, const char *word)
{
	while (*word && *text == *word) {
		text++;
		word++;
	}
	return *word == '\0';
}

static uint32_t kind_of(const struct hs_blob *blob, const char *text, uint32_t frame_size)
{
	static const char *const adapters[] = {"I2C/C2I",	   "MethodHandles adapters",
					       "vtable",	   "itable",
					       "native signature", "Signature",
					       "MHAdapter",	   "adapters"};

	if (blob->is_nmethod)
		return starts(text, "native") ? SNAP_NATIVE : SNAP_COMPILED;
	if (starts(text, "Interpreter"))
		return SNAP_INTERPRETER;
	for (size_t i = 0; i < sizeof(adapters) / sizeof(*adapters); i++)
		if (starts(text, adapters[i]))
			return SNAP_ADAPTER;
	if (frame_size > 0)
		return SNAP_RUNTIME;
	return SNAP_STUBS;
}

static void frame_read(struct hs *hs, const struct hs_blob *blob, struct snap_code *code)
{
	int64_t n;

	if (hs_get_signed(hs, blob->start, HS_BLOB_FRAME_SIZE, &n) && n > 0 && n <= FRAME_MAX / 8)
		code->frame_size = (uint32_t)n * 8;
	code->frame_complete = SNAP_NONE;
	if (code->frame_size > 0 && hs_get_signed(hs, blob->start, HS_BLOB_FRAME_COMPLETE, &n) &&
	    n >= 0 && n <= (int64_t)code->size)
		code->frame_complete = (uint32_t)n;
}

/* Reads the scopes; without them, or where they do not hold together, there are no regions. */
static bool scopes_read(struct snapshot *s, const struct hs_blob *blob,
			const struct snap_code *code)
{
	struct hs_debug debug = {.code_size = code->size, .base = s->base};
	size_t have;

	s->scopes.scope_count = 0;
	s->scopes.region_count = 0;
	if (code->kind != SNAP_COMPILED)
		return true;
	debug.code = hs_mem_view(&s->hs.mem, blob->code, &have);
	if (have < code->size)
		debug.code = NULL;
	return hs_nmethod_debug(&s->hs, blob, &s->room, &debug) &&
	       hs_scopes_read(&s->hs, &s->scopes, &debug);
}

static void code_scan(struct snapshot *s, const struct hs_blob *blob, struct snap_code *code)
{
	struct hs_code view = {
		.start = blob->code,
		.frame_size = code->frame_size,
		.frame_complete = code->frame_complete,
		.leaves = code->kind != SNAP_COMPILED,
	};
	struct hs_prologue prologue = {SNAP_NONE, SNAP_NONE};
	size_t have;

	code->push_end = SNAP_NONE;
	code->sub_end = SNAP_NONE;
	view.bytes = hs_mem_view(&s->hs.mem, blob->code, &have);
	if (!view.bytes || code->frame_size == 0)
		return;
	view.size = have < code->size ? (uint32_t)have : code->size;
	hs_scan_prologue(&view, blob->is_nmethod ? hs_nmethod_entry(&s->hs, blob) : 0, &prologue);
	code->push_end = prologue.push_end;
	code->sub_end = prologue.sub_end;
	code->exit_count = hs_scan_exits(&view, s->exits, SNAP_EXITS_MAX);
	if (blob->is_nmethod)
		code->call_count = hs_scan_calls(&view, s->scopes.region, s->scopes.region_count,
						 s->low, s->high, s->calls, SNAP_CALLS_MAX);
}

static bool blob_still(struct snapshot *s, const struct hs_heap *heap, const struct hs_block *block,
		       const struct hs_blob *blob)
{
	struct hs_mem *mem = &s->hs.mem;
	struct hs_window window = mem->window;
	bool same;

	mem->window = (struct hs_window){.bytes = s->again, .cap = sizeof(s->again)};
	hs_mem_window(mem, block->start, sizeof(s->again));
	same = hs_blob_still(&s->hs, heap, block, blob);
	mem->window = window;
	return same;
}

/* Names the methods of all scopes, and the code's own. False: the code is not what it was, or it
 * has no name, or the sink takes no more. */
static bool methods_take(struct snapshot *s, const struct hs_heap *heap,
			 const struct hs_block *block, const struct hs_blob *blob)
{
	uint32_t n = s->scopes.scope_count;
	uint64_t last = 0, last_id = 0;

	for (uint32_t i = 0; i <= n; i++) {
		uint64_t method = i < n ? s->scopes.scope[i].method : blob->method, id = last_id;
		bool full = false;

		if (method != last)
			id = snapshot_method(s, method, &full);
		if (full) {
			if (!blob_still(s, heap, block, blob) || !snapshot_methods_write(s))
				return false;
			id = snapshot_method(s, method, &full);
		}
		last = method;
		last_id = id;
		if (i < n)
			s->scopes.scope[i].method = id;
		else if (id == 0)
			return false;
	}
	return true;
}

static uint8_t *put(uint8_t *to, const void *from, size_t len)
{
	__builtin_memcpy(to, from, len);
	return to + len;
}

static bool code_write(struct snapshot *s, struct snap_code *code, const char *name)
{
	uint8_t *p = s->record + sizeof(*code);

	code->scope_count = s->scopes.scope_count;
	code->region_count = s->scopes.region_count;
	p = put(p, s->scopes.scope, code->scope_count * sizeof(struct snap_scope));
	p = put(p, s->scopes.region, code->region_count * sizeof(struct snap_region));
	p = put(p, s->exits, code->exit_count * sizeof(struct snap_exit));
	p = put(p, s->calls, code->call_count * sizeof(uint32_t));
	p = put(p, name, code->name_len);
	while ((p - s->record) & 7)
		*p++ = 0;
	code->record = (struct snap_record){SNAP_CODE, (uint32_t)(p - s->record)};
	put(s->record, code, sizeof(*code));
	return snapshot_emit(s, s->record, code->record.size);
}

static bool code_skip(struct snapshot *s)
{
	snapshot_methods_drop(s);
	s->result->skipped++;
	return !s->full;
}

bool snapshot_code(struct snapshot *s, const struct hs_heap *heap, const struct hs_block *block)
{
	char text[HS_BLOB_NAME_MAX], name[DFG_NAME_MAX + 1];
	struct hs_blob blob;
	struct snap_code code = {0};

	if (!hs_blob_read(&s->hs, block, &blob, text))
		return code_skip(s);
	code.start = blob.code;
	code.size = (uint32_t)(blob.code_end - blob.code);
	code.method = blob.method;
	frame_read(&s->hs, &blob, &code);
	code.kind = kind_of(&blob, text, code.frame_size);
	code.deopt = code.deopt_mh = code.orig_pc = SNAP_NONE;
	if (blob.is_nmethod)
		hs_nmethod_numbers(&s->hs, &blob, &code);
	else
		code.name_len = (uint32_t)hs_name_blob(text, name);
	/* Without its regions it still has a frame and a name; that they are lost is counted. */
	if (!scopes_read(s, &blob, &code))
		s->result->skipped++;
	code_scan(s, &blob, &code);
	if ((blob.is_nmethod && !methods_take(s, heap, block, &blob)) ||
	    !blob_still(s, heap, block, &blob))
		return code_skip(s);
	if (!snapshot_methods_write(s) || !code_write(s, &code, name))
		return false;
	s->result->entries++;
	return true;
}
