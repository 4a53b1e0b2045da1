// SPDX-License-Identifier: Apache-2.0
#include "dfg/request.h"
#include "lib/hssnap.h"
#include "lib/tap.h"

static struct snap_image s;
static struct hs_result result;
static size_t length;

static bool take(void *arg, const char *record, size_t len)
{
	(void)arg;
	(void)record;
	length += len;
	return true;
}

static void *work_of(void)
{
	static void *work;

	if (!work)
		work = aligned_alloc(4096, HS_WORK_BYTES);
	return work;
}

static void dump(void)
{
	struct hs_source source = image_source(&s.im);
	struct hs_sink sink = {.write = take};

	length = 0;
	hs_dump_snapshot(&source, &sink, work_of(), &result);
}

/* The name of an entry of the table, in the image. */
static char *entry_name(unsigned i, int column)
{
	uint64_t name;

	memcpy(&name, image_at(&s.im, s.im.structs + i * IM_STRIDE + (unsigned)column),
	       sizeof(name));
	return name ? (char *)image_at(&s.im, name) : NULL;
}

static bool is_missing(char ret[HS_MISSING_MAX])
{
	struct hs_source source = image_source(&s.im);

	return hs_missing(&source, work_of(), ret);
}

/* Each entry in turn has another name: what is said to be missing is it, or what stands for it. */
static void test_missing(void)
{
	unsigned lacks = 0, wrong = 0;
	char missing[HS_MISSING_MAX];

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		for (unsigned i = 0;; i++) {
			char *field, name[HS_MISSING_MAX];

			snap_image_build(&s, (enum image_release)r);
			field = entry_name(i, IM_FIELD);
			if (!field)
				break;
			snprintf(name, sizeof(name), "%s::%s", entry_name(i, IM_TYPE), field);
			*field = 'X';
			dump();
			if (is_missing(missing) != (result.status == DFG_DUMP_NO_TABLES ||
						    result.status == DFG_DUMP_PARTLY))
				wrong++;
			lacks += strcmp(missing, name) == 0;
			if (result.status == DFG_DUMP_NO_TABLES && length != 0)
				wrong++;
		}
	}
	is_int(wrong, 0, "a missing entry is said where there is one, and only there");
	ok(lacks >= 75, "%u entries by their own name", lacks);
	snap_image_build(&s, IMAGE_25);
	s.im.symbols = 0;
	ok(is_missing(missing), "no table at all");
	is_str(missing, "gHotSpotVMStructs or gHotSpotVMTypes", "is named, too");
	for (unsigned i = 0; i < 2; i++) {
		uint64_t at;

		snap_image_build(&s, IMAGE_25);
		at = image_find(&s.im, i ? "gHotSpotVMTypes" : "gHotSpotVMStructs");
		image_set(&s.im, at, 0, 8);
		ok(is_missing(missing), "a table that is nowhere is missing");
		is_str(missing, "gHotSpotVMStructs or gHotSpotVMTypes", "it is named as well");
	}
	for (unsigned i = 0; i < 32; i++) {
		uint64_t at = s.im.types + i * IM_TYPE_STRIDE, name;

		memcpy(&name, image_at(&s.im, at + IM_TYPE_NAME), sizeof(name));
		if (name && strcmp((char *)image_at(&s.im, name), "PcDesc") == 0)
			image_set(&s.im, at + IM_TYPE_SIZE, 0, 8);
	}
	image_set(&s.im, image_find(&s.im, "gHotSpotVMTypes"), s.im.types, 8);
	ok(is_missing(missing), "a size of 0 is missing");
	is_str(missing, "the size of HeapBlock, ConstantPool or PcDesc", "it is named");
	snap_image_build(&s, IMAGE_25);
	ok(!is_missing(missing), "of whole tables nothing is missing");
	is_str(missing, "", "which has no name");
}

int main(void)
{
	test_missing();
	return tap_done();
}
