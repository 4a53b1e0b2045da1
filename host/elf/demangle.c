// SPDX-License-Identifier: Apache-2.0
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/* A mangled name of some bytes can stand for a text of gigabytes, and the demangler cannot be told
 * to stop: what goes beyond the limit is left by longjmp. (It holds no memory but stack when called
 * this way, libiberty 2.40 cp-demangle.c.) */
struct sink {
	char *text;
	size_t len, size;
	jmp_buf full;
};

static void add_piece(const char *text, size_t len, void *arg)
{
	struct sink *sink = arg;
	size_t room = sink->size - sink->len;

	memcpy(sink->text + sink->len, text, len < room ? len : room);
	sink->len += len < room ? len : room;
	if (len > room)
		longjmp(sink->full, 1);
}

size_t demangle_cxx(const char *name, char *buf, size_t size)
{
	struct sink sink = {.text = buf, .size = size};

	if (setjmp(sink.full))
		return sink.len;
	if (!cplus_demangle_v3_callback(name, DMGL_NO_OPTS, add_piece, &sink))
		return 0;
	return sink.len;
}
