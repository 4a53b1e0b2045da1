// SPDX-License-Identifier: Apache-2.0
#include "format/palette.h"

#include <string.h>

static const struct kind_look looks[FRAME_KINDS] = {
	[FRAME_ROOT] = {'t', "thread", "Thread", "The thread itself"},
	[FRAME_NATIVE] = {'n', "native", "Native", "Functions of native libraries and programs"},
	[FRAME_JVM] = {'v', "jvm", "JVM",
		       "The Java virtual machine: compilers, garbage collection, runtime"},
	[FRAME_KERNEL] = {'k', "kernel", "Kernel", "The operating system's kernel"},
	[FRAME_JAVA] = {'j', "java", "Java", "Compiled Java methods"},
	[FRAME_INLINED] = {'i', "inlined", "Java, inlined",
			   "Java methods compiled into their callers"},
	[FRAME_INTERPRETED] = {'p', "interpreted", "Java, interpreted",
			       "Java methods run by the interpreter"},
	[FRAME_STUB] = {'s', "stub", "Stub", "Code the JVM generated that belongs to no method"},
	[FRAME_UNKNOWN] = {'u', "unknown", "Unknown", "Frames that could not be named"},
};

static const struct {
	uint8_t base[3], span[3];
} hues[FRAME_KINDS] = {
	[FRAME_ROOT] = {{196, 200, 212}, {14, 14, 12}},	      /* pale slate */
	[FRAME_NATIVE] = {{228, 104, 96}, {24, 52, 50}},      /* red */
	[FRAME_JVM] = {{222, 202, 62}, {28, 34, 50}},	      /* yellow */
	[FRAME_KERNEL] = {{238, 144, 50}, {14, 40, 36}},      /* orange */
	[FRAME_JAVA] = {{98, 196, 96}, {56, 36, 50}},	      /* green */
	[FRAME_INLINED] = {{78, 196, 198}, {66, 36, 34}},     /* aqua */
	[FRAME_INTERPRETED] = {{178, 140, 98}, {34, 32, 34}}, /* brown */
	[FRAME_STUB] = {{178, 152, 222}, {34, 34, 24}},	      /* violet */
	[FRAME_UNKNOWN] = {{164, 164, 164}, {34, 34, 34}},    /* grey */
};

const struct kind_look *palette_look(enum frame_kind kind)
{
	return &looks[kind < FRAME_KINDS ? kind : FRAME_UNKNOWN];
}

const struct kind_look *palette_legend(enum frame_kind kind, const char *unit)
{
	static const struct kind_look class = {'s', "stub", "Class",
					       "Classes of the objects, and stubs of the JVM"};

	return kind == FRAME_STUB && unit && strcmp(unit, "samples") != 0 ? &class
									  : palette_look(kind);
}

/* FNV-1a with a finaliser, since names often differ only in their last letter. */
static uint32_t name_hash(const char *name, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)name[i]) * 16777619u;
	h ^= h >> 15;
	h *= 0x2c1b3c6du;
	return h ^ h >> 12;
}

uint32_t palette_colour(enum frame_kind kind, const char *name, size_t len)
{
	uint32_t h = name_hash(name, len), rgb = 0;
	enum frame_kind k = kind < FRAME_KINDS ? kind : FRAME_UNKNOWN;

	/* One byte of the hash shifts all channels alike (light), another each one (tint). */
	for (unsigned i = 0; i < 3; i++) {
		uint32_t light = h & 0xff, tint = h >> (8 + 8 * i) & 0xff;
		uint32_t c = hues[k].base[i] + hues[k].span[i] * (3 * light + tint) / (4 * 255);

		rgb = rgb << 8 | (c > 255 ? 255 : c);
	}
	return rgb;
}
