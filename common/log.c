// SPDX-License-Identifier: Apache-2.0
#include "common/log.h"

#include <stdarg.h>
#include <string.h>

static const char *program = "dfg";
static bool quiet;
static bool progress_shown;
static int oom_status = 1;

void log_init(const char *name)
{
	program = name;
}

void log_quiet(bool on)
{
	quiet = on;
}

void log_set_oom_status(int status)
{
	oom_status = status;
}

void die_oom(void)
{
	static const char msg[] = "dfg: out of memory\n";

	(void)!write(STDERR_FILENO, msg, sizeof(msg) - 1);
	_exit(oom_status);
}

/* Writes the line at once, so that lines of two programs do not mix. */
PRINTF_LIKE(2, 0) static void line(const char *tag, const char *fmt, va_list ap)
{
	char buf[1024];
	int len = snprintf(buf, sizeof(buf), "%s%s: %s", progress_shown ? "\r\033[K" : "", program,
			   tag);
	size_t used = (size_t)len;

	vsnprintf(buf + used, sizeof(buf) - used - 1, fmt, ap);
	used = strlen(buf);
	buf[used++] = '\n';
	progress_shown = false;
	(void)!write(STDERR_FILENO, buf, used);
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("", fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("warning: ", fmt, ap);
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	if (quiet)
		return;
	va_start(ap, fmt);
	line("", fmt, ap);
	va_end(ap);
}

void log_progress(const char *fmt, ...)
{
	char buf[512];
	va_list ap;

	if (quiet || !isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (!buf[0] && !progress_shown)
		return;
	dprintf(STDERR_FILENO, "\r\033[K%s", buf);
	progress_shown = buf[0] != '\0';
}
