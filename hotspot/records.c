// SPDX-License-Identifier: Apache-2.0
#include "hotspot/records.h"

#include "hotspot/clock.h"
#include "hotspot/metadata.h"
#include "hotspot/scan.h"

#define FILE_MAX	  255u
#define FRAME_MAX	  (1u << 20) /* larger than any frame of HotSpot */
#define METHOD_RECORD_MAX ((sizeof(struct snap_method) + DFG_NAME_MAX + FILE_MAX + 7) & ~(size_t)7)
#define FRESH_NS	  50000000u

_Static_assert(HS_BATCH_CODES <= HS_PIECES, "all headers of a batch are read at once");
_Static_assert(HS_RECORD_MAX > DFG_NAME_MAX + 36, "a map line fits: two numbers, a name");

bool hs_record_write(struct hs_snapshot *s, const void *record, size_t len)
{
	if (s->full || !s->sink->write(s->sink->arg, record, len)) {
		s->full = true;
		s->result->status = DFG_DUMP_NO_SPACE;
		return false;
	}
	s->result->bytes += len;
	return true;
}

/* Writes the records of a part of the batch; of a map, its one line. */
static bool part_write(struct hs_snapshot *s, size_t from, size_t to)
{
	if (s->is_map && from < to) {
		if (!hs_record_write(s, s->batch.records + from, to - from))
			return false;
		s->result->entries++;
		return true;
	}
	while (from < to) {
		struct snap_record record;

		__builtin_memcpy(&record, s->batch.records + from, sizeof(record));
		if (!hs_record_write(s, s->batch.records + from, record.size))
			return false;
		if (record.type == SNAP_METHOD)
			s->methods_written++;
		else
			s->result->entries++;
		from += record.size;
	}
	return true;
}

/* Marks names of the batch as not written. */
static void names_drop(struct hs_snapshot *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (s->batch.name[i].slot)
			*s->batch.name[i].slot &= ~7ull;
}

static void names_remember(struct hs_snapshot *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; s->state && i < to; i++)
		hs_written_add(&s->state->written, s->batch.name[i].fingerprint);
}

/* Reads the headers of all code in the batch again. */
static void headers_gather(struct hs_snapshot *s)
{
	struct hs_pieces *p = &s->hs.mem.pieces;

	for (p->count = 0; p->count < s->batch.codes; p->count++)
		p->at[p->count] = s->batch.code[p->count].block.start;
	hs_mem_read_pieces(&s->hs.mem, hs_blob_header(&s->hs));
}

void hs_batch_refresh(struct hs_snapshot *s)
{
	uint64_t now = hs_clock_ns();

	if (!s->delta && now - s->fresh < FRESH_NS)
		return;
	hs_mem_drop_pages(&s->hs.mem);
	s->fresh = now;
}

bool hs_batch_flush(struct hs_snapshot *s, const struct hs_heap *heap)
{
	struct hs_batch *b = &s->batch;
	struct hs_mem *mem = &s->hs.mem;
	const struct hs_window shown = mem->window;
	size_t from = 0;
	uint32_t names = 0;
	bool room = true;

	headers_gather(s);
	for (uint32_t i = 0; i < b->codes && room; i++) {
		hs_mem_use_piece(mem, i);
		if (hs_blob_still(&s->hs, heap, &b->code[i].block, &b->code[i].blob)) {
			room = part_write(s, from, b->code[i].end);
			names_remember(s, names, b->code[i].names_end);
		} else {
			names_drop(s, names, b->code[i].names_end);
			s->result->skipped++;
			if (b->code[i].known)
				hs_state_remove(b->code[i].known);
		}
		from = b->code[i].end;
		names = b->code[i].names_end;
	}
	mem->window = shown;
	mem->pieces.count = 0; /* those of the walk are overwritten */
	room = room && part_write(s, from, b->used);
	names_remember(s, names, b->names);
	b->codes = 0;
	b->names = 0;
	b->used = 0;
	hs_batch_refresh(s);
	return room;
}

/* ---- METHOD ---- */

size_t hs_record_make_method(struct hs_snapshot *s, uint64_t method)
{
	uint8_t *at = s->batch.records + s->batch.used;
	char *text = (char *)at + sizeof(struct snap_method);
	size_t name = hs_method_name(&s->hs, method, text);
	size_t file, len, padded;
	struct snap_method record;

	if (name == 0)
		return 0;
	file = hs_method_file(&s->hs, method, text + name, FILE_MAX);
	len = sizeof(record) + name + file;
	padded = (len + 7) & ~(size_t)7;
	__builtin_memset(at + len, 0, padded - len);
	record = (struct snap_method){
		.record = {SNAP_METHOD, (uint32_t)padded},
		.id = method,
		.name_len = (uint32_t)name,
		.file_len = (uint32_t)file,
	};
	__builtin_memcpy(at, &record, sizeof(record));
	return padded;
}

