// SPDX-License-Identifier: Apache-2.0
/* The call frame information of an ELF file (.eh_frame: Linux Standard Base 5.0, "Exception
 * Frames"; DWARF 5, section 6.4) as rows of the flat tables. The instructions of each function are
 * carried out once, and only for what a row can say: libdw, which starts again for each row, takes
 * ten times as long, a quarter of a short recording. tests/unit/test_table_rows.c holds the
 * rows against its answers. */
#include <dwarf.h>
#include <string.h>

#include "bpf/frame_ops.h"
#include "bpf/share.h"
#include "common/filemap.h"
#include "common/str.h"
#include "unwind/unwind_regs.h"

#define CODE_MAX      (1u << 29) /* bytes of a file from its first function to its last */
#define SPOTS_MAX     (1u << 24)
#define ROW_PLACES    (1u << 17) /* twice as many as there may be rows */
#define OPS_MAX	      (1u << 26) /* instructions in a file; libjvm has a million */
#define AUGMENTED_LEN 8u

/* A CIE: what its functions have in common. */
struct common {
	uint64_t offset;  /* in the file */
	uint8_t encoding; /* of addresses, DW_EH_PE_* */
	bool augmented, signal;
	struct frame_ops ops; /* with the state in which its functions begin */
};

/* A spot, with its whole address. */
struct whole_spot {
	uint32_t at;
	uint16_t row;
};

struct row_source {
	struct flat_tables *tables;
	struct whole_spot *list; /* ascending */
	size_t count, cap;
	struct filemap map;
	Elf *elf;
	struct ehtable functions;
	struct common common; /* of the function before */
	bool has_common;
	uint32_t ops;
};

static void cleanup_row_source(struct row_source *s)
{
	free(s->list);
	elf_end(s->elf);
	filemap_close(&s->map);
}

/* ---- rows --------------------------------------------------------------------------------- */

/* Words of so many bytes; 0: none, or not what a row can say. */
static uint32_t words_of(int64_t bytes)
{
	return bytes > 0 && bytes % 8 == 0 && bytes / 8 <= FLAT_WORDS_MAX ? (uint32_t)bytes / 8 : 0;
}

/* Words below the cfa of what is saved at so many bytes from it; 0: not what a row can say. */
static uint32_t words_below(int64_t at)
{
	return at > INT64_MIN ? words_of(-at) : 0;
}

/* Sets where the return address and the frame pointer are saved (struct flat_row). False: a row
 * cannot say that. */
#ifdef FLAT_ARM64
static bool set_saved(struct flat_row *row, const struct frame_state *s)
{
	if (s->ret == RETURN_UNSAID)
		return s->fp == FP_UNCHANGED;
	row->fp = words_below(s->fp == FP_SAVED ? s->fp_at : s->ret_at) & FLAT_WORDS_MAX;
	row->alone = s->fp == FP_UNCHANGED;
	return s->ret == RETURN_SAVED && s->fp != FP_LOST && row->fp &&
	       (s->fp == FP_UNCHANGED || s->ret_at == s->fp_at + 8);
}
#else
static bool set_saved(struct flat_row *row, const struct frame_state *s)
{
	row->fp = s->fp == FP_SAVED ? words_below(s->fp_at) & FLAT_WORDS_MAX : 0;
	return s->ret == RETURN_SAVED && s->ret_at == -8 && s->cfa > 0 && s->fp != FP_LOST &&
	       (s->fp == FP_UNCHANGED || row->fp > 1);
}
#endif

/* Makes a row of a state; FLAT_BY_COPY if it says more than a row can. */
static struct flat_row row_of(const struct frame_ops *f)
{
	const struct frame_state *s = &f->state;
	struct flat_row row = {.cfa = words_of(s->cfa) & FLAT_WORDS_MAX, .rule = FLAT_FROM_SP};

	if (s->ret == RETURN_NONE && !f->failed)
		return (struct flat_row){.rule = FLAT_OUTERMOST};
	if (s->cfa_reg == UNWIND_FP)
		row.rule = FLAT_FROM_FP;
	if (f->failed || s->cfa_is_expr || (s->cfa && !row.cfa) ||
	    (s->cfa_reg != UNWIND_SP && s->cfa_reg != UNWIND_FP) || s->sp_is_odd ||
	    !set_saved(&row, s))
		return (struct flat_row){.rule = FLAT_BY_COPY};
	return row;
}

static uint16_t add_row(struct flat_tables *t, struct flat_row row)
{
	*(struct flat_row *)flat_add_entry(t, FLAT_ROWS) = row;
	return (uint16_t)(t->count[FLAT_ROWS] - 1);
}

