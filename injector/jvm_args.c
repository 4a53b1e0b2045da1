// SPDX-License-Identifier: Apache-2.0
#include "injector/jvm_args.h"

#include <string.h>

#include "dfg/compiler.h"

#define FLAG "DisableAttachMechanism"

/* The next NUL-terminated text of a block whose last NUL may be missing. Returns its length. */
static size_t next_text(const char **p, const char *end, const char **ret)
{
	const char *nul = memchr(*p, '\0', (size_t)(end - *p));
	size_t len = (size_t)((nul ? nul : end) - *p);

	*ret = *p;
	*p = nul ? nul + 1 : end;
	return len;
}

static bool is_text(const char *p, size_t len, const char *want)
{
	return len == strlen(want) && !memcmp(p, want, len);
}

static void apply_option(const char *p, size_t len, bool *disabled)
{
	if (is_text(p, len, "-XX:+" FLAG))
		*disabled = true;
	else if (is_text(p, len, "-XX:-" FLAG))
		*disabled = false;
}

/* Options in an environment variable are separated by white space, and may be quoted. */
static void apply_variable(const char *env, size_t env_len, const char *name, bool *disabled)
{
	const char *end = env + env_len, *text;
	size_t name_len = strlen(name);

	for (const char *p = env; p < end;) {
		size_t len = next_text(&p, end, &text);

		if (len <= name_len || memcmp(text, name, name_len) || text[name_len] != '=')
			continue;
		for (size_t i = name_len + 1, start = i; i <= len; i++) {
			if (i < len && !strchr(" \t\n\r\f\v\"'", text[i]))
				continue;
			apply_option(text + start, i - start, disabled);
			start = i + 1;
		}
	}
}

/* Options whose value is the next argument: IsWhiteSpaceOption of the launcher, JDK 9 to 25. */
static bool takes_value(const char *p, size_t len)
{
	static const char *const options[] = {
		"-cp",
		"-classpath",
		"--class-path",
		"-p",
		"--module-path",
		"--upgrade-module-path",
		"--add-modules",
		"--limit-modules",
		"--add-exports",
		"--add-opens",
		"--add-reads",
		"--patch-module",
		"--enable-native-access",
		"--source",
		"-d",
		"--describe-module",
	};

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (is_text(p, len, options[i]))
			return true;
	return false;
}

static void apply_command_line(const char *cmdline, size_t cmdline_len, bool *disabled)
{
	const char *p = cmdline, *end = cmdline + cmdline_len, *text;

	if (p < end)
		next_text(&p, end, &text);
	while (p < end) {
		size_t len = next_text(&p, end, &text);

		if (is_text(text, len, "-jar") || is_text(text, len, "-m") ||
		    is_text(text, len, "--module") || (len && text[0] != '-' && text[0] != '@'))
			return;
		apply_option(text, len, disabled);
		if (takes_value(text, len) && p < end)
			next_text(&p, end, &text);
	}
}

bool jvm_args_disable_attach(const char *cmdline, size_t cmdline_len, const char *env,
			     size_t env_len)
{
	bool disabled = false;

	apply_variable(env, env_len, "JAVA_TOOL_OPTIONS", &disabled);
	apply_variable(env, env_len, "JDK_JAVA_OPTIONS", &disabled);
	apply_command_line(cmdline, cmdline_len, &disabled);
	apply_variable(env, env_len, "_JAVA_OPTIONS", &disabled);
	return disabled;
}
