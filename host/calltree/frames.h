/* SPDX-License-Identifier: Apache-2.0 */
/* Named frames, each once, by number. The names of a call tree (stacks.h). */
#ifndef DFG_CALLTREE_FRAMES_H
#define DFG_CALLTREE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind {
	FRAME_ROOT,	   /* thread name, the first frame of every stack */
	FRAME_NATIVE,	   /* user code of an ELF file */
	FRAME_JVM,	   /* code of libjvm */
	FRAME_KERNEL,	   /* suffix _[k] */
	FRAME_JAVA,	   /* compiled Java method, suffix _[j] */
	FRAME_INLINED,	   /* inlined Java method, suffix _[i] */
	FRAME_INTERPRETED, /* interpreted Java, suffix _[0] */
	FRAME_STUB,	   /* code the JVM generated that is no method */
	FRAME_UNKNOWN,	   /* could not be named */
	FRAME_KINDS
};

/* A frame's name and kind, and where places are kept its place; two frames are
 * the same when all are. Names are clean text (str.h), and never contain ';' or a newline. */
struct frame {
	const char *name;
	uint32_t len;
	enum frame_kind kind;
	uint32_t line;	 /* in the source, 0: unknown */
	uint32_t module; /* number for frames_module, 0: none */
	uint32_t level;	 /* of compilation: 1 to 3 C1, 4 C2; 0: none, or unknown */
	uint32_t plain;	 /* the frame without its place */
};

struct frames;

struct frames *frames_new(void);
void frames_free(struct frames *fs);

/* Number of the frame, made if new. The name is copied. */
uint32_t frames_intern(struct frames *fs, const char *name, size_t len, enum frame_kind kind);

/* From now on places make frames different. To be called while empty. */
void frames_keep_places(struct frames *fs);
bool frames_keeps_places(const struct frames *fs);

/* The same frame at a line of a module; unchanged where places are not kept. */
uint32_t frames_place(struct frames *fs, uint32_t frame, uint32_t line, uint32_t module);

/* The same frame in code of that level, which is part of its place. */
uint32_t frames_level(struct frames *fs, uint32_t frame, uint32_t level);

/* Number of a file that code is in, made if new: its path as mapped, "[kernel.kallsyms]", … 0 is
 * "". */
uint32_t frames_intern_module(struct frames *fs, const char *path);
const char *frames_module(const struct frames *fs, uint32_t module);

/* Borrowed; valid until the next frame is made. */
const struct frame *frames_get(const struct frames *fs, uint32_t frame);
size_t frames_count(const struct frames *fs);
size_t frames_module_count(const struct frames *fs);

/* Whether its function is known by file and place, "[file+0x1234]", but has no name anywhere: there
 * is no symbol for it. Not FRAME_UNKNOWN: nothing but a name is missing. */
bool frame_is_nameless(const struct frame *f);

/* A Java method, compiled, inlined or interpreted. */
bool frame_is_java(enum frame_kind kind);

/* What a frame of text is whose name has no suffix: "[unknown]", FRAME_JVM with "::" (C++: in a
 * JVM's stacks almost always its own), else FRAME_NATIVE. */
enum frame_kind frame_kind_of_text(const char *name, size_t len);

/* The suffix of folded text: "_[k]", "_[j]", "_[i]", "_[0]" or "". */
const char *frame_suffix(enum frame_kind kind);

#endif
