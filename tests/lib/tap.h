/* SPDX-License-Identifier: Apache-2.0 */
/* Test Anything Protocol for C tests: checks, then `return tap_done();` from main. */
#ifndef DFG_LIB_TAP_H
#define DFG_LIB_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failed;

#define ok(cond, ...)	       tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...) tap_is_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...)                                                                     \
	tap_is_int((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, __VA_ARGS__)

/* Prints one check's line; `fmt` names the behaviour that is checked, as a whole sentence. Why it
 * fails goes to the error output, which a runner shows. */
__attribute__((format(printf, 4, 0), unused)) static bool tap_report(bool pass, const char *file,
								     int line, const char *fmt,
								     va_list ap)
{
	char name[512];

	vsnprintf(name, sizeof(name), fmt, ap);
	printf("%sok %d - %s\n", pass ? "" : "not ", ++tap_count, name);
	fflush(stdout);
	if (!pass) {
		fprintf(stderr, "# failed at %s:%d: %s\n", file, line, name);
		tap_failed++;
	}
	return pass;
}

__attribute__((format(printf, 4, 5), unused)) static bool tap_ok(bool pass, const char *file,
								 int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_report(pass, file, line, fmt, ap);
	va_end(ap);
	return pass;
}

__attribute__((format(printf, 5, 6), unused)) static bool tap_is_str(const char *got,
								     const char *want,
								     const char *file, int line,
								     const char *fmt, ...)
{
	bool same = got && want ? strcmp(got, want) == 0 : got == want;
	va_list ap;

	va_start(ap, fmt);
	tap_report(same, file, line, fmt, ap);
	va_end(ap);
	if (!same)
		fprintf(stderr, "#  got: %s\n# want: %s\n", got ? got : "(null)",
			want ? want : "(null)");
	return same;
}

__attribute__((format(printf, 5, 6), unused)) static bool tap_is_int(int64_t got, int64_t want,
								     const char *file, int line,
								     const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_report(got == want, file, line, fmt, ap);
	va_end(ap);
	if (got != want)
		fprintf(stderr, "#  got: %" PRId64 "\n# want: %" PRId64 "\n", got, want);
	return got == want;
}

__attribute__((unused)) static int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif
