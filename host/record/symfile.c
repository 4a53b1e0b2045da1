// SPDX-License-Identifier: Apache-2.0
#include "record/symfile.h"

#include <errno.h>
#include <gelf.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/confine.h"
#include "common/fs.h"
#include "common/str.h"
#include "elf/elfparts.h"

#define MEMORY_MAX   (2ull << 30)
#define SECONDS_MAX  30
#define MS_MAX	     60000
#define SECTIONS_MAX 4096
#define CONTENTS_MAX (64u << 20) /* that are copied: libjvm has 8 MB */

static Elf *open_elf(int fd)
{
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	GElf_Ehdr eh;

	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &eh) &&
	    eh.e_ident[EI_CLASS] == ELFCLASS64 && eh.e_ident[EI_DATA] == ELFDATA2LSB)
		return elf;
	elf_end(elf);
	return NULL;
}

/* ---- what leads to a debug file ---------------------------------------------------------- */

struct links {
	const int *fds;
	size_t n;
};

static void read_link(int fd, struct symfile_link *ret)
{
	Elf *elf = open_elf(fd);
	struct elfparts p;

	if (!elf)
		return;
	elfparts_find(elf, &p);
	ret->whole = p.symtab != NULL;
	if (p.build_id_len >= 2 && p.build_id_len <= sizeof(ret->id)) {
		ret->id_len = (uint8_t)p.build_id_len;
		memcpy(ret->id, p.build_id, p.build_id_len);
	}
	if (p.debug_name && strlen(p.debug_name) < sizeof(ret->name)) {
		snprintf(ret->name, sizeof(ret->name), "%s", p.debug_name);
		ret->crc = p.debug_crc;
	}
	elf_end(elf);
}

static int confine(struct err *err)
{
	elf_version(EV_CURRENT);
	return confine_reader(MEMORY_MAX, SECONDS_MAX, err);
}

static int links_child(void *arg, void *reply, struct err *err)
{
	const struct links *l = arg;
	struct symfile_link *ret = reply;

	if (confine(err) < 0)
		return -1;
	for (size_t i = 0; i < l->n; i++)
		read_link(l->fds[i], &ret[i]);
	return 0;
}

int symfile_links(const int *fds, size_t n, struct symfile_link *ret, struct err *err)
{
	struct links l = {fds, n};

	memset(ret, 0, n * sizeof(*ret));
	return child_call(links_child, &l, ret, n * sizeof(*ret), MS_MAX, err);
}

/* ---- a copy of the symbols --------------------------------------------------------------- */

struct copies {
	const struct symfile_copy *list;
	size_t n;
};

static bool has_crc(int fd, uint32_t want)
{
	static uint8_t buf[256u << 10];
	uint32_t crc = 0;
	off_t at = 0;
	ssize_t got;

	while ((got = pread(fd, buf, sizeof(buf), at)) > 0) {
		crc = lzma_crc32(buf, (size_t)got, crc);
		at += got;
	}
	return got == 0 && at > 0 && crc == want;
}

static bool belongs(const struct symfile_copy *c, const struct elfparts *p)
{
	const struct symfile_link *l = c->link;

	if (l->id_len)
		return p->build_id_len == l->id_len && memcmp(p->build_id, l->id, l->id_len) == 0;
	return l->name[0] && has_crc(c->from, l->crc);
}

static bool is_kept(Elf *elf, const struct elfparts *p, size_t i)
{
	Elf_Scn *scn = elf_getscn(elf, i);
	GElf_Shdr sh;

	return scn && gelf_getshdr(scn, &sh) && sh.sh_size <= CONTENTS_MAX &&
	       !(sh.sh_flags & SHF_COMPRESSED) &&
	       (scn == p->symtab || i == p->symtab_sh.sh_link || sh.sh_type == SHT_NOTE);
}

/* All section headers, since symbols refer to them by number; those that are not kept have no
 * contents, as in any debug file. */
static bool write_symbols(Elf *elf, const struct elfparts *p, int to)
{
	uint64_t end;
	size_t n = 0;
	GElf_Ehdr eh;
	struct err err;
	CLEANUP(free) Elf64_Shdr *table = NULL;

	if (elf_getshdrnum(elf, &n) != 0 || n == 0 || n > SECTIONS_MAX || !gelf_getehdr(elf, &eh))
		return false;
	table = xcalloc(n, sizeof(*table));
	end = sizeof(Elf64_Ehdr) + n * sizeof(*table);
	if (lseek(to, (off_t)end, SEEK_SET) < 0)
		return false;
	for (size_t i = 1; i < n; i++) {
		Elf_Scn *scn = elf_getscn(elf, i);
		Elf_Data *d = is_kept(elf, p, i) ? elf_rawdata(scn, NULL) : NULL;
		static const char zero[8];
		GElf_Shdr sh;

		if (!scn || !gelf_getshdr(scn, &sh))
			return false;
		sh.sh_name = 0;
		sh.sh_offset = end;
		if (d && d->d_buf && sh.sh_type != SHT_NOBITS && end + d->d_size < CONTENTS_MAX) {
			sh.sh_size = d->d_size;
			if (fs_write_all(to, d->d_buf, d->d_size, &err) < 0 ||
			    fs_write_all(to, zero, -d->d_size & 7, &err) < 0)
				return false;
			end += (d->d_size + 7) & ~7ull;
		} else {
			sh.sh_type = SHT_NOBITS;
		}
		table[i] = sh;
	}
	eh.e_phoff = eh.e_phnum = eh.e_shstrndx = 0;
	eh.e_ehsize = sizeof(Elf64_Ehdr);
	eh.e_shoff = sizeof(Elf64_Ehdr);
	eh.e_shentsize = sizeof(Elf64_Shdr);
	eh.e_shnum = (uint16_t)n;
	return lseek(to, 0, SEEK_SET) == 0 && fs_write_all(to, &eh, sizeof(eh), &err) == 0 &&
	       fs_write_all(to, table, n * sizeof(*table), &err) == 0;
}

static int copies_child(void *arg, void *reply, struct err *err)
{
	const struct copies *c = arg;
	bool *ret = reply;

	if (confine(err) < 0)
		return -1;
	for (size_t i = 0; i < c->n; i++) {
		Elf *elf = open_elf(c->list[i].from);
		struct elfparts p;

		if (!elf)
			continue;
		elfparts_find(elf, &p);
		ret[i] = p.symtab && belongs(&c->list[i], &p) &&
			 write_symbols(elf, &p, c->list[i].to);
		elf_end(elf);
	}
	return 0;
}

int symfile_copies(const struct symfile_copy *c, size_t n, bool *ret, struct err *err)
{
	struct copies all = {c, n};

	memset(ret, 0, n * sizeof(*ret));
	return child_call(copies_child, &all, ret, n * sizeof(*ret), MS_MAX, err);
}