/* Number of a row, a new one if it has none; 0, which says FLAT_BY_COPY, if there is no room. */
static uint16_t number_of(struct flat_tables *t, struct flat_row row)
{
	uint32_t bits;

	if (!t->row_places) {
		t->row_places = xcalloc(ROW_PLACES, sizeof(*t->row_places));
		add_row(t, (struct flat_row){.rule = FLAT_BY_COPY});
	}
	memcpy(&bits, &row, sizeof(bits));
	if (!bits)
		return 0;
	for (uint32_t i = 0; i < FLAT_PROBES; i++) {
		uint16_t *place = &t->row_places[(flat_hash(bits) + i) % ROW_PLACES];

		if (*place && memcmp(&t->rows[*place], &row, sizeof(row)) == 0)
			return *place;
		if (!*place && t->count[FLAT_ROWS] <= UINT16_MAX)
			return *place = add_row(t, row);
	}
	return 0;
}

/* Has a row hold from an address on. */
static void add_spot(struct row_source *s, uint64_t at, struct flat_row row)
{
	const uint16_t number = number_of(s->tables, row);

	if (s->count && s->list[s->count - 1].row == number)
		return;
	s->list = grow(s->list, s->count, &s->cap, sizeof(*s->list));
	s->list[s->count++] = (struct whole_spot){.at = (uint32_t)at, .row = number};
}

/* Carries out the instructions of a function from `at` to `end`, and adds its spots. */
static void add_rows(struct row_source *s, struct frame_ops *f, struct bytes b, uint64_t at,
		     uint64_t end)
{
	while (b.len && !f->failed && at < end) {
		uint64_t n = frame_op(f, &b);

		if (n)
			add_spot(s, at, row_of(f));
		at = n < end - at ? at + n : end;
		f->failed |= s->ops++ >= OPS_MAX;
	}
	if (at < end)
		add_spot(s, at, row_of(f));
}

/* ---- entries ------------------------------------------------------------------------------ */

/* Reads a length and an id, and returns the rest of the entry. *ret_id_at: where the id is. */
static struct bytes read_entry(const struct row_source *s, uint64_t offset, uint32_t *ret_id,
			       uint64_t *ret_id_at)
{
	struct bytes b = bytes_of(s->map.p, s->map.len), entry;
	uint64_t len;

	bytes_take(&b, offset);
	len = bytes_u32(&b);
	if (len == UINT32_MAX)
		len = bytes_u64(&b);
	*ret_id_at = s->map.len - b.len;
	entry = bytes_sub(&b, len);
	*ret_id = bytes_u32(&entry);
	return entry;
}

/* Reads what the letters of an augmentation announce. */
static void read_augmentation(struct common *c, const char *letters, struct bytes *b)
{
	struct bytes data;
	uint8_t encoding;

	c->augmented = *letters == 'z';
	if (!c->augmented) {
		b->bad |= *letters != '\0';
		return;
	}
	data = bytes_sub(b, frame_uleb(b));
	for (const char *at = letters + 1; *at; at++)
		switch (*at) {
		case 'R':
			c->encoding = bytes_u8(&data);
			break;
		case 'L':
			bytes_u8(&data);
			break;
		case 'P':
			encoding = bytes_u8(&data);
			frame_address(&data, encoding);
			break;
		case 'S':
			c->signal = true;
			break;
		default:
			b->bad = true;
			return;
		}
	b->bad |= data.bad;
}

/* Reads the head of a CIE. *ret_ops: its instructions. */
static bool read_head(struct common *c, struct bytes b, struct bytes *ret_ops)
{
	uint8_t version = bytes_u8(&b);
	const char *letters = bytes_cstr(&b);

	if (b.bad || (version != 1 && version != 3) || strlen(letters) > AUGMENTED_LEN)
		return false;
	c->ops.code_align = frame_uleb(&b);
	c->ops.data_align = frame_sleb(&b);
	if ((version == 1 ? bytes_u8(&b) : frame_uleb(&b)) != UNWIND_RA)
		return false;
	read_augmentation(c, letters, &b);
	*ret_ops = b;
	return !b.bad;
}

/* Reads the CIE at an offset in the file, unless it is that of the function before. */
static bool read_common(struct row_source *s, uint64_t offset)
{
	struct common *c = &s->common;
	struct bytes b;
	uint64_t id_at;
	uint32_t id;

	if (s->has_common && c->offset == offset)
		return true;
	*c = (struct common){.offset = offset};
	b = read_entry(s, offset, &id, &id_at);
	s->has_common = !b.bad && id == 0 && read_head(c, b, &b);
	while (s->has_common && b.len)
		s->has_common = frame_op(&c->ops, &b) == 0 && !c->ops.failed;
	c->ops.first = c->ops.state;
	return s->has_common;
}

