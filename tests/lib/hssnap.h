/* SPDX-License-Identifier: Apache-2.0 */
/* hsimage.h's HotSpot with what a snapshot needs on top: a compiled method with inlined ones, line
 * numbers, loaded classes, flags. Again no offset is like any real release's.
 *
 *	com.example.Main.run (Main.java)    bci 4 line 12: inlines
 *	com.example.Util.map (Util.java)    bci 7 line 300: inlines
 *	com.example.Util.get (Util.java)    bci -1 line 40
 */
#ifndef HSSNAP_H
#define HSSNAP_H

#include <stdio.h>

#include "dfg/snapshot.h"
#include "hotspot/code_heap.h"
#include "lib/hsimage.h"

enum {
	SNAP_IM_FIELDS = 110,
	SNAP_IM_PC_DESC = 20,
	SNAP_IM_CONST_METHOD = 56,
	SNAP_IM_FLAG = 40,
	SNAP_IM_FLAGS = 7,
	SNAP_IM_METADATA = 280, /* in the blob, up to 22 */
	SNAP_IM_SCOPES = 304,
	SNAP_IM_PCS = 344,
	SNAP_IM_PC_COUNT = 7,
};

/* For tests that break something on purpose: addresses. */
struct snap_image {
	struct image im;
	uint64_t run, map, get, idle; /* Method* */
	uint64_t scopes, pcs, metadata;
	uint64_t place[3]; /* of the scopes, in the scopes' data */
	uint64_t loaders;  /* where the address of the first stands */
	uint64_t loader, klass, methods;
	uint64_t preserve_fp, non_safepoints, compiler; /* bytes */
	uint64_t flags, flag_count;			/* where they stand */
	unsigned flags_used;
};

