// SPDX-License-Identifier: Apache-2.0
/* An ELF image in the memory of a process: the dynamic symbols of what claims to be libjvm. The
 * first byte chooses the hash tables that a working image has; what follows are patches to it,
 * {u16 offset, u8 width, u64 value} each, or with 'r' in front a whole image. */
#include "hotspot/hotspot.h"

#include "dfg/bytes.h"
#include "fuzz/fuzz.h"
#include "lib/elfimage.h"

static unsigned reads;

static int64_t counted_read(void *arg, uint64_t addr, void *buf, size_t len)
{
	reads++;
	return image_read(arg, addr, buf, len);
}

static void image_patch(struct bytes *b)
{
	while (b->len >= 11) {
		uint16_t offset = bytes_u16(b);
		uint8_t width = bytes_u8(b);
		uint64_t value = bytes_u64(b);

		memcpy((uint8_t *)&image + offset % (sizeof(image) - 8), &value, width % 9);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hs_source source = {.read = counted_read};
	struct bytes b = bytes_of(data, size);
	uint8_t how = bytes_u8(&b);
	struct hs_elf elf;

	image_make();
	if (how & 1)
		image.dynamic[DYN_GNU].d_tag = DT_DEBUG;
	if (how == 'r')
		memcpy(&image, b.p, b.len < sizeof(image) ? b.len : sizeof(image));
	else
		image_patch(&b);
	reads = 0;
	if (hs_elf_open_jvm(&elf, &source, BASE)) {
		hs_elf_symbol(&elf, name_of[SYMBOLS - 1]);
		hs_elf_symbol(&elf, "none");
	}
	/* Headers, the dynamic section, and of each of three names a chain of symbols. */
	require(reads <= 1 + 64 + 256 + 3 * (2 + 3 * 4096));
	return 0;
}
