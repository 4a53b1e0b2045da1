/* SPDX-License-Identifier: Apache-2.0 */
/* A HotSpot made up in one piece of memory: tables, two code heaps, methods with names. Field
 * offsets, strides and widths are unlike any real release's, so that a reader that knows an offset
 * by heart fails. Everything around the piece is a hole. */
#ifndef HSIMAGE_H
#define HSIMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hotspot/hotspot.h"
#include "hotspot/tables.h"

#define IMAGE_BASE  0x7f0000000000ull
#define IMAGE_BYTES (192u << 10)
#define IMAGE_SEG   7 /* log2 of a segment */
#define IMAGE_HEAP  (16u << 10)

enum image_release { IMAGE_8, IMAGE_17, IMAGE_25, IMAGE_RELEASES };

struct image {
	enum image_release release;
	uint32_t used;
	uint32_t reads;
	/* Called before each read: a test changes memory under the reader's feet. */
	void (*before_read)(struct image *, uint64_t addr, size_t len);
	struct {
		const char *name;
		uint64_t addr;
	} symbol[16];
	unsigned symbols;
	/* For tests that break something on purpose: addresses. */
	uint64_t structs, types, heaps, heap[2], heap_low[2], segmap[2], array, array_data;
	uint64_t method, const_method, pool, klass, klass_symbol, name_symbol;
	uint64_t block[4]; /* nmethod, native nmethod, stub, free: in the first heap */
	uint8_t mem[IMAGE_BYTES];
};

/* Layout of the made-up release: offsets of what is in an object. */
enum {
	IM_STRIDE = 72,
	IM_TYPE = 8,
	IM_FIELD = 24,
	IM_TEXT = 0,
	IM_STATIC = 20,
	IM_OFFSET = 48,
	IM_ADDRESS = 64,
	IM_TYPE_STRIDE = 40,
	IM_TYPE_NAME = 16,
	IM_TYPE_SIZE = 32,
	IM_HEADER = 24,	     /* sizeof(HeapBlock) */
	IM_POOL_HEADER = 56, /* sizeof(ConstantPool) */
	IM_BLOB = 176,	     /* code begins here */
};

static inline uint8_t *image_at(struct image *im, uint64_t addr)
{
	return im->mem + (addr - IMAGE_BASE);
}

static inline void image_set(struct image *im, uint64_t addr, uint64_t value, size_t width)
{
	memcpy(image_at(im, addr), &value, width);
}

static inline uint64_t image_pointer(struct image *im, uint64_t addr)
{
	uint64_t p;

	memcpy(&p, image_at(im, addr), sizeof(p));
	return p;
}

static inline uint64_t image_new(struct image *im, size_t size)
{
	uint64_t addr = IMAGE_BASE + im->used;

	im->used += (uint32_t)((size + 15) & ~(size_t)15);
	if (im->used > IMAGE_BYTES)
		abort();
	return addr;
}

static inline uint64_t image_text(struct image *im, const char *text)
{
	uint64_t addr = image_new(im, strlen(text) + 1);

	memcpy(image_at(im, addr), text, strlen(text) + 1);
	return addr;
}

static inline void image_variable(struct image *im, const char *name, uint64_t value)
{
	uint64_t addr = image_new(im, 8);

	image_set(im, addr, value, 8);
	im->symbol[im->symbols].name = name;
	im->symbol[im->symbols++].addr = addr;
}

struct image_field {
	const char *type, *field, *text;
	uint64_t offset; /* or address */
	bool is_static;
};

static inline void image_add_field(struct image *im, unsigned i, const struct image_field *f)
{
	uint64_t e = im->structs + i * IM_STRIDE;

	image_set(im, e + IM_TYPE, image_text(im, f->type), 8);
	image_set(im, e + IM_FIELD, image_text(im, f->field), 8);
	image_set(im, e + IM_TEXT, f->text ? image_text(im, f->text) : 0, 8);
	image_set(im, e + IM_STATIC, f->is_static, 4);
	image_set(im, e + (f->is_static ? IM_ADDRESS : IM_OFFSET), f->offset, 8);
}

static inline unsigned image_add_fields(struct image *im, unsigned at, const struct image_field *f,
					size_t n)
{
	for (size_t i = 0; i < n; i++)
		image_add_field(im, at + (unsigned)i, &f[i]);
	return at + (unsigned)n;
}

