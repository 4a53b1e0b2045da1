// SPDX-License-Identifier: Apache-2.0
/* The dynamic symbols of an image in memory: both hash tables, addresses, spans, broken headers. */
#include <stddef.h>

#include "hotspot/hotspot.h"
#include "lib/elfimage.h"
#include "lib/tap.h"

static struct hs_elf elf;
static struct hs_source source = {.read = image_read};

static bool is_jvm(void)
{
	return hs_elf_open_jvm(&elf, &source, BASE);
}

static uint64_t symbol(const char *name)
{
	return hs_elf_symbol(&elf, name);
}

static void test_names(const char *how)
{
	ok(is_jvm(), "%s: an image with HotSpot's tables is opened", how);
	for (uint32_t i = 1; i < SYMBOLS; i++) {
		uint64_t want = image.symbols[i].st_value + BIAS;

		if (image.symbols[i].st_shndx == SHN_UNDEF || image.symbols[i].st_value == 0)
			want = 0;
		is_int(symbol(name_of[i]), want, "%s: the symbol %s is where it should be", how,
		       name_of[i]);
	}
	is_int(symbol(LONGEST), 0, "%s: a name of 64 characters is not searched", how);
	is_int(symbol("gHotSpotVM"), 0, "%s: the beginning of a name is not the name", how);
	is_int(symbol("lastly"), 0, "%s: a name that begins with another one is not found", how);
	is_int(symbol("none"), 0, "%s: a name that no symbol has is not found", how);
	image.dynamic[DYN_STRSZ].d_un.d_val--;
	ok(!is_jvm() || symbol(name_of[SYMBOLS - 1]) == 0,
	   "%s: a name that goes past the end of the names is not found", how);
	image.dynamic[DYN_STRSZ].d_un.d_val++;
}

/* glibc writes addresses into the dynamic section, musl leaves it as it is. */
static void test_tables(void)
{
	image_make();
	image.dynamic[DYN_SYSV].d_tag = DT_DEBUG;
	test_names("DT_GNU_HASH");
	image_make();
	image.dynamic[DYN_GNU].d_tag = DT_DEBUG;
	test_names("DT_HASH");
	image_make();
	for (unsigned i = 0; i < DYN_END; i++)
		if (i != DYN_STRSZ)
			image.dynamic[i].d_un.d_ptr += BIAS;
	test_names("both, moved");
}

static void test_chains(void)
{
	image_make();
	image.gnu_head[0] = 0;
	ok(!is_jvm(), "DT_GNU_HASH without buckets finds nothing");
	image_make();
	image.gnu_head[1] = SYMBOLS;
	ok(!is_jvm(), "a bucket of DT_GNU_HASH below the first symbol is empty");
	image_make();
	image.dynamic[DYN_GNU].d_tag = DT_DEBUG;
	image.sysv[0] = 0;
	ok(!is_jvm(), "DT_HASH without buckets finds nothing");
	image_make();
	image.dynamic[DYN_GNU].d_tag = DT_DEBUG;
	is_jvm();
	for (uint32_t i = 1; i < SYMBOLS; i++)
		image.sysv[2 + BUCKETS + i] = i;
	is_int(symbol("none"), 0, "a chain of DT_HASH that is a circle ends");
	for (uint32_t i = 0; i < BUCKETS; i++)
		image.sysv[2 + i] = SYMBOLS - 1;
	ok(symbol(name_of[SYMBOLS - 1]) != 0, "the last symbol of DT_HASH is in the table");
	image.sysv[1] = SYMBOLS - 1;
	is_int(symbol(name_of[SYMBOLS - 1]), 0, "a symbol after the last of DT_HASH is none");
}

static void test_spans(void)
{
	image_make();
	is_jvm();
	is_int(elf.bias, BIAS, "the first loaded part shows how far the image was moved");
	is_int(source.image.low, BASE, "the image begins with the lowest part");
	is_int(source.image.high, BIAS + 0x9500, "the image ends with the highest part");
	is_int(source.variables.low, BIAS + 0x9000, "variables begin with the writable part");
	is_int(source.variables.high, BIAS + 0x9500, "variables end with the writable part");
	image.ph[2].p_flags = PF_R;
	ok(is_jvm(), "an image without a writable part is opened");
	is_int(source.variables.low, 0, "variables begin nowhere if nothing is writable");
	is_int(source.variables.high, 0, "variables end nowhere if nothing is writable");
	image.eh.e_phnum = 64;
	ok(is_jvm(), "an image may have 64 program headers");
	image.eh.e_phnum = 65;
	ok(!is_jvm(), "an image of 65 program headers is refused");
}

/* One byte of the head at a time, then one entry of the dynamic section. */
static void test_broken(void)
{
	static const size_t head[] = {0, 1, 2, 3, EI_CLASS, offsetof(Elf64_Ehdr, e_phentsize)};
	static const struct {
		unsigned entry;
		const char *what;
	} lacks[] = {
		{DYN_SYMTAB, "symbols"}, {DYN_STRTAB, "names"}, {DYN_STRSZ, "the names' size"}};

	for (size_t i = 0; i < sizeof(head) / sizeof(*head); i++) {
		image_make();
		((uint8_t *)&image.eh)[head[i]]++;
		ok(!is_jvm(), "a head with another byte at %zu is refused", head[i]);
	}
	for (size_t i = 0; i < sizeof(lacks) / sizeof(*lacks); i++) {
		image_make();
		image.dynamic[lacks[i].entry].d_tag = DT_DEBUG;
		ok(!is_jvm(), "an image without %s is refused", lacks[i].what);
	}
	image_make();
	image.dynamic[DYN_GNU].d_tag = image.dynamic[DYN_SYSV].d_tag = DT_DEBUG;
	ok(!is_jvm(), "an image without a hash table is refused");
	image_make();
	image.dynamic[DYN_SYSV].d_tag = DT_NULL;
	image.dynamic[DYN_GNU].d_tag = DT_DEBUG;
	ok(!is_jvm(), "entries after the end of the dynamic section do not count");
	image_make();
	image.ph[1].p_type = image.ph[2].p_type = image.ph[3].p_type = PT_NOTE;
	ok(!is_jvm(), "an image without a loaded part is refused");
	image_make();
	image.ph[4].p_type = PT_NOTE;
	ok(!is_jvm(), "an image without a dynamic section is refused");
	image_make();
	image.eh.e_phoff = sizeof(image) - 8;
	ok(!is_jvm(), "program headers outside the image are refused");
	image_make();
	image.ph[4].p_vaddr = VADDR + sizeof(image) - 8;
	ok(!is_jvm(), "a dynamic section outside the image is refused");
	image_make();
	memcpy(image.names + sizeof(image.names) - DYN_END * sizeof(Elf64_Dyn), image.dynamic,
	       DYN_END * sizeof(Elf64_Dyn));
	image.ph[4].p_vaddr = VADDR + sizeof(image) - DYN_END * sizeof(Elf64_Dyn);
	ok(!is_jvm(), "a dynamic section without an end is refused");
	image_make();
	for (uint32_t i = 1; i < SYMBOLS; i++)
		if (strcmp(name_of[i], "gHotSpotVMStructs") == 0)
			image.symbols[i].st_value = 0;
	ok(!is_jvm(), "an image that has no gHotSpotVMStructs is no JVM");
	ok(!hs_elf_open_jvm(&elf, &source, BASE + sizeof(image)), "a hole is no JVM");
}

int main(void)
{
	test_tables();
	test_chains();
	test_spans();
	test_broken();
	return tap_done();
}
