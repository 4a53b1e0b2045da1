// SPDX-License-Identifier: Apache-2.0
#include "symbols/elfsym.h"

#include "common/str.h"
#include "common/table.h"
#include "elf/elf_tables.h"
#include "elf/elfparts.h"
#include "elf/names.h"

#define PAGE	  4096u
#define LOOK_BACK 64 /* symbols before an address that may extend over later ones */

struct elfsym {
	Elf *elf, *debug, *mini; /* hold the names */
	void *mini_bytes;
	struct elffuncs functions;
	struct keyed *order; /* address -> number of the function; one for each address */
	size_t count;
	struct elfsegs segments;
	struct elfparts parts;
	struct ehtable starts;
};

static struct symbol_rank rank_of(const struct elffunc *f)
{
	return (struct symbol_rank){.name = f->name,
				    .size = f->end - f->start,
				    .typed = f->typed,
				    .weak = f->weak,
				    .global = f->global};
}

static bool better(const struct elffunc *a, const struct elffunc *b)
{
	struct symbol_rank x = rank_of(a), y = rank_of(b);

	return symname_better(&x, &y);
}

/* Sorts by address, and leaves the best symbol of each. */
static void order_functions(struct elfsym *es)
{
	const struct elffunc *list = es->functions.list;
	size_t all = es->functions.count, n = 0;

	es->order = xcalloc(all, sizeof(*es->order));
	for (size_t i = 0; i < all; i++)
		es->order[i] = (struct keyed){.key = list[i].start, .value = i};
	keyed_sort(es->order, all);
	for (size_t i = 0; i < all; i++)
		if (!n || es->order[n - 1].key != es->order[i].key)
			es->order[n++] = es->order[i];
		else if (better(&list[es->order[n - 1].value], &list[es->order[i].value]))
			es->order[n - 1] = es->order[i];
	es->count = n;
}

/* A symbol without a size extends to the next one, the last to the end of its page. */
static uint64_t end_of(const struct elfsym *es, size_t at)
{
	const struct elffunc *f = &es->functions.list[es->order[at].value];

	if (f->end > f->start)
		return f->end;
	return at + 1 < es->count ? es->order[at + 1].key : (f->start | (PAGE - 1)) + 1;
}

/* Names of another build would be wrong. A debug file without a build id was found by its checksum.
 */
static bool same_build(const struct elfparts *a, const struct elfparts *b)
{
	return !a->build_id_len || (a->build_id_len == b->build_id_len &&
				    memcmp(a->build_id, b->build_id, a->build_id_len) == 0);
}

/* Reads all functions, or without any .symtab those that are exported. */
static void read_functions(struct elfsym *es)
{
	struct elffuncs *to = &es->functions;
	struct elfparts debug, mini;
	size_t len;

	elfparts_symtab(&es->parts, to);
	if (!to->count && es->debug) {
		elfparts_find(es->debug, &debug);
		if (same_build(&es->parts, &debug))
			elfparts_symtab(&debug, to);
	}
	if (!to->count) {
		es->mini_bytes = elfparts_mini(&es->parts, &len);
		es->mini = es->mini_bytes ? elf_memory(es->mini_bytes, len) : NULL;
		if (es->mini) {
			elfparts_find(es->mini, &mini);
			elfparts_symtab(&mini, to);
		}
		elfparts_dynsym(&es->parts, to);
	}
	elfparts_plt(&es->parts, to);
}

struct elfsym *elfsym_open(int fd, int debug_fd, struct err *err)
{
	struct elfsym *es = xcalloc(1, sizeof(*es));

	elf_version(EV_CURRENT);
	es->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	es->debug = debug_fd < 0 ? NULL : elf_begin(debug_fd, ELF_C_READ_MMAP, NULL);
	if (!es->elf || elf_kind(es->elf) != ELF_K_ELF) {
		err_set(err, 0, "not an ELF file%s%s", es->elf ? "" : ": ",
			es->elf ? "" : elf_errmsg(-1));
		elfsym_close(es);
		return NULL;
	}
	elfsegs_read(es->elf, &es->segments);
	elfparts_find(es->elf, &es->parts);
	ehtable_read(es->elf, &es->starts);
	read_functions(es);
	order_functions(es);
	return es;
}

void elfsym_close(struct elfsym *es)
{
	if (!es)
		return;
	elf_end(es->elf);
	elf_end(es->debug);
	elf_end(es->mini);
	free(es->mini_bytes);
	free(es->functions.list);
	free(es->order);
	elfsegs_fini(&es->segments);
	free(es);
}

bool elfsym_find(const struct elfsym *es, uint64_t offset, struct elf_symbol *ret)
{
	uint64_t addr;
	size_t at;

	if (!elfsegs_address(&es->segments, offset, &addr))
		return false;
	at = keyed_upper(es->order, es->count, addr);
	for (int steps = 0; at > 0 && steps < LOOK_BACK; steps++) {
		const struct elffunc *f = &es->functions.list[es->order[--at].value];
		uint64_t end = end_of(es, at);

		if (addr >= end)
			continue;
		*ret = (struct elf_symbol){
			.start = f->start, .end = end, .name = f->name, .plt = f->plt};
		return true;
	}
	return false;
}

bool elfsym_start(const struct elfsym *es, uint64_t offset, uint64_t *ret)
{
	uint64_t addr;

	return elfsegs_address(&es->segments, offset, &addr) &&
	       ehtable_find(&es->starts, addr, ret);
}

size_t elfsym_count(const struct elfsym *es, bool *ret_cut)
{
	*ret_cut = es->functions.cut;
	return es->functions.count;
}

size_t elfsym_build_id(const struct elfsym *es, const uint8_t **ret)
{
	*ret = es->parts.build_id;
	return es->parts.build_id_len;
}
