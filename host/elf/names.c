// SPDX-License-Identifier: Apache-2.0
#include "elf/names.h"

#include "elf/demangle.h"

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

const char *symname_base(const char *path, size_t *ret_len)
{
	const char *slash = strrchr(path, '/');

	path = slash && slash[1] ? slash + 1 : path;
	*ret_len = strlen(path);
	if (has_suffix(path, " (deleted)"))
		*ret_len -= strlen(" (deleted)");
	return path;
}
