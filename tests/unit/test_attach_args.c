// SPDX-License-Identifier: Apache-2.0
/* Options of a JVM that disable attach: where they may stand, and which one wins. */
#include "injector/process.h"
#include "lib/tap.h"

#define OFF "-XX:+DisableAttachMechanism"
#define ON  "-XX:-DisableAttachMechanism"

static bool disabled(const char *cmdline, size_t cmdline_len, const char *env, size_t env_len)
{
	/* Exact copies: a sanitizer sees a byte read too many. */
	char *c = malloc(cmdline_len), *e = malloc(env_len);
	bool result;

	memcpy(c, cmdline, cmdline_len);
	memcpy(e, env, env_len);
	result = jvm_args_disable_attach(c, cmdline_len, e, env_len);
	free(c);
	free(e);
	return result;
}
#define DISABLED(cmdline, env) disabled((cmdline), sizeof(cmdline) - 1, (env), sizeof(env) - 1)

static void test_command_line(void)
{
	ok(!DISABLED("", ""), "nothing known");
	ok(!DISABLED("java\0-Xmx1g\0Main\0", ""), "not asked for");
	ok(DISABLED("java\0-Xmx1g\0" OFF "\0Main\0", ""), "asked for");
	ok(DISABLED("java\0" OFF, ""), "last NUL missing");
	ok(!DISABLED("java\0" OFF "\0" ON "\0Main\0", ""), "last one wins: on");
	ok(DISABLED("java\0" ON "\0" OFF "\0Main\0", ""), "last one wins: off");
	ok(!DISABLED(OFF "\0", ""), "a program's name is no option");
	ok(!DISABLED("java\0" OFF "X\0Main\0", ""), "another option");
}

static void test_application_arguments(void)
{
	ok(!DISABLED("java\0Main\0" OFF "\0", ""),
	   "an option after the main class is the application's");
	ok(!DISABLED("java\0-jar\0a.jar\0" OFF "\0", ""),
	   "an option after -jar is the application's");
	ok(!DISABLED("java\0-m\0mod/Main\0" OFF "\0", ""),
	   "an option after -m is the application's");
	ok(DISABLED("java\0-cp\0a:b\0" OFF "\0Main\0", ""), "-cp takes a value");
	ok(DISABLED("java\0--add-opens\0java.base/x=y\0" OFF "\0-jar\0a\0", ""), "--add-opens too");
	ok(DISABLED("java\0--add-opens=java.base/x=y\0" OFF "\0-jar\0a\0", ""), "or with =");
	ok(DISABLED("java\0@args\0" OFF "\0Main\0", ""), "an argument file is not the main class");
	ok(!DISABLED("java\0-cp\0" OFF "\0Main\0", ""), "a value is no option");
	ok(!DISABLED("java\0-cp\0", ""), "a value that is missing");
}

static void test_environment(void)
{
	ok(DISABLED("java\0Main\0", "A=b\0JAVA_TOOL_OPTIONS=" OFF "\0"), "JAVA_TOOL_OPTIONS");
	ok(DISABLED("java\0Main\0", "JDK_JAVA_OPTIONS=-Xmx1g " OFF " -Dx\0"), "JDK_JAVA_OPTIONS");
	ok(DISABLED("java\0Main\0", "_JAVA_OPTIONS='" OFF "'"), "_JAVA_OPTIONS, quoted");
	ok(!DISABLED("java\0" ON "\0Main\0", "JAVA_TOOL_OPTIONS=" OFF "\0"),
	   "the command line beats JAVA_TOOL_OPTIONS");
	ok(DISABLED("java\0" ON "\0Main\0", "_JAVA_OPTIONS=" OFF "\0"),
	   "_JAVA_OPTIONS beats the command line");
	ok(!DISABLED("java\0Main\0", "JAVA_TOOL_OPTIONS_OLD=" OFF "\0"), "another variable");
	ok(!DISABLED("java\0Main\0", "X=JAVA_TOOL_OPTIONS=" OFF "\0"), "inside a value");
	ok(!DISABLED("java\0Main\0", "JAVA_TOOL_OPTIONS\0"), "no value");
	ok(!DISABLED("java\0Main\0", "JAVA_TOOL_OPTIONS="), "an empty value");
}

int main(void)
{
	test_command_line();
	test_application_arguments();
	test_environment();
	return tap_done();
}
