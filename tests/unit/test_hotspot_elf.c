// SPDX-License-Identifier: Apache-2.0
/* The dynamic symbols of an image in memory: both hash tables, addresses, spans, broken headers. */
#include <elf.h>
#include <stddef.h>

#include "hotspot/hotspot.h"
#include "lib/tap.h"

#define BASE	0x7f1200000000ull
#define VADDR	0x2000u /* of the image's first byte, before it is moved */
#define BIAS	(BASE - VADDR)
#define SYMBOLS 7u
#define BUCKETS 3u
#define LONGEST "a_name_of_sixty_three_characters_is_the_longest_that_is_compared"

enum { UNDEFINED = 4, AT_ZERO };

/* By their number; the names of a bucket of DT_GNU_HASH follow one another. */
static const char *name_of[SYMBOLS] = {
	"", "gHotSpotVMStructs", "gHotSpotVMTypes", &LONGEST[1], "undefined", "at_zero", "last"};

static struct {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[65];
	Elf64_Dyn dynamic[10];
	Elf64_Sym symbols[SYMBOLS];
	uint32_t sysv[2 + BUCKETS + SYMBOLS];
	uint32_t gnu_head[4];
	uint64_t bloom[2];
	uint32_t gnu_buckets[BUCKETS], gnu_chain[SYMBOLS];
	char names[256];
} image;

enum { DYN_SYMTAB, DYN_STRTAB, DYN_STRSZ, DYN_GNU, DYN_SYSV, DYN_END };

static int64_t image_read(void *arg, uint64_t addr, void *buf, size_t len)
{
	(void)arg;
	if (addr < BASE || addr >= BASE + sizeof(image))
		return -1;
	if (len > BASE + sizeof(image) - addr)
		len = BASE + sizeof(image) - addr;
	memcpy(buf, (const char *)&image + (addr - BASE), len);
	return (int64_t)len;
}

/* The two hashes as the gABI and its GNU extension print them. */
static uint32_t sysv_hash(const char *name)
{
	uint32_t h = 0;

	for (; *name; name++) {
		uint32_t g;

		h = h * 16 + (unsigned char)*name;
		g = h & 0xf0000000;
		if (g)
			h ^= g >> 24;
		h &= ~g;
	}
	return h;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = (h << 5) + h + (unsigned char)*name;
	return h;
}

static int by_bucket(const void *a, const void *b)
{
	uint32_t x = gnu_hash(*(const char *const *)a) % BUCKETS;
	uint32_t y = gnu_hash(*(const char *const *)b) % BUCKETS;

	return x < y ? -1 : x > y;
}

static void hashes_make(void)
{
	image.sysv[0] = BUCKETS;
	image.sysv[1] = SYMBOLS;
	image.gnu_head[0] = BUCKETS;
	image.gnu_head[1] = 1;
	image.gnu_head[2] = sizeof(image.bloom) / sizeof(*image.bloom);
	for (uint32_t i = SYMBOLS - 1; i > 0; i--) {
		uint32_t bucket = sysv_hash(name_of[i]) % BUCKETS, hash = gnu_hash(name_of[i]);

		image.sysv[2 + BUCKETS + i] = image.sysv[2 + bucket];
		image.sysv[2 + bucket] = i;
		bucket = hash % BUCKETS;
		image.gnu_chain[i - 1] = image.gnu_buckets[bucket] ? hash & ~1u : hash | 1;
		image.gnu_buckets[bucket] = i;
	}
}

static void image_make(void)
{
	static const int64_t tag[] = {DT_SYMTAB, DT_STRTAB, DT_STRSZ, DT_GNU_HASH, DT_HASH};
	const uint64_t value[] = {VADDR + (uint64_t)((char *)image.symbols - (char *)&image),
				  VADDR + (uint64_t)(image.names - (char *)&image), 0,
				  VADDR + (uint64_t)((char *)image.gnu_head - (char *)&image),
				  VADDR + (uint64_t)((char *)image.sysv - (char *)&image)};
	size_t used = 1;

	memset(&image, 0, sizeof(image));
	image.eh = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
				.e_phoff = (uint64_t)((char *)image.ph - (char *)&image),
				.e_phentsize = sizeof(*image.ph),
				.e_phnum = 5};
	image.ph[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_vaddr = 1, .p_memsz = 1 << 30};
	image.ph[1] = (Elf64_Phdr){.p_type = PT_LOAD,
				   .p_flags = PF_R | PF_X,
				   .p_vaddr = VADDR + 0x1000,
				   .p_offset = 0x1000,
				   .p_memsz = 0x700};
	image.ph[2] = (Elf64_Phdr){.p_type = PT_LOAD,
				   .p_flags = PF_R | PF_W,
				   .p_vaddr = 0x9000,
				   .p_offset = 0x100,
				   .p_memsz = 0x500};
	image.ph[3] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = VADDR, .p_memsz = 0x300};
	image.ph[4] =
		(Elf64_Phdr){.p_type = PT_DYNAMIC,
			     .p_flags = PF_W,
			     .p_vaddr = VADDR + (uint64_t)((char *)image.dynamic - (char *)&image)};
	for (uint32_t i = 1; i < SYMBOLS; i++) {
		image.symbols[i] = (Elf64_Sym){.st_name = (uint32_t)used,
					       .st_shndx = i == UNDEFINED ? SHN_UNDEF : 1,
					       .st_value = i == AT_ZERO ? 0 : 0x9000 + i};
		strcpy(image.names + used, name_of[i]);
		used += strlen(name_of[i]) + 1;
	}
	for (size_t i = 0; i < DYN_END; i++)
		image.dynamic[i] = (Elf64_Dyn){tag[i], {value[i]}};
	image.dynamic[DYN_STRSZ].d_un.d_val = used;
	hashes_make();
}

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
	qsort(name_of + 1, SYMBOLS - 1, sizeof(*name_of), by_bucket);
	test_tables();
	test_chains();
	test_spans();
	test_broken();
	return tap_done();
}
