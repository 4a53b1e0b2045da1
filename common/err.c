// SPDX-License-Identifier: Apache-2.0
#include "common/err.h"

#include <stdarg.h>
#include <string.h>

/* A message may hold text of a container: control bytes are replaced here, once for all callers. */
static void make_one_line(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s == 0x7f)
			*s = '?';
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	if (!err)
		return -1;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	len = strlen(err->msg);
	if (code)
		snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", strerror(code));
	make_one_line(err->msg);
	return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char inner[sizeof(err->msg)];
	va_list ap;
	size_t len;

	if (!err)
		return -1;
	memcpy(inner, err->msg, sizeof(inner));
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", inner);
	make_one_line(err->msg);
	return -1;
}
