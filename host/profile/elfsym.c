// SPDX-License-Identifier: Apache-2.0
#include "elfsym.h"

#include "dfg/str.h"
#include "ehtable.h"
#include "elfparts.h"
#include "elfseg.h"
#include "keyed.h"
#include "symname.h"

#define PAGE	  4096u
#define LOOK_BACK 64 /* symbols before an address that may reach over those behind them */

struct symbol {
	struct elffunc f;
	uint64_t reach; /* highest end of this and all before */
};

struct elfsym {
	Elf *elf, *debug, *mini; /* keep the names */
	void *mini_bytes;
	struct symbol *symbols;
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

/* Sorts by address and leaves one symbol for each. */
static void order_symbols(struct elfsym *es, const struct elffuncs *all)
{
	CLEANUP(free) struct keyed *order = xcalloc(all->count, sizeof(*order));
	struct symbol *sorted = xcalloc(all->count, sizeof(*sorted));
	size_t n = 0;

	for (size_t i = 0; i < all->count; i++)
		order[i] = (struct keyed){.key = all->list[i].start, .value = i};
	keyed_sort(order, all->count);
	for (size_t i = 0; i < all->count; i++) {
		const struct elffunc *f = &all->list[order[i].value];

		if (!n || sorted[n - 1].f.start != f->start)
			sorted[n++].f = *f;
		else if (better(&sorted[n - 1].f, f))
			sorted[n - 1].f = *f;
	}
	for (size_t i = 0; i < n; i++) {
		struct symbol *s = &sorted[i];

		/* Without a size it goes to the next symbol, the last one to its page's end. */
		if (s->f.end == s->f.start)
			s->f.end = i + 1 < n ? s[1].f.start : (s->f.start | (PAGE - 1)) + 1;
		s->reach = i && s[-1].reach > s->f.end ? s[-1].reach : s->f.end;
	}
	es->symbols = sorted;
	es->count = n;
}

/* Names of another version would be wrong ones. A file without a build id was found by its
 * checksum. */
static bool same_build(const struct elfparts *a, const struct elfparts *b)
{
	return !a->build_id_len || (a->build_id_len == b->build_id_len &&
				    memcmp(a->build_id, b->build_id, a->build_id_len) == 0);
}

/* All functions, or without .symtab anywhere those that others may call. */
static void read_functions(struct elfsym *es, struct elffuncs *to)
{
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

/* Takes both over; debug may be NULL. */
static struct elfsym *load(Elf *elf, Elf *debug, struct err *err)
{
	struct elfsym *es = xcalloc(1, sizeof(*es));
	struct elffuncs all = {0};

	es->elf = elf;
	es->debug = debug;
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		err_set(err, 0, "not an ELF file%s%s", elf ? "" : ": ", elf ? "" : elf_errmsg(-1));
		elfsym_close(es);
		return NULL;
	}
	elfsegs_read(es->elf, &es->segments);
	elfparts_find(es->elf, &es->parts);
	ehtable_read(es->elf, &es->starts);
	read_functions(es, &all);
	order_symbols(es, &all);
	free(all.list);
	return es;
}

struct elfsym *elfsym_open(int fd, int debug_fd, struct err *err)
{
	elf_version(EV_CURRENT);
	return load(elf_begin(fd, ELF_C_READ_MMAP, NULL),
		    debug_fd < 0 ? NULL : elf_begin(debug_fd, ELF_C_READ_MMAP, NULL), err);
}

static Elf *elf_of(struct bytes b)
{
	return elf_memory((char *)(uintptr_t)b.p, b.len);
}

struct elfsym *elfsym_of(struct bytes file, struct bytes debug, struct err *err)
{
	elf_version(EV_CURRENT);
	return load(elf_of(file), debug.len ? elf_of(debug) : NULL, err);
}

void elfsym_close(struct elfsym *es)
{
	if (!es)
		return;
	elf_end(es->elf);
	elf_end(es->debug);
	elf_end(es->mini);
	free(es->mini_bytes);
	free(es->symbols);
	elfsegs_fini(&es->segments);
	free(es);
}

size_t elfsym_count(const struct elfsym *es)
{
	return es->count;
}

bool elfsym_find(const struct elfsym *es, uint64_t offset, struct elf_symbol *ret)
{
	uint64_t addr;
	size_t lo = 0, n = es->count;

	if (!elfsegs_address(&es->segments, offset, &addr))
		return false;
	while (n) {
		size_t half = n / 2;

		if (es->symbols[lo + half].f.start <= addr) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	for (int steps = 0; lo > 0 && steps < LOOK_BACK && es->symbols[lo - 1].reach > addr;
	     steps++) {
		const struct elffunc *s = &es->symbols[--lo].f;

		if (addr >= s->end)
			continue;
		*ret = (struct elf_symbol){.start = s->start,
					   .end = s->end,
					   .name = s->name,
					   .index = (uint32_t)lo,
					   .plt = s->plt};
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

size_t elfsym_build_id(const struct elfsym *es, const uint8_t **ret)
{
	*ret = es->parts.build_id;
	return es->parts.build_id_len;
}