static inline unsigned snap_image_fields(struct image *im, unsigned n, uint64_t head, uint64_t jdk,
					 uint64_t flags, uint64_t flag_count)
{
	bool old = im->release == IMAGE_8, new = im->release == IMAGE_25;
	const char *flag = old ? "Flag" : "JVMFlag";
	const struct image_field common[] = {
		{"CodeBlob", "_frame_size", "int", 24, false},
		{"CodeBlob", "_frame_complete_offset", new ? "int16_t" : "int", 28, false},
		{"nmethod", "_compile_id", "int", 136, false},
		{"nmethod", "_comp_level", old ? "int" : "CompLevel", 140, false},
		{"nmethod", "_orig_pc_offset", "int", 144, false},
		{"nmethod", "_scopes_pcs_offset", "int", 4, false},
		{"PcDesc", "_pc_offset", "int", 4, false},
		{"PcDesc", "_scope_decode_offset", "int", 12, false},
		{"Method", "_method_counters", "MethodCounters*", 40, false},
		{"Method", "_code", "nmethod*", 48, false},
		{"ConstMethod", new ? "_flags._flags" : "_flags", new ? "u4" : "u2", 48, false},
		{"ConstMethod", "_code_size", "u2", 46, false},
		{"Klass", "_layout_helper", "jint", 48, false},
		{"InstanceKlass", "_methods", "Array<Method*>*", 56, false},
		{"Array<int>", "_length", "int", 4, false},
		{"Array<Method*>", "_data", NULL, 16, false},
		{old ? "InstanceKlass" : "ConstantPool", "_source_file_name_index", "u2",
		 old ? 96 : 20, false},
		{"StubRoutines", "_call_stub_return_address", "address", head, true},
		{flag, "_name", "const char*", 8, false},
		{flag, "_addr", NULL, 24, false},
		{flag, "flags", "JVMFlag*", flags, true},
		{flag, "numFlags", "size_t", flag_count, true},
	};
	const struct image_field classes[] = {
		{"ClassLoaderDataGraph", "_head", "ClassLoaderData*", head + 8, true},
		{"ClassLoaderData", "_next", "ClassLoaderData*", 8, false},
		{"ClassLoaderData", "_klasses", "Klass*", 16, false},
		{"Klass", "_next_link", "Klass*", 40, false},
	};
	const struct image_field jdk8[] = {
		{"SystemDictionary", "_well_known_klasses[SystemDictionary::Object_klass_knum]",
		 "Klass*", head + 8, true},
		{"Klass", "_super", "Klass*", 64, false},
		{"Klass", "_subklass", "Klass*", 72, false},
		{"Klass", "_next_sibling", "Klass*", 80, false},
		{"nmethod", "_scopes_data_offset", "int", 148, false},
		{"nmethod", "_deoptimize_offset", "int", 108, false},
		{"nmethod", "_verified_entry_point", "address", 152, false},
		{"nmethod", "_metadata_offset", "int", 0, false},
		{"nmethod", "_dependencies_offset", "int", 8, false},
		{"JDK_Version", "_current", "JDK_Version", jdk, true},
		{"JDK_Version", "_major", "unsigned char", 2, false},
	};
	const struct image_field jdk17[] = {
		{"CompiledMethod", "_scopes_data_begin", "address", 160, false},
		{"CompiledMethod", "_deopt_handler_begin", "address", 168, false},
		{"nmethod", "_verified_entry_point", "address", 152, false},
		{"nmethod", "_metadata_offset", "int", 0, false},
		{"nmethod", "_dependencies_offset", "int", 8, false},
		{"JDK_Version", "_current", "JDK_Version", jdk, true},
		{"JDK_Version", "_major", "unsigned char", 2, false},
	};
	const struct image_field jdk25[] = {
		{"nmethod", "_scopes_data_offset", "int", 148, false},
		{"nmethod", "_deopt_handler_offset", "int", 108, false},
		{"nmethod", "_verified_entry_offset", "u2", 32, false},
		{"nmethod", "_immutable_data", "address", 96, false},
		{"nmethod", "_immutable_data_size", "int", 104, false},
		{"CodeBlob", "_mutable_data", "address", 80, false},
		{"CodeBlob", "_mutable_data_size", "int", 88, false},
		{"CodeBlob", "_relocation_size", "int", 92, false},
		{"Abstract_VM_Version", "_vm_major_version", "int", jdk, true},
	};

	n = image_add_fields(im, n, common, sizeof(common) / sizeof(*common));
	if (old)
		return image_add_fields(im, n, jdk8, sizeof(jdk8) / sizeof(*jdk8));
	n = image_add_fields(im, n, classes, sizeof(classes) / sizeof(*classes));
	if (new)
		return image_add_fields(im, n, jdk25, sizeof(jdk25) / sizeof(*jdk25));
	return image_add_fields(im, n, jdk17, sizeof(jdk17) / sizeof(*jdk17));
}

static inline void snap_image_add_type(struct image *im, unsigned at, const char *name,
				       uint64_t size)
{
	uint64_t e = im->types + at * IM_TYPE_STRIDE;

	image_set(im, e + IM_TYPE_NAME, image_text(im, name), 8);
	image_set(im, e + IM_TYPE_SIZE, size, 8);
}

static inline void snap_image_types(struct image *im)
{
	static const struct {
		const char *name;
		uint64_t size;
	} type[] = {
		{"PcDesc", SNAP_IM_PC_DESC},
		{"ConstMethod", SNAP_IM_CONST_METHOD},
		{"JVMFlag", SNAP_IM_FLAG},
		{"Flag", SNAP_IM_FLAG},
		{"CompLevel", 1},
		{"int16_t", 2},
		{"jint", 4},
		{"u4", 4},
		{"unsigned char", 1},
	};
	uint64_t old = im->types;
	unsigned n = 0;

	im->types = image_new(im, 32 * IM_TYPE_STRIDE);
	for (uint64_t name;
	     memcpy(&name, image_at(im, old + n * IM_TYPE_STRIDE + IM_TYPE_NAME), 8), name != 0;
	     n++)
		memcpy(image_at(im, im->types + n * IM_TYPE_STRIDE),
		       image_at(im, old + n * IM_TYPE_STRIDE), IM_TYPE_STRIDE);
	for (unsigned i = 0; i < sizeof(type) / sizeof(*type); i++)
		snap_image_add_type(im, n++, type[i].name, type[i].size);
	image_set(im, image_find(im, "gHotSpotVMTypes"), im->types, 8);
}