static inline void image_structs(struct image *im)
{
	const struct image_field common[] = {
		{"Universe", "_heap", "CollectedHeap*", 0x1234, true}, /* not ours */
		{"CodeHeap", "_memory", "VirtualSpace", 40, false},
		{"CodeHeap", "_segmap", "VirtualSpace", 104, false},
		{"CodeHeap", "_log2_segment_size", "int", 12, false},
		{"VirtualSpace", "_low", "char*", 32, false},
		{"VirtualSpace", "_high", "char*", 16, false},
		{"HeapBlock::Header", "_length", im->release == IMAGE_25 ? "uint32_t" : "size_t", 8,
		 false},
		{"HeapBlock::Header", "_used", "bool", 3, false},
		{"CodeBlob", "_name", "const char*", 16, false},
		{"CodeBlob", "_size", "int", 44, false},
		{"Method", "_constMethod", "ConstMethod*", 24, false},
		{"ConstMethod", "_constants", "ConstantPool*", 16, false},
		{"ConstMethod", "_name_index", "u2", 42, false},
		{"ConstMethod", "_signature_index", "u2", 30, false},
		{"ConstantPool", "_pool_holder", "InstanceKlass*", 32, false},
		{"ConstantPool", "_length", "int", 12, false},
		{"Klass", "_name", "Symbol*", 88, false},
		{"Symbol", im->release == IMAGE_8 ? "_body" : "_body[0]", NULL, 9, false},
	};
	const struct image_field jdk8[] = {
		{"CodeCache", "_heap", "CodeHeap*", im->heaps, true},
		{"CodeBlob", "_code_offset", "int", 52, false},
		{"CodeBlob", "_data_offset", "int", 60, false},
		{"nmethod", "_method", "Method*", 120, false},
		{"Symbol", "_length", "unsigned short", 4, false},
	};
	const struct image_field jdk17[] = {
		{"CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", im->heaps, true},
		{"GenericGrowableArray", "_len", "int", 4, false},
		{"GrowableArray<int>", "_data", "int*", 24, false},
		{"CodeBlob", "_code_begin", "address", 56, false},
		{"CodeBlob", "_code_end", "address", 72, false},
		{"CompiledMethod", "_method", "Method*", 128, false},
		{"Symbol", "_length_and_refcount", "volatile uint", 4, false},
	};
	const struct image_field jdk25[] = {
		{"CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", im->heaps, true},
		{"GrowableArrayBase", "_len", "int", 4, false},
		{"GrowableArray<int>", "_data", "int*", 24, false},
		{"CodeBlob", "_code_offset", "u2", 50, false},
		{"CodeBlob", "_data_offset", "int", 60, false},
		{"nmethod", "_method", "Method*", 112, false},
		{"Symbol", "_length", "u2", 4, false},
	};
	unsigned n;

	im->structs = image_new(im, 40 * IM_STRIDE);
	n = image_add_fields(im, 0, common, sizeof(common) / sizeof(*common));
	if (im->release == IMAGE_8)
		image_add_fields(im, n, jdk8, sizeof(jdk8) / sizeof(*jdk8));
	else if (im->release == IMAGE_17)
		image_add_fields(im, n, jdk17, sizeof(jdk17) / sizeof(*jdk17));
	else
		image_add_fields(im, n, jdk25, sizeof(jdk25) / sizeof(*jdk25));
	image_variable(im, "gHotSpotVMStructs", im->structs);
	image_variable(im, "gHotSpotVMStructEntryArrayStride", IM_STRIDE);
	image_variable(im, "gHotSpotVMStructEntryTypeNameOffset", IM_TYPE);
	image_variable(im, "gHotSpotVMStructEntryFieldNameOffset", IM_FIELD);
	image_variable(im, "gHotSpotVMStructEntryTypeStringOffset", IM_TEXT);
	image_variable(im, "gHotSpotVMStructEntryIsStaticOffset", IM_STATIC);
	image_variable(im, "gHotSpotVMStructEntryOffsetOffset", IM_OFFSET);
	image_variable(im, "gHotSpotVMStructEntryAddressOffset", IM_ADDRESS);
}

