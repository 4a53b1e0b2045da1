// SPDX-License-Identifier: Apache-2.0
#include "jvm_look.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "dfg/hotspot.h"
#include "dfg/run.h"
#include "files.h"
#include "hsproc.h"

#define LOOK_MS	     2000
#define SECTIONS_MAX 4096

static const char *const flag_names[] = {
#define JVM_FLAG_NAME(id, name) [JVM_FLAG_##id] = (name),
	JVM_FLAGS(JVM_FLAG_NAME)
#undef JVM_FLAG_NAME
};

bool elf_has_section(int fd, uint32_t type)
{
	Elf64_Ehdr head;
	Elf64_Shdr section;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_shentsize != sizeof(section) || head.e_shnum > SECTIONS_MAX ||
	    head.e_shoff > INT64_MAX / 2)
		return false;
	for (unsigned i = 0; i < head.e_shnum; i++) {
		off_t at = (off_t)(head.e_shoff + i * sizeof(section));

		if (pread(fd, &section, sizeof(section), at) != sizeof(section))
			return false;
		if (section.sh_type == type)
			return true;
	}
	return false;
}

static int open_libjvm(const struct proc_map *m, void *arg)
{
	static const char name[] = "/libjvm.so";
	const char *base = strrchr(m->path, '/');
	int *fd = arg;
	struct stat st;

	/* A file that was replaced since has " (deleted)" behind its name. */
	if (!m->exec || !base || strncmp(base, name, strlen(name)) != 0)
		return 0;
	*fd = files_open_mapped(*fd, m, &st);
	return 1;
}

static void look_at_file(int procfd, struct jvm_look *ret)
{
	int fd = procfd;
	struct err err;

	if (proc_each_map(procfd, open_libjvm, &fd, &err) != 1 || fd < 0)
		return;
	ret->has_file = true;
	ret->has_symtab = elf_has_section(fd, SHT_SYMTAB);
	close(fd);
}

static int look_at_tables(int procfd, struct jvm_look *ret, struct err *err)
{
	CLEANUP(hs_proc_close) struct hs_proc *proc = NULL;
	CLEANUP(free) void *work = aligned_alloc(4096, HS_WORK_BYTES);
	uint64_t addr;
	unsigned found = 0;
	uint8_t value;

	if (!work)
		return err_set(err, ENOMEM, "working memory");
	if (hs_proc_open(procfd, &proc, err) < 0)
		return -1;
	for (size_t i = 0; i < JVM_FLAG_COUNT; i++) {
		if (!hs_find_flag(hs_proc_source(proc), work, flag_names[i], &addr, &value))
			continue;
		ret->flags[i] = value != 0;
		found++;
	}
	if (found == 0)
		return err_set(err, 0, "HotSpot's tables there are not of a known shape");
	return 0;
}

static int look(void *arg, void *reply, struct err *err)
{
	const struct jvm *j = arg;
	struct jvm_look *ret = reply;

	look_at_file(j->procfd, ret);
	ret->has_tables = look_at_tables(j->procfd, ret, err) == 0;
	if (!ret->has_tables)
		snprintf(ret->why, sizeof(ret->why), "%.255s", err->msg);
	return 0;
}

int jvm_look(const struct jvm *j, struct jvm_look *ret, struct err *err)
{
	struct jvm_look blank = {0};
	struct jvm target = *j;

	memset(blank.flags, -1, sizeof(blank.flags));
	*ret = blank;
	if (run_isolated(look, &target, ret, sizeof(*ret), LOOK_MS, err) == 0)
		return 0;
	*ret = blank;
	snprintf(ret->why, sizeof(ret->why), "%.255s", err->msg);
	return -1;
}