/* Packs a number as the release does; returns after it. */
static inline uint8_t *snap_image_pack(const struct image *im, uint8_t *p, uint32_t n)
{
	uint32_t base = im->release == IMAGE_25, low = 192 - base;

	for (int i = 0; i < 4 && n >= low; i++) {
		n -= low;
		*p++ = (uint8_t)(192 + n % 64);
		n /= 64;
	}
	*p++ = (uint8_t)(n + base);
	return p;
}

static inline uint64_t snap_image_method(struct snap_image *s, const char *klass, const char *name,
					 const char *file, const uint8_t *lines, size_t len)
{
	struct image *im = &s->im;
	bool new = im->release == IMAGE_25;
	uint64_t method = image_method(im, klass, name), cm;

	cm = image_new(im, SNAP_IM_CONST_METHOD + 20 + len + 1);
	memcpy(image_at(im, cm), image_at(im, im->const_method), 48);
	im->const_method = cm;
	image_set(im, method + 24, cm, 8);
	image_set(im, cm + 48, 1, new ? 4 : 2);
	image_set(im, cm + 46, 20, 2);
	memcpy(image_at(im, cm + SNAP_IM_CONST_METHOD + 20), lines, len);
	image_set(im, im->pool + IM_POOL_HEADER + 7 * 8, image_symbol(im, file), 8);
	if (im->release == IMAGE_8)
		image_set(im, im->klass + 96, 7, 2);
	else
		image_set(im, im->pool + 20, 7, 2);
	return method;
}

static inline void snap_image_methods(struct snap_image *s)
{
	struct image *im = &s->im;
	/* bci + 0 line + 5 (in one byte), bci + 4 line + 7, bci + 6 line + 1 */
	static const uint8_t short_lines[] = {5, 4 << 3 | 7, 6 << 3 | 1};
	uint8_t lines[32], *p = lines;

	/* Each step is escaped: bci + 6, line + 300; bci - 2, line - 20; both signed. */
	*p++ = 0xff;
	p = snap_image_pack(im, p, 12);
	p = snap_image_pack(im, p, 600);
	*p++ = 0xff;
	p = snap_image_pack(im, p, 3);
	p = snap_image_pack(im, p, 39);
	s->run = snap_image_method(s, "com/example/Main", "run", "Main.java", short_lines,
				   sizeof(short_lines));
	s->map = snap_image_method(s, "com/example/Util", "map", "Util.java", lines,
				   (size_t)(p - lines));
	p = lines;
	*p++ = 0xff;
	p = snap_image_pack(im, p, 0);
	p = snap_image_pack(im, p, 80);
	s->get = snap_image_method(s, "com/example/Util", "get", "Util.java", lines,
				   (size_t)(p - lines));
	s->idle = snap_image_method(s, "com/example/Idle", "never", "Idle.java", lines, 0);
}

/* sender, method, bci */
static inline uint64_t snap_image_scope(struct snap_image *s, uint8_t **p, uint64_t sender,
					uint32_t method, int bci)
{
	uint64_t place = (uint64_t)(*p - image_at(&s->im, s->scopes));

	*p = snap_image_pack(&s->im, *p, (uint32_t)sender);
	*p = snap_image_pack(&s->im, *p, method);
	*p = snap_image_pack(&s->im, *p, (uint32_t)(bci + 1));
	return place;
}

static inline void snap_image_set_pc(struct snap_image *s, unsigned i, uint32_t pc, uint64_t place)
{
	image_set(&s->im, s->pcs + i * SNAP_IM_PC_DESC + 4, pc, 4);
	image_set(&s->im, s->pcs + i * SNAP_IM_PC_DESC + 12, place, 4);
}