uint64_t hs_record_method(struct hs_snapshot *s, uint64_t method)
{
	struct hs_batch *b = &s->batch;
	uint64_t *slot = s->nameless ? NULL : hs_methods_add(&s->methods, method);
	uint64_t fingerprint;
	size_t len;

	if (s->nameless || (slot && hs_method_state(*slot) == HS_METHOD_WRITTEN))
		return method;
	if (slot && hs_method_state(*slot) == HS_METHOD_NAMELESS)
		return 0;
	/* If the set is full, a method is written each time. */
	if ((!slot && (method == 0 || (method & 7) != 0)) || b->names == HS_BATCH_NAMES ||
	    b->used + METHOD_RECORD_MAX + HS_RECORD_MAX > HS_BATCH)
		return 0;
	fingerprint = s->state ? hs_method_fingerprint(&s->hs, method) : 0;
	len = hs_record_make_method(s, method);
	if (slot)
		*slot |= len > 0 ? HS_METHOD_WRITTEN : HS_METHOD_NAMELESS;
	b->name[b->names].slot = slot;
	b->name[b->names++].fingerprint = len > 0 ? fingerprint : 0;
	b->used += len;
	return len > 0 ? method : 0;
}

/* ---- CODE ---- */

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

/* Reads the scopes. False: they are invalid; there are no regions then. */
static bool scopes_read(struct hs_snapshot *s, const struct hs_blob *blob,
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
	return hs_debug_read(&s->hs, blob, &s->buffer, &debug) &&
	       hs_scopes_read(&s->hs, &s->scopes, &debug);
}

/* C1 puts slow paths after a method's code. One that calls a stub that needs no debug information
 * and then jumps back (MonitorExitStub and others, c1/c1_CodeStubs_<cpu>.cpp and gc/<gc>/c1) would
 * be in the region of the slow path after it: describes the call as what it jumps back to. */
static void slow_calls_describe(struct hs_snapshot *s, const struct hs_code *view,
				struct snap_code *code)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < code->call_count; i++) {
		uint32_t end = s->calls[i], back = hs_scan_jump(view, end);

		if (back == 0 || back > end || !hs_scopes_split(&s->scopes, end, back - 1))
			s->calls[kept++] = end;
	}
	code->call_count = kept;
}

static void code_scan(struct hs_snapshot *s, const struct hs_blob *blob, struct snap_code *code)
{
	struct hs_code view = {
		.start = blob->code,
		.frame_size = code->frame_size,
		.frame_complete = code->frame_complete,
		.leaves = code->kind != SNAP_COMPILED,
	};
	struct hs_prologue prologue = {SNAP_NONE, SNAP_NONE};
	size_t have;

	s->spill_count = 0;
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
	code->exit_count = hs_scan_exits(&view, s->exits, HS_EXITS_MAX);
	if (blob->is_nmethod)
		code->call_count = hs_scan_calls(&view, s->scopes.region, s->scopes.region_count,
						 s->fixed.head.code_low, s->fixed.head.code_high,
						 s->calls, HS_CALLS_MAX);
	if (code->flags & SNAP_BETWEEN)
		slow_calls_describe(s, &view, code);
	if (code->kind == SNAP_COMPILED)
		s->spill_count = hs_scan_spills(&view, s->spills, HS_SPILLS_MAX);
}

/* True for code compiled with -XX:+DebugNonSafepoints: most places are between safepoints. Without
 * it, only places in methods without local variables look like that. */
static bool has_between(const struct hs_scopes *s)
{
	return s->plain > 0 && s->plain >= s->places / 4;
}

/* Adds the methods of all scopes, and the code's own. False: that one has no name. */
static bool methods_add(struct hs_snapshot *s, const struct hs_blob *blob)
{
	uint64_t last = 0, last_id = 0;

	for (uint32_t i = 0; i < s->scopes.scope_count; i++) {
		struct snap_scope *scope = &s->scopes.scope[i];

		if (scope->method != last) {
			last = scope->method;
			last_id = hs_record_method(s, last);
		}
		scope->method = last_id;
	}
	return hs_record_method(s, blob->method) != 0;
}

