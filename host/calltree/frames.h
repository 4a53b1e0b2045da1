/* SPDX-License-Identifier: Apache-2.0 */
/* Named frames, each once, by number: the names of a call tree (calltree.h). */
#ifndef DFG_CALLTREE_FRAMES_H
#define DFG_CALLTREE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/str.h"

enum frame_kind {
	FRAME_ROOT,	   /* thread name, the first frame of every stack */
	FRAME_NATIVE,	   /* user code of an ELF file */
	FRAME_JVM,	   /* code of libjvm */
	FRAME_KERNEL,	   /* suffix _[k] */
	FRAME_JAVA,	   /* compiled Java method, suffix _[j] */
	FRAME_INLINED,	   /* inlined Java method, suffix _[i] */
	FRAME_INTERPRETED, /* interpreted Java, suffix _[0] */
	FRAME_STUB,	   /* code that the JVM generated and that is no method */
	FRAME_UNKNOWN,	   /* could not be named */
	FRAME_KINDS
};

/* Two frames are the same if name, kind and, where the frames keep places, place are the same.
 * Names are sanitised text (str.h), and never contain ';' or a newline. */
struct frame {
	const char *name;
	uint32_t len;
	enum frame_kind kind;
	uint32_t line;	 /* in the source, 0: unknown */
	uint32_t module; /* number for frames_module, 0: none */
	uint32_t level;	 /* of compilation: 1 to 3 C1, 4 C2; 0: none, or unknown */
	uint32_t plain;	 /* the frame without its place */
	/* Derived from name and kind. */
	bool java;     /* a Java method: compiled, inlined or interpreted */
	bool nameless; /* its function is known as "[file+0x1234]" only, since no symbol exists */
	/* The function that starts a thread or a program in glibc or musl. A C library without
	 * these symbols (stripped) counts, too: nothing else of it is outermost in a stack. */
	bool start;
};

struct frames;

struct frames *frames_new(void);
void frames_free(struct frames *fs);

/* Returns the number of the frame, which is added if it is new. The name is copied. */
uint32_t frames_intern(struct frames *fs, const char *name, size_t len, enum frame_kind kind);

/* Makes places a part of what distinguishes frames. To be called while there are no frames. */
void frames_keep_places(struct frames *fs);
bool frames_keeps_places(const struct frames *fs);

/* Returns the same frame at a line of a module; unchanged where places are not kept. */
uint32_t frames_place(struct frames *fs, uint32_t frame, uint32_t line, uint32_t module);

/* Returns the same frame in code of that level, which is part of its place. */
uint32_t frames_level(struct frames *fs, uint32_t frame, uint32_t level);

/* Returns the number of a file that contains code, which is added if it is new: its path as mapped,
 * "[kernel.kallsyms]", … 0 is "". */
uint32_t frames_intern_module(struct frames *fs, const char *path);
const char *frames_module(const struct frames *fs, uint32_t module);

/* Borrowed; valid until a frame is added. */
const struct frame *frames_get(const struct frames *fs, uint32_t frame);
size_t frames_count(const struct frames *fs);
size_t frames_module_count(const struct frames *fs);

/* True for a Java method, compiled, inlined or interpreted. */
bool frame_is_java(enum frame_kind kind);

/* Returns the kind of a frame of folded text whose name has no suffix: FRAME_UNKNOWN for
 * "[unknown]", FRAME_JVM for a name with "::" (C++, in a JVM's stacks almost always its own), else
 * FRAME_NATIVE. */
enum frame_kind frame_kind_of_text(const char *name, size_t len);

/* Returns the suffix of folded text: "_[k]", "_[j]", "_[i]", "_[0]" or "". */
const char *frame_suffix(enum frame_kind kind);

/* Appends the name of a Java method without what differs from one run of a program to the next: the
 * address of a hidden class and the number of a lambda among all of the JVM.
 * "A$$Lambda$14/7582.run" (JDK 8), "A$$Lambda$14.0x7f12.run" (17) and "A$$Lambda.0x7f12.run" (21)
 * become "A$$Lambda.run". */
void frame_add_stable_name(struct str *out, const char *name, size_t len);

#endif
