// SPDX-License-Identifier: Apache-2.0
#include "injector/wire.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

enum attach_result attach_fail(enum attach_result result, struct err *err, int code,
			       const char *fmt, ...)
{
	char text[sizeof(err->msg)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(err, code, "%s", text);
	return result;
}

static bool is_too_long(const char *const args[3], size_t max)
{
	return strlen(args[0]) > max || strlen(args[1]) > max || strlen(args[2]) > max;
}

static void add_fields(struct str *out, const char *command, const char *const args[3])
{
	str_add(out, command, strlen(command) + 1);
	for (int i = 0; i < 3; i++)
		str_add(out, args[i], strlen(args[i]) + 1);
}

bool attach_build_v1(struct str *out, const char *command, const char *const args[3])
{
	if (is_too_long(args, WIRE_ARG_MAX))
		return false;
	str_add(out, "1", 2);
	add_fields(out, command, args);
	return true;
}

bool attach_build_v2(struct str *out, const char *command, const char *const args[3])
{
	CLEANUP(str_fini) struct str body = {0};

	if (is_too_long(args, WIRE_V2_MAX))
		return false;
	add_fields(&body, command, args);
	if (body.len > WIRE_V2_MAX)
		return false;
	str_add(out, "2", 2);
	str_addu(out, body.len);
	str_addc(out, '\0');
	str_add(out, body.buf, body.len);
	return true;
}

/* Parses a decimal number with an optional sign that ends at `end`. */
static bool parse_int(const char *p, const char *end, int *ret)
{
	bool minus = p < end && *p == '-';
	int64_t n = 0;

	p += minus;
	if (p == end || end - p > 10)
		return false;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return false;
		n = n * 10 + (*p - '0');
	}
	n = minus ? -n : n;
	if (n < INT_MIN || n > INT_MAX)
		return false;
	*ret = (int)n;
	return true;
}

static const char *line_end(const char *p, const char *end)
{
	const char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;

	return nl ? nl : end;
}

/* Appends the JVM's lines as one, separated by "; ", without control codes. */
static void add_message(struct str *out, const char *p, const char *end)
{
	while (p < end && out->len < sizeof(((struct err *)0)->msg)) {
		const char *eol = line_end(p, end);
		size_t len = (size_t)(eol - p);

		if (len && p[len - 1] == '\r')
			len--;
		if (len) {
			if (out->len)
				str_adds(out, "; ");
			str_add_clean(out, p, len);
		}
		p = eol + 1;
	}
}

static enum attach_result refuse(const char *p, const char *end, struct err *err)
{
	CLEANUP(str_fini) struct str message = {0};

	add_message(&message, p, end);
	return attach_fail(ATTACH_REFUSED, err, 0, "the JVM refused: %s",
			   message.len ? message.buf
				       : "it could not load the library (JDK 8 gives no reason)");
}

/* A reply is "<status>\n<text>". The text of a "load":
 *   JDK 8       status 0: "<code>\n"; other: empty
 *   JDK 9-20    status 0: "return code: <code>\n"; other: the reason
 *   JDK 21+     status 0 always; the text is "return code: <code>\n" or the reason
 *   JDK 25      the same in version 2; output is streamed, so that no refusal has a status
 * Older ones refuse with a status other than 0 if EnableDynamicAgentLoading is off. */
enum attach_result attach_parse_reply(const char *p, size_t len, int *ret_code, struct err *err)
{
	static const char prefix[] = "return code: ";
	const char *end = p + len;
	const char *eol = line_end(p, end);
	int status;

	if (len == 0 || eol == end || !parse_int(p, eol, &status))
		return attach_fail(ATTACH_FAILED, err, 0,
				   "the reply is not one of the attach protocol (%zu bytes)", len);
	p = eol + 1;
	if (status == WIRE_BAD_VERSION)
		return attach_fail(ATTACH_FAILED, err, 0,
				   "the JVM does not speak this version of the attach protocol");
	if (status != 0)
		return refuse(p, end, err);
	eol = line_end(p, end);
	if (p == end)
		return attach_fail(ATTACH_FAILED, err, 0,
				   "the JVM does not say if it loaded the library");
	if ((size_t)(eol - p) >= sizeof(prefix) && !memcmp(p, prefix, sizeof(prefix) - 1))
		p += sizeof(prefix) - 1;
	if (parse_int(p, eol, ret_code))
		return ATTACH_OK;
	return refuse(p, end, err);
}

/* The reply is "0\n<version>[ <option>...]". */
bool attach_offers_v2(const char *p, size_t len)
{
	const char *end = p + len;
	const char *eol = line_end(p, end);
	const char *stop;
	int n;

	if (len == 0 || eol == end || !parse_int(p, eol, &n) || n != 0)
		return false;
	p = eol + 1;
	for (stop = p; stop < end && *stop >= '0' && *stop <= '9';)
		stop++;
	return parse_int(p, stop, &n) && n >= 2;
}