/* Adds an entry to the batch for all that was added since the last one. */
static struct hs_batch_code *entry_add(struct hs_snapshot *s, const struct hs_block *block,
				       const struct hs_blob *blob)
{
	struct hs_batch *b = &s->batch;
	struct hs_batch_code *code = &b->code[b->codes++];

	code->block = *block;
	code->blob = *blob;
	code->known = NULL;
	code->names_end = b->names;
	code->end = b->used;
	return code;
}

static uint8_t *append(uint8_t *to, const void *from, size_t len)
{
	__builtin_memcpy(to, from, len);
	return to + len;
}

static void code_add(struct hs_snapshot *s, struct snap_code *code, const char *name)
{
	uint8_t *start = s->batch.records + s->batch.used;
	uint8_t *p = start + sizeof(*code);

	code->scope_count = s->scopes.scope_count;
	code->region_count = s->scopes.region_count;
	p = append(p, s->scopes.scope, code->scope_count * sizeof(struct snap_scope));
	p = append(p, s->scopes.region, code->region_count * sizeof(struct snap_region));
	p = append(p, s->exits, code->exit_count * sizeof(struct snap_exit));
	p = append(p, s->calls, code->call_count * sizeof(uint32_t));
	p = append(p, name, code->name_len);
	while ((p - start) & 7)
		*p++ = 0;
	p = append(p, s->spills, s->spill_count * sizeof(struct snap_spill));
	code->record = (struct snap_record){SNAP_CODE, (uint32_t)(p - start)};
	append(start, code, sizeof(*code));
	s->batch.used += code->record.size;
}

/* Removes what the code has added to the batch. */
static void code_undo(struct hs_snapshot *s, size_t used, uint32_t names)
{
	names_drop(s, names, s->batch.names);
	s->batch.used = used;
	s->batch.names = names;
	s->result->skipped++;
}

void hs_record_code(struct hs_snapshot *s, const struct hs_block *block, const struct hs_blob *blob,
		    const char *text)
{
	char name[DFG_NAME_MAX + 1];
	struct hs_batch *b = &s->batch;
	struct snap_code code = {
		.start = blob->code,
		.size = (uint32_t)(blob->code_end - blob->code),
		.method = blob->method,
		.deopt = SNAP_NONE,
		.deopt_mh = SNAP_NONE,
		.orig_pc = SNAP_NONE,
	};
	uint32_t fingerprint = hs_blob_fingerprint(&s->hs, blob);
	size_t used = b->used;
	uint32_t names = b->names;

	frame_read(&s->hs, blob, &code);
	code.kind = kind_of(blob, text, code.frame_size);
	if (blob->is_nmethod)
		hs_nmethod_numbers(&s->hs, blob, &code);
	else
		code.name_len = (uint32_t)hs_blob_name(text, name);
	/* Without regions the code still has a frame and a name. Counts the loss, and tries again
	 * with the next snapshot. */
	if (!scopes_read(s, blob, &code)) {
		s->result->skipped++;
		fingerprint = 0;
	} else if (has_between(&s->scopes)) {
		code.flags |= SNAP_BETWEEN;
	}
	code_scan(s, blob, &code);
	if (blob->is_nmethod && !methods_add(s, blob)) {
		code_undo(s, used, names);
		return;
	}
	code_add(s, &code, name);
	entry_add(s, block, blob)->known =
		s->state ? hs_state_add(s->state, blob->code, fingerprint) : NULL;
}

/* ---- lines of a map ---- */

static size_t hex_add(char *buf, uint64_t n)
{
	unsigned digits = 1;

	while (digits < 16 && n >> (4 * digits))
		digits++;
	for (unsigned i = 0; i < digits; i++)
		buf[i] = "0123456789abcdef"[(n >> (4 * (digits - 1 - i))) & 15];
	return digits;
}

void hs_record_line(struct hs_snapshot *s, const struct hs_block *block, const struct hs_blob *blob,
		    const char *text)
{
	char *line = (char *)s->batch.records + s->batch.used;
	size_t len = hex_add(line, blob->code), name;

	line[len++] = ' ';
	len += hex_add(line + len, blob->code_end - blob->code);
	line[len++] = ' ';
	name = blob->is_nmethod ? hs_method_name(&s->hs, blob->method, line + len)
				: hs_blob_name(text, line + len);
	if (name == 0) {
		s->result->skipped++;
		return;
	}
	len += name;
	line[len++] = '\n';
	s->batch.used += len;
	entry_add(s, block, blob);
}
