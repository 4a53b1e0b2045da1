// SPDX-License-Identifier: Apache-2.0
#include "hotspot/name.h"
#include "hotspot/snapshot.h"

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

	s->scopes.scope_count = s->scopes.region_count = 0;
	s->scopes.places = s->scopes.plain = 0;
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
	if (!blob->is_nmethod && code->frame_complete == SNAP_NONE)
		code->frame_complete = prologue.sub_end;
	code->exit_count = hs_scan_exits(&view, s->exits, SNAP_EXITS_MAX);
	if (blob->is_nmethod)
		code->call_count = hs_scan_calls(&view, s->scopes.region, s->scopes.region_count,
						 s->fixed.head.code_low, s->fixed.head.code_high,
						 s->calls, SNAP_CALLS_MAX);
}

/* With -XX:+DebugNonSafepoints most of the places are between safepoints; without it, those of
 * methods without any local variable look alike. */
static bool is_between(const struct hs_scopes *s)
{
	return s->plain > 0 && s->plain >= s->places / 4;
}

/* Names the methods of all scopes, and the code's own. False: that one has no name. */
static bool methods_take(struct snapshot *s, const struct hs_blob *blob)
{
	uint64_t last = 0, last_id = 0;

	for (uint32_t i = 0; i < s->scopes.scope_count; i++) {
		struct snap_scope *scope = &s->scopes.scope[i];

		if (scope->method != last) {
			last = scope->method;
			last_id = snapshot_method(s, last);
		}
		scope->method = last_id;
	}
	return snapshot_method(s, blob->method) != 0;
}

static uint8_t *put(uint8_t *to, const void *from, size_t len)
{
	__builtin_memcpy(to, from, len);
	return to + len;
}

static void code_add(struct snapshot *s, struct snap_code *code, const char *name)
{
	uint8_t *start = s->batch.records + s->batch.used;
	uint8_t *p = start + sizeof(*code);

	code->scope_count = s->scopes.scope_count;
	code->region_count = s->scopes.region_count;
	p = put(p, s->scopes.scope, code->scope_count * sizeof(struct snap_scope));
	p = put(p, s->scopes.region, code->region_count * sizeof(struct snap_region));
	p = put(p, s->exits, code->exit_count * sizeof(struct snap_exit));
	p = put(p, s->calls, code->call_count * sizeof(uint32_t));
	p = put(p, name, code->name_len);
	while ((p - start) & 7)
		*p++ = 0;
	code->record = (struct snap_record){SNAP_CODE, (uint32_t)(p - start)};
	put(start, code, sizeof(*code));
	s->batch.used += code->record.size;
}

/* Takes back what the code has added to the batch. */
static void code_skip(struct snapshot *s, size_t used, uint32_t names)
{
	snapshot_names_forget(s, names, s->batch.names);
	s->batch.used = used;
	s->batch.names = names;
	s->result->skipped++;
}

void snapshot_code(struct snapshot *s, const struct hs_block *block, const struct hs_blob *blob,
		   const char *text)
{
	char name[DFG_NAME_MAX + 1];
	struct snap_batch *b = &s->batch;
	struct snap_code code = {
		.start = blob->code,
		.size = (uint32_t)(blob->code_end - blob->code),
		.method = blob->method,
		.deopt = SNAP_NONE,
		.deopt_mh = SNAP_NONE,
		.orig_pc = SNAP_NONE,
	};
	uint32_t print = hs_blob_print(&s->hs, blob);
	size_t used = b->used;
	uint32_t names = b->names;

	frame_read(&s->hs, blob, &code);
	code.kind = kind_of(blob, text, code.frame_size);
	if (blob->is_nmethod)
		hs_nmethod_numbers(&s->hs, blob, &code);
	else
		code.name_len = (uint32_t)hs_name_blob(text, name);
	/* Without its regions it still has a frame and a name; that they are lost is counted, and
	 * they are looked for again. */
	if (!scopes_read(s, blob, &code)) {
		s->result->skipped++;
		print = 0;
	} else if (is_between(&s->scopes)) {
		code.flags |= SNAP_BETWEEN;
	}
	code_scan(s, blob, &code);
	if (blob->is_nmethod && !methods_take(s, blob)) {
		code_skip(s, used, names);
		return;
	}
	code_add(s, &code, name);
	b->code[b->codes].block = *block;
	b->code[b->codes].blob = *blob;
	b->code[b->codes].known = s->state ? hs_state_keep(s->state, blob->code, print) : NULL;
	b->code[b->codes].names_end = b->names;
	b->code[b->codes++].end = b->used;
}