static inline void snap_image_debug(struct snap_image *s)
{
	const uint64_t method[] = {s->run, s->map, s->get};
	uint8_t *p = image_at(&s->im, s->scopes) + 1;
	uint64_t again;

	for (unsigned i = 0; i < 3; i++)
		image_set(&s->im, s->metadata + i * 8, method[i], 8);
	s->place[0] = snap_image_scope(s, &p, 0, 1, 4);
	s->place[1] = snap_image_scope(s, &p, s->place[0], 2, 7);
	s->place[2] = snap_image_scope(s, &p, s->place[1], 3, -1);
	again = snap_image_scope(s, &p, s->place[0], 2, 7); /* with other locals, say */
	snap_image_set_pc(s, 0, UINT32_MAX, 0);
	snap_image_set_pc(s, 1, 24, s->place[0]);
	snap_image_set_pc(s, 2, 30, s->place[1]);
	snap_image_set_pc(s, 3, 40, again);
	snap_image_set_pc(s, 4, 50, s->place[2]);
	snap_image_set_pc(s, 5, 60, s->place[0]);
	snap_image_set_pc(s, 6, 0x7ffffff, 0);
}

/* A method with a frame of 48 bytes: prologue, two calls, exit. */
#ifdef __aarch64__
#define SNAP_IM_COMPLETE 12
static const uint32_t snap_im_code[] = {0xd503201f, 0xd100c3ff, 0xa9027bfd, 0xd503201f,
					0x94000040, 0x94000040, 0xa9427bfd, 0x9100c3ff,
					0xf941af88, 0xeb2863ff, 0x54000068, 0xd65f03c0};
#else
#define SNAP_IM_COMPLETE 14
static const uint8_t snap_im_code[] = {0x90, 0x90, 0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff,
				       0x55, 0x48, 0x83, 0xec, 0x20, 0xe8, 0x00, 0x01, 0,
				       0,    0xe8, 0x00, 0x01, 0,    0,	   0x48, 0x83, 0xc4,
				       0x20, 0x5d, 0x85, 0x05, 1,    2,	   3,	 4,    0xc3};
#endif

/* Makes block 0's nmethod one with a frame of 48 bytes, scopes, and code. */
static inline void snap_image_nmethod(struct snap_image *s)
{
	/* Two bytes of entry, bang, push rbp, sub rsp 32; call; add, pop, test, ret. */
	struct image *im = &s->im;
	uint64_t blob = im->block[0] + IM_HEADER;
	int method_at = im->release == IMAGE_8 ? 120 : im->release == IMAGE_17 ? 128 : 112;

	image_set(im, blob + (unsigned)method_at, s->run, 8);
	image_set(im, blob + 24, 6, 4);
	image_set(im, blob + 28, SNAP_IM_COMPLETE, im->release == IMAGE_25 ? 2 : 4);
	image_set(im, blob + 136, 77, 4);
	image_set(im, blob + 140, 4, 1);
	image_set(im, blob + 144, 8, 4);
	memcpy(image_at(im, blob + IM_BLOB), snap_im_code, sizeof(snap_im_code));
	if (im->release == IMAGE_25) {
		uint64_t immutable = image_new(im, 400), mutable = image_new(im, 100);

		s->pcs = immutable + 16;
		s->scopes = s->pcs + SNAP_IM_PC_COUNT * SNAP_IM_PC_DESC;
		s->metadata = mutable + 24;
		image_set(im, blob + 4, 16, 4);
		image_set(im, blob + 148, s->scopes - immutable, 4);
		image_set(im, blob + 32, 2, 2);
		image_set(im, blob + 80, mutable, 8);
		image_set(im, blob + 88, 48, 4);
		image_set(im, blob + 92, 24, 4);
		image_set(im, blob + 96, immutable, 8);
		image_set(im, blob + 104, s->scopes - immutable + 40, 4);
		image_set(im, blob + 108, IM_BLOB + 90, 4);
		return;
	}
	/* The method in the other heap has no scopes. */
	if (im->release == IMAGE_17)
		image_set(im, im->heap_low[1] + IM_HEADER + 160, im->heap_low[1] + IM_HEADER, 8);
	s->metadata = blob + SNAP_IM_METADATA;
	s->scopes = blob + SNAP_IM_SCOPES;
	s->pcs = blob + SNAP_IM_PCS;
	image_set(im, blob, SNAP_IM_METADATA, 4);
	image_set(im, blob + 4, SNAP_IM_PCS, 4);
	image_set(im, blob + 8, SNAP_IM_PCS + SNAP_IM_PC_COUNT * SNAP_IM_PC_DESC, 4);
	image_set(im, blob + 152, blob + IM_BLOB + 2, 8);
	if (im->release == IMAGE_8) {
		image_set(im, blob + 148, SNAP_IM_SCOPES, 4);
		image_set(im, blob + 108, IM_BLOB + 90, 4);
	} else {
		image_set(im, blob + 160, s->scopes, 8);
		image_set(im, blob + 168, blob + IM_BLOB + 90, 8);
	}
}

