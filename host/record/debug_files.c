// SPDX-License-Identifier: Apache-2.0
#include "record/debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <lzma.h>
#include <sys/stat.h>

#include "common/child.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/log.h"
#include "common/str.h"
#include "elf/elfparts.h"
#include "record/budget.h"

#define MEMORY_MAX   (2ull << 30)
#define SECONDS_MAX  30
#define MS_MAX	     60000
#define SECTIONS_MAX 4096
#define CONTENTS_MAX (64u << 20) /* that are copied: libjvm has 8 MB */
#define COPY_MAX     (CONTENTS_MAX + (1u << 20))

/* ---- a copy of the symbols --------------------------------------------------------------- */

static int enter_jail(const int *keep, size_t n, struct err *err)
{
	const struct jail jail = {.role = JAIL_ELF,
				  .memory = MEMORY_MAX,
				  .cpu_seconds = SECONDS_MAX,
				  .file_bytes = COPY_MAX,
				  .keep = keep,
				  .keep_count = n};

	elf_version(EV_CURRENT);
	return jail_enter(&jail, err);
}

struct copy_job {
	const struct debug_copy *list;
	size_t n;
	uint64_t room; /* bytes */
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

static bool belongs(const struct debug_copy *c, const struct elfparts *p)
{
	const struct debug_link *l = c->link;

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
 * contents, as in any debug file. *room becomes less by what is written. */
static bool write_symbols(Elf *elf, const struct elfparts *p, int to, uint64_t *room)
{
	uint64_t end, most;
	size_t n = 0;
	GElf_Ehdr eh;
	struct err err;
	CLEANUP(free) Elf64_Shdr *table = NULL;

	if (elf_getshdrnum(elf, &n) != 0 || n == 0 || n > SECTIONS_MAX || !gelf_getehdr(elf, &eh))
		return false;
	table = xcalloc(n, sizeof(*table));
	end = sizeof(Elf64_Ehdr) + n * sizeof(*table);
	most = *room < CONTENTS_MAX ? *room : CONTENTS_MAX;
	if (end > most || lseek(to, (off_t)end, SEEK_SET) < 0)
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
		if (d && d->d_buf && sh.sh_type != SHT_NOBITS && end + d->d_size + 8 <= most) {
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
	*room -= end;
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
	const struct copy_job *c = arg;
	int keep[2 * DEBUG_LINKS_MAX];
	uint64_t room = c->room;
	bool *ret = reply;

	for (size_t i = 0; i < c->n; i++) {
		keep[2 * i] = c->list[i].from;
		keep[2 * i + 1] = c->list[i].to;
	}
	if (enter_jail(keep, 2 * c->n, err) < 0)
		return -1;
	for (size_t i = 0; i < c->n; i++) {
		Elf *elf = debug_elf_open(c->list[i].from);
		struct elfparts p;

		if (!elf)
			continue;
		elfparts_find(elf, &p);
		ret[i] = p.symtab && belongs(&c->list[i], &p) &&
			 write_symbols(elf, &p, c->list[i].to, &room);
		elf_end(elf);
	}
	return 0;
}

int debug_symbols_copy(const struct debug_copy *c, size_t n, uint64_t room, bool *ret,
		       struct err *err)
{
	struct copy_job all = {c, n, room};

	memset(ret, 0, n * sizeof(*ret));
	if (child_call(copies_child, &all, ret, n * sizeof(*ret), MS_MAX, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		bool_clean(&ret[i]);
	return 0;
}

/* ---- searching --------------------------------------------------------------------------- */

struct debug_search {
	struct session *session;
	size_t count; /* of `files` */
	struct session_elf *files;
	struct debug_link links[DEBUG_LINKS_MAX];
};

static char *copy_name(const struct session_elf *f)
{
	return xasprintf("%s.debug", f->name);
}

/* Tries path number `place` of each file that still has no debug file. */
static void try_paths(struct debug_search *s, int rootfd, bool host, size_t place)
{
	uint64_t room = budget_room(BUDGET_FILE_BYTES, s->session->elffd);
	struct debug_copy copies[DEBUG_LINKS_MAX];
	size_t of[DEBUG_LINKS_MAX], n = 0;
	bool done[DEBUG_LINKS_MAX] = {0};
	struct err err;

	for (size_t i = 0; i < s->count; i++) {
		struct session_elf *f = &s->files[i];
		CLEANUP(free) char *name = copy_name(f);
		struct debug_paths p;
		int from;

		if (s->links[i].whole || f->debug)
			continue;
		debug_paths_of(f->path, &s->links[i], host, &p);
		from = place < p.n ? debug_path_open(rootfd, p.path[place]) : -1;
		debug_paths_fini(&p);
		if (from < 0)
			continue;
		of[n] = i;
		copies[n++] =
			(struct debug_copy){.link = &s->links[i],
					    .from = from,
					    .to = fs_create(s->session->elffd, name, 0600, &err)};
	}
	if (n && debug_symbols_copy(copies, n, room, done, &err) < 0)
		log_info("symbols of debug files: %s", err.msg);
	for (size_t i = 0; i < n; i++) {
		struct session_elf *f = &s->files[of[i]];
		CLEANUP(free) char *name = copy_name(f);

		close(copies[i].from);
		if (copies[i].to < 0)
			continue;
		close(copies[i].to);
		if (done[i])
			f->debug = TAKE_PTR(name);
		else
			unlinkat(s->session->elffd, name, 0);
	}
}

static void find_and_copy(struct debug_search *s, int rootfd)
{
	CLEANUP(close_fd) int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fds[DEBUG_LINKS_MAX];
	struct err err;
	int rc;

	for (size_t i = 0; i < s->count; i++)
		fds[i] = fs_open_regular(s->session->elffd, s->files[i].name, O_RDONLY, &err);
	rc = debug_links_read(fds, s->count, s->links, &err);
	for (size_t i = 0; i < s->count; i++)
		cleanup_close_fd(&fds[i]);
	if (rc < 0) {
		log_info("build ids: %s", err.msg);
		return;
	}
	for (size_t place = 0; place < DEBUG_PATHS_MAX && rootfd >= 0; place++)
		try_paths(s, rootfd, false, place);
	for (size_t place = 0; place < DEBUG_PATHS_MAX && host >= 0; place++)
		try_paths(s, host, true, place);
}

void debug_files_copy(struct session *s, size_t first, int rootfd)
{
	struct debug_search search = {.session = s};

	for (; first < s->elf_count; first += search.count) {
		search.files = s->elfs + first;
		search.count = s->elf_count - first < DEBUG_LINKS_MAX ? s->elf_count - first
								      : DEBUG_LINKS_MAX;
		find_and_copy(&search, rootfd);
	}
}
