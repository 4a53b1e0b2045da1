// SPDX-License-Identifier: Apache-2.0
#include "symbols/kernel.h"

#include "common/filemap.h"
#include "common/str.h"

#define TEXT_MAX    (64u << 20)
#define DYNAMIC_MAX 65536 /* BPF programs and trampolines */

struct ksym {
	uint64_t start, end;
	char *name;
	size_t len;
};

struct kernsym {
	struct kallsyms text;
	struct filemap map;   /* by kernsym_open */
	struct ksym *dynamic; /* sorted by start */
	size_t dynamic_count, dynamic_cap;
};

struct kernsym *kernsym_of(const char *text, size_t len)
{
	struct kernsym *ks = xcalloc(1, sizeof(*ks));

	kallsyms_init(&ks->text, text, len);
	return ks;
}

struct kernsym *kernsym_open(int fd, struct err *err)
{
	struct filemap map;
	struct kernsym *ks;

	if (filemap_open(fd, TEXT_MAX, &map, err) < 0) {
		err_wrap(err, "the copy of kallsyms");
		return NULL;
	}
	ks = kernsym_of((const char *)map.p, map.len);
	ks->map = map;
	return ks;
}

void kernsym_close(struct kernsym *ks)
{
	if (!ks)
		return;
	for (size_t i = 0; i < ks->dynamic_count; i++)
		free(ks->dynamic[i].name);
	free(ks->dynamic);
	kallsyms_fini(&ks->text);
	filemap_close(&ks->map);
	free(ks);
}

/* Number of dynamic symbols with start <= addr. */
static size_t upper(const struct ksym *list, size_t n, uint64_t addr)
{
	size_t lo = 0;

	while (n) {
		size_t half = n / 2;

		if (list[lo + half].start <= addr) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo;
}

void kernsym_remove(struct kernsym *ks, uint64_t addr)
{
	size_t at = upper(ks->dynamic, ks->dynamic_count, addr);

	if (!at || ks->dynamic[at - 1].start != addr)
		return;
	free(ks->dynamic[at - 1].name);
	memmove(ks->dynamic + at - 1, ks->dynamic + at,
		(ks->dynamic_count - at) * sizeof(*ks->dynamic));
	ks->dynamic_count--;
}

void kernsym_add(struct kernsym *ks, uint64_t addr, uint32_t len, const char *name)
{
	struct ksym s = {.start = addr, .end = addr + len, .len = strlen(name)};
	size_t at;

	kernsym_remove(ks, addr);
	if (s.end <= addr || ks->dynamic_count >= DYNAMIC_MAX)
		return;
	s.name = xstrdup(name);
	at = upper(ks->dynamic, ks->dynamic_count, addr);
	ks->dynamic = grow(ks->dynamic, ks->dynamic_count, &ks->dynamic_cap, sizeof(*ks->dynamic));
	memmove(ks->dynamic + at + 1, ks->dynamic + at,
		(ks->dynamic_count - at) * sizeof(*ks->dynamic));
	ks->dynamic[at] = s;
	ks->dynamic_count++;
}

bool kernsym_find(const struct kernsym *ks, uint64_t addr, struct kernel_symbol *ret)
{
	size_t at = upper(ks->dynamic, ks->dynamic_count, addr);
	const struct ksym *s = at ? &ks->dynamic[at - 1] : NULL;

	if (!s || addr >= s->end)
		return kallsyms_find(&ks->text, addr, ret);
	*ret = (struct kernel_symbol){
		.start = s->start, .end = s->end, .name = s->name, .len = s->len};
	return true;
}