/* JDK 8: Object, below it `first` and after that the class; below `first` another, so that the way
 * from that one is up and on. */
static inline void snap_image_tree(struct snap_image *s, uint64_t head)
{
	struct image *im = &s->im;
	uint64_t object = image_new(im, 128), first = image_new(im, 128);
	uint64_t below = image_new(im, 128);

	image_set(im, head + 8, object, 8);
	image_set(im, object + 72, first, 8);
	image_set(im, first + 64, object, 8);
	image_set(im, first + 72, below, 8);
	image_set(im, first + 80, s->klass, 8);
	image_set(im, below + 64, first, 8);
	image_set(im, s->klass + 64, object, 8);
}

/* One loader with two classes, the first one of arrays. */
static inline void snap_image_loader(struct snap_image *s, uint64_t head)
{
	struct image *im = &s->im;
	uint64_t array_class = image_new(im, 128);

	s->loaders = head + 8;
	s->loader = image_new(im, 32);
	image_set(im, head + 8, s->loader, 8);
	image_set(im, s->loader + 16, array_class, 8);
	image_set(im, array_class + 40, s->klass, 8);
	image_set(im, array_class + 48, 0x80000000, 4);
}

/* A class with three methods, of which one never ran. */
static inline void snap_image_classes(struct snap_image *s, uint64_t head)
{
	struct image *im = &s->im;
	const uint64_t method[] = {s->run, s->get, s->idle};

	s->klass = image_new(im, 128);
	s->methods = image_new(im, 64);
	if (im->release == IMAGE_8)
		snap_image_tree(s, head);
	else
		snap_image_loader(s, head);
	image_set(im, s->klass + 48, 24, 4);
	image_set(im, s->klass + 56, s->methods, 8);
	image_set(im, s->methods + 4, 3, 4);
	for (unsigned i = 0; i < 3; i++)
		image_set(im, s->methods + 16 + i * 8, method[i], 8);
	image_set(im, s->run + 48, 0x1000, 8);
	image_set(im, s->get + 40, 0x1000, 8);
}

/* Adds a flag, up to SNAP_IM_FLAGS; returns the address of its byte. */
static inline uint64_t snap_image_flag(struct snap_image *s, const char *name, uint8_t value)
{
	struct image *im = &s->im;
	uint64_t addr = image_new(im, 1), at = s->flags + s->flags_used++ * SNAP_IM_FLAG;

	image_set(im, addr, value, 1);
	image_set(im, at + 8, image_text(im, name), 8);
	image_set(im, at + 24, addr, 8);
	image_set(im, s->flag_count, s->flags_used + 1, 8); /* the last has no name */
	return addr;
}

