// SPDX-License-Identifier: Apache-2.0
#include "common/err.h"

#include <errno.h>

#include "lib/tap.h"

static void test_set(void)
{
	struct err err;

	is_int(err_set(&err, ENOENT, "open %s", "/x"), -1, "returns -1");
	is_str(err.msg, "open /x: No such file or directory", "context and reason");
	is_int(err.code, ENOENT, "code");
	err_set(&err, 0, "not a map");
	is_str(err.msg, "not a map", "without a code no reason is invented");
	is_int(err.code, 0, "and the code is 0");
}

static void test_wrap(void)
{
	struct err err;

	err_set(&err, EACCES, "open b");
	is_int(err_wrap(&err, "read %s", "a"), -1, "returns -1");
	is_str(err.msg, "read a: open b: Permission denied", "outermost first");
	is_int(err.code, EACCES, "code stays");
}

static void test_one_line(void)
{
	struct err err;

	err_set(&err, 0, "a\nb\tc\033[31md\177e");
	is_str(err.msg, "a?b?c?[31md?e", "control characters in the text");
	err_wrap(&err, "x\ny");
	is_str(err.msg, "x?y: a?b?c?[31md?e", "and in the context");
	err_set(&err, 0, "caf\xc3\xa9");
	is_str(err.msg, "caf\xc3\xa9", "UTF-8 is kept");
}

static void test_long(void)
{
	struct err err;
	char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&err, ENOENT, "%s", text);
	is_int(strlen(err.msg), sizeof(err.msg) - 1, "cut, not overrun");
	err_wrap(&err, "%s", text);
	is_int(strlen(err.msg), sizeof(err.msg) - 1, "wrapped as well");
	err_set(&err, 0, "inner");
	text[600] = '\0';
	err_wrap(&err, "%s", text);
	is_int(err.msg[sizeof(err.msg) - 1], 0, "ends");
}

static void test_not_wanted(void)
{
	is_int(err_set(NULL, ENOENT, "open %s", "/x"), -1, "err_set without an error returns -1");
	is_int(err_wrap(NULL, "read %s", "a"), -1, "err_wrap without an error returns -1");
}

int main(void)
{
	test_not_wanted();
	test_set();
	test_wrap();
	test_one_line();
	test_long();
	return tap_done();
}
