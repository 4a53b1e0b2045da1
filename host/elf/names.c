// SPDX-License-Identifier: Apache-2.0
#include "elf/names.h"

#include <setjmp.h>

/* Of libiberty/demangle.h, which cannot be included: it declares another xrealloc. */
int cplus_demangle_v3_callback(const char *mangled, int options,
			       void (*callback)(const char *, size_t, void *), void *opaque);

/* A short mangled name can expand to gigabytes of text, and the demangler has no way to stop:
 * longjmp leaves it when the buffer is full. (Called this way it allocates no heap memory,
 * libiberty 2.40 cp-demangle.c.) */
struct demangled {
	char *text;
	size_t len, size;
	jmp_buf full;
};

static void add_piece(const char *text, size_t len, void *arg)
{
	struct demangled *out = arg;
	size_t room = out->size - out->len;

	memcpy(out->text + out->len, text, len < room ? len : room);
	out->len += len < room ? len : room;
	if (len > room)
		longjmp(out->full, 1);
}

/* Writes at most `size` bytes (no NUL) of the readable form, without parameters. Returns its
 * length, 0 if the name is no C++ name. */
static size_t demangle_cxx(const char *name, char *buf, size_t size)
{
	struct demangled out = {.text = buf, .size = size};

	if (setjmp(out.full))
		return out.len;
	if (!cplus_demangle_v3_callback(name, 0 /* DMGL_NO_OPTS */, add_piece, &out))
		return 0;
	return out.len;
}

static size_t leading_underscores(const char *s)
{
	size_t n = 0;

	while (s[n] == '_')
		n++;
	return n;
}

bool symname_better(const struct symbol_rank *a, const struct symbol_rank *b)
{
	size_t x, y;

	if (!a->size != !b->size)
		return b->size != 0;
	if (a->typed != b->typed)
		return b->typed;
	if (a->weak != b->weak)
		return a->weak;
	if (a->global != b->global)
		return b->global;
	x = leading_underscores(a->name);
	y = leading_underscores(b->name);
	if (x != y)
		return y < x;
	x = strlen(a->name);
	y = strlen(b->name);
	if (x != y)
		return y > x;
	/* The kernel's system call wrappers have an alias "SyS_…" of the same length. */
	return has_prefix(a->name, "SyS") || has_prefix(a->name, "compat_SyS");
}

void symname_add(struct str *out, const char *name, size_t len)
{
	const char *version = memchr(name, '@', len);
	char plain[SYMNAME_MANGLED + 1], shown[SYMNAME_SHOWN];
	size_t readable = 0;

	if (version && version > name)
		len = (size_t)(version - name);
	/* "_Z…", and "_GLOBAL__sub_I_…" for static constructors */
	if (len < sizeof(plain) && len > 2 && name[0] == '_' &&
	    (name[1] == 'Z' || name[1] == 'G')) {
		memcpy(plain, name, len);
		plain[len] = '\0';
		readable = demangle_cxx(plain, shown, sizeof(shown));
	}
	if (readable)
		symname_add_clean(out, shown, readable);
	else
		symname_add_clean(out, name, len);
}

void symname_add_clean(struct str *out, const char *name, size_t len)
{
	size_t at = out->len;

	if (len == 0)
		str_addc(out, '?');
	str_add_clean(out, name, len < SYMNAME_SHOWN ? len : SYMNAME_SHOWN);
	for (size_t i = at; i < out->len; i++)
		if (out->buf[i] == ';')
			out->buf[i] = ':';
}

/* Returns the length of "/7582", the number that ends the name of a hidden class. */
static size_t number_length(const char *name, size_t len)
{
	size_t n = 0;

	while (n < len && name[len - 1 - n] >= '0' && name[len - 1 - n] <= '9')
		n++;
	return n && n < len && name[len - 1 - n] == '/' ? n + 1 : 0;
}

/* The element of an array of this type, "Ljava/lang/String;" or "B". */
static const char *element_of(const char *type, size_t *len)
{
	static const char *const primitives[] = {"Bbyte", "Cchar", "Ddouble", "Ffloat",
						 "Iint",  "Jlong", "Sshort",  "Zboolean"};

	if (*len > 2 && type[0] == 'L' && type[*len - 1] == ';') {
		*len -= 2;
		return type + 1;
	}
	for (size_t i = 0; *len == 1 && i < ARRAY_LEN(primitives); i++)
		if (primitives[i][0] == *type) {
			*len = strlen(primitives[i] + 1);
			return primitives[i] + 1;
		}
	return type;
}

void symname_add_class(struct str *out, const char *name, size_t len)
{
	size_t dimensions = 0, at = out->len, number;
	char *address;

	while (dimensions < len && name[dimensions] == '[')
		dimensions++;
	len -= dimensions;
	name = dimensions ? element_of(name + dimensions, &len) : name;
	number = number_length(name, len);
	symname_add_clean(out, name, len);
	for (size_t i = at; i + number < out->len; i++)
		if (out->buf[i] == '/')
			out->buf[i] = '.';
	address = strstr(out->buf + at, "+0x");
	if (address) {
		*address = '.';
		out->len -= number < out->len - at ? number : 0;
		out->buf[out->len] = '\0';
	}
	while (dimensions-- > 0)
		str_adds(out, "[]");
}

const char *symname_base(const char *path, size_t *ret_len)
{
	const char *slash = strrchr(path, '/');

	path = slash && slash[1] ? slash + 1 : path;
	*ret_len = strlen(path);
	if (has_suffix(path, " (deleted)"))
		*ret_len -= strlen(" (deleted)");
	return path;
}