static inline void snap_image_build(struct snap_image *s, enum image_release release)
{
	static const uint64_t jdk[] = {8, 17, 25};
	struct image *im = &s->im;
	uint64_t old, head, version, flags_at;
	unsigned n = 0;

	memset(s, 0, sizeof(*s));
	image_build(im, release);
	old = im->structs;
	im->structs = image_new(im, SNAP_IM_FIELDS * IM_STRIDE);
	for (uint64_t name;
	     memcpy(&name, image_at(im, old + n * IM_STRIDE + IM_TYPE), 8), name != 0; n++)
		memcpy(image_at(im, im->structs + n * IM_STRIDE), image_at(im, old + n * IM_STRIDE),
		       IM_STRIDE);
	image_set(im, image_find(im, "gHotSpotVMStructs"), im->structs, 8);
	head = image_new(im, 16);
	version = image_new(im, 8);
	s->flags = image_new(im, (SNAP_IM_FLAGS + 1) * SNAP_IM_FLAG);
	s->flag_count = image_new(im, 8);
	flags_at = image_new(im, 8);
	image_set(im, flags_at, s->flags, 8);
	image_set(im, head, 0x4711, 8);
	image_set(im, version + (release == IMAGE_25 ? 0 : 2), jdk[release], 1);
	s->compiler = snap_image_flag(s, "UseCompiler", 1);
	s->preserve_fp = snap_image_flag(s, "PreserveFramePointer", 1);
	s->non_safepoints = snap_image_flag(s, "DebugNonSafepoints", 0);
	snap_image_fields(im, n, head, version, flags_at, s->flag_count);
	snap_image_types(im);
	snap_image_methods(s);
	snap_image_nmethod(s);
	snap_image_debug(s);
	snap_image_classes(s, head);
}

/* ---- the list of stubs (hotspot/stubs.c), in code of the first heap ---- */

#define SNAP_IM_STUBS	  20
#define SNAP_IM_STUB	  32 /* bytes of its code */
#define SNAP_IM_CALL_STUB 7  /* its number */

static inline uint64_t snap_image_stub_code(const struct snap_image *s, unsigned i)
{
	return s->im.block[2] + IM_HEADER + IM_BLOB + i * SNAP_IM_STUB;
}

/* Makes an entry. Returns its address. */
static inline uint64_t snap_image_stub(struct snap_image *s, uint64_t next, const char *name,
				       uint64_t start)
{
	struct image *im = &s->im;
	unsigned begin = im->release == IMAGE_8 ? 32 : 24;
	uint64_t at = image_new(im, 48);

	image_set(im, at, next, 8);
	image_set(im, at + 8, image_text(im, "StubRoutines"), 8);
	image_set(im, at + 16, image_text(im, name), 8);
	image_set(im, at + begin, start, 8);
	image_set(im, at + begin + 8, start + SNAP_IM_STUB, 8);
	return at;
}

/* Makes all entries, the first of which is the last that was made; fills ret with their addresses,
 * and returns that of the variable with StubRoutines::_call_stub_return_address. */
static inline uint64_t snap_image_stubs(struct snap_image *s, uint64_t ret[SNAP_IM_STUBS])
{
	struct image *im = &s->im;
	uint64_t variable = s->loaders ? s->loaders - 8 : 0, next = 0;

	for (uint64_t at = IMAGE_BASE; !variable; at += 8)
		variable = memcmp(image_at(im, at), &(uint64_t){0x4711}, 8) == 0 ? at : 0;
	image_set(im, variable, snap_image_stub_code(s, SNAP_IM_CALL_STUB) + 10, 8);
	for (unsigned i = SNAP_IM_STUBS; i-- > 0; next = ret[i]) {
		char name[16];

		snprintf(name, sizeof(name), i == SNAP_IM_CALL_STUB ? "call_stub" : "stub.%u", i);
		ret[i] = snap_image_stub(s, next, name, snap_image_stub_code(s, i));
	}
	return variable;
}

/* For image.before_read: puts a block of another size where the first one was, when it is looked at
 * again. For the records the whole heap is read, and the header before they are written. */
static inline void snap_image_change_block(struct image *im, uint64_t addr, size_t len)
{
	if (addr == im->block[0] && len <= HS_BLOB_HEADER)
		image_set(im, im->block[0] + IM_HEADER + 44, 300, 4);
}

/* Returns the type of a record that a sink was given, which has its size. */
static inline uint32_t snap_record_type(const char *record, size_t len)
{
	struct snap_record r;

	memcpy(&r, record, sizeof(r));
	if (r.size != len || len % 8)
		abort();
	return r.type;
}

#endif
