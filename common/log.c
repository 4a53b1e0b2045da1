// SPDX-License-Identifier: Apache-2.0
#include "common/log.h"

#include <stdarg.h>
#include <string.h>

#include "common/str.h"

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

/* Writes the line at once, so that lines of two programs do not mix; without control characters,
 * since a message may quote what a container wrote. */
PRINTF_LIKE(2, 0) static void line(const char *tag, const char *fmt, va_list ap)
{
	CLEANUP(str_fini) struct str out = {0};
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	str_adds(&out, progress_shown ? "\r\033[K" : "");
	str_addf(&out, "%s: %s", program, tag);
	str_add_clean(&out, text, strlen(text));
	str_addc(&out, '\n');
	progress_shown = false;
	(void)!write(STDERR_FILENO, out.buf, out.len);
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