static inline void image_types(struct image *im)
{
	const struct {
		const char *name;
		uint64_t size;
	} type[] = {
		{"int", 4},
		{"u2", 2},
		{"uint", 4},
		{"size_t", 8},
		{"uint32_t", 4},
		{"bool", 1},
		{"address", 8},
		{"unsigned short", 2},
		{"HeapBlock", IM_HEADER},
		{"ConstantPool", IM_POOL_HEADER},
		{"Klass", 200},
		{"CodeHeap", 192},
	};

	im->types = image_new(im, 16 * IM_TYPE_STRIDE);
	for (unsigned i = 0; i < sizeof(type) / sizeof(*type); i++) {
		uint64_t e = im->types + i * IM_TYPE_STRIDE;

		image_set(im, e + IM_TYPE_NAME, image_text(im, type[i].name), 8);
		image_set(im, e + IM_TYPE_SIZE, type[i].size, 8);
	}
	image_variable(im, "gHotSpotVMTypes", im->types);
	image_variable(im, "gHotSpotVMTypeEntryArrayStride", IM_TYPE_STRIDE);
	image_variable(im, "gHotSpotVMTypeEntryTypeNameOffset", IM_TYPE_NAME);
	image_variable(im, "gHotSpotVMTypeEntrySizeOffset", IM_TYPE_SIZE);
}

static inline uint64_t image_symbol(struct image *im, const char *text)
{
	size_t len = strlen(text);
	uint64_t addr = image_new(im, 16 + len);

	if (im->release == IMAGE_17)
		image_set(im, addr + 4, (uint64_t)len << 16 | 77, 4);
	else
		image_set(im, addr + 4, len, 2);
	memcpy(image_at(im, addr + 9), text, len);
	return addr;
}

static inline uint64_t image_method(struct image *im, const char *klass, const char *name)
{
	im->method = image_new(im, 64);
	im->const_method = image_new(im, 64);
	im->pool = image_new(im, IM_POOL_HEADER + 8 * 8);
	im->klass = image_new(im, 128);
	im->klass_symbol = image_symbol(im, klass);
	im->name_symbol = image_symbol(im, name);
	image_set(im, im->method + 24, im->const_method, 8);
	image_set(im, im->const_method + 16, im->pool, 8);
	image_set(im, im->const_method + 42, 5, 2);
	image_set(im, im->const_method + 30, 6, 2);
	image_set(im, im->pool + 12, 8, 4);
	image_set(im, im->pool + 32, im->klass, 8);
	image_set(im, im->pool + IM_POOL_HEADER + 5 * 8, im->name_symbol, 8);
	image_set(im, im->pool + IM_POOL_HEADER + 6 * 8, image_symbol(im, "(I)V"), 8);
	image_set(im, im->klass + 88, im->klass_symbol, 8);
	return im->method;
}

/* A block of `segs` segments at segment `seg` of heap h; name NULL: free. Its code is 100 bytes. */
static inline uint64_t image_block(struct image *im, unsigned h, unsigned seg, unsigned segs,
				   const char *name, uint64_t method)
{
	uint64_t block = im->heap_low[h] + (uint64_t)(seg << IMAGE_SEG);
	uint64_t blob = block + IM_HEADER;

	memset(image_at(im, im->segmap[h] + seg), 1, segs);
	image_set(im, im->segmap[h] + seg, 0, 1);
	image_set(im, block + 8, segs, im->release == IMAGE_25 ? 4 : 8);
	image_set(im, block + 3, name != NULL, 1);
	if (!name)
		return block;
	image_set(im, blob + 16, image_text(im, name), 8);
	image_set(im, blob + 44, (segs << IMAGE_SEG) - IM_HEADER, 4);
	if (im->release == IMAGE_17) {
		image_set(im, blob + 56, blob + IM_BLOB, 8);
		image_set(im, blob + 72, blob + IM_BLOB + 100, 8);
		image_set(im, blob + 128, method, 8);
		return block;
	}
	image_set(im, blob + (im->release == IMAGE_8 ? 52 : 50), IM_BLOB, 2);
	image_set(im, blob + 60, IM_BLOB + 100, 4);
	image_set(im, blob + (im->release == IMAGE_8 ? 120 : 112), method, 8);
	return block;
}

