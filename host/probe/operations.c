// SPDX-License-Identifier: Apache-2.0
#include "probe/operations.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/str.h"
#include "elf/elfparts.h"

#define PREFIX	     "VM_"
#define TRAP_REASONS "_ZN14Deoptimization17_trap_reason_nameE"

/* An object begins with the address of the first function in its class's table, after an offset and
 * the type (Itanium C++ ABI, 2.5.2). */
#define TABLE_HEAD (2 * sizeof(uint64_t))

/* Takes "VM_GC_HeapInspection" from "_ZTV20VM_GC_HeapInspection"; NULL: it is something else. */
static const char *class_in(const char *symbol)
{
	const char *name = has_prefix(symbol, "_ZTV") ? symbol + strlen("_ZTV") : NULL;

	if (!name || !isdigit((unsigned char)*name))
		return NULL;
	while (isdigit((unsigned char)*name))
		name++;
	return has_prefix(name, PREFIX) ? name : NULL;
}

static void add(struct operations *o, const GElf_Sym *symbol, const char *name)
{
	if (!name || o->count == OPERATIONS_MAX)
		return;
	o->list[o->count].at = symbol->st_value + TABLE_HEAD;
	snprintf(o->list[o->count].name, OPERATION_NAME_MAX, "%s", name + strlen(PREFIX));
	o->count++;
}

static void find(Elf *elf, struct operations *ret)
{
	struct elfparts parts = {0};
	Elf_Data *data;
	GElf_Sym symbol;

	elfparts_find(elf, &parts);
	data = parts.symtab ? elf_getdata(parts.symtab, NULL) : NULL;
	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, parts.symtab_sh.sh_link, symbol.st_name);

		if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || !name)
			continue;
		add(ret, &symbol, class_in(name));
		if (strcmp(name, TRAP_REASONS) == 0)
			ret->trap_reasons = symbol.st_value;
	}
}

void operations_find(int fd, struct operations *ret)
{
	Elf *elf;

	*ret = (struct operations){0};
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return;
	find(elf, ret);
	elf_end(elf);
}

const char *operations_name(const struct operations *o, uint64_t begin)
{
	for (uint32_t i = 0; i < o->count && i < OPERATIONS_MAX; i++)
		if (o->list[i].at == begin + o->shift)
			return o->list[i].name;
	return NULL;
}

bool operations_has_cause(const char *name)
{
	return strcmp(name, "G1PauseRemark") != 0 && strcmp(name, "G1PauseCleanup") != 0 &&
	       strcmp(name, "CGC_Operation") != 0; /* both, up to JDK 16 */
}