/* Adds the spots of function number i, which starts at an address, up to at most `limit`. Returns
 * where they end. */
static uint64_t add_function(struct row_source *s, uint64_t i, uint64_t start, uint64_t limit)
{
	uint64_t id_at, length;
	uint32_t id;
	struct bytes b = read_entry(s, ehtable_entry(&s->functions, i), &id, &id_at);
	struct frame_ops ops;

	if (b.bad || !id || id > id_at || !read_common(s, id_at - id)) {
		add_spot(s, start, (struct flat_row){.rule = FLAT_BY_COPY});
		return limit;
	}
	frame_address(&b, s->common.encoding);
	length = frame_address(&b, s->common.encoding);
	if (s->common.augmented)
		bytes_take(&b, frame_uleb(&b));
	if (length < limit - start)
		limit = start + length;
	ops = s->common.ops;
	ops.failed = b.bad || s->common.signal;
	add_rows(s, &ops, b, start, limit);
	return limit;
}

static bool mentions_debug_frame(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t strings = 0;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(elf, &strings) != 0)
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(elf, strings, sh.sh_name) : NULL;

		if (name && strstr(name, "debug_frame"))
			return true;
	}
	return false;
}

/* Between functions nothing is said, unless .debug_frame, which is not read here, has it. */
static void add_functions(struct row_source *s)
{
	const struct flat_row gap = {.rule = mentions_debug_frame(s->elf) ? FLAT_BY_COPY
									  : FLAT_BY_POINTER};
	uint64_t end = 0;

	for (uint64_t i = 0; i < s->functions.count && s->count < SPOTS_MAX; i++) {
		uint64_t start = ehtable_start(&s->functions, i), limit = UINT32_MAX;

		if (i + 1 < s->functions.count)
			limit = ehtable_start(&s->functions, i + 1);
		if (start < end || start > UINT32_MAX || limit > UINT32_MAX || limit < start)
			continue;
		if (start > end)
			add_spot(s, end, gap);
		end = add_function(s, i, start, limit);
	}
	add_spot(s, end, gap);
}

/* Keeps the spots, and makes their index; a file with its functions too far apart has none. */
static void keep_spots(const struct row_source *s, struct flat_file *f)
{
	const struct whole_spot *list = s->list;
	const uint32_t high = list[s->count - 1].at, low = s->count > 1 ? list[1].at : high;
	struct flat_tables *t = s->tables;
	const uint32_t first = (uint32_t)t->count[FLAT_SPOTS];
	size_t last = 0;

	if (high - low > CODE_MAX)
		return;
	for (size_t i = 0; i < s->count; i++)
		*(struct flat_spot *)flat_add_entry(t, FLAT_SPOTS) =
			(struct flat_spot){.at = (uint16_t)list[i].at, .row = list[i].row};
	f->low = low & ~(FLAT_BLOCK - 1);
	f->blocks = (uint32_t)t->count[FLAT_BLOCKS];
	for (uint64_t at = f->low; at < (uint64_t)high + 2 * FLAT_BLOCK; at += FLAT_BLOCK) {
		while (last + 1 < s->count && list[last + 1].at <= at)
			last++;
		*(uint32_t *)flat_add_entry(t, FLAT_BLOCKS) = first + (uint32_t)last;
	}
	f->block_count = (uint32_t)t->count[FLAT_BLOCKS] - f->blocks;
}

int flat_add_file(struct flat_tables *t, int fd, struct flat_file *ret, struct err *err)
{
	CLEANUP(row_source) struct row_source s = {.tables = t};
	GElf_Ehdr eh;

	elf_version(EV_CURRENT);
	if (filemap_open(fd, UINT64_MAX, &s.map, err) < 0)
		return err_wrap(err, "an ELF file");
	s.elf = elf_memory((char *)(uintptr_t)s.map.p, s.map.len);
	if (!s.elf || elf_kind(s.elf) != ELF_K_ELF || !gelf_getehdr(s.elf, &eh) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64)
		return err_set(err, 0, "not an ELF file of this machine");
	*ret = (struct flat_file){.block_count = 1};
	elfsegs_read(s.elf, &ret->segments);
	ehtable_read(s.elf, &s.functions);
	if (s.functions.count) {
		add_functions(&s);
		keep_spots(&s, ret);
	}
	return 0;
}

void flat_forget_rows(struct flat_tables *t)
{
	for (unsigned i = 0; i < FLAT_TABLES; i++)
		if (flat_is_filled_once(i)) {
			free(t->list[i]);
			t->list[i] = NULL;
		}
	free(t->row_places);
	t->row_places = NULL;
}

void flat_file_fini(struct flat_file *f)
{
	elfsegs_fini(&f->segments);
}