static inline void image_heap(struct image *im, unsigned h)
{
	im->heap[h] = image_new(im, 192);
	im->segmap[h] = image_new(im, IMAGE_HEAP >> IMAGE_SEG);
	im->used = (im->used + 4095) & ~4095u;
	im->heap_low[h] = image_new(im, IMAGE_HEAP);
	memset(image_at(im, im->segmap[h]), 0xff, IMAGE_HEAP >> IMAGE_SEG);
	image_set(im, im->heap[h] + 40 + 32, im->heap_low[h], 8);
	image_set(im, im->heap[h] + 40 + 16, im->heap_low[h] + IMAGE_HEAP, 8);
	image_set(im, im->heap[h] + 104 + 32, im->segmap[h], 8);
	image_set(im, im->heap[h] + 104 + 16, im->segmap[h] + (IMAGE_HEAP >> IMAGE_SEG), 8);
	image_set(im, im->heap[h] + 12, IMAGE_SEG, 4);
}

/* The map of it, in this order:
 *	com.example.Main.run, sun.misc.Unsafe.park, Stub_Routines (1), java.util.Map.get
 * (release 8 has one heap, and no Map.get). */
static inline void image_build(struct image *im, enum image_release release)
{
	memset(im, 0, sizeof(*im));
	im->release = release;
	im->used = 64;
	im->heaps = image_new(im, 8);
	image_structs(im);
	image_types(im);
	image_heap(im, 0);
	image_heap(im, 1);
	if (release == IMAGE_8) {
		image_set(im, im->heaps, im->heap[0], 8);
	} else {
		im->array = image_new(im, 32);
		im->array_data = image_new(im, 16);
		image_set(im, im->heaps, im->array, 8);
		image_set(im, im->array + 4, 2, 4);
		image_set(im, im->array + 24, im->array_data, 8);
		image_set(im, im->array_data, im->heap[0], 8);
		image_set(im, im->array_data + 8, im->heap[1], 8);
	}
	image_block(im, 1, 0, 4, "nmethod", image_method(im, "java/util/Map", "get"));
	im->block[1] = image_block(im, 0, 7, 4, "native nmethod",
				   image_method(im, "sun/misc/Unsafe", "park"));
	im->block[3] = image_block(im, 0, 4, 3, NULL, 0);
	im->block[2] = image_block(im, 0, 11, 9, "Stub.Routines (1)", 0);
	im->block[0] =
		image_block(im, 0, 0, 4, "nmethod", image_method(im, "com/example/Main", "run"));
}

static inline int64_t image_read(void *arg, uint64_t addr, void *buf, size_t len)
{
	struct image *im = arg;

	im->reads++;
	if (im->before_read)
		im->before_read(im, addr, len);
	if (addr < IMAGE_BASE || addr >= IMAGE_BASE + IMAGE_BYTES)
		return -1;
	if (len > IMAGE_BASE + IMAGE_BYTES - addr)
		len = IMAGE_BASE + IMAGE_BYTES - addr;
	memcpy(buf, image_at(im, addr), len);
	return (int64_t)len;
}

static inline size_t image_gather(void *arg, const uint64_t *addr, size_t n, void *buf, size_t len)
{
	size_t i = 0;

	while (i < n && image_read(arg, addr[i], (uint8_t *)buf + i * len, len) == (int64_t)len)
		i++;
	return i;
}

static inline uint64_t image_find(void *arg, const char *name)
{
	const struct image *im = arg;

	for (unsigned i = 0; i < im->symbols; i++)
		if (strcmp(im->symbol[i].name, name) == 0)
			return im->symbol[i].addr;
	return 0;
}

static inline struct hs_source image_source(struct image *im)
{
	return (struct hs_source){.read = image_read,
				  .gather = image_gather,
				  .arg = im,
				  .symbol = image_find,
				  .symbol_arg = im};
}

/* Reads the tables of an image into `hs`, which has it as its source, with a window of `len` bytes.
 */
static inline void image_tables(struct image *im, struct hs *hs, void *window, size_t len)
{
	static struct hs_source source;

	source = image_source(im);
	hs_mem_init(&hs->mem, &source, window, len);
	if (!hs_tables_read(hs))
		abort();
}

/* Returns work memory for one dump, full of bytes that nobody set. */
static inline void *image_work(void)
{
	static void *work;

	if (!work)
		work = aligned_alloc(16, HS_WORK_BYTES);
	memset(work, 0xa5, HS_WORK_BYTES);
	return work;
}

#endif
