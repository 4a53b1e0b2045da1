// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "common/str.h"
#include "probe/place_search.h"

/* The head of a note of <sys/sdt.h>: the place, where .stapsdt.base was linked, a semaphore. Texts
 * follow with their NULs: the provider, the name, the arguments. */
struct sdt_head {
	uint64_t at, base, semaphore;
};

#define SDT_TYPE 3 /* NT_STAPSDT */

/* Ends that have not been found otherwise: provider, NUL, name, NUL. A JVM may have been built
 * without them (--disable-dtrace). */
static const struct {
	const char *text;
	size_t len;
	enum flat_probe probe;
} notes[] = {
	{"hotspot\0compiled__method__load", sizeof("hotspot\0compiled__method__load"),
	 FLAT_PROBE_CODE},
	{"hotspot\0class__unloaded", sizeof("hotspot\0class__unloaded"), FLAT_PROBE_UNLOAD},
	{"hotspot\0thread__park__end", sizeof("hotspot\0thread__park__end"), FLAT_PROBE_PARKED},
	{"hs_private\0safepoint__end", sizeof("hs_private\0safepoint__end"), FLAT_PROBE_END},
	{"hotspot\0mem__pool__gc__begin", sizeof("hotspot\0mem__pool__gc__begin"),
	 FLAT_PROBE_POOL_BEFORE},
	{"hotspot\0mem__pool__gc__end", sizeof("hotspot\0mem__pool__gc__end"),
	 FLAT_PROBE_POOL_AFTER},
};

#if defined(__x86_64__)
/* In the order of struct pt_regs (arch/x86/include/uapi/asm/ptrace.h). */
static const char *const registers[] = {"%r15", "%r14", "%r13", "%r12", "%rbp", "%rbx", "%r11",
					"%r10", "%r9",	"%r8",	"%rax", "%rcx", "%rdx", "%rsi",
					"%rdi", "",	"",	"",	"",	"%rsp"};

/* "8@-72(%rbp)" */
static bool scan_memory(const char *text, char name[8], int *offset, int *len)
{
	return sscanf(text, "8@%d(%7[a-z0-9%])%n", offset, name, len) == 2 && *len;
}
#else
/* struct user_pt_regs (arch/arm64/include/uapi/asm/ptrace.h). */
static const char *const registers[] = {"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",	 "x7",
					"x8",  "x9",  "x10", "x11", "x12", "x13", "x14", "x15",
					"x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
					"x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp"};

/* "8@[x29, -72]" */
static bool scan_memory(const char *text, char name[8], int *offset, int *len)
{
	return sscanf(text, "8@[%7[a-z0-9], %d]%n", name, offset, len) == 2 && *len;
}
#endif

/* Reads an argument of a note: a word in a register or in memory
 * (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation). Returns its length; 0: it
 * is another one. */
static size_t read_argument(const char *text, uint32_t *ret)
{
	char name[8] = "";
	int len = 0, offset = 0;
	const bool memory = scan_memory(text, name, &offset, &len);

	if (!memory)
		sscanf(text, "8@%7[a-z0-9%]%n", name, &len);
	if (!len || offset < INT16_MIN || offset > INT16_MAX)
		return 0;
	for (uint32_t i = 0; i < ARRAY_LEN(registers); i++)
		if (strcmp(registers[i], name) == 0) {
			*ret = FLAT_ARGUMENT(i, memory, memory ? offset : 0);
			return (size_t)len;
		}
	return 0;
}

/* The argument after one that is of no use; they are separated by spaces, which arm64 has in
 * brackets, too. */
static const char *skip_argument(const char *text)
{
	bool inside = false;

	for (; *text && (inside || *text != ' '); text++)
		inside = *text == '[' || (inside && *text != ']');
	return text + (*text == ' ');
}

#define CODE_BEGIN 6u /* number of an argument */

static void find_code(const char *text, struct flat_probes *ret)
{
	for (unsigned i = 0; i < CODE_BEGIN; i++)
		text = skip_argument(text);
	if (!read_argument(text, &ret->code))
		ret->offset[FLAT_PROBE_CODE] = 0;
}

#define POOL_NAME 2u /* numbers of arguments */
#define POOL_USED 5u

/* Reads the arguments of a note about a pool. False: they are not as they should be. */
static bool read_pool(const char *text, uint32_t *ret_name, uint32_t *ret_used)
{
	uint32_t arguments[POOL_USED + 1];

	for (unsigned i = 0; i <= POOL_USED; i++) {
		const size_t len = read_argument(text, &arguments[i]);

		if (!len)
			return false;
		text += len;
		text += *text == ' ';
	}
	*ret_name = arguments[POOL_NAME];
	*ret_used = arguments[POOL_USED];
	return true;
}

static void find_arguments(const char *text, enum flat_probe probe, struct flat_probes *ret)
{
	const uint32_t after = probe - FLAT_PROBE_POOL_BEFORE;

	if (probe == FLAT_PROBE_CODE)
		find_code(text, ret);
	if (probe != FLAT_PROBE_POOL_BEFORE && probe != FLAT_PROBE_POOL_AFTER)
		return;
	if (!read_pool(text, &ret->pool_name[after], &ret->pool_used[after]))
		ret->offset[probe] = 0;
}

/* The first section of a name; NULL: there is none. */
static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *own =
			gelf_getshdr(section, ret) ? elf_strptr(elf, names, ret->sh_name) : NULL;

		if (own && strcmp(own, name) == 0)
			return section;
	}
	return NULL;
}

static void take_note(const struct place_search *s, const char *desc, size_t len, uint64_t base,
		      struct flat_probes *ret)
{
	struct sdt_head head;

	if (len <= sizeof(head))
		return;
	memcpy(&head, desc, sizeof(head));
	desc += sizeof(head);
	len -= sizeof(head);
	if (desc[len - 1])
		return;
	for (unsigned i = 0; i < ARRAY_LEN(notes); i++) {
		if (ret->offset[notes[i].probe] || len < notes[i].len ||
		    memcmp(desc, notes[i].text, notes[i].len) != 0)
			continue;
		ret->offset[notes[i].probe] = place_offset(s, head.at + base - head.base);
		find_arguments(len > notes[i].len ? desc + notes[i].len : "", notes[i].probe, ret);
	}
}

void usdt_find(const struct place_search *s, struct flat_probes *ret)
{
	GElf_Shdr base, header;
	Elf_Scn *section = find_section(s->elf, ".stapsdt.base", &base)
				   ? find_section(s->elf, ".note.stapsdt", &header)
				   : NULL;
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	size_t name, desc;
	GElf_Nhdr note;

	for (size_t at = 0, next; data && (next = gelf_getnote(data, at, &note, &name, &desc)) > 0;
	     at = next)
		if (note.n_type == SDT_TYPE)
			take_note(s, (const char *)data->d_buf + desc, note.n_descsz, base.sh_addr,
				  ret);
}
