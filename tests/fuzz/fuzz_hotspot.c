// SPDX-License-Identifier: Apache-2.0
/* A process that claims to be a JVM. The first byte chooses the layout; what follows are patches to
 * a working image, {u32 offset, u8 width, u64 value} each, or with 'r' in front a whole image. The
 * promise: it ends, and what it writes are well-formed lines that do not overlap. */
#include "dfg/bytes.h"
#include "dfg/request.h"
#include "fuzz/fuzz.h"
#include "lib/hsimage.h"

#define RANGES_MAX 4096

struct check {
	uint32_t lines;
	uint64_t bytes;
	uint64_t start[RANGES_MAX], end[RANGES_MAX];
};

static bool check_line(void *arg, const char *text, size_t len)
{
	struct check *c = arg;
	char line[DFG_NAME_MAX + 64], *p;
	uint64_t start, size;

	require(len < sizeof(line) && text[len - 1] == '\n');
	memcpy(line, text, len);
	line[len - 1] = '\0';
	start = strtoull(line, &p, 16);
	require(p > line && *p == ' ');
	size = strtoull(p + 1, &p, 16);
	require(*p == ' ' && size > 0 && start + size > start);
	require(strlen(p + 1) > 0 && strlen(p + 1) <= DFG_NAME_MAX);
	require(strlen(line) == len - 1);
	for (const char *n = p + 1; *n; n++)
		require((uint8_t)*n >= 0x20 && *n != 0x7f);
	for (uint32_t i = 0; i < c->lines; i++)
		require(start >= c->end[i] || start + size <= c->start[i]);
	c->start[c->lines] = start;
	c->end[c->lines++] = start + size;
	c->bytes += len;
	return c->lines < RANGES_MAX;
}

static void image_patch(struct image *im, struct bytes *b)
{
	while (b->len >= 13) {
		uint32_t offset = bytes_u32(b);
		uint8_t width = bytes_u8(b);
		uint64_t value = bytes_u64(b);

		memcpy(im->mem + offset % (IMAGE_BYTES - 8), &value, width % 9);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(16) uint8_t work[HS_WORK_BYTES];
	static struct image im;
	static struct check check;
	struct bytes b = bytes_of(data, size);
	uint8_t how = bytes_u8(&b);
	struct hs_source source = image_source(&im);
	struct hs_sink sink = {.write = check_line, .arg = &check};
	struct hs_result result;

	image_build(&im, (enum image_release)(how % IMAGE_RELEASES));
	if (how == 'r')
		memcpy(im.mem, b.p, b.len < IMAGE_BYTES ? b.len : IMAGE_BYTES);
	else
		image_patch(&im, &b);
	check.lines = 0;
	check.bytes = 0;
	hs_dump_map(&source, &sink, work, &result);
	require(result.status == DFG_DUMP_NO_SPACE ||
		(result.entries == check.lines && result.bytes == check.bytes));
	return 0;
}
